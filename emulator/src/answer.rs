//! Requests and responses: an HTTP request without a socket, and an [`Answer`] with the time and form of its
//! delivery. The engine never sleeps and closes no connection: the transport does what the answer prescribes.

mod headers;

use std::borrow::Cow;
use std::time::Duration;

pub use headers::AnswerHeaders;

use crate::clock::Moment;

/// A request as HTTP has it, without the connection.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// use dynatwin_engine::http::HttpRequest;
///
/// let health = HttpRequest { method: "GET", target: "/", headers: &[("host", "localhost")], body: b"" };
/// assert_eq!(engine.handle(&health).status, 200);
/// ```
#[derive(Clone, Copy)]
pub struct HttpRequest<'a> {
    /// The HTTP method, such as `POST`.
    pub method: &'a str,
    /// Path and query: `/` or `/?X-Amz-Algorithm=…`.
    pub target: &'a str,
    /// The headers, which are only looked up by name.
    pub headers: &'a dyn Headers,
    /// The complete body as it was received.
    pub body: &'a [u8],
}

/// Headers, looked up by lower-case name.
///
/// ```
/// use dynatwin_engine::http::Headers;
///
/// let headers = [("Host", "localhost")];
/// assert_eq!(headers.get("host"), Some(&b"localhost"[..]));
///
/// let repeated = vec![("x-a".to_owned(), "1".to_owned()), ("X-A".to_owned(), "2".to_owned())];
/// assert_eq!(repeated.get("x-a"), Some(&b"1"[..]));
/// assert_eq!(repeated.joined("x-a").as_deref(), Some(&b"1,2"[..]));
/// assert_eq!(repeated.joined("x-b"), None);
/// ```
pub trait Headers {
    /// The value of the first header of this name.
    fn get(&self, name: &str) -> Option<&[u8]>;

    /// The values of all headers of this name, joined by commas, as signatures cover them.
    fn joined(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.get(name).map(Cow::Borrowed)
    }
}

impl<const N: usize> Headers for [(&str, &str); N] {
    fn get(&self, name: &str) -> Option<&[u8]> {
        self.iter()
            .find(|(candidate, _)| candidate.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_bytes())
    }
}

impl Headers for Vec<(String, String)> {
    fn get(&self, name: &str) -> Option<&[u8]> {
        self.iter()
            .find(|(candidate, _)| candidate.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_bytes())
    }

    fn joined(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let same = self
            .iter()
            .filter(|(candidate, _)| candidate.eq_ignore_ascii_case(name));
        let values: Vec<&[u8]> = same.map(|(_, value)| value.as_bytes()).collect();
        match values.as_slice() {
            [] => None,
            [one] => Some(Cow::Borrowed(one)),
            several => Some(Cow::Owned(several.join(&b','))),
        }
    }
}

/// How an answer is delivered.
///
/// ```
/// use dynatwin_engine::http::Delivery;
///
/// assert_eq!(Delivery::default(), Delivery::Whole);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// The head and the whole body.
    #[default]
    Whole,
    /// The head as for the whole body, then this many bytes of it, then the connection ends.
    Truncated(usize),
    /// Nothing: the connection is reset.
    Reset,
    /// The response is never sent: the request was executed, and the client waits until it gives up.
    Lost,
}

/// The part of an answer's delay that does not move a settable clock that several clients share. A transport with one client
/// need not regard it: sleeping moves such a client's clock.
///
/// ```
/// use dynatwin_engine::faults::{Rule, Verdict};
/// use dynatwin_engine::http::{Answer, HttpRequest};
/// use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// use std::time::Duration;
///
/// let clock = Clock::settable(Moment::START);
/// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// let hour = Duration::from_hours(1);
/// engine.add_fault(Rule::new(Verdict::Wait(hour)))?;
/// let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// let table = br#"{
///     "TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
///     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
///     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]
/// }"#;
/// let answer = engine.dispatch(&caller, "CreateTable", table);
/// assert_eq!((answer.still.held, answer.at), (hour, Moment::START.plus(hour)));
/// # Ok::<(), dynatwin_engine::faults::InvalidRule>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StillDelay {
    /// The waits of fault rules that are not to move the clock.
    pub held: Duration,
    /// The latency of the condition of that name.
    pub latency: Duration,
}

/// The header with the CRC-32 of the body.
pub const CHECKSUM: &str = "x-amz-crc32";

/// An answer, whether success or error.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// let answer = engine.dispatch(&caller, "ListTables", b"{}");
/// assert_eq!((answer.status, answer.body.as_slice()), (200, &br#"{"TableNames":[]}"#[..]));
/// assert_eq!(answer.header("content-type"), Some("application/x-amz-json-1.0"));
/// ```
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status code, such as 200.
    pub status: u16,
    /// The headers, except `content-length`, `date` and `connection`, which the transport adds.
    pub headers: AnswerHeaders,
    /// The whole body, even if `delivery` truncates it.
    pub body: Vec<u8>,
    /// When to deliver the response: the present unless it is delayed.
    pub at: Moment,
    /// The part of the time until `at` that does not move a settable clock that several clients share.
    pub still: StillDelay,
    /// How the transport delivers the answer.
    pub delivery: Delivery,
    /// A note for the operator's log, invisible to the client, such as the account in which a missing table exists.
    pub note: Option<String>,
}

impl Answer {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }

    /// Makes the checksum one that is not the body's.
    pub(crate) fn corrupt_checksum(&mut self) {
        if let Some(right) = self.headers.get(CHECKSUM) {
            let right: u32 = right.parse().unwrap_or_default();
            self.headers.remove(CHECKSUM);
            self.headers.push(CHECKSUM, &(!right).to_string());
        }
    }
}
