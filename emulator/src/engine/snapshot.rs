//! Snapshots of the whole state, and forks.

use std::fmt;

use super::{Engine, Settings};
use crate::clock::{Clock, Moment};
use crate::storage::{Commit, ReplayError};

/// What the bytes of a snapshot begin with, and the version of their form.
const MAGIC: &[u8] = b"dynatwin snapshot\x01";

/// The state of an engine at one moment: tables with all that belongs to them, conditions, and the clock's moment. Fault rules,
/// access control and recorded requests are not part of it. It shares its items with the engines that it was taken from and
/// restored into.
///
/// ```
/// use dynatwin_engine::clock::{Clock, Moment};
/// use dynatwin_engine::conditions::Conditions;
/// use dynatwin_engine::engine::{Caller, Engine, Settings, StateSnapshot};
///
/// let clock = Clock::settable(Moment::START);
/// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// let table = br#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
///     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
///     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#;
/// engine.dispatch(&caller, "CreateTable", table);
///
/// let bytes = engine.snapshot().to_bytes();
/// engine.reset();
/// assert!(engine.tables(&caller).is_empty());
/// engine.restore(&StateSnapshot::from_bytes(&bytes).unwrap()).unwrap();
/// assert_eq!(engine.tables(&caller), ["Orders"]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StateSnapshot {
    commits: Vec<Commit>,
    now: Moment,
}

/// Bytes that are not a snapshot of this version, or are damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidSnapshot(&'static str);

impl fmt::Display for InvalidSnapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "not a snapshot: {}", self.0)
    }
}

impl std::error::Error for InvalidSnapshot {}

impl StateSnapshot {
    /// The snapshot as bytes, in a form that every build of this version reads: what they begin with, the clock's moment, and
    /// the commits, each behind its length; then a checksum of all of it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&self.now.micros().to_le_bytes());
        let mut encoded = Vec::new();
        for commit in &self.commits {
            encoded.clear();
            commit.encode(&mut encoded);
            bytes.extend_from_slice(&(encoded.len() as u64).to_le_bytes());
            bytes.extend_from_slice(&encoded);
        }
        let checksum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The snapshot of its bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<StateSnapshot, InvalidSnapshot> {
        let damaged = || InvalidSnapshot("its checksum is wrong");
        let rest = bytes
            .strip_prefix(MAGIC)
            .ok_or(InvalidSnapshot("it begins otherwise, or its version is unknown"))?;
        let (_, checksum) = bytes.split_last_chunk::<4>().ok_or_else(damaged)?;
        if crc32fast::hash(&bytes[..bytes.len() - 4]) != u32::from_le_bytes(*checksum) {
            return Err(damaged());
        }
        let rest = rest.get(..rest.len().saturating_sub(4)).unwrap_or_default();
        let (now, mut rest) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
        let mut commits = Vec::new();
        while let Some((length, behind)) = rest.split_first_chunk::<8>() {
            let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged())?;
            let (encoded, behind) = behind.split_at_checked(length).ok_or_else(damaged)?;
            let commit = Commit::decode(encoded);
            commits.push(commit.map_err(|_| InvalidSnapshot("one of its commits cannot be read"))?);
            rest = behind;
        }
        if !rest.is_empty() {
            return Err(damaged());
        }
        Ok(StateSnapshot {
            commits,
            now: Moment::from_micros(i64::from_le_bytes(*now)),
        })
    }
}

impl Engine {
    /// The present state.
    pub fn snapshot(&self) -> StateSnapshot {
        StateSnapshot {
            commits: self.checkpoint().collect(),
            now: self.clock.now(),
        }
    }

    /// Resets the engine to what it was made with, and gives it the state of a snapshot, with its clock at the snapshot's
    /// moment. Time may go back, so no request may run meanwhile. Fails for a snapshot that was not taken from an engine.
    pub fn restore(&self, snapshot: &StateSnapshot) -> Result<(), ReplayError> {
        self.reset_all();
        self.clock.set(snapshot.now);
        self.replay_snapshot(snapshot)
    }

    /// Another engine with the same settings and state, on a clock of its own that is set to this one's moment. Neither sees
    /// what happens to the other from now on. Fault rules, access control and the buckets of exports are not taken over.
    pub fn fork(&self, clock: Clock) -> Result<Engine, ReplayError> {
        let snapshot = self.snapshot();
        clock.set(snapshot.now);
        let settings = Settings {
            clock,
            seed: self.seed(),
            conditions: self.state.initial_conditions(),
            shared_db: self.shared_db,
        };
        let fork = Engine::new(settings)
            .allowing(self.allowed)
            .with_health_check(self.health_check);
        fork.replay_snapshot(&snapshot)?;
        Ok(fork)
    }

    fn replay_snapshot(&self, snapshot: &StateSnapshot) -> Result<(), ReplayError> {
        let mut replay = self.replay();
        snapshot.commits.iter().try_for_each(|commit| replay.apply(commit))?;
        replay.finish(self.clock.now());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Caller;
    use crate::conditions::Conditions;
    use std::time::Duration;

    fn caller() -> Caller {
        Caller {
            access_key: "me".into(),
            region: "us-east-1".into(),
        }
    }

    fn filled() -> Engine {
        let engine = Engine::new(Settings {
            clock: Clock::settable(Moment::START),
            seed: 7,
            conditions: Conditions::CALM,
            shared_db: false,
        });
        let table = br#"{"TableName": "Tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}"#;
        assert_eq!(engine.dispatch(&caller(), "CreateTable", table).status, 200);
        put(&engine, "a");
        engine.advance(Duration::from_mins(1));
        engine
    }

    fn put(engine: &Engine, key: &str) {
        let body = format!(r#"{{"TableName": "Tab", "Item": {{"pk": {{"S": "{key}"}}}}}}"#);
        assert_eq!(engine.dispatch(&caller(), "PutItem", body.as_bytes()).status, 200);
    }

    fn count(engine: &Engine) -> usize {
        engine.items(&caller(), "Tab").map_or(0, |items| items.len())
    }

    #[test]
    fn forks_do_not_see_each_others_writes() {
        let engine = filled();
        let forks = [1, 2].map(|_| engine.fork(Clock::settable(Moment::START)).unwrap());
        put(&forks[0], "b");
        put(&engine, "c");
        put(&engine, "d");
        assert_eq!((count(&engine), count(&forks[0]), count(&forks[1])), (3, 2, 1));
        assert_eq!(forks[1].clock().now(), engine.clock().now());
        forks[0].advance(Duration::from_mins(1));
        assert!(forks[0].clock().now() > engine.clock().now());
    }

    #[test]
    fn a_snapshot_is_restored_as_it_was() {
        let engine = filled();
        let snapshot = engine.snapshot();
        put(&engine, "b");
        engine.advance(Duration::from_mins(1));
        engine.restore(&snapshot).unwrap();
        assert_eq!(count(&engine), 1);
        assert_eq!(engine.clock().now(), Moment::START.plus(Duration::from_mins(1)));
        let again = engine.snapshot();
        assert_eq!(StateSnapshot::from_bytes(&snapshot.to_bytes()), Ok(snapshot.clone()));
        assert_eq!(again.to_bytes(), snapshot.to_bytes());
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let bytes = filled().snapshot().to_bytes();
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(StateSnapshot::from_bytes(&flipped).is_err(), "byte {at}");
            assert!(StateSnapshot::from_bytes(&bytes[..at]).is_err(), "{at} bytes");
        }
        assert!(StateSnapshot::from_bytes(&[bytes.as_slice(), b"x"].concat()).is_err());
    }
}
