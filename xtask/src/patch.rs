//! Replaces code in a copy of the engine's source. Code is found by its tokens, so formatting,
//! comments and trailing commas make no difference.

use std::fs;
use std::iter;
use std::ops::Range;
use std::path::Path;

use ra_ap_rustc_lexer::{FrontmatterAllowed, TokenKind, tokenize};

use crate::shell::Outcome;

/// Replaces the one place that has the tokens of `right` by `wrong`. It is an error if there is no such
/// place or more than one. Trailing commas are ignored, so `right` must not end in one.
pub fn replaced(text: &str, right: &str, wrong: &str) -> Outcome<String> {
    let (source, wanted) = (tokens(text), tokens(right));
    let is_place = |found: &&[Range<usize>]| {
        let found = found.iter().map(|token| &text[token.clone()]);
        found.eq(wanted.iter().map(|token| &right[token.clone()]))
    };
    // `windows` panics if its size is 0.
    let places: Vec<&[Range<usize>]> = source.windows(wanted.len().max(1)).filter(is_place).collect();
    match places.as_slice() {
        [[first, .., last]] => Ok([&text[..first.start], wrong, &text[last.end..]].concat()),
        [[only]] => Ok([&text[..only.start], wrong, &text[only.end..]].concat()),
        places => Err(format!("the text to replace occurs {} times: {right}", places.len())),
    }
}

/// Copies a folder; `contents` returns what a file of the copy contains.
pub fn copy(from: &Path, to: &Path, contents: &dyn Fn(&Path) -> Outcome<Vec<u8>>) -> Outcome<()> {
    let failed = |error| format!("{}: {error}", from.display());
    fs::create_dir_all(to).map_err(failed)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &target, contents)?;
        } else {
            write(&target, &contents(&path)?)?;
        }
    }
    Ok(())
}

pub fn read(path: &Path) -> Outcome<Vec<u8>> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a file if its contents differ, so that cargo builds only what changes.
pub fn write(path: &Path, bytes: &[u8]) -> Outcome<()> {
    if fs::read(path).ok().as_deref() == Some(bytes) {
        return Ok(());
    }
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// The positions of the tokens, without comments and trailing commas.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut end = 0;
    let all: Vec<(TokenKind, Range<usize>)> = tokenize(text, FrontmatterAllowed::No)
        .map(|token| {
            let start = end;
            end += token.len as usize;
            (token.kind, start..end)
        })
        .filter(|(kind, _)| {
            let is_comment = matches!(kind, TokenKind::LineComment { .. } | TokenKind::BlockComment { .. });
            !is_comment && *kind != TokenKind::Whitespace
        })
        .collect();
    let next = all.iter().skip(1).map(|(kind, _)| Some(kind)).chain(iter::once(None));
    all.iter()
        .zip(next)
        .filter(|((kind, _), next)| {
            let closes = matches!(
                next,
                Some(TokenKind::CloseParen | TokenKind::CloseBrace | TokenKind::CloseBracket)
            );
            *kind != TokenKind::Comma || !closes
        })
        .map(|((_, range), _)| range.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatting_makes_no_difference() {
        let text = "fn f() {\n    call(\n        'a', // first\n        \"b  c\",\n    );\n}\n";
        let patched = replaced(text, "call('a', \"b  c\")", "other()");
        assert_eq!(patched.as_deref(), Ok("fn f() {\n    other();\n}\n"));
        assert_eq!(replaced("a b", "b", "c").as_deref(), Ok("a c"));
        // Code with unbalanced delimiters, such as the beginning of a statement.
        assert_eq!(
            replaced("if a {\n b; }", "if a { b", "c; { b").as_deref(),
            Ok("c; { b; }")
        );
    }

    #[test]
    fn a_piece_must_occur_once() {
        for (text, right) in [
            ("a; a;", "a;"),
            ("ab", "a"),
            ("a", ""),
            ("", "a"),
            ("\"b c\"", "\"b  c\""),
        ] {
            assert!(replaced(text, right, "").is_err(), "{text} {right}");
        }
    }
}
