//! The conditions of tables: common ones, and those set for single tables, which may not exist yet.

use super::commit::Committed;
use super::scope::Scope;
use crate::conditions::Conditions;
use crate::sorted::SortedMap;
use crate::sync::RwLock;
use crate::value::Name;

#[derive(Debug, Default)]
pub struct Defaults {
    conditions: RwLock<Conditions>,
    tables: RwLock<OfTables>,
}

#[derive(Debug, Default)]
struct OfTables {
    /// In boxes: inserting moves what follows, and conditions are large.
    own: SortedMap<(Scope, Name), Box<Conditions>>,
    /// The number of running loads into a table. No commit contains it.
    loads: SortedMap<(Scope, Name), usize>,
}

impl Defaults {
    /// Defaults with these conditions for all tables.
    pub(super) fn new(conditions: &Conditions) -> Defaults {
        Defaults {
            conditions: RwLock::new(*conditions),
            tables: RwLock::default(),
        }
    }

    /// The conditions of all tables without their own.
    pub fn conditions(&self) -> Conditions {
        *self.conditions.read()
    }

    /// A table's own conditions, if set.
    pub fn of_table(&self, scope: &Scope, table: &str) -> Option<Conditions> {
        self.own_and_loading(scope, table).0
    }

    /// The conditions of a table: its own or the common ones, eased while it is loaded.
    pub fn of(&self, scope: &Scope, table: &str) -> Conditions {
        let (own, loading) = self.own_and_loading(scope, table);
        let conditions = own.unwrap_or_else(|| self.conditions());
        if loading {
            conditions.while_loading()
        } else {
            conditions
        }
    }

    /// Tests the conditions of a table without copying the common ones.
    pub fn test(&self, scope: &Scope, table: &str, test: impl FnOnce(&Conditions) -> bool) -> bool {
        match self.own_and_loading(scope, table) {
            (None, false) => test(&self.conditions.read()),
            (Some(own), false) => test(&own),
            (own, true) => test(&own.unwrap_or_else(|| self.conditions()).while_loading()),
        }
    }

    /// A table's own conditions, if set, and whether it is loaded.
    fn own_and_loading(&self, scope: &Scope, table: &str) -> (Option<Conditions>, bool) {
        let tables = self.tables.read();
        if tables.own.is_empty() && tables.loads.is_empty() {
            return (None, false);
        }
        let name = (scope.clone(), Name::new(table));
        (tables.own.get(&name).map(|own| **own), tables.loads.contains_key(&name))
    }

    /// The number of tables, existing or not, with their own conditions.
    pub fn count(&self) -> usize {
        self.tables.read().own.len()
    }

    /// The conditions of single tables.
    pub(super) fn tables(&self) -> SortedMap<(Scope, Name), Box<Conditions>> {
        self.tables.read().own.clone()
    }

    /// Begins a load into a table, existing or not.
    pub fn begin_load(&self, scope: &Scope, table: &Name) {
        *self
            .tables
            .write()
            .loads
            .get_or_default(&(scope.clone(), table.clone())) += 1;
    }

    /// Ends a load into a table.
    pub fn end_load(&self, scope: &Scope, table: &Name) {
        let name = (scope.clone(), table.clone());
        let mut tables = self.tables.write();
        let running = tables.loads.remove(&name).unwrap_or_default();
        if running > 1 {
            tables.loads.insert(name, running - 1);
        }
    }

    pub(super) fn set(&self, _: &Committed<'_>, conditions: &Conditions) {
        *self.conditions.write() = *conditions;
    }

    pub(super) fn set_table(&self, _: &Committed<'_>, scope: &Scope, table: &Name, conditions: Option<&Conditions>) {
        let name = (scope.clone(), table.clone());
        match conditions {
            Some(conditions) => drop(self.tables.write().own.insert(name, Box::new(*conditions))),
            None => drop(self.tables.write().own.remove(&name)),
        }
    }

    pub(super) fn replace(&self, _: &Committed<'_>, by: Defaults) {
        *self.conditions.write() = by.conditions();
        self.tables.write().own = by.tables();
    }

    pub(super) fn clear_tables(&self, _: &Committed<'_>) {
        self.tables.write().own.clear();
    }
}
