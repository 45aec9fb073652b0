//! JSON of conditions.

use std::time::Duration;

use super::json::{Json, Members, shortened};
use super::{ControlError, ControlResult, write_number};
use crate::clock::Moment;
use crate::conditions::{Capacity, Conditions, Enforcement, Lag, Latency, Shards, TimeToLive};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// The longest accepted time: ten thousand years.
const LONGEST: Duration = Duration::from_hours(10_000 * 366 * 24);

/// Parses a moment such as `2026-01-01T00:00:00Z`.
pub fn moment(text: &str) -> ControlResult<Moment> {
    Moment::parse(text).ok_or_else(|| {
        let text = shortened(text);
        ControlError::malformed(format!("\"{text}\" is not a time such as 2026-01-01T00:00:00Z."))
    })
}

/// A length of time in seconds.
pub fn seconds(what: &str, sent: f64) -> ControlResult<Duration> {
    let length = if sent.is_finite() && sent > LONGEST.as_secs_f64() {
        Ok(LONGEST)
    } else {
        Duration::try_from_secs_f64(sent)
    };
    length.map_err(|_| ControlError::malformed(format!("{what} must be a number of seconds from 0, not {sent}.")))
}

/// Reads a name, or an object whose members replace those of its `base`; without a `base`, those of `current`.
pub fn read_conditions(sent: &Json, current: &Conditions) -> ControlResult<Conditions> {
    if let Some(name) = sent.text() {
        return named(name);
    }
    let known = [
        "base",
        "timeToLive",
        "indexPropagation",
        "readStaleness",
        "staleReads",
        "monotonicReads",
        "transactionTime",
        "replicationLag",
        "regionRoundTrip",
        "streamLag",
        "streamShards",
        "tableStatus",
        "statisticsAge",
        "itemCollectionSize",
        "streamBytes",
        "recoveryBytes",
        "capacity",
        "controlLimits",
        "latency",
        "internalErrors",
        "throttles",
    ];
    let members = Members::of("conditions", sent, &known)?;
    let mut conditions = match members.text("base")? {
        Some(name) => named(name)?,
        None => *current,
    };
    match members.get("timeToLive") {
        Some(sent) if sent.text() == Some("off") => conditions.time_to_live = TimeToLive::Off,
        Some(sent) if !is_lag(sent) => return Err(not_a_lag("timeToLive", "\"off\", ")),
        Some(sent) => conditions.time_to_live = TimeToLive::Deletes(read_lag("timeToLive", sent)?),
        None => {}
    }
    for (name, lag) in [
        ("indexPropagation", &mut conditions.index_propagation),
        ("readStaleness", &mut conditions.read_staleness),
        ("transactionTime", &mut conditions.transaction_time),
        ("replicationLag", &mut conditions.replication_lag),
        ("regionRoundTrip", &mut conditions.region_round_trip),
        ("streamLag", &mut conditions.stream_lag),
        ("tableStatus", &mut conditions.table_status),
    ] {
        if let Some(sent) = members.get(name) {
            *lag = read_lag(name, sent)?;
        }
    }
    if let Some(sent) = members.get("streamShards") {
        conditions.stream_shards = read_shards(sent)?;
    }
    if let Some(age) = members.number("statisticsAge")? {
        conditions.statistics_age = seconds("statisticsAge", age)?;
    }
    let collection = members.count("itemCollectionSize")?;
    conditions.item_collection_size = collection.unwrap_or(conditions.item_collection_size);
    for (name, limit) in [
        ("streamBytes", &mut conditions.stream_bytes),
        ("recoveryBytes", &mut conditions.recovery_bytes),
    ] {
        if let Some(sent) = members.get(name) {
            *limit = read_limit(name, sent)?;
        }
    }
    if let Some(sent) = members.get("capacity") {
        conditions.capacity = read_capacity(sent, conditions.capacity)?;
    }
    if let Some(sent) = members.get("latency") {
        conditions.latency = read_latency(sent, conditions.latency)?;
    }
    conditions.monotonic_reads = members.flag("monotonicReads")?.unwrap_or(conditions.monotonic_reads);
    conditions.stale_reads = members.share("staleReads")?.unwrap_or(conditions.stale_reads);
    conditions.control_limits = members.flag("controlLimits")?.unwrap_or(conditions.control_limits);
    conditions.internal_errors = members.share("internalErrors")?.unwrap_or(conditions.internal_errors);
    conditions.throttles = members.share("throttles")?.unwrap_or(conditions.throttles);
    Ok(conditions)
}

/// Conditions as the object that [`read_conditions`] reads.
pub fn write_conditions(conditions: &Conditions, writer: &mut Writer) {
    // Destructured, so that a new condition does not compile before it is handled here.
    let Conditions {
        time_to_live,
        index_propagation,
        read_staleness,
        stale_reads,
        monotonic_reads,
        transaction_time,
        replication_lag,
        region_round_trip,
        stream_lag,
        stream_shards,
        table_status,
        statistics_age,
        item_collection_size,
        stream_bytes,
        recovery_bytes,
        capacity,
        control_limits,
        latency,
        internal_errors,
        throttles,
    } = *conditions;
    let mut object = Object::open(writer);
    match time_to_live {
        TimeToLive::Off => object.string("timeToLive", "off"),
        TimeToLive::Deletes(lag) => write_lag(lag, object.member("timeToLive")),
    }
    write_lag(index_propagation, object.member("indexPropagation"));
    write_lag(read_staleness, object.member("readStaleness"));
    write_number(stale_reads, object.member("staleReads"));
    object.boolean("monotonicReads", monotonic_reads);
    write_lag(transaction_time, object.member("transactionTime"));
    write_lag(replication_lag, object.member("replicationLag"));
    write_lag(region_round_trip, object.member("regionRoundTrip"));
    write_lag(stream_lag, object.member("streamLag"));
    match stream_shards {
        Shards::Fixed(count) => write_number(f64::from(count), object.member("streamShards")),
        Shards::ByThroughput => object.string("streamShards", "throughput"),
    }
    write_lag(table_status, object.member("tableStatus"));
    write_number(statistics_age.as_secs_f64(), object.member("statisticsAge"));
    write_number(item_collection_size as f64, object.member("itemCollectionSize"));
    write_limit(stream_bytes, "streamBytes", &mut object);
    write_limit(recovery_bytes, "recoveryBytes", &mut object);
    write_capacity(capacity, object.member("capacity"));
    object.boolean("controlLimits", control_limits);
    write_latency(latency, object.member("latency"));
    write_number(internal_errors, object.member("internalErrors"));
    write_number(throttles, object.member("throttles"));
    object.close();
}

fn named(name: &str) -> ControlResult<Conditions> {
    Conditions::named(name).ok_or_else(|| {
        let name = shortened(name);
        ControlError::malformed(format!(
            "There is no preset \"{name}\"; the presets are calm, aws and storm."
        ))
    })
}

/// A number of bytes, or `"unlimited"`.
fn read_limit(name: &str, sent: &Json) -> ControlResult<Option<u64>> {
    match (sent.text(), sent.number()) {
        (Some("unlimited"), _) => Ok(None),
        (_, Some(bytes)) if bytes >= 1.0 && bytes.fract() == 0.0 => Ok(Some(bytes as u64)),
        _ => Err(ControlError::malformed(format!(
            "{name} must be a whole number of bytes greater than 0, or \"unlimited\"."
        ))),
    }
}

fn write_limit(limit: Option<u64>, name: &str, object: &mut Object<'_>) {
    match limit {
        Some(bytes) => write_number(bytes as f64, object.member(name)),
        None => object.string(name, "unlimited"),
    }
}

/// A number of shards, or `"throughput"`.
fn read_shards(sent: &Json) -> ControlResult<Shards> {
    let most = f64::from(Shards::MOST);
    match (sent.text(), sent.number()) {
        (Some("throughput"), _) => Ok(Shards::ByThroughput),
        (_, Some(count)) if (1.0..=most).contains(&count) && count.fract() == 0.0 => Ok(Shards::Fixed(count as u32)),
        _ => Err(ControlError::malformed(format!(
            "streamShards must be a number of shards from 1 to {most}, or \"throughput\"."
        ))),
    }
}

/// `"reported"`, `"enforced"`, or an object whose members replace those of `current`, or the service's limits if nothing is
/// enforced.
fn read_capacity(sent: &Json, current: Capacity) -> ControlResult<Capacity> {
    match sent.text() {
        Some("reported") => return Ok(Capacity::Reported),
        Some("enforced") => return Ok(Capacity::Enforced(Enforcement::AWS)),
        Some(other) => {
            let other = shortened(other);
            return Err(ControlError::malformed(format!(
                "capacity must be \"reported\", \"enforced\" or an object, not \"{other}\"."
            )));
        }
        None => {}
    }
    let known = [
        "burst",
        "adaptive",
        "partitionRead",
        "partitionWrite",
        "partitionSize",
        "heatSplit",
        "growth",
        "shardReaders",
    ];
    let members = Members::of("capacity", sent, &known)?;
    let mut rules = match current {
        Capacity::Reported => Enforcement::AWS,
        Capacity::Enforced(rules) => rules,
    };
    let length = |name: &str| members.number(name)?.map(|sent| seconds(name, sent)).transpose();
    rules.burst = length("burst")?.unwrap_or(rules.burst);
    rules.growth = length("growth")?.unwrap_or(rules.growth);
    rules.adaptive = members.flag("adaptive")?.unwrap_or(rules.adaptive);
    rules.partition_read = members.count("partitionRead")?.unwrap_or(rules.partition_read);
    rules.partition_write = members.count("partitionWrite")?.unwrap_or(rules.partition_write);
    rules.partition_size = members.count("partitionSize")?.unwrap_or(rules.partition_size);
    let readers = members.count("shardReaders")?;
    let readers = readers.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    rules.shard_readers = readers.unwrap_or(rules.shard_readers);
    match members.get("heatSplit") {
        Some(sent) if sent.text() == Some("never") => rules.heat_split = None,
        Some(_) => rules.heat_split = length("heatSplit")?,
        None => {}
    }
    Ok(Capacity::Enforced(rules))
}

fn write_capacity(capacity: Capacity, writer: &mut Writer) {
    let Capacity::Enforced(rules) = capacity else {
        writer.string("reported");
        return;
    };
    let mut object = Object::open(writer);
    write_number(rules.burst.as_secs_f64(), object.member("burst"));
    object.boolean("adaptive", rules.adaptive);
    write_number(rules.partition_read as f64, object.member("partitionRead"));
    write_number(rules.partition_write as f64, object.member("partitionWrite"));
    write_number(rules.partition_size as f64, object.member("partitionSize"));
    match rules.heat_split {
        Some(after) => write_number(after.as_secs_f64(), object.member("heatSplit")),
        None => object.string("heatSplit", "never"),
    }
    write_number(rules.growth.as_secs_f64(), object.member("growth"));
    write_number(f64::from(rules.shard_readers), object.member("shardReaders"));
    object.close();
}

/// The classes of operations that have a latency of their own.
fn classes(latency: &mut Latency) -> [(&'static str, &mut Lag); 5] {
    [
        ("read", &mut latency.read),
        ("write", &mut latency.write),
        ("query", &mut latency.query),
        ("transaction", &mut latency.transaction),
        ("control", &mut latency.control),
    ]
}

/// `"none"`, or an object whose members replace those of `current`, or of the service if requests take no time.
fn read_latency(sent: &Json, current: Option<Latency>) -> ControlResult<Option<Latency>> {
    if sent.text() == Some("none") {
        return Ok(None);
    }
    let known = ["read", "write", "query", "transaction", "control", "perKilobyte"];
    let members = Members::of("latency", sent, &known)?;
    let mut latency = current.unwrap_or(Latency::AWS);
    for (name, lag) in classes(&mut latency) {
        if let Some(sent) = members.get(name) {
            *lag = read_lag(name, sent)?;
        }
    }
    if let Some(length) = members.number("perKilobyte")? {
        latency.per_kilobyte = seconds("perKilobyte", length)?;
    }
    Ok(Some(latency))
}

fn write_latency(latency: Option<Latency>, writer: &mut Writer) {
    let Some(mut latency) = latency else {
        writer.string("none");
        return;
    };
    let mut object = Object::open(writer);
    for (name, lag) in classes(&mut latency) {
        write_lag(*lag, object.member(name));
    }
    write_number(latency.per_kilobyte.as_secs_f64(), object.member("perKilobyte"));
    object.close();
}

/// A number of seconds, `{ typical, longest }` or `{ typical, p99, longest }` in seconds; `what` names it.
pub fn read_lag(what: &str, sent: &Json) -> ControlResult<Lag> {
    if let Json::Number(length) = sent {
        let length = seconds(what, *length)?;
        return Ok(if length.is_zero() {
            Lag::None
        } else {
            Lag::Fixed(length)
        });
    }
    if !is_lag(sent) {
        return Err(not_a_lag(what, ""));
    }
    let members = Members::of(what, sent, &["typical", "p99", "longest"])?;
    let p99 = members.number("p99")?;
    match (members.number("typical")?, members.number("longest")?) {
        (Some(typical), Some(longest))
            if typical <= longest && p99.is_none_or(|p99| (typical..=longest).contains(&p99)) =>
        {
            let (typical, longest) = (seconds(what, typical)?, seconds(what, longest)?);
            Ok(match p99 {
                None => Lag::Seeded { typical, longest },
                Some(p99) => Lag::LongTail {
                    typical,
                    p99: seconds(what, p99)?,
                    longest,
                },
            })
        }
        _ => Err(ControlError::malformed(format!(
            "{what} must be a number of seconds, or {{ typical, longest }} with longest not below typical, and p99 between them."
        ))),
    }
}

/// Whether a value has the type of a lag.
fn is_lag(sent: &Json) -> bool {
    matches!(sent, Json::Number(_) | Json::Object(_))
}

/// The error for a value of another type; `also` is what it may be besides.
fn not_a_lag(what: &str, also: &str) -> ControlError {
    ControlError::malformed(format!(
        "{what} must be {also}a number of seconds, or an object with some of typical, p99, longest."
    ))
}

/// A lag as [`read_lag`] reads it.
pub fn write_lag(lag: Lag, writer: &mut Writer) {
    match lag {
        Lag::None => write_number(0.0, writer),
        Lag::Fixed(length) => write_number(length.as_secs_f64(), writer),
        Lag::Seeded { typical, longest } => {
            let mut object = Object::open(writer);
            write_number(typical.as_secs_f64(), object.member("typical"));
            write_number(longest.as_secs_f64(), object.member("longest"));
            object.close();
        }
        Lag::LongTail { typical, p99, longest } => {
            let mut object = Object::open(writer);
            write_number(typical.as_secs_f64(), object.member("typical"));
            write_number(p99.as_secs_f64(), object.member("p99"));
            write_number(longest.as_secs_f64(), object.member("longest"));
            object.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, current: &Conditions) -> Result<Conditions, String> {
        let sent = Json::read(text.as_bytes()).unwrap();
        read_conditions(&sent, current).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn written_json_is_accepted_again() {
        let mut odd = Conditions::STORM;
        odd.time_to_live = TimeToLive::Off;
        odd.item_collection_size = 1000;
        odd.stream_bytes = None;
        odd.recovery_bytes = Some(5000);
        odd.stream_shards = Shards::Fixed(7);
        odd.statistics_age = Duration::from_millis(250);
        odd.index_propagation = Lag::Fixed(Duration::from_millis(1500));
        odd.capacity = Capacity::Enforced(Enforcement {
            heat_split: Some(Duration::from_secs(7)),
            partition_read: 1,
            ..Enforcement::STORM
        });
        for conditions in [Conditions::CALM, Conditions::AWS, Conditions::STORM, odd] {
            let mut writer = Writer::new();
            write_conditions(&conditions, &mut writer);
            let text = String::from_utf8(writer.finish()).unwrap();
            assert_eq!(read(&text, &Conditions::CALM), Ok(conditions), "{text}");
        }
    }

    /// A load keeps the conditions that decide which data is kept; the others are calm.
    #[test]
    fn a_load_is_calm_but_for_what_decides_its_data() {
        const KEPT: [&str; 8] = [
            "timeToLive",
            "staleReads",
            "monotonicReads",
            "transactionTime",
            "streamShards",
            "itemCollectionSize",
            "streamBytes",
            "recoveryBytes",
        ];
        let own = Conditions {
            time_to_live: TimeToLive::Off,
            item_collection_size: 1000,
            monotonic_reads: !Conditions::CALM.monotonic_reads,
            stale_reads: 0.5,
            stream_bytes: Some(4000),
            recovery_bytes: Some(5000),
            stream_shards: Shards::Fixed(7),
            statistics_age: Duration::from_millis(250),
            ..Conditions::STORM
        };
        let members = |conditions: &Conditions| {
            let mut writer = Writer::new();
            write_conditions(conditions, &mut writer);
            let Ok(Json::Object(members)) = Json::read(&writer.finish()) else {
                panic!("conditions are an object");
            };
            members
        };
        let loading = members(&own.while_loading());
        for ((own, calm), loading) in members(&own).iter().zip(members(&Conditions::CALM)).zip(&loading) {
            let name = own.0.as_str();
            assert_ne!(*own, calm, "{name} shows which of both is used");
            assert_eq!(loading, if KEPT.contains(&name) { own } else { &calm }, "{name}");
        }
    }

    #[test]
    fn members_replace_those_of_their_base() {
        let aws = Conditions::AWS;
        for (text, expect) in [
            ("\"storm\"", Conditions::STORM),
            ("{}", aws),
            (r#"{"base": "calm"}"#, Conditions::CALM),
            (
                r#"{"throttles": 0.5, "monotonicReads": true}"#,
                Conditions {
                    throttles: 0.5,
                    monotonic_reads: true,
                    ..aws
                },
            ),
            (
                r#"{"tableStatus": 0, "capacity": {"adaptive": false}}"#,
                Conditions {
                    table_status: Lag::None,
                    capacity: Capacity::Enforced(Enforcement {
                        adaptive: false,
                        ..Enforcement::AWS
                    }),
                    ..aws
                },
            ),
            (
                r#"{"latency": {"read": 0.5, "perKilobyte": 0}}"#,
                Conditions {
                    latency: Some(Latency {
                        read: Lag::Fixed(Duration::from_millis(500)),
                        per_kilobyte: Duration::ZERO,
                        ..Latency::AWS
                    }),
                    ..aws
                },
            ),
            (r#"{"latency": "none"}"#, Conditions { latency: None, ..aws }),
            (
                r#"{"streamBytes": 1, "recoveryBytes": 1}"#,
                Conditions {
                    stream_bytes: Some(1),
                    recovery_bytes: Some(1),
                    ..aws
                },
            ),
            (
                r#"{"capacity": {"burst": 1, "growth": 2, "adaptive": false, "partitionRead": 3, "partitionWrite": 4, "partitionSize": 5, "shardReaders": 6, "heatSplit": 7}}"#,
                Conditions {
                    capacity: Capacity::Enforced(Enforcement {
                        burst: Duration::from_secs(1),
                        growth: Duration::from_secs(2),
                        adaptive: false,
                        partition_read: 3,
                        partition_write: 4,
                        partition_size: 5,
                        shard_readers: 6,
                        heat_split: Some(Duration::from_secs(7)),
                    }),
                    ..aws
                },
            ),
            (
                r#"{"capacity": {"heatSplit": "never", "shardReaders": 1e15}}"#,
                Conditions {
                    capacity: Capacity::Enforced(Enforcement {
                        heat_split: None,
                        shard_readers: u32::MAX,
                        ..Enforcement::AWS
                    }),
                    ..aws
                },
            ),
            (
                r#"{"latency": {"read": 1, "write": 2, "query": 3, "transaction": 4, "control": 5, "perKilobyte": 0.006}}"#,
                Conditions {
                    latency: Some(Latency {
                        read: Lag::Fixed(Duration::from_secs(1)),
                        write: Lag::Fixed(Duration::from_secs(2)),
                        query: Lag::Fixed(Duration::from_secs(3)),
                        transaction: Lag::Fixed(Duration::from_secs(4)),
                        control: Lag::Fixed(Duration::from_secs(5)),
                        per_kilobyte: Duration::from_millis(6),
                    }),
                    ..aws
                },
            ),
            (
                r#"{"indexPropagation": 1, "readStaleness": 2, "transactionTime": 3, "replicationLag": 4, "regionRoundTrip": 5, "streamLag": 6, "tableStatus": 7, "timeToLive": 8, "statisticsAge": 9, "itemCollectionSize": 10, "streamBytes": 11, "recoveryBytes": 12, "streamShards": 13, "staleReads": 0.5, "internalErrors": 0.25, "controlLimits": false, "monotonicReads": true}"#,
                Conditions {
                    index_propagation: Lag::Fixed(Duration::from_secs(1)),
                    read_staleness: Lag::Fixed(Duration::from_secs(2)),
                    transaction_time: Lag::Fixed(Duration::from_secs(3)),
                    replication_lag: Lag::Fixed(Duration::from_secs(4)),
                    region_round_trip: Lag::Fixed(Duration::from_secs(5)),
                    stream_lag: Lag::Fixed(Duration::from_secs(6)),
                    table_status: Lag::Fixed(Duration::from_secs(7)),
                    time_to_live: TimeToLive::Deletes(Lag::Fixed(Duration::from_secs(8))),
                    statistics_age: Duration::from_secs(9),
                    item_collection_size: 10,
                    stream_bytes: Some(11),
                    recovery_bytes: Some(12),
                    stream_shards: Shards::Fixed(13),
                    stale_reads: 0.5,
                    internal_errors: 0.25,
                    control_limits: false,
                    monotonic_reads: true,
                    ..aws
                },
            ),
            (
                r#"{"streamBytes": "unlimited", "recoveryBytes": "unlimited", "streamShards": "throughput", "timeToLive": "off"}"#,
                Conditions {
                    stream_bytes: None,
                    recovery_bytes: None,
                    stream_shards: Shards::ByThroughput,
                    time_to_live: TimeToLive::Off,
                    ..aws
                },
            ),
            (
                r#"{"capacity": "reported", "base": "aws"}"#,
                Conditions {
                    capacity: Capacity::Reported,
                    ..aws
                },
            ),
        ] {
            assert_eq!(read(text, &aws), Ok(expect), "{text}");
        }
    }

    #[test]
    fn unknown_input_is_reported() {
        for (text, expect) in [
            (
                "\"sunny\"",
                "There is no preset \"sunny\"; the presets are calm, aws and storm.",
            ),
            (
                r#"{"base": "sunny"}"#,
                "There is no preset \"sunny\"; the presets are calm, aws and storm.",
            ),
            (
                r#"{"timeToLive": -1}"#,
                "timeToLive must be a number of seconds from 0, not -1.",
            ),
            (
                r#"{"readStaleness": {"typical": 2, "longest": 1}}"#,
                "readStaleness must be a number of seconds, or { typical, longest } with longest not below typical, and p99 between them.",
            ),
            (
                r#"{"readStaleness": "long"}"#,
                "readStaleness must be a number of seconds, or an object with some of typical, p99, longest.",
            ),
            (
                r#"{"timeToLive": "of"}"#,
                "timeToLive must be \"off\", a number of seconds, or an object with some of typical, p99, longest.",
            ),
            (
                r#"{"timeToLive": {"typcal": 1}}"#,
                "timeToLive has no member \"typcal\"; its members are typical, p99, longest.",
            ),
            (
                r#"{"streamShards": 0}"#,
                "streamShards must be a number of shards from 1 to 1024, or \"throughput\".",
            ),
            (
                r#"{"capacity": {"growth": "fast"}}"#,
                "capacity.growth must be a number.",
            ),
            (
                r#"{"throttles": 1.1}"#,
                "conditions.throttles must be a number from 0 to 1.",
            ),
        ] {
            assert_eq!(read(text, &Conditions::CALM), Err(expect.to_owned()), "{text}");
        }
        for name in ["streamBytes", "recoveryBytes"] {
            for value in ["0", "0.5", "1.5", "-1", "\"none\"", "true"] {
                let text = format!(r#"{{"{name}": {value}}}"#);
                let expect = format!("{name} must be a whole number of bytes greater than 0, or \"unlimited\".");
                assert_eq!(read(&text, &Conditions::CALM), Err(expect), "{text}");
            }
        }
        for value in ["0", "1.5", "1025", "-1", "\"many\""] {
            let text = format!(r#"{{"streamShards": {value}}}"#);
            let expect = "streamShards must be a number of shards from 1 to 1024, or \"throughput\".";
            assert_eq!(read(&text, &Conditions::CALM), Err(expect.to_owned()), "{text}");
        }
        assert!(moment("2026-02-30T00:00:00Z").is_err());
        assert_eq!(seconds("x", 1e300), Ok(LONGEST));
        assert!(seconds("x", f64::INFINITY).is_err() && seconds("x", f64::NAN).is_err());
    }

    /// What an object refines is that of its base; without a base, the present conditions.
    #[test]
    fn objects_refine_those_of_the_base() {
        let named = [
            ("calm", Conditions::CALM),
            ("aws", Conditions::AWS),
            ("storm", Conditions::STORM),
        ];
        let quick = Lag::Fixed(Duration::from_millis(500));
        for (name, current) in named {
            let bases = named
                .into_iter()
                .map(|(name, base)| (format!(r#""base": "{name}", "#), base));
            for (base, conditions) in bases.chain([(String::new(), current)]) {
                let rules = match conditions.capacity {
                    Capacity::Reported => Enforcement::AWS,
                    Capacity::Enforced(rules) => rules,
                };
                let latency = conditions.latency.unwrap_or(Latency::AWS);
                for (members, expect) in [
                    (
                        r#""capacity": {"partitionRead": 100}"#,
                        Conditions {
                            capacity: Capacity::Enforced(Enforcement {
                                partition_read: 100,
                                ..rules
                            }),
                            ..conditions
                        },
                    ),
                    (
                        r#""latency": {"read": 0.5}"#,
                        Conditions {
                            latency: Some(Latency { read: quick, ..latency }),
                            ..conditions
                        },
                    ),
                    (
                        r#""streamBytes": 5"#,
                        Conditions {
                            stream_bytes: Some(5),
                            ..conditions
                        },
                    ),
                    (
                        r#""tableStatus": 0.5"#,
                        Conditions {
                            table_status: quick,
                            ..conditions
                        },
                    ),
                    (
                        r#""monotonicReads": true"#,
                        Conditions {
                            monotonic_reads: true,
                            ..conditions
                        },
                    ),
                ] {
                    let text = format!("{{{base}{members}}}");
                    assert_eq!(read(&text, &current), Ok(expect), "{text} while {name}");
                }
            }
        }
    }
}
