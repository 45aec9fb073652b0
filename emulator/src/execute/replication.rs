//! The controls of global tables: pausing, resuming and delaying replication.

use std::ops::Deref;
use std::sync::Arc;

use super::account::AccountControls;
use super::control::{ControlFailure, Controls, NotFound};
use super::due;
use crate::conditions::Lag;
use crate::storage::{Consistency, GroupState, Table};
use crate::value::Name;

/// Replication between a table and one of its replicas.
///
/// ```
/// use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
///
/// let clock = Clock::settable(Moment::START);
/// let engine = Engine::new(Settings { clock, seed: 1, conditions: Conditions::CALM, shared_db: false });
/// let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// for (operation, body) in [
///     ("CreateTable", r#"{"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
///         "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
///         "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}"#),
///     ("UpdateTable", r#"{"TableName": "tab", "ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]}"#),
/// ] {
///     assert_eq!(engine.dispatch(&caller, operation, body.as_bytes()).status, 200);
/// }
/// engine.account(&caller).pause_replication("tab", Some("eu-west-1")).unwrap();
/// engine.dispatch(&caller, "PutItem", br#"{"TableName": "tab", "Item": {"pk": {"S": "a"}}}"#);
/// let replication = &engine.account(&caller).replication("tab").unwrap()[0];
/// assert_eq!((replication.paused, replication.leaving), (true, 1));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicationState {
    /// The region that changes arrive from and leave for.
    pub region: Name,
    /// Whether replication to and from that region is paused.
    pub paused: bool,
    /// The number of queued changes from the other region.
    pub arriving: usize,
    /// The number of queued changes to the other region.
    pub leaving: usize,
    /// The table's own lag towards the other region, if set.
    pub lag: Option<Lag>,
}

/// A table and its replica group.
struct Replicated {
    table: Arc<Table>,
    peers: Vec<Arc<Table>>,
    group: Arc<GroupState>,
}

impl<E: Deref<Target: AsRef<Controls>>> AccountControls<E> {
    fn replicated(&self, table: &str) -> Result<Replicated, NotFound> {
        let table = self.table(table)?;
        let group = table.replica_group();
        let Some(group) = group.filter(|group| !group.peers(table.ordinal).is_empty()) else {
            return Err(NotFound(format!("Table {} has no replicas.", table.name)));
        };
        Ok(Replicated {
            peers: group.peers(table.ordinal),
            group: group.state(),
            table,
        })
    }

    fn settle(&self, replicated: &Replicated) {
        let now = self.controls().clock.now();
        for table in replicated.peers.iter().chain([&replicated.table]) {
            due::run_due(table, now);
        }
    }

    /// Pauses or resumes replication between a table and its replicas: the one in `region`, or all.
    fn set_replication_paused(&self, table: &str, region: Option<&str>, paused: bool) -> Result<(), ControlFailure> {
        let replicated = self.replicated(table)?;
        let is_known = |region: &str| replicated.peers.iter().any(|peer| peer.scope.region == region);
        if let Some(region) = region.filter(|region| !is_known(region)) {
            return Err(NotFound(format!("Table {table} has no replica in {region}.")).into());
        }
        let is_strong = replicated.group.consistency == Consistency::Strong;
        if region.is_some() && is_strong {
            let problem = "are strongly consistent: one is cut off from all others, and not from one.";
            return Err(NotFound(format!("The regions of table {table} {problem}")).into());
        }
        let (now, own) = (self.controls().clock.now(), &replicated.table.scope.region);
        // Requests leave what is due or arrives now to this step.
        let _step = self.controls().state.begin_step(now);
        self.settle(&replicated);
        // Tables, and the regions from which nothing reaches them.
        let mut directions = Vec::new();
        if region.is_none() {
            directions.push((&replicated.table, own));
        }
        // A region that is cut off remains so when another one is resumed. With strong consistency it writes nothing,
        // and its earlier writes are in a second region, from which the third receives them.
        let is_meant = |peer: &Arc<Table>| match region {
            Some(region) => peer.scope.region == region,
            None => is_strong || paused || !peer.is_cut_off(),
        };
        for peer in replicated.peers.iter().filter(|peer| is_meant(peer)) {
            directions.push((&replicated.table, &peer.scope.region));
            if !is_strong {
                directions.push((peer, own));
            }
        }
        replicated.table.pause_replication(&directions, paused, now)?;
        self.controls().run_due();
        Ok(())
    }

    /// Pauses replication in both directions between a table and its replica in a region, or all of its replicas, until
    /// [`resume_replication`](AccountControls::resume_replication). Queued writes are combined into one change of each item.
    pub fn pause_replication(&self, table: &str, region: Option<&str>) -> Result<(), ControlFailure> {
        self.set_replication_paused(table, region, true)
    }

    /// Resumes replication between a table and its replica in a region, or all of its replicas, with all queued changes.
    pub fn resume_replication(&self, table: &str, region: Option<&str>) -> Result<(), ControlFailure> {
        self.set_replication_paused(table, region, false)
    }

    /// Sets the delay until future writes of a table reach its replica in a region; with `None` the table's conditions
    /// apply again.
    pub fn set_replication_lag(
        &self,
        table: &str,
        region: &str,
        lag: impl Into<Option<Lag>>,
    ) -> Result<(), ControlFailure> {
        let replicated = self.replicated(table)?;
        if !replicated.peers.iter().any(|peer| peer.scope.region == region) {
            return Err(NotFound(format!("Table {table} has no replica in {region}.")).into());
        }
        let lag = lag.into();
        self.controls().reshape(&replicated.table, |settings| {
            match lag {
                Some(lag) => settings.replication_lags.insert(Name::new(region), lag),
                None => settings.replication_lags.remove(region),
            };
        })
    }

    /// Replication between a table and each of its replicas.
    pub fn replication(&self, table: &str) -> Result<Vec<ReplicationState>, NotFound> {
        let found = self.table(table)?;
        let group = found.replica_group();
        if group.is_none_or(|group| group.peers(found.ordinal).is_empty()) {
            return Ok(Vec::new());
        }
        let replicated = self.replicated(table)?;
        self.settle(&replicated);
        let (table, shape) = (&replicated.table, replicated.table.shape());
        let is_strong = replicated.group.consistency == Consistency::Strong;
        let of_peer = |peer: &Arc<Table>| {
            let region = &peer.scope.region;
            ReplicationState {
                paused: table.is_replication_paused(region) || (is_strong && peer.is_cut_off()),
                arriving: table.arriving(region),
                leaving: peer.arriving(&table.scope.region),
                lag: shape.replication_lags.get(region).copied(),
                region: region.clone(),
            }
        };
        Ok(replicated.peers.iter().map(of_peer).collect())
    }
}
