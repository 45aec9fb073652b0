//! The configuration of access control, read from JSON.

use std::sync::Arc;
use std::time::Duration;

use super::directory::{Account, Credential, Directory, Endpoint, Principal, Session};
use super::document::{MANAGED_SIZE, PolicyDocument, PolicyKind, PolicyStatement};
use super::evaluate::AttachedPolicy;
use super::keys::{ConditionKeys, is_multivalued};
use super::principal::{SubjectKind, is_account};
use super::secret::Secret;
use crate::chance::StableHash;
use crate::clock::Moment;
use crate::sorted::SortedMap;
use crate::wire::policy::Node;

/// The levels of a configuration that are read.
const MOST_DEPTH: usize = 20;
/// The default lifetime of temporary credentials.
pub(super) const SESSION_DURATION: Duration = Duration::from_hours(1);
/// The inline policies of one user, group or role, in characters without white space (docs/behavior: 07 6).
const INLINE_OF_USER: usize = 2_048;
const INLINE_OF_GROUP: usize = 5_120;
const INLINE_OF_ROLE: usize = 10_240;
/// Managed policies of one user, group or role.
const MOST_MANAGED: usize = 20;

/// The predefined AWS-managed policies, with the actions of DynamoDB that they allow.
const AWS_MANAGED: &[(&str, &str)] = &[
    ("arn:aws:iam::aws:policy/AdministratorAccess", r#""*""#),
    ("arn:aws:iam::aws:policy/AmazonDynamoDBFullAccess", r#""dynamodb:*""#),
    ("arn:aws:iam::aws:policy/AmazonDynamoDBFullAccess_v2", r#""dynamodb:*""#),
    (
        "arn:aws:iam::aws:policy/AmazonDynamoDBReadOnlyAccess",
        r#""dynamodb:BatchGetItem","dynamodb:Describe*","dynamodb:List*","dynamodb:GetAbacStatus","dynamodb:GetItem","dynamodb:GetResourcePolicy","dynamodb:Query","dynamodb:Scan","dynamodb:PartiQLSelect""#,
    ),
];

type Read<T> = Result<T, String>;
/// Documents of managed policies by ARN.
type Managed = SortedMap<String, String>;

impl Directory {
    /// Reads a configuration; sessions without an expiry begin at `now`. The error is a sentence that describes the
    /// problem without showing a secret.
    pub fn read(json: &str, now: Moment) -> Read<Directory> {
        let node =
            Node::parse(json, MOST_DEPTH).ok_or("The configuration is not valid JSON, or is nested too deeply.")?;
        let known = ["accounts", "vpcEndpoints", "sourceIp", "secureTransport"];
        let members = PolicyMembers::of(&node, "The configuration", &known)?;
        let mut directory = Directory {
            source_ip: members.text("sourceIp")?.map(str::to_owned),
            secure_transport: members.flag("secureTransport")?,
            ..Directory::default()
        };
        let accounts = members.named("accounts")?;
        let mut managed = Managed::new();
        for (name, actions) in AWS_MANAGED {
            let document = format!(
                r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"Allow","Action":[{actions}],"Resource":"*"}}]}}"#
            );
            managed.insert((*name).to_owned(), document);
        }
        for (id, node) in &accounts {
            if !is_account(id) {
                return Err(format!("accounts.{id}: an account id must have 12 digits."));
            }
            for (name, document) in
                PolicyMembers::of(node, &format!("accounts.{id}"), ACCOUNT)?.named("managedPolicies")?
            {
                let arn = format!("arn:aws:iam::{id}:policy/{name}");
                let text = document_text(document);
                let policy =
                    PolicyDocument::parse(&text, PolicyKind::Identity).map_err(|why| format!("{arn}: {why}"))?;
                if policy.size() > MANAGED_SIZE {
                    return Err(format!(
                        "{arn}: a managed policy has at most {MANAGED_SIZE} characters."
                    ));
                }
                managed.insert(arn, text);
            }
        }
        for (id, node) in accounts {
            let mut reader = AccountReader {
                id,
                place: format!("accounts.{id}"),
                managed: &managed,
                credentials: &mut directory.credentials,
                now,
            };
            let account = reader.read(node)?;
            directory.accounts.insert(id.to_owned(), account);
        }
        for (id, node) in members.named("vpcEndpoints")? {
            let endpoint = endpoint(node, &format!("vpcEndpoints.{id}"), &managed)?;
            directory.endpoints.insert(id.to_owned(), endpoint);
        }
        directory.managed = managed;
        Ok(directory)
    }
}

fn endpoint(node: &Node, place: &str, managed: &Managed) -> Read<Endpoint> {
    let members = PolicyMembers::of(node, place, &["vpc", "type", "policy"])?;
    let is_gateway = match members.text("type")?.map(str::to_ascii_lowercase).as_deref() {
        None | Some("interface") => false,
        Some("gateway") => true,
        Some(_) => return Err(format!("{place}.type must be \"gateway\" or \"interface\".")),
    };
    let policy = members
        .get("policy")
        .map(|node| attached(node, PolicyKind::Endpoint, format!("{place}.policy"), managed));
    let mut policy = policy.transpose()?;
    if let Some(attached) = policy.as_mut().filter(|_| is_gateway) {
        attached.policy = attached.policy.clone().of_gateway();
    }
    Ok(Endpoint {
        vpc: members.text("vpc")?.map(str::to_owned),
        is_gateway,
        policy,
    })
}

const ACCOUNT: &[&str] = &[
    "organization",
    "serviceControlPolicies",
    "resourceControlPolicies",
    "managedPolicies",
    "accessKeys",
    "groups",
    "users",
    "roles",
];

struct AccountReader<'a> {
    id: &'a str,
    place: String,
    managed: &'a Managed,
    credentials: &'a mut SortedMap<String, Credential>,
    now: Moment,
}

impl AccountReader<'_> {
    fn read(&mut self, node: &Node) -> Read<Account> {
        let members = PolicyMembers::of(node, &self.place, ACCOUNT)?;
        let mut account = Account::default();
        if let Some(node) = members.get("organization") {
            let organization = PolicyMembers::of(node, &format!("{}.organization", self.place), &["id", "paths"])?;
            account.organization = organization.text("id")?.map(str::to_owned);
            account.organization_paths = organization.texts("paths")?.into_iter().map(str::to_owned).collect();
        }
        account.service_control = self.service_control(members.get("serviceControlPolicies"))?;
        account.resource_control = self.resource_control(members.get("resourceControlPolicies"))?;
        self.access_keys(&members, &Arc::new(Principal::root(self.id)))?;
        let groups = self.groups(&members)?;
        for (name, node) in members.named("users")? {
            account.principals.push(self.user(name, node, &groups)?);
        }
        for (name, node) in members.named("roles")? {
            account.principals.push(self.role(name, node)?);
        }
        Ok(account)
    }

    /// A list of policies is one level; a list of lists has a level each.
    fn service_control(&self, node: Option<&Node>) -> Read<Vec<Vec<AttachedPolicy>>> {
        let place = format!("{}.serviceControlPolicies", self.place);
        let Some(Node::List(list)) = node else {
            return node.map_or(Ok(Vec::new()), |_| Err(format!("{place} must be a list.")));
        };
        if list.iter().any(|node| matches!(node, Node::List(_))) {
            let levels = list.iter().enumerate();
            let level =
                |(at, node): (usize, &Node)| self.list(node, PolicyKind::ServiceControl, &format!("{place}.{at}"));
            return levels.map(level).collect();
        }
        let level = self.list(&Node::List(list.clone()), PolicyKind::ServiceControl, &place)?;
        Ok(if level.is_empty() { Vec::new() } else { vec![level] })
    }

    /// RCPFullAWSAccess is always attached, so the others only deny.
    fn resource_control(&self, node: Option<&Node>) -> Read<Vec<AttachedPolicy>> {
        let place = format!("{}.resourceControlPolicies", self.place);
        let Some(node) = node else { return Ok(Vec::new()) };
        let policies = self.list(node, PolicyKind::ResourceControl, &place)?;
        let allows = policies
            .iter()
            .find(|attached| attached.policy.statements().iter().any(PolicyStatement::allows));
        match allows {
            Some(attached) => Err(format!(
                "{}: the effect of a resource control policy must be Deny.",
                attached.label
            )),
            None => Ok(policies),
        }
    }

    /// Policies as a list of documents and ARNs, or as documents by name.
    fn list(&self, node: &Node, kind: PolicyKind, place: &str) -> Read<Vec<AttachedPolicy>> {
        let labelled: Vec<(String, &Node)> = match node {
            Node::List(list) => list
                .iter()
                .enumerate()
                .map(|(at, node)| (format!("{place}.{at}"), node))
                .collect(),
            Node::Object(members) if members.iter().any(|(name, _)| name == "Statement") => {
                vec![(place.to_owned(), node)]
            }
            Node::Object(members) => members
                .iter()
                .map(|(name, node)| (format!("{place}.{name}"), node))
                .collect(),
            Node::Text(_) => vec![(place.to_owned(), node)],
        };
        let read = labelled
            .into_iter()
            .map(|(label, node)| attached(node, kind, label, self.managed));
        read.collect()
    }

    /// The identity-based policies of a user, group or role.
    fn identity(&self, members: &PolicyMembers<'_>, inline: usize) -> Read<Vec<AttachedPolicy>> {
        let Some(node) = members.get("policies") else {
            return Ok(Vec::new());
        };
        let place = format!("{}.policies", members.place);
        let policies = self.list(node, PolicyKind::Identity, &place)?;
        let (named, own): (Vec<&AttachedPolicy>, Vec<&AttachedPolicy>) =
            policies.iter().partition(|attached| attached.arn.is_some());
        if named.len() > MOST_MANAGED {
            return Err(format!("{place} has more than {MOST_MANAGED} managed policies."));
        }
        if own.iter().map(|attached| attached.policy.size()).sum::<usize>() > inline {
            return Err(format!(
                "{place}: Maximum policy size of {inline} bytes exceeded by the inline policies together."
            ));
        }
        Ok(policies)
    }

    fn groups(&self, members: &PolicyMembers<'_>) -> Read<SortedMap<String, Vec<AttachedPolicy>>> {
        let mut groups = SortedMap::new();
        for (name, node) in members.named("groups")? {
            let group = PolicyMembers::of(node, &format!("{}.groups.{name}", self.place), &["policies"])?;
            groups.insert(name.to_owned(), self.identity(&group, INLINE_OF_GROUP)?);
        }
        Ok(groups)
    }

    fn user(
        &mut self,
        name: &str,
        node: &Node,
        groups: &SortedMap<String, Vec<AttachedPolicy>>,
    ) -> Read<Arc<Principal>> {
        let place = format!("{}.users.{name}", self.place);
        let known = [
            "path",
            "id",
            "tags",
            "accessKeys",
            "policies",
            "groups",
            "permissionsBoundary",
            "sessions",
        ];
        let members = PolicyMembers::of(node, &place, &known)?;
        let mut principal = self.principal(&members, name, SubjectKind::User, INLINE_OF_USER)?;
        for group in members.texts("groups")? {
            let policies = groups
                .get(group)
                .ok_or_else(|| format!("{place}.groups: there is no group {group:?}."))?;
            principal.identity.extend(policies.iter().cloned());
        }
        let principal = Arc::new(principal);
        self.access_keys(&members, &principal)?;
        self.sessions(&members, &principal)?;
        Ok(principal)
    }

    fn role(&mut self, name: &str, node: &Node) -> Read<Arc<Principal>> {
        let place = format!("{}.roles.{name}", self.place);
        let known = ["path", "id", "tags", "policies", "permissionsBoundary", "sessions"];
        let members = PolicyMembers::of(node, &place, &known)?;
        let principal = self.principal(&members, name, SubjectKind::RoleSession, INLINE_OF_ROLE)?;
        let principal = Arc::new(principal);
        self.sessions(&members, &principal)?;
        Ok(principal)
    }

    fn sessions(&mut self, members: &PolicyMembers<'_>, principal: &Arc<Principal>) -> Read<()> {
        let place = format!("{}.sessions", members.place);
        let sessions = match members.get("sessions") {
            None => return Ok(()),
            Some(Node::List(sessions)) => sessions,
            Some(_) => return Err(format!("{place} must be a list.")),
        };
        for (at, node) in sessions.iter().enumerate() {
            let place = format!("{place}.{at}");
            if node.member("role").is_some() {
                return Err(format!(
                    "{place} has no member \"role\": it is a session of {}.",
                    principal.arn()
                ));
            }
            let (id, secret, session) = session(node, &place, self.managed, self.now)?;
            check_session(principal, Some(&session)).map_err(|why| format!("{place}: {why}"))?;
            self.add(id, secret, principal, Some(Arc::new(session)))?;
        }
        Ok(())
    }

    fn principal(&self, members: &PolicyMembers<'_>, name: &str, kind: SubjectKind, inline: usize) -> Read<Principal> {
        let place = &members.place;
        let fits = |char: char| char.is_ascii_alphanumeric() || "+=,.@_-".contains(char);
        if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
            return Err(format!(
                "{place}: a name must have 1 to 64 letters, digits and +=,.@_-."
            ));
        }
        let path = members.text("path")?.unwrap_or("/");
        if !path.starts_with('/') || !path.ends_with('/') {
            return Err(format!("{place}.path must begin and end with a slash."));
        }
        let path_and_name = format!("{path}{name}");
        let prefix = if kind == SubjectKind::User { "AIDA" } else { "AROA" };
        let id = members.text("id")?.map(str::to_owned);
        let boundary = members.get("permissionsBoundary");
        let boundary = boundary.map(|node| {
            attached(
                node,
                PolicyKind::Boundary,
                format!("{place}.permissionsBoundary"),
                self.managed,
            )
        });
        Ok(Principal {
            account: self.id.to_owned(),
            kind,
            id: id.unwrap_or_else(|| unique_id(prefix, self.id, &path_and_name)),
            path_and_name,
            tags: members.tags("tags")?,
            identity: self.identity(members, inline)?,
            boundary: boundary.transpose()?,
        })
    }

    fn access_keys(&mut self, members: &PolicyMembers<'_>, principal: &Arc<Principal>) -> Read<()> {
        let place = format!("{}.accessKeys", members.place);
        let keys = match members.get("accessKeys") {
            None => return Ok(()),
            Some(Node::List(keys)) => keys,
            Some(_) => return Err(format!("{place} must be a list.")),
        };
        for (at, node) in keys.iter().enumerate() {
            let key = PolicyMembers::of(node, &format!("{place}.{at}"), &["accessKeyId", "secretAccessKey"])?;
            let id = key.required("accessKeyId")?;
            let secret = Secret::new(key.required("secretAccessKey")?);
            self.add(id, secret, principal, None)?;
        }
        Ok(())
    }

    fn add(&mut self, id: &str, secret: Secret, principal: &Arc<Principal>, session: Option<Arc<Session>>) -> Read<()> {
        let credential = Credential {
            secret,
            principal: principal.clone(),
            session,
        };
        match self.credentials.insert(id.to_owned(), credential) {
            None => Ok(()),
            Some(_) => Err(format!("{}: the access key {id} occurs twice.", self.place)),
        }
    }
}

/// A session and its access key, of the configuration or of a control.
pub(super) fn session<'n>(
    node: &'n Node,
    place: &str,
    managed: &Managed,
    now: Moment,
) -> Read<(&'n str, Secret, Session)> {
    let known = [
        "role",
        "name",
        "accessKeyId",
        "secretAccessKey",
        "sessionToken",
        "federated",
        "tags",
        "keys",
        "policies",
        "expires",
        "durationSeconds",
    ];
    let members = PolicyMembers::of(node, place, &known)?;
    let token = Secret::new(members.required("sessionToken")?);
    let expires = match (members.text("expires")?, members.text("durationSeconds")?) {
        (Some(_), Some(_)) => return Err(format!("{place} must have only one of expires and durationSeconds.")),
        (Some(text), None) => Moment::parse(text)
            .ok_or_else(|| format!("{place}.expires must be a date and time such as 2026-01-01T00:00:00Z."))?,
        (None, Some(text)) => {
            let seconds = text
                .parse::<u32>()
                .map_err(|_| format!("{place}.durationSeconds must be a whole number."))?;
            now.plus(Duration::from_secs(seconds.into()))
        }
        (None, None) => now.plus(SESSION_DURATION),
    };
    let name = members.text("name")?.unwrap_or("session");
    check_session_name(name).map_err(|why| format!("{place}.name: {why}"))?;
    let is_federated = members.flag("federated")?.unwrap_or(false);
    let policies = members
        .get("policies")
        .map(|node| session_policies(node, &format!("{place}.policies"), managed));
    let policies = policies.transpose()?.unwrap_or_default();
    let session = Session {
        name: name.to_owned(),
        token,
        tags: members.tags("tags")?,
        is_federated,
        keys: members.keys("keys")?,
        policies: Some(policies).filter(|policies| is_federated || !policies.is_empty()),
        issued: now,
        expires,
    };
    Ok((
        members.required("accessKeyId")?,
        Secret::new(members.required("secretAccessKey")?),
        session,
    ))
}

/// Checks that a principal can have a session: only users request sessions of federated users.
pub(super) fn check_session(principal: &Principal, session: Option<&Session>) -> Read<()> {
    if session.is_some_and(|session| session.is_federated) && principal.kind != SubjectKind::User {
        return Err(format!(
            "{} is not a user, so it has no federated sessions.",
            principal.arn()
        ));
    }
    Ok(())
}
pub(super) fn check_session_name(name: &str) -> Read<()> {
    let fits = |char: char| char.is_ascii_alphanumeric() || "+=,.@_-".contains(char);
    if (2..=64).contains(&name.len()) && name.chars().all(fits) {
        Ok(())
    } else {
        Err("a session's name must have 2 to 64 letters, digits and +=,.@_-.".to_owned())
    }
}

fn session_policies(node: &Node, place: &str, managed: &Managed) -> Read<Vec<AttachedPolicy>> {
    let list = match node {
        Node::List(list) => list.iter().collect(),
        one => vec![one],
    };
    let read = list.into_iter().enumerate();
    read.map(|(at, node)| attached(node, PolicyKind::Session, format!("{place}.{at}"), managed))
        .collect()
}

/// A policy that is a document, or the ARN of a managed one.
fn attached(node: &Node, kind: PolicyKind, label: String, managed: &Managed) -> Read<AttachedPolicy> {
    attached_text(&document_text(node), kind, label, managed)
}

/// A policy whose text is a document, or the ARN of a managed one.
pub(super) fn attached_text(text: &str, kind: PolicyKind, label: String, managed: &Managed) -> Read<AttachedPolicy> {
    if text.starts_with("arn:") {
        let document = managed
            .get(text)
            .ok_or_else(|| format!("{label}: there is no managed policy {text}."))?;
        // A managed policy may be longer than an inline session policy.
        let policy = PolicyDocument::parse(document, PolicyKind::Identity).and_then(|policy| policy.validated_as(kind));
        return Ok(AttachedPolicy {
            policy: policy.map_err(|why| format!("{text}: {why}"))?,
            label: text.to_owned(),
            arn: Some(text.to_owned()),
        });
    }
    let policy = PolicyDocument::parse(text, kind).map_err(|why| format!("{label}: {why}"))?;
    Ok(AttachedPolicy {
        label,
        arn: None,
        policy,
    })
}

/// The text of a document that is an object, or a text itself.
fn document_text(node: &Node) -> String {
    node.text().map_or_else(|| node.to_json(), str::to_owned)
}

/// A unique id such as `AROA…`, which is the same in every run.
fn unique_id(prefix: &str, account: &str, path_and_name: &str) -> String {
    let mut id = prefix.to_owned();
    let mut rest = StableHash::new(0)
        .bytes(prefix.as_bytes())
        .bytes(account.as_bytes())
        .bytes(path_and_name.as_bytes())
        .finish();
    for _ in 0..13 {
        id.push(char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[(rest & 31) as usize]));
        rest >>= 5;
    }
    id.push_str("DTWN");
    id
}

/// The members of an object of the configuration, all known and none duplicate.
struct PolicyMembers<'n> {
    place: String,
    members: &'n [(String, Node)],
}

impl<'n> PolicyMembers<'n> {
    fn of(node: &'n Node, place: &str, known: &[&str]) -> Read<PolicyMembers<'n>> {
        let members = node.members().ok_or_else(|| format!("{place} must be an object."))?;
        for (at, (name, _)) in members.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                return Err(format!(
                    "{place} has no member {name:?}; its members are {}.",
                    known.join(", ")
                ));
            }
            if members[..at].iter().any(|(other, _)| other == name) {
                return Err(format!("{place} has the member {name:?} twice."));
            }
        }
        Ok(PolicyMembers {
            place: place.to_owned(),
            members,
        })
    }

    fn get(&self, name: &str) -> Option<&'n Node> {
        self.members
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, node)| node)
    }

    fn text(&self, name: &str) -> Read<Option<&'n str>> {
        let text = |node: &'n Node| {
            node.text()
                .ok_or_else(|| format!("{}.{name} must be a string.", self.place))
        };
        self.get(name).map(text).transpose()
    }

    fn required(&self, name: &str) -> Read<&'n str> {
        let text = self.text(name)?.filter(|text| !text.is_empty());
        text.ok_or_else(|| format!("{} needs {name}.", self.place))
    }

    fn texts(&self, name: &str) -> Read<Vec<&'n str>> {
        let texts = |node: &'n Node| {
            node.texts()
                .ok_or_else(|| format!("{}.{name} must be a list of strings.", self.place))
        };
        self.get(name).map_or(Ok(Vec::new()), texts)
    }

    fn flag(&self, name: &str) -> Read<Option<bool>> {
        match self.text(name)? {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(format!("{}.{name} must be true or false.", self.place)),
        }
    }

    /// The members of an object with arbitrary names.
    fn named(&self, name: &str) -> Read<Vec<(&'n str, &'n Node)>> {
        let Some(node) = self.get(name) else {
            return Ok(Vec::new());
        };
        let place = if self.place == "The configuration" {
            name.to_owned()
        } else {
            format!("{}.{name}", self.place)
        };
        let members = node.members().ok_or_else(|| format!("{place} must be an object."))?;
        for (at, (name, _)) in members.iter().enumerate() {
            if members[..at].iter().any(|(other, _)| other == name) {
                return Err(format!("{place} has {name:?} twice."));
            }
        }
        Ok(members.iter().map(|(name, node)| (name.as_str(), node)).collect())
    }

    /// Condition keys with their values, of which a key that is multivalued by its type has a list.
    fn keys(&self, name: &str) -> Read<ConditionKeys> {
        let mut keys = ConditionKeys::default();
        for (key, node) in self.named(name)? {
            let values = node.texts().filter(|_| key.contains(':'));
            let values = values.ok_or_else(|| {
                format!(
                    "{}.{name}.{key} must be a string or a list of strings, and its name must have a prefix.",
                    self.place
                )
            })?;
            match values[..] {
                [value] if !is_multivalued(key) => keys.set(key, value),
                _ => keys.set_all(key, values),
            }
        }
        Ok(keys)
    }

    fn tags(&self, name: &str) -> Read<Vec<(String, String)>> {
        let tags = self.named(name)?.into_iter();
        let tag = |(key, value): (&str, &Node)| {
            let value = value
                .text()
                .ok_or_else(|| format!("{}.{name}.{key} must be a string.", self.place))?;
            Ok((key.to_owned(), value.to_owned()))
        };
        tags.map(tag).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Read<Directory> {
        Directory::read(json, Moment::START)
    }

    #[test]
    fn configurations_are_read() {
        let directory = read(
            r#"{"accounts": {"123456789012": {
                "organization": {"id": "o-1", "paths": ["o-1/r-1/"]},
                "serviceControlPolicies": [{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}],
                "resourceControlPolicies": [{"Statement": {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "*"}}],
                "managedPolicies": {"Read": {"Statement": {"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}}},
                "accessKeys": [{"accessKeyId": "AKIAROOT", "secretAccessKey": "r"}],
                "groups": {"staff": {"policies": ["arn:aws:iam::123456789012:policy/Read"]}},
                "users": {"ann": {"path": "/team/", "tags": {"team": "blue"}, "groups": ["staff"], "accessKeys": [{"accessKeyId": "AKIAANN", "secretAccessKey": "a"}]}},
                "roles": {"Reader": {
                    "policies": {"Inline": "{\"Statement\": {\"Effect\": \"Allow\", \"Action\": \"*\", \"Resource\": \"*\"}}"},
                    "permissionsBoundary": "arn:aws:iam::aws:policy/AmazonDynamoDBFullAccess",
                    "sessions": [{"name": "s1", "accessKeyId": "ASIA1", "secretAccessKey": "x", "sessionToken": "t", "tags": {"a": "b"}, "durationSeconds": 900}]
                }}
            }}, "vpcEndpoints": {"vpce-1": {"vpc": "vpc-1", "type": "gateway", "policy": {"Statement": {"Effect": "Allow", "Principal": {"AWS": "123456789012"}, "Action": "*", "Resource": "*"}}}}}"#,
        )
        .unwrap();
        let ann = &directory.credential("AKIAANN").unwrap().principal;
        assert_eq!(
            (ann.arn().as_str(), ann.identity.len()),
            ("arn:aws:iam::123456789012:user/team/ann", 1)
        );
        let session = directory.credential("ASIA1").unwrap().session.clone().unwrap();
        assert_eq!(session.expires, Moment::START.plus(Duration::from_mins(15)));
        assert!(directory.principal("arn:aws:iam::123456789012:root").is_some());
        assert!(directory.principal("arn:aws:iam::123456789012:role/Reader").is_some());
        let codes: Vec<&str> = directory.warnings().iter().map(|warning| warning.code).collect();
        assert_eq!(codes, ["GatewayEndpointPrincipal"]);
        assert!(!format!("{directory:?}").contains("Secret(\""));
    }

    #[test]
    fn names_and_policies_have_several_forms() {
        let document = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}"#;
        for (policies, labels) in [
            (document.to_owned(), &["policies"][..]),
            (format!("[{document}]"), &["policies.0"]),
            (
                format!(r#"{{"one": {document}, "two": {document}}}"#),
                &["policies.one", "policies.two"],
            ),
            (format!("{document:?}"), &["policies"]),
            (
                r#""arn:aws:iam::aws:policy/AdministratorAccess""#.to_owned(),
                &["arn:aws:iam::aws:policy/AdministratorAccess"],
            ),
        ] {
            let name = "a9+=,.@_-Z";
            let json =
                format!(r#"{{"accounts": {{"123456789012": {{"users": {{"{name}": {{"policies": {policies}}}}}}}}}}}"#);
            let directory = read(&json).unwrap();
            let user = directory
                .principal(&format!("arn:aws:iam::123456789012:user/{name}"))
                .unwrap();
            let found: Vec<_> = user.identity.iter().map(|attached| attached.label.as_str()).collect();
            let place = format!("accounts.123456789012.users.{name}.");
            let found: Vec<_> = found
                .iter()
                .map(|label| label.strip_prefix(&place).unwrap_or(label))
                .collect();
            assert_eq!(found, labels, "{policies}");
        }
    }

    #[test]
    fn flags_are_texts() {
        for (json, expect) in [
            ("{}", Ok(None)),
            (r#"{"secureTransport": true}"#, Ok(Some(true))),
            (r#"{"secureTransport": "true"}"#, Ok(Some(true))),
            (r#"{"secureTransport": false}"#, Ok(Some(false))),
            (r#"{"secureTransport": "False"}"#, Err(())),
            (r#"{"secureTransport": 1}"#, Err(())),
        ] {
            let found = read(json).map(|directory| directory.secure_transport).map_err(drop);
            assert_eq!(found, expect, "{json}");
        }
    }

    #[test]
    fn configurations_are_refused() {
        let account = |inside: &str| format!(r#"{{"accounts": {{"123456789012": {inside}}}}}"#);
        for (json, expect) in [
            (
                "{".to_owned(),
                "The configuration is not valid JSON, or is nested too deeply.",
            ),
            (
                r#"{"account": {}}"#.to_owned(),
                "The configuration has no member \"account\"; its members are accounts, vpcEndpoints, sourceIp, secureTransport.",
            ),
            (
                r#"{"accounts": {"1": {}}}"#.to_owned(),
                "accounts.1: an account id must have 12 digits.",
            ),
            (
                account(r#"{"users": {"a b": {}}}"#),
                "accounts.123456789012.users.a b: a name must have 1 to 64 letters, digits and +=,.@_-.",
            ),
            (r#"{"accounts": []}"#.to_owned(), "accounts must be an object."),
            (
                account(r#"{"managedPolicies": []}"#),
                "accounts.123456789012.managedPolicies must be an object.",
            ),
            (
                account(r#"{"users": {"": {}}}"#),
                "accounts.123456789012.users.: a name must have 1 to 64 letters, digits and +=,.@_-.",
            ),
            (
                account(r#"{"users": {"a": {"path": "/team"}}}"#),
                "accounts.123456789012.users.a.path must begin and end with a slash.",
            ),
            (
                account(r#"{"users": {"a": {"path": "team/"}}}"#),
                "accounts.123456789012.users.a.path must begin and end with a slash.",
            ),
            (
                account(
                    r#"{"users": {"a": {"sessions": [{"accessKeyId": "K", "secretAccessKey": "s", "sessionToken": "t", "keys": {"tag": "x"}}]}}}"#,
                ),
                "accounts.123456789012.users.a.sessions.0.keys.tag must be a string or a list of strings, and its name must have a prefix.",
            ),
            (
                r#"{"sourceIp": "10.0.0.1", "sourceIp": "10.0.0.1"}"#.to_owned(),
                "The configuration has the member \"sourceIp\" twice.",
            ),
            (
                account(r#"{"users": {"a": {}, "b": {}, "a": {}}}"#),
                "accounts.123456789012.users has \"a\" twice.",
            ),
            (
                account(r#"{"users": {"a": {"accessKeys": [{"accessKeyId": "", "secretAccessKey": "s"}]}}}"#),
                "accounts.123456789012.users.a.accessKeys.0 needs accessKeyId.",
            ),
            (
                account(r#"{"users": {"a": {"accessKeys": [{"accessKeyId": "K", "secretAccessKey": ""}]}}}"#),
                "accounts.123456789012.users.a.accessKeys.0 needs secretAccessKey.",
            ),
            (
                account(r#"{"users": {"a": {"groups": ["x"]}}}"#),
                "accounts.123456789012.users.a.groups: there is no group \"x\".",
            ),
            (
                account(r#"{"users": {"a": {"policies": ["arn:x"]}}}"#),
                "accounts.123456789012.users.a.policies.0: there is no managed policy arn:x.",
            ),
            (
                account(r#"{"users": {"a": {"policies": [{"Statement": []}]}}}"#),
                "accounts.123456789012.users.a.policies.0: The policy has no statement.",
            ),
            (
                account(r#"{"users": {"a": {"accessKeys": [{"accessKeyId": "K"}]}}}"#),
                "accounts.123456789012.users.a.accessKeys.0 needs secretAccessKey.",
            ),
            (
                account(
                    r#"{"accessKeys": [{"accessKeyId": "K", "secretAccessKey": "s"}, {"accessKeyId": "K", "secretAccessKey": "s"}]}"#,
                ),
                "accounts.123456789012: the access key K occurs twice.",
            ),
            (
                account(
                    r#"{"resourceControlPolicies": [{"Statement": {"Effect": "Allow", "Principal": "*", "Action": "dynamodb:*", "Resource": "*"}}]}"#,
                ),
                "accounts.123456789012.resourceControlPolicies.0: the effect of a resource control policy must be Deny.",
            ),
            (
                account(
                    r#"{"resourceControlPolicies": {"one": {"Statement": [
                        {"Effect": "Deny", "Principal": "*", "Action": "dynamodb:*", "Resource": "*"},
                        {"Effect": "Allow", "Principal": "*", "Action": "dynamodb:*", "Resource": "*"}]}}}"#,
                ),
                "accounts.123456789012.resourceControlPolicies.one: the effect of a resource control policy must be Deny.",
            ),
            (
                account(
                    r#"{"resourceControlPolicies": [
                        {"Statement": {"Effect": "Deny", "Principal": "*", "Action": "dynamodb:*", "Resource": "*"}},
                        {"Statement": {"Effect": "Allow", "Principal": "*", "Action": "dynamodb:*", "Resource": "*"}}]}"#,
                ),
                "accounts.123456789012.resourceControlPolicies.1: the effect of a resource control policy must be Deny.",
            ),
            (
                account(
                    r#"{"resourceControlPolicies": {
                        "one": {"Statement": {"Effect": "Deny", "Principal": "*", "Action": "dynamodb:*", "Resource": "*"}},
                        "two": {"Statement": {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "*"}},
                        "three": {"Statement": {"Effect": "Allow", "Principal": "*", "Action": "dynamodb:*", "Resource": "*"}}}}"#,
                ),
                "accounts.123456789012.resourceControlPolicies.three: the effect of a resource control policy must be Deny.",
            ),
        ] {
            assert_eq!(read(&json).unwrap_err(), expect, "{json}");
        }
    }

    #[test]
    fn sessions_that_are_refused() {
        let place = "accounts.123456789012.users.a.sessions.0";
        let keys = r#""accessKeyId": "K", "secretAccessKey": "s", "sessionToken": "t""#;
        for (session, expect) in [
            (format!("{{{keys}}}"), String::new()),
            (
                format!(r#"{{{keys}, "expires": "2026-02-01T00:00:00Z"}}"#),
                String::new(),
            ),
            (
                format!(r#"{{{keys}, "durationSeconds": "900", "federated": "true"}}"#),
                String::new(),
            ),
            (
                format!(r#"{{{keys}, "role": "x"}}"#),
                format!("{place} has no member \"role\": it is a session of arn:aws:iam::123456789012:user/a."),
            ),
            (
                format!(r#"{{{keys}, "expires": "2026-02-01T00:00:00Z", "durationSeconds": "900"}}"#),
                format!("{place} must have only one of expires and durationSeconds."),
            ),
            (
                format!(r#"{{{keys}, "expires": "tomorrow"}}"#),
                format!("{place}.expires must be a date and time such as 2026-01-01T00:00:00Z."),
            ),
            (
                format!(r#"{{{keys}, "durationSeconds": "1.5"}}"#),
                format!("{place}.durationSeconds must be a whole number."),
            ),
            (
                format!(r#"{{{keys}, "name": "a"}}"#),
                format!("{place}.name: a session's name must have 2 to 64 letters, digits and +=,.@_-."),
            ),
            (
                r#"{"accessKeyId": "K", "secretAccessKey": "s"}"#.to_owned(),
                format!("{place} needs sessionToken."),
            ),
            (
                r#"{"secretAccessKey": "s", "sessionToken": "t"}"#.to_owned(),
                format!("{place} needs accessKeyId."),
            ),
            (
                format!(r#"{{{keys}, "policies": "arn:x"}}"#),
                format!("{place}.policies.0: there is no managed policy arn:x."),
            ),
            (
                format!(r#"{{{keys}, "federated": "yes"}}"#),
                format!("{place}.federated must be true or false."),
            ),
        ] {
            let json =
                format!(r#"{{"accounts": {{"123456789012": {{"users": {{"a": {{"sessions": [{session}]}}}}}}}}}}"#);
            assert_eq!(read(&json).err().unwrap_or_default(), expect, "{session}");
        }
        let account = |inside: &str| read(&format!(r#"{{"accounts": {{"123456789012": {inside}}}}}"#)).unwrap_err();
        for (inside, expect) in [
            (
                format!(r#"{{"roles": {{"r": {{"sessions": [{{{keys}, "federated": "true"}}]}}}}}}"#),
                "accounts.123456789012.roles.r.sessions.0: arn:aws:iam::123456789012:role/r is not a user, so it has no federated sessions.",
            ),
            (
                r#"{"users": {"a": {"sessions": {}}}}"#.to_owned(),
                "accounts.123456789012.users.a.sessions must be a list.",
            ),
            (
                r#"{"users": {"a": {"groups": [[]]}}}"#.to_owned(),
                "accounts.123456789012.users.a.groups must be a list of strings.",
            ),
        ] {
            assert_eq!(account(&inside), expect, "{inside}");
        }
    }

    #[test]
    fn endpoints_that_are_refused() {
        let endpoint = |inside: &str| read(&format!(r#"{{"vpcEndpoints": {{"vpce-1": {inside}}}}}"#));
        for (inside, expect) in [
            (r#"{"type": "GATEWAY"}"#, ""),
            (r#"{"type": "interface", "vpc": "vpc-1"}"#, ""),
            ("{}", ""),
            (
                r#"{"type": "other"}"#,
                "vpcEndpoints.vpce-1.type must be \"gateway\" or \"interface\".",
            ),
            (
                r#"{"policy": "arn:aws:iam::aws:policy/AdministratorAccess"}"#,
                "arn:aws:iam::aws:policy/AdministratorAccess: a managed policy cannot be a VPC endpoint policy.",
            ),
            (
                r#"{"id": "x"}"#,
                "vpcEndpoints.vpce-1 has no member \"id\"; its members are vpc, type, policy.",
            ),
        ] {
            assert_eq!(endpoint(inside).err().unwrap_or_default(), expect, "{inside}");
        }
    }

    /// Service control policies are of one level, or of several.
    #[test]
    fn levels_of_service_control_policies() {
        let policy = r#"{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}"#;
        let place = "accounts.123456789012.serviceControlPolicies";
        for (policies, expect) in [
            ("[]".to_owned(), Ok(vec![])),
            (format!("[{policy}, {policy}]"), Ok(vec![2])),
            (format!("[[{policy}], [{policy}, {policy}]]"), Ok(vec![1, 2])),
            (format!("[[{policy}], {{\"named\": {policy}}}]"), Ok(vec![1, 1])),
            ("[[], []]".to_owned(), Ok(vec![0, 0])),
            ("{}".to_owned(), Err(format!("{place} must be a list."))),
            ("\"x\"".to_owned(), Err(format!("{place} must be a list."))),
        ] {
            let json = format!(r#"{{"accounts": {{"123456789012": {{"serviceControlPolicies": {policies}}}}}}}"#);
            let levels = read(&json).map(|directory| {
                let account = directory.account("123456789012").unwrap();
                account.service_control.iter().map(Vec::len).collect::<Vec<_>>()
            });
            assert_eq!(levels, expect, "{policies}");
        }
    }

    #[test]
    fn configurations_have_bounded_levels() {
        let deep = "The configuration is not valid JSON, or is nested too deeply.";
        for (levels, expect) in [(MOST_DEPTH, "accounts must be an object."), (MOST_DEPTH + 1, deep)] {
            // The lists are inside the configuration.
            let lists = format!("{}{}", "[".repeat(levels - 1), "]".repeat(levels - 1));
            assert_eq!(
                read(&format!(r#"{{"accounts": {lists}}}"#)).unwrap_err(),
                expect,
                "{levels}"
            );
        }
    }

    /// Makes a configuration with a number or size.
    type MakeConfiguration<'m> = &'m dyn Fn(usize) -> String;

    /// The largest number or size of each kind that is accepted.
    #[test]
    fn limits_of_configurations() {
        let account = |inside: &str| format!(r#"{{"accounts": {{"123456789012": {inside}}}}}"#);
        let empty = r#"{"Statement":{"Sid":"","Effect":"Allow","Action":"*","Resource":"*"}}"#;
        let policy = |size: usize| empty.replace("\"\"", &format!("\"{}\"", "x".repeat(size - empty.len())));
        let inline = |group: &str, size: usize| {
            let (one, other) = (policy(1_000), policy(size - 1_000));
            account(&format!(r#"{{"{group}": {{"a": {{"policies": [{one}, {other}]}}}}}}"#))
        };
        let managed = |count: usize| {
            let arn = r#""arn:aws:iam::aws:policy/AdministratorAccess""#;
            account(&format!(
                r#"{{"groups": {{"a": {{"policies": [{}]}}}}}}"#,
                vec![arn; count].join(",")
            ))
        };
        let name = |length: usize| account(&format!(r#"{{"roles": {{"{}": {{}}}}}}"#, "a".repeat(length)));
        let document = |size: usize| account(&format!(r#"{{"managedPolicies": {{"P": {}}}}}"#, policy(size)));
        let make: [(&str, MakeConfiguration<'_>, usize); 6] = [
            (
                "inline policies of a user",
                &|size| inline("users", size),
                INLINE_OF_USER,
            ),
            (
                "inline policies of a group",
                &|size| inline("groups", size),
                INLINE_OF_GROUP,
            ),
            (
                "inline policies of a role",
                &|size| inline("roles", size),
                INLINE_OF_ROLE,
            ),
            ("managed policies", &managed, MOST_MANAGED),
            ("the letters of a name", &name, 64),
            ("a managed policy", &document, MANAGED_SIZE),
        ];
        for (what, make, most) in make {
            assert!(read(&make(most)).is_ok(), "{what}: {:?}", read(&make(most)).err());
            let refused = read(&make(most + 1)).unwrap_err();
            let expect = match what {
                "managed policies" => {
                    "accounts.123456789012.groups.a.policies has more than 20 managed policies.".to_owned()
                }
                "the letters of a name" => format!(
                    "accounts.123456789012.roles.{}: a name must have 1 to 64 letters, digits and +=,.@_-.",
                    "a".repeat(65)
                ),
                "a managed policy" => {
                    "arn:aws:iam::123456789012:policy/P: a managed policy has at most 6144 characters.".to_owned()
                }
                _ => {
                    let group = what.trim_start_matches("inline policies of a ");
                    format!(
                        "accounts.123456789012.{group}s.a.policies: Maximum policy size of {most} bytes exceeded by the inline policies together."
                    )
                }
            };
            assert_eq!(refused, expect, "{what}");
        }
        assert_eq!(
            [INLINE_OF_USER, INLINE_OF_GROUP, INLINE_OF_ROLE, MANAGED_SIZE],
            [2_048, 5_120, 10_240, 6_144]
        );
    }

    #[test]
    fn names_of_sessions() {
        for (name, expect) in [
            ("a".to_owned(), false),
            ("ab".to_owned(), true),
            ("a+=,.@_-9".to_owned(), true),
            ("a b".to_owned(), false),
            ("ä".to_owned(), false),
            ("a".repeat(64), true),
            ("a".repeat(65), false),
        ] {
            assert_eq!(check_session_name(&name).is_ok(), expect, "{name}");
        }
    }

    /// A managed policy is reported once, however often it is attached, and the others in order.
    #[test]
    fn warnings_of_configurations() {
        let policy = |action: &str| {
            format!(
                r#"{{"Statement": [{{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}},
                    {{"Effect": "Allow", "Action": "dynamodb:{action}", "Resource": "*"}}]}}"#
            )
        };
        let json = format!(
            r#"{{"accounts": {{"123456789012": {{
                "managedPolicies": {{"M": {}}},
                "users": {{
                    "ann": {{"policies": ["arn:aws:iam::123456789012:policy/M", {}]}},
                    "bob": {{"policies": ["arn:aws:iam::123456789012:policy/M", {}]}}
                }}}}}}}}"#,
            policy("OfBoth"),
            policy("OfAnn"),
            policy("GetItem"),
        );
        let found: Vec<_> = read(&json).unwrap().warnings();
        let shown: Vec<_> = found
            .iter()
            .map(|warning| format!("{} {} {}", warning.policy, warning.statement, warning.message))
            .collect();
        let text = |action: &str| format!("dynamodb:{action} is not an action of DynamoDB, so it matches nothing.");
        assert_eq!(
            shown,
            [
                format!("arn:aws:iam::123456789012:policy/M 2 {}", text("OfBoth")),
                format!("accounts.123456789012.users.ann.policies.1 2 {}", text("OfAnn")),
            ]
        );
    }

    /// A gateway endpoint's policy must name everybody, which excluding everybody does not.
    #[test]
    fn policies_of_gateway_endpoints_get_warnings() {
        for (kind, principal, expect) in [
            ("gateway", r#""Effect": "Allow", "Principal": "*""#, &[][..]),
            (
                "gateway",
                r#""Effect": "Allow", "Principal": {"AWS": "123456789012"}"#,
                &["GatewayEndpointPrincipal"],
            ),
            (
                "gateway",
                r#""Effect": "Deny", "NotPrincipal": "*""#,
                &["GatewayEndpointPrincipal"],
            ),
            ("interface", r#""Effect": "Deny", "NotPrincipal": "*""#, &[]),
        ] {
            let json = format!(
                r#"{{"vpcEndpoints": {{"vpce-1": {{"type": "{kind}", "policy": {{"Statement": {{{principal}, "Action": "*", "Resource": "*"}}}}}}}}}}"#
            );
            let warnings = read(&json).unwrap().warnings();
            let codes: Vec<_> = warnings.iter().map(|warning| warning.code).collect();
            assert_eq!(codes, expect, "{json}");
        }
        let everybody = r#"{"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}"#;
        let one = everybody.replace(r#""*", "Action""#, r#"{"AWS": "123456789012"}, "Action""#);
        let json = format!(
            r#"{{"vpcEndpoints": {{"vpce-1": {{"type": "gateway", "policy": {{"Statement": [{everybody}, {one}, {everybody}, {one}]}}}}}}}}"#
        );
        let warnings = read(&json).unwrap().warnings();
        let statements: Vec<_> = warnings.iter().map(|warning| warning.statement).collect();
        assert_eq!(statements, [2, 4]);
    }

    /// Every account has managed policies, which are named by their ARNs, and access keys, of which none is in two accounts.
    #[test]
    fn accounts_are_read_one_after_another() {
        let policy = r#"{"Statement": {"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}}"#;
        let account = |id: &str, key: &str| {
            format!(
                r#""{id}": {{"managedPolicies": {{"Read": {policy}}}, "users": {{"ann": {{
                    "policies": ["arn:aws:iam::{id}:policy/Read"],
                    "accessKeys": [{{"accessKeyId": "{key}", "secretAccessKey": "s"}}]}}}}}}"#
            )
        };
        let ids = ["111111111111", "222222222222", "333333333333"];
        let configuration = |keys: [&str; 3]| {
            let accounts = [0, 1, 2].map(|at| account(ids[at], keys[at]));
            read(&format!(r#"{{"accounts": {{{}}}}}"#, accounts.join(", ")))
        };
        let directory = configuration(["K1", "K2", "K3"]).unwrap();
        for (id, key) in ids.iter().zip(["K1", "K2", "K3"]) {
            let principal = &directory.credential(key).unwrap().principal;
            let arns: Vec<_> = principal.identity.iter().map(|attached| attached.arn.clone()).collect();
            assert_eq!(principal.arn(), format!("arn:aws:iam::{id}:user/ann"));
            assert_eq!(arns, [Some(format!("arn:aws:iam::{id}:policy/Read"))]);
        }
        for (keys, account) in [
            (["K1", "K1", "K2"], "222222222222"),
            (["K1", "K2", "K1"], "333333333333"),
            (["K1", "K2", "K2"], "333333333333"),
        ] {
            let key = keys[2].to_owned();
            let key = if account == "222222222222" {
                "K1".to_owned()
            } else {
                key
            };
            assert_eq!(
                configuration(keys).unwrap_err(),
                format!("accounts.{account}: the access key {key} occurs twice."),
                "{keys:?}"
            );
        }
    }

    /// Whether a condition key has one value or a list of them depends on its type, however many values it is given.
    #[test]
    fn condition_keys_have_the_form_of_their_type() {
        use super::super::keys::KeyValue;
        let one = |value: &str| Some(KeyValue::One(value.to_owned()));
        let many = |values: &[&str]| Some(KeyValue::Many(values.iter().map(|value| (*value).to_owned()).collect()));
        for (key, value, expect) in [
            ("aws:FederatedProvider", r#""a""#, one("a")),
            ("aws:FederatedProvider", r#"["a"]"#, one("a")),
            ("aws:TagKeys", r#""a""#, many(&["a"])),
            ("aws:TagKeys", r#"["a"]"#, many(&["a"])),
            ("aws:TagKeys", r#"["b", "a"]"#, many(&["b", "a"])),
            ("aws:tagkeys", r#""a""#, many(&["a"])),
            ("aws:TagKeys", "[]", None),
        ] {
            let session = format!(
                r#"{{"accessKeyId": "K", "secretAccessKey": "s", "sessionToken": "t", "keys": {{"{key}": {value}}}}}"#
            );
            let json =
                format!(r#"{{"accounts": {{"123456789012": {{"users": {{"a": {{"sessions": [{session}]}}}}}}}}}}"#);
            let directory = read(&json).unwrap();
            let session = directory.credential("K").unwrap().session.clone().unwrap();
            assert_eq!(session.keys.get(key).cloned(), expect, "{key} {value}");
        }
    }

    /// Unique ids of users and roles begin as those of AWS do.
    #[test]
    fn unique_ids_begin_with_their_kind() {
        let json = r#"{"accounts": {"123456789012": {"users": {"a": {}}, "roles": {"a": {}, "b": {"id": "AROAB"}}}}}"#;
        let directory = read(json).unwrap();
        for (name, expect) in [("user/a", "AIDA"), ("role/a", "AROA"), ("role/b", "AROAB")] {
            let principal = directory
                .principal(&format!("arn:aws:iam::123456789012:{name}"))
                .unwrap();
            assert!(principal.id.starts_with(expect), "{name}: {}", principal.id);
        }
    }

    /// No two users and roles have the same unique id, whatever is equal of account, path and name.
    #[test]
    fn unique_ids_are_different() {
        let account =
            r#"{"users": {"a": {}, "b": {}, "c": {"path": "/team/"}}, "roles": {"a": {}, "c": {"path": "/team/"}}}"#;
        let json = format!(r#"{{"accounts": {{"111111111111": {account}, "222222222222": {account}}}}}"#);
        let directory = read(&json).unwrap();
        let principals: Vec<_> = directory
            .accounts()
            .flat_map(|(_, account)| &account.principals)
            .collect();
        assert_eq!(principals.len(), 10);
        for (at, principal) in principals.iter().enumerate() {
            let same = principals[..at].iter().find(|other| other.id == principal.id);
            assert!(same.is_none(), "{} and {same:?}", principal.arn());
        }
    }

    /// A user has its own policies and those of all its groups, in their order.
    #[test]
    fn a_user_has_the_policies_of_all_its_groups() {
        let allow = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}"#;
        let groups = ["readers", "writers", "idle"].map(|name| match name {
            "idle" => format!("{name:?}: {{}}"),
            _ => format!(r#"{name:?}: {{"policies": {{"one": {allow}, "two": {allow}}}}}"#),
        });
        let groups = groups.join(", ");
        for (of_user, expect) in [
            ("[]", &["users.ann.policies.own"][..]),
            (
                r#"["writers"]"#,
                &[
                    "users.ann.policies.own",
                    "groups.writers.policies.one",
                    "groups.writers.policies.two",
                ],
            ),
            (r#"["idle"]"#, &["users.ann.policies.own"]),
            (
                r#"["idle", "writers", "readers"]"#,
                &[
                    "users.ann.policies.own",
                    "groups.writers.policies.one",
                    "groups.writers.policies.two",
                    "groups.readers.policies.one",
                    "groups.readers.policies.two",
                ],
            ),
        ] {
            let json = format!(
                r#"{{"accounts": {{"123456789012": {{"groups": {{{groups}}},
                    "users": {{"ann": {{"policies": {{"own": {allow}}}, "groups": {of_user}}}}}}}}}}}"#
            );
            let directory = read(&json).unwrap();
            let ann = directory.principal("arn:aws:iam::123456789012:user/ann").unwrap();
            let labels = ann.identity.iter().map(|attached| attached.label.as_str());
            let labels: Vec<_> = labels
                .map(|label| label.trim_start_matches("accounts.123456789012."))
                .collect();
            assert_eq!(labels, expect, "{of_user}");
        }
        let json = r#"{"accounts": {"123456789012": {"groups": {"staff": {}}, "users": {"ann": {"groups": ["staff", "gone"]}}}}}"#;
        let error = read(json).err().unwrap();
        assert!(error.contains("there is no group \"gone\""), "{error}");
    }

    #[test]
    fn inline_policies_do_not_count_as_managed_ones() {
        let managed = "arn:aws:iam::aws:policy/AmazonDynamoDBFullAccess";
        let inline = r#"{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}"#;
        for (of_aws, own, fits) in [
            (MOST_MANAGED, 0, true),
            (0, MOST_MANAGED + 1, true),
            (MOST_MANAGED, MOST_MANAGED, true),
            (MOST_MANAGED + 1, 1, false),
        ] {
            let policies = vec![format!("{managed:?}"); of_aws].into_iter();
            let policies: Vec<_> = policies.chain(vec![inline.to_owned(); own]).collect();
            let json = format!(
                r#"{{"accounts": {{"123456789012": {{"roles": {{"a": {{"policies": [{}]}}}}}}}}}}"#,
                policies.join(", ")
            );
            assert_eq!(read(&json).is_ok(), fits, "{of_aws} {own}");
        }
    }
}
