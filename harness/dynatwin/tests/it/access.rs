//! Principals of a twin with access control.

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use dynatwin::Twin;

use crate::s;

const ALLOW: &str = r#"{"Statement": {"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}}"#;

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
