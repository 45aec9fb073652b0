//! The operations of the control plane, end to end through `dispatch`.
#![allow(clippy::unwrap_used)]

use dynatwin_engine::clock::{Clock, Moment};
use dynatwin_engine::conditions::Conditions;
use dynatwin_engine::engine::{Caller, Engine, Settings};
use serde_json::{Value, json};
use std::time::Duration;

const ARN: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/tab";

struct Twin(Engine);

impl Twin {
    /// A twin with the table `tab`: key `pk`, on demand.
    fn new() -> Twin {
        let twin = Twin::empty();
        twin.ok(
            "CreateTable",
            definition("tab", json!({"BillingMode": "PAY_PER_REQUEST"})),
        );
        twin
    }

    fn empty() -> Twin {
        Twin(Engine::new(Settings {
            clock: Clock::settable(Moment::START),
            seed: 1,
            conditions: Conditions::CALM,
            shared_db: false,
        }))
    }

    /// The same as the service is on an ordinary day.
    fn slow() -> Twin {
        let twin = Twin::new();
        twin.0.set_conditions(Conditions::AWS);
        twin
    }

    fn raw(&self, operation: &str, body: &Value) -> (u16, Vec<u8>) {
        let caller = Caller {
            access_key: "test".into(),
            region: "us-east-1".into(),
        };
        let answer = self.0.dispatch(&caller, operation, body.to_string().as_bytes());
        (answer.status, answer.body)
    }

    fn ok(&self, operation: &str, body: Value) -> Value {
        let (status, answer) = self.raw(operation, &body);
        assert_eq!(status, 200, "{operation}: {}", String::from_utf8_lossy(&answer));
        if answer.is_empty() {
            return Value::Null;
        }
        serde_json::from_slice(&answer).unwrap()
    }

    fn error(&self, operation: &str, body: Value) -> String {
        let (status, answer) = self.raw(operation, &body);
        assert_eq!(status, 400, "{operation}: {}", String::from_utf8_lossy(&answer));
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        let kind = answer["__type"].as_str().unwrap().rsplit('#').next().unwrap();
        let text = answer["message"].as_str().or(answer["Message"].as_str());
        format!("{kind}: {}", text.unwrap_or_default())
    }

    fn pass(&self, seconds: u64) {
        self.0.advance(Duration::from_secs(seconds));
    }
}

/// A CreateTable request for a table with the string key `pk`, with more members.
fn definition(name: &str, more: Value) -> Value {
    let request = json!({
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    });
    with(request, more)
}

fn with(mut request: Value, more: Value) -> Value {
    let Value::Object(more) = more else { return request };
    request.as_object_mut().unwrap().extend(more);
    request
}

#[test]
fn endpoints_and_limits_are_the_regions() {
    let twin = Twin::new();
    let endpoint = json!({"Address": "dynamodb.us-east-1.amazonaws.com", "CachePeriodInMinutes": 1440});
    assert_eq!(
        twin.ok("DescribeEndpoints", json!({"Unknown": 1})),
        json!({"Endpoints": [endpoint]})
    );
    let limits = json!({"AccountMaxReadCapacityUnits": 80_000, "AccountMaxWriteCapacityUnits": 80_000,
                        "TableMaxReadCapacityUnits": 40_000, "TableMaxWriteCapacityUnits": 40_000});
    assert_eq!(twin.ok("DescribeLimits", json!({})), limits);
}

#[test]
fn tags_are_kept_replaced_and_removed() {
    let twin = Twin::empty();
    let tags = json!([{"Key": "a", "Value": "1"}, {"Key": "b", "Value": ""}]);
    twin.ok(
        "CreateTable",
        definition("tab", json!({"BillingMode": "PAY_PER_REQUEST", "Tags": tags})),
    );
    let listed = || twin.ok("ListTagsOfResource", json!({"ResourceArn": ARN, "NextToken": "x"}));
    assert_eq!(listed(), json!({"Tags": tags}));
    let change = json!({"ResourceArn": ARN, "Tags": [{"Key": "b", "Value": "2"}, {"Key": "c", "Value": "é @"}]});
    assert_eq!(
        twin.raw("TagResource", &change),
        (200, Vec::new()),
        "the body has no bytes at all"
    );
    let gone = json!({"ResourceArn": ARN, "TagKeys": ["a", "never there"]});
    assert_eq!(twin.raw("UntagResource", &gone), (200, Vec::new()));
    assert_eq!(
        listed(),
        json!({"Tags": [{"Key": "b", "Value": "2"}, {"Key": "c", "Value": "é @"}]})
    );
}

#[test]
fn bad_tags_and_resources_are_named() {
    let twin = Twin::new();
    let other = "arn:aws:dynamodb:us-east-1:000000000000:table/none";
    let tag = |key: &str, value: Value| json!({"ResourceArn": ARN, "Tags": [{"Key": key, "Value": value}]});
    let on = |arn: &str| json!({"ResourceArn": arn, "Tags": [{"Key": "a", "Value": "1"}]});
    let long = "k".repeat(129);
    let many: Vec<Value> = (0..51).map(|at| json!({"Key": at.to_string(), "Value": ""})).collect();
    for (operation, request, expect) in [
        ("TagResource", json!({"ResourceArn": ARN, "Tags": []}), "Atleast one Tag needs to be provided as Input.".into()),
        ("UntagResource", json!({"ResourceArn": ARN}), "Atleast one Tag Key needs to be provided as Input.".into()),
        ("TagResource", tag("", json!("")), "The Tag Key provided is invalid, Key: ".into()),
        ("TagResource", tag("a#", json!("")), "The Tag Key provided is invalid, Key: a#".into()),
        ("TagResource", tag(&long, json!("")), format!("The Tag Key provided is invalid, Key: {long}")),
        ("TagResource", tag("a", Value::Null), "The Tag Value provided is invalid, Value: null".into()),
        ("TagResource", tag("a", json!("#")), "The Tag Value provided is invalid, Value: #".into()),
        ("TagResource", tag("aws:a", json!("")), "Tag Key cannot be prefixed with aws:, Key: aws:a".into()),
        ("TagResource", json!({"ResourceArn": ARN, "Tags": [{"Key": "a", "Value": ""}, {"Key": "a", "Value": ""}]}),
         "Duplicate Tag Keys provided as input: Duplicate Tag Key found a".into()),
        ("TagResource", json!({"ResourceArn": ARN, "Tags": many}),
         "Number of Tags exceed the current limit for the provided ResourceArn".into()),
        ("ListTagsOfResource", json!({}), "Invalid TableArn".into()),
        ("TagResource", on("tab"), "One or more parameter values were invalid: ARNs must start with 'arn:': tab".into()),
        ("TagResource", on("arn:aws:s3:::bucket"),
         "One or more parameter values were invalid: Provided Arn is not a DynamoDB resource arn: arn:aws:s3:::bucket".into()),
        ("TagResource", on(&format!("{ARN}/index/i")),
         format!("One or more parameter values were invalid: Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {ARN}/index/i")),
        ("TagResource", on("arn:aws:dynamodb:eu-west-1:000000000000:table/tab"),
         "Invalid TableArn: Invalid ResourceArn provided as input arn:aws:dynamodb:eu-west-1:000000000000:table/tab".into()),
    ] {
        assert_eq!(twin.error(operation, request), format!("ValidationException: {expect}"));
    }
    assert_eq!(
        twin.error("UntagResource", json!({"ResourceArn": other, "TagKeys": ["a"]})),
        format!("ResourceNotFoundException: Requested resource not found: ResourceArn: {other} not found")
    );
    let first = json!({"ResourceArn": ARN, "Tags": many[..50]});
    twin.ok("TagResource", first);
    assert_eq!(
        twin.error("TagResource", tag("one more", json!(""))),
        "ValidationException: Number of Tags exceed the current limit for the provided ResourceArn"
    );
}

#[test]
fn tags_settle_before_they_change_again() {
    let twin = Twin::slow();
    let tag = |value: &str| json!({"ResourceArn": ARN, "Tags": [{"Key": "a", "Value": value}]});
    twin.ok("TagResource", tag("1"));
    assert_eq!(
        twin.error("TagResource", tag("2")),
        "LimitExceededException: Subscriber limit exceeded: Table tags are being updated: tab"
    );
    twin.ok("TagResource", tag("1"));
    assert_eq!(
        twin.error("DeleteTable", json!({"TableName": "tab"})),
        "ResourceInUseException: Attempt to change a resource which is still in use: Table tags are being updated: tab"
    );
    twin.pass(2);
    twin.ok("TagResource", tag("2"));
}
