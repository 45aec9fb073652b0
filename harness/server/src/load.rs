//! Loads the files of `--load`.

use std::collections::{HashMap, HashSet};

use dynatwin_engine::{Caller, Engine};
use dynatwin_seed::{Existing, Seed, load_engine};

use crate::flags::Flags;
use crate::start_line::counted;

/// Loads the files of `--load`, and returns a line about each. Tables that exist before the first file is loaded stay unchanged,
/// with their items, whether the files define these tables or only have items for them.
pub fn load(flags: &Flags, engine: &Engine) -> Result<Vec<String>, dynatwin_seed::Error> {
    let caller = owner(|name| std::env::var(name).ok());
    let who = if flags.shared_db {
        String::new()
    } else {
        let Caller { access_key, region } = &caller;
        format!(" for access key {access_key} in {region} (--shared-db shows them to all callers)")
    };
    let before: HashSet<String> = engine.tables(&caller).into_iter().collect();
    let mut defined = HashMap::new();
    let read = flags.load.iter().map(|file| {
        let mut seed = Seed::read(file)?;
        let kept = seed.remove_tables(&before);
        let kept = match kept.as_slice() {
            [] => String::new(),
            [table] => format!(" Table {table} existed before this start and is unchanged."),
            _ => format!(
                " Tables {} existed before this start and are unchanged.",
                kept.join(", ")
            ),
        };
        seed.add_definitions(&mut defined)?;
        // Another file may add items to a table that it defines in the same way.
        let loaded = load_engine(engine, &caller, seed, Existing::Fill)?;
        let (tables, items) = (counted(loaded.tables, "table"), counted(loaded.items, "item"));
        Ok(format!("Loaded {tables} and {items} from {file}{who}.{kept}"))
    });
    read.collect()
}

/// The caller that the tables of `--load` belong to: that of the SDKs, which have the same environment.
fn owner(variable: impl Fn(&str) -> Option<String>) -> Caller {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let region = set("AWS_REGION").or_else(|| set("AWS_DEFAULT_REGION"));
    Caller {
        access_key: set("AWS_ACCESS_KEY_ID").unwrap_or_else(|| "local".into()).into(),
        region: region.unwrap_or_else(|| "us-east-1".into()).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::engine;
    use crate::flags::{Invocation, parse};

    #[test]
    fn loaded_tables_belong_to_the_caller_of_the_environment() {
        for (set, access_key, region) in [
            (&[][..], "local", "us-east-1"),
            (&["AWS_ACCESS_KEY_ID"], "AWS_ACCESS_KEY_ID", "us-east-1"),
            (&["AWS_REGION"], "local", "AWS_REGION"),
            (&["AWS_DEFAULT_REGION"], "local", "AWS_DEFAULT_REGION"),
            (&["AWS_DEFAULT_REGION", "AWS_REGION"], "local", "AWS_REGION"),
        ] {
            let found = owner(|name| set.contains(&name).then(|| name.to_owned()));
            assert_eq!((&*found.access_key, &*found.region), (access_key, region), "{set:?}");
        }
        let empty = owner(|_| Some(String::new()));
        assert_eq!((&*empty.access_key, &*empty.region), ("local", "us-east-1"));
    }

    /// A variable that is empty, as compose files set it, is like one that is not set.
    #[test]
    fn an_empty_region_is_none() {
        for (access_key, region, default, expected) in [
            (None, None, None, ("local", "us-east-1")),
            (Some("key"), Some("a"), Some("b"), ("key", "a")),
            (Some("key"), Some(""), Some("b"), ("key", "b")),
            (Some(""), Some(""), Some(""), ("local", "us-east-1")),
            (Some(""), Some("a"), Some(""), ("local", "a")),
            (Some(""), None, Some("b"), ("local", "b")),
        ] {
            let found = owner(|name| {
                let value = match name {
                    "AWS_ACCESS_KEY_ID" => access_key,
                    "AWS_REGION" => region,
                    "AWS_DEFAULT_REGION" => default,
                    _ => None,
                };
                value.map(str::to_owned)
            });
            assert_eq!((&*found.access_key, &*found.region), expected);
        }
    }

    /// A restart with the same files does not undo what was written since.
    #[test]
    fn loading_leaves_existing_tables_unchanged() {
        let path = std::env::temp_dir().join(format!("dynatwin-load-{}.json", std::process::id()));
        let file = path.to_str().unwrap().to_owned();
        let table = |name: &str, items: &str| {
            format!(
                r#"{{"TableName": "{name}", "AttributeDefinitions": [{{"AttributeName": "id", "AttributeType": "S"}}],
                "KeySchema": [{{"AttributeName": "id", "KeyType": "HASH"}}], "Items": {items}}}"#
            )
        };
        let flags = match parse(
            ["--clock", "settable", "--shared-db", "--load", &file].map(str::to_owned),
            |_| None,
        ) {
            Ok(Invocation::Run(flags)) => flags,
            other => panic!("{other:?}"),
        };
        let engine = engine(&flags);
        let caller = owner(|_| None);
        let one = table("One", r#"[{"id": "a", "v": 1}]"#);
        let changed = table("One", r#"[{"id": "a", "v": 2}, {"id": "b", "v": 2}]"#);
        let two = table("Two", r#"[{"id": "c"}]"#);
        for (tables, line) in [
            (one.clone(), "Loaded 1 table and 1 item from "),
            (one, "Loaded 0 tables and 0 items from "),
            (format!("{changed}, {two}"), "Loaded 1 table and 1 item from "),
        ] {
            std::fs::write(&path, format!(r#"{{"tables": [{tables}]}}"#)).unwrap();
            let lines = load(&flags, &engine).unwrap();
            assert!(lines.len() == 1 && lines[0].starts_with(line), "{lines:?}");
            let items = engine.items(&caller, "One").unwrap();
            assert_eq!(items.len(), 1);
            assert!(String::from_utf8_lossy(items[0].json()).contains(r#""v":{"N":"1"}"#));
        }
        assert_eq!(engine.items(&caller, "Two").unwrap().len(), 1);
        std::fs::remove_file(&path).unwrap();
    }

    /// Files may define a table that already exists in several ways, because it is not loaded.
    #[test]
    fn definitions_of_tables_that_exist_are_not_compared() {
        let table = |name: &str, key: &str| {
            format!(
                r#"{{"TableName": "{name}", "AttributeDefinitions": [{{"AttributeName": "{key}", "AttributeType": "S"}}],
                "KeySchema": [{{"AttributeName": "{key}", "KeyType": "HASH"}}]}}"#
            )
        };
        let paths = ["was", "is", "new"].map(|name| {
            let name = format!("dynatwin-existing-{name}-{}.json", std::process::id());
            std::env::temp_dir().join(name).to_str().unwrap().to_owned()
        });
        for (path, tables) in paths.iter().zip([
            table("One", "id"),
            format!("{}, {}", table("One", "name"), table("Two", "id")),
            format!("{}, {}", table("One", "id"), table("Two", "name")),
        ]) {
            std::fs::write(path, format!("{{\"tables\": [{tables}]}}")).unwrap();
        }
        let [was, is, new] = &paths;
        let of = |files: &[&String]| {
            let words = ["--clock", "settable", "--shared-db"].map(str::to_owned).into_iter();
            let files = files.iter().flat_map(|file| ["--load".to_owned(), (*file).clone()]);
            match parse(words.chain(files), |_| None) {
                Ok(Invocation::Run(flags)) => flags,
                other => panic!("{other:?}"),
            }
        };
        let engine = engine(&of(&[]));
        load(&of(&[was]), &engine).unwrap();
        let lines = load(&of(&[was, is]), &engine).unwrap();
        let unchanged = " Table One existed before this start and is unchanged.";
        assert!(lines.iter().all(|line| line.ends_with(unchanged)), "{lines:?}");
        // Table Two exists now as well, with a key other than that in the last file.
        let lines = load(&of(&[was, is, new]), &engine).unwrap();
        assert!(lines.iter().all(|line| line.ends_with("unchanged.")), "{lines:?}");
        assert_eq!(engine.tables(&owner(|_| None)), ["One", "Two"]);
        paths.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    }

    #[test]
    fn tables_are_defined_in_one_way() {
        let table = |key: &str, item: &str| {
            format!(
                r#"{{"TableName": "One", "AttributeDefinitions": [{{"AttributeName": "{key}", "AttributeType": "S"}}],
                "KeySchema": [{{"AttributeName": "{key}", "KeyType": "HASH"}}], "Items": [{{"{key}": "{item}"}}]}}"#
            )
        };
        let file = |name: &str| {
            let name = format!("dynatwin-{name}-{}.json", std::process::id());
            std::env::temp_dir().join(name).to_str().unwrap().to_owned()
        };
        let (one, two) = (file("one"), file("two"));
        for (first, second, expect) in [
            (vec![table("id", "a")], vec![table("id", "b")], Ok(2)),
            (vec![table("id", "a"), table("id", "b")], vec![], Ok(2)),
            (vec![table("id", "a")], vec![table("name", "b")], Err(&two)),
            (vec![table("id", "a"), table("name", "b")], vec![], Err(&one)),
        ] {
            for (path, tables) in [(&one, &first), (&two, &second)] {
                std::fs::write(path, format!("{{\"tables\": [\n{}]}}", tables.join(",\n"))).unwrap();
            }
            let words = ["--clock", "settable", "--shared-db", "--load", &one, "--load", &two];
            let Ok(Invocation::Run(flags)) = parse(words.map(str::to_owned), |_| None) else {
                panic!("{words:?}");
            };
            let engine = engine(&flags);
            let loaded = load(&flags, &engine).map_err(|error| error.to_string());
            let count = loaded.map(|_| engine.items(&owner(|_| None), "One").unwrap().len());
            match (count, expect) {
                (Err(error), Err(path)) => assert!(
                    error.starts_with(path) && error.ends_with(&format!("table One is defined differently in {one}")),
                    "{error}"
                ),
                (count, expect) => assert_eq!(count.ok(), expect.ok(), "{first:?} {second:?}"),
            }
        }
        [one, two].iter().for_each(|path| std::fs::remove_file(path).unwrap());
    }

    /// Files with only items are loaded into the tables that an earlier file of the same start has created, and into no
    /// others: a restart with the same files keeps changes and deletions.
    #[test]
    fn items_of_other_files_are_loaded_only_into_tables_of_the_same_start() {
        let folder = std::env::temp_dir().join(format!("dynatwin-load-items-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, text: &str| {
            std::fs::write(folder.join(name), text).unwrap();
            folder.join(name).to_str().unwrap().to_owned()
        };
        let definition = |name: &str| {
            format!(
                r#"{{"TableName": "{name}", "AttributeDefinitions": [{{"AttributeName": "id", "AttributeType": "S"}}],
                "KeySchema": [{{"AttributeName": "id", "KeyType": "HASH"}}]}}"#
            )
        };
        let one = file("one.json", &definition("One"));
        let two = file("two.json", &definition("Two"));
        let first = format!("One={}", file("first.jsonl", "{\"id\":\"c\"}\n{\"id\":\"d\"}\n"));
        let second = format!("One={}", file("second.csv", "id\ne\n"));
        let of_two = format!("Two={}", file("of-two.jsonl", "{\"id\":\"x\"}\n"));
        let both = file(
            "both.json",
            r#"{"items": {"One": [{"id": "c"}], "Two": [{"id": "y"}]}}"#,
        );
        let flags = |files: &[&String]| {
            let words = files.iter().flat_map(|file| ["--load", file.as_str()]);
            let words = ["--clock", "settable", "--shared-db"].into_iter().chain(words);
            match parse(words.map(str::to_owned), |_| None) {
                Ok(Invocation::Run(flags)) => flags,
                other => panic!("{other:?}"),
            }
        };
        let engine = engine(&flags(&[]));
        let caller = owner(|_| None);
        let ask = |operation: &str, body: &str| engine.dispatch(&caller, operation, body.as_bytes());
        let count = |table: &str| engine.items(&caller, table).unwrap().len();
        let unchanged = " Table One existed before this start and is unchanged.";
        for (files, expected, items) in [
            (
                vec![&one, &first, &second],
                vec![
                    ("1 table and 0 items", ""),
                    ("0 tables and 2 items", ""),
                    ("0 tables and 1 item", ""),
                ],
                3,
            ),
            (
                vec![&one, &first, &second],
                vec![("0 tables and 0 items", unchanged); 3],
                2,
            ),
            (
                vec![&two, &of_two, &first, &both],
                vec![
                    ("1 table and 0 items", ""),
                    ("0 tables and 1 item", ""),
                    ("0 tables and 0 items", unchanged),
                    ("0 tables and 1 item", unchanged),
                ],
                2,
            ),
            (
                vec![&both],
                vec![(
                    "0 tables and 0 items",
                    " Tables One, Two existed before this start and are unchanged.",
                )],
                2,
            ),
        ] {
            let lines = load(&flags(&files), &engine).unwrap();
            assert_eq!(lines.len(), expected.len());
            for (line, (begin, end)) in lines.iter().zip(expected) {
                assert!(line.starts_with(&format!("Loaded {begin} from ")), "{line}");
                assert!(line.ends_with(&format!(".{end}")), "{line}");
                assert_eq!(line.contains("unchanged"), !end.is_empty(), "{line}");
            }
            assert_eq!(count("One"), items, "{files:?}");
            ask("DeleteItem", r#"{"TableName": "One", "Key": {"id": {"S": "d"}}}"#);
        }
        assert_eq!(count("Two"), 2);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// A line has the owner of the tables, unless all callers share them.
    #[test]
    fn lines_name_the_owner_of_the_tables() {
        let Caller { access_key, region } = owner(|name| std::env::var(name).ok());
        let path = std::env::temp_dir().join(format!("dynatwin-load-owner-{}.json", std::process::id()));
        let file = path.to_str().unwrap();
        let table = r#"{"tables": [{"TableName": "Tab", "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "Items": [{"id": "a"}, {"id": "b"}]}]}"#;
        std::fs::write(&path, table).unwrap();
        let owned = format!(" for access key {access_key} in {region} (--shared-db shows them to all callers)");
        for (words, who) in [(&[][..], owned.as_str()), (&["--shared-db"], "")] {
            let flags = Flags::of(&[&["--load", file], words].concat());
            let lines = load(&flags, &engine(&flags)).unwrap();
            let expected = format!("Loaded 1 table and 2 items from {file}{who}.");
            assert_eq!(lines, [expected], "{words:?}");
        }
        std::fs::remove_file(&path).unwrap();
    }
}
