//! Explanations in the log of the cost and the failure of requests.

use std::time::Duration;

use crate::common::Twin;
use dynatwin_engine::faults::{Rule, Verdict};
use dynatwin_engine::http::HttpRequest;
use dynatwin_engine::{Capacity, Conditions, Enforcement, ErrorKind, Lag};
use serde_json::{Value, json};

fn watched() -> Twin {
    let twin = Twin::new(7);
    let key = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let names = ["customer", "order", "status", "date", "amount"];
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": names.map(|name| json!({"AttributeName": name, "AttributeType": "S"})),
            "KeySchema": key("customer", "order"),
            "GlobalSecondaryIndexes": [
                {"IndexName": "by-status", "KeySchema": key("status", "date"), "Projection": {"ProjectionType": "KEYS_ONLY"}},
            ],
            "LocalSecondaryIndexes": [
                {"IndexName": "by-total", "KeySchema": key("customer", "amount"), "Projection": {"ProjectionType": "ALL"}},
            ],
        }),
    );
    for number in 0..20 {
        let customer = if number < 10 { "c1" } else { "c2" };
        let status = if number % 5 == 0 { "open" } else { "paid" };
        let item = json!({"customer": {"S": customer}, "order": {"S": number.to_string()}, "status": {"S": status},
            "date": {"S": "2026-01-01"}, "amount": {"S": number.to_string()}, "note": {"S": "x"}});
        twin.ok("PutItem", &json!({"TableName": "Orders", "Item": item}));
    }
    twin.engine.watch(true);
    twin
}

/// Returns the explanation of the last request.
fn explained(twin: &Twin) -> Value {
    let number = twin.engine.requests_seen();
    let target = format!("/_dynatwin/requests/{number}/explain");
    let headers = [("host", "here")];
    let answer = twin.engine.handle(&HttpRequest {
        method: "GET",
        target: &target,
        headers: &headers,
        body: b"",
    });
    assert_eq!(answer.status, 200);
    serde_json::from_slice(&answer.body).unwrap()
}

/// Returns suggested reads in short: operation, index, key attributes.
fn better(explained: &Value) -> Vec<String> {
    let better = explained["entries"][0]["better"].as_array().unwrap();
    let short = |read: &Value| {
        let key: Vec<&str> = read["key"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap())
            .collect();
        let index = read.get("index").map_or("", |index| index.as_str().unwrap());
        format!("{} {index} {}", read["operation"].as_str().unwrap(), key.join("+"))
    };
    better.iter().map(short).collect()
}

/// The equalities of a Query of a key with several attributes also hold for the Query that could replace it.
#[test]
fn a_query_of_a_key_with_several_attributes_knows_each_of_them() {
    let twin = Twin::new(7);
    let key = |hash: &[&str], range: &[&str]| -> Value {
        let of = |kind: &'static str| move |name: &&str| json!({"AttributeName": name, "KeyType": kind});
        hash.iter()
            .map(of("HASH"))
            .chain(range.iter().map(of("RANGE")))
            .collect()
    };
    let index =
        |name: &str, key: Value| json!({"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": "ALL"}});
    let names = ["pk", "a", "b", "c"];
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": names.map(|name| json!({"AttributeName": name, "AttributeType": "S"})),
            "KeySchema": key(&["pk"], &[]),
            "GlobalSecondaryIndexes": [index("a-b", key(&["a", "b"], &[])), index("a-c", key(&["a"], &["c"])),
                index("b-c", key(&["b"], &["c"])), index("a-b-c", key(&["a", "b"], &["c"])),
                index("pk-c", key(&["pk"], &["c"]))],
        }),
    );
    twin.engine.watch(true);
    let query = json!({"TableName": "tab", "IndexName": "a-b", "KeyConditionExpression": "a = :a AND b = :b",
        "FilterExpression": "c = :c",
        "ExpressionAttributeValues": {":a": {"S": "a"}, ":b": {"S": "b"}, ":c": {"S": "c"}}});
    twin.ok("Query", &query);
    assert_eq!(
        better(&explained(&twin)),
        ["Query a-b-c a+b+c", "Query a-c a+c", "Query b-c b+c"]
    );
    // A Query needs all attributes of the partition key.
    for (filter, expect) in [
        ("a = :a", &["Query a-c a"][..]),
        ("b = :a AND c = :a", &["Query b-c b+c"]),
        (
            "a = :a AND b = :a",
            &["Query a-b a+b", "Query a-b-c a+b", "Query a-c a", "Query b-c b"],
        ),
    ] {
        let scan =
            json!({"TableName": "tab", "FilterExpression": filter, "ExpressionAttributeValues": {":a": {"S": "a"}}});
        twin.ok("Scan", &scan);
        let mut found = better(&explained(&twin));
        found.sort_by_key(|read| (std::cmp::Reverse(read.matches('+').count()), read.clone()));
        assert_eq!(found, expect, "{filter}");
    }
}

/// Of many indexes that a filter could use, eight are named.
#[test]
fn eight_better_reads_are_named() {
    let twin = Twin::new(7);
    let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let indexes: Vec<Value> = (0..10)
        .map(|number| {
            json!({"IndexName": format!("index-{number}"), "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"}})
        })
        .collect();
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "GlobalSecondaryIndexes": indexes}),
    );
    twin.engine.watch(true);
    for (filter, count) in [("g = :a", 8), ("g = :a AND pk = :a", 8), ("pk = :a", 1), ("v = :a", 0)] {
        let scan =
            json!({"TableName": "tab", "FilterExpression": filter, "ExpressionAttributeValues": {":a": {"S": "a"}}});
        twin.ok("Scan", &scan);
        assert_eq!(better(&explained(&twin)).len(), count, "{filter}");
    }
}

/// The reads that restrict more attributes are named first, wherever their index is in the table's definition.
#[test]
fn better_reads_that_restrict_more_attributes_are_named_first() {
    let twin = Twin::new(7);
    let attributes = ["pk", "sk", "g", "s"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let key = |hash: &str, range: Option<&str>| -> Value {
        let of = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
        std::iter::once(of(hash, "HASH"))
            .chain(range.map(|name| of(name, "RANGE")))
            .collect()
    };
    let index =
        |name: &str, key: Value| json!({"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": "ALL"}});
    let mut indexes: Vec<Value> = (0..9).map(|at| index(&format!("g-{at}"), key("g", None))).collect();
    indexes.push(index("g-s", key("g", Some("s"))));
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
            "KeySchema": key("pk", Some("sk")), "GlobalSecondaryIndexes": indexes,
            "LocalSecondaryIndexes": [index("pk-s", key("pk", Some("s")))]}),
    );
    twin.engine.watch(true);
    for (filter, first, rest) in [
        ("g = :a AND s = :a", &["Query g-s g+s"][..], Some("Query g-0 g")),
        ("g = :a AND s > :a", &["Query g-s g+s"], Some("Query g-0 g")),
        (
            "g = :a AND pk = :a AND s = :a",
            &["Query g-s g+s", "Query pk-s pk+s"],
            Some("Query  pk"),
        ),
        ("pk = :a AND s = :a", &["Query pk-s pk+s", "Query  pk"], None),
    ] {
        let scan =
            json!({"TableName": "tab", "FilterExpression": filter, "ExpressionAttributeValues": {":a": {"S": "a"}}});
        twin.ok("Scan", &scan);
        let found = better(&explained(&twin));
        let (of_more, of_fewer) = found.split_at(first.len());
        assert_eq!(of_more, first, "{filter}");
        assert_eq!(of_fewer.first().map(String::as_str), rest, "{filter}");
        assert!(rest.is_none() || found.len() == 8, "{filter}: {found:?}");
    }
}

#[test]
fn a_filter_on_a_key_could_be_a_query() {
    let twin = watched();
    let values =
        json!({":c": {"S": "c1"}, ":o": {"S": "3"}, ":s": {"S": "open"}, ":d": {"S": "2026"}, ":n": {"S": "x"}});
    for (filter, names, expect) in [
        ("customer = :c", &[":c"][..], &["Query  customer"][..]),
        (
            "customer = :c AND #o = :o",
            &[":c", ":o"],
            &["GetItem  customer+order", "Query by-total customer"],
        ),
        (
            "begins_with(#o, :o) AND :c = customer AND note = :n",
            &[":c", ":o", ":n"],
            &["Query  customer+order", "Query by-total customer"],
        ),
        ("#s = :s", &[":s"], &["Query by-status status"]),
        ("#s = :s AND #d > :d", &[":s", ":d"], &["Query by-status status+date"]),
        ("#d > :d", &[":d"], &[]),
        // The partition key of an index that the filter does not name is unknown to a Scan.
        ("amount = :n", &[":n"], &[]),
        ("#s = :s OR note = :n", &[":s", ":n"], &[]),
        ("NOT #s = :s", &[":s"], &[]),
        ("#s <> :s", &[":s"], &[]),
        ("note = :n", &[":n"], &[]),
    ] {
        let aliases: serde_json::Map<String, Value> = [("#o", "order"), ("#s", "status"), ("#d", "date")]
            .into_iter()
            .filter(|(alias, _)| filter.contains(alias))
            .map(|(alias, name)| (alias.to_owned(), json!(name)))
            .collect();
        let mut scan = json!({"TableName": "Orders", "FilterExpression": filter});
        if !aliases.is_empty() {
            scan["ExpressionAttributeNames"] = json!(aliases);
        }
        for name in names {
            scan["ExpressionAttributeValues"][*name] = values[*name].clone();
        }
        twin.ok("Scan", &scan);
        let explained = explained(&twin);
        let mut found = better(&explained);
        // A Query of the table is also suggested on its local index, by the partition key that both have.
        if expect.len() == 1 && expect[0] == "Query  customer" {
            assert_eq!(found.pop().unwrap(), "Query by-total customer");
        }
        assert_eq!(found, expect, "{filter}: {explained}");
    }
}

/// Of several local indexes, the one whose sort key a filter names is the better read.
#[test]
fn each_local_index_can_be_the_better_read() {
    let twin = Twin::new(7);
    let key = |range: &str| json!([{"AttributeName": "customer", "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let names = ["one", "two", "three"];
    let index = |name: &str| json!({"IndexName": format!("by-{name}"), "KeySchema": key(name), "Projection": {"ProjectionType": "ALL"}});
    let attributes = ["customer", "number"].iter().chain(&names);
    let attributes: Vec<Value> = attributes
        .map(|name| json!({"AttributeName": name, "AttributeType": "S"}))
        .collect();
    twin.ok(
        "CreateTable",
        &json!({"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
            "KeySchema": key("number"), "LocalSecondaryIndexes": names.map(index)}),
    );
    twin.engine.watch(true);
    let short = |index: &str| format!("Query {index} customer");
    for name in names {
        let values = json!({":c": {"S": "c1"}, ":v": {"S": "x"}});
        let others = names.iter().filter(|other| **other != name);
        let others: Vec<String> = others.map(|other| short(&format!("by-{other}"))).collect();
        let named = format!("Query by-{name} customer+{name}");
        twin.ok(
            "Scan",
            &json!({"TableName": "Orders", "FilterExpression": format!("customer = :c AND {name} = :v"),
                "ExpressionAttributeValues": values}),
        );
        let mut expect = vec![named.clone(), short("")];
        expect.extend(others);
        assert_eq!(better(&explained(&twin)), expect, "{name}");
        // A Query of the table knows the partition key already.
        twin.ok(
            "Query",
            &json!({"TableName": "Orders", "KeyConditionExpression": "customer = :c",
                "FilterExpression": format!("{name} = :v"), "ExpressionAttributeValues": values}),
        );
        assert_eq!(better(&explained(&twin)), [named], "{name}");
    }
}

/// The attributes of a sort key are used from the left, up to one that is not compared for equality.
#[test]
fn a_sort_key_of_several_attributes_is_used_from_the_left() {
    let twin = Twin::new(7);
    let names = ["id", "status", "date", "amount"];
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": names.map(|name| json!({"AttributeName": name, "AttributeType": "S"})),
            "KeySchema": [key("id", "HASH")],
            "GlobalSecondaryIndexes": [{"IndexName": "by-status", "Projection": {"ProjectionType": "ALL"},
                "KeySchema": [key("status", "HASH"), key("date", "RANGE"), key("amount", "RANGE")]}],
        }),
    );
    twin.engine.watch(true);
    for (filter, expect) in [
        ("#i = :a", "GetItem  id"),
        ("#s = :a", "Query by-status status"),
        ("#s = :a AND #d = :a", "Query by-status status+date"),
        ("#s = :a AND #d > :a", "Query by-status status+date"),
        ("#s = :a AND #d = :a AND #a > :a", "Query by-status status+date+amount"),
        ("#s = :a AND #d > :a AND #a = :a", "Query by-status status+date"),
        ("#s = :a AND #a = :a", "Query by-status status"),
    ] {
        let aliases: serde_json::Map<String, Value> =
            [("#i", "id"), ("#s", "status"), ("#d", "date"), ("#a", "amount")]
                .into_iter()
                .filter(|(alias, _)| filter.contains(alias))
                .map(|(alias, name)| (alias.to_owned(), json!(name)))
                .collect();
        twin.ok(
            "Scan",
            &json!({"TableName": "Orders", "FilterExpression": filter, "ExpressionAttributeNames": aliases,
                "ExpressionAttributeValues": {":a": {"S": "x"}}}),
        );
        assert_eq!(better(&explained(&twin)), [expect], "{filter}");
    }
}

#[test]
fn a_query_that_filters_could_use_more_of_a_key() {
    let twin = watched();
    let query = |index: Option<&str>, condition: &str, filter: &str| {
        let mut query = json!({"TableName": "Orders", "KeyConditionExpression": condition, "FilterExpression": filter,
            "ExpressionAttributeValues": {":c": {"S": "c1"}, ":t": {"S": "3"}}});
        if let Some(index) = index {
            query["IndexName"] = json!(index);
        }
        twin.ok("Query", &query);
        better(&explained(&twin))
    };
    assert_eq!(
        query(None, "customer = :c", "amount > :t"),
        ["Query by-total customer+amount"]
    );
    assert_eq!(query(Some("by-total"), "customer = :c", "note = :t"), [""; 0]);
}

/// An index is suggested once it can be read.
#[test]
fn an_index_is_no_better_read_while_it_is_created() {
    let twin = Twin::new(7);
    let conditions = Conditions {
        table_status: Lag::Fixed(Duration::from_secs(10)),
        ..Conditions::CALM
    };
    twin.engine.set_conditions(conditions).unwrap();
    let names = ["id", "status"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    twin.ok(
        "CreateTable",
        &json!({"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [names[0]],
            "KeySchema": key("id")}),
    );
    twin.engine.advance(Duration::from_mins(1));
    let index = json!({"IndexName": "by-status", "KeySchema": key("status"), "Projection": {"ProjectionType": "ALL"}});
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "Orders", "AttributeDefinitions": names, "GlobalSecondaryIndexUpdates": [{"Create": index}]}),
    );
    twin.engine.watch(true);
    let scan = json!({"TableName": "Orders", "FilterExpression": "#s = :s", "ExpressionAttributeNames": {"#s": "status"},
        "ExpressionAttributeValues": {":s": {"S": "open"}}});
    for (later, expect) in [(0, &[][..]), (3600, &["Query by-status status"])] {
        twin.engine.advance(Duration::from_secs(later));
        twin.ok("Scan", &scan);
        assert_eq!(better(&explained(&twin)), expect, "{later}");
    }
}

#[test]
fn explanations_count_read_and_discarded_items() {
    let twin = watched();
    let values = json!({":s": {"S": "open"}});
    twin.ok(
        "Scan",
        &json!({"TableName": "Orders", "FilterExpression": "#s = :s",
        "ExpressionAttributeNames": {"#s": "status"}, "ExpressionAttributeValues": values}),
    );
    let explained = explained(&twin);
    assert_eq!((&explained["scanned"], &explained["returned"]), (&json!(20), &json!(4)));
    assert_eq!(
        explained["sentences"],
        json!([
            "It read 20 items and returned 4.",
            "The filter discarded 16 items after they were read: a filter saves no read units, and these were paid for.",
            "It cost 0.5 read units.",
        ])
    );
    let better = &explained["entries"][0]["better"][0];
    assert_eq!(
        (&better["projectsAll"], &better["canBeConsistent"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(
        better["sentence"],
        "A Query of index by-status with status in its key condition reads only items with these key values. \
         The index does not project all attributes. It is eventually consistent."
    );
}

/// A global index is suggested for a filter that discards items and fits no key.
/// No index is suggested to one of several reads of a request: the answer does not show which of them found its items.
#[test]
fn no_index_is_suggested_for_a_filter_of_several_reads() {
    let twin = watched();
    for (customers, entries, suggested) in [("'c1'", 1, true), ("'c1', 'c2'", 2, false)] {
        let statement = format!("SELECT * FROM Orders WHERE customer IN [{customers}] AND note = 'y'");
        twin.ok("ExecuteStatement", &json!({"Statement": statement}));
        let explained = explained(&twin);
        let sentences: Vec<String> = explained["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["sentences"].to_string())
            .collect();
        assert_eq!(sentences.len(), entries, "{statement}");
        for sentences in sentences {
            assert!(
                sentences.contains("The filter tests customer, note after the items were read."),
                "{statement}: {sentences}"
            );
            let hint = "No key of the table or of an index begins with an attribute";
            assert_eq!(sentences.contains(hint), suggested, "{statement}: {sentences}");
        }
    }
}

#[test]
fn an_index_is_suggested_for_a_filter_that_discards_items() {
    let twin = watched();
    let hint = "No key of the table or of an index begins with an attribute that the filter compares with one value";
    for (filter, value, suggested) in [
        ("note = :v", "x", false),
        ("note = :v", "y", true),
        ("#s = :v", "open", false),
    ] {
        let mut scan = json!({"TableName": "Orders", "FilterExpression": filter, "ExpressionAttributeValues": {":v": {"S": value}}});
        if filter.starts_with('#') {
            scan["ExpressionAttributeNames"] = json!({"#s": "status"});
        }
        twin.ok("Scan", &scan);
        let sentences = explained(&twin)["entries"][0]["sentences"].to_string();
        assert_eq!(sentences.contains(hint), suggested, "{filter} {value}: {sentences}");
    }
}

/// A table that reaches the maximum configured for it is not said to be hot, nor its account at a quota.
#[test]
fn a_configured_maximum_is_explained() {
    let twin = Twin::new(7);
    twin.engine
        .set_conditions(Conditions {
            capacity: Capacity::Enforced(Enforcement::AWS),
            ..Conditions::CALM
        })
        .unwrap();
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "OnDemandThroughput": {"MaxReadRequestUnits": 1, "MaxWriteRequestUnits": 1},
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}),
    );
    twin.engine.watch(true);
    let key = json!({"pk": {"S": "a"}});
    for (operation, body, units, reason) in [
        ("PutItem", json!({"TableName": "tab", "Item": key}), "write", "Write"),
        ("GetItem", json!({"TableName": "tab", "Key": key}), "read", "Read"),
    ] {
        let served = (0..2000).take_while(|_| twin.send(operation, &body).0 == 200).count();
        assert!(served < 2000, "{operation}");
        assert_eq!(
            explained(&twin)["entries"][0]["sentences"],
            json!([format!(
                "The configured maximum of on-demand {units} units of table/tab is reached (Table{reason}MaxOnDemandThroughputExceeded)."
            )]),
        );
    }
}

/// Each failing request, and a part of its explanation.
#[test]
fn explanations_have_the_reason_of_a_failure() {
    let twin = watched();
    let assert_explained = |twin: &Twin, part: &str| {
        let explained = explained(twin);
        let sentences = explained["entries"][0]["sentences"].to_string();
        assert!(sentences.contains(part), "{part}: {explained}");
    };
    let key = json!({"customer": {"S": "c1"}, "order": {"S": "1"}});
    let put = json!({"TableName": "Orders", "Item": key, "ConditionExpression": "attribute_not_exists(customer)"});
    assert_eq!(twin.send("PutItem", &put).0, 400);
    assert_explained(&twin, "does not hold");

    twin.engine
        .add_fault(Rule::new(Verdict::Exception(ErrorKind::TransactionConflict)).operation("DeleteItem"))
        .unwrap();
    assert_eq!(
        twin.send("DeleteItem", &json!({"TableName": "Orders", "Key": key})).0,
        400
    );
    assert_explained(&twin, "Fault rule 1");

    twin.engine
        .set_conditions(Conditions {
            throttles: 1.0,
            ..Conditions::CALM
        })
        .unwrap();
    assert_eq!(twin.send("GetItem", &json!({"TableName": "Orders", "Key": key})).0, 400);
    assert_explained(&twin, "The condition `throttles`");

    twin.engine
        .set_conditions(Conditions {
            capacity: Capacity::Enforced(Enforcement::AWS),
            ..Conditions::CALM
        })
        .unwrap();
    let large = json!({"TableName": "Orders", "Item": {"customer": {"S": "c9"}, "order": {"S": "1"}, "v": {"S": "v".repeat(300_000)}}});
    while twin.send("PutItem", &large).0 == 200 {}
    assert_explained(
        &twin,
        "The partition of this key in table/Orders serves no more write units per second: the key is hot, or on-demand capacity has not grown yet (TableWriteKeyRangeThroughputExceeded).",
    );

    twin.engine.set_conditions(Conditions::CALM).unwrap();
    twin.ok(
        "GetItem",
        &json!({"TableName": "Orders", "Key": {"customer": {"S": "none"}, "order": {"S": "1"}}}),
    );
    assert_explained(&twin, "There is no item with this key");

    let insert = "INSERT INTO Orders VALUE {'customer': 'c1', 'order': '1'}";
    assert_eq!(twin.send("ExecuteStatement", &json!({"Statement": insert})).0, 400);
    assert_explained(&twin, "An item with this key already exists.");

    let conditions = Conditions {
        item_collection_size: 1000,
        transaction_time: Lag::Fixed(Duration::from_secs(1)),
        ..Conditions::CALM
    };
    twin.engine.set_conditions(conditions).unwrap();
    let large = json!({"TableName": "Orders", "Item": {"customer": {"S": "c1"}, "order": {"S": "99"}, "v": {"S": "v".repeat(1000)}}});
    assert_eq!(twin.send("PutItem", &large).0, 400);
    assert_explained(
        &twin,
        "Its item collection, with the entries of local indexes, has reached its size limit.",
    );
    let delete = json!({"Delete": {"TableName": "Orders", "Key": key}});
    twin.ok("TransactWriteItems", &json!({"TransactItems": [delete]}));
    assert_eq!(
        twin.send("UpdateItem", &json!({"TableName": "Orders", "Key": key})).0,
        400
    );
    assert_explained(&twin, "A transaction in flight holds the item until it is executed.");
}

/// A write that its table and its indexes have no units for has a sentence for each of them.
#[test]
fn each_limit_that_a_write_exceeds_is_explained() {
    let twin = Twin::new(7);
    twin.engine
        .set_conditions(Conditions {
            capacity: Capacity::Enforced(Enforcement::AWS),
            ..Conditions::CALM
        })
        .unwrap();
    let units = |count: u64| json!({"ReadCapacityUnits": count, "WriteCapacityUnits": count});
    let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let indexes = ["one", "two"].map(|name| {
        json!({"IndexName": name, "KeySchema": key("g"), "Projection": {"ProjectionType": "ALL"},
            "ProvisionedThroughput": units(1)})
    });
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "ProvisionedThroughput": units(100), "KeySchema": key("pk"),
            "AttributeDefinitions": attributes, "GlobalSecondaryIndexes": indexes}),
    );
    twin.engine.watch(true);
    let of = |owner: &str, reason: &str| {
        format!(
            "The provisioned write units of {owner} are used up, with those saved in the last five minutes ({reason}WriteProvisionedThroughputExceeded)."
        )
    };
    let of_index = |name: &str| of(&format!("table/tab/index/{name}"), "Index");
    let put = |pk: &str, g: Option<&str>, bytes: usize| {
        let mut item = json!({"pk": {"S": pk}, "v": {"S": "v".repeat(bytes)}});
        if let Some(g) = g {
            item["g"] = json!({"S": g});
        }
        let (status, _) = twin.send("PutItem", &json!({"TableName": "tab", "Item": item}));
        (status, explained(&twin)["entries"][0]["sentences"].clone())
    };
    assert_eq!(put("a", Some("x"), 1).0, 200);
    let (status, sentences) = put("b", Some("x"), 1);
    assert_eq!((status, sentences), (400, json!([of_index("one"), of_index("two")])));
    // An entry is removed from each index, and another is added.
    let (status, sentences) = put("a", Some("y"), 1);
    assert_eq!((status, sentences), (400, json!([of_index("one"), of_index("two")])));
    assert_eq!(put("b", None, 101_000).0, 200);
    let (status, sentences) = put("c", Some("x"), 1);
    let expect = json!([of("table/tab", "Table"), of_index("one"), of_index("two")]);
    assert_eq!((status, sentences), (400, expect));
}

/// The service spells the member of an error's text in two ways.
#[test]
fn explanations_have_the_text_of_the_error() {
    let twin = watched();
    let watch = twin.engine.handle(&HttpRequest {
        method: "POST",
        target: "/_dynatwin/watch",
        headers: &[("host", "here"), ("content-type", "application/json")],
        body: br#"{"bodies": true}"#,
    });
    assert_eq!(watch.status, 200);
    let missing = json!({"TableName": "Missing", "Key": {"customer": {"S": "a"}}});
    let check = json!({"ConditionCheck": {"TableName": "Orders", "Key": {"customer": {"S": "c1"}, "order": {"S": "1"}},
        "ConditionExpression": "attribute_not_exists(customer)"}});
    for (operation, body, sentence) in [
        (
            "GetItem",
            missing,
            "It failed with ResourceNotFoundException: Requested resource not found",
        ),
        (
            "TransactWriteItems",
            json!({"TransactItems": [check]}),
            "It failed with TransactionCanceledException: Transaction cancelled, please refer cancellation reasons for specific reasons [ConditionalCheckFailed]",
        ),
    ] {
        assert_eq!(twin.send(operation, &body).0, 400);
        let explained = explained(&twin);
        let sentences = explained["sentences"].as_array().unwrap();
        assert!(sentences.contains(&json!(sentence)), "{explained}");
    }
}

#[test]
fn a_failed_query_is_not_said_to_read_items() {
    let twin = watched();
    let throttled = Rule::new(Verdict::Exception(ErrorKind::RequestLimitExceeded)).operation("Query");
    twin.engine.add_fault(throttled).unwrap();
    let query = json!({"TableName": "Orders", "KeyConditionExpression": "customer = :c", "FilterExpression": "note = :c",
        "ExpressionAttributeValues": {":c": {"S": "c1"}}});
    assert_eq!(twin.send("Query", &query).0, 400);
    let explained = explained(&twin);
    assert_eq!(explained["sentences"], json!(["It failed with RequestLimitExceeded."]));
    assert_eq!(
        explained["entries"][0]["sentences"],
        json!(["Fault rule 1 made it fail, not the data or the capacity."])
    );
}

/// What an index can do differs by its kind and its projection.
#[test]
fn a_better_read_shows_what_its_index_can_do() {
    let twin = Twin::new(7);
    let names = ["pk", "sk", "a", "b", "c", "d"];
    let index = |name: &str, key: [&str; 2], projection: &str| {
        let key: Vec<Value> = key
            .into_iter()
            .zip(["HASH", "RANGE"])
            .map(|(name, kind)| json!({"AttributeName": name, "KeyType": kind}))
            .collect();
        json!({"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": projection}})
    };
    let create = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": names.map(|name| json!({"AttributeName": name, "AttributeType": "S"})),
        "KeySchema": index("", ["pk", "sk"], "")["KeySchema"],
        "GlobalSecondaryIndexes": [index("by-a", ["a", "sk"], "ALL"), index("by-b", ["b", "sk"], "KEYS_ONLY")],
        "LocalSecondaryIndexes": [index("by-c", ["pk", "c"], "ALL"), index("by-d", ["pk", "d"], "KEYS_ONLY")]});
    twin.ok("CreateTable", &create);
    twin.engine.watch(true);
    for (attribute, projects_all, consistent) in [
        ("a", true, false),
        ("b", false, false),
        ("c", true, true),
        ("d", false, true),
    ] {
        let query = json!({"TableName": "tab", "KeyConditionExpression": "pk = :v", "FilterExpression": format!("{attribute} = :v"),
            "ExpressionAttributeValues": {":v": {"S": "x"}}});
        twin.ok("Query", &query);
        let explained = explained(&twin);
        let better = explained["entries"][0]["better"].as_array().unwrap().iter();
        let index = format!("by-{attribute}");
        let found: Vec<_> = better
            .filter(|read| read["index"] == index)
            .map(|read| (&read["projectsAll"], &read["canBeConsistent"]))
            .collect();
        assert_eq!(found, [(&json!(projects_all), &json!(consistent))], "{explained:#}");
    }
}

#[test]
fn the_age_of_a_stale_state_is_explained() {
    for (age, expect) in [(400, "0.4 seconds"), (1250, "1.25 seconds"), (2000, "2 seconds")] {
        let twin = watched();
        let item = json!({"customer": {"S": "c1"}, "order": {"S": "0"}});
        twin.engine.advance(Duration::from_secs(10));
        let conditions = Conditions {
            read_staleness: Lag::Fixed(Duration::from_secs(5)),
            stale_reads: 1.0,
            ..Conditions::CALM
        };
        twin.engine.set_conditions(conditions).unwrap();
        twin.ok("PutItem", &json!({"TableName": "Orders", "Item": item}));
        twin.engine.advance(Duration::from_millis(age));
        twin.ok("GetItem", &json!({"TableName": "Orders", "Key": item}));
        let explained = explained(&twin).to_string();
        let sentence = format!(
            "It was an eventually consistent read and returned a state that had been replaced {expect} earlier."
        );
        assert!(explained.contains(&sentence), "{explained}");
    }
}
