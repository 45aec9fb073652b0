//! Compares policy evaluation with a naive second implementation, and parses arbitrary text.
//!
//! `DYNATWIN_POLICIES=1000000` compares a million random policy sets; `DYNATWIN_SEED` replays a run.

mod generate;
mod naive;

use dynatwin_engine::iam::{
    AttachedPolicy, ConditionKeys, PolicyDocument, PolicyKind, PolicySet, StatementInput, Subject, SubjectKind,
};
use generate::{Case, Random};
use proptest::prelude::*;
use serde_json::Value;

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

fn attached(document: &Value, kind: PolicyKind) -> AttachedPolicy {
    let policy = PolicyDocument::parse(&document.to_string(), kind);
    AttachedPolicy {
        label: String::new(),
        arn: None,
        policy: policy.unwrap_or_else(|why| panic!("{why}\n{document:#}")),
    }
}

/// Returns the engine's decision: nothing if it allows, otherwise the kind of policy and whether it denies explicitly.
fn decide(case: &Case) -> Option<(PolicyKind, bool)> {
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

#[test]
fn decisions_are_those_of_a_naive_evaluator() {
    let seed = from_environment("DYNATWIN_SEED").unwrap_or_else(|| std::process::id().into());
    let count = from_environment("DYNATWIN_POLICIES").unwrap_or(10_000);
    println!("DYNATWIN_SEED={seed} DYNATWIN_POLICIES={count}");
    let mut random = Random::new(seed);
    let mut allowed = 0;
    let mut kinds = std::collections::HashMap::new();
    for number in 0..count {
        let case = Case::random(&mut random);
        let (ours, naive) = (decide(&case), naive::decide(&case));
        assert_eq!(ours, naive, "case {number} of seed {seed}: {case:#?}");
        allowed += u64::from(ours.is_none());
        if let Some(kind) = ours {
            *kinds.entry(kind).or_insert(0_u64) += 1;
        }
    }
    println!("{allowed} allowed, denied {kinds:?}");
    if count >= 10_000 {
        // The comparison is meaningful only if every outcome occurs.
        assert!(allowed > count / 50, "{allowed}");
        assert_eq!(kinds.len(), 13, "{kinds:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    /// No text makes the parser panic, and a damaged document never allows what the intact one does not.
    #[test]
    fn damaged_documents_allow_no_more(seed in any::<u64>(), at in any::<prop::sample::Index>(), with in "[\\x00-\\x7f*?$\"{}\\[\\],:é]{0,3}", cut in 0_usize..6) {
        let mut random = Random::new(seed);
        let document = generate::deny_only(&mut random).to_string();
        let start = at.index(document.len());
        let end = (start + cut).min(document.len());
        let damaged = format!("{}{with}{}", &document[..start], &document[end..]);
        for kind in [PolicyKind::Identity, PolicyKind::Resource, PolicyKind::Endpoint, PolicyKind::Session] {
            if let Ok(policy) = PolicyDocument::parse(&damaged, kind) {
                prop_assert!(policy.statements().iter().all(|statement| !statement.allows()), "{damaged}");
            }
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in ".{0,200}") {
        for kind in [PolicyKind::Identity, PolicyKind::Resource] {
            let _ = PolicyDocument::parse(&text, kind);
            let _ = PolicyDocument::parse(&format!(r#"{{"Statement":{{"Effect":"Allow","Action":"*","Resource":{text:?}}}}}"#), kind);
        }
    }
}
