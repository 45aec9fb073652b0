//! Random steps: requests of all kinds, controls, and steps of the clock.

use std::fmt;
use std::time::Duration;

use crate::common::Choice;
use dynatwin_engine::{Caller, Capacity, Conditions, Enforcement, Engine, Lag, Shards};
use serde_json::{Value, json};

/// The regions of the histories: three of them support strong consistency.
pub const REGIONS: [&str; 3] = ["us-east-1", "us-east-2", "us-west-2"];
const TABLES: [&str; 3] = ["t-0", "t-1", "t-2"];
/// The table with a sort key.
const SORTED: &str = "t-2";

pub fn caller(region: &str) -> Caller {
    Caller {
        access_key: "test".into(),
        region: region.into(),
    }
}

/// Sends a request. Returns its status and its answer.
pub fn send(engine: &Engine, region: &str, operation: &str, body: &Value) -> (u16, Value) {
    let answer = engine.dispatch(&caller(region), operation, body.to_string().as_bytes());
    (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default())
}

/// Conditions under which changes take time. Delays that are decided by counters outside of the state are fixed.
pub fn conditions(choice: &mut Choice) -> Conditions {
    let mut delay = |longest: u64| match choice.below(4) {
        0 => Lag::None,
        1 => Lag::Fixed(Duration::from_millis(1 + choice.below(longest))),
        _ => Lag::Seeded {
            typical: Duration::from_millis(longest / 4),
            longest: Duration::from_millis(longest),
        },
    };
    let (index_propagation, replication_lag, stream_lag) = (delay(60_000), delay(60_000), delay(10_000));
    let table_status = delay(20_000);
    let fixed = |millis: u64| Lag::Fixed(Duration::from_millis(millis));
    Conditions {
        index_propagation,
        replication_lag,
        stream_lag,
        table_status,
        transaction_time: fixed(choice.below(2) * choice.below(30_000)),
        region_round_trip: fixed(choice.below(2) * choice.below(5000)),
        stream_shards: Shards::Fixed(1 + choice.below(3) as u32),
        statistics_age: Duration::from_hours(6 * choice.below(2)),
        capacity: match choice.below(2) {
            0 => Capacity::Reported,
            _ => Capacity::Enforced(Enforcement::AWS),
        },
        ..Conditions::CALM
    }
}

/// A step of a history, which can be repeated in another engine.
pub enum Step {
    Request(&'static str, &'static str, Value),
    Advance(Duration),
    PauseIndex(&'static str, &'static str, bool),
    IndexLag(&'static str, &'static str, Lag),
    PauseReplication(&'static str, &'static str, Option<&'static str>, bool),
    SplitShards(&'static str, &'static str),
    TableConditions(&'static str, &'static str, Box<Conditions>),
    ExpireNow(&'static str, &'static str),
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Request(region, operation, body) => write!(formatter, "{region} {operation} {body}"),
            Step::Advance(by) => write!(formatter, "{by:?}"),
            Step::PauseIndex(region, table, paused) => write!(formatter, "{region} pause index of {table}: {paused}"),
            Step::IndexLag(region, table, lag) => write!(formatter, "{region} index lag of {table}: {lag:?}"),
            Step::PauseReplication(region, table, other, paused) => {
                write!(
                    formatter,
                    "{region} pause replication of {table} with {other:?}: {paused}"
                )
            }
            Step::SplitShards(region, table) => write!(formatter, "{region} split shards of {table}"),
            Step::TableConditions(region, table, _) => write!(formatter, "{region} conditions of {table}"),
            Step::ExpireNow(region, table) => write!(formatter, "{region} expire items of {table}"),
        }
    }
}

impl Step {
    /// Runs the step. Returns what it answers.
    pub fn run(&self, engine: &Engine) -> Value {
        if crate::common::setting("DYNATWIN_TRACE").is_some() {
            println!("{self}");
        }
        let account = |region: &str| engine.account(&caller(region));
        let result = match self {
            Step::Request(region, operation, body) => {
                let (status, answer) = send(engine, region, operation, body);
                if crate::common::setting("DYNATWIN_TRACE").is_some() && status != 200 {
                    println!("  {status} {answer}");
                }
                return json!([status, answer]);
            }
            Step::Advance(by) => {
                engine.advance(*by);
                return Value::Null;
            }
            Step::PauseIndex(region, table, true) => account(region).pause_index(table, "by-g").is_ok(),
            Step::PauseIndex(region, table, false) => account(region).resume_index(table, "by-g").is_ok(),
            Step::IndexLag(region, table, lag) => account(region).set_index_lag(table, "by-g", *lag).is_ok(),
            Step::PauseReplication(region, table, other, true) => {
                account(region).pause_replication(table, *other).is_ok()
            }
            Step::PauseReplication(region, table, other, false) => {
                account(region).resume_replication(table, *other).is_ok()
            }
            Step::SplitShards(region, table) => account(region).split_shards(table).is_ok(),
            Step::TableConditions(region, table, conditions) => {
                account(region).set_table_conditions(table, **conditions).is_ok()
            }
            Step::ExpireNow(region, table) => account(region).expire_now(table).is_ok(),
        };
        json!(result)
    }
}

/// The random steps of a history.
pub struct History {
    pub choice: Choice,
    /// The steps so far.
    count: u64,
}

impl History {
    pub fn new(choice: Choice) -> History {
        History { choice, count: 0 }
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.choice.below(list.len() as u64) as usize]
    }

    /// A region and a table, which mostly exists there.
    fn place(&mut self, engine: &Engine) -> (&'static str, &'static str) {
        let (region, table) = (self.of(&REGIONS), self.of(&TABLES));
        let mut all = REGIONS
            .iter()
            .flat_map(|region| TABLES.iter().map(move |table| (*region, *table)));
        let exists = |(region, table): &(&str, &str)| engine.tables(&caller(region)).iter().any(|name| name == table);
        let there: Vec<_> = all.by_ref().filter(exists).collect();
        if there.is_empty() || self.choice.one_in(16) {
            return (region, table);
        }
        self.of(&there)
    }

    fn flag(&mut self) -> bool {
        self.choice.one_in(2)
    }

    /// A step of the clock: of milliseconds to days.
    pub fn advance(&mut self) -> Step {
        let unit = self.of(&[1, 1000, 1000, 60_000, 3_600_000, 86_400_000]);
        Step::Advance(Duration::from_millis(unit * (1 + self.choice.below(30))))
    }

    /// A step of any kind.
    pub fn step(&mut self, engine: &Engine) -> Step {
        self.count += 1;
        match self.count {
            1 | 2 => return self.create_table(REGIONS[0]),
            // Until they are active.
            3 => return Step::Advance(Duration::from_mins(1)),
            4 => return self.replicas(engine),
            5 => {
                let (region, table) = self.place(engine);
                let recovery = json!({"PointInTimeRecoveryEnabled": true});
                let body = json!({"TableName": table, "PointInTimeRecoverySpecification": recovery});
                return Step::Request(region, "UpdateContinuousBackups", body);
            }
            _ => {}
        }
        match self.choice.below(20) {
            0 => {
                let region = self.of(&[REGIONS[0], REGIONS[0], REGIONS[1]]);
                self.create_table(region)
            }
            1 => self.create_from(engine),
            2 => self.replicas(engine),
            3..=5 => self.advance(),
            _ => self.further_step(engine),
        }
    }

    /// A step that creates no table: the ids of tables depend on counters outside of the state.
    pub fn further_step(&mut self, engine: &Engine) -> Step {
        let (region, table) = self.place(engine);
        match self.choice.below(20) {
            0..=8 => self.write(engine, region, table),
            9..=12 => self.update(region, table),
            13..=14 => self.control(region, table),
            15 => self.of_index(engine, region, table),
            _ => self.attach(engine, region, table),
        }
    }

    fn create_table(&mut self, region: &'static str) -> Step {
        let table = self.of(&TABLES);
        let mut body = json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": attributes(&["pk", "g"]), "KeySchema": [key("pk", "HASH")]});
        if self.choice.one_in(4) {
            body["BillingMode"] = json!("PROVISIONED");
            body["ProvisionedThroughput"] = units(20_000);
        }
        let mut index =
            json!({"IndexName": "by-g", "KeySchema": [key("g", "HASH")], "Projection": {"ProjectionType": "ALL"}});
        if body["BillingMode"] == "PROVISIONED" {
            index["ProvisionedThroughput"] = units(20_000);
        }
        body["GlobalSecondaryIndexes"] = json!([index]);
        if self.flag() {
            body["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"});
        }
        if self.choice.one_in(3) {
            body["Tags"] = json!([{"Key": "a", "Value": "1"}]);
        }
        if table == SORTED {
            body["AttributeDefinitions"] = attributes(&["pk", "sk", "g", "l"]);
            body["KeySchema"] = json!([key("pk", "HASH"), key("sk", "RANGE")]);
            body["LocalSecondaryIndexes"] = json!([{"IndexName": "by-l", "KeySchema": [key("pk", "HASH"), key("l", "RANGE")],
                "Projection": {"ProjectionType": "KEYS_ONLY"}}]);
        }
        Step::Request(region, "CreateTable", body)
    }

    /// A restore or an import.
    fn create_from(&mut self, engine: &Engine) -> Step {
        let (region, source) = self.place(engine);
        // One of them may not exist.
        let missing = TABLES
            .iter()
            .find(|name| !engine.tables(&caller(region)).iter().any(|other| other == *name));
        let target = missing.copied().unwrap_or(TABLES[0]);
        match self.choice.below(3) {
            0 => {
                let body = json!({"TargetTableName": target, "BackupArn": self.backup(engine, region)});
                Step::Request(region, "RestoreTableFromBackup", body)
            }
            1 => {
                let body =
                    json!({"SourceTableName": source, "TargetTableName": target, "UseLatestRestorableTime": true});
                Step::Request(region, "RestoreTableToPointInTime", body)
            }
            _ => {
                let table = json!({"TableName": target, "BillingMode": "PAY_PER_REQUEST",
                    "AttributeDefinitions": attributes(&["pk"]), "KeySchema": [key("pk", "HASH")]});
                let body = json!({"S3BucketSource": {"S3Bucket": "shelf"}, "InputFormat": "DYNAMODB_JSON",
                    "TableCreationParameters": table, "ClientToken": format!("import-{}", self.count)});
                Step::Request(region, "ImportTable", body)
            }
        }
    }

    fn replicas(&mut self, engine: &Engine) -> Step {
        let (region, table) = self.place(engine);
        let at = REGIONS.iter().position(|each| *each == region).unwrap_or_default();
        let other = REGIONS[(at + 1 + self.choice.below(2) as usize) % REGIONS.len()];
        let mut body = json!({"TableName": table, "ReplicaUpdates": [{"Create": {"RegionName": other}}]});
        match self.choice.below(4) {
            0 => {
                let others = REGIONS.iter().filter(|other| **other != region);
                let others: Vec<Value> = others.map(|other| json!({"Create": {"RegionName": other}})).collect();
                body["ReplicaUpdates"] = json!(others);
                body["MultiRegionConsistency"] = json!("STRONG");
            }
            1 => body["ReplicaUpdates"] = json!([{"Delete": {"RegionName": other}}]),
            _ => {}
        }
        Step::Request(region, "UpdateTable", body)
    }

    fn item(&mut self) -> Value {
        let mut item = json!({"pk": {"S": format!("k{}", self.choice.below(12))}, "sk": {"S": "s"},
            "v": {"N": self.count.to_string()}});
        for (name, values) in [("g", 3), ("l", 4)] {
            if self.flag() {
                item[name] = json!({"S": format!("{name}{}", self.choice.below(values))});
            }
        }
        item
    }

    fn key(&mut self, table: &str) -> Value {
        let mut key = json!({"pk": {"S": format!("k{}", self.choice.below(12))}});
        if table == SORTED {
            key["sk"] = json!({"S": "s"});
        }
        key
    }

    /// A write of items.
    fn write(&mut self, engine: &Engine, region: &'static str, table: &'static str) -> Step {
        let mut item = self.item();
        if self.choice.one_in(3) {
            let seconds = engine.clock().now().seconds() + self.choice.below(7200) as i64;
            item["ttl"] = json!({"N": seconds.to_string()});
        }
        let key = self.key(table);
        let put = json!({"TableName": table, "Item": item});
        let mut update = json!({"TableName": table, "Key": key, "UpdateExpression": "ADD n :one SET g = :g",
            "ExpressionAttributeValues": {":one": {"N": "1"}, ":g": {"S": format!("g{}", self.choice.below(3))}}});
        let delete = json!({"TableName": table, "Key": key});
        match self.choice.below(8) {
            0..=2 => Step::Request(region, "PutItem", put),
            3 => {
                if self.flag() {
                    update["ConditionExpression"] = json!("attribute_exists(v)");
                }
                Step::Request(region, "UpdateItem", update)
            }
            4 => Step::Request(region, "DeleteItem", delete),
            5 => {
                let puts: Vec<Value> = (0..5).map(|_| json!({"PutRequest": {"Item": self.item()}})).collect();
                let mut keys: Vec<&Value> = puts.iter().map(|put| &put["PutRequest"]["Item"]["pk"]).collect();
                keys.sort_by_key(ToString::to_string);
                keys.dedup();
                let puts = if keys.len() == puts.len() {
                    &puts[..]
                } else {
                    &puts[..1]
                };
                Step::Request(region, "BatchWriteItem", json!({"RequestItems": {table: puts}}))
            }
            _ => {
                let others = engine.tables(&caller(region));
                let others: Vec<&str> = TABLES
                    .into_iter()
                    .filter(|name| others.iter().any(|other| other == name))
                    .collect();
                let other = if others.is_empty() { table } else { self.of(&others) };
                let check = json!({"TableName": other, "Key": self.key(other),
                    "ConditionExpression": "attribute_not_exists(never)"});
                let mut actions = vec![json!({"Put": put}), json!({"ConditionCheck": check})];
                if self.flag() {
                    actions.push(json!({"Delete": delete}));
                }
                let body =
                    json!({"TransactItems": actions, "ClientRequestToken": format!("token-{}", self.choice.below(30))});
                Step::Request(region, "TransactWriteItems", body)
            }
        }
    }

    /// A change of a table's definition or settings.
    fn update(&mut self, region: &'static str, table: &'static str) -> Step {
        let of_region = self.of(&REGIONS);
        let mut index = json!({"IndexName": "by-h", "KeySchema": [key("g", "HASH")], "Projection": {"ProjectionType": "KEYS_ONLY"}});
        if self.flag() {
            index["ProvisionedThroughput"] = units(20_000);
        }
        let deleted = self.of(&["by-g", "by-h"]);
        let replica = json!({"RegionName": of_region, "OnDemandThroughputOverride": {"MaxReadRequestUnits": 20_000}});
        let class = json!({"RegionName": of_region, "TableClassOverride": "STANDARD_INFREQUENT_ACCESS"});
        let amount = 20_000 + self.choice.below(1000);
        let changes = [
            json!({"AttributeDefinitions": attributes(&["pk", "g"]), "GlobalSecondaryIndexUpdates": [{"Create": index}]}),
            json!({"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": deleted}}]}),
            json!({"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": deleted}}]}),
            json!({"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "by-g", "ProvisionedThroughput": units(amount)}}]}),
            json!({"ProvisionedThroughput": units(amount)}),
            json!({"BillingMode": "PAY_PER_REQUEST"}),
            json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(amount), "GlobalSecondaryIndexUpdates": [
                {"Update": {"IndexName": "by-g", "ProvisionedThroughput": units(amount)}}]}),
            json!({"OnDemandThroughput": {"MaxReadRequestUnits": amount, "MaxWriteRequestUnits": -1}}),
            json!({"WarmThroughput": {"ReadUnitsPerSecond": amount, "WriteUnitsPerSecond": amount}}),
            json!({"TableClass": self.of(&["STANDARD", "STANDARD_INFREQUENT_ACCESS"])}),
            json!({"SSESpecification": {"Enabled": self.flag(), "SSEType": "KMS"}}),
            json!({"DeletionProtectionEnabled": self.choice.one_in(4)}),
            json!({"StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"}}),
            json!({"StreamSpecification": {"StreamEnabled": false}}),
            json!({"ReplicaUpdates": [{"Update": replica}]}),
            json!({"ReplicaUpdates": [{"Update": class}]}),
        ];
        let mut body = changes[self.choice.below(changes.len() as u64) as usize].clone();
        body["TableName"] = json!(table);
        Step::Request(region, "UpdateTable", body)
    }

    /// Writes of items that are in an index which is being deleted, or a deletion of a table.
    fn of_index(&mut self, engine: &Engine, region: &'static str, table: &'static str) -> Step {
        if self.choice.one_in(4) {
            return Step::Request(region, "DeleteTable", json!({"TableName": table}));
        }
        self.write(engine, region, table)
    }

    fn control(&mut self, region: &'static str, table: &'static str) -> Step {
        let flag = self.flag();
        match self.choice.below(6) {
            0 | 1 => Step::PauseIndex(region, table, flag),
            2 => {
                let lag = Lag::Fixed(Duration::from_millis(self.choice.below(60_000)));
                Step::IndexLag(region, table, lag)
            }
            3 => {
                let other = self.of(&[None, Some(REGIONS[0]), Some(REGIONS[1])]);
                Step::PauseReplication(region, table, other, flag)
            }
            4 => Step::SplitShards(region, table),
            _ if flag => Step::ExpireNow(region, table),
            _ => {
                let conditions = conditions(&mut self.choice);
                Step::TableConditions(region, table, Box::new(conditions))
            }
        }
    }

    fn backup(&mut self, engine: &Engine, region: &str) -> Value {
        let listed = send(engine, region, "ListBackups", &json!({})).1;
        let summaries = listed["BackupSummaries"].as_array().cloned().unwrap_or_default();
        if summaries.is_empty() {
            return json!("arn:aws:dynamodb:us-east-1:000000000000:table/none/backup/01000000000000-00000000");
        }
        summaries[self.choice.below(summaries.len() as u64) as usize]["BackupArn"].clone()
    }

    /// A change of what is attached to a table: time to live, backups, insights, destinations, policies, tags, transfers.
    fn attach(&mut self, engine: &Engine, region: &'static str, table: &'static str) -> Step {
        let arn = format!("arn:aws:dynamodb:{region}:000000000000:table/{table}");
        // A description counts items, which the copies would not do.
        let streams = send(engine, region, "ListStreams", &json!({"TableName": table})).1;
        let stream = &streams["Streams"][0]["StreamArn"];
        let resource = if self.flag() || stream.is_null() {
            json!(arn)
        } else {
            stream.clone()
        };
        let policy = json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::000000000000:root"},
            "Action": "dynamodb:*", "Resource": resource}]});
        let (flag, count) = (self.flag(), self.count);
        let action = if flag { "ENABLE" } else { "DISABLE" };
        let kinesis = "arn:aws:kinesis:us-east-1:000000000000:stream/destination";
        let scaling = json!({"MinimumUnits": 1, "MaximumUnits": 50_000, "ScalingPolicyUpdate": {
            "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 50.0}}});
        let (operation, body) = match self.choice.below(20) {
            0..=2 => (
                "UpdateTimeToLive",
                json!({"TableName": table, "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}}),
            ),
            3 => (
                "UpdateTimeToLive",
                json!({"TableName": table, "TimeToLiveSpecification": {"Enabled": false, "AttributeName": "ttl"}}),
            ),
            4 | 5 => (
                "UpdateContinuousBackups",
                json!({"TableName": table, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": flag || count % 2 == 0}}),
            ),
            6 => (
                "TagResource",
                json!({"ResourceArn": arn, "Tags": [{"Key": "b", "Value": count.to_string()}]}),
            ),
            7 => ("UntagResource", json!({"ResourceArn": arn, "TagKeys": ["a"]})),
            8 => (
                "PutResourcePolicy",
                json!({"ResourceArn": resource, "Policy": policy.to_string()}),
            ),
            9 => ("DeleteResourcePolicy", json!({"ResourceArn": resource})),
            10 => (
                "UpdateContributorInsights",
                json!({"TableName": table, "ContributorInsightsAction": action}),
            ),
            11 => (
                "UpdateContributorInsights",
                json!({"TableName": table, "IndexName": "by-g", "ContributorInsightsAction": action}),
            ),
            12 => (
                if flag {
                    "EnableKinesisStreamingDestination"
                } else {
                    "DisableKinesisStreamingDestination"
                },
                json!({"TableName": table, "StreamArn": kinesis}),
            ),
            13 => (
                "UpdateKinesisStreamingDestination",
                json!({"TableName": table, "StreamArn": kinesis,
                    "UpdateKinesisStreamingConfiguration": {"ApproximateCreationDateTimePrecision": "MICROSECOND"}}),
            ),
            14 | 15 => (
                "CreateBackup",
                json!({"TableName": table, "BackupName": format!("backup-{count}")}),
            ),
            16 => ("DeleteBackup", json!({"BackupArn": self.backup(engine, region)})),
            17 => (
                "ExportTableToPointInTime",
                json!({"TableArn": arn, "S3Bucket": "shelf", "ClientToken": format!("export-{count}")}),
            ),
            18 => (
                "StartBulkPutItems",
                json!({"TableName": table, "InputS3Configuration": {"S3Bucket": "shelf", "InputFormat": "DYNAMODB_JSON"},
                    "OutputS3Configuration": {"OutputType": ["ERROR"]}}),
            ),
            _ => (
                "UpdateTableReplicaAutoScaling",
                json!({"TableName": table, "ProvisionedWriteCapacityAutoScalingUpdate": scaling}),
            ),
        };
        Step::Request(region, operation, body)
    }
}

fn attributes(names: &[&str]) -> Value {
    names
        .iter()
        .map(|name| json!({"AttributeName": name, "AttributeType": "S"}))
        .collect()
}

fn key(name: &str, kind: &str) -> Value {
    json!({"AttributeName": name, "KeyType": kind})
}

fn units(amount: u64) -> Value {
    json!({"ReadCapacityUnits": amount, "WriteCapacityUnits": amount})
}
