//! Files of every format, valid and with unknown members.
#![allow(clippy::unwrap_used)] // a test may fail

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{caller, engine};
use dynatwin_engine::controls::AccountControls;
use dynatwin_engine::{Conditions, Engine, Lag, TimeToLive};
use dynatwin_seed::{Database, Error, Existing, InProcess, Loaded, Seed, load_engine};
use serde_json::{Value, json};

fn data(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    folder.join(name).display().to_string()
}

/// An engine into which a seed was loaded.
struct Filled(Engine, Loaded);

impl Filled {
    fn with(seed: Result<Seed, Error>) -> Filled {
        let engine = engine(&Conditions::AWS);
        let loaded = load_engine(&engine, &caller(), seed.unwrap(), Existing::Refuse).unwrap();
        assert_eq!(engine.conditions(), Conditions::AWS);
        // Reads of the loaded items are not throttled.
        engine.set_conditions(Conditions::CALM).unwrap();
        Filled(engine, loaded)
    }

    fn ask(&self, operation: &str, body: Value) -> Value {
        let caller = caller();
        InProcess::new(&self.0, &caller).call(operation, &body).unwrap()
    }

    fn table(&self, name: &str) -> Value {
        let mut description = self.ask("DescribeTable", json!({"TableName": name}))["Table"].take();
        assert_eq!(description["TableStatus"], "ACTIVE", "{name}");
        description.take()
    }

    fn items(&self, table: &str) -> Vec<Value> {
        let answer = self.ask("Scan", json!({"TableName": table, "ConsistentRead": true}));
        let mut items = answer["Items"].as_array().unwrap().clone();
        items.sort_by_key(ToString::to_string);
        items
    }

    fn time_to_live(&self, table: &str) -> Value {
        self.ask("DescribeTimeToLive", json!({"TableName": table}))["TimeToLiveDescription"].take()
    }
}

const SESSIONS: &str = r#"{"TableName": "Sessions",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "at", "AttributeType": "N"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}]"#;

#[test]
fn a_serverless_template() {
    let filled = Filled::with(Seed::read(&data("sam.yaml")));
    assert_eq!(filled.1, Loaded { tables: 3, items: 0 });
    let sessions = filled.table("stack-test-sessions");
    assert_eq!(sessions["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST");
    assert_eq!(sessions["GlobalSecondaryIndexes"][0]["IndexName"], "bySk");
    assert_eq!(sessions["StreamSpecification"]["StreamViewType"], "NEW_IMAGE");
    assert_eq!(filled.time_to_live("stack-test-sessions")["AttributeName"], "expiresAt");
    let tags = filled.ask("ListTagsOfResource", json!({"ResourceArn": sessions["TableArn"]}));
    assert_eq!(tags["Tags"], json!([{"Key": "table", "Value": "a-y"}]));
    let backups = filled.ask("DescribeContinuousBackups", json!({"TableName": "stack-test-sessions"}));
    let recovery = &backups["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
    assert_eq!(recovery["PointInTimeRecoveryStatus"], "ENABLED");
    for of in [
        json!({"TableName": "stack-test-sessions"}),
        json!({"TableName": "stack-test-sessions", "IndexName": "bySk"}),
    ] {
        let insights = filled.ask("DescribeContributorInsights", of.clone());
        assert_eq!(insights["ContributorInsightsStatus"], "ENABLED", "{of}");
    }
    let simple = filled.table("OnlyInTest");
    assert_eq!(
        simple["AttributeDefinitions"][0],
        json!({"AttributeName": "number", "AttributeType": "N"})
    );
    let global = filled.table("Everywhere");
    assert_eq!(global["ProvisionedThroughput"]["ReadCapacityUnits"], 9);
    assert_eq!(global["ProvisionedThroughput"]["WriteCapacityUnits"], 7);
    assert_eq!(global["DeletionProtectionEnabled"], true);
}

#[test]
fn a_terraform_plan() {
    let filled = Filled::with(Seed::read(&data("plan.json")));
    assert_eq!(filled.1, Loaded { tables: 1, items: 1 });
    let table = filled.table("GameScores");
    let keys =
        json!([{"AttributeName": "UserId", "KeyType": "HASH"}, {"AttributeName": "GameTitle", "KeyType": "RANGE"}]);
    assert_eq!(table["KeySchema"], keys);
    let index = &table["GlobalSecondaryIndexes"][0];
    assert_eq!(index["ProvisionedThroughput"]["WriteCapacityUnits"], 11);
    assert_eq!(index["Projection"]["NonKeyAttributes"], json!(["UserId"]));
    assert_eq!(
        table["LocalSecondaryIndexes"][0]["KeySchema"][0]["AttributeName"],
        "UserId"
    );
    assert_eq!(table["StreamSpecification"]["StreamViewType"], "KEYS_ONLY");
    assert_eq!(filled.time_to_live("GameScores")["AttributeName"], "TimeToExist");
    assert_eq!(filled.items("GameScores")[0]["TopScore"], json!({"N": "9"}));
}

#[test]
fn a_workbench_model() {
    let filled = Filled::with(Seed::read(&data("workbench.json")));
    assert_eq!(filled.1, Loaded { tables: 1, items: 2 });
    let table = filled.table("Employee");
    assert_eq!(table["ProvisionedThroughput"]["WriteCapacityUnits"], 6);
    assert_eq!(
        table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"],
        5
    );
    let items = filled.items("Employee");
    assert_eq!(items.len(), 2);
}

/// A key schema starts with the partition key, in whatever order the model has the attributes.
#[test]
fn keys_of_a_model_are_in_order() {
    let key = |role: &str, name: &str| format!(r#""{role}": {{"AttributeName": "{name}", "AttributeType": "S"}}"#);
    let (hash, range) = (key("PartitionKey", "a"), key("SortKey", "b"));
    for keys in [format!("{hash}, {range}"), format!("{range}, {hash}")] {
        let index = format!(r#"{{"IndexName": "Index", "KeyAttributes": {{{keys}}}}}"#);
        let model = format!(
            r#"{{"DataModel": [{{"TableName": "Tab", "KeyAttributes": {{{keys}}}, "GlobalSecondaryIndexes": [{index}]}}]}}"#
        );
        let table = Filled::with(Seed::parse("model.json", model.as_bytes())).table("Tab");
        for schema in [&table["KeySchema"], &table["GlobalSecondaryIndexes"][0]["KeySchema"]] {
            let names = schema
                .as_array()
                .unwrap()
                .iter()
                .map(|key| key["AttributeName"].as_str().unwrap());
            assert_eq!(names.collect::<String>(), "ab", "{keys}");
        }
    }
}

#[test]
fn a_database_of_dynamodb_local() {
    let filled = Filled::with(Seed::read(&data("shared-local-instance.db")));
    assert_eq!(filled.1, Loaded { tables: 3, items: 8 });
    let sessions = filled.table("Sessions");
    assert_eq!(sessions["KeySchema"][1]["AttributeName"], "at");
    assert_eq!(sessions["DeletionProtectionEnabled"], true);
    assert_eq!(sessions["GlobalSecondaryIndexes"][0]["IndexName"], "byU");
    assert_eq!(sessions["LocalSecondaryIndexes"][0]["IndexName"], "lsi");
    assert_eq!(sessions["StreamSpecification"]["StreamViewType"], "NEW_AND_OLD_IMAGES");
    assert_eq!(filled.time_to_live("Sessions")["AttributeName"], "expiresAt");
    assert_eq!(filled.table("Num")["ProvisionedThroughput"]["WriteCapacityUnits"], 4);
    let item = &filled.items("Sessions")[0];
    assert_eq!(item["uni"], json!({"S": "é😀\"\\\n"}));
    assert_eq!(item["x"]["M"]["l"]["L"][4], json!({"NS": ["3", "-1.5"]}));
    assert_eq!(filled.items("Bin")[0], json!({"n": {"B": "YWJj"}}));
}

/// Only the stream that is enabled counts: each table had one before, `Ended` has none now.
#[test]
fn ended_streams_of_dynamodb_local_are_left_out() {
    let filled = Filled::with(Seed::read(&data("ended-streams.db")));
    assert_eq!(filled.1, Loaded { tables: 2, items: 0 });
    let again = &filled.table("Again")["StreamSpecification"];
    assert_eq!(*again, json!({"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}));
    assert_eq!(filled.table("Ended")["StreamSpecification"], Value::Null);
}

#[test]
fn definitions_and_items_in_one_document() {
    let jest = format!(
        r#"{{"port": 8000, "tables": [{SESSIONS}, "ProvisionedThroughput": {{"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}},
            "data": [{{"id": "a", "at": 1, "tags": ["x"]}}, {{"id": {{"S": "b"}}, "at": {{"N": "2"}}}}]}}]}}"#
    );
    let yaml = "
tables:
- TableName: Sessions
  AttributeDefinitions:
  - {AttributeName: id, AttributeType: S}
  - {AttributeName: at, AttributeType: N}
  KeySchema:
  - {AttributeName: id, KeyType: HASH}
  - {AttributeName: at, KeyType: RANGE}
items:
  Sessions:
  - {id: a, at: 1, tags: [x]}
  - id: {S: b}
    at: {N: '2'}
";
    let list = format!(
        r#"[{SESSIONS}, "Items": [{{"id": "a", "at": 1, "tags": ["x"]}}, {{"Item": {{"id": {{"S": "b"}}, "at": {{"N": "2"}}}}}}]}}]"#
    );
    for (name, text) in [
        ("jest.json", jest.as_str()),
        ("seed.yaml", yaml),
        ("tables.json", &list),
    ] {
        let filled = Filled::with(Seed::parse(name, text.as_bytes()));
        assert_eq!(filled.1, Loaded { tables: 1, items: 2 }, "{name}");
        let expected = json!([
            {"id": {"S": "a"}, "at": {"N": "1"}, "tags": {"L": [{"S": "x"}]}},
            {"id": {"S": "b"}, "at": {"N": "2"}},
        ]);
        assert_eq!(Value::Array(filled.items("Sessions")), sorted(expected), "{name}");
    }
}

/// The items of a table are in one of three members, in a list of tables and in a document of tables.
#[test]
fn items_of_tables_have_three_names() {
    for member in ["Items", "data", "items"] {
        let table = format!(r#"{SESSIONS}, "{member}": [{{"id": "a", "at": 1}}, {{"id": "b", "at": 2}}]}}"#);
        let other = table.replace("Sessions", "Other");
        for text in [
            format!("[{table}, {other}]"),
            format!(r#"{{"tables": [{table}, {other}]}}"#),
        ] {
            for name in ["x.json", "x.yaml"] {
                let filled = Filled::with(Seed::parse(name, text.as_bytes()));
                assert_eq!(filled.1, Loaded { tables: 2, items: 4 }, "{name}: {text}");
                let counts = ["Sessions", "Other"].map(|table| filled.items(table).len());
                assert_eq!(counts, [2, 2], "{name}: {text}");
            }
        }
    }
    // All of them are items of the table.
    let item = |id: &str| format!(r#"[{{"id": "{id}", "at": 1}}]"#);
    let [one, two, three] = ["a", "b", "c"].map(item);
    for (members, count) in [
        (format!(r#""Items": {one}, "data": {two}"#), 2),
        (format!(r#""items": {one}, "data": {two}"#), 2),
        (format!(r#""Items": [], "items": {two}"#), 1),
        (format!(r#""items": {one}, "data": {two}, "Items": {three}"#), 3),
    ] {
        let text = format!("[{SESSIONS}, {members}}}]");
        let filled = Filled::with(Seed::parse("x.json", text.as_bytes()));
        assert_eq!(
            (filled.1.items, filled.items("Sessions").len()),
            (count, count),
            "{text}"
        );
    }
}

/// Each table gets its own items from `items`, which may precede or follow the tables.
#[test]
fn items_are_those_of_their_table() {
    let table = format!("{SESSIONS}}}");
    let names = ["Sessions", "Other", "Third"];
    let tables = names.map(|name| table.replace("Sessions", name)).join(", ");
    let items = names.map(|name| format!(r#""{name}": [{{"id": "{name}", "at": 1}}, {{"id": "{name}", "at": 2}}]"#));
    let items = items.join(", ");
    for text in [
        format!(r#"{{"tables": [{tables}], "items": {{{items}}}}}"#),
        format!(r#"{{"items": {{{items}}}, "tables": [{tables}]}}"#),
    ] {
        for file in ["x.json", "x.yaml"] {
            let filled = Filled::with(Seed::parse(file, text.as_bytes()));
            assert_eq!(filled.1, Loaded { tables: 3, items: 6 }, "{file}: {text}");
            for name in names {
                let expected = [1, 2].map(|at| json!({"id": {"S": name}, "at": {"N": at.to_string()}}));
                let mut found = filled.items(name);
                found.sort_by_key(|item| item["at"]["N"].to_string());
                assert_eq!(found, expected, "{file}: {text}");
            }
        }
    }
}

/// The settings of a server may be anywhere beside the tables, with any values.
#[test]
fn settings_of_servers_are_ignored() {
    for setting in [
        "basePort",
        "clientConfig",
        "hostname",
        "installerConfig",
        "options",
        "port",
        "processor",
    ] {
        for value in [
            "8000",
            r#""x""#,
            r#"["-sharedDb"]"#,
            r#"{"endpoint": "x"}"#,
            "{}",
            "null",
        ] {
            for text in [
                format!(r#"{{"{setting}": {value}, "tables": [{SESSIONS}}}]}}"#),
                format!(r#"{{"tables": [{SESSIONS}}}], "{setting}": {value}}}"#),
            ] {
                let seed = Seed::parse("x.json", text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
                assert_eq!((seed.tables.len(), seed.items.len()), (1, 0), "{text}");
            }
        }
    }
}

fn sorted(items: Value) -> Value {
    let mut items = items.as_array().unwrap().clone();
    items.sort_by_key(ToString::to_string);
    Value::Array(items)
}

/// The description of a table creates an identical table.
#[test]
fn a_description_creates_an_identical_table() {
    let first = Filled::with(Seed::read(&data("plan.json")));
    let description = json!({"Table": first.table("GameScores")}).to_string();
    let second = Filled::with(Seed::parse("described.json", description.as_bytes()));
    for member in ["KeySchema", "AttributeDefinitions", "StreamSpecification"] {
        assert_eq!(
            second.table("GameScores")[member],
            first.table("GameScores")[member],
            "{member}"
        );
    }
}

/// A setting of a table in a template or description, and its value in the created table.
#[test]
fn settings_that_follow_from_others() {
    const KEY: &str = "AttributeDefinitions: [{AttributeName: id, AttributeType: S}]\n      \
                       KeySchema: [{AttributeName: id, KeyType: HASH}]";
    let resource = |kind: &str, properties: &str| {
        format!(
            "Parameters:\n  Names: {{Type: CommaDelimitedList, Default: 'a, b'}}\nResources:\n  Tab:\n    Type: AWS::DynamoDB::{kind}\n    \
             Properties:\n      {KEY}\n{properties}"
        )
    };
    let index = "      BillingMode: PAY_PER_REQUEST\n      GlobalSecondaryIndexes:\n      - IndexName: by-id\n        \
                 KeySchema: [{AttributeName: id, KeyType: HASH}]\n        \
                 Projection: {ProjectionType: INCLUDE, NonKeyAttributes: !Ref Names}\n";
    let scaling = "      BillingMode: PROVISIONED\n      WriteProvisionedThroughputSettings:\n        \
                   WriteCapacityAutoScalingSettings: {MinCapacity: 3, SeedCapacity: 7, MaxCapacity: 9}\n      \
                   Replicas:\n      - Region: us-east-1\n        ReadProvisionedThroughputSettings:\n          \
                   ReadCapacityAutoScalingSettings: {MinCapacity: 4, MaxCapacity: 9}\n";
    let limited = |limits: &str| {
        format!(
            r#"{{"Table": {{"TableName": "Tab", "BillingModeSummary": {{"BillingMode": "PAY_PER_REQUEST"}},
                "AttributeDefinitions": [{{"AttributeName": "id", "AttributeType": "S"}}],
                "KeySchema": [{{"AttributeName": "id", "KeyType": "HASH"}}], "OnDemandThroughput": {limits}}}}}"#
        )
    };
    for (name, text, pointer, expected) in [
        (
            "list.yaml",
            resource("Table", index),
            "/GlobalSecondaryIndexes/0/Projection/NonKeyAttributes",
            json!(["a", "b"]),
        ),
        (
            "scaling.yaml",
            resource("GlobalTable", scaling),
            "/ProvisionedThroughput/WriteCapacityUnits",
            json!(7),
        ),
        (
            "scaling.yaml",
            resource("GlobalTable", scaling),
            "/ProvisionedThroughput/ReadCapacityUnits",
            json!(4),
        ),
        (
            "half-limited.json",
            limited(r#"{"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 5}"#),
            "/OnDemandThroughput/MaxWriteRequestUnits",
            json!(5),
        ),
        (
            "unlimited.json",
            limited(r#"{"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": -1}"#),
            "/OnDemandThroughput",
            Value::Null,
        ),
    ] {
        let seed = Seed::parse(name, text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let table = seed.tables[0].name.clone();
        let table = Filled::with(Ok(seed)).table(&table);
        let found = table.pointer(pointer).cloned().unwrap_or_default();
        assert_eq!(found, expected, "{name}: {pointer} of {table}");
    }
}

/// The members of an object replace those that are merged into it.
#[test]
fn merged_tables() {
    let yaml = "
tables:
- &first
  TableName: First
  BillingMode: PAY_PER_REQUEST
  AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
  KeySchema: [{AttributeName: id, KeyType: HASH}]
- <<: *first
  TableName: Second
";
    let seed = Seed::parse("tables.yaml", yaml.as_bytes()).unwrap();
    let names: Vec<&str> = seed.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["First", "Second"]);
}

/// Time to live is off in Terraform unless it is enabled.
#[test]
fn time_to_live_in_terraform() {
    for (block, attribute) in [
        (r#"[{"attribute_name": "expires"}]"#, None),
        (r#"[{"attribute_name": "expires", "enabled": null}]"#, None),
        (r#"[{"attribute_name": "expires", "enabled": false}]"#, None),
        (r#"[{"attribute_name": "expires", "enabled": true}]"#, Some("expires")),
        ("[]", None),
    ] {
        let plan = format!(
            r#"{{"terraform_version": "1", "planned_values": {{"root_module": {{"resources": [
                {{"type": "aws_dynamodb_table", "values": {{"name": "T", "billing_mode": "PAY_PER_REQUEST", "hash_key": "id",
                "attribute": [{{"name": "id", "type": "S"}}], "ttl": {block}}}}}]}}}}}}"#
        );
        let seed = Seed::parse("plan.json", plan.as_bytes()).unwrap();
        assert_eq!(seed.tables[0].time_to_live.as_deref(), attribute, "{block}");
    }
}

#[test]
fn files_that_only_have_items() {
    let record = r#"{"Item":{"id":{"S":"a"},"at":{"N":"1"}}}"#;
    let files = [
        (
            "Sessions.json",
            r#"{"Items": [{"id": {"S": "a"}, "at": {"N": "1"}}], "Count": 1}"#.to_owned(),
        ),
        ("Sessions.json", r#"[{"id": "a", "at": 1}]"#.to_owned()),
        (
            "Sessions.json",
            format!("{record}\n{}\n", record.replace("\"1\"", "\"2\"")),
        ),
        ("Sessions.jsonl", record.to_owned()),
        ("x.json", format!(r#"{{"Sessions": [{{"PutRequest": {record}}}]}}"#)),
        (
            "x.json",
            format!(r#"{{"RequestItems": {{"Sessions": [{{"PutRequest": {record}}}]}}}}"#),
        ),
        ("Sessions.csv", "id,at,name\na,1,\nb,2,\"x, y\"\n".to_owned()),
    ];
    for (name, text) in files {
        let table = format!("{SESSIONS}}}");
        let mut seed = Seed::parse("table.json", table.as_bytes()).unwrap();
        seed.append(Seed::parse(name, text.as_bytes()).unwrap_or_else(|error| panic!("{error}")));
        let filled = Filled::with(Ok(seed));
        let items = filled.items("Sessions");
        assert_eq!(items[0], json!({"id": {"S": "a"}, "at": {"N": "1"}}), "{name}: {text}");
        assert_eq!(filled.1.items, items.len());
    }
}

/// The table of a file that only has items is the file's name up to its first dot.
#[test]
fn the_name_of_a_file_names_its_table() {
    let folder = Folder::new("names");
    let lines = "{\"id\": \"a\", \"at\": 1}\n";
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut gzip, lines.as_bytes()).unwrap();
    let packed = gzip.finish().unwrap();
    for (name, bytes) in [
        ("Sessions.jsonl", lines.as_bytes()),
        ("Sessions.dev.jsonl", lines.as_bytes()),
        ("Sessions.dev.json", br#"[{"id": "a", "at": 1}]"#),
        ("Sessions.2026.01.csv", b"id,at\na,1\n"),
        ("Sessions.jsonl.gz", &packed),
        ("Sessions.dev.jsonl.gz", &packed),
    ] {
        let path = folder.0.join(name);
        fs::write(&path, bytes).unwrap();
        let path = path.display().to_string();
        for (argument, table) in [(path.clone(), "Sessions"), (format!("Other.x={path}"), "Other.x")] {
            let seed = Seed::read(&argument).unwrap();
            let tables: Vec<_> = seed.items.iter().map(|items| items.table.as_str()).collect();
            assert_eq!(tables, [table], "{argument}");
        }
        // A text is not unpacked.
        if bytes != packed {
            assert_eq!(Seed::parse(name, bytes).unwrap().items[0].table, "Sessions", "{name}");
        }
    }
}

/// The lines of all members of a gzip file are read, as of files that were concatenated.
#[test]
fn a_gzip_file_may_have_several_members() {
    let folder = Folder::new("members");
    let member = |text: &str| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut gzip, text.as_bytes()).unwrap();
        gzip.finish().unwrap()
    };
    // A line may begin in one and end in the next.
    let members = ["{\"id\": \"a\"}\n", "", "{\"id\": ", "\"b\"}\n{\"id\": \"c\"}\n"].map(member);
    for count in 0..=members.len() {
        let path = folder.0.join("Tab.jsonl.gz");
        fs::write(&path, members[..count].concat()).unwrap();
        let seed = Seed::read(path.to_str().unwrap()).unwrap();
        let read = seed
            .items
            .into_iter()
            .flat_map(|items| items.items)
            .map(|item| item.is_ok());
        let expected: &[bool] = [&[][..], &[true], &[true], &[true, false], &[true; 3]][count];
        assert_eq!(read.collect::<Vec<_>>(), expected, "{count} members");
    }
}

/// A packed file is known by its content, and a file of another content is read as it is, whatever their names.
#[test]
fn packed_files_are_known_by_their_content() {
    let folder = Folder::new("packed");
    for (name, text) in [
        ("Tab.json", "[{\"id\": \"a\"}]"),
        ("Tab.jsonl", "{\"id\": \"a\"}\n"),
        ("Tab.csv", "id\na\n"),
        ("Tab.yaml", "- id: a\n"),
    ] {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut gzip, text.as_bytes()).unwrap();
        let packed = gzip.finish().unwrap();
        for (end, bytes) in [
            ("", text.as_bytes()),
            ("", &packed),
            (".gz", text.as_bytes()),
            (".gz", &packed),
            (".GZ", &packed),
        ] {
            let path = folder.0.join(format!("{name}{end}"));
            fs::write(&path, bytes).unwrap();
            let context = format!("{name}{end}, {} bytes", bytes.len());
            let seed = Seed::read(path.to_str().unwrap()).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(seed.items[0].table, "Tab", "{context}");
            let items = seed.items.into_iter().flat_map(|items| items.items);
            assert_eq!(items.map(Result::unwrap).count(), 1, "{context}");
        }
    }
}

/// A field is a value as it is written: only an empty one is no attribute, and a binary key is base64 or becomes it.
#[test]
fn fields_of_csv_are_values() {
    let table = r#"{"TableName": "Tab", "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "B"}],
        "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}]}"#;
    for (row, expected) in [
        ("AQID,x", json!({"k": {"B": "AQID"}, "v": {"S": "x"}})),
        ("AQ==,x", json!({"k": {"B": "AQ=="}, "v": {"S": "x"}})),
        ("a b,x", json!({"k": {"B": "YSBi"}, "v": {"S": "x"}})),
        ("AQI,x", json!({"k": {"B": "QVFJ"}, "v": {"S": "x"}})),
        ("AQID,AQID", json!({"k": {"B": "AQID"}, "v": {"S": "AQID"}})),
        ("AQID,", json!({"k": {"B": "AQID"}})),
        ("AQID,\"\"", json!({"k": {"B": "AQID"}})),
        ("AQID,\"  \"", json!({"k": {"B": "AQID"}, "v": {"S": "  "}})),
        ("AQID,\"\t\"", json!({"k": {"B": "AQID"}, "v": {"S": "\t"}})),
        ("AQID, x ", json!({"k": {"B": "AQID"}, "v": {"S": " x "}})),
        // There are no comments, and one kind of quotes.
        ("#red,x", json!({"k": {"B": "I3JlZA=="}, "v": {"S": "x"}})),
        ("AQID,#red", json!({"k": {"B": "AQID"}, "v": {"S": "#red"}})),
        (";a,x", json!({"k": {"B": "O2E="}, "v": {"S": "x"}})),
        ("//a,x", json!({"k": {"B": "Ly9h"}, "v": {"S": "x"}})),
        ("'a','x'", json!({"k": {"B": "J2En"}, "v": {"S": "'x'"}})),
        ("AQID,a\\", json!({"k": {"B": "AQID"}, "v": {"S": "a\\"}})),
        ("AQID,\"a\"\"b\"", json!({"k": {"B": "AQID"}, "v": {"S": "a\"b"}})),
    ] {
        let mut seed = Seed::parse("table.json", table.as_bytes()).unwrap();
        seed.append(Seed::parse("Tab.csv", format!("k,v\n{row}\n").as_bytes()).unwrap());
        assert_eq!(Filled::with(Ok(seed)).items("Tab"), [expected], "{row}");
    }
}

/// A field that is a key of an index has that key's type.
#[test]
fn fields_of_csv_are_keys_of_indexes() {
    let index = |name: &str, keys: &[&str]| {
        let types = ["HASH", "RANGE"];
        let keys = keys
            .iter()
            .zip(types)
            .map(|(key, kind)| json!({"AttributeName": key, "KeyType": kind}));
        json!({"IndexName": name, "KeySchema": keys.collect::<Vec<_>>(), "Projection": {"ProjectionType": "ALL"}})
    };
    let definitions = [["k", "S"], ["r", "N"], ["n", "N"], ["b", "B"], ["l", "N"]]
        .map(|[name, kind]| json!({"AttributeName": name, "AttributeType": kind}));
    let table = json!({
        "TableName": "Tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": definitions,
        "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}, {"AttributeName": "r", "KeyType": "RANGE"}],
        "GlobalSecondaryIndexes": [index("global", &["n", "b"])],
        "LocalSecondaryIndexes": [index("local", &["k", "l"])],
    });
    let mut seed = Seed::parse("table.json", table.to_string().as_bytes()).unwrap();
    seed.append(Seed::parse("Tab.csv", b"k,r,n,b,l,v\n1,2,3,a b,4,5\n").unwrap());
    let item = json!({"k": {"S": "1"}, "r": {"N": "2"}, "n": {"N": "3"}, "b": {"B": "YSBi"}, "l": {"N": "4"}, "v": {"S": "5"}});
    assert_eq!(Filled::with(Ok(seed)).items("Tab"), [item]);
}

/// A field has the type that its own table gives the attribute, which other tables may have with another type.
#[test]
fn fields_of_csv_have_the_types_of_their_table() {
    let types = [("Aaa", "S"), ("Bbb", "N"), ("Ccc", "B")];
    for first in 0..types.len() {
        let mut types = types;
        types.rotate_left(first);
        let mut seed = Seed::default();
        for (table, kind) in types {
            let table = json!({"TableName": table, "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": kind}],
                "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}]});
            seed.append(Seed::parse("table.json", table.to_string().as_bytes()).unwrap());
        }
        for (table, _) in types {
            seed.append(Seed::parse(&format!("{table}.csv"), b"k,v\n1234,1\n").unwrap());
        }
        let filled = Filled::with(Ok(seed));
        for (table, kind) in types {
            let item = json!({"k": {kind: "1234"}, "v": {"S": "1"}});
            assert_eq!(filled.items(table), [item], "{table} of {types:?}");
        }
    }
}

/// A document is JSON lines if another object follows the one on its first line. Space around a document is no part of it.
#[test]
fn documents_on_one_line() {
    let table = format!("{SESSIONS}}}").replace('\n', " ");
    let template = format!(
        r#"{{"Resources": {{"Tab": {{"Type": "AWS::DynamoDB::Table", "Properties": {}}}}}}}"#,
        format!("{SESSIONS}}}").replace('\n', " ")
    );
    let scan = r#"{"Items": [{"id": {"S": "a"}}, {"id": {"S": "b"}}], "Count": 2}"#.to_owned();
    let record = r#"{"Item": {"id": {"S": "a"}}}"#.to_owned();
    let read = |text: &str| {
        let seed = Seed::parse("Sessions.json", text.as_bytes()).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        let mut lines = Vec::new();
        for items in seed.items {
            assert_eq!(items.table, "Sessions");
            lines.extend(items.items.map(|item| item.unwrap().line));
        }
        (seed.tables.len(), lines)
    };
    for (document, tables, items) in [(&template, 1, 0), (&table, 1, 0), (&scan, 0, 2), (&record, 0, 1)] {
        for (before, after) in [
            ("", ""),
            ("", "\n"),
            ("", "\r\n"),
            ("", "\n\n"),
            ("", " \r\n\t\r\n"),
            ("\n \n", "\n"),
            ("\u{feff}", "\r\n\r\n"),
        ] {
            let (read_tables, lines) = read(&format!("{before}{document}{after}"));
            assert_eq!(
                (read_tables, lines.len()),
                (tables, items),
                "{before:?} {document} {after:?}"
            );
        }
    }
    for (text, lines) in [
        ("{\"id\":\"a\"}\n{\"id\":\"b\"}", vec![1, 2]),
        ("\u{feff}{\"id\":\"a\"}\r\n\r\n \n{\"id\":\"b\"}\r\n\r\n", vec![1, 4]),
        ("\n\r\n{\"id\":\"a\"}\n\n{\"id\":\"b\"}\n", vec![3, 5]),
    ] {
        assert_eq!(read(text), (0, lines), "{text:?}");
    }
    for (text, line) in [("{\"Resources\":{}}\n\nx\n", 3), ("{\"Resources\":{}} x\n", 1)] {
        let error = Seed::parse("x.json", text.as_bytes()).unwrap_err();
        assert_eq!(error.line(), Some(line), "{text:?}: {error}");
        assert!(error.message().starts_with("not valid JSON"), "{text:?}: {error}");
    }
}

/// Editors and spreadsheets write a byte order mark, CRLF, and rows of empty fields.
#[test]
fn files_of_editors() {
    for (name, text) in [
        ("T.jsonl", "\u{feff}{\"id\":\"a\"}\r\n{\"id\":\"b\"}\r\n"),
        ("T.yaml", "\u{feff}- id: a\r\n- id: b\r\n"),
        ("T.csv", "\u{feff}\"id\",name\r\n\"a\",\r\nb,\r\n"),
        ("T.csv", "id,name,\r\na,,\r\n,,\r\nb,,\r\n,,\r\n"),
        ("T.csv", "id,name,,\r\na,x,,\r\n,,,\r\nb,,,\r\n"),
        ("T.csv", ",id,,name,\r\n,a,,x,\r\n,b,,,\r\n"),
        ("T.csv", "id,name\r\na,\"x\r\ny\"\r\n\r\nb,z"),
    ] {
        let seed = Seed::parse(name, text.as_bytes()).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        let mut ids = String::new();
        for item in seed.items.into_iter().flat_map(|items| items.items) {
            ids += &match item.unwrap_or_else(|error| panic!("{text:?}: {error}")).attributes {
                dynatwin_seed::Attributes::Typed(item) => item["id"]["S"].as_str().unwrap().to_owned(),
                dynatwin_seed::Attributes::Texts(texts) => texts[0].1.clone(),
            };
        }
        assert_eq!(ids, "ab", "{text:?}");
    }
}

#[test]
fn a_header_names_each_attribute_once() {
    for (text, message) in [
        ("id,name,id\na,1,b\n", "`id` occurs twice"),
        ("\u{feff}id,name,name\na,1,b\n", "`name` occurs twice"),
        ("id,,name,,name\na,,1,,b\n", "`name` occurs twice"),
    ] {
        let error = Seed::parse("T.csv", text.as_bytes()).unwrap_err();
        assert_eq!((error.message(), error.line()), (message, Some(1)), "{text}");
    }
}

/// Names that differ in case, or of which one begins with the other, are those of different attributes.
#[test]
fn a_header_may_have_similar_names() {
    let table = r#"{"TableName": "Tab", "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "N"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#;
    let mut seed = Seed::parse("table.json", table.as_bytes()).unwrap();
    seed.append(Seed::parse("Tab.csv", b"ID,id,Id,i,id2\n1,2,3,4,5\n").unwrap());
    let expected = json!({"ID": {"S": "1"}, "id": {"N": "2"}, "Id": {"S": "3"}, "i": {"S": "4"}, "id2": {"S": "5"}});
    assert_eq!(Filled::with(Ok(seed)).items("Tab"), [expected]);
}

/// Every row of empty fields is skipped, wherever it is and however many there are.
#[test]
fn rows_of_empty_fields_are_skipped() {
    let table = r#"{"TableName": "Tab", "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#;
    for count in 0..5 {
        for empty in [",\n", "\"\",\n", "\n", ",\r\n", ",\n\n\"\",\"\"\n"] {
            let empty = empty.repeat(count);
            let mut seed = Seed::parse("table.json", table.as_bytes()).unwrap();
            let rows = format!("id,v\n{empty}a,1\n{empty}b,2\n{empty}");
            seed.append(Seed::parse("Tab.csv", rows.as_bytes()).unwrap());
            let expected = [("a", "1"), ("b", "2")].map(|(id, v)| json!({"id": {"S": id}, "v": {"S": v}}));
            assert_eq!(Filled::with(Ok(seed)).items("Tab"), expected, "{rows:?}");
        }
    }
}

/// Items are written in batches, of which the last is shorter.
#[test]
fn files_of_any_number_of_items() {
    for count in [0, 1, 24, 25, 26, 50, 51, 80] {
        let table = format!("{SESSIONS}}}");
        let mut seed = Seed::parse("table.json", table.as_bytes()).unwrap();
        let lines = (0..count).map(|at| format!("{{\"id\": \"a\", \"at\": {at}}}\n"));
        seed.append(Seed::parse("Sessions.jsonl", lines.collect::<String>().as_bytes()).unwrap());
        let filled = Filled::with(Ok(seed));
        assert_eq!((filled.items("Sessions").len(), filled.1.items), (count, count));
    }
}

#[test]
fn tables_that_exist() {
    let text = format!(r#"{{"tables": [{SESSIONS}, "Items": [{{"id": "a", "at": 1}}]}}]}}"#);
    let seed = || Seed::parse("x.json", text.as_bytes()).unwrap();
    let cases = [
        (Existing::Refuse, None),
        (Existing::Fill, Some(Loaded { tables: 0, items: 1 })),
        (Existing::Skip, Some(Loaded { tables: 0, items: 0 })),
    ];
    for (existing, expected) in cases {
        let filled = Filled::with(Ok(seed()));
        let loaded = load_engine(&filled.0, &caller(), seed(), existing);
        match expected {
            Some(expected) => assert_eq!(loaded.unwrap(), expected, "{existing:?}"),
            None => assert!(loaded.unwrap_err().message().contains("ResourceInUseException")),
        }
    }
}

/// A table that files define alike is created once and has the items of each.
#[test]
fn tables_that_files_define_alike_are_created_once() {
    let file = |name: &str, item: &str, more: &str| {
        let text = format!(r#"{{"tables": [{SESSIONS}{more}, "Items": [{{"id": "{item}", "at": 1}}]}}]}}"#);
        Seed::parse(name, text.as_bytes()).unwrap()
    };
    for existing in [Existing::Refuse, Existing::Fill, Existing::Skip] {
        for more in [
            "",
            r#", "DeletionProtectionEnabled": true"#,
            r#", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "expires"}"#,
        ] {
            let differs = !more.is_empty();
            let mut seed = file("a.json", "a", "");
            seed.append(file("b.json", "b", more));
            let engine = engine(&Conditions::CALM);
            let loaded = load_engine(&engine, &caller(), seed, existing);
            if differs && existing != Existing::Fill {
                let error = loaded.unwrap_err();
                assert!(
                    error
                        .to_string()
                        .starts_with("b.json:1: table Sessions: ResourceInUseException"),
                    "{error}"
                );
            } else {
                assert_eq!(loaded.unwrap(), Loaded { tables: 1, items: 2 }, "{existing:?}");
                assert_eq!(engine.items(&caller(), "Sessions").unwrap().len(), 2, "{existing:?}");
            }
        }
    }
}

/// Batches with a repeated key are written one item after the other, and the last one stays.
#[test]
fn the_last_of_equal_keys_wins() {
    let text =
        format!(r#"{{"tables": [{SESSIONS}, "Items": [{{"id": "a", "at": 1}}, {{"id": "a", "at": 1.0, "v": 2}}]}}]}}"#);
    let filled = Filled::with(Seed::parse("x.json", text.as_bytes()));
    assert_eq!(filled.items("Sessions").len(), 1);
    assert_eq!(filled.items("Sessions")[0]["v"], json!({"N": "2"}));
}

#[test]
fn unknown_members_are_refused_with_their_line() {
    let cases = [
        (
            "x.json",
            "{\n \"what\": 1}",
            "x.json:1: the document is not in a format that can be loaded",
        ),
        (
            "x.json",
            "3",
            "x.json:1: the document is a number, not an object or a list",
        ),
        ("x.txt", "", "x.txt: the extension is not known"),
        (
            "jest-dynamodb-config.js",
            "module.exports = {}",
            "jest-dynamodb-config.js: JavaScript is not evaluated",
        ),
        (
            "x.json",
            "{\"TableName\": \"T\",\n\"KeySchema\": [],\n\"AttributeDefinitions\": [],\n\"BillingMod\": \"x\"}",
            "x.json:4: `BillingMod` is not a member of a table",
        ),
        // Names are case-sensitive.
        (
            "x.json",
            "{\"TableName\": \"T\",\n\"KeySchema\": [],\n\"AttributeDefinitions\": [],\n\"billingMode\": \"x\"}",
            "x.json:4: `billingMode` is not a member of a table",
        ),
        (
            "x.yaml",
            "tables:\n- TableName: T\n  KeySchema:\n  - AttributeName: id\n    keyType: HASH\n",
            "x.yaml:5: `keyType` is not a member of KeySchema",
        ),
        (
            "x.yaml",
            "tables:\n- TableName: T\n  KeySchema:\n  - AttributeName: id\n    Type: HASH\n",
            "x.yaml:5: `Type` is not a member of KeySchema",
        ),
        (
            "x.yaml",
            "tables: []\nfixtures: []\n",
            "x.yaml:2: `fixtures` is not known beside",
        ),
        (
            "x.yaml",
            "Resources:\n  T:\n    Type: AWS::DynamoDB::Table\n    Properties:\n      TableName: !ImportValue x\n",
            "x.yaml:5: Fn::ImportValue is not supported",
        ),
        (
            "x.yaml",
            "Resources:\n  T:\n    Type: AWS::DynamoDB::Table\n    Properties:\n      TableName: !Ref Name\n",
            "x.yaml:5: the template has no resource or parameter Name",
        ),
        (
            "x.yaml",
            "Resources:\n  T:\n    Type: AWS::DynamoDB::Table\n    Properties:\n      Sharding: 3\n",
            "x.yaml:5: `Sharding` is not a member of AWS::DynamoDB::Table",
        ),
        (
            "x.json",
            "{\"terraform_version\": \"1\", \"planned_values\": {\"root_module\": {\"resources\": [\n{\"type\": \"aws_dynamodb_table\", \"values\": {\"nam\": \"x\"}}]}}}",
            "x.json:2: `nam` is not a member of aws_dynamodb_table",
        ),
        (
            "x.json",
            "{\"DataModel\": [\n{\"TableNam\": \"x\"}]}",
            "x.json:2: `TableNam` is not a member of a table of the model",
        ),
        ("x.csv", "", "x.csv:1: the file has no header"),
    ];
    for (name, text, message) in cases {
        let error = Seed::parse(name, text.as_bytes()).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with(message), "{text}: {error}");
    }
}

/// Errors of the service name the file and line of the item.
#[test]
fn refused_items_are_reported_with_their_line() {
    let table = format!("{SESSIONS}}}");
    let cases = [
        (
            "bad.json",
            "{\"tables\": [\n{\"TableName\": \"x\", \"KeySchema\": [], \"AttributeDefinitions\": []}]}".to_owned(),
            "bad.json:2: table x: ValidationException: ",
        ),
        (
            "Sessions.json",
            "[{\"id\": \"a\", \"at\": 1},\n{\"id\": \"b\"}]".to_owned(),
            "Sessions.json:2: ValidationException: One or more parameter values",
        ),
        (
            "Nowhere.json",
            "[{\"id\": \"a\"}]".to_owned(),
            "table Nowhere: ResourceNotFoundException: ",
        ),
        (
            "Sessions.csv",
            "id,at\na,1\nb,x\n".to_owned(),
            "Sessions.csv:3: ValidationException: ",
        ),
        ("Sessions.csv", "id,at\na,1,2\n".to_owned(), "Sessions.csv:2: CSV error"),
        // Lines that are blank or inside of quotes count.
        (
            "Sessions.csv",
            "\n\nid,at\n\n\na,1\n\nb,x\n".to_owned(),
            "Sessions.csv:8: ValidationException: ",
        ),
        (
            "Sessions.csv",
            "\u{feff}id,at\r\n,\r\na,\"1\r\n\"\r\n\r\nb,x".to_owned(),
            "Sessions.csv:3: ValidationException: ",
        ),
        (
            "Sessions.csv",
            "id,at,v\r\na,1,\"x\r\ny\"\r\n\r\nb,x,".to_owned(),
            "Sessions.csv:5: ValidationException: ",
        ),
        (
            "Sessions.csv",
            "id,at\ra,1\r\rb,x\r".to_owned(),
            "Sessions.csv:4: ValidationException: ",
        ),
        (
            "Sessions.csv",
            "id,at\n\n\na,1,2\n".to_owned(),
            "Sessions.csv:4: CSV error",
        ),
    ];
    for (name, text, message) in cases {
        let mut seed = Seed::parse("table.json", table.as_bytes()).unwrap();
        seed.append(Seed::parse(name, text.as_bytes()).unwrap());
        let engine = engine(&Conditions::AWS);
        let error = load_engine(&engine, &caller(), seed, Existing::Refuse).unwrap_err();
        assert!(error.to_string().starts_with(message), "{text}: {error}");
        assert_eq!(engine.conditions(), Conditions::AWS, "{text}");
    }
}

/// Items of several pages of a Scan are written and counted.
#[test]
fn a_large_table_is_exported() {
    const COUNT: usize = 40;
    let engine = engine(&dynatwin_engine::Conditions::CALM);
    let pad = "x".repeat(60_000);
    let items = (0..COUNT).map(|at| format!(r#"{{"id": "a", "at": {at}, "pad": "{pad}"}}"#));
    let items = items.collect::<Vec<_>>().join(",");
    let text = format!(r#"{{"tables": [{SESSIONS}, "Items": [{items}]}}]}}"#);
    let seed = Seed::parse("x.json", text.as_bytes()).unwrap();
    load_engine(&engine, &caller(), seed, Existing::Refuse).unwrap();
    let folder = Folder::new("pages");
    let pages = std::sync::Mutex::new(Vec::new());
    let report = |event: dynatwin_seed::CopyEvent<'_>| {
        if let dynatwin_seed::CopyEvent::Copied { items } = event {
            pages.lock().unwrap().push(items);
        }
    };
    let items = dynatwin_seed::export(&InProcess::new(&engine, &caller()), &[], &folder.0, &report);
    assert_eq!(items, Ok(COUNT as u64));
    let pages = pages.into_inner().unwrap();
    assert_eq!(pages.iter().sum::<u64>(), COUNT as u64, "{pages:?}");
    assert!(pages.len() > 1);
    let json = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(folder.0.join("Sessions").join(name)).unwrap()).unwrap()
    };
    for name in ["manifest-summary.json", "manifest-files.json"] {
        assert_eq!(json(name)["itemCount"], COUNT, "{name}");
    }
    let again = Filled::with(Seed::read(&folder.0.display().to_string()));
    assert_eq!(
        again.1,
        Loaded {
            tables: 1,
            items: COUNT
        }
    );
}

/// A folder that is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("dynatwin-seed-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn an_export_is_loaded_again() {
    let first = Filled::with(Seed::read(&data("shared-local-instance.db")));
    let folder = Folder::new("export");
    let caller = caller();
    let items = dynatwin_seed::export(&InProcess::new(&first.0, &caller), &[], &folder.0, &|_| ()).unwrap();
    assert_eq!(items, 8);
    let again = Filled::with(Seed::read(&folder.0.display().to_string()));
    assert_eq!(again.1, Loaded { tables: 3, items: 8 });
    for table in ["Bin", "Num", "Sessions"] {
        assert_eq!(again.items(table), first.items(table), "{table}");
    }
    let refused = dynatwin_seed::export(&InProcess::new(&first.0, &caller), &[], &folder.0, &|_| ());
    assert!(
        refused
            .unwrap_err()
            .contains("there is an export already; name another directory, or delete this one")
    );
    let summary = folder.0.join("Bin/manifest-summary.json");
    let whole = fs::read_to_string(&summary).unwrap();
    for (right, wrong, message) in [
        ("FULL_EXPORT", "INCREMENTAL_EXPORT", "only full exports can be loaded"),
        ("DYNAMODB_JSON", "ION", "only exports in DYNAMODB_JSON can be loaded"),
    ] {
        fs::write(&summary, whole.replace(right, wrong)).unwrap();
        let error = Seed::read(&folder.0.display().to_string()).unwrap_err();
        assert_eq!(error.message(), message);
    }
}

/// `TABLE=DIRECTORY` names the table of an export, also where the export has its definition.
#[test]
fn an_export_is_loaded_under_another_name() {
    let first = Filled::with(Seed::read(&data("shared-local-instance.db")));
    let folder = Folder::new("renamed");
    let caller = caller();
    dynatwin_seed::export(&InProcess::new(&first.0, &caller), &[], &folder.0, &|_| ()).unwrap();
    let sessions = folder.0.join("Sessions");
    let again = Filled::with(Seed::read(&format!("Renamed={}", sessions.display())));
    assert_eq!(again.0.tables(&caller), ["Renamed"]);
    assert_eq!(again.1.tables, 1);
    assert_eq!(again.items("Renamed"), first.items("Sessions"));
    assert_eq!(
        again.table("Renamed")["KeySchema"],
        first.table("Sessions")["KeySchema"]
    );
    let error = Seed::read(&format!("Renamed={}", folder.0.display())).unwrap_err();
    assert_eq!(
        error.message(),
        "there are exports of several tables, Bin and Num, which cannot be loaded as the one table Renamed"
    );
}

/// The ARNs of other implementations do not end in `table/NAME`.
#[test]
fn an_export_of_another_implementation() {
    let first = Filled::with(Seed::read(&data("shared-local-instance.db")));
    let folder = Folder::new("arns");
    let caller = caller();
    dynatwin_seed::export(
        &InProcess::new(&first.0, &caller),
        &["Num".to_owned()],
        &folder.0,
        &|_| (),
    )
    .unwrap();
    let summary = folder.0.join("Num/manifest-summary.json");
    let mut json: Value = serde_json::from_slice(&fs::read(&summary).unwrap()).unwrap();
    for arn in [
        json!("arn:scylla:alternator:alternator_Num:scylla:Num"),
        json!("arn:aws:dynamodb:ddblocal:000000000000:table/Num"),
        json!("unknown"),
        Value::Null,
    ] {
        json["tableArn"] = arn.clone();
        fs::write(&summary, json.to_string()).unwrap();
        let again = Filled::with(Seed::read(&folder.0.display().to_string()));
        assert_eq!(again.items("Num"), first.items("Num"), "{arn}");
    }
    // An export of the service has no definition.
    fs::remove_file(folder.0.join("Num/table.json")).unwrap();
    for (arn, table) in [
        ("arn:aws:dynamodb:us-east-1:000000000000:table/Num", Some("Num")),
        ("arn:scylla:alternator:alternator_Num:scylla:Num", Some("Num")),
        ("", None),
    ] {
        json["tableArn"] = arn.into();
        fs::write(&summary, json.to_string()).unwrap();
        let seed = Seed::read(&folder.0.display().to_string());
        assert_eq!(
            seed.ok().map(|seed| seed.items[0].table.clone()).as_deref(),
            table,
            "{arn}"
        );
    }
}

/// A batch is recognized by its requests, whatever its tables are named.
#[test]
fn a_batch_may_have_tables_named_as_members_of_other_documents() {
    for name in [
        "items",
        "tables",
        "Table",
        "TableDescription",
        "Items",
        "Resources",
        "DataModel",
        "Item",
        "RequestItems",
        "T",
    ] {
        for text in [
            format!(r#"{{"{name}": [{{"PutRequest": {{"Item": {{"id": {{"S": "a"}}}}}}}}]}}"#),
            format!(r#"{{"RequestItems": {{"{name}": [{{"PutRequest": {{"Item": {{"id": {{"S": "a"}}}}}}}}]}}}}"#),
        ] {
            let seed = Seed::parse("x.json", text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
            let named: Vec<_> = seed.items.iter().map(|items| items.table.as_str()).collect();
            assert_eq!((named, seed.tables.len()), (vec![name], 0), "{text}");
        }
    }
}

#[test]
fn files_in_utf_16_are_refused_with_advice() {
    for name in ["x.json", "x.jsonl", "x.yaml", "x.csv", "x.template"] {
        for encode in [u16::to_le_bytes, u16::to_be_bytes] {
            let text: Vec<u8> = "\u{feff}{\"id\": 1}".encode_utf16().flat_map(encode).collect();
            let error = Seed::parse(name, &text).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("UTF-16") && error.contains("UTF-8"), "{name}: {error}");
        }
    }
}

/// A load deletes no item that the conditions keep, loaded or stored before.
#[test]
fn a_load_keeps_the_conditions_of_time_to_live() {
    let late = TimeToLive::Deletes(Lag::Fixed(Duration::from_hours(48)));
    let text = |table: &str| {
        format!(
            r#"{{"tables": [{{"TableName": "{table}", "AttributeDefinitions": [{{"AttributeName": "id", "AttributeType": "S"}}],
            "KeySchema": [{{"AttributeName": "id", "KeyType": "HASH"}}], "BillingMode": "PAY_PER_REQUEST",
            "TimeToLiveSpecification": {{"Enabled": true, "AttributeName": "expires"}},
            "Items": [{{"id": "a"}}, {{"id": "b", "expires": 1767225500}}]}}]}}"#
        )
    };
    for (time_to_live, kept) in [(TimeToLive::Off, 2), (late, 2), (TimeToLive::Deletes(Lag::None), 1)] {
        for preset in [Conditions::CALM, Conditions::AWS, Conditions::STORM] {
            let conditions = Conditions { time_to_live, ..preset };
            let engine = engine(&conditions);
            let caller = caller();
            let count = |table: &str| engine.items(&caller, table).unwrap().len();
            for (table, existing) in [
                ("Old", Existing::Refuse),
                ("New", Existing::Refuse),
                ("Old", Existing::Fill),
            ] {
                let seed = Seed::parse("x.json", text(table).as_bytes()).unwrap();
                load_engine(&engine, &caller, seed, existing).unwrap();
                engine.run_due();
                let context = format!("{time_to_live:?} {table} {existing:?}");
                assert_eq!((count("Old"), count(table)), (kept, kept), "{context}");
                assert_eq!(engine.conditions(), conditions, "{context}");
            }
        }
    }
}

/// Items of a file are not throttled, whether or not the file defines their table.
#[test]
fn items_of_an_existing_table_are_loaded_whatever_its_capacity() {
    let engine = engine(&Conditions::AWS);
    let caller = caller();
    let table = r#"{"TableName": "Small", "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}"#;
    let lines = (0..1000).map(|id| format!("{{\"id\": \"{id}\"}}\n"));
    let lines = lines.collect::<Vec<_>>().concat();
    for (defined, existing, loaded) in [
        (true, Existing::Fill, Loaded { tables: 1, items: 1000 }),
        (false, Existing::Fill, Loaded { tables: 0, items: 1000 }),
        // The table is not one of those that are skipped, because the seed does not define it.
        (false, Existing::Skip, Loaded { tables: 0, items: 1000 }),
        (false, Existing::Refuse, Loaded { tables: 0, items: 1000 }),
    ] {
        let mut seed = Seed::parse("Small.jsonl", lines.as_bytes()).unwrap();
        if defined {
            seed.append(Seed::parse("table.json", table.as_bytes()).unwrap());
        }
        assert_eq!(
            load_engine(&engine, &caller, seed, existing).unwrap(),
            loaded,
            "{existing:?}"
        );
    }
    assert_eq!(engine.items(&caller, "Small").unwrap().len(), 1000);
}

/// A load ends with the conditions of each table, and affects no other.
#[test]
fn a_load_eases_the_conditions_of_its_tables_alone() {
    let engine = engine(&Conditions::STORM);
    let caller = caller();
    let account = AccountControls::new(&engine, caller.clone());
    let lost = Conditions {
        internal_errors: 1.0,
        table_status: Lag::None,
        ..Conditions::CALM
    };
    account.set_table_conditions("Other", lost).unwrap();
    account.set_table_conditions("Tab", lost).unwrap();
    let table = |name: &str| {
        format!(
            r#"{{"TableName": "{name}", "AttributeDefinitions": [{{"AttributeName": "id", "AttributeType": "S"}}],
            "KeySchema": [{{"AttributeName": "id", "KeyType": "HASH"}}], "BillingMode": "PAY_PER_REQUEST"}}"#
        )
    };
    let ask = |operation: &str, body: &str| engine.dispatch(&caller, operation, body.as_bytes()).status;
    let put = |name: &str| {
        ask(
            "PutItem",
            &format!(r#"{{"TableName": "{name}", "Item": {{"id": {{"S": "x"}}}}}}"#),
        )
    };
    assert_eq!(ask("CreateTable", &table("Other")), 200);
    let seed = |table: &str| {
        let text = format!(r#"{{"tables": [{table}], "items": {{"Tab": [{{"id": "a"}}]}}}}"#);
        Seed::parse("x.json", text.as_bytes()).unwrap()
    };
    let statuses = account.while_loading(&["Tab".to_owned()], || {
        // A load that runs meanwhile does not end the other one.
        let loaded = load_engine(&engine, &caller, seed(&table("Tab")), Existing::Refuse);
        assert_eq!(loaded.unwrap(), Loaded { tables: 1, items: 1 });
        (put("Tab"), put("Other"))
    });
    assert_eq!(statuses, (200, 500));
    assert_eq!((put("Tab"), put("Other")), (500, 500));
    let again = load_engine(&engine, &caller, seed(&table("Tab")), Existing::Fill);
    assert_eq!(again.unwrap(), Loaded { tables: 0, items: 1 });
    assert_eq!(put("Tab"), 500);
    let panics = || account.while_loading(&["Tab".to_owned()], || assert_eq!(put("Tab"), 500, "eased"));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
    assert_eq!(put("Tab"), 500, "a load that panics ends too");
}
