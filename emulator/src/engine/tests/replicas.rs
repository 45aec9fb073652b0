//! Requests of a replica beside a step of the clock, which leave due deletions and arrivals of other items to it.

use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::{Value, json};

use super::*;
use crate::conditions::{Lag, TimeToLive};
use crate::storage::{ClockSteps, Table};

const US: &str = "us-east-1";
const EU: &str = "eu-west-1";

/// An engine with a table in two regions, whose writes arrive in the other one after three seconds, and whose items expire two
/// seconds after their time.
struct Regions {
    engine: Engine,
    recorder: Arc<Recorder>,
    /// The time of a clock that runs.
    micros: Arc<AtomicI64>,
}

fn engine(clock: Clock) -> Engine {
    Engine::new(Settings {
        clock,
        seed: 7,
        conditions: Conditions::CALM,
        shared_db: false,
    })
}

fn caller(region: &str) -> Caller {
    Caller {
        access_key: "me".into(),
        region: region.into(),
    }
}

impl Regions {
    /// `has_local` is whether the table has a local index; `transaction` how long transactions take.
    fn new(has_local: bool, transaction: Duration) -> Regions {
        Regions::with(engine(Clock::settable(Moment::START)), has_local, transaction)
    }

    /// Its clock runs by itself, as [`pass`](Regions::pass) says.
    fn running(has_local: bool, transaction: Duration) -> Regions {
        let micros = Arc::new(AtomicI64::new(Moment::START.micros()));
        let source = Arc::clone(&micros);
        let clock = Clock::system(move || Moment::from_micros(source.load(Ordering::SeqCst)));
        Regions {
            micros,
            ..Regions::with(engine(clock), has_local, transaction)
        }
    }

    fn with(engine: Engine, has_local: bool, transaction: Duration) -> Regions {
        let recorder = Arc::new(Recorder::default());
        engine.attach_sink(Arc::clone(&recorder) as Arc<dyn CommitSink>, 0);
        let regions = Regions {
            engine,
            recorder,
            micros: Arc::default(),
        };
        let set = regions.engine.set_conditions(Conditions {
            replication_lag: Lag::Fixed(Duration::from_secs(3)),
            time_to_live: TimeToLive::Deletes(Lag::Fixed(Duration::from_secs(2))),
            transaction_time: Lag::Fixed(transaction),
            item_collection_size: if has_local { 1500 } else { u64::MAX },
            ..Conditions::CALM
        });
        set.unwrap();
        let attributes = ["pk", "sk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
        let key = |names: [&str; 2]| json!([{"AttributeName": names[0], "KeyType": "HASH"}, {"AttributeName": names[1], "KeyType": "RANGE"}]);
        let index = |name: &str, names| json!([{"IndexName": name, "KeySchema": key(names), "Projection": {"ProjectionType": "ALL"}}]);
        let mut create = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key(["pk", "sk"]),
            "AttributeDefinitions": attributes, "GlobalSecondaryIndexes": index("by-g", ["g", "sk"]),
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"}});
        if has_local {
            create["LocalSecondaryIndexes"] = index("local", ["pk", "g"]);
        }
        regions.ok(US, "CreateTable", &create);
        let replica = json!({"TableName": "tab", "ReplicaUpdates": [{"Create": {"RegionName": EU}}]});
        regions.ok(US, "UpdateTable", &replica);
        let live = json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}});
        regions.ok(US, "UpdateTimeToLive", &live);
        regions
    }

    /// Enables point-in-time recovery in both regions.
    fn record(&self) {
        for region in [US, EU] {
            let recovery = json!({"PointInTimeRecoveryEnabled": true});
            let body = json!({"TableName": "tab", "PointInTimeRecoverySpecification": recovery});
            self.ok(region, "UpdateContinuousBackups", &body);
        }
    }

    /// Makes half of the reads stale by up to these seconds.
    fn stale(&self, seconds: u64) {
        let conditions = Conditions {
            read_staleness: Lag::Seeded {
                typical: Duration::from_secs(seconds / 2),
                longest: Duration::from_secs(seconds),
            },
            stale_reads: 0.5,
            ..self.engine.conditions()
        };
        self.engine.set_conditions(conditions).unwrap();
    }

    /// Moves the clock, without applying what is due then.
    fn pass(&self, by: Duration) {
        if self.engine.clock().is_settable() {
            self.engine.clock().advance(by);
        } else {
            self.micros.fetch_add(by.as_micros() as i64, Ordering::SeqCst);
        }
    }

    fn send(&self, region: &str, operation: &str, body: &Value) -> (u16, Value) {
        let answer = self
            .engine
            .dispatch(&caller(region), operation, body.to_string().as_bytes());
        (answer.status, serde_json::from_slice(&answer.body).unwrap())
    }

    fn ok(&self, region: &str, operation: &str, body: &Value) -> Value {
        let (status, answer) = self.send(region, operation, body);
        assert_eq!(status, 200, "{region} {operation} {body}: {answer}");
        answer
    }

    fn table(&self, region: &str) -> Arc<Table> {
        self.engine.table(&caller(region), "tab").unwrap()
    }

    /// Puts these many items in a region, which expire at `ttl`.
    fn fill(&self, region: &str, count: usize, ttl: i64) {
        for number in 0..count {
            let item = json!({"pk": {"S": number.to_string()}, "sk": {"S": "s"}, "g": {"S": "g"}, "ttl": {"N": ttl.to_string()}});
            self.ok(region, "PutItem", &json!({"TableName": "tab", "Item": item}));
        }
    }

    fn commits(&self) -> usize {
        self.recorder.0.lock().unwrap().len()
    }

    fn now(&self) -> i64 {
        self.engine.clock().now().seconds()
    }

    /// The records of a region's stream, ordered by key: of each item in the order of its changes.
    fn records(&self, region: &str) -> Vec<[Value; 5]> {
        let arn = self.ok(region, "DescribeTable", &json!({"TableName": "tab"}))["Table"]["LatestStreamArn"].clone();
        let described = self.ok(region, "DescribeStream", &json!({"StreamArn": arn}));
        let mut records = Vec::new();
        for shard in described["StreamDescription"]["Shards"].as_array().unwrap() {
            let from = json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
            let mut next = self.ok(region, "GetShardIterator", &from)["ShardIterator"].clone();
            loop {
                let page = self.ok(region, "GetRecords", &json!({"ShardIterator": next}));
                let found = page["Records"].as_array().unwrap();
                if found.is_empty() {
                    break;
                }
                records.extend(found.iter().map(|record| {
                    let change = &record["dynamodb"];
                    let [keys, created, old, new] = ["Keys", "ApproximateCreationDateTime", "OldImage", "NewImage"]
                        .map(|name| change[name].clone());
                    [keys, record["eventName"].clone(), created, old, new]
                }));
                next = page["NextShardIterator"].clone();
            }
        }
        records.sort_by_key(|[keys, ..]| keys.to_string());
        records
    }

    /// The iterators of a region's shards, from their latest records on.
    fn latest(&self, region: &str) -> Vec<Value> {
        let arn = self.ok(region, "DescribeTable", &json!({"TableName": "tab"}))["Table"]["LatestStreamArn"].clone();
        let described = self.ok(region, "DescribeStream", &json!({"StreamArn": arn}));
        let shards = described["StreamDescription"]["Shards"].as_array().unwrap();
        let iterator = |shard: &Value| {
            let latest = json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "LATEST"});
            self.ok(region, "GetShardIterator", &latest)["ShardIterator"].clone()
        };
        shards.iter().map(iterator).collect()
    }

    /// Checks that the state is the fold of its commits.
    fn check(&self) {
        let dump = |engine: &Engine| {
            let commits = engine.checkpoint().map(|commit| Commit { sequence: 0, ..commit });
            commits.collect::<Vec<_>>()
        };
        let folded = engine(Clock::settable(Moment::START));
        let state = dump(&self.engine);
        let mut replay = folded.replay();
        for commit in self.recorder.0.lock().unwrap().iter() {
            replay.apply(commit).unwrap();
        }
        replay.finish(self.engine.clock().now());
        folded.clock().set(self.engine.clock().now());
        assert!(dump(&folded) == state, "the state is the fold of its commits");
    }
}

fn key(pk: impl ToString) -> Value {
    json!({"TableName": "tab", "Key": {"pk": {"S": pk.to_string()}, "sk": {"S": "s"}}})
}

/// Each request applies at most 16 deletions and arrivals in a partition, besides those of its own items.
#[test]
fn requests_of_a_replica_apply_few_deletions_and_arrivals_during_a_step() {
    for (has_local, recovers) in [(false, false), (true, false), (false, true)] {
        let regions = Regions::new(has_local, Duration::ZERO);
        if recovers {
            regions.record();
        }
        let clock = regions.engine.clock();
        regions.fill(US, 2000, regions.now() + 60);
        // Checks how many commits requests make that lock partitions so many times.
        let applies = |locks: usize, requests: &dyn Fn()| {
            let before = regions.commits();
            requests();
            let applied = regions.commits() - before;
            assert!(applied <= locks * 19, "{has_local}: {applied}");
        };
        let exists = |pk: usize| regions.ok(EU, "GetItem", &key(pk)).get("Item").is_some();
        let count_of = |pks: std::ops::Range<usize>| {
            let gets: Vec<Value> = pks.map(|pk| json!({"Get": key(pk)})).collect();
            let answer = regions.ok(EU, "TransactGetItems", &json!({"TransactItems": gets}));
            let items = answer["Responses"].as_array().unwrap().iter();
            items.filter(|item| item.get("Item").is_some()).count()
        };
        let query = |pk: usize| {
            let mut query = json!({"TableName": "tab", "KeyConditionExpression": "pk = :pk", "ConsistentRead": true,
                "ExpressionAttributeValues": {":pk": {"S": pk.to_string()}}});
            let count = regions.ok(EU, "Query", &query)["Count"].clone();
            if has_local {
                query["IndexName"] = json!("local");
                assert_eq!(regions.ok(EU, "Query", &query)["Count"], count);
            }
            count
        };

        // The items arrive.
        let by = Duration::from_secs(10);
        let step = regions.engine.state.begin_step(clock.now().plus(by));
        clock.advance(by);
        applies(2, &|| assert!(exists(7) && !exists(3000)));
        applies(5, &|| assert_eq!(count_of(100..110), 10));
        applies(3, &|| assert_eq!(query(8), 1));
        let mut delete = key(9);
        delete["ReturnValues"] = json!("ALL_OLD");
        applies(1, &|| {
            assert!(regions.ok(EU, "DeleteItem", &delete).get("Attributes").is_some());
        });
        let left = regions.table(EU).arriving(US);
        assert!((1000..2000).contains(&left), "{left}");
        regions.engine.run_due();
        drop(step);
        assert_eq!(regions.table(EU).arriving(US), 0);

        // They expire in both regions, and then the deletions of one arrive in the other.
        let by = Duration::from_mins(1);
        let step = regions.engine.state.begin_step(clock.now().plus(by));
        clock.advance(by);
        applies(1, &|| assert!(!exists(7)));
        applies(5, &|| assert_eq!(count_of(100..110), 0));
        applies(3, &|| assert_eq!(query(8), 0));
        crate::execute::run_due(&regions.table(US), clock.now());
        assert_eq!(scan(&regions, US).len(), 0);
        let item = json!({"pk": {"S": "11"}, "sk": {"S": "s"}, "v": {"S": "new"}});
        applies(1, &|| {
            regions.ok(EU, "PutItem", &json!({"TableName": "tab", "Item": item}));
        });
        applies(2, &|| assert!(exists(11) && !exists(12)));
        assert!(regions.table(EU).arriving(US) > 1000);
        regions.engine.run_due();
        drop(step);
        regions.engine.advance(by);
        for region in [US, EU] {
            assert_eq!(scan(&regions, region), std::slice::from_ref(&item), "{region}");
        }
        regions.check();
    }
}

/// GetRecords beside a step applies no more than what fills a page, whether or not that gives records, and misses or repeats none.
#[test]
fn a_reader_of_a_stream_applies_few_arrivals_during_a_step() {
    let seed = std::env::var("DYNATWIN_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut choice = Choice(seed.unwrap_or(12) * 1_000_000);
    println!("DYNATWIN_SEED={}", choice.0 / 1_000_000);
    for (runs, is_stale) in [(false, false), (false, true), (true, false)] {
        let new = if runs { Regions::running } else { Regions::new };
        let regions = new(false, Duration::ZERO);
        if is_stale {
            let conditions = Conditions {
                read_staleness: Lag::Fixed(Duration::from_secs(1)),
                ..regions.engine.conditions()
            };
            regions.engine.set_conditions(conditions).unwrap();
        }
        let pass = |by: Duration| {
            let step = (!runs).then(|| regions.engine.state.begin_step(regions.engine.clock().now().plus(by)));
            regions.pass(by);
            step
        };
        regions.fill(US, 3000, regions.now() + 60);
        regions.pass(Duration::from_secs(10));
        regions.engine.run_due();
        let mut iterators = regions.latest(EU);
        // The items expire, and are deleted in one region.
        let step = pass(Duration::from_mins(2));
        crate::execute::run_due(&regions.table(US), regions.engine.clock().now());
        let (mut records, mut few) = (Vec::new(), 0);
        let mut read = |iterators: &mut Vec<Value>| {
            let mut count = 0;
            for iterator in iterators {
                let before = regions.commits();
                let page = regions.ok(EU, "GetRecords", &json!({"ShardIterator": iterator}));
                let applied = regions.commits() - before;
                // A running clock has 16 more in each partition.
                assert!(applied <= 1024 + 1 + 4 * 17, "{runs} {is_stale}: {applied}");
                few += usize::from(applied > 1000);
                *iterator = page["NextShardIterator"].clone();
                let found = page["Records"].as_array().unwrap();
                count += found.len();
                records.extend(found.iter().cloned());
            }
            count
        };
        for _ in 0..6 {
            read(&mut iterators);
            for _ in 0..3 {
                let (region, key) = ([US, EU][choice.below(2) as usize], key(choice.below(3000)));
                regions.ok(region, "DeleteItem", &key);
                let mut item = key["Key"].clone();
                item["v"] = json!({"N": choice.below(9).to_string()});
                regions.ok(region, "PutItem", &json!({"TableName": "tab", "Item": item}));
            }
        }
        regions.engine.run_due();
        drop(step);
        regions.pass(Duration::from_mins(1));
        regions.engine.run_due();
        while read(&mut iterators) > 0 {}
        assert!(few > 1, "{runs} {is_stale}: {few}");
        let parts = |record: &Value| {
            let names = ["Keys", "ApproximateCreationDateTime", "OldImage", "NewImage"];
            let [keys, created, old, new] = names.map(|name| record["dynamodb"][name].clone());
            [keys, record["eventName"].clone(), created, old, new]
        };
        let mut records: Vec<_> = records.iter().map(parts).collect();
        records.sort_by_key(|[keys, ..]| keys.to_string());
        let mut all = regions.records(EU);
        let old: usize = all.iter().filter(|[_, name, ..]| name == "INSERT").count();
        assert!(records.len() >= 3000 && old >= 3000, "{}", records.len());
        // The reader began after the insertions.
        let mut begun = std::collections::BTreeSet::new();
        all.retain(|[keys, name, ..]| name != "INSERT" || !begun.insert(keys.to_string()));
        assert!(records == all, "{runs} {is_stale}");
        assert_eq!(scan(&regions, US), scan(&regions, EU));
        regions.check();
    }
}

/// A sink that notes for each arrival up to which moment a step of the clock applies due work.
struct StepRecorder {
    steps: Arc<ClockSteps>,
    arrivals: Mutex<Vec<Moment>>,
}

impl CommitSink for StepRecorder {
    fn append(&self, commit: &EncodedCommit) -> Result<(), AppendError> {
        let is_arrival = |mutation: &Mutation| matches!(mutation, Mutation::ReplicateItem { .. });
        if commit.mutations.iter().any(is_arrival) {
            self.arrivals.lock().unwrap().push(self.steps.until());
        }
        Ok(())
    }
}

/// What arrives when replication is resumed is applied by a step of the clock, to which requests leave it.
#[test]
fn resumed_replication_is_applied_by_a_step() {
    let regions = Regions::new(false, Duration::ZERO);
    let twin = &regions.engine;
    let recorder = Arc::new(StepRecorder {
        steps: Arc::clone(&twin.state.catalog().host().steps),
        arrivals: Mutex::default(),
    });
    twin.attach_sink(Arc::clone(&recorder) as Arc<dyn CommitSink>, 0);
    let arrivals = || std::mem::take(&mut *recorder.arrivals.lock().unwrap());
    for region in [Some(EU), None] {
        twin.account(&caller(US)).pause_replication("tab", region).unwrap();
        regions.fill(US, 500, regions.now() + 3600);
        twin.advance(Duration::from_mins(1));
        assert_eq!((regions.table(EU).arriving(US), arrivals()), (500, Vec::new()));
        twin.account(&caller(US)).resume_replication("tab", region).unwrap();
        assert_eq!(arrivals(), vec![twin.clock().now(); 500]);
        assert_eq!(scan(&regions, EU).len(), 500);
        assert!(!twin.state.steps().is_open());
    }
}

fn scan(regions: &Regions, region: &str) -> Vec<Value> {
    let mut items = regions.ok(region, "Scan", &json!({"TableName": "tab"}))["Items"].take();
    let items = items.as_array_mut().unwrap();
    items.sort_by_key(ToString::to_string);
    std::mem::take(items)
}

/// The next number of a seeded sequence, below `end`.
struct Choice(u64);

impl Choice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 += 1;
        crate::chance::decide(self.0, "choice", b"", 0) % end
    }
}

/// A random key. Items under the first ten partition keys do not expire and are changed by transactions too.
fn any_key(choice: &mut Choice, is_transacted: bool) -> Value {
    let pk = if is_transacted {
        choice.below(10)
    } else {
        choice.below(40)
    };
    json!({"pk": {"S": pk.to_string()}, "sk": {"S": choice.below(12).to_string()}})
}

/// Items expire at a multiple of 30 seconds, which is no earlier than ten seconds after they are put. `now` is `None` if none
/// expire.
fn any_item(choice: &mut Choice, now: Option<i64>, is_transacted: bool) -> Value {
    let mut item = any_key(choice, is_transacted);
    item["g"] = json!({"S": choice.below(3).to_string()});
    item["v"] = json!({"N": choice.below(100).to_string()});
    let expires = item["pk"]["S"].as_str().unwrap().len() > 1 && choice.below(5) > 0;
    if let Some(now) = now.filter(|_| expires) {
        let at = now / 30 * 30 + 30 * (1 + choice.below(2) as i64);
        item["ttl"] = json!({"N": at.to_string()});
    }
    item
}

fn any_request(choice: &mut Choice, now: Option<i64>, has_local: bool) -> (&'static str, &'static str, Value) {
    let region = [US, EU][choice.below(2) as usize];
    let key = any_key(choice, false);
    let query = |value: &Value, name: &str, index: Option<&str>| {
        let mut query = json!({"TableName": "tab", "KeyConditionExpression": format!("{name} = :v"),
            "ExpressionAttributeValues": {":v": value}});
        if let Some(index) = index {
            query["IndexName"] = json!(index);
        }
        query
    };
    let one = |more: Value| {
        let mut body = json!({"TableName": "tab", "Key": key});
        body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        body
    };
    let (operation, body) = match choice.below(12) {
        0 | 1 => ("GetItem", one(json!({}))),
        2 => ("Query", query(&key["pk"], "pk", None)),
        3 if has_local => ("Query", query(&key["pk"], "pk", Some("local"))),
        4 if choice.below(6) == 0 => ("Query", query(&json!({"S": "1"}), "g", Some("by-g"))),
        5 if choice.below(6) == 0 => ("Scan", json!({"TableName": "tab"})),
        6 => {
            let gets: Vec<Value> = (0..6)
                .map(|_| json!({"Get": {"TableName": "tab", "Key": any_key(choice, false)}}))
                .collect();
            ("TransactGetItems", json!({"TransactItems": gets}))
        }
        7 => ("DeleteItem", one(json!({"ReturnValues": "ALL_OLD"}))),
        8 => (
            "UpdateItem",
            one(json!({"UpdateExpression": "ADD v :one", "ReturnValues": "ALL_NEW",
                "ExpressionAttributeValues": {":one": {"N": "1"}}})),
        ),
        9 => {
            let put = json!({"Put": {"TableName": "tab", "Item": any_item(choice, now, true)}});
            let check = json!({"ConditionCheck": {"TableName": "tab", "Key": any_key(choice, true),
                "ConditionExpression": "attribute_exists(pk)"}});
            return (EU, "TransactWriteItems", json!({"TransactItems": [put, check]}));
        }
        _ => {
            let condition = ["attribute_not_exists(pk)", "attribute_exists(pk)"][choice.below(2) as usize];
            let item = any_item(choice, now, false);
            (
                "PutItem",
                json!({"TableName": "tab", "Item": item, "ConditionExpression": condition, "ReturnValues": "ALL_OLD"}),
            )
        }
    };
    (region, operation, body)
}

/// Of two engines, one applies all due work as its clock moves, the other leaves it to its requests, during a step of a clock that
/// stands still, or on a clock that runs, where deletions may be observed and none are due. No request observes a difference, all
/// regions have the same items in the end, and streams the same records of each item.
#[test]
fn due_work_of_a_replica_is_not_observed_before_it_is_applied() {
    let seed = std::env::var("DYNATWIN_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(11);
    println!("DYNATWIN_SEED={seed}");
    for (case, has_local, transaction, runs, recovers, staleness) in [
        (0, false, 0, false, false, 0),
        (1, false, 4, false, false, 0),
        (2, true, 0, false, false, 0),
        (3, true, 4, false, false, 0),
        (4, false, 4, true, false, 0),
        (5, true, 4, true, false, 0),
        (6, false, 0, false, true, 0),
        (7, true, 4, false, true, 0),
        (8, false, 4, true, true, 0),
        (9, false, 4, false, false, 40),
        (10, true, 0, false, true, 40),
        (11, false, 4, true, false, 120),
        (12, true, 4, true, false, 120),
    ] {
        let new = if runs { Regions::running } else { Regions::new };
        let pair = [(); 2].map(|()| new(has_local, Duration::from_secs(transaction)));
        if recovers {
            pair.iter().for_each(Regions::record);
        }
        if staleness > 0 {
            pair.iter().for_each(|regions| regions.stale(staleness));
        }
        let [whole, left] = &pair;
        let mut choice = Choice(seed * 1_000_000 + case * 100_000);
        let same = |region: &str, operation: &str, body: &Value| {
            let [one, other] = pair.each_ref().map(|regions| regions.send(region, operation, body));
            assert_eq!(one, other, "case {case}, {region} {operation} {body}");
            one
        };
        let (mut arrivals, mut deletions, mut stale) = (0, 0, 0);
        let begun = whole.now();
        for _ in 0..8 {
            let now = whole.now();
            let expiring = (!runs).then_some(now);
            for _ in 0..10 {
                let puts = (0..25).map(|_| any_item(&mut choice, expiring, false));
                let puts: Vec<Value> = puts.map(|item| json!({"PutRequest": {"Item": item}})).collect();
                let region = [US, EU][choice.below(2) as usize];
                same(region, "BatchWriteItem", &json!({"RequestItems": {"tab": puts}}));
            }
            // All that is due is over by ten seconds after a multiple of thirty; all that was written arrives before the next one.
            let at = now / 30 * 30 + 30 * (1 + choice.below(2) as i64) + 12 + choice.below(8) as i64;
            let by = Duration::from_secs((at - now) as u64);
            let step = (!runs).then(|| left.engine.state.begin_step(left.engine.clock().now().plus(by)));
            left.pass(by);
            // Due work is applied while the states before it can be read.
            for _ in 0..by.as_secs() {
                whole.pass(Duration::from_secs(1));
                whole.engine.run_due();
            }
            // A transaction is executed in its region before the other one can receive it.
            for pk in 0..40 {
                same(EU, "GetItem", &key(pk));
            }
            for _ in 0..40 {
                arrivals += left.table(EU).arriving(US) + left.table(US).arriving(EU);
                deletions += usize::from(left.table(EU).next_due() <= left.engine.clock().now());
                let (region, operation, body) = any_request(&mut choice, expiring.map(|_| at), has_local);
                let answer = same(region, operation, &body);
                if ["GetItem", "Query"].contains(&operation) && body["IndexName"] != "by-g" && staleness > 0 {
                    let mut present = body.clone();
                    present["ConsistentRead"] = json!(true);
                    stale += usize::from(same(region, operation, &present) != answer);
                }
                if choice.below(15) == 0 {
                    let region = [US, EU][choice.below(2) as usize];
                    crate::execute::run_due(&left.table(region), left.engine.clock().now());
                }
            }
            left.engine.run_due();
            drop(step);
        }
        assert!(arrivals > 3000 && deletions > 50, "{arrivals}, {deletions}");
        assert_eq!(stale > 4, staleness > 0, "case {case}: {stale}");
        for regions in &pair {
            regions.pass(Duration::from_mins(5));
            regions.engine.run_due();
        }
        for region in [US, EU] {
            same(region, "Scan", &json!({"TableName": "tab"}));
            same(region, "Scan", &json!({"TableName": "tab", "IndexName": "by-g"}));
            let [one, other] = pair.each_ref().map(|regions| regions.records(region));
            assert!(one.len() > 500, "{}", one.len());
            let differs = one.iter().zip(&other).find(|(one, other)| one != other);
            assert!(one == other, "case {case}, {region}: {differs:#?}");
        }
        assert_eq!(scan(left, US), scan(left, EU), "case {case}");
        let latest = left.now() - 300;
        let mut sizes = Vec::new();
        for at in 0..if recovers { 20 } else { 0 } {
            let (region, copy) = ([US, EU][at % 2], format!("copy-{at}"));
            // Some of the moments are those at which items expire, arrive or are written.
            let moment = latest - choice.below((latest - begun) as u64) as i64;
            let restore = json!({"SourceTableName": "tab", "TargetTableName": copy, "RestoreDateTime": moment});
            same(region, "RestoreTableToPointInTime", &restore);
            same(region, "Scan", &json!({"TableName": copy}));
            sizes.push(left.ok(region, "Scan", &json!({"TableName": copy}))["Count"].clone());
        }
        sizes.dedup();
        assert_eq!(sizes.len() > 5, recovers, "{sizes:?}");
        left.check();
    }
}
