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

pub(super) type BackupsByTime = SortedMap<BackupOrder, Arc<Backup>>;

/// The backups of an account in a region.
#[derive(Debug)]
pub struct Backups {
    scope: Scope,
    log: RegionLog,
    by_place: RwLock<BackupsByTime>,
}

impl Backups {
    pub(super) fn new(scope: Scope, log: RegionLog) -> Backups {
        Backups {
            scope,
            log,
            by_place: RwLock::default(),
        }
    }

    /// Creates a backup of the present table, and deletes expired ones. `new_arn` chooses its ARN, given which ones are
    /// in use.
    pub fn create(
        &self,
        table: &Table,
        mut record: BackupRecord,
        new_arn: impl FnOnce(&dyn Fn(&str) -> bool) -> String,
        now: Moment,
    ) -> Result<Arc<Backup>, AppendError> {
        let guards = table.read_all();
        let mut backups = self.by_place.write();
        record.arn = new_arn(&|arn| backups.contains_key(&place(arn)));
        let committed = self.log.begin(now, Origin::Request, || {
            vec![Mutation::CreateBackup {
                scope: self.scope.clone(),
                table: table.ordinal,
                record: Box::new(record.clone()),
            }]
        })?;
        backups.retain(|there| there.expires.is_none_or(|end| now < end));
        Ok(insert(&committed, &mut backups, record, table.snapshot_of(&guards)))
    }

    /// Replays the creation of a backup.
    pub(super) fn replay_create(&self, committed: &Committed<'_>, table: &Table, record: BackupRecord) {
        let snapshot = table.snapshot();
        insert(committed, &mut self.by_place.write(), record, snapshot);
    }

    /// Finds the backup of this ARN.
    pub fn get(&self, arn: &str, now: Moment) -> Option<Arc<Backup>> {
        let backups = self.by_place.read();
        backups.get(&place(arn)).filter(|backup| backup.is_there(now)).cloned()
    }

    /// Removes a backup if `check` permits it.
    pub fn remove<E: From<AppendError>>(
        &self,
        arn: &str,
        now: Moment,
        check: impl FnOnce(Option<&Arc<Backup>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut backups = self.by_place.write();
        check(backups.get(&place(arn)))?;
        let committed = self.log.begin(now, Origin::Request, || vec![self.deletion(arn)])?;
        delete(&committed, &mut backups, arn);
        Ok(())
    }

    fn deletion(&self, arn: &str) -> Mutation {
        Mutation::DeleteBackup {
            scope: self.scope.clone(),
            arn: arn.to_owned(),
        }
    }

    /// Locks all backups, so that none is created or deleted.
    pub(super) fn lock(&self) -> RwLockReadGuard<'_, BackupsByTime> {
        self.by_place.read()
    }

    /// Replays the deletion of a backup.
    pub(super) fn replay_remove(&self, committed: &Committed<'_>, arn: &str) {
        delete(committed, &mut self.by_place.write(), arn);
    }

    /// Removes all backups that match.
    pub fn forget(&self, now: Moment, matches: impl Fn(&Backup) -> bool) -> Result<(), AppendError> {
        let mut backups = self.by_place.write();
        let found: Vec<String> = backups
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
        found.iter().for_each(|arn| delete(&committed, &mut backups, arn));
        Ok(())
    }

    /// Claims a backup for a restore that ends at `until`; returns whether it was free.
    pub fn claim(&self, backup: &Backup, now: Moment, until: Moment) -> Result<bool, AppendError> {
        // Serializes claims.
        let _backups = self.by_place.write();
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
        self.by_place.read().get(&place(arn)).cloned()
    }

    /// The first `most` matching backups after `start`, oldest first.
    pub fn list(&self, start: Option<&str>, most: usize, matches: impl Fn(&Backup) -> bool) -> Vec<Arc<Backup>> {
        let backups = self.by_place.read();
        let found = backups.after(start.map(place).as_ref()).map(|(_, backup)| backup);
        found.filter(|backup| matches(backup)).take(most).cloned().collect()
    }
}

fn insert(_: &Committed<'_>, backups: &mut BackupsByTime, record: BackupRecord, snapshot: Snapshot) -> Arc<Backup> {
    let backup = Arc::new(Backup {
        record,
        snapshot: snapshot.without_past(),
        restoring: Mutex::new(Moment::FIRST),
    });
    backups.insert(place(&backup.arn), Arc::clone(&backup));
    backup
}

fn delete(_: &Committed<'_>, backups: &mut BackupsByTime, arn: &str) {
    backups.remove(&place(arn));
}
