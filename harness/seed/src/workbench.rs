//! Data models of NoSQL Workbench.

use serde_json::{Map, Value as Json, json};

use crate::document::{Node, Value};
use crate::error::Problem;
use crate::items;
use crate::schema;
use crate::seed::{Attributes, Seed, SeedItem, Table};

/// The tables of a model with their sample data.
pub(crate) fn read(file: &str, root: &Node) -> Result<Seed, Problem> {
    let mut seed = Seed::default();
    let models = root
        .get("DataModel")
        .ok_or_else(|| root.problem("the model has no DataModel"))?;
    for model in models.list("DataModel")? {
        let table = table(file, model)?;
        let mut rows = Vec::new();
        let data = model.get("TableData").filter(|data| data.value != Value::Null);
        for row in data.map_or(Ok(&[][..]), |data| data.list("TableData"))? {
            rows.push(SeedItem {
                file: file.to_owned(),
                line: row.line,
                attributes: Attributes::Typed(items::typed(row)?),
            });
        }
        seed.add_items(&table.name, rows);
        seed.tables.push(table);
    }
    Ok(seed)
}

fn table(file: &str, model: &Node) -> Result<Table, Problem> {
    let mut members = Map::new();
    let mut definitions: Vec<Json> = Vec::new();
    let mut throughput = None;
    for (name, node) in model.object("a table of the model")? {
        match name.as_str() {
            "TableName" => drop(members.insert(name.clone(), node.text(name)?.into())),
            "KeyAttributes" => drop(members.insert("KeySchema".into(), keys(node, &mut definitions)?)),
            "GlobalSecondaryIndexes" | "LocalSecondaryIndexes" => {
                let indexes = node.list(name)?.iter().map(|node| index(node, &mut definitions));
                let indexes = indexes.collect::<Result<Vec<_>, _>>()?;
                if !indexes.is_empty() {
                    members.insert(name.clone(), Json::Array(indexes));
                }
            }
            "BillingMode" => drop(members.insert(name.clone(), node.text(name)?.into())),
            "ProvisionedCapacitySettings" => throughput = units(node)?,
            // Documentation, sample formats and views of the model.
            "DataAccess"
            | "NonKeyAttributes"
            | "SampleDataFormats"
            | "TableData"
            | "TableFacets"
            | "TableDescription"
            | "ProvisionedThroughput" => {}
            _ => return Err(node.problem(format!("`{name}` is not a member of a table of the model"))),
        }
    }
    members.insert("AttributeDefinitions".into(), Json::Array(definitions));
    match throughput {
        Some(throughput) if members.get("BillingMode") != Some(&json!("PAY_PER_REQUEST")) => {
            let indexes = members.get_mut("GlobalSecondaryIndexes").and_then(Json::as_array_mut);
            for index in indexes.into_iter().flatten().filter_map(Json::as_object_mut) {
                index
                    .entry("ProvisionedThroughput")
                    .or_insert_with(|| throughput.clone());
            }
            members.insert("ProvisionedThroughput".into(), throughput);
        }
        _ => drop(members.insert("BillingMode".into(), json!("PAY_PER_REQUEST"))),
    }
    Table::new(file, model, members)
}

/// The key of a table or index. Its attributes are added to the definitions.
fn keys(node: &Node, definitions: &mut Vec<Json>) -> Result<Json, Problem> {
    let mut keys = Vec::new();
    for (role, attribute) in node.object("KeyAttributes")? {
        let kind = match role.as_str() {
            "PartitionKey" => "HASH",
            "SortKey" => "RANGE",
            _ => return Err(attribute.problem(format!("`{role}` is not a member of KeyAttributes"))),
        };
        let member = |name: &str| {
            let node = attribute.get(name);
            node.ok_or_else(|| attribute.problem(format!("{role} has no {name}")))?
                .text(name)
        };
        let (name, of_type) = (member("AttributeName")?, member("AttributeType")?);
        keys.push(json!({"AttributeName": name, "KeyType": kind}));
        if !definitions.iter().any(|there| there["AttributeName"] == name) {
            definitions.push(json!({"AttributeName": name, "AttributeType": of_type}));
        }
    }
    keys.sort_by_key(|key| key["KeyType"] == "RANGE");
    Ok(Json::Array(keys))
}

fn index(node: &Node, definitions: &mut Vec<Json>) -> Result<Json, Problem> {
    let mut index = Map::new();
    for (name, member) in node.object("an index")? {
        match name.as_str() {
            "KeyAttributes" => drop(index.insert("KeySchema".into(), keys(member, definitions)?)),
            "IndexName" | "Projection" => {
                let alone = Node::new(member.line, Value::Object(vec![(name.clone(), member.clone())]));
                index.extend(schema::members(&alone, schema::INDEX, "an index")?);
            }
            "NonKeyAttributes" | "IndexDescription" | "ProvisionedCapacitySettings" => {}
            _ => return Err(member.problem(format!("`{name}` is not a member of an index"))),
        }
    }
    index
        .entry("Projection")
        .or_insert_with(|| json!({"ProjectionType": "ALL"}));
    Ok(Json::Object(index))
}

/// The throughput of a table's settings, if they have any.
fn units(settings: &Node) -> Result<Option<Json>, Problem> {
    let Some(throughput) = settings.get("ProvisionedThroughput") else {
        return Ok(None);
    };
    let unit = |name: &str| throughput.get(name).map(|units| units.integer(name)).transpose();
    let (read, write) = (unit("ReadCapacityUnits")?, unit("WriteCapacityUnits")?);
    Ok(read
        .zip(write)
        .map(|(read, write)| json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write})))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;

    fn tables(more: &Json) -> Result<Vec<Table>, Problem> {
        let mut table = json!({"TableName": "T", "KeyAttributes": {
            "PartitionKey": {"AttributeName": "id", "AttributeType": "S"}}});
        for (name, value) in more.as_object().unwrap() {
            table[name] = value.clone();
        }
        let model = json!({"DataModel": [table]}).to_string();
        read("x.json", &document::json(&model)?).map(|seed| seed.tables)
    }

    #[test]
    fn every_member_of_a_table() {
        let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
        let settings = json!({"ProvisionedThroughput": {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4}});
        let units = &settings["ProvisionedThroughput"];
        let id = json!({"AttributeName": "id", "AttributeType": "S"});
        let index = |name: &str, sort: &str| {
            json!({"IndexName": name, "IndexDescription": "d", "NonKeyAttributes": [], "ProvisionedCapacitySettings": {},
                "KeyAttributes": {"PartitionKey": id, "SortKey": {"AttributeName": sort, "AttributeType": "N"}}})
        };
        let keys = |sort: &str| json!([key("id")[0], {"AttributeName": sort, "KeyType": "RANGE"}]);
        let sort = |name: &str| json!({"AttributeName": name, "AttributeType": "N"});
        let made = |name: &str, sort: &str, units: Option<&Json>| {
            let mut made = json!({"IndexName": name, "KeySchema": keys(sort), "Projection": {"ProjectionType": "ALL"}});
            if let Some(units) = units {
                made["ProvisionedThroughput"] = units.clone();
            }
            made
        };
        for (more, expected) in [
            (
                json!({"DataAccess": {}, "NonKeyAttributes": [], "SampleDataFormats": {}, "TableData": null,
                    "TableFacets": [], "TableDescription": "d", "ProvisionedThroughput": {}, "GlobalSecondaryIndexes": []}),
                json!({"AttributeDefinitions": [id], "BillingMode": "PAY_PER_REQUEST"}),
            ),
            (
                json!({"BillingMode": "PAY_PER_REQUEST", "ProvisionedCapacitySettings": settings}),
                json!({"AttributeDefinitions": [id], "BillingMode": "PAY_PER_REQUEST"}),
            ),
            (
                json!({"BillingMode": "PROVISIONED", "ProvisionedCapacitySettings": {}}),
                json!({"AttributeDefinitions": [id], "BillingMode": "PAY_PER_REQUEST"}),
            ),
            (
                json!({"ProvisionedCapacitySettings": settings, "GlobalSecondaryIndexes": [index("g", "a"), index("h", "c")],
                    "LocalSecondaryIndexes": [index("l", "b"), index("m", "d")]}),
                json!({"AttributeDefinitions": [sort("a"), sort("c"), sort("b"), sort("d")], "ProvisionedThroughput": units,
                    "GlobalSecondaryIndexes": [made("g", "a", Some(units)), made("h", "c", Some(units))],
                    "LocalSecondaryIndexes": [made("l", "b", None), made("m", "d", None)]}),
            ),
        ] {
            let mut expected = expected;
            let attributes = expected["AttributeDefinitions"].as_array_mut().unwrap();
            if attributes[0] != id {
                attributes.insert(0, id.clone());
            }
            (expected["TableName"], expected["KeySchema"]) = ("T".into(), key("id"));
            let table = tables(&more).unwrap().remove(0);
            assert_eq!(Json::Object(table.create), expected, "{more}");
        }
    }

    /// An attribute of several keys is defined once; those whose names are similar are others.
    #[test]
    fn attributes_of_keys_are_defined_once() {
        let key = |name: &str, kind: &str| json!({"PartitionKey": {"AttributeName": name, "AttributeType": kind}});
        let names = [
            ("id", "S"),
            ("ID", "N"),
            ("i", "B"),
            ("id2", "S"),
            ("ID", "N"),
            ("id", "S"),
        ];
        let indexes = names.iter().enumerate();
        let indexes = indexes
            .map(|(at, (name, kind))| json!({"IndexName": format!("i{at}"), "KeyAttributes": key(name, kind)}))
            .collect::<Json>();
        let table = tables(&json!({"GlobalSecondaryIndexes": indexes})).unwrap().remove(0);
        let defined = names[..4].iter();
        let defined = defined.map(|(name, kind)| json!({"AttributeName": name, "AttributeType": kind}));
        assert_eq!(table.create["AttributeDefinitions"], defined.collect::<Json>());
    }

    /// An index has the projection that the model gives it, and otherwise all attributes.
    #[test]
    fn indexes_have_their_projection() {
        let projections = [
            None,
            Some(json!({"ProjectionType": "ALL"})),
            Some(json!({"ProjectionType": "KEYS_ONLY"})),
            Some(json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x", "y"]})),
        ];
        let key = json!({"PartitionKey": {"AttributeName": "id", "AttributeType": "S"}});
        for list in ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"] {
            for first in 0..projections.len() {
                let mut projections = projections.clone();
                projections.rotate_left(first);
                let indexes = projections.iter().enumerate().map(|(at, projection)| {
                    let mut index = json!({"IndexName": format!("i{at}"), "KeyAttributes": key});
                    if let Some(projection) = projection {
                        index["Projection"] = projection.clone();
                    }
                    index
                });
                let mut more = json!({});
                more[list] = indexes.collect();
                let table = tables(&more).unwrap().remove(0);
                let found = table.create[list].as_array().unwrap().iter();
                let found: Vec<_> = found.map(|index| index["Projection"].clone()).collect();
                let all = json!({"ProjectionType": "ALL"});
                let expected = projections.map(|projection| projection.unwrap_or_else(|| all.clone()));
                assert_eq!(found, expected, "{more}");
            }
        }
    }

    #[test]
    fn unknown_members_are_refused() {
        for (more, message) in [
            (json!({"Shards": 1}), "`Shards` is not a member of a table of the model"),
            (
                json!({"KeyAttributes": {"Shards": {}}}),
                "`Shards` is not a member of KeyAttributes",
            ),
            (
                json!({"KeyAttributes": {"SortKey": {}}}),
                "SortKey has no AttributeName",
            ),
            (
                json!({"GlobalSecondaryIndexes": [{"Shards": 1}]}),
                "`Shards` is not a member of an index",
            ),
        ] {
            assert_eq!(tables(&more).unwrap_err().message, message, "{more}");
        }
    }

    /// A table is provisioned if it has units of both kinds.
    #[test]
    fn units_of_tables() {
        for (units, expected) in [
            (json!({"ReadCapacityUnits": 1, "WriteCapacityUnits": 2}), Some((1, 2))),
            (
                json!({"ReadCapacityUnits": "3", "WriteCapacityUnits": "4"}),
                Some((3, 4)),
            ),
            (json!({"ReadCapacityUnits": 1}), None),
            (json!({"WriteCapacityUnits": 1}), None),
            (json!({}), None),
        ] {
            let settings = json!({"ProvisionedCapacitySettings": {"ProvisionedThroughput": units}});
            let table = tables(&settings).unwrap().remove(0);
            let throughput =
                expected.map(|(read, write)| json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write}));
            assert_eq!(
                table.create.get("ProvisionedThroughput"),
                throughput.as_ref(),
                "{units}"
            );
            let mode = expected.is_none().then(|| json!("PAY_PER_REQUEST"));
            assert_eq!(table.create.get("BillingMode"), mode.as_ref(), "{units}");
        }
    }

    /// Sample data are items in DynamoDB's form, at their lines.
    #[test]
    fn sample_data_are_items() {
        let model = |data: &str| {
            let key = r#"{"PartitionKey": {"AttributeName": "id", "AttributeType": "S"}}"#;
            let text =
                format!(r#"{{"DataModel": [{{"TableName": "T", "KeyAttributes": {key}, "TableData": {data}}}]}}"#);
            read("x.json", &document::json(&text)?)
        };
        for (data, lines) in [
            ("null", &[][..]),
            ("[]", &[]),
            (r#"[{"id": {"S": "a"}}]"#, &[1]),
            ("[\n{\"id\": {\"S\": \"a\"}},\n\n{\"id\": {\"S\": \"b\"}}]", &[2, 4]),
        ] {
            let seed = model(data).unwrap();
            let items = seed.items.into_iter().flat_map(|items| items.items);
            let found: Vec<_> = items.map(|item| item.unwrap().line).collect();
            assert_eq!((seed.tables.len(), found.as_slice()), (1, lines), "{data}");
        }
        // Tables of a model may have none.
        let data = [
            None,
            Some(json!(null)),
            Some(json!([])),
            Some(json!([{"id": {"S": "a"}}])),
        ];
        for first in 0..data.len() {
            let mut tables = Vec::new();
            for at in 0..data.len() {
                let key = json!({"PartitionKey": {"AttributeName": "id", "AttributeType": "S"}});
                let mut table = json!({"TableName": format!("T{at}"), "KeyAttributes": key});
                if let Some(data) = &data[(first + at) % data.len()] {
                    table["TableData"] = data.clone();
                }
                tables.push(table);
            }
            let text = json!({"DataModel": tables}).to_string();
            let seed = read("x.json", &document::json(&text).unwrap()).unwrap();
            let names: Vec<_> = seed.tables.iter().map(|table| table.name.as_str()).collect();
            assert_eq!(names, ["T0", "T1", "T2", "T3"], "{text}");
            let filled = seed.items.into_iter().flat_map(|items| {
                let table = items.table;
                items.items.map(move |_| table.clone())
            });
            assert_eq!(
                filled.collect::<Vec<_>>(),
                [format!("T{}", data.len() - 1 - first)],
                "{text}"
            );
        }
        for (data, line, message) in [
            ("{}", 1, "TableData is an object, not a list"),
            ("[\n1]", 2, "an item is a number, not an object"),
            (
                "[{},\n{\"id\": \"a\"}]",
                2,
                r#"the value of `id` is not in DynamoDB's form, such as {"S": "text"}"#,
            ),
        ] {
            let problem = model(data).unwrap_err();
            assert_eq!((problem.line, problem.message.as_str()), (line, message), "{data}");
        }
    }
}
