//! Endpoints over HTTP, with signed requests.

use std::env;
use std::net::IpAddr;
use std::thread;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use serde_json::Value as Json;
use ureq::Agent;

use crate::database::{CallError, Database, read_answer};

/// The timeout of an answer.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The largest answer: a page has at most 1 MB of items, which base64 and JSON make longer.
const LARGEST_ANSWER: u64 = 64 << 20;

/// An endpoint of DynamoDB's API: the service, or any other implementation.
///
/// ```
/// use dynatwin_seed::Endpoint;
///
/// let service = Endpoint::new("https://dynamodb.eu-west-1.amazonaws.com", |_variable| None);
/// assert_eq!(service.unwrap_err(), "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set");
/// let local = Endpoint::new("http://localhost:8000", |_variable| None).unwrap();
/// assert!(local.is_loopback());
/// assert_eq!(local.region(), "us-east-1");
/// ```
#[derive(Clone, Debug)]
pub struct Endpoint {
    agent: Agent,
    url: String,
    region: String,
    credentials: Credentials,
    is_loopback: bool,
    server: Server,
}

/// The server behind a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Server {
    /// The service of AWS, which has several host names in a region.
    Aws,
    /// Another one: its host, port and path.
    Other(String, u16, String),
}

impl Endpoint {
    /// The endpoint at a URL. Credentials and region are those of the environment, `AWS_ACCESS_KEY_ID`,
    /// `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION` and `AWS_DEFAULT_REGION`; the region of a URL of AWS is
    /// its own, and a loopback address needs no credentials.
    pub fn new(url: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Endpoint, String> {
        let parsed: http::Uri = url.parse().map_err(|error| format!("{url}: {error}"))?;
        let host = parsed.host().ok_or_else(|| format!("{url} has no host"))?;
        if !matches!(parsed.scheme_str(), Some("http" | "https")) {
            return Err(format!("{url} begins with neither http:// nor https://"));
        }
        let is_loopback = is_loopback(host);
        let server = if region_of(host).is_some() {
            Server::Aws
        } else {
            let is_tls = parsed.scheme_str() == Some("https");
            let port = parsed.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
            let path = parsed.path().trim_end_matches('/');
            Server::Other(server_name(host), port, path.to_owned())
        };
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let region = region_of(host)
            .or_else(|| set("AWS_REGION"))
            .or_else(|| set("AWS_DEFAULT_REGION"));
        let credentials = match (set("AWS_ACCESS_KEY_ID"), set("AWS_SECRET_ACCESS_KEY")) {
            (Some(key), Some(secret)) => Credentials::new(key, secret, set("AWS_SESSION_TOKEN"), None, "environment"),
            _ if is_loopback => Credentials::new("local", "local", None, None, "loopback"),
            _ => return Err("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set".into()),
        };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(TIMEOUT))
            .max_idle_connections_per_host(64)
            .build();
        Ok(Endpoint {
            agent: config.into(),
            url: url.trim_end_matches('/').to_owned() + "/",
            region: region.unwrap_or_else(|| "us-east-1".into()),
            credentials,
            is_loopback,
            server,
        })
    }

    /// The endpoint at a URL, with the environment of the process.
    pub fn from_env(url: &str) -> Result<Endpoint, String> {
        Endpoint::new(url, |name| env::var(name).ok())
    }

    /// Returns this endpoint with another access key and region, for loopback addresses.
    #[must_use]
    pub fn with_caller(&self, access_key: &str, region: &str) -> Endpoint {
        Endpoint {
            region: region.to_owned(),
            credentials: Credentials::new(access_key, "local", None, None, "loopback"),
            ..self.clone()
        }
    }

    /// Whether the endpoint is on this machine.
    pub fn is_loopback(&self) -> bool {
        self.is_loopback
    }

    /// Whether both endpoints have the same tables: one server, access key and region.
    pub(crate) fn has_tables_of(&self, other: &Endpoint) -> bool {
        self.server == other.server
            && self.region == other.region
            && self.credentials.access_key_id() == other.credentials.access_key_id()
    }

    /// The URL with the access key and region that requests are signed with.
    pub(crate) fn describe(&self) -> String {
        let key = self.credentials.access_key_id();
        format!("{} (access key {key}, region {})", self.url, self.region)
    }

    /// The region that requests are signed for.
    pub fn region(&self) -> &str {
        &self.region
    }

    /// The URL that requests are sent to.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Fails if no server of the API answers. Later requests that are not answered are sent again.
    pub(crate) fn expect_answer(&self) -> Result<(), String> {
        let (operation, body) = ("ListTables", r#"{"Limit": 1}"#);
        let (status, bytes) = self
            .exchange(operation, body)
            .map_err(|error| format!("no server answers: {}: {error}", self.url))?;
        match self.read(operation, status, &bytes) {
            Ok(answer) if answer["TableNames"].is_array() => Ok(()),
            Ok(_) => Err(format!("{}: the answer to ListTables has no TableNames", self.url)),
            Err(error) if error.code.is_empty() => Err(error.message),
            // Such as a refused or throttled request.
            Err(_) => Ok(()),
        }
    }

    /// Reads an answer. The message of an error without a code names the endpoint.
    fn read(&self, operation: &str, status: u16, body: &[u8]) -> Result<Json, CallError> {
        read_answer(operation, status, body).map_err(|error| match error.code.as_str() {
            "" => CallError {
                message: format!("{}: {}", self.url, error.message),
                ..error
            },
            _ => error,
        })
    }

    fn signed(&self, operation: &str, body: &str) -> Result<http::Request<String>, String> {
        let target = format!("DynamoDB_20120810.{operation}");
        let headers = [
            ("content-type", "application/x-amz-json-1.0"),
            ("x-amz-target", target.as_str()),
        ];
        let identity = self.credentials.clone().into();
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name("dynamodb")
            .time(SystemTime::now())
            .settings(SigningSettings::default())
            .build()
            .map_err(|error| error.to_string())?
            .into();
        let signable = SignableRequest::new(
            "POST",
            &self.url,
            headers.iter().copied(),
            SignableBody::Bytes(body.as_bytes()),
        )
        .map_err(|error| error.to_string())?;
        let (instructions, _) = sign(signable, &parameters)
            .map_err(|error| error.to_string())?
            .into_parts();
        let mut request = http::Request::builder().method("POST").uri(&self.url);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let mut request = request.body(body.to_owned()).map_err(|error| error.to_string())?;
        instructions.apply_to_request_http1x(&mut request);
        Ok(request)
    }

    fn exchange(&self, operation: &str, body: &str) -> Result<(u16, Vec<u8>), String> {
        let mut answer = self
            .agent
            .run(self.signed(operation, body)?)
            .map_err(|error| error.to_string())?;
        let bytes = answer.body_mut().with_config().limit(LARGEST_ANSWER).read_to_vec();
        Ok((answer.status().as_u16(), bytes.map_err(|error| error.to_string())?))
    }
}

/// Whether the host of a URL is `localhost` or a loopback address. Other names are not: `127.0.0.1.example.com` can resolve to any
/// address.
fn is_loopback(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let address = bare.unwrap_or(host).parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

/// A host's name for comparisons: the names and addresses that a server of this machine usually has are one.
fn server_name(host: &str) -> String {
    let host = host.to_ascii_lowercase();
    if ["localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"].contains(&host.as_str()) {
        return "localhost".into();
    }
    host
}

/// The domains of AWS's partitions, each followed by that of its dual-stack endpoints.
const DOMAINS: &[&str] = &[
    ".amazonaws.com",
    ".api.aws",
    ".amazonaws.com.cn",
    ".api.amazonwebservices.com.cn",
    ".amazonaws.eu",
    ".api.amazonwebservices.eu",
    ".c2s.ic.gov",
    ".api.aws.ic.gov",
    ".sc2s.sgov.gov",
    ".api.aws.scloud",
    ".cloud.adc-e.uk",
    ".api.cloud-aws.adc-e.uk",
    ".csp.hci.ic.gov",
    ".api.aws.hci.ic.gov",
];

/// The region in a host name of AWS: `dynamodb.eu-west-1.amazonaws.com`, or that of a dual-stack, account-based or interface endpoint.
fn region_of(host: &str) -> Option<String> {
    let host = host.to_ascii_lowercase();
    let host = DOMAINS.iter().find_map(|domain| host.strip_suffix(domain))?;
    let region = host.strip_suffix(".vpce").unwrap_or(host).rsplit('.').next()?;
    (region.split('-').count() >= 3).then(|| region.to_owned())
}

impl Database for Endpoint {
    fn call(&self, operation: &str, body: &Json) -> Result<Json, CallError> {
        let answered = self.exchange(operation, &body.to_string());
        let (status, bytes) = answered.map_err(|message| CallError {
            code: String::new(),
            message: format!("{}: {message}", self.url),
        })?;
        self.read(operation, status, &bytes)
    }

    fn pause(&self, time: Duration) {
        thread::sleep(time);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use serde_json::json;

    use super::*;

    /// A server that gives this answer to a number of requests, whose bodies are objects without others in them, and its URL.
    fn answering(status: &'static str, body: String, count: usize) -> (String, thread::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answering = thread::spawn(move || {
            for _ in 0..count {
                let mut stream = listener.accept().unwrap().0;
                let (mut request, mut byte) = (Vec::new(), [0]);
                while !request.ends_with(b"}") {
                    stream.read_exact(&mut byte).unwrap();
                    request.push(byte[0]);
                }
                let head = format!(
                    "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}",
                    body.len()
                );
                stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
            }
        });
        (url, answering)
    }

    /// An answer of status 200 that no implementation of the API sends is an error: of a web application, or of a proxy.
    #[test]
    fn answers_of_other_servers() {
        let foreign = |url: &str| Err(format!("{url}: the answer is not a JSON object"));
        let no_tables = |url: &str| Err(format!("{url}: the answer to ListTables has no TableNames"));
        type Expected<'e> = &'e dyn Fn(&str) -> Result<(), String>;
        let cases: [(&str, &str, Expected<'_>, bool); 8] = [
            ("200 OK", r#"{"TableNames": []}"#, &|_| Ok(()), true),
            (
                "400 Bad Request",
                r#"{"__type": "a#AccessDeniedException"}"#,
                &|_| Ok(()),
                false,
            ),
            ("200 OK", "<html>hello</html>", &foreign, false),
            ("200 OK", "", &foreign, false),
            ("200 OK", "[]", &foreign, false),
            ("200 OK", r#"{"TableNames": ["#, &foreign, false),
            ("200 OK", r#"{"status": "ok"}"#, &no_tables, true),
            (
                "404 Not Found",
                "<html>",
                &|url| Err(format!("{url}: the answer has status 404")),
                false,
            ),
        ];
        for (status, body, expected, is_object) in cases {
            let (url, answering) = answering(status, body.to_owned(), 2);
            let endpoint = Endpoint::new(&url, |_| None).unwrap();
            assert_eq!(endpoint.expect_answer(), expected(endpoint.url()), "{status} {body}");
            let called = endpoint.call("PutItem", &json!({"TableName": "Tab", "Item": {}}));
            assert_eq!(called.is_ok(), is_object, "{status} {body}: {called:?}");
            answering.join().unwrap();
        }
    }

    /// The JSON of a page is longer than its items, up to nine times for those of many flags.
    #[test]
    fn answers_may_be_long() {
        for length in [1 << 10, 3 << 20, 9 << 20] {
            let body = format!(r#"{{"Items": ["{}"], "Count": 1}}"#, "x".repeat(length));
            let (url, answering) = answering("200 OK", body, 1);
            let endpoint = Endpoint::new(&url, |_| None).unwrap();
            let page = endpoint.call("Scan", &json!({"TableName": "Tab"}));
            let page = page.unwrap_or_else(|error| panic!("{length}: {error}"));
            assert_eq!(page["Items"][0].as_str().map(str::len), Some(length));
            assert_eq!(page["Count"], 1, "{length}");
            answering.join().unwrap();
        }
    }

    /// The service answers these requests with an empty body.
    #[test]
    fn empty_answers() {
        for (operation, body, is_success) in [
            ("TagResource", "", true),
            ("UntagResource", "", true),
            ("TagResource", "<html>", false),
            ("PutItem", "", false),
        ] {
            let answer = read_answer(operation, 200, body.as_bytes());
            assert_eq!(answer.is_ok(), is_success, "{operation} {body}");
        }
    }

    #[test]
    fn requests_have_the_session_token_of_the_environment() {
        // An empty variable is like none.
        for (token, expected) in [(None, None), (Some(""), None), (Some("the token"), Some("the token"))] {
            let variable = |name: &str| match name {
                "AWS_SESSION_TOKEN" => token.map(str::to_owned),
                name => Some(name.to_owned()),
            };
            let endpoint = Endpoint::new("https://dynamodb.eu-west-1.amazonaws.com", variable).unwrap();
            let request = endpoint.signed("ListTables", "{}").unwrap();
            let sent = request.headers().get("x-amz-security-token");
            assert_eq!(sent.map(|value| value.to_str().unwrap()), expected, "{token:?}");
            let authorization = request.headers()["authorization"].to_str().unwrap();
            assert!(authorization.contains("=AWS_ACCESS_KEY_ID/"), "{authorization}");
            assert!(
                authorization.contains("/eu-west-1/dynamodb/aws4_request"),
                "{authorization}"
            );
            let is_signed = authorization.contains("x-amz-security-token");
            assert_eq!(is_signed, expected.is_some(), "{authorization}");
            // The session token belongs only to the access key of the environment.
            let request = endpoint
                .with_caller("me", "eu-north-1")
                .signed("ListTables", "{}")
                .unwrap();
            assert_eq!(request.headers().get("x-amz-security-token"), None, "{token:?}");
            let authorization = request.headers()["authorization"].to_str().unwrap();
            assert!(authorization.contains("=me/"), "{authorization}");
            assert!(authorization.contains("/eu-north-1/dynamodb/"), "{authorization}");
            assert!(!authorization.contains("x-amz-security-token"), "{authorization}");
        }
    }

    #[test]
    fn regions_of_the_environment() {
        let (own, default) = ("AWS_REGION", "AWS_DEFAULT_REGION");
        for (url, set, region) in [
            ("http://localhost:8000", &[][..], "us-east-1"),
            ("http://localhost:8000", &[(own, "xx-own-1")], "xx-own-1"),
            ("http://localhost:8000", &[(default, "xx-default-1")], "xx-default-1"),
            (
                "http://localhost:8000",
                &[(own, "xx-own-1"), (default, "xx-default-1")],
                "xx-own-1",
            ),
            // An empty variable is like none.
            (
                "http://localhost:8000",
                &[(own, ""), (default, "xx-default-1")],
                "xx-default-1",
            ),
            ("http://localhost:8000", &[(own, "xx-own-1"), (default, "")], "xx-own-1"),
            ("http://localhost:8000", &[(own, ""), (default, "")], "us-east-1"),
            (
                "https://dynamodb.eu-west-1.amazonaws.com",
                &[(own, "xx-own-1")],
                "eu-west-1",
            ),
        ] {
            let variable = |name: &str| {
                let credential = matches!(name, "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY");
                let set = set.iter().find(|(variable, _)| *variable == name);
                set.map(|(_, value)| *value)
                    .or(credential.then_some("key"))
                    .map(str::to_owned)
            };
            let endpoint = Endpoint::new(url, variable).unwrap();
            assert_eq!(endpoint.region(), region, "{url} {set:?}");
            let empty = Endpoint::new("http://localhost:8000", |_| Some(String::new())).unwrap();
            assert_eq!(empty.region(), "us-east-1");
        }
    }

    #[test]
    fn loopback_addresses_need_no_credentials() {
        for (url, is_loopback) in [
            ("http://localhost:8000", true),
            ("http://127.0.0.1:8000", true),
            ("http://127.1.2.3", true),
            ("http://[::1]:8000", true),
            ("http://[::1]", true),
            ("http://[::ffff:127.0.0.1]:8000", true),
            ("http://LocalHost:8000", true),
            ("HTTP://localhost:8000", true),
            ("http://me@127.0.0.1:8000", true),
            ("http://localhost.example", false),
            ("http://127.0.0.1.example.com", false),
            ("http://127.example.com:8000", false),
            ("http://127.0.0.1@example.com", false),
            ("http://[::2]:8000", false),
            ("http://[::ffff:192.0.2.1]:8000", false),
            ("http://192.0.2.1:8000", false),
        ] {
            let endpoint = Endpoint::new(url, |_| None);
            assert_eq!(
                endpoint.is_ok_and(|endpoint| endpoint.is_loopback()),
                is_loopback,
                "{url}"
            );
        }
    }

    /// Endpoints have the same tables if server, access key and region are the same, however the server is named.
    #[test]
    fn endpoints_with_the_same_tables() {
        let variable = |name: &str| Some(name.to_owned());
        for (one, other, are_same) in [
            ("http://localhost:8000", "http://localhost:8000/", true),
            ("http://localhost:8000", "HTTP://LocalHost:8000", true),
            ("http://localhost:8000", "http://127.0.0.1:8000", true),
            ("http://127.0.0.1:8000", "http://[::1]:8000", true),
            ("http://localhost", "http://localhost:80", true),
            ("https://localhost", "https://localhost:443", true),
            ("http://localhost:8000", "http://localhost:8001", false),
            ("http://127.0.0.1:8000", "http://127.0.0.2:8000", false),
            ("http://localhost:8000/a", "http://localhost:8000/b", false),
            ("http://scylla.example:8000", "http://Scylla.example:8000", true),
            ("http://scylla.example:8000", "http://localhost:8000", false),
            (
                "https://dynamodb.eu-west-1.amazonaws.com",
                "https://dynamodb.eu-west-1.api.aws",
                true,
            ),
            (
                "https://dynamodb.eu-west-1.amazonaws.com",
                "https://dynamodb.eu-west-2.amazonaws.com",
                false,
            ),
        ] {
            let [from, to] = [one, other].map(|url| Endpoint::new(url, variable).unwrap());
            assert_eq!(from.has_tables_of(&to), are_same, "{one} {other}");
            assert_eq!(to.has_tables_of(&from), are_same, "{other} {one}");
            for (key, region) in [("AWS_ACCESS_KEY_ID", "xx-test-1"), ("key", to.region())] {
                assert!(!from.has_tables_of(&to.with_caller(key, region)), "{key} {region}");
            }
        }
    }

    #[test]
    fn regions_of_hosts() {
        for (host, region) in [
            ("dynamodb.eu-west-1.amazonaws.com", Some("eu-west-1")),
            ("dynamodb.cn-north-1.amazonaws.com.cn", Some("cn-north-1")),
            ("123456789012.ddb.us-east-2.amazonaws.com", Some("us-east-2")),
            (
                "vpce-0a1b-2c3d.dynamodb.eu-west-1.vpce.amazonaws.com",
                Some("eu-west-1"),
            ),
            (
                "vpce-0a1b-2c3d-us-east-1a.dynamodb.us-east-1.vpce.amazonaws.com",
                Some("us-east-1"),
            ),
            ("dynamodb.us-west-2.api.aws", Some("us-west-2")),
            ("DynamoDB.EU-West-1.AmazonAWS.com", Some("eu-west-1")),
            ("localhost", None),
            ("scylla.example", None),
        ] {
            assert_eq!(region_of(host).as_deref(), region, "{host}");
        }
    }

    /// The region of a URL of AWS is its own, in every partition and with every form of the host, and wins over the
    /// environment's.
    #[test]
    fn regions_of_every_partition() {
        let regions = [
            ("us-east-1", "amazonaws.com", "api.aws"),
            ("ap-southeast-4", "amazonaws.com", "api.aws"),
            ("mx-central-1", "amazonaws.com", "api.aws"),
            ("us-gov-west-1", "amazonaws.com", "api.aws"),
            ("us-gov-east-1", "amazonaws.com", "api.aws"),
            ("cn-north-1", "amazonaws.com.cn", "api.amazonwebservices.com.cn"),
            ("cn-northwest-1", "amazonaws.com.cn", "api.amazonwebservices.com.cn"),
            ("eusc-de-east-1", "amazonaws.eu", "api.amazonwebservices.eu"),
            ("us-iso-east-1", "c2s.ic.gov", "api.aws.ic.gov"),
            ("us-iso-west-1", "c2s.ic.gov", "api.aws.ic.gov"),
            ("us-isob-east-1", "sc2s.sgov.gov", "api.aws.scloud"),
            ("eu-isoe-west-1", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"),
            ("us-isof-south-1", "csp.hci.ic.gov", "api.aws.hci.ic.gov"),
        ];
        for (region, suffix, dual_stack) in regions {
            for host in [
                format!("dynamodb.{region}.{suffix}"),
                format!("dynamodb-fips.{region}.{suffix}"),
                format!("streams.dynamodb.{region}.{suffix}"),
                format!("123456789012.ddb.{region}.{suffix}"),
                format!("vpce-0a1b-2c3d.dynamodb.{region}.vpce.{suffix}"),
                format!("dynamodb.{region}.{dual_stack}"),
                format!("123456789012.ddb.{region}.{dual_stack}"),
            ] {
                for url in [
                    format!("https://{host}"),
                    format!("https://{host}/"),
                    format!("https://{host}:443/"),
                ] {
                    let endpoint = Endpoint::new(&url, |name| Some(name.to_owned())).unwrap();
                    assert_eq!(endpoint.region(), region, "{url}");
                    assert!(!endpoint.is_loopback(), "{url}");
                    let request = endpoint.signed("ListTables", "{}").unwrap();
                    let authorization = request.headers()["authorization"].to_str().unwrap();
                    let scope = format!("/{region}/dynamodb/aws4_request");
                    assert!(authorization.contains(&scope), "{url}: {authorization}");
                }
            }
        }
        for url in [
            "https://amazonaws.com",
            "https://dynamodb.amazonaws.com",
            "https://dynamodb.us-east.amazonaws.com",
            "https://dynamodb.eu-west-1.amazonaws.com.example",
            "https://dynamodb.eu-west-1.example.com",
            "https://dynamodb.us-iso-east-1.ic.gov",
            "https://dynamodb.eusc-de-east-1.xamazonaws.eu",
            "http://localhost:8000/dynamodb.eu-west-1.amazonaws.com",
        ] {
            let endpoint = Endpoint::new(url, |name| Some(name.to_owned())).unwrap();
            assert_eq!(endpoint.region(), "AWS_REGION", "{url}");
        }
    }

    /// Each credential is required beyond this machine; an empty one is none.
    #[test]
    fn credentials_of_the_environment() {
        let names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
        for (set, is_complete) in [
            (&names[..], true),
            (&names[..1], false),
            (&names[1..], false),
            (&[], false),
        ] {
            for missing in [None, Some(String::new())] {
                let variable = |name: &str| {
                    if set.contains(&name) {
                        Some(name.to_owned())
                    } else {
                        missing.clone()
                    }
                };
                let key = |url| {
                    let endpoint = Endpoint::new(url, variable);
                    endpoint.map(|endpoint| endpoint.credentials.access_key_id().to_owned())
                };
                let remote = key("https://dynamodb.eu-west-1.amazonaws.com").ok();
                assert_eq!(remote.as_deref(), is_complete.then_some("AWS_ACCESS_KEY_ID"), "{set:?}");
                let local = key("http://[::1]:8000").unwrap();
                assert_eq!(
                    local,
                    if is_complete { "AWS_ACCESS_KEY_ID" } else { "local" },
                    "{set:?}"
                );
            }
        }
        for (url, error) in [
            (
                "ftp://localhost",
                "ftp://localhost begins with neither http:// nor https://",
            ),
            (
                "localhost:8000",
                "localhost:8000 begins with neither http:// nor https://",
            ),
            ("/path", "/path has no host"),
        ] {
            assert_eq!(Endpoint::new(url, |_| None).unwrap_err(), error);
        }
        for (url, sent) in [
            ("http://localhost:8000", "http://localhost:8000/"),
            ("http://localhost:8000/", "http://localhost:8000/"),
            ("http://localhost:8000/path/", "http://localhost:8000/path/"),
        ] {
            assert_eq!(Endpoint::new(url, |_| None).unwrap().url(), sent);
        }
        let other = Endpoint::new("http://localhost", |_| None)
            .unwrap()
            .with_caller("key", "eu-west-1");
        assert_eq!(
            (other.region(), other.credentials.access_key_id()),
            ("eu-west-1", "key")
        );
    }
}
