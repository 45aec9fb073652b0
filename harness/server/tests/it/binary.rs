//! The binary: its exit codes, its output, and how it stops.

mod load;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn dynatwin(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dynatwin"));
    command
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("DYNATWIN_")) {
        command.env_remove(name);
    }
    command
}

fn finished(words: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = dynatwin(words).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

/// A running binary that is killed if a test fails.
struct Running(Child, String, u16);

impl Running {
    fn start(words: &[&str]) -> Running {
        Running::spawn(dynatwin(words))
    }

    fn spawn(mut command: Command) -> Running {
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let port = line.split("http://127.0.0.1:").nth(1).and_then(|rest| {
            rest.chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
                .parse()
                .ok()
        });
        Running(child, line.clone(), port.unwrap_or_else(|| panic!("no port: {line}")))
    }

    /// Sends a signal.
    fn kill(&self, name: &str) {
        let id = self.0.id().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &id]).status();
        assert!(sent.unwrap().success());
    }

    /// Sends a signal, and returns the exit code.
    fn signal(&mut self, name: &str) -> Option<i32> {
        self.kill(name);
        self.0.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn help_and_version() {
    let (code, out, err) = finished(&["--help"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.contains("--port PORT") && out.contains("--conditions calm|aws|storm"));
    assert_eq!(
        finished(&["-version"]).1,
        concat!("dynatwin ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn signatures_are_verified() {
    let with = |words: &[&str], secret: &str, token: Option<&str>| {
        let mut command = dynatwin(words);
        command
            .env("AWS_ACCESS_KEY_ID", "AKIATEST")
            .env("AWS_SECRET_ACCESS_KEY", secret);
        match token {
            Some(token) => command.env("AWS_SESSION_TOKEN", token),
            None => command.env_remove("AWS_SESSION_TOKEN"),
        };
        command
    };
    let file = Scratch::new("signed-users.yaml", USERS);
    let server = Running::spawn(with(&["--port", "0", "--verify-signatures"], "right", None));
    let url = format!("http://127.0.0.1:{}", server.2);
    let import = ["import", file.path(), "--to", &url];
    let mismatch = "InvalidSignatureException: The request signature we calculated does not match";
    for (secret, token, refusal) in [
        ("wrong", None, Some(mismatch)),
        (
            "right",
            Some("token"),
            Some("UnrecognizedClientException: The security token included in the request is invalid"),
        ),
        ("right", None, None),
    ] {
        let output = with(&import, secret, token).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        match refusal {
            Some(text) => assert!(!output.status.success() && said.contains(text), "{said}"),
            None => assert!(output.status.success(), "{said}"),
        }
    }
    let unsigned = answer(server.2, "ListTables", "{}");
    assert!(
        unsigned.contains("Signature expired: 20260101T000000Z is now earlier than"),
        "{unsigned}"
    );
}

/// The keys of the environment hold for a directory that exists as for a new one.
#[test]
fn signatures_are_verified_after_a_restart() {
    let directory = std::env::temp_dir().join(format!("dynatwin-signed-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    for (words, begin) in [
        (&["--verify-signatures"][..], "HTTP/1.1 400 "),
        (&["--verify-signatures"], "HTTP/1.1 400 "),
        (&[], "HTTP/1.1 200 "),
    ] {
        let mut command = dynatwin(&[&["--port", "0"], words].concat());
        command
            .arg("--db-path")
            .arg(&directory)
            .env("AWS_ACCESS_KEY_ID", "AKIATEST")
            .env("AWS_SECRET_ACCESS_KEY", "secret");
        let mut server = Running::spawn(command);
        let unsigned = answer(server.2, "ListTables", "{}");
        assert!(unsigned.starts_with(begin), "{words:?}: {unsigned}");
        assert_eq!(server.signal("TERM"), Some(0));
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Signatures cannot be verified without keys, which the configuration of access may contain.
#[test]
fn the_verification_of_signatures_needs_credentials() {
    let access = Scratch::new("no-keys.json", r#"{"accounts": {"123456789012": {}}}"#);
    let without = |name: &str, words: &[&str]| {
        let mut command = dynatwin(words);
        command
            .env("AWS_ACCESS_KEY_ID", "AKIATEST")
            .env("AWS_SECRET_ACCESS_KEY", "secret")
            .env_remove(name);
        command
    };
    let sentence =
        "dynatwin: --verify-signatures needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in its environment\n";
    for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
        let output = without(name, &["--port", "0", "--verify-signatures"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), sentence, "{name}");
        assert_eq!(output.stdout, b"", "{name}");
        let words = ["--port", "0", "--verify-signatures", "--iam", access.path()];
        let mut server = Running::spawn(without(name, &words));
        assert_eq!(server.signal("TERM"), Some(0), "{name}");
    }
}

/// A memory limit that cannot be kept ends the server before it serves.
#[test]
fn a_memory_limit_that_cannot_be_kept_exits_with_1() {
    let words = ["--port", "0", "--max-memory", "1GB"].map(str::to_owned);
    let code = dynatwin_server::run(words, |_, bytes| {
        assert_eq!(bytes, 1 << 30);
        Err("the allocator has no statistics".into())
    });
    assert_eq!(code, 1);
}

#[test]
fn probes_find_a_server() {
    let server = Running::start(&["--port", "0"]);
    let port = server.2.to_string();
    for command in ["health", "wait"] {
        assert_eq!(
            finished(&[command, "--port", &port]),
            (Some(0), String::new(), String::new())
        );
    }
    drop(server);
    for words in [
        &["health", "--port", port.as_str()][..],
        &["wait", "--port", &port, "--timeout", "0.1"],
    ] {
        let (code, _, err) = finished(words);
        assert_eq!(code, Some(1));
        assert!(
            err.starts_with(&format!("dynatwin: no server answers at 127.0.0.1:{port}: ")),
            "{err}"
        );
    }
}

/// The commands that ask a server use the port of the environment unless a flag gives another.
#[test]
fn the_environment_has_the_port_of_the_server() {
    let server = Running::start(&["--port", "0"]);
    let port = server.2.to_string();
    let none = "dynatwin: no requests are recorded: POST /_dynatwin/watch starts it\n";
    for (words, code, begin, refused) in [
        (&["health"][..], 0, "", "dynatwin: no server answers at 127.0.0.1:1: "),
        (
            &["wait", "--timeout", "0.1"],
            0,
            "",
            "dynatwin: no server answers at 127.0.0.1:1: ",
        ),
        (&["access-report"], 1, none, "dynatwin: 127.0.0.1:1: "),
    ] {
        for (variable, flag, is_found) in [
            (&*port, None, true),
            ("1", Some(&*port), true),
            ("1", None, false),
            (&*port, Some("1"), false),
        ] {
            let mut command = dynatwin(words);
            command.args(flag.into_iter().flat_map(|port| ["--port", port]));
            let output = command.env("DYNATWIN_PORT", variable).output().unwrap();
            let err = String::from_utf8(output.stderr).unwrap();
            let context = format!("{words:?} with {variable} and {flag:?}: {err}");
            if is_found {
                assert_eq!((output.status.code(), &*err), (Some(code), begin), "{context}");
            } else {
                assert_eq!(output.status.code(), Some(1), "{context}");
                assert!(err.starts_with(refused), "{context}");
            }
        }
    }
}

#[test]
fn the_policy_of_recorded_requests_is_printed() {
    let server = Running::start(&["--port", "0"]);
    let port = server.2.to_string();
    let report = || finished(&["access-report", "--port", &port, "--leading-keys"]);
    let none = "dynatwin: no requests are recorded: POST /_dynatwin/watch starts it\n".to_owned();
    assert_eq!(report(), (Some(1), String::new(), none));
    let send = |head: &str, body: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", server.2)).unwrap();
        let length = body.len();
        write!(
            stream,
            "POST {head}\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    };
    send("/_dynatwin/watch HTTP/1.1", "");
    let credentials = "authorization: AWS4-HMAC-SHA256 Credential=123456789012/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0";
    let head = |operation: &str| {
        format!(
            "/ HTTP/1.1\r\n{credentials}\r\nx-amz-date: 20260101T000000Z\r\ncontent-type: application/x-amz-json-1.0\r\nx-amz-target: DynamoDB_20120810.{operation}"
        )
    };
    let create = r#"{"TableName": "Tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}"#;
    send(&head("CreateTable"), create);
    send(&head("PutItem"), r#"{"TableName": "Tab", "Item": {"pk": {"S": "a"}}}"#);
    let (code, text, _) = report();
    let policy: serde_json::Value = serde_json::from_str(&text).unwrap();
    let table = "arn:aws:dynamodb:us-east-1:123456789012:table/Tab";
    let expected = serde_json::json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": ["dynamodb:CreateTable"], "Resource": [table]},
        {"Effect": "Allow", "Action": ["dynamodb:PutItem"], "Resource": [table], "Condition": {
            "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["a"]}, "Null": {"dynamodb:LeadingKeys": "false"}}}]});
    assert_eq!((code, policy), (Some(0), expected), "{text}");
    assert!(text.starts_with("{\n  \"Version\": \"2012-10-17\",\n"), "{text}");
    // A principal without requests: those that have some are named.
    let other = finished(&["access-report", "--port", &port, "--principal", "arn:nope"]);
    let named = "dynatwin: no recorded request of arn:nope has used a permission; those of 123456789012 have\n";
    assert_eq!(other, (Some(1), String::new(), named.to_owned()));
}

#[test]
fn documents_are_printed() {
    assert!(finished(&["man"]).1.starts_with(".TH DYNATWIN 1"));
    for shell in ["bash", "zsh", "fish"] {
        let (code, out, _) = finished(&["completions", shell]);
        assert!(code == Some(0) && out.contains("conditions"), "{shell}: {out}");
    }
    assert_eq!(finished(&["completions", "csh"]).0, Some(2));
}

#[test]
fn invalid_command_lines_exit_with_2() {
    let (code, out, err) = finished(&["--prot", "8000"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert_eq!(err, "dynatwin: --prot is not a flag; --help lists them\n");
    let (code, _, err) = finished(&["-jar", "DynamoDBLocal.jar", "-inMemory", "-dbPath", "./data"]);
    assert_eq!(code, Some(2));
    assert_eq!(err, "dynatwin: --db-path and --in-memory exclude each other\n");
    for (words, sentence) in [
        (
            &["health", "--timeout", "5"][..],
            "--timeout is not a flag of dynatwin health; --help lists them",
        ),
        (&["wait", "--port"], "--port needs a value"),
        (&["access-report", "--port", "x"], "--port: 'x' is not a port"),
        (&["completions"], "completions needs a shell: bash, zsh or fish"),
    ] {
        assert_eq!(
            finished(words),
            (Some(2), String::new(), format!("dynatwin: {sentence}\n")),
            "{words:?}"
        );
    }
    for command in ["health", "wait", "access-report"] {
        let (code, out, err) = finished(&[command, "--help"]);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{command}");
        assert!(out.contains(&format!("dynatwin {command} [--port PORT]")), "{out}");
    }
}

/// Each host is listened on at the same port, and named in the start line. Linux has all addresses of 127.0.0.0/8.
#[test]
#[cfg(target_os = "linux")]
fn each_host_is_listened_on() {
    for (words, addresses) in [
        (
            &["--host", "127.0.0.1", "--host", "127.0.0.2"][..],
            &["127.0.0.1", "127.0.0.2"][..],
        ),
        (
            &["--host", "127.0.0.3,127.0.0.1", "--host", "127.0.0.2"],
            &["127.0.0.3", "127.0.0.1", "127.0.0.2"],
        ),
    ] {
        let server = Running::start(&[&["--port", "0"], words].concat());
        let port = server.2;
        let urls: Vec<_> = addresses
            .iter()
            .map(|address| format!("http://{address}:{port}"))
            .collect();
        let listens = format!(" listens on {} (", urls.join(" and "));
        assert!(server.1.contains(&listens), "{words:?}: {}", server.1);
        for address in addresses {
            let mut stream = TcpStream::connect((*address, port)).unwrap();
            stream
                .write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
                .unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200 "), "{address}: {answer}");
        }
    }
}

/// The accounts of `--iam` are in force from the first request, and a policy with a known trap is reported.
#[test]
fn access_is_configured_by_a_file() {
    let known = Scratch::new(
        "access.json",
        r#"{"accounts": {"123456789012": {"accessKeys": [{"accessKeyId": "AKIAROOT", "secretAccessKey": "root"}]}}}"#,
    );
    let directory = std::env::temp_dir().join(format!("dynatwin-access-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    let stored = ["--db-path", directory.to_str().unwrap()];
    // In memory, in a new directory, and in one that exists.
    for words in [&[][..], &stored, &stored] {
        let words = [&["--port", "0", "--clock", "settable", "--iam", known.path()], words].concat();
        let mut server = Running::start(&words);
        let is_refused = || {
            let refused = answer(server.2, "ListTables", "{}");
            assert!(refused.contains("#UnrecognizedClientException"), "{words:?}: {refused}");
        };
        is_refused();
        // It is part of the state that the server was started with.
        for body in ["{}", r#"{"all": true}"#] {
            let mut stream = TcpStream::connect(("127.0.0.1", server.2)).unwrap();
            let length = body.len();
            write!(
                stream,
                "POST /_dynatwin/reset HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
            )
            .unwrap();
            let mut reset = String::new();
            stream.read_to_string(&mut reset).unwrap();
            assert!(reset.starts_with("HTTP/1.1 200"), "{reset}");
            is_refused();
        }
        assert_eq!(server.signal("TERM"), Some(0));
    }
    std::fs::remove_dir_all(&directory).unwrap();
    let bad = Scratch::new("bad-access.json", r#"{"accounts": {"1": {}}}"#);
    let (code, _, err) = finished(&["--port", "0", "--iam", bad.path()]);
    assert_eq!(code, Some(1));
    assert!(err.starts_with(&format!("dynatwin: {}: ", bad.path())), "{err}");
}

/// A process that can open no more files closes idle connections.
#[cfg(target_os = "linux")]
#[test]
fn connections_are_replaced_when_no_more_files_can_be_opened() {
    let mut command = Command::new("bash");
    let script = r#"ulimit -n 128; exec "$0" "$@""#;
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_dynatwin"), "--port", "0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let server = Running::spawn(command);
    let silent: Vec<_> = (0..130)
        .map(|_| TcpStream::connect(("127.0.0.1", server.2)).unwrap())
        .collect();
    let listed = answer(server.2, "ListTables", "{}");
    assert!(listed.starts_with("HTTP/1.1 200 "), "{listed}");
    drop(silent);
}

#[cfg(unix)]
#[test]
fn an_endless_file_is_too_large() {
    let (code, _, err) = finished(&["--port", "0", "--iam", "/dev/zero"]);
    assert_eq!((code, err.as_str()), (Some(1), "dynatwin: /dev/zero: file too large\n"));
}

/// Returns the answer of the server at a port to an API request of the caller that owns the tables of `--load`.
fn answer(port: u16, operation: &str, body: &str) -> String {
    answer_with("connection: close\r\n", port, operation, body)
}

/// Returns the answer to the request in the form that SDKs send.
fn direct_answer(port: u16, operation: &str, body: &str) -> String {
    answer_with("", port, operation, body)
}

fn answer_with(header: &str, port: u16, operation: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let credential = "Credential=local/20260101/us-east-1/dynamodb/aws4_request";
    let head = format!(
        "POST / HTTP/1.1\r\nhost: localhost\r\n{header}content-type: application/x-amz-json-1.0\r\nx-amz-target: DynamoDB_20120810.{operation}\r\n\
         authorization: AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=0\r\nx-amz-date: 20260101T000000Z\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// A file that is removed on drop.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str, text: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("dynatwin-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Scratch(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const USERS: &str = "tables:
- TableName: Users
  AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
  KeySchema: [{AttributeName: id, KeyType: HASH}]
  TimeToLiveSpecification: {AttributeName: expiresAt, Enabled: true}
  Items: [{id: a, age: 30}, {id: b}]
";

#[test]
fn files_are_loaded_and_copied() {
    let file = Scratch::new("users.yaml", USERS);
    let without_credentials = |words: &[&str]| {
        let mut command = dynatwin(words);
        for name in [
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_REGION",
            "AWS_DEFAULT_REGION",
        ] {
            command.env_remove(name);
        }
        command
    };
    let from = Running::spawn(without_credentials(&["--port", "0", "--load", file.path()]));
    let found = answer(
        from.2,
        "GetItem",
        r#"{"TableName": "Users", "Key": {"id": {"S": "a"}}}"#,
    );
    assert!(
        found.ends_with(r#"{"Item":{"age":{"N":"30"},"id":{"S":"a"}}}"#),
        "{found}"
    );
    let to = Running::spawn(without_credentials(&["--port", "0"]));
    let [from_url, to_url] = [from.2, to.2].map(|port| format!("http://127.0.0.1:{port}"));
    let copied = without_credentials(&["copy", "--from", &from_url, "--to", &to_url])
        .output()
        .unwrap();
    let said = String::from_utf8(copied.stderr).unwrap();
    assert!(copied.status.success(), "{said}");
    assert!(
        said.contains("Users: 2 items copied; both sides have 2 items with checksum"),
        "{said}"
    );
    let settings = answer(to.2, "DescribeTimeToLive", r#"{"TableName": "Users"}"#);
    assert!(settings.contains(r#""AttributeName":"expiresAt""#), "{settings}");
    let more = Scratch::new("Users.json", r#"[{"id": "c"}]"#);
    let item = format!("Users={}", more.path());
    let imported = without_credentials(&["import", &item, "--to", &to_url])
        .output()
        .unwrap();
    assert!(imported.status.success());
    let found = answer(to.2, "Scan", r#"{"TableName": "Users", "Select": "COUNT"}"#);
    assert!(found.contains(r#""Count":3"#), "{found}");
}

#[test]
fn failed_loads_and_copies_exit_with_a_sentence() {
    let file = Scratch::new("bad.yaml", "tables:\n- TableName: T\n  Keys: []\n");
    let path = file.path();
    let cases: [(&[&str], i32, String); 4] = [
        (
            &["--port", "0", "--load", path],
            1,
            format!("dynatwin: {path}:3: `Keys` is not a member of a table\n"),
        ),
        (
            &["--port", "0", "--load", "/nowhere/x.json"],
            1,
            "dynatwin: /nowhere/x.json: No such file or directory (os error 2)\n".into(),
        ),
        (
            &["copy", "--from", "http://localhost:1"],
            1,
            "dynatwin: --to is missing; dynatwin copy --help prints what is needed\n".into(),
        ),
        (
            &["import", path, "--to", "http://localhost:1"],
            1,
            format!("dynatwin: {path}:3: `Keys` is not a member of a table\n"),
        ),
    ];
    for (words, code, sentence) in cases {
        let (exit, _, err) = finished(words);
        assert_eq!((exit, err), (Some(code), sentence), "{words:?}");
    }
}

#[test]
fn a_missing_folder_of_buckets_is_reported() {
    let file = Scratch::new("buckets.json", "{}");
    let missing = format!("{}.d", file.path());
    for (folder, warning) in [
        (missing.as_str(), Some("No such file or directory (os error 2)")),
        (file.path(), Some("it is not a directory")),
        (env!("CARGO_MANIFEST_DIR"), None),
    ] {
        let mut server = Running::start(&["--port", "0", "--s3-dir", folder]);
        let mut stderr = server.0.stderr.take().unwrap();
        assert_eq!(server.signal("TERM"), Some(0));
        let mut printed = String::new();
        stderr.read_to_string(&mut printed).unwrap();
        let expected = warning
            .map(|why| format!("dynatwin: --s3-dir {folder}: {why}; until it is a directory, no bucket exists\n"));
        assert_eq!(printed, expected.unwrap_or_default());
    }
}

#[test]
fn a_port_in_use_exits_with_1() {
    let first = Running::start(&["--port", "0"]);
    let (code, out, err) = finished(&["-port", &first.2.to_string()]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(
        err.starts_with(&format!(
            "dynatwin: port {} of 127.0.0.1 is in use by another program; stop it, or",
            first.2
        )),
        "{err}"
    );
}

/// A directory whose parent cannot be created is refused.
#[test]
#[cfg(target_os = "linux")]
fn a_directory_that_cannot_be_created_is_named() {
    let (code, out, err) = finished(&["--port", "0", "--db-path", "/proc/dynatwin"]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(
        err.starts_with("dynatwin: /proc/dynatwin: cannot be created or locked: "),
        "{err}"
    );
}

/// A copy without a server at its end fails at once, and not after the retries of a request.
#[test]
fn copies_to_and_from_no_server_fail_at_once() {
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let url = format!("http://{free}");
    let file = std::env::temp_dir().join(format!("dynatwin-refused-{}.jsonl", std::process::id()));
    std::fs::write(&file, "{\"id\": \"a\"}\n").unwrap();
    let file = file.to_str().unwrap();
    let server = Running::start(&["--port", "0"]);
    let there = format!("http://127.0.0.1:{}", server.2);
    for words in [
        &["import", file, "--to", &url][..],
        &["copy", "--from", &url, "--to", &there],
        &["copy", "--from", &there, "--to", &url],
        &["copy", "--from", &url, "--to", "/nowhere"],
    ] {
        let (code, _, err) = finished(words);
        assert_eq!(code, Some(1), "{err}");
        let begin = format!("dynatwin: no server answers: {url}/: io: Connection refused");
        assert!(err.starts_with(&begin), "{err}");
    }
    std::fs::remove_file(file).unwrap();
}

#[test]
fn it_prints_its_address_and_stops_on_a_signal() {
    for name in ["TERM", "INT"] {
        let mut server = Running::start(&["--port", "0", "--seed", "42", "--conditions", "aws"]);
        for part in [
            "Dynatwin",
            "conditions aws",
            "seed 42",
            "clock system",
            "lost when the server stops",
        ] {
            assert!(server.1.contains(part), "{}", server.1);
        }
        let mut stream = TcpStream::connect(("127.0.0.1", server.2)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
            .write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 "), "{answer}");
        assert_eq!(server.signal(name), Some(0), "SIG{name}");
    }
}

#[test]
fn a_signal_lets_running_requests_finish() {
    let send = |port: u16, request: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    };
    let received = |mut stream: TcpStream| {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        answer
    };
    let mut server = Running::start(&["--port", "0"]);
    let rule = r#"{"verdict": {"wait": 0.5}, "operation": "ListTables", "first": 1}"#;
    let json = "host: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n";
    let length = rule.len();
    let add = format!("POST /_dynatwin/faults HTTP/1.1\r\n{json}content-length: {length}\r\n\r\n{rule}");
    received(send(server.2, &add));
    let list = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-amz-json-1.0\r\n\
        x-amz-target: DynamoDB_20120810.ListTables\r\nx-amz-date: 20260101T000000Z\r\nauthorization: AWS4-HMAC-SHA256 \
        Credential=me/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0\r\n\
        content-length: 2\r\n\r\n{}";
    let running = send(server.2, list);
    let rules = format!("GET /_dynatwin/faults HTTP/1.1\r\n{json}\r\n");
    while !received(send(server.2, &rules)).contains(r#""fired":1"#) {
        std::thread::yield_now();
    }
    assert_eq!(server.signal("TERM"), Some(0));
    received(running);
}

#[test]
fn health_checks_are_answered_like_the_replaced_servers() {
    for (words, expect) in [
        (&["--port", "0"][..], "HTTP/1.1 200 "),
        (&["-port", "0"], "HTTP/1.1 400 "),
        (&["-jar", "DynamoDBLocal.jar", "--port", "0"], "HTTP/1.1 400 "),
        (&["-inMemory", "--port", "0", "--health-status", "200"], "HTTP/1.1 200 "),
    ] {
        let server = Running::start(words);
        for method in ["GET", "HEAD"] {
            let mut stream = TcpStream::connect(("127.0.0.1", server.2)).unwrap();
            let request = format!("{method} / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with(expect), "{words:?} {method}: {answer}");
        }
    }
}

/// The lines of each level: server errors by default, every request, or none.
#[test]
fn requests_are_logged_by_their_level() {
    for (words, expect) in [
        (&[][..], &["ListTables 500", "ListTables 503"][..]),
        (
            &["--log", "requests"],
            &[
                "ListTables 500",
                "ListTables 503",
                "DescribeTable 400",
                "DeleteTable 400",
                "DescribeTable 400",
                "DeleteTable 400",
                "ListTables 200",
            ],
        ),
        (&["--log", "off"], &[]),
    ] {
        let mut server = Running::start(&[&["--port", "0"], words].concat());
        for verdict in ["internalServerError", "serviceUnavailable"] {
            let rule = format!(r#"{{"verdict": "{verdict}", "operation": "ListTables", "first": 1}}"#);
            let mut stream = TcpStream::connect(("127.0.0.1", server.2)).unwrap();
            let request = format!(
                "POST /_dynatwin/faults HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n{rule}",
                rule.len()
            );
            stream.write_all(request.as_bytes()).unwrap();
            let mut added = String::new();
            stream.read_to_string(&mut added).unwrap();
            assert!(added.starts_with("HTTP/1.1 200 "), "{added}");
            answer(server.2, "ListTables", "{}");
        }
        for answer in [answer, direct_answer] {
            answer(server.2, "DescribeTable", r#"{"TableName": "missing"}"#);
            // Carried out aside, because it may take long.
            answer(server.2, "DeleteTable", r#"{"TableName": "missing"}"#);
        }
        answer(server.2, "ListTables", "{}");
        assert_eq!(server.signal("TERM"), Some(0));
        let mut err = String::new();
        server.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        // After the time, and before the duration.
        let logged = err
            .lines()
            .map(|line| line.split(' ').skip(1).take(2).collect::<Vec<_>>().join(" "));
        let logged: Vec<String> = logged.filter(|line| !line.starts_with("POST ")).collect();
        assert_eq!(logged, expect, "{words:?}: {err}");
        for line in err.lines() {
            let words: Vec<_> = line.split(' ').collect();
            let (time, status) = (words[0], words.iter().position(|word| word.parse::<u16>().is_ok()));
            assert!(time.starts_with("20") && time.ends_with('Z'), "{line}");
            match words[status.unwrap() + 1..] {
                // The durations of requests are logged with all requests alone.
                [] => assert_eq!(expect.len(), 2, "{line}"),
                [took, "ms"] => {
                    let (whole, thousandths) = took.split_once('.').unwrap();
                    assert!(whole.parse::<u32>().is_ok() && thousandths.len() == 3, "{line}");
                    assert!(expect.len() > 2, "{line}");
                }
                _ => panic!("{line}"),
            }
        }
    }
}

/// An answer that waits is logged once it is delivered, whichever form its request has.
#[cfg(unix)]
#[test]
fn answers_are_logged_when_they_are_delivered() {
    use serde_json::json;

    use crate::support::process::{Process, connect, request};
    use crate::support::read;

    let mut server = Process::start("--log requests");
    let rule = json!({"verdict": {"wait": 3600}, "operation": "ListTables", "first": 2});
    server.control("POST", "faults", Some(&rule));
    let direct = String::from_utf8(request("ListTables", &json!({}))).unwrap();
    let last = direct.replace("host: localhost\r\n", "host: localhost\r\nconnection: close\r\n");
    let waiting = [direct, last].map(|text| {
        let mut stream = connect(server.port);
        stream.write_all(text.as_bytes()).unwrap();
        stream
    });
    while server.control("GET", "faults/1", None)["fired"] != 2 {
        std::thread::yield_now();
    }
    server.ok("DescribeLimits", &json!({}));
    server.control("POST", "clock/advance", Some(&json!({"seconds": 3600})));
    for mut stream in waiting {
        assert_eq!(read(&mut stream).unwrap().status(), 200);
    }
    let err = server.end("TERM");
    let names = err.lines().filter_map(|line| line.split(' ').nth(1));
    let logged: Vec<&str> = names
        .filter(|name| ["DescribeLimits", "ListTables"].contains(name))
        .collect();
    assert_eq!(logged, ["DescribeLimits", "ListTables", "ListTables"], "{err}");
}

/// A stream of events is a request like the page of events: its line is logged when it begins.
#[test]
fn event_streams_are_logged_with_all_requests() {
    for (level, expected) in [("requests", 2), ("errors", 0), ("off", 0)] {
        let mut server = Running::start(&["--port", "0", "--log", level]);
        let open = |accept: &str| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.2)).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            write!(
                stream,
                "GET /_dynatwin/events HTTP/1.1\r\nhost: localhost\r\n{accept}\r\n"
            )
            .unwrap();
            let mut reader = BufReader::new(stream);
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            assert_eq!(line, "HTTP/1.1 200 OK\r\n", "{accept}");
            reader
        };
        let open = ["accept: text/event-stream\r\n", ""].map(open);
        assert_eq!(server.signal("TERM"), Some(0));
        drop(open);
        let mut err = String::new();
        server.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        let logged = err.lines().filter(|line| line.contains(" GET /_dynatwin/events 200"));
        assert_eq!(logged.count(), expected, "{level}: {err}");
        assert_eq!(err.lines().count(), expected, "{level}: {err}");
    }
}

/// The engine notes that a table belongs to another caller, at the level of errors.
#[cfg(unix)]
#[test]
fn notes_are_logged_unless_the_log_is_off() {
    use crate::support::process::{Process, table};

    for (words, notes) in [("", 2), ("--log errors", 2), ("--log requests", 2), ("--log off", 0)] {
        let mut server = Process::start(words);
        server.ok("CreateTable", &table("Tab"));
        for answer in [answer, direct_answer] {
            let missed = answer(server.port, "DescribeTable", r#"{"TableName": "Tab"}"#);
            assert!(missed.starts_with("HTTP/1.1 400 "), "{missed}");
        }
        let err = server.end("TERM");
        let noted = err.lines().filter(|line| line.contains("Tab") && line.contains("me"));
        assert_eq!(noted.count(), notes, "{words}: {err}");
        if words != "--log requests" {
            assert_eq!(err.lines().count(), notes, "{words}: {err}");
        }
    }
}

/// A credential comes from the request, can be percent-encoded, and appears in the log.
#[test]
fn request_content_cannot_forge_the_log() {
    let mut server = Running::start(&["--port", "0", "--log", "requests"]);
    let ask = |target: &str, operation: &str, body: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", server.2)).unwrap();
        let request = format!(
            "POST {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/x-amz-json-1.0\r\n\
             x-amz-target: DynamoDB_20120810.{operation}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let signed = |key: &str| {
        format!(
            "/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={key}%2F20260101%2Fus-east-1%2Fdynamodb%2Faws4_request\
             &X-Amz-Signature=0&X-Amz-SignedHeaders=host&X-Amz-Date=20260101T000000Z"
        )
    };
    let table = r#"{"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk",
        "KeyType": "HASH"}], "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}"#;
    let hostile = "me%1B%5B2J%0A2026-01-01T00:00:00Z%20forged%C2%9B%E2%80%AE";
    let created = ask(&signed(hostile), "CreateTable", table);
    assert!(created.starts_with("HTTP/1.1 200 "), "{created}");
    let missed = ask(&signed("other"), "DescribeTable", r#"{"TableName": "tab"}"#);
    assert!(missed.starts_with("HTTP/1.1 400 "), "{missed}");
    assert_eq!(server.signal("TERM"), Some(0));
    let mut err = String::new();
    server.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert!(
        err.contains("me\\u{1b}[2J\\u{a}2026"),
        "the log names the credential: {err}"
    );
    assert_eq!(err.lines().count(), 3, "{err}");
    assert!(err.chars().all(|char| char == '\n' || !char.is_control()), "{err:?}");
}

#[test]
#[cfg(not(target_env = "msvc"))]
fn a_server_that_is_full_serves_reads_and_deletes() {
    let server = Running::start(&["--port", "0", "--max-memory", "48MB", "--log", "off"]);
    let mut stream = TcpStream::connect(("127.0.0.1", server.2)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut ask = |operation: &str, body: &str| {
        let request = format!(
            "POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-amz-json-1.0\r\n\
             x-amz-target: DynamoDB_20120810.{operation}\r\nx-amz-date: 20260101T000000Z\r\n\
             authorization: AWS4-HMAC-SHA256 Credential=me/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        crate::support::read(&mut stream).unwrap().status()
    };
    let table = r#"{"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk",
        "KeyType": "HASH"}], "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}"#;
    let value = "v".repeat(300_000);
    let put = |number: usize| {
        format!(r#"{{"TableName": "tab", "Item": {{"pk": {{"S": "{number}"}}, "v": {{"S": "{value}"}}}}}}"#)
    };
    let key = |number: usize| format!(r#"{{"TableName": "tab", "Key": {{"pk": {{"S": "{number}"}}}}}}"#);
    assert_eq!(ask("CreateTable", table), 200);
    let mut count = 0;
    while ask("PutItem", &put(count)) == 200 {
        count += 1;
        assert!(count < 10_000, "nothing is refused");
    }
    assert!(count > 20, "{count} items are not 48 MB");
    assert_eq!(ask("GetItem", &key(0)), 200);
    for number in 0..count {
        assert_eq!(ask("DeleteItem", &key(number)), 200);
    }
    // The allocator's statistics are read again soon.
    while ask("PutItem", &put(0)) == 500 {
        std::thread::yield_now();
    }
}

/// Policies with unknown actions, a missing folder, a memory limit that the process exceeds from the start, and variables
/// that set no flag, are all named at startup.
#[test]
#[cfg(not(target_env = "msvc"))]
fn settings_that_cannot_work_are_named() {
    let access = Scratch::new(
        "unknown-actions.json",
        r#"{"accounts": {"123456789012": {"users": {"ann": {"policies": [{"Statement": [
            {"Effect": "Allow", "Action": "dynamodb:GetItems", "Resource": "*"},
            {"Effect": "Allow", "Action": "dynamodb:PutItems", "Resource": "*"}]}]}}}}}"#,
    );
    let statements = [1, 2].map(|statement| {
        format!(
            "dynatwin: {}: accounts.123456789012.users.ann.policies.0, statement {statement}: UnknownAction: ",
            access.path()
        )
    });
    let directory = std::env::temp_dir().join(format!("dynatwin-named-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    let stored = ["--db-path", directory.to_str().unwrap()];
    for (words, variables, expect) in [
        (&["--max-memory", "1GB"][..], &[("DYNATWIN_LOG", "off")][..], &[][..]),
        (
            &["--max-memory", "12"],
            &[],
            &["dynatwin: --max-memory 12: the process has allocated "],
        ),
        (
            &[],
            &[("DYNATWIN_PROT", "1"), ("DYNATWIN_SERVICE_HOST", "10.0.0.1")],
            &["dynatwin: DYNATWIN_PROT sets no flag; --help lists the variables"],
        ),
        (
            &[
                "--max-memory",
                "12",
                "--s3-dir",
                "/nowhere/buckets",
                "--iam",
                access.path(),
            ],
            &[
                ("DYNATWIN_PROT", "1"),
                ("DYNATWIN_SEEED", "2"),
                ("DYNATWIN_SHARED", "3"),
            ],
            &[
                &statements[0],
                &statements[1],
                "dynatwin: --s3-dir /nowhere/buckets: ",
                "dynatwin: --max-memory 12: the process has allocated ",
                "dynatwin: DYNATWIN_PROT sets no flag; ",
                "dynatwin: DYNATWIN_SEEED sets no flag; ",
                "dynatwin: DYNATWIN_SHARED sets no flag; ",
            ],
        ),
    ] {
        for storage in [&[][..], &stored] {
            let words = [&["--port", "0"], words, storage].concat();
            let mut command = dynatwin(&words);
            command.envs(variables.iter().copied());
            let mut server = Running::spawn(command);
            assert_eq!(server.signal("TERM"), Some(0));
            let mut err = String::new();
            server.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
            let lines: Vec<_> = err.lines().collect();
            assert_eq!(lines.len(), expect.len(), "{words:?}: {err}");
            for (line, begin) in lines.iter().zip(expect) {
                assert!(line.starts_with(begin), "{words:?}: {err}");
            }
        }
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn flags_of_dynamodb_local_start_it() {
    let words = "-Djava.library.path=./DynamoDBLocal_lib -jar DynamoDBLocal.jar -sharedDb -inMemory -cors * \
                 -disableTelemetry -delayTransientStatuses -port 0";
    let mut server = Running::start(&words.split_whitespace().collect::<Vec<_>>());
    assert_eq!(server.signal("TERM"), Some(0));
    let mut err = String::new();
    server.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(err, "");
}
