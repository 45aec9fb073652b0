//! [CreateTable](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html).

pub(super) mod definition;
pub(super) mod shape;
pub(super) mod vector;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::check;
use super::description::{self, Look};
use super::policies;
use crate::chance;
use crate::error::ApiError;
use crate::execute::Context;
use crate::request::CreateTable;
use crate::storage::{Attached, GlobalIndex, PARTITIONS, Recent, Shape, Stream, StreamSettings, Table, VectorEntries};
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::policy::Document;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = CreateTable::decode(body)?;
    let Some(name) = request.table_name.clone() else {
        return Err(ApiError::table_name_required());
    };
    shape::check(&request, &name)?;
    let definition = definition::read(context, &request)?;
    let policy = request.resource_policy.as_deref();
    let policy = policy.map(|text| Document::read(text, false)).transpose()?;
    let attached = Attached {
        policies: policy
            .iter()
            .map(|document| policies::first(context, document.text()))
            .collect(),
        ..Attached::default()
    };
    context.tell(|draft| draft.name_table(&name));
    context.judge_control(&name)?;
    let region = context.engine.catalog().region_or_new(&context.scope);
    let mut tables = region.tables.write();
    if let Some(there) = tables.get(&name) {
        let shape = there.shape();
        if shape.deleted_at.is_none_or(|gone| gone > context.now) {
            return Err(if context.now < shape.active_at {
                ApiError::in_use(format_args!("Table is being created: {name}"))
            } else {
                ApiError::table_exists(&name)
            });
        }
    }
    let ordinal = context.engine.catalog().next_ordinal();
    let conditions = context.engine.conditions_of(&context.scope, &name);
    let seed = chance::decide(context.engine.seed(), "table", name.as_bytes(), 0);
    let lag = conditions
        .table_status
        .of(chance::decide(seed, "creating", &[], ordinal));
    let arn = context.table_arn(&name);
    let active_at = context.now.plus(lag);
    let mut shape = Shape {
        epoch: 1,
        indexes: definition
            .globals
            .iter()
            .map(|_| Arc::new(GlobalIndex::new()))
            .collect(),
        vectors: definition
            .vectors
            .iter()
            .map(|_| Arc::new(VectorEntries::new()))
            .collect(),
        definition: Arc::new(definition),
        stream: None,
        latest_stream: None,
        time_to_live: None,
        time_to_live_changed: None,
        conditions,
        index_lags: BTreeMap::new(),
        seed,
        active_at,
        deleted_at: None,
        jobs: Vec::new(),
        recent: Recent::default(),
        attached: Arc::new(attached),
    };
    if let Some(view) = definition::stream(&request)? {
        let stream = Stream::new(StreamSettings {
            table: name.clone(),
            table_arn: &arn,
            key: shape.definition.key.clone(),
            view,
            created: region.stream_label(&arn, context.now),
            enabled_at: active_at,
            seed,
            partitions: PARTITIONS,
        });
        region.add_stream(&shape.open_stream(stream));
    }
    let id = description::uuid(
        chance::decide(seed, "id", &[], ordinal),
        chance::decide(seed, "id", &[1], ordinal),
    );
    let table = Table::new(name.clone(), arn, id, ordinal, context.now, shape);
    // Under the lock that whoever begins to watch takes after having said so.
    if context.engine.journal().is_asked() {
        table.watch_from_birth();
    }
    let table = Arc::new(table);
    tables.insert(name, Arc::clone(&table));
    drop(tables);
    description::table(out, "TableDescription", &table, &table.shape(), Look::Created);
    Ok(())
}

/// The words of an enumeration that the request may use.
pub(super) fn one_of(word: Option<&crate::value::Text>) -> Option<&str> {
    word.map(crate::value::Text::as_str)
}

/// `check` is named so that both halves of the validation can find it.
pub(super) use check::words;
