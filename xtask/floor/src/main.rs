//! Usage: `dynatwin-floor BYTES PORT`. Reads each request completely and responds with a constant body of `BYTES` bytes.

use std::convert::Infallible;
use std::net::Ipv4Addr;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

type Failure = Box<dyn std::error::Error>;

fn number<T: std::str::FromStr>(what: &str, word: Option<String>) -> Result<T, Failure> {
    let word = word.ok_or_else(|| format!("{what} is missing"))?;
    word.parse()
        .map_err(|_| format!("{what} is not a number: {word}").into())
}

fn answer(body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    let request_id = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ABCDEFGHIJKLMNOP";
    for (name, value) in [
        ("content-type", "application/x-amz-json-1.0"),
        ("x-amzn-requestid", request_id),
        ("x-amz-crc32", "1234567890"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut words = std::env::args().skip(1);
    let body = Bytes::from(vec![b'x'; number("BYTES", words.next())?]);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, number::<u16>("PORT", words.next())?)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let body = body.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let body = body.clone();
                async move {
                    let _ = request.into_body().collect().await;
                    Ok::<_, Infallible>(answer(body))
                }
            });
            // A broken connection affects only its client.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}
