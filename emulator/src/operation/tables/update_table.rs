//! [UpdateTable](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html).

mod backfill;
mod indexes;
pub(in crate::operation) mod replicas;
mod request;
mod settings;
mod stream;
mod throughput;
mod vectors;
mod warm;

use std::sync::Arc;

use compact_str::CompactString;

use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::{self, Verdicts};
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::operation::tables::account;
use crate::operation::tables::description::{self, GlobalView, TableView};
use crate::plan::{self, Access, ControlAccess, RegionActions, Target};
use crate::request::UpdateTable;
use crate::schema::Definition;
use crate::storage::{Job, JobKind, Shape, Table, TableSettings};
use crate::wire::encode::Writer;

pub struct Operation;

/// The result of the update.
pub struct Outcome {
    shape: Arc<Shape>,
    now: Moment,
    /// The table's replicas before the change, if it changes them.
    replicas: Option<GlobalView>,
}

impl Stages for Operation {
    type Request = UpdateTable;
    type Checked<'r> = (&'r str, &'r UpdateTable);
    type Plan<'r> = (Target, &'r UpdateTable, Vec<RegionActions>);
    type Outcome = Outcome;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        request::drop_empty(request);
        let request = &*request;
        let name = check::control_table_name(request.table_name.as_ref())?;
        request::check(request)?;
        Ok((name, request))
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        let (name, request) = checked;
        let elsewhere = replicas::needed_actions(context, request);
        Ok((plan::table_in_any_state(context, name)?, request, elsewhere))
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::target(&plan.0).also_in(&plan.2)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Verdicts) -> Result<Self::Outcome, ApiError> {
        let (Target { table, .. }, request, _) = plan;
        execute::run_due(table, context.now);
        account::check_operations(context, &table.name)?;
        // Before the table is locked: locks of two tables are never nested.
        let others = account::reserved_by_others(context, &table.name);
        let turn = context.engine.catalog().change_replicas();
        if request.replica_updates.is_some() {
            return replicas::change(context, table, request);
        }
        let now = context.now;
        replicas::check_settings(context, table, request)?;
        let before = table.shape();
        let shape = replicas::reshape(table, now, |shape| {
            let was = Arc::clone(&shape.definition);
            let mut edit = TableUpdate {
                context,
                table,
                shape,
                request,
            };
            edit.run()?;
            others.map_or(Ok(()), |others| {
                account::check_change(context, others, &was, &shape.definition)
            })
        })?;
        let filled = replicas::synchronize(context, table, (&before, &shape), replicas::UPDATE)?;
        drop(turn);
        for (replica, shape) in filled {
            backfill::run(context, &replica, shape)?;
        }
        Ok(Outcome {
            shape: backfill::run(context, table, shape)?,
            now,
            replicas: None,
        })
    }

    fn encode(plan: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let (table, shape, now) = (&plan.0.table, outcome.shape, outcome.now);
        match &outcome.replicas {
            Some(before) => description::table_with_replicas(out, table, &shape, before, now),
            None => description::table(out, "TableDescription", table, &shape, TableView::Updated(now)),
        }
    }
}

/// Rejects changes of a table that is being created or deleted.
fn check_active(table: &Table, shape: &TableSettings, now: Moment) -> Result<(), ApiError> {
    let name = &table.name;
    if shape.is_deleting() {
        return Err(ApiError::in_use(format_args!("Table is being deleted: {name}")));
    }
    if shape.is_restoring(now) || (now < shape.active_at && table.is_replica()) {
        return Err(ApiError::table_not_found_named(name));
    }
    if now < shape.active_at {
        return Err(ApiError::in_use(format_args!("Table is being created: {name}")));
    }
    Ok(())
}

/// A change of a table's settings, under all locks of the table. If it fails nothing is changed.
struct TableUpdate<'e> {
    context: &'e Context<'e>,
    table: &'e Table,
    shape: &'e mut TableSettings,
    request: &'e UpdateTable,
}

impl TableUpdate<'_> {
    fn run(&mut self) -> Result<(), ApiError> {
        let now = self.context.now;
        check_active(self.table, self.shape, now)?;
        self.shape.jobs.retain(|job| job.runs(now));
        self.protection()?;
        self.class()?;
        self.encryption()?;
        self.throughput()?;
        self.on_demand()?;
        self.warm()?;
        self.indexes()?;
        self.vectors()?;
        self.stream()
    }

    fn definition(&mut self) -> &mut Definition {
        Arc::make_mut(&mut self.shape.definition)
    }

    /// Whether changes take time and have a cooldown.
    fn takes_time(&self) -> bool {
        self.shape.takes_time()
    }

    /// When a change completes that takes `times` times as long as the creation of a table (measured: about 6 s).
    fn after(&self, what: &str, times: f64) -> Moment {
        self.shape.later(self.context.now, what, &self.table.name, times)
    }

    fn begin(&mut self, work: JobKind, until: Moment) {
        self.shape.jobs.push(Job { work, until });
    }

    /// The names of the indexes whose jobs match.
    fn indexes_in(&self, matches: impl Fn(&JobKind) -> bool) -> Option<String> {
        let jobs = self.shape.jobs.iter().filter(|job| matches(&job.work));
        let names: Vec<&str> = jobs.filter_map(Job::index).map(CompactString::as_str).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// The indexes for which the service is still allocating resources.
    fn allocating(&self) -> Option<String> {
        let now = self.context.now;
        self.indexes_in(|work| matches!(work, JobKind::CreateIndex { allocated, .. } if *allocated > now))
    }

    /// The indexes that are being deleted.
    fn deleting(&self) -> Option<String> {
        self.indexes_in(|work| matches!(work, JobKind::DeleteIndex { .. } | JobKind::DeleteVectorIndex { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Caller;
    use crate::conditions::Conditions;
    use crate::context::EngineState;
    use crate::error::ErrorKind;
    use crate::execute::Verdicts;
    use crate::expression::Bindings as Expressions;
    use crate::operation;
    use crate::plan::WriteAction;
    use crate::plan::WriteCondition;
    use crate::request::Substitutions;
    use crate::storage::Scope;
    use crate::value::{AttributeValue, Map, SentItem};
    use crate::wire::envelope::Service;

    const TABLE: &str = r#"{"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}"#;
    const INDEX: &str = r#"{"TableName": "tab", "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": {"IndexName": "by-g", "Projection": {"ProjectionType": "ALL"},
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]}}]}"#;

    fn item(pk: &str, g: AttributeValue) -> Map {
        [("pk".into(), AttributeValue::string(pk)), ("g".into(), g)]
            .into_iter()
            .collect()
    }

    #[test]
    fn writes_planned_before_an_index_respect_it() {
        let state = EngineState::new(1, &Conditions::CALM);
        let scope = Scope {
            account: "me".into(),
            region: "us-east-1".into(),
        };
        let caller = Caller {
            access_key: "me".into(),
            region: "us-east-1".into(),
        };
        let context = Context::new(&state, scope, &caller, "PutItem", Moment::START);
        let send = |name: &str, body: &str| {
            let operation = operation::find(Service::DynamoDb, name).unwrap();
            (operation.run)(&context, body.as_bytes(), &mut Writer::new()).unwrap();
        };
        send("CreateTable", TABLE);
        let target = plan::table(&context, "tab").unwrap();
        let number = || AttributeValue::N("1".parse().unwrap());
        let bad = SentItem::from(item("bad", number()));
        let good = SentItem::from(item("good", AttributeValue::string("x")));
        let key: Map = [("pk".into(), AttributeValue::string("updated"))].into_iter().collect();
        let substitutions = Substitutions {
            names: None,
            values: Some(vec![(":g".into(), number())]),
        };
        let update = Expressions::new(&substitutions, &state.caches().expressions)
            .unwrap()
            .update("SET g = :g")
            .unwrap();
        let action = WriteAction::Update {
            update: Some(update),
            charged: true,
        };
        let refused = [
            plan::put(target.clone(), &bad, WriteCondition::default()).unwrap(),
            plan::keyed(target.clone(), &key, action, WriteCondition::default()).unwrap(),
        ];
        let served = plan::put(target.clone(), &good, WriteCondition::default()).unwrap();
        send("UpdateTable", INDEX);
        for write in refused {
            let alone = execute::write(&context, &write).unwrap_err();
            assert_eq!(alone.kind(), ErrorKind::Validation);
            let together = execute::transact_write(&context, &[Ok(write)], Verdicts::default()).unwrap_err();
            assert_eq!(together.kind(), ErrorKind::TransactionCanceled);
        }
        let change = execute::write(&context, &served).unwrap();
        assert_eq!(
            change.globals.len(),
            1,
            "the index is newer than the plan, and has the write"
        );
        assert_eq!(change.consumed(&target.table.name).table, change.units);
        let shape = target.table.shape();
        shape.indexes[0].drain(Moment::START);
        assert_eq!(shape.indexes[0].count().0, 1);
        assert_eq!(target.table.items(), std::slice::from_ref(&good.item));
    }
}
