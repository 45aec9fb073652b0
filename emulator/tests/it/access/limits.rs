//! Sizes and counts of policies and names exactly at their limits, and one beyond.

use std::time::Duration;

use dynatwin_engine::Moment;
use dynatwin_engine::iam::{Directory, PolicyDocument, PolicyKind, Secret, SessionRequest};
use serde_json::{Value, json};

use super::twin::{ACCOUNT, Twin};

/// A policy of `size` bytes without white space.
fn policy(size: usize) -> Value {
    policy_of(PolicyKind::Identity, size)
}

/// A policy of a kind with `size` bytes without white space.
fn policy_of(kind: PolicyKind, size: usize) -> Value {
    let mut statement = json!({"Sid": "", "Effect": "Allow", "Action": "*", "Resource": "*"});
    if kind.names_principals() {
        statement["Principal"] = json!("*");
        statement["Effect"] = json!("Deny");
        statement["Action"] = json!("dynamodb:*");
    }
    let mut document = json!({"Version": "2012-10-17", "Statement": [statement]});
    let bare = document.to_string().len();
    document["Statement"][0]["Sid"] = json!("a".repeat(size - bare));
    document
}

/// The end of what is wrong with an account; empty if nothing is.
fn refusal(account: &Value) -> String {
    let configuration = json!({"accounts": {ACCOUNT: account}}).to_string();
    Directory::read(&configuration, Moment::START).err().unwrap_or_default()
}

#[test]
fn policies_may_be_as_large_as_their_limits() {
    let inline = "by the inline policies together.";
    let halves = |size: usize| json!([policy(size / 2), policy(size - size / 2)]);
    let named = |count: usize| {
        let documents: serde_json::Map<String, Value> = (0..count).map(|at| (format!("p{at}"), policy(200))).collect();
        let arns: Vec<String> = (0..count)
            .map(|at| format!("arn:aws:iam::{ACCOUNT}:policy/p{at}"))
            .collect();
        json!({"managedPolicies": documents, "users": {"ann": {"policies": arns}}})
    };
    type Account<'a> = Box<dyn Fn(usize) -> Value + 'a>;
    let cases: Vec<(usize, &str, Account<'_>)> = vec![
        (
            6144,
            "a managed policy has at most 6144 characters.",
            Box::new(|size| json!({"managedPolicies": {"p": policy(size)}})),
        ),
        (
            2048,
            inline,
            Box::new(|size| json!({"users": {"ann": {"policies": halves(size)}}})),
        ),
        (
            5120,
            inline,
            Box::new(|size| json!({"groups": {"all": {"policies": halves(size)}}})),
        ),
        (
            10_240,
            inline,
            Box::new(|size| json!({"roles": {"App": {"policies": halves(size)}}})),
        ),
        (
            10_240,
            "exceeded for an identity-based policy.",
            Box::new(|size| json!({"roles": {"App": {"policies": [policy(size)]}}})),
        ),
        (
            6144,
            "exceeded for a permissions boundary.",
            Box::new(|size| json!({"users": {"ann": {"permissionsBoundary": policy(size)}}})),
        ),
        (
            10_240,
            "exceeded for a service control policy.",
            Box::new(|size| json!({"serviceControlPolicies": [policy(size)]})),
        ),
        (20, "has more than 20 managed policies.", Box::new(named)),
        (
            64,
            "a name must have 1 to 64 letters, digits and +=,.@_-.",
            Box::new(|length| json!({"users": {"a".repeat(length): {}}})),
        ),
        (
            64,
            "a name must have 1 to 64 letters, digits and +=,.@_-.",
            Box::new(|length| json!({"roles": {"a".repeat(length): {}}})),
        ),
    ];
    for (most, text, account) in &cases {
        assert_eq!(refusal(&account(*most)), "", "{most}");
        let found = refusal(&account(most + 1));
        assert!(found.ends_with(text), "{most}: {found}");
    }
}

#[test]
fn documents_may_be_as_long_as_their_limits() {
    // White space counts for some kinds; the text may have 128 KiB for all.
    for (kind, most, counts_blanks) in [
        (PolicyKind::Identity, 10_240, false),
        (PolicyKind::Boundary, 6144, false),
        (PolicyKind::Session, 2048, false),
        (PolicyKind::ServiceControl, 10_240, true),
        (PolicyKind::ResourceControl, 5120, true),
        (PolicyKind::Resource, 20_480, true),
        (PolicyKind::Endpoint, 20_480, true),
    ] {
        let is_read = |size: usize, blanks: usize| {
            PolicyDocument::parse(&(policy_of(kind, size).to_string() + &" ".repeat(blanks)), kind).is_ok()
        };
        assert_eq!((is_read(most, 0), is_read(most + 1, 0)), (true, false), "{kind:?}");
        assert_eq!(is_read(most, 1), !counts_blanks, "{kind:?}");
        if !counts_blanks {
            let rest = 131_072 - 1000;
            assert_eq!(
                (is_read(1000, rest), is_read(1000, rest + 1)),
                (true, false),
                "{kind:?}"
            );
        }
    }
}

/// Each policy of a session that is issued may have 2,048 characters, white space not counted; a managed one may have more.
#[test]
fn policies_of_issued_sessions_may_be_as_long_as_their_limit() {
    let twin = Twin::new(&json!({"accounts": {ACCOUNT: {
        "managedPolicies": {"Long": policy(6144)}, "roles": {"App": {}}}}}));
    let issue = |policies: &[String]| {
        let request = SessionRequest {
            policies: policies.to_vec(),
            ..SessionRequest::new(format!("arn:aws:iam::{ACCOUNT}:role/App"))
        };
        twin.engine.issue_session(&request).err().unwrap_or_default()
    };
    let [short, long] = [2048, 2049].map(|size| policy(size).to_string());
    let managed = format!("arn:aws:iam::{ACCOUNT}:policy/Long");
    let refused =
        |at: usize| format!("session policy {at}: Maximum policy size of 2048 bytes exceeded for a session policy.");
    for (policies, expect) in [
        (vec![short.clone()], String::new()),
        (vec![short.clone() + &" ".repeat(1000)], String::new()),
        (vec![short.clone(), short.clone(), managed], String::new()),
        (vec![long.clone()], refused(1)),
        (vec![short, long], refused(2)),
    ] {
        assert_eq!(issue(&policies), expect, "{policies:?}");
    }
}

#[test]
fn a_session_is_valid_until_it_expires() {
    let session = json!([{"name": "s1", "accessKeyId": "SESSION", "secretAccessKey": "s", "sessionToken": "t", "expires": "2026-01-01T00:05:00Z"}]);
    let allow = json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]});
    let twin =
        Twin::new(&json!({"accounts": {ACCOUNT: {"roles": {"App": {"policies": [allow], "sessions": session}}}}}));
    for (wait, status, name) in [
        (0, 200, ""),
        (299_999_999, 200, ""),
        (1, 400, "ExpiredTokenException"),
        (1, 400, "ExpiredTokenException"),
    ] {
        twin.engine.advance(std::time::Duration::from_micros(wait));
        let (found, answer) = twin.send("SESSION", "ListTables", &json!({}), &[("x-amz-security-token", "t")]);
        assert_eq!(found, status, "{answer}");
        assert!(
            answer["__type"].as_str().unwrap_or_default().ends_with(name),
            "{answer}"
        );
    }
}

/// The secret and the token of an issued session sign its requests until it expires, for a role and for a user.
#[test]
fn issued_credentials_sign_requests_until_they_expire() {
    let allow = json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]});
    let policies = json!({"policies": [allow]});
    let twin = Twin::new(&json!({"accounts": {ACCOUNT: {"roles": {"App": policies}, "users": {"ann": policies}}}}));
    for (principal, minutes) in [("role/App", 15), ("user/ann", 60)] {
        let request = SessionRequest {
            duration: Duration::from_mins(minutes),
            ..SessionRequest::new(format!("arn:aws:iam::{ACCOUNT}:{principal}"))
        };
        let issue = || twin.engine.issue_session(&request).unwrap();
        let (own, other) = (issue(), issue());
        assert_ne!(own.access_key_id, other.access_key_id);
        let send = |secret: &Secret, token: Option<&Secret>| {
            let headers: Vec<_> = token
                .map(|token| ("x-amz-security-token", token.expose()))
                .into_iter()
                .collect();
            let credentials = (own.access_key_id.as_str(), secret.expose());
            let (_, answer) = twin.send_signed(credentials, "ListTables", &json!({}), &headers);
            let name = answer["__type"].as_str().unwrap_or("allowed");
            name.rsplit('#').next().unwrap().to_owned()
        };
        for (secret, token, expect) in [
            (&own.secret_access_key, Some(&own.session_token), "allowed"),
            (
                &own.session_token,
                Some(&own.session_token),
                "InvalidSignatureException",
            ),
            (
                &other.secret_access_key,
                Some(&own.session_token),
                "InvalidSignatureException",
            ),
            (
                &own.secret_access_key,
                Some(&other.session_token),
                "UnrecognizedClientException",
            ),
            (&own.secret_access_key, None, "UnrecognizedClientException"),
        ] {
            assert_eq!(send(secret, token), expect, "{principal}");
        }
        assert_eq!(own.expires, twin.engine.clock().now().plus(request.duration));
        let last = Duration::from_micros(1);
        for (wait, expect) in [
            (request.duration.saturating_sub(last), "allowed"),
            (last, "ExpiredTokenException"),
        ] {
            twin.engine.advance(wait);
            assert_eq!(
                send(&own.secret_access_key, Some(&own.session_token)),
                expect,
                "{principal}"
            );
        }
    }
}

/// What is shown of a configuration: whom it names, and no secrets.
#[test]
fn a_configuration_is_shown_without_secrets() {
    let key = |id: &str| json!([{"accessKeyId": id, "secretAccessKey": "hidden"}]);
    let session = json!([{"name": "s1", "accessKeyId": "SESSION", "secretAccessKey": "hidden", "sessionToken": "hidden", "expires": "2026-01-01T00:05:00Z"}]);
    let twin = Twin::new(&json!({
        "accounts": {
            ACCOUNT: {"accessKeys": key("ROOT"), "users": {"ann": {"accessKeys": key("ANN")}}, "roles": {"App": {"sessions": session}}},
            "444455556666": {},
        },
        "vpcEndpoints": {"vpce-1": {}, "vpce-2": {}},
    }));
    let arn = |path: &str| format!("arn:aws:iam::{ACCOUNT}:{path}");
    let shown = twin.control("GET", "access", &Value::Null);
    assert_eq!(
        shown,
        json!({
            "configured": true,
            "accounts": [
                {"id": ACCOUNT, "principals": [arn("user/ann"), arn("role/App")]},
                {"id": "444455556666", "principals": []},
            ],
            "accessKeys": [
                {"accessKeyId": "ANN", "principal": arn("user/ann")},
                {"accessKeyId": "ROOT", "principal": arn("root")},
                {"accessKeyId": "SESSION", "principal": arn("role/App"), "expires": "2026-01-01T00:05:00.000Z"},
            ],
            "vpcEndpoints": ["vpce-1", "vpce-2"],
            "warnings": [],
        })
    );
}
