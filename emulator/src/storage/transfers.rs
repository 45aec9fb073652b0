//! The exports, imports and bulk operations of a region.

mod record;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

pub use record::{IndexBytes, Progress, TransferCounts, TransferKind, TransferRecord, TransferRequest};

use super::commit::{AppendError, Committed, Mutation, Origin, RegionLog};
use super::identity::TableId;
use super::scope::Scope;
use crate::clock::Moment;
use crate::limits;
use crate::sorted::SortedMap;
use crate::sync::{Mutex, RwLock, RwLockReadGuard};
use crate::transfer::Failure;

/// An export, import or bulk operation.
#[derive(Debug)]
pub struct Transfer {
    pub record: TransferRecord,
    scope: Scope,
    log: RegionLog,
    /// The table's id; an import's is empty until its table exists.
    table_id: Mutex<String>,
    progress: Mutex<Progress>,
    /// Held during a change of it: changes are serialized, although the log is locked before the progress.
    changing: Mutex<()>,
}

impl Deref for Transfer {
    type Target = TransferRecord;

    fn deref(&self) -> &TransferRecord {
        &self.record
    }
}

impl Transfer {
    /// The id of its table; an import's is empty until its table exists.
    pub fn table_id(&self) -> String {
        self.table_id.lock().clone()
    }

    pub fn progress(&self) -> Progress {
        self.progress.lock().clone()
    }

    /// Sets its outcome, which is visible from `end` on.
    pub fn finish(
        &self,
        (now, end): (Moment, Moment),
        failure: Option<Failure>,
        counts: TransferCounts,
    ) -> Result<(), AppendError> {
        self.change(now, |progress| {
            progress.end = end;
            progress.failure = failure;
            progress.counts = counts;
        })
    }

    /// Sets the outcome of an import with the listing of its table, so that neither is stored without the other.
    pub(super) fn finish_with_table(
        &self,
        (now, end): (Moment, Moment),
        failure: Option<Failure>,
        counts: TransferCounts,
        (table, table_id): (TableId, &str),
        list: impl FnOnce(&Committed<'_>),
    ) -> Result<(), AppendError> {
        let _turn = self.changing.lock();
        let progress = Progress {
            end,
            failure,
            counts,
            ..self.progress()
        };
        let committed = self.log.begin(now, Origin::Request, || {
            vec![Mutation::ListTable { table }, self.mutation(table_id, &progress)]
        })?;
        list(&committed);
        self.set(&committed, table_id.to_owned(), progress);
        Ok(())
    }

    /// Ends it as failed, if it has no outcome, because the request that executes it fails. This is applied even if the sink
    /// refuses it: a replay without this commit ends the transfer, too.
    pub fn abandon(&self, now: Moment) {
        let _turn = self.changing.lock();
        let mut progress = self.progress();
        if progress.end == Moment::NEVER {
            progress.end = now;
            progress.failure = Some(Failure::internal());
            let table_id = self.table_id();
            let committed = self.log.begin_due(now, || vec![self.mutation(&table_id, &progress)]);
            self.set(&committed, table_id, progress);
        }
    }

    /// Ends it as failed, if it has no outcome, because the process that executed it has ended. Returns whether it had none.
    pub(super) fn end_interrupted(&self, committed: &Committed<'_>) -> bool {
        let mut progress = self.progress();
        let is_interrupted = progress.end == Moment::NEVER;
        if is_interrupted {
            progress.end = committed.time;
            progress.failure = Some(Failure::internal());
            self.set(committed, self.table_id(), progress);
        }
        is_interrupted
    }

    /// Cancels it, unless it has completed.
    pub fn cancel(&self, now: Moment) -> Result<(), AppendError> {
        let progress = self.progress();
        if progress.end <= now || progress.cancelled.is_some() {
            return Ok(());
        }
        self.change(now, |progress| progress.cancelled = Some(now))
    }

    fn change(&self, now: Moment, change: impl FnOnce(&mut Progress)) -> Result<(), AppendError> {
        let _turn = self.changing.lock();
        let mut progress = self.progress();
        change(&mut progress);
        let table_id = self.table_id();
        let committed = self
            .log
            .begin(now, Origin::Request, || vec![self.mutation(&table_id, &progress)])?;
        self.set(&committed, table_id, progress);
        Ok(())
    }

    fn mutation(&self, table_id: &str, progress: &Progress) -> Mutation {
        Mutation::ChangeTransfer {
            scope: self.scope.clone(),
            kind: self.about.kind(),
            arn: self.arn.clone(),
            table_id: table_id.to_owned(),
            progress: Box::new(progress.clone()),
        }
    }

    pub(super) fn set(&self, _: &Committed<'_>, table_id: String, progress: Progress) {
        *self.table_id.lock() = table_id;
        *self.progress.lock() = progress;
    }
}

/// The result of beginning a transfer, by the earlier use of its token.
pub enum StartOutcome {
    /// The token is new: the transfer has begun.
    New(Arc<Transfer>),
    /// An identical transfer has been started before.
    Same(Arc<Transfer>),
    /// The token was used for a different request.
    Other,
}

/// The position of a transfer in order of time: kind, the id at the end of its ARN, its ARN.
pub(super) type TransferOrder = (TransferKind, String, String);

fn place(kind: TransferKind, arn: &str) -> TransferOrder {
    let id = arn.rsplit('/').next().unwrap_or_default();
    (kind, id.to_owned(), arn.to_owned())
}

pub(super) type TransfersByTime = SortedMap<TransferOrder, Arc<Transfer>>;

/// The exports, imports and bulk operations of an account in a region.
#[derive(Debug)]
pub struct Transfers {
    scope: Scope,
    log: RegionLog,
    by_place: RwLock<TransfersByTime>,
}

impl Transfers {
    pub(super) fn new(scope: Scope, log: RegionLog) -> Transfers {
        Transfers {
            scope,
            log,
            by_place: RwLock::default(),
        }
    }

    /// Adds a transfer, unless its token was used by one for which `holds` returns true. `new_arn` chooses its ARN, given
    /// which ones are in use.
    pub fn begin(
        &self,
        mut record: TransferRecord,
        table_id: String,
        new_arn: impl FnOnce(&dyn Fn(&str) -> bool) -> String,
        holds: impl Fn(&Transfer) -> bool,
    ) -> Result<StartOutcome, AppendError> {
        let kind = record.about.kind();
        let mut transfers = self.by_place.write();
        transfers.retain(|there| is_kept(there, record.start));
        let token = record.token.as_ref();
        let same_token = |there: &&Arc<Transfer>| {
            let theirs = there.token.as_ref().map(|(token, _)| token);
            there.about.kind() == kind && theirs.is_some() && theirs == token.map(|(token, _)| token) && holds(there)
        };
        if let Some(there) = transfers.values().rev().find(same_token) {
            return Ok(if there.token == record.token {
                StartOutcome::Same(Arc::clone(there))
            } else {
                StartOutcome::Other
            });
        }
        record.arn = new_arn(&|arn| transfers.contains_key(&place(kind, arn)));
        let committed = self.log.begin(record.start, Origin::Request, || {
            vec![Mutation::StartTransfer {
                scope: self.scope.clone(),
                record: Box::new(record.clone()),
                table_id: table_id.clone(),
                progress: Box::new(Progress::BEGUN),
            }]
        })?;
        let transfer = self.insert(&committed, &mut transfers, record, (table_id, Progress::BEGUN));
        Ok(StartOutcome::New(transfer))
    }

    fn insert(
        &self,
        _: &Committed<'_>,
        transfers: &mut TransfersByTime,
        record: TransferRecord,
        (table_id, progress): (String, Progress),
    ) -> Arc<Transfer> {
        let transfer = Arc::new(Transfer {
            record,
            scope: self.scope.clone(),
            log: self.log.clone(),
            table_id: Mutex::new(table_id),
            progress: Mutex::new(progress),
            changing: Mutex::default(),
        });
        transfers.insert(place(transfer.about.kind(), &transfer.arn), Arc::clone(&transfer));
        transfer
    }

    /// Replays the beginning of a transfer.
    pub(super) fn replay_begin(&self, committed: &Committed<'_>, record: TransferRecord, state: (String, Progress)) {
        self.insert(committed, &mut self.by_place.write(), record, state);
    }

    /// Ends the transfers of a process that has ended, and returns whether there were any.
    pub(super) fn end_interrupted(&self, committed: &Committed<'_>) -> bool {
        let transfers = self.by_place.read();
        transfers
            .values()
            .fold(false, |changed, transfer| transfer.end_interrupted(committed) | changed)
    }

    /// Finds the transfer of this ARN, however old it is.
    pub(super) fn find(&self, kind: TransferKind, arn: &str) -> Option<Arc<Transfer>> {
        self.by_place.read().get(&place(kind, arn)).cloned()
    }

    /// Locks all transfers, so that none is added or removed.
    pub(super) fn lock(&self) -> RwLockReadGuard<'_, TransfersByTime> {
        self.by_place.read()
    }

    /// Finds the transfer of this ARN.
    pub fn get(&self, kind: TransferKind, arn: &str, now: Moment) -> Option<Arc<Transfer>> {
        let transfers = self.by_place.read();
        transfers
            .get(&place(kind, arn))
            .filter(|there| is_kept(there, now))
            .cloned()
    }

    /// Whether a transfer of this kind is running on a table.
    pub fn is_running(&self, kind: TransferKind, table_id: &str, now: Moment) -> bool {
        let runs = |there: &Transfer| {
            let progress = there.progress();
            there.table_id() == table_id && now < progress.end && progress.cancelled.is_none()
        };
        !self.list(kind, None, (1, now), runs).is_empty()
    }

    /// The first `most` matching transfers after the id `start` that are remembered at `now`, newest first.
    pub fn list(
        &self,
        kind: TransferKind,
        start: Option<&str>,
        (most, now): (usize, Moment),
        matches: impl Fn(&Transfer) -> bool,
    ) -> Vec<Arc<Transfer>> {
        // Ids begin with a digit: `~` follows all of them.
        let upper = (kind, start.unwrap_or("~").to_owned(), String::new());
        let transfers = self.by_place.read();
        let before = transfers.iter().rev().skip_while(|(place, _)| *place >= upper);
        let found = before
            .take_while(|(place, _)| place.0 == kind)
            .map(|(_, transfer)| transfer);
        let found = found.filter(|there| is_kept(there, now) && matches(there));
        found.take(most).cloned().collect()
    }
}

/// Whether a transfer is still remembered.
pub(super) fn is_kept(transfer: &Transfer, now: Moment) -> bool {
    let kept = Duration::from_secs(u64::from(limits::TRANSFER_DAYS) * 86_400);
    now < transfer.start.plus(kept)
}
