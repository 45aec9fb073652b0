//! Capacity that runs out, over time: which requests pass, which are throttled, and that the units add up.

use std::time::Duration;

use crate::common::{Choice, Twin, setting};
use dynatwin_engine::attributes::{AttributeValue, partition_token};
use dynatwin_engine::faults::Exceeded;
use dynatwin_engine::monitoring::{Heat, Units};
use dynatwin_engine::{Capacity, Conditions, Enforcement, Lag, Shards};
use serde_json::{Value, json};

fn enforced(rules: Enforcement) -> Twin {
    let twin = Twin::new(1);
    twin.engine
        .set_conditions(Conditions {
            capacity: Capacity::Enforced(rules),
            stream_shards: Shards::ByThroughput,
            ..Conditions::CALM
        })
        .unwrap();
    twin
}

fn create(twin: &Twin, more: &Value) {
    let mut table = json!({
        "TableName": "tab",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    table.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    twin.ok("CreateTable", &table);
}

fn provisioned(read: u64, write: u64) -> Value {
    json!({"ProvisionedThroughput": {"ReadCapacityUnits": read, "WriteCapacityUnits": write}})
}

fn on_demand() -> Value {
    json!({"BillingMode": "PAY_PER_REQUEST"})
}

/// Puts an item of this many units; returns whether it passed.
fn put(twin: &Twin, key: &str, units: usize) -> bool {
    let filler = "v".repeat((units * 1024).saturating_sub(100));
    let item = json!({"pk": {"S": key}, "v": {"S": filler}});
    let (status, body) = twin.send("PutItem", &json!({"TableName": "tab", "Item": item}));
    assert!(status == 200 || is_throttle(&body), "{body}");
    status == 200
}

fn is_throttle(body: &Value) -> bool {
    let kind = body["__type"].as_str().unwrap_or_default();
    kind.ends_with("#ProvisionedThroughputExceededException") || kind.ends_with("#ThrottlingException")
}

/// Writes units to a key, in items of `each`; returns how many passed.
fn write(twin: &Twin, key: &str, units: usize, each: usize) -> usize {
    (0..units / each).filter(|_| put(twin, key, each)).count() * each
}

fn seconds(twin: &Twin, seconds: u64) {
    twin.engine.advance(Duration::from_secs(seconds));
}

fn heat(twin: &Twin) -> Heat {
    twin.engine.account(&twin.caller).heat("tab").unwrap()
}

fn token_of(key: &str) -> u64 {
    partition_token(&AttributeValue::string(key)).unwrap()
}

/// Returns keys in the first quarter of all tokens.
fn keys_of_the_first_quarter(count: usize) -> Vec<String> {
    let keys = (0..1000).map(|at| format!("k{at}"));
    keys.filter(|key| token_of(key) >> 62 == 0).take(count).collect()
}

#[test]
fn calm_neither_throttles_nor_counts() {
    let twin = Twin::new(1);
    create(&twin, &provisioned(1, 1));
    assert_eq!(write(&twin, "a", 3000, 300), 3000);
    assert_eq!(heat(&twin), Heat::default());
}

/// A table and its indexes save unused units for as long as the conditions say, from the moment at which they change.
#[test]
fn a_change_of_the_burst_applies_to_a_table_and_its_indexes() {
    let twin = enforced(Enforcement::AWS);
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let units = provisioned(5, 5);
    let index = json!({"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"}, "ProvisionedThroughput": units["ProvisionedThroughput"]});
    let mut table = provisioned(5, 5);
    table["AttributeDefinitions"] = json!([attribute("pk"), attribute("g")]);
    table["GlobalSecondaryIndexes"] = json!([index]);
    create(&twin, &table);
    let sizes = |twin: &Twin| -> Vec<[Units; 2]> {
        let resources = heat(twin).resources.into_iter();
        resources
            .map(|resource| resource.levels.map(|level| level.size))
            .collect()
    };
    assert_eq!(sizes(&twin), [[Units::whole(1500); 2]; 2]);
    let capacity = Capacity::Enforced(Enforcement {
        burst: Duration::from_mins(1),
        ..Enforcement::AWS
    });
    twin.engine
        .set_conditions(Conditions {
            capacity,
            ..Conditions::CALM
        })
        .unwrap();
    assert_eq!(sizes(&twin), [[Units::whole(300); 2]; 2]);
}

#[test]
fn one_table_can_have_its_own_conditions() {
    let twin = Twin::new(1);
    create(&twin, &provisioned(1, 1));
    let capacity = Conditions::AWS.capacity;
    let own = Conditions {
        capacity,
        ..Conditions::CALM
    };
    twin.engine
        .account(&twin.caller)
        .set_table_conditions("tab", own)
        .unwrap();
    assert_eq!(write(&twin, "a", 3, 1), 1);
    twin.engine
        .account(&twin.caller)
        .set_table_conditions("tab", None)
        .unwrap();
    assert_eq!(write(&twin, "a", 3, 1), 3);
}

#[test]
fn hot_partitions_use_capacity_that_others_leave() {
    // The guide's example: 400 units over four partitions, of which three use 50 and one 150, continuously.
    for (adaptive, expect) in [(true, 60 * 150), (false, 60 * 100)] {
        let twin = enforced(Enforcement {
            adaptive,
            burst: Duration::ZERO,
            ..Enforcement::AWS
        });
        create(&twin, &on_demand());
        let provisioned = json!({"TableName": "tab", "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": {"ReadCapacityUnits": 400, "WriteCapacityUnits": 400}});
        twin.ok("UpdateTable", &provisioned);
        assert_eq!(heat(&twin).resources[0].partitions.len(), 4, "they are never merged");
        let of_quarter = |quarter: u64| {
            let mut keys = (0..1000).map(|at| format!("k{at}"));
            keys.find(|key| token_of(key) >> 62 == quarter).unwrap()
        };
        let keys = [0, 1, 2, 3].map(of_quarter);
        let mut passed = [0; 4];
        for _ in 0..60 {
            for (at, units) in [(0, 150), (1, 50), (2, 50), (3, 50)] {
                passed[at] += write(&twin, &keys[at], units, 10);
            }
            seconds(&twin, 1);
        }
        assert_eq!(passed, [expect, 3000, 3000, 3000], "adaptive: {adaptive}");
    }
}

#[test]
fn a_hot_key_is_throttled_while_the_table_is_idle() {
    let twin = enforced(Enforcement::AWS);
    create(&twin, &on_demand());
    assert_eq!(write(&twin, "hot", 2000, 100), 1000);
    let (first, left) = {
        let heat = heat(&twin);
        (heat.resources[0].clone(), heat.resources[0].left[1])
    };
    assert_eq!(left, Units::whole(3000), "of the table's 4,000");
    assert_eq!(first.write.units, Units::whole(1000));
    assert_eq!(first.write.throttles(Exceeded::KeyRangeThroughput), 10);
    let hot = |partition: &&dynatwin_engine::monitoring::PartitionHeat| partition.write.throttles == 10;
    let partition = *first.partitions.iter().find(hot).unwrap();
    assert!((partition.first..=partition.last).contains(&token_of("hot")));
}

/// Writes to keys for several seconds, more than their capacity; returns what passed in the last second.
fn heat_up(twin: &Twin, keys: &[String], duration: u64) -> usize {
    let mut passed = 0;
    for _ in 0..duration {
        let before = twin.engine.clock().now();
        seconds(twin, 1);
        assert!(twin.engine.clock().now() > before);
        // Alternates between the keys, so that none takes all.
        passed = (0..14)
            .flat_map(|_| keys.iter().map(|key| write(twin, key, 100, 100)))
            .sum();
    }
    passed
}

#[test]
fn lasting_heat_splits_a_partition_but_not_a_key() {
    let twin = enforced(Enforcement {
        heat_split: Some(Duration::from_secs(20)),
        ..Enforcement::AWS
    });
    create(&twin, &on_demand());
    let keys = keys_of_the_first_quarter(2);
    assert_eq!(heat_up(&twin, &keys, 10), 1000);
    assert_eq!(heat_up(&twin, &keys, 20), 2000, "each key has a partition of its own");
    assert_eq!(heat_up(&twin, &keys, 40), 2000, "and can have no more");
    let partitions = heat(&twin).resources[0].partitions.clone();
    assert_eq!(partitions.len(), 5);
    let of = |key: &str| {
        partitions
            .iter()
            .rposition(|partition| partition.first <= token_of(key))
    };
    assert_ne!(of(&keys[0]), of(&keys[1]));
    assert_eq!(partitions[4].last, u64::MAX);
    assert!(partitions.windows(2).all(|pair| pair[0].last + 1 == pair[1].first));
}

#[test]
fn size_splits_a_partition() {
    let twin = enforced(Enforcement {
        partition_size: 20 * 1024,
        ..Enforcement::AWS
    });
    create(&twin, &provisioned(1000, 1000));
    let count = |twin: &Twin| heat(twin).resources[0].partitions.len();
    let before = count(&twin);
    (0..64).for_each(|at| assert!(put(&twin, &format!("k{at}"), 1)));
    let sizes: Vec<u64> = heat(&twin).resources[0]
        .partitions
        .iter()
        .map(|each| each.bytes)
        .collect();
    assert!(count(&twin) > before && sizes.len() >= 3, "{sizes:?}");
    let described = twin.ok("DescribeTable", &json!({"TableName": "tab"}));
    assert_eq!(json!(sizes.iter().sum::<u64>()), described["Table"]["TableSizeBytes"]);
    // What expires leaves its partition.
    let total = |twin: &Twin| -> u64 { heat(twin).resources[0].partitions.iter().map(|each| each.bytes).sum() };
    let specification = json!({"Enabled": true, "AttributeName": "ttl"});
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": "tab", "TimeToLiveSpecification": specification}),
    );
    let expires = json!({"N": (twin.seconds() + 60).to_string()});
    let item = json!({"pk": {"S": "short"}, "v": {"S": "x".repeat(500)}, "ttl": expires});
    twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    assert!(total(&twin) > sizes.iter().sum::<u64>());
    seconds(&twin, 60);
    twin.engine.run_due();
    assert_eq!(total(&twin), sizes.iter().sum::<u64>());
    // Turned off and on again, it uses the current size.
    twin.engine.set_conditions(Conditions::CALM).unwrap();
    twin.engine.set_conditions(Conditions::AWS).unwrap();
    let again: u64 = heat(&twin).resources[0].partitions.iter().map(|each| each.bytes).sum();
    assert_eq!(json!(again), described["Table"]["TableSizeBytes"]);
}

#[test]
fn every_kind_of_write_counts_in_the_sizes_of_partitions() {
    let item = |pk: &str, length: usize| json!({"pk": {"S": pk}, "v": {"S": "x".repeat(length)}});
    let put = |pk: &str, length: usize| json!({"TableName": "tab", "Item": item(pk, length)});
    let key = |pk: &str| json!({"TableName": "tab", "Key": {"pk": {"S": pk}}});
    let mut update = key("a");
    update["UpdateExpression"] = "SET v = :v".into();
    update["ExpressionAttributeValues"] = json!({":v": {"S": "x".repeat(5000)}});
    let batch = json!([{"PutRequest": {"Item": item("b", 700)}}, {"DeleteRequest": {"Key": {"pk": {"S": "a"}}}}]);
    let transaction = json!([{"Put": put("c", 900)}, {"Put": put("d", 50)}, {"Update": update}, {"Delete": key("b")}]);
    let insert = json!({"Statement": "INSERT INTO tab VALUE {'pk': 'e', 'v': 'text'}"});
    let inserts = json!([{"Statement": "INSERT INTO tab VALUE {'pk': 'f', 'v': 'text'}"}]);
    let steps = [
        ("PutItem", put("a", 3000)),
        ("PutItem", put("a", 20)),
        ("UpdateItem", update.clone()),
        ("BatchWriteItem", json!({"RequestItems": {"tab": batch}})),
        ("TransactWriteItems", json!({"TransactItems": transaction})),
        ("ExecuteStatement", insert),
        ("BatchExecuteStatement", json!({"Statements": inserts})),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": [{"Statement": "DELETE FROM tab WHERE pk = 'f'"}]}),
        ),
        ("DeleteItem", key("c")),
    ];
    // Transactions are applied at once, or later.
    for transaction_time in [Lag::None, Lag::Fixed(Duration::from_millis(50))] {
        let twin = enforced(Enforcement::AWS);
        twin.engine
            .set_conditions(Conditions {
                transaction_time,
                ..twin.engine.conditions()
            })
            .unwrap();
        create(&twin, &on_demand());
        for (operation, body) in &steps {
            twin.ok(operation, body);
            seconds(&twin, 1);
            let described = twin.ok("DescribeTable", &json!({"TableName": "tab"}));
            let bytes: u64 = heat(&twin).resources[0].partitions.iter().map(|each| each.bytes).sum();
            assert_eq!(
                json!(bytes),
                described["Table"]["TableSizeBytes"],
                "{operation} {transaction_time:?}"
            );
        }
    }
}

#[test]
fn an_on_demand_table_grows_to_twice_its_peak() {
    let twin = enforced(Enforcement::AWS);
    create(&twin, &on_demand());
    let keys: Vec<String> = (0..400).map(|at| format!("k{at}")).collect();
    let burst = |twin: &Twin| -> usize {
        let mut passed = 0;
        for key in keys.iter().cycle().take(2000) {
            passed += write(twin, key, 10, 10);
        }
        passed
    };
    let first = burst(&twin);
    assert!((3500..=4000).contains(&first), "{first}: 4,000 over four partitions");
    seconds(&twin, 60);
    let soon = burst(&twin);
    assert!((3500..=4200).contains(&soon), "{soon}: half an hour is needed");
    seconds(&twin, 1800);
    let rate = 2 * first;
    let later = burst(&twin);
    assert!(later > first * 3 / 2 && later <= rate, "{later} of {rate}");
    assert!(heat(&twin).resources[0].partitions.len() >= 8);
    let described = twin.ok("DescribeTable", &json!({"TableName": "tab"}));
    let warm = &described["Table"]["WarmThroughput"];
    assert_eq!(warm["ReadUnitsPerSecond"], 12_000);
    // It may be growing again already.
    assert!(
        (rate as u64..).contains(&warm["WriteUnitsPerSecond"].as_u64().unwrap()),
        "{warm} of {rate}"
    );
}

#[test]
fn warm_throughput_is_served_at_once() {
    let twin = enforced(Enforcement::AWS);
    let mut table = on_demand();
    table["WarmThroughput"] = json!({"ReadUnitsPerSecond": 40_000, "WriteUnitsPerSecond": 40_000});
    create(&twin, &table);
    let resource = heat(&twin).resources[0].clone();
    assert_eq!(resource.partitions.len(), 40);
    assert_eq!(resource.left, [Units::whole(40_000); 2]);
}

/// Writes items of one unit with different keys; returns how many were throttled.
fn refused_of(twin: &Twin, items: usize) -> usize {
    let put = |key: usize| json!({"PutRequest": {"Item": {"pk": {"S": format!("spread-{key}")}}}});
    let batch = |from: usize| -> Vec<Value> { (from..(from + 25).min(items)).map(put).collect() };
    let refused = |from: usize| {
        let request = json!({"RequestItems": {"tab": batch(from)}});
        let (status, body) = twin.send("BatchWriteItem", &request);
        match status {
            200 => body["UnprocessedItems"]["tab"].as_array().map_or(0, Vec::len),
            _ => batch(from).len(),
        }
    };
    (0..items).step_by(25).map(refused).sum()
}

#[test]
fn raised_throughput_serves_evenly_spread_traffic() {
    let warm = |write: u64| json!({"WarmThroughput": {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": write}});
    for (before, raise) in [
        (provisioned(1, 3900), provisioned(1, 11_900)),
        (on_demand(), warm(11_900)),
    ] {
        let twin = enforced(Enforcement::AWS);
        create(&twin, &before);
        let mut request = json!({"TableName": "tab"});
        request
            .as_object_mut()
            .unwrap()
            .extend(raise.as_object().unwrap().clone());
        twin.ok("UpdateTable", &request);
        seconds(&twin, 2);
        assert_eq!(refused_of(&twin, 10_900), 0, "{raise}");
    }
}

/// Sends transactions over items of 400 KB, each with its own partition key, until one is throttled.
fn until_refused(twin: &Twin, transaction: impl Fn(usize) -> (&'static str, Value)) -> Value {
    let answers = (0..).map(|round| {
        let (operation, body) = transaction(round);
        twin.send(operation, &body).1
    });
    let refused = |body: &Value| body.get("__type").is_some();
    answers.take(1000).find(refused).unwrap()
}

#[test]
fn the_account_has_a_quota_for_each_table() {
    let twin = enforced(Enforcement {
        // Partitions are never the bottleneck here.
        partition_read: 40_000,
        partition_write: 40_000,
        ..Enforcement::AWS
    });
    let warm = json!({"ReadUnitsPerSecond": 40_000, "WriteUnitsPerSecond": 40_000});
    let mut table = on_demand();
    table["WarmThroughput"] = warm.clone();
    table["AttributeDefinitions"] =
        json!([{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}]);
    table["GlobalSecondaryIndexes"] = json!([{"IndexName": "by-g", "Projection": {"ProjectionType": "ALL"}, "WarmThroughput": warm,
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]}]);
    create(&twin, &table);
    let filler = "v".repeat(400_000);
    let item = |key: &str, g: Option<&str>| {
        let mut item = json!({"pk": {"S": key}, "v": {"S": filler}});
        if let Some(g) = g {
            item["g"] = json!({"S": g});
        }
        json!({"TableName": "tab", "Item": item})
    };
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/tab";
    let expect = |body: &Value, reason: &str, resource: &str| {
        assert!(
            body["__type"].as_str().unwrap().ends_with("#RequestLimitExceeded"),
            "{body}"
        );
        assert_eq!(
            body["message"],
            "Throughput exceeds the current throughput quota for your account."
        );
        assert_eq!(
            body["ThrottlingReasons"],
            json!([{"reason": reason, "resource": resource}])
        );
    };
    let refused = until_refused(&twin, |_| ("PutItem", item("a", None)));
    expect(&refused, "TableWriteAccountLimitExceeded", arn);
    let get =
        json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}, "ConsistentRead": true, "ProjectionExpression": "pk"});
    let refused = until_refused(&twin, |_| ("GetItem", get.clone()));
    expect(&refused, "TableReadAccountLimitExceeded", arn);
    seconds(&twin, 1);
    // An entry whose key moves costs the index twice what it costs the table.
    assert!(twin.send("PutItem", &item("b", Some("x"))).0 == 200);
    let moved = until_refused(&twin, |round| {
        ("PutItem", item("b", Some(if round % 2 == 0 { "y" } else { "x" })))
    });
    let of_index = format!("{arn}/index/by-g");
    expect(&moved, "IndexWriteAccountLimitExceeded", &of_index);
    let query = json!({"TableName": "tab", "IndexName": "by-g", "KeyConditionExpression": "g = :g", "Select": "COUNT",
        "ExpressionAttributeValues": {":g": {"S": "x"}}});
    let refused = (0..100_000)
        .map(|_| twin.send("Query", &query).1)
        .find(|body| body.get("__type").is_some());
    expect(&refused.unwrap(), "IndexReadAccountLimitExceeded", &of_index);
}

/// An entry whose key moves consumes from two partitions of its index, and can be throttled by either.
#[test]
fn a_throttle_is_counted_for_the_exhausted_partition() {
    let twin = enforced(Enforcement {
        partition_write: 100,
        ..Enforcement::AWS
    });
    let units = provisioned(100, 400);
    let mut table = provisioned(100, 4000);
    table["AttributeDefinitions"] =
        json!([{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}]);
    table["GlobalSecondaryIndexes"] = json!([{"IndexName": "by-g", "Projection": {"ProjectionType": "ALL"},
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "ProvisionedThroughput": units["ProvisionedThroughput"]}]);
    create(&twin, &table);
    let filler = "v".repeat(5000);
    let put = |key: &str, g: &str| {
        let item = json!({"pk": {"S": key}, "g": {"S": g}, "v": {"S": filler}});
        twin.send("PutItem", &json!({"TableName": "tab", "Item": item}))
    };
    let throttles = || {
        let partitions = heat(&twin).resources[1].partitions.clone();
        let refused = partitions.into_iter().filter(|partition| partition.write.throttles > 0);
        let refused =
            refused.map(|partition| ((partition.first..=partition.last).contains(&token_of("hot")), partition));
        refused
            .map(|(hot, partition)| (hot, partition.write.throttles))
            .collect::<Vec<_>>()
    };
    let cold = (0..100)
        .map(|at| format!("cold{at}"))
        .find(|name| token_of(name) >> 62 != token_of("hot") >> 62);
    assert_eq!(put("moves", &cold.unwrap()).0, 200);
    let refused = (0..100)
        .map(|at| put(&format!("k{at}"), "hot"))
        .find(|(status, _)| *status != 200);
    let reason = &refused.unwrap().1["ThrottlingReasons"][0]["reason"];
    assert_eq!(*reason, json!("IndexWriteKeyRangeThroughputExceeded"));
    assert_eq!(throttles(), [(true, 1)]);
    assert_eq!(put("moves", "hot").0, 400);
    assert_eq!(throttles(), [(true, 2)]);
}

#[test]
fn a_transaction_pays_twice_for_the_table_and_once_for_indexes() {
    let twin = enforced(Enforcement::AWS);
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let index = |name: &str, keys: [Value; 2]| json!({"IndexName": name, "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}});
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "indexed",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [attribute("pk"), attribute("sk"), attribute("l")],
            "KeySchema": [key("pk", "HASH"), key("sk", "RANGE")],
            "LocalSecondaryIndexes": [index("local", [key("pk", "HASH"), key("l", "RANGE")])],
            "GlobalSecondaryIndexes": [index("global", [key("l", "HASH"), key("sk", "RANGE")])],
        }),
    );
    let item = json!({"pk": {"S": "a"}, "sk": {"S": "b"}, "l": {"S": "c"}});
    let action = json!({"Put": {"TableName": "indexed", "Item": item}});
    let answer = twin.ok(
        "TransactWriteItems",
        &json!({"TransactItems": [action], "ReturnConsumedCapacity": "TOTAL"}),
    );
    assert_eq!(answer["ConsumedCapacity"][0]["CapacityUnits"], 4.0);
    let heat = twin.engine.account(&twin.caller).heat("indexed").unwrap();
    let written = heat.resources.iter().map(|resource| resource.write.units);
    assert!(written.eq([Units::whole(3), Units::whole(1)]));
}

#[test]
fn what_was_consumed_is_counted_across_billing_modes() {
    let twin = enforced(Enforcement::AWS);
    create(&twin, &provisioned(10, 10));
    assert!(put(&twin, "a", 4));
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST"}),
    );
    seconds(&twin, 3600);
    assert!(put(&twin, "b", 3));
    let written = &heat(&twin).resources[0].write;
    assert_eq!((written.units, written.all_throttles()), (Units::whole(7), 0));
}

#[test]
fn heat_is_recorded_without_enforcement() {
    let twin = Twin::new(1);
    create(&twin, &provisioned(1, 1));
    assert!(twin.engine.account(&twin.caller).watch_heat("other", true).is_err());
    assert!(twin.engine.account(&twin.caller).watch_heat("tab", true).is_ok());
    for (key, times) in [("warm", 3), ("hot", 9), ("cool", 1)] {
        (0..times).for_each(|_| assert!(put(&twin, key, 1)));
    }
    twin.ok("GetItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "hot"}}}));
    let seen = heat(&twin);
    let key = |name: &str| AttributeValue::S(name.into());
    assert_eq!(seen.keys[0].0, key("hot"));
    assert_eq!(seen.keys[0].1.as_f64(), 9.5);
    assert_eq!(
        seen.keys[1..],
        [(key("warm"), Units::whole(3)), (key("cool"), Units::whole(1))]
    );
    assert_eq!(seen.resources[0].write.units, Units::whole(13));
    assert_eq!(seen.resources[0].write.all_throttles(), 0);
    assert!(twin.engine.account(&twin.caller).watch_heat("tab", false).is_ok());
    assert_eq!(heat(&twin), Heat::default());
    // Capacity that was only watched is no debt when it is enforced.
    twin.engine.account(&twin.caller).watch_heat("tab", true).unwrap();
    assert!(put(&twin, "a", 300));
    twin.engine
        .set_conditions(Conditions {
            capacity: Conditions::AWS.capacity,
            ..Conditions::CALM
        })
        .unwrap();
    assert!(put(&twin, "b", 1));
}

#[test]
fn a_change_of_limits_applies_when_it_is_complete() {
    let twin = enforced(Enforcement::AWS);
    let own = Conditions {
        table_status: dynatwin_engine::Lag::Fixed(Duration::from_secs(40)),
        ..twin.engine.conditions()
    };
    create(&twin, &provisioned(1, 1));
    twin.engine
        .account(&twin.caller)
        .set_table_conditions("tab", own)
        .unwrap();
    assert!(put(&twin, "a", 1));
    let raise =
        json!({"TableName": "tab", "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 100}});
    twin.ok("UpdateTable", &raise);
    // A quarter of the time that creating a table takes.
    seconds(&twin, 9);
    assert_eq!(write(&twin, "a", 20, 1), 9, "one a second until then");
    seconds(&twin, 2);
    assert_eq!(
        write(&twin, "a", 200, 1),
        101,
        "one second at the old rate, one at the new"
    );
}

#[test]
fn an_indexs_consumption_survives_changes_of_its_table() {
    let twin = enforced(Enforcement::AWS);
    let mut table = provisioned(10, 10);
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    table["AttributeDefinitions"] = json!([attribute("pk"), attribute("one"), attribute("two"), attribute("six")]);
    let index = |name: &str| {
        json!({"IndexName": name, "Projection": {"ProjectionType": "ALL"},
        "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}],
        "ProvisionedThroughput": provisioned(10, 10)["ProvisionedThroughput"]})
    };
    table["GlobalSecondaryIndexes"] = json!([index("one"), index("two"), index("six")]);
    create(&twin, &table);
    for (key, times) in [("one", 1), ("two", 2), ("six", 4)] {
        for _ in 0..times {
            twin.ok(
                "PutItem",
                &json!({"TableName": "tab", "Item": {"pk": {"S": key}, key: {"S": "x"}}}),
            );
            twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": key}}}));
            seconds(&twin, 1);
        }
    }
    let spent = || -> Vec<(Option<String>, f64)> {
        let of = |name: &Option<_>| name.as_ref().map(ToString::to_string);
        let resources = heat(&twin).resources.into_iter();
        resources
            .map(|resource| (of(&resource.index), resource.write.units.as_f64()))
            .collect()
    };
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(
        spent(),
        [(None, 14.0), (name("one"), 2.0), (name("two"), 4.0), (name("six"), 8.0)]
    );
    let delete = json!([{"Delete": {"IndexName": "one"}}]);
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "tab", "GlobalSecondaryIndexUpdates": delete}),
    );
    assert_eq!(spent(), [(None, 14.0), (name("two"), 4.0), (name("six"), 8.0)]);
}

/// A bucket as the guide describes it, counted in whole microseconds, and the units that passed with their times.
struct Model {
    rate: i128,
    most: i128,
    level: i128,
    at: i128,
    passed: Vec<(i128, i128)>,
}

/// Half a unit, in the amount that a rate of one unit a second adds in half a microsecond.
const HALF: i128 = 1_000_000;

impl Model {
    fn new(rate: i128) -> Model {
        Model {
            rate: rate * 2,
            most: rate * 600 * HALF,
            level: rate * 2 * HALF,
            at: 0,
            passed: Vec::new(),
        }
    }

    fn settle(&mut self, now: i128) {
        self.level = (self.level + (now - self.at) * self.rate).min(self.most);
        self.at = now;
    }

    fn has(&self, halves: i128) -> bool {
        self.level >= (halves * HALF).min(self.most)
    }

    fn spend(&mut self, halves: i128) {
        if halves > 0 {
            self.level -= halves * HALF;
            self.passed.push((self.at, halves * HALF));
        }
    }

    /// Checks that in any window no more passed than was kept and refilled, except for one page that is charged late.
    fn check_windows(&self, page: i128, seed: u64) {
        for (from, (start, _)) in self.passed.iter().enumerate() {
            let mut sum = 0;
            for (end, amount) in &self.passed[from..] {
                sum += amount;
                let most = self.most + (end - start) * self.rate + page * HALF;
                assert!(
                    sum <= most,
                    "DYNATWIN_SEED={seed}: {sum} of {most} from {start} to {end}"
                );
            }
        }
    }
}

/// Returns the half units that an answer reports for one of its members.
fn halves(arm: &Value) -> i128 {
    (arm["CapacityUnits"].as_f64().unwrap_or(0.0) * 2.0) as i128
}

const INDEXED: &str = r#"{"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}],
    "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"}, "ProvisionedThroughput": {"ReadCapacityUnits": 3, "WriteCapacityUnits": 2}}],
    "ProvisionedThroughput": {"ReadCapacityUnits": 4, "WriteCapacityUnits": 5}}"#;

/// Runs a seeded history: passed, refused and reported units are those of the model.
fn history(seed: u64) {
    let twin = enforced(Enforcement::AWS);
    create(&twin, &serde_json::from_str(INDEXED).unwrap());
    let mut choice = Choice(seed);
    // Table and index, reading and writing.
    let mut models = [4, 5, 3, 2].map(Model::new);
    let mut now = 0;
    for step in 0..150 {
        if choice.one_in(2) {
            let longest = if choice.one_in(10) { 400_000_000 } else { 700_000 };
            let micros = choice.below(longest);
            twin.engine.advance(Duration::from_micros(micros));
            now += i128::from(micros);
        }
        models.iter_mut().for_each(|model| model.settle(now));
        let key = format!("k{}", choice.below(5));
        let mut item = json!({"pk": {"S": key}, "v": {"S": "v".repeat(choice.below(6000) as usize)}});
        if choice.one_in(2) {
            item["g"] = json!({"S": format!("g{}", choice.below(3))});
        }
        let (operation, mut body) = match choice.below(8) {
            0..=3 => ("PutItem", json!({"Item": item})),
            4 => ("DeleteItem", json!({"Key": {"pk": {"S": key}}})),
            5 => (
                "GetItem",
                json!({"Key": {"pk": {"S": key}}, "ConsistentRead": choice.one_in(2)}),
            ),
            6 => ("Scan", json!({"ConsistentRead": choice.one_in(2)})),
            _ => (
                "Query",
                json!({"IndexName": "by-g", "KeyConditionExpression": "g = :g",
                "ExpressionAttributeValues": {":g": {"S": "g0"}}}),
            ),
        };
        body["TableName"] = json!("tab");
        body["ReturnConsumedCapacity"] = json!("INDEXES");
        let before = heat(&twin);
        let (status, answer) = twin.send(operation, &body);
        let after = heat(&twin);
        let at = format!("DYNATWIN_SEED={seed}, step {step}: {operation} {answer}");
        let spent = |index: usize, writes: bool| {
            let of = |heat: &Heat| {
                let resource = &heat.resources[index];
                let counts = if writes { resource.write } else { resource.read };
                (counts.units.as_f64() * 2.0) as i128
            };
            of(&after) - of(&before)
        };
        let spent = [spent(0, false), spent(0, true), spent(1, false), spent(1, true)];
        if status == 200 {
            let consumed = &answer["ConsumedCapacity"];
            let (table, index) = (
                halves(&consumed["Table"]),
                halves(&consumed["GlobalSecondaryIndexes"]["by-g"]),
            );
            let writes = matches!(operation, "PutItem" | "DeleteItem");
            let reported = if writes {
                [0, table, 0, index]
            } else {
                [table, 0, index, 0]
            };
            assert_eq!(spent, reported, "{at}: what is reported is what is spent");
            for (model, units) in models.iter_mut().zip(spent) {
                let page = matches!(operation, "Scan" | "Query");
                let had = units == 0 || if page { model.level > 0 } else { model.has(units) };
                assert!(had, "{at}: there was not enough");
                model.spend(units);
            }
        } else {
            assert!(is_throttle(&answer), "{at}");
            assert_eq!(spent, [0; 4], "{at}: nothing is spent");
            // Every resource in the reasons is short of capacity.
            for reason in answer["ThrottlingReasons"].as_array().unwrap() {
                let place = match reason["reason"].as_str().unwrap() {
                    "TableReadProvisionedThroughputExceeded" => 0,
                    "TableWriteProvisionedThroughputExceeded" => 1,
                    "IndexReadProvisionedThroughputExceeded" => 2,
                    "IndexWriteProvisionedThroughputExceeded" => 3,
                    other => panic!("{at}: {other}"),
                };
                // The largest item there is costs 6 units, and an index entry that moves twice that.
                assert!(!models[place].has(24), "{at}: there was enough");
            }
        }
    }
    // A page has at most five items here.
    models.iter().for_each(|model| model.check_windows(20, seed));
}

#[test]
fn capacity_is_never_exceeded() {
    match setting("DYNATWIN_SEED") {
        Some(seed) => history(seed),
        None => (1..=40).for_each(history),
    }
}

/// Puts of known cost: exactly those that the model allows pass.
#[test]
fn all_available_capacity_can_be_consumed() {
    for seed in 1..=60 {
        let twin = enforced(Enforcement::AWS);
        create(&twin, &provisioned(1, 3));
        let mut choice = Choice(seed);
        let mut model = Model::new(3);
        let mut now = 0;
        for step in 0..80 {
            let longest = if choice.one_in(20) { 200_000_000 } else { 900_000 };
            let micros = choice.below(longest);
            twin.engine.advance(Duration::from_micros(micros));
            now += i128::from(micros);
            model.settle(now);
            let largest = if choice.one_in(8) { 390 } else { 5 };
            let units = 1 + choice.below(largest) as usize;
            // Each has its own key and cost.
            let passed = put(&twin, &format!("k{step}"), units);
            let halves = 2 * units as i128;
            assert_eq!(passed, model.has(halves), "seed {seed}, step {step}: {units} units");
            if passed {
                model.spend(halves);
            }
        }
        model.check_windows(0, seed);
    }
}

#[test]
fn a_repeated_transaction_is_charged_completely() {
    let twin = enforced(Enforcement::AWS);
    create(&twin, &provisioned(3, 100));
    let put = |key: &str| json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": key}}}});
    let body = json!({"ClientRequestToken": "once", "TransactItems": [put("a"), put("b")]});
    twin.ok("TransactWriteItems", &body);
    // Two transactional reads need four units, and there are three: as in a transaction the first has enough.
    let (_, answer) = twin.send("TransactWriteItems", &body);
    let codes: Vec<&Value> = answer["CancellationReasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| &reason["Code"])
        .collect();
    assert_eq!(codes, ["None", "ProvisionedThroughputExceeded"], "{answer}");
    assert_eq!(
        heat(&twin).resources[0].read.units,
        Units::ZERO,
        "and nothing was spent"
    );
    seconds(&twin, 1);
    twin.ok("TransactWriteItems", &body);
    assert_eq!(heat(&twin).resources[0].read.units, Units::whole(4));
}

/// Returns the shards of a table's stream.
fn shards(twin: &Twin) -> Vec<Value> {
    let arn = twin.ok("DescribeTable", &json!({"TableName": "tab"}))["Table"]["LatestStreamArn"].clone();
    let stream = twin.ok("DescribeStream", &json!({ "StreamArn": arn }));
    stream["StreamDescription"]["Shards"].as_array().unwrap().clone()
}

/// Returns the position in the list of the open shard with the newest record of a key.
fn shard_of(twin: &Twin, key: &str) -> Value {
    let arn = twin.ok("DescribeTable", &json!({"TableName": "tab"}))["Table"]["LatestStreamArn"].clone();
    let mut found = Value::Null;
    for shard in shards(twin) {
        let id = shard["ShardId"].clone();
        let body = json!({"StreamArn": arn, "ShardId": id, "ShardIteratorType": "TRIM_HORIZON"});
        let iterator = twin.ok("GetShardIterator", &body)["ShardIterator"].clone();
        let records = twin.ok("GetRecords", &json!({"ShardIterator": iterator}))["Records"].clone();
        let of_key = |record: &Value| record["dynamodb"]["Keys"]["pk"]["S"] == *key;
        if records.as_array().unwrap().iter().any(of_key) {
            found = id;
        }
    }
    found
}

/// Heat that splits a partition splits the shard at the same token.
#[test]
fn heat_that_splits_a_partition_splits_its_shard() {
    let keys = keys_of_the_first_quarter(2);
    let write = |key: &str| {
        (
            "PutItem",
            json!({"TableName": "tab", "Item": {"pk": {"S": key}, "v": {"S": "x".repeat(8000)}}}),
        )
    };
    let get = |key: &str| {
        (
            "GetItem",
            json!({"TableName": "tab", "Key": {"pk": {"S": key}}, "ConsistentRead": true}),
        )
    };
    let query = |key: &str| {
        let body = json!({"TableName": "tab", "KeyConditionExpression": "pk = :p", "ConsistentRead": true,
            "ExpressionAttributeValues": {":p": {"S": key}}});
        ("Query", body)
    };
    let transact = |key: &str| {
        let get = json!({"Get": {"TableName": "tab", "Key": {"pk": {"S": key}}}});
        ("TransactGetItems", json!({"TransactItems": [get]}))
    };
    type Kind<'k> = &'k dyn Fn(&str) -> (&'static str, Value);
    let kinds: [Kind<'_>; 4] = [&write, &get, &query, &transact];
    for kind in kinds {
        let twin = enforced(Enforcement {
            heat_split: Some(Duration::from_secs(5)),
            partition_read: 20,
            partition_write: 20,
            ..Enforcement::AWS
        });
        let mut table = provisioned(40, 40);
        table["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
        create(&twin, &table);
        for key in &keys {
            let (operation, body) = write(key);
            twin.ok(operation, &body);
        }
        assert_eq!((heat(&twin).resources[0].partitions.len(), shards(&twin).len()), (4, 4));
        let name = kind(&keys[0]).0;
        let mut waited = 0;
        while heat(&twin).resources[0].partitions.len() == 4 {
            for key in keys.iter().cycle().take(8) {
                let (operation, body) = kind(key);
                let (status, answer) = twin.send(operation, &body);
                assert!(
                    status == 200 || answer.to_string().contains("ThroughputExceeded"),
                    "{answer}"
                );
            }
            // A longer pause would let it cool down.
            twin.engine.advance(Duration::from_millis(300));
            waited += 1;
            assert!(waited < 200, "{name}: nothing was split");
        }
        let border = heat(&twin).resources[0].partitions[1].first;
        assert!(
            !border.is_multiple_of(1 << 62),
            "{name}: a token inside of storage's partition"
        );
        let all = shards(&twin);
        let parent = all
            .iter()
            .find(|shard| shard["SequenceNumberRange"].get("EndingSequenceNumber").is_some());
        let parent = parent.unwrap_or_else(|| panic!("{name}: no shard was split"))["ShardId"].clone();
        let children: Vec<&Value> = all.iter().filter(|shard| shard["ParentShardId"] == parent).collect();
        assert_eq!((all.len(), children.len()), (6, 2), "{name}");
        // Each key has its own partition and shard now.
        seconds(&twin, 600);
        for key in &keys {
            let (operation, mut body) = write(key);
            body["Item"]["n"] = json!({"N": "1"});
            twin.ok(operation, &body);
        }
        let place = |key: &str| usize::from(token_of(key) >= border);
        for key in &keys {
            assert_eq!(shard_of(&twin, key), children[place(key)]["ShardId"], "{name}: {key}");
        }
        assert_ne!(place(&keys[0]), place(&keys[1]), "{name}");
    }
}

#[test]
fn shards_split_with_their_partitions() {
    let twin = enforced(Enforcement {
        partition_size: 20 * 1024,
        ..Enforcement::AWS
    });
    let mut table = provisioned(1000, 1000);
    table["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
    create(&twin, &table);
    let arn = twin.ok("DescribeTable", &json!({"TableName": "tab"}))["Table"]["LatestStreamArn"].clone();
    let shards = || {
        let body = json!({ "StreamArn": arn }).to_string();
        let target = "DynamoDBStreams_20120810.DescribeStream";
        let answer = twin.engine.dispatch(&twin.caller, target, body.as_bytes());
        let stream: Value = serde_json::from_slice(&answer.body).unwrap();
        stream["StreamDescription"]["Shards"].as_array().unwrap().clone()
    };
    let before = shards().len();
    (0..100).for_each(|at| assert!(put(&twin, &format!("k{at}"), 1)));
    let after = shards();
    let closed = after
        .iter()
        .filter(|shard| shard["SequenceNumberRange"].get("EndingSequenceNumber").is_some());
    assert!(closed.count() > 0 && after.len() > before, "{after:?}");
    let starts: Vec<u64> = heat(&twin).resources[0]
        .partitions
        .iter()
        .map(|each| each.first)
        .collect();
    // Each split closes a shard and opens two.
    assert_eq!(after.len(), before + 2 * (starts.len() - before));
}
