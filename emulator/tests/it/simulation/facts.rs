//! The requests and observations of a world's clients, which are compared at the end.

use std::sync::Arc;

use dynatwin_engine::Moment;
use serde_json::Value;

use crate::common::model::Key;
use crate::simulation::verify::Items;
use crate::simulation::world::Window;
use crate::simulation::write::Write;

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    NotDone,
    /// A batch failed part-way: its first entries have been applied, in unknown number.
    Unknown,
}

/// A write that was sent.
pub struct Written {
    pub window: Window,
    pub write: Arc<Write>,
    pub outcome: Outcome,
    /// The item before, if the answer contained it.
    pub old: Option<Value>,
    pub new: Option<Value>,
    /// The number of its transaction, if it was part of one.
    pub transaction: Option<u64>,
}

/// An observation of one partition: `test` holds for its state at that time.
pub struct Seen {
    pub window: Window,
    pub began: Moment,
    /// The client that has read it; none if a write observed it.
    pub client: Option<u64>,
    pub table: usize,
    pub partition: usize,
    pub consistent: bool,
    pub test: Box<dyn Fn(&Items) -> bool + Send>,
    pub description: Arc<str>,
}

/// An observation of a global index at one time: its entries, or those of one key.
pub struct SeenIndex {
    pub window: Window,
    pub began: Moment,
    pub table: usize,
    pub index: &'static str,
    pub hash: Option<Value>,
    pub entries: Vec<Value>,
    pub description: Arc<str>,
}

/// The items that a transaction has observed at one moment.
pub struct Cut {
    pub window: Window,
    pub items: Vec<(usize, Key, Option<Value>)>,
    pub description: Arc<str>,
}

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
    /// Whether a batch failed part-way, so that its effects and cost are unknown.
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

    /// Sets the tick at which all these facts were answered.
    pub fn answered(&mut self, tick: u64) {
        let windows = self.written.iter_mut().map(|fact| &mut fact.window);
        let windows = windows.chain(self.seen.iter_mut().map(|fact| &mut fact.window));
        let windows = windows.chain(self.indexes.iter_mut().map(|fact| &mut fact.window));
        windows
            .chain(self.cuts.iter_mut().map(|fact| &mut fact.window))
            .for_each(|window| window.answered = tick);
    }
}
