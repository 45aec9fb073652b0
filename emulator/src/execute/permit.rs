//! Access policies: whether a caller may execute a request (docs/behavior: 07).

use std::time::Duration;

use super::authorize::{EachAccess, RefusalScope, Refusals};
use crate::access::{
    AccessRequest, AttachedPolicy, ConditionKeys, Explanation, Identity, PolicyDocument, PolicyKind, ResourceFacts,
};
use crate::clock::Moment;
use crate::context::{Context, EngineState, Missing};
use crate::error::{ApiError, ErrorKind};
use crate::storage::{self, Scope, Shape};

/// The first policy of a resource is enforced after 2 to 4 s, every later change after 221 to 237 s (docs/behavior: 07 7.2).
const FIRST_ENFORCED: Duration = Duration::from_secs(3);
const CHANGE_ENFORCED: Duration = Duration::from_secs(229);

/// The substitute for a policy that cannot be parsed.
const DENY_ALL: &str = r#"{"Statement":{"Effect":"Deny","Principal":"*","Action":"*","Resource":"*"}}"#;

/// Decides by access policies about each entry of a request; fails if a rejected entry fails the whole request. Without
/// an access control configuration everything is allowed.
pub(super) fn permit(
    context: &Context<'_>,
    refusal: RefusalScope,
    each: &EachAccess<'_>,
) -> Result<Refusals, ApiError> {
    let Some(identity) = context.identity() else {
        return Ok(Refusals::default());
    };
    let mut requests: Vec<AccessRequest<'static>> = Vec::new();
    each(&mut |access| {
        requests.push(access.request(context).into_owned());
        requests.extend(access.also(context).into_iter().map(AccessRequest::into_owned));
    });
    if matches!(context.operation, "BatchGetItem" | "BatchWriteItem") {
        requests = by_table(requests);
    }
    let mut refusals = Vec::with_capacity(requests.len());
    for request in &requests {
        let refused = refused(context, identity, request);
        match refused {
            Some(error) if refusal != RefusalScope::Entry && !context.is_explained() => return Err(error),
            verdict => refusals.push(verdict),
        }
    }
    if context.is_explained() {
        return Err(ApiError::internal());
    }
    if refusals.iter().all(Option::is_none) {
        refusals.clear();
    }
    Ok(Refusals::new(refusals))
}

/// The error for a request that cannot be planned: callers who may not use a table or index do not learn that it is
/// missing (docs/behavior: 07 8.1).
#[cold]
pub fn unplanned(context: &Context<'_>, error: ApiError) -> ApiError {
    let actions: &[&'static str] = match context.operation {
        "TransactWriteItems" => &["PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"],
        "TransactGetItems" => &["GetItem"],
        operation => &[operation],
    };
    unplanned_actions(context, actions, error)
}

/// The error of [`unplanned`] for a part of a request that has one of these actions.
#[cold]
pub fn unplanned_actions(context: &Context<'_>, actions: &[&'static str], error: ApiError) -> ApiError {
    let (Some(identity), Some(missing)) = (context.identity(), context.take_missing()) else {
        return error;
    };
    let arn = match missing {
        // Another error than that of the missing table stays.
        Missing::Table(_) if !matches!(error.kind(), ErrorKind::ResourceNotFound | ErrorKind::TableNotFound) => {
            return error;
        }
        Missing::Table(name) if !name.starts_with("arn:") => context.table_arn(&name),
        Missing::Table(arn) | Missing::Index(arn) => arn,
    };
    let mut refusals = Vec::new();
    for action in actions {
        refusals.extend(refused(context, identity, &AccessRequest::new(action, arn.clone())));
    }
    // Which of the actions was meant is no longer known.
    if refusals.len() == actions.len() {
        refusals.swap_remove(0)
    } else {
        error
    }
}

/// The error for a denied action.
fn refused(context: &Context<'_>, identity: &Identity, request: &AccessRequest<'_>) -> Option<ApiError> {
    let facts = facts(context.engine, &context.scope, &request.resource, context.now);
    let evaluation = identity.evaluate(
        request,
        &facts,
        (context.region, context.now),
        &ConditionKeys::default(),
    );
    let refusal = evaluation.refusal(identity.subject());
    context.explain(|| Explanation {
        statements: identity.explain(&request.resource, &facts, &evaluation),
        refusal: refusal.as_ref().and_then(ApiError::message).map(str::to_owned),
        evaluation,
    });
    refusal
}

/// The entries of a batch as policies see them: one for each table, with the combined keys and attributes.
fn by_table(entries: Vec<AccessRequest<'static>>) -> Vec<AccessRequest<'static>> {
    let mut tables: Vec<AccessRequest<'static>> = Vec::new();
    for entry in entries {
        match tables.iter_mut().find(|table| table.resource == entry.resource) {
            Some(table) => table.merge(entry),
            None => tables.push(entry),
        }
    }
    tables
}

/// The facts about the resource of an ARN: its tags, and the policy in force.
pub fn facts(state: &EngineState, scope: &Scope, arn: &str, now: Moment) -> ResourceFacts {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let ["arn", _, "dynamodb", region, account, resource] = parts[..] else {
        return ResourceFacts::default();
    };
    let Some(path) = resource.strip_prefix("table/") else {
        return ResourceFacts::default();
    };
    let (table, below) = path.split_once('/').unwrap_or((path, ""));
    let scope = if scope.account.is_empty() {
        scope.clone()
    } else {
        Scope {
            account: account.into(),
            region: region.into(),
        }
    };
    let Some(table) = state.catalog().table(&scope, table) else {
        return ResourceFacts::default();
    };
    let shape = table.shape();
    let policy = |stream: Option<&str>| {
        let policy = shape.attached.policy(stream)?;
        enforced(policy, &shape, now).map(|text| attached(arn, text))
    };
    match below.split_once('/') {
        None | Some(("index", _)) => ResourceFacts {
            tags: shape.definition.tags.clone(),
            policy: policy(None),
        },
        Some(("stream", label)) => ResourceFacts {
            tags: shape.attached.stream_tags.get(label).cloned().unwrap_or_default(),
            policy: policy(Some(label)),
        },
        Some(_) => ResourceFacts::default(),
    }
}

/// The policy in force, which is the previous one until a change takes effect.
fn enforced<'p>(policy: &'p storage::AttachedResourcePolicy, shape: &Shape, now: Moment) -> Option<&'p str> {
    let wait = match (shape.takes_time(), &policy.before) {
        (false, _) => Duration::ZERO,
        (true, None) => FIRST_ENFORCED,
        (true, Some(_)) => CHANGE_ENFORCED,
    };
    let shown = if now < policy.changed.plus(wait) {
        &policy.before
    } else {
        &policy.current
    };
    shown.as_ref().map(|(text, _)| &**text)
}

/// A resource's policy. One that cannot be parsed denies everything.
pub fn attached(arn: &str, text: &str) -> AttachedPolicy {
    let policy = PolicyDocument::parse(text, PolicyKind::Resource)
        .or_else(|_| PolicyDocument::parse(DENY_ALL, PolicyKind::Resource));
    AttachedPolicy {
        label: format!("resource-based policy of {arn}"),
        arn: None,
        policy: policy.unwrap_or_else(|why| unreachable!("{why}")),
    }
}
