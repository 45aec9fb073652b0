//! The dials: how much of what production does the twin does.

use std::time::Duration;

use crate::limits;

/// How long after something is due it happens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Lag {
    /// At once.
    #[default]
    None,
    /// Always this much later.
    Fixed(Duration),
    /// Later by a seeded share of time: half of all within `typical`, the rest spread up to `longest`.
    Seeded {
        /// The median.
        typical: Duration,
        /// The tail's end.
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
        }
    }

    /// Whether there is none.
    pub fn is_none(self) -> bool {
        self.longest().is_zero()
    }

    /// The lag for a decision from [`crate::chance::decide`].
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
        }
    }
}

/// What time to live does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeToLive {
    /// Expired items are never deleted: as if the deletion lagged for ever.
    Off,
    /// Expired items are deleted this long after their time.
    Deletes(Lag),
}

/// How many shards a new stream has.
///
/// ```
/// use dynatwin_engine::conditions::{Conditions, Shards};
///
/// let conditions = Conditions { stream_shards: Shards::Fixed(3), ..Conditions::CALM };
/// assert_ne!(conditions, Conditions::CALM);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shards {
    /// So many, from 1 to [`Shards::MOST`]; a number outside is taken for the nearest inside.
    Fixed(u32),
    /// One for each partition that the table's throughput needs.
    ByThroughput,
}

impl Shards {
    /// Shards of a new stream at most.
    pub const MOST: u32 = 1024;
}

/// What becomes of requests for which a table has no capacity left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Capacity {
    /// They are served: capacity is reported, and holds nobody back.
    Reported,
    /// They are throttled.
    Enforced(Enforcement),
}

/// How capacity is enforced.
///
/// ```
/// use dynatwin_engine::conditions::{Capacity, Conditions, Enforcement};
/// use std::time::Duration;
///
/// let mut conditions = Conditions::CALM;
/// conditions.capacity = Capacity::Enforced(Enforcement { burst: Duration::ZERO, ..Enforcement::AWS });
/// assert_ne!(conditions, Conditions::CALM);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Enforcement {
    /// For how long unused provisioned capacity is kept, to be spent at once.
    pub burst: Duration,
    /// Whether a hot partition takes what the others leave; else each has its even share.
    pub adaptive: bool,
    /// Read units a second that a partition serves at most.
    pub partition_read: u64,
    /// Write units a second that a partition serves at most.
    pub partition_write: u64,
    /// The bytes after which a partition is split.
    pub partition_size: u64,
    /// For how long a partition is asked for too much before it is split; `None`: it never is.
    pub heat_split: Option<Duration>,
    /// How long an on-demand table takes to serve twice its previous peak.
    pub growth: Duration,
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
    };

    /// On a day on which nothing is left over: no burst, and no split for heat.
    pub const STORM: Enforcement = Enforcement {
        burst: Duration::ZERO,
        heat_split: None,
        ..Enforcement::AWS
    };
}

/// How the twin behaves; one for all tables, and one for each table that differs.
///
/// ```
/// use dynatwin_engine::conditions::{Conditions, Lag, TimeToLive};
/// use std::time::Duration;
///
/// let mut conditions = Conditions::CALM;
/// conditions.time_to_live = TimeToLive::Deletes(Lag::Fixed(Duration::from_secs(48 * 3600)));
/// assert_ne!(conditions, Conditions::CALM);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Deletion of expired items.
    pub time_to_live: TimeToLive,
    /// How long a write takes to reach a global index.
    pub index_propagation: Lag,
    /// How old what a read without `ConsistentRead` sees of a table or local index may be.
    pub read_staleness: Lag,
    /// Whether such reads of one caller never go back behind what that caller has seen.
    pub monotonic_reads: bool,
    /// How long a TransactWriteItems holds its items before it is carried out and answered.
    pub transaction_time: Lag,
    /// How many shards a new stream has.
    pub stream_shards: Shards,
    /// How long a table is `CREATING` or `DELETING`.
    pub table_status: Lag,
    /// How old `ItemCount` and the sizes in the descriptions of tables and backups may be; zero, if they are of the moment.
    pub statistics_age: Duration,
    /// Bytes that the items of a partition key and their entries in local indexes may have together, in a table with local
    /// indexes. A tenth of it counts as a gigabyte in `SizeEstimateRangeGB`.
    pub item_collection_size: u64,
    /// Whether capacity runs out.
    pub capacity: Capacity,
    /// The share of requests, from 0 to 1, that fail with a 500 though nothing is wrong with them.
    pub internal_errors: f64,
    /// The share of requests, from 0 to 1, that are throttled though capacity is left.
    pub throttles: f64,
}

const HOUR: u64 = 3600;

/// "DynamoDB updates this value approximately every six hours" (API Reference, TableDescription).
const STATISTICS_AGE: Duration = Duration::from_secs(6 * HOUR);

impl Conditions {
    /// Nothing surprises: what is due happens at once, and nothing fails by itself.
    pub const CALM: Conditions = Conditions {
        time_to_live: TimeToLive::Deletes(Lag::None),
        index_propagation: Lag::None,
        read_staleness: Lag::None,
        monotonic_reads: false,
        transaction_time: Lag::None,
        stream_shards: Shards::Fixed(1),
        table_status: Lag::None,
        statistics_age: Duration::ZERO,
        item_collection_size: limits::ITEM_COLLECTION_SIZE,
        capacity: Capacity::Reported,
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
        read_staleness: Lag::Seeded {
            typical: Duration::from_millis(2),
            longest: Duration::from_millis(50),
        },
        monotonic_reads: false,
        transaction_time: Lag::Seeded {
            typical: Duration::from_millis(3),
            longest: Duration::from_millis(10),
        },
        stream_shards: Shards::ByThroughput,
        table_status: Lag::Seeded {
            typical: Duration::from_secs(6),
            longest: Duration::from_secs(10),
        },
        statistics_age: STATISTICS_AGE,
        item_collection_size: limits::ITEM_COLLECTION_SIZE,
        capacity: Capacity::Enforced(Enforcement::AWS),
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
        monotonic_reads: false,
        transaction_time: Lag::Seeded {
            typical: Duration::from_millis(1500),
            longest: Duration::from_secs(5),
        },
        stream_shards: Shards::ByThroughput,
        table_status: Lag::Seeded {
            typical: Duration::from_mins(1),
            longest: Duration::from_mins(5),
        },
        statistics_age: STATISTICS_AGE,
        item_collection_size: limits::ITEM_COLLECTION_SIZE,
        capacity: Capacity::Enforced(Enforcement::STORM),
        internal_errors: 0.01,
        throttles: 0.05,
    };

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
