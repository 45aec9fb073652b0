//! The recorder of a request in progress.

use std::time::Duration;

use super::counts::AccountCounts;
use super::event::{Event, EventKind};
use super::request::{Injected, ItemAction, LoggedBody, ObservedScan, Permission, RecordedAccess, Request};
use crate::answer::Delivery;
use crate::caller::Caller;
use crate::capacity::units::Units;
use crate::capacity::{Consumed, Direction, Exceeded};
use crate::clock::Moment;
use crate::error::{ApiError, Detail, ErrorKind};
use crate::value::Name;

/// Touches of one request that are remembered: as many as a transaction or a batch can have.
const MOST_ACCESSES: usize = 100;
/// Characters of an operation's name that are recorded: callers can send any name.
const LONGEST_OPERATION: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestEnd {
    pub status: u16,
    pub error: Option<ErrorKind>,
    /// How the answer is delivered.
    pub delivery: Delivery,
    pub latency: Duration,
}

/// What is recorded of a request in progress.
#[derive(Debug)]
pub struct RequestRecorder {
    owner: Caller,
    request: Request,
    counts: AccountCounts,
    scans: Vec<ObservedScan>,
    /// Entries executed or refused, and how many of them were throttled.
    entries: u64,
    throttled: u64,
    /// The events it causes, while there are listeners.
    events: Option<Vec<Event>>,
    /// What makes entries fail that are not recorded yet, and with what.
    injected: Vec<(Injected, ErrorKind)>,
    /// How long ago the state was replaced that the next entry has seen.
    age: Option<Duration>,
}

/// What a recorder leaves behind.
pub(super) struct RecordedRequest {
    pub owner: Caller,
    pub request: Request,
    pub counts: AccountCounts,
    pub scans: Vec<ObservedScan>,
    pub events: Option<Vec<Event>>,
}

impl RequestRecorder {
    /// A new request; `owner` is the owner of the tables it sees.
    pub fn new(owner: Caller, caller: Caller, operation: &str, at: Moment) -> RequestRecorder {
        let operation: Name = operation.chars().take(LONGEST_OPERATION).collect();
        RequestRecorder {
            owner,
            request: Request {
                number: 0,
                at,
                caller,
                principal: None,
                operation,
                permissions: Vec::new(),
                tables: Vec::new(),
                accesses: Vec::new(),
                more: 0,
                status: 0,
                error: None,
                delivery: Delivery::Whole,
                read: Units::ZERO,
                write: Units::ZERO,
                scanned: 0,
                returned: 0,
                bodies: None,
            },
            counts: AccountCounts::default(),
            scans: Vec::new(),
            entries: 0,
            throttled: 0,
            events: None,
            injected: Vec::new(),
            age: None,
        }
    }

    /// Collects the events that the request causes.
    pub fn collect_events(&mut self) {
        self.events = Some(Vec::new());
    }

    /// Whether it collects what the request causes.
    pub fn collects_events(&self) -> bool {
        self.events.is_some()
    }

    /// It has caused something in a table.
    pub fn cause(&mut self, at: Moment, table: &Name, kind: EventKind) {
        let owner = &self.owner;
        if let Some(events) = &mut self.events {
            events.push(Event {
                id: 0,
                at,
                owner: owner.clone(),
                table: Some(table.clone()),
                request: None,
                kind,
            });
        }
    }

    /// An entry of it fails on purpose.
    pub fn inject(&mut self, injected: Injected, error: ErrorKind) {
        if self.injected.len() < MOST_ACCESSES {
            self.injected.push((injected, error));
        }
    }

    /// Sets the age of the state that the next read observes.
    pub fn set_read_age(&mut self, age: Duration) {
        self.age = self.age.max(Some(age));
    }

    pub fn at(&self) -> Moment {
        self.request.at
    }

    /// This user, role or root user sent it.
    pub fn set_principal(&mut self, arn: &str) {
        self.request.principal = Some(arn.into());
    }

    pub fn need(&mut self, permission: Permission) {
        let permissions = &mut self.request.permissions;
        if permissions.len() < MOST_ACCESSES && !permissions.contains(&permission) {
            permissions.push(permission);
        }
    }

    pub fn name_table(&mut self, table: &str) {
        let tables = &mut self.request.tables;
        if tables.len() < MOST_ACCESSES && !tables.iter().any(|there| there == table) {
            tables.push(table.into());
        }
    }

    /// Records an access to an item or a range.
    pub fn accessed(&mut self, mut access: RecordedAccess) {
        access.age = self.age.take();
        let injected = self.injected.iter().position(|(_, error)| Some(*error) == access.error);
        access.injected = injected.map(|at| self.injected.remove(at).0);
        self.request.scanned += access.scanned;
        self.entries += 1;
        if self.request.accesses.len() < MOST_ACCESSES {
            self.request.accesses.push(access);
        } else {
            self.request.more += 1;
        }
    }

    /// It has spent this, which was for reading or for writing.
    pub fn spend(&mut self, consumed: &Consumed, direction: Direction) {
        let locals: Units = consumed.locals.iter().map(|(_, units)| *units).sum();
        let table = (None, consumed.table + locals);
        let globals = consumed.globals.iter().map(|(index, units)| (Some(index), *units));
        for (index, units) in std::iter::once(table)
            .chain(globals)
            .filter(|(_, units)| !units.is_zero())
        {
            match direction {
                Direction::Read => self.spend_read(&consumed.table_name, index, units),
                Direction::Write => self.spend_write(&consumed.table_name, index, units),
            }
        }
    }

    /// It has spent units on reading a table or a global index.
    pub fn spend_read(&mut self, table: &Name, index: Option<&Name>, units: Units) {
        self.request.read += units;
        self.counts.table(table).resource(index).read += units;
    }

    /// It has spent units on writing a table or a global index.
    pub fn spend_write(&mut self, table: &Name, index: Option<&Name>, units: Units) {
        self.request.write += units;
        self.counts.table(table).resource(index).write += units;
    }

    /// Records that an entry failed, alone or in a transaction. CloudWatch counts failed conditions of single
    /// writes; of a transaction it counts the cancellation.
    pub fn fail(&mut self, table: &Name, error: &ApiError, in_transaction: bool) {
        if let Detail::Throttling(reasons) = error.detail() {
            self.throttled += 1;
            for reason in reasons {
                let Some((exceeded, of_index, writes)) = Exceeded::of_reason(reason.reason) else {
                    continue;
                };
                let index = reason.resource.rsplit_once("/index/").map(|(_, name)| Name::new(name));
                let resource = self.counts.table(table).resource(index.as_ref().filter(|_| of_index));
                resource.throttles[usize::from(writes)][exceeded.place()] += 1;
            }
            self.counts.table(table).throttled = true;
        }
        match error.kind() {
            ErrorKind::ConditionalCheckFailed if !in_transaction => self.counts.table(table).failed_conditions += 1,
            ErrorKind::TransactionConflict => self.counts.table(table).conflicts += 1,
            _ => {}
        }
    }

    /// Records the number of returned items.
    pub fn answer(&mut self, items: u64) {
        self.request.returned += items;
    }

    /// Records the number of items returned from a range of a table.
    pub fn answer_of_range(&mut self, table: &Name, items: u64) {
        self.answer(items);
        let operation = self.request.operation.clone();
        self.counts.table(table).operation(&operation).returned += items;
    }

    /// Records the records returned from a stream, their bytes, and the age of the last; `None` if nothing is left to read.
    pub fn answer_records(&mut self, table: &Name, label: &str, (records, bytes): (u64, u64), age: Duration) {
        self.answer(records);
        let stream = self.counts.table(table).stream(label);
        stream.age.add(age.as_secs_f64() * 1000.0);
        stream.records += records;
        stream.bytes += bytes;
    }

    /// It has read all of a table or an index, or a page of it.
    pub fn scan(&mut self, access: &RecordedAccess, partition_keys: Vec<(Option<Name>, Name)>) {
        self.scans.push(ObservedScan {
            operation: self.request.operation.clone(),
            table: access.table.clone(),
            index: access.index.clone(),
            caller: self.request.caller.clone(),
            first: self.request.at,
            times: 1,
            scanned: access.scanned,
            partition_keys,
        });
    }

    /// It had this body, and was answered with that.
    pub fn keep_bodies(&mut self, sent: &[u8], answered: &[u8]) {
        let bodies = [sent, answered].map(LoggedBody::of);
        self.request.bodies = Some(Box::new(bodies));
    }

    /// Whether the request as a whole counts as throttled: a batch does if all of it is.
    fn is_throttled(&self) -> bool {
        let batch = self.request.operation.starts_with("Batch");
        self.throttled > 0 && (!batch || self.throttled == self.entries)
    }

    pub(super) fn close(mut self, end: RequestEnd) -> RecordedRequest {
        let operation = self.request.operation.clone();
        let throttled = self.is_throttled();
        if throttled {
            self.counts.throttle(&operation);
        }
        if end.status == 400 && !throttled && end.error != Some(ErrorKind::ConditionalCheckFailed) {
            self.counts.user_errors += 1;
        }
        // A response that was never sent has no visible status.
        if end.status >= 500 && end.delivery != Delivery::Reset {
            let tables = self.request.tables.clone();
            self.counts.fail(&tables, &operation);
        }
        if end.status == 200 {
            let milliseconds = end.latency.as_secs_f64() * 1000.0;
            for table in &self.request.tables {
                self.counts.table(table).operation(&operation).latency.add(milliseconds);
            }
        }
        self.request.status = end.status;
        self.request.error = end.error;
        self.request.delivery = end.delivery;
        RecordedRequest {
            owner: self.owner,
            request: self.request,
            counts: self.counts,
            scans: self.scans,
            events: self.events,
        }
    }
}

/// Whether an act is one of a range without a partition key.
impl ItemAction {
    /// What reading a range is, by whether it has a partition key.
    pub const fn of_range(has_partition: bool) -> ItemAction {
        if has_partition {
            ItemAction::Query
        } else {
            ItemAction::Scan
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An injected error belongs to the first entry that has failed with it.
    #[test]
    fn injected_errors_belong_to_the_entries_that_have_them() {
        let caller = Caller {
            access_key: "me".into(),
            region: "us-east-1".into(),
        };
        let (conflict, throttle) = (ErrorKind::TransactionConflict, ErrorKind::ProvisionedThroughputExceeded);
        let mut recorder = RequestRecorder::new(caller.clone(), caller, "BatchGetItem", Moment::START);
        for (rule, error) in [(3, throttle), (5, conflict), (2, throttle), (4, throttle)] {
            recorder.inject(Injected::Rule(rule), error);
        }
        let entries = [
            (None, None),
            (Some(ErrorKind::ConditionalCheckFailed), None),
            (Some(throttle), Some(3)),
            (Some(throttle), Some(2)),
            (Some(conflict), Some(5)),
            (Some(throttle), Some(4)),
            (Some(throttle), None),
        ];
        for (error, _) in entries {
            let mut access = RecordedAccess::new(ItemAction::Get, Name::new("tab"));
            access.error = error;
            recorder.accessed(access);
        }
        let injected = recorder.request.accesses.iter().map(|access| access.injected);
        let expect = entries.map(|(_, rule)| rule.map(Injected::Rule));
        assert_eq!(injected.collect::<Vec<_>>(), expect);
    }

    #[test]
    fn the_first_entries_are_recorded_and_all_are_counted() {
        let caller = Caller {
            access_key: "me".into(),
            region: "us-east-1".into(),
        };
        let mut recorder = RequestRecorder::new(caller.clone(), caller, "BatchGetItem", Moment::START);
        for at in 0..MOST_ACCESSES + 3 {
            let mut access = RecordedAccess::new(ItemAction::Get, Name::new("tab"));
            access.scanned = 2;
            recorder.accessed(access);
            recorder.name_table(&format!("tab-{at}"));
            recorder.name_table("tab-0");
        }
        let request = &recorder.request;
        let recorded = (request.accesses.len(), request.more, request.scanned);
        assert_eq!(recorded, (MOST_ACCESSES, 3, 2 * (MOST_ACCESSES as u64 + 3)));
        assert_eq!(request.tables.len(), MOST_ACCESSES);
        for at in 0..2 * MOST_ACCESSES + 6 {
            recorder.need(Permission {
                action: "GetItem",
                resource: format!("table-{}", at / 2).as_str().into(),
                leading_keys: None,
                attributes: None,
                select: None,
                return_values: None,
            });
        }
        let needed = recorder
            .request
            .permissions
            .iter()
            .map(|needed| needed.resource.to_string());
        let expect = (0..MOST_ACCESSES).map(|at| format!("table-{at}"));
        assert!(needed.eq(expect), "each once");
    }
}
