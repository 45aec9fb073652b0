//! Which entries of which requests a rule hits, by each part of its scope and by several together.

use std::time::Duration;

use crate::common::Twin;
use dynatwin_engine::Caller;
use dynatwin_engine::faults::{KeyMatch, Rule, Verdict};
use serde_json::{Value, json};

/// An entry of a request: its table, the index that it reads, the text of the partition key that it names, and whether it
/// writes.
type Entry = (&'static str, Option<&'static str>, Option<&'static str>, bool);

/// Returns a twin with the tables `tab`, with two global indexes, a local one, and two vector indexes, of which `near-g` is divided
/// by `g`, and `other`, with none.
fn twin() -> Twin {
    let twin = Twin::new(1);
    let attribute = |(name, kind): (&str, &str)| json!({"AttributeName": name, "AttributeType": kind});
    let key = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let index =
        |name: &str, key: Value| json!({"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": "ALL"}});
    let vectors = |name: &str| {
        json!({"IndexName": name, "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2, "DistanceFunction": "COSINE",
            "Projection": {"ProjectionType": "ALL"}})
    };
    let mut divided = vectors("near-g");
    divided["SearchSchema"] = json!([{"AttributeName": "g", "SearchSchemaElementType": "HASH"}]);
    let all = [("pk", "S"), ("sk", "S"), ("g", "S"), ("n", "N"), ("l", "S")].map(attribute);
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": all, "KeySchema": key("pk", "sk"),
            "GlobalSecondaryIndexes": [index("by-g", key("g", "sk")), index("by-n", key("n", "sk"))],
            "LocalSecondaryIndexes": [index("by-l", key("pk", "l"))], "VectorIndexes": [vectors("near"), divided]}),
    );
    let keys = [("pk", "S"), ("sk", "S")].map(attribute);
    twin.ok(
        "CreateTable",
        &json!({"TableName": "other", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": keys, "KeySchema": key("pk", "sk")}),
    );
    twin
}

fn requests() -> Vec<(&'static str, Value, Vec<Entry>)> {
    let key = |pk: &str| json!({"pk": {"S": pk}, "sk": {"S": "1"}});
    let of = |table: &str, mut body: Value| {
        body["TableName"] = table.into();
        body
    };
    let get = |table: &str, pk: &str| of(table, json!({"Key": key(pk)}));
    let put = |table: &str, pk: &str| of(table, json!({"Item": key(pk)}));
    let query = |index: Option<&str>, attribute: &str, value: Value| {
        let condition = format!("{attribute} = :v");
        let mut query = json!({"KeyConditionExpression": condition, "ExpressionAttributeValues": {":v": value}});
        if let Some(index) = index {
            query["IndexName"] = index.into();
        }
        of("tab", query)
    };
    let search = |index: &str| {
        of(
            "tab",
            json!({"IndexName": index, "SearchVector": [{"N": "1"}, {"N": "2"}], "TopK": 1}),
        )
    };
    let mut divided = search("near-g");
    divided["SearchConditionExpression"] = json!("g = :g");
    divided["ExpressionAttributeValues"] = json!({":g": {"S": "a"}});
    let statement = |text: &str| json!({"Statement": text});
    let of_item = |table: &str, pk: &str| statement(&format!("SELECT * FROM {table} WHERE pk = '{pk}' AND sk = '1'"));
    let insert = |table: &str, pk: &str| statement(&format!("INSERT INTO {table} VALUE {{'pk': '{pk}', 'sk': '1'}}"));
    let check = of(
        "tab",
        json!({"Key": key("b"), "ConditionExpression": "attribute_not_exists(pk)"}),
    );
    let read = |table: &'static str, pk: &'static str| (table, None, Some(pk), false);
    let write = |table: &'static str, pk: &'static str| (table, None, Some(pk), true);
    let put_request = |pk: &str| json!({"PutRequest": {"Item": key(pk)}});
    vec![
        ("GetItem", get("tab", "a"), vec![read("tab", "a")]),
        ("GetItem", get("other", "ab"), vec![read("other", "ab")]),
        ("PutItem", put("tab", "a"), vec![write("tab", "a")]),
        ("PutItem", put("other", "a"), vec![write("other", "a")]),
        ("UpdateItem", get("tab", "ab"), vec![write("tab", "ab")]),
        ("DeleteItem", get("tab", "b"), vec![write("tab", "b")]),
        ("Query", query(None, "pk", json!({"S": "a"})), vec![read("tab", "a")]),
        (
            "Query",
            query(Some("by-g"), "g", json!({"S": "a"})),
            vec![("tab", Some("by-g"), Some("a"), false)],
        ),
        (
            "Query",
            query(Some("by-n"), "n", json!({"N": "7.0"})),
            vec![("tab", Some("by-n"), Some("7"), false)],
        ),
        (
            "Query",
            query(Some("by-l"), "pk", json!({"S": "a"})),
            vec![("tab", Some("by-l"), Some("a"), false)],
        ),
        ("Scan", of("tab", json!({})), vec![("tab", None, None, false)]),
        (
            "Scan",
            of("tab", json!({"IndexName": "by-g"})),
            vec![("tab", Some("by-g"), None, false)],
        ),
        (
            "SearchVectors",
            search("near"),
            vec![("tab", Some("near"), None, false)],
        ),
        (
            "SearchVectors",
            divided,
            vec![("tab", Some("near-g"), Some("a"), false)],
        ),
        (
            "BatchGetItem",
            json!({"RequestItems": {"tab": {"Keys": [key("a"), key("ab")]}, "other": {"Keys": [key("a")]}}}),
            vec![read("tab", "a"), read("tab", "ab"), read("other", "a")],
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"tab": [put_request("a"), put_request("b")], "other": [put_request("a")]}}),
            vec![write("tab", "a"), write("tab", "b"), write("other", "a")],
        ),
        (
            "TransactGetItems",
            json!({"TransactItems": [{"Get": get("tab", "a")}, {"Get": get("other", "a")}]}),
            vec![read("tab", "a"), read("other", "a")],
        ),
        (
            "TransactWriteItems",
            json!({"TransactItems": [{"Put": put("tab", "a")}, {"ConditionCheck": check}, {"Delete": get("other", "a")}]}),
            vec![write("tab", "a"), write("tab", "b"), write("other", "a")],
        ),
        ("ExecuteStatement", of_item("tab", "a"), vec![read("tab", "a")]),
        (
            "ExecuteStatement",
            statement("SELECT * FROM tab.\"by-g\" WHERE g = 'a'"),
            vec![("tab", Some("by-g"), Some("a"), false)],
        ),
        (
            "ExecuteStatement",
            statement("SELECT * FROM tab"),
            vec![("tab", None, None, false)],
        ),
        ("ExecuteStatement", insert("tab", "a"), vec![write("tab", "a")]),
        (
            "BatchExecuteStatement",
            json!({"Statements": [of_item("tab", "a"), of_item("other", "ab")]}),
            vec![read("tab", "a"), read("other", "ab")],
        ),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": [insert("tab", "a"), insert("other", "ab")]}),
            vec![write("tab", "a"), write("other", "ab")],
        ),
        (
            "DescribeTable",
            json!({"TableName": "tab"}),
            vec![("tab", None, None, false)],
        ),
        ("ListTables", json!({}), vec![("", None, None, false)]),
    ]
}

/// Whether a rule hits an entry: each part of its scope has to fit.
fn hits(rule: &Rule, operation: &str, caller: &Caller, (table, index, partition, writes): Entry) -> bool {
    let fits = |wanted: &Option<String>, given: &str| wanted.as_deref().is_none_or(|wanted| wanted == given);
    let of_index =
        |wanted: &str| index == Some(wanted) || writes && table == "tab" && ["by-g", "by-n"].contains(&wanted);
    let of_key = match &rule.key {
        None => true,
        Some(KeyMatch::Partition(wanted)) => partition == Some(wanted),
        Some(KeyMatch::PartitionPrefix(wanted)) => partition.is_some_and(|partition| partition.starts_with(&**wanted)),
    };
    fits(&rule.operation, operation)
        && fits(&rule.table, table)
        && fits(&rule.caller, &caller.access_key)
        && fits(&rule.region, &caller.region)
        && rule.index.as_deref().is_none_or(of_index)
        && of_key
}

/// Each choice of each part of a scope with each choice of one other part.
fn rules() -> Vec<Rule> {
    type Narrow = fn(Rule) -> Rule;
    let parts: [&[Narrow]; 6] = [
        &[
            |rule| rule.operation("GetItem"),
            |rule| rule.operation("BatchGetItem"),
            |rule| rule.operation("TransactWriteItems"),
            |rule| rule.operation("ExecuteStatement"),
            |rule| rule.operation("ListTables"),
            |rule| rule.operation("SearchVectors"),
        ],
        &[
            |rule| rule.table("tab"),
            |rule| rule.table("other"),
            |rule| rule.table("none"),
        ],
        &[
            |rule| rule.index("by-g"),
            |rule| rule.index("by-n"),
            |rule| rule.index("by-l"),
            |rule| rule.index("near"),
            |rule| rule.index("near-g"),
            |rule| rule.index("none"),
        ],
        &[|rule| rule.caller("test"), |rule| rule.caller("nobody")],
        &[|rule| rule.region("us-east-1"), |rule| rule.region("eu-west-1")],
        &[
            |rule| rule.key(KeyMatch::Partition("a".into())),
            |rule| rule.key(KeyMatch::Partition("7".into())),
            |rule| rule.key(KeyMatch::Partition(String::new())),
            |rule| rule.key(KeyMatch::PartitionPrefix("a".into())),
            |rule| rule.key(KeyMatch::PartitionPrefix("ab".into())),
            |rule| rule.key(KeyMatch::PartitionPrefix(String::new())),
        ],
    ];
    let wait = || Rule::new(Verdict::Wait(Duration::from_secs(1)));
    let mut rules = vec![wait()];
    for (at, of_part) in parts.iter().enumerate() {
        for narrow in *of_part {
            rules.push(narrow(wait()));
            for others in &parts[at + 1..] {
                rules.extend(others.iter().map(|other| other(narrow(wait()))));
            }
        }
    }
    rules
}

#[test]
fn a_rule_hits_the_entries_in_its_scope() {
    let requests = requests();
    let (mut some, mut none) = (0, 0);
    for (operation, body, entries) in &requests {
        let twin = twin();
        let snapshot = twin.engine.snapshot();
        for rule in rules() {
            twin.engine.restore(&snapshot).unwrap();
            let expect = entries.iter();
            let expect = expect
                .filter(|entry| hits(&rule, operation, &twin.caller, **entry))
                .count() as u64;
            let what = format!("{operation} {body}: {rule}");
            twin.engine.add_fault(rule).unwrap();
            let now = twin.engine.clock().now();
            let answer = twin
                .engine
                .dispatch(&twin.caller, operation, body.to_string().as_bytes());
            let report = twin.engine.faults().report();
            assert_eq!(answer.status, 200, "{what}");
            assert_eq!((report[0].matched, report[0].fired), (expect, expect), "{what}");
            // Each entry waits, one after the other.
            assert_eq!(answer.at.since(now), Duration::from_secs(expect), "{what}");
            if expect > 0 { some += 1 } else { none += 1 }
        }
    }
    assert!(some > 500 && none > 500, "{some} {none}");
}
