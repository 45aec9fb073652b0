//! What a partition was a while ago, for reads that may be stale: an undo log, kept only while the dial is on.
//!
//! Each change leaves what it replaced. A state of the past is the present one with the changes since then taken back,
//! from the newest to one of them: so every state that can be read has existed, whatever was dropped at the log's end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::partition::Contents;
use super::range::{KeyRange, Page, PageLimit};
use crate::clock::Moment;
use crate::conditions::Lag;
use crate::key::Key;
use crate::schema::{Definition, KeySchema};
use crate::value::Item;

/// Changes and bytes of replaced items that a partition remembers at most. Beyond them its reads are less stale.
const MOST_CHANGES: usize = 10_000;
const MOST_BYTES: usize = 16 << 20;

/// One change's other side.
#[derive(Clone, Debug)]
struct Undo {
    at: Moment,
    key: Key,
    old: Option<Item>,
}

/// The changes of a partition that a stale read may not have seen.
#[derive(Clone, Debug)]
pub struct History {
    /// How stale reads are.
    pub staleness: Lag,
    /// Whether a caller's reads never go back.
    pub monotonic: bool,
    undos: VecDeque<Undo>,
    bytes: usize,
    /// How many changes have been dropped at the old end.
    dropped: u64,
}

impl History {
    /// A history that begins now.
    pub fn new(staleness: Lag, monotonic: bool) -> History {
        History {
            staleness,
            monotonic,
            undos: VecDeque::new(),
            bytes: 0,
            dropped: 0,
        }
    }

    /// Takes in a change that happens at `now`, and drops what no read may miss any more.
    pub fn record(&mut self, key: &Key, old: Option<&Item>, now: Moment) {
        // Requests of an earlier moment may come later; the order is that of the lock.
        let at = self.undos.back().map_or(now, |last| last.at.max(now));
        self.bytes += old.map_or(0, Item::size);
        self.undos.push_back(Undo {
            at,
            key: key.clone(),
            old: old.cloned(),
        });
        self.trim(at);
    }

    fn trim(&mut self, now: Moment) {
        let oldest = now.minus(self.staleness.longest());
        while let Some(undo) = self.undos.pop_front_if(|undo| undo.at <= oldest) {
            self.drop(&undo);
        }
        while self.undos.len() > MOST_CHANGES || self.bytes > MOST_BYTES {
            let Some(undo) = self.undos.pop_front() else { return };
            self.drop(&undo);
        }
    }

    fn drop(&mut self, undo: &Undo) {
        self.bytes -= undo.old.as_ref().map_or(0, Item::size);
        self.dropped += 1;
    }

    /// The state of the present: how many changes have been made in all.
    pub fn present(&self) -> u64 {
        self.dropped + self.undos.len() as u64
    }

    /// The state that was there `before` the moment `now`, or the oldest that is remembered.
    pub fn state(&self, now: Moment, before: Duration) -> u64 {
        let moment = now.minus(before);
        self.dropped + self.undos.partition_point(|undo| undo.at <= moment) as u64
    }

    /// The changes since a state, the oldest first.
    fn since(&self, state: u64) -> impl Iterator<Item = &Undo> {
        let skipped = usize::try_from(state.saturating_sub(self.dropped)).unwrap_or(usize::MAX);
        self.undos.iter().skip(skipped)
    }
}

/// A partition as it was: the present with the changes since a state taken back.
pub struct Past<'c> {
    contents: &'c Contents,
    /// The items that were other than they are.
    changed: BTreeMap<&'c Key, Option<&'c Item>>,
}

impl<'c> Past<'c> {
    /// The partition in a state that its history had.
    pub fn new(contents: &'c Contents, history: &'c History, state: u64) -> Past<'c> {
        let mut changed = BTreeMap::new();
        for undo in history.since(state) {
            // The oldest change since then replaced what was there then.
            changed.entry(&undo.key).or_insert(undo.old.as_ref());
        }
        Past { contents, changed }
    }

    /// The item under a key.
    pub fn get(&self, key: &Key) -> Option<&'c Item> {
        match self.changed.get(key) {
            Some(old) => *old,
            None => self.contents.get(key),
        }
    }

    /// Adds to a page from the table, or from a local index.
    pub fn page(
        &self,
        definition: &Definition,
        local: Option<usize>,
        range: &KeyRange,
        forward: bool,
        limit: PageLimit,
        page: &mut Page,
    ) {
        let mut hidden = BTreeSet::new();
        let mut shown = BTreeMap::new();
        for (&key, &old) in &self.changed {
            let Some(index) = local.and_then(|at| definition.locals.get(at)) else {
                hidden.insert(key.clone());
                shown.extend(old.map(|old| (key.clone(), old.clone())));
                continue;
            };
            let entry = |item: &Item| Key::of_entry(index, item.attributes(), key);
            hidden.extend(self.contents.get(key).and_then(entry));
            shown.extend(old.and_then(|old| Some((entry(old)?, index.project(old, &definition.key)))));
        }
        if let Some(map) = self.contents.map(local) {
            page.fill_from_two(map, &hidden, &shown, range, forward, limit);
        }
    }

    /// Reads from the table what the entries of a page stand for, those that have not been read yet.
    pub fn fetch_bases(&self, schema: &KeySchema, page: &mut Page) {
        page.fetch_bases(schema, |key| self.get(key).cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KeyBytes;

    fn key(token: u64) -> Key {
        Key {
            token,
            bytes: KeyBytes::new(),
        }
    }

    fn at(seconds: i64) -> Moment {
        Moment::from_seconds(seconds)
    }

    #[test]
    fn what_nobody_may_miss_is_dropped() {
        let mut history = History::new(Lag::Fixed(Duration::from_secs(2)), false);
        for seconds in 0..10 {
            history.record(&key(seconds as u64), None, at(seconds));
        }
        assert_eq!((history.present(), history.undos.len()), (10, 2));
        assert_eq!(history.state(at(9), Duration::from_secs(1)), 9);
        assert_eq!(history.state(at(9), Duration::from_secs(2)), 8);
        // Older than what is remembered: the oldest that is.
        assert_eq!(history.state(at(9), Duration::from_secs(8)), 8);
    }

    #[test]
    fn memory_is_bounded_though_time_stands_still() {
        let mut history = History::new(Lag::Fixed(Duration::from_secs(2)), false);
        (0..30_000).for_each(|token| history.record(&key(token), None, at(0)));
        assert_eq!((history.present(), history.undos.len()), (30_000, MOST_CHANGES));
        let value = crate::value::AttributeValue::string(&"x".repeat(300_000));
        let item = Item::new([("pk".into(), value)].into_iter().collect());
        (0..100).for_each(|token| history.record(&key(token), Some(&item), at(0)));
        assert!(history.bytes <= MOST_BYTES, "{}", history.bytes);
        assert_eq!(history.present(), 30_100);
    }

    #[test]
    fn order_is_that_of_the_lock_and_not_of_the_moments() {
        let mut history = History::new(Lag::Fixed(Duration::from_secs(5)), false);
        history.record(&key(1), None, at(10));
        history.record(&key(2), None, at(9));
        assert_eq!(history.state(at(12), Duration::from_secs(3)), 0);
        assert_eq!(history.state(at(12), Duration::from_secs(2)), 2);
    }
}
