//! Snapshots that are restored into an engine with a commit log: all of it or nothing, and the log has it too.

mod forks;
mod indexes;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::commits::{self, Recorder};
use crate::common::{Twin, caller, create_table_with_ttl, settings};
use dynatwin_engine::commits::{AppendError, Commit, CommitSink, EncodedCommit};
use dynatwin_engine::http::{Answer, HttpRequest};
use dynatwin_engine::{Caller, Clock, Conditions, Engine, Lag, Moment, RestoreError, StateSnapshot};
use serde_json::{Value, json};

fn put(pk: &str) -> Value {
    json!({"TableName": "tab", "Item": {"pk": {"S": pk}, "g": {"S": "x"}}})
}

fn count(twin: &Twin) -> usize {
    let items = twin.engine.items(&twin.caller, "tab");
    items.map_or(0, |items| items.len())
}

/// A twin with a table and an item, and the log of its commits.
fn logged() -> (Twin, Arc<Recorder>) {
    let twin = Twin::new(1);
    let recorder = Recorder::of(&twin.engine);
    create_table_with_ttl(&twin);
    twin.ok("PutItem", &put("a"));
    (twin, recorder)
}

/// Tables of a snapshot count their heat, as those that they replace did.
#[test]
fn a_watched_twin_is_watched_after_a_snapshot_is_restored() {
    for watched in [true, false] {
        let twin = Twin::new(1);
        twin.engine.watch(watched);
        create_table_with_ttl(&twin);
        twin.engine.restore(&twin.engine.snapshot()).unwrap();
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": {"pk": {"S": "a"}}}));
        let heat = twin.engine.account(&twin.caller).heat("tab").unwrap();
        assert_eq!(
            (twin.engine.is_watched(), heat.resources.is_empty()),
            (watched, !watched)
        );
    }
}

#[test]
fn a_restored_state_is_in_the_log() {
    let (twin, recorder) = logged();
    twin.ok("CreateBackup", &json!({"TableName": "tab", "BackupName": "saved"}));
    twin.engine.advance(Duration::from_mins(1));
    let snapshot = twin.engine.snapshot();
    twin.ok("PutItem", &put("b"));
    twin.ok("DeleteTable", &json!({"TableName": "tab"}));
    twin.engine.set_conditions(Conditions::AWS).unwrap();
    twin.engine.advance(Duration::from_mins(1));
    twin.engine.restore(&snapshot).unwrap();
    assert_eq!(count(&twin), 1);
    assert_eq!(twin.engine.clock().now(), snapshot.now());
    commits::check(&twin.engine, &recorder, || settings(1)).unwrap();
    twin.ok("PutItem", &put("c"));
    commits::check(&twin.engine, &recorder, || settings(1)).unwrap();
    twin.engine.reset().unwrap();
    commits::check(&twin.engine, &recorder, || settings(1)).unwrap();
}

/// A restored or replayed state has the client tokens of its transactions, and no others.
#[test]
fn a_restored_state_has_its_client_tokens() {
    let (twin, recorder) = logged();
    let add = |token: &str| {
        let update = json!({"TableName": "tab", "Key": {"pk": {"S": token}}, "UpdateExpression": "ADD n :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}}});
        json!({"ClientRequestToken": token, "TransactItems": [{"Update": update}]})
    };
    let number = |twin: &Twin, pk: &str| {
        let get = json!({"TableName": "tab", "Key": {"pk": {"S": pk}}});
        twin.ok("GetItem", &get)["Item"]["n"]["N"].clone()
    };
    twin.ok("TransactWriteItems", &add("before"));
    let snapshot = twin.engine.snapshot();
    twin.ok("TransactWriteItems", &add("after"));
    let of = |engine: Engine| Twin {
        engine,
        caller: caller(),
    };
    let empty = Twin::new(2).engine;
    empty.restore(&snapshot).unwrap();
    let replayed = commits::replayed(settings(1), &recorder.commits(), &twin.engine);
    let fork = twin.engine.fork(Clock::settable(Moment::START)).unwrap();
    twin.engine.restore(&snapshot).unwrap();
    for (twin, what, has_after) in [
        (twin, "restored", false),
        (of(empty), "restored into another", false),
        (of(replayed), "replayed", true),
        (of(fork), "forked", true),
    ] {
        assert_eq!(number(&twin, "after") == "1", has_after, "{what}");
        twin.ok("TransactWriteItems", &add("before"));
        twin.ok("TransactWriteItems", &add("after"));
        assert_eq!([number(&twin, "before"), number(&twin, "after")], ["1", "1"], "{what}");
        // The token is forgotten when it is ten minutes old.
        twin.engine.advance(Duration::from_mins(10));
        twin.ok("TransactWriteItems", &add("before"));
        assert_eq!(number(&twin, "before"), "2", "{what}");
    }
}

/// A deleted table is in the replayed state until it is gone, as a new one of its name is after it.
#[test]
fn a_replayed_state_has_no_deleted_tables() {
    let (twin, recorder) = logged();
    let conditions = Conditions {
        table_status: Lag::Fixed(Duration::from_secs(10)),
        ..Conditions::CALM
    };
    twin.engine.set_conditions(conditions).unwrap();
    let check = |what: &str| {
        commits::check(&twin.engine, &recorder, || settings(1)).unwrap();
        let replayed = commits::replayed(settings(1), &recorder.commits(), &twin.engine);
        let tables = |engine: &Engine| {
            let answer = engine.dispatch(&caller(), "DescribeTable", br#"{"TableName": "tab"}"#);
            (answer.status, String::from_utf8(answer.body).unwrap())
        };
        assert_eq!(tables(&replayed), tables(&twin.engine), "{what}");
        let held = |engine: &Engine| engine.items(&caller(), "tab").map(|items| items.len());
        assert_eq!(held(&replayed), held(&twin.engine), "{what}");
        held(&twin.engine)
    };
    assert_eq!(check("active"), Some(1));
    twin.ok("DeleteTable", &json!({"TableName": "tab"}));
    assert_eq!(check("deleting"), Some(1));
    twin.engine.advance(Duration::from_secs(10));
    assert_eq!(check("gone"), None);
    twin.engine.set_conditions(Conditions::CALM).unwrap();
    create_table_with_ttl(&twin);
    assert_eq!(check("created again"), Some(0));
    twin.ok("PutItem", &put("b"));
    assert_eq!(check("written"), Some(1));
}

/// Tables that are created after a replay, a fork or a restore are told apart from those of before.
#[test]
fn a_new_table_is_none_of_the_restored_ones() {
    let (twin, recorder) = logged();
    let replayed = commits::replayed(settings(1), &recorder.commits(), &twin.engine);
    let fork = twin.engine.fork(Clock::settable(Moment::START)).unwrap();
    let restored = Twin::new(2).engine;
    restored.restore(&twin.engine.snapshot()).unwrap();
    for (way, engine) in [("replay", replayed), ("fork", fork), ("restore", restored)] {
        let caller = caller();
        let twin = Twin { engine, caller };
        create_other(&twin);
        let put = |table: &str| json!({"Put": {"TableName": table, "Item": {"pk": {"S": "b"}}}});
        let (status, answer) = twin.send(
            "TransactWriteItems",
            &json!({"TransactItems": [put("tab"), put("other")]}),
        );
        assert_eq!(status, 200, "{way}: {answer}");
        let count = |table: &str| twin.ok("Scan", &json!({"TableName": table}))["Count"].clone();
        assert_eq!([count("tab"), count("other")], [2, 1], "{way}");
    }
}

/// The conditions of a table are part of the state, also of one that does not exist.
#[test]
fn a_restored_table_has_its_own_conditions() {
    let (twin, _) = logged();
    let account = || twin.engine.account(&twin.caller);
    for table in ["tab", "later"] {
        account().set_table_conditions(table, Conditions::STORM).unwrap();
    }
    let Caller { access_key, region } = &twin.caller;
    let authorization = format!("AWS4-HMAC-SHA256 Credential={access_key}/20260101/{region}/dynamodb/aws4_request");
    let snapshot = twin.engine.snapshot();
    let bytes = StateSnapshot::from_bytes(&snapshot.to_bytes()).unwrap();
    for snapshot in [snapshot, bytes] {
        let other = Twin::new(2);
        other.engine.restore(&snapshot).unwrap();
        for (table, own) in [("tab", true), ("later", true), ("another", false)] {
            let answer = other.engine.handle(&HttpRequest {
                method: "GET",
                target: &format!("/_dynatwin/tables/{table}/conditions"),
                headers: &[("host", "localhost"), ("authorization", &authorization)],
                body: b"",
            });
            let conditions: Value = serde_json::from_slice(&answer.body).unwrap();
            assert_eq!(conditions["own"] == true, own, "{table}: {conditions}");
            assert_eq!(
                conditions["conditions"]["throttles"] == 0.05,
                own,
                "{table}: {conditions}"
            );
        }
    }
}

/// A reset, and a restore of a snapshot without conditions of single tables, remove these conditions.
#[test]
fn resets_and_restores_remove_conditions_of_tables() {
    let (twin, recorder) = logged();
    let snapshot = twin.engine.snapshot();
    let account = || twin.engine.account(&twin.caller);
    let is_stormy = || {
        create_other(&twin);
        let (status, answer) = twin.send(
            "UpdateTable",
            &json!({"TableName": "other", "DeletionProtectionEnabled": true}),
        );
        status != 200 && answer.to_string().contains("Table is being created")
    };
    type Remove = fn(&Twin, &StateSnapshot);
    let ways: [(&str, Remove); 2] = [
        ("reset", |twin, _| twin.engine.reset().unwrap()),
        ("restore", |twin, snapshot| twin.engine.restore(snapshot).unwrap()),
    ];
    for (way, remove) in ways {
        account().set_table_conditions("other", Conditions::STORM).unwrap();
        remove(&twin, &snapshot);
        assert!(!is_stormy(), "{way}");
        remove(&twin, &snapshot);
        commits::check(&twin.engine, &recorder, || settings(1)).unwrap();
    }
    account().set_table_conditions("other", Conditions::STORM).unwrap();
    assert!(is_stormy());
}

/// A reset and a restore forget the requests that count for the rates of control operations.
#[test]
fn resets_and_restores_let_control_requests_in_again() {
    type Forget = fn(&Twin, &StateSnapshot);
    let ways: [(&str, Forget, bool); 4] = [
        ("nothing", |_, _| (), false),
        ("reset", |twin, _| twin.engine.reset().unwrap(), true),
        ("reset_all", |twin, _| twin.engine.reset_all().unwrap(), true),
        ("restore", |twin, snapshot| twin.engine.restore(snapshot).unwrap(), true),
    ];
    for (way, forget, forgets) in ways {
        let (twin, _) = logged();
        let limited = Conditions {
            control_limits: true,
            ..Conditions::CALM
        };
        twin.engine.set_conditions(limited).unwrap();
        let snapshot = twin.engine.snapshot();
        let asks = || {
            (0..10)
                .filter(|_| twin.send("DescribeLimits", &json!({})).0 == 200)
                .count()
        };
        assert_eq!(asks(), 2, "{way}");
        forget(&twin, &snapshot);
        twin.engine.set_conditions(limited).unwrap();
        assert_eq!(asks(), if forgets { 2 } else { 0 }, "{way}");
    }
}

fn create_other(twin: &Twin) {
    twin.ok(
        "CreateTable",
        &json!({"TableName": "other", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}),
    );
}

struct Full(AtomicBool);

impl CommitSink for Full {
    fn append(&self, _: &EncodedCommit) -> Result<(), AppendError> {
        if self.0.load(Ordering::Relaxed) {
            return Err(AppendError::new("disk full"));
        }
        Ok(())
    }
}

/// The bytes of a snapshot with a commit that no state has.
fn inconsistent(commit: &Commit) -> Vec<u8> {
    let mut bytes = Twin::new(1).engine.snapshot().to_bytes();
    bytes.truncate(bytes.len() - 4);
    let mut encoded = Vec::new();
    commit.encode(&mut encoded);
    bytes.extend_from_slice(&(encoded.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&encoded);
    let checksum = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

fn snapshot_control(twin: &Twin, method: &str, body: &[u8]) -> Answer {
    twin.engine.handle(&HttpRequest {
        method,
        target: "/_dynatwin/snapshot",
        headers: &[("host", "here"), ("content-type", "application/octet-stream")],
        body,
    })
}

#[test]
fn controls_take_and_restore_snapshots() {
    let (twin, recorder) = logged();
    let taken = snapshot_control(&twin, "GET", b"");
    assert_eq!(taken.header("content-type"), Some("application/octet-stream"));
    assert_eq!(taken.body, twin.engine.snapshot().to_bytes());
    twin.ok("PutItem", &put("b"));

    let write = recorder.commits().pop().unwrap();
    let full = Arc::new(Full(AtomicBool::new(true)));
    twin.engine.attach_sink(full.clone(), 9);
    let before = twin.engine.snapshot();
    for (body, is_full, status, text) in [
        (
            inconsistent(&write),
            false,
            400,
            "The snapshot is inconsistent: commit 5: ",
        ),
        (taken.body[1..].to_vec(), false, 400, "The body is "),
        (
            taken.body.clone(),
            true,
            503,
            "The snapshot was not restored: disk full",
        ),
    ] {
        full.0.store(is_full, Ordering::Relaxed);
        let refused = snapshot_control(&twin, "PUT", &body);
        let answer = String::from_utf8_lossy(&refused.body).into_owned();
        assert_eq!(refused.status, status, "{answer}");
        assert!(answer.contains(text), "{answer}");
        assert_eq!(twin.engine.snapshot(), before, "{text}");
    }
    full.0.store(false, Ordering::Relaxed);
    let restored = snapshot_control(&twin, "PUT", &taken.body);
    let overview: Value = serde_json::from_slice(&restored.body).unwrap();
    assert_eq!((restored.status, &overview["counts"]["tables"]), (200, &json!(1)));
    assert_eq!(count(&twin), 1);
}

#[test]
fn every_flipped_byte_of_a_snapshot_is_found() {
    let bytes = logged().0.engine.snapshot().to_bytes();
    StateSnapshot::from_bytes(&bytes).unwrap();
    for at in 0..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            let mut bad = bytes.clone();
            bad[at] ^= flip;
            assert!(StateSnapshot::from_bytes(&bad).is_err(), "byte {at} ^ {flip}");
        }
    }
}

#[test]
fn a_snapshot_that_is_not_restored_changes_nothing() {
    let (twin, recorder) = logged();
    let snapshot = twin.engine.snapshot();
    twin.ok("PutItem", &put("b"));
    twin.engine.advance(Duration::from_mins(1));
    let full = Arc::new(Full(AtomicBool::new(true)));
    twin.engine.attach_sink(full.clone(), 9);
    let before = twin.engine.snapshot();
    let refused = twin.engine.restore(&snapshot);
    assert_eq!(refused, Err(RestoreError::Refused(AppendError::new("disk full"))));
    assert_eq!(twin.engine.snapshot(), before);

    full.0.store(false, Ordering::Relaxed);
    let write = recorder.commits().pop().unwrap();
    let inconsistent = StateSnapshot::from_bytes(&inconsistent(&write)).unwrap();
    let error = twin.engine.restore(&inconsistent).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the snapshot was not restored: commit 5: there is no table 1"
    );
    assert_eq!(twin.engine.snapshot(), before);
    assert_eq!(twin.engine.last_commit(), 9);
}

/// Whatever requests do meanwhile, the log makes the state that is there, and a snapshot is of one state.
#[test]
fn the_log_yields_the_state_despite_concurrent_resets_and_restores() {
    let (twin, recorder) = logged();
    let snapshot = twin.engine.snapshot();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..3 {
            let (twin, done) = (&twin, &done);
            scope.spawn(move || {
                for round in 0.. {
                    if done.load(Ordering::Relaxed) {
                        return;
                    }
                    // Some fail: their table is not there at the moment.
                    let name = format!("table-{writer}-{round}");
                    twin.send("PutItem", &put(&name));
                    let key = json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}});
                    twin.send(
                        "TransactWriteItems",
                        &json!({"TransactItems": [{"Put": put(&name)}, {"Delete": key}]}),
                    );
                    let table = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
                        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
                    twin.send("CreateTable", &table);
                }
            });
        }
        for round in 0..50 {
            if round % 5 == 4 {
                twin.engine.reset().unwrap();
            } else {
                twin.engine.restore(&snapshot).unwrap();
            }
            let meanwhile = StateSnapshot::from_bytes(&twin.engine.snapshot().to_bytes()).unwrap();
            Twin::new(1).engine.restore(&meanwhile).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    commits::check(&twin.engine, &recorder, || settings(1)).unwrap();
}

/// However much a stream, point-in-time recovery and a paused index hold, a log with a limit for records takes a checkpoint.
#[test]
fn no_commit_of_a_checkpoint_is_long() {
    const MOST: usize = 6 * 1024 * 1024;
    let twin = Twin::new(1);
    let attributes = ["pk", "g", "h"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let indexes = ["h", "g"].map(|name| {
        json!({"IndexName": format!("by-{name}"), "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"}})
    });
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": attributes,
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": indexes,
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        }),
    );
    let recovery = json!({"PointInTimeRecoveryEnabled": true});
    twin.ok(
        "UpdateContinuousBackups",
        &json!({"TableName": "tab", "PointInTimeRecoverySpecification": recovery}),
    );
    let large = "x".repeat(300_000);
    for round in 0..2 {
        for pk in 0..30 {
            let item = json!({"pk": {"S": pk.to_string()}, "g": {"S": "x"}, "h": {"S": "y"}, "large": {"S": large}, "round": {"N": round.to_string()}});
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        }
        twin.engine.account(&twin.caller).pause_index("tab", "by-g").unwrap();
    }
    for pk in 0..600 {
        twin.ok("PutItem", &put(&format!("small-{pk}")));
    }
    let snapshot = twin.engine.snapshot();
    let lengths = twin.engine.checkpoint().map(|commit| {
        let mut bytes = Vec::new();
        commit.encode(&mut bytes);
        bytes.len()
    });
    assert!(lengths.max() <= Some(MOST));
    let copy = Twin::new(1);
    copy.engine
        .restore(&StateSnapshot::from_bytes(&snapshot.to_bytes()).unwrap())
        .unwrap();
    assert!(copy.engine.snapshot() == snapshot);
    for twin in [&twin, &copy] {
        twin.engine.account(&twin.caller).resume_index("tab", "by-g").unwrap();
    }
    assert!(copy.engine.snapshot() == twin.engine.snapshot());
}

/// A reset forgets client tokens: the same transaction is executed again.
#[test]
fn a_reset_forgets_client_tokens() {
    let control = |twin: &Twin, body: &str| {
        let headers = [("host", "here"), ("content-type", "application/json")];
        let answer = twin.engine.handle(&HttpRequest {
            method: "POST",
            target: "/_dynatwin/reset",
            headers: &headers,
            body: body.as_bytes(),
        });
        assert_eq!(answer.status, 200);
    };
    type Reset<'r> = &'r dyn Fn(&Twin);
    let ways: [(&str, Reset<'_>); 4] = [
        ("reset", &|twin| twin.engine.reset().unwrap()),
        ("reset of all", &|twin| twin.engine.reset_all().unwrap()),
        ("control", &|twin| control(twin, "{}")),
        ("control of all", &|twin| control(twin, r#"{"all": true}"#)),
    ];
    let requests = [
        (
            "TransactWriteItems",
            json!({"ClientRequestToken": "token", "TransactItems": [{"Put": put("t")}]}),
        ),
        (
            "ExecuteTransaction",
            json!({"ClientRequestToken": "token", "TransactStatements": [{"Statement": "INSERT INTO tab VALUE {'pk': 't'}"}]}),
        ),
    ];
    for (way, reset) in ways {
        for (operation, body) in &requests {
            let twin = Twin::new(1);
            for _ in 0..2 {
                create_table_with_ttl(&twin);
                twin.ok(operation, body);
                assert_eq!(count(&twin), 1, "{way} {operation}");
                twin.ok(operation, body);
                reset(&twin);
            }
        }
    }
}

/// A snapshot is encoded if it has at most the given number of bytes, with its checksum.
#[test]
fn a_snapshot_has_at_most_the_given_size() {
    let snapshot = logged().0.engine.snapshot();
    let bytes = snapshot.to_bytes();
    for most in bytes.len() - 8..bytes.len() + 8 {
        let fits = most >= bytes.len();
        assert_eq!(snapshot.to_bytes_within(most), fits.then(|| bytes.clone()), "{most}");
    }
}
