//! Events as a stream over a socket: their content, resumption, refusals, and the end of the stream.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::connect;
use crate::support::twin::{ME, Twin};
use dynatwin_engine::Allowed;
use serde_json::{Value, json};

/// A client of the stream.
struct Listener {
    reader: BufReader<TcpStream>,
}

impl Listener {
    fn new(twin: &Twin, headers: &[(&str, &str)]) -> Listener {
        let mut stream = connect(twin.server());
        let mut request =
            "GET /_dynatwin/events HTTP/1.1\r\nhost: localhost:8000\r\naccept: text/event-stream\r\n".to_owned();
        for (name, value) in headers {
            request.extend([name, ": ", value, "\r\n"]);
        }
        request.push_str("\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        Listener {
            reader: BufReader::new(stream),
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Returns the status line and the headers, in lower case.
    fn head(&mut self) -> Vec<String> {
        let mut head = Vec::new();
        loop {
            match self.line() {
                line if line.is_empty() => return head,
                line => head.push(line.to_ascii_lowercase()),
            }
        }
    }

    /// Returns a chunk of the body as it was sent; empty at its end.
    fn chunk(&mut self) -> String {
        let size = usize::from_str_radix(&self.line(), 16).unwrap_or(0);
        let mut bytes = vec![0; size];
        self.reader.read_exact(&mut bytes).unwrap();
        self.line();
        String::from_utf8(bytes).unwrap()
    }

    /// Returns the lines of the body until one starts with `begin`.
    fn until(&mut self, begin: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let chunk = self.chunk();
            assert!(!chunk.is_empty(), "it ended after {lines:?}");
            lines.extend(chunk.lines().map(str::to_owned));
            if lines.iter().any(|line| line.starts_with(begin)) {
                return lines;
            }
        }
    }
}

fn put(twin: &mut Twin, access_key: &str, id: &str) {
    let item = json!({"id": {"S": id}, "date": {"S": "d"}});
    assert_eq!(
        twin.operation(access_key, "PutItem", &json!({"TableName": "Orders", "Item": item}))
            .0,
        200
    );
}

fn events_in(lines: &[String]) -> Vec<Value> {
    let data = lines.iter().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

#[test]
fn a_client_receives_events_as_they_are_logged() {
    let mut twin = Twin::new(Allowed::ReadOnly, false);
    twin.create("me", "Orders");
    let mut listener = Listener::new(&twin, &[]);
    let head = listener.head();
    assert!(head[0].ends_with("200 ok"), "{head:?}");
    for header in [
        "content-type: text/event-stream",
        "cache-control: no-cache",
        "transfer-encoding: chunked",
    ] {
        assert!(head.contains(&header.to_owned()), "{head:?}");
    }
    // The checksum of a body whose end is not known.
    assert!(head.iter().all(|line| !line.starts_with("x-amz-crc32")), "{head:?}");
    assert_eq!(listener.chunk(), "id: 0\n\n");
    put(&mut twin, "me", "a");
    let lines = listener.until("id: 4");
    let events = events_in(&lines);
    let kinds: Vec<&str> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["request", "entry", "indexChange", "streamRecord"]);
    assert_eq!(events[0]["operation"], "PutItem");
    put(&mut twin, "me", "b");
    assert_eq!(events_in(&listener.until("id: 8")).len(), 4);
    // A client that lost its connection continues where it was.
    let mut resumed = Listener::new(&twin, &[("last-event-id", "7")]);
    resumed.head();
    assert_eq!(events_in(&resumed.until("id: 8"))[0]["id"], 8);
}

#[test]
fn each_account_receives_its_own_events() {
    let mut twin = Twin::new(Allowed::All, false);
    twin.create("me", "Orders");
    twin.create("you", "Orders");
    let mut listener = Listener::new(&twin, &[("authorization", ME)]);
    listener.head();
    assert_eq!(listener.chunk(), "id: 0\n\n");
    put(&mut twin, "you", "a");
    put(&mut twin, "me", "b");
    let events = events_in(&listener.until("id: 8"));
    assert!(
        events.iter().all(|event| event["accessKey"] == "me") && events.len() == 4,
        "{events:?}"
    );
}

#[test]
fn heartbeats_detect_clients_that_are_gone() {
    let mut twin = Twin::with(Allowed::All, |limits| limits.heartbeat = Duration::from_millis(5));
    let listening = |twin: &mut Twin| twin.control("GET", "events", None).1["listening"] == true;
    assert!(!listening(&mut twin));
    let mut listener = Listener::new(&twin, &[]);
    listener.head();
    assert_eq!([listener.chunk(), listener.chunk()], ["id: 0\n\n", ": \n\n"]);
    assert!(listening(&mut twin));
    assert_eq!(listener.chunk(), ": \n\n");
    drop(listener);
    // A heartbeat finds out.
    let gone = (0..100_000).any(|_| !listening(&mut twin));
    assert!(gone);
}

/// Each heartbeat is followed by the whole interval.
#[test]
fn heartbeats_keep_their_interval() {
    const EVERY: Duration = Duration::from_millis(40);
    let mut twin = Twin::with(Allowed::All, |limits| limits.heartbeat = EVERY);
    let started = std::time::Instant::now();
    let mut listener = Listener::new(&twin, &[]);
    listener.head();
    assert_eq!(listener.chunk(), "id: 0\n\n");
    for _ in 0..10 {
        assert_eq!(listener.chunk(), ": \n\n");
    }
    assert!(started.elapsed() >= 10 * EVERY, "{:?}", started.elapsed());
    assert_eq!(twin.control("GET", "events", None).1["listening"], true);
}

/// At the maximum number of streams a further client gets one page. A stream that ends makes room for another.
#[test]
fn the_number_of_streams_is_limited() {
    const MOST: usize = 256;
    let twin = Twin::with(Allowed::All, |limits| limits.heartbeat = Duration::from_millis(5));
    let open = || {
        let mut listener = Listener::new(&twin, &[]);
        let head = listener.head();
        let streams = head.iter().any(|line| line == "transfer-encoding: chunked");
        (listener, streams)
    };
    let mut streams: Vec<Listener> = (0..MOST)
        .map(|number| {
            let (listener, streams) = open();
            assert!(streams, "stream {number}");
            listener
        })
        .collect();
    let is_full = || (0..3).all(|_| !open().1);
    assert!(is_full(), "more");
    for _ in 0..2 {
        drop(streams.pop());
        // A heartbeat finds out.
        let next = (0..10_000).map(|_| open()).find(|(_, streams)| *streams);
        streams.push(next.expect("there is room").0);
        assert!(is_full(), "more after one has ended");
    }
}

#[test]
fn refused_clients_receive_no_events() {
    let twin = Twin::new(Allowed::All, false);
    for headers in [
        &[("origin", "http://evil.example")][..],
        &[("origin", "http://localhost:3000")],
        &[
            ("sec-fetch-mode", "cors"),
            ("x-forwarded-host", "a"),
            ("origin", "null"),
        ],
    ] {
        let head = Listener::new(&twin, headers).head();
        assert!(head[0].contains("403"), "{head:?}");
        assert!(head.iter().any(|line| line.starts_with("content-length:")), "{head:?}");
    }
    // A page whose host name resolves to this machine.
    let mut stream = connect(twin.server());
    let request = "GET /_dynatwin/events HTTP/1.1\r\nhost: evil.example:8000\r\naccept: text/event-stream\r\nsec-fetch-site: same-origin\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let head = Listener {
        reader: BufReader::new(stream),
    }
    .head();
    assert!(head[0].contains("403"), "{head:?}");
}

#[test]
fn a_stream_ends_with_its_server() {
    // The stop does not wait for it.
    let twin = Twin::with(Allowed::All, |limits| limits.stop_time = Duration::from_hours(1));
    let mut listener = Listener::new(&twin, &[]);
    listener.head();
    assert_eq!(listener.chunk(), "id: 0\n\n");
    drop(twin);
    let mut rest = Vec::new();
    // Closed or reset.
    let _ = listener.reader.read_to_end(&mut rest);
    assert!(rest.is_empty() || rest == b"0\r\n\r\n", "{rest:?}");
}

/// A stream between two heartbeats is not an idle connection: neither a new connection nor the idle time ends it.
#[test]
fn a_stream_is_not_idle() {
    let mut twin = Twin::with(Allowed::All, |limits| {
        limits.heartbeat = Duration::from_hours(1);
        limits.connections = 2;
        limits.eviction_time = Duration::ZERO;
        limits.idle_time = Duration::ZERO;
    });
    twin.create("me", "Orders");
    let mut listener = Listener::new(&twin, &[]);
    listener.head();
    assert_eq!(listener.chunk(), "id: 0\n\n");
    // Each replaces the one before, unless that is still being answered.
    for number in 0..10 {
        let item = json!({"id": {"S": number.to_string()}, "date": {"S": "d"}});
        let put = json!({"TableName": "Orders", "Item": item});
        while twin.another().operation("me", "PutItem", &put).0 == 503 {}
        let events = events_in(&listener.until(&format!("id: {}", 4 * (number + 1))));
        assert_eq!(events.len(), 4, "{events:?}");
    }
}

/// A reset removes the log; a client is notified and receives later events.
#[test]
fn clients_are_notified_of_a_reset() {
    let mut twin = Twin::new(Allowed::All, false);
    twin.create("me", "Orders");
    let mut listener = Listener::new(&twin, &[]);
    listener.head();
    assert_eq!(listener.chunk(), "id: 0\n\n");
    put(&mut twin, "me", "a");
    listener.until("id: 4");
    assert_eq!(twin.control("POST", "reset", None).0, 200);
    listener.until("event: cleared");
    twin.create("me", "Orders");
    let lines = listener.until("id: 1");
    assert_eq!(events_in(&lines)[0]["operation"], "CreateTable");
}
