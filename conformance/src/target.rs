//! What scenarios run against.

mod dynalite;
mod dynamodb_local;
mod dynoxide;
mod endpoint;
mod in_process;
mod process;
mod server;
mod wasm;

use std::fmt;
use std::future::{Future, ready};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use dynatwin::Twin;

use crate::check::{Failure, Outcome};
use crate::raw_client::RawClient;

pub use dynalite::Dynalite;
pub use dynamodb_local::DynamoDbLocal;
pub use dynoxide::Dynoxide;
pub use endpoint::Endpoint;
pub use in_process::{InProcess, Preset};
pub use server::Server;
pub use wasm::{Host, Wasm};

/// A DynamoDB that was started, or found running. Dropping it stops what it started.
pub trait Target: Send + Sync {
    /// Its column in the report.
    fn name(&self) -> &str;

    /// A client for one scenario.
    fn session(&self) -> Session;

    /// A raw_client for cases, as a caller with this access key; nothing where cases are not carried out, since what happens
    /// there is not certain.
    fn raw_client(&self, account: &str) -> Option<RawClient>;

    /// How many cases may run at once: more than one only where callers with different keys have different tables.
    fn lanes(&self) -> usize {
        1
    }

    /// What the names of all tables start with, if anything.
    fn table_prefix(&self) -> Option<String> {
        None
    }

    /// Whether others may use it too: then only tables that were certainly made here are deleted.
    fn is_shared(&self) -> bool {
        false
    }

    /// Starts it again if a request has ended it; says whether that was so, and all tables are gone.
    fn revive(&self) -> Pin<Box<dyn Future<Output = Outcome<bool>> + Send + '_>> {
        Box::pin(ready(Ok(false)))
    }
}

/// Why a target did not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absence {
    /// It is not installed here.
    NotHere(String),
    /// It is installed, but failed to start.
    Failed(Failure),
}

impl fmt::Display for Absence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Absence::NotHere(reason) => formatter.write_str(reason),
            Absence::Failed(failure) => failure.fmt(formatter),
        }
    }
}

impl From<Failure> for Absence {
    fn from(failure: Failure) -> Absence {
        Absence::Failed(failure)
    }
}

/// A client, and the twin behind it if a scenario may turn its dials.
#[derive(Clone, Debug)]
pub struct Session {
    /// A client of the SDK for the target.
    pub client: Client,
    /// The client of its streams.
    pub streams: aws_sdk_dynamodbstreams::Client,
    /// The twin, if it is one in this process.
    pub twin: Option<Twin>,
    /// What the names of tables start with.
    pub table_prefix: String,
}

/// A target that can be asked for by name.
///
/// ```
/// use dynatwin_conformance::target::{Kind, Preset};
///
/// assert_eq!(Kind::named("in-process-aws"), Some(Kind::InProcess(Preset::Aws)));
/// assert_eq!(Kind::named("nowhere"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The twin in this process, under these conditions.
    InProcess(Preset),
    /// The `dynatwin` server, over HTTP.
    Server,
    /// The wasm build of the twin, in this JavaScript engine.
    Wasm(Host),
    /// DynamoDB Local, fetched and started here.
    DynamoDbLocal,
    /// dynoxide, where it is installed.
    Dynoxide,
    /// dynalite, where it is installed.
    Dynalite,
    /// Whatever answers at this URL; all tables get names with this prefix.
    Endpoint {
        /// The URL of the endpoint.
        url: String,
        /// The prefix, which may be empty; `None` for one of the suite's own.
        prefix: Option<String>,
    },
}

impl Kind {
    /// The targets that need no URL.
    pub const ALL: [Kind; 9] = [
        Kind::InProcess(Preset::Calm),
        Kind::InProcess(Preset::Aws),
        Kind::InProcess(Preset::Storm),
        Kind::Server,
        Kind::Wasm(Host::Node),
        Kind::Wasm(Host::Chromium),
        Kind::DynamoDbLocal,
        Kind::Dynoxide,
        Kind::Dynalite,
    ];

    /// The target of this name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.to_string() == name)
    }

    /// Starts the target; the seed is used by those that take one.
    pub async fn start(&self, seed: u64) -> Result<Arc<dyn Target>, Absence> {
        Ok(match self {
            Kind::InProcess(preset) => Arc::new(InProcess::new(*preset, seed)),
            Kind::Server => Arc::new(Server::start(seed).await?),
            Kind::Wasm(host) => Arc::new(Wasm::start(*host, seed).await?),
            Kind::DynamoDbLocal => Arc::new(DynamoDbLocal::start().await?),
            Kind::Dynoxide => Arc::new(Dynoxide::start().await?),
            Kind::Dynalite => Arc::new(Dynalite::start().await?),
            Kind::Endpoint { url, prefix } => {
                let endpoint = Endpoint::new(url.clone())?.shared(prefix.clone());
                endpoint.check_reachable().await?;
                Arc::new(endpoint)
            }
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Kind::InProcess(preset) => preset.target(),
            Kind::Server => "server",
            Kind::Wasm(host) => host.target(),
            Kind::DynamoDbLocal => "dynamodb-local",
            Kind::Dynoxide => "dynoxide",
            Kind::Dynalite => "dynalite",
            Kind::Endpoint { url, .. } => url,
        })
    }
}

/// The program that an environment variable names, or else the one of this name on `PATH`.
fn installed(variable: &str, name: &str) -> Result<PathBuf, Absence> {
    let configured = std::env::var_os(variable).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(name));
    configured
        .or_else(|| places.find(|place| place.is_file()))
        .ok_or_else(|| Absence::NotHere(format!("{name} is neither on PATH nor named by {variable}")))
}
