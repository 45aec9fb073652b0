//! A DynamoDB Local with a table, to copy from and to. The server's tests use it too.
//!
//! It is the one that the conformance suite fetches; `cargo xtask test conformance` fetches it.

use std::env;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use dynatwin_seed::{Database, Endpoint};
use serde_json::{Value, json};

const PACKAGE: &str = "dynamodb-local-2.9.30/node_modules/amplify-dynamodb-simulator/emulator";

/// How long Java may take to start.
const PATIENCE: Duration = Duration::from_mins(2);

/// A running DynamoDB Local, which is killed when it is dropped.
pub struct DynamoDbLocal {
    process: Child,
    port: u16,
}

impl DynamoDbLocal {
    /// Starts it; nothing if it or Java is missing.
    pub fn start() -> Option<DynamoDbLocal> {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = set("DYNATWIN_CACHE")
            .or_else(|| Some(set("XDG_CACHE_HOME")?.join("dynatwin")))
            .or_else(|| Some(set("HOME")?.join(".cache/dynatwin")))?;
        let folder = cache.join(PACKAGE);
        let jar = folder.join("DynamoDBLocal.jar");
        if !jar.is_file() {
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut library = std::ffi::OsString::from("-Djava.library.path=");
        library.push(folder.join("DynamoDBLocal_lib"));
        let process = Command::new("java")
            .args(["-Xmx256m", "-XX:+UseSerialGC"])
            .arg(library)
            .arg("-jar")
            .arg(&jar)
            .args(["-inMemory", "-port", &port.to_string()])
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .ok()?;
        let local = DynamoDbLocal { process, port };
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(start.elapsed() < PATIENCE, "DynamoDB Local does not listen");
            thread::sleep(Duration::from_millis(50));
        }
        Some(local)
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The endpoint with the tables of an access key.
    pub fn endpoint(&self, access_key: &str) -> Endpoint {
        let endpoint = Endpoint::new(&self.url(), |_| None).unwrap();
        endpoint.with_caller(access_key, "us-east-1")
    }
}

impl Drop for DynamoDbLocal {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Creates a table with 200 items of all types.
pub fn fill(database: &dyn Database) {
    let ask = |operation: &str, body: Value| database.call(operation, &body).unwrap();
    let attribute = |name: &str, kind: &str| json!({"AttributeName": name, "AttributeType": kind});
    let key = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    ask(
        "CreateTable",
        json!({"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [attribute("id", "S"), attribute("part", "N"), attribute("day", "B")],
            "KeySchema": key("id", "part"),
            "GlobalSecondaryIndexes": [{"IndexName": "by-day", "KeySchema": [{"AttributeName": "day", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"}}],
            "LocalSecondaryIndexes": [{"IndexName": "days", "KeySchema": key("id", "day"), "Projection": {"ProjectionType": "ALL"}}],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}}),
    );
    let expires = json!({"Enabled": true, "AttributeName": "expires"});
    ask(
        "UpdateTimeToLive",
        json!({"TableName": "Orders", "TimeToLiveSpecification": expires}),
    );
    for n in 0..200_u32 {
        let map = json!({"M": {"none": {"NULL": true}, "list": {"L": [{"BOOL": n % 2 == 0}, {"S": ""}, {"M": {}}]}}});
        let item = json!({
            "id": {"S": format!("Bestellung {} ü\u{10ffff}", n / 10)}, "part": {"N": format!("-{n}.50e-3")}, "day": {"B": "AAECAw=="},
            "text": {"S": "x".repeat(n as usize * 100)}, "number": {"N": "12345678901234567890123456789012345678"}, "map": map,
            "texts": {"SS": ["b", "a", ""]}, "numbers": {"NS": ["10", "9.0", "1e3"]}, "bytes": {"BS": ["AQ==", "AA=="]},
        });
        ask("PutItem", json!({"TableName": "Orders", "Item": item}));
    }
}

/// All items in the order of their keys, with their sets in order.
pub fn items(database: &dyn Database) -> Vec<Value> {
    let mut found = Vec::new();
    let mut request = json!({"TableName": "Orders"});
    loop {
        let page = database.call("Scan", &request).unwrap();
        found.extend(page["Items"].as_array().unwrap().iter().map(sorted));
        match &page["LastEvaluatedKey"] {
            Value::Null => break,
            key => request["ExclusiveStartKey"] = key.clone(),
        }
    }
    found.sort_by_key(|item| json!([item["id"], item["part"]]).to_string());
    found
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let mut value = sorted(value);
                if let (Value::Array(set), "SS" | "NS" | "BS") = (&mut value, name.as_str()) {
                    set.sort_by_key(Value::to_string);
                }
                (name.clone(), value)
            };
            members.iter().map(member).collect()
        }
        Value::Array(list) => list.iter().map(sorted).collect(),
        plain => plain.clone(),
    }
}

/// What a table is defined by.
pub fn definition(database: &dyn Database) -> Value {
    let table = json!({"TableName": "Orders"});
    let described = database.call("DescribeTable", &table).unwrap()["Table"].clone();
    let expires = database.call("DescribeTimeToLive", &table).unwrap();
    let index = |index: &Value| json!([index["IndexName"], index["KeySchema"], index["Projection"]]);
    let indexes = ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"].map(|kind| {
        described[kind]
            .as_array()
            .unwrap()
            .iter()
            .map(index)
            .collect::<Vec<_>>()
    });
    let mut attributes = described["AttributeDefinitions"].as_array().unwrap().clone();
    attributes.sort_by_key(Value::to_string);
    json!([
        attributes,
        described["KeySchema"],
        indexes,
        described["BillingModeSummary"]["BillingMode"],
        described["StreamSpecification"],
        expires["TimeToLiveDescription"]["AttributeName"],
    ])
}
