//! What a stream tells of a change.

use super::Sequence;
use crate::change::{Cause, Change};
use crate::clock::Moment;
use crate::schema::{KeySchema, StreamView};
use crate::value::Item;

/// What happened to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// There was none before.
    Insert,
    /// It is another one now.
    Modify,
    /// There is none any more.
    Remove,
}

impl RecordKind {
    /// What happened to the item, in one word.
    pub const fn action(self) -> &'static str {
        match self {
            RecordKind::Insert => "insert",
            RecordKind::Modify => "modify",
            RecordKind::Remove => "remove",
        }
    }

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            RecordKind::Insert => "INSERT",
            RecordKind::Modify => "MODIFY",
            RecordKind::Remove => "REMOVE",
        }
    }
}

/// A record of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its number.
    pub sequence: Sequence,
    /// What happened.
    pub event: RecordKind,
    /// When it happened: for what time to live has deleted, and a transaction in flight has written, when that was due.
    pub created: Moment,
    /// When it could be read first, which is what its life is counted from. Not before its neighbour in the shard.
    pub arrived: Moment,
    /// The item's key, if no image has it.
    pub(in crate::storage) keys: Option<Item>,
    /// The item before, if the stream shows it.
    pub old: Option<Item>,
    /// The item after, if the stream shows it.
    pub new: Option<Item>,
    /// Whether time to live has done it.
    pub expired: bool,
    /// The sizes of keys and images together.
    pub(in crate::storage) size: u32,
}

impl Record {
    /// The record of a change, unless it changes nothing. Its number comes later.
    pub(super) fn of(change: &Change, view: StreamView, key: &KeySchema, now: Moment) -> Option<Record> {
        let (event, whole) = match (&change.old, &change.new) {
            (None, None) => return None,
            (Some(old), Some(new)) if old == new => return None,
            (Some(_), Some(new)) => (RecordKind::Modify, new),
            (None, Some(new)) => (RecordKind::Insert, new),
            (Some(old), None) => (RecordKind::Remove, old),
        };
        let old = change.old.clone().filter(|_| view.shows_old());
        let new = change.new.clone().filter(|_| view.shows_new());
        let images = [&old, &new].into_iter().flatten().map(Item::size).sum::<usize>();
        Some(Record {
            sequence: Sequence::of(0),
            event,
            created: change.happened(now),
            arrived: now,
            keys: (old.is_none() && new.is_none()).then(|| key.only(whole)),
            size: (key.size_in(whole) + images) as u32,
            old,
            new,
            expired: change.cause == Cause::TimeToLive,
        })
    }

    /// The item's key, and nothing else, by the key's attributes.
    pub fn keys(&self, key: &KeySchema) -> Item {
        let image = || self.new.as_ref().or(self.old.as_ref()).map(|image| key.only(image));
        self.keys.clone().or_else(image).unwrap_or_default()
    }

    /// The sizes of what it shows together, as the service measures items.
    pub fn size(&self) -> usize {
        self.size as usize
    }

    /// The bytes that it takes in memory, as if it shared its images with nobody.
    pub(super) fn held(&self) -> u64 {
        let items = [&self.keys, &self.old, &self.new].into_iter().flatten();
        (size_of::<Record>() + items.map(|item| item.json().len()).sum::<usize>()) as u64
    }
}
