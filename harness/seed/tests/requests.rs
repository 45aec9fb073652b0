//! What copies and loads send, and what they report.
#![allow(clippy::unwrap_used)] // a test may fail

mod common;

use std::cell::RefCell;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use common::{caller, engine};
use dynatwin_engine::{Conditions, Engine, Lag};
use dynatwin_seed::{
    CallError, CopyEvent, CopyOptions, Database, Existing, InProcess, Loaded, Seed, copy, load, load_engine,
};
use serde_json::{Value, json};

/// Creates a table with items of these ids.
fn create(engine: &Engine, name: &str, ids: std::ops::Range<u32>) {
    let caller = caller();
    let database = InProcess::new(engine, &caller);
    let table = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]});
    database.call("CreateTable", &table).unwrap();
    for id in ids {
        let item = json!({"id": {"S": id.to_string()}});
        database
            .call("PutItem", &json!({"TableName": name, "Item": item}))
            .unwrap();
    }
}

/// Records requests, and refuses those of one operation about one table.
struct Recording<'d> {
    inner: InProcess<'d>,
    refused: (&'static str, &'static str, &'static str),
    requests: Mutex<Vec<(String, Value)>>,
}

impl<'d> Recording<'d> {
    fn new(inner: InProcess<'d>) -> Recording<'d> {
        Recording::refusing(inner, ("", "", ""))
    }

    /// Answers an operation about a table with the exception of a code.
    fn refusing(inner: InProcess<'d>, refused: (&'static str, &'static str, &'static str)) -> Recording<'d> {
        Recording {
            inner,
            refused,
            requests: Mutex::default(),
        }
    }

    /// The operations that were called.
    fn operations(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        requests.iter().map(|(operation, _)| operation.clone()).collect()
    }

    fn of(&self, operation: &str) -> Vec<Value> {
        let requests = self.requests.lock().unwrap();
        let of_operation = requests.iter().filter(|(called, _)| called == operation);
        of_operation.map(|(_, body)| body.clone()).collect()
    }
}

impl Database for Recording<'_> {
    fn call(&self, operation: &str, body: &Value) -> Result<Value, CallError> {
        self.requests.lock().unwrap().push((operation.to_owned(), body.clone()));
        let (refused, table, code) = self.refused;
        if operation == refused && body["TableName"] == table {
            return Err(CallError {
                code: code.into(),
                message: "no".into(),
            });
        }
        self.inner.call(operation, body)
    }

    fn pause(&self, time: Duration) {
        self.inner.pause(time);
    }
}

/// A copy begins and ends with an event for each table, which has the number of items in its description.
#[test]
fn the_events_of_a_copy_are_in_order() {
    let (from, caller) = (engine(&Conditions::CALM), caller());
    let source = InProcess::new(&from, &caller);
    let counts = [("Aaa", 30), ("Bbb", 0), ("Ccc", 1)];
    for (name, count) in counts {
        create(&from, name, 0..count);
    }
    let about = |name: &str| {
        let answer = source.call("DescribeTable", &json!({"TableName": name})).unwrap();
        answer["Table"]["ItemCount"].as_u64().unwrap()
    };
    assert_eq!(about("Aaa"), 30);
    for (verify, segments) in [(true, 1), (false, 1), (true, 0)] {
        let to = engine(&Conditions::CALM);
        let events = Mutex::new(Vec::new());
        let report = |event: CopyEvent<'_>| {
            events.lock().unwrap().push(match event {
                CopyEvent::Begins { table, about } => format!("{table} begins, about {about}"),
                CopyEvent::Copied { items } => format!("{items} copied"),
                CopyEvent::Note { text } => text.to_owned(),
                CopyEvent::Done { table, items, checksum } => {
                    format!("{table} has {items}, compared: {}", checksum.is_some())
                }
            });
        };
        let options = CopyOptions {
            segments,
            verify,
            ..CopyOptions::default()
        };
        assert_eq!(copy(&source, &InProcess::new(&to, &caller), &options, &report), Ok(31));
        let expected = [
            "Aaa begins, about 30".to_owned(),
            "25 copied".into(),
            "5 copied".into(),
            format!("Aaa has 30, compared: {verify}"),
            "Bbb begins, about 0".into(),
            format!("Bbb has 0, compared: {verify}"),
            "Ccc begins, about 1".into(),
            "1 copied".into(),
            format!("Ccc has 1, compared: {verify}"),
        ];
        assert_eq!(*events.lock().unwrap(), expected, "{segments} segments");
    }
}

/// A copy without segments has one, and is compared.
#[test]
fn a_copy_without_segments_is_compared() {
    let (from, to, caller) = (engine(&Conditions::CALM), engine(&Conditions::CALM), caller());
    create(&from, "Tab", 0..3);
    create(&to, "Tab", 7..8);
    for segments in [0, 1, 2] {
        let options = CopyOptions {
            segments,
            ..CopyOptions::default()
        };
        let (source, destination) = (InProcess::new(&from, &caller), InProcess::new(&to, &caller));
        let error = copy(&source, &destination, &options, &|_| ()).unwrap_err();
        assert!(error.starts_with("Tab: the copy has 4 items with checksum "), "{error}");
        assert!(error.contains(", the source 3 with "), "{error}");
    }
}

/// A table is created only if the destination answers that it does not exist.
#[test]
fn a_destination_that_cannot_be_described_is_not_written_to() {
    let (from, caller) = (engine(&Conditions::CALM), caller());
    create(&from, "Aaa", 0..1);
    create(&from, "Bbb", 0..1);
    for (operation, expected, count) in [
        ("DescribeTable", Err("Bbb: AccessDeniedException: no"), 1),
        ("CreateTable", Err("Bbb: AccessDeniedException: no"), 2),
        ("DescribeStream", Ok(2), 2),
    ] {
        let to = engine(&Conditions::CALM);
        let destination = Recording::refusing(
            InProcess::new(&to, &caller),
            (operation, "Bbb", "AccessDeniedException"),
        );
        let copied = copy(
            &InProcess::new(&from, &caller),
            &destination,
            &CopyOptions::default(),
            &|_| (),
        );
        assert_eq!(copied, expected.map_err(str::to_owned), "{operation}");
        assert_eq!(destination.of("CreateTable").len(), count, "{operation}");
    }
    let refused = ("DescribeTable", "Bbb", "AccessDeniedException");
    let to = engine(&Conditions::CALM);
    let source = Recording::refusing(InProcess::new(&from, &caller), refused);
    let copied = copy(&source, &InProcess::new(&to, &caller), &CopyOptions::default(), &|_| ());
    assert_eq!(copied.unwrap_err(), "Bbb: AccessDeniedException: no");
    let refused = ("Scan", "Bbb", "AccessDeniedException");
    for (source, destination) in [(refused, ("", "", "")), (("", "", ""), refused)] {
        let to = engine(&Conditions::CALM);
        let source = Recording::refusing(InProcess::new(&from, &caller), source);
        let destination = Recording::refusing(InProcess::new(&to, &caller), destination);
        let copied = copy(&source, &destination, &CopyOptions::default(), &|_| ());
        assert_eq!(copied.unwrap_err(), "Bbb: AccessDeniedException: no");
    }
}

thread_local! {
    /// Is dropped when its thread ends.
    static OPEN: RefCell<Option<Sender<()>>> = const { RefCell::new(None) };
}

/// Refuses the first page of segment 0, and answers the one of segment 1 once the thread of segment 0 has ended.
struct FailingFirst<'d> {
    inner: InProcess<'d>,
    open: Mutex<Option<Sender<()>>>,
    ended: Mutex<Receiver<()>>,
}

impl Database for FailingFirst<'_> {
    fn call(&self, operation: &str, body: &Value) -> Result<Value, CallError> {
        if operation == "Scan" && body["Segment"] == 0 {
            OPEN.set(self.open.lock().unwrap().take());
            return Err(CallError {
                code: "AccessDeniedException".into(),
                message: "no".into(),
            });
        }
        if operation == "Scan" {
            assert!(self.ended.lock().unwrap().recv().is_err());
        }
        self.inner.call(operation, body)
    }

    fn pause(&self, time: Duration) {
        self.inner.pause(time);
    }
}

/// A copy of which one segment has failed writes no more items of the others.
#[test]
fn a_copy_stops_after_a_failure() {
    let (from, to, caller) = (engine(&Conditions::CALM), engine(&Conditions::CALM), caller());
    create(&from, "Tab", 0..20);
    let (open, ended) = channel();
    let source = FailingFirst {
        inner: InProcess::new(&from, &caller),
        open: Mutex::new(Some(open)),
        ended: Mutex::new(ended),
    };
    let options = CopyOptions {
        segments: 2,
        ..CopyOptions::default()
    };
    let copied = copy(&source, &InProcess::new(&to, &caller), &options, &|_| ());
    assert_eq!(copied.unwrap_err(), "Tab: AccessDeniedException: no");
    assert_eq!(to.items(&caller, "Tab").unwrap().len(), 0);
}

/// A resumed segment begins after its last key, and one that had not begun at its first item, without a key.
#[test]
fn a_resumed_copy_begins_after_the_last_key() {
    let (from, to, caller) = (engine(&Conditions::CALM), engine(&Conditions::CALM), caller());
    create(&from, "Tab", 0..20);
    let database = InProcess::new(&from, &caller);
    let segment = json!({"TableName": "Tab", "Segment": 2, "TotalSegments": 3});
    let key = database.call("Scan", &segment).unwrap()["Items"][0].clone();
    assert!(key.is_object(), "the segment has items");
    let source = Recording::new(InProcess::new(&from, &caller));
    let state = std::env::temp_dir().join(format!("dynatwin-resumed-{}.json", std::process::id()));
    std::fs::write(&state, json!({"Tab": ["done", null, key]}).to_string()).unwrap();
    let options = CopyOptions {
        state: Some(state),
        verify: false,
        ..CopyOptions::default()
    };
    copy(&source, &InProcess::new(&to, &caller), &options, &|_| ()).unwrap();
    let mut scans = source.of("Scan");
    scans.sort_by_key(|scan| scan["Segment"].as_u64());
    let scan = json!({"TableName": "Tab", "ConsistentRead": true, "TotalSegments": 3});
    let with = |more: &[(&str, Value)]| {
        let mut scan = scan.clone();
        for (name, value) in more {
            scan[*name] = value.clone();
        }
        scan
    };
    assert_eq!(
        scans,
        [
            with(&[("Segment", 1.into())]),
            with(&[("Segment", 2.into()), ("ExclusiveStartKey", key)])
        ]
    );
}

/// A copy takes at least as long as its rate needs for all batches but the last.
#[test]
fn a_copy_is_not_faster_than_its_rate() {
    let (from, to, caller) = (engine(&Conditions::CALM), engine(&Conditions::CALM), caller());
    create(&from, "Tab", 0..60);
    for segments in [1, 3] {
        let options = CopyOptions {
            segments,
            rate: Some(1000.0),
            ..CopyOptions::default()
        };
        let begin = Instant::now();
        let copied = copy(
            &InProcess::new(&from, &caller),
            &InProcess::new(&to, &caller),
            &options,
            &|_| (),
        );
        assert_eq!(copied, Ok(60));
        assert!(begin.elapsed() >= Duration::from_millis(60 - 25), "{segments} segments");
    }
}

const TABLE: &str = r#"{"TableName": "Tab", "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]"#;

/// A file with this many items.
fn lines(count: usize) -> String {
    let lines = (0..count).map(|id| format!("{{\"id\": \"{id}\"}}\n"));
    lines.collect::<Vec<_>>().concat()
}

/// A load sends its items in batches of at most 25, and no empty one.
#[test]
fn loads_write_batches() {
    for (count, sizes) in [
        (0, &[][..]),
        (1, &[1]),
        (24, &[24]),
        (25, &[25]),
        (26, &[25, 1]),
        (50, &[25, 25]),
        (60, &[25, 25, 10]),
    ] {
        let (to, caller) = (engine(&Conditions::CALM), caller());
        let lines = lines(count);
        let mut seed = Seed::parse("table.json", format!("{TABLE}}}").as_bytes()).unwrap();
        seed.append(Seed::parse("Tab.jsonl", lines.as_bytes()).unwrap());
        let database = Recording::new(InProcess::new(&to, &caller));
        let loaded = load(&database, seed, Existing::Refuse, &|note| panic!("{note}")).unwrap();
        assert_eq!(
            loaded,
            Loaded {
                tables: 1,
                items: count
            }
        );
        let batches = database.of("BatchWriteItem");
        let found: Vec<usize> = batches
            .iter()
            .map(|batch| batch["RequestItems"]["Tab"].as_array().unwrap().len())
            .collect();
        assert_eq!(found, sizes, "{count}");
        let mut expected = vec!["CreateTable", "DescribeTable", "DescribeTable"];
        expected.extend(sizes.iter().map(|_| "BatchWriteItem"));
        assert_eq!(database.operations(), expected, "{count}");
    }
}

/// Only a table that is filled is noted, since its definition may differ.
#[test]
fn tables_that_exist_are_noted() {
    let (to, caller) = (engine(&Conditions::CALM), caller());
    create(&to, "Tab", 0..0);
    let text = format!(r#"{{"tables": [{TABLE}, "Items": [{{"id": "a"}}]}}]}}"#);
    for (existing, expected, notes) in [
        (Existing::Skip, Ok(0), &[][..]),
        (
            Existing::Fill,
            Ok(1),
            &["Tab already exists; its definition is not changed"],
        ),
        (Existing::Refuse, Err(Some(1)), &[]),
    ] {
        let noted = Mutex::new(Vec::new());
        let seed = Seed::parse("x.json", text.as_bytes()).unwrap();
        let loaded = load(&InProcess::new(&to, &caller), seed, existing, &|note| {
            noted.lock().unwrap().push(note.to_owned());
        });
        let loaded = loaded.map(|loaded| loaded.items).map_err(|error| error.line());
        assert_eq!(loaded, expected, "{existing:?}");
        assert_eq!(*noted.lock().unwrap(), notes, "{existing:?}");
    }
}

/// A database whose clock advances with each pause.
struct Waiting<'d>(InProcess<'d>, &'d Engine);

impl Database for Waiting<'_> {
    fn call(&self, operation: &str, body: &Value) -> Result<Value, CallError> {
        self.0.call(operation, body)
    }

    fn pause(&self, time: Duration) {
        self.1.advance(time);
    }
}

/// A table that another client is creating is written to once it is active. One that is being updated is active already.
#[test]
fn tables_that_are_being_created_are_waited_for() {
    let (from, caller) = (engine(&Conditions::CALM), caller());
    create(&from, "Tab", 0..3);
    let source = InProcess::new(&from, &caller);
    let slow = Conditions {
        table_status: Lag::Fixed(Duration::from_secs(20)),
        ..Conditions::CALM
    };
    let text = format!(r#"{{"tables": [{TABLE}, "Items": [{{"id": "0"}}, {{"id": "1"}}, {{"id": "2"}}]}}]}}"#);
    for is_copied in [false, true] {
        for (is_updated, seconds) in [(false, 20), (true, 0)] {
            let to = engine(if is_updated { &Conditions::CALM } else { &slow });
            create(&to, "Tab", 0..0);
            if is_updated {
                to.set_conditions(slow).unwrap();
                let update = json!({"TableName": "Tab", "StreamSpecification": {"StreamEnabled": true,
                    "StreamViewType": "KEYS_ONLY"}});
                InProcess::new(&to, &caller).call("UpdateTable", &update).unwrap();
            }
            let begin = to.clock().now();
            let database = Waiting(InProcess::new(&to, &caller), &to);
            let count = if is_copied {
                copy(&source, &database, &CopyOptions::default(), &|_| ()).unwrap()
            } else {
                let seed = Seed::parse("x.json", text.as_bytes()).unwrap();
                load(&database, seed, Existing::Fill, &|_| ()).unwrap().items as u64
            };
            let context = format!("copied: {is_copied}, updated: {is_updated}");
            assert_eq!((count, to.items(&caller, "Tab").unwrap().len()), (3, 3), "{context}");
            assert_eq!(to.clock().now().since(begin), Duration::from_secs(seconds), "{context}");
        }
    }
}

/// Tables that exist do not keep the others of their file from being created and filled, wherever they are among them and
/// however similar their names are. Each of them is skipped or filled.
#[test]
fn tables_beside_those_that_exist_are_created() {
    let names = ["Aaa", "Aaaa", "AAA"];
    let tables = names.map(|name| {
        let table = TABLE.replace("\"Tab\"", &format!("\"{name}\""));
        format!(r#"{table}, "Items": [{{"id": "a"}}, {{"id": "b"}}]}}"#)
    });
    let text = format!(r#"{{"tables": [{}]}}"#, tables.join(", "));
    for selected in 0..1 << names.len() {
        let there = (0..names.len()).filter(|at| (selected >> at) & 1 == 1);
        let there: Vec<&str> = there.map(|at| names[at]).collect();
        let tables = names.len() - there.len();
        for (existing, of_existing) in [(Existing::Skip, 0), (Existing::Fill, 2)] {
            for is_engine in [true, false] {
                let (to, caller) = (engine(&Conditions::CALM), caller());
                for name in &there {
                    create(&to, name, 0..1);
                }
                let seed = Seed::parse("x.json", text.as_bytes()).unwrap();
                let loaded = if is_engine {
                    load_engine(&to, &caller, seed, existing)
                } else {
                    load(&InProcess::new(&to, &caller), seed, existing, &|_| ())
                };
                let items = 2 * tables + of_existing * there.len();
                let context = format!("{there:?} exist, {existing:?}, an engine {is_engine}");
                assert_eq!(loaded, Ok(Loaded { tables, items }), "{context}");
                for table in names {
                    // The item that was there stays.
                    let expected = if there.contains(&table) { 1 + of_existing } else { 2 };
                    let found = to.items(&caller, table).unwrap().len();
                    assert_eq!(found, expected, "{table}: {context}");
                }
            }
        }
    }
}

/// Items of an existing table that no file defines are loaded without being throttled, also if defined tables are skipped.
#[test]
fn items_of_existing_tables_are_not_throttled() {
    let lines = lines(1000);
    let units = r#""ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}"#;
    for existing in [Existing::Refuse, Existing::Fill, Existing::Skip] {
        let (to, caller) = (engine(&Conditions::AWS), caller());
        let seed = Seed::parse("table.json", format!("{TABLE}, {units}}}").as_bytes()).unwrap();
        load_engine(&to, &caller, seed, existing).unwrap();
        let other = TABLE.replace("\"Tab\"", "\"Other\"");
        let mut seed = Seed::parse("other.json", format!("{other}, {units}}}").as_bytes()).unwrap();
        seed.append(Seed::parse("Tab.jsonl", lines.as_bytes()).unwrap());
        seed.append(Seed::parse("Other.jsonl", lines.as_bytes()).unwrap());
        let loaded = load_engine(&to, &caller, seed, existing);
        assert_eq!(loaded, Ok(Loaded { tables: 1, items: 2000 }), "{existing:?}");
    }
}
