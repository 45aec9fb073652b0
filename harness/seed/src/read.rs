//! Detects the format of a file and reads it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::document::{self, Node, Value};
use crate::error::{Error, Problem};
use crate::seed::{Items, Seed, Table};
use crate::{cloudformation, export, items, spreadsheet, terraform, workbench};

/// Members of a jest-dynamodb or jest-dynalite configuration that configure a server.
const SERVER_SETTINGS: [&str; 7] = [
    "basePort",
    "clientConfig",
    "hostname",
    "installerConfig",
    "options",
    "port",
    "processor",
];

/// The byte order mark of UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The advice about a text in UTF-16.
pub(crate) const UTF_16_ADVICE: &str = "the file is in UTF-16, as Windows PowerShell's `>` writes it; save it in UTF-8, as `| Out-File -Encoding utf8` does";

/// Whether a text begins with a byte order mark of UTF-16.
pub(crate) fn is_utf_16(text: &[u8]) -> bool {
    text.starts_with(&[0xff, 0xfe]) || text.starts_with(&[0xfe, 0xff])
}

/// The table of items that do not name one: given by the user, or the file's name.
struct Target<'a> {
    file: &'a str,
    table: &'a str,
}

impl Seed {
    /// Reads a file, or a directory with an export. `TABLE=FILE` names the table of a file that only has items; without, it is
    /// the file's name without its extensions.
    ///
    /// | content | what is read |
    /// |---|---|
    /// | CreateTable's request, DescribeTable's answer | the table |
    /// | `{"tables": […], "items": {"T": […]}}`, also jest-dynamodb's and jest-dynalite's configuration | tables and items |
    /// | CloudFormation, SAM or CDK template | its tables |
    /// | `terraform show -json` of a plan or state | its tables and items |
    /// | NoSQL Workbench model | its tables with their sample data |
    /// | BatchWriteItem's request, GetItem's, Scan's or Query's answer, a list of items, an item on each line, CSV | the items |
    /// | a database of DynamoDB Local | its tables and items |
    /// | a directory with an export of the service | its items |
    ///
    /// Documents are JSON or YAML; `.gz` is unpacked. Items are plain JSON or in DynamoDB's form.
    pub fn read(argument: &str) -> Result<Seed, Error> {
        let (table, path) = match argument.split_once('=') {
            Some((table, path)) if !Path::new(argument).exists() => (Some(table), Path::new(path)),
            _ => (None, Path::new(argument)),
        };
        let file = path.display().to_string();
        let of_io = |error: std::io::Error| Error::of_path(path, error);
        if fs::metadata(path).map_err(of_io)?.is_dir() {
            return export::read(path, table);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stem = name.split('.').next().unwrap_or_default();
        let target = Target {
            file: &file,
            table: table.unwrap_or(stem),
        };
        let mut from = BufReader::new(File::open(path).map_err(of_io)?);
        let begin = from.fill_buf().map_err(of_io)?;
        #[cfg(feature = "sqlite")]
        if crate::dynamodb_local::is_database(begin) {
            return crate::dynamodb_local::read(path);
        }
        let packed = begin.starts_with(&[0x1f, 0x8b]);
        let from: Box<dyn Read + Send> = if packed {
            Box::new(MultiGzDecoder::new(from))
        } else {
            Box::new(from)
        };
        let plain = match name.rsplit_once('.') {
            Some((plain, extension)) if extension.eq_ignore_ascii_case("gz") => plain,
            _ => &name,
        };
        target.read(plain, BufReader::new(from))
    }

    /// Reads a text as a file of this name would be read.
    pub fn parse(name: &str, text: &[u8]) -> Result<Seed, Error> {
        let stem = name.split('.').next().unwrap_or_default();
        let target = Target {
            file: name,
            table: stem,
        };
        target.read(name, std::io::Cursor::new(text.to_vec()))
    }
}

impl Target<'_> {
    fn read(&self, name: &str, mut from: impl BufRead + Send + 'static) -> Result<Seed, Error> {
        let of_io = |error: std::io::Error| Error::new(self.file, error.to_string());
        let begin = from.fill_buf().map_err(of_io)?;
        if is_utf_16(begin) {
            return Err(Error::new(self.file, UTF_16_ADVICE));
        }
        if begin.starts_with(BYTE_ORDER_MARK) {
            from.consume(BYTE_ORDER_MARK.len());
        }
        let extension = Path::new(name)
            .extension()
            .map(|extension| extension.to_string_lossy().to_lowercase());
        let parse = match extension.as_deref() {
            Some("csv") => {
                let items = spreadsheet::read(self.file, self.table, from)?;
                return Ok(Self::only(items));
            }
            Some("jsonl" | "ndjson") => return Ok(Self::only(items::lines(self.file, self.table, from))),
            Some("yaml" | "yml") => document::yaml,
            Some("json" | "template") => document::json,
            Some("js" | "cjs" | "mjs" | "ts") => {
                let advice = "JavaScript is not evaluated; write what it exports to a JSON file and load that";
                return Err(Error::new(self.file, advice));
            }
            _ => {
                let known = ".json, .jsonl, .yaml, .csv, .db or a directory with an export";
                return Err(Error::new(
                    self.file,
                    format!("the extension is not known; use {known}"),
                ));
            }
        };
        if extension.as_deref() == Some("json") {
            let first = first_line(&mut from).map_err(of_io)?;
            let whole = document::json(&first).is_ok_and(|node| matches!(node.value, Value::Object(_)));
            let mut begin = first.into_bytes();
            let more = whole && skip_space(&mut from, &mut begin).map_err(of_io)? == Some(b'{');
            let all = std::io::Cursor::new(begin).chain(from);
            if more {
                return Ok(Self::only(items::lines(self.file, self.table, BufReader::new(all))));
            }
            return self.document(all, parse);
        }
        self.document(from, parse)
    }

    fn only(items: Items) -> Seed {
        Seed {
            tables: Vec::new(),
            items: vec![items],
        }
    }

    fn document(&self, mut from: impl Read, parse: fn(&str) -> Result<Node, Problem>) -> Result<Seed, Error> {
        let mut text = String::new();
        let read = from.read_to_string(&mut text);
        read.map_err(|error| Error::new(self.file, error.to_string()))?;
        let seed = parse(&text).and_then(|root| self.recognize(&root));
        seed.map_err(|problem| problem.of_file(self.file))
    }

    fn recognize(&self, root: &Node) -> Result<Seed, Problem> {
        let has = |name: &str| root.get(name).is_some();
        if let Value::Array(elements) = &root.value {
            let are_tables = elements.first().is_some_and(|first| first.get("KeySchema").is_some());
            return if are_tables {
                self.tables(root)
            } else {
                self.items(root)
            };
        }
        if !matches!(root.value, Value::Object(_)) {
            return Err(root.problem(format!("the document is {}, not an object or a list", root.kind())));
        }
        if items::is_batch(root) {
            items::batch(self.file, root)
        } else if has("Resources") {
            cloudformation::read(self.file, root)
        } else if has("terraform_version") || has("planned_values") {
            terraform::read(self.file, root)
        } else if has("DataModel") {
            workbench::read(self.file, root)
        } else if has("Table") {
            Ok(one(Table::of_definition(self.file, root)?))
        } else if let Some(table) = root.get("TableDescription") {
            Ok(one(Table::of_description(self.file, table)?))
        } else if has("TableName") && has("TableStatus") {
            Ok(one(Table::of_description(self.file, root)?))
        } else if has("TableName") && has("KeySchema") {
            Ok(one(Table::of_create_table(self.file, root, &[])?))
        } else if has("tables") || has("items") {
            self.bundle(root)
        } else if let Some(list) = root.get("Items") {
            self.items(list)
        } else if let Value::Object(members) = &root.value
            && matches!(members.as_slice(), [(name, _)] if name == "Item")
        {
            self.items(&Node::new(root.line, Value::Array(vec![root.clone()])))
        } else if let Some(requests) = root.get("RequestItems") {
            items::batch(self.file, requests)
        } else {
            Err(root.problem("the document is not in a format that can be loaded"))
        }
    }

    /// `tables`, each with its own `Items`, `items` or `data`, and `items` by table.
    fn bundle(&self, root: &Node) -> Result<Seed, Problem> {
        let mut seed = Seed::default();
        for (name, node) in root.object("the document")? {
            match name.as_str() {
                "tables" => seed.append(self.tables(node)?),
                "items" => {
                    for (table, list) in node.object("items")? {
                        seed.add_items(table, items::list(self.file, list)?);
                    }
                }
                name if SERVER_SETTINGS.contains(&name) => {}
                _ => return Err(node.problem(format!("`{name}` is not known beside `tables` and `items`"))),
            }
        }
        Ok(seed)
    }

    fn tables(&self, list: &Node) -> Result<Seed, Problem> {
        const ITEMS: [&str; 3] = ["Items", "data", "items"];
        let mut seed = Seed::default();
        for node in list.list("tables")? {
            let table = Table::of_create_table(self.file, node, &ITEMS)?;
            for list in ITEMS.iter().filter_map(|name| node.get(name)) {
                seed.add_items(&table.name, items::list(self.file, list)?);
            }
            seed.tables.push(table);
        }
        Ok(seed)
    }

    fn items(&self, list: &Node) -> Result<Seed, Problem> {
        let mut seed = Seed::default();
        seed.add_items(self.table, items::list(self.file, list)?);
        Ok(seed)
    }
}

/// Reads the first line that is not blank, with the blank ones before it.
fn first_line(from: &mut impl BufRead) -> std::io::Result<String> {
    let mut text = String::new();
    loop {
        let length = from.read_line(&mut text)?;
        let line = &text[text.len() - length..];
        if line.is_empty() || !line.trim_ascii().is_empty() {
            return Ok(text);
        }
    }
}

/// Reads white space into `space`, and returns the byte after it.
fn skip_space(from: &mut impl BufRead, space: &mut Vec<u8>) -> std::io::Result<Option<u8>> {
    loop {
        let buffer = from.fill_buf()?;
        let end = buffer.iter().position(|byte| !byte.is_ascii_whitespace());
        let next = end.map(|end| buffer[end]);
        let length = end.unwrap_or(buffer.len());
        space.extend_from_slice(&buffer[..length]);
        from.consume(length);
        if next.is_some() || length == 0 {
            return Ok(next);
        }
    }
}

fn one(table: Table) -> Seed {
    Seed {
        tables: vec![table],
        items: Vec::new(),
    }
}
