//! Writes the lines of an export in Ion.

use std::fmt::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dynatwin_engine::attributes::{AttributeValue, Map, Number};
use dynatwin_engine::transfers::Line;

/// Returns a line of an export: a version marker and a struct.
pub fn line(line: &Line) -> Vec<u8> {
    let mut out = String::from("$ion_1_0 {");
    match line {
        Line::Item(item) => {
            out.push_str("Item:");
            map(&mut out, &item.attributes());
        }
        Line::Change { at, keys, old, new } => {
            out.push_str("Record:{Keys:");
            map(&mut out, keys);
            // Writing to a String does not fail.
            let _ = write!(out, ",Metadata:{{WriteTimestampMicros:{}.}}", at.micros());
            for (name, image) in [("OldImage", old), ("NewImage", new)] {
                if let Some(image) = image {
                    let _ = write!(out, ",{name}:");
                    map(&mut out, &image.attributes());
                }
            }
            out.push('}');
        }
    }
    out.push_str("}\n");
    out.into_bytes()
}

fn map(out: &mut String, attributes: &Map) {
    sequence(out, ('{', '}'), attributes.iter(), |out, (name, value)| {
        symbol(out, name);
        out.push(':');
        typed(out, value);
    });
}

fn sequence<T>(
    out: &mut String,
    (open, close): (char, char),
    elements: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    out.push(open);
    for (at, element) in elements.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(out, element);
    }
    out.push(close);
}

/// Stored values have a limited depth, so this recursion is bounded.
fn typed(out: &mut String, value: &AttributeValue) {
    const BRACKETS: (char, char) = ('[', ']');
    match value {
        AttributeValue::S(text) => quoted(out, text, '"'),
        AttributeValue::N(number) => decimal(out, *number),
        AttributeValue::B(bytes) => blob(out, bytes),
        AttributeValue::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        AttributeValue::Null => out.push_str("null"),
        AttributeValue::L(list) => sequence(out, BRACKETS, list, typed),
        AttributeValue::M(attributes) => map(out, attributes),
        AttributeValue::Ss(set) => {
            out.push_str("$dynamodb_SS::");
            sequence(out, BRACKETS, set, |out, text| quoted(out, text, '"'));
        }
        AttributeValue::Ns(set) => {
            out.push_str("$dynamodb_NS::");
            sequence(out, BRACKETS, set, |out, number| decimal(out, *number));
        }
        AttributeValue::Bs(set) => {
            out.push_str("$dynamodb_BS::");
            sequence(out, BRACKETS, set, |out, bytes| blob(out, bytes));
        }
    }
}

/// Writes a decimal with a point; without one it would be an int.
fn decimal(out: &mut String, number: Number) {
    let text = number.to_string();
    out.push_str(&text);
    if !text.contains('.') {
        out.push('.');
    }
}

fn blob(out: &mut String, bytes: &[u8]) {
    out.push_str("{{");
    STANDARD.encode_string(bytes, out);
    out.push_str("}}");
}

/// Writes a field's name, quoted unless it is a plain identifier without another meaning.
fn symbol(out: &mut String, name: &str) {
    let plain = |(at, byte): (usize, u8)| {
        byte.is_ascii_alphabetic() || matches!(byte, b'_') || (at > 0 && byte.is_ascii_digit())
    };
    let is_word = !name.is_empty() && name.bytes().enumerate().all(plain);
    if is_word && !matches!(name, "null" | "true" | "false" | "nan") {
        out.push_str(name);
    } else {
        quoted(out, name, '\'');
    }
}

fn quoted(out: &mut String, text: &str, quote: char) {
    out.push(quote);
    for char in text.chars() {
        match char {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            char if char == quote => {
                out.push('\\');
                out.push(char);
            }
            char if char.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(char));
            }
            char => out.push(char),
        }
    }
    out.push(quote);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_are_in_base64() {
        for (bytes, expect) in [
            (&[][..], "{{}}"),
            (&[0xfb, 0xff], "{{+/8=}}"),
            (&[0xff, 0xff, 0xfe], "{{///+}}"),
            (&[1], "{{AQ==}}"),
        ] {
            let mut out = String::new();
            blob(&mut out, bytes);
            assert_eq!(out, expect, "{bytes:?}");
        }
    }

    #[test]
    fn names_with_another_meaning_are_quoted() {
        for (name, expect) in [
            ("a", "a"),
            ("_a1", "_a1"),
            ("nans", "nans"),
            ("NaN", "NaN"),
            ("", "''"),
            ("1a", "'1a'"),
            ("a-b", "'a-b'"),
            ("$ion_1_0", "'$ion_1_0'"),
            ("null", "'null'"),
            ("true", "'true'"),
            ("false", "'false'"),
            ("nan", "'nan'"),
            ("é", "'é'"),
            ("it's \"\\", r#"'it\'s "\\'"#),
            ("\u{7f}\n\t\r", r"'\u007f\n\t\r'"),
        ] {
            let mut out = String::new();
            symbol(&mut out, name);
            assert_eq!(out, expect, "{name}");
        }
    }
}
