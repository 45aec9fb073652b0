//! Principals of a twin with access control.

use std::time::Duration;

use aws_sdk_dynamodb::config::Intercept;
use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextMut;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{ConfigBag, Credentials};
use aws_sdk_dynamodb::error::{BoxError, ProvideErrorMetadata};
use dynatwin::{Clock, Moment, Principal, Twin};

use crate::s;

const ALLOW: &str = r#"{"Statement": {"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}}"#;
const PUT: &str = r#"{"Statement": {"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": "*"}}"#;

#[tokio::test]
async fn federated_users_and_context_keys() {
    let own = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*",
        "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "${www.amazon.com:user_id}"}}}}"#;
    let accounts = format!(
        r#"{{"accounts": {{"123456789012": {{"users": {{"ann": {{"policies": [{ALLOW}]}}}}, "roles": {{"Web": {{"policies": [{own}]}}}}}}}}}}"#
    );
    let twin = Twin::builder().access(&accounts).build();
    let tables = twin.as_root("123456789012").account();
    tables.table("Items").hash("PK").create().await.unwrap();
    let elsewhere = twin.as_root("123456789012").region("eu-west-1").account();
    assert_eq!((tables.tables().len(), elsewhere.tables().len()), (1, 0));
    assert_eq!(&*elsewhere.caller().region, "eu-west-1");
    let ann = || twin.as_user("arn:aws:iam::123456789012:user/ann").federated("visitor");
    let web = twin
        .as_role("arn:aws:iam::123456789012:role/Web")
        .context_key("www.amazon.com:user_id", "u1");
    for (principal, key, refusal) in [
        (ann().session_policy(ALLOW), "a", ""),
        (ann().session_policy(PUT).session_policy(ALLOW), "a", ""),
        (ann().session_policy(ALLOW).session_policy(PUT), "a", ""),
        (
            ann().session_policy(PUT),
            "a",
            "because no session policy allows the dynamodb:GetItem action",
        ),
        (
            ann(),
            "a",
            "federated-user/visitor is not authorized to perform: dynamodb:GetItem",
        ),
        (web.clone(), "u1", ""),
        (
            web,
            "u2",
            "because no identity-based policy allows the dynamodb:GetItem action",
        ),
    ] {
        let get = principal.client().get_item().table_name("Items").key("PK", s(key));
        match get.send().await {
            Ok(_) => assert_eq!(refusal, "", "{key}"),
            Err(error) => {
                let text = error.message().unwrap_or_default();
                assert!(!refusal.is_empty() && text.contains(refusal), "{key}: {text}");
            }
        }
    }
}

/// A policy that allows to list tables and streams under a condition.
fn listing_with(condition: &str) -> String {
    format!(
        r#"{{"Statement": {{"Effect": "Allow", "Action": ["dynamodb:ListTables", "dynamodb:ListStreams"], "Resource": "*", "Condition": {condition}}}}}"#
    )
}

/// Tags and context keys of several calls are all set; of one that is set again, the last value counts.
#[tokio::test]
async fn tags_and_context_keys_are_added_to_those_before() {
    let tagged = listing_with(
        r#"{"StringEquals": {"aws:PrincipalTag/tenant": "blue", "aws:PrincipalTag/team": "a", "aws:PrincipalTag/stage": "test"}}"#,
    );
    let keyed = listing_with(
        r#"{"StringEquals": {"www.amazon.com:user_id": "u1", "aws:MultiFactorAuthPresent": "true", "aws:SourceIdentity": "ann"}}"#,
    );
    let accounts = format!(
        r#"{{"accounts": {{"123456789012": {{"roles": {{
            "Tagged": {{"tags": {{"team": "b", "stage": "test"}}, "policies": [{tagged}]}}, "Keyed": {{"policies": [{keyed}]}}}}}}}}}}"#
    );
    let twin = Twin::builder().access(&accounts).build();
    let tagged = || twin.as_role("arn:aws:iam::123456789012:role/Tagged");
    let keyed = || twin.as_role("arn:aws:iam::123456789012:role/Keyed");
    let [user, mfa, source] = [
        ("www.amazon.com:user_id", "u1"),
        ("aws:MultiFactorAuthPresent", "true"),
        ("aws:SourceIdentity", "ann"),
    ];
    let with_keys = |keys: &[(&str, &str)]| {
        let set = |principal: Principal, (name, value): &(&str, &str)| principal.context_key(name, value);
        keys.iter().fold(keyed(), set)
    };
    let [tenant, team, stage] = [("tenant", "blue"), ("team", "a"), ("stage", "test")];
    for (name, principal, allowed) in [
        ("tags of one call", tagged().tags([tenant, team]), true),
        ("tags of two calls", tagged().tags([tenant]).tags([team]), true),
        ("in another order", tagged().tags([team]).tags([tenant]), true),
        (
            "tags of three calls",
            tagged().tags([stage]).tags([tenant]).tags([team]),
            true,
        ),
        ("no tags in between", tagged().tags([tenant, team]).tags([]), true),
        ("the role's own tag", tagged().tags([tenant]), false),
        ("no tenant", tagged().tags([team]), false),
        (
            "another tenant",
            tagged().tags([tenant, team]).tags([("tenant", "red")]),
            false,
        ),
        (
            "the tenant again",
            tagged().tags([("tenant", "red"), team]).tags([tenant]),
            true,
        ),
        ("keys", with_keys(&[user, mfa, source]), true),
        ("keys in another order", with_keys(&[source, mfa, user]), true),
        ("no user", with_keys(&[mfa, source]), false),
        ("no second factor", with_keys(&[user, source]), false),
        ("no source", with_keys(&[user, mfa]), false),
        (
            "another user",
            with_keys(&[user, mfa, source, ("www.amazon.com:user_id", "u2")]),
            false,
        ),
        (
            "the user again",
            with_keys(&[("www.amazon.com:user_id", "u2"), mfa, source, user]),
            true,
        ),
    ] {
        let listed = principal.client().list_tables().send().await;
        assert_eq!(listed.is_ok(), allowed, "{name}: {listed:?}");
    }
}

/// The name of a session is part of its ARN and of `aws:userid`. Of one that is set again, the last value counts.
#[tokio::test]
async fn sessions_have_their_names() {
    let listing = listing_with(r#"{"StringLike": {"aws:userid": "*:ci"}}"#);
    let accounts = format!(
        r#"{{"accounts": {{"123456789012": {{
            "users": {{"ann": {{"policies": [{listing}]}}}}, "roles": {{"Reader": {{"policies": [{listing}]}}}}}}}}}}"#
    );
    let twin = Twin::builder().access(&accounts).build();
    let role = || twin.as_role("arn:aws:iam::123456789012:role/Reader");
    let federated = |name: &str| {
        let ann = twin.as_user("arn:aws:iam::123456789012:user/ann");
        ann.federated(name).session_policy(&listing)
    };
    for (principal, name, allowed) in [
        (role(), "assumed-role/Reader/session", false),
        (role().session_name("ci"), "assumed-role/Reader/ci", true),
        (role().session_name("build-7"), "assumed-role/Reader/build-7", false),
        (
            role().session_name("cd").session_name("ci"),
            "assumed-role/Reader/ci",
            true,
        ),
        (
            role().session_name("ci").session_name("cd"),
            "assumed-role/Reader/cd",
            false,
        ),
        (
            role().session_name("ci").region("eu-west-1").tags([("team", "a")]),
            "assumed-role/Reader/ci",
            true,
        ),
        (federated("visitor"), "federated-user/visitor", false),
        (federated("ci"), "federated-user/ci", true),
        (federated("visitor").session_name("ci"), "federated-user/ci", true),
    ] {
        let client = principal.client();
        let listed = client.list_tables().send().await;
        assert_eq!(listed.is_ok(), allowed, "{name}: {listed:?}");
        let refused = client.describe_limits().send().await.unwrap_err();
        assert_eq!(refused.code(), Some("AccessDeniedException"), "{name}");
        let text = refused.message().unwrap_or_default();
        let subject = format!("User: arn:aws:sts::123456789012:{name} is not authorized to perform: ");
        assert!(text.starts_with(&subject), "{text}");
    }
}

/// Of a property of the requests that is set again, the last value counts.
#[tokio::test]
async fn properties_of_requests_can_be_replaced() {
    let listing_with = |condition: &str| format!(r#"{{"policies": [{}]}}"#, listing_with(condition));
    let outside = r#"{"IpAddress": {"aws:SourceIp": "192.0.2.0/24"}, "Bool": {"aws:SecureTransport": "true"}}"#;
    let inside = r#"{"StringEquals": {"aws:SourceVpce": "vpce-1"}}"#;
    let [outside, inside] = [outside, inside].map(listing_with);
    let accounts =
        format!(r#"{{"accounts": {{"123456789012": {{"roles": {{"Outside": {outside}, "Inside": {inside}}}}}}}}}"#);
    let twin = Twin::builder().access(&accounts).build();
    let role = |name: &str| twin.as_role(&format!("arn:aws:iam::123456789012:role/{name}"));
    let outside = || role("Outside").source_ip("192.0.2.1").secure_transport(true);
    let inside = || role("Inside").vpc_endpoint("vpce-1");
    for (name, principal, allowed) in [
        ("the address", outside(), true),
        ("another address", outside().source_ip("198.51.100.1"), false),
        (
            "the address again",
            outside().source_ip("198.51.100.1").source_ip("192.0.2.1"),
            true,
        ),
        ("another transport", outside().secure_transport(false), false),
        ("the endpoint", inside(), true),
        ("another endpoint", inside().vpc_endpoint("vpce-2"), false),
    ] {
        let listed = principal.client().list_tables().send().await;
        assert_eq!(listed.is_ok(), allowed, "{name}: {listed:?}");
        let streams = principal.streams().list_streams().send().await;
        assert_eq!(streams.is_ok(), allowed, "{name}, streams: {streams:?}");
        // The same with timeouts of the client.
        let timeouts = TimeoutConfig::builder()
            .read_timeout(Duration::from_secs(5))
            .connect_timeout(Duration::from_secs(5));
        let config = principal.config().timeout_config(timeouts.build()).build();
        let listed = aws_sdk_dynamodb::Client::from_conf(config).list_tables().send().await;
        assert_eq!(listed.is_ok(), allowed, "{name}, with timeouts: {listed:?}");
    }
}

/// Adds a header with two values to each request before it is signed.
#[derive(Debug)]
struct Twice;

impl Intercept for Twice {
    fn name(&self) -> &'static str {
        "Twice"
    }

    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &aws_sdk_dynamodb::config::RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        for value in ["one", "two"] {
            context.request_mut().headers_mut().append("x-note", value);
        }
        Ok(())
    }
}

/// A signature covers all values of a header.
#[tokio::test]
async fn a_header_with_two_values_is_signed_with_both() {
    let twin = Twin::builder().access(r#"{"accounts": {"123456789012": {}}}"#).build();
    let config = twin.as_root("123456789012").config().interceptor(Twice);
    let listed = aws_sdk_dynamodb::Client::from_conf(config.build()).list_tables().send();
    listed.await.unwrap();
}

/// The sessions of a configuration begin at the twin's time, whether they have a duration or not, and the clock ends them.
#[tokio::test]
async fn configured_sessions_begin_at_the_time_of_the_twin() {
    for start in [Moment::START, Moment::START.plus(Duration::from_hours(24 * 1000))] {
        for (lasting, seconds, is_set) in [
            ("", 3600, false),
            ("", 3600, true),
            (r#", "durationSeconds": 900"#, 900, false),
            (r#", "durationSeconds": 900"#, 900, true),
        ] {
            let session =
                format!(r#"{{"accessKeyId": "ASIA1", "secretAccessKey": "secret", "sessionToken": "token"{lasting}}}"#);
            let allow = r#"{"Statement": {"Effect": "Allow", "Action": "dynamodb:ListTables", "Resource": "*"}}"#;
            let accounts = format!(
                r#"{{"accounts": {{"123456789012": {{"users": {{"ann": {{"policies": [{allow}], "sessions": [{session}]}}}}}}}}}}"#
            );
            let twin = Twin::builder().clock(Clock::settable(start));
            let twin = if is_set {
                let twin = twin.build();
                twin.clock().advance(Duration::from_hours(24));
                twin.set_access(&accounts).unwrap();
                twin
            } else {
                twin.access(&accounts).build()
            };
            let begin = twin.clock().now();
            let credentials = Credentials::new("ASIA1", "secret", Some("token".into()), None, "test");
            let config = twin.config().credentials_provider(credentials).build();
            let client = aws_sdk_dynamodb::Client::from_conf(config);
            for (after, is_valid) in [(0, true), (seconds - 1, true), (seconds + 1, false), (172_800, false)] {
                let passed = twin.clock().now().since(begin);
                twin.clock().advance(Duration::from_secs(after).saturating_sub(passed));
                let listed = client.list_tables().send().await;
                assert_eq!(listed.is_ok(), is_valid, "{begin}{lasting}, {after} s: {listed:?}");
            }
        }
    }
}

/// The clock ends a principal's session after its duration, an hour unless another is set.
#[tokio::test]
async fn sessions_of_principals_end_after_their_duration() {
    let allow = r#"{"Statement": {"Effect": "Allow", "Action": "dynamodb:ListTables", "Resource": "*"}}"#;
    let accounts = format!(r#"{{"accounts": {{"123456789012": {{"roles": {{"Web": {{"policies": [{allow}]}}}}}}}}}}"#);
    for (duration, seconds) in [
        (None, 3600),
        (Some(Duration::from_mins(15)), 900),
        (Some(Duration::from_hours(2)), 7200),
    ] {
        let twin = Twin::builder().seed(7).access(&accounts).build();
        let mut role = twin.as_role("arn:aws:iam::123456789012:role/Web");
        if let Some(duration) = duration {
            role = role.duration(duration);
        }
        let client = role.client();
        twin.clock().advance(Duration::from_secs(seconds - 1));
        client.list_tables().send().await.unwrap();
        twin.clock().advance(Duration::from_secs(2));
        let error = client.list_tables().send().await.unwrap_err();
        assert_eq!(error.code(), Some("ExpiredTokenException"), "{duration:?}");
    }
}

/// The account of a principal has the tables and items of the account that its ARN names.
#[tokio::test]
async fn principals_have_the_tables_of_their_account() {
    let accounts = ["123456789012", "210987654321"].map(|id| {
        let principal = format!(r#"{{"policies": [{ALLOW}]}}"#);
        format!(r#""{id}": {{"users": {{"ann": {principal}}}, "roles": {{"Web": {principal}}}}}"#)
    });
    let twin = Twin::builder()
        .access(&format!(r#"{{"accounts": {{{}}}}}"#, accounts.join(", ")))
        .build();
    for (id, key) in [("123456789012", "a"), ("210987654321", "b")] {
        let root = twin.as_root(id).account();
        root.table("Items").hash("PK").create().await.unwrap();
        let put = root.client().put_item().table_name("Items").item("PK", s(key));
        put.send().await.unwrap();
    }
    for (id, key) in [("123456789012", "a"), ("210987654321", "b")] {
        for principal in [
            twin.as_root(id),
            twin.as_user(&format!("arn:aws:iam::{id}:user/ann")),
            twin.as_role(&format!("arn:aws:iam::{id}:role/Web")),
        ] {
            let account = principal.account();
            assert_eq!(account.tables(), ["Items"], "{principal:?}");
            let items = account.items("Items").unwrap();
            let keys: Vec<_> = items.iter().map(|item| &item["PK"]).collect();
            assert_eq!(keys, [&s(key)], "{principal:?}");
        }
    }
}
