//! The controls of tables.

use super::ControlRequest;
use crate::wire::control::{ControlResult, write_heat};
use crate::wire::encode::Writer;
use crate::wire::object::{List, Object};

/// Lists the tables of one caller, or of all.
pub fn list(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let named = requested.anybody().map(|caller| requested.twin.scope(&caller));
    requested.twin.run_due();
    let mut list = List::open(writer);
    for (scope, region) in requested.twin.state.catalog().scopes() {
        if named.as_ref().is_some_and(|named| *named != scope) {
            continue;
        }
        let tables: Vec<_> = region.tables.read().values().cloned().collect();
        for table in tables {
            let (items, bytes) = table.count();
            let mut object = list.object();
            object.string("table", &table.name);
            if !requested.twin.shared_db {
                object.string("accessKey", &scope.account);
                object.string("region", &scope.region);
            }
            object.integer("items", items as i64);
            object.integer("bytes", bytes as i64);
            object.close();
        }
    }
    list.close();
    Ok(())
}

/// Deletes expired items.
pub fn expire_now(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let (caller, table) = requested.table()?;
    let count = requested.twin.expire_now(&caller, table)?;
    let mut object = Object::open(writer);
    object.integer("deleted", count as i64);
    object.close();
    Ok(())
}

/// Splits the shards of the table's stream.
pub fn split_shards(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let (caller, table) = requested.table()?;
    let split = requested.twin.split_shards(&caller, table)?;
    let mut object = Object::open(writer);
    object.boolean("split", split);
    object.close();
    Ok(())
}

/// Writes what the table's capacity was spent on.
pub fn heat(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let (caller, table) = requested.table()?;
    let heat = requested.twin.heat(&caller, table)?;
    let mut object = Object::open(writer);
    write_heat(&heat, &mut object);
    object.close();
    Ok(())
}

/// Starts to record a table's heat, keys included.
pub fn watch_heat(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    watch(requested, true)?;
    heat(requested, writer)
}

/// Stops to record a table's heat.
pub fn unwatch_heat(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    watch(requested, false)?;
    heat(requested, writer)
}

fn watch(requested: &ControlRequest<'_>, watches: bool) -> ControlResult<()> {
    let (caller, table) = requested.table()?;
    requested.twin.watch_heat(&caller, table, watches)?;
    Ok(())
}
