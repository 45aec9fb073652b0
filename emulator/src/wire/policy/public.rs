//! Block Public Access: the conditions that bound a statement that allows everybody something (docs/behavior: 07 7.2).

use super::Node;

/// The condition keys whose values are callers, accounts, organizations or networks.
const TRUSTED_KEYS: &[&str] = &[
    "aws:Ec2InstanceSourceVpc",
    "aws:PrincipalAccount",
    "aws:PrincipalArn",
    "aws:PrincipalOrgID",
    "aws:PrincipalOrgPaths",
    "aws:PrincipalServiceName",
    "aws:PrincipalServiceNamesList",
    "aws:SourceAccount",
    "aws:SourceArn",
    "aws:SourceOrgID",
    "aws:SourceOrgPaths",
    "aws:SourceVpc",
    "aws:SourceVpce",
    "aws:UserId",
];
/// The trusted key that is a flag, which must be true.
const IS_SERVICE: &str = "aws:PrincipalIsAWSService";
/// The operators that hold only of the values that they name. `IfExists` and `ForAllValues:` also hold without the key.
const BOUNDING_OPERATORS: &[&str] = &[
    "ArnEquals",
    "ArnLike",
    "StringEquals",
    "StringEqualsIgnoreCase",
    "StringLike",
];

/// Whether one of the conditions of a statement bounds it.
pub(super) fn is_bounded(condition: Option<&Node>) -> bool {
    let operators = condition.and_then(Node::members).unwrap_or_default();
    operators.iter().any(|(operator, keys)| {
        let operator = operator.strip_prefix("ForAnyValue:").unwrap_or(operator);
        let keys = keys.members().unwrap_or_default();
        keys.iter().any(|(key, values)| bounds(operator, key, values))
    })
}

fn bounds(operator: &str, key: &str, values: &Node) -> bool {
    let Some(values) = values.texts().filter(|values| !values.is_empty()) else {
        return false;
    };
    if key.eq_ignore_ascii_case(IS_SERVICE) {
        return operator == "Bool" && values.iter().all(|value| value.eq_ignore_ascii_case("true"));
    }
    let is_fixed = |value: &&str| !value.contains(['*', '?']) && !value.contains("${");
    BOUNDING_OPERATORS.contains(&operator)
        && TRUSTED_KEYS.iter().any(|known| known.eq_ignore_ascii_case(key))
        && values.iter().all(is_fixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_bound_everybody() {
        for (condition, expect) in [
            ("{}", false),
            (r#""aws:PrincipalArn""#, false),
            (r#"{"StringEquals": "aws:PrincipalArn"}"#, false),
            (r#"{"StringEquals": {"aws:PrincipalAccount": []}}"#, false),
            (r#"{"StringEquals": {"aws:PrincipalAccount": "222222222222"}}"#, true),
            (r#"{"StringEquals": {"aws:principalaccount": 222222222222}}"#, true),
            (r#"{"StringLike": {"aws:PrincipalAccount": "222222222222"}}"#, true),
            (r#"{"StringEqualsIgnoreCase": {"aws:PrincipalOrgID": "o-abc"}}"#, true),
            (
                r#"{"ForAnyValue:StringEquals": {"aws:PrincipalOrgPaths": "o-a/r-b/"}}"#,
                true,
            ),
            (
                r#"{"ArnEquals": {"aws:PrincipalArn": "arn:aws:iam::222222222222:user/ann"}}"#,
                true,
            ),
            (
                r#"{"ArnLike": {"aws:PrincipalArn": "arn:aws:iam::222222222222:user/ann"}}"#,
                true,
            ),
            (r#"{"StringEquals": {"aws:SourceVpc": ["vpc-1", "vpc-2"]}}"#, true),
            (r#"{"StringEquals": {"aws:SourceVpce": "vpce-1"}}"#, true),
            (r#"{"StringEquals": {"aws:SourceAccount": "222222222222"}}"#, true),
            (r#"{"ArnEquals": {"aws:SourceArn": "arn:aws:s3:::bucket"}}"#, true),
            (r#"{"StringEquals": {"aws:userid": "AIDAANN"}}"#, true),
            (
                r#"{"StringEquals": {"aws:PrincipalServiceName": "lambda.amazonaws.com"}}"#,
                true,
            ),
            (
                r#"{"ForAnyValue:StringEquals": {"aws:PrincipalServiceNamesList": "lambda.amazonaws.com"}}"#,
                true,
            ),
            (r#"{"StringEquals": {"aws:Ec2InstanceSourceVpc": "vpc-1"}}"#, true),
            (r#"{"StringEquals": {"aws:SourceOrgID": "o-abc"}}"#, true),
            (
                r#"{"ForAnyValue:StringEquals": {"aws:SourceOrgPaths": "o-a/r-b/"}}"#,
                true,
            ),
            // One condition of several is enough.
            (
                r#"{"Bool": {"aws:SecureTransport": true}, "StringEquals": {"aws:username": "ann", "aws:SourceVpc": "vpc-1"}}"#,
                true,
            ),
            (r#"{"Bool": {"aws:PrincipalIsAWSService": true}}"#, true),
            (r#"{"Bool": {"aws:principalisawsservice": "TRUE"}}"#, true),
            (r#"{"Bool": {"aws:PrincipalIsAWSService": "false"}}"#, false),
            (r#"{"Bool": {"aws:PrincipalIsAWSService": ["true", "false"]}}"#, false),
            (r#"{"BoolIfExists": {"aws:PrincipalIsAWSService": true}}"#, false),
            // Values with wildcards or variables.
            (r#"{"StringLike": {"aws:PrincipalAccount": "2*"}}"#, false),
            (
                r#"{"StringLike": {"aws:PrincipalAccount": ["222222222222", "2*"]}}"#,
                false,
            ),
            (r#"{"StringLike": {"aws:PrincipalAccount": "22222222222?"}}"#, false),
            (r#"{"StringLike": {"aws:PrincipalArn": "*"}}"#, false),
            (r#"{"ArnLike": {"aws:PrincipalArn": "arn:aws:iam::*:user/*"}}"#, false),
            (r#"{"ArnEquals": {"aws:PrincipalArn": "arn:aws:iam::*:user/*"}}"#, false),
            (
                r#"{"StringEquals": {"aws:PrincipalAccount": "${aws:ResourceAccount}"}}"#,
                false,
            ),
            // Other keys.
            (r#"{"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}"#, false),
            (r#"{"Bool": {"aws:SecureTransport": true}}"#, false),
            (r#"{"StringEquals": {"aws:RequestedRegion": "us-east-1"}}"#, false),
            (r#"{"StringEquals": {"aws:PrincipalTag/team": "a"}}"#, false),
            (r#"{"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "a"}}"#, false),
            // Operators that hold of other values, or without the key.
            (
                r#"{"StringNotEquals": {"aws:PrincipalAccount": "222222222222"}}"#,
                false,
            ),
            (
                r#"{"ArnNotLike": {"aws:PrincipalArn": "arn:aws:iam::222222222222:user/ann"}}"#,
                false,
            ),
            (r#"{"Null": {"aws:PrincipalAccount": false}}"#, false),
            (
                r#"{"StringEqualsIfExists": {"aws:PrincipalAccount": "222222222222"}}"#,
                false,
            ),
            (
                r#"{"ForAllValues:StringEquals": {"aws:PrincipalOrgPaths": "o-a/r-b/"}}"#,
                false,
            ),
        ] {
            let node = Node::parse(condition, 8).unwrap();
            assert_eq!(is_bounded(Some(&node)), expect, "{condition}");
        }
        assert!(!is_bounded(None));
    }
}
