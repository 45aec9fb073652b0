//! Records the events caused by changes of items. Runs only while events are recorded.

use super::trace;
use crate::change::{Cause, Change};
use crate::clock::Moment;
use crate::context::Context;
use crate::journal::{EventKind, EventSubject};
use crate::key;
use crate::plan::Write;
use crate::schema::Definition;
use crate::storage::{ReplicatedChange, Shape, Table, VersionComparison};
use crate::value::{Item, Map, Name};

fn subject(definition: &Definition, change: &Change, action: &'static str) -> EventSubject {
    let item = change.new.as_ref().or(change.old.as_ref());
    EventSubject {
        action,
        key: item.map_or_else(Map::new, |item| key::key_attributes(item, &definition.key, None)),
        token: Some(change.key.token),
    }
}

/// The effect of a change on its item.
fn action(change: &Change) -> &'static str {
    if change.new.is_some() { "put" } else { "delete" }
}

/// The index changes that are queued: each with the index's name and whether it adds an entry.
fn arms<'c>(shape: &'c Shape, change: &'c Change) -> impl Iterator<Item = (&'c Name, &'static str, Option<Moment>)> {
    let action = |comes: bool| if comes { "put" } else { "delete" };
    let globals = change.globals.iter().filter_map(move |arm| {
        let index = shape.indexes.get(arm.index)?;
        let arrives = index.arrival(&change.key, &shape.propagation(&arm.name));
        Some((&arm.name, action(arm.insert.is_some()), arrives))
    });
    let vectors = change.vectors.iter().filter_map(move |arm| {
        let index = shape.vectors.get(arm.index)?;
        let arrives = index.arrival(&change.key, &shape.propagation(&arm.name));
        Some((&arm.name, action(arm.insert.is_some()), arrives))
    });
    globals.chain(vectors)
}

/// The key attributes of an index entry: the table's key and the index's.
fn entry_key(definition: &Definition, index: &str, item: &Item) -> Map {
    let index = definition.index(index).map(|(_, index)| index);
    key::key_attributes(item, &definition.key, index)
}

/// Reports the consequences of an applied change: index changes, a due deletion, a stream record.
fn consequences(shape: &Shape, change: &Change, now: Moment, mut record: impl FnMut(EventKind)) {
    let definition = &shape.definition;
    for (index, action, arrives) in arms(shape, change) {
        let item = change.new.as_ref().filter(|_| action == "put").or(change.old.as_ref());
        let subject = EventSubject {
            key: item.map_or_else(Map::new, |item| entry_key(definition, index, item)),
            ..subject(definition, change, action)
        };
        record(EventKind::IndexChange(index.clone(), subject, arrives));
    }
    let happened = change.happened(now);
    if let Some(new) = &change.new
        && let Some(due) = shape.expiry_from(&change.key, new, happened)
        && let Some(expires) = shape.expires(new)
    {
        let subject = subject(definition, change, "delete");
        record(EventKind::ExpirySchedule(subject, Moment::from_seconds(expires), due));
    }
    if let Some(stream) = &shape.stream
        && let Some((action, arrives)) = stream.record_of(change, now)
    {
        record(EventKind::StreamRecord(subject(definition, change, action), arrives));
    }
}

/// Logs when a change of this region arrives in the others.
fn replication_events(table: &Table, shape: &Shape, change: &Change, mut record: impl FnMut(EventKind)) {
    let Some(group) = table.replica_group() else { return };
    for peer in group.peers(table.ordinal) {
        let partition = peer.partition(peer.partition_of(change.key.token));
        let arrives = partition.inbox.last_arrival(&table.scope.region, &change.key);
        let subject = subject(&shape.definition, change, action(change));
        record(EventKind::Replication(peer.scope.region.clone(), subject, arrives));
    }
}

impl Context<'_> {
    /// Records the consequences of a change that this request has applied to a table.
    pub(super) fn record_change(&self, table: &Table, shape: &Shape, change: &Change) {
        self.record(|recorder| {
            if recorder.collects_events() {
                let now = self.now;
                consequences(shape, change, now, |kind| recorder.cause(now, &table.name, kind));
                if table.is_replica() {
                    replication_events(table, shape, change, |kind| recorder.cause(now, &table.name, kind));
                }
            }
        });
    }

    /// Records that a transaction locks the item of a write until it is executed.
    pub(super) fn record_hold(&self, write: &Write<'_>, (change, applies): (&Change, bool), ends: Moment) {
        self.record(|recorder| {
            if recorder.collects_events() {
                let target = &write.target;
                let subject = EventSubject {
                    action: if applies { action(change) } else { "check" },
                    key: trace::key_of(&target.shape.definition.key, &write.attributes),
                    token: Some(write.key.token),
                };
                recorder.cause(self.now, &target.table.name, EventKind::TransactionHold(subject, ends));
            }
        });
    }
}

/// Records a change that was due at one moment and is applied at another, and its consequences.
pub(super) fn record_due(table: &Table, shape: &Shape, change: &Change, (at, now): (Moment, Moment)) {
    let events = table.events();
    if !events.has_subscribers() {
        return;
    }
    let subject = subject(&shape.definition, change, action(change));
    events.record_due(
        at,
        match change.cause {
            Cause::TimeToLive => EventKind::Expiry(subject),
            Cause::Request | Cause::Replication => EventKind::TransactionApplied(subject),
        },
    );
    consequences(shape, change, now, |kind| events.record_due(at, kind));
    replication_events(table, shape, change, |kind| events.record_due(at, kind));
}

/// Records a change of another region that has arrived at one moment and is applied at another: its consequences, and
/// which write was lost, if neither writer had seen the other's.
pub(super) fn record_arrival(
    table: &Table,
    shape: &Shape,
    (arrival, change, there, comparison): (&ReplicatedChange, Option<&Change>, Option<&Item>, &VersionComparison),
    (at, now): (Moment, Moment),
) {
    let events = table.events();
    if !events.has_subscribers() {
        return;
    }
    let schema = &shape.definition.key;
    let old = change.and_then(|change| change.old.as_ref());
    let item = arrival.item.as_ref().or(old).or(there);
    let subject = EventSubject {
        action: if arrival.item.is_some() { "put" } else { "delete" },
        key: item.map_or_else(Map::new, |item| key::key_attributes(item, schema, None)),
        token: Some(arrival.key.token),
    };
    let source = arrival.version.stamp.region.clone();
    if let Some((lost, won)) = &comparison.conflict {
        let conflict =
            EventKind::ReplicationConflict(subject.clone(), Box::new((lost.clone().into(), won.clone().into())));
        events.record_due(at, conflict);
    }
    events.record_due(at, EventKind::ReplicationArrival(source, subject, comparison.replaces));
    if let Some(change) = change {
        consequences(shape, change, now, |kind| events.record_due(at, kind));
    }
}
