//! When a table exists while it is created and deleted, and how many tables there may be.

use std::time::Duration;

use super::tables::{definition, on_demand_twin};
use crate::common::Twin;
use dynatwin_engine::{Conditions, Lag, Moment};
use serde_json::{Value, json};

/// Operations find a new table at different moments before it is active.
#[test]
fn operations_find_a_new_table_at_different_moments() {
    let twin = Twin::new(1);
    twin.engine
        .set_conditions(Conditions {
            table_status: Lag::Fixed(Duration::from_secs(3)),
            ..Conditions::CALM
        })
        .unwrap();
    twin.ok(
        "CreateTable",
        &definition("tab", json!({"BillingMode": "PAY_PER_REQUEST"})),
    );
    let time_to_live = json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "t"}});
    let tags = json!({"ResourceArn": "arn:aws:dynamodb:us-east-1:000000000000:table/tab"});
    let answer = |operation: &str, body: &Value| {
        let (status, answer) = twin.send(operation, body);
        let kind = answer["__type"].as_str().and_then(|kind| kind.split_once('#'));
        assert_eq!(status == 200, kind.is_none(), "{answer}");
        kind.map_or("", |(_, kind)| kind).to_owned()
    };
    let (missing, busy) = ("ResourceNotFoundException", "ResourceInUseException");
    for (micros, expect) in [
        (0, [missing, missing]),
        (999_999, [missing, missing]),
        (1_000_000, [busy, missing]),
        (1_999_999, [busy, missing]),
        (2_000_000, [busy, ""]),
        (2_999_999, [busy, ""]),
        (3_000_000, ["", ""]),
    ] {
        twin.engine
            .clock()
            .set(Moment::START.plus(Duration::from_micros(micros)));
        let found = [
            answer("UpdateTimeToLive", &time_to_live),
            answer("ListTagsOfResource", &tags),
        ];
        assert_eq!(found, expect, "after {micros} microseconds");
    }
}

/// Backups are enabled three seconds after a table is active.
#[test]
fn backups_of_a_new_table_are_enabled_at_a_moment() {
    let twin = Twin::new(1);
    twin.engine
        .set_conditions(Conditions {
            table_status: Lag::Fixed(Duration::from_secs(5)),
            ..Conditions::CALM
        })
        .unwrap();
    twin.ok(
        "CreateTable",
        &definition("tab", json!({"BillingMode": "PAY_PER_REQUEST"})),
    );
    let backup = json!({"TableName": "tab", "BackupName": "backup"});
    for (micros, status, expect) in [(7_999_999, "DISABLED", 400), (8_000_000, "ENABLED", 200)] {
        let moment = Moment::START.plus(Duration::from_micros(micros));
        twin.engine.clock().set(moment);
        let described = twin.ok("DescribeContinuousBackups", &json!({"TableName": "tab"}));
        assert_eq!(
            described["ContinuousBackupsDescription"]["ContinuousBackupsStatus"],
            status
        );
        assert_eq!(twin.send("CreateBackup", &backup).0, expect, "{status}");
    }
}

/// Each request finds the table until the moment at which its deletion ends, and not from then on. Each on a table of its
/// own, since a request removes a table whose deletion has ended.
#[test]
fn a_table_is_there_until_its_deletion_ends() {
    let table = definition("tab", json!({"BillingMode": "PAY_PER_REQUEST"}));
    let backup = |twin: &Twin| {
        twin.ok("CreateBackup", &json!({"TableName": "tab", "BackupName": "backup"}))["BackupDetails"]["BackupArn"]
            .clone()
    };
    type Look = fn(&Twin, &Value, &Value) -> bool;
    let looks: [(&str, Look); 7] = [
        ("DescribeTable", |twin, _, _| {
            twin.send("DescribeTable", &json!({"TableName": "tab"})).0 == 200
        }),
        ("ListTables", |twin, _, _| {
            twin.ok("ListTables", &json!({}))["TableNames"] == json!(["tab"])
        }),
        ("CreateTable", |twin, table, _| twin.send("CreateTable", table).0 == 400),
        ("ImportTable", |twin, _, _| {
            twin.send("ImportTable", &import("tab")).0 == 400
        }),
        ("RestoreTableFromBackup", |twin, _, backup| {
            twin.send(
                "RestoreTableFromBackup",
                &json!({"TargetTableName": "tab", "BackupArn": backup}),
            )
            .0 == 400
        }),
        ("a snapshot", |twin, _, _| {
            let copy = Twin::new(1);
            let snapshot = twin.engine.snapshot();
            copy.engine.restore(&snapshot).unwrap();
            copy.send("DescribeTable", &json!({"TableName": "tab"})).0 == 200
        }),
        ("due work", |twin, _, _| {
            twin.engine.run_due();
            twin.send("DescribeTable", &json!({"TableName": "tab"})).0 == 200
        }),
    ];
    for (name, look) in looks {
        for (early, expect) in [(1, true), (0, false)] {
            let twin = on_demand_twin();
            let backup = backup(&twin);
            twin.engine.set_conditions(Conditions::AWS).unwrap();
            twin.ok("DeleteTable", &json!({"TableName": "tab"}));
            let end = twin.engine.next_due();
            assert!(end > twin.engine.clock().now());
            twin.engine.clock().set(end.minus(Duration::from_micros(early)));
            assert_eq!(
                look(&twin, &table, &backup),
                expect,
                "{name}, {early} us before the end"
            );
        }
    }
}

/// Imports from a bucket that does not exist, which fails later.
fn import(table: &str) -> Value {
    json!({
        "S3BucketSource": {"S3Bucket": "none"},
        "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": definition(table, json!({"BillingMode": "PAY_PER_REQUEST"})),
    })
}

/// The conditions of AWS without limits on request rates.
fn at_any_rate() -> Conditions {
    Conditions {
        control_limits: false,
        ..Conditions::AWS
    }
}

#[test]
fn fifty_imports_run_at_a_time() {
    let twin = Twin::new(1);
    twin.engine.set_conditions(at_any_rate()).unwrap();
    for number in 0..50 {
        twin.ok("ImportTable", &import(&format!("table-{number}")));
    }
    assert_eq!(
        twin.error("ImportTable", &import("one-more")),
        "LimitExceededException: Subscriber limit exceeded: Only 50 import operations can be done simultaneously"
    );
    twin.engine.advance(Duration::from_secs(10 * 50));
    twin.ok("ImportTable", &import("one-more"));
}

#[test]
fn fifty_restores_run_at_a_time() {
    let twin = Twin::new(1);
    twin.ok(
        "CreateTable",
        &definition("tab", json!({"BillingMode": "PAY_PER_REQUEST"})),
    );
    let recovery = json!({"PointInTimeRecoveryEnabled": true});
    let on = json!({"TableName": "tab", "PointInTimeRecoverySpecification": recovery});
    twin.ok("UpdateContinuousBackups", &on);
    twin.engine.advance(Duration::from_secs(400));
    twin.engine.set_conditions(at_any_rate()).unwrap();
    let restore =
        |target: &str| json!({"SourceTableName": "tab", "TargetTableName": target, "UseLatestRestorableTime": true});
    for number in 0..50 {
        twin.ok("RestoreTableToPointInTime", &restore(&format!("copy-{number}")));
    }
    assert_eq!(
        twin.error("RestoreTableToPointInTime", &restore("one-more")),
        "LimitExceededException: Subscriber limit exceeded: Only 50 restore operations can be done simultaneously"
    );
}

#[test]
fn a_region_has_a_maximum_number_of_tables() {
    let twin = Twin::new(1);
    twin.engine.set_conditions(at_any_rate()).unwrap();
    let on_demand = || json!({"BillingMode": "PAY_PER_REQUEST"});
    for number in 0..2500 {
        twin.ok("CreateTable", &definition(&format!("table-{number}"), on_demand()));
    }
    assert_eq!(
        twin.error("CreateTable", &definition("one-more", on_demand())),
        "LimitExceededException: Subscriber limit exceeded: There is a limit of 2500 tables per subscriber"
    );
    assert_eq!(
        twin.error("ImportTable", &import("one-more")),
        "LimitExceededException: Subscriber limit exceeded: There is a limit of 2500 tables per subscriber"
    );
    twin.engine.advance(Duration::from_secs(10));
    twin.ok("DeleteTable", &json!({"TableName": "table-7"}));
    // A table that is gone does not count, also before its work is noticed.
    twin.engine.clock().advance(Duration::from_secs(10));
    twin.ok("CreateTable", &definition("one-more", on_demand()));
    // Tables that are created at once have no maximum: by the conditions of all tables, or by their own.
    let account = twin.engine.account(&twin.caller);
    let own = |table: &str, conditions: Conditions| account.set_table_conditions(table, conditions).unwrap();
    own("at-once", Conditions::CALM);
    twin.ok("CreateTable", &definition("at-once", on_demand()));
    twin.engine.set_conditions(Conditions::CALM).unwrap();
    twin.ok("CreateTable", &definition("two-more", on_demand()));
    own("slow", at_any_rate());
    assert_eq!(
        twin.error("CreateTable", &definition("slow", on_demand())),
        "LimitExceededException: Subscriber limit exceeded: There is a limit of 2500 tables per subscriber"
    );
}

/// A change of a policy is pending until the policy can be read; from then on the next change has to wait.
#[test]
fn a_policy_is_pending_until_it_can_be_read() {
    let twin = on_demand_twin();
    let lag = Conditions {
        table_status: Lag::Fixed(Duration::from_secs(10)),
        ..Conditions::CALM
    };
    twin.engine.set_conditions(lag).unwrap();
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/tab";
    let put = |action: &str| {
        let statement =
            json!({"Effect": "Allow", "Principal": {"AWS": "000000000000"}, "Action": action, "Resource": arn});
        let policy = json!({"Version": "2012-10-17", "Statement": [statement]});
        json!({"ResourceArn": arn, "Policy": policy.to_string()})
    };
    twin.ok("PutResourcePolicy", &put("dynamodb:GetItem"));
    let mut seen = Vec::new();
    while seen.last().is_none_or(|(readable, _)| !readable) {
        let readable = twin.send("GetResourcePolicy", &json!({"ResourceArn": arn})).0 == 200;
        let refused = twin.error("PutResourcePolicy", &put("dynamodb:Query"));
        seen.push((readable, refused));
        twin.engine.advance(Duration::from_millis(100));
    }
    let (_, throttled) = seen.pop().unwrap();
    assert!(
        throttled.contains("modified within the previous 15000 milliseconds"),
        "{throttled}"
    );
    assert!(!seen.is_empty());
    for (_, refused) in &seen {
        assert!(
            refused.contains("pending previous resource-based policy update"),
            "{refused}"
        );
    }
}
