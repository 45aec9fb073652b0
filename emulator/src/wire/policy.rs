//! Policy documents: read, validated, and written in the service's form (docs/behavior: 04 12.3).

mod node;
mod public;

use super::encode::Writer;
use crate::error::ApiError;
use crate::limits;
pub use node::Node;
use node::member;

/// The actions that a table's policy can name (Service Authorization Reference), without `dynamodb:`.
const TABLE_ACTIONS: &[&str] = &[
    "AssociateTableReplica",
    "BatchGetItem",
    "BatchWriteItem",
    "ConditionCheckItem",
    "CreateBackup",
    "CreateTable",
    "CreateTableReplica",
    "DeleteItem",
    "DeleteResourcePolicy",
    "DeleteTable",
    "DeleteTableReplica",
    "DescribeContinuousBackups",
    "DescribeContributorInsights",
    "DescribeExport",
    "DescribeKinesisStreamingDestination",
    "DescribeTable",
    "DescribeTableReplicaAutoScaling",
    "DescribeTimeToLive",
    "DisableKinesisStreamingDestination",
    "EnableKinesisStreamingDestination",
    "ExportTableToPointInTime",
    "GetItem",
    "GetResourcePolicy",
    "ListTagsOfResource",
    "PartiQLDelete",
    "PartiQLInsert",
    "PartiQLSelect",
    "PartiQLUpdate",
    "PutItem",
    "PutResourcePolicy",
    "Query",
    "ReadDataForReplication",
    "ReplicateSettings",
    "RestoreTableToPointInTime",
    "Scan",
    "SearchVectors",
    "TagResource",
    "UntagResource",
    "UpdateContinuousBackups",
    "UpdateContributorInsights",
    "UpdateItem",
    "UpdateKinesisStreamingDestination",
    "UpdateTable",
    "UpdateTableReplicaAutoScaling",
    "UpdateTimeToLive",
    "WriteDataForReplication",
];
/// The actions that a stream's policy can name; `ListStreams` is not one (recorded, August 2026).
const STREAM_ACTIONS: &[&str] = &[
    "DeleteResourcePolicy",
    "DescribeStream",
    "GetRecords",
    "GetResourcePolicy",
    "GetShardIterator",
    "PutResourcePolicy",
];

/// The levels of a document that are read. A policy has six at most.
const MOST_DEPTH: usize = 16;
/// The version of a document without one.
const OLDEST_VERSION: &str = "2008-10-17";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document(String);

impl Document {
    /// Reads and judges a document, of a stream's policy or a table's.
    pub fn read(text: &str, of_stream: bool) -> Result<Document, ApiError> {
        if text.len() > limits::POLICY_SIZE {
            return Err(ApiError::invalid(format_args!(
                "Maximum policy size of {} bytes exceeded",
                limits::POLICY_SIZE
            )));
        }
        let Some(Node::Object(members)) = Node::parse(text, MOST_DEPTH) else {
            return Err(malformed("This policy contains invalid Json"));
        };
        let mut statements = match member(&members, "Statement") {
            Some(Node::List(statements)) => statements.clone(),
            Some(Node::Object(statement)) => vec![Node::Object(statement.clone())],
            _ => Vec::new(),
        };
        if statements.is_empty() {
            return Err(malformed("Could not parse the policy: Statement is empty!"));
        }
        for statement in &mut statements {
            check_statement(statement, of_stream)?;
        }
        check_ids(&statements)?;
        let mut writer = Writer::with_capacity(text.len());
        writer.open_object();
        let version = member(&members, "Version").and_then(Node::text);
        writer.name("Version").string(version.unwrap_or(OLDEST_VERSION));
        if let Some(id) = member(&members, "Id").and_then(Node::text) {
            writer.name("Id").string(id);
        }
        writer.name("Statement").open_list();
        statements
            .iter()
            .for_each(|statement| write_statement(&mut writer, statement));
        writer.close_list().close_object();
        let written = String::from_utf8(writer.finish());
        written.map(Document).map_err(|_| ApiError::internal())
    }

    /// The document as the service shows it: without blanks, its members in a fixed order.
    pub fn text(&self) -> &str {
        &self.0
    }
}

fn malformed(why: impl std::fmt::Display) -> ApiError {
    ApiError::invalid(format_args!("Invalid policy document: {why}"))
}

/// The required members of a statement, each with its opposite.
const REQUIRED: [(&str, &str); 4] = [
    ("Effect", "Effect"),
    ("Principal", "NotPrincipal"),
    ("Action", "NotAction"),
    ("Resource", "NotResource"),
];

/// Judges a statement, and writes account numbers among its principals as the service does.
fn check_statement(statement: &mut Node, of_stream: bool) -> Result<(), ApiError> {
    let Node::Object(members) = statement else {
        return Err(malformed("This policy contains invalid Json"));
    };
    for (name, opposite) in REQUIRED {
        if member(members, name).or(member(members, opposite)).is_none() {
            return Err(malformed(format_args!("Missing required field {name}")));
        }
    }
    let allows = match member(members, "Effect").and_then(Node::text) {
        Some("Allow") => true,
        Some("Deny") => false,
        _ => return Err(malformed("This policy contains invalid Json")),
    };
    check_actions(members, of_stream)?;
    let is_bounded = public::is_bounded(member(members, "Condition"));
    for (name, principal) in members
        .iter_mut()
        .filter(|(name, _)| name == "Principal" || name == "NotPrincipal")
    {
        let everybody = check_principal(principal)?;
        if everybody && allows && !is_bounded && name == "Principal" {
            return Err(ApiError::validation(
                "Resource-based policy grants unbounded access in one or more elements. Please revise the policy to ensure least-privilege form of access",
            ));
        }
    }
    Ok(())
}

fn check_actions(members: &[(String, Node)], of_stream: bool) -> Result<(), ApiError> {
    let known = if of_stream { STREAM_ACTIONS } else { TABLE_ACTIONS };
    let is_known = |action: &str| {
        let pattern = match action.split_once(':') {
            Some((service, pattern)) if service.eq_ignore_ascii_case("dynamodb") => pattern,
            Some(_) => return false,
            None => return action == "*",
        };
        known.iter().any(|name| matches(pattern.as_bytes(), name.as_bytes()))
    };
    let mut unknown = Vec::new();
    for (_, actions) in members
        .iter()
        .filter(|(name, _)| name == "Action" || name == "NotAction")
    {
        let Some(actions) = actions.texts() else {
            return Err(malformed("This policy contains invalid Json"));
        };
        unknown.extend(
            actions
                .into_iter()
                .filter(|action| !is_known(action))
                .map(|action| format!("\"{action}\"")),
        );
    }
    if unknown.is_empty() {
        return Ok(());
    }
    Err(malformed(format_args!(
        "The following action names are invalid: {}",
        unknown.join(", ")
    )))
}

/// Whether a name matches a pattern with `*` and `?`, ignoring case.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut read) = (0, 0);
    // Where to continue if the text after the last star does not match: the star takes one more character.
    let mut star: Option<(usize, usize)> = None;
    while read < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at + 1, read));
                at += 1;
            }
            Some(letter) if *letter == b'?' || letter.eq_ignore_ascii_case(&name[read]) => {
                at += 1;
                read += 1;
            }
            _ => match &mut star {
                Some((after, taken)) => {
                    *taken += 1;
                    (at, read) = (*after, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == b'*')
}

/// Checks a principal; returns whether it is everybody.
fn check_principal(principal: &mut Node) -> Result<bool, ApiError> {
    let invalid = || ApiError::validation("Invalid principal in policy document.");
    let kinds = match principal {
        Node::Text(text) if text == "*" => return Ok(true),
        Node::Object(kinds) if !kinds.is_empty() => kinds,
        _ => return Err(invalid()),
    };
    let mut everybody = false;
    for (kind, named) in kinds {
        if !matches!(kind.as_str(), "AWS" | "Service" | "Federated" | "CanonicalUser") {
            return Err(invalid());
        }
        let each: Vec<&mut Node> = match named {
            Node::List(list) => list.iter_mut().collect(),
            other => vec![other],
        };
        for node in each {
            let Node::Text(text) = node else { return Err(invalid()) };
            everybody |= text == "*";
            if kind != "AWS" || text == "*" {
                continue;
            }
            if is_account(text) {
                *text = format!("arn:aws:iam::{text}:root");
            } else if !is_identity(text) {
                return Err(invalid());
            }
        }
    }
    Ok(everybody)
}

fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text has the form of the ARN of an account's root, a user, a role or a session. No wildcards are taken.
fn is_identity(arn: &str) -> bool {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let ["arn", partition, service, "", account, resource] = parts[..] else {
        return false;
    };
    let (kind, name) = resource.split_once('/').unwrap_or((resource, ""));
    let is_principal = match (service, kind) {
        ("iam", "root") => resource == kind,
        ("iam", "user" | "role") | ("sts", "federated-user") => !name.is_empty(),
        ("sts", "assumed-role") => name
            .split_once('/')
            .is_some_and(|(role, session)| !role.is_empty() && !session.is_empty()),
        _ => false,
    };
    is_principal && partition.starts_with("aws") && is_account(account) && !resource.contains(['*', '?'])
}

fn check_ids(statements: &[Node]) -> Result<(), ApiError> {
    let mut ids: Vec<&str> = Vec::new();
    for statement in statements {
        let Node::Object(members) = statement else { continue };
        let Some(id) = member(members, "Sid").and_then(Node::text) else {
            continue;
        };
        if ids.contains(&id) {
            return Err(malformed("The Statement Ids in the policy are not unique"));
        }
        ids.push(id);
    }
    Ok(())
}

/// The members of a statement in the order in which they are shown.
const ORDER: [&str; 9] = [
    "Sid",
    "Effect",
    "Principal",
    "NotPrincipal",
    "Action",
    "NotAction",
    "Resource",
    "NotResource",
    "Condition",
];

fn write_statement(writer: &mut Writer, statement: &Node) {
    let Node::Object(members) = statement else { return };
    writer.open_object();
    for name in ORDER {
        if let Some(node) = member(members, name) {
            writer.name(name);
            write(writer, node);
        }
    }
    writer.close_object();
}

/// A list of one is written as its one element.
fn write(writer: &mut Writer, node: &Node) {
    match node {
        Node::Text(text) => {
            writer.string(text);
        }
        Node::List(list) => match &list[..] {
            [one] => write(writer, one),
            list => {
                writer.open_list();
                list.iter().for_each(|each| write(writer, each));
                writer.close_list();
            }
        },
        Node::Object(members) => {
            writer.open_object();
            for (name, node) in members {
                writer.name(name);
                write(writer, node);
            }
            writer.close_object();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, expect) in [
            ("*", "GetItem", true),
            ("Get*", "GetItem", true),
            ("get?tem", "GetItem", true),
            ("*Item", "GetItem", true),
            ("*Ite", "GetItem", false),
            ("Get*m*m", "GetItem", false),
            ("", "GetItem", false),
            ("GetItem*", "GetItem", true),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expect, "{pattern}");
        }
    }

    #[test]
    fn deep_documents_are_refused() {
        let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
        let text = format!(r#"{{"Statement": {deep}}}"#);
        assert!(Node::parse(&text, MOST_DEPTH).is_none());
    }

    #[test]
    fn principals_are_checked_and_normalized() {
        let invalid = Err("Invalid principal in policy document.");
        for (principal, expect) in [
            (r#""*""#, Ok(r#""*""#)),
            (r#"{"AWS":"*"}"#, Ok(r#"{"AWS":"*"}"#)),
            (
                r#"{"AWS":"123456789012"}"#,
                Ok(r#"{"AWS":"arn:aws:iam::123456789012:root"}"#),
            ),
            (
                r#"{"AWS":["arn:aws-cn:iam::123456789012:user/a","arn:aws:sts::123456789012:assumed-role/r/s"]}"#,
                Ok(r#"{"AWS":["arn:aws-cn:iam::123456789012:user/a","arn:aws:sts::123456789012:assumed-role/r/s"]}"#),
            ),
            (
                r#"{"AWS":["123456789012","arn:aws:iam::123456789012:user/a"],"Service":"lambda.amazonaws.com"}"#,
                Ok(
                    r#"{"AWS":["arn:aws:iam::123456789012:root","arn:aws:iam::123456789012:user/a"],"Service":"lambda.amazonaws.com"}"#,
                ),
            ),
            (
                r#"{"Service":"lambda.amazonaws.com","Federated":"x","AWS":["arn:aws:iam::123456789012:user/a","123456789012","210987654321"]}"#,
                Ok(
                    r#"{"Service":"lambda.amazonaws.com","Federated":"x","AWS":["arn:aws:iam::123456789012:user/a","arn:aws:iam::123456789012:root","arn:aws:iam::210987654321:root"]}"#,
                ),
            ),
            (
                r#"{"Federated":"x","CanonicalUser":"y"}"#,
                Ok(r#"{"Federated":"x","CanonicalUser":"y"}"#),
            ),
            (
                r#"{"Service":"123456789012","AWS":"123456789012"}"#,
                Ok(r#"{"Service":"123456789012","AWS":"arn:aws:iam::123456789012:root"}"#),
            ),
            (r#"{"Service":"x","AWS":"me"}"#, invalid),
            (r#"{"Service":"x","Aws":"*"}"#, invalid),
            (r#"{"AWS":"*","Service":{}}"#, invalid),
            (r#"{"AWS":["123456789012","*","me"]}"#, invalid),
            (r#""123456789012""#, invalid),
            ("{}", invalid),
            (r#"{"Aws":"*"}"#, invalid),
            (r#"{"AWS":{}}"#, invalid),
            (r#"{"AWS":"12345678901"}"#, invalid),
            (r#"{"AWS":"1234567890123"}"#, invalid),
            (r#"{"AWS":"12345678901a"}"#, invalid),
            (r#"{"AWS":"arn:aws:iam::12345678901a:root"}"#, invalid),
            (r#"{"AWS":"arn:aws:iam:us-east-1:123456789012:root"}"#, invalid),
            (r#"{"AWS":"arn:aws:s3::123456789012:root"}"#, invalid),
            (r#"{"AWS":"arn:gcp:iam::123456789012:root"}"#, invalid),
            (r#"{"AWS":"arn:aws:iam::123456789012:"}"#, invalid),
            (r#"{"AWS":"arn:aws:iam::123456789012:root/a"}"#, invalid),
            (r#"{"AWS":"arn:aws:iam::123456789012:user"}"#, invalid),
            (r#"{"AWS":"arn:aws:iam::123456789012:user/"}"#, invalid),
            (r#"{"AWS":"arn:aws:iam::123456789012:user/a?"}"#, invalid),
            (r#"{"AWS":"arn:aws:iam::123456789012:user/*"}"#, invalid),
            (r#"{"AWS":"arn:aws:iam::123456789012:group/a"}"#, invalid),
            (r#"{"AWS":"arn:aws:iam::123456789012:assumed-role/r/s"}"#, invalid),
            (r#"{"AWS":"arn:aws:sts::123456789012:assumed-role/r"}"#, invalid),
            (r#"{"AWS":"arn:aws:sts::123456789012:assumed-role//s"}"#, invalid),
            (r#"{"AWS":"arn:aws:sts::123456789012:assumed-role//r/s"}"#, invalid),
            (r#"{"AWS":"arn:aws:sts::123456789012:assumed-role/r/"}"#, invalid),
            (r#"{"AWS":"arn:aws:sts::123456789012:federated-user/"}"#, invalid),
        ] {
            for member in ["Principal", "NotPrincipal"] {
                let statements = |principal: &str| {
                    format!(
                        r#""Statement":[{{"Effect":"Deny","{member}":{principal},"Action":"dynamodb:GetItem","Resource":"*"}}]"#
                    )
                };
                let found = Document::read(&format!("{{{}}}", statements(principal)), false);
                let found = found
                    .as_ref()
                    .map(Document::text)
                    .map_err(|error| error.message().unwrap_or_default());
                let expect = expect.map(|principal| format!(r#"{{"Version":"2008-10-17",{}}}"#, statements(principal)));
                assert_eq!(found, expect.as_deref().map_err(|error| *error), "{member} {principal}");
            }
        }
    }

    #[test]
    fn statements_are_judged() {
        let invalid = |why: &str| format!("One or more parameter values were invalid: Invalid policy document: {why}");
        let not_json = invalid("This policy contains invalid Json");
        let missing = |name: &str| invalid(&format!("Missing required field {name}"));
        let unknown = |names: &str| invalid(&format!("The following action names are invalid: {names}"));
        let unbounded = "Resource-based policy grants unbounded access in one or more elements. Please revise the policy to ensure least-privilege form of access";
        let bounded = r#""Principal": {"AWS": "123456789012"}, "Action": "dynamodb:GetItem", "Resource": "*""#;
        for (statement, of_stream, expect) in [
            (format!(r#""Effect": "Allow", {bounded}"#), false, String::new()),
            (format!(r#""Effect": "allow", {bounded}"#), false, not_json.clone()),
            (format!(r#""Effect": 1, {bounded}"#), false, not_json.clone()),
            (r#""Sid": "a""#.to_owned(), false, missing("Effect")),
            (bounded.to_owned(), false, missing("Effect")),
            (r#""Effect": "Allow", "Action": "x""#.to_owned(), false, missing("Principal")),
            (r#""Effect": "Allow", "Principal": "x""#.to_owned(), false, missing("Action")),
            (
                r#""Effect": "Allow", "Principal": "x", "NotAction": "x""#.to_owned(),
                false,
                missing("Resource"),
            ),
            (
                r#""Effect": "Allow", "NotPrincipal": {"AWS": "x"}, "Action": "*", "NotResource": "*""#.to_owned(),
                false,
                "Invalid principal in policy document.".to_owned(),
            ),
            (
                r#""Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*""#.to_owned(),
                false,
                unbounded.to_owned(),
            ),
            (
                r#""Effect": "Allow", "Principal": {"AWS": ["123456789012", "*"]}, "Action": "*", "Resource": "*""#.to_owned(),
                false,
                unbounded.to_owned(),
            ),
            (
                r#""Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*", "Condition": {}"#.to_owned(),
                false,
                unbounded.to_owned(),
            ),
            (
                r#""Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*", "Condition": {"Bool": {"aws:SecureTransport": true}}"#.to_owned(),
                false,
                unbounded.to_owned(),
            ),
            (
                r#""Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*", "Condition": {"StringEquals": {"aws:SourceVpc": "vpc-1"}}"#.to_owned(),
                false,
                String::new(),
            ),
            (
                r#""Effect": "Allow", "NotPrincipal": "*", "Action": "*", "Resource": "*""#.to_owned(),
                false,
                String::new(),
            ),
            (
                r#""Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*""#.to_owned(),
                false,
                String::new(),
            ),
            (
                r#""Effect": "Allow", "Principal": {"Service": "x", "AWS": "*"}, "Action": "*", "Resource": "*""#.to_owned(),
                false,
                unbounded.to_owned(),
            ),
            (
                r#""Effect": "Deny", "Principal": "*", "Action": {}, "Resource": "*""#.to_owned(),
                false,
                not_json.clone(),
            ),
            (
                r#""Effect": "Deny", "Principal": "*", "Action": ["DynamoDB:get*", "s3:GetItem", "GetItem", "dynamodb:GetRecords"], "Resource": "*""#
                    .to_owned(),
                false,
                unknown(r#""s3:GetItem", "GetItem", "dynamodb:GetRecords""#),
            ),
            (
                r#""Effect": "Deny", "Principal": "*", "NotAction": ["dynamodb:GetRecords", "dynamodb:ListStreams", "dynamodb:GetItem"], "Resource": "*""#
                    .to_owned(),
                true,
                unknown(r#""dynamodb:ListStreams", "dynamodb:GetItem""#),
            ),
            (
                r#""Effect": "Deny", "Principal": "*", "NotAction": "dynamodb:GetItems", "Resource": "*""#.to_owned(),
                false,
                unknown(r#""dynamodb:GetItems""#),
            ),
        ] {
            let valid = r#"{"Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*"}"#;
            for statements in [
                format!("{{{statement}}}"),
                format!("[{{{statement}}}, {valid}]"),
                format!("[{valid}, {{{statement}}}]"),
                format!("[{valid}, {valid}, {{{statement}}}]"),
            ] {
                let found = Document::read(&format!(r#"{{"Statement":{statements}}}"#), of_stream).err();
                let found = found.as_ref().and_then(ApiError::message).unwrap_or_default();
                assert_eq!(found, expect, "{statements}");
            }
        }
        for (document, expect) in [
            ("", not_json.clone()),
            ("[]", not_json.clone()),
            ("{}", invalid("Could not parse the policy: Statement is empty!")),
            (
                r#"{"Statement": []}"#,
                invalid("Could not parse the policy: Statement is empty!"),
            ),
            (r#"{"Statement": ["x"]}"#, not_json),
        ] {
            let found = Document::read(document, false).unwrap_err();
            assert_eq!(found.message(), Some(expect.as_str()), "{document}");
        }
    }

    #[test]
    fn ids_of_statements_are_unique() {
        let statement =
            |id: &str| format!(r#"{{{id} "Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*"}}"#);
        for (ids, expect) in [
            (["", "", ""], true),
            ([r#""Sid": "a","#, "", r#""Sid": "b","#], true),
            ([r#""Sid": "a","#, "", r#""Sid": "A","#], true),
            ([r#""Sid": "a","#, r#""Sid": "b","#, r#""Sid": "c","#], true),
            ([r#""Sid": "a","#, "", r#""Sid": "a","#], false),
            ([r#""Sid": "a","#, r#""Sid": "a","#, r#""Sid": "b","#], false),
            ([r#""Sid": "a","#, r#""Sid": "b","#, r#""Sid": "a","#], false),
            ([r#""Sid": "a","#, r#""Sid": "b","#, r#""Sid": "b","#], false),
        ] {
            let text = format!(r#"{{"Statement":[{}]}}"#, ids.map(statement).join(","));
            assert_eq!(Document::read(&text, false).is_ok(), expect, "{text}");
        }
        let sized = |size: usize| {
            let empty = format!(r#"{{"Statement":{}}}"#, statement(r#""Sid": "","#));
            empty.replace(
                r#""Sid": """#,
                &format!(r#""Sid": "{}""#, "x".repeat(size - empty.len())),
            )
        };
        assert!(Document::read(&sized(limits::POLICY_SIZE), false).is_ok());
        let refused = Document::read(&sized(limits::POLICY_SIZE + 1), false).unwrap_err();
        assert_eq!(
            refused.message(),
            Some("One or more parameter values were invalid: Maximum policy size of 20480 bytes exceeded")
        );
    }

    #[test]
    fn a_document_is_normalized() {
        let text =
            r#"{"Statement": [{"Action": ["dynamodb:GetItem"], "Effect": "Deny", "Principal": "*", "Resource": "*"}]}"#;
        let document = Document::read(text, false).unwrap();
        assert_eq!(
            document.text(),
            r#"{"Version":"2008-10-17","Statement":[{"Effect":"Deny","Principal":"*","Action":"dynamodb:GetItem","Resource":"*"}]}"#
        );
        let text = r#"{"Statement": {"Sid": "One", "Condition": {"Bool": {"aws:SecureTransport": ["true"]}}, "NotAction": "dynamodb:GetItem", "Effect": "Deny", "NotPrincipal": "*", "NotResource": "*"}, "Id": "mine", "Version": "2012-10-17"}"#;
        assert_eq!(
            Document::read(text, false).unwrap().text(),
            r#"{"Version":"2012-10-17","Id":"mine","Statement":[{"Sid":"One","Effect":"Deny","NotPrincipal":"*","NotAction":"dynamodb:GetItem","NotResource":"*","Condition":{"Bool":{"aws:SecureTransport":"true"}}}]}"#
        );
        let text = r#"{"Statement": [{"Sid": "b", "Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*"}, {"Sid": "a", "Effect": "Allow", "Principal": {"AWS": ["111122223333"]}, "Action": ["dynamodb:Query", "dynamodb:GetItem"], "Resource": ["*"], "Condition": {"StringEquals": {"aws:PrincipalAccount": ["111122223333"], "aws:PrincipalOrgID": ["o-b", "o-a"]}}}]}"#;
        assert_eq!(
            Document::read(text, false).unwrap().text(),
            r#"{"Version":"2008-10-17","Statement":[{"Sid":"b","Effect":"Deny","Principal":"*","Action":"*","Resource":"*"},{"Sid":"a","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:root"},"Action":["dynamodb:Query","dynamodb:GetItem"],"Resource":"*","Condition":{"StringEquals":{"aws:PrincipalAccount":"111122223333","aws:PrincipalOrgID":["o-b","o-a"]}}}]}"#
        );
    }
}
