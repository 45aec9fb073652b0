//! The engine: the operation table and the one dispatch.

use crate::answer::{Answer, AnswerHeaders, Delivery, HttpRequest};
use crate::clock::{Clock, Moment};
use crate::conditions::Conditions;
use crate::fault::Faults;
use crate::value::Item;

/// Who asks: the account and region of a request's credentials. Each has tables of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The access key, which separates one set of tables from another.
    pub access_key: compact_str::CompactString,
    /// The region of the credential scope.
    pub region: compact_str::CompactString,
}

/// What an engine is made with.
pub struct Settings {
    /// The clock it lives by.
    pub clock: Clock,
    /// What its decisions are made of.
    pub seed: u64,
    /// How it behaves.
    pub conditions: Conditions,
    /// One set of tables for all access keys and regions.
    pub shared_db: bool,
}

/// The twin itself.
pub struct Engine {
    settings: Settings,
    faults: Faults,
}

impl Engine {
    /// An engine without tables.
    pub fn new(settings: Settings) -> Engine {
        Engine {
            faults: Faults::new(settings.seed),
            settings,
        }
    }
    /// One request over HTTP, without the socket.
    pub fn handle(&self, _request: &HttpRequest<'_>) -> Answer {
        Answer {
            status: 500,
            headers: AnswerHeaders::new(),
            body: Vec::new(),
            at: self.clock().now(),
            delivery: Delivery::Whole,
            note: None,
        }
    }
    /// One request, below the envelope.
    pub fn dispatch(&self, _caller: &Caller, _target: &str, _body: &[u8]) -> Answer {
        Answer {
            status: 500,
            headers: AnswerHeaders::new(),
            body: Vec::new(),
            at: self.clock().now(),
            delivery: Delivery::Whole,
            note: None,
        }
    }
    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.settings.clock
    }
    /// The seed.
    pub fn seed(&self) -> u64 {
        self.settings.seed
    }
    /// The fault rules.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }
    /// The conditions of all tables without their own.
    pub fn conditions(&self) -> Conditions {
        self.settings.conditions
    }
    /// Sets them.
    pub fn set_conditions(&self, _conditions: Conditions) {}
    /// Sets the conditions of one table, now or later there; `None` lets it follow the others again.
    pub fn set_table_conditions(&self, _caller: &Caller, _table: &str, _conditions: Option<Conditions>) {}
    /// When something is due next.
    pub fn next_due(&self) -> Moment {
        Moment::NEVER
    }
    /// Does what is due.
    pub fn run_due(&self) {}
    /// Removes all tables and rules.
    pub fn reset(&self) {}
    /// The names of a caller's tables.
    pub fn tables(&self, _caller: &Caller) -> Vec<String> {
        Vec::new()
    }
    /// All items of a table as they are now, in the table's order; `None` if there is no such table.
    pub fn items(&self, _caller: &Caller, _table: &str) -> Option<Vec<Item>> {
        None
    }
}
