//! Deleting replicas, with their tables (docs/behavior: 08 2.4 and 2.5).

use super::check::{MORE_THAN_ONE, region_of};
use super::group_update::GroupUpdate;
use crate::error::ApiError;
use crate::execute;
use crate::operation::backups;
use crate::storage::{GroupState, Removal};

/// Measured: 0 to 47 s until the deletion is visible, and 97 to 244 s until the replica is no longer listed.
const SHOWS: f64 = 4.0;
const REMOVAL: f64 = 28.0;
/// Measured: another 10 to 35 s until calls in its region no longer find the table.
const FORGOTTEN: f64 = 31.0;
/// Measured: 55 to 70 s for all replicas of a table with strong consistency.
const DISSOLUTION: f64 = 10.0;

impl GroupUpdate<'_> {
    /// Deletes replicas: one, or all others if the consistency is strong.
    pub(super) fn delete(&self) -> Result<(), ApiError> {
        let now = self.context.now;
        self.check_members()?;
        self.check_witnesses()?;
        if self.is_strong() {
            self.check_dissolves()?;
        } else if self.changes.replicas.len() > 1 {
            return Err(ApiError::validation(MORE_THAN_ONE));
        }
        self.check_sources()?;
        self.check_free()?;
        self.check_unprotected()?;
        let mut group = self.group();
        if self.is_strong() {
            // All others are deleted at once.
            group.witness = None;
        }
        for action in &self.changes.replicas {
            self.remove(region_of(action), &mut group)?;
        }
        for action in &self.changes.replicas {
            let tables = self.tables();
            let gone = tables.iter().find(|table| table.scope.region == region_of(action));
            if let Some(table) = gone {
                backups::make_of_deleted(self.context, table)?;
                if let Some(region) = self.context.engine.catalog().region(&table.scope) {
                    region.forget_deleted(&table.name, now);
                }
            }
        }
        Ok(())
    }

    /// Checks that no replica to delete is protected, before the first is deleted.
    fn check_unprotected(&self) -> Result<(), ApiError> {
        let tables = self.tables();
        for action in &self.changes.replicas {
            let region = region_of(action);
            let found = tables.iter().find(|table| table.scope.region == region);
            if let Some(table) = found.filter(|table| table.shape().definition.deletion_protection) {
                let name = &table.name;
                return Err(ApiError::validation(format!(
                    "Cannot delete table {name} in region {region} because it has deletion protection enabled. Disable deletion protection first."
                )));
            }
        }
        Ok(())
    }

    fn check_witnesses(&self) -> Result<(), ApiError> {
        let witness = self.state.as_ref().and_then(|state| state.witness.as_ref());
        let is_one = |region: &&&str| witness.is_some_and(|witness| witness.region == **region);
        let old = self.changes.old_witnesses.iter();
        let missing: Vec<&str> = old.filter(|region| !is_one(region)).copied().collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(ApiError::validation(format!(
            "Update global table operation failed because one or more witnesses were not part of the global table. Please retry the request without these witnesses: [{}].",
            missing.join(", ")
        )))
    }

    /// Checks that a table with strong consistency loses all other replicas at once, and its witness.
    fn check_dissolves(&self) -> Result<(), ApiError> {
        let now = self.context.now;
        let Some(state) = &self.state else { return Ok(()) };
        let requested = |region: &str| self.changes.replicas.iter().any(|action| region_of(action) == region);
        if !state
            .others(self.table.ordinal, now)
            .all(|other| requested(&other.region))
        {
            return Err(only_one_replica());
        }
        if state.witness.is_some() && self.changes.old_witnesses.is_empty() {
            return Err(ApiError::validation(
                "Update table delete operation does not include all witnesses.",
            ));
        }
        Ok(())
    }

    fn remove(&self, region: &str, group: &mut GroupState) -> Result<(), ApiError> {
        let now = self.context.now;
        let tables = self.tables();
        let Some(table) = tables.iter().find(|table| table.scope.region == region) else {
            return Err(self.not_members());
        };
        execute::run_due(table, now);
        let removal = if self.is_strong() {
            let gone_at = self.after("replica removal", "", DISSOLUTION);
            Removal {
                shows_at: gone_at,
                gone_at,
                keeps_table: false,
            }
        } else {
            let gone_at = self.after("replica removal", region, REMOVAL);
            let shows_at = self.after("replica removal", region, SHOWS);
            Removal {
                shows_at,
                gone_at,
                keeps_table: false,
            }
        };
        let forgotten = if self.is_strong() {
            removal.gone_at
        } else {
            self.after("replica removal", region, FORGOTTEN)
        };
        if let Some(removed) = group.replica_mut(table.ordinal) {
            removed.removal = Some(removal);
        }
        table.reshape_replica::<ApiError>(now, group, &tables, |settings| {
            settings.deleted_at = Some(forgotten);
            settings.recent.deletion = Some(now);
            settings.close_stream(now, forgotten);
            Ok(())
        })?;
        Ok(())
    }
}

pub(in crate::operation) fn only_one_replica() -> ApiError {
    ApiError::validation(
        "Deletion of only one table replica is not supported for global tables with MultiRegionConsistency set to STRONG.",
    )
}
