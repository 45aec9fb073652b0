//! Client tokens: a transaction that is sent twice happens once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::clock::Moment;
use crate::limits;
use crate::storage::Scope;
use crate::sync::Mutex;
use crate::value::Text;

/// Tokens remembered at most: the oldest are forgotten, so that a clock that stands still does not fill memory.
const MOST_TOKENS: usize = 100_000;

/// What is known about a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Nothing: the request is new, and the token is taken for it.
    New,
    /// Its request still runs.
    Running,
    /// Its request is done.
    Done,
    /// It was used for another request.
    Mismatch,
}

#[derive(Debug)]
struct Record {
    fingerprint: u64,
    /// When the request is done; `None` while that is not known.
    done: Option<Moment>,
}

/// The tokens of an engine.
///
/// ```
/// use dynatwin_engine::execute::Tokens;
///
/// let tokens = Tokens::default();
/// tokens.clear();
/// ```
#[derive(Debug, Default)]
pub struct Tokens(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    records: BTreeMap<(Scope, Text), Record>,
    /// Done tokens, oldest first.
    order: BTreeSet<(Moment, (Scope, Text))>,
}

impl Tokens {
    /// Looks a token up, and takes it if it is new.
    pub fn begin(&self, scope: &Scope, token: &Text, fingerprint: u64, now: Moment) -> Known {
        let mut remembered = self.0.lock();
        remembered.forget(now);
        let name = (scope.clone(), token.clone());
        match remembered.records.get(&name) {
            Some(record) if record.fingerprint != fingerprint => Known::Mismatch,
            Some(Record { done: Some(done), .. }) if *done <= now => Known::Done,
            Some(_) => Known::Running,
            None => {
                remembered.records.insert(
                    name,
                    Record {
                        fingerprint,
                        done: None,
                    },
                );
                Known::New
            }
        }
    }

    /// The request of a token is done at `now`, which may be a moment to come, or has failed, and then the token is free again.
    pub fn end(&self, scope: &Scope, token: &Text, succeeded: bool, now: Moment) {
        let mut remembered = self.0.lock();
        let name = (scope.clone(), token.clone());
        if !succeeded {
            remembered.records.remove(&name);
        } else if let Some(record) = remembered.records.get_mut(&name) {
            record.done = Some(now);
            remembered.order.insert((now, name));
        }
    }

    /// Forgets all.
    pub fn clear(&self) {
        *self.0.lock() = Remembered::default();
    }
}

impl Remembered {
    fn forget(&mut self, now: Moment) {
        let life = Duration::from_secs(limits::CLIENT_TOKEN_SECONDS);
        while self.order.first().is_some_and(|(done, _)| done.plus(life) <= now) || self.order.len() > MOST_TOKENS {
            if let Some((_, name)) = self.order.pop_first() {
                self.records.remove(&name);
            }
        }
    }
}
