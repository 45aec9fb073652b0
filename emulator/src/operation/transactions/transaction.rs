//! Shared by transactions of actions and of statements.

use std::cell::Cell;

use crate::capacity::{Consumed, Direction};
use crate::chance::StableHash;
use crate::change::Change;
use crate::context::Context;
use crate::error::{ApiError, Violations, constraint};
use crate::key::Key;
use crate::limits;
use crate::plan::{self, Get, Target, Write};
use crate::storage::{MOST_TOKENS, TokenStatus};
use crate::value::{Item, Map, Text};

use crate::operation::output;

pub fn check_token(violations: &mut Violations, token: Option<&Text>) {
    let Some(token) = token else { return };
    match token.chars().count() {
        0 => violations.value(token, "clientRequestToken", constraint::min_length(1)),
        1..=36 => {}
        _ => violations.value(token, "clientRequestToken", constraint::max_length(36)),
    }
}

/// `TransactItems`: checks the number of entries. `dump` prints them.
pub fn check_count(violations: &mut Violations, count: usize, dump: impl FnOnce() -> String) {
    if count == 0 {
        violations.value("[]", "transactItems", constraint::min_length(1));
    } else if count > limits::TRANSACTION_ACTIONS {
        let most = constraint::max_length(limits::TRANSACTION_ACTIONS);
        violations.value(dump(), "transactItems", most);
    }
}

/// A transaction's claim on its client token, if it has one. The claim is released unless the transaction succeeds.
pub struct Attempt<'r> {
    context: &'r Context<'r>,
    /// The token, while it is claimed.
    held: Cell<Option<&'r Text>>,
    /// Whether the transaction was executed before.
    pub is_repeated: bool,
}

impl<'r> Attempt<'r> {
    /// Claims the token of a transaction, if it has one; `fingerprint` identifies the request.
    pub fn begin(
        context: &'r Context<'_>,
        token: Option<&'r Text>,
        fingerprint: impl FnOnce() -> u64,
    ) -> Result<Attempt<'r>, ApiError> {
        let attempt = |held, is_repeated| Attempt {
            context,
            held: Cell::new(held),
            is_repeated,
        };
        let Some(text) = token else {
            return Ok(attempt(None, false));
        };
        let tokens = context.engine.tokens();
        let fingerprint = fingerprint();
        match tokens.begin(&context.scope, text, fingerprint, context.now) {
            TokenStatus::New => {
                context.take_token(text, fingerprint);
                Ok(attempt(token, false))
            }
            TokenStatus::Done => Ok(attempt(None, true)),
            TokenStatus::Running => Err(ApiError::transaction_in_progress()),
            TokenStatus::Mismatch => Err(ApiError::idempotent_mismatch()),
            TokenStatus::Full => {
                context.note(format!(
                    "{}: {MOST_TOKENS} client tokens are remembered, each for ten minutes of the clock. Advance the clock, or reset.",
                    context.operation
                ));
                Err(ApiError::too_many_tokens())
            }
        }
    }

    /// Remembers the token of an executed transaction.
    pub fn succeed(&self) {
        self.end(true);
    }

    fn end(&self, succeeded: bool) {
        if let Some(token) = self.held.take() {
            let (tokens, done_at) = (self.context.engine.tokens(), self.context.done_at());
            tokens.end(&self.context.scope, token, succeeded, done_at);
        }
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.end(false);
    }
}

/// A hash of a request.
pub fn fingerprint(request: &impl std::fmt::Debug) -> u64 {
    struct Hashed(StableHash);
    impl std::fmt::Write for Hashed {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0 = self.0.bytes(text.as_bytes());
            Ok(())
        }
    }
    let mut hashed = Hashed(StableHash::new(0));
    // Writing to a hash never fails.
    let _ = std::fmt::Write::write_fmt(&mut hashed, format_args!("{request:?}"));
    hashed.0.finish()
}

/// The items named by a request, each at most once.
#[derive(Default)]
pub struct TransactionItems(Vec<(u64, Key)>);

impl TransactionItems {
    /// Adds an item by its key or its attributes; returns `false` for a duplicate. Attributes without a valid key are ignored.
    pub fn add(&mut self, target: &Target, attributes: &Map) -> bool {
        let Some(key) = Key::read(&target.definition().key, attributes) else {
            return true;
        };
        let item = (target.table.ordinal, key);
        if self.0.contains(&item) {
            return false;
        }
        self.0.push(item);
        true
    }
}

/// Checks the bytes that a transaction sends to be written.
pub fn check_request_size(total: usize) -> Result<(), ApiError> {
    if total > limits::TRANSACTION_SIZE {
        return Err(ApiError::validation(format!(
            "Transaction payload size cannot exceed 4MB. Payload Size: {total}"
        )));
    }
    Ok(())
}

/// Checks the total size of the items that are read.
pub fn check_response(items: &[Option<Item>]) -> Result<(), ApiError> {
    let total: usize = items.iter().flatten().map(Item::size).sum();
    if total > limits::TRANSACTION_SIZE {
        return Err(ApiError::validation(format!(
            "Payload in response is too large.{total}"
        )));
    }
    Ok(())
}

fn read_cost(get: &Get<'_>, item: Option<&Item>) -> Consumed {
    let mut cost = Consumed::new(get.target.requested_name());
    cost.table = get.units(item);
    cost.direction = Some(Direction::Read);
    cost
}

/// The cost of reads, by table.
pub fn read(gets: &[Get<'_>], items: &[Option<Item>]) -> Vec<Consumed> {
    let mut consumed = Vec::new();
    for (get, item) in gets.iter().zip(items) {
        output::merge(&mut consumed, read_cost(get, item.as_ref()));
    }
    consumed
}

/// The cost of writes, by table.
pub fn written(writes: &[Result<Write<'_>, ApiError>], changes: &[Change]) -> Vec<Consumed> {
    let mut consumed = Vec::new();
    for (write, change) in writes.iter().flatten().zip(changes) {
        let mut cost = change.consumed(&write.target.requested_name());
        cost.direction = Some(Direction::Write);
        output::merge(&mut consumed, cost);
    }
    consumed
}

/// Plans the reads that answer repeated writes: one of each item.
pub fn plan_repeated<'r>(writes: &[Write<'_>]) -> Result<Vec<Get<'r>>, ApiError> {
    let read = |write: &Write<'_>| {
        let schema = &write.target.definition().key;
        let key = write.attributes.iter().filter(|(name, _)| schema.contains(name));
        plan::transact_get(write.target.clone(), key.cloned().collect::<Map>())
    };
    writes.iter().map(read).collect()
}
