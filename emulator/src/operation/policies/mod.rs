//! Shared by the operations on resource policies (docs/behavior: 04 12.3).

pub(super) mod delete_resource_policy;
pub(super) mod get_resource_policy;
pub(super) mod put_resource_policy;

use std::sync::Arc;
use std::time::Duration;

use crate::access::{self, AccessRequest, ConditionKeys, PolicyKind, ResourceFacts};
use crate::context::Context;
use crate::error::{ApiError, ErrorKind, Violations, constraint};
use crate::execute;
use crate::operation::arn::{self, ArnResource};
use crate::plan::{self, ControlAccess, Target};
use crate::request::ResourcePolicy;
use crate::storage::{self, AttachedResourcePolicy, Revision, TableSettings, TableStage};
use crate::wire::policy::Document;

/// Measured: a change is visible after 1 to 2.7 s.
const CHANGING: f64 = 0.33;
/// Measured: the next change is accepted 15 s after the last.
const COOLDOWN: Duration = Duration::from_secs(15);
/// The expected revision of a resource without a policy.
const NO_POLICY: &str = "NO_POLICY";

/// Parses a document, checked by the service's rules, and by those of the policy language that its texts do not cover.
/// Access control knows which principals exist; without it each may exist.
pub fn document(context: &Context<'_>, text: &str, of_stream: bool) -> Result<Document, ApiError> {
    let document = Document::read(text, of_stream)?;
    let policy = access::PolicyDocument::parse(document.text(), PolicyKind::Resource)
        .map_err(|why| ApiError::invalid(format_args!("Invalid policy document: {why}")))?;
    match context.identity() {
        Some(identity) if !identity.knows_principals(&policy) => {
            Err(ApiError::invalid("Invalid principal in policy document."))
        }
        _ => Ok(document),
    }
}

/// Rejects a document that would deny the caller further changes of the policy (docs/behavior: 07 7.2).
pub fn check_lockout(context: &Context<'_>, arn: &str, document: &str) -> Result<(), ApiError> {
    let Some(identity) = context.identity() else {
        return Ok(());
    };
    let facts = ResourceFacts {
        policy: Some(execute::attached_policy(arn, document)),
        ..execute::facts(context.engine, &context.scope, arn, context.now)
    };
    let request = AccessRequest::new("PutResourcePolicy", arn);
    let place = (context.region, context.now);
    if identity
        .evaluate(&request, &facts, place, &ConditionKeys::default())
        .decision
        .is_allowed()
    {
        return Ok(());
    }
    Err(ApiError::new(
        ErrorKind::AccessDenied,
        "The new resource policy will not allow you to update the resource policy in the future.",
    ))
}

/// Checks the members alone: the resource, of the caller's region and account.
fn check<'r>(
    context: &Context<'_>,
    request: &'r ResourcePolicy,
    needs_policy: bool,
) -> Result<ArnResource<'r>, ApiError> {
    let mut violations = Violations::new();
    match &request.resource_arn {
        None => violations.missing("resourceArn"),
        Some(arn) if arn.is_empty() => violations.value("", "resourceArn", constraint::min_length(1)),
        Some(arn) if arn.chars().count() > 1283 => violations.value(arn, "resourceArn", constraint::max_length(1283)),
        Some(_) => {}
    }
    if needs_policy && request.policy.is_none() {
        violations.missing("policy");
    }
    match &request.expected_revision_id {
        Some(id) if id.is_empty() => violations.value("", "expectedRevisionId", constraint::min_length(1)),
        Some(id) if id.chars().count() > 255 => violations.value(id, "expectedRevisionId", constraint::max_length(255)),
        _ => {}
    }
    violations.finish()?;
    let resource = arn::resource(request.resource_arn.as_ref())?;
    if resource.is_elsewhere(context) {
        return Err(ApiError::invalid(format_args!(
            "Invalid resource Arn: {}",
            resource.arn
        )));
    }
    if resource.is_foreign(context) {
        return Err(ApiError::validation(
            "This action is only supported by accounts that match the resource owner’s account.",
        ));
    }
    Ok(resource)
}

/// A request about the policy of a resource, with the resource's table.
pub struct PolicyPlan<'r> {
    pub resource: ArnResource<'r>,
    pub target: Target,
    pub document: Option<Document>,
    pub expected: Option<&'r str>,
    pub confirmed: bool,
}

impl<'r> PolicyPlan<'r> {
    /// Plans a request; `needs_policy` is whether it requires a document.
    pub fn new(
        context: &Context<'_>,
        request: &'r ResourcePolicy,
        needs_policy: bool,
    ) -> Result<PolicyPlan<'r>, ApiError> {
        let resource = check(context, request, needs_policy)?;
        let document = request.policy.as_deref().filter(|_| needs_policy);
        let document = document.map(|text| self::document(context, text, resource.stream.is_some()));
        Ok(PolicyPlan {
            document: document.transpose()?,
            target: plan::sub_resource(context, resource.table)?,
            expected: request.expected_revision_id.as_deref(),
            confirmed: request.confirm_remove_self_resource_access.unwrap_or(false),
            resource,
        })
    }

    /// The access that the request requires.
    pub fn access(&self) -> ControlAccess<'_> {
        ControlAccess::arn(self.resource.arn)
    }
}

/// Checks that the stream exists, if the resource is one.
pub fn check_stream(context: &Context<'_>, plan: &PolicyPlan<'_>) -> Result<(), ApiError> {
    match plan.resource.stream {
        Some(label) if !plan.resource.is_stream(context) => Err(ApiError::new(
            ErrorKind::ResourceNotFound,
            format!(
                "Requested resource not found: Stream: {label} not found for Table: {}",
                plan.target.table.name
            ),
        )),
        _ => Ok(()),
    }
}

/// The policy given at a table's creation.
pub fn first(context: &Context<'_>, document: &str) -> AttachedResourcePolicy {
    AttachedResourcePolicy {
        stream: None,
        current: Some((Arc::from(document), storage::revision_id(context.now, None))),
        before: None,
        changed: context.now,
        until: context.now,
    }
}

/// Sets or removes the policy of a resource; returns the id of the new revision, if anything changed.
pub fn change(context: &Context<'_>, plan: &PolicyPlan<'_>) -> Result<Option<i64>, ApiError> {
    check_stream(context, plan)?;
    let (table, resource) = (&plan.target.table, &plan.resource);
    let (expected, document) = (plan.expected, plan.document.as_ref().map(Document::text));
    let now = context.now;
    let mut made = None;
    table.reshape(now, |shape| {
        let last = shape.attached.policy(resource.stream);
        let current = last.and_then(|last| last.current.clone());
        check_expected(expected, current.as_ref(), resource)?;
        if current.as_ref().map(|(text, _)| &**text) == document {
            made = current.map(|(_, id)| id);
            return Ok(());
        }
        if table.stage(shape, now) == TableStage::Deleting {
            return Err(ApiError::in_use(format_args!("Table is being deleted: {}", table.name)));
        }
        check_turn(shape, last, resource, context)?;
        let until = shape.later(now, "policy", resource.arn, CHANGING);
        let id = storage::revision_id(now, last.map(AttachedResourcePolicy::last_revision));
        let next = document.map(|document| (Arc::from(document), id));
        made = Some(id);
        Arc::make_mut(&mut shape.attached).set_policy(AttachedResourcePolicy {
            stream: resource.stream.map(Into::into),
            current: next,
            before: current,
            changed: now,
            until,
        });
        Ok(())
    })?;
    Ok(made)
}

fn check_expected(
    expected: Option<&str>,
    current: Option<&Revision>,
    resource: &ArnResource<'_>,
) -> Result<(), ApiError> {
    let there = current.map(|(_, id)| id.to_string());
    let there = there.as_deref().unwrap_or(NO_POLICY);
    let Some(expected) = expected.filter(|expected| *expected != there) else {
        return Ok(());
    };
    let (kind, name) = match resource.stream {
        Some(label) => ("stream", label),
        None => ("table", resource.table),
    };
    // Recorded for a table (October 2026).
    Err(ApiError::new(
        ErrorKind::PolicyNotFound,
        format!(
            "Resource-based policy not found for the provided ResourceArn: Requested update for policy with revision id {expected}, but the policy associated to target {kind} {name} has revision id {there}."
        ),
    ))
}

/// Rejects a change during the last one and its cooldown.
fn check_turn(
    shape: &TableSettings,
    last: Option<&AttachedResourcePolicy>,
    resource: &ArnResource<'_>,
    context: &Context<'_>,
) -> Result<(), ApiError> {
    let Some(last) = last.filter(|_| shape.takes_time()) else {
        return Ok(());
    };
    let (kind, what, name) = match resource.stream {
        Some(label) => ("Stream", "stream", label),
        None => ("Table", "table", resource.table),
    };
    if context.now < last.until {
        return Err(ApiError::in_use(format_args!(
            "{kind} is pending previous resource-based policy update: {name}"
        )));
    }
    let again = last.changed.plus(COOLDOWN);
    if context.now < again {
        return Err(ApiError::new(
            ErrorKind::Throttling,
            format!(
                "Resource-based policy for {what} {name} modified within the previous 15000 milliseconds. Please try again after {again}."
            ),
        ));
    }
    Ok(())
}
