//! Raw requests: an operation and a JSON body, answered with status and JSON. The SDK refuses to send requests that it
//! knows to be invalid, which are the subject of many cases.

use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use dynatwin::Twin;
use dynatwin_case::{Conditions, Reply};
use dynatwin_engine::Caller;
use http::Request;

use crate::check::{Failure, Outcome};
use crate::http::PlainHttp;

/// The timeout of an answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// The entry point for the requests of one account.
///
/// ```
/// use dynatwin_conformance::raw_client::RawClient;
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let reply = RawClient::twin(dynatwin::Twin::new()).send("ListTables", b"{}").await?;
/// assert_eq!((reply.status, reply.error()), (200, None));
/// # Ok::<(), dynatwin_conformance::check::Failure>(())
/// # }).unwrap();
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RawClient(TargetClient);

#[derive(Clone, Debug)]
enum TargetClient {
    Twin(Twin),
    Http(Box<Remote>),
}

#[derive(Clone, Debug)]
struct Remote {
    http: PlainHttp,
    url: String,
    region: String,
    credentials: Credentials,
}

impl RawClient {
    /// The entry point of a twin in this process.
    pub fn twin(twin: Twin) -> RawClient {
        RawClient(TargetClient::Twin(twin))
    }

    /// The entry point of an endpoint, with these credentials.
    pub fn http(http: PlainHttp, url: String, region: String, credentials: Credentials) -> RawClient {
        RawClient(TargetClient::Http(Box::new(Remote {
            http,
            url,
            region,
            credentials,
        })))
    }

    /// Returns whether it is a twin in this process.
    pub fn is_twin(&self) -> bool {
        matches!(self.0, TargetClient::Twin(_))
    }

    /// Advances the clock of a target that has the controls.
    pub fn advance(&self, by: Duration) -> Outcome {
        self.of_twin()?.clock().advance(by);
        Ok(())
    }

    /// Applies a case's conditions to the twin.
    pub fn set_conditions(&self, wanted: &Conditions) -> Outcome {
        let name = wanted.name.as_deref().unwrap_or("calm");
        let named = dynatwin::Conditions::named(name);
        let mut conditions = named.ok_or_else(|| Failure::new(format!("there are no conditions {name}")))?;
        if wanted.enforce_capacity {
            conditions.capacity = dynatwin::Conditions::AWS.capacity;
        }
        if let Some(size) = wanted.item_collection_size {
            conditions.item_collection_size = size;
        }
        Ok(self.of_twin()?.set_conditions(conditions)?)
    }

    fn of_twin(&self) -> Outcome<&Twin> {
        match &self.0 {
            TargetClient::Twin(twin) => Ok(twin),
            TargetClient::Http(_) => Err(Failure::new("there is no twin here")),
        }
    }

    /// Sends a request to the default region. `operation` is a name alone, or with its service's target.
    pub async fn send(&self, operation: &str, body: &[u8]) -> Outcome<Reply> {
        self.send_to(None, operation, body).await
    }

    /// Sends a request and waits for the answer.
    pub async fn send_to(&self, region: Option<&str>, operation: &str, body: &[u8]) -> Outcome<Reply> {
        let target = if operation.contains('.') {
            operation.to_owned()
        } else {
            format!("{}.{operation}", service(operation))
        };
        match &self.0 {
            TargetClient::Twin(twin) => {
                let caller = Caller {
                    access_key: "conformance".into(),
                    region: region.unwrap_or("us-east-1").into(),
                };
                let answer = twin.engine().dispatch(&caller, &target, body);
                Ok(Reply::new(answer.status, &answer.body))
            }
            TargetClient::Http(remote) => {
                let request = remote.signed(region, &target, body)?;
                let exchange = tokio::time::timeout(PATIENCE, remote.http.post(request)).await;
                let late = |_| Failure::new(format!("{operation}: no answer within {} s", PATIENCE.as_secs()));
                let answer = exchange.map_err(late).flatten();
                let (status, body) = answer.map_err(Failure::of_transport)?;
                Ok(Reply::new(status, &body))
            }
        }
    }
}

/// Returns the target prefix of the service that has this operation.
fn service(operation: &str) -> &'static str {
    match operation {
        "DescribeStream" | "GetRecords" | "GetShardIterator" | "ListStreams" => "DynamoDBStreams_20120810",
        _ => "DynamoDB_20120810",
    }
}

impl Remote {
    fn signed(&self, region: Option<&str>, target: &str, body: &[u8]) -> Outcome<Request<Vec<u8>>> {
        let mut request = Request::post(&self.url)
            .header("content-type", "application/x-amz-json-1.0")
            .header("x-amz-target", target)
            .body(body.to_vec())?;
        let identity = self.credentials.clone().into();
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(region.unwrap_or(&self.region))
            .name("dynamodb")
            .time(SystemTime::now())
            .settings(SigningSettings::default())
            .build()?
            .into();
        let headers = request.headers().iter();
        let headers = headers.map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default()));
        let signable = SignableRequest::new("POST", &self.url, headers, SignableBody::Bytes(body))?;
        let (instructions, _) = sign(signable, &parameters)?.into_parts();
        instructions.apply_to_request_http1x(&mut request);
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote() -> RawClient {
        let credentials = Credentials::new("AKIATEST", "secret", None, None, "test");
        // Nothing listens there.
        let url = "http://127.0.0.1:1".to_owned();
        RawClient::http(PlainHttp::new(), url, "eu-north-1".to_owned(), credentials)
    }

    #[test]
    fn requests_are_signed_for_their_region() {
        let TargetClient::Http(remote) = remote().0 else {
            panic!("a remote endpoint");
        };
        for (region, scope) in [
            (None, "/eu-north-1/dynamodb/"),
            (Some("ap-south-1"), "/ap-south-1/dynamodb/"),
        ] {
            let request = remote.signed(region, "DynamoDB_20120810.ListTables", b"{}").unwrap();
            let signature = request.headers()["authorization"].to_str().unwrap();
            assert!(
                signature.contains("Credential=AKIATEST/") && signature.contains(scope),
                "{signature}"
            );
            assert_eq!(request.headers()["x-amz-target"], "DynamoDB_20120810.ListTables");
        }
    }

    #[tokio::test]
    async fn a_request_without_an_answer_is_a_failure_of_the_transport() {
        let failure = remote().send("ListTables", b"{}").await.unwrap_err();
        assert!(failure.is_of_transport(), "{failure}");
        let failure = remote().advance(Duration::from_secs(1)).unwrap_err();
        assert!(!failure.is_of_transport(), "{failure}");
    }

    #[test]
    fn operations_have_the_targets_of_their_services() {
        for (operation, expected) in [
            ("GetRecords", "DynamoDBStreams_20120810"),
            ("ListStreams", "DynamoDBStreams_20120810"),
            ("DescribeStream", "DynamoDBStreams_20120810"),
            ("GetShardIterator", "DynamoDBStreams_20120810"),
            ("DescribeTable", "DynamoDB_20120810"),
        ] {
            assert_eq!(service(operation), expected, "{operation}");
        }
    }
}
