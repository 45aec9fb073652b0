//! Copies of a state answer as the original does: random histories of control and data operations, a copy at a random moment,
//! and the same reads, steps of the clock and further requests of both. `DYNATWIN_SEED` repeats one history, or sets the first of
//! `DYNATWIN_COPIES`. `DYNATWIN_TRACE=1` prints each step.

mod history;
mod reads;

use std::sync::Arc;

use crate::common::commits::Recorder;
use crate::common::{Choice, commits, copies, setting};
use crate::transfers::MemoryStore;
use dynatwin_engine::{Clock, Engine, Moment, Settings};
use history::History;

/// The histories of a run, unless `DYNATWIN_COPIES` sets their number.
const HISTORIES: u64 = 25;

#[test]
fn copies_answer_as_their_original() {
    let first = setting("DYNATWIN_SEED");
    let count = setting("DYNATWIN_COPIES").unwrap_or(if first.is_some() { 1 } else { HISTORIES });
    for seed in (0..count).map(|at| first.unwrap_or(1) + at) {
        // Printed if the test fails.
        println!("DYNATWIN_SEED={seed}");
        if let Err(difference) = run(seed) {
            panic!("DYNATWIN_SEED={seed}: {difference}");
        }
    }
}

/// Runs a history, and compares each copy at once, after a step of the clock, and after further requests and steps.
fn run(seed: u64) -> Result<(), String> {
    let mut choice = Choice(seed);
    let conditions = history::conditions(&mut choice);
    let settings = || Settings {
        clock: Clock::settable(Moment::START),
        seed,
        conditions,
        shared_db: false,
    };
    let store = Arc::new(MemoryStore::default());
    let original = Engine::new(settings()).with_object_store(store.clone());
    let recorder = Recorder::of(&original);
    let mut history = History::new(choice);
    for _ in 0..20 + history.choice.below(40) {
        history.step(&original).run(&original);
    }
    original.run_due();
    let copies = copies::of(&original, &recorder, settings).into_iter();
    let copies = copies.map(|(what, copy)| (what, copy.with_object_store(store.clone())));
    // Each history checks the log, and one of the other ways in which copies are made.
    let ways = [4, history.choice.below(4)];
    let copies: Vec<(&str, Engine)> = copies
        .enumerate()
        .filter(|(at, _)| ways.contains(&(*at as u64)))
        .map(|(_, copy)| copy)
        .collect();
    let compare = |when: &str| {
        let expect = reads::all(&original);
        for (what, copy) in &copies {
            for ((request, expect), (_, found)) in expect.iter().zip(reads::all(copy)) {
                if let Some(difference) = copies::difference(expect, &found) {
                    if setting("DYNATWIN_TRACE").is_some() {
                        println!("{expect}\n{found}");
                    }
                    return Err(format!("{what}, {when}: {request}{difference}"));
                }
            }
            let [expect, found] = [&original, copy].map(state);
            if let Some((expect, found)) = expect.iter().zip(&found).find(|(expect, found)| expect != found) {
                return Err(format!("{what}, {when}:\n  is      {expect}\n  becomes {found}"));
            }
            assert_eq!(expect.len(), found.len(), "{what}, {when}");
        }
        Ok(())
    };
    compare("at once")?;
    for round in 0..2 {
        let step = history.advance();
        step.run(&original);
        copies.iter().for_each(|(_, copy)| drop(step.run(copy)));
        compare(&format!("after {round} rounds and {step}"))?;
        for _ in 0..5 {
            // Records of one moment are in the order in which due work is applied.
            original.run_due();
            copies.iter().for_each(|(_, copy)| copy.run_due());
            let step = history.further_step(&original);
            let expect = step.run(&original);
            for (what, copy) in &copies {
                if let Some(difference) = copies::difference(&expect, &step.run(copy)) {
                    return Err(format!("{what}, round {round}: {step}{difference}"));
                }
            }
        }
        compare(&format!("after the requests of round {round}"))?;
    }
    Ok(())
}

/// The state of an engine, as text, without the numbers of replicated writes: a copy counts on from the highest that it has.
fn state(engine: &Engine) -> Vec<String> {
    let without = |text: &str, before: &str, end: char| {
        let mut parts = text.split(before);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| text + part.trim_start_matches(|found| found != end))
    };
    let commits = commits::dump(engine).into_iter();
    let texts = commits.map(|commit| {
        let text = without(&format!("{commit:?}"), "sequence: ", ',');
        without(&text, "seen: ", ']')
    });
    texts.collect()
}
