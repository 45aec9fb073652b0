//! Condition operators and condition keys.

use serde_json::{Value, json};

use super::super::{ROLE, TABLE, USER};
use super::{By, YES, allow, decide};

/// "IAM JSON policy elements: Condition operators" and "Conditions with multiple context keys or values".
#[test]
fn conditions() {
    let policies = |condition: Value| json!({"identity": [{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": condition}]});
    let denial = |condition: Value| json!({"identity": [allow(), {"Effect": "Deny", "Action": "*", "Resource": "*", "Condition": condition}]});
    let row = |condition, request, holds: bool| {
        let expect = if holds { YES } else { "no Identity" };
        (
            "",
            By::User,
            policies(condition),
            "dynamodb:GetItem",
            TABLE,
            request,
            expect,
        )
    };
    let stops = |condition, request, holds: bool| {
        let expect = if holds { "deny Identity" } else { YES };
        (
            "",
            By::User,
            denial(condition),
            "dynamodb:GetItem",
            TABLE,
            request,
            expect,
        )
    };
    let tag = |value: &str| json!({"aws:PrincipalTag/team": value});
    let rows = [
        // Strings.
        row(
            json!({"StringEquals": {"aws:PrincipalTag/team": "red"}}),
            tag("red"),
            true,
        ),
        row(
            json!({"StringEquals": {"aws:PrincipalTag/team": "red"}}),
            tag("Red"),
            false,
        ),
        row(
            json!({"StringEquals": {"AWS:principaltag/TEAM": "red"}}),
            tag("red"),
            true,
        ),
        row(
            json!({"StringEquals": {"aws:PrincipalTag/team": ["blue", "red"]}}),
            tag("red"),
            true,
        ),
        row(
            json!({"StringEquals": {"aws:PrincipalTag/team": "re*"}}),
            tag("red"),
            false,
        ),
        row(
            json!({"StringLike": {"aws:PrincipalTag/team": "re*"}}),
            tag("red"),
            true,
        ),
        row(
            json!({"StringLike": {"aws:PrincipalTag/team": "r?d"}}),
            tag("red"),
            true,
        ),
        row(
            json!({"StringLike": {"aws:PrincipalTag/team": "r?"}}),
            tag("red"),
            false,
        ),
        row(json!({"StringLike": {"aws:PrincipalTag/team": "*"}}), tag(""), true),
        row(json!({"StringLike": {"aws:PrincipalTag/team": "*"}}), json!({}), false),
        row(
            json!({"StringLike": {"aws:PrincipalTag/team": "RE*"}}),
            tag("red"),
            false,
        ),
        row(
            json!({"StringEqualsIgnoreCase": {"aws:PrincipalTag/team": "ReD"}}),
            tag("rEd"),
            true,
        ),
        row(
            json!({"StringNotEqualsIgnoreCase": {"aws:PrincipalTag/team": "RED"}}),
            tag("red"),
            false,
        ),
        row(
            json!({"StringNotEquals": {"aws:PrincipalTag/team": "red"}}),
            tag("blue"),
            true,
        ),
        row(
            json!({"StringNotEquals": {"aws:PrincipalTag/team": ["red", "blue"]}}),
            tag("blue"),
            false,
        ),
        row(
            json!({"StringNotEquals": {"aws:PrincipalTag/team": "red"}}),
            json!({}),
            true,
        ),
        row(
            json!({"StringNotLike": {"aws:PrincipalTag/team": ["r*", "b*"]}}),
            tag("green"),
            true,
        ),
        row(
            json!({"StringNotLike": {"aws:PrincipalTag/team": ["r*", "b*"]}}),
            tag("blue"),
            false,
        ),
        row(
            json!({"StringEqualsIfExists": {"aws:PrincipalTag/team": "red"}}),
            json!({}),
            true,
        ),
        row(
            json!({"StringEqualsIfExists": {"aws:PrincipalTag/team": "red"}}),
            tag("blue"),
            false,
        ),
        stops(
            json!({"StringNotEqualsIfExists": {"aws:PrincipalTag/team": "red"}}),
            json!({}),
            true,
        ),
        stops(
            json!({"StringNotEquals": {"aws:PrincipalTag/team": "red"}}),
            json!({}),
            true,
        ),
        stops(
            json!({"StringEquals": {"aws:PrincipalTag/team": "red"}}),
            json!({}),
            false,
        ),
        // Several keys and operators.
        row(
            json!({"StringEquals": {"aws:PrincipalTag/team": "red", "aws:RequestedRegion": "us-east-1"}}),
            json!({"aws:PrincipalTag/team": "red", "aws:RequestedRegion": "us-east-1"}),
            true,
        ),
        row(
            json!({"StringEquals": {"aws:PrincipalTag/team": "red", "aws:RequestedRegion": "us-east-1"}}),
            json!({"aws:PrincipalTag/team": "red", "aws:RequestedRegion": "eu-west-1"}),
            false,
        ),
        row(
            json!({"StringEquals": {"aws:PrincipalTag/team": "red"}, "Bool": {"aws:SecureTransport": "true"}}),
            json!({"aws:PrincipalTag/team": "red", "aws:SecureTransport": "false"}),
            false,
        ),
        row(
            json!({"StringEquals": {"aws:PrincipalTag/team": "red"}, "StringNotEquals": {"aws:PrincipalTag/team": "blue"}}),
            tag("red"),
            true,
        ),
        // Numbers.
        row(
            json!({"NumericLessThanEquals": {"aws:MultiFactorAuthAge": "300"}}),
            json!({"aws:MultiFactorAuthAge": "300"}),
            true,
        ),
        row(
            json!({"NumericLessThan": {"aws:MultiFactorAuthAge": "300"}}),
            json!({"aws:MultiFactorAuthAge": "300"}),
            false,
        ),
        row(
            json!({"NumericLessThan": {"aws:MultiFactorAuthAge": 300}}),
            json!({"aws:MultiFactorAuthAge": "29"}),
            true,
        ),
        row(
            json!({"NumericGreaterThan": {"aws:MultiFactorAuthAge": "1e2"}}),
            json!({"aws:MultiFactorAuthAge": "99"}),
            false,
        ),
        row(
            json!({"NumericEquals": {"aws:MultiFactorAuthAge": "10.0"}}),
            json!({"aws:MultiFactorAuthAge": "10"}),
            true,
        ),
        row(
            json!({"NumericNotEquals": {"aws:MultiFactorAuthAge": "10"}}),
            json!({}),
            true,
        ),
        row(
            json!({"NumericLessThanIfExists": {"aws:MultiFactorAuthAge": "10"}}),
            json!({}),
            true,
        ),
        // Dates.
        row(
            json!({"DateGreaterThan": {"aws:CurrentTime": "2020-04-01T00:00:00Z"}}),
            json!({"aws:CurrentTime": "2020-04-01T00:00:01Z"}),
            true,
        ),
        row(
            json!({"DateGreaterThan": {"aws:CurrentTime": "2020-04-01T00:00:00Z"}}),
            json!({"aws:CurrentTime": "2020-04-01T00:00:00Z"}),
            false,
        ),
        row(
            json!({"DateLessThanEquals": {"aws:CurrentTime": "2020-06-30T23:59:59Z"}}),
            json!({"aws:CurrentTime": "2020-06-30T23:59:59Z"}),
            true,
        ),
        row(
            json!({"DateLessThan": {"aws:EpochTime": "1593561600"}}),
            json!({"aws:EpochTime": "1593561599"}),
            true,
        ),
        row(
            json!({"DateGreaterThanEquals": {"aws:EpochTime": "2020-07-01T00:00:00Z"}}),
            json!({"aws:EpochTime": "1593561600"}),
            true,
        ),
        row(
            json!({"DateEquals": {"aws:CurrentTime": "2020-07-01"}}),
            json!({"aws:CurrentTime": "2020-07-01T00:00:00Z"}),
            true,
        ),
        row(
            json!({"DateNotEquals": {"aws:CurrentTime": "2020-07-01T00:00:00Z"}}),
            json!({"aws:CurrentTime": "2020-07-01T00:00:00Z"}),
            false,
        ),
        row(
            json!({"DateEquals": {"aws:CurrentTime": "2020-07-01T02:00:00+02:00"}}),
            json!({"aws:CurrentTime": "2020-07-01T00:00:00Z"}),
            true,
        ),
        stops(
            json!({"DateLessThan": {"aws:TokenIssueTime": "2020-07-01T00:00:00Z"}}),
            json!({"aws:TokenIssueTime": "2020-06-30T00:00:00Z"}),
            true,
        ),
        stops(
            json!({"DateLessThan": {"aws:TokenIssueTime": "2020-07-01T00:00:00Z"}}),
            json!({}),
            false,
        ),
        // Booleans.
        row(
            json!({"Bool": {"aws:SecureTransport": "true"}}),
            json!({"aws:SecureTransport": "true"}),
            true,
        ),
        row(
            json!({"Bool": {"aws:SecureTransport": true}}),
            json!({"aws:SecureTransport": "true"}),
            true,
        ),
        row(
            json!({"Bool": {"aws:MultiFactorAuthPresent": "true"}}),
            json!({}),
            false,
        ),
        stops(
            json!({"Bool": {"aws:MultiFactorAuthPresent": "false"}}),
            json!({}),
            false,
        ),
        stops(
            json!({"BoolIfExists": {"aws:MultiFactorAuthPresent": "false"}}),
            json!({}),
            true,
        ),
        stops(
            json!({"BoolIfExists": {"aws:MultiFactorAuthPresent": "false"}}),
            json!({"aws:MultiFactorAuthPresent": "true"}),
            false,
        ),
        // Bytes.
        row(
            json!({"BinaryEquals": {"x:Bytes": "QmluYXJ5VmFsdWVJbkJhc2U2NA=="}}),
            json!({"x:Bytes": "QmluYXJ5VmFsdWVJbkJhc2U2NA=="}),
            true,
        ),
        row(
            json!({"BinaryEquals": {"x:Bytes": "QmluYXJ5VmFsdWVJbkJhc2U2NA=="}}),
            json!({"x:Bytes": "QUJD"}),
            false,
        ),
        // Addresses.
        row(
            json!({"IpAddress": {"aws:SourceIp": "203.0.113.0/24"}}),
            json!({"aws:SourceIp": "203.0.113.255"}),
            true,
        ),
        row(
            json!({"IpAddress": {"aws:SourceIp": "203.0.113.0/24"}}),
            json!({"aws:SourceIp": "203.0.114.0"}),
            false,
        ),
        row(
            json!({"IpAddress": {"aws:SourceIp": "203.0.113.7"}}),
            json!({"aws:SourceIp": "203.0.113.7"}),
            true,
        ),
        row(
            json!({"IpAddress": {"aws:SourceIp": ["203.0.113.0/24", "2001:DB8:1234:5678::/64"]}}),
            json!({"aws:SourceIp": "2001:db8:1234:5678:abcd::1"}),
            true,
        ),
        row(
            json!({"IpAddress": {"aws:SourceIp": ["203.0.113.0/24", "2001:DB8:1234:5678::/64"]}}),
            json!({"aws:SourceIp": "2001:db8:1234:5679::1"}),
            false,
        ),
        row(
            json!({"IpAddress": {"aws:SourceIp": "2001:db8::1"}}),
            json!({"aws:SourceIp": "2001:DB8:0:0:0:0:0:1"}),
            true,
        ),
        row(
            json!({"IpAddress": {"aws:SourceIp": "0.0.0.0/0"}}),
            json!({"aws:SourceIp": "2001:db8::1"}),
            false,
        ),
        row(
            json!({"NotIpAddress": {"aws:SourceIp": ["192.0.2.0/24", "203.0.113.0/24"]}}),
            json!({"aws:SourceIp": "203.0.113.7"}),
            false,
        ),
        row(
            json!({"NotIpAddress": {"aws:SourceIp": "192.0.2.0/24"}}),
            json!({}),
            true,
        ),
        stops(
            json!({"NotIpAddressIfExists": {"aws:SourceIp": "192.0.2.0/24"}, "Bool": {"aws:ViaAWSService": "false"}}),
            json!({"aws:SourceIp": "198.51.100.1", "aws:ViaAWSService": "false"}),
            true,
        ),
        stops(
            json!({"NotIpAddress": {"aws:SourceIp": "192.0.2.0/24"}, "Bool": {"aws:ViaAWSService": "false"}}),
            json!({"aws:SourceIp": "192.0.2.9", "aws:ViaAWSService": "false"}),
            false,
        ),
        row(
            json!({"IpAddress": {"aws:VpcSourceIp": "10.0.0.0/8"}}),
            json!({"aws:VpcSourceIp": "10.1.2.3"}),
            true,
        ),
        // ARNs.
        row(
            json!({"ArnEquals": {"aws:PrincipalArn": "arn:aws:iam::111122223333:user/team/*"}}),
            json!({"aws:PrincipalArn": USER}),
            true,
        ),
        row(
            json!({"ArnLike": {"aws:PrincipalArn": "arn:aws:iam::*:user/*/ann"}}),
            json!({"aws:PrincipalArn": USER}),
            true,
        ),
        row(
            json!({"ArnLike": {"aws:PrincipalArn": "arn:aws:iam::*"}}),
            json!({"aws:PrincipalArn": USER}),
            false,
        ),
        row(
            json!({"ArnLike": {"aws:PrincipalArn": "arn:aws:*:*:*:user/team/ann"}}),
            json!({"aws:PrincipalArn": USER}),
            true,
        ),
        row(
            json!({"ArnLike": {"aws:PrincipalArn": "arn:aws:*:user/team/ann"}}),
            json!({"aws:PrincipalArn": USER}),
            false,
        ),
        row(
            json!({"ArnNotLike": {"aws:PrincipalArn": "arn:aws:iam::*:user/*"}}),
            json!({"aws:PrincipalArn": USER}),
            false,
        ),
        row(
            json!({"ArnNotEquals": {"aws:PrincipalArn": ROLE}}),
            json!({"aws:PrincipalArn": USER}),
            true,
        ),
        stops(
            json!({"ArnNotLikeIfExists": {"aws:PrincipalArn": ROLE}}),
            json!({}),
            true,
        ),
        row(
            json!({"StringLike": {"aws:PrincipalArn": "arn:aws:iam::*ann"}}),
            json!({"aws:PrincipalArn": USER}),
            true,
        ),
        // Presence.
        row(json!({"Null": {"aws:TokenIssueTime": "true"}}), json!({}), true),
        row(
            json!({"Null": {"aws:TokenIssueTime": "true"}}),
            json!({"aws:TokenIssueTime": "2020-07-01T00:00:00Z"}),
            false,
        ),
        row(
            json!({"Null": {"aws:TokenIssueTime": "false"}}),
            json!({"aws:TokenIssueTime": "2020-07-01T00:00:00Z"}),
            true,
        ),
        row(json!({"Null": {"aws:TokenIssueTime": false}}), json!({}), false),
        row(
            json!({"Null": {"aws:TagKeys": "true"}}),
            json!({"aws:TagKeys": []}),
            true,
        ),
    ];
    let mut wrong = Vec::new();
    for (number, (_, by, policies, action, resource, request, expect)) in rows.iter().enumerate() {
        let found = decide(*by, policies, action, resource, request);
        if found != *expect {
            let statements = policies["identity"].as_array().unwrap();
            let condition = &statements.last().unwrap()["Condition"];
            wrong.push(format!("{number}: {condition} of {request}: {found}, not {expect}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
