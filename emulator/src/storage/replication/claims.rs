//! The writes of a global table with strong consistency between its regions, which exclude one another.

use std::collections::BTreeMap;

use crate::clock::Moment;
use crate::key::Key;
use crate::sync::{Mutex, MutexGuard};
use crate::value::Name;

/// An item that a region is writing.
#[derive(Debug)]
struct Claim {
    region: Name,
    /// Its requests that are writing the item.
    writers: usize,
    /// Until when a write that was carried out keeps other regions out.
    until: Moment,
}

/// The items of a global table that are being written, and by which region. No two regions write an item at a time: so a write
/// has the newest version of its item, wherever it was written.
#[derive(Debug, Default)]
pub struct Claims {
    items: Mutex<BTreeMap<Key, Claim>>,
    turn: Mutex<()>,
}

/// An item that a request is writing. It is released when this is dropped.
#[derive(Debug)]
pub struct ItemClaim<'c> {
    claims: &'c Claims,
    key: Key,
    now: Moment,
    until: Moment,
}

impl Claims {
    /// Claims an item for a write of a region at `now`; `None` if another region is writing it. The lock of claims encloses no
    /// other.
    pub fn claim(&self, key: &Key, region: &Name, now: Moment) -> Option<ItemClaim<'_>> {
        let mut items = self.items.lock();
        items.retain(|_, claim| claim.writers > 0 || claim.until > now);
        let claim = items.entry(key.clone()).or_insert_with(|| Claim {
            region: region.clone(),
            writers: 0,
            until: now,
        });
        if claim.region != *region {
            return None;
        }
        claim.writers += 1;
        Some(ItemClaim {
            claims: self,
            key: key.clone(),
            now,
            until: now,
        })
    }

    /// Lets all regions apply writes in one order: until the result is dropped nobody else has the turn. It is taken before the
    /// lock of any partition.
    pub fn take_turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock()
    }
}

impl ItemClaim<'_> {
    /// Keeps other regions out until a moment, though the write is carried out.
    pub fn keep_until(&mut self, until: Moment) {
        self.until = until;
    }
}

impl Drop for ItemClaim<'_> {
    fn drop(&mut self) {
        let mut items = self.claims.items.lock();
        if let Some(claim) = items.get_mut(&self.key) {
            claim.writers -= 1;
            claim.until = claim.until.max(self.until);
            if claim.writers == 0 && claim.until <= self.now {
                items.remove(&self.key);
            }
        }
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
        let mut second = claims.claim(&key(1), &us, at(0)).unwrap();
        assert!(claims.claim(&key(1), &eu, at(0)).is_none() && claims.claim(&key(2), &eu, at(0)).is_some());
        drop(first);
        assert!(claims.claim(&key(1), &eu, at(0)).is_none());
        // Once it is carried out, a write keeps the others out for a while.
        second.keep_until(at(50));
        drop(second);
        assert!(claims.claim(&key(1), &us, at(10)).is_some());
        assert!(claims.claim(&key(1), &eu, at(49)).is_none());
        assert!(claims.claim(&key(1), &eu, at(50)).is_some());
        assert!(claims.items.lock().is_empty());
    }
}
