//! What scenarios run against.

mod dynamodb_local;
mod endpoint;
mod in_process;
mod process;
mod server;

use std::fmt;

use aws_sdk_dynamodb::Client;
use dynatwin::Twin;

use crate::check::Outcome;

pub use dynamodb_local::DynamoDbLocal;
pub use endpoint::Endpoint;
pub use in_process::{InProcess, Mood};
pub use server::Server;

/// A DynamoDB that was started, or found running. Dropping it stops what it started.
pub trait Target: Send + Sync {
    /// Its column in the report.
    fn name(&self) -> &str;

    /// A client for one scenario.
    fn session(&self) -> Session;
}

/// A client, and the twin behind it if a scenario may turn its dials.
#[derive(Clone, Debug)]
pub struct Session {
    /// The client.
    pub client: Client,
    /// The twin, if it is one in this process.
    pub twin: Option<Twin>,
}

/// A target that can be asked for by name.
///
/// ```
/// use dynatwin_conformance::target::{Kind, Mood};
///
/// assert_eq!(Kind::named("in-process-aws"), Some(Kind::InProcess(Mood::Aws)));
/// assert_eq!(Kind::Endpoint("http://127.0.0.1:8000".to_owned()).to_string(), "http://127.0.0.1:8000");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The twin in this process, under these conditions.
    InProcess(Mood),
    /// The `dynatwin` server, over HTTP.
    Server,
    /// DynamoDB Local, fetched and started here.
    DynamoDbLocal,
    /// Whatever answers at this URL.
    Endpoint(String),
}

impl Kind {
    /// The targets that need no URL.
    pub const ALL: [Kind; 5] = [
        Kind::InProcess(Mood::Calm),
        Kind::InProcess(Mood::Aws),
        Kind::InProcess(Mood::Storm),
        Kind::Server,
        Kind::DynamoDbLocal,
    ];

    /// The target of this name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.to_string() == name)
    }

    /// Starts it.
    pub async fn start(&self, seed: u64) -> Outcome<Box<dyn Target>> {
        Ok(match self {
            Kind::InProcess(mood) => Box::new(InProcess::new(*mood, seed)),
            Kind::Server => Box::new(Server::start(seed).await?),
            Kind::DynamoDbLocal => Box::new(DynamoDbLocal::start().await?),
            Kind::Endpoint(url) => Box::new(Endpoint::new(url.clone())?),
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Kind::InProcess(mood) => mood.target(),
            Kind::Server => "server",
            Kind::DynamoDbLocal => "dynamodb-local",
            Kind::Endpoint(url) => url,
        })
    }
}
