//! The forms of a rule that differ in a name, a position or a format: each is a line of a table.
#![allow(clippy::unwrap_used)] // a test may fail

mod common;

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use common::{caller, engine};
use dynatwin_engine::{Conditions, Engine};
use dynatwin_seed::{
    CallError, CopyEvent, CopyOptions, Database, Existing, InProcess, Seed, copy, export, load_engine,
};
use serde_json::{Value, json};

/// A folder that is removed at the end of a test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("dynatwin-variants-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn ask(engine: &Engine, operation: &str, body: &Value) -> Value {
    let caller = caller();
    let answer = InProcess::new(engine, &caller).call(operation, body);
    answer.unwrap_or_else(|error| panic!("{operation} {body}: {error}"))
}

/// A table with these key attributes, each a name and a type.
fn create(engine: &Engine, table: &str, key: &[(&str, &str)]) {
    let attributes = key.iter();
    let attributes = attributes.map(|(name, kind)| json!({"AttributeName": name, "AttributeType": kind}));
    let schema = key.iter().zip(["HASH", "RANGE"]);
    let schema = schema.map(|((name, _), role)| json!({"AttributeName": name, "KeyType": role}));
    let body = json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": attributes.collect::<Vec<_>>(), "KeySchema": schema.collect::<Vec<_>>()});
    ask(engine, "CreateTable", &body);
}

fn put(engine: &Engine, table: &str, item: &Value) {
    ask(engine, "PutItem", &json!({"TableName": table, "Item": item}));
}

fn count(engine: &Engine, table: &str) -> usize {
    engine.items(&caller(), table).unwrap().len()
}

/// A table of the destination is filled if it has the same key, and is left unchanged if any part of its key differs.
#[test]
fn a_destination_with_another_key_is_refused() {
    let simple = [("pk", "S")];
    let full = [("pk", "S"), ("sk", "S")];
    for (source, destination, is_copied) in [
        (&simple[..], &simple[..], true),
        (&full, &full, true),
        (&simple, &[("id", "S")], false),
        (&simple, &[("PK", "S")], false),
        (&simple, &full, false),
        (&full, &simple, false),
        (&full, &[("pk", "S"), ("at", "S")], false),
        (&full, &[("id", "S"), ("sk", "S")], false),
        (&full, &[("sk", "S"), ("pk", "S")], false),
        (&full, &[("sk", "S")], false),
    ] {
        let context = format!("{source:?} to {destination:?}");
        let (from, to, caller) = (engine(&Conditions::CALM), engine(&Conditions::CALM), caller());
        // The first table is new, the second is compared.
        create(&from, "Aaa", &simple);
        create(&from, "Bbb", source);
        create(&to, "Bbb", destination);
        let item = json!({"pk": {"S": "a"}, "sk": {"S": "b"}});
        put(&from, "Aaa", &item);
        put(&from, "Bbb", &item);
        let notes = Mutex::new(Vec::new());
        let report = |event: CopyEvent<'_>| {
            if let CopyEvent::Note { text } = event {
                notes.lock().unwrap().push(text.to_owned());
            }
        };
        let copied = copy(
            &InProcess::new(&from, &caller),
            &InProcess::new(&to, &caller),
            &CopyOptions::default(),
            &report,
        );
        assert_eq!(count(&to, "Aaa"), 1, "{context}");
        if is_copied {
            assert_eq!(copied, Ok(2), "{context}");
            assert_eq!(
                *notes.lock().unwrap(),
                ["Bbb already exists; its definition is not changed"],
                "{context}"
            );
        } else {
            let refused = "Bbb: the destination has a table of this name with another key";
            assert_eq!(copied, Err(refused.to_owned()), "{context}");
        }
        assert_eq!(count(&to, "Bbb"), usize::from(is_copied), "{context}");
    }
}

/// Records the requests of one operation.
struct Recording<'d> {
    inner: InProcess<'d>,
    operation: &'static str,
    requests: Mutex<Vec<Value>>,
}

impl<'d> Recording<'d> {
    fn new(inner: InProcess<'d>, operation: &'static str) -> Recording<'d> {
        Recording {
            inner,
            operation,
            requests: Mutex::default(),
        }
    }
}

impl Database for Recording<'_> {
    fn call(&self, operation: &str, body: &Value) -> Result<Value, CallError> {
        if operation == self.operation {
            self.requests.lock().unwrap().push(body.clone());
        }
        self.inner.call(operation, body)
    }

    fn pause(&self, time: Duration) {
        self.inner.pause(time);
    }
}

/// Two tables of several pages each.
fn large() -> Engine {
    let from = engine(&Conditions::CALM);
    for table in ["Aaa", "Bbb"] {
        create(&from, table, &[("id", "S")]);
        for n in 0..12 {
            let text = "x".repeat(350_000);
            put(&from, table, &json!({"id": {"S": n.to_string()}, "text": {"S": text}}));
        }
    }
    from
}

/// Every page of every table is read consistently, by a copy, its verification and an export, and continues where the one
/// before has ended.
#[test]
fn every_page_is_read_consistently() {
    let (from, caller) = (large(), caller());
    for (segments, verify) in [(1, false), (1, true), (3, false), (3, true)] {
        let to = engine(&Conditions::CALM);
        let options = CopyOptions {
            segments,
            verify,
            ..CopyOptions::default()
        };
        let source = Recording::new(InProcess::new(&from, &caller), "Scan");
        let destination = Recording::new(InProcess::new(&to, &caller), "Scan");
        assert_eq!(copy(&source, &destination, &options, &|_| ()), Ok(24));
        let context = format!("{segments} segments, verified {verify}");
        check_pages(&source, segments, if verify { 2 } else { 1 }, &context);
        check_pages(&destination, segments, usize::from(verify), &context);
    }
    let folder = Folder::new("pages");
    let source = Recording::new(InProcess::new(&from, &caller), "Scan");
    let exported = export(&source, &[], &folder.0, &|_| ());
    assert_eq!(exported, Ok(24));
    check_pages(&source, 1, 1, "export");
}

/// Checks the recorded scans of the two tables, each `times` in `segments`.
fn check_pages(recorded: &Recording<'_>, segments: usize, times: usize, context: &str) {
    let requests = recorded.requests.lock().unwrap();
    for request in requests.iter() {
        assert_eq!(request["ConsistentRead"], true, "{context}: {request}");
        let total = if segments > 1 { json!(segments) } else { Value::Null };
        assert_eq!(request["TotalSegments"], total, "{context}: {request}");
        assert_eq!(request["Segment"].is_null(), segments == 1, "{context}: {request}");
        assert!(
            request["Limit"].is_null() && request["IndexName"].is_null(),
            "{context}: {request}"
        );
    }
    for table in ["Aaa", "Bbb"] {
        let of_table = requests.iter().filter(|request| request["TableName"] == table);
        let (first, later): (Vec<_>, Vec<_>) = of_table.partition(|request| request["ExclusiveStartKey"].is_null());
        assert_eq!(first.len(), segments * times, "{context}: first pages of {table}");
        assert!(later.len() >= 2 * times, "{context}: pages of {table}: {}", later.len());
        let mut keys: Vec<String> = later
            .iter()
            .map(|request| request["ExclusiveStartKey"].to_string())
            .collect();
        keys.sort();
        for pages in keys.chunks(times.max(1)) {
            assert!(pages.iter().all(|key| *key == pages[0]), "{context}: {keys:?}");
            assert_eq!(pages.len(), times, "{context}: {keys:?}");
        }
    }
}

/// Writes are sent in batches of at most 25 of one table, and each item once.
#[test]
fn batches_have_the_items_of_one_table() {
    for count in [1, 24, 25, 26, 49, 50, 51] {
        let (from, to, caller) = (engine(&Conditions::CALM), engine(&Conditions::CALM), caller());
        for table in ["Aaa", "Bbb"] {
            create(&from, table, &[("id", "S")]);
            for n in 0..count {
                put(&from, table, &json!({"id": {"S": n.to_string()}}));
            }
        }
        let destination = Recording::new(InProcess::new(&to, &caller), "BatchWriteItem");
        let options = CopyOptions {
            segments: 1,
            ..CopyOptions::default()
        };
        let copied = copy(&InProcess::new(&from, &caller), &destination, &options, &|_| ());
        assert_eq!(copied, Ok(2 * count));
        for table in ["Aaa", "Bbb"] {
            let requests = destination.requests.lock().unwrap();
            let sizes = requests.iter().filter_map(|request| request["RequestItems"].get(table));
            let sizes: Vec<u64> = sizes.map(|batch| batch.as_array().unwrap().len() as u64).collect();
            let mut expected = vec![25; count as usize / 25];
            expected.extend(Some(count % 25).filter(|rest| *rest > 0));
            assert_eq!(sizes, expected, "{count} in {table}");
        }
    }
}

/// Only the named tables are copied, in the order of their names in the options.
#[test]
fn a_copy_has_the_tables_that_it_names() {
    let (from, caller) = (engine(&Conditions::CALM), caller());
    for table in ["One", "Two", "Three"] {
        create(&from, table, &[("id", "S")]);
        put(&from, table, &json!({"id": {"S": table}}));
    }
    for (named, expected) in [
        (&[][..], &["One", "Three", "Two"][..]),
        (&["Two"], &["Two"]),
        (&["Two", "One"], &["Two", "One"]),
    ] {
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        for is_copy in [true, false] {
            let (done, to) = (Mutex::new(Vec::new()), engine(&Conditions::CALM));
            let report = |event: CopyEvent<'_>| {
                if let CopyEvent::Done { table, items, .. } = event {
                    done.lock().unwrap().push((table.to_owned(), items));
                }
            };
            let source = InProcess::new(&from, &caller);
            let folder = Folder::new("named");
            let copied = if is_copy {
                let options = CopyOptions {
                    tables: named.clone(),
                    ..CopyOptions::default()
                };
                copy(&source, &InProcess::new(&to, &caller), &options, &report)
            } else {
                export(&source, &named, &folder.0, &report)
            };
            assert_eq!(copied, Ok(expected.len() as u64), "{named:?}");
            let expected: Vec<_> = expected.iter().map(|table| ((*table).to_owned(), 1)).collect();
            assert_eq!(*done.lock().unwrap(), expected, "{named:?}, a copy {is_copy}");
            let mut names: Vec<String> = if is_copy {
                to.tables(&caller)
            } else {
                let entries = fs::read_dir(&folder.0).unwrap();
                entries
                    .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                    .collect()
            };
            let mut tables: Vec<String> = expected.into_iter().map(|(table, _)| table).collect();
            names.sort();
            tables.sort();
            assert_eq!(names, tables, "a copy {is_copy}");
        }
    }
    let missing = CopyOptions {
        tables: vec!["One".into(), "Four".into()],
        ..CopyOptions::default()
    };
    let to = engine(&Conditions::CALM);
    let error = copy(
        &InProcess::new(&from, &caller),
        &InProcess::new(&to, &caller),
        &missing,
        &|_| (),
    );
    assert!(error.unwrap_err().starts_with("Four: ResourceNotFoundException: "));
    assert_eq!(count(&to, "One"), 1);
}

/// An export of which a file cannot be written has no summary, so that the next attempt finds none and can be complete.
#[test]
fn an_export_that_fails_has_no_summary() {
    let (from, caller) = (engine(&Conditions::CALM), caller());
    create(&from, "Tab", &[("id", "S")]);
    put(&from, "Tab", &json!({"id": {"S": "a"}}));
    for (at, name) in ["data/items.json.gz", "table.json", "manifest-files.json"]
        .iter()
        .enumerate()
    {
        let folder = Folder::new(&format!("unfinished-{at}"));
        let (blocked, summary) = (
            folder.0.join("Tab").join(name),
            folder.0.join("Tab/manifest-summary.json"),
        );
        fs::create_dir_all(&blocked).unwrap();
        let exported = || export(&InProcess::new(&from, &caller), &[], &folder.0, &|_| ());
        assert!(exported().is_err(), "{name}");
        assert!(!summary.exists(), "{name}");
        fs::remove_dir(&blocked).unwrap();
        assert_eq!(exported(), Ok(1), "{name}");
        assert!(summary.is_file(), "{name}");
    }
}

const LINES: &str = "{\"id\": \"a\"}\n{\"id\": \"b\"}\n";

/// The case of an extension does not matter; the name of the table keeps its own.
#[test]
fn extensions_are_known_in_any_case() {
    let folder = Folder::new("extensions");
    let yaml = "- id: a\n- id: b\n";
    let json = r#"[{"id": "a"}, {"id": "b"}]"#;
    let csv = "id\na\nb\n";
    for (extensions, text) in [
        (&["csv", "CSV", "Csv", "csV"][..], csv),
        (&["jsonl", "JSONL", "JsonL", "ndjson", "NDJSON", "NdJson"], LINES),
        (&["json", "JSON", "Json"], json),
        (&["JSON", "Json"], LINES),
        (&["template", "TEMPLATE", "Template"], json),
        (&["yaml", "YAML", "Yaml", "yml", "YML", "Yml"], yaml),
    ] {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
        let packed = encoder.finish().unwrap();
        for extension in extensions {
            for (name, bytes) in [
                (format!("ORDERS.{extension}"), text.as_bytes()),
                (format!("Orders.2026.{extension}"), text.as_bytes()),
                (format!("Orders.{extension}.gz"), &packed[..]),
                (format!("Orders.{extension}.GZ"), &packed[..]),
                (format!("Orders.2026.{extension}.Gz"), &packed[..]),
            ] {
                let path = folder.write(&name, bytes);
                let stem = name.split('.').next().unwrap();
                for (argument, table) in [(path.clone(), stem), (format!("My.Table={path}"), "My.Table")] {
                    let seed = Seed::read(&argument).unwrap_or_else(|error| panic!("{argument}: {error}"));
                    let read = seed.items.into_iter().map(|items| {
                        let count = items.items.inspect(|item| assert!(item.is_ok(), "{argument}")).count();
                        (items.table, count)
                    });
                    let read = read.fold((String::new(), 0), |all, (table, count)| (table, all.1 + count));
                    assert_eq!(read, (table.to_owned(), 2), "{argument}");
                }
                if bytes == text.as_bytes() {
                    let seed = Seed::parse(&name, bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
                    assert_eq!(seed.items[0].table, stem, "{name}");
                }
            }
        }
    }
    for extension in ["js", "JS", "cjs", "Cjs", "mjs", "MJS", "ts", "TS"] {
        let error = Seed::parse(&format!("tables.{extension}"), b"[]").unwrap_err();
        assert!(
            error.message().starts_with("JavaScript is not evaluated"),
            "{extension}: {error}"
        );
    }
    for name in [
        "Orders",
        "Orders.txt",
        "Orders.TXT",
        "Orders.csvx",
        "Orders.xcsv",
        "csv",
        "Orders.",
        ".csv",
    ] {
        let error = Seed::parse(name, b"[]").unwrap_err();
        assert!(
            error.message().starts_with("the extension is not known"),
            "{name}: {error}"
        );
    }
}

/// A table of every format in which time to live can be given, and the settings of time to live of its two tables.
fn tables_with(format: &str, first: Option<&str>, second: Option<&str>) -> String {
    let key = r#""AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST""#;
    let more = |specification: Option<&str>| {
        specification.map_or(String::new(), |it| format!(r#", "TimeToLiveSpecification": {it}"#))
    };
    let [first, second] = [("One", first), ("Two", second)]
        .map(|(name, specification)| format!(r#"{{"TableName": "{name}", {key}{}}}"#, more(specification)));
    match format {
        "list" => format!("[{first}, {second}]"),
        "bundle" => format!(r#"{{"tables": [{first}, {second}]}}"#),
        "template" => format!(
            r#"{{"Resources": {{"Aaa": {{"Type": "AWS::DynamoDB::Table", "Properties": {first}}},
                "Bbb": {{"Type": "AWS::DynamoDB::Table", "Properties": {second}}}}}}}"#
        ),
        "global" => format!(
            r#"{{"Resources": {{"Aaa": {{"Type": "AWS::DynamoDB::GlobalTable", "Properties": {first}}},
                "Bbb": {{"Type": "AWS::DynamoDB::GlobalTable", "Properties": {second}}}}}}}"#
        ),
        other => panic!("{other}"),
    }
}

/// Time to live is on unless `Enabled` is false, for the first table of a file and for the second.
#[test]
fn time_to_live_is_on_unless_it_is_disabled() {
    for format in ["list", "bundle", "template", "global"] {
        for (specification, attribute) in [
            (None, None),
            (Some(r#"{"AttributeName": "expires"}"#), Some("expires")),
            (
                Some(r#"{"AttributeName": "expires", "Enabled": true}"#),
                Some("expires"),
            ),
            (
                Some(r#"{"Enabled": "true", "AttributeName": "expires"}"#),
                Some("expires"),
            ),
            (Some(r#"{"AttributeName": "expires", "Enabled": false}"#), None),
            (Some(r#"{"AttributeName": "expires", "Enabled": "false"}"#), None),
            (Some(r#"{"Enabled": false}"#), None),
        ] {
            let other = r#"{"AttributeName": "other"}"#;
            for (first, second, expected) in [
                (specification, None, [attribute, None]),
                (None, specification, [None, attribute]),
                (specification, Some(other), [attribute, Some("other")]),
                (Some(other), specification, [Some("other"), attribute]),
            ] {
                let text = tables_with(format, first, second);
                // JSON is YAML, too.
                for name in ["tables.json", "tables.yaml"] {
                    let seed = Seed::parse(name, text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
                    let read: Vec<_> = seed.tables.iter().map(|table| table.time_to_live.as_deref()).collect();
                    assert_eq!(read, expected, "{name}: {text}");
                    let to = engine(&Conditions::CALM);
                    load_engine(&to, &caller(), seed, Existing::Refuse).unwrap();
                    for (table, attribute) in ["One", "Two"].into_iter().zip(expected) {
                        let described =
                            &ask(&to, "DescribeTimeToLive", &json!({"TableName": table}))["TimeToLiveDescription"];
                        let status = if attribute.is_some() { "ENABLED" } else { "DISABLED" };
                        assert_eq!(described["TimeToLiveStatus"], status, "{table} of {text}");
                        assert_eq!(described["AttributeName"].as_str(), attribute, "{table} of {text}");
                    }
                }
            }
        }
        for invalid in [r#"{"Enabled": true}"#, "{}"] {
            let error = Seed::parse("tables.json", tables_with(format, None, Some(invalid)).as_bytes()).unwrap_err();
            assert_eq!(
                error.message(),
                "TimeToLiveSpecification of Two has no AttributeName",
                "{format}: {invalid}"
            );
        }
    }
}

/// Recovery is off unless it is enabled.
#[test]
fn recovery_is_off_unless_it_is_enabled() {
    for (specification, expected) in [
        ("{}", Value::Null),
        (r#"{"PointInTimeRecoveryEnabled": false}"#, Value::Null),
        (
            r#"{"PointInTimeRecoveryEnabled": false, "RecoveryPeriodInDays": 9}"#,
            Value::Null,
        ),
        (r#"{"RecoveryPeriodInDays": 9}"#, Value::Null),
        (r#"{"PointInTimeRecoveryEnabled": true}"#, json!(35)),
        (r#"{"PointInTimeRecoveryEnabled": "true"}"#, json!(35)),
        (
            r#"{"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": 9}"#,
            json!(9),
        ),
        (
            r#"{"RecoveryPeriodInDays": "1", "PointInTimeRecoveryEnabled": true}"#,
            json!(1),
        ),
    ] {
        for format in ["list", "bundle", "template"] {
            let text = tables_with(format, None, Some(r#"{"AttributeName": "expires"}"#));
            let text = text.replace("TimeToLiveSpecification", "PointInTimeRecoverySpecification");
            let text = text.replace(r#"{"AttributeName": "expires"}"#, specification);
            let seed = Seed::parse("tables.json", text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
            let to = engine(&Conditions::CALM);
            load_engine(&to, &caller(), seed, Existing::Refuse).unwrap();
            for (table, days) in [("One", &Value::Null), ("Two", &expected)] {
                let described = ask(&to, "DescribeContinuousBackups", &json!({"TableName": table}));
                let recovery = &described["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
                assert_eq!(recovery["RecoveryPeriodInDays"], *days, "{table} of {text}");
            }
        }
    }
}
