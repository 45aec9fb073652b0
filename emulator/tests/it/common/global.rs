//! A twin with a global table in several regions, whose state is compared with the fold of its commits in the end.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::common::settings;
use dynatwin_engine::monitoring::{EventKind, RegionalWrite};
use dynatwin_engine::{Caller, Conditions, Engine, Lag, Moment};
use serde_json::{Value, json};

use super::commits::{self, Recorder};

pub const US: &str = "us-east-1";
pub const EU: &str = "eu-west-1";
pub const AP: &str = "ap-south-1";

pub fn caller(region: &str) -> Caller {
    Caller {
        access_key: "test".into(),
        region: region.into(),
    }
}

/// A twin with a global table `tab`: its state is compared with the fold of its commits at the end.
pub struct Twin {
    pub engine: Engine,
    recorder: Arc<Recorder>,
}

impl Twin {
    /// A global table in these regions, the first of which has made it.
    pub fn new(regions: &[&str]) -> Twin {
        let engine = Engine::new(settings(7));
        let recorder = Recorder::of(&engine);
        let twin = Twin { engine, recorder };
        let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
        let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
        let index = json!({"IndexName": "by-g", "KeySchema": key("g"), "Projection": {"ProjectionType": "ALL"}});
        let table = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("pk"),
            "AttributeDefinitions": [attribute("pk"), attribute("g")], "GlobalSecondaryIndexes": [index]});
        twin.ok(regions[0], "CreateTable", &table);
        for region in &regions[1..] {
            twin.add(regions[0], region);
        }
        twin
    }

    /// A global table in these regions whose regions are strongly consistent, and a witness if they are two.
    pub fn strong(regions: &[&str]) -> Twin {
        let twin = Twin::new(&regions[..1]);
        let create = |region: &&str| json!({"Create": {"RegionName": region}});
        let mut update = json!({"TableName": "tab", "MultiRegionConsistency": "STRONG",
            "ReplicaUpdates": regions[1..].iter().map(create).collect::<Vec<_>>()});
        if regions.len() == 2 {
            update["GlobalTableWitnessUpdates"] = json!([{"Create": {"RegionName": "us-west-2"}}]);
        }
        twin.ok(regions[0], "UpdateTable", &update);
        twin
    }

    pub fn lagging(regions: &[&str], lag: u64) -> Twin {
        let twin = Twin::new(regions);
        twin.engine
            .set_conditions(Conditions {
                replication_lag: seconds(lag),
                ..Conditions::CALM
            })
            .unwrap();
        twin
    }

    /// The recorded commits of the engine.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    pub fn add(&self, from: &str, region: &str) {
        let update = json!([{"Create": {"RegionName": region}}]);
        self.ok(
            from,
            "UpdateTable",
            &json!({"TableName": "tab", "ReplicaUpdates": update}),
        );
    }

    pub fn send(&self, region: &str, operation: &str, body: &Value) -> (u16, Value) {
        let answer = self
            .engine
            .dispatch(&caller(region), operation, body.to_string().as_bytes());
        (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default())
    }

    pub fn ok(&self, region: &str, operation: &str, body: &Value) -> Value {
        let (status, answer) = self.send(region, operation, body);
        assert_eq!(status, 200, "{region} {operation} {body}: {answer}");
        answer
    }

    pub fn put(&self, region: &str, pk: &str, v: &str) {
        let item = json!({"pk": {"S": pk}, "v": {"S": v}, "g": {"S": "g"}});
        self.ok(region, "PutItem", &json!({"TableName": "tab", "Item": item}));
    }

    pub fn delete(&self, region: &str, pk: &str) {
        self.ok(
            region,
            "DeleteItem",
            &json!({"TableName": "tab", "Key": {"pk": {"S": pk}}}),
        );
    }

    /// The value of an item in a region, by a strongly consistent read; `-` if the item is not there.
    pub fn get(&self, region: &str, pk: &str) -> String {
        let body = json!({"TableName": "tab", "Key": {"pk": {"S": pk}}, "ConsistentRead": true});
        let item = self.ok(region, "GetItem", &body);
        item["Item"]["v"]["S"].as_str().unwrap_or("-").to_owned()
    }

    /// The values of an item in these regions.
    pub fn all(&self, regions: &[&str], pk: &str) -> String {
        let values: Vec<String> = regions.iter().map(|region| self.get(region, pk)).collect();
        values.join(" ")
    }

    pub fn advance(&self, seconds: u64) {
        self.engine.advance(Duration::from_secs(seconds));
    }

    /// The records of a region's stream: the name of each event, the item's key, and whether a service has made it.
    pub fn records(&self, region: &str) -> Vec<String> {
        let arn = self.ok(region, "DescribeTable", &json!({"TableName": "tab"}))["Table"]["LatestStreamArn"].clone();
        let shards =
            self.ok(region, "DescribeStream", &json!({"StreamArn": arn}))["StreamDescription"]["Shards"].clone();
        let mut records = Vec::new();
        for shard in shards.as_array().unwrap() {
            let body = json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
            let next = self.ok(region, "GetShardIterator", &body)["ShardIterator"].clone();
            let page = self.ok(region, "GetRecords", &json!({"ShardIterator": next}));
            for record in page["Records"].as_array().unwrap() {
                let key = record["dynamodb"]["Keys"]["pk"]["S"].as_str().unwrap();
                let by = if record.get("userIdentity").is_some() {
                    " by service"
                } else {
                    ""
                };
                records.push(format!("{} {key}{by}", record["eventName"].as_str().unwrap()));
            }
        }
        records
    }

    /// The conflicts that were conflicts, as the region that reports them, and the regions and seconds of both writes.
    pub fn conflicts(&self) -> BTreeSet<String> {
        let mut conflicts = BTreeSet::new();
        for event in self.engine.events_after(0, 10_000).events {
            if let EventKind::ReplicationConflict(_, writes) = &event.kind {
                let second = |at: Moment| at.since(Moment::START).as_secs();
                let of = |write: &RegionalWrite| format!("{} {}", write.region, second(write.at));
                conflicts.insert(format!("{}: {} < {}", event.owner.region, of(&writes.0), of(&writes.1)));
            }
        }
        conflicts
    }

    pub fn pause(&self, region: &str, other: Option<&str>) {
        self.engine
            .account(&caller(region))
            .pause_replication("tab", other)
            .unwrap();
    }

    pub fn resume(&self, region: &str, other: Option<&str>) {
        self.engine
            .account(&caller(region))
            .resume_replication("tab", other)
            .unwrap();
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            commits::check(&self.engine, &self.recorder, || settings(7)).unwrap();
        }
    }
}

pub fn seconds(count: u64) -> Lag {
    Lag::Fixed(Duration::from_secs(count))
}
