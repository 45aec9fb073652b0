//! The state of a group of replicas, as commits contain it: plain data, and what it shows at a moment.

use compact_str::CompactString;

use super::super::identity::{TableId, TableIdentity};
use super::scaling::Scaling;
use crate::clock::Moment;

/// The consistency of a global table: what a strongly consistent read of a replica sees, and when a write completes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consistency {
    /// Each replica sees its own writes at once, and those of the others later.
    #[default]
    Eventual,
    /// A write is stored in two regions before its response, and strongly consistent reads see it everywhere.
    Strong,
}

/// The state of a group, independent of time: its visible state at a moment follows from the times.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupState {
    /// The group's number: that of its first table.
    pub id: TableId,
    /// The consistency, which never changes.
    pub consistency: Consistency,
    /// The replicas, in the order in which they were added, the first table included.
    pub replicas: Vec<Replica>,
    /// The witness, which has no table.
    pub witness: Option<Witness>,
    /// Until when the replicas are `UPDATING` after a change of their settings.
    pub updating_until: Moment,
    /// The table whose settings the others have not taken over yet.
    pub synchronizing: Option<TableId>,
    /// The settings of auto scaling.
    pub scaling: Vec<Scaling>,
}

/// The region that stores the writes of a group of two replicas with strong consistency, but serves no requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    pub region: CompactString,
    pub active_at: Moment,
}

/// A replica of a global table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    pub region: CompactString,
    pub table: TableId,
    /// The region whose items were copied; `None` for the first table.
    pub source: Option<CompactString>,
    pub added: Moment,
    /// When the other replicas begin to list it.
    pub shows_at: Moment,
    /// When calls in its own region begin to find its table.
    pub appears_at: Moment,
    /// Until when its source is `ACTIVE` before it finishes the copy; measured only for sources with items.
    pub copied_until: Option<Moment>,
    /// When it becomes `ACTIVE`: never, while its source's items are being copied.
    pub active_at: Moment,
    /// Its deletion or disassociation, once requested. From then on it takes no more writes.
    pub removal: Option<Removal>,
    /// Whether its protection from disassociation is disabled.
    pub unprotected: bool,
}

/// The deletion or disassociation of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removal {
    pub shows_at: Moment,
    /// When the replica is removed.
    pub gone_at: Moment,
    /// Whether it is disassociated: its table stays, and replicates nothing from then on.
    pub keeps_table: bool,
}

impl Replica {
    /// Whether it is being created at `now`.
    pub fn is_creating(&self, now: Moment) -> bool {
        now < self.active_at
    }

    /// Whether its addition or deletion makes the group `UPDATING` at `now`.
    fn holds_group(&self, now: Moment) -> bool {
        let copies = |end: Moment| (self.shows_at..end).contains(&now);
        match self.removal {
            Some(removal) => now < removal.shows_at,
            None => self.is_creating(now) && !self.copied_until.is_some_and(copies),
        }
    }

    /// Whether it is being added or removed at `now`: nothing else in the group can be changed meanwhile.
    fn is_changing(&self, now: Moment) -> bool {
        self.removal
            .map_or(self.is_creating(now), |removal| now < removal.gone_at)
    }

    /// Whether its table is leaving the group, or has left it.
    pub(super) fn is_disassociated(&self) -> bool {
        self.removal.is_some_and(|removal| removal.keeps_table)
    }

    /// Whether its table is in the group as seen from itself at `now`. One that is deleted remains in it.
    pub(super) fn sees_group(&self, now: Moment) -> bool {
        !self.is_disassociated() || self.is_there(now)
    }

    /// Whether it belongs to the group at `now`.
    pub fn is_there(&self, now: Moment) -> bool {
        self.removal.is_none_or(|removal| removal.gone_at > now)
    }
}

impl GroupState {
    /// The state of a group of one table.
    pub fn new(table: &TableIdentity, consistency: Consistency, now: Moment) -> GroupState {
        GroupState {
            id: table.ordinal,
            consistency,
            replicas: vec![Replica {
                region: table.scope.region.clone(),
                table: table.ordinal,
                source: None,
                added: now,
                shows_at: now,
                appears_at: now,
                copied_until: None,
                active_at: now,
                removal: None,
                unprotected: false,
            }],
            witness: None,
            updating_until: now,
            synchronizing: None,
            scaling: Vec::new(),
        }
    }

    /// The replica of a table.
    pub fn replica(&self, table: TableId) -> Option<&Replica> {
        self.replicas.iter().find(|replica| replica.table == table)
    }

    /// The replica of a table, mutably.
    pub fn replica_mut(&mut self, table: TableId) -> Option<&mut Replica> {
        self.replicas.iter_mut().find(|replica| replica.table == table)
    }

    /// The other replicas at `now`, in the order in which they were added.
    pub fn others(&self, of: TableId, now: Moment) -> impl Iterator<Item = &Replica> {
        let there = self.replicas.iter().filter(move |replica| replica.is_there(now));
        there.filter(move |replica| replica.table != of)
    }

    /// The other replica of a region, once it is listed.
    pub fn other_in(&self, region: &str, of: TableId, now: Moment) -> Option<&Replica> {
        let listed = self.others(of, now).filter(|replica| now >= replica.shows_at);
        listed.into_iter().find(|replica| replica.region == region)
    }

    /// The replicas at `now` whose items were copied from a region's.
    pub fn sourced_by<'s>(&'s self, region: &'s str, now: Moment) -> impl Iterator<Item = &'s Replica> {
        let there = self.replicas.iter().filter(move |replica| replica.is_there(now));
        there.filter(move |replica| replica.source.as_deref() == Some(region))
    }

    /// Whether there is more than one replica at `now`.
    pub fn is_global(&self, now: Moment) -> bool {
        self.replicas.iter().filter(|replica| replica.is_there(now)).count() > 1
    }

    /// Whether all replicas are `UPDATING` at `now`.
    pub fn is_updating(&self, now: Moment) -> bool {
        now < self.updating_until || self.replicas.iter().any(|replica| replica.holds_group(now))
    }

    /// Whether a change is in progress at `now`, so that no other one can begin.
    pub fn is_changing(&self, now: Moment) -> bool {
        let witness = self.witness.as_ref().is_some_and(|witness| now < witness.active_at);
        now < self.updating_until || witness || self.replicas.iter().any(|replica| replica.is_changing(now))
    }

    pub fn drop_gone(&mut self, now: Moment) {
        self.replicas.retain(|replica| replica.is_there(now));
    }

    /// The auto scaling of a region's reads, or of writes; of the table, or of an index.
    pub fn scaling_of(&self, region: Option<&str>, index: Option<&str>) -> Option<&Scaling> {
        self.scaling
            .iter()
            .find(|each| each.region.as_deref() == region && each.index.as_deref() == index)
    }

    /// Sets or removes the auto scaling of reads or writes.
    pub fn set_scaling(&mut self, region: Option<&str>, index: Option<&str>, scaling: Option<Scaling>) {
        self.scaling
            .retain(|each| each.region.as_deref() != region || each.index.as_deref() != index);
        self.scaling.extend(scaling);
    }
}
