//! The controls of global indexes: pause, resume, and lag.

use super::ControlRequest;
use crate::execute::IndexStatus;
use crate::wire::control::{ControlError, ControlResult, Json, read_lag, write_lag};
use crate::wire::encode::Writer;
use crate::wire::object::{List, Object};

/// A table's global indexes.
pub fn list(asked: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let (caller, table) = asked.table()?;
    let mut list = List::open(writer);
    for index in asked.twin.indexes(&caller, table)? {
        write(&index, list.element());
    }
    list.close();
    Ok(())
}

/// Pauses an index.
pub fn pause(asked: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let (caller, table) = asked.table()?;
    asked.twin.pause_index(&caller, table, asked.part(3))?;
    show(asked, writer)
}

/// Resumes an index.
pub fn resume(asked: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let (caller, table) = asked.table()?;
    asked.twin.resume_index(&caller, table, asked.part(3))?;
    show(asked, writer)
}

/// Sets an index's own lag.
pub fn set_lag(asked: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    if asked.body == Json::Null {
        return Err(ControlError::malformed(
            "lag takes a number of seconds, or { typical, longest }; DELETE lets the index follow its table again.",
        ));
    }
    let lag = read_lag("lag", &asked.body)?;
    let (caller, table) = asked.table()?;
    asked.twin.set_index_lag(&caller, table, asked.part(3), Some(lag))?;
    show(asked, writer)
}

/// Removes an index's own lag.
pub fn clear_lag(asked: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let (caller, table) = asked.table()?;
    asked.twin.set_index_lag(&caller, table, asked.part(3), None)?;
    show(asked, writer)
}

fn show(asked: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let (caller, table) = asked.table()?;
    let indexes = asked.twin.indexes(&caller, table)?;
    let found = indexes.iter().find(|index| index.name == asked.part(3));
    // A concurrent request may have removed it.
    let gone = || ControlError::not_found(format!("Table {table} has no global index {}.", asked.part(3)));
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
