//! The description of the controls matches the controls exactly.

use std::collections::BTreeSet;

use crate::support::twin::{Twin, percent};
use dynatwin_engine::Allowed;
use dynatwin_engine::controls::{CONTROLS, Takes};
use jsonschema::Validator;
use serde_json::{Value, json};

fn document() -> Value {
    let (status, document) = Twin::new(Allowed::ReadOnly, false).control("GET", "openapi.json", None);
    assert_eq!(status, 200);
    document
}

/// Returns method, path and description of every operation of the document.
fn described(document: &Value) -> Vec<(String, String, &Value)> {
    let mut found = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if method != "parameters" {
                found.push((method.to_uppercase(), path.clone(), operation));
            }
        }
    }
    found
}

/// Returns a validator for a schema of the document, including references.
fn validator(document: &Value, schema: &Value) -> Validator {
    let whole = json!({"allOf": [schema], "components": document["components"]});
    jsonschema::options()
        .should_validate_formats(true)
        .build(&whole)
        .unwrap()
}

fn check(validator: &Validator, value: &Value, what: &str) {
    let faults: Vec<String> = validator.iter_errors(value).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{what}: {value}\n{}", faults.join("\n"));
}

/// Returns a path of the document with the examples of its parameters.
fn filled(document: &Value, path: &str) -> String {
    let parameters = document["components"]["parameters"].as_object().unwrap();
    let path = parameters.iter().fold(path.to_owned(), |path, (name, parameter)| {
        let example = &parameter["example"];
        let example = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
        path.replace(&format!("{{{name}}}"), &example)
    });
    path.strip_prefix("/_dynatwin/").unwrap().to_owned()
}

/// Returns the queries of an operation: one with the required parameters, and one with the example of each parameter.
fn queries(operation: &Value) -> Vec<String> {
    let pair = |parameter: &Value| {
        let example = &parameter["example"];
        let example = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
        format!("{}={}", parameter["name"].as_str().unwrap(), percent(&example))
    };
    let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
    let (needed, optional): (Vec<&Value>, Vec<&Value>) = parameters
        .iter()
        .partition(|parameter| parameter["required"] == json!(true));
    let needed: Vec<String> = needed.into_iter().map(pair).collect();
    let with = |more: Option<&Value>| {
        let pairs: Vec<String> = needed.iter().cloned().chain(more.map(pair)).collect();
        pairs.join("&")
    };
    std::iter::once(with(None))
        .chain(optional.into_iter().map(|parameter| with(Some(parameter))))
        .collect()
}

/// Returns the examples of an operation's body; `None` for an operation without a body.
fn bodies(operation: &Value) -> Vec<Option<&Value>> {
    match &operation["requestBody"]["content"]["application/json"]["examples"] {
        Value::Object(examples) => examples.values().map(|example| Some(&example["value"])).collect(),
        _ => vec![None],
    }
}

#[test]
fn every_control_is_described_and_nothing_else() {
    let document = document();
    let found: BTreeSet<_> = described(&document)
        .into_iter()
        .map(|(method, path, operation)| {
            let takes = match operation.get("requestBody") {
                None => Takes::Nothing,
                Some(body) if body["required"] != json!(true) => Takes::Options,
                Some(body) if body["content"]["application/json"].is_object() => Takes::Json,
                Some(_) => Takes::Bytes,
            };
            let name = operation["operationId"].as_str().unwrap().to_owned();
            assert!(operation["summary"].is_string(), "{name}");
            (method, path, format!("{name} takes {takes:?}"))
        })
        .collect();
    let there: BTreeSet<_> = CONTROLS
        .iter()
        .map(|control| {
            let [method, path, name] = [control.method, control.path, control.name].map(str::to_owned);
            (method, path, format!("{name} takes {:?}", control.takes))
        })
        .collect();
    assert_eq!(found, there);
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn every_name_of_a_path_is_described() {
    let document = document();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let named: Vec<String> = methods["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|parameter| {
                parameter["$ref"]
                    .as_str()
                    .unwrap()
                    .rsplit('/')
                    .next()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        let there: Vec<String> = path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}').map(str::to_owned))
            .collect();
        assert_eq!(named, there, "{path}");
    }
}

/// Each runs on a fresh twin, so that none depends on another.
#[test]
fn every_example_is_accepted_and_answered_as_described() {
    let document = document();
    for (method, path, operation) in described(&document) {
        if path == "/_dynatwin/snapshot" {
            // Its bytes are not JSON: see `snapshots_are_got_and_restored` in `control/state.rs`.
            continue;
        }
        let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        let answers = validator(&document, schema);
        let examples = bodies(operation);
        assert!(!examples.is_empty(), "{method} {path} has no example");
        for body in examples {
            let what = format!("{method} {path} {body:?}");
            if let Some(body) = body {
                let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
                check(&validator(&document, schema), body, &what);
            }
            for query in queries(operation) {
                let target = format!("{}?{query}", filled(&document, &path));
                let (status, answer) = if path.contains("/replication") {
                    let mut twin = Twin::with_example_data().with_replica();
                    twin.control_with_credentials(&method, &target, body)
                } else {
                    Twin::with_example_data()
                        .with_access_control()
                        .control(&method, &target, body)
                };
                assert_eq!(status, 200, "{what} {query}: {answer}");
                check(&answers, &answer, &what);
            }
        }
    }
}

#[test]
fn every_refusal_is_as_described() {
    let document = document();
    let response = &document["components"]["responses"]["Refused"];
    let refusals = validator(&document, &response["content"]["application/json"]["schema"]);
    let mut twin = Twin::new(Allowed::ReadOnly, false);
    for (method, path, operation) in described(&document) {
        assert_eq!(
            operation["responses"]["default"]["$ref"],
            "#/components/responses/Refused"
        );
        let filled = filled(&document, &path);
        for (method, status) in [("PATCH", 405), (method.as_str(), 403)] {
            if method != "GET" {
                let (found, answer) = twin.control(method, &filled, bodies(operation)[0]);
                assert_eq!(found, status, "{method} {path}: {answer}");
                check(&refusals, &answer, &path);
            }
        }
    }
}

/// Bodies that violate the description are refused.
#[test]
fn bodies_that_are_not_described_are_refused() {
    let document = document();
    for (method, path, operation) in described(&document) {
        let Some(Some(example)) = bodies(operation).pop() else {
            continue;
        };
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let described = validator(&document, schema);
        let mut wrong = vec![json!([]), json!(true), json!({"unheard-of": 1}), json!("unheard-of")];
        for name in example.as_object().into_iter().flat_map(serde_json::Map::keys) {
            for value in [json!([]), json!(-1), json!("unheard-of"), json!({"unheard-of": 1})] {
                let mut body = example.clone();
                body[name] = value;
                wrong.push(body);
            }
        }
        let mut twin = Twin::with_example_data().with_access_control();
        for body in wrong.iter().filter(|body| !described.is_valid(body)) {
            let (status, answer) = twin.control(&method, &filled(&document, &path), Some(body));
            assert_eq!(status, 400, "{method} {path} {body}: {answer}");
        }
    }
}
