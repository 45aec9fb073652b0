//! One request of the API over a connection of its own: for filling and checking, not for measuring.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::shell::Outcome;

/// Credentials in the shape that servers insist on; nobody checks the signature.
pub const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/dynamodb/aws4_request, \
     SignedHeaders=host;x-amz-date;x-amz-target, \
     Signature=0000000000000000000000000000000000000000000000000000000000000000";

/// Asks, and returns the body of an answer that is 200.
pub fn call(port: u16, operation: &str, body: &Value) -> Outcome<Value> {
    let answer = exchange(port, operation, &body.to_string()).map_err(|error| format!("{operation}: {error}"))?;
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .ok_or("an answer without an end of its headers")?;
    match head.split(' ').nth(1) {
        Some("200") => serde_json::from_str(body).map_err(|error| format!("{operation}: {error} in {body}")),
        _ => Err(format!(
            "{operation}: {} {body}",
            head.lines().next().unwrap_or_default()
        )),
    }
}

/// A connection that is kept, for measuring what single requests wait and cost.
pub struct Connection {
    stream: BufReader<TcpStream>,
    port: u16,
}

impl Connection {
    /// Connects to a port of this machine.
    pub fn open(port: u16) -> Outcome<Connection> {
        let connect = || {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(Duration::from_mins(10)))?;
            Ok::<_, std::io::Error>(stream)
        };
        let stream = connect().map_err(|error| error.to_string())?;
        Ok(Connection {
            stream: BufReader::new(stream),
            port,
        })
    }

    /// Asks the API; returns the status and the body.
    pub fn ask(&mut self, operation: &str, body: &Value) -> Outcome<(u16, Value)> {
        let head = format!(
            "POST / HTTP/1.1\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Date: 20260101T000000Z\r\n\
             X-Amz-Target: DynamoDB_20120810.{operation}\r\nAuthorization: {AUTHORIZATION}\r\n"
        );
        self.exchange(&head, &body.to_string())
            .map_err(|error| format!("{operation}: {error}"))
    }

    /// Asks the API; returns the body of an answer that is 200.
    pub fn must(&mut self, operation: &str, body: &Value) -> Outcome<Value> {
        match self.ask(operation, body)? {
            (200, answer) => Ok(answer),
            (status, answer) => Err(format!("{operation}: {status} {answer}")),
        }
    }

    /// Asks a control of the server.
    pub fn control(&mut self, method: &str, path: &str, body: &Value) -> Outcome<()> {
        let head = format!("{method} /_dynatwin/{path} HTTP/1.1\r\nContent-Type: application/json\r\n");
        let answer = self.exchange(&head, &body.to_string());
        match answer.map_err(|error| format!("{path}: {error}"))? {
            (200, _) => Ok(()),
            (status, answer) => Err(format!("{path}: {status} {answer}")),
        }
    }

    fn exchange(&mut self, head: &str, body: &str) -> std::io::Result<(u16, Value)> {
        let (port, length) = (self.port, body.len());
        let request = format!("{head}Host: 127.0.0.1:{port}\r\nContent-Length: {length}\r\n\r\n{body}");
        self.stream.get_mut().write_all(request.as_bytes())?;
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(rest) = line.strip_prefix("http/1.1 ") {
                status = rest.get(..3).and_then(|status| status.parse().ok()).unwrap_or(0);
            } else if let Some(rest) = line.strip_prefix("content-length: ") {
                length = rest.parse().map_err(std::io::Error::other)?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
    }
}

fn exchange(port: u16, operation: &str, body: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    // HTTP/1.0, so that the answer is not chunked and ends with the connection.
    let request = format!(
        "POST / HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/x-amz-json-1.0\r\n\
         X-Amz-Date: 20260101T000000Z\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n\
         Authorization: {AUTHORIZATION}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    String::from_utf8(answer).map_err(std::io::Error::other)
}
