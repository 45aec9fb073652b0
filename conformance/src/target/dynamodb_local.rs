//! DynamoDB Local in a pinned version.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::process::{Process, free_port};
use super::{Endpoint, Session, Target};
use crate::check::{Failure, Outcome, ensure};
use crate::raw_client::RawClient;

/// The npm package that ships DynamoDB Local 1.25.1 as a jar.
const PACKAGE: &str = "amplify-dynamodb-simulator";
const VERSION: &str = "2.9.30";

/// DynamoDB Local 1.25.1, which is downloaded through npm once and kept in the user's cache folder, started on a free
/// port, and killed when this is dropped. It needs `npm` and Java 17.
///
/// ```no_run
/// # async fn example() -> Result<(), dynatwin_conformance::check::Failure> {
/// use dynatwin_conformance::target::{DynamoDbLocal, Target};
///
/// let local = DynamoDbLocal::start().await?;
/// let client = local.session().client;
/// # Ok(())
/// # }
/// ```
pub struct DynamoDbLocal {
    endpoint: Endpoint,
    _process: Process,
}

impl DynamoDbLocal {
    /// Downloads it if necessary, and starts it.
    pub async fn start() -> Outcome<DynamoDbLocal> {
        let folder = tokio::task::spawn_blocking(|| fetch(&cache_folder()?)).await??;
        let emulator = folder.join("node_modules").join(PACKAGE).join("emulator");
        let port = free_port()?;
        let mut library = std::ffi::OsString::from("-Djava.library.path=");
        library.push(emulator.join("DynamoDBLocal_lib"));
        let mut process = Process::start(
            Command::new("java")
                .args(["-Xmx512m", "-XX:+UseSerialGC"])
                .arg(library)
                .arg("-jar")
                .arg(emulator.join("DynamoDBLocal.jar"))
                .args(["-inMemory", "-port", &port.to_string()])
                .current_dir(&emulator),
        )?;
        process.wait_for_port(port).await?;
        Ok(DynamoDbLocal {
            endpoint: Endpoint::new(format!("http://127.0.0.1:{port}"))?,
            _process: process,
        })
    }
}

impl Target for DynamoDbLocal {
    fn name(&self) -> &'static str {
        "dynamodb-local"
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

/// The folder for downloads: `DYNATWIN_CACHE`, or `dynatwin` in the user's cache folder.
fn cache_folder() -> Outcome<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("DYNATWIN_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("dynatwin")))
        .or_else(|| Some(set("HOME")?.join(".cache").join("dynatwin")))
        .ok_or_else(|| Failure::new("neither DYNATWIN_CACHE, XDG_CACHE_HOME nor HOME is set"))
}

/// The folder with the package, which is downloaded if it does not exist. It is downloaded to another folder and then
/// moved, so that concurrent runs never see an incomplete one.
fn fetch(cache: &Path) -> Outcome<PathBuf> {
    let folder = cache.join(format!("dynamodb-local-{VERSION}"));
    if folder.exists() {
        return Ok(folder);
    }
    let staging = cache.join(format!("fetching-{}-{VERSION}", std::process::id()));
    std::fs::create_dir_all(&staging)?;
    eprintln!("fetching {PACKAGE}@{VERSION} through npm into {}", folder.display());
    let fetched = install(&staging).and_then(|()| Ok(std::fs::rename(&staging, &folder)?));
    if fetched.is_err() {
        // Another run may have been first; its folder is equivalent.
        let _ = std::fs::remove_dir_all(&staging);
    }
    if folder.exists() {
        return Ok(folder);
    }
    fetched.map(|()| folder)
}

fn install(prefix: &Path) -> Outcome {
    let output = Command::new("npm")
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"])
        .arg("--prefix")
        .arg(prefix)
        .arg(format!("{PACKAGE}@{VERSION}"))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Failure::new(format!("npm does not start: {error}")))?;
    ensure(
        output.status.success(),
        format!(
            "npm install {PACKAGE}@{VERSION} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        ),
    )
}
