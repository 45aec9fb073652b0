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
    /// In boxes: inserting moves what follows, and conditions are large.
    tables: RwLock<SortedMap<(Scope, Name), Box<Conditions>>>,
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
        let own = self.tables.read();
        if own.is_empty() {
            return None;
        }
        own.get(&(scope.clone(), Name::new(table))).map(|own| **own)
    }

    /// Tests the conditions of a table without copying the common ones.
    pub fn test(&self, scope: &Scope, table: &str, test: impl FnOnce(&Conditions) -> bool) -> bool {
        match self.of_table(scope, table) {
            Some(own) => test(&own),
            None => test(&self.conditions.read()),
        }
    }

    /// The number of tables, existing or not, with their own conditions.
    pub fn count(&self) -> usize {
        self.tables.read().len()
    }

    /// The conditions of single tables.
    pub(super) fn tables(&self) -> SortedMap<(Scope, Name), Box<Conditions>> {
        self.tables.read().clone()
    }

    pub(super) fn set(&self, _: &Committed<'_>, conditions: &Conditions) {
        *self.conditions.write() = *conditions;
    }

    pub(super) fn set_table(&self, _: &Committed<'_>, scope: &Scope, table: &Name, conditions: Option<&Conditions>) {
        let name = (scope.clone(), table.clone());
        match conditions {
            Some(conditions) => drop(self.tables.write().insert(name, Box::new(*conditions))),
            None => drop(self.tables.write().remove(&name)),
        }
    }

    pub(super) fn replace(&self, _: &Committed<'_>, by: Defaults) {
        *self.conditions.write() = by.conditions();
        *self.tables.write() = by.tables();
    }

    pub(super) fn clear_tables(&self, _: &Committed<'_>) {
        self.tables.write().clear();
    }
}
