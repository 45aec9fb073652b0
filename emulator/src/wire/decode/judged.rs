//! Members on which nothing here depends: they are read for their types and their bounds alone, which are the model's.

use std::fmt::Display;

use super::{Decoder, Place, Read};
use crate::error::{Violations, constraint};
use crate::request::Validated;

/// What stands somewhere in such a member.
pub(super) enum Kind {
    /// `true` or `false`.
    Flag,
    /// A whole number of 32 bits.
    Integer,
    /// A whole number of 64 bits, from this one on.
    Long(i64),
    /// A number.
    Double,
    /// A text.
    Text,
    /// A name of 3 to 255 characters.
    Name,
    /// A text of so many characters, at least and at most, of a pattern.
    Pattern(usize, usize, &'static str, fn(char) -> bool),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of so many, at least and at most.
    List(&'static Kind, usize, usize),
    /// A structure.
    Structure(&'static Structure),
}

/// A structure: the name of its class, and its members.
pub(super) struct Structure {
    pub class: &'static str,
    pub members: &'static [Member],
}

/// A member: its name, whether it has to be there, and what it is.
pub(super) struct Member(pub &'static str, pub bool, pub &'static Kind);

impl Decoder<'_> {
    /// Reads a member and says what is wrong about it, `path` being its own.
    pub(super) fn judged(&mut self, kind: &'static Kind, path: &str) -> Read<Violations> {
        let mut faults = Violations::new();
        self.judge(kind, Place::Member, path, &mut faults)?;
        Ok(faults)
    }

    /// The same, and then reads it for what is kept of it.
    pub(super) fn judged_and<T>(
        &mut self,
        kind: &'static Kind,
        path: &str,
        read: impl FnOnce(&mut Self) -> Read<T>,
    ) -> Read<Validated<T>> {
        let before = self.reader;
        let faults = self.judged(kind, path)?;
        self.reader = before;
        let kept = read(self)?;
        Ok(Validated { kept, faults })
    }

    fn judge(&mut self, kind: &'static Kind, place: Place, path: &str, faults: &mut Violations) -> Read<()> {
        match kind {
            Kind::Flag => self.boolean().map(drop),
            Kind::Integer => self.integer().map(drop),
            Kind::Double => self.double().map(drop),
            Kind::Text => self.text().map(drop),
            Kind::Long(least) => {
                let number = self.long()?;
                if number < *least {
                    faults.value(number, path, constraint::min_value(*least));
                }
                Ok(())
            }
            Kind::Name => {
                faults.name(&self.text()?, path);
                Ok(())
            }
            Kind::Pattern(least, most, pattern, allowed) => {
                let text = self.text()?;
                if !text.chars().all(allowed) {
                    faults.value(&text, path, constraint::pattern(pattern));
                }
                length(faults, text.chars().count(), (*least, *most), &text, path);
                Ok(())
            }
            Kind::Word(words) => {
                let text = self.text()?;
                if !words.contains(&text.as_str()) {
                    let set = format!("[{}]", words.join(", "));
                    faults.value(text, path, constraint::one_of(&set));
                }
                Ok(())
            }
            Kind::List(element, least, most) => {
                let mut count = 0;
                self.list(place, |decoder| {
                    count += 1;
                    decoder.judge(element, Place::Element, &format!("{path}.{count}.member"), faults)
                })?;
                let shown = if count == 0 { "[]" } else { "[…]" };
                length(faults, count, (*least, *most), shown, path);
                Ok(())
            }
            Kind::Structure(structure) => self.judge_members(structure, place, path, faults),
        }
    }

    fn judge_members(
        &mut self,
        structure: &'static Structure,
        place: Place,
        path: &str,
        faults: &mut Violations,
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
            let read = self.optional(|decoder| decoder.judge(kind, Place::Member, &path, faults))?;
            there[at] |= read.is_some();
        }
        for (member, there) in structure.members.iter().zip(there) {
            if member.1 && !there {
                faults.missing(format_args!("{path}.{}", lowered(member.0)));
            }
        }
        Ok(())
    }
}

fn length(faults: &mut Violations, count: usize, (least, most): (usize, usize), shown: impl Display, path: &str) {
    if count < least {
        faults.value(&shown, path, constraint::min_length(least));
    }
    if count > most {
        faults.value(shown, path, constraint::max_length(most));
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
