//! Policies of guides for DynamoDB users, each against a request of every operation.

use dynatwin_engine::api::OPERATIONS;
use serde_json::{Value, json};

use crate::access::operations::operations;
use crate::access::twin::{ACCOUNT, REGION, Twin};

/// The expected result of a policy: requests about one key, the allowed operations, and the reason for refusing the
/// others.
struct Case {
    what: &'static str,
    /// How the requests differ from the plain request of each operation.
    shape: Shape,
    key: &'static str,
    allowed: &'static [&'static str],
    /// Operations that are refused by an explicit deny.
    denied: &'static [&'static str],
}

#[derive(Clone, Copy)]
enum Shape {
    Plain,
    Projected(&'static str),
}

const READS: &[&str] = &["GetItem", "Query", "Scan"];

impl Shape {
    fn apply(self, operation: &str, body: &mut Value) {
        let Shape::Projected(attributes) = self else { return };
        let reads = match operation {
            "TransactGetItems" => &mut body["TransactItems"][0]["Get"],
            "BatchGetItem" => &mut body["RequestItems"]
                .as_object_mut()
                .unwrap()
                .values_mut()
                .next()
                .unwrap(),
            "ExecuteStatement" => return select(&mut body["Statement"], attributes),
            "BatchExecuteStatement" => return select(&mut body["Statements"][0]["Statement"], attributes),
            "ExecuteTransaction" => return select(&mut body["TransactStatements"][0]["Statement"], attributes),
            operation if READS.contains(&operation) => body,
            _ => return,
        };
        reads["ProjectionExpression"] = json!(attributes);
    }
}

fn select(statement: &mut Value, attributes: &str) {
    *statement = json!(statement.as_str().unwrap().replace('*', attributes));
}

/// The end of a policy's refusals, after the action where it is implicit.
#[derive(Clone, Copy)]
struct Kind(&'static str);

impl Kind {
    fn implicit(self, action: &str) -> String {
        format!("because no {} allows the dynamodb:{action} action", self.0)
    }
}

/// Creates a table with a stream and a vector index, so that every operation applies to it.
fn create_table(twin: &Twin, name: &str, key: &Value) {
    let names: Vec<&String> = key.as_object().unwrap().keys().collect();
    let schema = names.iter().zip(["HASH", "RANGE"]);
    let schema: Vec<Value> = schema
        .map(|(name, kind)| json!({"AttributeName": name, "KeyType": kind}))
        .collect();
    let attributes: Vec<Value> = names
        .iter()
        .map(|name| json!({"AttributeName": name, "AttributeType": "S"}))
        .collect();
    let body = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST", "KeySchema": schema, "AttributeDefinitions": attributes,
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"},
        "VectorIndexes": [{"IndexName": "near", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2,
            "DistanceFunction": "EUCLIDEAN", "Projection": {"ProjectionType": "ALL"}}]});
    twin.root("CreateTable", &body);
}

/// Returns the requests of all operations about a key of a table, with the action of each.
fn requests(twin: &Twin, table: &str, key: &Value) -> Vec<(&'static str, Value, &'static str)> {
    let described = twin.root("DescribeTable", &json!({"TableName": table}));
    let stream = &described["Table"]["LatestStreamArn"];
    let shards = twin.root("DescribeStream", &json!({"StreamArn": stream}));
    let shard = &shards["StreamDescription"]["Shards"][0]["ShardId"];
    let start = json!({"StreamArn": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
    let records = json!({"ShardIterator": twin.root("GetShardIterator", &start)["ShardIterator"]});
    let search = json!({"TableName": table, "IndexName": "near", "TopK": 1, "SearchVector": [{"N": "1"}, {"N": "2"}]});
    let all = operations(table, key).into_iter();
    let mut all: Vec<_> = all
        .map(|(operation, body, action, _)| (operation, body, action))
        .collect();
    all.push(("GetRecords", records, "GetRecords"));
    all.push(("SearchVectors", search, "SearchVectors"));
    assert_eq!(all.len(), OPERATIONS.len());
    all
}

/// Returns the text of a refusal, of the request or of its first statement.
fn refusal(answer: &Value) -> &str {
    let entry = &answer["Responses"][0]["Error"]["Message"];
    answer["Message"].as_str().or(entry.as_str()).unwrap_or_default()
}

/// Sends a request of every operation, each to a fresh twin, and compares which of them are refused and why.
fn check(
    make: impl Fn() -> Twin,
    table: &str,
    key: impl Fn(&str) -> Value,
    send: impl Fn(&Twin, &str, &Value) -> Value,
    kind: Kind,
    case: &Case,
) {
    let mut wrong = Vec::new();
    let key = key(case.key);
    for at in 0..OPERATIONS.len() {
        let twin = make();
        create_table(&twin, table, &key);
        let (operation, mut body, action) = requests(&twin, table, &key).swap_remove(at);
        case.shape.apply(operation, &mut body);
        let answer = send(&twin, operation, &body);
        let found = refusal(&answer);
        let expected = if case.allowed.contains(&operation) {
            String::new()
        } else if case.denied.contains(&operation) {
            format!("with an explicit deny in an {}", kind.0)
        } else {
            kind.implicit(action)
        };
        let is_refused = found.contains("is not authorized to perform");
        if is_refused == expected.is_empty() || !found.ends_with(&expected) && !expected.is_empty() {
            wrong.push(format!("{operation}: {answer}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", case.what, wrong.join("\n"));
}

fn check_user(policy: &Value, tags: &Value, table: &str, key: impl Fn(&str) -> Value, case: &Case) {
    check(
        || Twin::with_user("ann", tags, policy),
        table,
        key,
        |twin, operation, body| twin.call("ann", operation, body).1,
        Kind("identity-based policy"),
        case,
    );
}

/// A tenant by its principal tag.
#[test]
fn tenants_by_a_principal_tag() {
    const ITEMS: &[&str] = &[
        "GetItem",
        "PutItem",
        "UpdateItem",
        "DeleteItem",
        "Query",
        "TransactGetItems",
        "TransactWriteItems",
    ];
    const AND_SCAN: &[&str] = &[
        "GetItem",
        "PutItem",
        "UpdateItem",
        "DeleteItem",
        "Query",
        "TransactGetItems",
        "TransactWriteItems",
        "Scan",
    ];
    let actions = ["GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query"].map(|name| format!("dynamodb:{name}"));
    let arn = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Lab");
    let policy = json!({"Version": "2012-10-17", "Statement": [{
        "Effect": "Allow", "Action": actions, "Resource": [arn, format!("{arn}/index/*")],
        "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["PROJECT#${aws:PrincipalTag/projectId}"]}}
    }]});
    let mut with_scan = policy.clone();
    with_scan["Statement"][0]["Action"]
        .as_array_mut()
        .unwrap()
        .push(json!("dynamodb:Scan"));
    let mut guarded = with_scan.clone();
    guarded["Statement"][0]["Condition"]["Null"] = json!({"dynamodb:LeadingKeys": "false"});
    let mut elsewhere = policy.clone();
    elsewhere["Statement"][0]["Resource"] = json!([arn.replace(REGION, "ap-northeast-1"), format!("{arn}Prod")]);
    let key = |tenant: &str| json!({"PK": {"S": format!("PROJECT#{tenant}")}, "SK": {"S": "META"}});
    for (what, policy, tenant, allowed) in [
        ("its own items", &policy, "alpha", ITEMS),
        ("another tenant's items", &policy, "beta", &[]),
        ("its own items, and Scan", &with_scan, "alpha", AND_SCAN),
        ("another tenant's items, and Scan", &with_scan, "beta", &["Scan"]),
        (
            "its own items, and a Scan that needs LeadingKeys",
            &guarded,
            "alpha",
            ITEMS,
        ),
        ("a table of another region or name", &elsewhere, "alpha", &[]),
    ] {
        let case = Case {
            what,
            shape: Shape::Plain,
            key: tenant,
            allowed,
            denied: &[],
        };
        check_user(policy, &json!({"projectId": "alpha"}), "Lab", key, &case);
    }
}

/// Some attributes of one's own items, and none of the private ones.
#[test]
fn attributes_of_ones_own_items() {
    let arn = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/UserData");
    let policy = json!({"Version": "2012-10-17", "Statement": [{
        "Sid": "OwnItems", "Effect": "Allow", "Action": ["dynamodb:GetItem", "dynamodb:Query"], "Resource": arn,
        "Condition": {
            "ForAllValues:StringEquals": {
                "dynamodb:LeadingKeys": ["${aws:PrincipalTag/userId}"],
                "dynamodb:Attributes": ["userId", "email", "preferences", "createdAt"]
            },
            "StringEqualsIfExists": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}
        }
    }, {
        "Sid": "NothingPrivate", "Effect": "Deny", "Action": ["dynamodb:GetItem", "dynamodb:Query", "dynamodb:Scan"], "Resource": arn,
        "Condition": {"ForAnyValue:StringEquals": {"dynamodb:Attributes": ["ssn", "creditCard", "rawPassword"]}}
    }]});
    let key = |user: &str| json!({"userId": {"S": user}});
    let reads: &[&str] = &["GetItem", "Query", "TransactGetItems"];
    let private: &[&str] = &["GetItem", "Query", "Scan", "TransactGetItems"];
    let (few, nested, other) = (
        Shape::Projected("userId, email"),
        Shape::Projected("email, preferences.theme"),
        Shape::Projected("email, phone"),
    );
    let secret = Shape::Projected("email, creditCard");
    for (what, user, shape, allowed, denied) in [
        ("some attributes", "u1", few, reads, &[][..]),
        (
            "a nested attribute",
            "u1",
            nested,
            &["GetItem", "Query", "TransactGetItems"],
            &[],
        ),
        ("an attribute that is not listed", "u1", other, &[], &[]),
        ("all attributes", "u1", Shape::Plain, &[], &[]),
        ("a private attribute", "u1", secret, &[], private),
        ("another user's attributes", "u2", few, &[], &[]),
        ("another user's private attribute", "u2", secret, &[], private),
    ] {
        let case = Case {
            what,
            shape,
            key: user,
            allowed,
            denied,
        };
        check_user(&policy, &json!({"userId": "u1"}), "UserData", key, &case);
    }
}

/// The requests that a VPC endpoint policy allows.
#[test]
fn requests_through_an_endpoint_policy() {
    const ALL: &[&str] = &["*"];
    let policy = json!({"Version": "2012-10-17", "Statement": [{
        "Effect": "Allow", "Principal": {"AWS": format!("arn:aws:iam::{ACCOUNT}:role/AppRole")},
        "Action": ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"],
        "Resource": format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/UserEvents")
    }]});
    let everything = json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}});
    let key = |user: &str| json!({"userId": {"S": user}});
    let items: &[&str] = &["GetItem", "PutItem", "Query", "TransactGetItems", "TransactWriteItems"];
    let streams: &[&str] = &["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"];
    for (what, role, table, kind, endpoint, allowed) in [
        ("the role", "AppRole", "UserEvents", "interface", true, items),
        ("another role", "Other", "UserEvents", "interface", true, &[]),
        ("another table", "AppRole", "Orders", "interface", true, &[]),
        ("beside the endpoint", "Other", "UserEvents", "interface", false, ALL),
        // A gateway endpoint accepts only the principal *, and does not carry requests of DynamoDB Streams.
        ("a gateway endpoint", "AppRole", "UserEvents", "gateway", true, streams),
    ] {
        let make = || {
            Twin::new(&json!({
                "accounts": {ACCOUNT: {
                    "accessKeys": [{"accessKeyId": "ROOT", "secretAccessKey": "s"}],
                    "roles": {role: {"policies": [everything],
                        "sessions": [{"name": "s1", "accessKeyId": "SESSION", "secretAccessKey": "s", "sessionToken": "t"}]}}
                }},
                "vpcEndpoints": {"vpce-1": {"vpc": "vpc-1", "type": kind, "policy": policy}}
            }))
        };
        let mut headers = vec![("x-amz-security-token", "t")];
        if endpoint {
            headers.push(("x-dynatwin-vpc-endpoint", "vpce-1"));
        }
        let all: Vec<&'static str> = OPERATIONS.iter().map(|operation| operation.name).collect();
        let allowed = if allowed == ALL { all.leak() } else { allowed };
        let case = Case {
            what,
            shape: Shape::Plain,
            key: "u1",
            allowed,
            denied: &[],
        };
        let send = |twin: &Twin, operation: &str, body: &Value| twin.send("SESSION", operation, body, &headers).1;
        check(make, table, key, send, Kind("VPC endpoint policy"), &case);
    }
}
