//! Rows of a decision table, by page of the IAM and Organizations user guides: policies, a request, and the decision.

mod accounts;
mod conditions;
mod elements;
mod sets;

use dynatwin_engine::iam::{PolicyKind, PolicySet, StatementInput, Subject};
use serde_json::{Value, json};

use super::{ACCOUNT, OTHER, TABLE, attached, keys};

/// Who sends a request.
#[derive(Clone, Copy, Debug)]
enum By {
    User,
    Session,
    /// The session of a role of another account.
    Foreign,
    Root,
}

impl By {
    fn subject(self) -> Subject {
        match self {
            By::User => Subject::user(ACCOUNT, "/team/ann"),
            By::Session => Subject::role_session(ACCOUNT, "/app/Reader", "s1"),
            By::Foreign => Subject::role_session(OTHER, "/app/Reader", "s1"),
            By::Root => Subject::root(ACCOUNT),
        }
    }
}

const FOREIGN_ROLE: &str = "arn:aws:iam::444455556666:role/app/Reader";

/// Statements as documents of a kind; each kind may be absent. `service-control` is a list of levels.
fn decide(by: By, policies: &Value, action: &str, resource: &str, request: &Value) -> String {
    let documents = |kind, value: &Value| -> Vec<_> {
        let list = value.as_array().cloned().unwrap_or_default();
        let document = |statement: &Value| attached(&json!({"Version": "2012-10-17", "Statement": statement}), kind);
        list.iter().map(document).collect()
    };
    let of = |name: &str, kind| documents(kind, &policies[name]);
    let identity = of("identity", PolicyKind::Identity);
    let boundary = of("boundary", PolicyKind::Boundary);
    let session = policies
        .get("session")
        .map(|value| documents(PolicyKind::Session, value));
    let levels = policies["service-control"].as_array().cloned().unwrap_or_default();
    let levels: Vec<_> = levels
        .iter()
        .map(|level| documents(PolicyKind::ServiceControl, level))
        .collect();
    let resource_control = of("resource-control", PolicyKind::ResourceControl);
    let (attached_to, endpoint) = (
        of("resource", PolicyKind::Resource),
        of("endpoint", PolicyKind::Endpoint),
    );
    let mut subject = by.subject();
    subject.is_bounded = !boundary.is_empty();
    let set = PolicySet {
        identity: &identity,
        boundary: boundary.first(),
        session: session.as_deref(),
        service_control: &levels,
        resource_control: &resource_control,
        resource: attached_to.first(),
        resource_account: ACCOUNT,
        endpoint: endpoint.first(),
    };
    let question = StatementInput {
        subject: &subject,
        action,
        resource,
        keys: &keys(request),
    };
    match set.decide(&question).denial {
        None => "allowed".to_owned(),
        Some(denial) => format!("{}{:?}", if denial.explicit { "deny " } else { "no " }, denial.kind),
    }
}

fn check(rows: &[(&str, By, Value, &str, &str, Value, &str)]) {
    let mut wrong = Vec::new();
    for (name, by, policies, action, resource, request, expect) in rows {
        let found = decide(*by, policies, action, resource, request);
        if found != *expect {
            wrong.push(format!("{name}: {found}, not {expect}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks rows about a GetItem of the table without keys.
fn check_plain(rows: &[(&str, By, Value, &str)]) {
    let rows: Vec<_> = rows
        .iter()
        .map(|(name, by, policies, expect)| {
            (
                *name,
                *by,
                policies.clone(),
                "dynamodb:GetItem",
                TABLE,
                json!({}),
                *expect,
            )
        })
        .collect();
    check(&rows);
}

fn allow() -> Value {
    json!({"Effect": "Allow", "Action": "*", "Resource": "*"})
}

fn deny() -> Value {
    json!({"Effect": "Deny", "Action": "*", "Resource": "*"})
}

fn other() -> Value {
    json!({"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": "*"})
}

fn to(principal: &str) -> Value {
    json!({"Effect": "Allow", "Action": "*", "Resource": "*", "Principal": {"AWS": principal}})
}

const YES: &str = "allowed";
