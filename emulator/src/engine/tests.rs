mod filling;
mod monotonic;
mod replicas;

use std::sync::Mutex;

use super::*;
use crate::conditions::Lag;
use crate::storage::{AppendError, Commit, EncodedCommit, Mutation};

/// A sink that keeps all commits.
#[derive(Default)]
struct Recorder(Mutex<Vec<Commit>>);

impl CommitSink for Recorder {
    fn append(&self, commit: &EncodedCommit) -> Result<(), AppendError> {
        self.0.lock().unwrap().push(Commit::clone(commit));
        Ok(())
    }
}

#[test]
fn reads_may_take_long_while_due_work_is_applied() {
    let engine = Engine::new(Settings {
        clock: Clock::settable(Moment::START),
        seed: 7,
        conditions: Conditions::CALM,
        shared_db: false,
    });
    let takes_long = |target: &str| {
        engine.may_take_long(&HttpRequest {
            method: "POST",
            target: "/",
            headers: &[("x-amz-target", target)],
            body: b"",
        })
    };
    let long = || ["DynamoDB_20120810.Scan", "DynamoDBStreams_20120810.GetRecords"].map(takes_long);
    assert_eq!(long(), [false; 2]);
    let step = engine.state.begin_step(Moment::START);
    assert_eq!(long(), [true; 2]);
    assert!(!takes_long("DynamoDB_20120810.GetItem") && takes_long("DynamoDB_20120810.DeleteTable"));
    drop(step);
    engine.advance(Duration::from_secs(1));
    assert_eq!(long(), [false; 2]);
    for (operation, expect) in [
        ("DynamoDB_20120810.DeleteTable", true),
        ("DynamoDB_20120810.UpdateTable", true),
        ("DynamoDB_20120810.GetItem", false),
        ("DynamoDB_20120810.TransactWriteItems", false),
        ("DynamoDB_20120810.NoOperation", false),
    ] {
        assert_eq!(takes_long(operation), expect, "{operation}");
    }
    // Without a target it is a control or a health check.
    for (target, expect) in [("/_dynatwin/tables", true), ("/", false), ("/healthy", false)] {
        let request = HttpRequest {
            method: "GET",
            target,
            headers: &[],
            body: b"",
        };
        assert_eq!(engine.may_take_long(&request), expect, "{target}");
    }
}

/// An engine with a table whose items expire one second after the start, and a subscriber of its events.
struct Expiring(Engine);

impl Expiring {
    fn new() -> Expiring {
        let expiring = Expiring(Engine::new(Settings {
            clock: Clock::settable(Moment::START),
            seed: 7,
            conditions: Conditions::CALM,
            shared_db: false,
        }));
        expiring.send(
            "CreateTable",
            r#"{"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"}}"#,
        );
        expiring.send(
            "UpdateTimeToLive",
            r#"{"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}}"#,
        );
        expiring.0.listen(true);
        for number in 0..2000 {
            let ttl = Moment::START.seconds() + 1;
            expiring.send(
                "PutItem",
                &format!(r#"{{"TableName": "tab", "Item": {{"pk": {{"S": "{number}"}}, "ttl": {{"N": "{ttl}"}}}}}}"#),
            );
        }
        expiring
    }

    fn caller() -> Caller {
        Caller {
            access_key: "me".into(),
            region: "us-east-1".into(),
        }
    }

    fn send(&self, operation: &str, body: &str) -> String {
        let answer = self.0.dispatch(&Expiring::caller(), operation, body.as_bytes());
        let text = String::from_utf8(answer.body).unwrap();
        assert_eq!(answer.status, 200, "{operation}: {text}");
        text
    }

    /// Reads and writes items by six requests; returns the answers.
    fn requests(&self) -> [String; 6] {
        let key = |number| format!(r#""TableName": "tab", "Key": {{"pk": {{"S": "{number}"}}}}"#);
        let get = format!(r#"{{{}, "ConsistentRead": true}}"#, key(10));
        let add = r#""UpdateExpression": "ADD v :one", "ExpressionAttributeValues": {":one": {"N": "1"}}"#;
        let update = format!(r#"{{{}, {add}, "ReturnValues": "ALL_NEW"}}"#, key(10));
        let delete = format!(r#"{{{}, "ReturnValues": "ALL_OLD"}}"#, key(20));
        let put = r#"{"TableName": "tab", "Item": {"pk": {"S": "30"}}}"#;
        let query = r#"{"TableName": "tab", "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": {"S": "40"}}}"#;
        [
            self.send("GetItem", &get),
            self.send("UpdateItem", &update),
            self.send("GetItem", &get),
            self.send("DeleteItem", &delete),
            self.send("PutItem", put),
            self.send("Query", query),
        ]
    }

    /// The number of deletions by time to live.
    fn deleted(&self) -> u64 {
        self.0.table(&Expiring::caller(), "tab").unwrap().expired()
    }

    /// The last number of the event log.
    fn last_event(&self) -> u64 {
        self.0.events_after(0, usize::MAX).next
    }

    /// The event log: by moment, first the events of due work in any order, then those of requests.
    fn events(&self) -> Vec<(Moment, String)> {
        let log = self.0.events_after(0, usize::MAX).events;
        assert!(log.is_sorted_by_key(|event| (event.at, event.request.is_some())));
        let mut events: Vec<_> = log
            .iter()
            .map(|event| (event.at, event.request, format!("{:?}", event.kind)))
            .collect();
        let of_due_work = |(_, request, kind): &(_, Option<u64>, String)| request.is_none().then(|| kind.clone());
        events.sort_by_key(|event| (event.0, event.1.is_some(), of_due_work(event)));
        events.into_iter().map(|(at, _, kind)| (at, kind)).collect()
    }
}

/// While a step of the clock applies all due deletions, requests apply few of them, and events are logged as if they had been sent
/// after the step.
#[test]
fn requests_apply_few_deletions_during_a_step() {
    // After one second, the items expire at the present moment.
    for seconds in [10, 1] {
        let [during, after] = [Expiring::new(), Expiring::new()];
        let by = Duration::from_secs(seconds);
        after.0.advance(by);
        let expect = after.requests();

        let before = during.last_event();
        let step = during.0.state.begin_step(Moment::START.plus(by));
        during.0.clock().advance(by);
        assert_eq!(during.requests(), expect, "{seconds} s");
        // Each of the requests applies at most 16, and that of its own item.
        let deleted = during.deleted();
        assert!((1..=6 * 17).contains(&deleted), "{seconds} s: {deleted}");
        assert_eq!(during.last_event(), before, "{seconds} s: they are held back");
        during.0.run_due();
        drop(step);
        assert_eq!(during.events(), after.events(), "{seconds} s");
        // Without a step, a request applies all of them first.
        let alone = Expiring::new();
        alone.0.clock().advance(by);
        assert_eq!(alone.requests(), expect, "{seconds} s");
        assert_eq!(alone.deleted(), 2000, "{seconds} s");
    }
}

/// A checkpoint has a deleted table until its deletion ends, and its stream until a day later, even if due work has not
/// removed them by then.
#[test]
fn a_checkpoint_has_nothing_that_is_gone() {
    let engine = Engine::new(Settings {
        clock: Clock::settable(Moment::START),
        seed: 7,
        conditions: Conditions {
            table_status: Lag::Fixed(Duration::from_secs(10)),
            ..Conditions::CALM
        },
        shared_db: false,
    });
    let caller = Caller {
        access_key: "me".into(),
        region: "us-east-1".into(),
    };
    let create = r#"{"TableName": "told", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}}"#;
    for (operation, body) in [("CreateTable", create), ("DeleteTable", r#"{"TableName": "told"}"#)] {
        engine.advance(Duration::from_mins(1));
        assert_eq!(engine.dispatch(&caller, operation, body.as_bytes()).status, 200);
    }
    let deleted = engine.clock().now();
    for (hours, there) in [(0, [true, true]), (1, [false, true]), (25, [false, false])] {
        let checkpoint = engine
            .state
            .catalog()
            .checkpoint(deleted.plus(Duration::from_hours(hours)));
        let mutations: Vec<Mutation> = checkpoint.flat_map(|commit| commit.mutations).collect();
        let has = |is_it: fn(&Mutation) -> bool| mutations.iter().any(is_it);
        let found = [
            has(|mutation| matches!(mutation, Mutation::CreateTable { .. })),
            has(|mutation| matches!(mutation, Mutation::RestoreStream { .. })),
        ];
        assert_eq!(found, there, "{hours} hours later");
    }
}
