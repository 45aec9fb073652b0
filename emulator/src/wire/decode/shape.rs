//! Decodes structures, lists and maps, from the table of members that a structure declares.

use compact_str::CompactString;

use super::scalar::UNEXPECTED_OBJECT;
use super::{DecodeStop, Decoder, Read, ReadMember, StructureShape, ValuePosition};
use crate::sort;
use crate::wire::reader::Token;

/// The package of the service's classes.
pub(super) const PACKAGE: &str = "com.amazonaws.dynamodb.v20120810.";
/// A scalar where a structure, list or map is expected as a member.
pub(super) const NOT_A_FIELD: &str = "Unexpected field type";
/// A scalar where a structure is expected as an element.
const NOT_AN_ELEMENT: &str = "Unexpected value type in payload";
/// A scalar where a list or map is expected as an element.
const CAST: &str = "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module java.base of loader 'bootstrap')";

/// The maximum number of structures of a list that are stored. The longest lists of structures have 100.
const MOST_STRUCTURES: usize = 1000;

fn stop(text: &'static str) -> DecodeStop {
    DecodeStop::Mismatch(text.into())
}

impl Decoder<'_> {
    /// Reads the members of an object.
    pub(super) fn members(&mut self, member: &mut ReadMember<'_>) -> Read<()> {
        self.reader.enter()?;
        let mut first = true;
        while let Some(name) = self.reader.member(first)? {
            first = false;
            member(self, &name)?;
        }
        Ok(())
    }

    /// A member that is a structure.
    pub(super) fn structure<S: StructureShape>(&mut self) -> Read<S::Into> {
        self.structure_at::<S>(ValuePosition::Member)
    }

    pub(super) fn structure_at<S: StructureShape>(&mut self, place: ValuePosition) -> Read<S::Into> {
        let mut into = S::Into::default();
        self.structure_members(place, S::CLASS, &mut |decoder, name| {
            S::member(&mut into, name, decoder)
        })?;
        Ok(into)
    }

    /// Reads the members of a structure of a class.
    fn structure_members(&mut self, place: ValuePosition, class: &str, member: &mut ReadMember<'_>) -> Read<()> {
        self.expect_structure(place, class)?;
        self.members(member)
    }

    pub(super) fn expect_structure(&mut self, place: ValuePosition, class: &str) -> Read<()> {
        match (self.reader.peek()?, place) {
            (Token::Object, _) => Ok(()),
            (Token::List, _) => Err(DecodeStop::Mismatch(
                format!("Unrecognized collection type class {PACKAGE}{class}").into(),
            )),
            (_, ValuePosition::Member) => Err(stop(NOT_A_FIELD)),
            (_, ValuePosition::Element) => Err(stop(NOT_AN_ELEMENT)),
        }
    }

    /// A list; a null in it is a structure without members.
    pub(super) fn list<T: Default>(
        &mut self,
        place: ValuePosition,
        element: impl FnMut(&mut Self) -> Read<T>,
    ) -> Read<Vec<T>> {
        self.list_or(place, T::default, element)
    }

    /// A list; a null in it becomes what `absent` returns.
    pub(super) fn list_or<T>(
        &mut self,
        place: ValuePosition,
        mut absent: impl FnMut() -> T,
        mut element: impl FnMut(&mut Self) -> Read<T>,
    ) -> Read<Vec<T>> {
        let mut list = Vec::new();
        self.elements(place, &mut |decoder| {
            list.push(decoder.optional(&mut element)?.unwrap_or_else(&mut absent));
            Ok(())
        })?;
        Ok(list)
    }

    /// Iterates over a list; `element` reads each element, including nulls.
    fn elements(&mut self, place: ValuePosition, element: &mut dyn FnMut(&mut Self) -> Read<()>) -> Read<()> {
        match (self.reader.peek()?, place) {
            (Token::List, _) => {}
            (Token::Object, _) => return Err(stop(UNEXPECTED_OBJECT)),
            (_, ValuePosition::Member) => return Err(stop(NOT_A_FIELD)),
            (_, ValuePosition::Element) => return Err(stop(CAST)),
        }
        self.reader.enter()?;
        let mut first = true;
        while self.reader.element(first)? {
            first = false;
            element(self)?;
        }
        Ok(())
    }

    /// A list of structures. All are read, but only a limited number is kept: far more than any such list may have, and
    /// few enough that `{},{},…` cannot fill the memory with structures hundreds of times its own size.
    pub(super) fn structures<S: StructureShape>(
        &mut self,
        place: ValuePosition,
        mut then: impl FnMut(&mut Self, &mut S::Into),
    ) -> Read<Vec<S::Into>> {
        let mut kept = Vec::new();
        self.elements(place, &mut |decoder| {
            let mut structure = S::Into::default();
            if !decoder.reader.null()? {
                decoder.structure_members(ValuePosition::Element, S::CLASS, &mut |decoder, name| {
                    S::member(&mut structure, name, decoder)
                })?;
            }
            then(decoder, &mut structure);
            if kept.len() < MOST_STRUCTURES {
                kept.push(structure);
            }
            Ok(())
        })?;
        Ok(kept)
    }

    /// A member that is a list of structures.
    pub(super) fn structure_list<S: StructureShape>(&mut self) -> Read<Vec<S::Into>> {
        self.structures::<S>(ValuePosition::Member, |_, _| {})
    }

    pub(super) fn texts(&mut self) -> Read<Vec<CompactString>> {
        self.list(ValuePosition::Member, Decoder::text)
    }

    /// A map, in the order sent; `value_class` is the service's name of its values.
    pub(super) fn map<T: Default>(
        &mut self,
        value_class: &str,
        mut value: impl FnMut(&mut Self) -> Read<T>,
    ) -> Read<Vec<(CompactString, T)>> {
        self.expect_map(ValuePosition::Member, value_class)?;
        self.reader.enter()?;
        let mut map = Vec::new();
        while let Some(name) = self.reader.member(map.is_empty())? {
            let value = self.optional(&mut value)?.unwrap_or_default();
            make_room(&mut map);
            map.push((CompactString::from(name), value));
        }
        Ok(last_of_equals(map))
    }

    pub(super) fn expect_map(&mut self, place: ValuePosition, value_class: &str) -> Read<()> {
        match (self.reader.peek()?, place) {
            (Token::Object, _) => Ok(()),
            (Token::List, _) => Err(DecodeStop::Mismatch(
                format!("Unrecognized collection type java.util.Map<java.lang.String, {value_class}>").into(),
            )),
            (_, ValuePosition::Member) => Err(stop(NOT_A_FIELD)),
            (_, ValuePosition::Element) => Err(stop(CAST)),
        }
    }
}

/// Makes room for the first few entries at once, with fewer instructions than a vector that grows.
#[inline]
pub(super) fn make_room<T>(entries: &mut Vec<T>) {
    if entries.capacity() == 0 {
        *entries = Vec::with_capacity(4);
    }
}

/// Drops each entry whose name occurs again.
pub(super) fn last_of_equals<T>(mut map: Vec<(CompactString, T)>) -> Vec<(CompactString, T)> {
    let repeats = |(at, (name, _)): (usize, &(CompactString, T))| map[..at].iter().any(|(other, _)| other == name);
    if map.len() <= 8 && !map.iter().enumerate().any(repeats) {
        return map;
    }
    let mut order: Vec<usize> = (0..map.len()).collect();
    sort::sort_by(&mut order, |left, right| map[*left].0.cmp(&map[*right].0)); // stable: equals stay in the order sent
    let mut dropped: Vec<usize> = order
        .windows(2)
        .filter(|pair| map[pair[0]].0 == map[pair[1]].0)
        .map(|pair| pair[0])
        .collect();
    if !dropped.is_empty() {
        sort::sort(&mut dropped);
        let mut at = 0;
        map.retain(|_| {
            at += 1;
            dropped.binary_search(&(at - 1)).is_err()
        });
    }
    map
}

/// Declares structures: each member's name on the wire, its field, and its decoder.
macro_rules! structures {
    ($($shape:ty => $into:ty, $class:literal { $($wire:literal => $($member:ident).+ = $read:expr,)* })*) => {
        $(
            impl $crate::wire::decode::StructureShape for $shape {
                type Into = $into;
                const CLASS: &'static str = $class;

                fn member(
                    into: &mut Self::Into,
                    name: &str,
                    decoder: &mut $crate::wire::decode::Decoder<'_>,
                ) -> $crate::wire::decode::Read<()> {
                    match name {
                        $($wire => decoder.field(&mut into.$($member).+, $read)?,)*
                        _ => decoder.reader.skip()?,
                    }
                    Ok(())
                }
            }
        )*
    };
}

/// Declares structures that have the members of another one, and a class of their own.
macro_rules! aliases {
    ($($alias:ident of $shape:ty, $class:literal;)*) => {
        $(
            struct $alias;

            impl $crate::wire::decode::StructureShape for $alias {
                type Into = <$shape as $crate::wire::decode::StructureShape>::Into;
                const CLASS: &'static str = $class;

                fn member(
                    into: &mut Self::Into,
                    name: &str,
                    decoder: &mut $crate::wire::decode::Decoder<'_>,
                ) -> $crate::wire::decode::Read<()> {
                    <$shape as $crate::wire::decode::StructureShape>::member(into, name, decoder)
                }
            }
        )*
    };
}

/// Declares how the bodies of operations are read that have some of the members of another one's, and pass over the rest.
macro_rules! narrowed {
    ($($(#[$doc:meta])* $name:ident of $shape:ty, $class:literal: $($wire:literal),*;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub struct $name(pub $shape);

            impl $crate::wire::decode::StructureShape for $name {
                type Into = $shape;
                const CLASS: &'static str = $class;

                fn member(
                    into: &mut $shape,
                    name: &str,
                    decoder: &mut $crate::wire::decode::Decoder<'_>,
                ) -> $crate::wire::decode::Read<()> {
                    match name {
                        $($wire)|* => <$shape as $crate::wire::decode::StructureShape>::member(into, name, decoder),
                        _ => Ok(decoder.reader.skip()?),
                    }
                }
            }

            impl $crate::wire::decode::Decode for $name {
                fn decode(body: &[u8]) -> Result<$name, $crate::error::ApiError> {
                    $crate::wire::decode::decode::<$name>(body, NO_VALUES).map($name)
                }
            }
        )*
    };
}

/// Declares which layer judges the values of a request.
macro_rules! requests {
    ($($request:ty: $layer:expr,)*) => {
        $(
            impl $crate::wire::decode::Decode for $request {
                fn decode(body: &[u8]) -> Result<Self, $crate::error::ApiError> {
                    $crate::wire::decode::decode::<Self>(body, $layer)
                }
            }
        )*
    };
}

pub(super) use {aliases, narrowed, requests, structures};

#[cfg(test)]
mod tests {
    use super::*;

    /// Of equal names the last counts, in maps of any size.
    #[test]
    fn the_last_of_equal_names_counts() {
        for size in [2, 8, 9, 20] {
            for (first, second) in [(0, 1), (0, size - 1), (size - 2, size - 1)] {
                let name = |at: usize| CompactString::from(format!("n{}", if at == second { first } else { at }));
                let map = (0..size).map(|at| (name(at), at)).collect();
                let mut left: Vec<usize> = last_of_equals(map).into_iter().map(|(_, at)| at).collect();
                left.sort_unstable();
                let expected: Vec<usize> = (0..size).filter(|at| *at != first).collect();
                assert_eq!(left, expected, "{size} names, {first} and {second} are equal");
            }
        }
    }

    #[test]
    fn the_last_of_each_name_counts() {
        for (size, different) in [(3, 1), (8, 3), (9, 1), (9, 4), (20, 7)] {
            let map = (0..size).map(|at| (CompactString::from(format!("n{}", at % different)), at));
            let left: Vec<usize> = last_of_equals(map.collect()).into_iter().map(|(_, at)| at).collect();
            let expected: Vec<usize> = (size - different..size).collect();
            assert_eq!(left, expected, "{size} entries with {different} names");
        }
    }
}
