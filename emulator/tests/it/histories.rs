//! Seeded random histories against a naive model: every answer is compared, and at the end the indexes, counts and
//! sizes; the stream must contain each change of each item, and rebuild the table.
//!
//! `DYNATWIN_SEED=n` replays one history, `DYNATWIN_HISTORIES=n` sets the number of histories.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::common::model::{
    Condition, Key, Update, any_item, key_json, key_of, kind, listed, number, pick, size, sorted, word,
};
use crate::common::{Choice, Twin, replay, setting};
use dynatwin_engine::faults::{KeyMatch, Rule, Verdict};
use serde_json::{Map, Value, json};

const HISTORIES: u64 = 500;
const STEPS: u64 = 60;
/// The maximum number of hours that the clock advances, so that no record expires.
const HOURS: u64 = 20;
const VIEWS: [&str; 4] = ["NEW_AND_OLD_IMAGES", "NEW_IMAGE", "OLD_IMAGE", "KEYS_ONLY"];

/// The effect of a write on its item.
enum Action {
    Put(Value),
    /// Sets `n`, adds to it, sets or removes `g` and `l`.
    Update(Update),
    Delete,
    Check,
}

/// A change of an item, which its stream must contain.
struct ItemChange {
    key: Key,
    old: Option<Value>,
    new: Option<Value>,
    expired: bool,
}

impl ItemChange {
    /// Returns the record that a stream with this view contains.
    fn record(&self, view: &str) -> Value {
        let event = match (&self.old, &self.new) {
            (None, _) => "INSERT",
            (_, None) => "REMOVE",
            _ => "MODIFY",
        };
        let shown = |image: &Option<Value>, word| image.clone().filter(|_| view.contains(word));
        let (new, old) = (shown(&self.new, "NEW"), shown(&self.old, "OLD"));
        let images = [&new, &old].into_iter().flatten();
        let bytes: usize = images.map(size).sum::<usize>() + size(&key_json(&self.key));
        json!([event, new, old, bytes, self.expired])
    }
}

/// The engine and its model.
struct History {
    twin: Twin,
    items: BTreeMap<Key, Value>,
    /// The rule that throttles the next request of this operation with this partition key.
    throttle: Option<(&'static str, String)>,
    /// The expected records of the stream, in order.
    changes: Vec<ItemChange>,
    view: &'static str,
    hours: u64,
    choice: Choice,
    seed: u64,
}

/// Times to live around now.
fn moment(twin: &Twin) -> impl Fn(&mut Choice) -> i64 {
    |choice| twin.seconds() + choice.below(40) as i64 - 5
}

impl History {
    fn new(seed: u64) -> History {
        let twin = Twin::new(seed);
        let view = VIEWS[(seed % 4) as usize];
        twin.ok(
            "CreateTable",
            &json!({
                "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [
                    {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"},
                    {"AttributeName": "g", "AttributeType": "S"}, {"AttributeName": "l", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
                "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"}}],
                "LocalSecondaryIndexes": [{"IndexName": "by-l", "KeySchema": [
                    {"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
                    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["n"]}}],
                "StreamSpecification": {"StreamEnabled": true, "StreamViewType": view}}),
        );
        twin.ok(
            "UpdateTimeToLive",
            &json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "dies"}}),
        );
        History {
            twin,
            items: BTreeMap::new(),
            throttle: None,
            changes: Vec::new(),
            view,
            hours: 0,
            choice: Choice(seed),
            seed,
        }
    }

    fn send(&self, operation: &str, body: &Value) -> (u16, Value) {
        self.twin.send(operation, body)
    }

    #[track_caller]
    fn same(&self, what: &str, request: &Value, found: impl Into<Value>, expected: impl Into<Value>) {
        let (found, expected) = (found.into(), expected.into());
        assert!(
            found == expected,
            "DYNATWIN_SEED={}: {what} {request}\n answers  {found}\n expected {expected}",
            self.seed
        );
    }

    /// Due deletions are applied before each request.
    fn expire(&mut self) {
        let now = self.twin.seconds();
        let dies = |item: &Value| number(&item["dies"]).is_some_and(|at| at <= now);
        let expired: Vec<Key> = self
            .items
            .iter()
            .filter(|(_, item)| dies(item))
            .map(|(key, _)| key.clone())
            .collect();
        for key in expired {
            let old = self.items.remove(&key);
            self.changes.push(ItemChange {
                key,
                old,
                new: None,
                expired: true,
            });
        }
    }

    /// Returns whether the rule matches an entry; it acts once.
    fn throttled(&mut self, operation: &str, partition: &str) -> bool {
        let met = self
            .throttle
            .as_ref()
            .is_some_and(|(name, key)| *name == operation && key == partition);
        if met {
            self.throttle = None;
        }
        met
    }

    fn key(&mut self) -> Key {
        (format!("p{}", self.choice.below(3)), self.choice.below(5) as i64 - 2)
    }

    fn keys(&mut self, most: u64) -> Vec<Key> {
        let mut keys: Vec<Key> = (0..=self.choice.below(most)).map(|_| self.key()).collect();
        keys.sort();
        keys.dedup();
        // The order varies.
        if self.choice.one_in(2) {
            keys.reverse();
        }
        keys
    }

    fn moment(&mut self) -> i64 {
        moment(&self.twin)(&mut self.choice)
    }

    fn item(&mut self, key: &Key) -> Value {
        let mut item = any_item(&mut self.choice, key);
        if self.choice.one_in(5) {
            item["dies"] = json!({"N": self.moment().to_string()});
        }
        item
    }

    fn action(&mut self, key: &Key) -> Action {
        match self.choice.below(3) {
            0 => Action::Put(self.item(key)),
            1 => Action::Delete,
            _ => Action::Update(Update::any(&mut self.choice, moment(&self.twin))),
        }
    }

    fn condition(&mut self) -> Option<Condition> {
        self.choice.one_in(2).then(|| Condition::any(&mut self.choice, 2))
    }

    /// Returns the members of a write, and its name in the API.
    fn write_json(key: &Key, action: &Action, condition: Option<&Condition>) -> (&'static str, Value) {
        let mut values = Map::new();
        let mut body = json!({"TableName": "tab"});
        let name = match action {
            Action::Put(item) => {
                body["Item"] = item.clone();
                "Put"
            }
            Action::Update(update) => {
                body["Key"] = key_json(key);
                body["UpdateExpression"] = update.text(&mut values).into();
                "Update"
            }
            Action::Delete => {
                body["Key"] = key_json(key);
                "Delete"
            }
            Action::Check => {
                body["Key"] = key_json(key);
                "ConditionCheck"
            }
        };
        if let Some(condition) = condition {
            body["ConditionExpression"] = condition.text(&mut values).into();
        }
        if !values.is_empty() {
            body["ExpressionAttributeValues"] = values.into();
        }
        (name, body)
    }

    fn apply(&mut self, key: &Key, action: &Action) {
        let old = self.items.get(key).cloned();
        self.change(key, action);
        let new = self.items.get(key).cloned();
        if old != new {
            let key = key.clone();
            self.changes.push(ItemChange {
                key,
                old,
                new,
                expired: false,
            });
        }
    }

    fn change(&mut self, key: &Key, action: &Action) {
        match action {
            Action::Put(item) => drop(self.items.insert(key.clone(), item.clone())),
            Action::Delete => drop(self.items.remove(key)),
            // A REMOVE alone creates no item.
            Action::Update(Update::RemoveBoth) if !self.items.contains_key(key) => {}
            Action::Update(update) => {
                update.apply(self.items.entry(key.clone()).or_insert_with(|| key_json(key)));
            }
            Action::Check => {}
        }
    }

    fn write(&mut self) {
        let key = self.key();
        let action = self.action(&key);
        let condition = self.condition();
        let (name, mut body) = History::write_json(&key, &action, condition.as_ref());
        let operation = ["PutItem", "UpdateItem", "DeleteItem"]
            .into_iter()
            .find(|operation| operation.starts_with(name))
            .unwrap();
        let returns = match &action {
            Action::Update(_) if self.choice.one_in(2) => "ALL_NEW",
            _ => ["NONE", "ALL_OLD"][self.choice.below(2) as usize],
        };
        body["ReturnValues"] = returns.into();
        let shows = self.choice.one_in(2);
        if shows {
            body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD".into();
        }
        let (status, answer) = self.send(operation, &body);
        if self.throttled(operation, &key.0) {
            return self.same(operation, &body, kind(&answer), "ThrottlingException");
        }
        let old = self.items.get(&key).cloned();
        if condition.is_some_and(|condition| !condition.holds(old.as_ref())) {
            self.same(operation, &body, kind(&answer), "ConditionalCheckFailedException");
            let shown = old.filter(|_| shows).unwrap_or_default();
            return self.same(operation, &body, answer.get("Item").cloned().unwrap_or_default(), shown);
        }
        self.same(operation, &body, status, 200);
        self.apply(&key, &action);
        let attributes = match returns {
            "ALL_OLD" => old,
            "ALL_NEW" => self.items.get(&key).cloned(),
            _ => None,
        };
        let expected = attributes.map_or(json!({}), |item| json!({"Attributes": item}));
        self.same(operation, &body, answer, expected);
    }

    fn get(&mut self) {
        let key = self.key();
        let body = json!({"TableName": "tab", "Key": key_json(&key)});
        let (_, answer) = self.send("GetItem", &body);
        if self.throttled("GetItem", &key.0) {
            return self.same("GetItem", &body, kind(&answer), "ThrottlingException");
        }
        let expected = self.items.get(&key).map_or(json!({}), |item| json!({"Item": item}));
        self.same("GetItem", &body, answer, expected);
    }

    fn query(&mut self) {
        let (pk, bound) = self.key();
        let other = bound + self.choice.below(3) as i64;
        let operator = self.choice.below(7);
        let (clause, holds): (&str, &dyn Fn(i64) -> bool) = match operator {
            0 => ("", &|_| true),
            1 => (" AND sk = :b", &|sk| sk == bound),
            2 => (" AND sk < :b", &|sk| sk < bound),
            3 => (" AND sk <= :b", &|sk| sk <= bound),
            4 => (" AND sk > :b", &|sk| sk > bound),
            5 => (" AND sk >= :b", &|sk| sk >= bound),
            _ => (" AND sk BETWEEN :b AND :o", &|sk| (bound..=other).contains(&sk)),
        };
        let mut body = json!({"TableName": "tab", "KeyConditionExpression": format!("pk = :p{clause}"),
            "ExpressionAttributeValues": {":p": {"S": pk}}});
        if operator > 0 {
            body["ExpressionAttributeValues"][":b"] = json!({"N": bound.to_string()});
        }
        if operator == 6 {
            body["ExpressionAttributeValues"][":o"] = json!({"N": other.to_string()});
        }
        let all = self.items.iter().filter(|((p, sk), _)| *p == pk && holds(*sk));
        let mut expected: Vec<Value> = all.map(|(_, item)| item.clone()).collect();
        self.shape_query(&mut body, &mut expected, &pk, &["pk", "sk"]);
    }

    fn query_local(&mut self) {
        let (pk, _) = self.key();
        let prefix = self.choice.one_in(2).then(|| word(&mut self.choice));
        let mut body = json!({"TableName": "tab", "IndexName": "by-l", "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": {"S": pk}}});
        if let Some(prefix) = &prefix {
            body["KeyConditionExpression"] = "pk = :p AND begins_with(l, :l)".into();
            body["ExpressionAttributeValues"][":l"] = json!({"S": prefix});
        }
        let mut expected = self.local_entries();
        expected.retain(|item| {
            let l = item["l"]["S"].as_str().unwrap();
            item["pk"]["S"] == *pk && prefix.as_ref().is_none_or(|prefix| l.starts_with(prefix))
        });
        // Entries with equal `l` are ordered by the table's key.
        expected.sort_by_key(|item| (item["l"]["S"].as_str().unwrap().to_owned(), key_of(item)));
        self.shape_query(&mut body, &mut expected, &pk, &["pk", "sk", "l"]);
    }

    /// Adds a direction, a filter and a limit to a query, and applies them to the expected answer.
    fn shape_query(&mut self, body: &mut Value, expected: &mut Vec<Value>, pk: &str, names: &[&str]) {
        if self.choice.one_in(3) {
            body["ScanIndexForward"] = false.into();
            expected.reverse();
        }
        let filter = self.choice.one_in(3).then(|| self.choice.below(6) as i64);
        if let Some(least) = filter {
            body["FilterExpression"] = "n >= :f".into();
            body["ExpressionAttributeValues"][":f"] = json!({"N": least.to_string()});
        }
        let mut last = None;
        if self.choice.one_in(2) {
            let limit = 1 + self.choice.below(4) as usize;
            body["Limit"] = limit.into();
            if expected.len() >= limit {
                expected.truncate(limit);
                last = expected.last().map(|item| pick(item, names));
            }
        }
        let scanned = expected.len();
        expected.retain(|item| filter.is_none_or(|least| number(&item["n"]).is_some_and(|n| n >= least)));
        let (_, answer) = self.send("Query", body);
        if self.throttled("Query", pk) {
            return self.same("Query", body, kind(&answer), "ThrottlingException");
        }
        let mut whole = json!({"Items": expected, "Count": expected.len(), "ScannedCount": scanned});
        if let Some(last) = last {
            whole["LastEvaluatedKey"] = last;
        }
        self.same("Query", body, answer, whole);
    }

    /// Returns the items of all pages of a Query or Scan.
    fn pages(&self, operation: &str, body: &Value) -> Vec<Value> {
        let mut body = body.clone();
        let mut items = Vec::new();
        loop {
            let answer = self.twin.ok(operation, &body);
            items.extend(listed(&answer));
            match answer.get("LastEvaluatedKey") {
                Some(last) => body["ExclusiveStartKey"] = last.clone(),
                None => return items,
            }
        }
    }

    fn query_global(&mut self) {
        let g = word(&mut self.choice);
        let limit = 1 + self.choice.below(3);
        let body = json!({"TableName": "tab", "IndexName": "by-g", "KeyConditionExpression": "g = :g", "Limit": limit,
            "ExpressionAttributeValues": {":g": {"S": g}}, "ScanIndexForward": self.choice.one_in(2)});
        let found = sorted(self.pages("Query", &body));
        let expected: Vec<Value> = self
            .items
            .values()
            .filter(|item| item["g"]["S"] == *g)
            .cloned()
            .collect();
        self.same("Query", &body, found, expected);
    }

    fn scan(&mut self) {
        let segments = 1 + self.choice.below(3);
        let limit = 1 + self.choice.below(5);
        let (index, expected) = match self.choice.below(3) {
            0 => (None, self.items.values().cloned().collect()),
            1 => (Some("by-g"), self.global_entries()),
            _ => (Some("by-l"), self.local_entries()),
        };
        let mut found = Vec::new();
        let mut body = json!({"TableName": "tab", "TotalSegments": segments, "Limit": limit});
        if let Some(index) = index {
            body["IndexName"] = index.into();
        }
        for segment in 0..segments {
            body["Segment"] = segment.into();
            found.extend(self.pages("Scan", &body));
        }
        self.same("Scan", &body, sorted(found), expected);
    }

    fn batch_write(&mut self) {
        let keys = self.keys(6);
        let mut requests = Vec::new();
        let mut left = Vec::new();
        let mut actions = Vec::new();
        for key in &keys {
            let action = if self.choice.one_in(3) {
                Action::Delete
            } else {
                Action::Put(self.item(key))
            };
            let request = match &action {
                Action::Put(item) => json!({"PutRequest": {"Item": item}}),
                _ => json!({"DeleteRequest": {"Key": key_json(key)}}),
            };
            if self.throttled("BatchWriteItem", &key.0) {
                left.push(request.clone());
            } else {
                actions.push((key, action));
            }
            requests.push(request);
        }
        let body = json!({"RequestItems": {"tab": requests}});
        let (_, answer) = self.send("BatchWriteItem", &body);
        if actions.is_empty() {
            return self.same("BatchWriteItem", &body, kind(&answer), "ThrottlingException");
        }
        for (key, action) in &actions {
            self.apply(key, action);
        }
        let left = if left.is_empty() {
            json!({})
        } else {
            json!({"tab": left})
        };
        self.same("BatchWriteItem", &body, answer, json!({"UnprocessedItems": left}));
    }

    fn batch_get(&mut self) {
        let keys = self.keys(6);
        let body = json!({"RequestItems": {"tab": {"Keys": keys.iter().map(key_json).collect::<Vec<_>>()}}});
        let answer = self.twin.ok("BatchGetItem", &body);
        let found = sorted(answer["Responses"]["tab"].as_array().unwrap().clone());
        let expected = sorted(keys.iter().filter_map(|key| self.items.get(key).cloned()));
        self.same("BatchGetItem", &body, found, expected);
    }

    fn transact_write(&mut self) {
        let keys = self.keys(4);
        let mut entries = Vec::new();
        let mut codes = Vec::new();
        let mut actions = Vec::new();
        for key in &keys {
            let mut condition = self.condition();
            let action = match &condition {
                Some(_) if self.choice.one_in(3) => Action::Check,
                _ => self.action(key),
            };
            if matches!(action, Action::Check) {
                condition = condition.or(Some(Condition::Exists));
            }
            let (name, body) = History::write_json(key, &action, condition.as_ref());
            entries.push(json!({name: body}));
            let holds = condition.is_none_or(|condition| condition.holds(self.items.get(key)));
            codes.push(if self.throttled("TransactWriteItems", &key.0) {
                "ThrottlingError"
            } else if holds {
                "None"
            } else {
                "ConditionalCheckFailed"
            });
            actions.push((key, action));
        }
        let body = json!({"TransactItems": entries});
        let (_, answer) = self.send("TransactWriteItems", &body);
        if codes.iter().all(|code| *code == "None") {
            for (key, action) in &actions {
                self.apply(key, action);
            }
            return self.same("TransactWriteItems", &body, answer, json!({}));
        }
        self.same(
            "TransactWriteItems",
            &body,
            kind(&answer),
            "TransactionCanceledException",
        );
        let reasons = answer["CancellationReasons"].as_array().unwrap();
        let found: Vec<Value> = reasons.iter().map(|reason| reason["Code"].clone()).collect();
        self.same("TransactWriteItems", &body, found, codes);
    }

    fn transact_get(&mut self) {
        let keys = self.keys(4);
        let gets = keys
            .iter()
            .map(|key| json!({"Get": {"TableName": "tab", "Key": key_json(key)}}));
        let body = json!({"TransactItems": gets.collect::<Vec<_>>()});
        let answer = self.twin.ok("TransactGetItems", &body);
        let responses: Vec<Value> = keys
            .iter()
            .map(|key| self.items.get(key).map_or(json!({}), |item| json!({"Item": item})))
            .collect();
        self.same("TransactGetItems", &body, answer, json!({"Responses": responses}));
    }

    fn throttle(&mut self) {
        let operations = [
            "PutItem",
            "UpdateItem",
            "GetItem",
            "Query",
            "BatchWriteItem",
            "TransactWriteItems",
        ];
        let operation = operations[self.choice.below(6) as usize];
        let (partition, _) = self.key();
        self.twin.engine.faults().clear();
        let key = KeyMatch::Partition(partition.clone());
        let rule = Rule::new(Verdict::Throttle(None)).operation(operation).key(key);
        self.twin.engine.add_fault(rule.first(1)).unwrap();
        self.throttle = Some((operation, partition));
    }

    fn step(&mut self) {
        self.expire();
        match self.choice.below(20) {
            0..=5 => self.write(),
            6 => self.get(),
            7..=8 => self.query(),
            9 => self.query_local(),
            10 => self.query_global(),
            11 => self.scan(),
            12..=13 => self.batch_write(),
            14 => self.batch_get(),
            15..=16 => self.transact_write(),
            17 => self.transact_get(),
            18 => self.throttle(),
            _ => self.pass(),
        }
    }

    /// Advances the clock, mostly by seconds, sometimes by hours in which shards are replaced; or splits shards.
    fn pass(&mut self) {
        let seconds = match self.choice.below(4) {
            0 => {
                let hours = self.choice.below(6).min(HOURS - self.hours);
                self.hours += hours;
                hours * 3600
            }
            1 => {
                self.twin.engine.account(&self.twin.caller).split_shards("tab").unwrap();
                0
            }
            _ => self.choice.below(15),
        };
        self.twin.engine.advance(Duration::from_secs(seconds));
    }

    fn global_entries(&self) -> Vec<Value> {
        self.items
            .values()
            .filter(|item| item.get("g").is_some())
            .cloned()
            .collect()
    }

    fn local_entries(&self) -> Vec<Value> {
        let entries = self.items.values().filter(|item| item.get("l").is_some());
        entries.map(|item| pick(item, &["pk", "sk", "l", "n"])).collect()
    }

    /// Checks that table, indexes, counts and sizes agree with each other and with the model.
    fn check(&mut self) {
        self.expire();
        for (index, expected) in [
            (None, self.items.values().cloned().collect()),
            (Some("by-g"), self.global_entries()),
            (Some("by-l"), self.local_entries()),
        ] {
            let mut body = json!({"TableName": "tab"});
            if let Some(index) = index {
                body["IndexName"] = index.into();
            }
            self.same("Scan", &body, sorted(self.pages("Scan", &body)), expected);
        }
        let table = self.twin.ok("DescribeTable", &json!({"TableName": "tab"}))["Table"].clone();
        let count = |part: &Value| part["ItemCount"].clone();
        let nothing = Value::Null;
        self.same("ItemCount", &nothing, count(&table), self.items.len());
        let indexes = [
            (&table["GlobalSecondaryIndexes"][0], self.global_entries()),
            (&table["LocalSecondaryIndexes"][0], self.local_entries()),
        ];
        for (index, entries) in indexes {
            self.same("ItemCount of an index", &nothing, count(index), entries.len());
            let bytes: usize = entries.iter().map(size).sum();
            self.same("IndexSizeBytes", &nothing, index["IndexSizeBytes"].clone(), bytes);
        }
        let bytes: usize = self.items.values().map(size).sum();
        self.same("TableSizeBytes", &nothing, table["TableSizeBytes"].clone(), bytes);
    }
}

impl History {
    /// Checks that the stream has all changes of each item in order, and that replaying it yields the table.
    fn check_stream(&mut self) {
        self.expire();
        let records = replay::records(&self.twin, "tab");
        let nothing = Value::Null;
        self.same("GetRecords", &nothing, records.len(), self.changes.len());
        let keys: std::collections::BTreeSet<&Key> = self.changes.iter().map(|change| &change.key).collect();
        for key in keys {
            let shown = |record: &Value| {
                let of = &record["dynamodb"];
                let expired =
                    record["userIdentity"] == json!({"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"});
                json!([
                    record["eventName"],
                    of.get("NewImage"),
                    of.get("OldImage"),
                    of["SizeBytes"],
                    expired
                ])
            };
            let of_key = records
                .iter()
                .filter(|record| record["dynamodb"]["Keys"] == key_json(key));
            let found: Vec<Value> = of_key.map(shown).collect();
            let changes = self.changes.iter().filter(|change| change.key == *key);
            let expected: Vec<Value> = changes.map(|change| change.record(self.view)).collect();
            self.same("GetRecords", &key_json(key), found, expected);
        }
        let named = |items: &BTreeMap<Key, Value>| -> BTreeMap<String, Value> {
            items
                .iter()
                .map(|(key, item)| (key_json(key).to_string(), item.clone()))
                .collect()
        };
        let items = named(&self.items);
        let rebuilt = replay::rebuilt(&records);
        if self.view.contains("NEW") {
            self.same("rebuilt", &nothing, json!(rebuilt), json!(items));
        } else {
            let names = |items: &BTreeMap<String, Value>| json!(items.keys().collect::<Vec<_>>());
            self.same("rebuilt", &nothing, names(&rebuilt), names(&items));
        }
        if self.view.contains("OLD") {
            self.same("undone", &nothing, json!(replay::undone(&records, items)), json!({}));
        }
    }
}

#[test]
fn the_engine_answers_as_the_model() {
    let seeds = match setting("DYNATWIN_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..setting("DYNATWIN_HISTORIES").unwrap_or(HISTORIES),
    };
    for seed in seeds {
        let mut history = History::new(seed);
        for _ in 0..STEPS {
            history.step();
        }
        history.check();
        history.check_stream();
    }
}
