//! What a document or directory is taken for, and the errors of those that are nothing that can be loaded.
#![allow(clippy::unwrap_used)] // a test may fail

mod common;

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use common::{caller, engine};
use dynatwin_engine::Conditions;
use dynatwin_seed::{CopyEvent, Database, Existing, InProcess, Loaded, Seed, export, load_engine};
use serde_json::{Value, json};

/// A folder that is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("dynatwin-files-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Writes a file, with the directories that it is in.
    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn read(&self) -> Result<Seed, String> {
        Seed::read(self.0.to_str().unwrap()).map_err(|error| error.to_string())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A document is recognized by its members, and has those that its form requires.
#[test]
fn documents_are_recognized_by_their_members() {
    let key = json!([{"AttributeName": "id", "KeyType": "HASH"}]);
    let attributes = json!([{"AttributeName": "id", "AttributeType": "S"}]);
    let table = json!({"TableName": "Tab", "KeySchema": key, "AttributeDefinitions": attributes});
    let with = |more: Value| {
        let mut table = table.clone();
        for (name, value) in more.as_object().unwrap() {
            table[name] = value.clone();
        }
        table
    };
    let units = json!({"ReadCapacityUnits": 2, "WriteCapacityUnits": 3, "NumberOfDecreasesToday": 0});
    let description = with(json!({"TableStatus": "CREATING", "ItemCount": 0, "ProvisionedThroughput": units}));
    let resource = json!({"type": "aws_dynamodb_table", "values": {"name": "Tab", "hash_key": "id",
        "billing_mode": "PAY_PER_REQUEST", "attribute": [{"name": "id", "type": "S"}]}});
    let module = json!({"root_module": {"resources": [resource]}});
    let (provisioned, on_demand) = (Ok("PROVISIONED"), Ok("PAY_PER_REQUEST"));
    let unknown = Err("x.json:1: the document is not in a format that can be loaded");
    for (document, expected) in [
        (table.clone(), on_demand),
        (with(json!({"BillingMode": "PROVISIONED"})), provisioned),
        (description.clone(), provisioned),
        (json!({"Table": description}), provisioned),
        // CreateTable's answer.
        (json!({"TableDescription": description}), provisioned),
        (
            json!({"TableDescription": description, "ResponseMetadata": {"RetryAttempts": 0}}),
            provisioned,
        ),
        (json!({"tables": [table]}), on_demand),
        (json!([table]), on_demand),
        // The first element tells whether a list is one of tables.
        (
            json!([table, {"id": "a"}]),
            Err("x.json:1: `id` is not a member of a table"),
        ),
        (json!({"planned_values": module}), on_demand),
        (json!({"terraform_version": "1", "planned_values": module}), on_demand),
        (json!({"terraform_version": "1", "values": module}), on_demand),
        (json!({"values": module}), unknown),
        (
            json!({"terraform_version": "1"}),
            Err("x.json:1: the plan has no planned_values.root_module"),
        ),
        (json!({"TableStatus": "ACTIVE"}), unknown),
        (json!({"TableStatus": "ACTIVE", "KeySchema": key}), unknown),
        (json!({"KeySchema": key, "AttributeDefinitions": attributes}), unknown),
        (json!({"TableName": "Tab"}), unknown),
        (
            json!({"TableName": "Tab", "TableStatus": "ACTIVE"}),
            Err("x.json:1: the table Tab has no KeySchema"),
        ),
        (
            json!({"TableName": "Tab", "KeySchema": key}),
            Err("x.json:1: the table Tab has no AttributeDefinitions"),
        ),
        (json!({"Item": {"id": "a"}, "Count": 1}), unknown),
        (json!({}), unknown),
    ] {
        let read = Seed::parse("x.json", document.to_string().as_bytes());
        let read = read.map_err(|error| error.to_string()).map(|seed| {
            assert_eq!((seed.tables.len(), seed.items.len()), (1, 0), "{document}");
            assert_eq!(seed.tables[0].name, "Tab", "{document}");
            seed.tables[0].create["BillingMode"].as_str().unwrap().to_owned()
        });
        assert_eq!(read, expected.map(str::to_owned).map_err(str::to_owned), "{document}");
    }
}

/// An empty list of items names no table that must exist.
#[test]
fn empty_lists_of_items_are_none() {
    for text in [
        r#"{"items": {"Nowhere": []}}"#,
        r#"{"items": {}}"#,
        r#"{"tables": []}"#,
        r#"{"Items": [], "Count": 0}"#,
        "[]",
    ] {
        let seed = Seed::parse("Nowhere.json", text.as_bytes()).unwrap();
        let loaded = load_engine(&engine(&Conditions::CALM), &caller(), seed, Existing::Refuse);
        assert_eq!(loaded, Ok(Loaded { tables: 0, items: 0 }), "{text}");
    }
}

/// A list whose first element is not a table is one of items.
#[test]
fn lists_of_items_may_have_items_like_tables() {
    let text = br#"[{"id": "a"}, {"id": "b", "KeySchema": []}]"#;
    let seed = Seed::parse("Tab.json", text).unwrap();
    assert!(seed.tables.is_empty());
    let items = seed.items.into_iter().flat_map(|items| items.items);
    assert_eq!(items.map(Result::unwrap).count(), 2);
}

/// Blank files are empty, and texts in other encodings than UTF-8 are refused.
#[test]
fn files_without_a_document_are_refused() {
    let invalid = "stream did not contain valid UTF-8";
    for (name, text, message) in [
        ("x.json", &b""[..], "x.json:1: the file is empty"),
        ("x.json", b"\n", "x.json:1: the file is empty"),
        ("x.json", b"\r\n \t\n\n", "x.json:1: the file is empty"),
        ("x.json", b"  ", "x.json:1: the file is empty"),
        ("x.template", b"\n", "x.template:1: the file is empty"),
        ("x.yaml", b"", "x.yaml:1: the file is empty"),
        ("x.yaml", b"\n# x\n", "x.yaml:1: the file is empty"),
        ("x.json", b"[\"\xff\"]", &format!("x.json: {invalid}")),
        ("x.json", b"[\n\"\xff\"]", &format!("x.json: {invalid}")),
        ("x.yaml", b"a: \xff\n", &format!("x.yaml: {invalid}")),
        ("x.template", b"{\"a\": \"\xe9\"}", &format!("x.template: {invalid}")),
        // An item on each line is a form of `.json` alone.
        (
            "x.template",
            b"{\"id\": \"a\"}\n{\"id\": \"b\"}\n",
            "x.template:2: not valid JSON",
        ),
        (
            "x.yaml",
            b"{\"id\": \"a\"}\n{\"id\": \"b\"}\n",
            "x.yaml:2: not valid YAML",
        ),
    ] {
        let error = Seed::parse(name, text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{name} {text:?}: {error}");
    }
    for (name, text) in [("x.jsonl", &b"{\"id\": \"\xff\"}\n"[..]), ("x.ndjson", b"\xff\n")] {
        let mut items = Seed::parse(name, text).unwrap().items.remove(0).items;
        let error = items.next().unwrap().unwrap_err();
        assert_eq!(error.to_string(), format!("{name}:1: {invalid}"));
        assert!(items.next().is_none());
    }
}

/// White space between the lines of items may be longer than what is read at once.
#[test]
fn lines_may_be_far_apart() {
    let folder = Folder::new("spaces");
    for space in [1, 8_191, 8_192, 20_000, 70_000] {
        let path = folder.write(
            "Tab.json",
            format!("{{\"id\": \"a\"}}\n{}\n{{\"id\": \"b\"}}\n", " ".repeat(space)),
        );
        let items = Seed::read(&path).unwrap().items.remove(0).items;
        let lines: Vec<_> = items.map(|item| item.unwrap().line).collect();
        assert_eq!(lines, [1, 3], "{space}");
        // A document before white space alone is one.
        let path = folder.write("Tab.json", format!("{{\"Items\": []}}\n{}", " ".repeat(space)));
        assert!(Seed::read(&path).unwrap().items.is_empty(), "{space}");
        let path = folder.write("Tab.json", format!("{{\"Items\": []}}\n{}x", " ".repeat(space)));
        assert_eq!(Seed::read(&path).unwrap_err().line(), Some(2), "{space}");
    }
}

/// A `=` is one of the file's name if there is such a file, and otherwise ends the name of the table.
#[test]
fn files_may_have_an_equals_sign_in_their_names() {
    let folder = Folder::new("equals");
    let path = folder.write("A=B.json", r#"[{"id": "a"}]"#);
    for (argument, table) in [
        (path.clone(), "A=B"),
        (format!("T={path}"), "T"),
        (format!("={path}"), ""),
    ] {
        let seed = Seed::read(&argument).unwrap_or_else(|error| panic!("{argument}: {error}"));
        assert_eq!(seed.items[0].table, table, "{argument}");
    }
    let missing = folder.0.join("C=D.json").display().to_string();
    let error = Seed::read(&missing).unwrap_err().to_string();
    assert_eq!(error, "D.json: No such file or directory (os error 2)");
}

/// An export of one table with one item, without its definition.
fn write_export(folder: &Folder, directory: &str, table: &str) {
    let path = |name: &str| format!("{directory}/{name}");
    let summary = json!({"exportType": "FULL_EXPORT", "outputFormat": "DYNAMODB_JSON",
        "tableArn": format!("arn:aws:dynamodb:us-east-1:000000000000:table/{table}")});
    folder.write(&path("manifest-summary.json"), summary.to_string());
    let manifest = json!({"itemCount": 1, "dataFileS3Key": "AWSDynamoDB/1/data/x.json"});
    folder.write(&path("manifest-files.json"), format!("\n{manifest}\n \n"));
    folder.write(&path("data/x.json"), "{\"Item\":{\"id\":{\"S\":\"a\"}}}\n");
}

/// Exports are found up to four levels below the directory, beside other files, and not through links.
#[test]
fn exports_of_a_directory_are_found() {
    let folder = Folder::new("found");
    let none = format!("{}: there is no export: no manifest-summary.json", folder.0.display());
    assert_eq!(folder.read().unwrap_err(), none);
    folder.write("notes.txt", "x");
    folder.write("manifest-summary.json/x", "x");
    folder.write("a/b/c/manifest-files.json", "{}");
    assert_eq!(folder.read().unwrap_err(), none);
    write_export(&folder, "1/2/3/4/5", "TooDeep");
    assert_eq!(folder.read().unwrap_err(), none);
    for (directory, table) in [
        ("1/2/3/4", "Fourth"),
        ("a/b", "Second"),
        ("a/a", "First"),
        ("b", "Third"),
        // One within another is not a further one.
        ("b/data/c", "Inner"),
    ] {
        write_export(&folder, directory, table);
    }
    #[cfg(unix)]
    for (target, link) in [("..", "a/up"), ("../b", "a/other")] {
        std::os::unix::fs::symlink(target, folder.0.join(link)).unwrap();
    }
    let seed = folder.read().unwrap();
    let tables: Vec<_> = seed.items.iter().map(|items| items.table.as_str()).collect();
    assert_eq!(tables, ["Fourth", "First", "Second", "Third"]);
    for items in seed.items {
        let lines: Vec<_> = items.items.map(|item| item.unwrap().line).collect();
        assert_eq!(lines, [1]);
    }
    // The directory itself may be one.
    fs::remove_dir_all(folder.0.join("manifest-summary.json")).unwrap();
    write_export(&folder, ".", "Top");
    let seed = folder.read().unwrap();
    assert_eq!((seed.items.len(), seed.items[0].table.as_str()), (1, "Top"));
}

/// The items of all exports of a table are loaded, also under another name, which exports of several tables cannot have.
#[test]
fn several_exports_of_one_table_may_have_another_name() {
    let several = "there are exports of several tables, One and Two, which cannot be loaded as the one table New";
    for (tables, expected) in [
        (&["One"][..], Ok(())),
        (&["One", "One"], Ok(())),
        (&["One", "One", "One"], Ok(())),
        (&["One", "Two"], Err(several)),
        (&["One", "One", "Two"], Err(several)),
        (&["One", "Two", "One"], Err(several)),
    ] {
        let folder = Folder::new("again");
        for (at, table) in tables.iter().enumerate() {
            write_export(&folder, &format!("AWSDynamoDB/{at}"), table);
        }
        let read = |argument: &str| {
            let seed = Seed::read(argument).map_err(|error| error.message().to_owned())?;
            let read = seed.items.into_iter().map(|items| {
                let lines = items.items.map(|item| item.unwrap().line);
                (items.table, lines.collect::<Vec<_>>())
            });
            Ok::<_, String>(read.collect::<Vec<_>>())
        };
        let path = folder.0.display();
        let own = tables.iter().map(|table| ((*table).to_owned(), vec![1]));
        assert_eq!(read(&path.to_string()), Ok(own.collect()), "{tables:?}");
        let renamed = expected.map(|()| vec![("New".to_owned(), vec![1]); tables.len()]);
        assert_eq!(
            read(&format!("New={path}")),
            renamed.map_err(str::to_owned),
            "{tables:?}"
        );
    }
}

/// Every data file of an export is read, in the order of the manifest, packed or not.
#[test]
fn every_data_file_of_an_export_is_read() {
    let folder = Folder::new("several");
    for count in 0..=4 {
        write_export(&folder, "x", "Tab");
        let mut manifest = String::new();
        for at in (0..count).rev() {
            let text = format!("{{\"Item\":{{\"id\":{{\"S\":\"{at}\"}}}}}}\n").repeat(at + 1);
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
            let (name, bytes) = if at.is_multiple_of(2) {
                (format!("{at}.json"), text.into_bytes())
            } else {
                (format!("{at}.json.gz"), encoder.finish().unwrap())
            };
            folder.write(&format!("x/data/{name}"), bytes);
            manifest +=
                &json!({"itemCount": at + 1, "dataFileS3Key": format!("AWSDynamoDB/1/data/{name}")}).to_string();
            manifest += "\n";
        }
        folder.write("x/manifest-files.json", manifest);
        let mut lines = Vec::new();
        for items in folder.read().unwrap().items {
            assert_eq!(items.table, "Tab");
            lines.push(items.items.map(|item| item.unwrap().line).collect::<Vec<_>>());
        }
        let expected: Vec<Vec<usize>> = (1..=count).rev().map(|items| (1..=items).collect()).collect();
        assert_eq!(lines, expected);
    }
}

/// What is wrong with an export is named with its file.
#[test]
fn invalid_exports_are_refused() {
    let folder = Folder::new("invalid");
    for (file, text, message) in [
        ("manifest-summary.json", "{", "manifest-summary.json: EOF while parsing"),
        (
            "manifest-summary.json",
            "{}",
            "manifest-summary.json: only exports in DYNAMODB_JSON can be loaded",
        ),
        (
            "manifest-summary.json",
            r#"{"outputFormat": "DYNAMODB_JSON"}"#,
            "manifest-summary.json: tableArn names no table",
        ),
        (
            "manifest-files.json",
            "\n{\n",
            "manifest-files.json:2: EOF while parsing",
        ),
        (
            "manifest-files.json",
            "{}\n",
            "manifest-files.json:1: there is no dataFileS3Key",
        ),
        (
            "manifest-files.json",
            "\n\n{\"dataFileS3Key\": \"..\"}\n",
            "manifest-files.json:3: .. names no file",
        ),
        (
            "manifest-files.json",
            r#"{"dataFileS3Key": "data/y.json"}"#,
            "data/y.json: No such file or directory",
        ),
        ("table.json", "{\n1", "table.json:2: not valid JSON"),
        (
            "table.json",
            "{\"Table\": {}}",
            "table.json:1: the table has no TableName",
        ),
        (
            "table.json",
            "{\"Shards\": 1}",
            "table.json:1: `Shards` is not a member of a table description",
        ),
    ] {
        let _ = fs::remove_dir_all(folder.0.join("x"));
        write_export(&folder, "x", "Tab");
        assert!(folder.read().is_ok());
        let path = folder.write(&format!("x/{file}"), text);
        let error = folder.read().unwrap_err();
        let expected = format!("{}/{message}", path.strip_suffix(file).unwrap().trim_end_matches('/'));
        assert!(error.starts_with(&expected), "{text}: {error}");
    }
    fs::remove_file(folder.0.join("x/table.json")).unwrap();
    fs::remove_file(folder.0.join("x/manifest-files.json")).unwrap();
    let error = folder.read().unwrap_err();
    assert!(error.contains("x/manifest-files.json: No such file"), "{error}");
}

/// The events of an export name each table with the number of its items, and count what is written.
#[test]
fn the_events_of_an_export_count_its_items() {
    let (from, caller) = (engine(&Conditions::CALM), caller());
    let source = InProcess::new(&from, &caller);
    let counts = [("Aaa", 3), ("Bbb", 0), ("Ccc", 2)];
    for (name, count) in counts {
        let table = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]});
        source.call("CreateTable", &table).unwrap();
        for id in 0..count {
            let item = json!({"id": {"S": id.to_string()}});
            source
                .call("PutItem", &json!({"TableName": name, "Item": item}))
                .unwrap();
        }
    }
    let about = |name: &str| {
        let answer = source.call("DescribeTable", &json!({"TableName": name})).unwrap();
        answer["Table"]["ItemCount"].as_u64().unwrap()
    };
    let folder = Folder::new("events");
    let events = Mutex::new(Vec::new());
    let report = |event: CopyEvent<'_>| {
        events.lock().unwrap().push(match event {
            CopyEvent::Begins { table, about } => format!("{table} begins, about {about}"),
            CopyEvent::Copied { items } => format!("{items} copied"),
            CopyEvent::Note { text } => text.to_owned(),
            CopyEvent::Done { table, items, checksum } => format!("{table} has {items}, {checksum:?}"),
        });
    };
    assert_eq!(export(&source, &[], &folder.0, &report), Ok(5));
    let expected = counts.map(|(name, count)| {
        [
            format!("{name} begins, about {}", about(name)),
            format!("{count} copied"),
            format!("{name} has {count}, None"),
        ]
    });
    assert_eq!(events.into_inner().unwrap(), expected.concat());
    let missing = export(&source, &["Ccc2".to_owned()], &folder.0, &|_| ());
    assert!(missing.unwrap_err().starts_with("Ccc2: ResourceNotFoundException: "));
    assert!(!folder.0.join("Ccc2").exists());
}
