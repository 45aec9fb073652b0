//! The wasm build of the twin, in Node and in Chromium, behind a relay that carries requests to it.

use std::path::Path;
use std::process::Command;

use super::process::Process;
use super::{Absence, Endpoint, Session, Target, installed};
use crate::raw_client::RawClient;

/// A JavaScript engine that carries the wasm build.
///
/// ```
/// use dynatwin_conformance::target::Host;
///
/// assert_eq!(Host::Chromium.target(), "wasm-chromium");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// The npm package in Node.js.
    Node,
    /// A page in headless Chromium.
    Chromium,
}

impl Host {
    /// The name of the target.
    pub const fn target(self) -> &'static str {
        match self {
            Host::Node => "wasm-node",
            Host::Chromium => "wasm-chromium",
        }
    }

    const fn relay(self) -> &'static str {
        match self {
            Host::Node => "node.js",
            Host::Chromium => "chromium.js",
        }
    }
}

/// The package of `cargo xtask wasm` in a JavaScript engine. A Node process listens on a free port and passes each request
/// to the twin, in itself or in a page. It ends when this is dropped.
///
/// ```no_run
/// # async fn example() -> Result<(), dynatwin_conformance::target::Absence> {
/// use dynatwin_conformance::target::{Host, Target, Wasm};
///
/// let client = Wasm::start(Host::Node, 7).await?.session().client;
/// # Ok(())
/// # }
/// ```
pub struct Wasm {
    host: Host,
    endpoint: Endpoint,
    _process: Process,
}

impl Wasm {
    /// Starts the host, which loads the engine with this seed.
    pub async fn start(host: Host, seed: u64) -> Result<Wasm, Absence> {
        let node = installed("NODE", "node")?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        there(&root.join("wasm/npm/pkg/dynatwin_bg.wasm"), "cargo xtask wasm")?;
        if host == Host::Chromium {
            there(&root.join("web/node_modules/playwright-core"), "npm ci in web/")?;
            installed("CHROMIUM", "chromium")?;
        }
        let relay = Path::new(env!("CARGO_MANIFEST_DIR")).join("relay").join(host.relay());
        let mut process = Process::start_gentle(Command::new(node).arg(relay).arg(seed.to_string()))?;
        let address = process.wait_for_line(address).await?;
        Ok(Wasm {
            host,
            endpoint: Endpoint::new(address)?,
            _process: process,
        })
    }
}

fn there(path: &Path, made_by: &str) -> Result<(), Absence> {
    if path.exists() {
        return Ok(());
    }
    let said = format!("{} is missing; it comes from {made_by}", path.display());
    Err(Absence::NotHere(said))
}

fn address(line: &str) -> Option<String> {
    line.strip_prefix("listening on ").map(str::to_owned)
}

impl Target for Wasm {
    fn name(&self) -> &'static str {
        self.host.target()
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
