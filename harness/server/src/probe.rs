//! `dynatwin health` and `dynatwin wait`: check whether a server answers, for health probes and scripts.

use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use crate::client;

/// The timeout of one attempt, and the pause of `wait` between two attempts.
const ATTEMPT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(50);

const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const HELP: &str = "\
dynatwin health [--port PORT] [--host HOST]
  exits with 0 if a server answers, and with 1 otherwise
dynatwin wait [--port PORT] [--host HOST] [--timeout SECONDS]
  waits until a server answers, at most SECONDS (30), and exits like `health`

PORT defaults to DYNATWIN_PORT, or 8000, and HOST to 127.0.0.1.";

/// A parsed `health` or `wait` command.
#[derive(Debug, PartialEq)]
pub(crate) struct Probe {
    host: String,
    port: u16,
    /// The time to wait for a server; `None` for a single attempt.
    patience: Option<Duration>,
}

impl Probe {
    /// Parses the arguments after `health` or `wait`; returns `None` for `--help`.
    pub fn parse(
        name: &str,
        words: impl IntoIterator<Item = String>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Probe>, String> {
        let port = variable("DYNATWIN_PORT").and_then(|port| port.parse().ok());
        let mut probe = Probe {
            host: "127.0.0.1".into(),
            port: port.unwrap_or(8000),
            patience: (name == "wait").then_some(PATIENCE),
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let (flag, inline) = match word.split_once('=') {
                Some((flag, value)) => (flag.to_owned(), Some(value.to_owned())),
                None => (word, None),
            };
            let mut value = || {
                let value = inline.clone().or_else(|| words.next());
                value.ok_or_else(|| format!("{flag} needs a value"))
            };
            match flag.as_str() {
                "--help" | "-h" => return Ok(None),
                "--host" | "-host" => probe.host = value()?,
                "--port" | "-port" => {
                    let port = value()?;
                    probe.port = port.parse().map_err(|_| format!("{flag}: '{port}' is not a port"))?;
                }
                "--timeout" if name == "wait" => {
                    let text = value()?;
                    let seconds = text.parse::<f64>().ok();
                    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                    probe.patience = Some(time.ok_or_else(|| format!("{flag}: '{text}' is not a number of seconds"))?);
                }
                _ => return Err(format!("{flag} is not a flag of dynatwin {name}; --help lists them")),
            }
        }
        Ok(Some(probe))
    }

    /// Checks whether a server answers, retrying until the timeout.
    pub fn run(&self) -> Result<(), String> {
        let begin = Instant::now();
        loop {
            match self.attempt() {
                Ok(()) => return Ok(()),
                Err(error) => match self.patience {
                    Some(patience) if begin.elapsed() + PAUSE < patience => thread::sleep(PAUSE),
                    _ => return Err(format!("no server answers at {}:{}: {error}", self.host, self.port)),
                },
            }
        }
    }

    fn attempt(&self) -> Result<(), String> {
        let text = |error: std::io::Error| error.to_string();
        let mut stream = client::connect(&self.host, self.port, ATTEMPT)?;
        stream
            .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .map_err(text)?;
        let mut begin = [0; 12];
        stream.read_exact(&mut begin).map_err(text)?;
        // 200 like AWS, or 400 like DynamoDB Local.
        match &begin {
            b"HTTP/1.1 200" | b"HTTP/1.1 400" => Ok(()),
            _ => Err(format!("it answers {}", String::from_utf8_lossy(&begin))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, line: &str, port: Option<&str>) -> Result<Option<Probe>, String> {
        let words = line.split_whitespace().map(str::to_owned);
        Probe::parse(name, words, |_| port.map(str::to_owned))
    }

    #[test]
    fn answers_of_a_server() {
        for (answer, is_server) in [
            ("HTTP/1.1 200 OK", true),
            ("HTTP/1.1 400 Bad Request", true),
            ("HTTP/1.1 404 Not Found", false),
            ("HTTP/1.1 503 Service Unavailable", false),
            ("SSH-2.0-OpenSSH", false),
            ("HTTP/1.1", false),
        ] {
            // `wait` accepts the same answers as `health`.
            for patience in [None, Some(Duration::ZERO)] {
                let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
                let probe = Probe {
                    host: "127.0.0.1".into(),
                    port: listener.local_addr().unwrap().port(),
                    patience,
                };
                let answering = thread::spawn(move || {
                    let mut stream = listener.accept().unwrap().0;
                    let (mut request, mut byte) = (Vec::new(), [0]);
                    while !request.ends_with(b"\r\n\r\n") {
                        stream.read_exact(&mut byte).unwrap();
                        request.push(byte[0]);
                    }
                    stream.write_all(answer.as_bytes()).unwrap();
                });
                assert_eq!(probe.run().is_ok(), is_server, "{answer}, {patience:?}");
                answering.join().unwrap();
            }
        }
    }

    /// `health` gives up after one attempt, `wait` after its time.
    #[test]
    fn waiting_repeats_the_attempt() {
        for (patience, attempts, is_found) in [
            (None, 1, false),
            (Some(Duration::ZERO), 1, false),
            // The time is over before the next attempt.
            (Some(PAUSE), 1, false),
            (Some(Duration::from_hours(1)), 3, true),
        ] {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let probe = Probe {
                host: "127.0.0.1".into(),
                port: listener.local_addr().unwrap().port(),
                patience,
            };
            let answering = thread::spawn(move || {
                for attempt in 1..=attempts {
                    let mut stream = listener.accept().unwrap().0;
                    let status = if attempt == 3 { "200" } else { "503" };
                    let (mut request, mut byte) = (Vec::new(), [0]);
                    while !request.ends_with(b"\r\n\r\n") {
                        stream.read_exact(&mut byte).unwrap();
                        request.push(byte[0]);
                    }
                    stream.write_all(format!("HTTP/1.1 {status}").as_bytes()).unwrap();
                }
            });
            assert_eq!(probe.run().is_ok(), is_found, "{patience:?}");
            answering.join().unwrap();
        }
    }

    /// A host may get its address later, as a service of a compose network that has not started.
    #[test]
    fn waiting_repeats_the_lookup_of_the_host() {
        // The lookup of an unknown zone fails without a request to a name server.
        let host = "fe80::1%absent";
        for (patience, least) in [
            (None, Duration::ZERO),
            (Some(Duration::ZERO), Duration::ZERO),
            (Some(3 * PAUSE), 2 * PAUSE),
        ] {
            let probe = Probe {
                host: host.into(),
                port: 8000,
                patience,
            };
            let begin = Instant::now();
            let error = probe.run().unwrap_err();
            let waited = begin.elapsed();
            let sentence = format!("no server answers at {host}:8000: ");
            assert!(error.starts_with(&sentence), "{patience:?}: {error}");
            assert!(waited >= least, "{patience:?}: {waited:?}");
        }
    }

    #[test]
    fn command_lines() {
        let probe = |host: &str, port, patience: Option<u64>| Probe {
            host: host.into(),
            port,
            patience: patience.map(Duration::from_secs),
        };
        assert_eq!(parse("health", "", None), Ok(Some(probe("127.0.0.1", 8000, None))));
        assert_eq!(parse("health", "", Some("81")), Ok(Some(probe("127.0.0.1", 81, None))));
        assert_eq!(
            parse("wait", "", Some("tcp://x")),
            Ok(Some(probe("127.0.0.1", 8000, Some(30))))
        );
        let line = "--port 9 --host=::1 --timeout 5";
        assert_eq!(parse("wait", line, None), Ok(Some(probe("::1", 9, Some(5)))));
        assert_eq!(parse("wait", "--help", None), Ok(None));
        for (name, line, message) in [
            (
                "health",
                "--timeout 5",
                "--timeout is not a flag of dynatwin health; --help lists them",
            ),
            ("wait", "--timeout -5", "--timeout: '-5' is not a number of seconds"),
            ("health", "--port x", "--port: 'x' is not a port"),
            ("health", "--port", "--port needs a value"),
        ] {
            assert_eq!(parse(name, line, None), Err(message.into()), "{line}");
        }
    }

    /// A timeout is any number of seconds that is not negative.
    #[test]
    fn timeouts() {
        let millis = |millis| Some(Duration::from_millis(millis));
        for (text, expected) in [
            ("0", millis(0)),
            ("1", millis(1000)),
            ("30", millis(30_000)),
            ("0.5", millis(500)),
            (".5", millis(500)),
            ("5.", millis(5000)),
            ("1.25", millis(1250)),
            ("0.001", millis(1)),
            ("2.0", millis(2000)),
            ("1e2", millis(100_000)),
            ("1e-1", millis(100)),
            ("+3", millis(3000)),
            ("-1", None),
            ("-0.5", None),
            ("1s", None),
            ("1,5", None),
            ("NaN", None),
            ("inf", None),
            ("1e30", None),
            ("half", None),
        ] {
            for line in [
                format!("--timeout {text}"),
                format!("--timeout={text}"),
                format!("--timeout 9 --timeout {text}"),
            ] {
                let expected = match expected {
                    Some(time) => Ok(Some(time)),
                    None => Err(format!("--timeout: '{text}' is not a number of seconds")),
                };
                let found = parse("wait", &line, None).map(|probe| probe.unwrap().patience);
                assert_eq!(found, expected, "{line}");
            }
        }
        assert_eq!(parse("wait", "--timeout", None), Err("--timeout needs a value".into()));
        let empty = Err("--timeout: '' is not a number of seconds".into());
        assert_eq!(parse("wait", "--timeout=", None), empty);
    }

    /// Each flag of both commands, in each of its forms.
    #[test]
    fn flags_of_probes() {
        for name in ["health", "wait"] {
            let patience = (name == "wait").then_some(PATIENCE);
            let probe = |host: &str, port| {
                Ok(Some(Probe {
                    host: host.into(),
                    port,
                    patience,
                }))
            };
            for (line, variable, expected) in [
                ("", None, probe("127.0.0.1", 8000)),
                ("", Some("9"), probe("127.0.0.1", 9)),
                ("", Some(""), probe("127.0.0.1", 8000)),
                ("", Some("65536"), probe("127.0.0.1", 8000)),
                ("--port 1", Some("9"), probe("127.0.0.1", 1)),
                ("-port 1", None, probe("127.0.0.1", 1)),
                ("--port=65535", None, probe("127.0.0.1", 65535)),
                ("-port=0", None, probe("127.0.0.1", 0)),
                ("--port 1 --port 2", None, probe("127.0.0.1", 2)),
                ("--host a", None, probe("a", 8000)),
                ("-host a", Some("9"), probe("a", 9)),
                ("--host=::1 --port 1", None, probe("::1", 1)),
                ("-host=a --host b", None, probe("b", 8000)),
                ("--help", None, Ok(None)),
                ("--port 1 -h", None, Ok(None)),
                ("--port 65536", None, Err("--port: '65536' is not a port".into())),
                ("-port -1", None, Err("-port: '-1' is not a port".into())),
                ("--host", None, Err("--host needs a value".into())),
                (
                    "8000",
                    None,
                    Err(format!("8000 is not a flag of dynatwin {name}; --help lists them")),
                ),
                (
                    "--prot 1",
                    None,
                    Err(format!("--prot is not a flag of dynatwin {name}; --help lists them")),
                ),
            ] {
                assert_eq!(parse(name, line, variable), expected, "{name} {line}, {variable:?}");
            }
        }
    }
}
