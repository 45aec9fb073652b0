//! Compares the engine with the service's own model of its requests: every member of every operation gets a value of
//! each wrong JSON type, and every constraint of the model is broken, one at a time.
//!
//! `constraints.json` is distilled from the service models. `wording.json` has the exceptions from the framework's
//! general texts: members that an operation checks itself or with a newer layer's texts, and those that the service
//! does not check at all; each with its source. An unused rule fails the test.
#![allow(clippy::unwrap_used)]

mod bounds;
mod service;
mod types;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use bounds::{Rule, breaks, general, is};
use dynatwin_engine::api::OPERATIONS;
use dynatwin_engine::faults::MODELLED;
use dynatwin_engine::http::exception;
use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
use serde_json::{Value, json};
use service::{KEY, Model, Place};
use types::mismatch;

struct Twin(Engine);

impl Twin {
    fn new() -> Twin {
        let twin = Twin(Engine::new(Settings {
            clock: Clock::settable(Moment::START),
            seed: 1,
            conditions: Conditions::CALM,
            shared_db: false,
        }));
        let create = json!({"TableName": KEY, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
        assert!(twin.send("CreateTable", &create).contains("TableDescription"));
        twin
    }

    /// Returns `ValidationException: …`, or the body of a success.
    fn send(&self, operation: &str, request: &Value) -> String {
        let caller = Caller {
            access_key: "test".into(),
            region: "us-east-1".into(),
        };
        let answer = self.0.dispatch(&caller, operation, request.to_string().as_bytes());
        let text = String::from_utf8(answer.body).unwrap();
        if answer.status == 200 {
            return text;
        }
        let body: Value = serde_json::from_str(&text).unwrap();
        let kind = body["__type"].as_str().unwrap().rsplit('#').next().unwrap();
        let text = body["message"].as_str().or(body["Message"].as_str());
        format!("{kind}: {}", text.unwrap_or_default())
    }
}

/// SearchVectors has a different reader with its own texts, which `vectors.json` covers.
fn is_read_otherwise(operation: &str) -> bool {
    operation == "SearchVectors"
}

#[test]
fn a_value_of_the_wrong_json_type_has_its_text() {
    let (model, twin) = (Model::load(), Twin::new());
    let values = [
        json!("x"),
        json!(true),
        json!(false),
        json!(1),
        json!(1.5),
        json!([]),
        json!({}),
    ];
    let (mut report, mut failed, mut sent) = (String::new(), 0, 0);
    for operation in OPERATIONS.iter().filter(|operation| !is_read_otherwise(operation.name)) {
        for place in &model.places(operation.name) {
            for value in &values {
                let Some(expected) = mismatch(&model, place, value) else {
                    continue;
                };
                let answer = twin.send(operation.name, &model.request(place, Some(value.clone())));
                sent += 1;
                if answer != format!("SerializationException: {expected}") {
                    failed += 1;
                    let name = operation.name;
                    writeln!(
                        report,
                        "{name} {} = {value}\n  expected {expected}\n  answered {answer}",
                        place.name()
                    )
                    .unwrap();
                }
            }
        }
    }
    assert!(failed == 0, "{failed} of {sent} answers\n{report}");
    assert!(sent > 5000, "{sent} requests");
}

#[test]
fn a_constraint_that_is_broken_has_its_text() {
    let (model, twin) = (Model::load(), Twin::new());
    let mut rules = Rule::load();
    let (mut report, mut failed, mut sent) = (String::new(), 0, 0);
    for operation in OPERATIONS {
        let name = operation.name;
        for place in &model.places(name) {
            for broken in breaks(&model, place) {
                let rule = rules
                    .iter_mut()
                    .find(|rule| rule.covers(name, &place.name(), broken.constraint));
                let expected = match rule {
                    None => Some(general(place, &broken)),
                    Some(rule) => {
                        rule.used = true;
                        rule.says(place, &broken)
                    }
                };
                let answer = twin.send(name, &model.request(place, broken.value.clone()));
                sent += 1;
                let held = match &expected {
                    Some(expected) => is(&answer, expected, broken.value.as_ref()),
                    None => !answer.contains(&broken.phrase) || !answer.contains(&place.path()),
                };
                if let Some(allowed) = &broken.allowed {
                    let answer = twin.send(name, &model.request(place, Some(allowed.clone())));
                    sent += 1;
                    if answer.contains(&broken.phrase) && answer.contains(&place.path()) {
                        failed += 1;
                        writeln!(report, "{name} {} {}: {answer}", place.name(), broken.constraint).unwrap();
                    }
                }
                if !held {
                    failed += 1;
                    let expected = expected.unwrap_or_else(|| "no such constraint".to_owned());
                    writeln!(
                        report,
                        "{name} {} {}\n  expected {expected}\n  answered {answer}",
                        place.name(),
                        broken.constraint
                    )
                    .unwrap();
                }
            }
        }
    }
    for rule in rules.iter().filter(|rule| !rule.used) {
        failed += 1;
        writeln!(report, "nothing goes by {}", rule.rule).unwrap();
    }
    assert!(failed == 0, "{failed} of {sent} answers\n{report}");
    assert!(sent > 300, "{sent} requests");
}

/// Unknown members are ignored, whatever their value; members of other operations are used as such.
#[test]
fn a_member_of_another_operation_is_ignored() {
    let (model, twin) = (Model::load(), Twin::new());
    let members: BTreeSet<String> = OPERATIONS
        .iter()
        .flat_map(|operation| model.places(operation.name))
        .filter(|place| place.steps.len() == 1)
        .map(|place| place.name())
        .collect();
    let mut report = String::new();
    for operation in OPERATIONS {
        let name = operation.name;
        let own: BTreeSet<String> = model.places(name).iter().map(Place::name).collect();
        for member in members.difference(&own) {
            for value in [json!(true), json!([[]]), json!({"a": 1})] {
                let answer = twin.send(name, &json!({member.as_str(): value}));
                if answer.starts_with("SerializationException") {
                    writeln!(report, "{name} {member} = {value}: {answer}").unwrap();
                }
            }
        }
    }
    assert!(report.is_empty(), "{report}");
}

#[test]
fn the_table_of_exceptions_matches_the_model() {
    let text = include_str!("constraints.json");
    let model: Value = serde_json::from_str(text).unwrap();
    let declared: BTreeMap<String, BTreeSet<String>> = model["operations"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(operation, row)| {
            let errors = row["errors"].as_array().unwrap().iter();
            let errors = errors.map(|error| error.as_str().unwrap().to_owned());
            // Any operation can return these.
            let errors =
                errors.filter(|error| !["InternalServerError", "ThrottlingException"].contains(&error.as_str()));
            (operation.clone(), errors.collect())
        })
        .collect();
    let ours = MODELLED.iter().map(|(operation, kinds)| {
        let kinds = kinds.iter().map(|kind| exception(*kind).to_owned());
        ((*operation).to_owned(), kinds.collect())
    });
    assert_eq!(ours.collect::<BTreeMap<_, _>>(), declared);
    let names: Vec<&str> = MODELLED.iter().map(|(operation, _)| *operation).collect();
    assert_eq!(
        names,
        OPERATIONS.iter().map(|operation| operation.name).collect::<Vec<_>>()
    );
}
