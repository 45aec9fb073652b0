//! `dynatwin copy` from DynamoDB Local to a server and back, by the binary. If DynamoDB Local or Java is missing, the test prints
//! so and passes.

#[path = "../../../seed/tests/local/mod.rs"]
mod local;

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::folder::Folder;
use crate::support::process::Process;
use dynatwin_seed::Endpoint;
use local::{DynamoDbLocal, definition, fill, items};

/// Starts `dynatwin copy` with an access key for both sides.
fn copy(access_key: &str, words: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dynatwin"));
    command.arg("copy").args(words);
    command
        .env("AWS_ACCESS_KEY_ID", access_key)
        .env("AWS_SECRET_ACCESS_KEY", "secret")
        .env("AWS_REGION", "us-east-1")
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Runs a command. Returns whether it succeeded, and its output.
fn copied(access_key: &str, words: &[&str]) -> (bool, String) {
    let output = copy(access_key, words).wait_with_output().unwrap();
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn tables_are_copied_from_dynamodb_local_and_back() {
    let Some(local) = DynamoDbLocal::start() else {
        eprintln!("DynamoDB Local or Java is missing: nothing was copied");
        return;
    };
    let folder = Folder::new("local");
    let origin = local.endpoint("origin");
    fill(&origin);
    let (original, defined) = (items(&origin), definition(&origin));
    let words = format!("-sharedDb -dbPath {}", folder.path("data"));
    let server = Process::start(&words);
    let url = format!("http://127.0.0.1:{}", server.port);
    let twin = |url: &str| Endpoint::new(url, |_| None).unwrap().with_caller("any", "us-east-1");

    // Killed after its first page, and run again.
    let state = folder.path("state.json");
    let mut slow = copy(
        "origin",
        &[
            "--from",
            &local.url(),
            "--to",
            &url,
            "--resume",
            &state,
            "--segments",
            "1",
            "--rate",
            "90",
        ],
    );
    let start = Instant::now();
    while fs::metadata(&state).is_err() {
        assert!(start.elapsed() < Duration::from_mins(1), "no page is copied");
        assert_eq!(slow.try_wait().unwrap(), None, "it ended before it was interrupted");
        thread::sleep(Duration::from_millis(5));
    }
    slow.kill().unwrap();
    slow.wait().unwrap();
    let present = items(&twin(&url)).len();
    assert!((1..200).contains(&present), "{present} items");
    let (succeeded, said) = copied("origin", &["--from", &local.url(), "--to", &url, "--resume", &state]);
    assert!(succeeded, "{said}");
    assert!(said.contains("both sides have 200 items with checksum"), "{said}");
    assert_eq!(
        (items(&twin(&url)), definition(&twin(&url))),
        (original.clone(), defined.clone())
    );

    // Back, from a server that was killed.
    server.end("KILL");
    let server = Process::start(&words);
    let url = format!("http://127.0.0.1:{}", server.port);
    let (succeeded, said) = copied(
        "any",
        &["--from", &url, "--to", &local.url(), "--caller", "returned/us-east-1"],
    );
    assert!(succeeded, "{said}");
    let back = local.endpoint("returned");
    assert_eq!((items(&back), definition(&back)), (original.clone(), defined.clone()));

    // Through a directory in the service's export format.
    let exported = folder.path("export");
    let (succeeded, said) = copied("any", &["--from", &url, "--to", &exported]);
    assert!(succeeded, "{said}");
    let (succeeded, said) = copied(
        "any",
        &[
            "--from",
            &exported,
            "--to",
            &local.url(),
            "--caller",
            "loaded/us-east-1",
        ],
    );
    assert!(succeeded, "{said}");
    assert_eq!(items(&local.endpoint("loaded")), original);

    let (succeeded, said) = copied("any", &["--from", &url, "--to", "http://192.0.2.1:8000"]);
    assert!(!succeeded && said.contains("--yes was not given"), "{said}");
}
