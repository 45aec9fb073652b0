//! An [`Answer`] as a JavaScript object, whose members `npm/src/types.ts` describes.

use dynatwin_engine::http::{Answer, Delivery, StillDelay};
use js_sys::{Object, Uint8Array};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

use crate::values::milliseconds;

/// Each member has its own setter, which JavaScript engines compile to a store. Converting their names and setting them by name took
/// 3 µs of the 7 µs of a GetItem.
#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(extends = Object)]
    type AnswerObject;

    #[wasm_bindgen(method, setter)]
    fn set_status(this: &AnswerObject, status: u16);
    #[wasm_bindgen(method, setter)]
    fn set_headers(this: &AnswerObject, headers: &Headers);
    #[wasm_bindgen(method, setter)]
    fn set_body(this: &AnswerObject, body: Uint8Array);
    #[wasm_bindgen(method, setter)]
    fn set_at(this: &AnswerObject, at: f64);
    #[wasm_bindgen(method, setter)]
    fn set_still(this: &AnswerObject, still: &StillObject);
    #[wasm_bindgen(method, setter)]
    fn set_delivery(this: &AnswerObject, delivery: &DeliveryObject);
    #[wasm_bindgen(method, setter)]
    fn set_note(this: &AnswerObject, note: &str);

    #[wasm_bindgen(extends = Object)]
    type Headers;

    #[wasm_bindgen(method, indexing_setter)]
    fn set(this: &Headers, name: &str, value: &str);

    #[wasm_bindgen(extends = Object)]
    type StillObject;

    #[wasm_bindgen(method, setter)]
    fn set_held(this: &StillObject, held: f64);
    #[wasm_bindgen(method, setter)]
    fn set_latency(this: &StillObject, latency: f64);

    #[wasm_bindgen(extends = Object)]
    type DeliveryObject;

    #[wasm_bindgen(method, setter)]
    fn set_kind(this: &DeliveryObject, kind: &str);
    #[wasm_bindgen(method, setter)]
    fn set_bytes(this: &DeliveryObject, bytes: f64);
}

/// Returns `{ status, headers, body, at, still, delivery, note }`; `still` and `note` are omitted if they are empty.
pub fn object(answer: &Answer) -> Object {
    let headers: Headers = Object::new().unchecked_into();
    for (name, value) in answer.headers.iter() {
        headers.set(name, value);
    }
    let object: AnswerObject = Object::new().unchecked_into();
    object.set_status(answer.status);
    object.set_headers(&headers);
    object.set_body(Uint8Array::from(answer.body.as_slice()));
    object.set_at(milliseconds(answer.at));
    if answer.still != StillDelay::default() {
        let still: StillObject = Object::new().unchecked_into();
        still.set_held(answer.still.held.as_secs_f64() * 1000.0);
        still.set_latency(answer.still.latency.as_secs_f64() * 1000.0);
        object.set_still(&still);
    }
    object.set_delivery(&delivery(answer.delivery));
    if let Some(note) = &answer.note {
        object.set_note(note);
    }
    object.into()
}

/// Returns `{ kind }`, and for a truncated delivery also `bytes`.
fn delivery(delivery: Delivery) -> DeliveryObject {
    let object: DeliveryObject = Object::new().unchecked_into();
    object.set_kind(match delivery {
        Delivery::Whole => "whole",
        Delivery::Truncated(_) => "truncated",
        Delivery::Reset => "reset",
        Delivery::Lost => "lost",
    });
    if let Delivery::Truncated(bytes) = delivery {
        object.set_bytes(bytes as f64);
    }
    object
}
