//! Runs the applications under `examples/` in JavaScript, Python and Go, each with its own server. They check the responses to
//! their requests. The examples in Rust are members of the workspace, and tested with it.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::server::Server;
use crate::setup;
use crate::shell::{self, Outcome, command, run};
use crate::test::{Counts, Extent, binary, counted, of_go, of_node, of_pytest};

/// Where Debian's packages of Go libraries are.
const GO_LIBRARIES: &str = "/usr/share/gocode";

/// Runs them all; for each change without Go, whose SDK takes 250 MB.
pub fn run_all(extent: Extent) -> Outcome<Counts> {
    let mut sum = Counts::default();
    for folder in folders()? {
        let home = shell::root().join(&folder);
        if home.join("package.json").is_file() {
            sum.add(javascript(&folder, &home)?);
        } else if home.join("requirements.txt").is_file() {
            sum.add(python(&folder)?);
        } else if home.join("go.mod").is_file() && extent == Extent::All {
            sum.add(go(&folder)?);
        }
    }
    Ok(sum)
}

fn folders() -> Outcome<Vec<String>> {
    let entries = shell::root()
        .join("examples")
        .read_dir()
        .map_err(|error| format!("examples: {error}"))?;
    let mut folders: Vec<String> = entries
        .filter_map(|entry| Some(format!("examples/{}", entry.ok()?.file_name().into_string().ok()?)))
        .collect();
    folders.sort();
    Ok(folders)
}

fn server() -> Outcome<Server> {
    Server::start(&binary("dynatwin")?, &["--port"])
}

/// An application runs twice against its server, the second time with the tables of the first run; then its tests run,
/// if it has any.
fn javascript(folder: &str, home: &Path) -> Outcome<Counts> {
    setup::npm(folder)?;
    let server = server()?;
    let mut sum = Counts::default();
    for time in ["first", "second"] {
        println!("{folder}, {time} time");
        let mut start = command("npm", folder);
        start.args(["start", "--silent"]).env("ENDPOINT", server.endpoint());
        sum.add(match run(&mut start) {
            Ok(()) => Counts { passed: 1, failed: 0 },
            Err(sentence) => {
                println!("{sentence}");
                Counts { passed: 0, failed: 1 }
            }
        });
    }
    if has_tests(&home.join("package.json"))? {
        println!("{folder}, tests");
        let mut tests = command("npm", folder);
        tests.args(["test", "--silent"]).env("ENDPOINT", server.endpoint());
        sum.add(counted(&mut tests, of_node)?);
    }
    Ok(sum)
}

fn has_tests(package: &Path) -> Outcome<bool> {
    let text = std::fs::read(package).map_err(|error| format!("{}: {error}", package.display()))?;
    let package: serde_json::Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    Ok(package["scripts"]["test"].is_string())
}

fn python(folder: &str) -> Outcome<Counts> {
    let python = setup::python(folder)?;
    let server = server()?;
    println!("{folder}, tests");
    let mut tests = Command::new(python);
    tests.current_dir(shell::root().join(folder)).stdin(Stdio::null());
    tests.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    counted(tests.env("ENDPOINT", server.endpoint()), of_pytest)
}

/// The tests start the server themselves. They use the SDK of Debian's package, in the mode that ignores `go.mod`.
fn go(folder: &str) -> Outcome<Counts> {
    setup::program("go", "golang-go")?;
    let sdk = Path::new(GO_LIBRARIES).join("src/github.com/aws/aws-sdk-go-v2");
    if !sdk.is_dir() {
        setup::packages(&["golang-github-aws-aws-sdk-go-v2-dev"])?;
    }
    println!("{folder}, tests");
    let mut tests = command("go", folder);
    tests.args(["test", "-v", "-count=1", "."]);
    tests.env("GO111MODULE", "off").env("GOPATH", GO_LIBRARIES);
    tests.env("GOCACHE", shell::root().join("target/go"));
    counted(tests.env("DYNATWIN", binary("dynatwin")?), of_go)
}
