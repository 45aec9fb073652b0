//! The lines of an export: a table's items at a moment, or the changes in a span, restricted by the filter.

use crate::context::Context;
use crate::error::ApiError;
use crate::expression::{Bindings, Condition, ExpressionKind, Projection};
use crate::key::{self, Key};
use crate::operation::queries::query;
use crate::operation::queries::reading;
use crate::plan;
use crate::request::FilterSpecification;
use crate::schema::Definition;
use crate::storage::{ItemChange, KeyRange, Snapshot};
use crate::transfer::{ExportRange, Line};
use crate::value::Item;

/// Which items are exported, and which of their attributes.
#[derive(Default)]
pub(super) struct Filter<'r> {
    keys: Option<KeyRange>,
    condition: Option<Condition<'r>>,
    projection: Option<Projection<'r>>,
}

impl<'r> Filter<'r> {
    pub(super) fn new(
        context: &Context<'r>,
        definition: &Definition,
        requested: Option<&'r FilterSpecification>,
    ) -> Result<Filter<'r>, ApiError> {
        let Some(requested) = requested else {
            return Ok(Filter::default());
        };
        let has_values = requested.filter_expression.is_some() || requested.key_condition_expression.is_some();
        let has_any = has_values || requested.projection_expression.is_some();
        let missing = "FilterExpression and KeyConditionExpression are null";
        reading::check_substitutions(&requested.substitutions, has_any, has_values, missing)?;
        let mut scope = Bindings::new(&requested.substitutions, &context.engine.caches().expressions)?;
        let condition = requested.filter_expression.as_ref();
        let condition = condition.map(|text| scope.condition(ExpressionKind::Filter, text));
        let condition = condition.transpose()?;
        let keys = match &requested.key_condition_expression {
            None => None,
            Some(text) => {
                let conditions = scope.key_condition(text)?;
                Some(plan::key_selection(&definition.key, None, &conditions)?.range)
            }
        };
        if let (Some(_), Some(condition)) = (&keys, &condition) {
            query::check_filter_keys(definition, None, condition, false)?;
        }
        let projection = requested.projection_expression.as_ref();
        let projection = projection.map(|text| scope.projection(text)).transpose()?;
        scope.check_all_used()?;
        Ok(Filter {
            keys,
            condition,
            projection,
        })
    }

    fn keeps(&self, key: &Key, item: &Item) -> bool {
        self.keys.as_ref().is_none_or(|keys| keys.contains(key))
            && self
                .condition
                .as_ref()
                .is_none_or(|condition| condition.matches_item(item))
    }

    fn shown(&self, item: &Item) -> Item {
        match &self.projection {
            None => item.clone(),
            Some(projection) => Item::new(&projection.apply_to(item)),
        }
    }
}

/// The lines of each partition, and the billed bytes: those of the table, or of the items that changed.
pub(super) fn of(snapshot: &Snapshot, span: ExportRange, filter: &Filter<'_>) -> (Vec<Vec<Line>>, u64) {
    let mut bytes = 0;
    match span {
        ExportRange::Full(at) => {
            let mut line = |(key, item): (&Key, &Item)| {
                bytes += item.size() as u64;
                filter.keeps(key, item).then(|| Line::Item(filter.shown(item)))
            };
            let parts = snapshot.items_at(at);
            let parts = parts.iter().map(|items| items.iter().filter_map(&mut line).collect());
            (parts.collect(), bytes)
        }
        ExportRange::Incremental { from, to, old_images } => {
            let definition = &snapshot.shape.definition;
            let mut line = |(key, change): &(Key, ItemChange)| {
                let shown = change.new.as_ref().or(change.old.as_ref())?;
                bytes += [&change.new, &change.old]
                    .into_iter()
                    .flatten()
                    .map(|item| item.size() as u64)
                    .sum::<u64>();
                filter.keeps(key, shown).then(|| Line::Change {
                    at: change.at,
                    keys: key::key_attributes(shown, &definition.key, None),
                    old: change
                        .old
                        .as_ref()
                        .filter(|_| old_images)
                        .map(|item| filter.shown(item)),
                    new: change.new.as_ref().map(|item| filter.shown(item)),
                })
            };
            let parts = snapshot.changes(from, to);
            let parts = parts
                .iter()
                .map(|changes| changes.iter().filter_map(&mut line).collect());
            (parts.collect(), bytes)
        }
    }
}
