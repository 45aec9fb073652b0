//! Controls between requests: fault rules, changed conditions, paused, created and deleted indexes, shard splits.

use std::time::Duration;

use dynatwin_engine::Lag;
use dynatwin_engine::faults::{Exceeded, KeyMatch, Rule, Trigger, Verdict};
use serde_json::{Value, json};

use crate::simulation::client::Client;
use crate::simulation::setup::change;
use crate::simulation::world::{FICKLE, INDEXES, TABLES};

/// The units of the fickle index, for reading and writing, in the provisioned table.
pub const FICKLE_UNITS: u64 = 50;

const OPERATIONS: [&str; 12] = [
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "GetItem",
    "Query",
    "Scan",
    "BatchWriteItem",
    "BatchGetItem",
    "TransactWriteItems",
    "TransactGetItems",
    "ExecuteStatement",
    "BatchExecuteStatement",
];

/// Returns the UpdateTable request that creates the fickle index of a table.
pub fn fickle_index(table: usize) -> Value {
    let mut made = json!({"IndexName": FICKLE, "Projection": {"ProjectionType": "ALL"},
        "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}]});
    if table == 0 {
        made["ProvisionedThroughput"] = json!({"ReadCapacityUnits": FICKLE_UNITS, "WriteCapacityUnits": FICKLE_UNITS});
    }
    json!({"TableName": TABLES[table], "AttributeDefinitions": [{"AttributeName": "n", "AttributeType": "N"}],
        "GlobalSecondaryIndexUpdates": [{"Create": made}]})
}

impl Client<'_> {
    pub fn control(&mut self) -> Result<(), String> {
        let table = self.table();
        let (world, name) = (self.world, TABLES[table]);
        let engine = &world.twin.engine;
        match self.choice.below(11) {
            0 => engine.run_due(),
            1 => drop(engine.account(&world.twin.caller).expire_now(name)),
            2 => drop(engine.account(&world.twin.caller).split_shards(name)),
            3..=4 if world.setup.rules => self.rule(),
            5 if world.setup.rules => engine.faults().clear(),
            6 => self.pause_or_resume_index(table),
            7 => self.set_index_lag(table),
            8 => return self.fickle(table),
            9 => return world.poll(),
            10 if world.setup.changes_conditions => self.change_condition(),
            _ => drop(engine.next_due()),
        }
        Ok(())
    }

    fn rule(&mut self) {
        let verdict = match self.choice.below(9) {
            0 => Verdict::Throttle(None),
            1 => Verdict::Throttle(Some(Exceeded::MaxOnDemandThroughput)),
            2 => Verdict::InternalServerError,
            3 => Verdict::ServiceUnavailable,
            4 => Verdict::ItemCollectionSizeLimitExceeded,
            5 => Verdict::Wait(Duration::from_millis(self.choice.below(3000))),
            6 => Verdict::Reset,
            7 => Verdict::AnswerLost,
            _ => Verdict::Truncate(self.choice.below(50) as usize),
        };
        let mut rule = Rule::new(verdict).operation(OPERATIONS[self.choice.below(12) as usize]);
        rule = match self.choice.below(5) {
            0 => rule.key(KeyMatch::Partition(self.key().0)),
            1 => rule.table(TABLES[self.table()]),
            2 => rule.index(INDEXES[0]),
            3 => rule.caller(&format!("client-{}", self.choice.below(3))),
            _ => rule,
        };
        let count = 1 + self.choice.below(4);
        rule = rule.on(match self.choice.below(4) {
            0 => Trigger::First(count),
            1 => Trigger::Nth(count),
            2 => Trigger::EveryNth(1 + count),
            _ => Trigger::Share(count as f64 / 10.0),
        });
        // A rule whose exception the API model does not list for the operation is refused.
        drop(self.world.twin.engine.add_fault(rule));
    }

    fn pause_or_resume_index(&mut self, table: usize) {
        let (world, index) = (self.world, INDEXES[self.choice.below(2) as usize]);
        let (engine, caller) = (&world.twin.engine, &world.twin.caller);
        if self.choice.one_in(2) {
            world.widen(|bounds| bounds.paused = true);
            engine.account(caller).pause_index(TABLES[table], index).unwrap();
        } else {
            engine.account(caller).resume_index(TABLES[table], index).unwrap();
        }
    }

    fn set_index_lag(&mut self, table: usize) {
        let world = self.world;
        let lag = Lag::Fixed(Duration::from_millis(self.choice.below(500)));
        world.widen(|bounds| bounds.index_lag = bounds.index_lag.max(lag.longest()));
        let index = INDEXES[self.choice.below(2) as usize];
        let lag = self.choice.one_in(2).then_some(lag);
        let engine = &world.twin.engine;
        engine
            .account(&world.twin.caller)
            .set_index_lag(TABLES[table], index, lag)
            .unwrap();
    }

    /// Creates the fickle index, or deletes it.
    fn fickle(&mut self, table: usize) -> Result<(), String> {
        let body = if self.choice.one_in(3) {
            let delete = json!({"Delete": {"IndexName": FICKLE}});
            json!({"TableName": TABLES[table], "GlobalSecondaryIndexUpdates": [delete]})
        } else {
            fickle_index(table)
        };
        let (status, answer) = self.world.twin.send("UpdateTable", &body);
        let kind = answer["__type"].as_str().unwrap_or_default();
        let is_expected = match kind.rsplit('#').next().unwrap_or_default() {
            "ThrottlingException" => self.world.twin.engine.conditions().control_limits,
            kind => [
                "ResourceInUseException",
                "ResourceNotFoundException",
                "LimitExceededException",
                "ValidationException",
            ]
            .contains(&kind),
        };
        if status == 200 || is_expected {
            return Ok(());
        }
        Err(format!("UpdateTable {body} answers {answer}"))
    }

    /// Changes a condition other than capacity, whose buckets would start anew.
    fn change_condition(&mut self) {
        let mut conditions = self.world.twin.engine.conditions();
        let condition = self.choice.below(8);
        change(&mut conditions, condition, &mut self.choice);
        self.world.set_conditions(&conditions);
    }
}
