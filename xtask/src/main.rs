//! The project's chores: `cargo xtask wasm`, `page`, `wheel`, `test`, `bench`, `dist`, `fuzz` and `plant`.

mod bench;
mod dist;
mod examples;
mod fuzz;
mod plant;
mod python;
mod server;
mod setup;
mod shell;
mod snippets;
mod test;
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
           install what is missing and run every test, or the steps named; ends with `N passed, N failed`
  test --all
           the same, and the steps that run each night: loom models without their locks, planted bugs
  bench    compare the server over HTTP with a bare server, DynamoDB Local, and dynoxide if there is one
  bench --library
           compare the engine in process with dynoxide's library, which is built for that alone
  bench --python
           compare Python tests in process with moto and DynamoDB Local
  bench --scale
           measure how time to live, long operations, memory and stale reads grow with a table's size
  fuzz [SECONDS]
           coverage-guided fuzzing of the engine's dispatch (30 s unless told)
  fuzz --keep
           put what longer runs have found, shrunk, into emulator/fuzz/corpus.txt
  dist PART
           make a part of a release in target/dist: binary [TARGET], crates, npm, wheel, image, checksums
  plant [WORD]...
           plant bugs in a copy of the engine, those that have a word or all, and say which the suite finds";

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
        ["fuzz", "--keep"] => fuzz::keep(),
        ["fuzz", seconds] => match seconds.parse() {
            Ok(seconds) => fuzz::run_for(seconds),
            Err(_) => Err(USAGE.into()),
        },
        ["dist", part] => dist::make(part, None),
        ["dist", part, target] => dist::make(part, Some(target)),
        ["plant", words @ ..] => plant::all(words),
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
