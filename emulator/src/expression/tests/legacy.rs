//! The legacy parameters.

use super::super::{KeyOperator, legacy};
use super::{item, message, value};
use crate::error::ApiError;
use crate::request::{AttributeUpdate, Expected, LegacyCondition};
use crate::value::{AttributeValue, Item, Map, Name};

fn stored() -> Map {
    item(&[
        ("pk", "'p"),
        ("n", "5"),
        ("s", "'abc"),
        ("nul", "null"),
        ("ss", "SS|a b"),
        ("l", "L|1 'x"),
        ("a.b", "1"),
    ])
}

fn values(texts: &[&str]) -> Vec<AttributeValue> {
    texts.iter().map(|text| value(text)).collect()
}

fn condition(name: &str, operator: &str, arguments: &[&str]) -> (Name, LegacyCondition) {
    let list = (!arguments.is_empty()).then(|| values(arguments));
    let condition = LegacyCondition {
        attribute_value_list: list,
        comparison_operator: (!operator.is_empty()).then(|| operator.into()),
    };
    (name.into(), condition)
}

fn error_text<T>(result: Result<T, ApiError>) -> String {
    result.err().map(message).unwrap_or_default()
}

#[test]
fn filters() {
    for (name, operator, arguments, expected) in [
        ("n", "EQ", &["5.0"][..], true),
        ("zz", "EQ", &["5"], false),
        ("n", "NE", &["'5"], true),
        ("zz", "NE", &["5"], true),
        ("n", "NE", &["5"], false),
        ("n", "LE", &["5"], true),
        ("n", "LT", &["5"], false),
        ("n", "GE", &["5"], true),
        ("n", "GT", &["4"], true),
        ("zz", "LT", &["5"], false),
        ("n", "BETWEEN", &["1", "5"], true),
        ("s", "IN", &["'x", "'abc"], true),
        ("zz", "IN", &["'x"], false),
        ("s", "BEGINS_WITH", &["'ab"], true),
        ("s", "CONTAINS", &["'bc"], true),
        ("ss", "CONTAINS", &["'a"], true),
        ("l", "CONTAINS", &["'x"], true),
        ("s", "NOT_CONTAINS", &["'zz"], true),
        ("s", "NOT_CONTAINS", &["'b"], false),
        ("zz", "NOT_CONTAINS", &["'b"], false),
        ("zz", "NULL", &[], true),
        ("nul", "NULL", &[], false),
        ("nul", "NOT_NULL", &[], true),
        ("zz", "NOT_NULL", &[], false),
        ("a.b", "EQ", &["1"], true),
        ("ss", "EQ", &["SS|b a"], true),
    ] {
        let filter = vec![condition(name, operator, arguments)];
        let lowered = legacy::filter("scanFilter", Some(&filter), None).unwrap();
        assert_eq!(
            lowered.matches(Some(&stored())),
            expected,
            "{name} {operator} {arguments:?}"
        );
        assert_eq!(
            lowered.paths().map(|path| path.name().to_owned()).collect::<Vec<_>>(),
            [name]
        );
    }
}

#[test]
fn connectives() {
    let (yes, no) = (
        condition("s", "NOT_CONTAINS", &["'z"]),
        condition("zz", "NOT_CONTAINS", &["'z"]),
    );
    for (filter, operator, expected) in [
        (vec![yes.clone(), yes.clone(), no.clone()], None, false),
        (vec![yes.clone(), yes.clone(), no.clone()], Some("OR"), true),
        (vec![no.clone(), yes.clone()], Some("AND"), false),
        (vec![no.clone(), yes.clone()], Some("OR"), true),
        (vec![no.clone(), no.clone()], Some("OR"), false),
        (vec![yes.clone(), yes.clone()], Some("AND"), true),
        (vec![], None, true),
    ] {
        let lowered = legacy::filter("queryFilter", Some(&filter), operator).unwrap();
        assert_eq!(lowered.matches(Some(&stored())), expected, "{filter:?} {operator:?}");
    }
    let check = |count: usize, operator: &str, expected: &str| {
        let filter = vec![yes.clone(); count];
        assert_eq!(
            error_text(legacy::filter("scanFilter", Some(&filter), Some(operator))),
            expected
        );
    };
    check(
        0,
        "AND",
        "ConditionalOperator cannot be used without Filter or Expected",
    );
    check(
        1,
        "BAD",
        "ConditionalOperator can only be used when Filter or Expected has two or more elements",
    );
    check(
        2,
        "BAD",
        "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]",
    );
    let without = legacy::expected(None, Some("OR"));
    assert_eq!(
        error_text(without),
        "ConditionalOperator cannot be used without Filter or Expected"
    );
}

#[test]
fn faults_of_arguments() {
    const OMPV: &str = "One or more parameter values were invalid: ";
    for (operator, arguments, expected) in [
        (
            "EQ",
            &["1", "2"][..],
            "Invalid number of argument(s) for the EQ ComparisonOperator",
        ),
        (
            "NULL",
            &["1"],
            "Invalid number of argument(s) for the NULL ComparisonOperator",
        ),
        (
            "BETWEEN",
            &["1"],
            "Invalid number of argument(s) for the BETWEEN ComparisonOperator",
        ),
        ("IN", &[], "Invalid number of argument(s) for the IN ComparisonOperator"),
        (
            "LT",
            &["L|1"],
            "ComparisonOperator LT is not valid for L AttributeValue type",
        ),
        (
            "BEGINS_WITH",
            &["1"],
            "ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type",
        ),
        (
            "CONTAINS",
            &["SS|a"],
            "ComparisonOperator CONTAINS is not valid for SS AttributeValue type",
        ),
        (
            "IN",
            &["1", "'a"],
            "AttributeValues inside AttributeValueList must be of same type",
        ),
        (
            "IN",
            &["1", "2", "'a"],
            "AttributeValues inside AttributeValueList must be of same type",
        ),
        (
            "BETWEEN",
            &["1", "'a"],
            "AttributeValues inside AttributeValueList must be of same type",
        ),
        ("LIKE", &["1"], "Invalid comparison operator"),
    ] {
        let filter = vec![condition("a", operator, arguments)];
        assert_eq!(
            error_text(legacy::filter("scanFilter", Some(&filter), None)),
            format!("{OMPV}{expected}")
        );
    }
    for bounds in [["2", "1"], ["'b", "'a"], ["B|b", "B|a"]] {
        let reversed = vec![condition("a", "BETWEEN", &bounds)];
        assert_eq!(
            error_text(legacy::filter("scanFilter", Some(&reversed), None)),
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound",
            "{bounds:?}"
        );
    }
}

#[test]
fn comparisons_take_arguments_of_their_types() {
    const SCALAR: &str = "S N B";
    const ALL: &str = "S N B BOOL NULL L M SS NS BS";
    for (operator, fits) in [
        ("EQ", ALL),
        ("NE", ALL),
        ("LE", SCALAR),
        ("LT", SCALAR),
        ("GE", SCALAR),
        ("GT", SCALAR),
        ("BETWEEN", SCALAR),
        ("IN", SCALAR),
        ("BEGINS_WITH", "S B"),
        ("CONTAINS", "S N B BOOL NULL"),
        ("NOT_CONTAINS", "S N B BOOL NULL"),
    ] {
        for argument in ["'a", "1", "B|a", "true", "null", "L|1", "M|a=1", "SS|a", "NS|1", "BS|a"] {
            let kind = value(argument).kind().name();
            let arguments = vec![argument; if operator == "BETWEEN" { 2 } else { 1 }];
            let filter = vec![condition("a", operator, &arguments)];
            let expected = if fits.split(' ').any(|fit| fit == kind) {
                String::new()
            } else {
                format!(
                    "One or more parameter values were invalid: ComparisonOperator {operator} is not valid for {kind} AttributeValue type"
                )
            };
            let found = error_text(legacy::filter("scanFilter", Some(&filter), None));
            assert_eq!(found, expected, "{operator} {argument}");
        }
    }
    for (operator, counts) in [
        ("NULL", &[0][..]),
        ("NOT_NULL", &[0]),
        ("EQ", &[1]),
        ("NOT_CONTAINS", &[1]),
        ("BETWEEN", &[2]),
        ("IN", &[1, 2, 3]),
    ] {
        for count in 0..4 {
            let filter = vec![condition("a", operator, &["1", "2", "3"][..count])];
            let found = legacy::filter("scanFilter", Some(&filter), None).is_ok();
            assert_eq!(found, counts.contains(&count), "{operator} {count}");
        }
    }
}

#[test]
fn expectations() {
    let expected =
        |value: Option<&str>, exists: Option<bool>, operator: Option<&str>, list: Option<&[&str]>| Expected {
            value: value.map(super::value),
            exists,
            comparison_operator: operator.map(Into::into),
            attribute_value_list: list.map(values),
        };
    let lower = |expected: Expected| {
        let map = vec![("a".into(), expected)];
        legacy::expected(Some(&map), None)
            .map(|condition| (condition.matches(None), condition.matches(Some(&item(&[("a", "1")])))))
    };
    for (case, truth) in [
        (expected(Some("1"), None, None, None), (false, true)),
        (expected(Some("1.0"), Some(true), None, None), (false, true)),
        (expected(None, Some(false), None, None), (true, false)),
        (expected(Some("2"), None, Some("LT"), None), (false, true)),
        (expected(None, None, Some("IN"), Some(&["2", "1"])), (false, true)),
        (expected(None, None, Some("NULL"), None), (true, false)),
    ] {
        assert_eq!(lower(case.clone()), Ok(truth), "{case:?}");
    }
    for (case, text) in [
        (
            expected(None, Some(true), None, None),
            "Value must be provided when Exists is true for Attribute: a",
        ),
        (
            expected(None, None, None, None),
            "Value must be provided when Exists is null for Attribute: a",
        ),
        (
            expected(Some("1"), Some(false), None, None),
            "Value cannot be used when Exists is false for Attribute: a",
        ),
        (
            expected(None, None, Some("EQ"), None),
            "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: a",
        ),
        (
            expected(Some("1"), None, Some("EQ"), Some(&["1"])),
            "Value and AttributeValueList cannot be used together for Attribute: a",
        ),
        (
            expected(Some("1"), Some(false), None, Some(&["1"])),
            "Value and AttributeValueList cannot be used together for Attribute: a",
        ),
        (
            expected(Some("1"), Some(true), Some("EQ"), None),
            "Exists and ComparisonOperator cannot be used together for Attribute: a",
        ),
        (
            expected(None, None, None, Some(&["1"])),
            "AttributeValueList can only be used with a ComparisonOperator for Attribute: a",
        ),
    ] {
        assert_eq!(
            error_text(lower(case)),
            format!("One or more parameter values were invalid: {text}")
        );
    }
}

#[test]
fn keys() {
    let conditions = [condition("pk", "EQ", &["'p"]), condition("sk", "BETWEEN", &["1", "2"])];
    let lowered = legacy::key_conditions(&conditions).unwrap();
    let names: Vec<&str> = lowered.clauses.iter().map(|clause| clause.name.as_str()).collect();
    assert_eq!(names, ["pk", "sk"]);
    assert_eq!(
        lowered.clauses[1].operator,
        KeyOperator::Between(&value("1"), &value("2"))
    );
    for (operator, expect) in [
        ("EQ", KeyOperator::Eq(&value("1"))),
        ("LT", KeyOperator::Lt(&value("1"))),
        ("LE", KeyOperator::Le(&value("1"))),
        ("GT", KeyOperator::Gt(&value("1"))),
        ("GE", KeyOperator::Ge(&value("1"))),
    ] {
        let conditions = [condition("pk", operator, &["1"])];
        let lowered = legacy::key_conditions(&conditions).unwrap();
        assert_eq!(lowered.clauses[0].operator, expect, "{operator}");
    }
    let begins = [condition("pk", "BEGINS_WITH", &["B|a"])];
    let lowered = legacy::key_conditions(&begins).unwrap();
    assert_eq!(lowered.clauses[0].operator, KeyOperator::BeginsWith(&value("B|a")));
    for (operator, arguments) in [
        ("NE", &["1"][..]),
        ("NULL", &[]),
        ("IN", &["1", "2"]),
        ("CONTAINS", &["1"]),
        ("NOT_CONTAINS", &["1"]),
        ("NOT_NULL", &[]),
    ] {
        let conditions = [condition("sk", operator, arguments)];
        let lowered = legacy::key_conditions(&conditions).unwrap();
        let first = arguments.first().map(|argument| value(argument));
        let expect = KeyOperator::NotIndexable(first.as_ref());
        assert_eq!(lowered.clauses[0].operator, expect, "{operator}");
    }
    for (case, expected) in [
        (
            condition("pk", "", &["1"]),
            "1 validation error detected: Value null at 'keyConditions.pk.member.comparisonOperator' failed to satisfy constraint: Member must not be null",
        ),
        (
            condition("sk", "BEGINS_WITH", &["1"]),
            "One or more parameter values were invalid: ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type",
        ),
    ] {
        assert_eq!(error_text(legacy::key_conditions(&[case])), expected);
    }
}

#[test]
fn updates() {
    let update = |name: &str, action: &str, argument: &str| {
        let update = AttributeUpdate {
            value: (!argument.is_empty()).then(|| value(argument)),
            action: (!action.is_empty()).then(|| action.into()),
        };
        (Name::new(name), update)
    };
    let apply = |updates: &[(Name, AttributeUpdate)], old: Option<&Map>| {
        legacy::attribute_updates(updates).and_then(|lowered| lowered.apply(old, &item(&[("pk", "'p")])))
    };
    for (name, action, argument, expected) in [
        ("n", "", "7", Some("7")),
        ("a.b", "PUT", "7", Some("7")),
        ("n", "DELETE", "", None),
        ("zz", "DELETE", "", None),
        ("ss", "DELETE", "SS|a", Some("SS|b")),
        ("ss", "DELETE", "SS|a b", None),
        ("n", "ADD", "7", Some("12")),
        ("ss", "ADD", "SS|c", Some("SS|a b c")),
        ("l", "ADD", "L|2", Some("L|1 'x 2")),
        ("zz", "ADD", "L|2", Some("L|2")),
    ] {
        let updates = [update(name, action, argument)];
        let new = apply(&updates, Some(&stored())).unwrap().unwrap();
        assert_eq!(
            new.get(name),
            expected.map(value).as_ref(),
            "{name} {action} {argument}"
        );
    }
    const OMPV: &str = "One or more parameter values were invalid: ";
    for argument in ["'a", "1", "B|a", "true", "null", "L|1", "M|a=1", "SS|a", "NS|1", "BS|a"] {
        let kind = value(argument).kind().name();
        for (action, fits, text) in [
            ("PUT", "S N B BOOL NULL L M SS NS BS", ""),
            ("ADD", "N L SS NS BS", "ADD action is not supported for the type"),
            (
                "DELETE",
                "SS NS BS",
                "DELETE action with value is not supported for the type",
            ),
        ] {
            let found = error_text(apply(&[update("new", action, argument)], Some(&stored())));
            let expected = if fits.split(' ').any(|fit| fit == kind) {
                String::new()
            } else {
                format!("{OMPV}{text} {kind}")
            };
            assert_eq!(found, expected, "{action} {argument}");
        }
    }
    for (old, action, argument, new) in [
        ("NS|1 2", "DELETE", "NS|2.0", Some("NS|1")),
        ("NS|1 2", "ADD", "NS|2 3", Some("NS|1 2 3")),
        ("BS|a b", "DELETE", "BS|a c", Some("BS|b")),
        ("BS|a b", "DELETE", "BS|a b", None),
        ("BS|a b", "ADD", "BS|c", Some("BS|a b c")),
    ] {
        let updates = [update("x", action, argument)];
        let result = apply(&updates, Some(&item(&[("x", old)]))).unwrap().unwrap();
        assert_eq!(result.get("x"), new.map(value).as_ref(), "{old} {action} {argument}");
    }
    for (case, expected) in [
        (
            update("n", "ADD", "SS|a"),
            "Type mismatch for attribute to update".to_owned(),
        ),
        (
            update("n", "DELETE", "SS|a"),
            "Type mismatch for attribute to update".to_owned(),
        ),
        (
            update("n", "ADD", "'a"),
            format!("{OMPV}ADD action is not supported for the type S"),
        ),
        (
            update("n", "DELETE", "L|1"),
            format!("{OMPV}DELETE action with value is not supported for the type L"),
        ),
        (
            update("n", "PUT", ""),
            format!("{OMPV}Only DELETE action is allowed when no attribute value is specified"),
        ),
        (
            update("n", "ADD", ""),
            format!("{OMPV}Only DELETE action is allowed when no attribute value is specified"),
        ),
    ] {
        assert_eq!(error_text(apply(&[case], Some(&stored()))), expected);
    }
    assert_eq!(apply(&[update("n", "DELETE", "")], None), Ok(None));
    assert_eq!(apply(&[], None), Ok(Some(item(&[("pk", "'p")]))));
    let lowered = [update("n", "", "7"), update("zz", "DELETE", "")];
    assert_eq!(
        legacy::attribute_updates(&lowered)
            .unwrap()
            .touched(&Item::new(&stored())),
        item(&[("n", "5")])
    );
}

#[test]
fn attributes_to_get() {
    let names: Vec<Name> = vec!["n".into(), "a.b".into(), "zz".into()];
    let projection = legacy::attributes_to_get(&names).unwrap();
    assert_eq!(projection.apply(&stored()), item(&[("n", "5"), ("a.b", "1")]));
    assert_eq!(
        error_text(legacy::attributes_to_get(&["a".into(), "b".into(), "a".into()])),
        "One or more parameter values were invalid: Duplicate value in attribute name: a"
    );
}
