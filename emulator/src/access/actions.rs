//! The IAM actions of DynamoDB, and which condition keys requests for each carry (docs/behavior: 07 2, 07 3.1).

/// An action with the groups of condition keys it carries.
struct ActionKeys {
    name: &'static str,
    carries: u8,
}

const LEADING_KEYS: u8 = 1;
const ATTRIBUTES: u8 = 2;
const SELECT: u8 = 4;
const RETURN_VALUES: u8 = 8;
const CAPACITY: u8 = 16;
const ENCLOSING: u8 = 32;
const FULL_SCAN: u8 = 64;
const TAGS: u8 = 128;

const READ: u8 = LEADING_KEYS | ATTRIBUTES | SELECT | CAPACITY;
const WRITE: u8 = LEADING_KEYS | ATTRIBUTES | RETURN_VALUES | CAPACITY | ENCLOSING;
const STATEMENT: u8 = LEADING_KEYS | ATTRIBUTES | ENCLOSING;

macro_rules! actions {
    ($($name:ident $($carries:expr)?,)*) => {
        &[$(ActionKeys { name: stringify!($name), carries: 0 $(| $carries)? },)*]
    };
}

const ACTIONS: &[ActionKeys] = actions! {
    AssociateTableReplica,
    BatchGetItem READ,
    BatchWriteItem LEADING_KEYS | ATTRIBUTES | CAPACITY,
    CancelBulkOperation,
    ConditionCheckItem WRITE,
    CreateBackup,
    CreateGlobalTable,
    CreateGlobalTableWitness,
    CreateTable TAGS,
    CreateTableReplica,
    DeleteBackup,
    DeleteGlobalTableWitness,
    DeleteItem WRITE,
    DeleteResourcePolicy,
    DeleteTable,
    DeleteTableReplica,
    DescribeBackup,
    DescribeBulkOperation,
    DescribeContinuousBackups,
    DescribeContributorInsights,
    DescribeEndpoints,
    DescribeExport,
    DescribeGlobalTable,
    DescribeGlobalTableSettings,
    DescribeImport,
    DescribeKinesisStreamingDestination,
    DescribeLimits,
    DescribeReservedCapacity,
    DescribeReservedCapacityOfferings,
    DescribeStream,
    DescribeTable,
    DescribeTableReplicaAutoScaling,
    DescribeTimeToLive,
    DisableKinesisStreamingDestination,
    DisassociateTableReplica,
    EnableKinesisStreamingDestination,
    ExportTableToPointInTime,
    GetAbacStatus,
    GetItem READ | ENCLOSING,
    GetRecords,
    GetResourcePolicy,
    GetShardIterator,
    ImportTable,
    InjectError,
    ListBackups,
    ListBulkOperations,
    ListContributorInsights,
    ListExports,
    ListGlobalTables,
    ListImports,
    ListStreams,
    ListTables,
    ListTagsOfResource,
    PartiQLDelete STATEMENT | RETURN_VALUES,
    PartiQLInsert STATEMENT,
    PartiQLSelect STATEMENT | SELECT | FULL_SCAN,
    PartiQLUpdate STATEMENT | RETURN_VALUES,
    PurchaseReservedCapacityOfferings,
    PutItem WRITE,
    PutResourcePolicy,
    Query READ,
    ReadDataForReplication,
    ReplicateSettings,
    RestoreTableFromAwsBackup,
    RestoreTableFromBackup,
    RestoreTableToPointInTime,
    Scan ATTRIBUTES | SELECT | CAPACITY,
    SearchVectors,
    StartAwsBackupJob,
    StartBulkPutItems,
    TagResource TAGS,
    UntagResource TAGS,
    UpdateAbacStatus,
    UpdateContinuousBackups,
    UpdateContributorInsights,
    UpdateGlobalTable,
    UpdateGlobalTableSettings,
    UpdateGlobalTableVersion,
    UpdateItem WRITE,
    UpdateKinesisStreamingDestination,
    UpdateTable,
    UpdateTableReplicaAutoScaling,
    UpdateTimeToLive,
    WriteDataForReplication,
};

/// The condition keys of DynamoDB, without their prefix, and the group of each.
const KEYS: &[(&str, u8)] = &[
    ("Attributes", ATTRIBUTES),
    ("EnclosingOperation", ENCLOSING),
    ("FirstPartitionKeyValues", LEADING_KEYS),
    ("FisActionId", 0),
    ("FisTargetArns", 0),
    ("FourthPartitionKeyValues", LEADING_KEYS),
    ("FullTableScan", FULL_SCAN),
    ("LeadingKeys", LEADING_KEYS),
    ("ReturnConsumedCapacity", CAPACITY),
    ("ReturnValues", RETURN_VALUES),
    ("SecondPartitionKeyValues", LEADING_KEYS),
    ("Select", SELECT),
    ("ThirdPartitionKeyValues", LEADING_KEYS),
];

/// All actions, with their prefix.
pub fn actions() -> impl Iterator<Item = String> {
    ACTIONS.iter().map(|action| format!("dynamodb:{}", action.name))
}

/// The group of a condition key; `None` if DynamoDB has no key of this name.
fn group(key: &str) -> Option<u8> {
    let name = key.split_once(':')?.1;
    let found = KEYS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, group)| *group)
}

/// Whether a condition key is DynamoDB's by its prefix.
pub(super) fn is_own_key(key: &str) -> bool {
    key.get(..9)
        .is_some_and(|prefix| prefix.eq_ignore_ascii_case("dynamodb:"))
}

/// Whether DynamoDB has a condition key of this name.
pub(super) fn is_known_key(key: &str) -> bool {
    group(key).is_some()
}

/// Whether every request for an action has a value for a condition key of DynamoDB's.
pub(super) fn carries(action: &str, key: &str) -> bool {
    let name = action.split_once(':').map_or(action, |(_, name)| name);
    let found = ACTIONS.iter().find(|known| known.name == name);
    found.is_some_and(|action| group(key).is_some_and(|group| action.carries & group != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_actions() {
        for (action, key, expect) in [
            ("dynamodb:GetItem", "dynamodb:LeadingKeys", true),
            ("dynamodb:Scan", "dynamodb:LeadingKeys", false),
            ("dynamodb:Scan", "dynamodb:attributes", true),
            ("dynamodb:SearchVectors", "dynamodb:Attributes", false),
            ("dynamodb:PartiQLSelect", "dynamodb:FullTableScan", true),
            ("dynamodb:Scan", "dynamodb:FullTableScan", false),
        ] {
            assert_eq!(carries(action, key), expect, "{action} {key}");
        }
        assert!(is_own_key("DynamoDB:Select") && !is_own_key("aws:Select"));
        assert!(!is_known_key("dynamodb:LeadingKey"));
        assert!(ACTIONS.is_sorted_by_key(|action| action.name));
    }
}
