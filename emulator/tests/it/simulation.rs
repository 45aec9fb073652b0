//! Simulation: random worlds, with conditions, faults and a moving clock, compared with a naive reference model.
//!
//! A seed determines a world. Several clients send random requests: in turns, in an order that the seed also
//! determines, or each in its own thread. `DYNATWIN_SEED=n` replays one world, `DYNATWIN_WORLDS=n` sets the number of
//! worlds.
//!
//! The model is in `verify.rs`. It detects lost and phantom writes, reads of states that never existed, indexes that
//! are not the projection of their table, streams that do not yield the table when replayed, and consumption of
//! capacity that was not available.

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
use std::time::Duration;

use crate::common::{self, setting};
use client::Client;
use dynatwin_engine::{Conditions, Lag};
use facts::Facts;
use plant::{Plant, Wrong};
use serde_json::json;
use setup::Setup;
use verify::{Figures, verify};
use world::{TABLES, World};

const CLIENTS: u64 = 4;
/// The number of requests of all clients in turns; with threads each client sends a third of that.
const STEPS: u64 = 120;
/// An index takes this many times as long to create as a table.
const INDEX_TAKES: u32 = 90;
const IN_TURNS: u64 = 100;
const IN_THREADS: u64 = 60;

/// Runs a world whose clients take turns.
fn in_turns(seed: u64, wrong: Wrong) -> Result<Figures, String> {
    let world = World::new(Setup::new(seed, false), Plant::new(wrong));
    let mut clients: Vec<Client<'_>> = (0..CLIENTS).map(|number| Client::new(&world, number)).collect();
    let mut choice = common::Choice(seed ^ 0x7472_6e73);
    for _ in 0..STEPS {
        let at = choice.below(CLIENTS) as usize;
        // A client that waits for an answer only does what needs none.
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

/// Runs a world whose clients are threads.
fn in_threads(seed: u64) -> Result<Figures, String> {
    let world = World::new(Setup::new(seed, true), Plant::new(Wrong::Nothing));
    let run = |number| {
        let mut client = Client::new(&world, number);
        for _ in 0..STEPS / 3 {
            client.act()?;
            if let Some((at, _)) = &client.pending {
                // Waiting advances the clock.
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

/// Returns a client's facts after its last answer has arrived.
fn wait_and_end(mut client: Client<'_>) -> Facts {
    if let Some((at, _)) = &client.pending {
        client.world.move_to(*at, false);
        client.receive();
    }
    client.facts
}

/// Brings the world to rest, and verifies it.
fn end(world: &World, facts: impl Iterator<Item = Facts>) -> Result<Figures, String> {
    let mut all = Facts::default();
    facts.for_each(|facts| all.extend(facts));
    let (engine, caller) = (&world.twin.engine, &world.twin.caller);
    engine.faults().clear();
    world.poll()?;
    // Pending transactions are applied, and every index catches up; deletions no longer lag. Capacity settings stay, to
    // keep the counts.
    engine
        .set_conditions(Conditions {
            capacity: engine.conditions().capacity,
            time_to_live: engine.conditions().time_to_live,
            ..Conditions::CALM
        })
        .unwrap();
    for (table, index) in TABLES
        .iter()
        .flat_map(|table| world::INDEXES.map(|index| (table, index)))
    {
        engine.account(caller).set_index_lag(table, index, None).unwrap();
        engine.account(caller).resume_index(table, index).unwrap();
    }
    world.move_to(world.now().plus(rest(world)), true);
    world.check_commits()?;
    verify(world, all)
}

/// Returns the time after which nothing is pending. Creating an index takes 85 times as long as a table, but no less than six
/// times as long and the time that its entries take, each with the units of the largest item, at half of its write units. On
/// demand there are more units.
fn rest(world: &World) -> Duration {
    let bounds = world.bounds();
    let units = client::KEYS.iter().product::<u64>() * (client::FILLER + 1024).div_ceil(1024);
    let backfill = Duration::from_secs(1) * units.div_ceil(control::FICKLE_UNITS / 2) as u32;
    bounds.flight + bounds.index_lag + bounds.stream_lag + bounds.status * INDEX_TAKES + backfill
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
fn worlds_in_turns_match_the_model() {
    run("in turns", IN_TURNS, |seed| in_turns(seed, Wrong::Nothing));
}

#[test]
fn worlds_in_threads_match_the_model() {
    run("in threads", IN_THREADS, in_threads);
}

/// However short the states of tables are, an index of the largest items is complete in the end.
#[test]
fn a_world_rests_until_its_indexes_are_filled() {
    for micros in [0, 1, 1000, 100_000] {
        let mut setup = Setup::new(0, false);
        setup.conditions = Conditions {
            table_status: Lag::Fixed(Duration::from_micros(micros)),
            ..Conditions::CALM
        };
        let world = World::new(setup, Plant::new(Wrong::Nothing));
        let [partitions, sorts] = client::KEYS;
        for (table, name) in TABLES.iter().enumerate() {
            for (pk, sk) in (0..partitions).flat_map(|pk| (0..sorts).map(move |sk| (pk, sk))) {
                let filler = "f".repeat(client::FILLER as usize);
                let item = json!({"pk": {"S": format!("p{pk}")}, "sk": {"N": sk.to_string()}, "n": {"N": "1"}, "filler": {"S": filler}});
                world.twin.ok("PutItem", &json!({"TableName": name, "Item": item}));
            }
            world.twin.ok("UpdateTable", &control::fickle_index(table));
        }
        world.move_to(world.now().plus(rest(&world)), true);
        for table in TABLES {
            let index = world
                .twin
                .ok("Scan", &json!({"TableName": table, "IndexName": world::FICKLE}));
            assert_eq!(index["Count"], partitions * sorts, "{table}, {micros}");
        }
    }
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
