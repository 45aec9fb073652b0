//! The pages of items and index entries that controls list, and pending work.

use std::time::Duration;

use crate::common::Twin;
use dynatwin_engine::http::HttpRequest;
use dynatwin_engine::{Conditions, Lag, Moment, TimeToLive};
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
    get(twin, &format!("items?{query}"))
}

/// Returns the answer of a control of the table.
fn get(twin: &Twin, control: &str) -> Value {
    let answer = twin.engine.handle(&HttpRequest {
        method: "GET",
        target: &format!("/_dynatwin/tables/Orders/{control}"),
        headers: &[("host", "here")],
        body: b"",
    });
    let body = String::from_utf8_lossy(&answer.body).into_owned();
    assert_eq!(answer.status, 200, "{control}: {body}");
    serde_json::from_str(&body).unwrap()
}

/// Returns all pages of a listing, with three items each.
fn walk(twin: &Twin, query: &str) -> Vec<Value> {
    let (mut items, mut after) = (Vec::new(), String::new());
    loop {
        let page = page(twin, &format!("limit=3{query}{after}"));
        items.extend(page["items"].as_array().unwrap().iter().cloned());
        assert!(items.len() < 1000, "the listing does not end: {query}{after}");
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return items,
        }
    }
}

/// `after` continues a listing after an item with a key of any length.
#[test]
fn pages_go_on_after_long_keys() {
    let twin = orders();
    let there = walk(&twin, "").len();
    for at in 0..6 {
        let customer = "c".repeat(1024);
        let order = format!("{}{at}", "o".repeat(1023));
        let item = json!({"customer": {"S": customer}, "order": {"S": order}});
        twin.ok("PutItem", &json!({"TableName": "Orders", "Item": item}));
    }
    let scanned = twin.ok("Scan", &json!({"TableName": "Orders"}))["Items"].clone();
    let found = walk(&twin, "");
    let found: Vec<Value> = found.iter().map(|stored| stored["item"].clone()).collect();
    assert_eq!(found.len(), there + 6);
    assert_eq!(json!(found), scanned);
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

/// A page after skipped items ends with the item that makes it a megabyte, as any other.
#[test]
fn a_page_after_skipped_items_ends_at_a_megabyte() {
    let twin = orders();
    // An item has 21 bytes of names and keys beside its value.
    let put = |order: &str, size: usize| {
        let item = json!({"customer": {"S": "large"}, "order": {"S": order}, "v": {"S": "v".repeat(size - 21)}});
        twin.ok("PutItem", &json!({"TableName": "Orders", "Item": item}));
    };
    for (last, count) in [(262_144, 4), (262_143, 5)] {
        put("00", 100);
        ["01", "02", "03"].iter().for_each(|order| put(order, 262_144));
        put("04", last);
        put("05", 100);
        let place = walk(&twin, "")
            .iter()
            .position(|stored| stored["item"]["order"]["S"] == "00");
        // The listing continues, although the second limit exceeds what is left.
        for limit in [10, 500] {
            let found = page(&twin, &format!("skip={}&limit={limit}", place.unwrap() + 1));
            assert_eq!(found["items"].as_array().unwrap().len(), count, "{last} {limit}");
            assert!(found["next"].is_string(), "{last} {limit}");
        }
    }
}

/// The entries of a global index are placed in the index's own partitions, those of a local index in the table's.
#[test]
fn entries_are_placed_in_the_partitions_of_their_index() {
    let twin = Twin::new(7);
    let attributes = ["pk", "sk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let key = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let units = |write: u64| json!({"ReadCapacityUnits": 1, "WriteCapacityUnits": write});
    let all = json!({"ProjectionType": "ALL"});
    twin.ok(
        "CreateTable",
        &json!({"TableName": "Orders", "AttributeDefinitions": attributes, "KeySchema": key("pk", "sk"),
            "ProvisionedThroughput": units(1),
            "LocalSecondaryIndexes": [{"IndexName": "local", "KeySchema": key("pk", "g"), "Projection": all}],
            "GlobalSecondaryIndexes": [
                {"IndexName": "first", "KeySchema": key("sk", "g"), "Projection": all, "ProvisionedThroughput": units(1)},
                {"IndexName": "global", "KeySchema": key("g", "pk"), "Projection": all, "ProvisionedThroughput": units(3500)},
                {"IndexName": "last", "KeySchema": key("sk", "pk"), "Projection": all, "ProvisionedThroughput": units(1500)}]}),
    );
    for number in 0..40 {
        let text = |text: &str| json!({"S": format!("{text}{number}")});
        let item = json!({"pk": text("p"), "sk": text("s"), "g": text("g")});
        twin.ok("PutItem", &json!({"TableName": "Orders", "Item": item}));
    }
    let check = |what: &str| {
        for (index, partitions) in [
            ("", 1),
            ("&index=local", 1),
            ("&index=first", 1),
            ("&index=global", 4),
            ("&index=last", 2),
        ] {
            let listed = walk(&twin, index);
            let mut seen: Vec<u64> = listed
                .iter()
                .map(|stored| stored["partition"].as_u64().unwrap())
                .collect();
            assert!(seen.is_sorted(), "{what}{index}: {seen:?}");
            seen.dedup();
            assert_eq!(seen, (0..partitions).collect::<Vec<_>>(), "{what}{index}");
            let last = walk(&twin, &format!("{index}&partition={}", partitions - 1));
            assert!(listed.ends_with(&last) && !last.is_empty(), "{what}{index}");
        }
    };
    check("calm");
    // Units that are counted have the same partitions.
    twin.engine
        .set_conditions(Conditions {
            capacity: Conditions::AWS.capacity,
            ..Conditions::CALM
        })
        .unwrap();
    check("enforced");
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

/// The lists of pending work have the first entries of each kind, in the order in which they are due.
#[test]
fn pending_work_is_listed_in_its_order() {
    let twin = Twin::new(7);
    let attributes = ["customer", "order", "date"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let key = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    twin.ok(
        "CreateTable",
        &json!({"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": attributes, "KeySchema": key("customer", "order"),
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"},
            "GlobalSecondaryIndexes": [{"IndexName": "global", "KeySchema": key("date", "customer"),
                "Projection": {"ProjectionType": "ALL"}}]}),
    );
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": "Orders", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}}),
    );
    let order = |order: &str| json!({"customer": {"S": "c"}, "order": {"S": order}});
    let put = |name: &str, seconds: i64| {
        let mut item = order(name);
        item["date"] = json!({"S": "d"});
        item["ttl"] = json!({"N": (Moment::START.seconds() + seconds).to_string()});
        json!({"TableName": "Orders", "Item": item})
    };
    twin.ok("PutItem", &put("here", 1000));
    let fixed = |seconds| Lag::Fixed(Duration::from_secs(seconds));
    twin.engine
        .set_conditions(Conditions {
            index_propagation: fixed(50),
            stream_lag: fixed(70),
            transaction_time: fixed(90),
            time_to_live: TimeToLive::Deletes(fixed(100)),
            ..Conditions::CALM
        })
        .unwrap();
    // The later a change, the earlier the item expires.
    for (name, seconds) in [("1", 900), ("2", 800), ("3", 700), ("4", 600)] {
        twin.ok("PutItem", &put(name, seconds));
        twin.engine.advance(Duration::from_secs(1));
    }
    twin.ok(
        "UpdateItem",
        &json!({"TableName": "Orders", "Key": order("here"), "UpdateExpression": "REMOVE #d",
            "ExpressionAttributeNames": {"#d": "date"}}),
    );
    let missing = |name: &str| {
        json!({"TableName": "Orders", "Key": order(name),
        "ConditionExpression": "attribute_not_exists(customer)"})
    };
    let present = json!({"TableName": "Orders", "Key": order("here")});
    for transaction in [
        json!([{"Put": put("5", 500)}, {"Delete": present}]),
        json!([{"ConditionCheck": missing("6")}, {"Delete": missing("7")}]),
    ] {
        twin.ok("TransactWriteItems", &json!({"TransactItems": transaction}));
        twin.engine.advance(Duration::from_secs(1));
    }
    let shown = |limit: usize, pending: &Value| -> Vec<String> {
        let first = pending["first"].as_array().unwrap();
        let short = |item: &Value| {
            let due = Moment::parse(item["due"].as_str().unwrap()).unwrap();
            let name = item["key"]["order"]["S"].as_str().unwrap_or("-");
            format!(
                "{} {} {name}",
                due.since(Moment::START).as_secs(),
                item["action"].as_str().unwrap()
            )
        };
        assert_eq!(pending["next"], first[0]["due"], "{limit}");
        first.iter().map(short).collect()
    };
    let transactions = ["94 put 5", "94 delete here", "95 check -", "95 check -"];
    let kinds: [(&str, usize, &[&str]); 4] = [
        (
            "timeToLive",
            5,
            &[
                "700 delete 4",
                "800 delete 3",
                "900 delete 2",
                "1000 delete 1",
                "1100 delete here",
            ],
        ),
        ("transactions", 4, &transactions),
        (
            "streamRecords",
            5,
            &[
                "70 insert 1",
                "71 insert 2",
                "72 insert 3",
                "73 insert 4",
                "74 modify here",
            ],
        ),
        (
            "indexes",
            5,
            &["50 put 1", "51 put 2", "52 put 3", "53 put 4", "54 delete here"],
        ),
    ];
    for limit in [1, 2, 3, 1000] {
        let pending = get(&twin, &format!("pending?limit={limit}"));
        for (kind, count, expect) in kinds {
            let pending = if kind == "indexes" {
                &pending[kind][0]
            } else {
                &pending[kind]
            };
            assert_eq!(pending["count"], count, "{kind}");
            let expect = &expect[..expect.len().min(limit)];
            let mut found = shown(limit, pending);
            if kind == "transactions" {
                // Actions of one moment are in the order of their keys.
                assert_eq!(found.len(), expect.len());
                let times =
                    |lines: &[String]| -> Vec<String> { lines.iter().map(|line| line[..2].to_owned()).collect() };
                assert!(times(&found).is_sorted());
                found.retain(|line| !transactions.contains(&line.as_str()));
                assert!(found.is_empty(), "{found:?}");
                continue;
            }
            assert_eq!(found, expect, "{kind} {limit}");
        }
    }
    let all = get(&twin, "pending")["timeToLive"]["first"].clone();
    assert_eq!(
        all[0]["expires"],
        Moment::START.plus(Duration::from_mins(10)).to_string()
    );
}

/// The clock shows when something happens next, whatever kind of work it is.
#[test]
fn the_clock_shows_when_any_work_is_due() {
    let lag = Lag::Fixed(Duration::from_secs(5));
    let calm = Conditions::CALM;
    for (what, conditions) in [
        (
            "index",
            Conditions {
                index_propagation: lag,
                ..calm
            },
        ),
        (
            "stream",
            Conditions {
                stream_lag: lag,
                ..calm
            },
        ),
        (
            "transaction",
            Conditions {
                transaction_time: lag,
                ..calm
            },
        ),
        (
            "deletion",
            Conditions {
                time_to_live: TimeToLive::Deletes(lag),
                ..calm
            },
        ),
        (
            "table",
            Conditions {
                table_status: lag,
                ..calm
            },
        ),
        (
            "arrival",
            Conditions {
                replication_lag: lag,
                ..calm
            },
        ),
    ] {
        let twin = Twin::new(7);
        let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
        let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
        let table = |name: &str| {
            json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": attributes, "KeySchema": key("pk"),
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
            "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": key("g"),
                "Projection": {"ProjectionType": "ALL"}}]})
        };
        twin.ok("CreateTable", &table("tab"));
        let live = json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}});
        twin.ok("UpdateTimeToLive", &live);
        if what == "arrival" {
            let update = json!({"TableName": "tab", "ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]});
            twin.ok("UpdateTable", &update);
        }
        twin.engine.set_conditions(conditions).unwrap();
        let next = || {
            let request = HttpRequest {
                method: "GET",
                target: "/_dynatwin/clock",
                headers: &[("host", "here")],
                body: b"",
            };
            let clock: Value = serde_json::from_slice(&twin.engine.handle(&request).body).unwrap();
            let next = clock["nextDue"].as_str().map(|text| Moment::parse(text).unwrap());
            next.map(|next| next.since(Moment::START).as_secs())
        };
        assert_eq!(next(), None, "{what}");
        let mut item = json!({"pk": {"S": "a"}, "g": {"S": "g"}});
        if what == "deletion" {
            item["ttl"] = json!({"N": Moment::START.seconds().to_string()});
        }
        let put = json!({"TableName": "tab", "Item": item});
        match what {
            "table" => twin.ok("CreateTable", &table("other")),
            "transaction" => twin.ok("TransactWriteItems", &json!({"TransactItems": [{"Put": put}]})),
            _ => twin.ok("PutItem", &put),
        };
        assert_eq!(next(), Some(5), "{what}");
        twin.engine.advance(Duration::from_secs(5));
        assert_eq!(next(), None, "{what}");
    }
}

/// `next` is the earliest moment at which pending work of any kind is due, except that of a paused index.
#[test]
fn next_is_when_the_earliest_pending_work_is_due() {
    let twin = orders();
    let fixed = |seconds| Lag::Fixed(Duration::from_secs(seconds));
    twin.engine
        .set_conditions(Conditions {
            index_propagation: fixed(5),
            stream_lag: fixed(7),
            transaction_time: fixed(9),
            time_to_live: TimeToLive::Deletes(fixed(100)),
            ..Conditions::CALM
        })
        .unwrap();
    let account = twin.engine.account(&twin.caller);
    account.pause_index("Orders", "global").unwrap();
    let item = json!({"customer": {"S": "c"}, "order": {"S": "o"}, "date": {"S": "d"}});
    let put = json!({"TransactItems": [{"Put": {"TableName": "Orders", "Item": item}}]});
    let update = |change: Value| {
        let mut update = json!({"TableName": "Orders"});
        update
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        twin.ok("UpdateTable", &update);
    };
    update(json!({"StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}}));
    twin.engine
        .set_conditions(Conditions {
            table_status: fixed(40),
            ..twin.engine.conditions()
        })
        .unwrap();
    // A change of warm throughput takes sixty times the lag of table states, and a change of the class three quarters of it.
    update(json!({"WarmThroughput": {"ReadUnitsPerSecond": 20_000, "WriteUnitsPerSecond": 8000}}));
    update(json!({"TableClass": "STANDARD_INFREQUENT_ACCESS"}));
    twin.ok("TransactWriteItems", &put);

    let (mut seen, mut statuses) = (Vec::new(), Vec::new());
    loop {
        let pending = get(&twin, "pending");
        let Some(next) = pending["next"].as_str() else { break };
        let next = Moment::parse(next).unwrap();
        seen.push(next.since(Moment::START).as_secs());
        let status = Moment::parse(pending["statusChange"].as_str().unwrap()).unwrap();
        statuses.push(status.since(Moment::START).as_secs());
        twin.engine.clock().set(next);
    }
    // The transaction, its stream record, the class, the deletion, its stream record, and warm throughput.
    assert_eq!(seen, [9, 16, 30, 160, 167, 2400]);
    assert_eq!(statuses, [30, 30, 30, 2400, 2400, 2400]);
    assert_eq!(get(&twin, "pending")["indexes"][0]["count"], 2);
    account.resume_index("Orders", "global").unwrap();
    assert_eq!(get(&twin, "pending")["indexes"][0]["count"], 0);
}

/// Each change of a table that takes time is pending until it is complete, in the region in which it happens.
#[test]
fn each_change_of_a_table_is_pending_until_its_end() {
    let units =
        |units: u64| json!({"ProvisionedThroughput": {"ReadCapacityUnits": units, "WriteCapacityUnits": units}});
    let warm = json!({"WarmThroughput": {"ReadUnitsPerSecond": 20_000, "WriteUnitsPerSecond": 8000}});
    let most =
        |units: i64| json!({"OnDemandThroughput": {"MaxReadRequestUnits": units, "MaxWriteRequestUnits": units}});
    let stream = |view: &str| json!({"StreamSpecification": {"StreamEnabled": true, "StreamViewType": view}});
    let with = |mut first: Value, second: &Value| {
        let members = second.as_object().unwrap().clone();
        first.as_object_mut().unwrap().extend(members);
        first
    };
    let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let attributes = json!({"AttributeDefinitions": attributes});
    let index = |name: &str, more: &Value| {
        let key = json!([{"AttributeName": "g", "KeyType": "HASH"}]);
        let index = json!({"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": "ALL"}});
        with(index, more)
    };
    let table = |name: &str, billing: &str| {
        let limits = if billing == "PROVISIONED" { units(5) } else { json!({}) };
        let key = json!([{"AttributeName": "pk", "KeyType": "HASH"}]);
        let table = json!({"TableName": name, "BillingMode": billing, "KeySchema": key,
            "GlobalSecondaryIndexes": [index("by-g", &limits)]});
        with(with(table, &attributes), &limits)
    };
    let indexes = |update: Value| json!({"GlobalSecondaryIndexUpdates": [update]});
    let of_index = |more: &Value| indexes(json!({"Update": with(json!({"IndexName": "by-g"}), more)}));
    let create = with(indexes(json!({"Create": index("new", &json!({}))})), &attributes);
    let both = with(of_index(&units(6)), &units(6));
    let replica = |action: &str| json!({"ReplicaUpdates": [{action: {"RegionName": "eu-west-1"}}]});
    let live = json!({"TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}});
    let here = |seconds: &[f64]| -> Vec<(&'static str, f64)> { seconds.iter().map(|at| ("us-east-1", *at)).collect() };
    let update = "UpdateTable";
    /// The billing mode, the operation, its bodies, and where and after how many seconds the last change is complete.
    type Row = (&'static str, &'static str, Vec<Value>, Vec<(&'static str, f64)>);
    let rows: Vec<Row> = vec![
        (
            "PAY_PER_REQUEST",
            "CreateTable",
            vec![table("other", "PAY_PER_REQUEST")],
            here(&[40.0]),
        ),
        ("PAY_PER_REQUEST", "DeleteTable", vec![json!({})], here(&[40.0])),
        ("PROVISIONED", "DeleteTable", vec![json!({})], here(&[40.0])),
        ("PROVISIONED", update, vec![units(6)], here(&[10.0])),
        ("PROVISIONED", update, vec![units(4)], here(&[10.0])),
        ("PROVISIONED", update, vec![of_index(&units(6))], here(&[20.0])),
        ("PROVISIONED", update, vec![of_index(&units(4))], here(&[20.0])),
        ("PROVISIONED", update, vec![both.clone()], here(&[10.0, 20.0])),
        (
            "PROVISIONED",
            update,
            vec![json!({"BillingMode": "PAY_PER_REQUEST"})],
            here(&[1000.0]),
        ),
        (
            "PAY_PER_REQUEST",
            update,
            vec![with(both, &json!({"BillingMode": "PROVISIONED"}))],
            here(&[20.0, 520.0]),
        ),
        ("PAY_PER_REQUEST", update, vec![create], here(&[3400.0])),
        (
            "PAY_PER_REQUEST",
            update,
            vec![indexes(json!({"Delete": {"IndexName": "by-g"}}))],
            here(&[28.0]),
        ),
        ("PAY_PER_REQUEST", update, vec![stream("KEYS_ONLY")], here(&[30.0])),
        (
            "PAY_PER_REQUEST",
            update,
            vec![json!({"TableClass": "STANDARD_INFREQUENT_ACCESS"})],
            here(&[30.0]),
        ),
        (
            "PAY_PER_REQUEST",
            update,
            vec![json!({"SSESpecification": {"Enabled": true, "SSEType": "KMS"}})],
            here(&[144.0]),
        ),
        (
            "PAY_PER_REQUEST",
            update,
            vec![json!({"DeletionProtectionEnabled": true})],
            vec![],
        ),
        ("PAY_PER_REQUEST", update, vec![most(7)], vec![]),
        ("PAY_PER_REQUEST", update, vec![most(7), most(-1)], here(&[6.8])),
        ("PAY_PER_REQUEST", update, vec![of_index(&most(7))], here(&[20.0])),
        ("PAY_PER_REQUEST", update, vec![warm.clone()], here(&[2400.0])),
        ("PAY_PER_REQUEST", update, vec![of_index(&warm)], here(&[2400.0])),
        (
            "PAY_PER_REQUEST",
            update,
            vec![stream("NEW_AND_OLD_IMAGES"), replica("Create")],
            vec![("eu-west-1", 200.0)],
        ),
        (
            "PAY_PER_REQUEST",
            update,
            vec![stream("NEW_AND_OLD_IMAGES"), replica("Create"), replica("Delete")],
            vec![("eu-west-1", 1240.0)],
        ),
        ("PAY_PER_REQUEST", "UpdateTimeToLive", vec![live], vec![]),
    ];
    for (billing, operation, changes, expect) in rows {
        let twin = Twin::new(7);
        twin.ok("CreateTable", &table("tab", billing));
        twin.engine
            .set_conditions(Conditions {
                table_status: Lag::Fixed(Duration::from_secs(40)),
                ..Conditions::CALM
            })
            .unwrap();
        let ask = |path: &str| -> Value {
            let answer = twin.engine.handle(&HttpRequest {
                method: "GET",
                target: &format!("/_dynatwin/{path}"),
                headers: &[("host", "here")],
                body: b"",
            });
            serde_json::from_slice(&answer.body).unwrap()
        };
        let what = format!("{operation} {changes:?}");
        let (last, before) = changes.split_last().unwrap();
        for change in before {
            twin.ok(operation, &with(json!({"TableName": "tab"}), change));
            twin.engine.advance(Duration::from_hours(1));
        }
        let start = twin.engine.clock().now();
        twin.ok(operation, &with(json!({"TableName": "tab"}), last));
        let mut seen = Vec::new();
        loop {
            for table in ask("tables").as_array().unwrap() {
                if table["region"] == "us-east-1" {
                    let described = twin.ok("DescribeTable", &json!({"TableName": table["table"]}));
                    assert_eq!(table["status"], described["Table"]["TableStatus"], "{what}");
                }
            }
            let mut nexts = Vec::new();
            for table in ask("pending").as_array().unwrap() {
                assert_eq!(table["statusChange"], table["next"], "{what}");
                if let Some(next) = table["next"].as_str() {
                    nexts.push((
                        Moment::parse(next).unwrap(),
                        table["region"].as_str().unwrap().to_owned(),
                    ));
                }
            }
            let due = ask("clock")["nextDue"]
                .as_str()
                .map(|text| Moment::parse(text).unwrap());
            assert_eq!(nexts.iter().map(|(next, _)| *next).min(), due, "{what}");
            let Some((next, region)) = nexts.into_iter().min() else {
                break;
            };
            seen.push((region, next.since(start).as_secs_f64()));
            // It is pending until the last moment.
            twin.engine
                .advance(next.since(twin.engine.clock().now().plus(Duration::from_millis(1))));
            assert_eq!(ask("clock")["nextDue"], next.to_string(), "{what}");
            twin.engine.advance(Duration::from_millis(1));
        }
        let seen: Vec<_> = seen.iter().map(|(region, at)| (region.as_str(), *at)).collect();
        assert_eq!(seen, expect, "{what}");
        let tables = ask("pending").as_array().unwrap().len();
        let expect = match (operation, &last) {
            ("CreateTable", _) => 2,
            ("DeleteTable", _) => 0,
            _ if last["ReplicaUpdates"][0].get("Create").is_some() => 2,
            _ => 1,
        };
        assert_eq!(tables, expect, "{what}");
    }
}

/// Skipped items are counted from the position at which a page starts.
#[test]
fn items_are_skipped_after_the_page_before() {
    let twin = orders();
    for (index, count) in [("", 20), ("&index=global", 16), ("&index=local", 16)] {
        let all = page(&twin, &format!("limit=100{index}"))["items"].clone();
        let all = all.as_array().unwrap();
        assert_eq!(all.len(), count, "{index}");
        for before in [1, 4] {
            let first = page(&twin, &format!("limit={before}{index}"));
            let next = first["next"].as_str().unwrap();
            for skip in [0, 1, 5, 30] {
                let found = page(&twin, &format!("limit=3&skip={skip}&after={next}{index}"));
                let skipped = skip.min(count - before);
                let rest = &all[before + skipped..];
                assert_eq!(found["skipped"], skipped, "{index} {before} {skip}");
                assert_eq!(
                    found["items"],
                    json!(rest[..rest.len().min(3)]),
                    "{index} {before} {skip}"
                );
            }
        }
    }
}

/// An expression is evaluated for the items that a page of items has, of the table or of an index.
#[test]
fn an_expression_is_evaluated_for_the_items_of_a_page() {
    let twin = orders();
    let keys = |page: &Value| -> Vec<Value> {
        let items = page["items"].as_array().unwrap();
        items.iter().map(|item| item["key"].clone()).collect()
    };
    let explain = "expression?kind=FilterExpression&expression=attribute_exists(%23d)%20AND%20customer%20%3C%3E%20:c\
        &names=%7B%22%23d%22:%22date%22%7D&values=%7B%22:c%22:%7B%22S%22:%22c1%22%7D%7D";
    for (index, count) in [("", 20), ("&index=global", 16), ("&index=local", 16)] {
        for (limit, most) in [("&limit=1", 1), ("&limit=7", 7), ("", 10), ("&limit=100", 100)] {
            let (mut after, mut seen, mut holding) = (String::new(), 0, 0);
            loop {
                let listed = page(&twin, &format!("limit={most}{index}{after}"));
                let explained = get(&twin, &format!("{explain}{index}{limit}{after}"));
                assert_eq!(keys(&explained), keys(&listed), "{index} {limit} {after}");
                let items = explained["items"].as_array().unwrap();
                seen += items.len();
                assert!(items.len() <= most, "{index} {limit} {after}");
                for item in items {
                    let customer = item["key"]["customer"]["S"].as_str().unwrap();
                    // Orders of the last customer have no date.
                    let holds = customer != "c1" && customer != "c4";
                    assert_eq!(item["holds"], holds, "{index} {limit} {item}");
                    holding += usize::from(holds);
                }
                match listed["next"].as_str() {
                    Some(next) => after = format!("&after={next}"),
                    None => break,
                }
            }
            assert_eq!((seen, holding), (count, 12), "{index} {limit}");
        }
    }
}
