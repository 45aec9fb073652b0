//! Requests from web pages: which origins can read answers, and which host names they can use for the server.

use std::net::TcpStream;
use std::sync::Arc;

use crate::support::process::{self, Process};
use crate::support::*;
use dynatwin_engine::Engine;
use dynatwin_engine::http::HealthCheck;
use dynatwin_server::{ListenError, Log, Options, Origins, PLAYGROUND_PORT, Server, serve};

const LIST_TABLES: &str = "content-type: application/x-amz-json-1.0\r\nx-amz-target: DynamoDB_20120810.ListTables\r\n\
    x-amz-date: 20260101T000000Z\r\nauthorization: AWS4-HMAC-SHA256 \
    Credential=me/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0\r\n";

fn served(health: HealthCheck, change: impl FnOnce(&mut Options)) -> Server {
    let mut options = Options::port(0);
    options.log = Log::Off;
    options.workers = 1;
    change(&mut options);
    serve(
        Arc::new(Engine::new(settings(1, false)).with_health_check(health)),
        options,
    )
    .unwrap()
}

fn send(server: &Server, line: &str, headers: &str, body: &str) -> Response {
    let length = body.len();
    let request = format!("{line} HTTP/1.1\r\n{headers}content-length: {length}\r\n\r\n{body}");
    ask(&mut connect(server), request.as_bytes())
}

fn origins_allowed(server: &Server, origin: &str) -> Vec<Option<String>> {
    let own = format!("host: localhost\r\norigin: {origin}\r\n");
    let allowed = |response: Response| response.header("access-control-allow-origin").map(str::to_owned);
    let asks = "access-control-request-method: POST\r\naccess-control-request-headers: x-amz-target\r\n";
    let preflight = send(server, "OPTIONS /", &format!("{own}{asks}"), "");
    assert_eq!(preflight.status(), 200);
    let is_allowed = preflight.header("access-control-allow-origin").is_some();
    for (name, value) in [
        ("access-control-allow-methods", "post"),
        ("access-control-allow-headers", "x-amz-target"),
        ("access-control-max-age", "172800"),
        (
            "access-control-expose-headers",
            "x-amzn-requestid,x-amzn-errortype,x-amzn-errormessage,x-amz-crc32,date",
        ),
    ] {
        assert_eq!(preflight.header(name), is_allowed.then_some(value), "{origin}: {name}");
    }
    // Only a preflight is told what else it may send.
    let listed = send(server, "POST /", &format!("{own}{asks}{LIST_TABLES}"), "{}");
    for name in [
        "access-control-allow-methods",
        "access-control-allow-headers",
        "access-control-max-age",
    ] {
        assert_eq!(listed.header(name), None, "{origin}: {name}");
    }
    // Carried out aside, because they may take long.
    let aside = ["DeleteTable", "UpdateTable", "UpdateTimeToLive"].map(|operation| {
        let head = LIST_TABLES.replace("ListTables", operation);
        let missing = send(server, "POST /", &format!("{own}{head}"), r#"{"TableName": "missing"}"#);
        assert_eq!(missing.status(), 400, "{operation}");
        allowed(missing)
    });
    let mut found = vec![
        allowed(preflight),
        allowed(listed),
        allowed(send(server, "GET /", &own, "")),
        // What the server refuses by itself.
        allowed(send(
            server,
            "GET /",
            &format!("{own}x-long: {}\r\n", "x".repeat(17_000)),
            "",
        )),
    ];
    found.extend(aside);
    found
}

#[test]
fn answers_are_for_pages_of_listed_origins_alone() {
    let none = served(HealthCheck::Healthy, |_| ());
    let listed = served(HealthCheck::Healthy, |options| {
        let origins = "http://a.example:3000,https://b.example,null,capacitor://localhost,chrome-extension://abc";
        options.origins = Origins::parse(origins).unwrap();
    });
    let any = served(HealthCheck::Healthy, |options| {
        options.origins = Origins::parse("*").unwrap();
    });
    let playground = format!("http://localhost:{PLAYGROUND_PORT}");
    let expected = |value: Option<&str>| vec![value.map(str::to_owned); 7];
    for (server, origin, expect) in [
        (&none, "http://localhost:3000", None),
        (&none, "http://a.example:3000", None),
        (&none, "null", None),
        (&none, playground.as_str(), Some(playground.as_str())),
        (&listed, "http://a.example:3000", Some("http://a.example:3000")),
        (&listed, "https://b.example", Some("https://b.example")),
        (&listed, "null", Some("null")),
        (&listed, "capacitor://localhost", Some("capacitor://localhost")),
        (&listed, "chrome-extension://abc", Some("chrome-extension://abc")),
        (&listed, "http://b.example", None),
        (&listed, "http://localhost:3000", None),
        (&listed, "ionic://localhost", None),
        (&listed, "moz-extension://abc", None),
        (&any, "http://evil.example", Some("*")),
        (&any, "null", Some("*")),
    ] {
        assert_eq!(origins_allowed(server, origin), expected(expect), "{origin}");
    }
}

/// A cache must not give an answer for one origin to another.
#[test]
fn an_answer_that_names_its_origin_varies_with_it() {
    for (origins, origin, expect) in [
        ("http://a.example", "http://a.example", Some("origin")),
        ("http://a.example", "http://b.example", None),
        ("*", "http://a.example", None),
    ] {
        let server = served(HealthCheck::Healthy, |options| {
            options.origins = Origins::parse(origins).unwrap();
        });
        for line in ["GET /", "OPTIONS /"] {
            let headers = format!("host: localhost\r\norigin: {origin}\r\naccess-control-request-method: POST\r\n");
            let response = send(&server, line, &headers, "");
            assert_eq!(response.header("vary"), expect, "{origins}: {line} of {origin}");
        }
    }
}

/// A page can read why its request was refused, also if the server refused it before the backend had it.
#[test]
fn refusals_are_for_pages_of_listed_origins() {
    let server = served(HealthCheck::Healthy, |options| {
        options.origins = Origins::parse("*").unwrap();
        options.limits.body = 10;
    });
    let headers = "host: localhost\r\norigin: http://a.example\r\n";
    for (body, status) in [("0123456789", 404), ("0123456789a", 413)] {
        let refused = send(&server, "POST /", headers, body);
        assert_eq!(refused.status(), status);
        let origin = refused.header("access-control-allow-origin");
        assert_eq!(origin, Some("*"), "{status}");
    }
}

#[test]
fn pages_of_other_origins_have_no_control() {
    let any = served(HealthCheck::Healthy, |options| {
        options.origins = Origins::parse("*").unwrap();
    });
    let page = "host: localhost\r\norigin: http://evil.example\r\ncontent-type: application/json\r\n";
    for line in ["POST /_dynatwin/reset", "GET /_dynatwin/", "OPTIONS /_dynatwin/reset"] {
        let response = send(&any, line, page, "");
        assert_ne!(response.status(), 200, "{line}");
        assert_eq!(response.header("access-control-allow-origin"), None, "{line}");
    }
}

/// The requests of a page at a name that resolves to this machine, which are same-origin for the browser.
#[test]
fn pages_reach_the_server_only_under_its_own_names() {
    let server = served(HealthCheck::Healthy, |options| {
        options.allowed_hosts = vec!["twin".into()];
    });
    let rebound = |host: &str| {
        [
            format!("host: {host}\r\norigin: http://{host}\r\n"),
            format!("host: {host}\r\nsec-fetch-site: same-origin\r\n"),
            format!("host: {host}\r\nSec-Fetch-Mode: cors\r\n"),
        ]
    };
    let port = server.port();
    for (host, allowed) in [
        (format!("localhost:{port}"), true),
        (format!("127.0.0.1:{port}"), true),
        (format!("[::1]:{port}"), true),
        ("twin:8000".to_owned(), true),
        ("evil.example".to_owned(), false),
        (format!("evil.example:{port}"), false),
        ("192.0.2.1".to_owned(), false),
    ] {
        for page in rebound(&host) {
            let status = |line: &str, more: &str| send(&server, line, &format!("{page}{more}"), "{}").status();
            let expect = if allowed { 200 } else { 403 };
            assert_eq!(status("POST /", LIST_TABLES), expect, "{page}");
            assert_eq!(
                status("PUT /_dynatwin/conditions", "content-type: text/plain\r\n"),
                if allowed { 415 } else { 403 }
            );
            let reset = format!("{page}content-type: application/json\r\n");
            assert_eq!(
                send(&server, "POST /_dynatwin/reset", &reset, "").status(),
                expect,
                "{page}"
            );
        }
    }
    // Clients other than browsers can use any name for the server.
    assert_eq!(
        send(&server, "POST /", &format!("host: evil.example\r\n{LIST_TABLES}"), "{}").status(),
        200
    );
    assert_eq!(send(&server, "GET /_dynatwin/", "host: dynatwin\r\n", "").status(), 200);
    // A same-origin GET over plain HTTP is only recognized by headers of the browser.
    for browser in ["user-agent: Mozilla/5.0", "user-agent: curl\r\naccept-language: en"] {
        let headers = format!("host: evil.example\r\n{browser}\r\n");
        assert_eq!(
            send(&server, "GET /_dynatwin/tables", &headers, "").status(),
            403,
            "{browser}"
        );
    }
    // In the form of the errors of what is requested.
    for (line, begin) in [
        (
            "POST /",
            r#"{"__type":"com.amazon.coral.service#AccessDeniedException","message":"Requests of web pages need a Host "#,
        ),
        (
            "POST /_dynatwin/reset",
            r#"{"error":"Requests of web pages need a Host "#,
        ),
        ("GET /_dynatwin/ui/", r#"{"error":"Requests of web pages need a Host "#),
    ] {
        let page = "host: evil.example\r\norigin: http://evil.example\r\n";
        let refused = send(&server, line, page, "{}");
        assert_eq!(refused.header("content-type"), Some("application/x-amz-json-1.0"));
        assert!(refused.is_last(), "{line}");
        let body = String::from_utf8(refused.body).unwrap();
        assert!(
            body.starts_with(begin) && body.contains("--allowed-host"),
            "{line}: {body}"
        );
        let json: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert!(json.is_object(), "{line}: {body}");
    }
}

/// Each address that is listened on is a name of the server; the unspecified address stands for any.
#[test]
fn pages_reach_the_server_under_each_of_its_addresses() {
    for (hosts, is_any) in [
        (&["127.0.0.1"][..], false),
        (&["127.0.0.1", "::1"], false),
        (&["::1", "0.0.0.0"], true),
        (&["127.0.0.1", "::"], true),
    ] {
        let mut options = Options::port(0);
        options.hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        options.log = Log::Off;
        options.workers = 1;
        let server = match serve(Arc::new(Engine::new(settings(1, false))), options) {
            Ok(server) => server,
            // The machine has no IPv6.
            Err(ListenError::Unbound(address, _)) if address.is_ipv6() => continue,
            Err(error) => panic!("{hosts:?}: {error}"),
        };
        assert_eq!(server.addresses().len(), hosts.len(), "{hosts:?}");
        let port = server.port();
        for (host, allowed) in [
            (format!("127.0.0.1:{port}"), true),
            (format!("[::1]:{port}"), true),
            (format!("192.0.2.1:{port}"), is_any),
            (format!("[2001:db8::1]:{port}"), is_any),
            (format!("evil.example:{port}"), false),
        ] {
            let page = format!("host: {host}\r\norigin: http://{host}\r\n{LIST_TABLES}");
            let expected = if allowed { 200 } else { 403 };
            let found = send(&server, "POST /", &page, "{}").status();
            assert_eq!(found, expected, "{host} at {hosts:?}");
        }
    }
}

/// The flags of the binary name the origins that may read answers, and more names of the server.
#[test]
fn flags_allow_origins_and_hosts() {
    let process =
        Process::start("--cors http://a.example:3000,https://B.example --allowed-host twin --allowed-host Proxy,other");
    for (host, origin, expect) in [
        (
            "localhost",
            "http://a.example:3000",
            (200, Some("http://a.example:3000")),
        ),
        ("localhost", "https://b.example", (200, Some("https://b.example"))),
        ("localhost", "http://c.example", (200, None)),
        ("twin:8000", "http://twin:8000", (200, None)),
        ("proxy:8000", "http://proxy:8000", (200, None)),
        ("other", "https://b.example", (200, Some("https://b.example"))),
        ("evil.example", "http://evil.example", (403, None)),
    ] {
        let request = format!(
            "POST / HTTP/1.1\r\nhost: {host}\r\norigin: {origin}\r\n{LIST_TABLES}content-length: 2\r\n\r\n{{}}"
        );
        let response = ask(&mut process::connect(process.port), request.as_bytes());
        let found = (response.status(), response.header("access-control-allow-origin"));
        assert_eq!(found, expect, "{host}, {origin}");
    }
}

/// The console, or the page that shows how to build it, has headers that keep other pages from using it.
#[test]
fn the_console_is_served_with_its_headers() {
    let server = served(HealthCheck::Healthy, |_| ());
    for (line, statuses, content_type) in [
        ("GET /_dynatwin/ui/", &[200, 404][..], "text/html; charset=utf-8"),
        ("GET /_dynatwin/ui/?a=b", &[200, 404], "text/html; charset=utf-8"),
        ("POST /_dynatwin/ui/", &[405], "text/plain; charset=utf-8"),
        ("PUT /_dynatwin/ui", &[405], "text/plain; charset=utf-8"),
    ] {
        let page = send(&server, line, "host: localhost\r\nuser-agent: Mozilla/5.0\r\n", "");
        assert!(statuses.contains(&page.status()), "{line}: {}", page.status());
        assert_eq!(page.header("content-type"), Some(content_type), "{line}");
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"), "{line}");
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"), "{line}");
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; "), "{line}: {policy}");
        assert!(!page.body.is_empty() && !page.is_last(), "{line}");
        let foreign = send(&server, line, "host: evil.example\r\nuser-agent: Mozilla/5.0\r\n", "");
        assert_eq!(foreign.status(), 403, "{line}");
    }
    assert_eq!(
        send(&server, "GET /_dynatwin/uix", "host: localhost\r\n", "").status(),
        404
    );
}

/// Refusals that the server sends on its own have the headers that the service's have.
#[test]
fn refusals_of_the_server_have_the_headers_of_the_service() {
    let server = served(HealthCheck::Healthy, |options| {
        options.limits.body = 10;
        options.limits.bodies = 100;
    });
    let long = "x".repeat(17_000);
    for (line, headers, body, expected) in [
        (
            "POST /",
            format!("host: x\r\nx-long: {long}\r\n"),
            "",
            (400, None, Some("0")),
        ),
        (
            "POST /",
            "host: x\r\nhost: y\r\n".to_owned(),
            "",
            (400, None, Some("0")),
        ),
        (
            "POST /",
            "host: x\r\n".to_owned(),
            "0123456789a",
            (413, None, Some("0")),
        ),
        (
            "POST /",
            "host: x\r\norigin: http://x\r\n".to_owned(),
            "",
            (403, Some("application/x-amz-json-1.0"), None),
        ),
        (
            "POST /_dynatwin/reset",
            "host: x\r\norigin: http://x\r\n".to_owned(),
            "",
            (403, Some("application/x-amz-json-1.0"), None),
        ),
    ] {
        let refused = send(&server, line, &headers, body);
        let found = (
            refused.status(),
            refused.header("content-type"),
            refused.header("x-amz-crc32"),
        );
        assert_eq!(found, expected, "{line}");
        assert_eq!(refused.header("server"), Some("server"));
        assert_eq!(refused.body.is_empty(), expected.1.is_none(), "{line}");
        assert!(refused.is_last(), "{line}");
    }
}

fn health(server: &Server, method: &str) -> (u16, String, String) {
    use std::io::{Read, Write};
    let mut stream = TcpStream::connect(server.local_addr()).unwrap();
    let request = format!("{method} / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    let (head, body) = all.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    (status, length.unwrap().to_owned(), body.to_owned())
}

#[test]
fn head_is_answered_as_get_without_its_body() {
    for (check, expect) in [(HealthCheck::Healthy, 200), (HealthCheck::Refused, 400)] {
        let server = served(check, |_| ());
        let (get, length, body) = health(&server, "GET");
        assert_eq!((get, length.parse().ok()), (expect, Some(body.len())));
        assert_eq!(health(&server, "HEAD"), (expect, length, String::new()));
    }
}

#[test]
fn the_playground_has_the_port_that_is_allowed() {
    let config = include_str!("../../../../web/vite.config.js");
    assert_eq!(config.matches(&format!("port: {PLAYGROUND_PORT}")).count(), 2);
}
