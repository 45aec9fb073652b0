//! The `dynatwin` server, over HTTP.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::process::Process;
use super::{Endpoint, Session, Target};
use crate::check::{Failure, Outcome, ensure};
use crate::raw_client::RawClient;

/// The `dynatwin` binary on a free port, killed when this is dropped.
///
/// The binary is the one that `DYNATWIN_BIN` names, or else the workspace's, built by cargo if need be.
///
/// ```no_run
/// # async fn example() -> Result<(), dynatwin_conformance::check::Failure> {
/// use dynatwin_conformance::target::{Server, Target};
///
/// let server = Server::start(7).await?;
/// let client = server.session().client;
/// # Ok(())
/// # }
/// ```
pub struct Server {
    endpoint: Endpoint,
    _process: Process,
}

impl Server {
    /// Starts the server on a free port with this random seed.
    pub async fn start(seed: u64) -> Outcome<Server> {
        Server::start_with(seed, &[]).await
    }

    /// Starts it with a configuration of access control, in JSON.
    pub async fn start_with_access(seed: u64, configuration: &str) -> Outcome<Server> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let file = std::env::temp_dir().join(format!("dynatwin-access-{}-{count}.json", std::process::id()));
        std::fs::write(&file, configuration)?;
        let started = Server::start_with(seed, &["--iam".as_ref(), file.as_os_str()]).await;
        std::fs::remove_file(&file)?;
        started
    }

    async fn start_with(seed: u64, words: &[&OsStr]) -> Outcome<Server> {
        let binary = tokio::task::spawn_blocking(binary).await??;
        let mut command = Command::new(binary);
        command.args(["--port", "0", "--seed", &seed.to_string()]).args(words);
        let mut process = Process::start(&mut command)?;
        let port = process.wait_for_line(port).await?;
        process.wait_for_port(port).await?;
        Ok(Server {
            endpoint: Endpoint::new(format!("http://127.0.0.1:{port}"))?,
            _process: process,
        })
    }

    /// The URL of the running server.
    pub fn url(&self) -> &str {
        self.endpoint.name()
    }
}

impl Target for Server {
    fn name(&self) -> &'static str {
        "server"
    }

    fn session(&self) -> Session {
        self.endpoint.session()
    }

    fn raw_client(&self, account: &str) -> Option<RawClient> {
        Some(self.endpoint.raw_client_of(account))
    }

    fn lanes(&self) -> usize {
        4
    }
}

fn binary() -> Outcome<PathBuf> {
    if let Some(binary) = std::env::var_os("DYNATWIN_BIN") {
        return Ok(binary.into());
    }
    build()
}

/// Has cargo build the server, in the profile of this program, and reads where the binary is.
fn build() -> Outcome<PathBuf> {
    let mut command = build_command();
    let output = command.output().map_err(|error| {
        Failure::new(format!(
            "cargo does not start, and DYNATWIN_BIN names no binary: {error}"
        ))
    })?;
    let words = String::from_utf8_lossy(&output.stderr);
    ensure(output.status.success(), format!("the server does not build: {words}"))?;
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .find_map(|message| Some(PathBuf::from(message.get("executable")?.as_str()?)))
        .ok_or_else(|| Failure::new("cargo built the server and did not say where it is"))
}

fn build_command() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["build", "--quiet", "--package", "dynatwin-server", "--bin", "dynatwin"])
        .arg("--message-format=json")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null());
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_a_package(name)) {
        command.env_remove(name);
    }
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    command
}

/// Returns whether cargo sets an environment variable for the package whose program it runs. With these variables another
/// cargo would build packages again whose build scripts regard them, while tests link the former build.
fn is_of_a_package(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

/// The port in a line such as `listening on http://127.0.0.1:40123`.
fn port(line: &str) -> Option<u16> {
    let (_, rest) = line
        .split_once("127.0.0.1:")
        .or_else(|| line.split_once("localhost:"))?;
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_does_not_inherit_the_variables_of_this_package() {
        let command = build_command();
        for name in ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR"] {
            assert!(std::env::var_os(name).is_some());
            assert!(
                command.get_envs().any(|change| change == (OsStr::new(name), None)),
                "{name}"
            );
        }
    }

    #[test]
    fn ports() {
        for (line, expect) in [
            (
                "listening on http://127.0.0.1:40123 and http://[::1]:40123",
                Some(40123),
            ),
            ("http://localhost:8000", Some(8000)),
            ("dynatwin 0.1.0", None),
            ("127.0.0.1:", None),
        ] {
            assert_eq!(port(line), expect, "{line}");
        }
    }
}
