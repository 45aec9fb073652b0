//! Whether what was seen can have been seen, and whether the order is one in which nobody was answered before his time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dynatwin_engine::clock::Moment;
use serde_json::Value;

use super::{Figures, Items, Line, Transition, index_hash};
use crate::common::model::{Key, key_of, pick};
use crate::facts::{Cut, Seen, SeenIndex};
use crate::world::{INDEXES, Move, World};

/// A write that was answered before another was sent comes before it.
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

/// The tick before which everything is seen by a reader who looks at `began`, and may miss what is younger than `bound`.
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

/// The newest state that was certainly there before `since`, of all transitions.
fn oldest(line: &Line, since: u64) -> usize {
    let gone = |transition: &Transition| transition.window.answered < since;
    line.transitions.iter().rposition(gone).map_or(0, |at| at + 1)
}

/// The newest state that can have been there by `answered`.
fn newest(line: &Line, answered: u64) -> usize {
    let later = |transition: &Transition| transition.window.invoked > answered;
    line.transitions
        .iter()
        .position(later)
        .unwrap_or(line.transitions.len())
}

/// Each read has seen a state that there was, not too old a one, and none older than who had read before it.
///
/// The order of the writes is known, so taking the oldest state that is possible for one read after the other finds an
/// order of all if there is one.
pub fn reads(world: &World, lines: &[[Line; 4]], seen: &[Seen], figures: &mut Figures) -> Result<(), String> {
    let (moves, bounds) = (world.moves(), world.bounds());
    // Per table and partition: when reads that see the present were answered, and which state they saw.
    let mut placed: BTreeMap<(usize, usize), Vec<(u64, usize)>> = BTreeMap::new();
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
                seen.says,
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

/// What an index keeps of an item, if anything.
pub fn entry(index: &str, item: &Value) -> Option<Value> {
    item.get(index_hash(index))?;
    Some(if index == INDEXES[1] {
        pick(item, &["pk", "sk", "l"])
    } else {
        item.clone()
    })
}

/// The numbers of the versions in each state.
fn shown(states: &[Items]) -> Vec<Vec<String>> {
    let items = |items: &Items| {
        items
            .iter()
            .map(|(key, item)| format!("{}/{}: {}", key.0, key.1, item["v"]["N"]))
            .collect()
    };
    states.iter().map(items).collect()
}

fn in_index(seen: &SeenIndex, items: &Items) -> Vec<Value> {
    let hash = index_hash(seen.index);
    let of_key = |item: &&Value| seen.hash.is_none() || seen.hash.as_ref() == item.get(hash);
    let mine = items.values().filter(of_key);
    mine.filter_map(|item| entry(seen.index, item)).collect()
}

/// Each index has shown versions that there were, none too old, none older than who had read before, and no item twice. One that
/// never lagged has shown the present.
pub fn indexes(world: &World, lines: &[[Line; 4]], seen: &[SeenIndex], figures: &mut Figures) -> Result<(), String> {
    let (moves, bounds) = (world.moves(), world.bounds());
    let mut own: BTreeMap<(u64, usize, &str, Key), usize> = BTreeMap::new();
    for seen in seen {
        figures.reads += 1;
        let fail = |why: String| Err(format!("{why}: {}\n {:?}", seen.says, seen.window));
        let keys: BTreeSet<Key> = seen.entries.iter().map(key_of).collect();
        if keys.len() < seen.entries.len() {
            return fail("an item is there twice".into());
        }
        let since = if bounds.paused {
            0
        } else {
            seen_since(&moves, seen.began, bounds.index_lag, seen.window.invoked)
        };
        let lags = bounds.paused || !bounds.index_lag.is_zero();
        for (partition, line) in lines[seen.table].iter().enumerate() {
            let (least, most) = (oldest(line, since), newest(line, seen.window.answered));
            let of_line = |found: &&Value| super::partition_of(found["pk"]["S"].as_str().unwrap()) == partition;
            let mut found: Vec<Value> = seen.entries.iter().filter(of_line).cloned().collect();
            found.sort_by_key(key_of);
            let states = &line.states[least.min(most)..=most];
            if !lags && !states.iter().any(|items| in_index(seen, items) == found) {
                return fail(format!("the index never was so: {found:?} of {:?}", shown(states)));
            }
            for entry in &found {
                let own = own
                    .entry((seen.client, seen.table, seen.index, key_of(entry)))
                    .or_default();
                let least = least.max(*own);
                let shows = |state: &usize| {
                    let item = line.states[*state].get(&key_of(entry));
                    item.and_then(|item| self::entry(seen.index, item)).as_ref() == Some(entry)
                };
                match (least..=most).find(shows) {
                    Some(state) => *own = state,
                    None => return fail(format!("no state between {least} and {most} has {entry}")),
                }
            }
        }
    }
    Ok(())
}

/// Transactions stand in one order: none has seen, or overwritten, one part of another and not the other part.
pub fn transactions(lines: &[[Line; 4]], cuts: &[Cut]) -> Result<(), String> {
    // What each transaction is told after, of those whose items it has met.
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
    // A reader has a number of its own.
    for (at, cut) in cuts.iter().enumerate() {
        let reader = u64::MAX - at as u64;
        for (table, key, found) in &cut.items {
            let Some(of_key) = versions.get(&(*table, key)) else {
                continue;
            };
            // What is absent may be so for several reasons.
            let Some(found) = found else { continue };
            let Some(at) = of_key
                .iter()
                .position(|transition| transition.new.as_ref() == Some(found))
            else {
                return Err(format!("nobody has written {found}: {}", cut.says));
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
        Some(cut) => format!("a part of a transaction was seen: {}", cut.says),
        None => format!("transaction {around} comes before itself"),
    })
}

/// Takes out what comes after nothing that is left, again and again. What stays goes around.
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
