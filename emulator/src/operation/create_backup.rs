//! [CreateBackup](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateBackup.html).

use super::{backups, check};
use crate::context::Context;
use crate::error::{ApiError, Violations};
use crate::execute;
use crate::request::CreateBackup;
use crate::storage::BackupKind;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = CreateBackup::decode(body)?;
    let table = check::control_table_name(request.table_name.as_ref())?;
    let mut faults = Violations::new();
    match request.backup_name.as_deref() {
        None => faults.missing("backupName"),
        Some(name) => check::plain_name(&mut faults, name, "backupName"),
    }
    faults.finish()?;
    let target = backups::backed_up_table(context, table)?;
    execute::run_due(&target.table, context.now);
    let name = request.backup_name.unwrap_or_default().to_string();
    let backup = backups::make(context, &target.table, name, BackupKind::User, context.now)?;
    let mut answer = Object::open(out);
    backups::details(&mut answer, &backup, "CREATING");
    answer.close();
    Ok(())
}
