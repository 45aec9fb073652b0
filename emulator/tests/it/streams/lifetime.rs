//! How long streams and records can be read, and the limit on their bytes.

use std::time::Duration;

use crate::common::Twin;
use dynatwin_engine::{Conditions, Lag, Shards};
use serde_json::{Value, json};

use super::{
    HOUR, create, describe, iterator, latest, put, records, refused, shards, summaries, switch, text, with_stream,
};

#[test]
fn a_record_lives_a_day() {
    let twin = with_stream();
    put(&twin, "a", 1);
    let arn = latest(&twin);
    let number = records(&twin, &arn)[0]["dynamodb"]["SequenceNumber"].clone();
    let shard = shards(&twin, &arn).iter().map(|shard| text(&shard["ShardId"])).find(|shard| {
        let body = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "AT_SEQUENCE_NUMBER", "SequenceNumber": number});
        twin.send("GetShardIterator", &body).0 == 200
    });
    let shard = shard.unwrap();
    let trimmed = "TrimmedDataAccessException: The data you are trying to access has been trimmed";
    twin.engine.advance(Duration::from_secs(86_399));
    let next = iterator(&twin, &arn, &shard, "TRIM_HORIZON");
    let found = twin.ok("GetRecords", &json!({"ShardIterator": next}));
    assert_eq!(found["Records"].as_array().unwrap().len(), 1);
    assert!(
        found.get("NextShardIterator").is_none(),
        "the shard was followed long ago"
    );
    twin.engine.advance(Duration::from_secs(1));
    refused(twin.send("GetRecords", &json!({"ShardIterator": next})), trimmed);
    let body = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": number});
    refused(twin.send("GetShardIterator", &body), trimmed);
    // The other positions of the shard are at its end.
    for kind in ["TRIM_HORIZON", "LATEST"] {
        let end = iterator(&twin, &arn, &shard, kind);
        let found = twin.ok("GetRecords", &json!({"ShardIterator": end}));
        assert_eq!(
            (&found["Records"], found.get("NextShardIterator")),
            (&json!([]), None),
            "{kind}"
        );
    }
    // Memory is freed as the clock advances, without readers.
    let later = twin.engine.next_due();
    assert!(later > twin.engine.clock().now());
    twin.engine.advance(HOUR * 4);
    let body = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "LATEST"});
    refused(
        twin.send("GetShardIterator", &body),
        "ResourceNotFoundException: Requested resource not found: Shard does not exist",
    );
}

#[test]
fn a_disabled_stream_can_be_read_for_a_day() {
    let twin = with_stream();
    put(&twin, "a", 1);
    let first = latest(&twin);
    let (status, answer) = switch(&twin, None);
    assert_eq!(status, 200);
    let table = &answer["TableDescription"];
    assert_eq!(table["TableStatus"], "UPDATING");
    assert!(table.get("StreamSpecification").is_none());
    assert_eq!(text(&table["LatestStreamArn"]), first);
    put(&twin, "a", 2);
    assert_eq!(summaries(&records(&twin, &first)), ["INSERT a 1"]);
    assert_eq!(describe(&twin, &first)["StreamStatus"], "DISABLED");
    assert!(
        shards(&twin, &first)
            .iter()
            .all(|shard| shard["SequenceNumberRange"].get("EndingSequenceNumber").is_some())
    );
    refused(
        switch(&twin, None),
        "ValidationException: Table has no stream to disable: TableName: tab",
    );
    let (status, answer) = switch(&twin, Some("KEYS_ONLY"));
    assert_eq!(status, 200);
    let table = &answer["TableDescription"];
    assert_eq!(
        table["StreamSpecification"],
        json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"})
    );
    let second = text(&table["LatestStreamArn"]);
    assert_ne!(first, second, "though the clock stands still");
    assert!(second.ends_with(&text(&table["LatestStreamLabel"])));
    refused(
        switch(&twin, Some("NEW_IMAGE")),
        "ValidationException: Table already has an enabled stream: TableName: tab",
    );
    put(&twin, "a", 3);
    assert_eq!(summaries(&records(&twin, &second)), ["MODIFY a -"]);
    assert_eq!(summaries(&records(&twin, &first)), ["INSERT a 1"]);
    let listed = |more: Value| twin.ok("ListStreams", &more)["Streams"].as_array().unwrap().len();
    assert_eq!(listed(json!({})), 2);
    twin.engine.advance(HOUR * 24);
    assert_eq!(listed(json!({"TableName": "tab"})), 1);
    refused(
        twin.send("DescribeStream", &json!({"StreamArn": first})),
        &format!("ResourceNotFoundException: Requested resource not found: Stream: {first} not found"),
    );
    assert_eq!(describe(&twin, &second)["StreamStatus"], "ENABLED");
}

/// Streams of one moment have labels of their own.
#[test]
fn each_stream_of_a_table_has_a_label() {
    let twin = with_stream();
    let mut arns = vec![latest(&twin)];
    for _ in 0..4 {
        assert_eq!(switch(&twin, None).0, 200);
        assert_eq!(switch(&twin, Some("KEYS_ONLY")).0, 200);
        arns.push(latest(&twin));
    }
    let (mut different, count) = (arns.clone(), arns.len());
    different.dedup();
    assert!(arns.is_sorted() && different.len() == count, "{arns:?}");
    let listed = twin.ok("ListStreams", &json!({"TableName": "tab"}))["Streams"].clone();
    let listed: Vec<String> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|stream| text(&stream["StreamArn"]))
        .collect();
    assert_eq!(listed, arns);
}

/// A new stream of a table does not have the tags of the one before, which keeps them.
#[test]
fn each_stream_of_a_table_has_its_own_tags() {
    let twin = with_stream();
    let tags = |stream: &str| twin.ok("ListTagsOfResource", &json!({"ResourceArn": stream}))["Tags"].clone();
    let tag = |stream: &str, value: &str| {
        let tags = json!([{"Key": "number", "Value": value}]);
        let (status, answer) = twin.send("TagResource", &json!({"ResourceArn": stream, "Tags": tags}));
        assert_eq!(status, 200, "{answer}");
        tags
    };
    let first = latest(&twin);
    let of_first = tag(&first, "one");
    assert_eq!(switch(&twin, None).0, 200);
    assert_eq!(switch(&twin, Some("KEYS_ONLY")).0, 200);
    let second = latest(&twin);
    assert_eq!((tags(&first), tags(&second)), (of_first.clone(), json!([])));
    let of_second = tag(&second, "two");
    assert_eq!((tags(&first), tags(&second)), (of_first, of_second));
}

#[test]
fn a_deleted_table_leaves_its_stream() {
    let twin = with_stream();
    put(&twin, "a", 1);
    let first = latest(&twin);
    twin.ok("DeleteTable", &json!({"TableName": "tab"}));
    assert_eq!(summaries(&records(&twin, &first)), ["INSERT a 1"]);
    let description = describe(&twin, &first);
    assert_eq!(description["StreamStatus"], "DISABLED");
    assert_eq!(description["TableName"], "tab");
    create(&twin, "KEYS_ONLY");
    let second = latest(&twin);
    assert_ne!(first, second);
    put(&twin, "a", 2);
    assert_eq!(summaries(&records(&twin, &first)), ["INSERT a 1"]);
    let page = twin.ok("ListStreams", &json!({"Limit": 1}));
    assert_eq!(page["Streams"][0]["StreamArn"], *first);
    assert_eq!(page["LastEvaluatedStreamArn"], *first);
    let page = twin.ok("ListStreams", &json!({"Limit": 1, "ExclusiveStartStreamArn": first}));
    assert_eq!(page["Streams"][0]["StreamArn"], *second);
    assert!(page.get("LastEvaluatedStreamArn").is_none());
    twin.engine.advance(HOUR * 24);
    let page = twin.ok("ListStreams", &json!({"ExclusiveStartStreamArn": first}));
    assert_eq!(page["Streams"][0]["StreamArn"], *second, "a cursor outlives its stream");
}

/// Other tables' streams have no part in the choice of a label, even if their tables' names begin alike.
#[test]
fn streams_of_different_tables_can_have_one_label() {
    let twin = Twin::new(1);
    for name in ["tab-x", "tab.x", "tab2", "tab_", "tab"] {
        let table = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}});
        let made = twin.ok("CreateTable", &table);
        let label = &made["TableDescription"]["LatestStreamLabel"];
        assert_eq!(label, "2026-01-01T00:00:00.000", "{name}");
    }
}

#[test]
fn a_new_table_takes_its_stream_along() {
    let twin = Twin::new(1);
    let mut conditions = Conditions::CALM;
    conditions.table_status = Lag::Fixed(Duration::from_secs(6));
    twin.engine.set_conditions(conditions).unwrap();
    let off = json!({"TableName": "off", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "StreamSpecification": {"StreamEnabled": false}});
    let made = twin.ok("CreateTable", &off)["TableDescription"].clone();
    for member in ["StreamSpecification", "LatestStreamArn", "LatestStreamLabel"] {
        assert!(made.get(member).is_none());
    }
    create(&twin, "NEW_IMAGE");
    let arn = latest(&twin);
    assert_eq!(describe(&twin, &arn)["StreamStatus"], "ENABLING");
    twin.engine.advance(Duration::from_secs(6));
    assert_eq!(describe(&twin, &arn)["StreamStatus"], "ENABLED");
    twin.ok("DeleteTable", &json!({"TableName": "tab"}));
    assert_eq!(describe(&twin, &arn)["StreamStatus"], "DISABLING");
    twin.engine.advance(Duration::from_secs(6));
    assert_eq!(describe(&twin, &arn)["StreamStatus"], "DISABLED");
    // It is kept for a day after it was closed, which was before it was `DISABLED`.
    twin.engine.advance(Duration::from_secs(86_400 - 7));
    assert_eq!(describe(&twin, &arn)["StreamStatus"], "DISABLED");
    twin.engine.advance(Duration::from_secs(1));
    assert_eq!(twin.ok("ListStreams", &json!({})), json!({"Streams": []}));
}

#[test]
fn each_caller_has_its_own_streams() {
    let twin = with_stream();
    let arn = latest(&twin);
    let mut other = twin.caller.clone();
    other.region = "eu-west-1".into();
    let send = |operation: &str, body: Value| {
        let answer = twin.engine.dispatch(&other, operation, body.to_string().as_bytes());
        (answer.status, serde_json::from_slice::<Value>(&answer.body).unwrap())
    };
    assert_eq!(send("ListStreams", json!({})), (200, json!({"Streams": []})));
    assert_eq!(send("DescribeStream", json!({"StreamArn": arn})).0, 400);
    twin.engine.reset().unwrap();
    assert_eq!(twin.ok("ListStreams", &json!({})), json!({"Streams": []}));
}

/// The records that a stream keeps beyond its limit, and the messages to its readers and the operator.
#[test]
fn a_stream_respects_its_limit_in_bytes() {
    for (limit, shard_count, everything) in [
        (Some(5000), 1, false),
        (Some(5000), 4, false),
        (Some(1), 1, false),
        (Some(1 << 20), 4, true),
        (None, 1, true),
    ] {
        let case = format!("{limit:?} {shard_count}");
        let twin = Twin::new(1);
        twin.engine
            .set_conditions(Conditions {
                stream_bytes: limit,
                stream_shards: Shards::Fixed(shard_count),
                ..Conditions::CALM
            })
            .unwrap();
        create(&twin, "NEW_IMAGE");
        let arn = latest(&twin);
        let ids: Vec<String> = shards(&twin, &arn)
            .iter()
            .map(|shard| text(&shard["ShardId"]))
            .collect();
        let start: Vec<String> = ids.iter().map(|id| iterator(&twin, &arn, id, "TRIM_HORIZON")).collect();
        let mut notes = Vec::new();
        for at in 0..100 {
            let body =
                json!({"TableName": "tab", "Item": {"pk": {"S": format!("k{}", at % 7)}, "v": {"N": at.to_string()}}});
            let answer = twin
                .engine
                .dispatch(&twin.caller, "PutItem", body.to_string().as_bytes());
            assert_eq!(answer.status, 200);
            notes.extend(answer.note);
        }
        let found = summaries(&records(&twin, &arn));
        assert_eq!(found.len() == 100, everything, "{case}: {found:?}");
        let newest: Vec<String> = (0..100)
            .map(|at| format!("{} k{} {at}", if at < 7 { "INSERT" } else { "MODIFY" }, at % 7))
            .skip(100 - found.len())
            .collect();
        assert_eq!(found, newest, "{case}: the newest are kept");
        let trimmed = start.iter().filter(|next| {
            let (_, answer) = twin.send("GetRecords", &json!({"ShardIterator": next}));
            text(&answer["__type"]).ends_with("TrimmedDataAccessException")
        });
        assert_eq!(trimmed.count() > 0, !everything, "{case}");
        assert_eq!(notes.len(), usize::from(!everything), "{case}: {notes:?}");
        assert!(
            notes.iter().all(|note| note.contains("stream of table tab")),
            "{notes:?}"
        );
    }
}

/// The operator is told once that a stream or the recovery logs are full, by the write that fills them.
#[test]
fn each_kind_of_write_notes_a_limit_that_was_reached() {
    let put = |at: usize| json!({"TableName": "tab", "Item": {"pk": {"S": "a"}, "v": {"N": at.to_string()}}});
    type Write<'w> = &'w dyn Fn(usize) -> Value;
    let writes: [(&str, Write<'_>); 4] = [
        ("PutItem", &put),
        (
            "BatchWriteItem",
            &|at| json!({"RequestItems": {"tab": [{"PutRequest": {"Item": put(at)["Item"]}}]}}),
        ),
        ("TransactWriteItems", &|at| json!({"TransactItems": [{"Put": put(at)}]})),
        (
            "ExecuteStatement",
            &|at| json!({"Statement": format!("UPDATE tab SET v = {at} WHERE pk = 'a'")}),
        ),
    ];
    for (operation, body) in writes {
        for (limits, told) in [
            ((Some(3000), None), "stream of table tab"),
            ((None, Some(3000)), "recovery of table tab"),
        ] {
            let twin = Twin::new(1);
            let conditions = Conditions {
                stream_bytes: limits.0,
                recovery_bytes: limits.1,
                ..Conditions::CALM
            };
            twin.engine.set_conditions(conditions).unwrap();
            create(&twin, "NEW_IMAGE");
            let recovery =
                json!({"TableName": "tab", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}});
            twin.ok("UpdateContinuousBackups", &recovery);
            self::put(&twin, "a", 1000);
            let notes: Vec<String> = (0..100)
                .filter_map(|at| {
                    let body = body(at).to_string();
                    let answer = twin.engine.dispatch(&twin.caller, operation, body.as_bytes());
                    assert_eq!(answer.status, 200, "{operation}");
                    answer.note
                })
                .collect();
            assert_eq!(notes.len(), 1, "{operation}: {notes:?}");
            assert!(notes[0].starts_with(operation) && notes[0].contains(told), "{notes:?}");
        }
    }
}

/// A transaction that fills a stream says so whichever of its tables has the stream.
#[test]
fn a_transaction_notes_the_limit_of_each_of_its_tables() {
    for order in [["tab", "other"], ["other", "tab"]] {
        let twin = Twin::new(1);
        let conditions = Conditions {
            stream_bytes: Some(3000),
            ..Conditions::CALM
        };
        twin.engine.set_conditions(conditions).unwrap();
        create(&twin, "NEW_IMAGE");
        twin.ok(
            "CreateTable",
            &json!({"TableName": "other", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}),
        );
        let notes: Vec<String> = (0..100)
            .filter_map(|at: usize| {
                let put = |table: &str| json!({"Put": {"TableName": table, "Item": {"pk": {"S": "a"}, "v": {"N": at.to_string()}}}});
                let body = json!({"TransactItems": order.map(put)}).to_string();
                let answer = twin.engine.dispatch(&twin.caller, "TransactWriteItems", body.as_bytes());
                assert_eq!(answer.status, 200, "{order:?}");
                answer.note
            })
            .collect();
        assert_eq!(notes.len(), 1, "{order:?}: {notes:?}");
        assert!(notes[0].contains("stream of table tab"), "{notes:?}");
    }
}

/// A table records changes for recovery only while that is enabled, and from the beginning each time.
#[test]
fn changes_are_recorded_for_recovery_while_it_is_enabled() {
    let twin = Twin::new(1);
    let conditions = Conditions {
        recovery_bytes: Some(3000),
        ..Conditions::CALM
    };
    twin.engine.set_conditions(conditions).unwrap();
    create(&twin, "NEW_IMAGE");
    // Those are the notes that the limit was reached.
    let notes_of_writes = || {
        let note = |v: usize| {
            let put = json!({"TableName": "tab", "Item": {"pk": {"S": "a"}, "v": {"N": v.to_string()}}});
            let answer = twin
                .engine
                .dispatch(&twin.caller, "PutItem", put.to_string().as_bytes());
            answer.note
        };
        (0..100).filter_map(note).count()
    };
    assert_eq!(notes_of_writes(), 0);
    for (enabled, notes) in [(true, 1), (true, 0), (false, 0), (true, 1), (false, 0)] {
        let recovery = json!({"PointInTimeRecoveryEnabled": enabled});
        twin.ok(
            "UpdateContinuousBackups",
            &json!({"TableName": "tab", "PointInTimeRecoverySpecification": recovery}),
        );
        assert_eq!(notes_of_writes(), notes, "{enabled}");
    }
}

/// A restored stream counts the records that it had, so that it drops as many as one that was not restored.
#[test]
fn a_restored_stream_respects_its_limit_in_bytes() {
    let kept = [false, true].map(|restores| {
        let twin = Twin::new(1);
        let conditions = Conditions {
            stream_bytes: Some(5000),
            ..Conditions::CALM
        };
        twin.engine.set_conditions(conditions).unwrap();
        create(&twin, "NEW_IMAGE");
        (0..60).for_each(|v| put(&twin, "a", v));
        if restores {
            let snapshot = twin.engine.snapshot();
            twin.engine.restore(&snapshot).unwrap();
        }
        (60..100).for_each(|v| put(&twin, "a", v));
        summaries(&records(&twin, &latest(&twin)))
    });
    assert!(kept[0].len() < 60, "{kept:?}");
    assert_eq!(kept[0], kept[1]);
}
