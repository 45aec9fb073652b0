//! Policies of endpoints and of tables.

use serde_json::{Value, json};

use super::{NO, OTHER, World, YES, allow, arn, deny, document, key, no, with};
use crate::access::twin::ACCOUNT;

/// Policies of gateway endpoints, which name everybody and are narrowed by conditions.
#[test]
fn gateway_endpoints() {
    let everything = document(json!([allow(&["*"], json!("*"), Value::Null)]));
    let statement = |statement: Value| json!({"Version": "2012-10-17", "Statement": statement});
    let readonly = statement(json!({"Sid": "Read-only-access", "Principal": "*", "Effect": "Allow",
        "Action": ["dynamodb:DescribeTable", "dynamodb:ListTables", "dynamodb:Scan"], "Resource": "*"}));
    let table = statement(
        json!({"Principal": "*", "Effect": "Allow", "Action": ["dynamodb:Scan", "dynamodb:DeleteItem"], "Resource": arn("table/Books")}),
    );
    let role = statement(
        json!({"Principal": "*", "Effect": "Allow", "Action": "*", "Resource": "*",
        "Condition": {"ArnEquals": {"aws:PrincipalArn": format!("arn:aws:iam::{ACCOUNT}:role/GameRole")}}}),
    );
    let organization = statement(
        json!({"Principal": {"AWS": "*"}, "Effect": "Allow", "Action": "*", "Resource": "*",
        "Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-1", "aws:ResourceOrgID": "${aws:PrincipalOrgID}"}}}),
    );
    let closed = "no VPC endpoint policy";
    let member = json!({"organization": {"id": "o-1"}});
    for (policy, account, caller, operation, table_name, expect) in [
        (&readonly, no(), "ANN", "Scan", "Books", YES),
        (&readonly, no(), "ANN", "DescribeTable", "Books", YES),
        (&readonly, no(), "ANN", "DeleteTable", "Books", closed),
        (&table, no(), "ANN", "Scan", "Books", YES),
        (&table, no(), "ANN", "Scan", "GameScores", closed),
        (&table, no(), "ROOT", "Scan", "GameScores", closed),
        (&role, no(), "PLAYER", "Scan", "Books", YES),
        (&role, no(), "ANN", "Scan", "Books", closed),
        (&organization, member, "ANN", "Scan", "Books", YES),
        (&organization, no(), "ANN", "Scan", "Books", closed),
    ] {
        let endpoints = json!({"vpcEndpoints": {"vpce-1": {"type": "gateway", "policy": policy}}});
        let mut world = World::of(&everything, &no(), &account, &endpoints);
        world.headers = vec![("x-dynatwin-vpc-endpoint", "vpce-1")];
        let found = world.outcome(caller, operation, &json!({"TableName": table_name}));
        assert_eq!(found, expect, "{caller} {operation} {table_name} {policy:#}");
    }
}

/// Resource-based policies of a table, within its account and from another one.
#[test]
fn resource_based_policies() {
    let none = document(json!([allow(&["ListTables"], json!("*"), Value::Null)]));
    let (table, indexes) = (arn("table/Books"), arn("table/Books/index/*"));
    let role = format!("arn:aws:iam::{ACCOUNT}:role/GameRole");
    let session = format!("arn:aws:sts::{ACCOUNT}:assumed-role/GameRole/player");
    let user = format!("arn:aws:iam::{ACCOUNT}:user/ann");
    let stranger = format!("arn:aws:iam::{OTHER}:user/eve");
    let scan = || json!({"TableName": arn("table/Books")});
    let get = |attributes: &str| json!({"TableName": arn("table/Books"), "Key": key("u1"), "ProjectionExpression": attributes});
    let of = |principal: &str, resources: Value, condition: Value| {
        let mut statement = allow(&["Scan", "Query", "GetItem"], resources, condition);
        statement["Principal"] = json!({"AWS": principal});
        statement
    };
    let deny_to_all = |condition: Value| {
        let mut statement = deny(&["Scan"], json!(table), condition);
        statement["Principal"] = json!("*");
        statement
    };
    let both = || json!([table, indexes]);
    let index = || with(scan(), json!({"IndexName": "GameTitleIndex"}));
    let few = json!({"ForAllValues:StringEquals": {"dynamodb:Attributes": ["UserId", "GameTitle", "Wins"]}, "StringEquals": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}});
    let elsewhere = json!({"StringNotEquals": {"aws:SourceVpce": "vpce-1"}});
    let outside = json!({"NotIpAddress": {"aws:SourceIp": "192.0.2.0/24"}, "Null": {"aws:SourceVpce": "true"}});
    let resource = "resource-based policy";
    let endpoint = vec![("x-dynatwin-vpc-endpoint", "vpce-1")];
    let eve = "no resource-based policy";
    for (statements, headers, caller, operation, body, expect) in [
        (
            json!([of(&user, both(), Value::Null)]),
            vec![],
            "ANN",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([of(&user, both(), Value::Null)]),
            vec![],
            "ANN",
            "Scan",
            index(),
            YES,
        ),
        (
            json!([of(&user, json!(table), Value::Null)]),
            vec![],
            "ANN",
            "Scan",
            index(),
            NO,
        ),
        (
            json!([of(&user, both(), Value::Null)]),
            vec![],
            "PLAYER",
            "Scan",
            scan(),
            NO,
        ),
        (
            json!([of(&role, both(), Value::Null)]),
            vec![],
            "PLAYER",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([of(&session, both(), Value::Null)]),
            vec![],
            "PLAYER",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([of(ACCOUNT, both(), Value::Null)]),
            vec![],
            "ANN",
            "Scan",
            scan(),
            NO,
        ),
        (
            json!([of(&user, both(), few.clone())]),
            vec![],
            "ANN",
            "GetItem",
            get("Wins"),
            YES,
        ),
        (
            json!([of(&user, both(), few.clone())]),
            vec![],
            "ANN",
            "GetItem",
            get("Losses"),
            NO,
        ),
        (json!([of(&user, both(), few)]), vec![], "ANN", "Scan", scan(), NO),
        (
            json!([of(&user, both(), Value::Null), deny_to_all(elsewhere.clone())]),
            vec![],
            "ANN",
            "Scan",
            scan(),
            resource,
        ),
        (
            json!([of(&user, both(), Value::Null), deny_to_all(elsewhere.clone())]),
            endpoint.clone(),
            "ANN",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([deny_to_all(elsewhere)]),
            vec![],
            "ROOT",
            "Scan",
            scan(),
            resource,
        ),
        (
            json!([of(&user, both(), Value::Null), deny_to_all(outside.clone())]),
            endpoint,
            "ANN",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([of(&user, both(), Value::Null), deny_to_all(outside.clone())]),
            vec![("x-dynatwin-source-ip", "192.0.2.9")],
            "ANN",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([of(&user, both(), Value::Null), deny_to_all(outside)]),
            vec![("x-dynatwin-source-ip", "198.51.100.9")],
            "ANN",
            "Scan",
            scan(),
            resource,
        ),
        // Another account's user needs both its own policy and the table's.
        (
            json!([of(&stranger, both(), Value::Null)]),
            vec![],
            "EVE",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([of(OTHER, both(), Value::Null)]),
            vec![],
            "EVE",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([of(&stranger, json!(table), Value::Null)]),
            vec![],
            "EVE",
            "Scan",
            index(),
            eve,
        ),
        (
            json!([of(&user, both(), Value::Null)]),
            vec![],
            "EVE",
            "Scan",
            scan(),
            eve,
        ),
        (
            json!([of(OTHER, both(), Value::Null)]),
            vec![],
            "MALLORY",
            "Scan",
            scan(),
            NO,
        ),
        (
            json!([of(OTHER, both(), Value::Null)]),
            vec![],
            "OTHERROOT",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([of(&stranger, both(), Value::Null)]),
            vec![],
            "EVE",
            "DescribeTimeToLive",
            scan(),
            eve,
        ),
        (
            json!([of(
                OTHER,
                both(),
                json!({"StringEquals": {"aws:PrincipalTag/team": "red"}})
            )]),
            vec![],
            "EVE",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([of(
                OTHER,
                both(),
                json!({"StringEquals": {"aws:PrincipalTag/team": "blue"}})
            )]),
            vec![],
            "EVE",
            "Scan",
            scan(),
            eve,
        ),
    ] {
        let full = document(json!([allow(&["*"], json!("*"), Value::Null)]));
        let keys = |id: &str| json!([{"accessKeyId": id, "secretAccessKey": "s"}]);
        let rest = json!({"vpcEndpoints": {"vpce-1": {}}, "accounts": {OTHER: {"accessKeys": keys("OTHERROOT"),
            "users": {"eve": {"tags": {"team": "red"}, "policies": [full], "accessKeys": keys("EVE")}, "mallory": {"accessKeys": keys("MALLORY")}}}}});
        let mut world = World::of(&none, &no(), &no(), &rest);
        let policy = json!({"Version": "2012-10-17", "Statement": statements});
        world.twin.root(
            "PutResourcePolicy",
            &json!({"ResourceArn": table, "Policy": policy.to_string(), "ConfirmRemoveSelfResourceAccess": true}),
        );
        world.headers = headers;
        let found = world.outcome(caller, operation, &body);
        assert_eq!(
            found, expect,
            "{caller} {operation} {body} {:?} {policy:#}",
            world.headers
        );
    }
}
