//! Mutual exclusion of the regions' writes to a global table with strong consistency.

use std::collections::{BTreeMap, BTreeSet};

use super::super::commit::Committed;
use crate::clock::Moment;
use crate::key::Key;
use crate::sync::{Mutex, MutexGuard};
use crate::value::Name;

/// An item that a region is writing.
#[derive(Debug)]
struct Claim {
    region: Name,
    /// The number of requests that are writing the item.
    writers: usize,
    /// Until when a completed write excludes other regions.
    until: Moment,
}

impl Claim {
    fn new(region: &Name) -> Claim {
        Claim {
            region: region.clone(),
            writers: 0,
            until: Moment::FIRST,
        }
    }
}

/// The items of a global table that are being written, and by which region. No two regions write an item at the same
/// time: so a write sees the newest version of its item, wherever it was written.
#[derive(Debug, Default)]
pub struct Claims {
    items: Mutex<ClaimedItems>,
    turn: Mutex<()>,
}

#[derive(Debug, Default)]
struct ClaimedItems {
    claims: BTreeMap<Key, Box<Claim>>,
    /// When the claims of completed writes end.
    ends: BTreeSet<(Moment, Key)>,
}

impl ClaimedItems {
    /// Removes the claims that have ended.
    fn expire(&mut self, now: Moment) {
        while self.ends.first().is_some_and(|(end, _)| *end <= now) {
            let Some((_, key)) = self.ends.pop_first() else { return };
            if self.claims.get(&key).is_some_and(|claim| claim.writers == 0) {
                self.claims.remove(&key);
            }
        }
    }

    /// Excludes other regions until a moment, although the write has completed.
    fn keep(&mut self, key: &Key, region: &Name, until: Moment) {
        let claim = self
            .claims
            .entry(key.clone())
            .or_insert_with(|| Box::new(Claim::new(region)));
        if until > claim.until {
            self.ends.remove(&(claim.until, key.clone()));
            claim.until = until;
            self.ends.insert((until, key.clone()));
        }
    }

    /// Ends a write.
    fn release(&mut self, key: &Key, now: Moment) {
        let Some(claim) = self.claims.get_mut(key) else { return };
        claim.writers -= 1;
        if claim.until > now {
            self.ends.insert((claim.until, key.clone()));
        } else if claim.writers == 0 {
            self.claims.remove(key);
        }
    }
}

/// An item that a request is writing. It is released when this is dropped.
#[derive(Debug)]
pub struct ItemClaim<'c> {
    claims: &'c Claims,
    key: Key,
    region: Name,
    now: Moment,
}

impl Claims {
    /// Claims an item for a write of a region at `now`; `None` if another region is writing it. The lock of claims encloses no
    /// other.
    pub fn claim(&self, key: &Key, region: &Name, now: Moment) -> Option<ItemClaim<'_>> {
        let mut items = self.items.lock();
        items.expire(now);
        let claim = items
            .claims
            .entry(key.clone())
            .or_insert_with(|| Box::new(Claim::new(region)));
        if claim.region != *region {
            return None;
        }
        claim.writers += 1;
        Some(ItemClaim {
            claims: self,
            key: key.clone(),
            region: region.clone(),
            now,
        })
    }

    /// The claims of completed writes that exclude other regions at `now`: the item, its region, and until when.
    pub(in crate::storage) fn save(&self, now: Moment) -> Vec<(Key, Name, Moment)> {
        let items = self.items.lock();
        let kept = items.claims.iter().filter(|(_, claim)| claim.until > now);
        kept.map(|(key, claim)| (key.clone(), claim.region.clone(), claim.until))
            .collect()
    }

    /// Restores the claim of a completed write.
    pub(in crate::storage) fn restore(&self, committed: &Committed<'_>, key: &Key, region: &Name, until: Moment) {
        let mut items = self.items.lock();
        // The write was possible: claims of other regions had ended.
        items.expire(committed.time);
        items.keep(key, region, until);
    }

    /// Serializes the application of writes in all regions, until the result is dropped. It is acquired before the lock
    /// of any partition.
    pub fn take_turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock()
    }
}

impl ItemClaim<'_> {
    pub(in crate::storage) fn key(&self) -> &Key {
        &self.key
    }

    /// Excludes other regions until a moment, although the write has completed.
    pub(in crate::storage) fn keep_until(&self, _: &Committed<'_>, until: Moment) {
        self.claims.items.lock().keep(&self.key, &self.region, until);
    }
}

impl Drop for ItemClaim<'_> {
    fn drop(&mut self) {
        self.claims.items.lock().release(&self.key, self.now);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::key::KeyBytes;

    #[test]
    fn an_item_is_written_by_one_region_at_a_time() {
        let claims = Claims::default();
        let key = |item| Key {
            token: 0,
            bytes: KeyBytes::from_slice(&[item]),
        };
        let (us, eu): (Name, Name) = ("us-east-1".into(), "eu-west-1".into());
        let at = |millis| Moment::START.plus(Duration::from_millis(millis));
        let first = claims.claim(&key(1), &us, at(0)).unwrap();
        let second = claims.claim(&key(1), &us, at(0)).unwrap();
        assert!(claims.claim(&key(1), &eu, at(0)).is_none() && claims.claim(&key(2), &eu, at(0)).is_some());
        drop(first);
        assert!(claims.claim(&key(1), &eu, at(0)).is_none());
        // After its completion a write excludes the others for a while.
        second.keep_until(&Committed::replayed(at(10)), at(50));
        drop(second);
        assert!(claims.claim(&key(1), &us, at(10)).is_some());
        assert!(claims.claim(&key(1), &eu, at(49)).is_none());
        assert!(claims.claim(&key(1), &eu, at(50)).is_some());
        // Of two writes that overlap, the one that excludes the others for longer may end first.
        let first = claims.claim(&key(1), &us, at(60)).unwrap();
        let second = claims.claim(&key(1), &us, at(60)).unwrap();
        second.keep_until(&Committed::replayed(at(60)), at(110));
        drop(second);
        drop(first);
        assert!(claims.claim(&key(1), &eu, at(109)).is_none());
        assert!(claims.claim(&key(1), &eu, at(110)).is_some());
        {
            let items = claims.items.lock();
            assert!(items.claims.is_empty() && items.ends.is_empty());
        }
        // A later write excludes the others for longer, and each item by itself.
        let complete = |item, now, until| {
            let claim = claims.claim(&key(item), &us, at(now)).unwrap();
            claim.keep_until(&Committed::replayed(at(now)), at(until));
        };
        complete(1, 200, 250);
        complete(1, 210, 260);
        complete(2, 220, 300);
        let is_free = |item, now| claims.claim(&key(item), &eu, at(now)).is_some();
        assert_eq!(
            [(1, 255), (2, 255), (1, 260), (2, 299), (2, 300)].map(|(item, now)| is_free(item, now)),
            [false, false, true, false, true]
        );
        // Of two writes that have completed, the one that excludes the others for longer counts, in either order.
        complete(3, 310, 360);
        complete(3, 310, 350);
        assert_eq!([359, 360].map(|now| is_free(3, now)), [false, true]);
        // A write that is running excludes the others after the end of an earlier one.
        let running = claims.claim(&key(1), &us, at(400)).unwrap();
        complete(1, 400, 450);
        assert!(!is_free(1, 450) && claims.claim(&key(1), &us, at(450)).is_some());
        drop(running);
        assert!(is_free(1, 451));
        let items = claims.items.lock();
        assert!(items.claims.is_empty() && items.ends.is_empty());
    }
}
