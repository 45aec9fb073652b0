//! Builders of tables for tests.

use std::time::Duration;

use aws_sdk_dynamodb::config::AsyncSleep;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::create_table::builders::CreateTableFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, LocalSecondaryIndex, Projection,
    ProjectionType, ProvisionedThroughput, ScalarAttributeType, StreamSpecification, StreamViewType, TableDescription,
    TableStatus, TimeToLiveSpecification,
};
use aws_sdk_dynamodb::{Client, Error};

/// The interval at which a table that is `CREATING` is described.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A key attribute: its name and type. A name alone is a string attribute.
///
/// ```
/// use aws_sdk_dynamodb::types::ScalarAttributeType;
/// use dynatwin::KeyAttribute;
///
/// assert_eq!(KeyAttribute::from("id"), KeyAttribute::from(("id", ScalarAttributeType::S)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyAttribute {
    name: String,
    attribute_type: ScalarAttributeType,
}

impl From<&str> for KeyAttribute {
    fn from(name: &str) -> KeyAttribute {
        (name, ScalarAttributeType::S).into()
    }
}

impl From<(&str, ScalarAttributeType)> for KeyAttribute {
    fn from((name, attribute_type): (&str, ScalarAttributeType)) -> KeyAttribute {
        KeyAttribute {
            name: name.to_owned(),
            attribute_type,
        }
    }
}

/// A builder that creates a table, from [`Twin::table`](crate::Account::table) or
/// [`Account::table`](crate::Account::table).
///
/// Creating it sends CreateTable, waits until the table is `ACTIVE`, and sends UpdateTimeToLive if a TTL attribute is set. Its
/// billing mode is on-demand unless [`throughput`](TableBuilder::throughput) is set.
///
/// ```
/// use aws_sdk_dynamodb::types::ScalarAttributeType;
/// use dynatwin::Twin;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let twin = Twin::seeded(7);
/// let table = twin
///     .table("Orders")
///     .hash("customer")
///     .range(("placedAt", ScalarAttributeType::N))
///     .sorted_global_index("by-status", "status", "customer")
///     .ttl("expiresAt")
///     .create()
///     .await?;
/// assert_eq!(table.global_secondary_indexes().len(), 1);
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Debug)]
#[must_use = "a table exists once `create` is awaited"]
pub struct TableBuilder {
    client: Client,
    name: String,
    keys: Keys,
    global: Vec<(String, Keys)>,
    local: Vec<(String, KeyAttribute)>,
    ttl: Option<String>,
    stream: Option<StreamViewType>,
    throughput: Option<(i64, i64)>,
}

#[derive(Clone, Debug, Default)]
struct Keys {
    hash: Option<KeyAttribute>,
    range: Option<KeyAttribute>,
}

impl Keys {
    fn attributes(&self) -> impl Iterator<Item = &KeyAttribute> {
        self.hash.iter().chain(&self.range)
    }

    fn schema(&self) -> Result<Vec<KeySchemaElement>, BuildError> {
        let hash = self.hash.iter().map(|attribute| (attribute, KeyType::Hash));
        let range = self.range.iter().map(|attribute| (attribute, KeyType::Range));
        let element = |(attribute, key_type): (&KeyAttribute, KeyType)| {
            let element = KeySchemaElement::builder()
                .attribute_name(&attribute.name)
                .key_type(key_type);
            element.build()
        };
        hash.chain(range).map(element).collect()
    }
}

impl TableBuilder {
    pub(crate) fn new(client: Client, name: &str) -> TableBuilder {
        TableBuilder {
            client,
            name: name.to_owned(),
            keys: Keys::default(),
            global: Vec::new(),
            local: Vec::new(),
            ttl: None,
            stream: None,
            throughput: None,
        }
    }

    /// Sets the partition key: a name for a string attribute, or a name with its type.
    pub fn hash(mut self, attribute: impl Into<KeyAttribute>) -> TableBuilder {
        self.keys.hash = Some(attribute.into());
        self
    }

    /// Sets the sort key: a name for a string attribute, or a name with its type.
    pub fn range(mut self, attribute: impl Into<KeyAttribute>) -> TableBuilder {
        self.keys.range = Some(attribute.into());
        self
    }

    /// Adds a global secondary index with a partition key alone, which projects all attributes.
    pub fn global_index(mut self, name: &str, hash: impl Into<KeyAttribute>) -> TableBuilder {
        let keys = Keys {
            hash: Some(hash.into()),
            range: None,
        };
        self.global.push((name.to_owned(), keys));
        self
    }

    /// Adds a global secondary index with a partition key and a sort key, which projects all attributes.
    pub fn sorted_global_index(
        mut self,
        name: &str,
        hash: impl Into<KeyAttribute>,
        range: impl Into<KeyAttribute>,
    ) -> TableBuilder {
        let keys = Keys {
            hash: Some(hash.into()),
            range: Some(range.into()),
        };
        self.global.push((name.to_owned(), keys));
        self
    }

    /// Adds a local secondary index that projects all attributes.
    pub fn local_index(mut self, name: &str, range: impl Into<KeyAttribute>) -> TableBuilder {
        self.local.push((name.to_owned(), range.into()));
        self
    }

    /// Sets the attribute that holds an item's expiry, in epoch seconds.
    pub fn ttl(mut self, attribute: &str) -> TableBuilder {
        self.ttl = Some(attribute.to_owned());
        self
    }

    /// Turns the table's stream on.
    pub fn stream(mut self, view: StreamViewType) -> TableBuilder {
        self.stream = Some(view);
        self
    }

    /// Sets provisioned throughput, in read and write capacity units per second, for the table and each global index.
    pub fn throughput(mut self, read: i64, write: i64) -> TableBuilder {
        self.throughput = Some((read, write));
        self
    }

    /// Creates the table and returns the description of DescribeTable.
    ///
    /// # Errors
    ///
    /// The service's errors of CreateTable, DescribeTable and UpdateTimeToLive. A definition that the SDK cannot build, such
    /// as one without a partition key, is CreateTable's ValidationException.
    #[allow(clippy::result_large_err)] // the SDK's own error type
    pub async fn create(self) -> Result<TableDescription, Error> {
        self.request()?.send().await?;
        let mut table = self.describe().await?;
        while table.table_status() != Some(&TableStatus::Active) {
            // Uses the emulator's clock, so a settable one advances.
            if let Some(sleep) = self.client.config().sleep_impl() {
                sleep.sleep(POLL_INTERVAL).await;
            }
            table = self.describe().await?;
        }
        if let Some(attribute) = &self.ttl {
            let specification = TimeToLiveSpecification::builder()
                .enabled(true)
                .attribute_name(attribute);
            let request = self.client.update_time_to_live().table_name(&self.name);
            request
                .time_to_live_specification(specification.build()?)
                .send()
                .await?;
        }
        Ok(table)
    }

    #[allow(clippy::result_large_err)]
    async fn describe(&self) -> Result<TableDescription, Error> {
        let answer = self.client.describe_table().table_name(&self.name).send().await?;
        Ok(answer.table.unwrap_or_else(|| TableDescription::builder().build()))
    }

    fn request(&self) -> Result<CreateTableFluentBuilder, BuildError> {
        let billing_mode = match self.throughput {
            Some(_) => BillingMode::Provisioned,
            None => BillingMode::PayPerRequest,
        };
        let stream = self.stream.clone().map(|view| {
            let specification = StreamSpecification::builder().stream_enabled(true);
            specification.stream_view_type(view).build()
        });
        let request = self
            .client
            .create_table()
            .table_name(&self.name)
            .billing_mode(billing_mode)
            .set_key_schema(Some(self.keys.schema()?))
            .set_attribute_definitions(Some(self.definitions()?))
            .set_provisioned_throughput(self.provisioned()?)
            .set_stream_specification(stream.transpose()?);
        let request = self.global.iter().try_fold(request, |request, (name, keys)| {
            let index = GlobalSecondaryIndex::builder()
                .index_name(name)
                .set_key_schema(Some(keys.schema()?))
                .set_provisioned_throughput(self.provisioned()?)
                .projection(all());
            Ok::<_, BuildError>(request.global_secondary_indexes(index.build()?))
        })?;
        self.local.iter().try_fold(request, |request, (name, range)| {
            let keys = Keys {
                hash: self.keys.hash.clone(),
                range: Some(range.clone()),
            };
            let index = LocalSecondaryIndex::builder().index_name(name).projection(all());
            Ok(request.local_secondary_indexes(index.set_key_schema(Some(keys.schema()?)).build()?))
        })
    }

    /// Returns each key attribute once, in the order of first use.
    fn definitions(&self) -> Result<Vec<AttributeDefinition>, BuildError> {
        let of_indexes = self.global.iter().flat_map(|(_, keys)| keys.attributes());
        let of_local = self.local.iter().map(|(_, range)| range);
        let mut attributes: Vec<&KeyAttribute> = Vec::new();
        for attribute in self.keys.attributes().chain(of_indexes).chain(of_local) {
            if !attributes.contains(&attribute) {
                attributes.push(attribute);
            }
        }
        let definition = |attribute: &KeyAttribute| {
            let definition = AttributeDefinition::builder().attribute_name(&attribute.name);
            let definition = definition.attribute_type(attribute.attribute_type.clone());
            definition.build()
        };
        attributes.into_iter().map(definition).collect()
    }

    fn provisioned(&self) -> Result<Option<ProvisionedThroughput>, BuildError> {
        let units = self.throughput.map(|(read, write)| {
            let units = ProvisionedThroughput::builder().read_capacity_units(read);
            units.write_capacity_units(write).build()
        });
        units.transpose()
    }
}

fn all() -> Projection {
    Projection::builder().projection_type(ProjectionType::All).build()
}
