//! Validates members that the engine ignores: their types and bounds are those of the model.

use std::fmt::Display;

use super::{Decoder, Read, ValuePosition};
use crate::error::{Violations, constraint};
use crate::request::Validated;

/// The type of such a member.
pub(super) enum MemberType {
    Flag,
    /// A whole number of 32 bits.
    Integer,
    /// A whole number of 64 bits, from this one on.
    Long(i64),
    Double,
    Text,
    /// A name of 3 to 255 characters.
    Name,
    /// A text with a minimum and maximum of characters, matching a pattern.
    Pattern(usize, usize, &'static str, fn(char) -> bool),
    Word(&'static [&'static str]),
    /// A list with a minimum and maximum of elements.
    List(&'static MemberType, usize, usize),
    Structure(&'static MemberStructure),
}

/// A structure: the name of its class, and its members.
pub(super) struct MemberStructure {
    pub class: &'static str,
    pub members: &'static [Member],
}

/// A member: its name, whether it is required, and its type.
pub(super) struct Member(pub &'static str, pub bool, pub &'static MemberType);

impl Decoder<'_> {
    /// Checks a member and reports its violations under `path`.
    pub(super) fn validated(&mut self, kind: &'static MemberType, path: &str) -> Read<Violations> {
        let mut violations = Violations::new();
        self.validate(kind, ValuePosition::Member, path, &mut violations)?;
        Ok(violations)
    }

    /// Checks a member, and then decodes the part of it that is used.
    pub(super) fn validated_and<T>(
        &mut self,
        kind: &'static MemberType,
        path: &str,
        read: impl FnOnce(&mut Self) -> Read<T>,
    ) -> Read<Validated<T>> {
        let before = self.reader;
        let violations = self.validated(kind, path)?;
        self.reader = before;
        let kept = read(self)?;
        Ok(Validated { kept, violations })
    }

    fn validate(
        &mut self,
        kind: &'static MemberType,
        place: ValuePosition,
        path: &str,
        violations: &mut Violations,
    ) -> Read<()> {
        match kind {
            MemberType::Flag => self.boolean().map(drop),
            MemberType::Integer => self.integer().map(drop),
            MemberType::Double => self.double().map(drop),
            MemberType::Text => self.text().map(drop),
            MemberType::Long(least) => {
                let number = self.long()?;
                if number < *least {
                    violations.value(number, path, constraint::min_value(*least));
                }
                Ok(())
            }
            MemberType::Name => {
                violations.name(&self.text()?, path);
                Ok(())
            }
            MemberType::Pattern(least, most, pattern, allowed) => {
                let text = self.text()?;
                if !text.chars().all(allowed) {
                    violations.value(&text, path, constraint::pattern(pattern));
                }
                length(violations, text.chars().count(), (*least, *most), &text, path);
                Ok(())
            }
            MemberType::Word(words) => {
                let text = self.text()?;
                if !words.contains(&text.as_str()) {
                    let set = format!("[{}]", words.join(", "));
                    violations.value(text, path, constraint::one_of(&set));
                }
                Ok(())
            }
            MemberType::List(element, least, most) => {
                let mut count = 0;
                self.list(place, |decoder| {
                    count += 1;
                    decoder.validate(
                        element,
                        ValuePosition::Element,
                        &format!("{path}.{count}.member"),
                        violations,
                    )
                })?;
                let shown = if count == 0 { "[]" } else { "[…]" };
                length(violations, count, (*least, *most), shown, path);
                Ok(())
            }
            MemberType::Structure(structure) => self.validate_members(structure, place, path, violations),
        }
    }

    fn validate_members(
        &mut self,
        structure: &'static MemberStructure,
        place: ValuePosition,
        path: &str,
        violations: &mut Violations,
    ) -> Read<()> {
        self.expect_structure(place, structure.class)?;
        self.reader.enter()?;
        let mut there = vec![false; structure.members.len()];
        let mut first = true;
        while let Some(name) = self.reader.member(first)? {
            first = false;
            let Some(at) = structure.members.iter().position(|member| member.0 == name) else {
                self.reader.skip()?;
                continue;
            };
            let kind = structure.members[at].2;
            let path = format!("{path}.{}", lowered(&name));
            let read = self.optional(|decoder| decoder.validate(kind, ValuePosition::Member, &path, violations))?;
            there[at] |= read.is_some();
        }
        for (member, there) in structure.members.iter().zip(there) {
            if member.1 && !there {
                violations.missing(format_args!("{path}.{}", lowered(member.0)));
            }
        }
        Ok(())
    }
}

fn length(violations: &mut Violations, count: usize, (least, most): (usize, usize), shown: impl Display, path: &str) {
    if count < least {
        violations.value(&shown, path, constraint::min_length(least));
    }
    if count > most {
        violations.value(shown, path, constraint::max_length(most));
    }
}

/// A member's name as the framework's paths have it.
fn lowered(name: &str) -> String {
    let mut name = name.to_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    name
}
