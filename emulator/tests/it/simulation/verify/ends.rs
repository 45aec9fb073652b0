//! The final state: table, indexes, counts and the replayed stream agree.

use serde_json::{Value, json};

use super::order::entry;
use super::{Items, Line, index_hash};
use crate::common::model::{key_of, listed, pick, size, sorted};
use crate::simulation::world::{FICKLE, INDEXES, TABLES, World};

fn scan(world: &World, body: &Value) -> Result<Vec<Value>, String> {
    let mut body = body.clone();
    let mut items = Vec::new();
    loop {
        let answer = world.send(&world.twin.caller, "Scan", &body).body;
        if answer.get("Items").is_none() {
            return Err(format!("in the end Scan {body} answers {answer}"));
        }
        items.extend(listed(&answer));
        match answer.get("LastEvaluatedKey") {
            Some(last) => body["ExclusiveStartKey"] = last.clone(),
            None => return Ok(sorted(items)),
        }
    }
}

/// Checks a world that is calm and has no pending changes.
pub fn check(world: &World, lines: &[[Line; 4]]) -> Result<(), String> {
    for (table, lines) in lines.iter().enumerate() {
        let mut items = Items::new();
        for line in lines {
            items.extend(line.states.last().unwrap().clone());
        }
        let name = TABLES[table];
        let all: Vec<Value> = items.values().cloned().collect();
        same(
            name,
            scan(world, &json!({"TableName": name, "ConsistentRead": true}))?,
            &all,
        )?;
        let described = &world.twin.ok("DescribeTable", &json!({"TableName": name}))["Table"];
        count(described, &all)?;
        let locals: Vec<Value> = all.iter().filter(|item| item.get("l").is_some()).cloned().collect();
        let locals: Vec<Value> = locals.iter().map(|item| pick(item, &["pk", "sk", "l", "n"])).collect();
        same(
            "local",
            scan(world, &json!({"TableName": name, "IndexName": "local"}))?,
            &locals,
        )?;
        for index in described["GlobalSecondaryIndexes"].as_array().unwrap() {
            let of = [INDEXES[0], INDEXES[1], FICKLE];
            let of = of.into_iter().find(|name| index["IndexName"] == **name).unwrap();
            let hash = index_hash(of);
            let expected: Vec<Value> = all.iter().filter(|item| item.get(hash).is_some()).cloned().collect();
            let expected: Vec<Value> = expected.iter().filter_map(|item| entry(of, item)).collect();
            same(
                of,
                scan(world, &json!({"TableName": name, "IndexName": of}))?,
                &expected,
            )?;
            count(index, &expected)?;
        }
    }
    Ok(())
}

fn same(what: &str, found: Vec<Value>, expected: &[Value]) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let other = found.iter().zip(expected).find(|(found, expected)| found != expected);
    let keys = |items: &[Value]| items.iter().map(key_of).collect::<Vec<_>>();
    Err(format!(
        "{what} ends up other than its stream: {other:?}\n {:?}\n expected {:?}",
        keys(&found),
        keys(expected)
    ))
}

fn count(described: &Value, expected: &[Value]) -> Result<(), String> {
    let bytes: usize = expected.iter().map(size).sum();
    let of_table = ["ItemCount", "TableSizeBytes"];
    let of_index = ["ItemCount", "IndexSizeBytes"];
    let names = if described.get("TableName").is_some() {
        of_table
    } else {
        of_index
    };
    let found = names.map(|name| described[name].as_u64());
    if found == [Some(expected.len() as u64), Some(bytes as u64)] {
        return Ok(());
    }
    Err(format!(
        "{found:?} is described of {} items with {bytes} bytes",
        expected.len()
    ))
}
