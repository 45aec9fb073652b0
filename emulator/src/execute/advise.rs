//! Finds a Query that would have read less than a page whose filter discards items. Runs only while requests are
//! recorded.

use crate::clock::Moment;
use crate::expression::{AttributeNames, Condition, ConditionPart, KeyClause, KeyOperator};
use crate::journal::{BetterRead, FilterTrace};
use crate::plan::{PageRange, PageRead, ReadSource};
use crate::schema::{Index, KeySchema, Projection};
use crate::sort;
use crate::value::Name;

/// The maximum number of better reads recorded for a page.
const MOST_BETTER: usize = 8;

/// The maximum number of filter parts that are examined.
const MOST_PARTS: usize = 300;

/// The clauses of a filter that every matching item satisfies: of those connected by AND, the ones that compare a whole
/// attribute with a constant.
fn clauses<'r>(filter: &Condition<'r>) -> Vec<KeyClause<'r>> {
    let mut clauses = Vec::new();
    let mut parts = vec![filter.root()];
    let mut looked_at = 0;
    while let Some(part) = parts.pop().filter(|_| looked_at < MOST_PARTS) {
        looked_at += 1;
        match filter.part(part) {
            ConditionPart::And(left, right) => parts.extend([right, left]),
            ConditionPart::Clause(clause) => clauses.push(clause),
            ConditionPart::Or(..) | ConditionPart::Not(_) | ConditionPart::Member(..) | ConditionPart::Test => {}
        }
    }
    clauses
}

/// The attributes that a filter uses, and the Queries that could replace it.
pub(super) fn filter_trace(read: &PageRead<'_>, range: &PageRange<'_>, now: Moment) -> Option<FilterTrace> {
    let filter = read.filter.as_ref()?;
    let mut names = AttributeNames::new();
    filter.add_names(&mut names);
    let clauses = clauses(filter);
    let definition = read.target.definition();
    let used = read.index().map_or(&definition.key, |index| &index.key);
    let indexes = definition.globals.iter().chain(&definition.locals);
    let active = indexes.filter(|index| !read.target.shape.is_creating(&index.name, now));
    let candidates = std::iter::once((None, &definition.key)).chain(active.map(|index| (Some(index), &index.key)));
    let queried = range.first_value().is_some();
    let mut better: Vec<BetterRead> = candidates
        .filter(|(index, _)| !(queried && is_read(read, *index)))
        .filter_map(|(index, schema)| better_read(index, schema, &clauses, used, queried))
        .collect();
    // Those that restrict more attributes come first.
    sort::sort_by_key(&mut better, |read| std::cmp::Reverse(read.key.len()));
    better.truncate(MOST_BETTER);
    Some(FilterTrace {
        attributes: names.iter().map(|name| Name::new(name)).collect(),
        better,
    })
}

/// Whether a page is read of the table, or of this index.
fn is_read(read: &PageRead<'_>, index: Option<&Index>) -> bool {
    match index {
        None => read.source == ReadSource::Table,
        Some(index) => read.index().is_some_and(|there| there.name == index.name),
    }
}

/// The Query of a table or index that the clauses of a filter permit, including the partition key condition of the
/// present Query.
fn better_read(
    index: Option<&Index>,
    schema: &KeySchema,
    clauses: &[KeyClause<'_>],
    used: &KeySchema,
    queried: bool,
) -> Option<BetterRead> {
    let clause = |name: &Name| clauses.iter().find(|clause| clause.name == *name);
    let equals = |name: &Name| clause(name).is_some_and(|clause| matches!(clause.operator, KeyOperator::Eq(_)));
    let known = |name: &Name| queried && used.hash.iter().any(|attribute| attribute.name == *name);
    let hash: Vec<&Name> = schema.hash.iter().map(|attribute| &attribute.name).collect();
    if !hash.iter().all(|name| equals(name) || known(name)) {
        return None;
    }
    // Sort key attributes are restricted from the left; nothing can follow one that is not an equality.
    let mut range = Vec::new();
    for attribute in &schema.range {
        if clause(&attribute.name).is_none() {
            break;
        }
        range.push(&attribute.name);
        if !equals(&attribute.name) {
            break;
        }
    }
    let gains = hash.iter().chain(&range).any(|name| clause(name).is_some());
    let whole = index.is_none() && schema.range.iter().all(|attribute| equals(&attribute.name));
    gains.then(|| BetterRead {
        operation: if whole { "GetItem" } else { "Query" },
        index: index.map(|index| index.name.clone()),
        key: hash.into_iter().chain(range).cloned().collect(),
        projects_all: index.is_none_or(|index| index.projection == Projection::All),
        consistent: index.is_none_or(|index| index.local),
    })
}
