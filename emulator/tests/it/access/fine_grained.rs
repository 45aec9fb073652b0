//! Policies on keys and attributes, and the parts of requests they are evaluated for.

use serde_json::{Value, json};

use super::scene::{DENY, allow, implicit};
use super::twin::{ACCOUNT, REGION, Twin};
use crate::common::error_text;

/// The policy of the first guide: isolates tenants by a principal tag.
fn tenant_policy() -> Value {
    let table = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Projects");
    json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Sid": "ProjectScopedDynamoDBAccess",
            "Effect": "Allow",
            "Action": ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:Query"],
            "Resource": [table, format!("{table}/index/*")],
            "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["PROJECT#${aws:PrincipalTag/projectId}"]}}
        }]
    })
}

/// The policy of the second guide: some attributes of the caller's own items, and no secret ones.
fn attribute_policy() -> Value {
    let table = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/UserData");
    json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Sid": "AllowReadOwnItems",
            "Effect": "Allow",
            "Action": ["dynamodb:GetItem", "dynamodb:Query"],
            "Resource": table,
            "Condition": {
                "ForAllValues:StringEquals": {
                    "dynamodb:LeadingKeys": ["${aws:PrincipalTag/userId}"],
                    "dynamodb:Attributes": ["userId", "email", "preferences", "createdAt"]
                },
                "StringEqualsIfExists": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}
            }
        }, {
            "Sid": "DenyPIIAttributes",
            "Effect": "Deny",
            "Action": ["dynamodb:GetItem", "dynamodb:Query", "dynamodb:Scan"],
            "Resource": table,
            "Condition": {"ForAnyValue:StringEquals": {"dynamodb:Attributes": ["ssn", "creditCard", "rawPassword"]}}
        }]
    })
}

fn key(tenant: &str) -> Value {
    json!({"PK": {"S": format!("PROJECT#{tenant}")}, "SK": {"S": "META"}})
}

fn tenant_twin(policy: &Value) -> Twin {
    let twin = Twin::with_user("alice", &json!({"projectId": "alpha"}), policy);
    twin.create_table("Projects", ("PK", "SK"), Some("owner"));
    for tenant in ["alpha", "beta"] {
        twin.root("PutItem", &json!({"TableName": "Projects", "Item": key(tenant)}));
    }
    twin
}

/// Policies compare a string key as it is, a number in its canonical form, and a binary key in base64.
#[test]
fn leading_keys_of_each_type() {
    for (kind, text, own, other) in [
        ("S", "a", "a", "A"),
        ("N", "1.5", "1.50", "15"),
        ("B", "YQA=", "YQA=", "YQ=="),
    ] {
        let policy = json!({"Version": "2012-10-17", "Statement": {
            "Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*",
            "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": text}, "Null": {"dynamodb:LeadingKeys": "false"}}}});
        let twin = Twin::with_user("alice", &json!({}), &policy);
        let attributes = json!([{"AttributeName": "pk", "AttributeType": kind}]);
        let schema = json!([{"AttributeName": "pk", "KeyType": "HASH"}]);
        twin.root(
            "CreateTable",
            &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes, "KeySchema": schema}),
        );
        for (value, expect) in [(own, None), (other, Some("GetItem"))] {
            let get = json!({"TableName": "tab", "Key": {"pk": {kind: value}}});
            twin.check("alice", "GetItem", &get, expect.map(implicit).as_deref());
        }
    }
}

#[test]
fn a_tenant_by_principal_tag() {
    let twin = tenant_twin(&tenant_policy());
    let query = |tenant: &str| {
        json!({"TableName": "Projects", "KeyConditionExpression": "PK = :p AND begins_with(SK, :s)",
            "ExpressionAttributeValues": {":p": {"S": format!("PROJECT#{tenant}")}, ":s": {"S": "M"}}})
    };
    let get = |tenant: &str| json!({"TableName": "Projects", "Key": key(tenant)});
    let put = |tenant: &str| json!({"TableName": "Projects", "Item": key(tenant)});
    let transaction = |entries: &[Value]| json!({"TransactItems": entries});
    let check = json!({"ConditionCheck": {"TableName": "Projects", "Key": {"PK": {"S": "PROJECT#alpha"}, "SK": {"S": "other"}}, "ConditionExpression": "attribute_not_exists(PK)"}});
    let index = json!({"TableName": "Projects", "IndexName": "by-owner", "KeyConditionExpression": "#o = :o",
        "ExpressionAttributeNames": {"#o": "owner"}, "ExpressionAttributeValues": {":o": {"S": "ann"}}});
    let statement = json!({"Statement": "SELECT * FROM Projects WHERE PK = 'PROJECT#alpha'"});
    let one = json!({"Statement": "SELECT * FROM Projects WHERE PK = 'PROJECT#alpha' AND SK = 'META'"});
    for (operation, body, expect) in [
        ("GetItem", get("alpha"), None),
        ("PutItem", put("alpha"), None),
        ("UpdateItem", get("alpha"), None),
        ("DeleteItem", get("alpha"), None),
        ("Query", query("alpha"), None),
        ("GetItem", get("beta"), Some("GetItem")),
        ("PutItem", put("beta"), Some("PutItem")),
        ("UpdateItem", get("beta"), Some("UpdateItem")),
        ("DeleteItem", get("beta"), Some("DeleteItem")),
        ("Query", query("beta"), Some("Query")),
        ("Query", index, Some("Query")),
        ("Scan", json!({"TableName": "Projects"}), Some("Scan")),
        (
            "BatchGetItem",
            json!({"RequestItems": {"Projects": {"Keys": [key("alpha")]}}}),
            Some("BatchGetItem"),
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"Projects": [{"PutRequest": {"Item": key("alpha")}}]}}),
            Some("BatchWriteItem"),
        ),
        ("ExecuteStatement", statement.clone(), Some("PartiQLSelect")),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": [one]}),
            Some("PartiQLSelect"),
        ),
        ("TransactWriteItems", transaction(&[json!({"Put": put("alpha")})]), None),
        (
            "TransactWriteItems",
            transaction(&[json!({"Put": put("alpha")}), check]),
            Some("ConditionCheckItem"),
        ),
        (
            "TransactWriteItems",
            transaction(&[json!({"Put": put("beta")})]),
            Some("PutItem"),
        ),
        ("TransactGetItems", transaction(&[json!({"Get": get("alpha")})]), None),
        (
            "TransactGetItems",
            transaction(&[json!({"Get": get("beta")})]),
            Some("GetItem"),
        ),
    ] {
        twin.check("alice", operation, &body, expect.map(implicit).as_deref());
    }
}

#[test]
fn the_text_names_caller_action_resource_and_reason() {
    let twin = tenant_twin(&tenant_policy());
    let caller = format!("arn:aws:iam::{ACCOUNT}:user/alice");
    let table = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Projects");
    let (status, answer) = twin.call(
        "alice",
        "Scan",
        &json!({"TableName": "Projects", "IndexName": "by-owner"}),
    );
    assert_eq!(status, 400);
    assert_eq!(answer["__type"], "com.amazon.coral.service#AccessDeniedException");
    assert_eq!(
        answer["Message"],
        format!(
            "User: {caller} is not authorized to perform: dynamodb:Scan on resource: {table}/index/by-owner because no identity-based policy allows the dynamodb:Scan action"
        )
    );
    // A caller without access does not learn whether the table exists.
    let missing = twin
        .call(
            "alice",
            "GetItem",
            &json!({"TableName": "Nowhere", "Key": key("alpha")}),
        )
        .1;
    let text = missing["Message"].as_str().unwrap();
    assert!(
        text.contains("on resource: arn:aws:dynamodb:us-east-1:123456789012:table/Nowhere because"),
        "{text}"
    );
}

/// A transaction that names a missing table is refused only to callers who may not do any of what it could have asked for.
#[test]
fn a_transaction_shows_a_missing_table_to_those_who_may_do_a_part_of_it() {
    let name = json!({"PK": {"S": "a"}});
    let get = json!({"TransactItems": [{"Get": {"TableName": "Nowhere", "Key": name}}]});
    let put = json!({"TransactItems": [{"Put": {"TableName": "Nowhere", "Item": name}}]});
    let missing = "ResourceNotFoundException: Requested resource not found";
    for (allowed, operation, body, expect) in [
        ("GetItem", "TransactGetItems", &get, missing),
        ("PutItem", "TransactGetItems", &get, &implicit("GetItem")),
        ("PutItem", "TransactWriteItems", &put, missing),
        ("UpdateItem", "TransactWriteItems", &put, missing),
        ("DeleteItem", "TransactWriteItems", &put, missing),
        ("ConditionCheckItem", "TransactWriteItems", &put, missing),
        ("GetItem", "TransactWriteItems", &put, &implicit("PutItem")),
        ("TransactWriteItems", "TransactWriteItems", &put, &implicit("PutItem")),
    ] {
        let twin = Twin::with_user("ann", &json!({}), &allow(&format!("dynamodb:{allowed}")));
        let (_, answer) = twin.call("ann", operation, body);
        let text = answer["Message"]
            .as_str()
            .map_or_else(|| error_text(&answer), str::to_owned);
        assert!(text.ends_with(expect), "{allowed} {operation}: {answer}");
    }
}

#[test]
fn variants_of_the_tenant_policy() {
    let scan = json!({"TableName": "Projects"});
    let get = json!({"TableName": "Projects", "Key": key("alpha")});
    let mut with_scan = tenant_policy();
    with_scan["Statement"][0]["Action"]
        .as_array_mut()
        .unwrap()
        .push(json!("dynamodb:Scan"));
    let twin = tenant_twin(&with_scan);
    let items = twin.call("alice", "Scan", &scan).1;
    assert_eq!(items["Count"], 2, "a Scan shows all tenants");

    let mut guarded = with_scan.clone();
    guarded["Statement"][0]["Condition"]["Null"] = json!({"dynamodb:LeadingKeys": "false"});
    tenant_twin(&guarded).check("alice", "Scan", &scan, Some(&implicit("Scan")));
    tenant_twin(&guarded).check("alice", "GetItem", &get, None);

    let mut old = tenant_policy();
    old["Version"] = json!("2008-10-17");
    tenant_twin(&old).check("alice", "GetItem", &get, Some(&implicit("GetItem")));

    let untagged = Twin::with_user("alice", &json!({}), &tenant_policy());
    untagged.create_table("Projects", ("PK", "SK"), None);
    untagged.check("alice", "GetItem", &get, Some(&implicit("GetItem")));
}

fn user_twin(policy: &Value) -> Twin {
    let twin = Twin::with_user("u1", &json!({"userId": "u1"}), policy);
    twin.create_table("UserData", ("userId", ""), None);
    let item = json!({"userId": {"S": "u1"}, "ssn": {"S": "secret"}, "email": {"S": "e"}});
    twin.root("PutItem", &json!({"TableName": "UserData", "Item": item}));
    twin
}

fn read(user: &str, projection: Option<&str>) -> Value {
    let mut body = json!({"TableName": "UserData", "Key": {"userId": {"S": user}}});
    if let Some(projection) = projection {
        body["ProjectionExpression"] = json!(projection);
    }
    body
}

#[test]
fn some_attributes_of_ones_own_items() {
    let twin = user_twin(&attribute_policy());
    let query = |members: Value| {
        let mut body = json!({"TableName": "UserData", "KeyConditionExpression": "userId = :u",
            "ExpressionAttributeValues": {":u": {"S": "u1"}}});
        body.as_object_mut()
            .unwrap()
            .extend(members.as_object().unwrap().clone());
        body
    };
    let mut named = read("u1", Some("#s"));
    named["ExpressionAttributeNames"] = json!({"#s": "ssn"});
    let (get, not_query) = (implicit("GetItem"), implicit("Query"));
    for (operation, body, expect) in [
        ("GetItem", read("u1", Some("userId, email")), None),
        ("GetItem", read("u1", None), Some(get.as_str())),
        ("GetItem", read("u1", Some("email, preferences.theme")), None),
        ("GetItem", named, Some(DENY)),
        ("GetItem", read("u1", Some("email, phone")), Some(&get)),
        ("GetItem", read("u2", Some("email")), Some(&get)),
        ("Query", query(json!({"ProjectionExpression": "email"})), None),
        (
            "Query",
            query(json!({"ProjectionExpression": "email", "FilterExpression": "attribute_exists(ssn)"})),
            Some(DENY),
        ),
        ("Query", query(json!({"Select": "COUNT"})), Some(&not_query)),
        (
            "Scan",
            json!({"TableName": "UserData", "ProjectionExpression": "email"}),
            Some(&implicit("Scan")),
        ),
        (
            "Scan",
            json!({"TableName": "UserData", "ProjectionExpression": "ssn"}),
            Some(DENY),
        ),
        (
            "BatchGetItem",
            json!({"RequestItems": {"UserData": {"Keys": [{"userId": {"S": "u1"}}], "ProjectionExpression": "email"}}}),
            Some(&implicit("BatchGetItem")),
        ),
        (
            "ExecuteStatement",
            json!({"Statement": "SELECT email FROM UserData WHERE userId = 'u1'"}),
            Some(&implicit("PartiQLSelect")),
        ),
    ] {
        twin.check("u1", operation, &body, expect);
    }
}

#[test]
fn a_deny_that_does_not_cover_attributes() {
    let mut bare = attribute_policy();
    bare["Statement"][0] = json!({"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"});
    let mut only = bare.clone();
    bare["Statement"][1]["Condition"] = json!({"StringEquals": {"dynamodb:Attributes": ["ssn"]}});
    user_twin(&bare).check("u1", "GetItem", &read("u1", Some("ssn")), None);
    let twin = user_twin(&only);
    twin.check("u1", "GetItem", &read("u1", Some("ssn")), Some(DENY));
    assert_eq!(
        twin.call("u1", "GetItem", &read("u1", None)).1["Item"]["ssn"]["S"],
        "secret"
    );
    only["Statement"].as_array_mut().unwrap().push(json!({
        "Effect": "Deny", "Action": "dynamodb:GetItem", "Resource": "*",
        "Condition": {"StringNotEqualsIfExists": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}}
    }));
    user_twin(&only).check("u1", "GetItem", &read("u1", None), Some(DENY));
}

#[test]
fn rules_for_writes() {
    let allow = |action: &str, condition: Value| json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": action, "Resource": "*", "Condition": condition}});
    let update = |expression: &str, returns: Option<&str>| {
        let mut body = read("u1", None);
        body["UpdateExpression"] = json!(expression);
        body["ExpressionAttributeValues"] = json!({":v": {"N": "1"}});
        if let Some(returns) = returns {
            body["ReturnValues"] = json!(returns);
        }
        body
    };
    let scores = user_twin(&allow(
        "dynamodb:UpdateItem",
        json!({
            "ForAllValues:StringEquals": {"dynamodb:Attributes": ["userId", "TopScore"]},
            "StringEqualsIfExists": {"dynamodb:ReturnValues": ["NONE", "UPDATED_OLD", "UPDATED_NEW"]}
        }),
    ));
    let refused = implicit("UpdateItem");
    scores.check("u1", "UpdateItem", &update("SET TopScore = :v", None), None);
    scores.check(
        "u1",
        "UpdateItem",
        &update("SET TopScore = :v", Some("ALL_NEW")),
        Some(&refused),
    );
    let mut condition = update("SET TopScore = :v", None);
    condition["ConditionExpression"] = json!("attribute_not_exists(Wins)");
    scores.check("u1", "UpdateItem", &condition, Some(&refused));
    let games = user_twin(&allow(
        "dynamodb:UpdateItem",
        json!({
            "ForAllValues:StringNotLike": {"dynamodb:Attributes": ["FreeGamesAvailable", "BossLevelUnlocked"]}
        }),
    ));
    games.check(
        "u1",
        "UpdateItem",
        &update("SET BossLevelUnlocked = :v", None),
        Some(&refused),
    );
    games.check("u1", "UpdateItem", &update("SET Progress = :v", None), None);

    let everything = json!({"Effect": "Allow", "Action": "*", "Resource": "*"});
    let deny = |action: Value, condition: Value| json!({"Version": "2012-10-17", "Statement": [everything, {"Effect": "Deny", "Action": action, "Resource": "*", "Condition": condition}]});
    let single = user_twin(&deny(
        json!([
            "dynamodb:PutItem",
            "dynamodb:UpdateItem",
            "dynamodb:DeleteItem",
            "dynamodb:GetItem",
            "dynamodb:ConditionCheckItem"
        ]),
        json!({"StringEquals": {"dynamodb:EnclosingOperation": ["TransactWriteItems", "TransactGetItems"]}}),
    ));
    let put = json!({"TableName": "UserData", "Item": {"userId": {"S": "u1"}}});
    single.check("u1", "PutItem", &put, None);
    single.check(
        "u1",
        "TransactWriteItems",
        &json!({"TransactItems": [{"Put": put}]}),
        Some(DENY),
    );
    let scans = user_twin(&deny(
        json!("dynamodb:PartiQLSelect"),
        json!({"Bool": {"dynamodb:FullTableScan": true}}),
    ));
    scans.check(
        "u1",
        "ExecuteStatement",
        &json!({"Statement": "SELECT * FROM UserData"}),
        Some(DENY),
    );
    scans.check(
        "u1",
        "ExecuteStatement",
        &json!({"Statement": "SELECT * FROM UserData WHERE userId = 'u1'"}),
        None,
    );
}

#[test]
fn a_refused_part_refuses_the_whole_call_and_nothing_is_written() {
    let twin = tenant_twin(&tenant_policy());
    let put = |tenant: &str| json!({"Put": {"TableName": "Projects", "Item": {"PK": {"S": format!("PROJECT#{tenant}")}, "SK": {"S": "new"}}}});
    let body = json!({"TransactItems": [put("alpha"), put("beta")]});
    let (status, answer) = twin.call("alice", "TransactWriteItems", &body);
    assert_eq!((status, answer.get("CancellationReasons")), (400, None), "{answer}");
    assert_eq!(twin.root("Scan", &json!({"TableName": "Projects"}))["Count"], 2);

    // Statements of a batch are refused one by one.
    let policy = json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "dynamodb:PartiQLSelect", "Resource": "*",
        "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["u1"]}}}});
    let twin = user_twin(&policy);
    let statement = |user: &str| json!({"Statement": format!("SELECT email FROM UserData WHERE userId = '{user}'")});
    let (status, answer) = twin.call(
        "u1",
        "BatchExecuteStatement",
        &json!({"Statements": [statement("u1"), statement("u2")]}),
    );
    assert_eq!(
        (status, &answer["Responses"][0]["Item"]["email"]["S"]),
        (200, &json!("e")),
        "{answer}"
    );
    assert_eq!(answer["Responses"][1]["Error"]["Code"], "AccessDenied", "{answer}");
}

/// The keys of a batch are those of their own table: a policy decides about each table by itself.
#[test]
fn a_batch_is_evaluated_table_by_table() {
    let statement = |table: &str, keys: &[&str]| {
        json!({"Effect": "Allow", "Action": ["dynamodb:BatchGetItem", "dynamodb:BatchWriteItem"],
            "Resource": format!("arn:aws:dynamodb:us-east-1:123456789012:table/{table}"),
            "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": keys}}})
    };
    let policy = json!({"Version": "2012-10-17",
        "Statement": [statement("First", &["a", "b"]), statement("Second", &["c"])]});
    let twin = Twin::with_user("u1", &json!({}), &policy);
    for table in ["First", "Second", "Third"] {
        twin.create_table(table, ("pk", ""), None);
    }
    for (tables, denied) in [
        (&[("First", &["a", "b"][..]), ("Second", &["c"])][..], None),
        (&[("First", &["a", "b"])], None),
        (&[("Second", &["c"])], None),
        (&[("First", &["a", "c"])], Some("First")),
        (&[("First", &["a"]), ("Second", &["a"])], Some("Second")),
        (&[("First", &["c"]), ("Second", &["c"])], Some("First")),
        (
            &[("First", &["a"]), ("Second", &["c"]), ("Third", &["a"])],
            Some("Third"),
        ),
    ] {
        for operation in ["BatchGetItem", "BatchWriteItem"] {
            let mut items = serde_json::Map::new();
            for (table, keys) in tables {
                let keys = keys.iter().map(|key| json!({"pk": {"S": key}}));
                let entry = if operation == "BatchGetItem" {
                    json!({"Keys": keys.collect::<Vec<_>>()})
                } else {
                    keys.map(|key| json!({"PutRequest": {"Item": key}})).collect()
                };
                items.insert((*table).to_owned(), entry);
            }
            let (status, answer) = twin.call("u1", operation, &json!({"RequestItems": items}));
            let text = answer["Message"].as_str().unwrap_or_default();
            match denied {
                None => assert_eq!(status, 200, "{operation} {tables:?}: {answer}"),
                Some(table) => assert!(
                    status == 400 && text.contains(&format!(":table/{table} because")),
                    "{operation} {tables:?}: {answer}"
                ),
            }
        }
    }
}

/// The keys that a batch names for each of its tables form one set.
#[test]
fn the_keys_of_each_table_of_a_batch_are_one_set() {
    let arn = |table: &str| format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}");
    let tables = ["First", "Second", "Third"];
    let statement = json!({"Effect": "Allow", "Action": ["dynamodb:BatchGetItem", "dynamodb:BatchWriteItem"],
        "Resource": tables.map(arn), "Condition": {"ForAnyValue:StringEquals": {"dynamodb:LeadingKeys": "own"}}});
    let policy = json!({"Version": "2012-10-17", "Statement": statement});
    let twin = Twin::with_user("u1", &json!({}), &policy);
    for table in tables {
        twin.create_table(table, ("pk", ""), None);
    }
    for lacks in [None, Some("First"), Some("Second"), Some("Third")] {
        let keys = |table: &str| {
            let own = if lacks == Some(table) { "other" } else { "own" };
            ["a", own, "z"].map(|key| json!({"pk": {"S": key}}))
        };
        let put = |key: Value| json!({"PutRequest": {"Item": key}});
        let gets = tables.map(|table| (table.to_owned(), json!({"Keys": keys(table)})));
        let puts = tables.map(|table| (table.to_owned(), json!(keys(table).map(put))));
        for (operation, items) in [("BatchGetItem", gets), ("BatchWriteItem", puts)] {
            let items: serde_json::Map<String, Value> = items.into_iter().collect();
            let (status, answer) = twin.call("u1", operation, &json!({"RequestItems": items}));
            let text = answer["Message"].as_str().unwrap_or_default();
            match lacks {
                None => assert_eq!(status, 200, "{operation}: {answer}"),
                Some(table) => assert!(
                    status == 400 && text.contains(&format!(":table/{table} because")),
                    "{operation} {table}: {answer}"
                ),
            }
        }
    }
}

/// A missing table is shown to those who may use it, whatever the exception of the operation is.
#[test]
fn a_missing_table_is_shown_to_those_who_may_use_it() {
    let named = json!({"TableName": "Nowhere"});
    let recovery = json!({"TableName": "Nowhere",
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}});
    for (operation, body, missing) in [
        ("DescribeTable", named.clone(), "ResourceNotFoundException"),
        (
            "GetItem",
            json!({"TableName": "Nowhere", "Key": {"pk": {"S": "a"}}}),
            "ResourceNotFoundException",
        ),
        ("DescribeContinuousBackups", named, "TableNotFoundException"),
        ("UpdateContinuousBackups", recovery, "TableNotFoundException"),
        (
            "CreateBackup",
            json!({"TableName": "Nowhere", "BackupName": "name"}),
            "TableNotFoundException",
        ),
    ] {
        for (action, expect) in [(operation, missing), ("Query", "AccessDeniedException")] {
            let twin = Twin::with_user("u1", &json!({}), &allow(&format!("dynamodb:{action}")));
            let (status, answer) = twin.call("u1", operation, &body);
            let kind = answer["__type"].as_str().unwrap_or_default().rsplit('#').next();
            assert_eq!((status, kind), (400, Some(expect)), "{operation} {action}: {answer}");
        }
    }
}

/// Whichever part of a request names an attribute, the policy sees it.
#[test]
fn attributes_of_every_part_of_a_request() {
    let allowed = json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "*", "Resource": "*",
            "Condition": {"ForAllValues:StringEquals": {"dynamodb:Attributes": ["userId", "score"]}}}]});
    let twin = user_twin(&allowed);
    let table = json!({"TableName": "UserData"});
    let keyed = json!({"TableName": "UserData", "Key": {"userId": {"S": "u1"}}});
    let put = json!({"TableName": "UserData", "Item": {"userId": {"S": "u1"}}});
    let query = json!({"TableName": "UserData", "KeyConditionExpression": "userId = :u", "ExpressionAttributeValues": {":u": {"S": "u1"}}});
    let absent = json!({"ConditionExpression": "attribute_not_exists(NAME)"});
    let either = json!({"ConditionExpression": "attribute_exists(userId) AND NOT size(NAME) > size(userId)"});
    let projection = json!({"ProjectionExpression": "userId, NAME.part"});
    let filter = json!({"FilterExpression": "attribute_not_exists(NAME)"});
    let filters = json!({"FilterExpression": "attribute_exists(score) AND NOT size(score) > size(NAME)"});
    let update = |expression: &str| json!({"UpdateExpression": expression});
    let one = json!({":v": {"N": "1"}});
    let value = |expression: &str| json!({"UpdateExpression": expression, "ExpressionAttributeValues": one});
    let set = json!({"UpdateExpression": "DELETE NAME :v", "ExpressionAttributeValues": {":v": {"SS": ["a"]}}});
    let expected = json!({"Expected": {"NAME": {"Exists": false}}});
    let legacy = json!({"NAME": {"ComparisonOperator": "NULL"}});
    let written = json!({"userId": {"S": "u1"}, "NAME": {"N": "1"}});
    let write = |kind: &str, base: &Value, members: &Value| json!({"TransactItems": [{kind: with(base, members)}]});
    let statement = |text: &str| json!({"Statement": text});
    let cases = [
        ("PutItem", with(&table, &json!({"Item": written})), "PutItem"),
        ("PutItem", with(&put, &absent), "PutItem"),
        ("PutItem", with(&put, &either), "PutItem"),
        ("PutItem", with(&put, &expected), "PutItem"),
        ("UpdateItem", with(&keyed, &absent), "UpdateItem"),
        ("UpdateItem", with(&keyed, &either), "UpdateItem"),
        ("UpdateItem", with(&keyed, &expected), "UpdateItem"),
        ("UpdateItem", with(&keyed, &update("REMOVE NAME")), "UpdateItem"),
        ("UpdateItem", with(&keyed, &value("SET NAME = :v")), "UpdateItem"),
        (
            "UpdateItem",
            with(&keyed, &value("SET score = :v REMOVE NAME")),
            "UpdateItem",
        ),
        (
            "UpdateItem",
            with(&keyed, &value("SET score = if_not_exists(NAME, :v)")),
            "UpdateItem",
        ),
        ("UpdateItem", with(&keyed, &value("ADD NAME :v")), "UpdateItem"),
        (
            "UpdateItem",
            with(&keyed, &json!({"AttributeUpdates": {"NAME": {"Action": "DELETE"}}})),
            "UpdateItem",
        ),
        ("UpdateItem", with(&keyed, &set), "UpdateItem"),
        ("DeleteItem", with(&keyed, &absent), "DeleteItem"),
        ("DeleteItem", with(&keyed, &either), "DeleteItem"),
        ("DeleteItem", with(&keyed, &expected), "DeleteItem"),
        ("GetItem", with(&keyed, &projection), "GetItem"),
        (
            "GetItem",
            with(&keyed, &json!({"AttributesToGet": ["NAME"]})),
            "GetItem",
        ),
        (
            "BatchGetItem",
            json!({"RequestItems": {"UserData": with(&json!({"Keys": [keyed["Key"]]}), &projection)}}),
            "BatchGetItem",
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"UserData": [{"PutRequest": {"Item": written}}]}}),
            "BatchWriteItem",
        ),
        ("Query", with(&query, &filter), "Query"),
        ("Query", with(&query, &filters), "Query"),
        ("Query", with(&query, &projection), "Query"),
        (
            "Query",
            with(
                &table,
                &json!({"KeyConditions": {"userId": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "u1"}]}},
            "QueryFilter": legacy}),
            ),
            "Query",
        ),
        ("Scan", with(&table, &filter), "Scan"),
        ("Scan", with(&table, &filters), "Scan"),
        ("Scan", with(&table, &projection), "Scan"),
        ("Scan", with(&table, &json!({"ScanFilter": legacy})), "Scan"),
        ("Scan", with(&table, &json!({"AttributesToGet": ["NAME"]})), "Scan"),
        (
            "TransactGetItems",
            json!({"TransactItems": [{"Get": keyed}, {"Get": with(&with(&keyed, &projection),
            &json!({"Key": {"userId": {"S": "u2"}}}))}]}),
            "GetItem",
        ),
        ("TransactWriteItems", write("Put", &put, &absent), "PutItem"),
        (
            "TransactWriteItems",
            write("Put", &table, &json!({"Item": written})),
            "PutItem",
        ),
        (
            "TransactWriteItems",
            write("Update", &with(&keyed, &update("REMOVE score")), &absent),
            "UpdateItem",
        ),
        (
            "TransactWriteItems",
            write("Update", &keyed, &update("REMOVE NAME")),
            "UpdateItem",
        ),
        ("TransactWriteItems", write("Delete", &keyed, &absent), "DeleteItem"),
        (
            "TransactWriteItems",
            write("ConditionCheck", &keyed, &absent),
            "ConditionCheckItem",
        ),
        (
            "TransactWriteItems",
            write("ConditionCheck", &keyed, &either),
            "ConditionCheckItem",
        ),
        (
            "ExecuteStatement",
            statement("SELECT userId, NAME FROM UserData WHERE userId = 'u1'"),
            "PartiQLSelect",
        ),
        (
            "ExecuteStatement",
            statement("SELECT userId FROM UserData WHERE userId = 'u1' AND NAME IS MISSING"),
            "PartiQLSelect",
        ),
        (
            "ExecuteStatement",
            statement("UPDATE UserData SET NAME = 1 WHERE userId = 'u1'"),
            "PartiQLUpdate",
        ),
        (
            "ExecuteStatement",
            statement("UPDATE UserData SET score = 1 WHERE userId = 'u1' AND NAME IS MISSING"),
            "PartiQLUpdate",
        ),
        (
            "ExecuteStatement",
            statement("DELETE FROM UserData WHERE userId = 'u1' AND NAME IS MISSING"),
            "PartiQLDelete",
        ),
        (
            "ExecuteStatement",
            statement("INSERT INTO UserData VALUE {'userId': 'u1', 'NAME': 1}"),
            "PartiQLInsert",
        ),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": [
                statement("EXISTS(SELECT userId FROM UserData WHERE userId = 'u1' AND NAME IS MISSING)"),
                statement("UPDATE UserData SET score = 1 WHERE userId = 'u2'"),
            ]}),
            "PartiQLSelect",
        ),
    ];
    for (operation, body, action) in cases {
        let named = |name: &str| body.to_string().replace("NAME", name).parse::<Value>().unwrap();
        let (status, answer) = twin.call("u1", operation, &named("score"));
        let text = answer.to_string();
        assert!(
            status == 200 || !text.contains("not authorized"),
            "{operation} {body}: {text}"
        );
        twin.check("u1", operation, &named("salary"), Some(&implicit(action)));
    }
}

/// A body with more members.
fn with(body: &Value, members: &Value) -> Value {
    let mut body = body.clone();
    for (name, value) in members.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// The key attributes that a Query names are those of what it reads. Those of a filter count for an index as for a table.
#[test]
fn attributes_of_key_conditions() {
    let policy = json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*",
        "Condition": {"ForAllValues:StringEquals": {"dynamodb:Attributes": ["pk", "g"]}}}});
    let twin = Twin::with_user("u1", &json!({}), &policy);
    twin.create_table("Tab", ("pk", "sk"), Some("g"));
    twin.create_table("Other", ("id", "g"), Some("h"));
    twin.create_table("Third", ("pk", "g"), Some("h"));
    let query = |table: &str, index: Option<&str>, condition: &str| {
        let mut body = json!({"TableName": table, "KeyConditionExpression": condition, "ExpressionAttributeValues": {":v": {"S": "v"}}});
        if let Some(index) = index {
            body["IndexName"] = json!(index);
        }
        body
    };
    for (body, allowed) in [
        (query("Tab", None, "pk = :v"), true),
        (query("Tab", None, "pk = :v AND sk = :v"), false),
        (query("Tab", None, "pk = :v AND begins_with(sk, :v)"), false),
        (query("Tab", Some("by-g"), "g = :v"), true),
        (query("Other", None, "id = :v"), false),
        (query("Other", Some("by-h"), "h = :v"), false),
        (query("Third", None, "pk = :v AND g > :v"), true),
        (query("Third", Some("by-h"), "h = :v"), false),
    ] {
        let refusal = implicit("Query");
        twin.check("u1", "Query", &body, Some(refusal.as_str()).filter(|_| !allowed));
    }
    for (attribute, allowed) in [("pk", true), ("sk", false)] {
        let filter = json!({"FilterExpression": format!("attribute_exists({attribute})")});
        let scan = json!({"TableName": "Tab", "IndexName": "by-g"});
        for (operation, body) in [("Query", query("Tab", Some("by-g"), "g = :v")), ("Scan", scan)] {
            let refusal = implicit(operation);
            let refusal = Some(refusal.as_str()).filter(|_| !allowed);
            twin.check("u1", operation, &with(&body, &filter), refusal);
        }
    }
    let statement = json!({"Statement": "SELECT pk FROM Tab WHERE pk = 'v' AND sk = 'v'"});
    twin.check("u1", "ExecuteStatement", &statement, Some(&implicit("PartiQLSelect")));
}

/// A SearchVectors request carries no condition key of DynamoDB, whatever its members (docs/behavior: 07 3.4).
#[test]
fn a_search_has_no_keys_of_dynamodb() {
    let statement = |effect: &str, condition: Value| {
        let mut statement = json!({"Effect": effect, "Action": "dynamodb:SearchVectors", "Resource": "*"});
        if !condition.is_null() {
            statement["Condition"] = condition;
        }
        statement
    };
    let any = |key: &str, value: &str| json!({"ForAnyValue:StringEquals": {key: value}});
    let all = |key: &str, value: &str| json!({"ForAllValues:StringEquals": {key: value}});
    let absent = |key: &str| json!({"Null": {key: "true"}});
    let (attributes, leading) = ("dynamodb:Attributes", "dynamodb:LeadingKeys");
    let capacity = "dynamodb:ReturnConsumedCapacity";
    let everything = || statement("Allow", Value::Null);
    for (statements, allowed) in [
        (vec![everything()], true),
        (vec![statement("Allow", any(attributes, "name"))], false),
        (vec![statement("Allow", all(attributes, "other"))], true),
        (vec![statement("Allow", absent(attributes))], true),
        (vec![statement("Allow", absent(leading))], true),
        (vec![statement("Allow", absent(capacity))], true),
        (vec![statement("Allow", absent("dynamodb:Select"))], true),
        (vec![everything(), statement("Deny", any(attributes, "name"))], true),
        (vec![everything(), statement("Deny", any(leading, "a"))], true),
        (
            vec![
                everything(),
                statement("Deny", json!({"StringEquals": {capacity: "TOTAL"}})),
            ],
            true,
        ),
    ] {
        let policy = json!({"Version": "2012-10-17", "Statement": statements});
        let twin = Twin::with_user("ann", &json!({}), &policy);
        twin.root(
            "CreateTable",
            &json!({"TableName": "Tab", "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "VectorIndexes": [{"IndexName": "near", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2,
                    "DistanceFunction": "EUCLIDEAN", "Projection": {"ProjectionType": "ALL"}}]}),
        );
        let search = json!({"TableName": "Tab", "IndexName": "near", "TopK": 1, "SearchVector": [{"N": "1"}, {"N": "2"}],
            "ProjectionExpression": "#n", "ExpressionAttributeNames": {"#n": "name"}, "ReturnConsumedCapacity": "TOTAL"});
        let refusal = implicit("SearchVectors");
        twin.check(
            "ann",
            "SearchVectors",
            &search,
            Some(refusal.as_str()).filter(|_| !allowed),
        );
    }
}

/// A transaction that is repeated with its token is refused if the caller may no longer do one of its actions.
#[test]
fn every_action_of_a_repeated_transaction_is_authorized() {
    let put = |pk: &str| json!({"Put": {"TableName": "Tab", "Item": {"pk": {"S": pk}}}});
    let insert = |pk: &str| json!({"Statement": format!("INSERT INTO Tab VALUE {{'pk': '{pk}'}}")});
    for (operation, member, actions) in [
        ("TransactWriteItems", "TransactItems", ["a", "b", "c"].map(put)),
        ("ExecuteTransaction", "TransactStatements", ["a", "b", "c"].map(insert)),
    ] {
        let body = json!({"ClientRequestToken": "again", member: actions});
        let twin = Twin::with_user("ann", &json!({}), &allow("*"));
        twin.create_table("Tab", ("pk", ""), None);
        assert_eq!(twin.call("ann", operation, &body).0, 200, "{operation}");
        for (denied, status) in [("a", 400), ("b", 400), ("c", 400), ("d", 200)] {
            let deny = json!({"Version": "2012-10-17", "Statement": {"Effect": "Deny", "Action": "*", "Resource": "*",
                "Condition": {"ForAnyValue:StringEquals": {"dynamodb:LeadingKeys": [denied]}}}});
            let keys = json!([{"accessKeyId": "ann", "secretAccessKey": "s"}]);
            let user = json!({"policies": [allow("*"), deny], "accessKeys": keys});
            twin.configure(&json!({"accounts": {ACCOUNT: {"users": {"ann": user}}}}));
            let (found, answer) = twin.call("ann", operation, &body);
            assert_eq!(found, status, "{operation} {denied}: {answer}");
            let refusal = if status == 400 { DENY } else { "" };
            let text = answer["Message"].as_str().unwrap_or_default();
            assert!(text.ends_with(refusal), "{operation} {denied}: {answer}");
        }
    }
}

/// A vector index is a resource of its own (docs/behavior: 07 2.1).
#[test]
fn searches_need_the_vector_index() {
    let table = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab");
    for (resource, allowed) in [
        ("", false),
        ("/index/near", true),
        ("/index/*", true),
        ("*", true),
        ("/index/far", false),
    ] {
        let policy = json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "dynamodb:SearchVectors",
            "Resource": [format!("{table}{resource}")]}});
        let twin = Twin::with_user("u1", &json!({}), &policy);
        let index = |name: &str| {
            json!({"IndexName": name, "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2,
                "DistanceFunction": "COSINE", "Projection": {"ProjectionType": "ALL"}})
        };
        twin.root(
            "CreateTable",
            &json!({"TableName": "Tab", "BillingMode": "PAY_PER_REQUEST", "VectorIndexes": [index("near"), index("far")],
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}),
        );
        let search =
            json!({"TableName": "Tab", "IndexName": "near", "TopK": 1, "SearchVector": [{"N": "1"}, {"N": "2"}]});
        let refusal = format!(
            "is not authorized to perform: dynamodb:SearchVectors on resource: {table}/index/near because no identity-based \
             policy allows the dynamodb:SearchVectors action"
        );
        twin.check("u1", "SearchVectors", &search, (!allowed).then_some(refusal.as_str()));
    }
}
