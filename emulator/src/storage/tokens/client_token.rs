//! A client token as commits contain it.

use super::super::scope::Scope;
use crate::chance::StableHash;
use crate::clock::Moment;

/// A hash of a token and its sender.
pub(super) type Digest = (u64, u64);

/// A client token used by a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientToken {
    /// A hash of the token and its sender.
    pub digest: Digest,
    /// A hash of the request.
    pub fingerprint: u64,
    /// When the request is done.
    pub done: Moment,
}

impl ClientToken {
    /// A token of a request that is done at `done`.
    pub fn new(scope: &Scope, token: &str, fingerprint: u64, done: Moment) -> ClientToken {
        ClientToken {
            digest: digest(scope, token),
            fingerprint,
            done,
        }
    }
}

pub(super) fn digest(scope: &Scope, token: &str) -> Digest {
    let half = |seed: u64| {
        let parts = [scope.account.as_bytes(), scope.region.as_bytes(), token.as_bytes()];
        let hash = parts.iter().fold(StableHash::new(seed), |hash, part| {
            hash.bytes(&(part.len() as u64).to_le_bytes()).bytes(part)
        });
        hash.finish()
    };
    (half(0), half(1))
}
