//! The cases of `tests/cases/*.json`: requests, and what the service answers to them.
//!
//! A file has `about`, `tables` (CreateTable requests), `items` (by table) and `cases`, and `capacity` if that is
//! `"enforced"`. Each case runs on a twin of its
//! own, set up so, after the requests of its `before`. It has a `name`, the `operation` and `request`, the `evidence` (the
//! page and section of `docs/behavior`, and the source mark), and one of
//! - `error`: the exception and its text, `ValidationException: …`;
//! - `answer`: the whole body of a success; `body`: the whole body of an error;
//! - `has`: what the body of a success has among other members.
//!
//! A case may have `conditions` (`calm` if it has none), an `item_collection_size` and a `region`. A step of `before` is an operation and its request,
//! and the region if it is another; `["$advance", 5]` moves the clock by so many seconds, and
//! `["$conditions", "aws"]` sets others.
//!
//! `{"$answer": [0, "/ShardIterator"]}` in a request, or in `has`, is what the answer to
//! the first step of `before` has there.
//!
//! After each case the state is compared with the fold of its commits, and with what a checkpoint of it makes.
//!
//! Long things are written short: `{"$text": ["k", 2049, "!", 1]}` is a text of texts and how often each comes,
//! `{"$list": [element, 101]}` a list in whose elements `$i` is the number, `{"$nest": 32}` a value of that many levels.
#![allow(clippy::unwrap_used)]

#[path = "common/commits.rs"]
mod commits;

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use commits::Recorder;
use dynatwin_engine::clock::{Clock, Moment};
use dynatwin_engine::conditions::Conditions;
use dynatwin_engine::engine::{Caller, Engine, Settings};
use serde_json::{Value, json};

/// What a short form stands for, and everything else as it is.
fn expand(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(expand).collect(),
        Value::Object(object) => match object.iter().next() {
            Some((form, of)) if form == "$text" => repeated(of.as_array().unwrap()).into(),
            Some((form, of)) if form == "$list" => {
                let element = of[0].to_string();
                let number = |at: u64| expand(&serde_json::from_str(&element.replace("$i", &at.to_string())).unwrap());
                (0..of[1].as_u64().unwrap()).map(number).collect()
            }
            Some((form, of)) if form == "$nest" => {
                (0..of.as_u64().unwrap()).fold(json!({"S": "deep"}), |inner, _| json!({"M": {"m": inner}}))
            }
            _ => object
                .iter()
                .map(|(name, value)| (name.clone(), expand(value)))
                .collect(),
        },
        other => other.clone(),
    }
}

/// A request with what it takes from earlier answers.
fn filled(request: &Value, answers: &[Value]) -> Value {
    match request {
        Value::Array(list) => list.iter().map(|each| filled(each, answers)).collect(),
        Value::Object(object) => match object.get("$answer") {
            Some(of) => {
                let answer = &answers[of[0].as_u64().unwrap() as usize];
                let found = answer.pointer(of[1].as_str().unwrap());
                found.unwrap_or_else(|| panic!("{of} is not in {answer}")).clone()
            }
            None => object
                .iter()
                .map(|(name, value)| (name.clone(), filled(value, answers)))
                .collect(),
        },
        other => other.clone(),
    }
}

fn repeated(parts: &[Value]) -> String {
    let part = |pair: &[Value]| pair[0].as_str().unwrap().repeat(pair[1].as_u64().unwrap() as usize);
    parts.chunks(2).map(part).collect()
}

struct Twin(Engine, Arc<Recorder>);

fn settings() -> Settings {
    Settings {
        clock: Clock::settable(Moment::START),
        seed: 1,
        conditions: Conditions::CALM,
        shared_db: false,
    }
}

impl Twin {
    fn set_up(file: &Value, case: &Value) -> Twin {
        let engine = Engine::new(settings());
        let recorder = Recorder::of(&engine);
        let twin = Twin(engine, recorder);
        for table in file["tables"].as_array().unwrap() {
            twin.must("CreateTable", table);
        }
        for (table, items) in file["items"].as_object().unwrap() {
            for item in items.as_array().unwrap() {
                twin.must("PutItem", &json!({"TableName": table, "Item": item}));
            }
        }
        let conditions = Conditions::named(case["conditions"].as_str().unwrap_or("calm"));
        let mut conditions = conditions.expect("the name of a set of conditions");
        if let Some(size) = case["item_collection_size"].as_u64() {
            conditions.item_collection_size = size;
        }
        if file["capacity"] == "enforced" {
            conditions.capacity = Conditions::AWS.capacity;
        }
        twin.0.set_conditions(conditions);
        twin
    }

    fn send(&self, operation: &str, request: &Value, region: &Value) -> (u16, Value) {
        let caller = Caller {
            access_key: "test".into(),
            region: region.as_str().unwrap_or("us-east-1").into(),
        };
        let body = expand(request).to_string();
        let answer = self.0.dispatch(&caller, operation, body.as_bytes());
        // TagResource and UntagResource succeed without a body.
        let body = if answer.body.is_empty() {
            b"null"
        } else {
            answer.body.as_slice()
        };
        (answer.status, serde_json::from_slice(body).unwrap())
    }

    fn must(&self, operation: &str, request: &Value) {
        let (status, body) = self.send(operation, request, &Value::Null);
        assert_eq!(status, 200, "set-up: {operation} {request}: {body}");
    }
}

/// `ValidationException: …`.
fn error_text(body: &Value) -> String {
    let kind = body["__type"].as_str().unwrap_or_default();
    let text = body["message"].as_str().or(body["Message"].as_str());
    format!("{}: {}", kind.rsplit('#').next().unwrap(), text.unwrap_or_default())
}

/// Whether `whole` has all of `part`.
fn has(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(name, value)| whole.get(name).is_some_and(|there| has(there, value))),
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| has(whole, part))
        }
        _ => whole == part,
    }
}

/// What is wrong about the answer to a case.
fn failure(file: &Value, case: &Value) -> Option<String> {
    let twin = Twin::set_up(file, case);
    let mut answers = Vec::new();
    for step in case["before"].as_array().into_iter().flatten() {
        match step[0].as_str().unwrap() {
            "$advance" => {
                twin.0.advance(Duration::from_secs_f64(step[1].as_f64().unwrap()));
                answers.push(Value::Null);
            }
            "$conditions" => {
                twin.0
                    .set_conditions(Conditions::named(step[1].as_str().unwrap()).unwrap());
                answers.push(Value::Null);
            }
            operation => answers.push(twin.send(operation, &filled(&step[1], &answers), &step[2]).1),
        }
    }
    let request = filled(&case["request"], &answers);
    let (status, body) = twin.send(case["operation"].as_str().unwrap(), &request, &case["region"]);
    let (holds, expected) = if let Some(error) = case.get("error") {
        let error = expand(error);
        (status == 400 && error == error_text(&body), error)
    } else if let Some(answer) = case.get("answer") {
        let answer = expand(answer);
        (status == 200 && body == answer, answer)
    } else if let Some(expected) = case.get("body") {
        let expected = expand(expected);
        (status == 400 && body == expected, expected)
    } else {
        let expected = filled(&case["has"], &answers);
        (status == 200 && has(&body, &expected), expected)
    };
    if let Err(error) = commits::check(&twin.0, &twin.1, settings) {
        return Some(error);
    }
    (!holds).then(|| format!("expected {expected}\n  answered {status} {body}"))
}

fn run(name: &str, text: &str) {
    let file: Value = serde_json::from_str(text).unwrap();
    let cases = file["cases"].as_array().unwrap();
    let mut report = String::new();
    let mut failed = 0;
    for case in cases {
        assert!(case["evidence"].is_string(), "{name}: {} has no evidence", case["name"]);
        if let Some(failure) = failure(&file, case) {
            failed += 1;
            let (what, evidence) = (&case["name"], &case["evidence"]);
            writeln!(report, "{name}: {what} ({evidence})\n  {failure}").unwrap();
        }
    }
    assert!(failed == 0, "{failed} of {} cases fail\n{report}", cases.len());
}

macro_rules! files {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                run(stringify!($name), include_str!(concat!("cases/", stringify!($name), ".json")));
            }
        )*
    };
}

files! { expressions order scan_order framework serialization values updates conditions reads batches transactions capacity throttling legacy tables attached control update_table descriptions streams vectors partiql backups transfers sizes pages states rounds histories effects replicas }
