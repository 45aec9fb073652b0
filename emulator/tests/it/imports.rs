//! The imports between the engine's files, of which no cycle has more than two.
//!
//! A file imports another one if it names an item that the other one defines: in a `use` declaration, in a path, or in
//! the tokens of a macro, directly or through re-exports. Re-exporting an item is an import, too. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{TokenStream, TokenTree};

use super::layers;

/// The number of files in the largest cycle that is allowed.
const LARGEST: usize = 2;

/// The folder whose files are one subject: parsing and evaluating expressions.
const ONE_SUBJECT: &str = "expression/";

/// The files of `storage`, row by row: each imports only from its own row and the rows before it. The longest name that
/// fits a file counts. A new file may need a place here and in `ARCHITECTURE.md`.
const STORAGE: &[&[&str]] = &[
    &[
        "scope",
        "identity",
        "settings",
        "attached",
        "job",
        "due",
        "delay",
        "items",
        "census",
        "recovery",
        "backup/record",
        "transfers/record",
        "tokens/client_token",
        "index/saved",
        "replica/state",
        "replica/scaling",
        "replication/inbox",
        "replication/version",
        "stream/state",
        "stream/lineage",
        "stream/record",
        "stream/sequence",
    ],
    &["commit"],
    &[
        "agenda",
        "host",
        "held",
        "partitioning",
        "range",
        "page",
        "history",
        "recovery/logs",
        "index",
        "stream",
        "shape",
        "capacity",
        "snapshot",
        "partition",
        "earlier_state",
        "replication/claims",
        "replication/counts",
    ],
    &["table", "replica", "replication", "backfill"],
    &["backup", "transfers", "tokens", "defaults", "catalog"],
    &["state"],
];

/// The segments of a path, such as `crate`, `clock`, `Moment`; or of the path of a module, without `crate`.
type Segments = Vec<String>;

/// The files that each file imports, with a path that it uses for that.
type Imports = BTreeMap<String, BTreeMap<String, Segments>>;

/// A module, which is a file or part of a file.
#[derive(Debug, Default)]
struct Module {
    file: String,
    /// The names of the items that it defines.
    items: BTreeSet<String>,
    /// The words in calls of macros between its items. Some are names of items that a macro defines.
    macro_words: BTreeSet<String>,
    /// What the names in its `use` declarations stand for.
    names: BTreeMap<String, Segments>,
    /// The modules and enumerations of which it imports all items.
    globs: Vec<Segments>,
    /// The paths in its code.
    paths: BTreeSet<Segments>,
    /// All words in its code.
    words: BTreeSet<String>,
}

/// What a path stands for.
#[derive(Debug, PartialEq)]
enum Resolved {
    Module(Segments),
    /// An item, and the file that defines it.
    Item(String),
    /// An item of another crate, or a name of a function's own.
    Foreign,
}

/// The modules of the engine, by their paths.
#[derive(Debug, Default)]
pub(super) struct Modules(BTreeMap<Segments, Module>);

/// The path of the module of a file.
fn module_path(file: &str) -> Segments {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

fn inside(module: &[String], name: &str) -> Segments {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

fn word(token: Option<&TokenTree>) -> Option<String> {
    match token? {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    }
}

fn is_sign(token: Option<&TokenTree>, expected: char) -> bool {
    matches!(token, Some(TokenTree::Punct(sign)) if sign.as_char() == expected)
}

/// Reads the rest of a path, after its first segment.
fn read_path(first: String, tokens: &mut IntoIter) -> Segments {
    let mut path = vec![first];
    loop {
        let mut rest = tokens.clone();
        let is_path = is_sign(rest.next().as_ref(), ':') && is_sign(rest.next().as_ref(), ':');
        match word(rest.next().as_ref()).filter(|_| is_path) {
            Some(segment) => path.push(segment),
            None => return path,
        }
        *tokens = rest;
    }
}

impl Module {
    /// Reads one tree of a `use` declaration, up to the comma or semicolon after it.
    fn read_use(&mut self, mut path: Segments, tokens: &mut IntoIter) {
        let mut name = None;
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(word) if word == "as" => name = tokens.next().map(|alias| alias.to_string()),
                TokenTree::Ident(word) if word == "self" && !path.is_empty() => {}
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Group(group) => {
                    let mut trees = group.stream().into_iter();
                    while trees.clone().next().is_some() {
                        self.read_use(path.clone(), &mut trees);
                    }
                    path.clear();
                }
                TokenTree::Punct(sign) if sign.as_char() == '*' => self.globs.push(std::mem::take(&mut path)),
                TokenTree::Punct(sign) if matches!(sign.as_char(), ',' | ';') => break,
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
        // `use name;` names an item of the same module, such as a macro.
        if path.len() > 1
            && let Some(name) = name.or_else(|| path.last().cloned())
        {
            self.names.insert(name, path);
        }
    }

    /// Reads code that is not between items.
    fn read_code(&mut self, code: TokenStream) {
        let mut tokens = code.into_iter();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Group(group) => self.read_code(group.stream()),
                TokenTree::Ident(word) if word == "use" && !is_sign(tokens.clone().next().as_ref(), '<') => {
                    self.read_use(Vec::new(), &mut tokens);
                }
                TokenTree::Ident(word) => self.read_word(word.to_string(), &mut tokens),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    fn read_word(&mut self, word: String, tokens: &mut IntoIter) {
        self.words.insert(word.clone());
        let path = read_path(word, tokens);
        if path.len() > 1 {
            self.paths.insert(path);
        }
    }

    fn read_macro_call(&mut self, tokens: &mut IntoIter) {
        let words = tokens
            .clone()
            .nth(1)
            .into_iter()
            .filter_map(|arguments| match arguments {
                TokenTree::Group(group) => Some(group.stream()),
                _ => None,
            });
        let words = words.flatten().filter_map(|token| word(Some(&token)));
        self.macro_words.extend(words);
    }

    /// Whether it defines an item of this name.
    fn defines(&self, name: &str) -> bool {
        self.items.contains(name) || self.macro_words.contains(name)
    }

    /// The paths that it imports or uses.
    fn used(&self) -> impl Iterator<Item = &Segments> {
        self.names.values().chain(&self.globs).chain(&self.paths)
    }
}

impl Modules {
    /// The modules of source files, given by their paths and code.
    fn of<'s>(sources: impl IntoIterator<Item = (&'s str, &'s str)>) -> Modules {
        let mut modules = Modules::default();
        modules.0.insert(Segments::new(), Module::default());
        for (file, code) in sources {
            modules.read(&module_path(file), file, code.parse().unwrap());
        }
        modules
    }

    /// Reads the items of a module.
    fn read(&mut self, path: &[String], file: &str, code: TokenStream) {
        let mut module = Module {
            file: file.to_owned(),
            ..Module::default()
        };
        let mut tokens = code.into_iter();
        while let Some(token) = tokens.next() {
            let next = tokens.clone().next();
            match token {
                // The scope after `pub`, or an attribute, or a part of an item.
                TokenTree::Group(group) => module.read_code(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
                TokenTree::Ident(token) => match (token.to_string().as_str(), next) {
                    // `use<'a>` is part of a type.
                    ("use", next) if !is_sign(next.as_ref(), '<') => module.read_use(Vec::new(), &mut tokens),
                    ("mod", Some(name)) => {
                        if let Some(TokenTree::Group(body)) = tokens.clone().nth(1) {
                            self.read(&inside(path, &name.to_string()), file, body.stream());
                            tokens.nth(1);
                        }
                    }
                    ("fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static", Some(name)) => {
                        module.items.extend(word(Some(&name)));
                    }
                    ("macro_rules", _) => module.items.extend(word(tokens.clone().nth(1).as_ref())),
                    (_, Some(sign)) if is_sign(Some(&sign), '!') => module.read_macro_call(&mut tokens),
                    (first, _) => module.read_word(first.to_owned(), &mut tokens),
                },
            }
        }
        self.0.insert(path.to_vec(), module);
    }

    /// Finds what a name means inside a module.
    fn find(&self, path: &[String], name: &str, is_last: bool) -> Resolved {
        let module = &self.0[path];
        let item = || Resolved::Item(module.file.clone());
        if is_last && module.items.contains(name) {
            return item();
        }
        if self.0.contains_key(&inside(path, name)) {
            return Resolved::Module(inside(path, name));
        }
        if module.items.contains(name) {
            return item();
        }
        // A path that begins with the name itself begins with the name of a crate.
        if let Some(named) = module.names.get(name).filter(|named| named[0] != name) {
            return match self.resolve(path, named) {
                Resolved::Foreign => item(),
                resolved => resolved,
            };
        }
        if module.macro_words.contains(name) {
            return item();
        }
        for glob in module.globs.iter().filter(|glob| glob[0] != name) {
            if let Resolved::Module(inner) = self.resolve(path, glob)
                && self.0[&inner].defines(name)
            {
                return Resolved::Item(self.0[&inner].file.clone());
            }
        }
        Resolved::Foreign
    }

    /// Finds what a path means inside a module. Every path within the crate leads to a file, or this panics: so no
    /// import is missed.
    fn resolve(&self, module: &[String], path: &[String]) -> Resolved {
        let mut here = module.to_vec();
        for (position, segment) in path.iter().enumerate() {
            match segment.as_str() {
                "crate" => here.clear(),
                "super" => drop(here.pop()),
                "self" => {}
                name => match self.find(&here, name, position + 1 == path.len()) {
                    Resolved::Module(inner) => here = inner,
                    Resolved::Foreign if position > 0 => panic!("{module:?}: there is no {}", path.join("::")),
                    resolved => return resolved,
                },
            }
        }
        Resolved::Module(here)
    }

    /// The files that define what a part of a file's code names.
    pub(super) fn named_by(&self, file: &str, code: TokenStream) -> BTreeSet<String> {
        let path = module_path(file);
        let mut part = Module::default();
        part.read_code(code);
        let names = self.0[&path].names.iter();
        let words = names.filter(|(name, _)| part.words.contains(*name));
        let named = words.map(|(_, path)| path).chain(part.used());
        let files = named.filter_map(|named| match self.resolve(&path, named) {
            Resolved::Item(file) => Some(file),
            _ => None,
        });
        files.collect()
    }

    fn imports(&self) -> Imports {
        let mut imports = Imports::new();
        for (path, module) in &self.0 {
            let imported = imports.entry(module.file.clone()).or_default();
            for used in module.used() {
                match self.resolve(path, used) {
                    Resolved::Item(file) if file != module.file => drop(imported.insert(file, used.clone())),
                    _ => {}
                }
            }
        }
        imports
    }
}

/// The files that a file imports, directly or not.
fn reachable<'i>(imports: &'i Imports, file: &'i str) -> BTreeSet<&'i str> {
    let mut found = BTreeSet::new();
    let mut rest = vec![file];
    while let Some(file) = rest.pop() {
        let imported = imports.get(file).into_iter().flat_map(BTreeMap::keys);
        rest.extend(imported.map(String::as_str).filter(|file| found.insert(*file)));
    }
    found
}

/// The sets of files that import one another, directly or not.
fn cycles(imports: &Imports) -> BTreeSet<Vec<&str>> {
    let reachable: BTreeMap<&str, _> = imports.keys().map(|file| (&**file, reachable(imports, file))).collect();
    let reaches = |from: &str, to: &str| reachable.get(from).is_some_and(|found| found.contains(to));
    let cyclic = reachable.keys().filter(|file| reaches(file, file));
    let cycle = |file: &&str| {
        let others = reachable[*file].iter().filter(|other| reaches(other, file));
        others.copied().collect()
    };
    cyclic.map(cycle).collect()
}

/// The imports within a cycle, one per line.
fn describe(imports: &Imports, cycle: &[&str]) -> String {
    let mut lines = vec![format!("a cycle of {} files:", cycle.len())];
    for file in cycle {
        let imported = imports[*file].iter();
        let imported = imported.filter(|(other, _)| cycle.contains(&other.as_str()));
        lines.extend(imported.map(|(other, path)| format!("  {file} imports {other}: {}", path.join("::"))));
    }
    lines.join("\n")
}

/// The modules of the engine.
pub(super) fn engine() -> Modules {
    let sources = layers::sources();
    Modules::of(sources.iter().map(|(file, _, code)| (file.as_str(), code.as_str())))
}

/// The row of a file of `storage`.
fn storage_row(file: &str) -> Option<usize> {
    let name = file.trim_end_matches(".rs").trim_end_matches("/mod");
    let fits = |row: &str| {
        name.strip_prefix(row)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let rows = STORAGE.iter().enumerate();
    let fitting = rows.flat_map(|(at, row)| row.iter().filter(|row| fits(row)).map(move |row| (row.len(), at)));
    fitting.max().map(|(_, at)| at)
}

#[test]
fn the_architecture_has_the_rows_of_storage() {
    let rows = layers::architecture_rows("| Contents | Files |", 1);
    let own = STORAGE
        .iter()
        .map(|row| row.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(rows, own.collect::<Vec<BTreeSet<String>>>());
}

#[test]
fn storage_imports_only_from_rows_above() {
    let mut faults = Vec::new();
    for (file, imported) in engine().imports() {
        let Some(own) = file.strip_prefix("storage/").filter(|file| *file != "mod.rs") else {
            continue;
        };
        let Some(row) = storage_row(own) else {
            faults.push(format!("{file} has no row"));
            continue;
        };
        let storage = imported.keys().filter_map(|file| file.strip_prefix("storage/"));
        for other in storage.filter(|other| storage_row(other).is_none_or(|above| above > row)) {
            faults.push(format!("{file} imports {other}, which is not above it"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_import_cycle_is_large() {
    let imports = engine().imports();
    let mut large = cycles(&imports);
    large.retain(|cycle| cycle.len() > LARGEST && !cycle.iter().all(|file| file.starts_with(ONE_SUBJECT)));
    let large: Vec<String> = large.iter().map(|cycle| describe(&imports, cycle)).collect();
    assert!(large.is_empty(), "{}", large.join("\n"));
}

#[test]
fn imports_are_those_of_the_defining_files() {
    let defined = [
        (
            "b/mod.rs",
            "mod c; mod d; pub use c::{C, f as g}; pub use d::*; pub struct B;",
        ),
        (
            "b/c.rs",
            "use super::B; pub struct C; pub fn f() {} pub mod inner { pub const X: u8 = 1; }",
        ),
        (
            "b/d.rs",
            "pub enum D { One } made! { Made { field } } macro_rules! made { () => {} }",
        ),
    ];
    for (code, expect) in [
        ("use crate::b::C;", "b/c.rs"),
        ("use crate::b::{self, c::{inner, C as Other}};", "b/c.rs"),
        ("use crate::b; fn f() -> b::B { todo!() }", "b/mod.rs"),
        ("fn f() { if x { crate::b::g() } }", "b/c.rs"),
        ("use crate::b::c::inner; fn f() -> u8 { inner::X }", "b/c.rs"),
        ("fn f() { vec![crate::b::D::One] }", "b/d.rs"),
        ("fn f() { use crate::b::D::*; }", "b/d.rs"),
        ("use super::b::Made; struct A(Made);", "b/d.rs"),
        (
            "use std::fmt; use smallvec::{SmallVec, smallvec}; fn f() { smallvec::smallvec![] }",
            "",
        ),
        ("pub(crate) use crate::b::{B, C};", "b/c.rs b/mod.rs"),
        ("use crate::b;", ""),
        ("fn g<T>() { T::new(); Self::x(); }", ""),
    ] {
        let modules = Modules::of(defined.into_iter().chain([("a.rs", code)]));
        let imports = modules.imports();
        let imported: Vec<&str> = imports["a.rs"].keys().map(String::as_str).collect();
        assert_eq!(imported.join(" "), expect, "{code}");
    }
}

#[test]
fn cycles_are_found() {
    let imports = |list: &[(&str, &str)]| {
        let mut imports = Imports::new();
        for (file, imported) in list {
            let imported = imported.chars().map(|file| (file.to_string(), Segments::new()));
            imports.insert((*file).to_owned(), imported.collect());
        }
        imports
    };
    let graph = imports(&[("a", "be"), ("b", "c"), ("c", "ad"), ("d", "e"), ("e", "d"), ("f", "a")]);
    let cycles: Vec<String> = cycles(&graph).iter().map(|cycle| cycle.join("")).collect();
    assert_eq!(cycles, ["abc", "de"]);
}
