//! The tables of one access key and region.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use aws_sdk_dynamodb::config::retry::{RetryConfig, RetryPartition};
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Credentials, IdentityCache, Region, SharedAsyncSleep, SharedHttpClient,
    StalledStreamProtectionConfig,
};
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_dynamodb::{Client, config};
use aws_smithy_async::time::SharedTimeSource;
use dynatwin_engine::controls::AccountControls;
use dynatwin_engine::monitoring::{Datapoint, Metric, ObservedScan};
use dynatwin_engine::{Caller, Engine};
use dynatwin_seed::{Error as SeedError, Existing, Loaded, Seed, load_engine};

use crate::convert;
use crate::table::TableBuilder;
use crate::twin::Emulator;
use crate::watch::{self, CapacitySpent, HotKey, Request};

/// The configuration that all clients of an account share. A macro, because the SDK has a separate type for each
/// service's configuration.
macro_rules! configured {
    ($account:expr, $builder:expr) => {{
        let clock = $account.emulator.clock.clone();
        let key = $account.caller().access_key.as_str();
        let (credentials, http_client) = match &$account.identity {
            Some((credentials, http_client)) => (credentials.clone(), http_client.clone()),
            None => (
                Credentials::new(key, "dynatwin", None, None, "dynatwin"),
                $account.emulator.http_client(),
            ),
        };
        let builder = $builder
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new($account.caller().region.to_string()))
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
///
/// An account dereferences to the [`AccountControls`] of its tables, such as [`pause_index`](AccountControls::pause_index):
///
/// ```
/// use dynatwin::Twin;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let twin = Twin::seeded(7);
/// twin.table("Orders").hash("id").global_index("by-date", "date").create().await?;
/// twin.pause_index("Orders", "by-date")?;
/// assert!(twin.pause_index("Orders", "by-name").is_err());
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Account {
    emulator: Emulator,
    controls: AccountControls<Arc<Engine>>,
    /// The credentials and HTTP client of a principal of the access configuration.
    identity: Option<(Credentials, SharedHttpClient)>,
}

impl Deref for Account {
    type Target = AccountControls<Arc<Engine>>;

    fn deref(&self) -> &AccountControls<Arc<Engine>> {
        &self.controls
    }
}

impl Account {
    pub(crate) fn emulator(&self) -> &Emulator {
        &self.emulator
    }

    pub(crate) fn new(emulator: Emulator, access_key: &str, region: &str) -> Account {
        let caller = Caller {
            access_key: access_key.into(),
            region: region.into(),
        };
        Account {
            controls: AccountControls::new(Arc::clone(&emulator.engine), caller),
            emulator,
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

    /// Returns a client for this account's access key and region.
    pub fn client(&self) -> Client {
        Client::from_conf(self.config().build())
    }

    /// Returns the configuration of [`client`](Account::client), to change it before the client is built.
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
        configured!(self, config::Builder::new())
    }

    /// Returns a DynamoDB Streams client for this account's access key and region.
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
        aws_sdk_dynamodbstreams::Client::from_conf(self.streams_config().build())
    }

    /// Returns the configuration of [`streams`](Account::streams), to change it before the client is built.
    pub fn streams_config(&self) -> aws_sdk_dynamodbstreams::config::Builder {
        configured!(self, aws_sdk_dynamodbstreams::config::Builder::new())
    }

    /// Creates the tables and writes the items of a file, at once whatever the conditions are. Meanwhile requests to these tables are
    /// neither throttled nor delayed; expired items are deleted as the conditions define.
    ///
    /// The file is JSON, YAML, CSV, a CloudFormation, SAM or Terraform document, a NoSQL Workbench model, a jest-dynamodb
    /// configuration, or a directory with an export; `TABLE=FILE` names the table of a file that only has items.
    ///
    /// # Errors
    ///
    /// Returns an error with file and line for an unknown member of the file, or one that the service refuses.
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
        load_engine(
            &self.emulator.engine,
            self.caller(),
            Seed::read(file)?,
            Existing::Refuse,
        )
    }

    /// Returns a builder for a table of this account. See [`TableBuilder`].
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
        TableBuilder::new(self.client(), name)
    }

    /// Returns the names of the tables.
    pub fn tables(&self) -> Vec<String> {
        self.emulator.engine.tables(self.caller())
    }

    /// Returns all current items of a table in Scan order, or `None` if the table does not exist. It consumes no
    /// capacity, matches no fault rule, and is never stale.
    pub fn items(&self, table: &str) -> Option<Vec<HashMap<String, AttributeValue>>> {
        let items = self.emulator.engine.items(self.caller(), table)?;
        Some(items.iter().map(convert::item).collect())
    }

    /// Returns the current item with this key.
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
        let key: Vec<_> = key.into_iter().collect();
        let items = self.emulator.engine.items(self.caller(), table)?;
        let found = items.iter().find(|item| {
            key.iter().all(|(name, requested)| {
                item.get(name)
                    .is_some_and(|stored| convert::same_key(&stored, requested))
            })
        })?;
        Some(convert::item(found))
    }

    /// Returns the latest requests by this access key in this region, oldest first: see
    /// [`Twin::requests`](crate::Twin::requests).
    pub fn requests(&self) -> Vec<Request> {
        let requests = self.emulator.engine.requests();
        let own = requests.iter().filter(|request| request.caller == *self.caller());
        own.map(|request| Request::of(request)).collect()
    }

    /// Returns the scans by this access key in this region: see [`Twin::scans`](crate::Twin::scans).
    pub fn scans(&self) -> Vec<ObservedScan> {
        let scans = self.emulator.engine.scans();
        scans.into_iter().filter(|scan| scan.caller == *self.caller()).collect()
    }

    /// Asserts that this access key has scanned nothing in this region: see
    /// [`Twin::assert_no_scans`](crate::Twin::assert_no_scans).
    ///
    /// # Panics
    ///
    /// Panics if there was a scan, or if the twin is not watched.
    #[track_caller]
    pub fn assert_no_scans(&self) {
        watch::assert_no_scans(self.emulator.engine.is_watched(), &self.scans());
    }

    /// Returns the counters and gauges of these tables, with CloudWatch's names and dimensions.
    /// Counters are sums over the time in which the twin was [watched](crate::Twin::watch); zeros are omitted.
    /// `TimeToLiveDeletedItemCount` and the gauges of capacity are always included.
    pub fn metrics(&self) -> Vec<Metric> {
        self.emulator.engine.metrics(self.caller())
    }

    /// Returns the counters of these tables by the minute of the twin's clock, oldest first, as an
    /// alarm's condition evaluates them. The last 1,440 minutes with activity while the twin was watched are kept.
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
        self.emulator.engine.metrics_by_minute(self.caller())
    }

    /// Returns the metric with exactly these dimensions, or 0 if there is none.
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
        let dimensions: Vec<_> = dimensions.into_iter().collect();
        let of_these = |metric: &&Metric| {
            let mut all = dimensions.iter();
            metric.name == name
                && metric.dimensions.len() == dimensions.len()
                && all.all(|(dimension, value)| metric.dimension(dimension) == Some(*value))
        };
        self.metrics().iter().find(of_these).map_or(0.0, |metric| metric.value)
    }

    /// Returns the capacity that these tables consume while `block` runs, including that of concurrent requests. For
    /// blocking code; [`capacity_spent_by`](Account::capacity_spent_by) is for async code. The twin need not be watched.
    ///
    /// ```
    /// use dynatwin::Twin;
    ///
    /// let twin = Twin::seeded(7);
    /// let (answer, spent) = twin.capacity_spent(|| 42);
    /// assert_eq!((answer, spent.to_string().as_str()), (42, "nothing"));
    /// ```
    pub fn capacity_spent<T>(&self, block: impl FnOnce() -> T) -> (T, CapacitySpent) {
        let (result, spent) = self.emulator.engine.spent_by(self.caller(), block);
        (result, CapacitySpent::of(spent))
    }

    /// Returns the capacity that these tables consume until `block` is done, including that of concurrent requests.
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
        let meter = self.emulator.engine.meter(self.caller());
        let result = block.await;
        (result, CapacitySpent::of(meter.spent()))
    }

    /// Returns the partition keys of a table with the highest cost, in descending order, recorded while the twin is
    /// [watched](crate::Twin::watch). The cost of keys beyond the hundred hottest is approximate.
    pub fn hottest_keys(&self, table: &str, most: usize) -> Vec<HotKey> {
        let keys = self.heat(table).unwrap_or_default().keys;
        let hot = keys.iter().take(most).map(|(key, units)| HotKey {
            key: convert::value(key),
            units: units.as_f64(),
        });
        hot.collect()
    }
}
