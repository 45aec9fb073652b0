//! All transports return equal answers: requests of every operation get equal status, headers and body from an engine
//! in this process, over HTTP, from the wasm build, and from the Python package.
//!
//! All transports have the same seed and a clock that stands still. Each case has its own account. A failure names the
//! first different answer.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use dynatwin_case::{Case, Error, Expect, File, Service};
use dynatwin_conformance::http::PlainHttp;
use dynatwin_engine::api::{OPERATIONS, Service as ServiceName, service_of};
use dynatwin_engine::http::HttpRequest;
use dynatwin_engine::{Clock, Conditions, Engine, Moment, Settings, StateSnapshot};

const SEED: u64 = 7;

const CALLER: &str = "test";

/// The number of cases of a file whose answers are compared for each operation, and for its errors: the transports treat
/// all answers of an operation alike.
const OF_A_KIND: u32 = 5;

/// Headers of the connection, which are not part of the answer.
const OF_THE_CONNECTION: [&str; 5] = [
    "connection",
    "content-length",
    "date",
    "keep-alive",
    "transfer-encoding",
];

/// Operations that are always refused here: the service no longer creates global tables of version 2017.11.29, and no case has
/// replicas.
const ALWAYS_REFUSED: [&str; 5] = [
    "CreateGlobalTable",
    "DescribeGlobalTable",
    "DescribeGlobalTableSettings",
    "UpdateGlobalTable",
    "UpdateGlobalTableSettings",
];

/// A request, all but its length and host.
struct Request {
    operation: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// Status, headers by name, body.
#[derive(Debug, PartialEq)]
struct Reply(u16, BTreeMap<String, String>, Vec<u8>);

fn engine() -> Engine {
    Engine::new(Settings {
        clock: Clock::settable(Moment::START),
        seed: SEED,
        conditions: Conditions::CALM,
        shared_db: false,
    })
}

fn request(operation: &str, caller: &str, region: &str, body: Vec<u8>) -> Request {
    let service = match service_of(operation) {
        ServiceName::DynamoDb => "DynamoDB_20120810",
        ServiceName::Streams => "DynamoDBStreams_20120810",
    };
    let credential = format!("Credential={caller}/20260101/{region}/dynamodb/aws4_request");
    let headers = [
        ("content-type", "application/x-amz-json-1.0".to_owned()),
        ("x-amz-target", format!("{service}.{operation}")),
        ("x-amz-date", "20260101T000000Z".to_owned()),
        (
            "authorization",
            format!("AWS4-HMAC-SHA256 {credential}, SignedHeaders=host;x-amz-date, Signature=00"),
        ),
    ];
    Request {
        operation: operation.to_owned(),
        headers: headers.map(|(name, value)| (name.to_owned(), value)).into(),
        body,
    }
}

/// Returns invalid requests that apply to every operation.
fn refused_by_any() -> Vec<Request> {
    let mut all = Vec::new();
    for operation in OPERATIONS {
        for body in [
            "",
            "{",
            "null",
            "[]",
            "{}",
            r#"{"TableName":7}"#,
            r#"{"TableName":"no such table"}"#,
        ] {
            all.push(request(operation.name, CALLER, "us-east-1", body.into()));
        }
        let mut zipped = request(operation.name, CALLER, "us-east-1", b"{}".to_vec());
        zipped.headers.push(("accept-encoding".into(), "gzip".into()));
        all.push(zipped);
        let mut other = request(operation.name, CALLER, "us-east-1", b"{}".to_vec());
        other.headers[0].1 = "application/x-amz-json-1.1".into();
        all.push(other);
        let mut stranger = request(operation.name, CALLER, "us-east-1", b"{}".to_vec());
        stranger.headers.truncate(2);
        all.push(stranger);
    }
    all
}

fn in_process(engine: &Engine, request: &Request) -> Reply {
    let answer = engine.handle(&HttpRequest {
        method: "POST",
        target: "/",
        headers: &request.headers,
        body: &request.body,
    });
    let headers = answer
        .headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.to_string()));
    Reply(answer.status, of_the_answer(headers), answer.body)
}

async fn over_http(http: &PlainHttp, url: &str, request: &Request) -> Reply {
    let mut sent = http::Request::post(url);
    for (name, value) in &request.headers {
        sent = sent.header(name, value);
    }
    let answer = http.whole(sent.body(request.body.clone()).unwrap()).await.unwrap();
    let headers = answer.headers().iter();
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    Reply(answer.status().as_u16(), of_the_answer(headers), answer.body().to_vec())
}

fn of_the_answer(headers: impl Iterator<Item = (String, String)>) -> BTreeMap<String, String> {
    headers
        .filter(|(name, _)| !OF_THE_CONNECTION.contains(&name.as_str()))
        .collect()
}

/// An engine in this process and another at `url`, which get identical requests.
struct Pair {
    engine: Engine,
    http: PlainHttp,
    url: String,
    carried_out: BTreeSet<String>,
    refused: BTreeSet<String>,
}

impl Pair {
    async fn ask(&mut self, request: Request) -> dynatwin_case::Reply {
        let here = in_process(&self.engine, &request);
        let there = over_http(&self.http, &self.url, &request).await;
        let text = |reply: &Reply| format!("{} {:?} {}", reply.0, reply.1, String::from_utf8_lossy(&reply.2));
        assert!(
            here == there,
            "{} {:.2000}\n in process: {:.2000}\n over {}: {:.2000}",
            request.operation,
            String::from_utf8_lossy(&request.body),
            text(&here),
            self.url,
            text(&there)
        );
        let seen = if here.0 == 200 {
            &mut self.carried_out
        } else {
            &mut self.refused
        };
        seen.insert(request.operation);
        dynatwin_case::Reply::new(here.0, &here.2)
    }

    /// Checks that the snapshots of both engines have equal bytes, and that each restores the other's.
    async fn exchange_snapshots(&mut self) {
        let here = self.engine.snapshot().to_bytes();
        let there = self.over_snapshot("GET", Vec::new()).await;
        assert!(
            here == there,
            "the snapshots of this process and of {} differ",
            self.url
        );
        assert!(here.len() > 100_000, "the cases have left hardly anything");
        self.engine
            .restore(&StateSnapshot::from_bytes(&there).unwrap())
            .unwrap();
        self.over_snapshot("PUT", here).await;
        assert!(self.engine.snapshot().to_bytes() == there);
        assert!(self.over_snapshot("GET", Vec::new()).await == there);
    }

    async fn over_snapshot(&self, method: &str, body: Vec<u8>) -> Vec<u8> {
        let url = format!("{}_dynatwin/snapshot", self.url);
        let sent = http::Request::builder().method(method).uri(url);
        let sent = sent
            .header("content-type", "application/octet-stream")
            .body(body)
            .unwrap();
        let answer = self.http.whole(sent).await.unwrap();
        assert_eq!(
            answer.status(),
            200,
            "{method} {}",
            String::from_utf8_lossy(answer.body())
        );
        answer.body().to_vec()
    }

    /// Runs a case on the tables and items of its file, in its own account.
    async fn case(&mut self, caller: String, file: &File, case: &Case) {
        let mut account = Account { pair: self, caller };
        for (_, request) in file.set_up() {
            account.ask(request).await;
        }
        // A case that uses a part of an answer ends early if that answer depends on a step that does nothing here.
        let _ = dynatwin_case::run(&mut account, case).await;
    }
}

/// Both engines, with one caller's tables.
struct Account<'a> {
    pair: &'a mut Pair,
    caller: String,
}

impl Account<'_> {
    async fn ask(&mut self, requested: dynatwin_case::Request<'_>) -> dynatwin_case::Reply {
        let region = requested.region.unwrap_or("us-east-1");
        let body = requested.body.to_string().into_bytes();
        self.pair
            .ask(request(requested.operation, &self.caller, region, body))
            .await
    }
}

/// The clocks stand still and the conditions are calm, so these steps do nothing.
impl Service for Account<'_> {
    type Error = Error;

    async fn send(&mut self, request: dynatwin_case::Request<'_>) -> Result<dynatwin_case::Reply, Error> {
        Ok(self.ask(request).await)
    }

    fn advance(&mut self, _: Duration) -> Result<(), Error> {
        Ok(())
    }

    fn set_conditions(&mut self, _: &dynatwin_case::Conditions) -> Result<(), Error> {
        Ok(())
    }
}

/// Sends all requests to an engine in this process and to `url`, one after the other, and compares the answers.
async fn answers_alike(url: String) {
    let mut pair = Pair {
        engine: engine(),
        http: PlainHttp::new(),
        url,
        carried_out: BTreeSet::new(),
        refused: BTreeSet::new(),
    };
    let mut caller = 0;
    for file in dynatwin_case::files(&dynatwin_case::folder()).unwrap() {
        let mut alike: BTreeMap<(&str, bool), u32> = BTreeMap::new();
        for case in &file.cases {
            let refused = matches!(case.expect, Expect::Error(_) | Expect::Body(_));
            let before = alike.entry((&case.operation, refused)).or_default();
            if *before == OF_A_KIND {
                continue;
            }
            *before += 1;
            caller += 1;
            pair.case(format!("CASE{caller}"), &file, case).await;
        }
    }
    for request in refused_by_any() {
        pair.ask(request).await;
    }
    // Last: only one of the engines numbers these requests.
    pair.exchange_snapshots().await;
    for operation in OPERATIONS {
        let name = operation.name;
        assert!(pair.refused.contains(name), "{name} was never refused");
        assert_eq!(
            pair.carried_out.contains(name),
            !ALWAYS_REFUSED.contains(&name),
            "whether {name} was ever carried out"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_answers_as_the_engine() {
    let server = dynatwin_server::serve(Arc::new(engine()), dynatwin_server::Options::port(0)).unwrap();
    answers_alike(format!("{}/", server.endpoint())).await;
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wasm_build_answers_as_the_engine() {
    relayed("node".into(), "node.js", &["settable"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_package_answers_as_the_engine() {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../harness/python/.venv/bin/python");
    relayed(python, "python.py", &[]).await;
}

/// Compares a package of another language, behind a relay that `program` runs.
async fn relayed(program: PathBuf, relay: &str, arguments: &[&str]) {
    let relay = Path::new(env!("CARGO_MANIFEST_DIR")).join("relay").join(relay);
    let mut process = Command::new(program)
        .arg(relay)
        .arg(SEED.to_string())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
    answers_alike(format!("{url}/")).await;
    // The relay ends with its input.
    drop(process.stdin.take());
    process.wait().unwrap();
}
