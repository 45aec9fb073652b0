//! A backup as commits contain it: without its contents.

use super::super::census::ItemCount;
use super::super::identity::TableIdentity;
use crate::clock::Moment;
use crate::value::Name;

/// The creator of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupKind {
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

/// A backup, without its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupRecord {
    /// Its ARN: the table's, and an id that begins with the moment of its creation, or of a system backup with the next free
    /// millisecond.
    pub arn: String,
    /// Its name, which need not be unique.
    pub name: String,
    pub kind: BackupKind,
    pub created: Moment,
    pub available: Moment,
    /// When it expires, if it does.
    pub expires: Option<Moment>,
    pub table_name: Name,
    pub table_id: String,
    pub table_arn: String,
    /// When the table was created.
    pub table_created: Moment,
    /// The item count and size in the table's description.
    pub count: ItemCount,
}

impl BackupRecord {
    /// A backup of a table with this count, created at `created`. Its ARN is chosen when it is added to the others.
    pub fn new(
        (table, count): (&TableIdentity, ItemCount),
        name: String,
        kind: BackupKind,
        created: Moment,
    ) -> BackupRecord {
        // A backup's moment has milliseconds, as the id in its ARN.
        let created = Moment::from_micros(created.micros().div_euclid(1000) * 1000);
        BackupRecord {
            arn: String::new(),
            name,
            kind,
            created,
            available: created,
            expires: None,
            table_name: table.name.clone(),
            table_id: table.id.clone(),
            table_arn: table.arn.clone(),
            table_created: table.created,
            count,
        }
    }
}
