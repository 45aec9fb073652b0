//! Streams as consumers read them: which records they have, in which order, and for how long.

use std::time::Duration;

use crate::common::Twin;
use dynatwin_engine::{Conditions, Lag, Shards, TimeToLive};
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_hours(1);
const VIEWS: [&str; 4] = ["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"];

fn create(twin: &Twin, view: &str) {
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": view}}),
    );
}

/// A twin whose table has a stream of four shards.
fn with_stream() -> Twin {
    let twin = Twin::new(1);
    twin.engine
        .set_conditions(Conditions {
            stream_shards: Shards::Fixed(4),
            ..Conditions::CALM
        })
        .unwrap();
    create(&twin, "NEW_AND_OLD_IMAGES");
    twin
}

fn switch(twin: &Twin, view: Option<&str>) -> (u16, Value) {
    let mut specification = json!({"StreamEnabled": view.is_some()});
    if let Some(view) = view {
        specification["StreamViewType"] = view.into();
    }
    twin.send(
        "UpdateTable",
        &json!({"TableName": "tab", "StreamSpecification": specification}),
    )
}

fn put(twin: &Twin, pk: &str, v: i64) {
    let item = json!({"pk": {"S": pk}, "v": {"N": v.to_string()}});
    twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
}

fn delete(twin: &Twin, pk: &str) {
    twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": pk}}}));
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn latest(twin: &Twin) -> String {
    text(&twin.ok("DescribeTable", &json!({"TableName": "tab"}))["Table"]["LatestStreamArn"])
}

fn describe(twin: &Twin, arn: &str) -> Value {
    twin.ok("DescribeStream", &json!({"StreamArn": arn}))["StreamDescription"].clone()
}

fn shards(twin: &Twin, arn: &str) -> Vec<Value> {
    describe(twin, arn)["Shards"].as_array().unwrap().clone()
}

fn iterator(twin: &Twin, arn: &str, shard: &str, kind: &str) -> String {
    let body = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": kind});
    text(&twin.ok("GetShardIterator", &body)["ShardIterator"])
}

/// Returns all records of a stream, in the listed order of shards: parents first.
fn records(twin: &Twin, arn: &str) -> Vec<Value> {
    let mut records = Vec::new();
    for shard in shards(twin, arn) {
        let mut next = iterator(twin, arn, shard["ShardId"].as_str().unwrap(), "TRIM_HORIZON");
        loop {
            let answer = twin.ok("GetRecords", &json!({"ShardIterator": next}));
            let found = answer["Records"].as_array().unwrap().clone();
            next = text(&answer["NextShardIterator"]);
            let done = found.is_empty() || next.is_empty();
            records.extend(found);
            if done {
                break;
            }
        }
    }
    records
}

/// Returns records in short, such as `INSERT a 1`, in the order of their sequence numbers.
fn summaries(records: &[Value]) -> Vec<String> {
    let mut records = records.to_vec();
    records.sort_by_key(|record| text(&record["dynamodb"]["SequenceNumber"]));
    let summary = |record: &Value| {
        let of = &record["dynamodb"];
        let image = of.get("NewImage").or(of.get("OldImage"));
        let value = image.and_then(|image| image["v"]["N"].as_str()).unwrap_or("-");
        format!(
            "{} {} {value}",
            text(&record["eventName"]),
            text(&of["Keys"]["pk"]["S"])
        )
    };
    records.iter().map(summary).collect()
}

#[track_caller]
fn refused(answer: (u16, Value), expect: &str) {
    let (status, body) = answer;
    let kind = text(&body["__type"]);
    let kind = kind.rsplit('#').next().unwrap_or_default();
    let message = text(&body["message"]);
    assert_eq!((status, format!("{kind}: {message}").as_str()), (400, expect), "{body}");
}

#[test]
fn every_kind_of_write_has_a_record() {
    let twin = with_stream();
    put(&twin, "a", 1);
    put(&twin, "a", 2);
    let add = json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}, "UpdateExpression": "ADD v :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}}});
    twin.ok("UpdateItem", &add);
    delete(&twin, "a");
    twin.ok("UpdateItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "b"}}}));
    let item = |pk: &str| json!({"pk": {"S": pk}, "v": {"N": "7"}});
    twin.ok(
        "BatchWriteItem",
        &json!({"RequestItems": {"tab": [
            {"PutRequest": {"Item": item("c")}}, {"DeleteRequest": {"Key": {"pk": {"S": "b"}}}}]}}),
    );
    twin.ok(
        "TransactWriteItems",
        &json!({"TransactItems": [
            {"Put": {"TableName": "tab", "Item": item("d")}},
            {"Delete": {"TableName": "tab", "Key": {"pk": {"S": "c"}}}},
            {"ConditionCheck": {"TableName": "tab", "Key": {"pk": {"S": "e"}}, "ConditionExpression": "attribute_not_exists(pk)"}}]}),
    );
    assert_eq!(
        summaries(&records(&twin, &latest(&twin))),
        [
            "INSERT a 1",
            "MODIFY a 2",
            "MODIFY a 3",
            "REMOVE a 3",
            "INSERT b -",
            "INSERT c 7",
            "REMOVE b -",
            "INSERT d 7",
            "REMOVE c 7"
        ]
    );
}

#[test]
fn writes_without_a_change_have_no_record() {
    let twin = with_stream();
    let item = json!({"pk": {"S": "a"}, "set": {"SS": ["x", "y"]}, "n": {"N": "1"}, "map": {"M": {"k": {"S": "v"}, "l": {"S": "w"}}}});
    twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    let same = json!({"map": {"M": {"l": {"S": "w"}, "k": {"S": "v"}}}, "n": {"N": "1.0"}, "set": {"SS": ["y", "x"]}, "pk": {"S": "a"}});
    twin.ok("PutItem", &json!({"TableName": "tab", "Item": same}));
    let update =
        |expression: &str| json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}, "UpdateExpression": expression});
    twin.ok("UpdateItem", &update("REMOVE zz"));
    twin.ok("UpdateItem", &update("SET n = n"));
    delete(&twin, "missing");
    let mut condition = json!({"TableName": "tab", "Item": {"pk": {"S": "a"}}});
    condition["ConditionExpression"] = "attribute_not_exists(pk)".into();
    assert_eq!(twin.send("PutItem", &condition).0, 400);
    twin.ok(
        "TransactWriteItems",
        &json!({"TransactItems": [{"Put": {"TableName": "tab", "Item": same}}]}),
    );
    assert_eq!(summaries(&records(&twin, &latest(&twin))), ["INSERT a -"]);
}

#[test]
fn a_record_has_the_images_of_its_view() {
    let key = json!({"pk": {"S": "a"}});
    let image = |v: &str| json!({"pk": {"S": "a"}, "v": {"N": v}});
    for view in VIEWS {
        let twin = Twin::new(1);
        create(&twin, view);
        put(&twin, "a", 1);
        put(&twin, "a", 20);
        let records = records(&twin, &latest(&twin));
        let second = &records[1]["dynamodb"];
        let (new, old) = (view.starts_with("NEW"), view.contains("OLD"));
        assert_eq!(second["Keys"], key);
        assert_eq!(second.get("NewImage"), new.then(|| image("20")).as_ref(), "{view}");
        assert_eq!(second.get("OldImage"), old.then(|| image("1")).as_ref(), "{view}");
        // A key of 3 bytes, images of 3 + 1 + 2.
        assert_eq!(second["SizeBytes"], 3 + 6 * (i32::from(new) + i32::from(old)), "{view}");
        assert_eq!(second["StreamViewType"], view);
        assert_eq!(second["ApproximateCreationDateTime"], twin.seconds() as f64);
        assert_eq!(records[1]["awsRegion"], "us-east-1");
        assert_eq!(records[1]["eventSource"], "aws:dynamodb");
        assert_eq!(records[1]["eventVersion"], "1.1");
        assert!(records[1].get("userIdentity").is_none());
        assert_ne!(records[0]["eventID"], records[1]["eventID"]);
        assert_eq!(text(&records[0]["eventID"]).len(), 32);
        assert_eq!(text(&second["SequenceNumber"]).len(), 21);
    }
}

#[test]
fn a_ttl_record_has_its_user_identity_and_due_time() {
    let twin = with_stream();
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "v"}}),
    );
    let mut conditions = Conditions::CALM;
    conditions.time_to_live = TimeToLive::Deletes(Lag::Fixed(HOUR));
    twin.engine.set_conditions(conditions).unwrap();
    let start = twin.seconds();
    put(&twin, "a", start + 60);
    put(&twin, "b", start + 120);
    // Longer than a record is kept: one that could not be read yet is kept for a day.
    twin.engine.advance(HOUR * 48);
    let arn = latest(&twin);
    let found = records(&twin, &arn);
    // Each is in its own shard; sequence numbers of different shards are not comparable.
    let mut lines = summaries(&found);
    lines.sort();
    let expect = [("a", 60), ("b", 120)].map(|(pk, after)| format!("REMOVE {pk} {}", start + after));
    assert_eq!(lines, expect);
    for record in &found {
        assert_eq!(
            record["userIdentity"],
            json!({"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"})
        );
        let expired: i64 = text(&record["dynamodb"]["OldImage"]["v"]["N"]).parse().unwrap();
        assert_eq!(
            record["dynamodb"]["ApproximateCreationDateTime"],
            (expired + 3600) as f64
        );
    }
    twin.engine.advance(HOUR * 24);
    assert!(records(&twin, &arn).is_empty());
}

#[test]
fn due_work_is_recorded_before_the_stream_is_read() {
    let twin = with_stream();
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "v"}}),
    );
    put(&twin, "a", twin.seconds() + 60);
    let arn = latest(&twin);
    let ends: Vec<String> = shards(&twin, &arn)
        .iter()
        .map(|shard| iterator(&twin, &arn, shard["ShardId"].as_str().unwrap(), "LATEST"))
        .collect();
    // Only the clock advances, without requests in between.
    twin.engine.clock().advance(Duration::from_secs(61));
    let found: Vec<Value> = ends
        .iter()
        .flat_map(|end| {
            twin.ok("GetRecords", &json!({"ShardIterator": end}))["Records"]
                .as_array()
                .unwrap()
                .clone()
        })
        .collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["eventName"], "REMOVE");
}

#[test]
fn due_work_is_recorded_before_the_end_of_the_stream_is_read() {
    let twin = with_stream();
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "v"}}),
    );
    put(&twin, "a", twin.seconds() + 60);
    let arn = latest(&twin);
    let shards = shards(&twin, &arn);
    twin.engine.clock().advance(Duration::from_secs(61));
    for shard in shards {
        let end = iterator(&twin, &arn, shard["ShardId"].as_str().unwrap(), "LATEST");
        let answer = twin.ok("GetRecords", &json!({"ShardIterator": end}));
        assert_eq!(answer["Records"], json!([]));
    }
    assert_eq!(records(&twin, &arn).len(), 2);
}

#[test]
fn iterators_start_at_their_position() {
    let twin = with_stream();
    let arn = latest(&twin);
    for v in 0..5 {
        put(&twin, "a", v);
        twin.engine.advance(Duration::from_secs(10));
    }
    let all = records(&twin, &arn);
    let shard = shards(&twin, &arn)
        .iter()
        .map(|shard| text(&shard["ShardId"]))
        .find(|shard| {
            let next = iterator(&twin, &arn, shard, "TRIM_HORIZON");
            twin.ok("GetRecords", &json!({"ShardIterator": next}))["Records"] != json!([])
        })
        .unwrap();
    let number = |at: usize| all[at]["dynamodb"]["SequenceNumber"].clone();
    let start = twin.seconds() - 50;
    for (more, expect) in [
        (json!({"ShardIteratorType": "TRIM_HORIZON"}), 0..5),
        (json!({"ShardIteratorType": "LATEST"}), 5..5),
        (
            json!({"ShardIteratorType": "AT_SEQUENCE_NUMBER", "SequenceNumber": number(2)}),
            2..5,
        ),
        (
            json!({"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": number(2)}),
            3..5,
        ),
        (
            json!({"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": number(4)}),
            5..5,
        ),
        (
            json!({"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": start + 20}),
            2..5,
        ),
        (
            json!({"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": start as f64 + 20.5}),
            3..5,
        ),
        (json!({"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": 0}), 0..5),
        (
            json!({"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": start + 50}),
            5..5,
        ),
    ] {
        let mut body = json!({"StreamArn": arn, "ShardId": shard});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let next = twin.ok("GetShardIterator", &body)["ShardIterator"].clone();
        let found = twin.ok("GetRecords", &json!({"ShardIterator": next}));
        assert_eq!(found["Records"], Value::from(&all[expect]), "{more}");
    }
    let next = iterator(&twin, &arn, &shard, "TRIM_HORIZON");
    let two = twin.ok("GetRecords", &json!({"ShardIterator": next, "Limit": 2}));
    assert_eq!(two["Records"], Value::from(&all[..2]));
    let rest = twin.ok("GetRecords", &json!({"ShardIterator": two["NextShardIterator"]}));
    assert_eq!(rest["Records"], Value::from(&all[2..]));
}

#[test]
fn an_iterator_lives_fifteen_minutes() {
    let twin = with_stream();
    put(&twin, "a", 1);
    let arn = latest(&twin);
    let first = text(&shards(&twin, &arn)[0]["ShardId"]);
    let next = iterator(&twin, &arn, &first, "TRIM_HORIZON");
    twin.engine.advance(Duration::from_mins(15));
    twin.ok("GetRecords", &json!({"ShardIterator": next}));
    twin.engine.advance(Duration::from_secs(1));
    refused(
        twin.send("GetRecords", &json!({"ShardIterator": next})),
        "ExpiredIteratorException: The provided iterator exceeds the maximum age allowed",
    );
}

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
fn records_lag_and_keep_their_order_in_a_shard() {
    for stream_lag in [
        Conditions::AWS.stream_lag,
        Lag::Fixed(Duration::from_millis(300)),
        Lag::None,
    ] {
        let twin = Twin::new(1);
        let conditions = Conditions {
            stream_lag,
            ..Conditions::CALM
        };
        twin.engine.set_conditions(conditions).unwrap();
        create(&twin, "NEW_AND_OLD_IMAGES");
        let arn = latest(&twin);
        let shard = text(&shards(&twin, &arn)[0]["ShardId"]);
        let mut end = iterator(&twin, &arn, &shard, "LATEST");
        let (mut written, mut seen, mut delays) = (Vec::new(), Vec::new(), Vec::new());
        for at in 0..1200 {
            let now = twin.engine.clock().now();
            if at % 10 == 0 && written.len() < 50 {
                put(&twin, &format!("k{}", written.len() % 7), written.len() as i64);
                written.push(now);
            }
            let answer = twin.ok("GetRecords", &json!({"ShardIterator": end}));
            end = text(&answer["NextShardIterator"]);
            for record in answer["Records"].as_array().unwrap() {
                delays.push(now.since(written[seen.len()]));
                seen.push(text(&record["dynamodb"]["NewImage"]["v"]["N"]));
            }
            twin.engine.clock().advance(Duration::from_millis(1));
        }
        let expect: Vec<String> = (0..50).map(|v: u32| v.to_string()).collect();
        assert_eq!(seen, expect, "{stream_lag:?}");
        let longest = delays.iter().max().unwrap();
        assert!(*longest <= stream_lag.longest(), "{stream_lag:?}: {delays:?}");
        assert_eq!(longest.is_zero(), stream_lag.is_none(), "{stream_lag:?}: {delays:?}");
    }
}

#[test]
fn a_reader_from_the_end_gets_all_pending_records() {
    let twin = Twin::new(1);
    twin.engine
        .set_conditions(Conditions {
            stream_lag: Lag::Fixed(Duration::from_secs(1)),
            ..Conditions::CALM
        })
        .unwrap();
    create(&twin, "NEW_IMAGE");
    let arn = latest(&twin);
    let shard = text(&shards(&twin, &arn)[0]["ShardId"]);
    put(&twin, "a", 1);
    twin.engine.advance(Duration::from_secs(1));
    put(&twin, "b", 2);
    let end = iterator(&twin, &arn, &shard, "LATEST");
    let count = |next: &str| {
        let answer = twin.ok("GetRecords", &json!({"ShardIterator": next}));
        answer["Records"].as_array().unwrap().len()
    };
    assert_eq!(count(&end), 0);
    twin.engine.advance(Duration::from_secs(1));
    assert_eq!(
        count(&end),
        1,
        "the record was not readable when the iterator was taken"
    );
    // A disabled stream can still be read to its end.
    put(&twin, "c", 3);
    assert_eq!(switch(&twin, None).0, 200);
    assert_eq!(records(&twin, &arn).len(), 2);
    twin.engine.advance(Duration::from_secs(1));
    assert_eq!(records(&twin, &arn).len(), 3);
}

#[test]
fn a_third_reader_of_a_shard_is_throttled() {
    for (conditions, throttled) in [(Conditions::CALM, false), (Conditions::AWS, true)] {
        let twin = Twin::new(1);
        twin.engine
            .set_conditions(Conditions {
                capacity: conditions.capacity,
                ..Conditions::CALM
            })
            .unwrap();
        create(&twin, "KEYS_ONLY");
        let arn = latest(&twin);
        let shard = text(&shards(&twin, &arn)[0]["ShardId"]);
        let mut readers = [(); 3].map(|()| iterator(&twin, &arn, &shard, "TRIM_HORIZON"));
        let read = |next: &mut String| {
            let (status, answer) = twin.send("GetRecords", &json!({"ShardIterator": next}));
            if status == 200 {
                *next = text(&answer["NextShardIterator"]);
                return true;
            }
            let kind = text(&answer["__type"]);
            assert!(kind.ends_with("#ThrottlingException"), "{answer}");
            assert!(answer.to_string().contains("Rate exceeded"), "{answer}");
            false
        };
        // The first read of an iterator may be that of a consumer that gets a new one for each poll.
        assert_eq!(readers.each_mut().map(read), [true; 3]);
        for _ in 0..3 {
            let may = readers.each_mut().map(read);
            assert_eq!(may, [true, true, !throttled]);
            twin.engine.advance(Duration::from_millis(250));
        }
        // A reader that pauses for a second no longer counts.
        twin.engine.advance(Duration::from_millis(750));
        let [first, second, third] = &mut readers;
        assert!(read(third) && read(second));
        assert_eq!(read(first), !throttled);
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
