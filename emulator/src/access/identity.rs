//! An authenticated caller, the condition keys of its request, and the decision (docs/behavior: 07 4).

use std::sync::Arc;

use super::actions::carries;
use super::directory::{Account, Credential, Directory, Endpoint, Principal, Session};
use super::document::{PolicyDocument, PolicyKind, PolicyStatement, StatementInput, StatementMatch};
use super::evaluate::{AttachedPolicy, Decision, PolicySet};
use super::keys::ConditionKeys;
use super::principal::{Subject, SubjectKind};
use super::request::AccessRequest;
use crate::clock::Moment;
use crate::error::ApiError;

/// The network origin of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestOrigin {
    /// `aws:SourceIp`, unless the request came through a VPC endpoint.
    pub source_ip: Option<String>,
    /// The id of the VPC endpoint of the request.
    pub endpoint: Option<String>,
    /// The value of `aws:SecureTransport`; `None` if the host does not know.
    pub secure_transport: Option<bool>,
    /// The value of `aws:UserAgent`; `None` if the request has no such header.
    pub user_agent: Option<String>,
}

/// Facts about the resource of a request besides its ARN.
#[derive(Clone, Debug, Default)]
pub struct ResourceFacts {
    pub tags: Vec<(String, String)>,
    pub policy: Option<AttachedPolicy>,
}

#[derive(Clone, Debug)]
pub struct Identity {
    pub(super) directory: Arc<Directory>,
    principal: Arc<Principal>,
    session: Option<Arc<Session>>,
    subject: Subject,
    origin: RequestOrigin,
}

/// The decision about one action, and the values that it is based on.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The IAM action with its prefix.
    pub action: String,
    /// The ARN of the resource, as refusals name it.
    pub resource: String,
    pub keys: ConditionKeys,
    pub decision: Decision,
}

/// How one statement compares with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementReport {
    pub kind: PolicyKind,
    pub policy: String,
    /// The statement's place in the policy, from 1.
    pub place: usize,
    pub sid: Option<String>,
    /// Whether it allows; it denies otherwise.
    pub allows: bool,
    /// Which of its parts match.
    pub found: StatementMatch,
    /// Operator and key of each condition, in the order of [`StatementMatch::conditions`].
    pub conditions: Vec<(String, String)>,
}

/// A decision with everything that it is based on.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The decision about one action.
    pub evaluation: Evaluation,
    pub statements: Vec<StatementReport>,
    /// The service's text, if it is refused.
    pub refusal: Option<String>,
}

impl Evaluation {
    /// The service's refusal, if the request is not allowed.
    pub fn refusal(&self, caller: &Subject) -> Option<ApiError> {
        let denial = self.decision.denial.as_ref()?;
        let reason = denial.reason(&self.action);
        Some(ApiError::not_permitted(
            &caller.arn,
            &self.action,
            &self.resource,
            &reason,
        ))
    }
}

impl Identity {
    /// The holder of a credential, and the origin of its request.
    pub fn new(directory: Arc<Directory>, credential: &Credential, origin: RequestOrigin) -> Identity {
        Identity {
            subject: Subject {
                is_bounded: credential.principal.boundary.is_some(),
                ..credential.principal.subject(credential.session.as_deref())
            },
            principal: credential.principal.clone(),
            session: credential.session.clone(),
            directory,
            origin,
        }
    }

    /// The caller as policies see it.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    pub fn account(&self) -> &str {
        &self.subject.account
    }

    /// Whether each account, user and role that a policy names is configured.
    pub fn knows_principals(&self, policy: &PolicyDocument) -> bool {
        policy.named_principals().all(|arn| self.directory.knows(arn))
    }

    fn endpoint(&self) -> Option<&Endpoint> {
        self.directory.endpoint(self.origin.endpoint.as_deref()?)
    }

    fn account_of(&self, id: &str) -> Option<&Account> {
        self.directory.account(id)
    }

    /// The keys that any request of this caller carries.
    fn global_keys(&self, region: &str, now: Moment) -> ConditionKeys {
        let mut keys = ConditionKeys::default();
        let subject = &self.subject;
        keys.set("aws:PrincipalArn", &subject.principal_arn);
        keys.set("aws:PrincipalAccount", &subject.account);
        let session = self.session.as_ref().map_or("", |session| session.name.as_str());
        let (kind, id) = match subject.kind {
            SubjectKind::Root => ("Account", subject.account.clone()),
            SubjectKind::User => ("User", self.principal.id.clone()),
            SubjectKind::RoleSession => ("AssumedRole", format!("{}:{session}", self.principal.id)),
            SubjectKind::FederatedUser => ("FederatedUser", format!("{}:{session}", subject.account)),
        };
        keys.set("aws:PrincipalType", kind);
        keys.set("aws:userid", id);
        if subject.kind == SubjectKind::User {
            keys.set("aws:username", self.principal.name());
        }
        let tags = self.session.iter().flat_map(|session| &session.tags);
        for (tag, value) in self.principal.tags.iter().chain(tags) {
            keys.set(&format!("aws:PrincipalTag/{tag}"), value);
        }
        keys.set("aws:CurrentTime", now.to_string());
        keys.set("aws:EpochTime", now.seconds().to_string());
        keys.set("aws:RequestedRegion", region);
        keys.set("aws:ViaAWSService", "false");
        keys.set("aws:PrincipalIsAWSService", "false");
        let secure = self
            .origin
            .secure_transport
            .or(self.directory.secure_transport)
            .unwrap_or(true);
        keys.set("aws:SecureTransport", secure.to_string());
        if let Some(agent) = &self.origin.user_agent {
            keys.set("aws:UserAgent", agent);
        }
        if let Some(session) = &self.session {
            keys.set("aws:TokenIssueTime", session.issued.to_string());
            keys.set("aws:MultiFactorAuthPresent", "false");
        }
        let account = self.account_of(&subject.account);
        if let Some(organization) = account.and_then(|account| account.organization.as_ref()) {
            keys.set("aws:PrincipalOrgID", organization);
        }
        keys.set_all(
            "aws:PrincipalOrgPaths",
            account.into_iter().flat_map(|account| &account.organization_paths),
        );
        self.network_keys(&mut keys);
        match &self.session {
            Some(session) => keys.with(&session.keys),
            None => keys,
        }
    }

    /// Through a VPC endpoint a request has no `aws:SourceIp` (docs/behavior: 07 7.1).
    fn network_keys(&self, keys: &mut ConditionKeys) {
        let address = self.origin.source_ip.as_deref().or(self.directory.source_ip.as_deref());
        let Some(id) = &self.origin.endpoint else {
            keys.set("aws:SourceIp", address.unwrap_or("127.0.0.1"));
            return;
        };
        keys.set("aws:SourceVpce", id);
        if let Some(vpc) = self.endpoint().and_then(|endpoint| endpoint.vpc.as_ref()) {
            keys.set("aws:SourceVpc", vpc);
        }
        if let Some(address) = address {
            keys.set("aws:VpcSourceIp", address);
        }
    }

    /// Decides about one action of a request in a region. `extra` replaces keys.
    pub fn evaluate(
        &self,
        request: &AccessRequest<'_>,
        facts: &ResourceFacts,
        (region, now): (&str, Moment),
        extra: &ConditionKeys,
    ) -> Evaluation {
        let name = request.action.strip_prefix("dynamodb:").unwrap_or(request.action);
        self.evaluate_action(&format!("dynamodb:{name}"), request, facts, (region, now), extra)
    }

    /// Decides about any action, with the resource and the keys of a request.
    pub fn evaluate_action(
        &self,
        action: &str,
        request: &AccessRequest<'_>,
        facts: &ResourceFacts,
        (region, now): (&str, Moment),
        extra: &ConditionKeys,
    ) -> Evaluation {
        let account = resource_account(&request.resource).unwrap_or(&self.subject.account);
        let mut keys = self.global_keys(region, now);
        keys.set("aws:ResourceAccount", account);
        let owner = self.account_of(account);
        if let Some(organization) = owner.and_then(|account| account.organization.as_ref()) {
            keys.set("aws:ResourceOrgID", organization);
        }
        keys.set_all(
            "aws:ResourceOrgPaths",
            owner.into_iter().flat_map(|account| &account.organization_paths),
        );
        for (tag, value) in &facts.tags {
            keys.set(&format!("aws:ResourceTag/{tag}"), value);
        }
        request_keys(request, action, &mut keys);
        let keys = keys.with(extra);
        let policies = self.policies(account, facts);
        let decision = policies.decide(&StatementInput {
            subject: &self.subject,
            action,
            resource: &request.resource,
            keys: &keys,
        });
        Evaluation {
            resource: named_resource(&request.resource, action, region, &self.subject.account),
            action: action.to_owned(),
            keys,
            decision,
        }
    }

    /// How each statement of all policies compares with a request that was evaluated, in the order of evaluation.
    pub fn explain(&self, resource: &str, facts: &ResourceFacts, evaluation: &Evaluation) -> Vec<StatementReport> {
        let account = resource_account(resource).unwrap_or(&self.subject.account);
        let question = StatementInput {
            subject: &self.subject,
            action: &evaluation.action,
            resource,
            keys: &evaluation.keys,
        };
        let policies = self.policies(account, facts);
        let statements = policies.all().flat_map(|attached| {
            let statements = attached.policy.statements().iter().enumerate();
            statements.map(move |(at, statement)| (attached, at, statement))
        });
        let report = |(attached, at, statement): (&AttachedPolicy, usize, &PolicyStatement)| StatementReport {
            kind: attached.policy.kind(),
            policy: attached.label.clone(),
            place: at + 1,
            sid: statement.sid().map(str::to_owned),
            allows: statement.allows(),
            found: statement.compare(&question),
            conditions: statement
                .conditions()
                .map(|(operator, key)| (operator.to_owned(), key.to_owned()))
                .collect(),
        };
        statements.map(report).collect()
    }

    /// The policies that take part in a decision about a resource of an account.
    pub fn policies<'a>(&'a self, resource_account: &'a str, facts: &'a ResourceFacts) -> PolicySet<'a> {
        let own = self.account_of(&self.subject.account);
        let owner = self.account_of(resource_account);
        PolicySet {
            identity: &self.principal.identity,
            boundary: self.principal.boundary.as_ref(),
            session: self.session.as_ref().and_then(|session| session.policies.as_deref()),
            service_control: own.map_or(&[], |account| &account.service_control),
            resource_control: owner.map_or(&[], |account| &account.resource_control),
            resource: facts.policy.as_ref(),
            resource_account,
            endpoint: self.endpoint().and_then(|endpoint| endpoint.policy.as_ref()),
        }
    }
}

/// The account of an ARN.
pub(super) fn resource_account(arn: &str) -> Option<&str> {
    arn.split(':').nth(4).filter(|account| !account.is_empty())
}

/// The resource as error texts name it: where the action takes none, ListTables names all tables (docs/behavior: 07
/// 2.2).
fn named_resource(resource: &str, action: &str, region: &str, account: &str) -> String {
    match (resource, action) {
        ("*", "dynamodb:ListTables") => format!("arn:aws:dynamodb:{region}:{account}:table/*"),
        ("*", _) => format!("arn:aws:dynamodb:{region}:{account}:*"),
        (resource, _) => resource.to_owned(),
    }
}

/// The keys that a request carries for its action (docs/behavior: 07 3.1).
fn request_keys(request: &AccessRequest<'_>, action: &str, keys: &mut ConditionKeys) {
    let mut set = |name: &str, value: Option<&str>| {
        if let Some(value) = value.filter(|_| carries(action, name)) {
            keys.set(name, value);
        }
    };
    set("dynamodb:Select", request.select);
    set("dynamodb:ReturnValues", request.return_values);
    set("dynamodb:ReturnConsumedCapacity", request.return_consumed_capacity);
    set("dynamodb:EnclosingOperation", request.enclosing_operation);
    set(
        "dynamodb:FullTableScan",
        request.full_table_scan.map(|full| if full { "true" } else { "false" }),
    );
    if let Some(attributes) = request
        .attributes
        .as_ref()
        .filter(|_| carries(action, "dynamodb:Attributes"))
    {
        keys.set_all("dynamodb:Attributes", attributes.iter().map(ToString::to_string));
    }
    let positions = [
        "dynamodb:FirstPartitionKeyValues",
        "dynamodb:SecondPartitionKeyValues",
        "dynamodb:ThirdPartitionKeyValues",
        "dynamodb:FourthPartitionKeyValues",
    ];
    let partition_keys = request
        .partition_keys
        .iter()
        .filter(|_| carries(action, "dynamodb:LeadingKeys"));
    for values in partition_keys {
        keys.set_all("dynamodb:LeadingKeys", values[0].iter().map(ToString::to_string));
        for (name, values) in positions.into_iter().zip(values) {
            keys.set_all(name, values.iter().map(ToString::to_string));
        }
    }
    if let Some(tags) = &request.tags {
        keys.set_all("aws:TagKeys", tags.iter().map(|(tag, _)| tag.to_string()));
        for (tag, value) in tags {
            if let Some(value) = value {
                keys.set(&format!("aws:RequestTag/{tag}"), value.to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_has_the_account_of_its_arn() {
        for (arn, expect) in [
            ("arn:aws:dynamodb:us-east-1:123456789012:table/T", Some("123456789012")),
            ("arn:aws:s3:::bucket/a:b", None),
            ("arn:aws:dynamodb:us-east-1", None),
            ("*", None),
        ] {
            assert_eq!(resource_account(arn), expect, "{arn}");
        }
    }

    #[test]
    fn refusals_name_a_resource() {
        for (resource, action, expect) in [
            ("*", "dynamodb:ListTables", "arn:aws:dynamodb:r:1:table/*"),
            ("*", "dynamodb:ListBackups", "arn:aws:dynamodb:r:1:*"),
            ("arn:x", "dynamodb:ListTables", "arn:x"),
        ] {
            assert_eq!(
                named_resource(resource, action, "r", "1"),
                expect,
                "{resource} {action}"
            );
        }
    }
}
