//! The attributes that an item needs to have an entry in an index.

use super::vector;
use crate::error::ApiError;
use crate::key;
use crate::limits;
use crate::schema::{Definition, Index};
use crate::value::Item;

/// Checks that an item that is put can have entries in the indexes of its table.
pub fn check_entries(definition: &Definition, item: &Item) -> Result<(), ApiError> {
    definition
        .indexes()
        .try_for_each(|index| key::check_entry(index, item, false))?;
    let mut vectors = definition.vectors.iter();
    vectors.try_for_each(|index| vector::check(index, item, false))?;
    if with_local_entries(definition, item) > limits::ITEM_SIZE {
        return Err(ApiError::item_too_large());
    }
    Ok(())
}

/// The size of an item and its entries in local indexes, which have to keep to the limit together (Developer Guide,
/// "Quotas", item size). Where they are sure to, only that of the item.
pub fn with_local_entries(definition: &Definition, item: &Item) -> usize {
    let locals = &definition.locals;
    // An entry is never larger than its item.
    if item.size() * (1 + locals.len()) <= limits::ITEM_SIZE {
        return item.size();
    }
    let is_in = |index: &&Index| {
        let mut keys = index.key.attributes();
        keys.all(|key| item.get(&key.name).is_some_and(|value| key.kind.fits(&value)))
    };
    let entry = |index: &Index| index.project(item, &definition.key).size();
    item.size() + locals.iter().filter(is_in).map(entry).sum::<usize>()
}

/// Checks the changes of an update for the indexes of its table. An unchanged value that an index created later could
/// not accept does not block the update.
pub fn check_changed(definition: &Definition, old: Option<&Item>, new: &Item) -> Result<(), ApiError> {
    let changed = |name: &str| old.and_then(|old| old.get(name)) != new.get(name);
    let mut indexes = definition
        .indexes()
        .filter(|index| index.key.attributes().any(|attribute| changed(&attribute.name)));
    indexes.try_for_each(|index| key::check_entry(index, new, true))?;
    let mut vectors = definition.vectors.iter().filter(|index| {
        let mut search = index.search.iter();
        changed(&index.attribute) || search.any(|attribute| changed(&attribute.name))
    });
    vectors.try_for_each(|index| vector::check(index, new, true))
}
