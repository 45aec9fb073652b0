//! Copies tables from one database to another.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};

use dynatwin_engine::StableHash;
use dynatwin_engine::attributes::{self, ItemRecord};
use serde_json::{Map, Value as Json, json};

use crate::database::{CallError, Database};
use crate::document;
use crate::load::{self, Keys, send};
use crate::seed::{Item, Table};
use crate::settings;

/// Items of a BatchWriteItem request.
const BATCH: usize = 25;

/// How often the state of a copy is saved.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);

/// The rates of items in a second that a copy can keep.
const RATES: RangeInclusive<f64> = 0.001..=1e9;

/// The settings of a copy.
///
/// ```
/// use dynatwin_seed::CopyOptions;
///
/// let options = CopyOptions { tables: vec!["Orders".into()], rate: Some(100.0), ..CopyOptions::default() };
/// assert!(options.verify);
/// ```
#[derive(Clone, Debug)]
pub struct CopyOptions {
    /// The tables to copy; all if there are none.
    pub tables: Vec<String>,
    /// Segments of the parallel Scan of a table.
    pub segments: usize,
    /// The most items that are written in a second, from 0.001 to 1,000,000,000.
    pub rate: Option<f64>,
    /// The file that stores the progress, so that an interrupted copy can be resumed.
    pub state: Option<PathBuf>,
    /// Whether both sides are read again and compared after the copy.
    pub verify: bool,
}

impl Default for CopyOptions {
    fn default() -> CopyOptions {
        CopyOptions {
            tables: Vec::new(),
            segments: 4,
            rate: None,
            state: None,
            verify: true,
        }
    }
}

/// The progress of a copy.
///
/// ```
/// use dynatwin_seed::CopyEvent;
///
/// let line = |event| match event {
///     CopyEvent::Begins { table, about } => format!("{table}: about {about} items"),
///     CopyEvent::Copied { items } => format!("{items} items"),
///     CopyEvent::Note { text } => text.to_owned(),
///     CopyEvent::Done { table, items, .. } => format!("{table}: {items} items"),
/// };
/// assert_eq!(line(CopyEvent::Copied { items: 25 }), "25 items");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyEvent<'a> {
    /// Copying a table's items starts; `about` is their number in its description, which may be six hours old.
    Begins {
        /// The name of the table.
        table: &'a str,
        /// Items by the table's description.
        about: u64,
    },
    /// Further items have been written.
    Copied {
        /// The number of items written since the last event.
        items: u64,
    },
    /// A part of a table could not be copied, or was left unchanged.
    Note {
        /// A sentence that describes it.
        text: &'a str,
    },
    /// A table has been copied, and compared if `verify` is set.
    Done {
        /// The name of the table.
        table: &'a str,
        /// The number of its items, or without `verify` the number that was written.
        items: u64,
        /// The checksum of its items, which is equal on both sides.
        checksum: Option<u64>,
    },
}

/// Copies tables with their indexes, stream settings, time to live, tags, recovery settings and Contributor Insights, then their
/// items by a parallel Scan and BatchWriteItem. Returns the number of items.
pub fn copy(
    from: &dyn Database,
    to: &dyn Database,
    options: &CopyOptions,
    report: &(dyn Fn(CopyEvent<'_>) + Sync),
) -> Result<u64, String> {
    if let Some(rate) = options.rate {
        check_rate(rate).map_err(|expected| format!("the rate must be {expected}, not {rate}"))?;
    }
    let tables = if options.tables.is_empty() {
        names(from).map_err(|error| error.to_string())?
    } else {
        options.tables.clone()
    };
    let state = Progress::open(options.state.as_deref())?;
    let mut copied = 0;
    for table in &tables {
        let of_table = |error: CallError| format!("{table}: {error}");
        let description = send(from, "DescribeTable", &json!({"TableName": table})).map_err(of_table)?;
        define(from, to, table, &description, report)?;
        let about = description["Table"]["ItemCount"].as_u64().unwrap_or_default();
        report(CopyEvent::Begins { table, about });
        let keys = Keys::of_description(table, &description["Table"]);
        let written = copy_items(from, to, &keys, options, &state, report)?;
        copied += written;
        let (mut items, mut checksum) = (written, None);
        if options.verify {
            let (source, copy) = (sum(from, &keys, options)?, sum(to, &keys, options)?);
            if source != copy {
                // Otherwise a resumed copy would skip the table, and differ again.
                state.forget(table)?;
                return Err(format!(
                    "{table}: the copy has {} items with checksum {:016x}, the source {} with {:016x}; it may have been written to meanwhile",
                    copy.items, copy.checksum, source.items, source.checksum
                ));
            }
            (items, checksum) = (source.items, Some(source.checksum));
        }
        report(CopyEvent::Done { table, items, checksum });
    }
    state.finish()?;
    Ok(copied)
}

/// Fails for a rate that a copy cannot keep. The error says what a rate is.
pub(crate) fn check_rate(rate: f64) -> Result<f64, String> {
    let (least, most) = (RATES.start(), RATES.end());
    let expected = || format!("a number of items a second from {least} to {most}");
    RATES.contains(&rate).then_some(rate).ok_or_else(expected)
}

/// The names of all tables.
pub(crate) fn names(database: &dyn Database) -> Result<Vec<String>, CallError> {
    let mut names = Vec::new();
    let mut body = json!({});
    loop {
        let page = send(database, "ListTables", &body)?;
        let listed = page["TableNames"].as_array().into_iter().flatten();
        names.extend(listed.filter_map(Json::as_str).map(str::to_owned));
        match &page["LastEvaluatedTableName"] {
            Json::String(last) => body = json!({"ExclusiveStartTableName": last}),
            _ => return Ok(names),
        }
    }
}

/// Creates a table with its source's settings, unless it exists with the same key schema.
fn define(
    from: &dyn Database,
    to: &dyn Database,
    name: &str,
    description: &Json,
    report: &(dyn Fn(CopyEvent<'_>) + Sync),
) -> Result<(), String> {
    let of_table = |error: CallError| format!("{name}: {error}");
    match send(to, "DescribeTable", &json!({"TableName": name})) {
        Ok(there) => {
            if there["Table"]["KeySchema"] != description["Table"]["KeySchema"] {
                return Err(format!(
                    "{name}: the destination has a table of this name with another key"
                ));
            }
            report(CopyEvent::Note {
                text: &format!("{name} already exists; its definition is not changed"),
            });
            return load::wait_until_created(to, name).map_err(of_table);
        }
        Err(error) if error.code == "ResourceNotFoundException" => {}
        Err(error) => return Err(of_table(error)),
    }
    let note = |text: &str| report(CopyEvent::Note { text });
    let definition = settings::definition(from, name, description, &note);
    let table = document::json(&definition.to_string())
        .and_then(|node| Table::of_definition(name, &node))
        .map_err(|problem| format!("{name}: {}", problem.message))?;
    load::create(to, &table, &note).map_err(of_table)
}

/// The progress of each segment of each table.
struct Progress {
    file: Option<PathBuf>,
    tables: Mutex<(BTreeMap<String, Vec<Segment>>, Instant)>,
}

/// The progress of a segment.
#[derive(Clone)]
enum Segment {
    /// After this key, or before the first.
    After(Option<Json>),
    Done,
}

impl Progress {
    fn open(file: Option<&Path>) -> Result<Progress, String> {
        let mut tables = BTreeMap::new();
        if let Some(path) = file.filter(|path| path.exists()) {
            let of_path = |error: String| format!("{}: {error}", path.display());
            let bytes = fs::read(path).map_err(|error| of_path(error.to_string()))?;
            let saved: Map<String, Json> =
                serde_json::from_slice(&bytes).map_err(|error| of_path(error.to_string()))?;
            for (table, segments) in saved {
                let segments = segments
                    .as_array()
                    .ok_or_else(|| of_path("not the state of a copy".into()))?;
                let read = segments.iter().map(|segment| match segment {
                    Json::String(_) => Segment::Done,
                    Json::Null => Segment::After(None),
                    key => Segment::After(Some(key.clone())),
                });
                tables.insert(table, read.collect());
            }
        }
        Ok(Progress {
            file: file.map(Path::to_owned),
            tables: Mutex::new((tables, Instant::now())),
        })
    }

    /// Returns the segments of a table, in the number with which the copy started.
    fn segments(&self, table: &str, count: usize) -> Vec<Segment> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || vec![Segment::After(None); count.max(1)];
        tables.0.entry(table.to_owned()).or_insert_with(fresh).clone()
    }

    fn set(&self, table: &str, segment: usize, to: Segment) -> Result<(), String> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let done = matches!(to, Segment::Done);
        if let Some(segments) = tables.0.get_mut(table) {
            segments[segment] = to;
        }
        if done || tables.1.elapsed() >= SAVE_INTERVAL {
            tables.1 = Instant::now();
            return self.save(&tables.0);
        }
        Ok(())
    }

    /// Forgets the progress of a table.
    fn forget(&self, table: &str) -> Result<(), String> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.0.remove(table);
        self.save(&tables.0)
    }

    fn save(&self, tables: &BTreeMap<String, Vec<Segment>>) -> Result<(), String> {
        let Some(path) = &self.file else { return Ok(()) };
        let segment = |segment: &Segment| match segment {
            Segment::Done => json!("done"),
            Segment::After(key) => key.clone().unwrap_or(Json::Null),
        };
        let tables = tables
            .iter()
            .map(|(table, segments)| (table.clone(), Json::Array(segments.iter().map(segment).collect())));
        let text = Json::Object(tables.collect()).to_string();
        let mut new = path.clone().into_os_string();
        new.push(".new");
        let written = fs::File::create(&new)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .and_then(|()| fs::rename(&new, path));
        written.map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Removes the file, because the copy is complete.
    fn finish(&self) -> Result<(), String> {
        match &self.file {
            Some(path) if path.exists() => {
                fs::remove_file(path).map_err(|error| format!("{}: {error}", path.display()))
            }
            _ => Ok(()),
        }
    }
}

/// Delays writers to limit the rate of items.
struct Pace {
    interval: Duration,
    next: Mutex<Instant>,
}

impl Pace {
    /// `rate` is one of [`RATES`].
    fn new(rate: f64) -> Pace {
        Pace {
            interval: Duration::from_secs_f64(1.0 / rate),
            next: Mutex::new(Instant::now()),
        }
    }

    fn wait(&self, items: usize) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = (*next).max(Instant::now());
        *next = begin + self.interval * items as u32;
        drop(next);
        thread::sleep(begin.saturating_duration_since(Instant::now()));
    }
}

fn copy_items(
    from: &dyn Database,
    to: &dyn Database,
    keys: &Keys,
    options: &CopyOptions,
    state: &Progress,
    report: &(dyn Fn(CopyEvent<'_>) + Sync),
) -> Result<u64, String> {
    let segments = state.segments(&keys.table, options.segments);
    let pace = options.rate.map(Pace::new);
    let counts = each_segment(segments.len(), |segment, stop| {
        let Segment::After(mut key) = segments[segment].clone() else {
            return Ok(0);
        };
        let mut copied = 0;
        loop {
            let page = page(from, keys, segment, segments.len(), key.as_ref())?;
            for batch in page.items.chunks(BATCH) {
                if stop.load(Ordering::Relaxed) {
                    return Ok(copied);
                }
                if let Some(pace) = &pace {
                    pace.wait(batch.len());
                }
                load::put(to, &keys.table, batch.to_vec()).map_err(|error| format!("{}: {error}", keys.table))?;
                copied += batch.len() as u64;
                report(CopyEvent::Copied {
                    items: batch.len() as u64,
                });
            }
            key = page.last;
            if key.is_none() {
                state.set(&keys.table, segment, Segment::Done)?;
                return Ok(copied);
            }
            state.set(&keys.table, segment, Segment::After(key.clone()))?;
        }
    })?;
    Ok(counts.iter().sum())
}

/// Runs a function for each segment on a separate thread. The flag is set once one of them has failed.
fn each_segment<T: Send>(
    count: usize,
    run: impl Fn(usize, &AtomicBool) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (run, stop) = (&run, &stop);
        let spawn = |segment| {
            scope.spawn(move || {
                let done = run(segment, stop);
                if done.is_err() {
                    stop.store(true, Ordering::Relaxed);
                }
                done
            })
        };
        let threads: Vec<_> = (0..count).map(spawn).collect();
        let results = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err("a thread of the copy panicked".into()))
        });
        results.collect()
    })
}

pub(crate) struct Page {
    pub items: Vec<Item>,
    pub last: Option<Json>,
}

pub(crate) fn page(
    database: &dyn Database,
    keys: &Keys,
    segment: usize,
    of: usize,
    after: Option<&Json>,
) -> Result<Page, String> {
    let mut body = json!({"TableName": keys.table, "ConsistentRead": true});
    if of > 1 {
        body["Segment"] = segment.into();
        body["TotalSegments"] = of.into();
    }
    if let Some(key) = after {
        body["ExclusiveStartKey"] = key.clone();
    }
    let mut answer = send(database, "Scan", &body).map_err(|error| format!("{}: {error}", keys.table))?;
    let items = match answer["Items"].take() {
        Json::Array(items) => items,
        _ => Vec::new(),
    };
    let objects = items.into_iter().filter_map(|item| match item {
        Json::Object(item) => Some(item),
        _ => None,
    });
    let last = answer["LastEvaluatedKey"].take();
    Ok(Page {
        items: objects.collect(),
        last: (!last.is_null()).then_some(last),
    })
}

/// A table's items: their number, and the sum of their hashes, which does not depend on their order.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    items: u64,
    checksum: u64,
}

fn sum(database: &dyn Database, keys: &Keys, options: &CopyOptions) -> Result<Sum, String> {
    let segments = options.segments.max(1);
    let sums = each_segment(segments, |segment, _| {
        let (mut sum, mut key) = (Sum::default(), None);
        loop {
            let page = page(database, keys, segment, segments, key.as_ref())?;
            for item in page.items {
                sum.items += 1;
                sum.checksum = sum.checksum.wrapping_add(hash(item)?);
            }
            key = page.last;
            if key.is_none() {
                return Ok(sum);
            }
        }
    })?;
    Ok(sums.iter().fold(Sum::default(), |total, sum| Sum {
        items: total.items + sum.items,
        checksum: total.checksum.wrapping_add(sum.checksum),
    }))
}

/// Returns the hash of an item's canonical form: equal items have equal hashes, whatever the notation of their numbers and sets.
fn hash(item: Item) -> Result<u64, String> {
    let record = json!({"Item": item}).to_string();
    let record = ItemRecord::read(record.as_bytes()).map_err(|error| format!("an item cannot be compared: {error}"))?;
    let attributes = record.item.unwrap_or_default();
    Ok(StableHash::new(0)
        .bytes(attributes::Item::new(&attributes).json())
        .finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is removed on drop, with those beside it.
    struct State(PathBuf);

    impl State {
        fn new(name: &str) -> State {
            let folder = std::env::temp_dir().join(format!("dynatwin-state-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).unwrap();
            State(folder.join("state.json"))
        }

        fn saved(&self) -> Option<String> {
            fs::read_to_string(&self.0).ok()
        }
    }

    impl Drop for State {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(self.0.parent().unwrap());
        }
    }

    /// The progress is saved when a segment is done, and otherwise when the interval has passed since it was last saved.
    #[test]
    fn progress_is_saved_after_an_interval() {
        let Some(earlier) = Instant::now().checked_sub(SAVE_INTERVAL) else {
            eprintln!("this machine has run for less than a second: nothing is tested");
            return;
        };
        let later = Instant::now() + Duration::from_hours(1);
        let after = |key: &str| Segment::After(Some(json!({"id": {"S": key}})));
        let file = State::new("interval");
        let progress = Progress::open(Some(&file.0)).unwrap();
        assert_eq!(progress.segments("Tab", 3).len(), 3);
        for (last_saved, segment, to, is_saved) in [
            (later, 1, after("a"), None),
            (
                earlier,
                0,
                after("b"),
                Some(r#"{"Tab":[{"id":{"S":"b"}},{"id":{"S":"a"}},null]}"#),
            ),
            (
                later,
                0,
                after("c"),
                Some(r#"{"Tab":[{"id":{"S":"b"}},{"id":{"S":"a"}},null]}"#),
            ),
            (
                later,
                1,
                Segment::Done,
                Some(r#"{"Tab":[{"id":{"S":"c"}},"done",null]}"#),
            ),
            (later, 0, after("d"), Some(r#"{"Tab":[{"id":{"S":"c"}},"done",null]}"#)),
        ] {
            progress.tables.lock().unwrap().1 = last_saved;
            progress.set("Tab", segment, to).unwrap();
            assert_eq!(file.saved().as_deref(), is_saved);
            assert_ne!(progress.tables.lock().unwrap().1, earlier);
        }
        progress.forget("Tab").unwrap();
        assert_eq!(file.saved().as_deref(), Some("{}"));
        progress.finish().unwrap();
        progress.finish().unwrap();
        assert_eq!(fs::read_dir(file.0.parent().unwrap()).unwrap().count(), 0);
        let without = Progress::open(None).unwrap();
        without.segments("Tab", 1);
        assert_eq!(
            (without.set("Tab", 0, Segment::Done), without.finish()),
            (Ok(()), Ok(()))
        );
    }

    /// A state is replaced as a whole, so that a copy that is killed while it saves leaves the state before.
    #[test]
    #[cfg(unix)]
    fn a_state_is_replaced_as_a_whole() {
        let file = State::new("replaced");
        fs::write(&file.0, r#"{"Tab": [null]}"#).unwrap();
        let before = file.0.with_file_name("before");
        fs::hard_link(&file.0, &before).unwrap();
        let progress = Progress::open(Some(&file.0)).unwrap();
        progress.set("Tab", 0, Segment::Done).unwrap();
        assert_eq!(file.saved().as_deref(), Some(r#"{"Tab":["done"]}"#));
        assert_eq!(fs::read_to_string(before).unwrap(), r#"{"Tab": [null]}"#);
    }

    #[test]
    fn states_are_read_as_they_are_saved() {
        let file = State::new("read");
        let text = r#"{"Other":["done"],"Tab":["done",null,{"id":{"S":"a"}}]}"#;
        fs::write(&file.0, text).unwrap();
        let progress = Progress::open(Some(&file.0)).unwrap();
        let segments = progress.segments("Tab", 7);
        assert!(matches!(
            segments.as_slice(),
            [Segment::Done, Segment::After(None), Segment::After(Some(key))] if *key == json!({"id": {"S": "a"}})
        ));
        assert_eq!(progress.segments("New", 0).len(), 1);
        progress.forget("New").unwrap();
        assert_eq!(file.saved().as_deref(), Some(text));
        for (text, message) in [
            ("", "EOF while parsing"),
            ("[]", "invalid type"),
            (r#"{"Tab": 1}"#, "not the state of a copy"),
        ] {
            fs::write(&file.0, text).unwrap();
            let error = Progress::open(Some(&file.0)).err().unwrap();
            assert!(
                error.starts_with(&format!("{}: {message}", file.0.display())),
                "{error}"
            );
        }
    }

    /// The batches of a copy follow each other at its rate, and an idle one does not save up.
    #[test]
    fn a_pace_counts_items() {
        let pace = Pace::new(1000.0);
        assert_eq!(pace.interval, Duration::from_millis(1));
        let next = || *pace.next.lock().unwrap();
        let soon = Instant::now() + Duration::from_millis(3);
        *pace.next.lock().unwrap() = soon;
        pace.wait(25);
        assert_eq!(next(), soon + Duration::from_millis(25));
        assert!(Instant::now() >= soon);
        if let Some(earlier) = soon.checked_sub(Duration::from_secs(1)) {
            *pace.next.lock().unwrap() = earlier;
            let begin = Instant::now();
            pace.wait(2);
            assert!(next() >= begin + Duration::from_millis(2));
        }
    }

    /// Equal items have equal checksums, however their numbers and sets are written, and different items have others.
    #[test]
    fn checksums_of_items() {
        let sum = |item: Json| hash(item.as_object().unwrap().clone()).unwrap();
        let first =
            json!({"id": {"S": "a"}, "n": {"N": "1.50"}, "s": {"SS": ["x", "y"]}, "m": {"M": {"a": {"NULL": true}}}});
        let with = |member: &str, value: Json| {
            let mut item = first.clone();
            item[member] = value;
            item
        };
        for same in [
            with("n", json!({"N": "15e-1"})),
            with("s", json!({"SS": ["y", "x"]})),
            json!({"s": first["s"], "m": first["m"], "n": first["n"], "id": first["id"]}),
        ] {
            assert_eq!(sum(same.clone()), sum(first.clone()), "{same}");
        }
        for other in [
            with("n", json!({"N": "1.51"})),
            with("n", json!({"S": "1.50"})),
            with("s", json!({"SS": ["x"]})),
            with("s", json!({"L": [{"S": "x"}, {"S": "y"}]})),
            with("m", json!({"M": {"a": {"BOOL": true}}})),
            with("more", json!({"S": ""})),
        ] {
            assert_ne!(sum(other.clone()), sum(first.clone()), "{other}");
        }
    }

    /// The other segments of a copy stop once one has failed.
    #[test]
    fn segments_stop_after_a_failure() {
        let begin = Instant::now();
        let run = |segment: usize, stop: &AtomicBool| {
            if segment == 1 {
                return Err("failed".to_owned());
            }
            while !stop.load(Ordering::Relaxed) {
                assert!(
                    begin.elapsed() < Duration::from_secs(10),
                    "segment {segment} is not stopped"
                );
                thread::yield_now();
            }
            Ok(segment)
        };
        assert_eq!(each_segment(3, run), Err("failed".to_owned()));
        let run = |segment: usize, stop: &AtomicBool| Ok((segment, stop.load(Ordering::Relaxed)));
        assert_eq!(each_segment(3, run), Ok(vec![(0, false), (1, false), (2, false)]));
    }
}
