//! Accounts, principals, access keys and policies: the configuration of access control.

use std::sync::Arc;

use super::document::PolicyKind;
use super::evaluate::AttachedPolicy;
use super::keys::ConditionKeys;
use super::principal::{Subject, SubjectKind};
use super::secret::Secret;
use crate::clock::Moment;
use crate::sorted::SortedMap;

/// The configured principals, their keys and policies, read by [`Directory::read`].
///
/// ```
/// use dynatwin_engine::iam::Directory;
/// use dynatwin_engine::Moment;
///
/// let json = r#"{"accounts": {"123456789012": {"users": {"ann": {
///     "accessKeys": [{"accessKeyId": "AKIAANN", "secretAccessKey": "s"}],
///     "policies": [{"Statement": {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"}}]
/// }}}}}"#;
/// assert!(Directory::read(json, Moment::START).unwrap().warnings().is_empty());
/// assert!(Directory::read(r#"{"acounts": {}}"#, Moment::START).is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Directory {
    pub(super) accounts: SortedMap<String, Account>,
    pub(super) endpoints: SortedMap<String, Endpoint>,
    pub(super) credentials: SortedMap<String, Credential>,
    /// Documents of managed policies by ARN.
    pub(super) managed: SortedMap<String, String>,
    /// `aws:SourceIp` of requests without one.
    pub(super) source_ip: Option<String>,
    /// `aws:SecureTransport` of requests without one.
    pub(super) secure_transport: Option<bool>,
}

#[derive(Clone, Debug, Default)]
pub struct Account {
    /// The value of `aws:PrincipalOrgID` of its principals.
    pub organization: Option<String>,
    /// The values of `aws:PrincipalOrgPaths` of its principals.
    pub organization_paths: Vec<String>,
    /// Service control policies by level, each of which must allow.
    pub service_control: Vec<Vec<AttachedPolicy>>,
    pub resource_control: Vec<AttachedPolicy>,
    pub principals: Vec<Arc<Principal>>,
}

/// A user, a role, or the root user of an account.
#[derive(Clone, Debug)]
pub struct Principal {
    pub account: String,
    /// Its kind: a role represents its sessions.
    pub kind: SubjectKind,
    /// Path and name after the type, such as `/team/ann`.
    pub path_and_name: String,
    /// The unique id: `AIDA…` or `AROA…`.
    pub id: String,
    pub tags: Vec<(String, String)>,
    /// Its identity-based policies, including those of its groups.
    pub identity: Vec<AttachedPolicy>,
    pub boundary: Option<AttachedPolicy>,
}

impl Principal {
    /// The root user of an account.
    pub fn root(account: &str) -> Principal {
        Principal {
            account: account.to_owned(),
            kind: SubjectKind::Root,
            path_and_name: String::new(),
            id: account.to_owned(),
            tags: Vec::new(),
            identity: Vec::new(),
            boundary: None,
        }
    }

    pub fn arn(&self) -> String {
        let Subject { principal_arn, .. } = self.subject(None);
        principal_arn
    }

    /// The caller that it is, in a session if it has one.
    pub fn subject(&self, session: Option<&Session>) -> Subject {
        let (account, path_and_name) = (&self.account, &self.path_and_name);
        match (self.kind, session) {
            (SubjectKind::Root, _) => Subject::root(account),
            (SubjectKind::User | SubjectKind::FederatedUser, Some(session)) if session.is_federated => {
                Subject::federated_user(account, path_and_name, &session.name)
            }
            (SubjectKind::User | SubjectKind::FederatedUser, _) => Subject::user(account, path_and_name),
            (SubjectKind::RoleSession, session) => {
                let name = session.map_or("", |session| session.name.as_str());
                Subject::role_session(account, path_and_name, name)
            }
        }
    }

    /// Its name without the path.
    pub fn name(&self) -> &str {
        self.path_and_name.rsplit('/').next().unwrap_or_default()
    }
}

/// An access key: its secret, and its principal.
#[derive(Clone, Debug)]
pub struct Credential {
    /// The secret that requests are signed with.
    pub secret: Secret,
    /// The user, role or root user.
    pub principal: Arc<Principal>,
    /// Of temporary credentials, the session.
    pub session: Option<Arc<Session>>,
}

/// A session of a role, of a user (GetSessionToken), or of a federated user (GetFederationToken).
#[derive(Clone, Debug)]
pub struct Session {
    pub name: String,
    /// The session token that requests must have.
    pub token: Secret,
    /// Session tags, which replace the role's of the same name.
    pub tags: Vec<(String, String)>,
    /// Whether it belongs to a federated user, who may do nothing without session policies.
    pub is_federated: bool,
    /// Condition keys of its requests, such as the user of an identity provider.
    pub keys: ConditionKeys,
    /// The session policies, if it was issued with any.
    pub policies: Option<Vec<AttachedPolicy>>,
    pub issued: Moment,
    pub expires: Moment,
}

#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The VPC's id, which is the value of `aws:SourceVpc`.
    pub vpc: Option<String>,
    /// Whether it is a gateway endpoint, which streams have not.
    pub is_gateway: bool,
    /// Its policy; without one it allows everything.
    pub policy: Option<AttachedPolicy>,
}

/// A warning, and the policy it is about.
///
/// ```
/// use dynatwin_engine::iam::Directory;
///
/// assert!(Directory::default().warnings().is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyWarning {
    /// The label of the [`AttachedPolicy`](crate::iam::AttachedPolicy).
    pub policy: String,
    /// The statement's place in the policy, from 1.
    pub statement: usize,
    /// The name of the warning.
    pub code: &'static str,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Directory {
    pub(crate) fn account(&self, id: &str) -> Option<&Account> {
        self.accounts.get(id)
    }

    /// The ids of the accounts.
    pub(crate) fn accounts(&self) -> impl Iterator<Item = (&str, &Account)> {
        self.accounts.iter().map(|(id, account)| (id.as_str(), account))
    }

    pub(crate) fn endpoint(&self, id: &str) -> Option<&Endpoint> {
        self.endpoints.get(id)
    }

    pub(crate) fn endpoints(&self) -> impl Iterator<Item = (&str, &Endpoint)> {
        self.endpoints.iter().map(|(id, endpoint)| (id.as_str(), endpoint))
    }

    /// The credential of a configured access key.
    pub(crate) fn credential(&self, access_key_id: &str) -> Option<&Credential> {
        self.credentials.get(access_key_id)
    }

    /// The configured access key ids, with their principals.
    pub(crate) fn credentials(&self) -> impl Iterator<Item = (&str, &Credential)> {
        self.credentials
            .iter()
            .map(|(id, credential)| (id.as_str(), credential))
    }

    /// The user, role or root user of an ARN. Every configured account has a root user.
    pub(crate) fn principal(&self, arn: &str) -> Option<Arc<Principal>> {
        let id = arn.split(':').nth(4)?;
        let account = self.accounts.get(id)?;
        let root = Principal::root(id);
        if root.arn() == arn {
            return Some(Arc::new(root));
        }
        account
            .principals
            .iter()
            .find(|principal| principal.arn() == arn)
            .cloned()
    }

    /// Whether an ARN is that of a configured account, user or role, or of a session of one. The sessions of an account, and
    /// the roles that services create in it, are not configured.
    pub(crate) fn knows(&self, arn: &str) -> bool {
        let parts: Vec<&str> = arn.splitn(6, ':').collect();
        let ["arn", "aws", service, "", id, resource] = parts[..] else {
            return false;
        };
        let Some(account) = self.accounts.get(id) else {
            return false;
        };
        match (service, resource.split_once('/')) {
            ("iam", Some(("role", role))) if role.starts_with("aws-service-role/") => true,
            ("iam", _) => self.principal(arn).is_some(),
            ("sts", Some(("federated-user", _))) => true,
            ("sts", Some(("assumed-role", session))) => {
                let name = session.split('/').next().unwrap_or_default();
                let is_it = |role: &Arc<Principal>| role.kind == SubjectKind::RoleSession && role.name() == name;
                name.starts_with("AWSServiceRoleFor") || account.principals.iter().any(is_it)
            }
            _ => false,
        }
    }

    fn policies(&self) -> impl Iterator<Item = &AttachedPolicy> {
        let of_accounts = self.accounts.values().flat_map(|account| {
            let principals = account.principals.iter();
            let of_principals = principals.flat_map(|principal| principal.identity.iter().chain(&principal.boundary));
            of_principals
                .chain(account.service_control.iter().flatten())
                .chain(&account.resource_control)
        });
        let sessions = self
            .credentials
            .values()
            .filter_map(|credential| credential.session.as_ref());
        let of_sessions = sessions.flat_map(|session| session.policies.iter().flatten());
        let of_endpoints = self.endpoints.values().filter_map(|endpoint| endpoint.policy.as_ref());
        of_accounts.chain(of_sessions).chain(of_endpoints)
    }

    /// Warnings about valid policies that probably do not mean what they seem to, each once.
    pub fn warnings(&self) -> Vec<PolicyWarning> {
        let mut found: Vec<PolicyWarning> = Vec::new();
        for attached in self.policies() {
            for warning in attached.policy.warnings() {
                let warning = PolicyWarning {
                    policy: attached.label.clone(),
                    statement: warning.statement,
                    code: warning.code,
                    message: warning.message,
                };
                if !found.contains(&warning) {
                    found.push(warning);
                }
            }
        }
        for (id, endpoint) in &self.endpoints {
            let Some(attached) = endpoint.policy.as_ref().filter(|_| endpoint.is_gateway) else {
                continue;
            };
            debug_assert_eq!(attached.policy.kind(), PolicyKind::Endpoint);
            let statements = attached.policy.statements().iter().enumerate();
            for (at, _) in statements.filter(|(_, statement)| !statement.is_for_everybody()) {
                found.push(PolicyWarning {
                    policy: attached.label.clone(),
                    statement: at + 1,
                    code: "GatewayEndpointPrincipal",
                    message: format!(
                        "{id} is a gateway endpoint, in whose policy the principal must be \"*\": narrow it by a condition on aws:PrincipalArn."
                    ),
                });
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The warnings about a configuration of an account, each as its policy within the account, its statement and its
    /// message.
    fn warned(account: &str) -> Vec<String> {
        let json = format!(r#"{{"accounts": {{"123456789012": {account}}}}}"#);
        let directory = Directory::read(&json, Moment::START).unwrap();
        let warnings = directory.warnings().into_iter().map(|warning| {
            let policy = warning.policy.trim_start_matches("accounts.123456789012.");
            format!("{policy} {} {}: {}", warning.statement, warning.code, warning.message)
        });
        warnings.collect()
    }

    fn unknown(policy: &str, statement: usize, action: &str) -> String {
        format!("{policy} {statement} UnknownAction: {action} is not an action of DynamoDB, so it matches nothing.")
    }

    /// A policy is checked wherever it is attached, whether it is the first there or not.
    #[test]
    fn every_attached_policy_is_checked() {
        let policy = |effect: &str, principal: &str, action: &str| {
            format!(
                r#"{{"Statement": {{"Effect": "{effect}", {principal} "Action": "dynamodb:{action}", "Resource": "*"}}}}"#
            )
        };
        let list = |effect: &str, principal: &str| {
            let policy = |action| policy(effect, principal, action);
            format!(
                "[{}, {}, {}]",
                policy("GetItem"),
                policy("GetItems"),
                policy("PutItems")
            )
        };
        let policies = list("Allow", "");
        let denials = list("Deny", r#""Principal": "*","#);
        let boundary = policy("Allow", "", "GetItems");
        let keys = r#""accessKeyId": "K1", "secretAccessKey": "s", "sessionToken": "t""#;
        let others = r#""accessKeyId": "K2", "secretAccessKey": "s", "sessionToken": "t""#;
        let sessions = format!(
            r#"{{"sessions": [{{{others}, "name": "s1"}}, {{{keys}, "name": "s2", "policies": {policies}}}]}}"#
        );
        for (account, place) in [
            (
                format!(r#"{{"users": {{"ann": {{"policies": {policies}}}}}}}"#),
                "users.ann.policies",
            ),
            (
                format!(
                    r#"{{"groups": {{"staff": {{"policies": {policies}}}}}, "users": {{"ann": {{"groups": ["staff"]}}}}}}"#
                ),
                "groups.staff.policies",
            ),
            (
                format!(r#"{{"roles": {{"App": {{"policies": {policies}}}}}}}"#),
                "roles.App.policies",
            ),
            (
                format!(r#"{{"roles": {{"App": {sessions}}}}}"#),
                "roles.App.sessions.1.policies",
            ),
            (
                format!(r#"{{"users": {{"ann": {sessions}}}}}"#),
                "users.ann.sessions.1.policies",
            ),
            (
                format!(r#"{{"serviceControlPolicies": {policies}}}"#),
                "serviceControlPolicies",
            ),
            (
                format!(r#"{{"serviceControlPolicies": [[], {policies}]}}"#),
                "serviceControlPolicies.1",
            ),
            (
                format!(r#"{{"resourceControlPolicies": {denials}}}"#),
                "resourceControlPolicies",
            ),
        ] {
            let at = |at: usize, action| unknown(&format!("{place}.{at}"), 1, action);
            let expect = [at(1, "dynamodb:GetItems"), at(2, "dynamodb:PutItems")];
            assert_eq!(warned(&account), expect, "{account}");
        }
        for (kind, name) in [("users", "ann"), ("roles", "App")] {
            let account = format!(r#"{{"{kind}": {{"{name}": {{"permissionsBoundary": {boundary}}}}}}}"#);
            let place = format!("{kind}.{name}.permissionsBoundary");
            assert_eq!(warned(&account), [unknown(&place, 1, "dynamodb:GetItems")], "{account}");
        }
    }

    #[test]
    fn each_warning_is_given_once() {
        let document = r#"{"Statement": [
            {"Effect": "Allow", "Action": ["dynamodb:GetItems", "dynamodb:PutItems", "dynamodb:GetItems"], "Resource": "*"},
            {"Effect": "Allow", "Action": "dynamodb:GetItems", "Resource": "*"}]}"#;
        let arn = "arn:aws:iam::123456789012:policy/Read";
        let account = format!(
            r#"{{"managedPolicies": {{"Read": {document}}}, "users": {{"ann": {{"policies": ["{arn}"]}}, "bob": {{"policies": ["{arn}"]}}}}}}"#
        );
        let expect = [
            unknown(arn, 1, "dynamodb:GetItems"),
            unknown(arn, 1, "dynamodb:PutItems"),
            unknown(arn, 2, "dynamodb:GetItems"),
        ];
        assert_eq!(warned(&account), expect);
    }

    #[test]
    fn policies_of_the_same_text_are_warned_of_by_name() {
        let policy = r#"{"Statement": {"Effect": "Allow", "Action": "dynamodb:GetItems", "Resource": "*"}}"#;
        let account = format!(
            r#"{{"users": {{"ann": {{"policies": [{policy}, {policy}]}}}}, "roles": {{"App": {{"policies": {policy}}}}}}}"#
        );
        let places = ["users.ann.policies.0", "users.ann.policies.1", "roles.App.policies"];
        let expect = places.map(|place| unknown(place, 1, "dynamodb:GetItems"));
        assert_eq!(warned(&account), expect);
    }

    #[test]
    fn the_policy_of_every_endpoint_is_checked() {
        let endpoint = |name: &str, action: &str| {
            format!(
                r#"{name:?}: {{"policy": {{"Statement": {{"Effect": "Allow", "Principal": "*", "Action": "dynamodb:{action}", "Resource": "*"}}}}}}"#
            )
        };
        let endpoints = [("vpce-1", "GetItem"), ("vpce-2", "GetItems"), ("vpce-3", "PutItems")];
        let endpoints = endpoints.map(|(name, action)| endpoint(name, action)).join(", ");
        let directory = Directory::read(&format!(r#"{{"vpcEndpoints": {{{endpoints}}}}}"#), Moment::START).unwrap();
        let warnings = directory.warnings().into_iter();
        let found: Vec<_> = warnings.map(|warning| (warning.policy, warning.code)).collect();
        let expect = ["vpce-2", "vpce-3"].map(|name| (format!("vpcEndpoints.{name}.policy"), "UnknownAction"));
        assert_eq!(found, expect);
    }
}
