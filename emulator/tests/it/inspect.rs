//! The pages of items and index entries that controls list.

use crate::common::Twin;
use dynatwin_engine::http::HttpRequest;
use serde_json::{Value, json};

/// A table with an index of each kind, four partitions of capacity, and time to live on `ttl`.
fn orders() -> Twin {
    let twin = Twin::new(7);
    let attributes = ["customer", "order", "date"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let key = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let index =
        |name: &str, key: Value| json!({"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": "ALL"}});
    twin.ok(
        "CreateTable",
        &json!({"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": attributes, "KeySchema": key("customer", "order"),
            "LocalSecondaryIndexes": [index("local", key("customer", "date"))],
            "GlobalSecondaryIndexes": [index("global", key("date", "customer"))]}),
    );
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": "Orders", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}}),
    );
    for number in 0..20_i64 {
        let mut item = json!({"customer": {"S": format!("c{}", number % 5)}, "order": {"S": format!("o{number:02}")}});
        // Every fifth order has no date, so it is in no index.
        if number % 5 != 4 {
            item["date"] = json!({"S": format!("d{:02}", 99 - number)});
        }
        if number == 7 {
            item["ttl"] = json!({"N": (twin.seconds() + 60).to_string()});
        }
        twin.ok("PutItem", &json!({"TableName": "Orders", "Item": item}));
    }
    twin
}

fn page(twin: &Twin, query: &str) -> Value {
    let answer = twin.engine.handle(&HttpRequest {
        method: "GET",
        target: &format!("/_dynatwin/tables/Orders/items?{query}"),
        headers: &[("host", "here")],
        body: b"",
    });
    let body = String::from_utf8_lossy(&answer.body).into_owned();
    assert_eq!(answer.status, 200, "{query}: {body}");
    serde_json::from_str(&body).unwrap()
}

/// Returns all pages of a listing, with three items each.
fn walk(twin: &Twin, query: &str) -> Vec<Value> {
    let (mut items, mut after) = (Vec::new(), String::new());
    loop {
        let page = page(twin, &format!("limit=3{query}{after}"));
        items.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return items,
        }
    }
}

/// The pages of a table and of each kind of index have what a Scan has, in its order, once each.
#[test]
fn pages_are_those_of_a_scan() {
    let twin = orders();
    for (index, keys, before) in [(None, 2, 20), (Some("local"), 3, 16), (Some("global"), 3, 16)] {
        let query = index.map_or(String::new(), |index| format!("&index={index}"));
        let mut scan = json!({"TableName": "Orders"});
        if let Some(index) = index {
            scan["IndexName"] = json!(index);
        }
        let scanned = || twin.ok("Scan", &scan)["Items"].as_array().unwrap().clone();
        let listed = walk(&twin, &query);
        assert_eq!(listed.len(), before, "{index:?}");
        let items: Vec<_> = listed.iter().map(|stored| stored["item"].clone()).collect();
        assert_eq!(items, scanned(), "{index:?}");
        assert!(
            listed
                .iter()
                .all(|stored| stored["key"].as_object().unwrap().len() == keys)
        );
        // Each capacity partition has its own, and together they have all.
        let of = |at: usize| walk(&twin, &format!("{query}&partition={at}"));
        let parts = (0..4).map(of).collect::<Vec<_>>();
        for (at, part) in parts.iter().enumerate() {
            assert!(part.iter().all(|stored| stored["partition"] == at), "{index:?} {at}");
        }
        assert_eq!(parts.concat(), listed, "{index:?}");
        // A page goes on after skipped items.
        for skip in [1, 15, 30] {
            let found = page(&twin, &format!("skip={skip}&limit=3{query}"));
            let start = skip.min(listed.len());
            let end = (start + 3).min(listed.len());
            assert_eq!(
                found["items"].as_array().unwrap(),
                &listed[start..end],
                "{index:?} {skip}"
            );
            assert_eq!(found["skipped"], start);
        }
    }
}

/// An item that is due to be deleted is not listed, nor are its entries.
#[test]
fn pages_have_no_expired_items() {
    for index in ["", "&index=local", "&index=global"] {
        let twin = orders();
        let listed = || {
            walk(&twin, index)
                .iter()
                .filter(|stored| stored["item"]["order"]["S"] == "o07")
                .count()
        };
        assert_eq!(listed(), 1, "{index}");
        twin.engine.advance(std::time::Duration::from_secs(61));
        assert_eq!(listed(), 0, "{index}");
    }
}
