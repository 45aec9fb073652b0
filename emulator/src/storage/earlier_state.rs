//! An earlier state of a partition: the present contents, overlaid with the versions that its history has.

use std::cmp::Ordering;
use std::iter::Peekable;

use super::history::{ChangePosition, History, Versions};
use super::page::{Ordered, Page, PageLimit};
use super::partition::Contents;
use super::range::KeyRange;
use crate::key::Key;
use crate::schema::KeySchema;
use crate::value::Item;

/// An earlier state of a partition: the present contents, overlaid with the replaced versions.
#[derive(Clone, Copy)]
pub struct EarlierState<'c> {
    contents: &'c Contents,
    history: &'c History,
    state: ChangePosition,
}

impl<'c> EarlierState<'c> {
    /// The partition in a state that its history remembers.
    pub fn new(contents: &'c Contents, history: &'c History, state: ChangePosition) -> EarlierState<'c> {
        EarlierState {
            contents,
            history,
            state,
        }
    }

    /// The item under a key.
    pub fn get(&self, key: &Key) -> Option<&'c Item> {
        self.get_or(key, || self.contents.get(key))
    }

    /// The item under a key, which is `present` if it has not changed since.
    pub fn get_or(&self, key: &Key, present: impl FnOnce() -> Option<&'c Item>) -> Option<&'c Item> {
        match self.history.version(key, self.state) {
            Some(version) => version.old.as_ref(),
            None => present(),
        }
    }

    /// Adds to a page from the table, or from a local index.
    pub fn page(&self, local: Option<usize>, range: &KeyRange, forward: bool, limit: PageLimit, page: &mut Page) {
        let Some(versions) = self.history.versions(local) else {
            return;
        };
        match local {
            None => self.fill(self.contents.by_key(), versions, range, forward, limit, page),
            Some(at) => {
                if let Some(entries) = self.contents.local(at) {
                    self.fill(entries, versions, range, forward, limit, page);
                }
            }
        }
    }

    /// Adds the items of a map to a page, as they were in this state.
    fn fill(
        &self,
        map: &impl Ordered,
        versions: &Versions,
        range: &KeyRange,
        forward: bool,
        limit: PageLimit,
        page: &mut Page,
    ) {
        if range.is_empty() || page.cut {
            return;
        }
        let current = map.within(range);
        let changed = versions.range(range, self.state);
        if forward {
            page.fill(OverlaidItems::new(current, changed, Ordering::is_lt), limit);
        } else {
            page.fill(OverlaidItems::new(current.rev(), changed.rev(), Ordering::is_gt), limit);
        }
    }

    /// Reads the table's items of a page's local index entries that have not been read yet.
    pub fn fetch_bases(&self, schema: &KeySchema, most: usize, page: &mut Page) {
        page.fetch_bases(schema, most, |key| self.get(key).cloned());
    }
}

/// The items of an ordered walk, some of them replaced by earlier versions, or hidden.
struct OverlaidItems<C: Iterator, V: Iterator> {
    current: Peekable<C>,
    changed: Peekable<V>,
    /// Whether a comparison of two keys puts the first one first.
    first: fn(Ordering) -> bool,
}

impl<C: Iterator, V: Iterator> OverlaidItems<C, V> {
    fn new(current: C, changed: V, first: fn(Ordering) -> bool) -> OverlaidItems<C, V> {
        OverlaidItems {
            current: current.peekable(),
            changed: changed.peekable(),
            first,
        }
    }
}

impl<'a, C, V> Iterator for OverlaidItems<C, V>
where
    C: Iterator<Item = (&'a Key, &'a Item)>,
    V: Iterator<Item = (&'a Key, Option<&'a Item>)>,
{
    type Item = &'a Item;

    fn next(&mut self) -> Option<&'a Item> {
        loop {
            let order = match (self.current.peek(), self.changed.peek()) {
                (Some((current, _)), Some((changed, _))) => current.cmp(changed),
                (_, None) => return self.current.next().map(|(_, item)| item),
                (None, Some(_)) => Ordering::Equal, // nothing to hide
            };
            if order.is_ne() && (self.first)(order) {
                return self.current.next().map(|(_, item)| item);
            }
            if order.is_eq() {
                self.current.next();
            }
            if let (_, Some(old)) = self.changed.next()? {
                return Some(old);
            }
        }
    }
}
