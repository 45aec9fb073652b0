//! Example policies of AWS's documentation, each with requests and the answers that the documentation implies.
//!
//! DynamoDB developer guide: "Using IAM policy conditions for fine-grained access control", "Identity-based policies",
//! "Resource-based policy examples", "Attribute-based access control", "PartiQL security policies", "Gateway endpoints". IAM user
//! guide: "Example policies", "Global condition keys", "Revoke role session permissions". Organizations user guide: "SCP
//! examples", "RCP examples".

use serde_json::{Value, json};

use super::twin::{ACCOUNT, REGION, Twin};

const OTHER: &str = "444455556666";

fn arn(path: &str) -> String {
    format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:{path}")
}

fn document(statements: Value) -> Value {
    json!({"Version": "2012-10-17", "Statement": statements})
}

/// An Allow of actions on resources; `condition` may be null.
fn allow(actions: &[&str], resources: Value, condition: Value) -> Value {
    statement("Allow", actions, resources, condition)
}

fn deny(actions: &[&str], resources: Value, condition: Value) -> Value {
    statement("Deny", actions, resources, condition)
}

fn statement(effect: &str, actions: &[&str], resources: Value, condition: Value) -> Value {
    let actions: Vec<String> = actions.iter().map(|name| format!("dynamodb:{name}")).collect();
    let mut statement = json!({"Effect": effect, "Action": actions, "Resource": resources});
    if !condition.is_null() {
        statement["Condition"] = condition;
    }
    statement
}

/// A twin with the table `GameScores` of the developer guide, whose index is sorted by score, and one caller: a session of the
/// role `GameRole`, or the user `ann`.
struct World {
    twin: Twin,
    headers: Vec<(&'static str, &'static str)>,
}

impl World {
    fn new(policy: &Value) -> World {
        World::of(policy, &json!({}), &json!({}), &json!({}))
    }

    /// `session`, `account` and `rest` have further members of the caller's session, its account, and the configuration.
    fn of(policy: &Value, session: &Value, account: &Value, rest: &Value) -> World {
        let mut session = session.clone();
        let own = json!({"name": "player", "accessKeyId": "PLAYER", "secretAccessKey": "s", "sessionToken": "t",
            "keys": {"www.amazon.com:user_id": "u1", "cognito-identity.amazonaws.com:sub": "us-east-1:u1"}});
        merge(&mut session, &own);
        let role = json!({"tags": {"team": "blue"}, "policies": [policy], "sessions": [session]});
        let user = json!({"tags": {"team": "blue"}, "policies": [policy], "accessKeys": [{"accessKeyId": "ANN", "secretAccessKey": "s"}]});
        let mut account = account.clone();
        merge(
            &mut account,
            &json!({"accessKeys": [{"accessKeyId": "ROOT", "secretAccessKey": "s"}],
            "roles": {"GameRole": role}, "users": {"ann": user}}),
        );
        let mut configuration = rest.clone();
        merge(&mut configuration, &json!({"accounts": {}}));
        configuration["accounts"][ACCOUNT] = account;
        let unrestricted =
            json!({"accounts": {ACCOUNT: {"accessKeys": [{"accessKeyId": "ROOT", "secretAccessKey": "s"}]}}});
        let twin = Twin::new(&unrestricted);
        for (name, tags) in [
            ("GameScores", json!([])),
            (
                "Books",
                json!([{"Key": "Owner", "Value": "ann"}, {"Key": "environment", "Value": "beta"}]),
            ),
        ] {
            let body = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST", "Tags": tags,
                "AttributeDefinitions": [{"AttributeName": "UserId", "AttributeType": "S"}, {"AttributeName": "GameTitle", "AttributeType": "S"},
                    {"AttributeName": "TopScore", "AttributeType": "N"}],
                "KeySchema": [{"AttributeName": "UserId", "KeyType": "HASH"}, {"AttributeName": "GameTitle", "KeyType": "RANGE"}],
                "GlobalSecondaryIndexes": [{"IndexName": "GameTitleIndex", "Projection": {"ProjectionType": "KEYS_ONLY"},
                    "KeySchema": [{"AttributeName": "GameTitle", "KeyType": "HASH"}, {"AttributeName": "TopScore", "KeyType": "RANGE"}]}],
                "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}});
            twin.root("CreateTable", &body);
        }
        twin.configure(&configuration);
        World {
            twin,
            headers: Vec::new(),
        }
    }

    /// Sends a request, and returns `allowed`, `implicit`, or the kind of policy with an explicit deny.
    fn outcome(&self, caller: &str, operation: &str, body: &Value) -> String {
        let mut headers = self.headers.clone();
        if caller == "PLAYER" {
            headers.push(("x-amz-security-token", "t"));
        }
        let (_, answer) = self.twin.send(caller, operation, body, &headers);
        let entry = &answer["Responses"][0]["Error"]["Message"];
        let text = answer["Message"].as_str().or(entry.as_str()).unwrap_or_default();
        if let Some((_, kind)) = text.split_once("with an explicit deny in a") {
            kind.trim_start_matches('n').trim().to_owned()
        } else if text.contains("is not authorized to perform") {
            let (_, kind) = text.split_once("because no ").unwrap();
            format!("no {}", kind.split(" allows").next().unwrap())
        } else {
            "allowed".to_owned()
        }
    }

    #[track_caller]
    fn check(&self, caller: &str, cases: &[(&str, Value, &str)]) {
        let mut wrong = Vec::new();
        for (operation, body, expect) in cases {
            let found = self.outcome(caller, operation, body);
            if found != *expect {
                wrong.push(format!("{operation} {body}: {found}, not {expect}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

fn merge(into: &mut Value, members: &Value) {
    let members = members.as_object().unwrap().clone();
    let into = into.as_object_mut().unwrap();
    for (name, value) in members {
        into.entry(name).or_insert(value);
    }
}

const YES: &str = "allowed";
const NO: &str = "no identity-based policy";
const DENIED: &str = "identity-based policy";

fn key(user: &str) -> Value {
    json!({"UserId": {"S": user}, "GameTitle": {"S": "g"}})
}

fn with(mut body: Value, members: Value) -> Value {
    body.as_object_mut()
        .unwrap()
        .extend(members.as_object().unwrap().clone());
    body
}

fn get(user: &str, members: Value) -> Value {
    with(json!({"TableName": "GameScores", "Key": key(user)}), members)
}

fn put(user: &str, members: Value) -> Value {
    json!({"TableName": "GameScores", "Item": with(key(user), members)})
}

fn query(user: &str, members: Value) -> Value {
    let plain = json!({"TableName": "GameScores", "KeyConditionExpression": "UserId = :u", "ExpressionAttributeValues": {":u": {"S": user}}});
    with(plain, members)
}

fn index(members: Value) -> Value {
    let plain = json!({"TableName": "GameScores", "IndexName": "GameTitleIndex", "KeyConditionExpression": "GameTitle = :g",
        "ExpressionAttributeValues": {":g": {"S": "g"}}});
    with(plain, members)
}

fn update(user: &str, set: &str, members: Value) -> Value {
    let plain = json!({"TableName": "GameScores", "Key": key(user), "UpdateExpression": format!("SET {set} = :v"), "ExpressionAttributeValues": {":v": {"N": "1"}}});
    with(plain, members)
}

fn scan(members: Value) -> Value {
    with(json!({"TableName": "GameScores"}), members)
}

fn no() -> Value {
    json!({})
}

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

fn select(statement: &str) -> Value {
    json!({"Statement": statement})
}

/// PartiQL: by keys, by attributes, and no full table scans.
#[test]
fn statements() {
    let table = json!([arn("table/GameScores")]);
    let all = ["PartiQLSelect", "PartiQLInsert", "PartiQLUpdate", "PartiQLDelete"];
    let whole = json!([arn("table/GameScores"), arn("table/GameScores/index/GameTitleIndex")]);
    let scans = json!({"Bool": {"dynamodb:FullTableScan": ["true"]}});
    let world = World::new(&document(json!([
        deny(&["PartiQLSelect"], table.clone(), scans),
        allow(&["PartiQLSelect"], whole, Value::Null)
    ])));
    world.check(
        "PLAYER",
        &[
            (
                "ExecuteStatement",
                select("SELECT * FROM GameScores WHERE UserId = 'u1'"),
                YES,
            ),
            (
                "ExecuteStatement",
                select("SELECT * FROM GameScores WHERE UserId IN ['u1', 'u2']"),
                YES,
            ),
            ("ExecuteStatement", select("SELECT * FROM GameScores"), DENIED),
            (
                "ExecuteStatement",
                select("SELECT * FROM GameScores WHERE GameTitle = 'g'"),
                DENIED,
            ),
            (
                "ExecuteStatement",
                select("SELECT * FROM GameScores WHERE UserId > 'u1'"),
                DENIED,
            ),
            (
                "ExecuteStatement",
                select("SELECT * FROM GameScores WHERE UserId = 'u1' OR TopScore = 1"),
                DENIED,
            ),
            (
                "ExecuteStatement",
                select("SELECT * FROM GameScores.GameTitleIndex WHERE GameTitle = 'g'"),
                YES,
            ),
            (
                "ExecuteStatement",
                select("INSERT INTO GameScores VALUE {'UserId': 'u1', 'GameTitle': 'g'}"),
                NO,
            ),
            (
                "ExecuteStatement",
                select("DELETE FROM GameScores WHERE UserId = 'u1' AND GameTitle = 'g'"),
                NO,
            ),
            ("GetItem", get("u1", no()), NO),
        ],
    );
    let own = json!({"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["u1"], "dynamodb:Attributes": ["UserId", "GameTitle", "Wins"]}});
    let world = World::new(&document(json!([allow(&all, table, own)])));
    let insert = |user: &str, more: &str| {
        select(&format!(
            "INSERT INTO GameScores VALUE {{'UserId': '{user}', 'GameTitle': 'g'{more}}}"
        ))
    };
    let set = |user: &str, name: &str| {
        select(&format!(
            "UPDATE GameScores SET {name} = 1 WHERE UserId = '{user}' AND GameTitle = 'g'"
        ))
    };
    world.check(
        "PLAYER",
        &[
            ("ExecuteStatement", insert("u1", ", 'Wins': 1"), YES),
            ("ExecuteStatement", insert("u1", ", 'Losses': 1"), NO),
            ("ExecuteStatement", insert("u2", ""), NO),
            ("ExecuteStatement", set("u1", "Wins"), YES),
            ("ExecuteStatement", set("u1", "Losses"), NO),
            ("ExecuteStatement", set("u2", "Wins"), NO),
            (
                "ExecuteStatement",
                select("SELECT Wins FROM GameScores WHERE UserId = 'u1'"),
                YES,
            ),
            (
                "ExecuteStatement",
                select("SELECT Losses FROM GameScores WHERE UserId = 'u1'"),
                NO,
            ),
            (
                "ExecuteStatement",
                select("SELECT Wins FROM GameScores WHERE UserId IN ['u1', 'u2']"),
                NO,
            ),
            (
                "ExecuteStatement",
                select("DELETE FROM GameScores WHERE UserId = 'u1' AND GameTitle = 'g'"),
                YES,
            ),
            (
                "ExecuteStatement",
                select("DELETE FROM GameScores WHERE UserId = 'u2' AND GameTitle = 'g'"),
                NO,
            ),
            (
                "ExecuteTransaction",
                json!({"TransactStatements": [set("u1", "Wins")]}),
                YES,
            ),
            (
                "ExecuteTransaction",
                json!({"TransactStatements": [set("u1", "Wins"), set("u2", "Wins")]}),
                NO,
            ),
            ("BatchExecuteStatement", json!({"Statements": [set("u1", "Wins")]}), YES),
            ("BatchExecuteStatement", json!({"Statements": [set("u2", "Wins")]}), NO),
        ],
    );
}

/// Transactions only, anything but transactions, and single actions in transactions.
#[test]
fn enclosing_operations() {
    let actions = ["PutItem", "UpdateItem", "DeleteItem", "GetItem", "ConditionCheckItem"];
    let transactions = json!(["TransactWriteItems", "TransactGetItems"]);
    let table = json!([arn("table/GameScores")]);
    let inside = json!({"TransactItems": [{"Put": put("u1", no())}]});
    let reads = json!({"TransactItems": [{"Get": get("u1", no())}]});
    let check = json!({"TransactItems": [{"ConditionCheck": get("u1", json!({"ConditionExpression": "attribute_not_exists(UserId)"}))}]});
    let statements =
        json!({"TransactStatements": [select("DELETE FROM GameScores WHERE UserId = 'u1' AND GameTitle = 'g'")]});
    for operator in ["ForAnyValue:StringEquals", "StringEquals"] {
        let only = json!({operator: {"dynamodb:EnclosingOperation": transactions}});
        World::new(&document(json!([allow(&actions, table.clone(), only)]))).check(
            "PLAYER",
            &[
                ("TransactWriteItems", inside.clone(), YES),
                ("TransactGetItems", reads.clone(), YES),
                ("TransactWriteItems", check.clone(), YES),
                ("PutItem", put("u1", no()), NO),
                ("GetItem", get("u1", no()), NO),
                ("ExecuteTransaction", statements.clone(), NO),
            ],
        );
        let never = json!({operator: {"dynamodb:EnclosingOperation": transactions}});
        let both = document(json!([
            allow(&actions, table.clone(), Value::Null),
            deny(&actions, table.clone(), never)
        ]));
        World::new(&both).check(
            "PLAYER",
            &[
                ("TransactWriteItems", inside.clone(), DENIED),
                ("TransactGetItems", reads.clone(), DENIED),
                ("PutItem", put("u1", no()), YES),
                ("GetItem", get("u1", no()), YES),
            ],
        );
    }
    let checks = document(json!([allow(&["ConditionCheckItem"], table.clone(), Value::Null)]));
    World::new(&checks).check(
        "PLAYER",
        &[
            ("TransactWriteItems", check, YES),
            ("TransactWriteItems", inside, NO),
            ("GetItem", get("u1", no()), NO),
        ],
    );
    // A batch is not its single actions, and they are not it.
    let batches = document(json!([allow(&["BatchGetItem", "BatchWriteItem"], table, Value::Null)]));
    World::new(&batches).check(
        "PLAYER",
        &[
            (
                "BatchGetItem",
                json!({"RequestItems": {"GameScores": {"Keys": [key("u1")]}}}),
                YES,
            ),
            ("GetItem", get("u1", no()), NO),
            ("PutItem", put("u1", no()), NO),
        ],
    );
}

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

/// Conditions on the time, the network, the region and the sign-in.
#[test]
fn requests_and_their_origin() {
    let books = || json!({"TableName": "Books"});
    let all = || allow(&["*"], json!("*"), Value::Null);
    // The clock stands at 2026-01-01T00:00:00Z.
    let between = |from: &str, until: &str| json!({"DateGreaterThan": {"aws:CurrentTime": from}, "DateLessThan": {"aws:CurrentTime": until}});
    let network = json!({"NotIpAddress": {"aws:SourceIp": ["192.0.2.0/24", "203.0.113.0/24"]}, "Bool": {"aws:ViaAWSService": "false"}});
    let endpoint = json!({"StringNotEquals": {"aws:sourceVpce": "vpce-11aa22bb"}});
    let vpc = json!({"StringNotEqualsIfExists": {"aws:SourceVpc": "vpc-1"}});
    let no_mfa = json!({"BoolIfExists": {"aws:MultiFactorAuthPresent": "false"}});
    let strict_mfa = json!({"Bool": {"aws:MultiFactorAuthPresent": "false"}});
    let recent = json!({"NumericGreaterThan": {"aws:MultiFactorAuthAge": "3600"}});
    let old = |date: &str| json!({"DateLessThan": {"aws:TokenIssueTime": date}});
    let region = |name: &str| json!({"StringNotEquals": {"aws:RequestedRegion": [name]}});
    let insecure = json!({"Bool": {"aws:SecureTransport": "false"}});
    let agent = json!({"StringLike": {"aws:UserAgent": "*Mozilla*"}});
    let plain: &[(&str, &str)] = &[];
    let through = |id: &'static str| vec![("x-dynatwin-vpc-endpoint", id)];
    let mfa = json!({"keys": {"aws:MultiFactorAuthPresent": "true", "aws:MultiFactorAuthAge": "120"}});
    for (condition, session, headers, caller, expect) in [
        (
            between("2025-12-31T00:00:00Z", "2026-01-02T00:00:00Z"),
            no(),
            plain.to_vec(),
            "ANN",
            DENIED,
        ),
        (
            between("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
            no(),
            plain.to_vec(),
            "ANN",
            YES,
        ),
        (between("2025-01-01", "2026-01-01"), no(), plain.to_vec(), "ANN", YES),
        (
            json!({"DateGreaterThanEquals": {"aws:CurrentTime": "2026-01-01"}}),
            no(),
            plain.to_vec(),
            "ANN",
            DENIED,
        ),
        (
            json!({"DateEquals": {"aws:EpochTime": "2026-01-01T01:00:00+01:00"}}),
            no(),
            plain.to_vec(),
            "ANN",
            DENIED,
        ),
        (
            json!({"NumericLessThan": {"aws:EpochTime": 1_767_225_600}}),
            no(),
            plain.to_vec(),
            "ANN",
            YES,
        ),
        (
            network.clone(),
            no(),
            vec![("x-dynatwin-source-ip", "203.0.113.7")],
            "ANN",
            YES,
        ),
        (
            network.clone(),
            no(),
            vec![("x-dynatwin-source-ip", "198.51.100.1")],
            "ANN",
            DENIED,
        ),
        // Through a VPC endpoint there is no aws:SourceIp, so a negated operator holds.
        (network, no(), through("vpce-11aa22bb"), "ANN", DENIED),
        (endpoint.clone(), no(), through("vpce-11aa22bb"), "ANN", YES),
        (endpoint.clone(), no(), through("vpce-2"), "ANN", DENIED),
        (endpoint, no(), plain.to_vec(), "ANN", DENIED),
        (vpc.clone(), no(), through("vpce-11aa22bb"), "ANN", YES),
        (vpc.clone(), no(), through("vpce-2"), "ANN", DENIED),
        // IfExists holds of an absent key, so outside of a VPC this denies too.
        (vpc, no(), plain.to_vec(), "ANN", DENIED),
        // Long-term keys have no aws:MultiFactorAuthPresent.
        (no_mfa.clone(), no(), plain.to_vec(), "ANN", DENIED),
        (strict_mfa.clone(), no(), plain.to_vec(), "ANN", YES),
        (no_mfa.clone(), no(), plain.to_vec(), "PLAYER", DENIED),
        (strict_mfa.clone(), no(), plain.to_vec(), "PLAYER", DENIED),
        (no_mfa, mfa.clone(), plain.to_vec(), "PLAYER", YES),
        (strict_mfa, mfa.clone(), plain.to_vec(), "PLAYER", YES),
        (recent.clone(), mfa, plain.to_vec(), "PLAYER", YES),
        (
            recent,
            json!({"keys": {"aws:MultiFactorAuthAge": "3601"}}),
            plain.to_vec(),
            "PLAYER",
            DENIED,
        ),
        (old("2026-06-01T00:00:00Z"), no(), plain.to_vec(), "PLAYER", DENIED),
        (old("2025-06-01T00:00:00Z"), no(), plain.to_vec(), "PLAYER", YES),
        (old("2026-06-01T00:00:00Z"), no(), plain.to_vec(), "ANN", YES),
        (region("us-east-1"), no(), plain.to_vec(), "ANN", YES),
        (region("eu-central-1"), no(), plain.to_vec(), "ANN", DENIED),
        (insecure.clone(), no(), plain.to_vec(), "ANN", YES),
        (
            insecure,
            no(),
            vec![("x-dynatwin-secure-transport", "false")],
            "ANN",
            DENIED,
        ),
        (agent.clone(), no(), vec![("user-agent", "Mozilla/5.0")], "ANN", DENIED),
        (agent, no(), vec![("user-agent", "aws-cli/2")], "ANN", YES),
        (
            json!({"StringEquals": {"aws:PrincipalType": "AssumedRole"}}),
            no(),
            plain.to_vec(),
            "PLAYER",
            DENIED,
        ),
        (
            json!({"StringEquals": {"aws:PrincipalType": "AssumedRole"}}),
            no(),
            plain.to_vec(),
            "ANN",
            YES,
        ),
        (
            json!({"StringLike": {"aws:userid": "*:player"}}),
            no(),
            plain.to_vec(),
            "PLAYER",
            DENIED,
        ),
        (
            json!({"ArnLike": {"aws:PrincipalArn": "arn:aws:iam::*:role/Game*"}}),
            no(),
            plain.to_vec(),
            "PLAYER",
            DENIED,
        ),
        (
            json!({"ArnLike": {"aws:PrincipalArn": "arn:aws:sts::*:assumed-role/GameRole/*"}}),
            no(),
            plain.to_vec(),
            "PLAYER",
            YES,
        ),
        (
            json!({"StringEquals": {"aws:PrincipalAccount": OTHER}}),
            no(),
            plain.to_vec(),
            "ANN",
            YES,
        ),
        (
            json!({"StringEquals": {"aws:ResourceAccount": "${aws:PrincipalAccount}"}}),
            no(),
            plain.to_vec(),
            "ANN",
            DENIED,
        ),
        (
            json!({"Bool": {"aws:PrincipalIsAWSService": "true"}}),
            no(),
            plain.to_vec(),
            "ANN",
            YES,
        ),
        (
            json!({"Null": {"aws:SourceArn": "true"}}),
            no(),
            plain.to_vec(),
            "ANN",
            DENIED,
        ),
        (
            json!({"ForAnyValue:StringEquals": {"aws:CalledVia": "cloudformation.amazonaws.com"}}),
            no(),
            plain.to_vec(),
            "ANN",
            YES,
        ),
        (
            json!({"StringNotEquals": {"aws:PrincipalOrgID": "o-1"}}),
            no(),
            plain.to_vec(),
            "ANN",
            DENIED,
        ),
    ] {
        let policy = document(json!([all(), deny(&["Scan"], json!("*"), condition)]));
        let endpoints = json!({"vpcEndpoints": {"vpce-11aa22bb": {"vpc": "vpc-1"}, "vpce-2": {"vpc": "vpc-2"}}});
        let mut world = World::of(&policy, &session, &no(), &endpoints);
        world.headers = headers;
        let found = world.outcome(caller, "Scan", &books());
        assert_eq!(found, expect, "{caller} {session} {:?} {policy:#}", world.headers);
    }
}

/// Service and resource control policies.
#[test]
fn organizations() {
    let everything = document(json!([allow(&["*"], json!("*"), Value::Null)]));
    let full = json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}});
    let statement = |statement: Value| json!({"Version": "2012-10-17", "Statement": statement});
    let regions = |names: &[&str]| {
        statement(
            json!({"Effect": "Deny", "NotAction": ["iam:*", "organizations:*"], "Resource": "*",
            "Condition": {"StringNotEquals": {"aws:RequestedRegion": names},
                "ArnNotLike": {"aws:PrincipalARN": "arn:aws:iam::*:role/Game*"}}}),
        )
    };
    let list = statement(json!({"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}));
    let tls = statement(
        json!({"Effect": "Deny", "Principal": "*", "Action": "dynamodb:*", "Resource": "*",
        "Condition": {"BoolIfExists": {"aws:SecureTransport": "false"}}}),
    );
    let organization = statement(
        json!({"Effect": "Deny", "Principal": "*", "Action": "dynamodb:*", "Resource": "*",
        "Condition": {"StringNotEqualsIfExists": {"aws:PrincipalOrgID": "o-1"}, "BoolIfExists": {"aws:PrincipalIsAWSService": "false"}}}),
    );
    let within = statement(
        json!({"Effect": "Deny", "Principal": "*", "Action": "dynamodb:*", "Resource": "*",
        "Condition": {"ForAllValues:StringNotLike": {"aws:PrincipalOrgPaths": ["o-1/r-1/ou-1/*"]}}}),
    );
    let member = json!({"id": "o-1", "paths": ["o-1/r-1/ou-1/"]});
    let (scp, rcp) = ("service control policy", "resource control policy");
    let no_scp = "no service control policy";
    for (account, caller, operation, expect) in [
        (json!({"serviceControlPolicies": [full]}), "ANN", "Scan", YES),
        (
            json!({"serviceControlPolicies": [full, regions(&["us-east-1"])]}),
            "ANN",
            "Scan",
            YES,
        ),
        (
            json!({"serviceControlPolicies": [full, regions(&["eu-west-1"])]}),
            "ANN",
            "Scan",
            scp,
        ),
        (
            json!({"serviceControlPolicies": [full, regions(&["eu-west-1"])]}),
            "ROOT",
            "Scan",
            scp,
        ),
        // The role is exempt.
        (
            json!({"serviceControlPolicies": [full, regions(&["eu-west-1"])]}),
            "PLAYER",
            "Scan",
            YES,
        ),
        (json!({"serviceControlPolicies": [list]}), "ANN", "Scan", no_scp),
        (json!({"serviceControlPolicies": [list]}), "ROOT", "Scan", no_scp),
        // Every level of the organization has to allow.
        (
            json!({"serviceControlPolicies": [[full], [list]]}),
            "ANN",
            "Scan",
            no_scp,
        ),
        (
            json!({"serviceControlPolicies": [[full], [list, full]]}),
            "ANN",
            "Scan",
            YES,
        ),
        (json!({"serviceControlPolicies": [[full], []]}), "ANN", "Scan", no_scp),
        (json!({"resourceControlPolicies": [tls]}), "ANN", "Scan", YES),
        (json!({"resourceControlPolicies": [organization]}), "ANN", "Scan", rcp),
        (json!({"resourceControlPolicies": [organization]}), "ROOT", "Scan", rcp),
        (
            json!({"resourceControlPolicies": [organization], "organization": member}),
            "ANN",
            "Scan",
            YES,
        ),
        (
            json!({"resourceControlPolicies": [within], "organization": member}),
            "ANN",
            "Scan",
            YES,
        ),
        (
            json!({"resourceControlPolicies": [within], "organization": {"id": "o-1", "paths": ["o-1/r-1/ou-2/"]}}),
            "ANN",
            "Scan",
            rcp,
        ),
        (json!({"resourceControlPolicies": [within]}), "ANN", "Scan", rcp),
    ] {
        let world = World::of(&everything, &no(), &account, &no());
        let found = world.outcome(caller, operation, &json!({"TableName": "Books"}));
        assert_eq!(found, expect, "{caller} {account:#}");
    }
}

/// Policies of gateway endpoints, which name everybody and are narrowed by conditions.
#[test]
fn gateway_endpoints() {
    let everything = document(json!([allow(&["*"], json!("*"), Value::Null)]));
    let statement = |statement: Value| json!({"Version": "2012-10-17", "Statement": statement});
    let readonly = statement(json!({"Sid": "Read-only-access", "Principal": "*", "Effect": "Allow",
        "Action": ["dynamodb:DescribeTable", "dynamodb:ListTables", "dynamodb:Scan"], "Resource": "*"}));
    let table = statement(
        json!({"Principal": "*", "Effect": "Allow", "Action": ["dynamodb:Scan", "dynamodb:DeleteItem"], "Resource": arn("table/Books")}),
    );
    let role = statement(
        json!({"Principal": "*", "Effect": "Allow", "Action": "*", "Resource": "*",
        "Condition": {"ArnEquals": {"aws:PrincipalArn": format!("arn:aws:iam::{ACCOUNT}:role/GameRole")}}}),
    );
    let organization = statement(
        json!({"Principal": {"AWS": "*"}, "Effect": "Allow", "Action": "*", "Resource": "*",
        "Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-1", "aws:ResourceOrgID": "${aws:PrincipalOrgID}"}}}),
    );
    let closed = "no VPC endpoint policy";
    let member = json!({"organization": {"id": "o-1"}});
    for (policy, account, caller, operation, table_name, expect) in [
        (&readonly, no(), "ANN", "Scan", "Books", YES),
        (&readonly, no(), "ANN", "DescribeTable", "Books", YES),
        (&readonly, no(), "ANN", "DeleteTable", "Books", closed),
        (&table, no(), "ANN", "Scan", "Books", YES),
        (&table, no(), "ANN", "Scan", "GameScores", closed),
        (&table, no(), "ROOT", "Scan", "GameScores", closed),
        (&role, no(), "PLAYER", "Scan", "Books", YES),
        (&role, no(), "ANN", "Scan", "Books", closed),
        (&organization, member, "ANN", "Scan", "Books", YES),
        (&organization, no(), "ANN", "Scan", "Books", closed),
    ] {
        let endpoints = json!({"vpcEndpoints": {"vpce-1": {"type": "gateway", "policy": policy}}});
        let mut world = World::of(&everything, &no(), &account, &endpoints);
        world.headers = vec![("x-dynatwin-vpc-endpoint", "vpce-1")];
        let found = world.outcome(caller, operation, &json!({"TableName": table_name}));
        assert_eq!(found, expect, "{caller} {operation} {table_name} {policy:#}");
    }
}

/// Resource-based policies of a table, within its account and from another one.
#[test]
fn resource_based_policies() {
    let none = document(json!([allow(&["ListTables"], json!("*"), Value::Null)]));
    let (table, indexes) = (arn("table/Books"), arn("table/Books/index/*"));
    let role = format!("arn:aws:iam::{ACCOUNT}:role/GameRole");
    let session = format!("arn:aws:sts::{ACCOUNT}:assumed-role/GameRole/player");
    let user = format!("arn:aws:iam::{ACCOUNT}:user/ann");
    let stranger = format!("arn:aws:iam::{OTHER}:user/eve");
    let scan = || json!({"TableName": arn("table/Books")});
    let get = |attributes: &str| json!({"TableName": arn("table/Books"), "Key": key("u1"), "ProjectionExpression": attributes});
    let of = |principal: &str, resources: Value, condition: Value| {
        let mut statement = allow(&["Scan", "Query", "GetItem"], resources, condition);
        statement["Principal"] = json!({"AWS": principal});
        statement
    };
    let deny_to_all = |condition: Value| {
        let mut statement = deny(&["Scan"], json!(table), condition);
        statement["Principal"] = json!("*");
        statement
    };
    let both = || json!([table, indexes]);
    let index = || with(scan(), json!({"IndexName": "GameTitleIndex"}));
    let few = json!({"ForAllValues:StringEquals": {"dynamodb:Attributes": ["UserId", "GameTitle", "Wins"]}, "StringEquals": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}});
    let elsewhere = json!({"StringNotEquals": {"aws:SourceVpce": "vpce-1"}});
    let outside = json!({"NotIpAddress": {"aws:SourceIp": "192.0.2.0/24"}, "Null": {"aws:SourceVpce": "true"}});
    let resource = "resource-based policy";
    let endpoint = vec![("x-dynatwin-vpc-endpoint", "vpce-1")];
    let eve = "no resource-based policy";
    for (statements, headers, caller, operation, body, expect) in [
        (
            json!([of(&user, both(), Value::Null)]),
            vec![],
            "ANN",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([of(&user, both(), Value::Null)]),
            vec![],
            "ANN",
            "Scan",
            index(),
            YES,
        ),
        (
            json!([of(&user, json!(table), Value::Null)]),
            vec![],
            "ANN",
            "Scan",
            index(),
            NO,
        ),
        (
            json!([of(&user, both(), Value::Null)]),
            vec![],
            "PLAYER",
            "Scan",
            scan(),
            NO,
        ),
        (
            json!([of(&role, both(), Value::Null)]),
            vec![],
            "PLAYER",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([of(&session, both(), Value::Null)]),
            vec![],
            "PLAYER",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([of(ACCOUNT, both(), Value::Null)]),
            vec![],
            "ANN",
            "Scan",
            scan(),
            NO,
        ),
        (
            json!([of(&user, both(), few.clone())]),
            vec![],
            "ANN",
            "GetItem",
            get("Wins"),
            YES,
        ),
        (
            json!([of(&user, both(), few.clone())]),
            vec![],
            "ANN",
            "GetItem",
            get("Losses"),
            NO,
        ),
        (json!([of(&user, both(), few)]), vec![], "ANN", "Scan", scan(), NO),
        (
            json!([of(&user, both(), Value::Null), deny_to_all(elsewhere.clone())]),
            vec![],
            "ANN",
            "Scan",
            scan(),
            resource,
        ),
        (
            json!([of(&user, both(), Value::Null), deny_to_all(elsewhere.clone())]),
            endpoint.clone(),
            "ANN",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([deny_to_all(elsewhere)]),
            vec![],
            "ROOT",
            "Scan",
            scan(),
            resource,
        ),
        (
            json!([of(&user, both(), Value::Null), deny_to_all(outside.clone())]),
            endpoint,
            "ANN",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([of(&user, both(), Value::Null), deny_to_all(outside.clone())]),
            vec![("x-dynatwin-source-ip", "192.0.2.9")],
            "ANN",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([of(&user, both(), Value::Null), deny_to_all(outside)]),
            vec![("x-dynatwin-source-ip", "198.51.100.9")],
            "ANN",
            "Scan",
            scan(),
            resource,
        ),
        // Another account's user needs both its own policy and the table's.
        (
            json!([of(&stranger, both(), Value::Null)]),
            vec![],
            "EVE",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([of(OTHER, both(), Value::Null)]),
            vec![],
            "EVE",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([of(&stranger, json!(table), Value::Null)]),
            vec![],
            "EVE",
            "Scan",
            index(),
            eve,
        ),
        (
            json!([of(&user, both(), Value::Null)]),
            vec![],
            "EVE",
            "Scan",
            scan(),
            eve,
        ),
        (
            json!([of(OTHER, both(), Value::Null)]),
            vec![],
            "MALLORY",
            "Scan",
            scan(),
            NO,
        ),
        (
            json!([of(OTHER, both(), Value::Null)]),
            vec![],
            "OTHERROOT",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([of(&stranger, both(), Value::Null)]),
            vec![],
            "EVE",
            "DescribeTimeToLive",
            scan(),
            eve,
        ),
        (
            json!([of(
                OTHER,
                both(),
                json!({"StringEquals": {"aws:PrincipalTag/team": "red"}})
            )]),
            vec![],
            "EVE",
            "Scan",
            scan(),
            YES,
        ),
        (
            json!([of(
                OTHER,
                both(),
                json!({"StringEquals": {"aws:PrincipalTag/team": "blue"}})
            )]),
            vec![],
            "EVE",
            "Scan",
            scan(),
            eve,
        ),
    ] {
        let full = document(json!([allow(&["*"], json!("*"), Value::Null)]));
        let keys = |id: &str| json!([{"accessKeyId": id, "secretAccessKey": "s"}]);
        let rest = json!({"vpcEndpoints": {"vpce-1": {}}, "accounts": {OTHER: {"accessKeys": keys("OTHERROOT"),
            "users": {"eve": {"tags": {"team": "red"}, "policies": [full], "accessKeys": keys("EVE")}, "mallory": {"accessKeys": keys("MALLORY")}}}}});
        let mut world = World::of(&none, &no(), &no(), &rest);
        let policy = json!({"Version": "2012-10-17", "Statement": statements});
        world.twin.root(
            "PutResourcePolicy",
            &json!({"ResourceArn": table, "Policy": policy.to_string(), "ConfirmRemoveSelfResourceAccess": true}),
        );
        world.headers = headers;
        let found = world.outcome(caller, operation, &body);
        assert_eq!(
            found, expect,
            "{caller} {operation} {body} {:?} {policy:#}",
            world.headers
        );
    }
}
