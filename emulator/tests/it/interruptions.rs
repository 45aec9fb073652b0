//! Long operations whose process ends: a replay of the commits up to then ends them, and later commits follow from that.

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::commits::{self, Recorder};
use crate::common::global::{AP, EU, US, caller};
use crate::common::settings;
use crate::transfers::MemoryStore;
use dynatwin_engine::commits::{AppendError, Commit, CommitSink, EncodedCommit};
use dynatwin_engine::transfers::ObjectStore;
use dynatwin_engine::{Conditions, Engine, Lag, TimeToLive};
use serde_json::{Value, json};

/// More than the items of a slice.
const ITEMS: usize = 70;

type Request = (&'static str, &'static str, Value);

fn send(engine: &Engine, (region, operation, body): &Request) -> (u16, Value) {
    let answer = engine.dispatch(&caller(region), operation, body.to_string().as_bytes());
    (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default())
}

fn must(engine: &Engine, request: &Request) -> Value {
    let (status, body) = send(engine, request);
    assert_eq!(status, 200, "{request:?}: {body}");
    body
}

fn table(name: &str) -> Value {
    json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]})
}

fn add_replica(region: &str) -> Request {
    let update = json!({"Create": {"RegionName": region}});
    (
        US,
        "UpdateTable",
        json!({"TableName": "tab", "ReplicaUpdates": [update]}),
    )
}

fn add_index() -> Request {
    let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let key = json!([{"AttributeName": "g", "KeyType": "HASH"}]);
    let index = json!({"IndexName": "by-g", "Projection": {"ProjectionType": "ALL"}, "KeySchema": key});
    let body = json!({"TableName": "tab", "AttributeDefinitions": attributes,
        "GlobalSecondaryIndexUpdates": [{"Create": index}]});
    (US, "UpdateTable", body)
}

fn enable_time_to_live() -> Request {
    let body = json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}});
    (US, "UpdateTimeToLive", body)
}

fn import() -> Request {
    let body = json!({"S3BucketSource": {"S3Bucket": "shelf"}, "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": table("copy")});
    (US, "ImportTable", body)
}

fn bulk_put() -> Request {
    let body = json!({"TableName": "tab", "InputS3Configuration": {"S3Bucket": "shelf", "InputFormat": "DYNAMODB_JSON"},
        "OutputS3Configuration": {"OutputType": ["ERROR"]}});
    (US, "StartBulkPutItems", body)
}

fn export() -> Request {
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/tab";
    let body = json!({"TableArn": arn, "S3Bucket": "shelf"});
    (US, "ExportTableToPointInTime", body)
}

fn conditions() -> [Conditions; 2] {
    let takes = |seconds| Lag::Fixed(Duration::from_secs(seconds));
    let slow = Conditions {
        table_status: takes(10),
        replication_lag: takes(2),
        index_propagation: takes(3),
        time_to_live: TimeToLive::Deletes(takes(100)),
        ..Conditions::CALM
    };
    [Conditions::CALM, slow]
}

/// An engine with a table `tab`, a backup of it, and a bucket with its items; and its commits.
fn engine(conditions: &Conditions) -> (Engine, Arc<Recorder>) {
    let shelf: Arc<dyn ObjectStore> = Arc::new(MemoryStore::default());
    let engine = Engine::new(settings(1)).with_object_store(shelf);
    let recorder = Recorder::of(&engine);
    must(&engine, &(US, "CreateTable", table("tab")));
    let recovery = json!({"PointInTimeRecoveryEnabled": true});
    let recovery = json!({"TableName": "tab", "PointInTimeRecoverySpecification": recovery});
    must(&engine, &(US, "UpdateContinuousBackups", recovery));
    let expires = (engine.clock().now().seconds() + 4000).to_string();
    for at in 0..ITEMS {
        let mut item = json!({"pk": {"S": at.to_string()}, "g": {"S": (at % 4).to_string()}});
        if at % 7 == 0 {
            item["ttl"] = json!({"N": expires});
        }
        must(&engine, &(US, "PutItem", json!({"TableName": "tab", "Item": item})));
    }
    must(&engine, &export());
    engine.set_conditions(*conditions).unwrap();
    engine.advance(Duration::from_mins(15));
    (engine, recorder)
}

/// The requests before a long operation, and the operation. An empty ARN stands for that of the backup.
fn operations() -> Vec<(&'static str, Vec<Request>, Request)> {
    let restore = json!({"BackupArn": "", "TargetTableName": "copy"});
    let restore_point = json!({"SourceTableName": "tab", "TargetTableName": "copy", "UseLatestRestorableTime": true});
    let backup = (US, "CreateBackup", json!({"TableName": "tab", "BackupName": "one"}));
    vec![
        ("replica", vec![], add_replica(EU)),
        ("second replica", vec![add_replica(EU)], add_replica(AP)),
        ("index", vec![], add_index()),
        ("index of replicas", vec![add_replica(EU)], add_index()),
        ("time to live", vec![], enable_time_to_live()),
        ("time to live of replicas", vec![add_replica(EU)], enable_time_to_live()),
        ("import", vec![], import()),
        ("bulk operation", vec![], bulk_put()),
        ("export", vec![], export()),
        ("restore", vec![backup], (US, "RestoreTableFromBackup", restore)),
        (
            "restore to a point in time",
            vec![],
            (US, "RestoreTableToPointInTime", restore_point),
        ),
    ]
}

/// Executes a long operation, and returns its engine, all commits, and the number of commits before it.
fn executed(conditions: &Conditions, before: &[Request], operation: &Request) -> (Engine, Vec<Commit>, usize) {
    let (engine, commits, start, _) = answered(conditions, before, operation);
    (engine, commits, start)
}

/// Executes a long operation as [`executed`] does, and returns its answer as well.
fn answered(conditions: &Conditions, before: &[Request], operation: &Request) -> (Engine, Vec<Commit>, usize, Value) {
    let (engine, recorder) = engine(conditions);
    let mut operation = operation.clone();
    for request in before {
        let answer = must(&engine, request);
        if let Some(arn) = answer["BackupDetails"]["BackupArn"].as_str() {
            operation.2["BackupArn"] = json!(arn);
        }
        engine.advance(Duration::from_mins(5));
    }
    if *conditions != Conditions::CALM {
        engine.advance(Duration::from_hours(1));
    }
    let start = recorder.commits().len();
    let answer = must(&engine, &operation);
    let commits = recorder.commits();
    (engine, commits, start, answer)
}

/// Compares the state with the fold of its commits, at the moment of the engine.
fn check(what: &str, engine: &Engine, recorder: &Recorder) {
    let copy = commits::replayed(settings(1), &recorder.commits(), engine);
    commits::same(what, &commits::dump(engine), &commits::dump(&copy)).unwrap();
}

/// Whatever follows on an operation that has been interrupted at any of its commits, another replay has the same state.
#[test]
fn the_end_of_an_interrupted_operation_is_part_of_the_log() {
    let put = |region| {
        (
            region,
            "PutItem",
            json!({"TableName": "tab", "Item": {"pk": {"S": "new"}}}),
        )
    };
    let delete = (US, "DeleteItem", json!({"TableName": "tab", "Key": {"pk": {"S": "3"}}}));
    let changes: [&[Request]; 8] = [
        &[],
        &[enable_time_to_live()],
        &[add_index()],
        &[add_replica(AP)],
        &[put(US), put(EU), delete],
        &[(US, "CreateTable", table("copy"))],
        &[(US, "DeleteTable", json!({"TableName": "tab"}))],
        &[import(), bulk_put()],
    ];
    for conditions in conditions() {
        for (name, before, operation) in operations() {
            let (original, commits, start) = executed(&conditions, &before, &operation);
            assert!(commits.len() > start, "{name} has commits");
            for end in start..=commits.len() {
                for (number, change) in changes.iter().enumerate() {
                    // The commits in the middle are alike: each is followed by one of the changes.
                    let is_middle = end > start + 5 && end + 3 < commits.len();
                    if is_middle && (end + number) % changes.len() != 0 {
                        continue;
                    }
                    let what = format!("{name} after {} commits, change {number}", end - start);
                    let engine = commits::replayed(settings(1), &commits[..end], &original);
                    let recorder = Recorder::after(&commits[..end], &engine);
                    for request in *change {
                        send(&engine, request);
                    }
                    engine.advance(Duration::from_mins(7));
                    check(&what, &engine, &recorder);
                    engine.advance(Duration::from_hours(2));
                    check(&what, &engine, &recorder);
                }
            }
        }
    }
}

/// A restored snapshot of a state in which an operation was in progress.
#[test]
fn the_end_of_an_interrupted_operation_is_part_of_a_restored_snapshot() {
    for conditions in conditions() {
        for (name, before, operation) in operations() {
            let (original, commits, start) = executed(&conditions, &before, &operation);
            for end in [start + 1, start + 2, usize::midpoint(start, commits.len())] {
                let Some(begun) = commits.get(..end) else { continue };
                let cut = Engine::new(settings(1));
                let mut replay = cut.replay();
                begun.iter().for_each(|commit| replay.apply(commit).unwrap());
                let engine = Engine::new(settings(1));
                let recorder = Recorder::of(&engine);
                engine.clock().set(original.clock().now());
                cut.clock().set(original.clock().now());
                engine.restore(&cut.snapshot()).unwrap();
                send(&engine, &enable_time_to_live());
                engine.advance(Duration::from_hours(2));
                check(&format!("{name} after {} commits", end - start), &engine, &recorder);
            }
        }
    }
}

/// A sink that refuses some commits.
struct Full {
    appended: Mutex<usize>,
    refused: Range<usize>,
    recorder: Recorder,
}

impl CommitSink for Full {
    fn append(&self, commit: &EncodedCommit) -> Result<(), AppendError> {
        let mut appended = self.appended.lock().unwrap();
        *appended += 1;
        if self.refused.contains(&(*appended - 1)) {
            return Err(AppendError::new("disk full"));
        }
        self.recorder.append(commit)
    }
}

/// While the sink refuses the end of the interrupted operations, it gets no later commit.
#[test]
fn the_end_of_interrupted_operations_is_appended_first() {
    let (original, commits, start) = executed(&Conditions::CALM, &[], &add_replica(EU));
    let end = start + 9;
    let engine = commits::replayed(settings(1), &commits[..end], &original);
    let full = Arc::new(Full {
        appended: Mutex::default(),
        refused: 0..2,
        recorder: Recorder::with(&commits[..end]),
    });
    engine.attach_sink(full.clone(), end as u64);
    let statuses = [(); 2].map(|()| send(&engine, &enable_time_to_live()).0);
    assert_eq!(statuses, [500, 200]);
    check("full", &engine, &full.recorder);
}

/// Exports, imports and bulk operations: the request, the one that describes it, and the members that have its description and
/// ARN.
fn transfers() -> [(Request, &'static str, &'static str, &'static str); 3] {
    [
        (import(), "DescribeImport", "ImportTableDescription", "ImportArn"),
        (
            bulk_put(),
            "DescribeBulkOperation",
            "BulkOperationDescription",
            "BulkOperationArn",
        ),
        (export(), "DescribeExport", "ExportDescription", "ExportArn"),
    ]
}

/// A transfer without its last commit has failed, and leaves no table; a bulk operation leaves the items that it has written.
#[test]
fn an_interrupted_transfer_fails() {
    for (request, describe, description, arn) in transfers() {
        let (original, commits, start, answer) = answered(&Conditions::CALM, &[], &request);
        let describe = (US, describe, json!({arn: answer[description][arn]}));
        for end in start + 1..=commits.len() {
            let what = format!("{} after {} commits", request.1, end - start);
            let engine = commits::replayed(settings(1), &commits[..end], &original);
            let shown = must(&engine, &describe)[description].take();
            let is_complete = end == commits.len();
            let (status, code) = if is_complete {
                ("COMPLETED", Value::Null)
            } else {
                ("FAILED", json!("InternalServerError"))
            };
            assert_eq!(shown[arn.replace("Arn", "Status")], status, "{what}");
            assert_eq!(shown["FailureCode"], code, "{what}");
            let scan = (US, "Scan", json!({"TableName": "copy", "Select": "COUNT"}));
            if request.1 == "ImportTable" && is_complete {
                assert_eq!(must(&engine, &scan)["Count"], ITEMS);
            } else {
                assert_eq!(send(&engine, &scan).0, 400, "{what}");
            }
            must(&engine, &add_replica(EU));
        }
    }
}

/// All transfers that are in progress when the process ends have failed, not one of them alone.
#[test]
fn transfers_that_are_interrupted_together_fail() {
    let (original, recorder) = engine(&Conditions::CALM);
    let (mut commits, mut described) = (recorder.commits(), Vec::new());
    for (request, describe, description, arn) in transfers() {
        let start = recorder.commits().len();
        let answer = must(&original, &request);
        let mut of_transfer = recorder.commits().split_off(start);
        of_transfer.pop();
        commits.extend(of_transfer);
        let describe = (US, describe, json!({arn: answer[description][arn]}));
        described.push((describe, description, arn));
    }
    let engine = commits::replayed(settings(1), &commits, &original);
    for (describe, description, arn) in described {
        let shown = must(&engine, &describe)[description].take();
        assert_eq!(shown[arn.replace("Arn", "Status")], "FAILED", "{}", describe.1);
        assert_eq!(shown["FailureCode"], "InternalServerError", "{}", describe.1);
    }
}

/// A transfer whose request fails, because its commits are refused, has failed too; also according to the commits before.
#[test]
fn a_transfer_whose_commits_are_refused_fails() {
    for (request, describe, description, arn) in transfers() {
        let (_, _, _, answer) = answered(&Conditions::CALM, &[], &request);
        let describe = (US, describe, json!({arn: answer[description][arn]}));
        let (engine, recorder) = engine(&Conditions::CALM);
        let commits = recorder.commits();
        let full = Arc::new(Full {
            appended: Mutex::default(),
            refused: 1..usize::MAX,
            recorder: Recorder::with(&commits),
        });
        engine.attach_sink(full.clone(), commits.len() as u64);
        assert_eq!(send(&engine, &request).0, 500, "{request:?}");
        let copy = commits::replayed(settings(1), &full.recorder.commits(), &engine);
        for engine in [&engine, &copy] {
            let shown = must(engine, &describe)[description].take();
            assert_eq!(shown[arn.replace("Arn", "Status")], "FAILED", "{request:?}");
            assert_eq!(shown["FailureCode"], "InternalServerError", "{request:?}");
        }
    }
}

/// An index whose creation was interrupted has the items of each region, whether or not the region had the index yet.
#[test]
fn an_interrupted_index_of_replicas_is_filled_in_every_region() {
    let (_, operation, body) = add_index();
    for conditions in conditions() {
        for requested in [US, EU] {
            let before = [add_replica(EU)];
            let (original, commits, start) = executed(&conditions, &before, &(requested, operation, body.clone()));
            for end in start + 1..=commits.len() {
                let engine = commits::replayed(settings(1), &commits[..end], &original);
                engine.advance(Duration::from_hours(2));
                for region in [US, EU] {
                    let scan = json!({"TableName": "tab", "IndexName": "by-g", "Select": "COUNT"});
                    let (status, found) = send(&engine, &(region, "Scan", scan));
                    let what = format!("{region} after {} commits of {requested}", end - start);
                    assert_eq!((status, &found["Count"]), (200, &json!(ITEMS)), "{what}: {found}");
                }
            }
        }
    }
}

/// A log in which a reset follows on an operation in progress leaves nothing to complete, and no commit is appended to it.
#[test]
fn a_reset_leaves_nothing_to_complete() {
    let new = Engine::new(settings(1));
    let recorder = Recorder::of(&new);
    new.reset().unwrap();
    let reset = recorder.commits();
    for conditions in conditions() {
        for (name, before, operation) in operations() {
            let (original, commits, start) = executed(&conditions, &before, &operation);
            for end in start + 1..=commits.len() {
                let log = [&commits[..end], &reset].concat();
                let engine = commits::replayed(settings(1), &log, &original);
                let recorder = Recorder::after(&log, &engine);
                let appended = &recorder.commits()[log.len()..];
                let what = format!("{name} after {} commits", end - start);
                assert_eq!(appended, [], "{what}");
                assert_eq!(engine.tables(&caller(US)), [""; 0], "{what}");
            }
        }
    }
}

/// A table that is being restored is filled as a whole, though another is created and deleted meanwhile.
#[test]
fn a_table_is_restored_while_others_come_and_go() {
    let [calm, slow] = conditions();
    let (original, recorder) = engine(&calm);
    must(&original, &add_index());
    let before = recorder.commits().len();
    must(&original, &(US, "CreateTable", table("other")));
    must(&original, &(US, "DeleteTable", json!({"TableName": "other"})));
    let after = recorder.commits().len();
    let backup = (US, "CreateBackup", json!({"TableName": "tab", "BackupName": "one"}));
    let backup = must(&original, &backup)["BackupDetails"]["BackupArn"].clone();
    original.set_conditions(slow).unwrap();
    original.advance(Duration::from_hours(1));
    let start = recorder.commits().len();
    let restore = json!({"BackupArn": backup, "TargetTableName": "copy"});
    must(&original, &(US, "RestoreTableFromBackup", restore));
    let commits = recorder.commits();
    for middle in start..=commits.len() {
        let parts = [
            &commits[..before],
            &commits[after..middle],
            &commits[before..after],
            &commits[middle..],
        ];
        let engine = commits::replayed(settings(1), &parts.concat(), &original);
        let what = format!("after {} commits", middle - start);
        commits::same(&what, &commits::dump(&original), &commits::dump(&engine)).unwrap();
    }
}
