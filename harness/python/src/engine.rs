//! The engine as a Python class. Every call that handles a request releases the GIL.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use dynatwin_engine::controls::{self, ControlError, Json};
use dynatwin_engine::http::{Answer, AnswerHeaders, Delivery, Headers, HttpRequest, StillDelay};
use dynatwin_engine::json::{List, Object, Writer};
use dynatwin_engine::monitoring::Spent;
use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
use dynatwin_files::Buckets;
use dynatwin_server::system_time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::snapshot::Snapshot;

/// Status, headers, body, the moment of delivery in microseconds since 1970, the kind of delivery, and the number of
/// delivered bytes if it is `truncated`.
type Reply<'py> = (
    u16,
    Vec<(String, String)>,
    Bound<'py, PyBytes>,
    i64,
    &'static str,
    usize,
);

const INTERNAL_ERROR: &[u8] =
    br#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"Internal server error"}"#;

/// A Python class over the engine.
#[pyclass(frozen, name = "Engine", module = "dynatwin._dynatwin")]
pub struct PyEngine(Arc<Engine>);

#[pymethods]
impl PyEngine {
    /// Creates an engine without tables. `conditions` is JSON. `start` is the clock's first moment. Without `speed` the
    /// clock is settable; otherwise it runs at that multiple of the system clock's speed.
    #[new]
    fn new(
        seed: u64,
        conditions: &[u8],
        settable: bool,
        start: Option<&str>,
        speed: Option<f64>,
        shared_tables: bool,
        buckets: Option<std::path::PathBuf>,
    ) -> PyResult<PyEngine> {
        let conditions = Json::read(conditions).and_then(|json| controls::read_conditions(&json, &Conditions::CALM));
        let conditions = conditions.map_err(refused)?;
        let start = start.map(controls::moment).transpose().map_err(refused)?;
        let clock = match (settable, start, speed) {
            (true, start, _) => Clock::settable(start.unwrap_or(Moment::START)),
            (false, None, None) => Clock::system(system_time),
            (false, start, speed) => {
                Clock::accelerated(system_time, start.unwrap_or_else(system_time), speed.unwrap_or(1.0))
            }
        };
        let engine = Engine::new(Settings {
            clock,
            seed,
            conditions,
            shared_db: shared_tables,
        });
        Ok(PyEngine(Arc::new(match buckets {
            Some(folder) => engine.with_object_store(Arc::new(Buckets::at(folder))),
            None => engine,
        })))
    }

    /// Handles an HTTP request and returns its answer, without waiting for its delay.
    fn handle<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        target: &str,
        headers: Vec<(String, HeaderValue)>,
        body: &[u8],
    ) -> Reply<'py> {
        let headers = RequestHeaders(headers);
        let answer = py.detach(|| {
            let request = HttpRequest {
                method,
                target,
                headers: &headers,
                body,
            };
            catch_panic(&self.0, |engine| engine.handle(&request))
        });
        reply(py, answer)
    }

    /// Handles a request without the HTTP envelope.
    fn dispatch<'py>(&self, py: Python<'py>, access_key: &str, region: &str, target: &str, body: &[u8]) -> Reply<'py> {
        let caller = caller(access_key, region);
        let answer = py.detach(|| catch_panic(&self.0, |engine| engine.dispatch(&caller, target, body)));
        reply(py, answer)
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed()
    }

    /// Returns the clock's moment in microseconds since 1970.
    fn now(&self) -> i64 {
        self.0.clock().now().micros()
    }

    /// Advances the clock by microseconds, and applies due work.
    fn advance(&self, py: Python<'_>, micros: u64) {
        py.detach(|| self.0.advance(Duration::from_micros(micros)));
    }

    /// Sets the clock to a moment in microseconds since 1970, and applies due work; returns whether the moment was in
    /// the future.
    fn set(&self, py: Python<'_>, micros: i64) -> bool {
        py.detach(|| {
            let ahead = self.0.clock().set(Moment::from_micros(micros));
            self.0.run_due();
            ahead
        })
    }

    fn freeze(&self) {
        self.0.clock().freeze();
    }

    fn unfreeze(&self) {
        self.0.clock().unfreeze();
    }

    #[getter]
    fn frozen(&self) -> bool {
        self.0.clock().is_frozen()
    }

    #[getter]
    fn settable(&self) -> bool {
        self.0.clock().is_settable()
    }

    /// Returns the clock's seconds per second of the system clock; `None` if it stands still.
    #[getter]
    fn speed(&self) -> Option<f64> {
        self.0.clock().speed()
    }

    /// Returns the moment of the next due work, in microseconds since 1970.
    fn next_due(&self) -> Option<i64> {
        let due = self.0.next_due();
        (due != Moment::NEVER).then(|| due.micros())
    }

    /// Applies all work that is due at the clock's moment.
    fn run_due(&self, py: Python<'_>) {
        py.detach(|| self.0.run_due());
    }

    /// Returns the names of a caller's tables.
    fn tables(&self, py: Python<'_>, access_key: &str, region: &str) -> Vec<String> {
        let caller = caller(access_key, region);
        py.detach(|| self.0.tables(&caller))
    }

    /// Returns all items of a table as a JSON list; `None` if the table does not exist.
    fn items<'py>(&self, py: Python<'py>, access_key: &str, region: &str, table: &str) -> Option<Bound<'py, PyBytes>> {
        let caller = caller(access_key, region);
        let json = py.detach(|| {
            let items = self.0.items(&caller, table)?;
            let mut writer = Writer::new();
            let mut list = List::open(&mut writer);
            items.iter().for_each(|item| list.item(item));
            list.close();
            Some(writer.finish())
        })?;
        Some(PyBytes::new(py, &json))
    }

    /// Returns the tables with all their settings and data, the conditions and the clock's moment. Fault rules and
    /// recorded requests are not part of it.
    fn snapshot(&self, py: Python<'_>) -> Snapshot {
        py.detach(|| Snapshot(self.0.snapshot()))
    }

    /// Resets the engine, and then restores a snapshot of it or of another engine.
    fn restore(&self, py: Python<'_>, snapshot: &Snapshot) -> PyResult<()> {
        let restored = py.detach(|| self.0.restore(&snapshot.0));
        restored.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Starts to record the capacity that a caller's tables consume.
    fn meter(&self, access_key: &str, region: &str) -> Meter {
        Meter(dynatwin_engine::Meter::new(
            Arc::clone(&self.0),
            caller(access_key, region),
        ))
    }
}

/// The capacity that a caller's tables have consumed since the meter was created.
#[pyclass(frozen, module = "dynatwin._dynatwin")]
pub struct Meter(dynatwin_engine::Meter<Arc<Engine>>);

#[pymethods]
impl Meter {
    /// Returns the consumed capacity, as a JSON list with `table`, `index`, `read` and `write`.
    fn spent<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut writer = Writer::new();
        let mut list = List::open(&mut writer);
        self.0
            .spent()
            .iter()
            .for_each(|spent| write_spent(spent, list.object()));
        list.close();
        PyBytes::new(py, &writer.finish())
    }
}

fn write_spent(spent: &Spent, mut object: Object<'_>) {
    object.string("table", &spent.table);
    if let Some(index) = &spent.index {
        object.string("index", index);
    }
    object.double("read", spent.read.as_f64());
    object.double("write", spent.write.as_f64());
    object.close();
}

/// A header's value: botocore uses bytes, and users write text.
#[derive(FromPyObject)]
enum HeaderValue {
    Bytes(Vec<u8>),
    Text(String),
}

struct RequestHeaders(Vec<(String, HeaderValue)>);

impl RequestHeaders {
    fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let same = move |(header, _): &&(String, HeaderValue)| header.eq_ignore_ascii_case(name);
        self.0.iter().filter(same).map(|(_, value)| match value {
            HeaderValue::Bytes(bytes) => bytes.as_slice(),
            HeaderValue::Text(text) => text.as_bytes(),
        })
    }
}

impl Headers for RequestHeaders {
    fn get(&self, name: &str) -> Option<&[u8]> {
        self.values(name).next()
    }

    fn joined(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let values: Vec<_> = self.values(name).collect();
        (!values.is_empty()).then(|| values.join(&b',').into())
    }
}

/// Handles a request. A panic becomes a 500 for that request, as in the server.
fn catch_panic(engine: &Engine, request: impl FnOnce(&Engine) -> Answer) -> Answer {
    catch_unwind(AssertUnwindSafe(|| request(engine))).unwrap_or_else(|_| Answer {
        status: 500,
        headers: AnswerHeaders::from([("content-type", "application/x-amz-json-1.0")]),
        body: INTERNAL_ERROR.into(),
        at: engine.clock().now(),
        still: StillDelay::default(),
        delivery: Delivery::Whole,
        note: None,
    })
}

fn reply(py: Python<'_>, answer: Answer) -> Reply<'_> {
    let (delivery, bytes) = match answer.delivery {
        Delivery::Whole => ("whole", answer.body.len()),
        Delivery::Truncated(bytes) => ("truncated", bytes),
        Delivery::Reset => ("reset", 0),
        Delivery::Lost => ("lost", 0),
    };
    let headers = answer
        .headers
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let body = PyBytes::new(py, &answer.body);
    (
        answer.status,
        headers.collect(),
        body,
        answer.at.micros(),
        delivery,
        bytes,
    )
}

fn refused(refusal: ControlError) -> PyErr {
    PyValueError::new_err(refusal.to_string())
}

fn caller(access_key: &str, region: &str) -> Caller {
    Caller {
        access_key: access_key.into(),
        region: region.into(),
    }
}
