//! Condition operators on keys with one value.

use serde_json::{Value, json};

use super::{ROLE, TABLE, USER, allows, check_conditions};

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
        ("StringEqualsIgnoreCase", TAG, json!("BLUE"), json!("blot"), false),
        ("StringEqualsIgnoreCase", TAG, json!("BLUE"), json!("blur"), false),
        ("StringNotEqualsIgnoreCase", TAG, json!("BLUE"), json!("blur"), true),
        ("StringEqualsIgnoreCase", TAG, json!("Ärzte"), json!("ärzte"), true),
        ("StringEqualsIgnoreCase", TAG, json!("ärzte"), json!("ÄRZTE"), true),
        ("StringEqualsIgnoreCase", TAG, json!("Ärzte"), json!("Arzte"), false),
        ("StringNotEqualsIgnoreCase", TAG, json!("Ärzte"), json!("ärzte"), false),
        ("StringNotEqualsIgnoreCase", TAG, json!("Ärzte"), json!("Arzte"), true),
        ("StringEqualsIgnoreCaseIfExists", TAG, json!("ÉTÉ"), json!("été"), true),
        ("StringEquals", TAG, json!("Ärzte"), json!("ärzte"), false),
        ("StringLike", TAG, json!("Ä*"), json!("ärzte"), false),
        ("StringLike", TAG, json!("?rzte"), json!("ärzte"), true),
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
        ("Bool", SECURE, json!("TRUE"), json!("True"), true),
        ("Bool", SECURE, json!("False"), json!("false"), true),
        ("Bool", SECURE, json!("false"), json!("FALSE"), true),
        ("Bool", SECURE, json!("FALSE"), json!("true"), false),
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
        // The range of all addresses of a version, and no others.
        ("IpAddress", IP, json!("0.0.0.0/0"), json!("203.0.113.5"), true),
        ("IpAddress", IP, json!("0.0.0.0/0"), json!("255.255.255.255"), true),
        ("IpAddress", IP, json!("0.0.0.0/0"), json!("2001:db8::1"), false),
        ("IpAddress", IP, json!("::/0"), json!("2001:db8::1"), true),
        ("IpAddress", IP, json!("::/0"), json!("8001:db8::2"), true),
        ("IpAddress", IP, json!("::/0"), json!("203.0.113.5"), false),
        ("NotIpAddress", IP, json!("::/0"), json!("2001:db8::1"), false),
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
