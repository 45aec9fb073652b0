//! Settings of auto scaling, which are stored and returned. They have no effect, since scaling is another service's work.

use compact_str::CompactString;

use crate::value::Name;

/// The auto scaling of the read units of a replica, or of the write units of all replicas.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// The region whose reads are scaled; `None` for writes.
    pub region: Option<CompactString>,
    /// The index whose units are scaled; `None` for the table.
    pub index: Option<Name>,
    /// The minimum number of units.
    pub minimum: i64,
    /// The maximum number of units.
    pub maximum: i64,
    /// The role for scaling, if given.
    pub role_arn: Option<String>,
    pub policy: ScalingPolicy,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ScalingPolicy {
    /// Its name, if one was given.
    pub name: Option<String>,
    /// The target utilization of the units, in percent.
    pub target: f64,
    /// Seconds after which units may be lowered again.
    pub scale_in_cooldown: Option<i64>,
    /// Seconds after which units may be raised again.
    pub scale_out_cooldown: Option<i64>,
    /// Whether units are never lowered.
    pub disable_scale_in: Option<bool>,
}
