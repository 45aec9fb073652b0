//! Lag: global indexes, each with its own condition or paused, and deletions by time to live.

use std::time::Duration;

use crate::common::{Twin, caller, create_table_with_ttl};
use dynatwin_engine::{Caller, Clock, Conditions, Engine, Lag, Moment, Settings, TimeToLive};
use serde_json::{Value, json};

fn create_two_indexes(twin: &Twin) {
    let index = |name: &str| {
        json!({"IndexName": format!("by-{name}"), "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"}})
    };
    let attributes: Vec<Value> = ["pk", "g", "h"]
        .iter()
        .map(|name| json!({"AttributeName": name, "AttributeType": "S"}))
        .collect();
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [index("g"), index("h")]}),
    );
}

fn put(twin: &Twin, pk: &str) {
    let item = json!({"pk": {"S": pk}, "g": {"S": "x"}, "h": {"S": "x"}});
    twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
}

/// Returns the keys in an index, in order.
fn keys(twin: &Twin, index: &str) -> String {
    let answer = twin.ok("Scan", &json!({"TableName": "tab", "IndexName": index}));
    let mut keys: Vec<&str> = answer["Items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["pk"]["S"].as_str().unwrap())
        .collect();
    keys.sort_unstable();
    keys.concat()
}

#[test]
fn each_index_has_its_own_lag() {
    let twin = Twin::new(7);
    create_two_indexes(&twin);
    let seconds = |count| Some(Lag::Fixed(Duration::from_secs(count)));
    twin.engine
        .account(&twin.caller)
        .set_index_lag("tab", "by-h", seconds(10))
        .unwrap();
    put(&twin, "a");
    assert_eq!((keys(&twin, "by-g"), keys(&twin, "by-h")), ("a".into(), String::new()));
    twin.engine.advance(Duration::from_secs(10));
    assert_eq!(keys(&twin, "by-h"), "a");
    // A change can overtake those of other items, but no earlier change of its own item.
    put(&twin, "b");
    twin.engine
        .account(&twin.caller)
        .set_index_lag("tab", "by-h", None)
        .unwrap();
    put(&twin, "c");
    twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "b"}}}));
    twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}}));
    assert_eq!(keys(&twin, "by-h"), "c");
    put(&twin, "b");
    assert_eq!(keys(&twin, "by-h"), "c");
    twin.engine.advance(Duration::from_secs(10));
    assert_eq!(keys(&twin, "by-h"), "bc");
}

/// A lag that is set or removed for an index is not that of another index or table.
#[test]
fn lags_of_indexes_are_set_one_by_one() {
    for (first, second) in [("by-g", "by-h"), ("by-h", "by-g")] {
        let twin = Twin::new(7);
        create_two_indexes(&twin);
        let lag = Lag::Fixed(Duration::from_secs(10));
        let set = |index: &str, lag: Option<Lag>| {
            twin.engine
                .account(&twin.caller)
                .set_index_lag("tab", index, lag)
                .unwrap();
        };
        for (index, lag, delayed, key) in [
            (first, Some(lag), &[first][..], "a"),
            (second, Some(lag), &[first, second], "b"),
            (first, None, &[second], "c"),
            (first, Some(lag), &[first, second], "d"),
            (second, None, &[first], "e"),
            (first, None, &[], "f"),
        ] {
            set(index, lag);
            put(&twin, key);
            for name in [first, second] {
                assert_eq!(
                    !keys(&twin, name).contains(key),
                    delayed.contains(&name),
                    "{name} after {index}: {key}"
                );
            }
            twin.engine.advance(Duration::from_secs(10));
        }
    }
}

/// A lag of an index precedes the condition for all indexes, also if it is none.
#[test]
fn an_index_without_lag_ignores_the_condition() {
    let twin = Twin::new(7);
    create_two_indexes(&twin);
    let conditions = Conditions {
        index_propagation: Lag::Fixed(Duration::from_secs(10)),
        ..Conditions::CALM
    };
    twin.engine.set_conditions(conditions).unwrap();
    let account = twin.engine.account(&twin.caller);
    account.set_index_lag("tab", "by-h", Some(Lag::None)).unwrap();
    put(&twin, "a");
    assert_eq!(
        (keys(&twin, "by-g"), keys(&twin, "by-h")),
        (String::new(), "a".to_owned())
    );
}

/// The lag that is set for an index ends with the index, in all replicas of its table.
#[test]
fn a_new_index_of_the_same_name_has_the_lag_of_its_table() {
    let twin = Twin::new(7);
    create_two_indexes(&twin);
    let replica = json!({"TableName": "tab", "ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]});
    twin.ok("UpdateTable", &replica);
    let other = Caller {
        region: "eu-west-1".into(),
        ..caller()
    };
    let send = |caller: &Caller, operation: &str, mut body: Value| -> Value {
        body["TableName"] = json!("tab");
        let answer = twin.engine.dispatch(caller, operation, body.to_string().as_bytes());
        let answered: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(answer.status, 200, "{operation} {body}: {answered}");
        answered
    };
    let count = |caller: &Caller| send(caller, "Scan", json!({"IndexName": "by-h"}))["Count"].clone();
    for (at, deleting) in [&twin.caller, &other].into_iter().enumerate() {
        for caller in [&twin.caller, &other] {
            let lag = Lag::Fixed(Duration::from_secs(10));
            twin.engine.account(caller).set_index_lag("tab", "by-h", lag).unwrap();
        }
        put(&twin, &format!("delayed {at}"));
        assert_eq!(
            [&twin.caller, &other].map(count),
            [json!(at * 2), json!(at * 2)],
            "{at}"
        );
        send(
            deleting,
            "UpdateTable",
            json!({"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-h"}}]}),
        );
        let index = json!({"IndexName": "by-h", "KeySchema": [{"AttributeName": "h", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}});
        send(
            deleting,
            "UpdateTable",
            json!({"AttributeDefinitions": [{"AttributeName": "h", "AttributeType": "S"}], "GlobalSecondaryIndexUpdates": [{"Create": index}]}),
        );
        put(&twin, &format!("immediate {at}"));
        assert_eq!(
            [&twin.caller, &other].map(count),
            [json!(at * 2 + 2), json!(at * 2 + 2)],
            "{at}"
        );
    }
}

/// Returns a twin at `start` with two indexes whose lag is that of `aws`.
fn propagating(start: Moment) -> Twin {
    let twin = Twin::new(7);
    twin.engine.clock().set(start);
    create_two_indexes(&twin);
    twin.engine
        .set_conditions(Conditions {
            index_propagation: Conditions::AWS.index_propagation,
            ..Conditions::CALM
        })
        .unwrap();
    twin
}

const GAP: Duration = Duration::from_millis(4);

/// Returns for each of several puts, 4 ms apart, the milliseconds until it reaches an index, rounded up.
fn delays(twin: &Twin, index: &str, puts: usize) -> Vec<u64> {
    let mut written = Vec::new();
    let mut delays = vec![None; puts];
    while delays.iter().any(Option::is_none) {
        let now = twin.engine.clock().now();
        if written.len() < puts && written.last().is_none_or(|last: &Moment| now.since(*last) >= GAP) {
            put(twin, &format!("{:03}", written.len()));
            written.push(now);
        }
        let seen = keys(twin, index);
        for at in seen.as_bytes().chunks(3) {
            let at: usize = std::str::from_utf8(at).unwrap().parse().unwrap();
            let millis = now.since(written[at]).as_micros().div_ceil(1000) as u64;
            delays[at].get_or_insert(millis);
        }
        twin.engine.clock().advance(Duration::from_millis(1));
    }
    delays.into_iter().flatten().collect()
}

#[test]
fn each_change_reaches_an_index_within_its_own_lag() {
    const PUTS: usize = 300;
    let twin = propagating(Moment::START);
    let mut delays = delays(&twin, "by-g", PUTS);
    let overtaken = delays.windows(2).filter(|pair| pair[0] > pair[1] + 4).count();
    assert!(overtaken > PUTS / 10, "{overtaken} of {PUTS} are overtaken: {delays:?}");
    delays.sort_unstable();
    // The median of the distribution is 20 ms, its longest delay 500 ms.
    assert!((14..=30).contains(&delays[PUTS / 2]), "{delays:?}");
    assert!((200..=501).contains(&delays[PUTS - 1]), "{delays:?}");
}

#[test]
fn a_delay_depends_on_no_moment_and_no_other_item() {
    let twins = [0, 1_234_567].map(|micros| propagating(Moment::START.plus(Duration::from_micros(micros))));
    // Earlier changes of other items do not matter.
    twins[1].ok(
        "PutItem",
        &json!({"TableName": "tab", "Item": {"pk": {"S": "other"}, "h": {"S": "x"}}}),
    );
    let [first, second] = twins.map(|twin| delays(&twin, "by-g", 50));
    assert_eq!(first, second);
    assert_ne!(
        first,
        delays(&propagating(Moment::START), "by-h", 50),
        "each index decides for itself"
    );
}

#[test]
fn an_index_can_show_a_transaction_in_part() {
    let twin = propagating(Moment::START);
    let mut parts = 0;
    for round in 0..5 {
        let put = |which: char| {
            let item = json!({"pk": {"S": format!("{round}{which}")}, "g": {"S": "x"}});
            json!({"Put": {"TableName": "tab", "Item": item}})
        };
        twin.ok("TransactWriteItems", &json!({"TransactItems": [put('a'), put('b')]}));
        for _ in 0..=500 {
            let seen = keys(&twin, "by-g").chars().filter(char::is_ascii_lowercase).count();
            parts += usize::from(seen == 2 * round + 1);
            twin.engine.clock().advance(Duration::from_millis(1));
        }
        let seen = keys(&twin, "by-g").chars().filter(char::is_ascii_lowercase).count();
        assert_eq!(seen, 2 * round + 2);
    }
    assert!(parts > 25, "one of two items was there in {parts} milliseconds");
}

/// The two indexes, with the one that is paused first.
const PAUSED: [[&str; 2]; 2] = [["by-g", "by-h"], ["by-h", "by-g"]];

#[test]
fn a_paused_index_catches_up_when_it_is_resumed() {
    for [paused, other] in PAUSED {
        let twin = Twin::new(7);
        create_two_indexes(&twin);
        put(&twin, "a");
        twin.engine.account(&twin.caller).pause_index("tab", paused).unwrap();
        ["b", "c"].iter().for_each(|pk| put(&twin, pk));
        twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}}));
        // More than the queue length at which a writer applies changes.
        (0..200).for_each(|_| put(&twin, "d"));
        twin.engine.advance(Duration::from_hours(10));
        assert_eq!((keys(&twin, paused), keys(&twin, other)), ("a".into(), "bcd".into()));
        assert_eq!(twin.engine.next_due(), Moment::NEVER, "nothing can be done");
        twin.engine.account(&twin.caller).resume_index("tab", paused).unwrap();
        assert_eq!(keys(&twin, paused), "bcd");
        put(&twin, "e");
        assert_eq!(keys(&twin, paused), "bcde");
    }
}

/// A fork shows what its original shows while an index is paused, and catches up by itself.
#[test]
fn a_paused_index_is_paused_in_a_fork() {
    for [paused, other] in PAUSED {
        let twin = Twin::new(7);
        create_two_indexes(&twin);
        put(&twin, "a");
        twin.engine.account(&twin.caller).pause_index("tab", paused).unwrap();
        ["b", "c"].iter().for_each(|pk| put(&twin, pk));
        for pk in ["a", "c"] {
            twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": pk}}}));
        }
        let fork = Twin {
            engine: twin.engine.fork(Clock::settable(Moment::START)).unwrap(),
            caller: twin.caller.clone(),
        };
        for twin in [&fork, &twin] {
            assert_eq!((keys(twin, paused), keys(twin, other)), ("a".into(), "b".into()));
            twin.engine.account(&twin.caller).resume_index("tab", paused).unwrap();
            assert_eq!(keys(twin, paused), "b");
        }
    }
}

#[test]
fn controls_refuse_unknown_names() {
    let twin = Twin::new(7);
    create_two_indexes(&twin);
    for (table, index, expected) in [
        ("tab", "by-x", "Table tab has no global index by-x."),
        ("tub", "by-g", "There is no table tub for access key test in us-east-1."),
    ] {
        let engine = &twin.engine;
        for refused in [
            engine.account(&twin.caller).pause_index(table, index),
            engine.account(&twin.caller).resume_index(table, index),
            engine.account(&twin.caller).set_index_lag(table, index, None),
        ] {
            assert_eq!(refused.unwrap_err().to_string(), expected);
        }
    }
    assert!(twin.engine.account(&twin.caller).expire_now("tub").is_err());
}

/// Returns a twin with a TTL lag and the given clock.
fn twin_with_ttl(clock: Clock, time_to_live: TimeToLive) -> Twin {
    let conditions = Conditions {
        time_to_live,
        ..Conditions::CALM
    };
    let settings = Settings {
        clock,
        seed: 7,
        conditions,
        shared_db: false,
    };
    let caller = caller();
    let engine = Engine::new(settings);
    let twin = Twin { engine, caller };
    create_table_with_ttl(&twin);
    twin
}

fn put_until(twin: &Twin, pk: &str, ttl: &Value) {
    let item = json!({"pk": {"S": pk}, "g": {"S": "x"}, "ttl": ttl});
    twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
}

fn seconds(at: i64) -> Value {
    json!({"N": at.to_string()})
}

fn count(twin: &Twin) -> usize {
    let items = twin.engine.items(&twin.caller, "tab").unwrap().len();
    let index = keys(twin, "by-g");
    assert_eq!(index.is_empty(), items == 0, "the index goes with its table");
    items
}

/// The next work of an engine is the first of all accounts and regions.
#[test]
fn the_next_due_work_is_that_of_any_region() {
    let callers = [
        ("test", "us-east-1"),
        ("other", "eu-west-1"),
        ("test", "ap-south-1"),
        ("zero", "us-west-2"),
    ];
    for first in 0..callers.len() {
        let mut twin = twin_with_ttl(Clock::settable(Moment::START), TimeToLive::Deletes(Lag::None));
        let expires = twin.seconds();
        for (at, (access_key, region)) in callers.into_iter().enumerate() {
            twin.caller = Caller {
                access_key: access_key.into(),
                region: region.into(),
            };
            if at > 0 {
                create_table_with_ttl(&twin);
            }
            put_until(&twin, "a", &seconds(expires + if at == first { 50 } else { 100 }));
        }
        // The items are in the indexes.
        twin.engine.run_due();
        let expect = Moment::from_seconds(expires + 50);
        assert_eq!(twin.engine.next_due(), expect, "{:?}", callers[first]);
    }
}

#[test]
fn each_deletion_has_its_own_lag_of_up_to_two_days() {
    for (conditions, early, late) in [(Conditions::AWS, 40, 60), (Conditions::STORM, 0, 20)] {
        let twin = twin_with_ttl(Clock::settable(Moment::START), conditions.time_to_live);
        let expires = twin.seconds() + 100;
        (0..200).for_each(|at| put_until(&twin, &at.to_string(), &seconds(expires)));
        twin.engine.advance(Duration::from_secs(99));
        assert_eq!(count(&twin), 200, "never before the time");
        let gone_after = |hours: u64| {
            let at = Moment::from_seconds(expires).plus(Duration::from_hours(hours));
            twin.engine.clock().set(at);
            200 - count(&twin)
        };
        let soon = gone_after(2) * 100 / 200;
        assert!((early..=late).contains(&soon), "{soon}% within two hours");
        let later = gone_after(47);
        assert!(later < 200, "the tail is long: {later}");
        assert_eq!(gone_after(48), 200);
    }
}

#[test]
fn due_deletions_reach_an_index_from_their_due_time() {
    let twin = twin_with_ttl(Clock::settable(Moment::START), TimeToLive::Deletes(Lag::None));
    let lag = Some(Lag::Fixed(Duration::from_secs(10)));
    let expires = twin.seconds() + 5;
    // In all partitions, so that later writes are in the queue before the deletions are noticed.
    (0..20).for_each(|at| put_until(&twin, &at.to_string(), &seconds(expires)));
    assert_eq!(keys(&twin, "by-g").len(), 30);
    twin.engine
        .account(&twin.caller)
        .set_index_lag("tab", "by-g", lag)
        .unwrap();
    twin.engine.clock().advance(Duration::from_secs(14));
    put(&twin, "later");
    // They were deleted at 5, and the index shows it at 15.
    assert_eq!(keys(&twin, "by-g").len(), 30);
    twin.engine.clock().advance(Duration::from_secs(1));
    assert_eq!(keys(&twin, "by-g"), "");
    twin.engine.clock().advance(Duration::from_secs(9));
    assert_eq!(keys(&twin, "by-g"), "later");
}

#[test]
fn an_update_that_moves_the_time_saves_the_item() {
    let lag = TimeToLive::Deletes(Lag::Fixed(Duration::from_hours(48)));
    let twin = twin_with_ttl(Clock::settable(Moment::START), lag);
    let expires = twin.seconds() + 10;
    put_until(&twin, "moved", &seconds(expires));
    put_until(&twin, "removed", &seconds(expires));
    put_until(&twin, "left", &seconds(expires));
    twin.engine.advance(Duration::from_hours(47));
    let moved = twin.seconds() + 10;
    let update = |pk: &str, expression: &str, values: Option<Value>| {
        let mut body = json!({"TableName": "tab", "Key": {"pk": {"S": pk}}, "UpdateExpression": expression,
            "ExpressionAttributeNames": {"#t": "ttl"}});
        if let Some(values) = values {
            body["ExpressionAttributeValues"] = values;
        }
        twin.ok("UpdateItem", &body);
    };
    update("moved", "SET #t = :t", Some(json!({":t": seconds(moved)})));
    update("removed", "REMOVE #t", None);
    twin.engine.advance(Duration::from_hours(2));
    assert_eq!(keys(&twin, "by-g"), "movedremoved");
    twin.engine.clock().set(Moment::from_seconds(moved + 48 * 3600));
    assert_eq!(keys(&twin, "by-g"), "removed");
    twin.engine.advance(Duration::from_hours(1000));
    assert_eq!(count(&twin), 1);
}

#[test]
fn invalid_expiry_times_are_ignored() {
    let five_years = 5 * 365 * 24 * 3600 + 2 * 24 * 3600;
    for deletes in [TimeToLive::Deletes(Lag::None), TimeToLive::Off] {
        let twin = twin_with_ttl(Clock::settable(Moment::START), deletes);
        let now = twin.seconds();
        put_until(&twin, "a", &json!({"S": now.to_string()}));
        put_until(&twin, "b", &json!({"NULL": true}));
        put_until(&twin, "c", &seconds(now - five_years));
        put_until(&twin, "d", &json!({"L": [seconds(now)]}));
        put_until(&twin, "e", &json!({"N": "1e100"}));
        twin.engine.advance(Duration::from_hours(50));
        assert_eq!(twin.engine.account(&twin.caller).expire_now("tab"), Ok(0));
        assert_eq!(count(&twin), 5);
    }
}

/// All expired items of a partition are deleted, however many there are, and the others are kept.
#[test]
fn any_number_of_expired_items_can_be_deleted_at_once() {
    const EXPIRED: usize = 300;
    let twin = Twin::new(7);
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]}),
    );
    let conditions = Conditions {
        time_to_live: TimeToLive::Off,
        ..Conditions::CALM
    };
    twin.engine.set_conditions(conditions).unwrap();
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}}),
    );
    let now = twin.seconds();
    let keys: Vec<usize> = (0..EXPIRED + 25).collect();
    for batch in keys.chunks(25) {
        let puts: Vec<Value> = batch
            .iter()
            .map(|at| {
                let ttl = if *at < EXPIRED { now - 1 } else { now + 3600 };
                json!({"PutRequest": {"Item": {"pk": {"S": "a"}, "sk": {"N": at.to_string()}, "ttl": {"N": ttl.to_string()}}}})
            })
            .collect();
        twin.ok("BatchWriteItem", &json!({"RequestItems": {"tab": puts}}));
    }
    assert_eq!(twin.engine.account(&twin.caller).expire_now("tab"), Ok(EXPIRED as u64));
    assert_eq!(twin.ok("Scan", &json!({"TableName": "tab"}))["Count"], 25);
    assert_eq!(twin.engine.account(&twin.caller).expire_now("tab"), Ok(0));
}

#[test]
fn expired_items_can_be_deleted_at_once() {
    for deletes in [TimeToLive::Off, Conditions::STORM.time_to_live] {
        let twin = twin_with_ttl(Clock::settable(Moment::START), deletes);
        let now = twin.seconds();
        put_until(&twin, "past", &seconds(now - 1));
        put_until(&twin, "now", &seconds(now));
        put_until(&twin, "later", &seconds(now + 1));
        put_until(&twin, "fraction", &json!({"N": format!("{now}.9")}));
        assert_eq!(count(&twin), 4);
        assert_eq!(twin.engine.account(&twin.caller).expire_now("tab"), Ok(3));
        assert_eq!(keys(&twin, "by-g"), "later");
        assert_eq!(twin.engine.account(&twin.caller).expire_now("tab"), Ok(0));
        twin.engine.advance(Duration::from_secs(1));
        assert_eq!(twin.engine.account(&twin.caller).expire_now("tab"), Ok(1));
        assert_eq!(count(&twin), 0);
        assert_eq!(twin.engine.next_due(), Moment::NEVER);
    }
}
