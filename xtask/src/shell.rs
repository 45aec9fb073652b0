//! Runs other programs.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The result of a task; an error is a message for the user.
pub type Outcome<T> = Result<T, String>;

pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// A command for a program in a folder below the root, with empty standard input, and without the environment variables
/// that cargo set for this task: with them, cargo would build packages again whose build scripts regard them.
pub fn command(program: impl AsRef<OsStr>, folder: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root().join(folder)).stdin(Stdio::null());
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command
}

/// The cargo that runs this task.
pub fn cargo() -> Command {
    command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), "")
}

/// A command for a program that the root user runs: with sudo unless this user is root.
pub fn as_root(program: &str) -> Command {
    if output(command("id", "").arg("-u")).is_ok_and(|id| id.trim() == "0") {
        return command(program, "");
    }
    let mut sudo = command("sudo", "");
    sudo.arg("--non-interactive").arg(program);
    sudo
}

/// Runs a command and shows its output.
pub fn run(command: &mut Command) -> Outcome<()> {
    let status = command
        .status()
        .map_err(|error| format!("{}: {error}", shown(command)))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{}: {status}", shown(command)))
    }
}

/// Runs a command and returns its output.
pub fn output(command: &mut Command) -> Outcome<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("{}: {error}", shown(command)))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{}: {}", shown(command), output.status))
    }
}

/// The command as typed in a shell.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The path of a program, if it is on `PATH`.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_does_not_inherit_the_variables_of_a_package() {
        let of_a_package = |line: &&str| line.starts_with("CARGO_PKG_") || line.starts_with("CARGO_MANIFEST_");
        assert!(env::var_os("CARGO_PKG_NAME").is_some());
        let variables = output(&mut command("env", "")).unwrap();
        assert_eq!(variables.lines().find(of_a_package), None);
    }
}
