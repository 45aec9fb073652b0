//! The events of an index.

use std::collections::BTreeMap;

use super::entry::{Arrival, IndexEntry, IndexUpdate};
use crate::journal::{EventKind, EventSubject, TableEvents};
use crate::key::Key;
use crate::schema::KeySchema;
use crate::value::{Map, Name};

/// Records the arrivals at an index.
#[derive(Debug)]
pub(in crate::storage) struct IndexEvents {
    table: TableEvents,
    index: Name,
    key: KeySchema,
    /// The attributes of the index's key.
    own: Vec<Name>,
}

impl IndexEvents {
    pub(in crate::storage) fn new(table: TableEvents, index: Name, key: KeySchema, own: Vec<Name>) -> IndexEvents {
        IndexEvents { table, index, key, own }
    }

    /// Whether anything subscribes to the events.
    pub(super) fn has_subscribers(&self) -> bool {
        self.table.has_subscribers()
    }

    /// Records an arrival before it is applied, unless it was recorded with the change. `entries` are the index's.
    pub(super) fn record<E: IndexEntry>(&self, arrival: &Arrival<E>, entries: &BTreeMap<Key, E>) {
        if !arrival.delayed {
            return;
        }
        let IndexUpdate { remove, insert } = &arrival.update;
        let removed = remove.as_ref().and_then(|key| entries.get(key));
        let entry = insert.as_ref().map(|(_, entry)| entry).or(removed);
        let subject = EventSubject {
            action: if insert.is_some() { "put" } else { "delete" },
            key: entry.map_or_else(Map::new, |entry| {
                let is_key = |name: &str| self.key.contains(name) || self.own.iter().any(|own| own == name);
                entry.item().filter(is_key)
            }),
            token: entry
                .and_then(|entry| Key::read(&self.key, entry.item()))
                .map(|key| key.token),
        };
        let kind = EventKind::IndexArrival(self.index.clone(), subject);
        self.table.record(arrival.due, kind);
    }
}
