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

/// `GlobalSecondaryIndexUpdates` of UpdateTableReplicaAutoScaling.
pub(super) static INDEXES: &Kind = &Kind::List(
    &Kind::Structure(&Structure {
        class: "GlobalSecondaryIndexAutoScalingUpdate",
        members: &[
            Member("IndexName", false, &Kind::Name),
            Member("ProvisionedWriteCapacityAutoScalingUpdate", false, &AUTO_SCALING),
        ],
    }),
    1,
    usize::MAX,
);

/// `ReplicaUpdates` of UpdateTableReplicaAutoScaling.
pub(super) static REPLICAS: &Kind = &Kind::List(
    &Kind::Structure(&Structure {
        class: "ReplicaAutoScalingUpdate",
        members: &[
            Member("RegionName", true, &Kind::Text),
            Member("ReplicaGlobalSecondaryIndexUpdates", false, &REPLICA_INDEXES),
            Member("ReplicaProvisionedReadCapacityAutoScalingUpdate", false, &AUTO_SCALING),
        ],
    }),
    1,
    usize::MAX,
);

static REPLICA_INDEXES: Kind = Kind::List(
    &Kind::Structure(&Structure {
        class: "ReplicaGlobalSecondaryIndexAutoScalingUpdate",
        members: &[
            Member("IndexName", false, &Kind::Name),
            Member("ProvisionedReadCapacityAutoScalingUpdate", false, &AUTO_SCALING),
        ],
    }),
    0,
    usize::MAX,
);

/// `ReplicaUpdates` of UpdateTable.
pub(super) static REPLICATION: &Kind = &Kind::List(
    &Kind::Structure(&Structure {
        class: "ReplicationGroupUpdate",
        members: &[
            Member("Create", false, &CREATE_REPLICA),
            Member("Update", false, &UPDATE_REPLICA),
            Member("Delete", false, &DELETE_REPLICA),
            Member("Disassociate", false, &DISASSOCIATE_REPLICA),
        ],
    }),
    1,
    usize::MAX,
);

/// What a replica has otherwise than its table.
const REPLICA_MEMBERS: &[Member] = &[
    Member("RegionName", true, &Kind::Text),
    Member("KMSMasterKeyId", false, &Kind::Text),
    Member("ProvisionedThroughputOverride", false, &PROVISIONED_OVERRIDE),
    Member("OnDemandThroughputOverride", false, &ON_DEMAND_OVERRIDE),
    Member("GlobalSecondaryIndexes", false, &INDEX_OVERRIDES),
    Member("TableClassOverride", false, &CLASSES),
];

static CREATE_REPLICA: Kind = Kind::Structure(&Structure {
    class: "CreateReplicationGroupMemberAction",
    members: REPLICA_MEMBERS,
});

static UPDATE_REPLICA: Kind = Kind::Structure(&Structure {
    class: "UpdateReplicationGroupMemberAction",
    members: REPLICA_MEMBERS,
});

static DELETE_REPLICA: Kind = Kind::Structure(&Structure {
    class: "DeleteReplicationGroupMemberAction",
    members: &[Member("RegionName", true, &Kind::Text)],
});

static DISASSOCIATE_REPLICA: Kind = Kind::Structure(&Structure {
    class: "DisassociateReplicationGroupMemberAction",
    members: &[
        Member("RegionName", true, &Kind::Text),
        Member("DisassociationMode", true, &Kind::Word(&["WAIT_FOR_REPLICATION"])),
    ],
});

static PROVISIONED_OVERRIDE: Kind = Kind::Structure(&Structure {
    class: "ProvisionedThroughputOverride",
    members: &[Member("ReadCapacityUnits", false, &UNITS)],
});

static ON_DEMAND_OVERRIDE: Kind = Kind::Structure(&Structure {
    class: "OnDemandThroughputOverride",
    members: &[Member("MaxReadRequestUnits", false, &Kind::Long(i64::MIN))],
});

static INDEX_OVERRIDES: Kind = Kind::List(
    &Kind::Structure(&Structure {
        class: "ReplicaGlobalSecondaryIndex",
        members: &[
            Member("IndexName", true, &Kind::Name),
            Member("ProvisionedThroughputOverride", false, &PROVISIONED_OVERRIDE),
            Member("OnDemandThroughputOverride", false, &ON_DEMAND_OVERRIDE),
        ],
    }),
    1,
    usize::MAX,
);

/// `GlobalTableWitnessUpdates` of UpdateTable, which itself counts them.
pub(super) static WITNESSES: &Kind = &Kind::List(
    &Kind::Structure(&Structure {
        class: "GlobalTableWitnessGroupUpdate",
        members: &[
            Member("Create", false, &CREATE_WITNESS),
            Member("Delete", false, &DELETE_WITNESS),
        ],
    }),
    0,
    usize::MAX,
);

static CREATE_WITNESS: Kind = Kind::Structure(&Structure {
    class: "CreateGlobalTableWitnessGroupMemberAction",
    members: &[Member("RegionName", true, &Kind::Text)],
});

static DELETE_WITNESS: Kind = Kind::Structure(&Structure {
    class: "DeleteGlobalTableWitnessGroupMemberAction",
    members: &[Member("RegionName", true, &Kind::Text)],
});
