//! `dynatwin copy` and `dynatwin import` between servers, files and directories: what they write, print and exit with.

use std::fs;
use std::process::{Command, Stdio};

use crate::support::folder::Folder;
use crate::support::process::{Process, table};
use dynatwin_seed::{Database, Endpoint};
use serde_json::{Value, json};

/// Runs the binary with an access key, or without credentials; returns exit code, output and errors.
fn finished(access_key: Option<&str>, words: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dynatwin"));
    command.args(words).stdin(Stdio::null());
    for name in [
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
    ] {
        command.env_remove(name);
    }
    if let Some(key) = access_key {
        command
            .env("AWS_ACCESS_KEY_ID", key)
            .env("AWS_SECRET_ACCESS_KEY", "secret");
    }
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Runs a command that must succeed; returns the lines that it has printed to standard error, without the time.
fn succeeds(access_key: Option<&str>, words: &[&str]) -> Vec<String> {
    let (code, out, err) = finished(access_key, words);
    assert_eq!((code, out.as_str()), (Some(0), ""), "{words:?}: {err}");
    let mut lines: Vec<String> = err.lines().map(str::to_owned).collect();
    let last = lines.pop().unwrap_or_default();
    let (items, seconds) = last.split_once(" in ").unwrap_or_else(|| panic!("{err}"));
    let seconds = seconds.strip_suffix(" s").unwrap_or_else(|| panic!("{err}"));
    assert!(seconds.parse::<f64>().is_ok(), "{err}");
    lines.push(items.to_owned());
    lines
}

fn url(server: &Process) -> String {
    format!("http://127.0.0.1:{}", server.port)
}

/// The tables of a caller with the ids of their items, in order.
fn tables(url: &str, access_key: &str, region: &str) -> Value {
    let endpoint = Endpoint::new(url, |_| None).unwrap().with_caller(access_key, region);
    let mut found = json!({});
    for name in endpoint.call("ListTables", &json!({})).unwrap()["TableNames"]
        .as_array()
        .unwrap()
    {
        let page = endpoint.call("Scan", &json!({"TableName": name})).unwrap();
        let items = page["Items"].as_array().unwrap().iter();
        let mut ids: Vec<_> = items.map(|item| item["id"]["S"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        found[name.as_str().unwrap()] = ids.concat().into();
    }
    found
}

/// Creates the tables `Aaa`, `Bbb` and `Ccc` with two, no and one item.
fn fill(url: &str, access_key: &str) {
    let endpoint = Endpoint::new(url, |_| None)
        .unwrap()
        .with_caller(access_key, "us-east-1");
    for (name, ids) in [("Aaa", &["a", "b"][..]), ("Bbb", &[]), ("Ccc", &["c"])] {
        endpoint.call("CreateTable", &table(name)).unwrap();
        for id in ids {
            let item = json!({"TableName": name, "Item": {"id": {"S": id}}});
            endpoint.call("PutItem", &item).unwrap();
        }
    }
}

#[test]
fn the_help_of_a_command_is_printed() {
    for words in [
        &["copy", "--help"][..],
        &["import", "-h"],
        &["copy", "--from", "a", "--help"],
    ] {
        let (code, out, err) = finished(None, words);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{words:?}");
        assert!(out.starts_with("dynatwin copy --from A --to B [OPTION…]\n"), "{out}");
        assert!(out.ends_with("  --help             print this\n"), "{out}");
    }
}

/// A copy prints a line for each table and one at its end, and the directory that it writes can be imported.
#[test]
fn tables_are_copied_to_a_directory_and_back() {
    let (server, folder) = (Process::start(""), Folder::new("directory"));
    let (from, exported) = (url(&server), folder.path("exported"));
    fill(&from, "local");
    let of_tables = ["Aaa: 2 items copied", "Bbb: 0 items copied", "Ccc: 1 items copied"];
    let lines = succeeds(None, &["copy", "--from", &from, "--to", &exported]);
    assert_eq!(lines, [&of_tables[..], &["3 items"]].concat());
    let (code, _, err) = finished(None, &["copy", "--from", &from, "--to", &exported]);
    let there = "there is an export already; name another directory, or delete this one";
    assert_eq!((code, err), (Some(1), format!("dynatwin: {exported}/Aaa: {there}\n")));
    let one = folder.path("one");
    let lines = succeeds(None, &["copy", "--from", &from, "--to", &one, "--table", "Ccc"]);
    assert_eq!(lines, ["Ccc: 1 items copied", "1 items"]);

    let all = json!({"Aaa": "ab", "Bbb": "", "Ccc": "c"});
    for (at, (words, lines, expected)) in [
        (&["import", &exported][..], vec!["3 items"], all.clone()),
        (&["copy", "--from", &exported], vec!["3 items"], all),
        (
            &["import", &exported, "--table", "Aaa"],
            vec!["2 items"],
            json!({"Aaa": "ab"}),
        ),
        (&["import", &one], vec!["1 items"], json!({"Ccc": "c"})),
        (&["import", &format!("Ddd={one}")], vec!["1 items"], json!({"Ddd": "c"})),
    ]
    .into_iter()
    .enumerate()
    {
        let key = format!("to{at}");
        let caller = format!("{key}/eu-west-1");
        let words = [words, &["--to", &from, "--caller", &caller]].concat();
        assert_eq!(succeeds(None, &words), lines, "{words:?}");
        assert_eq!(tables(&from, &key, "eu-west-1"), expected, "{words:?}");
    }
    // A table that exists is filled, and noted.
    let words = ["import", &one, "--to", &from, "--caller", "to3/eu-west-1"];
    let lines = succeeds(None, &words);
    assert_eq!(lines, ["Ccc already exists; its definition is not changed", "1 items"]);
}

/// The tables of an access key are copied to those of another one, of the same server or another.
#[test]
fn tables_are_copied_to_another_caller() {
    let (first, second) = (Process::start(""), Process::start(""));
    let [first, second] = [url(&first), url(&second)];
    fill(&first, "origin");
    let same = finished(Some("origin"), &["copy", "--from", &first, "--to", &first]);
    let message = format!(
        "dynatwin: --from and --to have the same tables: {first}/ (access key origin, region us-east-1); --caller writes to \
         those of another access key or region\n"
    );
    assert_eq!((same.0, same.2), (Some(1), message));
    for (to, key, more) in [
        (&first, "other", &["--caller", "other/us-east-1"][..]),
        (&second, "origin", &[]),
        (&second, "third", &["--caller=third/us-east-1", "--segments", "1"]),
    ] {
        let words = [&["copy", "--from", &first, "--to", to][..], more].concat();
        let lines = succeeds(Some("origin"), &words);
        let compared = |table: &str, items: u64| {
            format!("{table}: {items} items copied; both sides have {items} items with checksum ")
        };
        let expected = [
            compared("Aaa", 2),
            compared("Bbb", 0),
            compared("Ccc", 1),
            "3 items".to_owned(),
        ];
        assert_eq!(lines.len(), expected.len(), "{lines:?}");
        for (line, begin) in lines.iter().zip(&expected) {
            assert!(line.starts_with(begin), "{line}");
        }
        assert_eq!(
            tables(to, key, "us-east-1"),
            json!({"Aaa": "ab", "Bbb": "", "Ccc": "c"})
        );
    }
    let words = [
        "copy",
        "--from",
        &first,
        "--to",
        &second,
        "--no-verify",
        "--table=Ccc",
        "--caller",
        "fourth/x",
    ];
    assert_eq!(succeeds(Some("origin"), &words), ["Ccc: 1 items copied", "1 items"]);
    assert_eq!(tables(&second, "fourth", "x"), json!({"Ccc": "c"}));
    let (code, _, err) = finished(
        Some("origin"),
        &["copy", "--from", &first, "--to", &second, "--table", "Ddd"],
    );
    assert_eq!(code, Some(1));
    assert!(err.starts_with("dynatwin: Ddd: ResourceNotFoundException: "), "{err}");
}

/// A destination that is not a loopback address needs `--yes` without a terminal, and credentials. Linux connects to this machine
/// at 0.0.0.0.
#[test]
#[cfg(target_os = "linux")]
fn a_remote_destination_needs_to_be_confirmed() {
    let (server, folder) = (Process::start(""), Folder::new("remote"));
    let to = format!("http://0.0.0.0:{}", server.port);
    let file = folder.path("Tab.json");
    fs::write(
        &file,
        json!({"tables": [table("Tab")], "items": {"Tab": [{"id": "a"}]}}).to_string(),
    )
    .unwrap();
    let refused = format!("dynatwin: not written to {to}/: --yes was not given\n");
    for (key, more, expected) in [
        (
            None,
            &["--yes"][..],
            Err("dynatwin: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set\n"),
        ),
        (Some("me"), &[], Err(refused.as_str())),
        (Some("me"), &["--yes=no"], Err(&refused)),
        (
            Some("me"),
            &["--yes", "--caller", "me/us-east-1"],
            Err("dynatwin: --caller is for destinations on this machine\n"),
        ),
        (Some("me"), &["--yes"], Ok(())),
    ] {
        let words = [&["import", &file, "--to", &to][..], more].concat();
        match expected {
            Ok(()) => assert_eq!(succeeds(key, &words), ["1 items"]),
            Err(message) => {
                let (code, _, err) = finished(key, &words);
                assert_eq!((code, err.as_str()), (Some(1), message), "{words:?}");
            }
        }
        let written = if expected.is_ok() {
            json!({"Tab": "a"})
        } else {
            json!({})
        };
        assert_eq!(tables(&url(&server), "me", "us-east-1"), written, "{words:?}");
    }
}

/// A copy that differs from its source, or of which a table cannot be written, exits with 1.
#[test]
fn a_failed_copy_exits_with_1() {
    let server = Process::start("");
    let to = url(&server);
    fill(&to, "from");
    let folder = Folder::new("failed");
    let other = json!({"tables": [table("Bbb")], "items": {"Bbb": [{"id": "x"}]}});
    let mut key = table("Ccc");
    key["KeySchema"][0]["AttributeName"] = "other".into();
    key["AttributeDefinitions"][0]["AttributeName"] = "other".into();
    for (name, document) in [("b.json", other), ("c.json", key)] {
        fs::write(folder.path(name), document.to_string()).unwrap();
    }
    for (file, message) in [
        ("b.json", "Bbb: the copy has 1 items with checksum "),
        (
            "c.json",
            "Ccc: the destination has a table of this name with another key\n",
        ),
    ] {
        let key = file.trim_end_matches(".json");
        let caller = format!("{key}/us-east-1");
        succeeds(None, &["import", &folder.path(file), "--to", &to, "--caller", &caller]);
        let (code, out, err) = finished(Some("from"), &["copy", "--from", &to, "--to", &to, "--caller", &caller]);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
        let last = err.lines().last().unwrap();
        assert!(
            format!("{last}\n").starts_with(&format!("dynatwin: {message}")),
            "{err}"
        );
        assert!(err.starts_with("Aaa: 2 items copied; "), "{err}");
    }
}
