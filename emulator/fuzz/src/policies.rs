//! Policies: documents as text, which are checked against what holds for all policies, and random policy sets, which are
//! compared with a naive second evaluator.

#![allow(clippy::unwrap_used)]

#[path = "../../tests/it/policies/decide.rs"]
mod decide;
#[path = "../../tests/it/policies/generate.rs"]
mod generate;
#[path = "../../tests/it/policies/naive.rs"]
mod naive;

use dynatwin_engine::iam::{
    AttachedPolicy, ConditionKeys, PolicyDocument, PolicyKind, PolicySet, PolicyStatement, StatementInput, Subject,
};
use generate::{ACCOUNT, Case, OTHER_ACCOUNT, Random};
use serde_json::{Value, json};

const KINDS: [(&str, PolicyKind); 7] = [
    ("identity", PolicyKind::Identity),
    ("boundary", PolicyKind::Boundary),
    ("session", PolicyKind::Session),
    ("service-control", PolicyKind::ServiceControl),
    ("resource-control", PolicyKind::ResourceControl),
    ("resource", PolicyKind::Resource),
    ("endpoint", PolicyKind::Endpoint),
];

/// The maximum number of requests that a document is asked about.
const MAX_REQUESTS: usize = 40;

/// Compares the decision of the case that these bytes choose.
pub fn compare(input: &[u8]) {
    let case = Case::random(&mut Random::Bytes(Vec::from(input).into_iter()));
    assert_eq!(decide::decide(&case), naive::decide(&case), "{case:#?}");
}

/// Returns a document for [`check`], which depends on a number alone.
pub fn document(number: u64) -> String {
    let case = Case::random(&mut Random::Seeded(number));
    let of = |name: &str, document: &Value| format!("{name} {document}");
    let of_resource = case.resource.iter().map(|document| of("resource", document));
    let of_boundary = case.boundary.iter().map(|document| of("boundary", document));
    let of_identity = case.identity.iter().map(|document| of("identity", document));
    let of_control = case
        .resource_control
        .iter()
        .map(|document| of("resource-control", document));
    let mut all = of_resource.chain(of_boundary).chain(of_identity).chain(of_control);
    all.next().unwrap_or_default()
}

/// Checks a document: `identity {"Statement": …}`, and the same for the other kinds of policies. Panics if a text that is not a
/// policy is accepted, or if a policy allows what none of its statements allows, or what a statement denies.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let (name, text) = text.split_once(' ').unwrap_or(("identity", text));
    let kind = KINDS.iter().find(|(known, _)| *known == name);
    let kind = kind.map_or(PolicyKind::Identity, |(_, kind)| *kind);
    let Ok(policy) = PolicyDocument::parse(text, kind) else {
        return;
    };
    let document: Value = match serde_json::from_str(text) {
        Err(error) if error.to_string().starts_with("number out of range") => return, // valid, but larger than an f64
        parsed => parsed.expect("a policy is valid JSON"),
    };
    if has_numbers(&document) {
        // A number is compared as it is written, which printing it again can change.
        return;
    }
    let statements = match &document["Statement"] {
        Value::Array(list) => list.clone(),
        one => vec![one.clone()],
    };
    let allows = |statement: &Value| statement["Effect"] == "Allow";
    let effects: Vec<bool> = policy.statements().iter().map(PolicyStatement::allows).collect();
    assert_eq!(effects, statements.iter().map(allows).collect::<Vec<_>>());
    let with = |statements: &[Value]| {
        let mut document = document.clone();
        document["Statement"] = statements.iter().map(unnamed).collect();
        PolicyDocument::parse(&document.to_string(), kind).ok()
    };
    let flipped = |effect: &str| -> Vec<Value> {
        let mut changed = statements.clone();
        changed
            .iter_mut()
            .for_each(|statement| statement["Effect"] = json!(effect));
        changed
    };
    let same = with(&statements).expect("the document without the names of its statements is valid");
    let without_allow = with(
        &statements
            .iter()
            .filter(|statement| !allows(statement))
            .cloned()
            .collect::<Vec<_>>(),
    );
    let all_denied = with(&[&statements[..], &flipped("Deny")].concat());
    let all_allowed = with(&flipped("Allow"));
    for request in requests(&statements) {
        let decide = |policy: &PolicyDocument| is_allowed(policy, kind, &request);
        let allowed = decide(&policy);
        assert_eq!(allowed, decide(&same), "{request:?}");
        if kind == PolicyKind::ResourceControl {
            // It only denies.
            continue;
        }
        assert!(!allowed || effects.contains(&true), "nothing is allowed: {request:?}");
        let never = |policy: &Option<PolicyDocument>| !policy.as_ref().is_some_and(decide);
        assert!(never(&without_allow), "allowed without Allow: {request:?}");
        assert!(
            never(&all_denied),
            "allowed although each statement denies: {request:?}"
        );
        let more = all_allowed.as_ref().is_none_or(decide);
        assert!(
            !allowed || more,
            "a statement that allows instead of denying allows less: {request:?}"
        );
    }
}

fn has_numbers(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::Array(list) => list.iter().any(has_numbers),
        Value::Object(members) => members.values().any(has_numbers),
        _ => false,
    }
}

/// Returns a statement without its name, which must be unique.
fn unnamed(statement: &Value) -> Value {
    let mut statement = statement.clone();
    if let Some(members) = statement.as_object_mut() {
        members.remove("Sid");
    }
    statement
}

/// A request of one of the callers.
#[derive(Debug)]
struct Request {
    caller: Subject,
    action: String,
    resource: String,
    keys: Vec<(String, Vec<String>)>,
}

/// Returns requests that use the document's own actions, resources, principals, keys and values, so that its statements match.
fn requests(statements: &[Value]) -> Vec<Request> {
    let texts = |names: &[&str], fixed: &str| {
        let own = statements
            .iter()
            .flat_map(|statement| names.iter().map(move |name| &statement[*name]));
        let mut all: Vec<String> = own
            .flat_map(strings)
            .map(|text| text.replace(['*', '?'], "x"))
            .collect();
        all.push(fixed.to_owned());
        all
    };
    let actions = texts(&["Action", "NotAction"], "dynamodb:GetItem");
    let table = format!("arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/T");
    let resources = texts(&["Resource", "NotResource"], &table);
    let callers = [
        Subject::user(ACCOUNT, "/ann"),
        Subject::role_session(ACCOUNT, "/app/Reader", "s"),
        Subject::role_session(OTHER_ACCOUNT, "/app/Reader", "s"),
        Subject::federated_user(ACCOUNT, "/ann", "visitor"),
    ];
    let mut keys: Vec<(String, Vec<String>)> = Vec::new();
    let conditions = statements
        .iter()
        .filter_map(|statement| statement["Condition"].as_object());
    for (key, values) in conditions
        .flat_map(|operators| operators.values())
        .filter_map(Value::as_object)
        .flatten()
    {
        keys.push((key.clone(), strings(values)));
    }
    let mut requests = Vec::new();
    for (at, action) in actions.iter().enumerate() {
        for (beside, resource) in resources.iter().enumerate() {
            let number = at + beside;
            let keys = match number % 3 {
                0 => keys.clone(),
                1 => keys
                    .iter()
                    .map(|(key, values)| (key.clone(), values.iter().take(1).cloned().collect()))
                    .collect(),
                _ => Vec::new(),
            };
            requests.push(Request {
                caller: callers[number % callers.len()].clone(),
                action: action.clone(),
                resource: resource.clone(),
                keys,
            });
        }
    }
    requests.truncate(MAX_REQUESTS);
    requests
}

/// Returns the texts of a value or list.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => list.iter().flat_map(strings).collect(),
        Value::Null => Vec::new(),
        other => vec![other.to_string()],
    }
}

/// Whether a policy alone allows a request: as far as another kind of policy must allow it too, that one does.
fn is_allowed(policy: &PolicyDocument, kind: PolicyKind, request: &Request) -> bool {
    let attached = |policy: &PolicyDocument| AttachedPolicy {
        label: String::new(),
        arn: None,
        policy: policy.clone(),
    };
    let everything = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}"#;
    let everything = attached(&PolicyDocument::parse(everything, PolicyKind::Identity).unwrap());
    let own = attached(policy);
    let (all, one) = (std::slice::from_ref(&everything), std::slice::from_ref(&own));
    let levels = [vec![own.clone()]];
    let mut policies = PolicySet {
        identity: all,
        resource_account: &request.caller.account,
        ..PolicySet::default()
    };
    match kind {
        PolicyKind::Identity => policies.identity = one,
        PolicyKind::Boundary => policies.boundary = Some(&own),
        PolicyKind::Session => policies.session = Some(one),
        PolicyKind::ServiceControl => policies.service_control = &levels,
        PolicyKind::ResourceControl => policies.resource_control = one,
        PolicyKind::Resource => (policies.identity, policies.resource) = (&[], Some(&own)),
        PolicyKind::Endpoint => policies.endpoint = Some(&own),
    }
    let mut keys = ConditionKeys::default();
    for (key, values) in &request.keys {
        match &values[..] {
            [one] => keys.set(key, one),
            values => keys.set_all(key, values.iter().map(String::as_str)),
        }
    }
    let question = StatementInput {
        subject: &request.caller,
        action: &request.action,
        resource: &request.resource,
        keys: &keys,
    };
    policies.decide(&question).is_allowed()
}
