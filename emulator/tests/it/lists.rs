//! Lists in pages of every size, with and without filters: each page has as many entries as it may, the pages together are the
//! list, and the last one has no cursor.

use std::time::Duration;

use crate::common::Twin;
use serde_json::{Value, json};

/// A list operation: the members of its request and answer.
struct List {
    operation: &'static str,
    entries: &'static str,
    limit: &'static str,
    /// The cursor in the answer, and in the request.
    cursor: [&'static str; 2],
    most: usize,
}

const TABLES: List = List {
    operation: "ListTables",
    entries: "TableNames",
    limit: "Limit",
    cursor: ["LastEvaluatedTableName", "ExclusiveStartTableName"],
    most: 100,
};
const STREAMS: List = List {
    operation: "ListStreams",
    entries: "Streams",
    limit: "Limit",
    cursor: ["LastEvaluatedStreamArn", "ExclusiveStartStreamArn"],
    most: 100,
};
const BACKUPS: List = List {
    operation: "ListBackups",
    entries: "BackupSummaries",
    limit: "Limit",
    cursor: ["LastEvaluatedBackupArn", "ExclusiveStartBackupArn"],
    most: 100,
};
const INSIGHTS: List = List {
    operation: "ListContributorInsights",
    entries: "ContributorInsightsSummaries",
    limit: "MaxResults",
    cursor: ["NextToken", "NextToken"],
    most: 100,
};

/// Checks a list with a filter in pages of several sizes, and returns its entries.
fn check(twin: &Twin, list: &List, filter: &Value, expect: &[Value]) {
    let whole = twin.ok(list.operation, filter);
    assert_eq!(whole[list.entries], json!(expect), "{} {filter}", list.operation);
    assert!(
        whole.get(list.cursor[0]).is_none(),
        "{} {filter}: {whole}",
        list.operation
    );
    for size in [
        1,
        2,
        expect.len().max(2) - 1,
        expect.len().max(1),
        expect.len() + 1,
        list.most,
    ] {
        let mut request = filter.clone();
        request[list.limit] = size.into();
        let mut found = 0;
        loop {
            let page = twin.ok(list.operation, &request);
            let rest = &expect[found..];
            let entries = &rest[..rest.len().min(size)];
            assert_eq!(page[list.entries], json!(entries), "{} {request}", list.operation);
            found += entries.len();
            let cursor = page.get(list.cursor[0]);
            assert_eq!(
                cursor.is_some(),
                found < expect.len(),
                "{} {request}: {page}",
                list.operation
            );
            match cursor {
                Some(cursor) => request[list.cursor[1]] = cursor.clone(),
                None => break,
            }
        }
    }
}

fn create(twin: &Twin, name: &str, stream: bool) {
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let index = |name: &str| json!({"IndexName": name, "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}});
    let mut table = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [attribute("pk"), attribute("g")], "GlobalSecondaryIndexes": [index("two"), index("one")]});
    if stream {
        table["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
    }
    twin.ok("CreateTable", &table);
}

/// Entries of the whole list that satisfy a condition.
fn filtered(twin: &Twin, list: &List, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
    let whole = twin.ok(list.operation, &json!({}))[list.entries].clone();
    whole
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| wanted(entry))
        .cloned()
        .collect()
}

#[test]
fn tables_are_listed_by_name() {
    let twin = Twin::new(1);
    check(&twin, &TABLES, &json!({}), &[]);
    let names = ["-dash", "123", "Upper", "_under", "a.b", "a-b", "aa", "aab", "b"];
    for name in names.iter().rev().filter(|name| name.len() >= 3) {
        create(&twin, name, false);
    }
    let mut sorted: Vec<&str> = names.into_iter().filter(|name| name.len() >= 3).collect();
    sorted.sort_unstable();
    let sorted: Vec<Value> = sorted.into_iter().map(Value::from).collect();
    check(&twin, &TABLES, &json!({}), &sorted);
    // A start need not be a table.
    for start in ["---", "Upper", "Uppes", "aab", "zzz"] {
        let rest: Vec<Value> = sorted
            .iter()
            .filter(|name| name.as_str().unwrap() > start)
            .cloned()
            .collect();
        check(&twin, &TABLES, &json!({"ExclusiveStartTableName": start}), &rest);
    }
}

#[test]
fn streams_are_listed_by_table() {
    let twin = Twin::new(1);
    check(&twin, &STREAMS, &json!({}), &[]);
    for name in ["bbb", "aaa", "aaab", "none"] {
        create(&twin, name, name != "none");
    }
    // Each switch makes another stream of the table. Tables have one, two and three.
    for (name, switches) in [("aaa", 1), ("bbb", 2)] {
        for _ in 0..switches {
            twin.engine.advance(Duration::from_mins(1));
            let off = json!({"TableName": name, "StreamSpecification": {"StreamEnabled": false}});
            twin.ok("UpdateTable", &off);
            twin.engine.advance(Duration::from_mins(1));
            let on = json!({"TableName": name, "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}});
            twin.ok("UpdateTable", &on);
        }
    }
    twin.engine.advance(Duration::from_mins(1));
    let all = filtered(&twin, &STREAMS, |_| true);
    assert_eq!(all.len(), 6);
    check(&twin, &STREAMS, &json!({}), &all);
    for (name, count) in [("aaa", 2), ("aaab", 1), ("bbb", 3), ("none", 0)] {
        let expect = filtered(&twin, &STREAMS, |stream| stream["TableName"] == name);
        assert_eq!(expect.len(), count, "{name}");
        check(&twin, &STREAMS, &json!({"TableName": name}), &expect);
        // The start may be a stream of another table.
        for start in &all {
            let at = all.iter().position(|stream| stream == start).unwrap();
            let expect: Vec<Value> = all[at + 1..]
                .iter()
                .filter(|stream| stream["TableName"] == name)
                .cloned()
                .collect();
            check(
                &twin,
                &STREAMS,
                &json!({"TableName": name, "ExclusiveStartStreamArn": start["StreamArn"]}),
                &expect,
            );
        }
    }
}

#[test]
fn backups_are_listed_by_every_filter() {
    let twin = Twin::new(1);
    check(&twin, &BACKUPS, &json!({}), &[]);
    for name in ["aaa", "bbb", "aaab"] {
        create(&twin, name, false);
    }
    for (at, name) in ["bbb", "aaa", "aaa", "bbb", "aaab", "aaa"].into_iter().enumerate() {
        twin.engine.advance(Duration::from_mins(1));
        let backup = json!({"TableName": name, "BackupName": format!("backup-{at}")});
        twin.ok("CreateBackup", &backup);
    }
    // Deleting a table with recovery leaves a backup of the system.
    twin.ok(
        "UpdateContinuousBackups",
        &json!({"TableName": "bbb", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}}),
    );
    twin.engine.advance(Duration::from_mins(1));
    twin.ok("DeleteTable", &json!({"TableName": "bbb"}));
    twin.engine.advance(Duration::from_mins(1));
    let all = twin.ok("ListBackups", &json!({"BackupType": "ALL"}))["BackupSummaries"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(all.len(), 7);
    let time = |backup: &Value| backup["BackupCreationDateTime"].as_f64().unwrap();
    let of_kind = |kind: &str, backup: &Value| kind == "ALL" || backup["BackupType"] == kind;
    for kind in ["ALL", "USER", "SYSTEM", "AWS_BACKUP"] {
        for table in [None, Some("aaa"), Some("bbb"), Some("aaab"), Some("none")] {
            for (from, to) in [(0, 7), (2, 7), (0, 4), (2, 5), (3, 3)] {
                let mut times: Vec<f64> = all.iter().map(time).collect();
                times.sort_by(f64::total_cmp);
                let mut filter = json!({"BackupType": kind});
                if let Some(table) = table {
                    filter["TableName"] = table.into();
                }
                if from > 0 {
                    filter["TimeRangeLowerBound"] = times[from].into();
                }
                if to < 7 {
                    filter["TimeRangeUpperBound"] = times[to].into();
                }
                let wanted = |backup: &&Value| {
                    of_kind(kind, backup)
                        && table.is_none_or(|table| backup["TableName"] == table)
                        && (from == 0 || time(backup) >= times[from])
                        && (to == 7 || time(backup) < times[to])
                };
                let expect: Vec<Value> = all.iter().filter(wanted).cloned().collect();
                check(&twin, &BACKUPS, &filter, &expect);
            }
        }
    }
}

#[test]
fn insights_are_listed_by_table_and_index() {
    let twin = Twin::new(1);
    check(&twin, &INSIGHTS, &json!({}), &[]);
    for name in ["bbb", "aaa", "aaab", "none"] {
        create(&twin, name, false);
    }
    for (table, index) in [
        ("bbb", Some("one")),
        ("bbb", None),
        ("aaa", Some("two")),
        ("aaa", Some("one")),
        ("aaab", None),
        ("aaa", None),
    ] {
        let mut enable = json!({"TableName": table, "ContributorInsightsAction": "ENABLE"});
        if let Some(index) = index {
            enable["IndexName"] = index.into();
        }
        twin.ok("UpdateContributorInsights", &enable);
    }
    let all = filtered(&twin, &INSIGHTS, |_| true);
    assert_eq!(all.len(), 6);
    check(&twin, &INSIGHTS, &json!({}), &all);
    for (name, count) in [("aaa", 3), ("aaab", 1), ("bbb", 2), ("none", 0)] {
        let expect = filtered(&twin, &INSIGHTS, |entry| entry["TableName"] == name);
        assert_eq!(expect.len(), count, "{name}");
        check(&twin, &INSIGHTS, &json!({"TableName": name}), &expect);
    }

    // The index where a page ended is deleted: the next page begins with the one after it.
    let page = twin.ok(INSIGHTS.operation, &json!({"TableName": "aaa", "MaxResults": 2}));
    let index = &page[INSIGHTS.entries][1]["IndexName"];
    let delete = json!({"TableName": "aaa", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": index}}]});
    twin.ok("UpdateTable", &delete);
    let next = json!({"TableName": "aaa", "NextToken": page["NextToken"]});
    assert_eq!(twin.ok(INSIGHTS.operation, &next)[INSIGHTS.entries], json!([all[2]]));
}

/// A list continues after the stream where its page ended, though that can no longer be found.
#[test]
fn a_stream_that_is_gone_has_a_place_in_the_list() {
    let twin = Twin::new(1);
    for name in ["aaa", "bbb", "ccc"] {
        create(&twin, name, true);
    }
    let all = filtered(&twin, &STREAMS, |_| true);
    let page = twin.ok(STREAMS.operation, &json!({"Limit": 2}));
    let off = json!({"TableName": "bbb", "StreamSpecification": {"StreamEnabled": false}});
    twin.ok("UpdateTable", &off);
    twin.engine.advance(Duration::from_hours(25));
    check(&twin, &STREAMS, &json!({}), &[all[0].clone(), all[2].clone()]);
    let next = json!({"ExclusiveStartStreamArn": page[STREAMS.cursor[0]]});
    assert_eq!(page[STREAMS.cursor[0]], all[1]["StreamArn"]);
    check(&twin, &STREAMS, &next, &all[2..]);
}
