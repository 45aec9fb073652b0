use super::*;

const JSON: (&str, &str) = ("content-type", "application/x-amz-json-1.0");
const TARGET: (&str, &str) = ("x-amz-target", "DynamoDB_20120810.GetItem");
const DATE: (&str, &str) = ("x-amz-date", "20260101T000000Z");
const SIGNED: (&str, &str) = (
    "authorization",
    "AWS4-HMAC-SHA256 Credential=KEY/20260101/eu-west-1/dynamodb/aws4_request, SignedHeaders=host, Signature=00",
);
const ORIGIN: (&str, &str) = ("origin", "http://localhost:3000");
const MISSING: &str = r#"{"__type":"com.amazon.coral.service#MissingAuthenticationTokenException","message":"Request is missing Authentication Token"}"#;
const UNKNOWN: &str = r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#;
const NO_JSON: &str = r#"{"__type":"com.amazon.coral.service#SerializationException"}"#;

/// Opens the envelope: the answer, or what is to be carried out as text.
#[allow(clippy::result_large_err)]
fn opened(method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<String, Answer> {
    let headers: Vec<(String, String)> = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let request = HttpRequest {
        method,
        target,
        headers: &headers,
        body,
    };
    let known = |service, operation: &str| service == Service::DynamoDb && operation == "GetItem";
    match open(&request, &RequestIds::new(1), Moment::START, known) {
        Envelope::Call(call) => Ok(format!(
            "{} {} {} {}",
            call.caller.access_key,
            call.caller.region,
            call.operation,
            String::from_utf8_lossy(&call.body)
        )),
        Envelope::HealthCheck(form) => Err(close_health_check(
            &form,
            HealthCheck::Healthy,
            &RequestIds::new(1),
            Moment::START,
        )),
        Envelope::Answered(answer) => Err(answer),
        Envelope::Control(control) => panic!("{control:?}"),
    }
}

fn check(method: &str, target: &str, headers: &[(&str, &str)], body: &str, status: u16, expect: &str) {
    let answer = opened(method, target, headers, body.as_bytes()).unwrap_err();
    assert_eq!(
        (answer.status, String::from_utf8_lossy(&answer.body).as_ref()),
        (status, expect),
        "{method} {target} {headers:?} {body}"
    );
    assert_eq!(answer.header("x-amzn-requestid").map(str::len), Some(52));
    assert_eq!(
        answer.header("x-amz-crc32"),
        Some(crc32(&answer.body).to_string().as_str())
    );
    assert!(
        answer
            .headers
            .iter()
            .all(|(name, _)| !name.starts_with("access-control")),
        "CORS is the server's"
    );
}

#[test]
fn methods_paths_and_types() {
    let not_found = "<UnknownOperationException/>\n";
    let healthy = "healthy: dynamodb.us-east-1.amazonaws.com ";
    for (method, target, headers, body, status, expect) in [
        ("GET", "/", &[][..], "", 200, healthy),
        ("GET", "/?x", &[ORIGIN], "", 200, healthy),
        ("GET", "/healthy", &[ORIGIN], "", 404, not_found),
        ("PUT", "/", &[JSON], "{}", 404, not_found),
        ("DELETE", "/", &[], "", 404, not_found),
        ("HEAD", "/", &[], "", 200, healthy),
        ("HEAD", "/healthy", &[], "", 404, not_found),
        ("PATCH", "/", &[], "", 404, not_found),
        ("OPTIONS", "/", &[], "", 404, not_found),
        ("OPTIONS", "/", &[ORIGIN], "", 200, ""),
        ("OPTIONS", "/?x", &[ORIGIN], "", 200, ""),
        ("OPTIONS", "/other", &[ORIGIN], "", 404, not_found),
        ("GET", "/other?/", &[], "", 404, not_found),
        ("POST", "/?x", &[JSON], "{}", 400, UNKNOWN),
        ("POST", "/other", &[JSON, TARGET, SIGNED, DATE], "{}", 404, not_found),
        ("POST", "/", &[TARGET, SIGNED, DATE], "{}", 404, not_found),
        (
            "POST",
            "/",
            &[("content-type", "application/jsonasdf")],
            "{}",
            404,
            not_found,
        ),
        (
            "POST",
            "/",
            &[("content-type", "application/x-amz-json-1.1")],
            "{}",
            404,
            not_found,
        ),
        ("POST", "/", &[], "", 400, UNKNOWN),
        ("POST", "/", &[TARGET], "", 400, MISSING),
        ("POST", "/", &[JSON], "{}", 400, UNKNOWN),
        ("POST", "/", &[JSON, ORIGIN], "{}", 400, UNKNOWN),
        ("POST", "/", &[JSON], "{", 400, NO_JSON),
        ("POST", "/", &[JSON, TARGET], "{", 400, NO_JSON),
        ("POST", "/", &[JSON, TARGET], "{}", 400, MISSING),
        (
            "POST",
            "/",
            &[JSON, ("x-amz-target", "DynamoDB_20120810.getItem"), SIGNED, DATE],
            "{}",
            400,
            UNKNOWN,
        ),
        (
            "POST",
            "/",
            &[JSON, ("x-amz-target", "DynamoDB_20111205.GetItem"), SIGNED, DATE],
            "[]",
            400,
            UNKNOWN,
        ),
        (
            "POST",
            "/",
            &[JSON, ("x-amz-target", "GetItem"), SIGNED, DATE],
            "{}",
            400,
            UNKNOWN,
        ),
        (
            "POST",
            "/",
            &[JSON, ("x-amz-target", "DynamoDBStreams_20120810.GetItem"), SIGNED, DATE],
            "{}",
            400,
            UNKNOWN,
        ),
    ] {
        check(method, target, headers, body, status, expect);
    }
    assert_eq!(crc32(NOT_FOUND), 3_552_371_480);
    assert_eq!(crc32(MISSING.as_bytes()), 2_088_342_776);
}

#[test]
fn calls() {
    for content_type in ["application/x-amz-json-1.0", " application/json ; charset=latin1"] {
        let headers = [("content-type", content_type), TARGET, SIGNED, DATE];
        assert_eq!(
            opened("POST", "/", &headers, b"{x").unwrap(),
            "KEY eu-west-1 GetItem {x"
        );
    }
    let zipped = {
        let mut body = vec![b' '; 5000];
        compress(&mut body, Some(b"gzip"));
        body
    };
    let headers = [JSON, TARGET, SIGNED, DATE, ("content-encoding", "gzip")];
    assert!(
        opened("POST", "/", &headers, &zipped)
            .unwrap()
            .ends_with(&" ".repeat(5000))
    );
    let answer = opened("POST", "/", &headers, b"{}").unwrap_err();
    assert_eq!(answer.status, 500);
}

#[test]
fn bodies_above_the_limit() {
    let headers = [JSON, TARGET, SIGNED, DATE];
    assert!(opened("POST", "/", &headers, &vec![b' '; limits::REQUEST_BODY]).is_ok());
    for method in ["POST", "PUT"] {
        let answer = opened(method, "/", &headers, &vec![b' '; limits::REQUEST_BODY + 1]).unwrap_err();
        assert_eq!((answer.status, answer.body.len()), (413, 0));
    }
    let headers = [JSON, TARGET, SIGNED, DATE, ("content-encoding", "gzip")];
    for (length, status) in [(limits::REQUEST_BODY, None), (limits::REQUEST_BODY + 1, Some(413))] {
        let mut body = vec![b' '; length];
        compress(&mut body, Some(b"gzip"));
        let answer = opened("POST", "/", &headers, &body).err();
        assert_eq!(answer.map(|answer| answer.status), status, "{length}");
    }
}

#[test]
fn exceptions_have_the_package_of_the_layer_that_raises_them() {
    for kind in ErrorKind::ALL {
        let error = ApiError::without_message(kind);
        let expect = match kind {
            ErrorKind::Validation => "com.amazon.coral.validate",
            ErrorKind::Serialization
            | ErrorKind::UnknownOperation
            | ErrorKind::AccessDenied
            | ErrorKind::MissingAuthenticationToken
            | ErrorKind::IncompleteSignature
            | ErrorKind::InvalidSignature
            | ErrorKind::UnrecognizedClient
            | ErrorKind::ExpiredToken
            | ErrorKind::ServiceUnavailable
            | ErrorKind::Throttling => "com.amazon.coral.service",
            _ => "com.amazonaws.dynamodb.v20120810",
        };
        let name = match kind {
            ErrorKind::RequestLimitExceeded | ErrorKind::InternalServerError | ErrorKind::ServiceUnavailable => {
                format!("{kind:?}")
            }
            _ => format!("{kind:?}Exception"),
        };
        let answer = close_error(&AnswerFormat::default(), &error, &RequestIds::new(1), Moment::START);
        let body = String::from_utf8(answer.body).unwrap();
        assert!(
            body.starts_with(&format!("{{\"__type\":\"{expect}#{name}\"")),
            "{kind:?}: {body}"
        );
        let status = match kind {
            ErrorKind::InternalServerError => 500,
            ErrorKind::ServiceUnavailable => 503,
            _ => 400,
        };
        assert_eq!(answer.status, status, "{kind:?}");
    }
}

#[test]
fn snapshots_may_exceed_the_limit_of_bodies() {
    let body = vec![0; limits::REQUEST_BODY + 1];
    let headers = [("host", "localhost"), ("content-type", "application/octet-stream")];
    let request = HttpRequest {
        method: "PUT",
        target: "/_dynatwin/snapshot",
        headers: &headers,
        body: &body,
    };
    let opened = open(&request, &RequestIds::new(1), Moment::START, |_, _| true);
    assert!(matches!(opened, Envelope::Control(call) if call.body.is_ok()));
}

#[test]
fn health_checks() {
    let ids = RequestIds::new(1);
    let form = AnswerFormat::default();
    let healthy = close_health_check(&form, HealthCheck::Healthy, &ids, Moment::START);
    assert_eq!((healthy.status, healthy.body.len()), (200, 42));
    let refused = close_health_check(&form, HealthCheck::Refused, &ids, Moment::START);
    assert_eq!((refused.status, refused.body.as_slice()), (400, MISSING.as_bytes()));
    assert_eq!(refused.header("content-type"), Some("application/x-amz-json-1.0"));
}

#[test]
fn answers_are_closed() {
    let ids = RequestIds::new(1);
    let form = AnswerFormat {
        content_type: Some("application/json"),
        accept_encoding: Some(b"deflate"),
    };
    let plain = close(&form, 200, b"{}".to_vec(), &ids, Moment::START);
    assert_eq!(plain.header("x-amz-crc32"), Some("2745614147"));
    assert_eq!(plain.header("content-type"), Some("application/json"));
    assert_eq!(plain.header("content-encoding"), None);
    let long = close(&form, 200, vec![b'a'; 4096], &ids, Moment::START);
    assert_eq!(long.header("content-encoding"), Some("deflate"));
    assert_eq!(inflated(&long.body, Some(b"deflate")).unwrap(), vec![b'a'; 4096]);
    assert_eq!(long.header("x-amz-crc32"), Some(crc32(&long.body).to_string().as_str()));
    let error = close_error(&AnswerFormat::default(), &ApiError::internal(), &ids, Moment::START);
    assert_eq!(
        (error.status, error.header("content-type")),
        (500, Some("application/x-amz-json-1.0"))
    );
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_request_panics(
            method in "GET|POST|OPTIONS|.{0,4}",
            target in "/|/_dynatwin.{0,9}|/\\?(X-Amz-(Algorithm|Credential|Date)=[%a-f/]{0,6}&?){0,4}|.{0,9}",
            content_type in "application/json|.{0,9}",
            coding in "gzip|deflate|.{0,6}",
            accept in "(gzip|deflate|\\*|,|;|q=|0.5| |é){0,9}",
            authorization in "AWS4-(Credential=|Signature=|[ ,/=aé]){0,9}|.{0,9}",
            body in proptest::collection::vec(any::<u8>(), 0..60),
            length in prop_oneof![Just(0usize), Just(4096), 0usize..10_000],
        ) {
            let headers = [
                ("content-type", content_type.as_str()),
                ("content-encoding", coding.as_str()),
                ("accept-encoding", accept.as_str()),
                ("authorization", authorization.as_str()),
                TARGET,
                DATE,
            ];
            let request = HttpRequest { method: &method, target: &target, headers: &headers, body: &body };
            let ids = RequestIds::new(1);
            let form = match open(&request, &ids, Moment::START, |_, _| true) {
                Envelope::Call(call) => call.form,
                Envelope::Control(control) => control.form,
                Envelope::HealthCheck(form) => form,
                Envelope::Answered(_) => AnswerFormat { accept_encoding: Some(accept.as_bytes()), ..AnswerFormat::default() },
            };
            let answer = close(&form, 200, vec![b'a'; length], &ids, Moment::START);
            let plain = inflated(&answer.body, answer.header("content-encoding").map(str::as_bytes));
            prop_assert_eq!(plain.map(|body| body.len()), Ok(length));
        }
    }
}
