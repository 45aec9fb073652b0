//! Signature Version 4 as the service verifies it (docs/behavior: 07 1): the checks behind those of the credentials' form,
//! in the service's order.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::digest::array::Array;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::credentials::{parameter, percent_decoded};
use crate::answer::HttpRequest;
use crate::clock::Moment;
use crate::error::{ApiError, ErrorKind};
use crate::sort;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const SERVICE: &str = "dynamodb";
const TERMINATOR: &str = "aws4_request";

/// The maximum difference between a request's date and the service's clock, in seconds.
const WINDOW: u64 = 5 * 60;

/// The longest validity of a presigned request, in seconds.
const LONGEST_EXPIRY: u64 = 7 * 24 * 60 * 60;

/// The prefixes of known regions: those of AWS's partitions. `local`, `localhost` and `ddblocal` are accepted as placeholders.
const REGIONS: [&str; 13] = [
    "af-", "ap-", "ca-", "cn-", "eu-", "eusc-", "il-", "me-", "mx-", "sa-", "us-", "eu-isoe-", "us-gov-",
];

/// The secrets that sign the requests of an access key.
///
/// ```
/// use dynatwin_engine::iam::SigningKey;
///
/// let key = SigningKey { secret: "wJalr".into(), session_token: None, expires: None };
/// assert_eq!(format!("{key:?}"), "SigningKey { .. }");
/// ```
#[derive(Clone)]
pub struct SigningKey {
    /// The secret access key, which signs.
    pub secret: String,
    /// The session token required with a temporary key; a key without one is a long-term key.
    pub session_token: Option<String>,
    /// When a temporary key expires.
    pub expires: Option<Moment>,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SigningKey").finish_non_exhaustive()
    }
}

/// Verifies the signature of a request whose credentials are complete, at `now`; `key` finds the key of an access key id.
pub fn verify_signature(
    request: &HttpRequest<'_>,
    now: Moment,
    key: impl FnOnce(&str) -> Option<SigningKey>,
) -> Result<(), ApiError> {
    let signed = Signed::of(request)?;
    signed.check_date(now)?;
    if !signed.headers.split(';').any(|name| name.eq_ignore_ascii_case("host")) {
        return Err(invalid("'Host' must be a 'SignedHeader' in the AWS Authorization."));
    }
    if signed.algorithm != ALGORITHM {
        let text = format!(
            "Unsupported AWS 'algorithm': '{}' (only AWS4-HMAC-SHA256 for now). ",
            signed.algorithm
        );
        return Err(incomplete(text));
    }
    let scope = CredentialScope::of(&signed.credential)?;
    scope.check(request, &signed.date)?;
    let unknown = || unrecognized("The security token included in the request is invalid.");
    let key = key(scope.key_id).ok_or_else(unknown)?;
    if key.session_token.is_some() && signed.token.is_none() {
        return Err(unknown());
    }
    if key.expires.is_some_and(|expires| now >= expires) {
        return Err(ApiError::new(
            ErrorKind::ExpiredToken,
            "The security token included in the request is expired",
        ));
    }
    if !signed.matches(request, &scope, &key.secret) {
        return Err(invalid(
            "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access \
             Key and signing method. Consult the service documentation for details.",
        ));
    }
    if key.session_token.as_deref() != signed.token.as_deref() {
        return Err(unrecognized("The security token included in the request is invalid"));
    }
    Ok(())
}

fn invalid(text: impl Into<Cow<'static, str>>) -> ApiError {
    ApiError::new(ErrorKind::InvalidSignature, text)
}

fn incomplete(text: String) -> ApiError {
    ApiError::new(ErrorKind::IncompleteSignature, text)
}

fn unrecognized(text: &'static str) -> ApiError {
    ApiError::new(ErrorKind::UnrecognizedClient, text)
}

/// The parts of a signature, from the `Authorization` header or the query string of a presigned request.
struct Signed<'r> {
    algorithm: Cow<'r, str>,
    credential: Cow<'r, str>,
    /// The names of the signed headers, joined by `;`.
    headers: Cow<'r, str>,
    signature: Cow<'r, str>,
    date: Cow<'r, str>,
    token: Option<Cow<'r, str>>,
    /// The validity of a presigned request, in seconds.
    expires: Option<u64>,
    in_query: bool,
}

impl<'r> Signed<'r> {
    fn of(request: &HttpRequest<'r>) -> Result<Signed<'r>, ApiError> {
        let query = request.target.split_once('?').map_or("", |(_, query)| query);
        let text = |name: &str| {
            let value = request.headers.get(name)?;
            Some(Cow::Owned(String::from_utf8_lossy(value).trim().to_owned()))
        };
        if parameter(query, "X-Amz-Algorithm").is_some() {
            let value = |name: &str| percent_decoded(parameter(query, name).unwrap_or_default());
            let token = parameter(query, "X-Amz-Security-Token").map(percent_decoded);
            return Ok(Signed {
                algorithm: value("X-Amz-Algorithm"),
                credential: value("X-Amz-Credential"),
                headers: value("X-Amz-SignedHeaders"),
                signature: value("X-Amz-Signature"),
                date: value("X-Amz-Date"),
                token: token.or_else(|| text("x-amz-security-token")),
                expires: parameter(query, "X-Amz-Expires").and_then(|seconds| seconds.parse().ok()),
                in_query: true,
            });
        }
        let header = String::from_utf8_lossy(request.headers.get("authorization").unwrap_or_default()).into_owned();
        let (algorithm, rest) = header.split_once(' ').unwrap_or((&header, ""));
        let mut signed = Signed {
            algorithm: Cow::Owned(algorithm.to_owned()),
            credential: Cow::Borrowed(""),
            headers: Cow::Borrowed(""),
            signature: Cow::Borrowed(""),
            date: text("x-amz-date").or_else(|| text("date")).unwrap_or_default(),
            token: text("x-amz-security-token"),
            expires: None,
            in_query: false,
        };
        for part in rest.split([',', ' ']).filter(|part| !part.is_empty()) {
            let Some((name, value)) = part.split_once('=') else {
                let hash = STANDARD.encode(Sha256::digest(header.as_bytes()));
                return Err(incomplete(format!(
                    "Invalid key=value pair (missing equal-sign) in Authorization header (hashed with SHA-256 and encoded \
                     with Base64): '{hash}'."
                )));
            };
            let value = Cow::Owned(value.to_owned());
            match name {
                "Credential" => signed.credential = value,
                "SignedHeaders" => signed.headers = value,
                "Signature" => signed.signature = value,
                _ => {}
            }
        }
        Ok(signed)
    }

    fn check_date(&self, now: Moment) -> Result<(), ApiError> {
        let Some(sent) = basic_date(&self.date) else {
            return Err(incomplete(format!(
                "Date must be in ISO-8601 'basic format'. Got '{}'. See http://en.wikipedia.org/wiki/ISO_8601",
                self.date
            )));
        };
        let now = now.seconds();
        let valid = self.expires.map_or(WINDOW, |seconds| seconds.clamp(1, LONGEST_EXPIRY)) as i64;
        if sent < now - valid {
            return Err(invalid(format!(
                "Signature expired: {} is now earlier than {} ({} - {}.)",
                self.date,
                basic_text(now - valid),
                basic_text(now),
                minutes(valid)
            )));
        }
        let window = WINDOW as i64;
        if sent > now + window {
            return Err(invalid(format!(
                "Signature not yet current: {} is still later than {} ({} + {}.)",
                self.date,
                basic_text(now + window),
                basic_text(now),
                minutes(window)
            )));
        }
        Ok(())
    }

    /// Whether the signature is that of the request under the secret. Compares in constant time.
    fn matches(&self, request: &HttpRequest<'_>, scope: &CredentialScope<'_>, secret: &str) -> bool {
        let canonical = self.canonical_request(request);
        let CredentialScope { date, region, .. } = scope;
        let hash = hex(&Sha256::digest(&canonical));
        let text = format!(
            "{ALGORITHM}\n{}\n{date}/{region}/{SERVICE}/{TERMINATOR}\n{hash}",
            self.date
        );
        let mut key = format!("AWS4{secret}").into_bytes();
        for part in [date, region, SERVICE, TERMINATOR] {
            key = mac(&key, part.as_bytes()).finalize().into_bytes().to_vec();
        }
        let sent = unhex(&self.signature).unwrap_or_default();
        mac(&key, text.as_bytes()).verify_slice(&sent).is_ok()
    }

    fn canonical_request(&self, request: &HttpRequest<'_>) -> Vec<u8> {
        let (path, query) = request.target.split_once('?').unwrap_or((request.target, ""));
        let mut text = format!("{}\n{path}\n{}\n", request.method, self.canonical_query(query)).into_bytes();
        for name in self.headers.split(';') {
            text.extend_from_slice(name.to_ascii_lowercase().as_bytes());
            text.push(b':');
            if let Some(value) = request.headers.joined(name) {
                text.extend_from_slice(&single_spaced(&value));
            }
            text.push(b'\n');
        }
        text.push(b'\n');
        text.extend_from_slice(self.headers.as_bytes());
        text.push(b'\n');
        text.extend_from_slice(hex(&Sha256::digest(request.body)).as_bytes());
        text
    }

    /// The parameters, encoded and sorted, without the signature.
    fn canonical_query(&self, query: &str) -> String {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let pairs = pairs.filter(|(name, _)| !(self.in_query && *name == "X-Amz-Signature"));
        let mut pairs: Vec<(String, String)> = pairs
            .map(|(name, value)| (encoded(&percent_decoded(name)), encoded(&percent_decoded(value))))
            .collect();
        sort::sort(&mut pairs);
        let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("&")
    }
}

/// The scope of a credential: `KEY/date/region/service/terminator`.
struct CredentialScope<'s> {
    key_id: &'s str,
    date: &'s str,
    region: &'s str,
    service: &'s str,
    terminator: &'s str,
}

impl<'s> CredentialScope<'s> {
    fn of(credential: &'s str) -> Result<CredentialScope<'s>, ApiError> {
        let parts: Vec<&str> = credential.trim_end_matches('/').split('/').collect();
        let [key_id, date, region, service, terminator] = parts[..] else {
            return Err(incomplete(format!(
                "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got \
                 '{credential}'"
            )));
        };
        Ok(CredentialScope {
            key_id,
            date,
            region,
            service,
            terminator,
        })
    }

    fn check(&self, request: &HttpRequest<'_>, date: &str) -> Result<(), ApiError> {
        let mut texts = Vec::new();
        let host = String::from_utf8_lossy(request.headers.get("host").unwrap_or_default()).into_owned();
        let is_valid = match region_of_host(&host) {
            Some(region) => self.region == region,
            None => is_region(self.region),
        };
        if !is_valid {
            texts.push("Credential should be scoped to a valid region. ".to_owned());
        }
        if self.service != SERVICE {
            texts.push(format!("Credential should be scoped to correct service: '{SERVICE}'. "));
        }
        if self.terminator != TERMINATOR {
            texts.push(format!(
                "Credential should be scoped with a valid terminator: '{TERMINATOR}', not '{}'. ",
                self.terminator
            ));
        }
        let day = date.get(..8).unwrap_or_default();
        if self.date != day {
            texts.push(format!(
                "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '{}' != '{day}', \
                 from '{date}'.",
                self.date
            ));
        }
        if texts.is_empty() {
            Ok(())
        } else {
            Err(invalid(texts.concat()))
        }
    }
}

/// The region in a host name of AWS: `dynamodb.eu-west-1.amazonaws.com`, or that of an interface endpoint,
/// `vpce-1.dynamodb.eu-west-1.vpce.amazonaws.com`. `dynamodb.amazonaws.com` is us-east-1.
fn region_of_host(host: &str) -> Option<&str> {
    let host = host.split(':').next().unwrap_or_default();
    let host = host
        .strip_suffix(".amazonaws.com")
        .or_else(|| host.strip_suffix(".amazonaws.com.cn"))
        .or_else(|| host.strip_suffix(".api.aws"))?;
    match host.strip_suffix(".vpce").unwrap_or(host).rsplit('.').next() {
        Some("dynamodb") => Some("us-east-1"),
        region => region,
    }
}

/// Whether a region's name has the form of AWS's names, or is one that tools use for local endpoints.
fn is_region(name: &str) -> bool {
    if matches!(name, "local" | "localhost" | "ddblocal") {
        return true;
    }
    let known = REGIONS.iter().any(|begin| name.starts_with(begin));
    let number = name.rsplit('-').next().unwrap_or_default();
    known
        && name.split('-').count() >= 3
        && name.split('-').all(|part| !part.is_empty())
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// The seconds since the epoch of a date in ISO 8601's basic format, `20260101T000000Z`.
fn basic_date(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let is_basic = bytes.len() == 16
        && bytes[8] == b'T'
        && bytes[15] == b'Z'
        && bytes
            .iter()
            .enumerate()
            .all(|(at, byte)| matches!(at, 8 | 15) || byte.is_ascii_digit());
    if !is_basic {
        return None;
    }
    let part = |from: usize, to: usize| &text[from..to];
    let extended = format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0, 4),
        part(4, 6),
        part(6, 8),
        part(9, 11),
        part(11, 13),
        part(13, 15)
    );
    Moment::parse(&extended).map(Moment::seconds)
}

/// A time in ISO 8601's basic format.
fn basic_text(seconds: i64) -> String {
    let extended = Moment::from_seconds(seconds).to_string();
    let seconds = extended.split('.').next().unwrap_or_default().trim_end_matches('Z');
    seconds.replace(['-', ':'], "") + "Z"
}

fn minutes(seconds: i64) -> String {
    if seconds % 60 == 0 {
        format!("{} min", seconds / 60)
    } else {
        format!("{seconds} sec")
    }
}

fn mac(key: &[u8], text: &[u8]) -> Hmac<Sha256> {
    // An HMAC takes keys of any length, so this never falls back.
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).unwrap_or_else(|_| Hmac::new(&Array::default()));
    mac.update(text);
    mac
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) || text.len() % 2 == 1 {
        return None;
    }
    let pairs = (0..text.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

/// A header's value without outer blanks, and with each inner run of blanks as one.
fn single_spaced(value: &[u8]) -> Vec<u8> {
    let words = value.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(&b' ')
}

/// Percent-encodes all but RFC 3986's unreserved characters.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push_str(&hex(&[byte]).to_ascii_uppercase());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A presigned request is valid for as long as it says, up to a week; one without a time, like a signed header, for five
    /// minutes.
    #[test]
    fn a_signature_is_valid_for_a_limited_time() {
        const WEEK: u64 = 7 * 86_400;
        for (expires, valid) in [
            (None, 300),
            (Some(0), 1),
            (Some(1), 1),
            (Some(600), 600),
            (Some(WEEK), WEEK),
            (Some(WEEK + 1), WEEK),
            (Some(u64::MAX), WEEK),
        ] {
            let signed = Signed {
                algorithm: ALGORITHM.into(),
                credential: "".into(),
                headers: "".into(),
                signature: "".into(),
                date: "20260101T000100Z".into(),
                token: None,
                expires,
                in_query: true,
            };
            let is_valid = |seconds| signed.check_date(Moment::from_seconds(SIGNED + seconds)).is_ok();
            let valid = valid as i64;
            assert!(is_valid(valid) && !is_valid(valid + 1), "{expires:?}");
            assert!(is_valid(-300) && !is_valid(-301), "{expires:?}");
        }
    }

    const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    const TOKEN: &str = "session/token==";

    /// A request, and its key. The signatures are botocore's.
    #[derive(Clone)]
    struct Case {
        target: String,
        headers: Vec<(String, String)>,
        body: &'static [u8],
        now: i64,
        key: Option<SigningKey>,
    }

    /// One minute after the clock's start, when the requests were signed.
    const SIGNED: i64 = 1_767_225_660;

    fn key(token: Option<&str>, expires: Option<i64>) -> SigningKey {
        SigningKey {
            secret: SECRET.into(),
            session_token: token.map(str::to_owned),
            expires: expires.map(Moment::from_seconds),
        }
    }

    fn case(target: &str, headers: &[(&str, &str)], token: Option<&str>) -> Case {
        let common = [
            ("host", "localhost:8000"),
            ("x-amz-target", "DynamoDB_20120810.ListTables"),
            ("content-type", "application/x-amz-json-1.0"),
        ];
        let headers = common.iter().chain(headers);
        Case {
            target: target.to_owned(),
            headers: headers
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            body: b"{}",
            now: SIGNED,
            key: Some(key(token, None)),
        }
    }

    const SCOPE: &str = "AKIAEXAMPLE/20260101/us-east-1/dynamodb/aws4_request";
    const DATE: (&str, &str) = ("x-amz-date", "20260101T000100Z");

    fn long_term() -> Case {
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={SCOPE}, SignedHeaders=content-type;host;x-amz-date;x-amz-target, \
             Signature=63e32f90ebae57d1e09625bd2dbf2505a311d2b327db389728c18a553c67467a"
        );
        case("/", &[DATE, ("authorization", &authorization)], None)
    }

    fn temporary() -> Case {
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={SCOPE}, \
             SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target;x-spaced, \
             Signature=d60ca9782e460e431314d700f5cdbd3c1b61670c9277100c37a244291eb5eabb"
        );
        let headers = [
            DATE,
            ("authorization", &authorization),
            ("x-amz-security-token", TOKEN),
            ("x-spaced", "  a   b "),
        ];
        case("/", &headers, Some(TOKEN))
    }

    /// A request with a signed header that occurs three times.
    fn repeated() -> Case {
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={SCOPE}, \
             SignedHeaders=content-type;host;x-amz-date;x-amz-target;x-other;x-repeated, \
             Signature=0c23fab5141d2b99cf38d272aee2da0420d708304b1c1da7cc855d86dd8ba274"
        );
        let headers = [
            DATE,
            ("authorization", &authorization),
            ("x-repeated", "first"),
            ("x-other", "b"),
            ("x-repeated", "second"),
            ("x-repeated", "third"),
        ];
        case("/", &headers, None)
    }

    fn presigned() -> Case {
        let target = "/?z=x&a=1&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAEXAMPLE%2F20260101%2Fus-east-1%2Fdynamodb%2Faws4_request&X-Amz-Date=20260101T000100Z&X-Amz-Expires=600&X-Amz-SignedHeaders=content-type%3Bhost%3Bx-amz-target&X-Amz-Security-Token=session%2Ftoken%3D%3D&X-Amz-Signature=6c1d91f4febf8e86708e600811c0cb0aa54e6ec19c1faf7705daaa3c3deeecab";
        // botocore signs an empty body.
        Case {
            body: b"",
            ..case(target, &[], Some(TOKEN))
        }
    }

    impl Case {
        fn verify(&self) -> Result<(), ApiError> {
            let request = HttpRequest {
                method: "POST",
                target: &self.target,
                headers: &self.headers,
                body: self.body,
            };
            let now = Moment::from_seconds(self.now);
            verify_signature(&request, now, |id| self.key.clone().filter(|_| id == "AKIAEXAMPLE"))
        }

        fn replace(mut self, from: &str, to: &str) -> Case {
            self.target = self.target.replace(from, to);
            for (_, value) in &mut self.headers {
                *value = value.replace(from, to);
            }
            self
        }

        fn at(self, now: i64) -> Case {
            Case { now, ..self }
        }

        fn with(self, key: impl Into<Option<SigningKey>>) -> Case {
            let key = key.into();
            Case { key, ..self }
        }

        fn without(mut self, header: &str) -> Case {
            self.headers.retain(|(name, _)| name != header);
            self
        }
    }

    #[test]
    fn signatures_of_sdks_are_valid() {
        for (name, case) in [
            ("header", long_term()),
            ("header with a token", temporary()),
            ("a header that occurs several times", repeated()),
            ("query", presigned()),
            ("query, some minutes later", presigned().at(SIGNED + 600)),
            ("five minutes early", long_term().at(SIGNED - 300)),
            ("five minutes late", long_term().at(SIGNED + 300)),
            ("unsigned headers", {
                let mut case = long_term();
                case.headers.push(("x-other".into(), "1".into()));
                case
            }),
        ] {
            let verified = case.verify();
            assert!(verified.is_ok(), "{name}: {verified:?}");
        }
    }

    #[test]
    fn what_the_service_refuses() {
        let mismatch = "InvalidSignature: The request signature we calculated does not match the signature you provided. \
                        Check your AWS Secret Access Key and signing method. Consult the service documentation for details.";
        let unknown = "UnrecognizedClient: The security token included in the request is invalid.";
        let unresolved = "UnrecognizedClient: The security token included in the request is invalid";
        let body = |body| Case { body, ..long_term() };
        let other_secret = SigningKey {
            secret: "other".into(),
            session_token: None,
            expires: None,
        };
        let cases = [
            (body(b"{\"a\":1}"), mismatch),
            (long_term().with(other_secret), mismatch),
            (long_term().replace("ListTables", "DeleteTable"), mismatch),
            (long_term().replace("Signature=63", "Signature=64"), mismatch),
            (long_term().replace("Signature=63", "Signature="), mismatch),
            (long_term().replace("Signature=63", "Signature=xy"), mismatch),
            (long_term().replace("localhost", "127.0.0.1"), mismatch),
            (presigned().replace("a=1", "a=2"), mismatch),
            (temporary().replace("  a   b ", "ab"), mismatch),
            (repeated().without("x-repeated"), mismatch),
            (repeated().replace("second", "2nd"), mismatch),
            (repeated().replace("third", "3rd"), mismatch),
            (
                repeated()
                    .replace("third", "last")
                    .replace("second", "third")
                    .replace("last", "second"),
                mismatch,
            ),
            (long_term().with(None), unknown),
            (long_term().replace("AKIAEXAMPLE", "AKIAOTHER"), unknown),
            (temporary().without("x-amz-security-token"), unknown),
            (temporary().with(key(Some("other"), None)), unresolved),
            (temporary().with(key(None, None)), unresolved),
            (
                temporary().with(key(Some(TOKEN), Some(SIGNED))),
                "ExpiredToken: The security token included in the request is expired",
            ),
            (
                long_term().at(SIGNED + 301),
                "InvalidSignature: Signature expired: 20260101T000100Z is now earlier than 20260101T000101Z (20260101T000601Z - 5 min.)",
            ),
            (
                long_term().at(SIGNED - 301).with(None),
                "InvalidSignature: Signature not yet current: 20260101T000100Z is still later than 20260101T000059Z (20251231T235559Z + 5 min.)",
            ),
            (
                presigned().at(SIGNED + 601),
                "InvalidSignature: Signature expired: 20260101T000100Z is now earlier than 20260101T000101Z (20260101T001101Z - 10 min.)",
            ),
            (
                long_term().replace("20260101T000100Z", "201"),
                "IncompleteSignature: Date must be in ISO-8601 'basic format'. Got '201'. See http://en.wikipedia.org/wiki/ISO_8601",
            ),
            (
                long_term().replace(";host;", ";"),
                "InvalidSignature: 'Host' must be a 'SignedHeader' in the AWS Authorization.",
            ),
            (
                long_term().replace("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA25"),
                "IncompleteSignature: Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA25' (only AWS4-HMAC-SHA256 for now). ",
            ),
            (
                long_term().replace(SCOPE, "a/b/c/d"),
                "IncompleteSignature: Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got 'a/b/c/d'",
            ),
            (
                long_term().replace("us-east-1/dynamodb", "nowhere/s3"),
                "InvalidSignature: Credential should be scoped to a valid region. Credential should be scoped to correct service: 'dynamodb'. ",
            ),
            (
                long_term().replace("localhost:8000", "dynamodb.eu-west-1.amazonaws.com"),
                "InvalidSignature: Credential should be scoped to a valid region. ",
            ),
            // The region fits, so the signature is compared.
            (
                long_term()
                    .replace("localhost:8000", "dynamodb.eu-west-1.amazonaws.com")
                    .replace("us-east-1/dynamodb", "eu-west-1/dynamodb"),
                mismatch,
            ),
            (
                long_term().replace("/aws4_request", "/e"),
                "InvalidSignature: Credential should be scoped with a valid terminator: 'aws4_request', not 'e'. ",
            ),
            (
                long_term().replace("/20260101/", "/20260102/"),
                "InvalidSignature: Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '20260102' != '20260101', from '20260101T000100Z'.",
            ),
        ];
        for (case, expected) in cases {
            let error = case.verify().unwrap_err();
            let found = format!("{:?}: {}", error.kind(), error.message().unwrap_or_default());
            assert_eq!(found, expected);
        }
        let incomplete = long_term().replace("Signature=63", "Signature");
        let text = incomplete.verify().unwrap_err();
        let text = text.message().unwrap_or_default().to_owned();
        assert!(
            text.starts_with("Invalid key=value pair (missing equal-sign) in Authorization header (hashed"),
            "{text}"
        );
        assert!(!text.contains("AKIA"), "{text}");
    }

    #[test]
    fn regions() {
        for (name, expected) in [
            ("us-east-1", true),
            ("us-gov-west-1", true),
            ("ap-southeast-12", true),
            ("local", true),
            ("localhost", true),
            ("ddblocal", true),
            ("locals", false),
            ("us-east", false),
            ("us-east-", false),
            ("nowhere", false),
            ("xx-east-1", false),
            ("us-East-1", false),
            ("us--1", false),
            ("us--east-1", false),
            ("us-1", false),
            ("us-east-1a", false),
            ("us-ea_st-1", false),
            ("eusc-de-east-1", true),
            ("", false),
        ] {
            assert_eq!(is_region(name), expected, "{name}");
        }
    }

    /// The signature itself is not signed where it is a parameter.
    #[test]
    fn parameters_are_sorted_and_encoded() {
        let (in_query, in_header) = (presigned(), long_term());
        for (case, query, expect) in [
            (&in_header, "", ""),
            (&in_header, "b=1&a", "a=&b=1"),
            (&in_header, "a=2&&a=1&a=%31%2f", "a=1&a=1%2F&a=2"),
            (&in_header, "b=x y&a=~-._*", "a=~-._%2A&b=x%20y"),
            (&in_header, "X-Amz-Signature=x&a=1", "X-Amz-Signature=x&a=1"),
            (&in_query, "X-Amz-Signature=x&a=1", "a=1"),
            (&in_query, "X-Amz-Signatures=x&a=1", "X-Amz-Signatures=x&a=1"),
        ] {
            let request = HttpRequest {
                method: "POST",
                target: &case.target,
                headers: &case.headers,
                body: case.body,
            };
            let signed = Signed::of(&request).unwrap();
            assert_eq!(signed.canonical_query(query), expect, "{query}");
        }
    }

    #[test]
    fn a_signed_header_has_a_date_of_its_own_or_of_the_request() {
        for (headers, expect) in [
            (&[][..], ""),
            (&[("date", "20260102T000000Z")], "20260102T000000Z"),
            (&[("x-amz-date", " 20260101T000000Z ")], "20260101T000000Z"),
            (
                &[("date", "20260102T000000Z"), ("x-amz-date", "20260101T000000Z")],
                "20260101T000000Z",
            ),
        ] {
            let case = case("/", headers, None);
            let request = HttpRequest {
                method: "POST",
                target: &case.target,
                headers: &case.headers,
                body: case.body,
            };
            assert_eq!(Signed::of(&request).unwrap().date, expect, "{headers:?}");
        }
    }

    #[test]
    fn a_session_token_is_in_the_query_or_a_header() {
        let without = presigned().replace("&X-Amz-Security-Token=session%2Ftoken%3D%3D", "");
        for (case, header, expect) in [
            (presigned(), None, Some(TOKEN)),
            (presigned(), Some("other"), Some(TOKEN)),
            (without.clone(), None, None),
            (without, Some("other"), Some("other")),
            (temporary(), None, Some(TOKEN)),
            (long_term(), None, None),
        ] {
            let mut headers = case.headers.clone();
            headers.extend(header.map(|token| ("x-amz-security-token".to_owned(), token.to_owned())));
            let request = HttpRequest {
                method: "POST",
                target: &case.target,
                headers: &headers,
                body: case.body,
            };
            let signed = Signed::of(&request).unwrap();
            assert_eq!(signed.token.as_deref(), expect, "{} {header:?}", case.target);
        }
    }

    #[test]
    fn hosts_of_aws_name_their_region() {
        for (host, expected) in [
            ("dynamodb.eu-west-1.amazonaws.com", Some("eu-west-1")),
            ("dynamodb.eu-west-1.amazonaws.com:443", Some("eu-west-1")),
            (
                "vpce-1a2b-3c4d.dynamodb.eu-west-1.vpce.amazonaws.com",
                Some("eu-west-1"),
            ),
            (
                "vpce-1a2b.dynamodb.cn-north-1.vpce.amazonaws.com.cn",
                Some("cn-north-1"),
            ),
            ("dynamodb.amazonaws.com", Some("us-east-1")),
            ("streams.dynamodb.us-east-1.amazonaws.com", Some("us-east-1")),
            ("dynamodb.cn-north-1.amazonaws.com.cn", Some("cn-north-1")),
            ("dynamodb.us-west-2.api.aws", Some("us-west-2")),
            ("localhost:8000", None),
            ("dynamodb.eu-west-1.example.com", None),
            ("", None),
        ] {
            assert_eq!(region_of_host(host), expected, "{host}");
        }
    }

    #[test]
    fn dates() {
        for (text, expected) in [
            ("20260101T000100Z", Some(SIGNED)),
            ("20260101t000100Z", None),
            ("20260101T000100z", None),
            ("2026010aT000100Z", None),
            ("20260101T0001 0Z", None),
            ("202601+1T000100Z", None),
            ("202é101T000100Z", None),
            ("20260101T00010Z", None),
            ("20260101T0001000Z", None),
            ("20260132T000100Z", None),
            ("", None),
        ] {
            assert_eq!(basic_date(text), expected, "{text}");
        }
        assert_eq!(basic_text(SIGNED + 3599), "20260101T010059Z");
        for (seconds, expected) in [
            (300, "5 min"),
            (60, "1 min"),
            (59, "59 sec"),
            (90, "90 sec"),
            (1, "1 sec"),
        ] {
            assert_eq!(minutes(seconds), expected);
        }
    }

    #[test]
    fn signatures_are_lowercase_digits() {
        for (text, expected) in [
            ("", Some(vec![])),
            ("00ff7a", Some(vec![0, 255, 0x7a])),
            ("00FF", None),
            ("0g", None),
            ("+1", None),
            ("0", None),
            ("00f", None),
            ("é", None),
        ] {
            assert_eq!(unhex(text), expected, "{text}");
        }
        assert_eq!(hex(&[0, 255, 0x7a]), "00ff7a");
    }

    #[test]
    fn keys_show_no_secret() {
        let shown = format!("{:?}", key(Some(TOKEN), None));
        assert!(!shown.contains(SECRET) && !shown.contains(TOKEN), "{shown}");
    }
}
