//! The engine's decision of a random case.

use dynatwin_engine::iam::{
    AttachedPolicy, ConditionKeys, PolicyDocument, PolicyKind, PolicySet, StatementInput, Subject, SubjectKind,
};
use serde_json::Value;

use super::generate::{self, Case};

fn attached(document: &Value, kind: PolicyKind) -> AttachedPolicy {
    let policy = PolicyDocument::parse(&document.to_string(), kind);
    AttachedPolicy {
        label: String::new(),
        arn: None,
        policy: policy.unwrap_or_else(|why| panic!("{why}\n{document:#}")),
    }
}

/// Returns the engine's decision: nothing if it allows, otherwise the kind of policy and whether it denies explicitly.
pub fn decide(case: &Case) -> Option<(PolicyKind, bool)> {
    let list = |documents: &[Value], kind| -> Vec<AttachedPolicy> {
        documents.iter().map(|document| attached(document, kind)).collect()
    };
    let one = |document: &Option<Value>, kind| document.as_ref().map(|document| attached(document, kind));
    let identity = list(&case.identity, PolicyKind::Identity);
    let session = case.session.as_ref().map(|session| list(session, PolicyKind::Session));
    let levels = case.service_control.iter();
    let service_control: Vec<_> = levels.map(|level| list(level, PolicyKind::ServiceControl)).collect();
    let resource_control = list(&case.resource_control, PolicyKind::ResourceControl);
    let boundary = one(&case.boundary, PolicyKind::Boundary);
    let resource = one(&case.resource, PolicyKind::Resource);
    let endpoint = one(&case.endpoint, PolicyKind::Endpoint);
    let mut keys = ConditionKeys::default();
    for (name, value) in &case.keys {
        match value {
            Value::String(text) => keys.set(name, text),
            Value::Array(list) => keys.set_all(name, list.iter().map(|value| value.as_str().unwrap())),
            _ => unreachable!(),
        }
    }
    let mut subject = match case.caller {
        SubjectKind::Root => Subject::root(generate::ACCOUNT),
        SubjectKind::User => Subject::user(generate::ACCOUNT, "/ann"),
        SubjectKind::RoleSession => Subject::role_session(generate::ACCOUNT, "/app/Reader", "s"),
        SubjectKind::FederatedUser => Subject::federated_user(generate::ACCOUNT, "/ann", "visitor"),
    };
    subject.is_bounded = boundary.is_some();
    let policies = PolicySet {
        identity: &identity,
        boundary: boundary.as_ref(),
        session: session.as_deref(),
        service_control: &service_control,
        resource_control: &resource_control,
        resource: resource.as_ref(),
        resource_account: case.resource_account,
        endpoint: endpoint.as_ref(),
    };
    let question = StatementInput {
        subject: &subject,
        action: case.action,
        resource: &case.arn(),
        keys: &keys,
    };
    let decision = policies.decide(&question);
    decision.denial.map(|denial| (denial.kind, denial.explicit))
}
