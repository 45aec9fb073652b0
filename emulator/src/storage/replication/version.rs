//! The versions of items in the regions of a global table, and their order.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use smallvec::SmallVec;

use crate::clock::Moment;
use crate::journal::RegionalWrite;
use crate::key::Key;
use crate::value::Name;

/// The time for which the version of a deleted item is kept. The service's duration is unknown (docs/behavior: 08 11).
const TOMBSTONE_AGE: Duration = Duration::from_hours(24);

/// When and where a version of an item was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// When it was written. No earlier than the version that it replaces.
    pub time: Moment,
    /// Its number among the writes to all global tables: it decides between writes of the same time.
    pub sequence: u64,
    /// The region in which it was written.
    pub region: Name,
}

impl Stamp {
    /// Whether the other version was written last.
    pub fn is_older_than(&self, other: &Stamp) -> bool {
        (self.time, self.sequence) < (other.time, other.sequence)
    }
}

impl From<Stamp> for RegionalWrite {
    fn from(stamp: Stamp) -> RegionalWrite {
        RegionalWrite {
            region: stamp.region,
            at: stamp.time,
        }
    }
}

/// A version of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaVersion {
    /// When and where it was written.
    pub stamp: Stamp,
    /// The last write of each region that its writer had seen, including itself, by region.
    pub seen: SmallVec<[(Name, u64); 2]>,
}

impl Default for ReplicaVersion {
    /// The version of an item that was last written before the table had replicas: it is older than any other.
    fn default() -> ReplicaVersion {
        ReplicaVersion {
            stamp: Stamp {
                time: Moment::FIRST,
                sequence: 0,
                region: Name::default(),
            },
            seen: SmallVec::new(),
        }
    }
}

impl ReplicaVersion {
    /// Whether the writer of this version had seen the other version, or both are the same.
    pub fn has_seen(&self, other: &Stamp) -> bool {
        let mut seen = self.seen.iter();
        seen.any(|(region, last)| *region == other.region && *last >= other.sequence)
    }
}

/// The result of comparing an arriving version with the present one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionComparison {
    /// Whether the arriving version replaces the other.
    pub replaces: bool,
    /// The lost write, and the one that it lost to, if neither writer had seen the other's.
    pub conflict: Option<(Stamp, Stamp)>,
}

/// The versions of the items of a partition, including deleted items.
#[derive(Clone, Debug, Default)]
pub struct ReplicaVersions {
    of: BTreeMap<Key, Box<ReplicaVersion>>,
    /// The versions of deleted items, by the time of their deletion.
    deleted: BTreeSet<(Moment, Key)>,
}

impl ReplicaVersions {
    /// The version of an item; `None` if it was last written before the table had replicas.
    pub fn get(&self, key: &Key) -> Option<&ReplicaVersion> {
        self.of.get(key).map(Box::as_ref)
    }

    /// All versions, ordered by key.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &ReplicaVersion)> {
        self.of.iter().map(|(key, version)| (key, &**version))
    }

    /// Records a write in this region, and returns its version. A write is no older than the version it replaces.
    pub fn write(&mut self, key: &Key, stamp: Stamp, deletes: bool) -> ReplicaVersion {
        let before = self.of.get(key);
        let mut seen = before.map(|before| before.seen.clone()).unwrap_or_default();
        match seen.iter_mut().find(|(region, _)| *region == stamp.region) {
            Some((_, last)) => *last = stamp.sequence,
            None => seen.push((stamp.region.clone(), stamp.sequence)),
        }
        let time = before.map_or(stamp.time, |before| stamp.time.max(before.stamp.time));
        let version = ReplicaVersion {
            stamp: Stamp { time, ..stamp },
            seen,
        };
        self.set(key, version.clone(), deletes);
        version
    }

    /// Compares an arriving version with the present one.
    pub fn compare(&self, key: &Key, arrives: &ReplicaVersion) -> VersionComparison {
        let Some(there) = self.get(key) else {
            return VersionComparison {
                replaces: true,
                conflict: None,
            };
        };
        let replaces = there.stamp.is_older_than(&arrives.stamp);
        let concurrent = !arrives.has_seen(&there.stamp) && !there.has_seen(&arrives.stamp);
        let (lost, won) = if replaces { (there, arrives) } else { (arrives, there) };
        VersionComparison {
            replaces,
            conflict: concurrent.then(|| (lost.stamp.clone(), won.stamp.clone())),
        }
    }

    /// Sets the version of an item, which exists or is deleted.
    pub fn set(&mut self, key: &Key, version: ReplicaVersion, deletes: bool) {
        let time = version.stamp.time;
        if let Some(before) = self.of.insert(key.clone(), Box::new(version)) {
            self.deleted.remove(&(before.stamp.time, key.clone()));
        }
        if deletes {
            self.deleted.insert((time, key.clone()));
        }
    }

    /// Whether a version of a deleted item is no longer needed at `now`.
    pub fn has_old(&self, now: Moment) -> bool {
        let first = self.deleted.first();
        first.is_some_and(|(deleted, _)| deleted.plus(TOMBSTONE_AGE) <= now)
    }

    /// Removes the versions of deleted items that are no longer needed at `now`.
    pub fn prune(&mut self, now: Moment) {
        while self.has_old(now)
            && let Some((_, key)) = self.deleted.pop_first()
        {
            self.of.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KeyBytes;

    fn key() -> Key {
        Key {
            token: 0,
            bytes: KeyBytes::new(),
        }
    }

    fn stamp(seconds: u64, sequence: u64, region: &str) -> Stamp {
        Stamp {
            time: Moment::START.plus(Duration::from_secs(seconds)),
            sequence,
            region: region.into(),
        }
    }

    /// Writes in regions, as (region, second), each followed by those that its version then reaches.
    type Script<'s> = &'s [(usize, u64, &'s [usize])];

    /// Conflicts, as the region that detects one, and the numbers of the lost write and the one that it lost to.
    type Conflicts<'c> = &'c [(usize, u64, u64)];

    const REGIONS: [&str; 3] = ["us-east-1", "eu-west-1", "ap-south-1"];

    /// The conflicts that a script causes, as (where, lost, won), by the numbers of the writes; all regions converge.
    fn conflicts(script: Script<'_>) -> Vec<(usize, u64, u64)> {
        let mut regions: [ReplicaVersions; 3] = Default::default();
        let mut written: Vec<ReplicaVersion> = Vec::new();
        let mut conflicts = Vec::new();
        let arrive = |at: usize, regions: &mut [ReplicaVersions; 3], version: &ReplicaVersion| {
            let compared = regions[at].compare(&key(), version);
            if compared.replaces {
                regions[at].set(&key(), version.clone(), false);
            }
            compared.conflict.map(|(lost, won)| (at, lost.sequence, won.sequence))
        };
        for (number, (region, second, reached)) in (1..).zip(script) {
            let version = regions[*region].write(&key(), stamp(*second, number, REGIONS[*region]), false);
            for at in *reached {
                conflicts.extend(arrive(*at, &mut regions, &version));
            }
            written.push(version);
        }
        // All versions arrive everywhere once more, as after a pause: known ones change nothing.
        for version in &written {
            for at in 0..REGIONS.len() {
                arrive(at, &mut regions, version);
            }
        }
        let stamps = regions
            .each_ref()
            .map(|region| region.get(&key()).unwrap().stamp.clone());
        assert!(stamps.iter().all(|stamp| *stamp == stamps[0]), "{stamps:?}");
        if conflicts.is_empty() {
            // Each writer had seen all earlier writes, so the last one replaces them, regardless of the clocks.
            assert_eq!(stamps[0].sequence, script.len() as u64);
        }
        conflicts
    }

    #[test]
    fn a_write_is_lost_only_to_a_newer_one_that_has_not_seen_it() {
        let cases: &[(&str, Script<'_>, Conflicts<'_>)] = &[
            ("one writer", &[(0, 1, &[1, 2]), (0, 2, &[1, 2])], &[]),
            ("in turns", &[(0, 1, &[1, 2]), (1, 2, &[0, 2]), (0, 3, &[1, 2])], &[]),
            ("the later arrives", &[(0, 1, &[]), (1, 2, &[0])], &[(0, 1, 2)]),
            ("the earlier arrives", &[(0, 2, &[]), (1, 1, &[0])], &[(0, 2, 1)]),
            ("at the same time", &[(0, 1, &[]), (1, 1, &[0])], &[(0, 1, 2)]),
            // The third region receives the second write before the first.
            ("overtaken", &[(0, 1, &[1]), (1, 2, &[2]), (2, 3, &[0, 1])], &[]),
            ("two that lose", &[(0, 1, &[]), (0, 2, &[]), (1, 3, &[0])], &[(0, 2, 3)]),
            // A slow clock does not make a write older than the version its writer saw.
            ("a late clock", &[(0, 5, &[1]), (1, 2, &[0])], &[]),
        ];
        for (name, script, expect) in cases {
            assert_eq!(conflicts(script), *expect, "{name}");
        }
    }

    #[test]
    fn versions_of_deleted_items_are_kept_for_a_day() {
        let mut versions = ReplicaVersions::default();
        versions.write(&key(), stamp(0, 1, "us-east-1"), true);
        let day = Moment::START.plus(TOMBSTONE_AGE);
        let before = Moment::from_micros(day.micros() - 1);
        assert!(!versions.has_old(before) && versions.has_old(day));
        // One that exists again is kept.
        let mut there = versions.clone();
        there.write(&key(), stamp(1, 2, "us-east-1"), false);
        there.prune(day.plus(TOMBSTONE_AGE));
        versions.prune(day);
        assert_eq!((versions.iter().count(), there.iter().count()), (0, 1));
        // Only those that are a day old are removed, and none of an item that exists.
        let at = |token| Key { token, ..key() };
        for (token, seconds) in [(3, 0), (1, 3600), (2, 7200)] {
            versions.write(&at(token), stamp(seconds, token, "us-east-1"), true);
        }
        versions.write(&at(4), stamp(0, 4, "us-east-1"), false);
        for (hours, expect) in [(0, &[1, 2, 4][..]), (1, &[2, 4]), (2, &[4]), (100, &[4])] {
            versions.prune(day.plus(Duration::from_hours(hours)));
            let kept: Vec<u64> = versions.iter().map(|(key, _)| key.token).collect();
            assert_eq!(kept, expect, "{hours}");
        }
    }

    #[test]
    fn the_sequence_orders_stamps_of_one_moment() {
        let stamp = |sequence, region: &str| Stamp {
            time: Moment::START,
            sequence,
            region: region.into(),
        };
        assert!(stamp(1, "us-east-1").is_older_than(&stamp(2, "eu-west-1")));
    }

    #[test]
    fn the_newer_write_replaces_and_conflicts() {
        let key = Key {
            token: 0,
            bytes: KeyBytes::new(),
        };
        let stamp = |sequence, region: &str| Stamp {
            time: Moment::START,
            sequence,
            region: region.into(),
        };
        let (mut here, mut there) = (ReplicaVersions::default(), ReplicaVersions::default());
        here.write(&key, stamp(1, "us-east-1"), false);
        let other = there.write(&key, stamp(2, "eu-west-1"), false);
        let comparison = here.compare(&key, &other);
        assert!(comparison.replaces && comparison.conflict.is_some());
    }
}
