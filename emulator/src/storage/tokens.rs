//! Client tokens: a transaction that is sent twice is executed once.

mod client_token;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub use client_token::ClientToken;

use super::commit::Committed;
use super::scope::Scope;
use crate::clock::Moment;
use crate::limits;
use crate::sync::Mutex;
use client_token::{Digest, digest};

/// The maximum number of tokens. A token takes about 100 bytes, and is never forgotten within its ten minutes: beyond
/// this number a new one is rejected.
pub const MOST_TOKENS: usize = 2_000_000;
/// The maximum number of expired tokens that one request removes, so that none waits for all that expire together.
const FORGOTTEN_AT_ONCE: usize = 16;
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenStatus {
    /// Unknown: the request is new, and the token is claimed for it.
    New,
    /// Its request is still running.
    Running,
    Done,
    /// It was used for another request.
    Mismatch,
    /// Unknown, and there is no room to remember it.
    Full,
}

#[derive(Debug)]
struct TokenRecord {
    fingerprint: u64,
    /// When the request is done; `None` while that is unknown.
    done: Option<Moment>,
}

impl TokenRecord {
    fn is_over(&self, now: Moment) -> bool {
        self.done.is_some_and(|done| expires(done) <= now)
    }
}

/// When the token of a finished request can be used again.
fn expires(done: Moment) -> Moment {
    done.plus(Duration::from_secs(limits::CLIENT_TOKEN_SECONDS))
}

/// The tokens of an engine.
#[derive(Debug)]
pub struct Tokens {
    remembered: Mutex<TokenRecords>,
    most: usize,
}

impl Default for Tokens {
    fn default() -> Tokens {
        Tokens::of_at_most(MOST_TOKENS)
    }
}

#[derive(Debug, Default)]
struct TokenRecords {
    records: BTreeMap<Digest, TokenRecord>,
    /// Tokens of finished requests, oldest first.
    order: BTreeSet<(Moment, Digest)>,
}

impl Tokens {
    fn of_at_most(most: usize) -> Tokens {
        Tokens {
            remembered: Mutex::new(TokenRecords::default()),
            most,
        }
    }

    pub(super) fn replace(&self, _: &Committed<'_>, by: Tokens) {
        *self.remembered.lock() = std::mem::take(&mut *by.remembered.lock());
    }

    /// Looks a token up, and claims it if it is new.
    pub fn begin(&self, scope: &Scope, token: &str, fingerprint: u64, now: Moment) -> TokenStatus {
        let digest = digest(scope, token);
        let mut remembered = self.remembered.lock();
        remembered.forget(now);
        match remembered.records.get(&digest) {
            None => {}
            Some(record) if record.is_over(now) => {
                let done = record.done;
                remembered.records.remove(&digest);
                done.map(|done| remembered.order.remove(&(done, digest)));
            }
            Some(record) if record.fingerprint != fingerprint => return TokenStatus::Mismatch,
            Some(TokenRecord { done: Some(done), .. }) if *done <= now => return TokenStatus::Done,
            Some(_) => return TokenStatus::Running,
        }
        if remembered.records.len() >= self.most {
            return TokenStatus::Full;
        }
        let record = TokenRecord {
            fingerprint,
            done: None,
        };
        remembered.records.insert(digest, record);
        TokenStatus::New
    }

    /// Ends the request of a token: at `now`, which may be in the future, or with a failure, which releases the token.
    pub fn end(&self, scope: &Scope, token: &str, succeeded: bool, now: Moment) {
        let digest = digest(scope, token);
        let mut remembered = self.remembered.lock();
        if !succeeded {
            remembered.records.remove(&digest);
        } else if let Some(record) = remembered.records.get_mut(&digest) {
            record.done = Some(now);
            remembered.order.insert((now, digest));
        }
    }

    /// Records the token of a finished request from its commit.
    pub(super) fn keep(&self, _: &Committed<'_>, token: ClientToken) {
        let mut remembered = self.remembered.lock();
        let record = TokenRecord {
            fingerprint: token.fingerprint,
            done: Some(token.done),
        };
        if let Some(TokenRecord { done: Some(before), .. }) = remembered.records.insert(token.digest, record) {
            remembered.order.remove(&(before, token.digest));
        }
        remembered.order.insert((token.done, token.digest));
    }

    /// The tokens of finished requests that have not expired by `now`.
    pub(super) fn done(&self, now: Moment) -> Vec<ClientToken> {
        let remembered = self.remembered.lock();
        let done = remembered.records.iter().filter_map(|(digest, record)| {
            let done = record.done.filter(|done| now < expires(*done))?;
            Some(ClientToken {
                digest: *digest,
                fingerprint: record.fingerprint,
                done,
            })
        });
        done.collect()
    }

    pub fn clear(&self) {
        let before = std::mem::take(&mut *self.remembered.lock());
        // Freed without the lock.
        drop(before);
    }
}

impl TokenRecords {
    /// Removes some of the expired tokens, oldest first.
    fn forget(&mut self, now: Moment) {
        for _ in 0..FORGOTTEN_AT_ONCE {
            match self.order.first() {
                Some((done, digest)) if expires(*done) <= now => {
                    self.records.remove(digest);
                    self.order.pop_first();
                }
                _ => return,
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
        let (here, there, token) = (scope("here"), scope("there"), "t");
        let begin = |scope, fingerprint, seconds| tokens.begin(scope, token, fingerprint, after(seconds));
        assert_eq!(begin(&here, 1, 0.0), TokenStatus::New);
        assert_eq!(begin(&here, 1, 0.0), TokenStatus::Running);
        assert_eq!(begin(&here, 2, 0.0), TokenStatus::Mismatch);
        assert_eq!(begin(&there, 2, 0.0), TokenStatus::New);
        // It is done at a later moment.
        tokens.end(&here, token, true, after(5.0));
        assert_eq!(begin(&here, 1, 4.9), TokenStatus::Running);
        assert_eq!(begin(&here, 1, 5.0), TokenStatus::Done);
        assert_eq!(begin(&here, 2, 5.0), TokenStatus::Mismatch);
        // It is remembered for ten minutes.
        assert_eq!(begin(&here, 1, 604.9), TokenStatus::Done);
        assert_eq!([604.9, 605.0].map(|seconds| tokens.done(after(seconds)).len()), [1, 0]);
        assert_eq!(begin(&here, 2, 605.0), TokenStatus::New);
        // One that has failed can be used again, and one that is running is not forgotten.
        tokens.end(&here, token, false, after(605.0));
        assert_eq!(begin(&here, 3, 605.0), TokenStatus::New);
        assert_eq!(begin(&there, 2, 9999.0), TokenStatus::Running);
        tokens.clear();
        assert_eq!(begin(&there, 5, 9999.0), TokenStatus::New);
    }

    #[test]
    fn a_replayed_token_is_kept_for_the_time_of_its_last_use() {
        let tokens = Tokens::default();
        let here = scope("here");
        let committed = Committed::replayed(Moment::START);
        for used in [0.0, 700.0] {
            tokens.keep(&committed, ClientToken::new(&here, "t", 1, after(used)));
        }
        // Another token's request removes those that have expired.
        assert_eq!(tokens.begin(&here, "another", 1, after(700.0)), TokenStatus::New);
        for (seconds, expect) in [
            (700.0, TokenStatus::Done),
            (1299.9, TokenStatus::Done),
            (1300.0, TokenStatus::New),
        ] {
            assert_eq!(tokens.begin(&here, "t", 1, after(seconds)), expect, "{seconds}");
        }
    }

    /// A token that is used again after its ten minutes is kept for the time of its last use, however many others have expired.
    #[test]
    fn a_token_that_is_used_again_is_kept_for_the_time_of_its_last_use() {
        let tokens = Tokens::default();
        let here = scope("here");
        let begin = |number: u32, seconds| tokens.begin(&here, &number.to_string(), 1, after(seconds));
        let end = |number: u32, succeeded, seconds| tokens.end(&here, &number.to_string(), succeeded, after(seconds));
        for number in 0..100 {
            assert_eq!(begin(number, f64::from(number)), TokenStatus::New);
            end(number, true, f64::from(number));
        }
        // More tokens have expired than one request removes, so these are still known.
        for number in 97..100 {
            assert_eq!(begin(number, 700.0), TokenStatus::New, "{number}");
        }
        end(97, true, 700.0);
        end(98, false, 700.0);
        for number in 100..110 {
            assert_eq!(begin(number, 701.0), TokenStatus::New, "{number}");
        }
        for (number, seconds, expect) in [
            (97, 701.0, TokenStatus::Done),
            (98, 701.0, TokenStatus::New),
            (99, 701.0, TokenStatus::Running),
            (97, 1299.9, TokenStatus::Done),
            (97, 1300.0, TokenStatus::New),
            (99, 1300.0, TokenStatus::Running),
        ] {
            assert_eq!(begin(number, seconds), expect, "{number} after {seconds} s");
        }
    }

    #[test]
    fn tokens_are_kept_for_their_time() {
        let tokens = Tokens::default();
        let here = scope("here");
        let begin = |number: usize, seconds| tokens.begin(&here, &number.to_string(), 1, after(seconds));
        for number in 0..120_000 {
            assert_eq!(begin(number, 0.0), TokenStatus::New);
            tokens.end(&here, &number.to_string(), true, after(0.0));
        }
        assert_eq!(begin(0, 599.9), TokenStatus::Done);
        // They expire together, and a request removes only some of them; each is new again nevertheless.
        assert_eq!(begin(119_999, 600.0), TokenStatus::New);
        assert_eq!(begin(0, 600.0), TokenStatus::New);
        for number in 1..100 {
            let status = tokens.begin(&here, &number.to_string(), 2, after(600.0));
            assert_eq!(status, TokenStatus::New, "{number} for another request");
        }
    }

    #[test]
    fn a_new_token_is_refused_when_there_are_too_many() {
        let tokens = Tokens::of_at_most(100);
        let here = scope("here");
        let begin = |number: usize, seconds| tokens.begin(&here, &number.to_string(), 1, after(seconds));
        let end = |number: usize, seconds| tokens.end(&here, &number.to_string(), true, after(seconds));
        for number in 0..100 {
            assert_eq!(begin(number, 0.0), TokenStatus::New);
        }
        assert_eq!(begin(100, 0.0), TokenStatus::Full);
        (0..100).for_each(|number| end(number, f64::from(u8::try_from(number).unwrap())));
        assert_eq!(begin(100, 599.0), TokenStatus::Full);
        assert_eq!(begin(0, 599.0), TokenStatus::Done);
        // Expired tokens make room, in order of time.
        assert_eq!(begin(100, 600.0), TokenStatus::New);
        assert_eq!(begin(1, 600.0), TokenStatus::Done);
        assert_eq!(begin(101, 600.0), TokenStatus::Full);
        assert_eq!(begin(101, 700.0), TokenStatus::New);
    }
}
