//! `cargo xtask profile`: records how often the server's code is executed by requests of each frequent kind. Release builds
//! use the recorded profile (`xtask/profile/rustc`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::server::Server;
use crate::shell::{Outcome, cargo, find, output, root, run};
use crate::{bench, dist, setup};

/// The version of LLVM in Debian that reads the counts of this compiler.
const LLVM: &str = "llvm-19";

/// Records the profile. The names of functions depend on whether a target is given: it has those of both builds.
pub fn record() -> Outcome<()> {
    let merge = merge_program()?;
    let counts = root().join("target/profile/counts");
    if counts.exists() {
        fs::remove_dir_all(&counts).map_err(|error| error.to_string())?;
    }
    for target in [None, Some(dist::host()?)] {
        let server = Server::start(&build(target.as_deref(), &counts)?, &["--port"])?;
        bench::exercise(&server)?;
        // It writes its counts when it ends.
        server.stop()?;
    }
    let profile = root().join("xtask/profile/dynatwin.profdata");
    run(Command::new(merge)
        .args(["merge", "--sparse", "--output"])
        .arg(&profile)
        .arg(&counts))?;
    println!("{}", profile.display());
    Ok(())
}

/// Builds a server that counts, and returns its path.
fn build(target: Option<&str>, counts: &Path) -> Outcome<PathBuf> {
    let folder = root().join("target/profile");
    let mut build = cargo();
    build.args(["build", "--release", "--locked", "--package", "dynatwin-server"]);
    build.arg("--target-dir").arg(&folder);
    if let Some(target) = target {
        build.args(["--target", target]);
    }
    run(build.env("DYNATWIN_COUNTS", counts))?;
    Ok(folder.join(target.unwrap_or_default()).join("release/dynatwin"))
}

/// The path of `llvm-profdata`: rustup's component `llvm-tools` has it, and so has a package of Debian.
fn merge_program() -> Outcome<PathBuf> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let component = Path::new(sysroot.trim()).join(format!("lib/rustlib/{}/bin/llvm-profdata", dist::host()?));
    if component.is_file() {
        return Ok(component);
    }
    let name = LLVM.replace("llvm", "llvm-profdata");
    setup::program(&name, LLVM)?;
    find(&name).ok_or_else(|| format!("there is no {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: &str = "DYNATWIN_COUNTS";

    #[test]
    fn release_builds_alone_use_the_profile() {
        let release = "--crate-name a -C opt-level=3 --out-dir /b/release/deps";
        let used = format!(
            "-Cprofile-use={} -Cllvm-args=-no-pgo-warn-mismatch",
            root().join("xtask/profile/dynatwin.profdata").display()
        );
        for (arguments, counts, added) in [
            (release, "", used.as_str()),
            (release, "/c d", "-Cprofile-generate=/c d"),
            ("--crate-name a --out-dir /b/release/deps", "", ""),
            ("--crate-name a -C opt-level=3 --out-dir /b/debug/deps", "", ""),
            ("--crate-name a -C opt-level=s --out-dir /b/wasm-release/deps", "/c", ""),
            ("-vV", "/c", ""),
        ] {
            let mut wrapper = Command::new(root().join("xtask/profile/rustc"));
            let arguments: Vec<&str> = arguments.split(' ').collect();
            let printed = output(wrapper.arg("echo").args(&arguments).env(COUNTS, counts)).unwrap();
            let expected = [&arguments.join(" "), added].join(" ");
            assert_eq!(printed.trim(), expected.trim());
        }
    }
}
