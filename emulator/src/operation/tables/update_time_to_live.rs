//! [UpdateTimeToLive](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTimeToLive.html).

use std::time::Duration;

use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations, constraint};
use crate::execute::{self, Refusals};
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::operation::tables::account;
use crate::operation::tables::update_table::replicas;
use crate::plan::{self, Access, ControlAccess, RegionActions, Target};
use crate::request::UpdateTimeToLive;
use crate::storage::{Consistency, Table, TableStage};
use crate::value::Name;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// The cooldown after a change, outside of `calm` (measured: about 31 minutes).
const COOLDOWN: Duration = Duration::from_mins(31);

pub struct Operation;

impl Stages for Operation {
    type Request = UpdateTimeToLive;
    type Checked<'r> = (&'r str, bool, &'r Name);
    type Plan<'r> = (Target, bool, &'r Name, Vec<RegionActions>);
    type Outcome = ();

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let name = check::control_table_name(request.table_name.as_ref())?;
        let (enabled, attribute) = specification(request)?;
        Ok((name, enabled, attribute))
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        let (name, enabled, attribute) = checked;
        let target = plan::table_in_any_state(context, name)?;
        let elsewhere = other_regions(&target.table, context.now);
        Ok((target, enabled, attribute, elsewhere))
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        let access = ControlAccess::table(&plan.0.table.name);
        each(Access::Control(access.also_in(&plan.3)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let (Target { table, .. }, enabled, attribute, _) = plan;
        account::check_operations(context, &table.name)?;
        let now = context.now;
        execute::run_due(table, now);
        let _turn = context.engine.catalog().change_replicas();
        check_consistency(table, now)?;
        let before = table.shape();
        let after = replicas::reshape(context, table, |shape| {
            match table.stage(shape, now) {
                TableStage::Active => {}
                TableStage::Deleting if shape.is_found_after_deletion(now, check::FOUND_AFTER_DELETION) => {}
                // The words of this text have another order than elsewhere (measured).
                TableStage::Creating => {
                    return Err(ApiError::in_use(format_args!("Table {} is being created", table.name)));
                }
                TableStage::Unknown | TableStage::Deleting => return Err(ApiError::table_not_found_named(&table.name)),
            }
            match &shape.time_to_live {
                Some(current) if current != *attribute => {
                    return Err(ApiError::validation(format!(
                        "TimeToLive is active on a different AttributeName: current AttributeName is {current}"
                    )));
                }
                Some(_) if *enabled => return Err(ApiError::validation("TimeToLive is already enabled")),
                None if !*enabled => return Err(ApiError::validation("TimeToLive is already disabled")),
                _ => {}
            }
            // The cooldown belongs to the control plane's delays: a table that is created at once has none.
            if shape.takes_time() && shape.time_to_live_changed.is_some_and(|last| last.plus(COOLDOWN) > now) {
                return Err(ApiError::validation(
                    "Time to live has been modified multiple times within a fixed interval",
                ));
            }
            shape.time_to_live = enabled.then(|| Name::clone(attribute));
            shape.time_to_live_changed = Some(now);
            Ok(())
        })?;
        // That the replicas are UPDATING for it was not measured.
        replicas::synchronize(context, table, (&before, &after), 0.0)?;
        Ok(())
    }

    fn encode(plan: &Self::Plan<'_>, (): Self::Outcome, out: &mut Writer) {
        let (_, enabled, attribute, _) = plan;
        let mut answer = Object::open(out);
        let mut echo = answer.object("TimeToLiveSpecification");
        echo.boolean("Enabled", *enabled);
        echo.string("AttributeName", attribute);
        echo.close();
        answer.close();
    }
}

/// The permissions that the call needs on the other replicas (docs/behavior: 08 3.1).
fn other_regions(table: &Table, now: Moment) -> Vec<RegionActions> {
    let Some(state) = table.global_state(now) else {
        return Vec::new();
    };
    let others = state.others(table.ordinal, now);
    let needed = others.map(|replica| RegionActions {
        region: replica.region.clone(),
        actions: &["UpdateTimeToLive"],
    });
    needed.collect()
}

/// Rejects time to live for replicas with strong consistency (Developer Guide). The service's text is not recorded.
fn check_consistency(table: &Table, now: Moment) -> Result<(), ApiError> {
    match table.global_state(now) {
        Some(state) if state.consistency == Consistency::Strong => Err(ApiError::validation(
            "Time to Live is not supported for global tables with MultiRegionConsistency set to STRONG.",
        )),
        _ => Ok(()),
    }
}

fn specification(request: &UpdateTimeToLive) -> Result<(bool, &Name), ApiError> {
    let mut violations = Violations::new();
    let specification = request.time_to_live_specification.as_ref();
    if specification.is_none() {
        violations.missing("timeToLiveSpecification");
    }
    let enabled = specification.and_then(|each| each.enabled);
    let attribute = specification.and_then(|each| each.attribute_name.as_ref());
    if specification.is_some() {
        let path = "timeToLiveSpecification.attributeName";
        match attribute {
            None => violations.missing(path),
            Some(name) if name.is_empty() => violations.value("", path, constraint::min_length(1)),
            Some(name) if name.len() > 255 => violations.value(name, path, constraint::max_length(255)),
            Some(_) => {}
        }
        if enabled.is_none() {
            violations.missing("timeToLiveSpecification.enabled");
        }
    }
    violations.finish()?;
    enabled.zip(attribute).ok_or_else(ApiError::internal)
}
