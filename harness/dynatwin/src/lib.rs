//! A twin of Amazon DynamoDB for unit tests.
//!
//! [`Twin`] holds a complete DynamoDB in the test's own process. [`Twin::client`] gives a real
//! [`aws_sdk_dynamodb::Client`]: serialization, retries and errors are the SDK's, and no socket is opened. Time,
//! throttling and failure are under the test's control, seeded and repeatable. [`Twin::streams`] gives an
//! [`aws_sdk_dynamodbstreams::Client`] over the same twin.
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
//! [`Twin::new`] lives on the system's clock. [`Twin::seeded`] lives on a settable one, which stands still at
//! 2026-01-01T00:00:00Z until the test moves it, or until somebody sleeps on it: the SDK's backoff between two attempts
//! moves it and takes no real time. The twin's clock is also what the SDK reads the time from.
//!
//! # What the clients are
//!
//! Their configuration is the SDK's own with the latest behavior version, except that
//!
//! - the HTTP client is the engine, and sleeps and time are the twin's;
//! - credentials and region are dummies, which decide what tables are seen (see [`Account`]);
//! - each client has a retry quota of its own: in production all clients of a process share one, so that one test's
//!   throttled requests would use up another's;
//! - under a settable clock retries back off without jitter, so that the same seed gives the same times;
//! - stalled streams are not looked for: there is no stream.
//!
//! [`Twin::config`] gives the builder to those who want to change more; [`Twin::http_client`] is for those whose
//! application builds its own configuration.
//!
//! # Capacity
//!
//! Under [`Conditions::CALM`] nothing is throttled. With [`Capacity::Enforced`] tables have what they were given and no
//! more; [`Twin::heat`] shows what it was spent on.
//!
//! # What the application has asked for
//!
//! A twin that is [watched](Twin::watch) remembers it. A test can end with [`Twin::assert_no_scans`] and
//! [`Twin::assert_faults_fired`], look at [`Twin::requests`], [`Twin::hottest_keys`] and the counters of
//! [`Twin::metrics`], which have CloudWatch's names; [`Twin::capacity_spent_by`] says what a piece of code costs.
//!
//! # Answers that come late, broken or never
//!
//! A fault rule can do to an answer what a network does. The client sees what it would see over a socket:
//!
//! | [`Verdict`] | carried out | what the SDK sees |
//! |---|---|---|
//! | `Wait`, `WaitAbout` | yes | the answer, that much later by the twin's clock, or its own timeout if that is earlier |
//! | `InternalServerErrorAfterApply` | yes | a 500, which it retries: the retry meets its own write |
//! | `CorruptChecksum` | yes | an answer whose `x-amz-crc32` is wrong |
//! | `Truncate` | yes | a body that breaks off: a response error, which it retries |
//! | `AnswerLost` | yes | a timeout: its own, or if it has set none, after a minute by the twin's clock |
//! | `Reset` | no | a connection that was reset: a dispatch failure, which it retries |

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
pub use dynatwin_engine::access::PolicyWarning;
pub use faults::{FaultGuard, Faults};
pub use table::{KeyAttribute, TableBuilder};
pub use twin::{Builder, Twin};
pub use watch::{CapacitySpent, HotKey, Request, Touch};

pub use dynatwin_engine::capacity::Heat;
pub use dynatwin_engine::clock::{Clock, Moment};
pub use dynatwin_engine::conditions::{Capacity, Conditions, Enforcement, Lag, Latency, Shards, TimeToLive};
pub use dynatwin_engine::engine::{Engine, InvalidSnapshot, NotFound, StateSnapshot};
pub use dynatwin_engine::error::ErrorKind;
pub use dynatwin_engine::fault::{
    Exceeded, InvalidRule, JobFault, KeyMatch, KmsFault, Outage, Rule, RuleReport, Trigger, Verdict, When, Window,
};
pub use dynatwin_engine::storage::ReplayError;
pub use dynatwin_seed::{Error as SeedError, Loaded};

pub use dynatwin_engine::journal::{Datapoint, Metric, ObservedScan, Samples};
