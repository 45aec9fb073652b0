//! The bytes of a key.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// Bytes that fit inside a [`KeyBytes`]: with their length and the tag, 32.
const INSIDE: usize = 30;

/// An encoded key or a part of one. Most are short and stored inline: every entry of a partition and of an index
/// has one, so its size matters.
#[derive(Clone)]
pub struct KeyBytes(Storage);

#[derive(Clone)]
enum Storage {
    Inside { length: u8, bytes: [u8; INSIDE] },
    Outside(Vec<u8>),
}

impl KeyBytes {
    #[inline]
    pub const fn new() -> KeyBytes {
        KeyBytes(Storage::Inside {
            length: 0,
            bytes: [0; INSIDE],
        })
    }

    #[inline]
    pub fn from_slice(slice: &[u8]) -> KeyBytes {
        let mut bytes = KeyBytes::new();
        bytes.extend_from_slice(slice);
        bytes
    }

    #[inline]
    pub fn push(&mut self, byte: u8) {
        self.extend_from_slice(&[byte]);
    }

    #[inline]
    pub fn extend_from_slice(&mut self, more: &[u8]) {
        if let Storage::Inside { length, bytes } = &mut self.0 {
            let start = usize::from(*length);
            let end = start + more.len();
            if let Some(room) = bytes.get_mut(start..end) {
                room.copy_from_slice(more);
                *length = end as u8;
                return;
            }
        }
        self.extend_outside(more);
    }

    #[cold]
    fn cmp_slices(&self, other: &KeyBytes) -> Ordering {
        (**self).cmp(&**other)
    }

    #[cold]
    fn extend_outside(&mut self, more: &[u8]) {
        match &mut self.0 {
            Storage::Outside(bytes) => bytes.extend_from_slice(more),
            Storage::Inside { .. } => self.0 = Storage::Outside([&**self, more].concat()),
        }
    }
}

/// Eight bytes as a number with the same order.
#[inline]
fn word(bytes: &[u8; INSIDE], at: usize) -> u64 {
    let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
    u64::from_be_bytes(word.copied().unwrap_or_default())
}

impl Deref for KeyBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Storage::Inside { length, bytes } => &bytes[..usize::from(*length).min(INSIDE)],
            Storage::Outside(bytes) => bytes,
        }
    }
}

impl DerefMut for KeyBytes {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Storage::Inside { length, bytes } => &mut bytes[..usize::from(*length).min(INSIDE)],
            Storage::Outside(bytes) => bytes,
        }
    }
}

impl Default for KeyBytes {
    fn default() -> KeyBytes {
        KeyBytes::new()
    }
}

impl PartialEq for KeyBytes {
    #[inline]
    fn eq(&self, other: &KeyBytes) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for KeyBytes {}

impl PartialOrd for KeyBytes {
    #[inline]
    fn partial_cmp(&self, other: &KeyBytes) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for KeyBytes {
    #[inline]
    fn cmp(&self, other: &KeyBytes) -> Ordering {
        let (
            Storage::Inside { length, bytes },
            Storage::Inside {
                length: other_length,
                bytes: other,
            },
        ) = (&self.0, &other.0)
        else {
            return self.cmp_slices(other);
        };
        // The bytes are followed by zeros, so whole words can be compared; of two that differ only in trailing zeros
        // the shorter one is less.
        for at in [0, 8, 16, INSIDE - 8] {
            let (one, other) = (word(bytes, at), word(other, at));
            if one != other {
                return one.cmp(&other);
            }
        }
        length.cmp(other_length)
    }
}

impl Hash for KeyBytes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Debug for KeyBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_equal_their_source() {
        assert_eq!(size_of::<KeyBytes>(), 32);
        let all: Vec<u8> = (0..80).collect();
        for length in 0..80 {
            let at_once = KeyBytes::from_slice(&all[..length]);
            let mut one_by_one = KeyBytes::new();
            all[..length].iter().for_each(|byte| one_by_one.push(*byte));
            assert_eq!((&*at_once, &*one_by_one), (&all[..length], &all[..length]));
            assert_eq!(at_once, one_by_one);
            let mut longer = at_once.clone();
            longer.extend_from_slice(&all[..40]);
            assert_eq!(&*longer, [&all[..length], &all[..40]].concat());
            assert!(at_once < longer);
            for other in [&[0, 0][..], &[0, 1, 2, 3], &[0, 1, 0], &all[..length / 2], &all[1..]] {
                let expected = all[..length].cmp(other);
                assert_eq!(
                    at_once.cmp(&KeyBytes::from_slice(other)),
                    expected,
                    "{length} {other:?}"
                );
            }
        }
    }

    #[test]
    fn bytes_are_appended() {
        let mut bytes = KeyBytes::from_slice(b"ab");
        bytes.push(b'c');
        assert_eq!(&*bytes, b"abc");
        for length in [1, 3, INSIDE - 1, INSIDE, INSIDE + 1, 80] {
            let mut bytes = KeyBytes::from_slice(&vec![7; length]);
            assert_eq!(bytes.iter_mut().count(), length);
            *bytes.last_mut().unwrap() += 1;
            let mut expected = vec![7; length];
            expected[length - 1] = 8;
            assert_eq!(&*bytes, expected);
            assert!(bytes > KeyBytes::from_slice(&vec![7; length]));
        }
    }
}
