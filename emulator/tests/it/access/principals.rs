//! Principals of resource policies: those that access control knows (docs/behavior: 07 7.2).

use serde_json::{Value, json};

use super::twin::{ACCOUNT, REGION, Twin};

/// An account with users and roles, and one without.
fn configuration() -> Value {
    let root = |id: &str| json!([{"accessKeyId": id, "secretAccessKey": "s"}]);
    json!({"accounts": {
        ACCOUNT: {
            "accessKeys": root("ROOT"),
            "users": {"ann": {}, "bob": {"path": "/team/"}, "eve": {"path": "/a:b/"}},
            "roles": {"Reader": {}, "App": {"path": "/app/"}, "Job": {"path": "/a:b/"}},
            "groups": {"staff": {"policies": []}}
        },
        "999999999999": {"accessKeys": root("OTHERROOT")}
    }})
}

const INVALID: &str =
    "ValidationException: One or more parameter values were invalid: Invalid principal in policy document.";
const MALFORMED: &str = "ValidationException: Invalid principal in policy document.";

/// A line of the table: a principal, and the refusal of a policy that names it, empty if there is none.
const PRINCIPALS: &[(&str, &str)] = &[
    (r#"{"AWS": "123456789012"}"#, ""),
    (r#"{"AWS": "999999999999"}"#, ""),
    (r#"{"AWS": "222222222222"}"#, INVALID),
    (r#"{"AWS": "arn:aws:iam::999999999999:root"}"#, ""),
    (r#"{"AWS": "arn:aws:iam::222222222222:root"}"#, INVALID),
    (r#"{"AWS": "arn:aws-cn:iam::999999999999:root"}"#, INVALID),
    (r#"{"AWS": "arn:aws:sts::999999999999:root"}"#, MALFORMED),
    (r#"{"AWS": "arn:aws:iam::123456789012:user/ann"}"#, ""),
    (r#"{"AWS": "arn:aws:iam::123456789012:user/team/bob"}"#, ""),
    (r#"{"AWS": "arn:aws:iam::123456789012:user/bob"}"#, INVALID),
    (r#"{"AWS": "arn:aws:iam::999999999999:user/ann"}"#, INVALID),
    // A path may contain colons.
    (r#"{"AWS": "arn:aws:iam::123456789012:user/a:b/eve"}"#, ""),
    (r#"{"AWS": "arn:aws:iam::123456789012:user/a:c/eve"}"#, INVALID),
    (r#"{"AWS": "arn:aws:iam::123456789012:role/a:b/Job"}"#, ""),
    (r#"{"AWS": "arn:aws:sts::123456789012:assumed-role/Job/any"}"#, ""),
    (r#"{"AWS": "arn:aws:iam::123456789012:user/*"}"#, MALFORMED),
    (r#"{"AWS": "arn:aws:iam::123456789012:role/Reader"}"#, ""),
    (r#"{"AWS": "arn:aws:iam::123456789012:role/app/App"}"#, ""),
    (r#"{"AWS": "arn:aws:iam::123456789012:role/App"}"#, INVALID),
    (r#"{"AWS": "arn:aws:iam::123456789012:role/ann"}"#, INVALID),
    (r#"{"AWS": "arn:aws:iam::123456789012:group/staff"}"#, MALFORMED),
    // A role's sessions have its name without the path, and come and go.
    (r#"{"AWS": "arn:aws:sts::123456789012:assumed-role/App/any"}"#, ""),
    (
        r#"{"AWS": "arn:aws:sts::123456789012:assumed-role/app/App/any"}"#,
        INVALID,
    ),
    (r#"{"AWS": "arn:aws:sts::123456789012:assumed-role/ann/any"}"#, INVALID),
    // An account is in one partition of AWS.
    (
        r#"{"AWS": "arn:aws-cn:sts::123456789012:assumed-role/App/any"}"#,
        INVALID,
    ),
    (r#"{"AWS": "arn:aws:sts::123456789012:assumed-role/App"}"#, MALFORMED),
    (r#"{"AWS": "arn:aws:sts::123456789012:federated-user/any"}"#, ""),
    (r#"{"AWS": "arn:aws:sts::222222222222:federated-user/any"}"#, INVALID),
    // Services create their roles.
    (
        r#"{"AWS": "arn:aws:iam::123456789012:role/aws-service-role/replication.dynamodb.amazonaws.com/AWSServiceRoleForDynamoDBReplication"}"#,
        "",
    ),
    (
        r#"{"AWS": "arn:aws:iam::222222222222:role/aws-service-role/replication.dynamodb.amazonaws.com/AWSServiceRoleForDynamoDBReplication"}"#,
        INVALID,
    ),
    (
        r#"{"AWS": "arn:aws:sts::123456789012:assumed-role/AWSServiceRoleForDynamoDBReplication/any"}"#,
        "",
    ),
    (r#"{"AWS": ["123456789012", "222222222222"]}"#, INVALID),
    // Services, identity providers and canonical users are not configured.
    (r#"{"Service": "replication.dynamodb.amazonaws.com"}"#, ""),
    (r#"{"Federated": "cognito-identity.amazonaws.com"}"#, ""),
    (r#"{"CanonicalUser": "79a59df900b949e5"}"#, ""),
    (r#"{"AWS": "222222222222", "Service": "lambda.amazonaws.com"}"#, INVALID),
];

fn policy(effect: &str, element: &str, principal: &str) -> String {
    format!(
        r#"{{"Version": "2012-10-17", "Statement": {{"Effect": "{effect}", "{element}": {principal}, "Action": "dynamodb:GetItem", "Resource": "*"}}}}"#
    )
}

/// The refusal of a request, empty if there is none.
fn refusal(twin: &Twin, operation: &str, request: &Value) -> String {
    let (status, answer) = twin.call("ROOT", operation, request);
    if status == 200 {
        return String::new();
    }
    let kind = answer["__type"].as_str().unwrap_or_default();
    let kind = kind.rsplit('#').next().unwrap_or_default();
    format!("{kind}: {}", answer["message"].as_str().unwrap_or_default())
}

#[test]
fn a_resource_policy_names_principals_that_are_configured() {
    let twin = Twin::new(&configuration());
    twin.create_table("Tab", ("pk", ""), None);
    let arn = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab");
    let put = |policy: &str| {
        refusal(
            &twin,
            "PutResourcePolicy",
            &json!({"ResourceArn": arn, "Policy": policy}),
        )
    };
    for (principal, expect) in PRINCIPALS {
        for (effect, element) in [("Allow", "Principal"), ("Deny", "Principal"), ("Deny", "NotPrincipal")] {
            // A denial for all but one is one for the caller too.
            if element == "NotPrincipal" && expect.is_empty() {
                continue;
            }
            let found = put(&policy(effect, element, principal));
            assert_eq!(found, *expect, "{effect} {element} {principal}");
        }
    }
    assert_eq!(put(&policy("Deny", "Principal", r#""*""#)), "");
}

#[test]
fn the_principals_of_every_statement_are_configured() {
    let twin = Twin::new(&configuration());
    twin.create_table("Tab", ("pk", ""), None);
    let arn = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab");
    let known = [
        "arn:aws:iam::123456789012:user/ann",
        "999999999999",
        "arn:aws:iam::123456789012:role/Reader",
    ];
    let put = |element: &str, principals: &[&str]| {
        let statements = principals.iter().map(|principal| {
            // An Allow with NotPrincipal is invalid.
            let effect = if element == "NotPrincipal" { "Deny" } else { "Allow" };
            json!({"Effect": effect, element: {"AWS": principal}, "Action": "dynamodb:GetItem", "Resource": arn})
        });
        let statements: Vec<Value> = statements.collect();
        let policy = json!({"Version": "2012-10-17", "Statement": statements}).to_string();
        refusal(
            &twin,
            "PutResourcePolicy",
            &json!({"ResourceArn": arn, "Policy": policy}),
        )
    };
    assert_eq!(put("Principal", &known), "");
    for element in ["Principal", "NotPrincipal"] {
        for at in 0..3 {
            let mut principals = known;
            principals[at] = "arn:aws:iam::123456789012:user/nobody";
            assert_eq!(put(element, &principals), INVALID, "{element} {principals:?}");
        }
    }
}

#[test]
fn a_table_is_not_created_with_a_policy_for_unknown_principals() {
    let twin = Twin::new(&configuration());
    let create = |principal: &str| {
        json!({"TableName": "Tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "ResourcePolicy": policy("Allow", "Principal", principal)})
    };
    for (principal, expect) in [
        (r#"{"AWS": "222222222222"}"#, INVALID),
        (r#"{"AWS": "999999999999"}"#, ""),
    ] {
        assert_eq!(refusal(&twin, "CreateTable", &create(principal)), expect, "{principal}");
    }
}

/// Without access control no account is known, and each may exist.
#[test]
fn without_access_control_any_principal_may_exist() {
    let twin = Twin::new(&configuration());
    twin.create_table("Tab", ("pk", ""), None);
    twin.engine.configure_access(None);
    let caller = dynatwin_engine::Caller {
        access_key: ACCOUNT.into(),
        region: REGION.into(),
    };
    for (principal, expect) in PRINCIPALS {
        let request = json!({"ResourceArn": format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab"),
            "Policy": policy("Deny", "Principal", principal)});
        let answer = twin
            .engine
            .dispatch(&caller, "PutResourcePolicy", request.to_string().as_bytes());
        let accepted = *expect != MALFORMED;
        assert_eq!(
            answer.status == 200,
            accepted,
            "{principal}: {}",
            String::from_utf8_lossy(&answer.body)
        );
    }
}
