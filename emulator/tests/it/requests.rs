//! Seeded random requests against a naive evaluator, which is written from `docs/behavior` and shares no code with the
//! engine. Every answer is compared as far as the documentation determines it; at the end of a history the contents of
//! tables and indexes, their counts and sizes, and the records of the streams.
//!
//! `DYNATWIN_SEED=n` replays one history, `DYNATWIN_REQUESTS=n` sets the number of histories, `DYNATWIN_TRACE=1` prints
//! each request with its answer.

mod expressions;
mod legacy;
mod reads;
mod statements;
mod streams;
mod tables;
mod values;
mod writes;

use std::time::Duration;

use crate::common::model::kind;
use crate::common::{Choice, Twin, setting};
use serde_json::Value;
use tables::Table;
use writes::Transaction;

const HISTORIES: u64 = 300;
const STEPS: u64 = 40;

/// The engine and its model.
pub struct History {
    twin: Twin,
    tables: Vec<Table>,
    /// Successful calls of TransactWriteItems with a token.
    transactions: Vec<Transaction>,
    /// Successful calls of ExecuteTransaction with a token.
    statements: Vec<Transaction>,
    choice: Choice,
    seed: u64,
    traced: bool,
}

impl History {
    fn new(seed: u64) -> History {
        let twin = Twin::new(seed);
        let mut choice = Choice(seed);
        let tables = ["one", "two"].map(|name| Table::any(&mut choice, name, twin.seconds()));
        for table in &tables {
            twin.ok("CreateTable", &table.create());
            twin.ok("UpdateTimeToLive", &table.time_to_live());
        }
        History {
            twin,
            tables: tables.into(),
            transactions: Vec::new(),
            statements: Vec::new(),
            choice,
            seed,
            traced: std::env::var_os("DYNATWIN_TRACE").is_some(),
        }
    }

    /// Sends a request. Number sets of the operations that return them in the order of a hash are sorted.
    fn send(&self, operation: &str, body: &Value) -> Value {
        let (_, mut answer) = self.twin.send(operation, body);
        if matches!(operation, "Scan" | "TransactGetItems") || operation.contains("Execute") {
            values::sort_number_sets(&mut answer);
        }
        if self.traced {
            println!("{operation} {body}\n  {answer}");
        }
        answer
    }

    #[track_caller]
    fn same(&self, operation: &str, request: &Value, found: impl Into<Value>, expected: impl Into<Value>) {
        let (found, expected) = (found.into(), expected.into());
        assert!(
            found == expected,
            "DYNATWIN_SEED={}: {operation} {request}\n answers  {found}\n expected {expected}",
            self.seed
        );
    }

    /// Checks that the answer is this error.
    #[track_caller]
    fn refused(&self, operation: &str, request: &Value, answer: &Value, error: &str) {
        self.same(operation, request, kind(answer), error);
    }

    /// Chooses the first table more often, so that it has many items.
    fn any_table(&mut self) -> usize {
        usize::from(self.choice.one_in(4))
    }

    /// Advances the clock by less than 25 minutes, so that no record of a stream expires within a history.
    fn advance(&mut self) {
        let seconds = match self.choice.below(3) {
            0 => 601 + self.choice.below(800),
            _ => self.choice.below(200),
        };
        self.twin.engine.advance(Duration::from_secs(seconds));
        self.expire();
    }

    fn step(&mut self) {
        match self.choice.below(27) {
            0..6 => self.write(),
            6 | 7 => self.legacy_write(),
            8 => self.batch_write(),
            9 => self.transact_write(),
            10 => self.get(),
            11 => self.batch_get(),
            12 => self.transact_get(),
            13..16 => self.query(),
            16 | 17 => self.select(),
            18 | 19 => self.write_statement(),
            20 => self.batch_statements(),
            21 => self.transact_statements(),
            22 => self.select_items(),
            23 | 24 => self.advance(),
            _ => self.scan(),
        }
    }
}

#[test]
fn requests_are_answered_as_the_model_says() {
    let seeds = match setting("DYNATWIN_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..setting("DYNATWIN_REQUESTS").unwrap_or(HISTORIES),
    };
    for seed in seeds {
        let mut history = History::new(seed);
        for _ in 0..STEPS {
            history.step();
        }
        history.check_tables();
        history.check_streams();
    }
}
