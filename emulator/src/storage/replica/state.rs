//! The state of a group of replicas, as commits contain it: plain data, and what it shows at a moment.

use compact_str::CompactString;

use super::super::identity::{TableId, TableIdentity};
use super::super::settings::TableSettings;
use super::scaling::Scaling;
use crate::clock::Moment;

/// The consistency of a global table: what a strongly consistent read of a replica sees, and when a write completes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consistency {
    /// Each replica sees its own writes at once, and those of the others later.
    #[default]
    Eventual,
    /// A write is stored in two regions before its response, and strongly consistent reads see it everywhere.
    Strong,
}

/// The state of a group, independent of time: its visible state at a moment follows from the times.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupState {
    /// The group's number: that of its first table.
    pub id: TableId,
    /// The consistency, which never changes.
    pub consistency: Consistency,
    /// The replicas, in the order in which they were added, the first table included.
    pub replicas: Vec<Replica>,
    /// The witness, which has no table.
    pub witness: Option<Witness>,
    /// Until when the replicas are `UPDATING` after a change of their settings.
    pub updating_until: Moment,
    /// The change of shared settings that not all other tables have yet.
    pub synchronizing: Option<Box<Synchronization>>,
    /// The settings of auto scaling.
    pub scaling: Vec<Scaling>,
}

/// A change of the settings that replicas share, made in one table and not yet in the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Synchronization {
    /// The table whose settings were changed.
    pub table: TableId,
    /// Its settings before the change.
    pub before: TableSettings,
    /// The keys of the other regions, with which tables are encrypted there.
    pub keys: Vec<(CompactString, String)>,
}

/// The region that stores the writes of a group of two replicas with strong consistency, but serves no requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    pub region: CompactString,
    pub active_at: Moment,
}

/// A replica of a global table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    pub region: CompactString,
    pub table: TableId,
    /// The region whose items were copied; `None` for the first table.
    pub source: Option<CompactString>,
    pub added: Moment,
    /// When the other replicas begin to list it.
    pub shows_at: Moment,
    /// When calls in its own region begin to find its table.
    pub appears_at: Moment,
    /// Until when its source is `ACTIVE` before it finishes the copy; measured only for sources with items.
    pub copied_until: Option<Moment>,
    /// When it becomes `ACTIVE`: never, while its source's items are being copied.
    pub active_at: Moment,
    /// Its deletion or disassociation, once requested. From then on it takes no more writes.
    pub removal: Option<Removal>,
    /// Whether its protection from disassociation is disabled.
    pub unprotected: bool,
}

/// The deletion or disassociation of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removal {
    pub shows_at: Moment,
    /// When the replica is removed.
    pub gone_at: Moment,
    /// Whether it is disassociated: its table stays, and replicates nothing from then on.
    pub keeps_table: bool,
}

impl Replica {
    /// Whether it is being created at `now`.
    pub fn is_creating(&self, now: Moment) -> bool {
        now < self.active_at
    }

    /// Whether its addition or deletion makes the group `UPDATING` at `now`.
    fn holds_group(&self, now: Moment) -> bool {
        let copies = |end: Moment| (self.shows_at..end).contains(&now);
        match self.removal {
            Some(removal) => now < removal.shows_at,
            None => self.is_creating(now) && !self.copied_until.is_some_and(copies),
        }
    }

    /// Whether it is being added or removed at `now`: nothing else in the group can be changed meanwhile.
    fn is_changing(&self, now: Moment) -> bool {
        self.removal
            .map_or(self.is_creating(now), |removal| now < removal.gone_at)
    }

    /// Whether its table is leaving the group, or has left it.
    pub(super) fn is_disassociated(&self) -> bool {
        self.removal.is_some_and(|removal| removal.keeps_table)
    }

    /// Whether its table is in the group as seen from itself at `now`. One that is deleted remains in it.
    pub(super) fn sees_group(&self, now: Moment) -> bool {
        !self.is_disassociated() || self.is_there(now)
    }

    /// Whether it belongs to the group at `now`.
    pub fn is_there(&self, now: Moment) -> bool {
        self.removal.is_none_or(|removal| removal.gone_at > now)
    }
}

impl GroupState {
    /// The state of a group of one table.
    pub fn new(table: &TableIdentity, consistency: Consistency, now: Moment) -> GroupState {
        GroupState {
            id: table.ordinal,
            consistency,
            replicas: vec![Replica {
                region: table.scope.region.clone(),
                table: table.ordinal,
                source: None,
                added: now,
                shows_at: now,
                appears_at: now,
                copied_until: None,
                active_at: now,
                removal: None,
                unprotected: false,
            }],
            witness: None,
            updating_until: now,
            synchronizing: None,
            scaling: Vec::new(),
        }
    }

    /// The replica of a table.
    pub fn replica(&self, table: TableId) -> Option<&Replica> {
        self.replicas.iter().find(|replica| replica.table == table)
    }

    /// The replica of a table, mutably.
    pub fn replica_mut(&mut self, table: TableId) -> Option<&mut Replica> {
        self.replicas.iter_mut().find(|replica| replica.table == table)
    }

    /// The other replicas at `now`, in the order in which they were added.
    pub fn others(&self, of: TableId, now: Moment) -> impl Iterator<Item = &Replica> {
        let there = self.replicas.iter().filter(move |replica| replica.is_there(now));
        there.filter(move |replica| replica.table != of)
    }

    /// The other replica of a region, once it is listed.
    pub fn other_in(&self, region: &str, of: TableId, now: Moment) -> Option<&Replica> {
        let listed = self.others(of, now).filter(|replica| now >= replica.shows_at);
        listed.into_iter().find(|replica| replica.region == region)
    }

    /// The replicas at `now` whose items were copied from a region's.
    pub fn sourced_by<'s>(&'s self, region: &'s str, now: Moment) -> impl Iterator<Item = &'s Replica> {
        let there = self.replicas.iter().filter(move |replica| replica.is_there(now));
        there.filter(move |replica| replica.source.as_deref() == Some(region))
    }

    /// Whether there is more than one replica at `now`.
    pub fn is_global(&self, now: Moment) -> bool {
        self.replicas.iter().filter(|replica| replica.is_there(now)).count() > 1
    }

    /// Whether all replicas are `UPDATING` at `now`.
    pub fn is_updating(&self, now: Moment) -> bool {
        now < self.updating_until || self.replicas.iter().any(|replica| replica.holds_group(now))
    }

    /// Whether a change is in progress at `now`, so that no other one can begin.
    pub fn is_changing(&self, now: Moment) -> bool {
        let witness = self.witness.as_ref().is_some_and(|witness| now < witness.active_at);
        now < self.updating_until || witness || self.replicas.iter().any(|replica| replica.is_changing(now))
    }

    pub fn drop_gone(&mut self, now: Moment) {
        self.replicas.retain(|replica| replica.is_there(now));
    }

    /// The auto scaling of a region's reads, or of writes; of the table, or of an index.
    pub fn scaling_of(&self, region: Option<&str>, index: Option<&str>) -> Option<&Scaling> {
        self.scaling
            .iter()
            .find(|each| each.region.as_deref() == region && each.index.as_deref() == index)
    }

    /// Sets or removes the auto scaling of reads or writes.
    pub fn set_scaling(&mut self, region: Option<&str>, index: Option<&str>, scaling: Option<Scaling>) {
        self.scaling
            .retain(|each| each.region.as_deref() != region || each.index.as_deref() != index);
        self.scaling.extend(scaling);
    }
}

#[cfg(test)]
mod tests {
    use super::super::scaling::ScalingPolicy;
    use super::*;

    fn at(seconds: i64) -> Moment {
        Moment::from_seconds(seconds)
    }

    fn replica(region: &str, table: TableId) -> Replica {
        Replica {
            region: region.into(),
            table,
            source: None,
            added: at(0),
            shows_at: at(0),
            appears_at: at(0),
            copied_until: None,
            active_at: at(0),
            removal: None,
            unprotected: false,
        }
    }

    fn group(replicas: Vec<Replica>) -> GroupState {
        GroupState {
            id: 1,
            consistency: Consistency::Eventual,
            replicas,
            witness: None,
            updating_until: at(0),
            synchronizing: None,
            scaling: Vec::new(),
        }
    }

    /// What a group with a second replica shows before and at each moment in the life of that replica.
    #[test]
    fn a_group_follows_the_life_of_its_replicas() {
        let created = Replica {
            shows_at: at(10),
            copied_until: Some(at(20)),
            active_at: at(30),
            ..replica("eu-west-1", 2)
        };
        let removed = |keeps_table| Replica {
            removal: Some(Removal {
                shows_at: at(10),
                gone_at: at(20),
                keeps_table,
            }),
            ..replica("eu-west-1", 2)
        };
        // Listed, is global, updating, changing.
        for (other, moments) in [
            (
                created,
                &[
                    (9, false, true, true, true),
                    (10, true, true, false, true),
                    (19, true, true, false, true),
                    (20, true, true, true, true),
                    (29, true, true, true, true),
                    (30, true, true, false, false),
                ][..],
            ),
            (
                removed(false),
                &[
                    (9, true, true, true, true),
                    (10, true, true, false, true),
                    (19, true, true, false, true),
                    (20, false, false, false, false),
                ],
            ),
        ] {
            let group = group(vec![replica("us-east-1", 1), other]);
            for (second, listed, global, updating, changing) in moments {
                let now = at(*second);
                let found = (
                    group.other_in("eu-west-1", 1, now).is_some(),
                    group.is_global(now),
                    group.is_updating(now),
                    group.is_changing(now),
                );
                assert_eq!(found, (*listed, *global, *updating, *changing), "{second}");
            }
        }
        for (keeps_table, expect) in [(false, [true, true]), (true, [true, false])] {
            let replica = removed(keeps_table);
            assert_eq!([19, 20].map(|now| replica.sees_group(at(now))), expect);
            let mut group = group(vec![replica]);
            group.drop_gone(at(19));
            assert_eq!(group.replicas.len(), 1);
            group.drop_gone(at(20));
            assert!(group.replicas.is_empty());
        }
    }

    /// An update of the group, or of its witness, is a change of it; only the first blocks other updates.
    #[test]
    fn a_group_changes_while_it_is_updated() {
        let witness = Some(Witness {
            region: "us-west-2".into(),
            active_at: at(10),
        });
        for (updating_until, witness, updating) in [(at(10), None, true), (at(0), witness, false)] {
            let group = GroupState {
                witness,
                updating_until,
                ..group(vec![replica("us-east-1", 1)])
            };
            assert_eq!([9, 10].map(|now| group.is_updating(at(now))), [updating, false]);
            assert_eq!([9, 10].map(|now| group.is_changing(at(now))), [true, false]);
        }
    }

    #[test]
    fn scaling_belongs_to_a_region_and_an_index() {
        let mut group = group(vec![replica("us-east-1", 1)]);
        let places = [
            (None, None),
            (None, Some("i")),
            (Some("r"), None),
            (Some("r"), Some("i")),
        ];
        let scaling = |(region, index): (Option<&'static str>, Option<&'static str>)| Scaling {
            region: region.map(Into::into),
            index: index.map(Into::into),
            minimum: 1,
            maximum: 2,
            role_arn: None,
            policy: ScalingPolicy {
                name: None,
                target: 70.0,
                scale_in_cooldown: None,
                scale_out_cooldown: None,
                disable_scale_in: None,
            },
        };
        for place in places {
            group.set_scaling(place.0, place.1, Some(scaling(place)));
        }
        for (at, place) in places.into_iter().enumerate() {
            assert_eq!(group.scaling_of(place.0, place.1), Some(&scaling(place)));
            group.set_scaling(place.0, place.1, None);
            assert_eq!(group.scaling_of(place.0, place.1), None);
            assert_eq!(group.scaling.len(), places.len() - 1 - at);
        }
    }
}
