//! The reference model, and its check of a finished world.
//!
//! The records of the stream are the order in which things happened: the model replays them, one item after the other.
//! Each must come from a write that was sent, and do to the item what that write does; the order must be one in which
//! no write was answered before it had an effect. Each state that this gives a partition is one that may have been seen.

mod capacity;
mod ends;
mod order;
mod stream_records;

use std::collections::BTreeMap;

use dynatwin_engine::attributes::{AttributeValue, partition_token};
use dynatwin_engine::{Capacity, Conditions};
use serde_json::Value;

use crate::common::model::Key;
use crate::simulation::facts::Facts;
use crate::simulation::world::{INDEXES, Window, World};

pub type Items = BTreeMap<Key, Value>;

/// The number of the partition of four that an item is in.
pub fn partition_of(pk: &str) -> usize {
    let token = partition_token(&AttributeValue::string(pk)).unwrap();
    (token >> 62) as usize
}

/// Returns the partition key attribute of an index.
pub fn index_hash(index: &str) -> &'static str {
    if index == INDEXES[0] {
        "g"
    } else if index == INDEXES[1] {
        "l"
    } else {
        "n"
    }
}

/// A change of an item, the window in which it can have happened, and its transaction.
pub struct Transition {
    pub key: Key,
    pub old: Option<Value>,
    pub new: Option<Value>,
    pub expired: bool,
    pub window: Window,
    pub transaction: Option<u64>,
}

/// One partition: its changes in order, and all its states.
#[derive(Default)]
pub struct Line {
    pub transitions: Vec<Transition>,
    pub states: Vec<Items>,
}

/// Counts of what was checked, for reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    pub requests: u64,
    pub refused: u64,
    pub transitions: u64,
    pub reads: u64,
    /// Reads that returned an older state than the newest possible one.
    pub stale: u64,
}

impl Figures {
    pub fn add(&mut self, other: Figures) {
        self.requests += other.requests;
        self.refused += other.refused;
        self.transitions += other.transitions;
        self.reads += other.reads;
        self.stale += other.stale;
    }
}

/// Compares all requests and answers with each other, after the world has come to rest.
pub fn verify(world: &World, mut facts: Facts) -> Result<Figures, String> {
    world.poll()?;
    let mut figures = Figures {
        requests: facts.requests,
        refused: facts.refused,
        ..Figures::default()
    };
    let mut lines = Vec::new();
    for table in 0..2 {
        let written = facts.written.iter().filter(|written| written.write.table == table);
        lines.push(stream_records::lines(world, &world.records(table)?, written.collect())?);
    }
    for line in lines.iter().flatten() {
        order::writes(line)?;
        figures.transitions += line.transitions.len() as u64;
    }
    facts.seen.sort_by_key(|seen| seen.window.invoked);
    facts.indexes.sort_by_key(|seen| seen.window.invoked);
    order::reads(world, &lines, &facts.seen, &mut figures)?;
    order::indexes(world, &lines, &facts.indexes, &mut figures)?;
    order::transactions(&lines, &facts.cuts)?;
    capacity::check(world, &facts)?;
    // The final reads are not charged.
    let conditions = world.twin.engine.conditions();
    world
        .twin
        .engine
        .set_conditions(Conditions {
            capacity: Capacity::Reported,
            ..conditions
        })
        .unwrap();
    ends::check(world, &lines)?;
    Ok(figures)
}
