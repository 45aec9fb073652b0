//! The first step of every entry: the fault rules and the dials that make requests fail.

use compact_str::CompactString;

use super::Context;
use super::rates::Kind;
use crate::answer::Delivery;
use crate::error::{ApiError, ErrorKind, Exceeded, Throttle};
use crate::fault::{Decision, Subject, Verdict};
use crate::schema::{BillingMode, KeySchema};
use crate::storage::{Shape, Table};
use crate::value::{AttributeValue, Map};

/// What the rules are held against: an entry of a request.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    /// The table.
    pub table: &'a Table,
    /// Its shape.
    pub shape: &'a Shape,
    /// The index that is read, if one is.
    pub index: Option<&'a str>,
    /// The value of the partition key, if the entry has one.
    pub partition: Option<&'a AttributeValue>,
    /// Whether the entry writes.
    pub writes: bool,
}

impl<'a> Entry<'a> {
    /// The partition key of a key or item, under a schema.
    pub fn partition_of(schema: &KeySchema, map: &'a Map) -> Option<&'a AttributeValue> {
        map.get(&schema.hash.first()?.name)
    }
}

impl Context<'_> {
    /// Holds the rules and dials against an entry of the data plane.
    pub fn judge(&self, entry: &Entry<'_>) -> Result<(), ApiError> {
        let faults = self.engine.faults();
        let conditions = &entry.shape.conditions;
        if let Some(latency) = &conditions.latency {
            self.take(latency);
        }
        let dials = conditions.internal_errors != 0.0 || conditions.throttles != 0.0;
        if faults.is_empty() && !dials {
            return Ok(());
        }
        let partition = entry.partition.and_then(key_text);
        let subject = Subject {
            operation: self.operation,
            table: &entry.table.name,
            index: entry.index,
            feeds: if entry.writes {
                &entry.shape.definition.globals
            } else {
                &[]
            },
            caller: &self.caller.access_key,
            region: &self.caller.region,
            now: self.now,
            owner: self.scope.hash(),
            partition: partition.as_deref(),
        };
        if let Some(decided) = faults.judge(&subject) {
            let index = decided.index.as_deref().or(entry.index);
            let key_arn = entry.shape.definition.encryption.as_ref();
            let key_arn = key_arn.map(|encryption| encryption.key_arn.as_str());
            let throttle = |throttle| match throttle {
                Throttled::As(exceeded) => throttled(entry, index, exceeded),
                Throttled::With(ErrorKind::ProvisionedThroughputExceeded) => {
                    throttled(entry, index, Some(Exceeded::ProvisionedThroughput))
                }
                Throttled::With(ErrorKind::RequestLimitExceeded) => {
                    throttled(entry, index, Some(Exceeded::AccountLimit))
                }
                Throttled::With(_) => on_demand_throttled(entry, index),
            };
            return self.carry_out(&decided, (&entry.table.name, key_arn), throttle);
        }
        if dials {
            if faults.decide("internal error", &subject, conditions.internal_errors) {
                return Err(ApiError::internal());
            }
            if faults.decide("throttle", &subject, conditions.throttles) {
                return Err(throttled(entry, entry.index, None));
            }
        }
        Ok(())
    }

    /// Holds the rules against a request of the control plane; `table` is empty where it names none.
    pub fn judge_control(&self, table: &str) -> Result<(), ApiError> {
        let conditions = self.engine.conditions_of(&self.scope, table);
        if let Some(latency) = &conditions.latency {
            self.take(latency);
        }
        if self.engine.is_full() && FILLING.contains(&self.operation) {
            return Err(ApiError::out_of_memory());
        }
        if conditions.control_limits {
            let admitted = self.engine.rates().admit(self.scope.hash(), self.operation, self.now);
            admitted.map_err(|kind| match kind {
                Kind::Changes => ApiError::account_rate_exceeded(),
                Kind::Own(_) | Kind::Others => ApiError::rate_exceeded(),
            })?;
        }
        match self.engine.faults().judge(&Subject {
            operation: self.operation,
            table,
            index: None,
            feeds: &[],
            caller: &self.caller.access_key,
            region: &self.caller.region,
            now: self.now,
            owner: self.scope.hash(),
            partition: None,
        }) {
            None => Ok(()),
            Some(decided) => self.carry_out(&decided, (table, None), |_| ApiError::rate_exceeded()),
        }
    }

    /// Carries out what a rule decided about a table and its encryption key.
    fn carry_out(
        &self,
        decided: &Decision,
        (table, key_arn): (&str, Option<&str>),
        throttle: impl FnOnce(Throttled) -> ApiError,
    ) -> Result<(), ApiError> {
        match decided.verdict {
            Verdict::Throttle(exceeded) => return Err(throttle(Throttled::As(exceeded))),
            Verdict::InternalServerError => return Err(ApiError::internal()),
            Verdict::ServiceUnavailable => return Err(ApiError::unavailable()),
            Verdict::Exception(
                kind @ (ErrorKind::Throttling
                | ErrorKind::ProvisionedThroughputExceeded
                | ErrorKind::RequestLimitExceeded),
            ) => return Err(throttle(Throttled::With(kind))),
            Verdict::Exception(kind) => return Err(self.injected(kind, table)),
            Verdict::Kms(fault) => return Err(self.kms_error(fault, key_arn)),
            Verdict::Reset => {
                self.deliver(Delivery::Reset);
                return Err(ApiError::internal());
            }
            Verdict::Wait(by) => self.wait_by_rule(by, decided.moves_clock),
            Verdict::WaitAbout(lag) => self.wait_by_rule(lag.longest(), decided.moves_clock),
            Verdict::AnswerLost => self.deliver(Delivery::Lost),
            Verdict::Truncate(bytes) => self.deliver(Delivery::Truncated(bytes)),
            Verdict::InternalServerErrorAfterApply => self.change_effects(|effects| effects.fails = true),
            Verdict::CorruptChecksum => self.change_effects(|effects| effects.corrupt_checksum = true),
            Verdict::FailJob(fault) => self.change_effects(|effects| effects.job_fault = Some(fault)),
        }
        Ok(())
    }
}

/// How a rule throttles.
enum Throttled {
    /// For this reason, or for what the table's billing mode runs out of.
    As(Option<Exceeded>),
    /// With this exception.
    With(ErrorKind),
}

/// Operations that fill a new table with items.
const FILLING: [&str; 3] = ["ImportTable", "RestoreTableFromBackup", "RestoreTableToPointInTime"];

/// Whether an error is a throttle: in a batch its entry comes back unprocessed.
pub fn is_throttle(error: &ApiError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ProvisionedThroughputExceeded | ErrorKind::Throttling | ErrorKind::RequestLimitExceeded
    )
}

/// A partition key as rules name it. Binary keys have no such name.
fn key_text(value: &AttributeValue) -> Option<CompactString> {
    match value {
        AttributeValue::S(text) => Some(text.clone()),
        AttributeValue::N(number) => Some(compact_str::format_compact!("{number}")),
        _ => None,
    }
}

/// The service's error for an entry that is throttled: by default for what its table's billing mode runs out of. A global
/// index has throughput of its own, a local one its table's.
fn throttled(entry: &Entry<'_>, index: Option<&str>, exceeded: Option<Exceeded>) -> ApiError {
    ApiError::throttled(vec![throttle(entry, index, exceeded)])
}

fn throttle(entry: &Entry<'_>, index: Option<&str>, exceeded: Option<Exceeded>) -> Throttle {
    let definition = &entry.shape.definition;
    let provisioned = definition.billing == BillingMode::Provisioned;
    let index = index.filter(|name| definition.globals.iter().any(|global| global.name == *name));
    let of_index = index.is_some();
    let exceeded = exceeded.unwrap_or(if provisioned {
        Exceeded::ProvisionedThroughput
    } else {
        Exceeded::KeyRangeThroughput
    });
    Throttle {
        exceeded,
        of_index,
        writes: entry.writes,
        provisioned,
        resource: entry.table.resource_arn(index),
    }
}

/// `ThrottlingException` on whatever table: its key range is too hot.
fn on_demand_throttled(entry: &Entry<'_>, index: Option<&str>) -> ApiError {
    ApiError::throttled(vec![Throttle {
        provisioned: false,
        ..throttle(entry, index, Some(Exceeded::KeyRangeThroughput))
    }])
}
