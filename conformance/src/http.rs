//! Plain HTTP for the SDK: hyper without TLS, which local endpoints do not need.

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect;
use hyper_util::rt::TokioExecutor;

use crate::check::Outcome;

/// An HTTP client without TLS, with its own connection pool.
///
/// ```
/// let config = aws_sdk_dynamodb::Config::builder()
///     .endpoint_url("http://127.0.0.1:8000")
///     .http_client(dynatwin_conformance::http::PlainHttp::new());
/// ```
#[derive(Clone, Debug)]
pub struct PlainHttp(Client<connect::HttpConnector, Full<Bytes>>);

impl PlainHttp {
    /// A client without open connections.
    pub fn new() -> PlainHttp {
        let mut connector = connect::HttpConnector::new();
        connector.set_nodelay(true);
        PlainHttp(Client::builder(TokioExecutor::new()).build(connector))
    }

    /// Sends a request unchanged; returns the status and the complete body.
    pub async fn post(&self, request: http::Request<Vec<u8>>) -> Outcome<(u16, Bytes)> {
        let response = self.whole(request).await?;
        Ok((response.status().as_u16(), response.into_body()))
    }

    /// Sends a request unchanged; returns the complete response.
    pub async fn whole(&self, request: http::Request<Vec<u8>>) -> Outcome<http::Response<Bytes>> {
        let request = request.map(|body| Full::new(body.into()));
        let (head, body) = self.0.request(request).await?.into_parts();
        Ok(http::Response::from_parts(head, body.collect().await?.to_bytes()))
    }

    async fn exchange(self, mut request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let body = ByteStream::new(request.take_body()).collect().await.map_err(user)?;
        let request = request.try_into_http1x().map_err(user)?;
        let request = request.map(|_| Full::new(body.into_bytes()));
        let response = self.0.request(request).await.map_err(io)?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(io)?.to_bytes();
        let response = http::Response::from_parts(head, SdkBody::from(body));
        HttpResponse::try_from(response).map_err(user)
    }
}

impl Default for PlainHttp {
    fn default() -> PlainHttp {
        PlainHttp::new()
    }
}

impl HttpConnector for PlainHttp {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::new(self.clone().exchange(request))
    }
}

impl HttpClient for PlainHttp {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

fn user(error: impl std::error::Error + Send + Sync + 'static) -> ConnectorError {
    ConnectorError::user(Box::new(error))
}

fn io(error: impl std::error::Error + Send + Sync + 'static) -> ConnectorError {
    ConnectorError::io(Box::new(error))
}
