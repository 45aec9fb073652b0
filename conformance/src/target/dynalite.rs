//! dynalite, where it is installed.

use std::process::Command;

use super::process::{Process, free_port};
use super::{Absence, Endpoint, Session, Target, installed};
use crate::door::Door;

/// The `dynalite` program that `DYNALITE` names or that is on `PATH`, on a free port, killed when this is dropped.
///
/// ```no_run
/// # async fn example() -> Result<(), dynatwin_conformance::target::Absence> {
/// use dynatwin_conformance::target::{Dynalite, Target};
///
/// let client = Dynalite::start().await?.session().client;
/// # Ok(())
/// # }
/// ```
pub struct Dynalite {
    endpoint: Endpoint,
    _process: Process,
}

impl Dynalite {
    /// Starts it.
    pub async fn start() -> Result<Dynalite, Absence> {
        let binary = installed("DYNALITE", "dynalite")?;
        let port = free_port()?;
        let at_once = ["--createTableMs", "0", "--deleteTableMs", "0", "--updateTableMs", "0"];
        let mut command = Command::new(binary);
        let mut process = Process::start(command.args(["--port", &port.to_string()]).args(at_once))?;
        process.wait_for_port(port).await?;
        Ok(Dynalite {
            endpoint: Endpoint::new(format!("http://127.0.0.1:{port}"))?,
            _process: process,
        })
    }
}

impl Target for Dynalite {
    fn name(&self) -> &'static str {
        "dynalite"
    }

    fn session(&self) -> Session {
        self.endpoint.session()
    }

    fn door(&self, account: &str) -> Option<Door> {
        Some(self.endpoint.door_of(account))
    }
}
