//! `dynatwin access-report`: the least-privilege policies of the requests that a running server has recorded.

use std::io::{Read, Write};
use std::time::Duration;

use dynatwin_engine::controls::Json;

use crate::client;
use crate::flags::parse_switch;

const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) const HELP: &str = "\
dynatwin access-report [--port PORT] [--host HOST] [--principal ARN] [--leading-keys] [--attributes]
  prints the IAM policy that allows exactly what a principal has done on a running server while requests were recorded
  (POST /_dynatwin/watch); for several principals, a list with the policy of each. A principal is the ARN of a
  configured user or role, or without --iam an access key. With --leading-keys the policy is restricted to the
  partition key values of the requests, with --attributes to the attributes that they name and what they return, which
  is known of requests under --iam.

PORT defaults to DYNATWIN_PORT, or 8000, and HOST to 127.0.0.1.";

/// A report to be printed.
#[derive(Debug, PartialEq)]
pub(crate) struct AccessReport {
    host: String,
    port: u16,
    principal: Option<String>,
    leading_keys: bool,
    attributes: bool,
}

impl AccessReport {
    /// Parses the arguments after `access-report`; returns `None` for `--help`.
    pub fn parse(
        arguments: impl IntoIterator<Item = String>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<AccessReport>, String> {
        let port = variable("DYNATWIN_PORT").and_then(|port| port.parse().ok());
        let mut report = AccessReport {
            host: "127.0.0.1".into(),
            port: port.unwrap_or(8000),
            principal: None,
            leading_keys: false,
            attributes: false,
        };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let (flag, inline) = match argument.split_once('=') {
                Some((flag, value)) => (flag.to_owned(), Some(value.to_owned())),
                None => (argument, None),
            };
            let mut value = || {
                let value = inline.clone().or_else(|| arguments.next());
                value.ok_or_else(|| format!("{flag} needs a value"))
            };
            let switch = || {
                let value = inline.as_deref().unwrap_or("on");
                parse_switch(value).ok_or_else(|| format!("{flag}: '{value}' is neither on nor off"))
            };
            match flag.as_str() {
                "--help" | "-h" => return Ok(None),
                "--host" => report.host = value()?,
                "--port" => {
                    let port = value()?;
                    report.port = port.parse().map_err(|_| format!("{flag}: '{port}' is not a port"))?;
                }
                "--principal" => report.principal = Some(value()?),
                "--leading-keys" => report.leading_keys = switch()?,
                "--attributes" => report.attributes = switch()?,
                _ => {
                    return Err(format!(
                        "{flag} is not a flag of dynatwin access-report; --help lists them"
                    ));
                }
            }
        }
        Ok(Some(report))
    }

    /// The report of the server, as JSON text. The error is a sentence.
    pub fn run(&self) -> Result<String, String> {
        let body = self
            .fetch(self.principal.as_deref())
            .map_err(|error| format!("{}:{}: {error}", self.host, self.port))?;
        let answer = Json::read(&body).map_err(|_| "the server does not answer in JSON".to_owned())?;
        if let Some(sentence) = member(&answer, "error").and_then(Json::text) {
            return Err(sentence.to_owned());
        }
        let Some(Json::List(principals)) = member(&answer, "principals") else {
            return Err("the server has no access report".to_owned());
        };
        let shown = match &principals[..] {
            [] if member(&answer, "watched") == Some(&Json::Flag(false)) => {
                return Err("no requests are recorded: POST /_dynatwin/watch starts it".to_owned());
            }
            [] => return Err(self.empty_report()),
            [one] => member(one, "policy").cloned().unwrap_or(Json::Null),
            _ => Json::List(principals.clone()),
        };
        Ok(indented(&shown, 0))
    }

    /// Returns the error for an empty report, which names the principals that have used permissions.
    fn empty_report(&self) -> String {
        let Some(principal) = &self.principal else {
            return "no recorded request has used a permission".to_owned();
        };
        let sentence = format!("no recorded request of {principal} has used a permission");
        let all = self.fetch(None).ok().and_then(|body| Json::read(&body).ok());
        let Some(Json::List(principals)) = all.as_ref().and_then(|answer| member(answer, "principals")) else {
            return sentence;
        };
        let names = principals.iter().filter_map(|one| member(one, "principal")?.text());
        match names.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => sentence,
            names => format!("{sentence}; those of {names} have"),
        }
    }

    fn path(&self, principal: Option<&str>) -> String {
        let encode = |text: &str| {
            text.bytes()
                .fold(String::new(), |text, byte| format!("{text}%{byte:02X}"))
        };
        let principal = principal.map_or(String::new(), |principal| format!("&principal={}", encode(principal)));
        format!(
            "/_dynatwin/access/report?leadingKeys={}&attributes={}{principal}",
            self.leading_keys, self.attributes
        )
    }

    /// The body of the answer about a principal, or about all.
    fn fetch(&self, principal: Option<&str>) -> Result<Vec<u8>, String> {
        let text = |error: std::io::Error| error.to_string();
        let mut stream = client::connect(&self.host, self.port, TIMEOUT)?;
        let request = format!(
            "GET {} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
            self.path(principal)
        );
        stream.write_all(request.as_bytes()).map_err(text)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map_err(text)?;
        let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        let end = end.ok_or("the server does not answer in HTTP")?;
        Ok(answer.split_off(end + 4))
    }
}

fn member<'j>(json: &'j Json, name: &str) -> Option<&'j Json> {
    let Json::Object(members) = json else { return None };
    members.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

/// JSON with two blanks for each level.
fn indented(json: &Json, depth: usize) -> String {
    let block = |[open, close]: [&str; 2], elements: Vec<String>| {
        let inner = "  ".repeat(depth + 1);
        let elements = elements.join(&format!(",\n{inner}"));
        format!("{open}\n{inner}{elements}\n{}{close}", "  ".repeat(depth))
    };
    match json {
        Json::List(list) if !list.is_empty() => {
            let elements = list.iter().map(|element| indented(element, depth + 1));
            block(["[", "]"], elements.collect())
        }
        Json::Object(members) if !members.is_empty() => {
            let members = members.iter().map(|(name, value)| {
                let name = Json::Text(name.clone()).to_text();
                format!("{name}: {}", indented(value, depth + 1))
            });
            block(["{", "}"], members.collect())
        }
        json => json.to_text(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str, port: Option<&str>) -> Result<Option<AccessReport>, String> {
        let words = line.split_whitespace().map(str::to_owned);
        AccessReport::parse(words, |_| port.map(str::to_owned))
    }

    #[test]
    fn command_lines() {
        let report = |port, principal: Option<&str>, leading_keys| AccessReport {
            host: "127.0.0.1".into(),
            port,
            principal: principal.map(str::to_owned),
            leading_keys,
            attributes: leading_keys,
        };
        assert_eq!(parse("", Some("81")), Ok(Some(report(81, None, false))));
        let line = "--port=9 --principal arn:x --leading-keys --attributes";
        let read = parse(line, None).unwrap().unwrap();
        assert_eq!(read, report(9, Some("arn:x"), true));
        for (principal, encoded) in [
            ("arn:x", "%61%72%6E%3A%78"),
            ("a+b", "%61%2B%62"),
            ("%2B&=#?", "%25%32%42%26%3D%23%3F"),
            ("é /", "%C3%A9%20%2F"),
        ] {
            assert_eq!(
                read.path(Some(principal)),
                format!("/_dynatwin/access/report?leadingKeys=true&attributes=true&principal={encoded}")
            );
        }
        for (flag, path) in [
            ("--leading-keys", "leadingKeys=true&attributes=false"),
            ("--attributes", "leadingKeys=false&attributes=true"),
            (
                "--leading-keys=false --attributes=on",
                "leadingKeys=false&attributes=true",
            ),
            ("--leading-keys=1 --attributes=off", "leadingKeys=true&attributes=false"),
        ] {
            let report = parse(flag, None).unwrap().unwrap();
            assert_eq!(
                report.path(report.principal.as_deref()),
                format!("/_dynatwin/access/report?{path}")
            );
        }
        assert_eq!(parse("--help", None), Ok(None));
        for (line, message) in [
            ("--port x", "--port: 'x' is not a port"),
            ("--principal", "--principal needs a value"),
            ("--attributes=maybe", "--attributes: 'maybe' is neither on nor off"),
            (
                "--keys",
                "--keys is not a flag of dynatwin access-report; --help lists them",
            ),
        ] {
            assert_eq!(parse(line, None), Err(message.into()), "{line}");
        }
    }

    #[test]
    fn json_is_indented() {
        for (json, text) in [
            (
                r#"{"a": ["x", 1], "b": {}, "c": []}"#,
                "{\n  \"a\": [\n    \"x\",\n    1\n  ],\n  \"b\": {},\n  \"c\": []\n}",
            ),
            (
                r#"[{"a": {"b": [[1]]}}]"#,
                "[\n  {\n    \"a\": {\n      \"b\": [\n        [\n          1\n        ]\n      ]\n    }\n  }\n]",
            ),
        ] {
            assert_eq!(indented(&Json::read(json.as_bytes()).unwrap(), 0), text);
        }
    }

    /// Each flag in each of its forms.
    #[test]
    fn flags_of_reports() {
        let report = |host: &str, port, principal: Option<&str>| {
            Ok(Some(AccessReport {
                host: host.into(),
                port,
                principal: principal.map(str::to_owned),
                leading_keys: false,
                attributes: false,
            }))
        };
        for (line, variable, expected) in [
            ("", None, report("127.0.0.1", 8000, None)),
            ("", Some("9"), report("127.0.0.1", 9, None)),
            ("", Some(""), report("127.0.0.1", 8000, None)),
            ("", Some("65536"), report("127.0.0.1", 8000, None)),
            ("--port 1", Some("9"), report("127.0.0.1", 1, None)),
            ("--port=65535", None, report("127.0.0.1", 65535, None)),
            ("--port 1 --port 2", None, report("127.0.0.1", 2, None)),
            ("--host a", Some("9"), report("a", 9, None)),
            ("--host=::1", None, report("::1", 8000, None)),
            ("--principal=a=b", None, report("127.0.0.1", 8000, Some("a=b"))),
            (
                "--principal a --principal b",
                None,
                report("127.0.0.1", 8000, Some("b")),
            ),
            (
                "--leading-keys --leading-keys=off",
                None,
                report("127.0.0.1", 8000, None),
            ),
            ("-h", None, Ok(None)),
            ("--port 1 --help", None, Ok(None)),
            ("--port 65536", None, Err("--port: '65536' is not a port".into())),
            ("--host", None, Err("--host needs a value".into())),
            ("--port", None, Err("--port needs a value".into())),
            (
                "--leading-keys=2",
                None,
                Err("--leading-keys: '2' is neither on nor off".into()),
            ),
            (
                "report",
                None,
                Err("report is not a flag of dynatwin access-report; --help lists them".into()),
            ),
        ] {
            assert_eq!(parse(line, variable), expected, "{line}, {variable:?}");
        }
    }

    /// What is printed for each answer of a server, and for none.
    #[test]
    fn answers_of_a_server() {
        const RECORDED: &str = r#"{"watched": true, "principals": []}"#;
        const USED: &str =
            r#"{"watched": true, "principals": [{"principal": "b", "policy": {}}, {"principal": "c", "policy": {}}]}"#;
        for (principal, answers, expected) in [
            (
                None,
                &[r#"{"principals": [{"principal": "a", "policy": {"Version": "1"}}]}"#][..],
                Ok("{\n  \"Version\": \"1\"\n}"),
            ),
            (
                Some("b"),
                &[r#"{"principals": [{"principal": "b", "policy": [1]}]}"#],
                Ok("[\n  1\n]"),
            ),
            (
                None,
                &[r#"{"principals": [{"principal": "a", "policy": 1}, {"principal": "b", "policy": 2}]}"#],
                Ok("[\n  {\n    \"principal\": \"a\",\n    \"policy\": 1\n  },\n  \
                    {\n    \"principal\": \"b\",\n    \"policy\": 2\n  }\n]"),
            ),
            (None, &[r#"{"error": "Only for you."}"#], Err("Only for you.")),
            (
                None,
                &[r#"{"error": "Only for you.", "principals": []}"#],
                Err("Only for you."),
            ),
            (None, &["{}"], Err("the server has no access report")),
            (None, &[r#"{"principals": {}}"#], Err("the server has no access report")),
            (None, &["[]"], Err("the server has no access report")),
            (None, &["<html>"], Err("the server does not answer in JSON")),
            (None, &[""], Err("the server does not answer in JSON")),
            (
                None,
                &[r#"{"watched": false, "principals": []}"#],
                Err("no requests are recorded: POST /_dynatwin/watch starts it"),
            ),
            (
                Some("a"),
                &[r#"{"watched": false, "principals": []}"#],
                Err("no requests are recorded: POST /_dynatwin/watch starts it"),
            ),
            // What was recorded stays once recording has stopped.
            (
                None,
                &[r#"{"watched": false, "principals": [{"principal": "a", "policy": 1}]}"#],
                Ok("1"),
            ),
            (None, &[RECORDED], Err("no recorded request has used a permission")),
            (
                Some("a"),
                &[RECORDED, USED],
                Err("no recorded request of a has used a permission; those of b, c have"),
            ),
            // No principal's request has used a permission, or the second answer is not a report.
            (
                Some("a"),
                &[RECORDED, RECORDED],
                Err("no recorded request of a has used a permission"),
            ),
            (
                Some("a"),
                &[RECORDED, "<html>"],
                Err("no recorded request of a has used a permission"),
            ),
            (
                Some("a"),
                &[RECORDED, "{}"],
                Err("no recorded request of a has used a permission"),
            ),
        ] {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let report = AccessReport {
                host: "127.0.0.1".into(),
                port: listener.local_addr().unwrap().port(),
                principal: principal.map(str::to_owned),
                leading_keys: true,
                attributes: false,
            };
            let answering = std::thread::spawn(move || {
                let requests = answers.iter().map(|answer| {
                    let mut stream = listener.accept().unwrap().0;
                    let (mut request, mut byte) = (Vec::new(), [0]);
                    while !request.ends_with(b"\r\n\r\n") {
                        stream.read_exact(&mut byte).unwrap();
                        request.push(byte[0]);
                    }
                    write!(stream, "HTTP/1.1 200 OK\r\n\r\n{answer}").unwrap();
                    String::from_utf8(request).unwrap()
                });
                requests.collect::<Vec<_>>()
            });
            let printed = report.run();
            assert_eq!(
                printed.as_deref().map_err(String::as_str),
                expected,
                "{principal:?}, {answers:?}"
            );
            // The second request is about all principals.
            let asked = [report.path(principal), report.path(None)];
            for (request, path) in answering.join().unwrap().iter().zip(asked) {
                let expected = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
                assert_eq!(*request, expected);
            }
        }
    }

    /// An error of the connection has the address.
    #[test]
    fn a_server_that_is_not_there_is_named() {
        for (answer, expected) in [
            (Some("SSH-2.0-OpenSSH\r\n"), Some("the server does not answer in HTTP")),
            (Some(""), Some("the server does not answer in HTTP")),
            (None, None),
        ] {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            let report = parse("", Some(&port.to_string())).unwrap().unwrap();
            // Without an answer, the port is closed.
            let listener = answer.is_some().then_some(listener);
            let answering = answer.zip(listener).map(|(answer, listener)| {
                std::thread::spawn(move || {
                    let mut stream = listener.accept().unwrap().0;
                    let (mut request, mut byte) = (Vec::new(), [0]);
                    while !request.ends_with(b"\r\n\r\n") {
                        stream.read_exact(&mut byte).unwrap();
                        request.push(byte[0]);
                    }
                    stream.write_all(answer.as_bytes()).unwrap();
                })
            });
            let error = report.run().unwrap_err();
            let begin = format!("127.0.0.1:{port}: {}", expected.unwrap_or_default());
            assert!(error.starts_with(&begin), "{error}");
            assert!(expected.is_none() || error == begin, "{error}");
            if let Some(answering) = answering {
                answering.join().unwrap();
            }
        }
    }
}
