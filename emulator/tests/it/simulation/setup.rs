//! The settings that a seed decides before the first request: conditions, capacity, and the events that may occur.

use std::time::Duration;

use crate::common::Choice;
use dynatwin_engine::{Capacity, Conditions, Enforcement, Lag, Shards, TimeToLive};

/// The settings of one simulated world.
#[derive(Debug)]
pub struct Setup {
    pub seed: u64,
    pub conditions: Conditions,
    /// Units of the first table and of its global indexes, for reading and writing.
    pub provisioned: [[u64; 2]; 2],
    /// The maximum read and write units of the second table, which is on demand.
    pub most: Option<[u64; 2]>,
    /// Whether fault rules are added and removed.
    pub rules: bool,
    /// Whether conditions change during the history.
    pub changes_conditions: bool,
    /// Whether consumed capacity is recorded even if it is not enforced.
    pub watched: bool,
    /// Hours by which the clock may advance; after a day stream records would expire.
    pub hours: u64,
}

impl Setup {
    /// Returns the settings for a seed. With threads the clock advances only by seconds, because a client token expires after
    /// ten minutes.
    pub fn new(seed: u64, threads: bool) -> Setup {
        let mut choice = Choice(seed);
        let mut conditions = match choice.below(3) {
            0 => Conditions::CALM,
            1 => Conditions::AWS,
            _ => Conditions::STORM,
        };
        for condition in 0..10 {
            if choice.one_in(4) {
                change(&mut conditions, condition, &mut choice);
            }
        }
        if choice.one_in(2) {
            conditions.stream_shards = Shards::Fixed(1 + choice.below(6) as u32);
        }
        // The simulation's stream reader is not limited.
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
            changes_conditions: choice.one_in(4),
            watched: choice.one_in(2),
            hours: if threads { 0 } else { 14 },
        }
    }
}

/// Changes one of ten conditions to a random value.
pub fn change(conditions: &mut Conditions, condition: u64, choice: &mut Choice) {
    match condition {
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
