//! [UpdateTable](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html).

mod backfill;
mod edit;
mod indexes;
pub(in crate::operation) mod replicas;
mod request;
mod settings;
mod stream;
mod throughput;
mod vectors;
mod warm;

use std::sync::Arc;

use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::{self, Refusals};
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::operation::tables::account;
use crate::operation::tables::description::{self, TableView};
use crate::plan::{self, Access, ControlAccess, RegionActions, Target};
use crate::request::UpdateTable;
use crate::wire::encode::Writer;
use edit::{Outcome, TableUpdate, check_active};

pub struct Operation;

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

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let (Target { table, .. }, request, _) = plan;
        execute::run_due(table, context.now);
        account::check_operations(context, &table.name)?;
        // Before the table is locked: locks of two tables are never nested.
        let others = account::reserved_by_others(context, &table.name);
        let turn = context.engine.catalog().change_replicas();
        if request.replica_updates.is_some() {
            return replicas::change(context, table, request);
        }
        if let Some(enabled) = request.disassociation_protection_enabled {
            return replicas::set_protection(context, table, enabled);
        }
        let now = context.now;
        replicas::check_settings(context, table, request)?;
        let before = table.shape();
        let shape = replicas::reshape(context, table, |shape| {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Caller;
    use crate::clock::Moment;
    use crate::conditions::Conditions;
    use crate::context::EngineState;
    use crate::error::ErrorKind;
    use crate::execute::Refusals;
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
            let together = execute::transact_write(&context, &[Ok(write)], Refusals::default()).unwrap_err();
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
