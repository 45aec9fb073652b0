//! Tables in CloudFormation templates, SAM templates, and the output of `cdk synth`.

use serde_json::{Map, Value as Json, json};

use crate::document::{Node, Value};
use crate::error::Problem;
use crate::intrinsics::Template;
use crate::schema;
use crate::seed::{Seed, Table};

const TABLE: &str = "AWS::DynamoDB::Table";
const GLOBAL_TABLE: &str = "AWS::DynamoDB::GlobalTable";
const SIMPLE_TABLE: &str = "AWS::Serverless::SimpleTable";

/// The tables of a template. One without `TableName` has its logical id as its name, without the stack's name and the random
/// suffix that the service adds.
pub(crate) fn read(file: &str, root: &Node) -> Result<Seed, Problem> {
    let resources = root.get("Resources").map(|resources| resources.object("Resources"));
    let resources = resources.transpose()?.unwrap_or_default();
    let tables = resources.iter().filter(|(_, resource)| {
        let kind = resource.get("Type").and_then(|kind| kind.text("Type").ok());
        matches!(kind, Some(TABLE | GLOBAL_TABLE | SIMPLE_TABLE))
    });
    let tables: Vec<&(String, Node)> = tables.collect();
    let mut template = Template::new(root)?;
    for (id, resource) in &tables {
        let name = resource
            .get("Properties")
            .and_then(|properties| properties.get("TableName"));
        let name = match name {
            Some(name) => template.resolve(name)?,
            None => None,
        };
        let name = name.map_or(Ok(id.clone()), |name| name.text("TableName").map(str::to_owned))?;
        template.name(id, name);
    }
    let mut seed = Seed::default();
    for (id, resource) in tables {
        if let Some(condition) = resource.get("Condition")
            && !template.holds(condition.text("Condition")?, condition)?
        {
            continue;
        }
        seed.tables.push(table(file, id, resource, &template)?);
    }
    Ok(seed)
}

fn table(file: &str, id: &str, resource: &Node, template: &Template<'_>) -> Result<Table, Problem> {
    let none = Node::new(resource.line, Value::Object(Vec::new()));
    let properties = resource.get("Properties").unwrap_or(&none);
    let properties = template.resolve(properties)?.unwrap_or(none);
    let kind = resource.get("Type").map_or(Ok(""), |kind| kind.text("Type"))?;
    let mut members = match kind {
        SIMPLE_TABLE => simple(&properties)?,
        GLOBAL_TABLE => global(&properties)?,
        _ => schema::members(&properties, schema::CLOUDFORMATION_TABLE, TABLE)?,
    };
    members.entry("TableName").or_insert_with(|| id.into());
    let insights = members.remove("ContributorInsightsSpecification");
    // A destination is a stream of another service, which does not exist here.
    members.remove("KinesisStreamSpecification");
    if let Some(Json::Object(mut policy)) = members.remove("ResourcePolicy")
        && let Some(document) = policy.remove("PolicyDocument")
    {
        members.insert("ResourcePolicy".into(), document);
    }
    if let Some(Json::Object(stream)) = members.get_mut("StreamSpecification") {
        stream.remove("ResourcePolicy");
        stream.entry("StreamEnabled").or_insert(json!(true));
    }
    if let Some(Json::Object(encryption)) = members.get_mut("SSESpecification")
        && let Some(enabled) = encryption.remove("SSEEnabled")
    {
        encryption.insert("Enabled".into(), enabled);
    }
    let indexes = members.get_mut("GlobalSecondaryIndexes").and_then(Json::as_array_mut);
    for index in indexes.into_iter().flatten().filter_map(Json::as_object_mut) {
        index.remove("ContributorInsightsSpecification");
    }
    let mut table = Table::new(file, resource, members)?;
    table.insights = insights.is_some_and(|insights| insights["Enabled"] == Json::Bool(true));
    Ok(table)
}

/// A table of `AWS::Serverless::SimpleTable`, whose key is the string `id` unless another is given.
fn simple(properties: &Node) -> Result<Map<String, Json>, Problem> {
    let mut members = Map::new();
    let (mut name, mut kind) = ("id".to_owned(), "S");
    for (property, node) in properties.object(SIMPLE_TABLE)? {
        match property.as_str() {
            "PrimaryKey" => {
                for (member, node) in node.object(property)? {
                    match (member.as_str(), node.text(member)?) {
                        ("Name", given) => given.clone_into(&mut name),
                        ("Type", "String") => kind = "S",
                        ("Type", "Number") => kind = "N",
                        ("Type", "Binary") => kind = "B",
                        ("Type", other) => return Err(node.problem(format!("the key's type `{other}` is not known"))),
                        _ => return Err(node.problem(format!("`{member}` is not a member of PrimaryKey"))),
                    }
                }
            }
            "Tags" => {
                let tags = node.object(property)?.iter();
                let tags = tags.map(|(key, value)| Ok(json!({"Key": key, "Value": value.text("a tag")?})));
                members.insert("Tags".into(), Json::Array(tags.collect::<Result<_, Problem>>()?));
            }
            "TableName" | "ProvisionedThroughput" | "SSESpecification" | "PointInTimeRecoverySpecification" => {
                let alone = Node::new(node.line, Value::Object(vec![(property.clone(), node.clone())]));
                members.extend(schema::members(&alone, schema::CLOUDFORMATION_TABLE, SIMPLE_TABLE)?);
            }
            _ => return Err(node.problem(format!("`{property}` is not a member of {SIMPLE_TABLE}"))),
        }
    }
    members.insert("KeySchema".into(), json!([{"AttributeName": name, "KeyType": "HASH"}]));
    members.insert(
        "AttributeDefinitions".into(),
        json!([{"AttributeName": name, "AttributeType": kind}]),
    );
    Ok(members)
}

/// A global table in one region, with the settings of its first replica.
fn global(properties: &Node) -> Result<Map<String, Json>, Problem> {
    let mut own = Vec::new();
    let mut write_units = None;
    let mut replica = None;
    for (property, node) in properties.object(GLOBAL_TABLE)? {
        match property.as_str() {
            "Replicas" => replica = node.list(property)?.first(),
            "WriteProvisionedThroughputSettings" => write_units = Some(units(node, "WriteCapacity")?),
            "GlobalTableWitnesses"
            | "MultiRegionConsistency"
            | "ReadOnDemandThroughputSettings"
            | "WriteOnDemandThroughputSettings" => {}
            "GlobalSecondaryIndexes" => own.push((property.clone(), without_settings(node)?)),
            _ => own.push((property.clone(), node.clone())),
        }
    }
    let own = Node::new(properties.line, Value::Object(own));
    let mut members = schema::members(&own, schema::CLOUDFORMATION_TABLE, GLOBAL_TABLE)?;
    let mut read_units = None;
    for (property, node) in replica.map_or(Ok(&[][..]), |replica| replica.object("a replica"))? {
        match property.as_str() {
            "ContributorInsightsSpecification"
            | "DeletionProtectionEnabled"
            | "PointInTimeRecoverySpecification"
            | "ResourcePolicy"
            | "TableClass"
            | "Tags" => {
                let alone = Node::new(node.line, Value::Object(vec![(property.clone(), node.clone())]));
                members.extend(schema::members(&alone, schema::CLOUDFORMATION_TABLE, "a replica")?);
            }
            "ReadProvisionedThroughputSettings" => read_units = Some(units(node, "ReadCapacity")?),
            "Region"
            | "GlobalSecondaryIndexes"
            | "GlobalTableSettingsReplicationMode"
            | "KinesisStreamSpecification"
            | "ReadOnDemandThroughputSettings"
            | "ReplicaStreamSpecification"
            | "SSESpecification" => {}
            _ => return Err(node.problem(format!("`{property}` is not a member of a replica"))),
        }
    }
    if members.get("BillingMode") != Some(&json!("PAY_PER_REQUEST"))
        && let Some(write) = write_units
    {
        let throughput = json!({"ReadCapacityUnits": read_units.unwrap_or(write), "WriteCapacityUnits": write});
        let indexes = members.get_mut("GlobalSecondaryIndexes").and_then(Json::as_array_mut);
        for index in indexes.into_iter().flatten().filter_map(Json::as_object_mut) {
            index.insert("ProvisionedThroughput".into(), throughput.clone());
        }
        members.insert("ProvisionedThroughput".into(), throughput);
    }
    Ok(members)
}

/// The indexes of a global table without their throughput, which follows the table's.
fn without_settings(indexes: &Node) -> Result<Node, Problem> {
    let mut plain = Vec::new();
    for index in indexes.list("GlobalSecondaryIndexes")? {
        let members = index.object("an index")?.iter();
        let kept = members.filter(|(name, _)| {
            !matches!(
                name.as_str(),
                "WriteProvisionedThroughputSettings"
                    | "WriteOnDemandThroughputSettings"
                    | "ReadOnDemandThroughputSettings"
            )
        });
        plain.push(Node::new(index.line, Value::Object(kept.cloned().collect())));
    }
    Ok(Node::new(indexes.line, Value::Array(plain)))
}

/// The units of a global table's settings: fixed ones, or the least of auto scaling.
fn units(settings: &Node, which: &str) -> Result<i64, Problem> {
    if let Some(fixed) = settings.get(&format!("{which}Units")) {
        return fixed.integer(which);
    }
    let scaling = settings.get(&format!("{which}AutoScalingSettings"));
    let least = scaling.and_then(|scaling| scaling.get("SeedCapacity").or_else(|| scaling.get("MinCapacity")));
    least
        .ok_or_else(|| settings.problem(format!("{which}AutoScalingSettings has no MinCapacity")))?
        .integer("MinCapacity")
}
