//! All scenarios and cases, in process, over HTTP, and against DynamoDB Local.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use dynatwin_conformance::case;
use dynatwin_conformance::difference::{self, Differences};
use dynatwin_conformance::run::Plan;
use dynatwin_conformance::scenario;
use dynatwin_conformance::target::{Kind, Mood, Server};

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

/// Cases name tables in members, statements, ARNs and policies: all of them where they have a prefix, and where they have none.
#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint() {
    let server = Server::start(7).await.unwrap();
    let mut files = case::files(&case::folder()).unwrap();
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
    for prefix in [None, Some("with-dashes."), Some("")] {
        let plan = Plan {
            targets: vec![Kind::Endpoint {
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
