//! All scenarios, in process and over HTTP. With `DYNATWIN_TEST_ALL=1` the cases too, which the engine's test `cases` runs
//! for each change.
#![allow(clippy::unwrap_used)]

mod signatures;

use std::sync::Arc;

use dynatwin_conformance::difference::{self, Differences};
use dynatwin_conformance::run::Plan;
use dynatwin_conformance::scenario;
use dynatwin_conformance::target::{Preset, Server, TargetKind};

/// Whether tests run that repeat others through further entry points, as `cargo xtask test --all` does.
fn runs_all() -> bool {
    std::env::var_os("DYNATWIN_TEST_ALL").is_some_and(|value| value == "1")
}

async fn all_pass(target: TargetKind) {
    let files = if runs_all() {
        dynatwin_case::files(&dynatwin_case::folder()).unwrap()
    } else {
        Vec::new()
    };
    let plan = Plan {
        targets: vec![target],
        scenarios: scenario::ALL.iter().collect(),
        files: Arc::new(files),
        differences: Arc::new(Differences::read(&difference::file()).unwrap()),
        seed: 7,
        ..Plan::default()
    };
    let report = plan.run(|entry| println!("{entry}")).await;
    let counts = report.counts();
    assert!(counts.failed == 0 && counts.passed >= scenario::ALL.len(), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_process() {
    all_pass(TargetKind::InProcess(Preset::Calm)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cases_pass_in_process_under_aws() {
    all_pass(TargetKind::InProcess(Preset::Aws)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cases_pass_in_process_under_storm() {
    all_pass(TargetKind::InProcess(Preset::Storm)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server() {
    all_pass(TargetKind::Server).await;
}

/// Cases name tables in members, statements, ARNs and policies: these names get the prefix, and are unchanged without one.
#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint() {
    let server = Server::start(7).await.unwrap();
    let mut files = dynatwin_case::files(&dynatwin_case::folder()).unwrap();
    let wanted = [
        "attached",
        "backups",
        "batches",
        "partiql",
        "rounds",
        "streams",
        "transfers",
        "vectors",
    ];
    files.retain(|file| wanted.contains(&file.name.as_str()));
    let prefixes = [Some("with-dashes."), None, Some("")];
    for prefix in prefixes.into_iter().take(if runs_all() { 3 } else { 1 }) {
        let plan = Plan {
            targets: vec![TargetKind::Endpoint {
                url: server.url().to_owned(),
                prefix: prefix.map(str::to_owned),
            }],
            files: Arc::new(files.clone()),
            ..Plan::default()
        };
        let report = plan.run(|_| ()).await;
        let counts = report.counts();
        assert!(counts.failed == 0 && counts.passed > 500, "{prefix:?}: {report}");
    }
}

#[test]
fn known_differences_are_of_cases_that_exist() {
    let differences = Differences::read(&difference::file()).unwrap();
    let stale = differences.stale(&dynatwin_case::files(&dynatwin_case::folder()).unwrap());
    assert!(stale.is_empty(), "{stale:#?}");
}
