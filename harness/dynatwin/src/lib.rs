//! A DynamoDB emulator for unit tests.
//!
//! [`Twin`] is a complete DynamoDB in the test's own process. [`Twin::client`](Account::client) returns a real
//! [`aws_sdk_dynamodb::Client`]: serialization, retries and errors are the SDK's, and no socket is opened. The test
//! controls time, throttling and failures, and a seed makes every run reproducible. [`Twin::streams`](Account::streams) returns an
//! [`aws_sdk_dynamodbstreams::Client`] for the same twin.
//!
//! ```
//! use aws_sdk_dynamodb::types::AttributeValue;
//! use dynatwin::Twin;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let twin = Twin::seeded(7);
//! let client = twin.client();
//! twin.table("Tasks").hash("PK").create().await?;
//! client.put_item().table_name("Tasks").item("PK", AttributeValue::S("a".into())).send().await?;
//!
//! assert!(twin.item("Tasks", [("PK", AttributeValue::S("a".into()))]).is_some());
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
//! ```
//!
//! # The clock
//!
//! [`Twin::new`] uses the system's clock. [`Twin::seeded`] uses a settable one, which stands still at
//! 2026-01-01T00:00:00Z until the test advances it or a task sleeps on it: the SDK's backoff between two attempts
//! advances it and takes no real time. The SDK also reads the time from the twin's clock.
//!
//! # What the clients are
//!
//! The configuration of clients is the SDK's own with the latest behavior version, except that
//!
//! - the HTTP client is the engine, and sleeps and time are the twin's;
//! - credentials and region are dummies, which select the tables (see [`Account`]);
//! - each client has its own retry quota: in production all clients of a process share one, so one test's throttled
//!   requests would use up another's;
//! - under a settable clock retries back off without jitter, so that the same seed gives the same times;
//! - stalled stream protection is disabled, because there is no stream.
//!
//! [`Twin::config`](Account::config) returns the builder, to change more; [`Twin::http_client`] is for applications that build their own
//! configuration.
//!
//! # Capacity
//!
//! Under [`Conditions::CALM`] nothing is throttled. With [`Capacity::Enforced`] requests beyond a table's capacity are
//! throttled; [`Twin::heat`](AccountControls::heat) returns the consumed units.
//!
//! # Recorded requests
//!
//! A [watched](Twin::watch) twin records requests. A test can end with [`Twin::assert_no_scans`] and
//! [`Twin::assert_faults_fired`], and read [`Twin::requests`], [`Twin::hottest_keys`](Account::hottest_keys) and the counters of
//! [`Twin::metrics`](Account::metrics), which have CloudWatch's names; [`Twin::capacity_spent_by`](Account::capacity_spent_by) returns the cost of a piece of code.
//!
//! # Answers that come late, broken or never
//!
//! A fault rule can delay, break or lose an answer. The client gets the result that it would get over a socket:
//!
//! | [`Verdict`] | executed | result in the SDK |
//! |---|---|---|
//! | `Wait`, `WaitAbout` | yes | the answer, that much later by the twin's clock, or the client's timeout if that is
//! earlier |
//! | `InternalServerErrorAfterApply` | yes | a 500, which it retries: the retry finds the first attempt's write |
//! | `CorruptChecksum` | yes | an answer whose `x-amz-crc32` is wrong |
//! | `Truncate` | yes | a truncated body: a response error, which it retries |
//! | `AnswerLost` | yes | a timeout: the client's, or without a read timeout, after a minute by the twin's clock |
//! | `Reset` | no | a reset connection: a dispatch failure, which it retries |

mod access;
mod account;
mod clock;
mod connector;
mod convert;
mod faults;
mod table;
mod twin;
mod watch;

pub use access::Principal;
pub use account::Account;
pub use clock::{TwinClock, system_clock};
pub use dynatwin_engine::controls::AccountControls;
pub use dynatwin_engine::iam::PolicyWarning;
pub use faults::{FaultGuard, Faults};
pub use table::{KeyAttribute, TableBuilder};
pub use twin::{Builder, Twin};
pub use watch::{CapacitySpent, HotKey, RecordedAccess, Request};

pub use dynatwin_engine::faults::{
    Exceeded, InvalidRule, JobFault, KeyMatch, KmsFault, Outage, Rule, RuleReport, Trigger, Verdict, When, Window,
};
pub use dynatwin_engine::monitoring::Heat;
pub use dynatwin_engine::{
    Capacity, Clock, Conditions, ControlFailure, Enforcement, Engine, ErrorKind, InvalidSnapshot, Lag, Latency, Moment,
    NotFound, ReplicationState, RestoreError, Shards, StateSnapshot, TimeToLive,
};
pub use dynatwin_seed::{Error as SeedError, Loaded};

pub use dynatwin_engine::monitoring::{Datapoint, Metric, ObservedScan, Samples};
