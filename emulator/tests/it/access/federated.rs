//! Sessions of users: temporary credentials, and federated users (docs/behavior: 07 4, 07 7).

use std::time::Duration;

use dynatwin_engine::iam::SessionRequest;
use serde_json::{Value, json};

use super::scene::DENY;
use super::twin::{ACCOUNT, REGION, Twin};

const FEDERATED: &str = "arn:aws:sts::123456789012:federated-user/visitor";
const USER: &str = "arn:aws:iam::123456789012:user/ann";

fn statement(effect: &str, members: &Value) -> Value {
    let mut statement = json!({"Effect": effect, "Action": "dynamodb:GetItem", "Resource": "*"});
    let members = members.as_object().unwrap().clone();
    statement.as_object_mut().unwrap().extend(members);
    json!({"Version": "2012-10-17", "Statement": statement})
}

fn allow() -> Value {
    statement("Allow", &json!({}))
}

fn grant(effect: &str, principal: &str) -> Value {
    statement(effect, &json!({"Principal": {"AWS": principal}}))
}

/// Returns what a federated user of ann's gets for a GetItem: whether it is allowed, or the end of the refusal.
fn get(user: &Value, session: &Value, account: &Value, resource: Option<&Value>) -> String {
    let mut session = session.clone();
    session.as_object_mut().unwrap().extend(
        json!({"name": "visitor", "federated": true, "accessKeyId": "VISITOR", "secretAccessKey": "s", "sessionToken": "t"})
            .as_object()
            .unwrap()
            .clone(),
    );
    let mut user = user.clone();
    user["sessions"] = json!([session]);
    let mut configured = account.clone();
    configured["accessKeys"] = json!([{"accessKeyId": "ROOT", "secretAccessKey": "s"}]);
    configured["users"] = json!({"ann": user});
    let twin = Twin::new(&json!({"accounts": {ACCOUNT: configured}}));
    twin.create_table("Books", ("id", ""), None);
    if let Some(policy) = resource {
        let arn = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Books");
        let body = json!({"ResourceArn": arn, "Policy": policy.to_string(), "ConfirmRemoveSelfResourceAccess": true});
        twin.root("PutResourcePolicy", &body);
    }
    let body = json!({"TableName": "Books", "Key": {"id": {"S": "a"}}});
    let (status, answer) = twin.send("VISITOR", "GetItem", &body, &[("x-amz-security-token", "t")]);
    match answer["Message"].as_str() {
        None => format!("{status}"),
        Some(text) => {
            assert!(
                text.starts_with(&format!("User: {FEDERATED} is not authorized to perform")),
                "{text}"
            );
            let because = text.split("table/Books ").nth(1).unwrap();
            because.replace(" allows the dynamodb:GetItem action", "")
        }
    }
}

#[test]
fn federated_users_have_what_user_and_session_policies_allow() {
    let none = json!({});
    let with = |policies: Value| json!({"policies": [policies]});
    let (all, other) = (
        with(allow()),
        with(statement("Allow", &json!({"Action": "dynamodb:PutItem"}))),
    );
    let denying = with(statement("Deny", &json!({})));
    let bounded = json!({"policies": [allow()], "permissionsBoundary": statement("Allow", &json!({"Action": "s3:*"}))});
    let tables = json!({"Action": ["dynamodb:CreateTable", "dynamodb:PutResourcePolicy"]});
    let control = json!({"serviceControlPolicies": [statement("Allow", &tables)]});
    let (to_session, to_user) = (grant("Allow", FEDERATED), grant("Allow", USER));
    let to_other = grant("Allow", "arn:aws:sts::123456789012:federated-user/other");
    let to_account = grant("Allow", ACCOUNT);
    for (user, session, account, resource, expect) in [
        // Identity-based and session policies both have to allow. Without session policies nothing is allowed.
        (&all, &all, &none, None, "200"),
        (&all, &none, &none, None, "because no session policy"),
        (&all, &other, &none, None, "because no session policy"),
        (&none, &all, &none, None, "because no identity-based policy"),
        (&other, &all, &none, None, "because no identity-based policy"),
        (&bounded, &all, &none, None, "because no permissions boundary"),
        (&all, &all, &control, None, "because no service control policy"),
        (
            &denying,
            &all,
            &none,
            None,
            "with an explicit deny in an identity-based policy",
        ),
        (&all, &denying, &none, None, "with an explicit deny in a session policy"),
        // A grant to the federated user is limited by nothing but denies and service control policies.
        (&none, &none, &none, Some(&to_session), "200"),
        (&bounded, &other, &none, Some(&to_session), "200"),
        (
            &none,
            &none,
            &control,
            Some(&to_session),
            "because no service control policy",
        ),
        (
            &denying,
            &none,
            &none,
            Some(&to_session),
            "with an explicit deny in an identity-based policy",
        ),
        (
            &none,
            &denying,
            &none,
            Some(&to_session),
            "with an explicit deny in a session policy",
        ),
        (&none, &none, &none, Some(&to_other), "because no identity-based policy"),
        // A grant to the user that requested the session is limited by boundary and session policies.
        (&none, &all, &none, Some(&to_user), "200"),
        (&none, &none, &none, Some(&to_user), "because no session policy"),
        (&bounded, &all, &none, Some(&to_user), "because no permissions boundary"),
        // A grant to the account delegates.
        (
            &none,
            &all,
            &none,
            Some(&to_account),
            "because no identity-based policy",
        ),
        (&all, &all, &none, Some(&to_account), "200"),
        (
            &all,
            &all,
            &none,
            Some(&grant("Deny", FEDERATED)),
            "with an explicit deny in a resource-based policy",
        ),
        (
            &all,
            &all,
            &none,
            Some(&grant("Deny", USER)),
            "with an explicit deny in a resource-based policy",
        ),
        (
            &all,
            &all,
            &none,
            Some(&grant("Deny", ACCOUNT)),
            "with an explicit deny in a resource-based policy",
        ),
    ] {
        let found = get(user, session, account, resource);
        assert_eq!(found, expect, "{user} {session} {account} {resource:?}");
    }
}

/// The keys of a caller's requests, as an explanation shows them.
fn keys(question: &Value) -> Value {
    let user = json!({"path": "/team/", "id": "AIDAANN", "tags": {"team": "blue", "level": "1"}});
    let twin =
        Twin::new(&json!({"accounts": {ACCOUNT: {"users": {"ann": user}, "roles": {"Reader": {"id": "AROAREADER"}}}}}));
    let answer = twin.control("POST", "access/explain", question);
    answer["evaluations"][0]["keys"].clone()
}

#[test]
fn keys_of_sessions() {
    let user = "arn:aws:iam::123456789012:user/team/ann";
    let role = "arn:aws:iam::123456789012:role/Reader";
    let action = |principal: &str, session: Value| {
        let mut question = json!({"principal": principal, "action": "dynamodb:GetItem", "resource": "*"});
        if !session.is_null() {
            question["session"] = session;
        }
        keys(&question)
    };
    let federated = json!({"name": "visitor", "federated": true, "tags": {"LEVEL": "2", "area": "north"}});
    let mfa = json!({"keys": {"aws:MultiFactorAuthPresent": "true", "aws:MultiFactorAuthAge": "60"}});
    let web =
        json!({"name": "app", "keys": {"www.amazon.com:user_id": "u1", "aws:FederatedProvider": "www.amazon.com"}});
    for (found, expect) in [
        (
            action(user, Value::Null),
            json!({"aws:PrincipalArn": user, "aws:PrincipalType": "User", "aws:userid": "AIDAANN", "aws:username": "ann",
                "aws:PrincipalTag/team": "blue", "aws:TokenIssueTime": null, "aws:MultiFactorAuthPresent": null}),
        ),
        (
            action(user, mfa),
            json!({"aws:PrincipalArn": user, "aws:PrincipalType": "User", "aws:username": "ann",
                "aws:TokenIssueTime": "2026-01-01T00:00:00.000Z", "aws:MultiFactorAuthPresent": "true", "aws:MultiFactorAuthAge": "60"}),
        ),
        (
            action(user, federated),
            json!({"aws:PrincipalArn": FEDERATED, "aws:PrincipalType": "FederatedUser", "aws:userid": "123456789012:visitor",
                "aws:username": null, "aws:PrincipalTag/team": "blue", "aws:PrincipalTag/LEVEL": "2", "aws:PrincipalTag/level": null,
                "aws:PrincipalTag/area": "north",
                "aws:MultiFactorAuthPresent": "false"}),
        ),
        (
            action(role, web),
            json!({"aws:PrincipalArn": role, "aws:PrincipalType": "AssumedRole", "aws:userid": "AROAREADER:app", "aws:username": null,
                "www.amazon.com:user_id": "u1", "aws:FederatedProvider": "www.amazon.com"}),
        ),
    ] {
        for (name, expect) in expect.as_object().unwrap() {
            assert_eq!(found.get(name).unwrap_or(&Value::Null), expect, "{name} of {found:#}");
        }
    }
}

#[test]
fn only_users_have_federated_sessions() {
    let session = json!({"federated": true, "accessKeyId": "A", "secretAccessKey": "s", "sessionToken": "t"});
    let accounts = json!({"accounts": {ACCOUNT: {"roles": {"Reader": {"sessions": [session]}}}}});
    let refused = dynatwin_engine::iam::Directory::read(&accounts.to_string(), dynatwin_engine::Moment::START);
    assert_eq!(
        refused.unwrap_err(),
        "accounts.123456789012.roles.Reader.sessions.0: arn:aws:iam::123456789012:role/Reader is not a user, so it has no \
         federated sessions."
    );
}

/// aws:TokenIssueTime is when a session began, of the configuration or issued later, whenever its requests are.
#[test]
fn sessions_keep_the_time_of_their_issue() {
    let old = json!({"Condition": {"DateLessThan": {"aws:TokenIssueTime": "2026-01-01T00:10:00Z"}}});
    let session =
        |name: &str| json!([{"name": name, "accessKeyId": name, "secretAccessKey": "s", "sessionToken": "t"}]);
    let policies = json!([allow(), statement("Deny", &old)]);
    let reader = json!({"policies": policies, "sessions": session("CONFIGURED")});
    let twin = Twin::new(&json!({"accounts": {ACCOUNT: {
        "accessKeys": [{"accessKeyId": "ROOT", "secretAccessKey": "s"}],
        "users": {"ann": {"policies": policies, "sessions": session("USER")}}, "roles": {"Reader": reader}}}}));
    twin.create_table("Books", ("id", ""), None);
    let role = "arn:aws:iam::123456789012:role/Reader";
    let issue = |name: &str| {
        let body = json!({"role": role, "accessKeyId": name, "secretAccessKey": "s", "sessionToken": "t"});
        twin.control("POST", "access/sessions", &body);
    };
    issue("EARLY");
    twin.engine.advance(Duration::from_mins(10));
    issue("LATE");
    let generated = twin
        .engine
        .issue_session(&SessionRequest::new(role))
        .unwrap()
        .access_key_id;
    let issued_at = |access_key: &str| {
        let question = json!({"accessKeyId": access_key, "action": "dynamodb:GetItem", "resource": "*"});
        let explained = twin.control("POST", "access/explain", &question);
        explained["evaluations"][0]["keys"]["aws:TokenIssueTime"].clone()
    };
    for minutes in [10, 20] {
        for (access_key, issued, status) in [
            ("CONFIGURED", "00:00", 400),
            ("USER", "00:00", 400),
            ("EARLY", "00:00", 400),
            ("LATE", "00:10", 200),
        ] {
            let body = json!({"TableName": "Books", "Key": {"id": {"S": "a"}}});
            let (found, answer) = twin.send(access_key, "GetItem", &body, &[("x-amz-security-token", "t")]);
            let text = answer["Message"].as_str().unwrap_or_default();
            assert_eq!(
                (found, text.ends_with(DENY)),
                (status, status == 400),
                "{access_key} after {minutes} minutes: {answer}"
            );
            let expect = format!("2026-01-01T{issued}:00.000Z");
            assert_eq!(issued_at(access_key), expect, "{access_key} after {minutes} minutes");
        }
        assert_eq!(
            issued_at(&generated),
            "2026-01-01T00:10:00.000Z",
            "after {minutes} minutes"
        );
        twin.engine.advance(Duration::from_mins(10));
    }
}
