//! [DescribeContinuousBackups](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeContinuousBackups.html).

use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::backups;
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::plan::{Access, ControlAccess, Target};
use crate::request::TableOnly;
use crate::storage::Shape;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub struct Operation;

impl Stages for Operation {
    type Request = TableOnly;
    type Checked<'r> = &'r str;
    type Plan<'r> = Target;
    type Outcome = Moment;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        check::control_table_name(request.table_name.as_ref())
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        backups::table(context, checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::table(&plan.table.name)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        backups::check_table(context, plan)?;
        Ok(context.now)
    }

    fn encode(plan: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        describe(out, &plan.shape, outcome);
    }
}

/// Writes a response with `ContinuousBackupsDescription`.
pub(super) fn describe(out: &mut Writer, shape: &Shape, now: Moment) {
    let mut answer = Object::open(out);
    let mut description = answer.object("ContinuousBackupsDescription");
    let enabled = backups::are_enabled(shape, now);
    let word = |on: bool| if on { "ENABLED" } else { "DISABLED" };
    description.string("ContinuousBackupsStatus", word(enabled));
    let mut recovery = description.object("PointInTimeRecoveryDescription");
    recovery.string("PointInTimeRecoveryStatus", word(shape.recovery.is_some()));
    if let Some(kept) = shape.restorable() {
        recovery.integer("RecoveryPeriodInDays", i64::from(kept.days));
        recovery.timestamp("EarliestRestorableDateTime", kept.earliest(now));
        recovery.timestamp("LatestRestorableDateTime", kept.latest(now));
    }
    recovery.close();
    description.close();
    answer.close();
}
