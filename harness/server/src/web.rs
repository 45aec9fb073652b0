//! Requests from web pages: which origins may read answers (CORS), and which host names they may use for the server.
//!
//! An attacker's page can make its own host name resolve to this machine (DNS rebinding). Its requests are then
//! same-origin for the browser, and only the name in `Host` reveals them.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use dynatwin_engine::http::{AnswerHeaders, CONTROL_PATH};
use hyper::header::{
    ACCEPT_LANGUAGE, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, HOST, HeaderMap, HeaderName,
    ORIGIN, USER_AGENT,
};
use hyper::{Method, Request};

/// The port of the playground's development server (`web/vite.config.js`).
pub const PLAYGROUND_PORT: u16 = 5190;
/// The response headers that a page may read. AWS's own list is not recorded; SDKs in browsers need these.
const EXPOSED: &str = "x-amzn-requestid,x-amzn-errortype,x-amzn-errormessage,x-amz-crc32,date";
/// The seconds for which a browser may cache a preflight, as AWS answers.
const PREFLIGHT_AGE: &str = "172800";

/// The origins whose pages may read answers.
///
/// ```
/// use dynatwin_server::Origins;
///
/// let origins = Origins::parse("http://localhost:3000, app.example").unwrap();
/// assert!(origins.allow("http://localhost:3000") && origins.allow("https://app.example"));
/// assert!(!origins.allow("http://localhost:3001"));
/// assert!(Origins::parse("*").unwrap().allow("https://anything.example"));
/// assert!(!Origins::default().allow("http://localhost:3000"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    any: bool,
    listed: Vec<String>,
}

impl Origins {
    /// Parses a list in the format of DynamoDB Local's `-cors`: `*`, or origins separated by commas. An entry without a
    /// scheme means both `http` and `https`. Returns `None` if an entry can be no page's origin.
    pub fn parse(list: &str) -> Option<Origins> {
        let listed: Option<Vec<String>> = list.split(',').map(origin).collect();
        let listed = listed?;
        let any = listed.iter().any(|entry| entry == "*");
        Some(Origins { any, listed })
    }

    /// Returns whether pages of this origin may read answers.
    pub fn allow(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let host = ["http://", "https://"]
            .iter()
            .find_map(|scheme| origin.strip_prefix(scheme));
        self.any
            || host.and_then(port_of_loopback) == Some(PLAYGROUND_PORT)
            || self
                .listed
                .iter()
                .any(|entry| *entry == origin || Some(entry.as_str()) == host)
    }
}

/// Returns an entry of a list in the form that browsers send: in lower case, without the port of its scheme.
fn origin(entry: &str) -> Option<String> {
    let entry = entry.trim().trim_end_matches('/').to_ascii_lowercase();
    if entry == "*" {
        return Some(entry);
    }
    let (scheme, host) = entry.split_once("://").unwrap_or(("", &entry));
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    let is_delimiter = |char: char| char.is_whitespace() || "/?#@*\\".contains(char);
    let is_address = name.starts_with('[') && name.ends_with(']');
    let is_host = !name.is_empty() && !host.contains(is_delimiter) && (is_address || !name.contains(':'));
    if !is_host || port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return None;
    }
    let entry = match (scheme, port) {
        ("http", Some("80")) | ("https", Some("443")) => format!("{scheme}://{name}"),
        _ => entry,
    };
    Some(entry)
}

/// Returns the port in `localhost:5190` if the host is a loopback name.
fn port_of_loopback(host: &str) -> Option<u16> {
    let (name, port) = host.rsplit_once(':')?;
    ["localhost", "127.0.0.1", "[::1]"]
        .contains(&name)
        .then(|| port.parse().ok())
        .flatten()
}

/// The rules for requests from web pages.
#[derive(Debug)]
pub(crate) struct WebAccess {
    origins: Origins,
    allowed_hosts: Vec<String>,
    addresses: Vec<IpAddr>,
}

impl WebAccess {
    /// The server's own names are loopback names, the addresses listened on, and `allowed_hosts`.
    pub(crate) fn new(origins: Origins, allowed_hosts: Vec<String>, addresses: &[SocketAddr]) -> WebAccess {
        WebAccess {
            origins,
            allowed_hosts: allowed_hosts.iter().map(|host| host_name(host)).collect(),
            addresses: addresses.iter().map(SocketAddr::ip).collect(),
        }
    }

    /// Returns whether a page's request uses one of the server's own names.
    pub(crate) fn is_own_name(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        host.is_some_and(|host| self.allows_host(&host.to_ascii_lowercase()))
    }

    fn allows_host(&self, host: &str) -> bool {
        let name = without_port(host).trim_end_matches('.');
        if name == "localhost" || name.ends_with(".localhost") {
            return true;
        }
        if self
            .allowed_hosts
            .iter()
            .any(|allowed| allowed == host || allowed == name)
        {
            return true;
        }
        let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let Ok(address) = bare.unwrap_or(name).parse::<IpAddr>() else {
            return false;
        };
        address.to_canonical().is_loopback()
            || self
                .addresses
                .iter()
                .any(|bound| *bound == address || bound.is_unspecified())
    }

    /// Returns the CORS headers of an answer: none unless the request has an allowed origin.
    pub(crate) fn allow_origin(&self, method: &Method, path: &str, requested: &HeaderMap, headers: &mut AnswerHeaders) {
        let Some(origin) = requested.get(ORIGIN).and_then(|origin| origin.to_str().ok()) else {
            return;
        };
        if is_control(path) || !self.origins.allow(origin) {
            return;
        }
        let allowed = if self.origins.any { "*" } else { origin };
        headers.push("access-control-allow-origin", allowed);
        headers.push("access-control-expose-headers", EXPOSED);
        if !self.origins.any {
            headers.push("vary", "Origin");
        }
        if method == Method::OPTIONS {
            headers.push("access-control-max-age", PREFLIGHT_AGE);
            for (asks, allows) in [
                (ACCESS_CONTROL_REQUEST_METHOD, "access-control-allow-methods"),
                (ACCESS_CONTROL_REQUEST_HEADERS, "access-control-allow-headers"),
            ] {
                if let Some(value) = requested.get(asks).and_then(|value| value.to_str().ok()) {
                    headers.push(allows, value);
                }
            }
        }
    }
}

/// Returns a host in the form that browsers send: in lower case, an IPv6 address in brackets.
fn host_name(host: &str) -> String {
    match host.parse::<Ipv6Addr>() {
        Ok(address) => format!("[{address}]"),
        Err(_) => host.to_ascii_lowercase(),
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') && !name.ends_with(':') => name,
        _ => host,
    }
}

/// Returns whether a path is under the controls' path.
pub(crate) fn is_control(path: &str) -> bool {
    path.starts_with(CONTROL_PATH)
}

/// Properties of a request's head.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeadSummary {
    /// The bytes of the request line and the headers.
    pub(crate) size: usize,
    /// The number of `Host` headers. The service refuses more than one (docs/behavior: 07 1.1).
    pub(crate) hosts: usize,
    /// Whether a browser has sent it for a page, as every request with an `Origin`.
    pub(crate) from_page: bool,
}

impl HeadSummary {
    pub(crate) fn of<B>(request: &Request<B>) -> HeadSummary {
        let target = request.uri().path_and_query().map_or(1, |target| target.as_str().len());
        let mut summary = HeadSummary {
            size: request.method().as_str().len() + target + "  HTTP/1.1\r\n".len(),
            hosts: 0,
            // Browsers send no page header with a same-origin GET over plain HTTP.
            from_page: is_control(request.uri().path()) && is_browser(request.headers()),
        };
        for (name, value) in request.headers() {
            summary.size += name.as_str().len() + value.len() + ": \r\n".len();
            summary.hosts += usize::from(*name == HOST);
            summary.from_page |= is_page_header(name);
        }
        summary
    }
}

fn is_page_header(name: &HeaderName) -> bool {
    *name == ORIGIN || name.as_str().starts_with("sec-fetch-")
}

/// Whether a browser has sent the request. Pages can change `User-Agent` in some browsers, but not omit
/// `Accept-Language`, which command-line tools and SDKs do not send.
fn is_browser(headers: &HeaderMap) -> bool {
    let agent = headers.get(USER_AGENT);
    headers.contains_key(ACCEPT_LANGUAGE) || agent.is_some_and(|agent| agent.as_bytes().starts_with(b"Mozilla/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins() {
        let list = Origins::parse("http://a.example, https://b.example:444/,c.example:81").unwrap();
        for (origin, expect) in [
            ("http://a.example", true),
            ("HTTP://A.example", true),
            ("https://a.example", false),
            ("http://a.example:80", false),
            ("http://a.example.evil.example", false),
            ("https://b.example:444", true),
            ("https://b.example", false),
            ("http://c.example:81", true),
            ("https://c.example:81", true),
            ("http://c.example", false),
            ("null", false),
            ("", false),
        ] {
            assert_eq!(list.allow(origin), expect, "{origin}");
        }
        for (origin, expect) in [
            ("http://localhost:5190", true),
            ("http://127.0.0.1:5190", true),
            ("http://[::1]:5190", true),
            ("http://localhost:3000", false),
            ("http://localhost", false),
            ("http://evil.example:5190", false),
            ("http://localhost.evil.example:5190", false),
            ("http://evillocalhost:5190", false),
            ("https://evil-localhost:5190", false),
            ("http://evil.localhost:5190", false),
            ("http://1127.0.0.1:5190", false),
            ("http://127.0.0.11:5190", false),
            ("http://x[::1]:5190", false),
            ("http://localhost.:5190", false),
            ("http://a@localhost:5190", false),
            ("https://localhost:5190", true),
            ("http://LOCALHOST:5190", true),
            ("ftp://localhost:5190", false),
            ("localhost:5190", false),
            ("http://localhost:51900", false),
            ("http://localhost:15190", false),
            ("http://localhost:", false),
        ] {
            assert_eq!(Origins::default().allow(origin), expect, "{origin}");
        }
        for list in [
            "",
            " ",
            "a,,b",
            "http://",
            "http://a.example/path",
            "a.example/path",
            "http://a.example?x",
            "http:a.example",
            "http://a.example:port",
            "http://a.example:",
            "http://*.example",
            "a.example b.example",
            "http://a.example http://b.example",
            "http://me@a.example",
            "*, http://a.example/path",
            "[::1",
            "http://[::1",
            "http://[::1:3000",
            "::1",
            "::1]",
            "http://::1]:3000",
            "http://:3000",
            "http://a.example:65536",
            "http://a.example:-1",
            "http://a.example#top",
            "http://a.example\\path",
        ] {
            assert_eq!(Origins::parse(list), None, "{list:?}");
        }
        for list in [
            "null",
            "localhost:3000",
            "[::1]:3000",
            "http://[::1]",
            "chrome-extension://abc",
            "capacitor://localhost",
            "http://bücher.example",
            " * ",
        ] {
            assert!(Origins::parse(list).is_some(), "{list:?}");
        }
        // All origins are allowed wherever the asterisk is.
        for list in ["*", "*,http://a.example", "http://a.example, *"] {
            let list = Origins::parse(list).unwrap();
            for origin in ["http://a.example", "https://b.example:1", "null"] {
                assert!(list.allow(origin), "{origin}: {list:?}");
            }
        }
        // Browsers send scheme and host in lower case.
        let list =
            Origins::parse("https://App.Example, HTTP://B.example:3000,C.Example:81,http://[2001:DB8::A]").unwrap();
        for (origin, expect) in [
            ("https://app.example", true),
            ("https://App.Example", true),
            ("http://app.example", false),
            ("http://b.example:3000", true),
            ("https://b.example:3000", false),
            ("https://c.example:81", true),
            ("http://[2001:db8::a]", true),
        ] {
            assert_eq!(list.allow(origin), expect, "{origin}");
        }
        // Sandboxed pages, extensions and apps have origins of other schemes.
        let list = Origins::parse("null, Capacitor://localhost,chrome-extension://abc,localhost:81").unwrap();
        for (origin, expect) in [
            ("null", true),
            ("capacitor://localhost", true),
            ("chrome-extension://abc", true),
            ("http://localhost:81", true),
            ("", false),
            ("nul", false),
            ("capacitor://localhost:81", false),
            ("ionic://localhost", false),
            ("http://localhost", false),
            ("chrome-extension://abcd", false),
            ("moz-extension://abc", false),
            ("https://abc", false),
        ] {
            assert_eq!(list.allow(origin), expect, "{origin}");
        }
        // Browsers leave out the port of the scheme.
        let list = Origins::parse("http://a.example:80,https://b.example:443,http://c.example:443").unwrap();
        for (origin, expect) in [
            ("http://a.example", true),
            ("https://a.example", false),
            ("https://b.example", true),
            ("http://c.example", false),
            ("http://c.example:443", true),
        ] {
            assert_eq!(list.allow(origin), expect, "{origin}");
        }
    }

    #[test]
    fn names_of_the_server() {
        let access = |bound: &[&str]| {
            let bound: Vec<SocketAddr> = bound.iter().map(|address| address.parse().unwrap()).collect();
            WebAccess::new(Origins::default(), vec!["Twin".into(), "proxy:81".into()], &bound)
        };
        let local = access(&["127.0.0.1:8000", "[::1]:8000"]);
        for (host, expect) in [
            ("localhost", true),
            ("localhost:8000", true),
            ("localhost.:8000", true),
            ("app.localhost:8000", true),
            ("127.0.0.1:8000", true),
            ("127.1.2.3", true),
            ("[::1]:8000", true),
            ("[::1]", true),
            ("::1", true),
            ("fe80::1", false),
            ("[::ffff:127.0.0.1]:8000", true),
            ("twin", true),
            ("twin:9000", true),
            ("twin.evil.example", false),
            ("twin.evil.example:9000", false),
            ("twins", false),
            ("twi", false),
            ("evil.twin", false),
            ("proxy:81", true),
            ("proxy:82", false),
            ("proxy:811", false),
            ("proxy:8", false),
            ("evil.example", false),
            ("evil.example:8000", false),
            ("localhost.evil.example", false),
            ("notlocalhost", false),
            ("192.0.2.1:8000", false),
            ("", false),
            (":8000", false),
        ] {
            assert_eq!(local.allows_host(host), expect, "{host}");
        }
        // Each of several addresses is the server's own, whatever the others are.
        let several = access(&[
            "127.0.0.1:8000",
            "192.0.2.1:8000",
            "[2001:db8::1]:8000",
            "[2001:db8::a:1]:8000",
        ]);
        for (host, expect) in [
            ("192.0.2.1:8000", true),
            ("192.0.2.1", true),
            ("192.0.2.1.:8000", true),
            ("[2001:db8::1]:8000", true),
            ("[2001:db8::a:1]:8000", true),
            ("[2001:db8::a:1]", true),
            ("[2001:db8::a]", false),
            ("127.0.0.1", true),
            ("192.0.2.2:8000", false),
            ("[2001:db8::2]", false),
        ] {
            assert_eq!(several.allows_host(host), expect, "{host}");
        }
        for bound in [
            &["127.0.0.1:8000", "0.0.0.0:8000"][..],
            &["[::]:8000", "192.0.2.1:8000"],
        ] {
            for (host, expect) in [("198.51.100.7", true), ("[2001:db8::1]", true), ("evil.example", false)] {
                assert_eq!(access(bound).allows_host(host), expect, "{host} at {bound:?}");
            }
        }
        // An address of another machine, which forwards its port, can be allowed like a name.
        let forwarded = WebAccess::new(
            Origins::default(),
            ["192.0.2.7", "[2001:DB8::7]", "2001:DB8:0::9", "192.0.2.8:81"]
                .map(str::to_owned)
                .into(),
            &["127.0.0.1:8000".parse().unwrap()],
        );
        for (host, expect) in [
            ("192.0.2.7", true),
            ("192.0.2.7:8000", true),
            ("[2001:db8::7]", true),
            ("[2001:db8::7]:8000", true),
            ("[2001:db8::9]", true),
            ("[2001:db8::9]:8000", true),
            ("192.0.2.8:81", true),
            ("192.0.2.8:82", false),
            ("192.0.2.8", false),
            ("192.0.2.1", false),
            ("[2001:db8::8]:8000", false),
        ] {
            assert_eq!(forwarded.allows_host(host), expect, "{host}");
        }
        assert!(access(&["192.0.2.1:8000"]).allows_host("192.0.2.1:8000"));
        for (host, expect) in [
            ("192.0.2.1:8000", true),
            ("[2001:db8::1]", true),
            ("evil.example", false),
        ] {
            assert_eq!(access(&["0.0.0.0:8000"]).allows_host(host), expect, "{host}");
        }
    }

    /// The name comes from the header, in any case, and a request without one has no name.
    #[test]
    fn names_are_compared_without_case() {
        let access = WebAccess::new(Origins::default(), vec!["Twin".into()], &[]);
        for (host, expect) in [
            (Some("LocalHost:8000"), true),
            (Some("TWIN"), true),
            (Some("evil.example"), false),
            (Some("\u{fc}"), false),
            (None, false),
        ] {
            let value = host.map(|host| (HOST, host.parse().unwrap()));
            let headers = HeaderMap::from_iter(value);
            assert_eq!(access.is_own_name(&headers), expect, "{host:?}");
        }
    }

    /// The size is that of the lines as they were sent, without blanks that are not needed.
    #[test]
    fn heads_are_summarized() {
        let browser = "Mozilla/5.0";
        for (line, headers, hosts, from_page) in [
            ("GET /", &[][..], 0, false),
            ("POST /a?b=c", &[("host", "a")], 1, false),
            ("POST /", &[("host", "a"), ("host", "b"), ("x-host", "c")], 2, false),
            ("POST /", &[("origin", "null")], 0, true),
            ("GET /", &[("sec-fetch-site", "same-origin")], 0, true),
            ("GET /", &[("sec-fetch", "1")], 0, false),
            ("GET /", &[("user-agent", browser), ("accept-language", "en")], 0, false),
            ("GET /_dynatwin/tables", &[], 0, false),
            ("GET /_dynatwin/tables", &[("user-agent", browser)], 0, true),
            (
                "GET /_dynatwin/tables",
                &[("user-agent", "curl/8 Mozilla/5.0")],
                0,
                false,
            ),
            ("GET /_dynatwin/tables", &[("accept-language", "en")], 0, true),
        ] {
            let (method, target) = line.split_once(' ').unwrap();
            let mut request = Request::builder().method(method).uri(target);
            let mut sent = format!("{line} HTTP/1.1\r\n");
            for (name, value) in headers {
                request = request.header(*name, *value);
                sent.extend([name, ": ", value, "\r\n"]);
            }
            let summary = HeadSummary::of(&request.body(()).unwrap());
            assert_eq!(
                (summary.size, summary.hosts, summary.from_page),
                (sent.len(), hosts, from_page),
                "{sent}"
            );
        }
    }
}
