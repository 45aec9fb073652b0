//! The context of a scenario: a client, unique table names, and the clock if the target has a settable one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, CreateReplicationGroupMemberAction, GlobalSecondaryIndex, KeySchemaElement,
    KeyType, Projection, ProjectionType, ReplicaStatus, ReplicationGroupUpdate, ScalarAttributeType,
    StreamSpecification, StreamViewType, TableDescription, TableStatus, TimeToLiveSpecification, TimeToLiveStatus,
};
use dynatwin::{Faults, Lag, TimeToLive, TwinClock};

use crate::check::{Failure, Outcome};
use crate::target::Session;

/// How often a scenario checks whether its table is `ACTIVE` and its time to live `ENABLED`.
const PATIENCE: u32 = 1200;

/// The definition of a scenario's table: on demand, with string keys.
///
/// ```
/// use dynatwin_conformance::context::Table;
///
/// let table = Table::new("orders").keys("PK", "SK").time_to_live("expiresAt").index("gsi1", "gsi1pk", "gsi1sk");
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    name: &'static str,
    keys: (&'static str, Option<&'static str>),
    time_to_live: Option<&'static str>,
    indexes: Vec<(&'static str, &'static str, &'static str)>,
    streams: bool,
}

impl Table {
    /// Creates a definition with the partition key `pk`; `name` becomes a part of its name.
    pub fn new(name: &'static str) -> Table {
        Table {
            name,
            keys: ("pk", None),
            time_to_live: None,
            indexes: Vec::new(),
            streams: false,
        }
    }

    /// Sets the partition key, without a sort key.
    pub fn key(mut self, partition: &'static str) -> Table {
        self.keys = (partition, None);
        self
    }

    /// Sets the partition key and sort key.
    pub fn keys(mut self, partition: &'static str, sort: &'static str) -> Table {
        self.keys = (partition, Some(sort));
        self
    }

    /// Enables time to live on this attribute.
    pub fn time_to_live(mut self, attribute: &'static str) -> Table {
        self.time_to_live = Some(attribute);
        self
    }

    /// Adds a global index with these keys, which projects all attributes.
    pub fn index(mut self, name: &'static str, partition: &'static str, sort: &'static str) -> Table {
        self.indexes.push((name, partition, sort));
        self
    }

    /// Adds a stream of old and new images.
    pub fn stream(mut self) -> Table {
        self.streams = true;
        self
    }

    fn attributes(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = [Some(self.keys.0), self.keys.1].into_iter().flatten().collect();
        names.extend(self.indexes.iter().flat_map(|(_, partition, sort)| [*partition, *sort]));
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The context of a scenario.
#[derive(Debug)]
pub struct Context {
    session: Session,
    prefix: String,
    made: Mutex<Vec<(Client, String)>>,
}

impl Context {
    /// Creates a context for one scenario on one target.
    pub fn new(session: Session) -> Context {
        static ORDINAL: AtomicU64 = AtomicU64::new(0);
        let ordinal = ORDINAL.fetch_add(1, Ordering::Relaxed);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let start = &session.table_prefix;
        let prefix = format!("{start}{:x}-{:x}-{ordinal}", std::process::id(), since.as_millis());
        Context {
            session,
            prefix,
            made: Mutex::default(),
        }
    }

    /// The SDK's client for tables and items.
    pub fn client(&self) -> &Client {
        &self.session.client
    }

    /// The SDK's client for streams.
    pub fn streams(&self) -> &aws_sdk_dynamodbstreams::Client {
        &self.session.streams
    }

    /// Splits the shards of a table's stream, if the target has that control.
    pub fn split_shards(&self, table: &str) -> Outcome {
        if let Some(twin) = &self.session.twin {
            twin.split_shards(table)?;
        }
        Ok(())
    }

    /// Pauses a global index, if the target has that control; returns whether it has.
    pub fn pause_index(&self, table: &str, index: &str) -> Outcome<bool> {
        let Some(twin) = &self.session.twin else {
            return Ok(false);
        };
        twin.pause_index(table, index)?;
        Ok(true)
    }

    /// Resumes an index that `pause_index` paused.
    pub fn resume_index(&self, table: &str, index: &str) -> Outcome {
        let Some(twin) = &self.session.twin else { return Ok(()) };
        Ok(twin.resume_index(table, index)?)
    }

    /// Adds a replica of a table in another region and waits until it is `ACTIVE`; returns a client of that region, if the
    /// target is known to have global tables.
    pub async fn replica(&self, table: &str, region: &str) -> Outcome<Option<Client>> {
        let Some(twin) = &self.session.twin else {
            return Ok(None);
        };
        let create = CreateReplicationGroupMemberAction::builder()
            .region_name(region)
            .build()?;
        let update = ReplicationGroupUpdate::builder().create(create).build();
        let request = self.client().update_table().table_name(table);
        request.replica_updates(update).send().await?;
        let there = twin.region(region).client();
        self.remember(&there, table);
        for _ in 0..PATIENCE {
            let described = self.client().describe_table().table_name(table).send().await?;
            let replicas = described.table().map(TableDescription::replicas).unwrap_or_default();
            if replicas
                .iter()
                .any(|replica| replica.replica_status() == Some(&ReplicaStatus::Active))
            {
                return Ok(Some(there));
            }
            // It can take an hour.
            self.sleep(Duration::from_secs(5)).await;
        }
        Err(Failure::new(format!("the replica of {table} does not become ACTIVE")))
    }

    /// Pauses replication between the regions of a table, if it has replicas.
    pub fn pause_replication(&self, table: &str) -> Outcome {
        let Some(twin) = &self.session.twin else { return Ok(()) };
        Ok(twin.pause_replication(table, None)?)
    }

    /// Resumes replication to and from every other region.
    pub fn resume_replication(&self, table: &str) -> Outcome {
        let Some(twin) = &self.session.twin else { return Ok(()) };
        Ok(twin.resume_replication(table, None)?)
    }

    /// Sleeps until all writes have reached every region.
    pub async fn replicate(&self) {
        let conditions = self.session.twin.as_ref().map(dynatwin::Twin::conditions);
        let lag = conditions.map_or(Duration::ZERO, |conditions| conditions.replication_lag.longest());
        if !lag.is_zero() {
            self.sleep(lag).await;
        }
    }

    /// Returns the target's clock, if the scenario may advance it.
    pub fn clock(&self) -> Option<TwinClock> {
        self.session.twin.as_ref().map(dynatwin::Twin::clock)
    }

    /// Returns the target's fault rules, if it has them.
    pub fn faults(&self) -> Option<Faults> {
        self.session.twin.as_ref().map(dynatwin::Twin::faults)
    }

    /// Returns the target's time in seconds since the epoch.
    pub fn now(&self) -> i64 {
        let time = match self.clock() {
            Some(clock) => clock.system_time(),
            None => SystemTime::now(),
        };
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    }

    /// Returns whether the target is known to delete expired items at once.
    pub fn deletes_at_once(&self) -> bool {
        let conditions = self.session.twin.as_ref().map(dynatwin::Twin::conditions);
        conditions.is_some_and(|conditions| conditions.time_to_live == TimeToLive::Deletes(Lag::None))
    }

    /// Sleeps until an eventually consistent read observes earlier writes, if the target is known to lag.
    pub async fn settle(&self) {
        let conditions = self.session.twin.as_ref().map(dynatwin::Twin::conditions);
        let staleness = conditions.map_or(Duration::ZERO, |conditions| conditions.read_staleness.longest());
        if !staleness.is_zero() {
            self.sleep(staleness).await;
        }
    }

    /// Sleeps on the target's clock.
    pub async fn sleep(&self, duration: Duration) {
        match self.clock() {
            Some(clock) => clock.sleep(duration).await,
            None => tokio::time::sleep(duration).await,
        }
    }

    /// Creates a table with a unique name and waits until it is `ACTIVE`; returns its name.
    pub async fn create(&self, table: Table) -> Outcome<String> {
        let name = format!("{}-{}", self.prefix, table.name);
        let mut request = self
            .client()
            .create_table()
            .table_name(&name)
            .billing_mode(BillingMode::PayPerRequest)
            .set_key_schema(Some(key_schema(table.keys.0, table.keys.1)?));
        for attribute in table.attributes() {
            let definition = AttributeDefinition::builder()
                .attribute_name(attribute)
                .attribute_type(ScalarAttributeType::S);
            request = request.attribute_definitions(definition.build()?);
        }
        for (index, partition, sort) in &table.indexes {
            let index = GlobalSecondaryIndex::builder()
                .index_name(*index)
                .set_key_schema(Some(key_schema(partition, Some(sort))?))
                .projection(Projection::builder().projection_type(ProjectionType::All).build());
            request = request.global_secondary_indexes(index.build()?);
        }
        if table.streams {
            let images = StreamSpecification::builder()
                .stream_enabled(true)
                .stream_view_type(StreamViewType::NewAndOldImages);
            request = request.stream_specification(images.build()?);
        }
        request.send().await?;
        self.remember(self.client(), &name);
        self.wait_until_active(&name).await?;
        if let Some(attribute) = table.time_to_live {
            self.enable_time_to_live(&name, attribute).await?;
        }
        Ok(name)
    }

    fn remember(&self, client: &Client, table: &str) {
        let mut made = self.made.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        made.push((client.clone(), table.to_owned()));
    }

    async fn wait_until_active(&self, table: &str) -> Outcome {
        for _ in 0..PATIENCE {
            let described = self.client().describe_table().table_name(table).send().await?;
            if described.table().and_then(|table| table.table_status()) == Some(&TableStatus::Active) {
                return Ok(());
            }
            self.sleep(Duration::from_millis(500)).await;
        }
        Err(Failure::new(format!("table {table} does not become ACTIVE")))
    }

    async fn enable_time_to_live(&self, table: &str, attribute: &str) -> Outcome {
        let specification = TimeToLiveSpecification::builder()
            .enabled(true)
            .attribute_name(attribute)
            .build()?;
        self.client()
            .update_time_to_live()
            .table_name(table)
            .time_to_live_specification(specification)
            .send()
            .await?;
        for _ in 0..PATIENCE {
            let described = self.client().describe_time_to_live().table_name(table).send().await?;
            let description = described.time_to_live_description();
            if description.and_then(|ttl| ttl.time_to_live_status()) == Some(&TimeToLiveStatus::Enabled) {
                return Ok(());
            }
            self.sleep(Duration::from_millis(500)).await;
        }
        Err(Failure::new(format!("time to live of {table} does not become ENABLED")))
    }

    /// Deletes the tables that were created here, and no others.
    pub async fn clean_up(&self) {
        let made = {
            let mut made = self.made.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            std::mem::take(&mut *made)
        };
        for (client, table) in made.into_iter().rev() {
            // The result of a scenario does not depend on the deletion of its tables.
            let _ = client.delete_table().table_name(table).send().await;
        }
    }
}

fn key_schema(partition: &str, sort: Option<&str>) -> Outcome<Vec<KeySchemaElement>> {
    let partition = Some((partition, KeyType::Hash));
    let sort = sort.map(|sort| (sort, KeyType::Range));
    let keys = [partition, sort].into_iter().flatten();
    keys.map(|(name, role)| {
        let key = KeySchemaElement::builder().attribute_name(name).key_type(role);
        Ok(key.build()?)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{InProcess, Preset, Target};

    /// Also where tables and their replicas are created late.
    #[tokio::test]
    async fn tables_and_replicas_are_active_when_they_are_returned() {
        let context = Context::new(InProcess::new(Preset::Aws, 7).session());
        let definition = Table::new("t").time_to_live("expires").stream();
        let table = context.create(definition).await.unwrap();
        let replica = context.replica(&table, "eu-west-1").await.unwrap().unwrap();
        let described = context
            .client()
            .describe_table()
            .table_name(&table)
            .send()
            .await
            .unwrap();
        let described = described.table.unwrap();
        let statuses: Vec<_> = described
            .replicas()
            .iter()
            .map(|replica| replica.replica_status())
            .collect();
        assert_eq!(statuses, [Some(&ReplicaStatus::Active)]);
        let there = replica
            .describe_table()
            .table_name(&table)
            .send()
            .await
            .unwrap()
            .table
            .unwrap();
        for table in [&described, &there] {
            assert_eq!(table.table_status(), Some(&TableStatus::Active));
        }
    }

    #[test]
    fn each_attribute_is_defined_once() {
        let table = Table::new("t")
            .keys("pk", "sk")
            .index("one", "pk", "at")
            .index("two", "at", "sk");
        assert_eq!(table.attributes(), ["at", "pk", "sk"]);
    }
}
