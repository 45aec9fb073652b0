//! Client tokens: a transaction that is sent twice happens once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::clock::Moment;
use crate::limits;
use crate::storage::Scope;
use crate::sync::Mutex;
use crate::value::Text;

/// Tokens remembered at most: the oldest are forgotten, so that a clock that stands still does not fill memory.
const MOST_TOKENS: usize = if cfg!(test) { 1000 } else { 100_000 };

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

#[cfg(test)]
mod tests {
    use super::*;

    fn after(seconds: f64) -> Moment {
        Moment::START.plus(Duration::from_secs_f64(seconds))
    }

    fn scope(account: &str) -> Scope {
        Scope {
            account: account.into(),
            region: "us-east-1".into(),
        }
    }

    #[test]
    fn a_life() {
        let tokens = Tokens::default();
        let (here, there, token) = (scope("here"), scope("there"), Text::from("t"));
        let begin = |scope, fingerprint, seconds| tokens.begin(scope, &token, fingerprint, after(seconds));
        assert_eq!(begin(&here, 1, 0.0), Known::New);
        assert_eq!(begin(&here, 1, 0.0), Known::Running);
        assert_eq!(begin(&here, 2, 0.0), Known::Mismatch);
        assert_eq!(begin(&there, 2, 0.0), Known::New);
        // It is done at a moment to come.
        tokens.end(&here, &token, true, after(5.0));
        assert_eq!(begin(&here, 1, 4.9), Known::Running);
        assert_eq!(begin(&here, 1, 5.0), Known::Done);
        assert_eq!(begin(&here, 2, 5.0), Known::Mismatch);
        // It is remembered for ten minutes.
        assert_eq!(begin(&here, 1, 604.9), Known::Done);
        assert_eq!(begin(&here, 2, 605.0), Known::New);
        // One that has failed is free again, and one that runs is not forgotten.
        tokens.end(&here, &token, false, after(605.0));
        assert_eq!(begin(&here, 3, 605.0), Known::New);
        assert_eq!(begin(&there, 2, 9999.0), Known::Running);
        tokens.clear();
        assert_eq!(begin(&there, 5, 9999.0), Known::New);
    }

    #[test]
    fn memory_is_bounded_though_time_stands_still() {
        let tokens = Tokens::default();
        let (scope, now) = (scope("here"), after(0.0));
        let token = |number: usize| Text::from(format!("{number:06}"));
        let done = |number: usize| {
            let name = (scope.clone(), token(number));
            let record = Record {
                fingerprint: 1,
                done: Some(now),
            };
            let mut remembered = tokens.0.lock();
            remembered.records.insert(name.clone(), record);
            remembered.order.insert((now, name));
        };
        let begin = |number| tokens.begin(&scope, &token(number), 1, now);
        (0..MOST_TOKENS).for_each(done);
        assert_eq!(begin(0), Known::Done);
        // One is too many: the first one goes, and no other.
        done(MOST_TOKENS);
        assert_eq!(begin(1), Known::Done);
        assert_eq!(begin(0), Known::New);
        assert_eq!(begin(1), Known::Done);
    }
}
