//! A request for each operation.

use serde_json::{Value, json};

use crate::access::twin::{ACCOUNT, REGION};

/// Returns every operation except GetRecords and SearchVectors, with a request about a table and one of its keys that
/// reaches authorization: the first action that is checked, and its resource below
/// `arn:aws:dynamodb:us-east-1:123456789012:`.
pub fn operations(name: &str, key: &Value) -> Vec<(&'static str, Value, &'static str, String)> {
    let arn = |path: &str| format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:{path}");
    let table = json!({"TableName": name});
    let item = json!({"TableName": name, "Key": key});
    let put = json!({"TableName": name, "Item": key});
    let (hash, value) = key.as_object().unwrap().iter().next().unwrap();
    let query = json!({"TableName": name, "KeyConditionExpression": format!("{hash} = :p"), "ExpressionAttributeValues": {":p": value}});
    let conditions = key.as_object().unwrap().iter();
    let conditions: Vec<String> = conditions
        .map(|(name, value)| format!("{name} = '{}'", value["S"].as_str().unwrap()))
        .collect();
    let select = json!({"Statement": format!("SELECT * FROM {name} WHERE {}", conditions.join(" AND "))});
    let backup = arn(&format!("table/{name}/backup/01767225600000-00000000"));
    let stream = arn(&format!("table/{name}/stream/2026-01-01T00:00:00.000"));
    let kinesis = json!({"TableName": name, "StreamArn": "arn:aws:kinesis:us-east-1:123456789012:stream/s"});
    let global = json!({"GlobalTableName": name});
    let policy = json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*", "Principal": {"AWS": ACCOUNT}}});
    let create = json!({"TableName": "New", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    let export = json!({"TableArn": arn(&format!("table/{name}")), "S3Bucket": "bucket"});
    let import = json!({"S3BucketSource": {"S3Bucket": "bucket"}, "InputFormat": "DYNAMODB_JSON", "TableCreationParameters": create});
    let point_in_time = json!({"SourceTableName": name, "TargetTableName": "New", "UseLatestRestorableTime": true});
    let bulk = arn(&format!("table/{name}/bulk-operation/01767225600000-00000000"));
    let (exported, imported) = (
        arn(&format!("table/{name}/export/01767225600000-00000000")),
        arn(&format!("table/{name}/import/01767225600000-00000000")),
    );
    let iterator =
        json!({"StreamArn": stream, "ShardId": "shardId-00000001767225600000-00000000", "ShardIteratorType": "LATEST"});
    let put_items = json!({"TableName": name, "InputS3Configuration": {"S3Bucket": "bucket", "InputFormat": "ION"},
        "OutputS3Configuration": {"OutputType": ["ERROR"]}});
    let groups = json!({"GlobalTableName": name, "ReplicationGroup": [{"RegionName": "eu-west-1"}]});
    let replicas = json!({"GlobalTableName": name, "ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]});
    let mut destination = kinesis.clone();
    destination["UpdateKinesisStreamingConfiguration"] = json!({"ApproximateCreationDateTimePrecision": "MILLISECOND"});
    vec![
        (
            "CancelBulkOperation",
            json!({"BulkOperationArn": bulk}),
            "CancelBulkOperation",
            format!("table/{name}/bulk-operation/"),
        ),
        (
            "CreateGlobalTable",
            groups,
            "CreateGlobalTable",
            format!("global-table/{name}"),
        ),
        (
            "DescribeBulkOperation",
            json!({"BulkOperationArn": bulk}),
            "DescribeBulkOperation",
            format!("table/{name}/bulk-operation/"),
        ),
        (
            "DescribeExport",
            json!({"ExportArn": exported}),
            "DescribeExport",
            format!("table/{name}/export/"),
        ),
        (
            "DescribeGlobalTableSettings",
            global.clone(),
            "DescribeGlobalTableSettings",
            format!("global-table/{name}"),
        ),
        (
            "DescribeImport",
            json!({"ImportArn": imported}),
            "DescribeImport",
            format!("table/{name}/import/"),
        ),
        (
            "GetShardIterator",
            iterator,
            "GetShardIterator",
            format!("table/{name}/stream/"),
        ),
        ("ListBulkOperations", json!({}), "ListBulkOperations", "*".to_owned()),
        (
            "StartBulkPutItems",
            put_items,
            "StartBulkPutItems",
            format!("table/{name}"),
        ),
        (
            "UpdateGlobalTable",
            replicas,
            "UpdateGlobalTable",
            format!("global-table/{name}"),
        ),
        (
            "UpdateGlobalTableSettings",
            global.clone(),
            "UpdateGlobalTableSettings",
            format!("global-table/{name}"),
        ),
        (
            "UpdateKinesisStreamingDestination",
            destination,
            "UpdateKinesisStreamingDestination",
            format!("table/{name}"),
        ),
        (
            "UpdateTableReplicaAutoScaling",
            table.clone(),
            "UpdateTableReplicaAutoScaling",
            format!("table/{name}"),
        ),
        (
            "BatchExecuteStatement",
            json!({"Statements": [select]}),
            "PartiQLSelect",
            format!("table/{name}"),
        ),
        (
            "BatchGetItem",
            json!({"RequestItems": {name: {"Keys": [key]}}}),
            "BatchGetItem",
            format!("table/{name}"),
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {name: [{"DeleteRequest": {"Key": key}}]}}),
            "BatchWriteItem",
            format!("table/{name}"),
        ),
        (
            "CreateBackup",
            json!({"TableName": name, "BackupName": "backup"}),
            "CreateBackup",
            format!("table/{name}"),
        ),
        ("CreateTable", create, "CreateTable", "table/New".to_owned()),
        (
            "DeleteBackup",
            json!({"BackupArn": backup}),
            "DeleteBackup",
            format!("table/{name}/backup/01767225600000-00000000"),
        ),
        ("DeleteItem", item.clone(), "DeleteItem", format!("table/{name}")),
        (
            "DeleteResourcePolicy",
            json!({"ResourceArn": arn(&format!("table/{name}"))}),
            "DeleteResourcePolicy",
            format!("table/{name}"),
        ),
        ("DeleteTable", table.clone(), "DeleteTable", format!("table/{name}")),
        (
            "DescribeBackup",
            json!({"BackupArn": backup}),
            "DescribeBackup",
            format!("table/{name}/backup/01767225600000-00000000"),
        ),
        (
            "DescribeContinuousBackups",
            table.clone(),
            "DescribeContinuousBackups",
            format!("table/{name}"),
        ),
        (
            "DescribeContributorInsights",
            table.clone(),
            "DescribeContributorInsights",
            format!("table/{name}"),
        ),
        ("DescribeEndpoints", json!({}), "DescribeEndpoints", "*".to_owned()),
        (
            "DescribeGlobalTable",
            global.clone(),
            "DescribeGlobalTable",
            format!("global-table/{name}"),
        ),
        (
            "DescribeKinesisStreamingDestination",
            table.clone(),
            "DescribeKinesisStreamingDestination",
            format!("table/{name}"),
        ),
        ("DescribeLimits", json!({}), "DescribeLimits", "*".to_owned()),
        (
            "DescribeStream",
            json!({"StreamArn": stream}),
            "DescribeStream",
            format!("table/{name}/stream/2026-01-01T00:00:00.000"),
        ),
        ("DescribeTable", table.clone(), "DescribeTable", format!("table/{name}")),
        (
            "DescribeTableReplicaAutoScaling",
            table.clone(),
            "DescribeTableReplicaAutoScaling",
            format!("table/{name}"),
        ),
        (
            "DescribeTimeToLive",
            table.clone(),
            "DescribeTimeToLive",
            format!("table/{name}"),
        ),
        (
            "DisableKinesisStreamingDestination",
            kinesis.clone(),
            "DisableKinesisStreamingDestination",
            format!("table/{name}"),
        ),
        (
            "EnableKinesisStreamingDestination",
            kinesis,
            "EnableKinesisStreamingDestination",
            format!("table/{name}"),
        ),
        (
            "ExecuteStatement",
            select.clone(),
            "PartiQLSelect",
            format!("table/{name}"),
        ),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": [select]}),
            "PartiQLSelect",
            format!("table/{name}"),
        ),
        (
            "ExportTableToPointInTime",
            export,
            "ExportTableToPointInTime",
            format!("table/{name}"),
        ),
        ("GetItem", item.clone(), "GetItem", format!("table/{name}")),
        (
            "GetResourcePolicy",
            json!({"ResourceArn": arn(&format!("table/{name}"))}),
            "GetResourcePolicy",
            format!("table/{name}"),
        ),
        ("ImportTable", import, "ImportTable", "table/New".to_owned()),
        ("ListBackups", json!({}), "ListBackups", "*".to_owned()),
        (
            "ListContributorInsights",
            json!({}),
            "ListContributorInsights",
            "*".to_owned(),
        ),
        ("ListExports", json!({}), "ListExports", "*".to_owned()),
        ("ListGlobalTables", json!({}), "ListGlobalTables", "*".to_owned()),
        ("ListImports", json!({}), "ListImports", "*".to_owned()),
        ("ListStreams", json!({}), "ListStreams", "*".to_owned()),
        ("ListTables", json!({}), "ListTables", "table/*".to_owned()),
        (
            "ListTagsOfResource",
            json!({"ResourceArn": arn(&format!("table/{name}"))}),
            "ListTagsOfResource",
            format!("table/{name}"),
        ),
        ("PutItem", put.clone(), "PutItem", format!("table/{name}")),
        (
            "PutResourcePolicy",
            json!({"ResourceArn": arn(&format!("table/{name}")), "Policy": policy.to_string()}),
            "PutResourcePolicy",
            format!("table/{name}"),
        ),
        ("Query", query, "Query", format!("table/{name}")),
        (
            "RestoreTableFromBackup",
            json!({"BackupArn": backup, "TargetTableName": "New"}),
            "RestoreTableFromBackup",
            String::new(),
        ),
        (
            "RestoreTableToPointInTime",
            point_in_time,
            "RestoreTableToPointInTime",
            String::new(),
        ),
        ("Scan", table.clone(), "Scan", format!("table/{name}")),
        (
            "TagResource",
            json!({"ResourceArn": arn(&format!("table/{name}")), "Tags": [{"Key": "a", "Value": "b"}]}),
            "TagResource",
            format!("table/{name}"),
        ),
        (
            "TransactGetItems",
            json!({"TransactItems": [{"Get": item}]}),
            "GetItem",
            format!("table/{name}"),
        ),
        (
            "TransactWriteItems",
            json!({"TransactItems": [{"Put": put}]}),
            "PutItem",
            format!("table/{name}"),
        ),
        (
            "UntagResource",
            json!({"ResourceArn": arn(&format!("table/{name}")), "TagKeys": ["a"]}),
            "UntagResource",
            format!("table/{name}"),
        ),
        (
            "UpdateContinuousBackups",
            json!({"TableName": name, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}}),
            "UpdateContinuousBackups",
            format!("table/{name}"),
        ),
        (
            "UpdateContributorInsights",
            json!({"TableName": name, "ContributorInsightsAction": "ENABLE"}),
            "UpdateContributorInsights",
            format!("table/{name}"),
        ),
        (
            "UpdateItem",
            json!({"TableName": name, "Key": key}),
            "UpdateItem",
            format!("table/{name}"),
        ),
        (
            "UpdateTable",
            json!({"TableName": name, "DeletionProtectionEnabled": true}),
            "UpdateTable",
            format!("table/{name}"),
        ),
        (
            "UpdateTimeToLive",
            json!({"TableName": name, "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}}),
            "UpdateTimeToLive",
            format!("table/{name}"),
        ),
    ]
}
