//! Global tables: which tables are replicas of one another.
//!
//! The replicas of a global table are tables of one account in different regions, each with items, indexes and a stream of its
//! own. They share a [`ReplicaGroup`], whose state is plain data: one mutation has all of it. The group's lock encloses no
//! other, and a change of the group needs no lock of any table. Requests that change groups, or settings that replicas share,
//! take turns by [`Catalog::change_replicas`](super::Catalog::change_replicas).

mod copy;

use std::sync::{Arc, Weak};

use compact_str::CompactString;

use super::commit::{AppendError, Committed, Mutation, Origin, TableId};
use super::table::Table;
use crate::clock::Moment;
use crate::sync::{Hint, Ordering, RwLock};

/// What a strongly consistent read of a replica sees, and when a write is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consistency {
    /// Each replica sees its own writes at once, and those of the others later.
    #[default]
    Eventual,
    /// A write is in two regions before it is answered, and strongly consistent reads see it everywhere.
    Strong,
}

/// The state of a group, at all moments: what shows at one of them follows from the times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupState {
    /// The group's number: that of its first table.
    pub id: TableId,
    /// The consistency, which never changes.
    pub consistency: Consistency,
    /// The replicas, in the order in which they were added, the first table included.
    pub replicas: Vec<Replica>,
    /// The witness, which has no table.
    pub witness: Option<Witness>,
}

/// The region that keeps the writes of a group of two replicas with strong consistency, and answers no requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Its region.
    pub region: CompactString,
    /// From when on it is `ACTIVE`.
    pub active_at: Moment,
}

/// A replica of a global table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// Its region.
    pub region: CompactString,
    /// Its table.
    pub table: TableId,
    /// The region whose items it was given; none of the first table.
    pub source: Option<CompactString>,
    /// When it was asked for.
    pub added: Moment,
    /// From when on it is `ACTIVE`: never, while its source's items are being copied.
    pub active_at: Moment,
    /// Its deletion, once asked for. It takes no more writes from then on.
    pub removal: Option<Removal>,
}

/// The deletion of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removal {
    /// From when on it shows.
    pub shows_at: Moment,
    /// When the replica is gone.
    pub gone_at: Moment,
}

impl Replica {
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
                active_at: now,
                removal: None,
            }],
            witness: None,
        }
    }

    /// The replica of a table.
    pub fn replica(&self, table: TableId) -> Option<&Replica> {
        self.replicas.iter().find(|replica| replica.table == table)
    }

    /// The replica of a table, to be changed.
    pub fn replica_mut(&mut self, table: TableId) -> Option<&mut Replica> {
        self.replicas.iter_mut().find(|replica| replica.table == table)
    }

    /// The other replicas that are there at `now`, in the order in which they were added.
    pub fn others(&self, of: TableId, now: Moment) -> impl Iterator<Item = &Replica> {
        let there = self.replicas.iter().filter(move |replica| replica.is_there(now));
        there.filter(move |replica| replica.table != of)
    }

    /// Whether there is more than one replica at `now`.
    pub fn is_global(&self, now: Moment) -> bool {
        self.replicas.iter().filter(|replica| replica.is_there(now)).count() > 1
    }

    /// Whether a replica is being added at `now`, or its deletion has been asked for and does not show yet.
    pub fn is_changing(&self, now: Moment) -> bool {
        let changes = |replica: &Replica| match replica.removal {
            Some(removal) => now < removal.shows_at,
            None => now < replica.active_at,
        };
        self.replicas.iter().any(changes)
    }

    /// Drops the replicas that are gone.
    pub fn drop_gone(&mut self, now: Moment) {
        self.replicas.retain(|replica| replica.is_there(now));
    }
}

/// The replicas of a global table.
///
/// ```
/// use dynatwin_engine::clock::{Clock, Moment};
/// use dynatwin_engine::conditions::Conditions;
/// use dynatwin_engine::engine::{Caller, Engine, Settings};
///
/// let clock = Clock::settable(Moment::START);
/// let engine = Engine::new(Settings { clock, seed: 1, conditions: Conditions::CALM, shared_db: false });
/// let send = |region: &str, operation: &str, body: &str| {
///     let caller = Caller { access_key: "me".into(), region: region.into() };
///     engine.dispatch(&caller, operation, body.as_bytes()).status
/// };
/// send("us-east-1", "CreateTable", r#"{"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
///     "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
///     "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}"#);
/// send("us-east-1", "PutItem", r#"{"TableName": "tab", "Item": {"pk": {"S": "a"}}}"#);
/// assert_eq!(send("eu-west-1", "DescribeTable", r#"{"TableName": "tab"}"#), 400);
/// let create = r#"{"TableName": "tab", "ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]}"#;
/// assert_eq!(send("us-east-1", "UpdateTable", create), 200);
/// assert_eq!(send("eu-west-1", "DescribeTable", r#"{"TableName": "tab"}"#), 200);
/// ```
#[derive(Debug)]
pub struct ReplicaGroup(RwLock<View>);

#[derive(Debug)]
struct View {
    state: Arc<GroupState>,
    /// The tables of the replicas, in their order. A table holds its group, so the group does not hold the table.
    tables: Vec<Weak<Table>>,
}

impl View {
    fn new(state: &GroupState, tables: &[Arc<Table>]) -> View {
        let table = |replica: &Replica| {
            let found = tables.iter().find(|table| table.ordinal == replica.table);
            found.map_or_else(Weak::new, Arc::downgrade)
        };
        View {
            tables: state.replicas.iter().map(table).collect(),
            state: Arc::new(state.clone()),
        }
    }
}

impl ReplicaGroup {
    /// The group's state.
    pub fn state(&self) -> Arc<GroupState> {
        Arc::clone(&self.0.read().state)
    }

    /// The tables of the replicas that stand.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        self.0.read().tables.iter().filter_map(Weak::upgrade).collect()
    }

    /// The tables of the other replicas that take the writes of this one: those that are being created too, since they must
    /// miss nothing, but not those that are being deleted. Called under the lock of a partition and after
    /// [`CommitLog::begin`](super::CommitLog::begin), it sees the same for a write as a replay of its commit.
    pub fn peers(&self, of: TableId) -> Vec<Arc<Table>> {
        let view = self.0.read();
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
}

/// The mutation that makes a group's state this one.
pub(super) fn mutation(state: &GroupState) -> Mutation {
    Mutation::ChangeReplicas {
        group: Box::new(state.clone()),
    }
}

/// Makes the state of a group this one. `tables` has the tables of its replicas.
pub(super) fn apply(_: &Committed<'_>, state: &GroupState, tables: &[Arc<Table>]) {
    let known = tables.iter().filter_map(|table| table.replica_group());
    let known = known.into_iter().find(|group| group.state().id == state.id);
    let view = View::new(state, tables);
    let group = match known {
        Some(group) => {
            *group.0.write() = view;
            group
        }
        None => Arc::new(ReplicaGroup(RwLock::new(view))),
    };
    for table in tables.iter().filter(|table| state.replica(table.ordinal).is_some()) {
        table.replication.set(&group);
    }
}

/// A table's group, if it has ever had a replica.
#[derive(Debug, Default)]
pub(super) struct Replication {
    /// Whether there is a group.
    is_replica: Hint,
    group: RwLock<Option<Arc<ReplicaGroup>>>,
}

impl Replication {
    fn set(&self, group: &Arc<ReplicaGroup>) {
        *self.group.write() = Some(Arc::clone(group));
        self.is_replica.store(true, Ordering::Relaxed);
    }
}

impl Table {
    /// Whether the table has ever been a replica. A write of a table that has not pays this load.
    #[inline]
    pub fn is_replica(&self) -> bool {
        self.replication.is_replica.load(Ordering::Relaxed)
    }

    /// The group of the table, if it has ever been a replica: one that is alone by now has lost the others.
    #[inline]
    pub fn replica_group(&self) -> Option<Arc<ReplicaGroup>> {
        if self.is_replica() {
            self.replication.group.read().clone()
        } else {
            None
        }
    }

    /// The state of the table's group, if it has other replicas at `now`.
    pub fn global_state(&self, now: Moment) -> Option<Arc<GroupState>> {
        let state = self.replica_group()?.state();
        state.is_global(now).then_some(state)
    }
}
