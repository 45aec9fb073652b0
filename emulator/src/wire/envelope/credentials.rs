//! The caller of a request: the form of the credentials, checked as the service does. Key, signature and date are not checked.

use std::borrow::Cow;

use compact_str::CompactString;

use crate::answer::HttpRequest;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorKind};

/// The region of a request whose credentials name none.
pub const DEFAULT_REGION: &str = "us-east-1";

const ALGORITHM: &str = "X-Amz-Algorithm";

/// The caller of a request, or the service's error about its credentials.
pub(super) fn caller(request: &HttpRequest<'_>) -> Result<Caller, ApiError> {
    let query = request.target.split_once('?').map_or("", |(_, query)| query);
    let header = request.headers.get("authorization");
    if parameter(query, ALGORITHM).is_some() {
        return match header {
            Some(_) => Err(ApiError::new(
                ErrorKind::InvalidSignature,
                "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.",
            )),
            None => from_query(query),
        };
    }
    match header {
        Some(header) if header.starts_with(b"AWS4-") => {
            let dated = ["x-amz-date", "date"]
                .iter()
                .any(|name| request.headers.get(name).is_some());
            // Nearly always ASCII; the lossy reading is many times dearer.
            match simdutf8::basic::from_utf8(header) {
                Ok(header) => from_header(header, dated),
                Err(_) => from_header(&String::from_utf8_lossy(header), dated),
            }
        }
        _ => Err(ApiError::missing_token()),
    }
}

/// The caller that a request's credentials name, even if they are incomplete.
pub(super) fn named(request: &HttpRequest<'_>) -> Option<Caller> {
    let query = request.target.split_once('?').map_or("", |(_, query)| query);
    if let Some(scope) = parameter(query, "X-Amz-Credential") {
        return Some(from_scope(&percent_decoded(scope)));
    }
    let header = std::str::from_utf8(request.headers.get("authorization")?).ok()?;
    let scope = header
        .split([' ', ','])
        .find_map(|part| part.strip_prefix("Credential="))?;
    Some(from_scope(scope))
}

/// The session token of temporary credentials, in a header or the query.
pub fn session_token<'a>(request: &HttpRequest<'a>) -> Option<Cow<'a, str>> {
    let query = request.target.split_once('?').map_or("", |(_, query)| query);
    if let Some(token) = parameter(query, "X-Amz-Security-Token") {
        return Some(percent_decoded(token));
    }
    let header = request.headers.get("x-amz-security-token")?;
    Some(Cow::Owned(String::from_utf8_lossy(header).into_owned()))
}

fn from_header(header: &str, dated: bool) -> Result<Caller, ApiError> {
    let [mut credential, mut signature, mut signed] = [""; 3];
    let ends = memchr::memchr2_iter(b' ', b',', header.as_bytes()).chain([header.len()]);
    let mut start = 0;
    for end in ends {
        let part = header.get(start..end).unwrap_or_default();
        start = end + 1;
        if let Some(value) = part.strip_prefix("Credential=") {
            credential = value;
        } else if let Some(value) = part.strip_prefix("SignedHeaders=") {
            signed = value;
        } else if let Some(value) = part.strip_prefix("Signature=") {
            signature = value;
        }
    }
    if !credential.is_empty() && !signature.is_empty() && !signed.is_empty() && dated {
        return Ok(from_scope(credential));
    }
    let mut text = String::new();
    for (name, value) in [
        ("Credential", credential),
        ("Signature", signature),
        ("SignedHeaders", signed),
    ] {
        if value.is_empty() {
            text.push_str("Authorization header requires '");
            text.push_str(name);
            text.push_str("' parameter. ");
        }
    }
    if !dated {
        text.push_str("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ");
    }
    text.push_str("Authorization=");
    text.push_str(header);
    Err(ApiError::new(ErrorKind::IncompleteSignature, text))
}

fn from_query(query: &str) -> Result<Caller, ApiError> {
    let mut text = String::new();
    for name in [
        ALGORITHM,
        "X-Amz-Credential",
        "X-Amz-Signature",
        "X-Amz-SignedHeaders",
        "X-Amz-Date",
    ] {
        if parameter(query, name).is_none_or(str::is_empty) {
            text.push_str("AWS query-string parameters must include '");
            text.push_str(name);
            text.push_str("'. ");
        }
    }
    if text.is_empty() {
        return Ok(from_scope(&percent_decoded(
            parameter(query, "X-Amz-Credential").unwrap_or_default(),
        )));
    }
    text.push_str("Re-examine the query-string parameters.");
    Err(ApiError::new(ErrorKind::IncompleteSignature, text))
}

/// The caller of a scope `KEY/date/region/dynamodb/aws4_request`. A scope of another form counts as an access key.
fn from_scope(scope: &str) -> Caller {
    let mut slashes = memchr::memchr_iter(b'/', scope.as_bytes());
    let ends = [slashes.next(), slashes.next(), slashes.next(), slashes.next()];
    let key = scope.get(..ends[0].unwrap_or(scope.len())).unwrap_or_default();
    let region = match ends {
        [_, Some(date), Some(region), Some(_)] => scope.get(date + 1..region),
        _ => None,
    };
    let region = region.filter(|region| !region.is_empty()).unwrap_or(DEFAULT_REGION);
    Caller {
        access_key: CompactString::new(key),
        region: CompactString::new(region),
    }
}

/// The value of a parameter, as written.
pub(super) fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    if query.is_empty() {
        return None;
    }
    query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .find(|(candidate, _)| *candidate == name)
        .map(|(_, value)| value)
}

pub(super) fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let byte = (*first == b'%')
            .then(|| after.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "AWS4-HMAC-SHA256 Credential=KEY/20260101/eu-west-1/dynamodb/aws4_request, SignedHeaders=host;x-amz-date, Signature=00";
    const QUERY: &str = "/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=KEY%2F20260101%2feu-west-1%2Fdynamodb%2Faws4_request&X-Amz-Signature=0&X-Amz-SignedHeaders=host&X-Amz-Date=20260101T000000Z";

    fn check(target: &str, authorization: Option<&str>, dated: bool, expect: &str) {
        let mut headers = Vec::new();
        if let Some(value) = authorization {
            headers.push(("authorization".to_owned(), value.to_owned()));
        }
        if dated {
            headers.push(("x-amz-date".to_owned(), "20260101T000000Z".to_owned()));
        }
        let request = HttpRequest {
            method: "POST",
            target,
            headers: &headers,
            body: b"",
        };
        let found = match caller(&request) {
            Ok(caller) => format!("{} {}", caller.access_key, caller.region),
            Err(error) => format!("{:?}: {}", error.kind(), error.message().unwrap_or_default()),
        };
        assert_eq!(found, expect, "{target} {authorization:?}");
    }

    #[test]
    fn header() {
        let missing = "MissingAuthenticationToken: Request is missing Authentication Token";
        for authorization in [
            None,
            Some(""),
            Some("X"),
            Some("AWS4"),
            Some("AWS key:sig"),
            Some("Bearer abc"),
        ] {
            check("/", authorization, true, missing);
        }
        check("/", Some(WHOLE), true, "KEY eu-west-1");
        check("/?x=y", Some(&WHOLE.replace(", ", ",")), true, "KEY eu-west-1");
        check("/", Some(&WHOLE.replace(", ", " ")), true, "KEY eu-west-1");
        for (sent, missing) in [
            ("AWS4- Signature=b,Credential=a", "SignedHeaders"),
            ("AWS4- SignedHeaders=b,Credential=a", "Signature"),
            ("AWS4- SignedHeaders=b,Signature=c", "Credential"),
            ("AWS4- SignedHeaders=b,Signature=c Credential=", "Credential"),
        ] {
            let text = format!(
                "IncompleteSignature: Authorization header requires '{missing}' parameter. Authorization={sent}"
            );
            check("/", Some(sent), true, &text);
        }
        check(
            "/",
            Some("AWS4-"),
            false,
            "IncompleteSignature: Authorization header requires 'Credential' parameter. Authorization header requires 'Signature' parameter. Authorization header requires 'SignedHeaders' parameter. Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. Authorization=AWS4-",
        );
        check(
            "/",
            Some(WHOLE),
            false,
            &format!(
                "IncompleteSignature: Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. Authorization={WHOLE}"
            ),
        );
    }

    /// Either header dates a request.
    #[test]
    fn dates() {
        for (names, is_dated) in [
            (&["x-amz-date"][..], true),
            (&["date"], true),
            (&["date", "x-amz-date"], true),
            (&[], false),
            (&["x-date"], false),
        ] {
            let mut headers = vec![("authorization".to_owned(), WHOLE.to_owned())];
            headers.extend(
                names
                    .iter()
                    .map(|name| ((*name).to_owned(), "20260101T000000Z".to_owned())),
            );
            let request = HttpRequest {
                method: "POST",
                target: "/",
                headers: &headers,
                body: b"",
            };
            assert_eq!(caller(&request).is_ok(), is_dated, "{names:?}");
        }
    }

    #[test]
    fn query() {
        check(QUERY, None, false, "KEY eu-west-1");
        check(&format!("{QUERY}&other=a?b"), None, false, "KEY eu-west-1");
        check(
            QUERY,
            Some("X"),
            false,
            "InvalidSignature: Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.",
        );
        check(
            "/?X-Amz-Algorithm=&X-Amz-Credential=a&X-Amz-Date=b",
            None,
            true,
            "IncompleteSignature: AWS query-string parameters must include 'X-Amz-Algorithm'. AWS query-string parameters must include 'X-Amz-Signature'. AWS query-string parameters must include 'X-Amz-SignedHeaders'. Re-examine the query-string parameters.",
        );
        check(
            &QUERY.replace("X-Amz-Algorithm", "other"),
            None,
            true,
            "MissingAuthenticationToken: Request is missing Authentication Token",
        );
    }

    #[test]
    fn every_form_of_credentials() {
        for (target, authorization, expect) in [
            ("/", None, None),
            ("/", Some("Bearer abc"), None),
            ("/", Some(WHOLE), Some("KEY eu-west-1")),
            ("/", Some("AWS4-HMAC-SHA256 Credential=me"), Some("me us-east-1")),
            (QUERY, None, Some("KEY eu-west-1")),
            (&format!("{QUERY}&other=a?b"), None, Some("KEY eu-west-1")),
        ] {
            let headers: Vec<_> = authorization
                .map(|value| ("authorization".to_owned(), value.to_owned()))
                .into_iter()
                .collect();
            let request = HttpRequest {
                method: "GET",
                target,
                headers: &headers,
                body: b"",
            };
            let found = named(&request).map(|caller| format!("{} {}", caller.access_key, caller.region));
            assert_eq!(found.as_deref(), expect, "{target} {authorization:?}");
        }
    }

    #[test]
    fn session_tokens_are_in_a_header_or_the_query() {
        for (target, header, expect) in [
            ("/", None, None),
            ("/", Some("a%2F+"), Some("a%2F+")),
            ("/?X-Amz-Security-Token=a%2Fb", None, Some("a/b")),
            ("/?x=1&X-Amz-Security-Token=a%3D", Some("other"), Some("a=")),
        ] {
            let headers: Vec<_> = header
                .map(|value| ("x-amz-security-token".to_owned(), value.to_owned()))
                .into_iter()
                .collect();
            let request = HttpRequest {
                method: "GET",
                target,
                headers: &headers,
                body: b"",
            };
            assert_eq!(session_token(&request).as_deref(), expect, "{target} {header:?}");
        }
    }

    #[test]
    fn scopes() {
        for (scope, key, region) in [
            ("K/d/r/dynamodb/aws4_request", "K", "r"),
            ("K", "K", DEFAULT_REGION),
            ("K/d/r", "K", DEFAULT_REGION),
            ("K/d/r/dynamodb", "K", DEFAULT_REGION),
            ("K/d//dynamodb/aws4_request", "K", DEFAULT_REGION),
            ("", "", DEFAULT_REGION),
        ] {
            let caller = from_scope(scope);
            assert_eq!(
                (caller.access_key.as_str(), caller.region.as_str()),
                (key, region),
                "{scope}"
            );
        }
        assert_eq!(percent_decoded("a%2Fb%zz%2"), "a/b%zz%2");
    }
}
