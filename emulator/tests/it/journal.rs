//! The records of a watched engine: counters, the log of requests, scans.

use std::time::Duration;

use crate::common::commits::{self, Recorder};
use crate::common::{Choice, Twin, create_table_with_ttl, setting, settings};
use dynatwin_engine::attributes::{AttributeValue, partition_token};
use dynatwin_engine::faults::{Exceeded, KeyMatch, Rule, Verdict};
use dynatwin_engine::http::HttpRequest;
use dynatwin_engine::monitoring::{Injected, ItemAction, Request, Spent};
use dynatwin_engine::{Caller, Capacity, Conditions, Enforcement, ErrorKind, Lag, TimeToLive};
use serde_json::{Value, json};

fn watched() -> Twin {
    let twin = Twin::new(1);
    twin.engine.watch(true);
    create_table_with_ttl(&twin);
    twin.engine.forget_requests();
    twin
}

/// Returns the counters, as `Name{Dimension=value, …} 1`.
fn metrics(twin: &Twin) -> Vec<String> {
    let metrics = twin.engine.metrics(&twin.caller);
    metrics.iter().map(ToString::to_string).collect()
}

fn last(twin: &Twin) -> Request {
    Request::clone(twin.engine.requests().last().unwrap())
}

fn put(twin: &Twin, key: &str) -> Value {
    twin.ok(
        "PutItem",
        &json!({"TableName": "tab", "Item": {"pk": {"S": key}, "g": {"S": "x"}}}),
    )
}

fn get(twin: &Twin, key: &str) {
    twin.ok("GetItem", &json!({"TableName": "tab", "Key": {"pk": {"S": key}}}));
}

/// What a write spends on each of several global indexes is counted there, and what it spends on local ones for the table.
#[test]
fn a_write_is_counted_for_every_index_of_its_kind() {
    let twin = Twin::new(1);
    twin.engine.watch(true);
    let (names, indexed) = (["pk", "sk", "a", "b", "c"], ["a", "b", "c"]);
    let key = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let index =
        |name: &str, key: Value| json!({"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": "ALL"}});
    let create = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("pk", "sk"),
        "AttributeDefinitions": names.map(|name| json!({"AttributeName": name, "AttributeType": "S"})),
        "LocalSecondaryIndexes": indexed.map(|name| index(&format!("local-{name}"), key("pk", name))),
        "GlobalSecondaryIndexes": indexed.map(|name| index(&format!("by-{name}"), key(name, "pk")))});
    twin.ok("CreateTable", &create);
    for (attributes, in_table, in_indexes) in [
        (&[][..], 1.0, &[][..]),
        (&["a"], 3.0, &[("by-a", 1.0)]),
        (&["a", "b"], 6.0, &[("by-a", 2.0), ("by-b", 1.0)]),
        (&["a", "b", "c"], 10.0, &[("by-a", 3.0), ("by-b", 2.0), ("by-c", 1.0)]),
    ] {
        let mut item = json!({"pk": {"S": "p"}, "sk": {"S": format!("s{}", attributes.concat())}});
        for name in attributes {
            item[name] = json!({"S": "x"});
        }
        let put = json!({"TableName": "tab", "Item": item, "ReturnConsumedCapacity": "INDEXES"});
        let capacity = twin.ok("PutItem", &put)["ConsumedCapacity"].clone();
        assert_eq!(capacity["CapacityUnits"], json!(1.0 + 2.0 * attributes.len() as f64));
        let spent = twin.engine.spent(&twin.caller);
        let found: Vec<_> = spent
            .iter()
            .map(|spent| (spent.index.as_deref(), spent.write.as_f64()))
            .collect();
        let of_indexes = in_indexes.iter().map(|(index, units)| (Some(*index), *units));
        let expect: Vec<_> = std::iter::once((None, in_table)).chain(of_indexes).collect();
        assert_eq!(found, expect, "{attributes:?}");
    }
}

/// A transaction that a table and its index refuse is throttled in both, and in no other table.
#[test]
fn a_throttled_transaction_counts_where_it_is_refused() {
    let twin = Twin::new(1);
    let conditions = Conditions {
        capacity: Capacity::Enforced(Enforcement::AWS),
        ..Conditions::CALM
    };
    twin.engine.set_conditions(conditions).unwrap();
    let units = |count: u64| json!({"ReadCapacityUnits": count, "WriteCapacityUnits": count});
    for table in ["first", "full", "last"] {
        let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
        let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
        let index = json!({"IndexName": "by-g", "KeySchema": key("g"), "Projection": {"ProjectionType": "ALL"},
            "ProvisionedThroughput": units(1)});
        let body = json!({"TableName": table, "AttributeDefinitions": attributes, "KeySchema": key("pk"),
            "ProvisionedThroughput": units(2), "GlobalSecondaryIndexes": [index]});
        twin.ok("CreateTable", &body);
    }
    let put = |table: &str, pk: &str| json!({"TableName": table, "Item": {"pk": {"S": pk}, "g": {"S": "x"}}});
    twin.ok("PutItem", &put("full", "a"));
    twin.engine.watch(true);
    let before = metrics(&twin);
    let check = json!({"ConditionCheck": {"TableName": "first", "Key": {"pk": {"S": "a"}},
        "ConditionExpression": "attribute_not_exists(pk)"}});
    let body = json!({"TransactItems": [{"Put": put("full", "b")}, {"Put": put("last", "c")}, check]});
    let (status, answer) = twin.send("TransactWriteItems", &body);
    assert_eq!(status, 400, "{answer}");
    let throttled: Vec<_> = metrics(&twin)
        .into_iter()
        .filter(|counter| counter.contains("Throttle") && !before.contains(counter))
        .collect();
    assert_eq!(
        throttled,
        [
            "ThrottledRequests{TableName=full, Operation=TransactWriteItems} 1",
            "WriteProvisionedThroughputThrottleEvents{TableName=full} 1",
            "WriteProvisionedThroughputThrottleEvents{TableName=full, GlobalSecondaryIndexName=by-g} 1",
            "WriteThrottleEvents{TableName=full} 1",
            "WriteThrottleEvents{TableName=full, GlobalSecondaryIndexName=by-g} 1",
        ],
        "{answer}"
    );
}

/// A transaction that one table throttles, and that conflicts with another request in a second table, is throttled in the first.
#[test]
fn a_transaction_is_not_throttled_where_it_conflicts() {
    let twin = Twin::new(1);
    for table in ["full", "held"] {
        let body = json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]});
        twin.ok("CreateTable", &body);
    }
    for (table, verdict) in [
        ("full", Verdict::Throttle(None)),
        ("held", Verdict::Exception(ErrorKind::TransactionConflict)),
    ] {
        twin.engine.add_fault(Rule::new(verdict).table(table)).unwrap();
    }
    twin.engine.watch(true);
    let put = |table: &str| json!({"Put": {"TableName": table, "Item": {"pk": {"S": "a"}}}});
    let get = |table: &str| json!({"Get": {"TableName": table, "Key": {"pk": {"S": "a"}}}});
    let mut expect = Vec::new();
    for (operation, items) in [
        ("TransactGetItems", json!([get("held"), get("full")])),
        ("TransactWriteItems", json!([put("full"), put("held")])),
    ] {
        let (status, answer) = twin.send(operation, &json!({"TransactItems": items}));
        assert_eq!(status, 400, "{answer}");
        expect.push(format!("ThrottledRequests{{TableName=full, Operation={operation}}} 1"));
        let found = metrics(&twin);
        let throttled = found.iter().filter(|counter| counter.starts_with("ThrottledRequests"));
        assert_eq!(throttled.collect::<Vec<_>>(), expect.iter().collect::<Vec<_>>());
        let conflicts = format!("TransactionConflict{{TableName=held}} {}", expect.len());
        assert!(found.contains(&conflicts), "{found:?}");
    }
}

/// Of the failed actions of a transaction, the one that a rule concerns has the rule as its cause, and the others have none.
#[test]
fn an_action_that_fails_by_itself_has_no_injected_cause() {
    let twin = watched();
    let rule = Rule::new(Verdict::Exception(ErrorKind::TransactionConflict)).key(KeyMatch::Partition("ruled".into()));
    let rule = twin.engine.add_fault(rule).unwrap();
    let put = |key: &str, condition: &str| json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": key}}, "ConditionExpression": condition}});
    let failed = put("failed", "attribute_exists(pk)");
    let (passed, ruled) = (
        put("passed", "attribute_not_exists(pk)"),
        put("ruled", "attribute_not_exists(pk)"),
    );
    let cause = |action: &Value| -> (Option<ErrorKind>, Option<Injected>) {
        match action["Put"]["Item"]["pk"]["S"].as_str() {
            Some("failed") => (Some(ErrorKind::ConditionalCheckFailed), None),
            Some("ruled") => (Some(ErrorKind::TransactionConflict), Some(Injected::Rule(rule.0))),
            _ => (None, None),
        }
    };
    for actions in [
        vec![&failed, &ruled],
        vec![&ruled, &failed],
        vec![&failed, &passed, &ruled],
        vec![&passed, &ruled, &failed],
    ] {
        let (status, answer) = twin.send("TransactWriteItems", &json!({"TransactItems": actions}));
        assert_eq!(status, 400, "{answer}");
        let accesses = last(&twin).accesses;
        let found = accesses.iter().map(|access| (access.error, access.injected));
        let expect = actions.iter().map(|action| cause(action));
        assert_eq!(found.collect::<Vec<_>>(), expect.collect::<Vec<_>>(), "{actions:?}");
    }
}

/// The log keeps the first 64 KB of a body, its length, and whether there is more.
#[test]
fn long_bodies_are_truncated_in_the_log() {
    let twin = watched();
    let call = |method: &str, target: &str, body: &[u8]| {
        let headers = [("host", "here"), ("content-type", "application/json")];
        let answer = twin.engine.handle(&HttpRequest {
            method,
            target,
            headers: &headers,
            body,
        });
        assert_eq!(answer.status, 200, "{target}");
        serde_json::from_slice::<Value>(&answer.body).unwrap_or_default()
    };
    call("POST", "/_dynatwin/watch", br#"{"bodies": true}"#);
    let request = |letters: usize| {
        let item = json!({"pk": {"S": "a"}, "v": {"S": "x".repeat(letters)}});
        json!({"TableName": "tab", "Item": item, "ReturnValues": "ALL_OLD"})
    };
    let around = request(0).to_string().len();
    for (letters, truncated) in [
        (0, false),
        (65_536 - around, false),
        (65_537 - around, true),
        (100_000, true),
    ] {
        let body = request(letters);
        let length = body.to_string().len();
        let answer = twin.ok("PutItem", &body).to_string();
        let listed = call("GET", "/_dynatwin/requests?bodies=true", b"");
        let logged = listed["requests"].as_array().unwrap().last().unwrap();
        let [sent, answered] = [&logged["request"], &logged["response"]];
        assert_eq!(
            (&sent["bytes"], &sent["truncated"]),
            (&json!(length), &json!(truncated)),
            "{letters}"
        );
        assert_eq!(sent["body"].as_str().unwrap().len(), length.min(65_536), "{letters}");
        assert_eq!(answered["body"], answer, "the answer has the item of before");
        twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}}));
    }
}

/// The counters of earlier minutes are added up, or their largest value is kept.
#[test]
fn earlier_minutes_are_counted() {
    let twin = watched();
    let stream = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
    let table = twin.ok(
        "UpdateTable",
        &json!({"TableName": "tab", "StreamSpecification": stream}),
    );
    let arn = table["TableDescription"]["LatestStreamArn"].clone();
    let label = table["TableDescription"]["LatestStreamLabel"]
        .as_str()
        .unwrap()
        .to_owned();
    let shards = twin.ok("DescribeStream", &json!({"StreamArn": arn}));
    let shard = &shards["StreamDescription"]["Shards"][0]["ShardId"];
    let iterator = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
    let iterator = twin.ok("GetShardIterator", &iterator)["ShardIterator"].clone();
    put(&twin, "a");
    for seconds in [90, 30] {
        twin.engine.advance(Duration::from_secs(seconds));
        twin.ok("GetRecords", &json!({"ShardIterator": iterator}));
    }
    twin.engine.advance(Duration::from_mins(5));
    get(&twin, "a");
    let counted = metrics(&twin);
    let of_stream = format!("{{TableName=tab, Operation=GetRecords, StreamLabel={label}}}");
    for expected in [
        format!("IteratorAge{of_stream} 120000"),
        format!("ReturnedRecordsCount{of_stream} 2"),
        "ConsumedWriteCapacityUnits{TableName=tab} 1".to_owned(),
        "ConsumedReadCapacityUnits{TableName=tab} 0.5".to_owned(),
    ] {
        assert!(counted.contains(&expected), "{expected}: {counted:?}");
    }
}

#[test]
fn nothing_is_recorded_while_unwatched() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    put(&twin, "a");
    assert!(twin.engine.requests().is_empty() && metrics(&twin).is_empty() && !twin.engine.is_watched());
    twin.engine.watch(true);
    put(&twin, "b");
    twin.engine.watch(false);
    put(&twin, "c");
    twin.send("NoOperation", &json!({}));
    assert_eq!(twin.engine.requests().len(), 1);
    assert_eq!(twin.engine.requests_seen(), 1);
    twin.engine.reset().unwrap();
    assert!(twin.engine.requests().is_empty());
}

/// Each request with the counters that it changes and its log entry.
#[test]
fn requests_are_counted_as_cloudwatch_counts_them() {
    let item = |key: &str| json!({"pk": {"S": key}, "g": {"S": "x"}});
    let key = |key: &str| json!({"pk": {"S": key}});
    let select = |text: &str| json!({"Statement": text});
    let on_tab = |more: Value| {
        let mut body = json!({"TableName": "tab"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let missing = json!({"ConditionExpression": "attribute_not_exists(pk)"});
    let guarded = |mut body: Value| {
        body.as_object_mut()
            .unwrap()
            .extend(missing.as_object().unwrap().clone());
        body
    };
    let by_g = json!({"IndexName": "by-g", "KeyConditionExpression": "g = :g", "ExpressionAttributeValues": {":g": {"S": "x"}}});
    let cases: Vec<(&str, Value, &[&str])> = vec![
        (
            "PutItem",
            on_tab(json!({"Item": item("new")})),
            &[
                "ConsumedWriteCapacityUnits{TableName=tab} 1",
                "ConsumedWriteCapacityUnits{TableName=tab, GlobalSecondaryIndexName=by-g} 1",
            ],
        ),
        (
            "PutItem",
            guarded(on_tab(json!({"Item": item("a")}))),
            &[
                "ConditionalCheckFailedRequests{TableName=tab} 1",
                "ConsumedWriteCapacityUnits{TableName=tab} 1",
            ],
        ),
        (
            "UpdateItem",
            on_tab(
                json!({"Key": key("a"), "UpdateExpression": "SET v = :v", "ExpressionAttributeValues": {":v": {"N": "1"}}}),
            ),
            &[
                "ConsumedWriteCapacityUnits{TableName=tab} 1",
                "ConsumedWriteCapacityUnits{TableName=tab, GlobalSecondaryIndexName=by-g} 1",
            ],
        ),
        (
            "GetItem",
            on_tab(json!({"Key": key("a")})),
            &["ConsumedReadCapacityUnits{TableName=tab} 0.5"],
        ),
        (
            "GetItem",
            on_tab(json!({"Key": key("a"), "ConsistentRead": true})),
            &["ConsumedReadCapacityUnits{TableName=tab} 1"],
        ),
        ("GetItem", on_tab(json!({})), &["UserErrors 1"]),
        (
            "GetItem",
            json!({"TableName": "gone", "Key": key("a")}),
            &["UserErrors 1"],
        ),
        ("GetItms", json!({}), &["UserErrors 1"]),
        (
            "Query",
            on_tab(by_g),
            &[
                "ConsumedReadCapacityUnits{TableName=tab, GlobalSecondaryIndexName=by-g} 0.5",
                "ReturnedItemCount{TableName=tab, Operation=Query} 2",
            ],
        ),
        (
            "Scan",
            on_tab(json!({"FilterExpression": "pk = :b", "ExpressionAttributeValues": {":b": {"S": "b"}}})),
            &[
                "ConsumedReadCapacityUnits{TableName=tab} 0.5",
                "ReturnedItemCount{TableName=tab, Operation=Scan} 1",
            ],
        ),
        (
            "ExecuteStatement",
            select("SELECT * FROM tab"),
            &[
                "ConsumedReadCapacityUnits{TableName=tab} 0.5",
                "ReturnedItemCount{TableName=tab, Operation=ExecuteStatement} 2",
            ],
        ),
        (
            "BatchGetItem",
            json!({"RequestItems": {"tab": {"Keys": [key("a"), key("nobody")]}}}),
            &["ConsumedReadCapacityUnits{TableName=tab} 1"],
        ),
        (
            "TransactWriteItems",
            json!({"TransactItems": [{"Delete": {"TableName": "tab", "Key": key("a")}},
                {"ConditionCheck": {"TableName": "tab", "Key": key("b"), "ConditionExpression": "attribute_exists(pk)"}}]}),
            &[
                "ConsumedWriteCapacityUnits{TableName=tab} 4",
                "ConsumedWriteCapacityUnits{TableName=tab, GlobalSecondaryIndexName=by-g} 1",
            ],
        ),
        (
            "TransactWriteItems",
            json!({"TransactItems": [{"Put": guarded(json!({"TableName": "tab", "Item": item("a")}))}]}),
            &["UserErrors 1"],
        ),
        (
            "TransactGetItems",
            json!({"TransactItems": [{"Get": {"TableName": "tab", "Key": key("a")}}]}),
            &["ConsumedReadCapacityUnits{TableName=tab} 2"],
        ),
        (
            "BatchExecuteStatement",
            json!({"Statements": [{"Statement": "UPDATE tab SET v = 1 WHERE pk = 'nobody'"}]}),
            &[
                "ConditionalCheckFailedRequests{TableName=tab} 1",
                "ConsumedWriteCapacityUnits{TableName=tab} 1",
            ],
        ),
        ("ListTables", json!({}), &[]),
    ];
    for (operation, body, expect) in cases {
        let twin = watched();
        put(&twin, "a");
        put(&twin, "b");
        twin.engine.forget_requests();
        twin.send(operation, &body);
        assert_eq!(metrics(&twin), expect, "{operation} {body}");
        let seen = last(&twin);
        assert_eq!(seen.operation, operation);
        let consumed: f64 = twin
            .engine
            .spent(&twin.caller)
            .iter()
            .map(|spent| spent.read.as_f64() + spent.write.as_f64())
            .sum();
        assert_eq!(seen.read.as_f64() + seen.write.as_f64(), consumed, "{operation} {body}");
        let touched: f64 = seen
            .accesses
            .iter()
            .map(|access| access.read.as_f64() + access.write.as_f64())
            .sum();
        assert_eq!(touched, consumed, "{operation} {body}");
    }
}

#[test]
fn the_log_has_caller_operation_item_and_result() {
    let twin = watched();
    put(&twin, "a");
    twin.engine.advance(Duration::from_secs(5));
    get(&twin, "a");
    let seen = last(&twin);
    assert_eq!(
        (seen.number, seen.at.to_string().as_str()),
        (2, "2026-01-01T00:00:05.000Z")
    );
    assert_eq!((seen.caller, seen.status, seen.error), (twin.caller.clone(), 200, None));
    assert_eq!((seen.scanned, seen.returned, seen.tables), (1, 1, vec!["tab".into()]));
    let [access] = seen.accesses.as_slice() else {
        panic!("{:?}", seen.accesses)
    };
    assert_eq!(
        (access.act, access.table.as_str(), access.index.as_deref()),
        (ItemAction::Get, "tab", None)
    );
    assert_eq!(
        access.key.get("pk").map(|value| format!("{value:?}")),
        Some("S(\"a\")".to_owned())
    );
    assert_eq!(access.key.len(), 1);

    let transaction = json!({"TransactItems": [
        {"Put": {"TableName": "tab", "Item": {"pk": {"S": "b"}, "v": {"S": "not a key"}}}},
        {"Update": {"TableName": "tab", "Key": {"pk": {"S": "c"}}, "UpdateExpression": "REMOVE v"}},
        {"Delete": {"TableName": "tab", "Key": {"pk": {"S": "d"}}}},
        {"ConditionCheck": {"TableName": "tab", "Key": {"pk": {"S": "e"}}, "ConditionExpression": "attribute_exists(pk)"}}]});
    let (status, _) = twin.send("TransactWriteItems", &transaction);
    assert_eq!(status, 400);
    let seen = last(&twin);
    assert_eq!((seen.status, seen.error), (400, Some(ErrorKind::TransactionCanceled)));
    let acts: Vec<_> = seen.accesses.iter().map(|access| (access.act, access.error)).collect();
    let failed = Some(ErrorKind::ConditionalCheckFailed);
    assert_eq!(
        acts,
        [
            (ItemAction::Put, None),
            (ItemAction::Update, None),
            (ItemAction::Delete, None),
            (ItemAction::ConditionCheck, failed)
        ]
    );
    assert!(
        seen.accesses
            .iter()
            .all(|access| access.key.len() == 1 && access.write.is_zero())
    );

    // A request that fails early still has its table, if it named one.
    twin.send("PutItem", &json!({"TableName": "tab", "Item": {"g": {"S": "x"}}}));
    assert_eq!(
        (last(&twin).tables, last(&twin).accesses.len()),
        (vec!["tab".into()], 0)
    );
    twin.send("DescribeTable", &json!({"TableName": "gone"}));
    assert_eq!(
        (last(&twin).tables, last(&twin).error),
        (vec!["gone".into()], Some(ErrorKind::ResourceNotFound))
    );
    twin.send(&"x".repeat(100_000), &json!({}));
    assert_eq!(
        last(&twin).operation.len(),
        64,
        "the length of the recorded name is bounded"
    );
}

/// Of a cancelled transaction, an action that cannot be planned has no entry, and the others have their own errors.
#[test]
fn entries_of_a_cancelled_transaction_have_their_own_errors() {
    let key = |pk: &str| json!({"TableName": "tab", "Key": {"pk": {"S": pk}}});
    let check = |pk: &str| {
        let mut check = key(pk);
        check["ConditionExpression"] = "attribute_exists(pk)".into();
        json!({"ConditionCheck": check})
    };
    let invalid = json!({"Put": {"TableName": "tab", "Item": {"pk": {"N": "1"}}}});
    let put = json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": "there"}}}});
    let delete = json!({"Delete": key("other")});
    let failed = Some(ErrorKind::ConditionalCheckFailed);
    let entry = |act, key: &str, error| (act, format!("S({key:?})"), error);
    let of_check = entry(ItemAction::ConditionCheck, "missing", failed);
    let of_put = entry(ItemAction::Put, "there", None);
    let of_delete = entry(ItemAction::Delete, "other", None);
    for (actions, expect) in [
        ([&invalid, &check("missing"), &put], vec![&of_check, &of_put]),
        ([&invalid, &put, &check("missing")], vec![&of_put, &of_check]),
        ([&check("missing"), &invalid, &put], vec![&of_check, &of_put]),
        ([&put, &invalid, &check("missing")], vec![&of_put, &of_check]),
        ([&put, &check("missing"), &invalid], vec![&of_put, &of_check]),
        ([&invalid, &put, &delete], vec![&of_put, &of_delete]),
        ([&put, &delete, &invalid], vec![&of_put, &of_delete]),
    ] {
        let twin = watched();
        let (status, answer) = twin.send("TransactWriteItems", &json!({"TransactItems": actions}));
        assert_eq!(status, 400, "{answer}");
        let seen = last(&twin);
        let found: Vec<_> = seen
            .accesses
            .iter()
            .map(|access| (access.act, format!("{:?}", access.key.get("pk").unwrap()), access.error))
            .collect();
        assert_eq!(found.iter().collect::<Vec<_>>(), expect, "{actions:?}");
    }
}

/// The tokens of a page are those of its range, or end with its last item if a limit ends it.
#[test]
fn a_page_records_the_tokens_that_it_has_read() {
    let twin = watched();
    for number in 0..12 {
        let item = json!({"pk": {"S": number.to_string()}, "g": {"S": format!("g{}", number % 5)}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    let token = |value: &Value| partition_token(&AttributeValue::string(value["S"].as_str().unwrap())).unwrap();
    for (index, attribute) in [(None, "pk"), (Some("by-g"), "g")] {
        let mut scan = json!({"TableName": "tab", "Limit": 5});
        if let Some(index) = index {
            scan["IndexName"] = index.into();
        }
        let mut first = 0;
        loop {
            let page = twin.ok("Scan", &scan);
            let tokens = last(&twin).accesses[0].tokens;
            let Some(next) = page.get("LastEvaluatedKey") else {
                assert_eq!(tokens, Some((first, u64::MAX)), "{index:?}");
                break;
            };
            assert_eq!(tokens, Some((first, token(&next[attribute]))), "{index:?}");
            first = token(&next[attribute]);
            scan["ExclusiveStartKey"] = next.clone();
        }
    }
    let query = json!({"TableName": "tab", "IndexName": "by-g", "KeyConditionExpression": "g = :g", "Limit": 1,
        "ExpressionAttributeValues": {":g": {"S": "g1"}}});
    twin.ok("Query", &query);
    let of_key = token(&json!({"S": "g1"}));
    assert_eq!(last(&twin).accesses[0].tokens, Some((of_key, of_key)));
}

/// The log shows the first and the last capacity partition of a range, and one of a key.
#[test]
fn a_range_shows_its_first_and_its_last_partition() {
    let twin = Twin::new(1);
    let counted = Conditions {
        capacity: Capacity::Enforced(Enforcement::AWS),
        ..Conditions::CALM
    };
    twin.engine.set_conditions(counted).unwrap();
    create_table_with_ttl(&twin);
    twin.engine.watch(true);
    put(&twin, "a");
    for (segment, of, expect) in [
        (0, 1, [json!(0), json!(3)]),
        (0, 2, [json!(0), json!(1)]),
        (1, 2, [json!(2), json!(3)]),
        (2, 4, [json!(2), Value::Null]),
    ] {
        twin.ok(
            "Scan",
            &json!({"TableName": "tab", "Segment": segment, "TotalSegments": of}),
        );
        let answer = twin.engine.handle(&HttpRequest {
            method: "GET",
            target: "/_dynatwin/requests",
            headers: &[("host", "here")],
            body: b"",
        });
        let listed: Value = serde_json::from_slice(&answer.body).unwrap();
        let access = &listed["requests"].as_array().unwrap().last().unwrap()["accesses"][0];
        let shown = ["partition", "lastPartition"].map(|name| access.get(name).cloned().unwrap_or_default());
        assert_eq!(shown, expect, "{segment} {of}");
    }
}

#[test]
fn a_query_records_its_partition_key_and_a_scan_none() {
    let twin = watched();
    put(&twin, "a");
    let query = json!({"TableName": "tab", "IndexName": "by-g", "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": {":g": {"S": "x"}}});
    twin.ok("Query", &query);
    let seen = last(&twin);
    let [access] = seen.accesses.as_slice() else {
        panic!("{:?}", seen.accesses)
    };
    assert_eq!(
        (access.act, access.index.as_deref(), access.scanned),
        (ItemAction::Query, Some("by-g"), 1)
    );
    assert!(access.key.get("g").is_some());
    assert!(twin.engine.scans().is_empty());
    let statements = [
        (
            "SELECT * FROM tab WHERE pk IN ['a', 'b']",
            vec![ItemAction::Query, ItemAction::Query],
        ),
        ("SELECT * FROM tab WHERE pk > 'a'", vec![ItemAction::Scan]),
        ("SELECT * FROM tab.\"by-g\"", vec![ItemAction::Scan]),
        ("SELECT * FROM tab.\"by-g\"", vec![ItemAction::Scan]),
    ];
    for (statement, expect) in statements {
        twin.ok("ExecuteStatement", &json!({"Statement": statement}));
        let acts: Vec<ItemAction> = last(&twin).accesses.iter().map(|access| access.act).collect();
        assert_eq!(acts, expect, "{statement}");
    }
    let mut other = twin.caller.clone();
    other.region = "eu-west-1".into();
    twin.ok("Scan", &json!({"TableName": "tab", "Limit": 1}));
    twin.engine.dispatch(&other, "Scan", br#"{"TableName":"tab"}"#);
    let scans = twin.engine.scans();
    let seen: Vec<_> = scans
        .iter()
        .map(|scan| (scan.operation.as_str(), scan.index.as_deref(), scan.times, scan.scanned))
        .collect();
    assert_eq!(
        seen,
        [
            ("ExecuteStatement", None, 1, 1),
            ("ExecuteStatement", Some("by-g"), 2, 2),
            ("Scan", None, 1, 1)
        ],
        "a table that is not there was not scanned"
    );
    assert_eq!(
        scans[0].partition_keys,
        [(None, "pk".into()), (Some("by-g".into()), "g".into())]
    );
}

/// A partition key of several attributes is recorded whole, in the log and by the controls.
#[test]
fn a_query_records_all_attributes_of_its_partition_key() {
    let twin = watched();
    let attributes = ["pk", "z", "a", "n"].map(|name| {
        let kind = if name == "n" { "N" } else { "S" };
        json!({"AttributeName": name, "AttributeType": kind})
    });
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let key_schema = [key("z", "HASH"), key("a", "HASH"), key("n", "HASH"), key("pk", "RANGE")];
    let index = json!({"IndexName": "several", "KeySchema": key_schema, "Projection": {"ProjectionType": "ALL"}});
    twin.ok(
        "CreateTable",
        &json!({"TableName": "other", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
            "KeySchema": [key("pk", "HASH")], "GlobalSecondaryIndexes": [index]}),
    );
    let values = json!({":z": {"S": "zz"}, ":a": {"S": "aa"}, ":n": {"N": "1"}, ":pk": {"S": "p"}});
    let whole = json!({"z": {"S": "zz"}, "a": {"S": "aa"}, "n": {"N": "1"}});
    let query = |condition: &str| {
        let named = |name: &&String| condition.contains(*name);
        let values = values.as_object().unwrap().iter().filter(|(name, _)| named(name));
        let values: serde_json::Map<_, _> = values.map(|(name, value)| (name.clone(), value.clone())).collect();
        json!({"TableName": "other", "IndexName": "several", "KeyConditionExpression": condition,
            "ExpressionAttributeValues": values})
    };
    for (operation, body, expect) in [
        ("Query", query("z = :z AND a = :a AND n = :n"), &whole),
        ("Query", query("n = :n AND a = :a AND z = :z AND pk = :pk"), &whole),
        (
            "Query",
            json!({"TableName": "other", "KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "p"}}}),
            &json!({"pk": {"S": "p"}}),
        ),
        (
            "Scan",
            json!({"TableName": "other", "IndexName": "several"}),
            &json!({}),
        ),
    ] {
        twin.ok(operation, &body);
        let answer = twin.engine.handle(&HttpRequest {
            method: "GET",
            target: "/_dynatwin/requests",
            headers: &[("host", "here")],
            body: b"",
        });
        let log: Value = serde_json::from_slice(&answer.body).unwrap();
        let last = log["requests"].as_array().or(log.as_array()).unwrap().last().unwrap();
        assert_eq!(last["accesses"][0]["key"], *expect, "{body}: {log}");
    }
}

/// The attribute that a Query would name is the first of the partition key; local indexes have the table's.
#[test]
fn a_scan_names_the_first_attribute_of_each_partition_key() {
    let twin = watched();
    let schema = |hash: &[&str], range: &[&str]| {
        let of = |kind: &'static str| move |name: &&str| json!({"AttributeName": name, "KeyType": kind});
        let keys: Vec<Value> = hash
            .iter()
            .map(of("HASH"))
            .chain(range.iter().map(of("RANGE")))
            .collect();
        json!(keys)
    };
    let index = |name: &str, schema: Value| json!({"IndexName": name, "KeySchema": schema, "Projection": {"ProjectionType": "ALL"}});
    let names = ["pk", "sk", "a", "b", "c"];
    let attributes = names.map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let create = json!({"TableName": "wide", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
        "KeySchema": schema(&["pk"], &["sk"]),
        "GlobalSecondaryIndexes": [index("several", schema(&["c", "a", "b"], &["pk"])), index("one", schema(&["b"], &["c"]))],
        "LocalSecondaryIndexes": [index("local", schema(&["pk"], &["a"]))]});
    twin.ok("CreateTable", &create);
    twin.ok("Scan", &json!({"TableName": "wide"}));
    let scans = twin.engine.scans();
    let seen: Vec<_> = scans[0]
        .partition_keys
        .iter()
        .map(|(index, name)| (index.as_deref(), name.as_str()))
        .collect();
    assert_eq!(seen, [(None, "pk"), (Some("several"), "c"), (Some("one"), "b")]);
}

/// Each operation, table, index and caller is one scan, with the sum of its requests.
#[test]
fn scans_are_told_apart() {
    let twin = watched();
    let create = json!({"TableName": "other", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    twin.ok("CreateTable", &create);
    put(&twin, "a");
    put(&twin, "b");
    let first = twin.engine.clock().now();
    for (table, index) in [
        ("tab", None),
        ("other", None),
        ("tab", Some("by-g")),
        ("tab", None),
        ("other", None),
    ] {
        let mut scan = json!({"TableName": table});
        if let Some(index) = index {
            scan["IndexName"] = index.into();
        }
        twin.ok("Scan", &scan);
        twin.engine.advance(Duration::from_secs(1));
    }
    twin.ok("ExecuteStatement", &json!({"Statement": "SELECT * FROM other"}));
    let scans = twin.engine.scans();
    let mut seen: Vec<_> = scans
        .iter()
        .map(|scan| {
            let at = scan.first.since(first).as_secs();
            (
                scan.table.as_str(),
                scan.index.as_deref(),
                scan.operation.as_str(),
                scan.times,
                scan.scanned,
                at,
            )
        })
        .collect();
    seen.sort_unstable();
    assert_eq!(
        seen,
        [
            ("other", None, "ExecuteStatement", 1, 0, 5),
            ("other", None, "Scan", 2, 0, 1),
            ("tab", None, "Scan", 2, 4, 0),
            ("tab", Some("by-g"), "Scan", 1, 2, 2),
        ]
    );
}

/// Tables of one name belong to different callers in each region and of each access key.
#[test]
fn scans_of_each_caller_are_told_apart() {
    let mut twin = Twin::new(1);
    twin.engine.watch(true);
    let callers = [
        ("a", "us-east-1"),
        ("a", "eu-west-1"),
        ("b", "us-east-1"),
        ("b", "eu-west-1"),
    ];
    for (access_key, region) in callers {
        twin.caller = Caller {
            access_key: access_key.into(),
            region: region.into(),
        };
        create_table_with_ttl(&twin);
        for _ in 0..2 {
            twin.ok("Scan", &json!({"TableName": "tab"}));
        }
    }
    let scans = twin.engine.scans();
    let seen = scans
        .iter()
        .map(|scan| (&*scan.caller.access_key, &*scan.caller.region, scan.times));
    let expected = callers.map(|(access_key, region)| (access_key, region, 2));
    assert_eq!(seen.collect::<Vec<_>>(), expected);
}

#[test]
fn throttles_are_counted_by_reason_resource_and_operation() {
    let twin = watched();
    let _rules = [
        twin.engine
            .add_fault(Rule::new(Verdict::Throttle(Some(Exceeded::MaxOnDemandThroughput))).operation("GetItem"))
            .unwrap(),
        twin.engine
            .add_fault(
                Rule::new(Verdict::Throttle(Some(Exceeded::KeyRangeThroughput)))
                    .operation("PutItem")
                    .index("by-g"),
            )
            .unwrap(),
        twin.engine
            .add_fault(Rule::new(Verdict::Throttle(None)).operation("BatchWriteItem").first(3))
            .unwrap(),
        twin.engine
            .add_fault(Rule::new(Verdict::Throttle(None)).operation("TransactWriteItems"))
            .unwrap(),
    ];
    let write = |key: &str| json!({"PutRequest": {"Item": {"pk": {"S": key}}}});
    let batch = |keys: &[&str]| json!({"RequestItems": {"tab": keys.iter().map(|key| write(key)).collect::<Vec<_>>()}});
    twin.send("GetItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}}));
    twin.send("PutItem", &json!({"TableName": "tab", "Item": {"pk": {"S": "a"}}}));
    // The first batch is throttled completely, and half of the second, which is answered.
    assert_eq!(twin.send("BatchWriteItem", &batch(&["a", "b"])).0, 400);
    assert_eq!(twin.send("BatchWriteItem", &batch(&["a", "b"])).0, 200);
    let put = json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": "a"}}}});
    assert_eq!(twin.send("TransactWriteItems", &json!({"TransactItems": [put]})).0, 400);
    assert_eq!(
        metrics(&twin),
        [
            "ConsumedWriteCapacityUnits{TableName=tab} 1",
            "ReadMaxOnDemandThroughputThrottleEvents{TableName=tab} 1",
            "ReadThrottleEvents{TableName=tab} 1",
            "ThrottledRequests{TableName=tab, Operation=BatchWriteItem} 1",
            "ThrottledRequests{TableName=tab, Operation=GetItem} 1",
            "ThrottledRequests{TableName=tab, Operation=PutItem} 1",
            "ThrottledRequests{TableName=tab, Operation=TransactWriteItems} 1",
            "WriteKeyRangeThroughputThrottleEvents{TableName=tab} 4",
            "WriteKeyRangeThroughputThrottleEvents{TableName=tab, GlobalSecondaryIndexName=by-g} 1",
            "WriteThrottleEvents{TableName=tab} 4",
            "WriteThrottleEvents{TableName=tab, GlobalSecondaryIndexName=by-g} 1",
        ]
    );
}

#[test]
fn server_errors_are_counted_as_system_errors() {
    let twin = watched();
    for (verdict, expect) in [
        (Verdict::InternalServerError, 1),
        (Verdict::ServiceUnavailable, 2),
        (Verdict::AnswerLost, 2),
        // Nothing was answered, so there is no status.
        (Verdict::Reset, 2),
    ] {
        let rule = twin.engine.add_fault(Rule::new(verdict).operation("GetItem")).unwrap();
        twin.send("GetItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}}));
        twin.engine.faults().remove(rule);
        let errors = format!("SystemErrors{{TableName=tab, Operation=GetItem}} {expect}");
        assert!(metrics(&twin).contains(&errors), "{verdict:?}: {:?}", metrics(&twin));
    }
    let operations = ["DescribeLimits", "ListBackups", "ListTables"];
    for operation in operations {
        twin.engine
            .add_fault(Rule::new(Verdict::InternalServerError).operation(operation))
            .unwrap();
    }
    for count in 1..=3 {
        for operation in operations {
            twin.send(operation, &json!({}));
        }
        for operation in operations {
            let errors = format!("SystemErrors{{Operation={operation}}} {count}");
            assert!(metrics(&twin).contains(&errors), "{errors}: {:?}", metrics(&twin));
        }
    }
}

/// A server error of a request over several tables counts for each of them, once.
#[test]
fn server_errors_are_counted_for_all_tables_of_a_request() {
    let key = |table: &str| json!({"TableName": table, "Key": {"pk": {"S": "a"}}});
    let put = |table: &str| json!({"TableName": table, "Item": {"pk": {"S": "a"}}});
    let write = json!([{"PutRequest": {"Item": {"pk": {"S": "a"}}}}]);
    let keys = json!({"Keys": [{"pk": {"S": "a"}}]});
    let select = |table: &str| json!({"Statement": format!("SELECT * FROM {table} WHERE pk = 'a'")});
    for (operation, body) in [
        (
            "TransactGetItems",
            json!({"TransactItems": [{"Get": key("tab")}, {"Get": key("second")}, {"Get": key("third")}]}),
        ),
        (
            "TransactWriteItems",
            json!({"TransactItems": [{"Put": put("tab")}, {"Put": put("second")}, {"Put": put("third")}]}),
        ),
        (
            "BatchGetItem",
            json!({"RequestItems": {"tab": keys, "second": keys, "third": keys}}),
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"tab": write, "second": write, "third": write}}),
        ),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": [select("tab"), select("second"), select("third")]}),
        ),
    ] {
        let twin = watched();
        for name in ["second", "third"] {
            let create = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
            twin.ok("CreateTable", &create);
        }
        twin.engine.forget_requests();
        twin.engine
            .add_fault(Rule::new(Verdict::InternalServerError).operation(operation))
            .unwrap();
        assert_eq!(twin.send(operation, &body).0, 500, "{operation}");
        let found = metrics(&twin);
        let errors = found.iter().filter(|metric| metric.starts_with("SystemErrors"));
        let expect = ["second", "tab", "third"]
            .map(|table| format!("SystemErrors{{TableName={table}, Operation={operation}}} 1"));
        assert!(errors.eq(&expect), "{operation}: {found:?}");
    }
}

/// A batch counts as throttled if all of it is; a batch that is refused for another reason counts as a user error.
#[test]
fn a_batch_is_throttled_if_all_of_it_is() {
    let keys: Vec<Value> = ["a", "b", "c"].map(|key| json!({"pk": {"S": key}})).into();
    let puts: Vec<Value> = keys.iter().map(|key| json!({"PutRequest": {"Item": key}})).collect();
    let get = json!({"RequestItems": {"tab": {"Keys": keys}}});
    let write = json!({"RequestItems": {"tab": puts}});
    let twice = |one: &Value| json!({"RequestItems": {"tab": [one, one]}});
    for (operation, body, throttles, counted) in [
        ("BatchGetItem", &get, 0, ""),
        ("BatchGetItem", &get, 1, ""),
        ("BatchGetItem", &get, 2, ""),
        ("BatchGetItem", &get, 3, "ThrottledRequests"),
        ("BatchWriteItem", &write, 0, ""),
        ("BatchWriteItem", &write, 1, ""),
        ("BatchWriteItem", &write, 2, ""),
        ("BatchWriteItem", &write, 3, "ThrottledRequests"),
        ("BatchWriteItem", &twice(&puts[0]), 0, "UserErrors"),
        ("BatchGetItem", &json!({"RequestItems": {}}), 0, "UserErrors"),
    ] {
        let twin = watched();
        if throttles > 0 {
            let rule = Rule::new(Verdict::Throttle(None)).operation(operation);
            twin.engine.add_fault(rule.first(throttles)).unwrap();
        }
        let (status, _) = twin.send(operation, body);
        assert_eq!(status == 200, counted.is_empty(), "{operation} {throttles}");
        let found = metrics(&twin);
        let counts = |name: &str| found.iter().filter(|metric| metric.starts_with(name)).count();
        for name in ["ThrottledRequests", "UserErrors"] {
            let expect = usize::from(name == counted);
            assert_eq!(counts(name), expect, "{operation} {body} {throttles}: {found:?}");
        }
    }
}

#[test]
fn transaction_conflicts_are_counted_by_item() {
    let twin = watched();
    twin.engine
        .set_conditions(Conditions {
            transaction_time: Lag::Fixed(Duration::from_secs(1)),
            ..Conditions::CALM
        })
        .unwrap();
    let put = |key: &str| json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": key}}}});
    let two = json!({"TransactItems": [put("a"), put("b")]});
    twin.ok("TransactWriteItems", &two);
    assert_eq!(twin.send("TransactWriteItems", &two).0, 400);
    let get = |key: &str| json!({"Get": {"TableName": "tab", "Key": {"pk": {"S": key}}}});
    assert_eq!(
        twin.send("TransactGetItems", &json!({"TransactItems": [get("a"), get("c")]}))
            .0,
        400
    );
    assert_eq!(
        twin.send("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}}))
            .0,
        400
    );
    assert!(
        metrics(&twin).contains(&"TransactionConflict{TableName=tab} 4".to_owned()),
        "{:?}",
        metrics(&twin)
    );
}

#[test]
fn ttl_deletions_are_counted_while_unwatched() {
    let twin = Twin::new(1);
    let recorder = Recorder::of(&twin.engine);
    create_table_with_ttl(&twin);
    let put = |key: &str, after: i64| {
        let ttl = (twin.seconds() + after).to_string();
        twin.ok(
            "PutItem",
            &json!({"TableName": "tab", "Item": {"pk": {"S": key}, "ttl": {"N": ttl}}}),
        );
    };
    put("a", 10);
    put("b", 20);
    put("c", 86_400);
    assert!(metrics(&twin).is_empty());
    twin.engine.advance(Duration::from_secs(15));
    assert_eq!(metrics(&twin), ["TimeToLiveDeletedItemCount{TableName=tab} 1"]);
    // No one needs to have read them.
    twin.engine.clock().advance(Duration::from_secs(15));
    assert_eq!(metrics(&twin), ["TimeToLiveDeletedItemCount{TableName=tab} 2"]);
    twin.engine
        .set_conditions(Conditions {
            time_to_live: TimeToLive::Off,
            ..Conditions::CALM
        })
        .unwrap();
    put("d", -1);
    assert_eq!(twin.engine.account(&twin.caller).expire_now("tab").unwrap(), 1);
    assert_eq!(metrics(&twin), ["TimeToLiveDeletedItemCount{TableName=tab} 3"]);
    // A replay counts them again.
    let engine = commits::replayed(settings(1), &recorder.commits(), &twin.engine);
    let caller = twin.caller;
    assert_eq!(
        metrics(&Twin { engine, caller }),
        ["TimeToLiveDeletedItemCount{TableName=tab} 3"]
    );
}

/// A write applies some of many due deletions, and its own item's; each counts once.
#[test]
fn deletions_before_a_write_are_counted() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    let ttl = (twin.seconds() + 10).to_string();
    let key = |at: usize| json!({"S": format!("k{at}")});
    for at in 0..200 {
        let item = json!({"pk": key(at), "ttl": {"N": ttl}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    twin.engine.clock().advance(Duration::from_mins(1));
    for at in (0..200).rev().step_by(20) {
        let delete = json!({"TableName": "tab", "Key": {"pk": key(at)}, "ReturnValues": "ALL_OLD"});
        assert_eq!(twin.ok("DeleteItem", &delete), json!({}), "{at}");
    }
    assert_eq!(metrics(&twin), ["TimeToLiveDeletedItemCount{TableName=tab} 200"]);
}

#[test]
fn gauges_show_throughput_and_index_progress() {
    let twin = Twin::new(1);
    twin.engine
        .set_conditions(Conditions {
            table_status: Lag::Fixed(Duration::from_mins(1)),
            ..Conditions::CALM
        })
        .unwrap();
    let units = |read: u64, write: u64| json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write});
    let old_index = |name: &str, read: u64, write: u64| {
        json!({"IndexName": name, "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"}, "ProvisionedThroughput": units(read, write)})
    };
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "ProvisionedThroughput": units(5, 6),
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [old_index("old", 3, 4), old_index("other", 1, 1)]}),
    );
    let given = |table: (u64, u64), old: (u64, u64)| {
        let of = |dimensions: &str, (read, write)| {
            [
                format!("ProvisionedReadCapacityUnits{{TableName=tab{dimensions}}} {read}"),
                format!("ProvisionedWriteCapacityUnits{{TableName=tab{dimensions}}} {write}"),
            ]
        };
        let mut given = [
            of("", table),
            of(", GlobalSecondaryIndexName=old", old),
            of(", GlobalSecondaryIndexName=other", (1, 1)),
        ]
        .concat();
        given.sort();
        given
    };
    let shown = || {
        let mut shown = metrics(&twin);
        shown.sort();
        shown
    };
    assert_eq!(shown(), given((5, 6), (3, 4)));
    twin.engine.advance(Duration::from_hours(1));
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "tab", "ProvisionedThroughput": units(7, 8)}),
    );
    assert_eq!(shown(), given((5, 6), (3, 4)));
    twin.engine.advance(Duration::from_hours(1));
    assert_eq!(shown(), given((7, 8), (3, 4)));
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "tab", "GlobalSecondaryIndexUpdates": [
            {"Update": {"IndexName": "old", "ProvisionedThroughput": units(9, 10)}}]}),
    );
    assert_eq!(shown(), given((7, 8), (3, 4)));
    twin.engine.advance(Duration::from_hours(1));
    assert_eq!(shown(), given((7, 8), (9, 10)));
    let index = json!({"Create": {"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"}, "ProvisionedThroughput": units(1, 2)}});
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "tab", "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
            "GlobalSecondaryIndexUpdates": [index]}),
    );
    let progress = || {
        let metrics = twin.engine.metrics(&twin.caller);
        let progresses = metrics
            .iter()
            .filter(|metric| metric.name == "OnlineIndexPercentageProgress");
        assert!(progresses.count() <= 1, "the other indexes are there");
        let of_index = |name: &str| {
            let found = metrics.iter().find(|metric| metric.name == name);
            found.filter(|metric| metric.dimension("GlobalSecondaryIndexName") == Some("by-g"))
        };
        assert!(
            metrics
                .iter()
                .any(|metric| metric.to_string().ends_with("Name=by-g} 2"))
        );
        of_index("OnlineIndexPercentageProgress").map(|metric| metric.value)
    };
    assert_eq!(progress(), Some(0.0));
    let mut before = 0.0;
    let mut steps = 0;
    while let Some(percent) = progress() {
        assert!(percent >= before && percent <= 100.0, "{percent} after {before}");
        before = percent;
        steps += 1;
        twin.engine.advance(Duration::from_secs(10));
    }
    assert!(steps > 5 && before > 50.0, "{steps} {before}");
}

/// The maximums of an on-demand table and of its indexes are gauges of their own; one that is not set is none.
#[test]
fn gauges_show_the_maximums_of_on_demand_tables() {
    let twin = Twin::new(1);
    let most = |read: i64, write: i64| json!({"MaxReadRequestUnits": read, "MaxWriteRequestUnits": write});
    let index = |name: &str, most: Value| {
        json!({"IndexName": name, "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"}, "OnDemandThroughput": most})
    };
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "OnDemandThroughput": most(11, 12),
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [index("one", most(13, 14)), index("two", json!({"MaxWriteRequestUnits": 15}))]}),
    );
    assert_eq!(
        metrics(&twin),
        [
            "OnDemandMaxReadRequestUnits{TableName=tab} 11",
            "OnDemandMaxReadRequestUnits{TableName=tab, GlobalSecondaryIndexName=one} 13",
            "OnDemandMaxWriteRequestUnits{TableName=tab} 12",
            "OnDemandMaxWriteRequestUnits{TableName=tab, GlobalSecondaryIndexName=one} 14",
            "OnDemandMaxWriteRequestUnits{TableName=tab, GlobalSecondaryIndexName=two} 15",
        ]
    );
}

#[test]
fn records_of_streams_are_counted_by_stream() {
    let twin = watched();
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "tab", "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}}),
    );
    for key in ["a", "bb", "ccc"] {
        put(&twin, key);
    }
    let stream = twin.ok("ListStreams", &json!({}))["Streams"][0].clone();
    let arn = &stream["StreamArn"];
    let shards = twin.ok("DescribeStream", &json!({"StreamArn": arn}))["StreamDescription"]["Shards"].clone();
    let mut bytes = 0;
    for shard in shards.as_array().unwrap() {
        let from = json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
        let iterator = twin.ok("GetShardIterator", &from)["ShardIterator"].clone();
        let records = twin.ok("GetRecords", &json!({"ShardIterator": iterator}))["Records"].clone();
        let request = last(&twin);
        assert_eq!(request.tables, ["tab"]);
        let [access] = &request.accesses[..] else {
            panic!("{request:?}");
        };
        assert_eq!((access.act, access.table.as_str()), (ItemAction::GetRecords, "tab"));
        let count = records.as_array().unwrap().len() as u64;
        assert_eq!((request.operation.as_str(), request.returned), ("GetRecords", count));
        let size = |record: &Value| record["dynamodb"]["SizeBytes"].as_u64().unwrap();
        bytes += records.as_array().unwrap().iter().map(size).sum::<u64>();
    }
    // The key is named by two letters.
    assert_eq!(bytes, (2 + 1) + (2 + 2) + (2 + 3));
    let label = stream["StreamLabel"].as_str().unwrap();
    let dimensions = format!("{{TableName=tab, Operation=GetRecords, StreamLabel={label}}}");
    let metrics = metrics(&twin);
    assert!(
        metrics.contains(&format!("ReturnedRecordsCount{dimensions} 3")),
        "{metrics:?}"
    );
    assert!(
        metrics.contains(&format!("ReturnedBytes{dimensions} {bytes}")),
        "{metrics:?}"
    );
}

#[test]
fn a_search_of_a_vector_index_is_recorded() {
    let twin = Twin::new(1);
    twin.engine.watch(true);
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "VectorIndexes": [{"IndexName": "near", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 1,
                "DistanceFunction": "EUCLIDEAN", "Projection": {"ProjectionType": "ALL"}}]}),
    );
    twin.ok(
        "PutItem",
        &json!({"TableName": "tab", "Item": {"pk": {"S": "a"}, "v": {"L": [{"N": "1"}]}}}),
    );
    let search = json!({"TableName": "tab", "IndexName": "near", "TopK": 5, "SearchVector": [{"N": "1"}]});
    let internal = Some(ErrorKind::InternalServerError);
    for (error, returned) in [(None, 1), (internal, 0)] {
        if error.is_some() {
            let rule = Rule::new(Verdict::InternalServerError).operation("SearchVectors");
            twin.engine.add_fault(rule).unwrap();
        }
        twin.send("SearchVectors", &search);
        let seen = last(&twin);
        let accesses: Vec<_> = seen
            .accesses
            .iter()
            .map(|access| (access.act, access.index.as_deref(), access.error))
            .collect();
        assert_eq!(accesses, [(ItemAction::SearchVectors, Some("near"), error)]);
        assert_eq!(seen.returned, returned);
    }
    // A throttled search counts as a throttled request of the table.
    twin.engine.faults().clear();
    let rule = Rule::new(Verdict::Throttle(None)).operation("SearchVectors");
    twin.engine.add_fault(rule).unwrap();
    twin.send("SearchVectors", &search);
    let counted = metrics(&twin);
    let throttled = "ThrottledRequests{TableName=tab, Operation=SearchVectors} 1".to_owned();
    assert!(counted.contains(&throttled), "{counted:?}");
    assert!(
        counted
            .iter()
            .any(|line| line.starts_with("ReadThrottleEvents{TableName=tab}")),
        "{counted:?}"
    );
}

/// A repeated transaction is charged for the reads that detect the repetition.
#[test]
fn a_repeated_transaction_is_recorded_as_reads() {
    let twin = watched();
    let put = json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": "a"}}}});
    let body = json!({"TransactItems": [put], "ClientRequestToken": "t", "ReturnConsumedCapacity": "TOTAL"});
    twin.ok("TransactWriteItems", &body);
    let answer = twin.ok("TransactWriteItems", &body);
    let entry = last(&twin);
    assert_eq!(
        answer["ConsumedCapacity"][0]["CapacityUnits"],
        json!(entry.read.as_f64())
    );
    assert_eq!(
        (entry.read.as_f64(), entry.write.as_f64(), entry.accesses.len()),
        (2.0, 0.0, 1)
    );
}

#[test]
fn accounts_are_counted_separately_unless_they_share_tables() {
    let twin = watched();
    let other = Caller {
        access_key: "other".into(),
        region: "us-east-1".into(),
    };
    put(&twin, "a");
    twin.engine.dispatch(&other, "GetItem", b"{}");
    assert!(metrics(&twin).iter().all(|metric| !metric.starts_with("UserErrors")));
    assert_eq!(twin.engine.metrics(&other)[0].to_string(), "UserErrors 1");
    assert_eq!(twin.engine.requests().len(), 2);
}

/// Random requests under enforced capacity: counters, ledger and answers agree.
#[test]
fn counters_ledger_and_answers_agree_to_the_unit() {
    for seed in 0..setting("DYNATWIN_HISTORIES").unwrap_or(20) {
        let twin = watched();
        twin.engine
            .set_conditions(Conditions {
                capacity: Capacity::Enforced(Enforcement::AWS),
                ..Conditions::CALM
            })
            .unwrap();
        let mut choice = Choice(seed);
        let mut reported = 0.0;
        for _ in 0..200 {
            let (operation, body) = request(&mut choice);
            let (status, answer) = twin.send(operation, &body);
            if status != 200 {
                // The cost of a failed condition is not in its answer.
                reported += last(&twin).write.as_f64();
            }
            let consumed = &answer["ConsumedCapacity"];
            let each = consumed.as_array().cloned().unwrap_or_else(|| vec![consumed.clone()]);
            reported += each
                .iter()
                .filter_map(|each| each["CapacityUnits"].as_f64())
                .sum::<f64>();
            twin.engine.advance(Duration::from_millis(choice.below(300)));
        }
        let spent = twin.engine.spent(&twin.caller);
        let sum: f64 = spent
            .iter()
            .map(|spent| spent.read.as_f64() + spent.write.as_f64())
            .sum();
        assert_eq!(sum, reported, "seed {seed}");
        let heat = twin.engine.account(&twin.caller).heat("tab").unwrap();
        for resource in heat.resources {
            let counted = spent
                .iter()
                .find(|spent| spent.index == resource.index)
                .cloned()
                .unwrap_or_default();
            assert_eq!(
                (counted.read, counted.write),
                (resource.read.units, resource.write.units),
                "seed {seed}, {:?}",
                resource.index
            );
        }
    }
}

/// Identical random requests, under all conditions and faults.
#[test]
fn watching_changes_no_answer() {
    for seed in 0..setting("DYNATWIN_HISTORIES").unwrap_or(10) {
        for conditions in [Conditions::AWS, Conditions::STORM] {
            let answers = [(false, false), (true, false), (true, true)].map(|(watches, listens)| {
                let twin = Twin::new(seed);
                twin.engine.watch(watches);
                twin.engine.listen(listens);
                create_table_with_ttl(&twin);
                twin.engine.set_conditions(conditions).unwrap();
                let mut choice = Choice(seed);
                let mut answers = Vec::new();
                for _ in 0..150 {
                    let (operation, body) = request(&mut choice);
                    let answer = twin
                        .engine
                        .dispatch(&twin.caller, operation, body.to_string().as_bytes());
                    answers.push((answer.status, answer.body, answer.at, answer.delivery));
                    twin.engine.advance(Duration::from_millis(choice.below(300)));
                }
                answers
            });
            let [unwatched, watched, with_events] = answers;
            for number in 0..unwatched.len() {
                assert_eq!(unwatched[number], watched[number], "seed {seed}, request {number}");
                assert_eq!(unwatched[number], with_events[number], "seed {seed}, request {number}");
            }
            assert!(watched.iter().any(|(status, ..)| *status != 200));
        }
    }
}

fn request(choice: &mut Choice) -> (&'static str, Value) {
    let key = json!({"pk": {"S": format!("k{}", choice.below(5))}});
    let mut item = key.clone();
    item["v"] = json!({"S": "v".repeat(choice.below(3000) as usize)});
    item["g"] = json!({"S": format!("g{}", choice.below(3))});
    let (operation, mut body) = match choice.below(7) {
        0 | 1 => ("PutItem", json!({"TableName": "tab", "Item": item})),
        2 => {
            let condition = "attribute_not_exists(pk)";
            (
                "PutItem",
                json!({"TableName": "tab", "Item": item, "ConditionExpression": condition}),
            )
        }
        3 => (
            "GetItem",
            json!({"TableName": "tab", "Key": key, "ConsistentRead": choice.one_in(2)}),
        ),
        4 => ("Scan", json!({"TableName": "tab", "IndexName": "by-g"})),
        5 => (
            "TransactGetItems",
            json!({"TransactItems": [{"Get": {"TableName": "tab", "Key": key}}]}),
        ),
        _ => (
            "TransactWriteItems",
            json!({"TransactItems": [{"Delete": {"TableName": "tab", "Key": key}}]}),
        ),
    };
    body["ReturnConsumedCapacity"] = json!("TOTAL");
    (operation, body)
}

/// What a block spends is the difference of each table and each index.
#[test]
fn a_meter_counts_each_resource_from_its_own_beginning() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    twin.engine.watch(true);
    let put = |pk: &str, more: Value| {
        let mut item = json!({"pk": {"S": pk}});
        item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    };
    (0..3).for_each(|number| put(&number.to_string(), json!({})));
    let units = |spent: &[Spent]| -> Vec<(Option<String>, f64)> {
        let of = |spent: &Spent| (spent.index.as_ref().map(ToString::to_string), spent.write.as_f64());
        spent.iter().map(of).collect()
    };
    let ((), spent) = twin.engine.spent_by(&twin.caller, || {
        put("a", json!({"g": {"S": "x"}}));
        put("b", json!({}));
    });
    assert_eq!(units(&spent), [(None, 2.0), (Some("by-g".to_owned()), 1.0)]);
    let ((), spent) = twin
        .engine
        .spent_by(&twin.caller, || put("a", json!({"g": {"S": "y"}})));
    assert_eq!(units(&spent), [(None, 1.0), (Some("by-g".to_owned()), 2.0)]);
}

/// A meter counts reads and writes of its caller's tables only, whoever sends them.
#[test]
fn a_meter_counts_the_tables_of_its_caller() {
    let twin = Twin::new(1);
    let other = Caller {
        access_key: "other".into(),
        region: twin.caller.region.clone(),
    };
    let create = |caller: &Caller, name: &str| {
        let body = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
        assert_eq!(
            twin.engine
                .dispatch(caller, "CreateTable", body.to_string().as_bytes())
                .status,
            200
        );
    };
    create(&twin.caller, "one");
    create(&twin.caller, "two");
    create(&other, "one");
    let send = |caller: &Caller, operation: &str, table: &str| {
        let key = if operation == "PutItem" { "Item" } else { "Key" };
        let body = json!({"TableName": table, key: {"pk": {"S": "a"}}});
        assert_eq!(
            twin.engine
                .dispatch(caller, operation, body.to_string().as_bytes())
                .status,
            200
        );
    };
    let units = |spent: &[Spent]| -> Vec<(String, f64, f64)> {
        let of = |spent: &Spent| (spent.table.to_string(), spent.read.as_f64(), spent.write.as_f64());
        spent.iter().map(of).collect()
    };
    let outer = twin.engine.meter(&twin.caller);
    send(&twin.caller, "GetItem", "two");
    let ((), spent) = twin.engine.spent_by(&twin.caller, || {
        send(&twin.caller, "PutItem", "one");
        send(&twin.caller, "GetItem", "one");
        send(&other, "PutItem", "one");
    });
    assert_eq!(units(&spent), [("one".to_owned(), 0.5, 1.0)]);
    send(&twin.caller, "PutItem", "two");
    assert_eq!(
        units(&outer.spent()),
        [("one".to_owned(), 0.5, 1.0), ("two".to_owned(), 0.5, 1.0)]
    );
    let ((), spent) = twin.engine.spent_by(&other, || send(&twin.caller, "PutItem", "one"));
    assert!(spent.is_empty());
}

/// Metrics are sorted by their names and dimensions, each once.
#[test]
fn metrics_are_sorted() {
    let twin = watched();
    for table in ["zzz", "aaa", "mmm"] {
        let create = json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
        twin.ok("CreateTable", &create);
        twin.ok("PutItem", &json!({"TableName": table, "Item": {"pk": {"S": "a"}}}));
        twin.ok("Scan", &json!({"TableName": table}));
        twin.ok("GetItem", &json!({"TableName": table, "Key": {"pk": {"S": "a"}}}));
    }
    put(&twin, "a");
    let metrics = twin.engine.metrics(&twin.caller);
    let keys: Vec<_> = metrics
        .iter()
        .map(|metric| (metric.name, metric.dimensions.clone()))
        .collect();
    assert!(
        keys.len() > 10 && keys.is_sorted_by(|left, right| left < right),
        "{keys:?}"
    );
}

/// A meter counts reads and writes of each table from its beginning on, and watches until it is dropped.
#[test]
fn a_meter_counts_reads_and_writes_of_each_table() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    let create = json!({"TableName": "other", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    twin.ok("CreateTable", &create);
    let write = |table: &str, times: usize| {
        (0..times).for_each(|_| drop(twin.ok("PutItem", &json!({"TableName": table, "Item": {"pk": {"S": "a"}}}))));
    };
    let read = |table: &str, times: usize| {
        (0..times).for_each(|_| drop(twin.ok("GetItem", &json!({"TableName": table, "Key": {"pk": {"S": "a"}}}))));
    };
    write("tab", 1);
    assert!(!twin.engine.is_watched());
    let first = twin.engine.meter(&twin.caller);
    assert!(twin.engine.is_watched());
    write("tab", 3);
    read("tab", 8);
    write("other", 5);
    let second = twin.engine.meter(&twin.caller);
    let of_other = twin.engine.meter(&Caller {
        access_key: "another".into(),
        region: "us-east-1".into(),
    });
    let units = |spent: Vec<Spent>| -> Vec<(String, f64, f64)> {
        let of = |spent: Spent| (spent.table.to_string(), spent.read.as_f64(), spent.write.as_f64());
        spent.into_iter().map(of).collect()
    };
    let line = |table: &str, read: f64, write: f64| (table.to_owned(), read, write);
    assert_eq!(units(first.spent()), [line("other", 0.0, 5.0), line("tab", 4.0, 3.0)]);
    assert_eq!(units(second.spent()), []);
    read("other", 2);
    assert_eq!(units(second.spent()), [line("other", 1.0, 0.0)]);
    write("tab", 1);
    assert_eq!(units(second.spent()), [line("other", 1.0, 0.0), line("tab", 0.0, 1.0)]);
    assert_eq!(units(first.spent()), [line("other", 1.0, 5.0), line("tab", 4.0, 4.0)]);
    assert_eq!(units(of_other.spent()), []);
    drop((first, of_other));
    assert!(twin.engine.is_watched());
    drop(second);
    assert!(!twin.engine.is_watched());
}

/// A meter omits indexes and tables that were used at no cost.
#[test]
fn a_meter_has_only_what_has_a_cost() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    let throttle = Rule::new(Verdict::Throttle(None));
    for rule in [
        throttle.clone().operation("PutItem"),
        throttle.clone().operation("GetItem"),
        throttle.operation("Query").index("by-g"),
    ] {
        twin.engine.add_fault(rule).unwrap();
    }
    let query = json!({"TableName": "tab", "IndexName": "by-g", "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": {":g": {"S": "x"}}});
    let key = json!({"pk": {"S": "a"}});
    let ((), spent) = twin.engine.spent_by(&twin.caller, || {
        for (operation, body, status) in [
            ("PutItem", json!({"TableName": "tab", "Item": key}), 400),
            ("GetItem", json!({"TableName": "tab", "Key": key}), 400),
            ("Query", query.clone(), 400),
            ("DescribeTable", json!({"TableName": "tab"}), 200),
        ] {
            assert_eq!(twin.send(operation, &body).0, status, "{operation}");
        }
        assert_eq!(twin.engine.spent(&twin.caller), []);
    });
    assert!(spent.is_empty(), "{spent:?}");
    twin.engine.faults().clear();
    let ((), spent) = twin.engine.spent_by(&twin.caller, || {
        twin.ok("Query", &query);
    });
    let indexes: Vec<_> = spent.iter().map(|spent| spent.index.as_deref()).collect();
    assert_eq!(indexes, [Some("by-g")]);
}

/// A table whose stream was enabled again has two streams, and the age of the records of each is measured.
#[test]
fn the_age_of_records_is_measured_for_each_stream() {
    let twin = watched();
    for key in ["a", "b"] {
        for stream in [
            json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}),
            json!({"StreamEnabled": false}),
        ] {
            let body = json!({"TableName": "tab", "StreamSpecification": stream});
            twin.ok("UpdateTable", &body);
            if stream["StreamEnabled"] == true {
                put(&twin, key);
            }
        }
        twin.engine.advance(Duration::from_mins(1));
    }
    let streams = twin.ok("ListStreams", &json!({}))["Streams"].clone();
    let mut expect = Vec::new();
    for (stream, age) in streams.as_array().unwrap().iter().zip([120_000, 60_000]) {
        let arn = &stream["StreamArn"];
        let shards = twin.ok("DescribeStream", &json!({"StreamArn": arn}))["StreamDescription"]["Shards"].clone();
        for shard in shards.as_array().unwrap() {
            let from = json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
            let iterator = twin.ok("GetShardIterator", &from)["ShardIterator"].clone();
            twin.ok("GetRecords", &json!({"ShardIterator": iterator}));
        }
        let label = stream["StreamLabel"].as_str().unwrap();
        expect.push(format!(
            "IteratorAge{{TableName=tab, Operation=GetRecords, StreamLabel={label}}} {age}"
        ));
    }
    assert_eq!(expect.len(), 2);
    let points = twin.engine.metrics_by_minute(&twin.caller);
    let ages = points.iter().filter(|point| point.metric.name == "IteratorAge");
    let found: Vec<_> = ages.map(|point| point.metric.to_string()).collect();
    assert_eq!(found, expect);
}
