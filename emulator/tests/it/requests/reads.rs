//! Reads: single, in batches and transactions, and the pages of Query and Scan.

use serde_json::{Value, json};

use super::History;
use super::expressions::{Condition, DOCUMENTS, Path, Text, Typed, any_collide, any_path, collide, name, project, top};
use super::legacy::add_conditions;
use super::tables::{Index, Projection, Table, Units, read_units};
use super::values::{Item, Val, item_from_json, item_json, item_sent, item_size, key, one_of};
use super::writes::{NAMES, normalized};
use crate::common::Choice;
use crate::common::model::{kind, sorted_by_text};

/// A condition on a key value: an operator and one or two values.
pub type Range = (&'static str, Val, Val);

/// A condition on a key attribute.
pub type KeyCondition = (&'static str, Range);

/// Whether a range has no values, for which requests are refused.
pub fn reversed((operator, low, high): &Range) -> bool {
    *operator == "BETWEEN" && low > high
}

pub fn any_range(choice: &mut Choice, kind: &str) -> Range {
    let operators: &[&str] = match kind {
        "N" => &["=", "<", "<=", ">", ">=", "BETWEEN"],
        _ => &["=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"],
    };
    let (low, high) = (key(choice, kind, 7), key(choice, kind, 7));
    let ordered = !choice.one_in(20);
    if ordered && low > high {
        return (one_of(choice, operators), high, low);
    }
    (one_of(choice, operators), low, high)
}

pub fn in_range((operator, low, high): &Range, value: &Val) -> bool {
    match *operator {
        "=" => value == low,
        "<" => value < low,
        "<=" => value <= low,
        ">" => value > low,
        ">=" => value >= low,
        "BETWEEN" => low <= value && value <= high,
        _ => match (value, low) {
            (Val::S(text), Val::S(prefix)) => text.starts_with(prefix),
            (Val::B(bytes), Val::B(prefix)) => bytes.starts_with(prefix),
            _ => false,
        },
    }
}

pub fn range_text((operator, low, high): &Range, attribute: &str, text: &mut Text) -> String {
    let path = text.path(&name(attribute));
    match *operator {
        "BETWEEN" => format!("{path} BETWEEN {} AND {}", text.value(low), text.value(high)),
        "begins_with" => format!("begins_with({path}, {})", text.value(low)),
        _ => format!("{path} {operator} {}", text.value(low)),
    }
}

/// The range condition as a member of KeyConditions.
fn range_member((operator, low, high): &Range, choice: &mut Choice) -> Value {
    let word = match *operator {
        "=" => "EQ",
        "<" => "LT",
        "<=" => "LE",
        ">" => "GT",
        ">=" => "GE",
        "BETWEEN" => "BETWEEN",
        _ => "BEGINS_WITH",
    };
    let mut values = vec![low.sent(choice)];
    if word == "BETWEEN" {
        values.push(high.sent(choice));
    }
    json!({"ComparisonOperator": word, "AttributeValueList": values})
}

/// Adds AttributesToGet to a request.
fn add_attributes(choice: &mut Choice, body: &mut Value, names: &[&str]) -> Vec<Path> {
    let mut attributes: Vec<&str> = Vec::new();
    for _ in 0..=choice.below(3) {
        let attribute = one_of(choice, names);
        if !attributes.contains(&attribute) || choice.one_in(40) {
            attributes.push(attribute);
        }
    }
    body["AttributesToGet"] = json!(attributes);
    attributes.into_iter().map(name).collect()
}

/// Adds a ProjectionExpression to a request.
fn add_projection(choice: &mut Choice, body: &mut Value, text: &mut Text, names: &[&str]) -> Vec<Path> {
    let mut paths: Vec<Path> = vec![any_path(choice, names)];
    for _ in 0..choice.below(3) {
        let path = any_path(choice, names);
        // Few paths overlap.
        if !paths.iter().any(|other| collide(other, &path)) || choice.one_in(40) {
            paths.push(path);
        }
    }
    body["ProjectionExpression"] = text.paths(&paths).into();
    paths
}

/// What a Query or Scan returns of the items that it reads, and what it costs.
pub struct Shape {
    pub table: usize,
    pub index: Option<Index>,
    pub filter: Option<Condition>,
    pub projection: Vec<Path>,
    pub select: &'static str,
    pub consistent: bool,
    pub mode: &'static str,
    /// Whether the request has legacy parameters.
    pub legacy: bool,
}

impl Shape {
    pub fn keys(&self, table: &Table) -> Vec<&'static str> {
        let keys = self.index.as_ref().map_or_else(|| table.keys(), Index::keys);
        keys.into_iter().map(|(name, _)| name).collect()
    }

    pub fn covers(&self, table: &Table, name: &str) -> bool {
        let projected = self.index.as_ref().and_then(|index| table.projected(index));
        projected.is_none_or(|names| names.contains(&name))
    }

    /// Whether the items are read from the table too: unprojected attributes of a local index.
    fn fetches(&self, table: &Table) -> bool {
        let partial = self
            .index
            .as_ref()
            .is_some_and(|index| index.projection != Projection::All);
        let wants = self.projection.iter().any(|path| !self.covers(table, top(path)));
        partial && (self.select == "ALL_ATTRIBUTES" || wants)
    }

    /// Whether the request is refused.
    pub fn invalid(&self, table: &Table, query: bool) -> bool {
        let paths: Vec<&Path> = self.projection.iter().collect();
        let global = self.index.as_ref().is_some_and(|index| !index.local);
        let filter = self.filter.as_ref();
        any_collide(&paths)
            || filter.is_some_and(|filter| !filter.valid())
            || global && (self.consistent || self.fetches(table))
            || query && filter.is_some_and(|filter| filter.attributes().iter().any(|name| !self.covers(table, name)))
    }

    /// The page that these items make, of which the last is the given one.
    pub fn page(&self, table: &Table, items: &[Item]) -> (Vec<Item>, Units) {
        let entries: Vec<Item> = items
            .iter()
            .map(|item| match &self.index {
                Some(index) => table.entry(index, item).unwrap(),
                None => item.clone(),
            })
            .collect();
        let bytes = entries.iter().map(item_size).sum();
        let mut units = Units::of_table(read_units(bytes, self.consistent));
        if let Some(index) = &self.index {
            units = Units::default();
            units
                .indexes
                .insert(index.name, (index.local, read_units(bytes, self.consistent)));
        }
        let fetches = self.fetches(table);
        if fetches {
            units.table += items
                .iter()
                .map(|item| read_units(item_size(item), self.consistent))
                .sum::<f64>();
        }
        let read = if fetches { items.to_vec() } else { entries };
        let kept = read
            .into_iter()
            .filter(|item| self.filter.as_ref().is_none_or(|filter| filter.holds(item)));
        (kept.map(|item| shown(&item, &self.projection)).collect(), units)
    }
}

impl History {
    fn any_shape(&mut self, query: bool) -> (Shape, Value, Text) {
        let table = self.any_table();
        let choice = &mut self.choice;
        let of = &self.tables[table];
        let index = if choice.one_in(2) {
            None
        } else {
            Some(one_of(choice, &of.indexes))
        };
        let mut shape = Shape {
            table,
            index,
            filter: None,
            projection: Vec::new(),
            select: "",
            consistent: choice.one_in(3),
            mode: "",
            legacy: choice.one_in(4),
        };
        if choice.below(10) > 0 && shape.index.as_ref().is_some_and(|index| !index.local) {
            shape.consistent = false;
        }
        let keys = shape.keys(of);
        let some = !choice.one_in(20);
        // Most requests name attributes that are in the index. A Scan may filter by keys.
        let names = NAMES.into_iter().filter(|name| !some || shape.covers(of, name));
        let names: Vec<&str> = names.filter(|name| !query || !keys.contains(name)).collect();
        let mut body = json!({"TableName": of.name});
        let mut text = Text::expressions(choice);
        if choice.one_in(2) && !names.is_empty() {
            shape.filter = Some(if shape.legacy {
                let member = if query { "QueryFilter" } else { "ScanFilter" };
                add_conditions(choice, &mut body, member, &names)
            } else {
                let filter = Condition::any(choice, &names, 2);
                body["FilterExpression"] = filter.text(&mut text).into();
                filter
            });
        }
        let local = shape.index.as_ref().is_some_and(|index| index.local);
        match choice.below(8) {
            0..3 => {
                let names = NAMES
                    .into_iter()
                    .filter(|name| local || !some || shape.covers(of, name));
                let names: Vec<&str> = names.collect();
                shape.projection = if shape.legacy {
                    add_attributes(choice, &mut body, &names)
                } else {
                    add_projection(choice, &mut body, &mut text, &names)
                };
                shape.select = one_of(choice, &["", "SPECIFIC_ATTRIBUTES"]);
            }
            3 => shape.select = "COUNT",
            4 => shape.select = "ALL_ATTRIBUTES",
            5 if shape.index.is_some() => shape.select = "ALL_PROJECTED_ATTRIBUTES",
            _ => {}
        }
        if let Some(index) = &shape.index {
            body["IndexName"] = index.name.into();
        }
        if !shape.select.is_empty() {
            body["Select"] = shape.select.into();
        }
        if shape.consistent {
            body["ConsistentRead"] = true.into();
        }
        shape.mode = self.any_mode(&mut body);
        (shape, body, text)
    }

    /// The items that a Query reads in its order, and whether the model knows the order.
    pub fn matching(&self, shape: &Shape, conditions: &[KeyCondition], forward: bool) -> (Vec<Item>, bool) {
        let table = &self.tables[shape.table];
        let keys = shape.keys(table);
        let meets = |item: &&Item| {
            keys.iter().all(|name| item.contains_key(*name))
                && conditions.iter().all(|(name, range)| in_range(range, &item[*name]))
        };
        let mut items: Vec<Item> = table.items.values().filter(meets).cloned().collect();
        // The hash attributes are equal.
        let order = |item: &Item| -> Vec<Val> { keys.iter().map(|name| item[*name].clone()).collect() };
        items.sort_by_key(order);
        let known = items.windows(2).all(|pair| order(&pair[0]) != order(&pair[1]));
        if !forward {
            items.reverse();
        }
        (items, known)
    }

    /// Equality of the hash attributes, and conditions on the first range attributes, of which all but the last are
    /// equalities.
    fn any_key_conditions(&mut self, shape: &Shape) -> Vec<KeyCondition> {
        let table = &self.tables[shape.table];
        let choice = &mut self.choice;
        let (hash, range) = match &shape.index {
            Some(index) => (index.hash.clone(), index.range.clone()),
            None => (vec![table.hash], table.range.into_iter().collect()),
        };
        // Values of a stored item, or any.
        let stored: Vec<&Item> = table.items.values().collect();
        let stored = (!stored.is_empty() && choice.one_in(3)).then(|| one_of(choice, &stored));
        let equal = |choice: &mut Choice, (name, kind): Typed| {
            let count = if name == "pk" { 3 } else { 4 };
            let value = key(choice, kind, count);
            let fitting = stored
                .and_then(|item| item.get(name))
                .filter(|value| value.kind() == kind);
            let value = fitting.cloned().unwrap_or(value);
            (name, ("=", value.clone(), value))
        };
        let mut conditions: Vec<KeyCondition> = hash.into_iter().map(|typed| equal(choice, typed)).collect();
        let count = choice.below(range.len() as u64 * 2 + 1).div_ceil(2) as usize;
        for (at, typed) in range.into_iter().take(count).enumerate() {
            let last = at + 1 == count;
            conditions.push(if last {
                (typed.0, any_range(choice, typed.1))
            } else {
                equal(choice, typed)
            });
        }
        conditions
    }

    pub fn query(&mut self) {
        let (shape, mut body, mut text) = self.any_shape(true);
        let conditions = self.any_key_conditions(&shape);
        let table = &self.tables[shape.table];
        // KeyConditions go together with the other expressions.
        if shape.legacy || self.choice.one_in(8) {
            let members = conditions.iter();
            let members = members.map(|(name, range)| ((*name).to_owned(), range_member(range, &mut self.choice)));
            body["KeyConditions"] = Value::Object(members.collect());
        } else {
            let clauses = conditions.iter();
            let mut clauses: Vec<String> = clauses
                .map(|(name, range)| range_text(range, name, &mut text))
                .collect();
            if self.choice.one_in(3) {
                clauses.reverse();
            }
            body["KeyConditionExpression"] = clauses.join(" AND ").into();
        }
        text.finish(&mut body);
        let forward = !self.choice.one_in(2);
        if !forward || self.choice.one_in(3) {
            body["ScanIndexForward"] = forward.into();
        }
        if conditions.iter().any(|(_, range)| reversed(range)) || shape.invalid(table, true) {
            let answer = self.send("Query", &body);
            return self.refused("Query", &body, &answer, "ValidationException");
        }
        let (items, known) = self.matching(&shape, &conditions, forward);
        // A Query of a single item cannot be continued.
        let fixed = conditions.iter().all(|(_, range)| range.0 == "=");
        let single = fixed && conditions.len() == shape.keys(table).len();
        if !known && self.choice.one_in(2) {
            return self.all_pages("Query", body, &shape, &items);
        }
        let limited = known && !single && self.choice.one_in(2);
        let mut rest = &items[..];
        loop {
            let limit = 1 + self.choice.below(4) as usize;
            if limited {
                body["Limit"] = limit.into();
            }
            let stopped = limited && limit <= rest.len();
            let (read, later) = rest.split_at(if stopped { limit } else { rest.len() });
            let expected = self.page_json(&shape, read, stopped);
            let mut answer = self.send("Query", &body);
            if !known && let Some(list) = answer.get_mut("Items").and_then(Value::as_array_mut) {
                *list = sorted_by_text(std::mem::take(list));
            }
            let expected = if known { expected } else { sorted_items(expected) };
            self.same("Query", &body, answer, expected.clone());
            let Some(last) = expected.get("LastEvaluatedKey") else {
                return;
            };
            body["ExclusiveStartKey"] = last.clone();
            rest = later;
        }
    }

    /// The answer to a Query or Scan that reads these items.
    fn page_json(&self, shape: &Shape, read: &[Item], stopped: bool) -> Value {
        let table = &self.tables[shape.table];
        let (items, units) = shape.page(table, read);
        let mut expected = json!({"Count": items.len(), "ScannedCount": read.len()});
        if shape.select != "COUNT" {
            expected["Items"] = Table::items_json(&items).into();
        }
        if let Some(last) = read.last().filter(|_| stopped) {
            expected["LastEvaluatedKey"] = item_json(&self.position(shape, last));
        }
        units.add_to(&mut expected, shape.mode, table.name);
        expected
    }

    fn position(&self, shape: &Shape, item: &Item) -> Item {
        let table = &self.tables[shape.table];
        let mut position = table.key_item(item);
        for name in shape.keys(table) {
            position.insert(name.to_owned(), item[name].clone());
        }
        position
    }

    pub fn scan(&mut self) {
        let (shape, mut body, text) = self.any_shape(false);
        text.finish(&mut body);
        let table = &self.tables[shape.table];
        if shape.invalid(table, false) {
            let answer = self.send("Scan", &body);
            return self.refused("Scan", &body, &answer, "ValidationException");
        }
        let keys = shape.keys(table);
        let items = table
            .items
            .values()
            .filter(|item| keys.iter().all(|name| item.contains_key(*name)));
        let items: Vec<Item> = items.cloned().collect();
        // Filters of items that are fetched for a local index are not described.
        let filtered = shape
            .filter
            .as_ref()
            .is_some_and(|filter| filter.attributes().iter().any(|name| !shape.covers(table, name)));
        if filtered && shape.fetches(table) {
            return;
        }
        if self.choice.one_in(2) {
            let expected = sorted_items(self.page_json(&shape, &items, false));
            let answer = self.send("Scan", &body);
            return self.same("Scan", &body, sorted_items(answer), expected);
        }
        self.all_pages("Scan", body, &shape, &items);
    }

    /// Reads all pages, in all segments of a Scan, whose order the model does not know, and compares their union.
    fn all_pages(&mut self, operation: &str, mut body: Value, shape: &Shape, items: &[Item]) {
        let segments = if operation == "Scan" {
            1 + self.choice.below(3)
        } else {
            1
        };
        let whole = shape.filter.is_none() && shape.projection.is_empty() && shape.select.is_empty();
        let table = &self.tables[shape.table];
        let (mut found, mut counts) = (Vec::new(), [0, 0]);
        for segment in 0..segments {
            if segments > 1 {
                body["Segment"] = segment.into();
                body["TotalSegments"] = segments.into();
            }
            body.as_object_mut().unwrap().remove("ExclusiveStartKey");
            loop {
                let limit = 1 + self.choice.below(6);
                body["Limit"] = limit.into();
                let answer = self.send(operation, &body);
                self.same(operation, &body, kind(&answer), "");
                let items = answer["Items"].as_array().cloned().unwrap_or_default();
                for (count, member) in counts.iter_mut().zip(["Count", "ScannedCount"]) {
                    *count += answer[member].as_u64().unwrap();
                }
                let last = answer.get("LastEvaluatedKey");
                self.same(operation, &body, answer["ScannedCount"] == limit, last.is_some());
                if whole {
                    let read: Vec<Item> = items
                        .iter()
                        .map(|item| table.items[&table.key(&item_from_json(item))].clone())
                        .collect();
                    let expected = sorted_items(self.page_json(shape, &read, last.is_some()));
                    self.same(operation, &body, sorted_items(answer.clone()), expected);
                }
                found.extend(items);
                match last {
                    Some(last) => body["ExclusiveStartKey"] = last.clone(),
                    None => break,
                }
            }
        }
        let (expected, _) = shape.page(table, items);
        self.same(operation, &body, json!(counts), json!([expected.len(), items.len()]));
        if shape.select != "COUNT" {
            let expected = sorted_by_text(Table::items_json(&expected));
            self.same(operation, &body, sorted_by_text(found), expected);
        }
    }

    /// Compares the contents, counts and sizes of tables and indexes.
    pub fn check_tables(&mut self) {
        for at in 0..self.tables.len() {
            let table = &self.tables[at];
            let described = self.twin.ok("DescribeTable", &json!({"TableName": table.name}))["Table"].clone();
            let indexes = table.indexes.iter().cloned().map(Some);
            for index in indexes.chain([None]) {
                let mut body = json!({"TableName": table.name});
                let mut entries: Vec<Item> = table.items.values().cloned().collect();
                let mut counts = json!([described["ItemCount"], described["TableSizeBytes"]]);
                if let Some(index) = &index {
                    body["IndexName"] = index.name.into();
                    entries = entries.iter().filter_map(|item| table.entry(index, item)).collect();
                    let member = if index.local {
                        "LocalSecondaryIndexes"
                    } else {
                        "GlobalSecondaryIndexes"
                    };
                    let index = &described[member][0];
                    counts = json!([index["ItemCount"], index["IndexSizeBytes"]]);
                }
                let answer = self.send("Scan", &body);
                let found = sorted_by_text(answer["Items"].as_array().unwrap().clone());
                self.same("Scan", &body, found, sorted_by_text(Table::items_json(&entries)));
                let size: usize = entries.iter().map(item_size).sum();
                self.same("DescribeTable", &body, counts, json!([entries.len(), size]));
            }
        }
    }

    pub fn get(&mut self) {
        let table = self.any_table();
        let key = self.tables[table].any_key(&mut self.choice);
        let mut text = Text::expressions(&mut self.choice);
        let mut body = json!({"TableName": self.tables[table].name, "Key": item_sent(&key, &mut self.choice)});
        let projection = self.projected(&mut body, &mut text, true);
        text.finish(&mut body);
        let consistent = self.choice.one_in(2);
        body["ConsistentRead"] = consistent.into();
        let mode = self.any_mode(&mut body);
        let answer = self.send("GetItem", &body);
        if any_collide(&projection.iter().collect::<Vec<_>>()) {
            return self.refused("GetItem", &body, &answer, "ValidationException");
        }
        let item = self.stored(table, &key);
        let units = Units::of_table(read_units(item.as_ref().map_or(0, item_size), consistent));
        let mut expected = json!({});
        if let Some(item) = item {
            expected["Item"] = item_json(&shown(&item, &projection));
        }
        units.add_to(&mut expected, mode, self.tables[table].name);
        self.same("GetItem", &body, answer, expected);
    }

    /// Adds a projection or none; AttributesToGet only where the operation has it.
    fn projected(&mut self, body: &mut Value, text: &mut Text, legacy: bool) -> Vec<Path> {
        if self.choice.one_in(2) {
            return Vec::new();
        }
        let names = [&DOCUMENTS[..], &["pk", "sk", "g", "padding"]].concat();
        if legacy && self.choice.one_in(4) {
            return add_attributes(&mut self.choice, body, &names);
        }
        add_projection(&mut self.choice, body, text, &names)
    }

    pub fn batch_get(&mut self) {
        let mut requests = json!({});
        let mut expected = json!({"Responses": {}, "UnprocessedKeys": {}});
        let mut units = [Units::default(), Units::default()];
        let mut invalid = false;
        for (table, units) in units.iter_mut().enumerate() {
            if table == 1 && self.choice.one_in(2) {
                break;
            }
            let name = self.tables[table].name;
            let count = 1 + self.choice.below(5);
            let keys: Vec<Item> = (0..count)
                .map(|_| self.tables[table].any_key(&mut self.choice))
                .collect();
            let repeated = keys.iter().enumerate().any(|(at, key)| keys[..at].contains(key));
            if repeated && !self.choice.one_in(8) {
                return;
            }
            invalid |= repeated;
            let mut text = Text::expressions(&mut self.choice);
            // One notation for each number: other notations of a key are no duplicates here.
            let mut body = json!({"Keys": Table::items_json(&keys)});
            let projection = self.projected(&mut body, &mut text, true);
            invalid |= any_collide(&projection.iter().collect::<Vec<_>>());
            text.finish(&mut body);
            let consistent = self.choice.one_in(2);
            body["ConsistentRead"] = consistent.into();
            requests[name] = body;
            let found: Vec<Item> = keys.iter().filter_map(|key| self.stored(table, key)).collect();
            units.table = keys
                .iter()
                .map(|key| read_units(self.stored(table, key).as_ref().map_or(0, item_size), consistent))
                .sum();
            let found: Vec<Item> = found.iter().map(|item| shown(item, &projection)).collect();
            expected["Responses"][name] = sorted_by_text(Table::items_json(&found)).into();
        }
        // Legacy parameters do not go together with expressions, even in different tables.
        let has = |member| {
            requests
                .as_object()
                .unwrap()
                .values()
                .any(|table| table.get(member).is_some())
        };
        invalid |= has("AttributesToGet") && has("ProjectionExpression");
        let mut body = json!({"RequestItems": requests});
        let mode = self.any_mode(&mut body);
        let mut answer = self.send("BatchGetItem", &body);
        if invalid {
            return self.refused("BatchGetItem", &body, &answer, "ValidationException");
        }
        self.add_capacity(&mut expected, mode, &units);
        for list in answer["Responses"].as_object_mut().unwrap().values_mut() {
            *list = sorted_by_text(list.as_array().unwrap().clone()).into();
        }
        self.same("BatchGetItem", &body, normalized(answer), normalized(expected));
    }

    pub fn transact_get(&mut self) {
        let mut gets = Vec::new();
        let mut responses = Vec::new();
        let mut units = [0.0, 0.0];
        let mut keys: Vec<(usize, Item)> = Vec::new();
        let mut invalid = false;
        for _ in 0..=self.choice.below(4) {
            let table = self.any_table();
            let key = self.tables[table].any_key(&mut self.choice);
            let repeated = keys.contains(&(table, key.clone()));
            if repeated && !self.choice.one_in(8) {
                continue;
            }
            let mut text = Text::expressions(&mut self.choice);
            let mut body = json!({"TableName": self.tables[table].name, "Key": item_sent(&key, &mut self.choice)});
            let projection = self.projected(&mut body, &mut text, false);
            invalid |= repeated || any_collide(&projection.iter().collect::<Vec<_>>());
            text.finish(&mut body);
            gets.push(json!({"Get": body}));
            let item = self.stored(table, &key);
            units[table] += 2.0 * read_units(item.as_ref().map_or(0, item_size), true);
            responses.push(item.map_or(json!({}), |item| json!({"Item": item_json(&shown(&item, &projection))})));
            keys.push((table, key));
        }
        let mut body = json!({"TransactItems": gets});
        let mode = self.any_mode(&mut body);
        let answer = self.send("TransactGetItems", &body);
        if invalid {
            return self.refused("TransactGetItems", &body, &answer, "ValidationException");
        }
        let mut expected = json!({"Responses": responses});
        if matches!(mode, "TOTAL" | "INDEXES") {
            expected["ConsumedCapacity"] = self.transactional_reads(units, mode).into();
        }
        self.same("TransactGetItems", &body, normalized(answer), normalized(expected));
    }
}

pub fn shown(item: &Item, projection: &[Path]) -> Item {
    if projection.is_empty() {
        item.clone()
    } else {
        project(item, projection)
    }
}

fn sorted_items(mut answer: Value) -> Value {
    if let Some(list) = answer.get_mut("Items").and_then(Value::as_array_mut) {
        *list = sorted_by_text(std::mem::take(list));
    }
    answer
}
