//! The context of one request, and the state that the requests of an engine share.

mod rates;
mod readers;
mod state;

pub use rates::RateGroup as RateKind;
pub use readers::Readers;
pub use state::{Caches, EngineState};

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::time::Duration;

use crate::access::{Explanation, Identity};
use crate::answer::Delivery;
use crate::caller::Caller;
use crate::chance::{self, StableHash};
use crate::clock::Moment;
use crate::conditions::{Lag, Latency};
use crate::fault::ResponseEffects;
use crate::journal::RequestRecorder;
use crate::storage::{ClientToken, Scope};

/// A resource that a request names and that does not exist.
#[derive(Debug)]
pub enum Missing {
    /// A table, by its name or ARN.
    Table(String),
    /// An index, by its ARN.
    Index(String),
}

/// The context of one request: its caller, its time, the engine, and its effects on the response.
pub struct Context<'e> {
    /// The state that the engine's requests share.
    pub engine: &'e EngineState,
    /// The account and region whose tables it uses.
    pub scope: Scope,
    /// The caller; callers may share a scope.
    pub caller: &'e Caller,
    /// The caller's region, for ARNs.
    pub region: &'e str,
    /// The caller's account number of twelve digits.
    pub account: &'e str,
    /// The operation's name in the API.
    pub operation: &'static str,
    /// The moment at which the request is executed. It stays the same throughout.
    pub now: Moment,
    effects: Cell<ResponseEffects>,
    note: RefCell<Option<String>>,
    done_at: Cell<Moment>,
    /// The latency, and that of each kilobyte, for each distinct latency of the tables of the request.
    latencies: RefCell<Vec<(Lag, Duration)>>,
    /// The client token that the request has taken, and when its request is done: not yet known.
    token: Cell<Option<ClientToken>>,
    /// The recorder of the request; `None` unless the engine is watched.
    recorder: Option<Box<RefCell<RequestRecorder>>>,
    identity: Option<Box<Identity>>,
    /// The table or index that was not found, if access policies are evaluated.
    missing: RefCell<Option<Missing>>,
    /// The decisions of a request that is only explained.
    explanations: Option<Box<RefCell<Vec<Explanation>>>>,
}

impl<'e> Context<'e> {
    /// The surroundings of a request.
    pub fn new(
        engine: &'e EngineState,
        scope: Scope,
        caller: &'e Caller,
        operation: &'static str,
        now: Moment,
    ) -> Context<'e> {
        let recorder = if engine.journal().is_watched() {
            Some(recorder(engine, &scope, caller, operation, now))
        } else {
            None
        };
        Context {
            recorder,
            engine,
            scope,
            caller,
            region: &caller.region,
            account: caller.account(),
            operation,
            now,
            effects: Cell::default(),
            note: RefCell::default(),
            done_at: Cell::new(now),
            latencies: RefCell::default(),
            token: Cell::new(None),
            identity: None,
            missing: RefCell::default(),
            explanations: None,
        }
    }

    /// Records the client token that the request uses: its commit keeps the token.
    pub fn take_token(&self, token: &str, fingerprint: u64) {
        self.token
            .set(Some(ClientToken::new(&self.scope, token, fingerprint, self.now)));
    }

    /// The client token of the request, which is done at `done`.
    pub fn token(&self, done: Moment) -> Option<ClientToken> {
        self.token.get().map(|token| ClientToken { done, ..token })
    }

    /// Adds the latency of the request's operation in one of its tables; the longest decides.
    #[cold]
    pub fn take(&self, latency: &Latency) {
        let latency = (latency.of_operation(self.operation), latency.per_kilobyte);
        let mut latencies = self.latencies.borrow_mut();
        if !latencies.contains(&latency) {
            latencies.push(latency);
        }
    }

    /// Delays the answer by the request's seeded latency, for a body and an answer of these sizes.
    ///
    /// Its ordinal counts the same request of the same account, so other requests decide nothing.
    pub fn wait_latency(&self, body: &[u8], answered: usize) {
        let latencies = self.latencies.borrow();
        if latencies.is_empty() {
            return;
        }
        let seed = self.engine.seed();
        let name = StableHash::new(seed).bytes(b"latency").bytes(self.operation.as_bytes());
        let id = name.bytes(body).finish();
        let ordinal = self.engine.decided().next(self.scope.hash(), id);
        let decision = chance::decide(seed, "latency", &id.to_le_bytes(), ordinal);
        let kilobytes = (body.len() + answered) as f64 / 1024.0;
        let of_table =
            |(lag, per_kilobyte): &(Lag, Duration)| lag.of(decision).saturating_add(per_kilobyte.mul_f64(kilobytes));
        let latency = latencies.iter().map(of_table).max().unwrap_or_default();
        self.wait(latency);
        self.change_effects(|effects| effects.still.latency = latency);
    }

    /// The effects on the answer.
    pub fn effects(&self) -> ResponseEffects {
        self.effects.get()
    }

    /// Delays the answer; several delays add up.
    pub fn wait(&self, by: Duration) {
        self.change_effects(|effects| effects.wait = effects.wait.saturating_add(by));
    }

    /// Delays the answer by a rule's wait, which moves a settable clock that several clients share only if `moves_clock`.
    pub fn wait_by_rule(&self, by: Duration, moves_clock: bool) {
        self.wait(by);
        if !moves_clock {
            self.change_effects(|effects| effects.still.held = effects.still.held.saturating_add(by));
        }
    }

    /// Sets the moment at which the request is executed and its response delivered.
    pub fn answer_at(&self, moment: Moment) {
        self.done_at.set(moment);
        self.wait(moment.since(self.now));
    }

    /// When the request is executed.
    pub fn done_at(&self) -> Moment {
        self.done_at.get()
    }

    /// Sets how the answer is delivered.
    pub fn deliver(&self, delivery: Delivery) {
        self.change_effects(|effects| effects.delivery = delivery);
    }

    /// Changes the effects on the answer, or on the job that the request starts.
    pub fn change_effects(&self, change: impl FnOnce(&mut ResponseEffects)) {
        let mut effects = self.effects.get();
        change(&mut effects);
        self.effects.set(effects);
    }

    /// Leaves a note for the operator's log.
    pub fn note(&self, note: String) {
        *self.note.borrow_mut() = Some(note);
    }

    pub fn take_note(&self) -> Option<String> {
        self.note.borrow_mut().take()
    }

    /// Whether the journal records this request.
    pub fn is_recorded(&self) -> bool {
        self.recorder.is_some()
    }

    /// Records something about this request, if the engine is watched. `record` must not call this function.
    pub fn record(&self, record: impl FnOnce(&mut RequestRecorder)) {
        if let Some(recorder) = &self.recorder {
            record(&mut recorder.borrow_mut());
        }
    }

    /// Takes the recorder of this finished request.
    pub fn take_recorder(&mut self) -> Option<RequestRecorder> {
        self.recorder.take().map(|recorder| recorder.into_inner())
    }

    /// The ARN of a table of the caller's.
    pub fn table_arn(&self, table: &str) -> String {
        self.table_arn_in(self.region, table)
    }

    /// The ARN of a table of the caller's account in a region.
    pub fn table_arn_in(&self, region: &str, table: &str) -> String {
        table_arn(region, self.account, table)
    }
}

/// The ARN of a table.
pub fn table_arn(region: &str, account: &str, table: &str) -> String {
    format!("arn:aws:dynamodb:{region}:{account}:table/{table}")
}

/// The operations that accept the ARN of another account's table or stream (docs/behavior: 07 7).
const CROSS_ACCOUNT: &[&str] = &[
    "BatchGetItem",
    "BatchWriteItem",
    "DeleteItem",
    "DeleteTable",
    "DescribeStream",
    "DescribeTable",
    "GetItem",
    "GetRecords",
    "GetShardIterator",
    "ListTagsOfResource",
    "PutItem",
    "Query",
    "Scan",
    "TagResource",
    "TransactGetItems",
    "TransactWriteItems",
    "UntagResource",
    "UpdateItem",
    "UpdateTable",
];

/// Access control of the request.
impl Context<'_> {
    /// Sets the caller that access policies are evaluated for. Without one everything is allowed.
    pub fn set_identity(&mut self, identity: Option<Box<Identity>>) {
        if let Some(identity) = &identity {
            self.record(|recorder| recorder.set_principal(&identity.subject().principal_arn));
        }
        self.identity = identity;
    }

    /// The caller that access policies are evaluated for.
    #[inline]
    pub fn identity(&self) -> Option<&Identity> {
        self.identity.as_deref()
    }

    /// The tables among which a name or ARN is looked up: those of the ARN's account where the operation takes one of another
    /// account, and access policies decide (docs/behavior: 07 7).
    #[inline]
    pub fn scope_of(&self, name_or_arn: &str) -> Cow<'_, Scope> {
        match self.identity() {
            Some(_) if name_or_arn.starts_with("arn:") => self.scope_of_arn(name_or_arn),
            _ => Cow::Borrowed(&self.scope),
        }
    }

    #[cold]
    fn scope_of_arn(&self, arn: &str) -> Cow<'_, Scope> {
        let account = arn.split(':').nth(4).unwrap_or_default();
        if self.scope.account.is_empty() || account == self.account || !CROSS_ACCOUNT.contains(&self.operation) {
            return Cow::Borrowed(&self.scope);
        }
        Cow::Owned(Scope {
            account: account.into(),
            region: self.scope.region.clone(),
        })
    }

    /// Records the missing table or index.
    pub fn note_missing(&self, missing: impl FnOnce() -> Missing) {
        if self.identity.is_some() {
            *self.missing.borrow_mut() = Some(missing());
        }
    }

    /// The missing table or index.
    pub fn take_missing(&self) -> Option<Missing> {
        self.missing.borrow_mut().take()
    }

    /// Makes the request stop after authorization, with an explanation of each decision.
    pub fn explain_only(&mut self) {
        self.explanations = Some(Box::default());
    }

    /// Whether the request stops after authorization.
    pub fn is_explained(&self) -> bool {
        self.explanations.is_some()
    }

    /// Notes a decision, if the request is explained.
    pub fn explain(&self, explain: impl FnOnce() -> Explanation) {
        if let Some(explanations) = &self.explanations {
            explanations.borrow_mut().push(explain());
        }
    }

    /// The decisions that were noted.
    pub fn take_explanations(&mut self) -> Vec<Explanation> {
        let noted = self.explanations.take();
        noted.map(|noted| noted.into_inner()).unwrap_or_default()
    }
}

#[cold]
fn recorder(
    engine: &EngineState,
    scope: &Scope,
    caller: &Caller,
    operation: &str,
    now: Moment,
) -> Box<RefCell<RequestRecorder>> {
    let mut recorder = RequestRecorder::new(scope.owner(), caller.clone(), operation, now);
    if engine.journal().events().is_listening() {
        recorder.collect_events();
    }
    Box::new(RefCell::new(recorder))
}
