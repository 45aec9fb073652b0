//! A fuzzer's input is a readable history: one request per line, `Operation {"its": "body"}`. A line `+ 60` advances
//! the clock by 60 seconds. An operation's name is not validated, so unknown ones are tried as well.

mod mutate;

use std::time::Duration;

use dynatwin_engine::api::{Service, service_of};
use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};

pub use mutate::{POLICY, REQUEST, Vocabulary, mutate};

/// The maximum number of lines that are run: errors in longer histories are found by shorter ones, and sooner.
const MAX_LINES: usize = 24;

/// Runs a history on a fresh twin, and panics if an answer is not well-formed.
pub fn run(input: &[u8]) {
    let conditions = match input.first() {
        Some(b'!') => Conditions::STORM,
        Some(b'~') => Conditions::AWS,
        _ => Conditions::CALM,
    };
    let engine = Engine::new(Settings {
        clock: Clock::settable(Moment::START),
        seed: 1,
        conditions,
        shared_db: false,
    });
    let input = input.strip_prefix(b"!").or(input.strip_prefix(b"~")).unwrap_or(input);
    for line in input.split(|byte| *byte == b'\n').take(MAX_LINES) {
        step(&engine, line);
    }
    engine.run_due();
    every_table_can_be_read(&engine);
}

fn caller() -> Caller {
    Caller {
        access_key: "fuzz".into(),
        region: "us-east-1".into(),
    }
}

fn step(engine: &Engine, line: &[u8]) {
    let at = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
    let (name, body) = line.split_at(at);
    let body = body.strip_prefix(b" ").unwrap_or(body);
    if name == b"+" {
        let seconds = std::str::from_utf8(body)
            .ok()
            .and_then(|text| text.trim().parse::<u32>().ok());
        engine.advance(Duration::from_secs(seconds.unwrap_or(1).into()));
        return;
    }
    send(engine, &target(&String::from_utf8_lossy(name)), body);
}

/// Returns the `X-Amz-Target` of an operation.
fn target(name: &str) -> String {
    match service_of(name) {
        Service::Streams => format!("DynamoDBStreams_20120810.{name}"),
        Service::DynamoDb => format!("DynamoDB_20120810.{name}"),
    }
}

/// Operations that answer with an empty body, as the service does.
const WITHOUT_BODY: [&str; 2] = ["DynamoDB_20120810.TagResource", "DynamoDB_20120810.UntagResource"];

fn send(engine: &Engine, target: &str, body: &[u8]) -> serde_json::Value {
    let answer = engine.dispatch(&caller(), target, body);
    let text = String::from_utf8_lossy(&answer.body);
    assert!(
        [200, 400, 500, 503].contains(&answer.status),
        "{target}: status {}: {text}",
        answer.status
    );
    if answer.status == 200 && WITHOUT_BODY.contains(&target) {
        assert_eq!(text, "", "{target}");
        return serde_json::Value::Null;
    }
    let value: serde_json::Value = match serde_json::from_slice(&answer.body) {
        Ok(value) => value,
        Err(error) => panic!("{target}: {error} in {text}"),
    };
    assert!(value.is_object(), "{target}: {text}");
    assert_eq!(
        answer.status != 200,
        value["__type"].is_string(),
        "{target}: {} {text}",
        answer.status
    );
    value
}

/// Checks that all tables can be described and read completely.
fn every_table_can_be_read(engine: &Engine) {
    for table in engine.tables(&caller()) {
        let request = serde_json::json!({ "TableName": table });
        send(
            engine,
            "DynamoDB_20120810.DescribeTable",
            request.to_string().as_bytes(),
        );
        send(engine, "DynamoDB_20120810.Scan", request.to_string().as_bytes());
    }
}
