//! The events that the engine logs while a client subscribes: their content, and that they are reproducible.

use std::time::Duration;

use crate::common::{Choice, Twin, setting};
use dynatwin_engine::faults::{Exceeded, Rule, Verdict};
use dynatwin_engine::http::{Delivery, HttpRequest};
use dynatwin_engine::{Capacity, Clock, Conditions, Enforcement, ErrorKind, Lag, Moment, TimeToLive};
use serde_json::{Value, json};

const HEADERS: [(&str, &str); 1] = [("host", "here")];

/// Returns a page of events as a client requests it.
fn page(twin: &Twin, after: u64) -> Value {
    let target = format!("/_dynatwin/events?after={after}&limit=20000");
    let request = HttpRequest {
        method: "GET",
        target: &target,
        headers: &HEADERS,
        body: b"",
    };
    serde_json::from_slice(&twin.engine.handle(&request).body).unwrap()
}

fn events(twin: &Twin) -> Vec<Value> {
    page(twin, 0)["events"].as_array().unwrap().clone()
}

/// Returns each event in short: its second, its kind and these members.
fn summaries(twin: &Twin, members: &[&str]) -> Vec<String> {
    let short = |event: &Value| {
        let at = &event["at"].as_str().unwrap()["2026-01-01T00:".len()..];
        let shown = members.iter().filter_map(|name| {
            let value = event.get(*name)?;
            Some(match value {
                Value::String(text) => text.trim_start_matches("2026-01-01T00:").to_owned(),
                Value::Object(key) => key["pk"]["S"].as_str().unwrap_or("?").to_owned(),
                other => other.to_string(),
            })
        });
        let words: Vec<String> = [at.to_owned(), event["kind"].as_str().unwrap().to_owned()]
            .into_iter()
            .chain(shown)
            .collect();
        words.join(" ")
    };
    events(twin).iter().map(short).collect()
}

/// Creates a table with an index, a stream, time to live and these lags; then subscribes to events.
fn twin_with_events(conditions: &Conditions) -> Twin {
    let twin = Twin::new(7);
    create(&twin);
    twin.engine.set_conditions(*conditions).unwrap();
    twin.engine.watch(true);
    twin.engine.listen(true);
    twin
}

fn create(twin: &Twin) {
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [{
                "IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}
            }],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        }),
    );
    let spec = json!({"Enabled": true, "AttributeName": "expires"});
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": "tab", "TimeToLiveSpecification": spec}),
    );
}

fn lagging() -> Conditions {
    let seconds = |seconds| Lag::Fixed(Duration::from_secs(seconds));
    Conditions {
        index_propagation: seconds(2),
        stream_lag: seconds(3),
        transaction_time: seconds(4),
        time_to_live: TimeToLive::Deletes(seconds(30)),
        ..Conditions::CALM
    }
}

fn put(twin: &Twin, key: &str, expires: Option<i64>) {
    let mut item = json!({"pk": {"S": key}, "g": {"S": "x"}});
    if let Some(expires) = expires {
        item["expires"] = json!({"N": expires.to_string()});
    }
    twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
}

/// The tables of a fork log the same events as those of the original.
#[test]
fn a_fork_logs_the_arrivals_of_its_indexes() {
    let twin = Twin::new(7);
    twin.engine.set_conditions(lagging()).unwrap();
    let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}],
            "KeySchema": key("pk"),
            "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": key("g"), "Projection": {"ProjectionType": "ALL"}}],
        }),
    );
    let engine = twin.engine.fork(Clock::settable(Moment::START)).unwrap();
    let caller = twin.caller.clone();
    let fork = Twin { engine, caller };
    for twin in [&twin, &fork] {
        twin.engine.listen(true);
        put(twin, "a", None);
        twin.engine.advance(Duration::from_secs(5));
        let arrivals = events(twin).into_iter().filter(|event| event["kind"] == "indexArrival");
        assert_eq!(arrivals.count(), 1);
    }
}

#[test]
fn events_cover_an_item_from_its_write_to_its_deletion() {
    let twin = twin_with_events(&lagging());
    put(&twin, "a", Some(twin.seconds() + 10));
    twin.engine.advance(Duration::from_mins(1));
    let logged = events(&twin);
    let tokens: Vec<&Value> = logged
        .iter()
        .filter(|event| event.get("key").is_some())
        .map(|event| &event["token"])
        .collect();
    assert!(
        tokens.len() > 5 && tokens.iter().all(|token| *token == tokens[0] && token.is_string()),
        "{tokens:?}"
    );
    assert_eq!(
        summaries(
            &twin,
            &[
                "request",
                "action",
                "index",
                "key",
                "arrives",
                "expires",
                "due",
                "outcome",
                "operation"
            ]
        ),
        [
            "00:00.000Z request 1 PutItem",
            "00:00.000Z entry 1 a done",
            "00:00.000Z indexChange 1 put by-g a 00:02.000Z",
            "00:00.000Z expirySchedule 1 delete a 00:10.000Z 00:40.000Z",
            "00:00.000Z streamRecord 1 insert a 00:03.000Z",
            "00:02.000Z indexArrival put by-g a",
            "00:40.000Z expiry delete a",
            "00:40.000Z indexChange delete by-g a 00:42.000Z",
            // It was noticed after the clock had advanced.
            "00:40.000Z streamRecord remove a 01:00.000Z",
            "00:42.000Z indexArrival delete by-g a",
        ]
    );
}

/// A time to live in microseconds is later than any moment, so its event has no dates.
#[test]
fn an_item_that_never_expires_has_no_moment_of_deletion() {
    let twin = twin_with_events(&lagging());
    put(&twin, "a", Some(twin.seconds() * 1_000_000));
    let logged = events(&twin);
    let scheduled = logged.iter().find(|event| event["kind"] == "expirySchedule").unwrap();
    assert_eq!(scheduled["key"], json!({"pk": {"S": "a"}}));
    for name in ["expires", "due"] {
        assert_eq!(scheduled.get(name), None, "{name}");
    }
}

/// An event of a change of an index has the key of the new entry, or of the deleted one if there is no new one.
#[test]
fn index_changes_have_the_key_of_the_entry() {
    let twin = twin_with_events(&Conditions::CALM);
    let text = |text: &str| json!({"S": text});
    let update = |expression: &str| {
        let mut body = json!({"TableName": "tab", "Key": {"pk": text("a")}, "UpdateExpression": expression});
        if expression.contains(":g") {
            body["ExpressionAttributeValues"] = json!({":g": text("y")});
        }
        twin.ok("UpdateItem", &body);
    };
    put(&twin, "a", None);
    update("SET g = :g");
    update("REMOVE g");
    update("SET g = :g");
    twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": text("a")}}));
    let logged = events(&twin);
    let changes = logged.iter().filter(|event| event["kind"] == "indexChange");
    let changes: Vec<(&str, &str)> = changes
        .map(|event| {
            (
                event["action"].as_str().unwrap(),
                event["key"]["g"]["S"].as_str().unwrap_or("none"),
            )
        })
        .collect();
    let expected = [
        ("put", "x"),
        ("put", "y"),
        ("delete", "y"),
        ("put", "y"),
        ("delete", "y"),
    ];
    assert_eq!(changes, expected);
}

/// An arrival at a vector index has the table's key, and the attribute that divides the index.
#[test]
fn arrivals_have_the_attribute_that_divides_their_vector_index() {
    let twin = Twin::new(7);
    let index = |name: &str, hash: Option<&str>| {
        let mut index = json!({"IndexName": name, "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2,
            "DistanceFunction": "EUCLIDEAN", "Projection": {"ProjectionType": "ALL"}});
        if let Some(hash) = hash {
            index["SearchSchema"] = json!([{"AttributeName": hash, "SearchSchemaElementType": "HASH"}]);
        }
        index
    };
    let indexes = [index("by-t", Some("t")), index("by-u", Some("u")), index("whole", None)];
    let attributes = ["pk", "t", "u"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "VectorIndexes": indexes}),
    );
    twin.engine.set_conditions(lagging()).unwrap();
    twin.engine.listen(true);
    let vector = json!({"L": [{"N": "1"}, {"N": "2"}]});
    let item = json!({"pk": {"S": "1"}, "t": {"S": "2"}, "u": {"S": "3"}, "v": vector});
    twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    twin.engine.advance(Duration::from_secs(2));
    let logged = events(&twin);
    let arrivals = logged.iter().filter(|event| event["kind"] == "indexArrival");
    let found: Vec<(&str, &Value)> = arrivals
        .map(|event| (event["index"].as_str().unwrap(), &event["key"]))
        .collect();
    let expect = [("by-t", &["pk", "t"][..]), ("by-u", &["pk", "u"]), ("whole", &["pk"])];
    let expect = expect.map(|(index, names)| {
        let mut key = json!({});
        names.iter().for_each(|name| key[*name] = item[*name].clone());
        (index, key)
    });
    assert_eq!(found, expect.each_ref().map(|(index, key)| (*index, key)));
}

/// A change has an event for each index whose entry it changes, of each kind, in the order of the definition.
#[test]
fn each_index_that_a_change_affects_has_an_event() {
    let twin = Twin::new(7);
    let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    let index = |name: &str| json!({"IndexName": format!("by-{name}"), "KeySchema": key(name), "Projection": {"ProjectionType": "KEYS_ONLY"}});
    let near = |name: &str| {
        json!({"IndexName": format!("near-{name}"), "VectorAttribute": {"AttributeName": name}, "Dimensions": 2,
            "DistanceFunction": "EUCLIDEAN", "Projection": {"ProjectionType": "KEYS_ONLY"}})
    };
    let attributes = ["pk", "g", "h", "i"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("pk"), "AttributeDefinitions": attributes,
            "GlobalSecondaryIndexes": [index("g"), index("h"), index("i")], "VectorIndexes": [near("v"), near("w")]}),
    );
    twin.engine.listen(true);
    let all = ["by-g", "by-h", "by-i", "near-v", "near-w"];
    let mut seen = 0;
    for (members, puts, deletes) in [
        ("ghivw", &all[..], &[][..]),
        // Single entries are removed and added again.
        ("hivw", &[], &["by-g"]),
        ("hiw", &[], &["near-v"]),
        ("hw", &[], &["by-i"]),
        ("ghw", &["by-g"], &[]),
        ("gi", &["by-i"], &["by-h", "near-w"]),
        ("", &[], &["by-g", "by-i"]),
        ("hiw", &["by-h", "by-i", "near-w"], &[]),
    ] {
        let mut item = json!({"pk": {"S": "a"}});
        for name in members.chars() {
            let is_vector = "vw".contains(name);
            item[name.to_string()] = if is_vector {
                json!({"L": [{"N": "1"}, {"N": "2"}]})
            } else {
                json!({"S": "x"})
            };
        }
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        let logged = events(&twin);
        let changes = logged[seen..].iter().filter(|event| event["kind"] == "indexChange");
        let found: Vec<(&str, &str)> = changes
            .map(|event| (event["index"].as_str().unwrap(), event["action"].as_str().unwrap()))
            .collect();
        let action = |name: &&'static str| {
            let is_put = puts.contains(name);
            (is_put || deletes.contains(name)).then_some((*name, if is_put { "put" } else { "delete" }))
        };
        let expect: Vec<(&str, &str)> = all.iter().filter_map(action).collect();
        assert_eq!(found, expect, "{members}");
        seen = logged.len();
    }
}

/// Events of a transaction have the keys and the indexes of their own tables, in whichever order the actions are.
#[test]
fn events_of_a_transaction_have_the_keys_of_their_tables() {
    let seconds = Duration::from_secs(4);
    for transaction_time in [Lag::None, Lag::Fixed(seconds)] {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let twin = twin_with_events(&Conditions {
                transaction_time,
                ..Conditions::CALM
            });
            let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
            let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
            let index = json!({"IndexName": "by-h", "KeySchema": key("h"), "Projection": {"ProjectionType": "ALL"}});
            let stream = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
            twin.ok(
                "CreateTable",
                &json!({"TableName": "indexed", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("id"),
                    "AttributeDefinitions": [attribute("id"), attribute("h")], "GlobalSecondaryIndexes": [index]}),
            );
            twin.ok(
                "CreateTable",
                &json!({"TableName": "streamed", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("no"),
                    "AttributeDefinitions": [attribute("no")], "StreamSpecification": stream}),
            );
            let text = |text: &str| json!({"S": text});
            let puts = [
                json!({"TableName": "tab", "Item": {"pk": text("1"), "g": text("2"), "v": text("3")}}),
                json!({"TableName": "indexed", "Item": {"id": text("4"), "h": text("5"), "v": text("6")}}),
                json!({"TableName": "streamed", "Item": {"no": text("7"), "v": text("8")}}),
            ];
            let actions = order.map(|at: usize| json!({"Put": puts[at]}));
            let first = events(&twin).len();
            twin.ok("TransactWriteItems", &json!({"TransactItems": actions}));
            twin.engine.advance(seconds);
            let logged = events(&twin);
            let consequences = logged[first..].iter().filter(|event| {
                let kind = event["kind"].as_str().unwrap();
                kind == "indexChange" || kind == "streamRecord"
            });
            let mut found: Vec<String> = consequences
                .map(|event| {
                    let [kind, table, action] = ["kind", "table", "action"].map(|name| event[name].as_str().unwrap());
                    format!("{kind} {table} {action} {}", event["key"])
                })
                .collect();
            found.sort_unstable();
            assert_eq!(
                found,
                [
                    r#"indexChange indexed put {"h":{"S":"5"},"id":{"S":"4"}}"#,
                    r#"indexChange tab put {"g":{"S":"2"},"pk":{"S":"1"}}"#,
                    r#"streamRecord streamed insert {"no":{"S":"7"}}"#,
                    r#"streamRecord tab insert {"pk":{"S":"1"}}"#,
                ],
                "{order:?} {transaction_time:?}"
            );
        }
    }
}

#[test]
fn without_lag_no_change_is_pending() {
    let twin = twin_with_events(&Conditions::CALM);
    put(&twin, "a", None);
    put(&twin, "a", None);
    twin.ok(
        "Query",
        &json!({"TableName": "tab", "IndexName": "by-g", "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": {":g": {"S": "x"}}}),
    );
    assert_eq!(
        summaries(&twin, &["request", "action", "act", "arrives", "scanned"]),
        [
            "00:00.000Z request 1 0",
            "00:00.000Z entry 1 Put 0",
            "00:00.000Z indexChange 1 put 00:00.000Z",
            "00:00.000Z streamRecord 1 insert 00:00.000Z",
            // Writing the identical item changes nothing.
            "00:00.000Z request 2 0",
            "00:00.000Z entry 2 Put 0",
            "00:00.000Z request 3 1",
            "00:00.000Z entry 3 Query 1",
        ]
    );
}

#[test]
fn events_of_a_paused_index_follow_its_resumption() {
    let twin = twin_with_events(&Conditions::CALM);
    twin.engine.account(&twin.caller).pause_index("tab", "by-g").unwrap();
    put(&twin, "a", None);
    twin.engine.advance(Duration::from_secs(5));
    twin.engine.account(&twin.caller).resume_index("tab", "by-g").unwrap();
    let arrivals: Vec<String> = summaries(&twin, &["key", "arrives"])
        .into_iter()
        .filter(|event| event.contains("index"))
        .collect();
    assert_eq!(arrivals, ["00:00.000Z indexChange a", "00:05.000Z indexArrival a"]);
}

/// An event of an arrival has the key attributes of the table and the index, and no other.
#[test]
fn arrivals_have_all_key_attributes_of_their_index() {
    let twin = Twin::new(7);
    let names = ["pk", "a", "b", "c"];
    let index = |name: &str, key: &[(&str, &str)]| {
        let key = key
            .iter()
            .map(|(name, kind)| json!({"AttributeName": name, "KeyType": kind}));
        let key: Vec<Value> = key.collect();
        json!({"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": "ALL"}})
    };
    let indexes = [
        index("abc", &[("a", "HASH"), ("b", "HASH"), ("c", "RANGE")]),
        index("by-c", &[("c", "HASH"), ("b", "RANGE")]),
        index("by-a", &[("a", "HASH")]),
    ];
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": names.map(|name| json!({"AttributeName": name, "AttributeType": "S"})),
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": indexes,
        }),
    );
    twin.engine.set_conditions(lagging()).unwrap();
    twin.engine.listen(true);
    let item = json!({"pk": {"S": "1"}, "a": {"S": "2"}, "b": {"S": "3"}, "c": {"S": "4"}, "more": {"S": "x"}});
    twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    twin.engine.advance(Duration::from_secs(2));
    twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "1"}}}));
    twin.engine.advance(Duration::from_secs(2));
    let logged = events(&twin);
    for (index, names) in [
        ("abc", &["pk", "a", "b", "c"][..]),
        ("by-c", &["pk", "b", "c"]),
        ("by-a", &["pk", "a"]),
    ] {
        let of_index = logged.iter().filter(|event| event["index"] == index);
        let found: Vec<_> = of_index
            .map(|event| {
                (
                    event["kind"].as_str().unwrap(),
                    event["action"].as_str().unwrap(),
                    event["key"].clone(),
                )
            })
            .collect();
        let mut keys = json!({});
        names.iter().for_each(|name| keys[*name] = item[*name].clone());
        let expect = [
            ("indexChange", "put", keys.clone()),
            ("indexArrival", "put", keys.clone()),
            ("indexChange", "delete", keys.clone()),
            ("indexArrival", "delete", keys),
        ];
        assert_eq!(found, expect, "{index}");
    }
}

/// The arrival of an item that moves in an index has the item's new key.
#[test]
fn the_arrival_of_a_moved_entry_has_its_new_key() {
    let twin = Twin::new(7);
    let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"}}]}),
    );
    twin.engine.set_conditions(lagging()).unwrap();
    twin.engine.listen(true);
    for g in ["a", "b"] {
        let item = json!({"pk": {"S": "x"}, "g": {"S": g}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        twin.engine.advance(Duration::from_secs(5));
    }
    let arrivals: Vec<Value> = events(&twin)
        .into_iter()
        .filter(|event| event["kind"] == "indexArrival")
        .map(|event| json!([event["action"], event["key"]["g"]["S"]]))
        .collect();
    assert_eq!(arrivals, [json!(["put", "a"]), json!(["put", "b"])]);
}

/// Changes of a vector index have events as those of a global index.
#[test]
fn changes_of_a_vector_index_are_logged() {
    let twin = Twin::new(7);
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "VectorIndexes": [{"IndexName": "near", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2,
                "DistanceFunction": "EUCLIDEAN", "Projection": {"ProjectionType": "ALL"}}],
        }),
    );
    twin.engine.set_conditions(lagging()).unwrap();
    twin.engine.listen(true);
    let put = |members: Value| {
        let mut item = json!({"pk": {"S": "a"}});
        item.as_object_mut()
            .unwrap()
            .extend(members.as_object().unwrap().clone());
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        twin.engine.advance(Duration::from_secs(1));
    };
    let vector = |x: &str| json!({"v": {"L": [{"N": x}, {"N": "1"}]}});
    put(vector("1"));
    put(vector("2"));
    // Neither the table nor the index changes; then the entry goes.
    put(vector("2"));
    put(json!({"other": {"S": "x"}}));
    twin.engine.advance(Duration::from_secs(2));
    let index: Vec<String> = summaries(&twin, &["index", "action", "key", "arrives"])
        .into_iter()
        .filter(|event| event.contains("index"))
        .collect();
    assert_eq!(
        index,
        [
            "00:00.000Z indexChange near put a 00:02.000Z",
            "00:01.000Z indexChange near put a 00:03.000Z",
            "00:02.000Z indexArrival near put a",
            "00:03.000Z indexArrival near put a",
            "00:03.000Z indexChange near delete a 00:05.000Z",
            "00:05.000Z indexArrival near delete a",
        ]
    );
}

#[test]
fn events_cover_a_transaction_from_lock_to_application() {
    let twin = twin_with_events(&lagging());
    let key = |key: &str| json!({"pk": {"S": key}});
    twin.ok("TransactWriteItems", &json!({"TransactItems": [
        {"Put": {"TableName": "tab", "Item": key("a")}},
        {"ConditionCheck": {"TableName": "tab", "Key": key("b"), "ConditionExpression": "attribute_not_exists(pk)"}},
    ]}));
    // Somebody meets it.
    twin.send("PutItem", &json!({"TableName": "tab", "Item": key("a")}));
    twin.engine.advance(Duration::from_secs(4));
    assert_eq!(
        summaries(&twin, &["action", "key", "until", "outcome", "error"]),
        [
            "00:00.000Z request",
            "00:00.000Z entry a done",
            "00:00.000Z entry b done",
            "00:00.000Z transactionHold put a 00:04.000Z",
            "00:00.000Z transactionHold check b 00:04.000Z",
            "00:00.000Z request TransactionConflictException",
            "00:00.000Z entry a conflict TransactionConflictException",
            "00:04.000Z transactionApplied put a",
            "00:04.000Z streamRecord insert a",
        ]
    );
}

#[test]
fn explanations_name_limits_rules_and_stale_reads() {
    let twin = Twin::new(7);
    twin.engine
        .set_conditions(Conditions {
            capacity: Capacity::Enforced(Enforcement::AWS),
            read_staleness: Lag::Fixed(Duration::from_secs(5)),
            ..Conditions::CALM
        })
        .unwrap();
    create(&twin);
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "tab", "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": 9, "WriteCapacityUnits": 1},
        "GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "by-g",
            "ProvisionedThroughput": {"ReadCapacityUnits": 9, "WriteCapacityUnits": 9}}}]}),
    );
    twin.engine.advance(Duration::from_mins(1));
    twin.engine.watch(true);
    twin.engine.listen(true);
    put(&twin, "a", None);
    twin.engine.advance(Duration::from_secs(2));
    twin.ok("GetItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}}));
    let throttled = json!({"TableName": "tab", "Item": {"pk": {"S": "a"}, "v": {"S": "v".repeat(100_000)}}});
    while twin.send("PutItem", &throttled).0 == 200 {}
    twin.engine
        .add_fault(Rule::new(Verdict::Exception(ErrorKind::TransactionConflict)).operation("DeleteItem"))
        .unwrap();
    twin.send("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}}));

    let entries: Vec<Value> = events(&twin)
        .into_iter()
        .filter(|event| event["kind"] == "entry")
        .collect();
    let of = |act: &str| entries.iter().rfind(|entry| entry["act"] == act).unwrap();
    assert_eq!(
        (of("Get")["age"].as_f64(), &of("Get")["outcome"]),
        (Some(2.0), &json!("done"))
    );
    let put = of("Put");
    assert_eq!(put["outcome"], "throttled");
    assert_eq!(put["limits"][0]["reason"], "TableWriteProvisionedThroughputExceeded");
    assert!(put["limits"][0]["resource"].as_str().unwrap().ends_with(":table/tab"));
    let delete = of("Delete");
    assert_eq!((&delete["outcome"], &delete["fault"]), (&json!("conflict"), &json!(1)));
    for entry in &entries {
        assert_eq!(
            (&entry["token"], &entry["partition"]),
            (&put["token"], &put["partition"])
        );
        assert!(entry["partition"].is_u64() && entry["token"].as_str().unwrap().len() == 16);
    }
}

/// Both the event of an entry and the log of requests name the limits of the table and of its indexes.
#[test]
fn an_entry_names_each_limit_that_it_exceeds() {
    let twin = Twin::new(7);
    twin.engine
        .set_conditions(Conditions {
            capacity: Capacity::Enforced(Enforcement::AWS),
            ..Conditions::CALM
        })
        .unwrap();
    let units = json!({"ReadCapacityUnits": 1, "WriteCapacityUnits": 1});
    let attributes = ["pk", "g", "h"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    let index = |name: &str, attribute: &str| json!({"IndexName": name, "KeySchema": key(attribute), "Projection": {"ProjectionType": "ALL"}, "ProvisionedThroughput": units});
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "AttributeDefinitions": attributes, "KeySchema": key("pk"),
            "ProvisionedThroughput": units, "GlobalSecondaryIndexes": [index("by-g", "g"), index("by-h", "h")]}),
    );
    twin.engine.watch(true);
    twin.engine.listen(true);
    let exceed = |index_keys: &[&str]| {
        let refused = (0..100).find(|number| {
            let mut item = json!({"pk": {"S": format!("{index_keys:?}{number}")}, "v": {"S": "v".repeat(100_000)}});
            for name in index_keys {
                item[*name] = json!({"S": "x"});
            }
            twin.send("PutItem", &json!({"TableName": "tab", "Item": item})).0 == 400
        });
        assert!(refused.is_some());
        let entry = events(&twin).pop().unwrap();
        let answer = twin.engine.handle(&HttpRequest {
            method: "GET",
            target: "/_dynatwin/requests",
            headers: &HEADERS,
            body: b"",
        });
        let log: Value = serde_json::from_slice(&answer.body).unwrap();
        let logged = log["requests"].as_array().unwrap().last().unwrap()["accesses"][0]["limits"].clone();
        assert_eq!(entry["limits"], logged, "{entry} {log}");
        logged
    };
    let table = "arn:aws:dynamodb:us-east-1:000000000000:table/tab";
    let of_table = json!({"reason": "TableWriteProvisionedThroughputExceeded", "resource": table});
    let of_index = |name: &str| json!({"reason": "IndexWriteProvisionedThroughputExceeded", "resource": format!("{table}/index/{name}")});
    assert_eq!(
        exceed(&["g", "h"]),
        json!([of_table, of_index("by-g"), of_index("by-h")])
    );
    assert_eq!(exceed(&["h"]), json!([of_table, of_index("by-h")]));
    assert_eq!(exceed(&[]), json!([of_table]));
}

#[test]
fn the_outcome_of_an_entry_is_that_of_its_error() {
    let throttled = |exceeded| (Verdict::Throttle(exceeded), "throttled");
    for (verdict, expect) in [
        throttled(None),
        throttled(Some(Exceeded::ProvisionedThroughput)),
        throttled(Some(Exceeded::KeyRangeThroughput)),
        throttled(Some(Exceeded::MaxOnDemandThroughput)),
        throttled(Some(Exceeded::AccountLimit)),
        (Verdict::Exception(ErrorKind::TransactionConflict), "conflict"),
        (Verdict::Exception(ErrorKind::ConditionalCheckFailed), "conditionFailed"),
        (Verdict::ItemCollectionSizeLimitExceeded, "failed"),
        (Verdict::InternalServerError, "failed"),
        (Verdict::ServiceUnavailable, "failed"),
        (Verdict::Wait(Duration::ZERO), "done"),
    ] {
        let twin = twin_with_events(&Conditions::CALM);
        twin.engine.add_fault(Rule::new(verdict).operation("PutItem")).unwrap();
        twin.send("PutItem", &json!({"TableName": "tab", "Item": {"pk": {"S": "a"}}}));
        let entries: Vec<Value> = events(&twin)
            .into_iter()
            .filter(|event| event["kind"] == "entry")
            .map(|entry| entry["outcome"].clone())
            .collect();
        assert_eq!(entries, [expect], "{verdict:?}");
    }
    let twin = twin_with_events(&Conditions::CALM);
    let insert = json!({"Statement": "INSERT INTO tab VALUE {'pk': 'a'}"});
    twin.ok("ExecuteStatement", &insert);
    assert!(
        twin.error("ExecuteStatement", &insert)
            .starts_with("DuplicateItemException")
    );
    assert_eq!(events(&twin).pop().unwrap()["outcome"], "conditionFailed");
}

/// An entry has the age of the state that it has read, and not that of an entry before it.
#[test]
fn each_entry_has_the_age_of_its_own_read() {
    let twin = Twin::new(7);
    let staleness = Lag::Fixed(Duration::from_secs(5));
    twin.engine
        .set_conditions(Conditions {
            read_staleness: staleness,
            ..Conditions::CALM
        })
        .unwrap();
    create(&twin);
    let keys = ["a", "b", "c"];
    keys.iter().for_each(|key| put(&twin, key, None));
    twin.engine.advance(Duration::from_mins(1));
    twin.engine.watch(true);
    twin.engine.listen(true);
    keys.iter()
        .for_each(|key| put(&twin, key, Some(twin.seconds() + 10_000)));
    twin.engine.advance(Duration::from_secs(2));
    let age = |is_stale: bool| is_stale.then_some(2.0);
    for stale in [
        &[true][..],
        &[true, false],
        &[false, true],
        &[true, false, false],
        &[true, false, true],
        &[true, true],
    ] {
        let last = events(&twin).len();
        let statements = keys.iter().zip(stale).map(|(key, stale)| {
            json!({"Statement": format!("SELECT * FROM tab WHERE pk = '{key}'"), "ConsistentRead": !stale})
        });
        let statements: Vec<Value> = statements.collect();
        twin.ok("BatchExecuteStatement", &json!({"Statements": statements}));
        let logged = events(&twin);
        let entries = logged[last..].iter().filter(|event| event["kind"] == "entry");
        let ages: Vec<_> = entries.map(|entry| entry["age"].as_f64()).collect();
        let expect: Vec<_> = stale.iter().copied().map(age).collect();
        assert_eq!(ages, expect, "{statements:?}");
    }
}

/// A write may split a partition, and so may a transaction when it is applied.
#[test]
fn splits_are_logged() {
    for (pending, operation) in [(0, "PutItem"), (0, "TransactWriteItems"), (1, "TransactWriteItems")] {
        let twin = Twin::new(7);
        let small = Enforcement {
            partition_size: 20_000,
            ..Enforcement::AWS
        };
        twin.engine
            .set_conditions(Conditions {
                capacity: Capacity::Enforced(small),
                transaction_time: Lag::Fixed(Duration::from_secs(pending)),
                ..Conditions::CALM
            })
            .unwrap();
        create(&twin);
        twin.engine.watch(true);
        twin.engine.listen(true);
        for number in 0..20 {
            let item = json!({"pk": {"S": number.to_string()}, "v": {"S": "v".repeat(5000)}});
            let put = json!({"TableName": "tab", "Item": item});
            let body = match operation {
                "PutItem" => put,
                _ => json!({"TransactItems": [{"Put": put}]}),
            };
            twin.ok(operation, &body);
        }
        twin.engine.advance(Duration::from_secs(pending));
        let split: Vec<Value> = events(&twin)
            .into_iter()
            .filter(|event| event["kind"].as_str().unwrap().ends_with("Split"))
            .collect();
        let kinds: Vec<&str> = split.iter().map(|event| event["kind"].as_str().unwrap()).collect();
        assert!(
            kinds.contains(&"partitionSplit") && kinds.contains(&"shardSplit"),
            "{operation} {pending}: {kinds:?}"
        );
        let of_requests = split.iter().filter(|event| event.get("request").is_some());
        assert_eq!(
            of_requests.count() > 0,
            pending == 0,
            "{operation} {pending}: {split:?}"
        );
    }
}

#[test]
fn no_events_are_logged_without_subscribers() {
    let twin = Twin::new(7);
    create(&twin);
    twin.engine.watch(true);
    put(&twin, "a", None);
    assert_eq!(page(&twin, 0)["listening"], false);
    assert!(events(&twin).is_empty());
    twin.engine.listen(true);
    put(&twin, "b", None);
    twin.engine.listen(false);
    put(&twin, "c", None);
    let found = events(&twin);
    assert!(found.iter().all(|event| event["request"] == 2), "{found:?}");
    // A reset removes them, and an older cursor starts anew.
    let next = page(&twin, 0)["next"].as_u64().unwrap();
    twin.engine.reset().unwrap();
    assert_eq!(
        page(&twin, next),
        json!({"listening": false, "next": 0, "missed": 0, "cleared": true, "events": []})
    );
}

/// A restore continues to watch where that was requested, and not for a subscription alone.
#[test]
fn a_subscription_does_not_outlive_a_restore() {
    for (watches, listens) in [(false, false), (true, false), (false, true), (true, true)] {
        let twin = Twin::new(1);
        let snapshot = twin.engine.snapshot();
        twin.engine.watch(watches);
        twin.engine.listen(listens);
        twin.engine.begin_event_subscription();
        twin.engine.restore(&snapshot).unwrap();
        twin.engine.end_event_subscription();
        assert_eq!(twin.engine.is_watched(), watches || listens, "{watches} {listens}");
        twin.engine.listen(false);
        assert_eq!(twin.engine.is_watched(), watches, "{watches} {listens}");
    }
}

/// A subscription implies watching, and ends alone.
#[test]
fn subscriptions_are_independent() {
    let twin = Twin::new(7);
    create(&twin);
    let logged = |key: &str| {
        let before = page(&twin, 0)["next"].as_u64().unwrap();
        put(&twin, key, None);
        (
            twin.engine.is_watched(),
            page(&twin, 0)["next"].as_u64().unwrap() > before,
        )
    };
    assert_eq!(logged("a"), (false, false));
    twin.engine.begin_event_subscription();
    assert_eq!(logged("b"), (true, true));
    twin.engine.begin_event_subscription();
    twin.engine.listen(true);
    twin.engine.listen(false);
    twin.engine.end_event_subscription();
    assert_eq!(logged("c"), (true, true));
    twin.engine.end_event_subscription();
    assert_eq!(logged("d"), (false, false));
    // A subscription that watching outlives.
    twin.engine.watch(true);
    twin.engine.begin_event_subscription();
    twin.engine.end_event_subscription();
    assert_eq!(logged("e"), (true, false));
    twin.engine.listen(true);
    twin.engine.watch(false);
    assert_eq!(logged("f"), (true, true));
    let next = page(&twin, 0)["next"].as_u64().unwrap();
    let waker = std::task::Waker::noop();
    let has = |number| twin.engine.has_events_after(number, waker);
    assert_eq!([next - 1, next, next + 1].map(has), [true, false, true]);
}

/// A request for an unknown operation is logged as any other that fails.
#[test]
fn an_unknown_operation_is_logged() {
    let twin = twin_with_events(&Conditions::CALM);
    assert_eq!(twin.send("NoOperation", &json!({})).0, 400);
    let found = events(&twin);
    let logged = found.iter().find(|event| event["operation"] == "NoOperation");
    assert_eq!(logged.map(|event| &event["kind"]), Some(&json!("request")), "{found:?}");
    let request = twin.engine.requests().pop().unwrap();
    assert_eq!((request.operation.as_str(), request.status), ("NoOperation", 400));
    assert_eq!(request.error, Some(ErrorKind::UnknownOperation));
    assert_eq!(request.delivery, Delivery::Whole);
    // Only the first characters of a long name are logged.
    for (sent, logged) in [(63, 63), (64, 64), (65, 64), (1000, 64)] {
        assert_eq!(twin.send(&"ä".repeat(sent), &json!({})).0, 400);
        let request = twin.engine.requests().pop().unwrap();
        assert_eq!(request.operation, "ä".repeat(logged), "{sent}");
    }
}

/// Runs a random step of a script: a request, or an advance of the clock.
fn step(twin: &Twin, choice: &mut Choice) {
    let key = json!({"pk": {"S": format!("k{}", choice.below(6))}});
    let mut item = key.clone();
    item["g"] = json!({"S": format!("g{}", choice.below(3))});
    if choice.one_in(2) {
        let expires = twin.seconds() - 5 + choice.below(60) as i64;
        item["expires"] = json!({"N": expires.to_string()});
    }
    let (operation, body) = match choice.below(6) {
        0..=2 => ("PutItem", json!({"TableName": "tab", "Item": item})),
        3 => ("Scan", json!({"TableName": "tab", "IndexName": "by-g"})),
        4 => ("GetItem", json!({"TableName": "tab", "Key": key})),
        _ => (
            "TransactWriteItems",
            json!({"TransactItems": [{"Put": {"TableName": "tab", "Item": item}}]}),
        ),
    };
    twin.send(operation, &body);
    if choice.one_in(3) {
        twin.engine.advance(Duration::from_millis(choice.below(20_000)));
    }
}

/// The log does not depend on reads in between, and with or without the engine's timer.
#[test]
fn a_script_logs_identical_events_each_time() {
    for seed in 0..setting("DYNATWIN_HISTORIES").unwrap_or(10) {
        for conditions in [Conditions::CALM, lagging(), Conditions::STORM] {
            let logs = [false, true].map(|looks| {
                let twin = twin_with_events(&conditions);
                let (mut choice, mut look) = (Choice(seed), Choice(seed + 77));
                let (mut log, mut after) = (Vec::new(), 0);
                for _ in 0..60 {
                    step(&twin, &mut choice);
                    if looks && look.one_in(2) {
                        twin.engine.run_background_work();
                        twin.engine.items(&twin.caller, "tab");
                        let page = page(&twin, after);
                        after = page["next"].as_u64().unwrap();
                        log.extend(page["events"].as_array().unwrap().clone());
                    }
                }
                log.extend(page(&twin, after)["events"].as_array().unwrap().clone());
                log
            });
            let [alone, looked_at] = logs;
            assert!(alone.len() > 100, "{}", alone.len());
            for (alone, looked_at) in alone.iter().zip(&looked_at) {
                assert_eq!(alone, looked_at, "seed {seed}");
            }
            assert_eq!(alone.len(), looked_at.len());
            // What happens next happens later.
            let request = |event: &Value| event["request"].as_u64();
            let numbers: Vec<u64> = alone.iter().filter_map(request).collect();
            assert!(numbers.is_sorted());
        }
    }
}

/// As an `EventSource` requests them.
#[test]
fn events_are_encoded_as_server_sent_events() {
    let twin = twin_with_events(&Conditions::CALM);
    put(&twin, "a", None);
    let ask = |headers: &[(&str, &str)], target: &str| {
        let headers: Vec<(&str, &str)> = HEADERS.iter().chain(headers).copied().collect();
        let headers: Vec<(String, String)> = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let answer = twin.engine.handle(&HttpRequest {
            method: "GET",
            target,
            headers: &headers,
            body: b"",
        });
        assert_eq!(answer.status, 200, "{target}");
        let kind = answer
            .headers
            .iter()
            .find(|(name, _)| *name == "content-type")
            .unwrap()
            .1
            .to_string();
        (kind, String::from_utf8(answer.body).unwrap())
    };
    let stream = [("accept", "text/event-stream")];
    let (kind, text) = ask(&stream, "/_dynatwin/events");
    assert_eq!(kind, "text/event-stream");
    let sent: Vec<Value> = text
        .lines()
        .filter_map(|line| Some(serde_json::from_str(line.strip_prefix("data: ")?).unwrap()))
        .collect();
    assert_eq!(sent, events(&twin));
    assert!(
        text.starts_with("id: 1\ndata: {") && text.ends_with("}\n\nid: 4\n\n"),
        "{text}"
    );
    // Received events are not sent again.
    let resumed = [stream[0], ("last-event-id", "3")];
    for after in [1, 4] {
        let (_, text) = ask(&resumed, &format!("/_dynatwin/events?after={after}"));
        assert!(text.starts_with("id: 4\ndata: "), "{after}: {text}");
    }
    assert!(
        ask(&[("accept", "application/json")], "/_dynatwin/events")
            .0
            .contains("json")
    );
    twin.engine.reset().unwrap();
    assert_eq!(
        ask(&resumed, "/_dynatwin/events").1,
        "event: cleared\ndata: {}\n\nid: 0\n\n"
    );
}

/// Events are logged while at least one subscription is open.
#[test]
fn subscriptions_end_independently() {
    let twin = Twin::new(7);
    create(&twin);
    let logs = |key: &str| {
        let before = page(&twin, 0)["next"].as_u64().unwrap();
        put(&twin, key, None);
        twin.engine.has_events_after(before, std::task::Waker::noop())
    };
    assert!(!logs("a"));
    twin.engine.begin_event_subscription();
    assert!(logs("b"));
    twin.engine.begin_event_subscription();
    assert!(logs("c"));
    twin.engine.end_event_subscription();
    assert!(logs("d"));
    twin.engine.end_event_subscription();
    assert!(!logs("e"));
}

#[test]
fn requests_for_unknown_operations_are_logged() {
    let twin = twin_with_events(&Conditions::CALM);
    twin.send("Nothing", &json!({}));
    assert_eq!(
        summaries(&twin, &["operation", "status", "error"]),
        ["00:00.000Z request Nothing 400 UnknownOperationException"]
    );
    twin.engine.listen(false);
    twin.send("Nothing", &json!({}));
    assert_eq!((events(&twin).len(), twin.engine.requests_seen()), (1, 2));
}

/// A host can move the clock itself. Work that became due is logged before the next request, in the order of time.
#[test]
fn due_work_is_logged_before_the_next_request() {
    let twin = twin_with_events(&lagging());
    put(&twin, "a", Some(twin.seconds() + 1));
    twin.engine.clock().advance(Duration::from_secs(40));
    twin.ok("ListTables", &json!({}));
    let events = summaries(&twin, &[]);
    for kind in ["indexArrival", "expiry"] {
        assert!(events.iter().any(|event| event.ends_with(kind)), "{kind}: {events:?}");
    }
    assert_eq!(events.last().unwrap(), "00:40.000Z request", "{events:?}");
}
