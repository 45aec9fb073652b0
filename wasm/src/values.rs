//! Converts the engine's values to JavaScript. Items have the form of the AWS SDK's `AttributeValue`: numbers as text,
//! binary as `Uint8Array`.

use dynatwin_engine::Moment;
use dynatwin_engine::attributes::{AttributeValue, Map};
use js_sys::{Array, Object, Reflect, Uint8Array};
use wasm_bindgen::JsValue;

/// Sets a member of a newly created object, which cannot fail.
pub fn set(object: &Object, name: &str, value: impl Into<JsValue>) {
    let _ = Reflect::set(object, &name.into(), &value.into());
}

/// Converts a moment to milliseconds since 1970.
pub fn milliseconds(moment: Moment) -> f64 {
    moment.micros() as f64 / 1000.0
}

/// Converts an item, or the content of an `M`.
pub fn map(map: &Map) -> Object {
    let object = Object::new();
    for (name, value) in map {
        set(&object, name, attribute(value));
    }
    object
}

/// Converts a value to an object with one member, named by its type.
pub fn attribute(value: &AttributeValue) -> Object {
    let inside: JsValue = match value {
        AttributeValue::S(text) => text.as_str().into(),
        AttributeValue::N(number) => number.to_string().into(),
        AttributeValue::B(bytes) => binary(bytes),
        AttributeValue::Bool(truth) => (*truth).into(),
        AttributeValue::Null => true.into(),
        AttributeValue::L(list) => list
            .iter()
            .map(|value| JsValue::from(attribute(value)))
            .collect::<Array>()
            .into(),
        AttributeValue::M(inner) => map(inner).into(),
        AttributeValue::Ss(texts) => texts
            .iter()
            .map(|text| JsValue::from(text.as_str()))
            .collect::<Array>()
            .into(),
        AttributeValue::Ns(numbers) => numbers
            .iter()
            .map(|number| JsValue::from(number.to_string()))
            .collect::<Array>()
            .into(),
        AttributeValue::Bs(blobs) => blobs.iter().map(|bytes| binary(bytes)).collect::<Array>().into(),
    };
    let object = Object::new();
    set(&object, value.type_name(), inside);
    object
}

fn binary(bytes: &[u8]) -> JsValue {
    Uint8Array::from(bytes).into()
}
