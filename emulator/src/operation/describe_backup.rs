//! [DescribeBackup](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeBackup.html).

use super::backups;
use crate::context::Context;
use crate::error::ApiError;
use crate::request::BackupOnly;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = BackupOnly::decode(body)?;
    let arn = backups::arn(context, request.backup_arn.as_ref())?;
    context.judge_control("")?;
    let backup = backups::find(context, arn)?;
    let mut answer = Object::open(out);
    backups::described(&mut answer, &backup, backups::status(&backup, context.now));
    answer.close();
    Ok(())
}
