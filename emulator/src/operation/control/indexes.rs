//! The controls of global indexes: pause, resume, and lag.

use super::ControlRequest;
use crate::execute::IndexStatus;
use crate::wire::control::{ControlError, ControlResult, Json, read_lag, write_lag};
use crate::wire::encode::Writer;
use crate::wire::object::{List, Object};

/// A table's global indexes.
pub fn list(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let (caller, table) = requested.table()?;
    let mut list = List::open(writer);
    for index in requested.twin.indexes(&caller, table)? {
        write(&index, list.element());
    }
    list.close();
    Ok(())
}

/// Pauses an index.
pub fn pause(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let (caller, table) = requested.table()?;
    requested.twin.pause_index(&caller, table, requested.part(3))?;
    show(requested, writer)
}

/// Resumes an index.
pub fn resume(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let (caller, table) = requested.table()?;
    requested.twin.resume_index(&caller, table, requested.part(3))?;
    show(requested, writer)
}

/// Sets an index's own lag.
pub fn set_lag(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    if requested.body == Json::Null {
        return Err(ControlError::malformed(
            "lag takes a number of seconds, or { typical, longest }; DELETE lets the index follow its table again.",
        ));
    }
    let lag = read_lag("lag", &requested.body)?;
    let (caller, table) = requested.table()?;
    requested
        .twin
        .set_index_lag(&caller, table, requested.part(3), Some(lag))?;
    show(requested, writer)
}

/// Removes an index's own lag.
pub fn clear_lag(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let (caller, table) = requested.table()?;
    requested.twin.set_index_lag(&caller, table, requested.part(3), None)?;
    show(requested, writer)
}

fn show(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let (caller, table) = requested.table()?;
    let indexes = requested.twin.indexes(&caller, table)?;
    let found = indexes.iter().find(|index| index.name == requested.part(3));
    // A concurrent request may have removed it.
    let gone = || ControlError::not_found(format!("Table {table} has no global index {}.", requested.part(3)));
    write(found.ok_or_else(gone)?, writer);
    Ok(())
}

fn write(index: &IndexStatus, writer: &mut Writer) {
    let mut object = Object::open(writer);
    object.string("index", &index.name);
    object.boolean("paused", index.paused);
    object.integer("waiting", index.waiting as i64);
    if let Some(lag) = index.lag {
        write_lag(lag, object.member("lag"));
    }
    object.close();
}
