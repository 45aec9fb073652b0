//! The limits of tables: conditions, growth, warm throughput, quotas, and changes of them.

use std::time::Duration;

use crate::common::Twin;
use dynatwin_engine::monitoring::{Heat, Units};
use dynatwin_engine::{Capacity, Conditions, Enforcement, Lag};
use serde_json::{Value, json};

use super::{create, enforced, heat, on_demand, provisioned, put, seconds, write};

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

/// A partition shows the level of the tighter of its limit and its share of the table's units.
#[test]
fn a_partition_shows_its_tighter_level() {
    for (units, burst, expect) in [
        // A share saves units for longer than the limit, which is for one second.
        (900, 300, (1000, 900)),
        (900, 1, (900, 900)),
        (10, 300, (1000, 10)),
        (10, 1, (10, 10)),
    ] {
        let twin = enforced(Enforcement {
            adaptive: false,
            burst: Duration::from_secs(burst),
            ..Enforcement::AWS
        });
        create(&twin, &provisioned(1, units));
        let levels = || {
            let [_, write] = heat(&twin).resources[0].partitions[0].levels;
            write.left
        };
        let (later, first) = expect;
        assert_eq!(levels(), Units::whole(first), "{units} units, {burst} s");
        seconds(&twin, 300);
        assert_eq!(levels(), Units::whole(later), "{units} units, {burst} s");
    }
}

/// The units that a description shows are those that are served, of a table and its index, while both are changed.
#[test]
fn units_are_served_when_they_are_shown() {
    let units = |units: u64| json!({"ReadCapacityUnits": units, "WriteCapacityUnits": units});
    let mut orders = [0; 2];
    for seed in 0..20 {
        let twin = Twin::new(seed);
        let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
        let mut table = provisioned(10, 10);
        table["AttributeDefinitions"] = json!([attribute("pk"), attribute("g")]);
        table["GlobalSecondaryIndexes"] = json!([{"IndexName": "by-g", "Projection": {"ProjectionType": "ALL"},
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "ProvisionedThroughput": units(5)}]);
        create(&twin, &table);
        twin.engine.set_conditions(Conditions::AWS).unwrap();
        let index = json!({"IndexName": "by-g", "ProvisionedThroughput": units(50)});
        twin.ok(
            "UpdateTable",
            &json!({"TableName": "tab", "ProvisionedThroughput": units(100),
                "GlobalSecondaryIndexUpdates": [{"Update": index}]}),
        );
        let mut seen = Vec::new();
        for step in 0..100 {
            let described = twin.ok("DescribeTable", &json!({"TableName": "tab"}))["Table"].clone();
            let shown = [&described, &described["GlobalSecondaryIndexes"][0]].map(|resource| {
                resource["ProvisionedThroughput"]["WriteCapacityUnits"]
                    .as_u64()
                    .unwrap()
            });
            let resources = heat(&twin).resources;
            let served = [&resources[0], &resources[1]].map(|resource| resource.levels[1].rate);
            assert_eq!(served, shown, "seed {seed}, step {step}");
            if seen.last() != Some(&shown) {
                seen.push(shown);
            }
            twin.engine.advance(Duration::from_millis(100));
        }
        assert_eq!((seen[0], seen[seen.len() - 1]), ([10, 5], [100, 50]), "seed {seed}");
        orders[0] += usize::from(seen.contains(&[100, 5]));
        orders[1] += usize::from(seen.contains(&[10, 50]));
    }
    assert!(
        orders.iter().all(|count| *count > 0),
        "either of them is first: {orders:?}"
    );
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
    // They hold whatever those of the other tables are.
    twin.engine.set_conditions(Conditions::CALM).unwrap();
    assert_eq!(write(&twin, "a", 3, 1), 0);
    twin.engine
        .account(&twin.caller)
        .set_table_conditions("tab", None)
        .unwrap();
    assert_eq!(write(&twin, "a", 3, 1), 3);
}

/// A request that uses several tables spends the capacity of those where it is enforced, whatever their order is.
#[test]
fn a_request_spends_where_capacity_is_enforced() {
    for order in [["tab", "free"], ["free", "tab"]] {
        let twin = Twin::new(1);
        create(&twin, &provisioned(2, 2));
        create(&twin, &json!({"TableName": "free", "BillingMode": "PAY_PER_REQUEST"}));
        let own = Conditions {
            capacity: Conditions::AWS.capacity,
            ..Conditions::CALM
        };
        twin.engine
            .account(&twin.caller)
            .set_table_conditions("tab", own)
            .unwrap();
        let key = json!({"pk": {"S": "a"}});
        let actions = |of: fn(&str, &Value) -> Value| -> Value { order.map(|table| of(table, &key)).into() };
        let write = json!({"TransactItems": actions(|table, key| json!({"Put": {"TableName": table, "Item": key}}))});
        let read = json!({"TransactItems": actions(|table, key| json!({"Get": {"TableName": table, "Key": key}}))});
        for (operation, body) in [("TransactWriteItems", write), ("TransactGetItems", read)] {
            twin.ok(operation, &body);
            let (status, answer) = twin.send(operation, &body);
            assert_eq!(status, 400, "{operation} {order:?}");
            let codes = [0, 1].map(|at| answer["CancellationReasons"][at]["Code"].clone());
            let code = |table| {
                if table == "tab" {
                    "ProvisionedThroughputExceeded"
                } else {
                    "None"
                }
            };
            assert_eq!(codes, order.map(code), "{operation} {order:?}");
        }
        let spent = &heat(&twin).resources[0];
        assert_eq!([spent.read.units, spent.write.units], [Units::whole(2); 2], "{order:?}");
        // A batch returns what the table has no capacity for.
        let put = json!([{"PutRequest": {"Item": key}}]);
        let get = json!({"Keys": [key]});
        for (operation, member, of_table) in [
            ("BatchWriteItem", "UnprocessedItems", &put),
            ("BatchGetItem", "UnprocessedKeys", &get),
        ] {
            let answer = twin.ok(operation, &json!({"RequestItems": {"tab": of_table, "free": of_table}}));
            assert_eq!(answer[member], json!({"tab": of_table}), "{order:?}");
        }
    }
}

#[test]
fn an_on_demand_table_grows_to_twice_its_peak() {
    let twin = enforced(Enforcement::AWS);
    let mut table = on_demand();
    let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    table["AttributeDefinitions"] = json!(attributes);
    table["GlobalSecondaryIndexes"] = json!([{"IndexName": "by-g", "Projection": {"ProjectionType": "ALL"},
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]}]);
    create(&twin, &table);
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
    let of_index = &described["Table"]["GlobalSecondaryIndexes"][0]["WarmThroughput"];
    assert_eq!(
        (&of_index["ReadUnitsPerSecond"], &of_index["WriteUnitsPerSecond"]),
        (&json!(12_000), &json!(4000)),
        "an index without entries does not grow with its table"
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

/// While states take time, raised warm throughput is served once the table is no longer `UPDATING`.
#[test]
fn warm_throughput_is_served_after_it_was_raised() {
    let twin = enforced(Enforcement::AWS);
    create(&twin, &on_demand());
    twin.engine
        .set_conditions(Conditions {
            table_status: Lag::Fixed(Duration::from_secs(8)),
            ..twin.engine.conditions()
        })
        .unwrap();
    let warm = json!({"ReadUnitsPerSecond": 40_000, "WriteUnitsPerSecond": 40_000});
    twin.ok("UpdateTable", &json!({"TableName": "tab", "WarmThroughput": warm}));
    assert!(refused_of(&twin, 10_000) > 0);
    seconds(&twin, 3600);
    assert_eq!(refused_of(&twin, 10_000), 0);
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
