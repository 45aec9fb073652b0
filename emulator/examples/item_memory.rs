//! Prints how much memory an item takes: resident bytes for each item of a table, before and after each was read.
//!
//! `cargo run --release -p dynatwin-engine --example item_memory [ITEMS]`; the default is 200,000 items. Needs `/proc`.

use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};

const CREATE: &str = r#"{"TableName":"items","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]}"#;

fn engine() -> Engine {
    Engine::new(Settings {
        clock: Clock::settable(Moment::START),
        seed: 1,
        conditions: Conditions::CALM,
        shared_db: false,
    })
}

/// The resident set, in bytes.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split_whitespace().nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0u64) * 4096
}

fn send(engine: &Engine, operation: &str, body: &str) {
    let caller = Caller {
        access_key: "memory".into(),
        region: "us-east-1".into(),
    };
    let answer = engine.dispatch(&caller, operation, body.as_bytes());
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
}

fn key(number: u64) -> String {
    format!(
        r#""pk":{{"S":"user#{:06}"}},"sk":{{"S":"order#{:04}"}}"#,
        number / 10,
        number % 10
    )
}

/// Fills a table with items of seven attributes, one of them a text of this length, and reads each. Returns the engine,
/// so that its memory is not reused by the next call.
fn measure(items: u64, text: usize) -> Engine {
    let engine = engine();
    send(&engine, "CreateTable", CREATE);
    let empty = resident();
    let item = |number: u64| {
        format!(
            r#"{{{},"amount":{{"N":"{}"}},"note":{{"S":"{}"}},"open":{{"BOOL":true}},"state":{{"S":"PLACED"}},"when":{{"S":"2026-11-22T07:00:00Z"}}}}"#,
            key(number),
            number * 7,
            "x".repeat(text),
        )
    };
    for number in 0..items {
        send(
            &engine,
            "PutItem",
            &format!(r#"{{"TableName":"items","Item":{}}}"#, item(number)),
        );
    }
    let written = resident().saturating_sub(empty) / items;
    for number in 0..items {
        send(
            &engine,
            "GetItem",
            &format!(r#"{{"TableName":"items","Key":{{{}}}}}"#, key(number)),
        );
    }
    let read = resident().saturating_sub(empty) / items;
    println!(
        "{items} items with {} bytes of JSON: {written} bytes resident each, {read} once read",
        item(0).len()
    );
    engine
}

fn main() {
    let items = std::env::args().nth(1).and_then(|items| items.parse().ok());
    let engines = [60, 900].map(|text| measure(items.unwrap_or(200_000), text));
    drop(engines);
}
