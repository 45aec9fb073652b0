//! [UpdateContinuousBackups](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateContinuousBackups.html).

use super::{backups, check, describe_continuous_backups};
use crate::context::Context;
use crate::error::{ApiError, Violations};
use crate::execute;
use crate::limits;
use crate::request::UpdateContinuousBackups;
use crate::storage::Recovery;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = UpdateContinuousBackups::decode(body)?;
    let name = check::control_table_name(request.table_name.as_ref())?;
    let (enabled, days) = specification(&request)?;
    let target = backups::backed_up_table(context, name)?;
    let now = context.now;
    // What is due belongs to the time before.
    execute::run_due(&target.table, now);
    let shape = target.table.reshape(now, |shape| {
        if shape.deleted_at.is_some() && !shape.lingers(now, check::LINGERS) {
            return Err(ApiError::no_table_to_back_up(&target.table.name));
        }
        shape.recovery = enabled.then(|| Recovery {
            since: shape.recovery.map_or(now, |kept| kept.since),
            days: days
                .or(shape.recovery.map(|kept| kept.days))
                .unwrap_or(limits::RECOVERY_DAYS),
        });
        Ok(())
    })?;
    if shape.deleted_at.is_some() && !enabled {
        backups::forget_system_backup(context, &target.table)?;
    }
    describe_continuous_backups::describe(out, &shape, now);
    Ok(())
}

/// Whether recovery is wanted, and how many days are kept, if that is said.
fn specification(request: &UpdateContinuousBackups) -> Result<(bool, Option<u32>), ApiError> {
    const PATH: &str = "pointInTimeRecoverySpecification";
    let mut faults = Violations::new();
    let specification = request.specification.clone().unwrap_or_default();
    let days = specification.recovery_period_in_days;
    if request.specification.is_none() {
        faults.missing(PATH);
    } else {
        let most = i64::from(limits::RECOVERY_DAYS);
        check::echoed_range(&mut faults, days, &format!("{PATH}.recoveryPeriodInDays"), 1, most);
        if specification.enabled.is_none() {
            faults.missing(format_args!("{PATH}.pointInTimeRecoveryEnabled"));
        }
    }
    faults.finish()?;
    let enabled = specification.enabled.unwrap_or(false);
    if !enabled && days.is_some() {
        return Err(ApiError::invalid_request(
            "Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery.",
        ));
    }
    Ok((enabled, days.map(|days| days as u32)))
}
