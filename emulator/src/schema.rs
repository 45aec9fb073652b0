//! The definitions of tables and indexes: keys, projections, billing.

mod vector;

pub use vector::{Distance, SearchAttribute, VectorIndex};

use smallvec::SmallVec;

use crate::clock::Moment;
use crate::limits;
use crate::value::size;
use crate::value::{AttributeValue, Item, Name, Type};

/// The types a key attribute can have.
///
/// ```
/// use dynatwin_engine::attributes::{AttributeValue, ScalarType};
///
/// assert_eq!(ScalarType::from_name("S"), Some(ScalarType::S));
/// assert!(ScalarType::S.fits(&AttributeValue::string("a")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarType {
    /// The type of strings, compared by their UTF-8 bytes.
    S,
    /// The type `N`, a number.
    N,
    /// The type of binary values, compared byte by byte.
    B,
}

impl ScalarType {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            ScalarType::S => "S",
            ScalarType::N => "N",
            ScalarType::B => "B",
        }
    }

    /// The type of this name.
    pub fn from_name(name: &str) -> Option<ScalarType> {
        match name {
            "S" => Some(ScalarType::S),
            "N" => Some(ScalarType::N),
            "B" => Some(ScalarType::B),
            _ => None,
        }
    }

    /// Whether a value is of this type.
    pub fn fits(self, value: &AttributeValue) -> bool {
        matches!(
            (self, value.kind()),
            (ScalarType::S, Type::S) | (ScalarType::N, Type::N) | (ScalarType::B, Type::B)
        )
    }
}

/// An attribute of a key.
///
/// ```
/// use dynatwin_engine::attributes::{KeyAttribute, ScalarType};
///
/// let key = KeyAttribute { name: "id".into(), kind: ScalarType::S };
/// assert_eq!(key.kind.name(), "S");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyAttribute {
    /// The attribute's name, up to 255 bytes.
    pub name: Name,
    /// The type that values of the key must have.
    pub kind: ScalarType,
}

/// The key of a table or an index. A table and a local index have one hash and at most one range attribute; a global
/// index has up to four of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySchema {
    pub hash: SmallVec<[KeyAttribute; 1]>,
    pub range: SmallVec<[KeyAttribute; 1]>,
}

impl KeySchema {
    /// A key of these attributes.
    pub fn new(
        hash: impl IntoIterator<Item = KeyAttribute>,
        range: impl IntoIterator<Item = KeyAttribute>,
    ) -> KeySchema {
        KeySchema {
            hash: hash.into_iter().collect(),
            range: range.into_iter().collect(),
        }
    }

    /// All attributes, hash before range.
    pub fn attributes(&self) -> impl Iterator<Item = &KeyAttribute> {
        self.hash.iter().chain(&self.range)
    }

    /// The item's key attributes alone.
    pub fn only(&self, item: &Item) -> Item {
        Item::new(&item.filter(|name| self.contains(name)))
    }

    /// The size of an item's key, as the service measures items.
    pub fn size_in(&self, item: &Item) -> usize {
        let size = |name: &str| item.get(name).map_or(0, |value| size::of_attribute(name, &value));
        self.attributes().map(|attribute| size(&attribute.name)).sum()
    }

    /// Whether an attribute is part of the key.
    pub fn contains(&self, name: &str) -> bool {
        self.attributes().any(|attribute| attribute.name == name)
    }
}

/// Which attributes an index stores besides the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Projection {
    All,
    KeysOnly,
    Include(Vec<Name>),
}

/// Read and write units a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throughput {
    /// Read units; 0 on demand.
    pub read: u64,
    /// Write units; 0 on demand.
    pub write: u64,
}

/// How provisioned throughput has been changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adjustments {
    /// When it was last raised.
    pub increased: Option<Moment>,
    /// When it was last lowered.
    pub decreased: Option<Moment>,
    /// How often it was lowered on the day of that (UTC).
    pub decreases: u32,
}

impl Adjustments {
    /// How often throughput has been lowered on the day of `now`.
    pub fn decreases_on(&self, now: Moment) -> u32 {
        let day = |moment: Moment| moment.seconds().div_euclid(86_400);
        match self.decreased {
            Some(last) if day(last) == day(now) => self.decreases,
            _ => 0,
        }
    }

    /// Records a change. One that lowers anything counts as a decrease, even if it raises something else.
    pub fn note(&mut self, from: Throughput, to: Throughput, now: Moment) {
        if to.read < from.read || to.write < from.write {
            self.decreases = self.decreases_on(now) + 1;
            self.decreased = Some(now);
        } else {
            self.increased = Some(now);
        }
    }
}

/// Limits on the units that an on-demand table or index may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnDemandThroughput {
    /// The maximum read units a second; `None`: no limit.
    pub max_read: Option<i64>,
    /// The maximum write units a second; `None`: no limit.
    pub max_write: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    pub name: Name,
    /// Its key; it includes the table's key only if the definition does.
    pub key: KeySchema,
    pub projection: Projection,
    /// Whether it is a local index.
    pub local: bool,
    /// Provisioned throughput of a global index.
    pub throughput: Throughput,
    /// How that has been changed.
    pub adjustments: Adjustments,
    /// On-demand limits of a global index.
    pub on_demand: Option<OnDemandThroughput>,
    /// The warm throughput of a global index, where it exceeds its throughput.
    pub warm: Option<Throughput>,
}

impl Index {
    /// Whether the index stores this attribute, given the table's key.
    pub fn projects(&self, name: &str, table: &KeySchema) -> bool {
        match &self.projection {
            Projection::All => true,
            Projection::KeysOnly => self.key.contains(name) || table.contains(name),
            Projection::Include(names) => {
                self.key.contains(name)
                    || table.contains(name)
                    || names.binary_search_by(|candidate| candidate.as_str().cmp(name)).is_ok()
            }
        }
    }

    /// The part of an item that the index stores: the item itself if that is everything.
    pub fn project(&self, item: &Item, table: &KeySchema) -> Item {
        if self.projection == Projection::All {
            return item.clone();
        }
        let kept = item.filter(|name| self.projects(name, table));
        if kept.len() == item.len() {
            item.clone()
        } else {
            Item::new(&kept)
        }
    }
}

/// The part of an item that the records of a table's stream contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamView {
    KeysOnly,
    /// The item after the change.
    NewImage,
    /// The item before the change.
    OldImage,
    NewAndOldImages,
}

impl StreamView {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            StreamView::KeysOnly => "KEYS_ONLY",
            StreamView::NewImage => "NEW_IMAGE",
            StreamView::OldImage => "OLD_IMAGE",
            StreamView::NewAndOldImages => "NEW_AND_OLD_IMAGES",
        }
    }

    /// The view of this name.
    pub fn from_name(name: &str) -> Option<StreamView> {
        use StreamView::*;
        [KeysOnly, NewImage, OldImage, NewAndOldImages]
            .into_iter()
            .find(|view| view.name() == name)
    }

    /// Whether it shows the item before the change.
    pub const fn shows_old(self) -> bool {
        matches!(self, StreamView::OldImage | StreamView::NewAndOldImages)
    }

    /// Whether it shows the item after the change.
    pub const fn shows_new(self) -> bool {
        matches!(self, StreamView::NewImage | StreamView::NewAndOldImages)
    }
}

/// How a table is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BillingMode {
    Provisioned,
    PayPerRequest,
}

impl BillingMode {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            BillingMode::Provisioned => "PROVISIONED",
            BillingMode::PayPerRequest => "PAY_PER_REQUEST",
        }
    }
}

/// The default warm throughput of a table or index with these units.
pub fn initial_warm(billing: BillingMode, provisioned: Throughput) -> Throughput {
    match billing {
        BillingMode::Provisioned => provisioned,
        BillingMode::PayPerRequest => Throughput {
            read: limits::ON_DEMAND_READ_UNITS,
            write: limits::ON_DEMAND_WRITE_UNITS,
        },
    }
}

/// Server-side encryption with a key of the caller's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    pub key_arn: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub key: KeySchema,
    /// Types of all key attributes, sorted by name.
    pub attributes: Vec<KeyAttribute>,
    /// Local indexes, in the order given.
    pub locals: Vec<Index>,
    /// Global indexes, in the order given.
    pub globals: Vec<Index>,
    /// Vector indexes, in the order given.
    pub vectors: Vec<VectorIndex>,
    /// How the table is paid for.
    pub billing: BillingMode,
    pub throughput: Throughput,
    /// How that has been changed.
    pub adjustments: Adjustments,
    /// When the table last went over to be paid for by the request.
    pub on_demand_since: Option<Moment>,
    pub on_demand: Option<OnDemandThroughput>,
    /// The warm throughput of the table, if requested or above its throughput.
    pub warm: Option<Throughput>,
    /// The table class, if requested.
    pub class: Option<&'static str>,
    /// When the table class was changed.
    pub class_changed: Option<Moment>,
    /// Whether the table can be deleted.
    pub deletion_protection: bool,
    /// Encryption with a key of the caller's.
    pub encryption: Option<Encryption>,
    /// Tags, in the order given.
    pub tags: Vec<(String, String)>,
}

impl Definition {
    /// The index of this name, and its place among the indexes of its kind.
    pub fn index(&self, name: &str) -> Option<(usize, &Index)> {
        let find = |indexes: &'_ [Index]| indexes.iter().position(|index| index.name == name);
        find(&self.globals)
            .map(|at| (at, &self.globals[at]))
            .or_else(|| find(&self.locals).map(|at| (at, &self.locals[at])))
    }

    /// The vector index of this name, and its place among them.
    pub fn vector_index(&self, name: &str) -> Option<(usize, &VectorIndex)> {
        self.vectors.iter().enumerate().find(|(_, index)| index.name == name)
    }

    /// Whether any index has this name.
    pub fn has_index(&self, name: &str) -> bool {
        self.index(name).is_some() || self.vector_index(name).is_some()
    }

    /// All indexes with a key, global before local: all but the vector indexes.
    pub fn indexes(&self) -> impl Iterator<Item = &Index> {
        self.globals.iter().chain(&self.locals)
    }

    /// The definition of an on-demand table with this key, without indexes.
    #[cfg(test)]
    pub fn of_key(key: KeySchema) -> Definition {
        Definition {
            attributes: key.attributes().cloned().collect(),
            key,
            locals: Vec::new(),
            globals: Vec::new(),
            vectors: Vec::new(),
            billing: BillingMode::PayPerRequest,
            throughput: Throughput::default(),
            adjustments: Adjustments::default(),
            on_demand_since: None,
            on_demand: None,
            warm: None,
            class: None,
            class_changed: None,
            deletion_protection: false,
            encryption: None,
            tags: Vec::new(),
        }
    }

    /// Whether a table has any index: those without skip all that indexes need.
    pub fn has_indexes(&self) -> bool {
        !(self.globals.is_empty() && self.locals.is_empty() && self.vectors.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decreases are counted by the day of UTC. A change that decreases any of the two is a decrease.
    #[test]
    fn adjustments_are_counted_by_the_day() {
        let of = |read, write| Throughput { read, write };
        let from = of(5, 5);
        let day = Moment::from_seconds(20_000 * 86_400);
        let after = |seconds| day.plus(std::time::Duration::from_secs(seconds));
        for (to, decreases) in [
            (of(4, 5), true),
            (of(5, 4), true),
            (of(9, 4), true),
            (of(4, 9), true),
            (of(6, 5), false),
            (of(5, 6), false),
        ] {
            let mut adjustments = Adjustments::default();
            adjustments.note(from, to, after(0));
            let (now, never) = (Some(after(0)), None);
            let expect = if decreases { (never, now, 1) } else { (now, never, 0) };
            let Adjustments {
                increased, decreased, ..
            } = adjustments;
            assert_eq!((increased, decreased, adjustments.decreases), expect, "{to:?}");
        }
        let mut adjustments = Adjustments::default();
        for (second, counted) in [
            (86_398, 1),
            (86_399, 2),
            (86_400, 1),
            (2 * 86_400, 1),
            (2 * 86_400 + 1, 2),
        ] {
            adjustments.note(from, of(1, 1), after(second));
            assert_eq!(adjustments.decreases_on(after(second)), counted, "{second}");
        }
        assert_eq!(adjustments.decreases_on(after(3 * 86_400)), 0);
    }

    #[test]
    fn projections_have_the_keys_of_the_index_and_of_the_table() {
        let key = |name: &str| {
            let kind = ScalarType::S;
            let name = name.into();
            KeySchema::new([KeyAttribute { name, kind }], [])
        };
        let names = ["g", "other", "pk", "wanted"];
        for (projection, expect) in [
            (Projection::All, &names[..]),
            (Projection::KeysOnly, &["g", "pk"]),
            (Projection::Include(vec!["wanted".into()]), &["g", "pk", "wanted"]),
        ] {
            let index = Index {
                name: "by-g".into(),
                key: key("g"),
                projection: projection.clone(),
                local: false,
                throughput: Throughput::default(),
                adjustments: Adjustments::default(),
                on_demand: None,
                warm: None,
            };
            let found: Vec<_> = names
                .into_iter()
                .filter(|name| index.projects(name, &key("pk")))
                .collect();
            assert_eq!(found, expect, "{projection:?}");
        }
    }

    #[test]
    fn views_show_their_images() {
        for (name, old, new) in [
            ("KEYS_ONLY", false, false),
            ("NEW_IMAGE", false, true),
            ("OLD_IMAGE", true, false),
            ("NEW_AND_OLD_IMAGES", true, true),
        ] {
            let view = StreamView::from_name(name).unwrap();
            assert_eq!((view.name(), view.shows_old(), view.shows_new()), (name, old, new));
        }
    }

    #[test]
    fn a_key_schema_contains_its_attributes() {
        let key = KeySchema::new(
            [KeyAttribute {
                name: "pk".into(),
                kind: ScalarType::S,
            }],
            [],
        );
        assert!(key.contains("pk"));
        assert_eq!(key.attributes().count(), 1);
    }
}
