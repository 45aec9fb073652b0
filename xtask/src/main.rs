//! The project's development tasks: `cargo xtask wasm`, `page`, `controls`, `wheel`, `test`, `bench`, `profile`, `dist`, `fuzz`, `plant` and `unlocked`.

mod bench;
mod controls;
mod crates;
mod deny;
mod dist;
mod examples;
mod fuzz;
mod image;
mod patch;
mod plant;
mod profile;
mod python;
mod schedule;
mod server;
mod setup;
mod shell;
mod snippets;
mod test;
mod unlocked;
mod wasm;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TASK
  wasm     build the engine for JavaScript into wasm/npm/pkg, and print its size
  page     build the playground into web/dist, and print its size
  page pictures
           build it, and take its screenshots for docs/
  controls generate what is derived from openapi.json, the declaration of the controls
  wheel    build the Python package into target/wheels/release, and print its size
  test [STEP...]
           install missing dependencies and run the tests of each change, or the named steps; ends with
           `N passed, N failed`
  test --all [STEP...]
           run every test (takes hours)
  bench    compare the server over HTTP with a bare server, DynamoDB Local, and dynoxide if it is installed
  bench --library
           compare the engine in process with dynoxide's library
  bench --python
           compare Python tests in process with moto and DynamoDB Local
  bench --scale
           measure how the cost of time to live, long operations, memory and stale reads grows with a
           table's size
  fuzz [SECONDS]
           coverage-guided fuzzing of the engine's dispatch (default: 30 s)
  fuzz --shrink
           reduce target/fuzz-corpus to the fewest inputs with the same coverage
  profile  record the profile that release builds are optimized with (installs llvm-19 and wrk)
  dist PART
           build a part of a release in target/dist: binary [TARGET], crates, npm, wheel, image, checksums
  plant [WORD]...
           plant all bugs, or those whose description contains a word, in a copy of the engine, and report
           which of them the tests find
  unlocked [MODEL...]
           remove each lock from a copy of the engine in turn, and expect its loom models to fail";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["help" | "--help" | "-h"] | [_, "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        ["wasm"] => wasm::build(),
        ["page"] => wasm::page(),
        ["page", "pictures"] => wasm::pictures(),
        ["controls"] => controls::generate(),
        ["wheel"] => python::wheel(),
        ["test", steps @ ..] => {
            return match test::steps(steps) {
                Ok(true) => ExitCode::SUCCESS,
                Ok(false) => ExitCode::FAILURE,
                Err(sentence) => fail(&sentence),
            };
        }
        ["bench"] => bench::compare(),
        ["bench", "--library"] => bench::libraries(),
        ["bench", "--python"] => bench::python(),
        ["bench", "--scale"] => bench::scale(),
        ["fuzz"] => fuzz::run_for(fuzz::SHORT),
        ["fuzz", "--shrink"] => fuzz::shrink(),
        ["fuzz", seconds] => match seconds.parse() {
            Ok(seconds) => fuzz::run_for(seconds),
            Err(_) => Err(USAGE.into()),
        },
        ["profile"] => profile::record(),
        ["dist", part] => dist::make(part, None),
        ["dist", part, target] => dist::make(part, Some(target)),
        ["plant", words @ ..] => plant::all(words),
        ["unlocked", models @ ..] => unlocked::all(models),
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => fail(&sentence),
    }
}

fn fail(sentence: &str) -> ExitCode {
    eprintln!("{sentence}");
    ExitCode::FAILURE
}
