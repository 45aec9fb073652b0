//! The engine: owns the state and dispatches every request.

mod access;
mod snapshot;
pub mod watch;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

pub use crate::caller::Caller;
pub use access::{SECURE_TRANSPORT_HEADER, SOURCE_IP_HEADER, VPC_ENDPOINT_HEADER};

use access::Authenticated;

use crate::answer::{Answer, AnswerHeaders, HttpRequest};
use crate::clock::{Clock, Moment};
use crate::conditions::Conditions;
use crate::context::{Context, EngineState};
use crate::error::{ApiError, ErrorKind};
use crate::execute::{self, Controls};
use crate::fault::{Faults, InvalidRule, Outage, ResponseEffects, Rule, RuleId};
use crate::journal::RequestEnd;
use crate::operation::{self, Allowed, Operation};
use crate::reclaim::{Reclaim, Reclaimer};
use crate::sorted::SortedMap;
use crate::storage::{Checkpoint, CommitSink, Replay};
use crate::transfer::ObjectStore;
use crate::value::Item;
use crate::wire;
use crate::wire::encode::Writer;
use crate::wire::envelope::{self, AnswerFormat, ControlCall, Envelope, HealthCheck, RequestIds, Service, SigningKey};

/// The settings of a new engine.
///
/// ```
/// use dynatwin_engine::{Clock, Conditions, Moment, Settings};
///
/// let settings =
///     Settings { clock: Clock::settable(Moment::START), seed: 7, conditions: Conditions::CALM, shared_db: false };
/// assert_eq!(settings.clock.now(), Moment::START);
/// ```
pub struct Settings {
    /// The clock of all requests and settings.
    pub clock: Clock,
    /// The seed of its decisions.
    pub seed: u64,
    /// The conditions of all tables that have none of their own.
    pub conditions: Conditions,
    /// One set of tables for all access keys and regions.
    pub shared_db: bool,
}

/// The emulator. All methods take `&self`, so threads can share it. Its actions besides serving requests are methods of
/// its [`Controls`].
///
/// ```
/// use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
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
    controls: Controls,
    allowed: Allowed,
    health_check: HealthCheck,
    /// The keys of signatures that are verified without access control; nothing if they are not.
    signing_keys: Option<SortedMap<String, SigningKey>>,
    ids: RequestIds,
}

impl AsRef<Controls> for Engine {
    fn as_ref(&self) -> &Controls {
        &self.controls
    }
}

impl Deref for Engine {
    type Target = Controls;

    #[inline]
    fn deref(&self) -> &Controls {
        &self.controls
    }
}

/// The header by which a client lets the pause before its request pass on a settable clock, in seconds.
pub const ADVANCE_HEADER: &str = "x-dynatwin-advance";

/// The response of an operation, before it is put into an envelope.
struct Outcome {
    status: u16,
    body: Vec<u8>,
    effects: ResponseEffects,
    note: Option<String>,
}

impl Engine {
    /// An engine without tables. It does nothing between the requests that it receives.
    pub fn new(settings: Settings) -> Engine {
        let mut state = EngineState::new(settings.seed, &settings.conditions);
        state.set_sliced(!settings.clock.is_settable());
        let controls = Controls {
            state,
            clock: settings.clock,
            shared_db: settings.shared_db,
        };
        Engine {
            controls,
            ids: RequestIds::new(settings.seed),
            allowed: Allowed::All,
            health_check: HealthCheck::default(),
            signing_keys: None,
        }
    }

    /// Restricts the controls over HTTP; the methods here are not affected.
    ///
    /// ```
    /// use dynatwin_engine::http::HttpRequest;
    /// use dynatwin_engine::{Allowed, Clock, Conditions, Engine, Moment, Settings};
    ///
    /// let (clock, conditions) = (Clock::settable(Moment::START), Conditions::CALM);
    /// let engine = Engine::new(Settings { clock, seed: 7, conditions, shared_db: false }).allowing(Allowed::ReadOnly);
    /// let reset = HttpRequest { method: "POST", target: "/_dynatwin/reset", headers: &[("host", "here")], body: b"" };
    /// assert_eq!(engine.handle(&reset).status, 403);
    /// ```
    #[must_use]
    pub fn allowing(self, allowed: Allowed) -> Engine {
        Engine { allowed, ..self }
    }

    /// Sets how `GET /` and `HEAD /` are answered.
    ///
    /// ```
    /// use dynatwin_engine::http::{HealthCheck, HttpRequest};
    /// use dynatwin_engine::{Clock, Conditions, Engine, Moment, Settings};
    ///
    /// let (clock, conditions) = (Clock::settable(Moment::START), Conditions::CALM);
    /// let engine = Engine::new(Settings { clock, seed: 7, conditions, shared_db: false });
    /// let check = HttpRequest { method: "GET", target: "/", headers: &[("host", "localhost")], body: b"" };
    /// assert_eq!(engine.handle(&check).body, b"healthy: dynamodb.us-east-1.amazonaws.com ");
    /// assert_eq!(engine.with_health_check(HealthCheck::Refused).handle(&check).status, 400);
    /// ```
    #[must_use]
    pub fn with_health_check(self, health_check: HealthCheck) -> Engine {
        Engine { health_check, ..self }
    }

    /// Adds the buckets of exports and imports. Without an object store no bucket exists.
    pub fn with_object_store(mut self, object_store: Arc<dyn ObjectStore>) -> Engine {
        self.controls.state.set_object_store(object_store);
        self
    }

    /// Adds a host that frees large values, such as the items of a deleted table. Without a host they are freed
    /// by the request that lets go of them.
    pub fn with_reclaimer(mut self, host: Arc<dyn Reclaim>) -> Engine {
        self.controls.state.set_reclaimer(Reclaimer::new(host));
        self
    }

    /// Gives every change of the state from now on to a sink, as a commit that is appended before it is applied. `last` is the
    /// sequence number of the last commit that the state has, 0 if it is new. No request may run meanwhile.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use dynatwin_engine::commits::{AppendError, Commit, CommitSink, EncodedCommit};
    /// use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
    ///
    /// #[derive(Default)]
    /// struct Memory(Mutex<Vec<Commit>>);
    ///
    /// impl CommitSink for Memory {
    ///     fn append(&self, commit: &EncodedCommit) -> Result<(), AppendError> {
    ///         self.0.lock().unwrap().push(Commit::clone(commit));
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let new = || {
    ///     let (clock, conditions) = (Clock::settable(Moment::START), Conditions::CALM);
    ///     Engine::new(Settings { clock, seed: 7, conditions, shared_db: false })
    /// };
    /// let (engine, memory) = (new(), Arc::new(Memory::default()));
    /// engine.attach_sink(memory.clone(), 0);
    /// let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
    /// let body = br#"{"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
    ///     "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    ///     "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}"#;
    /// assert_eq!(engine.dispatch(&caller, "CreateTable", body).status, 200);
    ///
    /// let copy = new();
    /// let mut replay = copy.replay();
    /// memory.0.lock().unwrap().iter().try_for_each(|commit| replay.apply(commit)).unwrap();
    /// replay.finish(copy.clock().now());
    /// assert_eq!(copy.tables(&caller), ["tab"]);
    /// ```
    pub fn attach_sink(&self, sink: Arc<dyn CommitSink>, last: u64) {
        self.state.catalog().log().attach(sink, last);
    }

    /// The sequence number of the last commit that was appended to the sink. An answer depends on no later one than this
    /// after it was made: a transport that promises durability waits for that commit before it delivers the answer.
    pub fn last_commit(&self) -> u64 {
        self.state.catalog().log().last()
    }

    /// The whole state as commits, after what is due by now has happened: replayed into an engine without state, they make the
    /// same. It has all commits up to [`Checkpoint::sequence`], and none after.
    pub fn checkpoint(&self) -> Checkpoint {
        self.run_due();
        self.state.catalog().checkpoint(self.clock.now())
    }

    /// Begins to apply commits to the state, such as those that a sink has taken. No request may run meanwhile.
    pub fn replay(&self) -> Replay<'_> {
        Replay::new(self.state.catalog())
    }

    /// Whether a request may take long: a transport that serves other requests on the same thread carries it out on another.
    ///
    /// ```
    /// use dynatwin_engine::http::HttpRequest;
    /// use dynatwin_engine::{Clock, Conditions, Engine, Moment, Settings};
    ///
    /// let (clock, conditions) = (Clock::settable(Moment::START), Conditions::CALM);
    /// let engine = Engine::new(Settings { clock, seed: 7, conditions, shared_db: false });
    /// let takes_long = |target| {
    ///     let headers = [("x-amz-target", target)];
    ///     engine.may_take_long(&HttpRequest { method: "POST", target: "/", headers: &headers, body: b"" })
    /// };
    /// assert!(takes_long("DynamoDB_20120810.DeleteTable"));
    /// assert!(!takes_long("DynamoDB_20120810.GetItem"));
    /// ```
    pub fn may_take_long(&self, request: &HttpRequest<'_>) -> bool {
        match request.headers.get("x-amz-target") {
            Some(target) => {
                operation::may_take_long(target)
                    || self.state.steps().is_open() && operation::may_await_due_work(target)
            }
            None => request.target.starts_with(envelope::CONTROL_PATH),
        }
    }

    /// One request over HTTP, without the socket.
    pub fn handle(&self, request: &HttpRequest<'_>) -> Answer {
        if self.clock.is_settable() {
            self.advance_by_client_pause(request);
        }
        let now = self.clock.now();
        let known = |service: Service, name: &str| operation::find(service, name).is_some();
        match envelope::open(request, &self.ids, now, known) {
            Envelope::Answered(answer) => answer,
            Envelope::HealthCheck(form) => envelope::close_health_check(&form, self.health_check, &self.ids, now),
            Envelope::Control(call) => self.control(&call, now),
            Envelope::Call(call) => {
                let authenticated = match self.authenticate(request, &call, now) {
                    Ok(authenticated) => authenticated,
                    Err(error) => return envelope::close_error(&call.form, &error, &self.ids, now),
                };
                let found = operation::find(call.service, call.operation);
                let outcome = self.carry_out(authenticated, found, call.operation, &call.body, now);
                let mut answer = envelope::close(&call.form, outcome.status, outcome.body, &self.ids, now);
                answer.at = outcome.effects.at(now);
                answer.still = outcome.effects.still;
                answer.delivery = outcome.effects.delivery;
                answer.note = outcome.note;
                if outcome.effects.corrupt_checksum {
                    answer.corrupt_checksum();
                }
                answer
            }
        }
    }

    /// Moves a settable clock by the seconds that a request has in its header `x-dynatwin-advance`: what its client has waited
    /// since its last attempt. Anything but a number of seconds up to a day is ignored, and so is all of it where the controls
    /// may change nothing.
    #[cold]
    fn advance_by_client_pause(&self, request: &HttpRequest<'_>) {
        let seconds = request.headers.get(ADVANCE_HEADER);
        let seconds = seconds.and_then(|text| std::str::from_utf8(text).ok()?.trim().parse::<f64>().ok());
        let seconds = seconds.filter(|seconds| *seconds > 0.0 && *seconds <= 86_400.0);
        if let Some(seconds) = seconds.filter(|_| self.allowed == Allowed::All) {
            self.advance(Duration::from_secs_f64(seconds));
        }
    }

    /// Runs a control of the emulator.
    #[cold]
    fn control(&self, call: &ControlCall<'_>, now: Moment) -> Answer {
        let mut answer = self.control_answer(call, now);
        // A reset may have set the clock back: the answer must not wait for it to catch up.
        answer.at = answer.at.min(self.clock.now());
        if call.method != "GET" {
            // The request may have changed what is due anywhere.
            self.state.catalog().examine_all();
        }
        answer
    }

    fn control_answer(&self, call: &ControlCall<'_>, now: Moment) -> Answer {
        let named = call.named.as_ref().map(|caller| self.owner(caller));
        match operation::control_answer(call, named.as_ref(), &self.controls, self.allowed) {
            Ok((body, None)) => envelope::close(&call.form, 200, body, &self.ids, now),
            Ok((body, Some(media))) => envelope::close(&AnswerFormat::uncompressed(media), 200, body, &self.ids, now),
            Err(refusal) => {
                let mut answer = envelope::close(&call.form, refusal.status(), refusal.body(), &self.ids, now);
                if let Some(methods) = refusal.allow() {
                    answer.headers.push("allow", methods);
                }
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
        let outcome = match self.authenticate_key(caller, now) {
            Ok(authenticated) => self.carry_out(authenticated, found, name, body, now),
            Err(error) => refused(&error),
        };
        let headers = AnswerHeaders::of_lines("content-type: application/x-amz-json-1.0\r\n");
        Answer {
            status: outcome.status,
            headers,
            body: outcome.body,
            at: outcome.effects.at(now),
            still: outcome.effects.still,
            delivery: outcome.effects.delivery,
            note: outcome.note,
        }
    }

    fn carry_out(
        &self,
        authenticated: Authenticated<'_>,
        found: Option<&'static Operation>,
        name: &str,
        sent: &[u8],
        now: Moment,
    ) -> Outcome {
        let caller = &*authenticated.caller;
        let Some(operation) = found else {
            // An invalid body is reported before an unknown operation.
            let error = wire::reader::check_syntax(sent)
                .map_err(|_| wire::decode::not_json())
                .err();
            let error = error.unwrap_or_else(|| ApiError::without_message(ErrorKind::UnknownOperation));
            self.record_unknown(caller, name, now, &error);
            return refused(&error);
        };
        let mut context = Context::new(&self.state, self.scope(caller), caller, operation.name, now);
        context.set_identity(authenticated.identity);
        if context.is_recorded() {
            self.settle_events();
        }
        let mut writer = Writer::new();
        let result = (operation.run)(&context, sent, &mut writer);
        let mut result = result.map_err(|error| wire::sent::bounds_as_sent(error, sent));
        if operation::is_long(operation.name.as_bytes()) {
            // The timer may have run in the meantime.
            self.state.catalog().touch(&context.scope);
        }
        if context.effects().fails && result.is_ok() {
            result = Err(ApiError::internal());
        }
        let (status, body, error) = match result {
            Ok(()) => (200, writer.finish(), None),
            Err(error) => (
                wire::error::status(error.kind()),
                wire::error::encode_error(&error),
                Some(error.kind()),
            ),
        };
        context.wait_latency(sent, body.len());
        if let Some(mut recorder) = context.take_recorder() {
            if self.state.journal().keeps_bodies() {
                recorder.keep_bodies(sent, &body);
            }
            let effects = context.effects();
            let end = RequestEnd {
                status,
                error,
                delivery: effects.delivery,
                latency: effects.wait,
            };
            self.state.journal().close(recorder, end);
            self.settle_events();
        }
        Outcome {
            status,
            body,
            effects: context.effects(),
            note: context.take_note(),
        }
    }

    /// Runs due work on a settable clock while there are event listeners, before and after each request: the order of events
    /// then depends on the requests and the clock alone. A step that is applying that work logs its events in their order.
    #[cold]
    fn settle_events(&self) {
        let is_running = || self.clock.now() <= self.state.steps().until();
        if self.clock.is_settable() && self.state.journal().events().is_listening() && !is_running() {
            self.run_background_work();
        }
    }

    /// The clock that [`Settings`] passed in.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The seed that [`Settings`] passed in.
    pub fn seed(&self) -> u64 {
        self.state.seed()
    }

    /// The fault rules, which all accounts share.
    pub fn faults(&self) -> &Faults {
        self.state.faults()
    }

    /// Appends a fault rule.
    ///
    /// ```
    /// use dynatwin_engine::faults::{Rule, Verdict};
    /// use dynatwin_engine::{Clock, Conditions, Engine, ErrorKind, Moment, Settings};
    ///
    /// let clock = Clock::settable(Moment::START);
    /// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
    /// let conflict = Rule::new(Verdict::Exception(ErrorKind::TransactionConflict));
    /// assert!(engine.add_fault(conflict.clone().operation("PutItem")).is_ok());
    /// assert!(engine.add_fault(conflict.operation("GetItem")).is_err());
    /// ```
    pub fn add_fault(&self, rule: Rule) -> Result<RuleId, InvalidRule> {
        self.faults().add(rule, self.clock.now())
    }

    /// Starts an outage for the requests that `scope` matches, during its window: appends the outage's rules.
    pub fn start_outage(&self, outage: Outage, scope: &Rule) -> Result<Vec<RuleId>, InvalidRule> {
        let added = self
            .faults()
            .add_all(outage.rules(scope), usize::MAX, self.clock.now())?;
        Ok(added.unwrap_or_default())
    }

    /// The conditions of all tables without their own.
    pub fn conditions(&self) -> Conditions {
        self.state.conditions()
    }

    /// When something is due next, or too old to be retained: [`Moment::NEVER`] if nothing is.
    pub fn next_due(&self) -> Moment {
        let scopes = self.state.catalog().scopes();
        let regions = scopes.iter().map(|(_, region)| region.next_due());
        regions.min().unwrap_or(Moment::NEVER)
    }

    /// Makes writes that would store more fail with an `InternalServerError`, or lifts that: for a process that has as much
    /// memory as it may have. Reads, deletes, and writes that make an item smaller go on.
    ///
    /// ```
    /// use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
    ///
    /// let clock = Clock::settable(Moment::START);
    /// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
    /// let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
    /// engine.refuse_growth(true);
    /// assert_eq!(engine.dispatch(&caller, "ListTables", b"{}").status, 200);
    /// ```
    pub fn refuse_growth(&self, refuse: bool) {
        self.state.refuse_growth(refuse);
    }

    /// The names of a caller's tables.
    pub fn tables(&self, caller: &Caller) -> Vec<String> {
        let Some(region) = self.state.catalog().region(&self.scope(caller)) else {
            return Vec::new();
        };
        let tables = region.tables.read();
        tables.keys().map(std::string::ToString::to_string).collect()
    }

    /// All current items of a table, in the table's order; `None` if the table does not exist.
    pub fn items(&self, caller: &Caller, table: &str) -> Option<Vec<Item>> {
        let table = self.table(caller, table).ok()?;
        execute::run_due(&table, self.clock.now());
        Some(table.items())
    }
}

fn refused(error: &ApiError) -> Outcome {
    Outcome {
        status: wire::error::status(error.kind()),
        body: wire::error::encode_error(error),
        effects: ResponseEffects::default(),
        note: None,
    }
}

#[cfg(test)]
mod tests;
