//! The description of a global table (docs/behavior: 08 2.6).

use std::sync::Arc;

use super::{grown, warm};
use crate::clock::Moment;
use crate::schema::{BillingMode, Index, Throughput};
use crate::storage::{Consistency, GroupState, Replica, Shape, Table, Witness};
use crate::value::Name;
use crate::wire::object::Object;

/// The other replicas of a table, as described in its region.
pub struct GlobalView {
    replicas: Vec<ReplicaView>,
    strong: bool,
    witness: Option<(Witness, &'static str)>,
    /// Whether the table is protected from disassociation.
    protected: bool,
}

/// A replica, with the settings that differ from those of the table that lists it.
struct ReplicaView {
    region: String,
    status: &'static str,
    warm: Option<Throughput>,
    class: Option<&'static str>,
    key_arn: Option<String>,
    read: Option<u64>,
    max_read: Option<i64>,
    indexes: Vec<(Name, Option<u64>, Option<i64>)>,
}

/// The status of a replica at `now`.
pub fn replica_status(replica: &Replica, now: Moment) -> &'static str {
    match replica.removal {
        Some(removal) if now >= removal.shows_at => "DELETING",
        _ if replica.is_creating(now) => "CREATING",
        _ => "ACTIVE",
    }
}

impl GlobalView {
    /// The description of a table's group at `now`.
    pub fn of(table: &Table, state: &GroupState, now: Moment) -> GlobalView {
        let tables = table.replica_group().map(|group| group.tables()).unwrap_or_default();
        let shape = table.shape();
        let others = state.others(table.ordinal, now);
        let listed = others.filter(|replica| now >= replica.shows_at && replica.active_at != Moment::NEVER);
        let view = |replica: &Replica| {
            let found = tables.iter().find(|other| other.ordinal == replica.table);
            ReplicaView::of(replica, &shape, found, now)
        };
        let witness = state.witness.clone().map(|witness| {
            let status = if now < witness.active_at { "CREATING" } else { "ACTIVE" };
            (witness, status)
        });
        GlobalView {
            replicas: listed.map(view).collect(),
            strong: state.consistency == Consistency::Strong,
            witness,
            protected: state.replica(table.ordinal).is_none_or(|replica| !replica.unprotected),
        }
    }

    /// The description of a group that is changing to strong consistency.
    pub fn with_strong(self) -> GlobalView {
        GlobalView { strong: true, ..self }
    }

    /// Writes the members of a description.
    pub(super) fn write(&self, object: &mut Object<'_>) {
        object.string("GlobalTableVersion", "2019.11.21");
        let mut list = object.list("Replicas");
        for replica in &self.replicas {
            let mut element = list.object();
            replica.write(&mut element);
            element.close();
        }
        list.close();
        if let Some((witness, status)) = &self.witness {
            let mut list = object.list("GlobalTableWitnesses");
            let mut element = list.object();
            element.string("RegionName", &witness.region);
            element.string("WitnessStatus", status);
            element.close();
            list.close();
        }
        object.string("GlobalTableSettingsReplicationMode", MODE);
        if self.strong {
            object.string("MultiRegionConsistency", "STRONG");
        } else {
            object.boolean("DisassociationProtectionEnabled", self.protected);
        }
    }
}

/// The mode of replicas of one account.
const MODE: &str = "ENABLED_WITH_OVERRIDES";

impl ReplicaView {
    fn of(replica: &Replica, shape: &Shape, table: Option<&Arc<Table>>, now: Moment) -> ReplicaView {
        let mut view = ReplicaView {
            region: replica.region.to_string(),
            status: replica_status(replica, now),
            warm: None,
            class: None,
            key_arn: None,
            read: None,
            max_read: None,
            indexes: Vec::new(),
        };
        let Some(table) = table else { return view };
        let theirs = table.shape();
        let (own, other) = (&shape.definition, &theirs.definition);
        let units = (other.billing, other.throughput);
        view.warm = Some(grown(table, None, other.warm, units, super::TableView::At(now)));
        let class = |class: Option<&'static str>| class.unwrap_or("STANDARD");
        view.class = Some(class(other.class)).filter(|theirs| *theirs != class(own.class));
        view.key_arn = other.encryption.as_ref().map(|key| key.key_arn.clone());
        if other.billing == BillingMode::Provisioned {
            view.read = Some(other.throughput.read).filter(|read| *read != own.throughput.read);
        }
        let max_read = |limits: Option<crate::schema::OnDemandThroughput>| limits.and_then(|limits| limits.max_read);
        view.max_read = max_read(other.on_demand).filter(|limit| Some(*limit) != max_read(own.on_demand));
        view.indexes = other
            .globals
            .iter()
            .filter_map(|index| {
                let here = own.globals.iter().find(|here| here.name == index.name)?;
                index_view(here, index, other.billing)
            })
            .collect();
        view
    }

    fn write(&self, element: &mut Object<'_>) {
        element.string("RegionName", &self.region);
        element.string("ReplicaStatus", self.status);
        if let Some(key_arn) = &self.key_arn {
            element.string("KMSMasterKeyId", key_arn);
        }
        overrides(element, self.read, self.max_read);
        if !self.indexes.is_empty() {
            let mut list = element.list("GlobalSecondaryIndexes");
            for (name, read, max_read) in &self.indexes {
                let mut index = list.object();
                index.string("IndexName", name);
                overrides(&mut index, *read, *max_read);
                index.close();
            }
            list.close();
        }
        if let Some(class) = self.class {
            let mut summary = element.object("ReplicaTableClassSummary");
            summary.string("TableClass", class);
            summary.close();
        }
        if let Some(units) = self.warm {
            warm(element, units, None, true);
        }
        element.string("GlobalTableSettingsReplicationMode", MODE);
    }
}

/// The settings of an index that differ from those of the table that lists it.
fn index_view(own: &Index, other: &Index, billing: BillingMode) -> Option<(Name, Option<u64>, Option<i64>)> {
    let read = Some(other.throughput.read).filter(|read| *read != own.throughput.read);
    let read = read.filter(|_| billing == BillingMode::Provisioned);
    let limit = |index: &Index| index.on_demand.and_then(|limits| limits.max_read);
    let max_read = limit(other).filter(|max_read| Some(*max_read) != limit(own));
    (read.is_some() || max_read.is_some()).then(|| (other.name.clone(), read, max_read))
}

fn overrides(element: &mut Object<'_>, read: Option<u64>, max_read: Option<i64>) {
    if let Some(read) = read {
        let mut units = element.object("ProvisionedThroughputOverride");
        units.integer("ReadCapacityUnits", read as i64);
        units.close();
    }
    if let Some(max_read) = max_read {
        let mut limits = element.object("OnDemandThroughputOverride");
        limits.integer("MaxReadRequestUnits", max_read);
        limits.close();
    }
}
