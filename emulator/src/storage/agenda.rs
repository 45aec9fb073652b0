//! Chooses the scopes to examine for due work: those with recent requests, and any other when its next work is due. The
//! cost of a pass depends on the amount of work, not on the number of accounts.

use std::collections::{BTreeMap, BTreeSet};

use super::scope::Scope;
use crate::clock::Moment;
use crate::sorted::SortedMap;
use crate::sync::{AtomicBool, Mutex, Ordering};

/// The number of passes for which a scope counts as recently used: a request may change something long after it has
/// found its table.
const LOOKS: u64 = 8;
/// Every pass with this period examines all scopes.
const LOOKS_AT_ALL: u64 = 240;

/// The scopes that others have left something to do for, until the next look. Its lock is a leaf.
#[derive(Debug, Default)]
pub struct Wakes(Mutex<SortedMap<Scope, ()>>);

impl Wakes {
    /// Makes the next pass examine a scope.
    pub fn add(&self, scope: &Scope) {
        self.0.lock().get_or_default(scope);
    }

    /// Whether the next look is at any scope.
    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Removes and returns all scopes, in order.
    pub fn take(&self) -> impl Iterator<Item = Scope> {
        let wakes = std::mem::take(&mut *self.0.lock());
        wakes.into_iter().map(|(scope, ())| scope)
    }
}

/// The known scopes and their due times.
#[derive(Debug, Default)]
pub struct Agenda {
    touched: Mutex<Vec<Scope>>,
    all: AtomicBool,
    looks: Mutex<ScopeSchedule>,
}

#[derive(Debug, Default)]
struct ScopeSchedule {
    count: u64,
    /// The number of passes that still examine each recently used scope.
    active: BTreeMap<Scope, u64>,
    /// When the next work is due in each of the other scopes that have any.
    quiet: BTreeMap<Scope, Moment>,
    /// The contents of `quiet`, ordered by time.
    due: BTreeSet<(Moment, Scope)>,
}

impl Agenda {
    /// Records that a scope is used.
    pub fn touch(&self, scope: &Scope) {
        self.touched.lock().push(scope.clone());
    }

    /// Makes the next pass examine all scopes.
    pub fn touch_all(&self) {
        self.all.store(true, Ordering::Release);
    }

    /// Forgets all scopes: they are removed.
    pub fn clear(&self) {
        let mut looks = self.looks.lock();
        self.touched.lock().clear();
        *looks = ScopeSchedule::default();
    }

    /// Examines every scope that may have work due by `now`: `examine` runs it and returns when more is due there, or that
    /// the scope is removed. `touched` clears the mark of a used scope, so that the next request records it again.
    /// Returns when more work is due.
    pub fn examine(
        &self,
        now: Moment,
        scopes: impl FnOnce() -> Vec<Scope>,
        touched: impl Fn(&Scope),
        mut examine: impl FnMut(&Scope) -> Option<Moment>,
    ) -> Moment {
        let mut looks = self.looks.lock();
        looks.count += 1;
        if self.all.swap(false, Ordering::AcqRel) || looks.count.is_multiple_of(LOOKS_AT_ALL) {
            scopes().into_iter().for_each(|scope| looks.wake(scope, 1));
        }
        let scopes = std::mem::take(&mut *self.touched.lock());
        for scope in scopes {
            touched(&scope);
            looks.wake(scope, LOOKS);
        }
        while let Some((_, scope)) = looks.due.first().filter(|(due, _)| *due <= now) {
            let scope = scope.clone();
            looks.wake(scope, 1);
        }
        let active = std::mem::take(&mut looks.active);
        let mut next = Moment::NEVER;
        for (scope, left) in active {
            let Some(due) = examine(&scope) else { continue };
            next = next.min(due);
            if left > 1 {
                looks.active.insert(scope, left - 1);
            } else if due != Moment::NEVER {
                looks.due.insert((due, scope.clone()));
                looks.quiet.insert(scope, due);
            }
        }
        looks.due.first().map_or(next, |(due, _)| next.min(*due))
    }
}

impl ScopeSchedule {
    /// Schedules a scope for this pass and the next ones, `looks` in total.
    fn wake(&mut self, scope: Scope, looks: u64) {
        if let Some(due) = self.quiet.remove(&scope) {
            self.due.remove(&(due, scope.clone()));
        }
        let left = self.active.entry(scope).or_default();
        *left = looks.max(*left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};
    use std::time::Duration;

    fn scope(number: usize) -> Scope {
        Scope {
            account: format!("{number:05}").into(),
            region: "us-east-1".into(),
        }
    }

    #[test]
    fn only_regions_with_requests_or_due_work_are_visited() {
        const SCOPES: usize = 10_000;
        let (agenda, now) = (Agenda::default(), Cell::new(Moment::START));
        let dues = RefCell::new(BTreeMap::new());
        let seen = Cell::new(0);
        let examine = || {
            seen.set(0);
            let next = agenda.examine(
                now.get(),
                || (0..SCOPES).map(scope).collect(),
                |_| (),
                |scope| {
                    seen.set(seen.get() + 1);
                    let due = dues.borrow().get(scope).copied();
                    Some(due.filter(|due| *due > now.get()).unwrap_or(Moment::NEVER))
                },
            );
            (seen.get(), next)
        };
        assert_eq!(examine(), (0, Moment::NEVER));
        // A used scope is examined for a while.
        let later = Moment::START.plus(Duration::from_hours(24));
        for number in 0..SCOPES {
            agenda.touch(&scope(number));
            dues.borrow_mut()
                .insert(scope(number), later.plus(Duration::from_secs(number as u64)));
        }
        for _ in 0..LOOKS {
            assert_eq!(examine(), (SCOPES, later));
        }
        assert_eq!(examine(), (0, later));
        // Work that is due is examined at once.
        now.set(later);
        assert_eq!(examine(), (1, later.plus(Duration::from_secs(1))));
        assert_eq!(examine(), (0, later.plus(Duration::from_secs(1))));
        // A used scope may have work earlier.
        let soon = later.plus(Duration::from_millis(1));
        dues.borrow_mut().insert(scope(77), soon);
        assert_eq!(examine().1, later.plus(Duration::from_secs(1)));
        agenda.touch(&scope(77));
        assert_eq!(examine(), (1, soon));
        now.set(soon);
        for _ in 1..LOOKS {
            assert_eq!(examine().0, 1);
        }
        assert_eq!(examine().0, 0);
        agenda.touch_all();
        assert_eq!(examine().0, SCOPES);
        assert_eq!(examine().0, 0);
        // A used scope is examined for as long, though all are to be examined meanwhile.
        agenda.touch(&scope(5));
        assert_eq!(examine().0, 1);
        agenda.touch_all();
        assert_eq!(examine().0, SCOPES);
        for _ in 2..LOOKS {
            assert_eq!(examine().0, 1);
        }
        assert_eq!(examine().0, 0);
        // Every scope is examined eventually.
        let most = (0..LOOKS_AT_ALL).map(|_| examine().0).max();
        assert_eq!(most, Some(SCOPES));
    }
}
