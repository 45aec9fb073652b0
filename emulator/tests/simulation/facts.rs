//! What the clients of a world have done and seen, to be held against each other in the end.

use std::sync::Arc;

use dynatwin_engine::clock::Moment;
use serde_json::Value;

use crate::common::model::Key;
use crate::verify::Items;
use crate::world::Window;
use crate::write::Write;

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    NotDone,
    /// A batch has broken off: its first entries have been carried out, and nobody knows how many.
    Unknown,
}

/// A write that was sent.
pub struct Written {
    pub window: Window,
    pub write: Arc<Write>,
    pub outcome: Outcome,
    /// What was told of the item before: what there was, if that was told.
    pub old: Option<Value>,
    pub new: Option<Value>,
    /// The number of its transaction, if it was part of one.
    pub transaction: Option<u64>,
}

/// What was seen of one partition: `test` holds of the state that it was in.
pub struct Seen {
    pub window: Window,
    pub began: Moment,
    /// Who has read it; nobody if it is what a write has met.
    pub client: Option<u64>,
    pub table: usize,
    pub partition: usize,
    pub consistent: bool,
    pub test: Box<dyn Fn(&Items) -> bool + Send>,
    pub says: Arc<str>,
}

/// All that was seen of a global index at once: its entries, or those of one key.
pub struct SeenIndex {
    pub window: Window,
    pub began: Moment,
    pub table: usize,
    pub index: &'static str,
    pub hash: Option<Value>,
    pub entries: Vec<Value>,
    pub says: Arc<str>,
}

/// What a transaction has seen of several items at one moment.
pub struct Cut {
    pub window: Window,
    pub items: Vec<(usize, Key, Option<Value>)>,
    pub says: Arc<str>,
}

/// What a request cost.
#[derive(Clone, Debug)]
pub struct Spent {
    pub began: Moment,
    pub ended: Moment,
    pub table: usize,
    pub index: Option<String>,
    pub writes: bool,
    pub halves: i64,
}

#[derive(Default)]
pub struct Facts {
    pub written: Vec<Written>,
    pub seen: Vec<Seen>,
    pub indexes: Vec<SeenIndex>,
    pub cuts: Vec<Cut>,
    pub spent: Vec<Spent>,
    pub requests: u64,
    pub refused: u64,
    /// Whether a batch has broken off: what it has carried out, and spent, nobody tells.
    pub broken: bool,
}

impl Facts {
    pub fn extend(&mut self, other: Facts) {
        self.written.extend(other.written);
        self.seen.extend(other.seen);
        self.indexes.extend(other.indexes);
        self.cuts.extend(other.cuts);
        self.spent.extend(other.spent);
        self.requests += other.requests;
        self.refused += other.refused;
        self.broken |= other.broken;
    }

    /// Everything in here was answered at this tick.
    pub fn answered(&mut self, tick: u64) {
        let windows = self.written.iter_mut().map(|fact| &mut fact.window);
        let windows = windows.chain(self.seen.iter_mut().map(|fact| &mut fact.window));
        let windows = windows.chain(self.indexes.iter_mut().map(|fact| &mut fact.window));
        windows
            .chain(self.cuts.iter_mut().map(|fact| &mut fact.window))
            .for_each(|window| window.answered = tick);
    }
}
