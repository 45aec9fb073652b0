//! dynalite, if it is installed.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Command;

use tokio::sync::Mutex;

use super::process::{Process, free_port};
use super::{Absence, Endpoint, Session, Target, installed};
use crate::check::Outcome;
use crate::raw_client::RawClient;

/// The `dynalite` program that `DYNALITE` names or that is on `PATH`, on a free port, killed when this is dropped. Some
/// requests crash it (a tag without a value does).
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
    binary: PathBuf,
    port: u16,
    process: Mutex<Process>,
}

impl Dynalite {
    /// Starts dynalite on a free port.
    pub async fn start() -> Result<Dynalite, Absence> {
        let binary = installed("DYNALITE", "dynalite")?;
        let port = free_port()?;
        Ok(Dynalite {
            endpoint: Endpoint::new(format!("http://127.0.0.1:{port}"))?,
            process: Mutex::new(serve(&binary, port).await?),
            binary,
            port,
        })
    }
}

async fn serve(binary: &Path, port: u16) -> Outcome<Process> {
    let at_once = ["--createTableMs", "0", "--deleteTableMs", "0", "--updateTableMs", "0"];
    let mut command = Command::new(binary);
    let mut process = Process::start(command.args(["--port", &port.to_string()]).args(at_once))?;
    process.wait_for_port(port).await?;
    Ok(process)
}

impl Target for Dynalite {
    fn name(&self) -> &'static str {
        "dynalite"
    }

    fn session(&self) -> Session {
        self.endpoint.session()
    }

    fn raw_client(&self, account: &str) -> Option<RawClient> {
        Some(self.endpoint.raw_client_of(account))
    }

    fn revive(&self) -> Pin<Box<dyn Future<Output = Outcome<bool>> + Send + '_>> {
        Box::pin(async {
            let mut process = self.process.lock().await;
            let ended = process.is_ending(self.port).await?;
            if ended {
                *process = serve(&self.binary, self.port).await?;
            }
            Ok(ended)
        })
    }
}
