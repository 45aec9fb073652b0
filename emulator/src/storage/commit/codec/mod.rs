//! The encoding of commits: a version, then each value in a fixed form, without names. It is compact, and decoded
//! strictly: every value has one encoding, and surplus, missing or unknown bytes are an error.
//!
//! | Value | Form |
//! |---|---|
//! | unsigned integer, length | LEB128 |
//! | signed integer, moment | LEB128, zigzag |
//! | text, bytes, list, map | length, then the content |
//! | option, enumeration | tag of one byte, then the content |
//! | item | its JSON on the wire |

mod item;
mod records;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;
use smallvec::{Array, SmallVec};

use super::{Commit, Mutation};
use crate::clock::Moment;
use crate::sorted::SortedMap;

/// The version of the encoding, which increases with every change of a value's form.
const VERSION: u8 = 3;

/// Bytes that are not the encoding of a commit.
///
/// ```
/// use dynatwin_engine::commits::Commit;
///
/// let error = Commit::decode(&[255]).unwrap_err();
/// assert_eq!(error.to_string(), "not a commit: its version is unknown");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError(&'static str);

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "not a commit: {}", self.0)
    }
}

impl std::error::Error for DecodeError {}

impl Commit {
    /// Appends the versioned binary encoding of the commit.
    pub fn encode(&self, out: &mut Vec<u8>) {
        encode_head(self, out);
        encode_mutations(&self.mutations, out);
    }

    /// Decodes one commit; trailing bytes and unknown versions are errors.
    pub fn decode(bytes: &[u8]) -> Result<Commit, DecodeError> {
        let mut input = Input(bytes);
        if input.byte()? != VERSION {
            return Err(DecodeError("its version is unknown"));
        }
        let commit = Commit {
            time: Binary::read(&mut input)?,
            origin: Binary::read(&mut input)?,
            sequence: Binary::read(&mut input)?,
            mutations: Binary::read(&mut input)?,
        };
        if input.0.is_empty() {
            Ok(commit)
        } else {
            Err(DecodeError("more follows"))
        }
    }
}

/// A commit whose mutations were encoded before the commit log was locked.
///
/// ```
/// use dynatwin_engine::commits::{Commit, EncodedCommit};
/// use dynatwin_engine::{Clock, Conditions, Engine, Moment, Settings};
///
/// let clock = Clock::settable(Moment::START);
/// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// let commit = engine.checkpoint().next().unwrap();
/// let (mut bytes, mut same) = (Vec::new(), Vec::new());
/// commit.encode(&mut bytes);
/// EncodedCommit::new(commit.clone()).encode(&mut same);
/// assert_eq!(same, bytes);
/// assert_eq!(Commit::decode(&bytes), Ok(commit));
/// ```
#[derive(Debug)]
pub struct EncodedCommit {
    commit: Commit,
    /// The encoding of the mutations.
    mutations: Vec<u8>,
}

impl EncodedCommit {
    /// Encodes the mutations of a commit.
    pub fn new(commit: Commit) -> EncodedCommit {
        let mut mutations = Vec::with_capacity(1024);
        encode_mutations(&commit.mutations, &mut mutations);
        EncodedCommit { commit, mutations }
    }

    /// Sets the position of the commit in the order of all commits.
    pub(super) fn set_sequence(&mut self, sequence: u64) {
        self.commit.sequence = sequence;
    }

    /// Appends the commit's encoding, as [`Commit::encode`] does.
    pub fn encode(&self, out: &mut Vec<u8>) {
        encode_head(&self.commit, out);
        out.extend_from_slice(&self.mutations);
    }
}

impl Deref for EncodedCommit {
    type Target = Commit;

    fn deref(&self) -> &Commit {
        &self.commit
    }
}

/// Appends the part of a commit's encoding before the mutations.
fn encode_head(commit: &Commit, out: &mut Vec<u8>) {
    out.push(VERSION);
    commit.time.write(out);
    commit.origin.write(out);
    commit.sequence.write(out);
}

fn encode_mutations(mutations: &[Mutation], out: &mut Vec<u8>) {
    write_all(mutations.iter(), out);
}

/// The rest of an encoding.
struct Input<'i>(&'i [u8]);

impl<'i> Input<'i> {
    fn byte(&mut self) -> Result<u8, DecodeError> {
        let (first, rest) = self.0.split_first().ok_or(DecodeError("its end is missing"))?;
        self.0 = rest;
        Ok(*first)
    }

    fn take(&mut self, length: usize) -> Result<&'i [u8], DecodeError> {
        let parts = self.0.split_at_checked(length);
        let (taken, rest) = parts.ok_or(DecodeError("its end is missing"))?;
        self.0 = rest;
        Ok(taken)
    }

    /// A length, or a number of elements of at least one byte each.
    fn length(&mut self) -> Result<usize, DecodeError> {
        let length = usize::read(self)?;
        if length > self.0.len() {
            return Err(DecodeError("its end is missing"));
        }
        Ok(length)
    }

    fn bytes(&mut self) -> Result<&'i [u8], DecodeError> {
        let length = self.length()?;
        self.take(length)
    }

    fn text(&mut self) -> Result<&'i str, DecodeError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| DecodeError("a text is not UTF-8"))
    }
}

/// A value with an encoding.
trait Binary: Sized {
    fn write(&self, out: &mut Vec<u8>);
    fn read(input: &mut Input<'_>) -> Result<Self, DecodeError>;
}

impl Binary for u64 {
    fn write(&self, out: &mut Vec<u8>) {
        let mut rest = *self;
        while rest >= 0x80 {
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        out.push(rest as u8);
    }

    fn read(input: &mut Input<'_>) -> Result<u64, DecodeError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = input.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                break;
            }
            value |= part << shift;
            if byte < 0x80 {
                if byte == 0 && shift > 0 {
                    return Err(DecodeError("a number is longer than it has to be"));
                }
                return Ok(value);
            }
        }
        Err(DecodeError("a number is too large"))
    }
}

impl Binary for i64 {
    fn write(&self, out: &mut Vec<u8>) {
        ((self << 1) ^ (self >> 63)).cast_unsigned().write(out);
    }

    fn read(input: &mut Input<'_>) -> Result<i64, DecodeError> {
        let value = u64::read(input)?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}

macro_rules! narrow {
    ($($type:ident)*) => { $(
        impl Binary for $type {
            fn write(&self, out: &mut Vec<u8>) {
                (*self as u64).write(out);
            }

            fn read(input: &mut Input<'_>) -> Result<$type, DecodeError> {
                $type::try_from(u64::read(input)?).map_err(|_| DecodeError("a number is too large"))
            }
        }
    )* };
}

narrow! { u32 usize }

impl Binary for bool {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn read(input: &mut Input<'_>) -> Result<bool, DecodeError> {
        match input.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(UNKNOWN),
        }
    }
}

/// A tag that this version does not have.
const UNKNOWN: DecodeError = DecodeError("a tag is unknown");

impl Binary for f64 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_bits().to_le_bytes());
    }

    fn read(input: &mut Input<'_>) -> Result<f64, DecodeError> {
        let bytes = input.take(8)?.first_chunk().copied().unwrap_or_default();
        let value = f64::from_bits(u64::from_le_bytes(bytes));
        if value.is_nan() {
            return Err(DecodeError("a share is not a number"));
        }
        Ok(value)
    }
}

impl Binary for f32 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_bits().to_le_bytes());
    }

    fn read(input: &mut Input<'_>) -> Result<f32, DecodeError> {
        let bytes = input.take(4)?.first_chunk().copied().unwrap_or_default();
        let value = f32::from_bits(u32::from_le_bytes(bytes));
        if !value.is_finite() {
            return Err(DecodeError("an element of a vector is not a number"));
        }
        Ok(value)
    }
}

impl Binary for Moment {
    fn write(&self, out: &mut Vec<u8>) {
        self.micros().write(out);
    }

    fn read(input: &mut Input<'_>) -> Result<Moment, DecodeError> {
        Ok(Moment::from_micros(i64::read(input)?))
    }
}

impl Binary for Duration {
    fn write(&self, out: &mut Vec<u8>) {
        self.as_secs().write(out);
        self.subsec_nanos().write(out);
    }

    fn read(input: &mut Input<'_>) -> Result<Duration, DecodeError> {
        let (seconds, nanos) = (u64::read(input)?, u32::read(input)?);
        if nanos >= 1_000_000_000 {
            return Err(DecodeError("a fraction of a second is too large"));
        }
        Ok(Duration::new(seconds, nanos))
    }
}

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    bytes.len().write(out);
    out.extend_from_slice(bytes);
}

impl Binary for String {
    fn write(&self, out: &mut Vec<u8>) {
        write_bytes(self.as_bytes(), out);
    }

    fn read(input: &mut Input<'_>) -> Result<String, DecodeError> {
        input.text().map(str::to_owned)
    }
}

impl Binary for CompactString {
    fn write(&self, out: &mut Vec<u8>) {
        write_bytes(self.as_bytes(), out);
    }

    fn read(input: &mut Input<'_>) -> Result<CompactString, DecodeError> {
        input.text().map(CompactString::new)
    }
}

impl Binary for Arc<str> {
    fn write(&self, out: &mut Vec<u8>) {
        write_bytes(self.as_bytes(), out);
    }

    fn read(input: &mut Input<'_>) -> Result<Arc<str>, DecodeError> {
        input.text().map(Arc::from)
    }
}

impl Binary for u8 {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }

    fn read(input: &mut Input<'_>) -> Result<u8, DecodeError> {
        input.byte()
    }
}

impl<T: Binary> Binary for Box<T> {
    fn write(&self, out: &mut Vec<u8>) {
        (**self).write(out);
    }

    fn read(input: &mut Input<'_>) -> Result<Box<T>, DecodeError> {
        T::read(input).map(Box::new)
    }
}

impl<T: Binary> Binary for Arc<T> {
    fn write(&self, out: &mut Vec<u8>) {
        (**self).write(out);
    }

    fn read(input: &mut Input<'_>) -> Result<Arc<T>, DecodeError> {
        T::read(input).map(Arc::new)
    }
}

impl<T: Binary> Binary for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        if let Some(value) = self {
            value.write(out);
        }
    }

    fn read(input: &mut Input<'_>) -> Result<Option<T>, DecodeError> {
        if bool::read(input)? {
            T::read(input).map(Some)
        } else {
            Ok(None)
        }
    }
}

impl<A: Binary, B: Binary> Binary for (A, B) {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
        self.1.write(out);
    }

    fn read(input: &mut Input<'_>) -> Result<(A, B), DecodeError> {
        Ok((A::read(input)?, B::read(input)?))
    }
}

impl<T: Binary + Copy + Default, const N: usize> Binary for [T; N] {
    fn write(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|value| value.write(out));
    }

    fn read(input: &mut Input<'_>) -> Result<[T; N], DecodeError> {
        let mut values = [T::default(); N];
        for value in &mut values {
            *value = T::read(input)?;
        }
        Ok(values)
    }
}

fn write_all<'v, T: Binary + 'v>(values: impl ExactSizeIterator<Item = &'v T>, out: &mut Vec<u8>) {
    values.len().write(out);
    values.for_each(|value| value.write(out));
}

/// The elements of a list. No memory is reserved for them, since a length may be invalid.
fn read_all<T: Binary, L: Default + Extend<T>>(input: &mut Input<'_>) -> Result<L, DecodeError> {
    let mut list = L::default();
    for _ in 0..input.length()? {
        list.extend([T::read(input)?]);
    }
    Ok(list)
}

impl<T: Binary> Binary for Vec<T> {
    fn write(&self, out: &mut Vec<u8>) {
        write_all(self.iter(), out);
    }

    fn read(input: &mut Input<'_>) -> Result<Vec<T>, DecodeError> {
        read_all(input)
    }
}

impl<T: Binary> Binary for VecDeque<T> {
    fn write(&self, out: &mut Vec<u8>) {
        write_all(self.iter(), out);
    }

    fn read(input: &mut Input<'_>) -> Result<VecDeque<T>, DecodeError> {
        read_all(input)
    }
}

impl<T: Binary, A: Array<Item = T>> Binary for SmallVec<A> {
    fn write(&self, out: &mut Vec<u8>) {
        write_all(self.iter(), out);
    }

    fn read(input: &mut Input<'_>) -> Result<SmallVec<A>, DecodeError> {
        read_all(input)
    }
}

fn write_map<'m, K: Binary + 'm, V: Binary + 'm>(
    entries: impl ExactSizeIterator<Item = (&'m K, &'m V)>,
    out: &mut Vec<u8>,
) {
    entries.len().write(out);
    for (key, value) in entries {
        key.write(out);
        value.write(out);
    }
}

/// The entries of a map, which must be in the order of their keys.
fn read_map<K: Binary + Ord, V: Binary>(input: &mut Input<'_>) -> Result<Vec<(K, V)>, DecodeError> {
    let mut entries: Vec<(K, V)> = Vec::new();
    for _ in 0..input.length()? {
        let key = K::read(input)?;
        if entries.last().is_some_and(|(last, _)| *last >= key) {
            return Err(DecodeError("a map is out of order"));
        }
        entries.push((key, V::read(input)?));
    }
    Ok(entries)
}

impl<K: Binary + Ord, V: Binary> Binary for BTreeMap<K, V> {
    fn write(&self, out: &mut Vec<u8>) {
        write_map(self.iter(), out);
    }

    fn read(input: &mut Input<'_>) -> Result<BTreeMap<K, V>, DecodeError> {
        Ok(read_map(input)?.into_iter().collect())
    }
}

impl<K: Binary + Ord, V: Binary> Binary for SortedMap<K, V> {
    fn write(&self, out: &mut Vec<u8>) {
        write_map(self.iter().map(|(key, value)| (key, value)), out);
    }

    fn read(input: &mut Input<'_>) -> Result<SortedMap<K, V>, DecodeError> {
        Ok(read_map(input)?.into_iter().collect())
    }
}

/// The encodings of structures: their fields in this order. A missing field does not compile.
macro_rules! structures {
    ($($type:ident $(<$of:ident>)? { $($field:ident)* })*) => { $(
        impl $(<$of: Binary>)? Binary for $type $(<$of>)? {
            fn write(&self, out: &mut Vec<u8>) {
                let $type { $($field),* } = self;
                $($field.write(out);)*
            }

            fn read(input: &mut Input<'_>) -> Result<Self, DecodeError> {
                $(let $field = Binary::read(input)?;)*
                Ok($type { $($field),* })
            }
        }
    )* };
}

/// The encodings of enumerations: a tag, then the fields of the variant. A missing variant does not compile.
macro_rules! enumerations {
    ($($type:ident { $($tag:literal $variant:ident $({ $($field:ident)* })? $(($inner:ident))?)* })*) => { $(
        impl Binary for $type {
            fn write(&self, out: &mut Vec<u8>) {
                match self {
                    $($type::$variant $({ $($field),* })? $(($inner))? => {
                        out.push($tag);
                        $($($field.write(out);)*)?
                        $($inner.write(out);)?
                    })*
                }
            }

            fn read(input: &mut Input<'_>) -> Result<$type, DecodeError> {
                match input.byte()? {
                    $($tag => {
                        $($(let $field = Binary::read(input)?;)*)?
                        $(let $inner = Binary::read(input)?;)?
                        Ok($type::$variant $({ $($field),* })? $(($inner))?)
                    })*
                    _ => Err(UNKNOWN),
                }
            }
        }
    )* };
}

use {enumerations, structures};

#[cfg(test)]
mod tests;
