//! The settings that all replicas of a global table share (docs/behavior: 08 3).

use std::sync::Arc;

use super::super::commit::Committed;
use super::super::job::{Job, JobKind};
use super::super::settings::TableSettings;
use super::super::table::Table;
use super::state::Synchronization;
use crate::schema::{BillingMode, Definition, Encryption, Index, OnDemandThroughput};
use crate::value::Name;

/// Applies the changes of shared settings from `before` to `after` in another replica. Unchanged settings are kept, so
/// an override lasts until its setting is changed anywhere.
pub fn synchronize(before: &Definition, after: &Definition, into: &mut Definition) {
    if before.attributes != after.attributes {
        into.attributes.clone_from(&after.attributes);
    }
    if before.billing != after.billing {
        into.billing = after.billing;
        into.on_demand_since = after.on_demand_since;
    }
    if before.throughput != after.throughput {
        into.throughput = after.throughput;
        into.adjustments = after.adjustments;
    }
    limits(before.on_demand, after.on_demand, &mut into.on_demand);
    if before.warm != after.warm {
        into.warm = after.warm;
    }
    if (before.class, before.class_changed) != (after.class, after.class_changed) {
        into.class = after.class;
        into.class_changed = after.class_changed;
    }
    if before.vectors != after.vectors {
        into.vectors.clone_from(&after.vectors);
    }
    let globals = after.globals.iter().map(|index| {
        let there = |all: &[Index]| all.iter().find(|each| each.name == index.name).cloned();
        match (there(&before.globals), there(&into.globals)) {
            (Some(before), Some(own)) => synchronized_index(&before, index, own),
            _ => index.clone(),
        }
    });
    into.globals = globals.collect();
    if before.billing != after.billing && after.billing == BillingMode::Provisioned {
        // Limits end with on-demand billing, also those that override the shared ones.
        into.on_demand = None;
        into.globals.iter_mut().for_each(|index| index.on_demand = None);
    }
}

fn synchronized_index(before: &Index, after: &Index, mut own: Index) -> Index {
    if before.throughput != after.throughput {
        own.throughput = after.throughput;
        own.adjustments = after.adjustments;
    }
    limits(before.on_demand, after.on_demand, &mut own.on_demand);
    if before.warm != after.warm {
        own.warm = after.warm;
    }
    own
}

/// The limits on reads and writes are separate settings: only the one on reads can be overridden.
fn limits(
    before: Option<OnDemandThroughput>,
    after: Option<OnDemandThroughput>,
    into: &mut Option<OnDemandThroughput>,
) {
    let [before, after] = [before, after].map(Option::unwrap_or_default);
    let mut merged = into.unwrap_or_default();
    if before.max_read != after.max_read {
        merged.max_read = after.max_read;
    }
    if before.max_write != after.max_write {
        merged.max_write = after.max_write;
    }
    *into = Some(merged).filter(|limits| *limits != OnDemandThroughput::default());
}

impl TableSettings {
    /// Applies a request's changes of another replica's settings, with the jobs that it has begun there, unless they have
    /// been applied before. `key_arn` is the key of this replica's region.
    pub fn synchronize(&mut self, before: &TableSettings, after: &TableSettings, key_arn: Option<&str>) {
        let mut definition = Definition::clone(&self.definition);
        synchronize(&before.definition, &after.definition, &mut definition);
        let is_encrypted = |settings: &TableSettings| settings.definition.encryption.is_some();
        if is_encrypted(before) != is_encrypted(after) {
            let key_arn = key_arn.filter(|_| is_encrypted(after)).map(str::to_owned);
            definition.encryption = key_arn.map(|key_arn| Encryption { key_arn });
        }
        self.definition = Arc::new(definition);
        let globals = before.definition.globals.iter().map(|index| &index.name);
        let indexes = globals.chain(before.definition.vectors.iter().map(|index| &index.name));
        for name in indexes.filter(|name| !after.definition.has_index(name)) {
            // The jobs, the lag and the insights of a deleted index end with it.
            self.jobs.retain(|job| !job.concerns(name));
            self.index_lags.remove(name);
            Arc::make_mut(&mut self.attached).forget_insights(Some(name));
        }
        // Each region has its own key.
        let begun = |job: &&Job| !before.jobs.contains(job) && !matches!(job.work, JobKind::Encryption { .. });
        let begun: Vec<Job> = after.jobs.iter().filter(begun).cloned().collect();
        self.jobs.retain(|job| !begun.contains(job));
        self.jobs.extend(begun);
        if before.time_to_live_changed != after.time_to_live_changed {
            self.time_to_live.clone_from(&after.time_to_live);
            self.time_to_live_changed = after.time_to_live_changed;
        }
        if before.recent.class != after.recent.class {
            self.recent.class = after.recent.class;
        }
    }
}

impl Table {
    /// Applies a change of another replica's settings, after a replay that ended before all tables had it.
    pub(super) fn replay_synchronize(
        &self,
        committed: &Committed<'_>,
        change: &Synchronization,
        after: &TableSettings,
    ) {
        let own = self.shape();
        let mut settings = own.settings.clone();
        let mut keys = change.keys.iter();
        let key_arn = keys.find(|(region, _)| *region == self.scope.region);
        let key_arn = key_arn.map(|(_, key_arn)| key_arn.as_str());
        settings.synchronize(&change.before, after, key_arn);
        if settings == own.settings {
            return;
        }
        settings.epoch += 1;
        self.replay_settings(committed, settings);
        let shape = self.shape();
        let is_new = |name: &&Name| !own.definition.has_index(name);
        for name in shape.index_names().filter(is_new) {
            self.backfill(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Moment;
    use crate::schema::{
        Adjustments, BillingMode, Distance, KeyAttribute, KeySchema, Projection, ScalarType, Throughput, VectorIndex,
    };

    fn key(name: &str) -> KeySchema {
        let attribute = KeyAttribute {
            name: name.into(),
            kind: ScalarType::S,
        };
        KeySchema::new([attribute], [])
    }

    fn index(name: &str) -> Index {
        Index {
            name: name.into(),
            key: key("g"),
            projection: Projection::All,
            local: false,
            throughput: Throughput::default(),
            adjustments: Adjustments::default(),
            on_demand: None,
            warm: None,
        }
    }

    fn definition() -> Definition {
        Definition {
            globals: vec![index("by-g")],
            ..Definition::of_key(key("pk"))
        }
    }

    fn limits_of(read: i64, write: i64) -> OnDemandThroughput {
        OnDemandThroughput {
            max_read: Some(read),
            max_write: Some(write),
        }
    }

    /// Each shared setting that is changed in one replica is changed in the others, with what belongs to it.
    #[test]
    fn a_changed_setting_is_changed_everywhere() {
        let (moment, units) = (Some(Moment::START), Throughput { read: 7, write: 8 });
        let vector = VectorIndex {
            name: "near".into(),
            attribute: "v".into(),
            search: Vec::new(),
            projection: Projection::All,
            dimensions: 2,
            distance: Distance::Cosine,
        };
        let adjustments = Adjustments {
            increased: moment,
            ..Adjustments::default()
        };
        let changes: [&dyn Fn(&mut Definition); 13] = [
            &|into| into.attributes.clear(),
            &|into| (into.billing, into.on_demand_since) = (BillingMode::Provisioned, moment),
            &|into| (into.throughput, into.adjustments) = (units, adjustments),
            &|into| into.on_demand = Some(limits_of(5, 6)),
            &|into| into.warm = Some(units),
            &|into| (into.class, into.class_changed) = (Some("STANDARD"), moment),
            &|into| into.class_changed = moment,
            &|into| into.vectors.push(vector.clone()),
            &|into| into.globals.push(index("new")),
            &|into| into.globals.clear(),
            &|into| (into.globals[0].throughput, into.globals[0].adjustments) = (units, adjustments),
            &|into| into.globals[0].on_demand = Some(limits_of(5, 6)),
            &|into| into.globals[0].warm = Some(units),
        ];
        for (at, change) in changes.into_iter().enumerate() {
            let (before, mut after, mut own) = (definition(), definition(), definition());
            change(&mut after);
            synchronize(&before, &after, &mut own);
            assert_eq!(own, after, "change {at}");
            // Settings that are not changed are kept, whatever they are here.
            synchronize(&before, &before, &mut own);
            if !(8..=9).contains(&at) {
                assert_eq!(own, after, "change {at}");
            }
        }
    }

    /// The limits on reads and on writes are two settings: an override of one is kept when the other is changed.
    #[test]
    fn an_override_lasts_until_its_setting_is_changed() {
        let of = |on_demand| Definition {
            on_demand,
            ..definition()
        };
        for (before, after, own, expect) in [
            (
                Some(limits_of(1, 2)),
                Some(limits_of(1, 3)),
                Some(limits_of(9, 2)),
                Some(limits_of(9, 3)),
            ),
            (
                Some(limits_of(1, 2)),
                Some(limits_of(4, 2)),
                Some(limits_of(9, 2)),
                Some(limits_of(4, 2)),
            ),
            (
                Some(limits_of(1, 2)),
                Some(limits_of(1, 2)),
                Some(limits_of(9, 8)),
                Some(limits_of(9, 8)),
            ),
            (Some(limits_of(1, 2)), None, Some(limits_of(1, 2)), None),
        ] {
            let mut into = of(own);
            synchronize(&of(before), &of(after), &mut into);
            assert_eq!(into.on_demand, expect, "{before:?} {after:?} {own:?}");
        }
    }
}
