//! The settings and indexes of tables in copies between engines, and through directories.
#![allow(clippy::unwrap_used)] // a test may fail

mod common;

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use common::{caller, engine};
use dynatwin_engine::{Conditions, Engine};
use dynatwin_seed::{
    CallError, CopyEvent, CopyOptions, Database, Existing, InProcess, Seed, copy, export, load, load_engine,
};
use serde_json::{Value, json};

/// A folder that is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("dynatwin-settings-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn ask(engine: &Engine, operation: &str, body: &Value) -> Value {
    InProcess::new(engine, &caller()).call(operation, body).unwrap()
}

fn create(engine: &Engine, name: &str) {
    let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    let table = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("id"),
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "n", "AttributeType": "N"}],
        "GlobalSecondaryIndexes": [{"IndexName": "byN", "KeySchema": key("n"), "Projection": {"ProjectionType": "ALL"}},
            {"IndexName": "keys", "KeySchema": key("n"), "Projection": {"ProjectionType": "KEYS_ONLY"}}],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}});
    ask(engine, "CreateTable", &table);
    ask(
        engine,
        "PutItem",
        &json!({"TableName": name, "Item": {"id": {"S": "a"}, "n": {"N": "1"}}}),
    );
}

fn arn(engine: &Engine, table: &str) -> Value {
    ask(engine, "DescribeTable", &json!({"TableName": table}))["Table"]["TableArn"].clone()
}

/// What the operations beside DescribeTable answer about a table.
fn settings(engine: &Engine, table: &str) -> Value {
    let named = json!({"TableName": table});
    let insights = |body: Value| {
        let answer = ask(engine, "DescribeContributorInsights", &body);
        json!([answer["ContributorInsightsStatus"], answer["ContributorInsightsMode"]])
    };
    let recovery = ask(engine, "DescribeContinuousBackups", &named);
    let recovery = &recovery["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
    json!([
        ask(engine, "DescribeTimeToLive", &named)["TimeToLiveDescription"],
        [recovery["PointInTimeRecoveryStatus"], recovery["RecoveryPeriodInDays"]],
        ask(
            engine,
            "ListTagsOfResource",
            &json!({"ResourceArn": arn(engine, table)})
        )["Tags"],
        insights(named.clone()),
        insights(json!({"TableName": table, "IndexName": "byN"})),
        insights(json!({"TableName": table, "IndexName": "keys"})),
    ])
}

/// Tables whose settings the operations beside CreateTable have set, one table for each, one with all and one with none.
fn filled() -> (Engine, Vec<String>) {
    type Set = fn(&Engine, &str);
    let sets: [Set; 6] = [
        |engine, name| {
            let specification = json!({"Enabled": true, "AttributeName": "expires"});
            let body = json!({"TableName": name, "TimeToLiveSpecification": specification});
            ask(engine, "UpdateTimeToLive", &body);
        },
        |engine, name| {
            let specification = json!({"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": 9});
            let body = json!({"TableName": name, "PointInTimeRecoverySpecification": specification});
            ask(engine, "UpdateContinuousBackups", &body);
        },
        |engine, name| {
            let tags = json!([{"Key": "a", "Value": "b"}, {"Key": "empty", "Value": ""}]);
            ask(
                engine,
                "TagResource",
                &json!({"ResourceArn": arn(engine, name), "Tags": tags}),
            );
        },
        |engine, name| {
            let body = json!({"TableName": name, "ContributorInsightsAction": "ENABLE",
                "ContributorInsightsMode": "THROTTLED_KEYS"});
            ask(engine, "UpdateContributorInsights", &body);
        },
        |engine, name| {
            let body = json!({"TableName": name, "IndexName": "byN", "ContributorInsightsAction": "ENABLE",
                "ContributorInsightsMode": "THROTTLED_KEYS"});
            ask(engine, "UpdateContributorInsights", &body);
        },
        |engine, name| {
            let body = json!({"TableName": name, "IndexName": "keys", "ContributorInsightsAction": "ENABLE",
                "ContributorInsightsMode": "ACCESSED_AND_THROTTLED_KEYS"});
            ask(engine, "UpdateContributorInsights", &body);
        },
    ];
    let engine = engine(&Conditions::CALM);
    let mut names = Vec::new();
    for selected in (0..=sets.len())
        .map(|at| at..(at + 1).min(sets.len()))
        .chain(std::iter::once(0..sets.len()))
    {
        let name = format!("set-{}-{}", selected.start, selected.end);
        create(&engine, &name);
        for set in &sets[selected] {
            set(&engine, &name);
        }
        names.push(name);
    }
    (engine, names)
}

/// A copy has all settings, whether it goes straight to its destination or through a directory that `copy` or `--load` reads.
#[test]
fn settings_are_copied() {
    let (from, names) = filled();
    let (caller, folder) = (caller(), Folder::new("copied"));
    let source = InProcess::new(&from, &caller);
    let notes = Mutex::new(Vec::new());
    let note = |text: &str| notes.lock().unwrap().push(text.to_owned());
    let report = |event: CopyEvent<'_>| {
        if let CopyEvent::Note { text } = event {
            note(text);
        }
    };
    export(&source, &[], &folder.0, &report).unwrap();
    let read = || Seed::read(folder.0.to_str().unwrap()).unwrap();
    let [direct, imported, loaded] = [(); 3].map(|()| engine(&Conditions::CALM));
    copy(
        &source,
        &InProcess::new(&direct, &caller),
        &CopyOptions::default(),
        &report,
    )
    .unwrap();
    load(&InProcess::new(&imported, &caller), read(), Existing::Fill, &note).unwrap();
    load_engine(&loaded, &caller, read(), Existing::Refuse).unwrap();
    for (to, way) in [(&direct, "direct"), (&imported, "imported"), (&loaded, "loaded")] {
        for name in &names {
            assert_eq!(settings(to, name), settings(&from, name), "{name}, {way}");
            assert_eq!(to.items(&caller, name).unwrap().len(), 1, "{name}, {way}");
        }
    }
    assert_eq!(*notes.lock().unwrap(), [""; 0]);
    // A definition alone has them too.
    let alone = engine(&Conditions::CALM);
    let all = names.last().unwrap();
    let file = folder.0.join(all).join("table.json");
    load_engine(
        &alone,
        &caller,
        Seed::read(file.to_str().unwrap()).unwrap(),
        Existing::Refuse,
    )
    .unwrap();
    assert_eq!(settings(&alone, all), settings(&from, all));
}

/// Contributor Insights that are being turned on are copied as on, and those that are being turned off as off.
#[test]
fn insights_that_change_are_copied_as_they_will_be() {
    let caller = caller();
    for index in [None, Some("byN"), Some("keys")] {
        let from = engine(&Conditions::CALM);
        create(&from, "Tab");
        from.set_conditions(Conditions::AWS).unwrap();
        let mut named = json!({"TableName": "Tab"});
        if let Some(index) = index {
            named["IndexName"] = index.into();
        }
        let status = |of: &Engine| ask(of, "DescribeContributorInsights", &named)["ContributorInsightsStatus"].clone();
        for (action, changing, copied) in [("ENABLE", "ENABLING", "ENABLED"), ("DISABLE", "DISABLING", "DISABLED")] {
            let mut body = named.clone();
            body["ContributorInsightsAction"] = action.into();
            ask(&from, "UpdateContributorInsights", &body);
            assert_eq!(status(&from), changing, "{index:?}");
            let to = engine(&Conditions::CALM);
            let source = InProcess::new(&from, &caller);
            let destination = InProcess::new(&to, &caller);
            copy(&source, &destination, &CopyOptions::default(), &|_| ()).unwrap();
            assert_eq!(status(&to), copied, "{index:?}");
            from.advance(Duration::from_mins(5));
        }
    }
}

/// A database that gives this answer to one operation.
struct Answering<'d> {
    inner: InProcess<'d>,
    operation: &'static str,
    answer: Value,
}

impl Database for Answering<'_> {
    fn call(&self, operation: &str, body: &Value) -> Result<Value, CallError> {
        if operation == self.operation {
            return Ok(self.answer.clone());
        }
        self.inner.call(operation, body)
    }

    fn pause(&self, time: Duration) {
        self.inner.pause(time);
    }
}

/// Engines with the tables of a source, copied directly and through a directory that is imported or loaded.
fn copies(source: &dyn Database, name: &str) -> [(&'static str, Engine); 3] {
    let (caller, folder) = (caller(), Folder::new(name));
    let [direct, imported, loaded] = [(); 3].map(|()| engine(&Conditions::CALM));
    copy(
        source,
        &InProcess::new(&direct, &caller),
        &CopyOptions::default(),
        &|_| (),
    )
    .unwrap();
    export(source, &[], &folder.0, &|_| ()).unwrap();
    let read = || Seed::read(folder.0.to_str().unwrap()).unwrap();
    load(&InProcess::new(&imported, &caller), read(), Existing::Refuse, &|_| ()).unwrap();
    load_engine(&loaded, &caller, read(), Existing::Refuse).unwrap();
    [("direct", direct), ("imported", imported), ("loaded", loaded)]
}

/// Time to live and recovery that are on or being turned on are on in a copy; what is off or being turned off is off, whatever
/// else its description has.
#[test]
fn settings_that_are_turned_off_are_not_copied() {
    let (from, caller) = (engine(&Conditions::CALM), caller());
    create(&from, "Tab");
    let time_to_live = |status: &str| {
        let description = json!({"TimeToLiveStatus": status, "AttributeName": "expires"});
        ("DescribeTimeToLive", json!({"TimeToLiveDescription": description}))
    };
    let recovery = |status: &str| {
        let description = json!({"PointInTimeRecoveryStatus": status, "RecoveryPeriodInDays": 9});
        let description = json!({"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": description});
        (
            "DescribeContinuousBackups",
            json!({"ContinuousBackupsDescription": description}),
        )
    };
    let expires = json!({"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"});
    let off = json!({"TimeToLiveStatus": "DISABLED"});
    for ((operation, answer), at, expected) in [
        (time_to_live("ENABLED"), 0, &expires),
        (time_to_live("ENABLING"), 0, &expires),
        (time_to_live("DISABLING"), 0, &off),
        (time_to_live("DISABLED"), 0, &off),
        (recovery("ENABLED"), 1, &json!(["ENABLED", 9])),
        (recovery("DISABLED"), 1, &json!(["DISABLED", null])),
    ] {
        let context = answer.to_string();
        let source = Answering {
            inner: InProcess::new(&from, &caller),
            operation,
            answer,
        };
        for (way, to) in copies(&source, "turned-off") {
            assert_eq!(settings(&to, "Tab")[at], *expected, "{context}, {way}");
        }
    }
}

/// A copy of a table has its vector indexes, each with its own members, and finds the same items.
#[test]
fn vector_indexes_are_copied() {
    let (from, caller) = (engine(&Conditions::CALM), caller());
    let index = |name: &str, attribute: &str, more: Value| {
        let mut index = json!({"IndexName": name, "VectorAttribute": {"AttributeName": attribute}, "Dimensions": 2,
            "DistanceFunction": "EUCLIDEAN", "Projection": {"ProjectionType": "ALL"}});
        for (member, value) in more.as_object().unwrap() {
            index[member] = value.clone();
        }
        index
    };
    let element = |name: &str, kind: &str| json!({"AttributeName": name, "SearchSchemaElementType": kind});
    let hash = element("h", "HASH");
    let filters = ["f", "g"].map(|name| element(name, "INLINE_FILTER"));
    let included = json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["n"]});
    let all_elements = json!([hash, filters[0], filters[1]]);
    let indexes = [
        index("plain", "v", json!({"DistanceFunction": "COSINE"})),
        index(
            "hash",
            "v",
            json!({"SearchSchema": [hash], "Projection": {"ProjectionType": "KEYS_ONLY"}}),
        ),
        index("filters", "v", json!({"SearchSchema": filters})),
        index(
            "both",
            "w",
            json!({"SearchSchema": all_elements, "Dimensions": 3, "Projection": included}),
        ),
    ];
    let attributes = ["id", "h", "f", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let table = json!({"TableName": "Tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "VectorIndexes": indexes});
    ask(&from, "CreateTable", &table);
    for (id, h) in [("a", "x"), ("b", "y"), ("c", "x")] {
        let item = json!({"id": {"S": id}, "h": {"S": h}, "f": {"S": h}, "g": {"S": "z"}, "n": {"N": "1"},
            "v": {"L": [{"N": "1"}, {"N": "2"}]}, "w": {"L": [{"N": "1"}, {"N": "2"}, {"N": "3"}]}});
        ask(&from, "PutItem", &json!({"TableName": "Tab", "Item": item}));
    }
    let indexes = |of: &Engine| {
        let description = ask(of, "DescribeTable", &json!({"TableName": "Tab"}))["Table"].take();
        let searches = [
            ("plain", 2, ""),
            ("hash", 2, "h = :x"),
            ("filters", 2, "f = :x"),
            ("both", 3, "h = :x AND f = :x"),
        ];
        let found = searches.map(|(index, dimensions, condition)| {
            let mut body = json!({"TableName": "Tab", "IndexName": index, "TopK": 9,
                "SearchVector": vec![json!({"N": "1"}); dimensions]});
            if !condition.is_empty() {
                body["SearchConditionExpression"] = condition.into();
                body["ExpressionAttributeValues"] = json!({":x": {"S": "x"}});
            }
            ask(of, "SearchVectors", &body)["SearchResults"].take()
        });
        assert_eq!(
            found.each_ref().map(|found| found.as_array().unwrap().len()),
            [3, 2, 2, 2]
        );
        (description["VectorIndexes"].clone(), found)
    };
    let expected = indexes(&from);
    assert_eq!(expected.0[1]["SearchSchema"], json!([hash]));
    for (way, to) in copies(&InProcess::new(&from, &caller), "vectors") {
        assert_eq!(indexes(&to), expected, "{way}");
    }
}

/// A directory of an earlier version, whose definition is DescribeTable's answer alone, or a client's, is read.
#[test]
fn a_definition_without_settings_is_read() {
    let (from, caller, folder) = (engine(&Conditions::CALM), caller(), Folder::new("earlier"));
    create(&from, "Old");
    export(&InProcess::new(&from, &caller), &[], &folder.0, &|_| ()).unwrap();
    let described = ask(&from, "DescribeTable", &json!({"TableName": "Old"}));
    let mut of_client = described.clone();
    of_client["ResponseMetadata"] = json!({"HTTPStatusCode": 200});
    for definition in [described["Table"].clone(), described, of_client] {
        fs::write(folder.0.join("Old/table.json"), definition.to_string()).unwrap();
        let to = engine(&Conditions::CALM);
        let seed = Seed::read(folder.0.to_str().unwrap()).unwrap();
        load_engine(&to, &caller, seed, Existing::Refuse).unwrap();
        assert_eq!(settings(&to, "Old"), settings(&from, "Old"), "{definition}");
    }
    // Settings are checked as those of every other file.
    let definition = json!({"Table": ask(&from, "DescribeTable", &json!({"TableName": "Old"}))["Table"],
        "TimeToLiveSpecification": {"Attribute": "x"}});
    fs::write(folder.0.join("Old/table.json"), definition.to_string()).unwrap();
    let error = Seed::read(folder.0.to_str().unwrap()).unwrap_err();
    assert_eq!(
        error.message(),
        "`Attribute` is not a member of TimeToLiveSpecification"
    );
}

/// A database without the operations that other implementations lack, or without the permission for them.
struct Lacking<'d> {
    inner: InProcess<'d>,
    code: &'static str,
}

impl Database for Lacking<'_> {
    fn call(&self, operation: &str, body: &Value) -> Result<Value, CallError> {
        let lacks = [
            "DescribeTimeToLive",
            "ContinuousBackups",
            "ListTags",
            "Insights",
            "Policy",
            "Kinesis",
        ];
        if lacks.iter().any(|part| operation.contains(part)) {
            return Err(CallError {
                code: self.code.into(),
                message: "no".into(),
            });
        }
        self.inner.call(operation, body)
    }

    fn pause(&self, _: Duration) {}
}

/// What refers to keys, principals, streams and regions of the source is named, for each table that has it.
#[test]
fn what_is_not_copied_is_reported() {
    let (from, caller) = (engine(&Conditions::CALM), caller());
    for name in ["All", "Few", "None", "Streaming"] {
        create(&from, name);
    }
    let policy = |arn: &Value, action: &str| {
        let account = arn.as_str().unwrap().split(':').nth(4).unwrap();
        let principal = json!({"AWS": format!("arn:aws:iam::{account}:root")});
        let statement = json!({"Effect": "Allow", "Principal": principal, "Action": action, "Resource": arn});
        json!({"ResourceArn": arn, "Policy": json!({"Version": "2012-10-17", "Statement": [statement]}).to_string()})
    };
    for name in ["All", "Few"] {
        ask(
            &from,
            "PutResourcePolicy",
            &policy(&arn(&from, name), "dynamodb:GetItem"),
        );
    }
    let [stream, _] = ["All", "Streaming"].map(|name| {
        let stream = ask(&from, "DescribeTable", &json!({"TableName": name}))["Table"]["LatestStreamArn"].clone();
        ask(&from, "PutResourcePolicy", &policy(&stream, "dynamodb:GetRecords"));
        stream
    });
    let destination = stream
        .as_str()
        .unwrap()
        .split(":table/")
        .next()
        .unwrap()
        .replace("dynamodb", "kinesis");
    let destination = format!("{destination}:stream/changes");
    ask(
        &from,
        "EnableKinesisStreamingDestination",
        &json!({"TableName": "All", "StreamArn": destination}),
    );
    let encryption = json!({"Enabled": true, "SSEType": "KMS"});
    ask(
        &from,
        "UpdateTable",
        &json!({"TableName": "All", "SSESpecification": encryption}),
    );
    for region in ["eu-west-1", "us-west-2"] {
        let replica = json!([{"Create": {"RegionName": region}}]);
        ask(
            &from,
            "UpdateTable",
            &json!({"TableName": "All", "ReplicaUpdates": replica}),
        );
        from.advance(Duration::from_mins(5));
    }
    from.advance(Duration::from_mins(5));
    let described = ask(&from, "DescribeTable", &json!({"TableName": "All"}));
    let key = described["Table"]["SSEDescription"]["KMSMasterKeyArn"]
        .as_str()
        .unwrap();
    let expected = [
        format!("All: encryption with the key {key} is not copied"),
        "All: the replica in eu-west-1 is not copied".into(),
        "All: the replica in us-west-2 is not copied".into(),
        "All: the resource policy is not copied".into(),
        "All: the resource policy of the stream is not copied".into(),
        format!("All: the Kinesis destination {destination} is not copied"),
        "Few: the resource policy is not copied".into(),
        "Streaming: the resource policy of the stream is not copied".into(),
    ];
    assert_eq!(
        notes_of_copies(&InProcess::new(&from, &caller)),
        [&expected[..], &expected[..]]
    );
    // A destination that is switched off is not one.
    let off = json!({"TableName": "All", "StreamArn": destination});
    ask(&from, "DisableKinesisStreamingDestination", &off);
    from.advance(Duration::from_mins(5));
    let rest = [&expected[..5], &expected[6..]].concat();
    assert_eq!(notes_of_copies(&InProcess::new(&from, &caller)), [&rest[..], &rest[..]]);
}

/// A source with Kinesis destinations in these states.
struct Streaming<'d> {
    inner: InProcess<'d>,
    states: Vec<&'static str>,
}

impl Database for Streaming<'_> {
    fn call(&self, operation: &str, body: &Value) -> Result<Value, CallError> {
        let mut answer = self.inner.call(operation, body)?;
        if operation == "DescribeKinesisStreamingDestination" {
            let destinations = self.states.iter();
            let destinations = destinations.map(|state| json!({"StreamArn": state, "DestinationStatus": state}));
            answer["KinesisDataStreamDestinations"] = destinations.collect();
        }
        Ok(answer)
    }

    fn pause(&self, time: Duration) {
        self.inner.pause(time);
    }
}

/// Every Kinesis destination that gets changes, or will get them, is reported, whatever the state of those before it.
#[test]
fn kinesis_destinations_are_reported_unless_they_are_off() {
    let states = [
        ("DISABLED", false),
        ("ENABLING", true),
        ("DISABLING", false),
        ("UPDATING", true),
        ("ENABLE_FAILED", false),
        ("ACTIVE", true),
    ];
    let (from, caller) = (engine(&Conditions::CALM), caller());
    create(&from, "Tab");
    for first in 0..states.len() {
        let mut states = states;
        states.rotate_left(first);
        let source = Streaming {
            inner: InProcess::new(&from, &caller),
            states: states.map(|(state, _)| state).to_vec(),
        };
        let reported = states.iter().filter(|(_, is_reported)| *is_reported);
        let reported = reported.map(|(state, _)| format!("Tab: the Kinesis destination {state} is not copied"));
        let reported: Vec<_> = reported.collect();
        assert_eq!(notes_of_copies(&source), [&reported[..], &reported[..]]);
    }
}

/// The notes of a copy to an engine, and of one to a directory.
fn notes_of_copies(source: &dyn Database) -> [Vec<String>; 2] {
    let (to, caller, folder) = (engine(&Conditions::CALM), caller(), Folder::new("notes"));
    let notes = Mutex::new(Vec::new());
    let report = |event: CopyEvent<'_>| {
        if let CopyEvent::Note { text } = event {
            notes.lock().unwrap().push(text.to_owned());
        }
    };
    copy(source, &InProcess::new(&to, &caller), &CopyOptions::default(), &report).unwrap();
    let of_copy = std::mem::take(&mut *notes.lock().unwrap());
    export(source, &[], &folder.0, &report).unwrap();
    [of_copy, notes.into_inner().unwrap()]
}

/// Other implementations lack operations: a source then has no such setting. A refusal for another reason is reported.
#[test]
fn sources_may_lack_operations() {
    let (from, names) = filled();
    let caller = caller();
    let source = |code| Lacking {
        inner: InProcess::new(&from, &caller),
        code,
    };
    let none: [&[String]; 2] = [&[], &[]];
    assert_eq!(notes_of_copies(&source("UnknownOperationException")), none);
    let expected = |name: &String| {
        [
            "the settings of time to live are",
            "the settings of recovery are",
            "tags are",
            "Contributor Insights are",
            "the resource policy is",
            "the resource policy of the stream is",
            "Kinesis destinations are",
        ]
        .map(|what| format!("{name}: {what} not copied: AccessDeniedException: no"))
    };
    let mut names = names;
    names.sort();
    let expected: Vec<String> = names.iter().flat_map(expected).collect();
    let denied = notes_of_copies(&source("AccessDeniedException"));
    assert_eq!(denied, [&expected[..], &expected[..]]);
}

/// Refuses to describe the Contributor Insights of an index.
struct Refusing<'d> {
    inner: InProcess<'d>,
    index: &'static str,
}

impl Database for Refusing<'_> {
    fn call(&self, operation: &str, body: &Value) -> Result<Value, CallError> {
        if operation == "DescribeContributorInsights" && body["IndexName"] == self.index {
            return Err(CallError {
                code: "AccessDeniedException".into(),
                message: "no".into(),
            });
        }
        self.inner.call(operation, body)
    }

    fn pause(&self, time: std::time::Duration) {
        self.inner.pause(time);
    }
}

/// A refusal about one index leaves the Contributor Insights of the table and the other indexes.
#[test]
fn insights_beside_those_that_are_refused_are_copied() {
    let (from, names) = filled();
    let (caller, all) = (caller(), names.last().unwrap());
    for index in ["byN", "keys"] {
        let source = Refusing {
            inner: InProcess::new(&from, &caller),
            index,
        };
        let to = engine(&Conditions::CALM);
        copy(&source, &InProcess::new(&to, &caller), &CopyOptions::default(), &|_| ()).unwrap();
        for described in [None, Some("byN"), Some("keys")] {
            let mut body = json!({"TableName": all});
            if let Some(index) = described {
                body["IndexName"] = index.into();
            }
            let status = &ask(&to, "DescribeContributorInsights", &body)["ContributorInsightsStatus"];
            let expected = if described == Some(index) {
                "DISABLED"
            } else {
                "ENABLED"
            };
            assert_eq!(status, expected, "{described:?} without {index}");
        }
    }
}

/// A destination that lacks an operation gets the table without the setting, and the copy says so.
#[test]
fn destinations_may_lack_operations() {
    let (from, names) = filled();
    let (caller, folder) = (caller(), Folder::new("lacking"));
    let source = InProcess::new(&from, &caller);
    export(&source, &[], &folder.0, &|_| ()).unwrap();
    let all = names.last().unwrap();
    let without = |what: &str, operation: &str, name: &str| {
        format!("{name}: {what} not set, because the destination does not support {operation}")
    };
    let recovery = |name: &str| without("point-in-time recovery is", "UpdateContinuousBackups", name);
    let insights = |name: &str| without("Contributor Insights are", "UpdateContributorInsights", name);
    let expected = [
        insights(all),
        insights(all),
        insights(all),
        recovery(all),
        recovery("set-1-2"),
        insights("set-3-4"),
        insights("set-4-5"),
        insights("set-5-6"),
    ];
    for code in ["UnknownOperationException", "AccessDeniedException"] {
        for is_direct in [true, false] {
            let engine = engine(&Conditions::CALM);
            let to = Lacking {
                inner: InProcess::new(&engine, &caller),
                code,
            };
            let notes = Mutex::new(Vec::new());
            let note = |text: &str| notes.lock().unwrap().push(text.to_owned());
            let report = |event: CopyEvent<'_>| {
                if let CopyEvent::Note { text } = event {
                    note(text);
                }
            };
            let copied = if is_direct {
                copy(&source, &to, &CopyOptions::default(), &report).map(|items| items as usize)
            } else {
                let seed = Seed::read(folder.0.to_str().unwrap()).unwrap();
                let loaded = load(&to, seed, Existing::Fill, &note);
                loaded.map(|loaded| loaded.items).map_err(|error| error.to_string())
            };
            let mut notes = notes.into_inner().unwrap();
            notes.sort();
            let context = format!("{code}, direct {is_direct}");
            if code == "UnknownOperationException" {
                assert_eq!((copied, &notes[..]), (Ok(names.len()), &expected[..]), "{context}");
            } else {
                assert!(copied.unwrap_err().contains("AccessDeniedException: no"), "{context}");
            }
        }
    }
}

/// A table that was restored, or whose throughput, mode or class was changed, is copied like one that was created so.
#[test]
fn tables_that_have_changed_are_copied() {
    let (from, caller) = (engine(&Conditions::CALM), caller());
    let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    let units = |count: u64| json!({"ReadCapacityUnits": count, "WriteCapacityUnits": count});
    let names = ["Higher", "Lower", "OnDemand", "Class", "Source"];
    for name in names {
        let index = json!({"IndexName": "byN", "KeySchema": key("n"), "Projection": {"ProjectionType": "ALL"},
            "ProvisionedThroughput": units(5)});
        let table = json!({"TableName": name, "KeySchema": key("id"), "ProvisionedThroughput": units(5),
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "n", "AttributeType": "N"}],
            "GlobalSecondaryIndexes": [index]});
        ask(&from, "CreateTable", &table);
        ask(
            &from,
            "PutItem",
            &json!({"TableName": name, "Item": {"id": {"S": name}}}),
        );
    }
    let throughput = |name: &str, count: u64| {
        let update = json!([{"Update": {"IndexName": "byN", "ProvisionedThroughput": units(count)}}]);
        json!({"TableName": name, "ProvisionedThroughput": units(count), "GlobalSecondaryIndexUpdates": update})
    };
    ask(&from, "UpdateTable", &throughput("Higher", 9));
    ask(&from, "UpdateTable", &throughput("Lower", 2));
    ask(
        &from,
        "UpdateTable",
        &json!({"TableName": "OnDemand", "BillingMode": "PAY_PER_REQUEST"}),
    );
    ask(
        &from,
        "UpdateTable",
        &json!({"TableName": "Class", "TableClass": "STANDARD_INFREQUENT_ACCESS"}),
    );
    let backup = ask(
        &from,
        "CreateBackup",
        &json!({"TableName": "Source", "BackupName": "backup"}),
    );
    let restored = json!({"TargetTableName": "Restored", "BackupArn": backup["BackupDetails"]["BackupArn"]});
    ask(&from, "RestoreTableFromBackup", &restored);
    let describe = |engine: &Engine, name: &str| {
        let table = ask(engine, "DescribeTable", &json!({"TableName": name}))["Table"].take();
        let throughput = |of: &Value| {
            let units = &of["ProvisionedThroughput"];
            json!([units["ReadCapacityUnits"], units["WriteCapacityUnits"]])
        };
        json!([
            throughput(&table),
            throughput(&table["GlobalSecondaryIndexes"][0]),
            table["BillingModeSummary"]["BillingMode"],
            table["TableClassSummary"]["TableClass"],
        ])
    };
    // The descriptions of changed tables have a member of their history.
    for (name, member) in [
        ("Higher", "/ProvisionedThroughput/LastIncreaseDateTime"),
        ("Lower", "/ProvisionedThroughput/LastDecreaseDateTime"),
        ("OnDemand", "/BillingModeSummary/LastUpdateToPayPerRequestDateTime"),
        ("Class", "/TableClassSummary/LastUpdateDateTime"),
    ] {
        let table = ask(&from, "DescribeTable", &json!({"TableName": name}))["Table"].take();
        assert!(table.pointer(member).is_some(), "{name}: {table}");
    }
    for (way, to) in copies(&InProcess::new(&from, &caller), "changed") {
        for name in names.into_iter().chain(["Restored"]) {
            assert_eq!(describe(&to, name), describe(&from, name), "{way}: {name}");
            let items = |engine: &Engine| ask(engine, "Scan", &json!({"TableName": name}))["Items"].take();
            assert_eq!(items(&to), items(&from), "{way}: {name}");
        }
    }
}
