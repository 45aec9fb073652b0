//! [CreateTable](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html).

pub(super) mod definition;
pub(super) mod shape;

use std::sync::Arc;
use std::time::Duration;

use super::check;
use super::description::{self, Look};
use super::one_of;
use crate::chance;
use crate::error::ApiError;
use crate::execute::Context;
use crate::request::CreateTable;
use crate::schema::Definition;
use crate::storage::{GlobalIndex, Recent, Restored, Shape, Table};
use crate::value::Name;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = CreateTable::decode(body)?;
    let Some(name) = request.table_name.clone() else {
        return Err(ApiError::table_name_required());
    };
    shape::check(&request, &name, "")?;
    let definition = definition::read(context, &request)?;
    context.judge_control(&name)?;
    let region = context.engine.catalog().region_or_new(&context.scope);
    let mut tables = region.tables.write();
    if let Some(there) = tables.get(&name) {
        let shape = there.shape();
        if shape.deleted_at.is_none_or(|gone| gone > context.now) {
            return Err(if shape.is_restoring(context.now) {
                ApiError::in_use(format_args!("Table is being used: {name}"))
            } else if context.now < shape.active_at {
                ApiError::in_use(format_args!("Table is being created: {name}"))
            } else {
                ApiError::table_exists(&name)
            });
        }
    }
    let table = make(context, name.clone(), definition, None);
    tables.insert(name, Arc::clone(&table));
    drop(tables);
    description::table(out, "TableDescription", &table, &table.shape(), Look::Created);
    Ok(())
}

/// How many times as long as the creation of a table a restore takes (measured: from 80 s on).
const RESTORE_TAKES: f64 = 20.0;

/// A table that nobody knows of yet.
pub(super) fn make(
    context: &Context<'_>,
    name: Name,
    definition: Definition,
    restored: Option<Restored>,
) -> Arc<Table> {
    let ordinal = context.engine.catalog().next_ordinal();
    let conditions = context.engine.conditions_of(&context.scope, &name);
    let seed = chance::decide(context.engine.seed(), "table", name.as_bytes(), 0);
    let decision = chance::decide(seed, "creating", &[], ordinal);
    let mut lag = conditions.table_status.of(decision);
    if restored.is_some() {
        lag = Duration::try_from_secs_f64(lag.as_secs_f64() * RESTORE_TAKES).unwrap_or(lag);
    }
    let indexes = definition.globals.iter().map(|_| Arc::new(GlobalIndex::new()));
    let shape = Shape {
        epoch: 1,
        indexes: indexes.collect(),
        definition: Arc::new(definition),
        time_to_live: None,
        time_to_live_changed: None,
        conditions,
        seed,
        active_at: context.now.plus(lag),
        deleted_at: None,
        jobs: Vec::new(),
        recent: Recent::default(),
        recovery: None,
        restored: restored.map(Arc::new),
    };
    let id = description::uuid(
        chance::decide(seed, "id", &[], ordinal),
        chance::decide(seed, "id", &[1], ordinal),
    );
    let arn = context.table_arn(&name);
    Arc::new(Table::new(name, arn, id, ordinal, context.now, shape))
}

/// `check` is named so that both halves of the validation can find it.
pub(super) use check::words;
