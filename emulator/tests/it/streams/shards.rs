//! The number of shards, their succession and their splits.

use std::time::Duration;

use crate::common::Twin;
use dynatwin_engine::{Conditions, Lag, Shards};
use serde_json::{Value, json};

use super::{describe, iterator, latest, put, records, refused, shards, switch, text, with_stream};

#[test]
fn the_number_of_shards_follows_throughput() {
    let provisioned = |read: u64, write: u64| Some([read, write]);
    let by_throughput = Shards::ByThroughput;
    for (shards, throughput, expect) in [
        // Under `calm` there is always one.
        (Conditions::CALM.stream_shards, None, 1),
        (Conditions::CALM.stream_shards, provisioned(9000, 9000), 1),
        (Conditions::AWS.stream_shards, provisioned(5, 5), 1),
        (Conditions::AWS.stream_shards, None, 4),
        (by_throughput, provisioned(3000, 1000), 2),
        (by_throughput, provisioned(8000, 1), 3),
        (Shards::Fixed(3), provisioned(5, 5), 3),
        (Shards::Fixed(0), None, 1),
    ] {
        for later in [false, true] {
            let twin = Twin::new(1);
            twin.engine
                .set_conditions(Conditions {
                    stream_shards: shards,
                    ..Conditions::CALM
                })
                .unwrap();
            let specification = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
            let mut table = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
            if let Some([read, write]) = throughput {
                table["BillingMode"] = "PROVISIONED".into();
                table["ProvisionedThroughput"] = json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write});
            }
            if later {
                twin.ok("CreateTable", &table);
                twin.ok(
                    "UpdateTable",
                    &json!({"TableName": "tab", "StreamSpecification": specification}),
                );
            } else {
                table["StreamSpecification"] = specification;
                twin.ok("CreateTable", &table);
            }
            let arn = latest(&twin);
            let case = format!("{shards:?} {throughput:?} {later}");
            assert_eq!(self::shards(&twin, &arn).len(), expect, "{case}");
            // Whichever shard it is in, each record is there, in the order of its item.
            (0..40).for_each(|at| put(&twin, &format!("k{}", at % 20), at));
            assert_eq!(records(&twin, &arn).len(), 40, "{case}");
        }
    }
}

#[test]
fn a_new_stream_has_a_maximum_number_of_shards() {
    for (wanted, expect) in [(1023, 1023), (1024, 1024), (1025, 1024), (u32::MAX, 1024)] {
        let twin = Twin::new(1);
        twin.engine
            .set_conditions(Conditions {
                stream_shards: Shards::Fixed(wanted),
                ..Conditions::CALM
            })
            .unwrap();
        twin.ok(
            "CreateTable",
            &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}}),
        );
        let mut request = json!({"StreamArn": latest(&twin)});
        let mut count = 0;
        loop {
            let page = twin.ok("DescribeStream", &request)["StreamDescription"].take();
            count += page["Shards"].as_array().unwrap().len();
            match page.get("LastEvaluatedShardId") {
                Some(last) => request["ExclusiveStartShardId"] = last.clone(),
                None => break,
            }
        }
        assert_eq!(count, expect, "{wanted}");
    }
}

#[test]
fn shards_follow_each_other() {
    let twin = with_stream();
    let arn = latest(&twin);
    for v in 0..30 {
        put(&twin, &format!("k{}", v % 7), v);
        twin.engine.advance(Duration::from_mins(30));
    }
    let shards = shards(&twin, &arn);
    assert_eq!(shards.len(), 16, "four lineages, four shards each");
    let open = |shard: &&Value| shard["SequenceNumberRange"].get("EndingSequenceNumber").is_none();
    assert_eq!(shards.iter().filter(open).count(), 4);
    for (at, shard) in shards.iter().enumerate() {
        let parent = shard.get("ParentShardId");
        assert_eq!(parent.is_none(), at < 4);
        assert!(parent.is_none_or(|parent| shards[..at].iter().any(|before| before["ShardId"] == *parent)));
        let children = json!({"StreamArn": arn, "ShardFilter": {"Type": "CHILD_SHARDS", "ShardId": shard["ShardId"]}});
        let found = twin.ok("DescribeStream", &children)["StreamDescription"]["Shards"].clone();
        let expect: Vec<&Value> = shards
            .iter()
            .filter(|child| child["ParentShardId"] == shard["ShardId"])
            .collect();
        assert_eq!(found, json!(expect));
    }
    // Parents first, so each item's changes are in order.
    let found = records(&twin, &arn);
    assert_eq!(found.len(), 30);
    for key in 0..7 {
        let of_key = found
            .iter()
            .filter(|record| record["dynamodb"]["Keys"]["pk"]["S"] == format!("k{key}"));
        let values: Vec<i64> = of_key
            .map(|record| text(&record["dynamodb"]["NewImage"]["v"]["N"]).parse().unwrap())
            .collect();
        assert_eq!(values, (0..30).filter(|v| v % 7 == key).collect::<Vec<_>>());
    }
    // In pages.
    let mut pages = Vec::new();
    let mut body = json!({"StreamArn": arn, "Limit": 3});
    loop {
        let page = twin.ok("DescribeStream", &body)["StreamDescription"].clone();
        pages.extend(page["Shards"].as_array().unwrap().clone());
        match page.get("LastEvaluatedShardId") {
            Some(last) => body["ExclusiveStartShardId"] = last.clone(),
            None => break,
        }
    }
    assert_eq!(pages, shards);
}

#[test]
fn readers_follow_a_split() {
    let twin = with_stream();
    let arn = latest(&twin);
    for v in 0..40 {
        put(&twin, &format!("k{v}"), v);
    }
    let before = shards(&twin, &arn);
    assert_eq!(twin.engine.account(&twin.caller).split_shards("tab"), Ok(true));
    assert!(twin.engine.account(&twin.caller).split_shards("none").is_err());
    for v in 0..40 {
        put(&twin, &format!("k{v}"), 100 + v);
    }
    let after = shards(&twin, &arn);
    assert_eq!(after.len(), before.len() * 3);
    for parent in &before {
        let children: Vec<&Value> = after
            .iter()
            .filter(|shard| shard["ParentShardId"] == parent["ShardId"])
            .collect();
        assert_eq!(children.len(), 2);
        for child in children {
            let next = iterator(&twin, &arn, child["ShardId"].as_str().unwrap(), "TRIM_HORIZON");
            let found = twin.ok("GetRecords", &json!({"ShardIterator": next}));
            assert_ne!(found["Records"], json!([]), "both halves have keys");
        }
    }
    // Parents first, so records from before the split come first.
    let found = records(&twin, &arn);
    for key in 0..40 {
        let of_key = found
            .iter()
            .filter(|record| record["dynamodb"]["Keys"]["pk"]["S"] == format!("k{key}"));
        let events: Vec<String> = of_key.map(|record| text(&record["eventName"])).collect();
        assert_eq!(events, ["INSERT", "MODIFY"]);
    }
}

#[test]
fn a_switch_of_the_billing_mode_takes_time() {
    let twin = with_stream();
    let mut conditions = Conditions::CALM;
    conditions.table_status = Lag::Fixed(Duration::from_secs(6));
    twin.engine.set_conditions(conditions).unwrap();
    let second = |seconds| twin.engine.advance(Duration::from_secs(seconds));
    let first = latest(&twin);
    assert_eq!(switch(&twin, None).0, 200);
    assert_eq!(describe(&twin, &first)["StreamStatus"], "DISABLING");
    let label = first.rsplit('/').next().unwrap().to_owned();
    let status = || text(&twin.ok("DescribeTable", &json!({"TableName": "tab"}))["Table"]["TableStatus"]);
    assert_eq!(status(), "UPDATING");
    let update = |more: Value| {
        let mut body = json!({"TableName": "tab"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        twin.send("UpdateTable", &body)
    };
    let in_use = "ResourceInUseException: Attempt to change a resource which is still in use: ";
    let units = json!({"ReadCapacityUnits": 5, "WriteCapacityUnits": 5});
    let index = json!({"AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": {"IndexName": "by-g", "Projection": {"ProjectionType": "ALL"},
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]}}]});
    let stream = json!({"StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}});
    let disabling = format!("Table: tab Stream: {label} Operation: DISABLE");
    for (change, expect) in [
        (
            stream.clone(),
            format!("{in_use}A stream status change is currently in progress. {disabling}"),
        ),
        (
            json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": units}),
            format!("{in_use}Can't change table IOPS when stream status is being updated. {disabling}"),
        ),
        (
            index.clone(),
            format!("{in_use}Can't create or delete an index when stream status is being updated."),
        ),
        (
            json!({"OnDemandThroughput": {"MaxReadRequestUnits": 5}}),
            format!("{in_use}OnDemandThroughput cannot be updated while stream status update is in progress"),
        ),
        (
            json!({"TableClass": "STANDARD_INFREQUENT_ACCESS"}),
            format!("{in_use}Can't update table class when stream status is being updated. {disabling}"),
        ),
    ] {
        refused(update(change), &expect);
    }
    refused(
        twin.send("DeleteTable", &json!({"TableName": "tab"})),
        &format!("{in_use}Cannot delete table while stream is being enabled/disabled."),
    );
    second(5);
    assert_eq!(describe(&twin, &first)["StreamStatus"], "DISABLED");
    assert_eq!(status(), "ACTIVE");
    assert_eq!(update(stream.clone()).0, 200);
    let arn = latest(&twin);
    assert_eq!(describe(&twin, &arn)["StreamStatus"], "ENABLING");
    refused(
        update(json!({"StreamSpecification": {"StreamEnabled": false}})),
        &format!(
            "{in_use}A stream status change is currently in progress. Table: tab Stream: {} Operation: ENABLE",
            arn.rsplit('/').next().unwrap()
        ),
    );
    put(&twin, "a", 1);
    second(5);
    assert_eq!(describe(&twin, &arn)["StreamStatus"], "ENABLED");
    assert_eq!(records(&twin, &arn).len(), 1);
    // Another change in progress blocks a switch.
    assert_eq!(update(index).0, 200);
    let off = || update(json!({"StreamSpecification": {"StreamEnabled": false}}));
    refused(
        off(),
        &format!("{in_use}Can't change stream status when an index is being created"),
    );
    second(600);
    assert_eq!(
        update(json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": units,
        "GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "by-g", "ProvisionedThroughput": units}}]}))
        .0,
        200
    );
    refused(
        off(),
        &format!("{in_use}Can't enable or disable stream while table IOPS are being updated. Table: tab"),
    );
    second(100);
    // A switch back to on-demand can be combined with a stream.
    assert_eq!(
        update(json!({"BillingMode": "PAY_PER_REQUEST", "StreamSpecification": {"StreamEnabled": false}})).0,
        200
    );
    assert_eq!(describe(&twin, &arn)["StreamStatus"], "DISABLING");
}

/// Without a limit, DescribeStream returns a hundred shards.
#[test]
fn a_page_has_a_hundred_shards() {
    let twin = Twin::new(1);
    for (count, first, rest) in [(100, 100, None), (101, 100, Some(1)), (203, 100, Some(100))] {
        twin.engine
            .set_conditions(Conditions {
                stream_shards: Shards::Fixed(count),
                ..Conditions::CALM
            })
            .unwrap();
        twin.ok(
            "CreateTable",
            &json!({"TableName": format!("tab-{count}"), "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}}),
        );
        let streams = twin.ok("ListStreams", &json!({"TableName": format!("tab-{count}")}));
        let mut body = json!({"StreamArn": streams["Streams"][0]["StreamArn"]});
        let mut page = || {
            let page = twin.ok("DescribeStream", &body)["StreamDescription"].clone();
            let shards = page["Shards"].as_array().unwrap();
            let last = page.get("LastEvaluatedShardId").cloned();
            if let Some(last) = &last {
                assert_eq!(*last, shards[shards.len() - 1]["ShardId"]);
                body["ExclusiveStartShardId"] = last.clone();
            }
            (shards.len(), last.is_some())
        };
        assert_eq!(page(), (first, rest.is_some()), "{count}");
        if let Some(rest) = rest {
            assert_eq!(page(), (rest, count > 200), "{count}");
        }
    }
}

/// Checks a page of shards: those of the filter after the start, as many as the limit, and the last one's ID if there are more.
fn check_page(
    twin: &Twin,
    arn: &str,
    all: &[Value],
    (parent, start, limit): (Option<&Value>, Option<&str>, Option<usize>),
) {
    let mut body = json!({"StreamArn": arn});
    if let Some(parent) = parent {
        body["ShardFilter"] = json!({"Type": "CHILD_SHARDS", "ShardId": parent});
    }
    if let Some(start) = start {
        body["ExclusiveStartShardId"] = start.into();
    }
    if let Some(limit) = limit {
        body["Limit"] = limit.into();
    }
    let wanted = |shard: &&Value| {
        parent.is_none_or(|parent| shard["ParentShardId"] == *parent)
            && start.is_none_or(|start| shard["ShardId"].as_str().unwrap() > start)
    };
    let rest: Vec<&Value> = all.iter().filter(wanted).collect();
    let page = &rest[..rest.len().min(limit.unwrap_or(100))];
    let found = twin.ok("DescribeStream", &body)["StreamDescription"].clone();
    assert_eq!(found["Shards"], json!(page), "{body}");
    let last = page.last().filter(|_| page.len() < rest.len());
    assert_eq!(
        found.get("LastEvaluatedShardId"),
        last.map(|shard| &shard["ShardId"]),
        "{body}"
    );
}

#[test]
fn pages_of_shards_are_those_of_the_filter_after_the_start() {
    let twin = with_stream();
    let arn = latest(&twin);
    for v in 0..2 {
        put(&twin, "k", v);
        assert_eq!(twin.engine.account(&twin.caller).split_shards("tab"), Ok(true));
        put(&twin, "k", 10 + v);
        twin.engine.advance(Duration::from_hours(1));
    }
    let all = shards(&twin, &arn);
    assert!(all.len() >= 28, "{}", all.len());
    let ids: Vec<&str> = all.iter().map(|shard| shard["ShardId"].as_str().unwrap()).collect();
    assert!(ids.is_sorted());
    let (first, last) = (ids[0].to_owned(), ids[ids.len() - 1].to_owned());
    // IDs of no shard: before the first, after one in the middle, and after the last.
    let made = [
        format!("{}-", &first[..first.len() - 1]),
        format!("{}~", ids[ids.len() / 2]),
        format!("{last}~"),
    ];
    let starts = ids
        .iter()
        .copied()
        .chain(made.iter().map(String::as_str))
        .filter(|id| (28..=65).contains(&id.len()));
    let starts: Vec<Option<&str>> = std::iter::once(None).chain(starts.map(Some)).collect();
    for start in starts {
        for limit in [None, Some(1), Some(2), Some(3), Some(100)] {
            check_page(&twin, &arn, &all, (None, start, limit));
            for parent in all.iter().map(|shard| &shard["ShardId"]) {
                check_page(&twin, &arn, &all, (Some(parent), start, limit));
            }
        }
    }
}
