//! The SDK's HTTP client, implemented by the engine: no socket, no thread.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use bytes::Bytes;
use dynatwin_engine::Engine;
use dynatwin_engine::http::{self, Answer, Delivery};
use http_body::{Body, Frame, SizeHint};

use crate::clock::TwinClock;

/// How long a client without a read timeout waits for an answer that never arrives.
const PATIENCE: Duration = Duration::from_mins(1);

/// The engine as the SDK's HTTP client and connector.
#[derive(Clone)]
pub(crate) struct Connector {
    engine: Arc<Engine>,
    clock: TwinClock,
    read_timeout: Option<Duration>,
    /// Headers that are added to every request.
    headers: Arc<[(&'static str, String)]>,
}

impl Connector {
    pub(crate) fn new(engine: Arc<Engine>, clock: TwinClock) -> Connector {
        Connector {
            engine,
            clock,
            read_timeout: None,
            headers: Arc::default(),
        }
    }

    /// Adds headers to every request.
    pub(crate) fn with_headers(self, headers: Arc<[(&'static str, String)]>) -> Connector {
        Connector { headers, ..self }
    }

    fn answer(&self, request: &HttpRequest, body: &[u8]) -> Answer {
        self.engine.handle(&http::HttpRequest {
            method: request.method(),
            target: target(request.uri()),
            headers: &Headers(request, &self.headers),
            body,
        })
    }

    /// Delivers an answer as its `at` and `delivery` define.
    fn deliver(self, answer: Answer) -> HttpConnectorFuture {
        let wait = answer.at.since(self.clock.now());
        if wait.is_zero() && answer.delivery != Delivery::Lost {
            return HttpConnectorFuture::ready(http_response(answer));
        }
        HttpConnectorFuture::new(self.deliver_later(answer, wait))
    }

    async fn deliver_later(self, answer: Answer, wait: Duration) -> Result<HttpResponse, ConnectorError> {
        if answer.delivery == Delivery::Lost {
            self.clock.sleep(self.read_timeout.unwrap_or(PATIENCE)).await;
            return Err(timed_out());
        }
        let patience = self.read_timeout.unwrap_or(Duration::MAX);
        self.clock.sleep(wait.min(patience)).await;
        if wait > patience {
            return Err(timed_out());
        }
        http_response(answer)
    }

    /// Collects a body that the SDK provides as a stream.
    async fn collect(self, mut request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let body = ByteStream::new(request.take_body())
            .collect()
            .await
            .map_err(|error| ConnectorError::user(error.into()))?;
        let answer = self.answer(&request, &body.into_bytes());
        self.deliver(answer).await
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        match request.body().bytes() {
            Some(body) => self.clone().deliver(self.answer(&request, body)),
            None => HttpConnectorFuture::new(self.clone().collect(request)),
        }
    }
}

impl HttpClient for Connector {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(Connector {
            read_timeout: settings.read_timeout(),
            ..self.clone()
        })
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Connector")
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}

/// Returns the path and query of a URI.
fn target(uri: &str) -> &str {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    rest.find('/').map_or("/", |at| &rest[at..])
}

/// Returns the host and port of a URI, the value of HTTP's `Host` header: the SDK signs that header, but leaves sending
/// it to the HTTP client.
fn authority(uri: &str) -> Option<&str> {
    let (_, rest) = uri.split_once("://")?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    Some(&rest[..end]).filter(|authority| !authority.is_empty())
}

/// The request's headers, as the engine looks them up.
struct Headers<'a>(&'a HttpRequest, &'a [(&'static str, String)]);

impl http::Headers for Headers<'_> {
    fn get(&self, name: &str) -> Option<&[u8]> {
        if let Some((_, value)) = self.1.iter().find(|(known, _)| *known == name) {
            return Some(value.as_bytes());
        }
        let sent = self.0.headers().get_bytes(name);
        sent.or_else(|| authority(self.0.uri()).filter(|_| name == "host").map(str::as_bytes))
    }

    fn joined(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let sent: Vec<&[u8]> = self.0.headers().get_all_bytes(name).collect();
        match sent.as_slice() {
            [_, _, ..] if self.1.iter().all(|(known, _)| *known != name) => Some(Cow::Owned(sent.join(&b','))),
            _ => self.get(name).map(Cow::Borrowed),
        }
    }
}

fn http_response(answer: Answer) -> Result<HttpResponse, ConnectorError> {
    let body = match answer.delivery {
        Delivery::Reset => {
            return Err(ConnectorError::io(
                io::Error::from(io::ErrorKind::ConnectionReset).into(),
            ));
        }
        Delivery::Truncated(length) if length < answer.body.len() => SdkBody::from_body_1_x(Broken {
            promised: answer.body.len() as u64,
            rest: Some(Bytes::from(answer.body).slice(..length)),
        }),
        _ => SdkBody::from(answer.body),
    };
    let status = StatusCode::try_from(answer.status).map_err(unreadable)?;
    let mut response = HttpResponse::new(status, body);
    for (name, value) in answer.headers.iter() {
        response
            .headers_mut()
            .try_append(name.to_owned(), value.to_owned())
            .map_err(unreadable)?;
    }
    Ok(response)
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> ConnectorError {
    ConnectorError::other(Box::new(error), None)
}

fn timed_out() -> ConnectorError {
    ConnectorError::timeout(io::Error::new(io::ErrorKind::TimedOut, "no answer arrived").into())
}

/// A body that ends before its promised length.
struct Broken {
    promised: u64,
    rest: Option<Bytes>,
}

impl Body for Broken {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        Poll::Ready(Some(match self.rest.take() {
            Some(bytes) => Ok(Frame::data(bytes)),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.promised)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dynatwin_engine::faults::{Rule, Verdict};
    use dynatwin_engine::http::{AnswerHeaders, Headers as _, StillDelay};

    use crate::twin::Twin;

    /// Those that are added precede those of the SDK; of several values the first counts, and signatures cover all.
    #[test]
    fn headers_of_a_request() {
        let mut request = HttpRequest::empty();
        request.set_uri("http://localhost:8000/").unwrap();
        for (name, value) in [
            ("x-one", "a"),
            ("x-two", "b"),
            ("x-two", "c"),
            ("x-added", "d"),
            ("x-added", "e"),
        ] {
            request.headers_mut().append(name, value);
        }
        let added = [("x-added", "f".to_owned())];
        let headers = Headers(&request, &added);
        for (name, first, joined) in [
            ("x-one", Some("a"), Some("a")),
            ("x-two", Some("b"), Some("b,c")),
            ("x-added", Some("f"), Some("f")),
            ("host", Some("localhost:8000"), Some("localhost:8000")),
            ("x-none", None, None),
        ] {
            assert_eq!(headers.get(name), first.map(str::as_bytes), "{name}");
            assert_eq!(headers.joined(name).as_deref(), joined.map(str::as_bytes), "{name}");
        }
    }

    /// A body that arrives in pieces.
    struct Pieces(Vec<&'static str>);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = io::Error;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
            let piece = self.0.pop();
            Poll::Ready(piece.map(|piece| Ok(Frame::data(Bytes::from(piece)))))
        }
    }

    /// A request whose body arrives in pieces is answered and delivered as if it had one piece.
    #[tokio::test]
    async fn bodies_may_arrive_in_pieces() {
        let second = Duration::from_secs(1);
        for (verdict, expect) in [
            (None, Ok(Duration::ZERO)),
            (Some(Verdict::Wait(second)), Ok(second)),
            (Some(Verdict::Wait(4 * second)), Err(3 * second)),
            (Some(Verdict::AnswerLost), Err(3 * second)),
            (Some(Verdict::Reset), Err(Duration::ZERO)),
        ] {
            for pieces in [vec![r#"{"Limit":1}"#], vec!["1}", r#"mit":"#, r#"{"Li"#]] {
                let context = format!("{verdict:?}, {} pieces", pieces.len());
                let twin = Twin::seeded(7);
                let rule = verdict.map(|verdict| Rule::new(verdict).operation("ListTables"));
                let _rule = rule.map(|rule| twin.faults().add(rule));
                let connector = Connector {
                    read_timeout: Some(3 * second),
                    ..Connector::new(twin.shared_engine(), twin.clock())
                };
                let mut request = HttpRequest::new(match pieces.as_slice() {
                    [whole] => SdkBody::from(*whole),
                    _ => SdkBody::from_body_1_x(Pieces(pieces)),
                });
                request.set_method("POST").unwrap();
                for (name, value) in [
                    ("content-type", "application/x-amz-json-1.0"),
                    ("x-amz-target", "DynamoDB_20120810.ListTables"),
                    ("x-amz-date", "20260101T000000Z"),
                    (
                        "authorization",
                        "AWS4-HMAC-SHA256 Credential=me/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
                    ),
                ] {
                    request.headers_mut().append(name, value);
                }
                let start = twin.clock().now();
                let answered = connector.call(request).await;
                let took = twin.clock().now().since(start);
                let answered = match answered {
                    Ok(response) => {
                        assert_eq!(response.body().bytes(), Some(&br#"{"TableNames":[]}"#[..]), "{context}");
                        Ok(took)
                    }
                    Err(_) => Err(took),
                };
                assert_eq!(answered, expect, "{context}");
            }
        }
    }

    #[test]
    fn all_values_of_an_answers_header_are_delivered() {
        let response = http_response(Answer {
            status: 200,
            headers: AnswerHeaders::from([("x-one", "a"), ("x-two", "b"), ("x-two", "c")]),
            body: b"{}".to_vec(),
            at: dynatwin_engine::Moment::START,
            still: StillDelay::default(),
            delivery: Delivery::Whole,
            note: None,
        });
        let response = response.unwrap();
        for (name, values) in [("x-one", &["a"][..]), ("x-two", &["b", "c"]), ("x-none", &[])] {
            assert_eq!(response.headers().get_all(name).collect::<Vec<_>>(), values, "{name}");
        }
    }

    #[test]
    fn targets() {
        let aws = "dynamodb.us-east-1.amazonaws.com";
        for (uri, expect, host) in [
            ("https://dynamodb.us-east-1.amazonaws.com/", "/", Some(aws)),
            ("https://dynamodb.us-east-1.amazonaws.com", "/", Some(aws)),
            ("http://localhost:8000/?a=b", "/?a=b", Some("localhost:8000")),
            ("/", "/", None),
        ] {
            assert_eq!((target(uri), authority(uri)), (expect, host), "{uri}");
        }
    }
}
