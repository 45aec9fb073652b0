//! JSON texts of documents.

use std::path::Path;

use crate::document::{self, Node, Value};
use crate::error::Error;
use crate::read::{UTF_16_ADVICE, is_utf_16};

/// The JSON of a text that is YAML if its file is named so, and JSON otherwise. A number with leading zeros becomes a string.
///
/// ```
/// let json = dynatwin_seed::to_json("x.yaml", "Version: 2012-10-17\nActions: [a, 5, true]").unwrap();
/// assert_eq!(json, r#"{"Version":"2012-10-17","Actions":["a",5,true]}"#);
/// assert!(dynatwin_seed::to_json("x.json", "Version: 2012-10-17").is_err());
/// ```
pub fn to_json(file: &str, text: &str) -> Result<String, Error> {
    let extension = Path::new(file)
        .extension()
        .map(|extension| extension.to_string_lossy().to_lowercase());
    let yaml = matches!(extension.as_deref(), Some("yaml" | "yml"));
    let node = if yaml {
        document::yaml(text)
    } else {
        document::json(text)
    };
    let node = node.map_err(|problem| problem.of_file(file))?;
    let mut json = String::new();
    write(&node, &mut json);
    Ok(json)
}

/// Decodes the text of a file, which must be UTF-8, and removes its byte order mark.
///
/// ```
/// assert_eq!(dynatwin_seed::decode_text("x.yaml", "\u{feff}a: 1".into()).unwrap(), "a: 1");
/// let error = dynatwin_seed::decode_text("x.yaml", vec![0xff, 0xfe, b'a', 0]).unwrap_err();
/// assert!(error.to_string().starts_with("x.yaml: the file is in UTF-16"));
/// ```
pub fn decode_text(file: &str, bytes: Vec<u8>) -> Result<String, Error> {
    if is_utf_16(&bytes) {
        return Err(Error::new(file, UTF_16_ADVICE));
    }
    let text = String::from_utf8(bytes).map_err(|error| Error::new(file, error.utf8_error().to_string()))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

fn write(node: &Node, json: &mut String) {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    match &node.value {
        Value::Null => json.push_str("null"),
        Value::Bool(flag) => json.push_str(if *flag { "true" } else { "false" }),
        Value::Number(digits) => match number(digits) {
            Some(number) => json.push_str(&number),
            None => json.push_str(&text(digits)),
        },
        Value::String(string) => json.push_str(&text(string)),
        Value::Array(elements) => {
            json.push('[');
            for (at, element) in elements.iter().enumerate() {
                if at > 0 {
                    json.push(',');
                }
                write(element, json);
            }
            json.push(']');
        }
        Value::Object(members) => {
            json.push('{');
            for (at, (name, member)) in members.iter().enumerate() {
                if at > 0 {
                    json.push(',');
                }
                json.push_str(&text(name));
                json.push(':');
                write(member, json);
            }
            json.push('}');
        }
    }
}

/// A number of YAML as JSON; `None` if it has leading zeros, as the number of an account can, which only a string keeps.
pub(crate) fn number(digits: &str) -> Option<String> {
    let (sign, rest) = match digits.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", digits),
    };
    let (mantissa, exponent) = rest.split_at(rest.find(['e', 'E']).unwrap_or(rest.len()));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.len() > 1 && whole.starts_with('0') {
        return None;
    }
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if fraction.is_empty() { "" } else { "." };
    Some([sign, whole, point, fraction, exponent].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// YAML's numbers have forms that JSON's do not have. One with leading zeros, such as an account id, keeps them as a string.
    #[test]
    fn numbers_of_yaml_are_valid_json() {
        for (yaml, json) in [
            ("0", "0"),
            ("-0", "-0"),
            ("10.50", "10.50"),
            ("+5", "5"),
            (".5", "0.5"),
            ("-.5e3", "-0.5e3"),
            ("5.", "5"),
            ("5.e-3", "5e-3"),
            ("0.0", "0.0"),
            ("0E+7", "0E+7"),
            ("007", r#""007""#),
            ("-007", r#""-007""#),
            ("00.5", r#""00.5""#),
            ("012345678901", r#""012345678901""#),
            ("123456789012", "123456789012"),
        ] {
            let found = to_json("x.yaml", &format!("a: {yaml}")).unwrap();
            assert_eq!(found, format!(r#"{{"a":{json}}}"#), "{yaml}");
            assert!(serde_json::from_str::<serde_json::Value>(&found).is_ok(), "{found}");
        }
    }

    #[test]
    fn texts_are_escaped() {
        let text = r#"{"a\"b": "c\\d\n\"", "é": [1.50, 1e3, null, false, true, {}, [], [1, 2], {"b": 1, "c": true}]}"#;
        let same: serde_json::Value = serde_json::from_str(text).unwrap();
        for file in ["x.json", "x.yaml", "x.YML", "x"] {
            let json = to_json(file, text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(&json).unwrap(),
                same,
                "{file}: {json}"
            );
            assert!(json.contains("1.50") && json.contains("1e3"), "{file}: {json}");
        }
    }

    /// Only a file that is named so is YAML.
    #[test]
    fn yaml_is_known_by_its_name() {
        for (file, is_yaml) in [
            ("x.yaml", true),
            ("x.yml", true),
            ("a/x.json.YAML", true),
            ("x.json", false),
            ("x.yaml.json", false),
            ("yaml", false),
            ("x", false),
        ] {
            assert_eq!(to_json(file, "a: [b]").is_ok(), is_yaml, "{file}");
            assert_eq!(
                to_json(file, r#"{"a": true}"#).as_deref(),
                Ok(r#"{"a":true}"#),
                "{file}"
            );
        }
    }

    /// A text is in UTF-8, with or without a byte order mark, which only its beginning can have.
    #[test]
    fn texts_are_in_utf_8() {
        for (bytes, text) in [
            (&b""[..], ""),
            ("é".as_bytes(), "é"),
            ("\u{feff}".as_bytes(), ""),
            ("\u{feff}a".as_bytes(), "a"),
            ("a\u{feff}".as_bytes(), "a\u{feff}"),
            ("\u{feff}\u{feff}a".as_bytes(), "\u{feff}a"),
        ] {
            assert_eq!(decode_text("x", bytes.to_vec()).as_deref(), Ok(text), "{bytes:?}");
        }
        for bytes in [&b"\xff\xfea\0"[..], b"\xfe\xff\0a", b"\xff\xfe", b"\xfe\xff"] {
            let error = decode_text("x", bytes.to_vec()).unwrap_err();
            assert_eq!(error.message(), UTF_16_ADVICE, "{bytes:?}");
        }
        for bytes in [&b"a\xff"[..], b"\xff", b"\xfe", b"\xef\xbb"] {
            let error = decode_text("x", bytes.to_vec()).unwrap_err().to_string();
            assert!(!error.contains("UTF-16"), "{bytes:?}: {error}");
        }
    }
}
