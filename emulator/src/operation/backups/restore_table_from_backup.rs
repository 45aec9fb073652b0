//! [RestoreTableFromBackup](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_RestoreTableFromBackup.html).

use std::sync::Arc;

use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations};
use crate::execute::Refusals;
use crate::operation::arn;
use crate::operation::backups;
use crate::operation::backups::restore::{self, RestoredTable};
use crate::operation::drive::Stages;
use crate::plan::{Access, ControlAccess};
use crate::request::RestoreTableFromBackup;
use crate::storage::{Backup, Restored};
use crate::value::Text;
use crate::wire::encode::Writer;

pub struct Operation;

pub struct Plan<'r> {
    arn: &'r str,
    target: &'r Text,
    request: &'r RestoreTableFromBackup,
}

impl Stages for Operation {
    type Request = RestoreTableFromBackup;
    type Checked<'r> = &'r RestoreTableFromBackup;
    type Plan<'r> = Plan<'r>;
    type Outcome = RestoredTable;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let mut violations = Violations::new();
        restore::check_members(&mut violations, request.target_table_name.as_ref(), &request.overrides);
        backups::arn_length(&mut violations, request.backup_arn.as_ref(), "backupArn");
        violations.finish()?;
        Ok(request)
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        Ok(Plan {
            arn: backups::arn(context, checked.backup_arn.as_ref())?,
            target: checked.target_table_name.as_ref().ok_or_else(ApiError::internal)?,
            request: checked,
        })
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(
            ControlAccess::arn(plan.arn)
                .on_table(plan.target)
                .also(restore::ACTIONS)
                .also_on(plan.target),
        ));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let Plan { arn, target, request } = plan;
        let backup = find(context, arn)?;
        let place = arn::sub_resource(arn, "backup").ok_or_else(ApiError::internal)?;
        restore::check_region(context, place.region, &request.overrides)?;
        let definition = restore::definition(context, &backup.snapshot.shape.definition, &request.overrides)?;
        if context.now < backup.available {
            // The API names this error for a backup that is being created; the text has not been recorded.
            return Err(ApiError::backup_in_use("Backup is being created", arn));
        }
        let restored = Restored {
            backup_arn: Some(backup.arn.clone()),
            table_arn: backup.table_arn.clone(),
            at: backup.created,
            fails: false,
        };
        let items = backup.snapshot.items();
        restore::make(context, (target, definition), &items, restored, |table| {
            let region = backups::region(context, arn);
            let claimed = region.map(|region| region.backups.claim(&backup, context.now, table.shape().active_at));
            if claimed.transpose()?.unwrap_or(false) {
                return Ok(());
            }
            let state = "Backup is being used to restore another table";
            Err(ApiError::backup_in_use(state, arn))
        })
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        restore::encode(&outcome, out);
    }
}

/// Finds the backup, which may belong to another region.
fn find(context: &Context<'_>, arn: &str) -> Result<Arc<Backup>, ApiError> {
    let region = backups::region(context, arn);
    region
        .and_then(|region| region.backups.get(arn, context.now))
        .ok_or_else(|| ApiError::backup_not_found(arn))
}
