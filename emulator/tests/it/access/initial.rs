//! Access control after a reset or a restored snapshot.

use crate::common::settings;
use dynatwin_engine::http::HttpRequest;
use dynatwin_engine::iam::{Directory, SigningKey};
use dynatwin_engine::{Engine, Moment};
use serde_json::{Value, json};

use super::twin::{ACCOUNT, Twin};

#[test]
fn a_restored_state_has_the_initial_access_control() {
    let user = |name: &str| json!({"accounts": {ACCOUNT: {"users": {name: {"accessKeys": [{"accessKeyId": name, "secretAccessKey": "s"}]}}}}});
    type Restores = fn(&Engine);
    let ways: [(&str, bool, Restores); 3] = [
        ("restore", true, |engine| engine.restore(&engine.snapshot()).unwrap()),
        ("reset_all", true, |engine| engine.reset_all().unwrap()),
        ("reset", false, |engine| engine.reset().unwrap()),
    ];
    for (what, restores, change) in ways {
        for initial in [None, Some("ann")] {
            let twin = Twin::new(&user("ann"));
            match initial {
                Some(name) => {
                    let directory = Directory::read(&user(name).to_string(), Moment::START);
                    twin.engine.set_initial_access(directory.unwrap());
                }
                None => twin.engine.configure_access(None),
            }
            twin.configure(&user("bob"));
            change(&twin.engine);
            // Nobody has a policy: a key that is known is denied, and one that is unknown is refused for that reason.
            let known = |key: &str| {
                let (_, answer) = twin.call(key, "ListTables", &json!({}));
                answer["__type"]
                    .as_str()
                    .unwrap_or("allowed")
                    .rsplit('#')
                    .next()
                    .unwrap()
                    .to_owned()
            };
            let (denied, unknown) = ("AccessDeniedException", "UnrecognizedClientException");
            let expect = match (restores, initial) {
                (false, _) => [unknown, denied],
                (true, Some(_)) => [denied, unknown],
                (true, None) => ["allowed", "allowed"],
            };
            assert_eq!(["ann", "bob"].map(known), expect, "{what}, {initial:?}");
        }
    }
}

/// A request that is signed wrongly is refused for that, unless its body is not valid JSON.
#[test]
fn invalid_json_is_reported_before_credentials() {
    let configured = Twin::new(&json!({"accounts": {ACCOUNT: {
        "accessKeys": [{"accessKeyId": "ROOT", "secretAccessKey": "s"}]}}}))
    .engine;
    let key = SigningKey {
        secret: "s".into(),
        session_token: None,
        expires: None,
    };
    let verifying = Engine::new(settings(7)).verifying_signatures([("ROOT".to_owned(), key)]);
    for engine in [configured, verifying] {
        for (key, body, expect) in [
            ("ROOT", "", "InvalidSignatureException"),
            ("ROOT", "{}", "InvalidSignatureException"),
            ("ROOT", "{", "SerializationException"),
            ("NOBODY", "", "UnrecognizedClientException"),
            ("NOBODY", "{}", "UnrecognizedClientException"),
            ("NOBODY", "[1,]", "SerializationException"),
        ] {
            let authorization = format!(
                "AWS4-HMAC-SHA256 Credential={key}/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host;x-amz-date, Signature=00"
            );
            let headers = [
                ("host", "localhost"),
                ("content-type", "application/x-amz-json-1.0"),
                ("x-amz-target", "DynamoDB_20120810.ListTables"),
                ("x-amz-date", "20260101T000000Z"),
                ("authorization", authorization.as_str()),
            ];
            let answer = engine.handle(&HttpRequest {
                method: "POST",
                target: "/",
                headers: &headers,
                body: body.as_bytes(),
            });
            let answer: Value = serde_json::from_slice(&answer.body).unwrap();
            assert_eq!(
                answer["__type"],
                format!("com.amazon.coral.service#{expect}"),
                "{key} {body}"
            );
        }
    }
}
