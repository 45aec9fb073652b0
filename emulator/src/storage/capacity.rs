//! A table's capacity behind its lock. It exists only while it is enforced or watched.

use super::job::{Job, JobKind};
use super::shape::Shape;
use crate::capacity::Ledger;
use crate::clock::Moment;
use crate::conditions::Capacity;
use crate::key::Key;
use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering};
use crate::value::Item;

/// The ledger of a table and its global indexes. Its lock is a leaf; a transaction takes those of its tables in the
/// order of the tables.
#[derive(Debug)]
pub struct TableCapacity {
    /// Whether there is a ledger, readable without its lock.
    counted: AtomicBool,
    watched: AtomicBool,
    ledger: Mutex<Option<Box<Ledger>>>,
}

impl TableCapacity {
    /// The capacity of a new table.
    pub fn new(shape: &Shape, now: Moment) -> TableCapacity {
        let capacity = TableCapacity {
            counted: AtomicBool::new(false),
            watched: AtomicBool::new(false),
            ledger: Mutex::new(None),
        };
        capacity.adapt(shape, std::iter::empty(), now);
        capacity
    }

    /// Whether requests must use the ledger.
    pub fn is_counted(&self) -> bool {
        self.counted.load(Ordering::Relaxed)
    }

    /// The ledger, locked; `None` inside if capacity is not counted.
    pub fn lock(&self) -> MutexGuard<'_, Option<Box<Ledger>>> {
        self.ledger.lock()
    }

    /// Whether its use is watched from the next [`adapt`](TableCapacity::adapt) on.
    pub fn set_watched(&self, watched: bool) {
        self.watched.store(watched, Ordering::Relaxed);
    }

    /// Adopts new settings. The caller holds all locks of the table; `items` are the table's.
    pub fn adapt<'i>(&self, shape: &Shape, items: impl Iterator<Item = (&'i Key, &'i Item)>, now: Moment) {
        let enforced = shape.conditions.capacity != Capacity::Reported;
        let watched = self.watched.load(Ordering::Relaxed);
        let mut ledger = self.ledger.lock();
        if !enforced && !watched {
            *ledger = None;
        } else if let Some(there) = ledger.as_mut().filter(|there| there.is_enforced() == enforced) {
            let from = |index: Option<&str>| holds_from(shape, index, now);
            there.adapt(&shape.definition, shape.conditions.capacity, from, now);
            there.watch(watched);
        } else {
            let mut new = Ledger::new(&shape.definition, shape.conditions.capacity, now);
            items.for_each(|(key, item)| new.weigh(key.token, item.size()));
            new.watch(watched);
            *ledger = Some(Box::new(new));
        }
        self.counted.store(ledger.is_some(), Ordering::Relaxed);
    }
}

/// From when on the limits in the definition of the table or of an index are in force: when the pending changes complete.
fn holds_from(shape: &Shape, index: Option<&str>, now: Moment) -> Moment {
    let concerns = |job: &&Job| match &job.work {
        JobKind::Billing => true,
        JobKind::Throughput { .. } => index.is_none(),
        JobKind::Warm { index: of, .. } => of.as_deref() == index,
        JobKind::UpdateIndex { index: of, .. } => index.is_some_and(|index| of == index),
        _ => false,
    };
    let ends = shape.running(now).filter(concerns).map(|job| job.until);
    ends.max().unwrap_or(now)
}
