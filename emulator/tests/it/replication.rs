//! Replication between the regions of a global table with eventual consistency (docs/behavior: 08 5).

use std::collections::BTreeSet;
use std::time::Duration;

use crate::common::global::{AP, EU, Twin, US, caller, seconds};
use crate::common::{commits, copies, settings};
use dynatwin_engine::attributes::{AttributeValue, partition_token};
use dynatwin_engine::http::HttpRequest;
use dynatwin_engine::monitoring::EventKind;
use dynatwin_engine::{Capacity, Conditions, Enforcement, Engine, Lag, Moment, StateSnapshot, TimeToLive};
use serde_json::{Value, json};

/// What arrives splits partitions, and the shards of the region's stream with them: in a step of the clock, or before a read.
#[test]
fn arrivals_split_partitions_and_shards() {
    for by_reads in [false, true] {
        let twin = Twin::new(&[US, EU]);
        let small = Enforcement {
            partition_size: 20_000,
            ..Enforcement::AWS
        };
        let conditions = Conditions {
            capacity: Capacity::Enforced(small),
            replication_lag: seconds(1),
            ..Conditions::CALM
        };
        twin.engine.set_conditions(conditions).unwrap();
        let shards = |region: &str| {
            let arn =
                twin.ok(region, "DescribeTable", &json!({"TableName": "tab"}))["Table"]["LatestStreamArn"].clone();
            let described = twin.ok(region, "DescribeStream", &json!({"StreamArn": arn}));
            described["StreamDescription"]["Shards"].as_array().unwrap().len()
        };
        let keys: Vec<String> = (0..20).map(|key| key.to_string()).collect();
        keys.iter().for_each(|key| twin.put(US, key, &"v".repeat(5000)));
        assert!(shards(US) > 1);
        assert_eq!(shards(EU), 1);
        if by_reads {
            let now = twin.engine.clock().now();
            twin.engine.clock().set(now.plus(Duration::from_secs(1)));
            keys.iter().for_each(|key| assert_eq!(twin.get(EU, key).len(), 5000));
        } else {
            twin.advance(1);
        }
        assert!(shards(EU) > 1, "by reads: {by_reads}");
    }
}

#[test]
fn a_write_is_in_every_region_its_indexes_and_its_stream() {
    let twin = Twin::new(&[US, EU, AP]);
    twin.put(EU, "a", "1");
    twin.put(EU, "a", "2");
    twin.put(US, "b", "3");
    assert_eq!(twin.all(&[US, EU, AP], "a"), "2 2 2");
    twin.delete(AP, "b");
    for region in [US, EU, AP] {
        let query = json!({"TableName": "tab", "IndexName": "by-g", "KeyConditionExpression": "g = :g",
            "ExpressionAttributeValues": {":g": {"S": "g"}}});
        assert_eq!(twin.ok(region, "Query", &query)["Count"], 1, "{region}");
        let mut records = twin.records(region);
        records.sort();
        assert_eq!(records, ["INSERT a", "INSERT b", "MODIFY a", "REMOVE b"], "{region}");
    }
}

#[test]
fn a_region_lags_by_the_condition_or_by_a_lag_of_its_own() {
    let twin = Twin::lagging(&[US, EU, AP], 10);
    twin.engine
        .account(&caller(US))
        .set_replication_lag("tab", AP, Some(seconds(2)))
        .unwrap();
    twin.put(US, "a", "1");
    assert_eq!(twin.all(&[US, EU, AP], "a"), "1 - -");
    twin.advance(2);
    assert_eq!(twin.all(&[US, EU, AP], "a"), "1 - 1");
    // An item's changes keep their order, and other items' overtake them.
    twin.engine
        .account(&caller(US))
        .set_replication_lag("tab", EU, Some(Lag::None))
        .unwrap();
    twin.put(US, "a", "2");
    twin.put(US, "b", "3");
    assert_eq!((twin.get(EU, "a"), twin.get(EU, "b")), ("-".into(), "3".into()));
    twin.advance(8);
    assert_eq!(twin.get(EU, "a"), "2");
    assert_eq!(twin.records(EU), ["INSERT b", "INSERT a", "MODIFY a"]);
    // The other direction is a pair of its own.
    twin.put(EU, "c", "4");
    assert_eq!(twin.get(US, "c"), "-");
    twin.engine
        .account(&caller(US))
        .set_replication_lag("tab", EU, None)
        .unwrap();
    let state = &twin.engine.account(&caller(EU)).replication("tab").unwrap()[0];
    assert_eq!(
        (state.region.as_str(), state.arriving, state.leaving, state.lag),
        (US, 0, 1, None)
    );
    twin.advance(10);
    assert_eq!(twin.get(US, "c"), "4");
}

/// On a clock that runs by itself nothing applies arrivals before a control does.
#[test]
fn controls_of_replication_find_due_arrivals_applied() {
    let waits = |twin: &Twin, region: &str| -> Vec<(usize, usize)> {
        let states = twin.engine.account(&caller(region)).replication("tab").unwrap();
        states.iter().map(|state| (state.arriving, state.leaving)).collect()
    };
    for region in [US, EU, AP] {
        let twin = Twin::lagging(&[US, EU, AP], 10);
        twin.put(US, "a", "1");
        twin.engine.clock().advance(Duration::from_secs(9));
        assert_eq!(waits(&twin, US), [(0, 1), (0, 1)]);
        twin.engine.clock().advance(Duration::from_secs(1));
        assert!(waits(&twin, region).iter().all(|waits| *waits == (0, 0)), "{region}");
    }
    // What has arrived before a pause is not held back by it.
    for other in [None, Some(EU)] {
        let twin = Twin::lagging(&[US, EU], 10);
        twin.put(US, "a", "1");
        twin.put(EU, "b", "2");
        twin.engine.clock().advance(Duration::from_secs(10));
        twin.put(US, "a", "3");
        twin.pause(US, other);
        assert_eq!(
            (twin.all(&[US, EU], "a"), twin.all(&[US, EU], "b")),
            ("3 1".into(), "2 2".into())
        );
        twin.engine.clock().advance(Duration::from_mins(1));
        assert_eq!(twin.all(&[US, EU], "a"), "3 1");
        twin.resume(US, other);
        assert_eq!(waits(&twin, US), [(0, 0)]);
        assert_eq!(twin.all(&[US, EU], "a"), "3 3");
    }
}

#[test]
fn the_last_writer_wins_everywhere_and_the_log_names_the_loser() {
    // Writes as (second, region, value), where `-` deletes; what every region has in the end, and the conflicts.
    type Case<'c> = (&'c [(u64, &'c str, &'c str)], &'c str, &'c [&'c str]);
    let cases: &[Case<'_>] = &[
        (
            &[(0, US, "1"), (1, EU, "2")],
            "2",
            &[
                "us-east-1: us-east-1 0 < eu-west-1 1",
                "eu-west-1: us-east-1 0 < eu-west-1 1",
            ],
        ),
        (
            &[(0, EU, "2"), (1, US, "1")],
            "1",
            &[
                "us-east-1: eu-west-1 0 < us-east-1 1",
                "eu-west-1: eu-west-1 0 < us-east-1 1",
            ],
        ),
        // At the same time the write that comes later wins.
        (
            &[(0, EU, "1"), (0, US, "2")],
            "2",
            &[
                "us-east-1: eu-west-1 0 < us-east-1 0",
                "eu-west-1: eu-west-1 0 < us-east-1 0",
            ],
        ),
        (
            &[(0, US, "1"), (0, EU, "2")],
            "2",
            &[
                "us-east-1: us-east-1 0 < eu-west-1 0",
                "eu-west-1: us-east-1 0 < eu-west-1 0",
            ],
        ),
        // A delete is a write like any other.
        (
            &[(0, US, "1"), (1, EU, "2"), (2, US, "-")],
            "-",
            &[
                "us-east-1: eu-west-1 1 < us-east-1 2",
                "eu-west-1: eu-west-1 1 < us-east-1 2",
                "eu-west-1: us-east-1 0 < eu-west-1 1",
            ],
        ),
        (
            &[(0, US, "1"), (1, US, "-"), (2, EU, "2")],
            "2",
            &[
                "us-east-1: us-east-1 1 < eu-west-1 2",
                "eu-west-1: us-east-1 0 < eu-west-1 2",
                "eu-west-1: us-east-1 1 < eu-west-1 2",
            ],
        ),
        // A write that has seen an earlier one of the region, but not its last one.
        (
            &[(0, US, "1"), (10, EU, "2"), (20, US, "3"), (30, US, "4"), (35, EU, "5")],
            "5",
            &[
                "us-east-1: us-east-1 30 < eu-west-1 35",
                "eu-west-1: us-east-1 30 < eu-west-1 35",
            ],
        ),
        (
            &[(0, US, "1"), (10, EU, "2"), (15, EU, "3"), (22, US, "4")],
            "4",
            &[
                "us-east-1: eu-west-1 15 < us-east-1 22",
                "eu-west-1: eu-west-1 15 < us-east-1 22",
            ],
        ),
        // A write that has seen the other does not lose.
        (&[(0, US, "1"), (10, EU, "2"), (20, US, "3")], "3", &[]),
    ];
    for (script, expect, conflicts) in cases {
        let twin = Twin::lagging(&[US, EU], 10);
        twin.engine.listen(true);
        let mut at = 0;
        for (second, region, value) in *script {
            twin.advance(second - at);
            at = *second;
            match *value {
                "-" => twin.delete(region, "a"),
                value => twin.put(region, "a", value),
            }
        }
        twin.advance(60);
        assert_eq!(twin.all(&[US, EU], "a"), format!("{expect} {expect}"), "{script:?}");
        let expect: BTreeSet<String> = conflicts.iter().map(|&text| text.to_owned()).collect();
        assert_eq!(twin.conflicts(), expect, "{script:?}");
    }
}

/// The event log shows a conflict with both writes, each with its region and its moment.
#[test]
fn a_conflict_is_shown_with_both_writes() {
    let twin = Twin::lagging(&[US, EU], 10);
    twin.engine.listen(true);
    twin.put(EU, "a", "1");
    twin.advance(3);
    twin.put(US, "a", "2");
    twin.advance(60);
    let answer = twin.engine.handle(&HttpRequest {
        method: "GET",
        target: "/_dynatwin/events",
        headers: &[("host", "here")],
        body: b"",
    });
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    let events = answer["events"].as_array().unwrap().iter();
    let conflicts: Vec<&Value> = events.filter(|event| event["kind"] == "replicationConflict").collect();
    assert_eq!(conflicts.len(), 2, "{answer:#}");
    let events = answer["events"].as_array().unwrap().iter();
    let arrivals = events.filter(|event| event["kind"] == "replicationArrival");
    let arrivals: Vec<_> = arrivals
        .map(|event| (&event["region"], &event["from"], &event["applied"]))
        .collect();
    let expect = [(US, EU, false), (EU, US, true)].map(|(to, from, applied)| (json!(to), json!(from), json!(applied)));
    assert_eq!(
        arrivals,
        expect.each_ref().map(|(to, from, applied)| (to, from, applied))
    );
    for conflict in conflicts {
        let write =
            |region: &str, second: u32| json!({"region": region, "at": format!("2026-01-01T00:00:0{second}.000Z")});
        let shown = (&conflict["lost"], &conflict["won"]);
        assert_eq!(shown, (&write(EU, 0), &write(US, 3)), "{conflict:#}");
    }
}

/// Writes of several regions that arrive at the same moment arrive in the order in which they were made.
#[test]
fn writes_that_arrive_together_keep_their_order() {
    // In one partition, so that their records are in one shard.
    let first = |key: &String| partition_token(&AttributeValue::string(key)).unwrap() >> 62 == 0;
    let keys: Vec<String> = (0..100).map(|number| number.to_string()).filter(first).collect();
    let twin = Twin::lagging(&[US, EU, AP], 10);
    let regions = [US, EU, US, US, EU, EU, US, EU];
    for (region, key) in regions.iter().zip(&keys) {
        twin.put(region, key, "1");
    }
    twin.advance(10);
    let expect: Vec<String> = keys[..regions.len()]
        .iter()
        .map(|key| format!("INSERT {key}"))
        .collect();
    assert_eq!(twin.records(AP), expect);
}

/// A restored state has the writes on their way to each region, and their order, delays and pauses.
#[test]
fn a_snapshot_has_the_writes_on_their_way() {
    let twin = Twin::new(&[US, EU, AP]);
    let lag = Lag::Seeded {
        typical: Duration::from_secs(5),
        longest: Duration::from_mins(1),
    };
    twin.engine
        .set_conditions(Conditions {
            replication_lag: lag,
            ..Conditions::CALM
        })
        .unwrap();
    for round in 0..2 {
        for number in 0..300 {
            twin.put(US, &number.to_string(), &round.to_string());
        }
        twin.advance(1);
    }
    twin.pause(AP, Some(EU));
    twin.put(EU, "paused", "1");
    twin.put(EU, "7", "eu");
    commits::check(&twin.engine, twin.recorder(), || settings(7)).unwrap();
    let copy = Engine::new(settings(7));
    let snapshot = StateSnapshot::from_bytes(&twin.engine.snapshot().to_bytes()).unwrap();
    copy.restore(&snapshot).unwrap();
    let waits = |engine: &Engine| {
        [US, EU, AP].map(|region| {
            let states = engine.account(&caller(region)).replication("tab").unwrap();
            let waits = states.iter().map(|state| (state.paused, state.arriving, state.leaving));
            waits.collect::<Vec<_>>()
        })
    };
    assert!(waits(&twin.engine)[1].iter().any(|(_, arriving, _)| *arriving > 256));
    for seconds in [0, 3, 10, 60] {
        for engine in [&twin.engine, &copy] {
            engine.advance(Duration::from_secs(seconds));
        }
        assert_eq!(waits(&copy), waits(&twin.engine), "{seconds}");
        commits::same("the copy", &commits::dump(&twin.engine), &commits::dump(&copy)).unwrap();
    }
    for engine in [&twin.engine, &copy] {
        engine.account(&caller(AP)).resume_replication("tab", Some(EU)).unwrap();
        engine.dispatch(
            &caller(US),
            "PutItem",
            br#"{"TableName": "tab", "Item": {"pk": {"S": "1"}}}"#,
        );
        engine.advance(Duration::from_mins(1));
    }
    commits::same("the copy", &commits::dump(&twin.engine), &commits::dump(&copy)).unwrap();
    assert_eq!((twin.get(AP, "paused"), twin.get(AP, "7")), ("1".into(), "eu".into()));
}

/// The pending work of a table has the writes that are on their way to it.
#[test]
fn pending_arrivals_are_listed() {
    let twin = Twin::new(&[US, EU]);
    ["a", "b"].iter().for_each(|pk| twin.put(US, pk, "1"));
    twin.engine
        .set_conditions(Conditions {
            replication_lag: seconds(10),
            ..Conditions::CALM
        })
        .unwrap();
    for (operation, pk) in [("put", "c"), ("put", "a"), ("delete", "b")] {
        if operation == "put" {
            twin.put(US, pk, "2");
        } else {
            twin.delete(US, pk);
        }
        twin.advance(1);
    }
    // An item that is there in neither region is known by its token alone.
    twin.put(US, "d", "1");
    twin.delete(US, "d");
    let pending = |limit: usize| {
        let credentials = format!(
            "AWS4-HMAC-SHA256 Credential=test/20260101/{EU}/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
        );
        let answer = twin.engine.handle(&HttpRequest {
            method: "GET",
            target: &format!("/_dynatwin/tables/tab/pending?limit={limit}"),
            headers: &[("host", "here"), ("authorization", credentials.as_str())],
            body: b"",
        });
        let answer: Value = serde_json::from_slice(&answer.body).unwrap();
        let arrivals = &answer["arrivals"];
        let short = |item: &Value| {
            let due = Moment::parse(item["due"].as_str().unwrap()).unwrap();
            let key = item["key"]["pk"]["S"].as_str().unwrap_or("-");
            let action = item["action"].as_str().unwrap();
            assert!(item["token"].is_string());
            format!("{} {action} {key}", due.since(Moment::START).as_secs())
        };
        let first: Vec<String> = arrivals["first"].as_array().unwrap().iter().map(short).collect();
        (arrivals["count"].as_u64().unwrap(), first)
    };
    let all = ["10 put c", "11 put a", "12 delete b", "13 put d", "13 delete -"].map(str::to_owned);
    assert_eq!(pending(100), (5, all.to_vec()));
    assert_eq!(pending(2), (5, all[..2].to_vec()));
    // While replication is paused nothing is due.
    twin.pause(EU, None);
    assert_eq!(pending(100), (5, Vec::new()));
    twin.resume(EU, None);
    twin.advance(10);
    assert_eq!(pending(100), (0, Vec::new()));
}

/// The writes that are on their way from several regions are listed in the order of their arrival, however few are shown.
#[test]
fn pending_arrivals_of_several_regions_are_in_their_order() {
    let twin = Twin::lagging(&[US, EU, AP], 10);
    for (seconds, region, pk) in [(0, US, "a"), (5, AP, "a"), (1, US, "b"), (1, AP, "c")] {
        twin.advance(seconds);
        twin.put(region, pk, region);
    }
    let all = ["10 a", "15 a", "16 b", "17 c"];
    for limit in [1, 2, 3, 4, 100] {
        let credentials = format!(
            "AWS4-HMAC-SHA256 Credential=test/20260101/{EU}/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
        );
        let answer = twin.engine.handle(&HttpRequest {
            method: "GET",
            target: &format!("/_dynatwin/tables/tab/pending?limit={limit}"),
            headers: &[("host", "here"), ("authorization", credentials.as_str())],
            body: b"",
        });
        let arrivals = serde_json::from_slice::<Value>(&answer.body).unwrap()["arrivals"].take();
        let short = |item: &Value| {
            let due = Moment::parse(item["due"].as_str().unwrap()).unwrap();
            let key = item["key"]["pk"]["S"].as_str().unwrap();
            format!("{} {key}", due.since(Moment::START).as_secs())
        };
        let first: Vec<String> = arrivals["first"].as_array().unwrap().iter().map(short).collect();
        assert_eq!(
            (&arrivals["count"], &first[..]),
            (&json!(4), &all.map(str::to_owned)[..limit.min(4)])
        );
    }
}

/// Time to live of a global table is one setting: after a change in one region, none can change it for 31 minutes.
#[test]
fn a_change_of_time_to_live_counts_in_all_regions() {
    let twin = Twin::new(&[US, EU]);
    twin.engine
        .set_conditions(Conditions {
            table_status: seconds(1),
            ..Conditions::CALM
        })
        .unwrap();
    let set = |region: &str, on: bool| {
        let specification = json!({"Enabled": on, "AttributeName": "ttl"});
        let body = json!({"TableName": "tab", "TimeToLiveSpecification": specification});
        twin.send(region, "UpdateTimeToLive", &body).0
    };
    assert_eq!(set(US, true), 200);
    twin.advance(31 * 60 - 1);
    assert_eq!([set(EU, false), set(US, false)], [400, 400]);
    twin.advance(1);
    assert_eq!(set(EU, false), 200);
    twin.advance(31 * 60 - 1);
    assert_eq!([set(EU, true), set(US, true)], [400, 400]);
}

/// The timer examines a region without requests when a write is on its way to it.
#[test]
fn a_write_wakes_the_regions_that_it_reaches() {
    for regions in [&[US, EU][..], &[US, EU, AP], &[AP, US, EU]] {
        let twin = Twin::lagging(regions, 10);
        for _ in 0..30 {
            assert_eq!(twin.engine.run_background_work(), twin.engine.next_due());
        }
        twin.put(US, "a", "1");
        let arrives = twin.engine.run_background_work();
        assert_eq!(arrives, Moment::START.plus(Duration::from_secs(10)));
        twin.engine.clock().set(arrives);
        let before = twin.recorder().commits().len();
        assert!(twin.engine.run_background_work() > arrives);
        let others = regions.len() - 1;
        assert_eq!(twin.recorder().commits().len(), before + others, "{regions:?}");
    }
}

/// The event of a write has its own arrival in each other region, not that of an earlier or later write of the item.
#[test]
fn writes_are_logged_with_their_arrivals() {
    let twin = Twin::lagging(&[US, EU, AP], 10);
    twin.engine.listen(true);
    let set_lag = |lag| {
        let account = twin.engine.account(&caller(US));
        account.set_replication_lag("tab", AP, Some(seconds(lag))).unwrap();
    };
    set_lag(30);
    twin.put(US, "x", "1");
    twin.advance(5);
    twin.put(US, "x", "2");
    twin.put(US, "y", "1");
    set_lag(1);
    twin.advance(1);
    // It waits for the earlier writes of the item.
    twin.put(US, "x", "3");
    twin.pause(US, Some(EU));
    twin.advance(1);
    twin.delete(US, "y");
    let events = twin.engine.events_after(0, 10_000).events;
    let writes = events.iter().filter_map(|event| match &event.kind {
        EventKind::Replication(to, subject, arrives) => {
            let Some(AttributeValue::S(key)) = subject.key.get("pk") else {
                panic!("an event without a key: {event:?}");
            };
            let arrives = arrives.map(|at| at.since(Moment::START).as_secs().to_string());
            let arrives = arrives.unwrap_or_else(|| "-".to_owned());
            let second = event.at.since(Moment::START).as_secs();
            Some(format!("{second} {} {key} {to} {arrives}", subject.action))
        }
        _ => None,
    });
    assert_eq!(
        writes.collect::<Vec<_>>(),
        [
            "0 put x eu-west-1 10",
            "0 put x ap-south-1 30",
            "5 put x eu-west-1 15",
            "5 put x ap-south-1 35",
            "5 put y eu-west-1 15",
            "5 put y ap-south-1 35",
            "6 put x eu-west-1 16",
            "6 put x ap-south-1 35",
            "7 delete y eu-west-1 -",
            "7 delete y ap-south-1 35",
        ]
    );
}

/// A write is logged once for each other region, with its arrival there; without one while replication with it is paused.
#[test]
fn a_write_is_logged_with_its_arrival_in_each_other_region() {
    let twin = Twin::lagging(&[US, EU, AP], 10);
    let lag = |from: &str, to: &str, lag: u64| {
        let account = twin.engine.account(&caller(from));
        account.set_replication_lag("tab", to, Some(seconds(lag))).unwrap();
    };
    lag(US, AP, 2);
    lag(EU, US, 3);
    twin.engine.listen(true);
    let logged = |write: &dyn Fn()| -> BTreeSet<String> {
        let before = twin.engine.events_after(0, 10_000).events.len();
        let now = twin.engine.clock().now();
        write();
        let events = twin.engine.events_after(0, 10_000).events.into_iter().skip(before);
        let departures = events.filter_map(|event| match &event.kind {
            EventKind::Replication(to, subject, arrives) => {
                let arrives = arrives.map(|arrives| arrives.since(now).as_secs());
                Some(format!("{} {} to {to} {arrives:?}", event.owner.region, subject.action))
            }
            _ => None,
        });
        let departures: Vec<String> = departures.collect();
        let distinct: BTreeSet<String> = departures.iter().cloned().collect();
        assert_eq!(departures.len(), distinct.len(), "{departures:?}");
        distinct
    };
    let transact = || {
        let put = json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": "b"}}}});
        twin.ok(EU, "TransactWriteItems", &json!({"TransactItems": [put]}));
    };
    let expect = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(
        logged(&|| twin.put(US, "a", "1")),
        expect(&[
            "us-east-1 put to eu-west-1 Some(10)",
            "us-east-1 put to ap-south-1 Some(2)"
        ])
    );
    assert_eq!(
        logged(&transact),
        expect(&[
            "eu-west-1 put to us-east-1 Some(3)",
            "eu-west-1 put to ap-south-1 Some(10)"
        ])
    );
    twin.advance(20);
    assert_eq!(
        logged(&|| twin.delete(AP, "a")),
        expect(&[
            "ap-south-1 delete to us-east-1 Some(10)",
            "ap-south-1 delete to eu-west-1 Some(10)"
        ])
    );
    twin.pause(US, Some(EU));
    assert_eq!(
        logged(&|| twin.put(US, "c", "1")),
        expect(&["us-east-1 put to eu-west-1 None", "us-east-1 put to ap-south-1 Some(2)"])
    );
    twin.resume(US, Some(EU));
    twin.advance(20);
}

/// The event of an arrival has the item's key, whether it exists, existed, or is known to the region alone.
#[test]
fn arrivals_are_logged_with_their_keys() {
    let twin = Twin::lagging(&[US, EU], 10);
    twin.engine.listen(true);
    twin.put(US, "a", "1");
    twin.advance(10);
    twin.delete(US, "a");
    twin.advance(1);
    twin.put(US, "b", "1");
    twin.advance(1);
    twin.put(EU, "b", "2");
    twin.delete(US, "b");
    twin.advance(1);
    // The deletion of `b` is older than this write.
    twin.put(EU, "b", "3");
    twin.advance(30);
    let events = twin.engine.events_after(0, 10_000).events;
    let arrivals = events.iter().filter_map(|event| match &event.kind {
        EventKind::ReplicationArrival(source, subject, applied) => {
            let key = match subject.key.get("pk") {
                Some(AttributeValue::S(text)) => text.to_string(),
                _ => "-".to_owned(),
            };
            let second = event.at.since(Moment::START).as_secs();
            Some(format!("{second} {source} {} {key} {applied}", subject.action))
        }
        _ => None,
    });
    assert_eq!(
        arrivals.collect::<Vec<_>>(),
        [
            "10 us-east-1 put a true",
            "20 us-east-1 delete a true",
            "21 us-east-1 put b false",
            "22 us-east-1 delete b false",
            "22 eu-west-1 put b false",
            "23 eu-west-1 put b true",
        ]
    );
}

/// A new replica has the items of the table, so its first write of one of them conflicts with nothing, nor does a write that
/// reaches it.
#[test]
fn the_first_write_of_a_copied_item_is_no_conflict() {
    for writer in [US, EU] {
        let twin = Twin::new(&[US]);
        twin.engine.listen(true);
        twin.put(US, "a", "1");
        twin.add(US, EU);
        twin.put(writer, "a", "2");
        twin.advance(1);
        assert_eq!(twin.all(&[US, EU], "a"), "2 2", "{writer}");
        assert_eq!(twin.conflicts(), BTreeSet::new(), "{writer}");
    }
}

/// A write that arrives after one that has seen it is lost without a conflict.
#[test]
fn an_overtaken_write_is_no_conflict() {
    let twin = Twin::lagging(&[US, EU, AP], 2);
    twin.engine.listen(true);
    let us = twin.engine.account(&caller(US));
    us.set_replication_lag("tab", AP, Some(seconds(60))).unwrap();
    twin.put(US, "a", "1");
    twin.advance(2);
    twin.put(EU, "a", "2");
    twin.advance(2);
    assert_eq!(twin.all(&[US, EU, AP], "a"), "2 2 2");
    twin.advance(60);
    assert_eq!(twin.all(&[US, EU, AP], "a"), "2 2 2");
    assert_eq!(twin.conflicts(), BTreeSet::new());
    assert_eq!(twin.records(AP), ["INSERT a"]);
}

#[test]
fn a_version_check_that_passes_in_two_regions_loses_one_write() {
    let twin = Twin::lagging(&[US, EU], 1);
    twin.put(US, "a", "1");
    twin.advance(5);
    let swap = |region: &str, to: &str| {
        let body = json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}, "UpdateExpression": "SET v = :to",
            "ConditionExpression": "v = :from", "ExpressionAttributeValues": {":from": {"S": "1"}, ":to": {"S": to}}});
        twin.send(region, "UpdateItem", &body).0
    };
    assert_eq!((swap(US, "us"), swap(EU, "eu")), (200, 200));
    twin.advance(5);
    assert_eq!(twin.all(&[US, EU], "a"), "eu eu");
    assert_eq!(swap(US, "us"), 400);
    // The loser is in its own region's stream: it was applied there first.
    assert_eq!(twin.records(US), ["INSERT a", "MODIFY a", "MODIFY a"]);
    assert_eq!(twin.records(EU), ["INSERT a", "MODIFY a"]);
    // Two increments end as one.
    let add = json!({"TableName": "tab", "Key": {"pk": {"S": "n"}}, "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}}});
    for region in [US, EU] {
        twin.ok(region, "UpdateItem", &add);
    }
    twin.advance(5);
    let read = json!({"TableName": "tab", "Key": {"pk": {"S": "n"}}});
    assert_eq!(twin.ok(US, "GetItem", &read)["Item"]["n"]["N"], "1");
}

#[test]
fn a_region_that_is_cut_off_catches_up_both_ways() {
    let twin = Twin::new(&[US, EU, AP]);
    twin.put(US, "a", "0");
    twin.pause(AP, None);
    for number in 1..50 {
        twin.put(US, "a", &number.to_string());
        twin.advance(1);
    }
    twin.put(AP, "b", "1");
    twin.put(AP, "a", "lost");
    twin.advance(1);
    twin.put(EU, "a", "last");
    assert_eq!(
        (twin.all(&[US, EU, AP], "a"), twin.all(&[US, EU, AP], "b")),
        ("last last lost".into(), "- - 1".into())
    );
    let waits: Vec<(String, bool, usize, usize)> = twin
        .engine
        .account(&caller(AP))
        .replication("tab")
        .unwrap()
        .into_iter()
        .map(|state| (state.region.into(), state.paused, state.arriving, state.leaving))
        .collect();
    // What waits is one change of each item.
    assert_eq!(waits, [(US.into(), true, 1, 2), (EU.into(), true, 1, 2)]);
    // One pair at a time.
    twin.resume(US, Some(AP));
    let paused = |region: &str| -> Vec<bool> {
        let states = twin.engine.account(&caller(region)).replication("tab").unwrap();
        states.iter().map(|state| state.paused).collect()
    };
    assert_eq!([US, EU, AP].map(paused), [[false, false], [false, true], [false, true]]);
    assert_eq!(
        (twin.all(&[US, EU, AP], "a"), twin.all(&[US, EU, AP], "b")),
        ("last last lost".into(), "1 - 1".into())
    );
    twin.resume(AP, None);
    assert_eq!(
        (twin.all(&[US, EU, AP], "a"), twin.all(&[US, EU, AP], "b")),
        ("last last last".into(), "1 1 1".into())
    );
    assert_eq!(twin.records(AP), ["INSERT a", "INSERT b", "MODIFY a", "MODIFY a"]);
    let error = twin
        .engine
        .account(&caller(US))
        .pause_replication("tab", Some("us-west-2"))
        .unwrap_err();
    assert_eq!(error.to_string(), "Table tab has no replica in us-west-2.");
}

/// Of two paused regions, the first that is resumed does not replicate to or from the other.
#[test]
fn a_resumed_region_does_not_replicate_with_a_paused_one() {
    let twin = Twin::new(&[US, EU, AP]);
    twin.pause(EU, None);
    twin.pause(US, None);
    twin.resume(US, None);
    twin.put(US, "a", "1");
    twin.put(EU, "b", "2");
    assert_eq!(twin.all(&[US, EU, AP], "a"), "1 - 1");
    assert_eq!(twin.all(&[US, EU, AP], "b"), "- 2 -");
    twin.resume(EU, None);
    assert_eq!(twin.all(&[US, EU, AP], "a"), "1 1 1");
    assert_eq!(twin.all(&[US, EU, AP], "b"), "2 2 2");
}

/// A pause between two regions, or its end, changes nothing about whether one of them is cut off from all others.
#[test]
fn two_regions_are_paused_and_resumed_by_themselves() {
    // What a third region writes, and what the first one writes, after the third one was cut off and resumed.
    for (is_cut_off, third, first) in [(false, "1 1 1", "2 - 2"), (true, "- 1 1", "2 2 -")] {
        let twin = Twin::new(&[US, EU, AP]);
        if is_cut_off {
            twin.pause(US, None);
            twin.resume(US, Some(EU));
        } else {
            twin.pause(US, Some(EU));
        }
        twin.pause(AP, None);
        twin.resume(AP, None);
        twin.put(AP, "a", "1");
        assert_eq!(twin.all(&[US, EU, AP], "a"), third, "{is_cut_off}");
        twin.put(US, "b", "2");
        assert_eq!(twin.all(&[US, EU, AP], "b"), first, "{is_cut_off}");
        twin.resume(US, None);
        assert_eq!(twin.all(&[US, EU, AP], "a"), "1 1 1", "{is_cut_off}");
        assert_eq!(twin.all(&[US, EU, AP], "b"), "2 2 2", "{is_cut_off}");
    }
}

#[test]
fn a_table_whose_replicas_are_gone_has_none_to_pause() {
    let twin = Twin::new(&[US, EU]);
    let delete = json!([{"Delete": {"RegionName": EU}}]);
    twin.ok(
        US,
        "UpdateTable",
        &json!({"TableName": "tab", "ReplicaUpdates": delete}),
    );
    let account = twin.engine.account(&caller(US));
    for region in [None, Some(EU)] {
        let refused = [
            account.pause_replication("tab", region),
            account.resume_replication("tab", region),
            account.set_replication_lag("tab", EU, seconds(5)),
        ];
        for refused in refused {
            let text = refused.unwrap_err().to_string();
            assert_eq!(text, "Table tab has no replicas.", "{region:?}");
        }
    }
    assert_eq!(account.replication("tab"), Ok(Vec::new()));
}

#[test]
fn a_deletion_is_remembered_until_older_writes_have_arrived() {
    let twin = Twin::new(&[US, EU, AP]);
    twin.put(US, "a", "1");
    twin.pause(EU, Some(AP));
    twin.put(EU, "a", "2");
    twin.advance(1);
    twin.delete(US, "a");
    assert_eq!(twin.all(&[US, EU, AP], "a"), "- - -");
    // Days later the write arrives that the deletion had seen.
    twin.advance(3 * 86_400);
    twin.put(US, "b", "1");
    // In all partitions.
    (0..20).for_each(|other| twin.put(AP, &other.to_string(), "1"));
    twin.resume(EU, Some(AP));
    assert_eq!(twin.all(&[US, EU, AP], "a"), "- - -");
}

#[test]
fn a_deletion_that_arrives_before_the_item_keeps_it_deleted() {
    let twin = Twin::lagging(&[US, EU, AP], 1);
    let account = twin.engine.account(&caller(US));
    account.set_replication_lag("tab", AP, Some(seconds(60))).unwrap();
    twin.put(US, "a", "1");
    twin.advance(1);
    twin.delete(EU, "a");
    twin.advance(1);
    assert_eq!(twin.all(&[US, EU, AP], "a"), "- - -");
    twin.advance(60);
    assert_eq!(twin.all(&[US, EU, AP], "a"), "- - -");
}

#[test]
fn an_expired_item_is_deleted_by_one_region_and_replicated_to_the_others() {
    let twin = Twin::new(&[US, EU]);
    twin.engine.listen(true);
    let live = json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}});
    twin.ok(US, "UpdateTimeToLive", &live);
    let now = twin.engine.clock().now().seconds();
    let item = json!({"pk": {"S": "a"}, "ttl": {"N": (now + 60).to_string()}});
    twin.ok(US, "PutItem", &json!({"TableName": "tab", "Item": item}));
    twin.advance(61);
    let removes = [US, EU].map(|region| twin.records(region));
    let by_service = removes
        .iter()
        .filter(|records| records[1] == "REMOVE a by service")
        .count();
    let replicated = removes.iter().filter(|records| records[1] == "REMOVE a").count();
    assert_eq!((by_service, replicated), (1, 1), "{removes:?}");
    let mut logged = Vec::new();
    for event in twin.engine.events_after(0, 1000).events {
        if let EventKind::Replication(to, subject, _) = &event.kind {
            logged.push((subject.action, *to != event.owner.region));
        }
    }
    assert_eq!(logged, [("put", true), ("delete", true)]);
}

/// A write of the moment at which a deletion is due replaces it in all regions, though another region deletes the item later.
#[test]
fn a_due_deletion_precedes_the_writes_of_its_moment() {
    for (writer, other) in [(US, EU), (EU, US)] {
        let twin = Twin::lagging(&[US, EU], 5);
        let live = json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}});
        twin.ok(US, "UpdateTimeToLive", &live);
        let now = twin.engine.clock().now().seconds();
        let item = json!({"pk": {"S": "a"}, "ttl": {"N": (now + 60).to_string()}});
        twin.ok(US, "PutItem", &json!({"TableName": "tab", "Item": item}));
        twin.advance(10);
        // It is now due in both regions, and applied there by their requests.
        twin.engine.clock().advance(Duration::from_secs(50));
        twin.put(writer, "a", "new");
        assert_eq!(twin.get(other, "a"), "-", "{writer}");
        twin.advance(10);
        assert_eq!(twin.all(&[US, EU], "a"), "new new", "{writer}");
    }
}

/// What is due in a replica happens before its settings change with those of another one.
#[test]
fn an_item_that_expired_in_a_replica_is_deleted_before_time_to_live_ends() {
    let twin = Twin::lagging(&[US, EU], 100);
    let live = |enabled: bool| {
        let specification = json!({"Enabled": enabled, "AttributeName": "ttl"});
        let body = json!({"TableName": "tab", "TimeToLiveSpecification": specification});
        twin.ok(US, "UpdateTimeToLive", &body);
    };
    live(true);
    let now = twin.engine.clock().now().seconds();
    let item = json!({"pk": {"S": "a"}, "v": {"S": "1"}, "ttl": {"N": (now + 200).to_string()}});
    twin.ok(US, "PutItem", &json!({"TableName": "tab", "Item": item}));
    twin.advance(150);
    assert_eq!(twin.all(&[US, EU], "a"), "1 1");
    // The deletion of the first region arrives a while later.
    twin.engine.clock().advance(Duration::from_mins(1));
    live(false);
    assert_eq!(twin.all(&[US, EU], "a"), "- -");
}

#[test]
fn a_transaction_is_atomic_in_its_region_only() {
    let twin = Twin::new(&[US, EU]);
    twin.engine
        .set_conditions(Conditions {
            replication_lag: Conditions::STORM.replication_lag,
            ..Conditions::CALM
        })
        .unwrap();
    let put = |pk: &str| json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": pk}, "v": {"S": "1"}}}});
    let keys = ["a", "b", "c", "d", "e"];
    let body = json!({"TransactItems": keys.map(put), "ClientRequestToken": "token"});
    twin.ok(US, "TransactWriteItems", &body);
    // A client token is one region's.
    let again = json!({"TransactItems": [put("f")], "ClientRequestToken": "token"});
    assert_eq!(twin.send(US, "TransactWriteItems", &again).0, 400);
    twin.ok(EU, "TransactWriteItems", &again);
    let seen = || keys.iter().filter(|key| twin.get(EU, key) == "1").count();
    let mut counts = BTreeSet::new();
    for _ in 0..60 {
        counts.insert(seen());
        twin.advance(10);
    }
    assert!(
        counts.contains(&0) && counts.contains(&5) && counts.len() > 2,
        "{counts:?}"
    );
}

#[test]
fn an_arrival_waits_for_a_transaction_that_holds_its_item() {
    let twin = Twin::new(&[US, EU]);
    twin.engine
        .account(&caller(EU))
        .set_table_conditions(
            "tab",
            Some(Conditions {
                transaction_time: seconds(10),
                ..Conditions::CALM
            }),
        )
        .unwrap();
    let put = json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": "a"}, "v": {"S": "eu"}}}});
    twin.ok(EU, "TransactWriteItems", &json!({"TransactItems": [put]}));
    twin.advance(1);
    twin.put(US, "a", "us");
    assert_eq!(twin.all(&[US, EU], "a"), "us -");
    twin.advance(9);
    // The transaction was carried out later.
    assert_eq!(twin.all(&[US, EU], "a"), "eu eu");
    // One that only checks the item leaves it to what has arrived meanwhile.
    let check = json!({"ConditionCheck": {"TableName": "tab", "Key": {"pk": {"S": "b"}},
        "ConditionExpression": "attribute_not_exists(pk)"}});
    twin.ok(EU, "TransactWriteItems", &json!({"TransactItems": [check]}));
    for (number, pk) in ["b", "c", "b"].into_iter().enumerate() {
        twin.advance(1);
        twin.put(US, pk, &number.to_string());
    }
    assert_eq!(
        (twin.all(&[US, EU], "b"), twin.all(&[US, EU], "c")),
        ("2 -".into(), "1 1".into())
    );
    twin.advance(6);
    assert_eq!(twin.get(EU, "b"), "-");
    twin.advance(1);
    assert_eq!(twin.get(EU, "b"), "2");
    assert_eq!(twin.records(EU), ["INSERT a", "INSERT c", "INSERT b", "MODIFY b"]);
}

#[test]
fn a_replicated_deletion_waits_for_a_transaction_that_holds_its_item() {
    let put = json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": "a"}, "v": {"S": "new"}}}});
    let check = json!({"ConditionCheck": {"TableName": "tab", "Key": {"pk": {"S": "a"}},
        "ConditionExpression": "attribute_exists(pk)"}});
    for (action, after) in [(put, "new new"), (check, "- -")] {
        let twin = Twin::new(&[US, EU]);
        twin.put(US, "a", "old");
        let slow = Conditions {
            transaction_time: seconds(10),
            ..Conditions::CALM
        };
        twin.engine
            .account(&caller(EU))
            .set_table_conditions("tab", slow)
            .unwrap();
        twin.advance(1);
        twin.ok(EU, "TransactWriteItems", &json!({"TransactItems": [action]}));
        twin.advance(1);
        twin.ok(
            US,
            "DeleteItem",
            &json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}}),
        );
        twin.advance(8);
        assert_eq!(twin.all(&[US, EU], "a"), "- old", "{action}");
        twin.advance(1);
        assert_eq!(twin.all(&[US, EU], "a"), after, "{action}");
    }
}

/// In each partition, what is due is applied in the order of its due times, however late it is noticed.
#[test]
fn transactions_and_arrivals_are_applied_in_the_order_of_their_times() {
    for (lag, expect) in [
        (12, ["INSERT t", "INSERT u"]),
        (10, ["INSERT t", "INSERT u"]),
        (8, ["INSERT u", "INSERT t"]),
    ] {
        let twin = Twin::lagging(&[US, EU], lag);
        let slow = Conditions {
            transaction_time: seconds(10),
            ..Conditions::CALM
        };
        twin.engine
            .account(&caller(EU))
            .set_table_conditions("tab", Some(slow))
            .unwrap();
        let partition_of = |pk: &str| partition_token(&AttributeValue::string(pk)).unwrap() >> 62;
        let others = (0..).map(|number| format!("u{number}"));
        let arriving = others
            .into_iter()
            .find(|pk| partition_of(pk) == partition_of("t"))
            .unwrap();
        let put = json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": "t"}}}});
        twin.ok(EU, "TransactWriteItems", &json!({"TransactItems": [put]}));
        twin.put(US, &arriving, "1");
        twin.advance(60);
        let records = twin.records(EU);
        let starts = |(record, expect): (&String, &str)| record.starts_with(expect);
        assert!(
            records.len() == 2 && records.iter().zip(expect).all(starts),
            "{lag}: {records:?}"
        );
    }
}

/// A new replica has seen the writes of the items that it was created with: its own later writes conflict with none of them.
#[test]
fn a_write_in_a_new_replica_does_not_conflict_with_copied_items() {
    let twin = Twin::new(&[US, EU]);
    twin.put(US, "a", "1");
    twin.put(EU, "b", "1");
    twin.add(US, AP);
    twin.engine.listen(true);
    twin.put(AP, "a", "2");
    twin.put(AP, "b", "2");
    twin.advance(60);
    assert_eq!(
        (twin.all(&[US, EU, AP], "a"), twin.all(&[US, EU, AP], "b")),
        ("2 2 2".into(), "2 2 2".into())
    );
    assert_eq!(twin.conflicts(), BTreeSet::new());
}

#[test]
fn copied_items_count_in_the_sizes_of_capacity_partitions() {
    let twin = Twin::new(&[US]);
    let capacity = Capacity::Enforced(Enforcement::AWS);
    twin.engine
        .set_conditions(Conditions {
            capacity,
            ..Conditions::CALM
        })
        .unwrap();
    (0..8).for_each(|number| twin.put(US, &number.to_string(), &"x".repeat(1500)));
    twin.add(US, EU);
    let bytes = |region: &str| -> u64 {
        let heat = twin.engine.account(&caller(region)).heat("tab").unwrap();
        heat.resources[0]
            .partitions
            .iter()
            .map(|partition| partition.bytes)
            .sum()
    };
    assert!(bytes(US) > 8 * 1500);
    assert_eq!(bytes(EU), bytes(US));
    // So do writes that arrive.
    twin.put(US, "8", &"x".repeat(1500));
    twin.put(EU, "0", "x");
    twin.engine.run_due();
    assert!(bytes(US) > 8 * 1500);
    assert_eq!(bytes(EU), bytes(US));
}

#[test]
fn metrics_have_latencies_and_replicated_units() {
    let twin = Twin::lagging(&[US, EU], 3);
    twin.engine.watch(true);
    (0..4).for_each(|number| twin.put(US, &number.to_string(), &"x".repeat(1500)));
    // The latency ends with the arrival of a change, which is noticed later.
    twin.advance(5);
    let metric = |region: &str, name: &str| -> Vec<(Option<String>, f64)> {
        let metrics = twin.engine.metrics(&caller(region)).into_iter();
        let found = metrics.filter(|metric| metric.name == name);
        found
            .map(|metric| {
                (
                    metric
                        .dimension("ReceivingRegion")
                        .or(metric.dimension("GlobalSecondaryIndexName"))
                        .map(str::to_owned),
                    metric.value,
                )
            })
            .collect()
    };
    assert_eq!(metric(US, "ReplicationLatency"), [(Some(EU.into()), 3000.0)]);
    assert_eq!(metric(EU, "ReplicationLatency"), []);
    let consumed = [(None, 8.0), (Some("by-g".to_owned()), 8.0)];
    for region in [US, EU] {
        let mut found = metric(region, "ConsumedWriteCapacityUnits");
        found.sort_by(|left, right| left.0.cmp(&right.0));
        assert_eq!(found, consumed, "{region}");
    }
}

#[test]
fn replicated_writes_use_up_the_capacity_of_their_region() {
    let twin = Twin::new(&[US, EU]);
    twin.engine
        .account(&caller(EU))
        .set_table_conditions(
            "tab",
            Some(Conditions {
                capacity: Capacity::Enforced(Enforcement {
                    burst: Duration::ZERO,
                    partition_write: 10,
                    ..Enforcement::AWS
                }),
                ..Conditions::CALM
            }),
        )
        .unwrap();
    (0..40).for_each(|number| twin.put(US, "a", &number.to_string()));
    let item = json!({"pk": {"S": "a"}});
    let put = json!({"TableName": "tab", "Item": item});
    let (status, error) = twin.send(EU, "PutItem", &put);
    assert_eq!(status, 400, "{error}");
    assert!(
        error["__type"].as_str().unwrap().contains("Throughput")
            || error["__type"].as_str().unwrap().contains("Throttling"),
        "{error}"
    );
    twin.advance(60);
    twin.ok(EU, "PutItem", &put);
}

#[test]
fn delays_depend_on_seed_item_and_ordinal_alone() {
    // When each of the changes arrives, by the second; others are written between them.
    let arrivals = |others: usize, start: u64| {
        let twin = Twin::new(&[US, EU]);
        twin.advance(start);
        twin.engine
            .set_conditions(Conditions {
                replication_lag: Conditions::STORM.replication_lag,
                ..Conditions::CALM
            })
            .unwrap();
        let mut seen = Vec::new();
        for number in 0..4 {
            (0..others).for_each(|other| twin.put(US, &format!("other-{other}"), "x"));
            let value = number.to_string();
            twin.put(US, "a", &value);
            let mut waited = 0;
            while twin.get(EU, "a") != value {
                twin.advance(1);
                waited += 1;
            }
            seen.push(waited);
        }
        seen
    };
    let alone = arrivals(0, 0);
    assert!(alone.iter().any(|delay| *delay != alone[0]), "{alone:?}");
    assert_eq!(alone, arrivals(3, 12_345));
}

#[test]
fn a_new_replica_has_the_versions_of_its_source() {
    let twin = Twin::new(&[US, EU]);
    twin.put(US, "a", "1");
    twin.pause(US, Some(EU));
    twin.put(EU, "a", "2");
    twin.advance(1);
    twin.put(US, "a", "3");
    twin.put(US, "b", "1");
    // The new region misses nothing that is on its way, and takes nothing older for newer.
    twin.add(US, AP);
    assert_eq!((twin.get(AP, "a"), twin.get(AP, "b")), ("3".into(), "1".into()));
    twin.resume(US, None);
    assert_eq!(twin.all(&[US, EU, AP], "a"), "3 3 3");
    twin.put(EU, "a", "4");
    assert_eq!(twin.all(&[US, EU, AP], "a"), "4 4 4");
}

#[test]
fn a_region_that_leaves_leaves_its_last_writes() {
    let twin = Twin::lagging(&[US, EU], 10);
    twin.put(EU, "a", "1");
    let update = json!([{"Delete": {"RegionName": EU}}]);
    twin.ok(
        US,
        "UpdateTable",
        &json!({"TableName": "tab", "ReplicaUpdates": update}),
    );
    twin.put(US, "b", "1");
    twin.advance(20);
    assert_eq!((twin.get(US, "a"), twin.get(US, "b")), ("1".into(), "1".into()));
    // From here on it is a table like any other.
    twin.put(US, "a", "2");
    twin.add(US, EU);
    assert_eq!(twin.all(&[US, EU], "a"), "2 2");
    assert!(twin.engine.account(&caller(US)).replication("other").is_err());
}

#[test]
fn conditions_say_how_long_time_to_live_and_replication_take() {
    let twin = Twin::new(&[US, EU]);
    twin.engine.set_conditions(Conditions::AWS).unwrap();
    assert_eq!(
        twin.engine.conditions().replication_lag,
        Conditions::AWS.replication_lag
    );
    assert!(
        Conditions::CALM.replication_lag.is_none() && Conditions::CALM.time_to_live == TimeToLive::Deletes(Lag::None)
    );
}

#[test]
fn due_work_of_a_region_makes_work_due_in_the_others() {
    let twin = Twin::new(&[US, EU, AP]);
    twin.engine
        .set_conditions(Conditions {
            replication_lag: seconds(10),
            transaction_time: seconds(5),
            ..Conditions::CALM
        })
        .unwrap();
    for (from, others) in [(US, [EU, AP]), (EU, [US, AP])] {
        twin.engine.run_background_work();
        let put = json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": "a"}, "v": {"S": from}}}});
        twin.ok(from, "TransactWriteItems", &json!({"TransactItems": [put]}));
        let begun = twin.engine.clock().now();
        // The transaction ends, and then its change arrives, with no request in between.
        for wait in [5, 10] {
            let due = twin.engine.clock().now().plus(Duration::from_secs(wait));
            assert_eq!(twin.engine.run_background_work(), due, "{from}, {wait} s");
            twin.engine.clock().advance(Duration::from_secs(wait));
        }
        twin.engine.run_background_work();
        assert_eq!(twin.engine.clock().now(), begun.plus(Duration::from_secs(15)));
        for other in others {
            let items = twin.engine.items(&caller(other), "tab").unwrap();
            let value = items[0].get("v");
            assert_eq!(value, Some(AttributeValue::string(from)), "{from} to {other}");
        }
    }
}

#[test]
fn a_write_after_a_restart_is_newer_than_those_before_it() {
    // Several writes of the same moment: their order is that of their numbers, which go on in a restored state.
    for in_flight in [false, true] {
        let twin = Twin::lagging(&[US, EU], 10);
        (0..5).for_each(|write| twin.put(US, "a", &write.to_string()));
        if !in_flight {
            twin.advance(10);
        }
        let restored = Engine::new(settings(7));
        restored.restore(&twin.engine.snapshot()).unwrap();
        let put = json!({"TableName": "tab", "Item": {"pk": {"S": "a"}, "v": {"S": "last"}}});
        let writer = if in_flight { EU } else { US };
        restored.clock().set(Moment::START);
        let answer = restored.dispatch(&caller(writer), "PutItem", put.to_string().as_bytes());
        assert_eq!(answer.status, 200);
        restored.advance(Duration::from_secs(30));
        for region in [US, EU] {
            let items = restored.items(&caller(region), "tab").unwrap();
            let value = items[0].get("v");
            assert_eq!(value, Some(AttributeValue::string("last")), "{region}, {in_flight}");
        }
    }
}

/// The writes that arrive from other regions are added to the table's own.
#[test]
fn arriving_writes_count_as_consumed() {
    let twin = Twin::new(&[US, EU]);
    twin.engine.watch(true);
    let consumed = |region: &str| {
        let metrics = twin.engine.metrics(&caller(region));
        let of_table = metrics.iter().find(|metric| {
            metric.name == "ConsumedWriteCapacityUnits"
                && metric.dimensions.len() == 1
                && metric.dimension("TableName") == Some("tab")
        });
        of_table.map_or(0.0, |metric| metric.value)
    };
    let (us, eu) = (consumed(US), consumed(EU));
    twin.put(US, "a", "1");
    let (own, arrived) = (consumed(US) - us, consumed(EU) - eu);
    assert!(own > 0.0 && arrived > 0.0, "{own} {arrived}");
    twin.put(EU, "b", "1");
    assert_eq!((consumed(US) - us, consumed(EU) - eu), (own + arrived, own + arrived));
    // No other counter of the table has them.
    twin.get(EU, "a");
    let metrics = twin.engine.metrics(&caller(EU));
    let read = metrics.iter().find(|metric| metric.name == "ConsumedReadCapacityUnits");
    assert_eq!(read.map(|metric| metric.value), Some(1.0));
}

/// A change of a replica that is gone still arrives, also in each copy of the state, and replaces no newer write.
#[test]
fn a_copy_keeps_the_writes_that_are_newer_than_what_arrives() {
    let twin = Twin::lagging(&[US, EU], 60);
    twin.put(EU, "a", "older");
    twin.put(EU, "b", "older");
    let delete = json!({"TableName": "tab", "ReplicaUpdates": [{"Delete": {"RegionName": EU}}]});
    twin.ok(US, "UpdateTable", &delete);
    twin.advance(10);
    let copies = copies::of(&twin.engine, twin.recorder(), || settings(7));
    let original = [("original", &twin.engine)];
    for (what, engine) in original
        .into_iter()
        .chain(copies.iter().map(|(what, copy)| (*what, copy)))
    {
        let send = |operation: &str, body: &Value| -> Value {
            let answer = engine.dispatch(&caller(US), operation, body.to_string().as_bytes());
            serde_json::from_slice(&answer.body).unwrap_or_default()
        };
        let value = |pk: &str| {
            let get = json!({"TableName": "tab", "Key": {"pk": {"S": pk}}});
            send("GetItem", &get)["Item"]["v"]["S"].clone()
        };
        let item = json!({"pk": {"S": "a"}, "v": {"S": "newer"}});
        send("PutItem", &json!({"TableName": "tab", "Item": item}));
        assert_eq!([value("a"), value("b")], [json!("newer"), Value::Null], "{what}");
        engine.advance(Duration::from_mins(1));
        assert_eq!([value("a"), value("b")], [json!("newer"), json!("older")], "{what}");
    }
}

/// What an arrival causes is logged at the time of the arrival, also if a later step of the clock applies it.
#[test]
fn consequences_of_an_arrival_are_logged_at_its_time() {
    let twin = Twin::new(&[US, EU]);
    let specification = json!({"Enabled": true, "AttributeName": "ttl"});
    let body = json!({"TableName": "tab", "TimeToLiveSpecification": specification});
    twin.ok(US, "UpdateTimeToLive", &body);
    let conditions = Conditions {
        replication_lag: seconds(5),
        index_propagation: seconds(2),
        stream_lag: seconds(3),
        time_to_live: TimeToLive::Deletes(seconds(1000)),
        ..Conditions::CALM
    };
    twin.engine.set_conditions(conditions).unwrap();
    twin.engine.listen(true);
    let ttl = Moment::START.seconds() + 10_000;
    let item = json!({"pk": {"S": "a"}, "g": {"S": "g"}, "ttl": {"N": ttl.to_string()}});
    twin.ok(US, "PutItem", &json!({"TableName": "tab", "Item": item}));
    twin.advance(1);
    twin.put(EU, "b", "1");
    twin.put(US, "b", "2");
    twin.advance(60);
    let events = twin.engine.events_after(0, 10_000).events;
    let of_arrivals = events
        .iter()
        .filter(|event| event.at > Moment::START.plus(Duration::from_secs(1)));
    let short = of_arrivals.filter_map(|event| {
        let kind = match &event.kind {
            EventKind::ReplicationConflict(..) => "conflict",
            EventKind::ReplicationArrival(..) => "arrival",
            EventKind::IndexChange(..) => "index change",
            EventKind::ExpirySchedule(..) => "expiry schedule",
            EventKind::StreamRecord(..) => "stream record",
            _ => return None,
        };
        let second = event.at.since(Moment::START).as_secs();
        Some(format!("{second} {} {kind}", event.owner.region))
    });
    assert_eq!(
        short.collect::<Vec<_>>(),
        [
            "5 eu-west-1 arrival",
            "5 eu-west-1 index change",
            "5 eu-west-1 expiry schedule",
            "5 eu-west-1 stream record",
            "6 eu-west-1 conflict",
            "6 eu-west-1 arrival",
            "6 eu-west-1 index change",
            "6 eu-west-1 stream record",
            "6 us-east-1 conflict",
            "6 us-east-1 arrival",
        ]
    );
}

/// The latency towards each region is that of the writes that arrive there.
#[test]
fn each_receiving_region_has_its_own_latency() {
    let twin = Twin::lagging(&[US, EU, AP], 3);
    let fraction = Lag::Fixed(Duration::from_micros(1_000_500));
    for (from, to, lag) in [(US, AP, seconds(2)), (EU, US, fraction), (EU, AP, seconds(4))] {
        let account = twin.engine.account(&caller(from));
        account.set_replication_lag("tab", to, Some(lag)).unwrap();
    }
    twin.engine.watch(true);
    twin.put(US, "a", "1");
    twin.put(EU, "b", "1");
    twin.advance(5);
    for (region, expect) in [
        (US, &[(AP, 2000.0), (EU, 3000.0)][..]),
        (EU, &[(AP, 4000.0), (US, 1000.5)]),
        (AP, &[]),
    ] {
        let metrics = twin.engine.metrics(&caller(region));
        let latencies = metrics.iter().filter(|metric| metric.name == "ReplicationLatency");
        let latencies: Vec<_> = latencies
            .map(|metric| (metric.dimension("ReceivingRegion").unwrap(), metric.value))
            .collect();
        assert_eq!(latencies, expect, "{region}");
    }
}

/// The latency of a write that loses to a later one of the other region is measured as that of any other.
#[test]
fn a_write_that_loses_has_a_latency() {
    let twin = Twin::lagging(&[US, EU], 3);
    twin.engine.watch(true);
    twin.put(US, "a", "1");
    twin.advance(1);
    twin.put(EU, "a", "2");
    twin.advance(5);
    assert_eq!(twin.all(&[US, EU], "a"), "2 2");
    for (region, other) in [(US, EU), (EU, US)] {
        let metrics = twin.engine.metrics(&caller(region)).into_iter();
        let latencies = metrics.filter(|metric| metric.name == "ReplicationLatency");
        let latencies: Vec<_> = latencies
            .map(|metric| (metric.dimension("ReceivingRegion").map(str::to_owned), metric.value))
            .collect();
        assert_eq!(latencies, [(Some(other.to_owned()), 3000.0)], "{region}");
    }
}

/// The clock may stand still: the write is still the last one of its moment.
#[test]
fn a_write_after_a_restart_is_newer_than_those_of_its_moment() {
    let twin = Twin::new(&[US, EU]);
    (0..5).for_each(|write| twin.put(US, "a", &write.to_string()));
    assert_eq!(twin.all(&[US, EU], "a"), "4 4");
    for writer in [US, EU] {
        let restored = Engine::new(settings(7));
        restored.restore(&twin.engine.snapshot()).unwrap();
        let put = json!({"TableName": "tab", "Item": {"pk": {"S": "a"}, "v": {"S": "last"}}});
        let answer = restored.dispatch(&caller(writer), "PutItem", put.to_string().as_bytes());
        assert_eq!(answer.status, 200);
        for region in [US, EU] {
            let items = restored.items(&caller(region), "tab").unwrap();
            let value = items[0].get("v");
            assert_eq!(value, Some(AttributeValue::string("last")), "{writer}, {region}");
        }
    }
}
