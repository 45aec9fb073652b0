//! Shared by the operations on tags: checks of tags, the tagged resource, and changes of tags (docs/behavior: 04 8).

pub(super) mod list_tags_of_resource;
pub(super) mod tag_resource;
pub(super) mod untag_resource;

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Moment;
use crate::context::Context;
use crate::error::{ApiError, ErrorKind};
use crate::limits;
use crate::operation::arn::{self, ArnResource};
use crate::request::Tag;
use crate::storage::{Table, TableSettings};
use crate::value::Text;

/// Tags, in the order given.
pub type Tags = Vec<(String, String)>;

/// The duration of a change of tags, outside of `calm` (measured: about 1.5 s).
const SETTLES: Duration = Duration::from_millis(1500);
/// The time before a table is `ACTIVE` at which calls on its tags begin to find it (measured: about a second).
const APPEARS: Duration = Duration::from_secs(1);
/// The time after its deletion for which a table's tags can be read (measured).
const FOUND_AFTER_DELETION: Duration = Duration::from_millis(1600);
const MOST_KEY: usize = 128;
const MOST_VALUE: usize = 256;

/// The tags of a request, each checked.
pub fn read(requested: &[Tag]) -> Result<Tags, ApiError> {
    let mut tags = Tags::new();
    for tag in requested {
        let key = checked_key(tag.key.as_deref())?;
        if key.starts_with("aws:") {
            return Err(ApiError::validation(format!(
                "Tag Key cannot be prefixed with aws:, Key: {key}"
            )));
        }
        let Some(value) = tag.value.as_deref().filter(|value| allowed(value, MOST_VALUE)) else {
            let shown = tag.value.as_deref().unwrap_or("null");
            return Err(ApiError::validation(format!(
                "The Tag Value provided is invalid, Value: {shown}"
            )));
        };
        if tags.iter().any(|(there, _)| there == key) {
            return Err(ApiError::validation(format!(
                "Duplicate Tag Keys provided as input: Duplicate Tag Key found {key}"
            )));
        }
        tags.push((key.to_owned(), value.to_owned()));
    }
    check_count(tags.len())?;
    Ok(tags)
}

/// Checks the length and the characters of a key.
pub fn checked_key(key: Option<&str>) -> Result<&str, ApiError> {
    key.filter(|key| !key.is_empty() && allowed(key, MOST_KEY))
        .ok_or_else(|| {
            let shown = key.unwrap_or("null");
            ApiError::validation(format!("The Tag Key provided is invalid, Key: {shown}"))
        })
}

/// Whether a text has only characters allowed in tags, and at most `most`.
fn allowed(text: &str, most: usize) -> bool {
    text.chars().count() <= most
        && text
            .chars()
            .all(|each| each.is_alphanumeric() || each.is_whitespace() || "_.:/=+-@".contains(each))
}

/// Checks the number of tags of a resource or of a request.
pub fn check_count(tags: usize) -> Result<(), ApiError> {
    if tags > limits::TAGS {
        return Err(ApiError::validation(
            "Number of Tags exceed the current limit for the provided ResourceArn",
        ));
    }
    Ok(())
}

/// Checks a `ResourceArn`: of the caller's region, and of its account unless access policies decide about other accounts.
pub fn resource<'r>(context: &Context<'_>, arn: Option<&'r Text>) -> Result<ArnResource<'r>, ApiError> {
    let resource = arn::resource(arn)?;
    let arn = resource.arn;
    if resource.is_elsewhere(context) {
        return Err(ApiError::validation(format!(
            "Invalid TableArn: Invalid ResourceArn provided as input {arn}"
        )));
    }
    if resource.is_foreign(context) && context.identity().is_none() {
        return Err(ApiError::not_authorized(context.account, context.operation, arn));
    }
    Ok(resource)
}

/// The table that a resource is or belongs to. One that is being created is found only at the very end, without tags.
pub fn table(context: &Context<'_>, resource: &ArnResource<'_>) -> Result<Arc<Table>, ApiError> {
    let now = context.now;
    let appears = |shape: &TableSettings| now.plus(APPEARS) >= shape.active_at && !shape.is_restoring(now);
    let there = |shape: &TableSettings| {
        appears(shape) && (shape.deleted_at.is_none() || shape.is_found_after_deletion(now, FOUND_AFTER_DELETION))
    };
    let found = context
        .engine
        .catalog()
        .table(&context.scope_of(resource.arn), resource.table);
    found
        .filter(|table| table.arn == resource.table_arn() && there(&table.shape()))
        .filter(|table| !table.is_replica() || now >= table.shape().active_at)
        .filter(|_| resource.stream.is_none() || resource.is_stream(context))
        .ok_or_else(|| {
            ApiError::new(
                ErrorKind::ResourceNotFound,
                format!("Requested resource not found: ResourceArn: {} not found", resource.arn),
            )
        })
}

/// The tags of a table, or of its stream with this label. Tags given at creation are visible once the table is active.
pub fn of<'s>(shape: &'s TableSettings, stream: Option<&str>, now: Moment) -> &'s [(String, String)] {
    match stream {
        None if now < shape.active_at => &[],
        None => &shape.definition.tags,
        Some(label) => shape.attached.stream_tags.get(label).map_or(&[], Vec::as_slice),
    }
}

/// Changes the tags of a table or of its stream with this label. A change without effect takes no time, even while
/// another is pending, and one that repeats the pending tags need not wait for it (measured).
pub fn change(
    context: &Context<'_>,
    table: &Table,
    stream: Option<&str>,
    given: &Tags,
    edit: impl FnOnce(&mut Tags) -> Result<(), ApiError>,
) -> Result<(), ApiError> {
    let now = context.now;
    table.reshape(now, |shape| {
        if shape.deleted_at.is_some() {
            return Err(ApiError::in_use(format_args!("Table is being deleted: {}", table.name)));
        }
        let there = of(shape, stream, now);
        let mut tags = there.to_vec();
        edit(&mut tags)?;
        if tags == there {
            return Ok(());
        }
        if now < shape.active_at {
            return Err(ApiError::in_use(format_args!("Table is being created: {}", table.name)));
        }
        let before = &shape.recent.tagged;
        let repeats = !before.is_empty() && before.iter().all(|tag| given.contains(tag));
        if are_settling(shape, now) && !repeats {
            return Err(ApiError::subscriber_limit(format_args!(
                "Table tags are being updated: {}",
                table.name
            )));
        }
        shape.recent.tags = Some(now);
        shape.recent.tagged.clone_from(given);
        match stream {
            None => Arc::make_mut(&mut shape.definition).tags = tags,
            Some(label) => drop(
                Arc::make_mut(&mut shape.attached)
                    .stream_tags
                    .insert(label.into(), tags),
            ),
        }
        Ok(())
    })?;
    Ok(())
}

/// Whether the last change of a table's tags is still pending.
pub fn are_settling(shape: &TableSettings, now: Moment) -> bool {
    shape.takes_time() && shape.recent.tags.is_some_and(|last| last.plus(SETTLES) > now)
}
