//! Set operators on multivalued keys.

use serde_json::{Value, json};

use super::check_conditions;

#[test]
fn set_operators() {
    const KEYS: &str = "dynamodb:LeadingKeys";
    const ATTRIBUTES: &str = "dynamodb:Attributes";
    const ENCLOSING: &str = "dynamodb:EnclosingOperation";
    let (all, any) = ("ForAllValues:StringEquals", "ForAnyValue:StringEquals");
    let (all_not, any_not) = ("ForAllValues:StringNotEquals", "ForAnyValue:StringNotEquals");
    let none = || Value::Null;
    check_conditions(&[
        // Every value of the request matches one of the policy.
        (all, ATTRIBUTES, json!(["a", "b", "c"]), json!(["a", "b"]), true),
        (all, ATTRIBUTES, json!(["a", "b", "c"]), json!(["a", "d"]), false),
        (all, ATTRIBUTES, json!(["a"]), json!(["a", "a"]), true),
        (all, ATTRIBUTES, json!("a"), json!(["A"]), false),
        (
            "ForAllValues:StringEqualsIgnoreCase",
            ATTRIBUTES,
            json!("a"),
            json!(["A"]),
            true,
        ),
        (
            "ForAllValues:StringLike",
            ATTRIBUTES,
            json!(["pre*", "id"]),
            json!(["prefix", "id"]),
            true,
        ),
        (
            "ForAllValues:StringLike",
            ATTRIBUTES,
            json!(["pre*"]),
            json!(["prefix", "id"]),
            false,
        ),
        (all, ATTRIBUTES, json!(["pre*"]), json!(["prefix"]), false),
        // An absent key or an empty set: all do, none does.
        (all, KEYS, json!("a"), none(), true),
        (all, KEYS, json!("a"), json!([]), true),
        (all, KEYS, json!("a"), json!([""]), true),
        (any, KEYS, json!("a"), none(), false),
        (any, KEYS, json!("a"), json!([]), false),
        (any, KEYS, json!(""), json!([""]), false),
        (any_not, KEYS, json!("a"), none(), false),
        (any_not, KEYS, json!("a"), json!([""]), false),
        // An empty string in a list is a value.
        (all, KEYS, json!("a"), json!(["", "a"]), false),
        (all, KEYS, json!(["", "a"]), json!(["", "a"]), true),
        (any, KEYS, json!("a"), json!(["", "a"]), true),
        (any_not, KEYS, json!("a"), json!(["a", ""]), true),
        (all_not, KEYS, json!("a"), none(), true),
        ("ForAllValues:StringNotLike", KEYS, json!("*"), none(), true),
        ("ForAllValues:StringEqualsIfExists", KEYS, json!("a"), none(), true),
        (
            "ForAllValues:StringEqualsIfExists",
            KEYS,
            json!("a"),
            json!(["b"]),
            false,
        ),
        ("ForAnyValue:StringEqualsIfExists", KEYS, json!("a"), none(), true),
        (
            "ForAnyValue:StringEqualsIfExists",
            KEYS,
            json!("a"),
            json!(["a", "b"]),
            true,
        ),
        (
            "ForAnyValue:StringEqualsIfExists",
            KEYS,
            json!("a"),
            json!(["b"]),
            false,
        ),
        // One value of the request matches one of the policy.
        (any, ATTRIBUTES, json!(["ssn", "card"]), json!(["id", "card"]), true),
        (any, ATTRIBUTES, json!(["ssn", "card"]), json!(["id", "name"]), false),
        (
            "ForAnyValue:StringLike",
            ATTRIBUTES,
            json!("s*"),
            json!(["id", "ssn"]),
            true,
        ),
        // Negated: no value of the request is in the policy; one is not in it.
        (all_not, ATTRIBUTES, json!(["ssn", "card"]), json!(["id", "name"]), true),
        (all_not, ATTRIBUTES, json!(["ssn", "card"]), json!(["id", "ssn"]), false),
        (
            "ForAllValues:StringNotLike",
            ATTRIBUTES,
            json!("s*"),
            json!(["id", "ssn"]),
            false,
        ),
        (any_not, ATTRIBUTES, json!(["ssn", "card"]), json!(["ssn", "id"]), true),
        (
            any_not,
            ATTRIBUTES,
            json!(["ssn", "card"]),
            json!(["ssn", "card"]),
            false,
        ),
        // A bare operator never matches a multivalued key.
        ("StringEquals", KEYS, json!("a"), json!(["a"]), false),
        ("StringNotEquals", KEYS, json!("b"), json!(["a"]), false),
        ("StringLike", ATTRIBUTES, json!("*"), json!(["a"]), false),
        ("StringEqualsIfExists", ATTRIBUTES, json!("a"), json!(["a"]), false),
        ("StringEqualsIfExists", ATTRIBUTES, json!("a"), none(), true),
        // A set operator takes a single value as a set of one.
        (
            any,
            ENCLOSING,
            json!(["TransactWriteItems"]),
            json!("TransactWriteItems"),
            true,
        ),
        (
            any,
            ENCLOSING,
            json!(["TransactWriteItems"]),
            json!("TransactGetItems"),
            false,
        ),
        (all, ENCLOSING, json!(["TransactWriteItems"]), none(), true),
        (
            "ForAllValues:StringLike",
            "aws:TagKeys",
            json!(["team", "cost-*"]),
            json!(["team", "cost-center"]),
            true,
        ),
        (
            "ForAnyValue:StringLike",
            "aws:PrincipalOrgPaths",
            json!("o-1/r-1/ou-1/*"),
            json!(["o-1/r-1/ou-1/ou-2/"]),
            true,
        ),
    ]);
}
