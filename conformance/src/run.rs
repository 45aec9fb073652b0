//! Running scenarios against targets.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::check::{Failure, Outcome};
use crate::context::Context;
use crate::report::{Entry, Report};
use crate::scenario::Scenario;
use crate::target::{Kind, Target};

/// How long a scenario may take.
const PATIENCE: Duration = Duration::from_mins(2);

/// What is to be run.
///
/// ```no_run
/// # async fn example() {
/// use dynatwin_conformance::run::Plan;
/// use dynatwin_conformance::scenario;
/// use dynatwin_conformance::target::Kind;
///
/// let plan = Plan {
///     targets: Kind::ALL.to_vec(),
///     scenarios: scenario::ALL.iter().collect(),
///     seed: 1,
/// };
/// let report = plan.run(|entry| println!("{entry}")).await;
/// print!("{report}");
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    /// The targets, in the order of the report's columns.
    pub targets: Vec<Kind>,
    /// The scenarios, in the order of its rows.
    pub scenarios: Vec<&'static Scenario>,
    /// The seed of the targets that have one.
    pub seed: u64,
}

impl Plan {
    /// Runs every scenario against every target, one after the other; tells `progress` of each. Targets that were started
    /// are stopped before this returns, and also when its future is dropped.
    pub async fn run(&self, mut progress: impl FnMut(&Entry)) -> Report {
        let mut report = Report::new(self.seed);
        for kind in &self.targets {
            let target = kind.start(self.seed).await;
            for scenario in &self.scenarios {
                let entry = match &target {
                    Ok(target) => run_one(scenario, target.as_ref()).await,
                    Err(failure) => Entry::not_started(kind, scenario, failure),
                };
                progress(&entry);
                report.add(entry);
            }
        }
        report
    }
}

async fn run_one(scenario: &'static Scenario, target: &dyn Target) -> Entry {
    let context = Arc::new(Context::new(target.session()));
    let start = Instant::now();
    let outcome = bounded(scenario, Arc::clone(&context)).await;
    let elapsed = start.elapsed();
    // What the target does not answer any more it need not clean up either.
    let _ = tokio::time::timeout(PATIENCE, context.clean_up()).await;
    Entry {
        target: target.name().to_owned(),
        scenario: scenario.name,
        outcome,
        elapsed,
    }
}

/// The scenario in a task of its own, so that a panic is a failure, and for no longer than it may take.
async fn bounded(scenario: &'static Scenario, context: Arc<Context>) -> Outcome {
    let mut task = tokio::spawn(async move { (scenario.run)(&context).await });
    match tokio::time::timeout(PATIENCE, &mut task).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(panic)) => Err(Failure::new(format!("the scenario panicked: {panic}"))),
        Err(_) => {
            task.abort();
            Err(Failure::new(format!("not done within {} s", PATIENCE.as_secs())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Mood;

    const FAILS: Scenario = Scenario {
        name: "fails",
        about: "",
        run: |_| Box::pin(async { Err(Failure::new("on purpose")) }),
    };
    const PANICS: Scenario = Scenario {
        name: "panics",
        about: "",
        run: |_| Box::pin(async { panic!("on purpose") }),
    };
    const PASSES: Scenario = Scenario {
        name: "passes",
        about: "",
        run: |_| Box::pin(async { Ok(()) }),
    };

    #[tokio::test]
    async fn failures_and_panics_are_counted() {
        let plan = Plan {
            targets: vec![Kind::InProcess(Mood::Calm)],
            scenarios: vec![&FAILS, &PANICS, &PASSES],
            seed: 7,
        };
        let mut seen = 0;
        let report = plan.run(|_| seen += 1).await;
        assert_eq!((seen, report.passed(), report.failed()), (3, 1, 2));
    }

    #[tokio::test]
    async fn a_target_that_does_not_start_fails_all() {
        let plan = Plan {
            targets: vec![Kind::Endpoint("https://nowhere".to_owned())],
            scenarios: vec![&PASSES, &PASSES],
            seed: 7,
        };
        let report = plan.run(|_| ()).await;
        assert_eq!((report.passed(), report.failed()), (0, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_scenario_that_hangs_fails() {
        const HANGS: Scenario = Scenario {
            name: "hangs",
            about: "",
            run: |_| Box::pin(std::future::pending()),
        };
        let plan = Plan {
            targets: vec![Kind::InProcess(Mood::Calm)],
            scenarios: vec![&HANGS],
            seed: 7,
        };
        assert_eq!(plan.run(|_| ()).await.failed(), 1);
    }
}
