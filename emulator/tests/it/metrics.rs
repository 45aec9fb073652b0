//! CloudWatch's counters and gauges: each kind of operation with each result, and each gauge with and without indexes.

use std::time::Duration;

use crate::common::{Twin, create_table_with_ttl};
use dynatwin_engine::faults::{KeyMatch, Rule, Verdict};
use dynatwin_engine::monitoring::{Injected, ItemAction};
use dynatwin_engine::{Conditions, ErrorKind, Lag, Latency};
use serde_json::{Value, json};

/// Returns a watched twin with `tab`, whose items `a` and `b` are in the index `by-g`.
fn watched() -> Twin {
    let twin = Twin::new(1);
    twin.engine.watch(true);
    create_table_with_ttl(&twin);
    for key in ["a", "b"] {
        let item = json!({"pk": {"S": key}, "g": {"S": "x"}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    twin.engine.forget_requests();
    twin
}

fn metrics(twin: &Twin) -> Vec<String> {
    let metrics = twin.engine.metrics(&twin.caller);
    metrics.iter().map(ToString::to_string).collect()
}

/// Returns the counters except consumed units; `@` is the table and the operation, no dimension the table.
fn counted(twin: &Twin, operation: &str) -> Vec<String> {
    let of_operation = format!("{{TableName=tab, Operation={operation}}}");
    let short = |metric: &String| metric.replace(&of_operation, "@").replace("{TableName=tab}", "");
    let all = metrics(twin);
    let all = all.iter().filter(|metric| !metric.starts_with("Consumed"));
    all.map(short).collect()
}

fn on_tab(more: Value) -> Value {
    let mut body = json!({"TableName": "tab"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

fn key(key: &str) -> Value {
    json!({"pk": {"S": key}})
}

/// How an operation deals with its entries.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// One entry, the item `a`.
    Single,
    /// A range without a partition key.
    Range,
    /// Entries that fail on their own, `a` and `b`.
    Batch,
    /// Statements that fail on their own, each with an error in a successful answer.
    Statements,
    /// Entries that fail together, `a` and `b`.
    Transaction,
}

use Kind::{Batch, Range, Single, Statements, Transaction};

/// Each kind of data operation: its name, kind, direction, the items that count as returned, and a body.
fn operations() -> Vec<(&'static str, Kind, &'static str, u64, Value)> {
    let of = |body: Value| on_tab(body);
    let query = json!({"KeyConditionExpression": "pk = :k", "ExpressionAttributeValues": {":k": {"S": "a"}}});
    let keys = json!({"Keys": [key("a"), key("b")]});
    let writes = json!([{"PutRequest": {"Item": key("a")}}, {"DeleteRequest": {"Key": key("b")}}]);
    let gets = ["a", "b"].map(|pk| json!({"Get": of(json!({"Key": key(pk)}))}));
    let actions = [
        json!({"Put": of(json!({"Item": key("a")}))}),
        json!({"Delete": of(json!({"Key": key("b")}))}),
    ];
    let select = |pk: &str| json!({"Statement": format!("SELECT * FROM tab WHERE pk = '{pk}'")});
    let update = |pk: &str| json!({"Statement": format!("UPDATE tab SET v = 1 WHERE pk = '{pk}'")});
    let (selects, updates) = (["a", "b"].map(select), ["a", "b"].map(update));
    vec![
        ("GetItem", Single, "Read", 0, of(json!({"Key": key("a")}))),
        ("PutItem", Single, "Write", 0, of(json!({"Item": key("a")}))),
        ("UpdateItem", Single, "Write", 0, of(json!({"Key": key("a")}))),
        ("DeleteItem", Single, "Write", 0, of(json!({"Key": key("a")}))),
        ("Query", Single, "Read", 1, of(query)),
        ("Scan", Range, "Read", 2, of(json!({}))),
        ("ExecuteStatement", Single, "Read", 1, select("a")),
        ("ExecuteStatement", Single, "Write", 0, update("a")),
        ("BatchGetItem", Batch, "Read", 0, json!({"RequestItems": {"tab": keys}})),
        (
            "BatchWriteItem",
            Batch,
            "Write",
            0,
            json!({"RequestItems": {"tab": writes}}),
        ),
        (
            "BatchExecuteStatement",
            Statements,
            "Read",
            0,
            json!({"Statements": selects}),
        ),
        (
            "BatchExecuteStatement",
            Statements,
            "Write",
            0,
            json!({"Statements": updates}),
        ),
        (
            "TransactGetItems",
            Transaction,
            "Read",
            0,
            json!({"TransactItems": gets}),
        ),
        (
            "TransactWriteItems",
            Transaction,
            "Write",
            0,
            json!({"TransactItems": actions}),
        ),
        (
            "ExecuteTransaction",
            Transaction,
            "Read",
            0,
            json!({"TransactStatements": selects}),
        ),
        (
            "ExecuteTransaction",
            Transaction,
            "Write",
            0,
            json!({"TransactStatements": updates}),
        ),
    ]
}

/// The status, throttled entries, throttled requests and system errors of each kind of operation under a rule.
type Results = [(Kind, (u16, u64, u64, u64)); 5];

/// Only a request that is throttled as a whole counts in `ThrottledRequests`; an entry counts alone in the events of its table.
#[test]
fn each_kind_of_operation_counts_each_result() {
    let rule = |verdict| Rule::new(verdict);
    let of = |pk: &str, verdict| Rule::new(verdict).key(KeyMatch::Partition(pk.into()));
    let all = |single: (u16, u64, u64, u64), batch, statements, transaction| -> Results {
        [
            (Single, single),
            (Range, single),
            (Batch, batch),
            (Statements, statements),
            (Transaction, transaction),
        ]
    };
    let fine = (200, 0, 0, 0);
    let one = (400, 1, 1, 0);
    let two = (400, 2, 1, 0);
    let a_throttled: Results = [
        (Single, one),
        (Range, fine),
        (Batch, (200, 1, 0, 0)),
        (Statements, (200, 1, 0, 0)),
        (Transaction, one),
    ];
    let a_failed: Results = [
        (Single, (500, 0, 0, 1)),
        (Range, fine),
        (Batch, (500, 0, 0, 1)),
        (Statements, fine),
        (Transaction, (500, 0, 0, 1)),
    ];
    let mut b_throttled = a_throttled;
    b_throttled[0].1 = fine;
    let mut b_failed = a_failed;
    b_failed[0].1 = fine;
    let failed = |status: u16| (status, 0, 0, 1);
    for (rule, results) in [
        (None, all(fine, fine, fine, fine)),
        (Some(rule(Verdict::Throttle(None))), all(one, two, (200, 2, 1, 0), two)),
        (Some(of("a", Verdict::Throttle(None))), a_throttled),
        (Some(of("b", Verdict::Throttle(None))), b_throttled),
        (
            Some(rule(Verdict::InternalServerError)),
            all(failed(500), failed(500), fine, failed(500)),
        ),
        (Some(of("a", Verdict::InternalServerError)), a_failed),
        (Some(of("b", Verdict::InternalServerError)), b_failed),
        (
            Some(rule(Verdict::InternalServerErrorAfterApply)),
            all(failed(500), failed(500), failed(500), failed(500)),
        ),
        (
            Some(rule(Verdict::ServiceUnavailable)),
            all(failed(503), failed(503), fine, failed(503)),
        ),
        // A response that was never sent has no visible status.
        (
            Some(rule(Verdict::Reset)),
            all((500, 0, 0, 0), (500, 0, 0, 0), fine, (500, 0, 0, 0)),
        ),
        (Some(rule(Verdict::AnswerLost)), all(fine, fine, fine, fine)),
    ] {
        for (operation, kind, direction, returned, body) in operations() {
            let twin = watched();
            if let Some(rule) = &rule {
                twin.engine.add_fault(rule.clone()).unwrap();
            }
            let what = format!("{operation} {direction} {rule:?}");
            let (_, (status, events, requests, errors)) = *results.iter().find(|(of, _)| *of == kind).unwrap();
            assert_eq!(twin.send(operation, &body).0, status, "{what}");
            // A request that failed after it was executed has returned its items.
            let is_applied = rule
                .as_ref()
                .is_some_and(|rule| rule.verdict == Verdict::InternalServerErrorAfterApply);
            let returned = if (events, errors) == (0, 0) && status == 200 || is_applied {
                returned
            } else {
                0
            };
            let mut expect: Vec<String> = [
                (format!("{direction}KeyRangeThroughputThrottleEvents"), events),
                (format!("{direction}ThrottleEvents"), events),
                ("ReturnedItemCount@".to_owned(), returned),
                ("SystemErrors@".to_owned(), errors),
                ("ThrottledRequests@".to_owned(), requests),
            ]
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
            expect.sort();
            assert_eq!(counted(&twin, operation), expect, "{what}");
        }
    }
}

/// A failed condition counts for its table where the write is not part of a transaction, whose cancellation is a user error.
#[test]
fn failed_conditions_and_invalid_requests_are_told_apart() {
    let unmet = |body: Value| {
        let mut body = on_tab(body);
        body["ConditionExpression"] = json!("attribute_not_exists(pk)");
        body
    };
    let met = on_tab(json!({"Key": key("a"), "ConditionExpression": "attribute_exists(pk)"}));
    let missing = "UPDATE tab SET v = 1 WHERE pk = 'nobody'";
    let update = "UPDATE tab SET v = 1 WHERE pk = 'a'";
    let failed = ["ConditionalCheckFailedRequests 1"];
    let none: [&str; 0] = [];
    let user = ["UserErrors 1"];
    for (operation, body, expect) in [
        ("PutItem", unmet(json!({"Item": key("a")})), &failed[..]),
        ("UpdateItem", unmet(json!({"Key": key("a")})), &failed),
        ("DeleteItem", unmet(json!({"Key": key("a")})), &failed),
        ("DeleteItem", met, &none),
        ("ExecuteStatement", json!({"Statement": missing}), &failed),
        (
            "ExecuteStatement",
            json!({"Statement": "INSERT INTO tab VALUE {'pk': 'a'}"}),
            &user,
        ),
        (
            "BatchExecuteStatement",
            json!({"Statements": [{"Statement": missing}, {"Statement": "UPDATE tab SET v = 1 WHERE pk = 'noone'"}]}),
            &["ConditionalCheckFailedRequests 2"],
        ),
        (
            "BatchExecuteStatement",
            json!({"Statements": [{"Statement": missing}, {"Statement": update}]}),
            &failed,
        ),
        (
            "TransactWriteItems",
            json!({"TransactItems": [{"Put": unmet(json!({"Item": key("a")}))}]}),
            &user,
        ),
        (
            "TransactWriteItems",
            json!({"TransactItems": [{"ConditionCheck": unmet(json!({"Key": key("a")}))}]}),
            &user,
        ),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": [{"Statement": missing}]}),
            &user,
        ),
        ("PutItem", on_tab(json!({"Item": {}})), &user),
        ("Query", on_tab(json!({})), &user),
        ("Scan", on_tab(json!({"IndexName": "none"})), &user),
        (
            "BatchGetItem",
            json!({"RequestItems": {"none": {"Keys": [key("a")]}}}),
            &user,
        ),
        ("BatchExecuteStatement", json!({"Statements": []}), &user),
        ("ExecuteTransaction", json!({"TransactStatements": []}), &user),
        ("CreateTable", json!({}), &user),
        ("DescribeTable", json!({"TableName": "none"}), &user),
    ] {
        let twin = watched();
        twin.send(operation, &body);
        assert_eq!(counted(&twin, operation), expect, "{operation} {body}");
    }
}

/// `SuccessfulRequestLatency` has everything that delays an answer: waits of rules, the latency of requests, and the time of
/// transactions.
#[test]
fn latency_has_everything_that_delays_an_answer() {
    let fixed = |seconds| Lag::Fixed(Duration::from_secs(seconds));
    let slow = Conditions {
        latency: Some(Latency {
            read: fixed(10),
            write: fixed(20),
            query: fixed(30),
            transaction: fixed(40),
            control: fixed(50),
            per_kilobyte: Duration::ZERO,
        }),
        ..Conditions::CALM
    };
    let transactions = Conditions {
        transaction_time: fixed(100),
        ..Conditions::CALM
    };
    let second = Duration::from_secs(1);
    let wait = || Rule::new(Verdict::Wait(second));
    // The seconds that a rule adds for each entry, whether classes have their latency, and the time of a writing transaction.
    for (what, rule, conditions, (per_entry, has_latency, transaction)) in [
        ("nothing", None, Conditions::CALM, (0, false, 0)),
        ("a wait", Some(wait()), Conditions::CALM, (1, false, 0)),
        (
            "a wait that moves the clock",
            Some(wait().moving_clock()),
            Conditions::CALM,
            (1, false, 0),
        ),
        (
            "a wait of about a second",
            Some(Rule::new(Verdict::WaitAbout(fixed(1)))),
            Conditions::CALM,
            (1, false, 0),
        ),
        ("latency", None, slow, (0, true, 0)),
        ("latency and a wait", Some(wait()), slow, (1, true, 0)),
        (
            "latency and a wait that moves the clock",
            Some(wait().moving_clock()),
            slow,
            (1, true, 0),
        ),
        ("transactions", None, transactions, (0, false, 100)),
        ("transactions and a wait", Some(wait()), transactions, (1, false, 100)),
    ] {
        for (operation, kind, direction, _, body) in operations() {
            let twin = watched();
            twin.engine.set_conditions(conditions).unwrap();
            if let Some(rule) = &rule {
                twin.engine.add_fault(rule.clone()).unwrap();
            }
            let entries = if matches!(kind, Single | Range) { 1 } else { 2 };
            let class = match (operation, kind) {
                ("GetItem" | "BatchGetItem", _) => 10,
                ("PutItem" | "UpdateItem" | "DeleteItem" | "BatchWriteItem", _) => 20,
                (_, Transaction) => 40,
                _ => 30,
            };
            let in_transaction = if (kind, direction) == (Transaction, "Write") {
                transaction
            } else {
                0
            };
            let latency = if has_latency { class } else { 0 };
            let expect = 1000.0 * f64::from(per_entry * entries + latency + in_transaction);
            let now = twin.engine.clock().now();
            let answer = twin
                .engine
                .dispatch(&twin.caller, operation, body.to_string().as_bytes());
            let took = answer.at.since(now).as_secs_f64() * 1000.0;
            assert_eq!((answer.status, took), (200, expect), "{operation} {direction}: {what}");
            let points = twin.engine.metrics_by_minute(&twin.caller);
            let samples: Vec<_> = points
                .iter()
                .filter(|point| point.metric.name == "SuccessfulRequestLatency")
                .map(|point| {
                    let samples = point.samples.unwrap();
                    let [table, of] = ["TableName", "Operation"].map(|name| point.metric.dimension(name));
                    assert_eq!((table, of), (Some("tab"), Some(operation)));
                    (samples.count, samples.minimum, samples.maximum, point.metric.value)
                })
                .collect();
            assert_eq!(
                samples,
                [(1, expect, expect, expect)],
                "{operation} {direction}: {what}"
            );
            let average = counted(&twin, operation).iter().find_map(|metric| {
                Some(
                    metric
                        .strip_prefix("SuccessfulRequestLatency@ ")?
                        .parse::<f64>()
                        .unwrap(),
                )
            });
            assert_eq!(average.unwrap_or(0.0), expect, "{operation} {direction}: {what}");
        }
    }
}

/// What is refused has no latency, however long the answer takes.
#[test]
fn a_refused_request_has_no_latency() {
    let twin = watched();
    let fixed = Lag::Fixed(Duration::from_secs(1));
    twin.engine
        .set_conditions(Conditions {
            latency: Some(Latency {
                read: fixed,
                write: fixed,
                query: fixed,
                transaction: fixed,
                control: fixed,
                per_kilobyte: Duration::ZERO,
            }),
            ..Conditions::CALM
        })
        .unwrap();
    let put = |condition: &str| on_tab(json!({"Item": key("a"), "ConditionExpression": condition}));
    for (condition, status, samples) in [
        ("attribute_not_exists(pk)", 400, 0),
        ("attribute_exists(pk)", 200, 1),
        ("attribute_not_exists(pk)", 400, 1),
    ] {
        assert_eq!(twin.send("PutItem", &put(condition)).0, status);
        let points = twin.engine.metrics_by_minute(&twin.caller);
        let of_latency = points
            .iter()
            .find(|point| point.metric.name == "SuccessfulRequestLatency");
        assert_eq!(
            of_latency.map_or(0, |point| point.samples.unwrap().count),
            samples,
            "{condition}"
        );
    }
}

/// What each kind of read has scanned, returned and spent, whether or not its item is there.
#[test]
fn the_log_counts_what_reads_find() {
    let pk = |pk: &str| json!({":k": {"S": pk}});
    let query = |more: Value| {
        let mut query = on_tab(json!({"KeyConditionExpression": "pk = :k", "ExpressionAttributeValues": pk("a")}));
        query.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        query
    };
    let by_g = |g: &str| {
        on_tab(json!({"IndexName": "by-g", "KeyConditionExpression": "g = :k", "ExpressionAttributeValues": pk(g)}))
    };
    let get = |pk: &str| on_tab(json!({"Key": key(pk)}));
    let batch =
        |keys: &[&str]| json!({"RequestItems": {"tab": {"Keys": keys.iter().map(|pk| key(pk)).collect::<Vec<_>>()}}});
    let gets =
        |keys: &[&str]| json!({"TransactItems": keys.iter().map(|pk| json!({"Get": get(pk)})).collect::<Vec<_>>()});
    let select = |pk: &str| json!({"Statement": format!("SELECT * FROM tab WHERE pk = '{pk}'")});
    let selects = |keys: &[&str]| keys.iter().map(|pk| select(pk)).collect::<Vec<_>>();
    let filtered = json!({"FilterExpression": "attribute_exists(nothing)"});
    for (operation, body, (scanned, returned, units, accesses)) in [
        ("GetItem", get("a"), (1, 1, 0.5, 1)),
        ("GetItem", get("nobody"), (0, 0, 0.5, 1)),
        ("BatchGetItem", batch(&["a", "b"]), (2, 2, 1.0, 2)),
        ("BatchGetItem", batch(&["a", "nobody"]), (1, 1, 1.0, 2)),
        ("BatchGetItem", batch(&["nobody"]), (0, 0, 0.5, 1)),
        ("TransactGetItems", gets(&["a", "b"]), (2, 2, 4.0, 2)),
        ("TransactGetItems", gets(&["nobody", "b"]), (1, 1, 4.0, 2)),
        ("TransactGetItems", gets(&["nobody"]), (0, 0, 2.0, 1)),
        ("Query", query(json!({})), (1, 1, 0.5, 1)),
        ("Query", query(json!({"Select": "COUNT"})), (1, 1, 0.5, 1)),
        ("Query", query(filtered.clone()), (1, 0, 0.5, 1)),
        (
            "Query",
            query(json!({"ExpressionAttributeValues": pk("nobody")})),
            (0, 0, 0.5, 1),
        ),
        ("Query", by_g("x"), (2, 2, 0.5, 1)),
        ("Query", by_g("y"), (0, 0, 0.5, 1)),
        ("Scan", on_tab(json!({})), (2, 2, 0.5, 1)),
        ("Scan", on_tab(filtered), (2, 0, 0.5, 1)),
        ("Scan", on_tab(json!({"IndexName": "by-g", "Limit": 1})), (1, 1, 0.5, 1)),
        ("ExecuteStatement", select("a"), (1, 1, 0.5, 1)),
        ("ExecuteStatement", select("nobody"), (0, 0, 0.5, 1)),
        (
            "BatchExecuteStatement",
            json!({"Statements": selects(&["a", "nobody"])}),
            (1, 1, 1.0, 2),
        ),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": selects(&["a", "nobody"])}),
            (1, 1, 4.0, 2),
        ),
        (
            "PutItem",
            on_tab(json!({"Item": key("a"), "ReturnValues": "ALL_OLD"})),
            (0, 0, 0.0, 1),
        ),
        (
            "DeleteItem",
            on_tab(json!({"Key": key("a"), "ReturnValues": "ALL_OLD"})),
            (0, 0, 0.0, 1),
        ),
        (
            "UpdateItem",
            on_tab(json!({"Key": key("a"), "ReturnValues": "ALL_NEW"})),
            (0, 0, 0.0, 1),
        ),
    ] {
        let twin = watched();
        twin.ok(operation, &body);
        let requests = twin.engine.requests();
        let seen = requests.last().unwrap();
        let found = (seen.scanned, seen.returned, seen.read.as_f64(), seen.accesses.len());
        assert_eq!(found, (scanned, returned, units, accesses), "{operation} {body}");
        let of_accesses: u64 = seen.accesses.iter().map(|access| access.scanned).sum();
        assert_eq!(of_accesses, scanned, "{operation} {body}");
    }
}

/// Each limit is a gauge of what has it: the maximum of a table is none of its indexes, and provisioned units are shown
/// instead of maximums.
#[test]
fn gauges_are_those_of_the_table_or_of_the_index() {
    let most = |(read, write): (i64, i64)| {
        let mut most = json!({});
        for (name, units) in [("MaxReadRequestUnits", read), ("MaxWriteRequestUnits", write)] {
            if units > 0 {
                most[name] = units.into();
            }
        }
        most
    };
    let units = |(read, write): (i64, i64)| json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write});
    let choices = [(0, 0), (10, 0), (0, 11), (12, 13)];
    for is_provisioned in [false, true] {
        for of_table in choices {
            for of_index in choices {
                let limits = [of_table, of_index, (0, 0)].map(|(read, write)| {
                    // Provisioned units are never missing.
                    if is_provisioned {
                        (read + 1, write + 1)
                    } else {
                        (read, write)
                    }
                });
                let twin = Twin::new(1);
                let with = |mut of: Value, limits: (i64, i64)| {
                    if is_provisioned {
                        of["ProvisionedThroughput"] = units(limits);
                    } else if limits != (0, 0) {
                        of["OnDemandThroughput"] = most(limits);
                    }
                    of
                };
                let index = |name: &str, limits| {
                    let key = json!([{"AttributeName": "pk", "KeyType": "HASH"}]);
                    let index = json!({"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": "ALL"}});
                    with(index, limits)
                };
                let billing = if is_provisioned {
                    "PROVISIONED"
                } else {
                    "PAY_PER_REQUEST"
                };
                let create = json!({"TableName": "tab", "BillingMode": billing,
                    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                    "GlobalSecondaryIndexes": [index("one", limits[1]), index("two", limits[2])]});
                twin.ok("CreateTable", &with(create, limits[0]));
                let names = if is_provisioned {
                    ["ProvisionedReadCapacityUnits", "ProvisionedWriteCapacityUnits"]
                } else {
                    ["OnDemandMaxReadRequestUnits", "OnDemandMaxWriteRequestUnits"]
                };
                let mut expect = Vec::new();
                for (at, name) in names.into_iter().enumerate() {
                    for (dimension, (read, write)) in [
                        ("", limits[0]),
                        (", GlobalSecondaryIndexName=one", limits[1]),
                        (", GlobalSecondaryIndexName=two", limits[2]),
                    ] {
                        let units = [read, write][at];
                        if units > 0 {
                            expect.push(format!("{name}{{TableName=tab{dimension}}} {units}"));
                        }
                    }
                }
                assert_eq!(metrics(&twin), expect, "{of_table:?} {of_index:?}");
            }
        }
    }
}

/// A maximum that is changed or removed is a gauge no longer, and that of the table or of the other index stays.
#[test]
fn gauges_follow_changes_of_maximums() {
    let twin = Twin::new(1);
    let most = |read: i64, write: i64| json!({"MaxReadRequestUnits": read, "MaxWriteRequestUnits": write});
    let index = |name: &str| {
        json!({"IndexName": name, "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"}, "OnDemandThroughput": most(5, 6)})
    };
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "OnDemandThroughput": most(3, 4),
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [index("one"), index("two")]}),
    );
    let shown = |[table, one, two]: [(u64, u64); 3]| {
        let mut shown = Vec::new();
        for (at, direction) in ["Read", "Write"].into_iter().enumerate() {
            for (index, units) in [("", table), ("one", one), ("two", two)] {
                let units = [units.0, units.1][at];
                let index = if index.is_empty() {
                    String::new()
                } else {
                    format!(", GlobalSecondaryIndexName={index}")
                };
                if units > 0 {
                    shown.push(format!(
                        "OnDemandMax{direction}RequestUnits{{TableName=tab{index}}} {units}"
                    ));
                }
            }
        }
        shown
    };
    assert_eq!(metrics(&twin), shown([(3, 4), (5, 6), (5, 6)]));
    let of_index = |name: &str, most: Value| json!({"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": name, "OnDemandThroughput": most}}]});
    for (update, expect) in [
        (json!({"OnDemandThroughput": most(-1, 40)}), [(0, 40), (5, 6), (5, 6)]),
        (json!({"OnDemandThroughput": most(-1, -1)}), [(0, 0), (5, 6), (5, 6)]),
        (of_index("one", most(50, -1)), [(0, 0), (50, 0), (5, 6)]),
        (of_index("two", most(-1, -1)), [(0, 0), (50, 0), (0, 0)]),
        (json!({"OnDemandThroughput": most(30, 31)}), [(30, 31), (50, 0), (0, 0)]),
        (of_index("one", most(-1, 60)), [(30, 31), (0, 60), (0, 0)]),
    ] {
        twin.ok("UpdateTable", &on_tab(update.clone()));
        twin.engine.advance(Duration::from_hours(1));
        assert_eq!(metrics(&twin), shown(expect), "{update}");
    }
}

/// What is logged of each entry of a request: what it does to which item of what, its units, and its error. A throttled entry is
/// logged too, without units, with the limit of the table or the index.
#[test]
fn the_log_has_each_entry_of_each_operation() {
    use ItemAction::{ConditionCheck, Delete, Get, Put, Query, Scan, Update};
    /// The action, the index, the value of the partition key, the units, the items read, and whether its condition failed.
    type Entry = (ItemAction, &'static str, &'static str, f64, u64, bool);
    let statement = |text: &str| json!({"Statement": text});
    let statements = |texts: &[&str]| texts.iter().map(|text| statement(text)).collect::<Vec<_>>();
    let unmet = |mut body: Value| {
        body["ConditionExpression"] = json!("attribute_exists(nothing)");
        body
    };
    let get = |pk: &str| on_tab(json!({"Key": key(pk)}));
    let put = |pk: &str| on_tab(json!({"Item": {"pk": {"S": pk}, "g": {"S": "y"}}}));
    let update = |pk: &str| {
        let values = json!({":g": {"S": "y"}});
        on_tab(json!({"Key": key(pk), "UpdateExpression": "SET g = :g", "ExpressionAttributeValues": values}))
    };
    let query = |index: &str, attribute: &str, value: &str| {
        let condition = format!("{attribute} = :v");
        let values = json!({":v": {"S": value}});
        let mut query = on_tab(json!({"KeyConditionExpression": condition, "ExpressionAttributeValues": values}));
        if !index.is_empty() {
            query["IndexName"] = index.into();
        }
        query
    };
    let actions = |actions: &[(&str, Value)]| {
        let actions: Vec<Value> = actions.iter().map(|(kind, body)| json!({*kind: body})).collect();
        json!({"TransactItems": actions})
    };
    let writes = json!([{"PutRequest": {"Item": key("new")}}, {"DeleteRequest": {"Key": key("a")}}]);
    let keys = json!({"Keys": [key("a"), key("nobody")]});
    let absent = on_tab(json!({"Key": key("c"), "ConditionExpression": "attribute_not_exists(pk)"}));
    let [select_a, select_nobody] = ["a", "nobody"].map(|pk| format!("SELECT * FROM tab WHERE pk = '{pk}'"));
    let [update_a, update_nobody] = ["a", "nobody"].map(|pk| format!("UPDATE tab SET v = 1 WHERE pk = '{pk}'"));
    let rows: Vec<(&str, Value, Vec<Entry>)> = vec![
        ("GetItem", get("a"), vec![(Get, "", "a", 0.5, 1, false)]),
        ("GetItem", get("nobody"), vec![(Get, "", "nobody", 0.5, 0, false)]),
        ("PutItem", put("a"), vec![(Put, "", "a", 3.0, 0, false)]),
        ("PutItem", put("new"), vec![(Put, "", "new", 2.0, 0, false)]),
        ("PutItem", unmet(put("a")), vec![(Put, "", "a", 1.0, 0, true)]),
        ("PutItem", unmet(put("nobody")), vec![(Put, "", "nobody", 1.0, 0, true)]),
        ("UpdateItem", update("a"), vec![(Update, "", "a", 3.0, 0, false)]),
        ("UpdateItem", update("new"), vec![(Update, "", "new", 2.0, 0, false)]),
        ("UpdateItem", unmet(update("a")), vec![(Update, "", "a", 1.0, 0, true)]),
        ("DeleteItem", get("a"), vec![(Delete, "", "a", 2.0, 0, false)]),
        ("DeleteItem", get("nobody"), vec![(Delete, "", "nobody", 1.0, 0, false)]),
        ("DeleteItem", unmet(get("a")), vec![(Delete, "", "a", 1.0, 0, true)]),
        (
            "BatchGetItem",
            json!({"RequestItems": {"tab": keys}}),
            vec![(Get, "", "a", 0.5, 1, false), (Get, "", "nobody", 0.5, 0, false)],
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"tab": writes}}),
            vec![(Put, "", "new", 1.0, 0, false), (Delete, "", "a", 2.0, 0, false)],
        ),
        ("Query", query("", "pk", "a"), vec![(Query, "", "a", 0.5, 1, false)]),
        (
            "Query",
            query("by-g", "g", "x"),
            vec![(Query, "by-g", "x", 0.5, 2, false)],
        ),
        (
            "Query",
            query("by-g", "g", "none"),
            vec![(Query, "by-g", "none", 0.5, 0, false)],
        ),
        ("Scan", on_tab(json!({})), vec![(Scan, "", "", 0.5, 2, false)]),
        (
            "Scan",
            on_tab(json!({"IndexName": "by-g"})),
            vec![(Scan, "by-g", "", 0.5, 2, false)],
        ),
        (
            "TransactGetItems",
            actions(&[("Get", get("a")), ("Get", get("nobody"))]),
            vec![(Get, "", "a", 2.0, 1, false), (Get, "", "nobody", 2.0, 0, false)],
        ),
        (
            "TransactWriteItems",
            actions(&[
                ("Put", put("new")),
                ("Update", update("a")),
                ("Delete", get("b")),
                ("ConditionCheck", absent),
            ]),
            vec![
                (Put, "", "new", 3.0, 0, false),
                (Update, "", "a", 4.0, 0, false),
                (Delete, "", "b", 3.0, 0, false),
                (ConditionCheck, "", "c", 2.0, 0, false),
            ],
        ),
        (
            "TransactWriteItems",
            actions(&[("Put", put("new")), ("ConditionCheck", unmet(get("a")))]),
            vec![(Put, "", "new", 0.0, 0, false), (ConditionCheck, "", "a", 0.0, 0, true)],
        ),
        (
            "ExecuteStatement",
            statement(&select_a),
            vec![(Query, "", "a", 0.5, 1, false)],
        ),
        (
            "ExecuteStatement",
            statement("SELECT * FROM tab.\"by-g\" WHERE g = 'x'"),
            vec![(Query, "by-g", "x", 0.5, 2, false)],
        ),
        (
            "ExecuteStatement",
            statement("SELECT * FROM tab"),
            vec![(Scan, "", "", 0.5, 2, false)],
        ),
        (
            "ExecuteStatement",
            statement("INSERT INTO tab VALUE {'pk': 'new'}"),
            vec![(Put, "", "new", 1.0, 0, false)],
        ),
        (
            "ExecuteStatement",
            statement("UPDATE tab SET g = 'y' WHERE pk = 'a'"),
            vec![(Update, "", "a", 3.0, 0, false)],
        ),
        (
            "ExecuteStatement",
            statement(&update_nobody),
            vec![(Update, "", "nobody", 1.0, 0, true)],
        ),
        (
            "ExecuteStatement",
            statement("DELETE FROM tab WHERE pk = 'a'"),
            vec![(Delete, "", "a", 2.0, 0, false)],
        ),
        (
            "BatchExecuteStatement",
            json!({"Statements": statements(&[&select_a, &select_nobody])}),
            vec![(Get, "", "a", 0.5, 1, false), (Get, "", "nobody", 0.5, 0, false)],
        ),
        (
            "BatchExecuteStatement",
            json!({"Statements": statements(&[&update_a, &update_nobody])}),
            vec![(Update, "", "a", 2.0, 0, false), (Update, "", "nobody", 1.0, 0, true)],
        ),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": statements(&[&select_a, &select_nobody])}),
            vec![(Get, "", "a", 2.0, 1, false), (Get, "", "nobody", 2.0, 0, false)],
        ),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": statements(&[&update_a, &update_nobody])}),
            vec![(Update, "", "a", 0.0, 0, false), (Update, "", "nobody", 0.0, 0, true)],
        ),
    ];
    for (operation, body, expect) in rows {
        for is_throttled in [false, true] {
            let twin = watched();
            if is_throttled {
                twin.engine.add_fault(Rule::new(Verdict::Throttle(None))).unwrap();
            }
            twin.send(operation, &body);
            let requests = twin.engine.requests();
            let request = requests.last().unwrap();
            let what = format!("{operation} {body}, throttled: {is_throttled}");
            assert_eq!(request.accesses.len(), expect.len(), "{what}");
            let of_entries: f64 = expect.iter().map(|entry| entry.3).sum();
            let spent = request.read.as_f64() + request.write.as_f64();
            assert_eq!(spent, if is_throttled { 0.0 } else { of_entries }, "{what}");
            for (access, (act, index, value, units, scanned, is_unmet)) in request.accesses.iter().zip(&expect) {
                assert_eq!(
                    (access.act, access.index.as_deref().unwrap_or_default()),
                    (*act, *index),
                    "{what}"
                );
                let of_key: Vec<_> = access
                    .key
                    .iter()
                    .map(|(name, value)| (name.as_str(), format!("{value:?}")))
                    .collect();
                let name = if *index == "by-g" { "g" } else { "pk" };
                let key = (!value.is_empty()).then(|| (name, format!("S({value:?})")));
                assert_eq!(of_key, Vec::from_iter(key), "{what}");
                let is_one = access.tokens.is_some_and(|(first, last)| first == last);
                assert_eq!(is_one, *act != Scan, "{what}");
                let spent = (access.read.as_f64(), access.write.as_f64(), access.scanned);
                let is_read = matches!(act, Get | Query | Scan);
                let direction = if is_read { "Read" } else { "Write" };
                let limits: Vec<String> = access
                    .limits
                    .iter()
                    .map(|(limit, of)| format!("{limit} {of}"))
                    .collect();
                if is_throttled {
                    let (resource, path) = match *index {
                        "" => ("Table", String::new()),
                        index => ("Index", format!("/index/{index}")),
                    };
                    let limit = format!("{resource}{direction}KeyRangeThroughputExceeded");
                    let arn = format!("arn:aws:dynamodb:us-east-1:000000000000:table/tab{path}");
                    assert_eq!(limits, [format!("{limit} {arn}")], "{what}");
                    assert_eq!(
                        (spent, access.error),
                        ((0.0, 0.0, 0), Some(ErrorKind::Throttling)),
                        "{what}"
                    );
                    assert!(matches!(access.injected, Some(Injected::Rule(1))), "{what}");
                } else {
                    let units = if is_read { (*units, 0.0) } else { (0.0, *units) };
                    assert_eq!(spent, (units.0, units.1, *scanned), "{what}");
                    let error = is_unmet.then_some(ErrorKind::ConditionalCheckFailed);
                    assert_eq!((access.error, limits.len()), (error, 0), "{what}");
                    assert!(access.injected.is_none(), "{what}");
                }
            }
        }
    }
}

/// Throttles and units count for the table of their entry; latency and system errors for all tables of the request.
#[test]
fn each_table_of_a_request_counts_its_own() {
    for (operation, direction, body, [of_tab, of_second]) in of_two_tables() {
        let is_statements = operation == "BatchExecuteStatement";
        let is_batch = operation.starts_with("Batch");
        let units = |table: &str, units: f64| format!("Consumed{direction}CapacityUnits{{TableName={table}}} {units}");
        let of_index = if direction == "Write" {
            vec!["ConsumedWriteCapacityUnits{TableName=tab, GlobalSecondaryIndexName=by-g} 1".to_owned()]
        } else {
            vec![]
        };
        let throttles = |table: &str| {
            ["KeyRangeThroughputThrottleEvents", "ThrottleEvents"]
                .map(|name| format!("{direction}{name}{{TableName={table}}} 1"))
                .to_vec()
        };
        let counts = |name: &str, table: &str, count: u64| {
            vec![format!("{name}{{TableName={table}, Operation={operation}}} {count}")]
        };
        let (tab, second) = (vec![units("tab", of_tab)], vec![units("second", of_second)]);
        let both = |name: &str, count| [counts(name, "tab", count), counts(name, "second", count)].concat();
        let tab = [tab, of_index].concat();
        let second_alone = if is_batch {
            vec![]
        } else {
            counts("ThrottledRequests", "second", 1)
        };
        let tab_alone = if is_batch { tab.clone() } else { vec![] };
        let second_failed = if is_statements {
            tab.clone()
        } else {
            both("SystemErrors", 1)
        };
        let of_second = |verdict| Rule::new(verdict).table("second");
        let throttle = Verdict::Throttle(None);
        let all = [tab.clone(), second.clone()].concat();
        for (rule, mut expect) in [
            (None, all.clone()),
            (
                Some(of_second(Verdict::Wait(Duration::from_secs(1)))),
                [all, both("SuccessfulRequestLatency", 1000)].concat(),
            ),
            (
                Some(of_second(throttle)),
                [throttles("second"), second_alone, tab_alone].concat(),
            ),
            (
                Some(Rule::new(throttle)),
                [throttles("second"), throttles("tab"), both("ThrottledRequests", 1)].concat(),
            ),
            (Some(of_second(Verdict::InternalServerError)), second_failed),
        ] {
            let twin = two_tables();
            if let Some(rule) = &rule {
                twin.engine.add_fault(rule.clone()).unwrap();
            }
            twin.send(operation, &body);
            let mut counted = metrics(&twin);
            counted.sort();
            expect.sort();
            assert_eq!(counted, expect, "{operation} {direction} {rule:?}");
        }
    }
}

/// `tab` and `second`, which has a longer item.
fn two_tables() -> Twin {
    let twin = watched();
    twin.ok(
        "CreateTable",
        &json!({"TableName": "second", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}),
    );
    twin.ok(
        "PutItem",
        &json!({"TableName": "second", "Item": {"pk": {"S": "a"}, "v": {"S": "v".repeat(5000)}}}),
    );
    twin.engine.forget_requests();
    twin
}

/// Requests that use both tables: the operation, direction and body, and the units of each table.
fn of_two_tables() -> Vec<(&'static str, &'static str, Value, [f64; 2])> {
    let get = |table: &str| json!({"TableName": table, "Key": key("a")});
    let put = |table: &str| json!({"TableName": table, "Item": key("a")});
    let select = |table: &str| json!({"Statement": format!("SELECT * FROM {table} WHERE pk = 'a'")});
    let update = |table: &str| json!({"Statement": format!("UPDATE {table} SET v = 1 WHERE pk = 'a'")});
    let keys = json!({"Keys": [key("a")]});
    let write = json!([{"PutRequest": {"Item": key("a")}}]);
    let both = |of: &dyn Fn(&str) -> Value| ["tab", "second"].map(of);
    let actions = |kind: &str, of: &dyn Fn(&str) -> Value| both(&|table| json!({kind: of(table)}));
    vec![
        (
            "BatchGetItem",
            "Read",
            json!({"RequestItems": {"tab": keys, "second": keys}}),
            [0.5, 1.0],
        ),
        (
            "BatchWriteItem",
            "Write",
            json!({"RequestItems": {"tab": write, "second": write}}),
            [1.0, 5.0],
        ),
        (
            "BatchExecuteStatement",
            "Read",
            json!({"Statements": both(&select)}),
            [0.5, 1.0],
        ),
        (
            "BatchExecuteStatement",
            "Write",
            json!({"Statements": both(&update)}),
            [1.0, 5.0],
        ),
        (
            "TransactGetItems",
            "Read",
            json!({"TransactItems": actions("Get", &get)}),
            [2.0, 4.0],
        ),
        (
            "TransactWriteItems",
            "Write",
            json!({"TransactItems": actions("Put", &put)}),
            [2.0, 10.0],
        ),
        (
            "ExecuteTransaction",
            "Read",
            json!({"TransactStatements": both(&select)}),
            [2.0, 4.0],
        ),
        (
            "ExecuteTransaction",
            "Write",
            json!({"TransactStatements": both(&update)}),
            [2.0, 10.0],
        ),
    ]
}

/// While units are changed, gauges show those that DescribeTable shows; the progress of a new index begins when it is filled.
#[test]
fn gauges_show_what_a_description_shows() {
    let units =
        |units: u64| json!({"ProvisionedThroughput": {"ReadCapacityUnits": units, "WriteCapacityUnits": units + 1}});
    let with = |mut first: Value, second: &Value| {
        let members = second.as_object().unwrap().clone();
        first.as_object_mut().unwrap().extend(members);
        first
    };
    let of_indexes = |update: Value| json!({"GlobalSecondaryIndexUpdates": [update]});
    let index = |name: &str, more: &Value| {
        let key = json!([{"AttributeName": "g", "KeyType": "HASH"}]);
        with(
            json!({"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": "ALL"}}),
            more,
        )
    };
    let update_index = of_indexes(json!({"Update": with(json!({"IndexName": "by-g"}), &units(60))}));
    let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let attributes = json!({"AttributeDefinitions": attributes});
    let create = with(of_indexes(json!({"Create": index("new", &units(70))})), &attributes);
    let back = with(
        with(update_index.clone(), &units(50)),
        &json!({"BillingMode": "PROVISIONED"}),
    );
    for (billing, change) in [
        ("PROVISIONED", units(50)),
        ("PROVISIONED", units(5)),
        ("PROVISIONED", update_index.clone()),
        ("PROVISIONED", with(units(50), &update_index)),
        ("PROVISIONED", json!({"BillingMode": "PAY_PER_REQUEST"})),
        ("PROVISIONED", create),
        ("PROVISIONED", of_indexes(json!({"Delete": {"IndexName": "by-g"}}))),
        ("PAY_PER_REQUEST", back),
    ] {
        let twin = Twin::new(1);
        let limits = if billing == "PROVISIONED" { units(10) } else { json!({}) };
        let table = json!({"BillingMode": billing, "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [index("by-g", &limits)]});
        twin.ok("CreateTable", &on_tab(with(with(table, &attributes), &limits)));
        twin.engine
            .set_conditions(Conditions {
                table_status: Lag::Fixed(Duration::from_secs(40)),
                ..Conditions::CALM
            })
            .unwrap();
        twin.ok("UpdateTable", &on_tab(change.clone()));
        let start = twin.engine.clock().now();
        for millis in [
            0_u32, 9999, 10_000, 19_999, 20_000, 27_999, 28_000, 120_000, 240_000, 519_999, 520_000, 999_999,
            1_000_000, 1_820_000, 3_399_999, 3_400_000,
        ] {
            let to = start.plus(Duration::from_millis(millis.into()));
            twin.engine.advance(to.since(twin.engine.clock().now()));
            let described = twin.ok("DescribeTable", &on_tab(json!({})))["Table"].clone();
            let provisioned = |dimension: &str, described: &Value| {
                let of = |direction: &str| {
                    let units = &described["ProvisionedThroughput"][format!("{direction}CapacityUnits")];
                    let name = format!("Provisioned{direction}CapacityUnits");
                    (*units != 0).then(|| format!("{name}{{TableName=tab{dimension}}} {units}"))
                };
                ["Read", "Write"].map(of).into_iter().flatten()
            };
            let mut expect: Vec<String> = provisioned("", &described).collect();
            for index in described["GlobalSecondaryIndexes"].as_array().into_iter().flatten() {
                if index["IndexStatus"] != "DELETING" {
                    let name = index["IndexName"].as_str().unwrap();
                    expect.extend(provisioned(&format!(", GlobalSecondaryIndexName={name}"), index));
                }
                if index["IndexStatus"] == "CREATING" {
                    // Resources are allocated for four minutes.
                    let filled = Duration::from_millis((millis.max(240_000) - 240_000).into());
                    let progress = 100.0 * filled.as_secs_f64() / 3160.0;
                    let name = "OnlineIndexPercentageProgress";
                    expect.push(format!(
                        "{name}{{TableName=tab, GlobalSecondaryIndexName=new}} {progress}"
                    ));
                }
            }
            expect.sort();
            let mut shown = metrics(&twin);
            shown.sort();
            assert_eq!(shown, expect, "{change} after {millis} ms");
        }
    }
}
