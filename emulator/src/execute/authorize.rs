//! Decides whether a request may proceed: access policies, fault rules, and the conditions that make requests fail.

use compact_str::CompactString;

use super::{permit, trace};
use crate::answer::Delivery;
use crate::context::{Context, RateKind};
use crate::error::{ApiError, ErrorKind, Exceeded, Throttle};
use crate::fault::{FaultDecision, FaultSubject, Verdict};
use crate::journal::Injected;
use crate::plan::{Access, ItemAccess};
use crate::schema::BillingMode;
use crate::value::AttributeValue;

/// How the rejection of one entry affects the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalScope {
    Request,
    /// Throttled entries are returned as unprocessed; any other rejection fails the request when the entry is reached.
    Throttled,
    /// Each entry has its own result.
    Entry,
    /// All entries are cancelled together, with a reason for each.
    Transaction,
}

/// The rejected entries of a request, by position. An empty list allocates no memory.
#[derive(Debug, Default)]
pub struct Refusals(Vec<Option<ApiError>>);

impl Refusals {
    /// Creates the refusals from the error of each entry.
    pub(super) fn new(refusals: Vec<Option<ApiError>>) -> Refusals {
        Refusals(refusals)
    }

    /// Takes the error of an entry, if it is rejected.
    pub fn of(&mut self, entry: usize) -> Result<(), ApiError> {
        self.0.get_mut(entry).and_then(Option::take).map_or(Ok(()), Err)
    }

    /// Whether an entry is rejected.
    fn refuses(&self, entry: usize) -> bool {
        self.0.get(entry).is_some_and(Option::is_some)
    }

    /// Whether any entry is rejected.
    pub fn any(&self) -> bool {
        !self.0.is_empty()
    }
}

/// Decides whether a request may proceed, entry by entry: by the access policies, the settings that make requests fail
/// and the fault rules. Every request of every operation passes here once, between its plan and its execution; `each`
/// calls back for every access of the request. Without rules, and without settings for its tables, an entry costs one
/// lookup of its table's settings.
#[inline]
pub fn authorize(
    context: &Context<'_>,
    refusal: RefusalScope,
    each: impl Fn(&mut dyn FnMut(Access<'_, '_>)),
) -> Result<Refusals, ApiError> {
    let mut never_waits_or_fails = context.engine.faults().is_empty() && context.identity().is_none();
    each(&mut |access| never_waits_or_fails &= access.never_waits_or_fails(context));
    if never_waits_or_fails {
        return Ok(Refusals::default());
    }
    authorize_each(context, refusal, &each)
}

/// Calls back for every access of a request, entry by entry.
pub(super) type EachAccess<'a> = dyn Fn(&mut dyn FnMut(Access<'_, '_>)) + 'a;

#[cold]
fn authorize_each(context: &Context<'_>, refusal: RefusalScope, each: &EachAccess<'_>) -> Result<Refusals, ApiError> {
    let mut permits = permit::permit(context, refusal, each)?;
    if context.is_recorded() {
        let mut entry = 0;
        each(&mut |access| {
            if !permits.refuses(entry) {
                trace::permitted(context, &access);
            }
            entry += 1;
        });
    }
    let mut refusals: Vec<Option<ApiError>> = Vec::new();
    let mut refused = None;
    let mut entry = 0;
    each(&mut |access| {
        if refused.is_some() {
            return;
        }
        let verdict = permits.of(entry).and_then(|()| context.apply_effects(&access));
        if let Err(error) = verdict {
            if refusal != RefusalScope::Transaction {
                trace::refused(context, &access, &error);
            }
            let goes_on = match refusal {
                RefusalScope::Request => false,
                RefusalScope::Throttled => is_throttle(&error),
                RefusalScope::Entry => true,
                RefusalScope::Transaction => cancels(&error),
            };
            let fails_at_once = matches!(refusal, RefusalScope::Request | RefusalScope::Transaction);
            if !goes_on {
                refused = Some(fails_at_once.then(|| error.clone()));
            }
            refusals.resize(entry, None);
            refusals.push(Some(error));
        }
        entry += 1;
    });
    match refused.flatten() {
        Some(error) => Err(error),
        None => Ok(Refusals(refusals)),
    }
}

impl Access<'_, '_> {
    /// Whether no setting of the table makes requests wait or fail.
    #[inline]
    fn never_waits_or_fails(&self, context: &Context<'_>) -> bool {
        match self {
            Access::Items(access) => {
                let conditions = &access.shape().conditions;
                conditions.latency.is_none() && conditions.internal_errors == 0.0 && conditions.throttles == 0.0
            }
            Access::Control(access) => !context.is_recorded() && context.never_delays_control(access.table),
        }
    }
}

impl Context<'_> {
    #[cold]
    fn never_delays_control(&self, table: &str) -> bool {
        self.engine.never_delays_control(&self.scope, table)
    }

    fn apply_effects(&self, access: &Access<'_, '_>) -> Result<(), ApiError> {
        match access {
            Access::Items(access) => self.authorize_items(access),
            Access::Control(access) => self.authorize_control(access.table),
        }
    }

    /// Applies the rules and settings to an entry of the data plane.
    fn authorize_items(&self, entry: &ItemAccess<'_, '_>) -> Result<(), ApiError> {
        let faults = self.engine.faults();
        let (table, shape) = (entry.table(), entry.shape());
        let conditions = &shape.conditions;
        if let Some(latency) = &conditions.latency {
            self.take(latency);
        }
        let injects_errors = conditions.internal_errors != 0.0 || conditions.throttles != 0.0;
        if faults.is_empty() && !injects_errors {
            return Ok(());
        }
        let partition = entry.partition().and_then(key_text);
        let subject = FaultSubject {
            operation: self.operation,
            table: &table.name,
            index: entry.index(),
            feeds: if entry.writes() { &shape.definition.globals } else { &[] },
            caller: &self.caller.access_key,
            region: &self.caller.region,
            now: self.now,
            owner: self.scope.hash(),
            partition: partition.as_deref(),
        };
        if let Some(decided) = faults.evaluate(&subject) {
            let index = decided.index.as_deref().or(entry.index());
            let key_arn = shape.definition.encryption.as_ref();
            let key_arn = key_arn.map(|encryption| encryption.key_arn.as_str());
            let throttle = |throttle| match throttle {
                ThrottleForm::As(exceeded) => throttled(entry, index, exceeded),
                ThrottleForm::With(ErrorKind::ProvisionedThroughputExceeded) => {
                    throttled(entry, index, Some(Exceeded::ProvisionedThroughput))
                }
                ThrottleForm::With(ErrorKind::RequestLimitExceeded) => {
                    throttled(entry, index, Some(Exceeded::AccountLimit))
                }
                ThrottleForm::With(_) => on_demand_throttled(entry, index),
            };
            let carried_out = self.carry_out(&decided, (&table.name, key_arn), throttle);
            return carried_out.inspect_err(|error| trace::injected(self, Injected::Rule(decided.rule.0), error));
        }
        if injects_errors {
            if faults.decide("internal error", &subject, conditions.internal_errors) {
                let error = ApiError::internal();
                trace::injected(self, Injected::Condition("internalErrors"), &error);
                return Err(error);
            }
            if faults.decide("throttle", &subject, conditions.throttles) {
                let error = throttled(entry, entry.index(), None);
                trace::injected(self, Injected::Condition("throttles"), &error);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Applies the rules, settings and rates to a request of the control plane; `table` is empty if the request names none.
    fn authorize_control(&self, table: &str) -> Result<(), ApiError> {
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
                RateKind::Changes => ApiError::account_rate_exceeded(),
                RateKind::Own(_) | RateKind::Others => ApiError::rate_exceeded(),
            })?;
        }
        match self.engine.faults().evaluate(&FaultSubject {
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

    /// Applies a rule's decision about a table and its encryption key.
    fn carry_out(
        &self,
        decided: &FaultDecision,
        (table, key_arn): (&str, Option<&str>),
        throttle: impl FnOnce(ThrottleForm) -> ApiError,
    ) -> Result<(), ApiError> {
        match decided.verdict {
            Verdict::Throttle(exceeded) => return Err(throttle(ThrottleForm::As(exceeded))),
            Verdict::InternalServerError => return Err(ApiError::internal()),
            Verdict::ServiceUnavailable => return Err(ApiError::unavailable()),
            Verdict::Exception(
                kind @ (ErrorKind::Throttling
                | ErrorKind::ProvisionedThroughputExceeded
                | ErrorKind::RequestLimitExceeded),
            ) => return Err(throttle(ThrottleForm::With(kind))),
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

enum ThrottleForm {
    /// For this reason, or for the limit of the table's billing mode.
    As(Option<Exceeded>),
    /// With the form of this exception.
    With(ErrorKind),
}

/// Operations that fill a new table with items.
const FILLING: [&str; 3] = ["ImportTable", "RestoreTableFromBackup", "RestoreTableToPointInTime"];

/// Whether an entry's error cancels the transaction with a reason, instead of failing the whole request.
pub(super) fn cancels(error: &ApiError) -> bool {
    let of_entry = matches!(
        error.kind(),
        ErrorKind::Validation
            | ErrorKind::ConditionalCheckFailed
            | ErrorKind::ItemCollectionSizeLimitExceeded
            | ErrorKind::DuplicateItem
            | ErrorKind::ResourceNotFound
            | ErrorKind::TransactionConflict
    );
    of_entry || is_throttle(error)
}

/// Whether an error is a throttle: the entry of a batch is then returned as unprocessed.
pub fn is_throttle(error: &ApiError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ProvisionedThroughputExceeded | ErrorKind::Throttling | ErrorKind::RequestLimitExceeded
    )
}

/// A partition key in the notation of fault rules. Binary keys have none.
fn key_text(value: &AttributeValue) -> Option<CompactString> {
    match value {
        AttributeValue::S(text) => Some(text.clone()),
        AttributeValue::N(number) => Some(compact_str::format_compact!("{number}")),
        _ => None,
    }
}

/// The service's error for a throttled entry: by default for the limit of its table's billing mode. A global index has
/// its own throughput, a local one uses its table's.
fn throttled(entry: &ItemAccess<'_, '_>, index: Option<&str>, exceeded: Option<Exceeded>) -> ApiError {
    ApiError::throttled(vec![throttle(entry, index, exceeded)])
}

fn throttle(entry: &ItemAccess<'_, '_>, index: Option<&str>, exceeded: Option<Exceeded>) -> Throttle {
    let definition = &entry.shape().definition;
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
        writes: entry.writes(),
        provisioned,
        resource: entry.table().resource_arn(index),
    }
}

/// `ThrottlingException` on any table: its key range is too hot.
fn on_demand_throttled(entry: &ItemAccess<'_, '_>, index: Option<&str>) -> ApiError {
    ApiError::throttled(vec![Throttle {
        provisioned: false,
        ..throttle(entry, index, Some(Exceeded::KeyRangeThroughput))
    }])
}
