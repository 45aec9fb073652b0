//! The controls of conditions, of the emulator and of single tables.

use super::ControlRequest;
use crate::limits;
use crate::wire::control::{ControlError, ControlResult, read_conditions, shortened, write_conditions};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

impl ControlRequest<'_> {
    /// Writes the conditions of all tables without their own.
    pub fn get_conditions(&self, writer: &mut Writer) -> ControlResult<()> {
        write_conditions(&self.twin.state.conditions(), writer);
        Ok(())
    }

    /// Sets the conditions of all tables without their own.
    pub fn set_conditions(&self, writer: &mut Writer) -> ControlResult<()> {
        let conditions = read_conditions(&self.body, &self.twin.state.conditions())?;
        self.twin.set_conditions(conditions)?;
        self.get_conditions(writer)
    }

    /// Writes the conditions of one table, and whether they are its own.
    pub fn get_table_conditions(&self, writer: &mut Writer) -> ControlResult<()> {
        let (account, table) = self.table()?;
        let (state, scope) = (&self.twin.state, account.scope());
        let own = state.own_conditions(&scope, table);
        if own.is_none() {
            account.table(table)?;
        }
        let mut object = Object::open(writer);
        object.boolean("own", own.is_some());
        let conditions = own.unwrap_or_else(|| state.conditions());
        write_conditions(&conditions, object.member("conditions"));
        object.close();
        Ok(())
    }

    /// Sets a table's own conditions, before or after its creation; omitted ones follow those of all tables.
    pub fn set_table_conditions(&self, writer: &mut Writer) -> ControlResult<()> {
        let (account, table) = self.table()?;
        let state = &self.twin.state;
        let conditions = read_conditions(&self.body, &state.conditions())?;
        let fits = (3..=255).contains(&table.len()) && table.bytes().all(is_of_a_name);
        if !fits {
            let table = shortened(table);
            return Err(ControlError::malformed(format!(
                "\"{table}\" is not a valid table name."
            )));
        }
        let is_new = state.own_conditions(&account.scope(), table).is_none();
        if is_new && state.count_own_conditions() >= limits::OWN_CONDITIONS {
            return Err(ControlError::malformed(format!(
                "{} tables have conditions of their own, which is the maximum.",
                limits::OWN_CONDITIONS
            )));
        }
        account.set_table_conditions(table, conditions)?;
        self.get_table_conditions(writer)
    }

    /// Removes a table's own conditions.
    pub fn clear_table_conditions(&self, writer: &mut Writer) -> ControlResult<()> {
        let (account, table) = self.table()?;
        let own = self.twin.state.own_conditions(&account.scope(), table);
        if own.is_none() {
            account.table(table)?;
        }
        account.set_table_conditions(table, None)?;
        let mut object = Object::open(writer);
        object.boolean("own", false);
        write_conditions(&self.twin.state.conditions(), object.member("conditions"));
        object.close();
        Ok(())
    }
}

fn is_of_a_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}
