//! Shared by the operations on backups and recovery: which tables can be backed up, the form of a backup's ARN, and how
//! backups are described (docs/behavior: 04 4.2 and 9).

pub(super) mod create_backup;
pub(super) mod delete_backup;
pub(super) mod describe_backup;
pub(super) mod describe_continuous_backups;
pub(super) mod list_backups;
pub(super) mod restore;
pub(super) mod restore_table_from_backup;
pub(super) mod restore_table_to_point_in_time;
pub(super) mod update_continuous_backups;

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Moment;
use crate::context::Context;
use crate::error::{ApiError, ErrorKind, Violations, constraint};
use crate::operation::arn;
use crate::operation::check;
use crate::operation::tables::description;
use crate::plan::{self, Target};
use crate::schema::{BillingMode, Definition, Index, Throughput};
use crate::storage::{Backup, BackupKind, BackupRecord, Region, Shape, Table};
use crate::value::Text;
use crate::wire::object::Object;

/// The time during which calls on backups do not find a table that is being created, and the time after that, outside
/// of `calm` (measured: about 3 s each).
const SETTLES: Duration = Duration::from_secs(3);
/// The time for which a backup is `CREATING`, outside of `calm` (measured: it is `AVAILABLE` after 50 ms).
const TAKES: Duration = Duration::from_millis(50);

/// The table of a request about backups or recovery.
pub fn table(context: &Context<'_>, name_or_arn: &str) -> Result<Target, ApiError> {
    found(plan::table_in_any_state(context, name_or_arn), name_or_arn)
}

/// The table of a request that restores it, which may be in another region.
pub fn table_to_restore(context: &Context<'_>, name_or_arn: &str) -> Result<Target, ApiError> {
    found(plan::table_in_any_region(context, name_or_arn), name_or_arn)
}

fn found(found: Result<Target, ApiError>, name_or_arn: &str) -> Result<Target, ApiError> {
    found.map_err(|error| match error.kind() {
        ErrorKind::ResourceNotFound => ApiError::no_table_to_back_up(plan::plain_name(name_or_arn)),
        _ => error,
    })
}

/// Checks that a table can be backed up. A table that is being created or deleted is not found.
pub fn check_table(context: &Context<'_>, target: &Target) -> Result<(), ApiError> {
    let shape = &target.shape;
    let young = context.now < shape.active_at && context.now < target.table.created.plus(SETTLES);
    let gone = shape.deleted_at.is_some() && !shape.is_found_after_deletion(context.now, check::FOUND_AFTER_DELETION);
    let added = context.now < shape.active_at && target.table.is_replica();
    if gone || shape.is_restoring(context.now) || young || added {
        return Err(ApiError::no_table_to_back_up(&target.table.name));
    }
    Ok(())
}

/// Checks that calls on a table's backups are possible yet, some seconds after its creation.
pub fn check_backed_up(context: &Context<'_>, target: &Target) -> Result<(), ApiError> {
    check_table(context, target)?;
    if !are_enabled(&target.shape, context.now) {
        return Err(ApiError::backups_being_enabled(&target.table.name));
    }
    Ok(())
}

pub fn are_enabled(shape: &Shape, now: Moment) -> bool {
    let settles = if shape.takes_time() { SETTLES } else { Duration::ZERO };
    now >= shape.active_at.plus(settles)
}

/// The model's constraint on a required ARN.
pub fn arn_length(violations: &mut Violations, arn: Option<&Text>, path: &str) {
    match arn.map(|arn| (arn, arn.chars().count())) {
        None => violations.missing(path),
        Some((arn, length)) if length < 37 => violations.value(arn, path, constraint::min_length(37)),
        Some((arn, length)) if length > 1024 => violations.value(arn, path, constraint::max_length(1024)),
        Some(_) => {}
    }
}

/// The ARN of a request that names one backup, if it can belong to the caller.
pub fn arn<'r>(context: &Context<'_>, arn: Option<&'r Text>) -> Result<&'r str, ApiError> {
    let mut violations = Violations::new();
    arn_length(&mut violations, arn, "backupArn");
    violations.finish()?;
    let arn = arn.map(Text::as_str).unwrap_or_default();
    if !arn.starts_with("arn:") {
        return Err(ApiError::validation("Invalid Backup ARN"));
    }
    if arn::sub_resource(arn, "backup").is_none() {
        return Err(ApiError::invalid_request("BackupArn is not valid"));
    }
    arn::check_own_account(context, arn)?;
    Ok(arn)
}

/// The backup of an ARN.
pub fn find(context: &Context<'_>, arn: &str) -> Result<Arc<Backup>, ApiError> {
    let region = context.engine.catalog().region(&context.scope);
    let found = region.and_then(|region| region.backups.get(arn, context.now));
    found.ok_or_else(|| ApiError::backup_not_found(arn))
}

/// The region of a backup, which may differ from the caller's.
pub fn region(context: &Context<'_>, arn: &str) -> Option<Arc<Region>> {
    let mut scope = context.scope.clone();
    let own = context.engine.catalog().region(&scope);
    let has_it = |region: &Arc<Region>| region.backups.get(arn, context.now).is_some();
    if scope.region.is_empty() || own.as_ref().is_some_and(has_it) {
        return own;
    }
    scope.region = arn::sub_resource(arn, "backup").map_or("", |place| place.region).into();
    context.engine.catalog().region(&scope)
}

/// Creates a backup of a table's present state, at a moment no earlier than now.
pub fn make(
    context: &Context<'_>,
    table: &Table,
    name: String,
    kind: BackupKind,
    created: Moment,
) -> Result<Arc<Backup>, ApiError> {
    let region = context.engine.catalog().region_or_new(&table.scope);
    let shape = table.shape();
    let count = table.census(&shape, created).table;
    let mut backup = BackupRecord::new((table, count), name, kind, created);
    if kind == BackupKind::System {
        let kept = u64::from(crate::limits::RECOVERY_DAYS) * 86_400;
        backup.expires = Some(backup.created.plus(Duration::from_secs(kept)));
    }
    if shape.takes_time() {
        backup.available = backup.created.plus(TAKES);
    }
    let new_arn = |taken: &dyn Fn(&str) -> bool| match kind {
        BackupKind::System => arn::new_system_arn(&table.arn, created, taken),
        BackupKind::User => arn::new_arn(context, &table.arn, "backup", taken),
    };
    Ok(region.backups.create(table, backup, new_arn, context.now)?)
}

/// Creates the system backup of a table that is being deleted, if its recovery is on. It is visible when the table is removed.
pub fn make_of_deleted(context: &Context<'_>, table: &Table) -> Result<(), ApiError> {
    let shape = table.shape();
    if shape.recovery.is_some() {
        let gone = shape.deleted_at.unwrap_or(context.now);
        let name = format!("{}$DeletedTableBackup", table.name);
        make(context, table, name, BackupKind::System, gone)?;
    }
    Ok(())
}

/// Deletes the system backup that was created for a table that is being deleted.
pub fn forget_system_backup(context: &Context<'_>, table: &Table) -> Result<(), ApiError> {
    let region = context.engine.catalog().region_or_new(&context.scope);
    let is_it = |backup: &Backup| backup.kind == BackupKind::System && backup.table_id == table.id;
    Ok(region.backups.forget(context.now, is_it)?)
}

/// A backup's status at `now`.
pub fn status(backup: &Backup, now: Moment) -> &'static str {
    if now < backup.available {
        "CREATING"
    } else {
        "AVAILABLE"
    }
}

pub fn details(object: &mut Object<'_>, backup: &Backup, status: &str) {
    let mut details = object.object("BackupDetails");
    details.string("BackupArn", &backup.arn);
    details.string("BackupName", &backup.name);
    size_and_status(&mut details, backup, status);
    details.close();
}

/// The members that details and summaries have in common.
pub fn size_and_status(object: &mut Object<'_>, backup: &Backup, status: &str) {
    object.integer("BackupSizeBytes", backup.count.1 as i64);
    object.string("BackupStatus", status);
    object.string("BackupType", backup.kind.name());
    object.timestamp("BackupCreationDateTime", backup.created);
    if let Some(expires) = backup.expires {
        object.timestamp("BackupExpiryDateTime", expires);
    }
}

/// Writes a response with a backup's description.
pub fn described(answer: &mut Object<'_>, backup: &Backup, status: &str) {
    let mut description = answer.object("BackupDescription");
    details(&mut description, backup, status);
    source(&mut description, backup);
    features(&mut description, backup);
    description.close();
}

fn source(object: &mut Object<'_>, backup: &Backup) {
    let definition = &backup.snapshot.shape.definition;
    let (count, bytes) = backup.count;
    let mut source = object.object("SourceTableDetails");
    source.string("TableName", &backup.table_name);
    source.string("TableId", &backup.table_id);
    source.string("TableArn", &backup.table_arn);
    source.integer("TableSizeBytes", bytes as i64);
    description::key_schema(&mut source, &definition.key);
    source.timestamp("TableCreationDateTime", backup.table_created);
    units(&mut source, definition.throughput.read, definition.throughput.write);
    description::on_demand(&mut source, definition.on_demand.as_ref());
    source.integer("ItemCount", count as i64);
    source.string("BillingMode", definition.billing.name());
    source.close();
}

fn units(object: &mut Object<'_>, read: u64, write: u64) {
    let mut throughput = object.object("ProvisionedThroughput");
    throughput.integer("ReadCapacityUnits", read as i64);
    throughput.integer("WriteCapacityUnits", write as i64);
    throughput.close();
}

/// The table's features besides items; omitted for system backups.
fn features(object: &mut Object<'_>, backup: &Backup) {
    let mut features = object.object("SourceTableFeatureDetails");
    if backup.kind == BackupKind::User {
        let shape = &backup.snapshot.shape;
        indexes(&mut features, &shape.definition);
        if let Some(stream) = shape.stream_settings.as_ref().filter(|_| shape.has_stream()) {
            let mut description = features.object("StreamDescription");
            description.boolean("StreamEnabled", true);
            description.string("StreamViewType", stream.view.name());
            description.close();
        }
        if let Some(attribute) = &shape.time_to_live {
            let mut time_to_live = features.object("TimeToLiveDescription");
            time_to_live.string("TimeToLiveStatus", "ENABLED");
            time_to_live.string("AttributeName", attribute);
            time_to_live.close();
        }
        description::encryption_enabled(&mut features, shape.definition.encryption.as_ref());
    }
    features.close();
}

fn indexes(features: &mut Object<'_>, definition: &Definition) {
    let head = |element: &mut Object<'_>, index: &Index| {
        element.string("IndexName", &index.name);
        description::key_schema(element, &index.key);
        description::projection(element, &index.projection);
    };
    if !definition.locals.is_empty() {
        let mut list = features.list("LocalSecondaryIndexes");
        for index in &definition.locals {
            let mut element = list.object();
            head(&mut element, index);
            element.close();
        }
        list.close();
    }
    if !definition.globals.is_empty() {
        let mut list = features.list("GlobalSecondaryIndexes");
        for index in &definition.globals {
            let mut element = list.object();
            head(&mut element, index);
            let zero = definition.billing == BillingMode::PayPerRequest;
            let throughput = if zero { Throughput::default() } else { index.throughput };
            units(&mut element, throughput.read, throughput.write);
            description::on_demand(&mut element, index.on_demand.as_ref());
            element.close();
        }
        list.close();
    }
    if !definition.vectors.is_empty() {
        let mut list = features.list("VectorIndexes");
        for index in &definition.vectors {
            let mut element = list.object();
            element.string("IndexName", &index.name);
            description::projection(&mut element, &index.projection);
            description::vector_index(&mut element, index);
            element.close();
        }
        list.close();
    }
}
