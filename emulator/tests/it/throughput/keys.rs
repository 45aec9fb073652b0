//! Hot keys: which requests count for which partition key, and with how many units.

use crate::common::Twin;
use dynatwin_engine::faults::{Rule, Verdict};
use dynatwin_engine::{Caller, Capacity, Conditions, Enforcement};
use serde_json::{Value, json};

/// A table with the key `pk` and `sk`, the global indexes `by-g` and `by-n`, and the local index `by-l` of keys.
fn watched() -> Twin {
    let twin = Twin::new(1);
    let attribute = |(name, kind): (&str, &str)| json!({"AttributeName": name, "AttributeType": kind});
    let attributes = [("pk", "S"), ("sk", "S"), ("g", "S"), ("n", "N"), ("l", "S")].map(attribute);
    let key = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let index = |name: &str, key: Value, projection: &str| json!({"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": projection}});
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes, "KeySchema": key("pk", "sk"),
            "GlobalSecondaryIndexes": [index("by-g", key("g", "sk"), "ALL"), index("by-n", key("n", "sk"), "ALL")],
            "LocalSecondaryIndexes": [index("by-l", key("pk", "l"), "KEYS_ONLY")]}),
    );
    for sk in ["1", "2"] {
        let item = json!({"pk": {"S": "a"}, "sk": {"S": sk}, "g": {"S": "x"}, "n": {"N": "7"}, "l": {"S": "l"}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    twin.engine.account(&twin.caller).watch_heat("tab", true).unwrap();
    twin
}

/// Returns the hot keys with their units, and all units that were spent.
fn counted(twin: &Twin) -> (Vec<(String, f64)>, f64) {
    let heat = twin.engine.account(&twin.caller).heat("tab").unwrap();
    let keys = heat.keys.iter();
    let mut keys: Vec<_> = keys.map(|(key, units)| (format!("{key:?}"), units.as_f64())).collect();
    keys.sort_by(|left, right| left.0.cmp(&right.0));
    let spent = heat.resources.iter();
    let spent = spent.map(|resource| resource.read.units.as_f64() + resource.write.units.as_f64());
    (keys, spent.sum())
}

/// Everything that an entry spends, on the table and its indexes, counts for the partition key that it names: that of the
/// item, or of the index that is queried. What names none, or spends nothing, counts for none.
#[test]
fn each_entry_counts_for_the_partition_key_that_it_names() {
    let on_tab = |mut body: Value| {
        body["TableName"] = "tab".into();
        body
    };
    let key = |pk: &str| json!({"pk": {"S": pk}, "sk": {"S": "1"}});
    let item = |pk: &str| json!({"pk": {"S": pk}, "sk": {"S": "1"}, "g": {"S": "x"}});
    let get = |pk: &str, is_consistent: bool| on_tab(json!({"Key": key(pk), "ConsistentRead": is_consistent}));
    let put = |item: Value| on_tab(json!({"Item": item}));
    let if_there = |pk: &str| on_tab(json!({"Key": key(pk), "ConditionExpression": "attribute_exists(pk)"}));
    let move_to = |pk: &str, g: &str| {
        on_tab(json!({"Key": key(pk), "UpdateExpression": "SET g = :g", "ExpressionAttributeValues": {":g": {"S": g}}}))
    };
    let query = |index: Option<&str>, attribute: &str, value: Value, more: &[(&str, Value)]| {
        let condition = format!("{attribute} = :v");
        let mut query =
            on_tab(json!({"KeyConditionExpression": condition, "ExpressionAttributeValues": {":v": value}}));
        if let Some(index) = index {
            query["IndexName"] = index.into();
        }
        for (name, value) in more {
            query[name] = value.clone();
        }
        query
    };
    let text = |text: &str| json!({"S": text});
    let of_item = |pk: &str| json!({"Statement": format!("SELECT * FROM tab WHERE pk = '{pk}' AND sk = '1'")});
    let statement = |text: &str| json!({"Statement": text});
    let transaction = |actions: &[(&str, Value)]| {
        let actions: Vec<Value> = actions.iter().map(|(kind, body)| json!({*kind: body})).collect();
        json!({"TransactItems": actions})
    };
    type Row = (&'static str, Value, &'static [(&'static str, f64)]);
    let rows: Vec<Row> = vec![
        ("GetItem", get("a", false), &[("S(\"a\")", 0.5)]),
        ("GetItem", get("nobody", true), &[("S(\"nobody\")", 1.0)]),
        ("PutItem", put(key("b")), &[("S(\"b\")", 1.0)]),
        // One unit for the index.
        ("PutItem", put(item("b")), &[("S(\"b\")", 2.0)]),
        // An entry that moves, and one that changes.
        ("UpdateItem", move_to("a", "y"), &[("S(\"a\")", 4.0)]),
        // Of this item, the local index and both global indexes have an entry.
        ("DeleteItem", on_tab(json!({"Key": key("a")})), &[("S(\"a\")", 4.0)]),
        (
            "DeleteItem",
            on_tab(json!({"Key": key("nobody")})),
            &[("S(\"nobody\")", 1.0)],
        ),
        ("DeleteItem", if_there("nobody"), &[("S(\"nobody\")", 1.0)]),
        (
            "BatchGetItem",
            json!({"RequestItems": {"tab": {"Keys": [key("a"), key("b")]}}}),
            &[("S(\"a\")", 0.5), ("S(\"b\")", 0.5)],
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"tab": [{"PutRequest": {"Item": item("c")}}, {"DeleteRequest": {"Key": key("d")}}]}}),
            &[("S(\"c\")", 2.0), ("S(\"d\")", 1.0)],
        ),
        (
            "TransactGetItems",
            transaction(&[
                ("Get", on_tab(json!({"Key": key("a")}))),
                ("Get", on_tab(json!({"Key": key("b")}))),
            ]),
            &[("S(\"a\")", 2.0), ("S(\"b\")", 2.0)],
        ),
        (
            "TransactWriteItems",
            transaction(&[
                ("Put", put(item("c"))),
                ("ConditionCheck", if_there("a")),
                ("Delete", on_tab(json!({"Key": key("d")}))),
                ("Update", move_to("e", "x")),
            ]),
            &[
                ("S(\"a\")", 2.0),
                ("S(\"c\")", 3.0),
                ("S(\"d\")", 2.0),
                ("S(\"e\")", 3.0),
            ],
        ),
        // A cancelled transaction spends nothing here.
        (
            "TransactWriteItems",
            transaction(&[("Put", put(item("c"))), ("ConditionCheck", if_there("nobody"))]),
            &[],
        ),
        ("Query", query(None, "pk", text("a"), &[]), &[("S(\"a\")", 0.5)]),
        (
            "Query",
            query(None, "pk", text("a"), &[("ConsistentRead", true.into())]),
            &[("S(\"a\")", 1.0)],
        ),
        (
            "Query",
            query(None, "pk", text("nobody"), &[]),
            &[("S(\"nobody\")", 0.5)],
        ),
        ("Query", query(Some("by-g"), "g", text("x"), &[]), &[("S(\"x\")", 0.5)]),
        (
            "Query",
            query(Some("by-g"), "g", text("x"), &[("Limit", 1.into())]),
            &[("S(\"x\")", 0.5)],
        ),
        (
            "Query",
            query(Some("by-g"), "g", text("none"), &[]),
            &[("S(\"none\")", 0.5)],
        ),
        (
            "Query",
            query(Some("by-n"), "n", json!({"N": "7"}), &[]),
            &[("N(7)", 0.5)],
        ),
        (
            "Query",
            query(Some("by-n"), "n", json!({"N": "7.0"}), &[]),
            &[("N(7)", 0.5)],
        ),
        ("Query", query(Some("by-l"), "pk", text("a"), &[]), &[("S(\"a\")", 0.5)]),
        // Two items are fetched from the table.
        (
            "Query",
            query(Some("by-l"), "pk", text("a"), &[("Select", "ALL_ATTRIBUTES".into())]),
            &[("S(\"a\")", 1.5)],
        ),
        ("Scan", on_tab(json!({})), &[]),
        ("Scan", on_tab(json!({"IndexName": "by-g"})), &[]),
        (
            "ExecuteStatement",
            statement("SELECT * FROM tab WHERE pk = 'a'"),
            &[("S(\"a\")", 0.5)],
        ),
        ("ExecuteStatement", of_item("a"), &[("S(\"a\")", 0.5)]),
        (
            "ExecuteStatement",
            statement("SELECT * FROM tab.\"by-g\" WHERE g = 'x'"),
            &[("S(\"x\")", 0.5)],
        ),
        ("ExecuteStatement", statement("SELECT * FROM tab"), &[]),
        ("ExecuteStatement", statement("SELECT * FROM tab.\"by-g\""), &[]),
        (
            "ExecuteStatement",
            statement("INSERT INTO tab VALUE {'pk': 'b', 'sk': '1', 'g': 'x'}"),
            &[("S(\"b\")", 2.0)],
        ),
        (
            "ExecuteStatement",
            statement("UPDATE tab SET g = 'y' WHERE pk = 'a' AND sk = '1'"),
            &[("S(\"a\")", 4.0)],
        ),
        (
            "ExecuteStatement",
            statement("DELETE FROM tab WHERE pk = 'a' AND sk = '1'"),
            &[("S(\"a\")", 4.0)],
        ),
        (
            "BatchExecuteStatement",
            json!({"Statements": [of_item("a"), of_item("b")]}),
            &[("S(\"a\")", 0.5), ("S(\"b\")", 0.5)],
        ),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": [of_item("a"), of_item("b")]}),
            &[("S(\"a\")", 2.0), ("S(\"b\")", 2.0)],
        ),
    ];
    for (operation, body, expect) in rows {
        let twin = watched();
        twin.send(operation, &body);
        let (keys, spent) = counted(&twin);
        let seen: Vec<(&str, f64)> = keys.iter().map(|(key, units)| (key.as_str(), *units)).collect();
        assert_eq!(seen, expect, "{operation} {body}");
        let of_keys: f64 = expect.iter().map(|(_, units)| units).sum();
        assert!(expect.is_empty() || of_keys == spent, "{operation} {body}: {spent}");

        // A request that is refused spends nothing.
        let twin = watched();
        twin.engine.add_fault(Rule::new(Verdict::Throttle(None))).unwrap();
        twin.send(operation, &body);
        assert_eq!(counted(&twin), (vec![], 0.0), "{operation} {body}");
    }
}

/// The keys of the table and of its indexes are listed together, the hottest first, and those of each table alone.
#[test]
fn keys_of_a_table_and_its_indexes_are_listed_together() {
    let twin = watched();
    twin.ok(
        "CreateTable",
        &json!({"TableName": "other", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}),
    );
    twin.engine.account(&twin.caller).watch_heat("other", true).unwrap();
    let query = |index: Value, attribute: &str| {
        let mut query = json!({"TableName": "tab", "KeyConditionExpression": format!("{attribute} = :v"),
            "ExpressionAttributeValues": {":v": {"S": "x"}}});
        if !index.is_null() {
            query["IndexName"] = index;
        }
        twin.ok("Query", &query);
    };
    (0..3).for_each(|_| query("by-g".into(), "g"));
    query(Value::Null, "pk");
    let get = json!({"TableName": "other", "Key": {"pk": {"S": "x"}}});
    (0..9).for_each(|_| drop(twin.ok("GetItem", &get)));
    let listed = |table: &str| {
        let heat = twin.engine.account(&twin.caller).heat(table).unwrap();
        let keys = heat
            .keys
            .iter()
            .map(|(key, units)| (format!("{key:?}"), units.as_f64()));
        keys.collect::<Vec<_>>()
    };
    let of = |units: f64| vec![("S(\"x\")".to_owned(), units)];
    assert_eq!((listed("tab"), listed("other")), (of(2.0), of(4.5)));
    // A table that is watched anew counts from then on.
    let account = twin.engine.account(&twin.caller);
    account.watch_heat("tab", true).unwrap();
    assert_eq!(listed("tab"), of(2.0));
    account.watch_heat("tab", false).unwrap();
    account.watch_heat("tab", true).unwrap();
    assert_eq!((listed("tab"), listed("other")), (vec![], of(4.5)));
}

/// What changes whether heat is counted.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Watches the twin or ends that.
    Twin(bool),
    /// Watches one table or ends that.
    Table(bool),
    /// Restores a snapshot, whose tables are new.
    Restore,
}

/// Heat is counted in tables that are watched, by themselves or with the twin, and where capacity is enforced; keys only while
/// it is watched. Watching the twin or ending that concerns all tables, in all regions.
#[test]
fn heat_is_counted_while_a_table_is_watched() {
    use Step::{Restore, Table, Twin as All};
    let steps = [All(true), All(false), Table(true), Table(false), Restore];
    let mut sequences: Vec<Vec<Step>> = vec![vec![]];
    for length in 0..3 {
        let longer: Vec<Vec<Step>> = sequences
            .iter()
            .filter(|sequence| sequence.len() == length)
            .flat_map(|sequence| steps.map(|step| [sequence.as_slice(), &[step]].concat()))
            .collect();
        sequences.extend(longer);
    }
    assert_eq!(sequences.len(), 1 + 5 + 25 + 125);
    for is_enforced in [false, true] {
        for sequence in &sequences {
            let twin = Twin::new(1);
            let mut there = twin.caller.clone();
            there.region = "eu-west-1".into();
            let create = |caller: &Caller, name: &str| {
                let table = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
                    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
                let answer = twin
                    .engine
                    .dispatch(caller, "CreateTable", table.to_string().as_bytes());
                assert_eq!(answer.status, 200);
            };
            create(&twin.caller, "tab");
            create(&twin.caller, "other");
            create(&there, "tab");
            if is_enforced {
                twin.engine
                    .set_conditions(Conditions {
                        capacity: Capacity::Enforced(Enforcement::AWS),
                        ..Conditions::CALM
                    })
                    .unwrap();
            }
            let snapshot = twin.engine.snapshot();
            // Whether the twin, `tab`, and the other tables are watched.
            let (mut all, mut tab, mut others) = (false, false, false);
            for step in sequence {
                match *step {
                    All(watches) => {
                        twin.engine.watch(watches);
                        (all, tab, others) = (watches, watches, watches);
                    }
                    Table(watches) => {
                        twin.engine.account(&twin.caller).watch_heat("tab", watches).unwrap();
                        tab = watches;
                    }
                    Restore => {
                        twin.engine.restore(&snapshot).unwrap();
                        (tab, others) = (all, all);
                    }
                }
            }
            create(&twin.caller, "new");
            for (caller, table, is_watched) in [
                (&twin.caller, "tab", tab),
                (&twin.caller, "other", others),
                (&there, "tab", others),
                (&twin.caller, "new", all),
            ] {
                let get = json!({"TableName": table, "Key": {"pk": {"S": "a"}}});
                twin.engine.dispatch(caller, "GetItem", get.to_string().as_bytes());
                let heat = twin.engine.account(caller).heat(table).unwrap();
                let units: f64 = heat.resources.iter().map(|resource| resource.read.units.as_f64()).sum();
                let expect = if is_watched || is_enforced { (1, 0.5) } else { (0, 0.0) };
                let what = format!("{sequence:?}, {} {table}, enforced: {is_enforced}", caller.region);
                assert_eq!((heat.resources.len(), units), expect, "{what}");
                assert_eq!(heat.keys.len(), usize::from(is_watched), "{what}");
            }
        }
    }
}
