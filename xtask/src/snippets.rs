//! Runs the code blocks of the documents, unchanged except for the server's address.
//!
//! A block names its language. A comment before it gives the reason why it is not run: `<!-- not run: it needs Maven -->`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::json;

use crate::server::{Server, free_port};
use crate::setup;
use crate::shell::{self, Outcome, command, output, root, run};
use crate::test::{Counts, binary};

/// The Python with the installed package.
static PYTHON: OnceLock<Outcome<PathBuf>> = OnceLock::new();

/// The documents whose blocks are run, in addition to the pages of `docs`. The READMEs of the npm package and of
/// the crate `dynatwin` are not among them: `cargo xtask test --all samples` and `cargo xtask test crates` run their blocks with the
/// packed packages.
const DOCUMENTS: [&str; 8] = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "README.md",
    "examples/go-guide/README.md",
    "examples/node-guide/README.md",
    "examples/python-guide/README.md",
    "harness/python/README.md",
    "harness/server/README.md",
];

/// Languages of blocks that contain data and are not run.
const DATA: [&str; 4] = ["json", "text", "toml", "yaml"];

/// A block of code in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Snippet {
    /// The document and line of the block, as errors print them.
    place: String,
    language: String,
    text: String,
    /// The reason why it is not run.
    not_run: Option<String>,
}

/// Runs every block. A failure does not stop the others.
pub fn run_all() -> Outcome<Counts> {
    let mut counts = Counts::default();
    let snippets = all()?;
    for snippet in &snippets {
        if let Some(reason) = &snippet.not_run {
            println!("{}, {}: not run: {reason}", snippet.place, snippet.language);
            continue;
        }
        let outcome = match snippet.language.as_str() {
            "sh" => shell_script(&snippet.text),
            "js" => javascript(&snippet.text),
            "python" => python(&snippet.text),
            "rust" => rust(&snippet.text, &snippets),
            language if DATA.contains(&language) => continue,
            language => Err(format!("{language:?} has no runner: run it, or say why not")),
        };
        match outcome {
            Ok(()) => counts.passed += 1,
            Err(error) => {
                counts.failed += 1;
                println!("{}, {}: {error}", snippet.place, snippet.language);
            }
        }
    }
    Ok(counts)
}

fn all() -> Outcome<Vec<Snippet>> {
    let mut snippets = Vec::new();
    for document in documents()? {
        let text = std::fs::read_to_string(root().join(&document)).map_err(|error| format!("{document}: {error}"))?;
        snippets.extend(of_document(&document, &text));
    }
    Ok(snippets)
}

fn documents() -> Outcome<Vec<String>> {
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(root().join("docs")).map_err(|error| format!("docs: {error}"))? {
        let name = entry.map_err(|error| format!("docs: {error}"))?.file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".md") {
            pages.push(format!("docs/{name}"));
        }
    }
    pages.sort();
    Ok(DOCUMENTS.map(str::to_owned).into_iter().chain(pages).collect())
}

fn of_document(name: &str, text: &str) -> Vec<Snippet> {
    let (mut snippets, mut open, mut reason) = (Vec::new(), None::<Snippet>, None);
    for (number, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => snippets.extend(open.take()),
            (Some(snippet), None) => {
                snippet.text.push_str(line);
                snippet.text.push('\n');
            }
            (None, Some(language)) => {
                open = Some(Snippet {
                    place: format!("{name}:{}", number + 1),
                    language: language.trim().to_owned(),
                    text: String::new(),
                    not_run: reason.take(),
                });
            }
            (None, None) => {
                let comment = line
                    .strip_prefix("<!-- not run: ")
                    .and_then(|line| line.strip_suffix(" -->"));
                reason = comment.map(str::to_owned).or(reason.filter(|_| line.is_empty()));
            }
        }
    }
    snippets
}

/// A server with a bucket `shelf`, and a table `Orders` with an index `by-date` in the account of requests without credentials.
fn server() -> Outcome<Server> {
    let buckets = root().join("target/snippets/buckets");
    std::fs::create_dir_all(buckets.join("shelf")).map_err(|error| format!("{}: {error}", buckets.display()))?;
    let port = free_port()?;
    let mut server = Command::new(binary("dynatwin")?);
    server
        .arg("--s3-dir")
        .arg(&buckets)
        .args(["--log", "off", "--port", &port.to_string()]);
    let server = Server::run(&mut server, port)?;
    let attributes = ["id", "date"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    let orders = json!({
        "TableName": "Orders", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes, "KeySchema": key("id"),
        "GlobalSecondaryIndexes": [{"IndexName": "by-date", "KeySchema": key("date"), "Projection": {"ProjectionType": "ALL"}}]});
    crate::bench::call(port, "CreateTable", &orders)?;
    Ok(server)
}

fn local(text: &str, server: &Server) -> String {
    text.replace("localhost:8000", &format!("127.0.0.1:{}", server.port()))
}

/// Runs shell commands. Each must succeed, and so must each request of curl.
fn shell_script(text: &str) -> Outcome<()> {
    let server = server()?;
    let curl = "curl() { command curl --fail-with-body --silent --show-error \"$@\"; }";
    let script = format!("set -euo pipefail\n{curl}\n{}", local(text, &server));
    let mut bash = command("bash", "");
    output(bash.env("AWS_PAGER", "").args(["-c", &script])).map(drop)
}

fn javascript(text: &str) -> Outcome<()> {
    setup::npm("wasm/npm")?;
    let server = server()?;
    // In the package's folder, node resolves the package and the SDK by name.
    let file = root().join("wasm/npm/.snippet.mjs");
    write(&file, &local(text, &server))?;
    let outcome = output(command("node", "wasm/npm").arg(&file));
    let removed = std::fs::remove_file(&file).map_err(|error| error.to_string());
    outcome.and(removed)
}

/// Runs a block, with pytest if it contains tests: in the environment of the package's tests if it uses the package, otherwise in
/// that of the guide.
fn python(text: &str) -> Outcome<()> {
    let python = if text.contains("dynatwin") {
        PYTHON.get_or_init(crate::python::installed).clone()?
    } else {
        setup::python("examples/python-guide")?
    };
    let server = server()?;
    let folder = root().join("target/snippets/python");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    write(&folder.join("test_snippet.py"), &local(text, &server))?;
    let mut run = Command::new(python);
    run.current_dir(&folder).stdin(Stdio::null());
    if text.contains("def test_") {
        run.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    }
    output(run.arg("test_snippet.py")).map(drop)
}

/// Builds a package beside a copy of the repository, with the manifest that the document shows and the block as its test.
fn rust(text: &str, snippets: &[Snippet]) -> Outcome<()> {
    let manifest = snippets.iter().find(|snippet| snippet.language == "toml");
    let manifest = manifest.ok_or("no manifest is shown for it")?;
    let folder = root().join("target/snippets/rust");
    std::fs::create_dir_all(folder.join("tests")).map_err(|error| format!("{}: {error}", folder.display()))?;
    let library = root().join("harness/dynatwin").display().to_string();
    let manifest = manifest.text.replace("../dynatwin/harness/dynatwin", &library);
    let package =
        "[package]\nname = \"snippet\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[lib]\npath = \"empty.rs\"\n\n";
    write(
        &folder.join("Cargo.toml"),
        &format!("{package}{manifest}\n[workspace]\n"),
    )?;
    write(&folder.join("empty.rs"), "")?;
    write(&folder.join("tests/sessions.rs"), text)?;
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).map_err(|error| error.to_string())?;
    write(&folder.join("Cargo.lock"), &lock)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let mut cargo = shell::cargo();
    cargo
        .current_dir(&folder)
        .args(["test", "--quiet", "--test", "sessions", "--target-dir"]);
    run(cargo.arg(target))
}

fn write(path: &Path, text: &str) -> Outcome<()> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found() {
        let text = "a\n<!-- not run: no -->\n\n```sh\nls\n```\n\n```js\nx\ny\n```\n";
        let found = of_document("a.md", text);
        let snippet = |line: usize, language: &str, text: &str, not_run: Option<&str>| Snippet {
            place: format!("a.md:{line}"),
            language: language.into(),
            text: text.into(),
            not_run: not_run.map(str::to_owned),
        };
        assert_eq!(
            found,
            [snippet(4, "sh", "ls\n", Some("no")), snippet(8, "js", "x\ny\n", None)]
        );
    }

    #[test]
    fn every_block_is_run_or_says_why_not() {
        let runners = ["sh", "js", "python", "rust"];
        for Snippet {
            place,
            language,
            not_run,
            ..
        } in all().unwrap()
        {
            let known = runners.contains(&language.as_str()) || DATA.contains(&language.as_str());
            assert!(known || not_run.is_some(), "{place}: {language:?} has no runner");
        }
        for document in documents().unwrap() {
            let text = std::fs::read_to_string(root().join(&document)).unwrap();
            let mut fenced = false;
            for (number, line) in text.lines().enumerate() {
                fenced ^= line.starts_with("```");
                let command = ["    cargo ", "    cd ", "    npm ", "    dynatwin "]
                    .iter()
                    .any(|start| line.starts_with(start));
                assert!(
                    fenced || !command,
                    "{document}:{}: a command outside of a fenced block",
                    number + 1
                );
            }
        }
    }
}
