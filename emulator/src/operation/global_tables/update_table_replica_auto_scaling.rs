//! [UpdateTableReplicaAutoScaling](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTableReplicaAutoScaling.html).

use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::{ApiError, ErrorKind, Violations};
use crate::execute::Refusals;
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::operation::global_tables::auto_scaling::{self, GlobalTable};
use crate::operation::tables::update_table::replicas;
use crate::plan::{self, Access, ControlAccess};
use crate::request::{IndexScalingUpdate, ScalingUpdate, UpdateReplicaAutoScaling};
use crate::schema::BillingMode;
use crate::storage::{GroupState, Scaling, ScalingPolicy};
use crate::wire::encode::Writer;

pub struct Operation;

impl Stages for Operation {
    type Request = UpdateReplicaAutoScaling;
    type Checked<'r> = (&'r str, &'r UpdateReplicaAutoScaling);
    type Plan<'r> = (&'r str, &'r UpdateReplicaAutoScaling);
    type Outcome = (GlobalTable, String, Moment);

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let request = &*request;
        let name = check::control_table_name(request.table_name.as_ref())?;
        let mut violations = Violations::new();
        violations.add(request.index_updates.as_ref().map(|updates| &updates.violations));
        violations.add(request.write.as_ref().map(|update| &update.violations));
        violations.add(request.replica_updates.as_ref().map(|updates| &updates.violations));
        violations.finish()?;
        Ok((name, request))
    }

    fn plan<'r>(_: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        Ok(checked)
    }

    fn access((name, _): &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::table(plan::plain_name(name))));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let (name_or_arn, request) = plan;
        let _turn = context.engine.catalog().change_replicas();
        let global = auto_scaling::find(context, name_or_arn)?;
        let name = &global.table.name;
        let updates = updates(request);
        if updates.is_empty() {
            return Err(failed(
                name,
                " because at least one update parameter must be specified.",
            ));
        }
        check_indexes(&global, &updates)?;
        check_billing(&global, &updates)?;
        check_complete(name, &updates)?;
        replicas::check_regions_listed(
            &global.table,
            updates.iter().filter_map(|update| update.region),
            context.now,
        )?;
        let mut state = GroupState::clone(&global.state);
        if state.is_changing(context.now) {
            return Err(replicas::in_use());
        }
        state.drop_gone(context.now);
        for update in &updates {
            state.set_scaling(update.region, update.index, update.scaling());
        }
        if let Some(group) = global.table.replica_group() {
            group.change(&global.table, &state, context.now)?;
        }
        Ok((global, context.account.to_owned(), context.now))
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        // Describes the settings before the change (measured).
        let (global, account, now) = outcome;
        auto_scaling::describe(out, &global, &account, now);
    }
}

/// A change of the scaling of one direction of the table or an index.
struct TargetUpdate<'r> {
    /// The region whose reads are scaled; `None` for writes.
    region: Option<&'r str>,
    index: Option<&'r str>,
    settings: &'r ScalingUpdate,
}

impl TargetUpdate<'_> {
    fn disables(&self) -> bool {
        self.settings.auto_scaling_disabled == Some(true)
    }

    /// The new settings; `None` if scaling ends.
    fn scaling(&self) -> Option<Scaling> {
        let settings = self.settings;
        let policy = settings.policy.clone().unwrap_or_default();
        let tracking = policy.target_tracking.unwrap_or_default();
        (!self.disables()).then(|| Scaling {
            region: self.region.map(Into::into),
            index: self.index.map(Into::into),
            minimum: settings.minimum_units.unwrap_or_default(),
            maximum: settings.maximum_units.unwrap_or_default(),
            role_arn: settings.role_arn.as_ref().map(ToString::to_string),
            policy: ScalingPolicy {
                name: policy.policy_name.as_ref().map(ToString::to_string),
                target: tracking.target_value.unwrap_or_default(),
                scale_in_cooldown: tracking.scale_in_cooldown,
                scale_out_cooldown: tracking.scale_out_cooldown,
                disable_scale_in: tracking.disable_scale_in,
            },
        })
    }
}

/// All changes of a request.
fn updates(request: &UpdateReplicaAutoScaling) -> Vec<TargetUpdate<'_>> {
    fn of<'r>(region: Option<&'r str>, update: &'r IndexScalingUpdate) -> Option<TargetUpdate<'r>> {
        Some(TargetUpdate {
            region,
            index: Some(update.index_name.as_deref().unwrap_or_default()),
            settings: update.scaling.as_ref()?,
        })
    }
    let mut all = Vec::new();
    let table = |region, settings| TargetUpdate {
        region,
        index: None,
        settings,
    };
    all.extend(request.write.as_ref().map(|update| table(None, &update.kept)));
    let indexes = request.index_updates.iter().flat_map(|updates| &updates.kept);
    all.extend(indexes.filter_map(|update| of(None, update)));
    for replica in request.replica_updates.iter().flat_map(|updates| &updates.kept) {
        let region = Some(replica.region_name.as_deref().unwrap_or_default());
        all.extend(replica.read.as_ref().map(|settings| table(region, settings)));
        let indexes = replica.index_updates.iter().flatten();
        all.extend(indexes.filter_map(|update| of(region, update)));
    }
    all
}

fn failed(name: &str, why: &str) -> ApiError {
    ApiError::validation(format!(
        "Failed to update settings for global table with name: ‘{name}’{why}"
    ))
}

fn check_indexes(global: &GlobalTable, updates: &[TargetUpdate<'_>]) -> Result<(), ApiError> {
    let shape = global.table.shape();
    let is_there = |name: &str| shape.definition.globals.iter().any(|index| index.name == name);
    let mut missing: Vec<&str> = updates.iter().filter_map(|update| update.index).collect();
    missing.retain(|name| !is_there(name));
    if missing.is_empty() {
        return Ok(());
    }
    Err(ApiError::new(
        ErrorKind::ResourceNotFound,
        format!(
            "Failed to update settings for global table with name: ‘{}’ because the global secondary indexes with names: ‘[{}]’ do not exist.",
            global.table.name,
            missing.join(", ")
        ),
    ))
}

/// Rejects settings for on-demand tables, whose scaling can only be removed.
fn check_billing(global: &GlobalTable, updates: &[TargetUpdate<'_>]) -> Result<(), ApiError> {
    let shape = global.table.shape();
    let wanted = updates.iter().find(|update| !update.disables());
    let Some(update) = wanted.filter(|_| shape.definition.billing == BillingMode::PayPerRequest) else {
        return Ok(());
    };
    let direction = if update.region.is_some() { "Read" } else { "Write" };
    let regions = global
        .state
        .replicas
        .iter()
        .map(|replica| format!("'{}'", replica.region));
    // The quotation marks around the name are the service's; which parameters it names was not recorded.
    Err(ApiError::validation(format!(
        "Failed to update global table with name ‘{}‘. Replicas {} BillingMode is PayPerRequest. You must convert table's BillingMode to PROVISIONED to set parameters: 'Provisioned{direction}CapacityAutoScalingUpdate'.",
        global.table.name,
        regions.collect::<Vec<_>>().join(", ")
    )))
}

/// Checks that settings are complete, unless they end scaling.
fn check_complete(name: &str, updates: &[TargetUpdate<'_>]) -> Result<(), ApiError> {
    for update in updates.iter().filter(|update| !update.disables()) {
        let settings = update.settings;
        let missing: Vec<&str> = [
            ("'MaximumUnits'", settings.maximum_units.is_none()),
            ("'ScalingPolicyUpdate'", settings.policy.is_none()),
            ("'MinimumUnits'", settings.minimum_units.is_none()),
        ]
        .into_iter()
        .filter_map(|(name, missing)| missing.then_some(name))
        .collect();
        if !missing.is_empty() {
            let why = format!(
                ": Parameters {} are required unless auto scaling is being disabled.",
                missing.join(", ")
            );
            return Err(failed(name, &why));
        }
    }
    Ok(())
}
