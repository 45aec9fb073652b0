//! The container image: the last stage of the `Containerfile`, built by buildah from the static binary.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::server::free_port;
use crate::shell::{self, Outcome, as_root, output, run};
use crate::test::Counts;
use crate::{bench, dist, setup};

/// The user that the image runs as, as in `amazon/dynamodb-local`.
const USER: &str = "1000:1000";

/// The working directory of `amazon/dynamodb-local`.
const HOME: &str = "/home/dynamodblocal";

const NAME: &str = "dynatwin-release";

/// Checks the answers of a container on a port.
type Check = fn(u16) -> Outcome<()>;

/// Writes the image as an archive for `podman load` and `docker load`.
pub fn archive() -> Outcome<()> {
    build()?;
    let version = env!("CARGO_PKG_VERSION");
    let archive = dist::folder().join(format!("dynatwin-{version}-image.tar"));
    if archive.exists() {
        fs::remove_file(&archive).map_err(|error| error.to_string())?;
    }
    let to = format!("docker-archive:{}:dynatwin:{version}", archive.display());
    run(buildah().args(["push", NAME]).arg(to))?;
    println!("{}", archive.display());
    Ok(())
}

/// Builds the image in a storage of its own. No base image is needed.
fn build() -> Outcome<()> {
    setup::program("buildah", "buildah")?;
    let text = |error: std::io::Error| error.to_string();
    let context = dist::folder().join("image");
    if context.exists() {
        fs::remove_dir_all(&context).map_err(text)?;
    }
    let root = context.join("root-directory");
    fs::create_dir_all(root.join(&HOME[1..]).join("data")).map_err(text)?;
    fs::copy(dist::binary(&dist::host()?)?, root.join("dynatwin")).map_err(text)?;
    let file = fs::read_to_string(shell::root().join("Containerfile")).map_err(text)?;
    let last = file
        .find("FROM scratch")
        .ok_or("the Containerfile has no stage from scratch")?;
    fs::write(context.join("Containerfile"), &file[last..]).map_err(text)?;
    let mut build = buildah();
    // The format of OCI has no health checks.
    build.args(["build", "--format", "docker", "--tag", NAME, "--build-context"]);
    build.arg(format!("build={}", context.display()));
    run(build.arg("--file").arg(context.join("Containerfile")).arg(&context))
}

fn buildah() -> Command {
    let storage = shell::root().join("target/containers");
    let mut buildah = as_root("buildah");
    buildah
        .args(["--storage-driver", "vfs", "--root"])
        .arg(storage.join("storage"));
    buildah.arg("--runroot").arg(storage.join("run"));
    buildah.stdin(Stdio::null());
    buildah
}

/// Checks the image's configuration, and runs its root directory as a container does: as its user, in its working
/// directory, without the rest of the file system, with the command lines and environment of `amazon/dynamodb-local`.
pub fn test() -> Outcome<Counts> {
    build()?;
    let container = output(buildah().args(["from", NAME]))?;
    let root = output(buildah().args(["mount", container.trim()]))?;
    let counts = all_cases(Path::new(root.trim()));
    run(buildah().args(["rm", container.trim()]))?;
    Ok(counts)
}

fn all_cases(root: &Path) -> Counts {
    let stored = ["-jar", "DynamoDBLocal.jar", "-sharedDb", "-dbPath", "./data"];
    let local = [
        "-jar",
        "DynamoDBLocal.jar",
        "-sharedDb",
        "-inMemory",
        "-disableTelemetry",
    ];
    let cases: [(&[&str], &[&str], Check); 6] = [
        (&[], &[], is_empty),
        (&["-jar", "DynamoDBLocal.jar", "-inMemory"], &[], is_empty),
        (&local, &[], is_empty),
        (&["-sharedDb"], &["DYNATWIN_LOG=requests"], is_empty),
        // The command of the developer guide's compose file, before and after a restart.
        (&stored, &[], creates_a_table),
        (&stored, &[], has_the_table),
    ];
    let mut counts = counted("configuration", configuration());
    for (words, variables, check) in cases {
        let name = format!("{words:?} {variables:?}");
        counts.add(counted(&name, in_container(root, words, variables, check)));
    }
    counts
}

fn counted(name: &str, outcome: Outcome<()>) -> Counts {
    if let Err(sentence) = &outcome {
        println!("{name}: {sentence}");
    }
    Counts {
        passed: u64::from(outcome.is_ok()),
        failed: u64::from(outcome.is_err()),
    }
}

fn configuration() -> Outcome<()> {
    let inspected = output(buildah().args(["inspect", "--type", "image", NAME]))?;
    let inspected: Value = serde_json::from_str(&inspected).map_err(|error| error.to_string())?;
    let has = &inspected["Docker"]["config"];
    let expect = [
        ("User", json!(USER)),
        ("WorkingDir", json!(HOME)),
        ("Entrypoint", json!(["/dynatwin"])),
        ("ExposedPorts", json!({"8000/tcp": {}})),
    ];
    for (name, value) in expect {
        if has[name] != value {
            return Err(format!("{name} is {}, not {value}", has[name]));
        }
    }
    match &has["Healthcheck"]["Test"] {
        test if *test == json!(["CMD", "/dynatwin", "health"]) => Ok(()),
        test => Err(format!("the health check is {test}")),
    }
}

fn is_empty(port: u16) -> Outcome<()> {
    listed(port, &[])
}

fn creates_a_table(port: u16) -> Outcome<()> {
    is_empty(port)?;
    let table = json!({
        "TableName": "Orders",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    });
    bench::call(port, "CreateTable", &table).map(drop)
}

fn has_the_table(port: u16) -> Outcome<()> {
    listed(port, &["Orders"])
}

fn listed(port: u16, expect: &[&str]) -> Outcome<()> {
    let tables = bench::call(port, "ListTables", &json!({}))?;
    if tables["TableNames"] == json!(expect) {
        Ok(())
    } else {
        Err(format!("it has the tables {}, not {expect:?}", tables["TableNames"]))
    }
}

fn in_container(root: &Path, words: &[&str], variables: &[&str], check: Check) -> Outcome<()> {
    let port = free_port()?;
    let (user, group) = USER.split_once(':').unwrap_or((USER, USER));
    let container = |words: &[&str]| {
        let mut command = as_root("env");
        command
            .args(["-i", "DYNATWIN_HOST=0.0.0.0"])
            .arg(format!("DYNATWIN_PORT={port}"));
        // By its path, because the environment has no `PATH`.
        command.args(variables).arg(unshare()).arg("--root").arg(root);
        command.arg(format!("--wd={HOME}"));
        command.args([format!("--setuid={user}"), format!("--setgid={group}")]);
        command.arg("/dynatwin").args(words).stdin(Stdio::null());
        command
    };
    let mut server = container(words).spawn().map_err(|error| error.to_string())?;
    let checked = run(&mut container(&["wait", "--timeout", "10"]))
        .and_then(|()| run(&mut container(&["health"])))
        .and_then(|()| check(port));
    let stopped = run(as_root("kill").arg(server.id().to_string()));
    let status = server.wait().map_err(|error| error.to_string())?;
    checked?;
    stopped?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("it ends with {status}"))
    }
}

fn unshare() -> PathBuf {
    shell::find("unshare").unwrap_or_else(|| "/usr/bin/unshare".into())
}
