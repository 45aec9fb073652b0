//! Requests for tables and streams of another account.

use serde_json::json;

use super::scene::{OTHER, ROLE, SESSION, Scene, allow, statement, to};
use super::twin::{ACCOUNT, REGION};

#[test]
fn requests_to_tables_of_another_account() {
    let table = format!("arn:aws:dynamodb:{REGION}:{OTHER}:table/Tab");
    let grant = |principal: &str| Some(("OTHERROOT", statement("Allow", "dynamodb:GetItem", to(principal))));
    let resource = "because no resource-based policy allows the dynamodb:GetItem action";
    Scene::new(&[allow("*")]).check(&table, None, &[], resource);
    Scene::new(&[allow("*")]).check(&table, grant(ACCOUNT), &[], "");
    Scene::new(&[allow("*")]).check(&table, grant(ROLE), &[], "");
    Scene::new(&[]).check(
        &table,
        grant(SESSION),
        &[],
        "because no identity-based policy allows the dynamodb:GetItem action",
    );
    let missing = table.replace("table/Tab", "table/Nowhere");
    Scene::new(&[allow("*")]).check(&missing, None, &[], resource);
    let control = statement("Deny", "dynamodb:GetItem", json!({"Principal": "*"}));
    let mut scene = Scene::new(&[allow("*")]);
    scene.account(OTHER, "resourceControlPolicies", json!([control]));
    scene.check(
        &table,
        grant(ROLE),
        &[],
        "with an explicit deny in a resource control policy",
    );
}

#[test]
fn items_of_another_account_are_written_there() {
    let twin = Scene::new(&[allow("*")]).twin();
    let arn = format!("arn:aws:dynamodb:{REGION}:{OTHER}:table/Tab");
    let policy = statement("Allow", "dynamodb:*", to(ACCOUNT));
    let (status, answer) = twin.call(
        "OTHERROOT",
        "PutResourcePolicy",
        &json!({"ResourceArn": arn, "Policy": policy.to_string()}),
    );
    assert_eq!(status, 200, "{answer}");
    let put = json!({"TableName": arn, "Item": {"pk": {"S": "shared"}}});
    assert_eq!(twin.call("ROOT", "PutItem", &put).0, 200);
    assert_eq!(
        twin.call("OTHERROOT", "Scan", &json!({"TableName": "Tab"})).1["Count"],
        1
    );
    assert_eq!(twin.call("ROOT", "Scan", &json!({"TableName": "Tab"})).1["Count"], 0);
    let described = twin.call("ROOT", "DescribeTable", &json!({"TableName": arn})).1;
    assert_eq!(described["Table"]["TableArn"], arn.as_str());
    // Statements can only name tables of their own account.
    let statement = json!({"Statement": format!("SELECT * FROM \"{arn}\"")});
    assert_eq!(twin.call("ROOT", "ExecuteStatement", &statement).0, 400);
}

#[test]
fn streams_and_tags_of_another_account() {
    let twin = Scene::new(&[allow("*")]).twin();
    let stream =
        json!({"TableName": "Tab", "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}});
    let stream = twin.call("OTHERROOT", "UpdateTable", &stream).1["TableDescription"]["LatestStreamArn"].clone();
    let table = json!(format!("arn:aws:dynamodb:{REGION}:{OTHER}:table/Tab"));
    let shards = twin
        .call("OTHERROOT", "DescribeStream", &json!({"StreamArn": stream}))
        .1;
    let shard = &shards["StreamDescription"]["Shards"][0]["ShardId"];
    let start = json!({"StreamArn": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
    let item = json!({"TableName": "Tab", "Item": {"pk": {"S": "a"}}});
    assert_eq!(twin.call("OTHERROOT", "PutItem", &item).0, 200);
    let iterator = twin.call("OTHERROOT", "GetShardIterator", &start).1["ShardIterator"].clone();
    let calls = [
        ("DescribeStream", json!({"StreamArn": stream}), &stream),
        ("GetShardIterator", start, &stream),
        ("GetRecords", json!({"ShardIterator": iterator}), &stream),
        (
            "TagResource",
            json!({"ResourceArn": table, "Tags": [{"Key": "a", "Value": "b"}]}),
            &table,
        ),
        ("ListTagsOfResource", json!({"ResourceArn": table}), &table),
        ("UntagResource", json!({"ResourceArn": table, "TagKeys": ["a"]}), &table),
        (
            "TagResource",
            json!({"ResourceArn": stream, "Tags": [{"Key": "c", "Value": "d"}]}),
            &stream,
        ),
        ("ListTagsOfResource", json!({"ResourceArn": stream}), &stream),
    ];
    for (operation, body, _) in &calls {
        let refusal = format!("because no resource-based policy allows the dynamodb:{operation} action");
        twin.check("ROOT", operation, body, Some(&refusal));
    }
    for resource in [&stream, &table] {
        let policy = statement(
            "Allow",
            "dynamodb:*",
            json!({"Principal": {"AWS": ACCOUNT}, "Resource": resource}),
        );
        let put = json!({"ResourceArn": resource, "Policy": policy.to_string()});
        let (status, answer) = twin.call("OTHERROOT", "PutResourcePolicy", &put);
        assert_eq!(status, 200, "{answer}");
    }
    let mut tags = Vec::new();
    for (operation, body, _) in &calls {
        twin.check("ROOT", operation, body, None);
        if *operation == "GetRecords" {
            let records = twin.call("ROOT", operation, body).1;
            assert_eq!(records["Records"].as_array().unwrap().len(), 1, "{records}");
        }
        if *operation == "ListTagsOfResource" {
            tags.push(twin.call("ROOT", operation, body).1["Tags"][0]["Key"].clone());
        }
    }
    assert_eq!(tags, ["a", "c"]);
    // A stream has a policy of its own: that of its table does not cover it.
    let removed = twin.call("OTHERROOT", "DeleteResourcePolicy", &json!({"ResourceArn": stream}));
    assert_eq!(removed.0, 200, "{}", removed.1);
    let refusal = "because no resource-based policy allows the dynamodb:DescribeStream action";
    twin.check("ROOT", "DescribeStream", &json!({"StreamArn": stream}), Some(refusal));
}

/// `aws:ResourceAccount` is the account of the table, in policies of either account.
#[test]
fn the_account_of_a_resource_is_a_condition_key() {
    let of = |account: &str| json!({"Condition": {"StringEquals": {"aws:ResourceAccount": account}}});
    let own = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab");
    let foreign = format!("arn:aws:dynamodb:{REGION}:{OTHER}:table/Tab");
    let identity = "because no identity-based policy allows the dynamodb:GetItem action";
    let resource = "because no resource-based policy allows the dynamodb:GetItem action";
    let grant = || Some(("OTHERROOT", statement("Allow", "dynamodb:GetItem", to(ROLE))));
    for (table, account, expect) in [
        ("Tab", ACCOUNT, ""),
        ("Tab", OTHER, identity),
        (own.as_str(), ACCOUNT, ""),
        (own.as_str(), OTHER, identity),
        (foreign.as_str(), OTHER, ""),
        (foreign.as_str(), ACCOUNT, identity),
    ] {
        let policy = if table == foreign { grant() } else { None };
        Scene::new(&[statement("Allow", "*", of(account))]).check(table, policy, &[], expect);
    }
    for (account, expect) in [(OTHER, ""), (ACCOUNT, resource)] {
        let mut condition = to(ROLE);
        condition["Condition"] = of(account)["Condition"].clone();
        let policy = statement("Allow", "dynamodb:GetItem", condition);
        Scene::new(&[allow("*")]).check(&foreign, Some(("OTHERROOT", policy)), &[], expect);
    }
}

/// Service control policies are those of the caller's account, resource control policies those of the table's, and each
/// account is in an organization of its own.
#[test]
fn each_account_has_its_own_controls() {
    let table = format!("arn:aws:dynamodb:{REGION}:{OTHER}:table/Tab");
    let grant = || Some(("OTHERROOT", statement("Allow", "dynamodb:GetItem", to(ROLE))));
    let nothing = || json!([[allow("dynamodb:Create*"), allow("dynamodb:Put*")]]);
    let denied = || json!([statement("Deny", "dynamodb:GetItem", json!({"Principal": "*"}))]);
    let service = "because no service control policy allows the dynamodb:GetItem action";
    let resource = "with an explicit deny in a resource control policy";
    for (account, member, policies, own, foreign) in [
        (ACCOUNT, "serviceControlPolicies", nothing(), service, service),
        (OTHER, "serviceControlPolicies", nothing(), "", ""),
        (ACCOUNT, "resourceControlPolicies", denied(), resource, ""),
        (OTHER, "resourceControlPolicies", denied(), "", resource),
    ] {
        let mut scene = Scene::new(&[allow("*")]);
        scene.account(account, member, policies);
        scene.check("Tab", None, &[], own);
        scene.check(&table, grant(), &[], foreign);
    }
    let identity = "because no identity-based policy allows the dynamodb:GetItem action";
    for (key, value, own, foreign) in [
        ("aws:ResourceOrgID", "o-own", "", identity),
        ("aws:ResourceOrgID", "o-other", identity, ""),
        ("aws:PrincipalOrgID", "o-own", "", ""),
        ("aws:PrincipalOrgID", "o-other", identity, identity),
    ] {
        let condition = json!({"Condition": {"StringEquals": {key: value}}});
        let mut scene = Scene::new(&[statement("Allow", "*", condition)]);
        for (account, organization) in [(ACCOUNT, "o-own"), (OTHER, "o-other")] {
            scene.account(account, "organization", json!({"id": organization}));
        }
        scene.check("Tab", None, &[], own);
        scene.check(&table, grant(), &[], foreign);
    }
}
