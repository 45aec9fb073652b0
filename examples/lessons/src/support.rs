//! Tables for the tests.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection, ProjectionType,
    ProvisionedThroughput, ScalarAttributeType, TimeToLiveSpecification,
};
use dynatwin::{Capacity, Conditions, Enforcement, Twin};

use crate::Item;

/// Returns a twin that enforces capacity, and is calm otherwise.
pub fn metered(seed: u64) -> Twin {
    let twin = Twin::seeded(seed);
    twin.set_conditions(Conditions {
        capacity: Capacity::Enforced(Enforcement::AWS),
        ..Conditions::CALM
    })
    .unwrap();
    twin
}

/// Returns a client without the SDK's retries.
pub fn without_retries(twin: &Twin) -> Client {
    Client::from_conf(twin.config().retry_config(RetryConfig::disabled()).build())
}

/// Returns the current item with this key.
pub fn stored(twin: &Twin, table: &str, pk: &str, sk: &str) -> Option<Item> {
    twin.item(table, [("PK", crate::s(pk)), ("SK", crate::s(sk))])
}

/// A table with the key `PK` and `SK`.
pub struct Table {
    name: &'static str,
    units: Option<i64>,
    index: Option<[&'static str; 3]>,
    expires: Option<&'static str>,
}

impl Table {
    pub fn new(name: &'static str) -> Table {
        Table {
            name,
            units: None,
            index: None,
            expires: None,
        }
    }

    /// Sets provisioned read and write units; otherwise the table is on demand.
    pub fn provisioned(self, units: i64) -> Table {
        let units = Some(units);
        Table { units, ..self }
    }

    /// Adds a global index with these keys.
    pub fn index(self, name: &'static str, partition: &'static str, sort: &'static str) -> Table {
        let index = Some([name, partition, sort]);
        Table { index, ..self }
    }

    /// Enables time to live on this attribute.
    pub fn expires(self, attribute: &'static str) -> Table {
        let expires = Some(attribute);
        Table { expires, ..self }
    }

    pub async fn create(self, twin: &Twin) {
        let client = twin.client();
        let mut request = client
            .create_table()
            .table_name(self.name)
            .set_key_schema(Some(keys("PK", "SK")));
        let [index, partition, sort] = self.index.unwrap_or_default();
        for name in ["PK", "SK", partition, sort] {
            if !name.is_empty() {
                request = request.attribute_definitions(text_attribute(name));
            }
        }
        if self.index.is_some() {
            let projection = Projection::builder().projection_type(ProjectionType::All).build();
            let index = GlobalSecondaryIndex::builder().index_name(index).projection(projection);
            let index = index.set_key_schema(Some(keys(partition, sort)));
            request = request.global_secondary_indexes(index.build().unwrap());
        }
        request = match self.units {
            None => request.billing_mode(BillingMode::PayPerRequest),
            Some(units) => {
                let throughput = ProvisionedThroughput::builder();
                let throughput = throughput.read_capacity_units(units).write_capacity_units(units);
                request.provisioned_throughput(throughput.build().unwrap())
            }
        };
        request.send().await.unwrap();
        if let Some(attribute) = self.expires {
            let specification = TimeToLiveSpecification::builder()
                .enabled(true)
                .attribute_name(attribute);
            let update = client.update_time_to_live().table_name(self.name);
            let update = update.time_to_live_specification(specification.build().unwrap());
            update.send().await.unwrap();
        }
    }
}

fn text_attribute(name: &str) -> AttributeDefinition {
    let attribute = AttributeDefinition::builder().attribute_name(name);
    attribute.attribute_type(ScalarAttributeType::S).build().unwrap()
}

fn keys(partition: &str, sort: &str) -> Vec<KeySchemaElement> {
    let key = |name, role| {
        KeySchemaElement::builder()
            .attribute_name(name)
            .key_type(role)
            .build()
            .unwrap()
    };
    vec![key(partition, KeyType::Hash), key(sort, KeyType::Range)]
}
