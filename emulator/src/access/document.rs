//! Policy documents: reads them strictly, and evaluates their statements for one request (docs/behavior: 07 6).

use super::condition::{ConditionOperator, PolicyCondition};
use super::keys::ConditionKeys;
use super::pattern::{self, PatternElement};
use super::principal::{Grant, PrincipalList, Subject};
use super::template::Template;
use crate::wire::policy::Node;

/// The place where a policy is attached, which determines what its statements may contain.
///
/// ```
/// use dynatwin_engine::iam::PolicyKind;
///
/// assert_eq!(PolicyKind::Resource.name(), "resource-based policy");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PolicyKind {
    /// Attached to a user, group or role.
    Identity,
    /// Attached to a table or stream.
    Resource,
    /// Limits what the identity-based policies of a principal allow.
    Boundary,
    /// Passed when temporary credentials are issued.
    Session,
    /// Limits what the principals of an account may do.
    ServiceControl,
    /// Limits the permissions of every principal for the resources of an account.
    ResourceControl,
    /// Attached to a VPC endpoint.
    Endpoint,
}

impl PolicyKind {
    /// Its name in the service's texts.
    ///
    /// ```
    /// use dynatwin_engine::iam::PolicyKind;
    ///
    /// assert_eq!(PolicyKind::Boundary.name(), "permissions boundary");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            PolicyKind::Identity => "identity-based policy",
            PolicyKind::Resource => "resource-based policy",
            PolicyKind::Boundary => "permissions boundary",
            PolicyKind::Session => "session policy",
            PolicyKind::ServiceControl => "service control policy",
            PolicyKind::ResourceControl => "resource control policy",
            PolicyKind::Endpoint => "VPC endpoint policy",
        }
    }

    /// Its name behind an article.
    pub(super) fn with_article(self) -> String {
        let article = if self == PolicyKind::Identity { "an" } else { "a" };
        format!("{article} {}", self.name())
    }

    /// Whether its statements name principals.
    pub fn names_principals(self) -> bool {
        matches!(
            self,
            PolicyKind::Resource | PolicyKind::Endpoint | PolicyKind::ResourceControl
        )
    }

    /// The size of a document, and the most it may be. White space counts where the service counts it.
    fn limit(self) -> (bool, usize) {
        match self {
            // The largest inline policy, of a role. A managed policy may have 6,144.
            PolicyKind::Identity => (false, 10_240),
            PolicyKind::Boundary => (false, MANAGED_SIZE),
            PolicyKind::Session => (false, 2_048),
            PolicyKind::ServiceControl => (true, 10_240),
            PolicyKind::ResourceControl => (true, 5_120),
            PolicyKind::Resource | PolicyKind::Endpoint => (true, 20_480),
        }
    }
}

/// Characters of a managed policy, without white space.
pub(super) const MANAGED_SIZE: usize = 6_144;
/// The largest accepted text, blanks included.
const LARGEST_TEXT: usize = 131_072;
/// The levels of a document that are read. A policy has seven at most.
const MOST_DEPTH: usize = 10;

/// A policy document that is valid for its kind.
///
/// ```
/// use dynatwin_engine::iam::{PolicyDocument, PolicyKind};
///
/// let text = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"}}"#;
/// let policy = PolicyDocument::parse(text, PolicyKind::Identity).unwrap();
/// assert_eq!(policy.statements().len(), 1);
/// assert_eq!(
///     PolicyDocument::parse(text, PolicyKind::Resource).unwrap_err(),
///     "Statement 1: a resource-based policy needs Principal or NotPrincipal."
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyDocument {
    kind: PolicyKind,
    statements: Vec<PolicyStatement>,
    substitutes: bool,
    size: usize,
}

/// One statement of a policy.
///
/// ```
/// # use dynatwin_engine::iam::{AttachedPolicy, ConditionKeys, PolicyDocument, PolicyKind, PolicySet, StatementInput, Subject};
/// # let text = r#"{"Version": "2012-10-17", "Statement": [
/// #     {"Sid": "Reads", "Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}]}"#;
/// let policy = PolicyDocument::parse(text, PolicyKind::Identity)?;
/// let statement = &policy.statements()[0];
/// assert_eq!((statement.sid(), statement.allows()), (Some("Reads"), true));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyStatement {
    sid: Option<String>,
    allows: bool,
    principals: Option<PrincipalList>,
    actions: Vec<(String, Vec<PatternElement>)>,
    excludes_actions: bool,
    resources: Vec<Template>,
    excludes_resources: bool,
    pub(super) conditions: Vec<PolicyCondition>,
}

/// The parts of a request that the statements of policies are compared with.
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
/// assert!(policies.decide(&input("dynamodb:GetItem")).is_allowed());
/// assert!(!policies.decide(&input("dynamodb:PutItem")).is_allowed());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StatementInput<'a> {
    /// The caller, which `Principal` elements are compared with.
    pub subject: &'a Subject,
    /// The IAM action, such as `dynamodb:GetItem`.
    pub action: &'a str,
    /// The ARN of the resource.
    pub resource: &'a str,
    /// The condition keys, which `Condition` elements are compared with.
    pub keys: &'a ConditionKeys,
}

/// Which parts of a statement match a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementMatch {
    /// How the caller is named; `None` if not at all. A policy without principals applies to everybody it is attached to.
    pub principal: Option<Grant>,
    pub action: bool,
    pub resource: bool,
    /// For each condition, whether it holds.
    pub conditions: Vec<bool>,
}

impl StatementMatch {
    /// Whether the whole statement applies.
    pub fn applies(&self) -> bool {
        self.principal.is_some() && self.action && self.resource && self.conditions.iter().all(|holds| *holds)
    }
}

impl PolicyDocument {
    /// Parses a document. The error is a sentence that describes the problem and where it is.
    pub fn parse(text: &str, kind: PolicyKind) -> Result<PolicyDocument, String> {
        if text.len() > LARGEST_TEXT {
            return Err(format!("The policy has more than {LARGEST_TEXT} bytes."));
        }
        let size = text.chars().filter(|char| !char.is_ascii_whitespace()).count();
        let (counts_blanks, most) = kind.limit();
        if (if counts_blanks { text.len() } else { size }) > most {
            return Err(format!(
                "Maximum policy size of {most} bytes exceeded for {}.",
                kind.with_article()
            ));
        }
        let plain = |char: char| matches!(char, '\t' | '\n' | '\r' | ' '..='\u{ff}');
        if kind != PolicyKind::Resource && !text.chars().all(plain) {
            return Err(
                "The policy has characters other than tab, line feed, carriage return and U+0020 to U+00FF.".to_owned(),
            );
        }
        let node = Node::parse(text, MOST_DEPTH).ok_or("The policy is not valid JSON, or is nested too deeply.")?;
        let policy = PolicyDocument::of_node(&node, kind)?;
        Ok(PolicyDocument { size, ..policy })
    }

    fn of_node(node: &Node, kind: PolicyKind) -> Result<PolicyDocument, String> {
        let members = unique(node, &["Version", "Id", "Statement"]).map_err(|why| format!("The policy {why}."))?;
        let substitutes = match node.member("Version").map(Node::text) {
            None | Some(Some("2008-10-17")) => false,
            Some(Some("2012-10-17")) => true,
            Some(_) => return Err("Version must be 2012-10-17 or 2008-10-17.".to_owned()),
        };
        if members.iter().any(|(name, _)| name == "Id") && !kind.names_principals() {
            return Err(format!("Id is not allowed in {}.", kind.with_article()));
        }
        let statements = match node.member("Statement") {
            Some(Node::List(list)) if !list.is_empty() => &list[..],
            Some(one @ Node::Object(_)) => std::slice::from_ref(one),
            _ => return Err("The policy has no statement.".to_owned()),
        };
        let mut read: Vec<PolicyStatement> = Vec::with_capacity(statements.len());
        for (at, node) in statements.iter().enumerate() {
            let statement = PolicyStatement::read(node, kind, substitutes);
            let statement = statement.map_err(|why| format!("Statement {}: {why}", at + 1))?;
            if statement.sid.is_some() && read.iter().any(|other| other.sid == statement.sid) {
                return Err(format!("Statement {}: the Sid is used twice.", at + 1));
            }
            read.push(statement);
        }
        Ok(PolicyDocument {
            kind,
            statements: read,
            substitutes,
            size: 0,
        })
    }

    /// Reuses a managed policy as a permissions boundary or a session policy, which have the same language.
    pub(super) fn validated_as(self, kind: PolicyKind) -> Result<PolicyDocument, String> {
        if kind.names_principals() {
            return Err(format!("a managed policy cannot be {}.", kind.with_article()));
        }
        Ok(PolicyDocument { kind, ..self })
    }

    /// The policy as a gateway endpoint applies it: of its principals, only everybody and root users count
    /// (docs/behavior: 07 7.1).
    pub(super) fn of_gateway(mut self) -> PolicyDocument {
        for list in self
            .statements
            .iter_mut()
            .filter_map(|statement| statement.principals.as_mut())
        {
            list.root_only = true;
        }
        self
    }

    /// The place where the policy is attached, which determined how it was validated.
    pub fn kind(&self) -> PolicyKind {
        self.kind
    }

    /// Its statements, in their order.
    pub fn statements(&self) -> &[PolicyStatement] {
        &self.statements
    }

    /// The ARNs of the accounts, users, roles and sessions that its statements name.
    pub(super) fn named_principals(&self) -> impl Iterator<Item = &str> {
        let lists = self
            .statements
            .iter()
            .filter_map(|statement| statement.principals.as_ref());
        lists.flat_map(|list| list.arns.iter().map(String::as_str))
    }

    /// Whether policy variables are substituted, which only version 2012-10-17 does.
    pub fn substitutes(&self) -> bool {
        self.substitutes
    }

    /// Its characters, without white space.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The first statement of this effect that applies, and how it names the caller: the widest grant of all that apply.
    pub(super) fn applying(&self, allows: bool, question: &StatementInput<'_>) -> Option<(usize, Grant)> {
        let statements = self.statements.iter().enumerate();
        let applying = statements
            .filter(|(_, statement)| statement.allows == allows)
            .filter_map(|(at, statement)| Some((at, statement.applies(question)?)));
        applying.min_by_key(|(at, grant)| (std::cmp::Reverse(*grant), *at))
    }
}

impl PolicyStatement {
    fn read(node: &Node, kind: PolicyKind, substitutes: bool) -> Result<PolicyStatement, String> {
        const KNOWN: &[&str] = &[
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
        unique(node, KNOWN).map_err(|why| format!("it {why}."))?;
        let allows = match node.member("Effect").map(Node::text) {
            Some(Some("Allow")) => true,
            Some(Some("Deny")) => false,
            _ => return Err("Effect must be Allow or Deny.".to_owned()),
        };
        let sid = match node.member("Sid") {
            None => None,
            Some(Node::Text(sid)) => Some(sid.clone()),
            Some(_) => return Err("Sid must be a string.".to_owned()),
        };
        let letters = |sid: &String| sid.bytes().all(|byte| byte.is_ascii_alphanumeric());
        // DynamoDB and VPC endpoints accept any Sid, as in their examples.
        let takes_any = matches!(kind, PolicyKind::Resource | PolicyKind::Endpoint);
        if !takes_any && !sid.as_ref().is_none_or(letters) {
            return Err("Statement IDs (SID) must be alpha-numeric.".to_owned());
        }
        let principals = principals(node, kind, allows)?;
        let (actions, excludes_actions) = element_or_opposite(node, "Action")?;
        if excludes_actions && kind == PolicyKind::ResourceControl {
            return Err("NotAction is not allowed in a resource control policy.".to_owned());
        }
        if kind == PolicyKind::ResourceControl && actions.contains(&"*") {
            return Err(
                "Action * is not allowed in a resource control policy: name the service, as in dynamodb:*.".to_owned(),
            );
        }
        let (resources, excludes_resources) = element_or_opposite(node, "Resource")?;
        let resources = resources.into_iter().map(|text| resource(text, kind, substitutes));
        Ok(PolicyStatement {
            sid,
            allows,
            principals,
            actions: actions.into_iter().map(action).collect::<Result<_, _>>()?,
            excludes_actions,
            resources: resources.collect::<Result<_, _>>()?,
            excludes_resources,
            conditions: conditions(node.member("Condition"), substitutes)?,
        })
    }

    /// The value of `Sid`; `None` if the statement has none.
    pub fn sid(&self) -> Option<&str> {
        self.sid.as_deref()
    }

    /// Whether it allows; it denies otherwise.
    pub fn allows(&self) -> bool {
        self.allows
    }

    /// The actions as written, of `Action` or `NotAction`.
    pub(super) fn actions(&self) -> impl Iterator<Item = &str> {
        self.actions.iter().map(|(text, _)| text.as_str())
    }

    /// The resources, and whether they are excluded (`NotResource`).
    pub(super) fn resources(&self) -> (&[Template], bool) {
        (&self.resources, self.excludes_resources)
    }

    /// Whether its principal is everybody.
    pub(super) fn is_for_everybody(&self) -> bool {
        self.principals
            .as_ref()
            .is_none_or(|list| list.everybody && !list.excludes)
    }

    /// Whether the statement covers an action.
    pub(super) fn covers_action(&self, action: &str) -> bool {
        let named = self
            .actions
            .iter()
            .any(|(_, pattern)| pattern::matches(pattern, action, true));
        named != self.excludes_actions
    }

    fn covers_resource(&self, resource: &str, keys: &ConditionKeys) -> bool {
        let matches = |template: &Template| {
            let pattern = template.pattern(keys);
            pattern.is_some_and(|pattern| pattern::matches_arn(&pattern, resource))
        };
        self.resources.iter().any(matches) != self.excludes_resources
    }

    fn grant(&self, subject: &Subject) -> Option<Grant> {
        match &self.principals {
            None => Some(Grant::Direct),
            Some(principals) => principals.grant(subject),
        }
    }

    /// How the statement names the caller, if it applies to a request.
    fn applies(&self, question: &StatementInput<'_>) -> Option<Grant> {
        let applies = self.covers_action(question.action)
            && self.covers_resource(question.resource, question.keys)
            && self.conditions.iter().all(|condition| condition.holds(question.keys));
        self.grant(question.subject).filter(|_| applies)
    }

    /// Which of its parts match a request.
    pub(crate) fn compare(&self, question: &StatementInput<'_>) -> StatementMatch {
        let conditions = self.conditions.iter();
        StatementMatch {
            principal: self.grant(question.subject),
            action: self.covers_action(question.action),
            resource: self.covers_resource(question.resource, question.keys),
            conditions: conditions.map(|condition| condition.holds(question.keys)).collect(),
        }
    }

    /// The conditions: operator and key of each.
    pub fn conditions(&self) -> impl Iterator<Item = (&str, &str)> {
        let conditions = self.conditions.iter();
        conditions.map(|condition| (condition.name.as_str(), condition.key.as_str()))
    }
}

/// The members of an object, all known and none duplicate.
fn unique<'n>(node: &'n Node, known: &[&str]) -> Result<&'n [(String, Node)], String> {
    let members = node.members().ok_or("is not an object")?;
    for (at, (name, _)) in members.iter().enumerate() {
        if !known.contains(&name.as_str()) {
            return Err(format!("has an unknown member {name:?}"));
        }
        if members[..at].iter().any(|(other, _)| other == name) {
            return Err(format!("has the member {name:?} twice"));
        }
    }
    Ok(members)
}

/// The texts of an element or of its opposite, and whether it is the opposite.
fn element_or_opposite<'n>(node: &'n Node, name: &str) -> Result<(Vec<&'n str>, bool), String> {
    let opposite = format!("Not{name}");
    let (found, excludes) = match (node.member(name), node.member(&opposite)) {
        (Some(found), None) => (found, false),
        (None, Some(found)) => (found, true),
        (Some(_), Some(_)) => return Err(format!("it has both {name} and {opposite}.")),
        (None, None) => return Err(format!("it has no {name} or {opposite}.")),
    };
    match found.texts() {
        Some(texts) if !texts.is_empty() => Ok((texts, excludes)),
        _ => Err(format!("{name} must be a string or a list of strings.")),
    }
}

fn principals(node: &Node, kind: PolicyKind, allows: bool) -> Result<Option<PrincipalList>, String> {
    let (named, excluded) = (node.member("Principal"), node.member("NotPrincipal"));
    let name = kind.with_article();
    if !kind.names_principals() {
        return match named.or(excluded) {
            None => Ok(None),
            Some(_) => Err(format!("Principal is not allowed in {name}.")),
        };
    }
    match (named, excluded) {
        (Some(_), Some(_)) => Err("it has both Principal and NotPrincipal.".to_owned()),
        (None, None) => Err(format!("{name} needs Principal or NotPrincipal.")),
        (None, Some(_)) if kind == PolicyKind::ResourceControl => {
            Err("NotPrincipal is not allowed in a resource control policy.".to_owned())
        }
        (None, Some(_)) if allows => Err("NotPrincipal is not allowed with the effect Allow.".to_owned()),
        (Some(node), None) => match PrincipalList::read(node, false)? {
            list if kind == PolicyKind::ResourceControl && !list.is_everybody() => {
                Err("the principal of a resource control policy must be \"*\".".to_owned())
            }
            list => Ok(Some(list)),
        },
        (None, Some(node)) => PrincipalList::read(node, true).map(Some),
    }
}

fn action(text: &str) -> Result<(String, Vec<PatternElement>), String> {
    let vendor =
        |vendor: &str| !vendor.is_empty() && vendor.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let letters = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'*' | b'?'))
    };
    let fits = text == "*"
        || text
            .split_once(':')
            .is_some_and(|(service, name)| vendor(service) && letters(name));
    if fits {
        Ok((text.to_owned(), pattern::pattern_elements(text)))
    } else {
        Err(format!(
            "{text:?} is not an action: it is * or service:Name, where only the name may contain wildcards."
        ))
    }
}

/// A resource. In an identity-based policy an ARN with fewer than six parts is filled up with wildcards.
fn resource(text: &str, kind: PolicyKind, substitutes: bool) -> Result<Template, String> {
    if text == "*" {
        return Ok(Template::literal(text));
    }
    let parts: Vec<&str> = text.splitn(6, ':').collect();
    if parts.first() != Some(&"arn") {
        return Err(format!("Resource {text} must be in ARN format or \"*\"."));
    }
    if parts
        .get(2)
        .is_some_and(|service| service.contains(['*', '?']) && *service != "*")
    {
        return Err(format!("Resource {text} has a wildcard in its service."));
    }
    let mut text = text.to_owned();
    if parts.len() < 6 {
        if matches!(kind, PolicyKind::Session | PolicyKind::Resource) || text.contains("${") {
            return Err(format!("Resource {text} is not a complete ARN."));
        }
        (parts.len()..6).for_each(|_| text.push_str(":*"));
    }
    // Variables count only after the fifth colon (docs/behavior: 07 4).
    let head = text.match_indices(':').nth(4).map_or(text.len(), |(at, _)| at);
    if !substitutes {
        return Ok(Template::literal(&text));
    }
    if text[..head].contains("${") {
        return Err(format!("Resource {text} has a policy variable before its fifth colon."));
    }
    Template::parse(&text)
}

fn conditions(node: Option<&Node>, substitutes: bool) -> Result<Vec<PolicyCondition>, String> {
    let Some(node) = node else { return Ok(Vec::new()) };
    let blocks = node.members().ok_or("Condition must be an object.")?;
    let mut read = Vec::new();
    for (at, (name, keys)) in blocks.iter().enumerate() {
        let operator =
            ConditionOperator::parse(name).ok_or_else(|| format!("there is no condition operator {name:?}."))?;
        if blocks[..at].iter().any(|(other, _)| other == name) {
            return Err(format!("Condition has the operator {name:?} twice."));
        }
        let keys = keys
            .members()
            .ok_or_else(|| format!("{name} must be an object of keys and values."))?;
        for (at, (key, values)) in keys.iter().enumerate() {
            if keys[..at].iter().any(|(other, _)| other.eq_ignore_ascii_case(key)) {
                return Err(format!("{name} has the key {key:?} twice."));
            }
            if !key.contains(':') {
                return Err(format!(
                    "{key:?} is not a condition key: its name must have a prefix, such as aws:."
                ));
            }
            let values = values.texts().filter(|values| !values.is_empty());
            let values = values.ok_or_else(|| format!("{name} {key} must be a value or a list of values."))?;
            let substitutes = substitutes && operator.takes_variables();
            let templates = values
                .into_iter()
                .map(|text| condition_value(text, operator, substitutes));
            read.push(PolicyCondition {
                name: name.clone(),
                operator,
                key: key.clone(),
                values: templates
                    .collect::<Result<_, _>>()
                    .map_err(|why| format!("{name} {key}: {why}"))?,
            });
        }
    }
    Ok(read)
}

fn condition_value(text: &str, operator: ConditionOperator, substitutes: bool) -> Result<Template, String> {
    let template = if substitutes {
        Template::parse(text)?
    } else {
        Template::literal(text)
    };
    if template.is_constant() {
        operator.check_value(text)?;
    }
    Ok(template)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str, kind: PolicyKind) -> String {
        PolicyDocument::parse(text, kind).err().unwrap_or_default()
    }

    fn statement(statement: &str, kind: PolicyKind) -> String {
        refusal(
            &format!(r#"{{"Version": "2012-10-17", "Statement": [{statement}]}}"#),
            kind,
        )
    }

    #[test]
    fn documents_that_are_refused() {
        let identity = PolicyKind::Identity;
        for (text, expect) in [
            ("", "The policy is not valid JSON, or is nested too deeply."),
            ("[]", "The policy is not an object."),
            ("{}", "The policy has no statement."),
            (r#"{"Statement": []}"#, "The policy has no statement."),
            (
                r#"{"Version": "2012-10-18", "Statement": {}}"#,
                "Version must be 2012-10-17 or 2008-10-17.",
            ),
            (
                r#"{"Id": "x", "Statement": {}}"#,
                "Id is not allowed in an identity-based policy.",
            ),
            (
                r#"{"statement": {}}"#,
                r#"The policy has an unknown member "statement"."#,
            ),
            (
                r#"{"Statement": {}, "Statement": {}}"#,
                r#"The policy has the member "Statement" twice."#,
            ),
            (
                r#"{"Statement": "ä→"}"#,
                "The policy has characters other than tab, line feed, carriage return and U+0020 to U+00FF.",
            ),
        ] {
            assert_eq!(refusal(text, identity), expect, "{text}");
        }
        let large = format!(r#"{{"Statement": "{}"}}"#, "x".repeat(10_240));
        assert!(refusal(&large, identity).starts_with("Maximum policy size of 10240 bytes exceeded"));
        let blank = format!(r#"{{"Statement":{} []}}"#, " ".repeat(20_480));
        assert_eq!(refusal(&blank, identity), "The policy has no statement.");
        assert!(refusal(&blank, PolicyKind::Resource).starts_with("Maximum policy size of 20480 bytes exceeded"));
        let text = |size: usize| format!("{}{}", " ".repeat(size - 2), "{}");
        for kind in [PolicyKind::Identity, PolicyKind::Session] {
            let counted = kind.limit().0;
            let expect = if counted {
                "Maximum policy size"
            } else {
                "The policy has no statement."
            };
            assert!(refusal(&text(LARGEST_TEXT), kind).starts_with(expect), "{kind:?}");
            for larger in [text(LARGEST_TEXT + 1), "é".repeat(LARGEST_TEXT / 2 + 1)] {
                let expect = format!("The policy has more than {LARGEST_TEXT} bytes.");
                assert_eq!(refusal(&larger, kind), expect, "{kind:?}");
            }
        }
        for (kind, expect) in [
            (PolicyKind::Identity, "an identity-based policy"),
            (PolicyKind::Session, "a session policy"),
            (PolicyKind::Endpoint, "a VPC endpoint policy"),
            (PolicyKind::Resource, "a resource-based policy"),
            (PolicyKind::ServiceControl, "a service control policy"),
            (PolicyKind::ResourceControl, "a resource control policy"),
            (PolicyKind::Boundary, "a permissions boundary"),
        ] {
            let (_, most) = kind.limit();
            let large = format!(r#"{{"Statement":"{}"}}"#, "x".repeat(most));
            assert_eq!(
                refusal(&large, kind),
                format!("Maximum policy size of {most} bytes exceeded for {expect}.")
            );
        }
        let deep = format!(r#"{{"Statement": {}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
        assert!(refusal(&deep, PolicyKind::Resource).ends_with("nested too deeply."));
    }

    #[test]
    fn statements_that_are_refused() {
        for (text, kind, expect) in [
            (r#""x""#, PolicyKind::Identity, "Statement 1: it is not an object."),
            (
                r#"{"Effect": "allow"}"#,
                PolicyKind::Identity,
                "Statement 1: Effect must be Allow or Deny.",
            ),
            (
                r#"{"Effect": "Allow", "Action": "*"}"#,
                PolicyKind::Identity,
                "Statement 1: it has no Resource or NotResource.",
            ),
            (
                r#"{"Effect": "Allow", "Action": "*", "NotAction": "*"}"#,
                PolicyKind::Identity,
                "Statement 1: it has both Action and NotAction.",
            ),
            (
                r#"{"Effect": "Allow", "Action": [], "Resource": "*"}"#,
                PolicyKind::Identity,
                "Statement 1: Action must be a string or a list of strings.",
            ),
            (
                r#"{"Effect": "Allow", "Action": "GetItem", "Resource": "*"}"#,
                PolicyKind::Identity,
                "Statement 1: \"GetItem\" is not an action: it is * or service:Name, where only the name may contain wildcards.",
            ),
            (
                r#"{"Effect": "Allow", "Action": "d*:GetItem", "Resource": "*"}"#,
                PolicyKind::Identity,
                "Statement 1: \"d*:GetItem\" is not an action: it is * or service:Name, where only the name may contain wildcards.",
            ),
            (
                r#"{"Effect": "Allow", "Action": "*", "Resource": "table/T"}"#,
                PolicyKind::Identity,
                "Statement 1: Resource table/T must be in ARN format or \"*\".",
            ),
            (
                r#"{"Effect": "Allow", "Action": "*", "Resource": "arn:aws:dyn*:r:1:x"}"#,
                PolicyKind::Identity,
                "Statement 1: Resource arn:aws:dyn*:r:1:x has a wildcard in its service.",
            ),
            (
                r#"{"Effect": "Allow", "Action": "*", "Resource": "arn:aws:dynamodb"}"#,
                PolicyKind::Identity,
                "",
            ),
            (
                r#"{"Effect": "Allow", "Action": "*", "Resource": "arn:aws:dynamodb"}"#,
                PolicyKind::Session,
                "Statement 1: Resource arn:aws:dynamodb is not a complete ARN.",
            ),
            (
                r#"{"Effect": "Allow", "Action": "*", "Resource": "arn:aws:dynamodb:${aws:RequestedRegion}:1:table/T"}"#,
                PolicyKind::Identity,
                "Statement 1: Resource arn:aws:dynamodb:${aws:RequestedRegion}:1:table/T has a policy variable before its fifth colon.",
            ),
            (
                r#"{"Effect": "Allow", "Action": "*", "Resource": "*", "Principal": "*"}"#,
                PolicyKind::Identity,
                "Statement 1: Principal is not allowed in an identity-based policy.",
            ),
            (
                r#"{"Effect": "Deny", "Action": "*", "Resource": "*", "NotPrincipal": "*"}"#,
                PolicyKind::Session,
                "Statement 1: Principal is not allowed in a session policy.",
            ),
            (
                r#"{"Effect": "Allow", "Action": "*", "Resource": "*"}"#,
                PolicyKind::Endpoint,
                "Statement 1: a VPC endpoint policy needs Principal or NotPrincipal.",
            ),
            (
                r#"{"Effect": "Allow", "Action": "*", "Resource": "*", "NotPrincipal": "*"}"#,
                PolicyKind::Resource,
                "Statement 1: NotPrincipal is not allowed with the effect Allow.",
            ),
            (
                r#"{"Effect": "Deny", "Principal": "*", "Action": ["dynamodb:*", "*"], "Resource": "*"}"#,
                PolicyKind::ResourceControl,
                "Statement 1: Action * is not allowed in a resource control policy: name the service, as in dynamodb:*.",
            ),
            (
                r#"{"Effect": "Deny", "Principal": {"AWS": "*"}, "Action": "dynamodb:*", "Resource": "*"}"#,
                PolicyKind::ResourceControl,
                "",
            ),
            (
                r#"{"Effect": "Deny", "Principal": {"AWS": ["*", "123456789012"]}, "Action": "dynamodb:*", "Resource": "*"}"#,
                PolicyKind::ResourceControl,
                "Statement 1: the principal of a resource control policy must be \"*\".",
            ),
            (
                r#"{"Effect": "Deny", "NotPrincipal": "*", "Action": "dynamodb:*", "Resource": "*"}"#,
                PolicyKind::ResourceControl,
                "Statement 1: NotPrincipal is not allowed in a resource control policy.",
            ),
            (
                r#"{"Effect": "Deny", "Principal": "*", "NotPrincipal": "*", "Action": "*", "Resource": "*"}"#,
                PolicyKind::Resource,
                "Statement 1: it has both Principal and NotPrincipal.",
            ),
            (
                r#"{"Effect": "Deny", "Action": "*", "Resource": "*"}"#,
                PolicyKind::Resource,
                "Statement 1: a resource-based policy needs Principal or NotPrincipal.",
            ),
            (
                r#"{"Effect": "Deny", "Principal": "*", "NotAction": "dynamodb:*", "Resource": "*"}"#,
                PolicyKind::ResourceControl,
                "Statement 1: NotAction is not allowed in a resource control policy.",
            ),
            (
                r#"{"Sid": ["a"], "Effect": "Allow", "Action": "*", "Resource": "*"}"#,
                PolicyKind::Identity,
                "Statement 1: Sid must be a string.",
            ),
            (
                r#"{"Sid": "a b", "Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*"}"#,
                PolicyKind::Resource,
                "",
            ),
            (
                r#"{"Sid": "a b", "Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*"}"#,
                PolicyKind::Endpoint,
                "",
            ),
            (
                r#"{"Sid": "a b", "Effect": "Allow", "Action": "*", "Resource": "*"}"#,
                PolicyKind::Identity,
                "Statement 1: Statement IDs (SID) must be alpha-numeric.",
            ),
            (
                r#"{"Sid": "a", "Effect": "Allow", "Action": "*", "Resource": "*"}, {"Sid": "a", "Effect": "Allow", "Action": "*", "Resource": "*"}"#,
                PolicyKind::Identity,
                "Statement 2: the Sid is used twice.",
            ),
            (
                r#"{"Sid": "a", "Effect": "Allow", "Action": "*", "Resource": "*"}, {"Sid": "b", "Effect": "Allow", "Action": "*", "Resource": "*"}, {"Sid": "a", "Effect": "Allow", "Action": "*", "Resource": "*"}"#,
                PolicyKind::Identity,
                "Statement 3: the Sid is used twice.",
            ),
            (
                r#"{"Sid": "a", "Effect": "Allow", "Action": "*", "Resource": "*"}, {"Effect": "Allow", "Action": "*", "Resource": "*"}, {"Sid": "a", "Effect": "Allow", "Action": "*", "Resource": "*"}"#,
                PolicyKind::Identity,
                "Statement 3: the Sid is used twice.",
            ),
            (
                r#"{"Effect": "Allow", "Action": "*", "Resource": "*"}, {"Sid": "a", "Effect": "Allow", "Action": "*", "Resource": "*"}, {"Effect": "Allow", "Action": "*", "Resource": "*"}, {"Sid": "A", "Effect": "Allow", "Action": "*", "Resource": "*"}"#,
                PolicyKind::Identity,
                "",
            ),
            (
                r#"{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"StringEqual": {}}}"#,
                PolicyKind::Identity,
                "Statement 1: there is no condition operator \"StringEqual\".",
            ),
            (
                r#"{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"Bool": {"aws:SecureTransport": "yes"}}}"#,
                PolicyKind::Identity,
                "Statement 1: Bool aws:SecureTransport: \"yes\" is not a valid Boolean.",
            ),
            (
                r#"{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"Bool": {"aws:SecureTransport": true}}}"#,
                PolicyKind::Identity,
                "",
            ),
            (
                r#"{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"StringEquals": {"aws:a": "${x"}}}"#,
                PolicyKind::Identity,
                "Statement 1: StringEquals aws:a: Invalid policy variable in \"${x\".",
            ),
            (
                r#"{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"StringEquals": {"aws:a": "1", "AWS:A": "2"}}}"#,
                PolicyKind::Identity,
                "Statement 1: StringEquals has the key \"AWS:A\" twice.",
            ),
            (
                r#"{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"StringEquals": {"a": "1"}}}"#,
                PolicyKind::Identity,
                "Statement 1: \"a\" is not a condition key: its name must have a prefix, such as aws:.",
            ),
        ] {
            assert_eq!(statement(text, kind), expect, "{text}");
        }
    }

    #[test]
    fn actions_are_names_of_services() {
        for (action, expect) in [
            ("*", true),
            ("dynamodb:GetItem", true),
            ("DynamoDB:get*", true),
            ("dynamodb:Get?tem", true),
            ("dynamodb:*", true),
            ("application-autoscaling:Register*", true),
            ("s3:GetObject", true),
            ("", false),
            ("**", false),
            (":GetItem", false),
            ("*:GetItem", false),
            ("dynamod?:GetItem", false),
            ("dynamodb:", false),
            ("dynamodb:Get-Item", false),
            ("dynamodb:Get Item", false),
            ("dynamodb:Get:Item", false),
            ("dynamo_db:GetItem", false),
        ] {
            for element in ["Action", "NotAction"] {
                let text = format!(r#"{{"Effect": "Allow", "{element}": "{action}", "Resource": "*"}}"#);
                let refused = statement(&text, PolicyKind::Identity);
                assert_eq!(refused.is_empty(), expect, "{action}: {refused}");
            }
        }
    }

    /// Policies of principals and accounts may leave out the end of an ARN.
    #[test]
    fn resources_are_arns() {
        let (complete, valid, invalid) = ("arn:aws:dynamodb:us-east-1:123456789012:table/T", [true; 7], [false; 7]);
        let incomplete = [true, true, false, true, true, false, true];
        for (resource, expect) in [
            ("*", valid),
            (complete, valid),
            ("arn:*:*:*:*:*", valid),
            ("arn:aws:*:us-east-1:123456789012:table/T", valid),
            ("arn:aws:dynamodb:us-*:1234?:table/T*", valid),
            ("arn:aws:dynamodb:us-east-1:123456789012:table/${aws:username}", valid),
            ("arn:aws:dynamodb:us-east-1:123456789012", incomplete),
            ("arn:aws:dynamodb", incomplete),
            ("arn", incomplete),
            ("arn:aws:dynamodb:${aws:username}", invalid),
            ("arn:aws:dynamodb:us-east-1:${aws:PrincipalAccount}:table/T", invalid),
            ("arn:aws:dynamod?:us-east-1:123456789012:table/T", invalid),
            ("arn:aws:*db:us-east-1:123456789012:table/T", invalid),
            ("Arn:aws:dynamodb:us-east-1:123456789012:table/T", invalid),
            ("table/T", invalid),
            ("", invalid),
        ] {
            let kinds = [
                PolicyKind::Identity,
                PolicyKind::Boundary,
                PolicyKind::Session,
                PolicyKind::ServiceControl,
                PolicyKind::ResourceControl,
                PolicyKind::Resource,
                PolicyKind::Endpoint,
            ];
            for (kind, expect) in kinds.into_iter().zip(expect) {
                let principal = if kind.names_principals() {
                    r#""Principal": "*","#
                } else {
                    ""
                };
                let text = format!(
                    r#"{{"Effect": "Deny", {principal} "Action": "dynamodb:GetItem", "Resource": ["{complete}", "{resource}"]}}"#
                );
                let refused = statement(&text, kind);
                assert_eq!(refused.is_empty(), expect, "{kind:?} {resource}: {refused}");
            }
        }
    }

    #[test]
    fn conditions_that_are_refused() {
        for (condition, expect) in [
            ("[]", "Condition must be an object."),
            (
                r#"{"Null": {"aws:a": "true"}, "Null": {"aws:b": "true"}}"#,
                "Condition has the operator \"Null\" twice.",
            ),
            (r#"{"Null": []}"#, "Null must be an object of keys and values."),
            (
                r#"{"Null": {"aws:a": []}}"#,
                "Null aws:a must be a value or a list of values.",
            ),
            (
                r#"{"Null": {"aws:a": {}}}"#,
                "Null aws:a must be a value or a list of values.",
            ),
            (
                r#"{"NumericEquals": {"aws:a": ["1", "x"]}}"#,
                "NumericEquals aws:a: \"x\" is not a valid number.",
            ),
            (r#"{"NumericEquals": {"aws:a": ["1", 2, "-3.5"]}}"#, ""),
            (
                r#"{"StringEquals": {"aws:a": ["1"]}, "StringLike": {"aws:a": ["1"]}}"#,
                "",
            ),
        ] {
            let text = format!(r#"{{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {condition}}}"#);
            let expect = if expect.is_empty() {
                String::new()
            } else {
                format!("Statement 1: {expect}")
            };
            assert_eq!(statement(&text, PolicyKind::Identity), expect, "{condition}");
        }
    }

    /// Version 2012-10-17 substitutes variables in conditions on strings and ARNs.
    #[test]
    fn variables_in_conditions() {
        for (version, operator, expect) in [
            ("2012-10-17", "StringEquals", ""),
            ("2012-10-17", "ArnLike", ""),
            ("2012-10-17", "NumericEquals", "is not a valid number."),
            ("2008-10-17", "StringEquals", ""),
            ("2008-10-17", "ArnLike", "is not a valid ARN."),
        ] {
            let condition = format!(r#"{{"{operator}": {{"aws:a": "${{aws:b}}"}}}}"#);
            let text = format!(
                r#"{{"Version": "{version}", "Statement": {{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {condition}}}}}"#
            );
            let expect = if expect.is_empty() {
                String::new()
            } else {
                format!("Statement 1: {operator} aws:a: \"${{aws:b}}\" {expect}")
            };
            assert_eq!(refusal(&text, PolicyKind::Identity), expect, "{version} {operator}");
        }
    }

    /// Without variables a text is taken as it is, but the end of an ARN that has one is not filled up.
    #[test]
    fn variables_are_plain_text_in_old_policies() {
        for (resource, expect) in [
            ("arn:aws:dynamodb:${aws:RequestedRegion}:1:table/T", ""),
            ("arn:aws:dynamodb:us-east-1:1:table/${aws:username", ""),
            ("arn:aws:dynamodb:us-east-1", ""),
            (
                "arn:aws:dynamodb:${x}",
                "Statement 1: Resource arn:aws:dynamodb:${x} is not a complete ARN.",
            ),
        ] {
            let text = format!(r#"{{"Statement": {{"Effect": "Allow", "Action": "*", "Resource": "{resource}"}}}}"#);
            assert_eq!(refusal(&text, PolicyKind::Identity), expect, "{resource}");
        }
    }

    /// Policies that name principals may have an id.
    #[test]
    fn ids_of_policies() {
        for (kind, expect) in [
            (PolicyKind::Identity, "Id is not allowed in an identity-based policy."),
            (PolicyKind::Session, "Id is not allowed in a session policy."),
            (
                PolicyKind::ServiceControl,
                "Id is not allowed in a service control policy.",
            ),
            (PolicyKind::Resource, ""),
            (PolicyKind::Endpoint, ""),
        ] {
            let principal = if kind.names_principals() {
                r#""Principal": "*","#
            } else {
                ""
            };
            let text = format!(
                r#"{{"Id": "x", "Statement": {{"Effect": "Deny", {principal} "Action": "*", "Resource": "*"}}}}"#
            );
            assert_eq!(refusal(&text, kind), expect, "{kind:?}");
        }
    }

    /// Each kind of policy has its largest size, with or without white space.
    #[test]
    fn a_policy_has_a_largest_size() {
        let statement = |fill: &str| format!(r#"{{"Statement":{{"Sid":"{fill}","Effect":"Allow"}}}}"#);
        for kind in [
            PolicyKind::Identity,
            PolicyKind::Boundary,
            PolicyKind::Session,
            PolicyKind::ServiceControl,
            PolicyKind::ResourceControl,
            PolicyKind::Resource,
            PolicyKind::Endpoint,
        ] {
            let (counts_blanks, most) = kind.limit();
            let (empty, blank) = (statement("").len(), " \t\n\r".repeat(9));
            for (size, fits) in [(most, true), (most + 1, false)] {
                let text = statement(&"x".repeat(size - empty));
                let refused = refusal(&text, kind).contains("Maximum policy size");
                assert_eq!(!refused, fits, "{kind:?} {size}");
            }
            let full = blank + &statement(&"x".repeat(most - empty));
            let refused = refusal(&full, kind).contains("Maximum policy size");
            assert_eq!(refused, counts_blanks, "{kind:?}");
            // Where blanks count, so does each byte of a character, and else each character.
            let accents = statement(&"é".repeat(most - empty));
            let refused = refusal(&accents, kind).contains("Maximum policy size");
            assert_eq!(refused, counts_blanks, "{kind:?}");
        }
    }

    /// Only a policy of a resource may have characters beyond Latin-1.
    #[test]
    fn characters_of_policies() {
        for (char, expect) in [('\u{ff}', true), ('\u{100}', false), ('\u{7}', false)] {
            for kind in [PolicyKind::Identity, PolicyKind::Resource, PolicyKind::Endpoint] {
                let text = format!(r#"{{"Statement": "{char}"}}"#);
                let refused = refusal(&text, kind).starts_with("The policy has characters");
                assert_eq!(!refused, expect || kind == PolicyKind::Resource, "{kind:?} {char:?}");
            }
        }
    }

    #[test]
    fn a_statement_applies_if_all_of_it_matches() {
        let whole = StatementMatch {
            principal: Some(Grant::Account),
            action: true,
            resource: true,
            conditions: vec![true, true],
        };
        assert!(whole.applies());
        let parts: [fn(&mut StatementMatch); 5] = [
            |found| found.principal = None,
            |found| found.action = false,
            |found| found.resource = false,
            |found| found.conditions = vec![true, false],
            |found| found.conditions = vec![false, true],
        ];
        for (at, lose) in parts.into_iter().enumerate() {
            let mut found = whole.clone();
            lose(&mut found);
            assert!(!found.applies(), "{at}");
        }
    }

    #[test]
    fn a_statement_has_its_id_and_effect() {
        let text = r#"{"Statement": {"Sid": "All", "Effect": "Deny", "Action": "*", "Resource": "*"}}"#;
        let policy = PolicyDocument::parse(text, PolicyKind::Identity).unwrap();
        let statement = &policy.statements()[0];
        assert_eq!((statement.sid(), statement.allows()), (Some("All"), false));
    }
}
