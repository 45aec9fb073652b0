//! All scenarios and cases, in process, over HTTP, and against DynamoDB Local.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use dynatwin_conformance::case;
use dynatwin_conformance::difference::{self, Differences};
use dynatwin_conformance::run::Plan;
use dynatwin_conformance::scenario;
use dynatwin_conformance::target::{Kind, Mood};

async fn all_pass(target: Kind) {
    let plan = Plan {
        targets: vec![target],
        scenarios: scenario::ALL.iter().collect(),
        files: Arc::new(case::files(&case::folder()).unwrap()),
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
    all_pass(Kind::InProcess(Mood::Calm)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_process_on_an_ordinary_day() {
    all_pass(Kind::InProcess(Mood::Aws)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_process_on_the_worst_day() {
    all_pass(Kind::InProcess(Mood::Storm)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server() {
    all_pass(Kind::Server).await;
}

/// The scenarios are right only if another implementation agrees. `DYNATWIN_OFFLINE=1` leaves this out where npm or Java
/// are not to be had.
#[tokio::test(flavor = "multi_thread")]
async fn dynamodb_local() {
    if std::env::var_os("DYNATWIN_OFFLINE").is_some_and(|value| value == "1") {
        eprintln!("DYNATWIN_OFFLINE=1: DynamoDB Local is left out");
        return;
    }
    all_pass(Kind::DynamoDbLocal).await;
}
