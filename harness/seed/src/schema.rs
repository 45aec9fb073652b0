//! The members of CreateTable and of template resources, as data: unknown members are refused with their line.

use serde_json::{Map, Number, Value as Json};

use crate::document::{Node, Value};
use crate::error::Problem;

/// The shape of a value.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    Text,
    Integer,
    Flag,
    /// A JSON document, given as a string or as an object, and sent as a string.
    Document,
    /// A member that does not affect the table to create.
    Ignored,
    List(&'static Shape),
    Object(&'static [(&'static str, Shape)]),
}

const KEYS: Shape = Shape::List(&Shape::Object(&[
    ("AttributeName", Shape::Text),
    ("KeyType", Shape::Text),
]));
const ATTRIBUTES: Shape = Shape::List(&Shape::Object(&[
    ("AttributeName", Shape::Text),
    ("AttributeType", Shape::Text),
]));
const PROJECTION: Shape = Shape::Object(&[
    ("ProjectionType", Shape::Text),
    ("NonKeyAttributes", Shape::List(&Shape::Text)),
]);
const THROUGHPUT: Shape = Shape::Object(&[
    ("ReadCapacityUnits", Shape::Integer),
    ("WriteCapacityUnits", Shape::Integer),
    ("LastDecreaseDateTime", Shape::Ignored),
    ("LastIncreaseDateTime", Shape::Ignored),
    ("NumberOfDecreasesToday", Shape::Ignored),
]);
const ON_DEMAND: Shape = Shape::Object(&[
    ("MaxReadRequestUnits", Shape::Integer),
    ("MaxWriteRequestUnits", Shape::Integer),
]);
const WARM: Shape = Shape::Object(&[
    ("ReadUnitsPerSecond", Shape::Integer),
    ("WriteUnitsPerSecond", Shape::Integer),
    ("Status", Shape::Ignored),
]);
const INSIGHTS: Shape = Shape::Object(&[("Enabled", Shape::Flag), ("Mode", Shape::Text)]);
const GLOBAL_INDEXES: Shape = Shape::List(&Shape::Object(&[
    ("IndexName", Shape::Text),
    ("KeySchema", KEYS),
    ("Projection", PROJECTION),
    ("ProvisionedThroughput", THROUGHPUT),
    ("OnDemandThroughput", ON_DEMAND),
    ("WarmThroughput", WARM),
    ("ContributorInsightsSpecification", INSIGHTS),
    ("Backfilling", Shape::Ignored),
    ("IndexArn", Shape::Ignored),
    ("IndexSizeBytes", Shape::Ignored),
    ("IndexStatus", Shape::Ignored),
    ("ItemCount", Shape::Ignored),
]));
const LOCAL_INDEXES: Shape = Shape::List(&Shape::Object(&[
    ("IndexName", Shape::Text),
    ("KeySchema", KEYS),
    ("Projection", PROJECTION),
    ("IndexArn", Shape::Ignored),
    ("IndexSizeBytes", Shape::Ignored),
    ("ItemCount", Shape::Ignored),
]));
const TAGS: Shape = Shape::List(&Shape::Object(&[("Key", Shape::Text), ("Value", Shape::Text)]));
const STREAM: Shape = Shape::Object(&[("StreamEnabled", Shape::Flag), ("StreamViewType", Shape::Text)]);
const TIME_TO_LIVE: Shape = Shape::Object(&[("AttributeName", Shape::Text), ("Enabled", Shape::Flag)]);
const RECOVERY: Shape = Shape::Object(&[
    ("PointInTimeRecoveryEnabled", Shape::Flag),
    ("RecoveryPeriodInDays", Shape::Integer),
]);

const VECTOR_INDEXES: Shape = Shape::List(&Shape::Object(&[
    ("IndexName", Shape::Text),
    ("VectorAttribute", Shape::Object(&[("AttributeName", Shape::Text)])),
    (
        "SearchSchema",
        Shape::List(&Shape::Object(&[
            ("AttributeName", Shape::Text),
            ("SearchSchemaElementType", Shape::Text),
        ])),
    ),
    ("Projection", PROJECTION),
    ("Dimensions", Shape::Integer),
    ("DistanceFunction", Shape::Text),
    ("IndexArn", Shape::Ignored),
    ("IndexSizeBytes", Shape::Ignored),
    ("IndexStatus", Shape::Ignored),
    ("ItemCount", Shape::Ignored),
]));

/// The members of a table in CreateTable's form. Time to live and point-in-time recovery are in the forms of their own
/// operations.
pub(crate) const CREATE_TABLE: &[(&str, Shape)] = &[
    ("AttributeDefinitions", ATTRIBUTES),
    ("BillingMode", Shape::Text),
    ("DeletionProtectionEnabled", Shape::Flag),
    ("GlobalSecondaryIndexes", GLOBAL_INDEXES),
    ("KeySchema", KEYS),
    ("LocalSecondaryIndexes", LOCAL_INDEXES),
    ("OnDemandThroughput", ON_DEMAND),
    ("PointInTimeRecoverySpecification", RECOVERY),
    ("ProvisionedThroughput", THROUGHPUT),
    ("ResourcePolicy", Shape::Document),
    (
        "SSESpecification",
        Shape::Object(&[
            ("Enabled", Shape::Flag),
            ("SSEType", Shape::Text),
            ("KMSMasterKeyId", Shape::Text),
        ]),
    ),
    ("StreamSpecification", STREAM),
    ("TableClass", Shape::Text),
    ("TableName", Shape::Text),
    ("Tags", TAGS),
    ("TimeToLiveSpecification", TIME_TO_LIVE),
    ("VectorIndexes", VECTOR_INDEXES),
    ("WarmThroughput", WARM),
];

/// The members of a table in DescribeTable's answer.
pub(crate) const TABLE_DESCRIPTION: &[(&str, Shape)] = &[
    ("ArchivalSummary", Shape::Ignored),
    ("AttributeDefinitions", ATTRIBUTES),
    (
        "BillingModeSummary",
        Shape::Object(&[
            ("BillingMode", Shape::Text),
            ("LastUpdateToPayPerRequestDateTime", Shape::Ignored),
        ]),
    ),
    ("CreationDateTime", Shape::Ignored),
    ("DeletionProtectionEnabled", Shape::Flag),
    ("GlobalSecondaryIndexes", GLOBAL_INDEXES),
    ("GlobalTableVersion", Shape::Ignored),
    ("GlobalTableWitnesses", Shape::Ignored),
    ("ItemCount", Shape::Ignored),
    ("KeySchema", KEYS),
    ("LatestStreamArn", Shape::Ignored),
    ("LatestStreamLabel", Shape::Ignored),
    ("LocalSecondaryIndexes", LOCAL_INDEXES),
    ("MultiRegionConsistency", Shape::Ignored),
    ("OnDemandThroughput", ON_DEMAND),
    ("ProvisionedThroughput", THROUGHPUT),
    ("Replicas", Shape::Ignored),
    ("RestoreSummary", Shape::Ignored),
    ("SSEDescription", Shape::Ignored),
    ("StreamSpecification", STREAM),
    ("TableArn", Shape::Ignored),
    (
        "TableClassSummary",
        Shape::Object(&[("TableClass", Shape::Text), ("LastUpdateDateTime", Shape::Ignored)]),
    ),
    ("TableId", Shape::Ignored),
    ("TableName", Shape::Text),
    ("TableSizeBytes", Shape::Ignored),
    ("TableStatus", Shape::Ignored),
    ("VectorIndexes", VECTOR_INDEXES),
    ("WarmThroughput", WARM),
];

/// The members of an index that has its key elsewhere.
pub(crate) const INDEX: &[(&str, Shape)] = &[("IndexName", Shape::Text), ("Projection", PROJECTION)];

pub(crate) const CLOUDFORMATION_TABLE: &[(&str, Shape)] = &[
    ("AttributeDefinitions", ATTRIBUTES),
    ("BillingMode", Shape::Text),
    ("ContributorInsightsSpecification", INSIGHTS),
    ("DeletionProtectionEnabled", Shape::Flag),
    ("GlobalSecondaryIndexes", GLOBAL_INDEXES),
    ("KeySchema", KEYS),
    (
        "KinesisStreamSpecification",
        Shape::Object(&[
            ("StreamArn", Shape::Text),
            ("ApproximateCreationDateTimePrecision", Shape::Text),
        ]),
    ),
    ("LocalSecondaryIndexes", LOCAL_INDEXES),
    ("OnDemandThroughput", ON_DEMAND),
    ("PointInTimeRecoverySpecification", RECOVERY),
    ("ProvisionedThroughput", THROUGHPUT),
    ("ResourcePolicy", Shape::Object(&[("PolicyDocument", Shape::Document)])),
    (
        "SSESpecification",
        Shape::Object(&[
            ("SSEEnabled", Shape::Flag),
            ("SSEType", Shape::Text),
            ("KMSMasterKeyId", Shape::Text),
        ]),
    ),
    (
        "StreamSpecification",
        Shape::Object(&[
            ("StreamViewType", Shape::Text),
            ("ResourcePolicy", Shape::Object(&[("PolicyDocument", Shape::Document)])),
        ]),
    ),
    ("TableClass", Shape::Text),
    ("TableName", Shape::Text),
    ("Tags", TAGS),
    ("TimeToLiveSpecification", TIME_TO_LIVE),
    ("WarmThroughput", WARM),
];

/// The members of an object as JSON, each of its shape; `what` names the object in messages.
pub(crate) fn members(
    node: &Node,
    known: &'static [(&'static str, Shape)],
    what: &str,
) -> Result<Map<String, Json>, Problem> {
    let mut read = Map::new();
    for (name, member) in node.object(what)? {
        let Some((_, shape)) = known.iter().find(|(known, _)| known == name) else {
            return Err(member.problem(format!("`{name}` is not a member of {what}")));
        };
        if let Some(json) = value(member, *shape, name)? {
            read.insert(name.clone(), json);
        }
    }
    Ok(read)
}

/// A value as JSON; nothing if it is null or empty.
fn value(node: &Node, shape: Shape, what: &str) -> Result<Option<Json>, Problem> {
    if node.value == Value::Null {
        return Ok(None);
    }
    Ok(Some(match shape {
        Shape::Ignored => return Ok(None),
        Shape::Text => Json::String(text(node, what)?),
        Shape::Integer => Json::Number(Number::from(node.integer(what)?)),
        Shape::Flag => Json::Bool(node.flag(what)?),
        Shape::Document => match &node.value {
            Value::String(text) => Json::String(text.clone()),
            _ => Json::String(json(node)?.to_string()),
        },
        Shape::List(of) => {
            let elements = node.list(what)?.iter();
            let read: Result<Vec<_>, Problem> = elements.map(|element| value(element, *of, what)).collect();
            Json::Array(read?.into_iter().flatten().collect())
        }
        Shape::Object(known) => Json::Object(members(node, known, what)?),
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
        Value::Number(text) => Json::Number(
            text.parse()
                .map_err(|_| node.problem(format!("`{text}` is not a number")))?,
        ),
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
