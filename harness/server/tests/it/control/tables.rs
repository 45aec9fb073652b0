//! The controls of tables and indexes.

use super::{error, has, nothing, run};
use crate::support::twin::{JSON, ME, Twin, read};
use dynatwin_engine::Allowed;
use serde_json::json;

#[test]
fn expired_items_are_deleted_on_request() {
    let mut twin = Twin::with_example_data();
    run(
        &mut twin,
        vec![
            (
                "GET tables",
                nothing(),
                200,
                json!([{"table": "Orders", "accessKey": "me", "region": "us-east-1", "items": 1, "bytes": 20}]),
            ),
            ("POST tables/Orders/expire-now", nothing(), 200, json!({"deleted": 1})),
            ("POST tables/Orders/expire-now", nothing(), 200, json!({"deleted": 0})),
            (
                "GET tables",
                nothing(),
                200,
                json!([{"table": "Orders", "items": 0, "bytes": 0}]),
            ),
        ],
    );
}

#[test]
fn indexes() {
    let mut twin = Twin::with_example_data();
    let index = |paused: bool, waiting: u64| json!({"index": "by-date", "paused": paused, "waiting": waiting});
    let put = |twin: &mut Twin, id: &str| {
        let item = json!({"id": {"S": id}, "date": {"S": "d"}});
        assert_eq!(
            twin.operation("me", "PutItem", &json!({"TableName": "Orders", "Item": item}))
                .0,
            200
        );
    };
    let no_index = error("Table Orders has no global index by-name.");
    run(
        &mut twin,
        vec![
            ("GET tables/Orders/indexes", nothing(), 200, json!([index(false, 0)])),
            (
                "POST tables/Orders/indexes/by-date/pause",
                nothing(),
                200,
                index(true, 0),
            ),
        ],
    );
    put(&mut twin, "b");
    run(
        &mut twin,
        vec![
            ("GET tables/Orders/indexes", nothing(), 200, json!([index(true, 1)])),
            (
                "POST tables/Orders/indexes/by-date/resume",
                nothing(),
                200,
                index(false, 0),
            ),
            (
                "PUT tables/Orders/indexes/by-date/lag",
                json!(10),
                200,
                json!({"lag": 10}),
            ),
        ],
    );
    put(&mut twin, "c");
    run(
        &mut twin,
        vec![
            ("GET tables/Orders/indexes", nothing(), 200, json!([index(false, 1)])),
            ("POST clock/advance", json!({"seconds": 10}), 200, json!({})),
            ("GET tables/Orders/indexes", nothing(), 200, json!([index(false, 0)])),
            (
                "PUT tables/Orders/indexes/by-date/lag",
                json!({"typical": 1, "longest": 2}),
                200,
                json!({"lag": {"typical": 1, "longest": 2}}),
            ),
            (
                "DELETE tables/Orders/indexes/by-date/lag",
                nothing(),
                200,
                index(false, 0),
            ),
            (
                "POST tables/Orders/indexes/by-name/pause",
                nothing(),
                404,
                no_index.clone(),
            ),
            (
                "POST tables/Orders/indexes/by-name/resume",
                nothing(),
                404,
                no_index.clone(),
            ),
            ("PUT tables/Orders/indexes/by-name/lag", json!(1), 404, no_index.clone()),
            ("DELETE tables/Orders/indexes/by-name/lag", nothing(), 404, no_index),
            (
                "PUT tables/Orders/indexes/by-date/lag",
                json!({"typical": 2, "longest": 1}),
                400,
                error(
                    "lag must be a number of seconds, or { typical, longest } with longest not below typical, and p99 between them.",
                ),
            ),
        ],
    );
    let path = "/_dynatwin/tables/Orders/indexes/by-date/lag";
    assert_eq!(twin.send("PUT", path, &[JSON], b"null").status(), 400);
    let (_, listed) = twin.control("GET", "tables/Orders/indexes", None);
    assert_eq!(listed[0].get("lag"), None);
}

#[test]
fn heat_and_shards() {
    let mut twin = Twin::with_example_data();
    let heat = |twin: &mut Twin| twin.control("GET", "tables/Orders/heat", None).1;
    assert_eq!(heat(&mut twin), json!({"resources": [], "keys": []}));
    assert_eq!(twin.control("POST", "tables/Orders/heat/watch", None).0, 200);
    let put = json!({"TableName": "Orders", "Item": {"id": {"S": "hot"}}});
    assert_eq!(twin.operation("me", "PutItem", &put).0, 200);
    let seen = heat(&mut twin);
    assert_eq!(seen["keys"], json!([{"key": {"S": "hot"}, "units": 1}]));
    assert_eq!(seen["resources"][0]["write"]["units"], 1);
    assert_eq!(seen["resources"][1]["index"], "by-date");
    let partitions = seen["resources"][0]["partitions"].as_array().unwrap();
    assert_eq!(partitions[0]["first"], "0000000000000000");
    assert_eq!(partitions.last().unwrap()["last"], "ffffffffffffffff");
    run(
        &mut twin,
        vec![
            (
                "POST tables/Orders/heat/unwatch",
                nothing(),
                200,
                json!({"resources": [], "keys": []}),
            ),
            (
                "POST tables/Orders/split-shards",
                nothing(),
                200,
                json!({"split": true}),
            ),
        ],
    );
}

/// A control finds the table if only one caller has it, all callers share tables, or the credentials select it.
#[test]
fn whose_table() {
    let mut twin = Twin::new(Allowed::All, false);
    twin.create("me", "Orders");
    twin.create("you", "Carts");
    let expire = |twin: &mut Twin, table: &str, authorization: Option<&str>| {
        let headers: Vec<_> = authorization
            .map(|value| ("authorization", value))
            .into_iter()
            .collect();
        let path = format!("/_dynatwin/tables/{table}/expire-now");
        read(&twin.send("POST", &path, &headers, b""))
    };
    let deleted = json!({"deleted": 0});
    assert_eq!(expire(&mut twin, "Orders", None), (200, deleted.clone()));
    assert_eq!(expire(&mut twin, "Carts", None), (200, deleted.clone()));
    assert_eq!(
        expire(&mut twin, "Carts", Some(ME)),
        (404, error("There is no table Carts for access key me in us-east-1."))
    );
    twin.create("you", "Orders");
    let sentence = "me in us-east-1 and you in us-east-1 have a table Orders: name the account and the region in the credentials of an Authorization header.";
    assert_eq!(expire(&mut twin, "Orders", None), (400, error(sentence)));
    assert_eq!(expire(&mut twin, "Orders", Some(ME)), (200, deleted.clone()));
    let headers = [("authorization", ME)];
    let (_, listed) = read(&twin.send("GET", "/_dynatwin/tables", &headers, b""));
    assert!(
        has(&listed, &json!([{"table": "Orders", "accessKey": "me"}])),
        "{listed}"
    );

    let mut shared = Twin::new(Allowed::All, true);
    shared.create("me", "Orders");
    shared.create("you", "Carts");
    assert_eq!(expire(&mut shared, "Carts", Some(ME)), (200, deleted.clone()));
    assert_eq!(expire(&mut shared, "Orders", None), (200, deleted));
    assert_eq!(
        expire(&mut shared, "Lists", None),
        (404, error("There is no table Lists."))
    );
    let (_, listed) = shared.control("GET", "tables", None);
    assert_eq!(listed[0].get("accessKey"), None);
    assert!(
        has(&listed, &json!([{"table": "Carts"}, {"table": "Orders"}])),
        "{listed}"
    );
}
