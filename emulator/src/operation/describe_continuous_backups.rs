//! [DescribeContinuousBackups](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeContinuousBackups.html).

use super::{backups, check};
use crate::clock::Moment;
use crate::context::Context;
use crate::error::ApiError;
use crate::request::TableOnly;
use crate::storage::Shape;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = TableOnly::decode(body)?;
    let name = check::control_table_name(request.table_name.as_ref())?;
    let target = backups::table(context, name)?;
    describe(out, &target.shape, context.now);
    Ok(())
}

/// Appends an answer that is `ContinuousBackupsDescription`.
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
