//! Statements.

use serde_json::{Value, json};

use super::table::Table;
use super::{Maker, Request, key};

impl Maker {
    /// A single statement, or several in a batch or a transaction.
    pub(super) fn statement(&mut self) -> Request {
        match self.random.below(4) {
            0 => {
                let statements = self.several();
                ("BatchExecuteStatement".to_owned(), json!({"Statements": statements}))
            }
            1 => {
                let statements = json!({"TransactStatements": self.several()});
                ("ExecuteTransaction".to_owned(), statements)
            }
            _ => {
                let table = self.table();
                let reads = self.random.percent(50);
                let mut statement = self.one(&table, reads, false);
                statement["ConsistentRead"] = true.into();
                ("ExecuteStatement".to_owned(), statement)
            }
        }
    }

    /// Statements on different items, because an item may occur only once.
    fn several(&mut self) -> Vec<Value> {
        let reads = self.random.percent(40);
        let mut tables = self.tables.clone();
        tables.retain(|_| self.random.percent(60));
        if tables.is_empty() {
            tables.push(self.table());
        }
        tables.iter().map(|table| self.one(table, reads, true)).collect()
    }

    fn one(&mut self, table: &Table, reads: bool, whole_key: bool) -> Value {
        let mut parameters = Vec::new();
        let statement = if reads {
            self.select(table, whole_key, &mut parameters)
        } else {
            match self.random.below(3) {
                0 => self.insert(table, &mut parameters),
                1 => self.set(table, &mut parameters),
                _ => {
                    let place = self.place(table, true, &mut parameters);
                    format!("DELETE FROM \"{}\" WHERE {place}", table.name)
                }
            }
        };
        let mut request = json!({"Statement": statement});
        if !parameters.is_empty() {
            request["Parameters"] = parameters.into();
        }
        request
    }

    fn select(&mut self, table: &Table, whole_key: bool, parameters: &mut Vec<Value>) -> String {
        let what = self.random.pick(&["*", "*", "a, b", "pk, c", "d"]);
        let whole_key = whole_key || self.random.percent(40);
        let mut place = self.place(table, whole_key, parameters);
        if !whole_key && self.random.percent(50) {
            place = format!("{place} AND {}", self.filter_text(parameters));
        }
        format!("SELECT {what} FROM \"{}\" WHERE {place}", table.name)
    }

    /// A clause that fixes the partition key, or the whole key.
    fn place(&mut self, table: &Table, whole_key: bool, parameters: &mut Vec<Value>) -> String {
        parameters.push(key(&mut self.random, table.hash));
        match table.range {
            Some(range) if whole_key || self.random.percent(50) => {
                parameters.push(key(&mut self.random, range));
                let operator = if whole_key {
                    "="
                } else {
                    self.random.pick(&["=", "<", ">=", ">"])
                };
                format!("pk = ? AND sk {operator} ?")
            }
            _ => "pk = ?".to_owned(),
        }
    }

    fn filter_text(&mut self, parameters: &mut Vec<Value>) -> String {
        let name = self.random.pick(&["a", "b", "c"]);
        match self.random.below(6) {
            0 => format!("{name} IS MISSING"),
            1 => format!("{name} IS NOT MISSING"),
            2 => format!("attribute_type({name}, 'S')"),
            3 => {
                parameters.push(json!({"S": "x"}));
                format!("begins_with({name}, ?)")
            }
            4 => format!("{name} IN [1, 2, 'x']"),
            _ => {
                parameters.push(self.value(0));
                format!("{name} = ?")
            }
        }
    }

    fn insert(&mut self, table: &Table, parameters: &mut Vec<Value>) -> String {
        let item = self.item(table);
        let mut pairs = Vec::new();
        for (name, value) in item.as_object().into_iter().flatten() {
            pairs.push(format!("'{name}': ?"));
            parameters.push(value.clone());
        }
        format!("INSERT INTO \"{}\" VALUE {{{}}}", table.name, pairs.join(", "))
    }

    fn set(&mut self, table: &Table, parameters: &mut Vec<Value>) -> String {
        let name = self.random.pick(&["a", "b", "c", "d"]);
        let clause = match self.random.below(5) {
            0 => format!("REMOVE {name}"),
            1 => {
                parameters.push(json!({"N": "1"}));
                format!("SET {name} = {name} + ?")
            }
            2 => format!("SET {name} = list_append({name}, ['new'])"),
            _ => {
                parameters.push(self.value(1));
                format!("SET {name} = ?")
            }
        };
        let place = self.place(table, true, parameters);
        let returning = self
            .random
            .pick(&["", "", " RETURNING ALL OLD *", " RETURNING ALL NEW *"]);
        format!("UPDATE \"{}\" {clause} WHERE {place}{returning}", table.name)
    }
}
