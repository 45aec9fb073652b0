//! Packs items that stay into allocations for several items. Allocators round an allocation up to one of few sizes, which
//! for an item of some hundred bytes costs up to a quarter of it, besides what each allocation costs.

use std::mem::size_of;

use triomphe::ThinArc;

use super::{BUFFER, Header, Item, LARGEST_BUFFER};

/// An item with more JSON than this has an allocation of its own.
const LARGEST_ITEM: u32 = 4 * 1024;
/// The bounds of the size of a block with several items. Larger blocks have less rounding, but one item keeps all of its
/// block.
const SMALLEST_BLOCK: usize = 4 * 1024;
const LARGEST_BLOCK: usize = 14 * 1024;
/// What a block takes before its items: the number of references, of items and of bytes, and a byte that makes no item
/// start at 0.
const BLOCK_START: usize = 3 * size_of::<usize>() + 1;

/// The bytes that an allocator uses for an allocation of this size. Most have four sizes between two powers of two.
pub fn size_class(bytes: usize) -> usize {
    let step = bytes.next_power_of_two() / 8;
    bytes.next_multiple_of(step.max(1))
}

impl Item {
    /// Whether the item shares a block with others.
    #[inline]
    pub fn is_packed(&self) -> bool {
        self.start > 0
    }

    /// Whether the item has an allocation of its own that nobody shares, and is not large.
    fn is_packable(&self) -> bool {
        !self.is_packed() && self.length <= LARGEST_ITEM && ThinArc::strong_count(&self.block) == 1
    }

    /// Whether more than a quarter of the items of its block are gone.
    fn is_left_over(&self) -> bool {
        self.is_packed() && ThinArc::strong_count(&self.block) * 4 < self.block.header.header as usize * 3
    }

    /// The bytes of the item in a block.
    fn packed_length(&self) -> usize {
        self.length as usize + Header::LENGTH
    }
}

/// Moves items that nobody shares to allocations for several items. Some are left as they are if they are too few to fill
/// one.
pub fn pack<'i>(items: impl Iterator<Item = &'i mut Item>) {
    fill_blocks(&mut items.filter(|item| item.is_packable()).collect::<Vec<_>>());
}

/// Moves the items of blocks of which more than a quarter is gone to others, so that those are freed.
pub fn repack<'i>(items: impl Iterator<Item = &'i mut Item>) {
    let mut items: Vec<&mut Item> = items.filter(|item| item.is_left_over()).collect();
    for item in fill_blocks(&mut items) {
        **item = Item::written(item.header(), |out| out.extend_from_slice(item.json()));
    }
}

/// Moves items to new blocks; returns the last ones, which are too few for one.
fn fill_blocks<'s, 'i>(mut items: &'s mut [&'i mut Item]) -> &'s mut [&'i mut Item] {
    while let Some(count) = best_count(items) {
        let (block, rest) = items.split_at_mut(count);
        fill_block(block);
        items = rest;
    }
    items
}

/// How many of these items make a block with the least rounding; `None` if they are too few for any block.
fn best_count(items: &[&mut Item]) -> Option<usize> {
    let mut bytes = BLOCK_START;
    let mut best = None;
    for (at, item) in items.iter().enumerate() {
        bytes += item.packed_length();
        if bytes > LARGEST_BLOCK {
            break;
        }
        let lost = (size_class(bytes) - bytes) * LARGEST_BLOCK / bytes;
        if at > 0 && bytes >= SMALLEST_BLOCK && best.is_none_or(|(least, _)| lost <= least) {
            best = Some((lost, at + 1));
        }
    }
    best.map(|(_, count)| count)
}

/// Moves items to one new block.
fn fill_block(items: &mut [&mut Item]) {
    let block = BUFFER.with_borrow_mut(|buffer| {
        buffer.clear();
        buffer.push(0);
        for item in &*items {
            buffer.extend_from_slice(item.json());
            buffer.extend_from_slice(&item.header().0.to_ne_bytes());
        }
        let block = ThinArc::from_header_and_slice(items.len() as u32, buffer);
        buffer.shrink_to(LARGEST_BUFFER);
        block
    });
    let mut start = 1;
    for item in items {
        item.block = block.clone();
        item.start = start;
        start += item.packed_length() as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{AttributeValue, Map};

    fn items(count: usize, length: usize) -> Vec<Item> {
        let text = |at: usize| AttributeValue::string(&format!("{at:0length$}"));
        let map = |at| Map::from_entries(vec![("pk".into(), text(at))]);
        (0..count).map(|at| Item::new(&map(at))).collect()
    }

    fn packed(items: &[Item]) -> usize {
        items.iter().filter(|item| item.is_packed()).count()
    }

    #[test]
    fn a_size_class_is_the_next_of_four_between_powers_of_two() {
        for (bytes, class) in [
            (1, 1),
            (9, 10),
            (1024, 1024),
            (1025, 1280),
            (1281, 1536),
            (1537, 1792),
            (1793, 2048),
        ] {
            assert_eq!(size_class(bytes), class, "{bytes}");
        }
    }

    #[test]
    fn packed_items_have_the_same_content_and_take_less() {
        for (count, length, least) in [
            (64, 160, 40),
            (64, 1000, 60),
            (10, 1000, 10),
            (3, 1000, 0),
            (64, 4060, 60),
            (64, 4090, 0),
        ] {
            let (mut all, same) = (items(count, length), items(count, length));
            pack(all.iter_mut());
            assert!(packed(&all) >= least, "{count} of {length}: {}", packed(&all));
            assert_eq!((packed(&all) == 0, &all), (least == 0, &same), "{count} of {length}");
            assert!(all.iter().zip(&same).all(|(one, other)| one.size() == other.size()));
            let lost = |item: &Item| {
                let bytes = BLOCK_START + item.block.slice.len();
                size_class(bytes) - bytes
            };
            let packed = all.iter().filter(|item| item.is_packed());
            assert!(packed.map(lost).all(|lost| lost < 1024), "{count} of {length}");
        }
    }

    #[test]
    fn shared_items_and_packed_ones_are_left_alone() {
        let mut all = items(64, 200);
        let shared = all.clone();
        pack(all.iter_mut());
        assert!(all.iter().zip(&shared).all(|(one, other)| one.same(other)));
        drop(shared);
        pack(all.iter_mut());
        let before = all.clone();
        let count = packed(&all);
        assert!(count > 40);
        pack(all.iter_mut());
        repack(all.iter_mut());
        assert!(all.iter().zip(&before).all(|(one, other)| one.same(other)));
    }

    #[test]
    fn a_block_of_which_more_than_a_quarter_is_gone_is_replaced() {
        for (count, kept, replaced) in [(90, 9, false), (90, 5, true), (30, 9, false), (30, 2, true)] {
            let mut all = items(count, 400);
            pack(all.iter_mut());
            all.truncate(packed(&all));
            let same = items(all.len(), 400);
            let mut place = 0;
            all.retain(|_| {
                place += 1;
                place % 10 < kept
            });
            let before: Vec<usize> = all.iter().map(|item| item.json().as_ptr() as usize).collect();
            repack(all.iter_mut());
            let moved = all
                .iter()
                .zip(before)
                .filter(|(item, before)| item.json().as_ptr() as usize != *before);
            let expected = if replaced { all.len() } else { 0 };
            assert_eq!(moved.count(), expected, "{kept} of 10 of {count} kept");
            assert!(all.iter().all(|item| same.contains(item)));
            assert!(!replaced || count > 30 || packed(&all) == 0, "too few for a block");
        }
    }

    /// A moved item is still known to have number sets, or to have none.
    #[test]
    fn number_sets_are_known_after_each_move() {
        for has_sets in [true, false] {
            let value = if has_sets { "number set" } else { "null" };
            let attribute = if has_sets {
                AttributeValue::Ns(vec![1.into()])
            } else {
                AttributeValue::Null
            };
            let text = AttributeValue::string(&"x".repeat(400));
            let map = Map::from_entries(vec![("a".into(), text), ("b".into(), attribute)]);
            let mut all: Vec<Item> = (0..30).map(|_| Item::new(&map)).collect();
            let known = |items: &[Item]| items.iter().all(|item| item.may_have_number_sets() == has_sets);
            pack(all.iter_mut());
            assert!(packed(&all) > 20 && known(&all), "{value}");
            all.truncate(2);
            repack(all.iter_mut());
            assert!(packed(&all) == 0 && known(&all), "{value}");
        }
    }
}
