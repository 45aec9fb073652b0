//! The controls of tables.

use super::ControlRequest;
use crate::operation::tables::description;
use crate::wire::control::{ControlResult, write_heat};
use crate::wire::encode::Writer;
use crate::wire::object::{List, Object};

impl ControlRequest<'_> {
    /// Lists the tables of one caller, or of all.
    pub fn list_tables(&self, writer: &mut Writer) -> ControlResult<()> {
        let named = self.caller_or_shared().map(|caller| self.twin.scope(&caller));
        self.twin.run_due();
        let now = self.twin.clock.now();
        let mut list = List::open(writer);
        for (scope, region) in self.twin.state.catalog().scopes() {
            if named.as_ref().is_some_and(|named| *named != scope) {
                continue;
            }
            let tables: Vec<_> = region.tables.read().values().cloned().collect();
            for table in tables {
                let (items, bytes) = table.count();
                let mut object = list.object();
                object.string("table", &table.name);
                if !self.twin.shared_db {
                    object.string("accessKey", &scope.account);
                    object.string("region", &scope.region);
                }
                object.string("status", description::status_at(&table, now));
                object.integer("items", items as i64);
                object.integer("bytes", bytes as i64);
                object.close();
            }
        }
        list.close();
        Ok(())
    }

    pub fn expire_now(&self, writer: &mut Writer) -> ControlResult<()> {
        let (account, table) = self.table()?;
        let count = account.expire_now(table)?;
        let mut object = Object::open(writer);
        object.integer("deleted", count as i64);
        object.close();
        Ok(())
    }

    /// Splits the shards of the table's stream.
    pub fn split_shards(&self, writer: &mut Writer) -> ControlResult<()> {
        let (account, table) = self.table()?;
        let split = account.split_shards(table)?;
        let mut object = Object::open(writer);
        object.boolean("split", split);
        object.close();
        Ok(())
    }

    /// Writes how the table's capacity was used.
    pub fn get_heat(&self, writer: &mut Writer) -> ControlResult<()> {
        let (account, table) = self.table()?;
        let heat = account.heat(table)?;
        let mut object = Object::open(writer);
        write_heat(&heat, &mut object);
        object.close();
        Ok(())
    }

    /// Starts to record a table's heat, keys included.
    pub fn watch_heat(&self, writer: &mut Writer) -> ControlResult<()> {
        watch(self, true)?;
        self.get_heat(writer)
    }

    /// Stops to record a table's heat.
    pub fn unwatch_heat(&self, writer: &mut Writer) -> ControlResult<()> {
        watch(self, false)?;
        self.get_heat(writer)
    }
}

fn watch(requested: &ControlRequest<'_>, watches: bool) -> ControlResult<()> {
    let (account, table) = requested.table()?;
    account.watch_heat(table, watches)?;
    Ok(())
}
