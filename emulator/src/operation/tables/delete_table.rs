//! [DeleteTable](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteTable.html).

use crate::operation::drive::Stages;
use std::sync::Arc;
use std::time::Duration;

use crate::chance;
use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::{self, Refusals};
use crate::operation::backups;
use crate::operation::check;
use crate::operation::tables::account;
use crate::operation::tables::description::{self, TableView};
use crate::operation::tables::update_table::replicas;
use crate::operation::tags;
use crate::plan::{self, Access, ControlAccess, Target};
use crate::request::TableOnly;
use crate::storage::{Consistency, GroupState, JobKind, Removal, Shape, Table, TableSettings};
use crate::value::Name;
use crate::wire::encode::Writer;

pub struct Operation;

impl Stages for Operation {
    type Request = TableOnly;
    type Checked<'r> = &'r str;
    type Plan<'r> = Target;
    type Outcome = (Arc<Shape>, Moment);

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        check::control_table_name(request.table_name.as_ref())
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        plan::table_in_any_state(context, checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::target(plan)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let table = &plan.table;
        account::check_operations(context, &table.name)?;
        execute::run_due(table, context.now);
        let now = context.now;
        let _turn = context.engine.catalog().change_replicas();
        let group = check_replica(context, table)?;
        let shape = delete(table, group, now, |shape| {
            if now < shape.active_at {
                return Err(ApiError::in_use(format_args!("Table is being created: {}", table.name)));
            }
            if shape.deleted_at.is_some() {
                return Err(ApiError::in_use(format_args!("Table is being deleted: {}", table.name)));
            }
            check_jobs(shape, &table.name, now)?;
            if tags::are_settling(shape, now) {
                return Err(ApiError::in_use(format_args!(
                    "Table tags are being updated: {}",
                    table.name
                )));
            }
            let policy = shape.attached.policy(None);
            if policy.is_some_and(|policy| now < policy.until) {
                return Err(ApiError::in_use(format_args!(
                    "Table: {} has a pending resource-based policy update.",
                    table.name
                )));
            }
            if shape.definition.deletion_protection {
                return Err(ApiError::validation(
                    "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.",
                ));
            }
            let gone = now.plus(deletion_time(shape, table));
            shape.deleted_at = Some(gone);
            shape.recent.deletion = Some(now);
            shape.close_stream(now, gone);
            Ok(())
        })?;
        backups::make_of_deleted(context, table)?;
        if let Some(region) = context.engine.catalog().region(&context.scope_of(&table.arn)) {
            region.forget_deleted(&table.name, now);
        }
        Ok((shape, now))
    }

    fn encode(plan: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let (shape, now) = outcome;
        description::table(out, "TableDescription", &plan.table, &shape, TableView::Deleted(now));
    }
}

/// The state of the table's group in which its replica is being deleted, if it has one.
fn check_replica(context: &Context<'_>, table: &Table) -> Result<Option<GroupState>, ApiError> {
    let (now, shape) = (context.now, table.shape());
    let Some(state) = table.global_state(now).filter(|_| shape.deleted_at.is_none()) else {
        return Ok(None);
    };
    if now < shape.active_at {
        return Err(ApiError::in_use(format_args!("Table: {} is being used.", table.name)));
    }
    if state.consistency == Consistency::Strong {
        return Err(replicas::only_one_replica());
    }
    if state.is_changing(now) {
        return Err(ApiError::in_use(format_args!(
            "Table: {} is in the process of being updated.",
            table.name
        )));
    }
    replicas::check_source(context, &shape, Some(&state), &table.scope.region)?;
    let mut state = GroupState::clone(&state);
    state.drop_gone(now);
    if let Some(replica) = state.replica_mut(table.ordinal) {
        let gone_at = now.plus(deletion_time(&shape, table));
        replica.removal = Some(Removal {
            shows_at: now,
            gone_at,
            keeps_table: false,
        });
    }
    Ok(Some(state))
}

/// The duration of a table's deletion.
fn deletion_time(shape: &TableSettings, table: &Table) -> Duration {
    let decision = chance::decide(shape.seed, "deleting", table.id.as_bytes(), 0);
    shape.conditions.table_status.of(decision)
}

/// Changes the settings of a deleted table, and its replica group.
fn delete(
    table: &Table,
    group: Option<GroupState>,
    now: Moment,
    change: impl FnOnce(&mut TableSettings) -> Result<(), ApiError>,
) -> Result<Arc<Shape>, ApiError> {
    let tables = table.replica_group().map(|group| group.tables()).unwrap_or_default();
    match group {
        Some(group) => table.reshape_replica(now, &group, &tables, change),
        None => table.reshape(now, change),
    }
}

/// Rejects the deletion of a table while it is being changed.
fn check_jobs(shape: &TableSettings, name: &Name, now: Moment) -> Result<(), ApiError> {
    if shape.running(now).any(|job| job.index().is_some()) {
        return Err(ApiError::in_use(
            "Cannot delete table while indexes are being created, updated, or deleted.",
        ));
    }
    if shape.running(now).any(|job| matches!(job.work, JobKind::Stream { .. })) {
        return Err(ApiError::in_use(
            "Cannot delete table while stream is being enabled/disabled.",
        ));
    }
    let mut others = shape
        .running(now)
        .filter(|job| !matches!(job.work, JobKind::ClearLimits { .. }));
    if others.next().is_some() {
        return Err(ApiError::in_use(format_args!(
            "Table: {name} is in the process of being updated."
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Caller;
    use crate::conditions::{Conditions, Lag};
    use crate::context::EngineState;
    use crate::error::ErrorKind;
    use crate::execute::Refusals;
    use crate::operation;
    use crate::plan::WriteAction;
    use crate::plan::WriteCondition;
    use crate::storage::Scope;
    use crate::value::{AttributeValue, Map, SentItem};
    use crate::wire::envelope::Service;
    use std::time::Duration;

    /// Writes that were planned before their table was deleted are rejected, and so are transactions with such a write.
    #[test]
    fn writes_planned_before_a_deletion_are_refused() {
        let mut slow = Conditions::CALM;
        slow.table_status = Lag::Fixed(Duration::from_secs(10));
        // The deleted table is removed at once, or after a while.
        for conditions in [Conditions::CALM, slow] {
            let state = EngineState::new(1, &conditions);
            let scope = Scope {
                account: "me".into(),
                region: "us-east-1".into(),
            };
            let caller = Caller {
                access_key: "me".into(),
                region: "us-east-1".into(),
            };
            let at = |seconds: u64| {
                let now = Moment::START.plus(Duration::from_secs(seconds));
                Context::new(&state, scope.clone(), &caller, "PutItem", now)
            };
            let send = |seconds: u64, name: &str, body: &str| {
                let operation = operation::find(Service::DynamoDb, name).unwrap();
                (operation.run)(&at(seconds), body.as_bytes(), &mut Writer::new()).unwrap();
            };
            for table in ["kept", "deleted"] {
                let body = format!(
                    r#"{{"TableName": "{table}", "BillingMode": "PAY_PER_REQUEST",
                        "AttributeDefinitions": [{{"AttributeName": "pk", "AttributeType": "S"}}],
                        "KeySchema": [{{"AttributeName": "pk", "KeyType": "HASH"}}]}}"#
                );
                send(0, "CreateTable", &body);
            }
            let context = at(100);
            let key: Map = [("pk".into(), AttributeValue::string("a"))].into_iter().collect();
            let item = SentItem::from(key.clone());
            let [kept, deleted] = ["kept", "deleted"].map(|name| plan::table(&context, name).unwrap());
            send(100, "DeleteTable", r#"{"TableName": "deleted"}"#);
            let put = |target: &plan::Target| plan::put(target.clone(), &item, WriteCondition::default());
            let keyed = |action| plan::keyed(deleted.clone(), &key, action, WriteCondition::default());
            for write in [put(&deleted), keyed(WriteAction::Delete)] {
                let alone = execute::write(&context, &write.unwrap()).unwrap_err();
                assert_eq!(alone.kind(), ErrorKind::ResourceNotFound);
            }
            for writes in [
                vec![put(&deleted)],
                vec![put(&kept), put(&deleted)],
                vec![put(&deleted), put(&kept)],
                vec![put(&kept), keyed(WriteAction::Check)],
            ] {
                let together = execute::transact_write(&context, &writes, Refusals::default()).unwrap_err();
                assert_eq!(together.kind(), ErrorKind::ResourceNotFound);
            }
            assert!(kept.table.items().is_empty());
            assert!(deleted.table.items().is_empty());
        }
    }
}
