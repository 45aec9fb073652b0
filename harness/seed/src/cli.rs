//! The command lines `dynatwin copy` and `dynatwin import`.

use std::collections::BTreeSet;
use std::io::{BufRead, IsTerminal, Write, stderr, stdin};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::copy::{CopyEvent, CopyOptions, check_rate, copy};
use crate::database::Database;
use crate::endpoint::Endpoint;
use crate::export::export;
use crate::load::{self, Existing};
use crate::seed::Seed;

/// How often the line of progress is written, on a terminal and elsewhere.
const TERMINAL_INTERVAL: Duration = Duration::from_millis(200);
const LOG_INTERVAL: Duration = Duration::from_secs(10);

const HELP: &str = "\
dynatwin copy --from A --to B [OPTION…]
dynatwin import FILE… --to B [OPTION…]

A and B are endpoints (http://localhost:8000, https://dynamodb.eu-west-1.amazonaws.com) or directories with
exports; A may also be a file, like FILE: JSON, YAML, CSV, templates, DynamoDB Local's databases.
Credentials come from the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN.

  --table NAME       copy this table; repeatable (all tables)
  --segments N       segments of the parallel Scan of each table (4)
  --rate N           write at most N items a second, from 0.001 to 1000000000 (no limit)
  --resume FILE      store the progress in FILE, and continue from there if it exists
  --no-verify        skip reading both sides again to compare them
  --caller KEY/REGION  the access key and region to use for a destination on this machine
  --yes              write to a destination that is not on this machine without asking
  --help             print this";

#[derive(Debug)]
struct Command {
    sources: Vec<String>,
    to: String,
    options: CopyOptions,
    caller: Option<(String, String)>,
    yes: bool,
}

/// Runs `copy` or `import` with its arguments. Progress goes to standard error; an error is a sentence.
pub fn run(name: &str, arguments: impl IntoIterator<Item = String>) -> Result<(), String> {
    let Some(command) = parse(name, arguments)? else {
        println!("{HELP}");
        return Ok(());
    };
    command.run()
}

fn parse(name: &str, arguments: impl IntoIterator<Item = String>) -> Result<Option<Command>, String> {
    let mut arguments = arguments.into_iter();
    let mut sources = Vec::new();
    let mut to = None;
    let mut options = CopyOptions::default();
    let mut caller = None;
    let mut yes = false;
    while let Some(argument) = arguments.next() {
        let (flag, inline) = match argument.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag.to_owned(), Some(value.to_owned())),
            _ => (argument, None),
        };
        let mut value = || {
            let value = inline.clone().or_else(|| arguments.next());
            value.ok_or_else(|| format!("{flag} needs a value"))
        };
        let switch = || match inline.as_deref().map(str::to_ascii_lowercase).as_deref() {
            None | Some("on" | "true" | "yes" | "1") => Ok(true),
            Some("off" | "false" | "no" | "0") => Ok(false),
            Some(other) => Err(format!("{flag}: '{other}' is neither on nor off")),
        };
        let number = |text: String| {
            let number = text
                .parse::<f64>()
                .ok()
                .filter(|number| *number > 0.0 && number.is_finite());
            number.ok_or_else(|| format!("{flag} needs a positive number, not {text}"))
        };
        match flag.as_str() {
            "--help" | "-h" => return Ok(None),
            "--from" => sources.push(value()?),
            "--to" => to = Some(value()?),
            "--table" => options.tables.push(value()?),
            "--segments" => {
                let segments = number(value()?)? as usize;
                options.segments = segments.clamp(1, 256);
            }
            "--rate" => {
                let text = value()?;
                let rate = check_rate(text.parse().unwrap_or(f64::NAN));
                options.rate = Some(rate.map_err(|expected| format!("--rate needs {expected}, not {text}"))?);
            }
            "--resume" => options.state = Some(PathBuf::from(value()?)),
            "--no-verify" => options.verify = !switch()?,
            "--yes" => yes = switch()?,
            "--caller" => {
                let text = value()?;
                let (key, region) = text.split_once('/').ok_or("--caller has the form KEY/REGION")?;
                caller = Some((key.to_owned(), region.to_owned()));
            }
            _ if !flag.starts_with('-') && name == "import" => sources.push(flag),
            _ => return Err(format!("{flag} is not known; dynatwin {name} --help prints what is")),
        }
    }
    if sources.is_empty() {
        let missing = if name == "import" { "a file to import" } else { "--from" };
        return Err(format!(
            "{missing} is missing; dynatwin {name} --help prints what is needed"
        ));
    }
    if name == "copy" && sources.len() > 1 {
        return Err("--from can be given once".into());
    }
    let to = to.ok_or_else(|| format!("--to is missing; dynatwin {name} --help prints what is needed"))?;
    Ok(Some(Command {
        sources,
        to,
        options,
        caller,
        yes,
    }))
}

fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)))
}

/// Fails for the name of a new directory that looks like an endpoint.
fn check_directory(name: &str) -> Result<(), String> {
    let port = |(host, port): (&str, &str)| !host.contains('/') && port.parse::<u16>().is_ok();
    if !Path::new(name).exists() && (name.contains("://") || name.rsplit_once(':').is_some_and(port)) {
        let address = name.split_once("://").map_or(name, |(_, address)| address);
        return Err(format!(
            "{name} is neither a URL nor a directory; write http://{address} or ./{name}"
        ));
    }
    Ok(())
}

impl Command {
    fn run(&self) -> Result<(), String> {
        let progress = Progress::new(stderr(), stderr().is_terminal());
        let report = |event: CopyEvent<'_>| progress.report(&event);
        let from = match self.sources.as_slice() {
            [url] if is_url(url) => Some(Endpoint::from_env(url)?),
            _ => None,
        };
        let copied = match (from, is_url(&self.to)) {
            (Some(from), true) => {
                let to = self.destination(Some(&from))?;
                from.expect_answer()?;
                to.expect_answer()?;
                copy(&from, &to, &self.options, &report)?
            }
            (Some(from), false) => {
                check_directory(&self.to)?;
                from.expect_answer()?;
                export(&from, &self.options.tables, Path::new(&self.to), &report)?
            }
            (None, true) => {
                let seed = self.seed()?;
                let to = self.destination(None)?;
                to.expect_answer()?;
                load(&to, seed, &|text| progress.line(text))?
            }
            (None, false) => {
                return Err(format!(
                    "files can be copied only to an endpoint, and {} is not one",
                    self.to
                ));
            }
        };
        progress.finish(copied);
        Ok(())
    }

    /// Reads the files, as far as the tables are named.
    fn seed(&self) -> Result<Seed, String> {
        let mut seed = Seed::default();
        for source in &self.sources {
            seed.append(Seed::read(source).map_err(|error| error.to_string())?);
        }
        let tables = &self.options.tables;
        if !tables.is_empty() {
            let defined = seed.tables.iter().map(|table| &table.name);
            let present: BTreeSet<&String> = defined.chain(seed.items.iter().map(|items| &items.table)).collect();
            if let Some(missing) = tables.iter().find(|table| !present.contains(table)) {
                let present: Vec<&str> = present.into_iter().map(String::as_str).collect();
                let (sources, present) = (self.sources.join(", "), present.join(", "));
                return Err(format!("there is no table {missing} in {sources}; it has {present}"));
            }
            seed.tables.retain(|table| tables.contains(&table.name));
            seed.items.retain(|items| tables.contains(&items.table));
        }
        Ok(seed)
    }

    /// Returns the endpoint to write to, after the user has confirmed one on another machine. Fails if its tables are those of
    /// `from`.
    fn destination(&self, from: Option<&Endpoint>) -> Result<Endpoint, String> {
        let endpoint = Endpoint::from_env(&self.to)?;
        let endpoint = match &self.caller {
            Some(_) if !endpoint.is_loopback() => return Err("--caller is for destinations on this machine".into()),
            Some((key, region)) => endpoint.with_caller(key, region),
            None => endpoint,
        };
        if from.is_some_and(|from| from.has_tables_of(&endpoint)) {
            return Err(format!(
                "--from and --to have the same tables: {}; --caller writes to those of another access key or region",
                endpoint.describe()
            ));
        }
        if !endpoint.is_loopback() && !self.yes {
            confirm(&endpoint)?;
        }
        Ok(endpoint)
    }
}

/// Loads tables and items, and returns the number of items.
fn load(to: &dyn Database, seed: Seed, note: &dyn Fn(&str)) -> Result<u64, String> {
    let loaded = load::load(to, seed, Existing::Fill, note).map_err(|error| error.to_string())?;
    Ok(loaded.items as u64)
}

/// Asks the user of a terminal; without one, the answer is no.
fn confirm(endpoint: &Endpoint) -> Result<(), String> {
    let input = stdin();
    let is_confirmed = input.is_terminal() && is_confirmed(endpoint, &mut input.lock(), &mut stderr());
    let refused = || format!("not written to {}: --yes was not given", endpoint.url());
    is_confirmed.then_some(()).ok_or_else(refused)
}

fn is_confirmed(endpoint: &Endpoint, input: &mut dyn BufRead, output: &mut dyn Write) -> bool {
    let _ = write!(
        output,
        "Create tables and write items at {} (region {})? [yes/no] ",
        endpoint.url(),
        endpoint.region()
    );
    let mut answer = String::new();
    let _ = input.read_line(&mut answer);
    answer.trim() == "yes"
}

/// A line on standard error with the progress of the copy.
struct Progress<W> {
    output: Mutex<W>,
    table: Mutex<(String, u64)>,
    items: AtomicU64,
    written: Mutex<Instant>,
    begin: Instant,
    is_terminal: bool,
    interval: Duration,
}

impl<W: Write> Progress<W> {
    fn new(output: W, is_terminal: bool) -> Progress<W> {
        Progress {
            output: Mutex::new(output),
            table: Mutex::default(),
            items: AtomicU64::new(0),
            written: Mutex::new(Instant::now()),
            begin: Instant::now(),
            is_terminal,
            interval: if is_terminal { TERMINAL_INTERVAL } else { LOG_INTERVAL },
        }
    }

    fn report(&self, event: &CopyEvent<'_>) {
        match event {
            CopyEvent::Begins { table, about } => {
                self.items.store(0, Ordering::Relaxed);
                if let Ok(mut current) = self.table.lock() {
                    *current = ((*table).to_owned(), *about);
                }
            }
            CopyEvent::Copied { items } => {
                let items = self.items.fetch_add(*items, Ordering::Relaxed) + items;
                self.advance(items);
            }
            CopyEvent::Note { text } => self.line(text),
            CopyEvent::Done { table, items, checksum } => {
                let copied = self.items.load(Ordering::Relaxed);
                match checksum {
                    Some(checksum) => self.line(&format!(
                        "{table}: {copied} items copied; both sides have {items} items with checksum {checksum:016x}"
                    )),
                    None => self.line(&format!("{table}: {copied} items copied")),
                }
            }
        }
    }

    fn advance(&self, items: u64) {
        let Ok(mut written) = self.written.try_lock() else {
            return;
        };
        if written.elapsed() < self.interval {
            return;
        }
        *written = Instant::now();
        let Ok(current) = self.table.lock() else { return };
        let (table, about) = &*current;
        let percent = (*about > 0).then(|| items * 100 / about.max(&items));
        let bar = percent.map_or(String::new(), |percent| {
            let done = percent as usize / 5;
            format!(
                " [{}{}] {percent}% of about {about}",
                "#".repeat(done),
                ".".repeat(20 - done)
            )
        });
        let text = format!("{table}: {items} items{bar}");
        if self.is_terminal {
            self.write(&format!("\r\x1b[K{text}"));
        } else {
            self.write(&format!("{text}\n"));
        }
    }

    fn line(&self, text: &str) {
        let clear = if self.is_terminal { "\r\x1b[K" } else { "" };
        self.write(&format!("{clear}{text}\n"));
    }

    fn write(&self, text: &str) {
        if let Ok(mut output) = self.output.lock() {
            let _ = output.write_all(text.as_bytes());
        }
    }

    fn finish(&self, items: u64) {
        let seconds = self.begin.elapsed().as_secs_f64();
        self.line(&format!("{items} items in {seconds:.1} s"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str, line: &str) -> Result<Option<Command>, String> {
        parse(name, line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn command_lines_that_are_understood() {
        let line =
            "--from http://localhost:1 --to=http://localhost:2 --table A --table B --segments 8 --rate 100 --no-verify";
        let command = parsed("copy", line).unwrap().unwrap();
        assert_eq!(
            (command.sources, command.to.as_str()),
            (vec!["http://localhost:1".into()], "http://localhost:2")
        );
        assert_eq!(command.options.tables, ["A", "B"]);
        assert_eq!((command.options.segments, command.options.rate), (8, Some(100.0)));
        assert!(!command.options.verify && !command.yes);
        let command = parsed("import", "a.db T=b.csv --to http://localhost:2 --caller me/eu-west-1")
            .unwrap()
            .unwrap();
        assert_eq!(command.sources, ["a.db", "T=b.csv"]);
        assert_eq!(command.caller, Some(("me".into(), "eu-west-1".into())));
        let command = parsed("import", "a- b=c- --to d --from e f").unwrap().unwrap();
        assert_eq!(command.sources, ["a-", "b=c-", "e", "f"]);
        for help in ["--help", "-h", "--from a -h"] {
            assert!(parsed("copy", help).unwrap().is_none(), "{help}");
        }
        let command = parsed("copy", "--yes --resume=state.json --from http://a --to b")
            .unwrap()
            .unwrap();
        assert!(command.yes && command.options.verify && command.options.tables.is_empty());
        assert_eq!(command.options.state, Some(PathBuf::from("state.json")));
        assert_eq!((command.options.rate, command.caller), (None, None));
    }

    /// A switch is set without a value; one after `=` is that of the server's switches.
    #[test]
    fn switches_have_values() {
        for (flags, verify, yes) in [
            ("", true, false),
            ("--yes", true, true),
            ("--yes=true --no-verify=ON", false, true),
            ("--yes=1 --no-verify=yes", false, true),
            ("--yes=false", true, false),
            ("--yes --yes=off", true, false),
            ("--no-verify --no-verify=No --yes=0", true, false),
            ("--no-verify", false, false),
        ] {
            let command = parsed("copy", &format!("--from a --to b {flags}")).unwrap().unwrap();
            assert_eq!((command.options.verify, command.yes), (verify, yes), "{flags}");
        }
    }

    #[test]
    fn segments_are_bounded() {
        for (given, segments) in [("0.5", 1), ("1", 1), ("2.9", 2), ("256", 256), ("257", 256)] {
            let line = format!("--from a --to b --segments {given}");
            let command = parsed("copy", &line).unwrap().unwrap();
            assert_eq!(command.options.segments, segments, "{given}");
        }
    }

    /// Of a file only the tables that are named are written, and their items; a name that it does not have is an error.
    #[test]
    fn named_tables_are_imported_alone() {
        let table = |name: &str| {
            format!(
                r#"{{"TableName": "{name}", "AttributeDefinitions": [{{"AttributeName": "id", "AttributeType": "S"}}],
                    "KeySchema": [{{"AttributeName": "id", "KeyType": "HASH"}}], "Items": [{{"id": "{name}"}}]}}"#
            )
        };
        let file = std::env::temp_dir().join(format!("dynatwin-import-{}.json", std::process::id()));
        let text = format!(
            r#"{{"tables": [{}, {}, {}], "items": {{"Eee": [{{"id": "e"}}]}}}}"#,
            table("Aaa"),
            table("Bbb"),
            table("Ccc")
        );
        std::fs::write(&file, text).unwrap();
        for (flags, tables, items) in [
            ("", &["Aaa", "Bbb", "Ccc"][..], Ok(4)),
            ("--table Bbb", &["Bbb"], Ok(1)),
            ("--table Ccc --table Aaa", &["Aaa", "Ccc"], Ok(2)),
            ("--table Eee", &[], Ok(1)),
            ("--table Eee --table Bbb", &["Bbb"], Ok(2)),
            (
                "--table Ddd",
                &[],
                Err("there is no table Ddd in FILE; it has Aaa, Bbb, Ccc, Eee"),
            ),
            (
                "--table Aa",
                &[],
                Err("there is no table Aa in FILE; it has Aaa, Bbb, Ccc, Eee"),
            ),
            (
                "--table Aaa --table bbb",
                &[],
                Err("there is no table bbb in FILE; it has Aaa, Bbb, Ccc, Eee"),
            ),
        ] {
            let items = items.map_err(|error: &str| error.replace("FILE", &file.display().to_string()));
            let engine = dynatwin_engine::Engine::new(dynatwin_engine::Settings {
                clock: dynatwin_engine::Clock::settable(dynatwin_engine::Moment::START),
                seed: 7,
                conditions: dynatwin_engine::Conditions::CALM,
                shared_db: false,
            });
            let caller = dynatwin_engine::Caller {
                access_key: "me".into(),
                region: "us-east-1".into(),
            };
            let to = crate::database::InProcess::new(&engine, &caller);
            // The file has items of a table that it does not define.
            let existing =
                Seed::parse("table.json", format!(r#"{{"tables": [{}]}}"#, table("Eee")).as_bytes()).unwrap();
            load(
                &to,
                Seed {
                    items: Vec::new(),
                    ..existing
                },
                &|_| (),
            )
            .unwrap();
            let line = format!("{} --to http://localhost:1 {flags}", file.display());
            let command = parsed("import", &line).unwrap().unwrap();
            let loaded = command.seed().and_then(|seed| load(&to, seed, &|_| ()));
            assert_eq!(loaded, items, "{flags}");
            assert_eq!(engine.tables(&caller), [tables, &["Eee"]].concat(), "{flags}");
        }
        std::fs::remove_file(&file).unwrap();
    }

    /// All files are read, and a named table may be in any of them. Its name may be the beginning of another's.
    #[test]
    fn several_files_are_imported() {
        let folder = std::env::temp_dir().join(format!("dynatwin-several-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, text: String| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let table = |name: &str| {
            format!(
                r#"{{"tables": [{{"TableName": "{name}", "AttributeDefinitions": [{{"AttributeName": "id", "AttributeType": "S"}}],
                    "KeySchema": [{{"AttributeName": "id", "KeyType": "HASH"}}], "Items": [{{"id": "{name}"}}]}}]}}"#
            )
        };
        let files = [
            file("first.json", table("Aaa")),
            file("second.json", table("Bbb")),
            file("Bbbb.jsonl", "{\"id\": \"1\"}\n{\"id\": \"2\"}\n".to_owned()),
        ];
        let read = |files: &[&String], flags: &str| {
            let files = files.iter().map(|file| file.as_str()).collect::<Vec<_>>().join(" ");
            let command = parsed("import", &format!("{files} --to http://localhost:1 {flags}"));
            command.unwrap().unwrap().seed().map(|seed| {
                let mut tables: Vec<_> = seed.tables.into_iter().map(|table| table.name).collect();
                let mut items = BTreeSet::new();
                for of_table in seed.items {
                    let count = of_table.items.inspect(|item| assert!(item.is_ok())).count();
                    assert!(items.insert((of_table.table, count)));
                }
                tables.sort();
                (
                    tables.join(" "),
                    items
                        .into_iter()
                        .map(|(table, count)| format!("{table} {count}"))
                        .collect::<Vec<_>>(),
                )
            })
        };
        let [first, second, third] = &files;
        for order in [
            [first, second, third],
            [first, third, second],
            [second, first, third],
            [second, third, first],
            [third, first, second],
            [third, second, first],
        ] {
            for (flags, tables, items) in [
                ("", "Aaa Bbb", &["Aaa 1", "Bbb 1", "Bbbb 2"][..]),
                ("--table Aaa", "Aaa", &["Aaa 1"]),
                ("--table Bbb", "Bbb", &["Bbb 1"]),
                ("--table Bbbb", "", &["Bbbb 2"]),
                ("--table Bbbb --table Bbb", "Bbb", &["Bbb 1", "Bbbb 2"]),
            ] {
                let expected = items.iter().map(|items| (*items).to_owned()).collect();
                assert_eq!(
                    read(&order, flags),
                    Ok((tables.to_owned(), expected)),
                    "{order:?} {flags}"
                );
            }
            let refused = read(&order, "--table Ddd").unwrap_err();
            let [a, b, c] = order;
            assert_eq!(
                refused,
                format!("there is no table Ddd in {a}, {b}, {c}; it has Aaa, Bbb, Bbbb")
            );
        }
        let refused = read(&[first, third], "--table Bbb").unwrap_err();
        assert_eq!(
            refused,
            format!("there is no table Bbb in {first}, {third}; it has Aaa, Bbbb")
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn command_lines_that_are_refused() {
        for (name, line, message) in [
            ("copy", "", "--from is missing"),
            ("copy", "--from a", "--to is missing"),
            ("copy", "--from a --from b --to c", "--from can be given once"),
            ("copy", "a --to b", "a is not known"),
            ("import", "--to b", "a file to import is missing"),
            ("import", "a --to", "--to needs a value"),
            (
                "import",
                "a --to b --bogus",
                "--bogus is not known; dynatwin import --help prints what is",
            ),
            ("import", "a --to b --bogus=c", "--bogus is not known"),
            ("import", "a --to b -x", "-x is not known"),
            ("import", "a --to b -", "- is not known"),
            ("copy", "--from a --to b --", "-- is not known"),
            ("copy", "--from=a --from=b --to c", "--from can be given once"),
            (
                "copy",
                "--from a --to b --segments 0",
                "--segments needs a positive number, not 0",
            ),
            (
                "copy",
                "--from a --to b --segments inf",
                "--segments needs a positive number, not inf",
            ),
            (
                "copy",
                "--from a --to b --segments NaN",
                "--segments needs a positive number, not NaN",
            ),
            (
                "copy",
                "--from a --to b --rate 0",
                "--rate needs a number of items a second from 0.001 to 1000000000, not 0",
            ),
            ("copy", "--from a --to b --rate -1", "--rate needs a number of items"),
            ("copy", "--from a --to b --rate inf", "--rate needs a number of items"),
            ("copy", "--from a --to b --rate NaN", "--rate needs a number of items"),
            ("copy", "--from a --to b --rate 1e-18", "--rate needs a number of items"),
            (
                "copy",
                "--from a --to b --rate 0.0009",
                "--rate needs a number of items",
            ),
            ("import", "a --to b --rate 1.1e9", "--rate needs a number of items"),
            ("copy", "--from a --to b --rate fast", "--rate needs a number of items"),
            ("copy", "--from a --to b --caller x", "--caller has the form"),
            (
                "copy",
                "--from a --to b --yes=maybe",
                "--yes: 'maybe' is neither on nor off",
            ),
            (
                "copy",
                "--from a --to b --no-verify=",
                "--no-verify: '' is neither on nor off",
            ),
            (
                "copy",
                "--from a --to b --segments x",
                "--segments needs a positive number",
            ),
            (
                "copy",
                "--from a --to b --segments -1",
                "--segments needs a positive number",
            ),
        ] {
            let error = parsed(name, line).unwrap_err();
            assert!(error.starts_with(message), "{name} {line}: {error}");
        }
    }

    /// Tables are not copied onto themselves. Those of another access key or region are others.
    #[test]
    fn the_destination_has_other_tables() {
        let mine = Some(("me", "eu-west-1"));
        for (caller, to, is_other) in [
            (None, "http://localhost:2", false),
            (None, "http://127.0.0.1:2/", false),
            (None, "http://localhost:3", true),
            (None, "http://localhost:2 --caller me/xx-test-1", true),
            (mine, "http://localhost:2 --caller me/eu-west-1", false),
            (mine, "http://127.0.0.1:2/ --caller me/eu-west-1", false),
            (mine, "http://localhost:3 --caller me/eu-west-1", true),
            (mine, "http://localhost:2 --caller me/eu-west-2", true),
            (mine, "http://localhost:2 --caller you/eu-west-1", true),
        ] {
            let command = parsed("copy", &format!("--from http://localhost:2 --to {to}"));
            let from = Endpoint::from_env("http://localhost:2").unwrap();
            let from = caller.map_or(from.clone(), |(key, region)| from.with_caller(key, region));
            let refused = command.unwrap().unwrap().destination(Some(&from)).err();
            assert_eq!(refused.is_none(), is_other, "{to}: {refused:?}");
            let message = "--from and --to have the same tables: http://";
            assert!(refused.is_none_or(|error| error.starts_with(message)), "{to}");
        }
    }

    #[test]
    fn endpoints_on_this_machine_need_no_confirmation() {
        for url in ["http://localhost:2", "http://127.0.0.1:2", "http://[::1]:2"] {
            let command = parsed("import", &format!("a.json --to {url} --caller me/eu-west-1"));
            let endpoint = command.unwrap().unwrap().destination(None).unwrap();
            assert_eq!(endpoint.region(), "eu-west-1", "{url}");
        }
    }

    #[test]
    fn a_new_directory_does_not_look_like_an_endpoint() {
        let hint = |name: &str, url: &str| {
            Err(format!(
                "{name} is neither a URL nor a directory; write {url} or ./{name}"
            ))
        };
        for (name, expect) in [
            ("localhost:1", hint("localhost:1", "http://localhost:1")),
            ("[::1]:1", hint("[::1]:1", "http://[::1]:1")),
            ("ftp://x", hint("ftp://x", "http://x")),
            ("./localhost:1", Ok(())),
            ("a/b:1", Ok(())),
            ("backup", Ok(())),
            ("backup:new", Ok(())),
            ("backup:", Ok(())),
            (":1", hint(":1", "http://:1")),
            ("backup:65535", hint("backup:65535", "http://backup:65535")),
            ("backup:65536", Ok(())),
            (".", Ok(())),
        ] {
            assert_eq!(check_directory(name), expect, "{name}");
        }
        // One that exists is a directory, whatever its name.
        let name = format!("dynatwin-directory-{}:1", std::process::id());
        assert!(check_directory(&name).is_err());
        std::fs::create_dir(&name).unwrap();
        let checked = check_directory(&name);
        std::fs::remove_dir(&name).unwrap();
        assert_eq!(checked, Ok(()));
        let command = parsed("copy", "--from http://localhost:1 --to localhost:2")
            .unwrap()
            .unwrap();
        assert!(command.run().unwrap_err().contains("http://localhost:2"));
    }

    /// What begins as a URL is an endpoint, and everything else a file.
    #[test]
    fn endpoints_are_urls() {
        for (text, is_endpoint) in [
            ("http://localhost:1", true),
            ("https://dynamodb.eu-west-1.amazonaws.com", true),
            ("HTTP://localhost:1", true),
            ("Https://localhost:1", true),
            ("localhost:1", false),
            ("httpd.json", false),
            ("./http://x", false),
        ] {
            assert_eq!(is_url(text), is_endpoint, "{text}");
        }
        let command = parsed("import", "a.json --to b").unwrap().unwrap();
        let refused = command.run().unwrap_err();
        assert_eq!(refused, "files can be copied only to an endpoint, and b is not one");
        let command = parsed(
            "import",
            "a.json --to https://dynamodb.eu-west-1.amazonaws.com --caller me/x --yes",
        );
        let refused = command.unwrap().unwrap().destination(None).unwrap_err();
        assert!(
            refused == "--caller is for destinations on this machine" || refused.contains("AWS_ACCESS_KEY_ID"),
            "{refused}"
        );
    }

    #[test]
    fn remote_endpoints_need_confirmation() {
        let command = parsed("import", "a.json --to https://dynamodb.eu-west-1.amazonaws.com")
            .unwrap()
            .unwrap();
        // Without credentials, or without a terminal for the confirmation.
        let refused = command.destination(None).unwrap_err();
        assert!(
            refused.contains("--yes was not given") || refused.contains("AWS_ACCESS_KEY_ID"),
            "{refused}"
        );
    }

    /// Each flag of both commands takes its value after `=` or as the next word, and the last of several counts unless they
    /// are collected.
    #[test]
    fn every_flag_in_each_form() {
        type Shown = fn(&Command) -> String;
        let cases: &[(&str, &[&str], Shown, &str)] = &[
            ("--to", &["c"], |command| command.to.clone(), "c"),
            ("--to", &["c", "http://d"], |command| command.to.clone(), "http://d"),
            ("--table", &["A"], |command| command.options.tables.join("+"), "A"),
            (
                "--table",
                &["A", "B", "C"],
                |command| command.options.tables.join("+"),
                "A+B+C",
            ),
            (
                "--segments",
                &["7"],
                |command| command.options.segments.to_string(),
                "7",
            ),
            (
                "--segments",
                &["7", "8"],
                |command| command.options.segments.to_string(),
                "8",
            ),
            (
                "--rate",
                &["0.5"],
                |command| format!("{:?}", command.options.rate),
                "Some(0.5)",
            ),
            (
                "--rate",
                &["1e9", "0.001"],
                |command| format!("{:?}", command.options.rate),
                "Some(0.001)",
            ),
            (
                "--rate",
                &["1", "1e3"],
                |command| format!("{:?}", command.options.rate),
                "Some(1000.0)",
            ),
            (
                "--resume",
                &["s"],
                |command| format!("{:?}", command.options.state),
                "Some(\"s\")",
            ),
            (
                "--resume",
                &["s", "t=u"],
                |command| format!("{:?}", command.options.state),
                "Some(\"t=u\")",
            ),
            (
                "--caller",
                &["k/r"],
                |command| format!("{:?}", command.caller),
                "Some((\"k\", \"r\"))",
            ),
            (
                "--caller",
                &["k/r", "a/b/c"],
                |command| format!("{:?}", command.caller),
                "Some((\"a\", \"b/c\"))",
            ),
        ];
        for name in ["copy", "import"] {
            for (flag, values, shown, expected) in cases {
                for separator in ["=", " "] {
                    let given = values.iter().map(|value| format!(" {flag}{separator}{value}"));
                    let given: String = given.collect();
                    for line in [format!("--from a --to b{given}"), format!("--to b{given} --from=a")] {
                        let command = parsed(name, &line).unwrap().unwrap();
                        assert_eq!(shown(&command), *expected, "{name} {line}");
                        assert_eq!(command.sources, ["a"], "{name} {line}");
                        let default = CopyOptions::default();
                        let is_of = |other: &str| *flag == other;
                        assert!(is_of("--to") || command.to == "b", "{line}");
                        assert!(is_of("--table") || command.options.tables.is_empty(), "{line}");
                        assert!(
                            is_of("--segments") || command.options.segments == default.segments,
                            "{line}"
                        );
                        assert!(is_of("--rate") || command.options.rate.is_none(), "{line}");
                        assert!(is_of("--resume") || command.options.state.is_none(), "{line}");
                        assert!(is_of("--caller") || command.caller.is_none(), "{line}");
                        assert!(command.options.verify && !command.yes, "{line}");
                    }
                }
                let error = parsed(name, &format!("--from a --to b {flag}")).unwrap_err();
                assert_eq!(error, format!("{flag} needs a value"), "{name}");
            }
            for (words, on) in [("", true), ("=on", true), ("=TRUE", true), ("=Yes", true), ("=1", true)]
                .into_iter()
                .chain([("=off", false), ("=False", false), ("=no", false), ("=0", false)])
            {
                for (flag, verify, yes) in [("--yes", true, on), ("--no-verify", !on, false)] {
                    let command = parsed(name, &format!("--from a {flag}{words} --to b"))
                        .unwrap()
                        .unwrap();
                    assert_eq!(
                        (command.options.verify, command.yes),
                        (verify, yes),
                        "{name} {flag}{words}"
                    );
                }
            }
        }
    }

    /// The defaults are those that the help prints.
    #[test]
    fn defaults_are_those_of_the_help() {
        let command = parsed("copy", "--from a --to b").unwrap().unwrap();
        for (flag, default) in [
            (
                "segments of the parallel Scan of each table",
                command.options.segments.to_string(),
            ),
            ("copy this table; repeatable", "all tables".to_owned()),
            (
                "write at most N items a second, from 0.001 to 1000000000",
                "no limit".to_owned(),
            ),
        ] {
            assert!(HELP.contains(&format!("{flag} ({default})")), "{flag}: {default}");
        }
        assert!(command.options.tables.is_empty() && command.options.rate.is_none());
    }

    /// Only the whole word confirms.
    #[test]
    fn a_destination_is_confirmed_by_the_word_yes() {
        let endpoint = Endpoint::new("http://192.0.2.1:8000", |name| Some(name.to_owned())).unwrap();
        for (answer, expected) in [
            ("yes\n", true),
            ("yes\r\n", true),
            ("  yes\n", true),
            ("yes", true),
            ("yes\nno\n", true),
            ("no\n", false),
            ("no\nyes\n", false),
            ("y\n", false),
            ("Yes\n", false),
            ("yes yes\n", false),
            ("\n", false),
            ("", false),
        ] {
            let mut printed = Vec::new();
            let found = is_confirmed(&endpoint, &mut answer.as_bytes(), &mut printed);
            assert_eq!(found, expected, "{answer:?}");
            assert_eq!(
                String::from_utf8(printed).unwrap(),
                "Create tables and write items at http://192.0.2.1:8000/ (region AWS_REGION)? [yes/no] "
            );
        }
    }

    /// What a copy with these events prints, with a line of progress for each `Copied` or for none.
    fn printed(events: &[CopyEvent<'_>], is_terminal: bool, interval: Duration) -> String {
        let progress = Progress {
            interval,
            ..Progress::new(Vec::new(), is_terminal)
        };
        events.iter().for_each(|event| progress.report(event));
        String::from_utf8(progress.output.into_inner().unwrap()).unwrap()
    }

    #[test]
    fn progress_is_a_line_with_a_bar() {
        for (about, copied, expected) in [
            (0, &[25][..], "25 items"),
            (200, &[1], "1 items [....................] 0% of about 200"),
            (200, &[9], "9 items [....................] 4% of about 200"),
            (200, &[10], "10 items [#...................] 5% of about 200"),
            (200, &[25, 25], "50 items [#####...............] 25% of about 200"),
            (200, &[199], "199 items [###################.] 99% of about 200"),
            (200, &[200], "200 items [####################] 100% of about 200"),
            (200, &[200, 100], "300 items [####################] 100% of about 200"),
            (1, &[1], "1 items [####################] 100% of about 1"),
        ] {
            let mut events = vec![CopyEvent::Begins { table: "Orders", about }];
            events.extend(copied.iter().map(|items| CopyEvent::Copied { items: *items }));
            let log = printed(&events, false, Duration::ZERO);
            assert_eq!(log.lines().count(), copied.len(), "{log}");
            assert!(log.ends_with(&format!("Orders: {expected}\n")), "{log}");
            // On a terminal each line replaces the one before.
            let terminal = printed(&events, true, Duration::ZERO);
            let lines = log.lines().map(|line| format!("\r\x1b[K{line}"));
            assert_eq!(terminal, lines.collect::<String>());
            for is_terminal in [false, true] {
                assert_eq!(printed(&events, is_terminal, Duration::MAX), "", "{about}");
            }
        }
        assert_eq!(Progress::new(Vec::new(), true).interval, TERMINAL_INTERVAL);
        assert_eq!(Progress::new(Vec::new(), false).interval, LOG_INTERVAL);
    }

    /// A line of progress is not written before the interval since the last one has passed.
    #[test]
    fn lines_of_progress_have_an_interval() {
        let interval = Duration::from_mins(1);
        let Some(earlier) = Instant::now().checked_sub(interval) else {
            eprintln!("this machine has run for less than a minute: nothing is tested");
            return;
        };
        let progress = Progress {
            interval,
            ..Progress::new(Vec::new(), false)
        };
        progress.report(&CopyEvent::Begins { table: "Tab", about: 0 });
        for items in [1, 2, 4, 8] {
            if items != 2 {
                *progress.written.lock().unwrap() = earlier;
            }
            progress.report(&CopyEvent::Copied { items });
        }
        progress.report(&CopyEvent::Copied { items: 16 });
        let log = String::from_utf8(progress.output.into_inner().unwrap()).unwrap();
        assert_eq!(log, "Tab: 1 items\nTab: 7 items\nTab: 15 items\n");
    }

    /// Each table has its own number of items, and the copy ends with that of all.
    #[test]
    fn the_end_of_each_table_is_printed() {
        let events = [
            CopyEvent::Begins { table: "Aaa", about: 2 },
            CopyEvent::Copied { items: 2 },
            CopyEvent::Done {
                table: "Aaa",
                items: 2,
                checksum: Some(0xab),
            },
            CopyEvent::Note {
                text: "Bbb already exists",
            },
            CopyEvent::Begins { table: "Bbb", about: 9 },
            CopyEvent::Copied { items: 4 },
            CopyEvent::Copied { items: 1 },
            // Resumed: the table has more items than are copied now.
            CopyEvent::Done {
                table: "Bbb",
                items: 9,
                checksum: Some(u64::MAX),
            },
            CopyEvent::Begins { table: "Ccc", about: 0 },
            CopyEvent::Done {
                table: "Ccc",
                items: 0,
                checksum: None,
            },
        ];
        let lines = [
            "Aaa: 2 items copied; both sides have 2 items with checksum 00000000000000ab",
            "Bbb already exists",
            "Bbb: 5 items copied; both sides have 9 items with checksum ffffffffffffffff",
            "Ccc: 0 items copied",
        ];
        for (is_terminal, begin) in [(false, ""), (true, "\r\x1b[K")] {
            let expected = lines.map(|line| format!("{begin}{line}\n")).concat();
            assert_eq!(printed(&events, is_terminal, Duration::MAX), expected);
            let progress = Progress::new(Vec::new(), is_terminal);
            progress.finish(16);
            let end = String::from_utf8(progress.output.into_inner().unwrap()).unwrap();
            assert!(
                end.starts_with(&format!("{begin}16 items in ")) && end.ends_with(" s\n"),
                "{end}"
            );
        }
        let of_second = printed(&events, false, Duration::ZERO);
        assert!(
            of_second.contains("\nBbb: 5 items [###########.........] 55% of about 9\n"),
            "{of_second}"
        );
    }
}
