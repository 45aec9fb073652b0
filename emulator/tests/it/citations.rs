//! Every citation of `docs/behavior/` names a page and section that exist.
//!
//! A citation is `04 12.3` (page 04, section 12.3), in the `evidence` and `about` of `tests/cases/*.json`, in the
//! model's exception lists, and in comments, where it follows `docs/behavior:`. `04 4.1 to 4.4` and `04 1, 2 and 9.1`
//! cite several sections of one page.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The sections of each page: `04` → {`1`, `1.1`, …}.
type Pages = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn pages() -> Pages {
    let mut pages = Pages::new();
    for path in files(&root().join("docs/behavior"), "md") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name == "README.md" {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let mut sections = BTreeSet::new();
        let mut section = String::new();
        for line in text.lines() {
            let number = |word: &str| word.trim_end_matches('.').to_owned();
            match line.split_once(' ') {
                Some((marks, rest)) if marks.starts_with("##") => {
                    section = number(rest.split(' ').next().unwrap());
                    sections.insert(section.clone());
                }
                // A point of a numbered list, such as an open question: `01 9.7`.
                Some((point, _)) if point.ends_with('.') && is_section(&number(point)) => {
                    sections.insert(format!("{section}.{}", number(point)));
                }
                _ => {}
            }
        }
        pages.insert(name[..2].to_owned(), sections);
    }
    pages
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns the (page, section) pairs that a text cites. A page alone has an empty section.
fn citations(text: &str) -> Vec<(String, String)> {
    let mut cited = Vec::new();
    let mut page: Option<&str> = None;
    for word in text.split([' ', '(', ')', ';', ',', '\n']) {
        let word = word.trim_end_matches(['.', ':']);
        if is_page(word) {
            page = Some(word);
            cited.push((word.to_owned(), String::new()));
        } else if let (Some(current), true) = (page, is_section(word)) {
            cited.push((current.to_owned(), word.to_owned()));
        } else if !matches!(word, "" | "to" | "and" | "or") {
            page = None;
        }
    }
    cited
}

fn is_page(word: &str) -> bool {
    word.len() == 2 && word.starts_with('0') && word.as_bytes()[1].is_ascii_digit() && word != "00"
}

fn is_section(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with('0')
        && word
            .split('.')
            .all(|part| !part.is_empty() && part.len() < 3 && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn unresolved(pages: &Pages, text: &str) -> Vec<String> {
    citations(text)
        .into_iter()
        .filter(|(page, section)| match pages.get(page) {
            Some(sections) => !section.is_empty() && !sections.contains(section),
            None => true,
        })
        .map(|(page, section)| format!("{page} {section}"))
        .collect()
}

#[test]
fn citations_are_parsed() {
    let table: [(&str, &[(&str, &str)]); 7] = [
        ("02 5.4, A", &[("02", ""), ("02", "5.4")]),
        ("01 4.2 to 4.4, C", &[("01", ""), ("01", "4.2"), ("01", "4.4")]),
        ("06; 01 8.3, A", &[("06", ""), ("01", ""), ("01", "8.3")]),
        (
            "03 5 and 04 6.2, A docs",
            &[("03", ""), ("03", "5"), ("04", ""), ("04", "6.2")],
        ),
        ("recorded in 2015", &[]),
        ("02 5.4, A; 20 items", &[("02", ""), ("02", "5.4")]),
        ("the API model", &[]),
    ];
    for (text, expected) in table {
        let found = citations(text);
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(page, section)| (page.as_str(), section.as_str()))
            .collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn every_case_cites_a_section_that_exists() {
    let pages = pages();
    assert_eq!(pages.len(), 9, "pages of docs/behavior");
    let mut problems = Vec::new();
    let mut resolved = 0;
    for file in dynatwin_case::files(&dynatwin_case::folder()).unwrap() {
        let evidence = file.cases.iter().map(|case| &case.evidence);
        for text in evidence.chain([&file.about]) {
            resolved += citations(text).len();
            for citation in unresolved(&pages, text) {
                problems.push(format!("{}: {citation:?} in {text:?}", file.name));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(
        resolved > 3000,
        "only {resolved} citations found: is the format still read?"
    );
}

#[test]
fn every_comment_cites_a_section_that_exists() {
    let pages = pages();
    let mut problems = Vec::new();
    for path in ["emulator/src", "harness", "conformance/src"]
        .iter()
        .flat_map(|folder| files(&root().join(folder), "rs"))
    {
        let text = fs::read_to_string(&path).unwrap();
        for (_, rest) in text
            .match_indices("docs/behavior:")
            .map(|(at, word)| text[at..].split_at(word.len()))
        {
            let sentence = rest
                .split([')', ';'])
                .next()
                .unwrap_or_default()
                .replace("\n//!", " ")
                .replace("///", " ");
            if citations(&sentence).is_empty() {
                problems.push(format!("{}: no citation in {sentence:?}", path.display()));
            }
            for citation in unresolved(&pages, &sentence) {
                problems.push(format!("{}: {citation:?}", path.display()));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn links_between_pages_resolve() {
    let folder = root().join("docs/behavior");
    for path in files(&folder, "md") {
        let text = fs::read_to_string(&path).unwrap();
        for (at, _) in text.match_indices("](0") {
            let target = text[at + 2..].split(')').next().unwrap();
            assert!(folder.join(target).is_file(), "{}: {target}", path.display());
        }
    }
}
