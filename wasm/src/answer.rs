//! An [`Answer`] as a JavaScript object, whose members `npm/src/types.ts` describes.

use dynatwin_engine::http::{Answer, Delivery, StillDelay};
use js_sys::{Object, Uint8Array};

use crate::values::{milliseconds, set};

/// Returns `{ status, headers, body, at, still, delivery, note }`; `still` and `note` are omitted if they are empty.
pub fn object(answer: &Answer) -> Object {
    let headers = Object::new();
    for (name, value) in &answer.headers {
        set(&headers, name, value.as_str());
    }
    let object = Object::new();
    set(&object, "status", answer.status);
    set(&object, "headers", headers);
    set(&object, "body", Uint8Array::from(answer.body.as_slice()));
    set(&object, "at", milliseconds(answer.at));
    if answer.still != StillDelay::default() {
        let still = Object::new();
        set(&still, "held", answer.still.held.as_secs_f64() * 1000.0);
        set(&still, "latency", answer.still.latency.as_secs_f64() * 1000.0);
        set(&object, "still", still);
    }
    set(&object, "delivery", delivery(answer.delivery));
    if let Some(note) = &answer.note {
        set(&object, "note", note.as_str());
    }
    object
}

/// Returns `{ kind }`, and for a truncated delivery also `bytes`.
pub fn delivery(delivery: Delivery) -> Object {
    let object = Object::new();
    let kind = match delivery {
        Delivery::Whole => "whole",
        Delivery::Truncated(_) => "truncated",
        Delivery::Reset => "reset",
        Delivery::Lost => "lost",
    };
    set(&object, "kind", kind);
    if let Delivery::Truncated(bytes) = delivery {
        set(&object, "bytes", bytes as f64);
    }
    object
}
