//! Statements that need several requests: pages by `NextToken`, and state shared with the other operations.

mod keys;
mod ranges;

use std::time::Duration;

use crate::common::{Choice, Twin, setting};
use dynatwin_engine::ErrorKind;
use dynatwin_engine::faults::{KeyMatch, Rule, Verdict};
use serde_json::{Value, json};

/// A table with a global and a local index, and a few items in three partitions.
fn twin() -> Twin {
    let twin = Twin::new(1);
    create(&twin);
    twin
}

fn create(twin: &Twin) {
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"},
                {"AttributeName": "g", "AttributeType": "S"}, {"AttributeName": "l", "AttributeType": "N"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"}}],
            "LocalSecondaryIndexes": [{"IndexName": "by-l",
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"}}]}),
    );
    for pk in ["a", "b", "c"] {
        for sk in 0..7 {
            let item = json!({"pk": {"S": pk}, "sk": {"N": sk.to_string()}, "g": {"S": format!("g{}", sk % 2)},
                "l": {"N": (sk % 3).to_string()}, "x": {"N": (sk % 4).to_string()}});
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        }
    }
}

/// Returns all items of a statement, page by page, and the number of pages.
fn pages(twin: &Twin, request: &Value) -> (Vec<Value>, usize) {
    let mut request = request.clone();
    let mut items = Vec::new();
    for page in 1.. {
        let answer = twin.ok("ExecuteStatement", &request);
        let page_items = answer["Items"].as_array().unwrap();
        let limit = request["Limit"].as_u64().unwrap_or(u64::MAX);
        assert!(page_items.len() as u64 <= limit, "{request}: {answer}");
        items.extend(page_items.iter().cloned());
        match answer.get("NextToken") {
            Some(token) => request["NextToken"] = token.clone(),
            None => return (items, page),
        }
        assert!(page < 100, "{request}");
    }
    unreachable!()
}

/// As with a Query, a page that reaches its limit has a token, though no item is left.
#[test]
fn a_read_of_one_item_with_a_limit_of_one_has_another_page() {
    let twin = twin();
    let statement = "SELECT pk FROM tab WHERE pk = 'a' AND sk = 1";
    assert_eq!(pages(&twin, &json!({"Statement": statement})).1, 1);
    let (items, pages) = pages(&twin, &json!({"Statement": statement, "Limit": 1}));
    assert_eq!((items.len(), pages), (1, 2));
}

#[test]
fn pages_of_every_size_give_the_same_items() {
    let twin = twin();
    for statement in [
        "SELECT pk, sk FROM tab",
        "SELECT pk, sk FROM tab WHERE x = 1",
        "SELECT pk, sk FROM tab WHERE pk = 'a'",
        "SELECT pk, sk FROM tab WHERE pk = 'a' AND sk BETWEEN 2 AND 5 ORDER BY sk DESC",
        "SELECT pk, sk FROM tab WHERE pk IN ['c', 'a'] AND sk IN [5, 1, 3]",
        "SELECT pk, sk FROM tab WHERE pk IN ['c', 'a', 'b'] AND x = 1 ORDER BY pk DESC, sk DESC",
        "SELECT pk, sk FROM tab WHERE pk IN ['c', 'a', 'b'] ORDER BY pk ASC, sk DESC",
        "SELECT pk, sk FROM tab WHERE pk = 'a' ORDER BY sk ASC",
        "SELECT pk, sk FROM tab WHERE (pk = 'a' AND sk < 2) OR (pk = 'a' AND sk > 4) OR pk = 'b'",
        "SELECT pk, sk FROM tab.\"by-g\" WHERE g = 'g1'",
        "SELECT pk, sk FROM tab.\"by-g\"",
        "SELECT pk, x FROM tab.\"by-l\" WHERE pk = 'b' AND l < 2",
        "SELECT pk, sk FROM tab.\"by-l\" WHERE pk IN ['a', 'b'] ORDER BY pk, l DESC",
    ] {
        let (whole, _) = pages(&twin, &json!({"Statement": statement}));
        assert!(!whole.is_empty(), "{statement}");
        for limit in [1, 2, 3, 5, 20] {
            let (items, _) = pages(&twin, &json!({"Statement": statement, "Limit": limit}));
            assert_eq!(items, whole, "{statement}, by {limit}");
        }
    }
}

#[test]
fn a_page_that_ends_at_its_limit_has_a_token_even_at_the_end() {
    let twin = twin();
    let request = |limit: u64| json!({"Statement": "SELECT * FROM tab WHERE pk = 'a'", "Limit": limit});
    for (limit, more) in [(6, true), (7, true), (8, false)] {
        let answer = twin.ok("ExecuteStatement", &request(limit));
        assert_eq!(answer.get("NextToken").is_some(), more, "{limit}");
    }
    assert_eq!(pages(&twin, &request(7)).1, 2);
}

#[test]
fn a_page_ends_at_a_megabyte() {
    let twin = twin();
    let long = "x".repeat(300_000);
    for sk in 10..15 {
        let item = json!({"pk": {"S": "big"}, "sk": {"N": sk.to_string()}, "long": {"S": long}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    let (items, count) = pages(&twin, &json!({"Statement": "SELECT sk FROM tab WHERE pk = 'big'"}));
    assert_eq!((items.len(), count), (5, 2));
    let split = "SELECT sk FROM tab WHERE pk = 'big' AND sk IN [10, 11, 12, 13, 14]";
    let (items, count) = pages(&twin, &json!({"Statement": split}));
    assert_eq!((items.len(), count), (5, 2));
}

/// Items that are fetched for the entries of a local index count towards the megabyte in each partition that is read.
#[test]
fn fetched_items_of_all_partitions_count_in_a_megabyte() {
    let twin = twin();
    let long = "x".repeat(300_000);
    for pk in ["one", "two", "three"] {
        for sk in 0..2 {
            let item = json!({"pk": {"S": pk}, "sk": {"N": sk.to_string()}, "l": {"N": "1"}, "long": {"S": long}});
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        }
    }
    let read = |columns: &str| format!("SELECT {columns} FROM tab.\"by-l\" WHERE pk IN ['one', 'two', 'three']");
    // 3 items of 300 KB fit into a page, and the one that does not ends it.
    let (items, count) = pages(&twin, &json!({"Statement": read("long")}));
    assert_eq!((items.len(), count), (6, 2));
    let (items, count) = pages(&twin, &json!({"Statement": read("sk")}));
    assert_eq!((items.len(), count), (6, 1));
}

#[test]
fn a_token_belongs_to_its_statement() {
    let twin = twin();
    let statement = "SELECT * FROM tab WHERE pk = ?";
    let request = |statement: &str, pk: &str| json!({"Statement": statement, "Parameters": [{"S": pk}], "Limit": 1});
    let token = twin.ok("ExecuteStatement", &request(statement, "a"))["NextToken"].clone();
    let resume = |mut request: Value| {
        request["NextToken"] = token.clone();
        request["Limit"] = 2.into();
        twin.send("ExecuteStatement", &request)
    };
    assert_eq!(resume(request(statement, "a")).0, 200);
    for other in [
        request(statement, "b"),
        request("SELECT * FROM tab WHERE pk = ? AND sk > 1", "a"),
        request("SELECT * FROM tab.\"by-l\" WHERE pk = ?", "a"),
    ] {
        let (status, body) = resume(other);
        assert_eq!(
            (status, &body["message"]),
            (400, &json!("NextToken does not match request"))
        );
    }
    // It is also invalid after its table is deleted.
    twin.ok("DeleteTable", &json!({"TableName": "tab"}));
    create(&twin);
    let (status, body) = resume(request(statement, "a"));
    assert_eq!(
        (status, &body["message"]),
        (400, &json!("NextToken does not match request"))
    );
}

#[test]
fn a_changed_token_is_invalid() {
    let twin = twin();
    let mut request = json!({"Statement": "SELECT * FROM tab", "Limit": 3});
    let token = twin.ok("ExecuteStatement", &request)["NextToken"].clone();
    let seed = setting("DYNATWIN_SEED").unwrap_or(7);
    println!("seed {seed}");
    let mut choice = Choice(seed);
    for _ in 0..200 {
        let mut changed = token.as_str().unwrap().as_bytes().to_vec();
        let at = choice.below(changed.len() as u64) as usize;
        let to = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[choice.below(64) as usize];
        if changed[at] == to {
            continue;
        }
        changed[at] = to;
        request["NextToken"] = String::from_utf8(changed).unwrap().into();
        let (status, body) = twin.send("ExecuteStatement", &request);
        assert_eq!((status, &body["message"]), (400, &json!("Invalid NextToken")));
    }
}

#[test]
fn an_update_nests_as_deep_as_it_has_operators() {
    let twin = twin();
    let update = |sum: &str| json!({"Statement": format!("UPDATE tab SET x = {sum} WHERE pk = 'a' AND sk = 1 RETURNING MODIFIED NEW *")});
    let sum = |terms: usize| vec!["1"; terms].join(" + ");
    let answer = twin.ok("ExecuteStatement", &update(&sum(301)));
    assert_eq!(answer, json!({"Items": [{"x": {"N": "301"}}]}));
    let (status, body) = twin.send("ExecuteStatement", &update(&sum(302)));
    let expect = "The expression contains too many operators; operator count: 301";
    assert_eq!((status, &body["message"]), (400, &json!(expect)));
}

#[test]
fn rules_meet_statements() {
    let twin = twin();
    let throttle = twin
        .engine
        .add_fault(
            Rule::new(Verdict::Throttle(None))
                .operation("BatchExecuteStatement")
                .first(1),
        )
        .unwrap();
    let statement = |sk: u64| json!({"Statement": format!("DELETE FROM tab WHERE pk = 'a' AND sk = {sk}")});
    let batch = json!({"Statements": [statement(1), statement(2)]});
    let answer = twin.ok("BatchExecuteStatement", &batch);
    assert_eq!(answer["Responses"][0]["Error"]["Code"], "ThrottlingError");
    assert_eq!(answer["Responses"][1], json!({"TableName": "tab"}));
    twin.engine.faults().remove(throttle);
    twin.engine
        .add_fault(Rule::new(Verdict::Throttle(None)).operation("ExecuteTransaction"))
        .unwrap();
    let (status, body) = twin.send(
        "ExecuteTransaction",
        &json!({"TransactStatements": [statement(1), statement(2)]}),
    );
    assert_eq!(
        (status, &body["CancellationReasons"][0]["Code"]),
        (400, &json!("ThrottlingError"))
    );
    twin.engine
        .add_fault(Rule::new(Verdict::InternalServerError).operation("ExecuteStatement"))
        .unwrap();
    let (status, _) = twin.send("ExecuteStatement", &json!({"Statement": "SELECT * FROM tab"}));
    assert_eq!(status, 500);
}

/// An error of one statement of a batch is in its response, and the others are executed.
#[test]
fn each_statement_of_a_batch_has_its_own_error() {
    for (verdict, code) in [
        (Verdict::Throttle(None), "ThrottlingError"),
        (
            Verdict::Exception(ErrorKind::RequestLimitExceeded),
            "RequestLimitExceeded",
        ),
        (Verdict::InternalServerError, "InternalServerError"),
        (Verdict::ServiceUnavailable, "InternalServerError"),
        (Verdict::Exception(ErrorKind::AccessDenied), "AccessDenied"),
    ] {
        let twin = twin();
        let rule = Rule::new(verdict).operation("BatchExecuteStatement");
        twin.engine.add_fault(rule.first(1)).unwrap();
        let statement = |sk: u64| json!({"Statement": format!("DELETE FROM tab WHERE pk = 'a' AND sk = {sk}")});
        let answer = twin.ok(
            "BatchExecuteStatement",
            &json!({"Statements": [statement(1), statement(2)]}),
        );
        let responses = answer["Responses"].as_array().unwrap();
        assert_eq!(responses[0]["Error"]["Code"], code, "{verdict:?}");
        assert_eq!(responses[1..], [json!({"TableName": "tab"})], "{verdict:?}");
    }
}

#[test]
fn a_token_belongs_to_one_transaction() {
    let twin = twin();
    let statement = json!({"TransactStatements": [{"Statement": "DELETE FROM tab WHERE pk = 'a' AND sk = 1"}],
        "ClientRequestToken": "token"});
    twin.ok("ExecuteTransaction", &statement);
    let action = json!({"TransactItems": [{"Delete": {"TableName": "tab", "Key": {"pk": {"S": "a"}, "sk": {"N": "1"}}}}],
        "ClientRequestToken": "token"});
    let (status, body) = twin.send("TransactWriteItems", &action);
    assert_eq!(status, 400);
    assert!(
        body["__type"]
            .as_str()
            .unwrap()
            .ends_with("IdempotentParameterMismatchException")
    );
    twin.ok("ExecuteTransaction", &statement);
    twin.engine.advance(Duration::from_secs(601));
    twin.ok("TransactWriteItems", &action);
}

#[test]
fn a_statement_reads_what_the_other_operations_wrote() {
    let twin = twin();
    let query = json!({"TableName": "tab", "KeyConditionExpression": "pk = :p AND sk > :s", "FilterExpression": "x <> :x",
        "ExpressionAttributeValues": {":p": {"S": "b"}, ":s": {"N": "2"}, ":x": {"N": "3"}}});
    let statement = json!({"Statement": "SELECT * FROM tab WHERE pk = 'b' AND sk > 2 AND x <> 3"});
    assert_eq!(
        twin.ok("Query", &query)["Items"],
        twin.ok("ExecuteStatement", &statement)["Items"]
    );
    let scan =
        json!({"TableName": "tab", "FilterExpression": "x = :x", "ExpressionAttributeValues": {":x": {"N": "3"}}});
    let statement = json!({"Statement": "SELECT * FROM tab WHERE x = 3"});
    assert_eq!(
        twin.ok("Scan", &scan)["Items"],
        twin.ok("ExecuteStatement", &statement)["Items"]
    );
}

/// Rules and policies meet the statements that can be planned; the others keep the errors they have.
#[test]
fn refusals_meet_their_own_statements() {
    let delete = |pk: &str| format!("DELETE FROM tab WHERE pk = '{pk}' AND sk = 1");
    let (invalid, unbound, missing) = (
        "DELETE FROM",
        "DELETE FROM tab WHERE pk = 'a'",
        "DELETE FROM nosuch WHERE pk = 'a' AND sk = 1",
    );
    // What precedes the statements that can be planned, and the partition of the one that is refused.
    for (others, at) in [
        (&[] as &[&str], "a"),
        (&[], "b"),
        (&[invalid], "a"),
        (&[invalid], "b"),
        (&[unbound], "b"),
        (&[missing], "b"),
        (&[invalid, unbound, missing], "a"),
        (&[invalid, unbound, missing], "c"),
    ] {
        let twin = twin();
        let rule = Rule::new(Verdict::Throttle(None)).operation("BatchExecuteStatement");
        twin.engine
            .add_fault(rule.key(KeyMatch::Partition(at.to_owned())))
            .unwrap();
        let mut statements: Vec<String> = others.iter().copied().map(str::to_owned).collect();
        statements.extend(["a", "b", "c"].map(delete));
        statements.push(invalid.to_owned());
        let sent: Vec<Value> = statements.iter().map(|text| json!({"Statement": text})).collect();
        let answer = twin.ok("BatchExecuteStatement", &json!({"Statements": sent}));
        let responses = answer["Responses"].as_array().unwrap();
        for (text, response) in statements.iter().zip(responses) {
            let code = response["Error"]["Code"].as_str();
            let planned = ["a", "b", "c"].into_iter().find(|pk| *text == delete(pk));
            match planned {
                Some(pk) if pk == at => assert_eq!(code, Some("ThrottlingError"), "{text} {answer}"),
                Some(_) => assert_eq!(*response, json!({"TableName": "tab"}), "{text} {answer}"),
                None => assert!(code.is_some_and(|code| code != "ThrottlingError"), "{text} {answer}"),
            }
        }
    }
}

/// The response to a statement about a missing table has the table's name, also if the statement has its ARN.
#[test]
fn a_response_has_the_plain_name_of_a_missing_table() {
    let twin = twin();
    let arn = twin.ok("DescribeTable", &json!({"TableName": "tab"}))["Table"]["TableArn"].clone();
    let missing = arn.as_str().unwrap().replace("table/tab", "table/gone");
    for named in ["gone", missing.as_str()] {
        for statement in [
            format!("SELECT * FROM \"{named}\" WHERE pk = 'a' AND sk = 1"),
            format!("INSERT INTO \"{named}\" VALUE {{'pk': 'a', 'sk': 1}}"),
        ] {
            let answer = twin.ok(
                "BatchExecuteStatement",
                &json!({"Statements": [{"Statement": statement}]}),
            );
            let response = &answer["Responses"][0];
            assert_eq!(
                (&response["Error"]["Code"], &response["TableName"]),
                (&json!("ResourceNotFound"), &json!("gone")),
                "{statement}"
            );
        }
    }
}

/// The cost of statements has the name that they have for their table, also if their conditions fail.
#[test]
fn the_cost_of_a_batch_names_the_table_as_its_statements_do() {
    let twin = twin();
    let arn = twin.ok("DescribeTable", &json!({"TableName": "tab"}))["Table"]["TableArn"].clone();
    for name in ["tab", arn.as_str().unwrap()] {
        for (conditions, units) in [
            (&["x = 1"][..], 2.0),
            (&["x = 9"], 1.0),
            (&["x = 9", "x = 2"], 3.0),
            (&["x = 1", "x = 9", "x = 9"], 4.0),
        ] {
            let twin = self::twin();
            let statements = (1..).zip(conditions).map(|(sk, condition)| {
                json!({"Statement": format!("UPDATE \"{name}\" SET x = 5 WHERE pk = 'a' AND sk = {sk} AND {condition}")})
            });
            let statements: Vec<Value> = statements.collect();
            let answer = twin.ok(
                "BatchExecuteStatement",
                &json!({"Statements": statements, "ReturnConsumedCapacity": "TOTAL"}),
            );
            let consumed = json!([{"TableName": name, "CapacityUnits": units}]);
            assert_eq!(answer["ConsumedCapacity"], consumed, "{name} {conditions:?}");
        }
    }
}
