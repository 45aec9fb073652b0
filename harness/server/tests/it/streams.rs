//! Both services on one port: a table's writes are read from its stream.

use std::net::TcpStream;
use std::sync::Arc;

use crate::support::*;
use dynatwin_engine::Engine;
use dynatwin_server::{Log, Options, Server, serve};

fn twin() -> Server {
    let engine = Engine::new(settings(1, false));
    let mut options = Options::port(0);
    options.log = Log::Off;
    serve(Arc::new(engine), options).unwrap()
}

/// Returns a request as an SDK sends it; `signed` is the service's name in the credentials.
fn send(stream: &mut TcpStream, signed: &str, target: &str, body: &str) -> (u16, String) {
    let request = format!(
        "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-amz-json-1.0\r\nx-amz-date: 20260101T000000Z\r\n\
         authorization: AWS4-HMAC-SHA256 Credential=me/20260101/us-east-1/{signed}/aws4_request, SignedHeaders=host, Signature=0\r\n\
         x-amz-target: {target}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let response = ask(stream, request.as_bytes());
    (response.status(), String::from_utf8(response.body).unwrap())
}

/// Returns the first text with this name.
fn member(json: &str, name: &str) -> String {
    let rest = json.split(&format!("\"{name}\":\"")).nth(1);
    rest.and_then(|rest| rest.split('"').next())
        .unwrap_or_else(|| panic!("{name}: {json}"))
        .to_owned()
}

#[test]
fn a_write_is_read_from_the_stream() {
    let server = twin();
    let mut stream = connect(&server);
    let table = |operation: &str| format!("DynamoDB_20120810.{operation}");
    let create = r#"{"TableName":"tab","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}}"#;
    assert_eq!(send(&mut stream, "dynamodb", &table("CreateTable"), create).0, 200);
    let put = r#"{"TableName":"tab","Item":{"pk":{"S":"a"}}}"#;
    assert_eq!(send(&mut stream, "dynamodb", &table("PutItem"), put).0, 200);
    // The SDKs sign for `dynamodb` and use the host `streams.dynamodb`: the server checks neither.
    for signed in ["dynamodb", "streams.dynamodb"] {
        let mut ask = |operation: &str, body: &str| {
            let (status, answer) = send(
                &mut stream,
                signed,
                &format!("DynamoDBStreams_20120810.{operation}"),
                body,
            );
            assert_eq!(status, 200, "{operation}: {answer}");
            answer
        };
        let arn = member(&ask("ListStreams", r#"{"TableName":"tab"}"#), "StreamArn");
        let description = ask("DescribeStream", &format!(r#"{{"StreamArn":"{arn}"}}"#));
        let mut records = String::new();
        for shard in description.split("\"ShardId\":\"").skip(1) {
            let shard = shard.split('"').next().unwrap();
            let body = format!(r#"{{"StreamArn":"{arn}","ShardId":"{shard}","ShardIteratorType":"TRIM_HORIZON"}}"#);
            let iterator = member(&ask("GetShardIterator", &body), "ShardIterator");
            records += &ask("GetRecords", &format!(r#"{{"ShardIterator":"{iterator}"}}"#));
        }
        assert_eq!(records.matches("\"eventName\":\"INSERT\"").count(), 1);
        assert!(records.contains(r#""NewImage":{"pk":{"S":"a"}}"#), "{records}");
    }
}

#[test]
fn each_service_has_its_own_operations() {
    let server = twin();
    let mut stream = connect(&server);
    for (target, status) in [
        ("DynamoDB_20120810.ListTables", 200),
        ("DynamoDBStreams_20120810.ListStreams", 200),
        ("DynamoDB_20120810.ListStreams", 400),
        ("DynamoDBStreams_20120810.ListTables", 400),
        ("dynamodbstreams_20120810.ListStreams", 400),
    ] {
        let (found, body) = send(&mut stream, "dynamodb", target, "{}");
        assert_eq!(found, status, "{target}");
        assert_eq!(
            body.contains("UnknownOperationException"),
            status == 400,
            "{target}: {body}"
        );
    }
}
