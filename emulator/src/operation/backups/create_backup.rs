//! [CreateBackup](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateBackup.html).

use std::sync::Arc;

use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations};
use crate::execute::{self, Refusals};
use crate::operation::backups;
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::plan::{Access, ControlAccess, Target};
use crate::request::CreateBackup;
use crate::storage::{Backup, BackupKind};
use crate::value::Text;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub struct Operation;

impl Stages for Operation {
    type Request = CreateBackup;
    type Checked<'r> = (&'r str, &'r Text);
    type Plan<'r> = (Target, &'r Text);
    type Outcome = Arc<Backup>;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let table = check::control_table_name(request.table_name.as_ref())?;
        let mut violations = Violations::new();
        match request.backup_name.as_deref() {
            None => violations.missing("backupName"),
            Some(name) => check::plain_name(&mut violations, name, "backupName"),
        }
        violations.finish()?;
        let name = request.backup_name.as_ref().ok_or_else(ApiError::internal)?;
        Ok((table, name))
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        let (table, name) = checked;
        Ok((backups::table(context, table)?, name))
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::table(&plan.0.table.name)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let (target, name) = plan;
        backups::check_backed_up(context, target)?;
        execute::run_due(&target.table, context.now);
        backups::make(context, &target.table, name.to_string(), BackupKind::User, context.now)
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let mut answer = Object::open(out);
        backups::details(&mut answer, &outcome, "CREATING");
        answer.close();
    }
}
