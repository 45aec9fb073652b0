//! Policy evaluation in the simplest form, straight from the JSON: slow, and independent of the engine's.

use dynatwin_engine::iam::{PolicyKind, SubjectKind};
use serde_json::{Map, Value};

use super::generate::{ACCOUNT, Case};

type Keys = Map<String, Value>;

fn list(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(list) => list.iter().map(|value| value.as_str().unwrap()).collect(),
        value => vec![value.as_str().unwrap()],
    }
}

fn key<'k>(keys: &'k Keys, name: &str) -> Option<&'k Value> {
    let found = keys
        .iter()
        .find(|(known, _)| known.to_lowercase() == name.to_lowercase());
    found
        .map(|(_, value)| value)
        .filter(|value| !value.as_array().is_some_and(Vec::is_empty))
}

/// A character of a pattern, and whether it may be a wildcard.
type PatternChars = Vec<(char, bool)>;

/// Returns the pattern of a text with variables substituted if they apply; nothing if one has no value.
fn substituted(text: &str, variables: bool, keys: &Keys) -> Option<PatternChars> {
    let Some((before, rest)) = text.split_once("${").filter(|_| variables) else {
        return Some(text.chars().map(|char| (char, true)).collect());
    };
    let (inside, after) = rest.split_once('}').unwrap();
    let value = match inside {
        "*" | "?" | "$" => inside.to_owned(),
        inside => {
            let (name, default) = match inside.split_once(", ") {
                Some((name, default)) => (name, Some(default.trim_matches('\'').to_owned())),
                None => (inside, None),
            };
            match key(keys, name) {
                Some(Value::String(value)) => value.clone(),
                Some(_) => return None,
                None => default?,
            }
        }
    };
    let mut glyphs: PatternChars = before.chars().map(|char| (char, true)).collect();
    glyphs.extend(value.chars().map(|char| (char, false)));
    glyphs.extend(substituted(after, variables, keys)?);
    Some(glyphs)
}

fn plain(glyphs: &PatternChars) -> String {
    glyphs.iter().map(|(char, _)| char).collect()
}

fn like(pattern: &[(char, bool)], text: &[char]) -> bool {
    match (pattern.first(), text.first()) {
        (None, None) => true,
        (Some(('*', true)), _) => like(&pattern[1..], text) || !text.is_empty() && like(pattern, &text[1..]),
        (Some(('?', true)), Some(_)) => like(&pattern[1..], &text[1..]),
        (Some((expected, _)), Some(found)) if expected == found => like(&pattern[1..], &text[1..]),
        _ => false,
    }
}

fn is_like(pattern: &[(char, bool)], text: &str) -> bool {
    like(pattern, &text.chars().collect::<Vec<_>>())
}

fn arn_like(pattern: &PatternChars, arn: &str) -> bool {
    if plain(pattern) == "*" && pattern[0].1 {
        return true;
    }
    let (mut rest, mut parts) = (&pattern[..], Vec::new());
    while parts.len() < 5 {
        let Some(at) = rest.iter().position(|(char, _)| *char == ':') else {
            return false;
        };
        parts.push(&rest[..at]);
        rest = &rest[at + 1..];
    }
    parts.push(rest);
    let texts: Vec<&str> = arn.splitn(6, ':').collect();
    texts.len() == 6 && parts.iter().zip(texts).all(|(part, text)| is_like(part, text))
}

fn names(value: &Value) -> Vec<String> {
    if value == "*" {
        return vec!["*".to_owned()];
    }
    let named = list(&value["AWS"]).into_iter();
    let root = |text: &str| {
        if text.len() == 12 {
            format!("arn:aws:iam::{text}:root")
        } else {
            text.to_owned()
        }
    };
    named.map(root).collect()
}

/// Returns 0 for not named, 1 for the account, 2 for the role, 3 for the caller itself.
fn principal(statement: &Value, caller: SubjectKind, is_bounded: bool) -> u8 {
    let root = format!("arn:aws:iam::{ACCOUNT}:root");
    let user = format!("arn:aws:iam::{ACCOUNT}:user/ann");
    let role = format!("arn:aws:iam::{ACCOUNT}:role/app/Reader");
    let session = format!("arn:aws:sts::{ACCOUNT}:assumed-role/Reader/s");
    let federated = format!("arn:aws:sts::{ACCOUNT}:federated-user/visitor");
    let own = match caller {
        SubjectKind::Root => vec![(root.clone(), 3)],
        SubjectKind::User => vec![(user, 3), (root, 1)],
        SubjectKind::RoleSession => vec![(session, 3), (role, 2), (root, 1)],
        SubjectKind::FederatedUser => vec![(federated, 3), (user, 2), (root, 1)],
    };
    if let Some(excluded) = statement.get("NotPrincipal") {
        let excluded = names(excluded);
        // The user that requested the session of a federated user is not one of its names.
        let is_user = |arn: &str| caller == SubjectKind::FederatedUser && arn.contains(":user/");
        let mut names = own.iter().filter(|(arn, _)| !is_user(arn));
        let spared = excluded.contains(&"*".to_owned()) || names.all(|(arn, _)| excluded.contains(arn));
        return if spared && !is_bounded { 0 } else { 3 };
    }
    let Some(named) = statement.get("Principal") else {
        return 3;
    };
    let named = names(named);
    if named.contains(&"*".to_owned()) {
        return 3;
    }
    own.into_iter()
        .find(|(arn, _)| named.contains(arn))
        .map_or(0, |(_, level)| level)
}

fn date(text: &str) -> Option<u64> {
    match text {
        "2026-01-01T00:00:00Z" => Some(1_767_225_600),
        "2026-06-01T00:00:00Z" => Some(1_780_272_000),
        "2026-03" => Some(1_772_323_200),
        text if text.len() > 4 => text.parse().ok(),
        _ => None,
    }
}

fn network(range: &str, address: &str) -> bool {
    match range {
        "203.0.113.0/24" => address.starts_with("203.0.113."),
        "0.0.0.0/0" => address.split('.').count() == 4 && address.split('.').all(|part| part.parse::<u8>().is_ok()),
        "2001:db8::/32" => address.starts_with("2001:db8:"),
        range => range == address,
    }
}

fn compares(operator: &str, own: &str, requested: &str, variables: bool, keys: &Keys) -> bool {
    let kind = ["String", "Numeric", "Date", "Bool", "Binary", "Ip", "NotIp", "Arn"];
    let kind = *kind.iter().find(|kind| operator.starts_with(**kind)).unwrap();
    let variables = variables && matches!(kind, "String" | "Arn" | "Bool");
    let Some(pattern) = substituted(own, variables, keys) else {
        return false;
    };
    let order = |own: f64, requested: f64| match operator.trim_start_matches(kind) {
        "Equals" | "NotEquals" => requested == own,
        "LessThan" => requested < own,
        "LessThanEquals" => requested <= own,
        "GreaterThan" => requested > own,
        "GreaterThanEquals" => requested >= own,
        other => panic!("{other}"),
    };
    match kind {
        "String" if operator.ends_with("Like") => is_like(&pattern, requested),
        "String" if operator.ends_with("IgnoreCase") => plain(&pattern).to_lowercase() == requested.to_lowercase(),
        "String" => plain(&pattern) == requested,
        "Arn" => arn_like(&pattern, requested),
        "Bool" => ["true", "false"].contains(&requested) && plain(&pattern) == requested,
        "Numeric" => own
            .parse()
            .ok()
            .zip(requested.parse().ok())
            .is_some_and(|(own, requested)| order(own, requested)),
        "Date" => date(own)
            .zip(date(requested))
            .is_some_and(|(own, requested)| order(own as f64, requested as f64)),
        "Binary" => ["QUJD", "QUI="].contains(&requested) && own == requested,
        _ => network(own, requested),
    }
}

fn condition(name: &str, requested: &str, values: &Value, variables: bool, keys: &Keys) -> bool {
    let found = key(keys, requested);
    let (quantifier, operator) = name.split_once(':').unwrap_or(("", name));
    if operator == "Null" {
        return list(values).iter().any(|value| (*value == "true") == found.is_none());
    }
    let bare = operator.trim_end_matches("IfExists");
    let negated = bare.contains("Not");
    let Some(found) = found else {
        return bare != operator || quantifier == "ForAllValues" || quantifier.is_empty() && negated;
    };
    let test = |requested: &str| {
        list(values)
            .iter()
            .any(|own| compares(bare, own, requested, variables, keys))
            != negated
    };
    if !quantifier.is_empty() && list(found).iter().all(|value| value.is_empty()) {
        return quantifier == "ForAllValues";
    }
    match quantifier {
        "ForAllValues" => !list(found).into_iter().any(|value| !test(value)),
        "ForAnyValue" => list(found).into_iter().any(test),
        _ => found.as_str().is_some_and(test),
    }
}

/// Returns how closely a statement names the caller if it applies, otherwise 0.
fn applies(statement: &Value, version: &Value, case: &Case) -> u8 {
    let variables = version == "2012-10-17";
    let either = |name: &str, test: &dyn Fn(&str) -> bool| match statement.get(name) {
        Some(values) => list(values).into_iter().any(test),
        None => !list(&statement[format!("Not{name}")]).into_iter().any(test),
    };
    let action = |own: &str| {
        let own: PatternChars = own.to_lowercase().chars().map(|char| (char, true)).collect();
        is_like(&own, &case.action.to_lowercase())
    };
    let resource =
        |own: &str| substituted(own, variables, &case.keys).is_some_and(|pattern| arn_like(&pattern, &case.arn()));
    let mut conditions = statement
        .get("Condition")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let hold = conditions.all(|(name, requested)| {
        let mut requested = requested.as_object().unwrap().iter();
        requested.all(|(requested, values)| condition(name, requested, values, variables, &case.keys))
    });
    if either("Action", &action) && either("Resource", &resource) && hold {
        principal(statement, case.caller, case.boundary.is_some())
    } else {
        0
    }
}

/// Returns the closest naming of the caller in the statements of this effect that apply.
fn level(document: &Value, effect: &str, case: &Case) -> u8 {
    let statements = document["Statement"].as_array().unwrap().iter();
    let matching = statements.filter(|statement| statement["Effect"] == effect);
    matching
        .map(|statement| applies(statement, &document["Version"], case))
        .max()
        .unwrap_or(0)
}

pub fn decide(case: &Case) -> Option<(PolicyKind, bool)> {
    let allows = |documents: &[Value]| documents.iter().any(|document| level(document, "Allow", case) > 0);
    let one = |document: &Option<Value>| document.clone().into_iter().collect::<Vec<_>>();
    let all = [
        (PolicyKind::ResourceControl, case.resource_control.clone()),
        (PolicyKind::ServiceControl, case.service_control.concat()),
        (PolicyKind::Resource, one(&case.resource)),
        (PolicyKind::Identity, case.identity.clone()),
        (PolicyKind::Boundary, one(&case.boundary)),
        (PolicyKind::Session, case.session.clone().unwrap_or_default()),
        (PolicyKind::Endpoint, one(&case.endpoint)),
    ];
    for (kind, documents) in all {
        if documents.iter().any(|document| level(document, "Deny", case) > 0) {
            return Some((kind, true));
        }
    }
    let resource = case
        .resource
        .as_ref()
        .map_or(0, |document| level(document, "Allow", case));
    let foreign = case.resource_account != ACCOUNT;
    let identity = case.caller == SubjectKind::Root || allows(&case.identity);
    let boundary = case.boundary.is_none() || allows(&one(&case.boundary));
    let session = case.session.as_ref().is_none_or(|session| allows(session));
    let endpoint = case.endpoint.is_none() || allows(&one(&case.endpoint));
    let checks = [
        (
            PolicyKind::ServiceControl,
            case.service_control.iter().all(|level| allows(level)),
        ),
        (PolicyKind::Resource, !foreign || resource > 0),
        (PolicyKind::Identity, identity || !foreign && resource >= 2),
        (PolicyKind::Boundary, boundary || !foreign && resource == 3),
        (PolicyKind::Session, session || !foreign && resource == 3),
        (PolicyKind::Endpoint, endpoint),
    ];
    checks
        .into_iter()
        .find(|(_, fine)| !fine)
        .map(|(kind, _)| (kind, false))
}
