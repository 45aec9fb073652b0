//! Conditions on items, attributes and returned values.

use serde_json::{Value, json};

use super::{NO, World, YES, allow, arn, document, get, index, key, no, put, query, scan, update, with};

/// Limits access to items with a specific partition key value.
#[test]
fn items_of_the_signed_in_user() {
    let actions = [
        "GetItem",
        "BatchGetItem",
        "Query",
        "PutItem",
        "UpdateItem",
        "DeleteItem",
        "BatchWriteItem",
    ];
    for variable in ["${www.amazon.com:user_id}", "${WWW.Amazon.com:User_ID}"] {
        let condition = json!({"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [variable]}});
        let world = World::new(&document(json!([allow(
            &actions,
            json!([arn("table/GameScores")]),
            condition
        )])));
        let batch = |users: &[&str]| {
            let keys: Vec<Value> = users.iter().map(|user| key(user)).collect();
            json!({"RequestItems": {"GameScores": {"Keys": keys}}})
        };
        let writes = |users: &[&str]| {
            let puts = users.iter().map(|user| json!({"PutRequest": {"Item": key(user)}}));
            json!({"RequestItems": {"GameScores": puts.collect::<Vec<_>>()}})
        };
        let both = json!({"RequestItems": {"GameScores": {"Keys": [key("u1")]}, "Books": {"Keys": [key("u1")]}}});
        world.check(
            "PLAYER",
            &[
                ("GetItem", get("u1", no()), YES),
                ("GetItem", get("u2", no()), NO),
                ("PutItem", put("u1", no()), YES),
                ("PutItem", put("u2", no()), NO),
                ("UpdateItem", update("u1", "Wins", no()), YES),
                ("UpdateItem", update("u2", "Wins", no()), NO),
                ("DeleteItem", get("u1", no()), YES),
                ("DeleteItem", get("u2", no()), NO),
                ("Query", query("u1", no()), YES),
                ("Query", query("u2", no()), NO),
                ("BatchGetItem", batch(&["u1"]), YES),
                ("BatchGetItem", batch(&["u1", "u2"]), NO),
                ("BatchGetItem", both, NO),
                ("BatchWriteItem", writes(&["u1"]), YES),
                ("BatchWriteItem", writes(&["u1", "u2"]), NO),
                ("Scan", scan(no()), NO),
                ("Query", index(no()), NO),
                ("DescribeTable", json!({"TableName": "GameScores"}), NO),
                (
                    "ExecuteStatement",
                    json!({"Statement": "SELECT * FROM GameScores WHERE UserId = 'u1'"}),
                    NO,
                ),
            ],
        );
        // Ann has not signed in with an identity provider.
        world.check(
            "ANN",
            &[("GetItem", get("u1", no()), NO), ("GetItem", get(variable, no()), NO)],
        );
    }
}

/// Limits access to specific attributes, and what writes return.
#[test]
fn attributes_and_returned_values() {
    let condition = json!({
        "ForAllValues:StringEquals": {"dynamodb:Attributes": ["UserId", "GameTitle", "TopScore"]},
        "StringEqualsIfExists": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES", "dynamodb:ReturnValues": ["NONE", "UPDATED_OLD", "UPDATED_NEW"]}
    });
    let actions = ["UpdateItem", "GetItem", "Query", "BatchGetItem", "Scan"];
    let world = World::new(&document(json!([allow(
        &actions,
        json!(arn("table/GameScores")),
        condition
    )])));
    let projected = |names: &str| json!({"ProjectionExpression": names});
    let returning = |what: &str| json!({"ReturnValues": what});
    let conditional = json!({"ConditionExpression": "attribute_exists(Wins)"});
    let named = json!({"ProjectionExpression": "#w", "ExpressionAttributeNames": {"#w": "Wins"}});
    let filtered = json!({"ProjectionExpression": "TopScore", "FilterExpression": "attribute_exists(Wins)"});
    let batch = |members: Value| json!({"RequestItems": {"GameScores": with(json!({"Keys": [key("u1")]}), members)}});
    world.check(
        "PLAYER",
        &[
            ("GetItem", get("u1", projected("TopScore")), YES),
            ("GetItem", get("u1", projected("UserId, GameTitle, TopScore")), YES),
            ("GetItem", get("u1", projected("TopScore.a[1].b")), YES),
            ("GetItem", get("u1", projected("TopScore, Wins")), NO),
            ("GetItem", get("u1", named), NO),
            ("GetItem", get("u1", no()), NO),
            ("GetItem", get("u1", json!({"AttributesToGet": ["TopScore"]})), YES),
            ("GetItem", get("u1", json!({"AttributesToGet": ["Wins"]})), NO),
            ("Query", query("u1", projected("TopScore")), YES),
            ("Query", query("u1", no()), NO),
            (
                "Query",
                query(
                    "u1",
                    json!({"Select": "SPECIFIC_ATTRIBUTES", "ProjectionExpression": "TopScore"}),
                ),
                YES,
            ),
            ("Query", query("u1", json!({"Select": "ALL_ATTRIBUTES"})), NO),
            ("Query", query("u1", json!({"Select": "COUNT"})), NO),
            ("Query", query("u1", filtered.clone()), NO),
            ("Query", query("u1", projected("Losses")), NO),
            ("Scan", scan(projected("TopScore")), YES),
            ("Scan", scan(no()), NO),
            ("Scan", scan(json!({"Select": "COUNT"})), NO),
            ("Scan", scan(filtered), NO),
            ("BatchGetItem", batch(projected("TopScore")), YES),
            ("BatchGetItem", batch(no()), NO),
            ("UpdateItem", update("u1", "TopScore", no()), YES),
            ("UpdateItem", update("u1", "TopScore", returning("NONE")), YES),
            ("UpdateItem", update("u1", "TopScore", returning("UPDATED_OLD")), YES),
            ("UpdateItem", update("u1", "TopScore", returning("UPDATED_NEW")), YES),
            ("UpdateItem", update("u1", "TopScore", returning("ALL_OLD")), NO),
            ("UpdateItem", update("u1", "TopScore", returning("ALL_NEW")), NO),
            ("UpdateItem", update("u1", "TopScore", conditional), NO),
            ("UpdateItem", update("u1", "Wins", no()), NO),
            ("PutItem", put("u1", no()), NO),
        ],
    );
}

/// Prevents updates of certain attributes.
#[test]
fn attributes_that_must_not_be_updated() {
    let condition = json!({
        "ForAllValues:StringNotLike": {"dynamodb:Attributes": ["FreeGamesAvailable", "BossLevelUnlocked"]},
        "StringEquals": {"dynamodb:ReturnValues": ["NONE", "UPDATED_OLD", "UPDATED_NEW"]}
    });
    let world = World::new(&document(json!([allow(
        &["UpdateItem"],
        json!(arn("table/GameScores")),
        condition
    )])));
    let two = json!({"UpdateExpression": "SET Wins = :v REMOVE BossLevelUnlocked"});
    world.check(
        "PLAYER",
        &[
            ("UpdateItem", update("u1", "Wins", no()), YES),
            ("UpdateItem", update("u1", "bosslevelunlocked", no()), YES),
            ("UpdateItem", update("u1", "BossLevelUnlocked", no()), NO),
            ("UpdateItem", update("u1", "FreeGamesAvailable.a", no()), NO),
            ("UpdateItem", update("u1", "Wins", two), NO),
            (
                "UpdateItem",
                update("u1", "Wins", json!({"ReturnValues": "ALL_NEW"})),
                NO,
            ),
            (
                "UpdateItem",
                update(
                    "u1",
                    "Wins",
                    json!({"ConditionExpression": "attribute_exists(BossLevelUnlocked)"}),
                ),
                NO,
            ),
        ],
    );
}

/// Allows a Query of an index for projected attributes alone.
#[test]
fn projected_attributes_of_an_index() {
    let condition = json!({
        "ForAllValues:StringEquals": {"dynamodb:Attributes": ["TopScore", "GameTitle", "UserId"]},
        "StringEqualsIfExists": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}
    });
    let resource = json!([arn("table/GameScores/index/GameTitleIndex")]);
    let world = World::new(&document(json!([allow(&["Query"], resource.clone(), condition)])));
    world.check(
        "PLAYER",
        &[
            ("Query", index(json!({"ProjectionExpression": "TopScore"})), YES),
            (
                "Query",
                index(json!({"ProjectionExpression": "TopScore", "Select": "SPECIFIC_ATTRIBUTES"})),
                YES,
            ),
            ("Query", index(no()), NO),
            ("Query", index(json!({"Select": "ALL_PROJECTED_ATTRIBUTES"})), NO),
            ("Query", query("u1", json!({"ProjectionExpression": "TopScore"})), NO),
            (
                "Scan",
                scan(json!({"IndexName": "GameTitleIndex", "ProjectionExpression": "TopScore"})),
                NO,
            ),
        ],
    );
    let projected = json!({"StringEquals": {"dynamodb:Select": "ALL_PROJECTED_ATTRIBUTES"}});
    let world = World::new(&document(json!([allow(&["Query"], resource, projected)])));
    world.check(
        "PLAYER",
        &[
            ("Query", index(no()), YES),
            ("Query", index(json!({"Select": "ALL_PROJECTED_ATTRIBUTES"})), YES),
            ("Query", index(json!({"Select": "COUNT"})), NO),
            ("Query", index(json!({"ProjectionExpression": "TopScore"})), NO),
        ],
    );
}
