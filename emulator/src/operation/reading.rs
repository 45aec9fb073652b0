//! What the reading operations share: projections, and the pages of Query and Scan.

use super::check::{self, Report, words};
use super::output;
use crate::capacity::{Consumed, units};
use crate::error::{ApiError, Violations, constraint};
use crate::execute::{self, Context, Entry, Source};
use crate::expression::{Cache, Condition, Path, Projection, Scope, legacy};
use crate::key::{self, Key};
use crate::plan::{self, Target};
use crate::request::{LegacyCondition, Substitutions};
use crate::schema::{Definition, Index, Projection as IndexProjection};
use crate::storage::{KeyRange, Page, PageLimit, Walk};
use crate::value::{AttributeValue, Item, Map, Name, Text};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// Lowers `QueryFilter` or `ScanFilter` and `ConditionalOperator`, if either is there.
pub fn filter<'r>(
    member: &str,
    filter: Option<&'r Vec<(Name, LegacyCondition)>>,
    operator: Option<&Text>,
) -> Result<Option<Condition<'r>>, ApiError> {
    if filter.is_none() && operator.is_none() {
        return Ok(None);
    }
    legacy::filter(member, filter, operator.map(Text::as_str)).map(Some)
}

/// Names need any expression, and values one that takes them; `missing` says which of those there are.
pub fn check_substitutions(
    substitutions: &Substitutions,
    has_any: bool,
    has_values: bool,
    missing: &str,
) -> Result<(), ApiError> {
    check::substitutions_need_expression(substitutions, has_any, Some(missing))?;
    if substitutions.values.is_some() && !has_values {
        return Err(ApiError::values_without_expression(Some(missing)));
    }
    Ok(())
}

/// Lowers `AttributesToGet`, if it is there.
pub fn attributes_to_get(names: Option<&[Name]>) -> Result<Option<Projection<'_>>, ApiError> {
    names.map(legacy::attributes_to_get).transpose()
}

/// The projection of a request that has no other expression. All of its faults come before the table lookup.
pub fn projection<'r>(
    substitutions: &'r Substitutions,
    text: Option<&'r Text>,
    cache: &'r Cache,
) -> Result<Option<Projection<'r>>, ApiError> {
    let Some(text) = text else { return Ok(None) };
    let mut scope = Scope::new(substitutions, cache)?;
    let projection = scope.projection(text)?;
    scope.check_all_used()?;
    Ok(Some(projection))
}

/// Appends an item, or what a projection leaves of it.
pub fn item(answer: &mut Object<'_>, name: &'static str, item: &Item, projection: Option<&Projection<'_>>) {
    match projection {
        None => answer.item(name, item),
        Some(projection) => answer.map(name, &projection.apply_to(item)),
    }
}

/// `Select`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the API's own words
pub enum Select {
    AllAttributes,
    AllProjectedAttributes,
    SpecificAttributes,
    Count,
}

/// `Select`, which must be a word it knows.
pub fn known_select(faults: &mut Violations, word: Option<&Text>) -> Option<Select> {
    Some(match word.map(Text::as_str) {
        None => return None,
        Some("ALL_ATTRIBUTES") => Select::AllAttributes,
        Some("ALL_PROJECTED_ATTRIBUTES") => Select::AllProjectedAttributes,
        Some("SPECIFIC_ATTRIBUTES") => Select::SpecificAttributes,
        Some("COUNT") => Select::Count,
        Some(other) => {
            faults.value(other, "select", constraint::one_of(words::SELECT));
            return None;
        }
    })
}

/// Checks `Select` against the other members.
pub fn check_select(
    select: Option<Select>,
    projection: Option<&Text>,
    attributes_to_get: bool,
    on_index: bool,
) -> Result<(), ApiError> {
    let named = if projection.is_some() {
        Some("ProjectionExpression")
    } else if attributes_to_get {
        Some("AttributesToGet")
    } else {
        None
    };
    let text = match (select, named) {
        (Some(Select::SpecificAttributes), None) => {
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
                .to_owned()
        }
        (Some(Select::Count), Some(named)) => {
            format!("Cannot specify the {named} when choosing to get only the Count")
        }
        (Some(Select::AllAttributes), Some(named)) => {
            format!("Cannot specify the {named} when choosing to get ALL_ATTRIBUTES")
        }
        (Some(Select::AllProjectedAttributes), Some(named)) => {
            format!("Cannot specify the {named} when choosing to get ALL_PROJECTED_ATTRIBUTES")
        }
        (Some(Select::AllProjectedAttributes), None) if !on_index => {
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName".to_owned()
        }
        _ => return Ok(()),
    };
    Err(ApiError::validation(text))
}

/// Checks what is asked of an index: consistency and attributes that it can give.
pub fn check_index(index: Option<&Index>, consistent: bool, select: Option<Select>) -> Result<(), ApiError> {
    let Some(index) = index.filter(|index| !index.local) else {
        return Ok(());
    };
    if consistent {
        return Err(ApiError::validation(
            "Consistent reads are not supported on global secondary indexes",
        ));
    }
    if select == Some(Select::AllAttributes) && index.projection != IndexProjection::All {
        return Err(ApiError::invalid(format_args!(
            "Select type ALL_ATTRIBUTES is not supported for global secondary index {} because its projection type is not ALL",
            index.name
        )));
    }
    Ok(())
}

/// A filter's path that goes on below a key attribute, of the table or of the index that is read.
pub fn check_below_keys(definition: &Definition, index: Option<&Index>, path: Path<'_>) -> Result<(), ApiError> {
    let name = path.name();
    if !path.is_nested() {
        return Ok(());
    }
    if definition.key.contains(name) {
        return Err(ApiError::path_below_key(false, name));
    }
    match index {
        Some(index) if index.key.contains(name) => Err(ApiError::path_below_key(true, name)),
        _ => Ok(()),
    }
}

/// The place that an `ExclusiveStartKey` names, which must be a key of what is read; `unfit` is the error of one that is
/// not.
pub fn start_key(
    target: &Target,
    index: Option<&Index>,
    start: Option<&Map>,
    unfit: fn() -> ApiError,
) -> Result<Option<Key>, ApiError> {
    let Some(start) = start else { return Ok(None) };
    let found = plan::start_key(target.definition(), index, start).ok_or_else(unfit)?;
    let mut attributes = start.iter();
    let empty = attributes.find_map(|(name, value)| Some(ApiError::empty_start_key(name, key::emptiness(value)?)));
    empty.map_or(Ok(Some(found)), Err)
}

/// A page to be read, planned.
pub struct PageRead<'t, 'r> {
    /// The table.
    pub target: &'t Target,
    /// Where it is read.
    pub source: Source,
    /// The index, if one is read.
    pub index: Option<&'t Index>,
    /// Which keys.
    pub range: KeyRange,
    /// In which order.
    pub forward: bool,
    /// `Limit`.
    pub limit: Option<i64>,
    /// Whether it is a consistent read, and costs as one.
    pub consistent: bool,
    /// What stays.
    pub filter: Option<Condition<'r>>,
    /// What of it.
    pub projection: Option<Projection<'r>>,
    /// `Select`.
    pub select: Option<Select>,
    /// `ReturnConsumedCapacity`.
    pub report: Report,
    /// The value of the partition key, if one is read.
    pub partition: Option<&'r AttributeValue>,
}

impl PageRead<'_, '_> {
    /// Whether a local index is asked for what it does not project, so that the items are fetched from the table.
    fn fetches(&self) -> bool {
        let Some(index) = self.index.filter(|index| index.local) else {
            return false;
        };
        if index.projection == IndexProjection::All {
            return false;
        }
        let table = &self.target.definition().key;
        match &self.projection {
            Some(projection) => projection.top_level_names().any(|name| !index.projects(name, table)),
            None => self.select == Some(Select::AllAttributes),
        }
    }

    /// The page as the fault rules see it, and as it is paid for.
    fn entry(&self) -> Entry<'_> {
        Entry {
            table: &self.target.table,
            shape: &self.target.shape,
            index: self.index.map(|index| index.name.as_str()),
            partition: self.partition,
            writes: false,
        }
    }

    /// Reads the page and appends the answer.
    pub fn run(self, context: &Context<'_>, out: &mut Writer) -> Result<(), ApiError> {
        let limit = PageLimit::new(self.limit.and_then(|limit| usize::try_from(limit).ok()));
        let table_key = &self.target.definition().key;
        let fetch = self.fetches().then_some(table_key);
        let walk = Walk {
            range: &self.range,
            forward: self.forward,
            limit,
            fetch,
        };
        let page = page(
            context,
            &self.entry(),
            self.target,
            (self.source, self.index),
            &walk,
            self.consistent,
        )?;
        let last = page.items.last().filter(|_| page.cut).cloned();
        let consumed = (self.report != Report::None).then(|| {
            consumed(
                &self.target.asked_name(),
                self.index,
                self.consistent,
                page.bytes,
                &page.bases,
            )
        });
        let scanned = page.items.len();
        let bytes = page.bytes;
        let shown = if fetch.is_some() { page.bases } else { page.items };
        // The items' JSON is a little longer than their size.
        if self.select != Some(Select::Count) && self.projection.is_none() {
            out.reserve(bytes + bytes / 4 + 256);
        }
        let mut answer = Object::open(out);
        let mut count = 0;
        if self.select == Some(Select::Count) {
            count = shown.iter().filter(|item| self.keeps(item)).count();
        } else {
            let mut items = answer.list("Items");
            for item in shown.iter().filter(|item| self.keeps(item)) {
                count += 1;
                match &self.projection {
                    None => items.item(item),
                    Some(projection) => items.map(&projection.apply_to(item)),
                }
            }
            items.close();
        }
        context.tell(|draft| draft.answer_of_range(&self.target.table.name, count as u64));
        answer.integer("Count", count as i64);
        answer.integer("ScannedCount", scanned as i64);
        if let Some(last) = last {
            answer.map("LastEvaluatedKey", &key::key_attributes(&last, table_key, self.index));
        }
        if let Some(consumed) = consumed.filter(|_| self.report != Report::None) {
            output::consumed_capacity(answer.member("ConsumedCapacity"), &consumed, self.report);
        }
        answer.close();
        Ok(())
    }

    fn keeps(&self, item: &Item) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.matches_item(item))
    }
}

/// Reads a page under the fault rules and, where capacity is enforced, if there is some, and pays for it afterwards.
pub fn page(
    context: &Context<'_>,
    entry: &Entry<'_>,
    target: &Target,
    (source, index): (Source, Option<&Index>),
    walk: &Walk<'_>,
    consistent: bool,
) -> Result<Page, ApiError> {
    let page = paid_page(context, entry, target, (source, index), walk, consistent);
    let cost = |page: &Page| consumed(&target.table.name, index, consistent, page.bytes, &page.bases);
    context.tell_page(entry, page.as_ref().map(|page| (page, || cost(page))));
    page
}

fn paid_page(
    context: &Context<'_>,
    entry: &Entry<'_>,
    target: &Target,
    (source, index): (Source, Option<&Index>),
    walk: &Walk<'_>,
    consistent: bool,
) -> Result<Page, ApiError> {
    context.judge(entry)?;
    if !target.table.capacity.is_counted() {
        return Ok(execute::page(context, target, source, walk, consistent));
    }
    // A local index lives on the table's capacity.
    let global = index.filter(|index| !index.local);
    let name = global.map(|index| index.name.as_str());
    execute::admit_page(context, &target.table, name, walk.range.tokens().0)?;
    let page = execute::page(context, target, source, walk, consistent);
    let last = page.items.last().filter(|_| page.cut);
    let consumed = consumed(&target.table.name, index, consistent, page.bytes, &page.bases);
    execute::spend_page(
        context,
        entry,
        walked(target.definition(), global, walk.range, last),
        &consumed,
    );
    Ok(page)
}

/// The tokens that a page has touched: those of its range, or those up to its last item.
fn walked(definition: &Definition, global: Option<&Index>, range: &KeyRange, last: Option<&Item>) -> (u64, u64) {
    let token = last.and_then(|item| {
        let base = Key::read(&definition.key, item)?;
        match global {
            None => Some(base.token),
            Some(index) => Key::of_entry(index, item, &base).map(|key| key.token),
        }
    });
    (range.tokens().0, token.unwrap_or(range.last_token()))
}

/// What a page of so many bytes cost, with what was fetched from the table for a local index.
pub fn consumed(table: &Name, index: Option<&Index>, consistent: bool, bytes: usize, fetched: &[Item]) -> Consumed {
    let mut consumed = Consumed::new(table.clone());
    let units = units::read(bytes, consistent);
    match index {
        None => consumed.table = units,
        Some(index) if index.local => {
            consumed.add_local(index.name.clone(), units);
            consumed.table = fetched.iter().map(|item| units::read(item.size(), consistent)).sum();
        }
        Some(index) => consumed.add_global(index.name.clone(), units),
    }
    consumed
}
