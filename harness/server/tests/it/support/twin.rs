//! A served engine, with its controls and operations called over a socket.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;

use dynatwin_engine::{Allowed, Engine};
use dynatwin_server::{Limits, Log, Options, Server, serve};
use serde_json::{Value, json};

use crate::support::{Response, ask, connect, settings};

pub const ME: &str = "AWS4-HMAC-SHA256 Credential=me/20260101/us-east-1/dynamodb/aws4_request";
pub const JSON: (&str, &str) = ("content-type", "application/json");

pub struct Twin {
    stream: TcpStream,
    server: Arc<Server>,
}

impl Twin {
    /// Starts a server without tables, on a clock that stands still.
    pub fn new(allowed: Allowed, shared_db: bool) -> Twin {
        Twin::start(allowed, shared_db, |_| ())
    }

    /// Starts a server with other limits.
    pub fn with(allowed: Allowed, change: impl FnOnce(&mut Limits)) -> Twin {
        Twin::start(allowed, false, change)
    }

    fn start(allowed: Allowed, shared_db: bool, change: impl FnOnce(&mut Limits)) -> Twin {
        let settings = settings(u64::MAX, shared_db);
        let mut options = Options::port(0);
        options.log = Log::Off;
        options.workers = 1;
        change(&mut options.limits);
        let server = serve(Arc::new(Engine::new(settings).allowing(allowed)), options).expect("a server");
        Twin {
            stream: connect(&server),
            server: Arc::new(server),
        }
    }

    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Another connection to the same server.
    pub fn another(&self) -> Twin {
        Twin {
            stream: connect(&self.server),
            server: Arc::clone(&self.server),
        }
    }

    /// Starts a server with everything that the examples of the description refer to: a table with an index, a stream
    /// and an expired item, a recorded put and scan, and rule 1.
    pub fn with_example_data() -> Twin {
        let mut twin = Twin::new(Allowed::All, false);
        twin.create("me", "Orders");
        let expires = json!({"Enabled": true, "AttributeName": "expires"});
        let off = json!({"timeToLive": "off"});
        assert_eq!(twin.control("PUT", "tables/Orders/conditions", Some(&off)).0, 200);
        let spec = json!({"TableName": "Orders", "TimeToLiveSpecification": expires});
        assert_eq!(twin.operation("me", "UpdateTimeToLive", &spec).0, 200);
        let all = json!({"bodies": true, "events": true});
        assert_eq!(twin.control("POST", "watch", Some(&all)).0, 200);
        let item = json!({"id": {"S": "a"}, "date": {"S": "d"}, "expires": {"N": "1767225600"}});
        let put = json!({"TableName": "Orders", "Item": item});
        assert_eq!(twin.operation("me", "PutItem", &put).0, 200);
        let scan = json!({"TableName": "Orders", "IndexName": "by-date"});
        assert_eq!(twin.operation("me", "Scan", &scan).0, 200);
        assert_eq!(twin.control("POST", "unwatch", None).0, 200);
        let rule = json!({"verdict": "throttle", "operation": "GetItem", "table": "Orders", "first": 1});
        assert_eq!(twin.control("POST", "faults", Some(&rule)).0, 200);
        twin
    }

    /// Adds a replica of the table in another region.
    pub fn with_replica(mut self) -> Twin {
        let update = json!([{"Create": {"RegionName": "eu-west-1"}}]);
        let body = json!({"TableName": "Orders", "ReplicaUpdates": update});
        assert_eq!(self.operation("me", "UpdateTable", &body).0, 200);
        self
    }

    /// Adds access control: a root user, a role and a table of an account.
    pub fn with_access_control(mut self) -> Twin {
        let keys = json!([{"accessKeyId": "AKIAROOT", "secretAccessKey": "root"}]);
        let account = json!({"accessKeys": keys, "roles": {"Reader": {}}});
        // Existing tables belong to the account.
        self.create("123456789012", "Orders");
        assert_eq!(
            self.operation("me", "DeleteTable", &json!({"TableName": "Orders"})).0,
            200
        );
        let access = json!({"accounts": {"123456789012": account}});
        assert_eq!(self.control("PUT", "access", Some(&access)).0, 200);
        self
    }

    pub fn create(&mut self, access_key: &str, name: &str) {
        assert_eq!(self.operation(access_key, "CreateTable", &table(name)).0, 200);
    }

    pub fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        ask(&mut self.stream, &request(method, path, headers, body))
    }

    /// Calls a control under `/_dynatwin/`, as curl would.
    pub fn control(&mut self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let text = body.map(Value::to_string).unwrap_or_default();
        let headers = if body.is_some() { &[JSON][..] } else { &[] };
        read(&self.send(method, &format!("/_dynatwin/{path}"), headers, text.as_bytes()))
    }

    /// A control for the tables of an access key in us-east-1.
    pub fn control_with_credentials(&mut self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let text = body.map(Value::to_string).unwrap_or_default();
        let mut headers = vec![("authorization", ME)];
        headers.extend(body.is_some().then_some(JSON));
        read(&self.send(method, &format!("/_dynatwin/{path}"), &headers, text.as_bytes()))
    }

    /// An operation of the API.
    pub fn operation(&mut self, access_key: &str, name: &str, body: &Value) -> (u16, Value) {
        read(&ask(&mut self.stream, &operation(access_key, name, body)))
    }

    /// Sends an operation of the API, and reads no answer.
    pub fn send_operation(&mut self, access_key: &str, name: &str, body: &Value) {
        let request = operation(access_key, name, body);
        self.stream.write_all(&request).expect("sent");
    }
}

fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost:8000\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        request.extend([name, ": ", value, "\r\n"]);
    }
    request.push_str("\r\n");
    let mut request = request.into_bytes();
    request.extend_from_slice(body);
    request
}

fn operation(access_key: &str, name: &str, body: &Value) -> Vec<u8> {
    let target = format!("DynamoDB_20120810.{name}");
    let credential = format!(
        "{}, SignedHeaders=host, Signature=0",
        ME.replace("me/", &format!("{access_key}/"))
    );
    let headers = [
        ("content-type", "application/x-amz-json-1.0"),
        ("x-amz-target", target.as_str()),
        ("x-amz-date", "20260101T000000Z"),
        ("authorization", credential.as_str()),
    ];
    request("POST", "/", &headers, body.to_string().as_bytes())
}

/// Percent-encodes all bytes of a text.
pub fn percent(text: &str) -> String {
    let bytes: Vec<String> = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
    bytes.concat()
}

pub fn read(response: &Response) -> (u16, Value) {
    let body = serde_json::from_slice(&response.body);
    (response.status(), body.expect("an answer in JSON"))
}

fn table(name: &str) -> Value {
    let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    let attributes = ["id", "date"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    json!({
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": attributes,
        "KeySchema": key("id"),
        "GlobalSecondaryIndexes": [{"IndexName": "by-date", "KeySchema": key("date"), "Projection": {"ProjectionType": "ALL"}}],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"},
    })
}
