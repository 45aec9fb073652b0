//! Shared by the operations on the auto scaling of replicas (docs/behavior: 04 12.6, 08 3.1 and 4).

use std::sync::Arc;

use crate::clock::Moment;
use crate::context::Context;
use crate::error::{ApiError, ErrorKind};
use crate::operation::tables::description;
use crate::plan;
use crate::storage::{GroupState, Replica, Scaling, Table};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// The error for a table that does not exist, or has no replica.
pub fn not_global(name: &str) -> ApiError {
    ApiError::new(
        ErrorKind::ResourceNotFound,
        format!("Global table with name: '{name}' does not exist."),
    )
}

/// A global table of the caller's region.
pub struct GlobalTable {
    /// The replica in the caller's region.
    pub table: Arc<Table>,
    pub state: Arc<GroupState>,
}

/// Finds the global table that a name or an ARN of the caller's region names.
pub fn find(context: &Context<'_>, name_or_arn: &str) -> Result<GlobalTable, ApiError> {
    let missing = || not_global(plan::plain_name(name_or_arn));
    let table = match plan::table_in_any_state(context, name_or_arn) {
        Err(error) if error.kind() == ErrorKind::ResourceNotFound => return Err(missing()),
        found => found?.table,
    };
    let state = table.global_state(context.now).ok_or_else(missing)?;
    Ok(GlobalTable { table, state })
}

/// Writes a response that describes the auto scaling of all replicas, including that of the caller's region.
pub fn describe(out: &mut Writer, global: &GlobalTable, account: &str, now: Moment) {
    let GlobalTable { table, state } = global;
    let mut answer = Object::open(out);
    let mut object = answer.object("TableAutoScalingDescription");
    object.string("TableName", &table.name);
    object.string("TableStatus", description::status_at(table, now));
    let mut list = object.list("Replicas");
    let listed = |replica: &&Replica| replica.is_there(now) && now >= replica.shows_at;
    for replica in state.replicas.iter().filter(listed) {
        let mut element = list.object();
        element.string("RegionName", &replica.region);
        element.string("ReplicaStatus", description::replica_status(replica, now));
        for (region, index, member) in [
            (
                Some(&*replica.region),
                None,
                "ReplicaProvisionedReadCapacityAutoScalingSettings",
            ),
            (None, None, "ReplicaProvisionedWriteCapacityAutoScalingSettings"),
        ] {
            let settings = ScalingSettings { table, region, index };
            settings.write(&mut element, member, state.scaling_of(region, index), account);
        }
        indexes(&mut element, global, replica, account);
        element.close();
    }
    list.close();
    object.close();
    answer.close();
}

fn indexes(element: &mut Object<'_>, global: &GlobalTable, replica: &Replica, account: &str) {
    let GlobalTable { table, state } = global;
    let shape = table.shape();
    if shape.definition.globals.is_empty() {
        return;
    }
    let mut list = element.list("GlobalSecondaryIndexes");
    for index in &shape.definition.globals {
        let mut object = list.object();
        object.string("IndexName", &index.name);
        object.string("IndexStatus", "ACTIVE");
        for (region, member) in [
            (Some(&*replica.region), "ProvisionedReadCapacityAutoScalingSettings"),
            (None, "ProvisionedWriteCapacityAutoScalingSettings"),
        ] {
            let index = Some(index.name.as_str());
            let settings = ScalingSettings { table, region, index };
            settings.write(&mut object, member, state.scaling_of(region, index), account);
        }
        object.close();
    }
    list.close();
}

/// The settings of one direction of a table or index.
struct ScalingSettings<'s> {
    table: &'s Table,
    region: Option<&'s str>,
    index: Option<&'s str>,
}

impl ScalingSettings<'_> {
    fn write(&self, element: &mut Object<'_>, member: &'static str, scaling: Option<&Scaling>, account: &str) {
        let mut settings = element.object(member);
        let Some(scaling) = scaling else {
            settings.boolean("AutoScalingDisabled", true);
            settings.list("ScalingPolicies").close();
            settings.close();
            return;
        };
        settings.integer("MinimumUnits", scaling.minimum);
        settings.integer("MaximumUnits", scaling.maximum);
        settings.boolean("AutoScalingDisabled", false);
        match &scaling.role_arn {
            Some(role) => settings.string("AutoScalingRoleArn", role),
            None => settings.string("AutoScalingRoleArn", &service_role(account)),
        }
        let mut list = settings.list("ScalingPolicies");
        let mut policy = list.object();
        match &scaling.policy.name {
            Some(name) => policy.string("PolicyName", name),
            None => policy.string("PolicyName", &self.policy_name()),
        }
        let mut tracking = policy.object("TargetTrackingScalingPolicyConfiguration");
        if let Some(disable) = scaling.policy.disable_scale_in {
            tracking.boolean("DisableScaleIn", disable);
        }
        for (name, cooldown) in [
            ("ScaleInCooldown", scaling.policy.scale_in_cooldown),
            ("ScaleOutCooldown", scaling.policy.scale_out_cooldown),
        ] {
            if let Some(seconds) = cooldown {
                tracking.integer(name, seconds);
            }
        }
        tracking.double("TargetValue", scaling.policy.target);
        tracking.close();
        policy.close();
        list.close();
        settings.close();
    }

    /// The name of a policy without a given one. The service's is not recorded.
    fn policy_name(&self) -> String {
        let direction = if self.region.is_some() { "Read" } else { "Write" };
        let table = &self.table.name;
        match self.index {
            Some(index) => format!("DynamoDB{direction}CapacityUtilization:table/{table}/index/{index}"),
            None => format!("DynamoDB{direction}CapacityUtilization:table/{table}"),
        }
    }
}

/// The role of Application Auto Scaling.
fn service_role(account: &str) -> String {
    format!(
        "arn:aws:iam::{account}:role/aws-service-role/dynamodb.application-autoscaling.amazonaws.com/AWSServiceRoleForApplicationAutoScaling_DynamoDBTable"
    )
}
