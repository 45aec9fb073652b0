//! Conditions of a statement: operators, and their evaluation against a request's keys (docs/behavior: 07 5).

use core::cmp::Ordering;
use core::net::IpAddr;

use super::keys::{ConditionKeys, KeyValue};
use super::pattern;
use super::template::Template;
use super::value;

/// How a condition compares one value of the request with one of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueComparison {
    Text { ignores_case: bool, wildcards: bool },
    Number(NumericOrder),
    Date(NumericOrder),
    Flag,
    Bytes,
    Address,
    Arn,
    Null,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumericOrder {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Over which values of a multivalued key an operator ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantifier {
    /// Prefix `ForAllValues:`: every value of the request's key must match.
    All,
    /// Prefix `ForAnyValue:`: one value of the request's key must match.
    Any,
}

/// A condition operator with its prefix and suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConditionOperator {
    comparison: ValueComparison,
    negated: bool,
    if_exists: bool,
    pub quantifier: Option<Quantifier>,
}

const fn text(ignores_case: bool, wildcards: bool) -> ValueComparison {
    ValueComparison::Text {
        ignores_case,
        wildcards,
    }
}

/// The operators by name: how they compare, and whether they are negated.
const OPERATORS: &[(&str, ValueComparison, bool)] = &[
    ("StringEquals", text(false, false), false),
    ("StringNotEquals", text(false, false), true),
    ("StringEqualsIgnoreCase", text(true, false), false),
    ("StringNotEqualsIgnoreCase", text(true, false), true),
    ("StringLike", text(false, true), false),
    ("StringNotLike", text(false, true), true),
    ("NumericEquals", ValueComparison::Number(NumericOrder::Equal), false),
    ("NumericNotEquals", ValueComparison::Number(NumericOrder::Equal), true),
    ("NumericLessThan", ValueComparison::Number(NumericOrder::Less), false),
    (
        "NumericLessThanEquals",
        ValueComparison::Number(NumericOrder::LessOrEqual),
        false,
    ),
    (
        "NumericGreaterThan",
        ValueComparison::Number(NumericOrder::Greater),
        false,
    ),
    (
        "NumericGreaterThanEquals",
        ValueComparison::Number(NumericOrder::GreaterOrEqual),
        false,
    ),
    ("DateEquals", ValueComparison::Date(NumericOrder::Equal), false),
    ("DateNotEquals", ValueComparison::Date(NumericOrder::Equal), true),
    ("DateLessThan", ValueComparison::Date(NumericOrder::Less), false),
    (
        "DateLessThanEquals",
        ValueComparison::Date(NumericOrder::LessOrEqual),
        false,
    ),
    ("DateGreaterThan", ValueComparison::Date(NumericOrder::Greater), false),
    (
        "DateGreaterThanEquals",
        ValueComparison::Date(NumericOrder::GreaterOrEqual),
        false,
    ),
    ("Bool", ValueComparison::Flag, false),
    ("BinaryEquals", ValueComparison::Bytes, false),
    ("IpAddress", ValueComparison::Address, false),
    ("NotIpAddress", ValueComparison::Address, true),
    ("ArnEquals", ValueComparison::Arn, false),
    ("ArnLike", ValueComparison::Arn, false),
    ("ArnNotEquals", ValueComparison::Arn, true),
    ("ArnNotLike", ValueComparison::Arn, true),
    ("Null", ValueComparison::Null, false),
];

impl ConditionOperator {
    /// Parses an operator; `None` if it is unknown.
    pub fn parse(name: &str) -> Option<ConditionOperator> {
        let (quantifier, name) = match name.split_once(':') {
            None => (None, name),
            Some(("ForAllValues", rest)) => (Some(Quantifier::All), rest),
            Some(("ForAnyValue", rest)) => (Some(Quantifier::Any), rest),
            Some(_) => return None,
        };
        let (name, if_exists) = match name.strip_suffix("IfExists") {
            Some(bare) => (bare, true),
            None => (name, false),
        };
        let (_, comparison, negated) = *OPERATORS.iter().find(|(known, ..)| *known == name)?;
        (comparison != ValueComparison::Null || !if_exists).then_some(ConditionOperator {
            comparison,
            negated,
            if_exists,
            quantifier,
        })
    }

    /// Whether policy variables are substituted in its values.
    pub fn takes_variables(self) -> bool {
        matches!(
            self.comparison,
            ValueComparison::Text { .. } | ValueComparison::Arn | ValueComparison::Flag
        )
    }

    /// Whether it tests for presence.
    pub fn is_null_test(self) -> bool {
        self.comparison == ValueComparison::Null
    }

    /// Whether it also holds of an absent key because of `IfExists`.
    pub fn is_lenient(self) -> bool {
        self.if_exists
    }

    /// Whether it is a negated operator.
    pub fn is_negated(self) -> bool {
        self.negated
    }

    /// What is wrong with a value that the operator cannot compare.
    pub fn check_value(self, text: &str) -> Result<(), String> {
        let fits = match self.comparison {
            ValueComparison::Text { .. } => true,
            ValueComparison::Number(_) => value::number(text).is_some(),
            ValueComparison::Date(_) => value::date(text).is_some(),
            ValueComparison::Flag | ValueComparison::Null => value::flag(text).is_some(),
            ValueComparison::Bytes => value::bytes(text).is_some(),
            ValueComparison::Address => value::Network::parse(text).is_some(),
            ValueComparison::Arn => text.starts_with("arn:") || text.starts_with('*'),
        };
        let kind = match self.comparison {
            ValueComparison::Text { .. } => "text",
            ValueComparison::Number(_) => "number",
            ValueComparison::Date(_) => "date",
            ValueComparison::Flag | ValueComparison::Null => "Boolean",
            ValueComparison::Bytes => "base64 text",
            ValueComparison::Address => "IP address range",
            ValueComparison::Arn => "ARN",
        };
        if fits {
            Ok(())
        } else {
            Err(format!("{text:?} is not a valid {kind}."))
        }
    }
}

/// One key under one operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PolicyCondition {
    /// The operator as the policy writes it, with its prefix and suffix.
    pub name: String,
    pub operator: ConditionOperator,
    pub key: String,
    pub values: Vec<Template>,
}

impl PolicyCondition {
    /// Whether the condition holds of a request.
    pub fn holds(&self, keys: &ConditionKeys) -> bool {
        let found = keys.get(&self.key);
        if self.operator.is_null_test() {
            return self.wants_absent().any(|absent| absent == found.is_none());
        }
        let Some(found) = found else {
            return self.operator.if_exists
                || match self.operator.quantifier {
                    Some(Quantifier::All) => true,
                    Some(Quantifier::Any) => false,
                    None => self.operator.negated,
                };
        };
        // Values that are empty texts are an empty set (docs/behavior: 07 3.3).
        let is_empty_set = || found.values().iter().all(String::is_empty);
        match (self.operator.quantifier, found) {
            (Some(quantifier), _) if is_empty_set() => quantifier == Quantifier::All,
            (Some(Quantifier::All), found) => found.values().iter().all(|value| self.accepts(value, keys)),
            (Some(Quantifier::Any), found) => found.values().iter().any(|value| self.accepts(value, keys)),
            // A bare operator never matches a multivalued key (docs/behavior: 07 3.3).
            (None, KeyValue::Many(_)) => false,
            (None, KeyValue::One(value)) => self.accepts(value, keys),
        }
    }

    /// For a `Null` test: whether it requires the key to be absent, for each value.
    fn wants_absent(&self) -> impl Iterator<Item = bool> {
        let texts = self.values.iter().filter_map(Template::constant);
        texts.filter_map(value::flag)
    }

    /// Whether a value of the request equals any of the policy's, or none of them for a negated operator.
    fn accepts(&self, requested: &str, keys: &ConditionKeys) -> bool {
        let equals = self
            .values
            .iter()
            .any(|template| self.compares(template, requested, keys));
        equals != self.operator.negated
    }

    fn compares(&self, template: &Template, requested: &str, keys: &ConditionKeys) -> bool {
        let compared = match self.operator.comparison {
            ValueComparison::Text {
                ignores_case,
                wildcards: true,
            } => template
                .pattern(keys)
                .map(|pattern| pattern::matches(&pattern, requested, ignores_case)),
            ValueComparison::Text { ignores_case: true, .. } => template
                .text(keys)
                .map(|own| pattern::eq_ignoring_case(&own, requested)),
            ValueComparison::Text { .. } => template.text(keys).map(|own| own == requested),
            ValueComparison::Arn => template
                .pattern(keys)
                .map(|pattern| pattern::matches_arn(&pattern, requested)),
            ValueComparison::Flag => template
                .text(keys)
                .and_then(|own| Some(value::flag(&own)? == value::flag(requested)?)),
            ValueComparison::Number(order) => constant(template, value::number, requested, |own, requested| {
                order.holds(requested.cmp(&own))
            }),
            ValueComparison::Date(order) => constant(template, value::date, requested, |own, requested| {
                order.holds(requested.cmp(&own))
            }),
            ValueComparison::Bytes => constant(template, value::bytes, requested, |own, requested| own == requested),
            ValueComparison::Address => requested.parse::<IpAddr>().ok().and_then(|requested| {
                let network = value::Network::parse(template.constant()?)?;
                Some(network.contains(requested))
            }),
            ValueComparison::Null => None,
        };
        compared.unwrap_or(false)
    }
}

/// Compares a value of the policy and one of the request in a type; `None` if one of them is not of that type.
fn constant<T>(
    template: &Template,
    read: impl Fn(&str) -> Option<T>,
    requested: &str,
    compare: impl FnOnce(T, T) -> bool,
) -> Option<bool> {
    Some(compare(read(template.constant()?)?, read(requested)?))
}

impl NumericOrder {
    /// Whether the order holds, given the comparison of the request's value with the policy's.
    fn holds(self, found: Ordering) -> bool {
        match self {
            NumericOrder::Equal => found.is_eq(),
            NumericOrder::Less => found.is_lt(),
            NumericOrder::LessOrEqual => found.is_le(),
            NumericOrder::Greater => found.is_gt(),
            NumericOrder::GreaterOrEqual => found.is_ge(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> ConditionKeys {
        let mut keys = ConditionKeys::default();
        keys.set("aws:username", "Ann");
        keys.set("aws:SourceIp", "203.0.113.7");
        keys.set("aws:CurrentTime", "2026-01-01T00:00:00Z");
        keys.set("aws:EpochTime", "1767225600");
        keys.set("aws:SecureTransport", "true");
        keys.set("aws:PrincipalArn", "arn:aws:iam::123456789012:role/App/Reader");
        keys.set("n", "12.50");
        keys.set("b", "QUJD");
        keys.set_all("dynamodb:LeadingKeys", ["ann", "bob"]);
        keys.set_all("dynamodb:Attributes", [""; 0]);
        keys.set_all("aws:TagKeys", [""]);
        keys.set("aws:PrincipalTag/none", "");
        keys
    }

    fn holds(operator: &str, key: &str, values: &[&str]) -> bool {
        let operator_read = ConditionOperator::parse(operator).unwrap();
        let condition = PolicyCondition {
            name: operator.to_owned(),
            operator: operator_read,
            key: key.to_owned(),
            values: values.iter().map(|value| Template::parse(value).unwrap()).collect(),
        };
        condition.holds(&keys())
    }

    #[test]
    fn operators() {
        for (operator, key, values, expect) in [
            ("StringEquals", "aws:username", &["Bob", "Ann"][..], true),
            ("StringEquals", "aws:username", &["ann"], false),
            ("StringEquals", "aws:username", &["A*"], false),
            ("StringNotEquals", "aws:username", &["Bob", "Ann"], false),
            ("StringNotEquals", "aws:nobody", &["Bob"], true),
            ("StringEquals", "aws:nobody", &["Bob"], false),
            ("StringEqualsIfExists", "aws:nobody", &["Bob"], true),
            ("StringEqualsIgnoreCase", "AWS:USERNAME", &["ann"], true),
            ("StringNotEqualsIgnoreCase", "aws:username", &["ann"], false),
            ("StringLike", "aws:username", &["A?*"], true),
            ("StringNotLike", "aws:username", &["A?*"], false),
            ("StringLike", "aws:username", &["${aws:username}"], true),
            ("StringEquals", "aws:username", &["${aws:nobody}"], false),
            ("StringNotEquals", "aws:username", &["${aws:nobody}"], true),
            ("NumericEquals", "n", &["12.5"], true),
            ("NumericNotEquals", "n", &["12.5"], false),
            ("NumericLessThan", "n", &["12.5"], false),
            ("NumericLessThanEquals", "n", &["12.5"], true),
            ("NumericGreaterThan", "n", &["2"], true),
            ("NumericGreaterThanEquals", "n", &["13"], false),
            ("NumericLessThan", "aws:username", &["12.5"], false),
            ("DateEquals", "aws:CurrentTime", &["2026"], true),
            ("DateGreaterThan", "aws:CurrentTime", &["2025-12-31T23:59:59Z"], true),
            ("DateLessThan", "aws:CurrentTime", &["1767225601"], true),
            ("DateLessThan", "aws:EpochTime", &["2026-01-01T00:00:01Z"], true),
            ("Bool", "aws:SecureTransport", &["true"], true),
            ("Bool", "aws:SecureTransport", &["false"], false),
            ("BinaryEquals", "b", &["QUJD"], true),
            ("IpAddress", "aws:SourceIp", &["203.0.113.0/24"], true),
            ("NotIpAddress", "aws:SourceIp", &["203.0.113.0/24"], false),
            ("NotIpAddress", "aws:nobody", &["203.0.113.0/24"], true),
            ("ArnLike", "aws:PrincipalArn", &["arn:aws:iam::*:role/App/*"], true),
            ("ArnEquals", "aws:PrincipalArn", &["arn:*:role/*"], false),
            ("ArnNotLike", "aws:PrincipalArn", &["arn:aws:iam::*:role/*"], false),
            ("ArnNotEquals", "aws:PrincipalArn", &["arn:aws:iam::*:role/*"], false),
            ("ArnNotEquals", "aws:PrincipalArn", &["arn:aws:iam::*:user/*"], true),
            ("ArnNotLike", "aws:PrincipalArn", &["arn:aws:iam::*:user/*"], true),
            (
                "ArnEquals",
                "aws:PrincipalArn",
                &["arn:aws:iam::123456789012:role/${aws:PrincipalTag/none}*"],
                true,
            ),
            (
                "ArnEquals",
                "aws:PrincipalArn",
                &["arn:aws:iam::123456789012:role/${aws:username}*"],
                false,
            ),
            ("Bool", "aws:SecureTransport", &["TRUE"], true),
            ("Bool", "aws:SecureTransport", &["${aws:SecureTransport}"], true),
            ("Bool", "aws:username", &["true"], false),
            ("BinaryEquals", "b", &["QUJE"], false),
            ("StringEqualsIgnoreCase", "aws:username", &["anne"], false),
            ("StringNotEqualsIgnoreCase", "aws:username", &["bob"], true),
            ("StringNotLike", "aws:username", &["B*", "a*"], true),
            ("IpAddress", "aws:SourceIp", &["10.0.0.0/8", "203.0.113.7"], true),
            ("IpAddress", "aws:SourceIp", &["203.0.113.8/29"], false),
            ("NotIpAddress", "aws:SourceIp", &["203.0.113.8/29"], true),
            ("IpAddress", "aws:username", &["0.0.0.0/0"], false),
            ("NumericLessThanIfExists", "aws:nobody", &["1"], true),
            ("ForAllValues:StringEquals", "aws:nobody", &["a"], true),
            ("ForAnyValue:StringNotEquals", "aws:nobody", &["a"], false),
            ("Null", "aws:username", &["true"], false),
            ("Null", "aws:nobody", &["false"], false),
            ("Null", "aws:username", &["false"], true),
            ("Null", "aws:username", &["true", "false"], true),
            ("Null", "aws:nobody", &["true"], true),
            ("Null", "dynamodb:Attributes", &["true"], true),
            ("Null", "dynamodb:LeadingKeys", &["false"], true),
        ] {
            assert_eq!(holds(operator, key, values), expect, "{operator} {key} {values:?}");
        }
    }

    /// The request has 12.5 and the first moment of 2026; the policy has less, as much and more.
    #[test]
    fn orders() {
        for (order, expect) in [
            ("Equals", [false, true, false]),
            ("NotEquals", [true, false, true]),
            ("LessThan", [false, false, true]),
            ("LessThanEquals", [false, true, true]),
            ("GreaterThan", [true, false, false]),
            ("GreaterThanEquals", [true, true, false]),
        ] {
            for (kind, key, values) in [
                ("Numeric", "n", ["12.4", "12.500", "12.6"]),
                (
                    "Date",
                    "aws:CurrentTime",
                    ["2025-12-31T23:59:59.999Z", "2026-01-01", "2026-01-01T00:00:00.001Z"],
                ),
                ("Date", "aws:EpochTime", ["1767225599", "1767225600", "1767225601"]),
            ] {
                let found = values.map(|value| holds(&format!("{kind}{order}"), key, &[value]));
                assert_eq!(found, expect, "{kind}{order} {key}");
            }
            // Blanks around a number or a date do not count.
            for (kind, key, value) in [("Numeric", "n", " 12.5 "), ("Date", "aws:CurrentTime", " 2026-01-01 ")] {
                assert_eq!(
                    holds(&format!("{kind}{order}"), key, &[value]),
                    expect[1],
                    "{kind}{order}"
                );
            }
            // Of a value of another type no comparison holds.
            let negated = order == "NotEquals";
            assert_eq!(
                holds(&format!("Numeric{order}"), "aws:username", &["12.5"]),
                negated,
                "{order}"
            );
            assert_eq!(
                holds(&format!("Date{order}"), "aws:username", &["2026"]),
                negated,
                "{order}"
            );
        }
    }

    #[test]
    fn operators_take_values_of_their_type() {
        let (text, arn, flag) = ("text", "arn:aws:iam::1:user/a", "true");
        let (number, date, bytes, network) = ("-1.5", "2026-01-01", "QUI=", "10.0.0.0/8");
        let all = [text, arn, flag, number, date, bytes, network, "*", "*:x"];
        for (operator, valid, takes_variables) in [
            ("StringEquals", &all[..], true),
            ("StringNotEquals", &all, true),
            ("StringEqualsIgnoreCase", &all, true),
            ("StringNotEqualsIgnoreCase", &all, true),
            ("StringLike", &all, true),
            ("StringNotLike", &all, true),
            ("ArnEquals", &[arn, "*", "*:x"], true),
            ("ArnNotEquals", &[arn, "*", "*:x"], true),
            ("ArnLike", &[arn, "*", "*:x"], true),
            ("ArnNotLike", &[arn, "*", "*:x"], true),
            ("Bool", &[flag], true),
            ("Null", &[flag], false),
            ("NumericEquals", &[number], false),
            ("NumericLessThan", &[number], false),
            ("DateNotEquals", &[date], false),
            ("DateGreaterThan", &[date], false),
            ("BinaryEquals", &[text, flag, bytes], false),
            ("IpAddress", &[network], false),
            ("NotIpAddress", &[network], false),
        ] {
            let read = ConditionOperator::parse(operator).unwrap();
            assert_eq!(read.takes_variables(), takes_variables, "{operator}");
            for value in all {
                let expect = valid.contains(&value);
                assert_eq!(read.check_value(value).is_ok(), expect, "{operator} {value}");
            }
        }
    }

    #[test]
    fn multivalued_keys() {
        for (operator, key, values, expect) in [
            ("StringEquals", "dynamodb:LeadingKeys", &["ann", "bob"][..], false),
            ("StringNotEquals", "dynamodb:LeadingKeys", &["x"], false),
            ("StringEqualsIfExists", "dynamodb:LeadingKeys", &["ann", "bob"], false),
            (
                "ForAllValues:StringEquals",
                "dynamodb:LeadingKeys",
                &["ann", "bob", "cid"],
                true,
            ),
            ("ForAllValues:StringEquals", "dynamodb:LeadingKeys", &["ann"], false),
            ("ForAnyValue:StringEquals", "dynamodb:LeadingKeys", &["ann"], true),
            ("ForAnyValue:StringEquals", "dynamodb:LeadingKeys", &["cid"], false),
            ("ForAllValues:StringNotEquals", "dynamodb:LeadingKeys", &["ann"], false),
            ("ForAllValues:StringNotLike", "dynamodb:LeadingKeys", &["c*"], true),
            ("ForAnyValue:StringNotEquals", "dynamodb:LeadingKeys", &["ann"], true),
            (
                "ForAnyValue:StringNotEquals",
                "dynamodb:LeadingKeys",
                &["ann", "bob"],
                false,
            ),
            ("ForAllValues:StringEquals", "dynamodb:Attributes", &["ann"], true),
            ("ForAnyValue:StringEquals", "dynamodb:Attributes", &["ann"], false),
            (
                "ForAnyValue:StringEqualsIfExists",
                "dynamodb:Attributes",
                &["ann"],
                true,
            ),
            ("ForAllValues:StringNotLike", "dynamodb:Attributes", &["ann"], true),
            ("ForAnyValue:StringNotLike", "dynamodb:Attributes", &["ann"], false),
            ("ForAllValues:StringEquals", "aws:TagKeys", &["ann"], true),
            ("ForAnyValue:StringEquals", "aws:TagKeys", &[""], false),
            ("ForAnyValue:StringNotEquals", "aws:TagKeys", &["ann"], false),
            ("ForAnyValue:StringEqualsIfExists", "aws:TagKeys", &["ann"], false),
            ("ForAllValues:StringEquals", "aws:PrincipalTag/none", &["x"], true),
            ("StringEquals", "aws:PrincipalTag/none", &[""], true),
            ("Null", "aws:PrincipalTag/none", &["false"], true),
            ("ForAnyValue:StringEquals", "aws:username", &["Ann"], true),
            ("ForAllValues:StringEquals", "aws:username", &["Bob"], false),
        ] {
            assert_eq!(holds(operator, key, values), expect, "{operator} {key} {values:?}");
        }
    }

    #[test]
    fn names() {
        for name in [
            "",
            "Equals",
            "stringequals",
            "NullIfExists",
            "ForSome:StringEquals",
            "ForAllValues:",
            "StringEqualsifexists",
        ] {
            assert_eq!(ConditionOperator::parse(name), None, "{name}");
        }
        assert_eq!(OPERATORS.len(), 27);
    }
}
