//! Access control: its configuration, sessions, and explanations of decisions.

use super::ControlRequest;
use crate::access::{
    AccessRequest, ConditionKeys, Directory, Evaluation, Explanation, Identity, KeyValue, RequestOrigin,
    SessionRequest, StatementReport,
};
use crate::caller::Caller;
use crate::clock::Moment;
use crate::context::Context;
use crate::execute::facts;
use crate::operation;
use crate::wire::control::{ControlError, ControlResult, Json, Members, shortened};
use crate::wire::encode::Writer;
use crate::wire::object::{List, Object};
use crate::wire::policy::Node;

/// The maximum depth of a session.
const MOST_DEPTH: usize = 16;

impl ControlRequest<'_> {
    /// Writes the configuration, without secrets.
    pub fn get_access(&self, writer: &mut Writer) -> ControlResult<()> {
        let access = self.twin.state.access();
        let directory = access.directory();
        let mut object = Object::open(writer);
        object.boolean("configured", access.is_configured());
        let mut accounts = object.list("accounts");
        for (id, account) in directory.accounts() {
            let mut object = accounts.object();
            object.string("id", id);
            let arns: Vec<String> = account.principals.iter().map(|principal| principal.arn()).collect();
            object.strings("principals", arns.iter().map(String::as_str));
            object.close();
        }
        accounts.close();
        let mut keys = object.list("accessKeys");
        for (id, credential) in directory.credentials() {
            let mut object = keys.object();
            object.string("accessKeyId", id);
            object.string("principal", &credential.principal.arn());
            if let Some(session) = &credential.session {
                object.string("expires", &session.expires.to_string());
            }
            object.close();
        }
        keys.close();
        object.strings("vpcEndpoints", directory.endpoints().map(|(id, _)| id));
        write_warnings(&directory, &mut object);
        object.close();
        Ok(())
    }

    pub fn set_access(&self, writer: &mut Writer) -> ControlResult<()> {
        let directory =
            Directory::read(&self.body.to_text(), self.twin.clock.now()).map_err(ControlError::malformed)?;
        self.twin.state.access().configure(Some(directory));
        self.get_access(writer)
    }

    /// Removes the configuration: everything is allowed.
    pub fn remove_access(&self, writer: &mut Writer) -> ControlResult<()> {
        self.twin.state.access().configure(None);
        self.get_access(writer)
    }

    /// Adds a session of a role or user, with credentials chosen by the caller.
    pub fn add_session(&self, writer: &mut Writer) -> ControlResult<()> {
        let members = Members::of("session", &self.body, SESSION)?;
        for name in ["role", "name", "accessKeyId", "secretAccessKey", "sessionToken"] {
            members.text(name)?;
        }
        let node = Node::parse(&self.body.to_text(), MOST_DEPTH);
        let node = node.ok_or_else(|| ControlError::malformed("session must be an object without nulls."))?;
        let added = self.twin.state.access().add_session(&node, self.twin.clock.now());
        let (id, expires) = added.map_err(ControlError::malformed)?;
        let mut object = Object::open(writer);
        object.string("accessKeyId", &id);
        object.string("expires", &expires.to_string());
        object.close();
        Ok(())
    }

    /// Explains the decision about a request without executing it.
    pub fn explain_access(&self, writer: &mut Writer) -> ControlResult<()> {
        let members = Members::of("explain", &self.body, EXPLAIN)?;
        let now = self.twin.clock.now();
        let identity = identity(self, &members, now)?;
        let region = members.text("region")?.unwrap_or("us-east-1");
        let explanations = match (members.text("operation")?, members.text("action")?) {
            (Some(name), None) => of_request(self, identity, region, name, members.get("request"))?,
            (None, Some(action)) => vec![of_action(self, &identity, &members, (region, action), now)?],
            _ => {
                return Err(ControlError::malformed(
                    "explain requires operation and request, or action and resource.",
                ));
            }
        };
        let mut object = Object::open(writer);
        let refused = explanations
            .iter()
            .find_map(|explanation| explanation.refusal.as_deref());
        object.boolean("allowed", refused.is_none());
        if let Some(message) = refused {
            object.string("message", message);
        }
        let mut list = object.list("evaluations");
        explanations
            .iter()
            .for_each(|explanation| write_explanation(explanation, &mut list));
        list.close();
        object.close();
        Ok(())
    }
}

fn write_warnings(directory: &Directory, object: &mut Object<'_>) {
    let mut list = object.list("warnings");
    for warning in directory.warnings() {
        let mut object = list.object();
        object.string("policy", &warning.policy);
        object.integer("statement", warning.statement as i64);
        object.string("code", warning.code);
        object.string("message", &warning.message);
        object.close();
    }
    list.close();
}

const SESSION: &[&str] = &[
    "role",
    "name",
    "accessKeyId",
    "secretAccessKey",
    "sessionToken",
    "federated",
    "tags",
    "keys",
    "policies",
    "durationSeconds",
];

const EXPLAIN: &[&str] = &[
    "principal",
    "accessKeyId",
    "session",
    "region",
    "sourceIp",
    "vpcEndpoint",
    "secureTransport",
    "operation",
    "request",
    "action",
    "resource",
    "keys",
];

/// The caller of the explained request.
fn identity(requested: &ControlRequest<'_>, members: &Members<'_>, now: Moment) -> ControlResult<Identity> {
    let access = requested.twin.state.access();
    if !access.is_configured() {
        return Err(ControlError::malformed(
            "Access control is not configured: everything is allowed.",
        ));
    }
    let owned = |name| members.text(name).map(|text| text.map(str::to_owned));
    let origin = RequestOrigin {
        source_ip: owned("sourceIp")?,
        endpoint: owned("vpcEndpoint")?,
        secure_transport: members.flag("secureTransport")?,
        user_agent: None,
    };
    match (members.text("principal")?, members.text("accessKeyId")?) {
        (Some(arn), None) => {
            let session = members.get("session").map(session).transpose()?;
            access
                .identity_of(arn, session.as_ref(), origin, now)
                .map_err(ControlError::malformed)
        }
        (None, Some(id)) => {
            let known = access.find(id).unwrap_or_default();
            let credential = known
                .credential
                .ok_or_else(|| ControlError::malformed(format!("There is no access key {}.", shortened(id))))?;
            Ok(Identity::new(known.directory, &credential, origin))
        }
        _ => Err(ControlError::malformed("explain requires principal or accessKeyId.")),
    }
}

/// The session of the explained request.
fn session(json: &Json) -> ControlResult<SessionRequest> {
    let mut session = SessionRequest::new("");
    let members = Members::of("session", json, &["name", "federated", "tags", "keys", "policies"])?;
    if let Some(name) = members.text("name")? {
        name.clone_into(&mut session.name);
    }
    session.is_federated = members.flag("federated")?.unwrap_or(false);
    session.keys = keys(members.get("keys"))?;
    session.tags = texts("tags", members.get("tags"))?;
    session.policies = match members.get("policies") {
        None => Vec::new(),
        Some(Json::List(policies)) => policies.iter().map(policy).collect(),
        Some(single) => vec![policy(single)],
    };
    Ok(session)
}

/// A policy document, which may be given as a string, or the ARN of a managed policy.
fn policy(json: &Json) -> String {
    json.text().map_or_else(|| json.to_text(), str::to_owned)
}

fn texts(what: &str, json: Option<&Json>) -> ControlResult<Vec<(String, String)>> {
    let Some(json) = json else { return Ok(Vec::new()) };
    let wrong = || ControlError::malformed(format!("{what} must be an object of strings."));
    let Json::Object(members) = json else {
        return Err(wrong());
    };
    let read = members
        .iter()
        .map(|(name, value)| Some((name.clone(), value.text()?.to_owned())));
    read.collect::<Option<Vec<_>>>().ok_or_else(wrong)
}

/// Plans a request as if to execute it, and stops after authorization.
fn of_request(
    requested: &ControlRequest<'_>,
    identity: Identity,
    region: &str,
    name: &str,
    body: Option<&Json>,
) -> ControlResult<Vec<Explanation>> {
    let operation = operation::of_name(name);
    let operation =
        operation.ok_or_else(|| ControlError::malformed(format!("There is no operation {}.", shortened(name))))?;
    let body = body.map_or_else(|| "{}".to_owned(), Json::to_text);
    let caller = Caller {
        access_key: identity.account().into(),
        region: region.into(),
    };
    let scope = requested.twin.scope(&caller);
    let mut context = Context::new(
        &requested.twin.state,
        scope,
        &caller,
        operation.name,
        requested.twin.clock.now(),
    );
    drop(context.take_recorder());
    context.set_identity(Some(Box::new(identity)));
    context.explain_only();
    let answer = (operation.run)(&context, body.as_bytes(), &mut Writer::new());
    let explanations = context.take_explanations();
    match answer {
        Err(error) if explanations.is_empty() => Err(ControlError::malformed(format!(
            "The request does not reach authorization: {}",
            error.message().unwrap_or("it is refused before.")
        ))),
        _ => Ok(explanations),
    }
}

/// One action on one resource, with the given condition keys.
fn of_action(
    requested: &ControlRequest<'_>,
    identity: &Identity,
    members: &Members<'_>,
    (region, action): (&str, &str),
    now: Moment,
) -> ControlResult<Explanation> {
    let known = crate::access::actions().find(|known| known == action);
    if known.is_none() {
        return Err(ControlError::malformed(format!(
            "{} is not an action of DynamoDB.",
            shortened(action)
        )));
    }
    let resource = members.text("resource")?.unwrap_or("*");
    let caller = Caller {
        access_key: identity.account().into(),
        region: region.into(),
    };
    let facts = facts(&requested.twin.state, &requested.twin.scope(&caller), resource, now);
    let request = AccessRequest::new("", resource);
    let evaluation = identity.evaluate_action(action, &request, &facts, (region, now), &keys(members.get("keys"))?);
    Ok(Explanation {
        statements: identity.explain(resource, &facts, &evaluation),
        refusal: evaluation
            .refusal(identity.subject())
            .and_then(|error| error.message().map(str::to_owned)),
        evaluation,
    })
}

/// Condition keys: a text, or a list of texts for a multivalued key.
fn keys(json: Option<&Json>) -> ControlResult<ConditionKeys> {
    let mut keys = ConditionKeys::default();
    let wrong = || ControlError::malformed("keys must be an object of strings and lists of strings.");
    let Some(json) = json else { return Ok(keys) };
    let Json::Object(members) = json else {
        return Err(wrong());
    };
    for (name, value) in members {
        match value {
            Json::Text(text) => keys.set(name, text),
            Json::List(list) => {
                let texts = list.iter().map(Json::text).collect::<Option<Vec<_>>>();
                keys.set_all(name, texts.ok_or_else(wrong)?);
            }
            _ => return Err(wrong()),
        }
    }
    Ok(keys)
}

fn write_explanation(explanation: &Explanation, list: &mut List<'_>) {
    let Evaluation {
        action,
        resource,
        keys,
        decision,
    } = &explanation.evaluation;
    let mut object = list.object();
    object.string("action", action);
    object.string("resource", resource);
    object.boolean("allowed", decision.is_allowed());
    if let Some(denial) = &decision.denial {
        object.string("reason", &denial.reason(action));
    }
    if let Some(statement) = &decision.statement {
        let mut decided = object.object("decidedBy");
        decided.string("policyType", statement.kind.name());
        decided.string("policy", &statement.policy);
        decided.integer("statement", statement.place as i64);
        if let Some(sid) = &statement.sid {
            decided.string("sid", sid);
        }
        decided.close();
    }
    let mut shown = object.object("keys");
    for (name, value) in keys.iter() {
        match value {
            KeyValue::One(value) => shown.string(name, value),
            KeyValue::Many(values) => shown.strings(name, values.iter().map(String::as_str)),
        }
    }
    shown.close();
    let mut statements = object.list("statements");
    explanation
        .statements
        .iter()
        .for_each(|report| write_report(report, &mut statements));
    statements.close();
    object.close();
}

fn write_report(report: &StatementReport, list: &mut List<'_>) {
    let mut object = list.object();
    object.string("policyType", report.kind.name());
    object.string("policy", &report.policy);
    object.integer("statement", report.place as i64);
    if let Some(sid) = &report.sid {
        object.string("sid", sid);
    }
    object.string("effect", if report.allows { "Allow" } else { "Deny" });
    object.boolean("applies", report.found.applies());
    object.boolean("principal", report.found.principal.is_some());
    object.boolean("action", report.found.action);
    object.boolean("resource", report.found.resource);
    let mut conditions = object.list("conditions");
    for ((operator, key), holds) in report.conditions.iter().zip(&report.found.conditions) {
        let mut condition = conditions.object();
        condition.string("operator", operator);
        condition.string("key", key);
        condition.boolean("holds", *holds);
        condition.close();
    }
    conditions.close();
    object.close();
}
