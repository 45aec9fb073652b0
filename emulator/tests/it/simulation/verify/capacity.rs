//! Capacity: the reported units are those that were consumed, and never more than were available.

use dynatwin_engine::monitoring::ResourceHeat;
use dynatwin_engine::{Capacity, Moment};
use serde_json::json;

use crate::simulation::facts::{Facts, Spent};
use crate::simulation::world::{FICKLE, TABLES, World};

pub fn check(world: &World, facts: &Facts) -> Result<(), String> {
    for (table, name) in TABLES.iter().enumerate() {
        let Ok(heat) = world.twin.engine.account(&world.twin.caller).heat(name) else {
            return Err(format!("{name} is gone"));
        };
        // A world without metering has no resources here.
        for resource in &heat.resources {
            // The count of the fickle index is deleted with it.
            if resource.index.as_deref() != Some(FICKLE) {
                check_resource(world, table, resource, facts)?;
            }
        }
    }
    Ok(())
}

fn check_resource(world: &World, table: usize, resource: &ResourceHeat, facts: &Facts) -> Result<(), String> {
    let index = resource.index.as_deref();
    for (writes, counted) in [(false, resource.read.units), (true, resource.write.units)] {
        let of = |spent: &&Spent| spent.table == table && spent.index.as_deref() == index && spent.writes == writes;
        let mine: Vec<&Spent> = facts.spent.iter().filter(of).filter(|spent| spent.halves > 0).collect();
        let reported: i64 = mine.iter().map(|spent| spent.halves).sum();
        let counted = (counted.as_f64() * 2.0) as i64;
        let name = json!([TABLES[table], index, if writes { "writes" } else { "reads" }]);
        if reported > counted || (reported < counted && !facts.broken) {
            return Err(format!(
                "{name}: {reported} halves of units are reported, and {counted} were spent"
            ));
        }
        if let Some((rate, keeps)) = limit(world, table, index, writes) {
            windows(&mine, rate, keeps).map_err(|error| format!("{name}: {error}"))?;
        }
    }
    Ok(())
}

/// Returns the units per second and the burst seconds of a resource, if it is limited.
fn limit(world: &World, table: usize, index: Option<&str>, writes: bool) -> Option<(u64, u64)> {
    let Capacity::Enforced(rules) = world.setup.conditions.capacity else {
        return None;
    };
    let at = usize::from(writes);
    if table == 0 {
        let units = world.setup.provisioned[usize::from(index.is_some())];
        return Some((units[at], rules.burst.as_secs().max(1)));
    }
    world.setup.most.filter(|_| index.is_none()).map(|most| (most[at], 1))
}

/// Checks that between any two requests no more was consumed than was kept and refilled, except for the debt of one
/// request: a page that is charged after it was read, or a request larger than the bucket.
fn windows(spent: &[&Spent], rate: u64, keeps: u64) -> Result<(), String> {
    let halves = |micros: i128| 2 * i128::from(rate) * micros / 1_000_000;
    let mut ends: Vec<&&Spent> = spent.iter().collect();
    ends.sort_by_key(|spent| spent.ended);
    let largest = spent.iter().map(|spent| i128::from(spent.halves)).max().unwrap_or(0);
    for first in spent {
        let mut sum = 0;
        for last in ends.iter().filter(|last| last.began >= first.began) {
            sum += i128::from(last.halves);
            let time = i128::from(last.ended.micros() - first.began.micros());
            let most =
                halves(time) + halves(i128::from(keeps) * 1_000_000) + crate::simulation::CLIENTS as i128 * largest + 1;
            if sum > most {
                let (from, to): (Moment, Moment) = (first.began, last.ended);
                return Err(format!(
                    "{sum} halves of units were spent from {from} to {to}, of {most}"
                ));
            }
        }
    }
    Ok(())
}
