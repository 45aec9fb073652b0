//! Answers are delivered at the moment and in the way that the engine defines.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::support::*;
use dynatwin_engine::http::{Answer, AnswerHeaders, Delivery, HttpRequest, StillDelay};
use dynatwin_engine::{Clock, Moment};
use dynatwin_server::{Backend, Log, Options, Server, serve, system_time};

#[test]
fn a_truncated_answer_has_a_whole_head() {
    let (server, _) = still();
    for kept in [0, 1, 5, 9] {
        for request in forms(&format!("/truncated/{kept}"), b"0123456789") {
            let mut stream = connect(&server);
            stream.write_all(&request).unwrap();
            let mut all = String::new();
            stream.read_to_string(&mut all).unwrap();
            let (head, body) = all.split_once("\r\n\r\n").unwrap();
            assert!(
                head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("content-length: 10"),
                "{head}"
            );
            assert_eq!(body, &"0123456789"[..kept]);
        }
    }
}

#[test]
fn a_large_truncated_answer_arrives_up_to_its_cut() {
    let (server, _) = still();
    let mut stream = connect(&server);
    let sent = vec![b'e'; 8 * 1024 * 1024];
    stream.write_all(&post("/truncated/8000000", &sent)).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    let head = all.windows(4).position(|part| part == b"\r\n\r\n").unwrap() + 4;
    assert_eq!(all.len() - head, 8_000_000);
}

#[test]
fn an_answer_truncated_at_or_after_its_end_is_complete_and_the_last() {
    let (server, _) = still();
    for path in ["/truncated/10", "/truncated/99"] {
        for request in forms(path, b"0123456789") {
            let mut stream = connect(&server);
            let response = ask(&mut stream, &request);
            assert_eq!(
                (response.body.as_slice(), response.is_last()),
                (&b"0123456789"[..], true)
            );
            assert_eq!(end(&mut stream), End::Closed, "{path}");
        }
    }
}

#[test]
fn answers_before_a_cut_are_whole() {
    let (server, _) = still();
    let mut stream = connect(&server);
    let pipelined = [
        post("/", b"first"),
        post("/truncated/3", b"second"),
        post("/", b"third"),
    ]
    .concat();
    stream.write_all(&pipelined).unwrap();
    assert_eq!(read(&mut stream).unwrap().body, b"first");
    assert_eq!(read(&mut stream).unwrap_err(), b"sec");
}

#[test]
fn a_reset_is_a_reset() {
    let (server, backend) = still();
    for request in forms("/reset", b"2") {
        let mut stream = connect(&server);
        assert_eq!(ask(&mut stream, &post("/", b"1")).body, b"1");
        stream.write_all(&request).unwrap();
        assert_eq!(end(&mut stream), End::Reset);
    }
    assert_eq!(backend.handled.load(Ordering::SeqCst), 4);
}

#[test]
fn a_lost_answer_leaves_the_connection_open() {
    let [direct, hyper] = forms("/lost", b"1");
    // A request that fills the buffer leaves open whether there is more to read.
    let longer = post("/lost", &[b'1'; 1000]);
    let full = post("/lost", &vec![b'1'; 4096 + 1000 - longer.len()]);
    assert_eq!(full.len(), 4096);
    for request in [direct, hyper, full] {
        let (server, backend) = still();
        let mut stream = connect(&server);
        stream.write_all(&request).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(150))).unwrap();
        let waited = stream.read(&mut [0]).unwrap_err().kind();
        assert!(
            matches!(waited, std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut),
            "{waited}"
        );
        assert_eq!(backend.handled.load(Ordering::SeqCst), 1, "it was carried out");
        // It delays neither other connections nor the stop.
        assert_eq!(ask(&mut connect(&server), &post("/", b"2")).body, b"2");
        let started = Instant::now();
        server.stop();
        assert!(started.elapsed() < Duration::from_secs(3));
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        assert_eq!(end(&mut stream), End::Closed);
    }
}

#[test]
fn an_answer_waits_for_its_delivery_time() {
    let (server, _) = echo(Clock::system(system_time), |_| ());
    for request in forms("/wait/200", b"1") {
        let started = Instant::now();
        assert_eq!(ask(&mut connect(&server), &request).body, b"1");
        assert!(started.elapsed() >= Duration::from_millis(200));
    }
}

#[test]
fn a_fast_clock_waits_for_less() {
    let (server, _) = echo(Clock::accelerated(system_time, Moment::START, 3600.0), |_| ());
    let started = Instant::now();
    assert_eq!(ask(&mut connect(&server), &post("/wait/360000", b"1")).body, b"1");
    let took = started.elapsed();
    assert!(
        took >= Duration::from_millis(90) && took < Duration::from_secs(5),
        "{took:?}"
    );
}

#[test]
fn waiting_on_a_settable_clock_advances_it() {
    let clock = Clock::settable(Moment::START);
    let (server, _) = echo(clock.clone(), |_| ());
    assert_eq!(ask(&mut connect(&server), &post("/wait/86400000", b"1")).body, b"1");
    assert_eq!(clock.now().to_string(), "2026-01-02T00:00:00.000Z");
}

#[test]
fn latency_advances_no_settable_clock_and_takes_no_time() {
    let clock = Clock::settable(Moment::START);
    let (server, _) = echo(clock.clone(), |_| ());
    assert_eq!(ask(&mut connect(&server), &post("/latency/86400000", b"1")).body, b"1");
    assert_eq!(clock.now(), Moment::START);
}

#[test]
fn a_held_answer_takes_real_time_and_advances_no_settable_clock() {
    let clock = Clock::settable(Moment::START);
    let (server, _) = echo(clock.clone(), |_| ());
    let started = Instant::now();
    assert_eq!(ask(&mut connect(&server), &post("/hold/200", b"1")).body, b"1");
    assert!(started.elapsed() >= Duration::from_millis(200));
    assert_eq!(clock.now(), Moment::START);
}

/// Sends a request whose answer is held for a day, and waits until it has been handled.
fn held_for_a_day(server: &Server, backend: &Echo) -> TcpStream {
    let before = backend.handled.load(Ordering::SeqCst);
    let mut stream = connect(server);
    stream.write_all(&post("/hold/86400000", b"1")).unwrap();
    while backend.handled.load(Ordering::SeqCst) == before {
        std::thread::yield_now();
    }
    stream
}

#[test]
fn advancing_a_settable_clock_releases_a_held_answer() {
    let clock = Clock::settable(Moment::START);
    let (server, backend) = echo(clock.clone(), |_| ());
    let mut stream = held_for_a_day(&server, &backend);
    assert_eq!(ask(&mut connect(&server), &post("/", b"2")).body, b"2");
    assert_eq!(clock.now(), Moment::START);
    clock.advance(Duration::from_hours(24));
    assert_eq!(read(&mut stream).unwrap().body, b"1");
}

#[test]
fn real_time_does_not_release_a_held_answer_while_the_clock_is_frozen() {
    let clock = Clock::settable(Moment::START);
    let (server, _) = echo(clock.clone(), |_| ());
    clock.freeze();
    let mut stream = connect(&server);
    stream.write_all(&post("/hold/20", b"1")).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(150))).unwrap();
    assert!(stream.read(&mut [0]).is_err(), "it is not held");
    clock.unfreeze();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert_eq!(read(&mut stream).unwrap().body, b"1");
    assert_eq!(clock.now(), Moment::START);
}

#[test]
fn a_client_that_leaves_a_held_answer_advances_no_clock() {
    let clock = Clock::settable(Moment::START);
    let (server, backend) = echo(clock.clone(), |_| ());
    let mut stream = held_for_a_day(&server, &backend);
    stream.set_read_timeout(Some(Duration::from_millis(150))).unwrap();
    assert!(stream.read(&mut [0]).is_err(), "it runs out of patience");
    drop(stream);
    assert_eq!(ask(&mut connect(&server), &post("/", b"2")).body, b"2");
    assert_eq!(clock.now(), Moment::START);
}

#[test]
fn a_stop_does_not_wait_for_a_held_answer() {
    let (server, backend) = echo(Clock::settable(Moment::START), |options| {
        options.limits.stop_time = Duration::from_millis(50);
    });
    let mut stream = held_for_a_day(&server, &backend);
    server.stop();
    assert_eq!(end(&mut stream), End::Closed);
}

#[test]
fn advancing_the_clock_ends_the_wait() {
    let clock = Clock::system(system_time);
    let (server, backend) = echo(clock.clone(), |_| ());
    let mut stream = connect(&server);
    stream.write_all(&post("/wait/86400000", b"1")).unwrap();
    while backend.handled.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
    clock.advance(Duration::from_hours(24));
    assert_eq!(read(&mut stream).unwrap().body, b"1");
}

#[test]
fn a_stop_lets_running_requests_finish() {
    for request in forms("/wait/300", b"1") {
        let (server, backend) = echo(Clock::system(system_time), |_| ());
        let mut idle = connect(&server);
        assert_eq!(ask(&mut idle, &post("/", b"0")).body, b"0");
        let mut busy = connect(&server);
        busy.write_all(&request).unwrap();
        while backend.handled.load(Ordering::SeqCst) < 2 {
            std::thread::yield_now();
        }
        let address = server.local_addr();
        let started = Instant::now();
        server.stop();
        assert!(started.elapsed() < Duration::from_secs(4));
        let response = read(&mut busy).unwrap();
        assert_eq!(response.body, b"1");
        assert!(response.is_last());
        assert_eq!(end(&mut busy), End::Closed);
        assert_eq!(end(&mut idle), End::Closed);
        assert!(std::net::TcpStream::connect(address).is_err(), "the port is closed");
    }
}

/// The connection of an answer that is not due by then is closed, not reset.
#[test]
fn a_stop_has_a_time_limit() {
    for request in forms("/wait/86400000", b"1") {
        let (server, backend) = echo(Clock::system(system_time), |options| {
            options.limits.stop_time = Duration::from_millis(50);
        });
        let mut stream = connect(&server);
        stream.write_all(&request).unwrap();
        while backend.handled.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        server.stop();
        assert_eq!(end(&mut stream), End::Closed);
    }
}

/// Has due work at one moment, which is applied once. Takes long for `/long`, until another request arrives.
struct Slow {
    clock: Clock,
    requested: Mutex<bool>,
    other: Condvar,
}

impl Backend for Slow {
    fn handle(&self, request: &HttpRequest<'_>) -> Answer {
        let mut requested = self.requested.lock().unwrap();
        if request.target == "/long" {
            let long = Duration::from_secs(10);
            let (_asked, waited) = self
                .other
                .wait_timeout_while(requested, long, |requested| !*requested)
                .unwrap();
            assert!(!waited.timed_out(), "the other request waits for this one");
        } else {
            *requested = true;
            self.other.notify_all();
        }
        Answer {
            status: 200,
            headers: AnswerHeaders::default(),
            body: Vec::new(),
            at: self.clock.now(),
            still: StillDelay::default(),
            delivery: Delivery::Whole,
            note: None,
        }
    }

    fn may_take_long(&self, request: &HttpRequest<'_>) -> bool {
        request.target == "/long"
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

#[test]
fn a_long_request_does_not_block_others_of_its_worker() {
    for request in forms("/long", b"") {
        let slow = Slow {
            clock: Clock::settable(Moment::START),
            requested: Mutex::new(false),
            other: Condvar::new(),
        };
        let options = Options {
            log: Log::Off,
            workers: 1,
            ..Options::port(0)
        };
        let server = serve(Arc::new(slow), options).unwrap();
        let (mut long, mut other) = (connect(&server), connect(&server));
        long.write_all(&request).unwrap();
        assert_eq!(ask(&mut other, &post("/", b"")).status(), 200);
        assert_eq!(read(&mut long).unwrap().status(), 200);
        // The connection goes on.
        assert_eq!(ask(&mut long, &post("/", b"")).status(), 200);
        server.stop();
    }
}

struct Alarm {
    clock: Clock,
    due: AtomicI64,
    looked: AtomicUsize,
    done: AtomicUsize,
}

impl Backend for Alarm {
    fn handle(&self, _: &HttpRequest<'_>) -> Answer {
        panic!("no request is expected");
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn run_background_work(&self) -> Moment {
        self.looked.fetch_add(1, Ordering::SeqCst);
        if self.due.load(Ordering::SeqCst) <= self.clock.now().micros() {
            self.done.fetch_add(1, Ordering::SeqCst);
            self.due.store(Moment::NEVER.micros(), Ordering::SeqCst);
        }
        Moment::from_micros(self.due.load(Ordering::SeqCst))
    }
}

#[test]
fn due_work_is_applied_without_requests() {
    let clock = Clock::settable(Moment::START);
    let alarm = Arc::new(Alarm {
        clock: clock.clone(),
        due: AtomicI64::new(Moment::START.plus(Duration::from_hours(1)).micros()),
        looked: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
    });
    let options = Options {
        log: Log::Off,
        ..Options::port(0)
    };
    let server = serve(Arc::clone(&alarm), options).unwrap();
    while alarm.looked.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
    assert_eq!(alarm.done.load(Ordering::SeqCst), 0);
    let started = Instant::now();
    clock.advance(Duration::from_hours(1));
    while alarm.done.load(Ordering::SeqCst) == 0 {
        assert!(started.elapsed() < Duration::from_secs(10), "it is due and not done");
        std::thread::yield_now();
    }
    server.stop();
    assert_eq!(alarm.done.load(Ordering::SeqCst), 1);
    assert!(alarm.looked.load(Ordering::SeqCst) < 200, "it spins");
}
