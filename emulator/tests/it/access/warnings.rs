//! Warnings about a configuration whose policies are valid.

use serde_json::{Value, json};

use super::twin::{ACCOUNT, Twin};

/// The warnings about a configuration, each as its policy, its statement and its code.
fn warnings(configuration: &Value) -> Vec<String> {
    let shown = Twin::new(configuration).control("GET", "access", &Value::Null);
    let warnings = shown["warnings"].as_array().unwrap().iter();
    let short = |warning: &Value| {
        let [policy, code] = ["policy", "code"].map(|member| warning[member].as_str().unwrap());
        format!("{policy} {} {code}", warning["statement"])
    };
    warnings.map(short).collect()
}

/// The codes of the warnings about one statement with conditions.
fn codes(effect: &str, action: &str, condition: &Value) -> Vec<String> {
    let statement = json!({"Effect": effect, "Action": action, "Resource": "*", "Condition": condition});
    let policy = json!({"Version": "2012-10-17", "Statement": statement});
    let found = warnings(&json!({"accounts": {ACCOUNT: {"users": {"ann": {"policies": [policy]}}}}}));
    let code = |warning: String| warning.rsplit(' ').next().unwrap().to_owned();
    found.into_iter().map(code).collect()
}

/// The principal of each gateway endpoint's policy must be everybody, in each of its statements (docs/behavior: 07 7.1).
#[test]
fn every_gateway_endpoint_is_checked() {
    let policy = |principals: &[Value]| {
        let statement =
            |principal: &Value| json!({"Effect": "Allow", "Principal": principal, "Action": "*", "Resource": "*"});
        let statements: Vec<Value> = principals.iter().map(statement).collect();
        json!({"Version": "2012-10-17", "Statement": statements})
    };
    let (everybody, account) = (json!("*"), json!({"AWS": ACCOUNT}));
    let gateway = |principals: &[Value]| json!({"type": "gateway", "policy": policy(principals)});
    let wide = || gateway(std::slice::from_ref(&everybody));
    let narrow = || gateway(std::slice::from_ref(&account));
    let interface = || json!({"type": "interface", "policy": policy(std::slice::from_ref(&account))});
    let bare = || json!({"type": "gateway"});
    for (endpoints, expect) in [
        (vec![narrow()], &["0 1"][..]),
        (vec![narrow(), narrow(), narrow()], &["0 1", "1 1", "2 1"]),
        (vec![wide(), narrow(), wide(), narrow()], &["1 1", "3 1"]),
        (vec![interface(), narrow(), interface(), narrow()], &["1 1", "3 1"]),
        (vec![bare(), narrow(), bare(), narrow()], &["1 1", "3 1"]),
        (
            vec![
                gateway(&[everybody.clone(), account.clone()]),
                gateway(&[account.clone(), account.clone()]),
            ],
            &["0 2", "1 1", "1 2"],
        ),
        (vec![wide(), interface(), bare()], &[]),
    ] {
        let named = endpoints.iter().enumerate();
        let named: serde_json::Map<String, Value> = named
            .map(|(at, endpoint)| (format!("vpce-{at}"), endpoint.clone()))
            .collect();
        let expect: Vec<String> = expect
            .iter()
            .map(|place| {
                let (at, statement) = place.split_once(' ').unwrap();
                format!("vpcEndpoints.vpce-{at}.policy {statement} GatewayEndpointPrincipal")
            })
            .collect();
        assert_eq!(warnings(&json!({"vpcEndpoints": named})), expect, "{endpoints:?}");
    }
}

/// A condition gets its warning wherever it is among the conditions of its statement.
#[test]
fn every_condition_of_a_statement_is_checked() {
    let first = ("Bool", "aws:SecureTransport", "true");
    let last = ("StringNotEquals", "aws:username", "bob");
    for (action, operator, key, code) in [
        (
            "dynamodb:GetItem",
            "StringEquals",
            "dynamodb:LeadingKeys",
            "BareOperatorOnMultivaluedKey",
        ),
        (
            "dynamodb:GetItem",
            "StringEquals",
            "dynamodb:EnclosingOperations",
            "UnknownConditionKey",
        ),
        (
            "dynamodb:GetItem",
            "StringEquals",
            "dynamodb:FullTableScan",
            "KeyNeverPresent",
        ),
        (
            "dynamodb:TagResource",
            "ForAllValues:StringEquals",
            "aws:TagKeys",
            "ForAllValuesOnAbsentKey",
        ),
        (
            "dynamodb:Scan",
            "ForAllValues:StringEquals",
            "dynamodb:LeadingKeys",
            "ScanIgnoresLeadingKeys",
        ),
    ] {
        let trap = (operator, key, "a");
        for conditions in [vec![trap], vec![first, trap], vec![trap, last], vec![first, trap, last]] {
            let blocks: serde_json::Map<String, Value> = conditions
                .iter()
                .map(|(operator, key, value)| ((*operator).to_owned(), json!({*key: value})))
                .collect();
            let condition = Value::Object(blocks);
            assert_eq!(codes("Allow", action, &condition), [code], "{action} {condition}");
        }
        // Two keys of one operator.
        let condition = json!({operator: {"aws:a": "a", key: "a"}});
        let found = codes("Allow", action, &condition);
        assert_eq!(found.last().map(String::as_str), Some(code), "{action} {condition}");
    }
    let condition = json!({"StringEquals": {"dynamodb:A": "a", "dynamodb:B": "b"}, "StringLike": {"dynamodb:C": "c"}});
    let expect = ["UnknownConditionKey"; 3];
    assert_eq!(codes("Allow", "dynamodb:GetItem", &condition), expect);
}

/// A key is DynamoDB's by its prefix: whether requests have another service's key of the same name is not known.
#[test]
fn keys_of_other_services_are_not_taken_for_those_of_dynamodb() {
    let equals = |key: &str| json!({"StringEquals": {key: "true"}});
    let all = |key: &str| json!({"ForAllValues:StringEquals": {key: "a"}});
    let on_absent = &["ForAllValuesOnAbsentKey"][..];
    for (effect, action, condition, expect) in [
        (
            "Deny",
            "dynamodb:GetItem",
            equals("dynamodb:FullTableScan"),
            &["KeyNeverPresent"][..],
        ),
        ("Deny", "dynamodb:GetItem", equals("app:FullTableScan"), &[]),
        (
            "Allow",
            "dynamodb:Scan",
            equals("dynamodb:EnclosingOperation"),
            &["KeyNeverPresent"],
        ),
        ("Allow", "dynamodb:Scan", equals("app:EnclosingOperation"), &[]),
        ("Allow", "dynamodb:GetItem", all("dynamodb:Select"), &[]),
        ("Allow", "dynamodb:GetItem", all("app:Select"), on_absent),
        (
            "Allow",
            "dynamodb:Scan",
            all("dynamodb:LeadingKeys"),
            &["ScanIgnoresLeadingKeys"],
        ),
        ("Allow", "dynamodb:Scan", all("app:LeadingKeys"), on_absent),
        ("Allow", "dynamodb:GetItem", all("app:LeadingKeys"), on_absent),
    ] {
        assert_eq!(
            codes(effect, action, &condition),
            expect,
            "{effect} {action} {condition}"
        );
    }
}
