//! JSON texts of documents.

use std::path::Path;

use crate::document::{self, Node, Value};
use crate::error::Error;

/// The JSON of a text that is YAML if its file is named so, and JSON otherwise.
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

fn write(node: &Node, json: &mut String) {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    match &node.value {
        Value::Null => json.push_str("null"),
        Value::Bool(flag) => json.push_str(if *flag { "true" } else { "false" }),
        Value::Number(digits) => json.push_str(digits),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        let text = r#"{"a\"b": "c\\d\n\"", "é": [1.50, 1e3, null, false, {}, []]}"#;
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
}
