//! The content and pending work of tables, over a socket: pages of items, positions of keys, pending work, logged
//! bodies.

use std::collections::BTreeSet;

use crate::support::twin::{Twin, percent};
use dynatwin_engine::Allowed;
use serde_json::{Value, json};

fn orders(items: usize) -> Twin {
    let mut twin = Twin::new(Allowed::All, false);
    twin.create("me", "Orders");
    for number in 0..items {
        put(&mut twin, &format!("order-{number}"));
    }
    twin
}

fn put(twin: &mut Twin, id: &str) {
    let item = json!({"id": {"S": id}, "date": {"S": format!("day-{}", id.len())}});
    let put = json!({"TableName": "Orders", "Item": item});
    assert_eq!(twin.operation("me", "PutItem", &put).0, 200);
}

fn get(twin: &mut Twin, path: &str) -> Value {
    let (status, answer) = twin.control("GET", path, None);
    assert_eq!(status, 200, "{path}: {answer}");
    answer
}

fn ids(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap();
    let id = |item: &Value| item["item"]["id"]["S"].as_str().unwrap().to_owned();
    items.iter().map(id).collect()
}

/// Returns all pages of a listing, with three items each.
fn walk(twin: &mut Twin, query: &str) -> Vec<Value> {
    let (mut items, mut after) = (Vec::new(), String::new());
    loop {
        let page = get(twin, &format!("tables/Orders/items?limit=3&{query}&after={after}"));
        let found = page["items"].as_array().unwrap();
        assert!(found.len() <= 3);
        items.extend(found.iter().cloned());
        match page["next"].as_str() {
            Some(next) => next.clone_into(&mut after),
            None => return items,
        }
    }
}

#[test]
fn pages_of_items_are_those_of_a_scan_and_cost_nothing() {
    let mut twin = orders(20);
    assert_eq!(twin.control("POST", "watch", None).0, 200);
    let listed = walk(&mut twin, "");
    assert_eq!(get(&mut twin, "requests")["seen"], 0);
    let scan = twin.operation("me", "Scan", &json!({"TableName": "Orders"})).1;
    let scanned: Vec<&Value> = scan["Items"].as_array().unwrap().iter().collect();
    assert_eq!(listed.iter().map(|item| &item["item"]).collect::<Vec<_>>(), scanned);
    for item in &listed {
        let id = item["item"]["id"]["S"].as_str().unwrap();
        assert_eq!(item["key"], json!({"id": {"S": id}}));
        assert_eq!(item["bytes"], "id".len() + id.len() + "date".len() + "day-7".len());
        let key = percent(&item["key"].to_string());
        let place = get(&mut twin, &format!("tables/Orders/place?key={key}"));
        assert_eq!(place, json!({"token": item["token"], "partition": item["partition"]}));
    }
    // Each partition has its items, and together they have all.
    let places: BTreeSet<u64> = listed.iter().map(|item| item["partition"].as_u64().unwrap()).collect();
    let of = |twin: &mut Twin, at: u64| walk(twin, &format!("partition={at}"));
    let parts: Vec<Value> = (0..4).flat_map(|at| of(&mut twin, at)).collect();
    assert!(places.len() > 1 && parts == listed, "{places:?}");
    // An index has its own order and keys.
    let entries = walk(&mut twin, "index=by-date");
    assert_eq!(entries.len(), 20);
    assert_eq!(entries[0]["key"].as_object().unwrap().len(), 2);
    let days: BTreeSet<String> = entries.iter().map(|entry| entry["key"]["date"].to_string()).collect();
    assert_eq!(days.len(), 2);
}

#[test]
fn a_page_starts_after_skipped_items() {
    let mut twin = orders(20);
    for (query, order) in [
        ("", walk(&mut twin, "")),
        ("&index=by-date", walk(&mut twin, "index=by-date")),
    ] {
        for (skip, limit, rest) in [
            (0, 3, true),
            (1, 3, true),
            (17, 2, true),
            (18, 2, true),
            (19, 2, false),
            (25, 2, false),
        ] {
            let page = get(
                &mut twin,
                &format!("tables/Orders/items?skip={skip}&limit={limit}{query}"),
            );
            let start = skip.min(20);
            let end = (skip + limit).min(20).max(start);
            assert_eq!(
                page["items"].as_array().unwrap().as_slice(),
                &order[start..end],
                "{skip}{query}"
            );
            assert_eq!(
                (&page["skipped"], page["next"].is_string()),
                (&json!(start), rest),
                "{skip}{query}"
            );
        }
    }
    let after = get(&mut twin, "tables/Orders/items?limit=4")["next"].clone();
    let page = get(
        &mut twin,
        &format!("tables/Orders/items?skip=2&after={}", after.as_str().unwrap()),
    );
    assert_eq!(page["items"].as_array().unwrap().as_slice(), &walk(&mut twin, "")[6..]);
}

#[test]
fn a_page_after_skipped_items_ends_at_1_mb() {
    let mut twin = orders(0);
    for number in 0..8 {
        let item = json!({"id": {"S": number.to_string()}, "text": {"S": "x".repeat(300_000)}});
        assert_eq!(
            twin.operation("me", "PutItem", &json!({"TableName": "Orders", "Item": item}))
                .0,
            200
        );
    }
    let page = get(&mut twin, "tables/Orders/items?skip=1");
    assert_eq!(page["items"].as_array().unwrap().len(), 4);
    assert!(page["next"].is_string());
}

#[test]
fn queries_that_are_refused() {
    let mut twin = orders(1);
    for (path, status) in [
        ("tables/Orders/items?limit=0", 400),
        ("tables/Orders/items?limit=1001", 400),
        ("tables/Orders/items?limit=-1", 400),
        ("tables/Orders/items?limits=1", 400),
        ("tables/Orders/items?after=xyz", 400),
        ("tables/Orders/items?skip=-1", 400),
        ("tables/Orders/items?partition=4", 404),
        ("tables/Orders/items?partition=a", 400),
        ("tables/Orders/items?index=by-name", 404),
        ("tables/Nothing/items", 404),
        ("tables/Orders/place", 400),
        ("tables/Orders/place?key=7", 400),
        ("tables/Orders/place?key={", 400),
        ("tables/Orders/place?key={\"date\":{\"S\":\"a\"}}", 400),
        ("tables/Orders/place?key={\"id\":{\"N\":\"1\"}}", 400),
        ("tables/Orders/pending?limit=x", 400),
        ("requests?after=x", 400),
        ("requests?bodies=yes", 400),
        ("requests/7", 404),
        ("requests/x", 404),
    ] {
        let encoded = path.replace('{', "%7B").replace('}', "%7D").replace('"', "%22");
        let (found, answer) = twin.control("GET", &encoded, None);
        assert_eq!(found, status, "{path}: {answer}");
    }
}

#[test]
fn pending_work_is_listed_until_it_is_applied() {
    let mut twin = Twin::new(Allowed::All, false);
    let conditions = json!({
        "base": "calm", "indexPropagation": 5, "streamLag": 7, "transactionTime": 3, "timeToLive": 60
    });
    assert_eq!(twin.control("PUT", "conditions", Some(&conditions)).0, 200);
    twin.create("me", "Orders");
    let expires = json!({"Enabled": true, "AttributeName": "expires"});
    let spec = json!({"TableName": "Orders", "TimeToLiveSpecification": expires});
    assert_eq!(twin.operation("me", "UpdateTimeToLive", &spec).0, 200);
    assert_eq!(get(&mut twin, "clock").get("nextDue"), None);

    let item = |id: &str| json!({"id": {"S": id}, "date": {"S": "d"}, "expires": {"N": "1767225601"}});
    let put = json!({"TableName": "Orders", "Item": item("a")});
    assert_eq!(twin.operation("me", "PutItem", &put).0, 200);
    let pending = get(&mut twin, "tables/Orders/pending");
    let change = |action: &str, due: &str, key: Value| json!({"action": action, "due": due, "key": key, "token": pending["timeToLive"]["first"][0]["token"]});
    let key = json!({"id": {"S": "a"}});
    let (arrives, readable, deleted) = (
        "2026-01-01T00:00:05.000Z",
        "2026-01-01T00:00:07.000Z",
        "2026-01-01T00:01:01.000Z",
    );
    let waits = |change: Value| json!({"count": 1, "next": change["due"], "first": [change]});
    let index = json!({
        "index": "by-date", "paused": false, "count": 1, "next": arrives,
        "first": [change("put", arrives, json!({"id": {"S": "a"}, "date": {"S": "d"}}))]
    });
    let nothing = json!({"count": 0, "first": []});
    let mut deletion = change("delete", deleted, key.clone());
    deletion["expires"] = json!("2026-01-01T00:00:01.000Z");
    let expect = json!({
        "table": "Orders", "accessKey": "me", "region": "us-east-1", "next": arrives,
        "timeToLive": waits(deletion),
        "transactions": nothing,
        "streamRecords": waits(change("insert", readable, key.clone())),
        "arrivals": nothing,
        "indexes": [index],
    });
    assert_eq!(pending, expect);
    assert_eq!(get(&mut twin, "pending"), json!([expect]));
    assert_eq!(get(&mut twin, "clock")["nextDue"], arrives);

    // Work beyond the limit is counted.
    let short = get(&mut twin, "tables/Orders/pending?limit=1");
    assert_eq!(short["timeToLive"]["first"].as_array().unwrap().len(), 1);

    // From one due moment to the next, until there is none.
    let mut seen = Vec::new();
    while let Some(next) = get(&mut twin, "clock")["nextDue"].as_str() {
        seen.push(next.to_owned());
        assert_eq!(twin.control("PUT", "clock", Some(&json!({"now": next}))).0, 200);
    }
    // The deletion goes to the index and the stream as well.
    let gone = ["2026-01-01T00:01:06.000Z", "2026-01-01T00:01:08.000Z"];
    assert_eq!(seen, [arrives, readable, deleted, gone[0], gone[1]]);
    let done = get(&mut twin, "tables/Orders/pending");
    assert_eq!((&done["timeToLive"], &done["streamRecords"]), (&nothing, &nothing));
    assert_eq!(ids(&get(&mut twin, "tables/Orders/items")), [""; 0]);

    // A paused index applies no changes, and does not count for the next due moment.
    assert_eq!(twin.control("POST", "tables/Orders/indexes/by-date/pause", None).0, 200);
    assert_eq!(
        twin.operation(
            "me",
            "PutItem",
            &json!({"TableName": "Orders", "Item": {"id": {"S": "b"}, "date": {"S": "d"}}})
        )
        .0,
        200
    );
    let paused = get(&mut twin, "tables/Orders/pending");
    assert_eq!(
        (&paused["indexes"][0]["paused"], &paused["indexes"][0]["count"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(paused["next"], paused["streamRecords"]["next"]);
}

#[test]
fn transactions_in_flight_hold_their_items() {
    let mut twin = Twin::new(Allowed::All, false);
    twin.create("me", "Orders");
    let conditions = json!({"base": "calm", "transactionTime": 3});
    assert_eq!(twin.control("PUT", "conditions", Some(&conditions)).0, 200);
    put(&mut twin, "there");
    // The answer arrives when the transaction is applied: another connection sees it as pending.
    assert_eq!(twin.control("POST", "clock/freeze", None).0, 200);
    let key = |id: &str| json!({"id": {"S": id}});
    let actions = json!({"TransactItems": [
        {"Put": {"TableName": "Orders", "Item": key("new")}},
        {"Delete": {"TableName": "Orders", "Key": key("there")}},
        {"ConditionCheck": {"TableName": "Orders", "Key": key("none"), "ConditionExpression": "attribute_not_exists(id)"}},
    ]});
    twin.send_operation("me", "TransactWriteItems", &actions);
    let mut other = twin.another();
    let held = loop {
        let held = get(&mut other, "tables/Orders/pending")["transactions"].clone();
        if held["count"] == 3 {
            break held;
        }
    };
    assert_eq!(held["next"], "2026-01-01T00:00:03.000Z");
    let held: BTreeSet<(String, String)> = held["first"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hold| (hold["action"].to_string(), hold["key"].to_string()))
        .collect();
    let expect = [
        ("\"check\"", Value::Null),
        ("\"delete\"", key("there")),
        ("\"put\"", key("new")),
    ];
    assert_eq!(
        held,
        expect.map(|(action, key)| (action.to_owned(), key.to_string())).into()
    );
    assert_eq!(other.control("POST", "clock/unfreeze", None).0, 200);
}

#[test]
fn the_log_continues_from_a_number_and_keeps_bodies_on_request() {
    let mut twin = orders(0);
    assert_eq!(twin.control("POST", "watch", None).1["bodies"], false);
    put(&mut twin, "a");
    let on = twin.control("POST", "watch", Some(&json!({"bodies": true}))).1;
    assert_eq!((&on["watched"], &on["bodies"]), (&json!(true), &json!(true)));
    put(&mut twin, "b");
    let long = "x".repeat(70_000);
    put(&mut twin, &long[..2000]);
    let numbers = |answer: &Value| -> Vec<u64> {
        let requests = answer["requests"].as_array().unwrap();
        requests
            .iter()
            .map(|request| request["number"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(numbers(&get(&mut twin, "requests?after=1")), [2, 3]);
    assert_eq!(numbers(&get(&mut twin, "requests?limit=2")), [1, 2]);
    assert_eq!(numbers(&get(&mut twin, "requests?after=3")), [0; 0]);
    // Bodies are included on request.
    assert_eq!(get(&mut twin, "requests")["requests"][1].get("request"), None);
    let shown = get(&mut twin, "requests?bodies=true");
    assert_eq!(shown["requests"][0].get("request"), None);
    let one = get(&mut twin, "requests/2");
    assert_eq!(shown["requests"][1], one);
    let body: Value = serde_json::from_str(one["request"]["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["Item"]["id"], json!({"S": "b"}));
    assert_eq!(one["response"], json!({"body": "{}", "bytes": 2, "truncated": false}));
    // A long one is cut.
    let item = json!({"id": {"S": "c"}, "text": {"S": long}});
    assert_eq!(
        twin.operation("me", "PutItem", &json!({"TableName": "Orders", "Item": item}))
            .0,
        200
    );
    let cut = get(&mut twin, "requests/4");
    assert_eq!(cut["request"]["truncated"], true);
    assert_eq!(cut["request"]["body"].as_str().unwrap().len(), 64 << 10);
    assert!(cut["request"]["bytes"].as_u64().unwrap() > 70_000);
    assert_eq!(twin.control("POST", "unwatch", None).1["bodies"], false);
}

#[test]
fn buckets_have_a_size_and_a_rate() {
    let mut twin = Twin::new(Allowed::All, false);
    let enforced = json!({"base": "calm", "capacity": "enforced"});
    assert_eq!(twin.control("PUT", "conditions", Some(&enforced)).0, 200);
    let table = json!({
        "TableName": "Small", "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 10},
    });
    assert_eq!(twin.operation("me", "CreateTable", &table).0, 200);
    let put = json!({"TableName": "Small", "Item": {"id": {"S": "a"}}});
    assert_eq!(twin.operation("me", "PutItem", &put).0, 200);
    let heat = get(&mut twin, "tables/Small/heat");
    let level = |of: &Value| [&of["left"], &of["size"], &of["rate"]].map(|number| number.as_f64().unwrap());
    // A burst of five minutes is kept.
    assert_eq!(level(&heat["resources"][0]["write"]), [9.0, 3000.0, 10.0]);
    assert_eq!(level(&heat["resources"][0]["read"]), [5.0, 1500.0, 5.0]);
    assert_eq!(
        level(&heat["resources"][0]["partitions"][0]["write"]),
        [999.0, 1000.0, 1000.0]
    );
    assert_eq!(
        twin.control("POST", "clock/advance", Some(&json!({"seconds": 60}))).0,
        200
    );
    let heat = get(&mut twin, "tables/Small/heat");
    assert_eq!(level(&heat["resources"][0]["write"]), [609.0, 3000.0, 10.0]);
    assert_eq!(
        level(&heat["resources"][0]["partitions"][0]["write"]),
        [1000.0, 1000.0, 1000.0]
    );
}
