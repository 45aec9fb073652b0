//! Gauges of tables, by their names in CloudWatch.

use crate::clock::Moment;
use crate::journal::{Dimension, Metric, dimension};
use crate::schema::{BillingMode, OnDemandThroughput, Throughput};
use crate::storage::{JobKind, Shape, Table};
use crate::value::Name;

/// The gauges of a table: its limits, deletions by time to live, and the progress of new indexes.
pub(super) fn gauges(table: &Table, now: Moment, metrics: &mut Vec<Metric>) {
    let shape = table.shape();
    let name = dimension::table(&table.name);
    let own = std::slice::from_ref(&name);
    Metric::count(metrics, "TimeToLiveDeletedItemCount", own, table.expired());
    replication(table, &name, metrics);
    let definition = &shape.definition;
    let units = shown(&shape, None, definition.throughput, now);
    given(metrics, own, &shape, units, definition.on_demand);
    for index in &definition.globals {
        let dimensions = [name.clone(), dimension::index(&index.name)];
        let units = shown(&shape, Some(&index.name), index.throughput, now);
        given(metrics, &dimensions, &shape, units, index.on_demand);
        if let Some(percent) = progress(&shape, &index.name, now) {
            let (name, dimensions) = ("OnlineIndexPercentageProgress", dimensions.to_vec());
            metrics.push(Metric {
                name,
                dimensions,
                value: percent,
            });
        }
    }
}

/// The time that the table's writes took to reach its replicas, and the capacity consumed here by writes of other regions.
fn replication(table: &Table, name: &Dimension, metrics: &mut Vec<Metric>) {
    let peers = table.replica_group().map(|group| group.peers(table.ordinal));
    for peer in peers.into_iter().flatten() {
        if let Some(latency) = peer.replicated.latency_from(&table.scope.region) {
            let dimensions = [name.clone(), dimension::receiving_region(&peer.scope.region)];
            Metric::amount(metrics, "ReplicationLatency", &dimensions, latency.average());
        }
    }
    for (index, units) in table.replicated.units() {
        let mut dimensions = vec![name.clone()];
        dimensions.extend(index.as_ref().map(dimension::index));
        let consumed = "ConsumedWriteCapacityUnits";
        let there = metrics
            .iter_mut()
            .find(|metric| metric.name == consumed && metric.dimensions == dimensions);
        match there {
            Some(metric) => metric.value += units.as_f64(),
            None => Metric::amount(metrics, consumed, &dimensions, units.as_f64()),
        }
    }
}

/// The visible throughput: during a change, the previous one.
fn shown(shape: &Shape, index: Option<&Name>, units: Throughput, now: Moment) -> Throughput {
    let mut changing = shape.running(now).filter_map(|job| match (&job.work, index) {
        (JobKind::Throughput { was, .. }, None) => Some(*was),
        (JobKind::UpdateIndex { index: of, was, .. }, Some(index)) if of == index => Some(*was),
        _ => None,
    });
    changing.next().unwrap_or(units)
}

/// The limits of a table or index: provisioned units, or the on-demand maximum.
fn given(
    metrics: &mut Vec<Metric>,
    dimensions: &[(&'static str, Name)],
    shape: &Shape,
    units: Throughput,
    on_demand: Option<OnDemandThroughput>,
) {
    if shape.definition.billing == BillingMode::Provisioned {
        Metric::count(metrics, "ProvisionedReadCapacityUnits", dimensions, units.read);
        Metric::count(metrics, "ProvisionedWriteCapacityUnits", dimensions, units.write);
        return;
    }
    let most = on_demand.unwrap_or_default();
    for (name, most) in [
        ("OnDemandMaxReadRequestUnits", most.max_read),
        ("OnDemandMaxWriteRequestUnits", most.max_write),
    ] {
        // A maximum of -1 means no limit.
        Metric::amount(metrics, name, dimensions, most.unwrap_or_default() as f64);
    }
}

/// The progress of filling a new index: 0 while the service allocates resources.
fn progress(shape: &Shape, index: &Name, now: Moment) -> Option<f64> {
    shape.running(now).find_map(|job| match &job.work {
        JobKind::CreateIndex {
            index: made, allocated, ..
        } if made == index => {
            let whole = job.until.since(*allocated).as_secs_f64();
            Some(100.0 * now.since(*allocated).as_secs_f64() / whole.max(f64::MIN_POSITIVE))
        }
        _ => None,
    })
}
