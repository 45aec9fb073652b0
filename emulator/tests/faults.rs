//! Fault rules, end to end: what each verdict does to a request, its answer, and the item.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use dynatwin_engine::answer::{Answer, Delivery};
use dynatwin_engine::clock::{Clock, Moment};
use dynatwin_engine::conditions::Conditions;
use dynatwin_engine::engine::{Caller, Engine, Settings};
use dynatwin_engine::fault::{Exceeded, KeyMatch, Occasion, Rule, Verdict};
use serde_json::{Value, json};

struct Twin(Engine);

impl Twin {
    fn new(billing: Value) -> Twin {
        let twin = Twin(Engine::new(Settings {
            clock: Clock::settable(Moment::START),
            seed: 1,
            conditions: Conditions::CALM,
            shared_db: false,
        }));
        let mut create = json!({
            "TableName": "tab",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        });
        create
            .as_object_mut()
            .unwrap()
            .extend(billing.as_object().unwrap().clone());
        assert_eq!(twin.send("CreateTable", create).status, 200);
        twin
    }

    fn on_demand() -> Twin {
        Twin::new(json!({"BillingMode": "PAY_PER_REQUEST"}))
    }

    fn send(&self, operation: &str, body: Value) -> Answer {
        let caller = Caller {
            access_key: "test".into(),
            region: "us-east-1".into(),
        };
        self.0.dispatch(&caller, operation, body.to_string().as_bytes())
    }

    fn put(&self, key: &str) -> Answer {
        self.send("PutItem", json!({"TableName": "tab", "Item": {"pk": {"S": key}}}))
    }

    fn count(&self) -> Value {
        json(&self.send("Scan", json!({"TableName": "tab", "Select": "COUNT"})))["Count"].clone()
    }
}

fn json(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap()
}

fn writes(keys: &[&str]) -> Value {
    let puts: Vec<Value> = keys
        .iter()
        .map(|key| json!({"PutRequest": {"Item": {"pk": {"S": key}}}}))
        .collect();
    json!({"RequestItems": {"tab": puts}})
}

#[test]
fn verdicts() {
    for (verdict, status, delivery, wait, written) in [
        (Verdict::InternalServerError, 500, Delivery::Whole, 0, 0),
        (Verdict::ServiceUnavailable, 503, Delivery::Whole, 0, 0),
        (Verdict::Throttle(None), 400, Delivery::Whole, 0, 0),
        (Verdict::ItemCollectionSizeLimitExceeded, 400, Delivery::Whole, 0, 0),
        (Verdict::LimitExceeded, 400, Delivery::Whole, 0, 0),
        (Verdict::Wait(Duration::from_secs(3)), 200, Delivery::Whole, 3, 1),
        (Verdict::Reset, 500, Delivery::Reset, 0, 0),
        (Verdict::AnswerLost, 200, Delivery::Lost, 0, 1),
        (Verdict::Truncate(1), 200, Delivery::Truncated(1), 0, 1),
    ] {
        let twin = Twin::on_demand();
        twin.0.faults().add(Rule::new(verdict).operation("PutItem"));
        let answer = twin.put("a");
        assert_eq!((answer.status, answer.delivery), (status, delivery), "{verdict:?}");
        assert_eq!(answer.at, Moment::START.plus(Duration::from_secs(wait)), "{verdict:?}");
        assert_eq!(twin.count(), json!(written), "{verdict:?}");
    }
}

#[test]
fn throttles_say_what_ran_out() {
    let provisioned = || {
        let units = json!({"ReadCapacityUnits": 1, "WriteCapacityUnits": 1});
        Twin::new(json!({"ProvisionedThroughput": units}))
    };
    for (twin, exceeded, kind, reason) in [
        (
            provisioned(),
            None,
            "ProvisionedThroughputExceededException",
            "TableWriteProvisionedThroughputExceeded",
        ),
        (
            provisioned(),
            Some(Exceeded::KeyRangeThroughput),
            "ProvisionedThroughputExceededException",
            "TableWriteKeyRangeThroughputExceeded",
        ),
        (
            Twin::on_demand(),
            None,
            "ThrottlingException",
            "TableWriteKeyRangeThroughputExceeded",
        ),
        (
            Twin::on_demand(),
            Some(Exceeded::MaxOnDemandThroughput),
            "ThrottlingException",
            "TableWriteMaxOnDemandThroughputExceeded",
        ),
        (
            Twin::on_demand(),
            Some(Exceeded::AccountLimit),
            "RequestLimitExceeded",
            "TableWriteAccountLimitExceeded",
        ),
    ] {
        twin.0.faults().add(Rule::new(Verdict::Throttle(exceeded)));
        let body = json(&twin.put("a"));
        assert!(
            body["__type"].as_str().unwrap().ends_with(&format!("#{kind}")),
            "{body}"
        );
        let member = if kind == "ThrottlingException" {
            "throttlingReasons"
        } else {
            "ThrottlingReasons"
        };
        let resource = "arn:aws:dynamodb:us-east-1:000000000000:table/tab";
        assert_eq!(body[member], json!([{"reason": reason, "resource": resource}]));
    }
}

#[test]
fn a_batch_comes_back_partly_and_fails_only_as_a_whole() {
    let twin = Twin::on_demand();
    let rule = Rule::new(Verdict::Throttle(None)).key(KeyMatch::PartitionPrefix("hot".into()));
    twin.0.faults().add(rule.on(Occasion::First(3)));
    let answer = twin.send("BatchWriteItem", writes(&["hot1", "cold", "hot2"]));
    assert_eq!(answer.status, 200);
    assert_eq!(
        json(&answer)["UnprocessedItems"],
        writes(&["hot1", "hot2"])["RequestItems"]
    );
    assert_eq!(twin.count(), json!(1));
    let failed = twin.send("BatchWriteItem", writes(&["hot1"]));
    assert_eq!(failed.status, 400);
    assert!(
        json(&failed)["__type"]
            .as_str()
            .unwrap()
            .ends_with("#ThrottlingException")
    );
    // The rule has acted three times.
    let rest = twin.send("BatchWriteItem", writes(&["hot1", "hot2"]));
    assert_eq!(json(&rest), json!({"UnprocessedItems": {}}));
    assert_eq!(twin.count(), json!(3));
    twin.0.faults().clear();
    twin.0.faults().add(Rule::new(Verdict::Throttle(None)).nth(2));
    let keys = json!([{"pk": {"S": "cold"}}, {"pk": {"S": "hot1"}}]);
    let read = json(&twin.send(
        "BatchGetItem",
        json!({"RequestItems": {"tab": {"Keys": keys, "ConsistentRead": true}}}),
    ));
    assert_eq!(read["Responses"]["tab"], json!([{"pk": {"S": "cold"}}]));
    assert_eq!(
        read["UnprocessedKeys"],
        json!({"tab": {"Keys": [{"pk": {"S": "hot1"}}], "ConsistentRead": true}})
    );
}

#[test]
fn a_throttled_transaction_is_cancelled() {
    let twin = Twin::on_demand();
    twin.0
        .faults()
        .add(Rule::new(Verdict::Throttle(None)).key(KeyMatch::Partition("b".into())));
    let put = |key: &str| json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": key}}}});
    let get = |key: &str| json!({"Get": {"TableName": "tab", "Key": {"pk": {"S": key}}}});
    for (operation, actions) in [
        ("TransactWriteItems", [put("a"), put("b")]),
        ("TransactGetItems", [get("a"), get("b")]),
    ] {
        let body = json(&twin.send(operation, json!({"TransactItems": actions})));
        let codes: Vec<&Value> = body["CancellationReasons"]
            .as_array()
            .unwrap()
            .iter()
            .map(|reason| &reason["Code"])
            .collect();
        assert_eq!(codes, ["None", "ThrottlingError"], "{operation}");
    }
    assert_eq!(twin.count(), json!(0));
}

#[test]
fn a_transaction_of_which_an_action_fails_at_the_service_fails_itself() {
    let twin = Twin::on_demand();
    let rule = Rule::new(Verdict::InternalServerError).key(KeyMatch::Partition("b".into()));
    twin.0.faults().add(rule);
    let put = |key: &str| json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": key}}}});
    let get = |key: &str| json!({"Get": {"TableName": "tab", "Key": {"pk": {"S": key}}}});
    for (operation, actions) in [
        ("TransactWriteItems", [put("a"), put("b")]),
        ("TransactGetItems", [get("a"), get("b")]),
    ] {
        let answer = twin.send(operation, json!({"TransactItems": actions}));
        assert_eq!(
            (answer.status, kind_and_text(&answer).0.as_str()),
            (500, "InternalServerError")
        );
    }
    assert_eq!(twin.count(), json!(0));
}

#[test]
fn a_rule_names_numbers_as_they_are_shown() {
    let twin = Twin::new(json!({"BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "N"}]}));
    let rule = Rule::new(Verdict::ServiceUnavailable).key(KeyMatch::Partition("7".into()));
    twin.0.faults().add(rule);
    for (number, status) in [("7", 503), ("07.0", 503), ("70", 200), ("8", 200)] {
        let item = json!({"TableName": "tab", "Item": {"pk": {"N": number}}});
        assert_eq!(twin.send("PutItem", item).status, status, "{number}");
    }
}

/// A request of the data plane fails by each dial alone, without a rule and beside one about something else.
#[test]
fn dials_fail_requests() {
    for (internal_errors, throttles, expect) in [
        (0.0, 0.0, None),
        (1.0, 0.0, Some("InternalServerError")),
        (0.0, 1.0, Some("ThrottlingException")),
        (1.0, 1.0, Some("InternalServerError")),
    ] {
        let twin = Twin::on_demand();
        twin.0.set_conditions(Conditions {
            internal_errors,
            throttles,
            ..Conditions::CALM
        });
        for _ in 0..2 {
            let answer = twin.put("a");
            let kind = (answer.status != 200).then(|| kind_and_text(&answer).0);
            assert_eq!(kind.as_deref(), expect, "{internal_errors} {throttles}");
            assert_eq!(twin.send("ListTables", json!({})).status, 200);
            twin.0
                .faults()
                .add(Rule::new(Verdict::ServiceUnavailable).operation("Scan"));
        }
    }
}

#[test]
fn no_wait_is_too_long() {
    let twin = Twin::on_demand();
    twin.0.faults().add(Rule::new(Verdict::Wait(Duration::MAX)));
    let answer = twin.send("BatchWriteItem", writes(&["a", "b"]));
    assert_eq!((answer.status, answer.at), (200, Moment::NEVER));
}

fn kind_and_text(answer: &Answer) -> (String, String) {
    let body = json(answer);
    let kind = body["__type"].as_str().unwrap().rsplit('#').next().unwrap().to_owned();
    (kind, body["message"].as_str().unwrap().to_owned())
}

#[test]
fn limits_say_what_they_are() {
    let twin = Twin::on_demand();
    let faults = twin.0.faults();
    faults.add(Rule::new(Verdict::LimitExceeded).operation("DeleteTable"));
    faults.add(Rule::new(Verdict::ItemCollectionSizeLimitExceeded).key(KeyMatch::Partition("full".into())));
    assert_eq!(
        kind_and_text(&twin.send("DeleteTable", json!({"TableName": "tab"}))),
        (
            "LimitExceededException".into(),
            "Subscriber limit exceeded: Only 500 tables can be created, updated, or deleted simultaneously".into()
        )
    );
    let expected = (
        "ItemCollectionSizeLimitExceededException".into(),
        "Collection size exceeded.".into(),
    );
    assert_eq!(kind_and_text(&twin.put("full")), expected);
    let put = |key: &str| json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": key}}}});
    let body = json(&twin.send("TransactWriteItems", json!({"TransactItems": [put("a"), put("full")]})));
    assert_eq!(
        body["CancellationReasons"],
        json!([{"Code": "None"},
            {"Code": "ItemCollectionSizeLimitExceeded", "Message": "Collection size exceeded."}])
    );
    assert_eq!(twin.count(), json!(0));
}

#[test]
fn an_index_is_throttled_where_it_is_read_and_where_it_is_fed() {
    let index = |name: &str, hash: &str| {
        json!({"IndexName": name, "KeySchema": [{"AttributeName": hash, "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"}})
    };
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let twin = Twin::new(json!({"BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [attribute("pk"), attribute("g"), attribute("h")],
        "GlobalSecondaryIndexes": [index("by-g", "g"), index("by-h", "h")]}));
    let other = Twin::on_demand();
    let scan = |index: Option<&str>| {
        let mut body = json!({"TableName": "tab"});
        if let Some(index) = index {
            body["IndexName"] = index.into();
        }
        json(&twin.send("Scan", body))
    };
    let rule = Rule::new(Verdict::Throttle(Some(Exceeded::ProvisionedThroughput))).index("by-g");
    twin.0.faults().add(rule.clone());
    other.0.faults().add(rule);
    let resource = "arn:aws:dynamodb:us-east-1:000000000000:table/tab/index/by-g";
    let reason = |name: &str| json!([{"reason": name, "resource": resource}]);
    let read = scan(Some("by-g"));
    assert_eq!(
        read["ThrottlingReasons"],
        reason("IndexReadProvisionedThroughputExceeded")
    );
    assert!(read["message"].as_str().unwrap().contains("global secondary indexes"));
    let written = json(&twin.put("a"));
    assert_eq!(
        written["ThrottlingReasons"],
        reason("IndexWriteProvisionedThroughputExceeded")
    );
    assert_eq!(
        [scan(None)["Count"].clone(), scan(Some("by-h"))["Count"].clone()],
        [json!(0), json!(0)]
    );
    assert_eq!(other.put("a").status, 200, "a table without the index");
}

#[test]
fn a_rule_can_be_about_one_caller() {
    let twin = Twin::on_demand();
    twin.0
        .faults()
        .add(Rule::new(Verdict::InternalServerError).caller("other"));
    assert_eq!(twin.put("a").status, 200);
    let caller = Caller {
        access_key: "other".into(),
        region: "us-east-1".into(),
    };
    // The control plane is asked for the caller as well.
    assert_eq!(twin.0.dispatch(&caller, "ListTables", b"{}").status, 500);
    assert_eq!(twin.0.faults().report()[0].fired, 1);
}
