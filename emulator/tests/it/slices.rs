//! Long operations are done in slices or on another thread, so that no request waits for them, and reads stay correct.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::common::commits::{self, Recorder};
use crate::common::{Choice, Twin, caller, create_table_with_ttl, replay, setting, settings};
use dynatwin_engine::attributes::{AttributeValue, partition_token};
use dynatwin_engine::{Caller, Clock, Conditions, Engine, Lag, Moment, Reclaim, Settings, TimeToLive};
use serde_json::{Value, json};

/// A host that keeps the values it should free.
#[derive(Default)]
struct Garbage(Mutex<Vec<Box<dyn Send>>>);

impl Garbage {
    fn take(&self) -> usize {
        std::mem::take(&mut *self.0.lock().unwrap()).len()
    }
}

impl Reclaim for Garbage {
    fn reclaim(&self, garbage: Box<dyn Send>) {
        self.0.lock().unwrap().push(garbage);
    }
}

fn create(twin: &Twin, more: Value) {
    let mut request = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    let members = request.as_object_mut().unwrap();
    members.extend(more.as_object().cloned().unwrap_or_default());
    twin.ok("CreateTable", &request);
}

/// Returns a twin whose clock runs as fast as the test defines.
fn running() -> (Twin, Arc<AtomicI64>) {
    let micros = Arc::new(AtomicI64::new(Moment::START.micros()));
    let source = Arc::clone(&micros);
    let mut twin = Twin::new(1);
    twin.engine = Engine::new(Settings {
        clock: Clock::system(move || Moment::from_micros(source.load(Ordering::SeqCst))),
        seed: 1,
        conditions: Conditions::CALM,
        shared_db: false,
    });
    (twin, micros)
}

/// Adds a replica of the table `tab` in `eu-west-1`.
fn create_replica(twin: &Twin) {
    let replica = json!({"TableName": "tab", "ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]});
    twin.ok("UpdateTable", &replica);
}

/// The answer of the replica's region to a request, which succeeds.
fn ask_replica(twin: &Twin, operation: &str, body: &Value) -> Value {
    let caller = Caller {
        region: "eu-west-1".into(),
        ..twin.caller.clone()
    };
    let answer = twin.engine.dispatch(&caller, operation, body.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{operation} {body}");
    serde_json::from_slice(&answer.body).unwrap()
}

/// Puts items with the keys 0 to `count`, each with its number divided by ten in `g`.
fn fill(twin: &Twin, count: usize) {
    let keys: Vec<usize> = (0..count).collect();
    for keys in keys.chunks(25) {
        let puts = keys.iter().map(
            |at| json!({"PutRequest": {"Item": {"pk": {"S": at.to_string()}, "g": {"S": (at / 10).to_string()}}}}),
        );
        twin.ok(
            "BatchWriteItem",
            &json!({"RequestItems": {"tab": puts.collect::<Vec<_>>()}}),
        );
    }
}

fn create_index(units: Value) -> Value {
    let mut create = json!({"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"}});
    if !units.is_null() {
        create["ProvisionedThroughput"] = units;
    }
    json!({"TableName": "tab", "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": create}]})
}

/// Returns all items of the table or of its index, ordered by key.
fn scan(twin: &Twin, index: Option<&str>) -> Vec<Value> {
    let mut request = json!({"TableName": "tab"});
    if let Some(index) = index {
        request["IndexName"] = index.into();
    }
    let page = twin.ok("Scan", &request);
    assert!(page["LastEvaluatedKey"].is_null());
    let mut items = page["Items"].as_array().unwrap().clone();
    items.sort_by_key(|item| item["pk"]["S"].as_str().unwrap().to_owned());
    items
}

#[test]
fn the_host_frees_large_values() {
    let kept = Arc::new(Garbage::default());
    let mut twin = Twin::new(1);
    twin.engine = twin.engine.with_reclaimer(Arc::clone(&kept) as Arc<dyn Reclaim>);
    create(&twin, json!({}));
    fill(&twin, 5000);
    twin.ok("UpdateTable", &create_index(Value::Null));
    assert_eq!(kept.take(), 0);
    let remove = json!({"TableName": "tab", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-g"}}]});
    twin.ok("UpdateTable", &remove);
    // Its deletion is a change like others, and cancels the pending one.
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "tab", "DeletionProtectionEnabled": false}),
    );
    assert_eq!(kept.take(), 1, "the index");
    twin.ok("DeleteTable", &json!({"TableName": "tab"}));
    assert_eq!(kept.take(), 4, "its four partitions");
    create(&twin, json!({}));
    fill(&twin, 5000);
    twin.engine.reset().unwrap();
    assert_eq!(kept.take(), 4, "its four partitions");
    create(&twin, json!({}));
    fill(&twin, 100);
    twin.ok("DeleteTable", &json!({"TableName": "tab"}));
    assert_eq!(kept.take(), 0, "it is small");
}

#[test]
fn writes_that_race_a_backfill_are_in_the_index() {
    let twin = Twin::new(1);
    create(&twin, json!({}));
    fill(&twin, 4000);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|seed| {
                let twin = &twin;
                scope.spawn(move || {
                    let mut choice = Choice(seed);
                    for _ in 0..3000 {
                        let key = json!({"pk": {"S": choice.below(4000).to_string()}});
                        match choice.below(3) {
                            0 => twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": key})),
                            1 => twin.ok(
                                "UpdateItem",
                                &json!({"TableName": "tab", "Key": key, "UpdateExpression": "REMOVE g"}),
                            ),
                            _ => twin.ok(
                                "UpdateItem",
                                &json!({"TableName": "tab", "Key": key, "UpdateExpression": "SET g = :g",
                                    "ExpressionAttributeValues": {":g": {"S": choice.below(50).to_string()}}}),
                            ),
                        };
                    }
                })
            })
            .collect();
        let remove = json!({"TableName": "tab", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-g"}}]});
        twin.ok("UpdateTable", &create_index(Value::Null));
        while writers.iter().any(|writer| !writer.is_finished()) {
            twin.ok("UpdateTable", &remove);
            twin.ok("UpdateTable", &create_index(Value::Null));
        }
    });
    let mut items = scan(&twin, None);
    items.retain(|item| item.get("g").is_some());
    assert_eq!(scan(&twin, Some("by-g")), items);
}

#[test]
fn a_backfill_continues_past_items_without_an_entry() {
    let twin = Twin::new(1);
    create(&twin, json!({}));
    for number in 0..1000 {
        let mut item = json!({"pk": {"S": number.to_string()}});
        if number % 250 == 0 {
            item["g"] = json!({"S": "x"});
        }
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    twin.ok("UpdateTable", &create_index(Value::Null));
    let mut items = scan(&twin, None);
    items.retain(|item| item.get("g").is_some());
    assert_eq!(items.len(), 4);
    assert_eq!(scan(&twin, Some("by-g")), items);
}

#[test]
fn a_backfill_takes_time_with_the_size_of_the_table() {
    let cases = [
        (0, 1, 16, "the floor"),
        (100, 1, 16, "few entries"),
        (3000, 1, 51, "3000 units at one a second, after the allocation"),
        (3000, 100, 16, "the same with more units, of which half are for it"),
    ];
    for (items, units, minutes, why) in cases {
        let twin = Twin::new(1);
        let given = json!({"ReadCapacityUnits": 1, "WriteCapacityUnits": units});
        let tables = json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": given});
        create(&twin, tables);
        fill(&twin, items);
        twin.engine.set_conditions(Conditions::AWS).unwrap();
        twin.ok("UpdateTable", &create_index(given));
        let status = || {
            let table = twin.ok("DescribeTable", &json!({"TableName": "tab"}));
            let index = table["Table"]["GlobalSecondaryIndexes"][0].clone();
            (index["IndexStatus"].clone(), index["Backfilling"].clone())
        };
        assert_eq!(status(), (json!("CREATING"), json!(false)), "{why}");
        let query = json!({"TableName": "tab", "IndexName": "by-g", "KeyConditionExpression": "g = :g",
            "ExpressionAttributeValues": {":g": {"S": "0"}}});
        let mut passed = 0;
        while status().0 == "CREATING" {
            twin.engine.advance(Duration::from_mins(1));
            passed += 1;
            if passed == 3 {
                assert_eq!(status(), (json!("CREATING"), json!(true)), "{why}");
                let (refused, answer) = twin.send("Query", &query);
                let text = "Cannot read from backfilling global secondary index: by-g";
                assert_eq!((refused, &answer["message"]), (400, &json!(text)), "{why}");
            }
        }
        assert_eq!(status(), (json!("ACTIVE"), Value::Null), "{why}");
        assert!((minutes - 8..=minutes + 1).contains(&passed), "{why}: {passed} minutes");
        assert_eq!(twin.ok("Query", &query)["Count"], items.min(10), "{why}");
    }
}

/// Puts items that expire ten seconds after the start.
fn put_expiring_items(twin: &Twin, count: usize) {
    let ttl = (Moment::START.seconds() + 10).to_string();
    let keys: Vec<usize> = (0..count).collect();
    for keys in keys.chunks(25) {
        let puts = keys.iter().map(
            |at| json!({"PutRequest": {"Item": {"pk": {"S": at.to_string()}, "sk": {"S": "x"}, "g": {"S": "x"}, "ttl": {"N": ttl}}}}),
        );
        twin.ok(
            "BatchWriteItem",
            &json!({"RequestItems": {"tab": puts.collect::<Vec<_>>()}}),
        );
    }
}

#[test]
fn requests_apply_few_of_many_due_deletions() {
    let (twin, micros) = running();
    create_table_with_ttl(&twin);
    put_expiring_items(&twin, 2000);
    let pass = |seconds: i64| micros.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    assert_eq!(scan(&twin, None).len(), 2000);
    pass(20);
    let left = scan(&twin, None).len();
    assert!((1000..2000).contains(&left), "{left}");
    let entries = scan(&twin, Some("by-g")).len();
    assert!((500..=left).contains(&entries), "{entries} of {left}");
    twin.engine.run_due();
    assert_eq!(scan(&twin, None).len() + scan(&twin, Some("by-g")).len(), 0);
}

#[test]
fn a_due_transaction_does_not_wait_for_many_due_deletions() {
    let (twin, micros) = running();
    create_table_with_ttl(&twin);
    put_expiring_items(&twin, 2000);
    let mut conditions = Conditions::CALM;
    conditions.transaction_time = Lag::Fixed(Duration::from_secs(20));
    twin.engine.set_conditions(conditions).unwrap();
    let put = json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": "7"}, "g": {"S": "new"}}}});
    twin.ok("TransactWriteItems", &json!({"TransactItems": [put]}));
    micros.fetch_add(21_000_000, Ordering::SeqCst);
    let get = json!({"TableName": "tab", "Key": {"pk": {"S": "7"}}, "ConsistentRead": true});
    assert_eq!(twin.ok("GetItem", &get)["Item"]["g"]["S"], "new");
    let query = json!({"TableName": "tab", "IndexName": "by-g", "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": {":g": {"S": "new"}}});
    assert_eq!(twin.ok("Query", &query)["Count"], 1);
    assert!(scan(&twin, None).len() > 1000, "the deletions wait");
    twin.engine.run_due();
    assert_eq!(scan(&twin, None).len(), 1);
    assert_eq!(scan(&twin, Some("by-g")).len(), 1);
}

/// A change from another region, of an item whose deletion is due or of another one.
#[test]
fn an_arrival_does_not_wait_for_many_due_deletions() {
    for pk in ["7", "new"] {
        let (twin, micros) = running();
        let mut conditions = Conditions::CALM;
        conditions.replication_lag = Lag::Fixed(Duration::from_secs(5));
        twin.engine.set_conditions(conditions).unwrap();
        create_table_with_ttl(&twin);
        create_replica(&twin);
        let pass = |seconds: i64| micros.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
        let there = |operation: &str, body: &Value| ask_replica(&twin, operation, body);
        let count = || there("Scan", &json!({"TableName": "tab"}))["Count"].as_u64().unwrap();
        // The items arrive there at 5 s, and expire in both regions at 10 s; these deletions arrive at 15 s.
        put_expiring_items(&twin, 2000);
        pass(8);
        assert_eq!(count(), 2000);
        // It arrives at 13 s. If its deletion was due before, that is the later change of the item.
        let item = json!({"pk": {"S": pk}, "g": {"S": "here"}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        pass(6);
        let found = there("GetItem", &json!({"TableName": "tab", "Key": {"pk": {"S": pk}}}));
        assert_eq!(found.get("Item"), (pk == "new").then_some(&item), "{found}");
        let left = count();
        assert!((1900..2000).contains(&left), "{pk}: {left}");
        twin.engine.run_due();
        pass(60);
        twin.engine.run_due();
        for items in [count(), scan(&twin, None).len() as u64] {
            assert_eq!(items, u64::from(pk == "new"), "{pk}");
        }
    }
}

/// On a clock that runs, a request applies the arrivals at its own items, and few others. A Scan waits for all.
#[test]
fn requests_apply_few_of_many_arrivals() {
    for is_recovered in [false, true] {
        let (twin, micros) = running();
        let recorder = Recorder::of(&twin.engine);
        let mut conditions = Conditions::CALM;
        conditions.replication_lag = Lag::Fixed(Duration::from_secs(5));
        twin.engine.set_conditions(conditions).unwrap();
        create_table_with_ttl(&twin);
        create_replica(&twin);
        let there = |operation: &str, body: &Value| ask_replica(&twin, operation, body);
        if is_recovered {
            let enabled = json!({"PointInTimeRecoveryEnabled": true});
            there(
                "UpdateContinuousBackups",
                &json!({"TableName": "tab", "PointInTimeRecoverySpecification": enabled}),
            );
        }
        put_expiring_items(&twin, 2000);
        micros.fetch_add(8_000_000, Ordering::SeqCst);
        let before = recorder.commits().len();
        let applied = || recorder.commits().len() - before;
        let key = |pk: &str| json!({"TableName": "tab", "Key": {"pk": {"S": pk}}});
        assert!(there("GetItem", &key("7")).get("Item").is_some());
        assert!(there("GetItem", &key("missing")).get("Item").is_none());
        let gets = ["8", "9", "10"].map(|pk| json!({"Get": key(pk)}));
        let found = there("TransactGetItems", &json!({"TransactItems": gets}));
        assert!((0..3).all(|at| found["Responses"][at].get("Item").is_some()), "{found}");
        let mut delete = key("11");
        delete["ReturnValues"] = json!("ALL_OLD");
        assert!(there("DeleteItem", &delete).get("Attributes").is_some());
        // Each of the six locks applies at most 16 and those at its own items, and the last request changes one.
        let few = 1..=6 * 16 + 7;
        assert!(few.contains(&applied()), "{}", applied());
        let count = |index: Option<&str>| {
            let mut scan = json!({"TableName": "tab"});
            if let Some(index) = index {
                scan["IndexName"] = json!(index);
            }
            there("Scan", &scan)["Count"].clone()
        };
        assert_eq!((count(None), count(Some("by-g"))), (json!(1999), json!(1999)));
        assert_eq!(applied(), 2001);
        // The items expire, and the deletions of one region arrive in the other: nothing is applied twice.
        micros.fetch_add(60_000_000, Ordering::SeqCst);
        twin.engine.run_due();
        micros.fetch_add(60_000_000, Ordering::SeqCst);
        twin.engine.run_due();
        assert_eq!((count(None), scan(&twin, None).len()), (json!(0), 0));
        commits::check(&twin.engine, &recorder, || settings(1)).unwrap();
    }
}

/// A transaction finds all of its items that have arrived, although other arrivals wait for later.
#[test]
fn a_transaction_finds_every_item_that_has_arrived() {
    let partition_of = |pk: &str| partition_token(&AttributeValue::string(pk)).unwrap() >> 62;
    let keys = (0..).map(|number| number.to_string());
    let keys: Vec<String> = keys.filter(|pk| partition_of(pk) == 0).take(63).collect();
    let (others, own) = keys.split_at(60);
    let named = |pk: &str, member: &str| json!({"TableName": "tab", member: {"pk": {"S": pk}}, "ConditionExpression": "attribute_exists(pk)"});
    for (action, member) in [("Put", "Item"), ("Delete", "Key"), ("ConditionCheck", "Key")] {
        let (twin, micros) = running();
        let mut conditions = Conditions::CALM;
        conditions.replication_lag = Lag::Fixed(Duration::from_secs(2));
        twin.engine.set_conditions(conditions).unwrap();
        create(&twin, json!({}));
        create_replica(&twin);
        for pk in others.iter().chain(own) {
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": {"pk": {"S": pk}}}));
        }
        micros.fetch_add(20_000_000, Ordering::SeqCst);
        let actions: Vec<Value> = own.iter().map(|pk| json!({ action: named(pk, member) })).collect();
        let there = Caller {
            region: "eu-west-1".into(),
            ..twin.caller.clone()
        };
        let body = json!({"TransactItems": actions}).to_string();
        let answer = twin.engine.dispatch(&there, "TransactWriteItems", body.as_bytes());
        assert_eq!(
            answer.status,
            200,
            "{action}: {}",
            String::from_utf8_lossy(&answer.body)
        );
    }
}

/// A change of another region arrives when the transaction ends that holds its item, though other arrivals wait for later.
#[test]
fn an_arrival_at_a_held_item_is_dated_after_the_transaction() {
    let held = json!({"pk": {"S": "held"}});
    let put = json!({"Put": {"TableName": "tab", "Item": held}});
    let check = json!({"ConditionCheck": {"TableName": "tab", "Key": held,
        "ConditionExpression": "attribute_not_exists(pk)"}});
    let partition_of = |pk: &str| partition_token(&AttributeValue::string(pk)).unwrap() >> 62;
    let others: Vec<String> = (0..)
        .map(|number| number.to_string())
        .filter(|pk| partition_of(pk) == partition_of("held"))
        .take(60)
        .collect();
    for action in [put, check] {
        let (twin, micros) = running();
        let mut conditions = Conditions::CALM;
        conditions.replication_lag = Lag::Fixed(Duration::from_secs(2));
        conditions.transaction_time = Lag::Fixed(Duration::from_secs(10));
        twin.engine.set_conditions(conditions).unwrap();
        create(&twin, with_stream());
        create_replica(&twin);
        let there = |operation: &str, body: &Value| ask_replica(&twin, operation, body);
        // It ends after 10 s, and the changes arrive after 2 and 3 s.
        there("TransactWriteItems", &json!({"TransactItems": [action]}));
        for pk in &others {
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": {"pk": {"S": pk}}}));
        }
        micros.fetch_add(1_000_000, Ordering::SeqCst);
        let newer = json!({"pk": {"S": "held"}, "v": {"S": "newer"}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": newer}));
        micros.fetch_add(19_000_000, Ordering::SeqCst);
        there("GetItem", &json!({"TableName": "tab", "Key": held}));
        let arn = there("DescribeTable", &json!({"TableName": "tab"}))["Table"]["LatestStreamArn"].clone();
        let shards = there("DescribeStream", &json!({ "StreamArn": arn }))["StreamDescription"]["Shards"].clone();
        let mut times = Vec::new();
        for shard in shards.as_array().unwrap() {
            let from = json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
            let iterator = there("GetShardIterator", &from)["ShardIterator"].clone();
            let records = there("GetRecords", &json!({ "ShardIterator": iterator }))["Records"].clone();
            let changes = records.as_array().unwrap().iter().map(|record| &record["dynamodb"]);
            let of_item = changes.filter(|change| change["Keys"] == held);
            times.extend(of_item.map(|change| change["ApproximateCreationDateTime"].as_f64().unwrap() as i64));
        }
        let end = Moment::START.seconds() + 10;
        assert!(
            !times.is_empty() && times.iter().all(|time| *time == end),
            "{action}: {times:?}"
        );
    }
}

#[test]
fn expire_now_deletes_all_expired_items() {
    for (twin, micros) in [running(), (Twin::new(1), Arc::new(AtomicI64::new(0)))] {
        let mut conditions = Conditions::CALM;
        conditions.time_to_live = TimeToLive::Off;
        twin.engine.set_conditions(conditions).unwrap();
        create_table_with_ttl(&twin);
        put_expiring_items(&twin, 1000);
        micros.fetch_add(20_000_000, Ordering::SeqCst);
        if twin.engine.clock().is_settable() {
            twin.engine.advance(Duration::from_secs(20));
        }
        assert_eq!(twin.engine.account(&twin.caller).expire_now("tab").unwrap(), 1000);
        assert_eq!(scan(&twin, None).len() + scan(&twin, Some("by-g")).len(), 0);
    }
}

/// Some of the items are deleted when they are due, the others by the control.
#[test]
fn expire_now_counts_each_deletion_once() {
    let (twin, micros) = running();
    create_table_with_ttl(&twin);
    put_expiring_items(&twin, 1000);
    micros.fetch_add(20_000_000, Ordering::SeqCst);
    assert_eq!(twin.engine.account(&twin.caller).expire_now("tab").unwrap(), 1000);
    assert_eq!(scan(&twin, None).len(), 0);
    let metrics = twin.engine.metrics(&twin.caller);
    let deleted = metrics
        .iter()
        .find(|metric| metric.name == "TimeToLiveDeletedItemCount");
    assert_eq!(deleted.map(|metric| metric.value), Some(1000.0));
}

/// Items that have arrived from another region are deleted and counted as well, even if no request has applied them yet.
#[test]
fn expire_now_deletes_items_that_have_arrived() {
    for read_staleness in [Lag::None, Lag::Fixed(Duration::from_secs(1))] {
        let (twin, micros) = running();
        let mut conditions = Conditions::CALM;
        conditions.replication_lag = Lag::Fixed(Duration::from_secs(5));
        conditions.read_staleness = read_staleness;
        twin.engine.set_conditions(conditions).unwrap();
        create_table_with_ttl(&twin);
        create_replica(&twin);
        // The items arrive there at 5 s, and expire in both regions at 10 s.
        put_expiring_items(&twin, 2000);
        micros.fetch_add(12_000_000, Ordering::SeqCst);
        let there = Caller {
            region: "eu-west-1".into(),
            ..twin.caller.clone()
        };
        assert_eq!(twin.engine.account(&there).expire_now("tab"), Ok(2000));
        assert_eq!(twin.engine.account(&there).expire_now("tab"), Ok(0));
    }
}

#[test]
fn a_backup_stays_as_it_was() {
    let twin = Twin::new(1);
    create(&twin, json!({}));
    fill(&twin, 3000);
    let before = scan(&twin, None);
    let backup = twin.ok("CreateBackup", &json!({"TableName": "tab", "BackupName": "one"}));
    for at in (0..3000).step_by(7) {
        let key = json!({"pk": {"S": at.to_string()}});
        twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": key}));
        let item = json!({"pk": {"S": format!("new {at}")}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    let arn = &backup["BackupDetails"]["BackupArn"];
    twin.ok("DeleteTable", &json!({"TableName": "tab"}));
    twin.ok(
        "RestoreTableFromBackup",
        &json!({"TargetTableName": "tab", "BackupArn": arn}),
    );
    assert_eq!(scan(&twin, None), before);
}

#[test]
fn enabling_time_to_live_applies_to_existing_items() {
    let twin = Twin::new(1);
    create(&twin, json!({}));
    put_expiring_items(&twin, 3000);
    let set = |enabled: bool| {
        let specification = json!({"Enabled": enabled, "AttributeName": "ttl"});
        twin.ok(
            "UpdateTimeToLive",
            &json!({"TableName": "tab", "TimeToLiveSpecification": specification}),
        );
    };
    set(true);
    set(false);
    twin.engine.advance(Duration::from_secs(20));
    assert_eq!(scan(&twin, None).len(), 3000);
    set(true);
    assert_eq!(scan(&twin, None).len(), 0);
}

#[test]
fn a_backfill_shares_the_write_units_of_its_index() {
    let twin = Twin::new(1);
    let given = json!({"ReadCapacityUnits": 10, "WriteCapacityUnits": 10});
    create(
        &twin,
        json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 100}}),
    );
    fill(&twin, 3000);
    twin.engine.set_conditions(Conditions::AWS).unwrap();
    twin.ok("UpdateTable", &create_index(given));
    // Past the allocation: the backfill takes 3000 units at half of ten a second.
    twin.engine.advance(Duration::from_mins(1));
    let mut keys = 0..;
    let mut put = || {
        let item = json!({"pk": {"S": format!("new {:?}", keys.next())}, "g": {"S": "x"}});
        twin.send("PutItem", &json!({"TableName": "tab", "Item": item})).0 == 200
    };
    // Twenty writes a second; returns how many are not throttled.
    let mut written = |seconds: usize| {
        let mut of_second = || {
            twin.engine.advance(Duration::from_secs(1));
            (0..20).filter(|_| put()).count()
        };
        (0..seconds).map(|_| of_second()).sum::<usize>()
    };
    // Unused capacity comes first.
    written(120);
    let during = written(100);
    assert!((450..=550).contains(&during), "{during}");
    twin.engine.advance(Duration::from_mins(40));
    written(320);
    let after = written(100);
    assert!((950..=1050).contains(&after), "{after}");
}

/// Two twins with the same table and clock: one applies due deletions as its clock moves, the other leaves them to its
/// requests, and has a recorder of its commits.
struct Pair {
    twins: [Twin; 2],
    recorder: Arc<Recorder>,
    /// By how many seconds at most the clock of the first one moves in one step.
    step: u64,
}

impl Pair {
    /// `staleness` is the maximum age in seconds of what half of the reads return.
    fn new(seed: u64, more: &Value, transaction_time: u64, staleness: u64) -> Pair {
        let mut conditions = Conditions::CALM;
        conditions.time_to_live = TimeToLive::Deletes(Lag::Seeded {
            typical: Duration::from_secs(2),
            longest: Duration::from_secs(5),
        });
        conditions.transaction_time = Lag::Fixed(Duration::from_secs(transaction_time));
        conditions.item_collection_size = 400;
        conditions.read_staleness = Lag::Seeded {
            typical: Duration::from_secs(staleness / 2),
            longest: Duration::from_secs(staleness),
        };
        conditions.stale_reads = 0.5;
        let twins = [Twin::new(seed), Twin::new(seed)];
        let recorder = Recorder::of(&twins[1].engine);
        // Deletions are applied while the states before them can be read.
        let step = if staleness > 0 { 1 } else { u64::MAX };
        let pair = Pair { twins, recorder, step };
        let attributes = ["pk", "sk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
        let mut create = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": attributes,
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"}}]});
        let members = create.as_object_mut().unwrap();
        members.extend(more.as_object().cloned().unwrap_or_default());
        pair.twins
            .iter()
            .for_each(|twin| twin.engine.set_conditions(conditions).unwrap());
        pair.same("CreateTable", &create);
        pair.same(
            "UpdateTimeToLive",
            &json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}}),
        );
        pair.same(
            "UpdateContinuousBackups",
            &json!({"TableName": "tab", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}}),
        );
        pair
    }

    /// Sends a request to both, which give the same answer; returns it.
    fn same(&self, operation: &str, body: &Value) -> Value {
        let [one, other] = self.twins.each_ref().map(|twin| twin.send(operation, body));
        assert_eq!(one, other, "{operation} {body}");
        one.1
    }

    /// Changes how long after their time items expire: some are then due since long before.
    fn expire_after(&self, seconds: u64) {
        for twin in &self.twins {
            let mut conditions = twin.engine.conditions();
            conditions.time_to_live = TimeToLive::Deletes(Lag::Seeded {
                typical: Duration::from_secs(seconds / 2),
                longest: Duration::from_secs(seconds),
            });
            twin.engine.set_conditions(conditions).unwrap();
        }
    }

    fn pass(&self, seconds: u64) {
        let mut left = seconds;
        while left > 0 {
            let step = left.min(self.step);
            self.twins[0].engine.advance(Duration::from_secs(step));
            left -= step;
        }
        self.twins[1].engine.clock().advance(Duration::from_secs(seconds));
    }
}

/// A reader of a stream's first shard, which reads between other requests.
struct Follower {
    shard: Value,
    next: Value,
    records: Vec<Value>,
}

impl Follower {
    fn new(twin: &Twin) -> Follower {
        let table = twin.ok("DescribeTable", &json!({"TableName": "tab"}));
        let arn = table["Table"]["LatestStreamArn"].clone();
        let described = twin.ok("DescribeStream", &json!({"StreamArn": arn}));
        let mut shard = json!({"StreamArn": arn, "ShardIteratorType": "TRIM_HORIZON"});
        shard["ShardId"] = described["StreamDescription"]["Shards"][0]["ShardId"].clone();
        let next = twin.ok("GetShardIterator", &shard)["ShardIterator"].clone();
        let records = Vec::new();
        Follower { shard, next, records }
    }

    /// Reads pages until one has fewer records than its limit: this one was at the end of the shard.
    fn read(&mut self, twin: &Twin, limit: usize) {
        loop {
            let page = twin.ok("GetRecords", &json!({"ShardIterator": self.next, "Limit": limit}));
            let found = page["Records"].as_array().unwrap();
            self.records.extend(found.iter().cloned());
            self.next = page["NextShardIterator"].clone();
            if found.len() < limit {
                return;
            }
        }
    }

    /// Checks that the pages so far and a new read of the whole shard have the same records.
    fn finish(&mut self, twin: &Twin) {
        self.read(twin, 1000);
        let read = std::mem::take(&mut self.records);
        self.next = twin.ok("GetShardIterator", &self.shard)["ShardIterator"].clone();
        self.read(twin, 1000);
        assert!(read.len() > 100 && read == self.records, "{}", read.len());
    }
}

/// Returns the name, time and images of each record, sorted by key and in the order of each item's changes. The order of records of
/// different items depends on when due deletions are applied.
fn by_key(mut records: Vec<Value>) -> Vec<[Value; 4]> {
    records.sort_by_key(|record| record["dynamodb"]["Keys"].to_string());
    let parts = |record: &Value| {
        let change = &record["dynamodb"];
        let [old, new, created] =
            ["OldImage", "NewImage", "ApproximateCreationDateTime"].map(|name| change[name].clone());
        [record["eventName"].clone(), created, old, new]
    };
    records.iter().map(parts).collect()
}

fn any_key(choice: &mut Choice) -> Value {
    json!({"pk": {"S": choice.below(40).to_string()}, "sk": {"S": choice.below(30).to_string()}})
}

/// An item that expires within a minute, or does not expire.
fn any_expiring_item(choice: &mut Choice, now: i64) -> Value {
    let mut item = any_key(choice);
    item["g"] = json!({"S": choice.below(3).to_string()});
    item["v"] = json!({"N": choice.below(100).to_string()});
    if !choice.one_in(5) {
        let at = now / 30 * 30 + 30 * (1 + choice.below(2) as i64);
        item["ttl"] = json!({"N": at.to_string()});
    }
    item
}

fn any_request(choice: &mut Choice, now: i64, has_local_index: bool) -> (&'static str, Value) {
    let (key, part) = (any_key(choice), choice.below(4));
    let query = |index: Value| {
        let (name, value) = if index == "by-g" {
            ("g", &json!({"S": "1"}))
        } else {
            ("pk", &key["pk"])
        };
        let mut query = json!({"TableName": "tab", "ExpressionAttributeValues": {":v": value},
            "KeyConditionExpression": format!("{name} = :v"), "ReturnConsumedCapacity": "INDEXES"});
        if index == "local" && part < 3 {
            query["ExpressionAttributeValues"][":g"] = json!({"S": part.to_string()});
            query["KeyConditionExpression"] = json!("pk = :v AND g = :g");
        }
        if !index.is_null() {
            query["IndexName"] = index;
        }
        query
    };
    match choice.below(if has_local_index { 12 } else { 11 }) {
        0 => ("GetItem", json!({"TableName": "tab", "Key": key})),
        1 => {
            let keys: Vec<Value> = (0..20)
                .map(|pk| json!({"pk": {"S": pk.to_string()}, "sk": key["sk"]}))
                .collect();
            ("BatchGetItem", json!({"RequestItems": {"tab": {"Keys": keys}}}))
        }
        2 => ("Query", query(Value::Null)),
        3 if choice.one_in(4) => ("Query", query(json!("by-g"))),
        3 => (
            "DeleteItem",
            json!({"TableName": "tab", "Key": key, "ReturnValues": "ALL_OLD"}),
        ),
        4 if choice.one_in(4) => ("Scan", json!({"TableName": "tab"})),
        4 | 5 => {
            let condition = "attribute_not_exists(pk)";
            let item = any_expiring_item(choice, now);
            (
                "PutItem",
                json!({"TableName": "tab", "Item": item, "ConditionExpression": condition}),
            )
        }
        6 => {
            let update = json!({"TableName": "tab", "Key": key, "UpdateExpression": "ADD v :one",
                "ExpressionAttributeValues": {":one": {"N": "1"}}, "ReturnValues": "ALL_NEW"});
            ("UpdateItem", update)
        }
        7 => {
            let put = |item: Value| json!({"Put": {"TableName": "tab", "Item": item}});
            let check = json!({"TableName": "tab", "Key": key, "ConditionExpression": "attribute_exists(pk)"});
            let [one, other] = [(); 2].map(|()| put(any_expiring_item(choice, now)));
            let second = if part < 2 {
                other
            } else {
                json!({"ConditionCheck": check})
            };
            (
                "TransactWriteItems",
                json!({"TransactItems": [one, second], "ReturnItemCollectionMetrics": "SIZE"}),
            )
        }
        8 => {
            let gets = [key, any_key(choice)].map(|key| json!({"Get": {"TableName": "tab", "Key": key}}));
            ("TransactGetItems", json!({"TransactItems": gets}))
        }
        9 => {
            let statement = "SELECT * FROM \"tab\" WHERE pk = ? AND sk = ?";
            (
                "ExecuteStatement",
                json!({"Statement": statement, "Parameters": [key["pk"], key["sk"]]}),
            )
        }
        11 => ("Query", query(json!("local"))),
        _ => (
            "PutItem",
            json!({"TableName": "tab", "Item": any_expiring_item(choice, now)}),
        ),
    }
}

/// A settable clock moves past many deletions, and requests leave those of other items for later: no request observes
/// one, and what is recorded is the same.
#[test]
fn due_deletions_are_not_observed_before_they_are_applied() {
    let seed = setting("DYNATWIN_SEED").unwrap_or(11);
    println!("DYNATWIN_SEED={seed}");
    let (none, mut both) = (json!({}), with_stream());
    let members = both.as_object_mut().unwrap();
    members.extend(with_local_index().as_object().cloned().unwrap());
    let cases = [
        (none.clone(), 0, 0),
        (none.clone(), 20, 0),
        (with_stream(), 20, 0),
        (with_local_index(), 0, 0),
        (both.clone(), 20, 0),
        (none, 20, 8),
        (both, 0, 8),
    ];
    for (more, transaction_time, staleness) in cases {
        let pair = Pair::new(seed, &more, transaction_time, staleness);
        let mut choice = Choice(seed);
        let has_local_index = more["LocalSecondaryIndexes"].is_array();
        let mut followers = Vec::new();
        let mut refused = 0;
        let mut same = |operation: &str, body: &Value| {
            let answer = pair.same(operation, body).to_string();
            refused += usize::from(answer.contains("ItemCollectionSizeLimitExceeded"));
        };
        for round in 0..12 {
            let now = pair.twins[0].seconds();
            for _ in 0..10 {
                let puts: Vec<Value> = (0..25)
                    .map(|_| any_expiring_item(&mut choice, now))
                    .map(|item| json!({"PutRequest": {"Item": item}}))
                    .collect();
                same("BatchWriteItem", &json!({"RequestItems": {"tab": puts}}));
            }
            if more["StreamSpecification"].is_object() && followers.is_empty() {
                followers = pair.twins.each_ref().map(Follower::new).into();
            }
            pair.pass(10 + choice.below(40));
            for number in 0..40 {
                if number == 20 && round % 3 > 0 && staleness > 0 {
                    pair.expire_after([2, 15][round % 2]);
                }
                let (operation, body) = any_request(&mut choice, now, has_local_index);
                same(operation, &body);
                if staleness > 0 && choice.one_in(4) {
                    pair.pass(1);
                }
                if choice.one_in(10) {
                    let limit = 1 + choice.below(8) as usize;
                    for (follower, twin) in followers.iter_mut().zip(&pair.twins) {
                        follower.read(twin, limit);
                    }
                    let mut records = followers.iter().map(|follower| by_key(follower.records.clone()));
                    assert!(records.next() == records.next(), "all followers read the same records");
                }
            }
        }
        assert_eq!(refused > 0, has_local_index, "{refused}");
        for (follower, twin) in followers.iter_mut().zip(&pair.twins) {
            follower.finish(twin);
        }
        let latest = pair.twins[0].seconds();
        pair.pass(120);
        pair.same("Scan", &json!({"TableName": "tab"}));
        pair.same("Scan", &json!({"TableName": "tab", "IndexName": "by-g"}));
        if more["StreamSpecification"].is_object() {
            let [one, other] = pair.twins.each_ref().map(|twin| by_key(replay::records(twin, "tab")));
            assert!(one.len() > 1000, "{}", one.len());
            assert!(one == other, "the records of each item");
        }
        for at in 0..15 {
            let (name, moment) = (format!("copy-{at}"), latest - choice.below(400) as i64);
            pair.same(
                "RestoreTableToPointInTime",
                &json!({"SourceTableName": "tab", "TargetTableName": name, "RestoreDateTime": moment}),
            );
            pair.same("Scan", &json!({"TableName": name}));
        }
        commits::check(&pair.twins[1].engine, &pair.recorder, || settings(seed)).unwrap();
    }
}

/// The same requests on the same clock give the same order of records, of different items too, while requests apply due deletions.
#[test]
fn streams_of_the_same_requests_are_equal() {
    let seed = setting("DYNATWIN_SEED").unwrap_or(12);
    println!("DYNATWIN_SEED={seed}");
    let (pair, mut choice) = (Pair::new(seed, &with_stream(), 20, 0), Choice(seed));
    for _ in 0..6 {
        let now = pair.twins[0].seconds();
        for _ in 0..200 {
            let item = any_expiring_item(&mut choice, now);
            pair.same("PutItem", &json!({"TableName": "tab", "Item": item}));
        }
        let by = Duration::from_secs(10 + choice.below(40));
        pair.twins.iter().for_each(|twin| twin.engine.clock().advance(by));
        for _ in 0..40 {
            let (operation, body) = any_request(&mut choice, now, false);
            pair.same(operation, &body);
        }
    }
    let [one, other] = pair.twins.each_ref().map(|twin| replay::records(twin, "tab"));
    assert!(one.len() > 1000 && one == other, "{}", one.len());
}

/// Creates a table with a global index, time to live and `more`, and with a sort key if that has a local index.
fn create_expiring(twin: &Twin, more: &Value) {
    let keys = if more["LocalSecondaryIndexes"].is_array() { 2 } else { 1 };
    let (attributes, types) = (["pk", "sk", "g"], ["HASH", "RANGE"]);
    let schema: Vec<Value> = (0..keys)
        .map(|at| json!({"AttributeName": attributes[at], "KeyType": types[at]}))
        .collect();
    let defined = attributes.iter().filter(|name| keys == 2 || **name != "sk");
    let defined: Vec<Value> = defined
        .map(|name| json!({"AttributeName": name, "AttributeType": "S"}))
        .collect();
    let mut members = json!({"KeySchema": schema, "AttributeDefinitions": defined,
        "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"}}]});
    let all = members.as_object_mut().unwrap();
    all.extend(more.as_object().cloned().unwrap_or_default());
    create(twin, members);
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}}),
    );
}

fn with_stream() -> Value {
    json!({"StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"}})
}

fn with_local_index() -> Value {
    json!({"LocalSecondaryIndexes": [{"IndexName": "local", "Projection": {"ProjectionType": "ALL"},
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "g", "KeyType": "RANGE"}]}]})
}

#[test]
fn a_write_applies_few_of_many_due_deletions() {
    let stale = Conditions {
        read_staleness: Conditions::AWS.read_staleness,
        ..Conditions::CALM
    };
    let staler = Conditions {
        read_staleness: Lag::Fixed(Duration::from_mins(1)),
        stale_reads: 0.0,
        ..Conditions::CALM
    };
    let cases = [
        (json!({}), Conditions::CALM, "an index"),
        (with_stream(), Conditions::CALM, "a stream"),
        (with_local_index(), Conditions::CALM, "a local index"),
        (with_local_index(), stale, "stale reads"),
        (with_local_index(), staler, "stale reads of items that have expired"),
    ];
    for (more, conditions, why) in cases {
        let twin = Twin::new(1);
        twin.engine.set_conditions(conditions).unwrap();
        let recorder = Recorder::of(&twin.engine);
        create_expiring(&twin, &more);
        put_expiring_items(&twin, 2000);
        twin.engine.clock().advance(Duration::from_secs(20));
        let before = recorder.commits().len();
        let applied = || recorder.commits().len() - before;
        let mut key = json!({"pk": {"S": "7"}});
        if more["LocalSecondaryIndexes"].is_array() {
            key["sk"] = json!({"S": "x"});
        }
        let mut item = key.clone();
        item["g"] = json!({"S": "new"});
        let condition = "attribute_not_exists(pk)";
        let put = json!({"TableName": "tab", "Item": item, "ConditionExpression": condition});
        twin.ok("PutItem", &put);
        key["pk"] = json!({"S": "8"});
        let read = twin.ok("GetItem", &json!({"TableName": "tab", "Key": key}));
        assert!(read.get("Item").is_none(), "{why}");
        let query = json!({"TableName": "tab", "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": {"S": "9"}}});
        assert_eq!(twin.ok("Query", &query)["Count"], 0, "{why}");
        if more["LocalSecondaryIndexes"].is_array() {
            for (pk, count) in [("10", 0), ("7", 1)] {
                let mut query = query.clone();
                query["IndexName"] = json!("local");
                query["ConsistentRead"] = json!(true);
                query["ExpressionAttributeValues"][":pk"] = json!({"S": pk});
                assert_eq!(twin.ok("Query", &query)["Count"], count, "{why}");
            }
        }
        let writes = json!([{"Delete": {"TableName": "tab", "Key": key}}]);
        twin.ok("TransactWriteItems", &json!({"TransactItems": writes}));
        let requests = if more["LocalSecondaryIndexes"].is_array() { 6 } else { 4 };
        // Each request applies at most 16 deletions, that of its own item, and its own change.
        assert!((1..=requests * 18).contains(&applied()), "{why}: {}", applied());
        twin.engine.clock().advance(Duration::from_secs(2));
        assert_eq!(scan(&twin, Some("by-g")), std::slice::from_ref(&item), "{why}");
        assert_eq!(scan(&twin, None), [item], "{why}");
        assert_eq!(applied(), 2002, "{why}");
    }
}

/// A Query of a part of a large item collection applies the deletions of that part.
#[test]
fn a_query_applies_few_deletions_of_a_large_collection() {
    let twin = Twin::new(1);
    let recorder = Recorder::of(&twin.engine);
    create_expiring(&twin, &with_local_index());
    let ttl = (Moment::START.seconds() + 10).to_string();
    for at in 0..1500 {
        let item = json!({"pk": {"S": "p"}, "sk": {"S": format!("{at:04}")}, "g": {"S": "x"}, "ttl": {"N": ttl}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    twin.engine.clock().advance(Duration::from_secs(20));
    let before = recorder.commits().len();
    let query = json!({"TableName": "tab", "KeyConditionExpression": "pk = :pk AND begins_with(sk, :sk)",
        "ExpressionAttributeValues": {":pk": {"S": "p"}, ":sk": {"S": "000"}}});
    assert_eq!(twin.ok("Query", &query)["Count"], 0);
    let applied = recorder.commits().len() - before;
    assert!((10..=10 + 16).contains(&applied), "{applied}");
}

/// A Query returns no item whose deletion is due, wherever in the item collection the item is, and in either order.
#[test]
fn a_query_skips_due_deletions_anywhere_in_a_collection() {
    const ITEMS: u32 = 4;
    // Each bit of a collection's number is an item that expires.
    let is_kept = |number: u32, at: u32| (number >> at) & 1 == 0;
    for index in [Value::Null, json!("local")] {
        let twin = Twin::new(1);
        create_expiring(&twin, &with_local_index());
        let ttl = (Moment::START.seconds() + 10).to_string();
        for number in 0..1_u32 << ITEMS {
            for at in 0..ITEMS {
                let sk = json!({"S": at.to_string()});
                let mut item = json!({"pk": {"S": number.to_string()}, "sk": sk, "g": sk});
                if !is_kept(number, at) {
                    item["ttl"] = json!({ "N": ttl });
                }
                twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
            }
        }
        // Not `advance`, which applies what is due.
        twin.engine.clock().advance(Duration::from_secs(20));
        for number in 0..1_u32 << ITEMS {
            let forward = number.count_ones() % 2 == 0;
            let mut query = json!({"TableName": "tab", "ConsistentRead": true, "ScanIndexForward": forward,
                "KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": number.to_string()}}});
            if !index.is_null() {
                query["IndexName"] = index.clone();
            }
            let mut expect: Vec<Value> = (0..ITEMS)
                .filter(|at| is_kept(number, *at))
                .map(|at| json!(at.to_string()))
                .collect();
            if !forward {
                expect.reverse();
            }
            let found = twin.ok("Query", &query)["Items"].clone();
            let found = found.as_array().unwrap().iter();
            let found: Vec<Value> = found.map(|item| item["sk"]["S"].clone()).collect();
            assert_eq!(found, expect, "{number:b} {index}");
        }
    }
}

/// However many items a Query reads, the deletion of the last one is not observed before it is applied.
#[test]
fn a_query_of_many_items_skips_due_deletions() {
    let twin = Twin::new(1);
    create_expiring(&twin, &with_local_index());
    let ttl = (Moment::START.seconds() + 10).to_string();
    let (items, last) = (1100, 1099);
    let all: Vec<usize> = (0..items).collect();
    for some in all.chunks(25) {
        let puts = some.iter().map(|at| {
            let sk = json!({"S": format!("{at:04}")});
            let mut item = json!({"pk": {"S": "p"}, "sk": sk, "g": sk});
            if *at == last {
                item["ttl"] = json!({ "N": ttl });
            }
            json!({"PutRequest": {"Item": item}})
        });
        let puts: Vec<Value> = puts.collect();
        twin.ok("BatchWriteItem", &json!({"RequestItems": {"tab": puts}}));
    }
    // Not `advance`, which applies what is due.
    twin.engine.clock().advance(Duration::from_secs(20));
    let query = json!({"TableName": "tab", "Select": "COUNT", "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": "p"}}});
    assert_eq!(twin.ok("Query", &query)["Count"], items - 1);
}

/// A transaction finds none of its items that have expired, however many deletions of others are due before.
#[test]
fn a_transaction_finds_no_expired_item() {
    let partition_of = |pk: &str| partition_token(&AttributeValue::string(pk)).unwrap() >> 62;
    let keys = (0..).map(|number| number.to_string());
    let keys: Vec<String> = keys.filter(|pk| partition_of(pk) == 0).take(43).collect();
    let (others, own) = keys.split_at(40);
    for (more, has_sort_key) in [(json!({}), false), (with_local_index(), true)] {
        let key = |pk: &str| {
            let mut key = json!({"pk": {"S": pk}});
            if has_sort_key {
                key["sk"] = json!({"S": "x"});
            }
            key
        };
        let condition = "attribute_not_exists(pk)";
        let put = |pk: &String| json!({"Put": {"TableName": "tab", "Item": key(pk), "ConditionExpression": condition}});
        let update = |pk: &String| {
            json!({"Update": {"TableName": "tab", "Key": key(pk), "ConditionExpression": condition,
                "UpdateExpression": "SET v = :v", "ExpressionAttributeValues": {":v": {"S": "v"}}}})
        };
        let check = |pk: &String| json!({"ConditionCheck": {"TableName": "tab", "Key": key(pk), "ConditionExpression": condition}});
        let insert = |pk: &String| {
            let sort_key = if has_sort_key { ", 'sk': 'x'" } else { "" };
            json!({"Statement": format!("INSERT INTO tab VALUE {{'pk': '{pk}'{sort_key}}}")})
        };
        type Action<'a> = &'a dyn Fn(&String) -> Value;
        let actions: [(&str, &str, Action<'_>); 4] = [
            ("TransactWriteItems", "TransactItems", &put),
            ("TransactWriteItems", "TransactItems", &update),
            ("TransactWriteItems", "TransactItems", &check),
            ("ExecuteTransaction", "TransactStatements", &insert),
        ];
        for (operation, member, action) in actions {
            let twin = Twin::new(1);
            create_expiring(&twin, &more);
            let put = |pk: &str, second: i64| {
                let mut item = key(pk);
                item["ttl"] = json!({"N": (Moment::START.seconds() + second).to_string()});
                twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
            };
            others.iter().for_each(|pk| put(pk, 10));
            own.iter().for_each(|pk| put(pk, 12));
            // Not `advance`, which applies what is due.
            twin.engine.clock().advance(Duration::from_secs(20));
            let actions: Vec<Value> = own.iter().map(action).collect();
            twin.ok(operation, &json!({ member: actions }));
            let left = if actions[0].get("ConditionCheck").is_some() {
                0
            } else {
                own.len()
            };
            assert_eq!(scan(&twin, None).len(), left, "{}", actions[0]);
        }
    }
}

/// On a clock that runs, a page of a stream is full if enough changes have arrived.
#[test]
fn arrivals_fill_a_page_of_a_stream() {
    let (twin, micros) = running();
    let mut conditions = Conditions::CALM;
    conditions.replication_lag = Lag::Fixed(Duration::from_secs(2));
    twin.engine.set_conditions(conditions).unwrap();
    create(&twin, with_stream());
    create_replica(&twin);
    let there = |operation: &str, body: &Value| ask_replica(&twin, operation, body);
    // In one partition and one shard.
    let partition_of = |pk: &str| partition_token(&AttributeValue::string(pk)).unwrap() >> 62;
    let keys = (0..).map(|number| number.to_string());
    let keys: Vec<String> = keys.filter(|pk| partition_of(pk) == 0).take(1100).collect();
    for keys in keys.chunks(25) {
        let put = |pk: &String| json!({"PutRequest": {"Item": {"pk": {"S": pk}}}});
        let puts: Vec<Value> = keys.iter().map(put).collect();
        twin.ok("BatchWriteItem", &json!({"RequestItems": {"tab": puts}}));
    }
    let arn = there("DescribeTable", &json!({"TableName": "tab"}))["Table"]["LatestStreamArn"].clone();
    let shards = there("DescribeStream", &json!({ "StreamArn": arn }))["StreamDescription"]["Shards"].clone();
    let from = json!({"StreamArn": arn, "ShardId": shards[0]["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
    let iterator = there("GetShardIterator", &from)["ShardIterator"].clone();
    // No other request follows, which would apply all of them.
    micros.fetch_add(20_000_000, Ordering::SeqCst);
    let page = there("GetRecords", &json!({ "ShardIterator": iterator }));
    assert_eq!(page["Records"].as_array().unwrap().len(), 1000);
}

/// The estimate of an item collection's size contains no due deletion that could change it, in each collection that a request writes.
#[test]
fn estimates_of_all_written_collections_contain_no_due_deletions() {
    let partition_of = |pk: &str| partition_token(&AttributeValue::string(pk)).unwrap() >> 62;
    let mut keys = (0..)
        .map(|number| number.to_string())
        .filter(|pk| partition_of(pk) == 0);
    let [first, second] = [keys.next().unwrap(), keys.next().unwrap()];
    let item = |pk: &str, sk: &str| json!({"pk": {"S": pk}, "sk": {"S": sk}, "g": {"S": "x"}});
    let expiring = |pk: &str, sk: &str, second: i64, length: usize| {
        let mut item = item(pk, sk);
        item["ttl"] = json!({"N": (Moment::START.seconds() + second).to_string()});
        item["v"] = json!({"S": "v".repeat(length)});
        json!({"TableName": "tab", "Item": item})
    };
    let put = json!({"TableName": "tab", "Item": item(&first, "new"), "ReturnItemCollectionMetrics": "SIZE"});
    let puts = [&first, &second].map(|pk| json!({"Put": {"TableName": "tab", "Item": item(pk, "new")}}));
    let transaction = json!({"TransactItems": puts, "ReturnItemCollectionMetrics": "SIZE"});
    let puts = [&first, &second].map(|pk| json!({"PutRequest": {"Item": item(pk, "new")}}));
    let batch = json!({"RequestItems": {"tab": puts}, "ReturnItemCollectionMetrics": "SIZE"});
    for (limit, operation, body, count) in [
        (20_000, "PutItem", &put, 1),
        // Few items make a difference, as each request adds little.
        (30_000_000, "PutItem", &put, 1),
        (20_000, "TransactWriteItems", &transaction, 2),
        (20_000, "BatchWriteItem", &batch, 2),
    ] {
        let twin = Twin::new(1);
        let mut conditions = Conditions::CALM;
        conditions.item_collection_size = limit;
        twin.engine.set_conditions(conditions).unwrap();
        create_expiring(&twin, &with_local_index());
        // The deletions of others are due before.
        for other in keys.by_ref().take(40) {
            twin.ok("PutItem", &expiring(&other, "x", 10, 0));
        }
        // Stored in the table and in its index, ten items are more than what counts as a gigabyte.
        for pk in [&first, &second] {
            for at in 0..10 {
                twin.ok("PutItem", &expiring(pk, &at.to_string(), 12, limit as usize / 160));
            }
        }
        let estimates = |operation: &str, body: &Value| {
            let metrics = twin.ok(operation, body)["ItemCollectionMetrics"].clone();
            let metrics = metrics.get("tab").cloned().unwrap_or_else(|| json!([metrics]));
            let metrics = metrics.as_array().unwrap().iter();
            metrics
                .map(|one| one["SizeEstimateRangeGB"].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(estimates("PutItem", &put), [json!([1.0, 2.0])], "{limit} {operation}");
        twin.engine.clock().advance(Duration::from_secs(20));
        let found = estimates(operation, body);
        assert_eq!(found, vec![json!([0.0, 1.0]); count], "{limit} {operation}");
    }
}

/// A write applies the due deletions of its item collection only if that can be too large without them.
#[test]
fn a_write_applies_the_deletions_of_a_collection_whose_size_matters() {
    for (limit, applied) in [(Conditions::CALM.item_collection_size, 1..=18), (1 << 20, 1500..=1518)] {
        let twin = Twin::new(1);
        let recorder = Recorder::of(&twin.engine);
        let mut conditions = Conditions::CALM;
        conditions.item_collection_size = limit;
        twin.engine.set_conditions(conditions).unwrap();
        create_expiring(&twin, &with_local_index());
        let ttl = (Moment::START.seconds() + 10).to_string();
        let item = |at: usize| json!({"pk": {"S": "p"}, "sk": {"S": format!("{at:04}")}, "g": {"S": "x"}});
        for at in 0..1500 {
            let mut item = item(at);
            item["ttl"] = json!({"N": ttl});
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        }
        twin.engine.clock().advance(Duration::from_secs(20));
        let before = recorder.commits().len();
        let put = json!({"TableName": "tab", "Item": item(7), "ReturnValues": "ALL_OLD",
            "ReturnItemCollectionMetrics": "SIZE"});
        let answer = twin.ok("PutItem", &put);
        assert!(answer.get("Attributes").is_none(), "{answer}");
        assert_eq!(
            answer["ItemCollectionMetrics"]["SizeEstimateRangeGB"],
            json!([0.0, 1.0])
        );
        let count = recorder.commits().len() - before;
        assert!(applied.contains(&count), "{limit}: {count}");
        assert_eq!(scan(&twin, None), [item(7)]);
    }
}

/// GetRecords applies the deletions that fill its page, not all that are due, and misses or repeats none.
#[test]
fn a_reader_of_a_stream_applies_few_of_many_due_deletions() {
    let twin = Twin::new(1);
    let recorder = Recorder::of(&twin.engine);
    create_expiring(&twin, &with_stream());
    put_expiring_items(&twin, 4000);
    let arn = twin.ok("DescribeTable", &json!({"TableName": "tab"}))["Table"]["LatestStreamArn"].clone();
    let latest = || {
        let shards = twin.ok("DescribeStream", &json!({"StreamArn": arn}))["StreamDescription"]["Shards"].clone();
        let iterator = |shard: &Value| {
            let body = json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "LATEST"});
            twin.ok("GetShardIterator", &body)["ShardIterator"].clone()
        };
        shards.as_array().unwrap().iter().map(iterator).collect::<Vec<_>>()
    };
    let mut iterators = latest();
    twin.engine.clock().advance(Duration::from_secs(20));
    let before = recorder.commits().len();
    let applied = || recorder.commits().len() - before;
    let mut records = Vec::new();
    let mut read = |iterator: &mut Value, limit: usize| {
        let page = twin.ok("GetRecords", &json!({"ShardIterator": iterator, "Limit": limit}));
        let page_records = page["Records"].as_array().unwrap().clone();
        *iterator = page["NextShardIterator"].clone();
        records.extend(page_records.iter().cloned());
        page_records.len()
    };
    for iterator in &mut iterators {
        assert_eq!(read(iterator, 100), 100);
    }
    assert!((100..1000).contains(&applied()), "{}", applied());
    let item = json!({"pk": {"S": "3999"}, "g": {"S": "new"}});
    twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    assert!((100..1000).contains(&applied()), "{}", applied());
    for iterator in &mut iterators {
        while read(iterator, 900) > 0 {}
    }
    assert_eq!(applied(), 4001);
    let of_key = |name: &str| -> Vec<Value> {
        let here = |record: &&Value| record["dynamodb"]["Keys"]["pk"]["S"] == name;
        records
            .iter()
            .filter(here)
            .map(|record| record["eventName"].clone())
            .collect()
    };
    assert_eq!(records.len(), 4001);
    for at in 0..3999 {
        assert_eq!(of_key(&at.to_string()), ["REMOVE"], "{at}");
    }
    assert_eq!(of_key("3999"), ["REMOVE", "INSERT"]);
    // A deletion has the time at which it was due, also if a write applies it.
    for record in records.iter().filter(|record| record["eventName"] == "REMOVE") {
        let created = record["dynamodb"]["ApproximateCreationDateTime"].as_f64();
        assert_eq!(created, Some((Moment::START.seconds() + 10) as f64), "{record}");
    }
    // GetShardIterator with LATEST applies all due deletions first.
    put_expiring_items(&twin, 1000);
    twin.engine.clock().advance(Duration::from_secs(20));
    for iterator in latest() {
        let page = twin.ok("GetRecords", &json!({"ShardIterator": iterator}));
        assert_eq!(page["Records"], json!([]));
    }
}

/// The deletions of an item collection precede its next write, however many they are.
#[test]
fn a_write_finds_its_item_collection_without_due_deletions() {
    for count in [100, 3000] {
        let twin = Twin::new(1);
        let mut conditions = Conditions::CALM;
        conditions.item_collection_size = count * 100;
        twin.engine.set_conditions(conditions).unwrap();
        create_expiring(&twin, &with_local_index());
        let item = |at: u64, more: Value| {
            let mut item = json!({"pk": {"S": "one"}, "sk": {"S": format!("{at:04}")}, "g": {"S": "x"}});
            item.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
            item
        };
        let ttl = json!({"ttl": {"N": (Moment::START.seconds() + 10).to_string()}});
        for at in 0..count {
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": item(at, ttl.clone())}));
        }
        let large = json!({"v": {"S": "v".repeat(count as usize * 40)}});
        let large = json!({"TableName": "tab", "Item": item(count, large)});
        let (refused, answer) = twin.send("PutItem", &large);
        assert_eq!(refused, 400, "{answer}");
        twin.engine.clock().advance(Duration::from_secs(20));
        let writes = json!({"TransactItems": [{"Put": large}]});
        assert_eq!(twin.send("TransactWriteItems", &writes).0, 200, "{count}");
        twin.ok("PutItem", &large);
    }
}

/// Sets the clock to this second after the start, and returns whether the table's index is active.
fn is_index_active(engine: &Engine, at: u64) -> bool {
    is_index_active_after(engine, Duration::from_secs(at))
}

/// Sets the clock to this time after the start, and returns whether the table's index is active.
fn is_index_active_after(engine: &Engine, time: Duration) -> bool {
    let caller = caller();
    engine.clock().set(Moment::START.plus(time));
    let answer = engine.dispatch(&caller, "DescribeTable", br#"{"TableName": "tab"}"#);
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    answer["Table"]["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"
}

/// Creates a table with this number of items, and begins to create an index with these write units; `seconds` is the lag
/// of table states.
fn begin_backfill(items: usize, units: u64, seconds: u64) -> (Twin, Arc<Recorder>) {
    let twin = Twin::new(1);
    let recorder = Recorder::of(&twin.engine);
    let given = json!({"ReadCapacityUnits": 1, "WriteCapacityUnits": units});
    create(
        &twin,
        json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": given}),
    );
    fill(&twin, items);
    twin.engine
        .set_conditions(Conditions {
            table_status: Lag::Fixed(Duration::from_secs(seconds)),
            ..Conditions::CALM
        })
        .unwrap();
    twin.ok("UpdateTable", &create_index(given));
    (twin, recorder)
}

#[test]
fn a_backfill_takes_a_unit_for_each_entry_and_a_least_time() {
    // Six times the lag of table states for the allocation, then the entries at half of the index's units, rounded up; at
    // least 85 times that lag.
    for (items, units, seconds, end) in [
        (0, 1, 1, 85),
        (79, 1, 1, 85),
        (80, 1, 1, 86),
        (3000, 1, 1, 3006),
        (3000, 2, 1, 3006),
        (3000, 9, 1, 606),
        (3000, 10, 1, 606),
        (3000, 1, 10, 3060),
        (3000, 1, 50, 4250),
    ] {
        let (twin, _) = begin_backfill(items, units, seconds);
        let active = [end - 1, end].map(|at| is_index_active(&twin.engine, at));
        assert_eq!(active, [false, true], "{items} items, {units} units, {seconds} s");
    }
}

/// The units of a backfill are those of the entries, not of the items.
#[test]
fn a_backfill_takes_the_units_of_its_entries() {
    for (projection, end) in [("KEYS_ONLY", 6 + 100), ("ALL", 6 + 300)] {
        let twin = Twin::new(1);
        let given = json!({"ReadCapacityUnits": 1, "WriteCapacityUnits": 1});
        create(
            &twin,
            json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": given}),
        );
        for at in 0..100 {
            let item = json!({"pk": {"S": at.to_string()}, "g": {"S": "x"}, "text": {"S": "t".repeat(2500)}});
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        }
        twin.engine
            .set_conditions(Conditions {
                table_status: Lag::Fixed(Duration::from_secs(1)),
                ..Conditions::CALM
            })
            .unwrap();
        let mut request = create_index(given);
        request["GlobalSecondaryIndexUpdates"][0]["Create"]["Projection"]["ProjectionType"] = projection.into();
        twin.ok("UpdateTable", &request);
        let active = [end - 1, end].map(|at| is_index_active(&twin.engine, at));
        assert_eq!(active, [false, true], "{projection}");
    }
}

/// On demand a backfill takes what its index serves: 4,000 write units a second, or the index's warm throughput.
#[test]
fn a_backfill_on_demand_takes_the_units_that_its_index_serves() {
    let warm = |units: u64| json!({"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": units});
    for (is_enforced, of_table, of_index, end) in [
        (false, 4000, 4000, 500_600),
        (true, 4000, 4000, 500_600),
        (true, 20_000, 4000, 500_600),
        (true, 4000, 20_000, 100_600),
        (true, 4000, 40_000, 50_600),
    ] {
        let twin = Twin::new(1);
        create(&twin, json!({"WarmThroughput": warm(of_table)}));
        // An entry takes ten units, and the allocation 600 microseconds.
        let text = "t".repeat(9728);
        for at in 0..200 {
            let item = json!({"pk": {"S": at.to_string()}, "g": {"S": "x"}, "text": {"S": text}});
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        }
        let capacity = if is_enforced {
            Conditions::AWS.capacity
        } else {
            Conditions::CALM.capacity
        };
        twin.engine
            .set_conditions(Conditions {
                table_status: Lag::Fixed(Duration::from_micros(100)),
                capacity,
                ..Conditions::CALM
            })
            .unwrap();
        let mut request = create_index(Value::Null);
        request["GlobalSecondaryIndexUpdates"][0]["Create"]["WarmThroughput"] = warm(of_index);
        twin.ok("UpdateTable", &request);
        let active = [end - 1, end].map(|at| is_index_active_after(&twin.engine, Duration::from_micros(at)));
        let what = format!("enforced {is_enforced}, table {of_table}, index {of_index}");
        assert_eq!(active, [false, true], "{what}");
    }
}

/// The last commit ends the backfill. Without it, a replay fills the index and keeps the time at which it becomes active.
#[test]
fn an_index_whose_backfill_was_interrupted_is_active_after_its_least_time() {
    let (twin, recorder) = begin_backfill(10, 1, 1);
    let all = recorder.commits();
    for end in [all.len() - 1, all.len()] {
        let engine = commits::replayed(settings(1), &all[..end], &twin.engine);
        assert_eq!(
            [84, 85].map(|at| is_index_active(&engine, at)),
            [false, true],
            "{end} commits"
        );
        let twin = Twin {
            engine,
            caller: caller(),
        };
        assert_eq!(scan(&twin, Some("by-g")).len(), 10, "{end} commits");
    }
}
