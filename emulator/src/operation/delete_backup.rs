//! [DeleteBackup](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteBackup.html).

use super::backups;
use crate::context::Context;
use crate::error::ApiError;
use crate::request::BackupOnly;
use crate::storage::BackupKind;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = BackupOnly::decode(body)?;
    let arn = backups::arn(context, request.backup_arn.as_ref())?;
    context.judge_control("")?;
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
    let mut answer = Object::open(out);
    backups::described(&mut answer, &backup, "DELETED");
    answer.close();
    Ok(())
}
