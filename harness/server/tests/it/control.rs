//! The controls over a socket: their effects, their errors, and the refusal of web pages.

mod clock;
mod conditions;
mod faults;
mod http;
mod requests;
mod state;
mod tables;

use crate::support::twin::Twin;
use serde_json::{Value, json};

/// A step: method and path, body, status, and the expected content of the answer (an object's members, at any depth;
/// otherwise the whole answer).
type Step = (&'static str, Value, u16, Value);

/// Returns whether `answer` contains everything in `expect`.
fn has(answer: &Value, expect: &Value) -> bool {
    match (answer, expect) {
        (Value::Object(answer), Value::Object(expect)) => expect
            .iter()
            .all(|(name, expect)| answer.get(name).is_some_and(|answer| has(answer, expect))),
        (Value::Array(answer), Value::Array(expect)) => {
            answer.len() == expect.len() && answer.iter().zip(expect).all(|(answer, expect)| has(answer, expect))
        }
        (Value::Number(answer), Value::Number(expect)) => answer.as_f64() == expect.as_f64(),
        _ => answer == expect,
    }
}

fn run(twin: &mut Twin, steps: Vec<Step>) {
    for (request, body, status, expect) in steps {
        let (method, path) = request.split_once(' ').unwrap();
        let (found, answer) = twin.control(method, path, (!body.is_null()).then_some(&body));
        assert!(
            found == status && has(&answer, &expect),
            "{request} {body}: {found} {answer}, and not {status} {expect}"
        );
    }
}

fn error(sentence: &str) -> Value {
    json!({ "error": sentence })
}

fn nothing() -> Value {
    Value::Null
}
