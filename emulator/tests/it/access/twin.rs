//! An engine with access control, called by access key.

use crate::common::settings;
use dynatwin_engine::http::HttpRequest;
use dynatwin_engine::iam::Directory;
use dynatwin_engine::{Caller, Engine};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::cell::RefCell;

pub const ACCOUNT: &str = "123456789012";
pub const REGION: &str = "us-east-1";

pub struct Twin {
    pub engine: Engine,
    configuration: RefCell<Value>,
}

/// Returns the secret of an access key, wherever it is in a configuration; `s` if it is not there.
fn secret_of(access_key: &str, node: &Value) -> Option<String> {
    match node {
        Value::Object(members) => {
            if members.get("accessKeyId").is_some_and(|id| id == access_key) {
                return members["secretAccessKey"].as_str().map(str::to_owned);
            }
            members.values().find_map(|member| secret_of(access_key, member))
        }
        Value::Array(elements) => elements.iter().find_map(|element| secret_of(access_key, element)),
        _ => None,
    }
}

/// Returns the Signature Version 4 of a POST of `/` whose only signed headers are host and date.
fn signature(secret: &str, date: &str, body: &[u8]) -> String {
    let hex = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
    };
    let mac = |key: &[u8], text: &str| {
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).unwrap();
        mac.update(text.as_bytes());
        mac.finalize().into_bytes().to_vec()
    };
    let canonical = format!(
        "POST\n/\n\nhost:localhost\nx-amz-date:{date}\n\nhost;x-amz-date\n{}",
        hex(&Sha256::digest(body))
    );
    let text = format!(
        "AWS4-HMAC-SHA256\n{date}\n20260101/{REGION}/dynamodb/aws4_request\n{}",
        hex(&Sha256::digest(canonical.as_bytes()))
    );
    let parts = ["20260101", REGION, "dynamodb", "aws4_request"];
    let key = parts
        .iter()
        .fold(format!("AWS4{secret}").into_bytes(), |key, part| mac(&key, part));
    hex(&mac(&key, &text))
}

impl Twin {
    /// Creates a twin in which every account has the root key `ROOT`.
    pub fn new(configuration: &Value) -> Twin {
        let engine = Engine::new(settings(7));
        let twin = Twin {
            engine,
            configuration: RefCell::default(),
        };
        twin.configure(configuration);
        twin
    }

    pub fn configure(&self, configuration: &Value) {
        *self.configuration.borrow_mut() = configuration.clone();
        let directory = Directory::read(&configuration.to_string(), self.engine.clock().now());
        self.engine
            .configure_access(Some(directory.unwrap_or_else(|why| panic!("{why}"))));
    }

    /// Creates a twin with one user, whose name is its access key, and the root user's key `ROOT`.
    pub fn with_user(name: &str, tags: &Value, policy: &Value) -> Twin {
        Twin::new(&json!({"accounts": {ACCOUNT: {
            "accessKeys": [{"accessKeyId": "ROOT", "secretAccessKey": "s"}],
            "users": {name: {"tags": tags, "policies": [policy], "accessKeys": [{"accessKeyId": name, "secretAccessKey": "s"}]}}
        }}}))
    }

    pub fn call(&self, access_key: &str, operation: &str, body: &Value) -> (u16, Value) {
        let caller = Caller {
            access_key: access_key.into(),
            region: REGION.into(),
        };
        let answer = self.engine.dispatch(&caller, operation, body.to_string().as_bytes());
        (
            answer.status,
            serde_json::from_slice(&answer.body).unwrap_or(Value::Null),
        )
    }

    /// Sends a request over HTTP, with headers in addition to the credentials.
    pub fn send(&self, access_key: &str, operation: &str, body: &Value, headers: &[(&str, &str)]) -> (u16, Value) {
        let secret = secret_of(access_key, &self.configuration.borrow()).unwrap_or_else(|| "s".into());
        self.send_signed((access_key, &secret), operation, body, headers)
    }

    /// Sends a request over HTTP that is signed with a secret of the caller's choice.
    pub fn send_signed(
        &self,
        (access_key, secret): (&str, &str),
        operation: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> (u16, Value) {
        let streams = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"];
        let service = if streams.contains(&operation) {
            "DynamoDBStreams"
        } else {
            "DynamoDB"
        };
        let target = format!("{service}_20120810.{operation}");
        let body = body.to_string();
        let now = self.engine.clock().now().to_string();
        let date = now.split('.').next().unwrap().replace(['-', ':'], "") + "Z";
        let signature = signature(secret, &date, body.as_bytes());
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={access_key}/20260101/{REGION}/dynamodb/aws4_request, \
             SignedHeaders=host;x-amz-date, Signature={signature}"
        );
        let mut all = vec![
            ("host", "localhost"),
            ("content-type", "application/x-amz-json-1.0"),
            ("x-amz-target", target.as_str()),
            ("x-amz-date", date.as_str()),
            ("authorization", authorization.as_str()),
        ];
        all.extend_from_slice(headers);
        let owned: Vec<(String, String)> = all
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let answer = self.engine.handle(&HttpRequest {
            method: "POST",
            target: "/",
            headers: &owned,
            body: body.as_bytes(),
        });
        (
            answer.status,
            serde_json::from_slice(&answer.body).unwrap_or(Value::Null),
        )
    }

    /// Sends a request to a control, which must succeed.
    pub fn control(&self, method: &str, path: &str, body: &Value) -> Value {
        let headers = [("host", "localhost"), ("content-type", "application/json")];
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = self.engine.handle(&HttpRequest {
            method,
            target: &format!("/_dynatwin/{path}"),
            headers: &headers,
            body: body.as_bytes(),
        });
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        serde_json::from_slice(&answer.body).unwrap()
    }

    /// Sends a request as the root user, which must succeed.
    pub fn root(&self, operation: &str, body: &Value) -> Value {
        let (status, answer) = self.call("ROOT", operation, body);
        assert_eq!(status, 200, "{operation}: {answer}");
        answer
    }

    pub fn create_table(&self, name: &str, (hash, range): (&str, &str), index: Option<&str>) {
        let mut attributes = vec![json!({"AttributeName": hash, "AttributeType": "S"})];
        let mut keys = vec![json!({"AttributeName": hash, "KeyType": "HASH"})];
        if !range.is_empty() {
            attributes.push(json!({"AttributeName": range, "AttributeType": "S"}));
            keys.push(json!({"AttributeName": range, "KeyType": "RANGE"}));
        }
        let mut body = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST", "KeySchema": keys});
        if let Some(attribute) = index {
            attributes.push(json!({"AttributeName": attribute, "AttributeType": "S"}));
            body["GlobalSecondaryIndexes"] = json!([{"IndexName": format!("by-{attribute}"),
                "KeySchema": [{"AttributeName": attribute, "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}]);
        }
        body["AttributeDefinitions"] = json!(attributes);
        self.root("CreateTable", &body);
    }

    /// Checks that a request is allowed, or refused with a text that ends in `reason`.
    #[track_caller]
    pub fn check(&self, access_key: &str, operation: &str, body: &Value, refusal: Option<&str>) {
        let (status, answer) = self.call(access_key, operation, body);
        let text = answer["Message"].as_str().unwrap_or_default();
        match refusal {
            None => assert_eq!(status, 200, "{operation} {body}: {answer}"),
            Some(reason) => assert!(text.ends_with(reason), "{operation} {body}: {answer}"),
        }
    }
}
