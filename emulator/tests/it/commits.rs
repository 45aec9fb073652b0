//! Sinks that refuse commits: the change is not applied, and the request fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::commits::Recorder;
use crate::common::global::{self, EU, US, caller, seconds};
use crate::common::{Twin, create_table_with_ttl, settings};
use dynatwin_engine::commits::{AppendError, Commit, CommitSink, EncodedCommit, Origin};
use dynatwin_engine::http::HttpRequest;
use dynatwin_engine::monitoring::{EventKind, Units};
use dynatwin_engine::{Clock, Conditions, ControlFailure, Engine, ErrorKind, Lag, Moment, Settings};
use serde_json::json;

/// A disk that can be full.
#[derive(Default)]
struct Disk(AtomicBool);

impl CommitSink for Disk {
    fn append(&self, _: &EncodedCommit) -> Result<(), AppendError> {
        if self.0.load(Ordering::Relaxed) {
            return Err(AppendError::new("disk full"));
        }
        Ok(())
    }
}

/// Returns the state, without applying due work.
fn state(twin: &Twin) -> Vec<Commit> {
    twin.engine.checkpoint().collect()
}

#[test]
fn a_refused_commit_changes_nothing() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    let put = |pk: &str| json!({"TableName": "tab", "Item": {"pk": {"S": pk}, "g": {"S": "x"}}});
    twin.ok("PutItem", &put("there"));
    twin.ok("CreateBackup", &json!({"TableName": "tab", "BackupName": "saved"}));
    let backups = twin.ok("ListBackups", &json!({}));
    let backup = &backups["BackupSummaries"][0]["BackupArn"];
    let disk = Arc::new(Disk::default());
    twin.engine.attach_sink(disk.clone(), 0);
    let before = state(&twin);
    disk.0.store(true, Ordering::Relaxed);
    let table = &twin.ok("DescribeTable", &json!({"TableName": "tab"}))["Table"]["TableArn"];
    let other = json!({"TableName": "other", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    for (operation, body) in [
        ("PutItem", put("new")),
        ("DeleteItem", json!({"TableName": "tab", "Key": {"pk": {"S": "there"}}})),
        (
            "TransactWriteItems",
            json!({"ClientRequestToken": "once", "TransactItems": [{"Put": put("a")}, {"Put": put("b")}]}),
        ),
        ("CreateTable", other),
        ("DeleteTable", json!({"TableName": "tab"})),
        (
            "TagResource",
            json!({"ResourceArn": table, "Tags": [{"Key": "a", "Value": "b"}]}),
        ),
        ("CreateBackup", json!({"TableName": "tab", "BackupName": "another"})),
        ("DeleteBackup", json!({"BackupArn": backup})),
        (
            "RestoreTableFromBackup",
            json!({"BackupArn": backup, "TargetTableName": "restored"}),
        ),
        (
            "UpdateTable",
            json!({"TableName": "tab", "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}}),
        ),
    ] {
        let (status, answer) = twin.send(operation, &body);
        assert_eq!(status, 500, "{operation}: {answer}");
        assert_eq!(state(&twin), before, "{operation}");
    }
    disk.0.store(false, Ordering::Relaxed);
    // The token of the failed transaction can be used again.
    let transaction = json!({"ClientRequestToken": "once", "TransactItems": [{"Put": put("a")}, {"Put": put("b")}]});
    twin.ok("TransactWriteItems", &transaction);
    assert_ne!(state(&twin), before);
}

/// The size of a partition decides when it is split.
#[test]
fn a_refused_commit_does_not_change_the_size_of_a_partition() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    twin.engine.set_conditions(Conditions::AWS).unwrap();
    let put = |pk: &str, text: &str| json!({"TableName": "tab", "Item": {"pk": {"S": pk}, "text": {"S": text}}});
    twin.ok("PutItem", &put("there", "abc"));
    let bytes = || -> u64 {
        let heat = twin.engine.account(&twin.caller).heat("tab").unwrap();
        let partitions = heat.resources.iter().flat_map(|resource| &resource.partitions);
        partitions.map(|partition| partition.bytes).sum()
    };
    let before = bytes();
    assert_ne!(before, 0);
    let disk = Arc::new(Disk::default());
    twin.engine.attach_sink(disk.clone(), 0);
    disk.0.store(true, Ordering::Relaxed);
    for (operation, body) in [
        ("PutItem", put("new", "abc")),
        ("PutItem", put("there", "longer than before")),
        ("DeleteItem", json!({"TableName": "tab", "Key": {"pk": {"S": "there"}}})),
        (
            "TransactWriteItems",
            json!({"TransactItems": [{"Put": put("new", "abc")}, {"Put": put("there", "a")}]}),
        ),
    ] {
        let (status, answer) = twin.send(operation, &body);
        assert_eq!((status, bytes()), (500, before), "{operation}: {answer}");
    }
}

/// What a refused write would have cost is counted nowhere, and the log of requests has its error.
#[test]
fn a_refused_commit_is_not_recorded_as_done() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    twin.engine.watch(true);
    let put = |pk: &str| json!({"TableName": "tab", "Item": {"pk": {"S": pk}, "g": {"S": "x"}}});
    twin.ok("PutItem", &put("there"));
    twin.engine.listen(true);
    let disk = Arc::new(Disk::default());
    twin.engine.attach_sink(disk.clone(), 0);
    let key = json!({"TableName": "tab", "Key": {"pk": {"S": "there"}}});
    let mut update = key.clone();
    update["UpdateExpression"] = json!("REMOVE g");
    let consumed = || {
        let metrics = twin.engine.metrics(&twin.caller);
        let units = metrics.iter().filter(|metric| metric.name.contains("CapacityUnits"));
        units.map(ToString::to_string).collect::<Vec<_>>()
    };
    let before = consumed();
    assert!(!before.is_empty());
    let events = twin.engine.events_after(0, 1000).next;
    for (operation, body, writes) in [
        ("PutItem", put("new"), 1),
        ("PutItem", put("there"), 1),
        ("UpdateItem", update, 1),
        ("DeleteItem", key, 1),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"tab": [{"PutRequest": {"Item": put("a")["Item"]}}]}}),
            1,
        ),
        (
            "ExecuteStatement",
            json!({"Statement": "DELETE FROM tab WHERE pk = 'there'"}),
            1,
        ),
        (
            "TransactWriteItems",
            json!({"TransactItems": [{"Put": put("a")}, {"Put": put("b")}]}),
            2,
        ),
    ] {
        disk.0.store(true, Ordering::Relaxed);
        let (status, answer) = twin.send(operation, &body);
        assert_eq!(status, 500, "{operation}: {answer}");
        assert_eq!(consumed(), before, "{operation}");
        let requests = twin.engine.requests();
        let accesses = &requests.last().unwrap().accesses;
        let recorded: Vec<_> = accesses.iter().map(|access| (access.error, access.write)).collect();
        let refused = (Some(ErrorKind::InternalServerError), Units::ZERO);
        assert_eq!(recorded, vec![refused; writes], "{operation}");
        let logged = twin.engine.events_after(events, 1000).events;
        let is_request = |kind: &EventKind| matches!(kind, EventKind::Request(_) | EventKind::Entry(..));
        let consequences = logged.iter().filter(|event| !is_request(&event.kind));
        assert_eq!(consequences.count(), 0, "{operation}: {logged:?}");
    }
}

/// Calls a control for the twin's caller; returns status and answer.
fn control(twin: &Twin, method: &str, path: &str, body: &str) -> (u16, String) {
    let answer = twin.engine.handle(&HttpRequest {
        method,
        target: &format!("/_dynatwin/{path}"),
        headers: &[
            ("host", "localhost"),
            ("content-type", "application/json"),
            (
                "authorization",
                "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
            ),
        ],
        body: body.as_bytes(),
    });
    (answer.status, String::from_utf8(answer.body).unwrap())
}

#[test]
fn a_control_whose_commit_is_refused_reports_it_and_changes_nothing() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    let stream = json!({"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"});
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "tab", "StreamSpecification": stream}),
    );
    let replica = json!([{"Create": {"RegionName": "eu-west-1"}}]);
    twin.ok("UpdateTable", &json!({"TableName": "tab", "ReplicaUpdates": replica}));
    twin.engine.advance(Duration::from_hours(1));
    let disk = Arc::new(Disk::default());
    twin.engine.attach_sink(disk.clone(), 0);
    for (method, path, body) in [
        ("PUT", "conditions", r#"{"timeToLive": "off"}"#),
        ("PUT", "tables/tab/conditions", r#"{"timeToLive": 60}"#),
        ("DELETE", "tables/tab/conditions", ""),
        ("PUT", "tables/tab/indexes/by-g/lag", "3"),
        ("POST", "tables/tab/indexes/by-g/pause", ""),
        ("POST", "tables/tab/indexes/by-g/resume", ""),
        ("POST", "tables/tab/split-shards", ""),
        ("PUT", "tables/tab/replication/eu-west-1/lag", "3"),
        ("POST", "tables/tab/replication/pause", ""),
        ("POST", "tables/tab/replication/resume", ""),
        ("POST", "reset", ""),
        ("POST", "reset", r#"{"all": true}"#),
    ] {
        let what = format!("{method} {path} {body}");
        let before = (state(&twin), twin.engine.clock().now());
        disk.0.store(true, Ordering::Relaxed);
        let refused = r#"{"error":"The change was not stored: disk full."}"#.to_owned();
        assert_eq!(control(&twin, method, path, body), (503, refused), "{what}");
        assert!((state(&twin), twin.engine.clock().now()) == before, "{what}: changed");
        disk.0.store(false, Ordering::Relaxed);
        let (status, answer) = control(&twin, method, path, body);
        assert_eq!(status, 200, "{what}: {answer}");
        assert!((state(&twin), twin.engine.clock().now()) != before, "{what}: unchanged");
    }
}

#[test]
fn a_refused_reset_leaves_the_clock() {
    for frozen in [true, false] {
        let engine = Engine::new(Settings {
            clock: Clock::system(|| Moment::START),
            ..settings(1)
        });
        let disk = Arc::new(Disk::default());
        engine.attach_sink(disk.clone(), 0);
        engine.clock().advance(Duration::from_mins(1));
        if frozen {
            engine.clock().freeze();
        }
        let before = (engine.clock().now(), engine.clock().adjustment());
        disk.0.store(true, Ordering::Relaxed);
        assert!(engine.reset_all().is_err());
        assert_eq!((engine.clock().now(), engine.clock().adjustment()), before);
        disk.0.store(false, Ordering::Relaxed);
        engine.reset_all().unwrap();
        assert!(!engine.clock().is_frozen());
    }
}

#[test]
fn a_refused_control_is_an_error_in_rust() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    let account = twin.engine.account(&twin.caller);
    let disk = Arc::new(Disk::default());
    twin.engine.attach_sink(disk.clone(), 0);
    disk.0.store(true, Ordering::Relaxed);
    let (engine, before) = (&twin.engine, (state(&twin), twin.engine.clock().now()));
    for (name, result) in [
        ("set_conditions", engine.set_conditions(Conditions::STORM)),
        (
            "set_table_conditions",
            account.set_table_conditions("tab", Conditions::AWS),
        ),
        ("pause_index", account.pause_index("tab", "by-g")),
        (
            "set_index_lag",
            account.set_index_lag("tab", "by-g", Lag::Fixed(Duration::from_secs(3))),
        ),
        ("reset", engine.reset()),
        ("reset_all", engine.reset_all()),
    ] {
        let refused = AppendError::new("disk full");
        assert_eq!(result, Err(ControlFailure::NotStored(refused)), "{name}");
    }
    assert!((state(&twin), engine.clock().now()) == before);
}

#[test]
fn due_work_is_applied_even_if_the_sink_refuses_it() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    let ttl = (twin.seconds() + 60).to_string();
    let put = json!({"TableName": "tab", "Item": {"pk": {"S": "mortal"}, "ttl": {"N": ttl}}});
    twin.ok("PutItem", &put);
    let disk = Arc::new(Disk::default());
    disk.0.store(true, Ordering::Relaxed);
    twin.engine.attach_sink(disk, 0);
    twin.engine.advance(Duration::from_mins(2));
    assert_eq!(twin.engine.items(&twin.caller, "tab").unwrap(), []);
    assert_eq!(twin.engine.last_commit(), 0);
}

/// The conditions of a load hold until it ends, even if the sink refuses to store its beginning or its end.
#[test]
fn a_load_ends_even_if_the_sink_refuses_it() {
    let failing = Conditions {
        internal_errors: 1.0,
        ..Conditions::CALM
    };
    for (full_before, full_after) in [(true, true), (true, false), (false, true)] {
        let twin = Twin::new(1);
        create_table_with_ttl(&twin);
        let account = twin.engine.account(&twin.caller);
        account.set_table_conditions("tab", failing).unwrap();
        let disk = Arc::new(Disk::default());
        twin.engine.attach_sink(disk.clone(), 0);
        let get = || {
            let key = json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}});
            twin.send("GetItem", &key).0
        };
        disk.0.store(full_before, Ordering::Relaxed);
        let during = account.while_loading(&["tab".to_owned()], || {
            disk.0.store(full_after, Ordering::Relaxed);
            get()
        });
        assert_eq!(
            (during, get()),
            (200, 500),
            "full before: {full_before}, after: {full_after}"
        );
    }
}

/// A replay ends under the conditions that its host sets, or else under those that the commits have set. Tables with
/// conditions of their own keep them.
#[test]
fn a_replay_ends_under_the_conditions_of_its_host() {
    let deletion = |takes| Conditions {
        table_status: takes,
        ..Conditions::CALM
    };
    let (fast, slow) = (deletion(Lag::None), deletion(Lag::Fixed(Duration::from_hours(1))));
    for (stored, own, host, expect) in [
        (None, slow, None, [false, true]),
        (None, slow, Some(fast), [false, true]),
        (None, fast, Some(slow), [true, false]),
        (Some(slow), fast, None, [true, false]),
        (Some(slow), fast, Some(fast), [false, false]),
        (Some(fast), slow, Some(slow), [true, true]),
    ] {
        let twin = Twin::new(1);
        let recorder = Recorder::of(&twin.engine);
        for name in ["tab", "own"] {
            let key = json!([{"AttributeName": "pk", "KeyType": "HASH"}]);
            let attributes = json!([{"AttributeName": "pk", "AttributeType": "S"}]);
            twin.ok(
                "CreateTable",
                &json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes, "KeySchema": key}),
            );
        }
        let account = twin.engine.account(&twin.caller);
        account.set_table_conditions("own", Some(own)).unwrap();
        if let Some(stored) = stored {
            twin.engine.set_conditions(stored).unwrap();
        }
        let copy = Twin::new(1);
        let mut replay = copy.engine.replay();
        assert_eq!(replay.conditions(), None);
        for commit in recorder.commits() {
            replay.apply(&commit).unwrap();
        }
        assert_eq!(replay.conditions(), stored);
        if let Some(host) = &host {
            replay.set_conditions(host);
            assert_eq!(replay.conditions(), Some(*host));
        }
        replay.finish(copy.engine.clock().now());
        let takes_time = ["tab", "own"].map(|name| {
            copy.ok("DeleteTable", &json!({"TableName": name}));
            copy.send("DescribeTable", &json!({"TableName": name})).0 == 200
        });
        assert_eq!(takes_time, expect, "{stored:?} {own:?} {host:?}");
    }
}

/// Requests and controls, the clock, and other regions are told apart as causes of commits, whatever the commit changes.
#[test]
fn a_commit_has_the_origin_of_its_cause() {
    type Act = fn(&global::Twin);
    let twin = global::Twin::lagging(&[US, EU], 5);
    twin.ok(
        US,
        "CreateTable",
        &json!({"TableName": "own", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}),
    );
    let recovery = |twin: &global::Twin, enabled: bool| {
        let recovery = json!({"PointInTimeRecoveryEnabled": enabled});
        twin.ok(
            US,
            "UpdateContinuousBackups",
            &json!({"TableName": "own", "PointInTimeRecoverySpecification": recovery}),
        );
    };
    recovery(&twin, true);
    twin.advance(600);
    let steps: [(&str, Origin, Act); 12] = [
        ("a put", Origin::Request, |twin| twin.put(US, "a", "1")),
        ("its arrival", Origin::Replication, |twin| twin.advance(5)),
        ("time to live is enabled", Origin::Request, |twin| {
            let specification = json!({"Enabled": true, "AttributeName": "ttl"});
            let body = json!({"TableName": "own", "TimeToLiveSpecification": specification});
            twin.ok(US, "UpdateTimeToLive", &body);
        }),
        ("an item with an end", Origin::Request, |twin| {
            let end = (twin.engine.clock().now().seconds() + 1).to_string();
            let item = json!({"pk": {"S": "b"}, "ttl": {"N": end}});
            twin.ok(US, "PutItem", &json!({"TableName": "own", "Item": item}));
        }),
        ("its deletion", Origin::Clock, |twin| twin.advance(2)),
        ("replication is paused", Origin::Request, |twin| twin.pause(US, None)),
        ("replication is resumed", Origin::Request, |twin| twin.resume(US, None)),
        ("an index is paused", Origin::Request, |twin| {
            twin.engine.account(&caller(US)).pause_index("tab", "by-g").unwrap();
        }),
        ("an index is resumed", Origin::Request, |twin| {
            twin.engine.account(&caller(US)).resume_index("tab", "by-g").unwrap();
        }),
        ("an index has a lag", Origin::Request, |twin| {
            let account = twin.engine.account(&caller(US));
            account.set_index_lag("tab", "by-g", seconds(1)).unwrap();
        }),
        ("a backup is created and deleted", Origin::Request, |twin| {
            let body = json!({"TableName": "own", "BackupName": "one"});
            let backup = twin.ok(US, "CreateBackup", &body)["BackupDetails"]["BackupArn"].clone();
            twin.ok(US, "DeleteBackup", &json!({"BackupArn": backup}));
        }),
        ("shards are split", Origin::Request, |twin| {
            assert!(twin.engine.account(&caller(US)).split_shards("tab").unwrap());
        }),
    ];
    let check = |what: &str, origin: Origin, act: &dyn Fn()| {
        let before = twin.recorder().commits().len();
        act();
        let commits = twin.recorder().commits().split_off(before);
        let origins: Vec<Origin> = commits.iter().map(|commit| commit.origin).collect();
        assert!(!origins.is_empty(), "{what}");
        assert!(origins.iter().all(|of| *of == origin), "{what}: {origins:?}");
    };
    for (what, origin, act) in steps {
        check(what, origin, &|| act(&twin));
    }
    let slow = Conditions {
        table_status: seconds(10),
        ..Conditions::CALM
    };
    twin.engine.set_conditions(slow).unwrap();
    twin.ok(US, "DeleteTable", &json!({"TableName": "own"}));
    check("the system backup is deleted", Origin::Request, &|| {
        recovery(&twin, false);
    });
    recovery(&twin, false);
    for commit in twin.recorder().commits() {
        assert!(!format!("{commit:?}").contains("mutations: []"), "{commit:?}");
    }
}
