//! [DeleteBackup](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteBackup.html).

use crate::operation::drive::Stages;
use std::sync::Arc;

use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::backups;
use crate::plan::{Access, ControlAccess};
use crate::request::BackupOnly;
use crate::storage::{Backup, BackupKind};
use crate::value::Text;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub struct Operation;

impl Stages for Operation {
    type Request = BackupOnly;
    type Checked<'r> = Option<&'r Text>;
    type Plan<'r> = &'r str;
    type Outcome = Arc<Backup>;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        Ok(request.backup_arn.as_ref())
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        backups::arn(context, checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::arn(plan)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let arn = *plan;
        let backup = backups::find(context, arn)?;
        let now = context.now;
        let region = context.engine.catalog().region_or_new(&context.scope);
        region.backups.remove(arn, now, |there| {
            let there = there.ok_or_else(|| ApiError::backup_not_found(arn))?;
            if there.kind == BackupKind::System {
                let end = there.expires.unwrap_or(now);
                return Err(ApiError::invalid_request(format_args!(
                    "User is not allowed to delete the system backup with arn {arn}. It will automatically expire on {end}"
                )));
            }
            if there.is_restoring(now) {
                return Err(ApiError::backup_in_use("Backup is being used to restore table", arn));
            }
            Ok(())
        })?;
        Ok(backup)
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let mut answer = Object::open(out);
        backups::described(&mut answer, &outcome, "DELETED");
        answer.close();
    }
}
