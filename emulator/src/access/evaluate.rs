//! The authorization decision: all policies that apply to a request, in the order in which AWS evaluates them
//! (docs/behavior: 07 7).

use super::document::{PolicyDocument, PolicyKind, StatementInput};
use super::principal::{Grant, SubjectKind};

/// A policy and its attachment.
///
/// ```
/// # use dynatwin_engine::iam::{AttachedPolicy, ConditionKeys, PolicyDocument, PolicyKind, PolicySet, StatementInput, Subject};
/// # let text = r#"{"Version": "2012-10-17", "Statement": [
/// #     {"Sid": "Reads", "Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}]}"#;
/// let policy = PolicyDocument::parse(text, PolicyKind::Identity)?;
/// let attached = AttachedPolicy { label: "reader".into(), arn: None, policy };
/// assert_eq!(attached.policy.statements().len(), 1);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedPolicy {
    /// How explanations name the policy.
    pub label: String,
    /// The ARN of a managed policy.
    pub arn: Option<String>,
    /// The validated content of the policy.
    pub policy: PolicyDocument,
}

/// All policies that take part in a decision.
///
/// ```
/// # use dynatwin_engine::iam::{AttachedPolicy, ConditionKeys, PolicyDocument, PolicyKind, PolicySet, StatementInput, Subject};
/// # let text = r#"{"Version": "2012-10-17", "Statement": [
/// #     {"Sid": "Reads", "Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}]}"#;
/// # let policy = PolicyDocument::parse(text, PolicyKind::Identity)?;
/// # let attached = [AttachedPolicy { label: "reader".into(), arn: None, policy }];
/// # let policies = PolicySet { identity: &attached, resource_account: "123456789012", ..PolicySet::default() };
/// # let (ann, keys) = (Subject::user("123456789012", "/ann"), ConditionKeys::default());
/// # let input = |action| StatementInput {
/// #     subject: &ann, action, resource: "arn:aws:dynamodb:us-east-1:123456789012:table/Orders", keys: &keys,
/// # };
/// let bounded = PolicySet { boundary: Some(&attached[0]), ..policies };
/// assert_eq!(bounded.all().count(), 2);
/// assert!(bounded.decide(&input("dynamodb:GetItem")).is_allowed());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct PolicySet<'a> {
    /// Of the user and its groups, or of the role.
    pub identity: &'a [AttachedPolicy],
    /// The permissions boundary of the user or role; `None` if it has none.
    pub boundary: Option<&'a AttachedPolicy>,
    /// The session's own policies, if it was issued with any. A federated user has only the permissions of its session
    /// policies, so it always has a list.
    pub session: Option<&'a [AttachedPolicy]>,
    /// The service control policies by level of the organization; each level must allow.
    pub service_control: &'a [Vec<AttachedPolicy>],
    /// The resource control policies of the resource's account.
    pub resource_control: &'a [AttachedPolicy],
    /// Of the table or stream.
    pub resource: Option<&'a AttachedPolicy>,
    /// The account that has the resource.
    pub resource_account: &'a str,
    /// The policy of the VPC endpoint of the request.
    pub endpoint: Option<&'a AttachedPolicy>,
}

/// Why a request is refused.
///
/// ```
/// # use dynatwin_engine::iam::{AttachedPolicy, ConditionKeys, PolicyDocument, PolicyKind, PolicySet, StatementInput, Subject};
/// # let text = r#"{"Version": "2012-10-17", "Statement": [
/// #     {"Sid": "Reads", "Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}]}"#;
/// # let policy = PolicyDocument::parse(text, PolicyKind::Identity)?;
/// # let attached = [AttachedPolicy { label: "reader".into(), arn: None, policy }];
/// # let policies = PolicySet { identity: &attached, resource_account: "123456789012", ..PolicySet::default() };
/// # let (ann, keys) = (Subject::user("123456789012", "/ann"), ConditionKeys::default());
/// # let input = |action| StatementInput {
/// #     subject: &ann, action, resource: "arn:aws:dynamodb:us-east-1:123456789012:table/Orders", keys: &keys,
/// # };
/// let denial = policies.decide(&input("dynamodb:PutItem")).denial.unwrap();
/// let reason = denial.reason("dynamodb:PutItem");
/// assert_eq!(reason, "because no identity-based policy allows the dynamodb:PutItem action");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The kind of the policies that deny, or fail to allow.
    pub kind: PolicyKind,
    /// Whether a statement denies; `false` if no statement allows.
    pub explicit: bool,
    /// The managed policy with that statement.
    pub policy_arn: Option<String>,
}

impl Denial {
    /// The end of the service's text.
    pub fn reason(&self, action: &str) -> String {
        let kind = self.kind.name();
        if !self.explicit {
            return format!("because no {kind} allows the {action} action");
        }
        let article = self.kind.with_article();
        match &self.policy_arn {
            Some(arn) => format!("with an explicit deny in {article}: {arn}"),
            None => format!("with an explicit deny in {article}"),
        }
    }
}

/// The statement of a policy that determined a decision.
///
/// ```
/// # use dynatwin_engine::iam::{AttachedPolicy, ConditionKeys, PolicyDocument, PolicyKind, PolicySet, StatementInput, Subject};
/// # let text = r#"{"Version": "2012-10-17", "Statement": [
/// #     {"Sid": "Reads", "Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}]}"#;
/// # let policy = PolicyDocument::parse(text, PolicyKind::Identity)?;
/// # let attached = [AttachedPolicy { label: "reader".into(), arn: None, policy }];
/// # let policies = PolicySet { identity: &attached, resource_account: "123456789012", ..PolicySet::default() };
/// # let (ann, keys) = (Subject::user("123456789012", "/ann"), ConditionKeys::default());
/// # let input = |action| StatementInput {
/// #     subject: &ann, action, resource: "arn:aws:dynamodb:us-east-1:123456789012:table/Orders", keys: &keys,
/// # };
/// let statement = policies.decide(&input("dynamodb:GetItem")).statement.unwrap();
/// assert_eq!((statement.policy.as_str(), statement.place, statement.sid.as_deref()), ("reader", 1, Some("Reads")));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecidingStatement {
    /// The place where the policy is attached.
    pub kind: PolicyKind,
    /// The label of the [`AttachedPolicy`].
    pub policy: String,
    /// The statement's place in the policy, from 1.
    pub place: usize,
    /// The value of `Sid`; `None` if the statement has none.
    pub sid: Option<String>,
}

/// A decision, and the statement that it follows from: one that denies, or the one that allows.
///
/// ```
/// # use dynatwin_engine::iam::{AttachedPolicy, ConditionKeys, PolicyDocument, PolicyKind, PolicySet, StatementInput, Subject};
/// # let text = r#"{"Version": "2012-10-17", "Statement": [
/// #     {"Sid": "Reads", "Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}]}"#;
/// # let policy = PolicyDocument::parse(text, PolicyKind::Identity)?;
/// # let attached = [AttachedPolicy { label: "reader".into(), arn: None, policy }];
/// # let policies = PolicySet { identity: &attached, resource_account: "123456789012", ..PolicySet::default() };
/// # let (ann, keys) = (Subject::user("123456789012", "/ann"), ConditionKeys::default());
/// # let input = |action| StatementInput {
/// #     subject: &ann, action, resource: "arn:aws:dynamodb:us-east-1:123456789012:table/Orders", keys: &keys,
/// # };
/// let decision = policies.decide(&input("dynamodb:GetItem"));
/// assert!(decision.is_allowed() && decision.denial.is_none());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The denial; `None` if the request is allowed.
    pub denial: Option<Denial>,
    /// The deciding statement; `None` if no statement allows, and for the root user.
    pub statement: Option<DecidingStatement>,
}

impl Decision {
    /// Whether the request is allowed.
    pub fn is_allowed(&self) -> bool {
        self.denial.is_none()
    }

    fn denied(kind: PolicyKind) -> Decision {
        Decision {
            denial: Some(Denial {
                kind,
                explicit: false,
                policy_arn: None,
            }),
            statement: None,
        }
    }
}

impl<'a> PolicySet<'a> {
    /// All policies, in evaluation order.
    pub fn all(&self) -> impl Iterator<Item = &'a AttachedPolicy> {
        self.resource_control
            .iter()
            .chain(self.service_control.iter().flatten())
            .chain(self.resource)
            .chain(self.identity)
            .chain(self.boundary)
            .chain(self.session.unwrap_or_default())
            .chain(self.endpoint)
    }

    /// Evaluates all policies: an explicit deny wins, then each kind of policy must allow.
    pub fn decide(&self, question: &StatementInput<'_>) -> Decision {
        if let Some(denied) = self.explicit_deny(question) {
            return denied;
        }
        for level in self.service_control {
            if allowing(level, question).is_none() {
                return Decision::denied(PolicyKind::ServiceControl);
            }
        }
        let granted = self
            .resource
            .and_then(|resource| allowing(std::slice::from_ref(resource), question));
        let foreign = self.resource_account != question.subject.account;
        if foreign && granted.is_none() {
            return Decision::denied(PolicyKind::Resource);
        }
        let grant = granted.as_ref().map(|(grant, _)| *grant).filter(|_| !foreign);
        let mut statement = granted
            .filter(|_| foreign || grant >= Some(Grant::Role))
            .map(|(_, statement)| statement);
        if grant < Some(Grant::Role) && question.subject.kind != SubjectKind::Root {
            let Some((_, allowed_by)) = allowing(self.identity, question) else {
                return Decision::denied(PolicyKind::Identity);
            };
            statement = Some(allowed_by);
        }
        if grant < Some(Grant::Direct)
            && let Some(kind) = self.limit(question)
        {
            return Decision::denied(kind);
        }
        if let Some(endpoint) = self.endpoint
            && allowing(std::slice::from_ref(endpoint), question).is_none()
        {
            return Decision::denied(PolicyKind::Endpoint);
        }
        Decision {
            denial: None,
            statement,
        }
    }

    fn explicit_deny(&self, question: &StatementInput<'_>) -> Option<Decision> {
        self.all().find_map(|attached| {
            let (at, _) = attached.policy.applying(false, question)?;
            Some(Decision {
                denial: Some(Denial {
                    kind: attached.policy.kind(),
                    explicit: true,
                    policy_arn: attached.arn.clone(),
                }),
                statement: Some(deciding(attached, at)),
            })
        })
    }

    /// The boundary or session policies that fail to allow.
    fn limit(&self, question: &StatementInput<'_>) -> Option<PolicyKind> {
        let lacks = |policies: &[AttachedPolicy]| allowing(policies, question).is_none();
        if self
            .boundary
            .is_some_and(|boundary| lacks(std::slice::from_ref(boundary)))
        {
            return Some(PolicyKind::Boundary);
        }
        self.session.is_some_and(lacks).then_some(PolicyKind::Session)
    }
}

/// The statement that allows, and how closely it names the caller.
fn allowing(policies: &[AttachedPolicy], question: &StatementInput<'_>) -> Option<(Grant, DecidingStatement)> {
    let allowing = policies.iter().filter_map(|attached| {
        let (at, grant) = attached.policy.applying(true, question)?;
        Some((grant, attached, at))
    });
    let (grant, attached, at) = allowing.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    Some((grant, deciding(attached, at)))
}

fn deciding(attached: &AttachedPolicy, at: usize) -> DecidingStatement {
    let sid = attached
        .policy
        .statements()
        .get(at)
        .and_then(|statement| statement.sid());
    DecidingStatement {
        kind: attached.policy.kind(),
        policy: attached.label.clone(),
        place: at + 1,
        sid: sid.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::ConditionKeys;
    use super::super::principal::Subject;
    use super::*;

    /// Of several policies that allow as closely, the first decides.
    #[test]
    fn the_first_statement_that_allows_decides() {
        let attached = |label: &str, text: &str| AttachedPolicy {
            label: label.to_owned(),
            arn: None,
            policy: PolicyDocument::parse(text, PolicyKind::Identity).unwrap(),
        };
        let allows = r#"{"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": "*"},
            {"Sid": "One", "Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"},
            {"Sid": "Two", "Effect": "Allow", "Action": "*", "Resource": "*"}]}"#;
        let other = allows.replace("dynamodb:*", "dynamodb:PutItem");
        let identity = [
            attached(
                "other",
                &other.replace("\"*\", \"Resource\"", "\"dynamodb:PutItem\", \"Resource\""),
            ),
            attached("first", allows),
            attached("second", allows),
        ];
        let policies = PolicySet {
            identity: &identity,
            resource_account: "123456789012",
            ..PolicySet::default()
        };
        let (ann, keys) = (Subject::user("123456789012", "/ann"), ConditionKeys::default());
        let decision = policies.decide(&StatementInput {
            subject: &ann,
            action: "dynamodb:GetItem",
            resource: "arn:aws:dynamodb:us-east-1:123456789012:table/Orders",
            keys: &keys,
        });
        let statement = decision.statement.unwrap();
        assert_eq!((statement.policy.as_str(), statement.place), ("first", 2));
    }

    /// A resource policy decides if it names the caller or its role; if it names the account, it only delegates.
    #[test]
    fn the_statement_that_names_the_caller_decides() {
        let allows = r#"{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}"#;
        let identity = [AttachedPolicy {
            label: "identity".to_owned(),
            arn: None,
            policy: PolicyDocument::parse(allows, PolicyKind::Identity).unwrap(),
        }];
        let session = Subject::role_session("123456789012", "/R", "s");
        let root = Subject::root("123456789012");
        for (principal, subject, expect) in [
            ("arn:aws:sts::123456789012:assumed-role/R/s", &session, Some("resource")),
            ("arn:aws:iam::123456789012:role/R", &session, Some("resource")),
            ("123456789012", &session, Some("identity")),
            ("*", &session, Some("resource")),
            ("*", &root, Some("resource")),
            ("111122223333", &root, None),
        ] {
            let text = format!(
                r#"{{"Statement": {{"Effect": "Allow", "Principal": {{"AWS": "{principal}"}}, "Action": "*", "Resource": "*"}}}}"#
            );
            let resource = AttachedPolicy {
                label: "resource".to_owned(),
                arn: None,
                policy: PolicyDocument::parse(&text, PolicyKind::Resource).unwrap(),
            };
            let policies = PolicySet {
                identity: &identity,
                resource: Some(&resource),
                resource_account: "123456789012",
                ..PolicySet::default()
            };
            let decision = policies.decide(&StatementInput {
                subject,
                action: "dynamodb:GetItem",
                resource: "arn:aws:dynamodb:us-east-1:123456789012:table/Orders",
                keys: &ConditionKeys::default(),
            });
            let label = decision.statement.as_ref().map(|statement| statement.policy.as_str());
            assert_eq!(
                (decision.is_allowed(), label),
                (true, expect),
                "{principal} {}",
                subject.arn
            );
        }
    }

    #[test]
    fn a_denial_names_the_kind_of_policy() {
        let denial = Denial {
            kind: PolicyKind::Session,
            explicit: false,
            policy_arn: None,
        };
        assert_eq!(
            denial.reason("dynamodb:GetItem"),
            "because no session policy allows the dynamodb:GetItem action"
        );
    }

    #[test]
    fn every_level_of_service_control_has_to_allow() {
        let attached = |text: &str, kind| AttachedPolicy {
            label: "policy".to_owned(),
            arn: None,
            policy: PolicyDocument::parse(text, kind).unwrap(),
        };
        let statement =
            |effect: &str, action: &str| format!(r#"{{"Effect": "{effect}", "Action": "{action}", "Resource": "*"}}"#);
        let policy = |statement: String| format!(r#"{{"Version": "2012-10-17", "Statement": {statement}}}"#);
        let all = policy(statement("Allow", "*"));
        let [reads, denies] = [("Allow", "dynamodb:GetItem"), ("Deny", "dynamodb:PutItem")]
            .map(|(effect, action)| policy(statement(effect, action)));
        let (all, reads, denies) = (all.as_str(), reads.as_str(), denies.as_str());
        let identity = [attached(all, PolicyKind::Identity)];
        let (ann, keys) = (Subject::user("123456789012", "/ann"), ConditionKeys::default());
        for (levels, explicit) in [
            (&[][..], None),
            (&[&[all][..]], None),
            (&[&[all], &[all], &[reads, all]], None),
            (&[&[reads], &[all]], Some(false)),
            (&[&[all], &[reads]], Some(false)),
            (&[&[all], &[all], &[reads]], Some(false)),
            (&[&[all, denies], &[all]], Some(true)),
            (&[&[all], &[all, denies]], Some(true)),
            (&[&[all], &[all], &[denies, all]], Some(true)),
        ] {
            let level = |level: &&[&str]| -> Vec<AttachedPolicy> {
                let texts = level.iter();
                texts.map(|text| attached(text, PolicyKind::ServiceControl)).collect()
            };
            let service_control: Vec<_> = levels.iter().map(level).collect();
            let policies = PolicySet {
                identity: &identity,
                service_control: &service_control,
                resource_account: "123456789012",
                ..PolicySet::default()
            };
            let decision = policies.decide(&StatementInput {
                subject: &ann,
                action: "dynamodb:PutItem",
                resource: "arn:aws:dynamodb:us-east-1:123456789012:table/Orders",
                keys: &keys,
            });
            let denial = decision.denial.map(|denial| (denial.kind, denial.explicit));
            let expect = explicit.map(|explicit| (PolicyKind::ServiceControl, explicit));
            assert_eq!(denial, expect, "{levels:?}");
        }
    }
}
