//! [CreateTable](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html).

pub(in crate::operation) mod definition;
pub(in crate::operation) mod quota;
pub(in crate::operation) mod shape;
pub(in crate::operation) mod vector;

use std::sync::Arc;
use std::time::Duration;

use crate::chance;
use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::drive::Stages;
use crate::operation::policies;
use crate::operation::tables::account;
use crate::operation::tables::description::{self, TableView};
use crate::plan::{Access, ControlAccess, RequestTags};
use crate::request::CreateTable;
use crate::schema::{Definition, StreamView};
use crate::sorted::SortedMap;
use crate::storage::{Attachments, RecentChanges, Region, Restored, Table, TableIdentity, TableSettings, TableStream};
use crate::value::Name;
use crate::wire::encode::Writer;
use crate::wire::policy::Document;

pub struct Operation;

pub struct Plan<'r> {
    name: &'r Name,
    definition: Definition,
    policy: Option<Document>,
    request: &'r CreateTable,
}

impl Stages for Operation {
    type Request = CreateTable;
    type Checked<'r> = (&'r Name, &'r CreateTable);
    type Plan<'r> = Plan<'r>;
    type Outcome = (Arc<Table>, Moment);

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let request = &*request;
        let name = request.table_name.as_ref();
        let name = name.ok_or_else(ApiError::table_name_required)?;
        shape::check(request, name, "")?;
        Ok((name, request))
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        let (name, request) = checked;
        let definition = definition::read(context, request)?;
        let policy = request.resource_policy.as_deref();
        let policy = policy
            .map(|text| policies::document(context, text, false))
            .transpose()?;
        context.record(|recorder| recorder.name_table(name));
        Ok(Plan {
            name,
            definition,
            policy,
            request,
        })
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        let also: &[&str] = match (plan.definition.tags.is_empty(), plan.policy.is_some()) {
            (true, false) => &[],
            (false, false) => &["TagResource"],
            (true, true) => &["PutResourcePolicy"],
            (false, true) => &["TagResource", "PutResourcePolicy"],
        };
        let tags = match &plan.definition.tags[..] {
            [] => RequestTags::None,
            tags => RequestTags::Given(tags),
        };
        each(Access::Control(
            ControlAccess::table(plan.name).also(also).with_tags(tags),
        ));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let name = plan.name;
        let region = context.engine.catalog().region_or_new(&context.scope);
        let mut tables = region.tables.write();
        if let Some(there) = tables.get(name) {
            let shape = there.shape();
            if !shape.is_gone(context.now) {
                return Err(if shape.is_restoring(context.now) {
                    ApiError::in_use(format_args!("Table is being used: {name}"))
                } else if context.now < shape.active_at {
                    ApiError::in_use(format_args!("Table is being created: {name}"))
                } else {
                    ApiError::table_exists(name)
                });
            }
        }
        check_quota(context, name, &plan.definition, &tables)?;
        let first = |document: &Document| policies::first(context, document.text());
        let extras = Extras {
            stream: definition::stream(plan.request)?,
            attached: Attachments {
                policies: plan.policy.iter().map(first).collect(),
                ..Attachments::default()
            },
            ..Extras::default()
        };
        let table = make(context, &region, name.clone(), plan.definition.clone(), extras)?;
        tables.insert(&table, context.now)?;
        Ok((table, context.now))
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let (table, now) = outcome;
        let look = TableView::Created(now);
        description::table(out, "TableDescription", &table, &table.shape(), look);
    }
}

/// Checks the quota of tables in a region, unless tables are created at once.
pub(in crate::operation) fn check_quota(
    context: &Context<'_>,
    name: &Name,
    definition: &Definition,
    tables: &SortedMap<Name, Arc<Table>>,
) -> Result<(), ApiError> {
    account::check_new(context, (name.as_str(), definition), tables.values())?;
    if context
        .engine
        .conditions_of(&context.scope, name)
        .table_status
        .is_none()
    {
        return Ok(());
    }
    let live = |table: &&Arc<Table>| !table.shape().is_gone(context.now);
    quota::tables(tables.values().filter(live).count())
}

/// The duration of a restore, as a multiple of the creation of a table (measured: from 80 s on).
const RESTORE_TAKES: f64 = 20.0;

/// The settings of a new table besides its definition.
#[derive(Default)]
pub(in crate::operation) struct Extras {
    stream: Option<StreamView>,
    attached: Attachments,
    restored: Option<Restored>,
    /// Whether it is a replica of a table of the same name in another region.
    replica: bool,
}

impl Extras {
    /// The settings of a replica with this stream.
    pub(super) fn of_replica(stream: Option<StreamView>) -> Extras {
        Extras {
            stream,
            replica: true,
            ..Extras::default()
        }
    }

    /// The settings of a restored table.
    pub(in crate::operation) fn of(restored: Restored) -> Extras {
        Extras {
            restored: Some(restored),
            ..Extras::default()
        }
    }
}

/// Creates a table that is not listed yet.
pub(in crate::operation) fn make(
    context: &Context<'_>,
    region: &Region,
    name: Name,
    definition: Definition,
    extras: Extras,
) -> Result<Arc<Table>, ApiError> {
    let (identity, settings) = plan_table(context, region, name, definition, extras);
    let table = region.create_table(identity, settings, context.now)?;
    watch(context, &table);
    Ok(table)
}

/// Starts recording the heat of a new table, if it is recorded for others. Called under the lock that starting to
/// record takes after it has set its flag.
pub(super) fn watch(context: &Context<'_>, table: &Table) {
    if context.engine.journal().is_requested() {
        table.watch_from_creation();
    }
}

/// The identity of a new table of a region, and its settings.
pub(super) fn plan_table(
    context: &Context<'_>,
    region: &Region,
    name: Name,
    definition: Definition,
    extras: Extras,
) -> (TableIdentity, TableSettings) {
    let scope = region.scope();
    let conditions = context.engine.conditions_of(scope, &name);
    let mut seed = chance::decide(context.engine.seed(), "table", name.as_bytes(), 0);
    if extras.replica {
        // Each replica has its own random decisions.
        seed = chance::decide(seed, "replica", scope.region.as_bytes(), 0);
    }
    // Counted by account, so that decisions do not depend on other accounts' tables.
    let made = context.engine.decided().next(scope.hash(), seed);
    let decision = chance::decide(seed, "new table", &[], made);
    let mut lag = conditions.table_status.of(decision);
    if extras.restored.is_some() {
        lag = Duration::try_from_secs_f64(lag.as_secs_f64() * RESTORE_TAKES).unwrap_or(lag);
    }
    let named = if scope.region.is_empty() {
        context.region
    } else {
        &scope.region
    };
    let arn = context.table_arn_in(named, &name);
    let active_at = context.now.plus(lag);
    let restored = extras.restored.map(|restored| Restored {
        fails: context.effects().job_fault.is_some(),
        ..restored
    });
    let fails_at = restored.as_ref().filter(|restored| restored.fails).map(|_| active_at);
    let mut settings = TableSettings {
        epoch: 1,
        definition: Arc::new(definition),
        stream_settings: None,
        time_to_live: None,
        time_to_live_changed: None,
        conditions,
        index_lags: SortedMap::new(),
        replication_lags: SortedMap::new(),
        seed,
        active_at,
        deleted_at: fails_at,
        jobs: Vec::new(),
        recent: RecentChanges::default(),
        recovery: None,
        restored: restored.map(Arc::new),
        attached: Arc::new(extras.attached),
    };
    if let Some(view) = extras.stream {
        settings.open_stream(TableStream {
            created: region.stream_label(&arn, context.now),
            view,
            enabled_at: active_at,
            starts: settings.shard_starts(context.now),
            end: None,
        });
    }
    let half = |which: u8| chance::decide(seed, "id", &[which], made);
    let identity = TableIdentity {
        scope: scope.clone(),
        name,
        arn,
        id: description::uuid(half(0), half(1)),
        ordinal: context.engine.catalog().next_ordinal(),
        created: context.now,
    };
    (identity, settings)
}
