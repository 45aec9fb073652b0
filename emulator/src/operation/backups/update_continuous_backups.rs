//! [UpdateContinuousBackups](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateContinuousBackups.html).

use std::sync::Arc;

use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations};
use crate::execute::{self, Refusals};
use crate::limits;
use crate::operation::backups;
use crate::operation::backups::describe_continuous_backups;
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::plan::{Access, ControlAccess, Target};
use crate::request::UpdateContinuousBackups;
use crate::storage::{Recovery, Shape};
use crate::wire::encode::Writer;

pub struct Operation;

impl Stages for Operation {
    type Request = UpdateContinuousBackups;
    type Checked<'r> = (&'r str, bool, Option<u32>);
    type Plan<'r> = (Target, bool, Option<u32>);
    type Outcome = (Arc<Shape>, Moment);

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let name = check::control_table_name(request.table_name.as_ref())?;
        let (enabled, days) = specification(request)?;
        Ok((name, enabled, days))
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        let (name, enabled, days) = checked;
        Ok((backups::table(context, name)?, enabled, days))
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::table(&plan.0.table.name)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let (target, enabled, days) = plan;
        backups::check_backed_up(context, target)?;
        let now = context.now;
        // Work that is due belongs to the time before the change.
        execute::run_due(&target.table, now);
        let shape = target.table.reshape(now, |shape| {
            if shape.deleted_at.is_some() && !shape.is_found_after_deletion(now, check::FOUND_AFTER_DELETION) {
                return Err(ApiError::no_table_to_back_up(&target.table.name));
            }
            shape.recovery = enabled.then(|| Recovery {
                // A longer period does not bring back what was outside of the shorter one.
                since: shape.recovery.map_or(now, |kept| kept.earliest(now)),
                days: days
                    .or(shape.recovery.map(|kept| kept.days))
                    .unwrap_or(limits::RECOVERY_DAYS),
            });
            Ok(())
        })?;
        if shape.deleted_at.is_some() && !enabled {
            backups::forget_system_backup(context, &target.table)?;
        }
        Ok((shape, now))
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let (shape, now) = outcome;
        describe_continuous_backups::describe(out, &shape, now);
    }
}

/// Whether to enable recovery, and the recovery period in days, if given.
fn specification(request: &UpdateContinuousBackups) -> Result<(bool, Option<u32>), ApiError> {
    const PATH: &str = "pointInTimeRecoverySpecification";
    let mut violations = Violations::new();
    let specification = request.specification.clone().unwrap_or_default();
    let days = specification.recovery_period_in_days;
    if request.specification.is_none() {
        violations.missing(PATH);
    } else {
        let most = i64::from(limits::RECOVERY_DAYS);
        check::echoed_range(&mut violations, days, &format!("{PATH}.recoveryPeriodInDays"), 1, most);
        if specification.enabled.is_none() {
            violations.missing(format_args!("{PATH}.pointInTimeRecoveryEnabled"));
        }
    }
    violations.finish()?;
    let enabled = specification.enabled.unwrap_or(false);
    if !enabled && days.is_some() {
        return Err(ApiError::invalid_request(
            "Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery.",
        ));
    }
    Ok((enabled, days.map(|days| days as u32)))
}
