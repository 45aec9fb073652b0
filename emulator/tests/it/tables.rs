//! Control-plane operations, end to end through `dispatch`.

use crate::common::commits::{self, Recorder};
use crate::common::{Twin, copies, error_text, settings};
use dynatwin_engine::{Conditions, Lag, Moment};
use serde_json::{Value, json};
use std::time::Duration;

const ARN: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/tab";

/// A twin with the table `tab`: key `pk`, on demand.
pub(super) fn on_demand_twin() -> Twin {
    let twin = Twin::new(1);
    twin.ok(
        "CreateTable",
        &definition("tab", json!({"BillingMode": "PAY_PER_REQUEST"})),
    );
    twin
}

/// A twin with the table `tab` and the service's usual delays.
fn slow_twin() -> Twin {
    let twin = on_demand_twin();
    twin.engine.set_conditions(Conditions::AWS).unwrap();
    twin
}

fn advance(twin: &Twin, seconds: u64) {
    twin.engine.advance(Duration::from_secs(seconds));
}

/// A CreateTable request for a table with the string key `pk`, with more members.
pub(super) fn definition(name: &str, more: Value) -> Value {
    let request = json!({
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    });
    with(request, more)
}

fn with(mut request: Value, more: Value) -> Value {
    let Value::Object(more) = more else { return request };
    request.as_object_mut().unwrap().extend(more);
    request
}

#[test]
fn endpoints_and_limits_depend_on_the_region() {
    let twin = on_demand_twin();
    let endpoint = json!({"Address": "dynamodb.us-east-1.amazonaws.com", "CachePeriodInMinutes": 1440});
    assert_eq!(
        twin.ok("DescribeEndpoints", &json!({"Unknown": 1})),
        json!({"Endpoints": [endpoint]})
    );
    let limits = json!({"AccountMaxReadCapacityUnits": 80_000, "AccountMaxWriteCapacityUnits": 80_000,
                        "TableMaxReadCapacityUnits": 40_000, "TableMaxWriteCapacityUnits": 40_000});
    assert_eq!(twin.ok("DescribeLimits", &json!({})), limits);
}

#[test]
fn tags_are_kept_replaced_and_removed() {
    let twin = Twin::new(1);
    let tags = json!([{"Key": "a", "Value": "1"}, {"Key": "b", "Value": ""}]);
    twin.ok(
        "CreateTable",
        &definition("tab", json!({"BillingMode": "PAY_PER_REQUEST", "Tags": tags})),
    );
    let listed = || twin.ok("ListTagsOfResource", &json!({"ResourceArn": ARN, "NextToken": "x"}));
    assert_eq!(listed(), json!({"Tags": tags}));
    let change = json!({"ResourceArn": ARN, "Tags": [{"Key": "b", "Value": "2"}, {"Key": "c", "Value": "é @"}]});
    assert_eq!(
        twin.send("TagResource", &change),
        (200, Value::Null),
        "the body has no bytes at all"
    );
    let gone = json!({"ResourceArn": ARN, "TagKeys": ["a", "never there"]});
    assert_eq!(twin.send("UntagResource", &gone), (200, Value::Null));
    assert_eq!(
        listed(),
        json!({"Tags": [{"Key": "b", "Value": "2"}, {"Key": "c", "Value": "é @"}]})
    );
}

#[test]
fn bad_tags_and_resources_are_named() {
    let twin = on_demand_twin();
    let other = "arn:aws:dynamodb:us-east-1:000000000000:table/none";
    let tag = |key: &str, value: Value| json!({"ResourceArn": ARN, "Tags": [{"Key": key, "Value": value}]});
    let on = |arn: &str| json!({"ResourceArn": arn, "Tags": [{"Key": "a", "Value": "1"}]});
    let long = "k".repeat(129);
    let many: Vec<Value> = (0..51).map(|at| json!({"Key": at.to_string(), "Value": ""})).collect();
    for (operation, request, expect) in [
        ("TagResource", json!({"ResourceArn": ARN, "Tags": []}), "Atleast one Tag needs to be provided as Input.".into()),
        ("UntagResource", json!({"ResourceArn": ARN}), "Atleast one Tag Key needs to be provided as Input.".into()),
        ("TagResource", tag("", json!("")), "The Tag Key provided is invalid, Key: ".into()),
        ("TagResource", tag("a#", json!("")), "The Tag Key provided is invalid, Key: a#".into()),
        ("TagResource", tag(&long, json!("")), format!("The Tag Key provided is invalid, Key: {long}")),
        ("TagResource", tag("a", Value::Null), "The Tag Value provided is invalid, Value: null".into()),
        ("TagResource", tag("a", json!("#")), "The Tag Value provided is invalid, Value: #".into()),
        ("TagResource", tag("aws:a", json!("")), "Tag Key cannot be prefixed with aws:, Key: aws:a".into()),
        ("TagResource", json!({"ResourceArn": ARN, "Tags": [{"Key": "a", "Value": ""}, {"Key": "a", "Value": ""}]}),
         "Duplicate Tag Keys provided as input: Duplicate Tag Key found a".into()),
        ("TagResource", json!({"ResourceArn": ARN, "Tags": many}),
         "Number of Tags exceed the current limit for the provided ResourceArn".into()),
        ("ListTagsOfResource", json!({}), "Invalid TableArn".into()),
        ("TagResource", on("tab"), "One or more parameter values were invalid: ARNs must start with 'arn:': tab".into()),
        ("TagResource", on("arn:aws:s3:::bucket"),
         "One or more parameter values were invalid: Provided Arn is not a DynamoDB resource arn: arn:aws:s3:::bucket".into()),
        ("TagResource", on(&format!("{ARN}/index/i")),
         format!("One or more parameter values were invalid: Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {ARN}/index/i")),
        ("TagResource", on("arn:aws:dynamodb:eu-west-1:000000000000:table/tab"),
         "Invalid TableArn: Invalid ResourceArn provided as input arn:aws:dynamodb:eu-west-1:000000000000:table/tab".into()),
    ] {
        assert_eq!(twin.error(operation, &request), format!("ValidationException: {expect}"));
    }
    assert_eq!(
        twin.error("UntagResource", &json!({"ResourceArn": other, "TagKeys": ["a"]})),
        format!("ResourceNotFoundException: Requested resource not found: ResourceArn: {other} not found")
    );
    let first = json!({"ResourceArn": ARN, "Tags": many[..50]});
    twin.ok("TagResource", &first);
    assert_eq!(
        twin.error("TagResource", &tag("one more", json!(""))),
        "ValidationException: Number of Tags exceed the current limit for the provided ResourceArn"
    );
}

#[test]
fn tags_can_be_changed_again_after_a_pause() {
    let twin = slow_twin();
    let tag = |value: &str| json!({"ResourceArn": ARN, "Tags": [{"Key": "a", "Value": value}]});
    twin.ok("TagResource", &tag("1"));
    assert_eq!(
        twin.error("TagResource", &tag("2")),
        "LimitExceededException: Subscriber limit exceeded: Table tags are being updated: tab"
    );
    twin.ok("TagResource", &tag("1"));
    assert_eq!(
        twin.error("DeleteTable", &json!({"TableName": "tab"})),
        "ResourceInUseException: Attempt to change a resource which is still in use: Table tags are being updated: tab"
    );
    advance(&twin, 2);
    twin.ok("TagResource", &tag("2"));
}

fn update(more: Value) -> Value {
    with(json!({"TableName": "tab"}), more)
}

fn attribute(name: &str, kind: &str) -> Value {
    json!([{"AttributeName": name, "AttributeType": kind}])
}

fn hash(name: &str) -> Value {
    json!([{"AttributeName": name, "KeyType": "HASH"}])
}

/// Returns an UpdateTable request that creates an index on the string `g`.
fn create_index(name: &str, more: Value) -> Value {
    let index = json!({"IndexName": name, "KeySchema": hash("g"), "Projection": {"ProjectionType": "ALL"}});
    update(json!({
        "AttributeDefinitions": attribute("g", "S"),
        "GlobalSecondaryIndexUpdates": [{"Create": with(index, more)}],
    }))
}

fn delete_index(name: &str) -> Value {
    update(json!({"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": name}}]}))
}

fn units(read: i64, write: i64) -> Value {
    json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write})
}

impl Twin {
    /// A twin with a provisioned table of five units each and an index `by-g` of two.
    fn provisioned() -> Twin {
        Twin::with_units((5, 5), (2, 2))
    }

    /// Creates a table and an index with these read and write units.
    fn with_units(of_table: (i64, i64), of_index: (i64, i64)) -> Twin {
        let twin = Twin::new(1);
        let index = json!({"IndexName": "by-g", "KeySchema": hash("g"), "Projection": {"ProjectionType": "ALL"},
                           "ProvisionedThroughput": units(of_index.0, of_index.1)});
        let types =
            json!([{"AttributeName": "g", "AttributeType": "S"}, {"AttributeName": "pk", "AttributeType": "S"}]);
        twin.ok(
            "CreateTable",
            &definition(
                "tab",
                json!({"ProvisionedThroughput": units(of_table.0, of_table.1), "GlobalSecondaryIndexes": [index],
                       "AttributeDefinitions": types}),
            ),
        );
        twin
    }

    fn update(&self, more: Value) -> Value {
        self.ok("UpdateTable", &update(more))["TableDescription"].take()
    }

    fn describe(&self) -> Value {
        self.ok("DescribeTable", &json!({"TableName": "tab"}))["Table"].take()
    }

    fn put(&self, pk: &str, g: Value) {
        self.ok(
            "PutItem",
            &json!({"TableName": "tab", "Item": {"pk": {"S": pk}, "g": g}}),
        );
    }

    fn count(&self, index: &str) -> Value {
        self.ok("Scan", &json!({"TableName": "tab", "IndexName": index}))["Count"].take()
    }
}

/// An item that is older than an index is in it if its values are allowed as its keys: as of a partition key up to
/// 2,048 bytes, as of a sort key up to 1,024, and none of them empty.
#[test]
fn a_new_index_contains_items_whose_keys_fit() {
    let twin = on_demand_twin();
    let sizes = [
        (2048, 1024),
        (2049, 1024),
        (2048, 1025),
        (1, 2048),
        (2048, 1),
        (1, 1024),
        (0, 1),
        (1, 0),
    ];
    for (at, (g, r)) in sizes.into_iter().enumerate() {
        let item = json!({"pk": {"S": at.to_string()}, "g": {"S": "g".repeat(g)}, "r": {"S": "r".repeat(r)}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    let schema = json!([{"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "r", "KeyType": "RANGE"}]);
    let index = json!({"IndexName": "by-g-r", "KeySchema": schema, "Projection": {"ProjectionType": "KEYS_ONLY"}});
    twin.ok(
        "UpdateTable",
        &update(json!({
            "AttributeDefinitions": [attribute("g", "S")[0], attribute("r", "S")[0]],
            "GlobalSecondaryIndexUpdates": [{"Create": index}],
        })),
    );
    let found = twin.ok("Scan", &json!({"TableName": "tab", "IndexName": "by-g-r"}));
    let mut found: Vec<&str> = found["Items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["pk"]["S"].as_str().unwrap())
        .collect();
    found.sort_unstable();
    assert_eq!(found, ["0", "4", "5"]);
}

/// The attributes of a partition key, and those of a sort key, are measured together.
#[test]
fn a_new_index_contains_items_whose_attributes_fit_together() {
    let twin = on_demand_twin();
    let names = ["g", "h", "r", "s"];
    let sizes = [
        [1024, 1024, 512, 512],
        [1024, 1025, 1, 1],
        [1, 1, 513, 512],
        [2047, 1, 1, 1023],
        [2048, 1, 1, 1],
        [1, 1, 1, 1024],
        [1, 1, 1, 0],
        [1, 0, 1, 1],
    ];
    let item = |at: usize| {
        let mut item = json!({"pk": {"S": at.to_string()}});
        for (name, size) in names.iter().zip(sizes[at]) {
            item[*name] = json!({"S": name.repeat(size)});
        }
        item
    };
    for at in 0..sizes.len() {
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item(at)}));
    }
    let roles = ["HASH", "HASH", "RANGE", "RANGE"];
    let schema = names
        .iter()
        .zip(roles)
        .map(|(name, role)| json!({"AttributeName": name, "KeyType": role}));
    let index = json!({"IndexName": "by-all", "KeySchema": schema.collect::<Vec<_>>(), "Projection": {"ProjectionType": "KEYS_ONLY"}});
    let definitions: Vec<Value> = names.iter().map(|name| attribute(name, "S")[0].clone()).collect();
    twin.ok(
        "UpdateTable",
        &update(json!({"AttributeDefinitions": definitions, "GlobalSecondaryIndexUpdates": [{"Create": index}]})),
    );
    let found = twin.ok("Scan", &json!({"TableName": "tab", "IndexName": "by-all"}));
    let found = found["Items"].as_array().unwrap().iter();
    let mut found: Vec<&str> = found.map(|item| item["pk"]["S"].as_str().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, ["0", "3"]);
    // Now that there is the index, such items are refused.
    let hash = "Size of hashkey has exceeded the maximum size limit of2048 bytes";
    let range = "Aggregated size of all range keys has exceeded the size limit of 1024 bytes";
    for (at, text) in [(1, hash), (2, range), (4, hash), (5, range)] {
        let refused = twin.error("PutItem", &json!({"TableName": "tab", "Item": item(at)}));
        assert_eq!(
            refused,
            format!("ValidationException: One or more parameter values were invalid: {text}"),
            "{:?}",
            sizes[at]
        );
    }
    for at in [0, 3] {
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item(at)}));
    }
}

#[test]
fn a_new_index_contains_existing_items() {
    let twin = on_demand_twin();
    for (pk, g) in [
        ("a", json!({"S": "x"})),
        ("b", json!({"S": "x"})),
        ("number", json!({"N": "1"})),
        ("empty", json!({"S": ""})),
        ("long", json!({"S": "g".repeat(2049)})),
    ] {
        twin.put(pk, g);
    }
    let answer = twin.ok("UpdateTable", &create_index("by-g", json!({})))["TableDescription"].take();
    let index = &answer["GlobalSecondaryIndexes"][0];
    assert_eq!(answer["TableStatus"], "UPDATING");
    assert_eq!(
        (&index["IndexStatus"], &index["Backfilling"]),
        (&json!("CREATING"), &json!(false))
    );
    assert_eq!(answer["AttributeDefinitions"][0]["AttributeName"], "g");
    let table = twin.describe();
    let index = &table["GlobalSecondaryIndexes"][0];
    assert_eq!(table["TableStatus"], "ACTIVE");
    assert_eq!(
        (&index["IndexStatus"], &index["Backfilling"]),
        (&json!("ACTIVE"), &Value::Null)
    );
    assert_eq!(index["ItemCount"], 2, "what cannot be a key stays outside");
    let query = json!({"TableName": "tab", "IndexName": "by-g", "KeyConditionExpression": "g = :g",
                       "ExpressionAttributeValues": {":g": {"S": "x"}}});
    assert_eq!(twin.ok("Query", &query.clone())["Count"], 2);
    // Items from before may be updated in other attributes, and enter the index when their attribute becomes a valid
    // key.
    let set = |pk: &str, name: &str, value: Value| {
        json!({"TableName": "tab", "Key": {"pk": {"S": pk}}, "UpdateExpression": "SET #n = :v",
               "ExpressionAttributeNames": {"#n": name}, "ExpressionAttributeValues": {":v": value}})
    };
    for pk in ["number", "empty", "long"] {
        twin.ok("UpdateItem", &set(pk, "other", json!({"N": "1"})));
    }
    assert_eq!(twin.count("by-g"), 2);
    twin.ok("UpdateItem", &set("number", "g", json!({"S": "x"})));
    assert_eq!(twin.ok("Query", &query)["Count"], 3);
    let refused = twin.error("UpdateItem", &set("a", "g", json!({"N": "1"})));
    assert!(refused.starts_with("ValidationException: "), "{refused}");
    let put = json!({"TableName": "tab", "Item": {"pk": {"S": "c"}, "g": {"N": "1"}}});
    assert_eq!(
        twin.error("PutItem", &put.clone()),
        "ValidationException: One or more parameter values were invalid: Type mismatch for Index Key g Expected: S Actual: N IndexName: by-g"
    );
    assert_eq!(
        twin.ok("UpdateTable", &delete_index("by-g"))["TableDescription"]["TableStatus"],
        "UPDATING"
    );
    twin.ok("PutItem", &put);
    let table = twin.describe();
    assert_eq!(table["GlobalSecondaryIndexes"], Value::Null);
    assert_eq!(
        table["AttributeDefinitions"],
        attribute("pk", "S"),
        "types in no key are forgotten"
    );
}

#[test]
fn an_empty_index_is_filled_for_minutes() {
    for seed in 0..32 {
        let twin = Twin::new(seed);
        twin.ok(
            "CreateTable",
            &definition("tab", json!({"BillingMode": "PAY_PER_REQUEST"})),
        );
        twin.engine.set_conditions(Conditions::AWS).unwrap();
        twin.ok("UpdateTable", &create_index("by-g", json!({})));
        let status = |seconds| {
            twin.engine.advance(Duration::from_secs(seconds));
            let table = twin.describe();
            let index = &table["GlobalSecondaryIndexes"][0];
            (index["IndexStatus"].clone(), index["Backfilling"].clone())
        };
        let creating = |backfilling: bool| (json!("CREATING"), json!(backfilling));
        assert_eq!(status(24), creating(false), "seed {seed}");
        assert_eq!(status(40), creating(true), "seed {seed}");
        assert_eq!(status(440), creating(true), "seed {seed}");
        assert_eq!(status(600), (json!("ACTIVE"), Value::Null), "seed {seed}");
    }
}

/// The counts of a table are refreshed at multiples of their age after its creation, even if creating it takes time.
#[test]
fn counts_are_refreshed_by_the_age_of_the_table() {
    let hours = |hours: u64| Duration::from_secs(3600 * hours);
    for table_status in [Lag::None, Lag::Fixed(Duration::from_secs(6))] {
        let twin = slow_twin();
        twin.engine
            .set_conditions(Conditions {
                statistics_age: hours(6),
                table_status,
                ..Conditions::CALM
            })
            .unwrap();
        twin.engine.advance(hours(3));
        let created = twin.engine.clock().now();
        let table = json!({"TableName": "late", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
        twin.ok("CreateTable", &table);
        let count = || twin.ok("DescribeTable", &json!({"TableName": "late"}))["Table"]["ItemCount"].clone();
        assert_eq!(count(), 0);
        twin.engine.advance(Duration::from_secs(6));
        twin.ok("PutItem", &json!({"TableName": "late", "Item": {"pk": {"S": "a"}}}));
        for (age, expect) in [(hours(3), 0), (Duration::from_secs(6 * 3600 - 1), 0), (hours(6), 1)] {
            let now = twin.engine.clock().now();
            twin.engine.advance(created.plus(age).since(now));
            assert_eq!(count(), expect, "{table_status:?} after {age:?}");
        }
    }
}

/// Counts are refreshed at multiples of a new age too, whether it is longer or shorter than the one before.
#[test]
fn counts_are_refreshed_by_a_new_age() {
    for [before, after] in [[10, 60], [60, 10], [60, 60]] {
        let twin = on_demand_twin();
        let set_age = |seconds: u64| {
            let conditions = Conditions {
                statistics_age: Duration::from_secs(seconds),
                ..Conditions::CALM
            };
            twin.engine.set_conditions(conditions).unwrap();
        };
        let count = || twin.describe()["ItemCount"].as_u64();
        set_age(before);
        advance(&twin, 100);
        twin.put("a", json!({"S": "x"}));
        assert_eq!(count(), Some(1), "{before} {after}");
        twin.put("b", json!({"S": "x"}));
        set_age(after);
        advance(&twin, 20);
        assert_eq!(count(), Some(2), "{before} {after}");
        twin.put("c", json!({"S": "x"}));
        advance(&twin, after - 1);
        assert_eq!(count(), Some(2), "{before} {after}");
        advance(&twin, 1);
        assert_eq!(count(), Some(3), "{before} {after}");
    }
}

/// An index that is added has the quotas of one that is created with its table.
#[test]
fn a_new_index_has_the_quotas_of_a_new_table() {
    for (limit, refused) in [
        (json!({"OnDemandThroughput": {"MaxReadRequestUnits": 40_000}}), false),
        (json!({"OnDemandThroughput": {"MaxReadRequestUnits": 40_001}}), true),
        (json!({"OnDemandThroughput": {"MaxWriteRequestUnits": 40_001}}), true),
        (
            json!({"WarmThroughput": {"ReadUnitsPerSecond": 40_001, "WriteUnitsPerSecond": 4000}}),
            true,
        ),
        (
            json!({"WarmThroughput": {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 40_001}}),
            true,
        ),
    ] {
        let twin = on_demand_twin();
        let add = create_index("by-g", limit.clone());
        let table = with(
            definition("other", json!({"BillingMode": "PAY_PER_REQUEST"})),
            json!({
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}],
                "GlobalSecondaryIndexes": [add["GlobalSecondaryIndexUpdates"][0]["Create"]],
            }),
        );
        let outcome = |operation: &str, body: &Value| {
            let (status, answer) = twin.send(operation, body);
            if status == 200 {
                String::new()
            } else {
                error_text(&answer)
            }
        };
        let created = outcome("CreateTable", &table);
        assert_eq!(
            created.starts_with("LimitExceededException: "),
            refused,
            "{limit}: {created}"
        );
        assert_eq!(outcome("UpdateTable", &add), created, "{limit}");
    }
}

/// The warming of an index ends when the index is deleted.
#[test]
fn a_deleted_index_is_no_longer_warmed() {
    let twin = slow_twin();
    twin.ok("UpdateTable", &create_index("by-g", json!({})));
    advance(&twin, 3600);
    let warm = json!({"ReadUnitsPerSecond": 40_000, "WriteUnitsPerSecond": 40_000});
    let update = json!({"IndexName": "by-g", "WarmThroughput": warm});
    twin.update(json!({"GlobalSecondaryIndexUpdates": [{"Update": update}]}));
    advance(&twin, 20);
    let described = twin.describe();
    let warm = &described["GlobalSecondaryIndexes"][0]["WarmThroughput"];
    assert_eq!(
        (&described["TableStatus"], &warm["Status"]),
        (&json!("ACTIVE"), &json!("UPDATING"))
    );
    twin.ok("UpdateTable", &delete_index("by-g"));
    advance(&twin, 60);
    twin.ok("DeleteTable", &json!({"TableName": "tab"}));
}

#[test]
fn an_index_that_is_being_deleted_has_the_counts_of_its_entries() {
    let twin = Twin::new(1);
    let recorder = Recorder::of(&twin.engine);
    twin.ok(
        "CreateTable",
        &definition("tab", json!({"BillingMode": "PAY_PER_REQUEST"})),
    );
    twin.engine.set_conditions(Conditions::AWS).unwrap();
    let conditions = twin.engine.conditions();
    twin.engine
        .set_conditions(Conditions {
            statistics_age: Duration::ZERO,
            ..conditions
        })
        .unwrap();
    ["a", "b"].iter().for_each(|pk| twin.put(pk, json!({"S": "x"})));
    twin.ok("UpdateTable", &create_index("by-g", json!({})));
    advance(&twin, 3600);
    let counts_of = |twin: &Twin| {
        let index = &twin.describe()["GlobalSecondaryIndexes"][0];
        ["IndexStatus", "ItemCount", "IndexSizeBytes"].map(|member| index[member].clone())
    };
    let counts = || counts_of(&twin);
    let [status, count, bytes] = counts();
    assert!(bytes.as_u64().unwrap() > 0 && status == "ACTIVE" && count == 2);
    twin.ok("UpdateTable", &delete_index("by-g"));
    let expect = [json!("DELETING"), count, bytes];
    assert_eq!(counts(), expect);
    // So has its index in each copy of the state, until the deletion ends.
    let copies = copies::of(&twin.engine, &recorder, || settings(1)).into_iter();
    let caller = || twin.caller.clone();
    let copies: Vec<_> = copies
        .map(|(what, engine)| {
            (
                what,
                Twin {
                    engine,
                    caller: caller(),
                },
            )
        })
        .collect();
    for (what, copy) in &copies {
        assert_eq!(counts_of(copy), expect, "{what}");
        assert_eq!(commits::dump(&copy.engine), commits::dump(&twin.engine), "{what}");
    }
    twin.put("c", json!({"S": "x"}));
    for (what, copy) in &copies {
        copy.put("c", json!({"S": "x"}));
        assert_eq!(counts_of(copy), expect, "{what}");
        advance(copy, 3600);
        assert_eq!(copy.describe()["GlobalSecondaryIndexes"], Value::Null, "{what}");
    }
    assert_eq!(counts(), expect);
}

/// A twin with a provisioned table and an index, whose changes take multiples of this time.
fn provisioned_with_lag(seconds: u64) -> Twin {
    let twin = Twin::provisioned();
    twin.engine
        .set_conditions(Conditions {
            table_status: Lag::Fixed(Duration::from_secs(seconds)),
            ..Conditions::CALM
        })
        .unwrap();
    twin
}

/// A new index can be changed and deleted, and the units of its table changed, from the end of its allocation.
#[test]
fn an_index_is_allocated_until_a_moment() {
    let throughput = json!({"IndexName": "new", "ProvisionedThroughput": units(3, 3)});
    for (request, refusal) in [
        (
            update(json!({"GlobalSecondaryIndexUpdates": [{"Update": throughput}]})),
            "Index is being created but is not backfilling yet.  Table: tab Index: new",
        ),
        (
            delete_index("new"),
            "Index creation is in resource allocation phase. Retry deletion during backfilling phase or when the index is active. Table: tab Index: new",
        ),
        (
            update(json!({"ProvisionedThroughput": units(6, 6)})),
            "Can't change table IOPS when an index is being created. Table: tab Indexes: [new]",
        ),
    ] {
        let twin = provisioned_with_lag(10);
        let new = json!({"ProvisionedThroughput": units(2, 2)});
        twin.ok("UpdateTable", &create_index("new", new));
        twin.engine.advance(Duration::from_millis(59_999));
        let in_use = "ResourceInUseException: Attempt to change a resource which is still in use";
        assert_eq!(twin.error("UpdateTable", &request), format!("{in_use}: {refusal}"));
        twin.engine.advance(Duration::from_millis(1));
        twin.ok("UpdateTable", &request);
    }
}

/// While the class of a table changes, its global indexes are updating for the first quarter of the time.
#[test]
fn indexes_are_updating_when_the_class_begins_to_change() {
    let twin = provisioned_with_lag(8);
    twin.update(json!({"TableClass": "STANDARD_INFREQUENT_ACCESS"}));
    for (millis, table, index) in [
        (1499, "UPDATING", "UPDATING"),
        (1, "UPDATING", "ACTIVE"),
        (4499, "UPDATING", "ACTIVE"),
        (1, "ACTIVE", "ACTIVE"),
    ] {
        twin.engine.advance(Duration::from_millis(millis));
        let described = twin.describe();
        let index_status = &described["GlobalSecondaryIndexes"][0]["IndexStatus"];
        assert_eq!(
            (&described["TableStatus"], index_status),
            (&json!(table), &json!(index))
        );
    }
}

#[test]
fn a_table_can_be_deleted_from_the_end_of_a_change_of_its_policy() {
    let twin = provisioned_with_lag(10);
    let statement = json!([{"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::111122223333:role/r"},
        "Action": "dynamodb:GetItem", "Resource": ARN}]);
    let policy = json!({"Version": "2012-10-17", "Statement": statement}).to_string();
    twin.ok("PutResourcePolicy", &json!({"ResourceArn": ARN, "Policy": policy}));
    twin.engine.advance(Duration::from_millis(3299));
    let refusal = twin.error("DeleteTable", &json!({"TableName": "tab"}));
    assert!(
        refusal.ends_with("Table: tab has a pending resource-based policy update."),
        "{refusal}"
    );
    twin.engine.advance(Duration::from_millis(1));
    twin.ok("DeleteTable", &json!({"TableName": "tab"}));
}

#[test]
fn an_index_is_created_and_deleted_over_time() {
    let twin = slow_twin();
    twin.put("a", json!({"S": "x"}));
    twin.ok("UpdateTable", &create_index("by-g", json!({})));
    let status = || {
        let table = twin.describe();
        let index = &table["GlobalSecondaryIndexes"][0];
        (
            table["TableStatus"].clone(),
            index["IndexStatus"].clone(),
            index["Backfilling"].clone(),
        )
    };
    assert_eq!(status(), (json!("UPDATING"), json!("CREATING"), json!(false)));
    assert_eq!(
        twin.error("Scan", &json!({"TableName": "tab", "IndexName": "by-g"})),
        "ValidationException: Cannot read from backfilling global secondary index: by-g"
    );
    let in_use = "ResourceInUseException: Attempt to change a resource which is still in use: ";
    assert_eq!(
        twin.error("UpdateTable", &delete_index("by-g")),
        format!(
            "{in_use}Index creation is in resource allocation phase. Retry deletion during backfilling phase or when the index is active. Table: tab Index: by-g"
        )
    );
    assert_eq!(
        twin.error("UpdateTable", &create_index("other", json!({}))),
        "LimitExceededException: Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
    );
    assert_eq!(
        twin.error(
            "UpdateTable",
            &update(json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(1, 1)}))
        ),
        format!("{in_use}Can't change table IOPS when an index is being created. Table: tab Indexes: [by-g]")
    );
    // Writes during the backfill are in the index when it is active.
    twin.put("b", json!({"S": "x"}));
    advance(&twin, 61);
    assert_eq!(status(), (json!("ACTIVE"), json!("CREATING"), json!(true)));
    assert_eq!(
        twin.error("DeleteTable", &json!({"TableName": "tab"})),
        format!("{in_use}Cannot delete table while indexes are being created, updated, or deleted.")
    );
    advance(&twin, 900);
    assert_eq!(status(), (json!("ACTIVE"), json!("ACTIVE"), Value::Null));
    assert_eq!(twin.count("by-g"), 2);
    twin.ok("UpdateTable", &delete_index("by-g"));
    assert_eq!(status(), (json!("UPDATING"), json!("DELETING"), Value::Null));
    assert_eq!(
        twin.error("Scan", &json!({"TableName": "tab", "IndexName": "by-g"})),
        "ValidationException: The table does not have the specified index: by-g"
    );
    advance(&twin, 10);
    assert_eq!(status(), (json!("ACTIVE"), Value::Null, Value::Null));
}

#[test]
fn writes_that_race_an_index_are_in_it() {
    let twin = on_demand_twin();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let twin = &twin;
                scope.spawn(move || {
                    for at in 0..200 {
                        let pk = format!("{writer}-{at}");
                        let key = json!({"pk": {"S": pk}});
                        match at % 3 {
                            0 => twin.put(&pk, json!({"S": "x"})),
                            1 => drop(twin.ok(
                                "UpdateItem",
                                &json!({"TableName": "tab", "Key": key,
                                "UpdateExpression": "SET g = :g", "ReturnConsumedCapacity": "INDEXES",
                                "ExpressionAttributeValues": {":g": {"S": "x"}}}),
                            )),
                            _ => drop(twin.ok(
                                "TransactWriteItems",
                                &json!({"ReturnConsumedCapacity": "INDEXES",
                                "TransactItems": [{"Put": {"TableName": "tab",
                                    "Item": {"pk": {"S": pk}, "g": {"S": "x"}}}}]}),
                            )),
                        }
                    }
                })
            })
            .collect();
        let mut rounds = 0;
        while rounds < 5 || writers.iter().any(|writer| !writer.is_finished()) {
            twin.ok("UpdateTable", &create_index("by-g", json!({})));
            twin.ok(
                "UpdateTable",
                &create_index("second", json!({"Projection": {"ProjectionType": "KEYS_ONLY"}})),
            );
            twin.ok("UpdateTable", &delete_index("by-g"));
            assert!(twin.count("second").as_u64() <= twin.ok("Scan", &json!({"TableName": "tab"}))["Count"].as_u64());
            twin.ok("UpdateTable", &delete_index("second"));
            rounds += 1;
        }
        twin.ok("UpdateTable", &create_index("by-g", json!({})));
    });
    assert_eq!(twin.count("by-g"), 800);
    assert_eq!(twin.describe()["GlobalSecondaryIndexes"][0]["ItemCount"], 800);
}

const NOTHING: &str = "ValidationException: At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required";

#[test]
fn an_invalid_update_is_refused_with_a_reason() {
    let twin = Twin::provisioned();
    let elements = |elements: Value| json!({"GlobalSecondaryIndexUpdates": elements});
    let change = json!({"IndexName": "by-g", "ProvisionedThroughput": units(3, 3)});
    let invalid = "ValidationException: One or more parameter values were invalid: ";
    for (request, expect) in [
        (json!({}), NOTHING.to_owned()),
        (json!({"AttributeDefinitions": []}), NOTHING.to_owned()),
        (elements(json!([])), NOTHING.replace("GlobalSecondaryIndexUpdates, ", "")),
        (json!({"MultiRegionConsistency": "STRONG"}), NOTHING.replace("MultiRegionConsistency, ", "")),
        (json!({"GlobalSecondaryIndexUpdates": [], "TableClass": "STANDARD"}),
         format!("{invalid}List of GlobalSecondaryIndexUpdates is empty")),
        (json!({"BillingMode": "FREE"}),
         "ValidationException: 1 validation error detected: Value 'FREE' at 'billingMode' failed to satisfy constraint: Member must satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]".into()),
        (json!({"ProvisionedThroughput": {"ReadCapacityUnits": 1}}),
         "ValidationException: 1 validation error detected: Value null at 'provisionedThroughput.writeCapacityUnits' failed to satisfy constraint: Member must not be null".into()),
        (json!({"SSESpecification": {}, "TableClass": "STANDARD", "DeletionProtectionEnabled": true}),
         format!("{invalid}Server-Side Encryption modification must be the only operation in the request")),
        (json!({"TableClass": "STANDARD", "DeletionProtectionEnabled": true}),
         format!("{invalid}TableClass modification must be the only operation in the request")),
        (json!({"OnDemandThroughput": {"MaxReadRequestUnits": 5}, "ProvisionedThroughput": units(1, 1)}),
         format!("{invalid}OnDemandThroughput can only be combined with BillingMode in an UpdateTable request")),
        (json!({"StreamSpecification": {"StreamEnabled": true}, "ProvisionedThroughput": units(1, 1)}),
         format!("{invalid}You cannot modify stream status while updating table IOPS")),
        (json!({"StreamSpecification": {"StreamEnabled": true}}),
         format!("{invalid}If stream is being enabled then UpdateViewType is required")),
        (json!({"StreamSpecification": {"StreamEnabled": false, "StreamViewType": "KEYS_ONLY"}}),
         format!("{invalid}If stream is being disabled, then UpdateViewType must not be specified")),
        (json!({"StreamSpecification": {"StreamEnabled": false}}),
         "ValidationException: Table has no stream to disable: TableName: tab".into()),
        (json!({"ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]}),
         "ValidationException: Table write capacity should either be Pay-Per-Request or AutoScaled.".into()),
        (json!({"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-g"}}], "ProvisionedThroughput": units(1, 1)}),
         format!("{invalid}You cannot create or delete index while updating table IOPS")),
        (elements(json!([{}])),
         format!("{invalid}One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null")),
        (elements(json!([{"Update": change, "Delete": {"IndexName": "by-g"}}])),
         format!("{invalid}Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object")),
        (elements(json!([{"Update": change}, {"Delete": {"IndexName": "by-g"}}])),
         format!("{invalid}Only one global secondary index update per index is allowed simultaneously. Index: by-g")),
        (elements(json!([{"Delete": {"IndexName": "by-g"}}, {"Delete": {"IndexName": "other"}}])),
         "LimitExceededException: Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table".into()),
        (elements(json!([{"Delete": {"IndexName": "none"}}])),
         "ResourceNotFoundException: Requested resource not found: Index none for table tab".into()),
        (json!({"ProvisionedThroughput": units(5, 5)}),
         "ValidationException: The provisioned throughput for the table will not change. The requested value equals the current value. Current ReadCapacityUnits provisioned for the table: 5. Requested ReadCapacityUnits: 5. Current WriteCapacityUnits provisioned for the table: 5. Requested WriteCapacityUnits: 5. Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.".into()),
        (elements(json!([{"Update": {"IndexName": "by-g", "ProvisionedThroughput": units(2, 2)}}])),
         "ValidationException: The provisioned throughput for the index by-g will not change. The requested value equals the current value. Current ReadCapacityUnits provisioned for index by-g: 2. Requested ReadCapacityUnits: 2. Current WriteCapacityUnits provisioned for index by-g: 2. Requested WriteCapacityUnits: 2. Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.".into()),
        (json!({"BillingMode": "PROVISIONED"}),
         format!("{invalid}ProvisionedThroughput must be specified when BillingMode is PROVISIONED")),
        (json!({"BillingMode": "PAY_PER_REQUEST", "ProvisionedThroughput": units(1, 1)}),
         format!("{invalid}ProvisionedThroughput cannot be specified when BillingMode is PAY_PER_REQUEST")),
        (json!({"OnDemandThroughput": {"MaxReadRequestUnits": 5}}),
         format!("{invalid}MaxReadRequestUnits for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED")),
        (json!({"ProvisionedThroughput": units(40_001, 1)}),
         "LimitExceededException: The requested ReadCapacityUnits, 40001, is above the per table maximum for the account in us-east-1. Per table maximum: 40000. Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.".into()),
        (json!({"TableClass": "GOLD"}),
         "ValidationException: Invalid table-class parameter provided. Please try again with a valid table-class value: [STANDARD, STANDARD_INFREQUENT_ACCESS].".into()),
        (json!({"SSESpecification": {"Enabled": false}}), format!("{invalid}Table is already encrypted by default")),
    ] {
        assert_eq!(twin.error("UpdateTable", &update(request)), expect);
    }
    assert_eq!(
        twin.error("UpdateTable", &json!({"TableName": "none", "TableClass": "STANDARD"})),
        "ResourceNotFoundException: Requested resource not found: Table: none not found"
    );
    assert_eq!(
        twin.error("UpdateTable", &json!({"TableName": "none"})),
        NOTHING,
        "before the table is looked for"
    );
    let table = twin.describe();
    assert_eq!(
        table["ProvisionedThroughput"]["ReadCapacityUnits"], 5,
        "what is refused changes nothing"
    );
}

/// Which two changes can be in one request, and the reason why others cannot. The table has no indexes, so that some
/// pairs are refused for other reasons.
#[test]
fn two_changes_are_combined_or_refused_with_a_reason() {
    const IOPS: &str = "while updating table IOPS";
    const STREAM: &str = "You cannot modify stream status while updating table IOPS";
    const INDEX: &str = "You cannot create or delete index while updating table IOPS";
    const BOTH: &str = "You cannot create or delete index while changing stream status";
    const LIMITS: &str = "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request";
    const WARM: &str = "Create global secondary index cannot be specified when updating WarmThroughput";
    const ALONE: &str = "must be the only operation in the request";
    let indexes = |action: &str, index: Value| json!({"GlobalSecondaryIndexUpdates": [{action: index}]});
    let index = json!({"IndexName": "new", "KeySchema": hash("g"), "Projection": {"ProjectionType": "ALL"}});
    let vectors = json!({"IndexName": "near", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2,
        "DistanceFunction": "COSINE", "Projection": {"ProjectionType": "ALL"}});
    let limits = json!({"MaxReadRequestUnits": 5});
    let changes = [
        ("units", json!({"ProvisionedThroughput": units(1, 1)})),
        ("on demand", json!({"BillingMode": "PAY_PER_REQUEST"})),
        ("provisioned", json!({"BillingMode": "PROVISIONED"})),
        (
            "stream",
            json!({"StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}}),
        ),
        (
            "create",
            with(
                indexes("Create", index),
                json!({"AttributeDefinitions": attribute("g", "S")}),
            ),
        ),
        ("delete", indexes("Delete", json!({"IndexName": "old"}))),
        (
            "update",
            indexes("Update", json!({"IndexName": "old", "OnDemandThroughput": limits})),
        ),
        ("vector", json!({"VectorIndexUpdates": [{"Create": vectors}]})),
        (
            "unvector",
            json!({"VectorIndexUpdates": [{"Delete": {"IndexName": "near"}}]}),
        ),
        ("limits", json!({"OnDemandThroughput": limits})),
    ];
    let alone = [
        (
            "Server-Side Encryption modification",
            json!({"SSESpecification": {"Enabled": true, "SSEType": "KMS"}}),
        ),
        ("TableClass modification", json!({"TableClass": "STANDARD"})),
        (
            "DeletionProtection modification",
            json!({"DeletionProtectionEnabled": true}),
        ),
        (
            "DisassociationProtection modification",
            json!({"DisassociationProtectionEnabled": true}),
        ),
        (
            "WarmThroughput",
            json!({"WarmThroughput": {"ReadUnitsPerSecond": 20_000}}),
        ),
        (
            "Replica modification",
            json!({"ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]}),
        ),
    ];
    // The reason among those of combinations, if it is one.
    let reason = |request: &Value| {
        let (_, answer) = on_demand_twin().send("UpdateTable", &update(request.clone()));
        let text = answer["message"].as_str().unwrap_or_default();
        let reason = text
            .strip_prefix("One or more parameter values were invalid: ")
            .unwrap_or_default();
        let is_one = [IOPS, BOTH, LIMITS, WARM, ALONE]
            .iter()
            .any(|part| reason.contains(part));
        if is_one { reason.to_owned() } else { String::new() }
    };
    for (at, (one, first)) in changes.iter().enumerate() {
        for (other, second) in &changes[at + 1..] {
            let expect = match (*one, *other) {
                ("on demand" | "provisioned", "limits") => "",
                (_, "limits") => LIMITS,
                ("units" | "provisioned", "stream") => STREAM,
                ("units", "create" | "delete" | "vector" | "unvector") => INDEX,
                ("stream", "create" | "delete" | "vector" | "unvector") => BOTH,
                _ => "",
            };
            assert_eq!(reason(&with(first.clone(), second.clone())), expect, "{one}, {other}");
        }
        for (other, second) in &alone {
            let expect = match (*one, *other) {
                ("create", "WarmThroughput") => WARM.to_owned(),
                (_, other) => format!("{other} {ALONE}"),
            };
            assert_eq!(reason(&with(first.clone(), second.clone())), expect, "{one}, {other}");
        }
    }
    // The first of several that must be alone is named, in this order.
    for (at, (one, first)) in alone.iter().enumerate() {
        assert_eq!(reason(first), "", "{one}");
        for (other, second) in &alone[at + 1..] {
            let expect = format!("{one} {ALONE}");
            assert_eq!(reason(&with(first.clone(), second.clone())), expect, "{one}, {other}");
        }
    }
}

#[test]
fn an_invalid_new_index_is_refused_with_a_reason() {
    let twin = Twin::provisioned();
    let invalid = "ValidationException: One or more parameter values were invalid: ";
    let paid = || json!({"ProvisionedThroughput": units(1, 1)});
    let with_types = |types: Value| with(create_index("new", paid()), json!({"AttributeDefinitions": types}));
    for (request, expect) in [
        (
            create_index("by-g", paid()),
            "ValidationException: Attempting to create an index which already exists".into(),
        ),
        (
            create_index("new", json!({})),
            format!("{invalid}Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: new"),
        ),
        (
            with_types(json!([])),
            format!("{invalid}AttributeDefinitions is not specified for index: new"),
        ),
        (
            with_types(attribute("zz", "S")),
            format!(
                "{invalid}Some index key attributes are not defined in AttributeDefinitions. Keys: [g], AttributeDefinitions: [zz]"
            ),
        ),
        (
            with_types(attribute("g", "N")),
            format!(
                "{invalid}Attributes cannot be redefined. Please check that your attribute has the same type as previously defined. Existing schema: Schema:[SchemaElement: key{{g:S:HASH}}] New schema: Schema:[SchemaElement: key{{g:N:HASH}}]"
            ),
        ),
    ] {
        assert_eq!(twin.error("UpdateTable", &request), expect);
    }
    for at in 1..20 {
        twin.ok("UpdateTable", &create_index(&format!("index-{at}"), paid()));
    }
    assert_eq!(
        twin.error("UpdateTable", &create_index("new", paid())),
        "LimitExceededException: Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of 20"
    );
    let on_demand = on_demand_twin();
    assert_eq!(
        on_demand.error("UpdateTable", &create_index("new", paid())),
        format!(
            "{invalid}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: new when BillingMode is PAY_PER_REQUEST"
        )
    );
}

#[test]
fn throughput_changes_with_its_history() {
    let twin = Twin::provisioned();
    let start = Moment::START.seconds();
    let answer = twin.update(json!({"ProvisionedThroughput": units(8, 4)}));
    assert_eq!(answer["TableStatus"], "UPDATING");
    assert_eq!(
        answer["ProvisionedThroughput"]["ReadCapacityUnits"], 5,
        "the old units, with the new date"
    );
    assert_eq!(answer["ProvisionedThroughput"]["NumberOfDecreasesToday"], 0);
    assert_eq!(
        answer["ProvisionedThroughput"]["LastDecreaseDateTime"].as_f64(),
        Some(start as f64)
    );
    let table = twin.describe();
    assert_eq!(table["TableStatus"], "ACTIVE");
    let now = &table["ProvisionedThroughput"];
    assert_eq!(
        (&now["ReadCapacityUnits"], &now["WriteCapacityUnits"]),
        (&json!(8), &json!(4))
    );
    assert_eq!(now["NumberOfDecreasesToday"], 1);
    assert_eq!(now["LastIncreaseDateTime"], Value::Null);
    assert_eq!(table["WarmThroughput"]["ReadUnitsPerSecond"], 8);
    assert_eq!(
        table["WarmThroughput"]["WriteUnitsPerSecond"], 5,
        "the most there ever was"
    );
    twin.update(json!({"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "by-g", "ProvisionedThroughput": units(3, 3)}}]}));
    let index = twin.describe()["GlobalSecondaryIndexes"][0].take();
    assert_eq!(index["ProvisionedThroughput"]["ReadCapacityUnits"], 3);
    assert_eq!(
        index["ProvisionedThroughput"]["LastIncreaseDateTime"].as_f64(),
        Some(start as f64)
    );
    advance(&twin, 86_400);
    assert_eq!(twin.describe()["ProvisionedThroughput"]["NumberOfDecreasesToday"], 0);
}

#[test]
fn changes_take_time_and_are_serialized() {
    let twin = Twin::provisioned();
    twin.engine.set_conditions(Conditions::AWS).unwrap();
    let in_use = "ResourceInUseException: Attempt to change a resource which is still in use: ";
    twin.update(json!({"ProvisionedThroughput": units(9, 9)}));
    assert_eq!(
        twin.error("UpdateTable", &update(json!({"ProvisionedThroughput": units(10, 10)}))),
        format!("{in_use}Table IOPS are currently being updated. Table: tab")
    );
    assert_eq!(
        twin.error(
            "UpdateTable",
            &create_index("new", json!({"ProvisionedThroughput": units(1, 1)}))
        ),
        format!("{in_use}Can't create or delete indexes while table IOPS are being updated. Table: tab")
    );
    assert_eq!(
        twin.error("DeleteTable", &json!({"TableName": "tab"})),
        format!("{in_use}Table: tab is in the process of being updated.")
    );
    assert_eq!(twin.describe()["ProvisionedThroughput"]["ReadCapacityUnits"], 5);
    advance(&twin, 3);
    assert_eq!(twin.describe()["ProvisionedThroughput"]["ReadCapacityUnits"], 9);
    for read in (5..9).rev() {
        twin.update(json!({"ProvisionedThroughput": units(read, 9)}));
        advance(&twin, 3);
    }
    let fifth = json!({"ProvisionedThroughput": units(4, 9)});
    let refused = twin.error("UpdateTable", &update(fifth.clone()));
    assert!(
        refused.starts_with("LimitExceededException: Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day."),
        "{refused}"
    );
    advance(&twin, 3600);
    twin.update(fifth);
    advance(&twin, 3);
    // A setting that is the present one is no change.
    twin.update(json!({"DeletionProtectionEnabled": false}));
    twin.update(json!({"DeletionProtectionEnabled": true}));
    twin.update(json!({"DeletionProtectionEnabled": true}));
    let refused = twin.error("UpdateTable", &update(json!({"DeletionProtectionEnabled": false})));
    assert!(
        refused.starts_with("ThrottlingException: Deletion protection setting for table tab modified within the previous 15000 milliseconds. Please try again after 2026-01-01T01:"),
        "{refused}"
    );
    assert_eq!(
        twin.error("DeleteTable", &json!({"TableName": "tab"})),
        "ValidationException: Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first."
    );
    advance(&twin, 16);
    assert_eq!(
        twin.update(json!({"DeletionProtectionEnabled": false}))["TableStatus"],
        "ACTIVE"
    );
    // Requests for the present class are no changes.
    for class in ["STANDARD", "STANDARD", "STANDARD_INFREQUENT_ACCESS", "STANDARD"] {
        assert_eq!(twin.update(json!({"TableClass": class}))["TableStatus"], "UPDATING");
        advance(&twin, 10);
        let described = twin.describe();
        let shown = described["TableClassSummary"]["TableClass"].as_str();
        assert_eq!(shown.unwrap_or("STANDARD"), class);
    }
    assert_eq!(
        twin.error("UpdateTable", &update(json!({"TableClass": "STANDARD"}))),
        "LimitExceededException: Subscriber limit exceeded: Updates to TableClass are limited to 2 times in 30 day(s)."
    );
}

/// A lag whose length is always zero is as none: states take no time, and changes can be repeated at once.
#[test]
fn states_without_a_lag_take_no_time() {
    let zero = Duration::ZERO;
    let [none, others @ ..] = [
        Lag::None,
        Lag::Fixed(zero),
        Lag::Seeded {
            typical: zero,
            longest: zero,
        },
        Lag::LongTail {
            typical: zero,
            p99: zero,
            longest: zero,
        },
    ]
    .map(|lag| {
        let twin = Twin::new(1);
        let conditions = Conditions {
            table_status: lag,
            ..Conditions::CALM
        };
        twin.engine.set_conditions(conditions).unwrap();
        let throughput = units(1, 1);
        let table = definition(
            "tab",
            json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": throughput}),
        );
        let time_to_live = |enabled: bool| json!({"TableName": "tab", "TimeToLiveSpecification": {"AttributeName": "t", "Enabled": enabled}});
        let tag = |key: &str| json!({"ResourceArn": ARN, "Tags": [{"Key": key, "Value": "x"}]});
        let index = create_index("by-g", json!({"ProvisionedThroughput": throughput}));
        [
            ("CreateTable", table),
            (
                "PutItem",
                json!({"TableName": "tab", "Item": {"pk": {"S": "a"}, "g": {"S": "x"}}}),
            ),
            ("UpdateTable", index),
            ("Scan", json!({"TableName": "tab", "IndexName": "by-g"})),
            ("UpdateTimeToLive", time_to_live(true)),
            ("UpdateTimeToLive", time_to_live(false)),
            ("TagResource", tag("one")),
            ("TagResource", tag("two")),
            ("CreateBackup", json!({"TableName": "tab", "BackupName": "one"})),
            ("DescribeTable", json!({"TableName": "tab"})),
        ]
        .map(|(operation, body)| (lag, operation, twin.send(operation, &body)))
    });
    assert!(none.iter().all(|(_, _, (status, _))| *status == 200), "{none:?}");
    for answers in &others {
        for (none, (lag, operation, answer)) in none.iter().zip(answers) {
            assert_eq!(*answer, none.2, "{operation}, {lag:?}");
        }
    }
}

/// After the free decreases of a day, only requests that lower something are refused.
#[test]
fn raised_throughput_is_no_decrease() {
    let twin = Twin::provisioned();
    twin.engine.set_conditions(Conditions::AWS).unwrap();
    for units_of_both in [4, 3, 2, 1] {
        twin.update(json!({"ProvisionedThroughput": units(units_of_both, units_of_both + 1)}));
        advance(&twin, 3);
    }
    for (read, write, accepted) in [
        (2, 2, true),
        (2, 3, true),
        (1, 3, false),
        (2, 2, false),
        (1, 4, false),
        (3, 3, true),
    ] {
        let body = update(json!({"ProvisionedThroughput": units(read, write)}));
        if accepted {
            twin.update(json!({"ProvisionedThroughput": units(read, write)}));
        } else {
            let refused = twin.error("UpdateTable", &body);
            assert!(
                refused.contains("Provisioned throughput decreases are limited"),
                "{read} {write}: {refused}"
            );
        }
        advance(&twin, 3);
    }
}

/// A change of the table class is forgotten after 30 days.
#[test]
fn the_table_class_changes_twice_in_thirty_days() {
    let twin = Twin::provisioned();
    twin.engine.set_conditions(Conditions::AWS).unwrap();
    for class in ["STANDARD_INFREQUENT_ACCESS", "STANDARD"] {
        let before = twin.describe()["TableClassSummary"].clone();
        // During a change the class is the old one, with the time since which it is.
        assert_eq!(
            twin.update(json!({"TableClass": class}))["TableClassSummary"],
            before,
            "{class}"
        );
        advance(&twin, 10);
        let after = &twin.describe()["TableClassSummary"];
        assert_eq!(after["TableClass"], class);
        assert!(after["LastUpdateDateTime"].is_number(), "{after}");
    }
    let again = json!({"TableClass": "STANDARD_INFREQUENT_ACCESS"});
    advance(&twin, 30 * 86_400 - 21);
    assert!(
        twin.error("UpdateTable", &update(again.clone()))
            .contains("limited to 2 times in 30 day(s)")
    );
    advance(&twin, 1);
    assert_eq!(twin.update(again)["TableStatus"], "UPDATING");
}

/// Throughput that is provisioned when a table or index switches to on-demand stays warm.
#[test]
fn provisioned_units_stay_warm_on_demand() {
    for (units, warm) in [
        ((20_000, 9_000), (20_000, 9_000)),
        ((20_000, 5), (20_000, 4_000)),
        ((5, 9_000), (12_000, 9_000)),
        ((6, 6), (12_000, 4_000)),
    ] {
        for (of_index, is_raised) in [(false, false), (false, true), (true, false), (true, true)] {
            let twin = match (of_index, is_raised) {
                (_, true) => Twin::provisioned(),
                (false, false) => Twin::with_units(units, (2, 2)),
                (true, false) => Twin::with_units((5, 5), units),
            };
            let throughput = json!({"ReadCapacityUnits": units.0, "WriteCapacityUnits": units.1});
            if is_raised && of_index {
                let update = json!({"IndexName": "by-g", "ProvisionedThroughput": throughput});
                twin.update(json!({"GlobalSecondaryIndexUpdates": [{"Update": update}]}));
            } else if is_raised {
                twin.update(json!({"ProvisionedThroughput": throughput}));
            }
            twin.update(json!({"BillingMode": "PAY_PER_REQUEST"}));
            let table = twin.describe();
            let index = &table["GlobalSecondaryIndexes"][0];
            let (changed, other) = if of_index { (index, &table) } else { (&table, index) };
            for (resource, (read, write)) in [(changed, warm), (other, (12_000, 4_000))] {
                let found = &resource["WarmThroughput"];
                assert_eq!(found["ReadUnitsPerSecond"], read, "{units:?} {of_index}: {found}");
                assert_eq!(found["WriteUnitsPerSecond"], write, "{units:?} {of_index}: {found}");
            }
        }
    }
}

#[test]
fn the_billing_mode_switches_both_ways() {
    let twin = Twin::provisioned();
    let answer =
        twin.update(json!({"BillingMode": "PAY_PER_REQUEST", "OnDemandThroughput": {"MaxReadRequestUnits": 7}}));
    assert_eq!(answer["BillingModeSummary"], json!({"BillingMode": "PAY_PER_REQUEST"}));
    let table = twin.describe();
    assert_eq!(
        table["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"].as_f64(),
        Some(1_767_225_600.0)
    );
    assert_eq!(table["ProvisionedThroughput"]["ReadCapacityUnits"], 0);
    assert_eq!(
        table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"],
        0
    );
    assert_eq!(table["OnDemandThroughput"], json!({"MaxReadRequestUnits": 7}));
    assert_eq!(table["WarmThroughput"]["ReadUnitsPerSecond"], 12_000);
    twin.update(json!({"OnDemandThroughput": {"MaxWriteRequestUnits": 8}}));
    assert_eq!(
        twin.describe()["OnDemandThroughput"],
        json!({"MaxReadRequestUnits": 7, "MaxWriteRequestUnits": 8})
    );
    assert_eq!(
        twin.update(json!({"OnDemandThroughput": {"MaxReadRequestUnits": -1}}))["TableStatus"],
        "ACTIVE"
    );
    assert_eq!(
        twin.describe()["OnDemandThroughput"],
        json!({"MaxWriteRequestUnits": 8})
    );
    let invalid = "ValidationException: One or more parameter values were invalid: ";
    let back = json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(5, 5)});
    for (request, expect) in [
        (
            json!({"OnDemandThroughput": {"MaxReadRequestUnits": 0}}),
            "Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range",
        ),
        (
            json!({"ProvisionedThroughput": units(1, 1)}),
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
        ),
        (
            json!({"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "by-g", "ProvisionedThroughput": units(1, 1)}}]}),
            "The only Updates for index: by-g when TableThroughputMode is PAY_PER_REQUEST can be to OnDemandThroughput, WarmThroughput",
        ),
        (back.clone(), "ProvisionedThroughput must be specified for index: by-g"),
    ] {
        assert_eq!(
            twin.error("UpdateTable", &update(request)),
            format!("{invalid}{expect}")
        );
    }
    let indexes = json!([{"Update": {"IndexName": "by-g", "ProvisionedThroughput": units(1, 1)}}]);
    twin.update(with(back, json!({"GlobalSecondaryIndexUpdates": indexes})));
    let table = twin.describe();
    assert_eq!(
        table["BillingModeSummary"]["BillingMode"], "PROVISIONED",
        "once on demand, the summary stays"
    );
    assert_eq!(
        table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"],
        1
    );
    assert_eq!(table["OnDemandThroughput"], Value::Null, "a switch drops the limits");
    assert_eq!(
        twin.update(json!({"BillingMode": "PAY_PER_REQUEST"}))["TableStatus"],
        "UPDATING"
    );
    assert_eq!(
        twin.update(json!({"BillingMode": "PAY_PER_REQUEST"}))["TableStatus"],
        "UPDATING"
    );
    assert_eq!(twin.describe()["TableStatus"], "ACTIVE");
}

#[test]
fn encryption_is_described() {
    let twin = on_demand_twin();
    let key = "arn:aws:kms:us-east-1:000000000000:key/k";
    let on = json!({"SSESpecification": {"Enabled": true, "SSEType": "KMS", "KMSMasterKeyId": key}});
    let answer = twin.update(on.clone());
    assert_eq!(answer["TableStatus"], "ACTIVE");
    assert_eq!(answer["SSEDescription"]["Status"], "UPDATING");
    let enabled = json!({"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": key});
    assert_eq!(twin.describe()["SSEDescription"], enabled);
    assert_eq!(
        twin.error("UpdateTable", &update(on)),
        "ValidationException: One or more parameter values were invalid: Table is already encrypted with given KMSMasterKeyId. Use KMSMasterKeyId parameter if you want to change Master Key"
    );
    let answer = twin.update(json!({"SSESpecification": {"Enabled": false}}));
    assert_eq!(answer["SSEDescription"]["KMSMasterKeyArn"], key);
    assert_eq!(twin.describe()["SSEDescription"], Value::Null);
    // A change of the key takes 3.6 times the lag of table states, and DescribeTable shows the old key for two fifths of it.
    twin.ok(
        "UpdateTable",
        &update(json!({"SSESpecification": {"Enabled": true, "SSEType": "KMS", "KMSMasterKeyId": key}})),
    );
    twin.engine
        .set_conditions(Conditions {
            table_status: Lag::Fixed(Duration::from_secs(10)),
            ..Conditions::CALM
        })
        .unwrap();
    let other = "arn:aws:kms:us-east-1:000000000000:key/other";
    let change = json!({"SSESpecification": {"Enabled": true, "SSEType": "KMS", "KMSMasterKeyId": other}});
    let begin = twin.engine.clock().now();
    twin.update(change);
    for (micros, shown, status) in [
        (14_400_000, key, "UPDATING"),
        (14_400_001, other, "UPDATING"),
        (35_999_999, other, "UPDATING"),
        (36_000_000, other, "ENABLED"),
    ] {
        twin.engine.clock().set(begin.plus(Duration::from_micros(micros)));
        let description = twin.describe()["SSEDescription"].clone();
        assert_eq!(
            (&description["KMSMasterKeyArn"], &description["Status"]),
            (&json!(shown), &json!(status)),
            "{micros}"
        );
    }
}

/// A second change of warm throughput replaces the first, of the same table or index alone: it takes its whole time, and
/// the units from before the first are shown until then.
#[test]
fn warm_throughput_changes_again_before_it_is_there() {
    let shown =
        |read: i64, status: &str| json!({"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": 4000, "Status": status});
    let raise = |at: usize, read: i64| {
        let warm = json!({"ReadUnitsPerSecond": read});
        match at {
            0 => json!({"WarmThroughput": warm}),
            _ => json!({"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "by-g", "WarmThroughput": warm}}]}),
        }
    };
    for (at, other) in [(0, 1), (1, 0)] {
        let twin = on_demand_twin();
        twin.ok("UpdateTable", &create_index("by-g", json!({})));
        twin.engine
            .set_conditions(Conditions {
                table_status: Lag::Fixed(Duration::from_secs(1)),
                ..Conditions::CALM
            })
            .unwrap();
        let warm = || {
            let table = twin.describe();
            let of = [
                &table["WarmThroughput"],
                &table["GlobalSecondaryIndexes"][0]["WarmThroughput"],
            ];
            (of[at].clone(), of[other].clone())
        };
        twin.update(raise(at, 13_000));
        advance(&twin, 10);
        twin.update(raise(other, 20_000));
        advance(&twin, 20);
        twin.update(raise(at, 14_000));
        for (wait, read, status, others, others_status) in [
            (0, 12_000, "UPDATING", 12_000, "UPDATING"),
            (31, 12_000, "UPDATING", 12_000, "UPDATING"),
            (9, 12_000, "UPDATING", 20_000, "ACTIVE"),
            (19, 12_000, "UPDATING", 20_000, "ACTIVE"),
            (1, 14_000, "ACTIVE", 20_000, "ACTIVE"),
        ] {
            advance(&twin, wait);
            assert_eq!(
                warm(),
                (shown(read, status), shown(others, others_status)),
                "{at} {wait}"
            );
        }
    }
}

#[test]
fn warm_throughput_only_rises() {
    let twin = slow_twin();
    let warm = |read: i64| json!({"WarmThroughput": {"ReadUnitsPerSecond": read}});
    let shown =
        |read: i64, status: &str| json!({"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": 4000, "Status": status});
    let answer = twin.update(warm(13_000));
    assert_eq!(
        (&answer["TableStatus"], &answer["WarmThroughput"]),
        (&json!("ACTIVE"), &shown(12_000, "UPDATING"))
    );
    twin.update(warm(14_000));
    assert_eq!(twin.describe()["WarmThroughput"], shown(12_000, "UPDATING"));
    advance(&twin, 600);
    assert_eq!(twin.describe()["WarmThroughput"], shown(14_000, "ACTIVE"));
    assert_eq!(
        twin.error("UpdateTable", &update(warm(13_999))),
        "ValidationException: One or more parameter values were invalid: Requested ReadUnitsPerSecond for WarmThroughput for table is lower than current WarmThroughput, decreasing WarmThroughput is not supported"
    );
    assert_eq!(
        twin.error("UpdateTable", &with(create_index("new", json!({})), warm(15_000))),
        "ValidationException: One or more parameter values were invalid: Create global secondary index cannot be specified when updating WarmThroughput"
    );
    twin.engine.set_conditions(Conditions::CALM).unwrap();
    twin.ok("UpdateTable", &create_index("by-g", json!({})));
    let raise = json!({"Update": {"IndexName": "by-g", "WarmThroughput": {"ReadUnitsPerSecond": 20_000}}});
    let answer = twin.update(json!({"GlobalSecondaryIndexUpdates": [raise]}));
    let index = &answer["GlobalSecondaryIndexes"][0];
    assert_eq!(
        (&index["IndexStatus"], &index["WarmThroughput"]),
        (&json!("ACTIVE"), &shown(12_000, "UPDATING"))
    );
    assert_eq!(
        twin.describe()["GlobalSecondaryIndexes"][0]["WarmThroughput"],
        shown(20_000, "ACTIVE")
    );
    // Until a change ends, each of two indexes shows its own former value.
    twin.ok("UpdateTable", &create_index("by-h", json!({})));
    twin.engine.set_conditions(Conditions::AWS).unwrap();
    for (name, read) in [("by-g", 30_000), ("by-h", 25_000)] {
        let raise = json!({"Update": {"IndexName": name, "WarmThroughput": {"ReadUnitsPerSecond": read}}});
        twin.update(json!({"GlobalSecondaryIndexUpdates": [raise]}));
    }
    let both = || [0, 1].map(|at| twin.describe()["GlobalSecondaryIndexes"][at]["WarmThroughput"].clone());
    assert_eq!(both(), [shown(20_000, "UPDATING"), shown(12_000, "UPDATING")]);
    advance(&twin, 600);
    assert_eq!(both(), [shown(30_000, "ACTIVE"), shown(25_000, "ACTIVE")]);
}

/// A limit that a table or an index sets has no part in the limits of the others, which stay as they are.
#[test]
fn a_table_and_each_index_have_their_own_on_demand_limits() {
    let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let names = ["one", "two"];
    let indexes =
        names.map(|name| json!({"IndexName": name, "KeySchema": hash("g"), "Projection": {"ProjectionType": "ALL"}}));
    let create = definition(
        "tab",
        json!({"BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes, "GlobalSecondaryIndexes": indexes}),
    );
    let limit = |owner: usize, limits: &Value| {
        let Some(index) = owner.checked_sub(1) else {
            return json!({"OnDemandThroughput": limits});
        };
        let update = json!({"Update": {"IndexName": names[index], "OnDemandThroughput": limits}});
        json!({"GlobalSecondaryIndexUpdates": [update]})
    };
    let both = json!({"MaxReadRequestUnits": 100, "MaxWriteRequestUnits": 100});
    let some = [json!({"MaxReadRequestUnits": 50}), json!({"MaxWriteRequestUnits": 60})];
    for (first, second) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
        for limits in &some {
            let twin = Twin::new(1);
            twin.ok("CreateTable", &create);
            twin.update(limit(first, &both));
            twin.update(limit(second, limits));
            let mut expect = [None, None, None];
            expect[first] = Some(&both);
            expect[second] = Some(limits);
            let table = twin.describe();
            let indexes = &table["GlobalSecondaryIndexes"];
            let found = [&table, &indexes[0], &indexes[1]].map(|owner| owner.get("OnDemandThroughput"));
            assert_eq!(found, expect, "{first}, then {second}");
        }
    }
}

/// A switch to provisioned units ends the on-demand limits of the table and of each index.
#[test]
fn a_switch_to_provisioned_ends_on_demand_limits() {
    let twin = Twin::new(1);
    let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    let limits = json!({"MaxReadRequestUnits": 7, "MaxWriteRequestUnits": 8});
    let names = ["one", "two", "three"];
    let indexes = names.map(|name| {
        json!({"IndexName": name, "KeySchema": key("g"), "Projection": {"ProjectionType": "ALL"},
            "OnDemandThroughput": limits})
    });
    let create = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
        "KeySchema": key("pk"), "OnDemandThroughput": limits, "GlobalSecondaryIndexes": indexes});
    let limited = |table: &Value| {
        let indexes = table["GlobalSecondaryIndexes"].as_array().unwrap();
        let owners = std::iter::once(table).chain(indexes);
        owners.filter(|owner| owner.get("OnDemandThroughput").is_some()).count()
    };
    assert_eq!(limited(&twin.ok("CreateTable", &create)["TableDescription"]), 4);
    let units = json!({"ReadCapacityUnits": 5, "WriteCapacityUnits": 5});
    let updates = names.map(|name| json!({"Update": {"IndexName": name, "ProvisionedThroughput": units}}));
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "tab", "BillingMode": "PROVISIONED", "ProvisionedThroughput": units,
            "GlobalSecondaryIndexUpdates": updates}),
    );
    twin.engine.advance(Duration::from_hours(1));
    let described = twin.ok("DescribeTable", &json!({"TableName": "tab"}));
    assert_eq!(limited(&described["Table"]), 0, "{described}");
}

/// A twin with the table `tab`, whose changes take six seconds and more.
fn changing_twin() -> Twin {
    let twin = on_demand_twin();
    let slow = Conditions {
        table_status: Lag::Fixed(Duration::from_secs(6)),
        ..Conditions::CALM
    };
    twin.engine.set_conditions(slow).unwrap();
    twin
}

#[test]
fn a_destination_shows_its_precision_in_each_state() {
    let twin = changing_twin();
    let stream = "arn:aws:kinesis:us-east-1:000000000000:stream/changes";
    let destination = json!({"TableName": "tab", "StreamArn": stream});
    let precise = |member: &str, precision: &str| {
        with(
            destination.clone(),
            json!({member: {"ApproximateCreationDateTimePrecision": precision}}),
        )
    };
    let shown = || {
        let described = twin.ok("DescribeKinesisStreamingDestination", &json!({"TableName": "tab"}));
        let there = &described["KinesisDataStreamDestinations"][0];
        (
            text_of(&there["DestinationStatus"]),
            text_of(&there["ApproximateCreationDateTimePrecision"]),
        )
    };
    let expect = |status: &str, precision: &str| (status.to_owned(), precision.to_owned());
    let on = precise("EnableKinesisStreamingConfiguration", "MICROSECOND");
    twin.ok("EnableKinesisStreamingDestination", &on);
    assert_eq!(shown(), expect("ENABLING", "MICROSECOND"));
    advance(&twin, 60);
    assert_eq!(shown(), expect("ACTIVE", "MICROSECOND"));
    for (was, becomes) in [("MICROSECOND", "MILLISECOND"), ("MILLISECOND", "MICROSECOND")] {
        let change = precise("UpdateKinesisStreamingConfiguration", becomes);
        twin.ok("UpdateKinesisStreamingDestination", &change);
        assert_eq!(shown(), expect("UPDATING", was));
        advance(&twin, 600);
        assert_eq!(shown(), expect("ACTIVE", becomes));
    }
    twin.ok("DisableKinesisStreamingDestination", &destination);
    assert_eq!(shown(), expect("DISABLING", "MICROSECOND"));
    advance(&twin, 60);
    assert_eq!(shown(), expect("DISABLED", "MICROSECOND"));
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The policies of a table and of each of its streams are separate, also while there are several streams.
#[test]
fn each_stream_of_a_table_has_its_own_policy() {
    let twin = on_demand_twin();
    let mut resources = vec![ARN.to_owned()];
    for _ in 0..3 {
        let on = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
        twin.ok("UpdateTable", &update(json!({"StreamSpecification": on})));
        resources.push(text_of(&twin.describe()["LatestStreamArn"]));
        advance(&twin, 60);
        twin.ok(
            "UpdateTable",
            &update(json!({"StreamSpecification": {"StreamEnabled": false}})),
        );
        advance(&twin, 60);
    }
    let policy = |resource: &str| {
        let action = if resource == ARN { "GetItem" } else { "GetRecords" };
        let statement = json!([{"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::111122223333:role/r"},
            "Action": format!("dynamodb:{action}"), "Resource": resource}]);
        json!({"Version": "2012-10-17", "Statement": statement})
    };
    let shown = || -> Vec<Option<Value>> {
        let shown = resources.iter().map(|resource| {
            let (_, answer) = twin.send("GetResourcePolicy", &json!({"ResourceArn": resource}));
            answer["Policy"]
                .as_str()
                .map(|text| serde_json::from_str(text).unwrap())
        });
        shown.collect()
    };
    let mut expect = vec![None; resources.len()];
    for (at, resource) in resources.iter().enumerate() {
        let put = json!({"ResourceArn": resource, "Policy": policy(resource).to_string()});
        twin.ok("PutResourcePolicy", &put);
        expect[at] = Some(policy(resource));
        advance(&twin, 60);
        assert_eq!(shown(), expect, "after that of {resource}");
    }
    for (at, resource) in resources.iter().enumerate() {
        twin.ok("DeleteResourcePolicy", &json!({"ResourceArn": resource}));
        expect[at] = None;
        advance(&twin, 60);
        assert_eq!(shown(), expect, "after the deletion of that of {resource}");
    }
}

/// The deletion of a policy is visible later, and is followed by the same pause as another change.
#[test]
fn a_deleted_policy_is_visible_for_a_while_and_can_be_replaced_after_a_pause() {
    let twin = changing_twin();
    let statement = json!([{"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::111122223333:role/r"},
        "Action": "dynamodb:GetItem", "Resource": ARN}]);
    let policy = json!({"Version": "2012-10-17", "Statement": statement}).to_string();
    let put = json!({"ResourceArn": ARN, "Policy": policy});
    let on = json!({"ResourceArn": ARN});
    twin.ok("PutResourcePolicy", &put);
    advance(&twin, 60);
    let revision = twin.ok("GetResourcePolicy", &on)["RevisionId"].take();
    twin.ok("DeleteResourcePolicy", &on);
    assert_eq!(twin.ok("GetResourcePolicy", &on)["RevisionId"], revision);
    advance(&twin, 14);
    let missing = twin.error("GetResourcePolicy", &on);
    assert!(missing.starts_with("PolicyNotFoundException: "), "{missing}");
    let early = twin.error("PutResourcePolicy", &put);
    assert!(
        early.starts_with(
            "ThrottlingException: Resource-based policy for table tab modified within the previous 15000 milliseconds."
        ),
        "{early}"
    );
    advance(&twin, 1);
    twin.ok("PutResourcePolicy", &put);
}

#[test]
fn a_table_with_fifty_tags_takes_new_values_but_no_new_keys() {
    let twin = on_demand_twin();
    let tag = |range: std::ops::Range<usize>, value: &str| {
        let tags: Vec<Value> = range
            .map(|at| json!({"Key": format!("k{at}"), "Value": value}))
            .collect();
        json!({"ResourceArn": ARN, "Tags": tags})
    };
    let full = "ValidationException: Number of Tags exceed the current limit for the provided ResourceArn";
    twin.ok("TagResource", &tag(0..30, "1"));
    assert_eq!(twin.error("TagResource", &tag(25..51, "2")), full);
    twin.ok("TagResource", &tag(25..50, "2"));
    assert_eq!(twin.error("TagResource", &tag(50..51, "3")), full);
    twin.ok("TagResource", &tag(0..1, "3"));
    let listed = twin.ok("ListTagsOfResource", &json!({"ResourceArn": ARN}))["Tags"].take();
    let count = |value: &str| {
        listed
            .as_array()
            .unwrap()
            .iter()
            .filter(|tag| tag["Value"] == value)
            .count()
    };
    assert_eq!(["1", "2", "3"].map(count), [24, 25, 1]);
}

#[test]
fn each_index_of_a_new_table_has_a_quota() {
    let index = |name: &str, read: i64| {
        json!({"IndexName": name, "KeySchema": hash("pk"), "Projection": {"ProjectionType": "ALL"},
            "ProvisionedThroughput": units(read, 1)})
    };
    for (reads, over) in [
        ([1, 40_000], None),
        ([40_001, 1], Some("one")),
        ([1, 40_001], Some("two")),
    ] {
        let twin = Twin::new(1);
        let more = json!({"ProvisionedThroughput": units(1, 1),
            "GlobalSecondaryIndexes": [index("one", reads[0]), index("two", reads[1])]});
        let (status, answer) = twin.send("CreateTable", &definition("tab", more));
        assert_eq!(status == 400, over.is_some(), "{reads:?}: {answer}");
        if let Some(over) = over {
            let refused = error_text(&answer);
            let expect = format!(
                "LimitExceededException: The requested ReadCapacityUnits for index {over}, 40001, is above the per index maximum"
            );
            assert!(refused.starts_with(&expect), "{refused}");
        }
    }
}

/// A description counts the entries of each index by themselves.
#[test]
fn each_index_has_its_own_counts() {
    let twin = Twin::new(1);
    let attributes = ["pk", "sk", "a", "b", "c", "g", "h"];
    let key = |names: &[&str]| {
        let kinds = names.iter().zip(["HASH", "RANGE"]);
        kinds
            .map(|(name, kind)| json!({"AttributeName": name, "KeyType": kind}))
            .collect::<Vec<_>>()
    };
    let index = |name: &str, names: &[&str]| json!({"IndexName": format!("by-{name}"), "KeySchema": key(names), "Projection": {"ProjectionType": "KEYS_ONLY"}});
    let locals = ["a", "b", "c"].map(|name| index(name, &["pk", name]));
    let globals = ["g", "h"].map(|name| index(name, &[name]));
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key(&["pk", "sk"]),
            "AttributeDefinitions": attributes.map(|name| json!({"AttributeName": name, "AttributeType": "S"})),
            "LocalSecondaryIndexes": locals, "GlobalSecondaryIndexes": globals}),
    );
    let counts = [("a", 2), ("b", 5), ("c", 1), ("g", 3), ("h", 4)];
    for number in 0..6 {
        let mut item = json!({"pk": {"S": "p"}, "sk": {"S": number.to_string()}});
        for (name, count) in counts {
            if number < count {
                item[name] = json!({"S": "x"});
            }
        }
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    let table = twin.ok("DescribeTable", &json!({"TableName": "tab"}))["Table"].take();
    assert_eq!(table["ItemCount"], 6);
    let kinds = ["LocalSecondaryIndexes", "GlobalSecondaryIndexes"];
    let indexes = kinds.iter().flat_map(|kind| table[*kind].as_array().unwrap());
    let mut found: Vec<_> = indexes
        .map(|index| {
            let name = index["IndexName"].as_str().unwrap();
            (
                name,
                index["ItemCount"].as_u64().unwrap(),
                index["IndexSizeBytes"].as_u64().unwrap(),
            )
        })
        .collect();
    found.sort_unstable();
    // An entry has 3 bytes of each of the table's key attributes and 2 of the index's own.
    let names = counts.map(|(name, _)| format!("by-{name}"));
    let expect = names
        .iter()
        .zip(counts)
        .map(|(name, (_, count))| (name.as_str(), count, 8 * count));
    assert_eq!(found, expect.collect::<Vec<_>>());
}
