//! Explains the records of the stream by the requests.

use std::collections::{BTreeMap, BTreeSet};

use dynatwin_engine::Moment;
use serde_json::Value;

use super::{Items, Line, Transition, partition_of};
use crate::common::model::{Key, key_of, number};
use crate::simulation::facts::{Outcome, Written};
use crate::simulation::world::{Bounds, Move, Window, World};
use crate::simulation::write::Action;

/// The writes to one table that must or may still appear.
struct Explained<'f> {
    puts: BTreeMap<i64, &'f Written>,
    deletions: BTreeMap<Key, Vec<&'f Written>>,
    shown: BTreeSet<i64>,
}

/// Returns the lines of a table's partitions. No write is lost, none appears that was not sent, and each has its
/// effect.
pub fn lines(world: &World, records: &[Value], written: Vec<&Written>) -> Result<[Line; 4], String> {
    let mut explained = Explained {
        puts: BTreeMap::new(),
        deletions: BTreeMap::new(),
        shown: BTreeSet::new(),
    };
    for written in &written {
        if matches!(written.write.action, Action::Delete) {
            let of_key = explained.deletions.entry(written.write.key.clone()).or_default();
            of_key.push(written);
        } else {
            explained.puts.insert(written.write.number, written);
        }
    }
    let mut lines: [Line; 4] = Default::default();
    lines.iter_mut().for_each(|line| line.states.push(Items::new()));
    let (moves, bounds) = (world.moves(), world.bounds());
    for record in records {
        let image = |name: &str| record["dynamodb"].get(name).cloned();
        let key = key_of(&record["dynamodb"]["Keys"]);
        let line = &mut lines[partition_of(&key.0)];
        let mut items = line.states.last().unwrap().clone();
        let (old, new) = (image("OldImage"), image("NewImage"));
        if items.get(&key) != old.as_ref() || old == new {
            return Err(format!("the stream has {record} instead of {:?}", items.get(&key)));
        }
        let mut transition = Transition {
            key: key.clone(),
            expired: record["userIdentity"]["PrincipalId"] == "dynamodb.amazonaws.com",
            old,
            new: new.clone(),
            window: Window {
                invoked: 0,
                answered: u64::MAX,
            },
            transaction: None,
        };
        if transition.expired {
            transition.window = expiry(&transition, line, &moves, &bounds).ok_or(format!("too early: {record}"))?;
        } else {
            explained
                .explain(&mut transition)
                .map_err(|error| format!("{error}: {record}"))?;
        }
        match new {
            Some(new) => items.insert(key, new),
            None => items.remove(&key),
        };
        line.states.push(items);
        line.transitions.push(transition);
    }
    let lost =
        |written: &&&Written| written.outcome == Outcome::Done && !explained.shown.contains(&written.write.number);
    if let Some((number, _)) = explained.puts.iter().find(|(_, written)| lost(written)) {
        return Err(format!("write {number} was done, and no stream has it"));
    }
    Ok(lines)
}

impl<'f> Explained<'f> {
    fn explain(&mut self, transition: &mut Transition) -> Result<(), String> {
        let written = match &transition.new {
            Some(new) => self.put(new)?,
            None => return self.deletion(transition),
        };
        let write = &written.write;
        if write.key != transition.key || written.outcome == Outcome::NotDone {
            return Err("the stream has a record of a write that was not done".into());
        }
        let old = transition.old.as_ref();
        if !write.may(old) || write.apply(old) != transition.new {
            return Err("that is not what the write does".into());
        }
        let shown_old = written
            .old
            .as_ref()
            .is_some_and(|shown| *shown != old.cloned().unwrap_or_default());
        let shown_new = written
            .new
            .as_ref()
            .is_some_and(|shown| Some(shown) != transition.new.as_ref());
        if shown_old || shown_new {
            return Err(format!("the answer has shown {:?} and {:?}", written.old, written.new));
        }
        transition.window = written.window;
        transition.transaction = written.transaction;
        Ok(())
    }

    fn put(&mut self, new: &Value) -> Result<&'f Written, String> {
        let write = number(&new["v"]).unwrap_or_default();
        let written = self.puts.get(&write).copied();
        if !self.shown.insert(write) {
            return Err("the stream has two records of one write".into());
        }
        written.ok_or_else(|| "no request has written this".into())
    }

    /// Explains a deletion, which does not name its request. If an answer contained the deleted item, it is that
    /// request; otherwise it may be any possible one, each of which deletes once.
    fn deletion(&mut self, transition: &mut Transition) -> Result<(), String> {
        let old = transition.old.as_ref();
        let candidates = self.deletions.entry(transition.key.clone()).or_default();
        let known_old = |written: &&Written| written.old.as_ref().filter(|old| !old.is_null()).cloned();
        let may = |written: &&Written| {
            let other = written.old.is_some() && known_old(written).as_ref() != old;
            written.outcome != Outcome::NotDone && !other && written.write.may(old)
        };
        let exact = candidates
            .iter()
            .position(|written| may(written) && known_old(written).is_some());
        if let Some(at) = exact {
            let written = candidates.remove(at);
            transition.window = written.window;
            transition.transaction = written.transaction;
            return Ok(());
        }
        let windows = candidates
            .iter()
            .filter(|written| may(written))
            .map(|written| written.window);
        let hull = windows.reduce(|one, other| Window {
            invoked: one.invoked.min(other.invoked),
            answered: one.answered.max(other.answered),
        });
        transition.window = hull.ok_or("no request has deleted this")?;
        // The request with the earliest answer comes first.
        let first = (0..candidates.len()).filter(|at| may(&candidates[*at]));
        if let Some(at) = first.min_by_key(|at| candidates[*at].window.answered) {
            candidates.remove(at);
        }
        Ok(())
    }
}

/// Returns when time to live can have deleted an item: not before its expiry, and with the longest lag, which begins when it
/// is written if it is expired then, before the next request.
fn expiry(transition: &Transition, line: &Line, moves: &[Move], bounds: &Bounds) -> Option<Window> {
    let dies = Moment::from_seconds(number(&transition.old.as_ref()?["dies"])?);
    let invoked = if dies <= Moment::START {
        0
    } else {
        reached(moves, dies)?.invoked
    };
    let written = line
        .transitions
        .iter()
        .rev()
        .find(|before| before.key == transition.key)?;
    let mut before = moves.iter().rev();
    let present = before.find(|step| step.window.invoked <= written.window.answered);
    let begins = present.map_or(Moment::START, |step| step.to).max(dies);
    let longest = bounds.expiry.map(|lag| begins.plus(lag).plus(bounds.flight));
    let late = match longest {
        Some(moment) if moment <= Moment::START => Some(0),
        Some(moment) => reached(moves, moment).map(|window| window.answered),
        None => None,
    };
    let answered = late.map_or(u64::MAX, |tick| tick.max(written.window.answered));
    Some(Window { invoked, answered })
}

/// Returns the move with which the clock reached a moment.
pub fn reached(moves: &[Move], moment: Moment) -> Option<Window> {
    moves.iter().find(|step| step.to >= moment).map(|step| step.window)
}
