//! The controls of conditions.

use super::{error, nothing, run};
use crate::support::twin::{JSON, ME, Twin, read};
use dynatwin_engine::Allowed;
use serde_json::json;

#[test]
fn conditions() {
    let mut twin = Twin::new(Allowed::All, false);
    twin.create("me", "Orders");
    let calm = json!({"timeToLive": 0, "indexPropagation": 0, "readStaleness": 0, "staleReads": 1, "monotonicReads": false, "transactionTime": 0, "replicationLag": 0, "regionRoundTrip": 0, "streamLag": 0, "streamShards": 1, "tableStatus": 0, "statisticsAge": 0, "itemCollectionSize": 10_737_418_240_u64, "streamBytes": 1_073_741_824, "recoveryBytes": 1_073_741_824, "capacity": "reported", "internalErrors": 0, "throttles": 0});
    let own = json!({"timeToLive": "off", "indexPropagation": 1, "readStaleness": {"typical": 1, "longest": 2}, "staleReads": 0.5, "monotonicReads": true, "transactionTime": 3, "replicationLag": {"typical": 1, "longest": 2}, "regionRoundTrip": 0.5, "streamLag": {"typical": 1, "longest": 2}, "streamShards": "throughput", "tableStatus": 0, "statisticsAge": 5, "itemCollectionSize": 1000, "streamBytes": 1000, "recoveryBytes": "unlimited", "capacity": {"burst": 1, "adaptive": false, "partitionRead": 2, "partitionWrite": 3, "partitionSize": 4, "heatSplit": 5, "growth": 6, "shardReaders": 7}, "internalErrors": 0.5, "throttles": 0.25});
    let no_table = "No account has a table Carts; to refer to a future one, name the account and the region in the credentials of an Authorization header (curl --user ACCOUNT:x --aws-sigv4 aws:amz:REGION:dynamodb).";
    run(
        &mut twin,
        vec![
            ("GET conditions", nothing(), 200, calm.clone()),
            ("PUT conditions", own.clone(), 200, own.clone()),
            ("GET conditions", nothing(), 200, own.clone()),
            (
                "GET tables/Orders/conditions",
                nothing(),
                200,
                json!({"own": false, "conditions": own}),
            ),
            (
                "PUT tables/Orders/conditions",
                json!({"throttles": 1}),
                200,
                json!({"own": true, "conditions": {"throttles": 1, "internalErrors": 0.5}}),
            ),
            ("PUT conditions", json!("calm"), 200, calm.clone()),
            (
                "GET tables/Orders/conditions",
                nothing(),
                200,
                json!({"own": true, "conditions": {"throttles": 1}}),
            ),
            (
                "DELETE tables/Orders/conditions",
                nothing(),
                200,
                json!({"own": false, "conditions": calm}),
            ),
            ("DELETE tables/Orders/conditions", nothing(), 200, json!({"own": false})),
            (
                "PUT conditions",
                json!({"base": "storm", "throttles": 0}),
                200,
                json!({"throttles": 0, "internalErrors": 0.01}),
            ),
            (
                "PUT conditions",
                json!("sunny"),
                400,
                error("There is no preset \"sunny\"; the presets are calm, aws and storm."),
            ),
            (
                "PUT tables/Orders/conditions",
                json!({"throttles": 2}),
                400,
                error("conditions.throttles must be a number from 0 to 1."),
            ),
            ("GET tables/Carts/conditions", nothing(), 404, error(no_table)),
            ("PUT tables/Carts/conditions", json!("aws"), 404, error(no_table)),
            ("DELETE tables/Carts/conditions", nothing(), 404, error(no_table)),
        ],
    );
}

/// A table that is created later has them then.
#[test]
fn conditions_of_a_table_that_is_not_there_yet() {
    let mut twin = Twin::new(Allowed::All, false);
    let path = "/_dynatwin/tables/Orders/conditions";
    let ask = |twin: &mut Twin, method, body: &str| {
        let headers = [JSON, ("authorization", ME)];
        read(&twin.send(method, path, &headers, body.as_bytes()))
    };
    assert_eq!(ask(&mut twin, "GET", "").0, 404);
    assert_eq!(ask(&mut twin, "DELETE", "").0, 404);
    let (status, answer) = ask(&mut twin, "PUT", r#"{"internalErrors": 1}"#);
    assert_eq!((status, &answer["own"]), (200, &json!(true)));
    assert_eq!(ask(&mut twin, "GET", "").0, 200);
    twin.create("me", "Orders");
    let scan = json!({"TableName": "Orders"});
    assert_eq!(twin.operation("me", "Scan", &scan).0, 500);
    assert_eq!(ask(&mut twin, "DELETE", "").0, 200);
    assert_eq!(twin.operation("me", "Scan", &scan).0, 200);
    for (name, status) in [("ab", 400), ("a%20b", 400), ("a.b-c_D", 200)] {
        let path = format!("/_dynatwin/tables/{name}/conditions");
        let headers = [JSON, ("authorization", ME)];
        assert_eq!(twin.send("PUT", &path, &headers, b"\"aws\"").status(), status, "{name}");
    }
}
