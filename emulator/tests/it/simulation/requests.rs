//! Write and read requests.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::common::model::{Key, key_json, number, pick, word};
use crate::simulation::client::{Call, Client, refused};
use crate::simulation::facts::{Cut, Outcome, SeenIndex};
use crate::simulation::verify::{Items, index_hash, partition_of};
use crate::simulation::world::{FICKLE, INDEXES, TABLES};
use crate::simulation::write::{Action, Write};

/// What a local index keeps.
const LOCAL: [&str; 4] = ["pk", "sk", "l", "n"];

fn error_code(of: &Value) -> &str {
    of["Code"].as_str().unwrap_or("None")
}

impl Client<'_> {
    pub fn write_one(&mut self) -> Result<(), String> {
        let place = (self.table(), self.key());
        let write = Arc::new(self.write(place));
        let (name, mut body) = write.members();
        let updates = name == "Update";
        body["ReturnValues"] = if updates { "ALL_NEW" } else { "ALL_OLD" }.into();
        body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD".into();
        self.call(&format!("{name}Item"), body, |client, call| {
            client.single(call, &write, &call.answer["Attributes"], updates)
        })
    }

    /// Records what the answer to a write of one item implies.
    fn single(&mut self, call: &Call, write: &Arc<Write>, shown: &Value, shows_new: bool) -> Result<(), String> {
        if call.is_ok() {
            self.wrote(call, write, Outcome::Done, None);
            // An old item that is not in the answer did not exist.
            let shown = shown.clone();
            let (old, new) = if shows_new {
                (None, Some(shown))
            } else {
                (Some(shown), None)
            };
            self.answered(old, new);
            return Ok(());
        }
        if ["ConditionalCheckFailedException", "DuplicateItemException"].contains(&call.kind().as_str()) {
            let shown = call.answer.get("Item").cloned();
            if call.kind() == "ConditionalCheckFailedException" {
                self.paid_for_nothing(call, write.table, shown.as_ref());
                self.failed(call, write, shown);
                return Ok(());
            }
            self.wrote(call, write, Outcome::NotDone, None);
            let it = Arc::clone(write);
            self.saw(call, write.table, &write.key.0, true, move |items| {
                !it.may(items.get(&it.key))
            });
            return Ok(());
        }
        self.wrote(call, write, Outcome::NotDone, None);
        refused(call)
    }

    pub fn execute(&mut self) -> Result<(), String> {
        let place = (self.table(), self.key());
        let write = Arc::new(self.statement(place));
        let mut body = write.statement();
        body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD".into();
        self.call("ExecuteStatement", body, |client, call| {
            client.single(call, &write, &Value::Null, false)?;
            client.answered(None, None);
            Ok(())
        })
    }

    pub fn batch_write(&mut self) -> Result<(), String> {
        let mut writes = Vec::new();
        for place in self.places(7) {
            let mut write = self.write(place);
            write.condition = None;
            if !matches!(write.action, Action::Update(_)) {
                writes.push(Arc::new(write));
            }
        }
        let entry = |write: &Write| match &write.action {
            Action::Put(item) => json!({"PutRequest": {"Item": item}}),
            _ => json!({"DeleteRequest": {"Key": key_json(&write.key)}}),
        };
        let mut requests = json!({});
        for write in &writes {
            let of_table = &mut requests[TABLES[write.table]];
            if of_table.is_null() {
                *of_table = json!([]);
            }
            of_table.as_array_mut().unwrap().push(entry(write));
        }
        if writes.is_empty() {
            return Ok(());
        }
        self.call("BatchWriteItem", json!({"RequestItems": requests}), |client, call| {
            for write in &writes {
                let left = call.answer["UnprocessedItems"][TABLES[write.table]].as_array();
                let left = left.is_some_and(|left| left.contains(&entry(write)));
                // A batch that fails part-way has applied the entries before the failure.
                let outcome = match call.status {
                    200 if left => Outcome::NotDone,
                    200 => Outcome::Done,
                    _ => Outcome::Unknown,
                };
                client.wrote(call, write, outcome, None);
            }
            if call.is_ok() { Ok(()) } else { refused(call) }
        })
    }

    pub fn batch_execute(&mut self) -> Result<(), String> {
        let places = self.places(5);
        let writes: Vec<Arc<Write>> = places
            .into_iter()
            .map(|place| Arc::new(self.statement(place)))
            .collect();
        let statements: Vec<Value> = writes.iter().map(|write| write.statement()).collect();
        self.call(
            "BatchExecuteStatement",
            json!({"Statements": statements}),
            |client, call| {
                if !call.is_ok() {
                    writes
                        .iter()
                        .for_each(|write| client.wrote(call, write, Outcome::Unknown, None));
                    return refused(call);
                }
                for (write, response) in writes.iter().zip(call.answer["Responses"].as_array().unwrap()) {
                    let outcome = match response.get("Error").map(error_code) {
                        None => Outcome::Done,
                        Some(code) if code.contains("Validation") => return Err("an unexpected answer".into()),
                        Some(_) => Outcome::NotDone,
                    };
                    client.wrote(call, write, outcome, None);
                }
                Ok(())
            },
        )
    }

    pub fn transact_write(&mut self) -> Result<(), String> {
        let mut writes = Vec::new();
        for place in self.places(4) {
            let mut write = self.write(place);
            if write.condition.is_some() && self.choice.one_in(3) {
                write.action = Action::Check;
            }
            writes.push(Arc::new(write));
        }
        let actions: Vec<Value> = writes
            .iter()
            .map(|write| {
                let (name, body) = write.members();
                json!({ name: body })
            })
            .collect();
        let mut body = json!({"TransactItems": actions});
        let number = self.next_transaction();
        if self.choice.one_in(2) {
            body["ClientRequestToken"] = format!("token-{number}").into();
        }
        self.transact("TransactWriteItems", &body, &writes, number)
    }

    pub fn transact_execute(&mut self) -> Result<(), String> {
        let places = self.places(4);
        let writes: Vec<Arc<Write>> = places
            .into_iter()
            .map(|place| Arc::new(self.statement(place)))
            .collect();
        let statements: Vec<Value> = writes.iter().map(|write| write.statement()).collect();
        let number = self.next_transaction();
        let mut body = json!({"TransactStatements": statements});
        if self.choice.one_in(2) {
            body["ClientRequestToken"] = format!("token-{number}").into();
        }
        self.transact("ExecuteTransaction", &body, &writes, number)
    }

    /// Sends a transaction, and if it has a token perhaps a second time: it is applied once.
    fn transact(&mut self, operation: &str, body: &Value, writes: &[Arc<Write>], number: u64) -> Result<(), String> {
        let mut done = false;
        self.call(operation, body.clone(), |client, call| {
            done = call.is_ok();
            let outcome = if done { Outcome::Done } else { Outcome::NotDone };
            writes
                .iter()
                .for_each(|write| client.wrote(call, write, outcome, Some(number)));
            if !done && call.kind() == "TransactionCanceledException" {
                client.cancelled(call, writes);
            }
            if done { Ok(()) } else { refused(call) }
        })?;
        if done && body.get("ClientRequestToken").is_some() && self.choice.one_in(3) {
            let waits = self.pending.take();
            self.call(operation, body.clone(), |_, call| {
                if call.is_ok() { Ok(()) } else { refused(call) }
            })?;
            self.pending = match (waits, self.pending.take()) {
                (Some((at, mut facts)), Some((later, more))) => {
                    facts.extend(more);
                    Some((at.max(later), facts))
                }
                (waits, other) => waits.or(other),
            };
        }
        Ok(())
    }

    fn cancelled(&mut self, call: &Call, writes: &[Arc<Write>]) {
        let reasons = call.answer["CancellationReasons"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        for (write, reason) in writes.iter().zip(&reasons) {
            if ["ConditionalCheckFailed", "DuplicateItem"].contains(&error_code(reason)) {
                let it = Arc::clone(write);
                self.saw(call, write.table, &write.key.0, true, move |items| {
                    !it.may(items.get(&it.key))
                });
            }
        }
    }

    // Reading.

    fn item_seen(&mut self, call: &Call, table: usize, key: &Key, consistent: bool, found: Option<Value>) {
        let key = key.clone();
        let pk = key.0.clone();
        self.saw(call, table, &pk, consistent, move |items| {
            items.get(&key) == found.as_ref()
        });
    }

    pub fn get(&mut self) -> Result<(), String> {
        let (table, key, consistent) = (self.table(), self.key(), self.choice.one_in(2));
        let body = json!({"TableName": TABLES[table], "Key": key_json(&key), "ConsistentRead": consistent});
        self.call("GetItem", body, |client, call| {
            if !call.is_ok() {
                return refused(call);
            }
            client.item_seen(call, table, &key, consistent, call.answer.get("Item").cloned());
            Ok(())
        })
    }

    pub fn select(&mut self) -> Result<(), String> {
        let (table, key, consistent) = (self.table(), self.key(), self.choice.one_in(2));
        let text = format!("SELECT * FROM \"{}\" WHERE pk = ? AND sk = ?", TABLES[table]);
        let parameters = json!([{"S": key.0}, {"N": key.1.to_string()}]);
        let body = json!({"Statement": text, "Parameters": parameters, "ConsistentRead": consistent});
        self.call("ExecuteStatement", body, |client, call| {
            if !call.is_ok() {
                return refused(call);
            }
            client.item_seen(call, table, &key, consistent, call.answer["Items"].get(0).cloned());
            Ok(())
        })
    }

    pub fn batch_get(&mut self) -> Result<(), String> {
        let (places, consistent) = (self.places(6), self.choice.one_in(2));
        let mut requests = json!({});
        for (table, key) in &places {
            let of_table = &mut requests[TABLES[*table]];
            if of_table.is_null() {
                *of_table = json!({"Keys": [], "ConsistentRead": consistent});
            }
            of_table["Keys"].as_array_mut().unwrap().push(key_json(key));
        }
        self.call("BatchGetItem", json!({"RequestItems": requests}), |client, call| {
            if !call.is_ok() {
                return refused(call);
            }
            for (table, key) in &places {
                let name = TABLES[*table];
                let left = call.answer["UnprocessedKeys"][name]["Keys"].as_array();
                if left.is_some_and(|left| left.contains(&key_json(key))) {
                    continue;
                }
                let found = call.answer["Responses"][name].as_array().unwrap().iter();
                let mut of_key = found.filter(|item| pick(item, &["pk", "sk"]) == key_json(key));
                client.item_seen(call, *table, key, consistent, of_key.next().cloned());
            }
            Ok(())
        })
    }

    pub fn transact_get(&mut self) -> Result<(), String> {
        let places = self.places(5);
        let gets: Vec<Value> = places
            .iter()
            .map(|(table, key)| json!({"Get": {"TableName": TABLES[*table], "Key": key_json(key)}}))
            .collect();
        self.call("TransactGetItems", json!({"TransactItems": gets}), |client, call| {
            if !call.is_ok() {
                return refused(call);
            }
            let mut items = Vec::new();
            for ((table, key), response) in places.iter().zip(call.answer["Responses"].as_array().unwrap()) {
                let found = response.get("Item").cloned();
                client.item_seen(call, *table, key, true, found.clone());
                items.push((*table, key.clone(), found));
            }
            client.facts.cuts.push(Cut {
                window: call.window,
                items,
                description: Arc::clone(&call.description),
            });
            Ok(())
        })
    }

    pub fn query(&mut self) -> Result<(), String> {
        let (table, (pk, _), consistent) = (self.table(), self.key(), self.choice.one_in(2));
        let (local, forward, limit) = (
            self.choice.one_in(2),
            self.choice.one_in(2),
            1 + self.choice.below(5) as usize,
        );
        let mut body = json!({"TableName": TABLES[table], "KeyConditionExpression": "pk = :p", "Limit": limit,
            "ExpressionAttributeValues": {":p": {"S": pk}}, "ScanIndexForward": forward, "ConsistentRead": consistent});
        if local {
            body["IndexName"] = "local".into();
        }
        self.call("Query", body, |client, call| {
            if !call.is_ok() {
                return refused(call);
            }
            let found = call.answer["Items"].as_array().unwrap().clone();
            let of = pk.clone();
            client.saw(call, table, &pk, consistent, move |items| {
                let mut page = view(items, local, |key| key.0 == of);
                if local {
                    page.sort_by_key(|item| (item["l"]["S"].to_string(), number(&item["sk"])));
                }
                if !forward {
                    page.reverse();
                }
                page.truncate(limit);
                page == found
            });
            Ok(())
        })
    }

    /// Scans a whole table or local index: each partition is read in one state.
    pub fn scan(&mut self) -> Result<(), String> {
        let (table, local, consistent) = (self.table(), self.choice.one_in(3), self.choice.one_in(2));
        let mut body = json!({"TableName": TABLES[table], "ConsistentRead": consistent});
        if local {
            body["IndexName"] = "local".into();
        } else if self.choice.one_in(3) {
            let index = self.index();
            return self.read_index(table, index, None);
        }
        self.call("Scan", body, |client, call| {
            if !call.is_ok() {
                return refused(call);
            }
            for partition in 0..4 {
                let mut found = call.answer["Items"].as_array().unwrap().clone();
                found.retain(|item| partition_of(item["pk"]["S"].as_str().unwrap()) == partition);
                found.sort_by_key(crate::common::model::key_of);
                client.saw_partition(call, table, partition, consistent, move |items| {
                    view(items, local, |_| true) == found
                });
            }
            Ok(())
        })
    }

    fn index(&mut self) -> &'static str {
        [INDEXES[0], INDEXES[1], FICKLE][self.choice.below(3) as usize]
    }

    pub fn query_index(&mut self) -> Result<(), String> {
        let (table, index) = (self.table(), self.index());
        let hash = if index == FICKLE {
            json!({"N": self.choice.below(6).to_string()})
        } else {
            json!({"S": word(&mut self.choice)})
        };
        self.read_index(table, index, Some(hash))
    }

    fn read_index(&mut self, table: usize, index: &'static str, hash: Option<Value>) -> Result<(), String> {
        let mut body = json!({"TableName": TABLES[table], "IndexName": index});
        if let Some(hash) = &hash {
            body["KeyConditionExpression"] = format!("{} = :h", index_hash(index)).into();
            body["ExpressionAttributeValues"] = json!({":h": hash});
        }
        let operation = if hash.is_some() { "Query" } else { "Scan" };
        self.call(operation, body, |client, call| {
            // The fickle index may have been deleted, or not created yet.
            if index == FICKLE && call.kind() == "ValidationException" {
                return Ok(());
            }
            if !call.is_ok() {
                return refused(call);
            }
            client.facts.indexes.push(SeenIndex {
                window: call.window,
                began: call.began,
                table,
                index,
                hash,
                entries: call.answer["Items"].as_array().unwrap().clone(),
                description: Arc::clone(&call.description),
            });
            Ok(())
        })
    }
}

fn view(items: &Items, local: bool, of: impl Fn(&Key) -> bool) -> Vec<Value> {
    let mine = items.iter().filter(|(key, _)| of(key)).map(|(_, item)| item);
    if local {
        let entries = mine.filter(|item| item.get("l").is_some());
        return entries.map(|item| pick(item, &LOCAL)).collect();
    }
    mine.cloned().collect()
}
