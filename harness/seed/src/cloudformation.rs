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
    let mut template = Template::new(root)?;
    let mut created = Vec::new();
    for (id, resource) in tables {
        let is_created = match resource.get("Condition") {
            Some(condition) => template.holds(condition.text("Condition")?, condition)?,
            None => true,
        };
        match name(id, resource, &template) {
            Ok(name) => template.name(id, name),
            Err(problem) if is_created => return Err(problem),
            // A table that is not created needs no name.
            Err(_) => {}
        }
        if is_created {
            created.push((id, resource));
        }
    }
    let mut seed = Seed::default();
    for (id, resource) in created {
        seed.tables.push(table(file, id, resource, &template)?);
    }
    Ok(seed)
}

/// The value of `Ref` of a table.
fn name(id: &str, resource: &Node, template: &Template<'_>) -> Result<String, Problem> {
    let name = resource
        .get("Properties")
        .and_then(|properties| properties.get("TableName"));
    let name = match name {
        Some(name) => template.resolve(name)?,
        None => None,
    };
    name.map_or_else(|| Ok(id.to_owned()), |name| name.text("TableName").map(str::to_owned))
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
    let specification = members.remove("ContributorInsightsSpecification");
    let mut insights = Vec::from_iter(insights(None, specification));
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
        let specification = index.remove("ContributorInsightsSpecification");
        insights.extend(self::insights(index.get("IndexName"), specification));
    }
    let mut table = Table::new(file, resource, members)?;
    table.insights = insights;
    Ok(table)
}

/// The members of UpdateContributorInsights for a table or an index, if they are enabled.
fn insights(index: Option<&Json>, specification: Option<Json>) -> Option<Map<String, Json>> {
    let mut specification = specification.filter(|specification| specification["Enabled"] == Json::Bool(true))?;
    let mode = Some(specification["Mode"].take()).filter(|mode| !mode.is_null());
    let members = [("IndexName", index.cloned()), ("ContributorInsightsMode", mode)];
    let members = members
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Some(members.collect())
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
    let mut of_indexes = Vec::new();
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
            "GlobalSecondaryIndexes" => of_indexes = insights_of_indexes(node)?,
            "Region"
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
    let indexes = members.get_mut("GlobalSecondaryIndexes").and_then(Json::as_array_mut);
    for index in indexes.into_iter().flatten().filter_map(Json::as_object_mut) {
        let own = of_indexes.iter().find(|(name, _)| index.get("IndexName") == Some(name));
        if let Some((_, insights)) = own {
            index.insert("ContributorInsightsSpecification".into(), insights.clone());
        }
    }
    Ok(members)
}

/// The names of a replica's indexes with their `ContributorInsightsSpecification`; their throughput follows the table's.
fn insights_of_indexes(indexes: &Node) -> Result<Vec<(Json, Json)>, Problem> {
    let mut found = Vec::new();
    for index in indexes.list("GlobalSecondaryIndexes")? {
        let members = index.object("an index of a replica")?.iter();
        let kept =
            members.filter(|(name, _)| matches!(name.as_str(), "IndexName" | "ContributorInsightsSpecification"));
        let index = Node::new(index.line, Value::Object(kept.cloned().collect()));
        let mut members = schema::members(&index, schema::REPLICA_INDEX, "an index of a replica")?;
        if let (Some(name), Some(insights)) = (
            members.remove("IndexName"),
            members.remove("ContributorInsightsSpecification"),
        ) {
            found.push((name, insights));
        }
    }
    Ok(found)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::yaml;

    fn tables(kind: &str, properties: &str) -> Result<Vec<Table>, Problem> {
        let template = format!("Resources:\n  Tab: {{Type: {kind}, Properties: {{{properties}}}}}\n");
        read("x.yaml", &yaml(&template)?).map(|seed| seed.tables)
    }

    fn check(kind: &str, properties: &str, expected: Json) -> Table {
        let mut tables = tables(kind, properties).unwrap_or_else(|problem| panic!("{properties}: {problem:?}"));
        let table = tables.pop().unwrap();
        assert_eq!(Json::Object(table.create.clone()), expected, "{properties}");
        table
    }

    const KEY: &str = "AttributeDefinitions: [{AttributeName: id, AttributeType: S}], KeySchema: [{AttributeName: id, KeyType: HASH}]";

    fn with_key(more: Json) -> Json {
        let mut members = json!({
            "TableName": "Tab",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        });
        for (name, value) in more.as_object().unwrap() {
            members[name] = value.clone();
        }
        members
    }

    #[test]
    fn every_property_of_a_table() {
        let properties = format!(
            "{KEY}, TableName: T, BillingMode: PAY_PER_REQUEST, DeletionProtectionEnabled: 'true', TableClass: STANDARD,
             ContributorInsightsSpecification: {{Enabled: false}}, KinesisStreamSpecification: {{StreamArn: x}},
             ImportSourceSpecification: {{InputFormat: CSV, S3BucketSource: {{S3Bucket: b}}}},
             GlobalSecondaryIndexes: [{{IndexName: i, KeySchema: [{{AttributeName: id, KeyType: HASH}}],
               Projection: {{ProjectionType: ALL}}, ContributorInsightsSpecification: {{Enabled: true}},
               OnDemandThroughput: {{MaxReadRequestUnits: 3}}}}],
             LocalSecondaryIndexes: [{{IndexName: l, KeySchema: [], Projection: {{ProjectionType: KEYS_ONLY}}}}],
             OnDemandThroughput: {{MaxWriteRequestUnits: '5'}}, WarmThroughput: {{ReadUnitsPerSecond: 12000}},
             PointInTimeRecoverySpecification: {{PointInTimeRecoveryEnabled: true, RecoveryPeriodInDays: 7}},
             ResourcePolicy: {{PolicyDocument: {{Version: v}}}}, SSESpecification: {{SSEEnabled: true, SSEType: KMS}},
             StreamSpecification: {{StreamViewType: NEW_IMAGE, ResourcePolicy: {{PolicyDocument: {{}}}}}},
             Tags: [{{Key: a, Value: 1}}], TimeToLiveSpecification: {{AttributeName: t, Enabled: true}}"
        );
        let table = check(
            TABLE,
            &properties,
            with_key(json!({
                "TableName": "T", "BillingMode": "PAY_PER_REQUEST", "DeletionProtectionEnabled": true,
                "TableClass": "STANDARD",
                "GlobalSecondaryIndexes": [{
                    "IndexName": "i", "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"}, "OnDemandThroughput": {"MaxReadRequestUnits": 3},
                }],
                "LocalSecondaryIndexes": [
                    {"IndexName": "l", "KeySchema": [], "Projection": {"ProjectionType": "KEYS_ONLY"}},
                ],
                "OnDemandThroughput": {"MaxWriteRequestUnits": 5}, "WarmThroughput": {"ReadUnitsPerSecond": 12000},
                "ResourcePolicy": r#"{"Version":"v"}"#, "SSESpecification": {"Enabled": true, "SSEType": "KMS"},
                "StreamSpecification": {"StreamViewType": "NEW_IMAGE", "StreamEnabled": true},
                "Tags": [{"Key": "a", "Value": "1"}],
            })),
        );
        let recovery = json!({"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": 7});
        assert_eq!(
            (table.time_to_live.as_deref(), table.recovery, table.insights),
            (Some("t"), Some(recovery), enabled(json!([{"IndexName": "i"}])))
        );
        let off = "TimeToLiveSpecification: {AttributeName: t, Enabled: false}, ContributorInsightsSpecification: {Enabled: true},
            PointInTimeRecoverySpecification: {PointInTimeRecoveryEnabled: false}";
        let table = check(
            TABLE,
            &format!("{KEY}, {off}"),
            with_key(json!({"BillingMode": "PAY_PER_REQUEST"})),
        );
        assert_eq!(
            (table.time_to_live, table.recovery, table.insights),
            (None, None, enabled(json!([{}])))
        );
    }

    fn enabled(insights: Json) -> Vec<Map<String, Json>> {
        serde_json::from_value(insights).unwrap()
    }

    /// Contributor Insights of a table and of each of its indexes, on and off, with and without a mode.
    #[test]
    fn insights_of_tables_and_indexes() {
        let specifications = [
            ("", None),
            ("ContributorInsightsSpecification: {Enabled: false}", None),
            ("ContributorInsightsSpecification: {Enabled: true}", Some(json!({}))),
            (
                "ContributorInsightsSpecification: {Enabled: true, Mode: THROTTLED_KEYS}",
                Some(json!({"ContributorInsightsMode": "THROTTLED_KEYS"})),
            ),
        ];
        for (own, of_table) in &specifications {
            for (first, of_first) in &specifications {
                for (second, of_second) in &specifications {
                    let index = |name: &str, insights: &str| format!("{{IndexName: {name}, {insights}}}");
                    let indexes = format!("[{}, {}]", index("x", first), index("y", second));
                    let named = |name: &str, insights: &Option<Json>| {
                        let mut insights = insights.clone()?;
                        insights["IndexName"] = name.into();
                        Some(insights)
                    };
                    let expected = [of_table.clone(), named("x", of_first), named("y", of_second)];
                    let expected = enabled(expected.into_iter().flatten().collect());
                    let of_kind = [
                        (TABLE, format!("{KEY}, GlobalSecondaryIndexes: {indexes}, {own}")),
                        (
                            GLOBAL_TABLE,
                            format!(
                                "{KEY}, GlobalSecondaryIndexes: [{{IndexName: x}}, {{IndexName: y}}],
                                 Replicas: [{{Region: eu-west-1, GlobalSecondaryIndexes: {indexes}, {own}}}]"
                            ),
                        ),
                    ];
                    for (kind, properties) in of_kind {
                        let table = tables(kind, &properties).unwrap().pop().unwrap();
                        assert_eq!(table.insights, expected, "{kind} {properties}");
                    }
                }
            }
        }
    }

    /// A replica has Contributor Insights of the indexes that it names, in any order, and need not name all.
    #[test]
    fn insights_of_a_replica_are_those_of_the_indexes_that_it_names() {
        for (of_replica, expected) in [
            (&[][..], &[][..]),
            (&[("x", true)], &["x"]),
            (&[("y", true)], &["y"]),
            (&[("z", true)], &["z"]),
            (&[("y", false), ("x", true)], &["x"]),
            (&[("z", true), ("x", false)], &["z"]),
            (&[("z", true), ("y", false), ("x", true)], &["x", "z"]),
            (&[("y", true), ("z", true), ("x", false)], &["y", "z"]),
            (&[("z", true), ("y", true), ("x", true)], &["x", "y", "z"]),
        ] {
            let indexes = of_replica.iter().map(|(name, is_enabled)| {
                format!("{{IndexName: {name}, ContributorInsightsSpecification: {{Enabled: {is_enabled}}}}}")
            });
            let indexes = indexes.collect::<Vec<_>>().join(", ");
            let properties = format!(
                "{KEY}, GlobalSecondaryIndexes: [{{IndexName: x}}, {{IndexName: y}}, {{IndexName: z}}],
                 Replicas: [{{Region: eu-west-1, GlobalSecondaryIndexes: [{indexes}]}}]"
            );
            let table = tables(GLOBAL_TABLE, &properties).unwrap().pop().unwrap();
            let expected = expected.iter().map(|name| json!({"IndexName": name}));
            assert_eq!(table.insights, enabled(expected.collect()), "{properties}");
        }
    }

    /// The name of an index may be the beginning of another's, or differ from it in case.
    #[test]
    fn insights_of_a_replica_are_those_of_indexes_with_similar_names() {
        let names = ["by", "by-name", "by-name-2", "BY"];
        for enabled_name in names {
            let indexes = names.map(|name| format!("{{IndexName: {name}}}")).join(", ");
            let properties = format!(
                "{KEY}, GlobalSecondaryIndexes: [{indexes}], Replicas: [{{Region: eu-west-1, GlobalSecondaryIndexes:
                 [{{IndexName: {enabled_name}, ContributorInsightsSpecification: {{Enabled: true}}}}]}}]"
            );
            let table = tables(GLOBAL_TABLE, &properties).unwrap().pop().unwrap();
            assert_eq!(
                table.insights,
                enabled(json!([{"IndexName": enabled_name}])),
                "{properties}"
            );
        }
    }

    /// A key and a stream that the template creates do not exist here, in any kind of table.
    #[test]
    fn keys_and_streams_of_the_template_are_left_out() {
        let encryption =
            |key: &str| format!("SSESpecification: {{SSEEnabled: true, SSEType: KMS, KMSMasterKeyId: {key}}}");
        for (key, stream) in [
            ("!GetAtt Key.Arn", "!GetAtt Str.Arn"),
            ("!Ref Key", "!Sub 'x-${Str.Arn}'"),
        ] {
            let encrypted = encryption(key);
            let stream = format!("KinesisStreamSpecification: {{StreamArn: {stream}}}");
            for (kind, properties) in [
                (TABLE, format!("{KEY}, {encrypted}, {stream}")),
                (
                    TABLE,
                    format!("{KEY}, {encrypted}, ImportSourceSpecification: {{S3BucketSource: {{S3Bucket: {key}}}}}"),
                ),
                (SIMPLE_TABLE, encrypted.clone()),
                (
                    GLOBAL_TABLE,
                    format!(
                        "{KEY}, SSESpecification: {{SSEEnabled: true, SSEType: KMS}},
                         Replicas: [{{Region: x, SSESpecification: {{KMSMasterKeyId: {key}}}, {stream}}}]"
                    ),
                ),
            ] {
                let template = format!(
                    "Resources:\n  Key: {{Type: AWS::KMS::Key}}\n  Str: {{Type: AWS::Kinesis::Stream}}\n  \
                     Tab: {{Type: {kind}, Properties: {{{properties}}}}}\n"
                );
                let read = yaml(&template).and_then(|root| read("x.yaml", &root));
                let seed = read.unwrap_or_else(|problem| panic!("{template}: {problem:?}"));
                let expected = json!({"Enabled": true, "SSEType": "KMS"});
                assert_eq!(seed.tables[0].create["SSESpecification"], expected, "{template}");
            }
        }
    }

    /// A table is on-demand unless it has a billing mode or throughput.
    #[test]
    fn the_billing_mode_follows_from_the_throughput() {
        let units = json!({"ReadCapacityUnits": 1, "WriteCapacityUnits": 2});
        for (properties, expected) in [
            ("", json!({"BillingMode": "PAY_PER_REQUEST"})),
            (", BillingMode: PROVISIONED", json!({"BillingMode": "PROVISIONED"})),
            (
                ", ProvisionedThroughput: {ReadCapacityUnits: 1, WriteCapacityUnits: 2}",
                json!({"ProvisionedThroughput": units}),
            ),
        ] {
            check(TABLE, &format!("{KEY}{properties}"), with_key(expected));
        }
    }

    #[test]
    fn every_property_of_a_simple_table() {
        for (key, name, kind) in [
            ("", "id", "S"),
            ("PrimaryKey: {Name: k, Type: String}", "k", "S"),
            ("PrimaryKey: {Type: Number}", "id", "N"),
            ("PrimaryKey: {Name: k, Type: Binary}", "k", "B"),
        ] {
            let expected = json!({
                "TableName": "Tab", "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind}],
                "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}],
            });
            check(SIMPLE_TABLE, key, expected);
        }
        let properties = "TableName: T, ProvisionedThroughput: {ReadCapacityUnits: 1, WriteCapacityUnits: 2},
            SSESpecification: {SSEEnabled: true}, PointInTimeRecoverySpecification: {PointInTimeRecoveryEnabled: true},
            Tags: {a: b, c: d}";
        let table = check(
            SIMPLE_TABLE,
            properties,
            with_key(json!({
                "TableName": "T", "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2},
                "SSESpecification": {"Enabled": true},
                "Tags": [{"Key": "a", "Value": "b"}, {"Key": "c", "Value": "d"}],
            })),
        );
        assert_eq!(table.recovery, Some(json!({"PointInTimeRecoveryEnabled": true})));
    }

    #[test]
    fn every_property_of_a_global_table() {
        let index = "KeySchema: [{AttributeName: id, KeyType: HASH}], Projection: {ProjectionType: ALL}";
        let properties = format!(
            "{KEY}, GlobalTableWitnesses: [], MultiRegionConsistency: EVENTUAL, ReadOnDemandThroughputSettings: {{}},
             WriteOnDemandThroughputSettings: {{}}, WriteProvisionedThroughputSettings: {{WriteCapacityUnits: 4}},
             GlobalSecondaryIndexes: [{{IndexName: i, {index}, WriteProvisionedThroughputSettings: {{}},
               WriteOnDemandThroughputSettings: {{}}, ReadOnDemandThroughputSettings: {{}}}},
               {{IndexName: j, {index}, WriteProvisionedThroughputSettings: {{}}}}, {{IndexName: k, {index}}}],
             Replicas: [{{Region: a, ContributorInsightsSpecification: {{Enabled: true}}, DeletionProtectionEnabled: true,
               PointInTimeRecoverySpecification: {{PointInTimeRecoveryEnabled: true}}, TableClass: STANDARD,
               ResourcePolicy: {{PolicyDocument: {{}}}}, Tags: [{{Key: a, Value: b}}], READ
               GlobalSecondaryIndexes: [], GlobalTableSettingsReplicationMode: NONE, KinesisStreamSpecification: {{}},
               ReadOnDemandThroughputSettings: {{}}, ReplicaStreamSpecification: {{}}, SSESpecification: {{}}}},
               {{Region: b, TableClass: STANDARD_INFREQUENT_ACCESS}}]"
        );
        let of_indexes = ["i", "j", "k"].map(|name| {
            json!({"IndexName": name, "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"}})
        });
        for (read, units) in [
            ("ReadProvisionedThroughputSettings: {ReadCapacityUnits: 3},", Some(3)),
            ("", Some(4)),
            ("ReadProvisionedThroughputSettings: {ReadCapacityUnits: 3},", None),
        ] {
            let (mut properties, mut indexes) = (properties.replace("READ", read), of_indexes.clone());
            let mut expected = with_key(json!({
                "DeletionProtectionEnabled": true, "TableClass": "STANDARD", "ResourcePolicy": "{}",
                "Tags": [{"Key": "a", "Value": "b"}],
            }));
            if let Some(units) = units {
                let throughput = json!({"ReadCapacityUnits": units, "WriteCapacityUnits": 4});
                for index in &mut indexes {
                    index["ProvisionedThroughput"] = throughput.clone();
                }
                expected["ProvisionedThroughput"] = throughput;
            } else {
                properties += ", BillingMode: PAY_PER_REQUEST";
                expected["BillingMode"] = json!("PAY_PER_REQUEST");
            }
            expected["GlobalSecondaryIndexes"] = json!(indexes);
            let table = check(GLOBAL_TABLE, &properties, expected);
            assert!(!table.insights.is_empty() && table.recovery.is_some());
        }
    }

    /// The stream of a table, global or not, has the view that the template names.
    #[test]
    fn streams_keep_their_view() {
        for kind in [TABLE, GLOBAL_TABLE] {
            for view in ["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"] {
                let properties = format!(
                    "{KEY}, BillingMode: PAY_PER_REQUEST, StreamSpecification: {{StreamViewType: {view}}}{}",
                    if kind == GLOBAL_TABLE {
                        ", Replicas: [{Region: a}]"
                    } else {
                        ""
                    },
                );
                let expected = json!({
                    "BillingMode": "PAY_PER_REQUEST",
                    "StreamSpecification": {"StreamViewType": view, "StreamEnabled": true},
                });
                check(kind, &properties, with_key(expected));
            }
        }
    }

    #[test]
    fn unknown_properties_are_refused() {
        for (kind, properties, message) in [
            (TABLE, "Shards: 1", "`Shards` is not a member of AWS::DynamoDB::Table"),
            (TABLE, "KeySchema: []", "the table Tab has no AttributeDefinitions"),
            (TABLE, "AttributeDefinitions: []", "the table Tab has no KeySchema"),
            (
                SIMPLE_TABLE,
                "Shards: 1",
                "`Shards` is not a member of AWS::Serverless::SimpleTable",
            ),
            (
                SIMPLE_TABLE,
                "PrimaryKey: {Type: Set}",
                "the key's type `Set` is not known",
            ),
            (
                SIMPLE_TABLE,
                "PrimaryKey: {Kind: String}",
                "`Kind` is not a member of PrimaryKey",
            ),
            (SIMPLE_TABLE, "Tags: {a: [b]}", "a tag is a list, not a string"),
            (
                GLOBAL_TABLE,
                "Shards: 1",
                "`Shards` is not a member of AWS::DynamoDB::GlobalTable",
            ),
            (
                GLOBAL_TABLE,
                "Replicas: [{Shards: 1}]",
                "`Shards` is not a member of a replica",
            ),
            (
                GLOBAL_TABLE,
                "WriteProvisionedThroughputSettings: {}",
                "WriteCapacityAutoScalingSettings has no MinCapacity",
            ),
        ] {
            let problem = tables(kind, properties).unwrap_err();
            assert_eq!((problem.line, problem.message.as_str()), (2, message), "{properties}");
        }
        // Other resources are not read.
        assert_eq!(tables("AWS::S3::Bucket", "Shards: 1"), Ok(Vec::new()));
    }

    /// The units of a global table are fixed, or those with which auto scaling begins: its seed, or otherwise its minimum.
    #[test]
    fn units_of_global_tables() {
        for (read, write, expected) in [
            ("", "WriteCapacityUnits: 4", (4, 4)),
            ("ReadCapacityUnits: '3'", "WriteCapacityUnits: '4'", (3, 4)),
            (
                "",
                "WriteCapacityAutoScalingSettings: {MinCapacity: 2, MaxCapacity: 9}",
                (2, 2),
            ),
            (
                "",
                "WriteCapacityAutoScalingSettings: {MinCapacity: 2, MaxCapacity: 9, SeedCapacity: 5}",
                (5, 5),
            ),
            (
                "",
                "WriteCapacityAutoScalingSettings: {SeedCapacity: 5, MaxCapacity: 9}",
                (5, 5),
            ),
            (
                "ReadCapacityAutoScalingSettings: {MaxCapacity: 9, MinCapacity: 1}",
                "WriteCapacityAutoScalingSettings: {MinCapacity: 2, MaxCapacity: 9}",
                (1, 2),
            ),
            (
                "ReadCapacityAutoScalingSettings: {SeedCapacity: '7', MinCapacity: 1, MaxCapacity: 9}",
                "WriteCapacityAutoScalingSettings: {MinCapacity: 2, MaxCapacity: 9, SeedCapacity: '6'}",
                (7, 6),
            ),
            (
                "ReadCapacityUnits: 3, ReadCapacityAutoScalingSettings: {MinCapacity: 1, MaxCapacity: 9}",
                "WriteCapacityAutoScalingSettings: {MinCapacity: 2, MaxCapacity: 9}, WriteCapacityUnits: 8",
                (3, 8),
            ),
        ] {
            let read = match read {
                "" => String::new(),
                read => format!(", ReadProvisionedThroughputSettings: {{{read}}}"),
            };
            // Only the first replica's settings count.
            let replicas = format!(
                "[{{Region: a{read}}}, {{Region: b, ReadProvisionedThroughputSettings: {{ReadCapacityUnits: 99}}}}]"
            );
            for billing in ["", ", BillingMode: PROVISIONED", ", BillingMode: PAY_PER_REQUEST"] {
                let properties =
                    format!("{KEY}, Replicas: {replicas}, WriteProvisionedThroughputSettings: {{{write}}}{billing}");
                let mut members = json!({});
                if billing.contains("REQUEST") {
                    members["BillingMode"] = json!("PAY_PER_REQUEST");
                } else {
                    let (read, write) = expected;
                    members["ProvisionedThroughput"] = json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write});
                }
                if billing.contains("PROVISIONED") {
                    members["BillingMode"] = json!("PROVISIONED");
                }
                check(GLOBAL_TABLE, &properties, with_key(members));
            }
        }
    }

    /// Each table of a template has its own condition and name, which functions elsewhere refer to.
    #[test]
    fn tables_of_a_template() {
        let table =
            |name: &str, more: &str| format!("{{Type: {TABLE}{more}, Properties: {{{KEY}, TableName: {name}}}}}");
        for (conditions, expected) in [
            (["", "", ""], &["a", "stack-b", "a-c"][..]),
            (["Yes", "Yes", "Yes"], &["a", "stack-b", "a-c"]),
            (["No", "Yes", "Yes"], &["stack-b", "a-c"]),
            (["Yes", "No", ""], &["a", "a-c"]),
            (["", "Yes", "No"], &["a", "stack-b"]),
            (["No", "No", "No"], &[]),
        ] {
            let [first, second, third] = conditions.map(|condition| match condition {
                "" => String::new(),
                condition => format!(", Condition: {condition}"),
            });
            let template = format!(
                "Conditions: {{Yes: !Equals [a, a], No: !Equals [a, b]}}\nResources:\n  A: {}\n  \
                 Queue: {{Type: AWS::SQS::Queue, Condition: Nowhere}}\n  B: {}\n  C: {}\n",
                table("a", &first),
                table("!Sub '${AWS::StackName}-b'", &second),
                table("!Join ['-', [!Ref A, c]]", &third),
            );
            let seed = read("x.yaml", &yaml(&template).unwrap());
            let seed = seed.unwrap_or_else(|problem| panic!("{template}: {problem:?}"));
            let names: Vec<&str> = seed.tables.iter().map(|table| table.name.as_str()).collect();
            assert_eq!(names, expected, "{template}");
            for table in &seed.tables {
                assert_eq!(table.create["TableName"], table.name.as_str(), "{template}");
            }
        }
        let template = format!("Resources: {{A: {}}}", table("a", ", Condition: Nowhere"));
        let problem = read("x.yaml", &yaml(&template).unwrap()).unwrap_err();
        assert_eq!(problem.message, "the condition Nowhere is not defined");
    }

    /// The properties of a table may refer to the tables before and after it, and to itself.
    #[test]
    fn tables_refer_to_each_other() {
        let names = [("A", "a"), ("B", "stack-b"), ("C", "C")];
        for (function, expected) in [
            ("!Ref ID", "NAME"),
            ("!Sub 'x-${ID}'", "x-NAME"),
            ("!GetAtt ID.Arn", "arn:aws:dynamodb:us-east-1:000000000000:table/NAME"),
            ("!Sub '${ID.Arn}'", "arn:aws:dynamodb:us-east-1:000000000000:table/NAME"),
        ] {
            let tags = names.map(|(id, _)| format!("{{Key: {id}, Value: {}}}", function.replace("ID", id)));
            let tags = tags.join(", ");
            let expected = names.map(|(id, name)| json!({"Key": id, "Value": expected.replace("NAME", name)}));
            let table = |name: &str| format!("{{Type: {TABLE}, Properties: {{{KEY}, {name}Tags: [{tags}]}}}}");
            let template = format!(
                "Resources:\n  A: {}\n  B: {}\n  C: {}\n",
                table("TableName: a, "),
                table("TableName: !Sub '${AWS::StackName}-b', "),
                table(""),
            );
            let seed = read("x.yaml", &yaml(&template).unwrap());
            let seed = seed.unwrap_or_else(|problem| panic!("{template}: {problem:?}"));
            assert_eq!(seed.tables.len(), names.len());
            for (table, (_, name)) in seed.tables.iter().zip(names) {
                assert_eq!(table.name, name, "{template}");
                assert_eq!(table.create["Tags"], json!(expected), "{name} of {template}");
            }
        }
    }

    /// A table without a name, or with one that is `AWS::NoValue`, is named by its logical id, also where others refer to it.
    #[test]
    fn tables_without_a_name_have_their_logical_id() {
        for (name, expected) in [
            ("", "A"),
            ("TableName: !Ref AWS::NoValue, ", "A"),
            ("TableName: !If [No, a, !Ref AWS::NoValue], ", "A"),
            ("TableName: !If [Yes, !Ref AWS::NoValue, a], ", "A"),
            ("TableName: !If [Yes, a, !Ref AWS::NoValue], ", "a"),
            (
                "TableName: !If [No, a, !If [Yes, !Ref AWS::NoValue, !Ref Nowhere]], ",
                "A",
            ),
        ] {
            for (kind, key) in [
                (TABLE, format!("{KEY}, ")),
                (GLOBAL_TABLE, format!("{KEY}, ")),
                (SIMPLE_TABLE, String::new()),
            ] {
                let template = format!(
                    "Conditions: {{Yes: !Equals [a, a], No: !Equals [a, b]}}\nResources:\n  \
                     A: {{Type: {kind}, Properties: {{{key}{name}}}}}\n  \
                     B: {{Type: {TABLE}, Properties: {{{KEY}, TableName: !Sub '${{A}}-b'}}}}\n"
                );
                let seed = read("x.yaml", &yaml(&template).unwrap());
                let seed = seed.unwrap_or_else(|problem| panic!("{template}: {problem:?}"));
                let names: Vec<_> = seed.tables.iter().map(|table| table.name.as_str()).collect();
                assert_eq!(names, [expected, &format!("{expected}-b")], "{template}");
                assert_eq!(seed.tables[0].create["TableName"], expected, "{template}");
            }
        }
    }

    /// A table that its condition excludes needs no name, such as that of a parameter without a value.
    #[test]
    fn names_of_tables_that_conditions_exclude() {
        let unknown = "the parameter Name has no default value";
        for (condition, name, expected) in [
            ("No", "!Ref Name", Ok(())),
            ("No", "!Ref Nothing", Ok(())),
            ("No", "[a]", Ok(())),
            ("Yes", "a", Ok(())),
            ("Yes", "!Ref Name", Err(unknown)),
        ] {
            let template = format!(
                "Parameters: {{Name: {{Type: String}}}}\n\
                 Conditions: {{Yes: !Equals [a, a], No: !Equals [a, b]}}\n\
                 Resources: {{A: {{Type: {TABLE}, Condition: {condition}, Properties: {{{KEY}, TableName: {name}}}}}}}\n"
            );
            let read = read("x.yaml", &yaml(&template).unwrap());
            let read = read.map(|seed| assert_eq!(seed.tables.len(), usize::from(condition == "Yes"), "{template}"));
            let read = read.map_err(|problem| problem.message);
            assert_eq!(read, expected.map_err(str::to_owned), "{template}");
        }
    }
}
