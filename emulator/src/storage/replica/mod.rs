//! Global tables: which tables are replicas of one another.
//!
//! The replicas of a global table are tables of one account in different regions, each with its own items, indexes and
//! stream. They share a [`ReplicaGroup`], whose state is plain data: one mutation contains all of it. The group's lock
//! encloses no other, and a change of the group needs no lock of any table. Requests that change groups, or settings
//! that replicas share, are serialized by [`Catalog::change_replicas`](super::Catalog::change_replicas).

mod copy;
mod scaling;
mod synchronize;

use std::sync::{Arc, Weak};

pub use scaling::{Scaling, ScalingPolicy};

use compact_str::CompactString;

use super::commit::{AppendError, Committed, Mutation, Origin, TableId};
use super::replication::Claims;
use super::table::Table;
use crate::clock::Moment;
use crate::sync::{Hint, Ordering, RwLock};

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
    fn is_disassociated(&self) -> bool {
        self.removal.is_some_and(|removal| removal.keeps_table)
    }

    /// Whether its table is in the group as seen from itself at `now`. One that is deleted remains in it.
    fn sees_group(&self, now: Moment) -> bool {
        !self.is_disassociated() || self.is_there(now)
    }

    /// Whether it belongs to the group at `now`.
    pub fn is_there(&self, now: Moment) -> bool {
        self.removal.is_none_or(|removal| removal.gone_at > now)
    }
}

impl GroupState {
    /// The state of a group of one table.
    pub fn new(table: &Table, consistency: Consistency, now: Moment) -> GroupState {
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
}

/// The replicas of a global table.
#[derive(Debug)]
pub struct ReplicaGroup {
    tables: RwLock<GroupTables>,
    claims: Claims,
}

#[derive(Debug)]
struct GroupTables {
    state: Arc<GroupState>,
    /// The tables of the replicas, in their order. A table owns its group, so the group's references are weak.
    tables: Vec<Weak<Table>>,
}

impl GroupTables {
    fn new(state: &GroupState, tables: &[Arc<Table>]) -> GroupTables {
        let table = |replica: &Replica| {
            let found = tables.iter().find(|table| table.ordinal == replica.table);
            found.map_or_else(Weak::new, Arc::downgrade)
        };
        GroupTables {
            tables: state.replicas.iter().map(table).collect(),
            state: Arc::new(state.clone()),
        }
    }
}

impl ReplicaGroup {
    /// The items that are being written, of a group with strong consistency.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    pub fn state(&self) -> Arc<GroupState> {
        Arc::clone(&self.tables.read().state)
    }

    /// The existing tables of the replicas.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        self.tables.read().tables.iter().filter_map(Weak::upgrade).collect()
    }

    /// The tables of the other replicas that take the writes of this one: including those that are being created, which
    /// must not miss any, but not those that are being deleted. Called under the lock of a partition and after
    /// [`CommitLog::begin`](super::CommitLog::begin), it returns the same for a write as a replay of its commit.
    pub fn peers(&self, of: TableId) -> Vec<Arc<Table>> {
        let view = self.tables.read();
        if view.state.replica(of).is_none_or(Replica::is_disassociated) {
            return Vec::new();
        }
        let replicas = view.state.replicas.iter().zip(&view.tables);
        let peers = replicas.filter(|(replica, _)| replica.table != of && replica.removal.is_none());
        peers.filter_map(|(_, table)| table.upgrade()).collect()
    }

    /// Changes the state of the group alone.
    pub fn change(&self, table: &Table, state: &GroupState, now: Moment) -> Result<(), AppendError> {
        let committed = table.log().begin(now, Origin::Request, || vec![mutation(state)])?;
        apply(&committed, state, &self.tables());
        Ok(())
    }

    /// Completes what no commit of a replay has completed: copies of items, and settings that not all replicas have.
    pub(super) fn finish(&self, committed: &Committed<'_>) {
        let (mut state, tables) = (GroupState::clone(&self.state()), self.tables());
        let now = committed.time;
        if let Some(from) = state.synchronizing.take()
            && let Some(source) = tables.iter().find(|table| table.ordinal == from)
        {
            for table in tables.iter().filter(|table| table.ordinal != from) {
                table.replay_synchronize(committed, source);
            }
        }
        for replica in state
            .replicas
            .iter_mut()
            .filter(|replica| replica.active_at == Moment::NEVER)
        {
            let found = |region: &str| tables.iter().find(|table| table.scope.region == region);
            let source = replica.source.as_deref().and_then(found);
            if let (Some(source), Some(table)) = (source, found(&replica.region)) {
                table.replay_copy(committed, source);
            }
            replica.active_at = now;
        }
        if state != *self.state() {
            apply(committed, &state, &tables);
        }
    }
}

/// The mutation that sets a group's state.
pub(super) fn mutation(state: &GroupState) -> Mutation {
    Mutation::ChangeReplicas {
        group: Box::new(state.clone()),
    }
}

/// Sets the state of a group. `tables` has the tables of its replicas.
pub(super) fn apply(_: &Committed<'_>, state: &GroupState, tables: &[Arc<Table>]) {
    let known = tables.iter().filter_map(|table| table.replica_group());
    let known = known.into_iter().find(|group| group.state().id == state.id);
    let view = GroupTables::new(state, tables);
    let group = match known {
        Some(group) => {
            *group.tables.write() = view;
            group
        }
        None => Arc::new(ReplicaGroup {
            tables: RwLock::new(view),
            claims: Claims::default(),
        }),
    };
    for table in tables.iter().filter(|table| state.replica(table.ordinal).is_some()) {
        table.membership.set(&group);
    }
}

/// A table's group, if it ever had a replica.
#[derive(Debug, Default)]
pub(super) struct Membership {
    /// Whether there is a group.
    is_replica: Hint,
    group: RwLock<Option<Arc<ReplicaGroup>>>,
}

impl Membership {
    fn set(&self, group: &Arc<ReplicaGroup>) {
        *self.group.write() = Some(Arc::clone(group));
        self.is_replica.store(true, Ordering::Relaxed);
    }
}

impl Table {
    /// Whether the table has ever been a replica. A write of any other table costs only this load.
    #[inline]
    pub fn is_replica(&self) -> bool {
        self.membership.is_replica.load(Ordering::Relaxed)
    }

    /// The group of the table, if it has ever been a replica, even if it has lost the others.
    #[inline]
    pub fn replica_group(&self) -> Option<Arc<ReplicaGroup>> {
        if self.is_replica() {
            self.membership.group.read().clone()
        } else {
            None
        }
    }

    /// Whether calls in its region do not find it yet at `now`, since it is a replica that has just been requested.
    pub fn is_hidden(&self, now: Moment) -> bool {
        let appears_at = |group: Arc<ReplicaGroup>| Some(group.state().replica(self.ordinal)?.appears_at);
        self.replica_group()
            .and_then(appears_at)
            .is_some_and(|appears_at| now < appears_at)
    }

    /// The state of the table's group, if it has other replicas at `now`.
    pub fn global_state(&self, now: Moment) -> Option<Arc<GroupState>> {
        let state = self.replica_group()?.state();
        let sees_group = state
            .replica(self.ordinal)
            .is_some_and(|replica| replica.sees_group(now));
        (sees_group && state.is_global(now)).then_some(state)
    }
}
