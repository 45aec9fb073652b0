//! Iterators and readers of shards: positions, lag and limits.

use std::time::Duration;

use crate::common::Twin;
use dynatwin_engine::{Capacity, Conditions, Enforcement, Lag};
use serde_json::{Value, json};

use super::{HOUR, create, iterator, latest, put, records, refused, shards, summaries, switch, text, with_stream};

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

/// A time in an iterator is compared with the time of a change, not with that at which its record can be read.
#[test]
fn an_iterator_at_a_time_passes_records_that_arrived_later() {
    let twin = Twin::new(1);
    twin.engine
        .set_conditions(Conditions {
            stream_lag: Lag::Fixed(Duration::from_secs(10)),
            ..Conditions::CALM
        })
        .unwrap();
    create(&twin, "KEYS_ONLY");
    let arn = latest(&twin);
    let shard = text(&shards(&twin, &arn)[0]["ShardId"]);
    let start = twin.seconds();
    for key in ["a", "b"] {
        put(&twin, key, 1);
        twin.engine.advance(Duration::from_secs(5));
    }
    twin.engine.advance(Duration::from_mins(1));
    for (after, expect) in [
        (0, vec!["a", "b"]),
        (1, vec!["b"]),
        (5, vec!["b"]),
        (6, vec![]),
        (12, vec![]),
    ] {
        let body = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "AT_TIMESTAMP", "Timestamp": start + after});
        let next = twin.ok("GetShardIterator", &body)["ShardIterator"].clone();
        let found = twin.ok("GetRecords", &json!({"ShardIterator": next}));
        let keys = found["Records"].as_array().unwrap().iter();
        let keys: Vec<String> = keys
            .map(|record| text(&record["dynamodb"]["Keys"]["pk"]["S"]))
            .collect();
        assert_eq!(keys, expect, "after {after} seconds");
    }
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

/// Each iterator lives for fifteen minutes of its own, so that a reader that polls never has an expired one.
#[test]
fn a_reader_that_polls_has_an_iterator_of_now() {
    let twin = with_stream();
    let arn = latest(&twin);
    let first = text(&shards(&twin, &arn)[0]["ShardId"]);
    let mut next = iterator(&twin, &arn, &first, "TRIM_HORIZON");
    for _ in 0..10 {
        twin.engine.advance(Duration::from_mins(15));
        next = text(&twin.ok("GetRecords", &json!({"ShardIterator": next}))["NextShardIterator"]);
    }
    twin.engine.advance(Duration::from_secs(901));
    refused(
        twin.send("GetRecords", &json!({"ShardIterator": next})),
        "ExpiredIteratorException: The provided iterator exceeds the maximum age allowed",
    );
}

/// The lag of a deletion by time to live begins when the deletion is due, even if it is applied later.
#[test]
fn the_lag_of_a_deletion_begins_when_it_is_due() {
    for late in [0, 4, 9, 10, 11, 100] {
        let twin = Twin::new(1);
        let conditions = Conditions {
            stream_lag: Lag::Fixed(Duration::from_secs(10)),
            ..Conditions::CALM
        };
        twin.engine.set_conditions(conditions).unwrap();
        create(&twin, "NEW_AND_OLD_IMAGES");
        twin.ok(
            "UpdateTimeToLive",
            &json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "v"}}),
        );
        put(&twin, "a", twin.seconds() + 60);
        let arn = latest(&twin);
        let is_deleted = || {
            let found = summaries(&records(&twin, &arn));
            found.iter().any(|record| record.starts_with("REMOVE a"))
        };
        twin.engine.advance(Duration::from_secs(60 + late));
        assert_eq!(is_deleted(), late >= 10, "{late}");
        if late < 10 {
            twin.engine.advance(Duration::from_millis((10 - late) * 1000 - 1));
            assert!(!is_deleted(), "{late}");
            twin.engine.advance(Duration::from_millis(1));
            assert!(is_deleted(), "{late}");
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
        // Each read counts for a second, not only the first one of a reader.
        twin.engine.advance(Duration::from_millis(500));
        let [first, second, third] = &mut readers;
        assert_eq!(read(third), !throttled);
        // A reader that pauses for a second no longer counts.
        twin.engine.advance(Duration::from_millis(250));
        assert!(read(third) && read(second));
        assert_eq!(read(first), !throttled);
    }
}

/// The number of readers of a shard is limited by the table's own conditions, whatever those of the engine are.
#[test]
fn readers_are_limited_by_the_conditions_of_their_table() {
    let limited = |readers: u32| Conditions {
        capacity: Capacity::Enforced(Enforcement {
            shard_readers: readers,
            ..Enforcement::AWS
        }),
        ..Conditions::CALM
    };
    for (of_all, own, expect) in [
        (Conditions::CALM, None, 3),
        (Conditions::CALM, Some(limited(1)), 1),
        (Conditions::CALM, Some(limited(2)), 2),
        (limited(1), None, 1),
        (limited(1), Some(Conditions::CALM), 3),
        (limited(1), Some(limited(2)), 2),
    ] {
        let twin = Twin::new(1);
        twin.engine.set_conditions(of_all).unwrap();
        create(&twin, "KEYS_ONLY");
        if let Some(own) = own {
            let account = twin.engine.account(&twin.caller);
            account.set_table_conditions("tab", own).unwrap();
        }
        let arn = latest(&twin);
        let shard = text(&shards(&twin, &arn)[0]["ShardId"]);
        let mut readers = [(); 3].map(|()| iterator(&twin, &arn, &shard, "TRIM_HORIZON"));
        let mut may = 0;
        for round in 0..2 {
            may = 0;
            for next in &mut readers {
                let (status, answer) = twin.send("GetRecords", &json!({"ShardIterator": next}));
                if status == 200 {
                    *next = text(&answer["NextShardIterator"]);
                    may += 1;
                }
            }
            assert!(round > 0 || may == 3, "first reads");
        }
        assert_eq!(may, expect, "{of_all:?} {own:?}");
    }
}

/// The numbers of the range in a shard's description are of the shard, whether or not it has records.
#[test]
fn iterators_start_at_the_numbers_of_a_range() {
    let twin = with_stream();
    let arn = latest(&twin);
    let start = |shard: &Value, kind: &str, number: &Value| {
        let body = json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": kind,
            "SequenceNumber": number});
        twin.ok("GetShardIterator", &body)["ShardIterator"].clone()
    };
    for shard in shards(&twin, &arn) {
        let first = &shard["SequenceNumberRange"]["StartingSequenceNumber"];
        let next = start(&shard, "AT_SEQUENCE_NUMBER", first);
        let page = twin.ok("GetRecords", &json!({"ShardIterator": next}));
        assert_eq!(page["Records"], json!([]), "{shard}");
    }
    (0..20).for_each(|v| put(&twin, &format!("k{v}"), v));
    assert_eq!(switch(&twin, None).0, 200);
    for shard in shards(&twin, &arn) {
        let range = &shard["SequenceNumberRange"];
        let next = iterator(&twin, &arn, shard["ShardId"].as_str().unwrap(), "TRIM_HORIZON");
        let all = twin.ok("GetRecords", &json!({"ShardIterator": next}))["Records"].clone();
        let next = start(&shard, "AT_SEQUENCE_NUMBER", &range["StartingSequenceNumber"]);
        let page = twin.ok("GetRecords", &json!({"ShardIterator": next}));
        assert_eq!(page["Records"], all, "{shard}");
        for kind in ["AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"] {
            let next = start(&shard, kind, &range["EndingSequenceNumber"]);
            let page = twin.ok("GetRecords", &json!({"ShardIterator": next}));
            assert_eq!(page["Records"], json!([]), "{kind} {shard}");
            assert!(page.get("NextShardIterator").is_none(), "{kind} {shard}: {page}");
        }
    }
}

/// A reader that starts at the end of a shard does not need the records that are too old.
#[test]
fn a_reader_starts_at_the_end_of_a_shard_without_its_records() {
    let twin = with_stream();
    let arn = latest(&twin);
    (0..20).for_each(|v| put(&twin, &format!("k{v}"), v));
    // The shards are closed after four hours, and found for another day.
    twin.engine.advance(HOUR * 25);
    let old = shards(&twin, &arn);
    let old: Vec<&Value> = old
        .iter()
        .filter(|shard| shard.get("ParentShardId").is_none())
        .collect();
    assert_eq!(old.len(), 4);
    for shard in old {
        for kind in ["LATEST", "TRIM_HORIZON"] {
            let next = iterator(&twin, &arn, shard["ShardId"].as_str().unwrap(), kind);
            let page = twin.ok("GetRecords", &json!({"ShardIterator": next}));
            assert_eq!(page["Records"], json!([]), "{kind} {shard}");
        }
    }
}
