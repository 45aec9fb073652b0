//! The controls of global indexes: pause, resume, and lag.

use super::ControlRequest;
use crate::execute::IndexStatus;
use crate::wire::control::{ControlError, ControlResult, Json, read_lag, write_lag};
use crate::wire::encode::Writer;
use crate::wire::object::{List, Object};

impl ControlRequest<'_> {
    pub fn list_indexes(&self, writer: &mut Writer) -> ControlResult<()> {
        let (account, table) = self.table()?;
        let mut list = List::open(writer);
        for index in account.indexes(table)? {
            write(&index, list.element());
        }
        list.close();
        Ok(())
    }

    pub fn pause_index(&self, writer: &mut Writer) -> ControlResult<()> {
        let (account, table) = self.table()?;
        account.pause_index(table, self.part("index"))?;
        show(self, writer)
    }

    pub fn resume_index(&self, writer: &mut Writer) -> ControlResult<()> {
        let (account, table) = self.table()?;
        account.resume_index(table, self.part("index"))?;
        show(self, writer)
    }

    /// Sets an index's own lag.
    pub fn set_index_lag(&self, writer: &mut Writer) -> ControlResult<()> {
        if self.body == Json::Null {
            return Err(ControlError::malformed(
                "lag must be a number of seconds, or { typical, longest }; DELETE lets the index follow its table again.",
            ));
        }
        let lag = read_lag("lag", &self.body)?;
        let (account, table) = self.table()?;
        account.set_index_lag(table, self.part("index"), Some(lag))?;
        show(self, writer)
    }

    /// Removes an index's own lag.
    pub fn clear_index_lag(&self, writer: &mut Writer) -> ControlResult<()> {
        let (account, table) = self.table()?;
        account.set_index_lag(table, self.part("index"), None)?;
        show(self, writer)
    }
}

fn show(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let (account, table) = requested.table()?;
    let indexes = account.indexes(table)?;
    let found = indexes.iter().find(|index| index.name == requested.part("index"));
    // A concurrent request may have removed it.
    let gone = || {
        ControlError::not_found(format!(
            "Table {table} has no global index {}.",
            requested.part("index")
        ))
    };
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
