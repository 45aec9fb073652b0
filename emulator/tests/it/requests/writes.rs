//! Writes: single, in batches and in transactions.

use serde_json::{Value, json};

use super::History;
use super::expressions::{Condition, Failure, Text, Update, project};
use super::streams::Change;
use super::tables::{Table, Units, collection_metrics, read_units};
use super::values::{Item, item_from_json, item_json, item_sent, item_size, one_of};
use crate::common::model::{kind, sorted_by_text};

/// A write of an item.
#[derive(Clone)]
pub struct Write {
    pub table: usize,
    pub key: Item,
    pub action: WriteAction,
    pub condition: Option<Condition>,
}

#[derive(Clone)]
pub enum WriteAction {
    Put(Item),
    Update(Option<Update>),
    Delete,
    Check,
}

/// The outcome of a write.
#[derive(Clone)]
pub enum Outcome {
    Done(Option<Item>),
    /// Refused for what the request contains.
    Invalid,
    ConditionFails,
    /// Refused for what the item contains.
    Cannot,
    /// An INSERT of an item that exists.
    Duplicate,
    /// The documentation does not say.
    Open,
}

impl Outcome {
    /// The code of the cancellation reason or of the statement in a batch.
    pub fn code(&self) -> &'static str {
        match self {
            Outcome::Done(_) | Outcome::Open => "None",
            Outcome::Invalid | Outcome::Cannot => "ValidationError",
            Outcome::ConditionFails => "ConditionalCheckFailed",
            Outcome::Duplicate => "DuplicateItem",
        }
    }
}

/// The attributes that conditions and filters name.
pub const NAMES: [&str; 13] = ["a", "b", "c", "d", "e", "f", "pk", "sk", "g", "h", "l", "r", "q"];

impl Write {
    /// What the write returns for this value of `ReturnValues` or `RETURNING`.
    pub fn returned(&self, values: &str, old: Option<&Item>, new: Option<&Item>) -> Option<Item> {
        let paths = match &self.action {
            WriteAction::Update(Some(update)) => update.paths(),
            _ => Vec::new(),
        };
        let updated = |item: Option<&Item>| {
            let item = item.map(|item| project(item, &paths));
            item.filter(|item| !item.is_empty())
        };
        match values {
            "ALL_OLD" | "ALL OLD" => old.cloned(),
            "ALL_NEW" | "ALL NEW" => new.cloned(),
            "UPDATED_OLD" | "MODIFIED OLD" => updated(old),
            "UPDATED_NEW" | "MODIFIED NEW" => updated(new),
            _ => None,
        }
    }

    /// The name of the action in the API.
    pub fn name(&self) -> &'static str {
        match self.action {
            WriteAction::Put(_) => "Put",
            WriteAction::Update(_) => "Update",
            WriteAction::Delete => "Delete",
            WriteAction::Check => "ConditionCheck",
        }
    }

    /// Whether the index keys that the request names fit the schema.
    pub fn fits_indexes(&self, table: &Table) -> bool {
        match &self.action {
            WriteAction::Put(item) => table.fits_indexes(item),
            WriteAction::Update(Some(update)) => table.fits_indexes(&update.constants()),
            _ => true,
        }
    }

    pub fn outcome(&self, table: &Table, old: Option<&Item>) -> Outcome {
        if self.condition.as_ref().is_some_and(|condition| !condition.valid()) {
            return Outcome::Invalid;
        }
        let update = match &self.action {
            WriteAction::Put(_) if !self.fits_indexes(table) => return Outcome::Invalid,
            WriteAction::Update(Some(update)) if !update.valid() => return Outcome::Invalid,
            WriteAction::Update(Some(update)) => update.clone(),
            _ => Update(Vec::new()),
        };
        let fails = self
            .condition
            .as_ref()
            .is_some_and(|condition| !condition.holds(old.unwrap_or(&Item::new())));
        let new = match &self.action {
            WriteAction::Put(item) => Some(item.clone()),
            WriteAction::Delete => None,
            WriteAction::Check => old.cloned(),
            WriteAction::Update(_) if !fails && !self.fits_indexes(table) => return Outcome::Cannot,
            WriteAction::Update(_) => match update.apply(&self.key, old) {
                Ok(Some(new)) if !fails && !table.fits_indexes(&new) => return Outcome::Cannot,
                Ok(new) => new,
                Err(_) if fails => return Outcome::ConditionFails,
                Err(Failure::Invalid) => return Outcome::Cannot,
                Err(Failure::Open) => return Outcome::Open,
            },
        };
        if fails {
            Outcome::ConditionFails
        } else {
            Outcome::Done(new)
        }
    }

    /// The members of the write, with the texts of its expressions.
    pub fn json(&self, history: &mut History) -> Value {
        let mut text = Text::expressions(&mut history.choice);
        let mut body = json!({"TableName": history.tables[self.table].name});
        match &self.action {
            WriteAction::Put(item) => body["Item"] = item_sent(item, &mut history.choice),
            _ => body["Key"] = item_sent(&self.key, &mut history.choice),
        }
        if let WriteAction::Update(Some(update)) = &self.action {
            body["UpdateExpression"] = update.text(&mut text).into();
        }
        if let Some(condition) = &self.condition {
            body["ConditionExpression"] = condition.text(&mut text).into();
        }
        text.finish(&mut body);
        body
    }
}

/// A transaction that was executed, and when.
#[derive(Clone)]
pub struct Transaction {
    pub writes: Vec<Write>,
    pub body: Value,
    pub at: i64,
}

impl Transaction {
    /// Whether its token can be used again, ten minutes later.
    pub fn forgotten(&self, now: i64) -> bool {
        now >= self.at + 600
    }

    /// Whether it puts items that may have expired meanwhile.
    pub fn expires(&self) -> bool {
        let puts_time = |write: &Write| matches!(&write.action, WriteAction::Put(item) if item.contains_key("dies"));
        self.writes.iter().any(puts_time)
    }
}

impl History {
    /// Adds the member that asks for the consumed capacity, or none.
    pub fn any_mode(&mut self, body: &mut Value) -> &'static str {
        let mode = one_of(&mut self.choice, &["", "NONE", "TOTAL", "INDEXES", "INDEXES"]);
        if !mode.is_empty() {
            body["ReturnConsumedCapacity"] = mode.into();
        }
        mode
    }

    fn any_write(&mut self) -> Write {
        let table = self.any_table();
        let choice = &mut self.choice;
        let of = &self.tables[table];
        let (key, action) = match choice.below(5) {
            0 | 1 => {
                let item = of.any_item(choice);
                (of.key_item(&item), WriteAction::Put(item))
            }
            2 | 3 => {
                let update = Update::any(choice, &of.index_keys(), false);
                (
                    of.any_key(choice),
                    WriteAction::Update((!choice.one_in(20)).then_some(update)),
                )
            }
            _ => (of.any_key(choice), WriteAction::Delete),
        };
        let condition = choice.one_in(2).then(|| Condition::any(choice, &NAMES, 2));
        Write {
            table,
            key,
            action,
            condition,
        }
    }

    /// Stores or deletes an item of the model, and records the change.
    pub fn store(&mut self, table: usize, key: &Item, new: Option<Item>) {
        let table = &mut self.tables[table];
        let key = table.key(key);
        let old = match &new {
            Some(item) => table.items.insert(key, item.clone()),
            None => table.items.remove(&key),
        };
        if old != new {
            table.changes.push(Change {
                old,
                new,
                expired: false,
            });
        }
    }

    pub fn stored(&self, table: usize, key: &Item) -> Option<Item> {
        let table = &self.tables[table];
        table.items.get(&table.key(key)).cloned()
    }

    pub fn write(&mut self) {
        let write = self.any_write();
        let body = write.json(self);
        self.send_write(&write, body);
    }

    /// Sends a write of one item, with members that do not change its effect.
    pub fn send_write(&mut self, write: &Write, mut body: Value) {
        let returns = match write.action {
            WriteAction::Update(_) => one_of(
                &mut self.choice,
                &[
                    "NONE",
                    "ALL_OLD",
                    "ALL_NEW",
                    "UPDATED_OLD",
                    "UPDATED_NEW",
                    "UPDATED_NEW",
                ],
            ),
            _ => one_of(&mut self.choice, &["NONE", "ALL_OLD"]),
        };
        body["ReturnValues"] = returns.into();
        let shows = self.choice.one_in(2);
        if shows {
            body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD".into();
        }
        let metrics = self.choice.one_in(2);
        if metrics {
            body["ReturnItemCollectionMetrics"] = "SIZE".into();
        }
        let mode = self.any_mode(&mut body);
        let operation = format!("{}Item", write.name());
        let answer = self.send(&operation, &body);
        let old = self.stored(write.table, &write.key);
        let table = &self.tables[write.table];
        let new = match write.outcome(table, old.as_ref()) {
            Outcome::Done(new) => new,
            Outcome::Invalid | Outcome::Cannot => {
                return self.refused(&operation, &body, &answer, "ValidationException");
            }
            Outcome::Open | Outcome::Duplicate => return self.adopt(write.table, &write.key),
            Outcome::ConditionFails => {
                self.refused(&operation, &body, &answer, "ConditionalCheckFailedException");
                let shown = old.filter(|_| shows).map(|item| item_json(&item)).unwrap_or_default();
                return self.same(
                    &operation,
                    &body,
                    answer.get("Item").cloned().unwrap_or_default(),
                    shown,
                );
            }
        };
        let mut expected = json!({});
        if let Some(item) = write.returned(returns, old.as_ref(), new.as_ref()) {
            expected["Attributes"] = item_json(&item);
        }
        Units::written(table, old.as_ref(), new.as_ref()).add_to(&mut expected, mode, table.name);
        if metrics && table.local() {
            expected["ItemCollectionMetrics"] = collection_metrics(&write.key);
        }
        self.same(&operation, &body, answer, expected);
        self.store(write.table, &write.key, new);
    }

    /// Takes over what the engine holds, where the documentation does not say.
    pub fn adopt(&mut self, table: usize, key: &Item) {
        let body = json!({"TableName": self.tables[table].name, "Key": item_json(key), "ConsistentRead": true});
        let answer = self.twin.ok("GetItem", &body);
        let item = answer.get("Item").map(item_from_json);
        self.store(table, key, item);
    }

    pub fn adopt_all(&mut self, writes: &[Write]) {
        for write in writes {
            self.adopt(write.table, &write.key);
        }
    }

    pub fn batch_write(&mut self) {
        let mut writes: Vec<Write> = Vec::new();
        for _ in 0..=self.choice.below(5) {
            let mut write = self.any_write();
            write.condition = None;
            if matches!(write.action, WriteAction::Update(_)) {
                write.action = WriteAction::Delete;
            }
            writes.push(write);
        }
        let mut requests = json!({});
        for write in &writes {
            let table = self.tables[write.table].name;
            let request = match &write.action {
                WriteAction::Put(item) => json!({"PutRequest": {"Item": item_sent(item, &mut self.choice)}}),
                _ => json!({"DeleteRequest": {"Key": item_sent(&write.key, &mut self.choice)}}),
            };
            if requests.get(table).is_none() {
                requests[table] = json!([]);
            }
            requests[table].as_array_mut().unwrap().push(request);
        }
        let mut body = json!({"RequestItems": requests});
        let metrics = self.choice.one_in(2);
        if metrics {
            body["ReturnItemCollectionMetrics"] = "SIZE".into();
        }
        let mode = self.any_mode(&mut body);
        let answer = self.send("BatchWriteItem", &body);
        let invalid = |write: &Write| !write.fits_indexes(&self.tables[write.table]);
        if repeated(&writes) || writes.iter().any(invalid) {
            return self.refused("BatchWriteItem", &body, &answer, "ValidationException");
        }
        let mut units = [Units::default(), Units::default()];
        for write in &writes {
            let old = self.stored(write.table, &write.key);
            let new = match &write.action {
                WriteAction::Put(item) => Some(item.clone()),
                _ => None,
            };
            units[write.table].add(&Units::written(&self.tables[write.table], old.as_ref(), new.as_ref()));
            self.store(write.table, &write.key, new);
        }
        let mut expected = json!({"UnprocessedItems": {}});
        self.add_capacity(&mut expected, mode, &units);
        if metrics {
            self.add_metrics(&mut expected, &writes);
        }
        self.same("BatchWriteItem", &body, normalized(answer), normalized(expected));
    }

    pub fn add_capacity(&self, expected: &mut Value, mode: &str, units: &[Units; 2]) {
        let tables = self.tables.iter().zip(units).filter(|(_, units)| units.table > 0.0);
        let consumed: Vec<Value> = tables.map(|(table, units)| units.json(mode, table.name)).collect();
        if matches!(mode, "TOTAL" | "INDEXES") {
            expected["ConsumedCapacity"] = consumed.into();
        }
    }

    fn add_metrics(&self, expected: &mut Value, writes: &[Write]) {
        let mut all = json!({});
        for write in writes {
            let table = &self.tables[write.table];
            if !table.local() || matches!(write.action, WriteAction::Check) {
                continue;
            }
            let entry = collection_metrics(&write.key);
            if all.get(table.name).is_none() {
                all[table.name] = json!([]);
            }
            let list = all[table.name].as_array_mut().unwrap();
            if !list.contains(&entry) {
                list.push(entry);
            }
        }
        if all.as_object().is_some_and(|all| !all.is_empty()) {
            expected["ItemCollectionMetrics"] = all;
        }
    }

    pub fn transact_write(&mut self) {
        // A repeated token, sometimes with another request.
        if !self.transactions.is_empty() && self.choice.one_in(3) {
            return self.repeat_transaction();
        }
        let mut writes: Vec<Write> = Vec::new();
        for _ in 0..=self.choice.below(4) {
            let mut write = self.any_write();
            if matches!(write.action, WriteAction::Delete) && self.choice.one_in(2) {
                write.action = WriteAction::Check;
                write.condition = write
                    .condition
                    .or_else(|| Some(Condition::any(&mut self.choice, &NAMES, 1)));
            }
            if matches!(write.action, WriteAction::Update(None)) {
                continue;
            }
            // Few items are written twice, and few writes fail.
            let old = self.stored(write.table, &write.key);
            let done = matches!(write.outcome(&self.tables[write.table], old.as_ref()), Outcome::Done(_));
            writes.push(write);
            if !done && !self.choice.one_in(4) || repeated(&writes) && !self.choice.one_in(20) {
                writes.pop();
            }
        }
        if writes.is_empty() {
            return;
        }
        let mut items = Vec::new();
        for write in &writes {
            let mut member = write.json(self);
            if self.choice.one_in(2) {
                member["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD".into();
            }
            items.push(json!({write.name(): member}));
        }
        let mut body = json!({"TransactItems": items});
        if self.choice.one_in(2) {
            body["ReturnItemCollectionMetrics"] = "SIZE".into();
        }
        self.any_mode(&mut body);
        self.any_token(&mut body);
        self.send_transaction(writes, body);
    }

    /// Adds a token or none.
    pub fn any_token(&mut self, body: &mut Value) {
        if self.choice.one_in(2) {
            body["ClientRequestToken"] = format!("token-{}", self.choice.next()).into();
        }
    }

    fn send_transaction(&mut self, writes: Vec<Write>, body: Value) {
        const OPERATION: &str = "TransactWriteItems";
        let answer = self.send(OPERATION, &body);
        let olds: Vec<Option<Item>> = writes
            .iter()
            .map(|write| self.stored(write.table, &write.key))
            .collect();
        let outcomes: Vec<Outcome> = writes
            .iter()
            .zip(&olds)
            .map(|(write, old)| write.outcome(&self.tables[write.table], old.as_ref()))
            .collect();
        // Which of several refusals wins is open, and of index keys whether they cancel the transaction.
        let cannot = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Cannot));
        let open = outcomes.iter().any(|outcome| matches!(outcome, Outcome::Open)) || cannot.count() > 1;
        if open
            || writes
                .iter()
                .any(|write| !write.fits_indexes(&self.tables[write.table]))
        {
            return self.adopt_all(&writes);
        }
        if outcomes.iter().any(|outcome| matches!(outcome, Outcome::Invalid)) || repeated(&writes) {
            return self.refused(OPERATION, &body, &answer, "ValidationException");
        }
        if outcomes.iter().any(|outcome| !matches!(outcome, Outcome::Done(_))) {
            let sent = body["TransactItems"].as_array().unwrap().iter().zip(&writes);
            let shows =
                sent.map(|(item, write)| item[write.name()].get("ReturnValuesOnConditionCheckFailure").is_some());
            let expected: Vec<Value> = outcomes
                .iter()
                .zip(olds.iter().zip(shows))
                .map(|(outcome, (old, shows))| {
                    let shown = shows && matches!(outcome, Outcome::ConditionFails);
                    json!([outcome.code(), old.as_ref().filter(|_| shown).map(item_json)])
                })
                .collect();
            self.refused(OPERATION, &body, &answer, "TransactionCanceledException");
            let reasons = answer["CancellationReasons"].as_array().unwrap().iter();
            let found: Vec<Value> = reasons
                .map(|reason| json!([reason["Code"], reason.get("Item")]))
                .collect();
            return self.same(OPERATION, &body, found, expected);
        }
        let mut units = [Units::default(), Units::default()];
        for ((write, old), outcome) in writes.iter().zip(&olds).zip(&outcomes) {
            let Outcome::Done(new) = outcome else { continue };
            let mut spent = Units::written(&self.tables[write.table], old.as_ref(), new.as_ref());
            spent.table *= 2.0;
            units[write.table].add(&spent);
            self.store(write.table, &write.key, new.clone());
        }
        let mode = body["ReturnConsumedCapacity"].as_str().unwrap_or_default();
        let mut expected = json!({});
        self.add_capacity(&mut expected, mode, &units);
        if body.get("ReturnItemCollectionMetrics").is_some() {
            self.add_metrics(&mut expected, &writes);
        }
        let comparable = |answer| without_index_units(normalized(answer), mode);
        self.same(OPERATION, &body, comparable(answer), comparable(expected));
        if body.get("ClientRequestToken").is_some() {
            let at = self.twin.seconds();
            self.transactions.push(Transaction { writes, body, at });
        }
    }

    /// Repeats a transaction, or sends its token with another request.
    fn repeat_transaction(&mut self) {
        const OPERATION: &str = "TransactWriteItems";
        let at = self.choice.below(self.transactions.len() as u64) as usize;
        if self.transactions[at].forgotten(self.twin.seconds()) {
            let again = self.transactions.remove(at);
            if !again.expires() {
                self.send_transaction(again.writes, again.body);
            }
            return;
        }
        let Transaction { writes, mut body, .. } = self.transactions[at].clone();
        if self.choice.one_in(2) {
            let key = self.tables[0].any_key(&mut self.choice);
            let added = json!({"Delete": {"TableName": self.tables[0].name, "Key": item_json(&key)}});
            match body["TransactItems"][0]["Put"].get_mut("Item") {
                Some(item) if self.choice.one_in(2) => item["changed"] = json!({"NULL": true}),
                _ => body["TransactItems"].as_array_mut().unwrap().push(added),
            }
            let answer = self.send(OPERATION, &body);
            // The added action may be one on an item that another one names.
            if kind(&answer) != "ValidationException" {
                self.refused(OPERATION, &body, &answer, "IdempotentParameterMismatchException");
            }
            return;
        }
        body["ReturnConsumedCapacity"] = "TOTAL".into();
        let answer = self.send(OPERATION, &body);
        let mut units = [0.0, 0.0];
        for write in &writes {
            let size = self.stored(write.table, &write.key).map_or(0, |item| item_size(&item));
            units[write.table] += 2.0 * read_units(size, true);
        }
        let expected = sorted_by_text(self.transactional_reads(units, "TOTAL"));
        let found = sorted_by_text(answer["ConsumedCapacity"].as_array().cloned().unwrap_or_default());
        self.same(OPERATION, &body, found, expected);
    }

    /// ConsumedCapacity of the transactional reads of the tables.
    pub fn transactional_reads(&self, units: [f64; 2], mode: &str) -> Vec<Value> {
        let tables = self.tables.iter().zip(units).filter(|(_, units)| *units > 0.0);
        let consumed = tables.map(|(table, units)| {
            let mut entry = json!({"TableName": table.name, "CapacityUnits": units, "ReadCapacityUnits": units});
            if mode == "INDEXES" {
                entry["Table"] = json!({"CapacityUnits": units, "ReadCapacityUnits": units});
            }
            entry
        });
        consumed.collect()
    }
}

/// Whether two of the writes have one key.
pub fn repeated(writes: &[Write]) -> bool {
    let same = |one: &Write, other: &Write| one.table == other.table && one.key == other.key;
    (1..writes.len()).any(|at| writes[..at].iter().any(|other| same(&writes[at], other)))
}

/// The answer with lists of no certain order sorted.
pub fn normalized(mut answer: Value) -> Value {
    if let Some(list) = answer.get_mut("ConsumedCapacity").and_then(Value::as_array_mut) {
        *list = sorted_by_text(std::mem::take(list));
    }
    if let Some(tables) = answer.get_mut("ItemCollectionMetrics").and_then(Value::as_object_mut) {
        for list in tables.values_mut().filter_map(Value::as_array_mut) {
            *list = sorted_by_text(std::mem::take(list));
        }
    }
    answer
}

/// The answer of a write transaction without the units of indexes, of which the documentation does not say whether they
/// are doubled.
fn without_index_units(mut answer: Value, mode: &str) -> Value {
    let Some(list) = answer.get_mut("ConsumedCapacity").and_then(Value::as_array_mut) else {
        return answer;
    };
    for entry in list {
        *entry = match mode {
            "INDEXES" => json!([entry["TableName"], entry["Table"]["CapacityUnits"]]),
            _ => json!([entry["TableName"]]),
        };
    }
    answer
}
