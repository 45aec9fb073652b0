//! `--load`: what the binary prints about files, whose tables they become, and what stops it meanwhile.

use std::io::{BufRead, BufReader, Read};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::{Running, Scratch, USERS, answer, direct_answer, dynatwin};

/// The start line comes first, then a line for each file.
#[test]
fn loaded_files_are_named_at_startup() {
    let file = Scratch::new("loaded.yaml", USERS);
    let more = Scratch::new("loaded-more.json", r#"[{"id": "c"}]"#);
    let item = format!("Users={}", more.path());
    for (load, lines) in [
        (&[][..], &[][..]),
        (&[file.path()], &["Loaded 1 table and 2 items from "]),
        (
            &[file.path(), &item],
            &["Loaded 1 table and 2 items from ", "Loaded 0 tables and 1 item from "],
        ),
    ] {
        let words = load.iter().flat_map(|file| ["--load", file]);
        let words: Vec<_> = ["--port", "0", "--shared-db"].into_iter().chain(words).collect();
        let mut child = dynatwin(&words).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        out.read_line(&mut first).unwrap();
        assert!(first.contains("http://127.0.0.1:"), "{first}");
        assert_eq!(Running(child, first, 0).signal("TERM"), Some(0));
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!(rest.lines().count(), lines.len(), "{load:?}: {rest}");
        for ((line, begin), file) in rest.lines().zip(lines).zip(load) {
            assert!(
                line.starts_with(&format!("{begin}{file}")) && line.ends_with('.'),
                "{line}"
            );
        }
    }
}

/// A restart with the same files keeps the tables of the environment's caller, in any region, as they are.
#[test]
fn a_restart_keeps_the_loaded_tables_of_its_caller() {
    let file = Scratch::new("kept.yaml", USERS);
    let directory = std::env::temp_dir().join(format!("dynatwin-kept-{}", std::process::id()));
    for (access_key, region) in [
        ("local", "eu-west-1"),
        ("AKIATEST", "us-east-1"),
        ("AKIATEST", "eu-west-1"),
    ] {
        let _ = std::fs::remove_dir_all(&directory);
        for (loaded, kept) in [
            ("1 table and 2 items", ""),
            (
                "0 tables and 0 items",
                " Table Users existed before this start and is unchanged.",
            ),
        ] {
            let mut command = dynatwin(&["--port", "0", "--load", file.path(), "--db-path"]);
            command
                .arg(&directory)
                .env("AWS_ACCESS_KEY_ID", access_key)
                .env("AWS_REGION", region);
            let mut child = command.spawn().unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let first = lines.next().unwrap().unwrap();
            let line = lines.next().unwrap().unwrap();
            assert_eq!(Running(child, first, 0).signal("TERM"), Some(0));
            let expected = format!(
                "Loaded {loaded} from {} for access key {access_key} in {region} (--shared-db shows them to all callers).{kept}",
                file.path()
            );
            assert_eq!(line, expected);
        }
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Loaded tables belong to the account of the environment's access key, which `--iam` defines.
#[test]
fn loaded_tables_belong_to_an_account_of_the_access_file() {
    let access = Scratch::new(
        "owner.json",
        r#"{"accounts": {
            "123456789012": {"accessKeys": [
                {"accessKeyId": "AKIAROOT", "secretAccessKey": "root"},
                {"accessKeyId": "AKIASECOND", "secretAccessKey": "second"}]},
            "210987654321": {"accessKeys": [{"accessKeyId": "AKIAOTHER", "secretAccessKey": "other"}]}}}"#,
    );
    let file = Scratch::new("owned.yaml", USERS);
    let directory = std::env::temp_dir().join(format!("dynatwin-owned-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    let [store, copies] = ["store", "copies"].map(|name| directory.join(name).to_str().unwrap().to_owned());
    let with = |words: &[&str], access_key: &str, secret: &str| {
        let mut command = dynatwin(words);
        command
            .env("AWS_ACCESS_KEY_ID", access_key)
            .env("AWS_SECRET_ACCESS_KEY", secret);
        for name in ["AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"] {
            command.env_remove(name);
        }
        command
    };
    // In memory, in a new directory, and in one that has the tables.
    let stored = ["--db-path", &store];
    for words in [&[][..], &stored, &stored] {
        let words = [&["--port", "0", "--iam", access.path(), "--load", file.path()], words].concat();
        let mut server = Running::spawn(with(&words, "AKIAROOT", "root"));
        let url = format!("http://127.0.0.1:{}", server.2);
        for (access_key, secret, sees) in [
            ("AKIAROOT", "root", true),
            ("AKIASECOND", "second", true),
            ("AKIAOTHER", "other", false),
        ] {
            let _ = std::fs::remove_dir_all(&copies);
            let copy = ["copy", "--from", &url, "--to", &copies];
            let output = with(&copy, access_key, secret).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(said.contains("Users: 2 items"), sees, "{words:?}, {access_key}: {said}");
        }
        assert_eq!(server.signal("TERM"), Some(0));
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

/// The files of `--load` are loaded whatever the limit is; it holds for later writes, also to a directory.
#[test]
#[cfg(not(target_env = "msvc"))]
fn a_memory_limit_holds_once_files_are_loaded() {
    let file = Scratch::new("limited.yaml", USERS);
    let directory = std::env::temp_dir().join(format!("dynatwin-limited-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    let stored = ["--db-path", directory.to_str().unwrap()];
    for words in [&[][..], &stored, &stored] {
        let limited = [
            "--port",
            "0",
            "--shared-db",
            "--max-memory",
            "12",
            "--load",
            file.path(),
        ];
        let words = [&limited[..], words].concat();
        let mut server = Running::start(&words);
        let found = answer(
            server.2,
            "GetItem",
            r#"{"TableName": "Users", "Key": {"id": {"S": "a"}}}"#,
        );
        assert!(
            found.ends_with(r#"{"Item":{"age":{"N":"30"},"id":{"S":"a"}}}"#),
            "{words:?}: {found}"
        );
        let put = r#"{"TableName": "Users", "Item": {"id": {"S": "c"}}}"#;
        let refused = direct_answer(server.2, "PutItem", put);
        assert!(refused.starts_with("HTTP/1.1 500 "), "{words:?}: {refused}");
        assert_eq!(server.signal("TERM"), Some(0));
        let mut err = String::new();
        server.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        let begin = "dynatwin: --max-memory 12: the process has allocated ";
        assert!(err.starts_with(begin), "{words:?}: {err}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_signal_stops_a_server_that_is_loading() {
    let folder = std::env::temp_dir().join(format!("dynatwin-loading-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let pipe = folder.join("tables.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let signals = ["TERM", "INT"].into_iter();
    for (signal, directory) in signals.flat_map(|signal| [(signal, None), (signal, Some(folder.join("store")))]) {
        let context = format!("SIG{signal}, {directory:?}");
        let mut command = dynatwin(&["--port", "0", "--load", pipe.to_str().unwrap()]);
        if let Some(directory) = &directory {
            command.arg("--db-path").arg(directory);
        }
        let mut server = Running(command.spawn().unwrap(), String::new(), 0);
        // It is open once the server reads it, which then waits for its end.
        let written = std::fs::OpenOptions::new().write(true).open(&pipe).unwrap();
        server.kill(signal);
        // It ends before the file does, which otherwise ends after ten seconds.
        let (ended, waiting) = mpsc::channel();
        let closing = thread::spawn(move || {
            let _ = waiting.recv_timeout(Duration::from_secs(10));
            drop(written);
        });
        let code = server.0.wait().unwrap().code();
        let _ = ended.send(());
        closing.join().unwrap();
        let mut err = String::new();
        server.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!(code, Some(1), "{context}: {err}");
        assert_eq!(err, "dynatwin: stopped by a signal while it started\n", "{context}");
        let mut out = String::new();
        server.0.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        assert_eq!(out, "", "{context}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
