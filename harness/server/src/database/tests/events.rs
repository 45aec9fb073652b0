//! Pages of events that wait until their commits are stored.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use dynatwin_store::sim::SimDisk;
use hyper::header::{ACCEPT, HOST, HeaderMap, HeaderValue};
use serde_json::Value;

use super::{Database, caller, flags, open_on, put, request, table};
use crate::flags::Sync;
use crate::server::{Options, Shared};
use crate::stream::{EventStream, Pages};
use crate::watch::Watch;

/// Opens a database with a table, and a stream of its events whose first page is still to be sent.
fn listening(sync: Sync) -> (Arc<Database>, EventStream<Database>) {
    let (mut database, _) = open_on(&flags(), "sim", SimDisk::new()).unwrap();
    database.sync = sync;
    request(&database, true, "CreateTable", &table()).unwrap();
    let database = Arc::new(database);
    let shared = Arc::new(Shared::new(Arc::clone(&database), Options::port(0), &[]));
    let watch = Arc::new(Watch::new(Arc::default(), 1));
    let headers = [(ACCEPT, "text/event-stream"), (HOST, "localhost")];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    let headers = HeaderMap::from_iter(headers);
    let target = "/_dynatwin/events";
    let stream = EventStream::open(&shared, &watch, target, &headers, b"id: 0\n\n").unwrap();
    (database, stream)
}

/// A page of a stream waits until the writes that it shows are stored.
#[test]
fn events_are_sent_once_their_commits_are_stored() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.unwrap();
    let _entered = runtime.enter();
    for sync in [Sync::Always, Sync::Second] {
        let (database, mut stream) = listening(sync);
        let mut poll = || stream.poll_page(&mut Context::from_waker(Waker::noop()));
        assert_eq!(poll(), Poll::Ready(Some(b"id: 0\n\n".to_vec())), "{sync:?}");
        assert_eq!(poll(), Poll::Pending, "{sync:?}");
        for id in ["a", "b"] {
            let body = put(id, 1).to_string();
            let answer = database.engine.dispatch(&caller(), "PutItem", body.as_bytes());
            assert_eq!(answer.status, 200, "{sync:?}");
            assert!(database.log.store.has_pending(), "{sync:?}");
            assert_eq!(poll(), Poll::Pending, "{sync:?}");
            if sync == Sync::Always {
                database.log.store.flush().unwrap();
                assert_eq!(poll(), Poll::Pending, "{sync:?}");
                database.log.store.sync().unwrap();
            }
            let Poll::Ready(Some(page)) = poll() else {
                panic!("{sync:?}: no page of {id}");
            };
            assert!(!database.log.store.has_pending(), "{sync:?}");
            let page = String::from_utf8(page).unwrap();
            assert!(page.contains("\"PutItem\""), "{sync:?}: {page}");
            assert_eq!(poll(), Poll::Pending, "{sync:?}");
        }
    }
}

/// Events that are logged while a page waits are on the next page: each event is sent once, in order.
#[test]
fn a_page_that_waits_is_sent_before_later_events() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.unwrap();
    let _entered = runtime.enter();
    for sync in [Sync::Always, Sync::Second] {
        let (database, mut stream) = listening(sync);
        let mut poll = || stream.poll_page(&mut Context::from_waker(Waker::noop()));
        assert_eq!(poll(), Poll::Ready(Some(b"id: 0\n\n".to_vec())), "{sync:?}");
        let write = |id: &str| {
            let body = put(id, 1).to_string();
            let answer = database.engine.dispatch(&caller(), "PutItem", body.as_bytes());
            assert_eq!(answer.status, 200, "{sync:?}");
        };
        // The engine logs events from the first poll on.
        assert_eq!(poll(), Poll::Pending, "{sync:?}");
        write("a");
        assert_eq!(poll(), Poll::Pending, "{sync:?}");
        write("b");
        if sync == Sync::Always {
            // Another page is not read meanwhile.
            assert_eq!(poll(), Poll::Pending, "{sync:?}");
            database.log.store.sync().unwrap();
        }
        // Each page may be polled once before it is sent.
        let polled = (0..10).filter_map(|_| match poll() {
            Poll::Ready(page) => page,
            Poll::Pending => None,
        });
        let pages: String = polled.map(|page| String::from_utf8(page).unwrap()).collect();
        let data = pages.lines().filter_map(|line| line.strip_prefix("data: "));
        let sent: Vec<Value> = data
            .map(|data| serde_json::from_str::<Value>(data).unwrap()["id"].clone())
            .collect();
        let expected: Vec<Value> = (1..=sent.len()).map(Value::from).collect();
        assert_eq!(sent, expected, "{sync:?}: {pages}");
        assert!(sent.len() >= 8, "{sync:?}: {sent:?}");
    }
}
