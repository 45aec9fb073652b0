//! Which table, index and capacity partition a request is charged to, and whose settings apply, where there are several
//! candidates.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::common::Twin;
use dynatwin_engine::monitoring::{Heat, PartitionHeat};
use dynatwin_engine::{Conditions, Lag, TimeToLive};
use serde_json::{Value, json};

/// Half units by resource (`table`, or an index), direction, and quarter of the ring of tokens.
type Charges = BTreeMap<(String, &'static str, u64), u64>;

fn create(twin: &Twin, name: &str) {
    let attributes = ["pk", "sk", "g", "h", "l"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let schema = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": name, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": attributes,
            "KeySchema": schema("pk", "sk"),
            "LocalSecondaryIndexes": [{"IndexName": "local", "KeySchema": schema("pk", "l"), "Projection": {"ProjectionType": "KEYS_ONLY"}}],
            "GlobalSecondaryIndexes": [
                {"IndexName": "by-g", "KeySchema": schema("g", "sk"), "Projection": {"ProjectionType": "ALL"}},
                {"IndexName": "by-h", "KeySchema": schema("h", "pk"), "Projection": {"ProjectionType": "KEYS_ONLY"}}]}),
    );
    twin.engine.account(&twin.caller).watch_heat(name, true).unwrap();
}

fn charges(heat: &Heat) -> Charges {
    let mut charges = Charges::new();
    for resource in &heat.resources {
        let name = resource.index.as_ref().map_or("table", |index| index.as_str());
        for partition in &resource.partitions {
            for (direction, counts) in [("read", partition.read), ("write", partition.write)] {
                if !counts.units.is_zero() {
                    charges.insert(
                        (name.to_owned(), direction, partition.first >> 62),
                        (counts.units.as_f64() * 2.0) as u64,
                    );
                }
            }
        }
    }
    charges
}

fn heat(twin: &Twin, table: &str) -> Heat {
    twin.engine.account(&twin.caller).heat(table).unwrap()
}

/// Returns what a request is charged, by table.
fn charged(twin: &Twin, operation: &str, body: &Value) -> (u16, [Charges; 2]) {
    let tables = ["one", "two"];
    let before = tables.map(|table| charges(&heat(twin, table)));
    let (status, _) = twin.send(operation, body);
    let mut after = tables.map(|table| charges(&heat(twin, table)));
    for (before, after) in before.iter().zip(&mut after) {
        after
            .iter_mut()
            .for_each(|(place, units)| *units -= before.get(place).copied().unwrap_or(0));
        after.retain(|_, units| *units > 0);
    }
    (status, after)
}

/// Returns a partition key in each quarter of the ring, found by the charges of a table.
fn one_of_each_quarter() -> [String; 4] {
    let probe = Twin::new(1);
    create(&probe, "one");
    let mut found: BTreeMap<u64, String> = BTreeMap::new();
    for at in 0.. {
        let name = format!("k{at}");
        let before = charges(&heat(&probe, "one"));
        probe.ok(
            "PutItem",
            &json!({"TableName": "one", "Item": {"pk": {"S": name}, "sk": {"S": "s"}}}),
        );
        let after = charges(&heat(&probe, "one"));
        let ((_, _, quarter), _) = after
            .iter()
            .find(|(place, units)| before.get(place) != Some(units))
            .unwrap();
        found.entry(*quarter).or_insert(name);
        if found.len() == 4 {
            break;
        }
    }
    let mut texts = found.into_values();
    std::array::from_fn(|_| texts.next().unwrap())
}

fn expected(of: &[(&str, &'static str, u64, u64)]) -> Charges {
    of.iter()
        .map(|(name, direction, quarter, halves)| (((*name).to_owned(), *direction, *quarter), *halves))
        .collect()
}

#[test]
fn the_quarters_of_the_ring_are_those_of_partitions() {
    let twin = Twin::new(1);
    create(&twin, "one");
    for resource in heat(&twin, "one").resources {
        let quarter = |partition: &PartitionHeat| (partition.first >> 62, partition.last >> 62);
        let quarters: Vec<_> = resource.partitions.iter().map(quarter).collect();
        assert_eq!(quarters, [(0, 0), (1, 1), (2, 2), (3, 3)], "{:?}", resource.index);
    }
}

/// The item has its table key in quarter 0, `g` in quarter 1 and `h` in quarter 2.
#[test]
fn every_request_is_charged_where_its_keys_are() {
    let [zero, one, two, three] = one_of_each_quarter();
    let text = |text: &str| json!({"S": text});
    let key = json!({"pk": text(&zero), "sk": text("s")});
    let item =
        json!({"pk": text(&zero), "sk": text("s"), "g": text(&one), "h": text(&two), "l": text("l"), "v": text("v")});
    let twin = || {
        let twin = Twin::new(1);
        create(&twin, "one");
        create(&twin, "two");
        twin.ok("PutItem", &json!({"TableName": "one", "Item": item}));
        twin
    };
    let with = |more: Value| {
        let mut body = json!({"TableName": "one"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let query = |index: &str, name: &str, value: &str, more: Value| {
        let mut body = with(
            json!({"KeyConditionExpression": format!("{name} = :v"), "ExpressionAttributeValues": {":v": text(value)}}),
        );
        if !index.is_empty() {
            body["IndexName"] = index.into();
        }
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let mut moved = item.clone();
    moved["g"] = text(&three);
    let update = |expression: &str, values: Value| {
        with(json!({"Key": key, "UpdateExpression": expression, "ExpressionAttributeValues": values}))
    };
    let actions = |of: Value| json!({"TransactItems": [of]});
    let statement = |text: &str, parameters: Value| json!({"Statement": text, "Parameters": parameters});
    let whole = 2;
    let cases: Vec<(&str, Value, Charges)> = vec![
        (
            "GetItem",
            with(json!({"Key": key})),
            expected(&[("table", "read", 0, 1)]),
        ),
        (
            "GetItem",
            with(json!({"Key": key, "ConsistentRead": true})),
            expected(&[("table", "read", 0, whole)]),
        ),
        (
            "BatchGetItem",
            json!({"RequestItems": {"one": {"Keys": [key]}}}),
            expected(&[("table", "read", 0, 1)]),
        ),
        (
            "TransactGetItems",
            actions(json!({"Get": with(json!({"Key": key}))})),
            expected(&[("table", "read", 0, 2 * whole)]),
        ),
        (
            "Query",
            query("", "pk", &zero, json!({})),
            expected(&[("table", "read", 0, 1)]),
        ),
        (
            "Query",
            query("", "pk", &three, json!({})),
            expected(&[("table", "read", 3, 1)]),
        ),
        (
            "Query",
            query("local", "pk", &zero, json!({})),
            expected(&[("table", "read", 0, 1)]),
        ),
        // The page of the index, and the item that is fetched.
        (
            "Query",
            query("local", "pk", &zero, json!({"Select": "ALL_ATTRIBUTES"})),
            expected(&[("table", "read", 0, 2)]),
        ),
        (
            "Query",
            query("by-g", "g", &one, json!({})),
            expected(&[("by-g", "read", 1, 1)]),
        ),
        (
            "Query",
            query("by-g", "g", &zero, json!({})),
            expected(&[("by-g", "read", 0, 1)]),
        ),
        (
            "Query",
            query("by-h", "h", &two, json!({})),
            expected(&[("by-h", "read", 2, 1)]),
        ),
        (
            "Query",
            query("by-g", "g", &one, json!({"Limit": 1})),
            expected(&[("by-g", "read", 1, 1)]),
        ),
        (
            "Query",
            query("by-g", "g", &one, json!({"Limit": 1, "ScanIndexForward": false})),
            expected(&[("by-g", "read", 1, 1)]),
        ),
        (
            "Scan",
            with(json!({"Segment": 0, "TotalSegments": 4})),
            expected(&[("table", "read", 0, 1)]),
        ),
        (
            "Scan",
            with(json!({"Segment": 2, "TotalSegments": 4})),
            expected(&[("table", "read", 2, 1)]),
        ),
        (
            "Scan",
            with(json!({"IndexName": "by-g", "Segment": 1, "TotalSegments": 4})),
            expected(&[("by-g", "read", 1, 1)]),
        ),
        (
            "ExecuteStatement",
            statement(
                "SELECT * FROM one WHERE pk = ? AND sk = ?",
                json!([text(&zero), text("s")]),
            ),
            expected(&[("table", "read", 0, 1)]),
        ),
        (
            "ExecuteStatement",
            statement("SELECT * FROM \"one\".\"by-g\" WHERE g = ?", json!([text(&one)])),
            expected(&[("by-g", "read", 1, 1)]),
        ),
        // Writes: a local index shares its table's partition; an entry that moves costs both at its old and its new
        // key.
        (
            "PutItem",
            with(json!({"Item": item})),
            expected(&[("table", "write", 0, whole)]),
        ),
        (
            "PutItem",
            with(json!({"Item": moved})),
            expected(&[
                ("table", "write", 0, whole),
                ("by-g", "write", 1, whole),
                ("by-g", "write", 3, whole),
            ]),
        ),
        (
            "UpdateItem",
            update("SET v = :v", json!({":v": text("w")})),
            expected(&[("table", "write", 0, whole), ("by-g", "write", 1, whole)]),
        ),
        (
            "UpdateItem",
            update("SET l = :v", json!({":v": text("m")})),
            expected(&[("table", "write", 0, 3 * whole), ("by-g", "write", 1, whole)]),
        ),
        (
            "UpdateItem",
            update("SET h = :v", json!({":v": text(&three)})),
            expected(&[
                ("table", "write", 0, whole),
                ("by-g", "write", 1, whole),
                ("by-h", "write", 2, whole),
                ("by-h", "write", 3, whole),
            ]),
        ),
        (
            "DeleteItem",
            with(json!({"Key": key})),
            expected(&[
                ("table", "write", 0, 2 * whole),
                ("by-g", "write", 1, whole),
                ("by-h", "write", 2, whole),
            ]),
        ),
        (
            "DeleteItem",
            with(json!({"Key": key, "ConditionExpression": "attribute_not_exists(pk)"})),
            expected(&[("table", "write", 0, whole)]),
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"one": [{"PutRequest": {"Item": moved}}]}}),
            expected(&[
                ("table", "write", 0, whole),
                ("by-g", "write", 1, whole),
                ("by-g", "write", 3, whole),
            ]),
        ),
        (
            "TransactWriteItems",
            actions(json!({"Put": with(json!({"Item": moved}))})),
            expected(&[
                ("table", "write", 0, 2 * whole),
                ("by-g", "write", 1, whole),
                ("by-g", "write", 3, whole),
            ]),
        ),
        (
            "ExecuteStatement",
            statement(
                "UPDATE one SET g = ? WHERE pk = ? AND sk = ?",
                json!([text(&three), text(&zero), text("s")]),
            ),
            expected(&[
                ("table", "write", 0, whole),
                ("by-g", "write", 1, whole),
                ("by-g", "write", 3, whole),
            ]),
        ),
    ];
    for (operation, body, expect) in cases {
        let (_, charges) = charged(&twin(), operation, &body);
        assert_eq!(charges, [expect, Charges::new()], "{operation} {body}");
    }
}

/// A page that ends early is charged to the partitions up to its last item, of the table and of an index.
#[test]
fn a_page_that_ends_early_is_charged_up_to_its_last_item() {
    let quarters = one_of_each_quarter();
    let twin = Twin::new(1);
    create(&twin, "one");
    create(&twin, "two");
    for (at, name) in quarters.iter().enumerate() {
        // The table's key is in another quarter than the index's.
        let item = json!({"pk": {"S": quarters[3 - at]}, "sk": {"S": "s"}, "g": {"S": name}});
        twin.ok("PutItem", &json!({"TableName": "one", "Item": item}));
    }
    for (index, resource) in [(None, "table"), (Some("by-g"), "by-g")] {
        let mut start = Value::Null;
        for limit in 1..=3_u64 {
            let mut body = json!({"TableName": "one", "Limit": limit, "ConsistentRead": false});
            if let Some(index) = index {
                body["IndexName"] = index.into();
            }
            let (_, [charges, _]) = charged(&twin, "Scan", &body);
            let touched: BTreeSet<u64> = charges.keys().map(|(_, _, quarter)| *quarter).collect();
            assert!(
                charges
                    .keys()
                    .all(|(name, direction, _)| name == resource && *direction == "read"),
                "{charges:?}"
            );
            assert_eq!(
                touched.iter().max(),
                Some(&(limit - 1)),
                "{resource}, {limit}: {charges:?}"
            );
            start = twin.ok("Scan", &body)["LastEvaluatedKey"].clone();
        }
        let mut rest = json!({"TableName": "one", "ExclusiveStartKey": start});
        if let Some(index) = index {
            rest["IndexName"] = index.into();
        }
        let (_, [charges, _]) = charged(&twin, "Scan", &rest);
        let last: u64 = charges
            .iter()
            .filter(|((_, _, quarter), _)| *quarter == 3)
            .map(|(_, halves)| halves)
            .sum();
        assert!(last > 0, "{resource}: {charges:?}");
        assert!(
            charges.keys().all(|(_, _, quarter)| *quarter >= 2),
            "{resource}: {charges:?}"
        );
    }
}

/// Requests over two tables: each table is charged its own part, in any order of the tables.
#[test]
fn each_table_of_a_request_is_charged_its_own_part() {
    let [zero, .., three] = one_of_each_quarter();
    let item = |pk: &str, bytes: usize| json!({"pk": {"S": pk}, "sk": {"S": "s"}, "v": {"S": "v".repeat(bytes)}});
    let key = |pk: &str| json!({"pk": {"S": pk}, "sk": {"S": "s"}});
    let put = |table: &str, pk: &str, bytes: usize| json!({"Put": {"TableName": table, "Item": item(pk, bytes)}});
    let get = |table: &str, pk: &str| json!({"Get": {"TableName": table, "Key": key(pk)}});
    let insert = |table: &str, pk: &str, bytes: usize| {
        json!({"Statement": format!("INSERT INTO {table} VALUE {{'pk': ?, 'sk': 's', 'v': ?}}"),
            "Parameters": [{"S": pk}, {"S": "v".repeat(bytes)}]})
    };
    for swapped in [false, true] {
        let twin = Twin::new(1);
        create(&twin, "one");
        create(&twin, "two");
        let both = |first: Value, second: Value| {
            if swapped {
                json!([second, first])
            } else {
                json!([first, second])
            }
        };
        // One and three units in transactions cost twice as much; reads of them, one unit each and twice.
        for (operation, body, expect) in [
            (
                "TransactWriteItems",
                json!({"TransactItems": both(put("one", &zero, 100), put("two", &three, 2500))}),
                [("write", 0, 4), ("write", 3, 12)],
            ),
            (
                "TransactGetItems",
                json!({"TransactItems": both(get("one", &zero), get("two", &three))}),
                [("read", 0, 4), ("read", 3, 4)],
            ),
            (
                "BatchGetItem",
                json!({"RequestItems": {"one": {"Keys": [key(&zero)]}, "two": {"Keys": [key(&three)], "ConsistentRead": true}}}),
                [("read", 0, 1), ("read", 3, 2)],
            ),
            (
                "BatchWriteItem",
                json!({"RequestItems": {"one": [{"PutRequest": {"Item": item(&zero, 1500)}}], "two": [{"PutRequest": {"Item": item(&three, 100)}}]}}),
                [("write", 0, 4), ("write", 3, 6)],
            ),
            (
                "ExecuteTransaction",
                json!({"TransactStatements": both(insert("one", "zero, once more", 100), insert("two", "another", 2500))}),
                [("write", 9, 4), ("write", 9, 12)],
            ),
        ] {
            let (status, charges) = charged(&twin, operation, &body);
            assert_eq!(status, 200, "{operation}");
            for (charges, (direction, quarter, halves)) in charges.iter().zip(expect) {
                let of: Vec<_> = charges
                    .iter()
                    .map(|((name, way, at), units)| (name.as_str(), *way, *at, *units))
                    .collect();
                // 9 means any quarter.
                let at = if quarter == 9 { of[0].2 } else { quarter };
                assert_eq!(
                    of,
                    [("table", direction, at, halves)],
                    "{operation}, swapped: {swapped}"
                );
            }
        }
    }
}

/// A transaction over two tables locks its items for the longer of the tables' times.
#[test]
fn a_transaction_over_tables_takes_the_longest_of_their_times() {
    let times = [Duration::ZERO, Duration::from_millis(20), Duration::from_millis(50)];
    for first in times {
        for second in times {
            let twin = Twin::new(1);
            for (table, time) in [("one", first), ("two", second)] {
                create(&twin, table);
                let transaction_time = if time.is_zero() { Lag::None } else { Lag::Fixed(time) };
                let conditions = Conditions {
                    transaction_time,
                    ..Conditions::CALM
                };
                twin.engine
                    .account(&twin.caller)
                    .set_table_conditions(table, conditions)
                    .unwrap();
            }
            let put = |table: &str| json!({"Put": {"TableName": table, "Item": {"pk": {"S": "a"}, "sk": {"S": "s"}}}});
            let body = json!({"TransactItems": [put("one"), put("two")]});
            let answer = twin
                .engine
                .dispatch(&twin.caller, "TransactWriteItems", body.to_string().as_bytes());
            assert_eq!(answer.status, 200);
            let begun = twin.engine.clock().now();
            let ends = begun.plus(first.max(second));
            assert_eq!(answer.at, ends, "{first:?}, {second:?}");
            let is_there = |table: &str| {
                let key =
                    json!({"TableName": table, "Key": {"pk": {"S": "a"}, "sk": {"S": "s"}}, "ConsistentRead": true});
                twin.ok("GetItem", &key)["Item"].is_object()
            };
            if ends > begun {
                twin.engine.clock().set(ends.minus(Duration::from_micros(1)));
                assert_eq!(["one", "two"].map(is_there), [false, false], "{first:?}, {second:?}");
            }
            twin.engine.clock().set(ends);
            assert_eq!(["one", "two"].map(is_there), [true, true], "{first:?}, {second:?}");
        }
    }
}

/// The conditions of each table apply to its part of a request that changes both.
#[test]
fn each_table_of_a_request_has_its_own_conditions() {
    let twin = Twin::new(1);
    let minute = Duration::from_mins(1);
    for table in ["one", "two"] {
        create(&twin, table);
        let specification = json!({"Enabled": true, "AttributeName": "ttl"});
        twin.ok(
            "UpdateTimeToLive",
            &json!({"TableName": table, "TimeToLiveSpecification": specification}),
        );
    }
    let slow = Conditions {
        time_to_live: TimeToLive::Deletes(Lag::Fixed(minute)),
        index_propagation: Lag::Fixed(minute),
        ..Conditions::CALM
    };
    twin.engine
        .account(&twin.caller)
        .set_table_conditions("two", slow)
        .unwrap();
    let expires = (twin.seconds() + 30).to_string();
    let put = |table: &str| {
        let item = json!({"pk": {"S": "a"}, "sk": {"S": "s"}, "g": {"S": "g"}, "ttl": {"N": expires}});
        json!({"Put": {"TableName": table, "Item": item}})
    };
    twin.ok(
        "TransactWriteItems",
        &json!({"TransactItems": [put("two"), put("one")]}),
    );
    let count = |table: &str, index: Option<&str>| {
        let mut body = json!({"TableName": table});
        if let Some(index) = index {
            body["IndexName"] = index.into();
        }
        twin.ok("Scan", &body)["Count"].as_u64().unwrap()
    };
    let seen = || ["one", "two"].map(|table| (count(table, None), count(table, Some("by-g"))));
    assert_eq!(seen(), [(1, 1), (1, 0)]);
    twin.engine.advance(Duration::from_secs(30));
    assert_eq!(seen(), [(0, 0), (1, 0)]);
    twin.engine.advance(Duration::from_secs(30));
    assert_eq!(seen(), [(0, 0), (1, 1)]);
    twin.engine.advance(Duration::from_secs(30));
    assert_eq!(seen()[1].0, 0);
}
