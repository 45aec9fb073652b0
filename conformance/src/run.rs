//! Runs scenarios and cases against targets.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use dynatwin_case::{Case, Comparison, File};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::check::{Failure, Outcome};
use crate::context::Context;
use crate::difference::{Differences, Subject};
use crate::lane::Lane;
use crate::report::{Entry, Exchange, NOT_STARTED, Report, SCENARIOS, TestStatus};
use crate::scenario::Scenario;
use crate::target::{Absence, Target, TargetKind};

/// The timeouts of a scenario and of a case.
const PATIENCE: Duration = Duration::from_mins(2);

/// The number of consecutive cases of a file that one lane runs.
const CHUNK: usize = 16;

/// What to run.
///
/// ```no_run
/// # async fn example() {
/// use dynatwin_conformance::run::Plan;
/// use dynatwin_conformance::target::{TargetKind, Preset};
///
/// let plan = Plan {
///     targets: vec![TargetKind::InProcess(Preset::Calm)],
///     ..Plan::default()
/// };
/// let report = plan.run(|entry| println!("{entry}")).await;
/// print!("{report}");
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The targets, in the order of the report's columns.
    pub targets: Vec<TargetKind>,
    /// Whether targets that are not installed are skipped.
    pub lenient: bool,
    /// The scenarios, in the order of the report's rows.
    pub scenarios: Vec<&'static Scenario>,
    /// The files of cases, after the scenarios.
    pub files: Arc<Vec<File>>,
    /// The known differences from AWS.
    pub differences: Arc<Differences>,
    /// The seed, for targets that take one.
    pub seed: u64,
}

impl Plan {
    /// Runs every scenario and case against every target; calls `progress` for each result. Targets that were started
    /// are stopped before this returns, and also when its future is dropped.
    pub async fn run(&self, mut progress: impl FnMut(&Entry)) -> Report {
        let mut report = Report::new(self.seed);
        for kind in &self.targets {
            let start = Instant::now();
            match kind.start(self.seed).await {
                Ok(target) => self.run_target(target, &mut report, &mut progress).await,
                Err(absence) => {
                    let entry = self.not_started(kind, &absence);
                    progress(&entry);
                    report.add(entry);
                }
            }
            report.took(kind.to_string(), start.elapsed());
        }
        report
    }

    fn not_started(&self, kind: &TargetKind, absence: &Absence) -> Entry {
        let status = match absence {
            Absence::NotHere(reason) if self.lenient => TestStatus::Skipped(reason.clone()),
            _ => TestStatus::Failed(Failure::new(format!("the target did not start: {absence}"))),
        };
        Entry {
            target: kind.to_string(),
            group: SCENARIOS.to_owned(),
            name: NOT_STARTED.to_owned(),
            status,
            elapsed: Duration::ZERO,
            exchange: None,
        }
    }

    async fn run_target(&self, target: Arc<dyn Target>, report: &mut Report, progress: &mut impl FnMut(&Entry)) {
        for scenario in &self.scenarios {
            let mut entry = run_scenario(scenario, target.as_ref()).await;
            self.apply_exceptions(&mut entry);
            progress(&entry);
            report.add(entry);
        }
        if target.raw_client("probe").is_some() {
            self.run_cases(target, report, progress).await;
        }
    }

    /// Runs the cases in as many lanes as the target has; adds them to the report in the files' order.
    async fn run_cases(&self, target: Arc<dyn Target>, report: &mut Report, progress: &mut impl FnMut(&Entry)) {
        let (sender, mut done) = unbounded_channel();
        let next = Arc::new(AtomicUsize::new(0));
        let mut lanes = tokio::task::JoinSet::new();
        for _ in 0..target.lanes() {
            let (lane, next) = (Lane::new(Arc::clone(&target)), Arc::clone(&next));
            let (files, sender) = (Arc::clone(&self.files), sender.clone());
            lanes.spawn(run_lane(lane, files, next, sender));
        }
        drop(sender);
        let mut entries = Vec::new();
        while let Some((place, reply, elapsed)) = done.recv().await {
            let (file, case) = (&self.files[place.0], &self.files[place.0].cases[place.1]);
            let entry = self.judge(target.name(), file, case, reply, elapsed);
            progress(&entry);
            entries.push((place, entry));
        }
        entries.sort_by_key(|(place, _)| *place);
        entries.into_iter().for_each(|(_, entry)| report.add(entry));
    }

    /// A scenario that is known to fail on this target must fail; any other must pass.
    fn apply_exceptions(&self, entry: &mut Entry) {
        let failure = match &entry.status {
            TestStatus::Failed(failure) => Some(failure.clone()),
            _ => None,
        };
        let answered = failure.as_ref().map(ToString::to_string);
        let status = self.differences.judge(Subject {
            target: &entry.target,
            case: &entry.id(),
            operation: SCENARIOS,
            expected: "",
            answered: answered.as_deref(),
        });
        entry.status = match (status, failure) {
            // The failure is more informative than the missing exception.
            (TestStatus::Failed(_), Some(failure)) => TestStatus::Failed(failure),
            (status, _) => status,
        };
    }

    fn judge(&self, target: &str, file: &File, case: &Case, requested: CaseAnswer, elapsed: Duration) -> Entry {
        let id = format!("{}/{}", file.name, case.name);
        let answered = match &requested {
            CaseAnswer::Not(_) | CaseAnswer::AsAws => None,
            CaseAnswer::Otherwise(answered) | CaseAnswer::Unanswered(answered) => Some(answered.clone()),
        };
        let expected = case.expect.to_string();
        let judged = || {
            self.differences.judge(Subject {
                target,
                case: &id,
                operation: &case.operation,
                expected: &expected,
                answered: answered.as_deref(),
            })
        };
        let status = match &requested {
            CaseAnswer::Not(why) => TestStatus::Skipped(why.clone()),
            CaseAnswer::Unanswered(error) => match judged() {
                TestStatus::Failed(_) => {
                    TestStatus::Failed(Failure::new(format!("transport error, no answer: {error}")))
                }
                known => known,
            },
            _ => judged(),
        };
        Entry {
            target: target.to_owned(),
            group: file.name.clone(),
            name: case.name.clone(),
            status,
            elapsed,
            exchange: answered.map(|answered| Exchange {
                operation: case.operation.clone(),
                request: case.request.clone(),
                expected: case.expect.to_string(),
                evidence: case.evidence.clone(),
                answered,
            }),
        }
    }
}

/// The result of sending a case to a target.
enum CaseAnswer {
    /// It was not sent, and why.
    Not(String),
    /// The answer is equal to AWS's.
    AsAws,
    /// The answer differs from AWS's.
    Otherwise(String),
    /// There was no answer, and why.
    Unanswered(String),
}

type Done = ((usize, usize), CaseAnswer, Duration);

async fn run_lane(mut lane: Lane, files: Arc<Vec<File>>, next: Arc<AtomicUsize>, done: UnboundedSender<Done>) {
    let chunks: Vec<(usize, usize)> = files
        .iter()
        .enumerate()
        .flat_map(|(at, file)| (0..file.cases.len()).step_by(CHUNK).map(move |first| (at, first)))
        .collect();
    while let Some((at, first)) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
        let file = &files[*at];
        for number in *first..(first + CHUNK).min(file.cases.len()) {
            let start = Instant::now();
            let requested = run_case(&mut lane, file, &file.cases[number]).await;
            if done.send(((*at, number), requested, start.elapsed())).is_err() {
                return;
            }
        }
    }
    // A target that does not answer does not need to clean up.
    let _ = tokio::time::timeout(PATIENCE, lane.clear()).await;
}

async fn run_case(lane: &mut Lane, file: &File, case: &Case) -> CaseAnswer {
    if let Some(reason) = lane.refuses(case) {
        return CaseAnswer::Not(reason);
    }
    match tokio::time::timeout(PATIENCE, lane.run(file, case)).await {
        Ok(Ok((reply, expect))) if expect.holds(Comparison::Loose, &case.operation, &reply) => CaseAnswer::AsAws,
        Ok(Ok((reply, _))) => CaseAnswer::Otherwise(reply.to_string()),
        Ok(Err(failure)) if failure.is_of_transport() => CaseAnswer::Unanswered(failure.to_string()),
        Ok(Err(failure)) => CaseAnswer::Otherwise(failure.to_string()),
        Err(_) => CaseAnswer::Unanswered(format!("not done within {} s", PATIENCE.as_secs())),
    }
}

async fn run_scenario(scenario: &'static Scenario, target: &dyn Target) -> Entry {
    let context = Arc::new(Context::new(target.session()));
    let start = Instant::now();
    let outcome = bounded(scenario, Arc::clone(&context)).await;
    let elapsed = start.elapsed();
    // A target that does not answer does not need to clean up.
    let _ = tokio::time::timeout(PATIENCE, context.clean_up()).await;
    Entry {
        target: target.name().to_owned(),
        group: SCENARIOS.to_owned(),
        name: scenario.name.to_owned(),
        status: outcome.map_or_else(TestStatus::Failed, |()| TestStatus::Passed),
        elapsed,
        exchange: None,
    }
}

/// Runs the scenario in its own task, so that a panic is a failure, with a timeout.
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
    use crate::report::Counts;
    use crate::target::Preset;
    use serde_json::json;

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

    fn plan(targets: Vec<TargetKind>, scenarios: Vec<&'static Scenario>) -> Plan {
        Plan {
            targets,
            scenarios,
            seed: 7,
            ..Plan::default()
        }
    }

    #[tokio::test]
    async fn failures_and_panics_are_counted() {
        let mut seen = 0;
        let plan = plan(
            vec![TargetKind::InProcess(Preset::Calm)],
            vec![&FAILS, &PANICS, &PASSES],
        );
        let counts = plan.run(|_| seen += 1).await.counts();
        assert_eq!((seen, counts.passed, counts.failed), (3, 1, 2));
    }

    #[tokio::test]
    async fn a_target_that_does_not_start_fails() {
        // Nothing listens on the second one's port.
        for url in ["https://nowhere", "http://127.0.0.1:1"] {
            let nowhere = TargetKind::Endpoint {
                url: url.to_owned(),
                prefix: None,
            };
            let counts = plan(vec![nowhere], vec![&PASSES, &PASSES]).run(|_| ()).await.counts();
            assert_eq!((counts.passed, counts.failed), (0, 1), "{url}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_scenario_that_hangs_fails() {
        const HANGS: Scenario = Scenario {
            name: "hangs",
            about: "",
            run: |_| Box::pin(std::future::pending()),
        };
        let counts = plan(vec![TargetKind::InProcess(Preset::Calm)], vec![&HANGS])
            .run(|_| ())
            .await
            .counts();
        assert_eq!(counts.failed, 1);
    }

    /// Only a run of everything leaves out what is not installed.
    #[test]
    fn a_target_that_is_not_installed_is_skipped_if_it_was_not_asked_for() {
        for (lenient, absence, skipped) in [
            (true, Absence::NotHere("no java".to_owned()), true),
            (false, Absence::NotHere("no java".to_owned()), false),
            (true, Absence::Failed(Failure::new("no port")), false),
        ] {
            let mut plan = plan(vec![], vec![]);
            plan.lenient = lenient;
            let entry = plan.not_started(&TargetKind::DynamoDbLocal, &absence);
            let expected = if skipped {
                TestStatus::Skipped(absence.to_string())
            } else {
                TestStatus::Failed(Failure::new(format!("the target did not start: {absence}")))
            };
            assert_eq!(entry.status, expected, "lenient {lenient}");
        }
    }

    /// A target at a port where nothing listens, which may also not come back.
    struct Silent {
        hangs: bool,
    }

    impl Target for Silent {
        fn name(&self) -> &'static str {
            "silent"
        }

        fn session(&self) -> crate::target::Session {
            unreachable!("no scenario runs")
        }

        fn raw_client(&self, _: &str) -> Option<crate::raw_client::RawClient> {
            let credentials = aws_credential_types::Credentials::new("AKIATEST", "secret", None, None, "test");
            let (url, region) = ("http://127.0.0.1:1".to_owned(), "us-east-1".to_owned());
            let http = crate::http::PlainHttp::new();
            Some(crate::raw_client::RawClient::http(http, url, region, credentials))
        }

        fn revive(&self) -> std::pin::Pin<Box<dyn Future<Output = Outcome<bool>> + Send + '_>> {
            if self.hangs {
                Box::pin(std::future::pending())
            } else {
                Box::pin(std::future::ready(Ok(false)))
            }
        }
    }

    /// Such a case has failed, unless it is known to have no answer there.
    #[tokio::test(start_paused = true)]
    async fn a_case_without_an_answer_is_not_answered_differently() {
        let case = json!({
            "name": "c", "operation": "ListTables", "request": {}, "answer": {}, "evidence": "e",
        });
        let file = File {
            name: "f".to_owned(),
            tables: vec![json!({"TableName": "one"})],
            cases: vec![Case::read(&case).unwrap()],
            ..File::default()
        };
        for (hangs, expected) in [
            (false, "transport error, no answer: "),
            (true, "transport error, no answer: not done within 120 s"),
        ] {
            let mut plan = plan(vec![], vec![]);
            plan.files = Arc::new(vec![file.clone()]);
            let mut report = Report::new(7);
            plan.run_target(Arc::new(Silent { hangs }), &mut report, &mut |_| ())
                .await;
            let [entry] = report.entries() else {
                panic!("{report}");
            };
            match &entry.status {
                TestStatus::Failed(failure) => {
                    assert!(failure.to_string().starts_with(expected), "{failure}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[tokio::test]
    async fn each_case_meets_the_tables_of_its_file_as_they_are_there() {
        let table = json!({
            "TableName": "one", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        });
        let key = json!({"TableName": "one", "Key": {"pk": {"S": "a"}}});
        let case = |name: &str, operation: &str, answer: serde_json::Value| {
            let case = json!({"name": name, "operation": operation, "request": key, "answer": answer, "evidence": "e"});
            Case::read(&case).unwrap()
        };
        let there = json!({"Item": {"pk": {"S": "a"}}});
        let file = File {
            name: "f".to_owned(),
            about: String::new(),
            tables: vec![table],
            items: [("one".to_owned(), vec![json!({"pk": {"S": "a"}})])].into(),
            cases: vec![
                case("there", "GetItem", there.clone()),
                case("goes", "DeleteItem", json!({})),
                case("there again", "GetItem", there),
                case("wrong", "GetItem", json!({})),
            ],
        };
        let mut plan = plan(
            vec![
                TargetKind::InProcess(Preset::Calm),
                TargetKind::InProcess(Preset::Storm),
            ],
            vec![],
        );
        plan.files = Arc::new(vec![file]);
        let report = plan.run(|_| ()).await;
        let failed: Vec<_> = report
            .entries()
            .iter()
            .filter(|entry| entry.status != TestStatus::Passed)
            .collect();
        let counts = Counts {
            passed: 3,
            failed: 1,
            ..Counts::default()
        };
        assert_eq!((report.counts(), failed[0].name.as_str()), (counts, "wrong"));
    }
}
