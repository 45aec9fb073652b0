//! The content of files: tables and their items.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;

use serde_json::{Map, Value as Json, json};

use crate::document::{Node, Value};
use crate::error::{Error, Problem};
use crate::schema;

/// An item as JSON, in DynamoDB's form: `{"id": {"S": "a"}}`.
pub type Item = Map<String, Json>;

/// A table to create, with the settings that CreateTable does not have.
///
/// ```
/// use dynatwin_seed::Seed;
///
/// let file = r#"{"TableName": "Sessions", "BillingMode": "PAY_PER_REQUEST",
///     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
///     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
///     "TimeToLiveSpecification": {"AttributeName": "expiresAt", "Enabled": true}}"#;
/// let seed = Seed::parse("sessions.json", file.as_bytes()).unwrap();
/// assert_eq!(seed.tables[0].name, "Sessions");
/// assert_eq!(seed.tables[0].time_to_live.as_deref(), Some("expiresAt"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The file that it is from.
    pub file: String,
    /// The line at which it begins there, counted from 1.
    pub line: usize,
    /// The name of the table.
    pub name: String,
    /// The request that creates it with CreateTable.
    pub create: Map<String, Json>,
    /// The attribute of its time to live, if that is on.
    pub time_to_live: Option<String>,
    /// UpdateContinuousBackups' `PointInTimeRecoverySpecification`, if recovery is on.
    pub recovery: Option<Json>,
    /// UpdateContributorInsights' `IndexName` and `ContributorInsightsMode` for each resource whose Contributor Insights are on: the
    /// table, without `IndexName`, and its indexes.
    pub insights: Vec<Map<String, Json>>,
}

/// Items of one table, read lazily.
///
/// ```
/// use dynatwin_seed::Seed;
///
/// let file = r#"{"tables": [{"TableName": "Users", "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
///     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}], "Items": [{"id": "a"}]}]}"#;
/// let seed = Seed::parse("users.json", file.as_bytes())?;
/// let items = seed.items.into_iter().next().unwrap();
/// assert_eq!((items.table.as_str(), items.items.count()), ("Users", 1));
/// # Ok::<(), dynatwin_seed::Error>(())
/// ```
pub struct Items {
    /// The name of the table.
    pub table: String,
    /// The items; an error ends them.
    pub items: Box<dyn Iterator<Item = Result<SeedItem, Error>> + Send>,
}

/// An item as in its file, and the line at which it begins.
///
/// ```
/// use dynatwin_seed::{Attributes, SeedItem};
///
/// let attributes = Attributes::Texts(vec![("id".into(), "a".into())]);
/// let item = SeedItem { file: "users.csv".into(), line: 2, attributes };
/// assert_eq!(item.line, 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SeedItem {
    /// The name of the item's file.
    pub file: String,
    /// The line, counted from 1; 0 if the file has none.
    pub line: usize,
    /// The attributes, typed if the file has types.
    pub attributes: Attributes,
}

/// The attributes of an item, typed or as text.
///
/// ```
/// use dynatwin_seed::Attributes;
///
/// let texts = Attributes::Texts(vec![("id".into(), "a".into())]);
/// assert!(matches!(texts, Attributes::Texts(texts) if texts.len() == 1));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Attributes {
    /// Attributes with types, as DynamoDB's JSON has them.
    Typed(Item),
    /// Texts, which key attributes turn into their declared types, and others leave strings.
    Texts(Vec<(String, String)>),
}

impl fmt::Debug for Items {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Items")
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}

/// The tables and items of one or more files.
///
/// ```
/// use dynatwin_seed::Seed;
///
/// let file = r#"{"tables": [{"TableName": "Users", "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
///     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}], "Items": [{"id": "a"}]}]}"#;
/// let seed = Seed::parse("users.json", file.as_bytes())?;
/// assert_eq!((seed.tables.len(), seed.items.len()), (1, 1));
/// # Ok::<(), dynatwin_seed::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Seed {
    /// Tables, in the order of the files.
    pub tables: Vec<Table>,
    /// Items, in the order of the files.
    pub items: Vec<Items>,
}

impl Seed {
    /// Adds another file's tables and items.
    pub fn append(&mut self, mut other: Seed) {
        self.tables.append(&mut other.tables);
        self.items.append(&mut other.items);
    }

    /// Removes the tables with these names and their items, and returns the names that it has found, in alphabetical order.
    ///
    /// ```
    /// use dynatwin_seed::Seed;
    ///
    /// let mut seed = Seed::parse("Users.csv", b"id,age\na,30\n")?;
    /// let names = ["Users".to_owned(), "Orders".to_owned()].into();
    /// assert_eq!(seed.remove_tables(&names), ["Users"]);
    /// assert!(seed.items.is_empty());
    /// # Ok::<(), dynatwin_seed::Error>(())
    /// ```
    pub fn remove_tables(&mut self, names: &HashSet<String>) -> Vec<String> {
        let mut found = BTreeSet::new();
        let mut stays = |name: &String| {
            let is_named = names.contains(name);
            if is_named {
                found.insert(name.clone());
            }
            !is_named
        };
        self.tables.retain(|table| stays(&table.name));
        self.items.retain(|items| stays(&items.table));
        found.into_iter().collect()
    }

    /// Adds the definitions of its tables to those of other seeds. Fails if a table is defined in two ways.
    ///
    /// ```
    /// use dynatwin_seed::Seed;
    ///
    /// let file = |key: &str| format!(
    ///     r#"{{"TableName": "Users", "KeySchema": [{{"AttributeName": "{key}", "KeyType": "HASH"}}],
    ///     "AttributeDefinitions": [{{"AttributeName": "{key}", "AttributeType": "S"}}]}}"#
    /// );
    /// let mut defined = Default::default();
    /// for (name, key, succeeds) in [("a.json", "id", true), ("b.json", "id", true), ("c.json", "name", false)] {
    ///     let seed = Seed::parse(name, file(key).as_bytes())?;
    ///     assert_eq!(seed.add_definitions(&mut defined).is_ok(), succeeds);
    /// }
    /// # Ok::<(), dynatwin_seed::Error>(())
    /// ```
    pub fn add_definitions(&self, defined: &mut HashMap<String, Table>) -> Result<(), Error> {
        for table in &self.tables {
            let first = defined.entry(table.name.clone()).or_insert_with(|| table.clone());
            if !first.is_defined_like(table) {
                let problem = format!("table {} is defined differently in {}", table.name, first.file);
                let error = Error::new(&table.file, problem);
                return Err(if table.line == 0 {
                    error
                } else {
                    error.at_line(table.line)
                });
            }
        }
        Ok(())
    }

    /// Adds items that are all there.
    pub(crate) fn add_items(&mut self, table: &str, items: Vec<SeedItem>) {
        if !items.is_empty() {
            self.items.push(Items {
                table: table.to_owned(),
                items: Box::new(items.into_iter().map(Ok)),
            });
        }
    }
}

impl Table {
    /// Whether both have the same settings, wherever they are from.
    pub(crate) fn is_defined_like(&self, other: &Table) -> bool {
        self.create == other.create
            && self.time_to_live == other.time_to_live
            && self.recovery == other.recovery
            && self.insights == other.insights
    }

    /// A table of CreateTable's members and those of neighbouring operations.
    pub(crate) fn new(file: &str, node: &Node, mut members: Map<String, Json>) -> Result<Table, Problem> {
        let name = match members.get("TableName") {
            Some(Json::String(name)) => name.clone(),
            _ => return Err(node.problem("the table has no TableName")),
        };
        for required in ["KeySchema", "AttributeDefinitions"] {
            if !members.contains_key(required) {
                return Err(node.problem(format!("the table {name} has no {required}")));
            }
        }
        let time_to_live = members
            .remove("TimeToLiveSpecification")
            .filter(|specification| specification["Enabled"] != Json::Bool(false))
            .map(|specification| match &specification["AttributeName"] {
                Json::String(attribute) => Ok(attribute.clone()),
                _ => Err(node.problem(format!("TimeToLiveSpecification of {name} has no AttributeName"))),
            })
            .transpose()?;
        let recovery = members
            .remove("PointInTimeRecoverySpecification")
            .filter(|specification| specification["PointInTimeRecoveryEnabled"] == Json::Bool(true));
        default_billing(&mut members);
        Ok(Table {
            file: file.to_owned(),
            line: node.line,
            name,
            create: members,
            time_to_live,
            recovery,
            insights: Vec::new(),
        })
    }

    /// Changes the name under which the table is created.
    pub(crate) fn rename(&mut self, name: &str) {
        name.clone_into(&mut self.name);
        self.create.insert("TableName".into(), name.into());
    }

    /// A table in CreateTable's form, without the members in `beside`, which the caller reads.
    pub(crate) fn of_create_table(file: &str, node: &Node, beside: &[&str]) -> Result<Table, Problem> {
        let own = Node {
            line: node.line,
            value: Value::Object(
                node.object("a table")?
                    .iter()
                    .filter(|(name, _)| !beside.contains(&name.as_str()))
                    .cloned()
                    .collect(),
            ),
        };
        Table::new(file, node, schema::members(&own, schema::CREATE_TABLE, "a table")?)
    }

    /// A table in the form of DescribeTable's answer, with the settings that a copy writes beside `Table`. Other members are those
    /// of a client, such as the metadata of the response.
    pub(crate) fn of_definition(file: &str, node: &Node) -> Result<Table, Problem> {
        let beside = node.object("a definition")?.iter();
        let settings = beside.filter(|(name, _)| schema::DEFINITION.iter().any(|(known, _)| known == name));
        let settings = Node::new(node.line, Value::Object(settings.cloned().collect()));
        let mut settings = schema::members(&settings, schema::DEFINITION, "a definition")?;
        let insights = settings.remove("ContributorInsights");
        let description = node.get("Table").ok_or_else(|| node.problem("there is no Table"))?;
        let mut table = Table::described(file, description, settings)?;
        if let Some(Json::Array(insights)) = insights {
            let each = insights.into_iter().filter_map(|insights| match insights {
                Json::Object(members) => Some(members),
                _ => None,
            });
            table.insights.extend(each);
        }
        Ok(table)
    }

    /// A table in the form of DescribeTable's `Table`.
    pub(crate) fn of_description(file: &str, node: &Node) -> Result<Table, Problem> {
        Table::described(file, node, Map::new())
    }

    /// A table of a description and members of CreateTable's that a description does not have.
    fn described(file: &str, node: &Node, settings: Map<String, Json>) -> Result<Table, Problem> {
        let mut members = schema::members(node, schema::TABLE_DESCRIPTION, "a table description")?;
        let summary = members.remove("BillingModeSummary");
        let on_demand = summary.is_some_and(|summary| summary["BillingMode"] == "PAY_PER_REQUEST");
        let mode = if on_demand { "PAY_PER_REQUEST" } else { "PROVISIONED" };
        members.insert("BillingMode".into(), mode.into());
        if let Some(class) = members.remove("TableClassSummary") {
            members.insert("TableClass".into(), class["TableClass"].clone());
        }
        let indexes = members.get_mut("GlobalSecondaryIndexes").and_then(Json::as_array_mut);
        for index in indexes.into_iter().flatten().filter_map(Json::as_object_mut) {
            drop_description(index, on_demand);
        }
        drop_description(&mut members, on_demand);
        members.extend(settings);
        Table::new(file, node, members)
    }
}

/// Removes members that a description has and a request cannot have: throughput of 0 units in on-demand mode, unlimited
/// throughput as -1, and warm throughput, which the service chooses.
fn drop_description(members: &mut Map<String, Json>, on_demand: bool) {
    if on_demand {
        members.remove("ProvisionedThroughput");
    }
    members.remove("WarmThroughput");
    if let Some(limits) = members.get_mut("OnDemandThroughput").and_then(Json::as_object_mut) {
        limits.retain(|_, limit| limit.as_i64().is_some_and(|limit| limit >= 0));
    }
    let unlimited = |limits: &Json| limits.as_object().is_none_or(Map::is_empty);
    if members.get("OnDemandThroughput").is_some_and(unlimited) {
        members.remove("OnDemandThroughput");
    }
}

/// A table without a billing mode or throughput becomes on-demand.
fn default_billing(members: &mut Map<String, Json>) {
    if !members.contains_key("BillingMode") && !members.contains_key("ProvisionedThroughput") {
        members.insert("BillingMode".into(), json!("PAY_PER_REQUEST"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;

    /// What a description has and a request cannot have is left out.
    #[test]
    fn descriptions_become_requests() {
        let key = json!([{"AttributeName": "id", "KeyType": "HASH"}]);
        let attributes = json!([{"AttributeName": "id", "AttributeType": "S"}]);
        let described = |members: Json| {
            let mut table = json!({"TableName": "T", "KeySchema": key, "AttributeDefinitions": attributes});
            for (name, value) in members.as_object().unwrap() {
                table[name] = value.clone();
            }
            table
        };
        // Three indexes with the same members.
        let indexes = |members: Json| {
            ["i", "j", "k"].map(|name| {
                let mut index = json!({"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": "ALL"}});
                for (name, value) in members.as_object().unwrap() {
                    index[name] = value.clone();
                }
                index
            })
        };
        let stream = json!({"StreamEnabled": true, "StreamViewType": "OLD_IMAGE"});
        let none = json!({"ReadCapacityUnits": 0, "WriteCapacityUnits": 0, "NumberOfDecreasesToday": 0});
        let some = json!({"ReadCapacityUnits": 3, "WriteCapacityUnits": 4});
        let warm = json!({"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000, "Status": "ACTIVE"});
        let unlimited = json!({"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": -1});
        let limited = json!({"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 5});
        for (description, request) in [
            (
                json!({"BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}, "ProvisionedThroughput": none,
                    "OnDemandThroughput": limited, "WarmThroughput": warm, "ItemCount": 3, "TableStatus": "ACTIVE",
                    "TableClassSummary": {"TableClass": "STANDARD_INFREQUENT_ACCESS", "LastUpdateDateTime": 1.5},
                    "DeletionProtectionEnabled": true,
                    "GlobalSecondaryIndexes": indexes(json!({"ProvisionedThroughput": none, "WarmThroughput": warm,
                        "OnDemandThroughput": unlimited, "IndexStatus": "ACTIVE", "ItemCount": 0}))}),
                json!({"BillingMode": "PAY_PER_REQUEST", "OnDemandThroughput": {"MaxWriteRequestUnits": 5},
                    "TableClass": "STANDARD_INFREQUENT_ACCESS", "DeletionProtectionEnabled": true,
                    "GlobalSecondaryIndexes": indexes(json!({}))}),
            ),
            (
                json!({"ProvisionedThroughput": some, "WarmThroughput": warm, "DeletionProtectionEnabled": false,
                    "GlobalSecondaryIndexes": indexes(json!({"ProvisionedThroughput": some, "WarmThroughput": warm})),
                    "LocalSecondaryIndexes": indexes(json!({"IndexSizeBytes": 5, "ItemCount": 1, "IndexArn": "a"}))}),
                json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": some, "DeletionProtectionEnabled": false,
                    "GlobalSecondaryIndexes": indexes(json!({"ProvisionedThroughput": some})),
                    "LocalSecondaryIndexes": indexes(json!({}))}),
            ),
            (
                json!({"BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}, "StreamSpecification": stream,
                    "GlobalSecondaryIndexes": indexes(json!({"OnDemandThroughput": limited}))}),
                json!({"BillingMode": "PAY_PER_REQUEST", "StreamSpecification": stream,
                    "GlobalSecondaryIndexes": indexes(json!({"OnDemandThroughput": {"MaxWriteRequestUnits": 5}}))}),
            ),
            (
                json!({"BillingModeSummary": {"BillingMode": "PROVISIONED"}, "ProvisionedThroughput": some}),
                json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": some}),
            ),
        ] {
            let text = described(description).to_string();
            let table = Table::of_description("x.json", &document::json(&text).unwrap()).unwrap();
            assert_eq!(Json::Object(table.create), described(request), "{text}");
        }
    }

    /// A table that is defined in two ways is named with the file and line of the second definition, if it has lines. Tables
    /// beside it may be defined in one way in both files, or in the second alone.
    #[test]
    fn tables_are_defined_once() {
        let named = |name: &str, file: &str, line: usize, key: &str| Table {
            file: file.to_owned(),
            line,
            name: name.to_owned(),
            create: json!({"TableName": name, "KeySchema": key})
                .as_object()
                .unwrap()
                .clone(),
            time_to_live: None,
            recovery: None,
            insights: Vec::new(),
        };
        let table = |file: &str, line: usize, key: &str| named("Users", file, line, key);
        let differs = Some("b.json:1: table Users is defined differently in a.json");
        for (second, expected) in [
            (table("b.json", 1, "id"), None),
            (
                Table {
                    time_to_live: Some("expires".into()),
                    ..table("b.json", 1, "id")
                },
                differs,
            ),
            (
                Table {
                    recovery: Some(json!({"PointInTimeRecoveryEnabled": true})),
                    ..table("b.json", 1, "id")
                },
                differs,
            ),
            (
                Table {
                    insights: vec![Map::new()],
                    ..table("b.json", 1, "id")
                },
                differs,
            ),
            (
                table("b.json", 1, "name"),
                Some("b.json:1: table Users is defined differently in a.json"),
            ),
            (
                table("b.json", 7, "name"),
                Some("b.json:7: table Users is defined differently in a.json"),
            ),
            (
                table("b.db", 0, "name"),
                Some("b.db: table Users is defined differently in a.json"),
            ),
        ] {
            let first = table("a.json", 3, "id");
            let seed = |tables: Vec<Table>| Seed {
                tables,
                items: Vec::new(),
            };
            for others in [&[][..], &["Orders"], &["Orders", "Items"]] {
                for at in 0..=others.len() {
                    let beside = |table: &Table| {
                        let tables = others.iter().map(|name| named(name, &table.file, 9, "id"));
                        let mut tables: Vec<_> = tables.collect();
                        tables.insert(at, table.clone());
                        tables
                    };
                    let mut defined = HashMap::new();
                    seed(beside(&first)).add_definitions(&mut defined).unwrap();
                    let mut tables = beside(&second);
                    tables.push(named("New", "b.json", 1, "id"));
                    let found = seed(tables).add_definitions(&mut defined);
                    let found = found.err().map(|error| error.to_string());
                    assert_eq!(found.as_deref(), expected, "{others:?} at {at}");
                    assert_eq!(defined["Users"], first);
                    assert_eq!(defined.contains_key("New"), expected.is_none(), "{others:?} at {at}");
                }
            }
        }
    }

    /// A description also has the history of the table, and its part in a global one.
    #[test]
    fn descriptions_may_have_a_history() {
        let key = json!([{"AttributeName": "id", "KeyType": "HASH"}]);
        let units = json!({"ReadCapacityUnits": 3, "WriteCapacityUnits": 4});
        let changed = |name: &str| {
            let mut changed = units.clone();
            changed[name] = json!(1_767_225_600.5);
            changed
        };
        let index = |units: &Json| {
            json!([{"IndexName": "i", "KeySchema": key, "Projection": {"ProjectionType": "ALL"},
                "ProvisionedThroughput": units}])
        };
        let plain = json!({"TableName": "T", "KeySchema": key, "ProvisionedThroughput": units,
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "GlobalSecondaryIndexes": index(&units)});
        let read = |description: &Json| {
            let node = document::json(&description.to_string()).unwrap();
            Table::of_description("x.json", &node).map(|table| Json::Object(table.create))
        };
        let expected = read(&plain);
        assert!(expected.is_ok(), "{expected:?}");
        for (member, value) in [
            (
                "ArchivalSummary",
                json!({"ArchivalDateTime": 1.5, "ArchivalReason": "INACCESSIBLE_ENCRYPTION_CREDENTIALS"}),
            ),
            ("BillingModeSummary", json!({"BillingMode": "PROVISIONED"})),
            (
                "BillingModeSummary",
                json!({"BillingMode": "PROVISIONED", "LastUpdateToPayPerRequestDateTime": 1.5}),
            ),
            ("CreationDateTime", json!(1.5)),
            ("DisassociationProtectionEnabled", json!(true)),
            ("GlobalSecondaryIndexes", index(&changed("LastDecreaseDateTime"))),
            ("GlobalSecondaryIndexes", index(&changed("LastIncreaseDateTime"))),
            ("GlobalTableSettingsReplicationMode", json!("ENABLED")),
            ("GlobalTableVersion", json!("2019.11.21")),
            (
                "GlobalTableWitnesses",
                json!([{"RegionName": "us-west-2", "WitnessStatus": "ACTIVE"}]),
            ),
            ("LatestStreamArn", json!("arn")),
            ("LatestStreamLabel", json!("2026-01-01T00:00:00.000")),
            ("MultiRegionConsistency", json!("STRONG")),
            ("ProvisionedThroughput", changed("LastDecreaseDateTime")),
            ("ProvisionedThroughput", changed("LastIncreaseDateTime")),
            (
                "Replicas",
                json!([{"RegionName": "eu-west-1", "ReplicaStatus": "ACTIVE"}]),
            ),
            (
                "RestoreSummary",
                json!({"RestoreDateTime": 1.5, "RestoreInProgress": false, "SourceTableArn": "arn"}),
            ),
            ("SSEDescription", json!({"Status": "ENABLED", "SSEType": "KMS"})),
        ] {
            let mut description = plain.clone();
            description[member] = value;
            assert_eq!(read(&description), expected, "{description}");
        }
    }

    /// The tables of a seed and their items are removed together, whether the seed has both or not.
    #[test]
    fn named_tables_are_removed_with_their_items() {
        let key = json!([{"AttributeName": "id", "KeyType": "HASH"}]);
        let attributes = json!([{"AttributeName": "id", "AttributeType": "S"}]);
        let table = |name: &str| json!({"TableName": name, "KeySchema": key, "AttributeDefinitions": attributes});
        let text = json!({"tables": [table("Both"), table("Empty"), table("Kept")],
            "items": {"Both": [{"id": "a"}], "Items": [{"id": "b"}], "Kept": [{"id": "c"}], "Also": [{"id": "d"}]}});
        for (names, found, tables, items) in [
            (&[][..], &[][..], "Both Empty Kept", "Also Both Items Kept"),
            // Parts of names, longer names, and names in another case.
            (
                &["Bot", "Item", "Keptt", "Emptyy", "lso", "both", "ITEMS"],
                &[],
                "Both Empty Kept",
                "Also Both Items Kept",
            ),
            (&["Other"], &[], "Both Empty Kept", "Also Both Items Kept"),
            (&["Both"], &["Both"], "Empty Kept", "Also Items Kept"),
            (&["Empty"], &["Empty"], "Both Kept", "Also Both Items Kept"),
            (&["Items"], &["Items"], "Both Empty Kept", "Also Both Kept"),
            (&["Items", "Empty"], &["Empty", "Items"], "Both Kept", "Also Both Kept"),
            (
                &["Items", "Other", "Both", "Empty"],
                &["Both", "Empty", "Items"],
                "Kept",
                "Also Kept",
            ),
            (
                &["Kept", "Items", "Empty", "Both", "Also"],
                &["Also", "Both", "Empty", "Items", "Kept"],
                "",
                "",
            ),
        ] {
            let mut seed = Seed::parse("x.json", text.to_string().as_bytes()).unwrap();
            let names: HashSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(seed.remove_tables(&names), found, "{names:?}");
            let left: Vec<_> = seed.tables.iter().map(|table| table.name.as_str()).collect();
            assert_eq!(left.join(" "), tables, "{names:?}");
            let left: Vec<_> = seed.items.iter().map(|items| items.table.as_str()).collect();
            assert_eq!(left.join(" "), items, "{names:?}");
        }
    }
}
