//! Tests of the command line: parsing, the environment and the help.

use super::parse::NEEDS_DIRECTORY;
use super::*;
use crate::command::{COMMANDS, Command};

fn ask(line: &str, environment: &[(&str, &str)]) -> Result<Invocation, String> {
    parse(line.split_whitespace().map(str::to_owned), |name| {
        environment
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| (*value).to_owned())
    })
}

fn flags(line: &str) -> Flags {
    match ask(line, &[]) {
        Ok(Invocation::Run(flags)) => *flags,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn the_documents_list_the_flags_in_the_order_of_help() {
    let page = include_str!("../../../../docs/server.md");
    let rows = page.lines().filter(|line| line.starts_with("| `--"));
    let rows: Vec<&str> = rows.collect();
    let expected = FLAGS.iter().filter(|flag| flag.name != "help");
    let names: Vec<String> = expected.clone().map(|flag| format!("| `--{}", flag.kebab())).collect();
    assert_eq!(rows.len(), names.len());
    for ((row, name), flag) in rows.iter().zip(&names).zip(expected) {
        assert!(row.starts_with(name.as_str()), "{row} is in place of {name}");
        let has_variable = row.contains(&format!("`{}`", flag.variable()));
        assert_eq!(has_variable, !matches!(flag.effect, FlagEffect::Instead(_)), "{row}");
    }
}

#[test]
fn every_spelling_is_understood() {
    let port = |port| Flags {
        port,
        ..Flags::default()
    };
    let in_memory = Flags {
        in_memory: true,
        ..Flags::default()
    };
    let shared = Flags {
        shared_db: true,
        ..Flags::default()
    };
    let like_local = |flags| Flags {
        like_dynamodb_local: true,
        ..flags
    };
    for (line, expect) in [
        ("", Flags::default()),
        ("-port 8001", like_local(port(8001))),
        ("--port=8001", port(8001)),
        ("--port 0", port(0)),
        ("-inMemory", like_local(in_memory.clone())),
        ("--in-memory", in_memory.clone()),
        ("--inMemory", in_memory),
        (
            "-sharedDb -disableTelemetry -optimizeDbBeforeStartup",
            like_local(shared.clone()),
        ),
        ("--shared-db", shared.clone()),
        (
            "java -Xmx512m -Djava.library.path=./DynamoDBLocal_lib -jar DynamoDBLocal.jar --shared-db",
            like_local(shared.clone()),
        ),
        (
            "-jar DynamoDBLocal.jar -sharedDb -port 8001",
            like_local(Flags { port: 8001, ..shared }),
        ),
        (
            "--host ::1 --host 0.0.0.0",
            Flags {
                hosts: vec!["::1".into(), "0.0.0.0".into()],
                ..Flags::default()
            },
        ),
        (
            "-dbPath ./data -sync always",
            like_local(Flags {
                db_path: Some("./data".into()),
                sync: Sync::Always,
                ..Flags::default()
            }),
        ),
        (
            "--db-path ./data --sync second --in-memory=off --log-size 1MB",
            Flags {
                db_path: Some("./data".into()),
                log_size: 1024 * 1024,
                ..Flags::default()
            },
        ),
        (
            "-cors *",
            like_local(Flags {
                cors: Origins::parse("*").unwrap(),
                ..Flags::default()
            }),
        ),
        (
            "-delayTransientStatuses",
            like_local(Flags {
                delay_transient_statuses: Some(true),
                ..Flags::default()
            }),
        ),
        (
            "--cors http://a.example,b.example --allowed-host twin,proxy --allowed-host other -health-status 400",
            Flags {
                cors: Origins::parse("http://a.example,b.example").unwrap(),
                allowed_hosts: vec!["twin".into(), "proxy".into(), "other".into()],
                health_status: Some(400),
                ..Flags::default()
            },
        ),
        (
            "--max-memory 512MB",
            Flags {
                max_memory: Some(512 * 1024 * 1024),
                ..Flags::default()
            },
        ),
        (
            "--no-control",
            Flags {
                no_control: true,
                ..Flags::default()
            },
        ),
        (
            "--conditions aws --seed 18446744073709551615",
            Flags {
                conditions: Some("aws"),
                seed: Some(u64::MAX),
                ..Flags::default()
            },
        ),
        (
            "--clock settable --ttl off --log requests",
            Flags {
                clock: ClockChoice::Settable,
                ttl: Some(false),
                log: Log::Requests,
                ..Flags::default()
            },
        ),
        (
            "--clock 2026-01-01T00:00:00Z --speed 60",
            Flags {
                clock: ClockChoice::From(Moment::START),
                speed: Some(60.0),
                ..Flags::default()
            },
        ),
    ] {
        assert_eq!(flags(line), expect, "{line}");
    }
}

#[test]
fn health_checks_are_answered_like_the_replaced_servers() {
    for (line, expect) in [
        ("", HealthCheck::Healthy),
        ("--port 8001 -seed 7 -in-memory", HealthCheck::Healthy),
        ("-port 8001", HealthCheck::Refused),
        ("-port=8001", HealthCheck::Refused),
        ("-inMemory", HealthCheck::Refused),
        ("-jar DynamoDBLocal.jar", HealthCheck::Refused),
        ("-inMemory --health-status 200", HealthCheck::Healthy),
        ("--health-status 400", HealthCheck::Refused),
    ] {
        assert_eq!(flags(line).health_check(), expect, "{line}");
    }
}

#[test]
fn instead_of_running() {
    for (line, expect) in [
        ("-help", Invocation::Help),
        ("--help", Invocation::Help),
        ("-h", Invocation::Help),
        ("-version", Invocation::Version),
        ("--port 1 --version", Invocation::Version),
    ] {
        assert_eq!(ask(line, &[]), Ok(expect), "{line}");
    }
}

#[test]
fn sizes_and_switches_have_several_forms() {
    for (size, expect) in [
        ("7", 7),
        ("7B", 7),
        ("2k", 2 << 10),
        ("2KB", 2 << 10),
        ("2KiB", 2 << 10),
        ("3m", 3 << 20),
        ("3mb", 3 << 20),
        ("3MiB", 3 << 20),
        ("4G", 4 << 30),
        ("4gb", 4 << 30),
        ("4GiB", 4 << 30),
    ] {
        let line = format!("--max-memory {size} --db-path d --log-size {size}");
        let flags = flags(&line);
        assert_eq!((flags.max_memory, flags.log_size), (Some(expect), expect), "{line}");
    }
    for (value, expect) in [
        ("7 MB", Some(7 << 20)),
        ("0", Some(0)),
        ("17179869183G", Some(((1 << 34) - 1) << 30)),
        ("17179869184G", None),
        ("", None),
        ("MB", None),
        ("-1", None),
        ("1.5GB", None),
        ("1TB", None),
        ("1MBs", None),
        ("MB1", None),
        ("1\u{b5}", None),
    ] {
        assert_eq!(size(value), expect, "{value:?}");
    }
    for (words, expect) in [(["on", "true", "Yes", "1"], true), (["off", "FALSE", "no", "0"], false)] {
        for word in words {
            assert_eq!(flags(&format!("--shared-db={word}")).shared_db, expect, "{word}");
        }
    }
    for (speed, is_known) in [("0.000001", true), ("1e9", true), ("9e-7", false), ("1.1e9", false)] {
        assert_eq!(ask(&format!("--speed {speed}"), &[]).is_ok(), is_known, "{speed}");
    }
}

#[test]
fn unknown_input_is_reported() {
    for (line, expect) in [
        ("--prot 1", "--prot is not a flag; --help lists them"),
        ("8000", "there is no command 8000; --help lists them"),
        ("help", "there is no command help; --help lists them"),
        (
            "--shared-db false",
            "--shared-db takes its value after an equals sign: --shared-db=false",
        ),
        (
            "-inMemory -sharedDb TRUE",
            "-sharedDb takes its value after an equals sign: -sharedDb=TRUE",
        ),
        ("--port", "--port needs a value: PORT"),
        ("--port 65536", "--port: '65536' is not a port (0 to 65535)"),
        ("--conditions windy", "--conditions: 'windy' is not calm|aws|storm"),
        ("--speed 0", "--speed: '0' is not a positive number (0.000001 to 1e9)"),
        (
            "--cors http://localhost:3000/app",
            "--cors: 'http://localhost:3000/app' is neither * nor a list of origins such as http://localhost:3000",
        ),
        (
            "--seed x",
            "--seed: 'x' is not a whole number (0 to 18446744073709551615)",
        ),
        ("--log-size 1X", "--log-size: '1X' is not a size such as 512MB"),
        (
            "--clock 2026-01-01",
            "--clock: '2026-01-01' is not system, settable, or a moment such as 2026-01-01T00:00:00Z",
        ),
        ("--max-memory much", "--max-memory: 'much' is not a size such as 512MB"),
        (
            "--max-memory 99999999999G",
            "--max-memory: '99999999999G' is not a size such as 512MB",
        ),
        ("--health-status 204", "--health-status: '204' is not 200|400"),
        (
            "--speed NaN",
            "--speed: 'NaN' is not a positive number (0.000001 to 1e9)",
        ),
        (
            "--clock 2026-02-30T00:00:00Z",
            "--clock: '2026-02-30T00:00:00Z' is not system, settable, or a moment such as 2026-01-01T00:00:00Z",
        ),
        (
            "--in-memory=perhaps",
            "--in-memory=perhaps: 'perhaps' is neither on nor off",
        ),
        (
            "--clock settable --speed 2",
            "--speed cannot be combined with --clock settable, which stands still",
        ),
        (
            "-jar DynamoDBLocal.jar -inMemory -dbPath ./data",
            "--db-path and --in-memory exclude each other",
        ),
        (
            "--db-path d --in-memory --sync always",
            "--db-path and --in-memory exclude each other",
        ),
        (
            "--log-size 1MB --in-memory --db-path d",
            "--db-path and --in-memory exclude each other",
        ),
        ("--sync always", "--sync needs --db-path"),
        ("--sync second", "--sync needs --db-path"),
        ("--log-size 1MB", "--log-size needs --db-path"),
        ("-inMemory -logSize=1MB", "--log-size needs --db-path"),
        ("--db-path d --sync never", "--sync: 'never' is not second|always"),
        ("--db-path=", "--db-path=: '' is not a directory"),
        ("--s3-dir=", "--s3-dir=: '' is not a directory"),
        ("--load=", "--load=: '' is not a file"),
        ("--iam=", "--iam=: '' is not a file"),
        ("--host=", "--host=: '' is not HOST"),
        ("--host a,,b", "--host: 'a,,b' is not HOST"),
        ("--host a --host b,", "--host: 'b,' is not HOST"),
        ("--allowed-host=", "--allowed-host=: '' is not HOST"),
        ("--allowed-host ,a", "--allowed-host: ',a' is not HOST"),
        ("--log debug", "--log: 'debug' is not off|errors|requests"),
        ("--ttl never", "--ttl: 'never' is not on|off"),
        ("--ttl 2", "--ttl: '2' is not on|off"),
        ("--port -1", "--port: '-1' is not a port (0 to 65535)"),
        (
            "--seed -1",
            "--seed: '-1' is not a whole number (0 to 18446744073709551615)",
        ),
        (
            "--seed 18446744073709551616",
            "--seed: '18446744073709551616' is not a whole number (0 to 18446744073709551615)",
        ),
        ("--speed -1", "--speed: '-1' is not a positive number (0.000001 to 1e9)"),
        (
            "--speed inf",
            "--speed: 'inf' is not a positive number (0.000001 to 1e9)",
        ),
        ("--load", "--load needs a value: FILE"),
        ("--clock", "--clock needs a value: system|settable|MOMENT"),
        ("-", "- is not a flag; --help lists them"),
        ("---port 1", "---port is not a flag; --help lists them"),
    ] {
        assert_eq!(ask(line, &[]), Err(expect.to_owned()), "{line}");
    }
}

/// A misspelled variable is named; those of Kubernetes for services whose name begins alike are not.
#[test]
fn unknown_variables_are_found() {
    let known = FLAGS.iter().map(super::Flag::variable);
    let other = [
        ("DYNATWIN_PROT", true),
        ("DYNATWIN_IN_MEMORY2", true),
        ("DYNATWIN_", true),
        ("DYNATWIN", false),
        ("DYNATWINX_PORT", false),
        ("dynatwin_port", false),
        ("AWS_REGION", false),
        ("DYNATWIN_SERVICE_HOST", false),
        ("DYNATWIN_SERVICE_PORT_HTTP", false),
        ("DYNATWIN_PORT_8000_TCP_ADDR", false),
        ("DYNATWIN_DB_SERVICE_HOST", false),
        ("DYNATWIN_DB_PORT_8000_TCP", false),
        ("DYNATWIN_DB_PORT", false),
    ];
    let names = known.chain(other.iter().map(|(name, _)| (*name).to_owned()));
    let expect: Vec<_> = other
        .iter()
        .filter(|(_, is_found)| *is_found)
        .map(|(name, _)| *name)
        .collect();
    assert_eq!(unknown_variables(names), expect);
}

/// A setting of the directory that is given without one is refused, wherever it comes from. A directory may come from elsewhere.
#[test]
fn settings_of_a_directory_need_one() {
    let directory = ("DYNATWIN_DB_PATH", "d");
    let (sync, log_size) = (("DYNATWIN_SYNC", "second"), ("DYNATWIN_LOG_SIZE", "1MB"));
    for (line, environment, expected) in [
        ("", &[sync][..], Some("DYNATWIN_SYNC needs --db-path")),
        ("", &[log_size], Some("DYNATWIN_LOG_SIZE needs --db-path")),
        ("--log-size 2MB", &[log_size], Some("--log-size needs --db-path")),
        ("--in-memory", &[log_size], Some("DYNATWIN_LOG_SIZE needs --db-path")),
        ("", &[("DYNATWIN_LOG_SIZE", "")], None),
        ("", &[sync, log_size, directory], None),
        ("--sync always --log-size 1MB", &[directory], None),
        ("--db-path d", &[sync, log_size], None),
        ("-inMemory -optimizeDbBeforeStartup -disableTelemetry", &[], None),
    ] {
        let found = ask(line, environment).err();
        assert_eq!(found.as_deref(), expected, "{line} {environment:?}");
    }
}

/// Flags that contradict each other are refused, whichever of them come from the environment.
#[test]
fn contradicting_flags_are_refused_wherever_they_come_from() {
    let storage = "--db-path and --in-memory exclude each other";
    let clock = "--speed cannot be combined with --clock settable, which stands still";
    for (flags, sentence) in [
        (
            [
                ("--db-path d", ("DYNATWIN_DB_PATH", "d")),
                ("--in-memory", ("DYNATWIN_IN_MEMORY", "true")),
            ],
            storage,
        ),
        (
            [
                ("--clock settable", ("DYNATWIN_CLOCK", "settable")),
                ("--speed 60", ("DYNATWIN_SPEED", "60")),
            ],
            clock,
        ),
    ] {
        for [of_first, of_second] in [[true, true], [true, false], [false, true], [false, false]] {
            let (mut line, mut environment) = (String::new(), Vec::new());
            for ((word, variable), is_word) in flags.into_iter().zip([of_first, of_second]) {
                if is_word {
                    line = format!("{line} {word}");
                } else {
                    environment.push(variable);
                }
            }
            assert_eq!(
                ask(&line, &environment),
                Err(sentence.to_owned()),
                "{line} {environment:?}"
            );
        }
    }
    // The command line replaces a variable that contradicts it.
    for (line, environment) in [
        ("--db-path d --in-memory=off", &[("DYNATWIN_IN_MEMORY", "true")][..]),
        ("--clock system --speed 60", &[("DYNATWIN_CLOCK", "settable")]),
        ("--in-memory", &[("DYNATWIN_DB_PATH", "")]),
        ("--clock settable", &[("DYNATWIN_SPEED", "")]),
    ] {
        assert!(ask(line, environment).is_ok(), "{line} {environment:?}");
    }
}

/// Flags that can be repeated, or that take a list, replace the variable instead of adding to it.
#[test]
fn repeated_flags_replace_the_environment() {
    let environment = [
        ("DYNATWIN_LOAD", "a.json"),
        ("DYNATWIN_HOST", "a, b"),
        ("DYNATWIN_ALLOWED_HOST", "c,d"),
        ("DYNATWIN_SEED", "3"),
    ];
    for (line, load, hosts, allowed, seed) in [
        ("", "a.json", "a b", "c d", 3),
        ("--load b.json", "b.json", "a b", "c d", 3),
        ("--load b.json --load c.json", "b.json c.json", "a b", "c d", 3),
        ("--load=b.json --host c --seed 4", "b.json", "c", "c d", 4),
        ("-load b.json -host c", "b.json", "c", "c d", 3),
        ("--allowed-host x --allowed-host y", "a.json", "a b", "x y", 3),
    ] {
        let Ok(Invocation::Run(flags)) = ask(line, &environment) else {
            panic!("{line}")
        };
        let found = [&flags.load, &flags.hosts, &flags.allowed_hosts].map(|values| values.join(" "));
        assert_eq!(found, [load, hosts, allowed], "{line}");
        assert_eq!(flags.seed, Some(seed), "{line}");
    }
}

#[test]
fn flags_win_over_the_environment() {
    let environment = [
        ("DYNATWIN_PORT", "9000"),
        ("DYNATWIN_HOST", "a, b"),
        ("DYNATWIN_SHARED_DB", "true"),
        ("DYNATWIN_HELP", "1"),
        ("DYNATWIN_SEED", ""),
    ];
    let Ok(Invocation::Run(flags)) = ask("--host c", &environment) else {
        panic!()
    };
    assert_eq!((flags.port, flags.shared_db, flags.seed), (9000, true, None));
    assert_eq!(flags.hosts, ["c"]);
    let Ok(Invocation::Run(flags)) = ask("-port 1", &environment) else {
        panic!()
    };
    assert_eq!((flags.port, flags.hosts), (1, vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(
        ask("", &[("DYNATWIN_PORT", "x")]),
        Err("DYNATWIN_PORT: 'x' is not a port (0 to 65535)".into())
    );
    assert!(ask("", &[("DYNATWIN_PORT", "tcp://10.0.0.1:8000")]).is_ok());
}

#[test]
fn help_has_every_command_and_flag() {
    let help = help();
    for Command { name, help: about, .. } in COMMANDS {
        assert!(help.contains(&format!("\n  {name:13} {about}\n")), "{name}");
    }
    for flag in FLAGS {
        let begin = format!("\n  --{}", flag.kebab());
        let has = |end: &str| help.contains(&format!("{begin}{end}"));
        let variable = format!("   [{}]\n", flag.variable());
        let is_described = match &flag.effect {
            FlagEffect::Value(form, _) => has(&format!(" {form}{variable}")),
            FlagEffect::Instead(_) => has("\n"),
            FlagEffect::Switch(_) => has(&variable),
        };
        assert!(is_described, "{}", flag.name);
    }
    assert!(help.lines().all(|line| line.len() <= 120));
}

/// One of DynamoDB Local's own flags, with a single dash and in its own spelling, makes a command line DynamoDB Local's,
/// wherever it stands and whatever its value is.
#[test]
fn each_flag_of_dynamodb_local_makes_the_command_line_its() {
    for (name, kebab, value) in [
        ("cors", "cors", Some("*")),
        ("dbPath", "db-path", Some("data")),
        ("delayTransientStatuses", "delay-transient-statuses", None),
        ("disableTelemetry", "disable-telemetry", None),
        ("inMemory", "in-memory", None),
        ("optimizeDbBeforeStartup", "optimize-db-before-startup", None),
        ("port", "port", Some("8001")),
        ("sharedDb", "shared-db", None),
    ] {
        let mut values = vec![];
        match value {
            Some(value) => values.extend([format!(" {value}"), format!("={value}")]),
            None => values.extend(["", "=on", "=true", "=off"].map(str::to_owned)),
        }
        for value in values {
            for (flag, is_its) in [
                (format!("-{name}"), true),
                (format!("--{name}"), false),
                (format!("--{kebab}"), false),
                (format!("-{kebab}"), kebab == name),
            ] {
                for line in [
                    format!("{flag}{value}"),
                    format!("{flag}{value} --seed 1"),
                    format!("--seed 1 {flag}{value}"),
                    format!("-seed 1 {flag}{value} -ttl off"),
                ] {
                    let found = flags(&line);
                    assert_eq!(found.like_dynamodb_local, is_its, "{line}");
                    let expected = if is_its {
                        HealthCheck::Refused
                    } else {
                        HealthCheck::Healthy
                    };
                    assert_eq!(found.health_check(), expected, "{line}");
                    for (status, expected) in [("200", HealthCheck::Healthy), ("400", HealthCheck::Refused)] {
                        let line = format!("{line} --health-status {status}");
                        assert_eq!(flags(&line).health_check(), expected, "{line}");
                    }
                }
            }
        }
    }
    for (line, is_its) in [
        ("java -jar DynamoDBLocal.jar", true),
        ("-jar DynamoDBLocal.jar --in-memory", true),
        ("-Xmx1g --in-memory", false),
        ("java", false),
        ("-log off -speed 2 -conditions aws -host ::1", false),
        (
            "--db-path d -sync second -logSize 1MB -s3Dir b -load a.json -iam a.json",
            false,
        ),
        (
            "-allowedHost a -healthStatus 200 -maxMemory 1GB -noControl -verifySignatures",
            false,
        ),
    ] {
        assert_eq!(flags(line).like_dynamodb_local, is_its, "{line}");
    }
    // The environment has no spelling.
    for variable in [
        "DYNATWIN_IN_MEMORY",
        "DYNATWIN_SHARED_DB",
        "DYNATWIN_OPTIMIZE_DB_BEFORE_STARTUP",
    ] {
        let Ok(Invocation::Run(found)) = ask("", &[(variable, "on")]) else {
            panic!("{variable}")
        };
        assert!(!found.like_dynamodb_local, "{variable}");
    }
}

/// Each flag with each kind of value, in every form of the command line and from the environment.
#[test]
fn every_value_of_every_flag() {
    type Set = fn(&mut Flags);
    let cases: &[(&str, &str, &str, Set)] = &[
        ("port", "port", "1", |flags| flags.port = 1),
        ("port", "port", "65535", |flags| flags.port = 65535),
        ("host", "host", "::1", |flags| flags.hosts = vec!["::1".into()]),
        ("host", "host", "a,b", |flags| {
            flags.hosts = vec!["a".into(), "b".into()];
        }),
        ("conditions", "conditions", "calm", |flags| {
            flags.conditions = Some("calm");
        }),
        ("conditions", "conditions", "aws", |flags| {
            flags.conditions = Some("aws");
        }),
        ("conditions", "conditions", "storm", |flags| {
            flags.conditions = Some("storm");
        }),
        ("seed", "seed", "0", |flags| flags.seed = Some(0)),
        ("seed", "seed", "18446744073709551615", |flags| {
            flags.seed = Some(u64::MAX);
        }),
        ("clock", "clock", "system", |_| ()),
        ("clock", "clock", "settable", |flags| {
            flags.clock = ClockChoice::Settable;
        }),
        ("clock", "clock", "2026-01-01T00:00:00Z", |flags| {
            flags.clock = ClockChoice::From(Moment::START);
        }),
        ("speed", "speed", "1", |flags| flags.speed = Some(1.0)),
        ("speed", "speed", "0.5", |flags| flags.speed = Some(0.5)),
        ("speed", "speed", "1e9", |flags| flags.speed = Some(1e9)),
        ("ttl", "ttl", "on", |flags| flags.ttl = Some(true)),
        ("ttl", "ttl", "off", |flags| flags.ttl = Some(false)),
        ("ttl", "ttl", "FALSE", |flags| flags.ttl = Some(false)),
        ("log", "log", "off", |flags| flags.log = Log::Off),
        ("log", "log", "errors", |flags| flags.log = Log::Errors),
        ("log", "log", "requests", |flags| flags.log = Log::Requests),
        ("s3Dir", "s3-dir", "b", |flags| flags.s3_dir = Some("b".into())),
        ("load", "load", "T=a.csv", |flags| flags.load = vec!["T=a.csv".into()]),
        ("iam", "iam", "a.yaml", |flags| flags.iam = Some("a.yaml".into())),
        ("sharedDb", "shared-db", "on", |flags| flags.shared_db = true),
        ("sharedDb", "shared-db", "off", |_| ()),
        ("delayTransientStatuses", "delay-transient-statuses", "yes", |flags| {
            flags.delay_transient_statuses = Some(true);
        }),
        ("delayTransientStatuses", "delay-transient-statuses", "no", |flags| {
            flags.delay_transient_statuses = Some(false);
        }),
        ("inMemory", "in-memory", "1", |flags| flags.in_memory = true),
        ("inMemory", "in-memory", "0", |_| ()),
        ("dbPath", "db-path", "data", |flags| flags.db_path = Some("data".into())),
        ("sync", "sync", "second", |_| ()),
        ("sync", "sync", "always", |flags| flags.sync = Sync::Always),
        ("logSize", "log-size", "0", |flags| flags.log_size = 0),
        ("logSize", "log-size", "1KiB", |flags| flags.log_size = 1024),
        ("cors", "cors", "*", |flags| flags.cors = Origins::parse("*").unwrap()),
        ("allowedHost", "allowed-host", "a", |flags| {
            flags.allowed_hosts = vec!["a".into()];
        }),
        ("allowedHost", "allowed-host", "a,b", |flags| {
            flags.allowed_hosts = vec!["a".into(), "b".into()];
        }),
        ("healthStatus", "health-status", "200", |flags| {
            flags.health_status = Some(200);
        }),
        ("healthStatus", "health-status", "400", |flags| {
            flags.health_status = Some(400);
        }),
        ("optimizeDbBeforeStartup", "optimize-db-before-startup", "on", |_| ()),
        ("optimizeDbBeforeStartup", "optimize-db-before-startup", "off", |_| ()),
        ("disableTelemetry", "disable-telemetry", "on", |_| ()),
        ("disableTelemetry", "disable-telemetry", "off", |_| ()),
        ("maxMemory", "max-memory", "1", |flags| flags.max_memory = Some(1)),
        ("maxMemory", "max-memory", "1TiB", |_| ()),
        ("maxMemory", "max-memory", "2GiB", |flags| {
            flags.max_memory = Some(2 << 30);
        }),
        ("noControl", "no-control", "true", |flags| flags.no_control = true),
        ("noControl", "no-control", "false", |_| ()),
        ("verifySignatures", "verify-signatures", "on", |flags| {
            flags.verify_signatures = true;
        }),
        ("verifySignatures", "verify-signatures", "off", |_| ()),
    ];
    for (name, kebab, value, set) in cases {
        let mut expected = Flags::default();
        set(&mut expected);
        let directory = NEEDS_DIRECTORY.contains(name).then(|| "d".to_owned());
        let environment = directory.as_deref().map(|directory| ("DYNATWIN_DB_PATH", directory));
        expected.db_path = expected.db_path.or(directory.clone());
        let is_switch = FLAGS
            .iter()
            .any(|flag| flag.name == *name && matches!(flag.effect, FlagEffect::Switch(_)));
        let mut lines = Vec::new();
        for flag in [
            format!("-{name}"),
            format!("--{name}"),
            format!("-{kebab}"),
            format!("--{kebab}"),
        ] {
            lines.push(format!("{flag}={value}"));
            if !is_switch {
                lines.push(format!("{flag} {value}"));
            }
        }
        let variable = format!("DYNATWIN_{}", kebab.replace('-', "_").to_ascii_uppercase());
        let environment: Vec<_> = environment.into_iter().collect();
        let of_environment = ask("", &[&environment[..], &[(variable.as_str(), *value)]].concat());
        let of_lines = lines.iter().map(|line| (line.as_str(), ask(line, &environment)));
        for (line, found) in of_lines.chain([(variable.as_str(), of_environment)]) {
            if *value == "1TiB" {
                assert!(found.is_err(), "{line}: {found:?}");
                continue;
            }
            let Ok(Invocation::Run(mut found)) = found else {
                panic!("{line} {value}: {found:?}")
            };
            found.like_dynamodb_local = false;
            assert_eq!(*found, expected, "{line} {value}");
        }
        // The command line wins over each other value of the environment.
        let others = cases.iter().filter(|case| case.0 == *name && case.2 != "1TiB");
        for (_, _, other, _) in others.filter(|_| *value != "1TiB") {
            let environment = [&environment[..], &[(variable.as_str(), *other)]].concat();
            let Ok(Invocation::Run(found)) = ask(&format!("--{kebab}={value}"), &environment) else {
                panic!("--{kebab}={value} {environment:?}")
            };
            assert_eq!(*found, expected, "--{kebab}={value} {environment:?}");
        }
    }
    let all: std::collections::BTreeSet<&str> = cases.iter().map(|(name, ..)| *name).collect();
    for flag in FLAGS
        .iter()
        .filter(|flag| !matches!(flag.effect, FlagEffect::Instead(_)))
    {
        assert!(all.contains(flag.name), "{} has no case", flag.name);
    }
}

/// The last of two equal flags counts, unless it is repeatable.
#[test]
fn the_last_of_two_flags_counts() {
    for (line, expected) in [
        ("--port 1 --port 2", flags("--port 2")),
        (
            "-port 1 --port=2",
            Flags {
                like_dynamodb_local: true,
                ..flags("--port 2")
            },
        ),
        ("--ttl off --ttl on", flags("--ttl on")),
        ("--shared-db --shared-db=off", Flags::default()),
        ("--shared-db=off --sharedDb", flags("--shared-db")),
        ("--conditions aws --conditions storm", flags("--conditions storm")),
        ("--clock settable --clock system", Flags::default()),
        ("--log off --log requests", flags("--log requests")),
        (
            "--cors http://a.example --cors http://b.example",
            flags("--cors http://b.example"),
        ),
        ("--host a --host b,c", flags("--host a,b --host c")),
        (
            "--load a --load b",
            Flags {
                load: vec!["a".into(), "b".into()],
                ..Flags::default()
            },
        ),
        (
            "--db-path a --db-path b --sync always --sync second",
            flags("--db-path b"),
        ),
    ] {
        assert_eq!(flags(line), expected, "{line}");
    }
}

/// The values that `--help` names as those of flags that are not given.
#[test]
fn the_defaults_are_those_of_the_help() {
    let defaults = flags("");
    let with = |line: &str| Flags {
        db_path: None,
        ..flags(line)
    };
    for (name, value) in [
        ("port", "8000"),
        ("clock", "system"),
        ("log", "errors"),
        ("sync", "second"),
        ("log-size", "64MB"),
    ] {
        let line = format!("--{name} {value} --db-path d");
        assert_eq!(with(&line), defaults, "{line}");
        let flag = FLAGS.iter().find(|flag| flag.kebab() == name).unwrap();
        assert!(flag.help.ends_with(&format!("({value})")), "{name}: {}", flag.help);
    }
    assert_eq!((defaults.port, defaults.log_size), (8000, 67_108_864));
    assert_eq!((defaults.conditions, defaults.speed, defaults.seed), (None, None, None));
    assert_eq!((defaults.ttl, defaults.delay_transient_statuses), (None, None));
    assert!(defaults.hosts.is_empty() && defaults.allowed_hosts.is_empty() && defaults.load.is_empty());
    assert!(!defaults.shared_db && !defaults.no_control && !defaults.verify_signatures && !defaults.in_memory);
    assert_eq!(defaults.cors, Origins::default());
}

/// The options of the Java command are skipped up to the first flag.
#[test]
fn options_of_java_are_skipped() {
    for (line, expect) in [
        ("java -Xms64m -Xmx1g -Dname=value --port 1", Some(1)),
        ("-agentlib:jdwp=transport=dt_socket --port 2", Some(2)),
        ("-javaagent:agent.jar -jar DynamoDBLocal.jar --port 3", Some(3)),
        ("-jar -Dname=value --port 4", Some(4)),
        ("-agent:x --port 5", None),
        ("--port 6 -Dname=value", None),
        ("--port 7 java", None),
        ("javac --port 8", None),
    ] {
        let port = match ask(line, &[]) {
            Ok(Invocation::Run(flags)) => Some(flags.port),
            _ => None,
        };
        assert_eq!(port, expect, "{line}");
    }
}

#[test]
fn clocks_have_names() {
    for (line, expect) in [
        ("", "system"),
        ("--clock settable", "settable"),
        ("--clock 2026-01-01T00:00:00Z", "from 2026-01-01T00:00:00.000Z"),
    ] {
        assert_eq!(flags(line).clock.to_string(), expect, "{line}");
    }
}
