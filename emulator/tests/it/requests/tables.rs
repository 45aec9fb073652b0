//! Tables of the model: schemas, index entries, consumed units and item collection metrics.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::expressions::Typed;
use super::streams::Change;
use super::values::{Item, Val, any, item_json, item_size, key, number, of_kind, one_of};
use crate::common::Choice;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Projection {
    All,
    KeysOnly,
    /// `a` and `d`.
    Include,
}

#[derive(Clone, Debug)]
pub struct Index {
    pub name: &'static str,
    pub local: bool,
    /// Several only in global indexes.
    pub hash: Vec<Typed>,
    pub range: Vec<Typed>,
    pub projection: Projection,
}

pub struct Table {
    pub name: &'static str,
    pub hash: Typed,
    pub range: Option<Typed>,
    pub indexes: Vec<Index>,
    /// The view type of the stream.
    pub view: &'static str,
    pub items: BTreeMap<Key, Item>,
    /// All changes of items, in order.
    pub changes: Vec<Change>,
    /// The time in epoch seconds.
    pub now: i64,
}

const TYPES: [&str; 3] = ["S", "N", "B"];

/// The values of the key attributes.
pub type Key = Vec<Val>;

fn any_projection(choice: &mut Choice) -> Projection {
    one_of(choice, &[Projection::All, Projection::KeysOnly, Projection::Include])
}

impl Index {
    pub fn keys(&self) -> Vec<Typed> {
        [&self.hash[..], &self.range].concat()
    }
}

/// Attributes of these names, each of some key type.
fn typed(choice: &mut Choice, names: &[&'static str]) -> Vec<Typed> {
    names.iter().map(|name| (*name, one_of(choice, &TYPES))).collect()
}

impl Table {
    /// A table, of which only the second may have an index of several hash or range attributes, which excludes
    /// statements.
    pub fn any(choice: &mut Choice, name: &'static str, now: i64) -> Table {
        const VIEWS: [&str; 4] = ["NEW_AND_OLD_IMAGES", "NEW_IMAGE", "OLD_IMAGE", "KEYS_ONLY"];
        let hash = ("pk", one_of(choice, &TYPES));
        let range = (!choice.one_in(4)).then(|| ("sk", one_of(choice, &TYPES)));
        let most = if name == "two" { 2 } else { 1 };
        let hashes = 1 + choice.below(most) as usize;
        let ranges = choice.below(1 + most) as usize;
        let mut indexes = vec![Index {
            name: "gsi",
            local: false,
            hash: typed(choice, &["g", "h"][..hashes]),
            range: typed(choice, &["r", "q"][..ranges]),
            projection: any_projection(choice),
        }];
        if range.is_some() && !choice.one_in(4) {
            indexes.push(Index {
                name: "lsi",
                local: true,
                hash: vec![hash],
                range: typed(choice, &["l"]),
                projection: any_projection(choice),
            });
        }
        Table {
            name,
            hash,
            range,
            indexes,
            view: one_of(choice, &VIEWS),
            items: BTreeMap::new(),
            changes: Vec::new(),
            now,
        }
    }

    pub fn create(&self) -> Value {
        let mut types: BTreeMap<&str, &str> = self.keys().into_iter().collect();
        types.extend(self.indexes.iter().flat_map(Index::keys));
        let schema = |keys: Vec<Typed>, hashes: usize| -> Vec<Value> {
            let role = |at| if at < hashes { "HASH" } else { "RANGE" };
            let keys = keys.iter().enumerate();
            keys.map(|(at, (name, _))| json!({"AttributeName": name, "KeyType": role(at)}))
                .collect()
        };
        let definitions = types
            .iter()
            .map(|(name, kind)| json!({"AttributeName": name, "AttributeType": kind}));
        let mut body = json!({"TableName": self.name, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": definitions.collect::<Vec<_>>(), "KeySchema": schema(self.keys(), 1),
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": self.view}});
        for index in &self.indexes {
            let member = if index.local {
                "LocalSecondaryIndexes"
            } else {
                "GlobalSecondaryIndexes"
            };
            let projection = match index.projection {
                Projection::All => json!({"ProjectionType": "ALL"}),
                Projection::KeysOnly => json!({"ProjectionType": "KEYS_ONLY"}),
                Projection::Include => json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "d"]}),
            };
            let schema = schema(index.keys(), index.hash.len());
            body[member] = json!([{"IndexName": index.name, "KeySchema": schema, "Projection": projection}]);
        }
        body
    }

    /// The request that enables time to live.
    pub fn time_to_live(&self) -> Value {
        json!({"TableName": self.name, "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "dies"}})
    }

    pub fn keys(&self) -> Vec<Typed> {
        std::iter::once(self.hash).chain(self.range).collect()
    }

    pub fn index_keys(&self) -> Vec<Typed> {
        let keys = self.indexes.iter().flat_map(Index::keys);
        keys.filter(|(name, _)| *name != "pk").collect()
    }

    pub fn takes_statements(&self) -> bool {
        self.indexes
            .iter()
            .all(|index| index.hash.len() < 2 && index.range.len() < 2)
    }

    pub fn local(&self) -> bool {
        self.indexes.iter().any(|index| index.local)
    }

    pub fn any_key(&self, choice: &mut Choice) -> Item {
        let hashes = if self.range.is_some() { 3 } else { 6 };
        let mut item = Item::from([("pk".to_owned(), key(choice, self.hash.1, hashes))]);
        if let Some((name, kind)) = self.range {
            item.insert(name.to_owned(), key(choice, kind, 7));
        }
        item
    }

    /// An item; index keys rarely have a wrong type or are empty.
    pub fn any_item(&self, choice: &mut Choice) -> Item {
        let mut item = self.any_key(choice);
        for (name, kind) in self.index_keys() {
            let value = match choice.below(120) {
                0 => any(choice, 0),
                1..40 => continue,
                _ => key(choice, kind, 4),
            };
            item.insert(name.to_owned(), value);
        }
        for (name, kinds) in [
            ("a", &["N", "N", "N", "S"][..]),
            ("b", &["S", "S", "B"]),
            ("c", &["L"]),
            ("d", &["M"]),
            ("e", &["SS", "NS", "BS"]),
            ("f", &["BOOL", "NULL", "L", "M", "N", "S", "B"]),
        ] {
            if choice.one_in(2) {
                let kind = one_of(choice, kinds);
                item.insert(name.to_owned(), of_kind(choice, kind, 2));
            }
        }
        if choice.one_in(4) {
            let length = choice.below(6000) as usize;
            item.insert("padding".to_owned(), Val::S("x".repeat(length)));
        }
        if choice.one_in(4) {
            // Later than now, so that items are deleted only when the clock moves; or too long ago to be deleted.
            let dies = match choice.below(10) {
                0 => any(choice, 0),
                1 => Val::number(&(self.now - 6 * 365 * 86_400).to_string()),
                _ => Val::number(&(self.now + 1 + choice.below(1000) as i64).to_string()),
            };
            item.insert("dies".to_owned(), dies);
        }
        if choice.one_in(10) {
            item.insert("a".to_owned(), Val::N(number(choice)));
        }
        item
    }

    pub fn key(&self, item: &Item) -> Key {
        self.keys().iter().map(|(name, _)| item[*name].clone()).collect()
    }

    pub fn key_item(&self, item: &Item) -> Item {
        self.keys()
            .iter()
            .map(|(name, _)| ((*name).to_owned(), item[*name].clone()))
            .collect()
    }

    /// Whether all index keys of the item have the types of the schema and are not empty.
    pub fn fits_indexes(&self, item: &Item) -> bool {
        self.index_keys().iter().all(|(name, kind)| match item.get(*name) {
            None => true,
            Some(Val::S(text)) if text.is_empty() => false,
            Some(Val::B(bytes)) if bytes.is_empty() => false,
            Some(value) => value.kind() == *kind,
        })
    }

    /// The names that an index contains, if not all.
    pub fn projected(&self, index: &Index) -> Option<Vec<&'static str>> {
        if index.projection == Projection::All {
            return None;
        }
        let keys = self.keys().into_iter().chain(index.keys()).map(|(name, _)| name);
        let included: &[&str] = if index.projection == Projection::Include {
            &["a", "d"]
        } else {
            &[]
        };
        Some(keys.chain(included.iter().copied()).collect())
    }

    pub fn entry(&self, index: &Index, item: &Item) -> Option<Item> {
        if !index.keys().iter().all(|(name, _)| item.contains_key(*name)) {
            return None;
        }
        let mut entry = item.clone();
        if let Some(names) = self.projected(index) {
            entry.retain(|name, _| names.contains(&name.as_str()));
        }
        Some(entry)
    }

    pub fn items_json(items: &[Item]) -> Vec<Value> {
        items.iter().map(item_json).collect()
    }
}

/// The item collection metrics of a small collection.
pub fn collection_metrics(key: &Item) -> Value {
    json!({"ItemCollectionKey": {"pk": key["pk"].json()}, "SizeEstimateRangeGB": [0.0, 1.0]})
}

fn kilobytes(bytes: usize, unit: usize) -> f64 {
    bytes.div_ceil(unit).max(1) as f64
}

/// The units of a read of so many bytes.
pub fn read_units(bytes: usize, consistent: bool) -> f64 {
    kilobytes(bytes, 4096) * if consistent { 1.0 } else { 0.5 }
}

/// Consumed units: of the table and of the indexes that are touched.
#[derive(Clone, Debug, Default)]
pub struct Units {
    pub table: f64,
    /// Whether the index is local, and its units.
    pub indexes: BTreeMap<&'static str, (bool, f64)>,
}

impl Units {
    pub fn of_table(table: f64) -> Units {
        Units {
            table,
            ..Units::default()
        }
    }

    /// The units of a write that replaces an item.
    pub fn written(table: &Table, old: Option<&Item>, new: Option<&Item>) -> Units {
        let size = |item: Option<&Item>| item.map_or(0, item_size);
        let mut units = Units::of_table(kilobytes(size(old).max(size(new)), 1024));
        for index in &table.indexes {
            let before = old.and_then(|item| table.entry(index, item));
            let after = new.and_then(|item| table.entry(index, item));
            let moved =
                |before: &Item, after: &Item| index.keys().iter().any(|(name, _)| before[*name] != after[*name]);
            let of = |entry: &Item| kilobytes(item_size(entry), 1024);
            let spent = match (&before, &after) {
                (None, None) => continue,
                (Some(entry), None) | (None, Some(entry)) => of(entry),
                (Some(before), Some(after)) if before == after => continue,
                (Some(before), Some(after)) if moved(before, after) => of(before) + of(after),
                (Some(before), Some(after)) => of(before).max(of(after)),
            };
            units.indexes.insert(index.name, (index.local, spent));
        }
        units
    }

    pub fn add(&mut self, other: &Units) {
        self.table += other.table;
        for (name, (local, units)) in &other.indexes {
            self.indexes.entry(name).or_insert((*local, 0.0)).1 += units;
        }
    }

    /// Adds ConsumedCapacity to an answer, if the mode asks for it.
    pub fn add_to(&self, answer: &mut Value, mode: &str, table: &str) {
        if matches!(mode, "TOTAL" | "INDEXES") {
            answer["ConsumedCapacity"] = self.json(mode, table);
        }
    }

    /// ConsumedCapacity in the mode; null without one.
    pub fn json(&self, mode: &str, table: &str) -> Value {
        let total = self.table + self.indexes.values().map(|(_, units)| units).sum::<f64>();
        let mut answer = json!({"TableName": table, "CapacityUnits": total});
        match mode {
            "INDEXES" => answer["Table"] = json!({"CapacityUnits": self.table}),
            "TOTAL" => return answer,
            _ => return Value::Null,
        }
        for (member, local) in [("LocalSecondaryIndexes", true), ("GlobalSecondaryIndexes", false)] {
            let arms = self.indexes.iter().filter(|(_, (of, _))| *of == local);
            let arms: Map<String, Value> = arms
                .map(|(name, (_, units))| ((*name).to_owned(), json!({"CapacityUnits": units})))
                .collect();
            if !arms.is_empty() {
                answer[member] = arms.into();
            }
        }
        answer
    }
}
