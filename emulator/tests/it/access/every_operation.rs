//! Every operation is authorized, and refused credentials get the service's errors.

use dynatwin_engine::api::OPERATIONS;
use serde_json::{Value, json};

use super::operations::operations;
use super::scene::{DENY, Scene, allow, implicit};
use super::twin::{ACCOUNT, REGION, Twin};

#[test]
fn refused_credentials_get_the_services_errors() {
    let twin = Scene::new(&[allow("*")]).twin();
    let list = json!({});
    for (key, token, kind, text) in [
        (
            "NOBODY",
            None,
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        ),
        (
            "SESSION",
            None,
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        ),
        (
            "SESSION",
            Some("x"),
            "UnrecognizedClientException",
            "The security token included in the request is invalid",
        ),
        (
            "ROOT",
            Some("t"),
            "UnrecognizedClientException",
            "The security token included in the request is invalid",
        ),
    ] {
        let headers: Vec<_> = token.map(|token| ("x-amz-security-token", token)).into_iter().collect();
        let (status, answer) = twin.send(key, "ListTables", &list, &headers);
        assert_eq!((status, answer["message"].as_str()), (400, Some(text)), "{answer}");
        assert_eq!(answer["__type"], format!("com.amazon.coral.service#{kind}"));
    }
    let headers = [("x-amz-security-token", "t")];
    assert_eq!(twin.send("SESSION", "ListTables", &list, &headers).0, 200);
    twin.engine.advance(std::time::Duration::from_hours(1));
    let (status, answer) = twin.send("SESSION", "ListTables", &list, &headers);
    assert_eq!(
        (status, answer.to_string().as_str()),
        (
            400,
            r#"{"__type":"com.amazon.coral.service#ExpiredTokenException","message":"The security token included in the request is expired"}"#
        )
    );
}

#[test]
fn every_operation_is_authorized() {
    let policy = |effect: &str, action: &str| {
        json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "*", "Resource": "*"},
        {"Effect": effect, "Action": action, "Resource": "*"}]})
    };
    let mut wrong = Vec::new();
    // GetRecords needs an iterator, and SearchVectors an index: they have their own tests.
    let all_operations = operations("Tab", &json!({"pk": {"S": "a"}}));
    let mut names: Vec<&str> = all_operations
        .iter()
        .map(|(name, ..)| *name)
        .chain(["GetRecords", "SearchVectors"])
        .collect();
    names.sort_unstable();
    let mut all: Vec<&str> = OPERATIONS.iter().map(|operation| operation.name).collect();
    all.sort_unstable();
    assert_eq!(names, all);
    for (operation, body, action, resource) in all_operations {
        let text = |policy: Value| {
            let twin = Twin::with_user("ann", &json!({}), &policy);
            twin.create_table("Tab", ("pk", ""), None);
            let answer = twin.call("ann", operation, &body).1;
            let refused = answer["Message"].as_str().unwrap_or_default();
            let entry = answer["Responses"][0]["Error"]["Message"].as_str().unwrap_or_default();
            if refused.is_empty() {
                entry.to_owned()
            } else {
                refused.to_owned()
            }
        };
        let region = if resource.starts_with("global-table/") {
            ""
        } else {
            REGION
        };
        let name = format!(
            "is not authorized to perform: dynamodb:{action} on resource: arn:aws:dynamodb:{region}:{ACCOUNT}:{resource}"
        );
        let none = text(json!({"Statement": {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}}));
        let denied = text(policy("Deny", &format!("dynamodb:{action}")));
        let allowed = text(policy("Allow", "*"));
        let fits = none.contains(&name) && none.ends_with(&implicit(action)) && denied.ends_with(DENY);
        if !fits || allowed.contains("not authorized") {
            wrong.push(format!("{operation}: {none} / {denied} / {allowed}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A list of what one table has is about that table, except for backups and streams.
#[test]
fn lists_of_one_table_are_authorized_on_it() {
    let nothing = json!({"Statement": {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}});
    let twin = Twin::with_user("ann", &json!({}), &nothing);
    twin.create_table("Tab", ("pk", ""), None);
    let arn = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab");
    for (operation, body) in [
        ("ListContributorInsights", json!({"TableName": "Tab"})),
        ("ListContributorInsights", json!({"TableName": arn})),
        ("ListExports", json!({"TableArn": arn})),
        ("ListImports", json!({"TableArn": arn})),
    ] {
        let answer = twin.call("ann", operation, &body).1;
        let text = answer["Message"].as_str().unwrap_or_default();
        let needed = format!("is not authorized to perform: dynamodb:{operation} on resource: {arn} because");
        assert!(text.contains(&needed), "{operation} {body}: {answer}");
    }
}

#[test]
fn records_of_a_stream() {
    let twin = Twin::with_user(
        "ann",
        &json!({}),
        &json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "dynamodb:*Stream*", "Resource": "*"}}),
    );
    let body = json!({"TableName": "Tab", "BillingMode": "PAY_PER_REQUEST", "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"},
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    let stream = twin.root("CreateTable", &body)["TableDescription"]["LatestStreamArn"].clone();
    let described = twin.root("DescribeStream", &json!({"StreamArn": stream}));
    twin.check("ann", "DescribeStream", &json!({"StreamArn": stream}), None);
    let shard = &described["StreamDescription"]["Shards"][0]["ShardId"];
    let iterator = json!({"StreamArn": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
    let iterator = twin.root("GetShardIterator", &iterator)["ShardIterator"].clone();
    let records = json!({"ShardIterator": iterator});
    twin.check("ann", "GetRecords", &records, Some(&implicit("GetRecords")));
    twin.root("GetRecords", &records);
}

#[test]
fn tags_in_a_request() {
    let policy = json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "dynamodb:CreateTable", "Resource": "*"},
        {"Effect": "Allow", "Action": ["dynamodb:TagResource", "dynamodb:UntagResource"], "Resource": "*", "Condition": {
            "ForAllValues:StringEquals": {"aws:TagKeys": ["team"]}, "StringEqualsIfExists": {"aws:RequestTag/team": "blue"}}},
        {"Effect": "Allow", "Action": "dynamodb:DescribeTable", "Resource": "*", "Condition": {"StringEquals": {"aws:ResourceTag/team": "blue"}}}]});
    let twin = Twin::with_user("ann", &json!({}), &policy);
    let create = |name: &str, tags: Value| {
        json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST", "Tags": tags,
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]})
    };
    let tag = |key: &str, value: &str| json!([{"Key": key, "Value": value}]);
    let refused = implicit("TagResource");
    twin.check("ann", "CreateTable", &create("Red", tag("team", "red")), Some(&refused));
    twin.check(
        "ann",
        "CreateTable",
        &create("Other", tag("other", "blue")),
        Some(&refused),
    );
    twin.check("ann", "CreateTable", &create("Blue", tag("team", "blue")), None);
    twin.check("ann", "CreateTable", &create("Plain", json!([])), None);
    twin.check("ann", "DescribeTable", &json!({"TableName": "Blue"}), None);
    twin.check(
        "ann",
        "DescribeTable",
        &json!({"TableName": "Plain"}),
        Some(&implicit("DescribeTable")),
    );
    let arn = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Blue");
    twin.check(
        "ann",
        "UntagResource",
        &json!({"ResourceArn": arn, "TagKeys": ["other"]}),
        Some(&implicit("UntagResource")),
    );
    twin.check(
        "ann",
        "UntagResource",
        &json!({"ResourceArn": arn, "TagKeys": ["team"]}),
        None,
    );
}

/// Tags and a policy in a CreateTable need the permissions of the operations that add them later.
#[test]
fn a_table_is_created_with_the_permissions_of_what_it_has() {
    let all = ["CreateTable", "TagResource", "PutResourcePolicy"];
    for (has_tags, has_policy) in [(false, false), (true, false), (false, true), (true, true)] {
        let needed = |action: &str| match action {
            "TagResource" => has_tags,
            "PutResourcePolicy" => has_policy,
            _ => true,
        };
        for missing in [
            None,
            Some("CreateTable"),
            Some("TagResource"),
            Some("PutResourcePolicy"),
        ] {
            let allowed = all.iter().filter(|action| missing != Some(**action));
            let allowed: Vec<_> = allowed.map(|action| format!("dynamodb:{action}")).collect();
            let twin = Twin::with_user(
                "ann",
                &json!({}),
                &json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": allowed, "Resource": "*"}}),
            );
            let mut body = json!({"TableName": "New", "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
            if has_tags {
                body["Tags"] = json!([{"Key": "team", "Value": "blue"}]);
            }
            if has_policy {
                let statement = json!({"Effect": "Allow", "Principal": {"AWS": ACCOUNT}, "Action": "dynamodb:GetItem",
                    "Resource": format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/New")});
                body["ResourcePolicy"] = json!({"Version": "2012-10-17", "Statement": [statement]})
                    .to_string()
                    .into();
            }
            let refused = missing.filter(|action| needed(action)).map(implicit);
            twin.check("ann", "CreateTable", &body, refused.as_deref());
        }
    }
}

/// Adding and deleting a replica need permissions on the table of the other region (docs/behavior: 08 8).
#[test]
fn replicas_need_permissions_in_their_regions() {
    let arn = |region: &str| format!("arn:aws:dynamodb:{region}:{ACCOUNT}:table/Tab");
    let only = |resources: &[String]| json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "dynamodb:*", "Resource": resources}]});
    let update =
        |action: &str, region: &str| json!({"TableName": "Tab", "ReplicaUpdates": [{action: {"RegionName": region}}]});
    let twin = Twin::with_user("ann", &json!({}), &only(&[arn(REGION)]));
    twin.create_table("Tab", ("pk", ""), None);
    twin.check(
        "ann",
        "UpdateTable",
        &update("Create", "eu-west-1"),
        Some(&implicit("CreateTable")),
    );
    twin.root("UpdateTable", &update("Create", "eu-west-1"));
    twin.check(
        "ann",
        "UpdateTable",
        &update("Delete", "eu-west-1"),
        Some(&implicit("DeleteTable")),
    );
    let time_to_live = json!({"TableName": "Tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "t"}});
    twin.check(
        "ann",
        "UpdateTimeToLive",
        &time_to_live,
        Some(&implicit("UpdateTimeToLive")),
    );
    let twin = Twin::with_user("ann", &json!({}), &only(&[arn(REGION), arn("eu-west-1")]));
    twin.create_table("Tab", ("pk", ""), None);
    twin.check("ann", "UpdateTable", &update("Create", "eu-west-1"), None);
    twin.check("ann", "UpdateTimeToLive", &time_to_live, None);
    twin.check("ann", "UpdateTable", &update("Delete", "eu-west-1"), None);
}
