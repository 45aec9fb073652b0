//! Capacity partitions: heat, splits, and the shards that are split with them.

use std::time::Duration;

use crate::common::Twin;
use dynatwin_engine::attributes::{AttributeValue, partition_token};
use dynatwin_engine::faults::{Exceeded, Rule, Verdict};
use dynatwin_engine::monitoring::{Heat, Units};
use dynatwin_engine::{Caller, Capacity, Conditions, Enforcement, Lag};
use serde_json::{Value, json};

use super::{create, enforced, heat, on_demand, provisioned, put, seconds, write};

fn token_of(key: &str) -> u64 {
    partition_token(&AttributeValue::string(key)).unwrap()
}

/// Returns keys in the first quarter of all tokens.
fn keys_of_the_first_quarter(count: usize) -> Vec<String> {
    let keys = (0..1000).map(|at| format!("k{at}"));
    keys.filter(|key| token_of(key) >> 62 == 0).take(count).collect()
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
fn a_share_that_does_not_divide_evenly_is_rounded_up() {
    // A unit of reads needs a small part of a partition.
    for (units, partitions, share) in [(6, 3, 2), (9, 4, 3), (10, 4, 3), (11, 4, 3), (12, 5, 3)] {
        let twin = enforced(Enforcement {
            adaptive: false,
            burst: Duration::ZERO,
            partition_write: 3,
            ..Enforcement::AWS
        });
        create(&twin, &provisioned(1, units));
        assert_eq!(heat(&twin).resources[0].partitions.len(), partitions, "{units} units");
        assert_eq!(write(&twin, "hot", 10, 1), share, "{units} units");
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
    // Pages of one partition key count for it.
    let query = json!({"TableName": "tab", "KeyConditionExpression": "pk = :k", "ExpressionAttributeValues": {":k": {"S": "warm"}}});
    (0..4).for_each(|_| drop(twin.ok("Query", &query)));
    twin.ok(
        "ExecuteStatement",
        &json!({"Statement": "SELECT * FROM tab WHERE pk = 'warm'"}),
    );
    let (warm, units) = &heat(&twin).keys[1];
    assert_eq!((warm, units.as_f64()), (&key("warm"), 5.5));
    assert!(twin.engine.account(&twin.caller).watch_heat("tab", false).is_ok());
    assert_eq!(heat(&twin), Heat::default());
    // Consumption recorded before enforcement is not a debt afterwards.
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
    let transact_write = |key: &str| {
        let put = json!({"Put": write(key).1});
        ("TransactWriteItems", json!({"TransactItems": [put]}))
    };
    type Kind<'k> = &'k dyn Fn(&str) -> (&'static str, Value);
    let kinds: [Kind<'_>; 5] = [&write, &get, &query, &transact, &transact_write];
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
fn accesses_name_the_partition_of_the_table_or_index() {
    let twin = enforced(Enforcement::AWS);
    let units = |writes: u64| json!({"ReadCapacityUnits": 1, "WriteCapacityUnits": writes});
    let index = |(name, key, writes): (&str, &str, u64)| {
        json!({"IndexName": name, "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"}, "ProvisionedThroughput": units(writes)})
    };
    let indexes = [("by-f", "f", 1), ("by-g", "g", 3999), ("by-h", "h", 1999)].map(index);
    let attributes = ["pk", "f", "g", "h"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    create(
        &twin,
        &json!({"ProvisionedThroughput": units(1), "AttributeDefinitions": attributes, "GlobalSecondaryIndexes": indexes}),
    );
    let resources = heat(&twin).resources;
    let counts: Vec<usize> = resources.iter().map(|resource| resource.partitions.len()).collect();
    assert_eq!(counts, [1, 1, 4, 2]);
    twin.engine.watch(true);
    for key in (0..20).map(|at| format!("k{at}")) {
        let quarter = (token_of(&key) >> 62) as usize;
        for (index, name, partition) in [
            (None, "pk", 0),
            (Some("by-f"), "f", 0),
            (Some("by-g"), "g", quarter),
            (Some("by-h"), "h", quarter / 2),
        ] {
            let mut query = json!({"TableName": "tab", "KeyConditionExpression": format!("{name} = :k"),
                "ExpressionAttributeValues": {":k": {"S": key}}});
            if let Some(index) = index {
                query["IndexName"] = json!(index);
            }
            seconds(&twin, 1);
            twin.ok("Query", &query);
            let requests = twin.engine.requests();
            let access = &requests.last().unwrap().accesses[0];
            assert_eq!(access.partitions, Some((partition, partition)), "{index:?} {key}");
        }
    }
    for is_throttled in [false, true] {
        if is_throttled {
            twin.engine
                .add_fault(Rule::new(Verdict::Throttle(None)).operation("Scan"))
                .unwrap();
        }
        for segment in 0..4 {
            seconds(&twin, 1);
            let scan = json!({"TableName": "tab", "IndexName": "by-g", "Segment": segment, "TotalSegments": 4});
            let answer = twin.engine.dispatch(&twin.caller, "Scan", scan.to_string().as_bytes());
            assert_eq!(answer.status, if is_throttled { 400 } else { 200 });
            let requests = twin.engine.requests();
            let access = &requests.last().unwrap().accesses[0];
            assert_eq!(access.partitions, Some((segment, segment)), "throttled: {is_throttled}");
        }
    }
}

/// Heat splits a partition of an index, which has no shard in the table's stream.
#[test]
fn heat_of_an_index_splits_no_shard() {
    let hot = keys_of_the_first_quarter(2);
    let twin = enforced(Enforcement {
        heat_split: Some(Duration::from_secs(5)),
        partition_write: 20,
        ..Enforcement::AWS
    });
    let units = |writes: u64| json!({"ReadCapacityUnits": 100, "WriteCapacityUnits": writes});
    let index = json!({"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"}, "ProvisionedThroughput": units(60)});
    let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    create(
        &twin,
        &json!({"ProvisionedThroughput": units(100), "AttributeDefinitions": attributes, "GlobalSecondaryIndexes": [index],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}}),
    );
    let partitions = || {
        let resources = heat(&twin).resources;
        [0, 1].map(|at: usize| resources[at].partitions.len())
    };
    let (before, there) = (shards(&twin).len(), partitions());
    for round in 0..200 {
        for (at, g) in hot.iter().cycle().take(8).enumerate() {
            let item = json!({"pk": {"S": format!("{round}.{at}")}, "g": {"S": g}});
            twin.send("PutItem", &json!({"TableName": "tab", "Item": item}));
        }
        // A longer pause would let it cool down.
        twin.engine.advance(Duration::from_millis(300));
    }
    let found = partitions();
    assert_eq!((found[0], shards(&twin).len()), (there[0], before));
    assert!(found[1] > there[1], "{found:?}");
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

/// Creates tables whose streams have a shard for each partition.
fn create_streamed(twin: &Twin, tables: &[&str], units: u64) {
    for table in tables {
        let mut body = provisioned(units, units);
        body["TableName"] = (*table).into();
        body["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
        create(twin, &body);
    }
}

/// The numbers of a table's partitions and of all shards of its stream.
fn partitions_and_shards(twin: &Twin, table: &str) -> (usize, usize) {
    let arn = twin.ok("DescribeTable", &json!({"TableName": table}))["Table"]["LatestStreamArn"].clone();
    let stream = twin.ok("DescribeStream", &json!({ "StreamArn": arn }));
    let heat = twin.engine.account(&twin.caller).heat(table).unwrap();
    let shards = stream["StreamDescription"]["Shards"].as_array().unwrap().len();
    (heat.resources[0].partitions.len(), shards)
}

/// The partitions of each table of a transaction are split together with their shards, in whichever order the tables are.
#[test]
fn a_transaction_splits_the_shards_of_all_its_tables() {
    for order in [["one", "two", "six"], ["six", "two", "one"], ["two", "six", "one"]] {
        let twin = enforced(Enforcement {
            partition_size: 4 * 1024,
            ..Enforcement::AWS
        });
        create_streamed(&twin, &["one", "two", "six"], 1000);
        let before = order.map(|table| partitions_and_shards(&twin, table));
        let put = |table: &str, at: usize| {
            let item = json!({"pk": {"S": format!("k{at}")}, "v": {"S": "x".repeat(1000)}});
            json!({"Put": {"TableName": table, "Item": item}})
        };
        let puts = order
            .map(|table| (0..30).map(move |at| put(table, at)))
            .into_iter()
            .flatten();
        let puts: Vec<Value> = puts.collect();
        twin.ok("TransactWriteItems", &json!({"TransactItems": puts}));
        for (table, before) in order.iter().zip(before) {
            let after = partitions_and_shards(&twin, table);
            assert!(after.0 > before.0, "{table} of {order:?}: {before:?} {after:?}");
            // Each split closes a shard and opens two.
            assert_eq!(after.1, before.1 + 2 * (after.0 - before.0), "{table} of {order:?}");
        }
    }
}

/// Heat of transactions splits the partitions and shards of all their tables.
#[test]
fn heat_of_transactions_splits_the_shards_of_all_their_tables() {
    let tables = ["one", "two", "six"];
    let keys = keys_of_the_first_quarter(2);
    let item = |key: &str| json!({"pk": {"S": key}, "v": {"S": "x".repeat(8000)}});
    let put = |table: &str, key: &str| json!({"Put": {"TableName": table, "Item": item(key)}});
    let get = |table: &str, key: &str| json!({"Get": {"TableName": table, "Key": {"pk": {"S": key}}}});
    type Action<'a> = &'a dyn Fn(&str, &str) -> Value;
    let kinds: [(&str, Action<'_>); 2] = [("TransactWriteItems", &put), ("TransactGetItems", &get)];
    for (operation, action) in kinds {
        let twin = enforced(Enforcement {
            heat_split: Some(Duration::from_secs(5)),
            partition_read: 20,
            partition_write: 20,
            ..Enforcement::AWS
        });
        create_streamed(&twin, &tables, 40);
        for key in &keys {
            for table in tables {
                twin.ok("PutItem", &json!({"TableName": table, "Item": item(key)}));
            }
            seconds(&twin, 1);
        }
        let found = || tables.map(|table| partitions_and_shards(&twin, table));
        assert_eq!(found(), [(4, 4); 3], "{operation}");
        let mut waited = 0;
        while found().iter().any(|(partitions, _)| *partitions == 4) {
            for key in keys.iter().cycle().take(8) {
                let body = json!({"TransactItems": tables.map(|table| action(table, key))});
                let (status, answer) = twin.send(operation, &body);
                assert!(
                    status == 200 || answer.to_string().contains("ThroughputExceeded"),
                    "{answer}"
                );
            }
            // A longer pause would let it cool down.
            twin.engine.advance(Duration::from_millis(300));
            waited += 1;
            assert!(waited < 200, "{operation}: nothing was split");
        }
        for (partitions, shards) in found() {
            assert_eq!(shards, 4 + 2 * (partitions - 4), "{operation}");
        }
    }
}

/// A partition that grows too large is split together with its shard at the same moment, whatever makes it grow.
#[test]
fn shards_split_with_partitions_that_due_work_splits() {
    let minute = Duration::from_mins(1);
    let conditions = |twin: &Twin| {
        let rules = Enforcement {
            partition_size: 20 * 1024,
            ..Enforcement::AWS
        };
        let conditions = Conditions {
            capacity: Capacity::Enforced(rules),
            transaction_time: Lag::Fixed(minute),
            replication_lag: Lag::Fixed(minute),
            ..Conditions::CALM
        };
        twin.engine.set_conditions(conditions).unwrap();
    };
    let caller = |region: &str| Caller {
        access_key: "test".into(),
        region: region.into(),
    };
    let item = |at: usize| json!({"pk": {"S": format!("k{at}")}, "v": {"S": "x".repeat(1000)}});
    // What writes the items, and the region in which they arrive as due work.
    type Write = fn(&Twin, &dyn Fn(usize) -> Value);
    let transact: Write = |twin, item| {
        let put = |at: usize| json!({"Put": {"TableName": "tab", "Item": item(at)}});
        let puts: Vec<Value> = (0..90).map(put).collect();
        twin.ok("TransactWriteItems", &json!({"TransactItems": puts}));
    };
    let put: Write = |twin, item| {
        for at in 0..90 {
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": item(at)}));
        }
    };
    type Run = fn(&Twin, &Caller);
    let step: Run = |_, _| {};
    let read: Run = |twin, caller| {
        let get = json!({"TableName": "tab", "Key": {"pk": {"S": "k1"}}}).to_string();
        for at in 0..90 {
            let get = get.replace("k1", &format!("k{at}"));
            twin.engine.dispatch(caller, "GetItem", get.as_bytes());
        }
    };
    let timer: Run = |twin, _| {
        twin.engine.run_background_work();
    };
    for (what, write, region) in [("transaction", transact, "us-east-1"), ("arrivals", put, "eu-west-1")] {
        let mut found: Vec<(usize, usize)> = Vec::new();
        for (advances, run) in [(true, step), (false, read), (false, timer)] {
            let twin = Twin::new(1);
            let table = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"}});
            create(&twin, &table);
            let replica = json!([{"Create": {"RegionName": "eu-west-1"}}]);
            twin.ok("UpdateTable", &json!({"TableName": "tab", "ReplicaUpdates": replica}));
            conditions(&twin);
            let caller = caller(region);
            let send = |operation: &str, body: &Value| -> Value {
                let answer = twin.engine.dispatch(&caller, operation, body.to_string().as_bytes());
                serde_json::from_slice(&answer.body).unwrap()
            };
            let shards = || {
                let tables = send("DescribeTable", &json!({"TableName": "tab"}));
                let body = json!({"StreamArn": tables["Table"]["LatestStreamArn"]});
                let target = "DynamoDBStreams_20120810.DescribeStream";
                let answer = twin.engine.dispatch(&caller, target, body.to_string().as_bytes());
                let stream: Value = serde_json::from_slice(&answer.body).unwrap();
                stream["StreamDescription"]["Shards"].as_array().unwrap().len()
            };
            let partitions = || {
                twin.engine.account(&caller).heat("tab").unwrap().resources[0]
                    .partitions
                    .len()
            };
            let before = (partitions(), shards());
            write(&twin, &item);
            if advances {
                twin.engine.advance(minute);
            } else {
                twin.engine.clock().advance(minute);
            }
            run(&twin, &caller);
            let after = (partitions(), shards());
            assert!(after.0 > before.0, "{what}: {before:?} {after:?}");
            assert_eq!(after.1, before.1 + 2 * (after.0 - before.0), "{what}");
            found.push(after);
        }
        assert_eq!(found, vec![found[0]; 3], "{what}");
    }
}
