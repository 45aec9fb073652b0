//! The engine for JavaScript: one class over [`dynatwin_engine::Engine`]. A control is a request to `handle`, unless it is
//! part of serving requests (the clock, recording) or exchanges items and snapshots. The package in `npm/` provides the public API
//! and delivers answers (delays, lost connections), as every transport does.

mod answer;
mod heap;
mod options;
mod snapshot;
mod spent;
mod values;

use dynatwin_engine::http::HttpRequest;
use dynatwin_engine::{Caller, Clock, Engine, Moment, Settings};
use heap::Heap;
use js_sys::{Array, Function, Object, Reflect};
use snapshot::Snapshot;
use wasm_bindgen::prelude::*;

/// Errors become a JavaScript `Error` with a plain sentence.
type Outcome<T> = Result<T, JsError>;

/// The engine as `npm/src/twin.ts` uses it.
#[wasm_bindgen(js_name = Engine)]
pub struct JsEngine {
    engine: Engine,
    heap: Heap,
}

#[wasm_bindgen(js_class = Engine)]
impl JsEngine {
    /// Creates an engine without tables; `conditions` and `clock` are JSON of the forms that `npm/src/types.ts` describes.
    #[wasm_bindgen(constructor)]
    pub fn new(seed: u64, conditions: &str, clock: &str, shared_tables: bool) -> Outcome<JsEngine> {
        let settings = Settings {
            clock: options::clock(clock)?,
            seed,
            conditions: options::conditions(conditions)?,
            shared_db: shared_tables,
        };
        Ok(JsEngine {
            engine: Engine::new(settings),
            heap: Heap::default(),
        })
    }

    /// Handles one request without the HTTP envelope.
    pub fn dispatch(&self, target: &str, body: &[u8], access_key: &str, region: &str) -> Object {
        let answer = answer::object(&self.engine.dispatch(&caller(access_key, region), target, body));
        self.heap.grow_ahead();
        answer
    }

    /// Handles one request with its HTTP envelope; `headers` alternates names and values.
    pub fn handle(&self, method: &str, path: &str, headers: Vec<String>, body: &[u8]) -> Object {
        let mut words = headers.into_iter();
        let mut headers = Vec::with_capacity(words.len() / 2);
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            headers.push((name, value));
        }
        let answer = answer::object(&self.engine.handle(&HttpRequest {
            method,
            target: path,
            headers: &headers,
            body,
        }));
        self.heap.grow_ahead();
        answer
    }

    /// Returns the clock's moment in milliseconds since 1970.
    pub fn now(&self) -> f64 {
        values::milliseconds(self.engine.clock().now())
    }

    /// Advances the clock, and applies due work.
    pub fn advance(&self, seconds: f64) -> Outcome<()> {
        self.engine.clock().advance(options::seconds("advance", seconds)?);
        self.engine.run_due();
        Ok(())
    }

    /// Sets the clock to a moment such as `2026-01-01T00:00:00Z`, and applies due work.
    pub fn set(&self, moment: &str) -> Outcome<()> {
        if !self.engine.clock().set(options::moment(moment)?) {
            let now = self.engine.clock().now();
            return Err(options::refusal(&format!(
                "The clock cannot go back: it is {now}, which is after {moment}."
            )));
        }
        self.engine.run_due();
        Ok(())
    }

    /// Advances a clock that stands still, as a sleep does; does nothing on a running or frozen clock.
    pub fn sleep(&self, milliseconds: f64) -> Outcome<()> {
        let length = options::seconds("sleep", milliseconds / 1000.0)?;
        if self.is_settable() && !self.is_frozen() {
            self.engine.clock().advance(length);
        }
        Ok(())
    }

    /// Stops time: only `advance` and `set` change it.
    pub fn freeze(&self) {
        self.engine.clock().freeze();
    }

    /// Lets a frozen clock continue from where it stood.
    pub fn unfreeze(&self) {
        self.engine.clock().unfreeze();
    }

    /// Whether time is stopped by `freeze`.
    #[wasm_bindgen(js_name = isFrozen)]
    pub fn is_frozen(&self) -> bool {
        self.engine.clock().is_frozen()
    }

    /// Whether the clock stands still until it is advanced.
    #[wasm_bindgen(js_name = isSettable)]
    pub fn is_settable(&self) -> bool {
        self.engine.clock().is_settable()
    }

    /// The clock's seconds per real second; 0 if it stands still.
    pub fn speed(&self) -> f64 {
        self.engine.clock().speed().unwrap_or(0.0)
    }

    /// Returns the seed of random decisions.
    pub fn seed(&self) -> u64 {
        self.engine.seed()
    }

    /// Starts or stops recording requests.
    pub fn watch(&self, watches: bool) {
        self.engine.watch(watches);
    }

    /// Whether requests, counters and heat are recorded.
    #[wasm_bindgen(js_name = isWatched)]
    pub fn is_watched(&self) -> bool {
        self.engine.is_watched()
    }

    /// Returns the capacity that a caller's tables and their global indexes have consumed while requests were recorded.
    pub fn spent(&self, access_key: &str, region: &str) -> Array {
        let spent = self.engine.spent(&caller(access_key, region));
        spent.iter().map(|spent| JsValue::from(spent::object(spent))).collect()
    }

    /// Returns the tables with all their settings and data, the conditions and the clock's moment. Fault rules and
    /// recorded requests are not part of it.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.engine.snapshot())
    }

    /// Resets the twin, and then restores a snapshot of it or of another twin.
    pub fn restore(&self, snapshot: &Snapshot) -> Outcome<()> {
        let restored = self.engine.restore(&snapshot.0);
        self.heap.grow_ahead();
        restored.map_err(|error| options::refusal(&error.to_string()))
    }

    /// Returns the names of a caller's tables.
    pub fn tables(&self, access_key: &str, region: &str) -> Vec<String> {
        self.engine.tables(&caller(access_key, region))
    }

    /// Returns all items of a table, as the SDK's `AttributeValue`s; `undefined` if the table does not exist.
    pub fn items(&self, access_key: &str, region: &str, table: &str) -> JsValue {
        match self.engine.items(&caller(access_key, region), table) {
            Some(items) => items
                .iter()
                .map(|item| JsValue::from(values::map(&item.attributes())))
                .collect::<Array>()
                .into(),
            None => JsValue::UNDEFINED,
        }
    }

    /// Returns the moment of the next due work, in milliseconds since 1970; `undefined` if there is none.
    #[wasm_bindgen(js_name = nextDue)]
    pub fn next_due(&self) -> Option<f64> {
        let due = self.engine.next_due();
        (due != Moment::NEVER).then(|| values::milliseconds(due))
    }

    /// Applies all work that is due at the clock's moment.
    #[wasm_bindgen(js_name = runDue)]
    pub fn run_due(&self) {
        self.engine.run_due();
    }
}

/// A panic ends a request as a trap without a message, so the message is printed to the console.
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

fn caller(access_key: &str, region: &str) -> Caller {
    Caller {
        access_key: access_key.into(),
        region: region.into(),
    }
}

/// Returns the real time, from JavaScript, because wasm has no clock.
fn world() -> Moment {
    Moment::from_micros((js_sys::Date::now() * 1000.0) as i64)
}

/// Returns a running clock, from another moment or at another speed if given.
fn running(start: Option<Moment>, speed: Option<f64>) -> Clock {
    match (start, speed) {
        (None, None) => Clock::system(world),
        (start, speed) => Clock::accelerated(world, start.unwrap_or_else(world), speed.unwrap_or(1.0)),
    }
}
