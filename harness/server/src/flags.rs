//! The command line: Dynatwin's flags, and DynamoDB Local's as existing scripts use them.
//!
//! Parsing, environment and help are derived from one table of flags.

mod help;
mod parse;
#[cfg(test)]
mod tests;

use std::fmt;

use dynatwin_engine::Moment;
use dynatwin_engine::http::HealthCheck;

use crate::log::Log;
use crate::web::Origins;

pub(crate) use help::entries;
pub use help::help;
pub use parse::parse;
pub(crate) use parse::unknown_variables;

/// Which clock the emulator uses.
///
/// ```
/// use dynatwin_server::ClockChoice;
///
/// assert_eq!(ClockChoice::Settable.to_string(), "settable");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockChoice {
    /// The clock of the operating system.
    #[default]
    System,
    /// A clock that stands still at 2026-01-01T00:00:00Z until it is advanced.
    Settable,
    /// A clock that starts at this moment.
    From(Moment),
}

impl fmt::Display for ClockChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClockChoice::System => formatter.write_str("system"),
            ClockChoice::Settable => formatter.write_str("settable"),
            ClockChoice::From(start) => write!(formatter, "from {start}"),
        }
    }
}

/// When a write to `--db-path` survives a power failure. Answered writes always survive the end of the process.
///
/// ```
/// use dynatwin_server::{Invocation, Sync, parse};
///
/// let words = ["--db-path", "data", "--sync", "always"].map(String::from);
/// let Ok(Invocation::Run(flags)) = parse(words, |_variable| None) else { panic!() };
/// assert_eq!(flags.sync, Sync::Always);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// About a second after it was answered.
    #[default]
    Second,
    /// Before the write is answered.
    Always,
}

impl Sync {
    fn named(name: &str) -> Option<Sync> {
        match name {
            "second" => Some(Sync::Second),
            "always" => Some(Sync::Always),
            _ => None,
        }
    }
}

/// The settings given on the command line or in the environment.
///
/// ```
/// use dynatwin_server::{Invocation, parse};
///
/// let words = ["--port", "8123", "--conditions", "aws"].map(String::from);
/// let Ok(Invocation::Run(flags)) = parse(words, |_variable| None) else { panic!() };
/// assert_eq!((flags.port, flags.conditions), (8123, Some("aws")));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Flags {
    /// The port to listen on: `--port`.
    pub port: u16,
    /// `--host`, one entry for each.
    pub hosts: Vec<String>,
    /// `--conditions`, the name of a preset. `None`: the stored conditions of `--db-path`, otherwise `calm`.
    pub conditions: Option<&'static str>,
    /// The random seed: `--seed`; generated if `None`.
    pub seed: Option<u64>,
    /// The kind of clock that `--clock` selects.
    pub clock: ClockChoice,
    /// The factor of an accelerated clock: `--speed`.
    pub speed: Option<f64>,
    /// Whether expired items are deleted: `--ttl`; as the conditions define if `None`.
    pub ttl: Option<bool>,
    /// The requests that `--log` writes to standard error.
    pub log: Log,
    /// Whether all callers share one set of tables: `--shared-db`.
    pub shared_db: bool,
    /// Whether tables are `CREATING` and `DELETING` for a while: `--delay-transient-statuses`; as the conditions define if `None`.
    pub delay_transient_statuses: Option<bool>,
    /// Whether nothing is stored: `--in-memory`.
    pub in_memory: bool,
    /// The directory of the database: `--db-path`; nothing is stored if `None`.
    pub db_path: Option<String>,
    /// When writes are synced to disk: `--sync`.
    pub sync: Sync,
    /// The log size in bytes from which on a snapshot replaces the log: `--log-size`.
    pub log_size: u64,
    /// The origins of web pages that may read answers: `--cors`.
    pub cors: Origins,
    /// `--allowed-host`, one entry for each.
    pub allowed_hosts: Vec<String>,
    /// The HTTP status of the health check: `--health-status`; the service's if `None`.
    pub health_status: Option<u16>,
    /// Whether the command line has DynamoDB Local's form: `-jar`, or one of its flags with a single dash.
    pub like_dynamodb_local: bool,
    /// The memory limit in bytes: `--max-memory`.
    pub max_memory: Option<u64>,
    /// Whether controls that change the emulator are refused: `--no-control`.
    pub no_control: bool,
    /// The directory of S3 buckets for exports and imports: `--s3-dir`.
    pub s3_dir: Option<String>,
    /// `--load`, one entry for each.
    pub load: Vec<String>,
    /// Whether signatures are verified: `--verify-signatures`.
    pub verify_signatures: bool,
    /// The file that configures access control: `--iam`.
    pub iam: Option<String>,
}

impl Default for Flags {
    fn default() -> Flags {
        Flags {
            port: 8000,
            hosts: Vec::new(),
            conditions: None,
            seed: None,
            clock: ClockChoice::System,
            speed: None,
            ttl: None,
            log: Log::default(),
            shared_db: false,
            delay_transient_statuses: None,
            in_memory: false,
            db_path: None,
            sync: Sync::default(),
            log_size: 64 * 1024 * 1024,
            cors: Origins::default(),
            allowed_hosts: Vec::new(),
            health_status: None,
            like_dynamodb_local: false,
            max_memory: None,
            no_control: false,
            s3_dir: None,
            load: Vec::new(),
            verify_signatures: false,
            iam: None,
        }
    }
}

impl Flags {
    /// The flags of a command line that starts the server.
    #[cfg(test)]
    pub(crate) fn of(words: &[&str]) -> Flags {
        match parse(words.iter().map(|word| (*word).to_owned()), |_| None) {
            Ok(Invocation::Run(flags)) => *flags,
            other => panic!("{words:?}: {other:?}"),
        }
    }

    /// Returns how `GET /` is answered: as `--health-status` defines, otherwise like AWS or, for a command line in
    /// DynamoDB Local's form, like DynamoDB Local.
    pub fn health_check(&self) -> HealthCheck {
        match self.health_status {
            Some(400) => HealthCheck::Refused,
            None if self.like_dynamodb_local => HealthCheck::Refused,
            _ => HealthCheck::Healthy,
        }
    }
}

/// The action that a command line requests.
///
/// ```
/// use dynatwin_server::{Invocation, parse};
///
/// let words = ["-jar", "DynamoDBLocal.jar", "-inMemory", "-port", "8001"].map(String::from);
/// let Ok(Invocation::Run(flags)) = parse(words, |_variable| None) else { panic!() };
/// assert_eq!(flags.port, 8001);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Invocation {
    /// Runs the server with these settings.
    Run(Box<Flags>),
    /// Prints the flags and exits.
    Help,
    /// Prints the version and exits.
    Version,
}

/// A flag: its name in DynamoDB Local's spelling (`inMemory`; `in-memory` follows from it), and its effect.
struct Flag {
    name: &'static str,
    effect: FlagEffect,
    help: &'static str,
}

/// What a flag does.
enum FlagEffect {
    /// The flag has a value, with this name in `--help`.
    Value(&'static str, fn(&mut Flags, &str) -> Option<()>),
    /// The flag is on or off.
    Switch(fn(&mut Flags, bool)),
    /// The flag replaces running the server.
    Instead(Invocation),
}

/// The names of the presets of conditions.
pub(crate) const CONDITIONS: [&str; 3] = ["calm", "aws", "storm"];

const FLAGS: &[Flag] = &[
    Flag {
        name: "port",
        effect: FlagEffect::Value("PORT", |flags, value| put(&mut flags.port, value.parse().ok())),
        help: "the port on all addresses; 0 picks a free port and prints it (8000)",
    },
    Flag {
        name: "host",
        effect: FlagEffect::Value("HOST", |flags, value| {
            flags.hosts.extend(value.split(',').map(|host| host.trim().to_owned()));
            flags.hosts.iter().all(|host| !host.is_empty()).then_some(())
        }),
        help: "an address to listen on; repeatable (127.0.0.1 and ::1)",
    },
    Flag {
        name: "conditions",
        effect: FlagEffect::Value("calm|aws|storm", |flags, value| {
            let known = CONDITIONS.into_iter().find(|name| *name == value)?;
            put(&mut flags.conditions, Some(Some(known)))
        }),
        help: "the preset of production behavior: lag, staleness, throttling, latency, failures (the stored conditions with --db-path, otherwise calm)",
    },
    Flag {
        name: "seed",
        effect: FlagEffect::Value("N", |flags, value| put(&mut flags.seed, value.parse().ok().map(Some))),
        help: "the random seed; the same seed repeats a run (generated and printed at startup)",
    },
    Flag {
        name: "clock",
        effect: FlagEffect::Value("system|settable|MOMENT", |flags, value| {
            put(&mut flags.clock, clock(value))
        }),
        help: "the emulator's clock: the system's; one that stands still at 2026-01-01T00:00:00Z until it is advanced (by the controls, the header X-Dynatwin-Advance, fault rules with movesClock, or transactions that take time); or one that starts at a moment such as 2026-01-01T00:00:00Z (system)",
    },
    Flag {
        name: "speed",
        effect: FlagEffect::Value("X", |flags, value| put(&mut flags.speed, speed(value).map(Some))),
        help: "emulated seconds per real second (1)",
    },
    Flag {
        name: "ttl",
        effect: FlagEffect::Value("on|off", |flags, value| {
            put(&mut flags.ttl, parse_switch(value).map(Some))
        }),
        help: "off: expired items are never deleted (the stored setting with --db-path, otherwise on)",
    },
    Flag {
        name: "log",
        effect: FlagEffect::Value("off|errors|requests", |flags, value| {
            put(&mut flags.log, Log::named(value))
        }),
        help: "the level of the log on standard error (errors)",
    },
    Flag {
        name: "s3Dir",
        effect: FlagEffect::Value("DIR", |flags, value| {
            put(&mut flags.s3_dir, (!value.is_empty()).then(|| Some(value.to_owned())))
        }),
        help: "a folder that contains a folder for each bucket, for exports and imports (none: no bucket exists)",
    },
    Flag {
        name: "load",
        effect: FlagEffect::Value("FILE", |flags, value| {
            flags.load.push(value.to_owned());
            (!value.is_empty()).then_some(())
        }),
        help: "creates the tables and writes the items of a file at startup: JSON, YAML, CSV, a template, DynamoDB Local's database or an export; TABLE=FILE names the table of items; repeatable",
    },
    Flag {
        name: "iam",
        effect: FlagEffect::Value("FILE", |flags, value| {
            put(&mut flags.iam, (!value.is_empty()).then(|| Some(value.to_owned())))
        }),
        help: "accounts, users, roles, access keys and policies, in JSON or YAML; every request then needs one of these keys (none: everything is allowed)",
    },
    Flag {
        name: "sharedDb",
        effect: FlagEffect::Switch(|flags, on| flags.shared_db = on),
        help: "one set of tables for all access keys and regions",
    },
    Flag {
        name: "delayTransientStatuses",
        effect: FlagEffect::Switch(|flags, on| flags.delay_transient_statuses = Some(on)),
        help: "tables are CREATING and DELETING for seconds, as in the service",
    },
    Flag {
        name: "inMemory",
        effect: FlagEffect::Switch(|flags, on| flags.in_memory = on),
        help: "stores nothing, as without --db-path",
    },
    Flag {
        name: "dbPath",
        effect: FlagEffect::Value("DIR", |flags, value| {
            put(&mut flags.db_path, (!value.is_empty()).then(|| Some(value.to_owned())))
        }),
        help: "the directory that stores everything, created if it is missing (none: in memory)",
    },
    Flag {
        name: "sync",
        effect: FlagEffect::Value("second|always", |flags, value| put(&mut flags.sync, Sync::named(value))),
        help: "with --db-path, when writes reach the disk: within a second, so all survive the end of the process, but a power failure may lose the latest; or always before they are answered (second)",
    },
    Flag {
        name: "logSize",
        effect: FlagEffect::Value("SIZE", |flags, value| put(&mut flags.log_size, size(value))),
        help: "with --db-path, a snapshot replaces the log once the log exceeds this size and the size of the last snapshot (64MB)",
    },
    Flag {
        name: "cors",
        effect: FlagEffect::Value("LIST", |flags, value| put(&mut flags.cors, Origins::parse(value))),
        help: "origins whose web pages may read answers, such as http://localhost:3000,https://app.example, or * for all (none)",
    },
    Flag {
        name: "allowedHost",
        effect: FlagEffect::Value("HOST", |flags, value| {
            let hosts = value.split(',').map(|host| host.trim().to_owned());
            flags.allowed_hosts.extend(hosts);
            flags.allowed_hosts.iter().all(|host| !host.is_empty()).then_some(())
        }),
        help: "a host name that web pages may use for the server, in addition to localhost and the addresses it listens on; repeatable",
    },
    Flag {
        name: "healthStatus",
        effect: FlagEffect::Value("200|400", |flags, value| {
            let known = [200, 400].into_iter().find(|status| value == status.to_string())?;
            put(&mut flags.health_status, Some(Some(known)))
        }),
        help: "the status of GET / and HEAD / (200 as AWS; 400 for a command line in DynamoDB Local's form)",
    },
    Flag {
        name: "optimizeDbBeforeStartup",
        effect: FlagEffect::Switch(|_, _| ()),
        help: "accepted: there is nothing to optimize",
    },
    Flag {
        name: "disableTelemetry",
        effect: FlagEffect::Switch(|_, _| ()),
        help: "accepted: there is no telemetry",
    },
    Flag {
        name: "maxMemory",
        effect: FlagEffect::Value("SIZE", |flags, value| put(&mut flags.max_memory, size(value).map(Some))),
        help: "the memory that the server may use, such as 512MB or 2GB; beyond it writes that store more fail with InternalServerError, and reads and deletes continue (no limit)",
    },
    Flag {
        name: "noControl",
        effect: FlagEffect::Switch(|flags, on| flags.no_control = on),
        help: "makes /_dynatwin/ read-only",
    },
    Flag {
        name: "verifySignatures",
        effect: FlagEffect::Switch(|flags, on| flags.verify_signatures = on),
        help: "verifies the signature of each request with the environment's AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; keys of --iam are always verified",
    },
    Flag {
        name: "version",
        effect: FlagEffect::Instead(Invocation::Version),
        help: "prints the version and exits",
    },
    Flag {
        name: "help",
        effect: FlagEffect::Instead(Invocation::Help),
        help: "prints this help and exits",
    },
];

/// Sets a flag if its value is valid.
fn put<T>(flag: &mut T, value: Option<T>) -> Option<()> {
    *flag = value?;
    Some(())
}

/// Returns the end of the sentence that a value does not have a form.
fn mismatch(form: &str) -> String {
    let expected = match form {
        "DIR" => "a directory",
        "FILE" => "a file",
        "LIST" => return "neither * nor a list of origins such as http://localhost:3000".into(),
        "system|settable|MOMENT" => "system, settable, or a moment such as 2026-01-01T00:00:00Z",
        "N" => "a whole number (0 to 18446744073709551615)",
        "PORT" => "a port (0 to 65535)",
        "SIZE" => "a size such as 512MB",
        "X" => "a positive number (0.000001 to 1e9)",
        other => other,
    };
    format!("not {expected}")
}

fn clock(value: &str) -> Option<ClockChoice> {
    match value {
        "system" => Some(ClockChoice::System),
        "settable" => Some(ClockChoice::Settable),
        moment => Moment::parse(moment).map(ClockChoice::From),
    }
}

/// Parses a number of bytes, kilobytes (1,024 bytes), megabytes or gigabytes.
fn size(value: &str) -> Option<u64> {
    let value = value.to_ascii_uppercase();
    let number = value.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let unit = match value.get(number.len()..)? {
        "" | "B" => 1,
        "K" | "KB" | "KIB" => 1 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        _ => return None,
    };
    number.trim_end().parse::<u64>().ok()?.checked_mul(unit)
}

fn speed(value: &str) -> Option<f64> {
    let speed: f64 = value.parse().ok()?;
    (0.000_001..=1e9).contains(&speed).then_some(speed)
}

/// Parses the value of a switch.
pub(crate) fn parse_switch(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

impl Flag {
    /// Converts a name in DynamoDB Local's spelling: `in-memory` for `inMemory`.
    fn kebab(&self) -> String {
        let mut kebab = String::new();
        for letter in self.name.chars() {
            if letter.is_ascii_uppercase() {
                kebab.push('-');
            }
            kebab.push(letter.to_ascii_lowercase());
        }
        kebab
    }

    /// The environment variable of a flag: `DYNATWIN_IN_MEMORY` for `inMemory`.
    fn variable(&self) -> String {
        format!("DYNATWIN_{}", self.kebab().replace('-', "_").to_ascii_uppercase())
    }

    fn is(&self, name: &str) -> bool {
        self.name == name || self.kebab() == name
    }

    /// Applies the flag; `from` is its spelling in the command line.
    fn set(&self, flags: &mut Flags, from: &str, value: Option<&str>) -> Result<(), String> {
        let done = match (&self.effect, value) {
            (FlagEffect::Value(_, set), Some(value)) => set(flags, value),
            (FlagEffect::Switch(set), Some(value)) => parse_switch(value).map(|on| set(flags, on)),
            (FlagEffect::Switch(set), None) => {
                set(flags, true);
                Some(())
            }
            (FlagEffect::Value(..) | FlagEffect::Instead(_), _) => None,
        };
        done.ok_or_else(|| match &self.effect {
            FlagEffect::Value(form, _) => format!("{from}: '{}' is {}", value.unwrap_or_default(), mismatch(form)),
            _ => format!("{from}: '{}' is neither on nor off", value.unwrap_or_default()),
        })
    }
}
