//! The settings of auto scaling and of replicas. Application Auto Scaling is another service, and no table here has replicas:
//! what is asked for is checked as the model has it, and then refused.

use super::judged::{Kind, Member, Structure};

const UNITS: Kind = Kind::Long(1);
const CLASSES: Kind = Kind::Word(&["STANDARD", "STANDARD_INFREQUENT_ACCESS"]);

/// What the model's `[\u0020-\uD7FF\uE000-\uFFFD\uD800\uDC00-\uDBFF\uDFFF\r\n\t]*` allows.
fn is_text(each: char) -> bool {
    matches!(each, '\u{20}'..='\u{fffd}' | '\u{10000}'.. | '\r' | '\n' | '\t')
}

/// What the model's `\p{Print}+` allows.
fn is_printed(each: char) -> bool {
    matches!(each, '\u{20}'..='\u{7e}')
}

static AUTO_SCALING: Kind = Kind::Structure(&Structure {
    class: "AutoScalingSettingsUpdate",
    members: &[
        Member("MinimumUnits", false, &UNITS),
        Member("MaximumUnits", false, &UNITS),
        Member("AutoScalingDisabled", false, &Kind::Flag),
        Member(
            "AutoScalingRoleArn",
            false,
            &Kind::Pattern(
                1,
                1600,
                "[\\u0020-\\uD7FF\\uE000-\\uFFFD\\uD800\\uDC00-\\uDBFF\\uDFFF\\r\\n\\t]*",
                is_text,
            ),
        ),
        Member("ScalingPolicyUpdate", false, &POLICY),
    ],
});

static POLICY: Kind = Kind::Structure(&Structure {
    class: "AutoScalingPolicyUpdate",
    members: &[
        Member("PolicyName", false, &Kind::Pattern(1, 256, "\\p{Print}+", is_printed)),
        Member("TargetTrackingScalingPolicyConfiguration", true, &TARGET),
    ],
});

static TARGET: Kind = Kind::Structure(&Structure {
    class: "AutoScalingTargetTrackingScalingPolicyConfigurationUpdate",
    members: &[
        Member("DisableScaleIn", false, &Kind::Flag),
        Member("ScaleInCooldown", false, &Kind::Integer),
        Member("ScaleOutCooldown", false, &Kind::Integer),
        Member("TargetValue", true, &Kind::Double),
    ],
});

/// A table's settings for writes.
pub(super) static WRITES: &Kind = &AUTO_SCALING;

/// `GlobalTableGlobalSecondaryIndexSettingsUpdate`.
pub(super) static INDEX_SETTINGS: &Kind = &Kind::List(
    &Kind::Structure(&Structure {
        class: "GlobalTableGlobalSecondaryIndexSettingsUpdate",
        members: &[
            Member("IndexName", true, &Kind::Name),
            Member("ProvisionedWriteCapacityUnits", false, &UNITS),
            Member(
                "ProvisionedWriteCapacityAutoScalingSettingsUpdate",
                false,
                &AUTO_SCALING,
            ),
        ],
    }),
    1,
    20,
);

/// `ReplicaSettingsUpdate`.
pub(super) static REPLICA_SETTINGS: &Kind = &Kind::List(
    &Kind::Structure(&Structure {
        class: "ReplicaSettingsUpdate",
        members: &[
            Member("RegionName", true, &Kind::Text),
            Member("ReplicaProvisionedReadCapacityUnits", false, &UNITS),
            Member(
                "ReplicaProvisionedReadCapacityAutoScalingSettingsUpdate",
                false,
                &AUTO_SCALING,
            ),
            Member(
                "ReplicaGlobalSecondaryIndexSettingsUpdate",
                false,
                &REPLICA_INDEX_SETTINGS,
            ),
            Member("ReplicaTableClass", false, &CLASSES),
        ],
    }),
    1,
    50,
);

static REPLICA_INDEX_SETTINGS: Kind = Kind::List(
    &Kind::Structure(&Structure {
        class: "ReplicaGlobalSecondaryIndexSettingsUpdate",
        members: &[
            Member("IndexName", true, &Kind::Name),
            Member("ProvisionedReadCapacityUnits", false, &UNITS),
            Member("ProvisionedReadCapacityAutoScalingSettingsUpdate", false, &AUTO_SCALING),
        ],
    }),
    1,
    20,
);
