//! The set operators `ForAllValues` and `ForAnyValue`.

use serde_json::{Value, json};

use super::super::TABLE;
use super::{By, YES, check};

/// "Set operators for multivalued context keys".
#[test]
fn sets() {
    let keys = |values: Value| json!({"aws:TagKeys": values});
    let row = |operator: &str, own: Value, request, holds: bool| {
        let policies = json!({"identity": [{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {operator: {"aws:TagKeys": own}}}]});
        let expect = if holds { YES } else { "no Identity" };
        ("", By::User, policies, "dynamodb:TagResource", TABLE, request, expect)
    };
    check(&[
        row("ForAllValues:StringEquals", json!(["a", "b"]), keys(json!(["a"])), true),
        row(
            "ForAllValues:StringEquals",
            json!(["a", "b"]),
            keys(json!(["a", "b"])),
            true,
        ),
        row(
            "ForAllValues:StringEquals",
            json!(["a", "b"]),
            keys(json!(["a", "c"])),
            false,
        ),
        row("ForAllValues:StringEquals", json!(["a", "b"]), json!({}), true),
        row(
            "ForAllValues:StringEquals",
            json!(["a", "b"]),
            keys(json!(["A"])),
            false,
        ),
        row(
            "ForAnyValue:StringEquals",
            json!(["a", "b"]),
            keys(json!(["a", "c"])),
            true,
        ),
        row("ForAnyValue:StringEquals", json!(["a", "b"]), keys(json!(["c"])), false),
        row("ForAnyValue:StringEquals", json!(["a", "b"]), json!({}), false),
        row(
            "ForAllValues:StringNotEquals",
            json!(["a", "b"]),
            keys(json!(["c", "d"])),
            true,
        ),
        row(
            "ForAllValues:StringNotEquals",
            json!(["a", "b"]),
            keys(json!(["a", "c"])),
            false,
        ),
        row(
            "ForAnyValue:StringNotEquals",
            json!(["a", "b"]),
            keys(json!(["a", "c"])),
            true,
        ),
        row(
            "ForAnyValue:StringNotEquals",
            json!(["a", "b"]),
            keys(json!(["a", "b"])),
            false,
        ),
        row(
            "ForAllValues:StringLike",
            json!("team-*"),
            keys(json!(["team-a", "team-b"])),
            true,
        ),
        row(
            "ForAllValues:StringLike",
            json!("team-*"),
            keys(json!(["team-a", "owner"])),
            false,
        ),
        row(
            "ForAnyValue:StringLike",
            json!("team-*"),
            keys(json!(["owner", "team-b"])),
            true,
        ),
        row(
            "ForAllValues:StringEqualsIgnoreCase",
            json!("a"),
            keys(json!(["A", "a"])),
            true,
        ),
        row("StringEquals", json!("a"), keys(json!(["a"])), false),
    ]);
}
