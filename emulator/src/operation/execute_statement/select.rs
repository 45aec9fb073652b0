//! A page of a SELECT: its ranges one after the other, until one of them is cut short.

use super::super::check::Report;
use super::super::{output, reading, statement, transaction};
use crate::capacity::Consumed;
use crate::error::ApiError;
use crate::execute::{Context, Entry, Source};
use crate::expression::{Condition, Projection};
use crate::key::{self, Key};
use crate::partiql::{NextToken, Prepared, Range, Reads, Select, Statement};
use crate::plan::{self, Target};
use crate::schema::Index;
use crate::storage::{PageLimit, Walk};
use crate::value::Item;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// What is asked of a SELECT besides what it says.
pub struct Page<'r> {
    /// `Limit`.
    pub limit: Option<i64>,
    /// `ConsistentRead`.
    pub consistent: bool,
    /// `Statement`.
    pub statement: &'r str,
    /// `NextToken`.
    pub token: Option<&'r str>,
    /// `ReturnConsumedCapacity`.
    pub report: Report,
}

/// A SELECT with the table that it reads.
struct Reading<'t, 'r> {
    target: &'t Target,
    source: Source,
    index: Option<&'t Index>,
    select: &'t Select<'r>,
    /// Whether a local index is asked for what only the table has.
    fetches: bool,
}

/// What has been read.
#[derive(Default)]
struct Read {
    /// The items of the table or index.
    items: Vec<Item>,
    /// The table's items that they stand for, where those are fetched.
    bases: Vec<Item>,
    bytes: usize,
    next: Option<NextToken>,
}

impl Page<'_> {
    /// Reads the page and appends the answer.
    pub fn run(&self, context: &Context<'_>, prepared: &Prepared, out: &mut Writer) -> Result<(), ApiError> {
        let Statement::Select(select) = prepared.bind()? else {
            return Err(ApiError::internal());
        };
        let target = statement::table(context, prepared)?;
        let reading = self.reading(context, prepared, &target, &select)?;
        let reads = Reads::plan(target.definition(), reading.index, &select)?;
        let start = match self.token {
            Some(token) => Some(NextToken::decode(token, self.fingerprint(prepared, &target))?),
            None => None,
        };
        let read = self.read(context, &reading, reads, start)?;
        let next = read.next.as_ref();
        let next = next.map(|next| next.encode(self.fingerprint(prepared, &target)));
        let count = self.answer(&reading, &read, next.as_deref(), out);
        context.tell(|draft| draft.answer_of_range(&target.table.name, count));
        Ok(())
    }

    /// What a token belongs to: the statement with its values, and the table.
    fn fingerprint(&self, prepared: &Prepared, target: &Target) -> u64 {
        transaction::fingerprint(&(self.statement, prepared.values())) ^ target.table.ordinal
    }

    /// What is read, and that it can give what is asked of it.
    fn reading<'t, 'r>(
        &self,
        context: &Context<'_>,
        prepared: &Prepared,
        target: &'t Target,
        select: &'t Select<'r>,
    ) -> Result<Reading<'t, 'r>, ApiError> {
        let definition = target.definition();
        if let Some(name) = &prepared.index
            && definition.index(name).is_none()
        {
            return Err(ApiError::validation("The table does not have the specified index"));
        }
        let (source, index) = plan::source(context, target, prepared.index.as_deref())?;
        if self.consistent && index.is_some_and(|index| !index.local) {
            return Err(ApiError::validation(
                "Strongly consistent read is not supported on Global Secondary Indexes",
            ));
        }
        let schema = index.map_or(&definition.key, |index| &index.key);
        let projection = select.columns.as_ref().map(|columns| &columns.projection);
        let paths = projection.into_iter().flat_map(Projection::paths);
        let filtered = select.condition.iter().flat_map(Condition::paths);
        for path in paths.chain(filtered) {
            if path.is_nested() && schema.contains(path.name()) {
                return Err(ApiError::path_below_key(index.is_some(), path.name()));
            }
        }
        if let (Some(index), Some(projection)) = (index, projection) {
            plan::check_projected(definition, index, projection)?;
        }
        let fetches = index.zip(projection).is_some_and(|(index, projection)| {
            let mut names = projection.top_level_names();
            index.local && names.any(|name| !index.projects(name, &definition.key))
        });
        Ok(Reading {
            target,
            source,
            index,
            select,
            fetches,
        })
    }

    fn read(
        &self,
        context: &Context<'_>,
        reading: &Reading<'_, '_>,
        reads: Reads<'_>,
        start: Option<NextToken>,
    ) -> Result<Read, ApiError> {
        let table_key = &reading.target.definition().key;
        let mut limit = PageLimit::new(self.limit.and_then(|limit| usize::try_from(limit).ok()));
        let mut read = Read::default();
        let first = start.as_ref().map_or(0, |token| token.range);
        let mut after = start.map(|token| token.key);
        for (at, Range { keys, partition }) in reads.ranges.into_iter().enumerate().skip(first) {
            let entry = Entry {
                table: &reading.target.table,
                shape: &reading.target.shape,
                index: reading.index.map(|index| index.name.as_str()),
                partition,
                writes: false,
            };
            let keys = match after.take() {
                Some(key) => keys.starting_after(key, reads.forward),
                None => keys,
            };
            let walk = Walk {
                range: &keys,
                forward: reads.forward,
                limit,
                fetch: reading.fetches.then_some(table_key),
            };
            let from = (reading.source, reading.index);
            let page = reading::page(context, &entry, reading.target, from, &walk, self.consistent)?;
            limit.items -= page.items.len().min(limit.items);
            limit.bytes -= page.bytes.min(limit.bytes);
            read.bytes += page.bytes;
            read.items.extend(page.items);
            read.bases.extend(page.bases);
            if page.cut {
                let key = read.items.last().and_then(|last| reading.key(last));
                read.next = key.map(|key| NextToken { range: at, key });
                break;
            }
        }
        Ok(read)
    }

    /// Appends the answer; says how many items are in it.
    fn answer(&self, reading: &Reading<'_, '_>, read: &Read, next: Option<&str>, out: &mut Writer) -> u64 {
        let mut count = 0;
        if reading.select.columns.is_none() {
            // The items' JSON is a little longer than their size.
            out.reserve(read.bytes + read.bytes / 4 + 128);
        }
        let mut answer = Object::open(out);
        let mut items = answer.list("Items");
        for (at, entry) in read.items.iter().enumerate() {
            let condition = reading.select.condition.as_ref();
            if condition.is_some_and(|condition| !condition.matches_item(entry)) {
                continue;
            }
            count += 1;
            let shown = read.bases.get(at).unwrap_or(entry);
            match &reading.select.columns {
                None => items.item(shown),
                Some(columns) => items.map(&columns.apply(shown)),
            }
        }
        items.close();
        if let Some(next) = next {
            answer.string("NextToken", next);
        }
        if self.report != Report::None {
            let consumed = self.consumed(reading, read);
            output::consumed_capacity(answer.member("ConsumedCapacity"), &consumed, self.report);
        }
        answer.close();
        count
    }

    fn consumed(&self, reading: &Reading<'_, '_>, read: &Read) -> Consumed {
        reading::consumed(
            &reading.target.asked_name(),
            reading.index,
            self.consistent,
            read.bytes,
            &read.bases,
        )
    }
}

impl Reading<'_, '_> {
    /// Where an item stands in what is read.
    fn key(&self, item: &Item) -> Option<Key> {
        let definition = self.target.definition();
        let attributes = key::key_attributes(item, &definition.key, self.index);
        plan::start_key(definition, self.index, &attributes)
    }
}
