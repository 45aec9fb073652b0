//! The settings that all replicas of a global table share, and what ends with them in each region (docs/behavior: 08 3).

use std::time::Duration;

use crate::common::global::{AP, EU, Twin, US, caller, seconds};
use dynatwin_engine::{Conditions, Lag};
use serde_json::{Value, json};

fn table_status(lag: u64) -> Conditions {
    Conditions {
        table_status: seconds(lag),
        ..Conditions::CALM
    }
}

fn index_update(action: &str, index: &str) -> Value {
    let mut update = json!({"IndexName": index});
    if action == "Create" {
        update["KeySchema"] = json!([{"AttributeName": "g", "KeyType": "HASH"}]);
        update["Projection"] = json!({"ProjectionType": "ALL"});
    }
    json!({"TableName": "tab", "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{action: update}]})
}

fn vector_update(action: &str, index: &str) -> Value {
    let mut update = json!({"IndexName": index});
    if action == "Create" {
        update["VectorAttribute"] = json!({"AttributeName": "v"});
        update["Dimensions"] = json!(2);
        update["DistanceFunction"] = json!("EUCLIDEAN");
        update["Projection"] = json!({"ProjectionType": "ALL"});
    }
    json!({"TableName": "tab", "VectorIndexUpdates": [{action: update}]})
}

/// An index that is deleted while it is filled is no longer being created in any region.
#[test]
fn a_deleted_index_ends_its_creation_in_every_region() {
    type Update = fn(&str, &str) -> Value;
    let kinds: [(&str, Update); 2] = [("global", index_update), ("vector", vector_update)];
    for (kind, update) in kinds {
        for region in [US, EU] {
            let twin = Twin::new(&[US, EU]);
            twin.engine.set_conditions(table_status(8)).unwrap();
            for (at, action) in [(US, "Create"), (US, "Delete"), (region, "Create")] {
                let (status, answer) = twin.send(at, "UpdateTable", &update(action, "other"));
                assert_eq!(status, 200, "{kind}, {action} in {at}, then in {region}: {answer}");
                twin.engine.advance(Duration::from_secs(100));
            }
        }
    }
}

/// Contributor Insights of an index end with it, in every region.
#[test]
fn a_deleted_index_ends_its_insights_in_every_region() {
    let twin = Twin::new(&[US, EU]);
    let insights = |region: &str| {
        let index = json!({"TableName": "tab", "IndexName": "by-g"});
        twin.ok(region, "DescribeContributorInsights", &index)["ContributorInsightsStatus"].clone()
    };
    for region in [US, EU] {
        let enable = json!({"TableName": "tab", "IndexName": "by-g", "ContributorInsightsAction": "ENABLE"});
        twin.ok(region, "UpdateContributorInsights", &enable);
        assert_eq!(insights(region), "ENABLED", "{region}");
    }
    twin.ok(US, "UpdateTable", &index_update("Delete", "by-g"));
    twin.ok(US, "UpdateTable", &index_update("Create", "by-g"));
    for region in [US, EU] {
        assert_eq!(insights(region), "DISABLED", "{region}");
        let listed = twin.ok(region, "ListContributorInsights", &json!({}));
        assert_eq!(listed["ContributorInsightsSummaries"], json!([]), "{region}");
    }
}

/// The deletion of an index leaves the insights of the table and of its other indexes, in every region.
#[test]
fn a_deleted_index_leaves_the_insights_of_others() {
    let twin = Twin::new(&[US, EU]);
    twin.ok(US, "UpdateTable", &index_update("Create", "other"));
    let request = |index: Option<&str>| {
        let mut request = json!({"TableName": "tab"});
        if let Some(index) = index {
            request["IndexName"] = json!(index);
        }
        request
    };
    let all = [None, Some("by-g"), Some("other")];
    for region in [US, EU] {
        for index in all {
            let mut enable = request(index);
            enable["ContributorInsightsAction"] = json!("ENABLE");
            twin.ok(region, "UpdateContributorInsights", &enable);
        }
    }
    twin.ok(US, "UpdateTable", &index_update("Delete", "by-g"));
    for region in [US, EU] {
        for index in [None, Some("other")] {
            let described = twin.ok(region, "DescribeContributorInsights", &request(index));
            assert_eq!(described["ContributorInsightsStatus"], "ENABLED", "{region} {index:?}");
        }
        let listed = twin.ok(region, "ListContributorInsights", &json!({}));
        let listed = listed["ContributorInsightsSummaries"].as_array().unwrap().clone();
        assert_eq!(listed.len(), 2, "{region}: {listed:?}");
    }
}

/// The limits of on-demand billing end with it, those of a single region too.
#[test]
fn overridden_limits_end_with_on_demand_billing() {
    let twin = Twin::new(&[US, EU]);
    twin.ok(US, "UpdateTable", &index_update("Create", "other"));
    let indexes = ["by-g", "other"];
    let limit = |read: u64| json!({"MaxReadRequestUnits": read});
    let overridden = indexes.map(|index| json!({"IndexName": index, "OnDemandThroughputOverride": limit(60)}));
    let overrides =
        json!({"RegionName": EU, "OnDemandThroughputOverride": limit(50), "GlobalSecondaryIndexes": overridden});
    twin.ok(
        US,
        "UpdateTable",
        &json!({"TableName": "tab", "ReplicaUpdates": [{"Update": overrides}]}),
    );
    let described = |region: &str| {
        twin.ok(region, "DescribeTable", &json!({"TableName": "tab"}))
            .to_string()
    };
    assert_eq!(described(EU).matches("MaxReadRequestUnits").count(), 3);
    let units = json!({"ReadCapacityUnits": 5, "WriteCapacityUnits": 5});
    let updates = indexes.map(|index| json!({"Update": {"IndexName": index, "ProvisionedThroughput": units}}));
    let provisioned = json!({"TableName": "tab", "BillingMode": "PROVISIONED", "ProvisionedThroughput": units,
        "GlobalSecondaryIndexUpdates": updates});
    twin.ok(US, "UpdateTable", &provisioned);
    for region in [US, EU] {
        assert!(
            !described(region).contains("OnDemandThroughput"),
            "{}",
            described(region)
        );
    }
}

/// A new index is filled in every region, whichever has requested it, and however long that takes.
#[test]
fn a_new_index_has_the_items_of_every_region() {
    let regions = [US, EU, AP];
    let search = json!({"TableName": "tab", "IndexName": "other", "TopK": 10,
        "SearchVector": [{"N": "0"}, {"N": "0"}]});
    let scan = json!({"TableName": "tab", "IndexName": "other"});
    type Update = fn(&str, &str) -> Value;
    let kinds: [(Update, &str, &Value, &str, &str); 2] = [
        (index_update, "Scan", &scan, "Items", "GlobalSecondaryIndexes"),
        (
            vector_update,
            "SearchVectors",
            &search,
            "SearchResults",
            "VectorIndexes",
        ),
    ];
    for (update, operation, read, found, indexes) in kinds {
        for (requested, lag) in [(US, 0), (EU, 0), (AP, 0), (AP, 8)] {
            let twin = Twin::new(&regions);
            for number in 0..5 {
                let vector = json!({"L": [{"N": number.to_string()}, {"N": "1"}]});
                let item = json!({"pk": {"S": number.to_string()}, "g": {"S": "g"}, "v": vector});
                twin.ok(US, "PutItem", &json!({"TableName": "tab", "Item": item}));
            }
            twin.engine.set_conditions(table_status(lag)).unwrap();
            twin.ok(requested, "UpdateTable", &update("Create", "other"));
            twin.engine.advance(Duration::from_secs(100 * lag));
            for region in regions {
                let what = format!("{operation} in {region}, requested in {requested} with a lag of {lag} s");
                let table = twin.ok(region, "DescribeTable", &json!({"TableName": "tab"}))["Table"].clone();
                let mut described = table[indexes].as_array().unwrap().iter();
                let index = described.find(|index| index["IndexName"] == "other").unwrap();
                assert_eq!(index["IndexStatus"], "ACTIVE", "{what}");
                let answer = twin.ok(region, operation, read);
                assert_eq!(answer[found].as_array().unwrap().len(), 5, "{what}");
            }
        }
    }
}

/// An override of a replica's settings does not end the creation of an index that is filled in the region of the request, but not
/// yet in the replica's.
#[test]
fn an_override_ends_no_creation_of_an_index() {
    let twin = Twin::new(&[US, EU]);
    twin.pause(EU, None);
    // Two thousand units, which take half a second on demand; the index of the other region has no entries.
    let text = "t".repeat(102_000);
    for number in 0..20 {
        let item = json!({"pk": {"S": number.to_string()}, "g": {"S": "g"}, "v": {"S": text}});
        twin.ok(EU, "PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    twin.engine
        .set_conditions(Conditions {
            table_status: Lag::Fixed(Duration::from_micros(100)),
            ..Conditions::CALM
        })
        .unwrap();
    twin.ok(US, "UpdateTable", &index_update("Create", "other"));
    let status = |region: &str| {
        let table = twin.ok(region, "DescribeTable", &json!({"TableName": "tab"}))["Table"].clone();
        let mut indexes = table["GlobalSecondaryIndexes"].as_array().unwrap().iter();
        let index = indexes.find(|index| index["IndexName"] == "other").unwrap();
        index["IndexStatus"].as_str().unwrap().to_owned()
    };
    for (millis, expect, mut update) in [
        (
            200,
            ["ACTIVE", "CREATING"],
            json!({"TableClassOverride": "STANDARD_INFREQUENT_ACCESS"}),
        ),
        (
            200,
            ["ACTIVE", "CREATING"],
            json!({"OnDemandThroughputOverride": {"MaxReadRequestUnits": 9}}),
        ),
        (90, ["ACTIVE", "CREATING"], json!({"TableClassOverride": "STANDARD"})),
        (
            20,
            ["ACTIVE", "ACTIVE"],
            json!({"OnDemandThroughputOverride": {"MaxReadRequestUnits": 8}}),
        ),
    ] {
        twin.engine.advance(Duration::from_millis(millis));
        assert_eq!([US, EU].map(status), expect, "before {update}");
        update["RegionName"] = EU.into();
        let request = json!({"TableName": "tab", "ReplicaUpdates": [{"Update": update}]});
        twin.ok(US, "UpdateTable", &request);
        assert_eq!([US, EU].map(status), expect, "after {update}");
    }
}

/// Each replica is encrypted with a key of its own region.
#[test]
fn a_change_of_the_encryption_has_a_key_of_every_region() {
    let regions = [US, EU, AP];
    for requested in regions {
        let twin = Twin::new(&regions);
        let encryption = json!({"Enabled": true, "SSEType": "KMS"});
        let request = json!({"TableName": "tab", "SSESpecification": encryption});
        twin.ok(requested, "UpdateTable", &request);
        for region in regions {
            let table = twin.ok(region, "DescribeTable", &json!({"TableName": "tab"}))["Table"].clone();
            let key = table["SSEDescription"]["KMSMasterKeyArn"].as_str().unwrap();
            let expect = format!("arn:aws:kms:{region}:000000000000:key/");
            assert!(key.starts_with(&expect), "{region}, requested in {requested}: {key}");
        }
        let request = json!({"TableName": "tab", "SSESpecification": {"Enabled": false}});
        twin.ok(requested, "UpdateTable", &request);
        for region in regions {
            let table = twin.ok(region, "DescribeTable", &json!({"TableName": "tab"}))["Table"].clone();
            let encryption = table.get("SSEDescription");
            assert_eq!(encryption, None, "{region}, ended in {requested}");
        }
    }
}

/// A new index of the name of a deleted one has the lag of the conditions, in every region.
#[test]
fn the_lag_of_an_index_ends_with_it_in_every_region() {
    for requested in [US, EU] {
        let twin = Twin::new(&[US, EU]);
        for region in [US, EU] {
            let account = twin.engine.account(&caller(region));
            account.set_index_lag("tab", "by-g", seconds(60)).unwrap();
        }
        twin.ok(requested, "UpdateTable", &index_update("Delete", "by-g"));
        twin.ok(requested, "UpdateTable", &index_update("Create", "by-g"));
        for region in [US, EU] {
            twin.put(region, region, "1");
        }
        for region in [US, EU] {
            let found = twin.ok(region, "Scan", &json!({"TableName": "tab", "IndexName": "by-g"}));
            assert_eq!(found["Count"], 2, "{region}, requested in {requested}: {found}");
        }
    }
}

/// The table class can be changed twice in 30 days, in whichever regions.
#[test]
fn changes_of_the_class_count_in_every_region() {
    let twin = Twin::new(&[US, EU]);
    twin.engine.set_conditions(table_status(8)).unwrap();
    let class = |region: &str, class: &str| {
        let (status, answer) = twin.send(region, "UpdateTable", &json!({"TableName": "tab", "TableClass": class}));
        twin.engine.advance(Duration::from_hours(1));
        (status, answer)
    };
    for (region, name, expect) in [
        (US, "STANDARD_INFREQUENT_ACCESS", 200),
        (US, "STANDARD", 200),
        (EU, "STANDARD_INFREQUENT_ACCESS", 400),
        (US, "STANDARD_INFREQUENT_ACCESS", 400),
    ] {
        let (status, answer) = class(region, name);
        assert_eq!(status, expect, "{name} in {region}: {answer}");
    }
    twin.engine.advance(Duration::from_hours(30 * 24));
    let (status, answer) = class(EU, "STANDARD_INFREQUENT_ACCESS");
    assert_eq!(status, 200, "{answer}");
}

/// While the encryption is changed, too, each replica is described with a key of its own region.
#[test]
fn a_replica_is_never_described_with_a_key_of_another_region() {
    for requested in [US, EU] {
        let twin = Twin::new(&[US, EU]);
        twin.engine.set_conditions(table_status(40)).unwrap();
        let encryption = json!({"Enabled": true, "SSEType": "KMS"});
        let request = json!({"TableName": "tab", "SSESpecification": encryption});
        twin.ok(requested, "UpdateTable", &request);
        for step in 0..100 {
            for region in [US, EU] {
                let table = twin.ok(region, "DescribeTable", &json!({"TableName": "tab"}))["Table"].clone();
                let key = table["SSEDescription"]["KMSMasterKeyArn"].as_str();
                let own = format!("arn:aws:kms:{region}:000000000000:key/");
                assert!(
                    key.is_none_or(|key| key.starts_with(&own)),
                    "step {step}, {region}, requested in {requested}: {key:?}"
                );
                assert!(
                    step < 99 || key.is_some(),
                    "{region}, requested in {requested}: {table}"
                );
            }
            twin.advance(10);
        }
    }
}
