//! Policies of several kinds around one request.

use dynatwin_engine::iam::{AttachedPolicy, PolicyKind, PolicySet, StatementInput, Subject};
use serde_json::{Value, json};

use super::{ACCOUNT, OTHER, ROLE, SESSION, TABLE, USER, attached, keys};

/// Policies of all kinds around one request, as JSON; a kind that is left out has none.
fn decide(caller: &Subject, policies: &Value, account: &str) -> String {
    let list = |name: &str, kind| -> Vec<AttachedPolicy> {
        let documents = policies[name].as_array().cloned().unwrap_or_default();
        documents.iter().map(|document| attached(document, kind)).collect()
    };
    let one = |name: &str, kind| policies.get(name).map(|document| attached(document, kind));
    let identity = list("identity", PolicyKind::Identity);
    let boundary = one("boundary", PolicyKind::Boundary);
    let session = policies.get("session").map(|_| list("session", PolicyKind::Session));
    let service_control = policies
        .get("scp")
        .map(|_| vec![list("scp", PolicyKind::ServiceControl)]);
    let resource_control = list("rcp", PolicyKind::ResourceControl);
    let resource = one("resource", PolicyKind::Resource);
    let endpoint = one("endpoint", PolicyKind::Endpoint);
    let caller = Subject {
        is_bounded: boundary.is_some(),
        ..caller.clone()
    };
    let set = PolicySet {
        identity: &identity,
        boundary: boundary.as_ref(),
        session: session.as_deref(),
        service_control: service_control.as_deref().unwrap_or_default(),
        resource_control: &resource_control,
        resource: resource.as_ref(),
        resource_account: account,
        endpoint: endpoint.as_ref(),
    };
    let decision = set.decide(&StatementInput {
        subject: &caller,
        action: "dynamodb:GetItem",
        resource: &TABLE.replace(ACCOUNT, account),
        keys: &keys(&json!({"aws:PrincipalArn": caller.principal_arn, "aws:PrincipalAccount": caller.account})),
    });
    let denial = decision.denial.map(|denial| (denial.kind.name(), denial.explicit));
    denial.map_or("allowed".to_owned(), |(kind, explicit)| {
        let how = if explicit { "explicit" } else { "implicit" };
        format!("{how}: {kind}")
    })
}

#[test]
fn policies_of_several_kinds() {
    let user = Subject::user(ACCOUNT, "/team/ann");
    let session = Subject::role_session(ACCOUNT, "/app/Reader", "s1");
    let root = Subject::root(ACCOUNT);
    let statement = |effect: &str, principal: Option<&str>| {
        let mut statement = json!({"Effect": effect, "Action": "dynamodb:GetItem", "Resource": "*"});
        if let Some(principal) = principal {
            statement["Principal"] = if principal == "*" {
                json!("*")
            } else {
                json!({"AWS": principal})
            };
        }
        json!({"Version": "2012-10-17", "Statement": statement})
    };
    let (allow, deny) = (|| statement("Allow", None), || statement("Deny", None));
    let grant = |principal: &str| statement("Allow", Some(principal));
    let refuse = |principal: &str| statement("Deny", Some(principal));
    let except = |principals: &[&str]| json!({"Version": "2012-10-17", "Statement": {"Effect": "Deny", "NotPrincipal": {"AWS": principals}, "Action": "*", "Resource": "*"}});
    let other = || json!({"Statement": {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}});
    let by_condition = |arn: &str| json!({"Statement": {"Effect": "Allow", "Principal": "*", "Action": "dynamodb:*", "Resource": "*", "Condition": {"ArnEquals": {"aws:PrincipalArn": arn}}}});
    let account_root = "arn:aws:iam::111122223333:root";
    let (no_identity, no_resource) = ("implicit: identity-based policy", "implicit: resource-based policy");
    let (no_boundary, no_session) = ("implicit: permissions boundary", "implicit: session policy");
    for (caller, account, policies, expect) in [
        // Everything is denied by default, apart from the root user's requests.
        (&user, ACCOUNT, json!({}), no_identity),
        (&session, ACCOUNT, json!({}), no_identity),
        (&root, ACCOUNT, json!({}), "allowed"),
        // Within an account an identity-based or a resource-based policy suffices.
        (&user, ACCOUNT, json!({"identity": [allow()]}), "allowed"),
        (&user, ACCOUNT, json!({"resource": grant(USER)}), "allowed"),
        (
            &user,
            ACCOUNT,
            json!({"identity": [other()], "resource": grant(USER)}),
            "allowed",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "resource": grant("arn:aws:iam::111122223333:user/bob")}),
            "allowed",
        ),
        (&user, ACCOUNT, json!({"resource": grant("*")}), "allowed"),
        // An account as principal delegates to its identity-based policies.
        (&user, ACCOUNT, json!({"resource": grant(ACCOUNT)}), no_identity),
        (&user, ACCOUNT, json!({"resource": grant(account_root)}), no_identity),
        (&session, ACCOUNT, json!({"resource": grant(account_root)}), no_identity),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "resource": grant(account_root)}),
            "allowed",
        ),
        // An explicit deny anywhere wins.
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow(), deny()]}),
            "explicit: identity-based policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "resource": refuse(USER)}),
            "explicit: resource-based policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "resource": refuse(ACCOUNT)}),
            "explicit: resource-based policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [deny()], "resource": grant(USER)}),
            "explicit: identity-based policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"boundary": deny(), "resource": grant(USER)}),
            "explicit: permissions boundary",
        ),
        (
            &session,
            ACCOUNT,
            json!({"session": [deny()], "resource": grant(SESSION)}),
            "explicit: session policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "scp": [allow(), deny()]}),
            "explicit: service control policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "rcp": [refuse("*")]}),
            "explicit: resource control policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "endpoint": refuse("*")}),
            "explicit: VPC endpoint policy",
        ),
        (
            &root,
            ACCOUNT,
            json!({"resource": refuse("*")}),
            "explicit: resource-based policy",
        ),
        (
            &root,
            ACCOUNT,
            json!({"resource": refuse(ACCOUNT)}),
            "explicit: resource-based policy",
        ),
        (
            &root,
            ACCOUNT,
            json!({"scp": [deny()]}),
            "explicit: service control policy",
        ),
        (
            &root,
            ACCOUNT,
            json!({"rcp": [refuse("*")]}),
            "explicit: resource control policy",
        ),
        (
            &root,
            ACCOUNT,
            json!({"scp": [other()]}),
            "implicit: service control policy",
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "resource": refuse(ROLE)}),
            "explicit: resource-based policy",
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "resource": refuse(SESSION)}),
            "explicit: resource-based policy",
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "resource": refuse("arn:aws:sts::111122223333:assumed-role/Reader/s2")}),
            "allowed",
        ),
        // A boundary and session policies limit what identity-based policies allow.
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "boundary": allow()}),
            "allowed",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "boundary": other()}),
            no_boundary,
        ),
        (&user, ACCOUNT, json!({"boundary": allow()}), no_identity),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "session": [allow()]}),
            "allowed",
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "session": [other()]}),
            no_session,
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "session": [other(), allow()]}),
            "allowed",
        ),
        (&session, ACCOUNT, json!({"session": [allow()]}), no_identity),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "session": [allow()], "boundary": other()}),
            no_boundary,
        ),
        // A grant to a user or a session is limited by none of them, one to a role by boundary and session policies.
        (
            &user,
            ACCOUNT,
            json!({"boundary": other(), "resource": grant(USER)}),
            "allowed",
        ),
        (
            &session,
            ACCOUNT,
            json!({"boundary": other(), "resource": grant(SESSION)}),
            "allowed",
        ),
        (
            &session,
            ACCOUNT,
            json!({"session": [other()], "resource": grant(SESSION)}),
            "allowed",
        ),
        (&session, ACCOUNT, json!({"resource": grant(ROLE)}), "allowed"),
        (
            &session,
            ACCOUNT,
            json!({"boundary": other(), "resource": grant(ROLE)}),
            no_boundary,
        ),
        (
            &session,
            ACCOUNT,
            json!({"session": [other()], "resource": grant(ROLE)}),
            no_session,
        ),
        (
            &session,
            ACCOUNT,
            json!({"session": [allow()], "boundary": allow(), "resource": grant(ROLE)}),
            "allowed",
        ),
        (
            &session,
            ACCOUNT,
            json!({"boundary": other(), "resource": by_condition(ROLE)}),
            "allowed",
        ),
        (
            &session,
            ACCOUNT,
            json!({"session": [other()], "resource": by_condition(ROLE)}),
            "allowed",
        ),
        (
            &session,
            ACCOUNT,
            json!({"resource": by_condition(SESSION)}),
            no_identity,
        ),
        (&user, ACCOUNT, json!({"resource": by_condition(USER)}), "allowed"),
        // SCPs limit the principals of their account, grants of resources included.
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "scp": [other()]}),
            "implicit: service control policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"resource": grant(USER), "scp": [other()]}),
            "implicit: service control policy",
        ),
        (&user, ACCOUNT, json!({"scp": [allow()]}), no_identity),
        // NotPrincipal spares those of whom all names are listed.
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "resource": except(&[USER, account_root])}),
            "allowed",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "resource": except(&[USER])}),
            "explicit: resource-based policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "resource": except(&[account_root])}),
            "explicit: resource-based policy",
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "resource": except(&[SESSION, ROLE, account_root])}),
            "allowed",
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "resource": except(&[SESSION, account_root])}),
            "explicit: resource-based policy",
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "resource": except(&[SESSION, ROLE])}),
            "explicit: resource-based policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "boundary": allow(), "resource": except(&[USER, account_root])}),
            "explicit: resource-based policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"resource": except(&[USER, account_root])}),
            no_identity,
        ),
        // A denial that excludes everybody denies only callers with a boundary.
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "resource": except(&["*"])}),
            "allowed",
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "resource": except(&[USER, "*"])}),
            "allowed",
        ),
        (&root, ACCOUNT, json!({"resource": except(&["*"])}), "allowed"),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "boundary": allow(), "resource": except(&["*"])}),
            "explicit: resource-based policy",
        ),
        // Across accounts both have to allow.
        (&user, OTHER, json!({"identity": [allow()]}), no_resource),
        (&user, OTHER, json!({"resource": grant(USER)}), no_identity),
        (
            &user,
            OTHER,
            json!({"identity": [allow()], "resource": grant(USER)}),
            "allowed",
        ),
        (
            &user,
            OTHER,
            json!({"identity": [allow()], "resource": grant(ACCOUNT)}),
            "allowed",
        ),
        (
            &user,
            OTHER,
            json!({"identity": [allow()], "resource": grant("*")}),
            "allowed",
        ),
        (
            &user,
            OTHER,
            json!({"identity": [allow()], "resource": grant(OTHER)}),
            no_resource,
        ),
        (&session, OTHER, json!({"resource": grant(SESSION)}), no_identity),
        (
            &session,
            OTHER,
            json!({"identity": [allow()], "resource": grant(ROLE)}),
            "allowed",
        ),
        (
            &session,
            OTHER,
            json!({"identity": [allow()], "session": [other()], "resource": grant(SESSION)}),
            no_session,
        ),
        (
            &user,
            OTHER,
            json!({"identity": [allow()], "boundary": other(), "resource": grant(USER)}),
            no_boundary,
        ),
        (
            &user,
            OTHER,
            json!({"identity": [allow(), deny()], "resource": grant(USER)}),
            "explicit: identity-based policy",
        ),
        (
            &user,
            OTHER,
            json!({"identity": [allow()], "resource": refuse(ACCOUNT)}),
            "explicit: resource-based policy",
        ),
        (
            &user,
            OTHER,
            json!({"identity": [allow()], "resource": grant(USER), "scp": [other()]}),
            "implicit: service control policy",
        ),
        (
            &user,
            OTHER,
            json!({"identity": [allow()], "resource": grant(USER), "rcp": [refuse("*")]}),
            "explicit: resource control policy",
        ),
        (&root, OTHER, json!({}), no_resource),
        (&root, OTHER, json!({"resource": grant(ACCOUNT)}), "allowed"),
        // An endpoint policy grants nothing, and limits every caller.
        (&user, ACCOUNT, json!({"endpoint": grant("*")}), no_identity),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "endpoint": grant("*")}),
            "allowed",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "endpoint": grant(USER)}),
            "allowed",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "endpoint": grant(ROLE)}),
            "implicit: VPC endpoint policy",
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "endpoint": grant(ROLE)}),
            "allowed",
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "endpoint": by_condition(ROLE)}),
            "allowed",
        ),
        (
            &user,
            ACCOUNT,
            json!({"resource": grant(USER), "endpoint": grant(ROLE)}),
            "implicit: VPC endpoint policy",
        ),
        (
            &root,
            ACCOUNT,
            json!({"endpoint": grant(ROLE)}),
            "implicit: VPC endpoint policy",
        ),
    ] {
        assert_eq!(
            decide(caller, &policies, account),
            expect,
            "{} of {account}: {policies:#}",
            caller.arn
        );
    }
}
