//! [ListBackups](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListBackups.html).

use std::sync::Arc;

use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations, constraint};
use crate::execute::Refusals;
use crate::operation::arn;
use crate::operation::backups;
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::plan::{self, Access, ControlAccess};
use crate::request::ListBackups;
use crate::storage::{Backup, BackupKind};
use crate::value::Text;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

const MOST: i64 = 100;

pub struct Operation;

pub struct Outcome {
    backups: Vec<Arc<Backup>>,
    more: bool,
    now: Moment,
}

impl Stages for Operation {
    type Request = ListBackups;
    type Checked<'r> = &'r ListBackups;
    type Plan<'r> = &'r ListBackups;
    type Outcome = Outcome;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        check_members(request)?;
        Ok(request)
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        if let Some(start) = checked.exclusive_start_backup_arn.as_deref() {
            check_start(context, start)?;
        }
        Ok(checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(
            ControlAccess::any().on_table(plan.table_name.as_deref().map_or("", plan::plain_name)),
        ));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let limit = plan.limit.unwrap_or(MOST) as usize;
        let matches = |backup: &Backup| backup.is_there(context.now) && is_requested(plan, backup);
        let start = plan.exclusive_start_backup_arn.as_deref();
        let region = context.engine.catalog().region(&context.scope);
        let mut backups = region.map_or_else(Vec::new, |region| region.backups.list(start, limit + 1, matches));
        let more = backups.len() > limit;
        backups.truncate(limit);
        Ok(Outcome {
            backups,
            more,
            now: context.now,
        })
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let Outcome { backups, more, now } = outcome;
        let mut answer = Object::open(out);
        let mut list = answer.list("BackupSummaries");
        for backup in &backups {
            let mut summary = list.object();
            summary.string("TableName", &backup.table_name);
            summary.string("TableId", &backup.table_id);
            summary.string("TableArn", &backup.table_arn);
            summary.string("BackupArn", &backup.arn);
            summary.string("BackupName", &backup.name);
            backups::size_and_status(&mut summary, backup, backups::status(backup, now));
            summary.close();
        }
        list.close();
        if let Some(last) = backups.last().filter(|_| more) {
            answer.string("LastEvaluatedBackupArn", &last.arn);
        }
        answer.close();
    }
}

fn check_members(request: &ListBackups) -> Result<(), ApiError> {
    let mut violations = Violations::new();
    if let Some(table) = &request.table_name {
        check::name(&mut violations, table, "tableName");
    }
    check::echoed_range(&mut violations, request.limit, "limit", 1, MOST);
    if request.exclusive_start_backup_arn.is_some() {
        backups::arn_length(
            &mut violations,
            request.exclusive_start_backup_arn.as_ref(),
            "exclusiveStartBackupArn",
        );
    }
    if let Some(word) = request.backup_type.as_deref()
        && !["USER", "SYSTEM", "AWS_BACKUP", "ALL"].contains(&word)
    {
        violations.value(
            word,
            "backupType",
            constraint::one_of("[USER, SYSTEM, AWS_BACKUP, ALL]"),
        );
    }
    violations.finish()?;
    let (lower, upper) = (request.time_range_lower_bound, request.time_range_upper_bound);
    if lower.zip(upper).is_some_and(|(lower, upper)| lower > upper) {
        return Err(ApiError::invalid(
            "Time range lower bound must be less than or equal to upper bound",
        ));
    }
    Ok(())
}

fn check_start(context: &Context<'_>, start: &str) -> Result<(), ApiError> {
    let foreign = || ApiError::invalid_request("The supplied ExclusiveStartBackupArn does not match the region");
    let Some(place) = arn::sub_resource(start, "backup") else {
        return Err(ApiError::validation("Invalid Backup ARN"));
    };
    // With tables shared by all regions, a backup keeps the region of its table.
    if place.region != context.region && !context.scope.region.is_empty() {
        return Err(foreign());
    }
    Ok(())
}

fn is_requested(request: &ListBackups, backup: &Backup) -> bool {
    let table = request.table_name.as_deref();
    let is_table = |name: &str| name == backup.table_name || name == backup.table_arn;
    let kind = match request.backup_type.as_ref().map(Text::as_str) {
        None | Some("USER") => backup.kind == BackupKind::User,
        Some("SYSTEM") => backup.kind == BackupKind::System,
        Some("ALL") => true,
        // Other services do not create backups in the emulator.
        Some(_) => false,
    };
    kind && table.is_none_or(is_table)
        && request
            .time_range_lower_bound
            .is_none_or(|lower| backup.created >= lower)
        && request
            .time_range_upper_bound
            .is_none_or(|upper| backup.created < upper)
}
