//! Callers, and the principals that policies name (docs/behavior: 07 7).

use crate::wire::policy::Node;

/// The kinds of callers that policies distinguish.
///
/// ```
/// use dynatwin_engine::iam::{Subject, SubjectKind};
///
/// assert_eq!(Subject::user("123456789012", "/ann").kind, SubjectKind::User);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubjectKind {
    /// The root user of an account.
    Root,
    /// A user that IAM manages.
    User,
    /// A session of a role.
    RoleSession,
    /// A session of a federated user, which an IAM user requested by GetFederationToken.
    FederatedUser,
}

/// The caller of a request, as policies see it.
///
/// ```
/// use dynatwin_engine::iam::Subject;
///
/// let session = Subject::role_session("123456789012", "/app/Reader", "s-1");
/// assert_eq!(session.arn, "arn:aws:sts::123456789012:assumed-role/Reader/s-1");
/// assert_eq!(session.principal_arn, "arn:aws:iam::123456789012:role/app/Reader");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The kind of caller, which determines the policies that apply.
    pub kind: SubjectKind,
    /// The account's number of twelve digits.
    pub account: String,
    /// The ARN in refusals: of a role session the session's.
    pub arn: String,
    /// The value of `aws:PrincipalArn`: of a role session the role's ARN.
    pub principal_arn: String,
    /// Of a federated user, the ARN of the IAM user that requested its session.
    pub federated_by: Option<String>,
    /// Whether a permissions boundary is attached to it.
    pub is_bounded: bool,
}

impl Subject {
    /// The root user of an account.
    pub fn root(account: &str) -> Subject {
        let arn = root_arn(account);
        Subject {
            kind: SubjectKind::Root,
            account: account.to_owned(),
            principal_arn: arn.clone(),
            arn,
            federated_by: None,
            is_bounded: false,
        }
    }

    /// A user, by path and name: `/ann`.
    pub fn user(account: &str, path_and_name: &str) -> Subject {
        let arn = format!("arn:aws:iam::{account}:user{path_and_name}");
        Subject {
            kind: SubjectKind::User,
            account: account.to_owned(),
            principal_arn: arn.clone(),
            arn,
            federated_by: None,
            is_bounded: false,
        }
    }

    /// A session of a role, by the role's path and name: `/Reader`.
    pub fn role_session(account: &str, path_and_name: &str, session: &str) -> Subject {
        let name = path_and_name.rsplit('/').next().unwrap_or_default();
        Subject {
            kind: SubjectKind::RoleSession,
            account: account.to_owned(),
            arn: format!("arn:aws:sts::{account}:assumed-role/{name}/{session}"),
            principal_arn: format!("arn:aws:iam::{account}:role{path_and_name}"),
            federated_by: None,
            is_bounded: false,
        }
    }

    /// A federated user, by the path and name of the user that requested its session, and its own name.
    ///
    /// ```
    /// use dynatwin_engine::iam::Subject;
    ///
    /// let federated = Subject::federated_user("123456789012", "/ann", "visitor");
    /// assert_eq!(federated.arn, "arn:aws:sts::123456789012:federated-user/visitor");
    /// assert_eq!(federated.federated_by.as_deref(), Some("arn:aws:iam::123456789012:user/ann"));
    /// ```
    pub fn federated_user(account: &str, path_and_name: &str, name: &str) -> Subject {
        let user = Subject::user(account, path_and_name);
        let arn = format!("arn:aws:sts::{account}:federated-user/{name}");
        Subject {
            kind: SubjectKind::FederatedUser,
            principal_arn: arn.clone(),
            arn,
            federated_by: Some(user.arn),
            ..user
        }
    }
}

/// The ARN by which policies name a whole account.
pub(super) fn root_arn(account: &str) -> String {
    format!("arn:aws:iam::{account}:root")
}

/// How closely a policy names a caller; the closer is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grant {
    /// By its account, which only delegates.
    Account,
    /// By its role, or by the user that requested the session of a federated user.
    Role,
    /// Directly: user, role session, federated user, or everybody.
    Direct,
}

/// `Principal` or `NotPrincipal` of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PrincipalList {
    /// Whether the list is inverted (`NotPrincipal`).
    pub excludes: bool,
    pub everybody: bool,
    /// ARNs of accounts' roots, users, roles and sessions.
    pub arns: Vec<String>,
    /// Whether services, identity providers or canonical users are among them, which sign no request here.
    pub others: bool,
    /// Whether only everybody and the root users of accounts count, as for gateway endpoints.
    pub root_only: bool,
}

impl PrincipalList {
    pub fn read(node: &Node, excludes: bool) -> Result<PrincipalList, String> {
        let mut list = PrincipalList {
            excludes,
            everybody: false,
            arns: Vec::new(),
            others: false,
            root_only: false,
        };
        let kinds = match node {
            Node::Text(text) if text == "*" => {
                list.everybody = true;
                return Ok(list);
            }
            Node::Object(kinds) if !kinds.is_empty() => kinds,
            _ => return Err("a principal must be \"*\" or an object.".to_owned()),
        };
        for (kind, named) in kinds {
            let named = named.texts().filter(|named| !named.is_empty());
            let named = named.ok_or_else(|| format!("principal {kind} must be a string or a list of strings."))?;
            match kind.as_str() {
                "AWS" => named.into_iter().try_for_each(|text| list.add(text))?,
                "Service" | "Federated" | "CanonicalUser" => list.others = true,
                _ => return Err(format!("{kind:?} is not a kind of principal.")),
            }
        }
        Ok(list)
    }

    fn add(&mut self, text: &str) -> Result<(), String> {
        if text == "*" {
            self.everybody = true;
        } else if is_account(text) {
            self.arns.push(root_arn(text));
        } else if is_identity(text) {
            self.arns.push(text.to_owned());
        } else {
            return Err(format!("invalid principal {text:?}."));
        }
        Ok(())
    }

    /// Whether the list is everybody alone.
    pub fn is_everybody(&self) -> bool {
        self.everybody && !self.excludes && !self.others && self.arns.is_empty()
    }

    fn names(&self, arn: &str) -> bool {
        self.arns.iter().any(|named| named == arn)
    }

    /// How the list names a caller; `None` if it does not.
    pub fn grant(&self, subject: &Subject) -> Option<Grant> {
        let root = root_arn(&subject.account);
        if self.root_only && !self.everybody {
            let is_root = subject.kind == SubjectKind::Root && self.names(&root);
            return (is_root != self.excludes).then_some(Grant::Direct);
        }
        if self.excludes {
            // A caller is excluded by all of its names: the account, the role and the session. A caller with a permissions
            // boundary is never excluded, whatever the list has (docs/behavior: 07 6).
            let named = self.names(&root) && self.names(&subject.principal_arn) && self.names(&subject.arn);
            let excluded = !subject.is_bounded && (self.everybody || named);
            return (!excluded).then_some(Grant::Direct);
        }
        if self.everybody || self.names(&subject.arn) {
            Some(Grant::Direct)
        } else if self.names(&subject.principal_arn)
            || subject.federated_by.as_ref().is_some_and(|user| self.names(user))
        {
            Some(Grant::Role)
        } else if self.names(&root) {
            Some(Grant::Account)
        } else {
            None
        }
    }
}

pub(super) fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text has the form of the ARN of an identity. No wildcards are taken.
fn is_identity(arn: &str) -> bool {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let complete = |name: &str| name == "root" || name.split_once('/').is_some_and(|(_, name)| !name.is_empty());
    matches!(parts[..], ["arn", partition, "iam" | "sts", "", account, name]
        if partition.starts_with("aws") && is_account(account) && complete(name) && !name.contains(['*', '?']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(principal: &str, excludes: bool, subject: &Subject) -> Option<Grant> {
        let node = Node::parse(principal, 4).unwrap();
        PrincipalList::read(&node, excludes).unwrap().grant(subject)
    }

    #[test]
    fn principals_are_named() {
        let user = Subject::user("123456789012", "/ann");
        let session = Subject::role_session("123456789012", "/Reader", "s");
        for (principal, of_user, of_session) in [
            (r#""*""#, Some(Grant::Direct), Some(Grant::Direct)),
            (r#"{"AWS": "*"}"#, Some(Grant::Direct), Some(Grant::Direct)),
            (r#"{"AWS": 123456789012}"#, Some(Grant::Account), Some(Grant::Account)),
            (
                r#"{"AWS": "arn:aws:iam::123456789012:root"}"#,
                Some(Grant::Account),
                Some(Grant::Account),
            ),
            (
                r#"{"AWS": "arn:aws:iam::123456789012:user/ann"}"#,
                Some(Grant::Direct),
                None,
            ),
            (
                r#"{"AWS": ["123456789012", "arn:aws:iam::123456789012:role/Reader"]}"#,
                Some(Grant::Account),
                Some(Grant::Role),
            ),
            (
                r#"{"AWS": "arn:aws:sts::123456789012:assumed-role/Reader/s"}"#,
                None,
                Some(Grant::Direct),
            ),
            (
                r#"{"AWS": "arn:aws:sts::123456789012:assumed-role/Reader/t"}"#,
                None,
                None,
            ),
            (r#"{"Service": "lambda.amazonaws.com"}"#, None, None),
            (r#"{"Federated": "cognito-identity.amazonaws.com"}"#, None, None),
            (r#"{"CanonicalUser": "79a59df900b949e5"}"#, None, None),
            (
                r#"{"Federated": "www.amazon.com", "AWS": "123456789012"}"#,
                Some(Grant::Account),
                Some(Grant::Account),
            ),
        ] {
            assert_eq!(grant(principal, false, &user), of_user, "{principal}");
            assert_eq!(grant(principal, false, &session), of_session, "{principal}");
        }
    }

    #[test]
    fn principals_are_excluded() {
        let user = Subject::user("123456789012", "/ann");
        let other = Subject::user("123456789012", "/bob");
        let both = r#"{"AWS": ["123456789012", "arn:aws:iam::123456789012:user/ann"]}"#;
        assert_eq!(grant(both, true, &user), None);
        assert_eq!(grant(both, true, &other), Some(Grant::Direct));
        assert_eq!(
            grant(r#"{"AWS": "arn:aws:iam::123456789012:user/ann"}"#, true, &user),
            Some(Grant::Direct)
        );
        let bounded = Subject {
            is_bounded: true,
            ..user
        };
        assert_eq!(grant(both, true, &bounded), Some(Grant::Direct));
        let session = Subject::role_session("123456789012", "/R", "s");
        let all = r#"{"AWS": ["123456789012", "arn:aws:iam::123456789012:role/R", "arn:aws:sts::123456789012:assumed-role/R/s"]}"#;
        assert_eq!(grant(all, true, &session), None);
    }

    #[test]
    fn everybody_is_a_star_alone() {
        for (principal, excludes, expect) in [
            (r#""*""#, false, true),
            (r#"{"AWS": ["*", "*"]}"#, false, true),
            (r#""*""#, true, false),
            (r#"{"AWS": ["*", "123456789012"]}"#, false, false),
            (r#"{"AWS": "*", "Service": "lambda.amazonaws.com"}"#, false, false),
            (r#"{"AWS": "*", "Federated": "www.amazon.com"}"#, false, false),
            (r#"{"AWS": "*", "CanonicalUser": "79a59df900b949e5"}"#, false, false),
            (r#"{"AWS": "123456789012"}"#, false, false),
        ] {
            let node = Node::parse(principal, 4).unwrap();
            let list = PrincipalList::read(&node, excludes).unwrap();
            assert_eq!(list.is_everybody(), expect, "{principal} {excludes}");
        }
    }

    /// A gateway endpoint knows everybody and the root users of accounts: nobody else is named, even by the account.
    #[test]
    fn a_gateway_endpoint_knows_root_users_alone() {
        let (root, user) = (Subject::root("123456789012"), Subject::user("123456789012", "/ann"));
        for (principal, excludes, of_root, of_user) in [
            (r#"{"AWS": "123456789012"}"#, false, true, false),
            (r#"{"AWS": "111122223333"}"#, false, false, false),
            (r#"{"AWS": "arn:aws:iam::123456789012:user/ann"}"#, false, false, false),
            (r#"{"AWS": "123456789012"}"#, true, false, true),
            (r#"{"AWS": "111122223333"}"#, true, true, true),
            (r#""*""#, false, true, true),
        ] {
            let node = Node::parse(principal, 4).unwrap();
            let list = PrincipalList {
                root_only: true,
                ..PrincipalList::read(&node, excludes).unwrap()
            };
            let named = [&root, &user].map(|subject| list.grant(subject));
            let expect = [of_root, of_user].map(|named| named.then_some(Grant::Direct));
            assert_eq!(named, expect, "{principal} {excludes}");
        }
    }

    #[test]
    fn refusals_name_the_principal() {
        for (principal, expect) in [
            (r#""ann""#, "a principal must be \"*\" or an object."),
            ("{}", "a principal must be \"*\" or an object."),
            (r#"{"AWS": []}"#, "principal AWS must be a string or a list of strings."),
            (
                r#"{"Service": {}}"#,
                "principal Service must be a string or a list of strings.",
            ),
            (r#"{"Aws": "*"}"#, "\"Aws\" is not a kind of principal."),
            (r#"{"AWS": ["*", "ann"]}"#, "invalid principal \"ann\"."),
        ] {
            let refused = PrincipalList::read(&Node::parse(principal, 4).unwrap(), false).unwrap_err();
            assert_eq!(refused, expect, "{principal}");
        }
    }

    #[test]
    fn principals_are_refused() {
        for principal in [
            r#""ann""#,
            "{}",
            r#"{"AWS": []}"#,
            r#"{"AWS": "arn:aws:iam::123456789012:user/*"}"#,
            r#"{"AWS": "arn:aws:iam::1:user/ann"}"#,
            r#"{"AWS": "arn:gcp:iam::123456789012:user/ann"}"#,
            r#"{"AWS": "arn:aws:s3::123456789012:user/ann"}"#,
            r#"{"AWS": "arn:aws:iam::123456789012:user/"}"#,
            r#"{"Aws": "*"}"#,
            r#"{"Service": []}"#,
            r#"{"AWS": "12345678901"}"#,
            r#"{"AWS": "1234567890123"}"#,
            r#"{"AWS": "12345678901a"}"#,
        ] {
            assert!(
                PrincipalList::read(&Node::parse(principal, 4).unwrap(), false).is_err(),
                "{principal}"
            );
        }
    }
}
