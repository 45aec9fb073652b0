//! Conditions: how closely the emulator reproduces production behavior.

use std::time::Duration;

use crate::limits;

/// How long after something is due it happens.
///
/// ```
/// use dynatwin_engine::Lag;
/// use std::time::Duration;
///
/// let lag = Lag::Seeded { typical: Duration::from_millis(10), longest: Duration::from_secs(1) };
/// assert_eq!(lag.longest(), Duration::from_secs(1));
/// assert!(Lag::None.is_none());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Lag {
    /// It happens at once, without any lag.
    #[default]
    None,
    /// Each time this much later.
    Fixed(Duration),
    /// Later by a seeded share of time: half of all within `typical`, the rest spread up to `longest`.
    Seeded {
        /// Half of all lags are at most this long.
        typical: Duration,
        /// No lag is longer than this.
        longest: Duration,
    },
    /// Later by a seeded length of time with a long tail: at least half of `typical`, half of all within `typical`, 99 of 100
    /// within `p99`, and of the rest the longer the rarer, up to `longest`.
    LongTail {
        /// Half of all lags are at most this long.
        typical: Duration,
        /// 99 of 100 lags are at most this long.
        p99: Duration,
        /// No lag is longer than this.
        longest: Duration,
    },
}

impl Lag {
    /// The longest that it can be.
    pub fn longest(self) -> Duration {
        match self {
            Lag::None => Duration::ZERO,
            Lag::Fixed(lag) => lag,
            Lag::Seeded { typical, longest } => longest.max(typical),
            Lag::LongTail { typical, p99, longest } => longest.max(p99).max(typical),
        }
    }

    /// The length that half of all lags are at most.
    pub fn typical(self) -> Duration {
        match self {
            Lag::None => Duration::ZERO,
            Lag::Fixed(lag) => lag,
            Lag::Seeded { typical, .. } | Lag::LongTail { typical, .. } => typical,
        }
    }

    /// Whether there is no lag.
    pub fn is_none(self) -> bool {
        self.longest().is_zero()
    }

    /// The lag for a decision from `chance::decide`.
    pub fn of(self, decision: u64) -> Duration {
        match self {
            Lag::None => Duration::ZERO,
            Lag::Fixed(lag) => lag,
            Lag::Seeded { typical, longest } => {
                let share = crate::chance::share(decision);
                if share < 0.5 {
                    typical.mul_f64(share * 2.0)
                } else {
                    // The further out, the rarer: the share that is left, squared.
                    let tail = (share - 0.5) * 2.0;
                    typical + longest.saturating_sub(typical).mul_f64(tail * tail)
                }
            }
            Lag::LongTail { typical, p99, longest } => {
                let lengths = [typical, p99, longest].map(|length| length.as_secs_f64());
                let length = long_tail(crate::chance::share(decision), lengths);
                Duration::try_from_secs_f64(length)
                    .unwrap_or(longest)
                    .min(self.longest())
            }
        }
    }
}

/// The quantile of a distribution with a long tail, by its median, 99th percentile and maximum: between these it follows the
/// curves of Pareto distributions. Divisions and roots are exact to the last bit on every target, as powers are not.
fn long_tail(share: f64, [typical, p99, longest]: [f64; 3]) -> f64 {
    if share < 0.5 || p99 <= typical {
        return typical * (0.5 + share.min(0.5));
    }
    if share < 0.99 || longest <= p99 {
        let part = (share.min(0.99) - 0.5) / 0.49;
        return typical / (1.0 - part * (1.0 - typical / p99));
    }
    let part = (share - 0.99) / 0.01;
    let ratio = p99 / longest;
    p99 / (1.0 - part * (1.0 - ratio * ratio)).sqrt()
}

/// The latency of requests, by the class of their operation and their size.
///
/// ```
/// use dynatwin_engine::{Lag, Latency};
/// use std::time::Duration;
///
/// let latency = Latency { read: Lag::Fixed(Duration::from_millis(5)), ..Latency::AWS };
/// assert_eq!(latency.of_operation("GetItem"), latency.read);
/// assert_eq!(latency.of_operation("CreateTable"), Latency::AWS.control);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// GetItem, BatchGetItem, GetShardIterator and GetRecords.
    pub read: Lag,
    /// PutItem, UpdateItem, DeleteItem and BatchWriteItem.
    pub write: Lag,
    /// Query, Scan, SearchVectors, ExecuteStatement and BatchExecuteStatement.
    pub query: Lag,
    /// The operations TransactGetItems, TransactWriteItems and ExecuteTransaction.
    pub transaction: Lag,
    /// All other operations, such as CreateTable.
    pub control: Lag,
    /// The latency added for each kilobyte of request and answer.
    pub per_kilobyte: Duration,
}

const fn long_tailed(typical: u64, p99: u64, longest: u64) -> Lag {
    Lag::LongTail {
        typical: Duration::from_millis(typical),
        p99: Duration::from_millis(p99),
        longest: Duration::from_millis(longest),
    }
}

impl Latency {
    /// As of an ordinary day. AWS names single-digit milliseconds for typical requests and publishes no percentiles: the tail
    /// is ours.
    pub const AWS: Latency = Latency {
        read: long_tailed(2, 8, 500),
        write: long_tailed(4, 12, 1000),
        query: long_tailed(4, 15, 1000),
        transaction: long_tailed(10, 40, 2000),
        control: long_tailed(25, 150, 3000),
        per_kilobyte: Duration::from_micros(30),
    };

    /// As of a bad day: ten times as long, and a hundred times in the tail.
    pub const STORM: Latency = Latency {
        read: long_tailed(20, 800, 5000),
        write: long_tailed(40, 1200, 10_000),
        query: long_tailed(40, 1500, 10_000),
        transaction: long_tailed(100, 4000, 20_000),
        control: long_tailed(250, 5000, 30_000),
        per_kilobyte: Duration::from_micros(300),
    };

    /// That of an operation, without its size.
    pub fn of_operation(&self, operation: &str) -> Lag {
        match operation {
            "GetItem" | "BatchGetItem" | "GetShardIterator" | "GetRecords" => self.read,
            "PutItem" | "UpdateItem" | "DeleteItem" | "BatchWriteItem" => self.write,
            "Query" | "Scan" | "SearchVectors" | "ExecuteStatement" | "BatchExecuteStatement" => self.query,
            "TransactGetItems" | "TransactWriteItems" | "ExecuteTransaction" => self.transaction,
            _ => self.control,
        }
    }
}

/// The behavior of time to live.
///
/// ```
/// use dynatwin_engine::{Conditions, TimeToLive};
///
/// let conditions = Conditions { time_to_live: TimeToLive::Off, ..Conditions::CALM };
/// assert_ne!(conditions, Conditions::CALM);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeToLive {
    /// Expired items are never deleted: as if the deletion lagged for ever.
    Off,
    /// Expired items are deleted this long after they expire. For items that are already expired when they are written, or when
    /// time to live is enabled, the lag begins then.
    Deletes(Lag),
}

/// How many shards a new stream has.
///
/// ```
/// use dynatwin_engine::{Conditions, Shards};
///
/// let conditions = Conditions { stream_shards: Shards::Fixed(3), ..Conditions::CALM };
/// assert_ne!(conditions, Conditions::CALM);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shards {
    /// A fixed number, from 1 to [`Shards::MOST`]; other numbers are clamped.
    Fixed(u32),
    /// One for each partition that the table's throughput needs.
    ByThroughput,
}

impl Shards {
    /// Shards of a new stream at most.
    pub const MOST: u32 = 1024;
}

/// The treatment of requests beyond a table's capacity.
///
/// ```
/// use dynatwin_engine::{Capacity, Conditions};
///
/// assert_eq!(Conditions::CALM.capacity, Capacity::Reported);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Capacity {
    /// They are served: capacity is reported, but not enforced.
    Reported,
    /// They are throttled, under these rules.
    Enforced(Enforcement),
}

/// How capacity is enforced.
///
/// ```
/// use dynatwin_engine::{Capacity, Conditions, Enforcement};
/// use std::time::Duration;
///
/// let mut conditions = Conditions::CALM;
/// conditions.capacity = Capacity::Enforced(Enforcement { burst: Duration::ZERO, ..Enforcement::AWS });
/// assert_ne!(conditions, Conditions::CALM);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Enforcement {
    /// How long unused provisioned capacity is retained, to be spent at once.
    pub burst: Duration,
    /// Whether a hot partition can use the capacity that others leave; otherwise each has its even share.
    pub adaptive: bool,
    /// Read units a second that a partition serves at most.
    pub partition_read: u64,
    /// Write units a second that a partition serves at most.
    pub partition_write: u64,
    /// The bytes after which a partition is split.
    pub partition_size: u64,
    /// How long demand must exceed a partition before it is split; `None`: it is never split.
    pub heat_split: Option<Duration>,
    /// The time until an on-demand table serves twice its previous peak.
    pub growth: Duration,
    /// Readers of a stream's shard at a time; more are throttled.
    pub shard_readers: u32,
}

impl Enforcement {
    /// As the service does. How long heat lasts before it splits a partition is not published: minutes.
    pub const AWS: Enforcement = Enforcement {
        burst: Duration::from_secs(limits::BURST_SECONDS),
        adaptive: true,
        partition_read: limits::PARTITION_READ_UNITS,
        partition_write: limits::PARTITION_WRITE_UNITS,
        partition_size: limits::PARTITION_SIZE,
        heat_split: Some(Duration::from_mins(10)),
        growth: Duration::from_mins(30),
        shard_readers: limits::SHARD_READERS,
    };

    /// On a day on which nothing is left over: no burst, and no split for heat.
    pub const STORM: Enforcement = Enforcement {
        burst: Duration::ZERO,
        heat_split: None,
        ..Enforcement::AWS
    };
}

/// The behavior of the emulator: one set for all tables, and one for each table that differs.
///
/// ```
/// use dynatwin_engine::{Conditions, Lag, TimeToLive};
/// use std::time::Duration;
///
/// let mut conditions = Conditions::CALM;
/// conditions.time_to_live = TimeToLive::Deletes(Lag::Fixed(Duration::from_secs(48 * 3600)));
/// assert_ne!(conditions, Conditions::CALM);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Whether, and how late, expired items are deleted.
    pub time_to_live: TimeToLive,
    /// The delay until a write reaches a global index.
    pub index_propagation: Lag,
    /// The maximum age of the state that a read without `ConsistentRead` of a table or local index returns.
    pub read_staleness: Lag,
    /// The share of such reads, from 0 to 1, that may be stale; the others see the current state.
    pub stale_reads: f64,
    /// Whether a caller's reads never return an older state than that caller has read before.
    pub monotonic_reads: bool,
    /// How long a TransactWriteItems holds its items before it is applied and answered.
    pub transaction_time: Lag,
    /// The delay until a write reaches each other replica of its global table, with eventual consistency between
    /// regions.
    pub replication_lag: Lag,
    /// How long a write or a strongly consistent read waits for another region, in a global table with strong consistency
    /// between regions. Until then a write of the same item in another region is a conflict.
    pub region_round_trip: Lag,
    /// The delay until a change can be read in a stream. A record also waits for those before it in its shard.
    pub stream_lag: Lag,
    /// How many shards a new stream has.
    pub stream_shards: Shards,
    /// How long a table is `CREATING` or `DELETING`.
    pub table_status: Lag,
    /// How old `ItemCount` and the sizes in the descriptions of tables and backups may be; zero, if they are of the moment.
    pub statistics_age: Duration,
    /// Bytes that the items of a partition key and their entries in local indexes may have together, in a table with local
    /// indexes. A tenth of it counts as a gigabyte in `SizeEstimateRangeGB`.
    pub item_collection_size: u64,
    /// The maximum bytes of a table's stream records in memory, all shards together; `None`: unlimited. Beyond it the
    /// oldest records are trimmed as if they were a day old.
    pub stream_bytes: Option<u64>,
    /// The maximum bytes of changes that point-in-time recovery retains for a table; `None`: unlimited. Beyond it
    /// the oldest are dropped, and `EarliestRestorableDateTime` moves forward.
    pub recovery_bytes: Option<u64>,
    /// Whether requests beyond a table's capacity are throttled.
    pub capacity: Capacity,
    /// Whether the control plane has limits: table operations at a time, requests at a time, and units of an account.
    pub control_limits: bool,
    /// The latency of requests; `None`: zero.
    pub latency: Option<Latency>,
    /// The share of requests, from 0 to 1, that fail with a 500 though nothing is wrong with them.
    pub internal_errors: f64,
    /// The share of requests, from 0 to 1, that are throttled though capacity is left.
    pub throttles: f64,
}

const HOUR: u64 = 3600;

/// The maximum number of bytes that a stream, and that point-in-time recovery, keeps of a table. The service has no
/// such limit; memory does.
const HELD_BYTES: Option<u64> = Some(1 << 30);

/// "DynamoDB updates this value approximately every six hours" (API Reference, TableDescription).
const STATISTICS_AGE: Duration = Duration::from_secs(6 * HOUR);

/// The share of reads shortly after a write that do not see it: about 0.4%, measured in production by GOV.UK One Login in
/// November 2024 (pull request 5565 of `govuk-one-login/authentication-api`).
const STALE_READS: f64 = 0.004;

/// "Usually within one second or less" all copies of an item agree (Developer Guide, "Read consistency", until 2022).
const STALENESS: Lag = Lag::Seeded {
    typical: Duration::from_millis(500),
    longest: Duration::from_secs(1),
};

/// "Typically within a second or less" a write is in the other regions (docs/behavior: 08 6).
const REPLICATION: Lag = Lag::Seeded {
    typical: Duration::from_millis(700),
    longest: Duration::from_secs(3),
};

impl Conditions {
    /// No surprises: everything happens when it is due, and nothing fails randomly.
    pub const CALM: Conditions = Conditions {
        time_to_live: TimeToLive::Deletes(Lag::None),
        index_propagation: Lag::None,
        read_staleness: Lag::None,
        stale_reads: 1.0,
        monotonic_reads: false,
        transaction_time: Lag::None,
        replication_lag: Lag::None,
        region_round_trip: Lag::None,
        stream_lag: Lag::None,
        stream_shards: Shards::Fixed(1),
        table_status: Lag::None,
        statistics_age: Duration::ZERO,
        item_collection_size: limits::ITEM_COLLECTION_SIZE,
        stream_bytes: HELD_BYTES,
        recovery_bytes: HELD_BYTES,
        capacity: Capacity::Reported,
        control_limits: false,
        latency: None,
        internal_errors: 0.0,
        throttles: 0.0,
    };

    /// As the service is on an ordinary day.
    pub const AWS: Conditions = Conditions {
        time_to_live: TimeToLive::Deletes(Lag::Seeded {
            typical: Duration::from_secs(2 * HOUR),
            longest: Duration::from_secs(48 * HOUR),
        }),
        index_propagation: Lag::Seeded {
            typical: Duration::from_millis(20),
            longest: Duration::from_millis(500),
        },
        read_staleness: STALENESS,
        stale_reads: STALE_READS,
        monotonic_reads: false,
        transaction_time: Lag::Seeded {
            typical: Duration::from_millis(3),
            longest: Duration::from_millis(10),
        },
        replication_lag: REPLICATION,
        region_round_trip: Lag::Seeded {
            typical: Duration::from_millis(60),
            longest: Duration::from_millis(200),
        },
        stream_lag: Lag::Seeded {
            typical: Duration::from_millis(100),
            longest: Duration::from_millis(500),
        },
        stream_shards: Shards::ByThroughput,
        table_status: Lag::Seeded {
            typical: Duration::from_secs(6),
            longest: Duration::from_secs(10),
        },
        statistics_age: STATISTICS_AGE,
        item_collection_size: limits::ITEM_COLLECTION_SIZE,
        stream_bytes: HELD_BYTES,
        recovery_bytes: HELD_BYTES,
        capacity: Capacity::Enforced(Enforcement::AWS),
        control_limits: true,
        latency: Some(Latency::AWS),
        internal_errors: 0.0,
        throttles: 0.0,
    };

    /// As the service is on its worst day.
    pub const STORM: Conditions = Conditions {
        time_to_live: TimeToLive::Deletes(Lag::Seeded {
            typical: Duration::from_secs(40 * HOUR),
            longest: Duration::from_secs(48 * HOUR),
        }),
        index_propagation: Lag::Seeded {
            typical: Duration::from_secs(5),
            longest: Duration::from_mins(3),
        },
        read_staleness: Lag::Seeded {
            typical: Duration::from_millis(500),
            longest: Duration::from_secs(5),
        },
        stale_reads: 1.0,
        monotonic_reads: false,
        transaction_time: Lag::Seeded {
            typical: Duration::from_millis(1500),
            longest: Duration::from_secs(5),
        },
        replication_lag: Lag::Seeded {
            typical: Duration::from_mins(1),
            longest: Duration::from_mins(10),
        },
        region_round_trip: Lag::Seeded {
            typical: Duration::from_millis(500),
            longest: Duration::from_secs(5),
        },
        stream_lag: Lag::Seeded {
            typical: Duration::from_secs(2),
            longest: Duration::from_secs(30),
        },
        stream_shards: Shards::ByThroughput,
        table_status: Lag::Seeded {
            typical: Duration::from_mins(1),
            longest: Duration::from_mins(5),
        },
        statistics_age: STATISTICS_AGE,
        item_collection_size: limits::ITEM_COLLECTION_SIZE,
        stream_bytes: HELD_BYTES,
        recovery_bytes: HELD_BYTES,
        capacity: Capacity::Enforced(Enforcement::STORM),
        control_limits: true,
        latency: Some(Latency::STORM),
        internal_errors: 0.01,
        throttles: 0.05,
    };

    /// These conditions while data is loaded: requests are neither refused nor delayed, and their changes are visible at once. What
    /// decides which data is kept stays: time to live, the limits of sizes, the shards of streams, and pending transactions.
    pub(crate) fn while_loading(&self) -> Conditions {
        Conditions {
            time_to_live: self.time_to_live,
            stale_reads: self.stale_reads,
            monotonic_reads: self.monotonic_reads,
            transaction_time: self.transaction_time,
            stream_shards: self.stream_shards,
            item_collection_size: self.item_collection_size,
            stream_bytes: self.stream_bytes,
            recovery_bytes: self.recovery_bytes,
            ..Conditions::CALM
        }
    }

    /// The conditions of this name: `calm`, `aws` or `storm`.
    pub fn named(name: &str) -> Option<Conditions> {
        match name {
            "calm" => Some(Conditions::CALM),
            "aws" => Some(Conditions::AWS),
            "storm" => Some(Conditions::STORM),
            _ => None,
        }
    }
}

impl Default for Conditions {
    fn default() -> Conditions {
        Conditions::CALM
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_the_latency_of_their_class() {
        let Latency {
            read,
            write,
            query,
            transaction,
            control,
            ..
        } = Latency::AWS;
        for (operations, expect) in [
            (&["GetItem", "BatchGetItem", "GetRecords", "GetShardIterator"][..], read),
            (&["PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"], write),
            (
                &[
                    "Query",
                    "Scan",
                    "SearchVectors",
                    "ExecuteStatement",
                    "BatchExecuteStatement",
                ],
                query,
            ),
            (
                &["TransactGetItems", "TransactWriteItems", "ExecuteTransaction"],
                transaction,
            ),
            (
                &[
                    "CreateTable",
                    "DescribeTable",
                    "ListTables",
                    "DescribeStream",
                    "ListStreams",
                    "UpdateTimeToLive",
                ],
                control,
            ),
        ] {
            for operation in operations {
                assert_eq!(Latency::AWS.of_operation(operation), expect, "{operation}");
            }
        }
    }

    /// The longest and the typical of each kind of lag, also if they are in a wrong order.
    #[test]
    fn a_lag_has_its_longest_and_its_typical_length() {
        let of = |typical, longest| Lag::Seeded {
            typical: Duration::from_millis(typical),
            longest: Duration::from_millis(longest),
        };
        for (lag, typical, longest) in [
            (Lag::None, 0, 0),
            (Lag::Fixed(Duration::from_millis(7)), 7, 7),
            (of(2, 9), 2, 9),
            (of(9, 2), 9, 9),
            (of(0, 9), 0, 9),
            (of(0, 0), 0, 0),
            (long_tailed(1, 2, 3), 1, 3),
            (long_tailed(1, 3, 2), 1, 3),
            (long_tailed(3, 2, 1), 3, 3),
            (long_tailed(0, 2, 3), 0, 3),
            (long_tailed(0, 0, 3), 0, 3),
            (long_tailed(0, 0, 0), 0, 0),
        ] {
            let found = [lag.typical(), lag.longest()].map(|length| length.as_millis());
            assert_eq!(found, [typical, longest], "{lag:?}");
            assert_eq!(lag.is_none(), longest == 0, "{lag:?}");
        }
    }

    /// Each row has a lag, the thousandths of all lags that are at most this long, and the length in microseconds.
    #[test]
    fn a_long_tail_follows_its_curves() {
        for (lag, per_mille, expect) in [
            (long_tailed(4, 12, 1000), 0.0, 2000.0),
            (long_tailed(4, 12, 1000), 250.0, 3000.0),
            (long_tailed(4, 12, 1000), 500.0, 4000.0),
            (long_tailed(4, 12, 1000), 745.0, 6000.0),
            (long_tailed(4, 12, 1000), 990.0, 12_000.0),
            // In the middle of the last hundredth: √2 times the 99th percentile, if the maximum is far away.
            (long_tailed(4, 12, 1000), 995.0, 16_969.3),
            (long_tailed(2, 20, 4000), 995.0, 28_283.9),
            (long_tailed(2, 20, 40), 995.0, 25_298.2),
            (long_tailed(1, 10, 10), 995.0, 10_000.0),
            (long_tailed(1, 10, 2), 995.0, 10_000.0),
        ] {
            let decision = (per_mille / 1000.0 * 2f64.powi(64)) as u64;
            let found = lag.of(decision).as_secs_f64() * 1e6;
            assert!((found - expect).abs() < 0.1, "{lag:?} {per_mille}: {found}");
        }
    }

    #[test]
    fn a_long_tail_has_its_quantiles() {
        let lag = long_tailed(4, 12, 1000);
        let mut lengths: Vec<Duration> = (0..100_000)
            .map(|at| lag.of(crate::chance::decide(7, "latency", b"key", at)))
            .collect();
        lengths.sort();
        let milliseconds = |per_mille: f64| lengths[(per_mille * 100.0) as usize].as_secs_f64() * 1000.0;
        for (per_mille, low, high) in [
            (0.0, 2.0, 2.01),
            (500.0, 3.9, 4.1),
            (900.0, 8.0, 9.0),
            (990.0, 11.5, 12.5),
            (999.0, 30.0, 45.0),
        ] {
            let found = milliseconds(per_mille);
            assert!(low <= found && found <= high, "{per_mille}: {found}");
        }
        assert!(lengths[99_999] > Duration::from_millis(150) && lengths[99_999] <= lag.longest());
        // Whatever the order of its members is, it has a length.
        for odd in [
            long_tailed(9, 3, 1),
            long_tailed(0, 0, 0),
            long_tailed(1, 1, 1),
            long_tailed(1, 5, 5),
            long_tailed(1, 1, 5),
        ] {
            assert!(lengths.iter().zip(0..).all(|(_, at)| odd.of(at << 40) <= odd.longest()));
        }
    }
}
