//! Statements of PartiQL (page 05 of `docs/behavior`, sections 8 to 11).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::History;
use super::expressions::{Condition, DOCUMENTS, Path, Text, Update, name};
use super::reads::{KeyCondition, Shape, any_range, range_text, reversed, shown};
use super::tables::{Index, Table, Units, read_units};
use super::values::{Item, item_json, item_size, key, one_of};
use super::writes::{Outcome, Transaction, Write, WriteAction, repeated};
use crate::common::model::{kind, sorted_by_text};

impl History {
    /// A SELECT of one partition, with up to three conditions on the sort key and a filter.
    pub fn select(&mut self) {
        let table = self.any_statement_table();
        let choice = &mut self.choice;
        let of = &self.tables[table];
        let index = if choice.one_in(2) {
            None
        } else {
            Some(one_of(choice, &of.indexes))
        };
        let keys = index.as_ref().map_or_else(|| of.keys(), Index::keys);
        let mut text = Text::statement(choice);
        let hash = match &index {
            Some(index) if !index.local => key(choice, keys[0].1, 4),
            _ => of.any_key(choice)["pk"].clone(),
        };
        let mut shape = Shape {
            table,
            filter: None,
            projection: Vec::new(),
            // The star stands for the projection of an index.
            select: "",
            consistent: choice.one_in(3) && index.as_ref().is_none_or(|index| index.local),
            mode: "",
            legacy: false,
            index,
        };
        let columns = DOCUMENTS.into_iter().filter(|name| shape.covers(of, name));
        let columns: Vec<&str> = columns.collect();
        let column = if columns.is_empty() || choice.one_in(2) {
            "*".to_owned()
        } else {
            shape.projection = vec![name(one_of(choice, &columns))];
            text.paths(&shape.projection)
        };
        let target = match &shape.index {
            Some(index) => format!("\"{}\".\"{}\"", of.name, index.name),
            None => format!("\"{}\"", of.name),
        };
        let mut conditions: Vec<KeyCondition> = vec![(keys[0].0, ("=", hash.clone(), hash))];
        if let Some((name, kind)) = keys.get(1) {
            conditions.extend((0..choice.below(4)).map(|_| (*name, any_range(choice, kind))));
        }
        let clauses = conditions.iter();
        let mut clauses: Vec<String> = clauses
            .map(|(name, range)| range_text(range, name, &mut text))
            .collect();
        if !columns.is_empty() && choice.one_in(2) {
            let filter = Condition::any(choice, &columns, 2);
            clauses.push(filter.nested(&mut text));
            shape.filter = Some(filter);
        }
        let statement = format!("SELECT {column} FROM {target} WHERE {}", clauses.join(" AND "));
        let mut body = json!({"Statement": statement, "ConsistentRead": shape.consistent});
        text.finish(&mut body);
        shape.mode = self.any_mode(&mut body);
        let table = &self.tables[shape.table];
        if conditions.iter().any(|(_, range)| reversed(range)) || shape.invalid(table, true) {
            let answer = self.send("ExecuteStatement", &body);
            return self.refused("ExecuteStatement", &body, &answer, "ValidationException");
        }
        let (items, known) = self.matching(&shape, &conditions, true);
        let limited = known && keys.len() == 2 && self.choice.one_in(2);
        let mut rest = &items[..];
        loop {
            let limit = 1 + self.choice.below(4) as usize;
            if limited {
                body["Limit"] = limit.into();
            }
            let stopped = limited && limit <= rest.len();
            let (read, later) = rest.split_at(if stopped { limit } else { rest.len() });
            let (items, units) = shape.page(table, read);
            let items = Table::items_json(&items);
            let mut answer = self.send("ExecuteStatement", &body);
            let token = answer.as_object_mut().unwrap().remove("NextToken");
            let mut expected = json!({"Items": items});
            units.add_to(&mut expected, shape.mode, table.name);
            // The cost of conditions that contradict each other is not described.
            if conditions.len() > 2 && read.is_empty() {
                answer.as_object_mut().unwrap().remove("ConsumedCapacity");
                expected.as_object_mut().unwrap().remove("ConsumedCapacity");
            }
            for answer in [&mut answer, &mut expected] {
                if let (false, Some(list)) = (known, answer["Items"].as_array_mut()) {
                    *list = sorted_by_text(std::mem::take(list));
                }
            }
            self.same("ExecuteStatement", &body, answer, expected);
            // A condition that fixes the key leaves nothing to go on with.
            let single = conditions[1..].iter().any(|(_, range)| range.0 == "=");
            if single {
                return;
            }
            self.same("ExecuteStatement", &body, token.is_some(), stopped);
            let Some(token) = token else { return };
            body["NextToken"] = token;
            rest = later;
        }
    }

    /// An INSERT: the item as a write that puts it, and the members of its statement.
    fn any_insert(&mut self) -> (Write, Value) {
        let table = self.any_statement_table();
        let of = &self.tables[table];
        let item = of.any_item(&mut self.choice);
        let mut text = Text::statement(&mut self.choice);
        let members = item
            .iter()
            .map(|(name, value)| format!("'{name}': {}", text.value(value)));
        let members: Vec<String> = members.collect();
        let mut body = json!({"Statement": format!("INSERT INTO \"{}\" VALUE {{{}}}", of.name, members.join(", "))});
        text.finish(&mut body);
        let write = Write {
            table,
            key: of.key_item(&item),
            action: WriteAction::Put(item),
            condition: None,
        };
        (write, body)
    }

    /// An UPDATE or DELETE.
    fn any_update(&mut self, returns: &str) -> (Write, Value) {
        let table = self.any_statement_table();
        let choice = &mut self.choice;
        let of = &self.tables[table];
        let key = of.any_key(choice);
        let deletes = choice.one_in(3) && !returns.contains("MODIFIED") && !returns.contains("NEW");
        let action = if deletes {
            WriteAction::Delete
        } else {
            WriteAction::Update(Some(Update::any(choice, &of.index_keys(), true)))
        };
        let condition = choice.one_in(2).then(|| Condition::any(choice, &DOCUMENTS, 2));
        let mut text = Text::statement(choice);
        let head = match &action {
            WriteAction::Update(Some(update)) => format!("UPDATE \"{}\" {}", of.name, update.text(&mut text)),
            _ => format!("DELETE FROM \"{}\"", of.name),
        };
        let equal = key
            .iter()
            .map(|(at, value)| format!("{} = {}", text.path(&name(at)), text.value(value)));
        let mut clauses: Vec<String> = equal.collect();
        clauses.extend(condition.as_ref().map(|condition| condition.nested(&mut text)));
        let mut statement = format!("{head} WHERE {}", clauses.join(" AND "));
        if !returns.is_empty() {
            statement.extend([" RETURNING ", returns, " *"]);
        }
        let mut body = json!({"Statement": statement});
        text.finish(&mut body);
        (
            Write {
                table,
                key,
                action,
                condition,
            },
            body,
        )
    }

    fn any_write_statement(&mut self, returns: &str) -> (Write, Value) {
        if returns.is_empty() && self.choice.one_in(3) {
            return self.any_insert();
        }
        self.any_update(returns)
    }

    fn statement_outcome(&self, write: &Write, old: Option<&Item>) -> Outcome {
        let outcome = write.outcome(&self.tables[write.table], old);
        match (&write.action, old) {
            (WriteAction::Put(_), Some(_)) if matches!(outcome, Outcome::Invalid) => Outcome::Open,
            (WriteAction::Put(_), Some(_)) => Outcome::Duplicate,
            (_, Some(_)) | (WriteAction::Put(_), None) => outcome,
            // A missing item is none to update, and its deletion succeeds whatever the condition.
            (WriteAction::Delete, None) if !matches!(outcome, Outcome::Invalid) => Outcome::Done(None),
            (_, None) if matches!(outcome, Outcome::Invalid) => Outcome::Invalid,
            (_, None) => Outcome::ConditionFails,
        }
    }

    pub fn write_statement(&mut self) {
        let returns = one_of(
            &mut self.choice,
            &["", "", "ALL OLD", "ALL NEW", "MODIFIED OLD", "MODIFIED NEW"],
        );
        let (write, mut body) = self.any_write_statement(returns);
        let shows = self.choice.one_in(2);
        if shows {
            body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD".into();
        }
        let mode = self.any_mode(&mut body);
        let answer = self.send("ExecuteStatement", &body);
        let old = self.stored(write.table, &write.key);
        let of = &self.tables[write.table];
        let refused = |error: &str| self.refused("ExecuteStatement", &body, &answer, error);
        let new = match self.statement_outcome(&write, old.as_ref()) {
            Outcome::Done(new) => new,
            Outcome::Invalid | Outcome::Cannot => return refused("ValidationException"),
            Outcome::Duplicate => return refused("DuplicateItemException"),
            Outcome::Open => return self.adopt(write.table, &write.key),
            Outcome::ConditionFails => {
                refused("ConditionalCheckFailedException");
                let shown = old.filter(|_| shows).map(|item| item_json(&item)).unwrap_or_default();
                return self.same(
                    "ExecuteStatement",
                    &body,
                    answer.get("Item").cloned().unwrap_or_default(),
                    shown,
                );
            }
        };
        let returned = write.returned(returns, old.as_ref(), new.as_ref());
        let returned: Vec<Value> = returned.iter().map(item_json).collect();
        let mut expected = json!({"Items": returned});
        Units::written(of, old.as_ref(), new.as_ref()).add_to(&mut expected, mode, of.name);
        self.same("ExecuteStatement", &body, answer, expected);
        self.store(write.table, &write.key, new);
    }

    /// Up to four writes and their statements, of which few are of one item, and the outcomes of the writes.
    fn any_statements(&mut self) -> (Vec<Write>, Vec<Value>, Vec<Outcome>) {
        let (mut writes, mut bodies) = (Vec::new(), Vec::new());
        for _ in 0..=self.choice.below(4) {
            let (write, mut body) = self.any_write_statement("");
            let old = self.stored(write.table, &write.key);
            let fails = !matches!(self.statement_outcome(&write, old.as_ref()), Outcome::Done(_));
            writes.push(write);
            if fails && !self.choice.one_in(4) || repeated(&writes) && !self.choice.one_in(20) {
                writes.pop();
                continue;
            }
            if self.choice.one_in(2) {
                body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD".into();
            }
            bodies.push(body);
        }
        let outcomes = writes.iter().map(|write| {
            let old = self.stored(write.table, &write.key);
            self.statement_outcome(write, old.as_ref())
        });
        let outcomes = outcomes.collect();
        (writes, bodies, outcomes)
    }

    pub fn batch_statements(&mut self) {
        let (writes, statements, outcomes) = self.any_statements();
        if writes.is_empty() {
            return;
        }
        let body = json!({"Statements": statements});
        let answer = self.send("BatchExecuteStatement", &body);
        let repeated = repeated(&writes);
        if repeated && outcomes.iter().any(|outcome| matches!(outcome, Outcome::Invalid)) {
            // Whether a malformed statement counts is open.
            return self.adopt_all(&writes);
        }
        if repeated {
            self.refused("BatchExecuteStatement", &body, &answer, "ValidationException");
        } else {
            for (outcome, response) in outcomes.iter().zip(answer["Responses"].as_array().unwrap()) {
                if !matches!(outcome, Outcome::Open) {
                    let code = response["Error"]["Code"].as_str().unwrap_or("None");
                    self.same("BatchExecuteStatement", &body, code, outcome.code());
                }
            }
        }
        self.settle(&writes, &outcomes, repeated);
    }

    /// The first table, or the second if it takes statements.
    fn any_statement_table(&mut self) -> usize {
        let table = self.any_table();
        if self.tables[table].takes_statements() {
            table
        } else {
            0
        }
    }

    /// SELECTs of items by their keys, in a batch or a transaction.
    pub fn select_items(&mut self) {
        let transaction = self.choice.one_in(2);
        let (mut statements, mut responses) = (Vec::new(), Vec::new());
        let mut keys: Vec<(usize, Item)> = Vec::new();
        let mut units = [0.0, 0.0];
        let mut repeated = false;
        for _ in 0..=self.choice.below(4) {
            let table = self.any_statement_table();
            let of = &self.tables[table];
            let choice = &mut self.choice;
            let key = of.any_key(choice);
            let again = keys.contains(&(table, key.clone()));
            if again && !choice.one_in(8) {
                continue;
            }
            repeated |= again;
            let mut text = Text::statement(choice);
            let mut columns: Vec<&str> = (0..choice.below(3)).map(|_| one_of(choice, &DOCUMENTS)).collect();
            columns.dedup();
            if columns.first() == columns.last() {
                columns.truncate(1);
            }
            let paths: Vec<Path> = columns.into_iter().map(name).collect();
            let shown_columns = if paths.is_empty() {
                "*".to_owned()
            } else {
                text.paths(&paths)
            };
            let clauses = key.iter();
            let clauses: Vec<String> = clauses
                .map(|(at, value)| format!("{} = {}", text.path(&name(at)), text.value(value)))
                .collect();
            let statement = format!(
                "SELECT {shown_columns} FROM \"{}\" WHERE {}",
                of.name,
                clauses.join(" AND ")
            );
            let mut body = json!({"Statement": statement});
            text.finish(&mut body);
            let item = of.items.get(&of.key(&key));
            let consistent = !transaction && choice.one_in(2);
            if consistent {
                body["ConsistentRead"] = true.into();
            }
            let size = item.map_or(0, item_size);
            let mut response = json!({});
            if transaction {
                units[table] += 2.0 * read_units(size, true);
            } else {
                units[table] += read_units(size, consistent);
                response["TableName"] = of.name.into();
            }
            if let Some(item) = item {
                response["Item"] = item_json(&shown(item, &paths));
            }
            responses.push(response);
            statements.push(body);
            keys.push((table, key));
        }
        let (operation, member) = if transaction {
            ("ExecuteTransaction", "TransactStatements")
        } else {
            ("BatchExecuteStatement", "Statements")
        };
        let mut body = json!({member: statements});
        let mode = self.any_mode(&mut body);
        let mut answer = self.send(operation, &body);
        if repeated {
            return self.refused(operation, &body, &answer, "ValidationException");
        }
        let consumed = answer
            .as_object_mut()
            .unwrap()
            .remove("ConsumedCapacity")
            .unwrap_or_default();
        self.same(operation, &body, answer, json!({"Responses": responses}));
        if matches!(mode, "TOTAL" | "INDEXES") {
            let total = |at: usize| -> f64 {
                let entries = consumed.as_array().unwrap().iter();
                let entries = entries.filter(|entry| entry["TableName"] == self.tables[at].name);
                entries.map(|entry| entry["CapacityUnits"].as_f64().unwrap()).sum()
            };
            self.same(operation, &body, json!([total(0), total(1)]), json!(units));
        }
    }

    /// Compares what the engine holds with the outcomes, or with no change.
    fn settle(&mut self, writes: &[Write], outcomes: &[Outcome], refused: bool) {
        for (write, outcome) in writes.iter().zip(outcomes) {
            match outcome {
                Outcome::Open => self.adopt(write.table, &write.key),
                Outcome::Done(new) if !refused => self.store(write.table, &write.key, new.clone()),
                _ => {}
            }
            let expected = self.stored(write.table, &write.key);
            self.adopt(write.table, &write.key);
            let found = self.stored(write.table, &write.key);
            let shown = |item: Option<Item>| item.map(|item| item_json(&item)).unwrap_or_default();
            self.same("GetItem", &item_json(&write.key), shown(found), shown(expected));
        }
    }

    pub fn transact_statements(&mut self) {
        if !self.statements.is_empty() && self.choice.one_in(3) {
            return self.repeat_statements();
        }
        let (writes, statements, _) = self.any_statements();
        if writes.is_empty() {
            return;
        }
        let mut body = json!({"TransactStatements": statements});
        self.any_token(&mut body);
        self.any_mode(&mut body);
        self.send_statements(writes, body);
    }

    fn send_statements(&mut self, writes: Vec<Write>, body: Value) {
        const OPERATION: &str = "ExecuteTransaction";
        let olds: Vec<Option<Item>> = writes
            .iter()
            .map(|write| self.stored(write.table, &write.key))
            .collect();
        let outcomes: Vec<Outcome> = writes
            .iter()
            .zip(&olds)
            .map(|(write, old)| self.statement_outcome(write, old.as_ref()))
            .collect();
        let answer = self.send(OPERATION, &body);
        let has = |wanted: fn(&Outcome) -> bool| outcomes.iter().any(wanted);
        if has(|outcome| matches!(outcome, Outcome::Open)) {
            return self.adopt_all(&writes);
        }
        if has(|outcome| matches!(outcome, Outcome::Invalid)) || repeated(&writes) {
            // Items with wrong index keys are refused at the top or as a reason.
            let put = |write: &Write| {
                matches!(write.action, WriteAction::Put(_)) && !write.fits_indexes(&self.tables[write.table])
            };
            if !writes.iter().any(put) {
                self.refused(OPERATION, &body, &answer, "ValidationException");
            }
            return self.settle(&writes, &outcomes, true);
        }
        if has(|outcome| !matches!(outcome, Outcome::Done(_))) {
            let codes: Vec<&str> = outcomes.iter().map(Outcome::code).collect();
            let reasons = answer["CancellationReasons"].as_array().into_iter().flatten();
            let found: Vec<Value> = reasons.map(|reason| reason["Code"].clone()).collect();
            self.same(OPERATION, &body, found, codes);
            return self.settle(&writes, &outcomes, true);
        }
        self.same(OPERATION, &body, kind(&answer), "");
        if body["ReturnConsumedCapacity"] == "INDEXES" {
            let mut expected = BTreeMap::new();
            for ((write, old), outcome) in writes.iter().zip(&olds).zip(&outcomes) {
                let Outcome::Done(new) = outcome else { continue };
                let table = &self.tables[write.table];
                let units = Units::written(table, old.as_ref(), new.as_ref());
                *expected.entry(table.name).or_insert(0.0) += 2.0 * units.table;
            }
            let consumed = answer["ConsumedCapacity"].as_array().unwrap().iter();
            let found: BTreeMap<&str, f64> = consumed
                .map(|entry| {
                    let units = entry["Table"]["CapacityUnits"].as_f64();
                    (entry["TableName"].as_str().unwrap(), units.unwrap())
                })
                .collect();
            self.same(OPERATION, &body, json!(found), json!(expected));
        }
        self.settle(&writes, &outcomes, false);
        if body.get("ClientRequestToken").is_some() {
            let at = self.twin.seconds();
            self.statements.push(Transaction { writes, body, at });
        }
    }

    /// Repeats a transaction of statements, or sends its token with another parameter.
    fn repeat_statements(&mut self) {
        const OPERATION: &str = "ExecuteTransaction";
        let at = self.choice.below(self.statements.len() as u64) as usize;
        if self.statements[at].forgotten(self.twin.seconds()) {
            let again = self.statements.remove(at);
            if !again.expires() {
                self.send_statements(again.writes, again.body);
            }
            return;
        }
        let Transaction { writes, mut body, .. } = self.statements[at].clone();
        let mut changed = false;
        if self.choice.one_in(2) {
            let statements = body["TransactStatements"].as_array_mut().unwrap().iter_mut();
            let mut parameters = statements
                .filter_map(|statement| statement.get_mut("Parameters")?.as_array_mut())
                .flatten();
            if let Some(text) = parameters.find_map(|parameter| parameter.get_mut("S")) {
                *text = "changed".into();
                changed = true;
            }
        }
        let answer = self.send(OPERATION, &body);
        match kind(&answer).as_str() {
            // The other parameter may make the statement invalid.
            "ValidationException" if changed => {}
            found => {
                let expected = if changed {
                    "IdempotentParameterMismatchException"
                } else {
                    ""
                };
                self.same(OPERATION, &body, found, expected);
            }
        }
        for write in &writes {
            let before = self.stored(write.table, &write.key);
            self.adopt(write.table, &write.key);
            let unchanged = self.stored(write.table, &write.key) == before;
            self.same(OPERATION, &body, unchanged, true);
        }
    }
}
