//! Global tables: what each region shows of a replica, and what a replica is given (docs/behavior: 08).

use std::sync::Arc;
use std::time::Duration;

use crate::common::commits::{self, Recorder};
use crate::common::{caller, copies, settings};
use dynatwin_engine::{Caller, Conditions, Engine, Lag, Moment, Settings};
use serde_json::{Value, json};

struct Twin {
    engine: Engine,
    recorder: Arc<Recorder>,
}

impl Twin {
    /// A twin with a table `tab` in us-east-1.
    fn new() -> Twin {
        let engine = Engine::new(settings(1));
        let recorder = Recorder::of(&engine);
        let twin = Twin { engine, recorder };
        twin.must("us-east-1", "CreateTable", &table());
        twin
    }

    fn send(&self, region: &str, operation: &str, request: &Value) -> (u16, Value) {
        let caller = Caller {
            access_key: "test".into(),
            region: region.into(),
        };
        let answer = self.engine.dispatch(&caller, operation, request.to_string().as_bytes());
        (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default())
    }

    fn must(&self, region: &str, operation: &str, request: &Value) -> Value {
        let (status, body) = self.send(region, operation, request);
        assert_eq!(status, 200, "{region}: {operation} {request}: {body}");
        body
    }

    fn put(&self, region: &str, pk: &str) {
        self.must(
            region,
            "PutItem",
            &json!({"TableName": "tab", "Item": {"pk": {"S": pk}}}),
        );
    }

    fn add_replica(&self, from: &str, region: &str) {
        self.update(from, &json!({"Create": {"RegionName": region}}));
    }

    fn update(&self, from: &str, update: &Value) {
        self.must(
            from,
            "UpdateTable",
            &json!({"TableName": "tab", "ReplicaUpdates": [update]}),
        );
    }

    fn describe(&self, region: &str) -> Value {
        self.must(region, "DescribeTable", &json!({"TableName": "tab"}))["Table"].take()
    }

    /// The regions and states that a region lists.
    fn replicas(&self, region: &str) -> Vec<(String, String)> {
        let table = self.describe(region);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let list = table["Replicas"].as_array().cloned().unwrap_or_default();
        list.iter()
            .map(|each| (text(&each["RegionName"]), text(&each["ReplicaStatus"])))
            .collect()
    }

    fn check(&self) {
        commits::check(&self.engine, &self.recorder, || settings(1)).unwrap();
    }
}

fn table() -> Value {
    json!({
        "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    })
}

/// A deleted replica leaves a system backup in its region if its recovery is on, whichever region deletes it.
#[test]
fn a_deleted_replica_with_recovery_leaves_a_backup() {
    for from in ["us-east-1", "eu-west-1"] {
        let twin = Twin::new();
        twin.add_replica("us-east-1", "eu-west-1");
        let recovery = json!({"PointInTimeRecoveryEnabled": true});
        let recovery = json!({"TableName": "tab", "PointInTimeRecoverySpecification": recovery});
        twin.must("eu-west-1", "UpdateContinuousBackups", &recovery);
        twin.put("us-east-1", "a");
        if from == "eu-west-1" {
            twin.must(from, "DeleteTable", &json!({"TableName": "tab"}));
        } else {
            twin.update(from, &json!({"Delete": {"RegionName": "eu-west-1"}}));
        }
        twin.engine.advance(Duration::from_hours(1));
        for (region, expect) in [("us-east-1", vec![]), ("eu-west-1", vec!["tab$DeletedTableBackup"])] {
            let listed = twin.must(region, "ListBackups", &json!({"BackupType": "ALL"}));
            let backups = listed["BackupSummaries"].as_array().unwrap();
            let names: Vec<&str> = backups.iter().filter_map(|each| each["BackupName"].as_str()).collect();
            assert_eq!(names, expect, "deleted from {from}, listed in {region}");
        }
        let listed = twin.must("eu-west-1", "ListBackups", &json!({"BackupType": "SYSTEM"}));
        let arn = &listed["BackupSummaries"][0]["BackupArn"];
        let restore = json!({"TargetTableName": "restored", "BackupArn": arn});
        twin.must("eu-west-1", "RestoreTableFromBackup", &restore);
        let count = &twin.must("eu-west-1", "Scan", &json!({"TableName": "restored"}))["Count"];
        assert_eq!(count, 1, "deleted from {from}");
    }
}

#[test]
fn a_replica_has_the_items_of_its_source_and_lists_the_others() {
    let twin = Twin::new();
    for number in 0..300 {
        twin.put("us-east-1", &number.to_string());
    }
    twin.add_replica("us-east-1", "eu-west-1");
    twin.check();
    let count = |region| twin.must(region, "Scan", &json!({"TableName": "tab", "Select": "COUNT"}))["Count"].clone();
    assert_eq!(count("eu-west-1"), 300);
    let [here, there] = ["us-east-1", "eu-west-1"].map(|region| twin.describe(region));
    assert_eq!(here["GlobalTableVersion"], "2019.11.21");
    assert_ne!(here["TableId"], there["TableId"]);
    assert_eq!(there["TableArn"], "arn:aws:dynamodb:eu-west-1:000000000000:table/tab");
    for table in [&here, &there] {
        assert_eq!(table["StreamSpecification"]["StreamViewType"], "NEW_AND_OLD_IMAGES");
    }
    let active = |region: &str| (region.to_owned(), "ACTIVE".to_owned());
    assert_eq!(twin.replicas("us-east-1"), [active("eu-west-1")]);
    twin.add_replica("eu-west-1", "ap-south-1");
    assert_eq!(twin.replicas("us-east-1"), [active("eu-west-1"), active("ap-south-1")]);
    assert_eq!(twin.replicas("ap-south-1"), [active("us-east-1"), active("eu-west-1")]);
    assert_eq!(count("ap-south-1"), 300);
    twin.check();
    twin.update("us-east-1", &json!({"Delete": {"RegionName": "ap-south-1"}}));
    assert_eq!(twin.replicas("us-east-1"), [active("eu-west-1")]);
    twin.check();
    twin.update("us-east-1", &json!({"Delete": {"RegionName": "eu-west-1"}}));
    assert_eq!(twin.describe("us-east-1")["GlobalTableVersion"], Value::Null);
    assert_eq!(
        twin.send("eu-west-1", "DescribeTable", &json!({"TableName": "tab"})).0,
        400
    );
    twin.check();
    twin.add_replica("us-east-1", "eu-west-1");
    assert_eq!(count("eu-west-1"), 300);
    twin.check();
}

/// An engine that stops at any commit is whole again when its commits are replayed: all replicas are there with their items,
/// and have the same settings.
#[test]
fn a_change_that_stops_at_any_commit_is_finished_by_a_replay() {
    let twin = Twin::new();
    for number in 0..100 {
        twin.put("us-east-1", &number.to_string());
    }
    for number in 0..30 {
        let vector = json!({"L": [{"N": number.to_string()}, {"N": "1"}]});
        let item = json!({"pk": {"S": format!("in-{number}")}, "g": {"S": (number % 4).to_string()}, "v": vector});
        twin.must("us-east-1", "PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    let before = twin.recorder.commits().len();
    twin.add_replica("us-east-1", "eu-west-1");
    let index = json!({
        "TableName": "tab",
        "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": {
            "IndexName": "by-g", "Projection": {"ProjectionType": "ALL"},
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        }}],
    });
    twin.must("us-east-1", "UpdateTable", &index);
    let vector_index = json!({
        "TableName": "tab",
        "VectorIndexUpdates": [{"Create": {"IndexName": "near", "VectorAttribute": {"AttributeName": "v"},
            "Dimensions": 2, "DistanceFunction": "EUCLIDEAN", "Projection": {"ProjectionType": "ALL"}}}],
    });
    twin.must("us-east-1", "UpdateTable", &vector_index);
    let commits = twin.recorder.commits();
    let mut searches = 0;
    for end in before + 1..=commits.len() {
        let engine = Engine::new(settings(1));
        let mut replay = engine.replay();
        commits[..end].iter().for_each(|commit| replay.apply(commit).unwrap());
        replay.finish(Moment::START);
        let recorder = Recorder::of(&Engine::new(settings(1)));
        let other = Twin { engine, recorder };
        let [here, there] = ["us-east-1", "eu-west-1"].map(|region| other.describe(region));
        assert_eq!(
            here["GlobalSecondaryIndexes"].is_null(),
            there["GlobalSecondaryIndexes"].is_null()
        );
        assert_eq!(there["TableStatus"], "ACTIVE", "after {end} commits");
        let count = other.must("eu-west-1", "Scan", &json!({"TableName": "tab", "Select": "COUNT"}));
        assert_eq!(count["Count"], 130, "after {end} commits");
        if !here["GlobalSecondaryIndexes"].is_null() {
            let scan = json!({"TableName": "tab", "IndexName": "by-g", "Select": "COUNT"});
            let entries = ["us-east-1", "eu-west-1"].map(|region| other.must(region, "Scan", &scan)["Count"].clone());
            assert_eq!(entries, [30, 30], "after {end} commits");
        }
        let [near, near_there] = [&here, &there].map(|table| !table["VectorIndexes"].is_null());
        assert_eq!(near, near_there, "after {end} commits");
        if near {
            searches += 1;
            let search = json!({"TableName": "tab", "IndexName": "near", "TopK": 100,
                "SearchVector": [{"N": "0"}, {"N": "0"}]});
            let found = ["us-east-1", "eu-west-1"].map(|region| {
                let found = other.must(region, "SearchVectors", &search);
                found["SearchResults"].as_array().unwrap().len()
            });
            assert_eq!(found, [30, 30], "after {end} commits");
        }
    }
    assert!(searches > 1, "each replica has a commit of its own");
}

/// All replicas that one request creates are completed when it stops, however many have been begun.
#[test]
fn a_request_for_two_replicas_that_stops_is_finished_by_a_replay() {
    let us = "us-east-1";
    let twin = Twin::new();
    let before = twin.recorder.commits().len();
    let create = ["us-east-2", "us-west-2"].map(|region| json!({"Create": {"RegionName": region}}));
    let request = json!({"TableName": "tab", "MultiRegionConsistency": "STRONG", "ReplicaUpdates": create});
    twin.must(us, "UpdateTable", &request);
    let commits = twin.recorder.commits();
    let mut counts = Vec::new();
    for end in before..=commits.len() {
        let engine = Engine::new(settings(1));
        let mut replay = engine.replay();
        commits[..end].iter().for_each(|commit| replay.apply(commit).unwrap());
        replay.finish(Moment::START);
        let recorder = Recorder::after(&commits[..end], &engine);
        let other = Twin { engine, recorder };
        let replicas = other.replicas(us);
        assert!(
            replicas.iter().all(|(_, status)| status == "ACTIVE"),
            "after {end} commits: {replicas:?}"
        );
        counts.push(replicas.len());
        for (region, _) in &replicas {
            assert_eq!(other.describe(region)["TableStatus"], "ACTIVE", "after {end} commits");
            other.put(region, region);
            let count = other.must(us, "Scan", &json!({"TableName": "tab", "ConsistentRead": true}));
            assert!(
                count["Items"].to_string().contains(region),
                "{region}, after {end} commits"
            );
        }
        other.check();
    }
    assert!(counts.is_sorted() && counts.first() == Some(&0), "{counts:?}");
    let of_all: Vec<_> = counts.iter().filter(|count| **count == 2).collect();
    assert!(
        of_all.len() > 2,
        "it can stop after both replicas have begun: {counts:?}"
    );
}

/// A replay that ends before all replicas have a change of shared settings makes the change, and nothing else: overrides and
/// own settings are kept, and each replica then has what it would have had.
#[test]
fn a_change_of_settings_that_stops_is_finished_as_it_was_begun() {
    let (us, eu, ap) = ("us-east-1", "eu-west-1", "ap-south-1");
    let index = json!({"Create": {"IndexName": "by-g", "Projection": {"ProjectionType": "ALL"},
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]}});
    let definitions =
        json!([{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}]);
    let limits = |read: i64, write: i64| json!({"MaxReadRequestUnits": read, "MaxWriteRequestUnits": write});
    let time_to_live = json!({"Enabled": true, "AttributeName": "ttl"});
    let changes = [
        (
            "UpdateTable",
            json!({"SSESpecification": {"Enabled": true, "SSEType": "KMS"}}),
        ),
        ("UpdateTable", json!({"OnDemandThroughput": limits(500, 700)})),
        ("UpdateTable", json!({"OnDemandThroughput": limits(90, 80)})),
        ("UpdateTable", json!({"TableClass": "STANDARD_INFREQUENT_ACCESS"})),
        (
            "UpdateTable",
            json!({"AttributeDefinitions": definitions, "GlobalSecondaryIndexUpdates": [index]}),
        ),
        (
            "UpdateTable",
            json!({"WarmThroughput": {"ReadUnitsPerSecond": 13_000, "WriteUnitsPerSecond": 5000}}),
        ),
        ("UpdateTimeToLive", json!({"TimeToLiveSpecification": time_to_live})),
    ];
    for (operation, change) in changes {
        let twin = Twin::new();
        twin.must(
            us,
            "UpdateTable",
            &json!({"TableName": "tab", "OnDemandThroughput": limits(90, 700)}),
        );
        twin.add_replica(us, eu);
        twin.add_replica(us, ap);
        let overridden = json!({"RegionName": eu, "OnDemandThroughputOverride": {"MaxReadRequestUnits": 40}});
        twin.update(us, &json!({"Update": overridden}));
        let override_class = json!({"RegionName": ap, "TableClassOverride": "STANDARD_INFREQUENT_ACCESS"});
        twin.update(us, &json!({"Update": override_class}));
        twin.put(us, "a");
        let shown = |twin: &Twin| -> Value {
            let of = |region: &&str| {
                let tab = json!({"TableName": "tab"});
                let mut table = twin.describe(region);
                // Replicas are UPDATING for a time that depends on the request.
                table["Replicas"] = Value::Null;
                json!([table, twin.must(region, "DescribeTimeToLive", &tab)])
            };
            [us, eu, ap].iter().map(of).collect()
        };
        twin.engine.run_due();
        let before = (twin.recorder.commits().len(), shown(&twin));
        let mut request = change.clone();
        request["TableName"] = json!("tab");
        twin.must(us, operation, &request);
        let commits = twin.recorder.commits();
        let after = shown(&twin);
        assert!(commits.len() > before.0 + 3, "{change}: each replica has a commit");
        for end in before.0..=commits.len() {
            let engine = Engine::new(settings(1));
            let mut replay = engine.replay();
            commits[..end].iter().for_each(|commit| replay.apply(commit).unwrap());
            replay.finish(twin.engine.clock().now());
            let recorder = Recorder::of(&Engine::new(settings(1)));
            let other = Twin { engine, recorder };
            let expect = if end == before.0 { &before.1 } else { &after };
            let differs = copies::difference(expect, &shown(&other));
            assert_eq!(differs, None, "{change}, stopped after {} commits", end - before.0);
        }
    }
}

/// Replicas of accounts are their own, and callers who share all tables have no other region.
#[test]
fn a_shared_database_has_no_room_for_replicas() {
    let engine = Engine::new(Settings {
        shared_db: true,
        ..settings(1)
    });
    let recorder = Recorder::of(&engine);
    let twin = Twin { engine, recorder };
    twin.must("us-east-1", "CreateTable", &table());
    let create = json!({"TableName": "tab", "ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]});
    let (status, body) = twin.send("us-east-1", "UpdateTable", &create);
    assert_eq!(status, 400);
    let text = body["message"].as_str().unwrap();
    assert!(text.ends_with("already existed as tables."), "{text}");
}

/// A snapshot has the replicas and what belongs to them, and a restore brings them back.
#[test]
fn a_snapshot_keeps_the_replicas() {
    let twin = Twin::new();
    twin.put("us-east-1", "a");
    twin.add_replica("us-east-1", "eu-west-1");
    let provisioned = json!({
        "TableName": "tab", "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    });
    twin.must("eu-west-1", "UpdateTable", &provisioned);
    assert_eq!(twin.describe("us-east-1")["BillingModeSummary"], Value::Null);
    let snapshot = twin.engine.snapshot();
    let before = ["us-east-1", "eu-west-1"].map(|region| twin.describe(region));
    twin.update("us-east-1", &json!({"Delete": {"RegionName": "eu-west-1"}}));
    twin.engine.restore(&snapshot).unwrap();
    assert_eq!(before, ["us-east-1", "eu-west-1"].map(|region| twin.describe(region)));
    twin.update("us-east-1", &json!({"Delete": {"RegionName": "eu-west-1"}}));
    assert_eq!(twin.replicas("us-east-1"), []);
}

/// A replica that is disassociated keeps its table, which is written alone from then on, and can begin a global table of its own.
#[test]
fn a_disassociated_replica_is_a_table_of_its_own() {
    let (us, eu, ap, sa) = ("us-east-1", "eu-west-1", "ap-south-1", "sa-east-1");
    let twin = Twin::new();
    twin.put(us, "a");
    twin.add_replica(us, eu);
    twin.add_replica(us, ap);
    let keys = |region: &str| -> Vec<String> {
        let found = twin.must(region, "Scan", &json!({"TableName": "tab"}));
        let items = found["Items"].as_array().unwrap().iter();
        let mut keys: Vec<String> = items.map(|item| item["pk"]["S"].as_str().unwrap().to_owned()).collect();
        keys.sort_unstable();
        keys
    };
    let regions =
        |region: &str| -> Vec<String> { twin.replicas(region).into_iter().map(|(region, _)| region).collect() };
    let leave = |region: &str| {
        let unprotected = json!({"TableName": "tab", "DisassociationProtectionEnabled": false});
        twin.must(region, "UpdateTable", &unprotected);
        assert_eq!(twin.describe(region)["DisassociationProtectionEnabled"], false);
        let update = json!({"Disassociate": {"RegionName": region, "DisassociationMode": "WAIT_FOR_REPLICATION"}});
        twin.update(region, &update);
        twin.check();
    };
    // What waits is replicated first, in both directions.
    let lag = Some(dynatwin_engine::Lag::Fixed(std::time::Duration::from_mins(1)));
    let caller = |region: &str| Caller {
        access_key: "test".into(),
        region: region.into(),
    };
    twin.engine
        .account(&caller(us))
        .set_replication_lag("tab", eu, lag)
        .unwrap();
    twin.put(us, "waits");
    leave(us);
    twin.put(us, "later");
    assert_eq!(
        (regions(us), twin.describe(us)["TableStatus"].clone()),
        (vec![eu.into(), ap.into()], json!("UPDATING"))
    );
    twin.engine.advance(std::time::Duration::from_mins(1));
    assert_eq!(
        (regions(us), regions(eu), regions(ap)),
        (vec![], vec![ap.into()], vec![eu.into()])
    );
    let described = twin.describe(us);
    assert_eq!(
        (&described["TableStatus"], &described["GlobalTableVersion"]),
        (&json!("ACTIVE"), &Value::Null)
    );
    assert_eq!(described["StreamSpecification"]["StreamEnabled"], true);
    assert_eq!(
        (keys(us).len(), keys(eu), keys(ap)),
        (3, vec!["a".into(), "waits".into()], keys(eu))
    );
    // Its writes and those of the others are apart.
    twin.put(eu, "b");
    assert_eq!((keys(us).len(), keys(eu).len(), keys(ap).len()), (3, 3, 3));
    twin.check();
    let snapshot = twin.engine.snapshot();
    twin.engine.restore(&snapshot).unwrap();
    assert_eq!((regions(us), regions(eu)), (vec![], vec![ap.into()]));
    twin.add_replica(us, sa);
    twin.put(us, "c");
    twin.put(ap, "d");
    // The groups stay apart, also when they are restored.
    twin.check();
    let snapshot = twin.engine.snapshot();
    twin.engine.restore(&snapshot).unwrap();
    assert_eq!(
        (regions(us), regions(sa), regions(ap)),
        (vec![sa.into()], vec![us.into()], vec![eu.into()])
    );
    assert_eq!(
        (keys(sa).len(), keys(us).len(), keys(eu).len(), keys(ap).len()),
        (4, 4, 4, 4)
    );
    // Of two replicas both become tables of their own.
    leave(ap);
    assert_eq!(
        (regions(ap), regions(eu), regions(sa)),
        (vec![], vec![], vec![us.into()])
    );
    twin.put(ap, "e");
    assert_eq!((keys(ap).len(), keys(eu).len()), (5, 4));
    twin.add_replica(eu, "us-west-2");
    assert_eq!(regions(eu), ["us-west-2"]);
}

/// While replication is paused and writes wait, a replica stays in its global table.
#[test]
fn a_replica_is_not_disassociated_before_its_writes_have_arrived() {
    let twin = Twin::new();
    twin.add_replica("us-east-1", "eu-west-1");
    let caller = caller();
    twin.engine.account(&caller).pause_replication("tab", None).unwrap();
    twin.put("us-east-1", "a");
    twin.must(
        "us-east-1",
        "UpdateTable",
        &json!({"TableName": "tab", "DisassociationProtectionEnabled": false}),
    );
    let leave = json!({"Disassociate": {"RegionName": "us-east-1", "DisassociationMode": "WAIT_FOR_REPLICATION"}});
    let conditions = |table_status| dynatwin_engine::Conditions {
        table_status,
        ..dynatwin_engine::Conditions::CALM
    };
    let minute = std::time::Duration::from_mins(1);
    let busy = conditions(dynatwin_engine::Lag::Fixed(minute));
    twin.engine.set_conditions(busy).unwrap();
    twin.update("us-east-1", &leave);
    assert_eq!(twin.describe("us-east-1")["TableStatus"], "UPDATING");
    twin.engine
        .set_conditions(conditions(dynatwin_engine::Lag::None))
        .unwrap();
    twin.engine.advance(60 * minute);
    assert_eq!(twin.describe("us-east-1")["TableStatus"], "ACTIVE");
    assert_eq!(twin.replicas("us-east-1").len(), 1);
    twin.engine.account(&caller).resume_replication("tab", None).unwrap();
    twin.update("us-east-1", &leave);
    assert_eq!(
        (twin.replicas("us-east-1"), twin.replicas("eu-west-1")),
        (vec![], vec![])
    );
    twin.check();
}

/// While replication is paused and nothing waits, a replica leaves its global table at once.
#[test]
fn a_paused_replica_without_waiting_writes_is_disassociated() {
    for written in [false, true] {
        let twin = Twin::new();
        twin.add_replica("us-east-1", "eu-west-1");
        if written {
            twin.put("us-east-1", "a");
            twin.engine.advance(Duration::from_mins(1));
        }
        twin.engine.account(&caller()).pause_replication("tab", None).unwrap();
        let unprotected = json!({"TableName": "tab", "DisassociationProtectionEnabled": false});
        twin.must("us-east-1", "UpdateTable", &unprotected);
        let leave = json!({"Disassociate": {"RegionName": "us-east-1", "DisassociationMode": "WAIT_FOR_REPLICATION"}});
        twin.update("us-east-1", &leave);
        assert_eq!(twin.replicas("us-east-1").len(), 0, "{written}");
        twin.check();
    }
}

/// A replica stays until its writes have arrived in each of the others, and those of each of the others in it.
#[test]
fn a_replica_that_leaves_waits_for_the_writes_of_the_others() {
    let (us, eu, ap) = ("us-east-1", "eu-west-1", "ap-south-1");
    let minute = std::time::Duration::from_mins(1);
    for (writer, reader) in [(eu, us), (ap, us), (us, eu), (us, ap)] {
        let twin = Twin::new();
        twin.add_replica(us, eu);
        twin.add_replica(us, ap);
        let there = Caller {
            region: writer.into(),
            ..caller()
        };
        let lag = Some(dynatwin_engine::Lag::Fixed(minute));
        let account = twin.engine.account(&there);
        account.set_replication_lag("tab", reader, lag).unwrap();
        twin.put(writer, "a");
        let unprotected = json!({"TableName": "tab", "DisassociationProtectionEnabled": false});
        twin.must(us, "UpdateTable", &unprotected);
        let leave = json!({"Disassociate": {"RegionName": us, "DisassociationMode": "WAIT_FOR_REPLICATION"}});
        twin.update(us, &leave);
        let seen = || {
            (
                twin.replicas(us).len(),
                twin.must(reader, "Scan", &json!({"TableName": "tab"}))["Count"].clone(),
            )
        };
        assert_eq!(seen(), (2, json!(0)), "{writer} to {reader}");
        twin.engine.advance(minute);
        assert_eq!(seen(), (0, json!(1)), "{writer} to {reader}");
        twin.check();
    }
}

/// A replica stays until the last of all writes has arrived, whichever partition and region it is in.
#[test]
fn a_replica_that_leaves_waits_for_the_last_write_of_all_partitions() {
    let (us, eu, ap) = ("us-east-1", "eu-west-1", "ap-south-1");
    let keys: Vec<String> = (0..8).map(|number| number.to_string()).collect();
    let backwards: Vec<String> = keys.iter().rev().cloned().collect();
    for writer in [us, eu, ap] {
        for keys in [&keys, &backwards] {
            let twin = Twin::new();
            [eu, ap].iter().for_each(|region| twin.add_replica(us, region));
            let unprotected = json!({"TableName": "tab", "DisassociationProtectionEnabled": false});
            twin.must(us, "UpdateTable", &unprotected);
            twin.engine
                .set_conditions(Conditions {
                    replication_lag: Lag::Fixed(Duration::from_mins(1)),
                    ..Conditions::CALM
                })
                .unwrap();
            for key in keys {
                twin.engine.advance(Duration::from_secs(1));
                twin.put(writer, key);
            }
            let leave = json!({"Disassociate": {"RegionName": us, "DisassociationMode": "WAIT_FOR_REPLICATION"}});
            twin.update(us, &leave);
            let seen = || {
                let count = |region| twin.must(region, "Scan", &json!({"TableName": "tab"}))["Count"].clone();
                (twin.replicas(us).len(), count(us), count(eu))
            };
            let counts = |arrived: usize| [us, eu].map(|region| if region == writer { 8 } else { arrived });
            for (seconds, replicas, arrived) in [(53, 2, 1), (6, 2, 7), (1, 0, 8)] {
                twin.engine.advance(Duration::from_secs(seconds));
                let [here, there] = counts(arrived);
                assert_eq!(
                    seen(),
                    (replicas, json!(here), json!(there)),
                    "{writer}, {keys:?}, {seconds}"
                );
            }
            twin.check();
        }
    }
}

/// A new replica is tagged once it is active, unlike a new table, whose tags can be changed a second before.
#[test]
fn a_replica_has_tags_once_it_is_active() {
    let twin = Twin::new();
    twin.engine
        .set_conditions(Conditions {
            table_status: Lag::Fixed(Duration::from_secs(4)),
            ..Conditions::CALM
        })
        .unwrap();
    let create = json!({"TableName": "tab", "ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]});
    twin.must("us-east-1", "UpdateTable", &create);
    let arn = "arn:aws:dynamodb:eu-west-1:000000000000:table/tab";
    let tag = json!({"ResourceArn": arn, "Tags": [{"Key": "a", "Value": "b"}]});
    for (millis, status, expect) in [(19_500, "CREATING", 400), (499, "CREATING", 400), (1, "ACTIVE", 200)] {
        twin.engine.advance(Duration::from_millis(millis));
        let table = twin.must("eu-west-1", "DescribeTable", &json!({"TableName": "tab"}));
        assert_eq!(table["Table"]["TableStatus"], status);
        let tags = twin.send("eu-west-1", "ListTagsOfResource", &json!({"ResourceArn": arn}));
        assert_eq!(tags.0, expect, "{}", tags.1);
        let tagged = twin.send("eu-west-1", "TagResource", &tag);
        assert_eq!(tagged.0, expect, "{}", tagged.1);
    }
}

/// A replica can take the name of a table whose deletion has ended, even before due work removes that table.
#[test]
fn a_replica_takes_the_name_of_a_table_that_is_gone() {
    for (seconds, expect) in [(0, 400), (599, 400), (600, 200)] {
        let twin = Twin::new();
        twin.must("eu-west-1", "CreateTable", &table());
        twin.engine
            .set_conditions(Conditions {
                table_status: Lag::Fixed(Duration::from_mins(10)),
                ..Conditions::CALM
            })
            .unwrap();
        twin.must("eu-west-1", "DeleteTable", &json!({"TableName": "tab"}));
        // Runs no due work.
        twin.engine.clock().advance(Duration::from_secs(seconds));
        let create = json!({"TableName": "tab", "ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]});
        let (status, answer) = twin.send("us-east-1", "UpdateTable", &create);
        assert_eq!(status, expect, "{seconds} s: {answer}");
    }
}

/// A replica that is deleted can be added again, and has the items of its source then.
#[test]
fn a_deleted_replica_is_added_again_with_all_items() {
    let (us, eu, ap) = ("us-east-1", "eu-west-1", "ap-south-1");
    let hour = Duration::from_hours(1);
    for (others, runs_due_work) in [
        (vec![eu], true),
        (vec![eu], false),
        (vec![eu, ap], true),
        (vec![eu, ap], false),
        (vec![ap, eu], true),
        (vec![ap, eu], false),
    ] {
        let what = format!("{others:?}, due work {runs_due_work}");
        let twin = Twin::new();
        twin.put(us, "a");
        others.iter().for_each(|region| twin.add_replica(us, region));
        twin.engine
            .set_conditions(Conditions {
                table_status: Lag::Fixed(Duration::from_secs(1)),
                ..Conditions::CALM
            })
            .unwrap();
        twin.engine.advance(25 * hour);
        twin.update(us, &json!({"Delete": {"RegionName": eu}}));
        if runs_due_work {
            twin.engine.advance(hour);
        } else {
            twin.engine.clock().advance(hour);
        }
        twin.put(us, "b");
        twin.add_replica(us, eu);
        twin.put(us, "c");
        twin.engine.advance(hour);
        assert_eq!(twin.describe(eu)["TableStatus"], "ACTIVE", "{what}");
        let listed = twin.replicas(us);
        assert!(
            listed.contains(&(eu.to_owned(), "ACTIVE".to_owned())),
            "{what}: {listed:?}"
        );
        assert_eq!(listed.len(), others.len(), "{what}: {listed:?}");
        let scan = json!({"TableName": "tab"});
        assert_eq!(twin.must(eu, "Scan", &scan)["Count"], 3, "{what}");
        // It can be changed and deleted like any other replica.
        twin.update(
            us,
            &json!({"Update": {"RegionName": eu, "TableClassOverride": "STANDARD_INFREQUENT_ACCESS"}}),
        );
        let class = twin.describe(eu)["TableClassSummary"]["TableClass"].clone();
        assert_eq!(class, "STANDARD_INFREQUENT_ACCESS", "{what}");
        twin.engine.advance(hour);
        twin.update(us, &json!({"Delete": {"RegionName": eu}}));
        twin.engine.advance(hour);
        assert_eq!(twin.replicas(us).len(), others.len() - 1, "{what}");
        twin.check();
    }
}

/// Settings of auto scaling are described as they were given; those that were not given have defaults or are left out.
#[test]
fn auto_scaling_is_described_with_all_its_settings() {
    let twin = Twin::new();
    twin.add_replica("us-east-1", "eu-west-1");
    let provisioned = json!({
        "TableName": "tab", "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    });
    twin.must("us-east-1", "UpdateTable", &provisioned);
    let service = "arn:aws:iam::000000000000:role/aws-service-role/dynamodb.application-autoscaling.amazonaws.com/AWSServiceRoleForApplicationAutoScaling_DynamoDBTable";
    let role = "arn:aws:iam::000000000000:role/scaler";
    let write = "DynamoDBWriteCapacityUtilization:table/tab";
    for (given_role, given_name, tracking, expect_role, expect_name) in [
        (None, None, json!({"TargetValue": 70.5}), service, write),
        (
            Some(role),
            None,
            json!({"TargetValue": 70.0, "DisableScaleIn": true}),
            role,
            write,
        ),
        (
            None,
            Some("mine"),
            json!({"TargetValue": 70.0, "DisableScaleIn": false}),
            service,
            "mine",
        ),
        (
            Some(role),
            Some("mine"),
            json!({"TargetValue": 70.0, "ScaleInCooldown": 0}),
            role,
            "mine",
        ),
        (
            None,
            None,
            json!({"TargetValue": 70.0, "ScaleOutCooldown": 20}),
            service,
            write,
        ),
        (
            None,
            None,
            json!({"TargetValue": 70.0, "ScaleInCooldown": 10, "ScaleOutCooldown": 20, "DisableScaleIn": true}),
            service,
            write,
        ),
    ] {
        let mut policy = json!({"TargetTrackingScalingPolicyConfiguration": tracking});
        if let Some(name) = given_name {
            policy["PolicyName"] = json!(name);
        }
        let mut settings = json!({"MinimumUnits": 5, "MaximumUnits": 50, "ScalingPolicyUpdate": policy});
        if let Some(role) = given_role {
            settings["AutoScalingRoleArn"] = json!(role);
        }
        let update = json!({"TableName": "tab", "ProvisionedWriteCapacityAutoScalingUpdate": settings});
        twin.must("us-east-1", "UpdateTableReplicaAutoScaling", &update);
        let expect = json!({"MinimumUnits": 5, "MaximumUnits": 50, "AutoScalingDisabled": false,
            "AutoScalingRoleArn": expect_role, "ScalingPolicies": [{"PolicyName": expect_name,
                "TargetTrackingScalingPolicyConfiguration": tracking}]});
        for region in ["us-east-1", "eu-west-1"] {
            let described = twin.must(region, "DescribeTableReplicaAutoScaling", &json!({"TableName": "tab"}));
            let replicas = &described["TableAutoScalingDescription"]["Replicas"];
            for at in [0, 1] {
                let found = &replicas[at]["ReplicaProvisionedWriteCapacityAutoScalingSettings"];
                assert_eq!(found, &expect, "{region} {at}");
            }
        }
    }
}

/// The limit of an index in another region is an override only where it differs.
#[test]
fn only_other_limits_of_an_index_are_overrides() {
    let engine = Engine::new(settings(1));
    let recorder = Recorder::of(&engine);
    let twin = Twin { engine, recorder };
    let index = |name: &str, most: i64| {
        json!({"IndexName": name, "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"}, "OnDemandThroughput": {"MaxReadRequestUnits": most}})
    };
    let mut create = table();
    create["GlobalSecondaryIndexes"] = json!([index("one", 5), index("two", 6)]);
    twin.must("us-east-1", "CreateTable", &create);
    twin.add_replica("us-east-1", "eu-west-1");
    let listed = |region: &str| {
        twin.describe(region)["Replicas"][0]
            .get("GlobalSecondaryIndexes")
            .cloned()
    };
    assert_eq!(["us-east-1", "eu-west-1"].map(listed), [None, None]);
    let limit = |most: i64| {
        json!({"Update": {"RegionName": "eu-west-1", "GlobalSecondaryIndexes": [
            {"IndexName": "two", "OnDemandThroughputOverride": {"MaxReadRequestUnits": most}}]}})
    };
    let shown =
        |most: i64| Some(json!([{"IndexName": "two", "OnDemandThroughputOverride": {"MaxReadRequestUnits": most}}]));
    twin.update("us-east-1", &limit(7));
    assert_eq!(["us-east-1", "eu-west-1"].map(listed), [shown(7), shown(6)]);
    twin.update("us-east-1", &limit(6));
    assert_eq!(["us-east-1", "eu-west-1"].map(listed), [None, None]);
    twin.check();
}
