//! A replacement for the engine, and a client on a plain socket.

#[cfg(unix)]
pub mod folder;
pub mod process;
pub mod twin;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dynatwin_engine::http::{Answer, AnswerHeaders, Delivery, HttpRequest, StillDelay};
use dynatwin_engine::{Clock, Conditions, Moment, Settings};
use dynatwin_server::{Backend, Log, Options, Server, serve};

/// Answers with the request's body, delivered as the target's path defines.
pub struct Echo {
    pub clock: Clock,
    pub handled: AtomicUsize,
}

impl Backend for Echo {
    fn handle(&self, request: &HttpRequest<'_>) -> Answer {
        let mut headers = AnswerHeaders::new();
        headers.push("content-type", "application/x-amz-json-1.0");
        let mut answer = Answer {
            status: 200,
            headers,
            body: request.body.to_vec(),
            at: self.clock.now(),
            still: StillDelay::default(),
            delivery: Delivery::Whole,
            note: None,
        };
        let mut path = request.target.trim_start_matches('/').split('/');
        let number = |word: Option<&str>| word.unwrap_or_default().parse::<u64>().expect("a number");
        match path.next().unwrap_or_default() {
            "" => {}
            "header" => {
                answer.body = request
                    .headers
                    .get(path.next().unwrap_or_default())
                    .unwrap_or_default()
                    .to_vec();
            }
            "bytes" => {
                answer.body = vec![b'x'; number(path.next()) as usize];
                if let Some(kept) = path.next() {
                    answer.delivery = Delivery::Truncated(number(Some(kept)) as usize);
                }
            }
            "wait" => answer.at = self.clock.now().plus(Duration::from_millis(number(path.next()))),
            "hold" => {
                answer.still.held = Duration::from_millis(number(path.next()));
                answer.at = self.clock.now().plus(answer.still.held);
            }
            "latency" => {
                answer.still.latency = Duration::from_millis(number(path.next()));
                answer.at = self.clock.now().plus(answer.still.latency);
            }
            "truncated" => answer.delivery = Delivery::Truncated(number(path.next()) as usize),
            "reset" => answer.delivery = Delivery::Reset,
            "lost" => answer.delivery = Delivery::Lost,
            "panic" => panic!("requested by the path"),
            other => panic!("no such path: {other}"),
        }
        // Last, so that the moment is set once a test sees the count.
        self.handled.fetch_add(1, Ordering::SeqCst);
        answer
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// Starts a server over [`Echo`] on a free port, with changed options.
pub fn echo(clock: Clock, change: impl FnOnce(&mut Options)) -> (Server, Arc<Echo>) {
    let mut options = Options::port(0);
    options.log = Log::Off;
    change(&mut options);
    let backend = Arc::new(Echo {
        clock,
        handled: AtomicUsize::new(0),
    });
    (serve(Arc::clone(&backend), options).expect("a server"), backend)
}

/// Starts a server with default options on a clock that stands still.
pub fn still() -> (Server, Arc<Echo>) {
    echo(Clock::settable(Moment::START), |_| ())
}

/// Returns the settings of an engine on a clock that stands still.
pub fn settings(seed: u64, shared_db: bool) -> Settings {
    Settings {
        clock: Clock::settable(Moment::START),
        seed,
        conditions: Conditions::CALM,
        shared_db,
    }
}

/// Opens a connection with a timeout of ten seconds, so that no failure hangs.
pub fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.local_addr()).expect("a connection");
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .expect("a timeout");
    stream.set_nodelay(true).expect("an option");
    stream
}

/// Returns a POST request to `path` with this body.
pub fn post(path: &str, body: &[u8]) -> Vec<u8> {
    let mut request = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    request.extend_from_slice(body);
    request
}

/// Returns the request of [`post`] in the form that SDKs send, and in one that the server leaves to hyper.
pub fn forms(path: &str, body: &[u8]) -> [Vec<u8>; 2] {
    let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
    let mut chunked = head.into_bytes();
    if !body.is_empty() {
        chunked.extend_from_slice(format!("{:x}\r\n", body.len()).as_bytes());
        chunked.extend_from_slice(&[body, b"\r\n"].concat());
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    [post(path, body), chunked]
}

/// A response: its head in lower case, and its body.
#[derive(Debug)]
pub struct Response {
    pub head: String,
    pub body: Vec<u8>,
}

impl Response {
    pub fn status(&self) -> u16 {
        self.head
            .split(' ')
            .nth(1)
            .and_then(|word| word.parse().ok())
            .expect("a status")
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub fn is_last(&self) -> bool {
        self.header("connection") == Some("close")
    }
}

/// Reads one response; returns `Err` with the bytes received if the connection ends before.
pub fn read(stream: &mut TcpStream) -> Result<Response, Vec<u8>> {
    let mut seen = Vec::new();
    let mut byte = [0];
    while !seen.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => seen.push(byte[0]),
            _ => return Err(seen),
        }
    }
    let mut response = Response {
        head: String::from_utf8(seen).expect("text").to_ascii_lowercase(),
        body: Vec::new(),
    };
    let length = response
        .header("content-length")
        .expect("a length")
        .parse()
        .expect("a number");
    while response.body.len() < length {
        let mut part = vec![0; length - response.body.len()];
        match stream.read(&mut part) {
            Ok(count) if count > 0 => response.body.extend_from_slice(&part[..count]),
            _ => return Err(response.body),
        }
    }
    Ok(response)
}

/// Sends a request and reads its response.
pub fn ask(stream: &mut TcpStream, request: &[u8]) -> Response {
    stream.write_all(request).expect("sent");
    read(stream).expect("a response")
}

/// How a connection ends, without any further bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    Closed,
    Reset,
}

pub fn end(stream: &mut TcpStream) -> End {
    let mut byte = [0];
    match stream.read(&mut byte) {
        Ok(0) => End::Closed,
        Ok(_) => panic!("more bytes"),
        Err(error) if error.kind() == ErrorKind::ConnectionReset => End::Reset,
        Err(error) => panic!("still open: {error}"),
    }
}
