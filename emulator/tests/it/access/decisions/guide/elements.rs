//! Elements of statements, and policy variables.

use serde_json::{Value, json};

use super::super::{ACCOUNT, ROLE, SESSION, TABLE, USER};
use super::{By, FOREIGN_ROLE, YES, allow, check, check_plain, to};

/// "IAM JSON policy elements": Action, NotAction, Resource, NotResource, Principal, NotPrincipal.
#[test]
fn elements() {
    let statement = |members: Value| {
        let mut statement = json!({"Effect": "Allow", "Action": "*", "Resource": "*"});
        for (name, value) in members.as_object().unwrap() {
            let opposite = name.strip_prefix("Not").map_or(format!("Not{name}"), str::to_owned);
            let statement = statement.as_object_mut().unwrap();
            statement.remove(&opposite);
            statement.insert(name.clone(), value.clone());
        }
        json!({"identity": [statement]})
    };
    let denying = |members: Value| {
        let mut policies = statement(members);
        policies["identity"][0]["Effect"] = json!("Deny");
        policies["identity"].as_array_mut().unwrap().push(allow());
        policies
    };
    let index = format!("{TABLE}/index/ByTitle");
    let row = |policies, action, resource, expect| ("", By::User, policies, action, resource, json!({}), expect);
    let (get, no) = ("dynamodb:GetItem", "no Identity");
    check(&[
        row(statement(json!({"Action": "DYNAMODB:getITEM"})), get, TABLE, YES),
        row(statement(json!({"Action": "dynamodb:Get*"})), get, TABLE, YES),
        row(statement(json!({"Action": "dynamodb:*Item"})), get, TABLE, YES),
        row(
            statement(json!({"Action": "dynamodb:*Item"})),
            "dynamodb:Query",
            TABLE,
            no,
        ),
        row(statement(json!({"Action": "dynamodb:???Item"})), get, TABLE, YES),
        row(
            statement(json!({"Action": "dynamodb:???Item"})),
            "dynamodb:UpdateItem",
            TABLE,
            no,
        ),
        row(statement(json!({"Action": ["s3:*", "iam:*"]})), get, TABLE, no),
        row(statement(json!({"NotAction": "dynamodb:DeleteTable"})), get, TABLE, YES),
        row(
            statement(json!({"NotAction": "dynamodb:DeleteTable"})),
            "dynamodb:deletetable",
            TABLE,
            no,
        ),
        row(
            statement(json!({"NotAction": ["iam:*", "dynamodb:Get*"]})),
            get,
            TABLE,
            no,
        ),
        row(statement(json!({"NotAction": "iam:*"})), get, TABLE, YES),
        row(
            denying(json!({"NotAction": ["dynamodb:GetItem", "dynamodb:Query"]})),
            get,
            TABLE,
            YES,
        ),
        row(
            denying(json!({"NotAction": ["dynamodb:GetItem", "dynamodb:Query"]})),
            "dynamodb:Scan",
            TABLE,
            "deny Identity",
        ),
        row(statement(json!({"Resource": TABLE})), get, TABLE, YES),
        row(statement(json!({"Resource": TABLE})), get, &index, no),
        row(
            statement(json!({"Resource": format!("{TABLE}/index/*")})),
            get,
            &index,
            YES,
        ),
        row(statement(json!({"Resource": format!("{TABLE}/*")})), get, TABLE, no),
        row(statement(json!({"Resource": format!("{TABLE}*")})), get, &index, YES),
        row(statement(json!({"Resource": TABLE.to_lowercase()})), get, TABLE, no),
        row(
            statement(json!({"Resource": "arn:aws:dynamodb:*:*:table/Bo*s"})),
            get,
            TABLE,
            YES,
        ),
        row(
            statement(json!({"Resource": "arn:aws:dynamodb:us-*-?:111122223333:*"})),
            get,
            TABLE,
            YES,
        ),
        row(
            statement(json!({"Resource": "arn:aws:dynamodb:eu-*:*:*"})),
            get,
            TABLE,
            no,
        ),
        row(
            statement(json!({"Resource": "arn:*:dynamodb:*:*:table/Books"})),
            get,
            TABLE,
            YES,
        ),
        row(
            statement(json!({"Resource": "arn:aws:dynamodb:us-east-1:444455556666:table/*"})),
            get,
            TABLE,
            no,
        ),
        row(
            statement(json!({"Resource": "arn:aws:dynamodb:us-east-1"})),
            get,
            TABLE,
            YES,
        ),
        row(statement(json!({"Resource": "arn:aws:dynamodb"})), get, TABLE, YES),
        row(statement(json!({"NotResource": TABLE})), get, TABLE, no),
        row(statement(json!({"NotResource": TABLE})), get, &index, YES),
        row(
            statement(json!({"NotResource": [format!("{TABLE}*"), "arn:aws:s3:::*"]})),
            get,
            &index,
            no,
        ),
        row(
            denying(json!({"NotResource": [TABLE, format!("{TABLE}/*")]})),
            get,
            &index,
            YES,
        ),
        row(
            denying(json!({"NotResource": [TABLE, format!("{TABLE}/*")]})),
            get,
            "arn:aws:dynamodb:us-east-1:111122223333:table/Other",
            "deny Identity",
        ),
    ]);
    let excluding = |principals: Value| json!({"identity": [allow()], "resource": [{"Effect": "Deny", "Action": "*", "Resource": "*", "NotPrincipal": {"AWS": principals}}]});
    let root = format!("arn:aws:iam::{ACCOUNT}:root");
    check_plain(&[
        (
            "all but the user and its account",
            By::User,
            excluding(json!([USER, root])),
            YES,
        ),
        (
            "all but another user",
            By::User,
            excluding(json!([USER.replace("ann", "bob"), root])),
            "deny Resource",
        ),
        (
            "all but the session, its role and account",
            By::Session,
            excluding(json!([SESSION, ROLE, root])),
            YES,
        ),
        (
            "all but the role and account, not the session",
            By::Session,
            excluding(json!([ROLE, root])),
            "deny Resource",
        ),
        (
            "other principals by ARN",
            By::User,
            json!({"resource": [to(&format!("arn:aws:iam::{ACCOUNT}:root"))], "identity": [allow()]}),
            YES,
        ),
        (
            "several principals",
            By::User,
            json!({"resource": [{"Effect": "Allow", "Action": "*", "Resource": "*", "Principal": {"AWS": [FOREIGN_ROLE, USER]}}]}),
            YES,
        ),
        (
            "a service principal",
            By::User,
            json!({"resource": [{"Effect": "Allow", "Action": "*", "Resource": "*", "Principal": {"Service": "replication.dynamodb.amazonaws.com"}}]}),
            "no Identity",
        ),
        (
            "principal by wildcard in AWS",
            By::User,
            json!({"resource": [{"Effect": "Allow", "Action": "*", "Resource": "*", "Principal": {"AWS": "*"}, "Condition": {"Null": {"aws:PrincipalArn": "true"}}}]}),
            YES,
        ),
    ]);
}

/// "IAM policy elements: Variables and tags".
#[test]
fn variables() {
    let resource = |pattern: &str| json!({"identity": [{"Effect": "Allow", "Action": "*", "Resource": pattern}]});
    let row = |policies, request, expect| ("", By::User, policies, "dynamodb:GetItem", TABLE, request, expect);
    let condition = |operator: &str, own: &str| json!({"identity": [{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {operator: {"aws:PrincipalTag/team": own}}}]});
    let no = "no Identity";
    let table = "arn:aws:dynamodb:*:*:table/";
    let named = |value: &str| json!({"aws:username": value});
    check(&[
        row(resource(&format!("{table}${{aws:username}}")), named("Books"), YES),
        row(resource(&format!("{table}${{aws:UserName}}")), named("Books"), YES),
        row(resource(&format!("{table}${{aws:username}}")), named("books"), no),
        row(resource(&format!("{table}${{aws:username}}")), json!({}), no),
        row(resource(&format!("{table}${{aws:username, 'Books'}}")), json!({}), YES),
        row(
            resource(&format!("{table}${{aws:username, 'Books'}}")),
            named("Other"),
            no,
        ),
        row(
            resource(&format!("{table}${{aws:PrincipalTag/team}}*")),
            json!({"aws:PrincipalTag/team": "Bo"}),
            YES,
        ),
        row(
            resource(&format!("{table}${{aws:TagKeys}}")),
            json!({"aws:TagKeys": ["Books"]}),
            no,
        ),
        row(resource(&format!("{table}B${{*}}")), json!({}), no),
        row(resource(&format!("{table}Book${{?}}")), json!({}), no),
        row(
            condition("StringEquals", "${aws:username}"),
            json!({"aws:PrincipalTag/team": "x", "aws:username": "x"}),
            YES,
        ),
        row(
            condition("StringEquals", "${aws:username}"),
            json!({"aws:PrincipalTag/team": "x"}),
            no,
        ),
        row(
            condition("StringNotEquals", "${aws:username}"),
            json!({"aws:PrincipalTag/team": "x"}),
            YES,
        ),
        row(
            condition("StringLike", "${aws:username}-*"),
            json!({"aws:PrincipalTag/team": "x-1", "aws:username": "x"}),
            YES,
        ),
        row(
            condition("StringLike", "a${*}"),
            json!({"aws:PrincipalTag/team": "abc"}),
            no,
        ),
        row(
            condition("StringLike", "a${*}"),
            json!({"aws:PrincipalTag/team": "a*"}),
            YES,
        ),
        row(
            condition("StringEquals", "${$}{x}"),
            json!({"aws:PrincipalTag/team": "${x}"}),
            YES,
        ),
    ]);
}
