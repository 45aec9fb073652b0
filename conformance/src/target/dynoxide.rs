//! dynoxide, if it is installed.

use std::process::Command;

use super::process::{Process, free_port};
use super::{Absence, Endpoint, Session, Target, installed};
use crate::raw_client::RawClient;

/// The `dynoxide` binary that `DYNOXIDE` names or that is on `PATH`, on a free port, killed when this is dropped.
///
/// ```no_run
/// # async fn example() -> Result<(), dynatwin_conformance::target::Absence> {
/// use dynatwin_conformance::target::{Dynoxide, Target};
///
/// let client = Dynoxide::start().await?.session().client;
/// # Ok(())
/// # }
/// ```
pub struct Dynoxide {
    endpoint: Endpoint,
    _process: Process,
}

impl Dynoxide {
    /// Starts dynoxide on a free port.
    pub async fn start() -> Result<Dynoxide, Absence> {
        let binary = installed("DYNOXIDE", "dynoxide")?;
        let port = free_port()?;
        let mut process = Process::start(Command::new(binary).args(["--port", &port.to_string()]))?;
        process.wait_for_port(port).await?;
        Ok(Dynoxide {
            endpoint: Endpoint::new(format!("http://127.0.0.1:{port}"))?,
            _process: process,
        })
    }
}

impl Target for Dynoxide {
    fn name(&self) -> &'static str {
        "dynoxide"
    }

    fn session(&self) -> Session {
        self.endpoint.session()
    }

    fn raw_client(&self, account: &str) -> Option<RawClient> {
        Some(self.endpoint.raw_client_of(account))
    }
}
