//! Decisions that follow from sentences of the IAM user guide and the DynamoDB developer guide.

use dynatwin_engine::access::{
    AttachedPolicy, ConditionKeys, PolicyDocument, PolicyKind, PolicySet, StatementInput, Subject,
};
use serde_json::{Value, json};

const ACCOUNT: &str = "111122223333";
const OTHER: &str = "444455556666";
const TABLE: &str = "arn:aws:dynamodb:us-east-1:111122223333:table/Books";
const USER: &str = "arn:aws:iam::111122223333:user/team/ann";
const ROLE: &str = "arn:aws:iam::111122223333:role/app/Reader";
const SESSION: &str = "arn:aws:sts::111122223333:assumed-role/Reader/s1";

fn attached(document: &Value, kind: PolicyKind) -> AttachedPolicy {
    let policy = PolicyDocument::parse(&document.to_string(), kind);
    AttachedPolicy {
        label: String::new(),
        arn: None,
        policy: policy.unwrap_or_else(|why| panic!("{why}\n{document:#}")),
    }
}

fn keys(values: &Value) -> ConditionKeys {
    let mut keys = ConditionKeys::default();
    for (name, value) in values.as_object().unwrap() {
        match value {
            Value::Array(list) => keys.set_all(name, list.iter().map(|value| value.as_str().unwrap())),
            value => keys.set(name, value.as_str().unwrap()),
        }
    }
    keys
}

/// Whether an identity-based policy with one `Allow` statement of these members allows an action on a resource.
fn allows(version: &str, members: &Value, (action, resource): (&str, &str), request: &Value) -> bool {
    let mut statement = json!({"Effect": "Allow"});
    let members = members.as_object().unwrap().clone();
    statement.as_object_mut().unwrap().extend(members);
    let identity = [attached(
        &json!({"Version": version, "Statement": statement}),
        PolicyKind::Identity,
    )];
    let policies = PolicySet {
        identity: &identity,
        resource_account: ACCOUNT,
        ..PolicySet::default()
    };
    let decision = policies.decide(&StatementInput {
        subject: &Subject::user(ACCOUNT, "/team/ann"),
        action,
        resource,
        keys: &keys(request),
    });
    decision.is_allowed()
}

/// Checks conditions: an operator, its key and values, the key's value in the request (null: absent), and whether it holds.
fn check_conditions(cases: &[(&str, &str, Value, Value, bool)]) {
    let mut wrong = Vec::new();
    for (operator, key, values, value, expect) in cases {
        let request = if value.is_null() {
            json!({})
        } else {
            json!({*key: value})
        };
        let statement = json!({"Action": "*", "Resource": "*", "Condition": {*operator: {*key: values}}});
        if allows("2012-10-17", &statement, ("dynamodb:GetItem", TABLE), &request) != *expect {
            wrong.push(format!("{operator} {key} {values} of {value}: not {expect}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn operators() {
    const SECURE: &str = "aws:SecureTransport";
    const TAG: &str = "aws:PrincipalTag/team";
    const IP: &str = "aws:SourceIp";
    const ARN: &str = "aws:PrincipalArn";
    const NOW: &str = "aws:CurrentTime";
    const AGE: &str = "aws:MultiFactorAuthAge";
    let none = || Value::Null;
    check_conditions(&[
        // An absent key matches no operator but negated ones.
        ("StringEquals", TAG, json!("blue"), none(), false),
        ("StringNotEquals", TAG, json!("blue"), none(), true),
        ("StringEqualsIgnoreCase", TAG, json!("blue"), none(), false),
        ("StringNotEqualsIgnoreCase", TAG, json!("blue"), none(), true),
        ("StringLike", TAG, json!("*"), none(), false),
        ("StringNotLike", TAG, json!("*"), none(), true),
        ("NumericEquals", AGE, json!("1"), none(), false),
        ("NumericNotEquals", AGE, json!("1"), none(), true),
        ("NumericLessThan", AGE, json!("1"), none(), false),
        ("NumericLessThanEquals", AGE, json!("1"), none(), false),
        ("NumericGreaterThan", AGE, json!("1"), none(), false),
        ("NumericGreaterThanEquals", AGE, json!("1"), none(), false),
        ("DateEquals", NOW, json!("2026-01-01T00:00:00Z"), none(), false),
        ("DateNotEquals", NOW, json!("2026-01-01T00:00:00Z"), none(), true),
        ("DateLessThan", NOW, json!("2026-01-01T00:00:00Z"), none(), false),
        ("DateGreaterThan", NOW, json!("2026-01-01T00:00:00Z"), none(), false),
        ("Bool", SECURE, json!("true"), none(), false),
        ("Bool", SECURE, json!("false"), none(), false),
        ("BinaryEquals", TAG, json!("QUJD"), none(), false),
        ("IpAddress", IP, json!("0.0.0.0/0"), none(), false),
        ("NotIpAddress", IP, json!("0.0.0.0/0"), none(), true),
        ("ArnEquals", ARN, json!("*"), none(), false),
        ("ArnLike", ARN, json!("*"), none(), false),
        ("ArnNotEquals", ARN, json!("*"), none(), true),
        ("ArnNotLike", ARN, json!("*"), none(), true),
        // IfExists holds of an absent key, and of a present one as the operator does.
        ("StringEqualsIfExists", TAG, json!("blue"), none(), true),
        ("StringEqualsIfExists", TAG, json!("blue"), json!("red"), false),
        ("StringNotEqualsIfExists", TAG, json!("blue"), none(), true),
        ("StringNotEqualsIfExists", TAG, json!("blue"), json!("blue"), false),
        ("StringLikeIfExists", TAG, json!("b*"), json!("blue"), true),
        ("StringNotLikeIfExists", TAG, json!("b*"), json!("blue"), false),
        ("NumericLessThanIfExists", AGE, json!("10"), none(), true),
        ("NumericLessThanIfExists", AGE, json!("10"), json!("10"), false),
        ("DateGreaterThanIfExists", NOW, json!("2026"), json!("2025"), false),
        ("BoolIfExists", SECURE, json!("true"), none(), true),
        ("BoolIfExists", SECURE, json!("true"), json!("false"), false),
        ("BinaryEqualsIfExists", TAG, json!("QUJD"), none(), true),
        ("IpAddressIfExists", IP, json!("10.0.0.0/8"), none(), true),
        ("IpAddressIfExists", IP, json!("10.0.0.0/8"), json!("11.0.0.1"), false),
        (
            "NotIpAddressIfExists",
            IP,
            json!("10.0.0.0/8"),
            json!("10.0.0.1"),
            false,
        ),
        ("ArnEqualsIfExists", ARN, json!(USER), none(), true),
        ("ArnNotLikeIfExists", ARN, json!(USER), json!(USER), false),
        // Case and wildcards.
        ("StringEquals", TAG, json!("Blue"), json!("blue"), false),
        ("StringEquals", TAG, json!("bl*"), json!("blue"), false),
        ("StringEquals", TAG, json!("bl*"), json!("bl*"), true),
        ("StringEqualsIgnoreCase", TAG, json!("BLUE"), json!("blue"), true),
        ("StringEqualsIgnoreCase", TAG, json!("b*"), json!("blue"), false),
        ("StringNotEqualsIgnoreCase", TAG, json!("BLUE"), json!("blue"), false),
        ("StringLike", TAG, json!("B*"), json!("blue"), false),
        ("StringLike", TAG, json!("bl?e"), json!("blue"), true),
        ("StringLike", TAG, json!("bl?"), json!("blue"), false),
        ("StringLike", TAG, json!("*lu*"), json!("blue"), true),
        ("StringLike", TAG, json!("blue"), json!("blue"), true),
        ("StringLike", TAG, json!("lu"), json!("blue"), false),
        ("StringLike", TAG, json!("*"), json!(""), true),
        ("StringLike", TAG, json!(""), json!(""), true),
        (
            "StringEquals",
            "AWS:principaltag/TEAM",
            json!("blue"),
            json!("blue"),
            true,
        ),
        // Several values: any for an operator, none for a negated one.
        ("StringEquals", TAG, json!(["red", "blue"]), json!("blue"), true),
        ("StringNotEquals", TAG, json!(["red", "blue"]), json!("blue"), false),
        ("StringNotEquals", TAG, json!(["red", "green"]), json!("blue"), true),
        ("NumericNotEquals", AGE, json!(["1", "2"]), json!("2"), false),
        (
            "NotIpAddress",
            IP,
            json!(["10.0.0.0/8", "203.0.113.0/24"]),
            json!("203.0.113.9"),
            false,
        ),
        ("ArnNotLike", ARN, json!([USER, ROLE]), json!(ROLE), false),
        // Numbers are compared as numbers, dates as moments, flags in any case.
        ("NumericEquals", AGE, json!("10"), json!("10.0"), true),
        ("NumericEquals", AGE, json!(10), json!("10"), true),
        ("NumericLessThan", AGE, json!("9"), json!("10"), false),
        ("NumericLessThanEquals", AGE, json!("10"), json!("10"), true),
        ("NumericGreaterThan", AGE, json!("9"), json!("10"), true),
        ("NumericGreaterThanEquals", AGE, json!("10.5"), json!("10"), false),
        ("NumericLessThan", AGE, json!("-1"), json!("-2"), true),
        ("NumericEquals", AGE, json!("1"), json!("one"), false),
        ("NumericNotEquals", AGE, json!("1"), json!("one"), true),
        (
            "DateEquals",
            NOW,
            json!("2026-01-01T01:00:00+01:00"),
            json!("2026-01-01T00:00:00Z"),
            true,
        ),
        (
            "DateEquals",
            NOW,
            json!("1767225600"),
            json!("2026-01-01T00:00:00Z"),
            true,
        ),
        (
            "DateLessThan",
            "aws:EpochTime",
            json!("2026-01-02"),
            json!("1767225600"),
            true,
        ),
        (
            "DateLessThanEquals",
            NOW,
            json!("2026-01-01"),
            json!("2026-01-01T00:00:00Z"),
            true,
        ),
        (
            "DateGreaterThan",
            NOW,
            json!("2026-01-01T00:00:00Z"),
            json!("2026-01-01T00:00:00.001Z"),
            true,
        ),
        (
            "DateGreaterThanEquals",
            NOW,
            json!("2026-02"),
            json!("2026-01-31T23:59:59Z"),
            false,
        ),
        (
            "NumericGreaterThan",
            "aws:EpochTime",
            json!("1767225599"),
            json!("1767225600"),
            true,
        ),
        ("Bool", SECURE, json!(true), json!("true"), true),
        ("Bool", SECURE, json!("True"), json!("true"), true),
        ("Bool", SECURE, json!("false"), json!("true"), false),
        ("Bool", SECURE, json!(["true", "false"]), json!("false"), true),
        ("BinaryEquals", TAG, json!("QUJD"), json!("QUJD"), true),
        ("BinaryEquals", TAG, json!("QUJD"), json!("QUJE"), false),
        // Address ranges.
        ("IpAddress", IP, json!("203.0.113.0/24"), json!("203.0.113.255"), true),
        ("IpAddress", IP, json!("203.0.113.0/24"), json!("203.0.114.0"), false),
        ("IpAddress", IP, json!("203.0.113.5"), json!("203.0.113.5"), true),
        ("IpAddress", IP, json!("203.0.113.5"), json!("203.0.113.6"), false),
        (
            "IpAddress",
            IP,
            json!(["203.0.113.0/24", "2001:DB8:1234:5678::/64"]),
            json!("2001:db8:1234:5678::1"),
            true,
        ),
        (
            "IpAddress",
            IP,
            json!("2001:DB8:1234:5678::/64"),
            json!("2001:db8:1234:5679::1"),
            false,
        ),
        ("NotIpAddress", IP, json!("2001:DB8::/32"), json!("203.0.113.5"), true),
        // ARNs are compared part by part.
        (
            "ArnEquals",
            ARN,
            json!("arn:aws:iam::111122223333:user/team/*"),
            json!(USER),
            true,
        ),
        ("ArnEquals", ARN, json!("arn:aws:iam::*:user/*"), json!(USER), true),
        (
            "ArnLike",
            ARN,
            json!("arn:aws:iam::111122223333:*/ann"),
            json!(USER),
            true,
        ),
        (
            "ArnLike",
            ARN,
            json!("arn:aws:iam::111122223333:user/team/an?"),
            json!(USER),
            true,
        ),
        ("ArnLike", ARN, json!("arn:aws:*:user/team/ann"), json!(USER), false),
        ("StringLike", ARN, json!("arn:aws:*:user/team/ann"), json!(USER), true),
        (
            "ArnLike",
            ARN,
            json!("arn:aws:iam::111122223333:user/Team/ann"),
            json!(USER),
            false,
        ),
        (
            "ArnNotEquals",
            ARN,
            json!("arn:aws:iam::111122223333:user/*"),
            json!(USER),
            false,
        ),
        // Null tests presence.
        ("Null", TAG, json!("true"), none(), true),
        ("Null", TAG, json!("false"), none(), false),
        ("Null", TAG, json!("true"), json!("blue"), false),
        ("Null", TAG, json!(false), json!("blue"), true),
        ("Null", TAG, json!("false"), json!(""), true),
        ("Null", "dynamodb:LeadingKeys", json!("true"), json!([]), true),
        ("Null", "dynamodb:LeadingKeys", json!("false"), json!(["a"]), true),
    ]);
}

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

#[test]
fn several_conditions_all_have_to_hold() {
    let both = json!({"Action": "*", "Resource": "*", "Condition": {
        "StringEquals": {"aws:PrincipalTag/team": "blue", "aws:RequestedRegion": ["us-east-1", "eu-west-1"]},
        "Bool": {"aws:SecureTransport": "true"}
    }});
    for (team, region, secure, expect) in [
        ("blue", "us-east-1", "true", true),
        ("blue", "eu-west-1", "true", true),
        ("red", "us-east-1", "true", false),
        ("blue", "us-west-2", "true", false),
        ("blue", "us-east-1", "false", false),
    ] {
        let request =
            json!({"aws:PrincipalTag/team": team, "aws:RequestedRegion": region, "aws:SecureTransport": secure});
        let found = allows("2012-10-17", &both, ("dynamodb:GetItem", TABLE), &request);
        assert_eq!(found, expect, "{request}");
    }
}

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

/// Policies of all kinds around one request, as JSON; a kind that is left out has none.
fn decide(caller: &Subject, policies: &Value, account: &str) -> String {
    let list = |name: &str, kind| -> Vec<AttachedPolicy> {
        let documents = policies[name].as_array().cloned().unwrap_or_default();
        documents.iter().map(|document| attached(document, kind)).collect()
    };
    let one = |name: &str, kind| policies.get(name).map(|document| attached(document, kind));
    let identity = list("identity", PolicyKind::Identity);
    let boundary = one("boundary", PolicyKind::Boundary);
    let session = policies.get("session").map(|_| list("session", PolicyKind::Session));
    let service_control = policies
        .get("scp")
        .map(|_| vec![list("scp", PolicyKind::ServiceControl)]);
    let resource_control = list("rcp", PolicyKind::ResourceControl);
    let resource = one("resource", PolicyKind::Resource);
    let endpoint = one("endpoint", PolicyKind::Endpoint);
    let caller = Subject {
        is_bounded: boundary.is_some(),
        ..caller.clone()
    };
    let set = PolicySet {
        identity: &identity,
        boundary: boundary.as_ref(),
        session: session.as_deref(),
        service_control: service_control.as_deref().unwrap_or_default(),
        resource_control: &resource_control,
        resource: resource.as_ref(),
        resource_account: account,
        endpoint: endpoint.as_ref(),
    };
    let decision = set.decide(&StatementInput {
        subject: &caller,
        action: "dynamodb:GetItem",
        resource: &TABLE.replace(ACCOUNT, account),
        keys: &keys(&json!({"aws:PrincipalArn": caller.principal_arn, "aws:PrincipalAccount": caller.account})),
    });
    let denial = decision.denial.map(|denial| (denial.kind.name(), denial.explicit));
    denial.map_or("allowed".to_owned(), |(kind, explicit)| {
        let how = if explicit { "explicit" } else { "implicit" };
        format!("{how}: {kind}")
    })
}

#[test]
fn policies_of_several_kinds() {
    let user = Subject::user(ACCOUNT, "/team/ann");
    let session = Subject::role_session(ACCOUNT, "/app/Reader", "s1");
    let root = Subject::root(ACCOUNT);
    let statement = |effect: &str, principal: Option<&str>| {
        let mut statement = json!({"Effect": effect, "Action": "dynamodb:GetItem", "Resource": "*"});
        if let Some(principal) = principal {
            statement["Principal"] = if principal == "*" {
                json!("*")
            } else {
                json!({"AWS": principal})
            };
        }
        json!({"Version": "2012-10-17", "Statement": statement})
    };
    let (allow, deny) = (|| statement("Allow", None), || statement("Deny", None));
    let grant = |principal: &str| statement("Allow", Some(principal));
    let refuse = |principal: &str| statement("Deny", Some(principal));
    let except = |principals: &[&str]| json!({"Version": "2012-10-17", "Statement": {"Effect": "Deny", "NotPrincipal": {"AWS": principals}, "Action": "*", "Resource": "*"}});
    let other = || json!({"Statement": {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}});
    let by_condition = |arn: &str| json!({"Statement": {"Effect": "Allow", "Principal": "*", "Action": "dynamodb:*", "Resource": "*", "Condition": {"ArnEquals": {"aws:PrincipalArn": arn}}}});
    let account_root = "arn:aws:iam::111122223333:root";
    let (no_identity, no_resource) = ("implicit: identity-based policy", "implicit: resource-based policy");
    let (no_boundary, no_session) = ("implicit: permissions boundary", "implicit: session policy");
    for (caller, account, policies, expect) in [
        // Everything is denied by default, apart from the root user's requests.
        (&user, ACCOUNT, json!({}), no_identity),
        (&session, ACCOUNT, json!({}), no_identity),
        (&root, ACCOUNT, json!({}), "allowed"),
        // Within an account an identity-based or a resource-based policy suffices.
        (&user, ACCOUNT, json!({"identity": [allow()]}), "allowed"),
        (&user, ACCOUNT, json!({"resource": grant(USER)}), "allowed"),
        (
            &user,
            ACCOUNT,
            json!({"identity": [other()], "resource": grant(USER)}),
            "allowed",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "resource": grant("arn:aws:iam::111122223333:user/bob")}),
            "allowed",
        ),
        (&user, ACCOUNT, json!({"resource": grant("*")}), "allowed"),
        // An account as principal delegates to its identity-based policies.
        (&user, ACCOUNT, json!({"resource": grant(ACCOUNT)}), no_identity),
        (&user, ACCOUNT, json!({"resource": grant(account_root)}), no_identity),
        (&session, ACCOUNT, json!({"resource": grant(account_root)}), no_identity),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "resource": grant(account_root)}),
            "allowed",
        ),
        // An explicit deny anywhere wins.
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow(), deny()]}),
            "explicit: identity-based policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "resource": refuse(USER)}),
            "explicit: resource-based policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "resource": refuse(ACCOUNT)}),
            "explicit: resource-based policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [deny()], "resource": grant(USER)}),
            "explicit: identity-based policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"boundary": deny(), "resource": grant(USER)}),
            "explicit: permissions boundary",
        ),
        (
            &session,
            ACCOUNT,
            json!({"session": [deny()], "resource": grant(SESSION)}),
            "explicit: session policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "scp": [allow(), deny()]}),
            "explicit: service control policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "rcp": [refuse("*")]}),
            "explicit: resource control policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "endpoint": refuse("*")}),
            "explicit: VPC endpoint policy",
        ),
        (
            &root,
            ACCOUNT,
            json!({"resource": refuse("*")}),
            "explicit: resource-based policy",
        ),
        (
            &root,
            ACCOUNT,
            json!({"resource": refuse(ACCOUNT)}),
            "explicit: resource-based policy",
        ),
        (
            &root,
            ACCOUNT,
            json!({"scp": [deny()]}),
            "explicit: service control policy",
        ),
        (
            &root,
            ACCOUNT,
            json!({"rcp": [refuse("*")]}),
            "explicit: resource control policy",
        ),
        (
            &root,
            ACCOUNT,
            json!({"scp": [other()]}),
            "implicit: service control policy",
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "resource": refuse(ROLE)}),
            "explicit: resource-based policy",
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "resource": refuse(SESSION)}),
            "explicit: resource-based policy",
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "resource": refuse("arn:aws:sts::111122223333:assumed-role/Reader/s2")}),
            "allowed",
        ),
        // A boundary and session policies limit what identity-based policies allow.
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "boundary": allow()}),
            "allowed",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "boundary": other()}),
            no_boundary,
        ),
        (&user, ACCOUNT, json!({"boundary": allow()}), no_identity),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "session": [allow()]}),
            "allowed",
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "session": [other()]}),
            no_session,
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "session": [other(), allow()]}),
            "allowed",
        ),
        (&session, ACCOUNT, json!({"session": [allow()]}), no_identity),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "session": [allow()], "boundary": other()}),
            no_boundary,
        ),
        // A grant to a user or a session is limited by none of them, one to a role by boundary and session policies.
        (
            &user,
            ACCOUNT,
            json!({"boundary": other(), "resource": grant(USER)}),
            "allowed",
        ),
        (
            &session,
            ACCOUNT,
            json!({"boundary": other(), "resource": grant(SESSION)}),
            "allowed",
        ),
        (
            &session,
            ACCOUNT,
            json!({"session": [other()], "resource": grant(SESSION)}),
            "allowed",
        ),
        (&session, ACCOUNT, json!({"resource": grant(ROLE)}), "allowed"),
        (
            &session,
            ACCOUNT,
            json!({"boundary": other(), "resource": grant(ROLE)}),
            no_boundary,
        ),
        (
            &session,
            ACCOUNT,
            json!({"session": [other()], "resource": grant(ROLE)}),
            no_session,
        ),
        (
            &session,
            ACCOUNT,
            json!({"session": [allow()], "boundary": allow(), "resource": grant(ROLE)}),
            "allowed",
        ),
        (
            &session,
            ACCOUNT,
            json!({"boundary": other(), "resource": by_condition(ROLE)}),
            "allowed",
        ),
        (
            &session,
            ACCOUNT,
            json!({"session": [other()], "resource": by_condition(ROLE)}),
            "allowed",
        ),
        (
            &session,
            ACCOUNT,
            json!({"resource": by_condition(SESSION)}),
            no_identity,
        ),
        (&user, ACCOUNT, json!({"resource": by_condition(USER)}), "allowed"),
        // SCPs limit the principals of their account, grants of resources included.
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "scp": [other()]}),
            "implicit: service control policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"resource": grant(USER), "scp": [other()]}),
            "implicit: service control policy",
        ),
        (&user, ACCOUNT, json!({"scp": [allow()]}), no_identity),
        // NotPrincipal spares those of whom all names are listed.
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "resource": except(&[USER, account_root])}),
            "allowed",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "resource": except(&[USER])}),
            "explicit: resource-based policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "resource": except(&[account_root])}),
            "explicit: resource-based policy",
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "resource": except(&[SESSION, ROLE, account_root])}),
            "allowed",
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "resource": except(&[SESSION, account_root])}),
            "explicit: resource-based policy",
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "resource": except(&[SESSION, ROLE])}),
            "explicit: resource-based policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "boundary": allow(), "resource": except(&[USER, account_root])}),
            "explicit: resource-based policy",
        ),
        (
            &user,
            ACCOUNT,
            json!({"resource": except(&[USER, account_root])}),
            no_identity,
        ),
        // Across accounts both have to allow.
        (&user, OTHER, json!({"identity": [allow()]}), no_resource),
        (&user, OTHER, json!({"resource": grant(USER)}), no_identity),
        (
            &user,
            OTHER,
            json!({"identity": [allow()], "resource": grant(USER)}),
            "allowed",
        ),
        (
            &user,
            OTHER,
            json!({"identity": [allow()], "resource": grant(ACCOUNT)}),
            "allowed",
        ),
        (
            &user,
            OTHER,
            json!({"identity": [allow()], "resource": grant("*")}),
            "allowed",
        ),
        (
            &user,
            OTHER,
            json!({"identity": [allow()], "resource": grant(OTHER)}),
            no_resource,
        ),
        (&session, OTHER, json!({"resource": grant(SESSION)}), no_identity),
        (
            &session,
            OTHER,
            json!({"identity": [allow()], "resource": grant(ROLE)}),
            "allowed",
        ),
        (
            &session,
            OTHER,
            json!({"identity": [allow()], "session": [other()], "resource": grant(SESSION)}),
            no_session,
        ),
        (
            &user,
            OTHER,
            json!({"identity": [allow()], "boundary": other(), "resource": grant(USER)}),
            no_boundary,
        ),
        (
            &user,
            OTHER,
            json!({"identity": [allow(), deny()], "resource": grant(USER)}),
            "explicit: identity-based policy",
        ),
        (
            &user,
            OTHER,
            json!({"identity": [allow()], "resource": refuse(ACCOUNT)}),
            "explicit: resource-based policy",
        ),
        (
            &user,
            OTHER,
            json!({"identity": [allow()], "resource": grant(USER), "scp": [other()]}),
            "implicit: service control policy",
        ),
        (
            &user,
            OTHER,
            json!({"identity": [allow()], "resource": grant(USER), "rcp": [refuse("*")]}),
            "explicit: resource control policy",
        ),
        (&root, OTHER, json!({}), no_resource),
        (&root, OTHER, json!({"resource": grant(ACCOUNT)}), "allowed"),
        // An endpoint policy allows nothing by itself, and limits everybody.
        (&user, ACCOUNT, json!({"endpoint": grant("*")}), no_identity),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "endpoint": grant("*")}),
            "allowed",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "endpoint": grant(USER)}),
            "allowed",
        ),
        (
            &user,
            ACCOUNT,
            json!({"identity": [allow()], "endpoint": grant(ROLE)}),
            "implicit: VPC endpoint policy",
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "endpoint": grant(ROLE)}),
            "allowed",
        ),
        (
            &session,
            ACCOUNT,
            json!({"identity": [allow()], "endpoint": by_condition(ROLE)}),
            "allowed",
        ),
        (
            &user,
            ACCOUNT,
            json!({"resource": grant(USER), "endpoint": grant(ROLE)}),
            "implicit: VPC endpoint policy",
        ),
        (
            &root,
            ACCOUNT,
            json!({"endpoint": grant(ROLE)}),
            "implicit: VPC endpoint policy",
        ),
    ] {
        assert_eq!(
            decide(caller, &policies, account),
            expect,
            "{} of {account}: {policies:#}",
            caller.arn
        );
    }
}
