//! The engine: the operation table and the one dispatch.

mod control;
mod watch;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;

pub use crate::caller::Caller;
pub use control::NotThere;
pub use watch::Meter;

use crate::answer::{Answer, AnswerHeaders, HttpRequest};
use crate::capacity::Heat;
use crate::clock::{Clock, Moment};
use crate::conditions::Conditions;
use crate::error::{ApiError, ErrorKind};
use crate::execute::{self, Context, State};
use crate::fault::{Aftermath, Faults};
use crate::journal::End;
use crate::operation::{self, Operation};
use crate::storage::{Scope, Shape, Table};
use crate::transfer::Depot;
use crate::value::Item;
use crate::wire;
use crate::wire::encode::Writer;
use crate::wire::envelope::{self, Envelope, RequestIds, Service};

/// What an engine is made with.
///
/// ```
/// use dynatwin_engine::clock::{Clock, Moment};
/// use dynatwin_engine::conditions::Conditions;
/// use dynatwin_engine::engine::Settings;
///
/// let settings =
///     Settings { clock: Clock::settable(Moment::START), seed: 7, conditions: Conditions::CALM, shared_db: false };
/// assert_eq!(settings.clock.now(), Moment::START);
/// ```
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

/// The twin itself: `&self` everywhere, to be shared between threads.
///
/// ```
/// use dynatwin_engine::clock::{Clock, Moment};
/// use dynatwin_engine::conditions::Conditions;
/// use dynatwin_engine::engine::{Caller, Engine, Settings};
///
/// let engine = Engine::new(Settings {
///     clock: Clock::settable(Moment::START),
///     seed: 7,
///     conditions: Conditions::CALM,
///     shared_db: false,
/// });
/// let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// let answer = engine.dispatch(&caller, "DynamoDB_20120810.ListTables", b"{}");
/// assert_eq!((answer.status, answer.body.as_slice()), (200, &br#"{"TableNames":[]}"#[..]));
/// ```
pub struct Engine {
    clock: Clock,
    shared_db: bool,
    state: State,
    ids: RequestIds,
}

/// What an operation has answered, before it is put in an envelope.
struct Outcome {
    status: u16,
    body: Vec<u8>,
    aftermath: Aftermath,
    note: Option<String>,
}

impl Engine {
    /// An engine without tables.
    pub fn new(settings: Settings) -> Engine {
        Engine {
            state: State::new(settings.seed, settings.conditions),
            ids: RequestIds::new(settings.seed),
            clock: settings.clock,
            shared_db: settings.shared_db,
        }
    }

    /// The same engine, with buckets for exports and imports. Without, no bucket is there.
    pub fn with_depot(mut self, depot: Arc<dyn Depot>) -> Engine {
        self.state.set_depot(depot);
        self
    }

    /// One request over HTTP, without the socket.
    pub fn handle(&self, request: &HttpRequest<'_>) -> Answer {
        let now = self.clock.now();
        let known = |service: Service, name: &str| operation::find(service, name).is_some();
        match envelope::open(request, &self.ids, now, known) {
            Envelope::Answered(answer) => answer,
            Envelope::Call(call) => {
                let found = operation::find(call.service, call.operation);
                let outcome = self.carry_out(&call.caller, found, call.operation, &call.body, now);
                let mut answer = envelope::close(&call.form, outcome.status, outcome.body, &self.ids, now);
                answer.at = outcome.aftermath.at(now);
                answer.delivery = outcome.aftermath.delivery;
                answer.note = outcome.note;
                answer
            }
        }
    }

    /// One request below the envelope: an operation, as in `X-Amz-Target` or by its bare name, and a JSON body.
    pub fn dispatch(&self, caller: &Caller, target: &str, body: &[u8]) -> Answer {
        let now = self.clock.now();
        let (found, name) = match Service::of_target(target) {
            Some((service, name)) => (operation::find(service, name), name),
            None => (operation::of_name(target), target),
        };
        let outcome = self.carry_out(caller, found, name, body, now);
        let mut headers = AnswerHeaders::new();
        headers.push(("content-type", CompactString::const_new("application/x-amz-json-1.0")));
        Answer {
            status: outcome.status,
            headers,
            body: outcome.body,
            at: outcome.aftermath.at(now),
            delivery: outcome.aftermath.delivery,
            note: outcome.note,
        }
    }

    fn carry_out(
        &self,
        caller: &Caller,
        found: Option<&'static Operation>,
        name: &str,
        body: &[u8],
        now: Moment,
    ) -> Outcome {
        let Some(operation) = found else {
            // A body that is no JSON is found before an operation that is not known.
            let error = wire::reader::check_syntax(body)
                .map_err(|_| wire::decode::not_json())
                .err();
            let error = error.unwrap_or_else(|| ApiError::silent(ErrorKind::UnknownOperation));
            self.tell_unknown(caller, name, now, &error);
            return refused(&error);
        };
        let mut context = Context::new(&self.state, self.scope(caller), caller, operation.name, now);
        let mut writer = Writer::with_capacity(128);
        let result = (operation.run)(&context, body, &mut writer);
        let (status, body, error) = match result {
            Ok(()) => (200, writer.finish(), None),
            Err(error) => (
                wire::error::status(error.kind()),
                wire::error::encode_error(&error),
                Some(error.kind()),
            ),
        };
        if let Some(draft) = context.take_draft() {
            let delivery = context.aftermath().delivery;
            let end = End {
                status,
                error,
                delivery,
            };
            self.state.journal().close(draft, end);
        }
        Outcome {
            status,
            body,
            aftermath: context.aftermath(),
            note: context.take_note(),
        }
    }

    /// Whose tables a caller sees.
    fn scope(&self, caller: &Caller) -> Scope {
        if self.shared_db {
            return Scope {
                account: CompactString::const_new(""),
                region: CompactString::const_new(""),
            };
        }
        Scope {
            account: caller.access_key.clone(),
            region: caller.region.clone(),
        }
    }

    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.state.seed()
    }

    /// The fault rules.
    pub fn faults(&self) -> &Faults {
        self.state.faults()
    }

    /// The conditions of all tables without their own.
    pub fn conditions(&self) -> Conditions {
        self.state.conditions()
    }

    /// Sets the conditions of all tables without their own.
    pub fn set_conditions(&self, conditions: Conditions) {
        self.state.set_conditions(conditions);
        for (scope, region) in self.state.catalog().scopes() {
            let tables: Vec<_> = region.tables.read().values().cloned().collect();
            tables
                .iter()
                .for_each(|table| self.set(table, &self.state.conditions_of(&scope, &table.name)));
        }
    }

    /// Sets the conditions of one table, now or later there; `None` lets it follow the others again.
    pub fn set_table_conditions(&self, caller: &Caller, table: &str, conditions: Option<Conditions>) {
        let scope = self.scope(caller);
        self.state.set_table_conditions(&scope, table, conditions);
        if let Some(found) = self.state.catalog().table(&scope, table) {
            self.set(&found, &self.state.conditions_of(&scope, table));
        }
    }

    fn set(&self, table: &Table, conditions: &Conditions) {
        self.reshape(table, |shape| shape.conditions = *conditions);
    }

    /// Changes a table's shape, after what is due by now has happened under the old one.
    fn reshape(&self, table: &Table, change: impl FnOnce(&mut Shape)) {
        let now = self.clock.now();
        execute::run_due(table, now);
        let changed: Result<_, Infallible> = table.reshape(now, |shape| {
            change(shape);
            Ok(())
        });
        drop(changed);
    }

    /// Splits each open shard of a table's stream in two, as the service does with partitions that are hot or full: for tests
    /// of readers, which have to follow. Says whether the table has a stream.
    pub fn split_shards(&self, caller: &Caller, table: &str) -> bool {
        let now = self.clock.now();
        let found = self.state.catalog().table(&self.scope(caller), table);
        let stream = found.as_ref().and_then(|table| table.shape().stream.clone());
        let (Some(table), Some(stream)) = (found, stream) else {
            return false;
        };
        for (first, last) in stream.open_tokens(now) {
            table.split_stream(first + (last - first).div_ceil(2), now);
        }
        true
    }

    /// Moves the clock forward, and does what has become due before it returns.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.run_due();
    }

    /// When something is due next, or too old to be kept: [`Moment::NEVER`] if nothing is.
    pub fn next_due(&self) -> Moment {
        let scopes = self.state.catalog().scopes();
        let streams = scopes.iter().map(|(_, region)| region.next_trim());
        let tables = self.state.catalog().all();
        let tables = tables.iter().map(|table| table.next_due());
        tables.chain(streams).min().unwrap_or(Moment::NEVER)
    }

    /// Does what is due.
    pub fn run_due(&self) {
        let now = self.clock.now();
        for (scope, region) in self.state.catalog().scopes() {
            let tables: Vec<_> = region.tables.read().values().cloned().collect();
            for table in tables {
                execute::run_due(&table, now);
                self.state.forget_deleted(&scope, &table.name, now);
            }
            region.trim_streams(now);
        }
    }

    /// Removes all tables, rules, tokens, and conditions of single tables. Clock, seed and conditions stay.
    pub fn reset(&self) {
        self.state.clear();
    }

    /// Begins or ends to watch what a table's capacity is spent on: units and throttles by partition, and the hottest
    /// partition keys. Where capacity is enforced the former are counted anyway. Says whether there is such a table.
    pub fn watch_heat(&self, caller: &Caller, table: &str, watches: bool) -> bool {
        let Some(table) = self.state.catalog().table(&self.scope(caller), table) else {
            return false;
        };
        table.watch(watches, self.clock.now());
        true
    }

    /// What a table's capacity was spent on since it began to be counted; nothing if it is not counted, and `None` if there
    /// is no such table.
    ///
    /// ```
    /// use dynatwin_engine::clock::{Clock, Moment};
    /// use dynatwin_engine::conditions::Conditions;
    /// use dynatwin_engine::engine::{Caller, Engine, Settings};
    ///
    /// let clock = Clock::settable(Moment::START);
    /// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::AWS, shared_db: false });
    /// let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
    /// assert!(engine.heat(&caller, "Nowhere").is_none());
    /// ```
    pub fn heat(&self, caller: &Caller, table: &str) -> Option<Heat> {
        let table = self.state.catalog().table(&self.scope(caller), table)?;
        let mut ledger = table.capacity.lock();
        Some(
            ledger
                .as_mut()
                .map(|ledger| ledger.heat(self.clock.now()))
                .unwrap_or_default(),
        )
    }

    /// The names of a caller's tables.
    pub fn tables(&self, caller: &Caller) -> Vec<String> {
        let Some(region) = self.state.catalog().region(&self.scope(caller)) else {
            return Vec::new();
        };
        let tables = region.tables.read();
        tables.keys().map(std::string::ToString::to_string).collect()
    }

    /// All items of a table as they are now, in the table's order; `None` if there is no such table.
    pub fn items(&self, caller: &Caller, table: &str) -> Option<Vec<Item>> {
        let table = self.state.catalog().table(&self.scope(caller), table)?;
        execute::run_due(&table, self.clock.now());
        Some(table.items())
    }
}

fn refused(error: &ApiError) -> Outcome {
    Outcome {
        status: wire::error::status(error.kind()),
        body: wire::error::encode_error(error),
        aftermath: Aftermath::default(),
        note: None,
    }
}
