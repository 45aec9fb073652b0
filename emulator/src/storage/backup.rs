//! Backups: snapshots that outlive their tables.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::census::Count;
use super::snapshot::Snapshot;
use super::table::Table;
use crate::clock::Moment;
use crate::sync::{Mutex, RwLock};
use crate::value::Name;

/// Who made a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupKind {
    /// A caller.
    User,
    /// The service, of a table with point-in-time recovery that was deleted.
    System,
}

impl BackupKind {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            BackupKind::User => "USER",
            BackupKind::System => "SYSTEM",
        }
    }
}

/// A backup.
#[derive(Debug)]
pub struct Backup {
    /// Its ARN: the table's, and an id that begins with the moment it was made.
    pub arn: String,
    /// Its name, which others may have as well.
    pub name: String,
    /// Who made it.
    pub kind: BackupKind,
    /// When it was made.
    pub created: Moment,
    /// From when on it is `AVAILABLE`.
    pub available: Moment,
    /// When it goes by itself.
    pub expires: Option<Moment>,
    /// The table's name.
    pub table_name: Name,
    /// The table's id.
    pub table_id: String,
    /// The table's ARN.
    pub table_arn: String,
    /// When the table was created.
    pub table_created: Moment,
    /// The table.
    pub snapshot: Snapshot,
    /// How much the table's descriptions said was in it.
    pub count: Count,
    /// Until when a table is being restored from it.
    restoring: Mutex<Moment>,
}

impl Backup {
    /// A backup of a table as it is now, made at `created`, with this end of its id.
    pub fn new(table: &Table, name: String, kind: BackupKind, created: Moment, tail: u32) -> Backup {
        // The id says milliseconds, and the moment is the id's.
        let millis = created.micros().div_euclid(1000);
        let created = Moment::from_micros(millis * 1000);
        Backup {
            arn: format!("{}/backup/{millis:014}-{tail:08x}", table.arn),
            name,
            kind,
            created,
            available: created,
            expires: None,
            table_name: table.name.clone(),
            table_id: table.id.clone(),
            table_arn: table.arn.clone(),
            table_created: table.created,
            count: table.census(&table.shape(), created).table,
            snapshot: table.snapshot().without_past(),
            restoring: Mutex::new(Moment::FIRST),
        }
    }

    /// Whether it can be seen at `now`.
    pub fn is_there(&self, now: Moment) -> bool {
        self.created <= now && self.expires.is_none_or(|end| now < end)
    }

    /// Whether a table is being restored from it.
    pub fn is_restoring(&self, now: Moment) -> bool {
        *self.restoring.lock() > now
    }

    /// Takes the backup for a restore that ends at `until`; says whether it was free.
    pub fn claim(&self, now: Moment, until: Moment) -> bool {
        let mut restoring = self.restoring.lock();
        let free = *restoring <= now;
        if free {
            *restoring = until;
        }
        free
    }

    /// Lets go of a claim whose restore came to nothing.
    pub fn release(&self) {
        *self.restoring.lock() = Moment::FIRST;
    }
}

/// The place of a backup in the order of time: the id at the end of its ARN, then the ARN.
type Place = (String, String);

fn place(arn: &str) -> Place {
    let id = arn.rsplit('/').next().unwrap_or_default();
    (id.to_owned(), arn.to_owned())
}

/// The backups of an account in a region.
#[derive(Debug, Default)]
pub struct Backups(RwLock<BTreeMap<Place, Arc<Backup>>>);

impl Backups {
    /// Keeps a backup, and lets go of those that have expired.
    pub fn insert(&self, backup: Backup, now: Moment) -> Arc<Backup> {
        let backup = Arc::new(backup);
        let mut backups = self.0.write();
        backups.retain(|_, there| there.expires.is_none_or(|end| now < end));
        backups.insert(place(&backup.arn), Arc::clone(&backup));
        backup
    }

    /// Whether an ARN is taken.
    pub fn has(&self, arn: &str) -> bool {
        self.0.read().contains_key(&place(arn))
    }

    /// The backup of this ARN.
    pub fn get(&self, arn: &str, now: Moment) -> Option<Arc<Backup>> {
        let backups = self.0.read();
        backups.get(&place(arn)).filter(|backup| backup.is_there(now)).cloned()
    }

    /// Removes a backup if `check` lets it.
    pub fn remove<E>(&self, arn: &str, check: impl FnOnce(Option<&Arc<Backup>>) -> Result<(), E>) -> Result<(), E> {
        let mut backups = self.0.write();
        check(backups.get(&place(arn)))?;
        backups.remove(&place(arn));
        Ok(())
    }

    /// Lets go of all that `matches` picks.
    pub fn forget(&self, matches: impl Fn(&Backup) -> bool) {
        self.0.write().retain(|_, backup| !matches(backup));
    }

    /// The first `most` backups behind `start`, oldest first, that `matches` picks.
    pub fn list(&self, start: Option<&str>, most: usize, matches: impl Fn(&Backup) -> bool) -> Vec<Arc<Backup>> {
        let lower = start.map_or(Bound::Unbounded, |start| Bound::Excluded(place(start)));
        let backups = self.0.read();
        let found = backups.range((lower, Bound::Unbounded)).map(|(_, backup)| backup);
        found.filter(|backup| matches(backup)).take(most).cloned().collect()
    }
}
