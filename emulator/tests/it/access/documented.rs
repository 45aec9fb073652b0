//! Example policies of AWS's documentation, each with requests and the answers that the documentation implies.
//!
//! DynamoDB developer guide: "Using IAM policy conditions for fine-grained access control", "Identity-based policies",
//! "Resource-based policy examples", "Attribute-based access control", "PartiQL security policies", "Gateway endpoints". IAM user
//! guide: "Example policies", "Global condition keys", "Revoke role session permissions". Organizations user guide: "SCP
//! examples", "RCP examples".

mod items;
mod keys;
mod organizations;
mod origin;
mod requests;
mod resources;
mod statements;
mod tables;

use serde_json::{Value, json};

use super::twin::{ACCOUNT, REGION, Twin};

const OTHER: &str = "444455556666";

fn arn(path: &str) -> String {
    format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:{path}")
}

fn document(statements: Value) -> Value {
    json!({"Version": "2012-10-17", "Statement": statements})
}

/// An Allow of actions on resources; `condition` may be null.
fn allow(actions: &[&str], resources: Value, condition: Value) -> Value {
    statement("Allow", actions, resources, condition)
}

fn deny(actions: &[&str], resources: Value, condition: Value) -> Value {
    statement("Deny", actions, resources, condition)
}

fn statement(effect: &str, actions: &[&str], resources: Value, condition: Value) -> Value {
    let actions: Vec<String> = actions.iter().map(|name| format!("dynamodb:{name}")).collect();
    let mut statement = json!({"Effect": effect, "Action": actions, "Resource": resources});
    if !condition.is_null() {
        statement["Condition"] = condition;
    }
    statement
}

/// A twin with the table `GameScores` of the developer guide, whose index is sorted by score, and one caller: a session of the
/// role `GameRole`, or the user `ann`.
struct World {
    twin: Twin,
    headers: Vec<(&'static str, &'static str)>,
}

impl World {
    fn new(policy: &Value) -> World {
        World::of(policy, &json!({}), &json!({}), &json!({}))
    }

    /// `session`, `account` and `rest` have further members of the caller's session, its account, and the configuration.
    fn of(policy: &Value, session: &Value, account: &Value, rest: &Value) -> World {
        let mut session = session.clone();
        let own = json!({"name": "player", "accessKeyId": "PLAYER", "secretAccessKey": "s", "sessionToken": "t",
            "keys": {"www.amazon.com:user_id": "u1", "cognito-identity.amazonaws.com:sub": "us-east-1:u1"}});
        merge(&mut session, &own);
        let role = json!({"tags": {"team": "blue"}, "policies": [policy], "sessions": [session]});
        let user = json!({"tags": {"team": "blue"}, "policies": [policy], "accessKeys": [{"accessKeyId": "ANN", "secretAccessKey": "s"}]});
        let mut account = account.clone();
        merge(
            &mut account,
            &json!({"accessKeys": [{"accessKeyId": "ROOT", "secretAccessKey": "s"}],
            "roles": {"GameRole": role}, "users": {"ann": user}}),
        );
        let mut configuration = rest.clone();
        merge(&mut configuration, &json!({"accounts": {}}));
        configuration["accounts"][ACCOUNT] = account;
        let unrestricted =
            json!({"accounts": {ACCOUNT: {"accessKeys": [{"accessKeyId": "ROOT", "secretAccessKey": "s"}]}}});
        let twin = Twin::new(&unrestricted);
        for (name, tags) in [
            ("GameScores", json!([])),
            (
                "Books",
                json!([{"Key": "Owner", "Value": "ann"}, {"Key": "environment", "Value": "beta"}]),
            ),
        ] {
            let body = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST", "Tags": tags,
                "AttributeDefinitions": [{"AttributeName": "UserId", "AttributeType": "S"}, {"AttributeName": "GameTitle", "AttributeType": "S"},
                    {"AttributeName": "TopScore", "AttributeType": "N"}],
                "KeySchema": [{"AttributeName": "UserId", "KeyType": "HASH"}, {"AttributeName": "GameTitle", "KeyType": "RANGE"}],
                "GlobalSecondaryIndexes": [{"IndexName": "GameTitleIndex", "Projection": {"ProjectionType": "KEYS_ONLY"},
                    "KeySchema": [{"AttributeName": "GameTitle", "KeyType": "HASH"}, {"AttributeName": "TopScore", "KeyType": "RANGE"}]}],
                "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}});
            twin.root("CreateTable", &body);
        }
        twin.configure(&configuration);
        World {
            twin,
            headers: Vec::new(),
        }
    }

    /// Sends a request, and returns `allowed`, `implicit`, or the kind of policy with an explicit deny.
    fn outcome(&self, caller: &str, operation: &str, body: &Value) -> String {
        let mut headers = self.headers.clone();
        if caller == "PLAYER" {
            headers.push(("x-amz-security-token", "t"));
        }
        let (_, answer) = self.twin.send(caller, operation, body, &headers);
        let entry = &answer["Responses"][0]["Error"]["Message"];
        let text = answer["Message"].as_str().or(entry.as_str()).unwrap_or_default();
        if let Some((_, kind)) = text.split_once("with an explicit deny in a") {
            kind.trim_start_matches('n').trim().to_owned()
        } else if text.contains("is not authorized to perform") {
            let (_, kind) = text.split_once("because no ").unwrap();
            format!("no {}", kind.split(" allows").next().unwrap())
        } else {
            "allowed".to_owned()
        }
    }

    /// Sends requests, and describes each outcome that is not the expected one.
    fn wrong(&self, caller: &str, cases: &[(&str, Value, &str)]) -> Vec<String> {
        let wrong = cases.iter().filter_map(|(operation, body, expect)| {
            let found = self.outcome(caller, operation, body);
            (found != *expect).then(|| format!("{operation} {body}: {found}, not {expect}"))
        });
        wrong.collect()
    }

    #[track_caller]
    fn check(&self, caller: &str, cases: &[(&str, Value, &str)]) {
        let wrong = self.wrong(caller, cases);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

fn merge(into: &mut Value, members: &Value) {
    let members = members.as_object().unwrap().clone();
    let into = into.as_object_mut().unwrap();
    for (name, value) in members {
        into.entry(name).or_insert(value);
    }
}

const YES: &str = "allowed";

const NO: &str = "no identity-based policy";

const DENIED: &str = "identity-based policy";

fn key(user: &str) -> Value {
    json!({"UserId": {"S": user}, "GameTitle": {"S": "g"}})
}

fn with(mut body: Value, members: Value) -> Value {
    body.as_object_mut()
        .unwrap()
        .extend(members.as_object().unwrap().clone());
    body
}

fn get(user: &str, members: Value) -> Value {
    with(json!({"TableName": "GameScores", "Key": key(user)}), members)
}

fn put(user: &str, members: Value) -> Value {
    json!({"TableName": "GameScores", "Item": with(key(user), members)})
}

fn query(user: &str, members: Value) -> Value {
    let plain = json!({"TableName": "GameScores", "KeyConditionExpression": "UserId = :u", "ExpressionAttributeValues": {":u": {"S": user}}});
    with(plain, members)
}

fn index(members: Value) -> Value {
    let plain = json!({"TableName": "GameScores", "IndexName": "GameTitleIndex", "KeyConditionExpression": "GameTitle = :g",
        "ExpressionAttributeValues": {":g": {"S": "g"}}});
    with(plain, members)
}

fn update(user: &str, set: &str, members: Value) -> Value {
    let plain = json!({"TableName": "GameScores", "Key": key(user), "UpdateExpression": format!("SET {set} = :v"), "ExpressionAttributeValues": {":v": {"N": "1"}}});
    with(plain, members)
}

fn scan(members: Value) -> Value {
    with(json!({"TableName": "GameScores"}), members)
}

fn no() -> Value {
    json!({})
}
