//! The whole state as a value, and as bytes.

use std::fmt;

use super::{Checkpoint, Replay, ReplayError};
use crate::clock::Moment;
use crate::digest::crc32;
use crate::storage::Catalog;
use crate::storage::commit::{AppendError, Commit, Mutation, Origin};

/// The first bytes of a snapshot, which include the version of the encoding.
const MAGIC: &[u8] = b"dynatwin snapshot\x01";

/// The state of an engine at one moment: tables with all that belongs to them, conditions, and the clock's moment.
/// Fault rules, access control and recorded requests are not part of it. It shares its items with the engines that it
/// was taken from and restored into.
///
/// ```
/// use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings, StateSnapshot};
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
///
/// ```
/// use dynatwin_engine::StateSnapshot;
///
/// let error = StateSnapshot::from_bytes(b"{}").unwrap_err();
/// assert_eq!(error.to_string(), "not a snapshot: its format or version is unknown");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidSnapshot(&'static str);

impl fmt::Display for InvalidSnapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "not a snapshot: {}", self.0)
    }
}

impl std::error::Error for InvalidSnapshot {}

/// A snapshot was not restored. The state is unchanged.
///
/// ```
/// use dynatwin_engine::commits::AppendError;
/// use dynatwin_engine::RestoreError;
///
/// let error = RestoreError::from(AppendError::new("disk full"));
/// assert_eq!(error.to_string(), "the snapshot was not restored: disk full");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreError {
    /// The snapshot does not contain an engine's state.
    Inconsistent(ReplayError),
    /// The commit log rejects the change.
    Refused(AppendError),
}

impl fmt::Display for RestoreError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason: &dyn fmt::Display = match self {
            RestoreError::Inconsistent(error) => error,
            RestoreError::Refused(error) => error,
        };
        write!(formatter, "the snapshot was not restored: {reason}")
    }
}

impl std::error::Error for RestoreError {}

impl From<ReplayError> for RestoreError {
    fn from(error: ReplayError) -> RestoreError {
        RestoreError::Inconsistent(error)
    }
}

impl From<AppendError> for RestoreError {
    fn from(error: AppendError) -> RestoreError {
        RestoreError::Refused(error)
    }
}

impl StateSnapshot {
    /// A snapshot from a checkpoint, at the clock's moment.
    pub fn new(checkpoint: Checkpoint, now: Moment) -> StateSnapshot {
        StateSnapshot {
            commits: checkpoint.collect(),
            now,
        }
    }

    /// The moment of the clock when the snapshot was taken.
    pub fn now(&self) -> Moment {
        self.now
    }

    /// The snapshot as bytes, in an encoding that every build of this version reads: the magic number, the clock's
    /// moment, and the commits, each after its length; then a checksum of all of it.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_bytes_within(usize::MAX).unwrap_or_default()
    }

    /// The snapshot as bytes, unless there are more than `most`.
    pub fn to_bytes_within(&self, most: usize) -> Option<Vec<u8>> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&self.now.micros().to_le_bytes());
        for commit in &self.commits {
            let start = bytes.len();
            bytes.extend_from_slice(&[0; 8]);
            commit.encode(&mut bytes);
            let length = (bytes.len() - start - 8) as u64;
            bytes[start..start + 8].copy_from_slice(&length.to_le_bytes());
            if bytes.len() > most {
                return None;
            }
        }
        let checksum = crc32(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        (bytes.len() <= most).then_some(bytes)
    }

    /// Decodes a snapshot that [`to_bytes`](StateSnapshot::to_bytes) encoded.
    pub fn from_bytes(bytes: &[u8]) -> Result<StateSnapshot, InvalidSnapshot> {
        let damaged = || InvalidSnapshot("its checksum is wrong");
        let rest = bytes
            .strip_prefix(MAGIC)
            .ok_or(InvalidSnapshot("its format or version is unknown"))?;
        let (rest, checksum) = rest.split_last_chunk::<4>().ok_or_else(damaged)?;
        if crc32(&bytes[..bytes.len() - 4]) != u32::from_le_bytes(*checksum) {
            return Err(damaged());
        }
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

impl Catalog {
    /// Replaces the whole state by that of a snapshot, or leaves it unchanged. In the log this is one commit.
    ///
    /// The new state is built beside the old one, so that a restore cannot fail halfway.
    pub fn restore(&self, snapshot: &StateSnapshot) -> Result<(), RestoreError> {
        let staged = self.staged();
        let mut replay = Replay::new(&staged);
        snapshot.commits.iter().try_for_each(|commit| replay.apply(commit))?;
        let interrupted = replay.end(snapshot.now);
        let committed = self.log().begin(snapshot.now, Origin::Request, || {
            let mutations = snapshot.commits.iter().flat_map(|commit| &commit.mutations);
            let end = interrupted.then_some(Mutation::EndInterrupted);
            std::iter::once(Mutation::Reset)
                .chain(mutations.cloned())
                .chain(end)
                .collect()
        })?;
        self.replace(&committed, staged);
        drop(committed);
        self.forget_due();
        Ok(())
    }
}
