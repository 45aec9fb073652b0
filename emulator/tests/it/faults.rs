//! Fault rules, end to end: the effect of each verdict on a request, its answer, and the item.

mod listing;
mod recorded;
mod scopes;
mod tables;
mod transactions;
mod windows;

use std::collections::BTreeSet;
use std::time::Duration;

use crate::common::{caller, settings};
use dynatwin_engine::faults::{Exceeded, JobFault, KeyMatch, KmsFault, Outage, Rule, Trigger, Verdict};
use dynatwin_engine::http::{Answer, Delivery, HttpRequest, exception};
use dynatwin_engine::{Caller, Conditions, Engine, ErrorKind, Lag, Moment};
use serde_json::{Value, json};

struct Twin(Engine);

impl Twin {
    fn new(billing: Value) -> Twin {
        let twin = Twin(Engine::new(settings(1)));
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
        let caller = caller();
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
        (Verdict::Wait(Duration::from_secs(3)), 200, Delivery::Whole, 3, 1),
        (Verdict::Reset, 500, Delivery::Reset, 0, 0),
        (Verdict::AnswerLost, 200, Delivery::Lost, 0, 1),
        (Verdict::Truncate(1), 200, Delivery::Truncated(1), 0, 1),
    ] {
        let twin = Twin::on_demand();
        twin.0.add_fault(Rule::new(verdict).operation("PutItem")).unwrap();
        let answer = twin.put("a");
        assert_eq!((answer.status, answer.delivery), (status, delivery), "{verdict:?}");
        assert_eq!(answer.at, Moment::START.plus(Duration::from_secs(wait)), "{verdict:?}");
        assert_eq!(twin.count(), json!(written), "{verdict:?}");
    }
}

#[test]
fn throttles_name_the_exhausted_resource() {
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
        twin.0.add_fault(Rule::new(Verdict::Throttle(exceeded))).unwrap();
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

/// A rule for a table acts on each request that names the table, by its name or by its ARN.
#[test]
fn a_rule_for_a_table_acts_on_its_arn() {
    let arn = |table: &str| format!("arn:aws:dynamodb:us-east-1:000000000000:table/{table}");
    let twin = Twin::on_demand();
    let create = json!({"TableName": "other", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    assert_eq!(twin.send("CreateTable", create).status, 200);
    twin.0
        .add_fault(Rule::new(Verdict::InternalServerError).table("tab"))
        .unwrap();
    let key = json!({"pk": {"S": "a"}});
    let condition = json!({":a": {"S": "a"}});
    for (operation, members) in [
        ("GetItem", json!({"Key": key})),
        ("PutItem", json!({"Item": key})),
        ("UpdateItem", json!({"Key": key})),
        ("DeleteItem", json!({"Key": key})),
        (
            "Query",
            json!({"KeyConditionExpression": "pk = :a", "ExpressionAttributeValues": condition}),
        ),
        ("Scan", json!({})),
        ("DescribeTable", json!({})),
        ("DescribeTimeToLive", json!({})),
        ("DescribeContinuousBackups", json!({})),
        ("DescribeContributorInsights", json!({})),
        ("DescribeKinesisStreamingDestination", json!({})),
        ("DescribeTableReplicaAutoScaling", json!({})),
        ("ListBackups", json!({})),
        ("ListContributorInsights", json!({})),
        ("CreateBackup", json!({"BackupName": "name"})),
        ("UpdateTable", json!({"DeletionProtectionEnabled": false})),
    ] {
        let send = |table: &str| {
            let mut body = members.clone();
            body["TableName"] = table.into();
            twin.send(operation, body).status
        };
        let failed = ["tab", &arn("tab"), "other", &arn("other")].map(|table| send(table) == 500);
        assert_eq!(failed, [true, true, false, false], "{operation}");
    }
}

/// The table of a fault rule, and its resources.
struct Resources {
    table: &'static str,
    arn: String,
    stream: Value,
    shard: Value,
    iterator: Value,
    backup: Value,
    export: Value,
}

impl Resources {
    /// The resources of a table, whose stream and recovery are enabled.
    fn enabled(twin: &Twin, table: &'static str) -> Resources {
        let update =
            json!({"TableName": table, "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}});
        let updated = json(&twin.send("UpdateTable", update));
        let stream = updated["TableDescription"]["LatestStreamArn"].clone();
        let recovery =
            json!({"TableName": table, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}});
        assert_eq!(twin.send("UpdateContinuousBackups", recovery).status, 200);
        let described = json(&twin.send("DescribeStream", json!({"StreamArn": stream})));
        let shard = described["StreamDescription"]["Shards"][0]["ShardId"].clone();
        let from = json!({"StreamArn": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
        let iterator = json(&twin.send("GetShardIterator", from))["ShardIterator"].clone();
        let arn = format!("arn:aws:dynamodb:us-east-1:000000000000:table/{table}");
        let backup = json(&twin.send("CreateBackup", json!({"TableName": table, "BackupName": "first"})));
        let export = json(&twin.send(
            "ExportTableToPointInTime",
            json!({"TableArn": arn, "S3Bucket": "bucket"}),
        ));
        Resources {
            table,
            arn,
            stream,
            shard,
            iterator,
            backup: backup["BackupDetails"]["BackupArn"].clone(),
            export: export["ExportDescription"]["ExportArn"].clone(),
        }
    }

    /// Requests about the table, its stream, backup and export, and its state at an earlier time.
    fn requests(&self) -> Vec<(&'static str, Value)> {
        let Resources {
            table,
            arn,
            stream,
            shard,
            iterator,
            backup,
            export,
        } = self;
        let mut requests = Vec::new();
        for (resource, action) in [
            (json!(arn), "dynamodb:GetItem"),
            (stream.clone(), "dynamodb:GetRecords"),
        ] {
            let statement = json!({"Effect": "Allow", "Principal": {"AWS": "000000000000"}, "Action": action,
                "Resource": resource});
            let policy = json!({"Version": "2012-10-17", "Statement": [statement]}).to_string();
            let of = json!({"ResourceArn": resource});
            requests.extend([
                (
                    "TagResource",
                    json!({"ResourceArn": resource, "Tags": [{"Key": "k", "Value": "v"}]}),
                ),
                ("ListTagsOfResource", of.clone()),
                ("UntagResource", json!({"ResourceArn": resource, "TagKeys": ["k"]})),
                ("PutResourcePolicy", json!({"ResourceArn": resource, "Policy": policy})),
                ("GetResourcePolicy", of.clone()),
                ("DeleteResourcePolicy", of),
            ]);
        }
        let from = json!({"StreamArn": stream, "ShardId": shard, "ShardIteratorType": "LATEST"});
        let latest = |member: &str, source: &str, target: &str| json!({member: source, "TargetTableName": format!("{table}-{target}"), "UseLatestRestorableTime": true});
        requests.extend([
            ("ListStreams", json!({"TableName": table})),
            ("DescribeStream", json!({"StreamArn": stream})),
            ("GetShardIterator", from),
            ("GetRecords", json!({"ShardIterator": iterator})),
            (
                "ExportTableToPointInTime",
                json!({"TableArn": arn, "S3Bucket": "bucket"}),
            ),
            ("ListExports", json!({"TableArn": arn})),
            ("ListImports", json!({"TableArn": arn})),
            ("DescribeExport", json!({"ExportArn": export})),
            ("DescribeBackup", json!({"BackupArn": backup})),
            ("DeleteBackup", json!({"BackupArn": backup})),
            ("RestoreTableToPointInTime", latest("SourceTableName", table, "name")),
            ("RestoreTableToPointInTime", latest("SourceTableArn", arn, "arn")),
        ]);
        requests
    }
}

/// A rule for a table acts on each request about a resource of the table.
#[test]
fn a_rule_for_a_table_acts_on_its_resources() {
    let twin = Twin::on_demand();
    let create = json!({"TableName": "other", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    assert_eq!(twin.send("CreateTable", create).status, 200);
    let resources = ["tab", "other"].map(|table| Resources::enabled(&twin, table));
    twin.0
        .add_fault(Rule::new(Verdict::InternalServerError).table("tab"))
        .unwrap();
    for (of_table, status) in resources.iter().zip([500, 200]) {
        for (operation, body) in of_table.requests() {
            let answer = twin.send(operation, body.clone());
            assert_eq!(answer.status, status, "{operation} {body}: {}", json(&answer));
        }
    }
}

/// A local index shares the capacity of its table, so a throttle names the table.
#[test]
fn throttles_of_reads_name_the_table_or_the_global_index() {
    let attributes = ["pk", "sk", "x"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let key = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let index = |name: &str, key: Value| json!([{"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": "ALL"}}]);
    let twin = Twin::new(
        json!({"BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes, "KeySchema": key("pk", "sk"),
        "LocalSecondaryIndexes": index("local", key("pk", "x")), "GlobalSecondaryIndexes": index("global", key("x", "pk"))}),
    );
    twin.0
        .add_fault(Rule::new(Verdict::Throttle(None)).operation("Scan"))
        .unwrap();
    for (index, resource, reason) in [
        (None, "", "TableReadKeyRangeThroughputExceeded"),
        (Some("local"), "", "TableReadKeyRangeThroughputExceeded"),
        (Some("global"), "/index/global", "IndexReadKeyRangeThroughputExceeded"),
    ] {
        let mut scan = json!({"TableName": "tab"});
        if let Some(index) = index {
            scan["IndexName"] = index.into();
        }
        let resource = format!("arn:aws:dynamodb:us-east-1:000000000000:table/tab{resource}");
        let expect = json!([{"reason": reason, "resource": resource}]);
        assert_eq!(json(&twin.send("Scan", scan))["throttlingReasons"], expect, "{index:?}");
    }
}

#[test]
fn a_batch_returns_throttled_entries_and_other_errors_fail_the_request() {
    let twin = Twin::on_demand();
    let rule = Rule::new(Verdict::Throttle(None)).key(KeyMatch::PartitionPrefix("hot".into()));
    twin.0.add_fault(rule.on(Trigger::First(3))).unwrap();
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
    twin.0.add_fault(Rule::new(Verdict::Throttle(None)).nth(2)).unwrap();
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
    // An item that is not there has been read.
    twin.0.faults().clear();
    twin.0.add_fault(Rule::new(Verdict::Throttle(None)).nth(2)).unwrap();
    let keys = json!([{"pk": {"S": "nobody"}}, {"pk": {"S": "hot1"}}]);
    let read = twin.send("BatchGetItem", json!({"RequestItems": {"tab": {"Keys": keys}}}));
    assert_eq!(
        (read.status, json(&read)),
        (
            200,
            json!({"Responses": {"tab": []}, "UnprocessedKeys": {"tab": {"Keys": [{"pk": {"S": "hot1"}}]}}})
        )
    );
}

/// An entry of a batch is returned as unprocessed, whichever limit throttles it.
#[test]
fn an_entry_that_exceeds_any_limit_is_unprocessed() {
    for verdict in [
        Verdict::Throttle(None),
        Verdict::Throttle(Some(Exceeded::KeyRangeThroughput)),
        Verdict::Throttle(Some(Exceeded::MaxOnDemandThroughput)),
        Verdict::Throttle(Some(Exceeded::AccountLimit)),
        Verdict::Exception(ErrorKind::Throttling),
        Verdict::Exception(ErrorKind::ProvisionedThroughputExceeded),
        Verdict::Exception(ErrorKind::RequestLimitExceeded),
    ] {
        let twin = Twin::on_demand();
        let rule = Rule::new(verdict).key(KeyMatch::Partition("hot".into()));
        twin.0.add_fault(rule).unwrap();
        let answer = twin.send("BatchWriteItem", writes(&["hot", "cold"]));
        let unprocessed = &json(&answer)["UnprocessedItems"];
        let expect = (200, &writes(&["hot"])["RequestItems"]);
        assert_eq!((answer.status, unprocessed), expect, "{verdict:?}");
        let read = |keys: &[&str]| {
            let keys: Vec<Value> = keys.iter().map(|key| json!({"pk": {"S": key}})).collect();
            json!({"RequestItems": {"tab": {"Keys": keys}}})
        };
        let answer = twin.send("BatchGetItem", read(&["cold", "hot"]));
        let body = json(&answer);
        assert_eq!(
            (answer.status, &body["Responses"]["tab"]),
            (200, &json!([{"pk": {"S": "cold"}}]))
        );
        assert_eq!(body["UnprocessedKeys"], read(&["hot"])["RequestItems"], "{verdict:?}");
        assert_eq!(twin.count(), 1, "{verdict:?}");
    }
}

#[test]
fn a_throttled_transaction_is_cancelled() {
    let put = |key: &str| json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": key}}}});
    let get = |key: &str| json!({"Get": {"TableName": "tab", "Key": {"pk": {"S": key}}}});
    for (exceeded, code) in [
        (None, "ThrottlingError"),
        (Some(Exceeded::KeyRangeThroughput), "ThrottlingError"),
        (Some(Exceeded::MaxOnDemandThroughput), "ThrottlingError"),
        (Some(Exceeded::AccountLimit), "ThrottlingError"),
        (Some(Exceeded::ProvisionedThroughput), "ProvisionedThroughputExceeded"),
    ] {
        let twin = Twin::on_demand();
        twin.0
            .add_fault(Rule::new(Verdict::Throttle(exceeded)).key(KeyMatch::Partition("b".into())))
            .unwrap();
        for (operation, actions) in [
            ("TransactWriteItems", [put("a"), put("b")]),
            ("TransactGetItems", [get("a"), get("b")]),
        ] {
            let body = json(&twin.send(operation, json!({"TransactItems": actions})));
            let reasons = body["CancellationReasons"].as_array().unwrap().iter();
            let codes: Vec<&Value> = reasons.map(|reason| &reason["Code"]).collect();
            assert_eq!(codes, ["None", code], "{operation} {exceeded:?}");
        }
        assert_eq!(twin.count(), json!(0));
    }
}

#[test]
fn a_transaction_of_which_an_action_fails_at_the_service_fails_itself() {
    let twin = Twin::on_demand();
    let rule = Rule::new(Verdict::InternalServerError).key(KeyMatch::Partition("b".into()));
    twin.0.add_fault(rule).unwrap();
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
fn a_rule_matches_numbers_in_canonical_form() {
    let twin = Twin::new(json!({"BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "N"}]}));
    let rule = Rule::new(Verdict::ServiceUnavailable).key(KeyMatch::Partition("7".into()));
    twin.0.add_fault(rule).unwrap();
    for (number, status) in [("7", 503), ("07.0", 503), ("70", 200), ("8", 200)] {
        let item = json!({"TableName": "tab", "Item": {"pk": {"N": number}}});
        assert_eq!(twin.send("PutItem", item).status, status, "{number}");
    }
}

/// Each condition alone makes data-plane requests fail, without a rule and with a rule about something else.
#[test]
fn conditions_fail_requests() {
    for (internal_errors, throttles, expect) in [
        (0.0, 0.0, None),
        (1.0, 0.0, Some("InternalServerError")),
        (0.0, 1.0, Some("ThrottlingException")),
        (1.0, 1.0, Some("InternalServerError")),
    ] {
        let twin = Twin::on_demand();
        twin.0
            .set_conditions(Conditions {
                internal_errors,
                throttles,
                ..Conditions::CALM
            })
            .unwrap();
        for _ in 0..2 {
            let answer = twin.put("a");
            let kind = (answer.status != 200).then(|| kind_and_text(&answer).0);
            assert_eq!(kind.as_deref(), expect, "{internal_errors} {throttles}");
            assert_eq!(twin.send("ListTables", json!({})).status, 200);
            twin.0
                .add_fault(Rule::new(Verdict::ServiceUnavailable).operation("Scan"))
                .unwrap();
        }
    }
}

/// Each rate is that of its own failure: both can be below one, and a rate of zero causes none.
#[test]
fn rates_of_failures_are_independent() {
    let (fails, throttled) = ("InternalServerError", "ThrottlingException");
    for (internal_errors, throttles, expect) in [
        (0.5, 0.0, &["", fails][..]),
        (0.0, 0.5, &["", throttled]),
        (0.5, 0.5, &["", fails, throttled]),
        (0.5, 1.0, &[fails, throttled]),
        (f64::MIN_POSITIVE, 0.0, &[""]),
        (0.0, f64::MIN_POSITIVE, &[""]),
    ] {
        let twin = Twin::on_demand();
        twin.0
            .set_conditions(Conditions {
                internal_errors,
                throttles,
                ..Conditions::CALM
            })
            .unwrap();
        let kind = |answer: &Answer| match answer.status {
            200 => String::new(),
            _ => kind_and_text(answer).0,
        };
        let found: BTreeSet<String> = (0..100).map(|at| kind(&twin.put(&at.to_string()))).collect();
        assert!(found.iter().eq(expect), "{internal_errors} {throttles}: {found:?}");
    }
}

/// The waits of all entries of a batch are added, and so is what does not move a clock that stands still.
#[test]
fn the_waits_of_a_batch_add_up() {
    for (moves, held) in [
        ([false, false], 7),
        ([true, true], 0),
        ([false, true], 2),
        ([true, false], 5),
    ] {
        let twin = Twin::on_demand();
        for ((key, seconds), moves_clock) in [("a", 2), ("b", 5)].into_iter().zip(moves) {
            let rule = Rule::new(Verdict::Wait(Duration::from_secs(seconds))).key(KeyMatch::Partition(key.to_owned()));
            let rule = if moves_clock { rule.moving_clock() } else { rule };
            twin.0.add_fault(rule).unwrap();
        }
        let answer = twin.send("BatchWriteItem", writes(&["a", "b", "c"]));
        let wait = answer.at.since(Moment::START);
        assert_eq!(
            (answer.status, wait, answer.still.held),
            (200, Duration::from_secs(7), Duration::from_secs(held)),
            "{moves:?}"
        );
    }
}

#[test]
fn no_wait_overflows_the_clock() {
    let twin = Twin::on_demand();
    twin.0.add_fault(Rule::new(Verdict::Wait(Duration::MAX))).unwrap();
    let answer = twin.send("BatchWriteItem", writes(&["a", "b"]));
    assert_eq!((answer.status, answer.at), (200, Moment::NEVER));
}

fn kind_and_text(answer: &Answer) -> (String, String) {
    let body = json(answer);
    let kind = body["__type"].as_str().unwrap().rsplit('#').next().unwrap().to_owned();
    (kind, body["message"].as_str().unwrap().to_owned())
}

#[test]
fn limits_name_their_quota() {
    let twin = Twin::on_demand();
    let full = KeyMatch::Partition("full".into());
    for rule in [
        Rule::new(Verdict::LimitExceeded).operation("DeleteTable"),
        Rule::new(Verdict::ItemCollectionSizeLimitExceeded).key(full),
    ] {
        twin.0.add_fault(rule).unwrap();
    }
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
fn an_index_rule_throttles_its_reads_and_its_tables_writes() {
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
    twin.0.add_fault(rule.clone()).unwrap();
    other.0.add_fault(rule).unwrap();
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
    twin.0.faults().clear();
    twin.0
        .add_fault(Rule::new(Verdict::Throttle(None)).index("by-another"))
        .unwrap();
    assert_eq!(twin.put("a").status, 200, "a table with other indexes");
}

#[test]
fn a_rule_can_be_about_one_caller() {
    let twin = Twin::on_demand();
    twin.0
        .add_fault(Rule::new(Verdict::InternalServerError).caller("other"))
        .unwrap();
    assert_eq!(twin.put("a").status, 200);
    let caller = Caller {
        access_key: "other".into(),
        region: "us-east-1".into(),
    };
    // A rule about a caller also applies to the control plane.
    assert_eq!(twin.0.dispatch(&caller, "ListTables", b"{}").status, 500);
    assert_eq!(twin.0.faults().report()[0].fired, 1);
}

const WRITES: [&str; 3] = ["PutItem", "UpdateItem", "DeleteItem"];

fn key(key: &str) -> Value {
    json!({"TableName": "tab", "Key": {"pk": {"S": key}}})
}

#[test]
fn modelled_exceptions_are_answered_with_their_texts() {
    for (kind, text) in [
        (ErrorKind::ConditionalCheckFailed, "The conditional request failed"),
        (ErrorKind::TransactionConflict, "Transaction is ongoing for the item"),
        (ErrorKind::ItemCollectionSizeLimitExceeded, "Collection size exceeded."),
        (
            ErrorKind::ReplicatedWriteConflict,
            "The request was rejected because one or more items in the request are being modified by a request in another Region.",
        ),
        (ErrorKind::ResourceNotFound, "Requested resource not found"),
        (
            ErrorKind::ProvisionedThroughputExceeded,
            "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API.",
        ),
        (
            ErrorKind::RequestLimitExceeded,
            "Throughput exceeds the current throughput quota for your account.",
        ),
        (
            ErrorKind::UnrecognizedClient,
            "The security token included in the request is invalid.",
        ),
    ] {
        for operation in WRITES {
            let twin = Twin::on_demand();
            twin.0
                .add_fault(Rule::new(Verdict::Exception(kind)).operation(operation))
                .unwrap();
            let body = match operation {
                "PutItem" => json!({"TableName": "tab", "Item": {"pk": {"S": "a"}}}),
                _ => key("a"),
            };
            let expect = (exception(kind).to_owned(), text.to_owned());
            assert_eq!(kind_and_text(&twin.send(operation, body)), expect, "{operation}");
            assert_eq!(twin.count(), json!(0), "{operation} {kind:?}");
        }
    }
}

/// Every exception that an operation is modelled with can be injected, as itself and with its text.
#[test]
fn every_modelled_exception_can_be_injected() {
    const ARN: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/tab";
    let twin = Twin::on_demand();
    let stream = json!({"TableName": "tab",
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}});
    let stream = json(&twin.send("UpdateTable", stream))["TableDescription"]["LatestStreamArn"].clone();
    let shards = json(&twin.send("DescribeStream", json!({"StreamArn": stream})));
    let shard = &shards["StreamDescription"]["Shards"][0]["ShardId"];
    let from = json!({"StreamArn": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
    let iterator = json(&twin.send("GetShardIterator", from.clone()))["ShardIterator"].clone();
    let saved = json(&twin.send("CreateBackup", json!({"TableName": "tab", "BackupName": "name"})));
    let saved = saved["BackupDetails"]["BackupArn"].clone();
    let recovery = json!({"TableName": "tab",
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}});
    twin.send("UpdateContinuousBackups", recovery.clone());
    let named = json!({"TableName": "tab"});
    let insert = json!({"Statement": "INSERT INTO tab VALUE {'pk': 'a'}"});
    let restore = json!({"BackupArn": saved, "TargetTableName": "restored"});
    let restore_to = json!({"SourceTableName": "tab", "TargetTableName": "restored", "UseLatestRestorableTime": true});
    let backup = json!({"TableName": "tab", "BackupName": "name"});
    let of_backup = json!({"BackupArn": saved});
    let export = json!({"TableArn": ARN, "S3Bucket": "bucket"});
    let import = json!({"S3BucketSource": {"S3Bucket": "bucket"}, "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": {"TableName": "imported", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}});
    let of_resource = json!({"ResourceArn": ARN});
    let export_arn = json!({"ExportArn": format!("{ARN}/export/01767225600000-0000000a")});
    let import_arn = json!({"ImportArn": format!("{ARN}/import/01767225600000-0000000a")});
    let global = json!({"GlobalTableName": "tab"});
    let replicas = json!({"GlobalTableName": "tab", "ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]});
    let group = json!({"GlobalTableName": "tab", "ReplicationGroup": [{"RegionName": "us-east-1"}]});
    let settings = json!({"GlobalTableName": "tab", "GlobalTableBillingMode": "PAY_PER_REQUEST"});
    for (kind, operation, body, text) in [
        (
            ErrorKind::DuplicateItem,
            "ExecuteStatement",
            &insert,
            "Duplicate primary key exists in table",
        ),
        (
            ErrorKind::ResourceInUse,
            "DeleteTable",
            &named,
            "Attempt to change a resource which is still in use: Table is being updated: tab",
        ),
        (
            ErrorKind::ExpiredIterator,
            "GetRecords",
            &json!({"ShardIterator": iterator}),
            "The provided iterator exceeds the maximum age allowed",
        ),
        (
            ErrorKind::TrimmedDataAccess,
            "GetShardIterator",
            &from,
            "The data you are trying to access has been trimmed",
        ),
        (
            ErrorKind::AccessDenied,
            "DescribeTable",
            &named,
            "User: arn:aws:iam::000000000000:root is not authorized to perform: dynamodb:DescribeTable on resource: \
             arn:aws:dynamodb:us-east-1:000000000000:table/tab because no resource-based policy allows the \
             dynamodb:DescribeTable action",
        ),
        (
            ErrorKind::AccessDenied,
            "GetItem",
            &key("a"),
            "User: arn:aws:iam::000000000000:root is not authorized to perform: dynamodb:GetItem on resource: \
             arn:aws:dynamodb:us-east-1:000000000000:table/tab because no resource-based policy allows the \
             dynamodb:GetItem action",
        ),
        (
            ErrorKind::ExpiredToken,
            "ListTables",
            &json!({}),
            "The security token included in the request is expired",
        ),
        (
            ErrorKind::ServiceUnavailable,
            "ListTables",
            &json!({}),
            "Service is temporarily unavailable",
        ),
        (
            ErrorKind::Validation,
            "GetItem",
            &key("a"),
            "One or more parameter values were invalid",
        ),
        (
            ErrorKind::TableNotFound,
            "CreateBackup",
            &backup,
            "Table not found: tab",
        ),
        (
            ErrorKind::TableAlreadyExists,
            "RestoreTableFromBackup",
            &restore,
            "Table already exists: restored",
        ),
        (
            ErrorKind::TableInUse,
            "RestoreTableFromBackup",
            &restore,
            "Table: restored is already being restored from backup: \
             arn:aws:dynamodb:us-east-1:000000000000:table/restored",
        ),
        (
            ErrorKind::BackupNotFound,
            "DescribeBackup",
            &of_backup,
            "Backup not found: ",
        ),
        (
            ErrorKind::BackupInUse,
            "DeleteBackup",
            &of_backup,
            "Backup is being used to restore another table: ",
        ),
        (
            ErrorKind::ContinuousBackupsUnavailable,
            "UpdateContinuousBackups",
            &recovery,
            "Backups are being enabled for the table: tab. Please retry later",
        ),
        (
            ErrorKind::PointInTimeRecoveryUnavailable,
            "ExportTableToPointInTime",
            &export,
            "Point in time recovery is not enabled for table 'tab'",
        ),
        (
            ErrorKind::InvalidRestoreTime,
            "RestoreTableToPointInTime",
            &restore_to,
            "RestoreDateTime must be between 2026-01-01T00:00:00.000Z and 2026-01-01T00:00:00.000Z",
        ),
        (
            ErrorKind::InvalidExportTime,
            "ExportTableToPointInTime",
            &export,
            "Export Time is invalid",
        ),
        (
            ErrorKind::ExportConflict,
            "ExportTableToPointInTime",
            &export,
            "Export conflict: Duplicate request detected with conflicting parameters",
        ),
        (
            ErrorKind::ExportNotFound,
            "DescribeExport",
            &export_arn,
            "Export not found: ",
        ),
        (
            ErrorKind::ImportConflict,
            "ImportTable",
            &import,
            "Import conflict: Duplicate request detected with conflicting parameters",
        ),
        (
            ErrorKind::ImportNotFound,
            "DescribeImport",
            &import_arn,
            "Import not found: ",
        ),
        (
            ErrorKind::PolicyNotFound,
            "GetResourcePolicy",
            &of_resource,
            "Resource-based policy not found for the provided ResourceArn: \
             arn:aws:dynamodb:us-east-1:000000000000:table/tab",
        ),
        (
            ErrorKind::GlobalTableNotFound,
            "DescribeGlobalTable",
            &global,
            "Global table with name: 'tab' does not exist.",
        ),
        (
            ErrorKind::GlobalTableAlreadyExists,
            "CreateGlobalTable",
            &group,
            "Global table with name: 'tab' already exists",
        ),
        (
            ErrorKind::IndexNotFound,
            "UpdateGlobalTableSettings",
            &settings,
            "The operation tried to access a nonexistent index",
        ),
        (
            ErrorKind::ReplicaAlreadyExists,
            "UpdateGlobalTable",
            &replicas,
            "The specified replica is already part of the global table",
        ),
        (
            ErrorKind::ReplicaNotFound,
            "UpdateGlobalTable",
            &replicas,
            "The specified replica is no longer part of the global table",
        ),
    ] {
        let rule = Rule::new(Verdict::Exception(kind)).operation(operation);
        let id = twin.0.add_fault(rule).unwrap();
        let answer = twin.send(operation, body.clone());
        let body = json(&answer);
        let name = body["__type"].as_str().unwrap().rsplit('#').next().unwrap();
        assert_eq!(name, exception(kind), "{operation}: {body}");
        let status = if kind == ErrorKind::ServiceUnavailable {
            503
        } else {
            400
        };
        assert_eq!(answer.status, status, "{operation}");
        let found = body["message"].as_str().or(body["Message"].as_str()).unwrap();
        assert!(found.starts_with(text), "{operation}: {found}");
        twin.0.faults().remove(id);
    }
}

#[test]
fn a_rule_that_can_never_act_is_refused() {
    let twin = Twin::on_demand();
    let rule = |kind| Rule::new(Verdict::Exception(kind));
    for (rule, expect) in [
        (
            rule(ErrorKind::TransactionConflict).operation("GetItem"),
            "GetItem never returns TransactionConflictException.",
        ),
        (
            rule(ErrorKind::RequestLimitExceeded).operation("CreateTable"),
            "CreateTable never returns RequestLimitExceeded.",
        ),
        (
            rule(ErrorKind::TransactionConflict).operation("GetItm"),
            "There is no operation GetItm.",
        ),
        (
            Rule::new(Verdict::Throttle(None)).operation("putItem"),
            "There is no operation putItem.",
        ),
        (
            rule(ErrorKind::InvalidSignature),
            "No operation returns InvalidSignatureException.",
        ),
        (
            Rule::new(Verdict::FailJob(JobFault::Internal)).operation("PutItem"),
            "PutItem starts no job that can fail: ExportTableToPointInTime, ImportTable, RestoreTableFromBackup, RestoreTableToPointInTime, StartBulkPutItems do.",
        ),
        (
            Rule::new(Verdict::Reset)
                .after(Duration::from_secs(2))
                .until(Duration::from_secs(2)),
            "The rule's time ends before it begins.",
        ),
        (
            Rule::new(Verdict::Reset).moving_clock(),
            "Only a rule with a wait can move the clock.",
        ),
    ] {
        assert_eq!(
            twin.0.add_fault(rule).map_err(|error| error.to_string()),
            Err(expect.to_owned())
        );
    }
    assert!(twin.0.faults().report().is_empty() && twin.0.faults().is_empty());
    let lag = Lag::Fixed(Duration::from_secs(1));
    for wait in [Verdict::Wait(Duration::from_secs(1)), Verdict::WaitAbout(lag)] {
        let id = twin.0.add_fault(Rule::new(wait).moving_clock()).unwrap();
        assert!(!twin.0.faults().is_empty());
        twin.0.faults().remove(id);
        assert!(twin.0.faults().is_empty());
    }
    // Without an operation it acts on the operations whose model lists the exception.
    twin.0.add_fault(rule(ErrorKind::TransactionConflict)).unwrap();
    assert_eq!(twin.send("GetItem", key("a")).status, 200);
    assert_eq!(twin.put("a").status, 400);
}

#[test]
fn exceptions_reach_transactions_as_reasons_or_as_a_whole() {
    let put = |key: &str| json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": key}}}});
    let twin = Twin::on_demand();
    let of_b = KeyMatch::Partition("b".into());
    let send = || json(&twin.send("TransactWriteItems", json!({"TransactItems": [put("a"), put("b")]})));
    for (kind, expect) in [
        (ErrorKind::TransactionConflict, Ok("TransactionConflict")),
        (ErrorKind::TransactionCanceled, Ok("TransactionConflict")),
        (ErrorKind::ConditionalCheckFailed, Ok("ConditionalCheckFailed")),
        (
            ErrorKind::TransactionInProgress,
            Err("Transaction from previous request is still in progress"),
        ),
        (
            ErrorKind::IdempotentParameterMismatch,
            Err("Specified idempotent token was used with different request parameters within the idempotency window"),
        ),
    ] {
        let rule = Rule::new(Verdict::Exception(kind)).operation("TransactWriteItems");
        twin.0.add_fault(rule.key(of_b.clone()).first(1)).unwrap();
        let answer = send();
        match expect {
            Ok(code) => assert_eq!(answer["CancellationReasons"][1]["Code"], code, "{kind:?}"),
            Err(text) => assert_eq!(answer["Message"], text, "{kind:?}"),
        }
        assert_eq!(twin.count(), json!(0), "{kind:?}");
    }
    let get = |key: &str| json!({"Get": {"TableName": "tab", "Key": {"pk": {"S": key}}}});
    let rule = Rule::new(Verdict::Exception(ErrorKind::TransactionCanceled)).operation("TransactGetItems");
    twin.0.add_fault(rule.first(1)).unwrap();
    let answer = json(&twin.send("TransactGetItems", json!({"TransactItems": [get("a")]})));
    assert_eq!(answer["CancellationReasons"][0]["Code"], "TransactionConflict");
}

#[test]
fn an_inaccessible_kms_key_fails_requests() {
    for (fault, kind, begins) in [
        (
            KmsFault::AccessDenied,
            "AccessDeniedException",
            "KMS key access denied error: com.amazonaws.services.kms.model.AWSKMSException: The ciphertext refers to",
        ),
        (
            KmsFault::Disabled,
            "ValidationException",
            "KMS key disabled error: com.amazonaws.services.kms.model.DisabledException: arn:aws:kms:us-east-1:000000000000:key/mine is disabled. (Service: AWSKMS;",
        ),
        (
            KmsFault::NotFound,
            "ValidationException",
            "KMS validation error: com.amazonaws.services.kms.model.NotFoundException: ",
        ),
    ] {
        let sse = json!({"Enabled": true, "SSEType": "KMS", "KMSMasterKeyId": "mine"});
        let twin = Twin::new(json!({"BillingMode": "PAY_PER_REQUEST", "SSESpecification": sse}));
        twin.0
            .add_fault(Rule::new(Verdict::Kms(fault)).operation("PutItem"))
            .unwrap();
        let body = json(&twin.put("a"));
        let text = body["message"].as_str().or(body["Message"].as_str()).unwrap();
        assert!(body["__type"].as_str().unwrap().ends_with(kind), "{body}");
        assert!(text.starts_with(begins), "{text}");
        assert_eq!(twin.count(), json!(0));
    }
}

#[test]
fn a_rule_acts_within_its_window() {
    let minute = Duration::from_mins(1);
    let rule = || Rule::new(Verdict::ServiceUnavailable);
    for (rule, expect) in [
        (rule().after(minute), [200, 503, 503, 503]),
        (rule().until(minute), [503, 200, 200, 200]),
        (rule().lasting(2 * minute), [503, 503, 200, 200]),
        (rule().after(minute).lasting(minute), [200, 503, 200, 200]),
        (
            rule().after(Moment::START.plus(minute)).until(3 * minute),
            [200, 503, 503, 200],
        ),
        // Requests outside of its window are not counted.
        (rule().after(minute).nth(2), [200, 200, 503, 200]),
    ] {
        let twin = Twin::on_demand();
        let words = rule.to_string();
        twin.0.add_fault(rule).unwrap();
        let statuses = [0; 4].map(|_| {
            let status = twin.put("a").status;
            twin.0.advance(minute);
            status
        });
        assert_eq!(statuses, expect, "{words}");
    }
}

#[test]
fn a_rule_can_be_about_one_region() {
    let twin = Twin::on_demand();
    let rule = Rule::new(Verdict::ServiceUnavailable).region("eu-west-1");
    twin.0.add_fault(rule).unwrap();
    for (region, status) in [("us-east-1", 200), ("eu-west-1", 503)] {
        let caller = Caller {
            access_key: "test".into(),
            region: region.into(),
        };
        assert_eq!(twin.0.dispatch(&caller, "ListTables", b"{}").status, status, "{region}");
    }
}

#[test]
fn a_failure_after_the_write_leaves_the_write() {
    let twin = Twin::on_demand();
    twin.0
        .add_fault(Rule::new(Verdict::InternalServerErrorAfterApply).first(3))
        .unwrap();
    let answer = twin.put("a");
    assert_eq!(
        (answer.status, kind_and_text(&answer).0),
        (500, "InternalServerError".into())
    );
    assert_eq!(twin.0.items(&caller(), "tab").unwrap().len(), 1);
    // An invalid rule is refused with a reason.
    let unmet =
        json!({"TableName": "tab", "Item": {"pk": {"S": "a"}}, "ConditionExpression": "attribute_not_exists(pk)"});
    assert_eq!(
        kind_and_text(&twin.send("PutItem", unmet)).0,
        "ConditionalCheckFailedException"
    );
    // The retry of a transaction with its token finds that it has been applied.
    let put = json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": "b"}},
        "ConditionExpression": "attribute_not_exists(pk)"}});
    let transaction = || {
        twin.send(
            "TransactWriteItems",
            json!({"TransactItems": [put], "ClientRequestToken": "t"}),
        )
    };
    assert_eq!((transaction().status, transaction().status), (500, 200));
}

#[test]
fn a_checksum_can_be_wrong() {
    let twin = Twin::on_demand();
    twin.0
        .add_fault(Rule::new(Verdict::CorruptChecksum).operation("ListTables").first(1))
        .unwrap();
    let right = [0; 2].map(|_| {
        let answer = twin.0.handle(&HttpRequest {
            method: "POST",
            target: "/",
            headers: &[
                ("content-type", "application/x-amz-json-1.0"),
                ("x-amz-target", "DynamoDB_20120810.ListTables"),
                ("x-amz-date", "20260101T000000Z"),
                (
                    "authorization",
                    "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
                ),
            ],
            body: b"{}",
        });
        assert_eq!(answer.status, 200);
        let sent: u32 = answer.header("x-amz-crc32").unwrap().parse().unwrap();
        sent == crc32fast::hash(&answer.body)
    });
    assert_eq!(right, [false, true]);
}

#[test]
fn waits_follow_their_distribution_and_the_seed() {
    let waits = |seed| {
        let twin = Engine::new(settings(seed));
        let tail = Lag::Seeded {
            typical: Duration::from_millis(10),
            longest: Duration::from_secs(1),
        };
        twin.add_fault(Rule::new(Verdict::WaitAbout(tail))).unwrap();
        let wait = |_| twin.dispatch(&caller(), "ListTables", b"{}").at.since(Moment::START);
        (0..200).map(wait).collect::<Vec<_>>()
    };
    let mut once = waits(7);
    assert_eq!(once, waits(7));
    assert_ne!(once, waits(8));
    once.sort();
    assert!(
        once[90] < Duration::from_millis(11) && once[199] <= Duration::from_secs(1),
        "{once:?}"
    );
    assert!(once[190] > Duration::from_millis(100), "{once:?}");
}

#[test]
fn a_restore_that_fails_leaves_no_table() {
    let twin = Twin::on_demand();
    let made = json(&twin.send("CreateBackup", json!({"TableName": "tab", "BackupName": "backup"})));
    twin.0.advance(Duration::from_hours(1));
    twin.0
        .set_conditions(Conditions {
            table_status: Lag::Fixed(Duration::from_secs(10)),
            ..Conditions::CALM
        })
        .unwrap();
    let arn = &made["BackupDetails"]["BackupArn"];
    let rule = Rule::new(Verdict::FailJob(JobFault::Internal)).table("copy").first(1);
    twin.0.add_fault(rule).unwrap();
    for there in [false, true] {
        let restore = twin.send(
            "RestoreTableFromBackup",
            json!({"TargetTableName": "copy", "BackupArn": arn}),
        );
        assert_eq!(restore.status, 200, "{}", json(&restore));
        let describe = || json(&twin.send("DescribeTable", json!({"TableName": "copy"})));
        assert_eq!(describe()["Table"]["TableStatus"], "CREATING");
        twin.0.advance(Duration::from_hours(1));
        assert_eq!(describe()["Table"]["TableStatus"] == "ACTIVE", there);
        let names = json(&twin.send("ListTables", json!({})))["TableNames"].clone();
        assert_eq!(names == json!(["copy", "tab"]), there);
    }
}

#[test]
fn outages_are_rules_that_end() {
    for (outage, rules, after) in [
        (Outage::Brownout, 3, [true, true]),
        (Outage::ThrottleStorm, 1, [true, true]),
        (Outage::AzLoss, 4, [true, false]),
    ] {
        let twin = Twin::on_demand();
        let ids = twin
            .0
            .start_outage(outage, &Rule::new(Verdict::Reset).table("tab"))
            .unwrap();
        assert_eq!((ids.len(), twin.0.faults().never_fired().len()), (rules, 0));
        let acts = after.map(|expect| {
            let hurt = (0..400).filter(|at| {
                let answer = twin.put(&at.to_string());
                answer.status != 200 || answer.delivery != Delivery::Whole || answer.at != twin.0.clock().now()
            });
            let hurt = hurt.count();
            twin.0.advance(Duration::from_secs(301));
            assert_eq!(hurt > 150 && hurt < 320, expect, "{outage} {hurt}");
            hurt > 0
        });
        assert_eq!(acts, after, "{outage}");
        assert_eq!(twin.send("ListTables", json!({})).status, 200);
    }
    // A given duration limits every part.
    let twin = Twin::on_demand();
    let scope = Rule::new(Verdict::Reset).lasting(Duration::from_secs(5));
    twin.0.start_outage(Outage::AzLoss, &scope).unwrap();
    twin.0.advance(Duration::from_secs(5));
    assert!((0..100).all(|at| twin.put(&at.to_string()).delivery == Delivery::Whole));
    // So does a given end.
    for outage in Outage::ALL {
        let twin = Twin::on_demand();
        let scope = Rule::new(Verdict::Reset).until(Duration::from_secs(5));
        twin.0.start_outage(outage, &scope).unwrap();
        twin.0.advance(Duration::from_secs(5));
        let is_whole = |at: i32| {
            let answer = twin.put(&at.to_string());
            (answer.status, answer.delivery, answer.at) == (200, Delivery::Whole, twin.0.clock().now())
        };
        assert!((0..100).all(is_whole), "{outage}");
    }
}
