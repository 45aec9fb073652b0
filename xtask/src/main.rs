//! The project's development tasks: `cargo xtask wasm`, `page`, `wheel`, `test`, `bench`, `dist`, `fuzz`, `plant` and `unlocked`.

mod bench;
mod crates;
mod deny;
mod dist;
mod examples;
mod fuzz;
mod patch;
mod plant;
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
  wasm     build the engine for JavaScript into wasm/npm/pkg, and say how large it is
  page     build the playground into web/dist, and print its size
  page pictures
           build it, and take the pictures of it in docs/
  wheel    build the Python package into target/wheels/release, and print its size
  test [STEP...]
           install what is missing and run the tests of each change, or the steps named; ends with
           `N passed, N failed`
  test --all [STEP...]
           run every test, which takes hours
  bench    compare the server over HTTP with a bare server, DynamoDB Local, and dynoxide if there is one
  bench --library
           compare the engine in process with dynoxide's library, which is built for that alone
  bench --python
           compare Python tests in process with moto and DynamoDB Local
  bench --scale
           measure how time to live, long operations, memory and stale reads grow with a table's size
  fuzz [SECONDS]
           coverage-guided fuzzing of the engine's dispatch (30 s unless told)
  fuzz --shrink
           keep of target/fuzz-corpus the fewest inputs that cover the same
  dist PART
           make a part of a release in target/dist: binary [TARGET], crates, npm, wheel, image, checksums
  plant [WORD]...
           plant bugs in a copy of the engine, those that have a word or all, and say which the suite finds
  unlocked [MODEL...]
           remove each lock from a copy of the engine in turn, and expect its loom models to fail";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["wasm"] => wasm::build(),
        ["page"] => wasm::page(),
        ["page", "pictures"] => wasm::pictures(),
        ["wheel"] => python::wheel(),
        ["test", steps @ ..] => {
            return match test::steps(steps) {
                Ok(true) => ExitCode::SUCCESS,
                Ok(false) => ExitCode::FAILURE,
                Err(sentence) => said(&sentence),
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
        ["dist", part] => dist::make(part, None),
        ["dist", part, target] => dist::make(part, Some(target)),
        ["plant", words @ ..] => plant::all(words),
        ["unlocked", models @ ..] => unlocked::all(models),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => said(&sentence),
    }
}

fn said(sentence: &str) -> ExitCode {
    eprintln!("{sentence}");
    ExitCode::FAILURE
}
