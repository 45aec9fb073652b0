//! Replication between the regions of a global table (docs/behavior: 08 5).
//!
//! A write is stamped and queued in the [`Inbox`] of the same partition in each other region, under the lock of its own
//! partition. An inbox is a leaf lock: locks of two regions are never nested. The changes in an inbox are due work of
//! its partition: when one is due, the newer version of the item replaces the older one, in a separate commit.

mod claims;
mod counts;
mod inbox;
mod version;

pub use claims::{Claims, ItemClaim};
pub use counts::ReplicationCounts;
pub use inbox::{Inbox, ReplicatedChange, SavedInbox};
pub use version::{ReplicaVersion, ReplicaVersions, Stamp, VersionComparison};

use std::sync::Arc;
use std::time::Duration;

use super::commit::{AppendError, Committed, Mutation, Origin};
use super::delay::Propagation;
use super::partition::{Contents, Partition};
use super::replica::Consistency;
use super::settings::TableSettings;
use super::shape::Shape;
use super::table::Table;
use crate::change::{Cause, Change};
use crate::clock::Moment;
use crate::conditions::Lag;
use crate::key::Key;
use crate::sync::Ordering;
use crate::value::{Item, Name};

impl TableSettings {
    /// The delay until a write reaches the replica in a region.
    pub fn replication_lag(&self, region: &str) -> Lag {
        let own = self.replication_lags.get(region);
        own.copied().unwrap_or(self.conditions.replication_lag)
    }
}

impl Table {
    /// Records the version of a write in this region, and queues the write for the other regions.
    #[cold]
    pub(super) fn replicate(
        &self,
        committed: &Committed<'_>,
        partition: &Partition,
        contents: &mut Contents,
        shape: &Shape,
        change: &Change,
    ) {
        let Some(group) = self.replica_group() else { return };
        let peers = group.peers(self.ordinal);
        if peers.is_empty() && partition.inbox.is_empty() {
            contents.forget_versions();
            return;
        }
        let happened = change.happened(committed.time);
        // In every region, a due deletion precedes the writes of its moment, whenever it is applied.
        let time = match change.cause {
            Cause::TimeToLive => happened.minus(Duration::from_micros(1)),
            Cause::Request | Cause::Replication => happened,
        };
        let stamp = Stamp {
            time,
            sequence: self.host().writes.fetch_add(1, Ordering::Relaxed) + 1,
            region: self.scope.region.clone(),
        };
        let versions = contents.versions_mut();
        if versions.has_old(committed.time) && partition.inbox.is_empty() {
            versions.prune(committed.time);
        }
        let version = versions.write(&change.key, stamp, change.new.is_none());
        for peer in peers {
            let place = format!("{} to {}", self.scope.region, peer.scope.region);
            let lag = match group.state().consistency {
                Consistency::Eventual => shape.replication_lag(&peer.scope.region),
                Consistency::Strong => Lag::None,
            };
            let propagation = Propagation {
                seed: shape.seed,
                place: &place,
                lag,
            };
            let arrival = ReplicatedChange {
                source: self.scope.region.clone(),
                key: change.key.clone(),
                item: change.new.clone(),
                version: version.clone(),
                happened,
            };
            peer.partition(peer.partition_of(change.key.token))
                .inbox
                .push(arrival, &propagation);
            self.host().wakes.add(&peer.scope);
        }
    }

    /// Commits the arrival of a change from another region, and applies it if it is newer than the present version. The
    /// caller has taken it out of the partition's inbox, and holds the partition's lock.
    pub fn receive(
        &self,
        (partition, contents): (&Partition, &mut Contents),
        shape: &Shape,
        (arrived, arrival): (Moment, &ReplicatedChange),
        now: Moment,
    ) -> (Option<Change>, VersionComparison) {
        let committed = self.log().begin_arrival(now, || {
            vec![Mutation::ReplicateItem {
                table: self.ordinal,
                key: arrival.key.clone(),
                item: arrival.item.clone(),
                version: arrival.version.clone(),
                due: arrived,
            }]
        });
        let (key, item) = (arrival.key.clone(), arrival.item.clone());
        let target = (partition, contents);
        receive(&committed, target, shape, (key, item, &arrival.version), arrived)
    }

    /// Replays the arrival of a change.
    pub(super) fn replay_arrival(
        &self,
        committed: &Committed<'_>,
        key: &Key,
        item: Option<&Item>,
        version: &ReplicaVersion,
        arrived: Moment,
    ) {
        let partition = self.partition(self.partition_of(key.token));
        let mut contents = partition.write();
        // The partition's lock keeps the settings unchanged.
        let shape = self.shape();
        partition.inbox.remove(&version.stamp.region, key, &version.stamp);
        let item = (key.clone(), item.cloned(), version);
        let (change, _) = receive(committed, (partition, &mut contents), &shape, item, arrived);
        drop(contents);
        let queues = change.iter().flat_map(|change| shape.queues_of(change));
        queues.for_each(|queue| queue.drain_if_full(committed.time));
    }

    /// Inserts a copied item into a new replica, unless it has a newer version.
    pub(super) fn put_copy(
        &self,
        key: Key,
        item: Item,
        version: &ReplicaVersion,
        now: Moment,
    ) -> Result<(), AppendError> {
        let partition = self.partition(self.partition_of(key.token));
        let mut contents = partition.write();
        let shape = self.shape();
        let committed = self.log().begin(now, Origin::Replication, || {
            vec![Mutation::ReplicateItem {
                table: self.ordinal,
                key: key.clone(),
                item: Some(item.clone()),
                version: version.clone(),
                due: now,
            }]
        })?;
        if let Some(ledger) = self.capacity.lock().as_mut() {
            ledger.weigh(key.token, item.size());
        }
        let target = (partition, &mut *contents);
        receive(&committed, target, &shape, (key, Some(item), version), now);
        Ok(())
    }

    /// Pauses or resumes replication to tables of this table's group from regions, in one commit. A table's own region stands
    /// for all, and for the other direction as well.
    pub fn pause_replication(
        &self,
        directions: &[(&Arc<Table>, &Name)],
        paused: bool,
        now: Moment,
    ) -> Result<(), AppendError> {
        let committed = self.log().begin(now, Origin::Request, || {
            let pauses = directions.iter().map(|(table, source)| Mutation::PauseReplication {
                table: table.ordinal,
                source: Name::clone(source),
                paused,
            });
            pauses.collect()
        })?;
        for (table, source) in directions {
            table.set_replication_paused(&committed, source, paused);
        }
        Ok(())
    }

    pub(super) fn set_replication_paused(&self, committed: &Committed<'_>, source: &Name, paused: bool) {
        for partition in self.partitions() {
            partition.inbox.set_paused(source, paused, committed.time);
        }
    }

    /// Whether replication from a region is paused.
    pub fn is_replication_paused(&self, source: &str) -> bool {
        let first = self.partitions().first();
        first.is_some_and(|partition| partition.inbox.is_paused(source))
    }

    /// Whether replication with all other regions is paused.
    pub fn is_cut_off(&self) -> bool {
        self.is_replication_paused(&self.scope.region)
    }

    /// The number of queued changes from a region.
    pub fn arriving(&self, source: &str) -> usize {
        let partitions = self.partitions().iter();
        partitions.map(|partition| partition.inbox.waiting(source)).sum()
    }

    /// When all queued changes from a region have arrived: never, if some wait while replication is paused.
    pub fn settled_at(&self, source: &str) -> Moment {
        let partitions = self.partitions().iter();
        let settled = partitions.map(|partition| partition.inbox.settled_at(source));
        settled.max().unwrap_or(Moment::FIRST)
    }

    /// Excludes the writes of other regions from an item until a moment, after a write of it. The write has completed, so
    /// the claim is kept even if the sink rejects it.
    pub fn keep_claim(&self, claim: &ItemClaim<'_>, until: Moment, now: Moment) {
        let committed = self.log().begin(now, Origin::Replication, || {
            vec![Mutation::ClaimItem {
                table: self.ordinal,
                key: claim.key().clone(),
                until,
            }]
        });
        claim.keep_until(&committed.unwrap_or_else(|_| Committed::replayed(now)), until);
    }

    /// Replays the claim of a completed write.
    pub(super) fn restore_claim(&self, committed: &Committed<'_>, key: &Key, until: Moment) {
        if let Some(group) = self.replica_group() {
            group.claims().restore(committed, key, &self.scope.region, until);
        }
    }

    /// Restores the versions of items from a checkpoint.
    pub(super) fn restore_versions(&self, _: &Committed<'_>, versions: &[(Key, ReplicaVersion)]) {
        for (key, version) in versions {
            self.note_writes(version);
            let partition = self.partition(self.partition_of(key.token));
            let mut contents = partition.write();
            let deletes = contents.get(key).is_none();
            contents.versions_mut().set(key, version.clone(), deletes);
        }
    }

    /// Restores the queued changes of a partition from a checkpoint.
    pub(super) fn restore_inbox(&self, _: &Committed<'_>, place: usize, saved: SavedInbox) {
        let versions = saved.waiting.iter().map(|(_, arrival)| &arrival.version);
        versions.for_each(|version| self.note_writes(version));
        self.partition(place).inbox.restore(saved);
    }

    /// Ensures that later writes have higher numbers than this version.
    fn note_writes(&self, version: &ReplicaVersion) {
        self.host().writes.fetch_max(version.stamp.sequence, Ordering::Relaxed);
    }
}

/// Applies a change that has arrived, if it is newer than the present version. Returns its effect, and how the versions
/// compare.
fn receive(
    committed: &Committed<'_>,
    (partition, contents): (&Partition, &mut Contents),
    shape: &Shape,
    (key, item, version): (Key, Option<Item>, &ReplicaVersion),
    arrived: Moment,
) -> (Option<Change>, VersionComparison) {
    let versions = contents.versions_mut();
    let comparison = versions.compare(&key, version);
    if !comparison.replaces {
        return (None, comparison);
    }
    if version.stamp.sequence > 0 {
        versions.set(&key, version.clone(), item.is_none());
    }
    let old = contents.get(&key).cloned();
    if old.is_none() && item.is_none() {
        return (None, comparison);
    }
    let mut change = Change::new(&shape.definition, key, old, item);
    change.cause = Cause::Replication;
    change.due = Some(arrived);
    partition.apply(committed, contents, shape, &change);
    (Some(change), comparison)
}
