//! Wildcard patterns: `*` for any number of characters, `?` for one.

/// One position of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternElement {
    Exact(char),
    /// The pattern `?`: any one character.
    One,
    /// Any number of characters, none included.
    Many,
}

/// The pattern_elements of a text in which `*` and `?` are wildcards.
pub(super) fn pattern_elements(text: &str) -> Vec<PatternElement> {
    text.chars().map(wildcard).collect()
}

/// The element of a character of a pattern.
pub(super) fn wildcard(char: char) -> PatternElement {
    match char {
        '*' => PatternElement::Many,
        '?' => PatternElement::One,
        char => PatternElement::Exact(char),
    }
}

/// Whether a text matches a pattern. Backtracks only to the latest `*`, so the time is bounded by the product of the lengths.
pub(super) fn matches(pattern: &[PatternElement], text: &str, ignore_case: bool) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut read) = (0, 0);
    // Where to resume if the rest after the latest `*` does not match: the star then covers one more character.
    let mut resume: Option<(usize, usize)> = None;
    while read < text.len() {
        match pattern.get(at) {
            Some(PatternElement::Many) => {
                resume = Some((at + 1, read));
                at += 1;
            }
            Some(element) if fits(*element, text[read], ignore_case) => {
                at += 1;
                read += 1;
            }
            _ => match &mut resume {
                Some((after, taken)) => {
                    *taken += 1;
                    (at, read) = (*after, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|element| *element == PatternElement::Many)
}

fn fits(element: PatternElement, char: char, ignore_case: bool) -> bool {
    match element {
        PatternElement::One | PatternElement::Many => true,
        PatternElement::Exact(expected) => expected == char || ignore_case && char_eq_ignoring_case(expected, char),
    }
}

/// Whether two characters differ at most in case.
fn char_eq_ignoring_case(one: char, other: char) -> bool {
    one.eq_ignore_ascii_case(&other) || one.to_lowercase().eq(other.to_lowercase())
}

/// Whether two texts differ at most in case.
pub(super) fn eq_ignoring_case(one: &str, other: &str) -> bool {
    one.chars().count() == other.chars().count()
        && one.chars().zip(other.chars()).all(|(a, b)| char_eq_ignoring_case(a, b))
}

/// The parts of an ARN pattern: the elements between its first five colons, and the rest. Without five colons there are
/// fewer parts.
pub(super) fn arn_parts(pattern: &[PatternElement]) -> Vec<&[PatternElement]> {
    pattern
        .splitn(6, |element| *element == PatternElement::Exact(':'))
        .collect()
}

/// Whether an ARN matches a pattern part by part: no wildcard crosses one of the first five colons.
pub(super) fn matches_arn(pattern: &[PatternElement], arn: &str) -> bool {
    if pattern == [PatternElement::Many] {
        return true;
    }
    let (pattern, arn): (Vec<_>, Vec<&str>) = (arn_parts(pattern), arn.splitn(6, ':').collect());
    pattern.len() == 6 && arn.len() == 6 && pattern.iter().zip(&arn).all(|(part, text)| matches(part, text, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards() {
        for (pattern, text, expect) in [
            ("*", "", true),
            ("*", "GetItem", true),
            ("?", "", false),
            ("Get*", "GetItem", true),
            ("*Item", "GetItem", true),
            ("*Ite", "GetItem", false),
            ("G?t*m", "GetItem", true),
            ("Get*m*m", "GetItem", false),
            ("*e*e*", "GetItem", true),
            ("", "", true),
            ("a**b", "ab", true),
            ("ä?", "äö", true),
        ] {
            assert_eq!(
                matches(&pattern_elements(pattern), text, false),
                expect,
                "{pattern} {text}"
            );
        }
        for (one, other, expect) in [
            ("Ann", "aNN", true),
            ("Ann", "Anne", false),
            ("Ann", "An", false),
            ("Ärger", "äRGER", true),
            ("Ärger", "Arger", false),
            ("", "", true),
        ] {
            assert_eq!(eq_ignoring_case(one, other), expect, "{one} {other}");
            assert_eq!(matches(&pattern_elements(one), other, true), expect, "{one} {other}");
            assert_eq!(
                matches(&pattern_elements(one), other, false),
                one == other,
                "{one} {other}"
            );
        }
        assert!(matches(&pattern_elements("get*"), "GetItem", true));
        assert!(!matches(&pattern_elements("get*"), "GetItem", false));
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        let pattern = pattern_elements(&"a*".repeat(2000));
        assert!(!matches(&pattern, &format!("{}b", "a".repeat(1000)), false));
    }

    #[test]
    fn wildcards_stay_in_their_part_of_an_arn() {
        for (pattern, arn, expect) in [
            ("*", "anything", true),
            ("arn:aws:dynamodb:*:*:table/T", "arn:aws:dynamodb:r:1:table/T", true),
            ("arn:aws:dynamodb:*:table/T", "arn:aws:dynamodb:r:1:table/T", false),
            ("arn:*", "arn:aws:dynamodb:r:1:table/T", false),
            ("arn:*:*:*:*:*", "arn:aws:dynamodb:r:1:table/T", true),
            ("arn:*:*:*:*:*", "arn:aws:dynamodb", false),
            ("*:*:*:*:*:*", "", false),
            ("arn:aws:dynamodb::1:table/T", "arn:aws:dynamodb:r:1:table/T", false),
            ("arn:aws:dynamodb:r:1:TABLE/T", "arn:aws:dynamodb:r:1:table/T", false),
            (
                "arn:aws:dynamodb:*:*:*",
                "arn:aws:dynamodb:r:1:table/T/stream/2026-01-01T00:00:00.000",
                true,
            ),
            (
                "arn:aws:dynamodb:?:1:table/T/index/*",
                "arn:aws:dynamodb:r:1:table/T/index/a/b",
                true,
            ),
            (
                "arn:aws:dynamodb:r:1:table/T",
                "arn:aws:dynamodb:r:1:table/T/index/i",
                false,
            ),
        ] {
            assert_eq!(matches_arn(&pattern_elements(pattern), arn), expect, "{pattern} {arn}");
        }
    }
}
