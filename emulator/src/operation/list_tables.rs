//! [ListTables](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListTables.html).

use std::ops::Bound;

use super::check;
use crate::context::Context;
use crate::error::{ApiError, Violations};
use crate::request::ListTables;
use crate::value::Name;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

const MOST: i64 = 100;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = ListTables::decode(body)?;
    let mut faults = Violations::new();
    if let Some(start) = &request.exclusive_start_table_name {
        check::plain_name(&mut faults, start, "exclusiveStartTableName");
    }
    check::echoed_range(&mut faults, request.limit, "limit", 1, MOST);
    faults.finish()?;
    context.judge_control("")?;
    let limit = request.limit.unwrap_or(MOST) as usize;
    let lower = request
        .exclusive_start_table_name
        .map_or(Bound::Unbounded, Bound::Excluded);
    let region = context.engine.catalog().region(&context.scope);
    let tables = region.as_ref().map(|region| region.tables.read());
    let mut names = tables
        .iter()
        .flat_map(|tables| tables.range::<Name, _>((lower.as_ref(), Bound::Unbounded)))
        .filter(|(_, table)| table.shape().deleted_at.is_none_or(|gone| gone > context.now))
        .map(|(name, _)| name.as_str());
    let mut last = None;
    let mut answer = Object::open(out);
    let listed = names.by_ref().take(limit).inspect(|name| last = Some(*name));
    answer.strings("TableNames", listed);
    if let Some(last) = last.filter(|_| names.next().is_some()) {
        answer.string("LastEvaluatedTableName", last);
    }
    answer.close();
    Ok(())
}
