//! [DescribeBackup](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeBackup.html).

use crate::operation::drive::Stages;
use std::sync::Arc;

use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::backups;
use crate::plan::{Access, ControlAccess};
use crate::request::BackupOnly;
use crate::storage::Backup;
use crate::value::Text;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub struct Operation;

impl Stages for Operation {
    type Request = BackupOnly;
    type Checked<'r> = Option<&'r Text>;
    type Plan<'r> = &'r str;
    type Outcome = (Arc<Backup>, &'static str);

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
        let backup = backups::find(context, plan)?;
        let status = backups::status(&backup, context.now);
        Ok((backup, status))
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let (backup, status) = outcome;
        let mut answer = Object::open(out);
        backups::described(&mut answer, &backup, status);
        answer.close();
    }
}
