//! The records of a stream.

use super::sequence::Sequence;
use crate::change::{Cause, Change};
use crate::clock::Moment;
use crate::schema::{KeySchema, StreamView};
use crate::value::Item;

/// The kind of a change of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    Insert,
    Modify,
    Remove,
}

impl RecordKind {
    /// The change in one word.
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
    pub sequence: Sequence,
    pub event: RecordKind,
    /// When it happened: a deletion by time to live and a write of a transaction in flight happen when they are due.
    pub created: Moment,
    /// When it could first be read, from which its life is counted. No earlier than its predecessor in the shard.
    pub arrived: Moment,
    /// The item's key, if no image contains it.
    pub(in crate::storage) keys: Option<Item>,
    /// The item before, if the view includes it.
    pub old: Option<Item>,
    /// The item after, if the view includes it.
    pub new: Option<Item>,
    /// Whether time to live caused it.
    pub expired: bool,
    /// The total size of keys and images.
    pub(in crate::storage) size: u32,
}

impl Record {
    /// The record of a change, unless it changes nothing. Its sequence number is assigned later.
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

    pub fn keys(&self, key: &KeySchema) -> Item {
        let image = || self.new.as_ref().or(self.old.as_ref()).map(|image| key.only(image));
        self.keys.clone().or_else(image).unwrap_or_default()
    }

    /// The total size of its contents, as the service measures items.
    pub fn size(&self) -> usize {
        self.size as usize
    }

    /// The bytes that it takes in memory, as if it did not share its images.
    pub(super) fn held(&self) -> u64 {
        let items = [&self.keys, &self.old, &self.new].into_iter().flatten();
        (size_of::<Record>() + items.map(|item| item.json().len()).sum::<usize>()) as u64
    }
}
