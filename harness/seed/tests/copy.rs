//! Copies between two engines, including failing ones.
#![allow(clippy::unwrap_used)] // a test may fail

mod common;

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use common::{caller, engine};
use dynatwin_engine::{Conditions, Engine};
use dynatwin_seed::{CallError, CopyEvent, CopyOptions, Database, InProcess, copy};
use serde_json::{Value, json};

const ITEMS: u64 = 100;

fn filled() -> Engine {
    let engine = engine(&Conditions::CALM);
    let caller = caller();
    let database = InProcess::new(&engine, &caller);
    let ask = |operation: &str, body: Value| database.call(operation, &body).unwrap();
    ask(
        "CreateTable",
        json!({"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "n", "AttributeType": "N"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [{"IndexName": "byN", "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"}}],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"},
            "Tags": [{"Key": "a", "Value": "b"}]}),
    );
    let specification = json!({"Enabled": true, "AttributeName": "ttl"});
    ask(
        "UpdateTimeToLive",
        json!({"TableName": "Orders", "TimeToLiveSpecification": specification}),
    );
    let specification = json!({"PointInTimeRecoveryEnabled": true});
    ask(
        "UpdateContinuousBackups",
        json!({"TableName": "Orders", "PointInTimeRecoverySpecification": specification}),
    );
    for n in 0..ITEMS {
        // Large enough for several pages of each segment.
        let item = json!({"id": {"S": format!("order {n}")}, "n": {"N": n.to_string()}, "text": {"S": "x".repeat(30_000)},
            "set": {"NS": ["1", "2.50", "1e3"]}});
        ask("PutItem", json!({"TableName": "Orders", "Item": item}));
    }
    engine
}

fn options() -> CopyOptions {
    CopyOptions {
        segments: 2,
        ..CopyOptions::default()
    }
}

#[test]
fn a_copy_is_complete() {
    let (from, to, caller) = (filled(), engine(&Conditions::CALM), caller());
    let notes = Mutex::new(Vec::new());
    let report = |event: CopyEvent<'_>| {
        if let CopyEvent::Done { items, checksum, .. } = event {
            notes.lock().unwrap().push((items, checksum.is_some()));
        }
    };
    let (from, to) = (InProcess::new(&from, &caller), InProcess::new(&to, &caller));
    assert_eq!(copy(&from, &to, &options(), &report), Ok(ITEMS));
    assert_eq!(*notes.lock().unwrap(), [(ITEMS, true)]);
    let ask = |operation: &str, body: Value| to.call(operation, &body).unwrap();
    let table = ask("DescribeTable", json!({"TableName": "Orders"}));
    assert_eq!(table["Table"]["GlobalSecondaryIndexes"][0]["IndexName"], "byN");
    assert_eq!(table["Table"]["StreamSpecification"]["StreamViewType"], "NEW_IMAGE");
    let ttl = ask("DescribeTimeToLive", json!({"TableName": "Orders"}));
    assert_eq!(ttl["TimeToLiveDescription"]["AttributeName"], "ttl");
    let tags = ask("ListTagsOfResource", json!({"ResourceArn": table["Table"]["TableArn"]}));
    assert_eq!(tags["Tags"][0]["Key"], "a");
    let backups = ask("DescribeContinuousBackups", json!({"TableName": "Orders"}));
    let recovery = &backups["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
    assert_eq!(recovery["PointInTimeRecoveryStatus"], "ENABLED");
    // Again: the table exists, and the items are overwritten.
    assert_eq!(copy(&from, &to, &options(), &|_| ()), Ok(ITEMS));
}

/// A rate that no clock can keep is an error, and nothing is copied.
#[test]
fn rates_of_a_copy_have_bounds() {
    let (from, caller) = (filled(), caller());
    for (rate, is_possible) in [
        (1e9, true),
        (5000.0, true),
        (1.1e9, false),
        (0.0009, false),
        (1e-18, false),
        (0.0, false),
        (-1.0, false),
        (f64::INFINITY, false),
        (f64::NAN, false),
    ] {
        let to = engine(&Conditions::CALM);
        let (source, copied) = (InProcess::new(&from, &caller), InProcess::new(&to, &caller));
        let rate_only = CopyOptions {
            rate: Some(rate),
            ..options()
        };
        let refused = format!("the rate must be a number of items a second from 0.001 to 1000000000, not {rate}");
        let expected = if is_possible { Ok(ITEMS) } else { Err(refused) };
        assert_eq!(copy(&source, &copied, &rate_only, &|_| ()), expected);
        assert_eq!(to.tables(&caller).is_empty(), !is_possible, "{rate}");
    }
}

/// The events of a copy count its items, whether or not it is verified.
#[test]
fn the_events_of_a_copy_count_its_items() {
    let (from, caller) = (filled(), caller());
    for verify in [false, true] {
        let (to, copied, done) = (engine(&Conditions::CALM), AtomicU64::new(0), Mutex::new(Vec::new()));
        let report = |event: CopyEvent<'_>| match event {
            CopyEvent::Copied { items } => drop(copied.fetch_add(items, Ordering::Relaxed)),
            CopyEvent::Done { items, checksum, .. } => done.lock().unwrap().push((items, checksum.is_some())),
            CopyEvent::Begins { .. } | CopyEvent::Note { .. } => {}
        };
        let (from, to) = (InProcess::new(&from, &caller), InProcess::new(&to, &caller));
        let options = CopyOptions { verify, ..options() };
        assert_eq!(copy(&from, &to, &options, &report), Ok(ITEMS));
        assert_eq!(*done.lock().unwrap(), [(ITEMS, verify)]);
        assert_eq!(copied.into_inner(), ITEMS);
    }
}

/// The event at the end of a table counts the items of that table alone.
#[test]
fn each_table_of_a_copy_has_its_own_number_of_items() {
    let (from, caller) = (engine(&Conditions::CALM), caller());
    let source = InProcess::new(&from, &caller);
    let tables = [("first", 2), ("second", 0), ("third", 3)];
    for (name, count) in tables {
        let table = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]});
        source.call("CreateTable", &table).unwrap();
        for number in 0..count {
            let item = json!({"id": {"S": number.to_string()}});
            source
                .call("PutItem", &json!({"TableName": name, "Item": item}))
                .unwrap();
        }
    }
    for verify in [false, true] {
        let (to, done) = (engine(&Conditions::CALM), Mutex::new(Vec::new()));
        let report = |event: CopyEvent<'_>| {
            if let CopyEvent::Done { table, items, .. } = event {
                done.lock().unwrap().push((table.to_owned(), items));
            }
        };
        let options = CopyOptions { verify, ..options() };
        assert_eq!(copy(&source, &InProcess::new(&to, &caller), &options, &report), Ok(5));
        let expected = tables.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(*done.lock().unwrap(), expected, "{verify}");
    }
}

/// Tables are listed in pages of a hundred, all of which are copied.
#[test]
fn all_tables_of_an_account_are_copied() {
    let (from, caller) = (engine(&Conditions::CALM), caller());
    let source = InProcess::new(&from, &caller);
    let mut created = 0;
    for count in [0, 1, 100, 101, 200, 201, 305] {
        for number in created..count {
            let table = json!({"TableName": format!("table-{number}"), "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]});
            source.call("CreateTable", &table).unwrap();
        }
        created = count;
        let to = engine(&Conditions::CALM);
        let options = CopyOptions {
            verify: false,
            ..options()
        };
        copy(&source, &InProcess::new(&to, &caller), &options, &|_| ()).unwrap();
        assert_eq!(to.tables(&caller).len(), count);
    }
}

/// Lists one table and seven tags at a time, and is still enabling time to live.
struct OneByOne<'d>(InProcess<'d>);

impl Database for OneByOne<'_> {
    fn call(&self, operation: &str, body: &Value) -> Result<Value, CallError> {
        let mut body = body.clone();
        if operation == "ListTables" {
            body["Limit"] = 1.into();
        }
        let from = body["NextToken"].as_str().map_or(0, |token| token.parse().unwrap());
        if operation == "ListTagsOfResource" {
            body.as_object_mut().unwrap().remove("NextToken");
        }
        let mut answer = self.0.call(operation, &body)?;
        if let Some(tags) = answer.get_mut("Tags").and_then(Value::as_array_mut) {
            let next = from + 7;
            let more = next < tags.len();
            *tags = tags.iter().skip(from).take(7).cloned().collect();
            if more {
                answer["NextToken"] = next.to_string().into();
            }
        }
        if let Some(status) = answer.pointer_mut("/TimeToLiveDescription/TimeToLiveStatus")
            && *status == "ENABLED"
        {
            *status = "ENABLING".into();
        }
        Ok(answer)
    }

    fn pause(&self, time: Duration) {
        self.0.pause(time);
    }
}

/// What a description of the table does not contain is copied as well: time to live, recovery, and tags of several pages.
#[test]
fn a_copy_has_the_settings_and_tags_of_each_table() {
    let (from, to, caller) = (engine(&Conditions::CALM), engine(&Conditions::CALM), caller());
    let source = InProcess::new(&from, &caller);
    let tags: Vec<Value> = (10..40).map(|n| json!({"Key": n.to_string(), "Value": "v"})).collect();
    let names = ["One", "Three", "Two"];
    for name in names {
        let attribute = json!([{"AttributeName": "id", "AttributeType": "S"}]);
        let key = json!([{"AttributeName": "id", "KeyType": "HASH"}]);
        let table = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attribute,
            "KeySchema": key, "Tags": tags});
        source.call("CreateTable", &table).unwrap();
        let recovery = json!({"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": 9});
        let body = json!({"TableName": name, "PointInTimeRecoverySpecification": recovery});
        source.call("UpdateContinuousBackups", &body).unwrap();
    }
    let living = json!({"Enabled": true, "AttributeName": "ttl"});
    let body = json!({"TableName": "One", "TimeToLiveSpecification": living});
    source.call("UpdateTimeToLive", &body).unwrap();
    let to = InProcess::new(&to, &caller);
    assert_eq!(copy(&OneByOne(source), &to, &options(), &|_| ()), Ok(0));
    for name in names {
        let living = to.call("DescribeTimeToLive", &json!({"TableName": name})).unwrap();
        let attribute = if name == "One" { "ttl".into() } else { Value::Null };
        assert_eq!(living["TimeToLiveDescription"]["AttributeName"], attribute, "{name}");
        let table = to.call("DescribeTable", &json!({"TableName": name})).unwrap()["Table"].clone();
        let (mut copied, mut body) = (Vec::new(), json!({"ResourceArn": table["TableArn"]}));
        loop {
            let page = to.call("ListTagsOfResource", &body).unwrap();
            copied.extend(page["Tags"].as_array().unwrap().clone());
            match page.get("NextToken") {
                Some(token) => body["NextToken"] = token.clone(),
                None => break,
            }
        }
        copied.sort_by_key(ToString::to_string);
        assert_eq!(copied, tags, "{name}");
        let backups = to
            .call("DescribeContinuousBackups", &json!({"TableName": name}))
            .unwrap();
        let recovery = &backups["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
        assert_eq!(recovery["RecoveryPeriodInDays"], 9, "{name}");
    }
}

/// The description of a table has more members while it has replicas, and while an index is filled.
#[test]
fn tables_with_replicas_and_unfinished_indexes_are_copied() {
    let attributes =
        json!([{"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}]);
    let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    let all = json!({"ProjectionType": "ALL"});
    let global = json!({"IndexName": "byG", "KeySchema": key("g"), "Projection": all});
    let vector = json!({"IndexName": "near", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2,
        "DistanceFunction": "EUCLIDEAN", "Projection": all});
    for (update, member, is_copied) in [
        (
            json!({"ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]}),
            "/Replicas/0/RegionName",
            false,
        ),
        (
            json!({"AttributeDefinitions": attributes, "GlobalSecondaryIndexUpdates": [{"Create": global}]}),
            "/GlobalSecondaryIndexes/0/Backfilling",
            true,
        ),
        (
            json!({"VectorIndexUpdates": [{"Create": vector}]}),
            "/VectorIndexes/0/Backfilling",
            true,
        ),
    ] {
        let (from, to, caller) = (engine(&Conditions::AWS), engine(&Conditions::CALM), caller());
        let (source, copied) = (InProcess::new(&from, &caller), InProcess::new(&to, &caller));
        let mut body = json!({"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("id"),
            "AttributeDefinitions": [attributes[0]]});
        source.call("CreateTable", &body).unwrap();
        from.advance(Duration::from_mins(1));
        body = update;
        body["TableName"] = "Orders".into();
        source.call("UpdateTable", &body).unwrap();
        let describe = |database: &InProcess<'_>| {
            let answer = database.call("DescribeTable", &json!({"TableName": "Orders"}));
            answer.unwrap()["Table"].clone()
        };
        // The index is filled once it has been created.
        let has_member = || describe(&source).pointer(member).is_some_and(|value| *value != false);
        let waits = (0..100)
            .take_while(|_| !has_member())
            .map(|_| from.advance(Duration::from_secs(10)));
        assert!(waits.count() < 100, "{member}");
        assert_eq!(copy(&source, &copied, &options(), &|_| ()), Ok(0), "{member}");
        let index = member.rsplit_once('/').unwrap().0;
        assert_eq!(describe(&copied).pointer(index).is_some(), is_copied, "{member}");
    }
}

/// A database that fails permanently after a number of writes, or alters an item.
struct Failing<'d> {
    inner: InProcess<'d>,
    writes: AtomicU64,
    fails_at: u64,
    alters: bool,
}

impl Database for Failing<'_> {
    fn call(&self, operation: &str, body: &Value) -> Result<Value, CallError> {
        if operation != "BatchWriteItem" {
            return self.inner.call(operation, body);
        }
        if self.writes.fetch_add(1, Ordering::Relaxed) >= self.fails_at {
            return Err(CallError {
                code: "AccessDeniedException".into(),
                message: "no more".into(),
            });
        }
        let mut body = body.clone();
        if self.alters {
            body["RequestItems"]["Orders"][0]["PutRequest"]["Item"]["text"] = json!({"S": "y"});
        }
        self.inner.call(operation, &body)
    }

    fn pause(&self, _: Duration) {}
}

#[test]
fn an_interrupted_copy_is_resumed() {
    let (from, to, caller) = (filled(), engine(&Conditions::CALM), caller());
    let from = InProcess::new(&from, &caller);
    let failing = |fails_at, alters| Failing {
        inner: InProcess::new(&to, &caller),
        writes: AtomicU64::new(0),
        fails_at,
        alters,
    };
    let state = std::env::temp_dir().join(format!("dynatwin-copy-{}.json", std::process::id()));
    let other = state.with_extension("new");
    std::fs::write(&other, "not of the copy").unwrap();
    let options = CopyOptions {
        state: Some(state.clone()),
        segments: 2,
        ..CopyOptions::default()
    };
    let interrupted = copy(&from, &failing(2, false), &options, &|_| ()).unwrap_err();
    assert_eq!(interrupted, "Orders: AccessDeniedException: no more");
    let copied = copy(&from, &InProcess::new(&to, &caller), &options, &|_| ()).unwrap();
    assert!(copied <= ITEMS, "{copied}");
    assert!(!state.exists() && !state.with_extension("json.new").exists());
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "not of the copy");
    std::fs::remove_file(other).unwrap();
}

/// Stops in the middle of segment 0, once the state has been saved because segment 1 is done. Counts the written items.
struct Stopping<'d> {
    inner: InProcess<'d>,
    state: std::path::PathBuf,
    written: AtomicU64,
    second_page: std::sync::Barrier,
}

impl Database for Stopping<'_> {
    fn call(&self, operation: &str, body: &Value) -> Result<Value, CallError> {
        let first = body["ExclusiveStartKey"].is_null();
        if operation == "Scan" && body["Segment"] == 1 && first {
            self.second_page.wait();
        }
        if operation == "Scan" && body["Segment"] == 0 && !first {
            self.second_page.wait();
            let started = std::time::Instant::now();
            while !self.state.exists() {
                assert!(started.elapsed() < Duration::from_mins(1), "nothing is saved");
                std::thread::yield_now();
            }
            return Err(CallError {
                code: "AccessDeniedException".into(),
                message: "no more".into(),
            });
        }
        if operation == "BatchWriteItem" {
            let items = body["RequestItems"]["Orders"].as_array().unwrap().len();
            self.written.fetch_add(items as u64, Ordering::Relaxed);
        }
        self.inner.call(operation, body)
    }

    fn pause(&self, _: Duration) {}
}

/// A copy continues after the last page that it has written.
#[test]
fn a_resumed_copy_writes_no_item_again() {
    let (from, to, caller) = (filled(), engine(&Conditions::CALM), caller());
    let state = std::env::temp_dir().join(format!("dynatwin-pages-{}.json", std::process::id()));
    let _ = std::fs::remove_file(&state);
    let stopping = |engine| Stopping {
        inner: InProcess::new(engine, &caller),
        state: state.clone(),
        written: AtomicU64::new(0),
        second_page: std::sync::Barrier::new(2),
    };
    let options = CopyOptions {
        state: Some(state.clone()),
        verify: false,
        ..options()
    };
    let (source, first) = (stopping(&from), stopping(&to));
    let error = copy(&source, &first, &options, &|_| ()).unwrap_err();
    assert_eq!(error, "Orders: AccessDeniedException: no more");
    let written = first.written.into_inner();
    let rest = copy(
        &InProcess::new(&from, &caller),
        &InProcess::new(&to, &caller),
        &options,
        &|_| (),
    );
    assert_eq!(rest, Ok(ITEMS - written), "after {written}");
    assert!(!state.exists());
}

/// Fails at a batch of a page of segment 0, once the state has been saved because segment 1 is done. The source and the
/// destination share `page`.
struct StoppingInPage<'d> {
    inner: InProcess<'d>,
    state: &'d std::path::Path,
    /// The thread that has read the page, and the batches left until the failure.
    page: &'d Mutex<Option<(std::thread::ThreadId, u32)>>,
    /// Whether it is the first page.
    first: bool,
    batch: u32,
}

impl Database for StoppingInPage<'_> {
    fn call(&self, operation: &str, body: &Value) -> Result<Value, CallError> {
        let this_thread = std::thread::current().id();
        let mut page = self.page.lock().unwrap();
        if operation == "Scan" && body["Segment"] == 0 && body["ExclusiveStartKey"].is_null() == self.first {
            page.get_or_insert((this_thread, self.batch));
        }
        if let Some((thread, batches)) = page.as_mut()
            && operation == "BatchWriteItem"
            && *thread == this_thread
        {
            *batches -= 1;
            if *batches == 0 {
                drop(page);
                let started = std::time::Instant::now();
                while !self.state.exists() {
                    assert!(started.elapsed() < Duration::from_mins(1), "nothing is saved");
                    std::thread::yield_now();
                }
                return Err(CallError {
                    code: "AccessDeniedException".into(),
                    message: "no more".into(),
                });
            }
        }
        drop(page);
        self.inner.call(operation, body)
    }

    fn pause(&self, _: Duration) {}
}

/// A page of which only some batches are written is copied again.
#[test]
fn a_copy_that_stops_within_a_page_writes_the_rest_of_it() {
    let (from, caller) = (filled(), caller());
    for (first, batch) in [(true, 1), (true, 2), (false, 1)] {
        let to = engine(&Conditions::CALM);
        let state = std::env::temp_dir().join(format!("dynatwin-page-{}.json", std::process::id()));
        let _ = std::fs::remove_file(&state);
        let page = Mutex::new(None);
        let stopping = |engine| StoppingInPage {
            inner: InProcess::new(engine, &caller),
            state: &state,
            page: &page,
            first,
            batch,
        };
        let resumable = CopyOptions {
            state: Some(state.clone()),
            ..options()
        };
        let error = copy(&stopping(&from), &stopping(&to), &resumable, &|_| ()).unwrap_err();
        assert_eq!(error, "Orders: AccessDeniedException: no more");
        let (source, copied) = (InProcess::new(&from, &caller), InProcess::new(&to, &caller));
        let done = Mutex::new(Vec::new());
        let report = |event: CopyEvent<'_>| {
            if let CopyEvent::Done { items, checksum, .. } = event {
                done.lock().unwrap().push((items, checksum.is_some()));
            }
        };
        // Compares the number of items and their checksum.
        let rest = copy(&source, &copied, &resumable, &report).unwrap();
        assert!(rest < ITEMS, "{rest} after batch {batch} of a page (first: {first})");
        // Both sides have all items.
        assert_eq!(done.into_inner().unwrap(), [(ITEMS, true)]);
        assert!(!state.exists());
    }
}

/// Creates a table with this number of items, whose ids are the numbers from 0.
fn create(database: &dyn Database, name: &str, count: u64) {
    let table = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]});
    database.call("CreateTable", &table).unwrap();
    for number in 0..count {
        let item = json!({"id": {"S": number.to_string()}});
        database
            .call("PutItem", &json!({"TableName": name, "Item": item}))
            .unwrap();
    }
}

/// A resumed copy writes no item of the tables that were done, and all items of those that had not begun.
#[test]
fn a_resumed_copy_continues_with_the_table_that_was_interrupted() {
    let (from, caller) = (engine(&Conditions::CALM), caller());
    let source = InProcess::new(&from, &caller);
    let tables = [("Aaa", 1), ("Bbb", 2), ("Ccc", 3), ("Ddd", 4)];
    for (name, count) in tables {
        create(&source, name, count);
    }
    let state = std::env::temp_dir().join(format!("dynatwin-tables-{}.json", std::process::id()));
    for verify in [false, true] {
        for interrupted in 0..tables.len() {
            let _ = std::fs::remove_file(&state);
            let options = CopyOptions {
                state: Some(state.clone()),
                segments: 1,
                verify,
                ..CopyOptions::default()
            };
            let to = engine(&Conditions::CALM);
            // Each table is written in one batch.
            let failing = Failing {
                inner: InProcess::new(&to, &caller),
                writes: AtomicU64::new(0),
                fails_at: interrupted as u64,
                alters: false,
            };
            let error = copy(&source, &failing, &options, &|_| ()).unwrap_err();
            assert_eq!(
                error,
                format!("{}: AccessDeniedException: no more", tables[interrupted].0)
            );
            let events = Mutex::new(Vec::new());
            let report = |event: CopyEvent<'_>| match event {
                CopyEvent::Copied { items } => events.lock().unwrap().push(("copied".to_owned(), items)),
                CopyEvent::Done { table, items, .. } => events.lock().unwrap().push((table.to_owned(), items)),
                CopyEvent::Begins { .. } | CopyEvent::Note { .. } => {}
            };
            let rest: u64 = tables[interrupted..].iter().map(|(_, count)| count).sum();
            let copied = copy(&source, &InProcess::new(&to, &caller), &options, &report);
            assert_eq!(copied, Ok(rest), "interrupted at {interrupted}");
            let mut expected = Vec::new();
            for (at, (name, count)) in tables.into_iter().enumerate() {
                let is_done = at < interrupted;
                if !is_done {
                    expected.push(("copied".to_owned(), count));
                }
                // Only a comparison counts the items that are there already.
                expected.push((name.to_owned(), if is_done && !verify { 0 } else { count }));
            }
            assert_eq!(events.into_inner().unwrap(), expected, "interrupted at {interrupted}");
            assert!(!state.exists());
        }
    }
}

#[test]
fn a_copy_that_differs_is_reported() {
    let (from, to, caller) = (filled(), engine(&Conditions::CALM), caller());
    let altering = Failing {
        inner: InProcess::new(&to, &caller),
        writes: AtomicU64::new(0),
        fails_at: u64::MAX,
        alters: true,
    };
    let state = std::env::temp_dir().join(format!("dynatwin-differs-{}.json", std::process::id()));
    let _ = std::fs::remove_file(&state);
    let resumed = CopyOptions {
        state: Some(state.clone()),
        ..options()
    };
    let error = copy(&InProcess::new(&from, &caller), &altering, &resumed, &|_| ()).unwrap_err();
    assert!(
        error.starts_with("Orders: the copy has 100 items with checksum"),
        "{error}"
    );
    // The next run copies the whole table again.
    let (source, copied) = (InProcess::new(&from, &caller), InProcess::new(&to, &caller));
    assert_eq!(copy(&source, &copied, &resumed, &|_| ()), Ok(ITEMS));
    assert!(!state.exists());
    let unchecked = CopyOptions {
        verify: false,
        ..options()
    };
    assert!(copy(&InProcess::new(&from, &caller), &altering, &unchecked, &|_| ()).is_ok());
}

/// A copy that is resumed after a table has differed writes the items of this table again, and none of those before it.
#[test]
fn a_resumed_copy_repeats_the_table_that_differed() {
    let (from, caller) = (engine(&Conditions::CALM), caller());
    let source = InProcess::new(&from, &caller);
    let tables = [("Aaa", 1), ("Bbb", 2), ("Ccc", 3)];
    for (name, count) in tables {
        create(&source, name, count);
    }
    let state = std::env::temp_dir().join(format!("dynatwin-repeats-{}.json", std::process::id()));
    for segments in [1, 2] {
        for (at, (name, count)) in tables.into_iter().enumerate() {
            let _ = std::fs::remove_file(&state);
            let options = CopyOptions {
                state: Some(state.clone()),
                segments,
                ..CopyOptions::default()
            };
            let to = engine(&Conditions::CALM);
            let destination = InProcess::new(&to, &caller);
            // One more item than the source has.
            create(&destination, name, count + 1);
            let differs = format!("{name}: the copy has {} items with checksum ", count + 1);
            for _ in 0..2 {
                let error = copy(&source, &destination, &options, &|_| ()).unwrap_err();
                assert!(error.starts_with(&differs), "{error}");
            }
            let key = json!({"id": {"S": count.to_string()}});
            destination
                .call("DeleteItem", &json!({"TableName": name, "Key": key}))
                .unwrap();
            let rest: u64 = tables[at..].iter().map(|(_, count)| count).sum();
            let copied = copy(&source, &destination, &options, &|_| ());
            assert_eq!(copied, Ok(rest), "{name} differed, {segments} segments");
            assert!(!state.exists());
        }
    }
}

/// Throttled and unprocessed items are written eventually, after increasing pauses.
#[test]
fn unprocessed_items_are_retried() {
    struct Throttled<'d> {
        inner: InProcess<'d>,
        calls: AtomicU64,
        longest: Mutex<Cell<Duration>>,
    }
    impl Database for Throttled<'_> {
        fn call(&self, operation: &str, body: &Value) -> Result<Value, CallError> {
            if operation != "BatchWriteItem" {
                return self.inner.call(operation, body);
            }
            match self.calls.fetch_add(1, Ordering::Relaxed) % 3 {
                0 => Err(CallError {
                    code: "ProvisionedThroughputExceededException".into(),
                    message: "slower".into(),
                }),
                1 => {
                    let mut requests = body["RequestItems"]["Orders"].as_array().unwrap().clone();
                    let left = requests.split_off(requests.len() / 2);
                    if !requests.is_empty() {
                        self.inner
                            .call(operation, &json!({"RequestItems": {"Orders": requests}}))?;
                    }
                    Ok(json!({"UnprocessedItems": {"Orders": left}}))
                }
                _ => self.inner.call(operation, body),
            }
        }

        fn pause(&self, time: Duration) {
            let longest = self.longest.lock().unwrap();
            longest.set(longest.get().max(time));
        }
    }
    let (from, to, caller) = (filled(), engine(&Conditions::CALM), caller());
    let throttled = Throttled {
        inner: InProcess::new(&to, &caller),
        calls: AtomicU64::new(0),
        longest: Mutex::default(),
    };
    assert_eq!(
        copy(&InProcess::new(&from, &caller), &throttled, &options(), &|_| ()),
        Ok(ITEMS)
    );
    assert!(throttled.longest.lock().unwrap().get() > Duration::ZERO);
}

/// Items that stay unprocessed end the copy.
#[test]
fn items_that_stay_unprocessed_are_an_error() {
    struct Refusing<'d>(InProcess<'d>);
    impl Database for Refusing<'_> {
        fn call(&self, operation: &str, body: &Value) -> Result<Value, CallError> {
            if operation == "BatchWriteItem" {
                return Ok(json!({"UnprocessedItems": body["RequestItems"]}));
            }
            self.0.call(operation, body)
        }

        fn pause(&self, _: Duration) {}
    }
    let (from, to, caller) = (filled(), engine(&Conditions::CALM), caller());
    let to = Refusing(InProcess::new(&to, &caller));
    assert_eq!(
        copy(&InProcess::new(&from, &caller), &to, &options(), &|_| ()).unwrap_err(),
        "Orders: ProvisionedThroughputExceededException: items stay unprocessed"
    );
}

/// A copy continues with the segments that it began with, whatever the options are now.
#[test]
fn a_resumed_copy_has_the_segments_of_its_beginning() {
    let (from, caller) = (filled(), caller());
    let state = std::env::temp_dir().join(format!("dynatwin-segments-{}.json", std::process::id()));
    let copied = [r#"{"Orders": ["done", null]}"#, r#"{"Orders": [null, "done"]}"#].map(|saved| {
        std::fs::write(&state, saved).unwrap();
        let options = CopyOptions {
            state: Some(state.clone()),
            segments: 5,
            verify: false,
            ..CopyOptions::default()
        };
        let to = engine(&Conditions::CALM);
        copy(
            &InProcess::new(&from, &caller),
            &InProcess::new(&to, &caller),
            &options,
            &|_| (),
        )
        .unwrap()
    });
    assert!(copied.iter().all(|items| *items > 0), "{copied:?}");
    assert_eq!(copied.iter().sum::<u64>(), ITEMS);
}
