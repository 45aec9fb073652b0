//! Searches with every metric, condition and number of results, compared with a naive computation over the table's items.

use crate::common::{Choice, Twin};
use serde_json::{Value, json};

const METRICS: [&str; 3] = ["COSINE", "EUCLIDEAN", "DOT_PRODUCT"];

/// Returns a twin with a table for each metric. It has an index with an inline filter, and one with a hash and two inline
/// filters.
fn twin() -> Twin {
    let twin = Twin::new(1);
    let filter = |name: &str| json!({"AttributeName": name, "SearchSchemaElementType": "INLINE_FILTER"});
    let hash = json!({"AttributeName": "h", "SearchSchemaElementType": "HASH"});
    let attribute = |name: &str, kind: &str| json!({"AttributeName": name, "AttributeType": kind});
    for metric in METRICS {
        let index = |name: &str, schema: Value| {
            json!({"IndexName": name, "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2, "DistanceFunction": metric,
                "Projection": {"ProjectionType": "KEYS_ONLY"}, "SearchSchema": schema})
        };
        let indexes = [
            index("whole", json!([filter("c")])),
            index("divided", json!([hash, filter("c"), filter("n")])),
        ];
        twin.ok(
            "CreateTable",
            &json!({"TableName": metric, "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [attribute("pk", "S"), attribute("h", "S"), attribute("c", "S"), attribute("n", "N")],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "VectorIndexes": indexes}),
        );
    }
    twin
}

/// Writes an item, or deletes it, in each table.
fn write(twin: &Twin, choice: &mut Choice) {
    let pk = choice.below(30).to_string();
    // Few vectors, so that many scores are equal.
    let mut element = || json!({"N": (choice.below(4) as i64 - 1).to_string()});
    let vector = [element(), element()];
    let (h, c, n) = (choice.below(2), choice.below(3), choice.below(2));
    let item = json!({"pk": {"S": pk}, "h": {"S": h.to_string()}, "c": {"S": c.to_string()}, "n": {"N": n.to_string()},
        "v": {"L": vector}});
    let (operation, mut request) = match choice.below(4) {
        0 => ("DeleteItem", json!({"Key": {"pk": {"S": pk}}})),
        1 => ("PutItem", json!({"Item": item})),
        _ => (
            "UpdateItem",
            json!({"Key": {"pk": {"S": pk}}, "UpdateExpression": "SET h = :h, c = :c, n = :n, v = :v",
                "ExpressionAttributeValues": {":h": item["h"], ":c": item["c"], ":n": item["n"], ":v": item["v"]}}),
        ),
    };
    for metric in METRICS {
        request["TableName"] = metric.into();
        twin.ok(operation, &request);
    }
}

/// Returns the keys and scores of the results of a search, nearest first.
fn search(
    twin: &Twin,
    (table, index): (&str, &str),
    sought: [i64; 2],
    condition: &[(&str, Value)],
    most: usize,
) -> Vec<(String, f64)> {
    let vector = sought.map(|element| json!({"N": element.to_string()}));
    let mut request = json!({"TableName": table, "IndexName": index, "SearchVector": vector, "TopK": most});
    if !condition.is_empty() {
        let parts: Vec<String> = condition.iter().map(|(name, _)| format!("{name} = :{name}")).collect();
        request["SearchConditionExpression"] = parts.join(" AND ").into();
        for (name, value) in condition {
            request["ExpressionAttributeValues"][format!(":{name}")] = value.clone();
        }
    }
    let answer = twin.ok("SearchVectors", &request);
    let results = answer["SearchResults"].as_array().unwrap().iter();
    results
        .map(|result| {
            let pk = result["Item"]["pk"]["S"].as_str().unwrap().to_owned();
            (pk, result["Score"].as_f64().unwrap())
        })
        .collect()
}

fn naive_score(metric: &str, one: [f64; 2], other: [f64; 2]) -> f64 {
    let dot = |one: [f64; 2], other: [f64; 2]| one[0] * other[0] + one[1] * other[1];
    match metric {
        "DOT_PRODUCT" => dot(one, other),
        "EUCLIDEAN" => (one[0] - other[0]).hypot(one[1] - other[1]),
        _ => match (dot(one, one) * dot(other, other)).sqrt() {
            0.0 => 1.0,
            lengths => 1.0 - dot(one, other) / lengths,
        },
    }
}

/// Returns the scores of the items that satisfy the condition, nearest first.
fn naive_search(items: &[Value], metric: &str, sought: [i64; 2], condition: &[(&str, Value)]) -> Vec<(String, f64)> {
    let number = |value: &Value| value["N"].as_str().unwrap().parse::<f64>().unwrap();
    let matching = items
        .iter()
        .filter(|item| condition.iter().all(|(name, value)| item[*name] == *value));
    let mut found: Vec<(String, f64)> = matching
        .map(|item| {
            let vector = [number(&item["v"]["L"][0]), number(&item["v"]["L"][1])];
            let score = naive_score(metric, vector, sought.map(|element| element as f64));
            (item["pk"]["S"].as_str().unwrap().to_owned(), score)
        })
        .collect();
    found.sort_by(|one, other| one.1.total_cmp(&other.1));
    if metric == "DOT_PRODUCT" {
        found.reverse();
    }
    found
}

#[test]
fn a_search_returns_the_nearest_items_that_satisfy_its_condition() {
    let twin = twin();
    let mut choice = Choice(30);
    for _ in 0..4 {
        (0..40).for_each(|_| write(&twin, &mut choice));
        let items = twin.ok("Scan", &json!({"TableName": METRICS[0]}))["Items"]
            .as_array()
            .unwrap()
            .clone();
        let text = |text: &str| json!({"S": text});
        let conditions = [
            ("whole", vec![]),
            ("whole", vec![("c", text("0"))]),
            ("whole", vec![("c", text("2"))]),
            ("whole", vec![("c", text("9"))]),
            ("divided", vec![("h", text("0"))]),
            ("divided", vec![("h", text("1")), ("c", text("1"))]),
            (
                "divided",
                vec![("c", text("1")), ("n", json!({"N": "1.0"})), ("h", text("1"))],
            ),
        ];
        for metric in METRICS {
            for (index, condition) in &conditions {
                for sought in [[1, 0], [-2, 1], [0, 0]] {
                    let canonical: Vec<(&str, Value)> = condition
                        .iter()
                        .map(|(name, value)| (*name, if *name == "n" { json!({"N": "1"}) } else { value.clone() }))
                        .collect();
                    let expect = naive_search(&items, metric, sought, &canonical);
                    let all = search(&twin, (metric, index), sought, condition, 100);
                    let about = format!("{metric} {index} {sought:?} {condition:?}: {all:?}");
                    assert_eq!(all.len(), expect.len(), "{about}");
                    for ((_, found), (_, score)) in all.iter().zip(&expect) {
                        assert!((found - score).abs() < 1e-5, "{about}");
                    }
                    let sorted = |found: &[(String, f64)]| {
                        let mut keys: Vec<String> = found.iter().map(|(key, _)| key.clone()).collect();
                        keys.sort();
                        keys
                    };
                    assert_eq!(sorted(&all), sorted(&expect), "{about}");
                    // Fewer results are the first ones, also where scores are equal.
                    for most in [1, 2, 3, all.len().max(2) - 1, all.len().max(1), all.len() + 1] {
                        let first = &all[..most.min(all.len())];
                        assert_eq!(
                            search(&twin, (metric, index), sought, condition, most),
                            first,
                            "{most} of {about}"
                        );
                    }
                }
            }
        }
    }
}
