//! The log of requests.

use super::{has, nothing, run};
use crate::support::twin::{ME, Twin, read};
use dynatwin_engine::Allowed;
use serde_json::{Value, json};

#[test]
fn the_request_log_has_requests_and_results() {
    let mut twin = Twin::new(Allowed::All, false);
    twin.create("me", "Orders");
    let seen = |watched: bool, seen: u64| json!({"watched": watched, "seen": seen});
    let step = |request, expect| (request, nothing(), 200, expect);
    let empty = json!([{"accessKey": "me", "region": "us-east-1", "metrics": []}]);
    run(
        &mut twin,
        vec![
            step("GET metrics", empty),
            step("GET requests", json!({"watched": false, "seen": 0, "requests": []})),
            step("POST watch", seen(true, 0)),
        ],
    );
    let put = json!({"TableName": "Orders", "Item": {"id": {"S": "a"}}});
    assert_eq!(twin.operation("me", "PutItem", &put).0, 200);
    assert_eq!(twin.operation("you", "PutItem", &put).0, 400);
    assert_eq!(twin.operation("me", "Scan", &json!({"TableName": "Orders"})).0, 200);
    let (me, you) = (
        json!({"accessKey": "me", "region": "us-east-1"}),
        json!({"accessKey": "you", "region": "us-east-1"}),
    );
    let access = json!({"act": "Put", "table": "Orders", "key": {"id": {"S": "a"}}, "readUnits": 0, "writeUnits": 1});
    let put = json!({
        "number": 1, "at": "2026-01-01T00:00:00.000Z", "caller": me, "operation": "PutItem", "tables": ["Orders"], "accesses": [access],
        "status": 200, "delivery": {"kind": "whole"}, "readUnits": 0, "writeUnits": 1, "scanned": 0, "returned": 0,
    });
    let refused = json!({"number": 2, "caller": you, "status": 400, "error": "ResourceNotFoundException"});
    let scan = json!({"number": 3, "operation": "Scan", "scanned": 1, "returned": 1, "readUnits": 0.5});
    let kind = json!({
        "operation": "Scan", "table": "Orders", "caller": me, "first": "2026-01-01T00:00:00.000Z", "times": 1, "scanned": 1,
        "partitionKeys": [{"attribute": "id"}, {"index": "by-date", "attribute": "date"}],
    });
    run(
        &mut twin,
        vec![
            step(
                "GET requests",
                json!({"watched": true, "seen": 3, "requests": [put, refused, scan]}),
            ),
            step("GET scans", json!([kind])),
            step("GET ", json!({"watched": true, "counts": {"requests": 3}})),
            step("POST unwatch", seen(false, 3)),
        ],
    );
    let (_, metrics) = twin.control("GET", "metrics", None);
    let table = json!({"TableName": "Orders"});
    let operation = json!({"TableName": "Orders", "Operation": "Scan"});
    let of =
        |name: &str, dimensions: &Value, value: f64| json!({"name": name, "dimensions": dimensions, "value": value});
    let expect = json!([
        {"accessKey": "me", "metrics": [
            of("ConsumedReadCapacityUnits", &table, 0.5),
            of("ConsumedWriteCapacityUnits", &table, 1.0),
            of("ReturnedItemCount", &operation, 1.0),
        ]},
        {"accessKey": "you", "metrics": [of("UserErrors", &json!({}), 1.0)]},
    ]);
    assert!(has(&metrics, &expect), "{metrics}");
    // Credentials select the caller's own records.
    for (path, key) in [("requests", "requests"), ("metrics", ""), ("scans", "")] {
        let path = format!("/_dynatwin/{path}");
        let you = ME.replace("me/", "you/");
        let (_, answer) = read(&twin.send("GET", &path, &[("authorization", &you)], b""));
        let list = if key.is_empty() { &answer } else { &answer[key] };
        let count = list.as_array().unwrap().len();
        assert_eq!(count, usize::from(path != "/_dynatwin/scans"), "{path}: {answer}");
    }
    run(
        &mut twin,
        vec![
            step("DELETE requests", seen(false, 0)),
            step("GET scans", json!([])),
            step("GET requests", json!({"requests": []})),
        ],
    );
}
