//! The engine, its tables, the moves of its clock, and a reader that follows the streams.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dynatwin_engine::http::Delivery;
use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings, TimeToLive};
use serde_json::{Value, json};

use crate::common::commits::{self, Recorder};
use crate::common::{Twin, setting};
use crate::simulation::plant::Plant;
use crate::simulation::setup::Setup;

pub const TABLES: [&str; 2] = ["one", "two"];
/// The permanent global indexes, which project all attributes, and keys only.
pub const INDEXES: [&str; 2] = ["by-g", "by-l"];
/// One that comes and goes.
pub const FICKLE: &str = "by-n";

/// The ticks between which something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub invoked: u64,
    pub answered: u64,
}

/// A move of the clock, and the moment it reached.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    pub window: Window,
    pub to: Moment,
}

/// The widest values that conditions have had.
#[derive(Clone, Debug)]
pub struct Bounds {
    pub staleness: Duration,
    pub index_lag: Duration,
    pub stream_lag: Duration,
    /// `None`: expired items may never be deleted.
    pub expiry: Option<Duration>,
    pub flight: Duration,
    /// The longest time to create a table.
    pub status: Duration,
    /// Whether reads were always monotonic.
    pub monotonic: bool,
    /// Whether an index was ever paused.
    pub paused: bool,
}

impl Bounds {
    fn widen(&mut self, conditions: &Conditions) {
        self.staleness = self.staleness.max(conditions.read_staleness.longest());
        self.stream_lag = self.stream_lag.max(conditions.stream_lag.longest());
        self.index_lag = self.index_lag.max(conditions.index_propagation.longest());
        self.flight = self.flight.max(conditions.transaction_time.longest());
        self.status = self.status.max(conditions.table_status.longest());
        self.monotonic &= conditions.monotonic_reads;
        self.expiry = match conditions.time_to_live {
            TimeToLive::Off => None,
            TimeToLive::Deletes(lag) => self.expiry.map(|longest| longest.max(lag.longest())),
        };
    }
}

/// An answer, and its delivery.
pub struct Answered {
    pub status: u16,
    pub body: Value,
    pub at: Moment,
    pub delivery: Delivery,
}

pub struct World {
    pub twin: Twin,
    recorder: Arc<Recorder>,
    pub setup: Setup,
    pub plant: Plant,
    ticks: AtomicU64,
    moves: Mutex<Vec<Move>>,
    bounds: Mutex<Bounds>,
    streams: Mutex<[Stream; 2]>,
    hours: Mutex<u64>,
}

/// Prints each step with `DYNATWIN_TRACE=1`.
pub fn trace(description: &str) {
    if setting("DYNATWIN_TRACE").is_some() {
        println!("{description}");
    }
}

pub fn caller(name: &str) -> Caller {
    Caller {
        access_key: name.into(),
        region: "us-east-1".into(),
    }
}

/// All callers share one set of tables.
fn settings(seed: u64) -> Settings {
    Settings {
        clock: Clock::settable(Moment::START),
        seed,
        conditions: Conditions::CALM,
        shared_db: true,
    }
}

impl World {
    pub fn new(setup: Setup, plant: Plant) -> World {
        let engine = Engine::new(settings(setup.seed));
        let recorder = Recorder::of(&engine);
        let twin = Twin {
            engine,
            caller: caller("test"),
        };
        twin.engine
            .set_conditions(Conditions {
                stream_shards: setup.conditions.stream_shards,
                ..Conditions::CALM
            })
            .unwrap();
        let streams = [0, 1].map(|table| Stream::of(&create(&twin, table, &setup)));
        if setup.watched {
            TABLES
                .iter()
                .for_each(|table| assert!(twin.engine.account(&twin.caller).watch_heat(table, true).is_ok()));
        }
        twin.engine.set_conditions(setup.conditions).unwrap();
        let mut bounds = Bounds {
            staleness: Duration::ZERO,
            index_lag: Duration::ZERO,
            stream_lag: Duration::ZERO,
            expiry: Some(Duration::ZERO),
            flight: Duration::ZERO,
            status: Duration::ZERO,
            monotonic: true,
            paused: false,
        };
        bounds.widen(&setup.conditions);
        World {
            twin,
            recorder,
            plant,
            hours: Mutex::new(setup.hours),
            setup,
            ticks: AtomicU64::new(1),
            moves: Mutex::default(),
            bounds: Mutex::new(bounds),
            streams: Mutex::new(streams),
        }
    }

    /// Compares the state with the fold of its commits.
    pub fn check_commits(&self) -> Result<(), String> {
        let seed = self.setup.seed;
        commits::check(&self.twin.engine, &self.recorder, || settings(seed))
    }

    pub fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    pub fn now(&self) -> Moment {
        self.twin.engine.clock().now()
    }

    pub fn bounds(&self) -> Bounds {
        self.bounds.lock().unwrap().clone()
    }

    /// Widens the bounds before the conditions change.
    pub fn widen(&self, widen: impl FnOnce(&mut Bounds)) {
        widen(&mut self.bounds.lock().unwrap());
    }

    pub fn set_conditions(&self, conditions: &Conditions) {
        self.widen(|bounds| bounds.widen(conditions));
        self.twin.engine.set_conditions(*conditions).unwrap();
    }

    pub fn moves(&self) -> Vec<Move> {
        self.moves.lock().unwrap().clone()
    }

    /// Sets the clock to a moment unless it is later.
    pub fn move_to(&self, moment: Moment, run_due: bool) {
        let mut moves = self.moves.lock().unwrap();
        let invoked = self.tick();
        let by = moment.since(self.now());
        if !by.is_zero() {
            self.twin.engine.clock().advance(by);
            let to = self.now();
            let answered = self.tick();
            let window = Window { invoked, answered };
            trace(&format!("the clock moves to {to}"));
            moves.push(Move { window, to });
        }
        drop(moves);
        if run_due {
            self.twin.engine.run_due();
        }
    }

    /// Advances the clock by hours within the limit, and reads the streams before records expire.
    pub fn pass_hours(&self, hours: u64) -> Result<(), String> {
        let hours = {
            let mut left = self.hours.lock().unwrap();
            let hours = hours.min(*left);
            *left -= hours;
            hours
        };
        self.poll()?;
        self.move_to(self.now().plus(Duration::from_hours(hours)), false);
        Ok(())
    }

    pub fn send(&self, caller: &Caller, operation: &str, body: &Value) -> Answered {
        let dispatch = |operation: &str, body: &Value| {
            let answer = self
                .twin
                .engine
                .dispatch(caller, operation, body.to_string().as_bytes());
            Answered {
                status: answer.status,
                body: serde_json::from_slice(&answer.body).unwrap(),
                at: answer.at,
                delivery: answer.delivery,
            }
        };
        self.plant.tamper(operation, body, &dispatch)
    }

    /// Reads the new records of the streams.
    pub fn poll(&self) -> Result<(), String> {
        let mut streams = self.streams.lock().unwrap();
        streams.iter_mut().try_for_each(|stream| stream.poll(&self.twin))
    }

    /// Returns all records of a table's stream that were read, parents before children.
    pub fn records(&self, table: usize) -> Result<Vec<Value>, String> {
        let mut records = self.streams.lock().unwrap()[table].records()?;
        self.plant.tamper_records(&mut records);
        Ok(records)
    }
}

fn create(twin: &Twin, table: usize, setup: &Setup) -> Value {
    let units = |[read, write]: [u64; 2]| json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write});
    let index = |name: &str, hash: &str, projection: Value| json!({"IndexName": name, "KeySchema": [{"AttributeName": hash, "KeyType": "HASH"}], "Projection": projection});
    let mut globals = vec![
        index(INDEXES[0], "g", json!({"ProjectionType": "ALL"})),
        index(INDEXES[1], "l", json!({"ProjectionType": "KEYS_ONLY"})),
    ];
    let attributes = [("pk", "S"), ("sk", "N"), ("g", "S"), ("l", "S")];
    let attributes = attributes.map(|(name, kind)| json!({"AttributeName": name, "AttributeType": kind}));
    let mut body = json!({"TableName": TABLES[table], "AttributeDefinitions": attributes,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "LocalSecondaryIndexes": [{"IndexName": "local", "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["n"]}}],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"}});
    if table == 0 {
        body["ProvisionedThroughput"] = units(setup.provisioned[0]);
        globals
            .iter_mut()
            .for_each(|index| index["ProvisionedThroughput"] = units(setup.provisioned[1]));
    } else {
        body["BillingMode"] = "PAY_PER_REQUEST".into();
        if let Some([read, write]) = setup.most {
            body["OnDemandThroughput"] = json!({"MaxReadRequestUnits": read, "MaxWriteRequestUnits": write});
        }
    }
    body["GlobalSecondaryIndexes"] = globals.into();
    let made = twin.ok("CreateTable", &body);
    let living = json!({"Enabled": true, "AttributeName": "dies"});
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": TABLES[table], "TimeToLiveSpecification": living}),
    );
    made["TableDescription"]["LatestStreamArn"].clone()
}

/// What was read of a shard.
#[derive(Default)]
struct Shard {
    parent: Option<String>,
    records: Vec<Value>,
    ended: bool,
}

/// An occasional reader of one stream.
struct Stream {
    arn: Value,
    shards: BTreeMap<String, Shard>,
}

fn number(record: &Value) -> u128 {
    let text = record["dynamodb"]["SequenceNumber"].as_str();
    text.unwrap_or_default().parse().unwrap_or_default()
}

impl Stream {
    fn of(arn: &Value) -> Stream {
        Stream {
            arn: arn.clone(),
            shards: BTreeMap::new(),
        }
    }

    fn poll(&mut self, twin: &Twin) -> Result<(), String> {
        let mut body = json!({"StreamArn": self.arn});
        loop {
            let page = twin.ok("DescribeStream", &body)["StreamDescription"].clone();
            for shard in page["Shards"].as_array().unwrap() {
                let id = shard["ShardId"].as_str().unwrap().to_owned();
                let parent = shard["ParentShardId"].as_str().map(str::to_owned);
                self.shards.entry(id).or_default().parent = parent;
            }
            match page.get("LastEvaluatedShardId") {
                Some(last) => body["ExclusiveStartShardId"] = last.clone(),
                None => break,
            }
        }
        let open = self.shards.iter_mut().filter(|(_, shard)| !shard.ended);
        for (id, shard) in open {
            shard.poll(twin, &self.arn, id)?;
        }
        Ok(())
    }

    /// Returns the records, each shard's after its parent's, so that each item's are in order.
    fn records(&self) -> Result<Vec<Value>, String> {
        let mut left: Vec<(&String, &Shard)> = self.shards.iter().collect();
        let mut records = Vec::new();
        while !left.is_empty() {
            let waits = |shard: &Shard| left.iter().any(|(id, _)| shard.parent.as_ref() == Some(*id));
            let at = left.iter().position(|(_, shard)| !waits(shard));
            let (_, shard) = left.remove(at.ok_or("shards are their own ancestors")?);
            records.extend(shard.records.iter().cloned());
        }
        let mut last: BTreeMap<String, u128> = BTreeMap::new();
        for record in &records {
            let number = number(record);
            let before = last.insert(record["dynamodb"]["Keys"].to_string(), number);
            if before.is_some_and(|before| before >= number) {
                return Err(format!("the stream has {} too late", record["dynamodb"]));
            }
        }
        records.sort_by_key(number);
        Ok(records)
    }
}

impl Shard {
    fn poll(&mut self, twin: &Twin, arn: &Value, id: &str) -> Result<(), String> {
        let mut from = json!({"StreamArn": arn, "ShardId": id, "ShardIteratorType": "TRIM_HORIZON"});
        if let Some(last) = self.records.last() {
            from["ShardIteratorType"] = "AFTER_SEQUENCE_NUMBER".into();
            from["SequenceNumber"] = last["dynamodb"]["SequenceNumber"].clone();
        }
        let (status, answer) = twin.send("GetShardIterator", &from);
        if status != 200 {
            return Err(format!("GetShardIterator {from} answers {answer}"));
        }
        let mut next = answer["ShardIterator"].clone();
        loop {
            let page = twin.ok("GetRecords", &json!({"ShardIterator": next}));
            let records = page["Records"].as_array().unwrap();
            self.records.extend(records.iter().cloned());
            next = page["NextShardIterator"].clone();
            self.ended = next.is_null();
            if self.ended || records.is_empty() {
                return Ok(());
            }
        }
    }
}
