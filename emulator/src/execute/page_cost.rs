//! The cost of a page, and the tokens that it touched.

use std::ops::AddAssign;

use crate::capacity::Consumed;
use crate::capacity::units::{self, Units};
use crate::key::Key;
use crate::plan::PageRead;
use crate::storage::{KeyRange, Page};
use crate::value::{Item, Name};

/// The tokens that a page touched: those of its range, or those up to its last item.
pub(super) fn tokens_read(read: &PageRead<'_>, keys: &KeyRange, last: Option<&Item>) -> (u64, u64) {
    let token = last.and_then(|item| {
        let base = Key::read(&read.target.definition().key, item)?;
        match read.index().filter(|index| !index.local) {
            None => Some(base.token),
            Some(index) => Key::of_entry(index, item, &base).map(|key| key.token),
        }
    });
    (keys.tokens().0, token.unwrap_or(keys.last_token()))
}

/// The cost of a page: computed once, then spent, reported and logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageCost {
    /// Reading the table or index.
    pub read: Units,
    /// Fetching items from the table for the entries of a local index.
    pub fetched: Units,
}

impl PageCost {
    /// The cost of a range; `before` is the bytes of the ranges read before it, and `None` for the first. The bytes of all
    /// ranges are rounded up together.
    pub(super) fn new(page: &Page, before: Option<usize>, consistent: bool) -> PageCost {
        let fetched = page.bases.iter().map(|item| units::read(item.size(), consistent));
        let read = units::read(before.unwrap_or(0) + page.bytes, consistent);
        PageCost {
            read: match before {
                None => read,
                Some(before) => read.without(units::read(before, consistent)),
            },
            fetched: fetched.sum(),
        }
    }

    /// The cost by table and index, as a response reports it.
    pub fn consumed(self, read: &PageRead<'_>, table: &Name) -> Consumed {
        let mut consumed = Consumed::new(table.clone());
        consumed.table = self.fetched;
        match read.index() {
            None => consumed.table += self.read,
            Some(index) if index.local => consumed.add_local(index.name.clone(), self.read),
            Some(index) => consumed.add_global(index.name.clone(), self.read),
        }
        consumed
    }
}

impl AddAssign for PageCost {
    fn add_assign(&mut self, other: PageCost) {
        self.read += other.read;
        self.fetched += other.fetched;
    }
}
