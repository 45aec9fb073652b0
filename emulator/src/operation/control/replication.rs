//! The controls of replication between the regions of a global table: pause, resume, and lag.

use super::ControlRequest;
use crate::execute::ReplicationState;
use crate::wire::control::{ControlError, ControlResult, Json, read_lag, write_lag};
use crate::wire::encode::Writer;
use crate::wire::object::{List, Object};

impl ControlRequest<'_> {
    /// Replication between a table and each of its replicas.
    pub fn list_replication(&self, writer: &mut Writer) -> ControlResult<()> {
        let (account, table) = self.table()?;
        let mut list = List::open(writer);
        for state in account.replication(table)? {
            write(&state, list.element());
        }
        list.close();
        Ok(())
    }

    /// Pauses replication between a table and all of its replicas.
    pub fn pause_all_replication(&self, writer: &mut Writer) -> ControlResult<()> {
        let (account, table) = self.table()?;
        account.pause_replication(table, None)?;
        self.list_replication(writer)
    }

    /// Resumes replication between a table and all of its replicas.
    pub fn resume_all_replication(&self, writer: &mut Writer) -> ControlResult<()> {
        let (account, table) = self.table()?;
        account.resume_replication(table, None)?;
        self.list_replication(writer)
    }

    /// Pauses replication between a table and its replica in a region.
    pub fn pause_replication(&self, writer: &mut Writer) -> ControlResult<()> {
        let (account, table) = self.table()?;
        account.pause_replication(table, Some(self.part("region")))?;
        show(self, writer)
    }

    /// Resumes replication between a table and its replica in a region.
    pub fn resume_replication(&self, writer: &mut Writer) -> ControlResult<()> {
        let (account, table) = self.table()?;
        account.resume_replication(table, Some(self.part("region")))?;
        show(self, writer)
    }

    /// Sets how long a table's writes take to reach its replica in a region.
    pub fn set_replication_lag(&self, writer: &mut Writer) -> ControlResult<()> {
        if self.body == Json::Null {
            return Err(ControlError::malformed(
                "lag must be a number of seconds, or { typical, longest }; DELETE lets replication follow the table's conditions again.",
            ));
        }
        let lag = read_lag("lag", &self.body)?;
        let (account, table) = self.table()?;
        account.set_replication_lag(table, self.part("region"), Some(lag))?;
        show(self, writer)
    }

    /// Lets replication to a region follow the table's conditions again.
    pub fn clear_replication_lag(&self, writer: &mut Writer) -> ControlResult<()> {
        let (account, table) = self.table()?;
        account.set_replication_lag(table, self.part("region"), None)?;
        show(self, writer)
    }
}

fn show(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let (account, table) = requested.table()?;
    let states = account.replication(table)?;
    let found = states.iter().find(|state| state.region == requested.part("region"));
    // Another request may have removed it meanwhile.
    let gone = || ControlError::not_found(format!("Table {table} has no replica in {}.", requested.part("region")));
    write(found.ok_or_else(gone)?, writer);
    Ok(())
}

fn write(state: &ReplicationState, writer: &mut Writer) {
    let mut object = Object::open(writer);
    object.string("region", &state.region);
    object.boolean("paused", state.paused);
    object.integer("arriving", state.arriving as i64);
    object.integer("leaving", state.leaving as i64);
    if let Some(lag) = state.lag {
        write_lag(lag, object.member("lag"));
    }
    object.close();
}
