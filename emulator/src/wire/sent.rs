//! Numbers as they were sent, for errors that print them: decoded values have only the canonical form.

use std::borrow::Cow;

use super::reader::{Reader, Token, member_text};
use crate::error::{ApiError, ErrorKind};
use crate::number::Number;

const BETWEEN: &str = "The BETWEEN operator requires ";
const LOWER: &str = "lower bound operand: AttributeValue: ";
const UPPER: &str = ", upper bound operand: AttributeValue: ";
const VALUES: &str = "ExpressionAttributeValues";

/// Prints the numbers in an error about the bounds of BETWEEN as they are in the request's body (docs/behavior: 02 5.3).
/// Other errors are returned unchanged.
#[cold]
pub fn bounds_as_sent(error: ApiError, body: &[u8]) -> ApiError {
    let text = error.message().filter(|_| error.kind() == ErrorKind::Validation);
    match text.and_then(|text| reworded(text, body)) {
        Some(text) => ApiError::validation(text),
        None => error,
    }
}

fn reworded(text: &str, body: &[u8]) -> Option<String> {
    let (start, bounds) = text.split_once(LOWER).filter(|(start, _)| start.contains(BETWEEN))?;
    let (lower, upper) = bounds.split_once(UPPER)?;
    // In a transaction, those of the first action that has both.
    substitutions(body).into_iter().find_map(|values| {
        let (lower, upper) = (bound_as_sent(lower, values)?, bound_as_sent(upper, values)?);
        Some(format!("{start}{LOWER}{lower}{UPPER}{upper}"))
    })
}

/// The JSON of each `ExpressionAttributeValues` of a request.
fn substitutions(body: &[u8]) -> Vec<&str> {
    let mut found: Vec<&str> = member_text(body, VALUES).into_iter().collect();
    let actions = member_text(body, "TransactItems").and_then(parts).unwrap_or_default();
    for request in actions.into_iter().filter_map(parts).flatten() {
        found.extend(member_text(request.as_bytes(), VALUES));
    }
    found
}

/// A bound as it was sent; `None` for a number that is not among the values.
fn bound_as_sent<'a>(bound: &'a str, values: &str) -> Option<Cow<'a, str>> {
    let number = bound.strip_prefix("{N:").and_then(|rest| rest.strip_suffix('}'));
    let Some(number) = number.and_then(|number| Number::parse(number.as_bytes()).ok()) else {
        return Some(Cow::Borrowed(bound));
    };
    let sent = parts(values)?.into_iter().find_map(|value| {
        let value = member_text(value.as_bytes(), "N")?;
        let text = Reader::new(value.as_bytes()).ok()?.string().ok()?;
        (Number::parse(text.as_bytes()) == Ok(number)).then_some(text)
    })?;
    Some(Cow::Owned(format!("{{N:{sent}}}")))
}

/// The JSON of the values in an object or list.
fn parts(json: &str) -> Option<Vec<&str>> {
    let mut reader = Reader::new(json.as_bytes()).ok()?;
    let is_object = reader.peek().ok()? == Token::Object;
    reader.enter().ok()?;
    let mut parts = Vec::new();
    loop {
        let is_first = parts.is_empty();
        let has_next = if is_object {
            reader.member(is_first).ok()?.is_some()
        } else {
            reader.element(is_first).ok()?
        };
        if !has_next {
            return Some(parts);
        }
        reader.peek().ok()?;
        let start = reader.offset();
        reader.skip().ok()?;
        parts.push(json.get(start..reader.offset())?);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_bounds_are_printed_as_sent() {
        let error = |lower: &str, upper: &str| {
            format!("Invalid FilterExpression: {BETWEEN}upper bound to be greater; {LOWER}{lower}{UPPER}{upper}")
        };
        for (bounds, body, expect) in [
            (
                ("{N:2}", "{N:1}"),
                r#"{"ExpressionAttributeValues": {":l": {"N": "2.0"}, ":u": {"N": "+1e0"}}}"#,
                ("{N:2.0}", "{N:+1e0}"),
            ),
            (
                ("{N:2}", "{S:1.0}"),
                r#"{"ExpressionAttributeValues": {":l": {"S": "2.0"}, ":u": {"N": "\u0032.00"}, ":m": {"S": "1.0"}}}"#,
                ("{N:2.00}", "{S:1.0}"),
            ),
            (("{S:b}", "{S:a}"), "{}", ("{S:b}", "{S:a}")),
            // The first action has only one of the numbers.
            (
                ("{N:2}", "{N:1}"),
                r#"{"TransactItems": [{"Put": {"Item": {}}},
                    {"Update": {"ExpressionAttributeValues": {":l": {"N": "2.000"}}}},
                    {"Put": {"ExpressionAttributeValues": {":l": {"N": "02"}, ":u": {"N": "1.0"}}}}]}"#,
                ("{N:02}", "{N:1.0}"),
            ),
            // Both actions have both numbers.
            (
                ("{N:2}", "{N:1}"),
                r#"{"TransactItems": [{"Put": {"ExpressionAttributeValues": {":l": {"N": "2.0"}, ":u": {"N": "1.0"}}}},
                    {"Put": {"ExpressionAttributeValues": {":l": {"N": "2.00"}, ":u": {"N": "1.00"}}}}]}"#,
                ("{N:2.0}", "{N:1.0}"),
            ),
            // Of a member that is sent twice the last one counts.
            (
                ("{N:2}", "{N:1}"),
                r#"{"ExpressionAttributeValues": {":l": {"N": "2.0"}, ":u": {"N": "1.0"}},
                    "ExpressionAttributeValues": {":l": {"N": "2.00"}, ":u": {"N": "1.00"}}}"#,
                ("{N:2.00}", "{N:1.00}"),
            ),
            // Values that are not found are printed in their canonical form.
            (
                ("{N:2}", "{N:1}"),
                r#"{"ExpressionAttributeValues": {}}"#,
                ("{N:2}", "{N:1}"),
            ),
            (
                ("{N:2}", "{N:1}"),
                r#"{"ExpressionAttributeValues": 5}"#,
                ("{N:2}", "{N:1}"),
            ),
            (
                ("{N:2}", "{N:1}"),
                r#"{"TransactItems": [5, {"Put": 5}]}"#,
                ("{N:2}", "{N:1}"),
            ),
            (("{N:2}", "{N:1}"), "[", ("{N:2}", "{N:1}")),
        ] {
            let found = bounds_as_sent(ApiError::validation(error(bounds.0, bounds.1)), body.as_bytes());
            assert_eq!(found, ApiError::validation(error(expect.0, expect.1)), "{body}");
        }
        let body = br#"{"ExpressionAttributeValues": {":l": {"N": "2.0"}}}"#;
        let other = ApiError::validation(format!("Another error; {LOWER}{{N:2}}{UPPER}{{N:2}}"));
        assert_eq!(bounds_as_sent(other.clone(), body), other);
    }
}
