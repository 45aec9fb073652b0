//! The measured operations, on 100 item collections of 100 items of about 1 KB.

use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};

pub const PARTITIONS: usize = 100;
pub const ITEMS: usize = 100;
/// GetItem, PutItem, UpdateItem, Query, a statement equivalent to GetItem, and ListTables.
pub const OPERATIONS: [&str; 6] = ["get", "put", "update", "query", "select", "list"];

/// The CreateTable of the table.
pub const CREATE: &str = r#"{"TableName":"bench","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]}"#;

/// Returns the requests of an operation: every item once, in an order that alternates between item collections.
pub fn requests(operation: &str) -> Vec<Vec<u8>> {
    let request = |at: usize| {
        let at = at * 7919 % (PARTITIONS * ITEMS); // a prime, so that each is met
        body(operation, at % PARTITIONS, at / PARTITIONS).into_bytes()
    };
    (0..PARTITIONS * ITEMS).map(request).collect()
}

/// A loaded engine and the requests of one operation, in an order that alternates between item collections.
pub struct Workload {
    engine: Engine,
    caller: Caller,
    target: &'static str,
    bodies: Vec<Vec<u8>>,
}

fn item(partition: usize, item: usize) -> String {
    format!(
        r#"{{"pk":{{"S":"PROJECT#{partition:03}"}},"sk":{{"S":"TASK#{item:03}"}},"n":{{"N":"{item}"}},"body":{{"S":"{}"}}}}"#,
        "x".repeat(900)
    )
}

fn body(operation: &str, partition: usize, number: usize) -> String {
    let key = format!(r#""Key":{{"pk":{{"S":"PROJECT#{partition:03}"}},"sk":{{"S":"TASK#{number:03}"}}}}"#);
    match operation {
        "get" => format!(r#"{{"TableName":"bench",{key}}}"#),
        "put" => format!(r#"{{"TableName":"bench","Item":{}}}"#, item(partition, number)),
        "update" => format!(
            r##"{{"TableName":"bench",{key},"UpdateExpression":"SET n = n + :one, #s = :s","ConditionExpression":"attribute_exists(pk)","ExpressionAttributeNames":{{"#s":"status"}},"ExpressionAttributeValues":{{":one":{{"N":"1"}},":s":{{"S":"DONE"}}}}}}"##
        ),
        "select" => format!(
            r#"{{"Statement":"SELECT * FROM \"bench\" WHERE pk = ? AND sk = ?","Parameters":[{{"S":"PROJECT#{partition:03}"}},{{"S":"TASK#{number:03}"}}]}}"#
        ),
        "list" => "{}".to_owned(),
        _ => format!(
            r#"{{"TableName":"bench","KeyConditionExpression":"pk = :p AND begins_with(sk, :s)","ExpressionAttributeValues":{{":p":{{"S":"PROJECT#{partition:03}"}},":s":{{"S":"TASK#{:02}"}}}}}}"#,
            number / 10
        ),
    }
}

impl Workload {
    pub fn new(operation: &str) -> Workload {
        let target = match operation {
            "get" => "GetItem",
            "put" => "PutItem",
            "update" => "UpdateItem",
            "select" => "ExecuteStatement",
            "list" => "ListTables",
            _ => "Query",
        };
        let engine = Engine::new(Settings {
            clock: Clock::settable(Moment::START),
            seed: 1,
            conditions: Conditions::CALM,
            shared_db: false,
        });
        let caller = Caller {
            access_key: "bench".into(),
            region: "us-east-1".into(),
        };
        let workload = Workload {
            bodies: requests(operation),
            engine,
            caller,
            target,
        };
        workload.send("CreateTable", CREATE.as_bytes());
        for partition in 0..PARTITIONS {
            for number in 0..ITEMS {
                workload.send("PutItem", body("put", partition, number).as_bytes());
            }
        }
        workload
    }

    fn send(&self, target: &str, body: &[u8]) -> Vec<u8> {
        let answer = self.engine.dispatch(&self.caller, target, body);
        assert_eq!(
            answer.status,
            200,
            "{target}: {}",
            String::from_utf8_lossy(&answer.body)
        );
        answer.body
    }

    /// Sends the request with this number; they start again after the last.
    pub fn run(&self, number: usize) -> Vec<u8> {
        self.send(self.target, &self.bodies[number % self.bodies.len()])
    }
}
