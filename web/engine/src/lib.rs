//! The engine for the playground: requests and nothing else, so that the module is small. The page does the rest through the
//! control API.

use dynatwin_engine::http::{Delivery, HttpRequest};
use dynatwin_engine::{Clock, Conditions, Engine, Moment, Settings};
use js_sys::{Array, Function, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;

/// An engine on a settable clock.
#[wasm_bindgen(js_name = Engine)]
pub struct PageEngine {
    engine: Engine,
}

#[wasm_bindgen(js_class = Engine)]
impl PageEngine {
    /// An engine without tables, which records requests. `moment` is in milliseconds since 1970.
    #[wasm_bindgen(constructor)]
    pub fn new(seed: f64, moment: f64) -> PageEngine {
        let engine = Engine::new(Settings {
            clock: Clock::settable(Moment::from_micros((moment * 1000.0) as i64)),
            seed: seed as u64,
            conditions: Conditions::CALM,
            shared_db: false,
        });
        engine.watch(true);
        PageEngine { engine }
    }

    /// Handles an HTTP request; `headers` are names and values in turn. Returns `[status, headers, body, at, delivery, bytes]`:
    /// `at` is when the answer arrives, in milliseconds since 1970, and `bytes` is how much arrives of a truncated one.
    pub fn handle(&self, method: &str, path: &str, headers: Vec<String>, body: &[u8]) -> Array {
        let mut words = headers.into_iter();
        let mut headers = Vec::with_capacity(words.len() / 2);
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            headers.push((name, value));
        }
        let answer = self.engine.handle(&HttpRequest {
            method,
            target: path,
            headers: &headers,
            body,
        });
        let sent: Array = answer
            .headers
            .iter()
            .flat_map(|(name, value)| [JsValue::from(name), JsValue::from(value)])
            .collect();
        let (delivery, bytes) = match answer.delivery {
            Delivery::Whole => ("whole", 0),
            Delivery::Truncated(bytes) => ("truncated", bytes),
            Delivery::Reset => ("reset", 0),
            Delivery::Lost => ("lost", 0),
        };
        let parts: [JsValue; 6] = [
            answer.status.into(),
            sent.into(),
            Uint8Array::from(answer.body.as_slice()).into(),
            (answer.at.micros() as f64 / 1000.0).into(),
            delivery.into(),
            (bytes as f64).into(),
        ];
        parts.into_iter().collect()
    }
}

/// Prints panics to the browser's console: the trap that ends the call has no message.
#[wasm_bindgen(start)]
fn start() {
    std::panic::set_hook(Box::new(|panic| {
        let console = Reflect::get(&js_sys::global(), &"console".into()).unwrap_or_default();
        let error = Reflect::get(&console, &"error".into()).unwrap_or_default();
        if let Some(error) = error.dyn_ref::<Function>() {
            let _ = error.call1(&console, &format!("Dynatwin has failed: {panic}").into());
        }
    }));
}
