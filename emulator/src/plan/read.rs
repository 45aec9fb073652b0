//! Reads: of one item, of a page, and searches.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::Target;
use crate::capacity::units::{self, Units};
use crate::error::ApiError;
use crate::expression::{Condition, Projection, SearchCondition};
use crate::key::Key;
use crate::schema::{Index, Projection as IndexProjection, VectorIndex};
use crate::storage::KeyRange;
use crate::value::{AttributeValue, Item, Map};

/// A read of one item.
pub struct Get<'r> {
    pub target: Target,
    pub key: Key,
    /// The attributes of the key.
    pub attributes: Cow<'r, Map>,
    /// Whether it is a strongly consistent read.
    pub consistent: bool,
    /// How often it is paid for: twice in transactions.
    pub factor: u64,
}

impl Get<'_> {
    /// The value of the item's partition key.
    pub fn partition(&self) -> Option<&AttributeValue> {
        self.target.partition_of(&self.attributes)
    }

    /// The cost of reading this item.
    pub fn units(&self, item: Option<&Item>) -> Units {
        units::read(item.map_or(0, Item::size), self.consistent).times(self.factor)
    }
}

/// Plans a read of an item by its `Key`. It is consistent unless the caller changes that.
pub fn get<'r>(target: Target, key: impl Into<Cow<'r, Map>>) -> Result<Get<'r>, ApiError> {
    let attributes = key.into();
    let key = Key::of_key(&target.definition().key, &attributes)?;
    Ok(Get {
        target,
        key,
        attributes,
        consistent: true,
        factor: 1,
    })
}

/// Plans a read in a transaction: consistent, and twice the cost.
pub fn transact_get<'r>(target: Target, key: impl Into<Cow<'r, Map>>) -> Result<Get<'r>, ApiError> {
    let mut get = get(target, key)?;
    get.factor = 2;
    Ok(get)
}

/// The source and position of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadSource {
    Table,
    /// One of its local indexes.
    Local(usize),
    /// One of its global indexes.
    Global(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the API's own words
pub enum Select {
    AllAttributes,
    AllProjectedAttributes,
    SpecificAttributes,
    Count,
}

/// A read of a page of a table or index.
pub struct PageRead<'r> {
    pub target: Target,
    /// The table or index to read.
    pub source: ReadSource,
    /// The keys, in the order in which their ranges are read. Only a statement has several.
    pub ranges: SmallVec<[PageRange<'r>; 1]>,
    /// The number of key attributes that the key condition restricts.
    pub key_attributes: usize,
    /// Whether keys ascend within a range.
    pub forward: bool,
    pub limit: Option<i64>,
    /// Whether it is a strongly consistent read, and costs as one.
    pub consistent: bool,
    /// The filter of the items read.
    pub filter: Option<Condition<'r>>,
    /// The paths that are returned.
    pub projection: Option<Projection<'r>>,
    pub select: Option<Select>,
    /// Whether the only range is one key of the table, and the filter demands nothing else.
    pub is_key: bool,
    /// Whether a PartiQL statement reads it: its filter is applied to the entries of a local index, not to the items fetched
    /// for them.
    pub is_statement: bool,
    /// Whether the items are encoded while they are read, because the response has them as they are stored.
    pub encodes: bool,
}

/// A range of keys to be read.
pub struct PageRange<'r> {
    pub keys: KeyRange,
    /// The values of their partition key attributes, if they have them in common.
    pub partition: SmallVec<[&'r AttributeValue; 1]>,
}

impl<'r> PageRange<'r> {
    /// The value of the first partition key attribute.
    pub fn first_value(&self) -> Option<&'r AttributeValue> {
        self.partition.first().copied()
    }
}

impl PageRead<'_> {
    /// The index that is read, if one is.
    pub fn index(&self) -> Option<&Index> {
        self.target.index_of(self.source)
    }

    /// Whether each item that is read is returned as it is stored.
    pub fn returns_stored(&self) -> bool {
        self.filter.is_none() && self.projection.is_none() && self.select != Some(Select::Count) && !self.fetches()
    }

    /// Whether a local index does not project all requested attributes, so that the items are fetched from the table.
    pub fn fetches(&self) -> bool {
        let ReadSource::Local(_) = self.source else {
            return false;
        };
        let Some(index) = self.index().filter(|index| index.projection != IndexProjection::All) else {
            return false;
        };
        let table = &self.target.definition().key;
        match &self.projection {
            Some(projection) => projection.top_level_names().any(|name| !index.projects(name, table)),
            None => self.select == Some(Select::AllAttributes),
        }
    }
}

/// A search of a vector index.
pub struct VectorSearch<'r> {
    pub target: Target,
    /// The index's place among the vector indexes.
    pub at: usize,
    /// The part of it that is searched.
    pub range: KeyRange,
    /// The vector that is searched for.
    pub vector: Vec<f32>,
    /// The maximum number of entries that are returned.
    pub most: usize,
    pub condition: Option<SearchCondition<'r>>,
    /// The value of the attribute that divides the index.
    pub partition: Option<&'r AttributeValue>,
    /// The paths that are returned.
    pub projection: Option<Projection<'r>>,
}

impl VectorSearch<'_> {
    pub fn index(&self) -> &VectorIndex {
        &self.target.definition().vectors[self.at]
    }
}
