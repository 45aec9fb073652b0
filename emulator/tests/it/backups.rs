//! Backups and point-in-time recovery over time: a restored table has the items of its moment.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::common::{Choice, Twin, commits, create_table_with_ttl, setting, settings};
use dynatwin_engine::{Capacity, Clock, Conditions, Enforcement, Engine, Lag, Moment, Settings};
use serde_json::{Value, json};

const MINUTE: u64 = 60;

fn put(twin: &Twin, pk: &str, g: &str) {
    twin.ok(
        "PutItem",
        &json!({"TableName": "tab", "Item": {"pk": {"S": pk}, "g": {"S": g}}}),
    );
}

fn recovery(twin: &Twin, days: u64) {
    twin.ok(
        "UpdateContinuousBackups",
        &json!({"TableName": "tab", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": days}}),
    );
}

/// Returns the table's items by their keys.
fn items(twin: &Twin, table: &str) -> BTreeMap<String, String> {
    let scan = twin.ok("Scan", &json!({"TableName": table}));
    let items = scan["Items"].as_array().unwrap();
    items.iter().map(|item| (text(item, "pk"), text(item, "g"))).collect()
}

fn text(item: &Value, name: &str) -> String {
    item[name]["S"].as_str().unwrap().to_owned()
}

fn backup(twin: &Twin, name: &str) -> String {
    let made = twin.ok("CreateBackup", &json!({"TableName": "tab", "BackupName": name}));
    made["BackupDetails"]["BackupArn"].as_str().unwrap().to_owned()
}

#[test]
fn a_backup_outlives_its_table_and_keeps_its_moment() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    put(&twin, "a", "x");
    put(&twin, "b", "y");
    let arn = backup(&twin, "first");
    assert!(arn.starts_with("arn:aws:dynamodb:us-east-1:000000000000:table/tab/backup/01767225600000-"));
    put(&twin, "a", "changed");
    twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "b"}}}));
    let described = twin.ok("DescribeBackup", &json!({"BackupArn": arn}));
    let described = &described["BackupDescription"];
    assert_eq!(described["BackupDetails"]["BackupStatus"], "AVAILABLE");
    assert_eq!(described["SourceTableDetails"]["ItemCount"], 2);
    assert_eq!(
        described["SourceTableDetails"]["TableSizeBytes"],
        described["BackupDetails"]["BackupSizeBytes"]
    );
    let features = &described["SourceTableFeatureDetails"];
    assert_eq!(
        features["TimeToLiveDescription"],
        json!({"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"})
    );
    assert_eq!(
        features["GlobalSecondaryIndexes"],
        json!([{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"}, "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}}])
    );
    twin.ok("DeleteTable", &json!({"TableName": "tab"}));
    twin.ok(
        "RestoreTableFromBackup",
        &json!({"BackupArn": arn, "TargetTableName": "copy"}),
    );
    let expected = [("a", "x"), ("b", "y")].map(|(pk, g)| (pk.to_owned(), g.to_owned()));
    assert_eq!(items(&twin, "copy"), BTreeMap::from(expected));
    let query = twin.ok(
        "Query",
        &json!({"TableName": "copy", "IndexName": "by-g", "KeyConditionExpression": "g = :g",
            "ExpressionAttributeValues": {":g": {"S": "y"}}}),
    );
    assert_eq!(query["Count"], 1);
    let ttl = twin.ok("DescribeTimeToLive", &json!({"TableName": "copy"}));
    assert_eq!(ttl["TimeToLiveDescription"], json!({"TimeToLiveStatus": "DISABLED"}));
    let table = twin.ok("DescribeTable", &json!({"TableName": "copy"}));
    assert!(table["Table"].get("RestoreSummary").is_none());
    let deleted = twin.ok("DeleteBackup", &json!({"BackupArn": arn}));
    assert_eq!(deleted["BackupDescription"]["BackupDetails"]["BackupStatus"], "DELETED");
    let (status, answer) = twin.send("DescribeBackup", &json!({"BackupArn": arn}));
    assert_eq!(
        (status, answer["message"].as_str().unwrap()),
        (400, format!("Backup not found: {arn}").as_str())
    );
}

/// The clock may stand still, and the table or the whole state may be another one of the same history.
#[test]
fn no_two_backups_have_the_same_arn() {
    type Change = fn(Twin) -> Twin;
    let again: &[(&str, Change)] = &[
        ("nothing", |twin| twin),
        ("another table of the name", |twin| {
            twin.ok("DeleteTable", &json!({"TableName": "tab"}));
            create_table_with_ttl(&twin);
            twin
        }),
        ("a snapshot", |twin| {
            let copy = Twin::new(1);
            copy.engine.restore(&twin.engine.snapshot()).unwrap();
            copy
        }),
        ("a replay", |mut twin| {
            let seen: Vec<_> = twin.engine.checkpoint().collect();
            twin.engine = commits::replayed(settings(1), &seen, &twin.engine);
            twin
        }),
    ];
    for (what, change) in again {
        let mut twin = Twin::new(1);
        create_table_with_ttl(&twin);
        let kept = backup(&twin, "kept");
        let mut seen = vec![kept.clone()];
        for _ in 0..3 {
            let arn = backup(&twin, "again");
            assert!(!seen.contains(&arn), "{what}: {arn} is among {seen:?}");
            twin.ok("DeleteBackup", &json!({"BackupArn": arn}));
            seen.push(arn);
            twin = change(twin);
        }
        // Those that are deleted stay so.
        for arn in &seen {
            let status = twin.send("DescribeBackup", &json!({"BackupArn": arn})).0;
            assert_eq!(status == 200, *arn == kept, "{what}: {arn}");
        }
        let listed = twin.ok("ListBackups", &json!({}));
        assert_eq!(
            listed["BackupSummaries"].as_array().unwrap().len(),
            1,
            "{what}: {listed}"
        );
    }
}

/// The id of a system backup is its millisecond; if that is taken, the next one.
#[test]
fn system_backups_of_one_moment_have_successive_ids() {
    let twin = Twin::new(1);
    for _ in 0..3 {
        create_table_with_ttl(&twin);
        recovery(&twin, 35);
        twin.ok("DeleteTable", &json!({"TableName": "tab"}));
    }
    let listed = twin.ok("ListBackups", &json!({"BackupType": "SYSTEM"}));
    let arns = listed["BackupSummaries"].as_array().unwrap().iter();
    let mut ids: Vec<&str> = arns
        .map(|each| each["BackupArn"].as_str().unwrap().rsplit('/').next().unwrap())
        .collect();
    ids.sort_unstable();
    let expect = [0, 1, 2].map(|millis| format!("{:014}-00000000", 1_767_225_600_000_u64 + millis));
    assert_eq!(ids, expect);
}

/// The ids of backups are decided by the seed, whatever has been deleted before.
#[test]
fn deleted_backups_of_earlier_moments_change_no_arn() {
    let arns = |deletions: usize| {
        let twin = Twin::new(1);
        create_table_with_ttl(&twin);
        for _ in 0..deletions {
            let arn = backup(&twin, "earlier");
            twin.ok("DeleteBackup", &json!({"BackupArn": arn}));
        }
        twin.engine.advance(Duration::from_millis(1));
        [backup(&twin, "first"), backup(&twin, "second")]
    };
    assert_eq!(arns(3), arns(0));
}

#[test]
fn a_backup_that_is_restored_from_stays() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    let arn = backup(&twin, "first");
    twin.engine.set_conditions(dynatwin_engine::Conditions::AWS).unwrap();
    twin.ok(
        "RestoreTableFromBackup",
        &json!({"BackupArn": arn, "TargetTableName": "copy"}),
    );
    let copy = Twin::new(1);
    copy.engine.restore(&twin.engine.snapshot()).unwrap();
    for twin in [&twin, &copy] {
        let (_, refused) = twin.send("DeleteBackup", &json!({"BackupArn": arn}));
        assert_eq!(
            refused["message"],
            format!("Backup is being used to restore table: {arn}")
        );
    }
    twin.engine.advance(Duration::from_hours(1));
    twin.ok("DeleteBackup", &json!({"BackupArn": arn}));
}

/// What a restore keeps and what it leaves out (docs/behavior: 04 9.3).
#[test]
fn a_restored_table_has_only_the_settings_that_are_restored() {
    let twin = Twin::new(1);
    let attribute = json!({"AttributeName": "pk", "AttributeType": "S"});
    let table = json!({
        "TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [attribute],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "OnDemandThroughput": {"MaxReadRequestUnits": 70, "MaxWriteRequestUnits": 80},
        "SSESpecification": {"Enabled": true}, "TableClass": "STANDARD_INFREQUENT_ACCESS",
        "DeletionProtectionEnabled": true, "Tags": [{"Key": "team", "Value": "blue"}],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}});
    twin.ok("CreateTable", &table);
    let living = json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}});
    twin.ok("UpdateTimeToLive", &living);
    recovery(&twin, 7);
    let described = |table: &str| twin.ok("DescribeTable", &json!({"TableName": table}))["Table"].clone();
    let source = described("tab");
    let policy = json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Principal": {"AWS": "000000000000"}, "Action": "dynamodb:GetItem", "Resource": source["TableArn"]}});
    twin.ok(
        "PutResourcePolicy",
        &json!({"ResourceArn": source["TableArn"], "Policy": policy.to_string()}),
    );
    twin.ok(
        "RestoreTableFromBackup",
        &json!({"BackupArn": backup(&twin, "first"), "TargetTableName": "from-backup"}),
    );
    let to_moment = json!({"SourceTableName": "tab", "TargetTableName": "to-moment", "UseLatestRestorableTime": true});
    twin.ok("RestoreTableToPointInTime", &to_moment);
    for name in ["from-backup", "to-moment"] {
        let copy = described(name);
        for kept in [
            "KeySchema",
            "AttributeDefinitions",
            "OnDemandThroughput",
            "SSEDescription",
        ] {
            assert_eq!(copy[kept], source[kept], "{name}: {kept}");
        }
        for dropped in ["TableClassSummary", "StreamSpecification", "LatestStreamArn"] {
            assert_eq!(
                (source[dropped].is_null(), copy.get(dropped)),
                (false, None),
                "{name}: {dropped}"
            );
        }
        assert_eq!(copy["DeletionProtectionEnabled"], false, "{name}");
        let (of_table, of_arn) = (json!({"TableName": name}), json!({"ResourceArn": copy["TableArn"]}));
        let living = twin.ok("DescribeTimeToLive", &of_table)["TimeToLiveDescription"].clone();
        assert_eq!(living, json!({"TimeToLiveStatus": "DISABLED"}), "{name}");
        let backups = &twin.ok("DescribeContinuousBackups", &of_table)["ContinuousBackupsDescription"];
        let recovery = &backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"];
        assert_eq!(recovery, "DISABLED", "{name}");
        assert_eq!(twin.ok("ListTagsOfResource", &of_arn)["Tags"], json!([]), "{name}");
        assert_eq!(twin.send("GetResourcePolicy", &of_arn).0, 400, "{name}");
    }
}

/// A restored table is encrypted like its source, unless the request says otherwise.
#[test]
fn a_restore_keeps_or_replaces_the_encryption() {
    let twin = Twin::new(1);
    let key = |name: &str| format!("arn:aws:kms:us-east-1:000000000000:key/{name}");
    let with_key = |name: &str| json!({"Enabled": true, "SSEType": "KMS", "KMSMasterKeyId": key(name)});
    let attributes = [json!({"AttributeName": "pk", "AttributeType": "S"})];
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "SSESpecification": with_key("k1")}),
    );
    recovery(&twin, 35);
    let arn = backup(&twin, "first");
    for (name, requested, expect) in [
        ("same", None, json!(key("k1"))),
        ("other", Some(with_key("k2")), json!(key("k2"))),
        ("none", Some(json!({"Enabled": false})), Value::Null),
    ] {
        for (operation, mut request) in [
            ("RestoreTableFromBackup", json!({"BackupArn": arn})),
            (
                "RestoreTableToPointInTime",
                json!({"SourceTableName": "tab", "UseLatestRestorableTime": true}),
            ),
        ] {
            let target = format!("{name}-{operation}");
            request["TargetTableName"] = json!(target);
            if let Some(requested) = &requested {
                request["SSESpecificationOverride"] = requested.clone();
            }
            twin.ok(operation, &request);
            twin.engine.advance(Duration::from_hours(1));
            let table = &twin.ok("DescribeTable", &json!({"TableName": target}))["Table"];
            assert_eq!(table["SSEDescription"]["KMSMasterKeyArn"], expect, "{target}");
        }
    }
}

/// An index that a restore overrides has the on-demand limits of the request; without an override, indexes keep theirs.
#[test]
fn a_restored_index_has_the_limits_of_its_override() {
    let twin = Twin::new(1);
    let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    let limits = json!({"MaxReadRequestUnits": 5, "MaxWriteRequestUnits": 6});
    let index = |name: &str, limits: Option<&Value>| {
        let mut index = json!({"IndexName": name, "KeySchema": key("g"), "Projection": {"ProjectionType": "ALL"}});
        if let Some(limits) = limits {
            index["OnDemandThroughput"] = limits.clone();
        }
        index
    };
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
            "KeySchema": key("pk"), "OnDemandThroughput": limits,
            "GlobalSecondaryIndexes": [index("one", Some(&limits)), index("two", Some(&limits))]}),
    );
    recovery(&twin, 35);
    let arn = backup(&twin, "first");
    let reads = json!({"MaxReadRequestUnits": 7});
    let writes = json!({"MaxWriteRequestUnits": 8});
    for (name, overridden) in [
        ("same", None),
        ("none", Some([None, None])),
        ("first", Some([Some(&reads), None])),
        ("second", Some([None, Some(&reads)])),
        ("both", Some([Some(&reads), Some(&writes)])),
    ] {
        let expect = overridden.unwrap_or([Some(&limits); 2]);
        for (operation, mut request) in [
            ("RestoreTableFromBackup", json!({"BackupArn": arn})),
            (
                "RestoreTableToPointInTime",
                json!({"SourceTableName": "tab", "UseLatestRestorableTime": true}),
            ),
        ] {
            let target = format!("{name}-{operation}");
            request["TargetTableName"] = json!(target);
            if let Some([one, two]) = overridden {
                request["GlobalSecondaryIndexOverride"] = json!([index("one", one), index("two", two)]);
            }
            twin.ok(operation, &request);
            twin.engine.advance(Duration::from_hours(1));
            let table = &twin.ok("DescribeTable", &json!({"TableName": target}))["Table"];
            let indexes = &table["GlobalSecondaryIndexes"];
            let found = [&indexes[0], &indexes[1]].map(|index| index.get("OnDemandThroughput"));
            assert_eq!(found, expect, "{target}");
            assert_eq!(table["OnDemandThroughput"], limits, "{target}");
        }
    }
}

/// Warm throughput is not restored: a table and its indexes begin with that of their units, or of on-demand billing.
#[test]
fn a_restored_table_and_its_indexes_have_the_warm_throughput_of_new_ones() {
    let twin = Twin::new(1);
    let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    let warm = |read: u64, write: u64| json!({"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": write});
    let units = |read: u64, write: u64| json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write});
    let index = |name: &str, member: &str, value: Value| {
        let mut index = json!({"IndexName": name, "KeySchema": key("g"), "Projection": {"ProjectionType": "ALL"}});
        if !value.is_null() {
            index[member] = value;
        }
        index
    };
    let warmed = [("one", warm(20_000, 5000)), ("two", warm(13_000, 6000))];
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
            "KeySchema": key("pk"), "WarmThroughput": warm(14_000, 7000),
            "GlobalSecondaryIndexes": warmed.map(|(name, warm)| index(name, "WarmThroughput", warm))}),
    );
    recovery(&twin, 35);
    let arn = backup(&twin, "first");
    let same = ["one", "two"].map(|name| index(name, "ProvisionedThroughput", Value::Null));
    let paid = [("one", units(3, 4)), ("two", units(5, 6))];
    let paid = paid.map(|(name, units)| index(name, "ProvisionedThroughput", units));
    let on_demand = || warm(12_000, 4000);
    for (name, overrides, expect) in [
        ("same", json!({}), [on_demand(), on_demand(), on_demand()]),
        (
            "indexes",
            json!({"GlobalSecondaryIndexOverride": same}),
            [on_demand(), on_demand(), on_demand()],
        ),
        (
            "paid",
            json!({"BillingModeOverride": "PROVISIONED", "ProvisionedThroughputOverride": units(1, 2),
                "GlobalSecondaryIndexOverride": paid}),
            [warm(1, 2), warm(3, 4), warm(5, 6)],
        ),
    ] {
        for (operation, source) in [
            ("RestoreTableFromBackup", json!({"BackupArn": arn})),
            (
                "RestoreTableToPointInTime",
                json!({"SourceTableName": "tab", "UseLatestRestorableTime": true}),
            ),
        ] {
            let target = format!("{name}-{operation}");
            let mut request = overrides.clone();
            request["TargetTableName"] = json!(target);
            request
                .as_object_mut()
                .unwrap()
                .extend(source.as_object().unwrap().clone());
            twin.ok(operation, &request);
            twin.engine.advance(Duration::from_hours(1));
            let table = &twin.ok("DescribeTable", &json!({"TableName": target}))["Table"];
            let indexes = &table["GlobalSecondaryIndexes"];
            let found = [table, &indexes[0], &indexes[1]].map(|owner| {
                let mut warm = owner["WarmThroughput"].clone();
                warm.as_object_mut().unwrap().remove("Status");
                warm
            });
            assert_eq!(found, expect, "{target}");
        }
    }
}

/// The times and numbers of changed units belong to the table, not to what is restored of it.
#[test]
fn a_restored_table_and_its_indexes_count_no_changes_of_units() {
    let twin = Twin::new(1);
    let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    let units = |count: u64| json!({"ReadCapacityUnits": count, "WriteCapacityUnits": count});
    let index = json!({"IndexName": "by-g", "KeySchema": key("g"), "Projection": {"ProjectionType": "ALL"},
        "ProvisionedThroughput": units(5)});
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "AttributeDefinitions": attributes, "KeySchema": key("pk"),
            "ProvisionedThroughput": units(5), "GlobalSecondaryIndexes": [index]}),
    );
    recovery(&twin, 35);
    for count in [4, 6] {
        twin.engine.advance(Duration::from_mins(10));
        twin.ok(
            "UpdateTable",
            &json!({"TableName": "tab", "ProvisionedThroughput": units(count), "GlobalSecondaryIndexUpdates": [
                {"Update": {"IndexName": "by-g", "ProvisionedThroughput": units(count)}}]}),
        );
    }
    twin.engine.advance(Duration::from_mins(10));
    let from_backup = json!({"TargetTableName": "saved", "BackupArn": backup(&twin, "first")});
    let to_moment = json!({"TargetTableName": "moment", "SourceTableName": "tab", "UseLatestRestorableTime": true});
    twin.ok("RestoreTableFromBackup", &from_backup);
    twin.ok("RestoreTableToPointInTime", &to_moment);
    twin.engine.advance(Duration::from_hours(1));
    let changed = |units: &Value| {
        let times = ["LastIncreaseDateTime", "LastDecreaseDateTime"].map(|time| units.get(time).is_some());
        (
            times,
            units["NumberOfDecreasesToday"].clone(),
            units["WriteCapacityUnits"].clone(),
        )
    };
    for (table, expect) in [
        ("tab", ([true, true], json!(1), json!(6))),
        ("saved", ([false, false], json!(0), json!(6))),
        ("moment", ([false, false], json!(0), json!(6))),
    ] {
        let table = &twin.ok("DescribeTable", &json!({"TableName": table}))["Table"];
        for owner in [table, &table["GlobalSecondaryIndexes"][0]] {
            assert_eq!(changed(&owner["ProvisionedThroughput"]), expect, "{owner}");
        }
    }
}

#[test]
fn a_list_of_backups_continues_after_its_last_page() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    let mut made = Vec::new();
    for at in 0..5 {
        made.push(backup(&twin, &format!("backup-{at}")));
        twin.engine.advance(Duration::from_secs(1));
    }
    let mut found = Vec::new();
    let mut start = Value::Null;
    loop {
        let page = twin.ok("ListBackups", &json!({"Limit": 2, "ExclusiveStartBackupArn": start}));
        let summaries = page["BackupSummaries"].as_array().unwrap();
        found.extend(
            summaries
                .iter()
                .map(|each| each["BackupArn"].as_str().unwrap().to_owned()),
        );
        start = page["LastEvaluatedBackupArn"].clone();
        if start.is_null() {
            break;
        }
    }
    assert_eq!(found, made);
}

/// Backups of several tables are listed in the order of their creation.
#[test]
fn backups_are_listed_by_their_time() {
    let twin = Twin::new(1);
    for table in ["bbb", "ccc", "aaa"] {
        let create = json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
        twin.ok("CreateTable", &create);
    }
    let tables = ["bbb", "aaa", "ccc", "aaa", "bbb", "ccc"];
    let mut made = Vec::new();
    for table in tables {
        let created = twin.ok("CreateBackup", &json!({"TableName": table, "BackupName": "name"}));
        made.push(created["BackupDetails"]["BackupArn"].clone());
        twin.engine.advance(Duration::from_secs(1));
    }
    let listed = |body: Value| -> Vec<Value> {
        let page = twin.ok("ListBackups", &body);
        let summaries = page["BackupSummaries"].as_array().unwrap();
        summaries.iter().map(|summary| summary["BackupArn"].clone()).collect()
    };
    assert_eq!(listed(json!({})), made);
    assert_eq!(listed(json!({"ExclusiveStartBackupArn": made[2]})), made[3..]);
    assert_eq!(listed(json!({"TableName": "aaa"})), [made[1].clone(), made[3].clone()]);
    let from = twin.seconds() - 4;
    assert_eq!(
        listed(json!({"TimeRangeLowerBound": from, "TimeRangeUpperBound": from + 2})),
        made[2..4]
    );
}

/// The items of a restored table count in the sizes of its capacity partitions.
#[test]
fn restored_items_count_in_the_sizes_of_capacity_partitions() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    (0..8).for_each(|number| put(&twin, &number.to_string(), &"x".repeat(1500)));
    let arn = backup(&twin, "backup");
    for capacity in [Capacity::Enforced(Enforcement::AWS), Capacity::Reported] {
        let conditions = Conditions {
            capacity,
            ..Conditions::CALM
        };
        twin.engine.set_conditions(conditions).unwrap();
        twin.engine.watch(capacity == Capacity::Reported);
        let name = if capacity == Capacity::Reported {
            "watched"
        } else {
            "enforced"
        };
        twin.ok(
            "RestoreTableFromBackup",
            &json!({"BackupArn": arn, "TargetTableName": name}),
        );
        let bytes = |table: &str| -> u64 {
            let heat = twin.engine.account(&twin.caller).heat(table).unwrap();
            let partitions = heat.resources[0].partitions.iter();
            partitions.map(|partition| partition.bytes).sum()
        };
        assert!(bytes("tab") > 8 * 1500, "{name}");
        assert_eq!(bytes(name), bytes("tab"), "{name}");
    }
}

/// A table is written to at random, and restored to random moments: each time it has the items of that moment.
#[test]
fn a_table_can_be_restored_to_any_second() {
    let seed = setting("DYNATWIN_SEED").unwrap_or(7);
    println!("DYNATWIN_SEED={seed}");
    let mut choice = Choice(seed);
    let twin = Twin::new(seed);
    create_table_with_ttl(&twin);
    put(&twin, "k0", "from before");
    recovery(&twin, 1);
    let mut states: BTreeMap<i64, BTreeMap<String, String>> = BTreeMap::new();
    for step in 0..900 {
        let pk = format!("k{}", choice.below(12));
        if choice.one_in(3) {
            twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": pk}}}));
        } else {
            put(&twin, &pk, &format!("g{step}"));
        }
        states.insert(twin.seconds(), items(&twin, "tab"));
        twin.engine.advance(Duration::from_secs(choice.below(240)));
    }
    twin.engine.advance(Duration::from_secs(5 * MINUTE));
    let earliest = twin.seconds() - 86_400;
    for at in 0..40 {
        let moment = earliest + choice.below(86_400 - 5 * MINUTE) as i64;
        let name = format!("copy-{at}");
        twin.ok(
            "RestoreTableToPointInTime",
            &json!({"SourceTableName": "tab", "TargetTableName": name, "RestoreDateTime": moment}),
        );
        let (_, expected) = states.range(..=moment).next_back().unwrap();
        assert_eq!(&items(&twin, &name), expected, "at {moment}");
    }
    let too_early = json!({"SourceTableName": "tab", "TargetTableName": "never", "RestoreDateTime": earliest - 1});
    let (status, refused) = twin.send("RestoreTableToPointInTime", &too_early);
    assert_eq!(status, 400);
    assert!(
        refused["__type"]
            .as_str()
            .unwrap()
            .ends_with("InvalidRestoreTimeException")
    );
}

/// The tags of a restored table are found when it is `ACTIVE`; those of a new table a second before.
#[test]
fn tags_are_found_when_a_restore_ends() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    let arn = backup(&twin, "first");
    twin.engine
        .set_conditions(Conditions {
            table_status: Lag::Fixed(Duration::from_secs(2)),
            ..Conditions::CALM
        })
        .unwrap();
    let restore = json!({"TargetTableName": "copy", "BackupArn": arn});
    twin.ok("RestoreTableFromBackup", &restore);
    let create = json!({"TableName": "plain", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    twin.ok("CreateTable", &create);
    let is_active =
        |name: &str| twin.ok("DescribeTable", &json!({"TableName": name}))["Table"]["TableStatus"] == "ACTIVE";
    let has_tags = |name: &str| {
        let arn = format!("arn:aws:dynamodb:us-east-1:000000000000:table/{name}");
        twin.send("ListTagsOfResource", &json!({"ResourceArn": arn})).0 == 200
    };
    let mut found = Vec::new();
    while !is_active("copy") {
        assert!(!has_tags("copy"), "{:?}", twin.engine.clock().now());
        found.push((has_tags("plain"), is_active("plain")));
        twin.engine.advance(Duration::from_millis(500));
    }
    assert!(has_tags("copy"));
    let (no, early, both) = ((false, false), (true, false), (true, true));
    assert_eq!(found[..5], [no, no, early, early, both]);
}

/// A deletion that is due has happened, even if no request has applied it yet.
#[test]
fn what_is_due_is_in_no_backup() {
    let prepared = || {
        let twin = Twin::new(1);
        create_table_with_ttl(&twin);
        recovery(&twin, 35);
        let expires = (twin.seconds() + 60).to_string();
        let item = json!({"pk": {"S": "a"}, "g": {"S": "x"}, "ttl": {"N": expires}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        twin.engine.clock().set(Moment::START.plus(Duration::from_secs(1000)));
        twin
    };
    let twin = prepared();
    let arn = backup(&twin, "first");
    let described = twin.ok("DescribeBackup", &json!({"BackupArn": arn}));
    assert_eq!(described["BackupDescription"]["SourceTableDetails"]["ItemCount"], 0);
    twin.ok(
        "RestoreTableFromBackup",
        &json!({"TargetTableName": "copy", "BackupArn": arn}),
    );
    assert!(items(&twin, "copy").is_empty());
    for (at, count) in [(Moment::START.seconds() + 59, 1), (Moment::START.seconds() + 61, 0)] {
        let twin = prepared();
        twin.ok(
            "RestoreTableToPointInTime",
            &json!({"SourceTableName": "tab", "TargetTableName": "copy", "RestoreDateTime": at}),
        );
        assert_eq!(items(&twin, "copy").len(), count, "{at}");
    }
}

#[test]
fn a_deletion_by_time_to_live_can_be_undone() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    recovery(&twin, 35);
    let ends = twin.seconds() + 100;
    twin.ok(
        "PutItem",
        &json!({"TableName": "tab", "Item": {"pk": {"S": "a"}, "g": {"S": "x"}, "ttl": {"N": ends.to_string()}}}),
    );
    twin.engine.advance(Duration::from_hours(1));
    assert!(items(&twin, "tab").is_empty());
    for (name, at, count) in [("alive", ends - 1, 1), ("dead", ends, 0)] {
        twin.ok(
            "RestoreTableToPointInTime",
            &json!({"SourceTableName": "tab", "TargetTableName": name, "RestoreDateTime": at}),
        );
        assert_eq!(items(&twin, name).len(), count, "{name}");
    }
}

/// What has been outside of a shortened period stays outside when the period is extended.
#[test]
fn an_extended_period_brings_no_history_back() {
    const DAY: i64 = 86_400;
    // The period from each day on, the day of the restores, and the first day that can be restored, counted from the
    // day on which recovery was enabled.
    type Case<'c> = (&'c [(i64, u64)], i64, i64);
    let cases: &[Case<'_>] = &[
        (&[(0, 35)], 10, 0),
        (&[(0, 35), (10, 35)], 12, 0),
        (&[(0, 2)], 10, 8),
        (&[(0, 2), (10, 35)], 10, 8),
        (&[(0, 2), (10, 35)], 20, 8),
        (&[(0, 2), (10, 35)], 50, 15),
        (&[(0, 35), (10, 1)], 10, 9),
        (&[(0, 35), (10, 1), (10, 35)], 10, 9),
        (&[(0, 35), (10, 1), (10, 35)], 20, 9),
        (&[(0, 35), (10, 1), (15, 35)], 20, 14),
        (&[(0, 35), (10, 5), (12, 3), (14, 4)], 14, 11),
        (&[(0, 35), (10, 5), (12, 3), (14, 4)], 16, 12),
    ];
    for (periods, restored, first) in cases {
        let twin = Twin::new(1);
        create_table_with_ttl(&twin);
        let begun = twin.seconds();
        for day in 0..=*restored {
            for (_, days) in periods.iter().filter(|(from, _)| *from == day) {
                recovery(&twin, *days);
            }
            put(&twin, "a", &format!("day {day}"));
            if day < *restored {
                twin.engine.advance(Duration::from_hours(24));
            }
        }
        let described = twin.ok("DescribeContinuousBackups", &json!({"TableName": "tab"}));
        let window = &described["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
        let earliest = window["EarliestRestorableDateTime"].as_f64().unwrap() as i64;
        assert_eq!(earliest - begun, first * DAY, "{periods:?} {restored}: {described}");
        for (day, succeeds) in [(first - 1, false), (*first, true)] {
            // In the middle of the day, which is as early as the day of the window's beginning.
            let at = begun + day * DAY + if succeeds { DAY / 2 } else { DAY - 1 };
            let body = json!({"SourceTableName": "tab", "TargetTableName": "copy", "RestoreDateTime": at});
            let (status, answer) = twin.send("RestoreTableToPointInTime", &body);
            assert_eq!(status == 200, succeeds, "{periods:?} {restored} {day}: {answer}");
            if succeeds {
                assert_eq!(
                    items(&twin, "copy")["a"],
                    format!("day {day}"),
                    "{periods:?} {restored}"
                );
            }
        }
    }
}

/// Beyond the limit the oldest changes are dropped: the earliest restorable moment moves forward, and every later one
/// can be restored exactly.
#[test]
fn recovery_respects_its_limit_in_bytes() {
    for (limit, moves) in [
        (Some(1), true),
        (Some(10_000), true),
        (Some(1 << 30), false),
        (None, false),
    ] {
        let twin = Twin::new(1);
        twin.engine
            .set_conditions(Conditions {
                recovery_bytes: limit,
                ..Conditions::CALM
            })
            .unwrap();
        create_table_with_ttl(&twin);
        recovery(&twin, 35);
        let begun = twin.seconds();
        let mut states = BTreeMap::new();
        let mut notes = Vec::new();
        for step in 0..500 {
            let body = json!({"TableName": "tab", "Item": {"pk": {"S": format!("k{}", step % 12)}, "g": {"S": format!("g{step}")}}});
            let answer = twin
                .engine
                .dispatch(&twin.caller, "PutItem", body.to_string().as_bytes());
            notes.extend(answer.note);
            states.insert(twin.seconds(), items(&twin, "tab"));
            twin.engine.advance(Duration::from_secs(10));
        }
        twin.engine.advance(Duration::from_secs(5 * MINUTE));
        let described = twin.ok("DescribeContinuousBackups", &json!({"TableName": "tab"}));
        let described = &described["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
        let earliest = described["EarliestRestorableDateTime"].as_f64().unwrap() as i64;
        assert_eq!(earliest > begun, moves, "{limit:?}: {earliest}");
        assert!(earliest <= described["LatestRestorableDateTime"].as_f64().unwrap() as i64);
        assert_eq!(notes.len(), usize::from(moves), "{limit:?}: {notes:?}");
        let last = *states.keys().next_back().unwrap();
        for (at, moment) in [earliest, earliest.midpoint(last), last].into_iter().enumerate() {
            let name = format!("copy-{at}");
            twin.ok(
                "RestoreTableToPointInTime",
                &json!({"SourceTableName": "tab", "TargetTableName": name, "RestoreDateTime": moment}),
            );
            let (_, expected) = states.range(..=moment).next_back().unwrap();
            assert_eq!(&items(&twin, &name), expected, "{limit:?} at {moment}");
        }
        // A fork keeps the limit of what can be restored.
        let fork = Twin {
            engine: twin.engine.fork(Clock::settable(Moment::START)).unwrap(),
            caller: twin.caller.clone(),
        };
        let of_fork = fork.ok("DescribeContinuousBackups", &json!({"TableName": "tab"}));
        let of_fork = &of_fork["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
        assert_eq!(
            of_fork["EarliestRestorableDateTime"],
            described["EarliestRestorableDateTime"]
        );
        let too_early = json!({"SourceTableName": "tab", "TargetTableName": "never", "RestoreDateTime": earliest - 1});
        let (_, refused) = twin.send("RestoreTableToPointInTime", &too_early);
        assert!(
            refused["__type"]
                .as_str()
                .unwrap()
                .ends_with("InvalidRestoreTimeException"),
            "{limit:?}: {refused}"
        );
    }
}

/// The indexes of a restored table have all its entries, whatever the lag of later changes.
#[test]
fn the_indexes_of_a_restored_table_do_not_lag() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    recovery(&twin, 35);
    for pk in ["a", "b", "c"] {
        put(&twin, pk, "x");
    }
    let arn = backup(&twin, "first");
    twin.engine.advance(Duration::from_secs(6 * MINUTE));
    twin.engine
        .set_conditions(Conditions {
            index_propagation: Lag::Fixed(Duration::from_secs(10)),
            ..Conditions::CALM
        })
        .unwrap();
    let latest = json!({"SourceTableName": "tab", "TargetTableName": "recovered", "UseLatestRestorableTime": true});
    twin.ok("RestoreTableToPointInTime", &latest);
    let restored = json!({"BackupArn": arn, "TargetTableName": "restored"});
    twin.ok("RestoreTableFromBackup", &restored);
    for table in ["recovered", "restored"] {
        let found = twin.ok("Scan", &json!({"TableName": table, "IndexName": "by-g"}));
        assert_eq!(found["Count"], 3, "{table}");
        let item = json!({"pk": {"S": "d"}, "g": {"S": "x"}});
        twin.ok("PutItem", &json!({"TableName": table, "Item": item}));
        let found = twin.ok("Scan", &json!({"TableName": table, "IndexName": "by-g"}));
        assert_eq!(found["Count"], 3, "{table}: a later change lags");
    }
}

/// Disabling recovery of a table that is being deleted forgets the backup of this table, and no other.
#[test]
fn recovery_of_a_table_being_deleted_forgets_its_own_backup() {
    let twin = Twin::new(1);
    let setting = |table_status| Conditions {
        table_status,
        ..Conditions::CALM
    };
    let system = |count: usize| {
        let listed = twin.ok("ListBackups", &json!({"BackupType": "SYSTEM"}));
        assert_eq!(listed["BackupSummaries"].as_array().unwrap().len(), count);
    };
    for earlier in 0..2 {
        twin.engine.set_conditions(setting(Lag::None)).unwrap();
        create_table_with_ttl(&twin);
        recovery(&twin, 35);
        system(earlier);
        twin.engine.advance(Duration::from_secs(10 * MINUTE));
        let takes = Lag::Fixed(Duration::from_secs(10));
        twin.engine.set_conditions(setting(takes)).unwrap();
        twin.ok("DeleteTable", &json!({"TableName": "tab"}));
        if earlier == 1 {
            let off = json!({"PointInTimeRecoveryEnabled": false});
            twin.ok(
                "UpdateContinuousBackups",
                &json!({"TableName": "tab", "PointInTimeRecoverySpecification": off}),
            );
            system(1);
        }
        twin.engine.advance(Duration::from_secs(MINUTE));
        system(1);
    }
}

/// Tables of one name that are deleted in the same millisecond have a backup each.
#[test]
fn each_deleted_table_of_a_millisecond_has_its_backup() {
    let twin = Twin::new(1);
    for pk in ["one", "two", "three"] {
        create_table_with_ttl(&twin);
        recovery(&twin, 35);
        put(&twin, pk, "g");
        twin.ok("DeleteTable", &json!({"TableName": "tab"}));
    }
    let listed = twin.ok("ListBackups", &json!({"BackupType": "SYSTEM"}));
    let arns = listed["BackupSummaries"].as_array().unwrap().iter();
    let arns: Vec<&str> = arns.map(|each| each["BackupArn"].as_str().unwrap()).collect();
    assert_eq!(arns.len(), 3, "{arns:?}");
    for (at, (arn, pk)) in arns.iter().zip(["one", "two", "three"]).enumerate() {
        assert!(arn.ends_with("-00000000"), "{arn}");
        let target = format!("restored-{at}");
        twin.ok(
            "RestoreTableFromBackup",
            &json!({"TargetTableName": target, "BackupArn": arn}),
        );
        let found: Vec<String> = items(&twin, &target).into_keys().collect();
        assert_eq!(found, [pk], "{arn}");
    }
}

/// A checkpoint has the backup of a deleted table until it expires.
#[test]
fn checkpoints_have_no_expired_backups() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    recovery(&twin, 35);
    twin.ok("DeleteTable", &json!({"TableName": "tab"}));
    for (wait, there) in [(0, true), (35 * 24 * 3600 - 1, true), (1, false)] {
        twin.engine.advance(Duration::from_secs(wait));
        let commits = format!("{:?}", commits::dump(&twin.engine));
        assert_eq!(commits.contains("tab$DeletedTableBackup"), there, "{wait} s later");
    }
}

#[test]
fn a_backup_describes_the_indexes_that_the_table_has() {
    for (local, global) in [(false, false), (true, false), (false, true), (true, true)] {
        let twin = Twin::new(1);
        let key = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
        let mut table = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("pk", "sk"),
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"}]});
        let mut expect = [Value::Null, Value::Null];
        for (kind, wanted, name, key) in [
            ("LocalSecondaryIndexes", local, "by-l", key("pk", "l")),
            ("GlobalSecondaryIndexes", global, "by-g", key("sk", "l")),
        ] {
            if wanted {
                let projection = json!({"ProjectionType": "KEYS_ONLY"});
                let mut index = json!({"IndexName": name, "KeySchema": key, "Projection": projection});
                table[kind] = json!([index]);
                if kind == "GlobalSecondaryIndexes" {
                    index["ProvisionedThroughput"] = json!({"ReadCapacityUnits": 0, "WriteCapacityUnits": 0});
                }
                expect[usize::from(kind == "GlobalSecondaryIndexes")] = json!([index]);
                let attributes = table["AttributeDefinitions"].as_array_mut().unwrap();
                attributes.truncate(2);
                attributes.push(json!({"AttributeName": "l", "AttributeType": "S"}));
            }
        }
        twin.ok("CreateTable", &table);
        let arn = backup(&twin, "backup");
        let described = twin.ok("DescribeBackup", &json!({ "BackupArn": arn }));
        let features = &described["BackupDescription"]["SourceTableFeatureDetails"];
        let listed = [&features["LocalSecondaryIndexes"], &features["GlobalSecondaryIndexes"]];
        assert_eq!(listed, [&expect[0], &expect[1]], "{local} {global}");
    }
}

#[test]
fn a_backup_describes_the_limits_of_the_table_and_of_each_index() {
    let limits = |read: i64, write: i64| json!({"MaxReadRequestUnits": read, "MaxWriteRequestUnits": write});
    for lacking in 0..4 {
        let mut expect = [limits(5, 6), limits(7, 8), limits(9, 10)].map(Some);
        if let Some(limits) = expect.get_mut(lacking) {
            *limits = None;
        }
        let twin = Twin::new(1);
        let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
        let with_limits = |mut owner: Value, limits: Option<&Value>| {
            if let Some(limits) = limits {
                owner["OnDemandThroughput"] = limits.clone();
            }
            owner
        };
        let index = |name: &str, limits: Option<&Value>| {
            let index = json!({"IndexName": name, "KeySchema": key("g"), "Projection": {"ProjectionType": "ALL"}});
            with_limits(index, limits)
        };
        let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
        let table = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("pk"),
            "AttributeDefinitions": attributes,
            "GlobalSecondaryIndexes": [index("one", expect[1].as_ref()), index("two", expect[2].as_ref())]});
        twin.ok("CreateTable", &with_limits(table, expect[0].as_ref()));
        let arn = backup(&twin, "backup");
        let described = &twin.ok("DescribeBackup", &json!({ "BackupArn": arn }))["BackupDescription"];
        let indexes = &described["SourceTableFeatureDetails"]["GlobalSecondaryIndexes"];
        let owners = [&described["SourceTableDetails"], &indexes[0], &indexes[1]];
        let found = owners.map(|owner| owner.get("OnDemandThroughput").cloned());
        assert_eq!(found, expect, "{described}");
    }
}

#[test]
fn a_backup_describes_a_stream_that_is_on() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    for (stream, expect) in [
        (Value::Null, Value::Null),
        (
            json!({"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}),
            json!({"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}),
        ),
        (json!({"StreamEnabled": false}), Value::Null),
    ] {
        if !stream.is_null() {
            twin.ok(
                "UpdateTable",
                &json!({"TableName": "tab", "StreamSpecification": stream}),
            );
        }
        let arn = backup(&twin, "backup");
        let described = twin.ok("DescribeBackup", &json!({ "BackupArn": arn }));
        let features = &described["BackupDescription"]["SourceTableFeatureDetails"];
        assert_eq!(features["StreamDescription"], expect, "{stream}");
    }
}

/// A list continues after the backup where its page ended, though that has been deleted meanwhile.
#[test]
fn a_deleted_backup_has_a_place_in_the_list() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    let made = ["one", "two", "three", "four"].map(|name| {
        twin.engine.advance(Duration::from_secs(1));
        backup(&twin, name)
    });
    for (limit, rest) in [(2, &made[2..]), (1, &made[1..])] {
        let page = twin.ok("ListBackups", &json!({"Limit": limit}));
        let last = page["LastEvaluatedBackupArn"].clone();
        assert_eq!(last, made[limit - 1]);
        twin.ok("DeleteBackup", &json!({"BackupArn": last}));
        let next = twin.ok("ListBackups", &json!({"ExclusiveStartBackupArn": last}));
        let listed = next["BackupSummaries"].as_array().unwrap().iter();
        let listed: Vec<&Value> = listed.map(|each| &each["BackupArn"]).collect();
        let expect: Vec<&String> = rest.iter().filter(|arn| limit == 2 || **arn != made[1]).collect();
        assert_eq!(json!(listed), json!(expect), "{limit}");
    }
}

/// The ARNs of all deleted backups of a moment are known, in whichever order these were deleted.
#[test]
fn backups_deleted_in_any_order_keep_their_arns() {
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]] {
        let twin = Twin::new(1);
        create_table_with_ttl(&twin);
        let made: Vec<String> = (0..4).map(|_| backup(&twin, "first")).collect();
        for at in order {
            twin.ok("DeleteBackup", &json!({"BackupArn": made[at]}));
        }
        for _ in 0..4 {
            let arn = backup(&twin, "again");
            assert!(!made.contains(&arn), "{order:?}: {arn} is among {made:?}");
        }
    }
}

#[test]
fn a_restore_to_provisioned_units_needs_those_of_each_index() {
    let twin = with_two_indexes();
    let arn = backup(&twin, "first");
    let index = |name: &str, units: Option<u64>| {
        let mut index = json!({"IndexName": name, "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"}});
        if let Some(units) = units {
            index["ProvisionedThroughput"] = json!({"ReadCapacityUnits": units, "WriteCapacityUnits": units});
        }
        index
    };
    let request = |units: [Option<u64>; 2]| {
        json!({"BackupArn": arn, "TargetTableName": "copy", "BillingModeOverride": "PROVISIONED",
            "ProvisionedThroughputOverride": {"ReadCapacityUnits": 3, "WriteCapacityUnits": 3},
            "GlobalSecondaryIndexOverride": [index("one", units[0]), index("two", units[1])]})
    };
    for (units, missing) in [
        ([None, None], "one"),
        ([None, Some(5)], "one"),
        ([Some(4), None], "two"),
    ] {
        assert_eq!(
            twin.error("RestoreTableFromBackup", &request(units)),
            format!("ValidationException: Invalid Request: Must specify provisioned throughput for index {missing}"),
            "{units:?}"
        );
    }
    let table = twin.ok("RestoreTableFromBackup", &request([Some(4), Some(5)]))["TableDescription"].take();
    let units = |at: usize| table["GlobalSecondaryIndexes"][at]["ProvisionedThroughput"]["ReadCapacityUnits"].clone();
    assert_eq!([units(0), units(1)], [4, 5]);
}

/// Returns a twin with a table that has a local index and two global indexes on the same attribute, and its recovery on.
fn with_two_indexes() -> Twin {
    let twin = Twin::new(1);
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let index = |name: &str, keys: Value| json!({"IndexName": name, "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}});
    let attributes = ["pk", "sk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let globals = ["one", "two"].map(|name| index(name, json!([key("g", "HASH")])));
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
            "KeySchema": [key("pk", "HASH"), key("sk", "RANGE")], "GlobalSecondaryIndexes": globals,
            "LocalSecondaryIndexes": [index("local", json!([key("pk", "HASH"), key("g", "RANGE")]))]}),
    );
    recovery(&twin, 35);
    twin
}

/// The indexes of an override are matched by their keys and projections, and may have other names.
#[test]
fn no_two_restored_indexes_have_the_same_name() {
    let twin = with_two_indexes();
    let arn = backup(&twin, "first");
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let global = |name: &str| json!({"IndexName": name, "KeySchema": [key("g", "HASH")], "Projection": {"ProjectionType": "ALL"}});
    let local = |name: &str| {
        json!({"IndexName": name, "KeySchema": [key("pk", "HASH"), key("g", "RANGE")],
            "Projection": {"ProjectionType": "ALL"}})
    };
    for (overrides, twice) in [
        (
            json!({"GlobalSecondaryIndexOverride": [global("new"), global("new")]}),
            Some("new"),
        ),
        (
            json!({"GlobalSecondaryIndexOverride": [global("local")]}),
            Some("local"),
        ),
        (json!({"LocalSecondaryIndexOverride": [local("two")]}), Some("two")),
        (
            json!({"GlobalSecondaryIndexOverride": [global("new")], "LocalSecondaryIndexOverride": [local("new")]}),
            Some("new"),
        ),
        (
            json!({"GlobalSecondaryIndexOverride": [global("local")], "LocalSecondaryIndexOverride": [local("one")]}),
            None,
        ),
    ] {
        let mut request = overrides.clone();
        request["BackupArn"] = json!(arn);
        request["TargetTableName"] = json!("copy");
        let Some(twice) = twice else {
            twin.ok("RestoreTableFromBackup", &request);
            continue;
        };
        assert_eq!(
            twin.error("RestoreTableFromBackup", &request),
            format!("ValidationException: One or more parameter values were invalid: Duplicate index name: {twice}"),
            "{overrides}"
        );
    }
}

#[test]
fn a_backup_is_listed_while_it_is_created() {
    let twin = Twin::new(1);
    let slow = Conditions {
        table_status: Lag::Fixed(Duration::from_secs(6)),
        ..Conditions::CALM
    };
    twin.engine.set_conditions(slow).unwrap();
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}),
    );
    twin.engine.advance(Duration::from_mins(1));
    backup(&twin, "first");
    twin.engine.advance(Duration::from_mins(1));
    let arn = backup(&twin, "second");
    let statuses = || -> BTreeMap<String, String> {
        let list = twin.ok("ListBackups", &json!({}))["BackupSummaries"].take();
        let member = |backup: &Value, name: &str| backup[name].as_str().unwrap().to_owned();
        let entry = |backup: &Value| (member(backup, "BackupName"), member(backup, "BackupStatus"));
        list.as_array().unwrap().iter().map(entry).collect()
    };
    let expect = |status: &str| {
        let entries = [("first", "AVAILABLE"), ("second", status)];
        BTreeMap::from(entries.map(|(name, status)| (name.to_owned(), status.to_owned())))
    };
    assert_eq!(statuses(), expect("CREATING"));
    twin.engine.advance(Duration::from_millis(50));
    assert_eq!(statuses(), expect("AVAILABLE"));
    let described = twin.ok("DescribeBackup", &json!({"BackupArn": arn}));
    assert_eq!(
        described["BackupDescription"]["BackupDetails"]["BackupStatus"],
        "AVAILABLE"
    );
}

/// A backup keeps the region of its table, and callers of all regions share the backups.
#[test]
fn a_list_of_shared_backups_continues_in_another_region() {
    let mut twin = Twin::new(1);
    twin.engine = Engine::new(Settings {
        shared_db: true,
        ..settings(1)
    });
    create_table_with_ttl(&twin);
    let arns = ["first", "second", "third"].map(|name| {
        twin.engine.advance(Duration::from_mins(1));
        backup(&twin, name)
    });
    twin.caller.region = "eu-west-1".into();
    let mut found = Vec::new();
    let mut request = json!({"Limit": 1});
    while found.len() < arns.len() {
        let page = twin.ok("ListBackups", &request);
        found.push(page["BackupSummaries"][0]["BackupArn"].as_str().unwrap().to_owned());
        match page.get("LastEvaluatedBackupArn") {
            Some(last) => request["ExclusiveStartBackupArn"] = last.clone(),
            None => break,
        }
    }
    found.sort();
    let mut expect = arns.to_vec();
    expect.sort();
    assert_eq!(found, expect);
}

/// Items that time to live has deleted by the moment of a change belong to the time before it.
#[test]
fn what_is_due_at_a_change_of_the_table_is_done_before_it() {
    let expired = || {
        let twin = Twin::new(1);
        create_table_with_ttl(&twin);
        recovery(&twin, 35);
        let expires = (twin.seconds() + 60).to_string();
        let item = json!({"pk": {"S": "a"}, "g": {"S": "x"}, "ttl": {"N": expires}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        put(&twin, "b", "y");
        twin.engine.clock().set(Moment::START.plus(Duration::from_secs(1000)));
        twin
    };
    let left = BTreeMap::from([("b".to_owned(), "y".to_owned())]);

    let twin = expired();
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": false, "AttributeName": "ttl"}}),
    );
    assert_eq!(items(&twin, "tab"), left, "time to live is disabled");

    let twin = expired();
    twin.ok("DeleteTable", &json!({"TableName": "tab"}));
    let listed = twin.ok("ListBackups", &json!({"BackupType": "SYSTEM"}));
    let system = json!({"BackupArn": listed["BackupSummaries"][0]["BackupArn"]});
    let described = twin.ok("DescribeBackup", &system);
    assert_eq!(
        described["BackupDescription"]["SourceTableDetails"]["ItemCount"], 1,
        "the table is deleted"
    );
    twin.ok(
        "RestoreTableFromBackup",
        &json!({"TargetTableName": "copy", "BackupArn": system["BackupArn"]}),
    );
    assert_eq!(items(&twin, "copy"), left, "the table is deleted");
}
