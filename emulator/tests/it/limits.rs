//! Lengths, counts and moments exactly at their limits, and one beyond.

use std::time::Duration;

use crate::common::Twin;
use dynatwin_engine::Moment;
use serde_json::{Value, json};

fn twin() -> Twin {
    let twin = Twin::new(1);
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let key = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let attributes = ["pk", "sk", "l"].map(attribute);
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
            "KeySchema": key("pk", "sk"),
            "LocalSecondaryIndexes": [{"IndexName": "local", "KeySchema": key("pk", "l"), "Projection": {"ProjectionType": "ALL"}}],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"},
        }),
    );
    twin
}

/// A text of `length` characters that begins with this one.
fn long(start: &str, length: usize) -> String {
    start.chars().chain(std::iter::repeat('a')).take(length).collect()
}

/// The text of the refusal; empty if there is none.
fn refusal(twin: &Twin, operation: &str, body: &Value) -> String {
    let answer = twin
        .engine
        .dispatch(&twin.caller, operation, body.to_string().as_bytes());
    if answer.status == 200 {
        return String::new();
    }
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    let message = answer["message"].as_str().or(answer["Message"].as_str());
    message.unwrap().to_owned()
}

#[test]
fn members_may_be_as_long_as_their_limits() {
    let twin = twin();
    let stream = twin.ok("DescribeTable", &json!({"TableName": "tab"}))["Table"]["LatestStreamArn"].clone();
    let statement = |length: usize| format!("SELECT * FROM tab WHERE pk = '{}'", "ä".repeat(length - 31));
    type Body<'b> = Box<dyn Fn(usize) -> Value + 'b>;
    type Case<'b> = (&'b str, &'b str, Option<usize>, Option<usize>, Body<'b>);
    // Operation, what its refusal names, the least and the most, and a request.
    let cases: Vec<Case<'_>> = vec![
        (
            "EnableKinesisStreamingDestination",
            "streamArn",
            Some(37),
            Some(1024),
            Box::new(|length| json!({"TableName": "tab", "StreamArn": long("arn:aws:kinesis:us-east-1:ä", length)})),
        ),
        (
            "DescribeBackup",
            "backupArn",
            Some(37),
            Some(1024),
            Box::new(|length| json!({"BackupArn": long("arn:aws:dynamodb:ä:", length)})),
        ),
        (
            "DeleteBackup",
            "backupArn",
            Some(37),
            Some(1024),
            Box::new(|length| json!({"BackupArn": long("arn:aws:dynamodb:ä:", length)})),
        ),
        (
            "DescribeExport",
            "exportArn",
            Some(37),
            Some(1024),
            Box::new(|length| json!({"ExportArn": long("arn:aws:dynamodb:us-east-1:", length)})),
        ),
        (
            "DescribeImport",
            "importArn",
            Some(37),
            Some(1024),
            Box::new(|length| json!({"ImportArn": long("arn:aws:dynamodb:us-east-1:", length)})),
        ),
        (
            "DescribeStream",
            "streamArn",
            Some(37),
            Some(1024),
            Box::new(|length| json!({"StreamArn": long("arn:aws:dynamodb:ä:", length)})),
        ),
        (
            "DescribeStream",
            "at 'limit'",
            Some(1),
            None,
            Box::new(|limit| json!({"StreamArn": stream, "Limit": limit})),
        ),
        (
            "ListStreams",
            "at 'limit'",
            Some(1),
            None,
            Box::new(|limit| json!({"Limit": limit})),
        ),
        (
            "ListTables",
            "at 'limit'",
            Some(1),
            Some(100),
            Box::new(|limit| json!({"Limit": limit})),
        ),
        (
            "ListContributorInsights",
            "maxResults",
            None,
            Some(100),
            Box::new(|most| json!({"MaxResults": most})),
        ),
        (
            "GetResourcePolicy",
            "resourceArn",
            Some(1),
            Some(1283),
            Box::new(|length| json!({"ResourceArn": long("arn:ä", length)})),
        ),
        (
            "DeleteResourcePolicy",
            "expectedRevisionId",
            Some(1),
            Some(255),
            Box::new(
                |length| json!({"ResourceArn": "arn:aws:dynamodb:us-east-1:000000000000:table/tab", "ExpectedRevisionId": long("ä", length)}),
            ),
        ),
        (
            "CreateBackup",
            "backupName",
            Some(3),
            Some(255),
            Box::new(|length| json!({"TableName": "tab", "BackupName": long("", length)})),
        ),
        (
            "RestoreTableToPointInTime",
            "targetTableName",
            Some(3),
            Some(255),
            Box::new(
                |length| json!({"SourceTableName": "tab", "TargetTableName": long("", length), "UseLatestRestorableTime": true}),
            ),
        ),
        (
            "ExportTableToPointInTime",
            "at 's3Bucket'",
            Some(2),
            Some(255),
            Box::new(
                |length| json!({"TableArn": "arn:aws:dynamodb:us-east-1:000000000000:table/tab", "S3Bucket": long("", length)}),
            ),
        ),
        (
            "ExportTableToPointInTime",
            "s3Prefix",
            None,
            Some(1024),
            Box::new(
                |length| json!({"TableArn": "arn:aws:dynamodb:us-east-1:000000000000:table/tab", "S3Bucket": "bucket", "S3Prefix": long("ä", length)}),
            ),
        ),
        (
            "ExecuteStatement",
            "at 'statement'",
            None,
            Some(8192),
            Box::new(|length| json!({"Statement": statement(length)})),
        ),
        (
            "ExecuteStatement",
            "at 'nextToken'",
            None,
            Some(32_768),
            Box::new(|length| json!({"Statement": statement(40), "NextToken": long("", length)})),
        ),
        (
            "ExecuteStatement",
            "at 'nextToken'",
            None,
            Some(32_768),
            Box::new(|length| json!({"Statement": statement(40), "NextToken": "ä".repeat(length)})),
        ),
        (
            "ExecuteStatement",
            "Table name should be within the length",
            Some(3),
            Some(255),
            Box::new(|length| json!({"Statement": format!("SELECT * FROM {}", long("", length))})),
        ),
        (
            "BatchGetItem",
            "at 'requestItems' failed to satisfy constraint: Map keys",
            Some(3),
            Some(255),
            Box::new(|length| json!({"RequestItems": {long("", length): {"Keys": [{"pk": {"S": "a"}}]}}})),
        ),
        (
            "BatchWriteItem",
            "at 'requestItems' failed to satisfy constraint: Map keys",
            Some(3),
            Some(255),
            Box::new(
                |length| json!({"RequestItems": {long("", length): [{"DeleteRequest": {"Key": {"pk": {"S": "a"}}}}]}}),
            ),
        ),
        (
            "BatchExecuteStatement",
            "at 'statements'",
            Some(1),
            Some(25),
            Box::new(|count| {
                let each = |number: usize| json!({"Statement": format!("SELECT * FROM tab WHERE pk = '{number}' AND sk = 's'")});
                json!({"Statements": (0..count).map(each).collect::<Vec<_>>()})
            }),
        ),
        (
            "BatchExecuteStatement",
            "statements.1.member.statement",
            None,
            Some(8192),
            Box::new(|length| json!({"Statements": [{"Statement": statement(length)}]})),
        ),
        (
            "TagResource",
            "The Tag Key provided is invalid",
            Some(1),
            Some(128),
            Box::new(|length| {
                json!({
            "ResourceArn": "arn:aws:dynamodb:us-east-1:000000000000:table/tab", "Tags": [{"Key": long("ä", length), "Value": ""}]})
            }),
        ),
        (
            "TagResource",
            "The Tag Value provided is invalid",
            None,
            Some(256),
            Box::new(|length| {
                json!({
            "ResourceArn": "arn:aws:dynamodb:us-east-1:000000000000:table/tab", "Tags": [{"Key": "k", "Value": long("ä", length)}]})
            }),
        ),
        (
            "TransactWriteItems",
            "clientRequestToken",
            Some(1),
            Some(36),
            Box::new(|length| {
                json!({"ClientRequestToken": long("", length), "TransactItems": [
            {"Put": {"TableName": "tab", "Item": {"pk": {"S": "t"}, "sk": {"S": "t"}}}}]})
            }),
        ),
        (
            "Scan",
            "totalSegments",
            Some(1),
            Some(1_000_000),
            Box::new(|count| json!({"TableName": "tab", "Segment": 0, "TotalSegments": count})),
        ),
        (
            "Scan",
            "at 'limit'",
            Some(1),
            None,
            Box::new(|limit| json!({"TableName": "tab", "Limit": limit})),
        ),
    ];
    let mut wrong = Vec::new();
    for (operation, what, least, most, body) in &cases {
        let mut lengths = Vec::new();
        if let Some(least) = least {
            lengths.extend([(least - 1, true), (*least, false)]);
        }
        if let Some(most) = most {
            lengths.extend([(*most, false), (most + 1, true)]);
        }
        for (length, refused) in lengths {
            let found = refusal(&twin, operation, &body(length));
            // What is no sentence is the name of a member.
            let named = if what.contains(' ') {
                found.contains(what)
            } else {
                found.contains(&format!("at '{what}' failed to satisfy constraint: Member must have"))
            };
            if named != refused {
                wrong.push(format!("{operation}, {what} of {length}: {found:.200}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A list without a limit has a page of a certain length, and ends with the last element of a full page.
#[test]
fn lists_have_pages_of_a_length() {
    let twin = twin();
    let recovery =
        json!({"TableName": "tab", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}});
    twin.ok("UpdateContinuousBackups", &recovery);
    let table = |name: &str| {
        json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}})
    };
    type Make<'m> = Box<dyn Fn(usize) -> (&'static str, Value) + 'm>;
    let export = |at: usize| {
        let export = json!({"TableArn": "arn:aws:dynamodb:us-east-1:000000000000:table/tab", "S3Bucket": "bucket", "ClientToken": at.to_string()});
        ("ExportTableToPointInTime", export)
    };
    let import = |at: usize| {
        let mut created = table(&format!("imported-{at}"));
        created.as_object_mut().unwrap().remove("StreamSpecification");
        let import =
            json!({"S3BucketSource": {"S3Bucket": "bucket"}, "InputFormat": "ION", "TableCreationParameters": created});
        ("ImportTable", import)
    };
    // A list, its member, the member of the next page, the elements that are there, the length of a page, and what makes another.
    let lists: [(&str, &str, &str, usize, usize, Make<'_>); 7] = [
        ("ListExports", "ExportSummaries", "NextToken", 0, 25, Box::new(export)),
        ("ListImports", "ImportSummaryList", "NextToken", 0, 25, Box::new(import)),
        (
            "ListBackups",
            "BackupSummaries",
            "LastEvaluatedBackupArn",
            0,
            100,
            Box::new(|_| ("CreateBackup", json!({"TableName": "tab", "BackupName": "backup"}))),
        ),
        (
            "ListTables",
            "TableNames",
            "LastEvaluatedTableName",
            1,
            100,
            Box::new(|at| ("CreateTable", table(&format!("tab-{at}")))),
        ),
        // The tables of the line above have the streams, all but the last.
        (
            "ListStreams",
            "Streams",
            "LastEvaluatedStreamArn",
            101,
            100,
            Box::new(|at| ("CreateTable", table(&format!("more-{at}")))),
        ),
        (
            "ListContributorInsights",
            "ContributorInsightsSummaries",
            "NextToken",
            0,
            100,
            Box::new(|at| {
                let name = if at == 0 { "tab".to_owned() } else { format!("tab-{at}") };
                let enable = json!({"TableName": name, "ContributorInsightsAction": "ENABLE"});
                ("UpdateContributorInsights", enable)
            }),
        ),
        (
            "ListBulkOperations",
            "BulkOperationsSummaryList",
            "NextToken",
            0,
            10,
            Box::new(|_| {
                let input = json!({"S3Bucket": "bucket", "InputFormat": "ION"});
                let output = json!({"OutputType": ["ERROR"]});
                let bulk = json!({"TableName": "tab", "InputS3Configuration": input, "OutputS3Configuration": output});
                ("StartBulkPutItems", bulk)
            }),
        ),
    ];
    for (list, member, next, there, length, make) in lists {
        let page = || {
            let answer = twin.ok(list, &json!({}));
            (answer[member].as_array().unwrap().len(), answer.get(next).is_some())
        };
        for at in there..length {
            let (operation, body) = make(at);
            twin.ok(operation, &body);
        }
        if there < length {
            assert_eq!(page(), (length, false), "{list}");
        }
        let (operation, body) = make(length);
        twin.ok(operation, &body);
        assert_eq!(page(), (length, true), "{list}");
    }
}

/// An item and its entries in local indexes have 400 KB together.
#[test]
fn an_item_shares_its_limit_with_its_local_entries() {
    let twin = twin();
    // Of the item and of its entry: 3 + 3 + 2 bytes of keys, 1 of the name, and the text.
    let put = |length: usize, indexed: bool| {
        let mut item = json!({"pk": {"S": "p"}, "sk": {"S": "s"}, "v": {"S": "x".repeat(length)}});
        if indexed {
            item["l"] = json!({"S": "l"});
        }
        refusal(&twin, "PutItem", &json!({"TableName": "tab", "Item": item})).is_empty()
    };
    for (length, indexed, expect) in [
        (409_600 - 7, false, true),
        (409_600 - 6, false, false),
        (204_800 - 9, true, true),
        (204_800 - 8, true, false),
    ] {
        assert_eq!(put(length, indexed), expect, "{length}, {indexed}");
    }
    let update = |length: usize| {
        let body = json!({"TableName": "tab", "Key": {"pk": {"S": "u"}, "sk": {"S": "s"}}, "UpdateExpression": "SET l = :l, v = :v",
            "ExpressionAttributeValues": {":l": {"S": "l"}, ":v": {"S": "x".repeat(length)}}});
        refusal(&twin, "UpdateItem", &body).is_empty()
    };
    assert_eq!((update(204_800 - 9), update(204_800 - 8)), (true, false));
}

/// A Query of a local index that fetches whole items counts both entries and items toward the megabyte of a page.
#[test]
fn a_page_counts_entries_and_fetched_items() {
    let twin = Twin::new(1);
    let attributes = ["pk", "sk", "l"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let key =
        |range: &str| json!([{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes, "KeySchema": key("sk"),
            "LocalSecondaryIndexes": [{"IndexName": "local", "KeySchema": key("l"), "Projection": {"ProjectionType": "KEYS_ONLY"}}]}),
    );
    // An entry has 3 + (2 + 900) + (1 + 1000) bytes, and its item 2000 + 1 more.
    let count = 400;
    for at in 0..count {
        let item = json!({"pk": {"S": "p"}, "sk": {"S": format!("{at:0900}")}, "l": {"S": "l".repeat(1000)},
            "v": {"S": "x".repeat(2000)}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    let (entry, item) = (3 + 902 + 1001, 3 + 902 + 1001 + 2001);
    let megabyte = 1 << 20;
    for (select, bytes) in [("ALL_ATTRIBUTES", entry + item), ("ALL_PROJECTED_ATTRIBUTES", entry)] {
        let query = json!({"TableName": "tab", "IndexName": "local", "KeyConditionExpression": "pk = :p", "Select": select,
            "ExpressionAttributeValues": {":p": {"S": "p"}}});
        let expect = count.min((megabyte + bytes - 1) / bytes);
        assert_eq!(twin.ok("Query", &query)["Count"], expect, "{select}");
    }
}

/// A table's state can be restored from the second in which recovery was enabled to the latest restorable moment.
#[test]
fn restores_reach_the_latest_moment() {
    let twin = twin();
    let recovery =
        json!({"TableName": "tab", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}});
    twin.ok("UpdateContinuousBackups", &recovery);
    twin.engine.advance(Duration::from_hours(1));
    let described = twin.ok("DescribeContinuousBackups", &json!({"TableName": "tab"}));
    let window = &described["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
    let [earliest, latest] =
        ["EarliestRestorableDateTime", "LatestRestorableDateTime"].map(|name| window[name].as_f64().unwrap() as i64);
    assert!(earliest < latest);
    for (at, (moment, accepted)) in [
        (earliest - 1, false),
        (earliest, true),
        (latest, true),
        (latest + 1, false),
    ]
    .into_iter()
    .enumerate()
    {
        let restore =
            json!({"SourceTableName": "tab", "TargetTableName": format!("restored-{at}"), "RestoreDateTime": moment});
        let found = refusal(&twin, "RestoreTableToPointInTime", &restore);
        assert_eq!(
            found.is_empty(),
            accepted,
            "{moment} of {earliest} to {latest}: {found}"
        );
    }
}

/// Sends a request to a control and returns its status.
fn control(twin: &Twin, method: &str, path: &str, body: &Value) -> u16 {
    let headers = [("host", "localhost"), ("content-type", "application/json")];
    let answer = twin.engine.handle(&dynatwin_engine::http::HttpRequest {
        method,
        target: &format!("/_dynatwin/{path}"),
        headers: &headers,
        body: body.to_string().as_bytes(),
    });
    answer.status
}

#[test]
fn controls_accept_what_is_exactly_at_their_limits() {
    let twin = twin();
    let rule = |members: Value| {
        let mut rule = json!({"verdict": "throttle"});
        rule.as_object_mut()
            .unwrap()
            .extend(members.as_object().unwrap().clone());
        rule
    };
    for (method, path, body, accepted) in [
        (
            "PUT",
            "conditions",
            json!({"replicationLag": {"typical": 2, "longest": 2}}),
            true,
        ),
        (
            "PUT",
            "conditions",
            json!({"replicationLag": {"typical": 2, "longest": 1.9}}),
            false,
        ),
        (
            "PUT",
            "conditions",
            json!({"replicationLag": {"typical": 2, "p99": 2, "longest": 3}}),
            true,
        ),
        (
            "PUT",
            "conditions",
            json!({"replicationLag": {"typical": 2, "p99": 3, "longest": 3}}),
            true,
        ),
        (
            "PUT",
            "conditions",
            json!({"replicationLag": {"typical": 2, "p99": 3.1, "longest": 3}}),
            false,
        ),
        ("PUT", "conditions", json!({"streamBytes": 1}), true),
        ("PUT", "conditions", json!({"streamShards": 1024}), true),
        ("PUT", "conditions", json!({"streamShards": 1025}), false),
        ("PUT", "conditions", json!({"streamBytes": 0}), false),
        ("PUT", "conditions", json!({"throttles": 1}), true),
        ("PUT", "conditions", json!({"throttles": 1.01}), false),
        ("POST", "faults", rule(json!({"table": "t".repeat(2048)})), true),
        ("POST", "faults", rule(json!({"table": "t".repeat(2049)})), false),
        ("POST", "faults", json!({"verdict": {"truncate": 0}}), true),
        ("POST", "faults", json!({"verdict": {"truncate": -1}}), false),
        ("POST", "faults", json!({"verdict": {"wait": 0}}), true),
        ("POST", "clock/advance", json!({"seconds": 0}), true),
        ("POST", "clock/advance", json!({"seconds": -1}), false),
    ] {
        assert_eq!(
            control(&twin, method, path, &body) == 200,
            accepted,
            "{method} {path} {body}"
        );
    }
    let last = 253_402_300_799 - twin.seconds();
    for (seconds, accepted) in [(last + 1, false), (last, true), (1, false), (0, true)] {
        let status = control(&twin, "POST", "clock/advance", &json!({"seconds": seconds}));
        assert_eq!(status == 200, accepted, "{seconds} of {last}");
    }
    assert_eq!(twin.engine.clock().now(), Moment::from_seconds(253_402_300_799));
}

/// A process without memory to spare refuses what would grow, and nothing else.
#[test]
fn what_would_grow_is_refused_while_memory_is_full() {
    let twin = Twin::new(1);
    let key = |pk: &str| json!({"pk": {"S": pk}});
    let item = |pk: &str, size: usize| json!({"pk": {"S": pk}, "v": {"S": "v".repeat(size)}});
    let table = |name: &str| {
        json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]})
    };
    twin.ok("CreateTable", &table("tab"));
    for pk in ["a", "b", "c"] {
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item(pk, 100)}));
    }
    let saved = twin.ok("CreateBackup", &json!({"TableName": "tab", "BackupName": "name"}));
    let restore = json!({"BackupArn": saved["BackupDetails"]["BackupArn"], "TargetTableName": "restored"});
    let put = |pk: &str, size: usize| json!({"TableName": "tab", "Item": item(pk, size)});
    let update = |value: Value| {
        json!({"TableName": "tab", "Key": key("a"), "UpdateExpression": "SET v = :v",
            "ExpressionAttributeValues": {":v": value}})
    };
    let transaction = |size: usize| json!({"TransactItems": [{"Put": put("b", size)}, {"Put": put("c", 1)}]});
    let get = json!({"TableName": "tab", "Key": key("a")});
    let cases = [
        ("PutItem", put("new", 1), 500),
        ("PutItem", put("a", 101), 500),
        ("PutItem", put("a", 100), 200),
        ("UpdateItem", update(json!({"S": "v".repeat(101)})), 500),
        ("UpdateItem", update(json!({"S": "v".repeat(99)})), 200),
        ("TransactWriteItems", transaction(101), 500),
        ("TransactWriteItems", transaction(99), 200),
        ("DeleteItem", json!({"TableName": "tab", "Key": key("c")}), 200),
        ("RestoreTableFromBackup", restore.clone(), 500),
        ("GetItem", get, 200),
        ("Scan", json!({"TableName": "tab"}), 200),
        ("DescribeTable", json!({"TableName": "tab"}), 200),
        ("ListTables", json!({}), 200),
        ("CreateTable", table("other"), 200),
        ("DeleteTable", json!({"TableName": "other"}), 200),
    ];
    twin.engine.refuse_growth(true);
    for (operation, body, status) in cases {
        let (found, answer) = twin.send(operation, &body);
        assert_eq!(found, status, "{operation} {body}: {answer}");
    }
    twin.engine.refuse_growth(false);
    twin.ok("PutItem", &put("new", 1));
    twin.ok("RestoreTableFromBackup", &restore);
}

/// An answer of BatchGetItem has 16 MB of items exactly, and no byte more.
#[test]
fn a_batch_of_gets_has_sixteen_megabytes() {
    const LENGTH: usize = 400_000;
    let twin = twin();
    let put = |number: usize, size: usize| {
        let own = "pk".len() + 2 + "sk".len() + 1 + "v".len();
        let item = json!({"pk": {"S": format!("{number:02}")}, "sk": {"S": "s"}, "v": {"S": "x".repeat(size - own)}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    };
    (0..40).for_each(|number| put(number, LENGTH));
    let get = |numbers: std::ops::Range<usize>| {
        let keys: Vec<Value> = numbers
            .map(|number| json!({"pk": {"S": format!("{number:02}")}, "sk": {"S": "s"}}))
            .collect();
        let answer = twin.ok("BatchGetItem", &json!({"RequestItems": {"tab": {"Keys": keys}}}));
        let left = answer["UnprocessedKeys"]["tab"]["Keys"].as_array().map_or(0, Vec::len);
        (answer["Responses"]["tab"].as_array().unwrap().len(), left)
    };
    for (last, expect) in [(LENGTH, (40, 0)), (LENGTH + 1, (39, 1)), (LENGTH - 1, (40, 0))] {
        put(39, last);
        assert_eq!(get(0..40), expect, "{last}");
    }
    // One byte is left, which no item fits into.
    put(40, 100);
    assert_eq!(get(0..41), (40, 1));
}

/// Where nothing takes time, Contributor Insights can have any number of rules in a region.
#[test]
fn insights_have_any_number_of_rules_where_nothing_takes_time() {
    let twin = twin();
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    // Each table has four rules: AWS has at most 100 (docs/behavior: 04 12.2).
    for at in 0..26 {
        let name = format!("tab-{at}");
        let create = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [attribute("pk"), attribute("sk")],
            "KeySchema": [key("pk", "HASH"), key("sk", "RANGE")]});
        twin.ok("CreateTable", &create);
        let enable = json!({"TableName": name, "ContributorInsightsAction": "ENABLE"});
        twin.ok("UpdateContributorInsights", &enable);
        let described = twin.ok("DescribeContributorInsights", &json!({"TableName": name}));
        assert_eq!(described["ContributorInsightsStatus"], "ENABLED", "{described}");
        assert_eq!(
            described["ContributorInsightsRuleList"].as_array().unwrap().len(),
            4,
            "{described}"
        );
    }
}
