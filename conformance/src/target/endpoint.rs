//! A target at a URL.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};

use super::{Session, Target};
use crate::check::{Outcome, ensure};
use crate::http::PlainHttp;
use crate::raw_client::RawClient;

/// An endpoint that is already running.
///
/// Region and credentials are those of the environment (`AWS_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
/// `AWS_SESSION_TOKEN`), or dummies. Requests to streams go to the same URL, or to `AWS_ENDPOINT_URL_DYNAMODB_STREAMS`.
///
/// ```
/// use dynatwin_conformance::target::Endpoint;
///
/// assert!(Endpoint::new("http://127.0.0.1:8000".to_owned()).is_ok());
/// assert!(Endpoint::new("https://dynamodb.us-east-1.amazonaws.com".to_owned()).is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Endpoint {
    url: String,
    client: Client,
    streams: aws_sdk_dynamodbstreams::Client,
    http: PlainHttp,
    prefix: Option<String>,
    shared: bool,
}

impl Endpoint {
    /// The endpoint at this URL. This client has no TLS: an `https` endpoint needs a proxy in front of it.
    pub fn new(url: String) -> Outcome<Endpoint> {
        ensure(
            url.starts_with("http://"),
            format!("{url}: only http:// endpoints can be reached"),
        )?;
        let http = PlainHttp::new();
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(region()))
            .credentials_provider(credentials())
            .endpoint_url(&url)
            .http_client(http.clone());
        let streams = aws_sdk_dynamodbstreams::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(region()))
            .credentials_provider(credentials())
            .endpoint_url(environment("AWS_ENDPOINT_URL_DYNAMODB_STREAMS").unwrap_or_else(|| url.clone()))
            .http_client(http.clone());
        Ok(Endpoint {
            client: Client::from_conf(config.build()),
            streams: aws_sdk_dynamodbstreams::Client::from_conf(streams.build()),
            url,
            http,
            prefix: None,
            shared: false,
        })
    }

    /// An endpoint that others may use: the names of tables start with this prefix, which may be empty, otherwise with
    /// a generated one.
    #[must_use]
    pub fn shared(mut self, prefix: Option<String>) -> Endpoint {
        // An identifier, so that statements need no quotes around names.
        let own = || format!("dynatwin_{:x}_", std::process::id());
        self.prefix = Some(prefix.unwrap_or_else(own)).filter(|prefix| !prefix.is_empty());
        self.shared = true;
        self
    }

    /// Fails if there is no answer, so that a wrong URL is one failure instead of one for each case.
    pub async fn check_reachable(&self) -> Outcome {
        let listed = RawClient::http(self.http.clone(), self.url.clone(), region(), credentials());
        listed.send("ListTables", b"{\"Limit\":1}").await.map(drop)
    }

    /// A client for raw requests as a caller with this access key, for an endpoint that was started here and accepts
    /// every signature.
    pub(super) fn raw_client_of(&self, account: &str) -> RawClient {
        let credentials = Credentials::new(account, "conformance", None, None, "made up");
        RawClient::http(self.http.clone(), self.url.clone(), region(), credentials)
    }

    /// A client of this endpoint.
    pub fn client(&self) -> Client {
        self.client.clone()
    }
}

impl Target for Endpoint {
    fn name(&self) -> &str {
        &self.url
    }

    fn session(&self) -> Session {
        Session {
            client: self.client(),
            streams: self.streams.clone(),
            twin: None,
            table_prefix: self.prefix.clone().unwrap_or_else(|| "dynatwin-".to_owned()),
        }
    }

    fn raw_client(&self, account: &str) -> Option<RawClient> {
        // Without a prefix, different access keys keep the tables of cases apart.
        if self.shared && self.prefix.is_none() && !has_credentials() {
            return Some(self.raw_client_of(account));
        }
        Some(RawClient::http(
            self.http.clone(),
            self.url.clone(),
            region(),
            credentials(),
        ))
    }

    fn table_prefix(&self) -> Option<String> {
        self.prefix.clone()
    }

    fn is_shared(&self) -> bool {
        self.shared
    }
}

fn region() -> String {
    environment("AWS_REGION").unwrap_or_else(|| "us-east-1".to_owned())
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn has_credentials() -> bool {
    environment("AWS_ACCESS_KEY_ID").is_some() && environment("AWS_SECRET_ACCESS_KEY").is_some()
}

fn credentials() -> Credentials {
    let key = environment("AWS_ACCESS_KEY_ID").zip(environment("AWS_SECRET_ACCESS_KEY"));
    let token = environment("AWS_SESSION_TOKEN").filter(|_| key.is_some());
    let (id, secret) = key.unwrap_or_else(|| ("conformance".to_owned(), "conformance".to_owned()));
    Credentials::new(id, secret, token, None, "environment")
}
