//! Decisions that follow from sentences of the IAM user guide and the DynamoDB developer guide.

mod guide;
mod kinds;
mod names;
mod operators;
mod sets;

use dynatwin_engine::iam::{
    AttachedPolicy, ConditionKeys, PolicyDocument, PolicyKind, PolicySet, StatementInput, Subject,
};
use serde_json::{Value, json};

const ACCOUNT: &str = "111122223333";

const OTHER: &str = "444455556666";

const TABLE: &str = "arn:aws:dynamodb:us-east-1:111122223333:table/Books";

const USER: &str = "arn:aws:iam::111122223333:user/team/ann";

const ROLE: &str = "arn:aws:iam::111122223333:role/app/Reader";

const SESSION: &str = "arn:aws:sts::111122223333:assumed-role/Reader/s1";

fn attached(document: &Value, kind: PolicyKind) -> AttachedPolicy {
    let policy = PolicyDocument::parse(&document.to_string(), kind);
    AttachedPolicy {
        label: String::new(),
        arn: None,
        policy: policy.unwrap_or_else(|why| panic!("{why}\n{document:#}")),
    }
}

fn keys(values: &Value) -> ConditionKeys {
    let mut keys = ConditionKeys::default();
    for (name, value) in values.as_object().unwrap() {
        match value {
            Value::Array(list) => keys.set_all(name, list.iter().map(|value| value.as_str().unwrap())),
            value => keys.set(name, value.as_str().unwrap()),
        }
    }
    keys
}

/// Whether an identity-based policy with one `Allow` statement of these members allows an action on a resource.
fn allows(version: &str, members: &Value, (action, resource): (&str, &str), request: &Value) -> bool {
    let mut statement = json!({"Effect": "Allow"});
    let members = members.as_object().unwrap().clone();
    statement.as_object_mut().unwrap().extend(members);
    let identity = [attached(
        &json!({"Version": version, "Statement": statement}),
        PolicyKind::Identity,
    )];
    let policies = PolicySet {
        identity: &identity,
        resource_account: ACCOUNT,
        ..PolicySet::default()
    };
    let decision = policies.decide(&StatementInput {
        subject: &Subject::user(ACCOUNT, "/team/ann"),
        action,
        resource,
        keys: &keys(request),
    });
    decision.is_allowed()
}

/// Checks conditions: an operator, its key and values, the key's value in the request (null: absent), and whether it holds.
fn check_conditions(cases: &[(&str, &str, Value, Value, bool)]) {
    let mut wrong = Vec::new();
    for (operator, key, values, value, expect) in cases {
        let request = if value.is_null() {
            json!({})
        } else {
            json!({*key: value})
        };
        let statement = json!({"Action": "*", "Resource": "*", "Condition": {*operator: {*key: values}}});
        if allows("2012-10-17", &statement, ("dynamodb:GetItem", TABLE), &request) != *expect {
            wrong.push(format!("{operator} {key} {values} of {value}: not {expect}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
