//! Checks that the state is the fold of its commits, with a sink that records them and an engine that replays them.

use std::sync::{Arc, Mutex};

use dynatwin_engine::commits::{AppendError, Commit, CommitSink, EncodedCommit};
use dynatwin_engine::{Engine, Settings};

/// A sink that records all commits.
#[derive(Default)]
pub struct Recorder(Mutex<Vec<Commit>>);

impl CommitSink for Recorder {
    fn append(&self, commit: &EncodedCommit) -> Result<(), AppendError> {
        let mut commits = self.0.lock().unwrap();
        assert_eq!(commit.sequence, commits.len() as u64 + 1, "commits are numbered");
        commits.push(Commit::clone(commit));
        Ok(())
    }
}

impl Recorder {
    /// Records the commits of an engine that has no state.
    pub fn of(engine: &Engine) -> Arc<Recorder> {
        let recorder = Arc::new(Recorder::default());
        engine.attach_sink(recorder.clone(), 0);
        recorder
    }

    /// A recorder that has these commits.
    pub fn with(commits: &[Commit]) -> Recorder {
        Recorder(Mutex::new(commits.to_vec()))
    }

    /// Records the further commits of an engine that has the state of these.
    pub fn after(commits: &[Commit], engine: &Engine) -> Arc<Recorder> {
        let recorder = Arc::new(Recorder::with(commits));
        engine.attach_sink(recorder.clone(), commits.len() as u64);
        recorder
    }

    pub fn commits(&self) -> Vec<Commit> {
        self.0.lock().unwrap().clone()
    }
}

/// Encodes and decodes a commit.
fn recoded(commit: &Commit) -> Commit {
    let mut bytes = Vec::new();
    commit.encode(&mut bytes);
    let decoded = Commit::decode(&bytes).unwrap();
    assert_eq!(*commit, decoded, "a commit is decoded as it was");
    decoded
}

/// Returns an engine built from commits, with its clock at the moment of `like`.
pub fn replayed(settings: Settings, commits: &[Commit], like: &Engine) -> Engine {
    let engine = Engine::new(settings);
    let mut replay = engine.replay();
    for commit in commits {
        replay.apply(commit).unwrap();
    }
    let now = like.clock().now();
    replay.finish(now);
    engine.clock().set(now);
    engine
}

/// The commits that make the state of an engine, without their sequence number.
pub fn dump(engine: &Engine) -> Vec<Commit> {
    let mut commits: Vec<Commit> = engine.checkpoint().collect();
    commits.iter_mut().for_each(|commit| commit.sequence = 0);
    commits
}

/// Fails with the first of these commits that differs.
pub fn same(what: &str, left: &[Commit], right: &[Commit]) -> Result<(), String> {
    if left == right {
        return Ok(());
    }
    let pairs = left.iter().zip(right);
    let differs = pairs.clone().find(|(left, right)| left != right);
    Err(match differs {
        Some((left, right)) => format!("{what}:\n  is      {left:?}\n  becomes {right:?}"),
        None => format!("{what}: {} commits become {}", left.len(), right.len()),
    })
}

/// Compares the state with the fold of the recorded commits, and with the fold of a checkpoint; returns the first
/// difference.
pub fn check(engine: &Engine, recorder: &Recorder, settings: impl Fn() -> Settings) -> Result<(), String> {
    let state = dump(engine);
    let recorded: Vec<Commit> = recorder.0.lock().unwrap().iter().map(recoded).collect();
    let folded = replayed(settings(), &recorded, engine);
    same("the fold of the commits", &state, &dump(&folded))?;
    let checkpoint: Vec<Commit> = engine.checkpoint().map(|commit| recoded(&commit)).collect();
    let restored = replayed(settings(), &checkpoint, engine);
    same("the fold of a checkpoint", &state, &dump(&restored))
}
