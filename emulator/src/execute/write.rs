//! The write pipeline, for one item.

use std::sync::Arc;

use super::due;
use super::{Context, Entry, Target};
use crate::change::Change;
use crate::error::ApiError;
use crate::expression::{Condition, Update};
use crate::key::{self, Key};
use crate::limits;
use crate::schema::Index;
use crate::storage::{Contents, Shape};
use crate::value::{AttributeValue, Item, Map};

/// What a write does to its item.
pub enum Action<'r> {
    /// Replaces it.
    Put(Item),
    /// Changes it, or makes it of its key.
    Update {
        /// The bound expression; without one a missing item is made of its key.
        update: Option<Update<'r>>,
        /// The key's attributes.
        key: &'r Map,
        /// Whether the gate counts what the expression writes (UpdateItem) or the finished item alone (transactions).
        charged: bool,
    },
    /// Removes it.
    Delete,
    /// Leaves it, and only looks (ConditionCheck).
    Check,
}

/// One entry of the write plan: everything that can be known about a write before its item is looked at.
pub struct Write<'r> {
    /// The table.
    pub target: Target,
    /// The item's key.
    pub key: Key,
    /// The value of its partition key, for the fault rules.
    pub partition: Option<&'r AttributeValue>,
    /// What is done.
    pub action: Action<'r>,
    /// On which condition.
    pub condition: Option<Condition<'r>>,
    /// Whether a failed condition shows the item (`ReturnValuesOnConditionCheckFailure: ALL_OLD`).
    pub show_item: bool,
}

impl Write<'_> {
    /// The entry as the fault rules see it.
    pub(super) fn entry(&self) -> Entry<'_> {
        Entry {
            table: &self.target.table,
            shape: &self.target.shape,
            index: None,
            partition: self.partition,
            writes: true,
        }
    }

    /// Checks the plan against a shape that is newer than the one it was made for.
    fn replan(&self, shape: &Shape) -> Result<(), ApiError> {
        if shape.deleted_at.is_some() {
            return Err(ApiError::table_not_found());
        }
        if let Action::Put(item) = &self.action {
            shape
                .definition
                .indexes()
                .try_for_each(|index| key::check_entry(index, item.attributes(), false))?;
        }
        Ok(())
    }

    /// Steps two and three: the condition on the current item, which no running transaction holds, and the whole change.
    pub(super) fn change(&self, shape: &Shape, contents: &Contents) -> Result<Change, ApiError> {
        if shape.epoch != self.target.shape.epoch {
            self.replan(shape)?;
        }
        if contents.is_marked(&self.key) {
            return Err(ApiError::transaction_conflict());
        }
        let old = contents.get(&self.key);
        if let Some(condition) = &self.condition
            && !condition.matches(old.map(Item::attributes))
        {
            return Err(ApiError::condition_failed(old.filter(|_| self.show_item).cloned()));
        }
        let new = match &self.action {
            Action::Put(item) => Some(item.clone()),
            Action::Delete => None,
            Action::Check => old.cloned(),
            Action::Update { update, key, charged } => updated(shape, old, update.as_ref(), key, *charged)?,
        };
        Ok(Change::new(&shape.definition, self.key.clone(), old.cloned(), new))
    }

    /// Whether there is anything to apply.
    pub(super) fn changes(&self, change: &Change) -> bool {
        !matches!(self.action, Action::Check) && (change.old.is_some() || change.new.is_some())
    }
}

/// Whether an update has changed the key of an index. A value from before the index was made, which it could not take,
/// stands in nobody's way.
fn touches(index: &Index, old: Option<&Item>, new: &Item) -> bool {
    index
        .key
        .attributes()
        .any(|attribute| old.and_then(|old| old.get(&attribute.name)) != new.get(&attribute.name))
}

/// The finished item of an update, if there is one and it may be stored.
fn updated(
    shape: &Shape,
    old: Option<&Item>,
    update: Option<&Update<'_>>,
    key: &Map,
    charged: bool,
) -> Result<Option<Item>, ApiError> {
    let Some(update) = update else {
        return Ok(Some(old.cloned().unwrap_or_else(|| Item::new(key.clone()))));
    };
    let Some(new) = update.apply(old.map(Item::attributes), key)? else {
        return Ok(None);
    };
    let item = Item::new(new);
    let weighed = charged && update.most_charge(item.size()) > limits::ITEM_SIZE;
    let charge = if weighed { update.charge(item.attributes()) } else { 0 };
    if item.size().max(charge) > limits::ITEM_SIZE {
        return Err(ApiError::updated_item_too_large());
    }
    if shape.definition.has_indexes() {
        shape
            .definition
            .indexes()
            .filter(|index| touches(index, old, &item))
            .try_for_each(|index| key::check_entry(index, item.attributes(), true))?;
    }
    Ok(Some(item))
}

/// Carries out a write of one item. On success the change has happened; otherwise nothing has.
pub fn write(context: &Context<'_>, write: &Write<'_>) -> Result<Change, ApiError> {
    context.judge(&write.entry())?;
    let table = &write.target.table;
    let partition = table.partition(table.partition_of(write.key.token));
    let mut guard = partition.write();
    let mut shape = Arc::clone(&write.target.shape);
    if guard.epoch != shape.epoch {
        // The lock keeps the shape as it is from here on.
        shape = table.shape();
    }
    if partition.is_due(context.now) {
        due::run_locked(table, &shape, partition, Arc::make_mut(&mut guard), context.now);
    }
    let change = write.change(&shape, &guard)?;
    if write.changes(&change) {
        let contents = Arc::make_mut(&mut guard);
        partition.apply(contents, &shape, &change, context.now);
    }
    drop(guard);
    for arm in &change.globals {
        shape.indexes[arm.index].drain_if_long(context.now);
    }
    Ok(change)
}
