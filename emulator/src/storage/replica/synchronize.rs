//! The settings that all replicas of a global table share (docs/behavior: 08 3).

use std::sync::Arc;

use super::super::commit::Committed;
use super::super::job::{Job, JobKind};
use super::super::settings::TableSettings;
use super::super::table::Table;
use crate::schema::{Definition, Index, OnDemandThroughput};

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
    /// Applies a request's changes of another replica's settings, with the jobs that it has begun there.
    pub fn synchronize(&mut self, before: &TableSettings, after: &TableSettings) {
        let mut definition = Definition::clone(&self.definition);
        synchronize(&before.definition, &after.definition, &mut definition);
        self.definition = Arc::new(definition);
        // Each region has its own key.
        let begun = |job: &&Job| !before.jobs.contains(job) && !matches!(job.work, JobKind::Encryption { .. });
        self.jobs.extend(after.jobs.iter().filter(begun).cloned());
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
    /// Copies all shared settings from another replica, after a replay that ended before the table had them.
    pub(super) fn replay_synchronize(&self, committed: &Committed<'_>, source: &Table) {
        let (own, theirs) = (self.shape(), source.shape());
        let mut settings = own.settings.clone();
        settings.synchronize(&own.settings, &theirs.settings);
        let is_new = |name: &&crate::value::Name| !own.definition.has_index(name);
        let added: Vec<_> = theirs.index_names().filter(is_new).cloned().collect();
        self.replay_settings(committed, settings);
        for name in &added {
            self.backfill(name);
        }
    }
}
