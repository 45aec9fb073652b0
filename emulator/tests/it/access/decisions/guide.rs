//! Rows of a decision table, by page of the IAM and Organizations user guides: policies, a request, and the decision.

use dynatwin_engine::iam::{PolicyKind, PolicySet, StatementInput, Subject};
use serde_json::{Value, json};

use super::{ACCOUNT, OTHER, ROLE, SESSION, TABLE, USER, attached, keys};

/// Who sends a request.
#[derive(Clone, Copy, Debug)]
enum By {
    User,
    Session,
    /// The session of a role of another account.
    Foreign,
    Root,
}

impl By {
    fn subject(self) -> Subject {
        match self {
            By::User => Subject::user(ACCOUNT, "/team/ann"),
            By::Session => Subject::role_session(ACCOUNT, "/app/Reader", "s1"),
            By::Foreign => Subject::role_session(OTHER, "/app/Reader", "s1"),
            By::Root => Subject::root(ACCOUNT),
        }
    }
}

const FOREIGN_ROLE: &str = "arn:aws:iam::444455556666:role/app/Reader";

/// Statements as documents of a kind; each kind may be absent. `service-control` is a list of levels.
fn decide(by: By, policies: &Value, action: &str, resource: &str, request: &Value) -> String {
    let documents = |kind, value: &Value| -> Vec<_> {
        let list = value.as_array().cloned().unwrap_or_default();
        let document = |statement: &Value| attached(&json!({"Version": "2012-10-17", "Statement": statement}), kind);
        list.iter().map(document).collect()
    };
    let of = |name: &str, kind| documents(kind, &policies[name]);
    let identity = of("identity", PolicyKind::Identity);
    let boundary = of("boundary", PolicyKind::Boundary);
    let session = policies
        .get("session")
        .map(|value| documents(PolicyKind::Session, value));
    let levels = policies["service-control"].as_array().cloned().unwrap_or_default();
    let levels: Vec<_> = levels
        .iter()
        .map(|level| documents(PolicyKind::ServiceControl, level))
        .collect();
    let resource_control = of("resource-control", PolicyKind::ResourceControl);
    let (attached_to, endpoint) = (
        of("resource", PolicyKind::Resource),
        of("endpoint", PolicyKind::Endpoint),
    );
    let mut subject = by.subject();
    subject.is_bounded = !boundary.is_empty();
    let set = PolicySet {
        identity: &identity,
        boundary: boundary.first(),
        session: session.as_deref(),
        service_control: &levels,
        resource_control: &resource_control,
        resource: attached_to.first(),
        resource_account: ACCOUNT,
        endpoint: endpoint.first(),
    };
    let question = StatementInput {
        subject: &subject,
        action,
        resource,
        keys: &keys(request),
    };
    match set.decide(&question).denial {
        None => "allowed".to_owned(),
        Some(denial) => format!("{}{:?}", if denial.explicit { "deny " } else { "no " }, denial.kind),
    }
}

fn check(rows: &[(&str, By, Value, &str, &str, Value, &str)]) {
    let mut wrong = Vec::new();
    for (name, by, policies, action, resource, request, expect) in rows {
        let found = decide(*by, policies, action, resource, request);
        if found != *expect {
            wrong.push(format!("{name}: {found}, not {expect}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks rows about a GetItem of the table without keys.
fn check_plain(rows: &[(&str, By, Value, &str)]) {
    let rows: Vec<_> = rows
        .iter()
        .map(|(name, by, policies, expect)| {
            (
                *name,
                *by,
                policies.clone(),
                "dynamodb:GetItem",
                TABLE,
                json!({}),
                *expect,
            )
        })
        .collect();
    check(&rows);
}

fn allow() -> Value {
    json!({"Effect": "Allow", "Action": "*", "Resource": "*"})
}

fn deny() -> Value {
    json!({"Effect": "Deny", "Action": "*", "Resource": "*"})
}

fn other() -> Value {
    json!({"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": "*"})
}

fn to(principal: &str) -> Value {
    json!({"Effect": "Allow", "Action": "*", "Resource": "*", "Principal": {"AWS": principal}})
}

fn anyone(condition: Value) -> Value {
    json!({"Effect": "Allow", "Action": "*", "Resource": "*", "Principal": "*", "Condition": condition})
}

const YES: &str = "allowed";

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
            "resource-control": [{"Effect": "Deny", "Action": "*", "Resource": "*", "Principal": "*"}]}),
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

/// "IAM JSON policy elements": Action, NotAction, Resource, NotResource, Principal, NotPrincipal.
#[test]
fn elements() {
    let statement = |members: Value| {
        let mut statement = json!({"Effect": "Allow", "Action": "*", "Resource": "*"});
        for (name, value) in members.as_object().unwrap() {
            let opposite = name.strip_prefix("Not").map_or(format!("Not{name}"), str::to_owned);
            let statement = statement.as_object_mut().unwrap();
            statement.remove(&opposite);
            statement.insert(name.clone(), value.clone());
        }
        json!({"identity": [statement]})
    };
    let denying = |members: Value| {
        let mut policies = statement(members);
        policies["identity"][0]["Effect"] = json!("Deny");
        policies["identity"].as_array_mut().unwrap().push(allow());
        policies
    };
    let index = format!("{TABLE}/index/ByTitle");
    let row = |policies, action, resource, expect| ("", By::User, policies, action, resource, json!({}), expect);
    let (get, no) = ("dynamodb:GetItem", "no Identity");
    check(&[
        row(statement(json!({"Action": "DYNAMODB:getITEM"})), get, TABLE, YES),
        row(statement(json!({"Action": "dynamodb:Get*"})), get, TABLE, YES),
        row(statement(json!({"Action": "dynamodb:*Item"})), get, TABLE, YES),
        row(
            statement(json!({"Action": "dynamodb:*Item"})),
            "dynamodb:Query",
            TABLE,
            no,
        ),
        row(statement(json!({"Action": "dynamodb:???Item"})), get, TABLE, YES),
        row(
            statement(json!({"Action": "dynamodb:???Item"})),
            "dynamodb:UpdateItem",
            TABLE,
            no,
        ),
        row(statement(json!({"Action": ["s3:*", "iam:*"]})), get, TABLE, no),
        row(statement(json!({"NotAction": "dynamodb:DeleteTable"})), get, TABLE, YES),
        row(
            statement(json!({"NotAction": "dynamodb:DeleteTable"})),
            "dynamodb:deletetable",
            TABLE,
            no,
        ),
        row(
            statement(json!({"NotAction": ["iam:*", "dynamodb:Get*"]})),
            get,
            TABLE,
            no,
        ),
        row(statement(json!({"NotAction": "iam:*"})), get, TABLE, YES),
        row(
            denying(json!({"NotAction": ["dynamodb:GetItem", "dynamodb:Query"]})),
            get,
            TABLE,
            YES,
        ),
        row(
            denying(json!({"NotAction": ["dynamodb:GetItem", "dynamodb:Query"]})),
            "dynamodb:Scan",
            TABLE,
            "deny Identity",
        ),
        row(statement(json!({"Resource": TABLE})), get, TABLE, YES),
        row(statement(json!({"Resource": TABLE})), get, &index, no),
        row(
            statement(json!({"Resource": format!("{TABLE}/index/*")})),
            get,
            &index,
            YES,
        ),
        row(statement(json!({"Resource": format!("{TABLE}/*")})), get, TABLE, no),
        row(statement(json!({"Resource": format!("{TABLE}*")})), get, &index, YES),
        row(statement(json!({"Resource": TABLE.to_lowercase()})), get, TABLE, no),
        row(
            statement(json!({"Resource": "arn:aws:dynamodb:*:*:table/Bo*s"})),
            get,
            TABLE,
            YES,
        ),
        row(
            statement(json!({"Resource": "arn:aws:dynamodb:us-*-?:111122223333:*"})),
            get,
            TABLE,
            YES,
        ),
        row(
            statement(json!({"Resource": "arn:aws:dynamodb:eu-*:*:*"})),
            get,
            TABLE,
            no,
        ),
        row(
            statement(json!({"Resource": "arn:*:dynamodb:*:*:table/Books"})),
            get,
            TABLE,
            YES,
        ),
        row(
            statement(json!({"Resource": "arn:aws:dynamodb:us-east-1:444455556666:table/*"})),
            get,
            TABLE,
            no,
        ),
        row(
            statement(json!({"Resource": "arn:aws:dynamodb:us-east-1"})),
            get,
            TABLE,
            YES,
        ),
        row(statement(json!({"Resource": "arn:aws:dynamodb"})), get, TABLE, YES),
        row(statement(json!({"NotResource": TABLE})), get, TABLE, no),
        row(statement(json!({"NotResource": TABLE})), get, &index, YES),
        row(
            statement(json!({"NotResource": [format!("{TABLE}*"), "arn:aws:s3:::*"]})),
            get,
            &index,
            no,
        ),
        row(
            denying(json!({"NotResource": [TABLE, format!("{TABLE}/*")]})),
            get,
            &index,
            YES,
        ),
        row(
            denying(json!({"NotResource": [TABLE, format!("{TABLE}/*")]})),
            get,
            "arn:aws:dynamodb:us-east-1:111122223333:table/Other",
            "deny Identity",
        ),
    ]);
    let excluding = |principals: Value| json!({"identity": [allow()], "resource": [{"Effect": "Deny", "Action": "*", "Resource": "*", "NotPrincipal": {"AWS": principals}}]});
    let root = format!("arn:aws:iam::{ACCOUNT}:root");
    check_plain(&[
        (
            "all but the user and its account",
            By::User,
            excluding(json!([USER, root])),
            YES,
        ),
        (
            "all but another user",
            By::User,
            excluding(json!([USER.replace("ann", "bob"), root])),
            "deny Resource",
        ),
        (
            "all but the session, its role and account",
            By::Session,
            excluding(json!([SESSION, ROLE, root])),
            YES,
        ),
        (
            "all but the role and account, not the session",
            By::Session,
            excluding(json!([ROLE, root])),
            "deny Resource",
        ),
        (
            "other principals by ARN",
            By::User,
            json!({"resource": [to(&format!("arn:aws:iam::{ACCOUNT}:root"))], "identity": [allow()]}),
            YES,
        ),
        (
            "several principals",
            By::User,
            json!({"resource": [{"Effect": "Allow", "Action": "*", "Resource": "*", "Principal": {"AWS": [FOREIGN_ROLE, USER]}}]}),
            YES,
        ),
        (
            "a service principal",
            By::User,
            json!({"resource": [{"Effect": "Allow", "Action": "*", "Resource": "*", "Principal": {"Service": "replication.dynamodb.amazonaws.com"}}]}),
            "no Identity",
        ),
        (
            "principal by wildcard in AWS",
            By::User,
            json!({"resource": [{"Effect": "Allow", "Action": "*", "Resource": "*", "Principal": {"AWS": "*"}, "Condition": {"Null": {"aws:PrincipalArn": "true"}}}]}),
            YES,
        ),
    ]);
}

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

/// "IAM policy elements: Variables and tags".
#[test]
fn variables() {
    let resource = |pattern: &str| json!({"identity": [{"Effect": "Allow", "Action": "*", "Resource": pattern}]});
    let row = |policies, request, expect| ("", By::User, policies, "dynamodb:GetItem", TABLE, request, expect);
    let condition = |operator: &str, own: &str| json!({"identity": [{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {operator: {"aws:PrincipalTag/team": own}}}]});
    let no = "no Identity";
    let table = "arn:aws:dynamodb:*:*:table/";
    let named = |value: &str| json!({"aws:username": value});
    check(&[
        row(resource(&format!("{table}${{aws:username}}")), named("Books"), YES),
        row(resource(&format!("{table}${{aws:UserName}}")), named("Books"), YES),
        row(resource(&format!("{table}${{aws:username}}")), named("books"), no),
        row(resource(&format!("{table}${{aws:username}}")), json!({}), no),
        row(resource(&format!("{table}${{aws:username, 'Books'}}")), json!({}), YES),
        row(
            resource(&format!("{table}${{aws:username, 'Books'}}")),
            named("Other"),
            no,
        ),
        row(
            resource(&format!("{table}${{aws:PrincipalTag/team}}*")),
            json!({"aws:PrincipalTag/team": "Bo"}),
            YES,
        ),
        row(
            resource(&format!("{table}${{aws:TagKeys}}")),
            json!({"aws:TagKeys": ["Books"]}),
            no,
        ),
        row(resource(&format!("{table}B${{*}}")), json!({}), no),
        row(resource(&format!("{table}Book${{?}}")), json!({}), no),
        row(
            condition("StringEquals", "${aws:username}"),
            json!({"aws:PrincipalTag/team": "x", "aws:username": "x"}),
            YES,
        ),
        row(
            condition("StringEquals", "${aws:username}"),
            json!({"aws:PrincipalTag/team": "x"}),
            no,
        ),
        row(
            condition("StringNotEquals", "${aws:username}"),
            json!({"aws:PrincipalTag/team": "x"}),
            YES,
        ),
        row(
            condition("StringLike", "${aws:username}-*"),
            json!({"aws:PrincipalTag/team": "x-1", "aws:username": "x"}),
            YES,
        ),
        row(
            condition("StringLike", "a${*}"),
            json!({"aws:PrincipalTag/team": "abc"}),
            no,
        ),
        row(
            condition("StringLike", "a${*}"),
            json!({"aws:PrincipalTag/team": "a*"}),
            YES,
        ),
        row(
            condition("StringEquals", "${$}{x}"),
            json!({"aws:PrincipalTag/team": "${x}"}),
            YES,
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
            json!({"Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*", "Condition": {"BoolIfExists": {"aws:SecureTransport": "false"}}}),
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
