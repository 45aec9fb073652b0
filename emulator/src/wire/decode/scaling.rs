//! Decodes the settings of auto scaling and of replicas, and validates them against the model.

use super::validated::{Member, MemberStructure, MemberType};

const UNITS: MemberType = MemberType::Long(1);
const CLASSES: MemberType = MemberType::Word(&["STANDARD", "STANDARD_INFREQUENT_ACCESS"]);

/// The characters of the model's `[\u0020-\uD7FF\uE000-\uFFFD\uD800\uDC00-\uDBFF\uDFFF\r\n\t]*`.
fn is_text(each: char) -> bool {
    matches!(each, '\u{20}'..='\u{fffd}' | '\u{10000}'.. | '\r' | '\n' | '\t')
}

/// The characters of the model's `\p{Print}+`.
fn is_printed(each: char) -> bool {
    matches!(each, '\u{20}'..='\u{7e}')
}

static AUTO_SCALING: MemberType = MemberType::Structure(&MemberStructure {
    class: "AutoScalingSettingsUpdate",
    members: &[
        Member("MinimumUnits", false, &UNITS),
        Member("MaximumUnits", false, &UNITS),
        Member("AutoScalingDisabled", false, &MemberType::Flag),
        Member(
            "AutoScalingRoleArn",
            false,
            &MemberType::Pattern(
                1,
                1600,
                "[\\u0020-\\uD7FF\\uE000-\\uFFFD\\uD800\\uDC00-\\uDBFF\\uDFFF\\r\\n\\t]*",
                is_text,
            ),
        ),
        Member("ScalingPolicyUpdate", false, &POLICY),
    ],
});

static POLICY: MemberType = MemberType::Structure(&MemberStructure {
    class: "AutoScalingPolicyUpdate",
    members: &[
        Member(
            "PolicyName",
            false,
            &MemberType::Pattern(1, 256, "\\p{Print}+", is_printed),
        ),
        Member("TargetTrackingScalingPolicyConfiguration", true, &TARGET),
    ],
});

static TARGET: MemberType = MemberType::Structure(&MemberStructure {
    class: "AutoScalingTargetTrackingScalingPolicyConfigurationUpdate",
    members: &[
        Member("DisableScaleIn", false, &MemberType::Flag),
        Member("ScaleInCooldown", false, &MemberType::Integer),
        Member("ScaleOutCooldown", false, &MemberType::Integer),
        Member("TargetValue", true, &MemberType::Double),
    ],
});

/// A table's settings for writes.
pub(super) static WRITES: &MemberType = &AUTO_SCALING;

pub(super) static INDEX_SETTINGS: &MemberType = &MemberType::List(
    &MemberType::Structure(&MemberStructure {
        class: "GlobalTableGlobalSecondaryIndexSettingsUpdate",
        members: &[
            Member("IndexName", true, &MemberType::Name),
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

pub(super) static REPLICA_SETTINGS: &MemberType = &MemberType::List(
    &MemberType::Structure(&MemberStructure {
        class: "ReplicaSettingsUpdate",
        members: &[
            Member("RegionName", true, &MemberType::Text),
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

static REPLICA_INDEX_SETTINGS: MemberType = MemberType::List(
    &MemberType::Structure(&MemberStructure {
        class: "ReplicaGlobalSecondaryIndexSettingsUpdate",
        members: &[
            Member("IndexName", true, &MemberType::Name),
            Member("ProvisionedReadCapacityUnits", false, &UNITS),
            Member("ProvisionedReadCapacityAutoScalingSettingsUpdate", false, &AUTO_SCALING),
        ],
    }),
    1,
    20,
);

pub(super) static INDEXES: &MemberType = &MemberType::List(
    &MemberType::Structure(&MemberStructure {
        class: "GlobalSecondaryIndexAutoScalingUpdate",
        members: &[
            Member("IndexName", false, &MemberType::Name),
            Member("ProvisionedWriteCapacityAutoScalingUpdate", false, &AUTO_SCALING),
        ],
    }),
    1,
    usize::MAX,
);

pub(super) static REPLICAS: &MemberType = &MemberType::List(
    &MemberType::Structure(&MemberStructure {
        class: "ReplicaAutoScalingUpdate",
        members: &[
            Member("RegionName", true, &MemberType::Text),
            Member("ReplicaGlobalSecondaryIndexUpdates", false, &REPLICA_INDEXES),
            Member("ReplicaProvisionedReadCapacityAutoScalingUpdate", false, &AUTO_SCALING),
        ],
    }),
    1,
    usize::MAX,
);

static REPLICA_INDEXES: MemberType = MemberType::List(
    &MemberType::Structure(&MemberStructure {
        class: "ReplicaGlobalSecondaryIndexAutoScalingUpdate",
        members: &[
            Member("IndexName", false, &MemberType::Name),
            Member("ProvisionedReadCapacityAutoScalingUpdate", false, &AUTO_SCALING),
        ],
    }),
    0,
    usize::MAX,
);

pub(super) static REPLICATION: &MemberType = &MemberType::List(
    &MemberType::Structure(&MemberStructure {
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

/// The settings of a replica that differ from its table's.
const REPLICA_MEMBERS: &[Member] = &[
    Member("RegionName", true, &MemberType::Text),
    Member("KMSMasterKeyId", false, &MemberType::Text),
    Member("ProvisionedThroughputOverride", false, &PROVISIONED_OVERRIDE),
    Member("OnDemandThroughputOverride", false, &ON_DEMAND_OVERRIDE),
    Member("GlobalSecondaryIndexes", false, &INDEX_OVERRIDES),
    Member("TableClassOverride", false, &CLASSES),
];

static CREATE_REPLICA: MemberType = MemberType::Structure(&MemberStructure {
    class: "CreateReplicationGroupMemberAction",
    members: REPLICA_MEMBERS,
});

static UPDATE_REPLICA: MemberType = MemberType::Structure(&MemberStructure {
    class: "UpdateReplicationGroupMemberAction",
    members: REPLICA_MEMBERS,
});

static DELETE_REPLICA: MemberType = MemberType::Structure(&MemberStructure {
    class: "DeleteReplicationGroupMemberAction",
    members: &[Member("RegionName", true, &MemberType::Text)],
});

static DISASSOCIATE_REPLICA: MemberType = MemberType::Structure(&MemberStructure {
    class: "DisassociateReplicationGroupMemberAction",
    members: &[
        Member("RegionName", true, &MemberType::Text),
        Member("DisassociationMode", true, &MemberType::Word(&["WAIT_FOR_REPLICATION"])),
    ],
});

static PROVISIONED_OVERRIDE: MemberType = MemberType::Structure(&MemberStructure {
    class: "ProvisionedThroughputOverride",
    members: &[Member("ReadCapacityUnits", false, &UNITS)],
});

static ON_DEMAND_OVERRIDE: MemberType = MemberType::Structure(&MemberStructure {
    class: "OnDemandThroughputOverride",
    members: &[Member("MaxReadRequestUnits", false, &MemberType::Long(i64::MIN))],
});

static INDEX_OVERRIDES: MemberType = MemberType::List(
    &MemberType::Structure(&MemberStructure {
        class: "ReplicaGlobalSecondaryIndex",
        members: &[
            Member("IndexName", true, &MemberType::Name),
            Member("ProvisionedThroughputOverride", false, &PROVISIONED_OVERRIDE),
            Member("OnDemandThroughputOverride", false, &ON_DEMAND_OVERRIDE),
        ],
    }),
    1,
    usize::MAX,
);

/// `GlobalTableWitnessUpdates` of UpdateTable, which itself counts them.
pub(super) static WITNESSES: &MemberType = &MemberType::List(
    &MemberType::Structure(&MemberStructure {
        class: "GlobalTableWitnessGroupUpdate",
        members: &[
            Member("Create", false, &CREATE_WITNESS),
            Member("Delete", false, &DELETE_WITNESS),
        ],
    }),
    0,
    usize::MAX,
);

static CREATE_WITNESS: MemberType = MemberType::Structure(&MemberStructure {
    class: "CreateGlobalTableWitnessGroupMemberAction",
    members: &[Member("RegionName", true, &MemberType::Text)],
});

static DELETE_WITNESS: MemberType = MemberType::Structure(&MemberStructure {
    class: "DeleteGlobalTableWitnessGroupMemberAction",
    members: &[Member("RegionName", true, &MemberType::Text)],
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_texts() {
        for (each, text, printed) in [
            ('a', true, true),
            (' ', true, true),
            ('~', true, true),
            ('\u{7f}', true, false),
            ('\u{1f}', false, false),
            ('\t', true, false),
            ('\n', true, false),
            ('\r', true, false),
            ('\u{b}', false, false),
            ('é', true, false),
            ('\u{d7ff}', true, false),
            ('\u{fffd}', true, false),
            ('\u{fffe}', false, false),
            ('\u{ffff}', false, false),
            ('\u{10000}', true, false),
            ('\u{10ffff}', true, false),
        ] {
            assert_eq!((is_text(each), is_printed(each)), (text, printed), "{each:?}");
        }
    }
}
