//! Exports, imports and bulk operations: what was asked for, and what has become of it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Moment;
use crate::limits;
use crate::request::{ExportTableToPointInTime, ImportTable, StartBulkPutItems};
use crate::sync::{Mutex, RwLock};
use crate::transfer::Failure;
use crate::value::Name;

/// What kind of thing goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransferKind {
    /// ExportTableToPointInTime.
    Export,
    /// ImportTable.
    Import,
    /// StartBulkPutItems.
    BulkPut,
}

/// What was asked for.
#[derive(Clone, Debug)]
pub enum TransferRequest {
    /// An export.
    Export(ExportTableToPointInTime),
    /// An import.
    Import(Box<ImportTable>),
    /// A bulk operation.
    BulkPut(StartBulkPutItems),
}

impl TransferRequest {
    /// Its kind.
    pub fn kind(&self) -> TransferKind {
        match self {
            TransferRequest::Export(_) => TransferKind::Export,
            TransferRequest::Import(_) => TransferKind::Import,
            TransferRequest::BulkPut(_) => TransferKind::BulkPut,
        }
    }
}

/// Bytes that were written to an index.
pub type IndexBytes = BTreeMap<Name, u64>;

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records that were read, or items that were exported.
    pub processed: u64,
    /// Items that were written.
    pub written: u64,
    /// Records that could not be read or written.
    pub failed: u64,
    /// Bytes that were read, or that are paid for.
    pub bytes: u64,
    /// Bytes that were written to the table.
    pub table_bytes: u64,
    /// Bytes that were written to global indexes.
    pub global_bytes: IndexBytes,
    /// Bytes that were written to local indexes.
    pub local_bytes: IndexBytes,
    /// Bytes that were written to vector indexes, as they are paid for.
    pub vector_bytes: IndexBytes,
}

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// When it is done; never while it is being carried out.
    pub end: Moment,
    /// Why it has failed, if it has.
    pub failure: Option<Failure>,
    /// What was counted.
    pub counts: Counts,
    /// When somebody asked for its end, if that was before it was done.
    pub cancelled: Option<Moment>,
}

/// An export, import or bulk operation.
#[derive(Debug)]
pub struct Transfer {
    /// Its ARN.
    pub arn: String,
    /// The table's name.
    pub table_name: Name,
    /// The table's ARN.
    pub table_arn: String,
    /// The table's id; an import's is known once it has a table.
    pub table_id: Mutex<String>,
    /// What was asked for.
    pub about: TransferRequest,
    /// Members that answers show as they were sent: their names and their JSON.
    pub echoed: Vec<(&'static str, String)>,
    /// When it was asked for.
    pub start: Moment,
    /// The client's token, and a hash of what it was sent with.
    pub token: Option<(String, u64)>,
    progress: Mutex<Progress>,
}

impl Transfer {
    /// Something that has been asked for and not been begun.
    pub fn new(
        arn: String,
        (table_name, table_arn, table_id): (Name, String, String),
        about: TransferRequest,
    ) -> Transfer {
        Transfer {
            arn,
            table_name,
            table_arn,
            table_id: Mutex::new(table_id),
            about,
            echoed: Vec::new(),
            start: Moment::FIRST,
            token: None,
            progress: Mutex::new(Progress {
                end: Moment::NEVER,
                failure: None,
                counts: Counts::default(),
                cancelled: None,
            }),
        }
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        self.progress.lock().clone()
    }

    /// What has become of it shows from `end` on.
    pub fn finish(&self, end: Moment, failure: Option<Failure>, counts: Counts) {
        let mut progress = self.progress.lock();
        progress.end = end;
        progress.failure = failure;
        progress.counts = counts;
    }

    /// Asks for its end, unless it is done.
    pub fn cancel(&self, now: Moment) {
        let mut progress = self.progress.lock();
        if now < progress.end && progress.cancelled.is_none() {
            progress.cancelled = Some(now);
        }
    }
}

/// What the same token was used for before.
pub enum StartOutcome {
    /// Nothing: it goes on.
    New(Arc<Transfer>),
    /// The same.
    Same(Arc<Transfer>),
    /// Something else.
    Other,
}

/// The place of something in the order of time: kind, the id at the end of its ARN, its ARN.
type Place = (TransferKind, String, String);

fn place(kind: TransferKind, arn: &str) -> Place {
    let id = arn.rsplit('/').next().unwrap_or_default();
    (kind, id.to_owned(), arn.to_owned())
}

/// The exports, imports and bulk operations of an account in a region.
#[derive(Debug, Default)]
pub struct Transfers(RwLock<BTreeMap<Place, Arc<Transfer>>>);

impl Transfers {
    /// Keeps something new, unless its token has been used while `holds` says that tokens count.
    pub fn begin(&self, transfer: Transfer, holds: impl Fn(&Transfer) -> bool) -> StartOutcome {
        let kind = transfer.about.kind();
        let mut transfers = self.0.write();
        transfers.retain(|_, there| is_kept(there, transfer.start));
        let token = transfer.token.as_ref();
        let same_token = |there: &&Arc<Transfer>| {
            let theirs = there.token.as_ref().map(|(token, _)| token);
            there.about.kind() == kind && theirs.is_some() && theirs == token.map(|(token, _)| token) && holds(there)
        };
        if let Some(there) = transfers.values().rev().find(same_token) {
            return if there.token == transfer.token {
                StartOutcome::Same(Arc::clone(there))
            } else {
                StartOutcome::Other
            };
        }
        let transfer = Arc::new(transfer);
        transfers.insert(place(kind, &transfer.arn), Arc::clone(&transfer));
        StartOutcome::New(transfer)
    }

    /// Whether an ARN is taken.
    pub fn has(&self, kind: TransferKind, arn: &str) -> bool {
        self.0.read().contains_key(&place(kind, arn))
    }

    /// What has this ARN.
    pub fn get(&self, kind: TransferKind, arn: &str, now: Moment) -> Option<Arc<Transfer>> {
        let transfers = self.0.read();
        transfers
            .get(&place(kind, arn))
            .filter(|there| is_kept(there, now))
            .cloned()
    }

    /// The first `most` behind the id `start`, newest first, that `matches` picks.
    pub fn list(
        &self,
        kind: TransferKind,
        start: Option<&str>,
        most: usize,
        matches: impl Fn(&Transfer) -> bool,
    ) -> Vec<Arc<Transfer>> {
        // Ids begin with a digit: `~` is behind all of them.
        let upper = (kind, start.unwrap_or("~").to_owned(), String::new());
        let lower = (kind, String::new(), String::new());
        let transfers = self.0.read();
        let found = transfers.range((Bound::Included(lower), Bound::Excluded(upper)));
        let found = found.rev().map(|(_, transfer)| transfer);
        found.filter(|there| matches(there)).take(most).cloned().collect()
    }
}

/// Whether something is remembered.
fn is_kept(transfer: &Transfer, now: Moment) -> bool {
    let kept = Duration::from_secs(u64::from(limits::TRANSFER_DAYS) * 86_400);
    now < transfer.start.plus(kept)
}
