//! The service's error texts for values of the wrong JSON type.

use serde_json::Value;

use super::service::{Model, Place, Step};

const PACKAGE: &str = "com.amazonaws.dynamodb.v20120810.";
/// A scalar where a list or map is expected as an element.
const CAST: &str = "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module java.base of loader 'bootstrap')";

/// Returns the service's text for `value` where `shape` is expected (docs/behavior: 01 4.2 and 4.3); nothing if it is
/// accepted.
pub fn mismatch(model: &Model, place: &Place<'_>, value: &Value) -> Option<String> {
    let shape = model.shape(place.shape());
    let is_member = matches!(place.steps.last(), Some(Step::Member(_)));
    let (word, class) = match shape["type"].as_str().unwrap() {
        "string" => ("String", "class java.lang.String"),
        "boolean" => ("Boolean", "class java.lang.Boolean"),
        "integer" => ("Integer", "class java.lang.Integer"),
        "long" => ("Long", "class java.lang.Long"),
        "double" => ("Double", "class java.lang.Double"),
        "timestamp" => ("Date", "class java.util.Date"),
        "blob" => ("", "class java.nio.ByteBuffer"),
        "list" => {
            return match value {
                Value::Array(_) => None,
                Value::Object(_) => Some("Start of structure or map found where not expected".into()),
                _ if is_member => Some("Unexpected field type".into()),
                _ => Some(CAST.into()),
            };
        }
        "map" => {
            return match value {
                Value::Object(_) => None,
                Value::Array(_) => {
                    let class = class_of(model, shape["value"].as_str().unwrap());
                    Some(format!(
                        "Unrecognized collection type java.util.Map<java.lang.String, {class}>"
                    ))
                }
                _ if is_member => Some("Unexpected field type".into()),
                _ => Some(CAST.into()),
            };
        }
        _ => {
            return match value {
                Value::Object(_) => None,
                Value::Array(_) => Some(format!("Unrecognized collection type class {PACKAGE}{}", place.shape())),
                _ if is_member => Some("Unexpected field type".into()),
                _ => Some("Unexpected value type in payload".into()),
            };
        }
    };
    let found = match value {
        Value::Array(_) => return Some(format!("Unrecognized collection type {class}")),
        Value::Object(_) => return Some("Start of structure or map found where not expected".into()),
        Value::String(_) if matches!(word, "String" | "") => return None,
        Value::String(_) if word == "Boolean" => return Some("Unexpected token received from parser".into()),
        _ if word.is_empty() => return Some("only base-64-encoded strings are convertible to bytes".into()),
        Value::Bool(_) if word == "Boolean" => return None,
        Value::Number(_) if matches!(word, "Integer" | "Long" | "Double" | "Date") => return None,
        Value::String(_) => "STRING_VALUE",
        Value::Bool(true) => "TRUE_VALUE",
        Value::Bool(false) => "FALSE_VALUE",
        Value::Number(number) if number.is_f64() => "DECIMAL_VALUE",
        _ => "NUMBER_VALUE",
    };
    Some(format!("{found} cannot be converted to {word}"))
}

fn class_of(model: &Model, name: &str) -> String {
    let shape = model.shape(name);
    match shape["type"].as_str().unwrap() {
        "structure" => format!("{PACKAGE}{name}"),
        "list" => format!("java.util.List<{}>", class_of(model, shape["member"].as_str().unwrap())),
        "string" => "java.lang.String".into(),
        other => panic!("a map to {other}"),
    }
}
