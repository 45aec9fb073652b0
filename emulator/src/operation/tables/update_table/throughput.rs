//! Billing mode, provisioned throughput and on-demand limits of the table (docs/behavior: 04 1.3, 4.1 and 5.2).

use std::time::Duration;

use super::edit::TableUpdate;
use crate::clock::Moment;
use crate::error::ApiError;
use crate::operation::tables::create_table::definition::throughput_of;
use crate::operation::tables::create_table::quota;
pub(super) use crate::operation::tables::create_table::quota::ThroughputOwner;
use crate::request::OnDemandThroughput as OnDemandRequest;
use crate::schema::{Adjustments, BillingMode, OnDemandThroughput, Throughput, initial_warm};
use crate::storage::{Job, JobKind};

/// Measured: 1 to 2 s.
const UNITS: f64 = 0.25;
/// Measured: 60 to 98 s.
const TO_PROVISIONED: f64 = 13.0;
/// Measured: 128 to 171 s the first time, then 4 to 5 s.
const FIRST_TO_ON_DEMAND: f64 = 25.0;
const AGAIN_TO_ON_DEMAND: f64 = 0.75;

/// Measured: a removed limit is visible as -1 for about 1 s.
const CLEARING: f64 = 0.17;

/// The number of decreases per day without a cooldown.
const FREE_DECREASES: u32 = 4;
const DECREASE_COOLDOWN: Duration = Duration::from_hours(1);

/// Rejects throughput that is unchanged.
pub(super) fn check_changes(was: Throughput, requested: Throughput, of: &ThroughputOwner<'_>) -> Result<(), ApiError> {
    if was != requested {
        return Ok(());
    }
    let (what, each) = match of {
        ThroughputOwner::Table => ("the table".to_owned(), "the table".to_owned()),
        ThroughputOwner::Index(name) => (format!("the index {name}"), format!("index {name}")),
    };
    let (read, write) = (was.read, was.write);
    Err(ApiError::validation(format!(
        "The provisioned throughput for {what} will not change. The requested value equals the current value. Current ReadCapacityUnits provisioned for {each}: {read}. Requested ReadCapacityUnits: {read}. Current WriteCapacityUnits provisioned for {each}: {write}. Requested WriteCapacityUnits: {write}. Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    )))
}

/// The warm throughput never falls below the highest provisioned throughput.
pub(super) fn raise_warm(
    warm: Option<Throughput>,
    was: (BillingMode, Throughput),
    to: (BillingMode, Throughput),
) -> Throughput {
    let there = warm.unwrap_or_else(|| initial_warm(was.0, was.1));
    let least = initial_warm(to.0, to.1);
    Throughput {
        read: there.read.max(least.read),
        write: there.write.max(least.write),
    }
}

impl TableUpdate<'_> {
    /// The billing mode after the request.
    fn billing(&self) -> BillingMode {
        match self.request.billing_mode.as_deref() {
            Some("PAY_PER_REQUEST") => BillingMode::PayPerRequest,
            Some(_) => BillingMode::Provisioned,
            None => self.shape.definition.billing,
        }
    }

    pub(super) fn throughput(&mut self) -> Result<(), ApiError> {
        let was = self.shape.definition.billing;
        let billing = self.billing();
        self.check_billing(was)?;
        let requested = self
            .request
            .provisioned_throughput
            .as_ref()
            .map(throughput_of)
            .transpose()?;
        if was != billing {
            return self.switch(billing, requested.unwrap_or_default());
        }
        if let Some(requested) = requested {
            return self.change_units(requested);
        }
        if self.request.billing_mode.is_some() {
            // The response has the status UPDATING, and nothing changes.
            self.begin(JobKind::Billing, self.context.now);
        }
        Ok(())
    }

    fn check_billing(&self, was: BillingMode) -> Result<(), ApiError> {
        let units = self.request.provisioned_throughput.is_some();
        let text = match (self.request.billing_mode.as_deref(), was) {
            (Some("PAY_PER_REQUEST"), _) if units => {
                "ProvisionedThroughput cannot be specified when BillingMode is PAY_PER_REQUEST"
            }
            (Some("PROVISIONED"), _) if !units => {
                "ProvisionedThroughput must be specified when BillingMode is PROVISIONED"
            }
            (None, BillingMode::PayPerRequest) if units => {
                "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
            }
            _ => return Ok(()),
        };
        Err(ApiError::invalid(text))
    }

    /// Rejects a second change of throughput or billing while the first is in progress.
    pub(super) fn refuse_while_units_change(&self) -> Result<(), ApiError> {
        if !self.shape.jobs.iter().any(Job::is_throughput) {
            return Ok(());
        }
        Err(ApiError::in_use(format_args!(
            "Table IOPS are currently being updated. Table: {}",
            self.table.name
        )))
    }

    fn check_free(&self) -> Result<(), ApiError> {
        self.refuse_while_units_change()?;
        self.refuse_while_stream_switches("change table IOPS")?;
        let name = &self.table.name;
        let created = self.allocating().map(|indexes| ("created", indexes));
        match created.or_else(|| self.deleting().map(|indexes| ("deleted", indexes))) {
            None => Ok(()),
            Some((how, indexes)) => Err(ApiError::in_use(format_args!(
                "Can't change table IOPS when an index is being {how}. Table: {name} Indexes: [{indexes}]"
            ))),
        }
    }

    fn change_units(&mut self, requested: Throughput) -> Result<(), ApiError> {
        self.check_free()?;
        let definition = &self.shape.definition;
        let (was, adjustments, billing) = (definition.throughput, definition.adjustments, definition.billing);
        check_changes(was, requested, &ThroughputOwner::Table)?;
        self.check_most(requested, &ThroughputOwner::Table)?;
        self.check_decrease(was, requested, &adjustments)?;
        let decreases = adjustments.decreases_on(self.context.now);
        let now = self.context.now;
        let definition = self.definition();
        definition.adjustments.note(was, requested, now);
        definition.throughput = requested;
        definition.warm = Some(raise_warm(definition.warm, (billing, was), (billing, requested)));
        let until = self.after("throughput", UNITS);
        self.begin(JobKind::Throughput { was, decreases }, until);
        Ok(())
    }

    fn switch(&mut self, billing: BillingMode, requested: Throughput) -> Result<(), ApiError> {
        let now = self.context.now;
        let switching = self.shape.jobs.iter().any(|job| matches!(job.work, JobKind::Billing));
        if switching && billing == BillingMode::PayPerRequest {
            // Measured: a switch back during the change to PROVISIONED is accepted without effect.
            return Ok(());
        }
        self.check_free()?;
        self.check_most(requested, &ThroughputOwner::Table)?;
        if billing == BillingMode::Provisioned {
            self.check_indexes_have_units()?;
        }
        let was = (self.shape.definition.billing, self.shape.definition.throughput);
        let before = self.shape.definition.on_demand_since;
        let definition = self.definition();
        definition.billing = billing;
        definition.throughput = requested;
        definition.on_demand = None;
        definition.warm = Some(raise_warm(definition.warm, was, (billing, requested)));
        for index in &mut definition.globals {
            index.on_demand = None;
            let old = (was.0, index.throughput);
            index.throughput = Throughput::default();
            index.warm = Some(raise_warm(index.warm, old, (billing, index.throughput)));
        }
        let times = match (billing, before) {
            (BillingMode::Provisioned, _) => TO_PROVISIONED,
            (BillingMode::PayPerRequest, None) => FIRST_TO_ON_DEMAND,
            (BillingMode::PayPerRequest, Some(_)) => AGAIN_TO_ON_DEMAND,
        };
        if billing == BillingMode::PayPerRequest {
            definition.on_demand_since = Some(now);
        }
        let until = self.after("billing", times);
        self.begin(JobKind::Billing, until);
        Ok(())
    }

    /// A table that changes to provisioned throughput needs units for each of its indexes.
    fn check_indexes_have_units(&self) -> Result<(), ApiError> {
        let updates = || {
            let all = self.request.global_secondary_index_updates.iter().flatten();
            all.filter_map(|update| update.update.as_ref())
        };
        let lacks = |name: &str| {
            !updates()
                .any(|update| update.index_name.as_deref() == Some(name) && update.provisioned_throughput.is_some())
        };
        match self.shape.definition.globals.iter().find(|index| lacks(&index.name)) {
            None => Ok(()),
            Some(index) => Err(ApiError::invalid(format_args!(
                "ProvisionedThroughput must be specified for index: {}",
                index.name
            ))),
        }
    }

    pub(super) fn check_most(&self, requested: Throughput, of: &ThroughputOwner<'_>) -> Result<(), ApiError> {
        quota::provisioned(self.context, requested, of)
    }

    /// A day has four free decreases; each later one requires an hour since the previous one.
    pub(super) fn check_decrease(
        &self,
        was: Throughput,
        requested: Throughput,
        past: &Adjustments,
    ) -> Result<(), ApiError> {
        let now = self.context.now;
        let lowers = requested.read < was.read || requested.write < was.write;
        let count = past.decreases_on(now);
        let Some(last) = past
            .decreased
            .filter(|_| lowers && self.takes_time() && count >= FREE_DECREASES)
        else {
            return Ok(());
        };
        let next: Moment = last.plus(DECREASE_COOLDOWN);
        if next <= now {
            return Ok(());
        }
        Err(ApiError::subscriber_limit(format_args!(
            "Provisioned throughput decreases are limited within a given UTC day. After the first 4 decreases, each subsequent decrease in the same UTC day can be performed at most once every 3600 seconds. Number of decreases today: {count}. Last decrease at {}. Next decrease can be made at {}",
            last.http_date(),
            next.http_date()
        )))
    }

    /// On-demand limits change at once.
    pub(super) fn on_demand(&mut self) -> Result<(), ApiError> {
        let Some(requested) = &self.request.on_demand_throughput else {
            return Ok(());
        };
        let switched = self.request.billing_mode.is_some();
        let changes_class = |job: &Job| matches!(job.work, JobKind::Class { .. });
        let busy = if !switched && self.shape.jobs.iter().any(Job::is_throughput) {
            Some("BillingMode update is in progress".to_owned())
        } else if self.shape.jobs.iter().any(changes_class) {
            Some("TableClass update is in progress".to_owned())
        } else if self.stream_switches() {
            // The error was measured; its text follows the pattern of the others.
            Some("stream status update is in progress".to_owned())
        } else {
            let created = self.allocating().map(|indexes| ("creation", indexes));
            let busy = created.or_else(|| self.deleting().map(|indexes| ("deletion", indexes)));
            busy.map(|(how, indexes)| format!("index {how} is in progress for indexes: [{indexes}]"))
        };
        if let Some(busy) = busy {
            return Err(ApiError::in_use(format_args!(
                "OnDemandThroughput cannot be updated while {busy}"
            )));
        }
        let merged = self.merge_on_demand(self.shape.definition.on_demand, requested, &ThroughputOwner::Table)?;
        self.definition().on_demand = merged;
        let cleared = |units: Option<i64>| units == Some(-1);
        let (read, write) = (
            cleared(requested.max_read_request_units),
            cleared(requested.max_write_request_units),
        );
        if read || write {
            let until = self.after("on-demand limits", CLEARING);
            self.begin(JobKind::ClearLimits { read, write }, until);
        }
        Ok(())
    }

    /// Merges requested limits into the present ones: each member separately, and -1 removes it.
    pub(super) fn merge_on_demand(
        &self,
        there: Option<OnDemandThroughput>,
        requested: &OnDemandRequest,
        of: &ThroughputOwner<'_>,
    ) -> Result<Option<OnDemandThroughput>, ApiError> {
        let mut merged = there.unwrap_or_default();
        for (value, member, name) in [
            (
                requested.max_read_request_units,
                &mut merged.max_read,
                "MaxReadRequestUnits",
            ),
            (
                requested.max_write_request_units,
                &mut merged.max_write,
                "MaxWriteRequestUnits",
            ),
        ] {
            let Some(value) = value else { continue };
            if self.shape.definition.billing == BillingMode::Provisioned {
                return Err(ApiError::invalid(format_args!(
                    "{name} for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED"
                )));
            }
            quota::on_demand(self.context, value, name, of)?;
            *member = match value {
                -1 => None,
                1.. => Some(value),
                _ => {
                    return Err(ApiError::invalid(format_args!(
                        "Requested {name} for OnDemandThroughput for {} is outside of valid range",
                        of.spaced()
                    )));
                }
            };
        }
        Ok(Some(merged).filter(|limits| *limits != OnDemandThroughput::default()))
    }
}
