//! A client: sends random requests and records what their answers imply.

use std::sync::Arc;
use std::time::Duration;

use dynatwin_engine::http::Delivery;
use dynatwin_engine::{Caller, Moment};
use serde_json::{Value, json};

use crate::common::Choice;
use crate::common::model::{Condition, Key, Update, any_item, kind, size};
use crate::simulation::facts::{Facts, Outcome, Seen, Spent, Written};
use crate::simulation::verify::{Items, partition_of};
use crate::simulation::world::{TABLES, Window, World, caller, trace};
use crate::simulation::write::{Action, Write};

fn moment(choice: &mut Choice) -> i64 {
    Moment::START.seconds() + choice.below(200) as i64
}

/// The numbers of partition keys, and of sort keys of each.
pub const KEYS: [u64; 2] = [5, 4];
/// An item's filler has fewer bytes, and its other attributes a few hundred.
pub const FILLER: u64 = 3000;

/// Errors that mean that the request had no effect.
const REFUSALS: [&str; 10] = [
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "RequestLimitExceeded",
    "InternalServerError",
    "ServiceUnavailable",
    "TransactionConflictException",
    "TransactionCanceledException",
    "TransactionInProgressException",
    "ItemCollectionSizeLimitExceededException",
    "LimitExceededException",
];

pub struct Client<'w> {
    pub world: &'w World,
    pub number: u64,
    pub choice: Choice,
    pub caller: Caller,
    pub facts: Facts,
    /// For a request whose answer has not arrived yet: when it will, and the facts it implies.
    pub pending: Option<(Moment, Facts)>,
    writes: i64,
    transactions: u64,
}

/// A request that was answered.
pub struct Call {
    pub window: Window,
    pub began: Moment,
    pub status: u16,
    pub answer: Value,
    pub description: Arc<str>,
    pub writes: bool,
}

impl Call {
    pub fn is_ok(&self) -> bool {
        self.status == 200
    }

    pub fn kind(&self) -> String {
        kind(&self.answer)
    }
}

/// Accepts an error that can occur at any time and means that the request had no effect.
pub fn refused(call: &Call) -> Result<(), String> {
    if REFUSALS.contains(&call.kind().as_str()) {
        return Ok(());
    }
    Err("an unexpected answer".to_owned())
}

impl<'w> Client<'w> {
    pub fn new(world: &'w World, number: u64) -> Client<'w> {
        Client {
            world,
            number,
            choice: Choice(world.setup.seed.wrapping_mul(1000).wrapping_add(number)),
            caller: caller(&format!("client-{number}")),
            facts: Facts::default(),
            pending: None,
            writes: 0,
            transactions: 0,
        }
    }

    /// Sends a request. The facts that its answer implies go into `self.facts`, or wait until the answer arrives.
    pub fn call(
        &mut self,
        operation: &str,
        mut body: Value,
        read: impl FnOnce(&mut Client<'w>, &Call) -> Result<(), String>,
    ) -> Result<(), String> {
        body["ReturnConsumedCapacity"] = "INDEXES".into();
        let selects = body["Statement"]
            .as_str()
            .is_some_and(|text| text.starts_with("SELECT"));
        let reads = selects || ["Get", "Query", "Scan"].iter().any(|word| operation.contains(word));
        let began = self.world.now();
        let invoked = self.world.tick();
        let answered = self.world.send(&self.caller, operation, &body);
        let ended = self.world.now();
        let description = format!(
            "client {}, at {began}: {operation} {body} answers {} ({:?}) {}",
            self.number, answered.status, answered.delivery, answered.body
        );
        let description = description.replace(&"f".repeat(8), "");
        trace(&description);
        let call = Call {
            window: Window {
                invoked,
                answered: u64::MAX,
            },
            began,
            status: answered.status,
            answer: answered.body,
            description: description.into(),
            writes: !reads,
        };
        let before = std::mem::take(&mut self.facts);
        read(self, &call).map_err(|error| format!("{error}:\n {}", call.description))?;
        let consumed = call.answer.get("ConsumedCapacity").cloned();
        self.spend(reads, &call, consumed.unwrap_or_default(), ended);
        let mut facts = std::mem::replace(&mut self.facts, before);
        facts.requests = 1;
        facts.refused = u64::from(!call.is_ok());
        facts.broken = operation.starts_with("Batch") && !call.is_ok();
        // A client that never gets the answer knows nothing, but the test does: the request was executed.
        let waits = answered.delivery != Delivery::Reset && answered.at > self.world.now();
        if waits {
            self.pending = Some((answered.at, facts));
        } else {
            facts.answered(self.world.tick());
            self.facts.extend(facts);
        }
        Ok(())
    }

    /// Takes the facts of the pending answer, if it has arrived.
    pub fn receive(&mut self) -> bool {
        match self.pending.take() {
            Some((at, facts)) if at > self.world.now() => {
                self.pending = Some((at, facts));
                false
            }
            Some((_, mut facts)) => {
                facts.answered(self.world.tick());
                self.facts.extend(facts);
                true
            }
            None => true,
        }
    }

    fn spend(&mut self, reads: bool, call: &Call, consumed: Value, ended: Moment) {
        let parts = match consumed {
            Value::Array(parts) => parts,
            Value::Null => Vec::new(),
            part => vec![part],
        };
        for part in parts {
            let table = TABLES.iter().position(|table| part["TableName"] == **table).unwrap();
            let mut add = |index: Option<&str>, arm: &Value| {
                let of = |name: &str| arm[name].as_f64().map(|units| (units * 2.0) as i64);
                let (read, written) = (of("ReadCapacityUnits"), of("WriteCapacityUnits"));
                // Answers of transactions separate read and write units.
                let total = of("CapacityUnits").filter(|_| read.is_none() && written.is_none());
                let (read, written) = if reads {
                    (read.or(total), written)
                } else {
                    (read, written.or(total))
                };
                for (writes, halves) in [(false, read), (true, written)] {
                    self.facts.spent.push(Spent {
                        began: call.began,
                        ended,
                        table,
                        index: index.map(str::to_owned),
                        writes,
                        halves: halves.unwrap_or(0),
                    });
                }
            };
            add(None, &part["Table"]);
            let arms = |name: &str| part[name].as_object().cloned().unwrap_or_default();
            for arm in arms("LocalSecondaryIndexes").values() {
                add(None, arm);
            }
            for (name, arm) in arms("GlobalSecondaryIndexes") {
                add(Some(&name), &arm);
            }
        }
    }

    // Random things.

    pub fn table(&mut self) -> usize {
        self.choice.below(2) as usize
    }

    pub fn key(&mut self) -> Key {
        let [partitions, sorts] = KEYS;
        let pk = format!("p{}", self.choice.below(partitions));
        (pk, self.choice.below(sorts) as i64 - 1)
    }

    pub fn places(&mut self, most: u64) -> Vec<(usize, Key)> {
        let count = 1 + self.choice.below(most);
        let mut places: Vec<(usize, Key)> = (0..count).map(|_| (self.table(), self.key())).collect();
        places.sort();
        places.dedup();
        if self.choice.one_in(2) {
            places.reverse();
        }
        places
    }

    fn item(&mut self, key: &Key, number: i64) -> Value {
        let mut item = any_item(&mut self.choice, key);
        item["v"] = json!({"N": number.to_string()});
        if self.choice.one_in(6) {
            item["dies"] = json!({"N": moment(&mut self.choice).to_string()});
        }
        if self.choice.one_in(4) {
            item["filler"] = json!({"S": "f".repeat(self.choice.below(FILLER) as usize)});
        }
        item
    }

    pub fn write(&mut self, (table, key): (usize, Key)) -> Write {
        self.writes += 1;
        let number = self.number as i64 * 1_000_000 + self.writes;
        let action = match self.choice.below(4) {
            0 => Action::Delete,
            1 => Action::Update(Update::any(&mut self.choice, moment)),
            _ => Action::Put(self.item(&key, number)),
        };
        let condition = self.choice.one_in(3).then(|| Condition::any(&mut self.choice, 2));
        Write {
            table,
            key,
            number,
            action,
            condition,
        }
    }

    /// Returns a random write that a statement can express: an INSERT, an UPDATE of an existing item, or a DELETE.
    pub fn statement(&mut self, place: (usize, Key)) -> Write {
        let mut write = self.write(place);
        write.condition = match &write.action {
            Action::Put(_) => Some(Condition::Not(Box::new(Condition::Exists))),
            Action::Update(_) => Some(Condition::Exists),
            Action::Delete | Action::Check => None,
        };
        // `ADD` has no counterpart.
        if matches!(&write.action, Action::Update(Update::AddN(_))) {
            write.action = Action::Update(Update::SetN(1));
        }
        write
    }

    pub fn next_transaction(&mut self) -> u64 {
        self.transactions += 1;
        self.number * 1_000_000 + self.transactions
    }

    // What follows from answers.

    pub fn wrote(&mut self, call: &Call, write: &Arc<Write>, outcome: Outcome, transaction: Option<u64>) {
        let deleted = matches!(write.action, Action::Delete);
        if outcome == Outcome::Done && (deleted || matches!(write.action, Action::Check)) {
            let it = Arc::clone(write);
            self.saw(call, write.table, &write.key.0, true, move |items| {
                let item = items.get(&it.key);
                if deleted { item.is_none() } else { it.may(item) }
            });
        }
        if !matches!(write.action, Action::Check) {
            self.facts.written.push(Written {
                window: call.window,
                write: Arc::clone(write),
                outcome,
                old: None,
                new: None,
                transaction,
            });
        }
    }

    /// Records the item before and after the last write, as shown in the answer.
    pub fn answered(&mut self, old: Option<Value>, new: Option<Value>) {
        if let Some(written) = self.facts.written.last_mut() {
            (written.old, written.new) = (old, new);
        }
    }

    /// Records that a write with a failed condition has read an item that does not meet it: the one in the answer.
    pub fn failed(&mut self, call: &Call, write: &Arc<Write>, shown: Option<Value>) {
        self.wrote(call, write, Outcome::NotDone, None);
        let it = Arc::clone(write);
        self.saw(call, write.table, &write.key.0, true, move |items| {
            let item = items.get(&it.key);
            !it.may(item) && item == shown.as_ref()
        });
    }

    /// Records the cost of a failed condition: that of writing the existing item.
    pub fn paid_for_nothing(&mut self, call: &Call, table: usize, shown: Option<&Value>) {
        let bytes = shown.map_or(0, size);
        self.facts.spent.push(Spent {
            began: call.began,
            ended: self.world.now(),
            table,
            index: None,
            writes: true,
            halves: 2 * bytes.div_ceil(1024).max(1) as i64,
        });
    }

    pub fn saw(
        &mut self,
        call: &Call,
        table: usize,
        pk: &str,
        consistent: bool,
        test: impl Fn(&Items) -> bool + Send + 'static,
    ) {
        self.saw_partition(call, table, partition_of(pk), consistent, test);
    }

    pub fn saw_partition(
        &mut self,
        call: &Call,
        table: usize,
        partition: usize,
        consistent: bool,
        test: impl Fn(&Items) -> bool + Send + 'static,
    ) {
        let reads = !call.writes;
        self.facts.seen.push(Seen {
            window: call.window,
            began: call.began,
            client: reads.then_some(self.number),
            table,
            partition,
            consistent,
            test: Box::new(test),
            description: Arc::clone(&call.description),
        });
    }

    /// Sends one request, or calls a control.
    pub fn act(&mut self) -> Result<(), String> {
        match self.choice.below(30) {
            0..=5 => self.write_one(),
            6..=7 => self.execute(),
            8..=10 => self.batch_write(),
            11 => self.batch_execute(),
            12..=14 => self.transact_write(),
            15 => self.transact_execute(),
            16..=17 => self.get(),
            18 => self.batch_get(),
            19 => self.transact_get(),
            20..=21 => self.query(),
            22..=23 => self.query_index(),
            24 => self.scan(),
            25 => self.select(),
            26..=27 => self.control(),
            _ => self.pass(),
        }
    }

    pub fn pass(&mut self) -> Result<(), String> {
        let micros = match self.choice.below(8) {
            0 if self.world.setup.hours > 0 => return self.world.pass_hours(self.choice.below(6)),
            0..=3 => self.choice.below(20_000),
            4..=6 => self.choice.below(900_000),
            _ => self.choice.below(15_000_000),
        };
        let to = self.world.now().plus(Duration::from_micros(micros));
        self.world.move_to(to, self.choice.one_in(2));
        Ok(())
    }
}
