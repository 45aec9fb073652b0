//! Vector indexes over time: their states, their lag, and that they converge to the projection of their table.

mod searches;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::common::commits::{self, Recorder};
use crate::common::{Choice, Twin, setting, settings};
use dynatwin_engine::{Conditions, Lag, StateSnapshot};
use serde_json::{Value, json};

fn create(twin: &Twin) {
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "h", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "VectorIndexes": [index("all", "ALL", false), index("keys", "KEYS_ONLY", false), index("divided", "ALL", true)]}),
    );
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "dies"}}),
    );
}

fn index(name: &str, projection: &str, divided: bool) -> Value {
    let mut index = json!({"IndexName": name, "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2,
        "DistanceFunction": "EUCLIDEAN", "Projection": {"ProjectionType": projection}});
    if divided {
        index["SearchSchema"] = json!([{"AttributeName": "h", "SearchSchemaElementType": "HASH"}]);
    }
    index
}

fn vector(x: u64, y: u64) -> Value {
    json!({"L": [{"N": x.to_string()}, {"N": y.to_string()}]})
}

/// Returns all entries of an index, by key.
fn search(twin: &Twin, index: &str, hash: Option<&str>) -> BTreeMap<String, Value> {
    let mut request = json!({"TableName": "tab", "IndexName": index, "TopK": 100, "SearchVector": vector(0, 0)["L"]});
    if let Some(hash) = hash {
        request["SearchConditionExpression"] = json!("h = :h");
        request["ExpressionAttributeValues"] = json!({":h": {"S": hash}});
    }
    let answer = twin.ok("SearchVectors", &request);
    let results = answer["SearchResults"].as_array().unwrap().clone();
    let scores: Vec<f64> = results.iter().map(|each| each["Score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted(), "{scores:?}");
    let keyed = results.into_iter().map(|each| (key_of(&each["Item"]), each));
    keyed.collect()
}

fn key_of(item: &Value) -> String {
    item["pk"]["S"].as_str().unwrap().to_owned()
}

/// Returns the expected entries of an index, from the table's items.
fn projected(twin: &Twin, hash: Option<&str>, keep: fn(&str) -> bool) -> BTreeMap<String, Value> {
    let items = twin.ok("Scan", &json!({"TableName": "tab", "ConsistentRead": true}))["Items"].clone();
    let mut expected = BTreeMap::new();
    for item in items.as_array().unwrap() {
        if item.get("v").is_none() || hash.is_some_and(|hash| item["h"]["S"] != hash) {
            continue;
        }
        let element = |at: usize| -> f64 { item["v"]["L"][at]["N"].as_str().unwrap().parse().unwrap() };
        let mut kept = item.as_object().unwrap().clone();
        kept.retain(|name, _| name != "v" && keep(name));
        let score = element(0).hypot(element(1)) as f32;
        expected.insert(
            key_of(item),
            json!({"Item": kept, "Score": score.to_string().parse::<f64>().unwrap()}),
        );
    }
    expected
}

fn check(twin: &Twin, seed: u64) {
    assert_eq!(
        search(twin, "all", None),
        projected(twin, None, |_| true),
        "all, seed {seed}"
    );
    assert_eq!(
        search(twin, "keys", None),
        projected(twin, None, |name| name == "pk"),
        "keys, seed {seed}"
    );
    for hash in ["a", "b"] {
        let expected = projected(twin, Some(hash), |_| true);
        assert_eq!(
            search(twin, "divided", Some(hash)),
            expected,
            "divided by {hash}, seed {seed}"
        );
    }
    let description = twin.ok("DescribeTable", &json!({"TableName": "tab"}));
    let count = &description["Table"]["VectorIndexes"][0]["ItemCount"];
    assert_eq!(*count, json!(projected(twin, None, |_| true).len()), "seed {seed}");
}

fn write(twin: &Twin, choice: &mut Choice) {
    let pk = json!({"S": choice.below(12).to_string()});
    let (x, y) = (choice.below(9), choice.below(9));
    let hash = ["a", "b"][choice.below(2) as usize];
    match choice.below(6) {
        0 | 1 => {
            let mut item = json!({"pk": pk, "x": {"N": x.to_string()}});
            if !choice.one_in(4) {
                item["v"] = vector(x, y);
            }
            if !choice.one_in(4) {
                item["h"] = json!({"S": hash});
            }
            if choice.one_in(4) {
                item["dies"] = json!({"N": (twin.seconds() + choice.below(20) as i64).to_string()});
            }
            let put = json!({"TableName": "tab", "Item": item});
            if choice.one_in(2) {
                twin.ok("TransactWriteItems", &json!({"TransactItems": [{"Put": put}]}));
            } else {
                twin.ok("PutItem", &put);
            }
        }
        2 => drop(twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": pk}}))),
        3 => {
            let update = ["REMOVE v", "REMOVE h", "REMOVE x"][choice.below(3) as usize];
            twin.ok(
                "UpdateItem",
                &json!({"TableName": "tab", "Key": {"pk": pk}, "UpdateExpression": update}),
            );
        }
        4 => {
            let values = json!({":v": vector(x, y), ":h": {"S": hash}});
            twin.ok(
                "UpdateItem",
                &json!({"TableName": "tab", "Key": {"pk": pk}, "UpdateExpression": "SET v = :v, h = :h",
                "ExpressionAttributeValues": values}),
            );
        }
        _ => twin.engine.clock().advance(Duration::from_millis(choice.below(3000))),
    }
}

#[test]
fn an_index_converges_to_the_projection_of_its_table() {
    let seeds = match setting("DYNATWIN_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..60,
    };
    for seed in seeds {
        let mut choice = Choice(seed);
        let twin = Twin::new(seed);
        let lags = choice.one_in(2);
        if lags {
            let lag = Lag::Seeded {
                typical: Duration::from_secs(2),
                longest: Duration::from_secs(10),
            };
            twin.engine
                .set_conditions(Conditions {
                    index_propagation: lag,
                    ..Conditions::CALM
                })
                .unwrap();
        }
        create(&twin);
        for _ in 0..60 {
            write(&twin, &mut choice);
            if !lags && choice.one_in(8) {
                check(&twin, seed);
            }
        }
        // All items that can expire have, and all index changes have arrived.
        twin.engine.clock().advance(Duration::from_secs(20 + 10));
        check(&twin, seed);
    }
}

#[test]
fn a_write_arrives_when_its_lag_is_over() {
    let twin = Twin::new(1);
    twin.engine
        .set_conditions(Conditions {
            index_propagation: Lag::Fixed(Duration::from_secs(5)),
            ..Conditions::CALM
        })
        .unwrap();
    create(&twin);
    twin.ok(
        "PutItem",
        &json!({"TableName": "tab", "Item": {"pk": {"S": "1"}, "v": vector(1, 1)}}),
    );
    twin.engine.clock().advance(Duration::from_secs(4));
    assert!(search(&twin, "all", None).is_empty());
    twin.engine.clock().advance(Duration::from_secs(1));
    assert_eq!(search(&twin, "all", None).len(), 1);
    twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "1"}}}));
    assert_eq!(
        search(&twin, "all", None).len(),
        1,
        "the change has not arrived at the index"
    );
    twin.engine.clock().advance(Duration::from_secs(5));
    assert!(search(&twin, "all", None).is_empty());
}

/// A restored state has the entries of each index, and the changes on their way to it.
#[test]
fn a_snapshot_has_the_entries_of_each_index() {
    let twin = Twin::new(1);
    create(&twin);
    let put = |number: u64| {
        let item = json!({"pk": {"S": number.to_string()}, "v": vector(number, number % 7), "more": {"S": "x"},
            "h": {"S": (number % 3).to_string()}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    };
    (0..300).for_each(put);
    twin.engine
        .set_conditions(Conditions {
            index_propagation: Lag::Fixed(Duration::from_secs(5)),
            ..Conditions::CALM
        })
        .unwrap();
    (300..900).for_each(put);
    for pk in ["0", "1", "800"] {
        twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": pk}}}));
    }
    let snapshot = StateSnapshot::from_bytes(&twin.engine.snapshot().to_bytes()).unwrap();
    let copy = Twin::new(1);
    copy.engine.restore(&snapshot).unwrap();
    for seconds in [0, 5] {
        copy.engine.advance(Duration::from_secs(seconds));
        twin.engine.advance(Duration::from_secs(seconds));
        assert!(copy.engine.snapshot() == twin.engine.snapshot(), "{seconds}");
        for (index, hash) in [("all", None), ("keys", None), ("divided", Some("2"))] {
            let found = search(&copy, index, hash);
            assert_eq!(found.len(), 100, "{index}");
            assert_eq!(found, search(&twin, index, hash), "{index} {seconds}");
        }
    }
}

/// Returns the table's status, and the last index's with its `Backfilling`.
fn statuses(twin: &Twin) -> (String, Value, Value) {
    let answer = twin.ok("DescribeTable", &json!({"TableName": "tab"}));
    let table = &answer["Table"];
    let index = table["VectorIndexes"]
        .as_array()
        .map_or(Value::Null, |all| all[all.len() - 1].clone());
    let status = table["TableStatus"].as_str().unwrap().to_owned();
    (status, index["IndexStatus"].clone(), index["Backfilling"].clone())
}

fn refusal(twin: &Twin, operation: &str, body: &Value) -> String {
    let (status, answer) = twin.send(operation, body);
    assert_eq!(status, 400, "{operation} {body}: {answer}");
    let text = answer["message"].as_str().or(answer["Message"].as_str());
    text.unwrap_or_default().to_owned()
}

/// A vector index that is added to a table with items has their entries after a replay of the commits too.
#[test]
fn a_replay_fills_an_index_that_was_added() {
    let twin = Twin::new(1);
    let recorder = Recorder::of(&twin.engine);
    create(&twin);
    for number in 1..=3 {
        let item = json!({"pk": {"S": number.to_string()}, "w": vector(number, 1)});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    let mut made = index("late", "ALL", false);
    made["VectorAttribute"] = json!({"AttributeName": "w"});
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "tab", "VectorIndexUpdates": [{"Create": made}]}),
    );
    let look = json!({"TableName": "tab", "IndexName": "late", "TopK": 9, "SearchVector": vector(0, 0)["L"]});
    let found = twin.ok("SearchVectors", &look);
    assert_eq!(found.to_string().matches("\"pk\"").count(), 3);
    let replay = Twin {
        engine: commits::replayed(settings(1), &recorder.commits(), &twin.engine),
        caller: twin.caller.clone(),
    };
    assert_eq!(replay.ok("SearchVectors", &look), found);
}

#[test]
fn an_index_is_created_and_deleted_over_time() {
    let twin = Twin::new(1);
    create(&twin);
    twin.engine.set_conditions(Conditions::AWS).unwrap();
    twin.ok(
        "PutItem",
        &json!({"TableName": "tab", "Item": {"pk": {"S": "1"}, "w": vector(1, 1)}}),
    );
    let mut made = index("late", "ALL", false);
    made["VectorAttribute"] = json!({"AttributeName": "w"});
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "tab", "VectorIndexUpdates": [{"Create": made}]}),
    );
    let look = json!({"TableName": "tab", "IndexName": "late", "TopK": 1, "SearchVector": vector(0, 0)["L"]});
    let delete = json!({"TableName": "tab", "VectorIndexUpdates": [{"Delete": {"IndexName": "late"}}]});
    let active = "ACTIVE".to_owned();

    assert_eq!(
        statuses(&twin),
        ("UPDATING".to_owned(), json!("CREATING"), json!(false))
    );
    assert_eq!(
        refusal(&twin, "SearchVectors", &look),
        "The table does not have the specified index: late"
    );
    let refused = refusal(&twin, "UpdateTable", &delete);
    assert!(
        refused.contains("Index creation is in resource allocation phase."),
        "{refused}"
    );
    let refused = refusal(&twin, "DeleteTable", &json!({"TableName": "tab"}));
    assert!(
        refused.contains("Cannot delete table while indexes are being created"),
        "{refused}"
    );

    twin.engine.clock().advance(Duration::from_mins(2));
    assert_eq!(statuses(&twin), (active.clone(), json!("CREATING"), json!(true)));
    assert_eq!(
        refusal(&twin, "SearchVectors", &look),
        "Cannot search backfilling vector index: late"
    );
    refusal(&twin, "DeleteTable", &json!({"TableName": "tab"}));
    let other = json!({"TableName": "tab", "VectorIndexUpdates": [{"Delete": {"IndexName": "keys"}}]});
    assert!(refusal(&twin, "UpdateTable", &other).contains("Only 1 online index"));

    twin.engine.clock().advance(Duration::from_mins(20));
    assert_eq!(statuses(&twin), (active.clone(), json!("ACTIVE"), Value::Null));
    assert_eq!(search(&twin, "late", None).len(), 1);

    twin.ok("UpdateTable", &delete);
    assert_eq!(statuses(&twin), ("UPDATING".to_owned(), json!("DELETING"), Value::Null));
    let refused = refusal(&twin, "DeleteTable", &json!({"TableName": "tab"}));
    assert!(
        refused.contains("Cannot delete table while indexes are being"),
        "{refused}"
    );
    twin.engine.clock().advance(Duration::from_secs(10));
    assert_eq!(
        statuses(&twin),
        (active, json!("ACTIVE"), Value::Null),
        "the last one is another"
    );
    twin.ok("DeleteTable", &json!({"TableName": "tab"}));
}

/// When the first index of a table is deleted, the others keep their entries and receive later changes.
#[test]
fn a_deleted_index_leaves_the_others_as_they_are() {
    let twin = Twin::new(1);
    let global = |name: &str, attribute: &str, projection: &str| {
        json!({"IndexName": name, "KeySchema": [{"AttributeName": attribute, "KeyType": "HASH"}],
            "Projection": {"ProjectionType": projection}})
    };
    let attributes = ["pk", "g", "h"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [global("by-g", "g", "ALL"), global("by-h", "h", "KEYS_ONLY")],
            "VectorIndexes": [index("all", "ALL", false), index("keys", "KEYS_ONLY", false)]}),
    );
    let put = |number: u64| {
        let text = |value: u64| json!({"S": value.to_string()});
        let item = json!({"pk": text(number), "v": vector(number, 1), "g": text(number % 2), "h": text(number % 3),
            "more": text(0)});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    };
    let entries = || {
        let scanned = twin.ok("Scan", &json!({"TableName": "tab", "IndexName": "by-h"}))["Items"].clone();
        (search(&twin, "keys", None), scanned)
    };
    (0..10).for_each(put);
    let before = entries();
    for update in ["VectorIndexUpdates", "GlobalSecondaryIndexUpdates"] {
        let name = if update == "VectorIndexUpdates" { "all" } else { "by-g" };
        let update = json!({"TableName": "tab", update: [{"Delete": {"IndexName": name}}]});
        twin.ok("UpdateTable", &update);
        assert_eq!(entries(), before, "{update}");
    }
    (8..12).for_each(put);
    twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "0"}}}));
    let (vectors, scanned) = entries();
    assert_eq!((vectors.len(), scanned.as_array().unwrap().len()), (11, 11));
    let keys: Vec<usize> = vectors
        .values()
        .map(|found| found["Item"].as_object().unwrap().len())
        .collect();
    assert_eq!(
        keys,
        before
            .0
            .values()
            .map(|found| found["Item"].as_object().unwrap().len())
            .collect::<Vec<_>>()[..1]
            .repeat(11)
    );
}

/// An index that is being deleted is described with its entries until it is gone.
#[test]
fn an_index_that_is_being_deleted_is_described_with_its_entries() {
    let twin = Twin::new(1);
    let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"}}],
            "VectorIndexes": [index("all", "ALL", false), index("keys", "KEYS_ONLY", false)]}),
    );
    for number in 0..3 {
        let item = json!({"pk": {"S": number.to_string()}, "v": vector(number, 1), "g": {"S": "g"}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    twin.engine
        .set_conditions(Conditions {
            table_status: Lag::Fixed(Duration::from_secs(10)),
            ..Conditions::CALM
        })
        .unwrap();
    for (update, member, name) in [
        ("VectorIndexUpdates", "VectorIndexes", "all"),
        ("GlobalSecondaryIndexUpdates", "GlobalSecondaryIndexes", "by-g"),
    ] {
        let found = || {
            let table = twin.ok("DescribeTable", &json!({"TableName": "tab"}))["Table"].clone();
            let indexes = table[member].as_array().cloned().unwrap_or_default();
            let index = indexes.into_iter().find(|index| index["IndexName"] == name)?;
            Some([
                index["IndexStatus"].clone(),
                index["ItemCount"].clone(),
                index["IndexSizeBytes"].clone(),
            ])
        };
        let before = found().unwrap();
        assert_eq!((&before[0], &before[1]), (&json!("ACTIVE"), &json!(3)), "{name}");
        let delete = json!({"TableName": "tab", update: [{"Delete": {"IndexName": name}}]});
        twin.ok("UpdateTable", &delete);
        let during = found().unwrap();
        assert_eq!(during[0], "DELETING", "{name}");
        assert_eq!(during[1..], before[1..], "{name}");
        // Other settings can be changed meanwhile.
        let time_to_live = json!({"Enabled": name == "all", "AttributeName": "dies"});
        let body = json!({"TableName": "tab", "TimeToLiveSpecification": time_to_live});
        twin.ok("UpdateTimeToLive", &body);
        assert_eq!(found().as_ref(), Some(&during), "{name}");
        twin.engine.set_conditions(twin.engine.conditions()).unwrap();
        assert_eq!(found().as_ref(), Some(&during), "{name}");
        twin.engine.advance(Duration::from_hours(1));
        assert_eq!(found(), None, "{name}");
    }
}

#[test]
fn an_index_is_divided_by_values_of_2048_bytes_at_most() {
    let twin = Twin::new(1);
    let (fits, too_long) = ("h".repeat(2048), "h".repeat(2049));
    let item =
        |pk: &str, h: &str| json!({"TableName": "tab", "Item": {"pk": {"S": pk}, "h": {"S": h}, "v": vector(1, 1)}});
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}),
    );
    for (pk, h) in [("1", &fits), ("2", &too_long)] {
        twin.ok("PutItem", &item(pk, h));
    }
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "tab",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "h", "AttributeType": "S"}],
            "VectorIndexUpdates": [{"Create": index("divided", "ALL", true)}]}),
    );
    let description = twin.ok("DescribeTable", &json!({"TableName": "tab"}));
    assert_eq!(description["Table"]["VectorIndexes"][0]["ItemCount"], 1);
    twin.ok("PutItem", &item("3", &fits));
    let refused = refusal(&twin, "PutItem", &item("4", &too_long));
    assert_eq!(
        refused,
        "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes"
    );
    assert_eq!(
        search(&twin, "divided", Some(&fits)).into_keys().collect::<Vec<_>>(),
        ["1", "3"]
    );
}

#[test]
fn a_table_is_created_with_its_indexes() {
    let twin = Twin::new(1);
    twin.engine.set_conditions(Conditions::AWS).unwrap();
    twin.ok(
        "CreateTable",
        &json!({
        "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "VectorIndexes": [index("all", "ALL", false)]}),
    );
    assert_eq!(statuses(&twin), ("CREATING".to_owned(), json!("CREATING"), Value::Null));
    twin.engine.clock().advance(Duration::from_secs(10));
    assert_eq!(statuses(&twin), ("ACTIVE".to_owned(), json!("ACTIVE"), Value::Null));
}

/// A description counts the entries of each vector index by themselves.
#[test]
fn each_vector_index_has_its_own_counts() {
    let twin = Twin::new(1);
    let over = |name: &str, attribute: &str| {
        json!({"IndexName": name, "VectorAttribute": {"AttributeName": attribute}, "Dimensions": 2,
            "DistanceFunction": "EUCLIDEAN", "Projection": {"ProjectionType": "KEYS_ONLY"}})
    };
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "VectorIndexes": [over("near-u", "u"), over("near-v", "v"), over("near-w", "w"), over("also-v", "v")]}),
    );
    let counts = [("u", 3), ("v", 1), ("w", 4)];
    for number in 0..5 {
        let mut item = json!({"pk": {"S": number.to_string()}});
        for (name, count) in counts {
            if number < count {
                item[name] = vector(number, 1);
            }
        }
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    let table = twin.ok("DescribeTable", &json!({"TableName": "tab"}))["Table"].take();
    let indexes = table["VectorIndexes"].as_array().unwrap();
    let found = indexes.iter().map(|index| {
        (
            index["IndexName"].as_str().unwrap(),
            index["ItemCount"].as_u64().unwrap(),
        )
    });
    let mut found: Vec<(&str, u64)> = found.collect();
    found.sort_unstable();
    assert_eq!(found, [("also-v", 1), ("near-u", 3), ("near-v", 1), ("near-w", 4)]);
}
