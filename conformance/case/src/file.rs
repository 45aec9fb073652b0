//! Files of cases.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Case, Error, Request, expand, forms};

/// A file of cases, and the tables and items that each of them starts with.
///
/// ```
/// use dynatwin_case::{files, folder};
///
/// let files = files(&folder())?;
/// assert!(files.iter().any(|file| file.name == "batches" && !file.cases.is_empty()));
/// # Ok::<(), dynatwin_case::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct File {
    /// The file's name without `.json`.
    pub name: String,
    /// The common subject of its cases, with citations.
    pub about: String,
    /// The CreateTable requests that each case starts with.
    pub tables: Vec<Value>,
    /// The items that each case starts with, by table.
    pub items: BTreeMap<String, Vec<Value>>,
    /// The cases, in the order of the file.
    pub cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Members {
    about: String,
    capacity: Option<Capacity>,
    tables: Vec<Value>,
    items: BTreeMap<String, Vec<Value>>,
    cases: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Capacity {
    Enforced,
}

/// The default folder of cases.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../emulator/tests/cases")
}

/// All files of a folder, by name.
///
/// # Errors
///
/// Fails if a file cannot be read, or one of its cases is invalid.
pub fn files(folder: &Path) -> Result<Vec<File>, Error> {
    let unreadable = |error: std::io::Error| Error::new(error.to_string()).within(folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        paths.push(entry.map_err(unreadable)?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths.iter().map(|path| File::read(path)).collect()
}

impl File {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or one of its cases is invalid.
    pub fn read(path: &Path) -> Result<File, Error> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let text = std::fs::read_to_string(path).map_err(|error| Error::new(error.to_string()));
        text.and_then(|text| File::parse(&name, &text))
            .map_err(|error| error.within(path.display()))
    }

    /// Reads the text of a file.
    ///
    /// ```
    /// use dynatwin_case::File;
    ///
    /// let text = r#"{"about": "", "tables": [], "items": {}, "cases": [], "clock": 7}"#;
    /// assert!(File::parse("new", text).unwrap_err().to_string().contains("unknown field `clock`"));
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if it is not a file of cases, or one of them is invalid.
    pub fn parse(name: &str, text: &str) -> Result<File, Error> {
        let members: Members = serde_json::from_str(text).map_err(|error| Error::new(error.to_string()))?;
        let items = members.items.values().flatten();
        members
            .tables
            .iter()
            .chain(items)
            .try_for_each(|value| forms::check(value, 0))?;
        let mut names = BTreeSet::new();
        let mut cases = Vec::with_capacity(members.cases.len());
        for case in &members.cases {
            let mut case = Case::read(case)?;
            case.conditions.enforce_capacity = members.capacity.is_some();
            if !names.insert(case.name.clone()) {
                return Err(Error::new(format!("two cases are named {:?}", case.name)));
            }
            cases.push(case);
        }
        Ok(File {
            name: name.to_owned(),
            about: members.about,
            tables: members.tables,
            items: members.items,
            cases,
        })
    }

    /// The requests that make its tables and items, each with the name of its table.
    ///
    /// ```
    /// use dynatwin_case::File;
    ///
    /// let text = r#"{"about": "", "tables": [{"TableName": "one"}], "items": {"one": [{"pk": {"S": "a"}}]}, "cases": []}"#;
    /// let file = File::parse("new", text)?;
    /// let operations: Vec<_> = file.set_up().map(|(table, request)| (table, request.operation)).collect();
    /// assert_eq!(operations, [("one", "CreateTable"), ("one", "PutItem")]);
    /// # Ok::<(), dynatwin_case::Error>(())
    /// ```
    pub fn set_up(&self) -> impl Iterator<Item = (&str, Request<'_>)> {
        let tables = self.tables.iter().map(|table| {
            let name = table["TableName"].as_str().unwrap_or_default();
            (name, "CreateTable", expand(table))
        });
        let items = self.items.iter().flat_map(|(table, items)| {
            items.iter().map(move |item| {
                let put = json!({"TableName": table, "Item": expand(item)});
                (table.as_str(), "PutItem", put)
            })
        });
        tables.chain(items).map(|(table, operation, body)| {
            let request = Request {
                operation,
                region: None,
                body,
            };
            (table, request)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn file(member: &str, value: Value) -> Result<File, Error> {
        let case = json!({"name": "n", "operation": "GetItem", "request": {}, "answer": {}, "evidence": "e"});
        let mut file = json!({"about": "", "tables": [], "items": {}, "cases": [case]});
        file[member] = value;
        File::parse("f", &file.to_string())
    }

    #[test]
    fn invalid_files_are_refused() {
        let case = json!({"name": "n", "operation": "GetItem", "request": {}, "answer": {}, "evidence": "e"});
        for (member, value, message) in [
            ("cases", json!([case, case]), "two cases are named \"n\""),
            ("cases", json!([{"name": "n"}]), "n: missing field `operation`"),
            ("capacity", json!("none"), "unknown variant `none`"),
            ("conditions", json!("aws"), "unknown field `conditions`"),
            ("tables", json!([{"TableName": {"$texts": []}}]), "$texts"),
            ("items", json!({"t": [{"a": {"S": {"$answer": [0, ""]}}}]}), "$answer"),
        ] {
            let error = file(member, value.clone()).unwrap_err().to_string();
            assert!(error.contains(message), "{member} {value}: {error}");
        }
    }

    #[test]
    fn the_capacity_of_a_file_applies_to_its_cases() {
        for (capacity, enforced) in [(Value::Null, false), (json!("enforced"), true)] {
            let file = file("capacity", capacity).unwrap();
            assert_eq!(file.cases[0].conditions.enforce_capacity, enforced);
        }
    }

    #[test]
    fn all_files_are_read() {
        let files = files(&folder()).unwrap();
        let cases: usize = files.iter().map(|file| file.cases.len()).sum();
        assert!(
            files.len() >= 30 && cases > 3000,
            "{cases} cases in {} files",
            files.len()
        );
    }
}
