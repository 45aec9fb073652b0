//! What a seed decides before the first request: conditions, capacity, and what may happen.

use std::time::Duration;

use crate::common::Choice;
use dynatwin_engine::conditions::{Capacity, Conditions, Enforcement, Lag, Shards, TimeToLive};

/// A world before it begins.
#[derive(Debug)]
pub struct Setup {
    /// The seed.
    pub seed: u64,
    /// The dials at the beginning.
    pub conditions: Conditions,
    /// Units of the first table and of its global indexes, for reading and writing.
    pub provisioned: [[u64; 2]; 2],
    /// The most that the second table, on demand, serves: for reading and writing.
    pub most: Option<[u64; 2]>,
    /// Whether fault rules come and go.
    pub rules: bool,
    /// Whether dials are turned.
    pub turns: bool,
    /// Whether capacity is counted, though it may not be enforced.
    pub watched: bool,
    /// Hours that the clock may move; after a day records would be gone.
    pub hours: u64,
}

impl Setup {
    /// The world of a seed. Among threads the clock moves by seconds: a client token lives for ten minutes.
    pub fn new(seed: u64, threads: bool) -> Setup {
        let mut choice = Choice(seed);
        let mut conditions = match choice.below(3) {
            0 => Conditions::CALM,
            1 => Conditions::AWS,
            _ => Conditions::STORM,
        };
        for dial in 0..10 {
            if choice.one_in(4) {
                turn(&mut conditions, dial, &mut choice);
            }
        }
        if choice.one_in(2) {
            conditions.stream_shards = Shards::Fixed(1 + choice.below(6) as u32);
        }
        // The one who reads the streams comes as often as it likes.
        if let Capacity::Enforced(rules) = &mut conditions.capacity {
            rules.shard_readers = u32::MAX;
        }
        conditions.stale_reads = 1.0;
        let mut units = || [1 + choice.below(40), 1 + choice.below(20)];
        let provisioned = [units(), units()];
        let most = units();
        Setup {
            seed,
            conditions,
            provisioned,
            most: choice.one_in(2).then_some(most),
            rules: choice.one_in(2),
            turns: choice.one_in(4),
            watched: choice.one_in(2),
            hours: if threads { 0 } else { 14 },
        }
    }
}

/// Turns one of the ten dials.
pub fn turn(conditions: &mut Conditions, dial: u64, choice: &mut Choice) {
    match dial {
        0 => conditions.time_to_live = time_to_live(choice),
        1 => conditions.index_propagation = lag(choice, 400),
        2 => conditions.read_staleness = lag(choice, 400),
        3 => conditions.monotonic_reads = choice.one_in(2),
        4 => conditions.transaction_time = lag(choice, 200),
        5 => conditions.table_status = lag(choice, 4000),
        6 => conditions.internal_errors = choice.below(6) as f64 / 100.0,
        7 => conditions.stream_lag = lag(choice, 400),
        8 => conditions.throttles = choice.below(12) as f64 / 100.0,
        _ => conditions.capacity = capacity(choice),
    }
}

fn lag(choice: &mut Choice, millis: u64) -> Lag {
    let typical = Duration::from_millis(choice.below(millis));
    match choice.below(4) {
        0 => Lag::None,
        1 => Lag::Fixed(typical),
        _ => Lag::Seeded {
            typical,
            longest: typical * (1 + choice.below(10) as u32),
        },
    }
}

fn time_to_live(choice: &mut Choice) -> TimeToLive {
    if choice.one_in(6) {
        return TimeToLive::Off;
    }
    TimeToLive::Deletes(lag(choice, 20_000))
}

/// Small partitions, so that they are many, and are split.
fn capacity(choice: &mut Choice) -> Capacity {
    if choice.one_in(4) {
        return Capacity::Reported;
    }
    Capacity::Enforced(Enforcement {
        burst: Duration::from_secs(choice.below(60)),
        adaptive: choice.one_in(2),
        partition_read: 10 + choice.below(3000),
        partition_write: 5 + choice.below(1000),
        partition_size: 2000 + choice.below(20_000),
        heat_split: choice.one_in(2).then(|| Duration::from_secs(choice.below(5))),
        growth: Duration::from_mins(1 + choice.below(30)),
        shard_readers: u32::MAX,
    })
}
