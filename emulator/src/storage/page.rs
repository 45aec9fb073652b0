//! The page of a table or index that a Query or Scan reads.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::items::Items;
use super::range::KeyRange;
use crate::key::Key;
use crate::limits;
use crate::schema::KeySchema;
use crate::value::Item;
use crate::wire::encode::Writer;

/// Where a page ends.
#[derive(Clone, Copy, Debug)]
pub struct PageLimit {
    /// The maximum number of items.
    pub items: usize,
    /// Bytes after which it ends, with the item that crosses them.
    pub bytes: usize,
    /// The maximum number of bytes of items to load into the processor's cache, since the caller reads them next.
    pub preload: usize,
}

impl PageLimit {
    /// The limits given by `Limit` and the service's 1 MB.
    pub fn new(limit: Option<usize>) -> PageLimit {
        PageLimit {
            items: limit.unwrap_or(usize::MAX),
            bytes: limits::PAGE_SIZE,
            preload: PRELOAD,
        }
    }
}

/// The range and the order of a page.
#[derive(Clone, Copy, Debug)]
pub struct Walk<'r> {
    pub range: &'r KeyRange,
    /// Whether to read in ascending order.
    pub forward: bool,
    pub limit: PageLimit,
    /// The table's key, to fetch the items of a local index's entries as well.
    pub fetch: Option<&'r KeySchema>,
    /// Whether to encode the items instead of collecting them.
    pub encodes: bool,
}

pub(super) trait Ordered {
    /// The items of a range that is not empty.
    fn within<'m>(&'m self, range: &'m KeyRange) -> impl DoubleEndedIterator<Item = (&'m Key, &'m Item)>;
}

impl Ordered for BTreeMap<Key, Item> {
    fn within<'m>(&'m self, range: &'m KeyRange) -> impl DoubleEndedIterator<Item = (&'m Key, &'m Item)> {
        self.range((range.lower.as_ref(), range.upper.as_ref()))
    }
}

impl Ordered for Items {
    fn within<'m>(&'m self, range: &'m KeyRange) -> impl DoubleEndedIterator<Item = (&'m Key, &'m Item)> {
        self.range((range.lower.as_ref(), range.upper.as_ref()))
    }
}

/// The stored items of a page, and whether it ended before the range did.
#[derive(Debug, Default)]
pub struct Page {
    /// The items. If they are encoded, only the last one of a page that was cut.
    pub items: Vec<Item>,
    /// The items as JSON, if that was requested.
    pub encoded: Option<EncodedItems>,
    /// The table's items of a local index's entries, if requested.
    pub bases: Vec<Item>,
    /// The total size of the items.
    pub bytes: usize,
    /// The total size of the table's items.
    pub base_bytes: usize,
    /// Whether the limit ended it. Nothing may follow even so.
    pub cut: bool,
}

/// Items that were encoded while their partition was locked. Cloning them instead would change a reference count that all
/// threads share.
#[derive(Debug)]
pub struct EncodedItems {
    /// A response from its start to its last item; nothing before the first.
    json: Writer,
    /// The number of items.
    pub count: usize,
}

/// The number of items for which a page reserves room at first.
const SMALL_PAGE: usize = 16;

/// The start of the response of a Query, up to its items.
const RESPONSE_START: &[u8] = br#"{"Items":["#;

/// The room for the rest of a response after its items.
const RESPONSE_END: usize = 256;

/// The maximum number of bytes of a page that are preloaded: more do not fit into the processor's first-level cache.
const PRELOAD: usize = 32 * 1024;

impl EncodedItems {
    const NONE: EncodedItems = EncodedItems {
        json: Writer::new(),
        count: 0,
    };

    /// Makes room for more items of this many bytes. One allocation serves most pages.
    fn make_room(&mut self, bytes: usize) {
        if self.json.is_empty() {
            let mut json = Vec::with_capacity(RESPONSE_START.len() + bytes + RESPONSE_END);
            json.extend_from_slice(RESPONSE_START);
            self.json = Writer::from(json);
        } else {
            self.json.reserve(bytes + RESPONSE_END);
        }
    }

    /// The response from its start to its last item: the list of items is not closed.
    pub fn into_response(mut self) -> Writer {
        if self.json.is_empty() {
            self.make_room(0);
        }
        self.json
    }
}

impl Page {
    /// A page without items.
    pub(super) fn new(walk: &Walk<'_>) -> Page {
        Page {
            encoded: walk.encodes.then_some(EncodedItems::NONE),
            ..Page::default()
        }
    }

    /// A page of a map.
    pub(super) fn of(map: &BTreeMap<Key, Item>, walk: &Walk<'_>) -> Page {
        let mut page = Page::new(walk);
        page.fill_from(map, walk.range, walk.forward, walk.limit);
        page
    }

    /// The number of items.
    pub fn count(&self) -> usize {
        self.encoded.as_ref().map_or(self.items.len(), |encoded| encoded.count)
    }

    /// The last item, if a limit ended the page.
    pub fn cut_after(&self) -> Option<&Item> {
        self.items.last().filter(|_| self.cut)
    }

    /// Adds the page of the next range. Neither is encoded.
    pub fn append(&mut self, next: Page) {
        self.items.extend(next.items);
        self.bases.extend(next.bases);
        self.bytes += next.bytes;
        self.base_bytes += next.base_bytes;
        self.cut = next.cut;
    }

    /// Removes the first items, up to `count`, ends the rest at 1 MB, and returns how many were removed.
    pub fn skip(&mut self, count: usize) -> usize {
        let skipped = count.min(self.items.len());
        self.items.drain(..skipped);
        let mut bytes = 0;
        let full = |item: &Item| {
            bytes += item.size();
            bytes >= limits::PAGE_SIZE
        };
        if let Some(last) = self.items.iter().position(full) {
            self.items.truncate(last + 1);
            self.cut = true;
        }
        skipped
    }

    /// A page of at most one item.
    pub fn of_item(item: Option<Item>, limit: PageLimit) -> Page {
        let bytes = item.as_ref().map_or(0, Item::size);
        let items = Vec::from_iter(item);
        Page {
            cut: items.len() >= limit.items || bytes >= limit.bytes,
            bytes,
            items,
            ..Page::default()
        }
    }

    /// Adds items until the page is full.
    pub(super) fn fill<'a>(&mut self, items: impl Iterator<Item = &'a Item>, limit: PageLimit) {
        if self.encoded.is_some() {
            self.encode(items, limit);
        } else {
            self.collect(items, limit);
        }
    }

    fn encode<'a>(&mut self, mut items: impl Iterator<Item = &'a Item>, limit: PageLimit) {
        let Some(encoded) = &mut self.encoded else { return };
        while !self.cut {
            let next = next_items(&mut items, limit.items.saturating_sub(encoded.count));
            if next.is_empty() {
                return;
            }
            let length = next.iter().map(|item| item.json_length() + 1).sum::<usize>();
            encoded.make_room(length.min(limit.bytes));
            for item in next {
                encoded.json.item(item);
                encoded.count += 1;
                self.bytes += item.size();
                if encoded.count >= limit.items || self.bytes >= limit.bytes {
                    self.cut = true;
                    self.items.push(item.clone());
                    break;
                }
            }
        }
    }

    fn collect<'a>(&mut self, mut items: impl Iterator<Item = &'a Item>, limit: PageLimit) {
        // Reserves room for a small page: growing step by step costs more than reading it.
        self.items.reserve(limit.items.min(SMALL_PAGE));
        while !self.cut {
            let next = next_items(&mut items, limit.items.saturating_sub(self.items.len()));
            if next.is_empty() {
                return;
            }
            // Most items are not in the processor's cache, which loads several at once. It loads none while an item is
            // cloned, which is atomic: all of them are loaded first.
            next.iter().for_each(|item| item.preload_size());
            let mut added = 0;
            for item in &next {
                added += 1;
                self.bytes += item.size();
                if self.bytes <= limit.preload {
                    item.preload();
                }
                if self.items.len() + added >= limit.items || self.bytes >= limit.bytes {
                    self.cut = true;
                    break;
                }
            }
            self.items.extend(next.into_iter().take(added).cloned());
        }
    }

    pub(super) fn fill_from(&mut self, map: &impl Ordered, range: &KeyRange, forward: bool, limit: PageLimit) {
        if range.is_empty() || self.cut {
            return;
        }
        let walk = map.within(range).map(|(_, item)| item);
        if forward {
            self.fill(walk, limit);
        } else {
            self.fill(walk.rev(), limit);
        }
    }

    /// Reads the table's items of the page's entries that have not been read yet. The page ends where entries and items
    /// together reach `most` bytes.
    pub(super) fn fetch_bases(&mut self, schema: &KeySchema, most: usize, get: impl Fn(&Key) -> Option<Item>) {
        let fetched = self.bases.len();
        self.bytes -= self.items[fetched..].iter().map(Item::size).sum::<usize>();
        for at in fetched..self.items.len() {
            let entry = &self.items[at];
            let base = Key::read(schema, entry).and_then(|key| get(&key));
            // A local index and its table change together: the item exists.
            let base = base.unwrap_or_else(|| entry.clone());
            self.bytes += entry.size();
            self.base_bytes += base.size();
            self.bases.push(base);
            if self.bytes + self.base_bytes >= most {
                self.items.truncate(at + 1);
                self.cut = true;
                return;
            }
        }
    }
}

/// The next items, at most `most` of them, but one at least.
fn next_items<'a>(items: &mut impl Iterator<Item = &'a Item>, most: usize) -> SmallVec<[&'a Item; SMALL_PAGE]> {
    let mut next = SmallVec::new();
    // Internal iteration: `next` of a flattened iterator costs a call for each item.
    items.take(most.clamp(1, SMALL_PAGE)).for_each(|item| next.push(item));
    next
}
