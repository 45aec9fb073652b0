//! All that an engine shows of its state, in each region.

use dynatwin_engine::Engine;
use dynatwin_engine::http::HttpRequest;
use serde_json::{Value, json};

use super::history::{REGIONS, send};

/// Reads of an engine, in order: the requests and their answers.
struct Reads<'e> {
    engine: &'e Engine,
    region: &'static str,
    seen: Vec<(String, Value)>,
}

impl Reads<'_> {
    /// Sends a request, and returns its answer.
    fn ask(&mut self, operation: &str, body: &Value) -> Value {
        let (status, answer) = send(self.engine, self.region, operation, body);
        let request = format!("{} {operation} {body}", self.region);
        self.seen.push((request, json!([status, answer])));
        answer
    }

    /// Calls a control that changes nothing.
    fn control(&mut self, path: &str) {
        let region = self.region;
        let authorization = format!("AWS4-HMAC-SHA256 Credential=test/20260101/{region}/dynamodb/aws4_request");
        let answer = self.engine.handle(&HttpRequest {
            method: "GET",
            target: &format!("/_dynatwin/{path}"),
            headers: &[("host", "localhost"), ("authorization", &authorization)],
            body: b"",
        });
        let mut body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let items = body.get_mut("items").and_then(Value::as_array_mut);
        for item in items.into_iter().flatten() {
            // Capacity, and how it is divided, is not part of the state.
            item["partition"] = Value::Null;
        }
        self.seen
            .push((format!("{region} GET {path}"), json!([answer.status, body])));
    }

    /// Asks for the members of each entry of a list.
    fn each(&mut self, list: &Value, member: &str, operation: &str) {
        for entry in list.as_array().into_iter().flatten() {
            self.ask(operation, &json!({ (member): entry[member] }));
        }
    }

    fn region(&mut self) {
        let tables = self.ask("ListTables", &json!({}));
        for table in tables["TableNames"].as_array().into_iter().flatten() {
            self.table(table);
        }
        for (list, summaries, member, describe) in [
            ("ListBackups", "BackupSummaries", "BackupArn", "DescribeBackup"),
            ("ListExports", "ExportSummaries", "ExportArn", "DescribeExport"),
            ("ListImports", "ImportSummaryList", "ImportArn", "DescribeImport"),
            (
                "ListBulkOperations",
                "BulkOperationSummaries",
                "BulkOperationArn",
                "DescribeBulkOperation",
            ),
        ] {
            let listed = self.ask(list, &json!({}));
            self.each(&listed[summaries], member, describe);
        }
        self.ask("ListContributorInsights", &json!({}));
        self.ask("ListGlobalTables", &json!({}));
        self.ask("DescribeLimits", &json!({}));
        let streams = self.ask("ListStreams", &json!({}));
        for stream in streams["Streams"].as_array().into_iter().flatten() {
            self.stream(&stream["StreamArn"]);
        }
    }

    fn table(&mut self, name: &Value) {
        let table = self.ask("DescribeTable", &json!({"TableName": name}))["Table"].take();
        for operation in [
            "DescribeTimeToLive",
            "DescribeContinuousBackups",
            "DescribeContributorInsights",
            "DescribeKinesisStreamingDestination",
            "DescribeTableReplicaAutoScaling",
        ] {
            self.ask(operation, &json!({"TableName": name}));
        }
        for operation in ["DescribeGlobalTable", "DescribeGlobalTableSettings"] {
            self.ask(operation, &json!({"GlobalTableName": name}));
        }
        for arn in [&table["TableArn"], &table["LatestStreamArn"]] {
            self.ask("GetResourcePolicy", &json!({"ResourceArn": arn}));
            self.ask("ListTagsOfResource", &json!({"ResourceArn": arn}));
        }
        for consistent in [true, false] {
            self.ask(
                "Scan",
                &json!({"TableName": name, "ConsistentRead": consistent, "ReturnConsumedCapacity": "TOTAL"}),
            );
        }
        let query = json!({"TableName": name, "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": {"S": "k1"}}});
        self.ask("Query", &query);
        for list in ["LocalSecondaryIndexes", "GlobalSecondaryIndexes"] {
            for index in table[list].as_array().into_iter().flatten() {
                let index = &index["IndexName"];
                self.ask("Scan", &json!({"TableName": name, "IndexName": index}));
                self.ask(
                    "DescribeContributorInsights",
                    &json!({"TableName": name, "IndexName": index}),
                );
            }
        }
        let name = name.as_str().unwrap_or_default();
        for what in ["indexes", "replication", "conditions", "items", "pending"] {
            self.control(&format!("tables/{name}/{what}"));
        }
    }

    fn stream(&mut self, arn: &Value) {
        let stream = self.ask("DescribeStream", &json!({"StreamArn": arn}));
        for shard in stream["StreamDescription"]["Shards"].as_array().into_iter().flatten() {
            let from = json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
            let iterator = send(self.engine, self.region, "GetShardIterator", &from).1;
            let get = json!({"ShardIterator": iterator["ShardIterator"]});
            let (status, page) = send(self.engine, self.region, "GetRecords", &get);
            let has_next = page["NextShardIterator"].is_string();
            let request = format!("{} GetRecords of {}", self.region, shard["ShardId"]);
            self.seen.push((request, json!([status, page["Records"], has_next])));
        }
    }
}

/// The answers of an engine to all reads: requests and answers.
pub fn all(engine: &Engine) -> Vec<(String, Value)> {
    let seen = Vec::new();
    let mut reads = Reads {
        engine,
        region: REGIONS[0],
        seen,
    };
    for region in REGIONS {
        reads.region = region;
        reads.region();
    }
    reads.seen
}
