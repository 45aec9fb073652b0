//! Creates tables and writes items.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dynatwin_engine::controls::AccountControls;
use dynatwin_engine::{Caller, Engine};
use serde_json::{Map, Value as Json, json};

use crate::database::{CallError, Database, InProcess};
use crate::error::Error;
use crate::seed::{Attributes, Item, Seed, SeedItem, Table};

/// Items of a BatchWriteItem request.
const BATCH: usize = 25;

/// The maximum number of retries of a request that was throttled or not answered.
const ATTEMPTS: u32 = 10;

/// The maximum number of times that a table is described until it is active.
const POLLS: u32 = 600;

/// The pause between two descriptions.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The numbers of tables and items that were loaded.
///
/// ```
/// use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// use dynatwin_seed::{Existing, Loaded, Seed, load_engine};
///
/// let clock = Clock::settable(Moment::START);
/// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::AWS, shared_db: false });
/// let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// let file = br#"{"tables": [{"TableName": "Users",
///     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
///     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
///     "Items": [{"id": "a", "age": 30}, {"id": "b"}]}]}"#;
/// let loaded = load_engine(&engine, &caller, Seed::parse("users.json", file)?, Existing::Refuse)?;
/// assert_eq!(loaded, Loaded { tables: 1, items: 2 });
/// # Ok::<(), dynatwin_seed::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The number of tables created.
    pub tables: usize,
    /// The number of items written.
    pub items: usize,
}

/// The treatment of tables that exist already.
///
/// ```
/// use dynatwin_seed::Existing;
///
/// assert_eq!(Existing::default(), Existing::Refuse);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Fails with the error `ResourceInUseException` of CreateTable.
    #[default]
    Refuse,
    /// Writes the seed's items to the existing table.
    Fill,
    /// Leaves the table and its items unchanged.
    Skip,
}

/// Loads tables and items into an engine. Whatever the engine's conditions are, loading takes no time, and nothing is throttled
/// or late. Meanwhile the tables that are written to are under the conditions of
/// [`while_loading`](AccountControls::while_loading): expired items are deleted as before, and other tables are not affected.
pub fn load_engine(engine: &Engine, caller: &Caller, seed: Seed, existing: Existing) -> Result<Loaded, Error> {
    let there: HashSet<String> = match existing {
        Existing::Skip => engine.tables(caller).into_iter().collect(),
        Existing::Refuse | Existing::Fill => HashSet::new(),
    };
    let created: HashSet<&str> = seed.tables.iter().map(|table| table.name.as_str()).collect();
    let is_skipped = |name: &str| created.contains(name) && there.contains(name);
    let named = created
        .iter()
        .copied()
        .chain(seed.items.iter().map(|items| items.table.as_str()));
    let written: BTreeSet<_> = named.filter(|name| !is_skipped(name)).map(str::to_owned).collect();
    let written: Vec<_> = written.into_iter().collect();
    AccountControls::new(engine, caller.clone()).while_loading(&written, || {
        load(&InProcess::new(engine, caller), seed, existing, &|_| ())
    })
}

/// Creates the tables, waits until they are active, and writes the items. A table that several files define alike is created
/// once. Calls `note` with a sentence for each setting that the database does not support, and for each table that exists.
pub fn load(database: &dyn Database, seed: Seed, existing: Existing, note: &dyn Fn(&str)) -> Result<Loaded, Error> {
    let mut loaded = Loaded::default();
    let mut skipped = HashSet::new();
    let mut created: HashMap<&str, &Table> = HashMap::new();
    for table in &seed.tables {
        let own = created.get(table.name.as_str());
        if own.is_some_and(|own| own.is_defined_like(table)) {
            continue;
        }
        match create(database, table, note) {
            Ok(()) => {
                loaded.tables += 1;
                created.insert(&table.name, table);
            }
            Err(error) if error.code == "ResourceInUseException" && existing == Existing::Fill => {
                note(&format!("{} already exists; its definition is not changed", table.name));
                wait_until_created(database, &table.name).map_err(|error| table.refused(&error))?;
            }
            Err(error) if error.code == "ResourceInUseException" && existing == Existing::Skip && own.is_none() => {
                skipped.insert(table.name.clone());
            }
            Err(error) => return Err(table.refused(&error)),
        }
    }
    for items in seed.items {
        if skipped.contains(&items.table) {
            continue;
        }
        let keys = Keys::of(database, &items.table)
            .map_err(|error| Error::new(format!("table {}", items.table), error.to_string()))?;
        let mut batch = Vec::with_capacity(BATCH);
        for item in items.items {
            batch.push(keys.item(item?));
            loaded.items += 1;
            if batch.len() == BATCH {
                write(database, &keys, std::mem::take(&mut batch))?;
            }
        }
        write(database, &keys, batch)?;
    }
    Ok(loaded)
}

impl Table {
    fn refused(&self, error: &CallError) -> Error {
        let described = Error::new(&self.file, format!("table {}: {error}", self.name));
        if self.line == 0 {
            described
        } else {
            described.at_line(self.line)
        }
    }
}

/// Creates a table, and sets its TTL, recovery and insights. Calls `note` with a sentence for each that the database does not
/// support.
pub(crate) fn create(database: &dyn Database, table: &Table, note: &dyn Fn(&str)) -> Result<(), CallError> {
    send(database, "CreateTable", &Json::Object(table.create.clone()))?;
    wait_until_created(database, &table.name)?;
    for (operation, body, what) in settings(table) {
        match send(database, operation, &body) {
            Err(error) if error.is_unknown_operation() => {
                note(&format!(
                    "{}: {what} not set, because the destination does not support {operation}",
                    table.name
                ));
            }
            answer => answer.map(|_| ())?,
        }
    }
    Ok(())
}

/// Returns the requests that set what CreateTable cannot set: operation, body, and the beginning of a sentence about it.
fn settings(table: &Table) -> Vec<(&'static str, Json, &'static str)> {
    let mut requests = Vec::new();
    if let Some(attribute) = &table.time_to_live {
        let specification = json!({"Enabled": true, "AttributeName": attribute});
        let body = json!({"TableName": table.name, "TimeToLiveSpecification": specification});
        requests.push(("UpdateTimeToLive", body, "time to live is"));
    }
    if let Some(specification) = &table.recovery {
        let body = json!({"TableName": table.name, "PointInTimeRecoverySpecification": specification});
        requests.push(("UpdateContinuousBackups", body, "point-in-time recovery is"));
    }
    for insights in &table.insights {
        let mut body = Json::Object(insights.clone());
        body["TableName"] = table.name.as_str().into();
        body["ContributorInsightsAction"] = "ENABLE".into();
        requests.push(("UpdateContributorInsights", body, "Contributor Insights are"));
    }
    requests
}

/// Waits until a table is no longer being created. A table that is being updated can be written to.
pub(crate) fn wait_until_created(database: &dyn Database, table: &str) -> Result<(), CallError> {
    for _ in 0..POLLS {
        let described = send(database, "DescribeTable", &json!({"TableName": table}))?;
        if described["Table"]["TableStatus"] != "CREATING" {
            return Ok(());
        }
        database.pause(POLL_INTERVAL);
    }
    Err(CallError {
        code: String::new(),
        message: "the table does not become active".into(),
    })
}

/// Sends a request, again if it was throttled or not answered.
pub(crate) fn send(database: &dyn Database, operation: &str, body: &Json) -> Result<Json, CallError> {
    let mut attempt = 0;
    loop {
        match database.call(operation, body) {
            Err(error) if error.is_transient() && attempt < ATTEMPTS => {
                database.pause(backoff(attempt));
                attempt += 1;
            }
            answer => return answer,
        }
    }
}

/// The wait before an attempt: 50 ms doubled with each, at most 10 s.
pub(crate) fn backoff(attempt: u32) -> Duration {
    Duration::from_millis(50 << attempt.min(8)).min(Duration::from_secs(10))
}

/// The key attributes of a table, with their types.
pub(crate) struct Keys {
    pub table: String,
    names: Vec<String>,
    types: BTreeMap<String, String>,
}

impl Keys {
    /// The keys of an existing table.
    pub fn of(database: &dyn Database, table: &str) -> Result<Keys, CallError> {
        let described = send(database, "DescribeTable", &json!({"TableName": table}))?;
        Ok(Keys::of_description(table, &described["Table"]))
    }

    pub fn of_description(table: &str, description: &Json) -> Keys {
        let each = |list: &str| description[list].as_array().cloned().unwrap_or_default();
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let names = each("KeySchema")
            .iter()
            .map(|key| text(&key["AttributeName"]))
            .collect();
        let definitions = each("AttributeDefinitions");
        let types = definitions
            .iter()
            .map(|definition| (text(&definition["AttributeName"]), text(&definition["AttributeType"])));
        Keys {
            table: table.to_owned(),
            names,
            types: types.collect(),
        }
    }

    /// The key of an item, for comparison.
    pub fn key(&self, item: &Item) -> Item {
        let parts = self
            .names
            .iter()
            .filter_map(|name| Some((name.clone(), item.get(name)?.clone())));
        parts.collect()
    }

    fn item(&self, item: SeedItem) -> Line {
        let attributes = match item.attributes {
            Attributes::Typed(attributes) => attributes,
            Attributes::Texts(texts) => texts
                .into_iter()
                .map(|(name, text)| {
                    let kind = self.types.get(&name).map_or("S", String::as_str);
                    let text = if kind == "B" && STANDARD.decode(&text).is_err() {
                        STANDARD.encode(&text)
                    } else {
                        text
                    };
                    (name, json!({ kind: text }))
                })
                .collect(),
        };
        Line {
            file: item.file,
            number: item.line,
            attributes,
        }
    }
}

/// An item in DynamoDB JSON, and its location.
struct Line {
    file: String,
    number: usize,
    attributes: Item,
}

/// Writes items by BatchWriteItem, and one by one if the batch is refused, so that the error names the invalid item.
fn write(database: &dyn Database, keys: &Keys, lines: Vec<Line>) -> Result<(), Error> {
    if lines.is_empty() {
        return Ok(());
    }
    let mut seen = HashSet::new();
    let distinct = lines
        .iter()
        .all(|line| seen.insert(Json::Object(keys.key(&line.attributes)).to_string()));
    let items = lines.iter().map(|line| line.attributes.clone());
    if distinct && put(database, &keys.table, items.collect()).is_ok() {
        return Ok(());
    }
    for line in lines {
        let body = json!({"TableName": keys.table, "Item": line.attributes});
        send(database, "PutItem", &body).map_err(|error| {
            let described = Error::new(line.file, error.to_string());
            if line.number == 0 {
                described
            } else {
                described.at_line(line.number)
            }
        })?;
    }
    Ok(())
}

/// Puts up to 25 items with different keys, and retries unprocessed ones.
pub(crate) fn put(database: &dyn Database, table: &str, items: Vec<Item>) -> Result<(), CallError> {
    let requests = items.into_iter().map(|item| json!({"PutRequest": {"Item": item}}));
    let mut requests = Json::Array(requests.collect());
    for attempt in 0.. {
        let mut by_table = Map::new();
        by_table.insert(table.to_owned(), requests);
        let answer = send(database, "BatchWriteItem", &json!({"RequestItems": by_table}))?;
        let left = answer["UnprocessedItems"]
            .as_object()
            .and_then(|left| left.values().next());
        match left {
            Some(left) if left.as_array().is_some_and(|left| !left.is_empty()) => requests = left.clone(),
            _ => break,
        }
        if attempt == ATTEMPTS {
            return Err(CallError {
                code: "ProvisionedThroughputExceededException".into(),
                message: "items stay unprocessed".into(),
            });
        }
        database.pause(backoff(attempt));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn waits_between_attempts() {
        for (attempt, millis) in [
            (0, 50),
            (1, 100),
            (5, 1600),
            (7, 6400),
            (8, 10_000),
            (9, 10_000),
            (1000, 10_000),
        ] {
            assert_eq!(backoff(attempt), Duration::from_millis(millis), "attempt {attempt}");
        }
    }

    /// A database that gives these answers to one operation, the last of them again and again, and empty ones to others. It
    /// records the operations, the requests of this one, and the pauses.
    struct Scripted {
        operation: &'static str,
        operations: Mutex<Vec<String>>,
        answers: Mutex<Vec<Result<Json, CallError>>>,
        requests: Mutex<Vec<Json>>,
        pauses: Mutex<Vec<Duration>>,
    }

    impl Scripted {
        fn new(operation: &'static str, answers: impl IntoIterator<Item = Result<Json, CallError>>) -> Scripted {
            let mut answers: Vec<_> = answers.into_iter().collect();
            answers.reverse();
            Scripted {
                operation,
                operations: Mutex::default(),
                answers: Mutex::new(answers),
                requests: Mutex::default(),
                pauses: Mutex::default(),
            }
        }

        fn seen(self) -> (Vec<Json>, Vec<Duration>) {
            (self.requests.into_inner().unwrap(), self.pauses.into_inner().unwrap())
        }
    }

    impl Database for Scripted {
        fn call(&self, operation: &str, body: &Json) -> Result<Json, CallError> {
            self.operations.lock().unwrap().push(operation.to_owned());
            if operation != self.operation {
                return Ok(json!({}));
            }
            self.requests.lock().unwrap().push(body.clone());
            let mut answers = self.answers.lock().unwrap();
            let last = answers.last().unwrap().clone();
            if answers.len() > 1 {
                answers.pop();
            }
            last
        }

        fn pause(&self, time: Duration) {
            self.pauses.lock().unwrap().push(time);
        }
    }

    fn error(code: &str) -> CallError {
        CallError {
            code: code.into(),
            message: "m".into(),
        }
    }

    fn table(line: usize) -> Table {
        Table {
            file: "x.json".into(),
            line,
            name: "T".into(),
            create: json!({"TableName": "T"}).as_object().unwrap().clone(),
            time_to_live: None,
            recovery: None,
            insights: Vec::new(),
        }
    }

    /// The pauses of a request that is sent again this many times.
    fn backoffs(count: u32) -> Vec<Duration> {
        (0..count).map(backoff).collect()
    }

    /// A request that may succeed later is sent again up to ten times, after pauses that grow.
    #[test]
    fn transient_errors_are_retried() {
        for (code, failures, retries, is_success) in [
            ("ThrottlingException", 0, 0, true),
            ("ThrottlingException", 1, 1, true),
            ("", 3, 3, true),
            ("InternalServerError", 10, 10, true),
            ("ThrottlingException", 11, 10, false),
            ("", 30, 10, false),
            ("ValidationException", 1, 0, false),
            ("AccessDeniedException", 3, 0, false),
        ] {
            let answers = (0..failures).map(|_| Err(error(code)));
            let database = Scripted::new("Scan", answers.chain([Ok(json!({"Count": 1}))]));
            let answer = send(&database, "Scan", &json!({"TableName": "T"}));
            let expected = if is_success {
                Ok(json!({"Count": 1}))
            } else {
                Err(error(code))
            };
            assert_eq!(answer, expected, "{failures} of {code}");
            let (requests, pauses) = database.seen();
            assert_eq!(
                requests,
                vec![json!({"TableName": "T"}); retries + 1],
                "{failures} of {code}"
            );
            assert_eq!(pauses, backoffs(retries as u32), "{failures} of {code}");
        }
    }

    /// What a batch leaves is sent again up to ten times, after pauses that grow.
    #[test]
    fn unprocessed_items_are_sent_again() {
        let item = |id: &str| json!({"id": {"S": id}}).as_object().unwrap().clone();
        let requests = |ids: &[&str]| {
            let requests = ids.iter().map(|id| json!({"PutRequest": {"Item": item(id)}}));
            Json::Array(requests.collect())
        };
        let left = |ids: &[&str]| Ok(json!({"UnprocessedItems": {"T": requests(ids)}}));
        let batch = |ids: &[&str]| json!({"RequestItems": {"T": requests(ids)}});
        for (answers, expected) in [
            (vec![Ok(json!({"UnprocessedItems": {}}))], vec![batch(&["a", "b", "c"])]),
            (vec![Ok(json!({}))], vec![batch(&["a", "b", "c"])]),
            (vec![left(&[])], vec![batch(&["a", "b", "c"])]),
            (
                vec![left(&["b", "c"]), left(&["c"]), Ok(json!({"UnprocessedItems": {}}))],
                vec![batch(&["a", "b", "c"]), batch(&["b", "c"]), batch(&["c"])],
            ),
        ] {
            let database = Scripted::new("BatchWriteItem", answers);
            assert_eq!(put(&database, "T", ["a", "b", "c"].map(item).to_vec()), Ok(()));
            let (requests, pauses) = database.seen();
            assert_eq!(pauses, backoffs(expected.len() as u32 - 1));
            assert_eq!(requests, expected);
        }
        for (count, is_success) in [(ATTEMPTS, true), (ATTEMPTS + 1, false)] {
            let answers = (0..count).map(|_| left(&["a"]));
            let database = Scripted::new("BatchWriteItem", answers.chain([Ok(json!({}))]));
            let written = put(&database, "T", vec![item("a")]);
            let message = "ProvisionedThroughputExceededException: items stay unprocessed";
            let expected = if is_success { Ok(()) } else { Err(message.to_owned()) };
            assert_eq!(written.map_err(|error| error.to_string()), expected, "{count}");
            let (requests, pauses) = database.seen();
            assert_eq!((requests.len(), pauses), (11, backoffs(10)), "{count}");
        }
    }

    /// A table is described every second until it is active, for ten minutes.
    #[test]
    fn a_load_waits_until_the_table_is_active() {
        let status = |status: &str| Ok(json!({"Table": {"TableStatus": status}}));
        for (waits, is_active) in [(0, true), (1, true), (3, true), (599, true), (600, false), (700, false)] {
            let answers = (0..waits).map(|_| status("CREATING"));
            let database = Scripted::new("DescribeTable", answers.chain([status("ACTIVE")]));
            let created = create(&database, &table(1), &|_| ());
            let message = "the table does not become active".to_owned();
            let expected = if is_active { Ok(()) } else { Err(message) };
            assert_eq!(created.map_err(|error| error.to_string()), expected, "{waits}");
            let (requests, pauses) = database.seen();
            let descriptions = if is_active { waits + 1 } else { 600 };
            assert_eq!(requests, vec![json!({"TableName": "T"}); descriptions], "{waits}");
            assert_eq!(pauses, vec![Duration::from_secs(1); waits.min(600)], "{waits}");
        }
    }

    fn line(number: usize, id: usize) -> Line {
        Line {
            file: "x.json".into(),
            number,
            attributes: json!({"id": {"N": id.to_string()}}).as_object().unwrap().clone(),
        }
    }

    fn keys() -> Keys {
        Keys::of_description("T", &json!({"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}))
    }

    /// Items are sent as a batch; one that is refused or has a key twice is sent item by item.
    #[test]
    fn items_are_sent_as_a_batch() {
        for (ids, answer, expected) in [
            (&[][..], Ok(json!({})), &[][..]),
            (&[1], Ok(json!({})), &["BatchWriteItem"]),
            (&[1, 2, 3], Ok(json!({})), &["BatchWriteItem"]),
            (&[1, 2, 1], Ok(json!({})), &["PutItem", "PutItem", "PutItem"]),
            (
                &[1, 2],
                Err(error("ValidationException")),
                &["BatchWriteItem", "PutItem", "PutItem"],
            ),
        ] {
            let database = Scripted::new("BatchWriteItem", [answer]);
            write(&database, &keys(), ids.iter().map(|id| line(1, *id)).collect()).unwrap();
            assert_eq!(*database.operations.lock().unwrap(), expected, "{ids:?}");
        }
    }

    /// A refused item or table is named with its file, and its line if the file has lines.
    #[test]
    fn refusals_name_the_line_of_a_file_that_has_lines() {
        for (number, expected) in [
            (
                0,
                [
                    "x.json: ValidationException: m",
                    "x.json: table T: ValidationException: m",
                ],
            ),
            (
                1,
                [
                    "x.json:1: ValidationException: m",
                    "x.json:1: table T: ValidationException: m",
                ],
            ),
            (
                7,
                [
                    "x.json:7: ValidationException: m",
                    "x.json:7: table T: ValidationException: m",
                ],
            ),
        ] {
            let database = Scripted::new("PutItem", [Ok(json!({})), Err(error("ValidationException"))]);
            let refused = write(&database, &keys(), vec![line(3, 1), line(number, 1), line(9, 1)]);
            assert_eq!(refused.unwrap_err().to_string(), expected[0]);
            let refused = table(number).refused(&error("ValidationException"));
            assert_eq!(refused.to_string(), expected[1]);
        }
    }
}
