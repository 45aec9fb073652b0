//! [RestoreTableToPointInTime](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_RestoreTableToPointInTime.html).

use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations};
use crate::execute::{self, Refusals};
use crate::operation::arn;
use crate::operation::backups;
use crate::operation::backups::restore::{self, RestoredTable};
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::operation::streams;
use crate::plan::{Access, ControlAccess, Target};
use crate::request::RestoreTableToPointInTime;
use crate::storage::{Recovery, Restored};
use crate::wire::encode::Writer;

pub struct Operation;

impl Stages for Operation {
    type Request = RestoreTableToPointInTime;
    type Checked<'r> = &'r RestoreTableToPointInTime;
    type Plan<'r> = (Target, &'r RestoreTableToPointInTime);
    type Outcome = RestoredTable;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let mut violations = Violations::new();
        let arn = request.source_table_arn.as_ref();
        streams::length(&mut violations, arn, "sourceTableArn", 1, 1024);
        violations.finish()?;
        Ok(request)
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        let source = source(context, checked)?;
        let mut violations = Violations::new();
        restore::check_members(&mut violations, checked.target_table_name.as_ref(), &checked.overrides);
        violations.finish()?;
        check_moment(checked)?;
        Ok((backups::table_to_restore(context, source)?, checked))
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(
            ControlAccess::target(&plan.0)
                .also(restore::ACTIONS)
                .also_on(plan.1.target_table_name.as_deref().unwrap_or_default()),
        ));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let (found, request) = plan;
        backups::check_table(context, found)?;
        execute::run_due(&found.table, context.now);
        let snapshot = found.table.snapshot();
        let recovery = snapshot.shape.restorable();
        let recovery = recovery.ok_or_else(|| ApiError::recovery_off(&found.table.name))?;
        let at = moment(request, recovery, context.now)?;
        let definition = restore::definition(context, &snapshot.shape.definition, &request.overrides)?;
        let restored = Restored {
            backup_arn: None,
            table_arn: found.table.arn.clone(),
            at,
            fails: false,
        };
        let target = request.target_table_name.as_ref().ok_or_else(ApiError::internal)?;
        let items = snapshot.items_at(at);
        restore::make(context, (target, definition), &items, restored, |_| Ok(()))
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        restore::encode(&outcome, out);
    }
}

/// The source table, by name or by ARN.
fn source<'r>(context: &Context<'_>, request: &'r RestoreTableToPointInTime) -> Result<&'r str, ApiError> {
    match (&request.source_table_arn, &request.source_table_name) {
        (Some(_), Some(_)) => Err(ApiError::validation(
            "Must provide exactly one of: sourceTableArn, sourceTableName",
        )),
        (None, None) => Err(ApiError::table_name_required()),
        (None, Some(name)) => {
            let mut violations = Violations::new();
            check::plain_name(&mut violations, name, "sourceTableName");
            violations.finish().map(|()| name.as_str())
        }
        (Some(arn), None) => {
            let Some(place) = arn::table_arn(arn) else {
                return Err(ApiError::invalid("sourceTableArn is not a valid ARN"));
            };
            if place.account != context.account && !context.scope.account.is_empty() {
                return Err(ApiError::validation(
                    "This action is only supported by accounts that match the resource owner’s account.",
                ));
            }
            restore::check_region(context, place.region, &request.overrides)?;
            Ok(arn)
        }
    }
}

fn check_moment(request: &RestoreTableToPointInTime) -> Result<(), ApiError> {
    let latest = request.use_latest_restorable_time == Some(true);
    match (latest, request.restore_date_time) {
        // The end of this text has not been recorded.
        (true, Some(_)) => Err(ApiError::invalid_request(
            "Both RestoreDateTime and UseLatestRestorableTime cannot be set at the same time",
        )),
        (false, None) => Err(ApiError::invalid_request(
            "Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but not both",
        )),
        _ => Ok(()),
    }
}

/// The moment to restore, checked against the recovery window.
fn moment(request: &RestoreTableToPointInTime, recovery: Recovery, now: Moment) -> Result<Moment, ApiError> {
    let (earliest, latest) = (recovery.earliest(now), recovery.latest(now));
    match request.restore_date_time {
        None => Ok(latest),
        // Requests have whole seconds: the second in which recovery was enabled is accepted.
        Some(requested) if requested.seconds() >= earliest.seconds() && requested <= latest => {
            Ok(requested.max(earliest))
        }
        Some(_) => Err(ApiError::invalid_restore_time(earliest, latest)),
    }
}
