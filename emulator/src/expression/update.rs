//! Updates: compute the new item from the old one.
//!
//! Every right side and every path is read in the item as it was, so the order of actions does not matter: two targets
//! never overlap, and positions in lists are those of the old lists. Lists change their length after all other changes,
//! first by what is appended, then by what is removed, the last position first.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::ast::{Body, Clause, Operand, Operator, Span, UpdateAction};
use super::bind::{AttributeNames, Bound};
use super::path::{Path, PathElement, step};
use super::projection::project_item;
use crate::error::ApiError;
use crate::limits;
use crate::number::Number;
use crate::sort;
use crate::value::size;
use crate::value::{AttributeValue, Item, Map, Name};

/// An update bound to a request's names and values.
#[derive(Clone)]
pub struct Update<'r> {
    bound: Bound<'r>,
    /// Of the legacy AttributeUpdates: ADD also appends to lists, and a stored value of another type has its own error.
    legacy: bool,
}

/// The target of one action of an update.
pub struct Target<'u> {
    /// The path that is changed.
    pub path: Path<'u>,
    pub clause: Clause,
    /// For SET, the value, if it is a constant.
    pub constant: Option<&'u AttributeValue>,
}

/// The number of actions up to which the sizes of their values are not added up. Each value is at most as large as two items.
const UNMEASURED_ACTIONS: usize = 16;
/// The most bytes that the values of an update may have together. The finished item contains each of them, so it is far over
/// its limit; `SET a = l, b = l, ...` would otherwise take gigabytes of memory before it is measured.
const MOST_PRODUCED: usize = 4 * limits::ITEM_SIZE;

/// A new value for a target; `None` removes the target.
type Outcome<'a> = Option<Cow<'a, AttributeValue>>;

/// The attributes that an update sets or removes (`None`), sorted by name.
pub type Changes<'a> = SmallVec<[(&'a str, Outcome<'a>); 4]>;

impl<'r> Update<'r> {
    pub(super) fn new(bound: Bound<'r>) -> Update<'r> {
        Update { bound, legacy: false }
    }

    pub(super) fn new_legacy(bound: Bound<'r>) -> Update<'r> {
        Update { bound, legacy: true }
    }

    fn actions(&self) -> &[UpdateAction] {
        match &self.bound.parsed.body {
            Body::Update(actions) => actions,
            _ => &[],
        }
    }

    fn path(&self, span: Span) -> Path<'_> {
        Path::new(&self.bound, span)
    }

    /// The changes of the update, in the order in which they are written.
    pub fn targets(&self) -> impl Iterator<Item = Target<'_>> {
        self.actions().iter().map(|action| Target {
            path: self.path(action.target),
            clause: action.clause,
            constant: action
                .value
                .filter(|_| action.clause == Clause::Set)
                .and_then(|value| self.bound.constant(value)),
        })
    }

    /// Every path that the update changes or reads, in the order written.
    pub fn paths(&self) -> impl Iterator<Item = Path<'_>> {
        self.bound.paths()
    }

    /// Whether the update creates an item if there is none: one that only removes does not.
    pub fn creates(&self) -> bool {
        let actions = self.actions();
        actions.is_empty() || actions.iter().any(|action| adds_attributes(action.clause))
    }

    /// The item after the update; `None` if there was none and none is created. A new item starts from `key`.
    pub fn apply(&self, old: Option<&Map>, key: &Map) -> Result<Option<Map>, ApiError> {
        if old.is_none() && !self.creates() {
            return Ok(None);
        }
        let base = old.unwrap_or(key);
        let changes = self.changes_of(base, old.is_some())?;
        Ok(Some(merged(base, changes)))
    }

    /// What the update makes of the attributes of an item that exists.
    pub fn changes<'a>(&'a self, old: &'a Map) -> Result<Changes<'a>, ApiError> {
        self.changes_of(old, true)
    }

    fn changes_of<'a>(&'a self, base: &'a Map, exists: bool) -> Result<Changes<'a>, ApiError> {
        let set = self.actions().iter().filter(|action| action.clause == Clause::Set);
        for path in set.map(|action| self.path(action.target)).filter(Path::is_nested) {
            locate(&path, base)?; // a target that cannot be set is reported before a missing operand
        }
        let mut changes = Changes::new();
        let mut inside = InnerChanges::default();
        let mut produced = 0;
        for action in self.actions() {
            if !exists && !adds_attributes(action.clause) {
                continue; // nothing is there to be removed, whatever the path
            }
            let path = self.path(action.target);
            let here = locate(&path, base)?;
            let outcome = self.outcome(action, here, base)?;
            if self.actions().len() > UNMEASURED_ACTIONS {
                produced += outcome.as_deref().map_or(0, size::of_value);
                if produced > MOST_PRODUCED {
                    return Err(ApiError::updated_item_too_large());
                }
            }
            // What a path of n elements leads to stands inside of n - 1 maps and lists.
            let depth = |value: &AttributeValue| path.len().saturating_sub(1) + value.depth();
            if outcome.as_deref().is_some_and(|value| depth(value) > limits::NESTING) {
                return Err(ApiError::validation(ApiError::NESTING_STORED));
            }
            if path.is_nested() {
                inside.add(path, here.is_some(), outcome);
            } else {
                changes.push((path.name(), outcome));
            }
        }
        inside.finish(base, &mut changes);
        sort::sort_by(&mut changes, |left, right| left.0.cmp(right.0));
        Ok(changes)
    }

    /// The result of an action on the current value of its target.
    fn outcome<'a>(
        &'a self,
        action: &UpdateAction,
        here: Option<&'a AttributeValue>,
        base: &'a Map,
    ) -> Result<Outcome<'a>, ApiError> {
        let Some(value) = action.value else {
            return Ok(None);
        };
        match action.clause {
            Clause::Set => self.evaluate(value, base).map(Some),
            Clause::Remove => Ok(None),
            Clause::Add => {
                let operand = self.evaluate(value, base)?;
                match here {
                    None => Ok(Some(operand)),
                    Some(here) => self.added(here, &operand).map(|sum| Some(Cow::Owned(sum))),
                }
            }
            Clause::Delete => {
                let operand = self.evaluate(value, base)?;
                let left = here.map(|here| self.removed(here, &operand)).transpose()?;
                Ok(left.flatten().map(Cow::Owned))
            }
        }
    }

    fn mismatch(&self) -> ApiError {
        if self.legacy {
            ApiError::update_type_mismatch()
        } else {
            ApiError::operand_type()
        }
    }

    fn added(&self, here: &AttributeValue, operand: &AttributeValue) -> Result<AttributeValue, ApiError> {
        match (here, operand) {
            (AttributeValue::N(left), AttributeValue::N(right)) => {
                left.plus(*right).map(AttributeValue::N).map_err(ApiError::arithmetic)
            }
            (AttributeValue::Ss(left), AttributeValue::Ss(right)) => Ok(AttributeValue::Ss(union(left, right))),
            (AttributeValue::Ns(left), AttributeValue::Ns(right)) => Ok(AttributeValue::Ns(union(left, right))),
            (AttributeValue::Bs(left), AttributeValue::Bs(right)) => Ok(AttributeValue::Bs(union(left, right))),
            // Only from the legacy parameters: ADD in an expression rejects lists.
            (AttributeValue::L(left), AttributeValue::L(right)) => Ok(appended(left, right)),
            _ => Err(self.mismatch()),
        }
    }

    /// What DELETE leaves of a set.
    fn removed(&self, here: &AttributeValue, operand: &AttributeValue) -> Result<Option<AttributeValue>, ApiError> {
        match (here, operand) {
            (AttributeValue::Ss(here), AttributeValue::Ss(operand)) => Ok(rest(here, operand, AttributeValue::Ss)),
            (AttributeValue::Ns(here), AttributeValue::Ns(operand)) => Ok(rest(here, operand, AttributeValue::Ns)),
            (AttributeValue::Bs(here), AttributeValue::Bs(operand)) => Ok(rest(here, operand, AttributeValue::Bs)),
            _ => Err(self.mismatch()),
        }
    }

    /// The value of a right side: a path, a placeholder, or the result of a function or arithmetic. Those occur in
    /// each other only in statements, and no deeper than an expression has operators.
    fn evaluate<'a>(&'a self, mut operand: Operand, base: &'a Map) -> Result<Cow<'a, AttributeValue>, ApiError> {
        loop {
            let at = match operand {
                Operand::Value(at) => return Ok(Cow::Borrowed(self.bound.value(at))),
                Operand::Path(span) => {
                    let found = self.path(span).find(base).ok_or_else(ApiError::missing_operand)?;
                    return Ok(Cow::Borrowed(found));
                }
                Operand::Nested(at) => at,
            };
            let &[first, second] = self.bound.parsed.operands(at) else {
                return Err(ApiError::missing_operand());
            };
            match (self.bound.parsed.application(at).operator, first) {
                (operator @ (Operator::Plus | Operator::Minus), _) => {
                    let left = number(&*self.evaluate(first, base)?)?;
                    let right = number(&*self.evaluate(second, base)?)?;
                    let result = if operator == Operator::Plus {
                        left.plus(right)
                    } else {
                        left.minus(right)
                    };
                    let number = result.map_err(ApiError::arithmetic)?;
                    return Ok(Cow::Owned(AttributeValue::N(number)));
                }
                (Operator::ListAppend, _) => {
                    let left = self.evaluate(first, base)?;
                    let left = list(&left)?;
                    let right = self.evaluate(second, base)?;
                    return Ok(Cow::Owned(appended(left, list(&right)?)));
                }
                // Its second operand counts only if the path leads nowhere.
                (Operator::IfNotExists, Operand::Path(span)) => match self.path(span).find(base) {
                    Some(value) => return Ok(Cow::Borrowed(value)),
                    None => operand = second,
                },
                _ => return Err(ApiError::missing_operand()),
            }
        }
    }

    /// Adds the attributes that the update reads or changes.
    pub fn add_names<'a>(&'a self, names: &mut AttributeNames<'a>) {
        self.bound.add_names(names);
    }

    /// The part of the old or the new item that the update's paths address: UPDATED_OLD and UPDATED_NEW.
    pub fn touched(&self, item: &Item) -> Map {
        let mut paths: SmallVec<[Path<'_>; 8]> = self.actions().iter().map(|action| self.path(action.target)).collect();
        sort::sort(&mut paths);
        project_item(item, &paths)
    }

    /// Whether [`Update::charge`] may be over the limit for a finished item of `size` bytes: far from it, it need not be
    /// known.
    pub fn may_be_overcharged(&self, size: usize) -> bool {
        3 + 20 * self.actions().len() + size > limits::ITEM_SIZE
    }

    /// What UpdateItem weighs against the item's limit besides the item itself: 3, and 19 for each SET or ADD (20 at a
    /// position of a list), 2 for each REMOVE or DELETE, and the attributes written (measured, eu-west-2, 2026-08).
    pub fn charge(&self, new: &Item) -> usize {
        let mut names: SmallVec<[&str; 8]> = SmallVec::new();
        let mut charge = 3;
        for target in self.targets() {
            let at_position = matches!(target.path.split_last(), Some((_, PathElement::Index(_))));
            charge += if adds_attributes(target.clause) {
                19 + usize::from(at_position)
            } else {
                2
            };
            names.push(target.path.name());
        }
        sort::sort(&mut names);
        names.dedup();
        let written = new.pick(&names);
        let sizes = written.iter().map(|(name, value)| size::of_attribute(name, value));
        charge + sizes.sum::<usize>()
    }
}

/// Whether a section makes attributes, rather than takes them away.
fn adds_attributes(clause: Clause) -> bool {
    matches!(clause, Clause::Set | Clause::Add)
}

/// The value at a path; an error if the path's parent is missing or has another type.
fn locate<'m>(path: &Path<'_>, base: &'m Map) -> Result<Option<&'m AttributeValue>, ApiError> {
    let Some((parent, last)) = path.split_last().filter(|_| path.is_nested()) else {
        return Ok(base.get(path.name()));
    };
    let parent = parent.find(base).ok_or_else(ApiError::document_path)?;
    match (parent, last) {
        (AttributeValue::M(_), PathElement::Name(_)) | (AttributeValue::L(_), PathElement::Index(_)) => {
            Ok(step(parent, last))
        }
        _ => Err(ApiError::document_path()),
    }
}

fn number(value: &AttributeValue) -> Result<Number, ApiError> {
    match value {
        AttributeValue::N(number) => Ok(*number),
        _ => Err(ApiError::operand_type()),
    }
}

fn list(value: &AttributeValue) -> Result<&[AttributeValue], ApiError> {
    match value {
        AttributeValue::L(list) => Ok(list),
        _ => Err(ApiError::operand_type()),
    }
}

fn appended(left: &[AttributeValue], right: &[AttributeValue]) -> AttributeValue {
    AttributeValue::L(left.iter().chain(right).cloned().collect())
}

/// The union of sorted sets.
fn union<T: Ord + Clone>(left: &[T], right: &[T]) -> Vec<T> {
    let mut all: Vec<T> = left.iter().chain(right).cloned().collect();
    sort::sort_unique(&mut all);
    all
}

/// A sorted set without the members of another; `None` if nothing is left.
fn rest<T: Ord + Clone>(here: &[T], operand: &[T], set: fn(Vec<T>) -> AttributeValue) -> Option<AttributeValue> {
    let kept = here.iter().filter(|member| operand.binary_search(member).is_err());
    let kept: Vec<T> = kept.cloned().collect();
    (!kept.is_empty()).then(|| set(kept))
}

/// The changes of an update inside of attributes, grouped by the order in which they are made.
#[derive(Default)]
struct InnerChanges<'a> {
    /// What is there already, or new names in maps.
    inner: Vec<(Path<'a>, Cow<'a, AttributeValue>)>,
    /// Positions past the ends of lists.
    appended: Vec<(Path<'a>, Cow<'a, AttributeValue>)>,
    removed: Vec<Path<'a>>,
}

impl<'a> InnerChanges<'a> {
    fn add(&mut self, path: Path<'a>, exists: bool, outcome: Outcome<'a>) {
        let is_position = matches!(path.split_last(), Some((_, PathElement::Index(_))));
        match outcome {
            Some(value) if !exists && is_position => self.appended.push((path, value)),
            Some(value) => self.inner.push((path, value)),
            None if exists => self.removed.push(path),
            None => {}
        }
    }

    /// Makes the changes on copies of the attributes, and adds those to the changes of whole attributes.
    fn finish(mut self, base: &Map, changes: &mut Changes<'a>) {
        if self.inner.is_empty() && self.appended.is_empty() && self.removed.is_empty() {
            return;
        }
        let written = self.inner.iter().chain(&self.appended).map(|(path, _)| path);
        let mut names: Vec<&'a str> = written.chain(&self.removed).map(Path::name).collect();
        sort::sort_unique(&mut names);
        names.retain(|name| base.contains(name));
        let copies = names.iter().zip(names.iter().filter_map(|name| base.get(name)));
        let mut map: Map = copies.map(|(name, value)| (Name::new(name), value.clone())).collect();
        for (path, value) in self.inner.drain(..) {
            match inside(&mut map, &path) {
                Some((AttributeValue::M(parent), PathElement::Name(name))) => {
                    parent.insert(Name::new(name), value.into_owned());
                }
                Some((AttributeValue::L(parent), PathElement::Index(index))) => {
                    if let Some(there) = parent.get_mut(index) {
                        *there = value.into_owned();
                    }
                }
                _ => {}
            }
        }
        sort::sort_by(&mut self.appended, |left, right| left.0.cmp(&right.0));
        for (path, value) in self.appended.drain(..) {
            if let Some((AttributeValue::L(parent), _)) = inside(&mut map, &path) {
                parent.push(value.into_owned());
            }
        }
        // The deepest first, so that no path's way is moved; then what one parent loses, in one sweep.
        sort::sort_by(&mut self.removed, |left, right| {
            right.len().cmp(&left.len()).then_with(|| left.cmp(right))
        });
        let parent = |path: &Path<'a>| path.split_last().map(|(parent, _)| parent);
        for group in self.removed.chunk_by(|left, right| parent(left) == parent(right)) {
            remove(&mut map, group);
        }
        let values = map.into_iter().map(|(_, value)| Some(Cow::Owned(value)));
        changes.extend(names.into_iter().zip(values));
    }
}

/// The map or list a nested path's last element is in, and that element.
fn inside<'m, 'a>(map: &'m mut Map, path: &Path<'a>) -> Option<(&'m mut AttributeValue, PathElement<'a>)> {
    let (parent, last) = path.split_last()?;
    Some((parent.find_mut(map)?, last))
}

/// Takes out what paths with one parent lead to; positions come in their order.
fn remove<'a>(map: &mut Map, paths: &[Path<'a>]) {
    let last = |path: &Path<'a>| path.split_last().map(|(_, last)| last);
    match paths.first().and_then(|path| inside(map, path)) {
        Some((AttributeValue::M(parent), _)) => {
            for path in paths {
                if let Some(PathElement::Name(name)) = last(path) {
                    parent.remove(name);
                }
            }
        }
        Some((AttributeValue::L(parent), _)) => {
            let mut gone = paths.iter().filter_map(last).peekable();
            let mut at = 0;
            parent.retain(|_| {
                let keep = gone.next_if_eq(&PathElement::Index(at)).is_none();
                at += 1;
                keep
            });
        }
        _ => {}
    }
}

/// The attributes of `base` with those of `changes`, sorted by name, put in or taken away. What is replaced is not
/// copied first.
fn merged(base: &Map, changes: Changes<'_>) -> Map {
    let mut entries = Vec::with_capacity(base.len() + changes.len());
    let mut old = base.iter().peekable();
    for (name, outcome) in changes {
        while let Some((before, value)) = old.next_if(|(before, _)| before.as_str() < name) {
            entries.push((before.clone(), value.clone()));
        }
        let replaced = old.next_if(|(same, _)| same.as_str() == name);
        if let Some(value) = outcome {
            let name = replaced.map_or_else(|| Name::new(name), |(name, _)| name.clone());
            entries.push((name, value.into_owned()));
        }
    }
    entries.extend(old.cloned());
    Map::from_entries(entries)
}
