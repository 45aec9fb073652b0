//! Requests for tables and streams of another account.

use std::collections::BTreeSet;

use dynatwin_engine::api::OPERATIONS;
use dynatwin_engine::{Caller, Capacity, Conditions, Enforcement};
use serde_json::{Value, json};

use super::operations::operations;
use super::scene::{OTHER, ROLE, SESSION, Scene, allow, statement, to};
use super::twin::{ACCOUNT, REGION, Twin};

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

/// An account's root user needs no identity-based policy, so the resource policy of the other account decides.
#[test]
fn the_resource_policy_decides_for_the_root_user_of_another_account() {
    let twin = Scene::new(&[allow("*")]).twin();
    let arn = format!("arn:aws:dynamodb:{REGION}:{OTHER}:table/Tab");
    let policy = statement("Allow", "dynamodb:GetItem", to(ACCOUNT)).to_string();
    let (status, answer) = twin.call(
        "OTHERROOT",
        "PutResourcePolicy",
        &json!({"ResourceArn": arn, "Policy": policy}),
    );
    assert_eq!(status, 200, "{answer}");
    for (caller, decided) in [
        (json!({"accessKeyId": "ROOT"}), "resource-based policy"),
        (json!({"principal": ROLE}), "identity-based policy"),
    ] {
        let mut question = caller.clone();
        question["operation"] = json!("GetItem");
        question["request"] = json!({"TableName": arn, "Key": {"pk": {"S": "a"}}});
        let answer = twin.control("POST", "access/explain", &question);
        let evaluation = &answer["evaluations"][0];
        assert_eq!(evaluation["allowed"], true, "{caller}: {answer}");
        assert_eq!(evaluation["decidedBy"]["policyType"], decided, "{caller}: {answer}");
    }
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

/// A change of another account's replicas needs its permissions on that account's tables (docs/behavior: 07 7, 08 8).
#[test]
fn replicas_of_another_account_need_permissions_there() {
    const SECOND: &str = "eu-west-1";
    let arn = |region: &str| format!("arn:aws:dynamodb:{region}:{OTHER}:table/Tab");
    let granted = statement("Allow", "dynamodb:*", to(ACCOUNT)).to_string();
    let update = |table: &str, kind: &str, region: &str| json!({"TableName": table, "ReplicaUpdates": [{kind: {"RegionName": region}}]});
    let witness = json!({"TableName": arn(REGION), "MultiRegionConsistency": "STRONG",
        "ReplicaUpdates": [{"Create": {"RegionName": "us-east-2"}}],
        "GlobalTableWitnessUpdates": [{"Create": {"RegionName": "us-west-2"}}]});
    let twin = Scene::new(&[allow("*")]).twin();
    let call = |region: &str, access_key: &str, operation: &str, body: &Value| {
        let caller = Caller {
            access_key: access_key.into(),
            region: region.into(),
        };
        let answer = twin.engine.dispatch(&caller, operation, body.to_string().as_bytes());
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        (answer.status, body)
    };
    let grant = |region: &str| {
        let body = json!({"ResourceArn": arn(region), "Policy": granted});
        let (status, answer) = call(region, "OTHERROOT", "PutResourcePolicy", &body);
        assert_eq!(status, 200, "{answer}");
    };
    let check = |body: &Value, needs: Option<(&str, &str)>| {
        let (status, answer) = call(REGION, "ROOT", "UpdateTable", body);
        let Some((action, region)) = needs else {
            return assert_eq!(status, 200, "{body}: {answer}");
        };
        let refused = format!(
            "dynamodb:{action} on resource: {} because no resource-based policy allows the dynamodb:{action} action",
            arn(region)
        );
        let text = answer["Message"].as_str().unwrap_or_default();
        assert!(status == 400 && text.ends_with(&refused), "{body}: {answer}");
    };
    grant(REGION);
    check(&update(&arn(REGION), "Create", SECOND), Some(("CreateTable", SECOND)));
    check(&witness, Some(("CreateTable", "us-east-2")));
    let created = call(REGION, "OTHERROOT", "UpdateTable", &update("Tab", "Create", SECOND));
    assert_eq!(created.0, 200, "{created:?}");
    check(&update(&arn(REGION), "Delete", SECOND), Some(("DeleteTable", SECOND)));
    grant(SECOND);
    check(&update(&arn(REGION), "Delete", SECOND), None);
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
    // The readers of a shard are limited by the conditions of the table, whoever they are.
    let limit = Enforcement {
        shard_readers: 1,
        ..Enforcement::AWS
    };
    let limited = Conditions {
        capacity: Capacity::Enforced(limit),
        ..Conditions::CALM
    };
    let owner = Caller {
        access_key: OTHER.into(),
        region: REGION.into(),
    };
    twin.engine
        .account(&owner)
        .set_table_conditions("Tab", limited)
        .unwrap();
    let iterators = [(); 2].map(|()| twin.call("ROOT", "GetShardIterator", &calls[1].1).1["ShardIterator"].clone());
    let mut next = Vec::new();
    for iterator in iterators {
        let (status, answer) = twin.call("ROOT", "GetRecords", &json!({"ShardIterator": iterator}));
        assert_eq!(status, 200, "{answer}");
        next.push(answer["NextShardIterator"].clone());
    }
    let statuses = next
        .iter()
        .map(|iterator| twin.call("ROOT", "GetRecords", &json!({"ShardIterator": iterator})).0);
    assert_eq!(statuses.collect::<Vec<_>>(), [200, 400]);
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
        ("aws:ResourceOrgPaths", "o-own/r-1/", "", identity),
        ("aws:ResourceOrgPaths", "o-other/r-1/", identity, ""),
        ("aws:PrincipalOrgPaths", "o-own/r-1/", "", ""),
        ("aws:PrincipalOrgPaths", "o-other/r-1/", identity, identity),
        // An account has all of its paths.
        ("aws:ResourceOrgPaths", "o-own/r-1/ou-1/", "", identity),
        ("aws:ResourceOrgPaths", "o-own/r-1/ou-2/", "", identity),
        ("aws:ResourceOrgPaths", "o-other/r-1/ou-2/", identity, ""),
        ("aws:PrincipalOrgPaths", "o-own/r-1/ou-1/", "", ""),
        ("aws:PrincipalOrgPaths", "o-own/r-1/ou-2/", "", ""),
        ("aws:PrincipalOrgPaths", "o-own/r-1/ou-3/", identity, identity),
    ] {
        let operator = if key.ends_with("Paths") {
            "ForAnyValue:StringEquals"
        } else {
            "StringEquals"
        };
        let condition = json!({"Condition": {operator: {key: value}}});
        let mut scene = Scene::new(&[statement("Allow", "*", condition)]);
        for (account, organization) in [(ACCOUNT, "o-own"), (OTHER, "o-other")] {
            let paths = ["", "ou-1/", "ou-2/"].map(|unit| format!("{organization}/r-1/{unit}"));
            scene.account(account, "organization", json!({"id": organization, "paths": paths}));
        }
        scene.check("Tab", None, &[], own);
        scene.check(&table, grant(), &[], foreign);
    }
}

fn table_arn(account: &str) -> String {
    format!("arn:aws:dynamodb:{REGION}:{account}:table/Tab")
}

/// Two accounts with a table of one name, whose item, tag and stream show the account. Each table and its stream allow
/// the other account everything.
struct Accounts {
    twin: Twin,
    /// The ARN of the stream of each account's table. They differ in the account alone.
    streams: [String; 2],
}

const ROOTS: [(&str, &str); 2] = [(ACCOUNT, "ROOT"), (OTHER, "OTHERROOT")];

impl Accounts {
    fn new() -> Accounts {
        let twin = Scene::new(&[]).twin();
        let ok = |root: &str, operation: &str, body: Value| {
            let (status, answer) = twin.call(root, operation, &body);
            assert_eq!(status, 200, "{operation} {body}: {answer}");
            answer
        };
        let streams = ROOTS.map(|(account, root)| {
            let enabled = json!({"TableName": "Tab", "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}});
            let stream = ok(root, "UpdateTable", enabled)["TableDescription"]["LatestStreamArn"].clone();
            ok(root, "PutItem", json!({"TableName": "Tab", "Item": item("a", account)}));
            for resource in [json!(table_arn(account)), stream.clone()] {
                let tags = json!([{"Key": "account", "Value": account}]);
                ok(root, "TagResource", json!({"ResourceArn": resource, "Tags": tags}));
                let both = json!({"Principal": {"AWS": [ACCOUNT, OTHER]}, "Resource": resource});
                let policy = statement("Allow", "dynamodb:*", both).to_string();
                ok(root, "PutResourcePolicy", json!({"ResourceArn": resource, "Policy": policy}));
            }
            let recovery = json!({"PointInTimeRecoveryEnabled": true});
            let recovery = json!({"TableName": "Tab", "PointInTimeRecoverySpecification": recovery});
            ok(root, "UpdateContinuousBackups", recovery);
            ok(root, "CreateBackup", json!({"TableName": "Tab", "BackupName": "backup"}));
            let export = json!({"TableArn": table_arn(account), "S3Bucket": "bucket"});
            ok(root, "ExportTableToPointInTime", export);
            stream.as_str().unwrap().to_owned()
        });
        assert_eq!(streams[0].replace(ACCOUNT, OTHER), streams[1]);
        Accounts { twin, streams }
    }

    /// Returns what requests can change of an account's table.
    fn state(&self, account: &str) -> Value {
        let (at, root) = place(account);
        let read = |operation: &str, body: Value| self.twin.call(root, operation, &body).1;
        let name = json!({"TableName": "Tab"});
        json!({
            "items": read("Scan", name.clone())["Items"],
            "protected": read("DescribeTable", name.clone())["Table"]["DeletionProtectionEnabled"],
            "tags": read("ListTagsOfResource", json!({"ResourceArn": table_arn(account)}))["Tags"],
            "stream tags": read("ListTagsOfResource", json!({"ResourceArn": self.streams[at]}))["Tags"],
            "time to live": read("DescribeTimeToLive", name.clone()),
            "recovery": read("DescribeContinuousBackups", name.clone()),
            "insights": read("DescribeContributorInsights", name.clone()),
            "destinations": read("DescribeKinesisStreamingDestination", name.clone()),
            "policy": read("GetResourcePolicy", json!({"ResourceArn": table_arn(account)}))["Policy"],
            "tables": read("ListTables", json!({})),
            "backups": read("ListBackups", json!({}))["BackupSummaries"],
            "exports": read("ListExports", json!({})),
            "imports": read("ListImports", json!({})),
            "bulk operations": read("ListBulkOperations", json!({})),
        })
    }

    /// Returns an iterator from the beginning of the stream of an account's table, made by its owner.
    fn iterator(&self, account: &str) -> Value {
        let (at, root) = place(account);
        let start = self.start_of(at);
        self.twin.call(root, "GetShardIterator", &start).1["ShardIterator"].clone()
    }

    fn start_of(&self, at: usize) -> Value {
        let stream = &self.streams[at];
        let (account, root) = ROOTS[at];
        let described = self.twin.call(root, "DescribeStream", &json!({"StreamArn": stream})).1;
        let shards = described["StreamDescription"]["Shards"].as_array().unwrap();
        let has_records = |shard: &&Value| {
            let start = json!({"StreamArn": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
            let iterator = self.twin.call(root, "GetShardIterator", &start).1["ShardIterator"].clone();
            let page = self
                .twin
                .call(root, "GetRecords", &json!({"ShardIterator": iterator}))
                .1;
            page["Records"].to_string().contains(account)
        };
        let shard = shards.iter().find(has_records).unwrap();
        json!({"StreamArn": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"})
    }
}

/// The position of an account among the two, and the access key of its root user.
fn place(account: &str) -> (usize, &'static str) {
    let at = ROOTS.iter().position(|(id, _)| *id == account).unwrap();
    (at, ROOTS[at].1)
}

fn item(key: &str, account: &str) -> Value {
    json!({"pk": {"S": key}, "account": {"S": account}})
}

/// Requests for a table by its name or ARN: each with whether its answer shows the account, and what it changes.
fn requests(accounts: &Accounts, account: &str, table: &str) -> Vec<(&'static str, Value, bool, Value)> {
    let (at, _) = place(account);
    let (resource, stream) = (table_arn(account), accounts.streams[at].clone());
    let key = json!({"pk": {"S": "a"}});
    let of = |more: Value| {
        let mut body = json!({"TableName": table});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    // The condition holds for the item of this account alone.
    let checked = |mut more: Value| {
        more["ConditionExpression"] = json!("account = :account");
        more["ExpressionAttributeValues"][":account"] = json!({"S": account});
        of(more)
    };
    let update = |mut more: Value| {
        more["UpdateExpression"] = json!("SET n = :n");
        more["ExpressionAttributeValues"] = json!({":n": {"N": "1"}});
        checked(more)
    };
    let mut updated = item("a", account);
    updated["n"] = json!({"N": "1"});
    let replaced = json!([item("a", "new")]);
    let transaction = |actions: Value| json!({"TransactItems": actions});
    let both_tags = json!([{"Key": "account", "Value": account}, {"Key": "b", "Value": "c"}]);
    let tag = |arn: &str| json!({"ResourceArn": arn, "Tags": [{"Key": "b", "Value": "c"}]});
    let untag = |arn: &str| json!({"ResourceArn": arn, "TagKeys": ["account"]});
    let none = || json!({});
    let query = json!({"KeyConditionExpression": "pk = :a", "ExpressionAttributeValues": {":a": {"S": "a"}}});
    vec![
        (
            "BatchGetItem",
            json!({"RequestItems": {table: {"Keys": [key]}}}),
            true,
            none(),
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {table: [{"PutRequest": {"Item": item("a", "new")}}]}}),
            false,
            json!({"items": replaced}),
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {table: [{"DeleteRequest": {"Key": key}}]}}),
            false,
            json!({"items": []}),
        ),
        (
            "DeleteItem",
            checked(json!({"Key": key, "ReturnValues": "ALL_OLD"})),
            true,
            json!({"items": []}),
        ),
        ("DeleteTable", of(none()), true, Value::Null),
        ("DescribeStream", json!({"StreamArn": stream}), true, none()),
        ("DescribeTable", of(none()), true, none()),
        ("GetItem", of(json!({"Key": key})), true, none()),
        (
            "GetRecords",
            json!({"ShardIterator": accounts.iterator(account)}),
            true,
            none(),
        ),
        ("GetShardIterator", accounts.start_of(at), true, none()),
        ("ListTagsOfResource", json!({"ResourceArn": resource}), true, none()),
        ("ListTagsOfResource", json!({"ResourceArn": stream}), true, none()),
        (
            "PutItem",
            checked(json!({"Item": item("a", "new"), "ReturnValues": "ALL_OLD"})),
            true,
            json!({"items": replaced}),
        ),
        ("Query", of(query), true, none()),
        ("Scan", of(none()), true, none()),
        ("TagResource", tag(&resource), false, json!({"tags": both_tags})),
        ("TagResource", tag(&stream), false, json!({"stream tags": both_tags})),
        (
            "TransactGetItems",
            transaction(json!([{"Get": of(json!({"Key": key}))}])),
            true,
            none(),
        ),
        (
            "TransactWriteItems",
            transaction(json!([{"Put": checked(json!({"Item": item("a", "new")}))}])),
            false,
            json!({"items": replaced}),
        ),
        (
            "TransactWriteItems",
            transaction(json!([{"Update": update(json!({"Key": key}))}])),
            false,
            json!({"items": [updated]}),
        ),
        (
            "TransactWriteItems",
            transaction(json!([{"Delete": checked(json!({"Key": key}))}])),
            false,
            json!({"items": []}),
        ),
        (
            "TransactWriteItems",
            transaction(json!([{"ConditionCheck": checked(json!({"Key": key}))}])),
            false,
            none(),
        ),
        ("UntagResource", untag(&resource), false, json!({"tags": []})),
        ("UntagResource", untag(&stream), false, json!({"stream tags": []})),
        (
            "UpdateItem",
            update(json!({"Key": key, "ReturnValues": "ALL_NEW"})),
            true,
            json!({"items": [updated]}),
        ),
        (
            "UpdateTable",
            of(json!({"DeletionProtectionEnabled": true})),
            true,
            json!({"protected": true}),
        ),
    ]
}

/// The operations that accept the ARN of another account's table or stream (docs/behavior: 07 7) act on the table of the
/// account in the ARN, and on the caller's if it is named without one.
#[test]
fn operations_act_on_the_table_of_the_account_in_the_arn() {
    for (caller, account, table) in [
        (ACCOUNT, OTHER, table_arn(OTHER)),
        (OTHER, ACCOUNT, table_arn(ACCOUNT)),
        (ACCOUNT, ACCOUNT, table_arn(ACCOUNT)),
        (OTHER, OTHER, table_arn(OTHER)),
        (ACCOUNT, ACCOUNT, "Tab".to_owned()),
        (OTHER, OTHER, "Tab".to_owned()),
    ] {
        let another = if account == ACCOUNT { OTHER } else { ACCOUNT };
        let count = requests(&Accounts::new(), account, &table).len();
        for at in 0..count {
            let accounts = Accounts::new();
            let (operation, body, shows, change) = requests(&accounts, account, &table).swap_remove(at);
            let case = format!("{operation} {body} of {caller}");
            let [mut expected, kept] = [account, another].map(|id| accounts.state(id));
            let (status, answer) = accounts.twin.call(place(caller).1, operation, &body);
            assert_eq!(status, 200, "{case}: {answer}");
            let text = answer.to_string();
            assert!(!shows || text.contains(account), "{case}: {answer}");
            assert!(!text.contains(another), "{case}: {answer}");
            assert_eq!(accounts.state(another), kept, "{case}");
            let found = accounts.state(account);
            match change.as_object() {
                Some(change) => {
                    expected.as_object_mut().unwrap().extend(change.clone());
                    assert_eq!(found, expected, "{case}");
                }
                None => assert_eq!(found["tables"], json!({"TableNames": []}), "{case}"),
            }
        }
    }
}

/// A request with tables of two accounts, which have one name, acts on each, in either order.
#[test]
fn a_request_may_have_tables_of_two_accounts() {
    let (own, foreign) = ("Tab".to_owned(), table_arn(OTHER));
    let both = [(ACCOUNT, &own), (OTHER, &foreign)];
    let key = json!({"pk": {"S": "a"}});
    for [first, second] in [both, [both[1], both[0]]] {
        let tables = [first.1, second.1];
        let each = |action: &str, more: Value| {
            let entry = |table: &String| {
                let mut body = json!({"TableName": table});
                body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                json!({action: body})
            };
            json!({"TransactItems": tables.map(entry)})
        };
        let of_both = |entry: Value| json!({"RequestItems": {tables[0]: entry, tables[1]: entry}});
        let put = json!({"PutRequest": {"Item": item("a", "new")}});
        let accounts = Accounts::new();
        let read = accounts
            .twin
            .call("ROOT", "TransactGetItems", &each("Get", json!({"Key": key})))
            .1;
        let found = [0, 1].map(|at| read["Responses"][at]["Item"].clone());
        assert_eq!(found, [first, second].map(|(account, _)| item("a", account)), "{read}");
        let read = accounts
            .twin
            .call("ROOT", "BatchGetItem", &of_both(json!({"Keys": [key]})))
            .1;
        for (account, table) in both {
            assert_eq!(read["Responses"][table], json!([item("a", account)]), "{read}");
        }
        for (operation, body, left) in [
            ("BatchWriteItem", of_both(json!([put])), json!([item("a", "new")])),
            (
                "TransactWriteItems",
                each("Put", json!({"Item": item("a", "new")})),
                json!([item("a", "new")]),
            ),
            ("TransactWriteItems", each("Delete", json!({"Key": key})), json!([])),
        ] {
            let accounts = Accounts::new();
            let (status, answer) = accounts.twin.call("ROOT", operation, &body);
            assert_eq!(status, 200, "{operation} {body}: {answer}");
            for account in [ACCOUNT, OTHER] {
                assert_eq!(accounts.state(account)["items"], left, "{operation} {body} {account}");
            }
        }
    }
}

/// Names a table of the other account, and its backup and export, wherever a request names the caller's.
fn of_the_other_account(accounts: &Accounts, body: &Value) -> Value {
    let existing = |pointer: &str| accounts.state(OTHER).pointer(pointer).unwrap().clone();
    match body {
        Value::String(text) if text == "Tab" => json!(table_arn(OTHER)),
        Value::String(text) if text.contains("table/Tab/backup/") => existing("/backups/0/BackupArn"),
        Value::String(text) if text.contains("table/Tab/export/") => existing("/exports/ExportSummaries/0/ExportArn"),
        Value::String(text) if text.starts_with("arn:aws:dynamodb:") => json!(text.replace(ACCOUNT, OTHER)),
        Value::String(text) => json!(text.replace("FROM Tab", &format!("FROM \"{}\"", table_arn(OTHER)))),
        Value::Array(elements) => elements
            .iter()
            .map(|element| of_the_other_account(accounts, element))
            .collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), of_the_other_account(accounts, value)))
            .collect(),
        other => other.clone(),
    }
}

/// What a request by the ARN of another account's table, or of something under it, is answered, and by which operations.
/// The service's texts were not recorded; that these operations work within an account only is documented.
const REFUSING: &[(&str, &[&str])] = &[
    (
        "ResourceNotFoundException\",\"message\":\"Requested resource not found: Table: Tab not found",
        &[
            "DescribeContributorInsights",
            "DescribeKinesisStreamingDestination",
            "DescribeTimeToLive",
            "DisableKinesisStreamingDestination",
            "EnableKinesisStreamingDestination",
            "ListContributorInsights",
            "StartBulkPutItems",
            "UpdateContributorInsights",
            "UpdateKinesisStreamingDestination",
            "UpdateTimeToLive",
        ],
    ),
    (
        "TableNotFoundException\",\"message\":\"Table not found: ",
        &[
            "CreateBackup",
            "DescribeContinuousBackups",
            "ExportTableToPointInTime",
            "UpdateContinuousBackups",
        ],
    ),
    (
        "ResourceNotFoundException\",\"message\":\"Global table with name: 'Tab' does not exist.",
        &["DescribeTableReplicaAutoScaling", "UpdateTableReplicaAutoScaling"],
    ),
    (
        "ResourceNotFoundException\",\"message\":\"Requested resource not found\"",
        &["ExecuteStatement", "SearchVectors"],
    ),
    (
        r#"{"Code":"ResourceNotFound","Message":"Requested resource not found"}"#,
        &["BatchExecuteStatement", "ExecuteTransaction"],
    ),
    (
        "This action is only supported by accounts that match the resource owner",
        &[
            "DeleteResourcePolicy",
            "GetResourcePolicy",
            "PutResourcePolicy",
            "RestoreTableToPointInTime",
        ],
    ),
    (
        "is not authorized to perform: ",
        &[
            "CancelBulkOperation",
            "DeleteBackup",
            "DescribeBackup",
            "DescribeBulkOperation",
            "DescribeExport",
            "DescribeImport",
            "RestoreTableFromBackup",
        ],
    ),
    // A name that may not be an ARN.
    (
        "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
        &[
            "CreateGlobalTable",
            "DescribeGlobalTable",
            "DescribeGlobalTableSettings",
            "ListStreams",
            "RestoreTableToPointInTime",
            "UpdateGlobalTable",
            "UpdateGlobalTableSettings",
        ],
    ),
    // A list has what belongs to the caller's account.
    (r#"200 {"BackupSummaries":[]}"#, &["ListBackups"]),
    (r#"200 {"ExportSummaries":[]}"#, &["ListExports"]),
    (r#"200 {"ImportSummaryList":[]}"#, &["ListImports"]),
];

/// The operations that name no table that exists.
const NO_TABLE: [&str; 7] = [
    "CreateTable",
    "DescribeEndpoints",
    "DescribeLimits",
    "ImportTable",
    "ListBulkOperations",
    "ListGlobalTables",
    "ListTables",
];

/// Other operations do not accept the ARN of another account's table, whatever its policy allows (docs/behavior: 07 7),
/// and change neither that table nor the caller's of the same name.
#[test]
fn other_operations_do_not_act_on_the_table_of_another_account() {
    let requested = requests(&Accounts::new(), OTHER, "Tab").into_iter();
    let accepting: BTreeSet<&str> = requested.map(|(operation, ..)| operation).collect();
    let refusing: BTreeSet<&str> = REFUSING.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let mut all: Vec<&str> = accepting.iter().chain(&refusing).chain(&NO_TABLE).copied().collect();
    all.sort_unstable();
    let mut expected: Vec<&str> = OPERATIONS.iter().map(|operation| operation.name).collect();
    expected.sort_unstable();
    assert_eq!(all, expected);

    let arn = table_arn(ACCOUNT);
    let mut calls: Vec<(&str, Value)> = vec![
        ("ListBackups", json!({"TableName": "Tab"})),
        ("ListContributorInsights", json!({"TableName": "Tab"})),
        ("ListExports", json!({"TableArn": arn})),
        ("ListImports", json!({"TableArn": arn})),
        ("ListStreams", json!({"TableName": "Tab"})),
        (
            "RestoreTableToPointInTime",
            json!({"SourceTableArn": arn, "TargetTableName": "New", "UseLatestRestorableTime": true}),
        ),
        (
            "SearchVectors",
            json!({"TableName": "Tab", "IndexName": "near", "SearchVector": [{"N": "1"}], "TopK": 1}),
        ),
    ];
    let others = operations("Tab", &json!({"pk": {"S": "a"}})).into_iter();
    calls.extend(others.map(|(operation, body, ..)| (operation, body)));
    let mut called = BTreeSet::new();
    for (operation, body) in calls {
        let accounts = Accounts::new();
        let foreign = of_the_other_account(&accounts, &body);
        if foreign == body || !refusing.contains(operation) {
            continue;
        }
        called.insert(operation);
        let kept = [ACCOUNT, OTHER].map(|id| accounts.state(id));
        let (status, answer) = accounts.twin.call("ROOT", operation, &foreign);
        let text = format!("{status} {answer}");
        let mut answers = REFUSING.iter().filter(|(_, names)| names.contains(&operation));
        assert!(
            answers.any(|(part, _)| text.contains(part)),
            "{operation} {foreign}: {text}"
        );
        let left = [ACCOUNT, OTHER].map(|id| accounts.state(id));
        assert_eq!(left, kept, "{operation} {foreign}: {text}");
    }
    assert_eq!(called, refusing);
}
