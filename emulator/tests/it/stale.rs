//! Stale reads against a naive model that records every version: an eventually consistent read returns a state that
//! existed, never older than the bound, and a page reads each partition in one state.
//!
//! `DYNATWIN_SEED=n` replays one history.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::common::{Choice, Twin, setting};
use dynatwin_engine::attributes::{AttributeValue, partition_token};
use dynatwin_engine::{Caller, Clock, Conditions, Engine, Lag, Moment, Settings};
use serde_json::{Value, json};

const HISTORIES: u64 = 60;
const STEPS: u64 = 120;

type Items = BTreeMap<(String, i64), Value>;

/// A partition's state, and its start.
type State = (Moment, Items);

fn create(twin: &Twin) {
    create_table(twin, "tab");
}

fn create_table(twin: &Twin, table: &str) {
    let local_indexes = ["l", "m"].map(|attribute| {
        let key = json!([{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": attribute, "KeyType": "RANGE"}]);
        let projection = json!({"ProjectionType": "KEYS_ONLY"});
        json!({"IndexName": format!("by-{attribute}"), "KeySchema": key, "Projection": projection})
    });
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": table, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"},
                {"AttributeName": "l", "AttributeType": "S"}, {"AttributeName": "m", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            "LocalSecondaryIndexes": local_indexes}),
    );
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": table, "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "dies"}}),
    );
}

fn stale(staleness: Lag, monotonic: bool) -> Conditions {
    Conditions {
        read_staleness: staleness,
        monotonic_reads: monotonic,
        ..Conditions::CALM
    }
}

/// 0.4% of the reads shortly after a write miss it.
#[test]
fn few_reads_are_stale_under_aws() {
    let twin = Twin::new(1);
    twin.engine
        .set_conditions(Conditions {
            read_staleness: Conditions::AWS.read_staleness,
            stale_reads: Conditions::AWS.stale_reads,
            ..Conditions::CALM
        })
        .unwrap();
    create(&twin);
    let key = |at: u32| json!({"pk": {"S": at.to_string()}, "sk": {"N": "1"}});
    let missed = (0..5000).filter(|at| {
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": key(*at)}));
        twin.engine.advance(Duration::from_millis(1));
        let read = twin.ok("GetItem", &json!({"TableName": "tab", "Key": key(*at)}));
        read.get("Item").is_none()
    });
    let missed = missed.count();
    assert!((8..=40).contains(&missed), "{missed} of 5000");
}

fn caller(access_key: &str) -> Caller {
    Caller {
        access_key: access_key.into(),
        region: "us-east-1".into(),
    }
}

/// Returns the number of the partition of an item, out of four.
fn partition_of(pk: &str) -> usize {
    let token = partition_token(&AttributeValue::string(pk)).unwrap();
    (token >> 62) as usize
}

/// Returns a partition key of each partition.
fn key_of_each_partition() -> [String; 4] {
    [0, 1, 2, 3].map(|place| {
        let mut names = (0..100).map(|at| format!("p{at}"));
        names.find(|pk| partition_of(pk) == place).unwrap()
    })
}

fn number(value: &Value) -> Option<i64> {
    value["N"].as_str()?.parse().ok()
}

struct History {
    twin: Twin,
    other: Caller,
    /// All states of each partition.
    states: [Vec<State>; 4],
    /// For each caller and partition, the newest state known to have been read.
    seen: BTreeMap<(bool, usize), usize>,
    bound: Duration,
    monotonic: bool,
    choice: Choice,
    seed: u64,
    reads: u64,
    stale: u64,
}

impl History {
    fn new(seed: u64) -> History {
        let mut choice = Choice(seed);
        // Both callers share one set of tables.
        let settings = Settings {
            clock: Clock::settable(Moment::START),
            seed,
            conditions: Conditions::CALM,
            shared_db: true,
        };
        let twin = Twin {
            engine: Engine::new(settings),
            caller: caller("test"),
        };
        let millis = |count| Duration::from_millis(count);
        let staleness = match choice.below(3) {
            0 => Lag::Fixed(millis(30)),
            1 => Lag::Seeded {
                typical: millis(5),
                longest: millis(50),
            },
            _ => Lag::Seeded {
                typical: millis(500),
                longest: millis(5000),
            },
        };
        let monotonic = choice.one_in(2);
        twin.engine.set_conditions(stale(staleness, monotonic)).unwrap();
        create(&twin);
        let start = (twin.engine.clock().now(), Items::new());
        History {
            twin,
            other: caller("other"),
            states: std::array::from_fn(|_| vec![start.clone()]),
            seen: BTreeMap::new(),
            bound: staleness.longest(),
            monotonic,
            choice,
            seed,
            reads: 0,
            stale: 0,
        }
    }

    fn now(&self) -> Moment {
        self.twin.engine.clock().now()
    }

    fn change(&mut self, partition: usize, at: Moment, change: impl FnOnce(&mut Items)) {
        let mut items = self.states[partition].last().unwrap().1.clone();
        change(&mut items);
        self.states[partition].push((at, items));
    }

    /// Applies due deletions one by one, each at its own time.
    fn expire(&mut self) {
        let now = self.now();
        for partition in 0..4 {
            loop {
                let items = &self.states[partition].last().unwrap().1;
                let due = items
                    .iter()
                    .filter_map(|(key, item)| Some((number(&item["dies"])?, key)));
                let Some((at, key)) = due.min().map(|(at, key)| (at, key.clone())) else {
                    break;
                };
                if Moment::from_seconds(at) > now {
                    break;
                }
                // An expiry in the past deletes the item at once.
                let at = Moment::from_seconds(at).max(self.states[partition].last().unwrap().0);
                self.change(partition, at, |items| drop(items.remove(&key)));
            }
        }
    }

    fn key(&mut self) -> (String, i64) {
        (format!("p{}", self.choice.below(4)), self.choice.below(3) as i64)
    }

    fn write(&mut self) {
        let key = self.key();
        let (partition, now) = (partition_of(&key.0), self.now());
        let key_json = json!({"pk": {"S": key.0}, "sk": {"N": key.1.to_string()}});
        if self.choice.one_in(4) {
            self.twin
                .ok("DeleteItem", &json!({"TableName": "tab", "Key": key_json}));
            return self.change(partition, now, |items| drop(items.remove(&key)));
        }
        let mut item = key_json;
        item["n"] = json!({"N": self.choice.next().to_string()});
        for local in ["l", "m"] {
            if self.choice.one_in(2) {
                let word = ["x", "y"][self.choice.below(2) as usize];
                item[local] = json!({"S": word});
            }
        }
        if self.choice.one_in(6) {
            item["dies"] = json!({"N": (now.seconds() + self.choice.below(5) as i64).to_string()});
        }
        let body = json!({"TableName": "tab", "Item": item});
        if self.choice.one_in(4) {
            self.twin
                .ok("TransactWriteItems", &json!({"TransactItems": [{"Put": body}]}));
        } else {
            self.twin.ok("PutItem", &body);
        }
        self.change(partition, now, |items| drop(items.insert(key, item)));
        self.expire();
    }

    /// Checks that what was read of a partition is `view` of one of the states that the read may return.
    fn check(&mut self, partition: usize, mine: bool, consistent: bool, found: &Value, view: impl Fn(&Items) -> Value) {
        let states = &self.states[partition];
        let newest = states.len() - 1;
        let oldest = self.now().minus(self.bound);
        // A state lasts until the next one, and may be read if it ended within the bound.
        let mut first = (0..newest).find(|at| states[at + 1].0 > oldest).unwrap_or(newest);
        if consistent {
            first = newest;
        } else if self.monotonic {
            first = first.max(self.seen.get(&(mine, partition)).copied().unwrap_or(0));
        }
        let seen = (first..=newest).find(|at| view(&states[*at].1) == *found);
        let Some(seen) = seen else {
            let may: Vec<Value> = (first..=newest).map(|at| view(&states[at].1)).collect();
            panic!(
                "DYNATWIN_SEED={}: partition {partition} answers {found}\n of {may:?}\n bound {:?}, consistent {consistent}, at {}, states since {:?}",
                self.seed,
                self.bound,
                self.now(),
                states.iter().map(|(since, _)| since.to_string()).collect::<Vec<_>>()
            );
        };
        self.reads += 1;
        self.stale += u64::from(view(&states[newest].1) != *found);
        self.seen.insert((mine, partition), seen);
    }

    fn send(&self, mine: bool, operation: &str, body: &Value) -> Value {
        let caller = if mine { &self.twin.caller } else { &self.other };
        let answer = self
            .twin
            .engine
            .dispatch(caller, operation, body.to_string().as_bytes());
        assert_eq!(answer.status, 200, "DYNATWIN_SEED={}: {operation} {body}", self.seed);
        serde_json::from_slice(&answer.body).unwrap()
    }

    fn get(&mut self, mine: bool, consistent: bool) {
        let key = self.key();
        let key_json = json!({"pk": {"S": key.0}, "sk": {"N": key.1.to_string()}});
        let view = |items: &Items| items.get(&key).cloned().unwrap_or_default();
        let found = match self.choice.below(3) {
            0 => {
                let keys = json!({"Keys": [key_json], "ConsistentRead": consistent});
                let answer = self.send(mine, "BatchGetItem", &json!({"RequestItems": {"tab": keys}}));
                answer["Responses"]["tab"].get(0).cloned().unwrap_or_default()
            }
            1 if consistent => {
                let get = json!({"Get": {"TableName": "tab", "Key": key_json}});
                let answer = self.send(mine, "TransactGetItems", &json!({"TransactItems": [get]}));
                answer["Responses"][0]["Item"].clone()
            }
            _ => {
                let body = json!({"TableName": "tab", "Key": key_json, "ConsistentRead": consistent});
                self.send(mine, "GetItem", &body)["Item"].clone()
            }
        };
        self.check(partition_of(&key.0), mine, consistent, &found, view);
    }

    /// Returns the sort key of a local index, or `None` for the table.
    fn local(&mut self) -> Option<&'static str> {
        [None, None, Some("l"), Some("m")][self.choice.below(4) as usize]
    }

    fn query(&mut self, mine: bool, consistent: bool) {
        let (pk, _) = self.key();
        let forward = self.choice.one_in(2);
        let limit = 1 + self.choice.below(3) as usize;
        let local = self.local();
        let mut body = json!({"TableName": "tab", "KeyConditionExpression": "pk = :p", "Limit": limit,
            "ExpressionAttributeValues": {":p": {"S": pk}}, "ScanIndexForward": forward, "ConsistentRead": consistent});
        if let Some(local) = local {
            body["IndexName"] = format!("by-{local}").into();
            body["Select"] = "ALL_ATTRIBUTES".into();
        }
        let found = self.send(mine, "Query", &body)["Items"].clone();
        self.check(partition_of(&pk), mine, consistent, &found, |items| {
            let mut page: Vec<&Value> = items.values().filter(|item| item["pk"]["S"] == *pk).collect();
            if let Some(local) = local {
                page.retain(|item| item.get(local).is_some());
                page.sort_by_key(|item| (item[local]["S"].as_str(), number(&item["sk"])));
            }
            if !forward {
                page.reverse();
            }
            page.into_iter().take(limit).cloned().collect()
        });
    }

    /// Scans the table: each partition is read in one state.
    fn scan(&mut self, mine: bool, consistent: bool) {
        let mut body = json!({"TableName": "tab", "ConsistentRead": consistent});
        let local = self.local();
        if let Some(local) = local {
            body["IndexName"] = format!("by-{local}").into();
            body["Select"] = "ALL_ATTRIBUTES".into();
        }
        let answer = self.send(mine, "Scan", &body);
        let order = |item: &Value| (item["pk"]["S"].to_string(), number(&item["sk"]));
        for partition in 0..4 {
            let mut found = answer["Items"].as_array().unwrap().clone();
            found.retain(|item| partition_of(item["pk"]["S"].as_str().unwrap()) == partition);
            found.sort_by_key(order);
            self.check(partition, mine, consistent, &found.into(), |items| {
                let all = items
                    .values()
                    .filter(|item| local.is_none_or(|local| item.get(local).is_some()));
                all.cloned().collect()
            });
        }
    }

    fn step(&mut self) {
        self.expire();
        let (mine, consistent) = (self.choice.one_in(2), self.choice.one_in(5));
        match self.choice.below(12) {
            0..=4 => self.write(),
            5..=6 => self.get(mine, consistent),
            7 => self.query(mine, consistent),
            8 => self.scan(mine, consistent),
            _ => {
                let millis = [1, 10, 100, 1000][self.choice.below(4) as usize];
                let by = self.choice.below(millis * 2);
                self.twin.engine.clock().advance(Duration::from_millis(by));
                if self.choice.one_in(2) {
                    self.twin.engine.run_due();
                }
            }
        }
    }
}

#[test]
fn every_read_is_of_a_state_that_existed() {
    let seeds = match setting("DYNATWIN_SEED") {
        Some(seed) => vec![seed],
        None => (0..setting("DYNATWIN_HISTORIES").unwrap_or(HISTORIES)).collect(),
    };
    let (mut reads, mut stale) = (0, 0);
    for seed in &seeds {
        let mut history = History::new(*seed);
        (0..STEPS).for_each(|_| history.step());
        reads += history.reads;
        stale += history.stale;
    }
    if seeds.len() > 20 {
        assert!(stale * 20 > reads, "only {stale} of {reads} reads were stale");
    }
}

#[test]
fn staleness_starts_when_the_condition_is_set() {
    let twin = Twin::new(7);
    create(&twin);
    let key = json!({"pk": {"S": "a"}, "sk": {"N": "0"}});
    let put = |n: u64| {
        let mut item = key.clone();
        item["n"] = json!({"N": n.to_string()});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    };
    let read = |consistent: bool| {
        let body = json!({"TableName": "tab", "Key": key, "ConsistentRead": consistent});
        number(&twin.ok("GetItem", &body)["Item"]["n"]).unwrap()
    };
    put(1);
    twin.engine
        .set_conditions(stale(Lag::Fixed(Duration::from_secs(2)), false))
        .unwrap();
    put(2);
    // The state when the condition was set is the oldest known one.
    assert_eq!((read(false), read(true)), (1, 2));
    twin.engine.advance(Duration::from_secs(1));
    put(3);
    assert_eq!(read(false), 1);
    twin.engine.advance(Duration::from_secs(1));
    assert_eq!((read(false), read(true)), (2, 3));
    twin.engine.advance(Duration::from_secs(1));
    assert_eq!(read(false), 3);
    put(4);
    twin.engine
        .account(&twin.caller)
        .set_table_conditions("tab", Some(Conditions::CALM))
        .unwrap();
    assert_eq!(read(false), 4);
    twin.engine
        .account(&twin.caller)
        .set_table_conditions("tab", None)
        .unwrap();
    put(5);
    assert_eq!(read(false), 4);
}

/// Changed conditions of stale reads apply to the states that are recorded.
#[test]
fn staleness_changes_with_the_conditions() {
    let twin = Twin::new(7);
    create(&twin);
    let seconds = |seconds| Lag::Fixed(Duration::from_secs(seconds));
    let set = |staleness: Lag, share: f64, monotonic: bool| {
        let conditions = Conditions {
            stale_reads: share,
            ..stale(staleness, monotonic)
        };
        twin.engine.set_conditions(conditions).unwrap();
    };
    let key = json!({"pk": {"S": "a"}, "sk": {"N": "0"}});
    let read = || {
        let body = json!({"TableName": "tab", "Key": key});
        number(&twin.ok("GetItem", &body)["Item"]["n"]).unwrap_or(0)
    };
    set(seconds(20), 1.0, false);
    for n in 1..=9 {
        let mut item = key.clone();
        item["n"] = json!({"N": n.to_string()});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        twin.engine.advance(Duration::from_secs(1));
    }
    for (staleness, share, expect) in [
        (seconds(20), 1.0, 0),
        (seconds(3), 1.0, 7),
        (seconds(3), 0.0, 9),
        (seconds(5), 1.0, 5),
        (Lag::None, 1.0, 9),
        // States are recorded from then on.
        (seconds(5), 1.0, 9),
    ] {
        set(staleness, share, false);
        assert_eq!(read(), expect, "{staleness:?} {share}");
    }
    // A reader that has seen a state sees none before it while that is required.
    let mut item = key.clone();
    item["n"] = json!({"N": "10"});
    twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    let see = || {
        twin.ok(
            "GetItem",
            &json!({"TableName": "tab", "Key": key, "ConsistentRead": true}),
        )
    };
    see();
    for (monotonic, sees, expect) in [
        (false, false, 9),
        (true, false, 9),
        (true, true, 10),
        (false, false, 9),
        (true, false, 10),
    ] {
        set(seconds(1000), 1.0, monotonic);
        if sees {
            see();
        }
        assert_eq!(read(), expect, "{monotonic} {sees}");
    }
}

/// Stale reads do not return items whose deletion has been due for longer than the staleness, however many there are.
#[test]
fn expired_items_are_in_no_stale_state() {
    let twin = Twin::new(7);
    // A table with no other reason to apply deletions in order: it is no replica, and nobody subscribes to its events.
    let names = [("pk", "S", "HASH"), ("sk", "N", "RANGE")];
    let attributes = names.map(|(name, kind, _)| json!({"AttributeName": name, "AttributeType": kind}));
    let keys = names.map(|(name, _, kind)| json!({"AttributeName": name, "KeyType": kind}));
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes, "KeySchema": keys}),
    );
    let time_to_live = json!({"Enabled": true, "AttributeName": "dies"});
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": "tab", "TimeToLiveSpecification": time_to_live}),
    );
    twin.engine
        .set_conditions(stale(Lag::Fixed(Duration::from_secs(1)), false))
        .unwrap();
    let key = |at: usize| json!({"pk": {"S": "a"}, "sk": {"N": at.to_string()}});
    let put = |at: usize, dies: Option<i64>| {
        let mut item = key(at);
        if let Some(dies) = dies {
            item["dies"] = json!({"N": dies.to_string()});
        }
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    };
    let expired = 1..100;
    let dies = twin.seconds() + 10;
    put(0, None);
    expired.clone().for_each(|at| put(at, Some(dies)));
    twin.engine.clock().advance(Duration::from_secs(15));
    // After this write the state of a second ago differs from the current one.
    put(0, None);
    let read = |at| twin.ok("GetItem", &json!({"TableName": "tab", "Key": key(at)}))["Item"].clone();
    assert_ne!(read(0), Value::Null);
    for at in expired.rev() {
        assert_eq!(read(at), Value::Null, "{at}");
    }
}

/// A deletion is in all states from its time on, though another item of its partition was read before it was applied.
#[test]
fn a_deletion_is_in_the_states_from_its_time_on() {
    for (monotonic, wait) in [(false, 0), (true, 0), (false, 2), (true, 2)] {
        let twin = Twin::new(7);
        create(&twin);
        twin.engine
            .set_conditions(stale(Lag::Fixed(Duration::from_secs(5)), monotonic))
            .unwrap();
        let dies = (twin.seconds() + 10).to_string();
        let [kept, dying] = ["0", "1"].map(|sk| json!({"pk": {"S": "a"}, "sk": {"N": sk}}));
        let mut item = dying.clone();
        item["dies"] = json!({"N": dies});
        for item in [&kept, &item] {
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        }
        let read = |key: &Value, consistent: bool| {
            let request = json!({"TableName": "tab", "Key": key, "ConsistentRead": consistent});
            twin.ok("GetItem", &request)["Item"].clone()
        };
        twin.engine.clock().advance(Duration::from_secs(10 + wait));
        assert_ne!(read(&kept, true), Value::Null);
        twin.engine.clock().advance(Duration::from_secs(5 - wait));
        assert_eq!(
            read(&dying, false),
            Value::Null,
            "monotonic: {monotonic}, {wait} s later"
        );
    }
}

/// An item that is written after its expiry is deleted at once, and stale reads still return the item that it has replaced.
#[test]
fn a_deletion_is_in_no_state_before_its_item_was_written() {
    let item = |attributes: &[(&str, &str)]| {
        let mut item = json!({"pk": {"S": "a"}, "sk": {"N": "0"}});
        for (name, value) in attributes {
            item[*name] = json!({"S": value});
        }
        item
    };
    // Both items have the same entry in `by-m`, and another one in `by-l`; `dies` is before the write.
    let replaced = item(&[("l", "x"), ("m", "x")]);
    let dies = |attributes: &[(&str, &str)]| {
        let mut expired = item(attributes);
        expired["dies"] = json!({"N": (Moment::START.seconds() + 1).to_string()});
        expired
    };
    for expired in [
        dies(&[]),
        dies(&[("m", "x")]),
        dies(&[("l", "x"), ("m", "x")]),
        dies(&[("l", "y"), ("m", "x")]),
    ] {
        for in_transaction in [false, true] {
            let what = format!("{expired}, in a transaction: {in_transaction}");
            let twin = Twin::new(7);
            create(&twin);
            let conditions = Conditions {
                transaction_time: Lag::Fixed(Duration::from_millis(100)),
                ..stale(Lag::Fixed(Duration::from_secs(2)), false)
            };
            twin.engine.set_conditions(conditions).unwrap();
            let mut items = vec![replaced.clone()];
            let dies = (Moment::START.seconds() + 5).to_string();
            items.extend((1..40).map(|sk| json!({"pk": {"S": "a"}, "sk": {"N": sk.to_string()}, "dies": {"N": dies}})));
            for item in items {
                twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
            }
            // Every state from here on has the deletions of the other items. The next request leaves most of them for later.
            twin.engine.clock().advance(Duration::from_secs(10));
            let put = json!({"TableName": "tab", "Item": expired});
            if in_transaction {
                twin.ok("TransactWriteItems", &json!({"TransactItems": [{"Put": put}]}));
                twin.engine.clock().advance(Duration::from_millis(100));
            } else {
                twin.ok("PutItem", &put);
            }
            twin.engine.clock().advance(Duration::from_millis(1500));
            let keys = json!({":pk": {"S": "a"}});
            let read = |index: Option<&str>, consistent: bool| {
                let mut body = json!({"TableName": "tab", "KeyConditionExpression": "pk = :pk",
                    "ExpressionAttributeValues": keys, "ConsistentRead": consistent});
                if let Some(index) = index {
                    body["IndexName"] = index.into();
                }
                twin.ok("Query", &body)["Items"].clone()
            };
            let get = || twin.ok("GetItem", &json!({"TableName": "tab", "Key": item(&[])}))["Item"].clone();
            assert_eq!(get(), replaced, "{what}");
            assert_eq!(read(None, false), json!([replaced]), "{what}");
            for (index, entry) in [("by-l", item(&[("l", "x")])), ("by-m", item(&[("m", "x")]))] {
                assert_eq!(read(Some(index), false), json!([entry]), "{what}: {index}");
                assert_eq!(read(Some(index), true), json!([]), "{what}: {index}");
            }
            twin.engine.clock().advance(Duration::from_secs(1));
            assert_eq!(get(), Value::Null, "{what}");
            assert_eq!(read(Some("by-m"), false), json!([]), "{what}");
        }
    }
}

#[test]
fn monotonic_reads_are_separate_for_each_table() {
    let twin = Twin::new(7);
    twin.engine
        .set_conditions(stale(Lag::Fixed(Duration::from_secs(9)), true))
        .unwrap();
    ["one", "two"].iter().for_each(|table| create_table(&twin, table));
    let key = |pk: &str| json!({"pk": {"S": pk}, "sk": {"N": "0"}});
    let read = |table: &str, pk: &str, consistent: bool| {
        let body = json!({"TableName": table, "Key": key(pk), "ConsistentRead": consistent});
        number(&twin.ok("GetItem", &body)["Item"]["n"])
    };
    let keys = key_of_each_partition();
    for (at, pk) in keys.iter().enumerate() {
        let mut item = key(pk);
        item["n"] = json!({"N": at.to_string()});
        twin.ok("PutItem", &json!({"TableName": "one", "Item": item}));
        for other in &keys {
            assert_eq!(read("one", pk, true), Some(at as i64));
            assert_eq!(read("two", other, true), None);
            assert_eq!(
                read("one", pk, false),
                Some(at as i64),
                "{pk} after {other} of the other table"
            );
        }
    }
}

/// A transaction that reads several tables and partitions has seen the present state of each.
#[test]
fn a_read_transaction_is_seen_in_all_its_partitions() {
    let twin = Twin::new(7);
    twin.engine
        .set_conditions(stale(Lag::Fixed(Duration::from_secs(9)), true))
        .unwrap();
    ["one", "two"].iter().for_each(|table| create_table(&twin, table));
    let names = key_of_each_partition();
    let places = ["two", "one"]
        .map(|table| names.iter().map(move |pk| (table, pk)))
        .into_iter()
        .flatten();
    let gets: Vec<Value> = places
        .map(|(table, pk)| json!({"TableName": table, "Key": {"pk": {"S": pk}, "sk": {"N": "0"}}}))
        .collect();
    for n in ["1", "2"] {
        twin.engine.advance(Duration::from_secs(20));
        for get in &gets {
            let mut item = get["Key"].clone();
            item["n"] = json!({"N": n});
            twin.ok("PutItem", &json!({"TableName": get["TableName"], "Item": item}));
        }
    }
    let read = |get: &Value| number(&twin.ok("GetItem", get)["Item"]["n"]);
    assert_eq!(gets.iter().map(read).collect::<Vec<_>>(), [Some(1); 8]);
    let items: Vec<Value> = gets.iter().map(|get| json!({"Get": get})).collect();
    twin.ok("TransactGetItems", &json!({"TransactItems": items}));
    assert_eq!(gets.iter().map(read).collect::<Vec<_>>(), [Some(2); 8]);
}

/// The log has the age of the oldest of the states that a page sees, one of each partition.
#[test]
fn a_page_has_the_age_of_its_oldest_state() {
    let keys = key_of_each_partition();
    for (oldest, first) in keys.iter().enumerate() {
        let twin = Twin::new(7);
        let staleness = Lag::Fixed(Duration::from_secs(9));
        twin.engine.set_conditions(stale(staleness, false)).unwrap();
        create(&twin);
        let put = |pk: &str| {
            let item = json!({"pk": {"S": pk}, "sk": {"N": "0"}, "l": {"S": "x"}});
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        };
        keys.iter().for_each(|pk| put(pk));
        twin.engine.advance(Duration::from_mins(1));
        twin.engine.watch(true);
        put(first);
        twin.engine.advance(Duration::from_secs(2));
        keys.iter().filter(|pk| *pk != first).for_each(|pk| put(pk));
        twin.engine.advance(Duration::from_secs(1));
        let age = |operation: &str, more: Value| {
            let mut body = json!({"TableName": "tab"});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            twin.ok(operation, &body);
            twin.engine.requests().last().unwrap().accesses[0]
                .age
                .map(|age| age.as_secs())
        };
        assert_eq!(age("Scan", json!({})), Some(3), "{oldest}");
        assert_eq!(age("Scan", json!({"IndexName": "by-l"})), Some(3), "{oldest}");
        assert_eq!(age("Scan", json!({"ConsistentRead": true})), None, "{oldest}");
        for (place, pk) in keys.iter().enumerate() {
            let segment = age("Scan", json!({"TotalSegments": keys.len(), "Segment": place}));
            assert_eq!(segment, Some(if place == oldest { 3 } else { 1 }), "{oldest}, {place}");
            let of_key = age(
                "Query",
                json!({"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": pk}}}),
            );
            let expect = Some(if place == oldest { 3 } else { 1 });
            assert_eq!(of_key, expect, "{oldest}, {place}");
        }
    }
}

/// A state has the items that expired after it and those that never do, and none that expired before, although no request has applied
/// these deletions.
#[test]
fn a_state_has_the_items_that_expired_after_it() {
    let key = |sk: &str| json!({"pk": {"S": "a"}, "sk": {"N": sk}});
    for consistent in [false, true] {
        for read in ["1", "2", "3", "Query", "Scan"] {
            let twin = Twin::new(7);
            let staleness = Lag::Fixed(Duration::from_secs(9));
            twin.engine.set_conditions(stale(staleness, false)).unwrap();
            create(&twin);
            let end = Moment::START.plus(Duration::from_mins(1));
            // 20 and 4 seconds before the read, or never.
            for (sk, dies) in [("1", Some(20)), ("2", Some(4)), ("3", None)] {
                let mut item = key(sk);
                if let Some(dies) = dies {
                    item["dies"] = json!({"N": (end.seconds() - dies).to_string()});
                }
                twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
            }
            // Not `advance`, which applies what is due.
            assert!(twin.engine.clock().set(end));
            let items = match read {
                "Query" => twin.ok(
                    "Query",
                    &json!({"TableName": "tab", "ConsistentRead": consistent, "KeyConditionExpression": "pk = :pk",
                        "ExpressionAttributeValues": {":pk": {"S": "a"}}}),
                )["Items"]
                    .clone(),
                "Scan" => twin.ok("Scan", &json!({"TableName": "tab", "ConsistentRead": consistent}))["Items"].clone(),
                sk => {
                    let get = json!({"TableName": "tab", "Key": key(sk), "ConsistentRead": consistent});
                    let answer = twin.ok("GetItem", &get);
                    json!(answer.get("Item").into_iter().collect::<Vec<_>>())
                }
            };
            let found: Vec<&str> = items
                .as_array()
                .unwrap()
                .iter()
                .map(|item| item["sk"]["N"].as_str().unwrap())
                .collect();
            let there: &[&str] = if consistent { &["3"] } else { &["2", "3"] };
            let expect = there.iter().filter(|sk| read.len() > 1 || **sk == read);
            assert!(found.iter().eq(expect), "{read} {consistent}: {found:?}");
        }
    }
}

/// The age of a state is that of the first change after it, of any item of the partition: a write, or a deletion that is due and that
/// no request has applied yet.
#[test]
fn a_state_ends_with_a_write_or_a_due_deletion() {
    for (written, expires, expect) in [
        (None, None, None),
        (Some(6), None, Some(6)),
        (None, Some(4), Some(4)),
        (Some(6), Some(4), Some(6)),
        (Some(6), Some(-1), Some(6)),
        (None, Some(-1), None),
    ] {
        let twin = Twin::new(7);
        let staleness = Lag::Fixed(Duration::from_secs(9));
        twin.engine.set_conditions(stale(staleness, false)).unwrap();
        create(&twin);
        let end = Moment::START.plus(Duration::from_mins(1));
        let before_end = |seconds: i64| Moment::from_seconds(end.seconds() - seconds);
        let put = |sk: &str, dies: Option<i64>| {
            let mut item = json!({"pk": {"S": "a"}, "sk": {"N": sk}});
            if let Some(dies) = dies {
                item["dies"] = json!({"N": before_end(dies).seconds().to_string()});
            }
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        };
        put("1", None);
        put("2", expires);
        twin.engine.watch(true);
        // Not `advance`, which applies what is due.
        if let Some(written) = written {
            assert!(twin.engine.clock().set(before_end(written)));
            put("1", None);
        }
        assert!(twin.engine.clock().set(end));
        let key = json!({"pk": {"S": "a"}, "sk": {"N": "3"}});
        twin.ok("GetItem", &json!({"TableName": "tab", "Key": key}));
        let age = twin.engine.requests().last().unwrap().accesses[0].age;
        assert_eq!(age, expect.map(Duration::from_secs), "{written:?} {expires:?}");
    }
}

/// Puts an item with `n` 1, and 20 seconds later with 2; returns its key.
fn put_twice(twin: &Twin) -> Value {
    for n in ["1", "2"] {
        twin.engine.advance(Duration::from_secs(20));
        let item = json!({"pk": {"S": "a"}, "sk": {"N": "0"}, "n": {"N": n}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    json!({"pk": {"S": "a"}, "sk": {"N": "0"}})
}

#[test]
fn monotonic_reads_are_separate_for_each_caller() {
    let mut twin = Twin::new(7);
    twin.engine = Engine::new(Settings {
        clock: Clock::settable(Moment::START),
        seed: 7,
        conditions: stale(Lag::Fixed(Duration::from_secs(9)), true),
        shared_db: true,
    });
    create(&twin);
    let key = put_twice(&twin);
    let get = |access_key: &str, consistent: bool| {
        let body = json!({"TableName": "tab", "Key": key, "ConsistentRead": consistent}).to_string();
        let answer = twin.engine.dispatch(&caller(access_key), "GetItem", body.as_bytes());
        let answer: Value = serde_json::from_slice(&answer.body).unwrap();
        number(&answer["Item"]["n"])
    };
    assert_eq!([get("one", true), get("one", false)], [Some(2), Some(2)]);
    assert_eq!([get("two", false), get("one", false)], [Some(1), Some(2)]);
    // A transaction reads the present state, and later reads no earlier one.
    let body = json!({"TransactItems": [{"Get": {"TableName": "tab", "Key": key}}]}).to_string();
    let answer = twin
        .engine
        .dispatch(&caller("three"), "TransactGetItems", body.as_bytes());
    assert_eq!(answer.status, 200);
    assert_eq!(get("three", false), Some(2));
}

/// A change of the conditions makes reads monotonic or not, also of a table that already has versions.
#[test]
fn reads_are_monotonic_while_the_conditions_say_so() {
    let twin = Twin::new(7);
    let set = |monotonic: bool| {
        let conditions = stale(Lag::Fixed(Duration::from_secs(9)), monotonic);
        twin.engine.set_conditions(conditions).unwrap();
    };
    set(false);
    create(&twin);
    let key = put_twice(&twin);
    let get = |consistent: bool| {
        let body = json!({"TableName": "tab", "Key": key, "ConsistentRead": consistent});
        number(&twin.ok("GetItem", &body)["Item"]["n"])
    };
    for (monotonic, later) in [(false, 1), (true, 2), (false, 1), (true, 2)] {
        set(monotonic);
        assert_eq!((get(true), get(false)), (Some(2), Some(later)), "{monotonic}");
    }
}

#[test]
fn the_same_seed_and_order_per_key_give_the_same_reads() {
    let read = |order: &[&str]| {
        let twin = Twin::new(7);
        twin.engine
            .set_conditions(stale(Conditions::STORM.read_staleness, false))
            .unwrap();
        create(&twin);
        for n in 0..200 {
            for pk in ["a", "b"] {
                let item = json!({"pk": {"S": pk}, "sk": {"N": "0"}, "n": {"N": n.to_string()}});
                twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
            }
            twin.engine.advance(Duration::from_millis(20));
        }
        let mut found: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        for pk in order {
            let body = json!({"TableName": "tab", "Key": {"pk": {"S": pk}, "sk": {"N": "0"}}});
            let seen = number(&twin.ok("GetItem", &body)["Item"]["n"]).unwrap();
            found.entry((*pk).to_owned()).or_default().push(seen);
        }
        found
    };
    let found = read(&["a", "a", "a", "b", "b", "b"]);
    assert_eq!(found, read(&["b", "a", "b", "a", "a", "b"]));
    assert_ne!(found["a"][0], found["a"][1], "each read is decided by itself");
}

/// The decisions for a page depend on the order of the reads that begin where it begins, and on no others.
#[test]
fn each_beginning_of_a_page_has_its_own_decisions() {
    let key = |sk: usize| json!({"pk": {"S": "a"}, "sk": {"N": sk.to_string()}});
    for forward in [true, false] {
        let read = |order: [usize; 9]| {
            let twin = Twin::new(7);
            let staleness = Conditions::STORM.read_staleness;
            twin.engine.set_conditions(stale(staleness, false)).unwrap();
            create(&twin);
            for n in 0..200 {
                for sk in 1..=5 {
                    let mut item = key(sk);
                    item["n"] = json!({"N": n.to_string()});
                    twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
                }
                twin.engine.advance(Duration::from_millis(20));
            }
            let mut found: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
            for after in order {
                let mut query = json!({"TableName": "tab", "ScanIndexForward": forward,
                    "KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "a"}}});
                if after > 0 {
                    query["ExclusiveStartKey"] = key(if forward { after } else { 6 - after });
                }
                let seen = number(&twin.ok("Query", &query)["Items"][0]["n"]).unwrap();
                found.entry(after).or_default().push(seen);
            }
            found
        };
        let found = read([0, 0, 0, 1, 1, 1, 2, 2, 2]);
        assert_eq!(found, read([2, 1, 0, 1, 0, 2, 0, 1, 2]), "{forward}");
        assert_ne!(found[&1][0], found[&1][1], "each read is decided by itself");
    }
}
