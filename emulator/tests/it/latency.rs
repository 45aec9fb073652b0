//! The latency of requests: by class, size and seed, and in CloudWatch's metrics, by the minute.

use std::time::Duration;

use crate::common::{Twin, create_table_with_ttl};
use dynatwin_engine::faults::{Rule, Verdict};
use dynatwin_engine::http::HttpRequest;
use dynatwin_engine::monitoring::Datapoint;
use dynatwin_engine::{Caller, Conditions, Lag, Latency, Moment};
use serde_json::{Value, json};

fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Each class has its own latency, and a kilobyte adds a millisecond.
const CLASSES: Latency = Latency {
    read: Lag::Fixed(Duration::from_secs(1)),
    write: Lag::Fixed(Duration::from_secs(2)),
    query: Lag::Fixed(Duration::from_secs(3)),
    transaction: Lag::Fixed(Duration::from_secs(4)),
    control: Lag::Fixed(Duration::from_secs(5)),
    per_kilobyte: Duration::from_millis(1),
};

fn twin(seed: u64, latency: Latency) -> Twin {
    let twin = Twin::new(seed);
    create_table_with_ttl(&twin);
    twin.engine
        .set_conditions(Conditions {
            latency: Some(latency),
            ..Conditions::CALM
        })
        .unwrap();
    twin
}

fn took(twin: &Twin, operation: &str, body: &Value) -> Duration {
    let answer = twin
        .engine
        .dispatch(&twin.caller, operation, body.to_string().as_bytes());
    answer.at.since(twin.engine.clock().now())
}

fn put(key: &str, bytes: usize) -> Value {
    json!({"TableName": "tab", "Item": {"pk": {"S": key}, "text": {"S": "x".repeat(bytes)}}})
}

/// A minute has the number, the sum and the extremes of its measurements, whichever comes first.
#[test]
fn a_minute_has_the_extremes_of_its_measurements() {
    for order in [[1, 2, 6], [6, 2, 1], [2, 6, 1], [2, 1, 6]] {
        let twin = twin(7, CLASSES);
        twin.engine.watch(true);
        for seconds in order {
            let latency = Latency {
                write: Lag::Fixed(Duration::from_secs(seconds)),
                per_kilobyte: Duration::ZERO,
                ..CLASSES
            };
            let conditions = Conditions {
                latency: Some(latency),
                ..Conditions::CALM
            };
            twin.engine.set_conditions(conditions).unwrap();
            twin.ok("PutItem", &put("a", 0));
        }
        let answer = twin.engine.handle(&HttpRequest {
            method: "GET",
            target: "/_dynatwin/metrics/minutes",
            headers: &[("host", "here")],
            body: b"",
        });
        let answer: Value = serde_json::from_slice(&answer.body).unwrap();
        let mut points = answer[0]["datapoints"].as_array().unwrap().iter();
        let point = points
            .find(|point| point["name"] == "SuccessfulRequestLatency")
            .unwrap();
        let expect = json!({"sampleCount": 3, "sum": 9000, "average": 3000, "minimum": 1000, "maximum": 6000});
        for (member, expect) in expect.as_object().unwrap() {
            assert_eq!(point[member], *expect, "{member} of {point} after {order:?}");
        }
    }
}

#[test]
fn latency_depends_on_class_and_size() {
    let twin = twin(7, CLASSES);
    let key = json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}});
    for (operation, body, least, most) in [
        ("ListTables", json!({}), 5000, 5001),
        ("DescribeTable", json!({"TableName": "tab"}), 5000, 5003),
        ("GetItem", key.clone(), 1000, 1001),
        ("PutItem", put("a", 0), 2000, 2001),
        ("PutItem", put("a", 100 * 1024), 2100, 2101),
        ("GetItem", key.clone(), 1100, 1101),
        ("Scan", json!({"TableName": "tab"}), 3100, 3101),
        ("TransactGetItems", json!({"TransactItems": [{"Get": key}]}), 4100, 4101),
        // Requests that fail before they reach the table have no latency.
        ("GetItem", json!({}), 0, 0),
    ] {
        let took = took(&twin, operation, &body);
        assert!(took >= millis(least) && took <= millis(most), "{operation} {took:?}");
    }
    twin.engine.set_conditions(Conditions::CALM).unwrap();
    assert_eq!(took(&twin, "PutItem", &put("a", 0)), Duration::ZERO);
    // A table's own conditions apply.
    let slow = Conditions {
        latency: Some(CLASSES),
        ..Conditions::CALM
    };
    twin.engine
        .account(&twin.caller)
        .set_table_conditions("tab", slow)
        .unwrap();
    assert!(took(&twin, "PutItem", &put("a", 0)) >= millis(2000));
    assert_eq!(took(&twin, "ListTables", &json!({})), Duration::ZERO);
}

/// A request of several tables takes as long as its slowest table, in any order.
#[test]
fn a_slow_table_delays_a_request_of_several_tables() {
    let twin = Twin::new(7);
    for (table, seconds) in [("fast", Some(1)), ("slow", Some(5)), ("still", None)] {
        twin.ok(
            "CreateTable",
            &json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}),
        );
        let latency = seconds.map(|seconds| {
            let lag = Lag::Fixed(Duration::from_secs(seconds));
            Latency {
                read: lag,
                write: lag,
                query: lag,
                transaction: lag,
                control: lag,
                per_kilobyte: Duration::ZERO,
            }
        });
        let conditions = Conditions {
            latency,
            ..Conditions::CALM
        };
        let account = twin.engine.account(&twin.caller);
        account.set_table_conditions(table, conditions).unwrap();
    }
    let key = json!({"pk": {"S": "a"}});
    let of_tables = |tables: &[&str], of_table: &dyn Fn(&str) -> Value| -> Vec<Value> {
        tables.iter().map(|table| of_table(table)).collect()
    };
    for (tables, seconds) in [
        (&["fast"][..], 1),
        (&["slow"], 5),
        (&["still"], 0),
        (&["fast", "slow"], 5),
        (&["fast", "slow", "still"], 5),
        (&["fast", "still", "slow"], 5),
        (&["slow", "fast"], 5),
        (&["still", "slow", "fast"], 5),
        (&["still", "fast"], 1),
    ] {
        let select = |table: &str| json!({"Statement": format!("SELECT * FROM {table} WHERE pk = 'a'")});
        let get = |table: &str| json!({"Get": {"TableName": table, "Key": key}});
        let put = |table: &str| json!({"Put": {"TableName": table, "Item": key}});
        for (operation, body) in [
            ("TransactGetItems", json!({"TransactItems": of_tables(tables, &get)})),
            ("TransactWriteItems", json!({"TransactItems": of_tables(tables, &put)})),
            (
                "BatchExecuteStatement",
                json!({"Statements": of_tables(tables, &select)}),
            ),
            (
                "ExecuteTransaction",
                json!({"TransactStatements": of_tables(tables, &select)}),
            ),
        ] {
            let took = took(&twin, operation, &body);
            assert_eq!(took, Duration::from_secs(seconds), "{operation} {tables:?}");
        }
    }
    let puts = json!([{"PutRequest": {"Item": key}}]);
    for (operation, of_table) in [("BatchGetItem", json!({"Keys": [key]})), ("BatchWriteItem", puts)] {
        for tables in [["fast", "slow"], ["slow", "fast"]] {
            let [first, second] = tables;
            let body = json!({"RequestItems": {first: of_table, second: of_table}});
            assert_eq!(
                took(&twin, operation, &body),
                Duration::from_secs(5),
                "{operation} {tables:?}"
            );
        }
    }
}

/// Of two tables that differ only in the latency of a kilobyte, the slower one decides, in any order.
#[test]
fn a_kilobyte_takes_as_long_as_in_the_slowest_table() {
    let twin = Twin::new(7);
    for (table, milliseconds) in [("fast", 1), ("slow", 50), ("still", 0)] {
        twin.ok(
            "CreateTable",
            &json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}),
        );
        let latency = Latency {
            per_kilobyte: millis(milliseconds),
            ..CLASSES
        };
        let conditions = Conditions {
            latency: Some(latency),
            ..Conditions::CALM
        };
        let account = twin.engine.account(&twin.caller);
        account.set_table_conditions(table, conditions).unwrap();
    }
    let item = json!({"pk": {"S": "a"}, "text": {"S": "x".repeat(100 * 1024)}});
    for (tables, expect) in [
        (&["still"][..], 4000),
        (&["fast"], 4100),
        (&["fast", "still"], 4200),
        (&["still", "fast"], 4200),
        (&["slow", "fast"], 14_000),
        (&["fast", "slow"], 14_000),
        (&["still", "slow"], 14_000),
        (&["fast", "still", "slow"], 19_000),
    ] {
        let put = |table: &&str| json!({"Put": {"TableName": table, "Item": item}});
        let puts: Vec<Value> = tables.iter().map(put).collect();
        let took = took(&twin, "TransactWriteItems", &json!({"TransactItems": puts}));
        assert!(
            took >= millis(expect) && took < millis(expect + 100),
            "{took:?} of {tables:?}"
        );
    }
}

/// Tables that are loaded, also those that the load creates, are neither delayed nor throttled until their last load ends.
#[test]
fn a_load_is_answered_at_once() {
    let twin = twin(7, CLASSES);
    let account = twin.engine.account(&twin.caller);
    let create = |table: &str| {
        json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]})
    };
    let own = |seconds: u64| {
        let write = Lag::Fixed(Duration::from_secs(seconds));
        let latency = Some(Latency { write, ..CLASSES });
        Conditions {
            latency,
            ..Conditions::CALM
        }
    };
    account.set_table_conditions("own", own(9)).unwrap();
    twin.ok("CreateTable", &create("other"));
    let seconds = |tables: &[&str]| -> Vec<u64> {
        let put = |table: &&str| json!({"TableName": table, "Item": {"pk": {"S": "a"}}});
        let took = tables.iter().map(|table| took(&twin, "PutItem", &put(table)));
        took.map(|took| took.as_secs()).collect()
    };
    let all = ["tab", "own", "other"];
    let [tab, made] = ["tab", "own"].map(str::to_owned);
    let snapshot = account.while_loading(&[tab.clone(), made.clone()], || {
        twin.ok("CreateTable", &create("own"));
        assert_eq!(seconds(&all), [0, 0, 2]);
        for nested in [&tab, &made] {
            let nested = std::slice::from_ref(nested);
            account.while_loading(nested, || {
                account.while_loading(nested, || assert_eq!(seconds(&all), [0, 0, 2]));
                assert_eq!(seconds(&all), [0, 0, 2], "in a load of {nested:?}");
            });
            assert_eq!(seconds(&all), [0, 0, 2], "after a load of {nested:?}");
        }
        twin.engine.snapshot()
    });
    assert_eq!(seconds(&all), [2, 9, 2]);
    // What is set during a load holds after it.
    let load = || {
        account.set_table_conditions("own", own(5)).unwrap();
        account.set_table_conditions("tab", own(7)).unwrap();
        assert_eq!(seconds(&all), [0, 0, 2]);
    };
    account.while_loading(&[tab.clone(), made.clone()], load);
    assert_eq!(seconds(&all), [7, 5, 2]);
    // A load that panics has ended.
    let panics = || account.while_loading(std::slice::from_ref(&made), || panic!("a load fails"));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
    assert_eq!(seconds(&all), [7, 5, 2]);
    // A state that was saved during a load has the conditions of before.
    twin.engine.restore(&snapshot).unwrap();
    assert_eq!(seconds(&all), [2, 9, 2]);
    // Conditions of all tables that are set during a load apply to its tables after it.
    for (loaded, expect) in [
        (&[&tab][..], [0, 9, 3]),
        (&[&made], [3, 0, 3]),
        (&[&tab, &made], [0, 0, 3]),
    ] {
        twin.engine.set_conditions(own(2)).unwrap();
        let names: Vec<String> = loaded.iter().map(|name| (*name).clone()).collect();
        let load = || {
            twin.engine.set_conditions(own(3)).unwrap();
            assert_eq!(seconds(&all), expect, "during a load of {names:?}");
        };
        account.while_loading(&names, load);
        assert_eq!(seconds(&all), [3, 9, 3], "after a load of {names:?}");
    }
}

#[test]
fn the_seed_decides_independently_of_other_requests() {
    let latencies = |seed, others: bool| {
        let mut twin = twin(seed, Latency::AWS);
        let callers = [("other", "us-east-1"), ("test", "eu-west-1")].map(|(access_key, region)| Caller {
            access_key: access_key.into(),
            region: region.into(),
        });
        for caller in &callers {
            let own = std::mem::replace(&mut twin.caller, caller.clone());
            create_table_with_ttl(&twin);
            twin.caller = own;
        }
        let write = |at: u64| {
            if others {
                took(&twin, "PutItem", &put("other", at as usize % 7));
                took(&twin, "ListTables", &json!({}));
                // The same request, one time of another account, the next in another region.
                let caller = &callers[at as usize % 2];
                let answer = twin
                    .engine
                    .dispatch(caller, "PutItem", put("a", 0).to_string().as_bytes());
                assert_eq!(answer.status, 200, "{caller:?}");
            }
            took(&twin, "PutItem", &put("a", 0))
        };
        (0..1000).map(write).collect::<Vec<_>>()
    };
    let alone = latencies(7, false);
    assert_eq!(alone, latencies(7, true));
    assert_ne!(alone, latencies(8, false));
    let mut sorted = alone;
    sorted.sort();
    let quantile = |share: f64| sorted[(share * 1000.0) as usize];
    assert!(
        quantile(0.5) > millis(3) && quantile(0.5) < millis(5),
        "{:?}",
        quantile(0.5)
    );
    assert!(quantile(0.985) < millis(14), "{:?}", quantile(0.985));
    assert!(sorted[999] > millis(14), "{:?}", sorted[999]);
}

fn points<'p>(points: &'p [Datapoint], name: &str) -> Vec<(i64, &'p Datapoint)> {
    let found = points.iter().filter(|point| point.metric.name == name);
    let minute = |point: &Datapoint| (point.start.seconds() - Moment::START.seconds()) / 60;
    found.map(|point| (minute(point), point)).collect()
}

/// The condition of an alarm: more than a number of throttled requests in two of three minutes.
#[test]
fn metrics_are_kept_by_the_minute() {
    let twin = twin(7, CLASSES);
    twin.engine.watch(true);
    twin.engine
        .add_fault(
            Rule::new(Verdict::Throttle(None))
                .after(millis(60_000))
                .lasting(millis(120_000)),
        )
        .unwrap();
    for _ in 0..4 {
        for _ in 0..3 {
            took(&twin, "PutItem", &put("a", 0));
        }
        took(&twin, "PutItem", &put("a", 100 * 1024));
        twin.engine.advance(millis(60_000));
    }
    let all = twin.engine.metrics_by_minute(&twin.caller);
    let sums = |name: &str| {
        points(&all, name)
            .iter()
            .map(|(minute, point)| (*minute, point.metric.value))
            .collect::<Vec<_>>()
    };
    assert_eq!(sums("ThrottledRequests"), [(1, 4.0), (2, 4.0)]);
    assert_eq!(sums("WriteThrottleEvents"), [(1, 4.0), (2, 4.0)]);
    assert_eq!(sums("ConsumedWriteCapacityUnits"), [(0, 104.0), (3, 204.0)]);
    let latencies = points(&all, "SuccessfulRequestLatency");
    assert_eq!(latencies.iter().map(|(minute, _)| *minute).collect::<Vec<_>>(), [0, 3]);
    let samples = latencies[0].1.samples.unwrap();
    assert_eq!(
        (
            samples.count,
            samples.minimum as u64,
            samples.maximum as u64,
            samples.average() as u64
        ),
        (4, 2000, 2100, 2025)
    );
    assert_eq!(latencies[0].1.metric.dimension("Operation"), Some("PutItem"));
    let total = twin.engine.metrics(&twin.caller);
    let total = total
        .iter()
        .find(|metric| metric.name == "SuccessfulRequestLatency")
        .unwrap();
    assert_eq!(total.value as u64, 2025);
    twin.engine.forget_requests();
    assert!(twin.engine.metrics_by_minute(&twin.caller).is_empty());
}

#[test]
fn the_age_of_what_a_reader_gets_is_measured() {
    let twin = Twin::new(7);
    let mut table = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    table["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
    let arn = twin.ok("CreateTable", &table)["TableDescription"]["LatestStreamArn"].clone();
    twin.engine.watch(true);
    // The age is that of the last record.
    for (bytes, age) in [(0, 30_000), (1, 90_000)] {
        (0..20).for_each(|key| drop(twin.ok("PutItem", &put(&key.to_string(), bytes))));
        twin.engine.advance(millis(age));
    }
    let shards = twin.ok("DescribeStream", &json!({"StreamArn": arn}))["StreamDescription"]["Shards"].clone();
    for shard in shards.as_array().unwrap() {
        let start = json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
        let mut iterator = twin.ok("GetShardIterator", &start)["ShardIterator"].clone();
        for _ in 0..2 {
            iterator = twin.ok("GetRecords", &json!({"ShardIterator": iterator}))["NextShardIterator"].clone();
        }
    }
    let all = twin.engine.metrics_by_minute(&twin.caller);
    let ages = points(&all, "IteratorAge");
    let samples = ages[0].1.samples.unwrap();
    assert_eq!((ages.len(), ages[0].0), (1, 2));
    assert_eq!((samples.minimum as u64, samples.maximum as u64), (0, 90_000));
    assert_eq!(samples.count, 2 * shards.as_array().unwrap().len() as u64);
}
