//! `TableDescription`: a table as the control plane shows it (recorded on AWS, October 2026).

mod global;

pub use global::{GlobalView, replica_status};

use crate::capacity::Direction;
use crate::clock::Moment;
use crate::schema::{
    Adjustments, BillingMode, Definition, Encryption, Index, KeySchema, OnDemandThroughput, Projection, Throughput,
    VectorIndex, initial_warm,
};
use crate::storage::{Census, GroupState, Job, JobKind, Restored, Shape, Table};
use crate::value::Name;
use crate::wire::encode::Writer;
use crate::wire::object::{List, Object};

/// The point of view of a description: responses to changes of a table show its transient state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableView {
    Created(Moment),
    Deleted(Moment),
    /// UpdateTable's response: the transient state is visible, even if the change takes no time.
    Updated(Moment),
    /// DescribeTable's response at this moment.
    At(Moment),
}

impl TableView {
    /// Whether a change in progress is visible.
    fn shows(self, job: &Job) -> bool {
        match self {
            TableView::Created(_) | TableView::Deleted(_) => false,
            TableView::Updated(_) => true,
            TableView::At(now) => job.runs(now),
        }
    }

    /// The moment of the response.
    fn moment(self) -> Moment {
        match self {
            TableView::Created(now) | TableView::Deleted(now) | TableView::Updated(now) | TableView::At(now) => now,
        }
    }

    /// Whether a change of the table class is visible in the global indexes.
    fn class_shown_in_indexes(self, shape: &Shape) -> bool {
        let changes = |job: &Job| matches!(job.work, JobKind::Class { shown_in_indexes_until, .. } if self.moment() < shown_in_indexes_until);
        shape.jobs.iter().any(changes)
    }

    /// Whether a change in progress makes the whole table `UPDATING`.
    fn updates_table(self, job: &Job) -> bool {
        // A step that takes no time has begun when its call responds.
        let starts = matches!((self, &job.work), (TableView::Updated(now), JobKind::CreateIndex { allocated, .. }) if *allocated == now);
        self.shows(job) && (starts || job.updates_table(self.moment()))
    }
}

/// A version 4 UUID of two random numbers.
pub fn uuid(high: u64, low: u64) -> String {
    let high = (high & 0xffff_ffff_ffff_0fff) | 0x4000;
    let low = (low & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

/// Writes a response whose one member is the table's description.
pub fn table(out: &mut Writer, member: &'static str, table: &Table, shape: &Shape, look: TableView) {
    let mut answer = Object::open(out);
    let mut object = answer.object(member);
    describe(&mut object, table, shape, look, None);
    object.close();
    answer.close();
}

/// Writes the response of an UpdateTable that has begun to change the table's replicas, which are described as before.
pub fn table_with_replicas(out: &mut Writer, table: &Table, shape: &Shape, before: &GlobalView, now: Moment) {
    let mut answer = Object::open(out);
    let mut object = answer.object("TableDescription");
    describe(&mut object, table, shape, TableView::Updated(now), Some(before));
    object.close();
    answer.close();
}

/// The status of a table at `now`.
pub fn status_at(table: &Table, now: Moment) -> &'static str {
    let global = table.global_state(now);
    status(&table.shape(), TableView::At(now), global.as_deref())
}

fn status(shape: &Shape, look: TableView, replicas: Option<&GroupState>) -> &'static str {
    match look {
        TableView::Created(_) => "CREATING",
        TableView::Deleted(_) => "DELETING",
        TableView::At(_) if shape.is_deleting() => "DELETING",
        TableView::At(now) if now < shape.active_at => "CREATING",
        _ if shape.jobs.iter().any(|job| look.updates_table(job)) => "UPDATING",
        _ if replicas.is_some_and(|state| state.is_updating(look.moment())) => "UPDATING",
        _ => "ACTIVE",
    }
}

fn describe(object: &mut Object<'_>, table: &Table, shape: &Shape, look: TableView, before: Option<&GlobalView>) {
    let definition = &*shape.definition;
    let global = table.global_state(look.moment());
    let status = match before {
        Some(_) => "UPDATING",
        None => status(shape, look, global.as_deref()),
    };
    let settled = matches!(status, "ACTIVE" | "UPDATING");
    let jobs: Vec<&Job> = shape.jobs.iter().filter(|job| look.shows(job)).collect();
    let census = &*table.census(shape, look.moment());
    let (count, bytes) = census.table;
    object.string("TableName", &table.name);
    object.string("TableArn", &table.arn);
    object.string("TableId", &table.id);
    object.string("TableStatus", status);
    object.integer("ItemCount", count as i64);
    object.integer("TableSizeBytes", bytes as i64);
    table_throughput(object, definition, &jobs, look.moment());
    // A replica with provisioned throughput has no summary (measured).
    if global.is_none() || definition.billing == BillingMode::PayPerRequest {
        billing(object, definition, &jobs, status);
    }
    object.boolean("DeletionProtectionEnabled", definition.deletion_protection);
    if matches!(look, TableView::Deleted(_)) {
        return;
    }
    object.timestamp("CreationDateTime", table.created);
    attributes(object, definition);
    key_schema(object, &definition.key);
    local_indexes(object, table, definition, census);
    global_indexes(object, (table, census), shape, settled, look);
    vector_indexes(object, (table, census), shape, settled, look);
    stream(object, shape);
    on_demand(object, shown_limits(definition, &jobs).as_ref());
    if settled || definition.warm.is_some() {
        let changing = old_warm(&shape.jobs, None, look);
        let there = grown(
            table,
            None,
            definition.warm,
            (definition.billing, definition.throughput),
            look,
        );
        warm(object, there, changing, settled);
    }
    table_class(object, definition, &jobs);
    encryption(object, definition, &jobs, look.moment());
    let shown = global.map(|state| GlobalView::of(table, &state, look.moment()));
    if let Some(global) = before.or(shown.as_ref()) {
        global.write(object);
    }
    if let Some(restored) = shape.restored.as_deref().filter(|_| !settled) {
        restore_summary(object, restored);
    }
}

fn restore_summary(object: &mut Object<'_>, restored: &Restored) {
    let mut summary = object.object("RestoreSummary");
    if let Some(arn) = &restored.backup_arn {
        summary.string("SourceBackupArn", arn);
    }
    summary.string("SourceTableArn", &restored.table_arn);
    summary.timestamp("RestoreDateTime", restored.at);
    summary.boolean("RestoreInProgress", true);
    summary.close();
}

/// The requested state of a stream is visible at once; the label of a disabled one is kept.
fn stream(object: &mut Object<'_>, shape: &Shape) {
    if let Some(stream) = &shape.stream {
        let mut specification = object.object("StreamSpecification");
        specification.boolean("StreamEnabled", true);
        specification.string("StreamViewType", stream.view.name());
        specification.close();
    }
    if let Some(latest) = &shape.latest_stream {
        object.string("LatestStreamArn", &latest.arn);
        object.string("LatestStreamLabel", &latest.label);
    }
}

fn table_class(object: &mut Object<'_>, definition: &Definition, jobs: &[&Job]) {
    let now = (definition.class, definition.class_changed);
    let was = jobs.iter().find_map(|job| match &job.work {
        JobKind::Class { was, .. } => Some(*was),
        _ => None,
    });
    let (Some(class), changed) = was.unwrap_or(now) else {
        return;
    };
    let mut summary = object.object("TableClassSummary");
    summary.string("TableClass", class);
    if let Some(changed) = changed {
        summary.timestamp("LastUpdateDateTime", changed);
    }
    summary.close();
}

fn encryption(object: &mut Object<'_>, definition: &Definition, jobs: &[&Job], now: Moment) {
    let there = definition.encryption.as_ref().map(|each| &each.key_arn);
    let changing = jobs.iter().find_map(|job| match &job.work {
        JobKind::Encryption { key_arn, shows } if now <= *shows => Some(key_arn),
        JobKind::Encryption { key_arn, .. } => there.or(Some(key_arn)),
        _ => None,
    });
    let changing = changing.map(|key_arn| ("UPDATING", key_arn));
    if let Some((status, key_arn)) = changing.or(there.map(|key_arn| ("ENABLED", key_arn))) {
        encrypted(object, status, key_arn);
    }
}

/// `SSEDescription` of a table encrypted with a key of the caller's.
pub(in crate::operation) fn encryption_enabled(object: &mut Object<'_>, encryption: Option<&Encryption>) {
    if let Some(encryption) = encryption {
        encrypted(object, "ENABLED", &encryption.key_arn);
    }
}

fn encrypted(object: &mut Object<'_>, status: &str, key_arn: &str) {
    let mut description = object.object("SSEDescription");
    description.string("Status", status);
    description.string("SSEType", "KMS");
    description.string("KMSMasterKeyArn", key_arn);
    description.close();
}

fn table_throughput(object: &mut Object<'_>, definition: &Definition, jobs: &[&Job], now: Moment) {
    let old = jobs.iter().find_map(|job| match &job.work {
        JobKind::Throughput { was, decreases } => Some((*was, *decreases)),
        _ => None,
    });
    throughput(object, definition.throughput, &definition.adjustments, old, now);
}

/// The units, and their last changes; during a change, `old` are the visible units, with the new dates.
fn throughput(
    object: &mut Object<'_>,
    units: Throughput,
    adjustments: &Adjustments,
    old: Option<(Throughput, u32)>,
    now: Moment,
) {
    let (units, decreases) = old.unwrap_or((units, adjustments.decreases_on(now)));
    let mut description = object.object("ProvisionedThroughput");
    if let Some(last) = adjustments.increased {
        description.timestamp("LastIncreaseDateTime", last);
    }
    if let Some(last) = adjustments.decreased {
        description.timestamp("LastDecreaseDateTime", last);
    }
    description.integer("NumberOfDecreasesToday", i64::from(decreases));
    description.integer("ReadCapacityUnits", units.read as i64);
    description.integer("WriteCapacityUnits", units.write as i64);
    description.close();
}

/// Tables that were never on demand have no summary; while the mode changes it has no date.
fn billing(object: &mut Object<'_>, definition: &Definition, jobs: &[&Job], status: &str) {
    let Some(since) = definition.on_demand_since else {
        return;
    };
    let mut summary = object.object("BillingModeSummary");
    summary.string("BillingMode", definition.billing.name());
    if status != "CREATING" && !jobs.iter().any(|job| matches!(job.work, JobKind::Billing)) {
        summary.timestamp("LastUpdateToPayPerRequestDateTime", since);
    }
    summary.close();
}

fn attributes(object: &mut Object<'_>, definition: &Definition) {
    let mut list = object.list("AttributeDefinitions");
    for attribute in &definition.attributes {
        let mut element = list.object();
        element.string("AttributeName", &attribute.name);
        element.string("AttributeType", attribute.kind.name());
        element.close();
    }
    list.close();
}

pub fn key_schema(object: &mut Object<'_>, schema: &KeySchema) {
    let mut list = object.list("KeySchema");
    let mut element = |name: &str, kind: &str| {
        let mut element = list.object();
        element.string("AttributeName", name);
        element.string("KeyType", kind);
        element.close();
    };
    schema
        .hash
        .iter()
        .for_each(|attribute| element(&attribute.name, "HASH"));
    schema
        .range
        .iter()
        .for_each(|attribute| element(&attribute.name, "RANGE"));
    list.close();
}

pub(in crate::operation) fn projection(object: &mut Object<'_>, projection: &Projection) {
    let mut description = object.object("Projection");
    match projection {
        Projection::All => description.string("ProjectionType", "ALL"),
        Projection::KeysOnly => description.string("ProjectionType", "KEYS_ONLY"),
        Projection::Include(names) => {
            description.string("ProjectionType", "INCLUDE");
            description.strings("NonKeyAttributes", names.iter().map(compact_str::CompactString::as_str));
        }
    }
    description.close();
}

fn index_head(
    list: &mut List<'_>,
    table: &Table,
    index: &Index,
    size: (usize, usize),
    rest: impl FnOnce(&mut Object<'_>),
) {
    index_frame(list, table, (&index.name, &index.projection), size, |element| {
        key_schema(element, &index.key);
        rest(element);
    });
}

/// The members that the descriptions of all kinds of indexes share.
fn index_frame(
    list: &mut List<'_>,
    table: &Table,
    (name, projected): (&Name, &Projection),
    (count, bytes): (usize, usize),
    rest: impl FnOnce(&mut Object<'_>),
) {
    let mut element = list.object();
    element.string("IndexName", name);
    element.string("IndexArn", &table.resource_arn(Some(name)));
    projection(&mut element, projected);
    element.integer("ItemCount", count as i64);
    element.integer("IndexSizeBytes", bytes as i64);
    rest(&mut element);
    element.close();
}

fn vector_indexes(
    object: &mut Object<'_>,
    (table, census): (&Table, &Census),
    shape: &Shape,
    settled: bool,
    look: TableView,
) {
    let jobs = || shape.jobs.iter().filter(|job| look.shows(job));
    let mut all: Vec<(&VectorIndex, Option<&Job>)> = Vec::with_capacity(shape.definition.vectors.len());
    for index in &shape.definition.vectors {
        all.push((index, jobs().find(|job| job.index() == Some(&index.name))));
    }
    for job in jobs() {
        if let JobKind::DeleteVectorIndex { at, index, .. } = &job.work {
            all.insert((*at).min(all.len()), (index, Some(job)));
        }
    }
    if all.is_empty() {
        return;
    }
    let mut list = object.list("VectorIndexes");
    for (index, job) in all {
        let names = (&index.name, &index.projection);
        index_frame(&mut list, table, names, census.index(&index.name), |element| {
            vector_index(element, index);
            let (status, filling) = match job.map(|job| &job.work) {
                Some(JobKind::CreateIndex { .. }) => ("CREATING", job.map(|job| !look.updates_table(job))),
                Some(JobKind::DeleteVectorIndex { .. }) => ("DELETING", None),
                _ if settled => ("ACTIVE", None),
                _ => ("CREATING", None),
            };
            element.string("IndexStatus", status);
            if let Some(filling) = filling {
                element.boolean("Backfilling", filling);
            }
        });
    }
    list.close();
}

pub(in crate::operation) fn vector_index(element: &mut Object<'_>, index: &VectorIndex) {
    let mut attribute = element.object("VectorAttribute");
    attribute.string("AttributeName", &index.attribute);
    attribute.close();
    if !index.search.is_empty() {
        let mut schema = element.list("SearchSchema");
        for attribute in &index.search {
            let mut entry = schema.object();
            entry.string("AttributeName", &attribute.name);
            entry.string("SearchSchemaElementType", attribute.role());
            entry.close();
        }
        schema.close();
    }
    element.integer("Dimensions", index.dimensions as i64);
    element.string("DistanceFunction", index.distance.name());
}

fn local_indexes(object: &mut Object<'_>, table: &Table, definition: &Definition, census: &Census) {
    if definition.locals.is_empty() {
        return;
    }
    let mut list = object.list("LocalSecondaryIndexes");
    for index in &definition.locals {
        index_head(&mut list, table, index, census.index(&index.name), |_| {});
    }
    list.close();
}

fn global_indexes(
    object: &mut Object<'_>,
    (table, census): (&Table, &Census),
    shape: &Shape,
    settled: bool,
    look: TableView,
) {
    let mut all: Vec<(&Index, Option<&Job>)> = Vec::with_capacity(shape.definition.globals.len());
    for index in &shape.definition.globals {
        let mut jobs = shape.jobs.iter().filter(|job| look.shows(job));
        all.push((index, jobs.find(|job| job.index() == Some(&index.name))));
    }
    for job in shape.jobs.iter().filter(|job| look.shows(job)) {
        if let JobKind::DeleteIndex { at, index, .. } = &job.work {
            all.insert((*at).min(all.len()), (index, Some(job)));
        }
    }
    if all.is_empty() {
        return;
    }
    let mut list = object.list("GlobalSecondaryIndexes");
    for (index, job) in all {
        index_head(&mut list, table, index, census.index(&index.name), |element| {
            let billed = (shape.definition.billing, index.throughput);
            let there = grown(table, Some(&index.name), index.warm, billed, look);
            global_index(element, shape, (index, there), job, settled, look);
        });
    }
    list.close();
}

fn global_index(
    element: &mut Object<'_>,
    shape: &Shape,
    (index, there): (&Index, Throughput),
    job: Option<&Job>,
    settled: bool,
    look: TableView,
) {
    let mut old = None;
    let mut status = if settled { "ACTIVE" } else { "CREATING" };
    match job.map(|job| &job.work) {
        Some(JobKind::CreateIndex { .. }) => {
            status = "CREATING";
            let filling = !job.is_some_and(|job| look.updates_table(job));
            element.boolean("Backfilling", filling);
        }
        Some(JobKind::DeleteIndex { .. }) => status = "DELETING",
        Some(JobKind::UpdateIndex { was, decreases, .. }) => {
            status = "UPDATING";
            old = Some((*was, *decreases));
        }
        _ if settled && look.class_shown_in_indexes(shape) => status = "UPDATING",
        _ => {}
    }
    element.string("IndexStatus", status);
    throughput(element, index.throughput, &index.adjustments, old, look.moment());
    on_demand(element, index.on_demand.as_ref());
    if settled && status != "CREATING" {
        let changing = old_warm(&shape.jobs, Some(&index.name), look);
        warm(element, there, changing, true);
    }
}

pub(in crate::operation) fn on_demand(object: &mut Object<'_>, limits: Option<&OnDemandThroughput>) {
    let Some(limits) = limits else { return };
    let mut description = object.object("OnDemandThroughput");
    if let Some(most) = limits.max_read {
        description.integer("MaxReadRequestUnits", most);
    }
    if let Some(most) = limits.max_write {
        description.integer("MaxWriteRequestUnits", most);
    }
    description.close();
}

/// The table's limits; one that was just removed is shown as -1.
fn shown_limits(definition: &Definition, jobs: &[&Job]) -> Option<OnDemandThroughput> {
    let mut shown = definition.on_demand;
    for job in jobs {
        if let JobKind::ClearLimits { read, write } = job.work {
            let limits = shown.get_or_insert_default();
            limits.max_read = limits.max_read.or(read.then_some(-1));
            limits.max_write = limits.max_write.or(write.then_some(-1));
        }
    }
    shown
}

/// The warm throughput before a change in progress.
fn old_warm(jobs: &[Job], of: Option<&Name>, look: TableView) -> Option<Throughput> {
    let mut shown = jobs.iter().filter(|job| look.shows(job));
    shown.find_map(|job| match &job.work {
        JobKind::Warm { index, was } if index.as_ref() == of => Some(*was),
        _ => None,
    })
}

/// The warm throughput of the table or an index, which grows with use on demand.
fn grown(
    table: &Table,
    index: Option<&str>,
    warm: Option<Throughput>,
    (billing, provisioned): (BillingMode, Throughput),
    look: TableView,
) -> Throughput {
    let warm = warm.unwrap_or_else(|| initial_warm(billing, provisioned));
    let TableView::At(now) = look else { return warm };
    if billing == BillingMode::Provisioned || !table.capacity.is_counted() {
        return warm;
    }
    let mut ledger = table.capacity.lock();
    let mut rate = |direction| ledger.as_mut()?.rate(index, direction, now);
    Throughput {
        read: warm.read.max(rate(Direction::Read).unwrap_or(0)),
        write: warm.write.max(rate(Direction::Write).unwrap_or(0)),
    }
}

fn warm(object: &mut Object<'_>, there: Throughput, changing: Option<Throughput>, settled: bool) {
    let settled = settled && changing.is_none();
    let warm = changing.unwrap_or(there);
    let mut description = object.object("WarmThroughput");
    description.integer("ReadUnitsPerSecond", warm.read as i64);
    description.integer("WriteUnitsPerSecond", warm.write as i64);
    description.string("Status", if settled { "ACTIVE" } else { "UPDATING" });
    description.close();
}
