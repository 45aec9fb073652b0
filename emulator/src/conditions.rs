//! The dials: how much of what production does the twin does.

use std::time::Duration;

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
    /// How long a table is `CREATING` or `DELETING`.
    pub table_status: Lag,
    /// The share of requests, from 0 to 1, that fail with a 500 though nothing is wrong with them.
    pub internal_errors: f64,
    /// The share of requests, from 0 to 1, that are throttled though capacity is left.
    pub throttles: f64,
}

const HOUR: u64 = 3600;

impl Conditions {
    /// Nothing surprises: what is due happens at once, and nothing fails by itself.
    pub const CALM: Conditions = Conditions {
        time_to_live: TimeToLive::Deletes(Lag::None),
        index_propagation: Lag::None,
        read_staleness: Lag::None,
        monotonic_reads: false,
        transaction_time: Lag::None,
        table_status: Lag::None,
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
        table_status: Lag::Seeded {
            typical: Duration::from_secs(6),
            longest: Duration::from_secs(10),
        },
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
        table_status: Lag::Seeded {
            typical: Duration::from_mins(1),
            longest: Duration::from_mins(5),
        },
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
