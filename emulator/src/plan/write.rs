//! Writes of one item.

use std::borrow::Cow;

use super::Target;
use super::paths::check_below_keys;
use crate::change;
use crate::error::ApiError;
use crate::expression::{Condition, Target as UpdateTarget, Update};
use crate::key::{self, Key};
use crate::limits;
use crate::schema::{Definition, Index};
use crate::value::{AttributeValue, Item, Map, SentItem};

/// The effect of a write on its item.
pub enum WriteAction<'r> {
    Put(Item),
    /// Creates it, unless it exists.
    Insert(Item),
    /// Changes it, or creates it from its key.
    Update {
        /// The bound expression; without one a missing item is created from its key.
        update: Option<Update<'r>>,
        /// Whether the item's size limit counts the values that the expression writes (UpdateItem) or the finished item
        /// alone (transactions).
        charged: bool,
    },
    Delete,
    Check,
}

/// One entry of the write plan: everything that can be known about a write before its item is read.
pub struct Write<'r> {
    pub target: Target,
    pub key: Key,
    /// The attributes that the request names the item by: its key, or the whole item of a put.
    pub attributes: Cow<'r, Map>,
    pub action: WriteAction<'r>,
    pub condition: Option<Condition<'r>>,
    /// Whether a failed condition returns the item (`ReturnValuesOnConditionCheckFailure: ALL_OLD`).
    pub show_item: bool,
    /// Whether the condition holds for an item that does not exist.
    pub passes_if_missing: bool,
    /// The error of an update that is invalid for every item.
    pub deferred: Option<DeferredError>,
}

/// An error that is known before the item is read, but reported only if the condition holds (docs/behavior: 02 9.4).
pub struct DeferredError {
    pub error: ApiError,
    /// Whether it fails a whole transaction, instead of being the reason of its action.
    pub fails_transaction: bool,
}

impl Write<'_> {
    /// The value of the item's partition key.
    pub fn partition(&self) -> Option<&AttributeValue> {
        self.target.partition_of(&self.attributes)
    }

    /// Reports an update of a key attribute of the table before the condition, as statements do.
    pub fn check_update_keys(&self) -> Result<(), ApiError> {
        match &self.action {
            WriteAction::Update {
                update: Some(update), ..
            } if self.deferred.is_some() => check_update_keys(self.target.definition(), update),
            _ => Ok(()),
        }
    }
}

/// The condition of a write, and whether a failure returns the item.
#[derive(Default)]
pub struct WriteCondition<'r> {
    pub condition: Option<Condition<'r>>,
    pub show_item: bool,
}

/// Plans a put: the item's keys, for the table and its indexes.
pub fn put<'r>(target: Target, sent: &'r SentItem, condition: WriteCondition<'r>) -> Result<Write<'r>, ApiError> {
    whole(target, sent, WriteAction::Put(sent.item.clone()), condition)
}

/// Plans a put of an item that may not exist yet.
pub fn insert(target: Target, sent: &SentItem) -> Result<Write<'_>, ApiError> {
    whole(
        target,
        sent,
        WriteAction::Insert(sent.item.clone()),
        WriteCondition::default(),
    )
}

#[inline(always)]
fn whole<'r>(
    target: Target,
    sent: &'r SentItem,
    action: WriteAction<'r>,
    condition: WriteCondition<'r>,
) -> Result<Write<'r>, ApiError> {
    let definition = target.definition();
    let key = Key::of_item(&definition.key, &sent.attributes)?;
    change::check_entries(definition, &sent.item)?;
    Ok(Write {
        target,
        key,
        attributes: Cow::Borrowed(&sent.attributes),
        action,
        condition: condition.condition,
        show_item: condition.show_item,
        passes_if_missing: false,
        deferred: None,
    })
}

/// Plans a write of an item by its `Key`. The key is checked at once, an update's changes of key attributes after the
/// condition.
pub fn keyed<'r>(
    target: Target,
    key: impl Into<Cow<'r, Map>>,
    action: WriteAction<'r>,
    condition: WriteCondition<'r>,
) -> Result<Write<'r>, ApiError> {
    let attributes = key.into();
    let definition = target.definition();
    let key = Key::of_key(&definition.key, &attributes)?;
    let deferred = match &action {
        WriteAction::Update {
            update: Some(update), ..
        } => check_update(definition, update).err(),
        _ => None,
    };
    let deferred = deferred.map(|error| DeferredError {
        error,
        fails_transaction: false,
    });
    Ok(Write {
        target,
        key,
        attributes,
        action,
        condition: condition.condition,
        show_item: condition.show_item,
        passes_if_missing: false,
        deferred,
    })
}

/// Checks an update against the keys of the table and its indexes, as far as possible without the item.
fn check_update(definition: &Definition, update: &Update<'_>) -> Result<(), ApiError> {
    check_update_keys(definition, update)?;
    check_below_keys(definition, update.paths())?;
    check_update_index_keys(definition, update)
}

/// Checks that an update changes no key attribute of the table.
fn check_update_keys(definition: &Definition, update: &Update<'_>) -> Result<(), ApiError> {
    for target in update.targets() {
        if definition.key.contains(target.path.name()) {
            return Err(ApiError::key_update(target.path.name()));
        }
    }
    Ok(())
}

/// Checks an update of the key attributes of indexes, as far as possible without the item.
fn check_update_index_keys(definition: &Definition, update: &Update<'_>) -> Result<(), ApiError> {
    if !definition.has_indexes() {
        return Ok(());
    }
    for target in update.targets() {
        definition
            .indexes()
            .try_for_each(|index| check_update_index_key(index, &target))?;
    }
    Ok(())
}

fn check_update_index_key(index: &Index, target: &UpdateTarget<'_>) -> Result<(), ApiError> {
    let Some(attribute) = index
        .key
        .attributes()
        .find(|attribute| attribute.name == target.path.name())
    else {
        return Ok(());
    };
    let Some(value) = target.constant else { return Ok(()) };
    if !attribute.kind.fits(value) {
        let (expected, actual) = (attribute.kind.name(), value.type_name());
        return Err(ApiError::index_key_type(&attribute.name, expected, actual, &index.name));
    }
    match key::empty_key_type(value) {
        Some(kind) => Err(ApiError::empty_index_key_update(kind)),
        None => Ok(()),
    }
}

/// Checks the size of an item that is put.
pub fn check_item_size(item: &Item) -> Result<(), ApiError> {
    if item.size() > limits::ITEM_SIZE {
        Err(ApiError::item_too_large())
    } else {
        Ok(())
    }
}
