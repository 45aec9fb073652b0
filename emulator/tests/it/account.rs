//! The limits of an account on the control plane: concurrent table operations, bursts of requests, provisioned units.

use std::time::Duration;

use crate::common::{Twin, error_text};
use dynatwin_engine::{Conditions, Lag, Moment};
use serde_json::{Value, json};

fn twin(conditions: &Conditions) -> Twin {
    let twin = Twin::new(7);
    twin.engine.set_conditions(*conditions).unwrap();
    twin
}

/// The conditions of AWS, with tables that are busy for this long.
fn busy_for(length: Duration) -> Conditions {
    Conditions {
        table_status: Lag::Fixed(length),
        latency: None,
        ..Conditions::AWS
    }
}

fn table(name: &str, units: Option<(u64, u64)>, indexes: &[(&str, u64)]) -> Value {
    let throughput = |read: u64, write: u64| json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write});
    let mut body = json!({"TableName": name,
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    match units {
        Some((read, write)) => body["ProvisionedThroughput"] = throughput(read, write),
        None => body["BillingMode"] = json!("PAY_PER_REQUEST"),
    }
    if !indexes.is_empty() {
        let index = |(name, units): &(&str, u64)| {
            let mut index = json!({"IndexName": name, "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"}});
            if *units > 0 {
                index["ProvisionedThroughput"] = throughput(*units, *units);
            }
            index
        };
        body["GlobalSecondaryIndexes"] = indexes.iter().map(index).collect();
    }
    body
}

/// Sends a request after a time in which every burst is refilled; returns `Exception: text`, or nothing if it succeeds.
fn send(twin: &Twin, operation: &str, body: &Value) -> String {
    twin.engine.advance(Duration::from_millis(50));
    at_once(twin, operation, body)
}

fn at_once(twin: &Twin, operation: &str, body: &Value) -> String {
    let (status, answer) = twin.send(operation, body);
    if status == 200 {
        return String::new();
    }
    error_text(&answer)
}

const BUSY: &str = "LimitExceededException: Subscriber limit exceeded: Only 500 tables can be created, updated, or deleted simultaneously";

#[test]
fn a_limited_number_of_tables_is_busy_at_a_time() {
    let twin = twin(&busy_for(Duration::from_mins(10)));
    assert_eq!(send(&twin, "CreateTable", &table("first", None, &[])), "");
    twin.engine.advance(Duration::from_mins(10));
    for at in 0..500 {
        let created = send(&twin, "CreateTable", &table(&format!("tab{at}"), None, &[]));
        assert_eq!(created, "", "{at}");
    }
    let name = json!({"TableName": "first"});
    let update = json!({"TableName": "first", "DeletionProtectionEnabled": true});
    let expire = json!({"TableName": "first",
        "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}});
    for (operation, body) in [
        ("CreateTable", table("more", None, &[])),
        ("DeleteTable", name.clone()),
        ("UpdateTable", update),
        ("UpdateTimeToLive", expire),
    ] {
        assert_eq!(send(&twin, operation, &body), BUSY, "{operation}");
    }
    assert_eq!(send(&twin, "DescribeTable", &name), "");
    // The table of the operation is not one of the others.
    for (operation, body) in [
        ("DeleteTable", json!({"TableName": "tab7"})),
        (
            "UpdateTable",
            json!({"TableName": "tab7", "DeletionProtectionEnabled": true}),
        ),
    ] {
        assert_eq!(
            send(&twin, operation, &body),
            "ResourceInUseException: Attempt to change a resource which is still in use: Table is being created: tab7",
            "{operation}"
        );
    }
    // Another region has its own tables, and finished operations do not count.
    twin.engine.advance(Duration::from_mins(10));
    assert_eq!(send(&twin, "DeleteTable", &name), "");
    // Tables that are being deleted count until they are gone.
    for at in 1..500 {
        let deleted = send(&twin, "DeleteTable", &json!({"TableName": format!("tab{at}")}));
        assert_eq!(deleted, "", "{at}");
    }
    assert_eq!(send(&twin, "CreateTable", &table("more", None, &[])), BUSY);
    assert_eq!(send(&twin, "DeleteTable", &json!({"TableName": "tab0"})), BUSY);
    twin.engine.advance(Duration::from_mins(10));
    assert_eq!(send(&twin, "CreateTable", &table("more", None, &[])), "");
}

#[test]
fn tables_with_indexes_have_a_separate_limit() {
    let twin = twin(&busy_for(Duration::from_mins(10)));
    for at in 0..250 {
        let created = send(&twin, "CreateTable", &table(&format!("tab{at}"), None, &[("by-pk", 0)]));
        assert_eq!(created, "", "{at}");
    }
    let refused = send(&twin, "CreateTable", &table("more", None, &[("by-pk", 0)]));
    assert_eq!(
        refused,
        "LimitExceededException: Subscriber limit exceeded: Only 250 tables with secondary indexes can be created simultaneously"
    );
    assert_eq!(send(&twin, "CreateTable", &table("more", None, &[])), "");
    // An update of a table that exists does not count.
    twin.engine.advance(Duration::from_mins(10));
    for at in 0..250 {
        let class = json!({"TableName": format!("tab{at}"), "TableClass": "STANDARD_INFREQUENT_ACCESS"});
        assert_eq!(send(&twin, "UpdateTable", &class), "", "{at}");
    }
    assert_eq!(send(&twin, "CreateTable", &table("last", None, &[("by-pk", 0)])), "");
}

/// A table with indexes counts until the moment at which it is active, also if it is changed then.
#[test]
fn a_table_with_indexes_counts_until_it_is_active() {
    let length = Duration::from_mins(10);
    for (early, expect) in [
        (
            1,
            "LimitExceededException: Subscriber limit exceeded: Only 250 tables with secondary indexes can be created simultaneously",
        ),
        (0, ""),
    ] {
        let limited = busy_for(length);
        let twin = twin(&Conditions {
            control_limits: false,
            ..limited
        });
        let account = twin.engine.account(&twin.caller);
        account.set_table_conditions("last", limited).unwrap();
        let name = |at: usize| format!("tab{at}");
        for at in 0..250 {
            assert_eq!(
                at_once(&twin, "CreateTable", &table(&name(at), None, &[("by-pk", 0)])),
                ""
            );
        }
        twin.engine
            .advance(length.checked_sub(Duration::from_micros(early)).unwrap());
        for at in 0..250 {
            let class = json!({"TableName": name(at), "TableClass": "STANDARD_INFREQUENT_ACCESS"});
            assert_eq!(
                at_once(&twin, "UpdateTable", &class).is_empty(),
                early == 0,
                "{early} {at}"
            );
        }
        let last = table("last", None, &[("by-pk", 0)]);
        assert_eq!(at_once(&twin, "CreateTable", &last), expect, "{early} us early");
    }
}

/// Tables without indexes that are being created leave room for those with indexes.
#[test]
fn tables_without_indexes_do_not_count_as_indexed() {
    let twin = twin(&busy_for(Duration::from_mins(1)));
    for at in 0..250 {
        let plain = table(&format!("plain{at}"), None, &[]);
        assert_eq!(send(&twin, "CreateTable", &plain), "", "{at}");
    }
    assert_eq!(send(&twin, "CreateTable", &table("indexed", None, &[("by-pk", 0)])), "");
}

fn too_many(name: &str, reserved: u64, requested: u64) -> String {
    format!(
        "LimitExceededException: This request would have caused the {name} limit to be exceeded for the account in us-east-1. Current {name} reserved by the account: {reserved}. Limit: 80000. Requested: {requested}. Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    )
}

#[test]
fn an_account_has_a_maximum_number_of_units() {
    let twin = twin(&busy_for(Duration::from_secs(1)));
    let settle = || twin.engine.advance(Duration::from_mins(10));
    let ask = |operation: &str, body: &Value| {
        settle();
        send(&twin, operation, body)
    };
    assert_eq!(
        ask("CreateTable", &table("one", Some((40_000, 10)), &[("by-pk", 30_000)])),
        ""
    );
    assert_eq!(
        ask("CreateTable", &table("two", Some((10_001, 10)), &[])),
        too_many("ReadCapacityUnits", 70_000, 10_001)
    );
    assert_eq!(
        ask("CreateTable", &table("two", Some((10, 40_000)), &[("by-pk", 20_000)])),
        too_many("ReadCapacityUnits", 70_000, 20_010)
    );
    let several = [("by-pk", 10_000), ("again", 10_000)];
    assert_eq!(
        ask("CreateTable", &table("two", Some((10, 40_000)), &several)),
        too_many("ReadCapacityUnits", 70_000, 20_010)
    );
    assert_eq!(ask("CreateTable", &table("two", Some((10_000, 10)), &[])), "");
    assert_eq!(ask("CreateTable", &table("free", None, &[])), "");
    let units = |name: &str, read: u64, write: u64| json!({"TableName": name, "ProvisionedThroughput": {"ReadCapacityUnits": read, "WriteCapacityUnits": write}});
    assert_eq!(
        ask("UpdateTable", &units("two", 10_005, 10)),
        too_many("ReadCapacityUnits", 80_000, 5)
    );
    assert_eq!(ask("UpdateTable", &units("two", 10_000, 40_000)), "");
    assert_eq!(
        ask("UpdateTable", &units("one", 40_000, 10_001)),
        too_many("WriteCapacityUnits", 70_010, 9991)
    );
    // Units can be decreased.
    assert_eq!(ask("UpdateTable", &units("two", 9000, 39_000)), "");
    assert_eq!(ask("UpdateTable", &units("one", 40_000, 9000)), "");
    // Those of a deleted table are free once it is gone.
    assert_eq!(ask("CreateTable", &table("gone", Some((1, 1000)), &[])), "");
    assert_eq!(ask("DeleteTable", &json!({"TableName": "gone"})), "");
    let more = units("one", 40_000, 10_500);
    assert_eq!(
        send(&twin, "UpdateTable", &more),
        too_many("WriteCapacityUnits", 79_000, 1500)
    );
    twin.engine.clock().advance(Duration::from_mins(10));
    assert_eq!(send(&twin, "UpdateTable", &more), "");
    // Under calm the limits are not enforced.
    twin.engine.set_conditions(Conditions::CALM).unwrap();
    assert_eq!(ask("CreateTable", &table("three", Some((40_000, 40_000)), &[])), "");
    // An account that has more than its quota can do everything but reserve more.
    twin.engine.set_conditions(busy_for(Duration::from_secs(1))).unwrap();
    assert_eq!(ask("CreateTable", &table("four", None, &[])), "");
    assert_eq!(ask("UpdateTable", &units("three", 39_999, 40_000)), "");
    assert_eq!(
        ask("UpdateTable", &units("three", 39_998, 40_001)),
        "LimitExceededException: The requested WriteCapacityUnits, 40001, is above the per table maximum for the account in us-east-1. Per table maximum: 40000. Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    );
    assert_eq!(
        ask("UpdateTable", &units("three", 40_000, 39_999)),
        too_many("ReadCapacityUnits", 118_999, 1)
    );
}

#[test]
fn bursts_are_throttled() {
    let describe = json!({"TableName": "tab"});
    for (operation, body, at_once_served, text) in [
        (
            "DescribeTimeToLive",
            describe.clone(),
            5,
            "ThrottlingException: Rate exceeded",
        ),
        ("ListBackups", json!({}), 5, "ThrottlingException: Rate exceeded"),
        (
            "DescribeTable",
            describe.clone(),
            2500,
            "ThrottlingException: Rate exceeded",
        ),
        (
            "UpdateContinuousBackups",
            json!({"TableName": "tab", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}}),
            10,
            "ThrottlingException: The rate of control plane requests made by this account is too high",
        ),
    ] {
        let twin = Twin::new(7);
        twin.ok("CreateTable", &table("tab", None, &[]));
        let conditions = Conditions {
            latency: None,
            ..Conditions::AWS
        };
        for _ in 0..3000 {
            assert_eq!(at_once(&twin, "DescribeTable", &describe), "");
        }
        twin.engine.set_conditions(conditions).unwrap();
        twin.engine.advance(Duration::from_hours(1));
        for at in 0..at_once_served {
            assert_eq!(at_once(&twin, operation, &body), "", "{operation} {at}");
        }
        assert_eq!(at_once(&twin, operation, &body), text);
        // It refills, and other operations are served.
        assert_eq!(
            at_once(&twin, "ListTables", &json!({})).is_empty(),
            operation != "DescribeTable"
        );
        twin.engine.advance(Duration::from_secs(1));
        assert_eq!(at_once(&twin, operation, &body), "");
        twin.engine.reset().unwrap();
        assert_eq!(at_once(&twin, "ListTables", &json!({})), "");
    }
}

/// A key without a sort key takes two rules of insights, one with a sort key four.
#[test]
fn insights_have_a_hundred_rules() {
    let twin = Twin::new(1);
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let create = |name: &str, is_sorted: bool| {
        let (mut attributes, mut schema) = (vec![attribute("pk")], vec![key("pk", "HASH")]);
        if is_sorted {
            attributes.push(attribute("sk"));
            schema.push(key("sk", "RANGE"));
        }
        twin.ok(
            "CreateTable",
            &json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
                "KeySchema": schema}),
        );
    };
    let names: Vec<String> = (0..27).map(|number| format!("tab-{number:02}")).collect();
    for (number, name) in names.iter().enumerate() {
        create(name, number < 24);
    }
    twin.engine
        .set_conditions(Conditions {
            table_status: Lag::Fixed(Duration::from_millis(1)),
            ..Conditions::CALM
        })
        .unwrap();
    for (number, name) in names.iter().enumerate() {
        let enable = json!({"TableName": name, "ContributorInsightsAction": "ENABLE"});
        twin.ok("UpdateContributorInsights", &enable);
        let describe = || twin.ok("DescribeContributorInsights", &json!({"TableName": name}));
        assert!(describe().get("FailureException").is_none(), "{name}");
        twin.engine.advance(Duration::from_mins(10));
        let described = describe();
        let expected = if number < 26 { "ENABLED" } else { "FAILED" };
        assert_eq!(described["ContributorInsightsStatus"], expected, "{name}");
        assert_eq!(
            described.get("FailureException").is_some(),
            expected == "FAILED",
            "{name}"
        );
    }
    // What failed is tried again, and succeeds once there is room.
    for (name, action, expected) in [
        ("tab-26", "ENABLE", "FAILED"),
        ("tab-00", "DISABLE", "DISABLED"),
        ("tab-26", "ENABLE", "ENABLED"),
    ] {
        let change = json!({"TableName": name, "ContributorInsightsAction": action});
        let changing = twin.ok("UpdateContributorInsights", &change);
        assert_eq!(
            changing["ContributorInsightsStatus"],
            format!("{}ING", action.trim_end_matches('E'))
        );
        twin.engine.advance(Duration::from_mins(10));
        let described = twin.ok("DescribeContributorInsights", &json!({"TableName": name}));
        assert_eq!(described["ContributorInsightsStatus"], expected, "{action} {name}");
    }
    // A change of the mode replaces the rules of the table: there are 98 of 100 before.
    for (name, mode) in [
        ("tab-00", "THROTTLED_KEYS"),
        ("tab-01", "THROTTLED_KEYS"),
        ("tab-01", "ACCESSED_AND_THROTTLED_KEYS"),
    ] {
        let change = json!({"TableName": name, "ContributorInsightsAction": "ENABLE", "ContributorInsightsMode": mode});
        twin.ok("UpdateContributorInsights", &change);
        twin.engine.advance(Duration::from_mins(10));
        let described = twin.ok("DescribeContributorInsights", &json!({"TableName": name}));
        assert_eq!(described["ContributorInsightsStatus"], "ENABLED", "{name} {mode}");
    }
    // Where nothing takes time, there is no maximum.
    twin.engine.set_conditions(Conditions::CALM).unwrap();
    let enable = json!({"TableName": "tab-00", "ContributorInsightsAction": "ENABLE"});
    twin.ok("UpdateContributorInsights", &enable);
    let described = twin.ok("DescribeContributorInsights", &json!({"TableName": "tab-00"}));
    assert_eq!(described["ContributorInsightsStatus"], "ENABLED");
    // An account that has more than the maximum can disable insights, which then stay disabled.
    for name in ["more-1", "more-2"] {
        create(name, true);
        twin.ok(
            "UpdateContributorInsights",
            &json!({"TableName": name, "ContributorInsightsAction": "ENABLE"}),
        );
    }
    twin.engine.set_conditions(busy_for(Duration::from_secs(10))).unwrap();
    for status in ["DISABLING", "DISABLED"] {
        let disable = json!({"TableName": "tab-05", "ContributorInsightsAction": "DISABLE"});
        let answer = twin.ok("UpdateContributorInsights", &disable);
        assert_eq!(answer["ContributorInsightsStatus"], status);
        twin.engine.advance(Duration::from_mins(10));
    }
}

/// The rules of a table and of each of its indexes count toward the same maximum.
#[test]
fn insights_of_indexes_count_toward_the_hundred_rules() {
    let twin = Twin::new(1);
    let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    let indexes = ["one", "two"]
        .map(|name| json!({"IndexName": name, "KeySchema": key("g"), "Projection": {"ProjectionType": "ALL"}}));
    twin.engine.set_conditions(busy_for(Duration::from_secs(10))).unwrap();
    let enable = |table: &str, index: Option<&str>| {
        let mut request = json!({"TableName": table});
        if let Some(index) = index {
            request["IndexName"] = index.into();
        }
        let mut change = request.clone();
        change["ContributorInsightsAction"] = "ENABLE".into();
        twin.ok("UpdateContributorInsights", &change);
        twin.engine.advance(Duration::from_mins(10));
        twin.ok("DescribeContributorInsights", &request)["ContributorInsightsStatus"].clone()
    };
    for number in 0..17 {
        let table = format!("tab-{number:02}");
        twin.ok(
            "CreateTable",
            &json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
                "KeySchema": key("pk"), "GlobalSecondaryIndexes": indexes}),
        );
        twin.engine.advance(Duration::from_mins(10));
        for (at, index) in [Some("one"), Some("two"), None].into_iter().enumerate() {
            // Two rules each.
            let expected = if number * 3 + at < 50 { "ENABLED" } else { "FAILED" };
            assert_eq!(enable(&table, index), expected, "{table} {index:?}");
        }
    }
}

/// An index has the rules of its own key: two without a sort key, and four with one, whatever the key of its table.
#[test]
fn insights_of_an_index_have_the_rules_of_its_key() {
    let attributes = ["pk", "sk", "g", "h"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let key = |names: [&str; 2], is_sorted: bool| -> Vec<Value> {
        let kinds = names.into_iter().zip(["HASH", "RANGE"]);
        let elements = kinds.map(|(name, kind)| json!({"AttributeName": name, "KeyType": kind}));
        elements.take(1 + usize::from(is_sorted)).collect()
    };
    // The first table has insights of its own: after those, there is room for this number of indexes.
    for (table_is_sorted, index_is_sorted, fit) in [(false, true, 24), (true, false, 48)] {
        let twin = Twin::new(1);
        twin.engine.set_conditions(busy_for(Duration::from_secs(10))).unwrap();
        let enable = |table: &str, index: Option<&str>| {
            let mut request = json!({"TableName": table});
            if let Some(index) = index {
                request["IndexName"] = index.into();
            }
            let mut change = request.clone();
            change["ContributorInsightsAction"] = "ENABLE".into();
            twin.ok("UpdateContributorInsights", &change);
            twin.engine.advance(Duration::from_mins(10));
            twin.ok("DescribeContributorInsights", &request)["ContributorInsightsStatus"].clone()
        };
        for number in 0..=fit {
            let table = format!("tab-{number:02}");
            let (schema, index) = (key(["pk", "sk"], table_is_sorted), key(["g", "h"], index_is_sorted));
            let used = |name: &Value| schema.iter().chain(&index).any(|each| each["AttributeName"] == *name);
            let attributes: Vec<_> = attributes.iter().filter(|each| used(&each["AttributeName"])).collect();
            twin.ok(
                "CreateTable",
                &json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
                    "KeySchema": schema, "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": index,
                        "Projection": {"ProjectionType": "ALL"}}]}),
            );
            twin.engine.advance(Duration::from_mins(10));
            if number == 0 {
                assert_eq!(enable(&table, None), "ENABLED");
            }
            let expected = if number < fit { "ENABLED" } else { "FAILED" };
            assert_eq!(enable(&table, Some("by-g")), expected, "{table} {table_is_sorted}");
        }
    }
}

/// Until a change of insights ends, the time of the last update is that of the request.
#[test]
fn insights_were_updated_when_their_change_ended() {
    let twin = Twin::new(1);
    twin.ok("CreateTable", &table("tab", None, &[]));
    twin.engine.set_conditions(busy_for(Duration::from_secs(10))).unwrap();
    // Enabling takes 1.2 times, and disabling a third of the lag of table states.
    for (action, during, after, takes) in [
        ("ENABLE", "ENABLING", "ENABLED", Duration::from_secs(12)),
        ("DISABLE", "DISABLING", "DISABLED", Duration::from_millis(3300)),
    ] {
        let start = twin.engine.clock().now();
        twin.ok(
            "UpdateContributorInsights",
            &json!({"TableName": "tab", "ContributorInsightsAction": action}),
        );
        let seen = || {
            let described = twin.ok("DescribeContributorInsights", &json!({"TableName": "tab"}));
            (
                described["ContributorInsightsStatus"].clone(),
                described["LastUpdateDateTime"].clone(),
            )
        };
        let seconds = |moment: Moment| {
            let passed = moment.since(Moment::START).as_millis() as f64 / 1000.0;
            json!(Moment::START.seconds() as f64 + passed)
        };
        twin.engine
            .advance(takes.checked_sub(Duration::from_millis(1)).unwrap());
        assert_eq!(seen(), (json!(during), seconds(start)));
        twin.engine.advance(Duration::from_millis(1));
        assert_eq!(seen(), (json!(after), seconds(start.plus(takes))));
    }
}

/// Whether the limits apply to a table depends on its own conditions.
#[test]
fn a_table_has_the_limits_of_its_own_conditions() {
    let at_once = Conditions {
        control_limits: false,
        table_status: Lag::None,
        ..busy_for(Duration::ZERO)
    };
    let limited = Conditions {
        control_limits: true,
        ..at_once
    };
    for (all, own, is_limited) in [
        (at_once, None, false),
        (limited, None, true),
        (at_once, Some(limited), true),
        (limited, Some(at_once), false),
    ] {
        let twin = twin(&all);
        let account = twin.engine.account(&twin.caller);
        account.set_table_conditions("more", own).unwrap();
        for name in ["tab0", "tab1"] {
            assert_eq!(send(&twin, "CreateTable", &table(name, Some((40_000, 10)), &[])), "");
        }
        let expect = |requested: u64| {
            if is_limited {
                too_many("ReadCapacityUnits", 80_000, requested)
            } else {
                String::new()
            }
        };
        let what = format!("{is_limited} {}", own.is_some());
        assert_eq!(
            send(&twin, "CreateTable", &table("more", Some((1, 1)), &[])),
            expect(1),
            "{what}"
        );
        if is_limited {
            assert_eq!(send(&twin, "DeleteTable", &json!({"TableName": "tab0"})), "", "{what}");
            assert_eq!(
                send(&twin, "CreateTable", &table("more", Some((40_000, 1)), &[])),
                "",
                "{what}"
            );
        }
    }
}

/// A Kinesis destination is in each state for a multiple of the lag of table states; a stream that cannot be one is noticed
/// sooner than the others are enabled.
#[test]
fn destinations_change_after_multiples_of_the_lag() {
    let twin = Twin::new(1);
    twin.ok("CreateTable", &table("tab", None, &[]));
    twin.engine.set_conditions(busy_for(Duration::from_secs(10))).unwrap();
    let stream = |region: &str| format!("arn:aws:kinesis:{region}:000000000000:stream/changes");
    let precision = json!({"ApproximateCreationDateTimePrecision": "MICROSECOND"});
    for (action, region, during, after, takes) in [
        ("Enable", "eu-west-1", "ENABLING", "ENABLE_FAILED", 3300),
        ("Enable", "us-east-1", "ENABLING", "ACTIVE", 7500),
        ("Update", "us-east-1", "UPDATING", "ACTIVE", 200_000),
        ("Disable", "us-east-1", "DISABLING", "DISABLED", 3300),
    ] {
        let mut body = json!({"TableName": "tab", "StreamArn": stream(region)});
        if action == "Update" {
            body["UpdateKinesisStreamingConfiguration"] = precision.clone();
        }
        twin.ok(&format!("{action}KinesisStreamingDestination"), &body);
        let status = || {
            let described = twin.ok("DescribeKinesisStreamingDestination", &json!({"TableName": "tab"}));
            let all = described["KinesisDataStreamDestinations"].as_array().unwrap().clone();
            let found = all.iter().find(|each| each["StreamArn"] == stream(region));
            found.unwrap()["DestinationStatus"].clone()
        };
        twin.engine.advance(Duration::from_millis(takes - 1));
        assert_eq!(status(), during, "{action} {region}");
        twin.engine.advance(Duration::from_millis(1));
        assert_eq!(status(), after, "{action} {region}");
    }
}

/// A table that is deleted reserves no units, and a table that is being deleted does.
#[test]
fn a_deleted_table_reserves_no_units() {
    let units =
        json!({"TableName": "other", "ProvisionedThroughput": {"ReadCapacityUnits": 40_000, "WriteCapacityUnits": 10}});
    let ways: [(&str, Value, u64, u64); 2] = [
        ("CreateTable", table("new", Some((10_001, 10)), &[]), 80_000, 10_001),
        ("UpdateTable", units, 80_000, 30_000),
    ];
    for (operation, body, reserved, requested) in ways {
        let twin = twin(&busy_for(Duration::from_secs(10)));
        let ask = |operation: &str, body: &Value| {
            twin.engine.advance(Duration::from_mins(1));
            send(&twin, operation, body)
        };
        let large = table("large", Some((40_000, 10)), &[("by-pk", 30_000)]);
        assert_eq!(ask("CreateTable", &large), "");
        assert_eq!(ask("CreateTable", &table("other", Some((10_000, 10)), &[])), "");
        assert_eq!(ask("DeleteTable", &json!({"TableName": "large"})), "");
        let refusal = too_many("ReadCapacityUnits", reserved, requested);
        assert_eq!(send(&twin, operation, &body), refusal, "{operation}");
        // Runs no due work.
        twin.engine.clock().advance(Duration::from_mins(1));
        assert_eq!(at_once(&twin, operation, &body), "", "{operation}");
    }
}

/// A new table can have the units of a deleted one once that is gone, even before due work removes it.
#[test]
fn the_units_of_a_table_that_is_gone_are_free() {
    for (seconds, is_free) in [(0, false), (9, false), (10, true)] {
        let twin = twin(&busy_for(Duration::from_secs(10)));
        for name in ["one", "two"] {
            assert_eq!(send(&twin, "CreateTable", &table(name, Some((40_000, 10)), &[])), "");
        }
        twin.engine.advance(Duration::from_mins(1));
        assert_eq!(at_once(&twin, "DeleteTable", &json!({"TableName": "two"})), "");
        // Runs no due work.
        twin.engine.clock().advance(Duration::from_secs(seconds));
        let expect = if is_free {
            String::new()
        } else {
            too_many("ReadCapacityUnits", 80_000, 40_000)
        };
        let new = table("three", Some((40_000, 10)), &[]);
        assert_eq!(at_once(&twin, "CreateTable", &new), expect, "after {seconds} s");
    }
}
