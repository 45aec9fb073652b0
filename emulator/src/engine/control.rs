//! The controls of single tables and indexes: what a test does to them, and no request can.

use std::fmt;
use std::sync::Arc;

use super::{Caller, Engine};
use crate::conditions::Lag;
use crate::execute;
use crate::storage::{GlobalIndex, Table};
use crate::value::Name;

/// A control was told of a table or index that is not there; its text says which.
///
/// ```
/// # use dynatwin_engine::clock::{Clock, Moment};
/// # use dynatwin_engine::conditions::Conditions;
/// # use dynatwin_engine::engine::{Caller, Engine, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// let error = engine.pause_index(&caller, "Orders", "by-date").unwrap_err();
/// assert_eq!(error.to_string(), "There is no table Orders for access key me in us-east-1.");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotThere(String);

impl fmt::Display for NotThere {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for NotThere {}

impl Engine {
    /// Lets no write reach a global index from now on, until [`resume_index`](Engine::resume_index): it can be read, and
    /// stays as it is. What comes meanwhile waits in memory.
    pub fn pause_index(&self, caller: &Caller, table: &str, index: &str) -> Result<(), NotThere> {
        let (table, index) = self.find_index(caller, table, index)?;
        let now = self.clock.now();
        execute::run_due(&table, now);
        index.pause(now);
        Ok(())
    }

    /// Lets a paused index catch up, with all that would have reached it by now.
    pub fn resume_index(&self, caller: &Caller, table: &str, index: &str) -> Result<(), NotThere> {
        let (table, index) = self.find_index(caller, table, index)?;
        index.resume();
        execute::run_due(&table, self.clock.now());
        Ok(())
    }

    /// Sets how long writes from now on take to reach one global index; `None` lets it follow the table's conditions again.
    pub fn set_index_lag(&self, caller: &Caller, table: &str, index: &str, lag: Option<Lag>) -> Result<(), NotThere> {
        let (table, _) = self.find_index(caller, table, index)?;
        self.reshape(&table, |shape| {
            match lag {
                Some(lag) => shape.index_lags.insert(Name::new(index), lag),
                None => shape.index_lags.remove(index),
            };
        });
        Ok(())
    }

    /// Deletes every item of a table that has expired, as time to live will, but now; says how many there were. What
    /// time to live never deletes stays: times that are no Numbers, and those more than five years past.
    pub fn expire_now(&self, caller: &Caller, table: &str) -> Result<u64, NotThere> {
        let table = self.find_table(caller, table)?;
        let now = self.clock.now();
        let count = execute::expire_now(&table, now);
        execute::run_due(&table, now);
        Ok(count)
    }

    fn find_table(&self, caller: &Caller, table: &str) -> Result<Arc<Table>, NotThere> {
        let found = self.state.catalog().table(&self.scope(caller), table);
        found.ok_or_else(|| {
            let Caller { access_key, region } = caller;
            NotThere(format!(
                "There is no table {table} for access key {access_key} in {region}."
            ))
        })
    }

    fn find_index(
        &self,
        caller: &Caller,
        table: &str,
        index: &str,
    ) -> Result<(Arc<Table>, Arc<GlobalIndex>), NotThere> {
        let table = self.find_table(caller, table)?;
        let shape = table.shape();
        let at = shape.definition.globals.iter().position(|there| there.name == index);
        let found = at.and_then(|at| shape.indexes.get(at)).cloned();
        match found {
            Some(found) => Ok((table, found)),
            None => Err(NotThere(format!("Table {} has no global index {index}.", table.name))),
        }
    }
}
