//! Requests that the SDK signs, against the server with configured principals.

use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::error::{DisplayErrorContext, ProvideErrorMetadata};
use aws_sdk_dynamodb::{Client, Config};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SignatureLocation, SigningSettings, sign};
use aws_sigv4::sign::v4;
use aws_smithy_async::time::StaticTimeSource;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use dynatwin_conformance::http::PlainHttp;
use dynatwin_conformance::target::Server;

const CONFIGURATION: &str = r#"{"accounts": {"123456789012": {
    "users": {"ann": {
        "policies": [{"Statement": {"Effect": "Allow", "Action": "dynamodb:ListTables", "Resource": "*"}}],
        "accessKeys": [{"accessKeyId": "AKIAANN", "secretAccessKey": "secret of ann"}],
        "sessions": [
            {"accessKeyId": "ASIAANN", "secretAccessKey": "session secret", "sessionToken": "session token"},
            {"accessKeyId": "ASIAOLD", "secretAccessKey": "old secret", "sessionToken": "old token", "expires": "2026-01-01T00:00:00Z"}
        ]
    }, "bob": {"accessKeys": [{"accessKeyId": "AKIABOB", "secretAccessKey": "secret of bob"}]}}
}}}"#;

/// A client whose requests reach the server whatever host they are for, and that may change signed bodies.
#[derive(Clone, Debug)]
struct Relay {
    http: PlainHttp,
    server: String,
    body: Option<&'static str>,
}

impl HttpConnector for Relay {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let host = request.uri().split('/').nth(2).unwrap_or_default().to_owned();
        request.headers_mut().insert("host", host);
        request.set_uri(self.server.clone()).unwrap();
        if let Some(body) = self.body {
            request.headers_mut().insert("content-length", body.len().to_string());
            *request.body_mut() = SdkBody::from(body);
        }
        self.http.call(request)
    }
}

impl HttpClient for Relay {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

struct Signer {
    key: (&'static str, &'static str, Option<&'static str>),
    region: &'static str,
    host: &'static str,
    /// By how many seconds its clock is ahead.
    ahead: i64,
    body: Option<&'static str>,
}

const ANN: Signer = Signer {
    key: ("AKIAANN", "secret of ann", None),
    region: "us-east-1",
    host: "localhost",
    ahead: 0,
    body: None,
};

fn now(ahead: i64) -> SystemTime {
    let by = Duration::from_secs(ahead.unsigned_abs());
    if ahead < 0 {
        SystemTime::now() - by
    } else {
        SystemTime::now() + by
    }
}

impl Signer {
    /// Returns what a ListTables gets: the error's code and message, or `listed`.
    async fn list(&self, server: &str) -> String {
        let (id, secret, token) = self.key;
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(self.region))
            .credentials_provider(Credentials::new(id, secret, token.map(str::to_owned), None, "test"))
            .endpoint_url(format!("http://{}", self.host))
            .retry_config(RetryConfig::disabled())
            .time_source(StaticTimeSource::new(now(self.ahead)))
            .http_client(Relay {
                http: PlainHttp::new(),
                server: server.to_owned(),
                body: self.body,
            });
        match Client::from_conf(config.build()).list_tables().send().await {
            Ok(_) => "listed".to_owned(),
            Err(error) => {
                let code = error
                    .code()
                    .unwrap_or_else(|| panic!("{}", DisplayErrorContext(&error)));
                format!("{code}: {}", error.message().unwrap_or_default())
            }
        }
    }
}

#[tokio::test]
async fn requests_of_the_sdk_are_verified() {
    let server = Server::start_with_access(7, CONFIGURATION).await.unwrap();
    let session = Signer {
        key: ("ASIAANN", "session secret", Some("session token")),
        ..ANN
    };
    let with = |id, secret, token| Signer {
        key: (id, secret, token),
        ..ANN
    };
    let mismatch =
        "InvalidSignatureException: The request signature we calculated does not match the signature you provided.";
    let unknown = "UnrecognizedClientException: The security token included in the request is invalid";
    let region = "InvalidSignatureException: Credential should be scoped to a valid region.";
    for (what, signer, expect) in [
        ("a user", ANN, "listed"),
        ("a session", session, "listed"),
        (
            "another region",
            Signer {
                region: "eu-west-1",
                ..ANN
            },
            "listed",
        ),
        ("a clock four minutes behind", Signer { ahead: -240, ..ANN }, "listed"),
        (
            "a user without policies",
            with("AKIABOB", "secret of bob", None),
            "AccessDeniedException: User: arn:aws:iam::123456789012:user/bob is not",
        ),
        ("a wrong secret", with("AKIAANN", "secret of bob", None), mismatch),
        (
            "a wrong session secret",
            with("ASIAANN", "secret of ann", Some("session token")),
            mismatch,
        ),
        ("an unknown key", with("AKIAEVE", "secret of ann", None), unknown),
        (
            "a wrong token",
            with("ASIAANN", "session secret", Some("old token")),
            unknown,
        ),
        ("a missing token", with("ASIAANN", "session secret", None), unknown),
        (
            "a token beside a key of a user",
            with("AKIAANN", "secret of ann", Some("session token")),
            unknown,
        ),
        (
            "an expired token",
            with("ASIAOLD", "old secret", Some("old token")),
            "ExpiredTokenException: The security token included in the request is expired",
        ),
        (
            "a clock ten minutes behind",
            Signer { ahead: -600, ..ANN },
            "InvalidSignatureException: Signature expired: ",
        ),
        (
            "a clock ten minutes ahead",
            Signer { ahead: 600, ..ANN },
            "InvalidSignatureException: Signature not yet current: ",
        ),
        (
            "no region",
            Signer {
                region: "nowhere",
                ..ANN
            },
            region,
        ),
        (
            "the region of another endpoint",
            Signer {
                host: "dynamodb.eu-west-1.amazonaws.com",
                ..ANN
            },
            region,
        ),
        (
            "the region of its endpoint",
            Signer {
                host: "dynamodb.us-east-1.amazonaws.com",
                ..ANN
            },
            "listed",
        ),
        (
            "a changed body",
            Signer {
                body: Some(r#"{"Limit":1}"#),
                ..ANN
            },
            mismatch,
        ),
    ] {
        let found = signer.list(server.url()).await;
        assert!(found.starts_with(expect), "{what}: {found}");
        assert!(
            !found.contains("secret") && !found.contains("session token"),
            "{what}: {found}"
        );
    }
}

/// Returns the answer to a ListTables whose signature is in the query.
async fn presigned(
    server: &str,
    (id, secret, token): (&str, &str, Option<&str>),
    ahead: i64,
    change: (&str, &str),
) -> String {
    let identity = Credentials::new(id, secret, token.map(str::to_owned), None, "test").into();
    let mut settings = SigningSettings::default();
    settings.signature_location = SignatureLocation::QueryParams;
    settings.expires_in = Some(Duration::from_mins(1));
    let parameters = v4::SigningParams::builder()
        .identity(&identity)
        .region("us-east-1")
        .name("dynamodb")
        .time(now(ahead))
        .settings(settings)
        .build()
        .unwrap()
        .into();
    let headers = [
        ("content-type", "application/x-amz-json-1.0"),
        ("x-amz-target", "DynamoDB_20120810.ListTables"),
    ];
    let mut request = http::Request::post(format!("{server}/"));
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let mut request = request.body(b"{}".to_vec()).unwrap();
    let uri = request.uri().to_string();
    let signable = SignableRequest::new("POST", uri, headers.into_iter(), SignableBody::Bytes(b"{}")).unwrap();
    let (instructions, _) = sign(signable, &parameters).unwrap().into_parts();
    instructions.apply_to_request_http1x(&mut request);
    *request.uri_mut() = request.uri().to_string().replace(change.0, change.1).parse().unwrap();
    let (status, body) = PlainHttp::new().post(request).await.unwrap();
    format!("{status} {}", String::from_utf8_lossy(&body))
}

#[tokio::test]
async fn presigned_requests_are_verified() {
    let server = Server::start_with_access(7, CONFIGURATION).await.unwrap();
    let (ann, session) = (
        ("AKIAANN", "secret of ann", None),
        ("ASIAANN", "session secret", Some("session token")),
    );
    for (what, key, ahead, change, expect) in [
        ("a user", ann, 0, ("", ""), "200 {\"TableNames\""),
        ("a session", session, 0, ("", ""), "200 {\"TableNames\""),
        (
            "a wrong secret",
            ("AKIAANN", "wrong", None),
            0,
            ("", ""),
            "InvalidSignatureException",
        ),
        (
            "another expiry",
            ann,
            0,
            ("X-Amz-Expires=60", "X-Amz-Expires=600"),
            "The request signature we calculated does not match",
        ),
        (
            "another key",
            ann,
            0,
            ("AKIAANN", "AKIABOB"),
            "The request signature we calculated does not match",
        ),
        ("an old one", ann, -3600, ("", ""), "Signature expired"),
        ("a future one", ann, 3600, ("", ""), "Signature not yet current"),
    ] {
        let found = presigned(server.url(), key, ahead, change).await;
        assert!(found.contains(expect), "{what}: {found}");
    }
}
