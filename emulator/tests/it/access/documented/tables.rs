//! Tables, streams and tags.

use serde_json::{Value, json};

use super::{DENIED, NO, World, YES, allow, arn, deny, document, get, index, no, put, scan, update};

/// Identity-based policies: reads alone, a stream, a table of one's own, everything but deletions.
#[test]
fn tables_and_streams() {
    let described = |name: &str| json!({"TableName": name});
    let reads = ["GetItem", "Scan", "Query", "DescribeTable"];
    World::new(&document(json!([allow(
        &reads,
        json!([arn("table/Books"), arn("table/Books/index/*")]),
        Value::Null
    )])))
    .check(
        "ANN",
        &[
            ("Scan", described("Books"), YES),
            (
                "Scan",
                json!({"TableName": "Books", "IndexName": "GameTitleIndex"}),
                YES,
            ),
            ("DescribeTable", described("Books"), YES),
            ("DescribeTable", described("GameScores"), NO),
            ("DeleteTable", described("Books"), NO),
            ("ListTables", no(), NO),
        ],
    );
    let world = World::new(&document(json!([
        allow(
            &["DescribeStream", "GetRecords", "GetShardIterator"],
            json!(arn("table/Books/stream/*")),
            Value::Null
        ),
        allow(&["ListStreams", "ListTables"], json!("*"), Value::Null)
    ])));
    let stream = |name: &str| world.twin.root("DescribeTable", &described(name))["Table"]["LatestStreamArn"].clone();
    world.check(
        "ANN",
        &[
            ("DescribeStream", json!({"StreamArn": stream("Books")}), YES),
            ("DescribeStream", json!({"StreamArn": stream("GameScores")}), NO),
            ("ListStreams", no(), YES),
            ("ListTables", no(), YES),
            ("Scan", described("Books"), NO),
        ],
    );
    let own = document(json!([allow(&["*"], json!(arn("table/${aws:username}")), Value::Null)]));
    World::new(&own).check(
        "ANN",
        &[
            ("DescribeTable", described("ann"), YES),
            ("DescribeTable", described("bob"), NO),
            ("DescribeTable", described("Ann"), NO),
        ],
    );
    // A role has no user name.
    World::new(&own).check("PLAYER", &[("DescribeTable", described("ann"), NO)]);
    let unlimited =
        json!({"Effect": "Allow", "NotAction": ["dynamodb:DeleteTable", "dynamodb:Update*"], "Resource": "*"});
    World::new(&document(json!([unlimited]))).check(
        "ANN",
        &[
            ("DescribeTable", described("Books"), YES),
            ("DeleteTable", described("Books"), NO),
            ("UpdateItem", update("u1", "Wins", no()), NO),
            ("ListTables", no(), YES),
        ],
    );
}

/// Tags of tables, of principals and of requests.
#[test]
fn tags() {
    let described = |name: &str| json!({"TableName": name});
    let owner = json!({"StringEquals": {"aws:ResourceTag/Owner": "${aws:username}"}});
    World::new(&document(json!([allow(&["*"], json!("*"), owner)]))).check(
        "ANN",
        &[
            ("DescribeTable", described("Books"), YES),
            ("Scan", described("Books"), YES),
            (
                "Scan",
                json!({"TableName": "Books", "IndexName": "GameTitleIndex"}),
                YES,
            ),
            ("DescribeTable", described("GameScores"), NO),
            ("DescribeTable", described("Nowhere"), NO),
            ("ListTables", no(), NO),
        ],
    );
    let production = json!({"StringNotEquals": {"aws:ResourceTag/environment": ["beta", "gamma"]}});
    World::new(&document(json!([
        allow(&["*"], json!("*"), Value::Null),
        deny(&["Scan"], json!("*"), production)
    ])))
    .check(
        "ANN",
        &[
            ("Scan", described("Books"), YES),
            ("Scan", described("GameScores"), DENIED),
        ],
    );
    let create = |tags: Value| {
        json!({"TableName": "New", "BillingMode": "PAY_PER_REQUEST", "Tags": tags,
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]})
    };
    let tag = |key: &str, value: &str| json!({"Key": key, "Value": value});
    let tagging = json!({"StringEquals": {"aws:RequestTag/environment": ["beta", "gamma"]}, "Null": {"aws:RequestTag/title": "false"},
        "ForAllValues:StringLike": {"aws:TagKeys": ["environment", "title", "cost-*"]}});
    let tagged = [tag("environment", "beta"), tag("title", "t")];
    let policy = document(json!([allow(&["CreateTable", "TagResource"], json!("*"), tagging)]));
    for (tags, expect) in [
        (json!(tagged), YES),
        (json!([tag("environment", "beta")]), NO),
        (json!([tag("environment", "prod"), tag("title", "t")]), NO),
        (
            json!([tag("environment", "beta"), tag("title", "t"), tag("cost-center", "1")]),
            YES,
        ),
        (
            json!([tag("environment", "beta"), tag("title", "t"), tag("other", "1")]),
            NO,
        ),
    ] {
        World::new(&policy).check("ANN", &[("CreateTable", create(tags), expect)]);
    }
    let untag = document(json!([allow(
        &["UntagResource"],
        json!("*"),
        json!({"ForAllValues:StringEquals": {"aws:TagKeys": ["environment"]}})
    )]));
    let of = |keys: &[&str]| json!({"ResourceArn": arn("table/Books"), "TagKeys": keys});
    World::new(&untag).check(
        "ANN",
        &[
            ("UntagResource", of(&["environment"]), YES),
            ("UntagResource", of(&["environment", "Owner"]), NO),
        ],
    );
    let team = json!({"StringEquals": {"aws:PrincipalTag/team": "blue"}});
    let policy = document(json!([allow(&["Scan"], json!("*"), team)]));
    World::new(&policy).check("PLAYER", &[("Scan", described("Books"), YES)]);
    World::of(&policy, &json!({"tags": {"Team": "red"}}), &no(), &no())
        .check("PLAYER", &[("Scan", described("Books"), NO)]);
}

#[test]
fn policies_that_aws_manages() {
    let select = json!({"Statement": "SELECT * FROM GameScores WHERE UserId = 'u1'"});
    let delete = json!({"Statement": "DELETE FROM GameScores WHERE UserId = 'u1' AND GameTitle = 'g'"});
    for (name, writes) in [
        ("AdministratorAccess", YES),
        ("AmazonDynamoDBFullAccess", YES),
        ("AmazonDynamoDBFullAccess_v2", YES),
        ("AmazonDynamoDBReadOnlyAccess", NO),
    ] {
        World::new(&json!(format!("arn:aws:iam::aws:policy/{name}"))).check(
            "ANN",
            &[
                ("GetItem", get("u1", no()), YES),
                ("Query", index(no()), YES),
                ("Scan", scan(no()), YES),
                ("ListTables", no(), YES),
                ("DescribeTable", scan(no()), YES),
                ("ExecuteStatement", select.clone(), YES),
                ("PutItem", put("u1", no()), writes),
                ("ExecuteStatement", delete.clone(), writes),
            ],
        );
    }
}
