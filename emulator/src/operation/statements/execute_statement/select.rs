//! A page of a SELECT: its ranges one after the other, until one is cut short.

use crate::context::{Context, Missing};
use crate::error::ApiError;
use crate::execute::{self, PageResult};
use crate::expression::{Condition, Projection};
use crate::key;
use crate::operation::check::CapacityReport;
use crate::operation::output;
use crate::operation::queries::reading::PagePlan;
use crate::operation::transactions::transaction;
use crate::partiql::{self, Columns, NextToken, Prepared, Select};
use crate::plan::{self, PageRange, PageRead, SelectRanges, Target};
use crate::schema::Index;
use crate::value::{AttributeValue, Name};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// The members of a SELECT's request.
pub struct SelectPage<'r> {
    pub limit: Option<i64>,
    pub consistent: bool,
    pub token: Option<&'r str>,
    pub report: CapacityReport,
}

pub struct SelectPlan<'r> {
    pub page: PagePlan<'r>,
    /// The names of the columns; none for `*`.
    names: Option<&'r [Name]>,
    /// The number of the first range to read.
    first: usize,
    prepared: &'r Prepared,
}

/// The fingerprint in tokens: a hash of the statement with its values, and the table.
fn fingerprint(prepared: &Prepared, target: &Target) -> u64 {
    let values: Vec<&AttributeValue> = prepared.values().collect();
    transaction::fingerprint(&(prepared.text(), values)) ^ target.table.ordinal
}

impl<'r> SelectPage<'r> {
    pub fn plan(
        &self,
        context: &Context<'_>,
        prepared: &'r Prepared,
        target: Target,
        select: Select<'r>,
    ) -> Result<SelectPlan<'r>, ApiError> {
        let definition = target.definition();
        if let Some(name) = prepared.index()
            && definition.index(name).is_none()
        {
            context.note_missing(|| Missing::Index(target.table.resource_arn(Some(name.as_str()))));
            let error = ApiError::validation("The table does not have the specified index");
            return Err(execute::unplanned_actions(context, &[prepared.action()], error));
        }
        let (source, index) = plan::source(context, &target, prepared.index().map(Name::as_str))?;
        self.check(&target, index, &select)?;
        let mut planned = SelectRanges::plan(definition, index, &select)?;
        let start = self
            .token
            .map(|token| NextToken::decode(token, fingerprint(prepared, &target)))
            .transpose()?;
        let first = start.as_ref().map_or(0, |token| token.range);
        let is_key = planned.is_key && index.is_none() && start.is_none();
        if let Some(start) = start {
            let mut after = Some(start.key);
            let rest = planned.ranges.into_iter().skip(first).map(|range| match after.take() {
                Some(key) => PageRange {
                    keys: range.keys.starting_after(key, planned.forward),
                    ..range
                },
                None => range,
            });
            planned.ranges = rest.collect();
        }
        let (projection, names) = select.columns.map(Columns::into_parts).unzip();
        let read = PageRead {
            source,
            ranges: planned.ranges,
            key_attributes: 0,
            forward: planned.forward,
            limit: self.limit,
            consistent: self.consistent,
            filter: select.condition,
            projection,
            select: None,
            is_key,
            is_statement: true,
            encodes: false,
            target,
        };
        Ok(SelectPlan {
            page: PagePlan {
                read,
                report: self.report,
            },
            names,
            first,
            prepared,
        })
    }

    /// Checks that the table or index supports the request.
    fn check(&self, target: &Target, index: Option<&Index>, select: &Select<'_>) -> Result<(), ApiError> {
        let definition = target.definition();
        if self.consistent && index.is_some_and(|index| !index.local) {
            return Err(ApiError::validation(
                "Strongly consistent read is not supported on Global Secondary Indexes",
            ));
        }
        let schema = index.map_or(&definition.key, |index| &index.key);
        let projection = select.columns.as_ref().map(|columns| &columns.projection);
        let paths = projection.into_iter().flat_map(Projection::paths);
        // Equalities are of whole attributes.
        let condition = select.condition.iter().filter(|_| select.equalities.is_empty());
        let filtered = condition.flat_map(Condition::paths);
        for path in paths.chain(filtered) {
            if path.is_nested() && schema.contains(path.name()) {
                return Err(ApiError::path_below_key(index.is_some(), path.name()));
            }
        }
        match index.zip(projection) {
            Some((index, projection)) => plan::check_projected(definition, index, projection),
            None => Ok(()),
        }
    }
}

impl SelectPlan<'_> {
    pub fn encode(&self, result: &PageResult, out: &mut Writer) {
        let PagePlan { read, report } = &self.page;
        let columns = read.projection.as_ref().zip(self.names);
        if columns.is_none() {
            // The items' JSON is a little longer than their size.
            out.reserve(result.bytes + result.bytes / 4 + 128);
        }
        let mut answer = Object::open(out);
        let mut items = answer.list("Items");
        for item in &result.items {
            match columns {
                None => items.item(item),
                Some((projection, names)) => items.map(&partiql::shown(projection, names, item)),
            }
        }
        items.close();
        if let Some(next) = self.next(result) {
            let fingerprint = fingerprint(self.prepared, &read.target);
            answer.string("NextToken", &next.encode(fingerprint));
        }
        if *report != CapacityReport::None {
            let consumed = result.cost.consumed(read, &read.target.requested_name());
            output::consumed_capacity(answer.member("ConsumedCapacity"), &consumed, *report);
        }
        answer.close();
    }

    /// Where the next page starts.
    fn next(&self, result: &PageResult) -> Option<NextToken> {
        let (range, last) = result.next.as_ref()?;
        let read = &self.page.read;
        let (definition, index) = (read.target.definition(), read.index());
        let attributes = key::key_attributes(last, &definition.key, index);
        let key = plan::start_key(definition, index, &attributes)?;
        Some(NextToken {
            range: self.first + range,
            key,
        })
    }
}
