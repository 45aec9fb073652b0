//! The answers to all controls, and to requests of the API that create and describe resources or are refused, member by member.
//!
//! `tests/answers.json` lists the requests of five scenarios with the status and the body of each answer. After a change of
//! an answer, `DYNATWIN_RECORD_ANSWERS=1 cargo test --test it answers::` writes the file again: review the difference.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use crate::common::settings;
use crate::transfers::MemoryStore;
use dynatwin_engine::controls::CONTROLS;
use dynatwin_engine::http::HttpRequest;
use dynatwin_engine::transfers::ObjectStore;
use dynatwin_engine::{Caller, Engine};
use serde_json::{Value, json};

/// Sends a request to a control as the caller `me`.
fn control(engine: &Engine, call: &str, body: &Value) -> (u16, Value) {
    let (method, target) = call.split_once(' ').unwrap();
    let authorization =
        "AWS4-HMAC-SHA256 Credential=me/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=00";
    let headers = [
        ("host", "localhost"),
        ("content-type", "application/json"),
        ("authorization", authorization),
    ];
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let answer = engine.handle(&HttpRequest {
        method,
        target,
        headers: &headers,
        body: body.as_bytes(),
    });
    let text = String::from_utf8(answer.body).unwrap();
    let version = format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION"));
    let text = text.replace(&version, "\"version\":\"present\"");
    (answer.status, serde_json::from_str(&text).unwrap())
}

/// Sends a request of the API as the caller `me`.
fn operation(engine: &Engine, region: &str, operation: &str, body: &Value) -> (u16, Value) {
    let caller = Caller {
        access_key: "me".into(),
        region: region.into(),
    };
    let answer = engine.dispatch(&caller, operation, body.to_string().as_bytes());
    // TagResource and UntagResource answer without a body.
    (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default())
}

/// Notes the last text of each member, by the member's name.
fn note(answer: &Value, texts: &mut BTreeMap<String, String>) {
    match answer {
        Value::Object(members) => {
            for (name, value) in members {
                if let Some(text) = value.as_str() {
                    texts.insert(name.clone(), text.to_owned());
                }
                note(value, texts);
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| note(element, texts)),
        _ => {}
    }
}

/// Replaces each text `$Name` by the last text that an answer had in its member `Name`.
fn resolved(body: &Value, texts: &BTreeMap<String, String>) -> Value {
    match body {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), resolved(value, texts)))
            .collect(),
        Value::Array(elements) => elements.iter().map(|element| resolved(element, texts)).collect(),
        Value::String(text) => match text.strip_prefix('$') {
            Some(name) => json!(texts.get(name)),
            None => body.clone(),
        },
        _ => body.clone(),
    }
}

/// The name of the control that a request calls.
fn declared(call: &str) -> Option<&'static str> {
    let (method, target) = call.split_once(' ')?;
    let path: Vec<&str> = target.split('?').next()?.split('/').collect();
    let fits = |(segment, name): (&&str, &str)| *segment == name || name.starts_with('{');
    let found = CONTROLS.iter().find(|control| {
        let names = || control.path.split('/');
        control.method == method && names().count() == path.len() && path.iter().zip(names()).all(fits)
    });
    found.map(|control| control.name)
}

#[test]
fn answers_are_those_recorded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/answers.json");
    let mut scenarios: Vec<Vec<Value>> = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let (mut called, mut differences) = (BTreeSet::new(), String::new());
    for steps in &mut scenarios {
        let engine =
            Engine::new(settings(1)).with_object_store(Arc::new(MemoryStore::default()) as Arc<dyn ObjectStore>);
        let mut texts = BTreeMap::new();
        for step in steps {
            let body = resolved(&step["body"], &texts);
            let (status, answer) = match (step["operation"].as_str(), step["control"].as_str()) {
                (Some(name), _) => operation(&engine, step["region"].as_str().unwrap_or("us-east-1"), name, &body),
                (None, call) => control(&engine, call.unwrap(), &body),
            };
            if status == 200 {
                called.extend(step["control"].as_str().and_then(declared));
            }
            if (&step["status"], &step["answer"]) != (&json!(status), &answer) {
                writeln!(differences, "{step}\n  answered {status} {answer}").unwrap();
            }
            note(&answer, &mut texts);
            step["status"] = status.into();
            step["answer"] = answer;
        }
    }
    if std::env::var_os("DYNATWIN_RECORD_ANSWERS").is_some() {
        let steps = |steps: &Vec<Value>| {
            steps
                .iter()
                .map(|step| format!("    {step}"))
                .collect::<Vec<_>>()
                .join(",\n")
        };
        let scenarios: Vec<String> = scenarios
            .iter()
            .map(|each| format!("  [\n{}\n  ]", steps(each)))
            .collect();
        std::fs::write(&path, format!("[\n{}\n]\n", scenarios.join(",\n"))).unwrap();
        return;
    }
    assert!(differences.is_empty(), "{differences}");
    let names = CONTROLS.iter().map(|control| control.name);
    let others: Vec<&str> = names.filter(|name| !called.contains(name)).collect();
    assert_eq!(
        others,
        ["getOpenApi", "getSnapshot", "restoreSnapshot"],
        "controls without an answer"
    );
}
