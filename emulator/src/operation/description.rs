//! `TableDescription`: a table as the control plane shows it (recorded on AWS, October 2026).

use crate::clock::Moment;
use crate::limits;
use crate::schema::{BillingMode, Definition, Index, KeySchema, OnDemandThroughput, Projection, Throughput};
use crate::storage::{Shape, Table};
use crate::wire::encode::Writer;
use crate::wire::object::{List, Object};

/// From where a table is looked at: answers that change a table show its transient state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// CreateTable's answer.
    Created,
    /// DeleteTable's answer.
    Deleted,
    /// DescribeTable's answer at this moment.
    At(Moment),
}

/// A version 4 UUID of two decisions.
pub fn uuid(high: u64, low: u64) -> String {
    let high = (high & 0xffff_ffff_ffff_0fff) | 0x4000;
    let low = (low & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

/// Appends an answer whose one member is the table's description.
pub fn table(out: &mut Writer, member: &'static str, table: &Table, look: Look) {
    let shape = table.shape();
    let mut answer = Object::open(out);
    let mut object = answer.object(member);
    describe(&mut object, table, &shape, look);
    object.close();
    answer.close();
}

fn status(shape: &Shape, look: Look) -> &'static str {
    match look {
        Look::Created => "CREATING",
        Look::Deleted => "DELETING",
        Look::At(_) if shape.deleted_at.is_some() => "DELETING",
        Look::At(now) if now < shape.active_at => "CREATING",
        Look::At(_) => "ACTIVE",
    }
}

fn describe(object: &mut Object<'_>, table: &Table, shape: &Shape, look: Look) {
    let definition = &*shape.definition;
    let status = status(shape, look);
    let settled = status == "ACTIVE";
    let (count, bytes) = table.count();
    object.string("TableName", &table.name);
    object.string("TableArn", &table.arn);
    object.string("TableId", &table.id);
    object.string("TableStatus", status);
    object.integer("ItemCount", count as i64);
    object.integer("TableSizeBytes", bytes as i64);
    throughput(object, definition.throughput);
    billing(object, definition, table.created, status);
    object.boolean("DeletionProtectionEnabled", definition.deletion_protection);
    if look == Look::Deleted {
        return;
    }
    object.timestamp("CreationDateTime", table.created);
    attributes(object, definition);
    key_schema(object, &definition.key);
    local_indexes(object, table, definition);
    global_indexes(object, table, shape, settled);
    on_demand(object, definition.on_demand.as_ref());
    if settled || definition.warm.is_some() {
        warm(object, definition, definition.throughput, settled);
    }
    if let Some(class) = definition.class {
        let mut summary = object.object("TableClassSummary");
        summary.string("TableClass", class);
        summary.close();
    }
    if let Some(encryption) = &definition.encryption {
        let mut description = object.object("SSEDescription");
        description.string("Status", "ENABLED");
        description.string("SSEType", "KMS");
        description.string("KMSMasterKeyArn", &encryption.key_arn);
        description.close();
    }
}

fn throughput(object: &mut Object<'_>, throughput: Throughput) {
    let mut description = object.object("ProvisionedThroughput");
    description.integer("NumberOfDecreasesToday", 0);
    description.integer("ReadCapacityUnits", throughput.read as i64);
    description.integer("WriteCapacityUnits", throughput.write as i64);
    description.close();
}

fn billing(object: &mut Object<'_>, definition: &Definition, created: Moment, status: &str) {
    if definition.billing == BillingMode::Provisioned {
        return;
    }
    let mut summary = object.object("BillingModeSummary");
    summary.string("BillingMode", definition.billing.name());
    if status != "CREATING" {
        summary.timestamp("LastUpdateToPayPerRequestDateTime", created);
    }
    summary.close();
}

fn attributes(object: &mut Object<'_>, definition: &Definition) {
    let mut list = object.list("AttributeDefinitions");
    for attribute in &definition.attributes {
        let mut element = list.object();
        element.string("AttributeName", &attribute.name);
        element.string("AttributeType", attribute.kind.name());
        element.close();
    }
    list.close();
}

fn key_schema(object: &mut Object<'_>, schema: &KeySchema) {
    let mut list = object.list("KeySchema");
    let mut element = |name: &str, kind: &str| {
        let mut element = list.object();
        element.string("AttributeName", name);
        element.string("KeyType", kind);
        element.close();
    };
    schema
        .hash
        .iter()
        .for_each(|attribute| element(&attribute.name, "HASH"));
    schema
        .range
        .iter()
        .for_each(|attribute| element(&attribute.name, "RANGE"));
    list.close();
}

fn projection(object: &mut Object<'_>, projection: &Projection) {
    let mut description = object.object("Projection");
    match projection {
        Projection::All => description.string("ProjectionType", "ALL"),
        Projection::KeysOnly => description.string("ProjectionType", "KEYS_ONLY"),
        Projection::Include(names) => {
            description.string("ProjectionType", "INCLUDE");
            description.strings("NonKeyAttributes", names.iter().map(compact_str::CompactString::as_str));
        }
    }
    description.close();
}

fn index_head(
    list: &mut List<'_>,
    table: &Table,
    index: &Index,
    (count, bytes): (usize, usize),
    rest: impl FnOnce(&mut Object<'_>),
) {
    let mut element = list.object();
    element.string("IndexName", &index.name);
    element.string("IndexArn", &format!("{}/index/{}", table.arn, index.name));
    key_schema(&mut element, &index.key);
    projection(&mut element, &index.projection);
    element.integer("ItemCount", count as i64);
    element.integer("IndexSizeBytes", bytes as i64);
    rest(&mut element);
    element.close();
}

fn local_indexes(object: &mut Object<'_>, table: &Table, definition: &Definition) {
    if definition.locals.is_empty() {
        return;
    }
    let mut list = object.list("LocalSecondaryIndexes");
    for (at, index) in definition.locals.iter().enumerate() {
        index_head(&mut list, table, index, table.count_local(at), |_| {});
    }
    list.close();
}

fn global_indexes(object: &mut Object<'_>, table: &Table, shape: &Shape, settled: bool) {
    let definition = &*shape.definition;
    if definition.globals.is_empty() {
        return;
    }
    let mut list = object.list("GlobalSecondaryIndexes");
    for (index, contents) in definition.globals.iter().zip(&shape.indexes) {
        index_head(&mut list, table, index, contents.count(), |element| {
            element.string("IndexStatus", if settled { "ACTIVE" } else { "CREATING" });
            throughput(element, index.throughput);
            on_demand(element, index.on_demand.as_ref());
            if settled {
                warm(element, definition, index.throughput, true);
            }
        });
    }
    list.close();
}

fn on_demand(object: &mut Object<'_>, limits: Option<&OnDemandThroughput>) {
    let Some(limits) = limits else { return };
    let mut description = object.object("OnDemandThroughput");
    if let Some(most) = limits.max_read {
        description.integer("MaxReadRequestUnits", most);
    }
    if let Some(most) = limits.max_write {
        description.integer("MaxWriteRequestUnits", most);
    }
    description.close();
}

/// What the table, or an index with its own throughput, serves at once.
fn warm(object: &mut Object<'_>, definition: &Definition, provisioned: Throughput, settled: bool) {
    let initial = match definition.billing {
        BillingMode::Provisioned => provisioned,
        BillingMode::PayPerRequest => Throughput {
            read: limits::ON_DEMAND_READ_UNITS,
            write: limits::ON_DEMAND_WRITE_UNITS,
        },
    };
    let warm = definition.warm.unwrap_or(initial);
    let mut description = object.object("WarmThroughput");
    description.integer("ReadUnitsPerSecond", warm.read as i64);
    description.integer("WriteUnitsPerSecond", warm.write as i64);
    description.string("Status", if settled { "ACTIVE" } else { "UPDATING" });
    description.close();
}
