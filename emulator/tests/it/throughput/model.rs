//! Random histories against a naive model of token buckets.

use std::time::Duration;

use crate::common::{Choice, setting};
use dynatwin_engine::Enforcement;
use dynatwin_engine::monitoring::Heat;
use serde_json::{Value, json};

use super::{create, enforced, heat, is_throttle, provisioned, put};

/// A bucket as the guide describes it, counted in whole microseconds, and the units that passed with their times.
struct Model {
    rate: i128,
    most: i128,
    level: i128,
    at: i128,
    passed: Vec<(i128, i128)>,
}

/// Half a unit, in the amount that a rate of one unit a second adds in half a microsecond.
const HALF: i128 = 1_000_000;

impl Model {
    fn new(rate: i128) -> Model {
        Model {
            rate: rate * 2,
            most: rate * 600 * HALF,
            level: rate * 2 * HALF,
            at: 0,
            passed: Vec::new(),
        }
    }

    fn settle(&mut self, now: i128) {
        self.level = (self.level + (now - self.at) * self.rate).min(self.most);
        self.at = now;
    }

    fn has(&self, halves: i128) -> bool {
        self.level >= (halves * HALF).min(self.most)
    }

    fn spend(&mut self, halves: i128) {
        if halves > 0 {
            self.level -= halves * HALF;
            self.passed.push((self.at, halves * HALF));
        }
    }

    /// Checks that in any window no more passed than was kept and refilled, except for one page that is charged late.
    fn check_windows(&self, page: i128, seed: u64) {
        for (from, (start, _)) in self.passed.iter().enumerate() {
            let mut sum = 0;
            for (end, amount) in &self.passed[from..] {
                sum += amount;
                let most = self.most + (end - start) * self.rate + page * HALF;
                assert!(
                    sum <= most,
                    "DYNATWIN_SEED={seed}: {sum} of {most} from {start} to {end}"
                );
            }
        }
    }
}

/// Returns the half units that an answer reports for one of its members.
fn halves(arm: &Value) -> i128 {
    (arm["CapacityUnits"].as_f64().unwrap_or(0.0) * 2.0) as i128
}

const INDEXED: &str = r#"{"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}],
    "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"}, "ProvisionedThroughput": {"ReadCapacityUnits": 3, "WriteCapacityUnits": 2}}],
    "ProvisionedThroughput": {"ReadCapacityUnits": 4, "WriteCapacityUnits": 5}}"#;

/// Runs a seeded history: passed, refused and reported units are those of the model.
fn history(seed: u64) {
    let twin = enforced(Enforcement::AWS);
    create(&twin, &serde_json::from_str(INDEXED).unwrap());
    let mut choice = Choice(seed);
    // Table and index, reading and writing.
    let mut models = [4, 5, 3, 2].map(Model::new);
    let mut now = 0;
    for step in 0..150 {
        if choice.one_in(2) {
            let longest = if choice.one_in(10) { 400_000_000 } else { 700_000 };
            let micros = choice.below(longest);
            twin.engine.advance(Duration::from_micros(micros));
            now += i128::from(micros);
        }
        models.iter_mut().for_each(|model| model.settle(now));
        let key = format!("k{}", choice.below(5));
        let mut item = json!({"pk": {"S": key}, "v": {"S": "v".repeat(choice.below(6000) as usize)}});
        if choice.one_in(2) {
            item["g"] = json!({"S": format!("g{}", choice.below(3))});
        }
        let (operation, mut body) = match choice.below(8) {
            0..=3 => ("PutItem", json!({"Item": item})),
            4 => ("DeleteItem", json!({"Key": {"pk": {"S": key}}})),
            5 => (
                "GetItem",
                json!({"Key": {"pk": {"S": key}}, "ConsistentRead": choice.one_in(2)}),
            ),
            6 => ("Scan", json!({"ConsistentRead": choice.one_in(2)})),
            _ => (
                "Query",
                json!({"IndexName": "by-g", "KeyConditionExpression": "g = :g",
                "ExpressionAttributeValues": {":g": {"S": "g0"}}}),
            ),
        };
        body["TableName"] = json!("tab");
        body["ReturnConsumedCapacity"] = json!("INDEXES");
        let before = heat(&twin);
        let (status, answer) = twin.send(operation, &body);
        let after = heat(&twin);
        let at = format!("DYNATWIN_SEED={seed}, step {step}: {operation} {answer}");
        let spent = |index: usize, writes: bool| {
            let of = |heat: &Heat| {
                let resource = &heat.resources[index];
                let counts = if writes { resource.write } else { resource.read };
                (counts.units.as_f64() * 2.0) as i128
            };
            of(&after) - of(&before)
        };
        let spent = [spent(0, false), spent(0, true), spent(1, false), spent(1, true)];
        if status == 200 {
            let consumed = &answer["ConsumedCapacity"];
            let (table, index) = (
                halves(&consumed["Table"]),
                halves(&consumed["GlobalSecondaryIndexes"]["by-g"]),
            );
            let writes = matches!(operation, "PutItem" | "DeleteItem");
            let reported = if writes {
                [0, table, 0, index]
            } else {
                [table, 0, index, 0]
            };
            assert_eq!(spent, reported, "{at}: what is reported is what is spent");
            for (model, units) in models.iter_mut().zip(spent) {
                let page = matches!(operation, "Scan" | "Query");
                let had = units == 0 || if page { model.level > 0 } else { model.has(units) };
                assert!(had, "{at}: there was not enough");
                model.spend(units);
            }
        } else {
            assert!(is_throttle(&answer), "{at}");
            assert_eq!(spent, [0; 4], "{at}: nothing is spent");
            // Every resource in the reasons is short of capacity.
            for reason in answer["ThrottlingReasons"].as_array().unwrap() {
                let place = match reason["reason"].as_str().unwrap() {
                    "TableReadProvisionedThroughputExceeded" => 0,
                    "TableWriteProvisionedThroughputExceeded" => 1,
                    "IndexReadProvisionedThroughputExceeded" => 2,
                    "IndexWriteProvisionedThroughputExceeded" => 3,
                    other => panic!("{at}: {other}"),
                };
                // The largest item there is costs 6 units, and an index entry that moves twice that.
                assert!(!models[place].has(24), "{at}: there was enough");
            }
        }
    }
    // A page has at most five items here.
    models.iter().for_each(|model| model.check_windows(20, seed));
}

#[test]
fn capacity_is_never_exceeded() {
    match setting("DYNATWIN_SEED") {
        Some(seed) => history(seed),
        None => (1..=40).for_each(history),
    }
}

/// Puts of known cost: exactly those that the model allows pass.
#[test]
fn all_available_capacity_can_be_consumed() {
    for seed in 1..=60 {
        let twin = enforced(Enforcement::AWS);
        create(&twin, &provisioned(1, 3));
        let mut choice = Choice(seed);
        let mut model = Model::new(3);
        let mut now = 0;
        for step in 0..80 {
            let longest = if choice.one_in(20) { 200_000_000 } else { 900_000 };
            let micros = choice.below(longest);
            twin.engine.advance(Duration::from_micros(micros));
            now += i128::from(micros);
            model.settle(now);
            let largest = if choice.one_in(8) { 390 } else { 5 };
            let units = 1 + choice.below(largest) as usize;
            // Each has its own key and cost.
            let passed = put(&twin, &format!("k{step}"), units);
            let halves = 2 * units as i128;
            assert_eq!(passed, model.has(halves), "seed {seed}, step {step}: {units} units");
            if passed {
                model.spend(halves);
            }
        }
        model.check_windows(0, seed);
    }
}
