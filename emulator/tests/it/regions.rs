//! Simulation of global tables: random worlds of regions that lag, are isolated from one another and return.
//!
//! A world is determined by its seed. Its clients take turns in a seeded order, or each region has a client in its own
//! thread. `DYNATWIN_SEED=n` replays one world, `DYNATWIN_WORLDS=n` runs this many.
//!
//! At the end all regions have the same items, each index is the projection of its table, and replaying the stream
//! yields the table. An acknowledged write is lost only to a later one of its item, no region goes back to an older
//! version, and the state is the fold of its commits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::commits::{self, Recorder};
use crate::common::{Choice, setting, settings};
use dynatwin_engine::{Caller, Conditions, Engine, Lag};
use serde_json::{Value, json};

const REGIONS: [&str; 3] = ["us-east-1", "eu-west-1", "ap-south-1"];
const STRONG: [&str; 3] = ["us-east-1", "us-east-2", "us-west-2"];
const KEYS: u64 = 5;
const STEPS: u64 = 120;
const WORLDS: u64 = 20;

/// An acknowledged write: its content, and its start and end in the order of all requests.
#[derive(Clone, Copy, Debug)]
struct Written {
    /// The number that it put; `None` if it deleted the item.
    number: Option<u64>,
    begun: u64,
    ended: u64,
}

struct World {
    engine: Engine,
    recorder: Arc<Recorder>,
    seed: u64,
    /// Counts requests and the numbers that they put.
    ticks: AtomicU64,
}

fn caller(region: &str) -> Caller {
    Caller {
        access_key: "test".into(),
        region: region.into(),
    }
}

fn lag(choice: &mut Choice) -> Lag {
    match choice.below(4) {
        0 => Lag::None,
        1 => Lag::Fixed(Duration::from_millis(choice.below(5000))),
        _ => Lag::Seeded {
            typical: Duration::from_millis(choice.below(5000)),
            longest: Duration::from_secs(5 + choice.below(60)),
        },
    }
}

impl World {
    fn new(seed: u64) -> World {
        let engine = Engine::new(settings(seed));
        let world = World {
            recorder: Recorder::of(&engine),
            engine,
            seed,
            ticks: AtomicU64::new(1),
        };
        let mut choice = Choice(seed);
        let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
        let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
        let index = json!({"IndexName": "by-g", "KeySchema": key("g"), "Projection": {"ProjectionType": "ALL"}});
        let table = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("pk"),
            "AttributeDefinitions": [attribute("pk"), attribute("g")], "GlobalSecondaryIndexes": [index]});
        world.ok(REGIONS[0], "CreateTable", &table);
        for region in &REGIONS[1..] {
            let update = json!([{"Create": {"RegionName": region}}]);
            world.ok(
                REGIONS[0],
                "UpdateTable",
                &json!({"TableName": "tab", "ReplicaUpdates": update}),
            );
        }
        world
            .engine
            .set_conditions(Conditions {
                replication_lag: lag(&mut choice),
                stream_lag: lag(&mut choice),
                index_propagation: lag(&mut choice),
                ..Conditions::CALM
            })
            .unwrap();
        world
    }

    /// A world whose regions are strongly consistent.
    fn strong(seed: u64) -> World {
        let engine = Engine::new(settings(seed));
        let world = World {
            recorder: Recorder::of(&engine),
            engine,
            seed,
            ticks: AtomicU64::new(1),
        };
        let attribute = json!([{"AttributeName": "pk", "AttributeType": "S"}]);
        let key = json!([{"AttributeName": "pk", "KeyType": "HASH"}]);
        world.ok(
            STRONG[0],
            "CreateTable",
            &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key, "AttributeDefinitions": attribute}),
        );
        let others: Vec<Value> = STRONG[1..]
            .iter()
            .map(|region| json!({"Create": {"RegionName": region}}))
            .collect();
        let update = json!({"TableName": "tab", "MultiRegionConsistency": "STRONG", "ReplicaUpdates": others});
        world.ok(STRONG[0], "UpdateTable", &update);
        let mut choice = Choice(seed);
        world
            .engine
            .set_conditions(Conditions {
                replication_lag: lag(&mut choice),
                region_round_trip: if choice.one_in(2) { Lag::None } else { lag(&mut choice) },
                ..Conditions::CALM
            })
            .unwrap();
        world
    }

    fn send(&self, region: &str, operation: &str, body: &Value) -> (u16, Value) {
        let answer = self
            .engine
            .dispatch(&caller(region), operation, body.to_string().as_bytes());
        (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default())
    }

    fn ok(&self, region: &str, operation: &str, body: &Value) -> Value {
        let (status, answer) = self.send(region, operation, body);
        assert_eq!(status, 200, "seed {}: {region} {operation} {body}: {answer}", self.seed);
        answer
    }

    fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    /// Writes an item in a region; returns the acknowledged write by key.
    fn write(&self, region: &str, choice: &mut Choice) -> Vec<(u64, Written)> {
        let begun = self.tick();
        let key = choice.below(KEYS);
        let pk = json!({"S": key.to_string()});
        let item = |key: u64| {
            let g = if key.is_multiple_of(2) { "even" } else { "odd" };
            json!({"pk": {"S": key.to_string()}, "n": {"N": begun.to_string()}, "g": {"S": g}})
        };
        let (keys, number, status) = match choice.below(8) {
            0 => {
                let delete = json!({"TableName": "tab", "Key": {"pk": pk}, "ReturnValues": "ALL_OLD"});
                let (status, answer) = self.send(region, "DeleteItem", &delete);
                // A deletion of an item that does not exist is not replicated.
                let there = answer.get("Attributes").is_some();
                (Vec::from_iter(there.then_some(key)), None, status)
            }
            1 => {
                let update = json!({"TableName": "tab", "Key": {"pk": pk}, "UpdateExpression": "SET n = :n",
                    "ConditionExpression": "attribute_exists(pk)", "ExpressionAttributeValues": {":n": {"N": begun.to_string()}}});
                (vec![key], Some(begun), self.send(region, "UpdateItem", &update).0)
            }
            2 => {
                let keys = vec![key, (key + 1) % KEYS];
                let put = |key: &u64| json!({"Put": {"TableName": "tab", "Item": item(*key)}});
                let puts: Vec<Value> = keys.iter().map(put).collect();
                let transaction = json!({"TransactItems": puts});
                (
                    keys,
                    Some(begun),
                    self.send(region, "TransactWriteItems", &transaction).0,
                )
            }
            _ => {
                let put = json!({"TableName": "tab", "Item": item(key)});
                (vec![key], Some(begun), self.send(region, "PutItem", &put).0)
            }
        };
        let ended = self.tick();
        let written = Written { number, begun, ended };
        if status != 200 {
            return Vec::new();
        }
        keys.into_iter().map(|key| (key, written)).collect()
    }

    fn get(&self, region: &str, key: u64) -> Option<u64> {
        let body = json!({"TableName": "tab", "Key": {"pk": {"S": key.to_string()}}, "ConsistentRead": true});
        number(&self.ok(region, "GetItem", &body)["Item"])
    }

    /// Pauses or resumes replication, changes a lag, or lets time pass.
    fn disturb(&self, choice: &mut Choice) {
        let at = choice.below(3) as usize;
        let (region, other) = (REGIONS[at], REGIONS[(at + 1) % 3]);
        let of = caller(region);
        let all = choice.one_in(2);
        let other_or_all = Some(other).filter(|_| !all);
        match choice.below(7) {
            0 => self.engine.account(&of).pause_replication("tab", other_or_all).unwrap(),
            1 | 2 => self
                .engine
                .account(&of)
                .resume_replication("tab", other_or_all)
                .unwrap(),
            3 => {
                let lag = Some(lag(choice)).filter(|_| !all);
                self.engine.account(&of).set_replication_lag("tab", other, lag).unwrap();
            }
            _ => self.engine.advance(Duration::from_millis(choice.below(8000))),
        }
    }

    /// Lets the regions exchange the missing writes, and compares them; returns their items.
    fn heal(&self) -> BTreeMap<u64, u64> {
        for region in REGIONS {
            self.engine
                .account(&caller(region))
                .resume_replication("tab", None)
                .unwrap();
        }
        self.engine.advance(Duration::from_hours(1));
        let items = REGIONS.map(|region| self.items(region));
        for (region, there) in REGIONS.iter().zip(&items) {
            assert_eq!(there, &items[0], "seed {}: {region} differs", self.seed);
            let indexed = self.scan(region, Some("by-g"));
            assert_eq!(indexed, *there, "seed {}: the index of {region}", self.seed);
            assert_eq!(
                self.rebuilt(region),
                *there,
                "seed {}: the stream of {region}",
                self.seed
            );
        }
        let check = commits::check(&self.engine, &self.recorder, || settings(self.seed));
        assert_eq!(check, Ok(()), "seed {}", self.seed);
        let [items, ..] = items;
        items
            .into_iter()
            .filter_map(|(key, item)| Some((key.parse().ok()?, number(&item)?)))
            .collect()
    }

    fn items(&self, region: &str) -> BTreeMap<String, Value> {
        self.scan(region, None)
    }

    fn scan(&self, region: &str, index: Option<&str>) -> BTreeMap<String, Value> {
        let mut body = json!({"TableName": "tab"});
        index.inspect(|index| body["IndexName"] = json!(index));
        let found = self.ok(region, "Scan", &body)["Items"].as_array().unwrap().clone();
        let indexed = found.into_iter().map(|item| (text(&item["pk"]), item));
        indexed.collect()
    }

    /// The items that result from replaying a region's stream.
    fn rebuilt(&self, region: &str) -> BTreeMap<String, Value> {
        let table = self.ok(region, "DescribeTable", &json!({"TableName": "tab"}));
        let arn = &table["Table"]["LatestStreamArn"];
        let stream = self.ok(region, "DescribeStream", &json!({"StreamArn": arn}));
        let shard = &stream["StreamDescription"]["Shards"][0]["ShardId"];
        let body = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
        let mut next = self.ok(region, "GetShardIterator", &body)["ShardIterator"].clone();
        let mut items = BTreeMap::new();
        loop {
            let page = self.ok(region, "GetRecords", &json!({"ShardIterator": next}));
            let records = page["Records"].as_array().unwrap();
            if records.is_empty() {
                return items;
            }
            for record in records {
                let change = &record["dynamodb"];
                let pk = text(&change["Keys"]["pk"]);
                let before = items.get(&pk).cloned().unwrap_or_default();
                assert_eq!(change["OldImage"], before, "seed {}: {region}", self.seed);
                match change.get("NewImage") {
                    Some(image) => items.insert(pk, image.clone()),
                    None => items.remove(&pk),
                };
            }
            next = page["NextShardIterator"].clone();
        }
    }
}

fn text(value: &Value) -> String {
    value["S"].as_str().unwrap_or_default().to_owned()
}

fn number(item: &Value) -> Option<u64> {
    item["n"]["N"].as_str()?.parse().ok()
}

fn seeds() -> Box<dyn Iterator<Item = u64>> {
    match setting("DYNATWIN_SEED") {
        Some(seed) => Box::new(std::iter::once(seed)),
        None => Box::new(0..setting("DYNATWIN_WORLDS").unwrap_or(WORLDS)),
    }
}

/// If clients take turns, the later write of an item is the newer one, in any region.
fn in_turns(seed: u64) {
    let world = World::new(seed);
    let mut choice = Choice(seed ^ 0x7265_6769);
    let mut last: BTreeMap<u64, Written> = BTreeMap::new();
    let mut all: Vec<(u64, Written)> = Vec::new();
    // The latest write of each item that each region has shown.
    let mut shown: BTreeMap<(usize, u64), u64> = BTreeMap::new();
    for _ in 0..STEPS {
        let at = choice.below(3) as usize;
        match choice.below(6) {
            0 | 1 => world.disturb(&mut choice),
            2 => {
                let key = choice.below(KEYS);
                let found = world.get(REGIONS[at], key);
                let newest = shown.entry((at, key)).or_default();
                if let Some(seen) = found {
                    assert!(seen >= *newest, "seed {seed}: {} goes back", REGIONS[at]);
                    *newest = seen;
                } else {
                    // A deletion that is not older than the observed version, or the item never existed.
                    let deletions = all
                        .iter()
                        .filter(|(of, written)| *of == key && written.number.is_none());
                    let latest = deletions.map(|(_, written)| written.begun).max().unwrap_or_default();
                    assert!(latest >= *newest, "seed {seed}: item {key} is lost in {}", REGIONS[at]);
                }
            }
            _ => {
                for (key, written) in world.write(REGIONS[at], &mut choice) {
                    shown.insert((at, key), written.begun);
                    last.insert(key, written);
                    all.push((key, written));
                }
            }
        }
    }
    let items = world.heal();
    let expect = last
        .into_iter()
        .filter_map(|(key, written)| Some((key, written.number?)))
        .collect();
    assert_eq!(items, expect, "seed {seed}: a write is lost");
}

/// With threads a write may be lost to one that did not end before it began.
fn in_threads(seed: u64) {
    let world = World::new(seed);
    let run = |at: usize| {
        let mut choice = Choice(seed ^ (at as u64 + 1) << 32);
        let mut written = Vec::new();
        for _ in 0..STEPS / 3 {
            if choice.one_in(4) {
                world.disturb(&mut choice);
            } else {
                written.extend(world.write(REGIONS[at], &mut choice));
            }
        }
        written
    };
    let written: Vec<(u64, Written)> = thread::scope(|scope| {
        let run = &run;
        let clients: Vec<_> = (0..3).map(|at| scope.spawn(move || run(at))).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    let items = world.heal();
    for key in 0..KEYS {
        let of_key = || written.iter().filter(|(of, _)| *of == key).map(|(_, written)| written);
        let found = items.get(&key);
        let is_last = |one: &Written| of_key().all(|other| other.begun < one.ended || other.begun == one.begun);
        let mut candidates = of_key().filter(|written| written.number.as_ref() == found);
        let nothing = found.is_none() && of_key().next().is_none();
        assert!(
            nothing || candidates.any(is_last),
            "seed {seed}: item {key} is {found:?}"
        );
    }
}

/// A request that a strongly consistent region has answered: the version of the item that it read or wrote, and its
/// start and end in the order of all requests.
#[derive(Clone, Copy, Debug)]
struct Answered {
    key: u64,
    version: u64,
    wrote: bool,
    begun: u64,
    ended: u64,
}

impl World {
    /// Reads an item of a strongly consistent table, or replaces the version that was read.
    fn swap(&self, region: &str, choice: &mut Choice) -> Option<Answered> {
        let key = choice.below(3);
        let pk = json!({"pk": {"S": key.to_string()}});
        let begun = self.tick();
        let read = json!({"TableName": "tab", "Key": pk, "ConsistentRead": true});
        let (status, answer) = self.send(region, "GetItem", &read);
        if status != 200 {
            assert_eq!(status, 500, "seed {}: {answer}", self.seed);
            return None;
        }
        let version = number(&answer["Item"]).unwrap_or_default();
        let read = Answered {
            key,
            version,
            wrote: false,
            begun,
            ended: self.tick(),
        };
        if choice.one_in(2) {
            return Some(read);
        }
        let begun = self.tick();
        let swap = json!({"TableName": "tab", "Key": pk, "UpdateExpression": "SET n = :to",
            "ConditionExpression": "n = :from OR (attribute_not_exists(n) AND :from = :none)",
            "ExpressionAttributeValues": {":from": {"N": version.to_string()}, ":to": {"N": (version + 1).to_string()},
                ":none": {"N": "0"}}});
        let (status, _) = self.send(region, "UpdateItem", &swap);
        let ended = self.tick();
        let (version, wrote) = if status == 200 {
            (version + 1, true)
        } else {
            return Some(read);
        };
        Some(Answered {
            key,
            version,
            wrote,
            begun,
            ended,
        })
    }

    /// Isolates a region, reconnects all regions, or advances the clock.
    fn cut(&self, choice: &mut Choice) {
        let of = caller(STRONG[choice.below(3) as usize]);
        match choice.below(4) {
            0 => self.engine.account(&of).pause_replication("tab", None).unwrap(),
            1 => self.engine.account(&of).resume_replication("tab", None).unwrap(),
            _ => self.engine.advance(Duration::from_millis(choice.below(8000))),
        }
    }
}

/// The versions of each item form a history: each is written once, and a request that begins after a version was read
/// or written observes none that is older.
fn check_history(seed: u64, mut answered: Vec<Answered>) {
    for key in 0..3 {
        let mut versions: Vec<u64> = answered
            .iter()
            .filter(|one| one.key == key && one.wrote)
            .map(|one| one.version)
            .collect();
        versions.sort_unstable();
        let count = versions.len() as u64;
        assert_eq!(
            versions,
            (1..=count).collect::<Vec<_>>(),
            "seed {seed}: the versions of item {key}"
        );
    }
    answered.sort_by_key(|one| one.begun);
    for (at, later) in answered.iter().enumerate() {
        let before = answered[..at]
            .iter()
            .filter(|one| one.key == later.key && one.ended < later.begun);
        let newest = before.map(|one| one.version).max().unwrap_or_default();
        assert!(later.version >= newest, "seed {seed}: {later:?} after version {newest}");
    }
}

fn strong_in_turns(seed: u64) {
    let world = World::strong(seed);
    let mut choice = Choice(seed ^ 0x7374_726f);
    let mut answered = Vec::new();
    for _ in 0..STEPS {
        if choice.one_in(4) {
            world.cut(&mut choice);
        } else {
            answered.extend(world.swap(STRONG[choice.below(3) as usize], &mut choice));
        }
    }
    check_history(seed, answered);
    let check = commits::check(&world.engine, &world.recorder, || settings(seed));
    assert_eq!(check, Ok(()), "seed {seed}");
}

fn strong_in_threads(seed: u64) {
    let world = World::strong(seed);
    let run = |at: usize| {
        let mut choice = Choice(seed ^ (at as u64 + 1) << 40);
        (0..STEPS / 2)
            .filter_map(|_| {
                if choice.one_in(8) {
                    world.engine.advance(Duration::from_millis(choice.below(8000)));
                }
                world.swap(STRONG[at], &mut choice)
            })
            .collect::<Vec<_>>()
    };
    let answered: Vec<Answered> = thread::scope(|scope| {
        let run = &run;
        let clients: Vec<_> = (0..3).map(|at| scope.spawn(move || run(at))).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    check_history(seed, answered);
}

#[test]
fn strongly_consistent_regions_that_are_cut_off_have_one_history() {
    seeds().for_each(strong_in_turns);
}

#[test]
fn strongly_consistent_regions_that_write_at_the_same_time_have_one_history() {
    seeds().for_each(strong_in_threads);
}

#[test]
fn regions_that_lag_and_are_cut_off_converge() {
    seeds().for_each(in_turns);
}

#[test]
fn regions_that_write_at_the_same_time_converge() {
    seeds().for_each(in_threads);
}
