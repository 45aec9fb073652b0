//! Simulation: random worlds, with dials, faults and a clock that moves, held against a naive reference model.
//!
//! A world is decided by its seed. Several clients send random requests: in turns, in an order that the seed decides as well, or
//! each in a thread of its own. `DYNATWIN_SEED=n` replays one world, `DYNATWIN_WORLDS=n` looks at so many.
//!
//! The model is in `verify.rs`. It looks for lost and phantom writes, reads of what never was, indexes that are not the
//! projection of their table, streams that do not make the table, and capacity that was spent and not had.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

#[path = "../common/commits.rs"]
mod commits;
#[path = "../common/mod.rs"]
mod common;

mod client;
mod control;
mod facts;
mod plant;
mod requests;
mod setup;
mod verify;
mod world;
mod write;

use std::thread;

use client::Client;
use common::setting;
use dynatwin_engine::conditions::Conditions;
use facts::Facts;
use plant::{Plant, Wrong};
use setup::Setup;
use verify::{Figures, verify};
use world::{TABLES, World};

/// Who sends requests.
const CLIENTS: u64 = 4;
/// Requests of all clients together, in turns; among threads each client has a third of that.
const STEPS: u64 = 120;
/// Times as long as a table an index takes to be made.
const INDEX_TAKES: u32 = 90;
const IN_TURNS: u64 = 100;
const IN_THREADS: u64 = 60;

/// A world whose clients take turns.
fn in_turns(seed: u64, wrong: Wrong) -> Result<Figures, String> {
    let world = World::new(Setup::new(seed, false), Plant::new(wrong));
    let mut clients: Vec<Client<'_>> = (0..CLIENTS).map(|number| Client::new(&world, number)).collect();
    let mut choice = common::Choice(seed ^ 0x7472_6e73);
    for _ in 0..STEPS {
        let at = choice.below(CLIENTS) as usize;
        // Who waits for an answer does nothing else but what needs none.
        match choice.below(8) {
            _ if clients[at].receive() => clients[at].act()?,
            0..=1 => clients[at].pass()?,
            2..=3 => clients[at].control()?,
            _ => {}
        }
    }
    let facts = clients.into_iter().map(wait_and_end);
    end(&world, facts)
}

/// A world whose clients are threads.
fn in_threads(seed: u64) -> Result<Figures, String> {
    let world = World::new(Setup::new(seed, true), Plant::new(Wrong::Nothing));
    let run = |number| {
        let mut client = Client::new(&world, number);
        for _ in 0..STEPS / 3 {
            client.act()?;
            if let Some((at, _)) = &client.pending {
                // Who waits lets time pass.
                client.world.move_to(*at, false);
                client.receive();
            }
        }
        Ok::<Facts, String>(wait_and_end(client))
    };
    let facts: Result<Vec<Facts>, String> = thread::scope(|scope| {
        let run = &run;
        let clients: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(move || run(number))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    end(&world, facts?.into_iter())
}

/// What a client knows when its last answer has arrived.
fn wait_and_end(mut client: Client<'_>) -> Facts {
    if let Some((at, _)) = &client.pending {
        client.world.move_to(*at, false);
        client.receive();
    }
    client.facts
}

/// Lets the world come to rest, and looks at it.
fn end(world: &World, facts: impl Iterator<Item = Facts>) -> Result<Figures, String> {
    let mut all = Facts::default();
    facts.for_each(|facts| all.extend(facts));
    let (engine, caller) = (&world.twin.engine, &world.twin.caller);
    engine.faults().clear();
    world.poll()?;
    // What is under way lands, and every index catches up; what is deleted meanwhile lags no more. The capacity that was
    // counted stays.
    engine.set_conditions(Conditions {
        capacity: engine.conditions().capacity,
        time_to_live: engine.conditions().time_to_live,
        ..Conditions::CALM
    });
    for (table, index) in TABLES
        .iter()
        .flat_map(|table| world::INDEXES.map(|index| (table, index)))
    {
        engine.set_index_lag(caller, table, index, None).unwrap();
        engine.resume_index(caller, table, index).unwrap();
    }
    let bounds = world.bounds();
    let rest = bounds.flight + bounds.index_lag + bounds.stream_lag + bounds.status * INDEX_TAKES;
    world.move_to(world.now().plus(rest), true);
    world.check_commits()?;
    verify(world, all)
}

fn run(what: &str, most: u64, world: impl Fn(u64) -> Result<Figures, String>) {
    let seeds = match setting("DYNATWIN_SEED") {
        Some(seed) => seed..seed + setting("DYNATWIN_WORLDS").unwrap_or(1),
        None => 0..setting("DYNATWIN_WORLDS").unwrap_or(most),
    };
    let count = seeds.end - seeds.start;
    let mut sum = Figures::default();
    for seed in seeds {
        match world(seed) {
            Ok(figures) => sum.add(figures),
            Err(error) => panic!(
                "DYNATWIN_SEED={seed} replays this, {what}: {error}\n {:?}",
                Setup::new(seed, false)
            ),
        }
    }
    println!("{count} worlds, {what}: {sum:?}");
    if count >= 50 {
        assert!(
            sum.stale * 100 > sum.reads,
            "only {} of {} reads were stale",
            sum.stale,
            sum.reads
        );
        assert!(
            sum.refused * 50 > sum.requests,
            "only {} of {} requests were refused",
            sum.refused,
            sum.requests
        );
    }
}

#[test]
fn worlds_in_turns_are_those_of_the_model() {
    run("in turns", IN_TURNS, |seed| in_turns(seed, Wrong::Nothing));
}

#[test]
fn worlds_in_threads_are_those_of_the_model() {
    run("in threads", IN_THREADS, in_threads);
}

#[test]
fn a_planted_fault_is_found_and_its_seed_replays() {
    for wrong in plant::ALL {
        let found = (0..40).find_map(|seed| Some((seed, in_turns(seed, wrong).err()?)));
        let (seed, error) = found.unwrap_or_else(|| panic!("{wrong:?} is not found"));
        println!("{wrong:?}: DYNATWIN_SEED={seed}: {error}");
        assert_eq!(in_turns(seed, wrong).err(), Some(error), "{wrong:?}, seed {seed}");
    }
}
