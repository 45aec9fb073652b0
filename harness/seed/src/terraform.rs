//! Tables and items in the output of `terraform show -json` for a plan or state.

use serde_json::{Map, Value as Json, json};

use crate::document::{self, Node, Value};
use crate::error::Problem;
use crate::items;
use crate::seed::{Attributes, Seed, SeedItem, Table};

/// How deeply modules may be nested.
const DEPTH: usize = 32;

/// The tables of a plan or state, and the items of `aws_dynamodb_table_item`.
pub(crate) fn read(file: &str, root: &Node) -> Result<Seed, Problem> {
    let values = root.get("planned_values").or_else(|| root.get("values"));
    let module = values.and_then(|values| values.get("root_module"));
    let module = module.ok_or_else(|| root.problem("the plan has no planned_values.root_module"))?;
    let mut seed = Seed::default();
    read_module(file, module, &mut seed, 0)?;
    Ok(seed)
}

fn read_module(file: &str, module: &Node, seed: &mut Seed, depth: usize) -> Result<(), Problem> {
    if depth > DEPTH {
        return Err(module.problem("modules are nested too deeply"));
    }
    for resource in optional_list(module, "resources")? {
        let kind = resource.get("type").map_or(Ok(""), |kind| kind.text("type"))?;
        let values = || {
            resource
                .get("values")
                .ok_or_else(|| resource.problem("the resource has no values"))
        };
        match kind {
            "aws_dynamodb_table" => seed.tables.push(table(file, values()?)?),
            "aws_dynamodb_table_item" => {
                let (table, item) = item(file, values()?)?;
                seed.add_items(&table, vec![item]);
            }
            _ => {}
        }
    }
    for child in optional_list(module, "child_modules")? {
        read_module(file, child, seed, depth + 1)?;
    }
    Ok(())
}

fn optional_list<'n>(node: &'n Node, name: &str) -> Result<&'n [Node], Problem> {
    match node.get(name) {
        None => Ok(&[]),
        Some(list) if list.value == Value::Null => Ok(&[]),
        Some(list) => list.list(name),
    }
}

fn item(file: &str, values: &Node) -> Result<(String, SeedItem), Problem> {
    let text = |name: &str| {
        let node = values
            .get(name)
            .ok_or_else(|| values.problem(format!("the item has no {name}")))?;
        node.text(name)
    };
    let item = document::json(text("item")?).map_err(|problem| values.problem(problem.message))?;
    let attributes = Attributes::Typed(items::typed(&item)?);
    let item = SeedItem {
        file: file.to_owned(),
        line: values.line,
        attributes,
    };
    Ok((text("table_name")?.to_owned(), item))
}

/// A table of the provider's resource, in CreateTable's form.
fn table(file: &str, values: &Node) -> Result<Table, Problem> {
    let mut members = Map::new();
    let mut keys = Vec::new();
    let mut throughput = Map::new();
    let mut stream = Map::new();
    for (name, node) in values.object("aws_dynamodb_table")? {
        if is_empty(node) {
            continue;
        }
        let mut put = |member: &str, value: Json| {
            members.insert(member.to_owned(), value);
        };
        match name.as_str() {
            "name" => put("TableName", node.text(name)?.into()),
            "billing_mode" => put("BillingMode", node.text(name)?.into()),
            "hash_key" => keys.insert(0, key(node.text(name)?, "HASH")),
            "range_key" => keys.push(key(node.text(name)?, "RANGE")),
            "attribute" => put("AttributeDefinitions", each(node, attribute)?),
            "global_secondary_index" => put("GlobalSecondaryIndexes", each(node, index)?),
            "local_secondary_index" => put("LocalSecondaryIndexes", each(node, index)?),
            "read_capacity" => drop(throughput.insert("ReadCapacityUnits".into(), node.integer(name)?.into())),
            "write_capacity" => drop(throughput.insert("WriteCapacityUnits".into(), node.integer(name)?.into())),
            "stream_enabled" => drop(stream.insert("StreamEnabled".into(), node.flag(name)?.into())),
            "stream_view_type" => drop(stream.insert("StreamViewType".into(), node.text(name)?.into())),
            "table_class" => put("TableClass", node.text(name)?.into()),
            "deletion_protection_enabled" => put("DeletionProtectionEnabled", node.flag(name)?.into()),
            "on_demand_throughput" => put(
                "OnDemandThroughput",
                limits(
                    node,
                    &[
                        ("max_read_request_units", "MaxReadRequestUnits"),
                        ("max_write_request_units", "MaxWriteRequestUnits"),
                    ],
                )?,
            ),
            "warm_throughput" => {
                if let Some(units) = warm_throughput(node)? {
                    put("WarmThroughput", units);
                }
            }
            "ttl" => put("TimeToLiveSpecification", time_to_live(node)?),
            "point_in_time_recovery" => put("PointInTimeRecoverySpecification", recovery(node)?),
            "tags" => {
                let tags = node.object(name)?.iter();
                let tags = tags.map(|(key, value)| Ok(json!({"Key": key, "Value": value.text("a tag")?})));
                put("Tags", Json::Array(tags.collect::<Result<_, Problem>>()?));
            }
            // Members that do not describe the table, belong to other regions, or are computed.
            "arn"
            | "id"
            | "import_table"
            | "region"
            | "replica"
            | "restore_backup_arn"
            | "restore_date_time"
            | "restore_source_name"
            | "restore_source_table_arn"
            | "restore_to_latest_time"
            | "server_side_encryption"
            | "stream_arn"
            | "stream_label"
            | "tags_all"
            | "timeouts"
            | "global_table_witness"
            | "global_table_settings_replication_mode" => {}
            _ => return Err(unknown(node, name, "aws_dynamodb_table")),
        }
    }
    if stream.get("StreamEnabled") == Some(&json!(true)) {
        members.insert("StreamSpecification".into(), Json::Object(stream));
    }
    set_throughput(&mut members, throughput);
    set_keys(&mut members, keys);
    Table::new(file, values, members)
}

fn time_to_live(node: &Node) -> Result<Json, Problem> {
    let block = block(node)?;
    let mut specification = Map::new();
    for (name, node) in block.object("ttl")?.iter().filter(|(_, node)| !is_empty(node)) {
        match name.as_str() {
            "attribute_name" => specification.insert("AttributeName".into(), node.text(name)?.into()),
            "enabled" => specification.insert("Enabled".into(), node.flag(name)?.into()),
            _ => return Err(unknown(node, name, "ttl")),
        };
    }
    // The provider's own default is off.
    specification.entry("Enabled").or_insert(json!(false));
    Ok(Json::Object(specification))
}

fn recovery(node: &Node) -> Result<Json, Problem> {
    let (of, block) = ("point_in_time_recovery", block(node)?);
    let mut specification = Map::new();
    for (name, node) in block.object(of)?.iter().filter(|(_, node)| !is_empty(node)) {
        match name.as_str() {
            "enabled" => specification.insert("PointInTimeRecoveryEnabled".into(), node.flag(name)?.into()),
            "recovery_period_in_days" => {
                specification.insert("RecoveryPeriodInDays".into(), node.integer(name)?.into())
            }
            _ => return Err(unknown(node, name, of)),
        };
    }
    Ok(Json::Object(specification))
}

/// Sets the throughput of a provisioned table, and removes that of the indexes of an on-demand one.
fn set_throughput(members: &mut Map<String, Json>, throughput: Map<String, Json>) {
    if members.get("BillingMode") != Some(&json!("PAY_PER_REQUEST")) {
        members.insert("BillingMode".into(), json!("PROVISIONED"));
        members.insert("ProvisionedThroughput".into(), Json::Object(throughput));
        return;
    }
    let indexes = members.get_mut("GlobalSecondaryIndexes").and_then(Json::as_array_mut);
    for index in indexes.into_iter().flatten().filter_map(Json::as_object_mut) {
        index.remove("ProvisionedThroughput");
    }
}

/// Sets the key of the table. The key of a local index begins with the table's.
fn set_keys(members: &mut Map<String, Json>, keys: Vec<Json>) {
    let partition_key = keys.first().cloned();
    members.insert("KeySchema".into(), Json::Array(keys));
    let indexes = members.get_mut("LocalSecondaryIndexes").and_then(Json::as_array_mut);
    for index in indexes.into_iter().flatten() {
        if let (Some(keys), Some(partition_key)) = (index["KeySchema"].as_array_mut(), &partition_key)
            && keys.first().is_none_or(|first| first["KeyType"] != "HASH")
        {
            keys.insert(0, partition_key.clone());
        }
    }
}

fn unknown(node: &Node, name: &str, what: &str) -> Problem {
    node.problem(format!("`{name}` is not a member of {what}"))
}

/// Whether Terraform writes the value for an attribute that is not set.
fn is_empty(node: &Node) -> bool {
    match &node.value {
        Value::Null => true,
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

fn key(name: &str, kind: &str) -> Json {
    json!({"AttributeName": name, "KeyType": kind})
}

fn each(node: &Node, read: fn(&Node) -> Result<Json, Problem>) -> Result<Json, Problem> {
    let elements = node.list("a block")?.iter().map(read);
    Ok(Json::Array(elements.collect::<Result<_, _>>()?))
}

/// The one block of a list of blocks.
fn block(node: &Node) -> Result<&Node, Problem> {
    match &node.value {
        Value::Array(blocks) => blocks.first().ok_or_else(|| node.problem("the block is empty")),
        _ => Ok(node),
    }
}

/// Limits in units under their names in CreateTable; absent limits, and unlimited ones as -1, are omitted.
fn limits(node: &Node, names: &[(&str, &str)]) -> Result<Json, Problem> {
    let mut limits = Map::new();
    for (name, value) in block(node)?
        .object("a block")?
        .iter()
        .filter(|(_, node)| !is_empty(node))
    {
        let Some((_, member)) = names.iter().find(|(known, _)| known == name) else {
            return Err(unknown(value, name, "the block"));
        };
        let units = value.integer(name)?;
        if units > 0 {
            limits.insert((*member).to_owned(), units.into());
        }
    }
    Ok(Json::Object(limits))
}

/// The units of a table or index; `None` if the provider computes all of them.
fn warm_throughput(node: &Node) -> Result<Option<Json>, Problem> {
    let names = [
        ("read_units_per_second", "ReadUnitsPerSecond"),
        ("write_units_per_second", "WriteUnitsPerSecond"),
    ];
    let units = limits(node, &names)?;
    Ok(Some(units).filter(|units| *units != json!({})))
}

fn attribute(node: &Node) -> Result<Json, Problem> {
    let mut attribute = Map::new();
    for (name, value) in node.object("attribute")? {
        let member = match name.as_str() {
            "name" => "AttributeName",
            "type" => "AttributeType",
            _ => return Err(unknown(value, name, "attribute")),
        };
        attribute.insert(member.into(), value.text(name)?.into());
    }
    Ok(Json::Object(attribute))
}

fn index(node: &Node) -> Result<Json, Problem> {
    let mut index = Map::new();
    let mut keys = Vec::new();
    let mut projection = Map::new();
    let mut throughput = Map::new();
    for (name, value) in node.object("an index")?.iter().filter(|(_, node)| !is_empty(node)) {
        match name.as_str() {
            "name" => drop(index.insert("IndexName".into(), value.text(name)?.into())),
            "hash_key" => keys.insert(0, key(value.text(name)?, "HASH")),
            "range_key" => keys.push(key(value.text(name)?, "RANGE")),
            "key_schema" => {
                for element in value.list(name)? {
                    let member = |name: &str| {
                        let node = element.get(name);
                        node.ok_or_else(|| element.problem(format!("key_schema has no {name}")))?
                            .text(name)
                    };
                    keys.push(key(member("attribute_name")?, member("key_type")?));
                }
            }
            "projection_type" => drop(projection.insert("ProjectionType".into(), value.text(name)?.into())),
            "non_key_attributes" => {
                let names = value.list(name)?.iter().map(|name| Ok(name.text("a name")?.into()));
                projection.insert(
                    "NonKeyAttributes".into(),
                    Json::Array(names.collect::<Result<_, Problem>>()?),
                );
            }
            "read_capacity" => drop(throughput.insert("ReadCapacityUnits".into(), value.integer(name)?.into())),
            "write_capacity" => drop(throughput.insert("WriteCapacityUnits".into(), value.integer(name)?.into())),
            "on_demand_throughput" => drop(index.insert(
                "OnDemandThroughput".into(),
                limits(
                    value,
                    &[
                        ("max_read_request_units", "MaxReadRequestUnits"),
                        ("max_write_request_units", "MaxWriteRequestUnits"),
                    ],
                )?,
            )),
            "warm_throughput" => {
                if let Some(units) = warm_throughput(value)? {
                    index.insert("WarmThroughput".into(), units);
                }
            }
            _ => return Err(unknown(value, name, "an index")),
        }
    }
    index.insert("KeySchema".into(), Json::Array(keys));
    index.insert("Projection".into(), Json::Object(projection));
    if throughput.values().any(|units| units.as_i64() > Some(0)) {
        index.insert("ProvisionedThroughput".into(), Json::Object(throughput));
    }
    Ok(Json::Object(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(values: &Json) -> Result<Vec<Table>, Problem> {
        let resource = json!({"type": "aws_dynamodb_table", "values": values});
        let plan = json!({"values": {"root_module": {"resources": [resource]}}});
        read("x.json", &document::json(&plan.to_string())?).map(|seed| seed.tables)
    }

    fn with(mut to: Json, more: &Json) -> Json {
        for (name, value) in more.as_object().unwrap() {
            to[name] = value.clone();
        }
        to
    }

    fn minimal() -> Json {
        json!({"name": "T", "hash_key": "id", "attribute": [{"name": "id", "type": "S"}]})
    }

    #[test]
    fn every_argument_of_a_table() {
        let empty = json!({
            "range_key": "", "table_class": null, "tags": {}, "local_secondary_index": [], "ttl": [], "stream_view_type": "",
            "arn": "a", "id": "i", "import_table": [{}], "region": "r", "replica": [{}], "restore_backup_arn": "a",
            "restore_date_time": "d", "restore_source_name": "n", "restore_source_table_arn": "a",
            "restore_to_latest_time": true, "server_side_encryption": [{}], "stream_arn": "a", "stream_label": "l",
            "tags_all": {"a": "b"}, "timeouts": {"create": "1m"}, "global_table_witness": [{}],
            "global_table_settings_replication_mode": "NONE", "stream_enabled": false,
        });
        let key = json!([{"AttributeName": "id", "KeyType": "HASH"}]);
        let base = json!({
            "TableName": "T", "KeySchema": key, "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        });
        let provisioned = json!({
            "BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4},
        });
        let index = |more: Json| {
            with(
                json!({"name": "i", "hash_key": "g", "range_key": "id", "projection_type": "INCLUDE",
                    "non_key_attributes": ["x"]}),
                &more,
            )
        };
        let of_index = |more: Json| {
            let keys = json!([{"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "id", "KeyType": "RANGE"}]);
            let projection = json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]});
            with(
                json!({"IndexName": "i", "KeySchema": keys, "Projection": projection}),
                &more,
            )
        };
        let units = json!({"read_capacity": 3, "write_capacity": 4});
        let capacity = json!({"ProvisionedThroughput": {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4}});
        let limits = json!({"OnDemandThroughput": {"MaxReadRequestUnits": 5, "MaxWriteRequestUnits": 6}});
        let limited = json!({"on_demand_throughput": [{"max_read_request_units": 5, "max_write_request_units": 6}]});
        let on_demand = json!({"BillingMode": "PAY_PER_REQUEST"});
        for (values, expected) in [
            (with(empty, &units), provisioned.clone()),
            (
                with(
                    units.clone(),
                    &json!({"billing_mode": "PROVISIONED", "range_key": "r", "table_class": "STANDARD",
                        "deletion_protection_enabled": true, "stream_enabled": true, "stream_view_type": "NEW_IMAGE",
                        "tags": {"a": "b", "c": ""}, "warm_throughput": [{"read_units_per_second": 7, "write_units_per_second": 8}]}),
                ),
                with(
                    provisioned.clone(),
                    &json!({"KeySchema": [key[0], {"AttributeName": "r", "KeyType": "RANGE"}], "TableClass": "STANDARD",
                        "DeletionProtectionEnabled": true, "Tags": [{"Key": "a", "Value": "b"}, {"Key": "c", "Value": ""}],
                        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"},
                        "WarmThroughput": {"ReadUnitsPerSecond": 7, "WriteUnitsPerSecond": 8}}),
                ),
            ),
            (
                with(
                    units.clone(),
                    &json!({"global_secondary_index": [index(units.clone())]}),
                ),
                with(provisioned, &json!({"GlobalSecondaryIndexes": [of_index(capacity)]})),
            ),
            // On demand, units are those of another mode.
            (
                with(
                    with(units.clone(), &limited),
                    &json!({"billing_mode": "PAY_PER_REQUEST", "warm_throughput": [{}], "global_secondary_index": [
                        index(with(limited.clone(), &with(units, &json!({"warm_throughput": [{}]})))),
                        index(json!({"warm_throughput": [{"read_units_per_second": 7, "write_units_per_second": 8}]})),
                        index(json!({"read_capacity": 0, "write_capacity": 0}))]}),
                ),
                with(
                    with(on_demand.clone(), &limits),
                    &json!({"GlobalSecondaryIndexes": [of_index(limits.clone()), of_index(json!({
                        "WarmThroughput": {"ReadUnitsPerSecond": 7, "WriteUnitsPerSecond": 8}})), of_index(json!({}))]}),
                ),
            ),
            (
                json!({"billing_mode": "PAY_PER_REQUEST",
                    "on_demand_throughput": [{"max_read_request_units": -1, "max_write_request_units": 0}],
                    "global_secondary_index": [{"name": "i", "projection_type": "ALL", "key_schema": [
                        {"attribute_name": "a", "key_type": "HASH"}, {"attribute_name": "b", "key_type": "RANGE"}]}],
                    "local_secondary_index": [{"name": "l", "range_key": "z", "projection_type": "ALL"},
                        {"name": "m", "projection_type": "ALL", "key_schema": [
                            {"attribute_name": "id", "key_type": "HASH"}, {"attribute_name": "y", "key_type": "RANGE"}]}]}),
                with(
                    on_demand,
                    &json!({"OnDemandThroughput": {},
                        "GlobalSecondaryIndexes": [{"IndexName": "i", "Projection": {"ProjectionType": "ALL"}, "KeySchema": [
                            {"AttributeName": "a", "KeyType": "HASH"}, {"AttributeName": "b", "KeyType": "RANGE"}]}],
                        "LocalSecondaryIndexes": [
                            {"IndexName": "l", "Projection": {"ProjectionType": "ALL"}, "KeySchema": [
                                key[0], {"AttributeName": "z", "KeyType": "RANGE"}]},
                            {"IndexName": "m", "Projection": {"ProjectionType": "ALL"}, "KeySchema": [
                                key[0], {"AttributeName": "y", "KeyType": "RANGE"}]}]}),
                ),
            ),
        ] {
            let values = with(minimal(), &values);
            let table = tables(&values).unwrap_or_else(|problem| panic!("{values}: {problem:?}"));
            let expected = with(base.clone(), &expected);
            assert_eq!(Json::Object(table[0].create.clone()), expected, "{values}");
        }
        // The order of a plan's members is that of the alphabet, and that of keys is not.
        let values = with(json!({"range_key": "a"}), &minimal());
        let keys = &tables(&values).unwrap()[0].create["KeySchema"];
        assert_eq!(keys[1], json!({"AttributeName": "a", "KeyType": "RANGE"}));
    }

    #[test]
    fn recovery_is_off_unless_it_is_enabled() {
        for (block, expected) in [
            (json!([]), None),
            (json!([{"enabled": false}]), None),
            (
                json!([{"enabled": true, "recovery_period_in_days": null}]),
                Some(json!({"PointInTimeRecoveryEnabled": true})),
            ),
            (
                json!([{"enabled": true, "recovery_period_in_days": 7}]),
                Some(json!({"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": 7})),
            ),
        ] {
            let values = with(minimal(), &json!({"point_in_time_recovery": block}));
            assert_eq!(tables(&values).unwrap()[0].recovery, expected, "{block}");
        }
    }

    #[test]
    fn unknown_arguments_are_refused() {
        for (values, message) in [
            (json!({"shards": 1}), "`shards` is not a member of aws_dynamodb_table"),
            (json!({"ttl": [{"shards": 1}]}), "`shards` is not a member of ttl"),
            (
                json!({"point_in_time_recovery": [{"shards": 1}]}),
                "`shards` is not a member of point_in_time_recovery",
            ),
            (
                json!({"attribute": [{"shards": 1}]}),
                "`shards` is not a member of attribute",
            ),
            (
                json!({"global_secondary_index": [{"shards": 1}]}),
                "`shards` is not a member of an index",
            ),
            (
                json!({"global_secondary_index": [{"key_schema": [{"key_type": "HASH"}]}]}),
                "key_schema has no attribute_name",
            ),
            (
                json!({"on_demand_throughput": [{"shards": 1}]}),
                "`shards` is not a member of the block",
            ),
            (
                json!({"warm_throughput": [{"shards": 1}]}),
                "`shards` is not a member of the block",
            ),
            (json!({"tags": {"a": 1}}), "a tag is a number, not a string"),
        ] {
            let problem = tables(&with(minimal(), &values)).unwrap_err();
            assert_eq!(problem.message, message, "{values}");
        }
    }

    /// The tables and items of every module are read, those of a module before those of its children.
    #[test]
    fn every_module_is_read() {
        let module = |name: &str, children: Json| {
            let table = with(minimal(), &json!({"name": name}));
            let item = json!({"table_name": name, "item": r#"{"id": {"S": "a"}}"#});
            json!({"child_modules": children, "resources": [
                {"type": "aws_dynamodb_table", "values": table}, {"type": "aws_s3_bucket"},
                // These resources belong to tables, but are not tables.
                {"type": "aws_dynamodb_table_replica", "values": {"global_table_arn": "arn", "table_class_override": null}},
                {"type": "aws_dynamodb_table_export", "values": {"table_arn": "arn", "s3_bucket": "b"}},
                {"type": "aws_dynamodb_tag", "values": {"resource_arn": "arn", "key": "a", "value": "b"}},
                {"type": "aws_dynamodb_table_item", "values": item}]})
        };
        let root = module(
            "Root",
            json!([
                module("A", json!([module("B", json!([])), module("C", json!(null))])),
                {"resources": null},
                module("D", json!(null)),
                {"child_modules": [module("E", json!(null)), module("F", json!([module("G", json!(null))]))]},
            ]),
        );
        for values in ["planned_values", "values"] {
            let mut plan = json!({});
            plan[values] = json!({"root_module": root});
            let seed = read("x.json", &document::json(&plan.to_string()).unwrap()).unwrap();
            let expected = ["Root", "A", "B", "C", "D", "E", "F", "G"];
            let tables: Vec<_> = seed.tables.iter().map(|table| table.name.as_str()).collect();
            assert_eq!(tables, expected, "{values}");
            let items = seed.items.into_iter().map(|items| (items.table, items.items.count()));
            let expected = expected.map(|name| (name.to_owned(), 1));
            assert_eq!(items.collect::<Vec<_>>(), expected, "{values}");
        }
    }

    /// A table has the items of all resources that name it, whichever others are between them.
    #[test]
    fn tables_have_the_items_of_several_resources() {
        let item = |(table, id): &(&str, &str)| {
            let item = json!({"id": {"S": id}}).to_string();
            json!({"type": "aws_dynamodb_table_item", "values": {"table_name": table, "item": item}})
        };
        let items = [
            ("T", "a"),
            ("T", "b"),
            ("U", "a"),
            ("T", "c"),
            ("U", "b"),
            ("T", "d"),
            ("T", "e"),
        ];
        for in_root in 0..=items.len() {
            let mut resources: Vec<_> = items[..in_root].iter().map(item).collect();
            resources.push(json!({"type": "aws_dynamodb_table", "values": minimal()}));
            let child: Vec<_> = items[in_root..].iter().map(item).collect();
            let root = json!({"resources": resources, "child_modules": [{"resources": child}]});
            let plan = json!({"planned_values": {"root_module": root}}).to_string();
            let seed = read("x.json", &document::json(&plan).unwrap()).unwrap();
            let mut found = Vec::new();
            for of_table in seed.items {
                let read = of_table.items.map(|item| item.unwrap().attributes);
                found.extend(read.map(|attributes| (of_table.table.clone(), attributes)));
            }
            let expected = items.map(|(table, id)| {
                let item = json!({"id": {"S": id}}).as_object().unwrap().clone();
                (table.to_owned(), Attributes::Typed(item))
            });
            assert_eq!(found, expected, "{in_root} in the root module");
        }
    }

    #[test]
    fn modules_have_a_greatest_depth() {
        for (depth, is_read) in [(DEPTH, true), (DEPTH + 1, false)] {
            let resource = json!({"type": "aws_dynamodb_table", "values": minimal()});
            let innermost = json!({"resources": [resource], "child_modules": null});
            let module = (0..depth).fold(innermost, |module, _| json!({"child_modules": [module]}));
            let plan = json!({"planned_values": {"root_module": module}}).to_string();
            let read = document::json(&plan).and_then(|plan| read("x.json", &plan));
            assert_eq!(read.is_ok_and(|seed| seed.tables.len() == 1), is_read, "{depth}");
        }
    }

    /// An index has throughput of its own unless Terraform writes that none is set, as 0 units.
    #[test]
    fn units_of_indexes() {
        for (read, write, expected) in [
            (
                Some(1),
                Some(1),
                json!({"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}),
            ),
            (
                Some(1),
                Some(0),
                json!({"ReadCapacityUnits": 1, "WriteCapacityUnits": 0}),
            ),
            (
                Some(0),
                Some(1),
                json!({"ReadCapacityUnits": 0, "WriteCapacityUnits": 1}),
            ),
            (Some(2), None, json!({"ReadCapacityUnits": 2})),
            (Some(0), Some(0), Json::Null),
            (None, None, Json::Null),
        ] {
            let index = json!({"name": "i", "hash_key": "id", "projection_type": "ALL", "read_capacity": read,
                "write_capacity": write});
            for (mode, expected) in [("PROVISIONED", &expected), ("PAY_PER_REQUEST", &Json::Null)] {
                for count in 1..=3 {
                    let more = json!({"billing_mode": mode, "read_capacity": 5, "write_capacity": 5,
                        "global_secondary_index": vec![&index; count]});
                    let table = tables(&with(minimal(), &more)).unwrap().remove(0);
                    let indexes = table.create["GlobalSecondaryIndexes"].as_array().unwrap();
                    let found: Vec<_> = indexes.iter().map(|index| &index["ProvisionedThroughput"]).collect();
                    assert_eq!(found, vec![expected; count], "{mode} {index}");
                }
            }
        }
    }

    /// Each local index has the partition key of its table, which its block only repeats in a `key_schema`.
    #[test]
    fn local_indexes_have_the_key_of_their_table() {
        let range = |name: &str| json!({"name": name, "range_key": name, "projection_type": "ALL"});
        let schema = json!({"name": "b", "projection_type": "ALL", "key_schema": [
            {"attribute_name": "id", "key_type": "HASH"}, {"attribute_name": "b", "key_type": "RANGE"}]});
        for indexes in [
            json!([range("a")]),
            json!([range("a"), range("b")]),
            json!([range("a"), range("b"), range("c")]),
            json!([range("a"), schema, range("c")]),
            json!([schema, range("c")]),
        ] {
            let table = tables(&with(minimal(), &json!({"local_secondary_index": indexes})))
                .unwrap()
                .remove(0);
            let found = table.create["LocalSecondaryIndexes"].as_array().unwrap();
            let keys = found.iter().map(|index| &index["KeySchema"]).collect::<Vec<_>>();
            let expected = indexes.as_array().unwrap().iter();
            let expected =
                expected.map(|index| json!([key("id", "HASH"), key(index["name"].as_str().unwrap(), "RANGE")]));
            assert_eq!(
                keys,
                expected.collect::<Vec<_>>().iter().collect::<Vec<_>>(),
                "{indexes}"
            );
        }
    }

    /// Units in limits are positive: others stand for no limit, whatever the other limit is.
    #[test]
    fn limits_are_positive() {
        let units = [
            (json!(1), json!(1)),
            (json!(0), Json::Null),
            (json!(-1), Json::Null),
            (json!(null), Json::Null),
        ];
        for (read, expected_read) in &units {
            for (write, expected_write) in &units {
                let limits = json!({"max_read_request_units": read, "max_write_request_units": write});
                let index =
                    json!({"name": "g", "hash_key": "id", "projection_type": "ALL", "on_demand_throughput": [limits]});
                let more = json!({"billing_mode": "PAY_PER_REQUEST", "on_demand_throughput": [limits],
                    "global_secondary_index": [index]});
                let create = Json::Object(tables(&with(minimal(), &more)).unwrap().remove(0).create);
                for resource in [&create, &create["GlobalSecondaryIndexes"][0]] {
                    let found = &resource["OnDemandThroughput"];
                    let found = [&found["MaxReadRequestUnits"], &found["MaxWriteRequestUnits"]];
                    assert_eq!(found, [expected_read, expected_write], "{limits}: {resource}");
                }
            }
        }
    }
}
