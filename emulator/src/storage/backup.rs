//! Backups: snapshots that outlive their tables.

mod record;

use std::ops::Deref;
use std::sync::Arc;

pub use record::{BackupKind, BackupRecord};

use super::commit::{AppendError, Committed, Mutation, Origin, RegionLog};
use super::scope::Scope;
use super::snapshot::Snapshot;
use super::table::Table;
use crate::clock::Moment;
use crate::sorted::SortedMap;
use crate::sync::{Mutex, RwLock, RwLockReadGuard};

#[derive(Debug)]
pub struct Backup {
    /// The backup, without its contents.
    pub record: BackupRecord,
    pub snapshot: Snapshot,
    /// Until when it is being restored.
    restoring: Mutex<Moment>,
}

impl Deref for Backup {
    type Target = BackupRecord;

    fn deref(&self) -> &BackupRecord {
        &self.record
    }
}

impl Backup {
    /// Whether it is visible at `now`.
    pub fn is_there(&self, now: Moment) -> bool {
        self.created <= now && self.expires.is_none_or(|end| now < end)
    }

    /// Whether it is being restored.
    pub fn is_restoring(&self, now: Moment) -> bool {
        *self.restoring.lock() > now
    }

    /// Until when it is being restored.
    pub fn restored_until(&self) -> Moment {
        *self.restoring.lock()
    }

    /// Records until when it is being restored.
    pub(super) fn set_claim(&self, _: &Committed<'_>, until: Moment) {
        *self.restoring.lock() = until;
    }
}

/// The position of a backup in order of time: the id at the end of its ARN, then the ARN.
pub(super) type BackupOrder = (String, String);

fn place(arn: &str) -> BackupOrder {
    let id = arn.rsplit('/').next().unwrap_or_default();
    (id.to_owned(), arn.to_owned())
}

/// The start of the ids of backups created at `now` or later: they begin with the moment in milliseconds.
fn first_id(now: Moment) -> String {
    format!("{:014}", now.micros().div_euclid(1000))
}

#[derive(Debug, Default)]
pub(super) struct StoredBackups {
    pub by_place: SortedMap<BackupOrder, Arc<Backup>>,
    /// The places of deleted backups that a new one could still get, in order.
    deleted: Vec<BackupOrder>,
}

impl StoredBackups {
    /// Whether there is a backup of this ARN, or one has been deleted since the moment in its id.
    fn is_taken(&self, arn: &str) -> bool {
        let place = place(arn);
        self.by_place.contains_key(&place) || self.deleted.binary_search(&place).is_ok()
    }

    /// The ARNs of deleted backups that a backup created at `now` or later could get.
    pub fn deleted(&self, now: Moment) -> impl Iterator<Item = &str> {
        let first = first_id(now);
        let deleted = self.deleted.iter().filter(move |(id, _)| *id >= first);
        deleted.map(|(_, arn)| arn.as_str())
    }

    fn delete(&mut self, committed: &Committed<'_>, arn: &str) {
        let first = first_id(committed.time);
        self.deleted.retain(|(id, _)| *id >= first);
        let place = place(arn);
        self.by_place.remove(&place);
        if place.0 >= first
            && let Err(at) = self.deleted.binary_search(&place)
        {
            self.deleted.insert(at, place);
        }
    }
}

/// The backups of an account in a region.
#[derive(Debug)]
pub struct Backups {
    scope: Scope,
    log: RegionLog,
    stored: RwLock<StoredBackups>,
}

impl Backups {
    pub(super) fn new(scope: Scope, log: RegionLog) -> Backups {
        Backups {
            scope,
            log,
            stored: RwLock::default(),
        }
    }

    /// Creates a backup of the present table, and deletes expired ones. `new_arn` chooses its ARN, given which ones are or
    /// were in use.
    pub fn create(
        &self,
        table: &Table,
        mut record: BackupRecord,
        new_arn: impl FnOnce(&dyn Fn(&str) -> bool) -> String,
        now: Moment,
    ) -> Result<Arc<Backup>, AppendError> {
        let guards = table.read_all();
        let mut stored = self.stored.write();
        record.arn = new_arn(&|arn| stored.is_taken(arn));
        let committed = self.log.begin(now, Origin::Request, || {
            vec![Mutation::CreateBackup {
                scope: self.scope.clone(),
                table: table.ordinal,
                record: Box::new(record.clone()),
            }]
        })?;
        stored
            .by_place
            .retain(|there| there.expires.is_none_or(|end| now < end));
        Ok(insert(&committed, &mut stored, record, table.snapshot_of(&guards)))
    }

    /// Replays the creation of a backup.
    pub(super) fn replay_create(&self, committed: &Committed<'_>, table: &Table, record: BackupRecord) {
        let snapshot = table.snapshot();
        insert(committed, &mut self.stored.write(), record, snapshot);
    }

    /// Finds the backup of this ARN.
    pub fn get(&self, arn: &str, now: Moment) -> Option<Arc<Backup>> {
        let stored = self.stored.read();
        let found = stored.by_place.get(&place(arn));
        found.filter(|backup| backup.is_there(now)).cloned()
    }

    /// Removes a backup if `check` permits it.
    pub fn remove<E: From<AppendError>>(
        &self,
        arn: &str,
        now: Moment,
        check: impl FnOnce(Option<&Arc<Backup>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut stored = self.stored.write();
        check(stored.by_place.get(&place(arn)))?;
        let committed = self.log.begin(now, Origin::Request, || vec![self.deletion(arn)])?;
        stored.delete(&committed, arn);
        Ok(())
    }

    fn deletion(&self, arn: &str) -> Mutation {
        Mutation::DeleteBackup {
            scope: self.scope.clone(),
            arn: arn.to_owned(),
        }
    }

    /// Locks all backups, so that none is created or deleted.
    pub(super) fn lock(&self) -> RwLockReadGuard<'_, StoredBackups> {
        self.stored.read()
    }

    /// Replays the deletion of a backup.
    pub(super) fn replay_remove(&self, committed: &Committed<'_>, arn: &str) {
        self.stored.write().delete(committed, arn);
    }

    /// Removes all backups that match.
    pub fn forget(&self, now: Moment, matches: impl Fn(&Backup) -> bool) -> Result<(), AppendError> {
        let mut stored = self.stored.write();
        let found: Vec<String> = stored
            .by_place
            .values()
            .filter(|backup| matches(backup))
            .map(|backup| backup.arn.clone())
            .collect();
        if found.is_empty() {
            return Ok(());
        }
        let committed = self.log.begin(now, Origin::Request, || {
            found.iter().map(|arn| self.deletion(arn)).collect()
        })?;
        found.iter().for_each(|arn| stored.delete(&committed, arn));
        Ok(())
    }

    /// Claims a backup for a restore that ends at `until`; returns whether it was free.
    pub fn claim(&self, backup: &Backup, now: Moment, until: Moment) -> Result<bool, AppendError> {
        // Serializes claims.
        let _stored = self.stored.write();
        if backup.is_restoring(now) {
            return Ok(false);
        }
        let committed = self.log.begin(now, Origin::Request, || {
            vec![Mutation::ClaimBackup {
                scope: self.scope.clone(),
                arn: backup.arn.clone(),
                until,
            }]
        })?;
        backup.set_claim(&committed, until);
        Ok(true)
    }

    /// Finds the backup of this ARN, whether or not it is visible.
    pub(super) fn find(&self, arn: &str) -> Option<Arc<Backup>> {
        self.stored.read().by_place.get(&place(arn)).cloned()
    }

    /// The first `most` matching backups after `start`, oldest first.
    pub fn list(&self, start: Option<&str>, most: usize, matches: impl Fn(&Backup) -> bool) -> Vec<Arc<Backup>> {
        let stored = self.stored.read();
        let found = stored
            .by_place
            .after(start.map(place).as_ref())
            .map(|(_, backup)| backup);
        found.filter(|backup| matches(backup)).take(most).cloned().collect()
    }
}

fn insert(_: &Committed<'_>, stored: &mut StoredBackups, record: BackupRecord, snapshot: Snapshot) -> Arc<Backup> {
    let backup = Arc::new(Backup {
        record,
        snapshot: snapshot.without_past(),
        restoring: Mutex::new(Moment::FIRST),
    });
    stored.by_place.insert(place(&backup.arn), Arc::clone(&backup));
    backup
}
