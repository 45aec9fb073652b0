//! Checks that every read is possible, and that the order respects real time: no effect after its answer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dynatwin_engine::Moment;
use serde_json::Value;

use super::{Figures, Items, Line, Transition, index_hash};
use crate::common::model::{Key, key_of, pick};
use crate::simulation::facts::{Cut, Seen, SeenIndex};
use crate::simulation::world::{INDEXES, Move, World};

/// Checks that a write that was answered before another was sent precedes it.
pub fn writes(line: &Line) -> Result<(), String> {
    let mut latest = 0;
    for Transition { key, new, window, .. } in &line.transitions {
        if window.answered < latest {
            return Err(format!(
                "{key:?} became {new:?} after a write that was sent later, within {window:?}"
            ));
        }
        latest = latest.max(window.invoked);
    }
    Ok(())
}

/// Returns the tick before which a read started at `began` sees everything; it may miss changes younger than `bound`.
fn seen_since(moves: &[Move], began: Moment, bound: Duration, invoked: u64) -> u64 {
    if bound.is_zero() {
        return invoked;
    }
    let moment = began.minus(bound);
    if moment < Moment::START {
        return 0;
    }
    let left = moves.iter().find(|step| step.to > moment);
    left.map_or(invoked, |step| step.window.invoked.min(invoked))
}

/// Returns the newest state that certainly existed before `since`.
fn oldest(line: &Line, since: u64) -> usize {
    let gone = |transition: &Transition| transition.window.answered < since;
    line.transitions.iter().rposition(gone).map_or(0, |at| at + 1)
}

/// Returns the newest state that can have existed at `answered`.
fn newest(line: &Line, answered: u64) -> usize {
    let later = |transition: &Transition| transition.window.invoked > answered;
    line.transitions
        .iter()
        .position(later)
        .unwrap_or(line.transitions.len())
}

/// When a read was answered, and the state that it returned.
type Placed = (u64, usize);

/// Checks that each read returned an existing state, within the staleness bound, and not older than earlier monotonic
/// reads.
///
/// The order of the writes is known, so choosing the oldest possible state for each read in turn finds an order of all
/// reads if there is one.
pub fn reads(world: &World, lines: &[[Line; 4]], seen: &[Seen], figures: &mut Figures) -> Result<(), String> {
    let (moves, bounds) = (world.moves(), world.bounds());
    // Per table and partition: when current reads were answered, and which state they returned.
    let mut placed: BTreeMap<(usize, usize), Vec<Placed>> = BTreeMap::new();
    let mut own: BTreeMap<(Option<u64>, usize, usize), usize> = BTreeMap::new();
    for seen in seen {
        let line = &lines[seen.table][seen.partition];
        let bound = if seen.consistent {
            Duration::ZERO
        } else {
            bounds.staleness
        };
        let mut least = oldest(line, seen_since(&moves, seen.began, bound, seen.window.invoked));
        let present = placed.entry((seen.table, seen.partition)).or_default();
        if bound.is_zero() {
            let before = present.iter().filter(|(answered, _)| *answered < seen.window.invoked);
            least = before.map(|(_, state)| *state).fold(least, usize::max);
        }
        let own = own.entry((seen.client, seen.table, seen.partition)).or_default();
        if bounds.monotonic && seen.client.is_some() {
            least = least.max(*own);
        }
        let most = newest(line, seen.window.answered);
        let Some(state) = (least..=most).find(|state| (seen.test)(&line.states[*state])) else {
            let states = &line.states[least.min(most)..=most];
            return Err(format!(
                "no state between {least} and {most} was so: {}\n {:?}\n {:?}",
                seen.description,
                shown(states),
                seen.window
            ));
        };
        if bound.is_zero() {
            present.push((seen.window.answered, state));
        }
        *own = (*own).max(state);
        figures.reads += 1;
        figures.stale += u64::from(!(seen.test)(&line.states[most]));
    }
    Ok(())
}

/// Returns the entry of an item in an index, if it has one.
pub fn entry(index: &str, item: &Value) -> Option<Value> {
    item.get(index_hash(index))?;
    Some(if index == INDEXES[1] {
        pick(item, &["pk", "sk", "l"])
    } else {
        item.clone()
    })
}

/// Returns the version numbers in each state.
fn shown(states: &[Items]) -> Vec<Vec<String>> {
    let items = |items: &Items| {
        items
            .iter()
            .map(|(key, item)| format!("{}/{}: {}", key.0, key.1, item["v"]["N"]))
            .collect()
    };
    states.iter().map(items).collect()
}

/// Returns what a read of an index shows of an item in a state, if anything.
fn of_item(seen: &SeenIndex, items: &Items, key: &Key) -> Option<Value> {
    let item = items.get(key)?;
    let requested = seen.hash.is_none() || seen.hash.as_ref() == item.get(index_hash(seen.index));
    entry(seen.index, item).filter(|_| requested)
}

fn in_index(seen: &SeenIndex, items: &Items) -> Vec<Value> {
    items.keys().filter_map(|key| of_item(seen, items, key)).collect()
}

/// Each index has shown of every item a version that there was, or none where it had none: not too old a version, none older
/// than a read before has shown, and no item twice. Each item has a lag of its own, so what an index shows of two items may
/// never have been so at one moment. One that never lagged has shown the present.
pub fn indexes(world: &World, lines: &[[Line; 4]], seen: &[SeenIndex], figures: &mut Figures) -> Result<(), String> {
    let (moves, bounds) = (world.moves(), world.bounds());
    // Per index and item: when reads were answered, and the version they showed, as the state it first was in.
    let mut shown_before: BTreeMap<(usize, &str, Key), Vec<Placed>> = BTreeMap::new();
    for seen in seen {
        figures.reads += 1;
        let fail = |why: String| Err(format!("{why}: {}\n {:?}", seen.description, seen.window));
        let found: BTreeMap<Key, &Value> = seen.entries.iter().map(|entry| (key_of(entry), entry)).collect();
        if found.len() < seen.entries.len() {
            return fail("an item occurs twice".into());
        }
        let since = if bounds.paused {
            0
        } else {
            seen_since(&moves, seen.began, bounds.index_lag, seen.window.invoked)
        };
        let lags = bounds.paused || !bounds.index_lag.is_zero();
        for (partition, line) in lines[seen.table].iter().enumerate() {
            let (least, most) = (oldest(line, since), newest(line, seen.window.answered));
            let states = &line.states[least.min(most)..=most];
            let here: Vec<&Value> = found
                .iter()
                .filter(|((pk, _), _)| super::partition_of(pk) == partition)
                .map(|(_, entry)| *entry)
                .collect();
            if !lags
                && !states
                    .iter()
                    .any(|items| in_index(seen, items).iter().eq(here.iter().copied()))
            {
                return fail(format!("the index never was so: {here:?} of {:?}", shown(states)));
            }
            let written = line.transitions.iter().map(|transition| &transition.key);
            let keys: BTreeSet<Key> = written.cloned().chain(here.iter().map(|entry| key_of(entry))).collect();
            for key in keys {
                let entry = found.get(&key).copied();
                let before = shown_before.entry((seen.table, seen.index, key.clone())).or_default();
                let latest = before.iter().filter(|(answered, _)| *answered < seen.window.invoked);
                let least = latest.map(|(_, state)| *state).fold(least, usize::max);
                let shows = |state: &usize| of_item(seen, &line.states[*state], &key).as_ref() == entry;
                match (least..=most).find(shows) {
                    Some(state) => before.push((seen.window.answered, state)),
                    None => {
                        return fail(format!(
                            "no state between {least} and {most} shows {entry:?} of {key:?}"
                        ));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Checks that transactions have one order: none has read or overwritten only a part of another.
pub fn transactions(lines: &[[Line; 4]], cuts: &[Cut]) -> Result<(), String> {
    // For each transaction, those that precede it because it has met their items.
    let mut after: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut versions: BTreeMap<(usize, &Key), Vec<&Transition>> = BTreeMap::new();
    for (table, line) in lines.iter().enumerate() {
        for transition in line.iter().flat_map(|line| &line.transitions) {
            versions.entry((table, &transition.key)).or_default().push(transition);
        }
    }
    for of_key in versions.values() {
        let mut before = None;
        for transaction in of_key.iter().filter_map(|transition| transition.transaction) {
            after.entry(transaction).or_default().extend(before);
            before = Some(transaction);
        }
    }
    // Each read has its own number.
    for (at, cut) in cuts.iter().enumerate() {
        let reader = u64::MAX - at as u64;
        for (table, key, found) in &cut.items {
            let Some(of_key) = versions.get(&(*table, key)) else {
                continue;
            };
            // Absence can have several reasons.
            let Some(found) = found else { continue };
            let Some(at) = of_key
                .iter()
                .position(|transition| transition.new.as_ref() == Some(found))
            else {
                return Err(format!("no request has written {found}: {}", cut.description));
            };
            let (seen, unseen) = of_key.split_at(at + 1);
            let last = seen.iter().rev().find_map(|transition| transition.transaction);
            after.entry(reader).or_default().extend(last);
            if let Some(next) = unseen.iter().find_map(|transition| transition.transaction) {
                after.entry(next).or_default().insert(reader);
            }
        }
    }
    acyclic(&after).map_err(|around| match cuts.get((u64::MAX - around) as usize) {
        Some(cut) => format!("a part of a transaction was seen: {}", cut.description),
        None => format!("transaction {around} comes before itself"),
    })
}

/// Removes the nodes without predecessors repeatedly. The remaining ones form a cycle.
fn acyclic(after: &BTreeMap<u64, BTreeSet<u64>>) -> Result<(), u64> {
    let mut left = after.clone();
    loop {
        let free: Vec<u64> = left
            .iter()
            .filter(|(_, before)| !before.iter().any(|before| left.contains_key(before)))
            .map(|(node, _)| *node)
            .collect();
        if free.is_empty() {
            return left.last_key_value().map_or(Ok(()), |(node, _)| Err(*node));
        }
        free.iter().for_each(|node| drop(left.remove(node)));
    }
}
