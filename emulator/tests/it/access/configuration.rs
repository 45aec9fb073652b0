//! Configurations that are refused, whichever of their policies is invalid.

use dynatwin_engine::Moment;
use dynatwin_engine::iam::{Directory, PolicyDocument, PolicyKind};
use serde_json::{Value, json};

use super::twin::ACCOUNT;

/// What is wrong with an account, without the place of the account; empty if nothing is.
fn refusal(account: &Value) -> String {
    let configuration = json!({"accounts": {ACCOUNT: account}}).to_string();
    let refused = Directory::read(&configuration, Moment::START).err().unwrap_or_default();
    refused
        .strip_prefix(&format!("accounts.{ACCOUNT}."))
        .unwrap_or(&refused)
        .to_owned()
}

/// The ids of a policy's statements are unique, whichever two are equal. Not every statement has one.
#[test]
fn ids_of_statements_are_unique() {
    for (ids, wrong) in [
        (&["a"][..], None),
        (&["a", "b", "c"], None),
        (&["a", "A"], None),
        (&["", "", "a"], None),
        (&["a", "a"], Some(2)),
        (&["a", "b", "a"], Some(3)),
        (&["a", "b", "b"], Some(3)),
        (&["", "b", "b"], Some(3)),
        (&["b", "", "b"], Some(3)),
        (&["a", "b", "c", "b"], Some(4)),
        (&["a", "b", "c", "c"], Some(4)),
    ] {
        let statement = |id: &&str| {
            let mut statement = json!({"Effect": "Allow", "Action": "*", "Resource": "*"});
            if !id.is_empty() {
                statement["Sid"] = json!(id);
            }
            statement
        };
        let statements: Vec<Value> = ids.iter().map(statement).collect();
        let policy = json!({"Version": "2012-10-17", "Statement": statements});
        let found = refusal(&json!({"users": {"ann": {"policies": [policy]}}}));
        let expect = wrong.map_or_else(String::new, |number| {
            format!("users.ann.policies.0: Statement {number}: the Sid is used twice.")
        });
        assert_eq!(found, expect, "{ids:?}");
    }
}

/// The id of a statement has letters and digits of ASCII, except in policies of tables and endpoints, which take any
/// (docs/behavior: 07 6).
#[test]
fn ids_of_statements_are_alphanumeric() {
    for (id, is_valid) in [
        ("Reads", true),
        ("Reads2", true),
        ("2", true),
        ("", true),
        ("Reads 2", false),
        ("Reads-2", false),
        ("Reads_2", false),
        ("Größe", false),
    ] {
        for kind in [
            PolicyKind::Identity,
            PolicyKind::Boundary,
            PolicyKind::Session,
            PolicyKind::ServiceControl,
            PolicyKind::ResourceControl,
            PolicyKind::Resource,
            PolicyKind::Endpoint,
        ] {
            let mut statement = json!({"Sid": id, "Effect": "Deny", "Action": "dynamodb:*", "Resource": "*"});
            if kind.names_principals() {
                statement["Principal"] = json!("*");
            }
            let policy = json!({"Version": "2012-10-17", "Statement": statement});
            let found = PolicyDocument::parse(&policy.to_string(), kind).err();
            let takes_any = [PolicyKind::Resource, PolicyKind::Endpoint].contains(&kind);
            let expect = (!is_valid && !takes_any).then_some("Statement 1: Statement IDs (SID) must be alpha-numeric.");
            assert_eq!(found.as_deref(), expect, "{kind:?} {id:?}");
        }
    }
}

/// A resource control policy only denies, in each of its statements. The first policy that allows is named.
#[test]
fn resource_control_policies_deny() {
    let policy = |effects: &[&str]| {
        let statement =
            |effect: &&str| json!({"Effect": effect, "Principal": "*", "Action": "dynamodb:*", "Resource": "*"});
        let statements: Vec<Value> = effects.iter().map(statement).collect();
        json!({"Version": "2012-10-17", "Statement": statements})
    };
    let deny = || policy(&["Deny"]);
    let allow = || policy(&["Allow"]);
    for (policies, wrong) in [
        (vec![deny(), deny()], None),
        (vec![allow(), deny()], Some(0)),
        (vec![deny(), allow()], Some(1)),
        (vec![deny(), allow(), deny(), allow()], Some(1)),
        (vec![deny(), policy(&["Deny", "Allow"])], Some(1)),
        (vec![policy(&["Deny", "Deny", "Allow", "Deny"])], Some(0)),
    ] {
        let found = refusal(&json!({"resourceControlPolicies": policies}));
        let expect = wrong.map_or_else(String::new, |at| {
            format!("resourceControlPolicies.{at}: the effect of a resource control policy must be Deny.")
        });
        assert_eq!(found, expect, "{policies:?}");
    }
}
