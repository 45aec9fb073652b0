//! Least-privilege policies of recorded requests.

use crate::access::twin::{ACCOUNT, REGION, Twin};
use dynatwin_engine::faults::{Rule, Verdict};
use dynatwin_engine::http::HttpRequest;
use dynatwin_engine::{Caller, ErrorKind};
use serde_json::{Value, json};

fn control(twin: &Twin, method: &str, path: &str) -> Value {
    twin.control(method, path, &Value::Null)
}

const USER: &str = "arn:aws:iam::123456789012:user/ann";

fn key(user: &str) -> Value {
    json!({"pk": {"S": user}})
}

/// Requests of all kinds about table `Tab`, which another one about table `Other` is no part of.
fn run() -> Vec<(&'static str, Value)> {
    let put = json!({"TableName": "Tab", "Item": key("a")});
    let get = json!({"TableName": "Tab", "Key": key("a")});
    let check = json!({"TableName": "Tab", "Key": key("z"), "ConditionExpression": "attribute_not_exists(pk)"});
    let query = json!({"TableName": "Tab", "IndexName": "by-owner", "KeyConditionExpression": "#o = :o",
        "ExpressionAttributeNames": {"#o": "owner"}, "ExpressionAttributeValues": {":o": {"S": "ann"}}});
    vec![
        ("PutItem", put.clone()),
        ("GetItem", get.clone()),
        ("UpdateItem", json!({"TableName": "Tab", "Key": key("b")})),
        ("Query", query),
        ("Scan", json!({"TableName": "Tab"})),
        (
            "BatchGetItem",
            json!({"RequestItems": {"Tab": {"Keys": [key("a"), key("b")]}}}),
        ),
        (
            "TransactWriteItems",
            json!({"TransactItems": [{"Put": put}, {"ConditionCheck": check}]}),
        ),
        ("TransactGetItems", json!({"TransactItems": [{"Get": get}]})),
        (
            "ExecuteStatement",
            json!({"Statement": "SELECT * FROM Tab WHERE pk = 'a'"}),
        ),
        (
            "ExecuteStatement",
            json!({"Statement": "INSERT INTO Tab VALUE {'pk': 'c'}"}),
        ),
        ("DescribeTable", json!({"TableName": "Tab"})),
        ("ListTables", json!({})),
        (
            "TagResource",
            json!({"ResourceArn": format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab"), "Tags": [{"Key": "a", "Value": "b"}]}),
        ),
    ]
}

/// Requests that the run has not made.
fn others() -> Vec<(&'static str, Value)> {
    vec![
        ("DeleteItem", json!({"TableName": "Tab", "Key": key("a")})),
        ("GetItem", json!({"TableName": "Other", "Key": key("a")})),
        (
            "Query",
            json!({"TableName": "Tab", "KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}}),
        ),
        ("Scan", json!({"TableName": "Tab", "IndexName": "by-owner"})),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"Tab": [{"PutRequest": {"Item": key("a")}}]}}),
        ),
        (
            "ExecuteStatement",
            json!({"Statement": "DELETE FROM Tab WHERE pk = 'a'"}),
        ),
        ("DeleteTable", json!({"TableName": "Tab"})),
        ("ListStreams", json!({})),
    ]
}

fn twin(policies: &Value) -> Twin {
    let twin = Twin::with_user("ann", &json!({}), policies);
    for table in ["Tab", "Other"] {
        twin.create_table(table, ("pk", ""), Some("owner"));
    }
    twin
}

fn send(twin: &Twin, access_key: &str, requests: Vec<(&'static str, Value)>) {
    for (operation, body) in requests {
        let (status, answer) = twin.call(access_key, operation, &body);
        assert_eq!(status, 200, "{operation}: {answer}");
    }
}

/// The policy that is derived for a principal, with and without access control, allows the run and nothing else.
fn check_derived(policy: &Value) {
    let derived = twin(policy);
    send(&derived, "ann", run());
    for (operation, body) in others() {
        let (status, answer) = derived.call("ann", operation, &body);
        let text = answer["Message"].as_str().unwrap_or_default();
        assert!(
            status == 400 && text.contains("is not authorized"),
            "{operation}: {answer} {policy:#}"
        );
    }
}

fn policy_of(report: &Value, principal: &str) -> Value {
    let found = report["principals"].as_array().unwrap().iter();
    let mut found = found.filter(|each| each["principal"] == principal);
    found.next().map_or(Value::Null, |each| each["policy"].clone())
}

fn everything() -> Value {
    json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}})
}

#[test]
fn a_derived_policy_allows_the_run_and_nothing_else() {
    let twin = twin(&everything());
    control(&twin, "POST", "watch");
    send(&twin, "ann", run());
    let report = control(&twin, "GET", "access/report");
    assert_eq!(report["remembered"], run().len(), "{report:#}");
    check_derived(&policy_of(&report, USER));
    // Restricted to the keys of the run, it allows the run too, and no other key.
    let report = control(
        &twin,
        "GET",
        "access/report?leadingKeys=true&principal=arn:aws:iam::123456789012:user/ann",
    );
    let policy = policy_of(&report, USER);
    check_derived(&policy);
    let other = json!({"TableName": "Tab", "Key": key("b")});
    assert_eq!(self::twin(&policy).call("ann", "GetItem", &other).0, 400, "{policy:#}");
    assert_eq!(
        control(&twin, "GET", "access/report?principal=nobody")["principals"],
        json!([])
    );
}

/// A policy has only the conditions that were asked for, and only those that the requests determine.
#[test]
fn a_derived_policy_has_the_requested_conditions() {
    let table = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab");
    let sets = "ForAllValues:StringEquals";
    let get = json!({"TableName": "Tab", "Key": key("a"), "ProjectionExpression": "price"});
    let batch = json!({"RequestItems": {"Tab": {"Keys": [key("a"), key("b")]}}});
    let scan = json!({"TableName": "Tab"});
    let delete = json!({"TableName": "Tab", "Key": key("a"), "ReturnValues": "ALL_OLD"});
    let describe = json!({"TableName": "Tab"});
    let keys = json!({"dynamodb:LeadingKeys": ["a"]});
    let known = json!({"dynamodb:LeadingKeys": "false"});
    for (query, operation, request, condition) in [
        ("", "GetItem", &get, Value::Null),
        ("?leadingKeys=true", "GetItem", &get, json!({sets: keys, "Null": known})),
        (
            "?attributes=true",
            "GetItem",
            &get,
            json!({sets: {"dynamodb:Attributes": ["pk", "price"]}, "StringEquals": {"dynamodb:Select": ["SPECIFIC_ATTRIBUTES"]}}),
        ),
        (
            "?attributes=true&leadingKeys=true",
            "DeleteItem",
            &delete,
            json!({sets: {"dynamodb:LeadingKeys": ["a"], "dynamodb:Attributes": ["pk"]}, "Null": known,
                "StringEquals": {"dynamodb:ReturnValues": ["ALL_OLD"]}}),
        ),
        (
            "?leadingKeys=true",
            "BatchGetItem",
            &batch,
            json!({sets: {"dynamodb:LeadingKeys": ["a", "b"]}, "Null": known}),
        ),
        ("?leadingKeys=true", "Scan", &scan, Value::Null),
        (
            "?attributes=true&leadingKeys=true",
            "Scan",
            &scan,
            json!({"StringEquals": {"dynamodb:Select": ["ALL_ATTRIBUTES"]}}),
        ),
        (
            "?attributes=true&leadingKeys=true",
            "DescribeTable",
            &describe,
            Value::Null,
        ),
    ] {
        let twin = twin(&everything());
        control(&twin, "POST", "watch");
        send(&twin, "ann", vec![(operation, request.clone())]);
        let mut statement =
            json!({"Effect": "Allow", "Action": [format!("dynamodb:{operation}")], "Resource": [table]});
        if !condition.is_null() {
            statement["Condition"] = condition;
        }
        let report = control(&twin, "GET", &format!("access/report{query}"));
        assert_eq!(
            policy_of(&report, USER),
            json!({"Version": "2012-10-17", "Statement": [statement]}),
            "{operation} {query}"
        );
    }
}

/// Each kind of statement has its action, in each operation that executes statements.
#[test]
fn statements_have_used_the_actions_of_their_kinds() {
    for has_access in [false, true] {
        for (statement, action) in [
            ("INSERT INTO Tab VALUE {'pk': 'new'}", "dynamodb:PartiQLInsert"),
            ("UPDATE Tab SET v = 1 WHERE pk = 'a'", "dynamodb:PartiQLUpdate"),
            ("DELETE FROM Tab WHERE pk = 'a'", "dynamodb:PartiQLDelete"),
            ("SELECT * FROM Tab WHERE pk = 'a'", "dynamodb:PartiQLSelect"),
        ] {
            let each = json!({"Statement": statement});
            for (operation, body) in [
                ("ExecuteStatement", each.clone()),
                ("BatchExecuteStatement", json!({"Statements": [each]})),
                ("ExecuteTransaction", json!({"TransactStatements": [each]})),
            ] {
                let twin = twin(&everything());
                send(
                    &twin,
                    "ann",
                    vec![("PutItem", json!({"TableName": "Tab", "Item": key("a")}))],
                );
                let (access_key, principal) = if has_access {
                    ("ann", USER)
                } else {
                    twin.engine.configure_access(None);
                    (ACCOUNT, ACCOUNT)
                };
                control(&twin, "POST", "watch");
                send(&twin, access_key, vec![(operation, body)]);
                let policy = policy_of(&control(&twin, "GET", "access/report"), principal);
                assert_eq!(
                    policy["Statement"][0]["Action"],
                    json!([action]),
                    "{operation} {has_access}: {policy:#}"
                );
            }
        }
    }
}

#[test]
fn without_access_control_a_principal_is_an_access_key() {
    let twin = twin(&everything());
    twin.engine.configure_access(None);
    for table in ["Tab", "Other"] {
        let body = json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "owner", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [{"IndexName": "by-owner", "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}]});
        assert_eq!(twin.call("210987654321", "CreateTable", &body).0, 200);
    }
    control(&twin, "POST", "watch");
    let here = |(operation, body): (&'static str, Value)| {
        let body = body.to_string().replace(ACCOUNT, "210987654321");
        (operation, serde_json::from_str(&body).unwrap())
    };
    send(&twin, "210987654321", run().into_iter().map(here).collect());
    for query in ["", "?leadingKeys=true"] {
        let report = control(&twin, "GET", &format!("access/report{query}"));
        let policy = policy_of(&report, "210987654321")
            .to_string()
            .replace("210987654321", ACCOUNT);
        check_derived(&serde_json::from_str(&policy).unwrap());
    }
}

/// Without access control, the action and the partition keys of each entry come from the log.
#[test]
fn entries_of_the_log_have_actions_and_keys() {
    let twin = twin(&everything());
    twin.engine.configure_access(None);
    let account = "210987654321";
    let attributes = ["pk", "owner"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let index = |name: &str| json!({"IndexName": name, "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}});
    let near = json!({"IndexName": "near", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2, "DistanceFunction": "COSINE", "Projection": {"ProjectionType": "ALL"}});
    let mut by_key = near.clone();
    by_key["IndexName"] = json!("by-key");
    by_key["SearchSchema"] = json!([{"AttributeName": "pk", "SearchSchemaElementType": "HASH"}]);
    let mut both = index("by-both");
    both["KeySchema"] = ["pk", "owner"]
        .map(|name| json!({"AttributeName": name, "KeyType": "HASH"}))
        .into();
    let create = json!({"TableName": "Tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [index("by-owner")], "VectorIndexes": [near, by_key]});
    assert_eq!(twin.call(account, "CreateTable", &create).0, 200);
    let mut other = create.clone();
    other["TableName"] = json!("Both");
    other["GlobalSecondaryIndexes"] = json!([both]);
    assert_eq!(twin.call(account, "CreateTable", &other).0, 200);
    control(&twin, "POST", "watch");
    let sent = |kind: &str, member: &str, value: Value| json!({"TransactItems": [{kind: {"TableName": "Tab", member: value}}]});
    let check = json!({"TransactItems": [{"ConditionCheck": {"TableName": "Tab", "Key": key("a"), "ConditionExpression": "attribute_not_exists(pk)"}}]});
    let update =
        json!({"TransactItems": [{"Update": {"TableName": "Tab", "Key": key("b"), "UpdateExpression": "REMOVE n"}}]});
    let statement = |text: &str| json!({"TransactStatements": [{"Statement": text}]});
    let query = |condition: &str| json!({"TableName": "Tab", "KeyConditionExpression": condition, "ExpressionAttributeValues": {":p": {"S": "a"}}});
    for (operation, body, action, keys) in [
        (
            "TransactWriteItems",
            sent("Put", "Item", key("a")),
            "PutItem",
            json!(["a"]),
        ),
        ("TransactWriteItems", update, "UpdateItem", json!(["b"])),
        (
            "TransactWriteItems",
            sent("Delete", "Key", key("a")),
            "DeleteItem",
            json!(["a"]),
        ),
        ("TransactWriteItems", check, "ConditionCheckItem", json!(["a"])),
        (
            "TransactGetItems",
            sent("Get", "Key", key("c")),
            "GetItem",
            json!(["c"]),
        ),
        (
            "ExecuteTransaction",
            statement("INSERT INTO Tab VALUE {'pk': 'd'}"),
            "PartiQLInsert",
            json!(["d"]),
        ),
        (
            "ExecuteTransaction",
            statement("UPDATE Tab SET n = 1 WHERE pk = 'd'"),
            "PartiQLUpdate",
            json!(["d"]),
        ),
        (
            "ExecuteTransaction",
            statement("DELETE FROM Tab WHERE pk = 'd'"),
            "PartiQLDelete",
            json!(["d"]),
        ),
        (
            "ExecuteTransaction",
            statement("SELECT * FROM Tab WHERE pk = 'd'"),
            "PartiQLSelect",
            json!(["d"]),
        ),
        ("Query", query("pk = :p"), "Query", json!(["a"])),
        // That of an index is its own, and not the table's.
        (
            "Query",
            json!({"TableName": "Tab", "IndexName": "by-owner", "KeyConditionExpression": "#o = :o",
                "ExpressionAttributeNames": {"#o": "owner"}, "ExpressionAttributeValues": {":o": {"S": "b"}}}),
            "Query",
            json!(["b"]),
        ),
        // Of several attributes the first is the leading key.
        (
            "Query",
            json!({"TableName": "Both", "IndexName": "by-both", "KeyConditionExpression": "pk = :p AND #o = :o",
                "ExpressionAttributeNames": {"#o": "owner"}, "ExpressionAttributeValues": {":p": {"S": "a"}, ":o": {"S": "b"}}}),
            "Query",
            json!(["a"]),
        ),
        ("Scan", json!({"TableName": "Tab"}), "Scan", Value::Null),
        (
            "SearchVectors",
            json!({"TableName": "Tab", "IndexName": "near", "SearchVector": [{"N": "1"}, {"N": "0"}], "TopK": 1}),
            "SearchVectors",
            Value::Null,
        ),
        // A search has no leading keys, though its index may be partitioned by the table's key.
        (
            "SearchVectors",
            json!({"TableName": "Tab", "IndexName": "by-key", "SearchVector": [{"N": "1"}, {"N": "0"}], "TopK": 1,
                "SearchConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}}),
            "SearchVectors",
            Value::Null,
        ),
    ] {
        control(&twin, "DELETE", "requests");
        let (status, answer) = twin.call(account, operation, &body);
        assert_eq!(status, 200, "{operation}: {answer}");
        let report = control(&twin, "GET", "access/report?leadingKeys=true");
        let policy = policy_of(&report, account);
        let [statement] = &policy["Statement"].as_array().unwrap()[..] else {
            panic!("{operation}: {policy:#}");
        };
        assert_eq!(statement["Action"], json!([format!("dynamodb:{action}")]));
        let found = &statement["Condition"]["ForAllValues:StringEquals"]["dynamodb:LeadingKeys"];
        assert_eq!(*found, keys, "{operation}: {policy:#}");
    }
}

#[test]
fn refused_requests_have_used_no_permission() {
    let twin = twin(
        &json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "dynamodb:PartiQLSelect", "Resource": "*",
        "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "a"}}}}),
    );
    control(&twin, "POST", "watch");
    twin.call("ann", "Scan", &json!({"TableName": "Tab"}));
    let select = |key: &str| json!({"Statement": format!("SELECT * FROM Tab WHERE pk = '{key}'")});
    twin.call(
        "ann",
        "BatchExecuteStatement",
        &json!({"Statements": [select("a"), select("b")]}),
    );
    let report = control(&twin, "GET", "access/report?leadingKeys=true");
    let statements = &policy_of(&report, USER)["Statement"];
    assert_eq!(statements.as_array().unwrap().len(), 1, "{report:#}");
    assert_eq!(statements[0]["Action"], json!(["dynamodb:PartiQLSelect"]));
    assert_eq!(
        statements[0]["Condition"]["ForAllValues:StringEquals"]["dynamodb:LeadingKeys"],
        json!(["a"])
    );
}

/// A transaction that is refused for one of its actions has used no permission for the others.
#[test]
fn refused_transactions_have_used_no_permission() {
    let twin = twin(
        &json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "dynamodb:PutItem",
            "Resource": format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab")}}),
    );
    control(&twin, "POST", "watch");
    let put = |table: &str| json!({"Put": {"TableName": table, "Item": key("a")}});
    for tables in [["Tab", "Other"], ["Other", "Tab"]] {
        let body = json!({"TransactItems": tables.map(put)});
        assert_eq!(twin.call("ann", "TransactWriteItems", &body).0, 400);
    }
    let report = control(&twin, "GET", "access/report");
    assert_eq!(policy_of(&report, USER), Value::Null, "{report:#}");
}

/// A request that the policies allow and a fault rule denies has used no permission.
#[test]
fn requests_that_a_rule_denies_have_used_no_permission() {
    let twin = twin(&everything());
    control(&twin, "POST", "watch");
    let rule = Rule::new(Verdict::Exception(ErrorKind::AccessDenied)).first(1);
    twin.engine.add_fault(rule).unwrap();
    let get = json!({"TableName": "Tab", "Key": key("a")});
    for (status, statements) in [(400, 0), (200, 1)] {
        assert_eq!(twin.call("ann", "GetItem", &get).0, status);
        let policy = policy_of(&control(&twin, "GET", "access/report"), USER);
        assert_eq!(
            policy["Statement"].as_array().map_or(0, Vec::len),
            statements,
            "{policy:#}"
        );
    }
}

/// A request that the policies allow has used its permissions, whatever else it fails for.
#[test]
fn failed_requests_have_used_their_permissions() {
    let missing = json!({"TableName": "Tab", "Key": key("z"), "ConditionExpression": "attribute_exists(pk)"});
    let put = json!({"TableName": "Tab", "Item": key("a"), "ConditionExpression": "attribute_exists(pk)"});
    let check = json!({"TransactItems": [{"ConditionCheck": missing}]});
    for (operation, body, action) in [
        ("DeleteItem", &missing, "dynamodb:DeleteItem"),
        ("PutItem", &put, "dynamodb:PutItem"),
        ("TransactWriteItems", &check, "dynamodb:ConditionCheckItem"),
    ] {
        let twin = twin(&everything());
        control(&twin, "POST", "watch");
        assert_eq!(twin.call("ann", operation, body).0, 400, "{operation}");
        let policy = policy_of(&control(&twin, "GET", "access/report"), USER);
        assert_eq!(policy["Statement"][0]["Action"], json!([action]), "{policy:#}");
    }
}

/// A transaction that is repeated with its token needs the same permissions as the first time.
#[test]
fn a_repeated_transaction_has_used_the_same_permissions() {
    let twin = twin(&everything());
    control(&twin, "POST", "watch");
    let check = json!({"TableName": "Tab", "Key": key("z"), "ConditionExpression": "attribute_not_exists(pk)"});
    let actions = json!([{"Put": {"TableName": "Tab", "Item": key("a")}}, {"ConditionCheck": check}]);
    let body = json!({"ClientRequestToken": "again", "TransactItems": actions});
    let reports = [0, 1].map(|_| {
        send(&twin, "ann", vec![("TransactWriteItems", body.clone())]);
        policy_of(&control(&twin, "GET", "access/report"), USER)
    });
    assert_eq!(reports[0], reports[1]);
    assert_ne!(reports[0], Value::Null);
}

/// An action is restricted to partition keys only if each of its requests names one.
#[test]
fn statements_that_scan_lift_the_restriction_to_partition_keys() {
    let [one, several] =
        ["pk = 'a'", "pk IN ['b', 'c']"].map(|condition| format!("SELECT * FROM Tab WHERE {condition}"));
    let scan = "SELECT * FROM Tab".to_owned();
    let filtered = "SELECT * FROM Tab WHERE pk > 'a'".to_owned();
    for (statements, keys) in [
        (vec![&one], json!(["a"])),
        (vec![&one, &several], json!(["a", "b", "c"])),
        (vec![&scan], Value::Null),
        (vec![&one, &scan], Value::Null),
        (vec![&scan, &one], Value::Null),
        (vec![&one, &filtered, &several], Value::Null),
    ] {
        let twin = twin(&everything());
        control(&twin, "POST", "watch");
        let requests = || {
            statements
                .iter()
                .map(|text| ("ExecuteStatement", json!({"Statement": text})))
        };
        send(&twin, "ann", requests().collect());
        let policy = policy_of(&control(&twin, "GET", "access/report?leadingKeys=true"), USER);
        let condition = &policy["Statement"][0]["Condition"]["ForAllValues:StringEquals"];
        assert_eq!(condition["dynamodb:LeadingKeys"], keys, "{statements:?}: {policy:#}");
        send(&self::twin(&policy), "ann", requests().collect());
    }
}

/// Restricted to attributes, the policy allows the run, and no other attributes, not even by returning whole items.
#[test]
fn attributes_are_restricted_with_what_is_returned() {
    let run = || {
        let get = json!({"TableName": "Tab", "Key": key("a"), "ProjectionExpression": "#o", "ExpressionAttributeNames": {"#o": "owner"}});
        let scan =
            json!({"TableName": "Tab", "ProjectionExpression": "pk", "FilterExpression": "attribute_exists(price)"});
        let update = json!({"TableName": "Tab", "Key": key("a"), "UpdateExpression": "SET #o = :o", "ReturnValues": "UPDATED_NEW",
            "ExpressionAttributeNames": {"#o": "owner"}, "ExpressionAttributeValues": {":o": {"S": "ann"}}});
        let select = json!({"Statement": "SELECT owner FROM Tab WHERE pk = 'a'"});
        vec![
            ("GetItem", get),
            ("Scan", scan),
            ("UpdateItem", update),
            ("ExecuteStatement", select),
            ("DescribeTable", json!({"TableName": "Tab"})),
        ]
    };
    let allowing = twin(&everything());
    control(&allowing, "POST", "watch");
    send(&allowing, "ann", run());
    let report = control(&allowing, "GET", "access/report?attributes=true&leadingKeys=true");
    let policy = policy_of(&report, USER);
    let derived = twin(&policy);
    send(&derived, "ann", run());
    let get = |members: Value| {
        let mut body = json!({"TableName": "Tab", "Key": key("a")});
        body.as_object_mut()
            .unwrap()
            .extend(members.as_object().unwrap().clone());
        body
    };
    let update = |set: &str, returned: &str| {
        get(
            json!({"UpdateExpression": format!("SET {set} = :o"), "ReturnValues": returned, "ExpressionAttributeValues": {":o": {"S": "x"}}}),
        )
    };
    for (operation, body) in [
        ("GetItem", get(json!({}))),
        ("GetItem", get(json!({"ProjectionExpression": "secret"}))),
        ("Scan", json!({"TableName": "Tab"})),
        ("Scan", json!({"TableName": "Tab", "ProjectionExpression": "secret"})),
        ("Scan", json!({"TableName": "Tab", "Select": "COUNT"})),
        ("UpdateItem", update("secret", "UPDATED_NEW")),
        ("UpdateItem", update("secret", "ALL_NEW")),
        (
            "UpdateItem",
            get(json!({"UpdateExpression": "SET #o = :o", "ReturnValues": "ALL_NEW",
                "ExpressionAttributeNames": {"#o": "owner"}, "ExpressionAttributeValues": {":o": {"S": "ann"}}})),
        ),
        (
            "ExecuteStatement",
            json!({"Statement": "SELECT * FROM Tab WHERE pk = 'a'"}),
        ),
        (
            "ExecuteStatement",
            json!({"Statement": "SELECT secret FROM Tab WHERE pk = 'a'"}),
        ),
    ] {
        let (status, answer) = derived.call("ann", operation, &body);
        let text = answer["Message"].as_str().unwrap_or_default();
        assert!(
            status == 400 && text.contains("is not authorized"),
            "{operation} {body}: {answer} {policy:#}"
        );
    }
}

/// The decision of an explanation, and its statements as policy, number, id, effect and whether it applies.
fn explained(twin: &Twin, action: &str) -> (bool, Value, Vec<String>) {
    let question = json!({"principal": USER, "action": action, "resource": format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab")});
    let answer = twin.control("POST", "access/explain", &question);
    let evaluation = &answer["evaluations"][0];
    let statements = evaluation["statements"].as_array().unwrap().iter();
    let short = |statement: &Value| {
        let [policy, effect, sid] = ["policyType", "effect", "sid"].map(|name| statement[name].as_str().unwrap_or("-"));
        format!(
            "{policy} {} {sid} {effect} {}",
            statement["statement"], statement["applies"]
        )
    };
    let decided = evaluation["decidedBy"].clone();
    (evaluation["allowed"] == true, decided, statements.map(short).collect())
}

/// An explained session has all of its tags, and a condition key all of its values.
#[test]
fn an_explanation_has_all_tags_and_values() {
    let twin = twin(&everything());
    let allows = |condition: Value, tags: Value, keys: Value| {
        let statement =
            json!({"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*", "Condition": condition});
        let policy = json!({"Version": "2012-10-17", "Statement": statement});
        let session = json!({"name": "s1", "federated": true, "tags": tags, "policies": policy});
        let question = json!({"principal": USER, "session": session, "keys": keys,
            "action": "dynamodb:GetItem", "resource": "*"});
        twin.control("POST", "access/explain", &question)["allowed"] == true
    };
    let tagged = json!({"StringEquals": {"aws:PrincipalTag/team": "blue", "aws:PrincipalTag/level": "2"}});
    for (tags, allowed) in [
        (json!({"team": "blue", "level": "2"}), true),
        (json!({"level": "2", "team": "blue"}), true),
        (json!({"team": "blue", "level": "3"}), false),
        (json!({"team": "blue"}), false),
        (json!({"level": "2"}), false),
    ] {
        assert_eq!(allows(tagged.clone(), tags.clone(), json!({})), allowed, "{tags}");
    }
    let valued = json!({"ForAllValues:StringEquals": {"dynamodb:Attributes": ["a", "c"]}});
    for (values, allowed) in [
        (json!(["a"]), true),
        (json!(["c", "a"]), true),
        (json!(["a", "b"]), false),
        (json!(["b", "a"]), false),
    ] {
        let keys = json!({"dynamodb:Attributes": values});
        assert_eq!(allows(valued.clone(), json!({}), keys.clone()), allowed, "{keys}");
    }
}

/// Questions without an answer.
#[test]
fn unclear_questions_are_refused() {
    let twin = twin(&everything());
    let ask = |question: Value| {
        let answer = twin.engine.handle(&HttpRequest {
            method: "POST",
            target: "/_dynatwin/access/explain",
            headers: &[("host", "localhost"), ("content-type", "application/json")],
            body: question.to_string().as_bytes(),
        });
        assert_eq!(answer.status, 400, "{question}");
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        body["error"].as_str().unwrap().to_owned()
    };
    let resource = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab");
    for (question, text) in [
        (
            json!({"principal": USER, "action": "dynamodb:GetItems", "resource": resource}),
            "dynamodb:GetItems is not an action of DynamoDB.",
        ),
        (
            json!({"principal": USER, "action": "s3:GetObject", "resource": "*"}),
            "s3:GetObject is not an action of DynamoDB.",
        ),
        (
            json!({"principal": USER, "operation": "GetItems", "request": {}}),
            "There is no operation GetItems.",
        ),
        (
            json!({"principal": USER, "operation": "GetItem", "request": {"TableName": "Tab"}}),
            "The request does not reach authorization: 1 validation error detected: Value null at 'key' failed to satisfy constraint: Member must not be null",
        ),
        (
            json!({"principal": USER}),
            "explain requires operation and request, or action and resource.",
        ),
        (
            json!({"principal": USER, "operation": "GetItem", "action": "dynamodb:GetItem"}),
            "explain requires operation and request, or action and resource.",
        ),
        (
            json!({"action": "dynamodb:GetItem", "resource": resource}),
            "explain requires principal or accessKeyId.",
        ),
        (
            json!({"principal": USER, "accessKeyId": "ann", "action": "dynamodb:GetItem"}),
            "explain requires principal or accessKeyId.",
        ),
        (
            json!({"accessKeyId": "bob", "action": "dynamodb:GetItem"}),
            "There is no access key bob.",
        ),
    ] {
        assert_eq!(ask(question), text);
    }
    twin.engine.configure_access(None);
    assert_eq!(
        ask(json!({"principal": USER, "action": "dynamodb:GetItem", "resource": resource})),
        "Access control is not configured: everything is allowed."
    );
}

/// A request is explained as a whole, also after an entry that is refused.
#[test]
fn every_entry_of_a_request_is_explained() {
    let statement = json!({"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": "*"});
    let twin = twin(&json!({"Version": "2012-10-17", "Statement": statement}));
    let key = |key: &str| json!({"TableName": "Tab", "Key": {"pk": {"S": key}}});
    let put = json!({"TableName": "Tab", "Item": {"pk": {"S": "b"}}});
    let actions = json!([{"Delete": key("a")}, {"Put": put}, {"Delete": key("c")}]);
    let question = json!({"principal": USER, "operation": "TransactWriteItems", "request": {"TransactItems": actions}});
    control(&twin, "POST", "watch");
    let answer = twin.control("POST", "access/explain", &question);
    assert_eq!(twin.engine.requests_seen(), 0);
    let evaluations = answer["evaluations"].as_array().unwrap().iter();
    let allowed: Vec<&Value> = evaluations.map(|evaluation| &evaluation["allowed"]).collect();
    assert_eq!(allowed, [false, true, false], "{answer}");
}

/// A request is allowed if each of its entries is; its message is that of the first refused one.
#[test]
fn a_request_is_allowed_if_all_its_entries_are() {
    let arn = |table: &str| format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}");
    let actions = ["dynamodb:BatchGetItem", "dynamodb:GetItem"];
    let statement = json!({"Effect": "Allow", "Action": actions, "Resource": arn("Tab")});
    let twin = twin(&json!({"Version": "2012-10-17", "Statement": statement}));
    twin.create_table("Third", ("pk", ""), None);
    for (tables, refused) in [
        (&["Tab"][..], None),
        (&["Other"], Some("Other")),
        (&["Tab", "Other"], Some("Other")),
        (&["Other", "Tab"], Some("Other")),
        (&["Tab", "Other", "Third"], Some("Other")),
        (&["Tab", "Third", "Other"], Some("Third")),
        (&["Third", "Tab", "Other"], Some("Third")),
    ] {
        let get = |table: &&str| json!({"Get": {"TableName": table, "Key": key("a")}});
        let gets: Vec<Value> = tables.iter().map(get).collect();
        // The members of a JSON value are sorted, those of a request are not.
        let keys = tables
            .iter()
            .map(|table| format!("{table:?}: {{\"Keys\": [{}]}}", key("a")));
        let batch = format!("{{\"RequestItems\": {{{}}}}}", keys.collect::<Vec<_>>().join(", "));
        for (operation, action, request) in [
            ("BatchGetItem", "BatchGetItem", batch),
            (
                "TransactGetItems",
                "GetItem",
                json!({"TransactItems": gets}).to_string(),
            ),
        ] {
            let question = format!("{{\"principal\": {USER:?}, \"operation\": {operation:?}, \"request\": {request}}}");
            let answer = twin.engine.handle(&HttpRequest {
                method: "POST",
                target: "/_dynatwin/access/explain",
                headers: &[("host", "localhost"), ("content-type", "application/json")],
                body: question.as_bytes(),
            });
            let answer: Value = serde_json::from_slice(&answer.body).unwrap();
            let message = refused.map(|table| {
                format!(
                    "User: {USER} is not authorized to perform: dynamodb:{action} on resource: {} because no identity-based policy allows the dynamodb:{action} action",
                    arn(table)
                )
            });
            assert_eq!(answer["allowed"], refused.is_none(), "{question}: {answer}");
            assert_eq!(answer["message"].as_str(), message.as_deref(), "{question}: {answer}");
        }
    }
}

#[test]
fn an_explanation_numbers_the_statements_from_one() {
    let statement = |sid: &str, effect: &str, action: &str| json!({"Sid": sid, "Effect": effect, "Action": action, "Resource": "*"});
    let statements = [
        statement("Reads", "Allow", "dynamodb:GetItem"),
        statement("Writes", "Allow", "dynamodb:PutItem"),
        statement("NoDeletes", "Deny", "dynamodb:DeleteItem"),
    ];
    let twin = twin(&json!({"Version": "2012-10-17", "Statement": statements}));
    for (action, allowed, place, sid) in [
        ("dynamodb:GetItem", true, 1, "Reads"),
        ("dynamodb:PutItem", true, 2, "Writes"),
        ("dynamodb:DeleteItem", false, 3, "NoDeletes"),
        ("dynamodb:Query", false, 0, ""),
    ] {
        let (found, decided, listed) = explained(&twin, action);
        assert_eq!(found, allowed, "{action}");
        let [number, name] = ["statement", "sid"].map(|member| decided.get(member).cloned().unwrap_or_default());
        let expect = if place == 0 {
            (Value::Null, Value::Null)
        } else {
            (json!(place), json!(sid))
        };
        assert_eq!((number, name), expect, "{action}");
        let expect: Vec<String> = [(1, "Reads Allow"), (2, "Writes Allow"), (3, "NoDeletes Deny")]
            .iter()
            .map(|(at, name)| format!("identity-based policy {at} {name} {}", *at == place))
            .collect();
        assert_eq!(listed, expect, "{action}");
    }
}

/// For each condition of each statement, an explanation has its operator, its key and whether it holds.
#[test]
fn an_explanation_has_every_condition() {
    let (team, level) = ("aws:PrincipalTag/team", "aws:PrincipalTag/level");
    let statement = |condition: Value| json!({"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*", "Condition": condition});
    let statements = [
        statement(
            json!({"NumericLessThan": {level: "3"}, "StringEquals": {team: "blue"}, "StringLike": {team: "*e*"}}),
        ),
        statement(json!({"StringEquals": {level: "1", team: ["red", "green"]}})),
        json!({"Effect": "Deny", "Action": "dynamodb:PutItem", "Resource": "*"}),
    ];
    let conditions = [
        &[("NumericLessThan", level), ("StringEquals", team), ("StringLike", team)][..],
        &[("StringEquals", level), ("StringEquals", team)],
        &[],
    ];
    let policy = json!({"Version": "2012-10-17", "Statement": statements});
    for (tags, expect) in [
        (
            json!({"team": "blue", "level": "1"}),
            [&[true, true, true][..], &[true, false]],
        ),
        (
            json!({"team": "blue", "level": "3"}),
            [&[false, true, true], &[false, false]],
        ),
        (
            json!({"team": "red", "level": "1"}),
            [&[true, false, true], &[true, true]],
        ),
        (
            json!({"team": "pink", "level": "1"}),
            [&[true, false, false], &[true, false]],
        ),
        (json!({"team": "green"}), [&[false, false, true], &[false, true]]),
    ] {
        let user = json!({"tags": tags, "policies": [policy]});
        let twin = Twin::new(&json!({"accounts": {ACCOUNT: {"users": {"ann": user}}}}));
        let question = json!({"principal": USER, "action": "dynamodb:GetItem", "resource": "*"});
        let answer = twin.control("POST", "access/explain", &question);
        let evaluation = &answer["evaluations"][0];
        let holds = expect.into_iter().chain([&[][..]]);
        let expect: Vec<Value> = conditions
            .iter()
            .zip(holds.clone())
            .map(|(conditions, holds)| {
                let each = conditions.iter().zip(holds);
                each.map(|((operator, key), holds)| json!({"operator": operator, "key": key, "holds": holds}))
                    .collect()
            })
            .collect();
        let found = evaluation["statements"].as_array().unwrap().iter();
        let found: Vec<Value> = found.map(|statement| statement["conditions"].clone()).collect();
        assert_eq!(found, expect, "{tags}");
        let allowed = holds.take(2).any(|holds| holds.iter().all(|holds| *holds));
        assert_eq!(evaluation["allowed"], allowed, "{tags}");
    }
}

/// A decision by the policy of a table or a stream names that policy by its resource.
#[test]
fn an_explanation_names_the_policy_of_a_resource() {
    let twin = twin(&everything());
    let stream = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
    let updated = twin.root(
        "UpdateTable",
        &json!({"TableName": "Tab", "StreamSpecification": stream}),
    );
    let stream = updated["TableDescription"]["LatestStreamArn"].as_str().unwrap();
    let arn = |table: &str| format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}");
    let resources = [
        (arn("Tab"), "dynamodb:GetItem"),
        (arn("Other"), "dynamodb:GetItem"),
        (stream.to_owned(), "dynamodb:GetRecords"),
    ];
    for (resource, action) in &resources {
        let statement = json!({"Effect": "Deny", "Principal": {"AWS": USER}, "Action": action, "Resource": resource});
        let policy = json!({"Version": "2012-10-17", "Statement": statement}).to_string();
        twin.root("PutResourcePolicy", &json!({"ResourceArn": resource, "Policy": policy}));
    }
    for (resource, action) in &resources {
        let question = json!({"principal": USER, "action": action, "resource": resource});
        let answer = twin.control("POST", "access/explain", &question);
        let evaluation = &answer["evaluations"][0];
        assert_eq!(evaluation["allowed"], false, "{evaluation:#}");
        let statements = evaluation["statements"].as_array().unwrap().iter();
        let listed = statements.filter(|statement| statement["policyType"] == "resource-based policy");
        for named in listed.chain([&evaluation["decidedBy"]]) {
            assert_eq!(named["policyType"], "resource-based policy", "{evaluation:#}");
            let name = format!("resource-based policy of {resource}");
            assert_eq!(named["policy"], name, "{evaluation:#}");
        }
    }
}

/// An explained request refers to the tables of its region.
#[test]
fn a_request_is_explained_in_its_region() {
    let twin = twin(&everything());
    let there = Caller {
        access_key: "ROOT".into(),
        region: "eu-west-1".into(),
    };
    let create = json!({"TableName": "There", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    let created = twin
        .engine
        .dispatch(&there, "CreateTable", create.to_string().as_bytes());
    assert_eq!(created.status, 200);
    for (region, table) in [(REGION, "Tab"), ("eu-west-1", "There")] {
        let question = json!({"principal": USER, "region": region, "operation": "GetItem",
            "request": {"TableName": table, "Key": key("a")}});
        let explained = twin.control("POST", "access/explain", &question);
        let evaluation = &explained["evaluations"][0];
        let arn = format!("arn:aws:dynamodb:{region}:{ACCOUNT}:table/{table}");
        assert_eq!(evaluation["resource"], arn, "{explained:#}");
        assert_eq!(evaluation["keys"]["aws:RequestedRegion"], region, "{explained:#}");
        assert_eq!(explained["allowed"], true, "{explained:#}");
    }
}

/// A key with a list of values has several, even if it is one.
#[test]
fn keys_of_a_question_are_explained_as_asked() {
    let twin = twin(&everything());
    for value in [json!("a"), json!(["a"]), json!(["a", "b"])] {
        let question =
            json!({"principal": USER, "keys": {"my:key": value}, "action": "dynamodb:GetItem", "resource": "*"});
        let explained = twin.control("POST", "access/explain", &question);
        assert_eq!(explained["evaluations"][0]["keys"]["my:key"], value, "{explained:#}");
    }
}

/// The policies of the session in a question are one document or a list. A federated session without any may do nothing.
#[test]
fn an_explained_session_has_its_policies() {
    let twin = twin(&everything());
    let only = |action: &str| json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": action, "Resource": "*"}});
    let (reads, writes) = (only("dynamodb:GetItem"), only("dynamodb:PutItem"));
    for (policies, allowed) in [
        (Value::Null, [false, false, false]),
        (json!([]), [false, false, false]),
        (reads.clone(), [true, false, false]),
        (json!([reads]), [true, false, false]),
        (json!([reads, writes]), [true, true, false]),
    ] {
        let mut session = json!({"name": "s1", "federated": true});
        if !policies.is_null() {
            session["policies"] = policies.clone();
        }
        let found = ["GetItem", "PutItem", "Scan"].map(|action| {
            let question =
                json!({"principal": USER, "session": session, "action": format!("dynamodb:{action}"), "resource": "*"});
            twin.control("POST", "access/explain", &question)["allowed"] == true
        });
        assert_eq!(found, allowed, "{policies}");
    }
}

/// Without access control, requests about a table that was deleted since have used permissions on the ARN it had.
#[test]
fn requests_about_deleted_tables_have_used_their_permissions() {
    for (access_key, account) in [("210987654321", "210987654321"), ("ann", "000000000000")] {
        for region in [REGION, "eu-west-1"] {
            for is_deleted in [false, true] {
                let twin = twin(&everything());
                twin.engine.configure_access(None);
                let caller = Caller {
                    access_key: access_key.into(),
                    region: region.into(),
                };
                let send = |operation: &str, body: &Value| {
                    let answer = twin.engine.dispatch(&caller, operation, body.to_string().as_bytes());
                    assert_eq!(
                        answer.status,
                        200,
                        "{operation}: {}",
                        String::from_utf8_lossy(&answer.body)
                    );
                };
                let attributes = ["pk", "owner"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
                let index = json!({"IndexName": "by-owner", "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}});
                let create = json!({"TableName": "Tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
                    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "GlobalSecondaryIndexes": [index]});
                send("CreateTable", &create);
                control(&twin, "POST", "watch");
                send("GetItem", &json!({"TableName": "Tab", "Key": key("a")}));
                send("Scan", &json!({"TableName": "Tab", "IndexName": "by-owner"}));
                control(&twin, "POST", "unwatch");
                if is_deleted {
                    send("DeleteTable", &json!({"TableName": "Tab"}));
                }
                let policy = policy_of(&control(&twin, "GET", "access/report"), access_key);
                let table = format!("arn:aws:dynamodb:{region}:{account}:table/Tab");
                let expect = [
                    ("dynamodb:GetItem", table.clone()),
                    ("dynamodb:Scan", format!("{table}/index/by-owner")),
                ];
                for (action, resource) in expect {
                    let statements = policy["Statement"].as_array().unwrap();
                    let used = statements
                        .iter()
                        .find(|statement| statement["Action"].to_string().contains(action));
                    let found = used.map(|statement| statement["Resource"].clone());
                    assert_eq!(found, Some(json!([resource])), "deleted: {is_deleted}, {policy:#}");
                }
            }
        }
    }
}

/// Each principal with requests has a policy of its own, in the order of their names.
#[test]
fn a_report_has_every_principal() {
    let twin = twin(&everything());
    assert_eq!(control(&twin, "GET", "access/report")["watched"], false);
    control(&twin, "POST", "watch");
    let get = json!({"TableName": "Tab", "Key": key("a")});
    send(&twin, "ann", vec![("GetItem", get)]);
    send(&twin, "ROOT", vec![("Scan", json!({"TableName": "Tab"}))]);
    let report = control(&twin, "GET", "access/report");
    assert_eq!((&report["watched"], &report["remembered"]), (&json!(true), &json!(2)));
    let principals = report["principals"].as_array().unwrap().iter();
    let principals: Vec<_> = principals
        .map(|each| (&each["principal"], &each["policy"]["Statement"][0]["Action"]))
        .collect();
    let root = json!(format!("arn:aws:iam::{ACCOUNT}:root"));
    assert_eq!(
        principals,
        [
            (&root, &json!(["dynamodb:Scan"])),
            (&json!(USER), &json!(["dynamodb:GetItem"])),
        ]
    );
}

/// Records are read from a stream, which needs no permission for its table.
#[test]
fn a_reader_of_a_stream_has_used_permissions_of_the_stream() {
    for has_access in [false, true] {
        let twin = twin(&everything());
        let stream = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
        let enable = json!({"TableName": "Tab", "StreamSpecification": stream});
        let arn = twin.call("ann", "UpdateTable", &enable).1["TableDescription"]["LatestStreamArn"].clone();
        let shards = twin.call("ann", "DescribeStream", &json!({"StreamArn": arn})).1;
        let shard = &shards["StreamDescription"]["Shards"][0]["ShardId"];
        let from = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
        let iterator = twin.call("ann", "GetShardIterator", &from).1["ShardIterator"].clone();
        let (access_key, principal) = if has_access {
            ("ann", USER)
        } else {
            twin.engine.configure_access(None);
            (ACCOUNT, ACCOUNT)
        };
        control(&twin, "POST", "watch");
        send(
            &twin,
            access_key,
            vec![("GetRecords", json!({"ShardIterator": iterator}))],
        );
        let policy = policy_of(&control(&twin, "GET", "access/report"), principal);
        let statement = json!({"Effect": "Allow", "Action": ["dynamodb:GetRecords"], "Resource": [arn]});
        assert_eq!(policy["Statement"], json!([statement]), "{has_access}: {policy:#}");
    }
}

/// An explained action on a table knows its tags and its policy, and each part of each statement that applies or does not.
#[test]
fn an_explained_action_knows_the_resource() {
    let keys = |id: &str| json!([{"accessKeyId": id, "secretAccessKey": "s"}]);
    let open = json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*",
        "Condition": {"StringEquals": {"aws:ResourceTag/stage": "open", "aws:RequestedRegion": REGION}}}});
    let users = json!({"ann": {"policies": [open], "accessKeys": keys("ann")}, "bob": {"accessKeys": keys("bob")}});
    let twin = Twin::new(&json!({"accounts": {ACCOUNT: {"accessKeys": keys("ROOT"), "users": users}}}));
    let arn = |table: &str| format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}");
    let grant = |user: &str| {
        json!({"Effect": "Allow", "Principal": {"AWS": format!("arn:aws:iam::{ACCOUNT}:user/{user}")},
            "Action": "dynamodb:GetItem", "Resource": arn("Granted")})
    };
    for table in ["Open", "Closed", "Granted"] {
        twin.create_table(table, ("pk", ""), None);
    }
    for (table, stage) in [("Open", "open"), ("Closed", "closed")] {
        let tags = json!([{"Key": "stage", "Value": stage}]);
        twin.root("TagResource", &json!({"ResourceArn": arn(table), "Tags": tags}));
    }
    let policy = json!({"Version": "2012-10-17", "Statement": [grant("bob"), grant("ann")]});
    let put = json!({"ResourceArn": arn("Granted"), "Policy": policy.to_string()});
    twin.root("PutResourcePolicy", &put);
    // Of each statement: whether it is for this principal, action and resource, and whether each condition holds.
    let (holds, fails) = ([true, true, true, true, true], [true, true, true, true, false]);
    for (resource, region, allowed, statements) in [
        (arn("Open"), REGION, true, vec![holds.to_vec()]),
        (arn("Closed"), REGION, false, vec![fails.to_vec()]),
        (
            arn("Granted"),
            REGION,
            true,
            vec![vec![false, true, true], vec![true, true, true], fails.to_vec()],
        ),
        (
            arn("Open"),
            "eu-west-1",
            false,
            vec![vec![true, true, true, false, true]],
        ),
        ("*".to_owned(), REGION, false, vec![fails.to_vec()]),
    ] {
        let question = json!({"principal": USER, "region": region, "action": "dynamodb:GetItem", "resource": resource});
        let answer = twin.control("POST", "access/explain", &question);
        assert_eq!(answer["allowed"], allowed, "{resource} {region}: {answer:#}");
        let found = answer["evaluations"][0]["statements"].as_array().unwrap().iter();
        let found: Vec<Vec<bool>> = found
            .map(|statement| {
                let parts = ["principal", "action", "resource"].map(|name| statement[name].as_bool().unwrap());
                let conditions = statement["conditions"].as_array().unwrap().iter();
                let conditions = conditions.map(|condition| condition["holds"].as_bool().unwrap());
                parts.into_iter().chain(conditions).collect()
            })
            .collect();
        assert_eq!(found, statements, "{resource} {region}: {answer:#}");
    }
}
