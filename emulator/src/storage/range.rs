//! Ranges of keys.

use std::cmp::Ordering;
use std::ops::Bound;

use crate::key::{Key, KeyBytes};

/// The equal parts of the ring of tokens that make up the segments of a parallel scan.
const SEGMENT_PARTS: u64 = 4096;

/// A half-open range of keys: from the first bound up to the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    pub lower: Bound<Key>,
    pub upper: Bound<Key>,
}

impl KeyRange {
    /// Keys of one token from `lower` up to and without `upper`; without an `upper`, to the token's end.
    pub fn of_token(token: u64, lower: KeyBytes, upper: Option<KeyBytes>) -> KeyRange {
        KeyRange {
            lower: Bound::Included(Key { token, bytes: lower }),
            upper: match (upper, token.checked_add(1)) {
                (Some(bytes), _) => Bound::Excluded(Key { token, bytes }),
                (None, Some(token)) => Bound::Excluded(Key {
                    token,
                    bytes: KeyBytes::new(),
                }),
                (None, None) => Bound::Unbounded,
            },
        }
    }

    /// All keys of a segment of tokens.
    pub fn of_segment(segment: Segment) -> KeyRange {
        // Segments begin at the first of these parts of the ring at or after their share (dynalite), so with more
        // segments than parts some are empty.
        let start = |at: u64| {
            let part = (at * SEGMENT_PARTS).div_ceil(segment.total.max(1));
            (part < SEGMENT_PARTS).then(|| Key {
                token: part * (u64::MAX / SEGMENT_PARTS + 1),
                bytes: KeyBytes::new(),
            })
        };
        match start(segment.at) {
            Some(first) => KeyRange {
                lower: Bound::Included(first),
                upper: start(segment.at + 1).map_or(Bound::Unbounded, Bound::Excluded),
            },
            None => KeyRange::of_token(0, KeyBytes::new(), Some(KeyBytes::new())),
        }
    }

    /// The range after (or, walking backwards, before) a key.
    pub fn starting_after(mut self, key: Key, forward: bool) -> KeyRange {
        if forward {
            self.lower = Bound::Excluded(key);
        } else {
            self.upper = Bound::Excluded(key);
        }
        self
    }

    /// A range without keys, at the start of this one.
    pub fn cleared(mut self) -> KeyRange {
        self.upper = match &self.lower {
            Bound::Included(lower) | Bound::Excluded(lower) => Bound::Excluded(lower.clone()),
            Bound::Unbounded => Bound::Excluded(Key {
                token: 0,
                bytes: KeyBytes::new(),
            }),
        };
        self
    }

    /// Whether it contains a key.
    pub fn contains(&self, key: &Key) -> bool {
        std::ops::RangeBounds::contains(&(self.lower.as_ref(), self.upper.as_ref()), key)
    }

    /// Whether it cannot contain a key: a `BTreeMap` panics on such a range.
    pub fn is_empty(&self) -> bool {
        match (&self.lower, &self.upper) {
            (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
            (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => {
                lower >= upper
            }
            _ => false,
        }
    }

    /// The highest token of a key that it can contain.
    pub fn last_token(&self) -> u64 {
        match &self.upper {
            Bound::Excluded(key) if key.bytes.is_empty() => key.token.saturating_sub(1),
            _ => self.tokens().1,
        }
    }

    /// The keys in both ranges.
    pub fn intersection(self, other: KeyRange) -> KeyRange {
        KeyRange {
            lower: tighter(self.lower, other.lower, Ordering::is_lt),
            upper: tighter(self.upper, other.upper, Ordering::is_gt),
        }
    }

    /// Compares the lower bounds of two ranges.
    pub fn compare_lower(&self, other: &KeyRange) -> Ordering {
        match (&self.lower, &other.lower) {
            (Bound::Unbounded, Bound::Unbounded) => Ordering::Equal,
            (Bound::Unbounded, _) => Ordering::Less,
            (_, Bound::Unbounded) => Ordering::Greater,
            (Bound::Included(left) | Bound::Excluded(left), Bound::Included(right) | Bound::Excluded(right)) => {
                let excluded = |range: &KeyRange| matches!(range.lower, Bound::Excluded(_));
                left.cmp(right).then(excluded(self).cmp(&excluded(other)))
            }
        }
    }

    /// Whether a key can be in both.
    pub fn overlaps(&self, other: &KeyRange) -> bool {
        !self.clone().intersection(other.clone()).is_empty()
    }

    /// The lowest and highest token of the range.
    pub fn tokens(&self) -> (u64, u64) {
        let token = |bound: &Bound<Key>, otherwise: u64| match bound {
            Bound::Included(key) | Bound::Excluded(key) => key.token,
            Bound::Unbounded => otherwise,
        };
        (token(&self.lower, 0), token(&self.upper, u64::MAX))
    }
}

/// The tighter of two bounds; `looser` is how a looser one compares with a tighter one.
fn tighter(one: Bound<Key>, two: Bound<Key>, looser: fn(Ordering) -> bool) -> Bound<Key> {
    match (&one, &two) {
        (Bound::Unbounded, _) => two,
        (_, Bound::Unbounded) => one,
        (Bound::Included(left) | Bound::Excluded(left), Bound::Included(right) | Bound::Excluded(right)) => {
            let order = left.cmp(right);
            if looser(order) || (order.is_eq() && matches!(two, Bound::Excluded(_))) {
                two
            } else {
                one
            }
        }
    }
}

/// One of the equal parts of the ring of tokens in a parallel scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The number of the part, from 0.
    pub at: u64,
    /// The total number of parts.
    pub total: u64,
}

impl Segment {
    pub const ALL: Segment = Segment { at: 0, total: 1 };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_bounds_are_in_the_order_of_their_first_keys() {
        let key = |token| Key {
            token,
            bytes: KeyBytes::new(),
        };
        let bounds = [
            Bound::Unbounded,
            Bound::Included(key(1)),
            Bound::Excluded(key(1)),
            Bound::Included(key(2)),
            Bound::Excluded(key(2)),
        ];
        let range = |lower: &Bound<Key>| KeyRange {
            lower: lower.clone(),
            upper: Bound::Unbounded,
        };
        for (at, left) in bounds.iter().enumerate() {
            for (other, right) in bounds.iter().enumerate() {
                assert_eq!(
                    range(left).compare_lower(&range(right)),
                    at.cmp(&other),
                    "{left:?} {right:?}"
                );
            }
        }
    }

    fn key(byte: u8) -> Key {
        Key {
            token: 0,
            bytes: KeyBytes::from_slice(&[byte]),
        }
    }

    /// The range between two bounds. `[` and `]` include a key, `(` and `)` exclude it, and a space means that there is
    /// no bound.
    fn range(text: &str) -> KeyRange {
        let bound = |sign: u8, at: u8| match sign {
            b'[' | b']' => Bound::Included(key(at)),
            b'(' | b')' => Bound::Excluded(key(at)),
            _ => Bound::Unbounded,
        };
        let [open, low, high, close] = *text.as_bytes() else {
            panic!("{text}");
        };
        KeyRange {
            lower: bound(open, low),
            upper: bound(close, high),
        }
    }

    #[test]
    fn an_intersection_has_the_tighter_bounds() {
        for (one, two, expect) in [
            ("[15]", "[26]", "[25]"),
            ("[15]", "[24]", "[24]"),
            ("[15]", "(15)", "(15)"),
            ("[15)", "(15]", "(15)"),
            ("(15]", "[24)", "[24)"),
            (" 15)", "[24 ", "[25)"),
            (" 15 ", " 24 ", " 00 "),
        ] {
            let expect = range(expect);
            assert_eq!(range(one).intersection(range(two)), expect, "{one} and {two}");
            assert_eq!(range(two).intersection(range(one)), expect, "{two} and {one}");
        }
    }

    #[test]
    fn a_segment_begins_at_the_first_part_of_its_share() {
        let first = |at, total| KeyRange::of_segment(Segment { at, total }).tokens().0 >> 52;
        assert_eq!([0, 1, 2].map(|at| first(at, 3)), [0, 1366, 2731]);
        assert_eq!([0, 1, 2, 3].map(|at| first(at, 4)), [0, 1024, 2048, 3072]);
        assert_eq!(first(4095, 4096), 4095);
    }

    #[test]
    fn a_range_is_empty_without_a_key_between_its_bounds() {
        for (text, expect) in [
            ("[11]", false),
            ("[11)", true),
            ("(11]", true),
            ("(11)", true),
            ("[12)", false),
            ("[21]", true),
            (" 21]", false),
            ("[21 ", false),
        ] {
            assert_eq!(range(text).is_empty(), expect, "{text}");
        }
    }

    #[test]
    fn the_last_token_of_a_range_is_one_that_it_can_contain() {
        let upper = |token, bytes: &[u8]| Key {
            token,
            bytes: KeyBytes::from_slice(bytes),
        };
        for (bound, expect) in [
            (Bound::Unbounded, u64::MAX),
            (Bound::Excluded(upper(7, b"")), 6),
            (Bound::Excluded(upper(0, b"")), 0),
            (Bound::Excluded(upper(7, b"a")), 7),
            (Bound::Included(upper(7, b"")), 7),
        ] {
            let range = KeyRange {
                lower: Bound::Unbounded,
                upper: bound,
            };
            assert_eq!(range.last_token(), expect, "{range:?}");
        }
        let whole = KeyRange::of_token(5, KeyBytes::new(), None);
        assert_eq!((whole.tokens().0, whole.last_token()), (5, 5));
    }

    #[test]
    fn segments_cover_the_ring_and_do_not_overlap() {
        for total in [1u64, 2, 3, 7, 4096, 10_000] {
            let segments = (0..total).map(|at| KeyRange::of_segment(Segment { at, total }));
            let segments: Vec<KeyRange> = segments.collect();
            for token in [0, 1, u64::MAX / 3, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX] {
                let key = Key {
                    token,
                    bytes: KeyBytes::from_slice(b"a"),
                };
                let holders = segments.iter().filter(|range| range.contains(&key));
                assert_eq!(holders.count(), 1, "{token} of {total}");
            }
        }
    }
}
