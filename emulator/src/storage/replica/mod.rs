//! Global tables: which tables are replicas of one another.
//!
//! The replicas of a global table are tables of one account in different regions, each with its own items, indexes and
//! stream. They share a [`ReplicaGroup`], whose state is plain data: one mutation contains all of it. The group's lock
//! encloses no other, and a change of the group needs no lock of any table. Requests that change groups, or settings
//! that replicas share, are serialized by [`Catalog::change_replicas`](super::Catalog::change_replicas).

mod copy;
mod scaling;
mod state;
mod synchronize;

use std::sync::{Arc, Weak};

pub use scaling::{Scaling, ScalingPolicy};
pub use state::{Consistency, GroupState, Removal, Replica, Synchronization, Witness};

use super::commit::{AppendError, Committed, Mutation, Origin};
use super::identity::TableId;
use super::replication::Claims;
use super::table::Table;
use crate::clock::Moment;
use crate::sync::{Hint, Ordering, RwLock};

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
    /// [`CommitLog::begin`](super::commit::CommitLog::begin), it returns the same for a write as a replay of its commit.
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

    /// Completes the operations of a process that has ended: copies of items, and settings that not all replicas have.
    /// Returns whether there were any.
    pub(super) fn end_interrupted(&self, committed: &Committed<'_>) -> bool {
        let (mut state, tables) = (GroupState::clone(&self.state()), self.tables());
        let now = committed.time;
        if let Some(change) = state.synchronizing.take()
            && let Some(source) = tables.iter().find(|table| table.ordinal == change.table)
        {
            let after = source.shape();
            for table in self.peers(change.table) {
                table.replay_synchronize(committed, &change, &after);
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
        let changed = state != *self.state();
        if changed {
            apply(committed, &state, &tables);
        }
        changed
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
