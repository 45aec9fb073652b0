//! Expressions bound to their placeholders' names and values.

use std::cmp::Ordering;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::ast::{Body, CheckStep, Grammar, Operand, Operator, Parsed, PassedBinding};
use super::cache::Cache;
use super::condition::Condition;
use super::key_condition::KeyCondition;
use super::outline::Outline;
use super::parser;
use super::path::Path;
use super::projection::Projection;
use super::search_condition::SearchCondition;
use super::update::Update;
use super::{ExpressionKind, check, error};
use crate::error::ApiError;
use crate::limits;
use crate::request::Substitutions;
use crate::sort;
use crate::value::size;
use crate::value::{AttributeValue, Name};

const NAMES: &str = "ExpressionAttributeNames";
const VALUES: &str = "ExpressionAttributeValues";
/// With more substitutions than this, placeholders are looked up by hash.
const FEW: usize = 8;
/// With more names than this, static checks are repeated each time.
const FEW_NAMES: usize = 4;

/// A parsed expression and the meaning of its placeholders; `None` for undefined ones, which only the
/// static checks meet.
#[derive(Clone)]
pub(super) struct Bound<'r> {
    pub parsed: Arc<Parsed>,
    pub names: SmallVec<[Option<&'r str>; 4]>,
    pub values: SmallVec<[Option<&'r AttributeValue>; 4]>,
    /// Whether names and types of values are those of the expression's [`PassedBinding`].
    pub is_passed: bool,
}

static NOTHING: AttributeValue = AttributeValue::Null;

impl<'r> Bound<'r> {
    pub(super) fn value(&self, at: u32) -> &'r AttributeValue {
        self.values[at as usize].unwrap_or(&NOTHING)
    }

    /// The value an operand is, if it is a placeholder.
    pub(super) fn constant(&self, operand: Operand) -> Option<&'r AttributeValue> {
        match operand {
            Operand::Value(at) => Some(self.value(at)),
            _ => None,
        }
    }

    pub(super) fn path(&self, operand: Operand) -> Option<Path<'_>> {
        match operand {
            Operand::Path(span) => Some(Path::new(self, span)),
            _ => None,
        }
    }

    /// Runs the static checks, unless they have passed with the same names and types of values: all else that they depend
    /// on is the text.
    pub(super) fn check(&mut self) -> Result<(), String> {
        self.is_passed = self.has_passed();
        if self.is_passed {
            return Ok(());
        }
        check::all(self)?;
        self.keep_passed();
        Ok(())
    }

    fn has_passed(&self) -> bool {
        let Some(passed) = self.parsed.passed.get() else {
            return false;
        };
        let names = self.names.iter().zip(&passed.names);
        let values = self.values.iter().zip(&passed.types);
        names.into_iter().all(|(name, passed)| *name == Some(passed.as_str()))
            && values
                .into_iter()
                .all(|(value, passed)| value.is_some_and(|value| value.kind() == *passed))
    }

    /// Keeps names and types that have passed the static checks, if there are few.
    fn keep_passed(&self) {
        if self.parsed.passed.get().is_some() || self.names.len() > FEW_NAMES || self.values.len() > FEW {
            return;
        }
        // The checks of these look at the values.
        let looks_at_values = |operator| matches!(operator, Operator::Between | Operator::AttributeType);
        if self
            .parsed
            .applications
            .iter()
            .any(|application| looks_at_values(application.operator))
        {
            return;
        }
        let names = self
            .names
            .iter()
            .map(|name| name.map(Name::new).filter(|name| !name.is_heap_allocated()));
        let types = self.values.iter().map(|value| value.map(AttributeValue::kind));
        if let (Some(names), Some(types)) = (names.collect(), types.collect()) {
            let attributes = self.few_attributes();
            // Another request may have been faster.
            let _ = self.parsed.passed.set(PassedBinding {
                names,
                types,
                attributes,
            });
        }
    }

    /// The attributes that the expression uses, each with whether its value is read; `None` if there are many.
    fn few_attributes(&self) -> Option<SmallVec<[(Name, bool); 4]>> {
        let mut names = AttributeNames::new();
        self.add_names(&mut names);
        let attributes = names.iter().zip(&names.read);
        (names.len() <= FEW).then(|| attributes.map(|(name, read)| (Name::new(name), *read)).collect())
    }

    /// Every path of the expression, in the order written.
    pub(super) fn paths(&self) -> impl Iterator<Item = Path<'_>> {
        self.parsed.steps.iter().filter_map(|step| match step {
            CheckStep::Path(span) => Some(Path::new(self, *span)),
            _ => None,
        })
    }

    /// Adds the attributes that operators and functions read, and those that an update changes.
    pub(super) fn add_names<'a>(&'a self, names: &mut AttributeNames<'a>) {
        let passed = self.parsed.passed.get().filter(|_| self.is_passed);
        if let Some(attributes) = passed.and_then(|passed| passed.attributes.as_ref()) {
            attributes.iter().for_each(|(name, read)| names.insert(name, *read));
            return;
        }
        let applications = &self.parsed.applications;
        let added = applications.iter().flat_map(|application| {
            let tests = matches!(
                application.operator,
                Operator::AttributeExists | Operator::AttributeNotExists
            );
            let operands = application.operands.of(&self.parsed.operands);
            let paths = operands.iter().filter_map(|operand| self.path(*operand));
            paths.map(move |path| (path.name(), !tests || path.is_nested()))
        });
        names.extend(applications.len(), added);
        if let Body::Update(actions) = &self.parsed.body {
            let targets = actions.iter().map(|action| Path::new(self, action.target));
            let sources = actions.iter().filter_map(|action| self.path(action.value?));
            names.extend(actions.len(), targets.chain(sources).map(|path| (path.name(), true)));
        }
    }
}

/// The number of operators or actions up to which the names of their attributes are inserted one by one.
const MANY: usize = 64;

/// The names of the attributes that expressions read, sorted and distinct.
#[derive(Default)]
pub struct AttributeNames<'a> {
    names: SmallVec<[&'a str; FEW]>,
    /// Whether the value is read, and not only whether it exists.
    read: SmallVec<[bool; FEW]>,
}

impl<'a> AttributeNames<'a> {
    pub fn new() -> AttributeNames<'a> {
        AttributeNames::default()
    }

    /// Adds an attribute that is read.
    pub fn add(&mut self, name: &'a str) {
        self.insert(name, true);
    }

    /// Adds the attributes of about `count` operators or actions. Legacy parameters can have a hundred thousand: many are
    /// sorted first, so that nothing has to be moved.
    pub(super) fn extend(&mut self, count: usize, added: impl Iterator<Item = (&'a str, bool)>) {
        if count <= MANY {
            added.for_each(|(name, read)| self.insert(name, read));
            return;
        }
        let before = std::mem::take(self);
        let mut all: Vec<_> = before.names.into_iter().zip(before.read).chain(added).collect();
        sort::sort(&mut all);
        all.into_iter().for_each(|(name, read)| self.insert(name, read));
    }

    fn insert(&mut self, name: &'a str, read: bool) {
        let mut at = self.names.len();
        while let Some(before) = at.checked_sub(1) {
            match self.names[before].cmp(name) {
                Ordering::Less => break,
                Ordering::Equal => {
                    self.read[before] |= read;
                    return;
                }
                Ordering::Greater => at = before,
            }
        }
        // Most names are added in order: then nothing has to be moved.
        let end = self.names.len();
        self.names.push(name);
        self.read.push(read);
        for place in (at..end).rev() {
            self.names.swap(place, place + 1);
            self.read.swap(place, place + 1);
        }
    }

    /// Whether the value of the attribute with this position is read.
    pub fn is_read(&self, at: usize) -> bool {
        self.read[at]
    }
}

impl<'a> std::ops::Deref for AttributeNames<'a> {
    type Target = [&'a str];

    fn deref(&self) -> &[&'a str] {
        &self.names
    }
}

/// One of the two maps of substitutions, and which of it has been used.
struct Table<'r, V> {
    entries: &'r [(Name, V)],
    used: SmallVec<[bool; FEW]>,
    /// The position of each placeholder, once there are many.
    index: FxHashMap<&'r str, usize>,
}

impl<'r, V> Table<'r, V> {
    fn new(entries: Option<&'r Vec<(Name, V)>>) -> Table<'r, V> {
        let entries = entries.map(Vec::as_slice).unwrap_or_default();
        let mut index = FxHashMap::default();
        if entries.len() > FEW {
            index.extend(entries.iter().enumerate().map(|(at, (key, _))| (key.as_str(), at)));
        }
        Table {
            entries,
            used: smallvec![false; entries.len()],
            index,
        }
    }

    fn take(&mut self, placeholder: &str) -> Option<&'r V> {
        let at = if self.entries.len() > FEW {
            *self.index.get(placeholder)?
        } else {
            self.entries.iter().position(|(key, _)| key == placeholder)?
        };
        self.used[at] = true;
        Some(&self.entries[at].1)
    }

    fn check_used(&self, member: &str) -> Result<(), ApiError> {
        if self.used.iter().all(|used| *used) {
            return Ok(());
        }
        let unused = self.entries.iter().zip(&self.used).filter(|(_, used)| !**used);
        let mut keys: Vec<&str> = unused.map(|((key, _), _)| key.as_str()).collect();
        sort_by_hash(&mut keys, self.entries.len());
        Err(ApiError::substitutions_unused(member, &keys))
    }
}

/// Sorts keys in the iteration order of a Java `HashSet` that was created from a map of `total` keys (docs/behavior: 02
/// 4).
fn sort_by_hash(keys: &mut [&str], total: usize) {
    let buckets = (total * 4 / 3 + 1).next_power_of_two().max(16) as u32;
    sort::sort_by_key(keys, |key| {
        let units = key.encode_utf16().map(u32::from);
        let hash = units.fold(0_u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit));
        (hash ^ (hash >> 16)) & (buckets - 1)
    });
}

/// The substitutions of one request, or of one action of a transaction, and which of them its expressions have used.
pub struct Bindings<'r> {
    cache: &'r Cache,
    names: Table<'r, Name>,
    values: Table<'r, AttributeValue>,
}

impl<'r> Bindings<'r> {
    /// The scope of these substitutions: checks that neither map is empty, and the syntax and length of each placeholder,
    /// and the size of all together.
    pub fn new(substitutions: &'r Substitutions, cache: &'r Cache) -> Result<Bindings<'r>, ApiError> {
        Bindings::checked(substitutions, cache, false)
    }

    /// As [`Bindings::new`], for PutItem, UpdateItem and DeleteItem: errors have the moved layer's envelope, except for
    /// `… contains invalid key`, which has none.
    pub fn new_enveloped(substitutions: &'r Substitutions, cache: &'r Cache) -> Result<Bindings<'r>, ApiError> {
        Bindings::checked(substitutions, cache, true)
    }

    fn checked(substitutions: &'r Substitutions, cache: &'r Cache, moved: bool) -> Result<Bindings<'r>, ApiError> {
        let envelope = |error: ApiError| if moved { error.enveloped() } else { error };
        if let Some(names) = &substitutions.names {
            if names.is_empty() {
                return Err(envelope(ApiError::substitutions_empty(NAMES)));
            }
            for (key, name) in names {
                check_placeholder(NAMES, key, b'#')?;
                check_aliased(key, name, moved).map_err(envelope)?;
            }
        }
        if let Some(values) = &substitutions.values {
            if values.is_empty() {
                return Err(envelope(ApiError::substitutions_empty(VALUES)));
            }
            values
                .iter()
                .try_for_each(|(key, _)| check_placeholder(VALUES, key, b':'))?;
        }
        check_size(substitutions).map_err(envelope)?;
        Ok(Bindings {
            cache,
            names: Table::new(substitutions.names.as_ref()),
            values: Table::new(substitutions.values.as_ref()),
        })
    }

    /// Checks that a text is not empty, before any other check of the request's expressions.
    pub fn check_not_empty(kind: ExpressionKind, text: &str) -> Result<(), ApiError> {
        if text.is_empty() {
            return Err(error::invalid(kind, error::EMPTY));
        }
        Ok(())
    }

    /// Binds a condition or filter.
    pub fn condition(&mut self, kind: ExpressionKind, text: &str) -> Result<Condition<'r>, ApiError> {
        Ok(Condition::new(self.bind(kind, text)?))
    }

    pub fn update(&mut self, text: &str) -> Result<Update<'r>, ApiError> {
        Ok(Update::new(self.bind(ExpressionKind::Update, text)?))
    }

    pub fn projection(&mut self, text: &str) -> Result<Projection<'r>, ApiError> {
        let kind = ExpressionKind::Projection;
        Projection::new(self.bind(kind, text)?).map_err(|rest| error::invalid(kind, rest))
    }

    pub fn key_condition(&mut self, text: &str) -> Result<KeyCondition<'r>, ApiError> {
        self.key_condition_and_shape(text)?
    }

    /// Binds a key condition; the inner error concerns its structure, and is reported after unused placeholders.
    pub fn key_condition_and_shape(&mut self, text: &str) -> Result<Result<KeyCondition<'r>, ApiError>, ApiError> {
        let bound = self.bind(ExpressionKind::KeyCondition, text)?;
        Ok(KeyCondition::new(&bound))
    }

    pub fn search_condition(&mut self, text: &str) -> Result<SearchCondition<'r>, ApiError> {
        SearchCondition::new(&self.bind(ExpressionKind::SearchCondition, text)?)
    }

    /// Whether every placeholder of the request was used by one of the expressions bound so far; names before values.
    pub fn check_all_used(&self) -> Result<(), ApiError> {
        self.names.check_used(NAMES)?;
        self.values.check_used(VALUES)
    }

    fn bind(&mut self, kind: ExpressionKind, text: &str) -> Result<Bound<'r>, ApiError> {
        Bindings::check_not_empty(kind, text)?;
        if text.len() > limits::EXPRESSION_SIZE {
            return Err(error::too_large(kind, text.len()));
        }
        let invalid = |rest: String| error::invalid(kind, rest);
        let mut bound = self.substitute(self.cache.parse(text, grammar(kind)).map_err(invalid)?);
        bound.check().map_err(invalid)?;
        Ok(bound)
    }

    /// How a text is parsed and bound, and where it fails. Errors of the substitutions themselves are those of [`Bindings::new`].
    pub fn outline(&mut self, kind: ExpressionKind, text: &str) -> Outline<'r> {
        if text.is_empty() {
            return Outline::refused(kind, error::EMPTY, None);
        }
        if text.len() > limits::EXPRESSION_SIZE {
            let refused = error::too_large(kind, text.len());
            return Outline::unparsed(refused.message().unwrap_or_default());
        }
        match parser::parse_with_places(text, grammar(kind)) {
            Ok((parsed, spans)) => Outline::new(kind, self.substitute(Arc::new(parsed)), &spans),
            Err((rest, range)) => Outline::refused(kind, &rest, range),
        }
    }

    fn substitute(&mut self, parsed: Arc<Parsed>) -> Bound<'r> {
        let names = parsed.names.iter();
        let values = parsed.values.iter();
        Bound {
            names: names.map(|key| self.names.take(key).map(Name::as_str)).collect(),
            values: values.map(|key| self.values.take(key)).collect(),
            parsed,
            is_passed: false,
        }
    }
}

fn grammar(kind: ExpressionKind) -> Grammar {
    match kind {
        ExpressionKind::Update => Grammar::Update,
        ExpressionKind::Projection => Grammar::Projection,
        ExpressionKind::Condition
        | ExpressionKind::Filter
        | ExpressionKind::KeyCondition
        | ExpressionKind::SearchCondition => Grammar::Condition,
    }
}

fn check_size(substitutions: &Substitutions) -> Result<(), ApiError> {
    let names = substitutions.names.iter().flatten();
    let names: usize = names.map(|(key, name)| key.len() + name.len()).sum();
    let values = substitutions.values.iter().flatten();
    let values: usize = values.map(|(key, value)| key.len() + at_most(value)).sum();
    if names + values <= limits::SUBSTITUTIONS_SIZE {
        return Ok(());
    }
    let values = substitutions.values.iter().flatten();
    let values: usize = values.map(|(key, value)| size::of_attribute(key, value)).sum();
    let what = if names > limits::SUBSTITUTIONS_SIZE {
        NAMES
    } else if values > limits::SUBSTITUTIONS_SIZE {
        VALUES
    } else if names + values > limits::SUBSTITUTIONS_SIZE {
        "Combined size of ExpressionAttributeNames and ExpressionAttributeValues"
    } else {
        return Ok(());
    };
    Err(ApiError::substitutions_too_large(what))
}

/// The bytes a value counts for, or a little more: the digits of a number are not counted.
fn at_most(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::N(_) => 21,
        _ => size::of_value(value),
    }
}

fn check_aliased(key: &str, name: &str, moved: bool) -> Result<(), ApiError> {
    if name.is_empty() {
        return Err(ApiError::alias_of_empty(key));
    }
    if name.len() > limits::ATTRIBUTE_NAME_SIZE && moved {
        return Err(ApiError::validation(ApiError::LONG_NAME));
    }
    if name.len() > limits::ATTRIBUTE_NAME_SIZE {
        return Err(ApiError::alias_too_large(key));
    }
    Ok(())
}

fn check_placeholder(member: &str, key: &str, prefix: u8) -> Result<(), ApiError> {
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    match key.as_bytes().split_first() {
        Some((first, rest)) if *first == prefix && !rest.is_empty() && rest.iter().all(word) => {}
        _ => return Err(ApiError::placeholder_syntax(member, key)),
    }
    if key.len() > limits::PLACEHOLDER_LENGTH {
        return Err(ApiError::placeholder_too_long(
            member,
            (prefix == b'#').then_some(key.len()),
        ));
    }
    Ok(())
}
