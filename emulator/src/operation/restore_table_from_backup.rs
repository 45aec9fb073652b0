//! [RestoreTableFromBackup](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_RestoreTableFromBackup.html).

use std::sync::Arc;

use super::{arn, backups, restore};
use crate::context::Context;
use crate::error::{ApiError, Violations};
use crate::request::RestoreTableFromBackup;
use crate::storage::{Backup, Restored};
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = RestoreTableFromBackup::decode(body)?;
    let mut faults = Violations::new();
    restore::check_members(&mut faults, request.target_table_name.as_ref(), &request.overrides);
    backups::arn_length(&mut faults, request.backup_arn.as_ref(), "backupArn");
    faults.finish()?;
    let arn = backups::arn(context, request.backup_arn.as_ref())?;
    let target = request.target_table_name.unwrap_or_default();
    context.judge_control(&target)?;
    let backup = find(context, arn)?;
    let place = arn::sub_resource(arn, "backup").ok_or_else(ApiError::internal)?;
    restore::check_region(context, place.region, &request.overrides)?;
    let definition = restore::definition(context, &backup.snapshot.shape.definition, &request.overrides)?;
    if context.now < backup.available {
        // The API names this error for a backup that is being created; its sentence has not been recorded.
        return Err(ApiError::backup_in_use("Backup is being created", arn));
    }
    let restored = Restored {
        backup_arn: Some(backup.arn.clone()),
        table_arn: backup.table_arn.clone(),
        at: backup.created,
        fails: false,
    };
    let items = backup.snapshot.items();
    restore::make(context, out, (&target, definition), &items, restored, |table| {
        let region = backups::region(context, arn);
        let claimed = region.map(|region| region.backups.claim(&backup, context.now, table.shape().active_at));
        if claimed.transpose()?.unwrap_or(false) {
            return Ok(());
        }
        let state = "Backup is being used to restore another table";
        Err(ApiError::backup_in_use(state, arn))
    })
}

/// The backup, which may be of another region.
fn find(context: &Context<'_>, arn: &str) -> Result<Arc<Backup>, ApiError> {
    let region = backups::region(context, arn);
    region
        .and_then(|region| region.backups.get(arn, context.now))
        .ok_or_else(|| ApiError::backup_not_found(arn))
}
