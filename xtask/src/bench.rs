//! `cargo xtask bench`: measures four operations over HTTP, compared in one run with a bare server (the floor). The results are
//! rates and processor time, both also as shares of the floor's: processor time is the more meaningful figure, because the load
//! generator runs on the same cores.

mod contenders;
mod gauge;
mod http;
mod scale;
mod workload;
mod wrk;

use std::path::Path;

pub use http::call;
pub use scale::scale;

use crate::server::Server;
use crate::setup;
use crate::shell::{self, Outcome};
use contenders::Contender;
use workload::Operation;
use wrk::Load;

/// A running server, and its memory before the first request.
struct Runner {
    name: &'static str,
    server: Server,
    idle: f64,
}

/// The load of one server in a round, and that of the floor in the same round.
struct Round {
    load: Load,
    floor: Load,
}

/// `BENCH_S` seconds a round (4) and `BENCH_ROUNDS` rounds (3), of which the median counts.
pub fn compare() -> Outcome<()> {
    let seconds = setting("BENCH_S", 4)?;
    let rounds = setting("BENCH_ROUNDS", 3)?;
    setup::program("wrk", "wrk")?;
    let (floor, contenders) = contenders::all()?;
    let runners = contenders.iter().map(start).collect::<Outcome<Vec<Runner>>>()?;
    for runner in &runners {
        workload::fill(runner.server.port()).map_err(|error| format!("{}: {error}", runner.name))?;
    }
    println!("{rounds} rounds of {seconds} s, 2 threads, 32 connections, items of about 1 KB\n");
    println!(
        "{:8}{:16}{:>11}{:>7}{:>9}{:>7}{:>10}{:>10}",
        "", "", "requests/s", "share", "CPU us", "share", "p50 us", "p99 us"
    );
    for operation in Operation::ALL {
        measure(operation, &floor, &runners, seconds, rounds)?;
    }
    println!("\n{:24}{:>12}{:>12}{:>16}", "", "start ms", "idle MB", "after load MB");
    for runner in &runners {
        // Load may have broken it.
        workload::check(runner.server.port()).map_err(|error| format!("{}: {error}", runner.name))?;
        println!(
            "{:24}{:>12.1}{:>12.1}{:>16.1}",
            runner.name,
            runner.server.started_in().as_secs_f64() * 1000.0,
            runner.idle,
            gauge::resident_megabytes(runner.server.id())?
        );
    }
    Ok(())
}

/// Sends a server requests of every frequent kind, for a second each, so that a profile of its execution can be collected.
pub fn exercise(server: &Server) -> Outcome<()> {
    setup::program("wrk", "wrk")?;
    workload::fill(server.port())?;
    for kind in workload::KINDS {
        wrk::run(server, kind, 1).map_err(|error| format!("{kind}: {error}"))?;
    }
    Ok(())
}

/// The engine and dynoxide's library, in process: a separate crate, whose dependencies only this task builds.
pub fn libraries() -> Outcome<()> {
    let mut cargo = shell::cargo();
    cargo.args([
        "run",
        "--quiet",
        "--release",
        "--manifest-path",
        "xtask/versus/Cargo.toml",
    ]);
    shell::run(cargo.args(["--target-dir", "target/versus"]))
}

/// Python tests with the package, with moto, and with DynamoDB Local.
pub fn python() -> Outcome<()> {
    let server = contenders::local()?.start()?;
    crate::python::compare(&server.endpoint())
}

fn setting(name: &str, otherwise: u32) -> Outcome<u32> {
    let Ok(text) = std::env::var(name) else {
        return Ok(otherwise);
    };
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("{name} must be a whole number greater than 0, not {text}")),
    }
}

fn start(contender: &Contender) -> Outcome<Runner> {
    let server = contender.start()?;
    // Memory includes what the first connection allocates.
    http::call(server.port(), "ListTables", &serde_json::json!({}))?;
    Ok(Runner {
        name: contender.name,
        idle: gauge::resident_megabytes(server.id())?,
        server,
    })
}

fn measure(operation: Operation, floor: &Path, runners: &[Runner], seconds: u32, rounds: u32) -> Outcome<()> {
    let bare = Server::start(floor, &[&operation.answer_size().to_string()])?;
    let mut results: Vec<Vec<Round>> = runners.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        let floor = wrk::run(&bare, operation.name(), seconds).map_err(|error| format!("floor: {error}"))?;
        for (runner, results) in runners.iter().zip(&mut results) {
            let load = wrk::run(&runner.server, operation.name(), seconds)
                .map_err(|error| format!("{}, {}: {error}", runner.name, operation.name()))?;
            results.push(Round { load, floor });
        }
    }
    let all = || results.iter().flatten();
    let rate = median(all().map(|round| round.floor.rate));
    let cpu = median(all().map(|round| round.floor.cpu));
    println!("{:8}{:16}{rate:>11.0}{:>7}{cpu:>9.1}", operation.name(), "floor", "");
    for (runner, rounds) in runners.iter().zip(&results) {
        let of = |figure: fn(&Round) -> f64| median(rounds.iter().map(figure));
        println!(
            "{:8}{:16}{:>11.0}{:>7.2}{:>9.1}{:>7.2}{:>10.0}{:>10.0}",
            "",
            runner.name,
            of(|round| round.load.rate),
            of(|round| round.load.rate / round.floor.rate),
            of(|round| round.load.cpu),
            of(|round| round.floor.cpu / round.load.cpu),
            of(|round| round.load.p50),
            of(|round| round.load.p99),
        );
    }
    Ok(())
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    match figures.len() % 2 {
        _ if figures.is_empty() => f64::NAN,
        1 => figures[middle],
        _ => f64::midpoint(figures[middle - 1], figures[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_middle() {
        for (figures, expect) in [(&[3.0, 1.0, 2.0][..], 2.0), (&[4.0, 1.0], 2.5), (&[7.0], 7.0)] {
            assert!((median(figures.iter().copied()) - expect).abs() < 1e-9, "{figures:?}");
        }
        assert!(median(std::iter::empty()).is_nan());
    }
}
