//! One request of the API over a connection of its own: for filling and checking, not for measuring.

use std::io::{Read, Write};
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
