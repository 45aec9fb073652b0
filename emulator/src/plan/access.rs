//! What a request accesses, for its authorization: entries of tables, or a resource of the control plane.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use compact_str::CompactString;

use super::{Get, PageRange, PageRead, Select, Target, VectorSearch, Write, WriteAction};
use crate::access::{AccessRequest, PartitionKeyValues};
use crate::context::{Context, table_arn};
use crate::expression::{AttributeNames, Condition, Projection};
use crate::partiql::Returning;
use crate::schema::KeySchema;
use crate::sort;
use crate::storage::{Shape, Table};
use crate::value::{AttributeValue, Map, Name, Text};

/// One thing that a request does, as fault rules, settings, access policies and the journal see it.
#[derive(Clone, Copy)]
pub enum Access<'a, 'r> {
    /// Reads or writes items of a table.
    Items(ItemAccess<'a, 'r>),
    /// Calls the control plane, or a stream.
    Control(ControlAccess<'a>),
}

impl<'a> Access<'a, '_> {
    /// The request that policies are evaluated for.
    pub fn request(&self, context: &Context<'_>) -> AccessRequest<'a> {
        match self {
            Access::Items(access) => access.request(context),
            Access::Control(access) => access.request(context),
        }
    }

    /// Further requests that policies are evaluated for.
    pub fn also(&self, context: &Context<'_>) -> Vec<AccessRequest<'a>> {
        let Access::Control(access) = self else {
            return Vec::new();
        };
        let request = access.request(context);
        let resource = match access.also_on {
            "" => request.resource.clone(),
            table => Cow::Owned(context.table_arn(table)),
        };
        let also = access.also.iter().map(|action| AccessRequest {
            action,
            resource: resource.clone(),
            ..request.clone()
        });
        // The replicas of another account's table are its account's too.
        let account = request.resource.split(':').nth(4).unwrap_or(context.account);
        let elsewhere = access.also_in.iter().flat_map(|elsewhere| {
            let resource = table_arn(&elsewhere.region, account, access.table);
            let request = request.clone();
            elsewhere.actions.iter().map(move |action| AccessRequest {
                action,
                resource: Cow::Owned(resource.clone()),
                ..request.clone()
            })
        });
        also.chain(elsewhere).collect()
    }
}

/// A read or write of items. Details are derived from the plan it refers to, on demand.
#[derive(Clone, Copy)]
pub struct ItemAccess<'a, 'r> {
    /// The plan of the entry.
    pub request: ItemRequest<'a, 'r>,
    /// Whether it comes from a PartiQL statement, which has its own IAM actions.
    pub statement: bool,
    /// `ReturnValues`, with the default of requests without it.
    pub return_values: Option<&'static str>,
    /// `ReturnConsumedCapacity`, with the default of requests without it.
    pub return_consumed_capacity: Option<&'static str>,
    /// The write of an earlier transaction that a read repeats. Policies are evaluated for the write.
    pub repeats: Option<&'a Write<'r>>,
}

/// The plan of an entry.
#[derive(Clone, Copy)]
pub enum ItemRequest<'a, 'r> {
    /// A write of one item.
    Write(&'a Write<'r>),
    /// A read of one item, and the paths of it that are returned.
    Get(&'a Get<'r>, Option<&'a Projection<'r>>),
    /// A read of one range of keys.
    Page(&'a PageRead<'r>, &'a PageRange<'r>),
    /// A search of a vector index.
    Search(&'a VectorSearch<'r>),
}

/// A call of the control plane, or of a stream.
#[derive(Clone, Copy)]
pub struct ControlAccess<'a> {
    /// The table name that fault rules match; empty if the request names none.
    pub table: &'a str,
    /// The resource that policies are evaluated for.
    pub resource: ControlResource<'a>,
    /// Further IAM actions that the call needs.
    pub also: &'static [&'static str],
    /// The table of those actions; the resource itself if empty.
    pub also_on: &'a str,
    /// IAM actions on the tables of the same name in these regions that the call needs as well.
    pub also_in: &'a [RegionActions],
    /// The tags that the call adds or removes.
    pub tags: RequestTags<'a>,
}

/// IAM actions on a table of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionActions {
    pub region: CompactString,
    pub actions: &'static [&'static str],
}
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestTags<'a> {
    #[default]
    None,
    Given(&'a [(String, String)]),
    /// Keys of the tags that are removed.
    Removed(&'a [Text]),
}

impl RequestTags<'_> {
    /// The tags as policies see them; one that is removed has no value.
    fn listed(self) -> Option<Vec<(Text, Option<Text>)>> {
        match self {
            RequestTags::None => None,
            RequestTags::Given(tags) => Some(
                tags.iter()
                    .map(|(tag, value)| (tag.as_str().into(), Some(value.as_str().into())))
                    .collect(),
            ),
            RequestTags::Removed(names) => Some(names.iter().map(|name| (name.clone(), None)).collect()),
        }
    }
}

/// A resource of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlResource<'a> {
    /// No resource: policies use `*`.
    Any,
    /// A table by its name.
    Table(&'a str),
    Arn(&'a str),
    /// A global table of version 2017.11.29, by its name.
    GlobalTable(&'a str),
}

impl<'a, 'r> From<ItemRequest<'a, 'r>> for ItemAccess<'a, 'r> {
    fn from(request: ItemRequest<'a, 'r>) -> Self {
        ItemAccess {
            request,
            statement: false,
            return_values: None,
            return_consumed_capacity: None,
            repeats: None,
        }
    }
}

impl<'a, 'r> From<&'a Write<'r>> for ItemAccess<'a, 'r> {
    fn from(write: &'a Write<'r>) -> Self {
        ItemRequest::Write(write).into()
    }
}

impl<'a, 'r> From<&'a Get<'r>> for ItemAccess<'a, 'r> {
    fn from(get: &'a Get<'r>) -> Self {
        ItemRequest::Get(get, None).into()
    }
}

impl<'a, 'r> ItemAccess<'a, 'r> {
    /// An entry of a PartiQL statement. Policies see the values that an UPDATE or DELETE returns as `ReturnValues`.
    pub fn of_statement(request: ItemRequest<'a, 'r>, returning: Option<Returning>) -> Self {
        let returns = match request {
            ItemRequest::Write(write) => matches!(write.action, WriteAction::Update { .. } | WriteAction::Delete),
            _ => false,
        };
        ItemAccess {
            statement: true,
            return_values: returns.then(|| returning.map_or("NONE", Returning::return_values)),
            ..request.into()
        }
    }
}

impl<'a> ItemAccess<'a, '_> {
    pub fn target(&self) -> &'a Target {
        match self.request {
            ItemRequest::Write(write) => &write.target,
            ItemRequest::Get(get, _) => &get.target,
            ItemRequest::Page(page, _) => &page.target,
            ItemRequest::Search(search) => &search.target,
        }
    }

    pub fn table(&self) -> &'a Table {
        &self.target().table
    }

    pub fn shape(&self) -> &'a Shape {
        &self.target().shape
    }

    /// The index that is read, if one is.
    pub fn index(&self) -> Option<&'a str> {
        match self.request {
            ItemRequest::Write(_) | ItemRequest::Get(..) => None,
            ItemRequest::Page(page, _) => page.index().map(|index| index.name.as_str()),
            ItemRequest::Search(search) => Some(&search.index().name),
        }
    }

    pub fn writes(&self) -> bool {
        matches!(self.request, ItemRequest::Write(_))
    }

    /// The value of the first partition key attribute, if the request has it.
    pub fn partition(&self) -> Option<&'a AttributeValue> {
        match self.request {
            ItemRequest::Write(write) => write.partition(),
            ItemRequest::Get(get, _) => get.partition(),
            ItemRequest::Page(_, range) => range.first_value(),
            ItemRequest::Search(search) => search.partition,
        }
    }

    /// The IAM action of an entry of an operation.
    fn action(&self, operation: &'static str) -> &'static str {
        if self.statement {
            return match self.request {
                ItemRequest::Write(write) => match write.action {
                    WriteAction::Put(_) | WriteAction::Insert(_) => "PartiQLInsert",
                    WriteAction::Update { .. } => "PartiQLUpdate",
                    WriteAction::Delete => "PartiQLDelete",
                    WriteAction::Check => "PartiQLSelect",
                },
                _ => "PartiQLSelect",
            };
        }
        match (operation, self.request) {
            ("TransactWriteItems", ItemRequest::Write(write)) => match write.action {
                WriteAction::Put(_) | WriteAction::Insert(_) => "PutItem",
                WriteAction::Update { .. } => "UpdateItem",
                WriteAction::Delete => "DeleteItem",
                WriteAction::Check => "ConditionCheckItem",
            },
            ("TransactGetItems", _) => "GetItem",
            _ => operation,
        }
    }

    /// The request that policies are evaluated for.
    pub fn request(&self, context: &Context<'_>) -> AccessRequest<'a> {
        if let Some(write) = self.repeats {
            let request = ItemRequest::Write(write);
            let written = if self.statement {
                ItemAccess::of_statement(request, None)
            } else {
                ItemAccess {
                    return_values: self.return_values,
                    return_consumed_capacity: self.return_consumed_capacity,
                    ..request.into()
                }
            };
            return written.request(context);
        }
        let operation = context.operation;
        let resource: Cow<'a, str> = match self.index() {
            None => Cow::Borrowed(&self.table().arn),
            Some(index) => Cow::Owned(format!("{}/index/{index}", self.table().arn)),
        };
        let in_transaction = ["TransactWriteItems", "TransactGetItems", "ExecuteTransaction"].contains(&operation);
        AccessRequest {
            partition_keys: self.partition_keys(),
            attributes: Some(self.attributes()),
            select: self.select(),
            return_values: self.return_values,
            return_consumed_capacity: self.return_consumed_capacity,
            enclosing_operation: in_transaction.then_some(operation),
            full_table_scan: match self.request {
                ItemRequest::Page(_, range) if self.statement => Some(range.partition.is_empty()),
                ItemRequest::Get(..) if self.statement => Some(false),
                _ => None,
            },
            ..AccessRequest::new(self.action(operation), resource)
        }
    }

    /// `Select`, with the default of requests without it (docs/behavior: 07 3.2).
    fn select(&self) -> Option<&'static str> {
        let (select, projects, on_index) = match self.request {
            ItemRequest::Get(_, projection) => (None, projection.is_some(), false),
            ItemRequest::Page(page, _) => (page.select, page.projection.is_some(), page.index().is_some()),
            ItemRequest::Write(_) | ItemRequest::Search(_) => return None,
        };
        Some(match select {
            Some(Select::AllAttributes) => "ALL_ATTRIBUTES",
            Some(Select::AllProjectedAttributes) => "ALL_PROJECTED_ATTRIBUTES",
            Some(Select::SpecificAttributes) => "SPECIFIC_ATTRIBUTES",
            Some(Select::Count) => "COUNT",
            None if projects => "SPECIFIC_ATTRIBUTES",
            None if on_index => "ALL_PROJECTED_ATTRIBUTES",
            None => "ALL_ATTRIBUTES",
        })
    }

    /// The values of the partition key attributes, if the request has them. Scans and searches have none.
    fn partition_keys(&self) -> Option<PartitionKeyValues> {
        let mut values = PartitionKeyValues::default();
        match self.request {
            ItemRequest::Search(_) => return None,
            ItemRequest::Page(_, range) if range.partition.is_empty() => return None,
            ItemRequest::Page(_, range) => {
                for (position, value) in values.iter_mut().zip(&range.partition) {
                    position.extend(key_text(value));
                }
            }
            ItemRequest::Write(_) | ItemRequest::Get(..) => values[0].extend(self.partition().and_then(key_text)),
        }
        Some(values)
    }

    /// The top-level names of the attributes in the request, sorted.
    fn attributes(&self) -> Vec<Name> {
        let mut names: Vec<&str> = Vec::new();
        let of_key = |names: &mut Vec<&'a str>, map: &'a Map| names.extend(map.iter().map(|(name, _)| name.as_str()));
        match self.request {
            ItemRequest::Write(write) => {
                of_key(&mut names, &write.attributes);
                names.extend(
                    write
                        .condition
                        .iter()
                        .flat_map(Condition::paths)
                        .map(|path| path.name()),
                );
                if let WriteAction::Update {
                    update: Some(update), ..
                } = &write.action
                {
                    let mut used = AttributeNames::new();
                    update.add_names(&mut used);
                    names.extend(used.iter().copied());
                }
            }
            ItemRequest::Get(get, projection) => {
                of_key(&mut names, &get.attributes);
                names.extend(projection.into_iter().flat_map(Projection::top_level_names));
            }
            ItemRequest::Page(page, _) => {
                let schema = page.index().map_or(&page.target.definition().key, |index| &index.key);
                names.extend(first_attributes(schema, page.key_attributes));
                names.extend(page.filter.iter().flat_map(Condition::paths).map(|path| path.name()));
                names.extend(page.projection.iter().flat_map(Projection::top_level_names));
            }
            ItemRequest::Search(search) => {
                names.extend(search.projection.iter().flat_map(Projection::top_level_names));
            }
        }
        sort::sort_unique(&mut names);
        names.into_iter().map(Name::new).collect()
    }
}

fn first_attributes(schema: &KeySchema, count: usize) -> impl Iterator<Item = &str> {
    schema.attributes().take(count).map(|attribute| attribute.name.as_str())
}

/// A key value as policies write it: numbers as they are printed, binary values in base64.
pub fn key_text(value: &AttributeValue) -> Option<Text> {
    match value {
        AttributeValue::S(text) => Some(text.clone()),
        AttributeValue::N(number) => Some(compact_str::format_compact!("{number}")),
        AttributeValue::B(bytes) => Some(STANDARD.encode(bytes).into()),
        _ => None,
    }
}

impl<'a> ControlAccess<'a> {
    fn of(table: &'a str, resource: ControlResource<'a>) -> ControlAccess<'a> {
        ControlAccess {
            table,
            resource,
            also: &[],
            also_on: "",
            also_in: &[],
            tags: RequestTags::None,
        }
    }

    /// A call about a table that there is, which may be another account's.
    pub fn target(target: &'a Target) -> ControlAccess<'a> {
        ControlAccess::of(&target.table.name, ControlResource::Arn(&target.table.arn))
    }

    /// Names the table that the added actions are on.
    #[must_use]
    pub fn also_on(self, table: &'a str) -> ControlAccess<'a> {
        ControlAccess { also_on: table, ..self }
    }

    /// Adds IAM actions on the tables of the same name in other regions.
    #[must_use]
    pub fn also_in(self, also_in: &'a [RegionActions]) -> ControlAccess<'a> {
        ControlAccess { also_in, ..self }
    }

    /// Adds IAM actions on the resource.
    #[must_use]
    pub fn also(self, also: &'static [&'static str]) -> ControlAccess<'a> {
        ControlAccess { also, ..self }
    }

    /// Adds the tags in the request.
    #[must_use]
    pub fn with_tags(self, tags: RequestTags<'a>) -> ControlAccess<'a> {
        ControlAccess { tags, ..self }
    }

    /// A call about a table.
    pub fn table(name: &'a str) -> ControlAccess<'a> {
        ControlAccess::of(name, ControlResource::Table(name))
    }

    /// A call about no resource.
    pub fn any() -> ControlAccess<'a> {
        ControlAccess::of("", ControlResource::Any)
    }

    /// A call about the resource of an ARN: a table, or a stream, backup, export, import or bulk operation of one.
    pub fn arn(arn: &'a str) -> ControlAccess<'a> {
        let below = arn.split_once(":table/").map_or("", |(_, below)| below);
        let table = below.split_once('/').map_or(below, |(table, _)| table);
        ControlAccess::of(table, ControlResource::Arn(arn))
    }

    /// A call about a global table of version 2017.11.29.
    pub fn global_table(name: &'a str) -> ControlAccess<'a> {
        ControlAccess::of(name, ControlResource::GlobalTable(name))
    }

    /// Names the table that fault rules know the call by.
    #[must_use]
    pub fn on_table(self, table: &'a str) -> ControlAccess<'a> {
        ControlAccess { table, ..self }
    }

    /// The request that policies are evaluated for.
    pub fn request(&self, context: &Context<'_>) -> AccessRequest<'a> {
        let resource: Cow<'a, str> = match self.resource {
            ControlResource::Any => Cow::Borrowed("*"),
            ControlResource::Table(name) => Cow::Owned(context.table_arn(name)),
            ControlResource::Arn(arn) => Cow::Borrowed(arn),
            ControlResource::GlobalTable(name) => {
                Cow::Owned(format!("arn:aws:dynamodb::{}:global-table/{name}", context.account))
            }
        };
        let mut request = AccessRequest::new(context.operation, resource);
        request.tags = self.tags.listed();
        request
    }
}
