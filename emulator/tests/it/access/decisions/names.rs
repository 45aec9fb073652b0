//! Actions, resources, and variables in resources and values.

use serde_json::json;

use super::{TABLE, allows};

#[test]
fn actions_and_resources() {
    const INDEX: &str = "arn:aws:dynamodb:us-east-1:111122223333:table/Books/index/by-title";
    let all = || json!("*");
    for (actions, resources, action, resource, expect) in [
        // Actions ignore case and take wildcards; resources do not ignore case.
        (json!("dynamodb:GetItem"), all(), "dynamodb:GetItem", TABLE, true),
        (json!("DYNAMODB:getitem"), all(), "dynamodb:GetItem", TABLE, true),
        (json!("dynamodb:*Item"), all(), "dynamodb:BatchGetItem", TABLE, true),
        (json!("dynamodb:Get*"), all(), "dynamodb:BatchGetItem", TABLE, false),
        (json!("dynamodb:GetIte?"), all(), "dynamodb:GetItem", TABLE, true),
        (json!("dynamodb:*"), all(), "dynamodb:PartiQLSelect", TABLE, true),
        (json!("dax:GetItem"), all(), "dynamodb:GetItem", TABLE, false),
        (
            json!(["dynamodb:PutItem", "dynamodb:GetItem"]),
            all(),
            "dynamodb:GetItem",
            TABLE,
            true,
        ),
        (json!("*"), all(), "dynamodb:ListTables", "*", true),
        (all(), json!(TABLE), "dynamodb:GetItem", TABLE, true),
        (
            all(),
            json!("arn:aws:dynamodb:us-east-1:111122223333:table/books"),
            "dynamodb:GetItem",
            TABLE,
            false,
        ),
        (
            all(),
            json!("arn:aws:dynamodb:us-east-1:111122223333:table/B*"),
            "dynamodb:GetItem",
            TABLE,
            true,
        ),
        (
            all(),
            json!("arn:aws:dynamodb:us-east-1:111122223333:table/Book?"),
            "dynamodb:GetItem",
            TABLE,
            true,
        ),
        (
            all(),
            json!("arn:aws:dynamodb:*:*:table/Books"),
            "dynamodb:GetItem",
            TABLE,
            true,
        ),
        (
            all(),
            json!("arn:aws:dynamodb:us-*:1111????3333:table/Books"),
            "dynamodb:GetItem",
            TABLE,
            true,
        ),
        (
            all(),
            json!("arn:aws:dynamodb:eu-*:*:table/Books"),
            "dynamodb:GetItem",
            TABLE,
            false,
        ),
        (
            all(),
            json!("arn:aws:dynamodb:us-east-1:444455556666:table/Books"),
            "dynamodb:GetItem",
            TABLE,
            false,
        ),
        (
            all(),
            json!("arn:aws:dynamodb:*:table/Books"),
            "dynamodb:GetItem",
            TABLE,
            false,
        ),
        // A table's ARN does not cover its indexes; a star crosses slashes.
        (all(), json!(TABLE), "dynamodb:Query", INDEX, false),
        (all(), json!(format!("{TABLE}/index/*")), "dynamodb:Query", INDEX, true),
        (all(), json!(format!("{TABLE}/index/*")), "dynamodb:Query", TABLE, false),
        (all(), json!(format!("{TABLE}*")), "dynamodb:Query", INDEX, true),
        (
            all(),
            json!("arn:aws:dynamodb:*:*:table/*"),
            "dynamodb:Query",
            INDEX,
            true,
        ),
        (
            all(),
            json!([TABLE, format!("{TABLE}/index/by-title")]),
            "dynamodb:Query",
            INDEX,
            true,
        ),
        // What has no resource-level permissions needs a star.
        (
            json!("dynamodb:ListTables"),
            json!(TABLE),
            "dynamodb:ListTables",
            "*",
            false,
        ),
        (
            json!("dynamodb:ListTables"),
            json!("arn:aws:dynamodb:*:*:*"),
            "dynamodb:ListTables",
            "*",
            false,
        ),
        // A short ARN is filled up with wildcards.
        (all(), json!("arn:aws:dynamodb"), "dynamodb:GetItem", TABLE, true),
        (
            all(),
            json!("arn:aws:dynamodb:us-east-1"),
            "dynamodb:GetItem",
            TABLE,
            true,
        ),
        (all(), json!("arn:aws:s3"), "dynamodb:GetItem", TABLE, false),
    ] {
        let mut forms = vec![("Action", "Resource", expect)];
        if resources == all() && actions != all() {
            forms.push(("NotAction", "Resource", !expect));
        }
        if actions == all() && resources != all() {
            forms.push(("Action", "NotResource", !expect));
        }
        for (of_action, of_resource, expect) in forms {
            let statement = json!({of_action: actions, of_resource: resources});
            let found = allows("2012-10-17", &statement, (action, resource), &json!({}));
            assert_eq!(found, expect, "{statement} {action} {resource}");
        }
    }
}

#[test]
fn variables() {
    let request = json!({"aws:username": "ann", "aws:PrincipalTag/team": "blue", "aws:PrincipalTag/star": "*",
        "aws:TagKeys": ["ann"], "dynamodb:LeadingKeys": ["ann"], "aws:PrincipalTag/table": "Books", "aws:userid": "AIDA1"});
    let leading = |value: &str| json!({"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": value}});
    let like = |value: &str| json!({"StringLike": {"aws:username": value}});
    let arn = |path: &str| format!("arn:aws:dynamodb:us-east-1:111122223333:table/{path}");
    for (resource, condition, expect) in [
        (arn("Books"), leading("${aws:username}"), true),
        (arn("Books"), leading("${AWS:UserName}"), true),
        (arn("Books"), leading("${aws:PrincipalTag/team}"), false),
        (arn("Books"), leading("${aws:PrincipalTag/none}"), false),
        (arn("Books"), leading("${aws:PrincipalTag/none, 'ann'}"), true),
        (arn("Books"), leading("${aws:username, 'bob'}"), true),
        (arn("Books"), leading("${aws:PrincipalTag/none, 'bob'}"), false),
        (
            arn("Books"),
            json!({"StringNotEquals": {"aws:username": "${aws:PrincipalTag/none}"}}),
            true,
        ),
        // A multivalued key has no value as a variable.
        (arn("Books"), like("${aws:TagKeys}"), false),
        (arn("Books"), like("${aws:PrincipalTag/star}"), false),
        (arn("Books"), like("a${*}"), false),
        (arn("Books"), like("a*"), true),
        (arn("Books"), like("${aws:username}*"), true),
        (arn("${aws:PrincipalTag/table}"), like("*"), true),
        (arn("${aws:PrincipalTag/team}"), like("*"), false),
        (arn("${aws:PrincipalTag/none}"), like("*"), false),
        (arn("${aws:PrincipalTag/none, 'Books'}"), like("*"), true),
        // Each variable has its own default, which ends at the next quote.
        (
            arn("${aws:PrincipalTag/none, 'Bo'}${aws:PrincipalTag/none, 'oks'}"),
            like("*"),
            true,
        ),
        (
            arn("${aws:PrincipalTag/none, 'Bo'}${aws:PrincipalTag/none, 'ok'}"),
            like("*"),
            false,
        ),
        (
            arn("Books"),
            like("${aws:PrincipalTag/none, 'a'}${aws:PrincipalTag/none, 'nn'}"),
            true,
        ),
        (arn("Books"), like("${aws:PrincipalTag/none, 'ann'}'s"), false),
        (arn("${aws:PrincipalTag/star}"), like("*"), false),
        (arn("B${*}"), like("*"), false),
        (arn("${aws:PrincipalTag/table}*"), like("*"), true),
    ] {
        let statement = json!({"Action": "*", "Resource": resource, "Condition": condition});
        let found = allows("2012-10-17", &statement, ("dynamodb:GetItem", TABLE), &request);
        assert_eq!(found, expect, "{statement}");
        // Before version 2012-10-17 a variable is a literal text.
        let is_literal = statement.to_string().contains("${");
        let found = allows("2008-10-17", &statement, ("dynamodb:GetItem", TABLE), &request);
        let negated = statement.to_string().contains("StringNotEquals");
        assert_eq!(
            found,
            if is_literal { negated } else { expect },
            "2008-10-17 {statement}"
        );
    }
}
