//! Requests that read.

use serde_json::{Map, Value, json};

use super::table::Table;
use super::{Maker, Request, key, merge, push};

impl Maker {
    pub(super) fn get(&mut self) -> Request {
        let table = self.table();
        let mut request = json!({"TableName": table.name, "Key": self.key(&table), "ConsistentRead": true});
        if self.random.percent(50) {
            let mut expressions = self.expressions(&table);
            request["ProjectionExpression"] = expressions.projection().into();
            expressions.finish(&mut request);
        } else if self.random.percent(20) {
            request["AttributesToGet"] = json!(["a", "pk"]);
        }
        ("GetItem".to_owned(), request)
    }

    pub(super) fn query(&mut self) -> Request {
        let table = self.table();
        let index = match self.random.below(2 * table.indexes.len() + 1) {
            at if at < table.indexes.len() => Some(table.indexes[at].clone()),
            _ => None,
        };
        let hash = index.as_ref().map_or("pk", |index| index.hash);
        let range = index.as_ref().map_or(table.range.map(|_| "sk"), |index| index.range);
        let mut values = json!({":h": key(&mut self.random, table.kind(hash))});
        let mut condition = format!("{hash} = :h");
        if let Some(range) = range
            && self.random.percent(60)
        {
            condition.push_str(&self.of_range(range, table.kind(range), &mut values));
        }
        let mut request = json!({"TableName": table.name, "KeyConditionExpression": condition});
        if let Some(index) = &index {
            request["IndexName"] = index.name.into();
        } else {
            request["ConsistentRead"] = true.into();
        }
        // A Query by the whole key of a global index may stop after it; DynamoDB Local continues.
        let whole = index.as_ref().is_some_and(|index| index.global) && condition.contains(" = :r");
        if !whole && self.random.percent(40) {
            request["Limit"] = (self.random.below(4) + 1).into();
        }
        request["ScanIndexForward"] = self.random.percent(50).into();
        let shape = self.random.below(100);
        let filtered = self.random.percent(40);
        let mut expressions = self.expressions(&table);
        if filtered {
            // Filters must not contain keys.
            expressions.without_keys();
            request["FilterExpression"] = expressions.condition(1).into();
        }
        match shape {
            0..15 => request["Select"] = "COUNT".into(),
            // A global index may lack attributes of the projection.
            15..35 if index.as_ref().is_none_or(|index| !index.global) => {
                request["ProjectionExpression"] = expressions.projection().into();
            }
            35..45 if index.as_ref().is_none_or(|index| !index.global) => request["Select"] = "ALL_ATTRIBUTES".into(),
            _ => {}
        }
        expressions.finish(&mut request);
        merge(&mut request, "ExpressionAttributeValues", values);
        ("Query".to_owned(), request)
    }

    fn of_range(&mut self, range: &str, kind: &str, values: &mut Value) -> String {
        values[":r"] = key(&mut self.random, kind);
        let form = self.random.below(if kind == "N" { 6 } else { 7 });
        if form == 0 {
            values[":s"] = key(&mut self.random, kind);
        }
        match form {
            0 => format!(" AND {range} BETWEEN :r AND :s"),
            6 => format!(" AND begins_with({range}, :r)"),
            form => format!(" AND {range} {} :r", ["=", "<", "<=", ">", ">="][form - 1]),
        }
    }

    pub(super) fn scan(&mut self) -> Request {
        let table = self.table();
        let mut request = json!({"TableName": table.name});
        // DynamoDB Local filters by attributes that the index does not project.
        let mut filters = true;
        match self.random.below(2 * table.indexes.len() + 1) {
            at if at < table.indexes.len() => {
                request["IndexName"] = table.indexes[at].name.into();
                filters = table.indexes[at].is_whole();
            }
            _ => request["ConsistentRead"] = true.into(),
        }
        if self.random.percent(30) {
            request["Limit"] = (self.random.below(4) + 1).into();
        }
        if self.random.percent(20) {
            request["TotalSegments"] = (self.random.below(3) + 1).into();
            request["Segment"] = 0.into();
        }
        if filters && self.random.percent(50) {
            self.filter(&table, &mut request);
        } else if filters && self.random.percent(40) {
            request["ScanFilter"] = self.legacy_conditions(false);
        }
        ("Scan".to_owned(), request)
    }

    fn filter(&mut self, table: &Table, request: &mut Value) {
        let mut expressions = self.expressions(table);
        request["FilterExpression"] = expressions.condition(2).into();
        expressions.finish(request);
    }

    pub(super) fn batch_get(&mut self) -> Request {
        let mut tables = Map::new();
        for _ in 0..=self.random.below(4) {
            let table = self.table();
            let key = self.key(&table);
            push(&mut tables, table.name, key);
        }
        let of_table = |(name, keys): (String, Value)| {
            let mut requested = json!({"Keys": keys, "ConsistentRead": true});
            if self.random.percent(30) {
                let mut expressions = super::Expressions::new(&mut self.random, false);
                requested["ProjectionExpression"] = expressions.projection().into();
                expressions.finish(&mut requested);
            }
            (name, requested)
        };
        let tables: Map<String, Value> = tables.into_iter().map(of_table).collect();
        ("BatchGetItem".to_owned(), json!({"RequestItems": tables}))
    }

    pub(super) fn transact_get(&mut self) -> Request {
        let gets: Vec<Value> = (0..=self.random.below(3))
            .map(|_| {
                let (_, mut get) = self.get();
                if let Some(members) = get.as_object_mut() {
                    members.remove("ConsistentRead");
                    members.remove("AttributesToGet");
                }
                json!({"Get": get})
            })
            .collect();
        ("TransactGetItems".to_owned(), json!({"TransactItems": gets}))
    }
}
