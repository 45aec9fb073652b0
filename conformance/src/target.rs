//! Targets: the DynamoDBs that scenarios and cases run against.

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

/// A DynamoDB that was started here, or was already running. Dropping it stops what it started.
pub trait Target: Send + Sync {
    /// The name of its column in the report.
    fn name(&self) -> &str;

    /// A client for one scenario.
    fn session(&self) -> Session;

    /// A client for raw requests, as a caller with this access key; `None` if the target does not run cases.
    fn raw_client(&self, account: &str) -> Option<RawClient>;

    /// The number of cases that may run at once: more than one only where callers with different keys have different
    /// tables.
    fn lanes(&self) -> usize {
        1
    }

    /// The prefix of the names of all tables, if any.
    fn table_prefix(&self) -> Option<String> {
        None
    }

    /// Whether others may use it too: then only tables that were created here are deleted.
    fn is_shared(&self) -> bool {
        false
    }

    /// Restarts the target if a request has ended it; returns whether it did, in which case all tables are gone.
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

/// The clients of a target, and the twin if it runs in this process.
#[derive(Clone, Debug)]
pub struct Session {
    /// A client of the SDK for the target.
    pub client: Client,
    /// A client for the target's streams.
    pub streams: aws_sdk_dynamodbstreams::Client,
    /// The twin, if the target is one in this process.
    pub twin: Option<Twin>,
    /// The prefix of the names of tables.
    pub table_prefix: String,
}

/// A target that can be selected by name.
///
/// ```
/// use dynatwin_conformance::target::{TargetKind, Preset};
///
/// assert_eq!(TargetKind::named("in-process-aws"), Some(TargetKind::InProcess(Preset::Aws)));
/// assert_eq!(TargetKind::named("nowhere"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// The twin in this process, under these conditions.
    InProcess(Preset),
    /// The `dynatwin` server, over HTTP.
    Server,
    /// The wasm build of the twin, in this JavaScript engine.
    Wasm(Host),
    /// DynamoDB Local, downloaded and started here.
    DynamoDbLocal,
    /// dynoxide, if it is installed.
    Dynoxide,
    /// dynalite, if it is installed.
    Dynalite,
    /// Any endpoint; all tables get names with this prefix.
    Endpoint {
        /// The URL of the endpoint.
        url: String,
        /// The prefix, which may be empty; `None` for a prefix that the suite generates.
        prefix: Option<String>,
    },
}

impl TargetKind {
    /// The targets that need no URL.
    pub const ALL: [TargetKind; 9] = [
        TargetKind::InProcess(Preset::Calm),
        TargetKind::InProcess(Preset::Aws),
        TargetKind::InProcess(Preset::Storm),
        TargetKind::Server,
        TargetKind::Wasm(Host::Node),
        TargetKind::Wasm(Host::Chromium),
        TargetKind::DynamoDbLocal,
        TargetKind::Dynoxide,
        TargetKind::Dynalite,
    ];

    /// The target of this name.
    pub fn named(name: &str) -> Option<TargetKind> {
        TargetKind::ALL.into_iter().find(|kind| kind.to_string() == name)
    }

    /// Starts the target; the seed applies to targets that take one.
    pub async fn start(&self, seed: u64) -> Result<Arc<dyn Target>, Absence> {
        Ok(match self {
            TargetKind::InProcess(preset) => Arc::new(InProcess::new(*preset, seed)),
            TargetKind::Server => Arc::new(Server::start(seed).await?),
            TargetKind::Wasm(host) => Arc::new(Wasm::start(*host, seed).await?),
            TargetKind::DynamoDbLocal => Arc::new(DynamoDbLocal::start().await?),
            TargetKind::Dynoxide => Arc::new(Dynoxide::start().await?),
            TargetKind::Dynalite => Arc::new(Dynalite::start().await?),
            TargetKind::Endpoint { url, prefix } => {
                let endpoint = Endpoint::new(url.clone())?.shared(prefix.clone());
                endpoint.check_reachable().await?;
                Arc::new(endpoint)
            }
        })
    }
}

impl fmt::Display for TargetKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            TargetKind::InProcess(preset) => preset.target(),
            TargetKind::Server => "server",
            TargetKind::Wasm(host) => host.target(),
            TargetKind::DynamoDbLocal => "dynamodb-local",
            TargetKind::Dynoxide => "dynoxide",
            TargetKind::Dynalite => "dynalite",
            TargetKind::Endpoint { url, .. } => url,
        })
    }
}

/// The program that an environment variable names, otherwise the one of this name on `PATH`.
fn installed(variable: &str, name: &str) -> Result<PathBuf, Absence> {
    let configured = std::env::var_os(variable).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(name));
    configured
        .or_else(|| places.find(|place| place.is_file()))
        .ok_or_else(|| Absence::NotHere(format!("{name} is neither on PATH nor named by {variable}")))
}
