//! Decisions within an account, across accounts and in organizations.

use serde_json::{Value, json};

use super::super::{ACCOUNT, OTHER, ROLE, SESSION, TABLE, USER};
use super::{By, FOREIGN_ROLE, YES, allow, check, check_plain, deny, other, to};

fn anyone(condition: Value) -> Value {
    json!({"Effect": "Allow", "Action": "*", "Resource": "*", "Principal": "*", "Condition": condition})
}

/// "Policy evaluation for requests within a single account".
#[test]
fn within_an_account() {
    let role_arn = || anyone(json!({"ArnEquals": {"aws:PrincipalArn": ROLE}}));
    let row =
        |policies, request: Value, expect| ("", By::Session, policies, "dynamodb:GetItem", TABLE, request, expect);
    let principal = || json!({"aws:PrincipalArn": ROLE});
    check_plain(&[
        ("nothing", By::User, json!({}), "no Identity"),
        ("root", By::Root, json!({}), YES),
        ("identity", By::User, json!({"identity": [allow()]}), YES),
        (
            "identity deny",
            By::User,
            json!({"identity": [allow(), deny()]}),
            "deny Identity",
        ),
        (
            "boundary alone",
            By::User,
            json!({"boundary": [allow()]}),
            "no Identity",
        ),
        (
            "identity within boundary",
            By::User,
            json!({"identity": [allow()], "boundary": [allow()]}),
            YES,
        ),
        (
            "identity outside boundary",
            By::User,
            json!({"identity": [allow()], "boundary": [other()]}),
            "no Boundary",
        ),
        (
            "boundary deny",
            By::User,
            json!({"identity": [allow()], "boundary": [deny()]}),
            "deny Boundary",
        ),
        (
            "session policy alone",
            By::Session,
            json!({"session": [allow()]}),
            "no Identity",
        ),
        (
            "session policy",
            By::Session,
            json!({"identity": [allow()], "session": [allow()]}),
            YES,
        ),
        (
            "outside session policy",
            By::Session,
            json!({"identity": [allow()], "session": [other()]}),
            "no Session",
        ),
        (
            "one of two session policies",
            By::Session,
            json!({"identity": [allow()], "session": [other(), allow()]}),
            YES,
        ),
        (
            "session deny",
            By::Session,
            json!({"identity": [allow()], "session": [allow(), deny()]}),
            "deny Session",
        ),
        ("resource names user", By::User, json!({"resource": [to(USER)]}), YES),
        (
            "resource names user, boundary lacks it",
            By::User,
            json!({"resource": [to(USER)], "boundary": [other()]}),
            YES,
        ),
        (
            "resource names user, boundary denies",
            By::User,
            json!({"resource": [to(USER)], "boundary": [deny()]}),
            "deny Boundary",
        ),
        (
            "resource names user, identity denies",
            By::User,
            json!({"resource": [to(USER)], "identity": [deny()]}),
            "deny Identity",
        ),
        ("resource names role", By::Session, json!({"resource": [to(ROLE)]}), YES),
        (
            "resource names role, boundary lacks it",
            By::Session,
            json!({"resource": [to(ROLE)], "boundary": [other()]}),
            "no Boundary",
        ),
        (
            "resource names role, boundary has it",
            By::Session,
            json!({"resource": [to(ROLE)], "boundary": [allow()]}),
            YES,
        ),
        (
            "resource names role, session policy lacks it",
            By::Session,
            json!({"resource": [to(ROLE)], "session": [other()]}),
            "no Session",
        ),
        (
            "resource names role, session policy has it",
            By::Session,
            json!({"resource": [to(ROLE)], "session": [allow()]}),
            YES,
        ),
        (
            "resource names session",
            By::Session,
            json!({"resource": [to(SESSION)]}),
            YES,
        ),
        (
            "resource names session, boundary lacks it",
            By::Session,
            json!({"resource": [to(SESSION)], "boundary": [other()]}),
            YES,
        ),
        (
            "resource names session, session policy lacks it",
            By::Session,
            json!({"resource": [to(SESSION)], "session": [other()]}),
            YES,
        ),
        (
            "resource names session, session policy denies",
            By::Session,
            json!({"resource": [to(SESSION)], "session": [deny()]}),
            "deny Session",
        ),
        (
            "resource names another session",
            By::Session,
            json!({"resource": [to(&SESSION.replace("s1", "s2"))]}),
            "no Identity",
        ),
        (
            "resource names account",
            By::User,
            json!({"resource": [to(ACCOUNT)]}),
            "no Identity",
        ),
        (
            "resource names account and identity allows",
            By::User,
            json!({"resource": [to(ACCOUNT)], "identity": [allow()]}),
            YES,
        ),
        (
            "resource names other user",
            By::User,
            json!({"resource": [to(&USER.replace("ann", "bob"))]}),
            "no Identity",
        ),
        (
            "resource denies user",
            By::User,
            json!({"identity": [allow()], "resource": [{"Effect": "Deny", "Action": "*", "Resource": "*", "Principal": {"AWS": USER}}]}),
            "deny Resource",
        ),
        (
            "resource denies account",
            By::User,
            json!({"identity": [allow()], "resource": [{"Effect": "Deny", "Action": "*", "Resource": "*", "Principal": {"AWS": ACCOUNT}}]}),
            "deny Resource",
        ),
        (
            "resource denies other account",
            By::User,
            json!({"identity": [allow()], "resource": [{"Effect": "Deny", "Action": "*", "Resource": "*", "Principal": {"AWS": OTHER}}]}),
            YES,
        ),
        (
            "resource denies root",
            By::Root,
            json!({"resource": [{"Effect": "Deny", "Action": "*", "Resource": "*", "Principal": {"AWS": format!("arn:aws:iam::{ACCOUNT}:root")}}]}),
            "deny Resource",
        ),
        (
            "identity and resource, the first lacks",
            By::User,
            json!({"identity": [other()], "resource": [to(USER)]}),
            YES,
        ),
        (
            "SCP lacks",
            By::User,
            json!({"identity": [allow()], "service-control": [[other()]]}),
            "no ServiceControl",
        ),
        (
            "SCP lacks, resource names user",
            By::User,
            json!({"resource": [to(USER)], "service-control": [[other()]]}),
            "no ServiceControl",
        ),
        (
            "SCP of root user",
            By::Root,
            json!({"service-control": [[other()]]}),
            "no ServiceControl",
        ),
        (
            "two levels",
            By::User,
            json!({"identity": [allow()], "service-control": [[allow()], [other()]]}),
            "no ServiceControl",
        ),
        (
            "two levels allow",
            By::User,
            json!({"identity": [allow()], "service-control": [[allow()], [other(), allow()]]}),
            YES,
        ),
        (
            "a level without policies",
            By::User,
            json!({"identity": [allow()], "service-control": [[allow()], []]}),
            "no ServiceControl",
        ),
        (
            "SCP grants nothing",
            By::User,
            json!({"service-control": [[allow()]]}),
            "no Identity",
        ),
        (
            "RCP denies root",
            By::Root,
            json!({"resource-control": [{"Effect": "Deny", "Action": "dynamodb:*", "Resource": "*", "Principal": "*"}]}),
            "deny ResourceControl",
        ),
        (
            "RCP of another action",
            By::User,
            json!({"identity": [allow()], "resource-control": [{"Effect": "Deny", "Action": "dynamodb:PutItem", "Resource": "*", "Principal": "*"}]}),
            YES,
        ),
    ]);
    // "Permissions boundaries and session policies do not limit permissions granted using the aws:PrincipalArn condition
    // key with a wildcard (*) in the Principal element, unless the identity-based policies contain an explicit deny."
    check(&[
        row(json!({"resource": [role_arn()]}), principal(), YES),
        row(
            json!({"resource": [role_arn()], "boundary": [other()]}),
            principal(),
            YES,
        ),
        row(
            json!({"resource": [role_arn()], "session": [other()]}),
            principal(),
            YES,
        ),
        row(
            json!({"resource": [role_arn()], "identity": [deny()]}),
            principal(),
            "deny Identity",
        ),
        row(
            json!({"resource": [role_arn()]}),
            json!({"aws:PrincipalArn": FOREIGN_ROLE}),
            "no Identity",
        ),
    ]);
}

/// "Cross-account policy evaluation logic".
#[test]
fn across_accounts() {
    check_plain(&[
        ("neither", By::Foreign, json!({}), "no Resource"),
        (
            "identity alone",
            By::Foreign,
            json!({"identity": [allow()]}),
            "no Resource",
        ),
        (
            "resource alone, role",
            By::Foreign,
            json!({"resource": [to(FOREIGN_ROLE)]}),
            "no Identity",
        ),
        (
            "both, account",
            By::Foreign,
            json!({"identity": [allow()], "resource": [to(OTHER)]}),
            YES,
        ),
        (
            "both, role",
            By::Foreign,
            json!({"identity": [allow()], "resource": [to(FOREIGN_ROLE)]}),
            YES,
        ),
        (
            "both, its own account",
            By::Foreign,
            json!({"identity": [allow()], "resource": [to(ACCOUNT)]}),
            "no Resource",
        ),
        (
            "boundary lacks",
            By::Foreign,
            json!({"identity": [allow()], "resource": [to(FOREIGN_ROLE)], "boundary": [other()]}),
            "no Boundary",
        ),
        (
            "session policy lacks",
            By::Foreign,
            json!({"identity": [allow()], "resource": [to(FOREIGN_ROLE)], "session": [other()]}),
            "no Session",
        ),
        (
            "resource denies",
            By::Foreign,
            json!({"identity": [allow()], "resource": [{"Effect": "Deny", "Action": "*", "Resource": "*", "Principal": {"AWS": OTHER}}]}),
            "deny Resource",
        ),
        (
            "RCP denies",
            By::Foreign,
            json!({"identity": [allow()], "resource": [to(OTHER)],
            "resource-control": [{"Effect": "Deny", "Action": "dynamodb:*", "Resource": "*", "Principal": "*"}]}),
            "deny ResourceControl",
        ),
        (
            "SCP of the caller lacks",
            By::Foreign,
            json!({"identity": [allow()], "resource": [to(OTHER)], "service-control": [[other()]]}),
            "no ServiceControl",
        ),
        (
            "endpoint lacks",
            By::Foreign,
            json!({"identity": [allow()], "resource": [to(OTHER)],
            "endpoint": [{"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": "*", "Principal": "*"}]}),
            "no Endpoint",
        ),
    ]);
}

/// "SCP evaluation", "RCP evaluation" and the examples of the Organizations user guide.
#[test]
fn organizations() {
    let scp = |statement: Value| json!({"identity": [allow()], "service-control": [[allow(), statement]]});
    let rcp = |statement: Value| json!({"identity": [allow()], "resource-control": [statement]});
    let regions = || {
        scp(
            json!({"Effect": "Deny", "NotAction": ["iam:*", "organizations:*", "dynamodb:DescribeEndpoints"], "Resource": "*",
            "Condition": {"StringNotEquals": {"aws:RequestedRegion": ["eu-central-1", "eu-west-1"]}, "ArnNotLike": {"aws:PrincipalARN": "arn:aws:iam::*:role/Admin"}}}),
        )
    };
    let own_org = || {
        rcp(
            json!({"Effect": "Deny", "Principal": "*", "Action": "dynamodb:*", "Resource": "*",
            "Condition": {"StringNotEqualsIfExists": {"aws:PrincipalOrgID": "o-1"}, "BoolIfExists": {"aws:PrincipalIsAWSService": "false"}}}),
        )
    };
    let secure = || {
        rcp(
            json!({"Effect": "Deny", "Principal": "*", "Action": "dynamodb:*", "Resource": "*", "Condition": {"BoolIfExists": {"aws:SecureTransport": "false"}}}),
        )
    };
    let deny = "deny ServiceControl";
    let get = "dynamodb:GetItem";
    check(&[
        (
            "region",
            By::User,
            regions(),
            get,
            TABLE,
            json!({"aws:RequestedRegion": "us-east-1", "aws:PrincipalArn": USER}),
            deny,
        ),
        (
            "region allowed",
            By::User,
            regions(),
            get,
            TABLE,
            json!({"aws:RequestedRegion": "eu-west-1", "aws:PrincipalArn": USER}),
            YES,
        ),
        (
            "global action",
            By::User,
            regions(),
            "dynamodb:DescribeEndpoints",
            "*",
            json!({"aws:RequestedRegion": "us-east-1", "aws:PrincipalArn": USER}),
            YES,
        ),
        (
            "exempt role",
            By::Session,
            regions(),
            get,
            TABLE,
            json!({"aws:RequestedRegion": "us-east-1", "aws:PrincipalArn": "arn:aws:iam::111122223333:role/Admin"}),
            YES,
        ),
        (
            "root",
            By::Root,
            regions(),
            get,
            TABLE,
            json!({"aws:RequestedRegion": "us-east-1", "aws:PrincipalArn": "arn:aws:iam::111122223333:root"}),
            deny,
        ),
        (
            "no root user",
            By::Root,
            scp(
                json!({"Effect": "Deny", "Action": "*", "Resource": "*", "Condition": {"StringLike": {"aws:PrincipalArn": "arn:aws:iam::*:root"}}}),
            ),
            get,
            TABLE,
            json!({"aws:PrincipalArn": "arn:aws:iam::111122223333:root"}),
            deny,
        ),
        (
            "allow list",
            By::User,
            json!({"identity": [allow()], "service-control": [[{"Effect": "Allow", "Action": ["dynamodb:*"], "Resource": "*"}]]}),
            get,
            TABLE,
            json!({}),
            YES,
        ),
        (
            "allow list of another service",
            By::User,
            json!({"identity": [allow()], "service-control": [[{"Effect": "Allow", "Action": ["s3:*"], "Resource": "*"}]]}),
            get,
            TABLE,
            json!({}),
            "no ServiceControl",
        ),
        (
            "allow of a resource",
            By::User,
            json!({"identity": [allow()], "service-control": [[{"Effect": "Allow", "Action": "*", "Resource": TABLE}]]}),
            get,
            TABLE,
            json!({}),
            YES,
        ),
        (
            "allow of a resource and not of others",
            By::User,
            json!({"identity": [allow()], "service-control": [[{"Effect": "Allow", "Action": "*", "Resource": TABLE}]]}),
            get,
            "arn:aws:dynamodb:us-east-1:111122223333:table/Other",
            json!({}),
            "no ServiceControl",
        ),
        (
            "NotResource",
            By::User,
            scp(
                json!({"Effect": "Deny", "Action": "dynamodb:DeleteTable", "NotResource": "arn:aws:dynamodb:*:*:table/tmp-*"}),
            ),
            "dynamodb:DeleteTable",
            TABLE,
            json!({}),
            deny,
        ),
        (
            "NotResource, exempt",
            By::User,
            scp(
                json!({"Effect": "Deny", "Action": "dynamodb:DeleteTable", "NotResource": "arn:aws:dynamodb:*:*:table/tmp-*"}),
            ),
            "dynamodb:DeleteTable",
            "arn:aws:dynamodb:us-east-1:111122223333:table/tmp-1",
            json!({}),
            YES,
        ),
        (
            "tag required",
            By::User,
            scp(
                json!({"Effect": "Deny", "Action": "dynamodb:CreateTable", "Resource": "*", "Condition": {"Null": {"aws:RequestTag/Project": "true"}}}),
            ),
            "dynamodb:CreateTable",
            TABLE,
            json!({}),
            deny,
        ),
        (
            "tag given",
            By::User,
            scp(
                json!({"Effect": "Deny", "Action": "dynamodb:CreateTable", "Resource": "*", "Condition": {"Null": {"aws:RequestTag/Project": "true"}}}),
            ),
            "dynamodb:CreateTable",
            TABLE,
            json!({"aws:RequestTag/Project": "x"}),
            YES,
        ),
        (
            "own organization",
            By::User,
            own_org(),
            get,
            TABLE,
            json!({"aws:PrincipalOrgID": "o-1", "aws:PrincipalIsAWSService": "false"}),
            YES,
        ),
        (
            "another organization",
            By::User,
            own_org(),
            get,
            TABLE,
            json!({"aws:PrincipalOrgID": "o-2", "aws:PrincipalIsAWSService": "false"}),
            "deny ResourceControl",
        ),
        (
            "no organization",
            By::User,
            own_org(),
            get,
            TABLE,
            json!({"aws:PrincipalIsAWSService": "false"}),
            "deny ResourceControl",
        ),
        (
            "a service",
            By::User,
            own_org(),
            get,
            TABLE,
            json!({"aws:PrincipalIsAWSService": "true"}),
            YES,
        ),
        (
            "TLS",
            By::User,
            secure(),
            get,
            TABLE,
            json!({"aws:SecureTransport": "true"}),
            YES,
        ),
        (
            "no TLS",
            By::User,
            secure(),
            get,
            TABLE,
            json!({"aws:SecureTransport": "false"}),
            "deny ResourceControl",
        ),
    ]);
}
