//! The twin, and how it is built.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_sdk_dynamodb::config::SharedHttpClient;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_dynamodb::{Client, config};
use dynatwin_engine::capacity::Heat;
use dynatwin_engine::clock::{Clock, Moment};
use dynatwin_engine::conditions::{Conditions, Lag};
use dynatwin_engine::engine::{Engine, NotFound, Settings, StateSnapshot};
use dynatwin_engine::journal::{Datapoint, Metric, ObservedScan};
use dynatwin_engine::storage::ReplayError;
use dynatwin_files::Buckets;
use dynatwin_seed::{Error as SeedError, Loaded};

use crate::access;
use crate::account::Account;
use crate::clock::{TwinClock, system_clock};
use crate::connector::Connector;
use crate::faults::Faults;
use crate::table::TableBuilder;
use crate::watch::{self, CapacitySpent, HotKey, Request};

const ACCESS_KEY: &str = "dynatwin";
const REGION: &str = "us-east-1";

/// A DynamoDB of the test's own. Clones are the same twin.
///
/// A twin that is dropped while its test panics prints its seed, and how to run the test again with it.
///
/// ```
/// use dynatwin::{Conditions, Lag, TimeToLive, Twin};
/// use std::time::Duration;
///
/// let twin = Twin::seeded(7);
/// let mut conditions = Conditions::CALM;
/// conditions.time_to_live = TimeToLive::Deletes(Lag::Fixed(Duration::from_secs(48 * 3600)));
/// twin.set_conditions(conditions);
/// assert_eq!(twin.seed(), 7);
/// assert_eq!(twin.client().config().region().map(|region| region.as_ref()), Some("us-east-1"));
/// ```
#[derive(Clone)]
pub struct Twin(Arc<Inner>);

struct Inner {
    engine: Arc<Engine>,
    clock: TwinClock,
    settable: bool,
    sleep_moves_clock: bool,
    announced: AtomicBool,
}

impl Twin {
    /// A twin on the system's clock. Its seed is that of the environment's `DYNATWIN_SEED`, or a fresh one.
    pub fn new() -> Twin {
        Twin::builder().build()
    }

    /// A twin on a settable clock that stands at 2026-01-01T00:00:00Z. The same seed gives the same behavior.
    pub fn seeded(seed: u64) -> Twin {
        Twin::builder().seed(seed).clock(Clock::settable(Moment::START)).build()
    }

    /// A twin with settings of one's own.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A client of the default region, `us-east-1`.
    pub fn client(&self) -> Client {
        self.home().client()
    }

    /// The configuration of [`client`](Twin::client), to be changed before it is built.
    ///
    /// ```
    /// use aws_sdk_dynamodb::config::retry::RetryConfig;
    /// use dynatwin::Twin;
    ///
    /// let twin = Twin::seeded(7);
    /// let config = twin.config().retry_config(RetryConfig::disabled()).build();
    /// let client = aws_sdk_dynamodb::Client::from_conf(config);
    /// ```
    pub fn config(&self) -> config::Builder {
        self.home().config()
    }

    /// A client of DynamoDB Streams, of the default region.
    ///
    /// ```
    /// use dynatwin::Twin;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let twin = Twin::seeded(7);
    /// let listed = twin.streams().list_streams().send().await?;
    /// assert!(listed.streams().is_empty());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn streams(&self) -> aws_sdk_dynamodbstreams::Client {
        self.home().streams()
    }

    /// Splits each open shard of a table's stream in two, as DynamoDB does with partitions that are hot or full: for tests of
    /// readers, which have to follow. Says whether the table has a stream.
    pub fn split_shards(&self, table: &str) -> bool {
        self.home().split_shards(table)
    }

    /// The twin as an HTTP client of the SDK, for configurations that are built elsewhere. Give them
    /// [`clock`](Twin::clock) too, as `sleep_impl` and as `time_source`, and credentials and a region: those decide which
    /// tables are seen.
    ///
    /// ```
    /// use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
    /// use dynatwin::Twin;
    ///
    /// let twin = Twin::seeded(7);
    /// let config = aws_sdk_dynamodb::Config::builder()
    ///     .behavior_version(BehaviorVersion::latest())
    ///     .credentials_provider(Credentials::new("123456789012", "secret", None, None, "tests"))
    ///     .region(Region::new("eu-central-1"))
    ///     .http_client(twin.http_client())
    ///     .sleep_impl(twin.clock())
    ///     .time_source(twin.clock())
    ///     .build();
    /// ```
    pub fn http_client(&self) -> SharedHttpClient {
        SharedHttpClient::new(Connector::new(self.shared_engine(), self.clock()))
    }

    /// The tables of another region, and clients that see them.
    pub fn region(&self, region: &str) -> Account {
        self.account(ACCESS_KEY, region)
    }

    /// The tables of another access key and region, and clients that see them.
    pub fn account(&self, access_key: &str, region: &str) -> Account {
        Account::new(self.clone(), access_key, region)
    }

    fn home(&self) -> Account {
        self.region(REGION)
    }

    /// The clock that the twin and its clients live by.
    pub fn clock(&self) -> TwinClock {
        self.0.clock.clone()
    }

    /// The fault rules.
    pub fn faults(&self) -> Faults {
        Faults::new(self.shared_engine())
    }

    /// The conditions of all tables without their own.
    pub fn conditions(&self) -> Conditions {
        self.engine().conditions()
    }

    /// Sets the conditions of all tables without their own.
    pub fn set_conditions(&self, conditions: Conditions) {
        self.engine().set_conditions(conditions);
    }

    /// Sets the conditions of one table, now or later there; `None` lets it follow the others again.
    pub fn set_table_conditions(&self, table: &str, conditions: impl Into<Option<Conditions>>) {
        self.home().set_table_conditions(table, conditions);
    }

    /// Lets no write reach a global index of a table from now on, until [`resume_index`](Twin::resume_index): it can be read,
    /// and stays as it is.
    pub fn pause_index(&self, table: &str, index: &str) -> Result<(), NotFound> {
        self.home().pause_index(table, index)
    }

    /// Lets a paused index catch up, with all that would have reached it by now.
    pub fn resume_index(&self, table: &str, index: &str) -> Result<(), NotFound> {
        self.home().resume_index(table, index)
    }

    /// Sets how long writes from now on take to reach one global index; `None` lets it follow the table's conditions again.
    pub fn set_index_lag(&self, table: &str, index: &str, lag: impl Into<Option<Lag>>) -> Result<(), NotFound> {
        self.home().set_index_lag(table, index, lag)
    }

    /// Deletes every item of a table that has expired, as time to live will, but now; says how many there were.
    pub fn expire_now(&self, table: &str) -> Result<u64, NotFound> {
        self.home().expire_now(table)
    }

    /// What a table's capacity was spent on, and what was throttled, by partition and by key. Counted while capacity is
    /// [enforced](dynatwin_engine::conditions::Capacity::Enforced), or [watched](Twin::watch_heat); keys only while watched.
    pub fn heat(&self, table: &str) -> Option<Heat> {
        self.home().heat(table)
    }

    /// Begins or ends to watch what a table's capacity is spent on, keys included. Says whether there is such a table.
    pub fn watch_heat(&self, table: &str, watches: bool) -> bool {
        self.home().watch_heat(table, watches)
    }

    /// Begins or ends to watch what is asked of the twin: [`requests`](Twin::requests), [`scans`](Twin::scans), the counters
    /// of [`metrics`](Twin::metrics), and the [`heat`](Twin::heat) of all tables. What was seen stays until
    /// [`reset`](Twin::reset) or [`forget_requests`](Twin::forget_requests).
    pub fn watch(&self, watches: bool) {
        self.engine().watch(watches);
    }

    /// Whether somebody watches.
    pub fn is_watched(&self) -> bool {
        self.engine().is_watched()
    }

    /// The latest requests of all access keys and regions, oldest first: operation, table, key, and how it ended. The oldest
    /// are let go of when there are more than ten thousand, or they take too much memory.
    ///
    /// ```
    /// use aws_sdk_dynamodb::types::AttributeValue;
    /// use dynatwin::Twin;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let twin = Twin::seeded(7);
    /// twin.watch(true);
    /// let get = twin.client().get_item().table_name("Orders").key("PK", AttributeValue::S("a".into()));
    /// get.send().await.unwrap_err();
    /// let seen: Vec<_> = twin.requests().iter().map(|request| (request.operation.clone(), request.status)).collect();
    /// assert_eq!(seen, [("GetItem".to_owned(), 400)]);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn requests(&self) -> Vec<Request> {
        let requests = self.engine().requests();
        requests.iter().map(|request| Request::of(request)).collect()
    }

    /// Forgets all requests, scans and counters. Who watches goes on.
    pub fn forget_requests(&self) {
        self.engine().forget_requests();
    }

    /// Who has read all of a table or an index: each operation, table, index and caller once. A SELECT that does not fix the
    /// partition key is a scan too.
    pub fn scans(&self) -> Vec<ObservedScan> {
        self.engine().scans()
    }

    /// Checks that nobody has scanned a table or an index, in whatever region, by Scan or by a statement.
    ///
    /// ```
    /// use dynatwin::Twin;
    ///
    /// let twin = Twin::builder().watch(true).build();
    /// // … what the application does …
    /// twin.assert_no_scans();
    /// ```
    ///
    /// # Panics
    ///
    /// If there was a scan: the message says of what, by whom, when, and how to query instead. And if nobody has watched.
    #[track_caller]
    pub fn assert_no_scans(&self) {
        watch::assert_no_scans(self.is_watched(), &self.scans());
    }

    /// Checks that every fault rule there is, or was since the last [`reset`](Twin::reset), has acted: a test whose fault
    /// never happened has tested something else.
    ///
    /// ```should_panic
    /// use dynatwin::{Rule, Twin, Verdict};
    ///
    /// let twin = Twin::seeded(7);
    /// let _typo = twin.faults().add(Rule::new(Verdict::Reset).operation("GetItm"));
    /// twin.assert_faults_fired();
    /// ```
    ///
    /// # Panics
    ///
    /// If one never has; the message names them.
    #[track_caller]
    pub fn assert_faults_fired(&self) {
        watch::assert_faults_fired(&self.faults().never_fired());
    }

    /// The counters and gauges of the default account and region, by the names and dimensions that CloudWatch has for them.
    /// Counters are sums of the time in which the twin was [watched](Twin::watch); what is zero is not there.
    /// `TimeToLiveDeletedItemCount`, and what a table is given, are there in any case.
    pub fn metrics(&self) -> Vec<Metric> {
        self.home().metrics()
    }

    /// The counters of the default account and region by the minute of the twin's clock, oldest first: what the condition of
    /// an alarm looks at. The last 1,440 minutes in which something happened while the twin was watched are kept.
    ///
    /// ```
    /// use dynatwin::{Rule, Twin, Verdict};
    /// use std::time::Duration;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let twin = Twin::seeded(7);
    /// twin.watch(true);
    /// let minute = Duration::from_secs(60);
    /// let outage = twin.faults().add(Rule::new(Verdict::ServiceUnavailable).after(minute));
    /// for _ in 0..3 {
    ///     drop(twin.client().list_tables().send().await);
    ///     twin.clock().advance(minute);
    /// }
    /// // Alarm: more than no system errors in two minutes.
    /// let points = twin.metrics_by_minute();
    /// let bad = points.iter().filter(|point| point.metric.name == "SystemErrors" && point.metric.value > 0.0);
    /// assert_eq!(bad.count(), 2);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn metrics_by_minute(&self) -> Vec<Datapoint> {
        self.home().metrics_by_minute()
    }

    /// One of them, which has exactly these dimensions; 0 if it is not there.
    ///
    /// ```
    /// use dynatwin::Twin;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let twin = Twin::seeded(7);
    /// twin.watch(true);
    /// twin.client().describe_table().table_name("Orders").send().await.unwrap_err();
    /// assert_eq!(twin.metric("UserErrors", []), 1.0);
    /// assert_eq!(twin.metric("ReturnedItemCount", [("TableName", "Orders"), ("Operation", "Scan")]), 0.0);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn metric<'d>(&self, name: &str, dimensions: impl IntoIterator<Item = (&'d str, &'d str)>) -> f64 {
        self.home().metric(name, dimensions)
    }

    /// What the tables of the default account and region spend while `block` runs, whoever asks meanwhile. For code that
    /// blocks; [`capacity_spent_by`](Twin::capacity_spent_by) is for code that awaits. The twin need not be watched.
    ///
    /// ```
    /// use dynatwin::Twin;
    ///
    /// let twin = Twin::seeded(7);
    /// let (answer, spent) = twin.capacity_spent(|| 42);
    /// assert_eq!((answer, spent.to_string().as_str()), (42, "nothing"));
    /// ```
    pub fn capacity_spent<T>(&self, block: impl FnOnce() -> T) -> (T, CapacitySpent) {
        self.home().capacity_spent(block)
    }

    /// What the tables of the default account and region spend until `block` is done, whoever asks meanwhile.
    ///
    /// ```
    /// use aws_sdk_dynamodb::types::AttributeValue;
    /// use dynatwin::Twin;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # use aws_sdk_dynamodb::types::{AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType};
    /// let twin = Twin::seeded(7);
    /// let client = twin.client();
    /// # client.create_table().table_name("Orders").billing_mode(BillingMode::PayPerRequest)
    /// #     .attribute_definitions(AttributeDefinition::builder().attribute_name("PK").attribute_type(ScalarAttributeType::S).build()?)
    /// #     .key_schema(KeySchemaElement::builder().attribute_name("PK").key_type(KeyType::Hash).build()?).send().await?;
    /// let (put, spent) = twin
    ///     .capacity_spent_by(async {
    ///         client.put_item().table_name("Orders").item("PK", AttributeValue::S("a".into())).send().await
    ///     })
    ///     .await;
    /// put?;
    /// assert_eq!((spent.read("Orders"), spent.write("Orders")), (0.0, 1.0));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
    /// ```
    pub async fn capacity_spent_by<T>(&self, block: impl IntoFuture<Output = T>) -> (T, CapacitySpent) {
        self.home().capacity_spent_by(block).await
    }

    /// The partition keys of a table that cost most, hottest first, since it is [watched](Twin::watch): nothing if it is not.
    /// Keys beyond the hundred hottest are counted only roughly.
    pub fn hottest_keys(&self, table: &str, most: usize) -> Vec<HotKey> {
        self.home().hottest_keys(table, most)
    }

    /// Removes all tables and fault rules, and forgets what was asked. Clock, seed and conditions stay.
    pub fn reset(&self) {
        self.engine().reset();
    }

    /// [Resets](Twin::reset) the twin to what it was made with: its clock and conditions too. Time goes back to the clock's
    /// start, so no request should run meanwhile.
    ///
    /// ```
    /// use dynatwin::{Conditions, Twin};
    /// use std::time::Duration;
    ///
    /// let twin = Twin::seeded(7);
    /// let start = twin.clock().now();
    /// twin.clock().advance(Duration::from_secs(8 * 86_400));
    /// twin.set_conditions(Conditions::STORM);
    /// twin.reset_all();
    /// assert_eq!((twin.clock().now(), twin.conditions()), (start, Conditions::CALM));
    /// ```
    pub fn reset_all(&self) {
        self.engine().reset_all();
    }

    /// A table to be created in the default region. See [`TableBuilder`].
    ///
    /// ```
    /// use dynatwin::Twin;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let twin = Twin::seeded(7);
    /// twin.table("Sessions").hash("id").ttl("expiresAt").create().await?;
    /// assert_eq!(twin.tables(), ["Sessions"]);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn table(&self, name: &str) -> TableBuilder {
        self.home().table(name)
    }

    /// Creates the tables and writes the items of a file, at once whatever the conditions are. Load before requests are sent:
    /// meanwhile all tables behave as under [`Conditions::CALM`].
    ///
    /// The file is JSON, YAML, CSV, a CloudFormation, SAM or Terraform document, a NoSQL Workbench model, a jest-dynamodb
    /// configuration, or a directory with an export; `TABLE=FILE` names the table of a file that only has items.
    ///
    /// # Errors
    ///
    /// What is not known in the file, and what the service refuses, with file and line.
    ///
    /// ```
    /// use dynatwin::Twin;
    ///
    /// let file = std::env::temp_dir().join("dynatwin-doc-users.yaml");
    /// std::fs::write(&file, "
    /// tables:
    /// - TableName: Users
    ///   AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
    ///   KeySchema: [{AttributeName: id, KeyType: HASH}]
    ///   Items: [{id: a, age: 30}, {id: b}]
    /// ")?;
    /// let twin = Twin::seeded(7);
    /// let loaded = twin.load(&file.display().to_string())?;
    /// assert_eq!((loaded.tables, loaded.items), (1, 2));
    /// assert_eq!(twin.items("Users").map(|items| items.len()), Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load(&self, file: &str) -> Result<Loaded, SeedError> {
        self.home().load(file)
    }

    /// The present state: tables with all that belongs to them, conditions, and the clock's moment, for
    /// [`restore`](Twin::restore). It shares its items with the twin. [`StateSnapshot::to_bytes`] keeps it for another process.
    pub fn snapshot(&self) -> StateSnapshot {
        self.0.engine.snapshot()
    }

    /// Puts the twin back to a snapshot of it, or to one of another twin. Fault rules are removed, recorded requests are
    /// forgotten, and decisions are counted anew. Time may go back, so no request should be running.
    ///
    /// # Errors
    ///
    /// The snapshot is not one that an engine made.
    ///
    /// ```
    /// use dynatwin::{StateSnapshot, Twin};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let twin = Twin::seeded(7);
    /// twin.table("Orders").hash("id").create().await?;
    /// let bytes = twin.snapshot().to_bytes();
    ///
    /// let other = Twin::seeded(7);
    /// other.restore(&StateSnapshot::from_bytes(&bytes)?)?;
    /// assert_eq!(other.tables(), ["Orders"]);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn restore(&self, snapshot: &StateSnapshot) -> Result<(), ReplayError> {
        self.0.engine.restore(snapshot)
    }

    /// Another twin with the same seed, conditions and state, on a clock of its own. Neither sees what happens to the other
    /// from now on, so tests can each begin with a fork of a twin that was filled once. A fork of a twin on a clock that runs is
    /// on the system's clock. Fault rules, access control and buckets are not taken over.
    ///
    /// # Panics
    ///
    /// Panics if the state cannot be made again, which is a bug of this crate.
    ///
    /// ```
    /// use aws_sdk_dynamodb::types::AttributeValue;
    /// use dynatwin::Twin;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let template = Twin::seeded(7);
    /// template.table("Orders").hash("id").create().await?;
    ///
    /// let fork = template.fork();
    /// let id = AttributeValue::S("a".into());
    /// fork.client().put_item().table_name("Orders").item("id", id).send().await?;
    /// assert_eq!(fork.items("Orders").map(|items| items.len()), Some(1));
    /// assert_eq!(template.items("Orders").map(|items| items.len()), Some(0));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
    /// ```
    #[must_use]
    pub fn fork(&self) -> Twin {
        let clock = if self.0.settable {
            Clock::settable(self.0.engine.clock().now())
        } else {
            system_clock()
        };
        let forked = self.0.engine.fork(clock);
        let engine = Arc::new(forked.unwrap_or_else(|error| panic!("the twin cannot be forked: {error}")));
        if self.is_watched() {
            engine.watch(true);
        }
        Twin(Arc::new(Inner {
            clock: TwinClock::new(Arc::clone(&engine), self.0.sleep_moves_clock),
            engine,
            settable: self.0.settable,
            sleep_moves_clock: self.0.sleep_moves_clock,
            announced: AtomicBool::new(false),
        }))
    }

    /// The names of the tables.
    pub fn tables(&self) -> Vec<String> {
        self.home().tables()
    }

    /// All items of a table as they are now, in the order of a Scan; `None` if there is no such table. Looking costs
    /// nothing, meets no fault rule, and is never stale.
    pub fn items(&self, table: &str) -> Option<Vec<HashMap<String, AttributeValue>>> {
        self.home().items(table)
    }

    /// The item with this key, as it is now.
    ///
    /// ```
    /// use aws_sdk_dynamodb::types::AttributeValue;
    /// use dynatwin::Twin;
    ///
    /// let twin = Twin::seeded(7);
    /// assert_eq!(twin.item("Nowhere", [("PK", AttributeValue::S("a".into()))]), None);
    /// ```
    pub fn item<'a>(
        &self,
        table: &str,
        key: impl IntoIterator<Item = (&'a str, AttributeValue)>,
    ) -> Option<HashMap<String, AttributeValue>> {
        self.home().item(table, key)
    }

    /// What the twin's decisions are made of.
    pub fn seed(&self) -> u64 {
        self.engine().seed()
    }

    /// The engine below.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    pub(crate) fn shared_engine(&self) -> Arc<Engine> {
        Arc::clone(&self.0.engine)
    }
}

impl Default for Twin {
    fn default() -> Twin {
        Twin::new()
    }
}

impl fmt::Debug for Twin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Twin")
            .field("seed", &self.seed())
            .field("clock", &self.0.clock)
            .field("tables", &self.tables())
            .finish_non_exhaustive()
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.0.announced.swap(true, Ordering::Relaxed) {
            eprintln!("{}", replay(self.seed(), self.0.settable));
        }
    }
}

fn replay(seed: u64, settable: bool) -> String {
    if settable {
        format!("dynatwin: this twin's seed was {seed}; Twin::seeded({seed}) behaves the same")
    } else {
        format!("dynatwin: this twin's seed was {seed}; DYNATWIN_SEED={seed} makes the same decisions")
    }
}

/// How a twin is built.
///
/// ```
/// use dynatwin::{Clock, Conditions, Moment, Twin};
///
/// let twin = Twin::builder()
///     .seed(7)
///     .conditions(Conditions::AWS)
///     .clock(Clock::settable(Moment::parse("2030-06-01T12:00:00Z").unwrap()))
///     .shared_db(true)
///     .build();
/// assert_eq!(twin.clock().now().to_string(), "2030-06-01T12:00:00.000Z");
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    seed: Option<u64>,
    conditions: Conditions,
    clock: Option<Clock>,
    shared_db: bool,
    sleep_moves_clock: bool,
    buckets: Option<PathBuf>,
    watched: bool,
    access: Option<String>,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder {
            seed: None,
            conditions: Conditions::CALM,
            clock: None,
            shared_db: false,
            sleep_moves_clock: true,
            buckets: None,
            watched: false,
            access: None,
        }
    }
}

impl Builder {
    /// What the twin's decisions are made of. Without it: the environment's `DYNATWIN_SEED`, or a fresh seed.
    pub fn seed(mut self, seed: u64) -> Builder {
        self.seed = Some(seed);
        self
    }

    /// How the twin behaves: [`Conditions::CALM`] unless said otherwise.
    pub fn conditions(mut self, conditions: Conditions) -> Builder {
        self.conditions = conditions;
        self
    }

    /// The clock it lives by: the system's unless said otherwise.
    pub fn clock(mut self, clock: Clock) -> Builder {
        self.clock = Some(clock);
        self
    }

    /// One set of tables for all access keys and regions.
    pub fn shared_db(mut self, shared: bool) -> Builder {
        self.shared_db = shared;
        self
    }

    /// Whether a settable clock moves when somebody sleeps on it, as it does unless said otherwise. If not, sleepers wait
    /// until the test moves the clock.
    pub fn sleep_moves_clock(mut self, moves: bool) -> Builder {
        self.sleep_moves_clock = moves;
        self
    }

    /// A folder with a folder for each bucket, for exports and imports. Without it no bucket is there.
    pub fn buckets(mut self, folder: impl Into<PathBuf>) -> Builder {
        self.buckets = Some(folder.into());
        self
    }

    /// Whether the twin is [watched](Twin::watch) from its beginning.
    pub fn watch(mut self, watched: bool) -> Builder {
        self.watched = watched;
        self
    }

    /// Accounts, principals and policies, in JSON or YAML: see [`Twin::set_access`].
    pub fn access(mut self, configuration: &str) -> Builder {
        self.access = Some(configuration.to_owned());
        self
    }

    /// Builds the twin.
    ///
    /// # Panics
    ///
    /// If the [access configuration](Builder::access) is malformed.
    #[track_caller]
    pub fn build(self) -> Twin {
        let clock = self.clock.unwrap_or_else(system_clock);
        let settable = clock.is_settable();
        let access = self
            .access
            .map(|configuration| access::read(&configuration, clock.now()));
        let mut engine = Engine::new(Settings {
            clock,
            seed: self.seed.unwrap_or_else(default_seed),
            conditions: self.conditions,
            shared_db: self.shared_db,
        });
        if let Some(directory) = access {
            engine = engine.with_access(directory.unwrap_or_else(|why| panic!("{why}")));
        }
        let engine = Arc::new(match self.buckets {
            Some(folder) => engine.with_object_store(Arc::new(Buckets::at(folder))),
            None => engine,
        });
        if self.watched {
            engine.watch(true);
        }
        Twin(Arc::new(Inner {
            clock: TwinClock::new(Arc::clone(&engine), self.sleep_moves_clock),
            engine,
            settable,
            sleep_moves_clock: self.sleep_moves_clock,
            announced: AtomicBool::new(false),
        }))
    }
}

/// The environment's seed, or one that nobody can foresee.
fn default_seed() -> u64 {
    told_seed(std::env::var("DYNATWIN_SEED").ok().as_deref()).unwrap_or_else(|| RandomState::new().hash_one("dynatwin"))
}

/// The seed that the environment tells. One that is none must not pass for no wish at all: the run would not be the one
/// that was to be repeated.
fn told_seed(told: Option<&str>) -> Option<u64> {
    let text = told.map(str::trim).filter(|text| !text.is_empty())?;
    match text.parse() {
        Ok(seed) => Some(seed),
        Err(error) => panic!("DYNATWIN_SEED is {text:?}, and a seed is a whole number of 64 bits: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared_between_threads<T: Clone + Send + Sync>() {}

    #[test]
    fn a_twin_can_be_shared() {
        shared_between_threads::<Twin>();
        shared_between_threads::<TwinClock>();
        shared_between_threads::<Account>();
    }

    #[test]
    fn the_environment_tells_a_seed() {
        for (told, expect) in [
            (None, None),
            (Some(""), None),
            (Some(" 7\n"), Some(7)),
            (Some("18446744073709551615"), Some(u64::MAX)),
        ] {
            assert_eq!(told_seed(told), expect, "{told:?}");
        }
    }

    #[test]
    #[should_panic(expected = "DYNATWIN_SEED is \"0x7\"")]
    fn a_seed_that_is_none_is_refused() {
        told_seed(Some("0x7"));
    }

    #[test]
    fn how_to_replay() {
        assert!(replay(7, true).contains("Twin::seeded(7)"));
        assert!(replay(7, false).contains("DYNATWIN_SEED=7"));
    }

    #[test]
    fn a_panic_announces_the_seed_once() {
        let twin = Twin::seeded(7);
        let kept = twin.clone();
        let panicked = std::thread::spawn(move || {
            let _second = twin.clone();
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(panicked.join().is_err());
        assert!(kept.0.announced.load(Ordering::Relaxed));
        let quiet = Twin::seeded(8);
        drop(quiet.clone());
        assert!(!quiet.0.announced.load(Ordering::Relaxed));
    }
}
