//! [`Twin`] and its builder.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_sdk_dynamodb::config::SharedHttpClient;
use dynatwin_engine::monitoring::ObservedScan;
use dynatwin_engine::{Clock, Conditions, ControlFailure, Engine, Moment, RestoreError, Settings, StateSnapshot};
use dynatwin_files::Buckets;

use crate::access;
use crate::account::Account;
use crate::clock::{TwinClock, system_clock};
use crate::connector::Connector;
use crate::faults::Faults;
use crate::watch::{self, Request};

const ACCESS_KEY: &str = "dynatwin";
const REGION: &str = "us-east-1";

/// An in-process DynamoDB emulator. Clones share one emulator.
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
/// twin.set_conditions(conditions)?;
/// assert_eq!(twin.seed(), 7);
/// assert_eq!(twin.client().config().region().map(|region| region.as_ref()), Some("us-east-1"));
/// # Ok::<(), dynatwin::ControlFailure>(())
/// ```
///
/// A twin dereferences to the [`Account`] of its default access key and region: `twin.client()` is the client of that
/// account. The methods of `Twin` itself concern all accounts.
#[derive(Clone)]
pub struct Twin(Account);

/// The engine and clock that a twin and its accounts share.
#[derive(Clone)]
pub(crate) struct Emulator(Arc<Inner>);

pub(crate) struct Inner {
    pub engine: Arc<Engine>,
    pub clock: TwinClock,
    settable: bool,
    sleep_moves_clock: bool,
    announced: AtomicBool,
}

impl Deref for Emulator {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Emulator {
    fn new(engine: Engine, sleep_moves_clock: bool) -> Emulator {
        let engine = Arc::new(engine);
        Emulator(Arc::new(Inner {
            clock: TwinClock::new(Arc::clone(&engine), sleep_moves_clock),
            settable: engine.clock().is_settable(),
            engine,
            sleep_moves_clock,
            announced: AtomicBool::new(false),
        }))
    }

    /// Returns the HTTP client over the engine.
    pub fn http_client(&self) -> SharedHttpClient {
        SharedHttpClient::new(Connector::new(Arc::clone(&self.engine), self.clock.clone()))
    }
}

impl fmt::Debug for Emulator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Emulator");
        shown.field("seed", &self.engine.seed()).finish_non_exhaustive()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.announced.swap(true, Ordering::Relaxed) {
            eprintln!("{}", replay(self.engine.seed(), self.settable));
        }
    }
}

impl Deref for Twin {
    type Target = Account;

    fn deref(&self) -> &Account {
        &self.0
    }
}

impl Twin {
    /// Creates a twin on the system's clock. Its seed is `DYNATWIN_SEED` of the environment, or a random one.
    pub fn new() -> Twin {
        Twin::builder().build()
    }

    /// Creates a twin on a settable clock at 2026-01-01T00:00:00Z. The same seed gives the same behavior.
    pub fn seeded(seed: u64) -> Twin {
        Twin::builder().seed(seed).clock(Clock::settable(Moment::START)).build()
    }

    /// Returns a builder for a twin with other settings.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Returns the twin as an HTTP client of the SDK, for configurations that are built elsewhere. These also need
    /// [`clock`](Twin::clock) as `sleep_impl` and `time_source`, and credentials and a region, which select the tables.
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
        self.emulator().http_client()
    }

    /// Returns the tables of another region.
    pub fn region(&self, region: &str) -> Account {
        self.account(ACCESS_KEY, region)
    }

    /// Returns the tables of another access key and region.
    pub fn account(&self, access_key: &str, region: &str) -> Account {
        Account::new(self.emulator().clone(), access_key, region)
    }

    /// Returns the clock of the twin and its clients.
    pub fn clock(&self) -> TwinClock {
        self.emulator().clock.clone()
    }

    /// Returns the fault rules, which all accounts of the twin share.
    pub fn faults(&self) -> Faults {
        Faults::new(self.shared_engine())
    }

    /// Returns the conditions of all tables without their own.
    pub fn conditions(&self) -> Conditions {
        self.engine().conditions()
    }

    /// Sets the conditions of all tables without their own. Fails only if a commit sink that was attached to the
    /// [`engine`](Twin::engine) refuses the change, as do [`reset`](Twin::reset) and [`reset_all`](Twin::reset_all).
    pub fn set_conditions(&self, conditions: Conditions) -> Result<(), ControlFailure> {
        self.engine().set_conditions(conditions)
    }

    /// Starts or stops recording: [`requests`](Twin::requests), [`scans`](Twin::scans), the counters of
    /// [`metrics`](Account::metrics), and the [`heat`](crate::AccountControls::heat) of all tables. The records are kept until
    /// [`reset`](Twin::reset) or [`forget_requests`](Twin::forget_requests).
    pub fn watch(&self, watches: bool) {
        self.engine().watch(watches);
    }

    /// Returns whether the twin is [watched](Twin::watch).
    pub fn is_watched(&self) -> bool {
        self.engine().is_watched()
    }

    /// Returns the latest requests of all access keys and regions, oldest first, with operation, table, key and result.
    /// The oldest are dropped beyond ten thousand, or when they take too much memory.
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

    /// Removes all recorded requests, scans and counters. Watching continues.
    pub fn forget_requests(&self) {
        self.engine().forget_requests();
    }

    /// Returns which callers have read a whole table or index: each operation, table, index and caller once. A SELECT
    /// that does not fix the partition key is also a scan.
    pub fn scans(&self) -> Vec<ObservedScan> {
        self.engine().scans()
    }

    /// Asserts that no table or index was scanned in any region, by Scan or by a statement.
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
    /// Panics if there was a scan: the message has the table, the caller, the time, and a Query to use instead. Also
    /// panics if the twin is not watched.
    #[track_caller]
    pub fn assert_no_scans(&self) {
        watch::assert_no_scans(self.is_watched(), &self.scans());
    }

    /// Asserts that every fault rule since the last [`reset`](Twin::reset) has acted, to find tests whose fault never
    /// occurred.
    ///
    /// ```should_panic
    /// use dynatwin::{Rule, Twin, Verdict};
    ///
    /// let twin = Twin::seeded(7);
    /// let _typo = twin.faults().add(Rule::new(Verdict::Reset).table("Sesions"));
    /// twin.assert_faults_fired();
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if a rule has never acted; the message names all such rules.
    #[track_caller]
    pub fn assert_faults_fired(&self) {
        watch::assert_faults_fired(&self.faults().never_fired());
    }

    /// Removes all tables, fault rules and recorded requests. Clock, seed and conditions stay.
    pub fn reset(&self) -> Result<(), ControlFailure> {
        self.engine().reset()
    }

    /// [Resets](Twin::reset) the twin to its initial state, including its clock and conditions. Time goes back to the
    /// clock's start, so no request should run meanwhile.
    ///
    /// ```
    /// use dynatwin::{Conditions, Twin};
    /// use std::time::Duration;
    ///
    /// let twin = Twin::seeded(7);
    /// let start = twin.clock().now();
    /// twin.clock().advance(Duration::from_secs(8 * 86_400));
    /// twin.set_conditions(Conditions::STORM)?;
    /// twin.reset_all()?;
    /// assert_eq!((twin.clock().now(), twin.conditions()), (start, Conditions::CALM));
    /// # Ok::<(), dynatwin::ControlFailure>(())
    /// ```
    pub fn reset_all(&self) -> Result<(), ControlFailure> {
        self.engine().reset_all()?;
        self.emulator().clock.restarted();
        Ok(())
    }

    /// Returns the current state: tables with all their settings and data, conditions, and the clock's moment, for
    /// [`restore`](Twin::restore). The snapshot shares its items with the twin. [`StateSnapshot::to_bytes`] stores it
    /// for another process.
    pub fn snapshot(&self) -> StateSnapshot {
        self.engine().snapshot()
    }

    /// Resets the twin to a snapshot of it, or of another twin. Fault rules and recorded requests are removed, and
    /// random decisions restart. Time may go back, so no request should be running.
    ///
    /// # Errors
    ///
    /// Fails if the snapshot's commits cannot be applied, as those of an engine always can. The twin is unchanged then.
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
    pub fn restore(&self, snapshot: &StateSnapshot) -> Result<(), RestoreError> {
        self.engine().restore(snapshot)?;
        self.emulator().clock.restarted();
        Ok(())
    }

    /// Returns a new twin with the same seed, conditions and state, on its own clock. The twins do not affect each
    /// other, so each test can start from a fork of a template. The fork of a twin with a running clock uses the
    /// system's clock. Fault rules, access control and buckets are not copied.
    ///
    /// # Panics
    ///
    /// Panics if the state cannot be replayed, which is a bug of this crate.
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
        let emulator = self.emulator();
        let clock = if emulator.settable {
            Clock::settable(self.engine().clock().now())
        } else {
            system_clock()
        };
        let forked = self.engine().fork(clock);
        let engine = forked.unwrap_or_else(|error| panic!("cannot fork the twin: {error}"));
        if self.is_watched() {
            engine.watch(true);
        }
        Twin::over(Emulator::new(engine, emulator.sleep_moves_clock))
    }

    fn over(emulator: Emulator) -> Twin {
        Twin(Account::new(emulator, ACCESS_KEY, REGION))
    }

    /// Returns the seed of the twin's random decisions.
    pub fn seed(&self) -> u64 {
        self.engine().seed()
    }

    /// Returns the engine that answers the twin's requests.
    pub fn engine(&self) -> &Engine {
        &self.emulator().engine
    }

    pub(crate) fn shared_engine(&self) -> Arc<Engine> {
        Arc::clone(&self.emulator().engine)
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
            .field("clock", &self.emulator().clock)
            .field("tables", &self.tables())
            .finish_non_exhaustive()
    }
}

fn replay(seed: u64, settable: bool) -> String {
    if settable {
        format!("dynatwin: this twin's seed was {seed}; Twin::seeded({seed}) behaves the same")
    } else {
        format!("dynatwin: this twin's seed was {seed}; DYNATWIN_SEED={seed} makes the same decisions")
    }
}

/// Builds a [`Twin`].
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
    /// Sets the seed of the twin's random decisions. The default is `DYNATWIN_SEED` of the environment, or a random
    /// seed.
    pub fn seed(mut self, seed: u64) -> Builder {
        self.seed = Some(seed);
        self
    }

    /// Sets the conditions; [`Conditions::CALM`] by default.
    pub fn conditions(mut self, conditions: Conditions) -> Builder {
        self.conditions = conditions;
        self
    }

    /// Sets the clock; the system's by default.
    pub fn clock(mut self, clock: Clock) -> Builder {
        self.clock = Some(clock);
        self
    }

    /// Sets whether all access keys and regions share one set of tables.
    pub fn shared_db(mut self, shared: bool) -> Builder {
        self.shared_db = shared;
        self
    }

    /// Sets whether a sleep advances a settable clock, which is the default. If not, sleepers wait until the test
    /// advances the clock.
    pub fn sleep_moves_clock(mut self, moves: bool) -> Builder {
        self.sleep_moves_clock = moves;
        self
    }

    /// Sets the folder that contains a folder for each bucket, for exports and imports. Without it no bucket exists.
    pub fn buckets(mut self, folder: impl Into<PathBuf>) -> Builder {
        self.buckets = Some(folder.into());
        self
    }

    /// Sets whether the twin is [watched](Twin::watch) from the start.
    pub fn watch(mut self, watched: bool) -> Builder {
        self.watched = watched;
        self
    }

    /// Sets the accounts, principals and policies, in JSON or YAML: see [`Twin::set_access`].
    pub fn access(mut self, configuration: &str) -> Builder {
        self.access = Some(configuration.to_owned());
        self
    }

    /// Builds the twin.
    ///
    /// # Panics
    ///
    /// Panics if the [access configuration](Builder::access) is malformed.
    #[track_caller]
    pub fn build(self) -> Twin {
        let clock = self.clock.unwrap_or_else(system_clock);
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
        let engine = match self.buckets {
            Some(folder) => engine.with_object_store(Arc::new(Buckets::at(folder))),
            None => engine,
        };
        if self.watched {
            engine.watch(true);
        }
        Twin::over(Emulator::new(engine, self.sleep_moves_clock))
    }
}

/// Returns the environment's seed, or a random one.
fn default_seed() -> u64 {
    seed_from(std::env::var("DYNATWIN_SEED").ok().as_deref()).unwrap_or_else(|| RandomState::new().hash_one("dynatwin"))
}

/// Returns the seed in `DYNATWIN_SEED`. An invalid one panics instead of being ignored: the run would not repeat the
/// intended one.
fn seed_from(variable: Option<&str>) -> Option<u64> {
    let text = variable.map(str::trim).filter(|text| !text.is_empty())?;
    match text.parse() {
        Ok(seed) => Some(seed),
        Err(error) => panic!("DYNATWIN_SEED is {text:?}, but a seed must be a 64-bit whole number: {error}"),
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
    fn the_environment_sets_the_seed() {
        for (variable, expect) in [
            (None, None),
            (Some(""), None),
            (Some(" \t"), None),
            (Some(" 7\n"), Some(7)),
            (Some("18446744073709551615"), Some(u64::MAX)),
        ] {
            assert_eq!(seed_from(variable), expect, "{variable:?}");
        }
    }

    /// Runs itself in another process, whose environment has a seed.
    #[test]
    fn the_environments_seed_is_only_a_default() {
        const SEEDED: &str = "DYNATWIN_SEEDED_TEST";
        if std::env::var_os(SEEDED).is_some() {
            let twins = [
                Twin::new(),
                Twin::default(),
                Twin::builder().build(),
                Twin::new().fork(),
                Twin::seeded(7),
                Twin::builder().seed(8).build(),
                Twin::seeded(9).fork(),
                Twin::seeded(0),
            ];
            eprintln!("seeds: {:?}", twins.map(|twin| twin.seed()));
            return;
        }
        let run = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "twin::tests::the_environments_seed_is_only_a_default",
                "--nocapture",
            ])
            .env(SEEDED, "1")
            .env("DYNATWIN_SEED", "5")
            .output()
            .unwrap();
        let printed = String::from_utf8(run.stderr).unwrap();
        let seeds = printed.lines().find_map(|line| line.strip_prefix("seeds: "));
        assert_eq!(seeds, Some("[5, 5, 5, 5, 7, 8, 9, 0]"), "{printed}");
    }

    #[test]
    #[should_panic(expected = "DYNATWIN_SEED is \"0x7\"")]
    fn an_invalid_seed_is_refused() {
        seed_from(Some("0x7"));
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
        assert!(kept.emulator().announced.load(Ordering::Relaxed));
        let quiet = Twin::seeded(8);
        drop(quiet.clone());
        assert!(!quiet.emulator().announced.load(Ordering::Relaxed));
    }

    /// Runs itself in another process, where it fails.
    #[test]
    fn a_failing_test_prints_each_seed_once() {
        const FAILS: &str = "DYNATWIN_FAILING_TEST";
        if std::env::var_os(FAILS).is_some() {
            let twin = Twin::seeded(7);
            let _clone = twin.clone();
            drop(Twin::seeded(8));
            panic!("the test fails");
        }
        let run = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "twin::tests::a_failing_test_prints_each_seed_once",
                "--nocapture",
            ])
            .env(FAILS, "1")
            .output()
            .unwrap();
        let printed = String::from_utf8(run.stderr).unwrap();
        let seeds: Vec<_> = printed.lines().filter(|line| line.starts_with("dynatwin: ")).collect();
        assert_eq!((run.status.success(), seeds), (false, vec![&*replay(7, true)]));
    }
}
