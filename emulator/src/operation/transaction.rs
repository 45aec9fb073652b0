//! What transactions share, whether their actions come as such or as statements.

use crate::capacity::{Consumed, Direction};
use crate::chance::StableHash;
use crate::error::{ApiError, Violations, constraint};
use crate::execute::{self, Context, Get, Known, MOST_TOKENS};
use crate::key::Key;
use crate::limits;
use crate::plan::{self, Target};
use crate::value::{Item, Map, Text};

use super::output;

/// `ClientRequestToken`.
pub fn check_token(faults: &mut Violations, token: Option<&Text>) {
    let Some(token) = token else { return };
    match token.chars().count() {
        0 => faults.value(token, "clientRequestToken", constraint::min_length(1)),
        1..=36 => {}
        _ => faults.value(token, "clientRequestToken", constraint::max_length(36)),
    }
}

/// `TransactItems`: how many there may be. `dump` prints them.
pub fn check_count(faults: &mut Violations, count: usize, dump: impl FnOnce() -> String) {
    if count == 0 {
        faults.value("[]", "transactItems", constraint::min_length(1));
    } else if count > limits::TRANSACTION_ACTIONS {
        let most = constraint::max_length(limits::TRANSACTION_ACTIONS);
        faults.value(dump(), "transactItems", most);
    }
}

/// Whether a transaction comes for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It is to be carried out; with a token, its end must be told.
    First,
    /// It was carried out before.
    Again,
}

/// Takes the token of a transaction, if it has one; `fingerprint` says what it stands for.
pub fn begin(
    context: &Context<'_>,
    token: Option<&Text>,
    fingerprint: impl FnOnce() -> u64,
) -> Result<Attempt, ApiError> {
    let Some(token) = token else { return Ok(Attempt::First) };
    let tokens = context.engine.tokens();
    let fingerprint = fingerprint();
    match tokens.begin(&context.scope, token, fingerprint, context.now) {
        Known::New => {
            context.take_token(token, fingerprint);
            Ok(Attempt::First)
        }
        Known::Done => Ok(Attempt::Again),
        Known::Running => Err(ApiError::transaction_in_progress()),
        Known::Mismatch => Err(ApiError::idempotent_mismatch()),
        Known::Full => {
            context.note(format!(
                "{}: {MOST_TOKENS} client tokens are remembered, each for ten minutes of the clock. Advance the clock, or reset.",
                context.operation
            ));
            Err(ApiError::too_many_tokens())
        }
    }
}

/// The transaction that took the token is done, or has failed.
pub fn end(context: &Context<'_>, token: Option<&Text>, succeeded: bool) {
    if let Some(token) = token {
        context
            .engine
            .tokens()
            .end(&context.scope, token, succeeded, context.done_at());
    }
}

/// A hash of what a request says.
pub fn fingerprint(request: &impl std::fmt::Debug) -> u64 {
    struct Hashed(StableHash);
    impl std::fmt::Write for Hashed {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0 = self.0.bytes(text.as_bytes());
            Ok(())
        }
    }
    let mut hashed = Hashed(StableHash::new(0));
    // Writing to a hash does not fail.
    let _ = std::fmt::Write::write_fmt(&mut hashed, format_args!("{request:?}"));
    hashed.0.finish()
}

/// The items that a request names, each of which it may name once.
#[derive(Default)]
pub struct Items(Vec<(u64, Key)>);

impl Items {
    /// Adds an item by a key or by its attributes; `false` if it is there. What is no key of the table names nothing.
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

/// The items that are read together are bounded.
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
    let mut cost = Consumed::new(get.target.asked_name());
    cost.table = get.units(item);
    cost.direction = Some(Direction::Read);
    cost
}

/// What reads cost, by table.
pub fn read(gets: &[Get<'_>], items: &[Option<Item>]) -> Vec<Consumed> {
    let mut consumed = Vec::new();
    for (get, item) in gets.iter().zip(items) {
        output::merge(&mut consumed, read_cost(get, item.as_ref()));
    }
    consumed
}

/// What it costs to find out that items were written before: a read of each.
pub fn replayed<'k>(
    context: &Context<'_>,
    places: impl Iterator<Item = (&'k Target, &'k Map)>,
) -> Result<Vec<Consumed>, ApiError> {
    let gets = places.map(|(target, key)| plan::transact_get(target.clone(), key));
    let gets: Vec<Get<'_>> = gets.collect::<Result<_, _>>()?;
    let items = execute::read_again(context, &gets)?;
    Ok(read(&gets, &items))
}
