//! Helpers for tests: a twin on a settable clock, and seeded random choices.

pub mod commits;
pub mod copies;
pub mod global;
pub mod model;
pub mod replay;

use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
use serde_json::{Value, json};

/// Settings with this seed, calm conditions, and a settable clock that starts at [`Moment::START`].
pub fn settings(seed: u64) -> Settings {
    Settings {
        clock: Clock::settable(Moment::START),
        seed,
        conditions: Conditions::CALM,
        shared_db: false,
    }
}

pub fn caller() -> Caller {
    Caller {
        access_key: "test".into(),
        region: "us-east-1".into(),
    }
}

pub struct Twin {
    pub engine: Engine,
    pub caller: Caller,
}

impl Twin {
    pub fn new(seed: u64) -> Twin {
        Twin {
            engine: Engine::new(settings(seed)),
            caller: caller(),
        }
    }

    /// Sends a request. Returns the status and the body, which is `null` if it is empty.
    pub fn send(&self, operation: &str, body: &Value) -> (u16, Value) {
        let answer = self
            .engine
            .dispatch(&self.caller, operation, body.to_string().as_bytes());
        if answer.body.is_empty() {
            return (answer.status, Value::Null);
        }
        (answer.status, serde_json::from_slice(&answer.body).unwrap())
    }

    pub fn ok(&self, operation: &str, body: &Value) -> Value {
        let (status, answer) = self.send(operation, body);
        assert_eq!(status, 200, "{operation} {body}: {answer}");
        answer
    }

    /// Sends a request that is refused. Returns its [`error_text`].
    pub fn error(&self, operation: &str, body: &Value) -> String {
        let (status, answer) = self.send(operation, body);
        assert_eq!(status, 400, "{operation} {body}: {answer}");
        error_text(&answer)
    }

    pub fn seconds(&self) -> i64 {
        self.engine.clock().now().seconds()
    }
}

/// Returns the exception and the message of an error's body: `ValidationException: …`.
pub fn error_text(answer: &Value) -> String {
    let exception = answer["__type"].as_str().unwrap_or_default();
    let message = answer["message"].as_str().or(answer["Message"].as_str());
    format!(
        "{}: {}",
        exception.rsplit('#').next().unwrap_or_default(),
        message.unwrap_or_default()
    )
}

/// Creates a table with the key `pk`, a global index on `g` and time to live on `ttl`.
pub fn create_table_with_ttl(twin: &Twin) {
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"}}]}),
    );
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}}),
    );
}

/// A seeded random number generator (SplitMix64).
pub struct Choice(pub u64);

impl Choice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// Returns a number from the environment.
pub fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
