//! The tables of one access key and region.

use std::collections::HashMap;

use aws_sdk_dynamodb::config::retry::{RetryConfig, RetryPartition};
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Credentials, IdentityCache, Region, SharedAsyncSleep, SharedHttpClient,
    StalledStreamProtectionConfig,
};
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_dynamodb::{Client, config};
use aws_smithy_async::time::SharedTimeSource;
use dynatwin_engine::capacity::Heat;
use dynatwin_engine::conditions::{Conditions, Lag};
use dynatwin_engine::engine::{Caller, NotFound, ReplicationState};
use dynatwin_engine::journal::{Datapoint, Metric, ObservedScan};
use dynatwin_seed::{Error as SeedError, Existing, Loaded, Seed, load_engine};

use crate::convert;
use crate::table::TableBuilder;
use crate::twin::Twin;
use crate::watch::{self, CapacitySpent, HotKey, Request};

/// The configuration that all clients of an account share. A macro, because the SDK has a separate type for each
/// service's configuration.
macro_rules! configured {
    ($account:expr, $builder:expr) => {{
        let clock = $account.twin.clock();
        let key = $account.caller.access_key.as_str();
        let (credentials, http_client) = match &$account.identity {
            Some((credentials, http_client)) => (credentials.clone(), http_client.clone()),
            None => (
                Credentials::new(key, "dynatwin", None, None, "dynatwin"),
                $account.twin.http_client(),
            ),
        };
        let builder = $builder
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new($account.caller.region.to_string()))
            .credentials_provider(credentials)
            .identity_cache(IdentityCache::no_cache())
            .retry_partition(RetryPartition::custom("dynatwin").build())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .http_client(http_client)
            .sleep_impl(SharedAsyncSleep::new(clock.clone()))
            .time_source(SharedTimeSource::new(clock.clone()));
        if clock.is_settable() {
            builder.retry_config(RetryConfig::standard().with_use_static_exponential_base(true))
        } else {
            builder
        }
    }};
}

/// The tables of one access key and region, and clients for them.
///
/// As in DynamoDB Local, each (access key, region) has its own tables, unless the twin was built with
/// [`shared_db`](crate::Builder::shared_db). An access key of twelve digits is the account id in ARNs.
///
/// ```
/// use dynatwin::Twin;
///
/// let twin = Twin::seeded(7);
/// let frankfurt = twin.region("eu-central-1");
/// let other_account = twin.account("123456789012", "eu-central-1");
/// let client = other_account.client();
/// assert!(frankfurt.tables().is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct Account {
    twin: Twin,
    caller: Caller,
    /// The credentials and HTTP client of a principal of the access configuration.
    identity: Option<(Credentials, SharedHttpClient)>,
}

impl Account {
    pub(crate) fn new(twin: Twin, access_key: &str, region: &str) -> Account {
        Account {
            twin,
            caller: Caller {
                access_key: access_key.into(),
                region: region.into(),
            },
            identity: None,
        }
    }

    /// Returns this account with clients that use these credentials.
    pub(crate) fn calling_as(self, credentials: Credentials, http_client: SharedHttpClient) -> Account {
        Account {
            identity: Some((credentials, http_client)),
            ..self
        }
    }

    /// Returns a client for these tables.
    pub fn client(&self) -> Client {
        Client::from_conf(self.config().build())
    }

    /// Returns the configuration of [`client`](Account::client), to change it before the client is built.
    pub fn config(&self) -> config::Builder {
        configured!(self, config::Builder::new())
    }

    /// Returns a DynamoDB Streams client for the streams of these tables.
    pub fn streams(&self) -> aws_sdk_dynamodbstreams::Client {
        aws_sdk_dynamodbstreams::Client::from_conf(self.streams_config().build())
    }

    /// Returns the configuration of [`streams`](Account::streams), to change it before the client is built.
    pub fn streams_config(&self) -> aws_sdk_dynamodbstreams::config::Builder {
        configured!(self, aws_sdk_dynamodbstreams::config::Builder::new())
    }

    /// Splits each open shard of a table's stream in two, as DynamoDB does for hot or full partitions, to test that
    /// consumers follow the children. Returns whether the table has a stream.
    pub fn split_shards(&self, table: &str) -> bool {
        self.twin.engine().split_shards(&self.caller, table)
    }

    /// Creates the tables and writes the items of a file in this account and region. See [`Twin::load`].
    pub fn load(&self, file: &str) -> Result<Loaded, SeedError> {
        load_engine(self.twin.engine(), &self.caller, Seed::read(file)?, Existing::Refuse)
    }

    /// Returns a builder for a table in this account and region. See [`TableBuilder`].
    pub fn table(&self, name: &str) -> TableBuilder {
        TableBuilder::new(self.client(), name)
    }

    /// Returns the names of the tables.
    pub fn tables(&self) -> Vec<String> {
        self.twin.engine().tables(&self.caller)
    }

    /// Returns all current items of a table in Scan order, or `None` if the table does not exist. It consumes no
    /// capacity, matches no fault rule, and is never stale.
    pub fn items(&self, table: &str) -> Option<Vec<HashMap<String, AttributeValue>>> {
        let items = self.twin.engine().items(&self.caller, table)?;
        Some(items.iter().map(convert::item).collect())
    }

    /// Returns the current item with this key.
    pub fn item<'a>(
        &self,
        table: &str,
        key: impl IntoIterator<Item = (&'a str, AttributeValue)>,
    ) -> Option<HashMap<String, AttributeValue>> {
        let key: Vec<_> = key.into_iter().collect();
        let items = self.twin.engine().items(&self.caller, table)?;
        let found = items.iter().find(|item| {
            key.iter()
                .all(|(name, asked)| item.get(name).is_some_and(|stored| convert::same_key(&stored, asked)))
        })?;
        Some(convert::item(found))
    }

    /// Pauses a global index of a table: no write reaches it until [`resume_index`](Account::resume_index).
    pub fn pause_index(&self, table: &str, index: &str) -> Result<(), NotFound> {
        self.twin.engine().pause_index(&self.caller, table, index)
    }

    /// Resumes a paused index and applies the writes that are due.
    pub fn resume_index(&self, table: &str, index: &str) -> Result<(), NotFound> {
        self.twin.engine().resume_index(&self.caller, table, index)
    }

    /// Sets the time until later writes reach one global index; with `None` the table's conditions apply again.
    pub fn set_index_lag(&self, table: &str, index: &str, lag: impl Into<Option<Lag>>) -> Result<(), NotFound> {
        let engine = self.twin.engine();
        engine.set_index_lag(&self.caller, table, index, lag.into())
    }

    /// Pauses replication between a table and its replica in a region, or all of its replicas: see
    /// [`Twin::pause_replication`](crate::Twin::pause_replication).
    pub fn pause_replication(&self, table: &str, region: Option<&str>) -> Result<(), NotFound> {
        self.twin.engine().pause_replication(&self.caller, table, region)
    }

    /// Lets a table and its replica in a region, or all of its replicas, exchange what they have missed.
    pub fn resume_replication(&self, table: &str, region: Option<&str>) -> Result<(), NotFound> {
        self.twin.engine().resume_replication(&self.caller, table, region)
    }

    /// Sets how long writes of a table take to reach its replica in a region; `None` lets them follow its conditions again.
    pub fn set_replication_lag(&self, table: &str, region: &str, lag: impl Into<Option<Lag>>) -> Result<(), NotFound> {
        let engine = self.twin.engine();
        engine.set_replication_lag(&self.caller, table, region, lag.into())
    }

    /// Replication between a table and each of its replicas.
    pub fn replication(&self, table: &str) -> Result<Vec<ReplicationState>, NotFound> {
        self.twin.engine().replication(&self.caller, table)
    }

    /// Deletes all expired items of a table now instead of after the TTL delay, and returns their number.
    pub fn expire_now(&self, table: &str) -> Result<u64, NotFound> {
        self.twin.engine().expire_now(&self.caller, table)
    }

    /// Returns the capacity that a table's partitions have consumed: see [`Twin::heat`](crate::Twin::heat).
    pub fn heat(&self, table: &str) -> Option<Heat> {
        self.twin.engine().heat(&self.caller, table)
    }

    /// Starts or stops recording heat: see [`Twin::watch_heat`](crate::Twin::watch_heat).
    pub fn watch_heat(&self, table: &str, watches: bool) -> bool {
        self.twin.engine().watch_heat(&self.caller, table, watches)
    }

    /// Returns the latest requests by this access key in this region, oldest first: see
    /// [`Twin::requests`](crate::Twin::requests).
    pub fn requests(&self) -> Vec<Request> {
        let requests = self.twin.engine().requests();
        let own = requests.iter().filter(|request| request.caller == self.caller);
        own.map(|request| Request::of(request)).collect()
    }

    /// Returns the scans by this access key in this region: see [`Twin::scans`](crate::Twin::scans).
    pub fn scans(&self) -> Vec<ObservedScan> {
        let scans = self.twin.engine().scans();
        scans.into_iter().filter(|scan| scan.caller == self.caller).collect()
    }

    /// Asserts that this access key has scanned nothing in this region: see
    /// [`Twin::assert_no_scans`](crate::Twin::assert_no_scans).
    ///
    /// # Panics
    ///
    /// Panics if there was a scan, or if the twin is not watched.
    #[track_caller]
    pub fn assert_no_scans(&self) {
        watch::assert_no_scans(self.twin.is_watched(), &self.scans());
    }

    /// Returns the counters and gauges of these tables: see [`Twin::metrics`](crate::Twin::metrics).
    pub fn metrics(&self) -> Vec<Metric> {
        self.twin.engine().metrics(&self.caller)
    }

    /// Returns the counters of these tables by the minute: see
    /// [`Twin::metrics_by_minute`](crate::Twin::metrics_by_minute).
    pub fn metrics_by_minute(&self) -> Vec<Datapoint> {
        self.twin.engine().metrics_by_minute(&self.caller)
    }

    /// Returns one metric: see [`Twin::metric`](crate::Twin::metric).
    pub fn metric<'d>(&self, name: &str, dimensions: impl IntoIterator<Item = (&'d str, &'d str)>) -> f64 {
        let dimensions: Vec<_> = dimensions.into_iter().collect();
        let of_these = |metric: &&Metric| {
            let mut all = dimensions.iter();
            metric.name == name
                && metric.dimensions.len() == dimensions.len()
                && all.all(|(dimension, value)| metric.dimension(dimension) == Some(*value))
        };
        self.metrics().iter().find(of_these).map_or(0.0, |metric| metric.value)
    }

    /// Returns the capacity that these tables consume while `block` runs: see
    /// [`Twin::capacity_spent`](crate::Twin::capacity_spent).
    pub fn capacity_spent<T>(&self, block: impl FnOnce() -> T) -> (T, CapacitySpent) {
        let (result, spent) = self.twin.engine().spent_by(&self.caller, block);
        (result, CapacitySpent::of(spent))
    }

    /// Returns the capacity that these tables consume while `block` runs: see
    /// [`Twin::capacity_spent_by`](crate::Twin::capacity_spent_by).
    pub async fn capacity_spent_by<T>(&self, block: impl IntoFuture<Output = T>) -> (T, CapacitySpent) {
        let meter = self.twin.engine().meter(&self.caller);
        let result = block.await;
        (result, CapacitySpent::of(meter.spent()))
    }

    /// Returns the partition keys of a table with the highest cost: see
    /// [`Twin::hottest_keys`](crate::Twin::hottest_keys).
    pub fn hottest_keys(&self, table: &str, most: usize) -> Vec<HotKey> {
        let keys = self.heat(table).unwrap_or_default().keys;
        let hot = keys.iter().take(most).map(|(key, units)| HotKey {
            key: convert::value(key),
            units: units.as_f64(),
        });
        hot.collect()
    }

    /// Sets the conditions of one table, which need not exist yet; with `None` the twin's conditions apply again.
    pub fn set_table_conditions(&self, table: &str, conditions: impl Into<Option<Conditions>>) {
        let engine = self.twin.engine();
        engine.set_table_conditions(&self.caller, table, conditions.into());
    }
}
