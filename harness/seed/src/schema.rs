//! The members of CreateTable and of template resources, as data: unknown members are refused with their line.

use serde_json::{Map, Number, Value as Json};

use crate::document::{Node, Value};
use crate::error::Problem;
use crate::json::number;

/// The type of a member, and what a value of it becomes.
#[derive(Clone, Copy)]
pub(crate) enum MemberType {
    Text,
    Integer,
    Flag,
    /// A JSON document, given as a string or as an object, and sent as a string.
    Document,
    /// A member that does not affect the table to create.
    Ignored,
    List(&'static MemberType),
    Object(&'static [(&'static str, MemberType)]),
}

const KEYS: MemberType = MemberType::List(&MemberType::Object(&[
    ("AttributeName", MemberType::Text),
    ("KeyType", MemberType::Text),
]));
const ATTRIBUTES: MemberType = MemberType::List(&MemberType::Object(&[
    ("AttributeName", MemberType::Text),
    ("AttributeType", MemberType::Text),
]));
const PROJECTION: MemberType = MemberType::Object(&[
    ("ProjectionType", MemberType::Text),
    ("NonKeyAttributes", MemberType::List(&MemberType::Text)),
]);
const THROUGHPUT: MemberType = MemberType::Object(&[
    ("ReadCapacityUnits", MemberType::Integer),
    ("WriteCapacityUnits", MemberType::Integer),
    ("LastDecreaseDateTime", MemberType::Ignored),
    ("LastIncreaseDateTime", MemberType::Ignored),
    ("NumberOfDecreasesToday", MemberType::Ignored),
]);
const ON_DEMAND: MemberType = MemberType::Object(&[
    ("MaxReadRequestUnits", MemberType::Integer),
    ("MaxWriteRequestUnits", MemberType::Integer),
]);
const WARM: MemberType = MemberType::Object(&[
    ("ReadUnitsPerSecond", MemberType::Integer),
    ("WriteUnitsPerSecond", MemberType::Integer),
    ("Status", MemberType::Ignored),
]);
const INSIGHTS: MemberType = MemberType::Object(&[("Enabled", MemberType::Flag), ("Mode", MemberType::Text)]);
const GLOBAL_INDEXES: MemberType = MemberType::List(&MemberType::Object(&[
    ("IndexName", MemberType::Text),
    ("KeySchema", KEYS),
    ("Projection", PROJECTION),
    ("ProvisionedThroughput", THROUGHPUT),
    ("OnDemandThroughput", ON_DEMAND),
    ("WarmThroughput", WARM),
    ("ContributorInsightsSpecification", INSIGHTS),
    ("Backfilling", MemberType::Ignored),
    ("IndexArn", MemberType::Ignored),
    ("IndexSizeBytes", MemberType::Ignored),
    ("IndexStatus", MemberType::Ignored),
    ("ItemCount", MemberType::Ignored),
]));
const LOCAL_INDEXES: MemberType = MemberType::List(&MemberType::Object(&[
    ("IndexName", MemberType::Text),
    ("KeySchema", KEYS),
    ("Projection", PROJECTION),
    ("IndexArn", MemberType::Ignored),
    ("IndexSizeBytes", MemberType::Ignored),
    ("ItemCount", MemberType::Ignored),
]));
const TAGS: MemberType = MemberType::List(&MemberType::Object(&[
    ("Key", MemberType::Text),
    ("Value", MemberType::Text),
]));
const STREAM: MemberType = MemberType::Object(&[
    ("StreamEnabled", MemberType::Flag),
    ("StreamViewType", MemberType::Text),
]);
const TIME_TO_LIVE: MemberType =
    MemberType::Object(&[("AttributeName", MemberType::Text), ("Enabled", MemberType::Flag)]);
const RECOVERY: MemberType = MemberType::Object(&[
    ("PointInTimeRecoveryEnabled", MemberType::Flag),
    ("RecoveryPeriodInDays", MemberType::Integer),
]);

const VECTOR_INDEXES: MemberType = MemberType::List(&MemberType::Object(&[
    ("IndexName", MemberType::Text),
    (
        "VectorAttribute",
        MemberType::Object(&[("AttributeName", MemberType::Text)]),
    ),
    (
        "SearchSchema",
        MemberType::List(&MemberType::Object(&[
            ("AttributeName", MemberType::Text),
            ("SearchSchemaElementType", MemberType::Text),
        ])),
    ),
    ("Projection", PROJECTION),
    ("Dimensions", MemberType::Integer),
    ("DistanceFunction", MemberType::Text),
    ("Backfilling", MemberType::Ignored),
    ("IndexArn", MemberType::Ignored),
    ("IndexSizeBytes", MemberType::Ignored),
    ("IndexStatus", MemberType::Ignored),
    ("ItemCount", MemberType::Ignored),
]));

/// The members of a table in CreateTable's form. Time to live and point-in-time recovery are in the forms of their own
/// operations.
pub(crate) const CREATE_TABLE: &[(&str, MemberType)] = &[
    ("AttributeDefinitions", ATTRIBUTES),
    ("BillingMode", MemberType::Text),
    ("DeletionProtectionEnabled", MemberType::Flag),
    ("GlobalSecondaryIndexes", GLOBAL_INDEXES),
    ("KeySchema", KEYS),
    ("LocalSecondaryIndexes", LOCAL_INDEXES),
    ("OnDemandThroughput", ON_DEMAND),
    ("PointInTimeRecoverySpecification", RECOVERY),
    ("ProvisionedThroughput", THROUGHPUT),
    ("ResourcePolicy", MemberType::Document),
    (
        "SSESpecification",
        MemberType::Object(&[
            ("Enabled", MemberType::Flag),
            ("SSEType", MemberType::Text),
            ("KMSMasterKeyId", MemberType::Text),
        ]),
    ),
    ("StreamSpecification", STREAM),
    ("TableClass", MemberType::Text),
    ("TableName", MemberType::Text),
    ("Tags", TAGS),
    ("TimeToLiveSpecification", TIME_TO_LIVE),
    ("VectorIndexes", VECTOR_INDEXES),
    ("WarmThroughput", WARM),
];

/// The members of a table in DescribeTable's answer.
pub(crate) const TABLE_DESCRIPTION: &[(&str, MemberType)] = &[
    ("ArchivalSummary", MemberType::Ignored),
    ("AttributeDefinitions", ATTRIBUTES),
    (
        "BillingModeSummary",
        MemberType::Object(&[
            ("BillingMode", MemberType::Text),
            ("LastUpdateToPayPerRequestDateTime", MemberType::Ignored),
        ]),
    ),
    ("CreationDateTime", MemberType::Ignored),
    ("DeletionProtectionEnabled", MemberType::Flag),
    ("DisassociationProtectionEnabled", MemberType::Ignored),
    ("GlobalSecondaryIndexes", GLOBAL_INDEXES),
    ("GlobalTableSettingsReplicationMode", MemberType::Ignored),
    ("GlobalTableVersion", MemberType::Ignored),
    ("GlobalTableWitnesses", MemberType::Ignored),
    ("ItemCount", MemberType::Ignored),
    ("KeySchema", KEYS),
    ("LatestStreamArn", MemberType::Ignored),
    ("LatestStreamLabel", MemberType::Ignored),
    ("LocalSecondaryIndexes", LOCAL_INDEXES),
    ("MultiRegionConsistency", MemberType::Ignored),
    ("OnDemandThroughput", ON_DEMAND),
    ("ProvisionedThroughput", THROUGHPUT),
    ("Replicas", MemberType::Ignored),
    ("RestoreSummary", MemberType::Ignored),
    ("SSEDescription", MemberType::Ignored),
    ("StreamSpecification", STREAM),
    ("TableArn", MemberType::Ignored),
    (
        "TableClassSummary",
        MemberType::Object(&[
            ("TableClass", MemberType::Text),
            ("LastUpdateDateTime", MemberType::Ignored),
        ]),
    ),
    ("TableId", MemberType::Ignored),
    ("TableName", MemberType::Text),
    ("TableSizeBytes", MemberType::Ignored),
    ("TableStatus", MemberType::Ignored),
    ("VectorIndexes", VECTOR_INDEXES),
    ("WarmThroughput", WARM),
];

/// The members of a table's definition beside `Table`, which is DescribeTable's: settings that other operations have.
pub(crate) const DEFINITION: &[(&str, MemberType)] = &[
    ("TimeToLiveSpecification", TIME_TO_LIVE),
    ("PointInTimeRecoverySpecification", RECOVERY),
    ("Tags", TAGS),
    (
        "ContributorInsights",
        MemberType::List(&MemberType::Object(&[
            ("IndexName", MemberType::Text),
            ("ContributorInsightsMode", MemberType::Text),
        ])),
    ),
];

/// The members of an index that has its key elsewhere.
pub(crate) const INDEX: &[(&str, MemberType)] = &[("IndexName", MemberType::Text), ("Projection", PROJECTION)];

/// The members of a replica's index that are read.
pub(crate) const REPLICA_INDEX: &[(&str, MemberType)] = &[
    ("IndexName", MemberType::Text),
    ("ContributorInsightsSpecification", INSIGHTS),
];

pub(crate) const CLOUDFORMATION_TABLE: &[(&str, MemberType)] = &[
    ("AttributeDefinitions", ATTRIBUTES),
    ("BillingMode", MemberType::Text),
    ("ContributorInsightsSpecification", INSIGHTS),
    ("DeletionProtectionEnabled", MemberType::Flag),
    ("GlobalSecondaryIndexes", GLOBAL_INDEXES),
    ("ImportSourceSpecification", MemberType::Ignored),
    ("KeySchema", KEYS),
    (
        "KinesisStreamSpecification",
        MemberType::Object(&[
            ("StreamArn", MemberType::Text),
            ("ApproximateCreationDateTimePrecision", MemberType::Text),
        ]),
    ),
    ("LocalSecondaryIndexes", LOCAL_INDEXES),
    ("OnDemandThroughput", ON_DEMAND),
    ("PointInTimeRecoverySpecification", RECOVERY),
    ("ProvisionedThroughput", THROUGHPUT),
    (
        "ResourcePolicy",
        MemberType::Object(&[("PolicyDocument", MemberType::Document)]),
    ),
    (
        "SSESpecification",
        MemberType::Object(&[
            ("SSEEnabled", MemberType::Flag),
            ("SSEType", MemberType::Text),
            ("KMSMasterKeyId", MemberType::Text),
        ]),
    ),
    (
        "StreamSpecification",
        MemberType::Object(&[
            ("StreamViewType", MemberType::Text),
            (
                "ResourcePolicy",
                MemberType::Object(&[("PolicyDocument", MemberType::Document)]),
            ),
        ]),
    ),
    ("TableClass", MemberType::Text),
    ("TableName", MemberType::Text),
    ("Tags", TAGS),
    ("TimeToLiveSpecification", TIME_TO_LIVE),
    ("WarmThroughput", WARM),
];

/// The members of an object as JSON, each of its type; `what` names the object in messages.
pub(crate) fn members(
    node: &Node,
    known: &'static [(&'static str, MemberType)],
    what: &str,
) -> Result<Map<String, Json>, Problem> {
    let mut read = Map::new();
    for (name, member) in node.object(what)? {
        let Some((_, kind)) = known.iter().find(|(known, _)| known == name) else {
            return Err(member.problem(format!("`{name}` is not a member of {what}")));
        };
        if let Some(json) = value(member, *kind, name)? {
            read.insert(name.clone(), json);
        }
    }
    Ok(read)
}

/// A value as JSON; nothing if it is null or empty.
fn value(node: &Node, kind: MemberType, what: &str) -> Result<Option<Json>, Problem> {
    if node.value == Value::Null {
        return Ok(None);
    }
    Ok(Some(match kind {
        MemberType::Ignored => return Ok(None),
        MemberType::Text => Json::String(text(node, what)?),
        MemberType::Integer => Json::Number(Number::from(node.integer(what)?)),
        MemberType::Flag => Json::Bool(node.flag(what)?),
        MemberType::Document => match &node.value {
            Value::String(text) => Json::String(text.clone()),
            _ => Json::String(json(node)?.to_string()),
        },
        MemberType::List(of) => {
            let elements = node.list(what)?.iter();
            let read: Result<Vec<_>, Problem> = elements.map(|element| value(element, *of, what)).collect();
            Json::Array(read?.into_iter().flatten().collect())
        }
        MemberType::Object(known) => Json::Object(members(node, known, what)?),
    }))
}

/// A string; numbers and booleans stand for their texts, as a template's tags do.
fn text(node: &Node, what: &str) -> Result<String, Problem> {
    match &node.value {
        Value::Number(text) => Ok(text.clone()),
        Value::Bool(flag) => Ok(flag.to_string()),
        _ => node.text(what).map(str::to_owned),
    }
}

pub(crate) fn json(node: &Node) -> Result<Json, Problem> {
    Ok(match &node.value {
        Value::Null => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Number(digits) => match number(digits) {
            Some(number) => Json::Number(
                number
                    .parse()
                    .map_err(|_| node.problem(format!("`{digits}` is not a number")))?,
            ),
            None => Json::String(digits.clone()),
        },
        Value::String(text) => Json::String(text.clone()),
        Value::Array(elements) => Json::Array(elements.iter().map(json).collect::<Result<_, _>>()?),
        Value::Object(members) => Json::Object(
            members
                .iter()
                .map(|(name, member)| Ok((name.clone(), json(member)?)))
                .collect::<Result<_, Problem>>()?,
        ),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::yaml;

    /// The members of a table in YAML, in CreateTable's form.
    fn read(text: &str) -> Result<Json, String> {
        let members = members(&yaml(text).unwrap(), CREATE_TABLE, "a table");
        members.map(Json::Object).map_err(|problem| problem.message)
    }

    /// Values are converted to the types of their members.
    #[test]
    fn members_have_types() {
        let policy = r#"{"a":[1,"x",true,null,1.5]}"#;
        for (text, expected) in [
            ("TableName: ~", json!({})),
            ("TableName: T", json!({"TableName": "T"})),
            ("TableName: 007", json!({"TableName": "007"})),
            (
                "Tags: [{Key: a, Value: true}, {Key: 1.50, Value: False}]",
                json!({"Tags": [{"Key": "a", "Value": "true"}, {"Key": "1.50", "Value": "false"}]}),
            ),
            ("Tags: [~, {Key: a, Value: ~}]", json!({"Tags": [{"Key": "a"}]})),
            ("Tags: []", json!({"Tags": []})),
            (
                "DeletionProtectionEnabled: 'false'",
                json!({"DeletionProtectionEnabled": false}),
            ),
            (
                "StreamSpecification: {StreamEnabled: true}",
                json!({"StreamSpecification": {"StreamEnabled": true}}),
            ),
            (
                "WarmThroughput: {ReadUnitsPerSecond: '12', Status: ACTIVE}",
                json!({"WarmThroughput": {"ReadUnitsPerSecond": 12}}),
            ),
            (
                "ResourcePolicy: {a: [1, x, true, ~, 1.5]}",
                json!({"ResourcePolicy": policy}),
            ),
            (
                &format!("ResourcePolicy: '{policy}'"),
                json!({"ResourcePolicy": policy}),
            ),
            (
                "ResourcePolicy: {Account: 012}",
                json!({"ResourcePolicy": r#"{"Account":"012"}"#}),
            ),
        ] {
            assert_eq!(read(text), Ok(expected), "{text}");
        }
        for (text, message) in [
            ("TableName: []", "TableName is a list, not a string"),
            ("Tags: {}", "Tags is an object, not a list"),
            ("Tags: [a]", "Tags is a string, not an object"),
            ("Tags: [{Name: a}]", "`Name` is not a member of Tags"),
            (
                "DeletionProtectionEnabled: 1",
                "DeletionProtectionEnabled is a number, not a boolean",
            ),
            (
                "OnDemandThroughput: {MaxReadRequestUnits: 1.5}",
                "MaxReadRequestUnits is `1.5`, not a whole number",
            ),
            ("[]", "a table is a list, not an object"),
        ] {
            assert_eq!(read(text), Err(message.to_owned()), "{text}");
        }
    }
}
