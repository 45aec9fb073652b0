//! Creates an engine from the flags.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{ErrorKind, Read};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use dynatwin_engine::iam::{Directory, PolicyWarning, SigningKey};
use dynatwin_engine::quotas::REQUEST_BODY;
use dynatwin_engine::{Allowed, Caller, Clock, Conditions, Engine, Moment, Settings, TimeToLive};
use dynatwin_files::Buckets;
use dynatwin_seed::{Existing, Seed, load_engine};

use crate::flags::{CONDITIONS, ClockChoice, Flags, Sync};
use crate::free::Freeing;
use crate::server::Server;

/// Returns the current moment of the system's clock.
pub fn system_time() -> Moment {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Moment::from_seconds(0).plus(since.unwrap_or_default())
}

/// Returns the engine's settings. Without `--seed` the seed is random, and [`start_line`] prints it.
pub fn settings(flags: &Flags) -> Settings {
    Settings {
        clock: clock(flags),
        seed: flags
            .seed
            .unwrap_or_else(|| RandomState::new().build_hasher().finish() >> 32),
        conditions: conditions(flags, &Conditions::default()),
        shared_db: flags.shared_db,
    }
}

/// Returns which controls the engine allows.
fn allowed(flags: &Flags) -> Allowed {
    if flags.no_control {
        Allowed::ReadOnly
    } else {
        Allowed::All
    }
}

/// Creates the engine with its object store and allowed controls.
pub fn engine(flags: &Flags) -> Engine {
    engine_with_seed(flags, None)
}

/// Creates the engine; `stored` is the stored seed, which the flags override.
pub(crate) fn engine_with_seed(flags: &Flags, stored: Option<u64>) -> Engine {
    let settings = settings(flags);
    let seed = flags.seed.or(stored).unwrap_or(settings.seed);
    let engine = Engine::new(Settings { seed, ..settings })
        .allowing(allowed(flags))
        .with_health_check(flags.health_check())
        .with_reclaimer(Arc::new(Freeing::start()));
    let engine = match signing_keys(flags, |name| std::env::var(name).ok()) {
        Ok(Some(key)) => engine.verifying_signatures([key]),
        _ => engine,
    };
    match &flags.s3_dir {
        Some(folder) => engine.with_object_store(Arc::new(Buckets::at(folder))),
        None => engine,
    }
}

/// Returns the keys for the verification of signatures, from the environment, if it is enabled. With `--iam` there may be none.
pub(crate) fn signing_keys(
    flags: &Flags,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<(String, SigningKey)>, String> {
    if !flags.verify_signatures {
        return Ok(None);
    }
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let Some((id, secret)) = set("AWS_ACCESS_KEY_ID").zip(set("AWS_SECRET_ACCESS_KEY")) else {
        // The signatures of the access keys in its configuration are always verified.
        if flags.iam.is_some() {
            return Ok(None);
        }
        return Err("--verify-signatures needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in its environment".into());
    };
    let key = SigningKey {
        secret,
        session_token: set("AWS_SESSION_TOKEN"),
        expires: None,
    };
    Ok(Some((id, key)))
}

/// Configures the accounts and policies of `--iam`, and returns warnings about policies. An error is a sentence without
/// secrets.
pub(crate) fn configure_access(flags: &Flags, engine: &Engine) -> Result<Vec<String>, String> {
    let Some(file) = &flags.iam else {
        return Ok(Vec::new());
    };
    let bytes = read(file).map_err(|error| format!("{file}: {error}"))?;
    let text = dynatwin_seed::decode_text(file, bytes);
    let json = text.and_then(|text| dynatwin_seed::to_json(file, &text));
    let json = json.map_err(|error| error.to_string())?;
    let directory = Directory::read(&json, engine.clock().now()).map_err(|why| format!("{file}: {why}"))?;
    let found = directory.warnings();
    engine.set_initial_access(directory);
    let warnings = found.into_iter().map(|warning| {
        let PolicyWarning {
            policy,
            statement,
            code,
            message,
        } = warning;
        format!("{file}: {policy}, statement {statement}: {code}: {message}")
    });
    Ok(warnings.collect())
}

/// Returns a warning if the path of `--s3-dir` is not a folder. It may still be created while the server runs.
pub(crate) fn s3_dir_warning(flags: &Flags) -> Option<String> {
    let folder = flags.s3_dir.as_ref()?;
    let problem = match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => return None,
        Ok(_) => "it is not a directory".to_owned(),
        Err(error) => error.to_string(),
    };
    Some(format!(
        "--s3-dir {folder}: {problem}; until it is a directory, no bucket exists"
    ))
}

/// Reads a file of at most the size of a request's body.
fn read(file: &str) -> std::io::Result<Vec<u8>> {
    let most = REQUEST_BODY as u64;
    let mut bytes = Vec::new();
    File::open(file)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// Loads the files of `--load`, and returns a line about each. Tables that exist before the first file is loaded stay unchanged,
/// with their items, whether the files define these tables or only have items for them.
pub fn load(flags: &Flags, engine: &Engine) -> Result<Vec<String>, dynatwin_seed::Error> {
    let caller = owner(|name| std::env::var(name).ok());
    let who = if flags.shared_db {
        String::new()
    } else {
        let Caller { access_key, region } = &caller;
        format!(" for access key {access_key} in {region} (--shared-db shows them to all callers)")
    };
    let before: HashSet<String> = engine.tables(&caller).into_iter().collect();
    let mut defined = HashMap::new();
    let read = flags.load.iter().map(|file| {
        let mut seed = Seed::read(file)?;
        let kept = seed.remove_tables(&before);
        let kept = match kept.as_slice() {
            [] => String::new(),
            [table] => format!(" Table {table} existed before this start and is unchanged."),
            _ => format!(
                " Tables {} existed before this start and are unchanged.",
                kept.join(", ")
            ),
        };
        seed.add_definitions(&mut defined)?;
        // Another file may add items to a table that it defines in the same way.
        let loaded = load_engine(engine, &caller, seed, Existing::Fill)?;
        let (tables, items) = (counted(loaded.tables, "table"), counted(loaded.items, "item"));
        Ok(format!("Loaded {tables} and {items} from {file}{who}.{kept}"))
    });
    read.collect()
}

/// Returns a number with its noun: `1 table`, `2 tables`.
fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// The caller that the tables of `--load` belong to: that of the SDKs, which have the same environment.
fn owner(variable: impl Fn(&str) -> Option<String>) -> Caller {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let region = set("AWS_REGION").or_else(|| set("AWS_DEFAULT_REGION"));
    Caller {
        access_key: set("AWS_ACCESS_KEY_ID").unwrap_or_else(|| "local".into()).into(),
        region: region.unwrap_or_else(|| "us-east-1".into()).into(),
    }
}

fn clock(flags: &Flags) -> Clock {
    match (flags.clock, flags.speed) {
        (ClockChoice::System, None) => Clock::system(system_time),
        (ClockChoice::System, Some(speed)) => Clock::accelerated(system_time, system_time(), speed),
        (ClockChoice::From(start), speed) => Clock::accelerated(system_time, start, speed.unwrap_or(1.0)),
        (ClockChoice::Settable, _) => Clock::settable(Moment::START),
    }
}

/// Returns the conditions: the stored ones, as far as no flag replaces them.
pub(crate) fn conditions(flags: &Flags, stored: &Conditions) -> Conditions {
    let preset = flags.conditions.and_then(Conditions::named);
    let mut conditions = preset.unwrap_or(*stored);
    match flags.delay_transient_statuses {
        Some(true) if conditions.table_status.is_none() => conditions.table_status = Conditions::AWS.table_status,
        Some(false) if preset.is_none() => conditions.table_status = Conditions::CALM.table_status,
        _ => {}
    }
    match (flags.ttl, conditions.time_to_live) {
        (Some(false), _) => conditions.time_to_live = TimeToLive::Off,
        (Some(true), TimeToLive::Off) => conditions.time_to_live = Conditions::CALM.time_to_live,
        _ => {}
    }
    conditions
}

/// Returns the name of the preset that conditions are, except for what flags change in it.
fn name_of(conditions: &Conditions) -> &'static str {
    let is_preset = |name: &&str| {
        Conditions::named(name).is_some_and(|preset| {
            *conditions
                == Conditions {
                    time_to_live: conditions.time_to_live,
                    table_status: conditions.table_status,
                    ..preset
                }
        })
    };
    CONDITIONS.into_iter().find(is_preset).unwrap_or("custom")
}

/// Returns the line printed at startup: addresses, conditions, seed and storage.
pub fn start_line(flags: &Flags, engine: &Engine, server: &Server) -> String {
    let (seed, conditions) = (engine.seed(), name_of(&engine.conditions()));
    let endpoints: Vec<String> = server
        .addresses()
        .iter()
        .map(|address| format!("http://{address}"))
        .collect();
    let clock = clock_state(flags, engine.clock());
    let kept = match (&flags.db_path, flags.sync) {
        (None, _) => "Data is in memory and is lost when the server stops.".to_owned(),
        (Some(path), Sync::Second) => format!("Data is stored in {path}, synced every second."),
        (Some(path), Sync::Always) => format!("Data is stored in {path}, synced before each answer."),
    };
    format!(
        "Dynatwin {} listens on {} (conditions {conditions}, seed {seed}, clock {clock}). {kept}",
        env!("CARGO_PKG_VERSION"),
        endpoints.join(" and "),
    )
}

/// Describes the clock that the flags select, and its adjustment by stored state or earlier requests.
fn clock_state(flags: &Flags, clock: &Clock) -> String {
    let speed = flags
        .speed
        .map_or(String::new(), |speed| format!(" at {speed} times its speed"));
    let adjustment = clock.adjustment();
    let ahead = Duration::from_micros(adjustment.offset.try_into().unwrap_or(0));
    let state = match (flags.clock, flags.speed) {
        _ if clock.is_frozen() => format!(", frozen at {}", clock.now()),
        (ClockChoice::Settable, _) if clock.now() != Moment::START => format!(", at {}", clock.now()),
        (ClockChoice::Settable, _) => String::new(),
        (ClockChoice::System, None) if ahead.as_secs() > 0 => format!(", ahead by {}", rounded(ahead)),
        (ClockChoice::System, None) => String::new(),
        _ if adjustment.offset != 0 => format!(", continued at {}", clock.now()),
        _ => String::new(),
    };
    format!("{}{speed}{state}", flags.clock)
}

/// Returns a duration in the largest unit of which it has at least two.
fn rounded(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute")];
    let unit = units.into_iter().find(|(length, _)| seconds >= 2 * length);
    let (length, noun) = unit.unwrap_or((1, "second"));
    counted((seconds / length) as usize, noun)
}

#[cfg(test)]
mod tests {
    use dynatwin_engine::Lag;

    use super::*;
    use crate::flags::{Invocation, parse};

    fn given(words: &[&str]) -> Settings {
        match parse(words.iter().map(|word| (*word).to_owned()), |_| None) {
            Ok(Invocation::Run(flags)) => settings(&flags),
            other => panic!("{words:?}: {other:?}"),
        }
    }

    #[test]
    fn keys_of_signatures_come_from_the_environment_or_from_the_access_configuration() {
        let keys = |words: &[&str], variable: fn(&str) -> Option<String>| match parse(
            words.iter().map(|word| (*word).to_owned()),
            |_| None,
        ) {
            Ok(Invocation::Run(flags)) => signing_keys(&flags, variable).map(|keys| keys.map(|(id, _)| id)),
            other => panic!("{words:?}: {other:?}"),
        };
        assert_eq!(keys(&[], |name| Some(name.into())), Ok(None));
        let found = keys(&["--verify-signatures"], |name| Some(name.into()));
        assert_eq!(found, Ok(Some("AWS_ACCESS_KEY_ID".into())));
        let Ok(Invocation::Run(flags)) = parse(["--verify-signatures".to_owned()], |_| None) else {
            panic!("the flag is known");
        };
        let (_, key) = signing_keys(&flags, |name| Some(format!("the {name}")))
            .unwrap()
            .unwrap();
        assert_eq!(key.secret, "the AWS_SECRET_ACCESS_KEY");
        assert_eq!(key.session_token.as_deref(), Some("the AWS_SESSION_TOKEN"));
        let (_, key) = signing_keys(&flags, |name| Some(name.into()).filter(|_| name != "AWS_SESSION_TOKEN"))
            .unwrap()
            .unwrap();
        assert_eq!(key.session_token, None);
        assert!(keys(&["--verify-signatures"], |_| None).is_err());
        // An empty variable is none.
        for empty in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
            let Ok(Invocation::Run(flags)) = parse(["--verify-signatures".to_owned()], |_| None) else {
                panic!("the flag is known");
            };
            let set = |name: &str| Some(if name == empty { String::new() } else { name.into() });
            assert!(signing_keys(&flags, set).is_err(), "{empty}");
        }
        assert_eq!(
            keys(&["--verify-signatures", "--iam", "access.yaml"], |_| None),
            Ok(None)
        );
    }

    #[test]
    fn loaded_tables_belong_to_the_caller_of_the_environment() {
        for (set, access_key, region) in [
            (&[][..], "local", "us-east-1"),
            (&["AWS_ACCESS_KEY_ID"], "AWS_ACCESS_KEY_ID", "us-east-1"),
            (&["AWS_REGION"], "local", "AWS_REGION"),
            (&["AWS_DEFAULT_REGION"], "local", "AWS_DEFAULT_REGION"),
            (&["AWS_DEFAULT_REGION", "AWS_REGION"], "local", "AWS_REGION"),
        ] {
            let found = owner(|name| set.contains(&name).then(|| name.to_owned()));
            assert_eq!((&*found.access_key, &*found.region), (access_key, region), "{set:?}");
        }
        let empty = owner(|_| Some(String::new()));
        assert_eq!((&*empty.access_key, &*empty.region), ("local", "us-east-1"));
    }

    /// A restart with the same files does not undo what was written since.
    #[test]
    fn loading_leaves_existing_tables_unchanged() {
        let path = std::env::temp_dir().join(format!("dynatwin-load-{}.json", std::process::id()));
        let file = path.to_str().unwrap().to_owned();
        let table = |name: &str, items: &str| {
            format!(
                r#"{{"TableName": "{name}", "AttributeDefinitions": [{{"AttributeName": "id", "AttributeType": "S"}}],
                "KeySchema": [{{"AttributeName": "id", "KeyType": "HASH"}}], "Items": {items}}}"#
            )
        };
        let flags = match parse(
            ["--clock", "settable", "--shared-db", "--load", &file].map(str::to_owned),
            |_| None,
        ) {
            Ok(Invocation::Run(flags)) => flags,
            other => panic!("{other:?}"),
        };
        let engine = engine(&flags);
        let caller = owner(|_| None);
        let one = table("One", r#"[{"id": "a", "v": 1}]"#);
        let changed = table("One", r#"[{"id": "a", "v": 2}, {"id": "b", "v": 2}]"#);
        let two = table("Two", r#"[{"id": "c"}]"#);
        for (tables, line) in [
            (one.clone(), "Loaded 1 table and 1 item from "),
            (one, "Loaded 0 tables and 0 items from "),
            (format!("{changed}, {two}"), "Loaded 1 table and 1 item from "),
        ] {
            std::fs::write(&path, format!(r#"{{"tables": [{tables}]}}"#)).unwrap();
            let lines = load(&flags, &engine).unwrap();
            assert!(lines.len() == 1 && lines[0].starts_with(line), "{lines:?}");
            let items = engine.items(&caller, "One").unwrap();
            assert_eq!(items.len(), 1);
            assert!(String::from_utf8_lossy(items[0].json()).contains(r#""v":{"N":"1"}"#));
        }
        assert_eq!(engine.items(&caller, "Two").unwrap().len(), 1);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn tables_are_defined_in_one_way() {
        let table = |key: &str, item: &str| {
            format!(
                r#"{{"TableName": "One", "AttributeDefinitions": [{{"AttributeName": "{key}", "AttributeType": "S"}}],
                "KeySchema": [{{"AttributeName": "{key}", "KeyType": "HASH"}}], "Items": [{{"{key}": "{item}"}}]}}"#
            )
        };
        let file = |name: &str| {
            let name = format!("dynatwin-{name}-{}.json", std::process::id());
            std::env::temp_dir().join(name).to_str().unwrap().to_owned()
        };
        let (one, two) = (file("one"), file("two"));
        for (first, second, expect) in [
            (vec![table("id", "a")], vec![table("id", "b")], Ok(2)),
            (vec![table("id", "a"), table("id", "b")], vec![], Ok(2)),
            (vec![table("id", "a")], vec![table("name", "b")], Err(&two)),
            (vec![table("id", "a"), table("name", "b")], vec![], Err(&one)),
        ] {
            for (path, tables) in [(&one, &first), (&two, &second)] {
                std::fs::write(path, format!("{{\"tables\": [\n{}]}}", tables.join(",\n"))).unwrap();
            }
            let words = ["--clock", "settable", "--shared-db", "--load", &one, "--load", &two];
            let Ok(Invocation::Run(flags)) = parse(words.map(str::to_owned), |_| None) else {
                panic!("{words:?}");
            };
            let engine = engine(&flags);
            let loaded = load(&flags, &engine).map_err(|error| error.to_string());
            let count = loaded.map(|_| engine.items(&owner(|_| None), "One").unwrap().len());
            match (count, expect) {
                (Err(error), Err(path)) => assert!(
                    error.starts_with(path) && error.ends_with(&format!("table One is defined differently in {one}")),
                    "{error}"
                ),
                (count, expect) => assert_eq!(count.ok(), expect.ok(), "{first:?} {second:?}"),
            }
        }
        [one, two].iter().for_each(|path| std::fs::remove_file(path).unwrap());
    }

    /// The state of a clock is printed, not what was asked for.
    #[test]
    fn the_start_line_has_the_state_of_the_clock() {
        type Change = fn(&Clock);
        let start = Moment::parse("2030-01-01T00:00:00Z").unwrap();
        let cases: &[(&[&str], Change, &str)] = &[
            (&[], |_| (), "system"),
            (&[], |clock| clock.advance(Duration::from_millis(999)), "system"),
            (
                &[],
                |clock| clock.advance(Duration::from_secs(1)),
                "system, ahead by 1 second",
            ),
            (
                &[],
                |clock| clock.advance(Duration::from_secs(119)),
                "system, ahead by 119 seconds",
            ),
            (
                &[],
                |clock| clock.advance(Duration::from_secs(150)),
                "system, ahead by 2 minutes",
            ),
            (
                &[],
                |clock| clock.advance(Duration::from_hours(47)),
                "system, ahead by 47 hours",
            ),
            (
                &[],
                |clock| clock.advance(Duration::from_hours(1130 * 24)),
                "system, ahead by 1130 days",
            ),
            (&["--clock", "settable"], |_| (), "settable"),
            (
                &["--clock", "settable"],
                |clock| clock.advance(Duration::from_secs(1)),
                "settable, at 2026-01-01T00:00:01.000Z",
            ),
            (
                &["--clock", "2020-01-01T00:00:00Z"],
                |_| (),
                "from 2020-01-01T00:00:00.000Z",
            ),
            (
                &["--clock", "2020-01-01T00:00:00Z", "--speed", "2"],
                |_| (),
                "from 2020-01-01T00:00:00.000Z at 2 times its speed",
            ),
            (&["--speed", "2"], |_| (), "system at 2 times its speed"),
        ];
        for (words, change, expect) in cases {
            let flags = match parse(words.iter().map(|word| (*word).to_owned()), |_| None) {
                Ok(Invocation::Run(flags)) => flags,
                other => panic!("{words:?}: {other:?}"),
            };
            let clock = clock(&flags);
            change(&clock);
            assert_eq!(clock_state(&flags, &clock), *expect, "{words:?}");
        }
        // A stored moment is later, so the clock continues from there.
        for words in [&["--clock", "2020-01-01T00:00:00Z"][..], &["--speed", "0.000001"]] {
            let words = words.iter().map(|word| (*word).to_owned());
            let Ok(Invocation::Run(flags)) = parse(words, |_| None) else {
                panic!("the flags are known");
            };
            let clock = clock(&flags);
            clock.set(start.plus(Duration::from_hours(876_000)));
            let state = clock_state(&flags, &clock);
            assert!(state.contains(", continued at 21"), "{state}");
        }
        let flags = Flags::default();
        let clock = Clock::system(|| Moment::START);
        clock.freeze();
        assert_eq!(
            clock_state(&flags, &clock),
            "system, frozen at 2026-01-01T00:00:00.000Z"
        );
    }

    /// Files with only items are loaded into the tables that an earlier file of the same start has created, and into no
    /// others: a restart with the same files keeps changes and deletions.
    #[test]
    fn items_of_other_files_are_loaded_only_into_tables_of_the_same_start() {
        let folder = std::env::temp_dir().join(format!("dynatwin-load-items-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, text: &str| {
            std::fs::write(folder.join(name), text).unwrap();
            folder.join(name).to_str().unwrap().to_owned()
        };
        let definition = |name: &str| {
            format!(
                r#"{{"TableName": "{name}", "AttributeDefinitions": [{{"AttributeName": "id", "AttributeType": "S"}}],
                "KeySchema": [{{"AttributeName": "id", "KeyType": "HASH"}}]}}"#
            )
        };
        let one = file("one.json", &definition("One"));
        let two = file("two.json", &definition("Two"));
        let first = format!("One={}", file("first.jsonl", "{\"id\":\"c\"}\n{\"id\":\"d\"}\n"));
        let second = format!("One={}", file("second.csv", "id\ne\n"));
        let of_two = format!("Two={}", file("of-two.jsonl", "{\"id\":\"x\"}\n"));
        let both = file(
            "both.json",
            r#"{"items": {"One": [{"id": "c"}], "Two": [{"id": "y"}]}}"#,
        );
        let flags = |files: &[&String]| {
            let words = files.iter().flat_map(|file| ["--load", file.as_str()]);
            let words = ["--clock", "settable", "--shared-db"].into_iter().chain(words);
            match parse(words.map(str::to_owned), |_| None) {
                Ok(Invocation::Run(flags)) => flags,
                other => panic!("{other:?}"),
            }
        };
        let engine = engine(&flags(&[]));
        let caller = owner(|_| None);
        let ask = |operation: &str, body: &str| engine.dispatch(&caller, operation, body.as_bytes());
        let count = |table: &str| engine.items(&caller, table).unwrap().len();
        let unchanged = " Table One existed before this start and is unchanged.";
        for (files, expected, items) in [
            (
                vec![&one, &first, &second],
                vec![
                    ("1 table and 0 items", ""),
                    ("0 tables and 2 items", ""),
                    ("0 tables and 1 item", ""),
                ],
                3,
            ),
            (
                vec![&one, &first, &second],
                vec![("0 tables and 0 items", unchanged); 3],
                2,
            ),
            (
                vec![&two, &of_two, &first, &both],
                vec![
                    ("1 table and 0 items", ""),
                    ("0 tables and 1 item", ""),
                    ("0 tables and 0 items", unchanged),
                    ("0 tables and 1 item", unchanged),
                ],
                2,
            ),
            (
                vec![&both],
                vec![(
                    "0 tables and 0 items",
                    " Tables One, Two existed before this start and are unchanged.",
                )],
                2,
            ),
        ] {
            let lines = load(&flags(&files), &engine).unwrap();
            assert_eq!(lines.len(), expected.len());
            for (line, (begin, end)) in lines.iter().zip(expected) {
                assert!(line.starts_with(&format!("Loaded {begin} from ")), "{line}");
                assert!(line.ends_with(&format!(".{end}")), "{line}");
            }
            assert_eq!(count("One"), items, "{files:?}");
            ask("DeleteItem", r#"{"TableName": "One", "Key": {"id": {"S": "d"}}}"#);
        }
        assert_eq!(count("Two"), 2);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// The number of an account keeps its leading zeros without quotes, and the encodings of other editors are read or named.
    #[test]
    fn access_is_configured_by_files_of_any_editor() {
        let yaml = "
accounts:
  012345678901:
    accessKeys: [{accessKeyId: AKIAROOT, secretAccessKey: root}]
    roles:
      Reader:
        policies:
        - Version: 2012-10-17
          Statement:
          - Effect: Allow
            Action: dynamodb:GetItem
            Resource: '*'
            Condition: {StringEquals: {aws:PrincipalAccount: 012345678901}}
";
        let path = std::env::temp_dir().join(format!("dynatwin-access-{}.yaml", std::process::id()));
        let words = ["--iam", path.to_str().unwrap()].map(str::to_owned);
        let Ok(Invocation::Run(flags)) = parse(words, |_| None) else {
            panic!("the flag is known");
        };
        let utf_16: Vec<u8> = format!("\u{feff}{yaml}")
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        for (bytes, expect) in [
            (yaml.as_bytes().to_vec(), None),
            (format!("\u{feff}{yaml}").into_bytes(), None),
            (utf_16, Some("is in UTF-16")),
            (vec![b'a', 0x80], Some("invalid utf-8")),
        ] {
            std::fs::write(&path, &bytes).unwrap();
            let configured = configure_access(&flags, &engine(&flags));
            match (&configured, expect) {
                (Ok(_), None) => {}
                (Err(error), Some(expect)) => assert!(error.contains(expect), "{error}"),
                _ => panic!("{configured:?}, not {expect:?}"),
            }
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_file_has_a_largest_size() {
        let path = std::env::temp_dir().join(format!("dynatwin-largest-{}", std::process::id()));
        for (size, fits) in [(REQUEST_BODY, true), (REQUEST_BODY + 1, false)] {
            std::fs::write(&path, vec![b' '; size]).unwrap();
            let bytes = read(path.to_str().unwrap());
            assert_eq!(bytes.is_ok_and(|bytes| bytes.len() == size), fits, "{size}");
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn flags_become_settings() {
        assert_eq!(given(&[]).conditions, Conditions::CALM);
        assert_eq!(given(&["--conditions", "storm"]).conditions, Conditions::STORM);
        let delayed = given(&["-delayTransientStatuses"]).conditions;
        assert_eq!(delayed.table_status, Conditions::AWS.table_status);
        assert_eq!(delayed.time_to_live, Conditions::CALM.time_to_live);
        let kept = given(&["-delayTransientStatuses", "--conditions", "storm"]).conditions;
        assert_eq!(kept.table_status, Conditions::STORM.table_status);
        assert_eq!(
            given(&["--conditions=aws", "--ttl", "off"]).conditions.time_to_live,
            TimeToLive::Off
        );
        assert_eq!(given(&["--seed", "7"]).seed, 7);
        assert!(given(&["-sharedDb"]).shared_db);
    }

    #[test]
    fn flags_replace_stored_conditions() {
        let late = TimeToLive::Deletes(Lag::Fixed(Duration::from_hours(48)));
        let stored = Conditions {
            time_to_live: late,
            ..Conditions::STORM
        };
        let off = |conditions| Conditions {
            time_to_live: TimeToLive::Off,
            ..conditions
        };
        let status = |table_status, conditions| Conditions {
            table_status,
            ..conditions
        };
        let [calm, aws] = [Conditions::CALM, Conditions::AWS].map(|conditions| conditions.table_status);
        for (words, stored, expect) in vec![
            (&[][..], stored, stored),
            (&["--conditions", "calm"], stored, Conditions::CALM),
            (&["--conditions", "aws"], off(stored), Conditions::AWS),
            (&["--ttl", "off"], stored, off(stored)),
            (&["--ttl", "on"], stored, stored),
            (&["--ttl", "on"], off(Conditions::CALM), Conditions::CALM),
            (&["--delay-transient-statuses"], stored, stored),
            (
                &["--delay-transient-statuses"],
                Conditions::CALM,
                status(aws, Conditions::CALM),
            ),
            (&["--delay-transient-statuses=off"], stored, status(calm, stored)),
            (
                &["--delay-transient-statuses=off", "--conditions", "aws"],
                stored,
                Conditions::AWS,
            ),
        ] {
            let found = parse(words.iter().map(|word| (*word).to_owned()), |_| None);
            let Ok(Invocation::Run(flags)) = found else {
                panic!("{words:?}: {found:?}");
            };
            assert_eq!(conditions(&flags, &stored), expect, "{words:?}");
        }
    }

    #[test]
    fn conditions_have_the_name_of_their_preset() {
        for name in CONDITIONS {
            let preset = Conditions::named(name).unwrap();
            let off = TimeToLive::Off;
            assert_eq!(name_of(&preset), name);
            assert_eq!(
                name_of(&Conditions {
                    time_to_live: off,
                    ..preset
                }),
                name
            );
            assert_eq!(
                name_of(&Conditions {
                    throttles: 0.5,
                    ..preset
                }),
                "custom"
            );
        }
    }

    #[test]
    fn clocks() {
        assert!((given(&[]).clock.speed().unwrap() - 1.0).abs() < 1e-9);
        assert_eq!(given(&["--clock", "settable"]).clock.now(), Moment::START);
        let fast = given(&["--clock", "2030-01-01T00:00:00Z", "--speed", "3600"]).clock;
        assert_eq!(fast.speed(), Some(3600.0));
        assert!(fast.now() >= Moment::parse("2030-01-01T00:00:00Z").unwrap());
        let started = given(&["--clock", "2030-01-01T00:00:00Z"]).clock;
        assert_eq!(started.speed(), Some(1.0));
        let fast = given(&["--speed", "60"]).clock;
        assert_eq!(fast.speed(), Some(60.0));
        assert!(fast.now() >= system_time().minus(Duration::from_hours(1)));
    }

    fn parsed(words: &[&str]) -> Flags {
        match parse(words.iter().map(|word| (*word).to_owned()), |_| None) {
            Ok(Invocation::Run(flags)) => *flags,
            other => panic!("{words:?}: {other:?}"),
        }
    }

    /// A variable that is empty, as compose files set it, is like one that is not set.
    #[test]
    fn an_empty_variable_is_none() {
        let names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
        let values = [None, Some(""), Some("value")];
        for (key, secret, token) in values
            .iter()
            .flat_map(|key| values.map(|secret| (*key, secret)))
            .flat_map(|(key, secret)| values.map(|token| (key, secret, token)))
        {
            let variable = |name: &str| {
                let at = names.iter().position(|known| *known == name)?;
                [key, secret, token][at].map(str::to_owned)
            };
            let context = format!("{key:?}, {secret:?}, {token:?}");
            let is_complete = key == Some("value") && secret == Some("value");
            let expected = is_complete.then(|| token.filter(|token| !token.is_empty()).map(str::to_owned));
            for (words, without) in [
                (&["--verify-signatures"][..], Err(())),
                (&["--verify-signatures", "--iam", "a.yaml"], Ok(None)),
            ] {
                let found = signing_keys(&parsed(words), variable);
                let found = found.map(|key| key.map(|(_, key)| key.session_token)).map_err(drop);
                assert_eq!(
                    found,
                    expected.clone().map_or(without, |token| Ok(Some(token))),
                    "{words:?}: {context}"
                );
            }
            for words in [&[][..], &["--iam", "a.yaml"], &["--verify-signatures=off"]] {
                let found = signing_keys(&parsed(words), variable);
                assert!(matches!(found, Ok(None)), "{words:?}: {context}");
            }
        }
        for (access_key, region, default, expected) in [
            (None, None, None, ("local", "us-east-1")),
            (Some("key"), Some("a"), Some("b"), ("key", "a")),
            (Some("key"), Some(""), Some("b"), ("key", "b")),
            (Some(""), Some(""), Some(""), ("local", "us-east-1")),
            (Some(""), Some("a"), Some(""), ("local", "a")),
            (Some(""), None, Some("b"), ("local", "b")),
        ] {
            let found = owner(|name| {
                let value = match name {
                    "AWS_ACCESS_KEY_ID" => access_key,
                    "AWS_REGION" => region,
                    "AWS_DEFAULT_REGION" => default,
                    _ => None,
                };
                value.map(str::to_owned)
            });
            assert_eq!((&*found.access_key, &*found.region), expected);
        }
    }

    /// Each flag that changes the conditions, under each preset.
    #[test]
    fn conditions_of_flags() {
        for (name, preset) in [
            ("calm", Conditions::CALM),
            ("aws", Conditions::AWS),
            ("storm", Conditions::STORM),
        ] {
            let delayed = if name == "calm" {
                Conditions::AWS.table_status
            } else {
                preset.table_status
            };
            for (words, expected) in [
                (&[][..], preset),
                (&["--ttl", "on"], preset),
                (
                    &["--ttl", "off"],
                    Conditions {
                        time_to_live: TimeToLive::Off,
                        ..preset
                    },
                ),
                (
                    &["-delayTransientStatuses"],
                    Conditions {
                        table_status: delayed,
                        ..preset
                    },
                ),
                (&["-delayTransientStatuses=off"], preset),
                (
                    &["-delayTransientStatuses", "--ttl=off"],
                    Conditions {
                        table_status: delayed,
                        time_to_live: TimeToLive::Off,
                        ..preset
                    },
                ),
            ] {
                let words = [&["--conditions", name], words].concat();
                assert_eq!(given(&words).conditions, expected, "{words:?}");
            }
        }
        for (words, expected) in [
            (&[][..], false),
            (&["--shared-db"], true),
            (&["--shared-db=off"], false),
        ] {
            assert_eq!(given(words).shared_db, expected, "{words:?}");
        }
        for (words, is_read_only) in [
            (&[][..], false),
            (&["--no-control"], true),
            (&["--no-control=no"], false),
        ] {
            assert_eq!(
                matches!(allowed(&parsed(words)), Allowed::ReadOnly),
                is_read_only,
                "{words:?}"
            );
        }
    }

    /// The seed is that of the flag, otherwise the stored one, otherwise a random one.
    #[test]
    fn seeds() {
        for (words, stored, expected) in [
            (&["--seed", "7"][..], None, Some(7)),
            (&["--seed", "7"], Some(8), Some(7)),
            (&["--seed", "0"], Some(8), Some(0)),
            (&[], Some(8), Some(8)),
            (&[], Some(0), Some(0)),
            (&[], None, None),
        ] {
            let found = engine_with_seed(&parsed(words), stored).seed();
            match expected {
                Some(expected) => assert_eq!(found, expected, "{words:?}, {stored:?}"),
                None => assert!(u32::try_from(found).is_ok(), "{found}"),
            }
        }
    }

    /// A path that is not a folder of buckets is reported, whatever it is instead.
    #[test]
    fn folders_of_buckets() {
        let folder = std::env::temp_dir().join(format!("dynatwin-s3-dir-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("file");
        std::fs::write(&file, "").unwrap();
        let missing = folder.join("missing");
        for (path, problem) in [
            (&folder, None),
            (&file, Some("it is not a directory")),
            (&missing, Some("No such file or directory (os error 2)")),
        ] {
            let path = path.to_str().unwrap();
            let expected =
                problem.map(|problem| format!("--s3-dir {path}: {problem}; until it is a directory, no bucket exists"));
            assert_eq!(s3_dir_warning(&parsed(&["--s3-dir", path])), expected);
        }
        assert_eq!(s3_dir_warning(&parsed(&[])), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
