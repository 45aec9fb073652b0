//! The binary as a process that can be killed, and its operations and controls.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::ask;

/// Sets the arguments, and clears the settings in the environment.
fn command(program: &mut Command, words: &str) {
    program
        .args(words.split_whitespace())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("DYNATWIN_")) {
        program.env_remove(name);
    }
}

/// Runs the binary to its end; returns exit code, output and errors.
pub fn finished(words: &str) -> (Option<i32>, String, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_dynatwin"));
    command(&mut program, words);
    let Output { status, stdout, stderr } = program.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

/// A running server; killed if the test fails.
pub struct Process {
    child: Child,
    stream: TcpStream,
    pub port: u16,
    /// The line that it printed at startup.
    pub line: String,
}

impl Process {
    /// Starts the binary on a free port.
    pub fn start(words: &str) -> Process {
        let mut program = Command::new(env!("CARGO_BIN_EXE_dynatwin"));
        command(&mut program, &format!("{words} --port 0"));
        Process::run(program)
    }

    /// Starts it with files limited to this many blocks of 1,024 bytes.
    pub fn with_file_limit(blocks: u32, words: &str) -> Process {
        let mut program = Command::new("bash");
        let script = format!("trap '' XFSZ; ulimit -S -f {blocks}; exec \"$0\" \"$@\"");
        program.args(["-c", &script, env!("CARGO_BIN_EXE_dynatwin")]);
        command(&mut program, &format!("{words} --port 0"));
        Process::run(program)
    }

    fn run(mut program: Command) -> Process {
        let mut child = program.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let digits = line
            .split("http://127.0.0.1:")
            .nth(1)
            .map(|rest| rest.chars().take_while(char::is_ascii_digit));
        let Some(port) = digits.and_then(|digits| digits.collect::<String>().parse().ok()) else {
            let mut err = String::new();
            child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
            panic!("{program:?} has not started: {line}{err}");
        };
        let stream = connect(port);
        Process {
            child,
            stream,
            port,
            line,
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal, and returns what the process writes to standard error until it ends.
    pub fn end(mut self, signal: &str) -> String {
        self.kill(signal);
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        self.child.wait().unwrap();
        err
    }

    pub fn kill(&self, signal: &str) {
        let id = self.id().to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &id]).status();
        assert!(sent.unwrap().success());
    }

    /// Removes the limit on its files.
    pub fn lift_file_limit(&self) {
        let id = self.id().to_string();
        let lifted = Command::new("prlimit")
            .args(["--pid", &id, "--fsize=unlimited"])
            .status();
        assert!(lifted.unwrap().success());
    }

    /// Calls an operation of the API; returns status and answer.
    pub fn operation(&mut self, name: &str, body: &Value) -> (u16, Value) {
        operation(&mut self.stream, name, body)
    }

    pub fn ok(&mut self, name: &str, body: &Value) -> Value {
        let (status, answer) = self.operation(name, body);
        assert_eq!(status, 200, "{name} {body}: {answer}");
        answer
    }

    pub fn control(&mut self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let text = body.map(Value::to_string).unwrap_or_default();
        let request = format!(
            "{method} /_dynatwin/{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{text}",
            text.len()
        );
        let response = ask(&mut self.stream, request.as_bytes());
        let answer = serde_json::from_slice(&response.body).unwrap_or_default();
        assert_eq!(response.status(), 200, "{method} {path}: {answer}");
        answer
    }

    /// Sends bytes to a control, which must succeed.
    pub fn bytes(&mut self, method: &str, path: &str, body: &[u8]) -> Vec<u8> {
        let head = format!(
            "{method} /_dynatwin/{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/octet-stream\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let response = ask(&mut self.stream, &[head.as_bytes(), body].concat());
        assert_eq!(response.status(), 200, "{method} {path}");
        response.body
    }

    /// Returns all records of a table's stream, in the order of its shards.
    pub fn stream(&mut self, table: &str) -> Value {
        let arn = self.ok("DescribeTable", &json!({"TableName": table}))["Table"]["LatestStreamArn"].clone();
        let described = self.ok("DescribeStream", &json!({"StreamArn": arn}));
        let shards = described["StreamDescription"]["Shards"].as_array().unwrap().clone();
        let mut records = Vec::new();
        for shard in &shards {
            let from = json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
            let mut iterator = self.ok("GetShardIterator", &from)["ShardIterator"].clone();
            while iterator.is_string() {
                let page = self.ok("GetRecords", &json!({"ShardIterator": iterator}));
                let found = page["Records"].as_array().unwrap();
                if found.is_empty() {
                    break;
                }
                records.extend(found.iter().cloned());
                iterator = page["NextShardIterator"].clone();
            }
        }
        json!({"shards": shards, "records": records})
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Opens a connection with a timeout of a minute, so that no failure hangs.
pub fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// The bytes of an operation's request.
pub fn request(name: &str, body: &Value) -> Vec<u8> {
    let streams = ["DescribeStream", "GetShardIterator", "GetRecords"].contains(&name);
    let service = if streams { "DynamoDBStreams" } else { "DynamoDB" };
    let body = body.to_string();
    format!(
        "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-amz-json-1.0\r\nx-amz-date: 20260101T000000Z\r\n\
         x-amz-target: {service}_20120810.{name}\r\nauthorization: AWS4-HMAC-SHA256 \
         Credential=me/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

pub fn operation(stream: &mut TcpStream, name: &str, body: &Value) -> (u16, Value) {
    let response = ask(stream, &request(name, body));
    (response.status(), serde_json::from_slice(&response.body).unwrap())
}

/// A table with the key `id`.
pub fn table(name: &str) -> Value {
    json!({
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    })
}
