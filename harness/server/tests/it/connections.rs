//! Connections: kept, shared, limited, and ended when they stall.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::support::*;
use dynatwin_engine::{Clock, Moment};
use dynatwin_server::{Limits, Server, system_time};

const LIMIT: usize = 16 * 1024 * 1024;

#[test]
fn a_connection_is_kept() {
    let (server, backend) = still();
    let mut stream = connect(&server);
    for number in 0..100 {
        let body = vec![b'a'; number * 7];
        let response = ask(&mut stream, &post("/", &body));
        assert_eq!((response.status(), response.body), (200, body));
        assert!(response.head.contains("\r\ndate: "));
        assert!(
            response
                .head
                .contains("\r\ncontent-type: application/x-amz-json-1.0\r\n")
        );
    }
    assert_eq!(backend.handled.load(Ordering::SeqCst), 100);
}

#[test]
fn a_connection_is_closed_when_the_client_asks() {
    let (server, _) = still();
    let mut stream = connect(&server);
    let response = ask(
        &mut stream,
        b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}",
    );
    assert_eq!(response.body, b"{}");
    assert_eq!(end(&mut stream), End::Closed);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let (server, _) = still();
    let mut stream = connect(&server);
    let all: Vec<u8> = (0..50)
        .flat_map(|number| post("/", format!("body {number}").as_bytes()))
        .collect();
    stream.write_all(&all).unwrap();
    for number in 0..50 {
        assert_eq!(read(&mut stream).unwrap().body, format!("body {number}").as_bytes());
    }
}

#[test]
fn headers_reach_the_backend_whatever_their_case() {
    let (server, _) = still();
    for (name, value) in [
        ("X-AMZ-Target", "DynamoDB_20120810.ListTables"),
        ("x-aMz-seCurity-tOken", "t"),
    ] {
        let path = format!("/header/{}", name.to_ascii_lowercase());
        for (method, length) in [("GET", ""), ("POST", "Content-Length: 0\r\n")] {
            let request =
                format!("{method} {path} HTTP/1.1\r\nHost: x\r\n{length}{name}:  {value} \r\n{name}: 2\r\n\r\n");
            let response = ask(&mut connect(&server), request.as_bytes());
            assert_eq!(response.body, value.as_bytes(), "{method}");
        }
    }
}

/// Each header has its own value, whatever the others are.
#[test]
fn every_header_reaches_the_backend() {
    let (server, _) = still();
    let names = [
        "x-amz-target",
        "authorization",
        "x-amz-date",
        "content-type",
        "accept-encoding",
        "content-encoding",
        "origin",
        "user-agent",
        "host",
        "x-other",
    ];
    let headers = |without: &str| {
        let others = names.iter().filter(|name| **name != without);
        let lines = others.map(|name| match *name {
            "host" => "host: localhost\r\n".to_owned(),
            name => format!("{name}: value of {name}\r\n"),
        });
        lines.collect::<String>()
    };
    for name in names {
        let value = if name == "host" {
            "localhost".into()
        } else {
            format!("value of {name}")
        };
        for length in [
            "content-length: 0\r\n\r\n",
            "transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        ] {
            for (without, expect) in [("", value.as_str()), (name, "")] {
                let head = format!("POST /header/{name} HTTP/1.1\r\n{}{length}", headers(without));
                // A page's request needs a host.
                if without == "host" {
                    continue;
                }
                let response = ask(&mut connect(&server), head.as_bytes());
                assert_eq!(response.status(), 200, "{head}");
                assert_eq!(String::from_utf8(response.body).unwrap(), expect, "{head}");
            }
        }
    }
}

/// hyper serves one of the forms, and the server itself the other.
#[test]
fn both_forms_of_a_request_have_the_same_response() {
    let (server, _) = still();
    let response = |request: &[u8]| {
        let mut response = ask(&mut connect(&server), request);
        let date = response.header("date").expect("a date").to_owned();
        assert_eq!(date.len(), 29, "{date}");
        response.head = response.head.replace(&date, "");
        (response.head, response.body)
    };
    for (path, body) in [
        ("/", &b""[..]),
        ("/", b"{}"),
        ("/", &[b'b'; 10_000]),
        ("/", &vec![b'b'; 40_000]),
        ("/bytes/0", b""),
        ("/bytes/1", b"{}"),
        ("/bytes/15999", b"{}"),
        ("/bytes/1000000", b"{}"),
        ("/panic", b"{}"),
        ("/truncated/9", b"{}"),
        ("/latency/1", b"{}"),
    ] {
        let [direct, hyper] = forms(path, body);
        assert_eq!(response(&direct), response(&hyper), "{path}");
    }
}

#[test]
fn forms_alternate_on_a_connection() {
    let (server, _) = still();
    let mut stream = connect(&server);
    for body in [b"1", b"2", b"3"] {
        for request in forms("/", body) {
            assert_eq!(ask(&mut stream, &request).body, body);
        }
    }
}

#[test]
fn a_request_may_arrive_in_pieces() {
    let (server, _) = echo(Clock::settable(Moment::START), |options| options.workers = 1);
    let mut other = connect(&server);
    let request = post("/", &[b'p'; 1000]);
    let head = request.len() - 1000;
    for cuts in [
        &[1][..],
        &[head - 2],
        &[head - 1],
        &[head],
        &[head + 1, head + 500],
        &[head, head + 999],
    ] {
        let mut stream = connect(&server);
        for number in 0..3 {
            let mut start = 0;
            for cut in cuts.iter().copied().chain([request.len()]) {
                stream.write_all(&request[start..cut]).unwrap();
                start = cut;
                // The only worker reads the piece before it answers this.
                assert_eq!(ask(&mut other, &post("/", b"")).status(), 200);
            }
            assert_eq!(read(&mut stream).unwrap().body, [b'p'; 1000], "{cuts:?} {number}");
        }
    }
}

/// Without a worker no connection would be served.
#[test]
fn a_server_has_at_least_one_worker() {
    let (server, _) = echo(Clock::settable(Moment::START), |options| options.workers = 0);
    assert_eq!(ask(&mut connect(&server), &post("/", b"in")).body, b"in");
}

#[test]
fn many_connections_at_once() {
    let (server, backend) = still();
    std::thread::scope(|scope| {
        for thread in 0..64 {
            let server = &server;
            scope.spawn(move || {
                let mut stream = connect(server);
                for number in 0..20 {
                    let body = format!("{thread}/{number}");
                    assert_eq!(ask(&mut stream, &post("/", body.as_bytes())).body, body.as_bytes());
                }
            });
        }
    });
    assert_eq!(backend.handled.load(Ordering::SeqCst), 64 * 20);
}

/// Starts a server with this many workers and connections, of which none or any idle one can be evicted.
fn crowded(workers: usize, connections: usize, evicts: bool) -> (Server, Arc<Echo>) {
    echo(Clock::settable(Moment::START), |options| {
        options.workers = workers;
        options.limits.connections = connections;
        options.limits.eviction_time = if evicts {
            Duration::ZERO
        } else {
            Duration::from_hours(1)
        };
    })
}

/// A connection whose request was carried out and is never answered.
fn busy(server: &Server, backend: &Echo) -> TcpStream {
    let before = backend.handled.load(Ordering::SeqCst);
    let mut stream = connect(server);
    stream.write_all(&post("/lost", b"")).unwrap();
    while backend.handled.load(Ordering::SeqCst) == before {
        std::thread::yield_now();
    }
    stream
}

#[test]
fn connections_beyond_the_bound_are_refused() {
    let (server, _) = crowded(2, 3, false);
    let mut open: Vec<_> = (0..3).map(|_| connect(&server)).collect();
    for stream in &mut open {
        assert_eq!(ask(stream, &post("/", b"in")).body, b"in");
    }
    // More than are refused with an answer at a time.
    for _ in 0..300 {
        let mut refused = connect(&server);
        let response = ask(&mut refused, &post("/", &[b'x'; 10_000]));
        assert_eq!(response.status(), 503);
        assert!(response.is_last());
        let body = String::from_utf8(response.body).unwrap();
        assert!(body.contains("#ServiceUnavailable"), "{body}");
        assert_eq!(end(&mut refused), End::Closed);
    }
    for stream in &mut open {
        assert_eq!(ask(stream, &post("/", b"still in")).body, b"still in");
    }
}

#[test]
fn an_idle_connection_is_evicted() {
    for (workers, idle_first) in [(1, true), (1, false), (2, true), (2, false)] {
        let (server, backend) = crowded(workers, 2, true);
        let early = (!idle_first).then(|| busy(&server, &backend));
        let mut idle = connect(&server);
        assert_eq!(ask(&mut idle, &post("/", b"1")).body, b"1");
        let _busy = early.unwrap_or_else(|| busy(&server, &backend));
        let mut new = connect(&server);
        assert_eq!(ask(&mut new, &post("/", b"2")).body, b"2", "{workers} {idle_first}");
        assert_eq!(end(&mut idle), End::Closed);
        assert_eq!(ask(&mut new, &post("/", b"3")).body, b"3");
    }
}

#[test]
fn silent_connections_are_evicted() {
    let (server, _) = crowded(2, 8, true);
    let silent: Vec<_> = (0..8).map(|_| connect(&server)).collect();
    for number in 0..8 {
        let mut stream = connect(&server);
        let body = format!("{number}");
        assert_eq!(ask(&mut stream, &post("/", body.as_bytes())).body, body.as_bytes());
    }
    drop(silent);
}

/// A connection on which a body has begun, and does not go on.
fn sending(server: &Server) -> TcpStream {
    let mut stream = connect(server);
    let head = b"POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n";
    stream.write_all(head).unwrap();
    // The server answers so when it begins to receive the body.
    let mut answer = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

#[test]
fn a_connection_that_sends_a_body_is_evicted_after_idle_ones() {
    let (server, _) = crowded(1, 2, true);
    let mut sending = sending(&server);
    let mut idle = connect(&server);
    assert_eq!(ask(&mut idle, &post("/", b"1")).body, b"1");
    assert_eq!(ask(&mut connect(&server), &post("/", b"2")).body, b"2");
    assert_eq!(end(&mut idle), End::Closed);
    sending.write_all(b"ab").unwrap();
    assert_eq!(ask(&mut sending, b"").body, b"ab");
}

/// An idle connection is replaced wherever it is: a worker whose connections all send a body passes a new one on.
#[test]
fn a_connection_that_sends_a_body_is_evicted_after_idle_ones_of_all_workers() {
    for workers in 2..=4 {
        let (server, _) = crowded(workers, 2 * workers, true);
        let (mut senders, mut idle) = (Vec::new(), Vec::new());
        // A new connection is assigned to the first of the workers with the fewest: only the last has idle ones.
        for number in 0..2 * workers {
            if number % workers == workers - 1 {
                let mut stream = connect(&server);
                assert_eq!(ask(&mut stream, &post("/", b"1")).body, b"1", "{workers} workers");
                idle.push(stream);
            } else {
                senders.push(sending(&server));
            }
        }
        let mut new = [connect(&server), connect(&server)];
        for stream in &mut new {
            assert_eq!(ask(stream, &post("/", b"2")).body, b"2", "{workers} workers");
        }
        for sending in &mut senders {
            sending.write_all(b"ab").unwrap();
            assert_eq!(ask(sending, b"").body, b"ab", "{workers} workers");
        }
    }
}

/// If all connections of all workers send a body, one of them is replaced.
#[test]
fn a_connection_that_sends_a_body_is_evicted_if_no_worker_has_an_idle_one() {
    let (server, _) = crowded(2, 4, true);
    let mut senders: Vec<_> = (0..4).map(|_| sending(&server)).collect();
    assert_eq!(ask(&mut connect(&server), &post("/", b"1")).body, b"1");
    let mut ended = 0;
    for sending in &mut senders {
        // Fails if the connection has ended.
        let sent = sending.write_all(b"ab");
        ended += usize::from(sent.is_err() || read(sending).is_err());
    }
    assert_eq!(ended, 1);
}

#[test]
fn a_connection_that_sends_a_body_is_evicted() {
    let (server, _) = crowded(1, 1, true);
    let mut sending = sending(&server);
    assert_eq!(ask(&mut connect(&server), &post("/", b"1")).body, b"1");
    assert_eq!(end(&mut sending), End::Closed);
}

/// A refused connection whose body may still arrive is idle.
#[test]
fn a_refused_connection_is_evicted() {
    for head in [
        // Refused by its length, by its host, and by its size.
        &format!("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", LIMIT + 1),
        "POST / HTTP/1.1\r\nhost: evil.example\r\norigin: http://evil.example\r\ncontent-length: 9\r\n\r\n",
        &format!(
            "POST / HTTP/1.1\r\nhost: x\r\nx-long: {}\r\ncontent-length: 9\r\n\r\n",
            "h".repeat(17_000)
        ),
    ] {
        let (server, _) = crowded(1, 1, true);
        let mut refused = connect(&server);
        let response = ask(&mut refused, head.as_bytes());
        assert!(response.status() >= 400 && response.is_last(), "{}", response.head);
        assert_eq!(ask(&mut connect(&server), &post("/", b"1")).status(), 200, "{head}");
        assert_eq!(end(&mut refused), End::Closed);
    }
}

/// The console only reads; what is sent to it is discarded, and the connection goes on.
#[test]
fn a_body_for_the_console_is_discarded() {
    let (server, backend) = still();
    let mut stream = connect(&server);
    for length in [2, 8 * 1024 * 1024] {
        let response = ask(&mut stream, &post("/_dynatwin/ui/", &vec![b'c'; length]));
        assert_eq!((response.status(), response.is_last()), (405, false), "{length}");
        assert_eq!(ask(&mut stream, &post("/", b"next")).body, b"next", "{length}");
    }
    assert_eq!(backend.handled.load(Ordering::SeqCst), 2);
}

#[test]
fn a_busy_connection_is_not_evicted() {
    let (server, backend) = crowded(2, 2, true);
    let _both = [busy(&server, &backend), busy(&server, &backend)];
    assert_eq!(ask(&mut connect(&server), &post("/", b"1")).status(), 503);
}

/// A connection is busy once the body of its request has arrived, also if its head arrived separately.
#[test]
fn a_busy_connection_whose_request_came_in_pieces_is_not_evicted() {
    let (server, backend) = crowded(1, 2, true);
    let (mut other, mut pieces) = (connect(&server), connect(&server));
    let request = post("/hold/86400000", b"body");
    let (head, body) = request.split_at(request.len() - 4);
    pieces.write_all(head).unwrap();
    // The only worker reads the head before it answers this.
    assert_eq!(ask(&mut other, &post("/", b"1")).body, b"1");
    pieces.write_all(body).unwrap();
    other.write_all(&post("/lost", b"")).unwrap();
    while backend.handled.load(Ordering::SeqCst) < 3 {
        std::thread::yield_now();
    }
    assert_eq!(ask(&mut connect(&server), &post("/", b"2")).status(), 503);
    backend.clock.advance(Duration::from_hours(24));
    assert_eq!(read(&mut pieces).unwrap().body, b"body");
}

#[test]
fn a_client_that_leaves_a_lost_answer_frees_its_connection() {
    let (server, backend) = crowded(1, 1, false);
    drop(busy(&server, &backend));
    while ask(&mut connect(&server), &post("/", b"1")).status() == 503 {
        std::thread::yield_now();
    }
}

#[test]
fn a_stop_waits_only_for_running_requests() {
    let (server, backend) = echo(Clock::settable(Moment::START), |options| {
        options.limits.stop_time = Duration::from_hours(1);
    });
    let mut idle = connect(&server);
    assert_eq!(ask(&mut idle, &post("/", b"1")).body, b"1");
    let _open = [connect(&server), busy(&server, &backend)];
    server.stop();
    assert_eq!(end(&mut idle), End::Closed);
}

#[test]
fn half_closed_clients_are_answered() {
    let (server, backend) = echo(Clock::system(system_time), |_| ());
    for number in 0..100 {
        let mut stream = connect(&server);
        let body = format!("body {number}");
        let target = if number % 2 == 0 { "/" } else { "/wait/1" };
        let first = post("/", b"first");
        stream
            .write_all(&[first, post(target, body.as_bytes())].concat())
            .unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(read(&mut stream).unwrap().body, b"first");
        assert_eq!(read(&mut stream).unwrap().body, body.as_bytes());
        assert_eq!(end(&mut stream), End::Closed);
    }
    assert_eq!(backend.handled.load(Ordering::SeqCst), 200);
}

#[test]
fn bodies_in_flight_have_a_budget() {
    let (server, _) = echo(Clock::settable(Moment::START), |options| {
        options.limits.bodies = 1024 * 1024;
    });
    let body = vec![b'b'; 300_000];
    // Fits, and is given back.
    for _ in 0..10 {
        assert_eq!(ask(&mut connect(&server), &post("/", &body)).body, body);
    }
    // The body counts, whatever its answer is.
    for path in ["/", "/bytes/0"] {
        let mut large = connect(&server);
        let response = ask(&mut large, &post(path, &vec![b'l'; 2 * 1024 * 1024]));
        assert_eq!(response.status(), 503, "{path}");
        assert_eq!(end(&mut large), End::Closed);
        assert_eq!(ask(&mut connect(&server), &post("/bytes/0", &body)).status(), 200);
    }
    // Half of a body that does not go on leaves no room for others, until its client goes away.
    let mut halves: Vec<TcpStream> = Vec::new();
    while ask(&mut connect(&server), &post("/", &body)).status() != 503 {
        let mut half = connect(&server);
        let whole = post("/", &vec![b'h'; 600_000]);
        half.write_all(&whole[..500_000]).unwrap();
        halves.push(half);
        assert!(halves.len() < 100, "nothing is counted");
    }
    // What comes in one piece needs no room.
    assert_eq!(ask(&mut connect(&server), &post("/", b"small")).body, b"small");
    let closing = b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 5\r\n\r\nsmall";
    assert_eq!(ask(&mut connect(&server), closing).body, b"small");
    drop(halves);
    while ask(&mut connect(&server), &post("/", &body)).status() == 503 {
        std::thread::yield_now();
    }
}

#[test]
fn answers_in_flight_have_a_budget() {
    let (server, _) = echo(Clock::settable(Moment::START), |options| {
        options.limits.bodies = 1024 * 1024;
    });
    for (bytes, status) in [(1_000_000, 200), (2_000_000, 503), (1_000_000, 200)] {
        for request in forms(&format!("/bytes/{bytes}"), b"") {
            let mut response = ask(&mut connect(&server), &request);
            // The room of the answer before is given back after its last byte is sent.
            while status == 200 && response.status() == 503 {
                response = ask(&mut connect(&server), &request);
            }
            assert_eq!(
                (response.status(), response.is_last()),
                (status, status == 503),
                "{bytes}"
            );
        }
    }
}

/// Smaller answers need no room.
#[test]
fn answers_from_64_kilobytes_on_need_room() {
    let (server, _) = echo(Clock::settable(Moment::START), |options| options.limits.bodies = 65_536);
    let (none, _) = echo(Clock::settable(Moment::START), |options| options.limits.bodies = 0);
    for (bytes, status) in [(65_535, 200), (65_536, 503), (65_537, 503)] {
        for request in forms(&format!("/bytes/{bytes}"), b"") {
            let response = ask(&mut connect(&none), &request);
            assert_eq!(
                (response.status(), response.is_last()),
                (status, status == 503),
                "{bytes}"
            );
            if status == 200 {
                assert_eq!(response.body.len(), bytes);
            } else {
                let body = String::from_utf8(response.body).unwrap();
                let message = "The requests and answers in progress use all of their memory limit.";
                assert!(body.contains("#ServiceUnavailable") && body.contains(message), "{body}");
            }
        }
    }
    for request in forms("/bytes/65536", b"") {
        let mut response = ask(&mut connect(&server), &request);
        // The room of the answer before is given back after its last byte is sent.
        while response.status() == 503 {
            response = ask(&mut connect(&server), &request);
        }
        assert_eq!(response.body.len(), 65_536);
    }
}

/// A client that announces a large body and sends little of it leaves room for others.
#[test]
fn announced_bodies_that_are_not_sent_need_little_room() {
    let (server, _) = echo(Clock::settable(Moment::START), |options| {
        options.workers = 1;
        options.limits.bodies = 1024 * 1024;
    });
    let announced: Vec<_> = (0..4)
        .map(|_| {
            let mut stream = connect(&server);
            let head = b"POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 1000000\r\n\r\n";
            stream.write_all(head).unwrap();
            // The server answers so when it begins to receive the body.
            let mut answer = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
            stream.read_exact(&mut answer).unwrap();
            stream.write_all(b"a").unwrap();
            stream
        })
        .collect();
    let body = vec![b'b'; 300_000];
    // The only worker has read the pieces before.
    assert_eq!(ask(&mut connect(&server), &post("/", b"small")).body, b"small");
    assert_eq!(ask(&mut connect(&server), &post("/", &body)).status(), 200);
    drop(announced);
}

/// An answer that a fault truncates is held as a whole, so all of it counts.
#[test]
fn truncated_answers_in_flight_have_a_budget() {
    let (server, _) = echo(Clock::settable(Moment::START), |options| {
        options.limits.bodies = 1024 * 1024;
    });
    for (bytes, kept, is_refused) in [
        (2_000_000, 100, true),
        (2_000_000, 1_999_999, true),
        (1_000_000, 999_999, false),
        (100, 50, false),
    ] {
        for request in forms(&format!("/bytes/{bytes}/{kept}"), b"") {
            let head = |stream: &mut TcpStream| {
                stream.write_all(&request).unwrap();
                let mut head = [0; 12];
                stream.read_exact(&mut head).unwrap();
                head
            };
            let mut begin = head(&mut connect(&server));
            // The room of the answer before is given back once its connection has ended.
            while !is_refused && begin == *b"HTTP/1.1 503" {
                begin = head(&mut connect(&server));
            }
            let expected = if is_refused { b"HTTP/1.1 503" } else { b"HTTP/1.1 200" };
            assert_eq!(begin, *expected, "{bytes}, {kept} kept");
        }
    }
}

/// An answer has its room until the client has received it.
#[test]
fn answers_that_are_not_read_keep_their_room() {
    const BYTES: usize = 40_000_000;
    let (server, _) = echo(Clock::settable(Moment::START), |options| {
        options.limits.bodies = BYTES * 3 / 2;
    });
    for request in forms(&format!("/bytes/{BYTES}"), b"") {
        let mut unread = connect(&server);
        unread.write_all(&request).unwrap();
        unread.read_exact(&mut [0; 1]).unwrap();
        assert_eq!(ask(&mut connect(&server), &request).status(), 503);
        drop(unread);
        while ask(&mut connect(&server), &request).status() == 503 {
            std::thread::yield_now();
        }
    }
}

#[test]
fn readers_that_are_too_slow_are_dropped() {
    let (server, _) = echo(Clock::settable(Moment::START), |options| {
        options.limits.answer_time = Duration::from_millis(250);
        options.limits.answer_bytes = 1024 * 1024 * 1024;
    });
    for request in forms("/bytes/100000000", b"") {
        let mut stream = connect(&server);
        stream.write_all(&request).unwrap();
        // It reads all the time, a few bytes at a time.
        let (mut count, mut bytes) = (0, [0; 64]);
        let error = loop {
            match stream.read(&mut bytes) {
                Ok(0) => panic!("The connection ends after {count} bytes that were sent before."),
                Ok(read) => count += read,
                Err(error) => break error,
            }
        };
        // What the kernel has buffered is discarded: at the reader's rate it could take hours.
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        assert!(count < 100_000_000, "{count}");
    }
}

#[test]
fn a_body_of_the_largest_size_is_received() {
    let (server, _) = still();
    let body = vec![b'b'; LIMIT];
    let mut stream = connect(&server);
    assert!(ask(&mut stream, &post("/", &body)).body == body);
    let mut chunked = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for part in body.chunks(1024 * 1024) {
        chunked.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
        chunked.extend_from_slice(part);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    assert!(ask(&mut stream, &chunked).body == body);
}

/// The limit holds for bodies of every size and form, and apart from that of the head.
#[test]
fn the_limit_of_bodies_is_exact() {
    for limit in [0, 10, 1000, 40_000] {
        let (server, backend) = echo(Clock::settable(Moment::START), |options| options.limits.body = limit);
        for (length, status) in [(limit, 200), (limit + 1, 413)] {
            for request in forms("/", &vec![b'b'; length]) {
                let response = ask(&mut connect(&server), &request);
                assert_eq!(
                    (response.status(), response.is_last()),
                    (status, status == 413),
                    "{length} of {limit}"
                );
            }
        }
        assert_eq!(backend.handled.load(Ordering::SeqCst), 2, "{limit}");
    }
}

#[test]
fn a_larger_body_is_refused_by_its_length() {
    let (server, backend) = still();
    // Announced and not sent: the refusal does not wait for it.
    let mut stream = connect(&server);
    let head = format!("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", LIMIT + 1);
    let response = ask(&mut stream, head.as_bytes());
    assert_eq!(response.status(), 413);
    assert_eq!(response.header("server"), Some("server"));
    assert_eq!(response.header("x-amz-crc32"), Some("0"));
    assert!(response.is_last());
    // Sent completely by a client that reads only afterwards: it receives the refusal.
    let mut stream = connect(&server);
    let response = ask(&mut stream, &post("/", &vec![b'c'; LIMIT + 1]));
    assert_eq!(response.status(), 413);
    assert_eq!(end(&mut stream), End::Closed);
    assert_eq!(backend.handled.load(Ordering::SeqCst), 0);
}

#[test]
fn a_larger_body_is_refused_while_it_is_read() {
    let (server, backend) = still();
    let mut stream = connect(&server);
    let mut chunked = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for _ in 0..17 {
        chunked.extend_from_slice(b"100000\r\n");
        chunked.extend_from_slice(&vec![b'd'; 0x10_0000]);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    let response = ask(&mut stream, &chunked);
    assert_eq!(response.status(), 413);
    assert_eq!(end(&mut stream), End::Closed);
    assert_eq!(backend.handled.load(Ordering::SeqCst), 0);
}

#[test]
fn clients_that_expect_100_continue_are_refused_before_the_body() {
    let (server, _) = still();
    let mut stream = connect(&server);
    let head = format!(
        "POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        LIMIT + 1
    );
    assert_eq!(ask(&mut stream, head.as_bytes()).status(), 413);
    assert_eq!(end(&mut stream), End::Closed);
}

#[test]
fn large_heads_are_refused() {
    let (server, _) = still();
    for (path, header, status) in [
        ("/".to_owned(), 15_000, 200),
        ("/".to_owned(), 17_000, 400),
        (format!("/header/{}", "p".repeat(17_000)), 10, 400),
    ] {
        for line in ["GET", "POST"] {
            let mut stream = connect(&server);
            let request = format!(
                "{line} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\nx-long: {}\r\n\r\n",
                "h".repeat(header)
            );
            let response = ask(&mut stream, request.as_bytes());
            assert_eq!(response.status(), status, "{line}, {header} bytes");
            assert_eq!(response.is_last(), status == 400);
        }
    }
}

/// The lines of a head, without the empty one at its end, have a largest size.
#[test]
fn a_head_of_the_largest_size_is_received() {
    // The default, and one that is smaller than what the server reads at a time.
    for limit in [16 * 1024, 1024] {
        let (server, _) = echo(Clock::settable(Moment::START), |options| options.limits.head = limit);
        for line in ["GET / HTTP/1.1\r\n", "POST / HTTP/1.1\r\n"] {
            for (longer, status) in [(0, 200), (1, 400)] {
                let lines = format!("{line}host: x\r\ncontent-length: 0\r\nx-long: ");
                let long = "h".repeat(limit - lines.len() - 2 + longer);
                let request = format!("{lines}{long}\r\n\r\n");
                let response = ask(&mut connect(&server), request.as_bytes());
                assert_eq!(response.status(), status, "{line}{longer} more than {limit}");
            }
        }
    }
}

#[test]
fn requests_with_several_hosts_are_refused() {
    let (server, backend) = still();
    for line in ["POST /", "GET /"] {
        for (hosts, status) in [
            ("host: x\r\n", 200),
            ("host: x\r\nHost: x\r\n", 400),
            (
                "host: localhost\r\nhost: evil.example\r\norigin: http://evil.example\r\n",
                400,
            ),
        ] {
            let request = format!("{line} HTTP/1.1\r\n{hosts}content-length: 2\r\n\r\n{{}}");
            let response = ask(&mut connect(&server), request.as_bytes());
            assert_eq!(
                (response.status(), response.is_last()),
                (status, status == 400),
                "{request}"
            );
        }
    }
    assert_eq!(backend.handled.load(Ordering::SeqCst), 2);
}

#[test]
fn malformed_http_is_refused() {
    let (server, _) = still();
    for request in [
        &b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"[..],
        b"POST\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n{}",
        b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}{}\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}",
    ] {
        let mut stream = connect(&server);
        assert_eq!(ask(&mut stream, request).status(), 400);
        assert_eq!(end(&mut stream), End::Closed);
    }
}

#[test]
fn connections_that_stall_are_closed() {
    /// Connections are closed in a phase that has a short limit of its own; the other limits are long.
    fn closed(limit: impl FnOnce(&mut Limits, Duration), parts: &[&[u8]]) {
        let (server, _) = echo(Clock::settable(Moment::START), |options| {
            limit(&mut options.limits, Duration::from_millis(250));
        });
        for part in parts {
            let mut stream = connect(&server);
            stream.write_all(part).unwrap();
            if part.ends_with(b"done") {
                assert_eq!(read(&mut stream).unwrap().body, b"done");
            }
            assert_eq!(end(&mut stream), End::Closed, "{}", String::from_utf8_lossy(part));
        }
    }
    closed(
        |limits, short| limits.head_time = short,
        &[b"", b"POST / HT", b"POST / HTTP/1.1\r\nhost: x\r\ncontent-le"],
    );
    closed(
        |limits, short| limits.body_time = short,
        &[
            b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nab",
            b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
        ],
    );
    closed(|limits, short| limits.idle_time = short, &[&post("/", b"done")]);
}

#[test]
fn stalled_requests_are_not_executed() {
    let (server, backend) = echo(Clock::settable(Moment::START), |options| {
        options.limits.body_time = Duration::from_millis(250);
    });
    let mut stream = connect(&server);
    stream
        .write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nab")
        .unwrap();
    assert_eq!(end(&mut stream), End::Closed);
    assert_eq!(backend.handled.load(Ordering::SeqCst), 0);
    assert_eq!(ask(&mut connect(&server), &post("/", b"up")).body, b"up");
}

/// A client that closes its side within a request gets no answer.
#[test]
fn a_request_that_ends_early_is_not_executed() {
    let (server, backend) = still();
    for request in forms("/", b"0123456789") {
        let head = request.windows(4).position(|part| part == b"\r\n\r\n").unwrap() + 4;
        for length in [1, head - 1, head, head + 1, request.len() - 1] {
            let mut stream = connect(&server);
            stream.write_all(&request[..length]).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            let answer = String::from_utf8(answer).unwrap();
            assert!(
                answer.is_empty() || answer.starts_with("HTTP/1.1 400 "),
                "{length}: {answer}"
            );
        }
    }
    assert_eq!(backend.handled.load(Ordering::SeqCst), 0);
}

#[test]
fn an_incomplete_request_after_a_complete_one_is_closed() {
    let (server, _) = echo(Clock::settable(Moment::START), |options| {
        options.limits.idle_time = Duration::from_millis(250);
    });
    let mut stream = connect(&server);
    stream
        .write_all(&[post("/", b"1"), b"POST / HT".to_vec()].concat())
        .unwrap();
    assert_eq!(read(&mut stream).unwrap().body, b"1");
    assert_eq!(end(&mut stream), End::Closed);
}

#[test]
fn a_bug_in_one_request_is_its_own() {
    let (server, _) = still();
    for request in forms("/panic", b"{}") {
        let mut stream = connect(&server);
        let response = ask(&mut stream, &request);
        assert_eq!(response.status(), 500);
        assert!(
            String::from_utf8(response.body)
                .unwrap()
                .contains("#InternalServerError")
        );
        assert_eq!(ask(&mut stream, &post("/", b"next")).body, b"next");
    }
}

#[test]
fn both_loopback_addresses_have_one_port() {
    let (server, _) = still();
    assert!(
        server
            .addresses()
            .iter()
            .all(|address| address.port() == server.port() && address.ip().is_loopback())
    );
    assert_eq!(server.addresses().len() + usize::from(server.notice().is_some()), 2);
    for address in server.addresses() {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        assert_eq!(ask(&mut stream, &post("/", b"here")).body, b"here");
    }
}
