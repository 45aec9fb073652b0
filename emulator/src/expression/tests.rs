//! Tests of the language as a whole, with texts recorded from the service.

mod legacy;
mod meaning;
mod properties;
mod statics;
mod syntax;

use super::*;
use crate::error::ApiError;
use crate::request::Substitutions;
use crate::value::{AttributeValue, Map, Name};

/// A value in a short form: a quoted string, a number, or one of a few words.
pub(super) fn value(text: &str) -> AttributeValue {
    let parts = |body: &str| {
        body.split(' ')
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    if let Some((kind, body)) = text.split_once('|') {
        let strings = parts(body);
        return match kind {
            "SS" => AttributeValue::string_set(strings.iter().map(Into::into).collect()).unwrap(),
            "NS" => AttributeValue::number_set(strings.iter().map(|part| part.parse().unwrap()).collect()).unwrap(),
            "BS" => AttributeValue::binary_set(strings.iter().map(|part| part.as_bytes().into()).collect()).unwrap(),
            "B" => AttributeValue::B(body.as_bytes().into()),
            "L" => AttributeValue::L(strings.iter().map(|part| value(part)).collect()),
            "M" => AttributeValue::M(
                strings
                    .iter()
                    .map(|part| part.split_once('=').unwrap())
                    .map(|(name, inner)| (Name::new(name), value(inner)))
                    .collect(),
            ),
            other => panic!("no kind {other}"),
        };
    }
    match text {
        "true" | "false" => AttributeValue::Bool(text == "true"),
        "null" => AttributeValue::Null,
        _ => match text.strip_prefix('\'') {
            Some(quoted) => AttributeValue::string(quoted),
            None => AttributeValue::N(text.parse().unwrap()),
        },
    }
}

/// Substitutions of the placeholders that the tests use, restricted to those in `text`.
pub(super) fn substitutions(text: &str) -> Substitutions {
    let names = [("#a", "a"), ("#b", "b"), ("#s", "status"), ("#dot", "a.b")];
    let values = [
        (":v", "'x"),
        (":w", "'z"),
        (":n", "1"),
        (":m", "2"),
        (":neg", "-3"),
        (":l", "L|'q"),
        (":el", "L|"),
        (":ss", "SS|a"),
        (":ns", "NS|1"),
        (":bs", "BS|a"),
        (":b", "true"),
        (":nul", "null"),
        (":mm", "M|"),
        (":bin", "B|ab"),
        (":bin2", "B|a"),
        (":dog", "'DOG"),
        (":t", "'S"),
    ];
    let used = |key: &str| {
        text.match_indices(key)
            .any(|(at, _)| !text[at + key.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
    };
    let names: Vec<_> = names
        .iter()
        .filter(|(key, _)| used(key))
        .map(|(key, name)| (Name::new(key), Name::new(name)))
        .collect();
    let values: Vec<_> = values
        .iter()
        .filter(|(key, _)| used(key))
        .map(|(key, text)| (Name::new(key), value(text)))
        .collect();
    Substitutions {
        names: (!names.is_empty()).then_some(names),
        values: (!values.is_empty()).then_some(values),
    }
}

/// Binds `text` as an expression of this kind, and returns the error text.
pub(super) fn error_of(kind: ExpressionKind, text: &str) -> Option<String> {
    let (cache, substitutions) = (Cache::new(), substitutions(text));
    let mut scope = Bindings::new(&substitutions, &cache).unwrap();
    let bound = match kind {
        ExpressionKind::Update => scope.update(text).map(drop),
        ExpressionKind::Projection => scope.projection(text).map(drop),
        ExpressionKind::KeyCondition => scope.key_condition(text).map(drop),
        _ => scope.condition(kind, text).map(drop),
    };
    bound.and_then(|()| scope.check_all_used()).err().map(message)
}

pub(super) fn message(error: ApiError) -> String {
    error.message().unwrap().to_owned()
}

/// Checks texts against what follows `Invalid <X>Expression: `; an empty expectation means that there is no error.
pub(super) fn check(kind: ExpressionKind, table: &[(&str, &str)]) {
    for (text, expected) in table {
        let expected = (!expected.is_empty()).then(|| format!("Invalid {}: {expected}", kind.name()));
        assert_eq!(error_of(kind, text), expected, "{text}");
    }
}

pub(super) fn item(attributes: &[(&str, &str)]) -> Map {
    attributes
        .iter()
        .map(|(name, text)| (Name::new(name), value(text)))
        .collect()
}
