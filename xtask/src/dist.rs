//! `cargo xtask dist`: builds the parts of a release, each by one command, in `target/dist`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::shell::{self, Outcome, cargo, command, output, run};
use crate::{image, python, setup, wasm};

/// The published crates, each after its dependencies.
const CRATES: [&str; 6] = [
    "dynatwin-engine",
    "dynatwin-files",
    "dynatwin-seed",
    "dynatwin-store",
    "dynatwin-server",
    "dynatwin",
];

/// Builds one part of a release.
pub fn make(part: &str, target: Option<&str>) -> Outcome<()> {
    fs::create_dir_all(folder()).map_err(|error| error.to_string())?;
    match (part, target) {
        ("binary", target) => archive(target.map_or_else(host, |target| Ok(target.to_owned()))?.as_str()),
        ("crates", None) => crates(),
        ("npm", None) => npm(),
        ("wheel", None) => wheel(),
        ("image", None) => image::archive(),
        ("checksums", None) => checksums(),
        _ => Err("dist makes one of: binary [TARGET], crates, npm, wheel, image, checksums".into()),
    }
}

/// Where the parts of a release are.
pub fn folder() -> PathBuf {
    shell::root().join("target/dist")
}

pub fn host() -> Outcome<String> {
    let said = output(Command::new("rustc").arg("-vV"))?;
    let line = said.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| "rustc names no host".into())
}

/// Builds the binary for a target, static on Linux, and returns its path.
pub fn binary(target: &str) -> Outcome<PathBuf> {
    let mut build = cargo();
    build.args([
        "build",
        "--release",
        "--locked",
        "--package",
        "dynatwin-server",
        "--target",
        target,
    ]);
    if target.contains("linux") {
        let variable = format!("CARGO_TARGET_{}_RUSTFLAGS", target.to_uppercase().replace('-', "_"));
        build.env(variable, "-C target-feature=+crt-static");
    }
    run(&mut build)?;
    let name = if target.contains("windows") {
        "dynatwin.exe"
    } else {
        "dynatwin"
    };
    Ok(shell::root().join("target").join(target).join("release").join(name))
}

/// An archive of the binary, its manual page and completions, and the licenses.
fn archive(target: &str) -> Outcome<()> {
    let binary = binary(target)?;
    let name = format!("dynatwin-{}-{target}", env!("CARGO_PKG_VERSION"));
    let content = folder().join(&name);
    let text = |error: std::io::Error| error.to_string();
    fs::create_dir_all(content.join("completions")).map_err(text)?;
    let into = |file: &Path| content.join(file.file_name().unwrap_or_default());
    fs::copy(&binary, into(&binary)).map_err(text)?;
    for file in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"] {
        fs::copy(shell::root().join(file), content.join(file)).map_err(text)?;
    }
    // A binary for another target cannot run here to print its manual page and completions.
    if target == host()? {
        fs::write(content.join("dynatwin.1"), output(Command::new(&binary).arg("man"))?).map_err(text)?;
        for shell in ["bash", "fish", "zsh"] {
            let completions = output(Command::new(&binary).args(["completions", shell]))?;
            fs::write(
                content.join("completions").join(format!("dynatwin.{shell}")),
                completions,
            )
            .map_err(text)?;
        }
    }
    let archive = format!("{name}.tar.gz");
    run(Command::new("tar")
        .current_dir(folder())
        .args(["-czf", &archive, &name]))?;
    fs::remove_dir_all(&content).map_err(text)?;
    println!("{}", folder().join(archive).display());
    system_of(target).map_or(Ok(()), |system| native_package(&binary, system))
}

/// The system as Node names it, of the target whose binary `npx dynatwin` starts there.
fn system_of(target: &str) -> Option<&'static str> {
    match target {
        "x86_64-unknown-linux-gnu" => Some("linux-x64"),
        "aarch64-unknown-linux-gnu" => Some("linux-arm64"),
        "x86_64-apple-darwin" => Some("darwin-x64"),
        "aarch64-apple-darwin" => Some("darwin-arm64"),
        "x86_64-pc-windows-msvc" => Some("win32-x64"),
        _ => None,
    }
}

/// The npm package of the binary for one system, an optional dependency of the package `dynatwin`.
fn native_package(binary: &Path, system: &str) -> Outcome<()> {
    let content = folder().join("native");
    let mut pack = command("node", "wasm/npm");
    run(pack
        .arg("platform.js")
        .args([binary, &content])
        .arg(system)
        .arg(folder()))?;
    fs::remove_dir_all(&content).map_err(|error| error.to_string())
}

/// Packs every published crate and builds it from its package.
fn crates() -> Outcome<()> {
    let mut package = cargo();
    package.args([
        "publish",
        "--dry-run",
        "--locked",
        "--allow-dirty",
        "--no-default-features",
    ]);
    package.args(["--target-dir", "target/package-build"]);
    for name in CRATES {
        package.args(["--package", name]);
    }
    run(&mut package)
}

/// Packs every published crate, and unpacks it into `folder/crates`. A configuration of Cargo in `folder` takes the crates
/// from there instead of crates.io.
pub fn unpack_crates(folder: &Path) -> Outcome<()> {
    let text = |error: std::io::Error| error.to_string();
    let packed = shell::root().join("target/packed");
    let mut package = cargo();
    package.args(["package", "--no-verify", "--locked", "--allow-dirty"]);
    package.arg("--target-dir").arg(&packed);
    for name in CRATES {
        package.args(["--package", name]);
    }
    run(&mut package)?;
    let mut patches = String::from("[patch.crates-io]\n");
    fs::create_dir_all(folder.join("crates")).map_err(text)?;
    fs::create_dir_all(folder.join(".cargo")).map_err(text)?;
    for name in CRATES {
        let versioned = format!("{name}-{}", env!("CARGO_PKG_VERSION"));
        let _ = writeln!(patches, "{name} = {{ path = \"crates/{versioned}\" }}");
        let mut unpack = Command::new("tar");
        unpack.arg("-C").arg(folder.join("crates")).arg("-xzf");
        run(unpack.arg(packed.join("package").join(versioned + ".crate")))?;
    }
    fs::write(folder.join(".cargo/config.toml"), patches).map_err(text)
}

fn npm() -> Outcome<()> {
    wasm::build()?;
    setup::npm("wasm/npm")?;
    run(command("node", "wasm/npm").arg("pack.js").arg(folder()))
}

fn wheel() -> Outcome<()> {
    let wheel = python::build("release")?;
    let copy = folder().join(wheel.file_name().unwrap_or_default());
    fs::copy(&wheel, copy).map(drop).map_err(|error| error.to_string())
}

fn checksums() -> Outcome<()> {
    let text = |error: std::io::Error| error.to_string();
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder()).map_err(text)? {
        let path = entry.map_err(text)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file() && name != "SHA256SUMS" {
            let digest = Sha256::digest(fs::read(&path).map_err(text)?);
            let hex = digest.iter().fold(String::new(), |mut hex, byte| {
                let _ = write!(hex, "{byte:02x}");
                hex
            });
            lines.push(format!("{hex}  {name}\n"));
        }
    }
    lines.sort_by(|a, b| a[66..].cmp(&b[66..]));
    fs::write(folder().join("SHA256SUMS"), lines.concat()).map_err(text)
}
