//! Exports to folders, and imports and bulk operations from them, through a complete engine.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dynatwin_engine::quotas::REQUEST_BODY;
use dynatwin_engine::{Caller, Clock, Conditions, Engine, Lag, Moment, Settings};
use dynatwin_files::Buckets;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use md5::{Digest, Md5};
use serde_json::{Value, json};

const ARN: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/tab";

/// A twin with buckets in a folder of this test.
struct Twin {
    engine: Engine,
    folder: PathBuf,
}

impl Twin {
    fn new(test: &str) -> Twin {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("data")).unwrap();
        let engine = Engine::new(Settings {
            clock: Clock::settable(Moment::START),
            seed: 1,
            conditions: Conditions::CALM,
            shared_db: false,
        });
        let twin = Twin {
            engine: engine.with_object_store(Arc::new(Buckets::at(&folder))),
            folder,
        };
        twin.ok("CreateTable", &table("tab"));
        twin.ok(
            "UpdateContinuousBackups",
            &json!({"TableName": "tab", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}}),
        );
        twin
    }

    fn send(&self, operation: &str, body: &Value) -> (u16, Value) {
        let caller = Caller {
            access_key: "test".into(),
            region: "us-east-1".into(),
        };
        let answer = self.engine.dispatch(&caller, operation, body.to_string().as_bytes());
        (answer.status, serde_json::from_slice(&answer.body).unwrap())
    }

    fn ok(&self, operation: &str, body: &Value) -> Value {
        let (status, answer) = self.send(operation, body);
        assert_eq!(status, 200, "{operation} {body}: {answer}");
        answer
    }

    fn put(&self, item: &Value) {
        self.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }

    fn pass(&self, seconds: u64) {
        self.engine.advance(Duration::from_secs(seconds));
    }

    fn seconds(&self) -> i64 {
        self.engine.clock().now().seconds()
    }

    /// Returns the items of a table by their keys, with sorted sets: those of a Scan have the service's order.
    fn items(&self, table: &str) -> BTreeMap<String, Value> {
        let scan = self.ok("Scan", &json!({"TableName": table}));
        let items = scan["Items"].as_array().unwrap().iter();
        items
            .map(|item| (item["pk"].to_string(), with_sorted_sets(item.clone())))
            .collect()
    }

    /// Exports, and returns the finished export's description.
    fn export(&self, more: Value) -> Value {
        let begun = self.ok(
            "ExportTableToPointInTime",
            &with(json!({"TableArn": ARN, "S3Bucket": "data"}), more),
        );
        let begun = &begun["ExportDescription"];
        assert_eq!(begun["ExportStatus"], "IN_PROGRESS");
        let done = self.ok("DescribeExport", &json!({"ExportArn": begun["ExportArn"]}));
        done["ExportDescription"].clone()
    }

    /// Imports into the table `copy`, and returns the finished import's description.
    fn import(&self, prefix: &str, more: Value) -> Value {
        let request = json!({
            "S3BucketSource": {"S3Bucket": "data", "S3KeyPrefix": prefix},
            "InputFormat": "DYNAMODB_JSON",
            "TableCreationParameters": table("copy"),
        });
        let begun = self.ok("ImportTable", &with(request, more));
        let begun = &begun["ImportTableDescription"];
        assert_eq!(begun["ImportStatus"], "IN_PROGRESS");
        let done = self.ok("DescribeImport", &json!({"ImportArn": begun["ImportArn"]}));
        done["ImportTableDescription"].clone()
    }

    fn bulk(&self, prefix: &str, more: Value) -> Value {
        let request = json!({
            "TableName": "tab",
            "InputS3Configuration": {"S3Bucket": "data", "S3KeyPrefix": prefix, "InputFormat": "DYNAMODB_JSON"},
            "OutputS3Configuration": {"OutputType": ["ERROR", "CONDITION_CHECK_FAILURE"]},
        });
        let begun = self.ok("StartBulkPutItems", &with(request, more));
        let begun = &begun["BulkOperationDescription"];
        assert_eq!(begun["BulkOperationStatus"], "IN_PROGRESS");
        let done = self.ok(
            "DescribeBulkOperation",
            &json!({"BulkOperationArn": begun["BulkOperationArn"]}),
        );
        done["BulkOperationDescription"].clone()
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join("data").join(key)
    }

    fn write(&self, key: &str, bytes: &[u8]) {
        fs::create_dir_all(self.path(key).parent().unwrap()).unwrap();
        fs::write(self.path(key), bytes).unwrap();
    }

    fn json(&self, key: &str) -> Value {
        serde_json::from_slice(&fs::read(self.path(key)).unwrap()).unwrap()
    }

    /// Returns the lines of all data files in a finished export's manifest.
    fn lines(&self, export: &Value) -> Vec<String> {
        let summary = self.json(export["ExportManifest"].as_str().unwrap());
        let files = fs::read_to_string(self.path(summary["manifestFilesS3Key"].as_str().unwrap())).unwrap();
        let mut lines = Vec::new();
        let mut counted = 0;
        for file in files.lines() {
            let file: Value = serde_json::from_str(file).unwrap();
            let key = file["dataFileS3Key"].as_str().unwrap();
            let extension = if summary["outputFormat"] == "ION" {
                ".ion.gz"
            } else {
                ".json.gz"
            };
            assert!(key.ends_with(extension), "{key}");
            let bytes = fs::read(self.path(key)).unwrap();
            let mut text = String::new();
            GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
            counted += file["itemCount"].as_u64().unwrap();
            lines.extend(text.lines().map(str::to_owned));
        }
        assert_eq!(counted, lines.len() as u64);
        assert_eq!(summary["itemCount"], lines.len());
        assert_eq!(export["ItemCount"], lines.len());
        lines
    }
}

/// Returns an item whose top-level sets are sorted as texts.
fn with_sorted_sets(mut item: Value) -> Value {
    for value in item.as_object_mut().unwrap().values_mut() {
        for set in ["SS", "NS", "BS"] {
            if let Some(elements) = value.get(set).and_then(Value::as_array) {
                let mut elements = elements.clone();
                elements.sort_by_key(ToString::to_string);
                value[set] = elements.into();
            }
        }
    }
    item
}

fn with(mut request: Value, more: Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        request[name] = value.clone();
    }
    request
}

fn table(name: &str) -> Value {
    json!({
        "TableName": name, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "N"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"}}],
    })
}

/// Puts items with every type of value, including difficult ones.
fn put_items(twin: &Twin) {
    twin.put(&json!({"pk": {"S": "types"}, "n": {"N": "-12345678901234567890.12345678901234567"}, "small": {"N": "1e-130"},
        "large": {"N": "9.9999999999999999999999999999999999999E+125"}, "b": {"B": "AAECAw=="}, "yes": {"BOOL": true},
        "none": {"NULL": true}, "l": {"L": [{"S": "x"}, {"L": []}, {"M": {}}, {"NS": ["1"]}, {"L": [{"BS": ["AQ=="]}]}]},
        "m": {"M": {"in": {"M": {"deep": {"N": "1"}, "set": {"SS": ["x"]}}}, "set": {"NS": ["2"]}}},
        "ss": {"SS": ["a", "b"]}, "ns": {"NS": ["1", "2.5"]}, "bs": {"BS": ["AQ==", "Ag=="]}, "g": {"N": "7"}}));
    twin.put(&json!({"pk": {"S": "words \"'\\\n\r\t\u{1}é😀 {[,:"}, "a b": {"S": ""}, "null": {"S": "null"}, "'": {"S": "'''"},
        "1st": {"S": "//"}, "$ion_1_0": {"S": "/*"}, "#": {"S": "{{"}}));
    for at in 0..50 {
        twin.put(&json!({"pk": {"S": format!("item-{at}")}, "g": {"N": at.to_string()}}));
    }
}

#[test]
fn exports_can_be_imported() {
    for format in ["DYNAMODB_JSON", "ION"] {
        let twin = Twin::new(&format!("round-trip-{format}"));
        put_items(&twin);
        let export = twin.export(json!({"ExportFormat": format, "S3Prefix": "some/where", "ClientToken": "once"}));
        assert_eq!(export["ExportStatus"], "COMPLETED");
        assert_eq!(export["ItemCount"], 52);
        let id = export["ExportArn"].as_str().unwrap().rsplit('/').next().unwrap();
        let root = format!("some/where/AWSDynamoDB/{id}");
        assert_eq!(export["ExportManifest"], format!("{root}/manifest-summary.json"));
        let summary = twin.json(&format!("{root}/manifest-summary.json"));
        for (member, expected) in [
            ("version", json!("2020-06-30")),
            ("exportArn", export["ExportArn"].clone()),
            ("exportTime", json!("2026-01-01T00:00:00.000Z")),
            ("tableArn", json!(ARN)),
            ("tableId", export["TableId"].clone()),
            ("manifestFilesS3Key", json!(format!("{root}/manifest-files.json"))),
            ("s3Bucket", json!("data")),
            ("s3Prefix", json!("some/where")),
            ("s3SseAlgorithm", json!("AES256")),
            ("s3SseKmsKeyId", Value::Null),
            ("outputFormat", json!(format)),
            ("billedSizeBytes", export["BilledSizeBytes"].clone()),
        ] {
            assert_eq!(summary[member], expected, "{member}");
        }
        for name in ["_started", "manifest-summary.checksum", "manifest-files.checksum"] {
            assert!(twin.path(&format!("{root}/{name}")).is_file(), "{name}");
        }
        assert_eq!(twin.lines(&export).len(), 52);
        let import = twin.import(
            &format!("{root}/data/"),
            json!({"InputFormat": format, "InputCompressionType": "GZIP"}),
        );
        assert_eq!(import["ImportStatus"], "COMPLETED", "{import}");
        let counts = ["ProcessedItemCount", "ImportedItemCount", "ErrorCount"].map(|name| import[name].clone());
        assert_eq!(counts, [json!(52), json!(52), json!(0)]);
        assert_eq!(twin.items("copy"), twin.items("tab"), "{format}");
        let query = json!({"TableName": "copy", "IndexName": "by-g", "KeyConditionExpression": "g = :g",
            "ExpressionAttributeValues": {":g": {"N": "7"}}});
        assert_eq!(twin.ok("Query", &query)["Count"], 2);
    }
}

fn md5(bytes: &[u8]) -> (String, String) {
    let digest = Md5::digest(bytes);
    let mut hex = String::new();
    digest
        .iter()
        .for_each(|byte| write!(hex, "{byte:02x}").expect("a string takes all"));
    (STANDARD.encode(digest), hex)
}

#[test]
fn manifests_describe_their_files() {
    let twin = Twin::new("manifests");
    put_items(&twin);
    twin.pass(1);
    let from = twin.seconds();
    for at in 0..200 {
        twin.put(&json!({"pk": {"S": format!("later-{at}")}}));
    }
    twin.pass(3600);
    let to = from + 1800;
    let span = |view: &str| {
        json!({"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification":
            {"ExportFromTime": from, "ExportToTime": to, "ExportViewType": view}})
    };
    let spans = ["exportFromTime", "exportToTime", "outputView", "exportType"];
    let of_view = |view: &str| {
        let times = ["2026-01-01T00:00:01.000Z", "2026-01-01T00:30:01.000Z"];
        [times[0], times[1], view, "INCREMENTAL_EXPORT"].map(Value::from)
    };
    for (request, version, expected) in [
        (json!({}), "2020-06-30", [const { Value::Null }; 4]),
        (
            json!({"S3Prefix": "dump.json/a.json.b"}),
            "2020-06-30",
            [const { Value::Null }; 4],
        ),
        (span("NEW_IMAGE"), "2023-08-01", of_view("NEW_IMAGE")),
        (span("NEW_AND_OLD_IMAGES"), "2023-08-01", of_view("NEW_AND_OLD_IMAGES")),
    ] {
        let export = twin.export(request.clone());
        let key = export["ExportManifest"].as_str().unwrap();
        let summary = twin.json(key);
        assert_eq!(summary["version"], version);
        let prefix = request.get("S3Prefix").unwrap_or(&Value::Null);
        assert_eq!(summary.get("s3Prefix"), Some(prefix), "{request}");
        let started = key.replace("manifest-summary.json", "_started");
        assert_eq!(fs::read(twin.path(&started)).ok(), Some(Vec::new()), "{started}");
        assert_eq!(spans.map(|member| summary[member].clone()), expected);
        let files = summary["manifestFilesS3Key"].as_str().unwrap();
        for manifest in [key, files] {
            let checksum = format!("{}.checksum", manifest.strip_suffix(".json").unwrap());
            let checksum = fs::read_to_string(twin.path(&checksum)).unwrap();
            assert_eq!(checksum, md5(&fs::read(twin.path(manifest)).unwrap()).0, "{manifest}");
        }
        let mut names = BTreeSet::new();
        for (part, line) in fs::read_to_string(twin.path(files)).unwrap().lines().enumerate() {
            let line: Value = serde_json::from_str(line).unwrap();
            let key = line["dataFileS3Key"].as_str().unwrap();
            let (checksum, hex) = md5(&fs::read(twin.path(key)).unwrap());
            assert_eq!(
                (&line["md5Checksum"], &line["etag"]),
                (&json!(checksum), &json!(format!("{hex}-1")))
            );
            let name = key.rsplit('/').next().unwrap().strip_suffix(".json.gz").unwrap();
            let is_known = |char: char| matches!(char, 'a'..='z' | '2'..='7');
            assert!(name.len() == 26 && name.chars().all(is_known), "{name}");
            // A name is the same in each run: a digest in base 32, the last digit first.
            let digest = Md5::digest(format!("{}/{part}", summary["exportArn"].as_str().unwrap()));
            let digits = name.bytes().rev().map(|digit| match digit {
                b'2'..=b'7' => digit - b'2' + 26,
                _ => digit - b'a',
            });
            let number = digits.fold(0, |number: u128, digit| number << 5 | u128::from(digit));
            assert_eq!(number.to_be_bytes()[..], digest[..], "{name}");
            assert!(names.insert(name.to_owned()), "{name} occurs twice");
        }
        assert!(names.len() > 1, "an export has several files");
    }
}

/// An export has a file for each partition, whether there are lines for it or not.
#[test]
fn every_partition_of_an_export_has_a_file() {
    for format in ["DYNAMODB_JSON", "ION"] {
        let twin = Twin::new(&format!("partitions-{format}"));
        let counts = |more: Value| -> Vec<u64> {
            let export = twin.export(with(json!({"ExportFormat": format}), more));
            let summary = twin.json(export["ExportManifest"].as_str().unwrap());
            let files = fs::read_to_string(twin.path(summary["manifestFilesS3Key"].as_str().unwrap())).unwrap();
            let lines = files.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let counts: Vec<_> = lines.map(|line| line["itemCount"].as_u64().unwrap()).collect();
            assert_eq!(twin.lines(&export).len() as u64, counts.iter().sum::<u64>());
            counts
        };
        let from = twin.seconds();
        let none = counts(json!({}));
        assert!(none.len() > 1 && none.iter().all(|count| *count == 0), "{none:?}");
        twin.pass(1800);
        twin.put(&json!({"pk": {"S": "a"}}));
        twin.pass(1800);
        let span = |first: i64, last: i64| {
            json!({"ExportType": "INCREMENTAL_EXPORT",
                "IncrementalExportSpecification": {"ExportFromTime": from + first, "ExportToTime": from + last}})
        };
        let filter = json!({"FilterSpecification": {"FilterExpression": "attribute_exists(g)"}});
        for (request, lines) in [
            (json!({}), 1),
            (json!({"ExportTime": from}), 0),
            (filter, 0),
            (span(0, 1200), 0),
            (span(1200, 2400), 1),
            (span(2400, 3600), 0),
        ] {
            let found = counts(request.clone());
            assert_eq!(found.len(), none.len(), "{format}, {request}");
            assert_eq!(found.iter().sum::<u64>(), lines, "{format}, {request}");
        }
    }
}

/// The keys that a manifest names are below the prefix, however many slashes the prefix ends in, and so are the reports of
/// bulk operations.
#[test]
fn objects_are_below_the_prefix() {
    for (at, (prefix, root)) in [
        ("", ""),
        ("/", ""),
        ("//", ""),
        ("a", "a/"),
        ("a/", "a/"),
        ("a//", "a/"),
        ("a/b", "a/b/"),
        ("a/b/", "a/b/"),
        ("a/b//", "a/b/"),
    ]
    .into_iter()
    .enumerate()
    {
        let twin = Twin::new(&format!("prefixes-{at}"));
        twin.put(&json!({"pk": {"S": "a"}}));
        let from = twin.seconds();
        twin.pass(3600);
        let root = format!("{root}AWSDynamoDB");
        let span = json!({"ExportFromTime": from, "ExportToTime": from + 1800});
        let incremental = json!({"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": span});
        for (format, (more, is_shared)) in ["DYNAMODB_JSON", "ION"]
            .into_iter()
            .flat_map(|format| [(format, (json!({}), false)), (format, (incremental.clone(), true))])
        {
            let export = twin.export(with(json!({"S3Prefix": prefix, "ExportFormat": format}), more));
            let id = export["ExportArn"].as_str().unwrap().rsplit('/').next().unwrap();
            let own = format!("{root}/{id}");
            let manifest = format!("{own}/manifest-summary.json");
            assert_eq!(export["ExportManifest"], manifest, "{prefix:?}");
            let summary = twin.json(&manifest);
            assert_eq!(summary["s3Prefix"], prefix);
            let files = format!("{own}/manifest-files.json");
            assert_eq!(summary["manifestFilesS3Key"], files, "{prefix:?}");
            let data = if is_shared { &root } else { &own };
            for line in fs::read_to_string(twin.path(&files)).unwrap().lines() {
                let line: Value = serde_json::from_str(line).unwrap();
                let key = line["dataFileS3Key"].as_str().unwrap();
                assert!(key.starts_with(&format!("{data}/data/")), "{prefix:?}: {key}");
                assert!(twin.path(key).is_file(), "{prefix:?}: {key}");
            }
        }
        twin.write("in/1", br#"{"Item":{"pk":{"N":"1"}}}"#);
        let output = json!({"OutputType": ["ERROR"], "S3Bucket": "data", "S3KeyPrefix": prefix});
        let done = twin.bulk("in/", json!({"OutputS3Configuration": output}));
        let id = done["BulkOperationArn"].as_str().unwrap().rsplit('/').next().unwrap();
        assert!(twin.path(&format!("{root}/{id}/errors.json")).is_file(), "{prefix:?}");
        // Nothing is elsewhere.
        let top = root.split('/').next().unwrap();
        let names = fs::read_dir(twin.path("")).unwrap();
        let names: BTreeSet<_> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(names, [top, "in"].map(str::to_owned).into(), "{prefix:?}");
    }
}

/// The times of the summary are those that DescribeExport returns: of the request, and of the end of the export.
#[test]
fn the_summary_of_an_export_has_its_start_and_its_end() {
    let twin = Twin::new("times");
    let lasting = Conditions {
        table_status: Lag::Fixed(Duration::from_secs(6)),
        ..Conditions::CALM
    };
    twin.engine.set_conditions(lasting).unwrap();
    twin.pass(60);
    for (kind, more) in [
        ("full", json!({})),
        (
            "incremental",
            json!({"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification":
                {"ExportFromTime": twin.seconds() - 60, "ExportToTime": twin.seconds() + 900}}),
        ),
    ] {
        twin.pass(1800);
        let request = with(json!({"TableArn": ARN, "S3Bucket": "data"}), more);
        let begun = twin.ok("ExportTableToPointInTime", &request);
        let arn = &begun["ExportDescription"]["ExportArn"];
        twin.pass(3600);
        let export = &twin.ok("DescribeExport", &json!({"ExportArn": arn}))["ExportDescription"];
        let summary = twin.json(export["ExportManifest"].as_str().unwrap());
        let seconds = |text: &Value| Moment::parse(text.as_str().unwrap()).unwrap().micros() as f64 / 1e6;
        let times = ["startTime", "endTime"].map(|member| seconds(&summary[member]));
        let described = ["StartTime", "EndTime"].map(|member| export[member].as_f64().unwrap());
        assert_eq!(times, described, "{kind}");
        assert!(times[0] < times[1], "{kind}: {times:?}");
    }
}

#[test]
fn an_export_has_the_state_of_its_moment() {
    let twin = Twin::new("moment");
    twin.put(&json!({"pk": {"S": "a"}, "v": {"S": "old"}}));
    let then = twin.seconds();
    twin.pass(60);
    twin.put(&json!({"pk": {"S": "a"}, "v": {"S": "new"}}));
    let old = twin.export(json!({"ExportTime": then}));
    assert_eq!(twin.lines(&old), [r#"{"Item":{"pk":{"S":"a"},"v":{"S":"old"}}}"#]);
    let new = twin.export(json!({}));
    assert_eq!(twin.lines(&new), [r#"{"Item":{"pk":{"S":"a"},"v":{"S":"new"}}}"#]);
}

/// Exports of a table with the same prefix leave each other's files.
#[test]
fn exports_with_one_prefix_have_their_own_files() {
    let twin = Twin::new("one-prefix");
    twin.put(&json!({"pk": {"S": "a"}, "v": {"S": "old"}}));
    let then = twin.seconds();
    twin.pass(3600);
    twin.put(&json!({"pk": {"S": "a"}, "v": {"S": "new"}}));
    let full = twin.export(json!({"ExportTime": then}));
    let from = then - then % 60 + 60;
    let increments = [(0, 1800), (1800, 3600)].map(|(first, last)| {
        twin.pass(60);
        let span = json!({"ExportFromTime": from + first, "ExportToTime": from + last});
        twin.export(json!({"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": span}))
    });
    let names = |export: &Value| {
        let summary = twin.json(export["ExportManifest"].as_str().unwrap());
        let files = fs::read_to_string(twin.path(summary["manifestFilesS3Key"].as_str().unwrap())).unwrap();
        let lines = files.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|line| line["dataFileS3Key"].to_string()).collect::<Vec<_>>()
    };
    let mut all = [names(&full), names(&increments[0]), names(&increments[1])].concat();
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!((all.len(), count > 1), (count, true), "{all:?}");
}

/// The times of the summary are those that were requested, not that of the request.
#[test]
fn the_summary_of_an_export_has_the_moments_that_were_requested() {
    let twin = Twin::new("requested");
    let from = twin.seconds();
    twin.pass(7200);
    let seconds = |summary: &Value, name: &str| {
        let time = summary.get(name)?.as_str();
        time.map(|text| Moment::parse(text).unwrap().seconds())
    };
    let now = twin.seconds();
    let span = |to: i64| {
        json!({"ExportType": "INCREMENTAL_EXPORT",
            "IncrementalExportSpecification": {"ExportFromTime": from, "ExportToTime": to}})
    };
    for (more, at, span) in [
        (json!({}), Some(now), [None, None]),
        (json!({"ExportTime": now - 3600}), Some(now - 3600), [None, None]),
        (json!({"ExportTime": from}), Some(from), [None, None]),
        (span(from + 900), None, [Some(from), Some(from + 900)]),
        (span(from + 3600), None, [Some(from), Some(from + 3600)]),
    ] {
        let export = twin.export(more.clone());
        let summary = twin.json(export["ExportManifest"].as_str().unwrap());
        assert_eq!(seconds(&summary, "exportTime"), at, "{more}");
        let found = ["exportFromTime", "exportToTime"].map(|name| seconds(&summary, name));
        assert_eq!(found, span, "{more}");
        assert_eq!(seconds(&summary, "startTime"), Some(now), "{more}");
    }
}

#[test]
fn lines_are_written_as_the_service_writes_them() {
    let twin = Twin::new("lines");
    twin.put(
        &json!({"pk": {"S": "a"}, "n": {"N": "5"}, "b": {"B": "AQ=="}, "ss": {"SS": ["x"]}, "z-z": {"NULL": true}}),
    );
    let ion = twin.export(json!({"ExportFormat": "ION"}));
    assert_eq!(
        twin.lines(&ion),
        [r#"$ion_1_0 {Item:{b:{{AQ==}},n:5.,pk:"a",ss:$dynamodb_SS::["x"],'z-z':null}}"#]
    );
    let start = twin.seconds();
    twin.pass(60);
    twin.put(&json!({"pk": {"S": "b"}, "v": {"N": "1"}}));
    twin.pass(60);
    twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}}));
    twin.put(&json!({"pk": {"S": "gone"}}));
    twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "gone"}}}));
    twin.pass(1000);
    let span = |view: &str, format: &str| {
        let lines = twin.export(json!({"ExportType": "INCREMENTAL_EXPORT", "ExportFormat": format,
            "IncrementalExportSpecification": {"ExportFromTime": start + 1, "ExportToTime": start + 1000, "ExportViewType": view}}));
        twin.lines(&lines).into_iter().collect::<BTreeSet<String>>()
    };
    assert_eq!(
        span("NEW_AND_OLD_IMAGES", "DYNAMODB_JSON"),
        BTreeSet::from([
            r#"{"Metadata":{"WriteTimestampMicros":{"N":"1767225660000000"}},"Keys":{"pk":{"S":"b"}},"NewImage":{"pk":{"S":"b"},"v":{"N":"1"}}}"#.to_owned(),
            r#"{"Metadata":{"WriteTimestampMicros":{"N":"1767225720000000"}},"Keys":{"pk":{"S":"a"}},"OldImage":{"b":{"B":"AQ=="},"n":{"N":"5"},"pk":{"S":"a"},"ss":{"SS":["x"]},"z-z":{"NULL":true}}}"#.to_owned(),
        ])
    );
    assert_eq!(
        span("NEW_IMAGE", "ION"),
        BTreeSet::from([
            r#"$ion_1_0 {Record:{Keys:{pk:"b"},Metadata:{WriteTimestampMicros:1767225660000000.},NewImage:{pk:"b",v:1.}}}"#.to_owned(),
            r#"$ion_1_0 {Record:{Keys:{pk:"a"},Metadata:{WriteTimestampMicros:1767225720000000.}}}"#.to_owned(),
        ])
    );
    assert_eq!(
        span("NEW_IMAGE", "DYNAMODB_JSON"),
        BTreeSet::from([
            r#"{"Metadata":{"WriteTimestampMicros":{"N":"1767225660000000"}},"Keys":{"pk":{"S":"b"}},"NewImage":{"pk":{"S":"b"},"v":{"N":"1"}}}"#.to_owned(),
            r#"{"Metadata":{"WriteTimestampMicros":{"N":"1767225720000000"}},"Keys":{"pk":{"S":"a"}}}"#.to_owned(),
        ])
    );
    assert_eq!(
        span("NEW_AND_OLD_IMAGES", "ION"),
        BTreeSet::from([
            r#"$ion_1_0 {Record:{Keys:{pk:"b"},Metadata:{WriteTimestampMicros:1767225660000000.},NewImage:{pk:"b",v:1.}}}"#.to_owned(),
            r#"$ion_1_0 {Record:{Keys:{pk:"a"},Metadata:{WriteTimestampMicros:1767225720000000.},OldImage:{b:{{AQ==}},n:5.,pk:"a",ss:$dynamodb_SS::["x"],'z-z':null}}}"#.to_owned(),
        ])
    );
}

/// A change of an item has both images, or none before its creation and after its deletion.
#[test]
fn changes_are_written_with_their_images() {
    let twin = Twin::new("images");
    for (pk, v) in [("changed", "1"), ("deleted", "2")] {
        twin.put(&json!({"pk": {"S": pk}, "v": {"N": v}}));
    }
    twin.pass(60);
    let start = twin.seconds();
    twin.put(&json!({"pk": {"S": "changed"}, "v": {"N": "3"}}));
    twin.put(&json!({"pk": {"S": "created"}, "v": {"N": "4"}}));
    twin.ok(
        "DeleteItem",
        &json!({"TableName": "tab", "Key": {"pk": {"S": "deleted"}}}),
    );
    twin.pass(1800);
    for (format, before, middle, expected) in [
        (
            "DYNAMODB_JSON",
            r#""Keys":"#,
            r#"{"pk":{"S":"KEY"},"v":{"N":"V"}}"#,
            [r#","OldImage":"#, r#","NewImage":"#],
        ),
        ("ION", "Keys:", r#"{pk:"KEY",v:V.}"#, [",OldImage:", ",NewImage:"]),
    ] {
        let export = twin.export(json!({"ExportType": "INCREMENTAL_EXPORT", "ExportFormat": format,
            "IncrementalExportSpecification": {"ExportFromTime": start, "ExportToTime": start + 900,
                "ExportViewType": "NEW_AND_OLD_IMAGES"}}));
        let lines = twin.lines(&export);
        assert_eq!(lines.len(), 3, "{lines:?}");
        for (key, old, new) in [
            ("changed", Some("1"), Some("3")),
            ("created", None, Some("4")),
            ("deleted", Some("2"), None),
        ] {
            let line = lines.iter().find(|line| line.contains(key)).unwrap();
            assert!(line.contains(before), "{line}");
            for (name, value) in expected.iter().zip([old, new]) {
                let image = value.map(|value| format!("{name}{}", middle.replace("KEY", key).replace('V', value)));
                match image {
                    Some(image) => assert!(line.contains(&image), "{image} is not in {line}"),
                    None => assert!(!line.contains(name), "{line}"),
                }
            }
        }
    }
}

#[test]
fn values_are_written_in_ion() {
    let twin = Twin::new("ion");
    let ion = |item: Value| {
        twin.put(&with(item, json!({"pk": {"S": "a"}})));
        twin.pass(1);
        let lines = twin.lines(&twin.export(json!({"ExportFormat": "ION"})));
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        line.clone()
    };
    for (name, value, expected) in [
        ("n", json!({"N": "-0.5"}), "n:-0.5"),
        ("nan", json!({"BOOL": true}), "'nan':true"),
        ("null", json!({"BOOL": false}), "'null':false"),
        ("1st", json!({"L": []}), "'1st':[]"),
        ("b1", json!({"BS": ["AQ=="]}), "b1:$dynamodb_BS::[{{AQ==}}]"),
        ("c", json!({"S": "\u{1}\u{7f}\\\n'\""}), r#"c:"\u0001\u007f\\\n'\"""#),
        ("it's", json!({"S": "x"}), r#"'it\'s':"x""#),
        ("ns", json!({"NS": ["1"]}), "ns:$dynamodb_NS::[1.]"),
        ("ns", json!({"NS": ["-2.50"]}), "ns:$dynamodb_NS::[-2.5]"),
        ("ns", json!({"NS": ["0"]}), "ns:$dynamodb_NS::[0.]"),
        ("n", json!({"N": "100"}), "n:100."),
        ("n", json!({"N": "-2.5e-3"}), "n:-0.0025"),
        ("n", json!({"N": "12E+3"}), "n:12000."),
        ("ns", json!({"NS": ["3e4"]}), "ns:$dynamodb_NS::[30000.]"),
        ("t", json!({"S": "\r\t/\u{85}"}), r#"t:"\r\t/\u0085""#),
        ("m", json!({"M": {"a b": {"S": ""}}}), r#"m:{'a b':""}"#),
        (
            "l",
            json!({"L": [{"N": "1"}, {"NS": ["2"]}, {"NULL": true}]}),
            "l:[1.,$dynamodb_NS::[2.],null]",
        ),
        (
            "m",
            json!({"M": {"n": {"N": "-3"}, "1": {"NS": ["4"]}}}),
            "m:{'1':$dynamodb_NS::[4.],n:-3.}",
        ),
        ("ss", json!({"SS": ["a'\""]}), r#"ss:$dynamodb_SS::["a'\""]"#),
    ] {
        let line = ion(json!({name: value}));
        assert!(line.contains(expected), "{expected} is not in {line}");
    }
}

/// A full export with incremental ones applied to it yields the table.
#[test]
fn incremental_exports_rebuild_the_table() {
    let twin = Twin::new("incremental");
    let mut state: u64 = 42;
    let mut next = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    put_items(&twin);
    let full = twin.export(json!({}));
    let mut copy: BTreeMap<String, Value> = BTreeMap::new();
    for line in twin.lines(&full) {
        let line: Value = serde_json::from_str(&line).unwrap();
        copy.insert(line["Item"]["pk"].to_string(), with_sorted_sets(line["Item"].clone()));
    }
    assert_eq!(copy, twin.items("tab"));
    // The full export includes the changes of its moment, and a span those of its first one.
    twin.pass(1);
    let mut from = twin.seconds();
    for round in 0..4 {
        for step in 0..60 {
            let key = json!({"pk": {"S": format!("item-{}", next(70))}});
            if next(3) == 0 {
                twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": key}));
            } else {
                twin.put(&json!({"pk": key["pk"], "v": {"N": (round * 100 + step).to_string()}}));
            }
            twin.pass(next(30));
        }
        twin.pass(900);
        let to = twin.seconds();
        let export = twin.export(json!({"ExportType": "INCREMENTAL_EXPORT",
            "IncrementalExportSpecification": {"ExportFromTime": from, "ExportToTime": to}}));
        for line in twin.lines(&export) {
            let line: Value = serde_json::from_str(&line).unwrap();
            let key = line["Keys"]["pk"].to_string();
            let old = match line.get("NewImage") {
                Some(new) => copy.insert(key, new.clone()),
                None => copy.remove(&key),
            };
            assert_eq!(old.as_ref(), line.get("OldImage"));
        }
        assert_eq!(copy, twin.items("tab"), "round {round}");
        from = to;
    }
    assert!(
        twin.path("AWSDynamoDB/data").is_dir(),
        "incremental exports share a folder"
    );
}

#[test]
fn a_filter_selects_the_exported_items() {
    let twin = Twin::new("filter");
    put_items(&twin);
    let filter = json!({"FilterSpecification": {"FilterExpression": "g >= :least", "ProjectionExpression": "pk",
        "ExpressionAttributeValues": {":least": {"N": "48"}}}});
    let lines: BTreeSet<String> = twin.lines(&twin.export(filter)).into_iter().collect();
    let expected = ["item-48", "item-49"].map(|pk| format!(r#"{{"Item":{{"pk":{{"S":"{pk}"}}}}}}"#));
    assert_eq!(lines, BTreeSet::from(expected));
    let key = json!({"FilterSpecification": {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "item-3"}}}});
    let export = twin.export(key);
    assert_eq!(twin.lines(&export).len(), 1);
    assert_eq!(export["FilterSpecification"]["KeyConditionExpression"], "pk = :pk");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn every_format_is_read_in_every_compression() {
    let json = br#"{"Item":{"pk":{"S":"a"},"g":{"N":"1"}}}
{"Item":{"pk":{"S":"b"},"g":{"N":"2"}}}
"#;
    let ion = b"$ion_1_0 {Item:{pk:\"a\",g:1.}}\n{Item:{pk:\"b\",g:2}}";
    let csv = b"pk,g,note\r\na,1,\"one, and \"\"more\"\"\"\r\nb,2,two\r\n";
    for (format, bytes) in [("DYNAMODB_JSON", &json[..]), ("ION", &ion[..]), ("CSV", &csv[..])] {
        for (compression, packed) in [
            ("NONE", bytes.to_vec()),
            ("GZIP", gzip(bytes)),
            ("ZSTD", zstd(bytes)),
            ("GZIP", [gzip(&bytes[..10]), gzip(&bytes[10..])].concat()),
            ("ZSTD", [zstd(&bytes[..10]), zstd(&bytes[10..])].concat()),
        ] {
            let twin = Twin::new(&format!("formats-{format}-{compression}"));
            twin.write("in/part", &packed);
            let import = twin.import(
                "in/",
                json!({"InputFormat": format, "InputCompressionType": compression}),
            );
            assert_eq!(import["ImportStatus"], "COMPLETED", "{format} {compression}: {import}");
            assert_eq!(import["ProcessedSizeBytes"], packed.len());
            let items = twin.items("copy");
            assert_eq!(items.len(), 2);
            assert_eq!(items[r#"{"S":"a"}"#]["g"], json!({"N": "1"}));
            if format == "CSV" {
                assert_eq!(items[r#"{"S":"a"}"#]["note"], json!({"S": "one, and \"more\""}));
            }
        }
    }
}

#[test]
fn csv_options() {
    let twin = Twin::new("csv");
    twin.write("rows", b"a|1|x\nb|2|y\nshort|3\na|4|z\n");
    let import = twin.import(
        "rows",
        json!({"InputFormat": "CSV", "InputFormatOptions": {"Csv": {"Delimiter": "|", "HeaderList": ["pk", "g", "v"]}}}),
    );
    assert_eq!(
        (&import["ImportStatus"], &import["ErrorCount"]),
        (&json!("FAILED"), &json!(1))
    );
    let items = twin.items("copy");
    assert_eq!(items.len(), 2, "a later line of the same key replaces the earlier");
    assert_eq!(
        items[r#"{"S":"a"}"#],
        json!({"pk": {"S": "a"}, "g": {"N": "4"}, "v": {"S": "z"}})
    );
    assert_eq!(import["InputFormatOptions"]["Csv"]["Delimiter"], "|");
}

/// With a list of names, a line that equals the list is an item; without one, so is a line that equals the header.
#[test]
fn csv_lines_may_equal_the_names() {
    for (case, header, list) in [
        ("line", "pk,v\n", Value::Null),
        ("list", "", json!({"Csv": {"HeaderList": ["pk", "v"]}})),
    ] {
        let twin = Twin::new(&format!("csv-names-{case}"));
        twin.write("rows", format!("{header}pk,v\na,b\n").as_bytes());
        let mut more = json!({"InputFormat": "CSV"});
        if !list.is_null() {
            more["InputFormatOptions"] = list;
        }
        let import = twin.import("rows", more);
        assert_eq!(import["ImportedItemCount"], 2, "{case}: {import}");
        let expected = [("a", "b"), ("pk", "v")].map(|(pk, v)| json!({"pk": {"S": pk}, "v": {"S": v}}));
        assert_eq!(twin.items("copy").into_values().collect::<Vec<_>>(), expected, "{case}");
    }
}

/// Spaces and number signs are part of names and values, wherever they are in a line.
#[test]
fn csv_texts_keep_spaces_and_number_signs() {
    let rows = "#1, x ,a\n 2 ,#,b\n\"#3\",\" y \",\" c \"\n#4,\t,#\n # ,  ,d\n";
    for (case, header, list) in [
        ("line", "#n, v ,pk\n", Value::Null),
        ("list", "", json!({"Csv": {"HeaderList": ["#n", " v ", "pk"]}})),
    ] {
        let twin = Twin::new(&format!("csv-texts-{case}"));
        twin.write("rows", format!("{header}{rows}").as_bytes());
        let mut more = json!({"InputFormat": "CSV"});
        if !list.is_null() {
            more["InputFormatOptions"] = list;
        }
        let import = twin.import("rows", more);
        assert_eq!(
            (&import["ErrorCount"], &import["ProcessedItemCount"]),
            (&json!(0), &json!(5)),
            "{case}: {import}"
        );
        let expected = [
            (" c ", "#3", " y "),
            ("#", "#4", "\t"),
            ("a", "#1", " x "),
            ("b", " 2 ", "#"),
            ("d", " # ", "  "),
        ];
        let expected = expected.map(|(pk, n, v)| json!({"pk": {"S": pk}, "#n": {"S": n}, " v ": {"S": v}}));
        assert_eq!(twin.items("copy").into_values().collect::<Vec<_>>(), expected, "{case}");
    }
}

/// A line with more values than names is an error like one with fewer, whoever gives the names.
#[test]
fn csv_lines_have_as_many_values_as_names() {
    for (case, header, list) in [
        ("a line of names", "pk,v\n", Value::Null),
        ("a list of names", "", json!({"Csv": {"HeaderList": ["pk", "v"]}})),
    ] {
        let twin = Twin::new(&format!("csv-values-{}", header.len()));
        let rows = format!("{header}a,1\nmore,1,2\nmany,1,2,3,4\nempty,1,\nfewer\nb,\nc,3\n");
        twin.write("rows", rows.as_bytes());
        let mut more = json!({"InputFormat": "CSV"});
        if !list.is_null() {
            more["InputFormatOptions"] = list;
        }
        let import = twin.import("rows", more);
        let counts = ["ProcessedItemCount", "ImportedItemCount", "ErrorCount"].map(|name| import[name].clone());
        assert_eq!(counts, [json!(7), json!(3), json!(4)], "{case}: {import}");
        let values: Vec<_> = twin.items("copy").into_values().collect();
        let expected = [("a", "1"), ("b", ""), ("c", "3")];
        assert_eq!(
            values,
            expected.map(|(pk, v)| json!({"pk": {"S": pk}, "v": {"S": v}})),
            "{case}"
        );
    }
}

/// Each object has its own line of names, in any order, and none if the names are given.
#[test]
fn csv_objects_have_their_own_names() {
    for (case, list, objects) in [
        (
            "line",
            Value::Null,
            ["pk,v\na,1\nb,2\n", "v,pk\n3,c\n", "pk,v\n", "w,pk,v\n5,d,4\n"],
        ),
        (
            "list",
            json!({"Csv": {"HeaderList": ["pk", "v"]}}),
            ["a,1\nb,2\n", "c,3\n", "", "d,4\n"],
        ),
    ] {
        let twin = Twin::new(&format!("csv-objects-{case}"));
        for (at, text) in (1..).zip(objects) {
            twin.write(&format!("in/{at}"), text.as_bytes());
        }
        let mut more = json!({"InputFormat": "CSV"});
        if !list.is_null() {
            more["InputFormatOptions"] = list;
        }
        let import = twin.import("in/", more);
        let counts = ["ProcessedItemCount", "ImportedItemCount", "ErrorCount"].map(|name| import[name].clone());
        assert_eq!(counts, [json!(4), json!(4), json!(0)], "{case}: {import}");
        let expected = [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")];
        let mut expected = expected.map(|(pk, v)| json!({"pk": {"S": pk}, "v": {"S": v}}));
        if case == "line" {
            expected[3]["w"] = json!({"S": "5"});
        }
        assert_eq!(twin.items("copy").into_values().collect::<Vec<_>>(), expected, "{case}");
    }
}

/// Attributes of keys, of the table's and of its indexes', have their declared types; others are strings, also those whose
/// names differ from a key's in case or are a part of it.
#[test]
fn csv_keys_have_their_types() {
    let twin = Twin::new("csv-keys");
    twin.write(
        "rows",
        b"v,sort,g,hash,G,HASH,has\n1,AQI=,7,5,x,y,z\n2,AQM=,8,5,6,6,6\n",
    );
    let parameters = json!({
        "TableName": "copy", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "g", "AttributeType": "N"}, {"AttributeName": "hash", "AttributeType": "N"},
            {"AttributeName": "sort", "AttributeType": "B"},
        ],
        "KeySchema": [
            {"AttributeName": "hash", "KeyType": "HASH"}, {"AttributeName": "sort", "KeyType": "RANGE"},
        ],
        "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"}}],
    });
    let more = json!({"InputFormat": "CSV", "TableCreationParameters": parameters});
    let import = twin.import("rows", more);
    assert_eq!(import["ErrorCount"], 0, "{import}");
    let query = json!({"TableName": "copy", "KeyConditionExpression": "#h = :five",
        "ExpressionAttributeNames": {"#h": "hash"}, "ExpressionAttributeValues": {":five": {"N": "5"}}});
    assert_eq!(
        twin.ok("Query", &query)["Items"],
        json!([
            {"hash": {"N": "5"}, "sort": {"B": "AQI="}, "g": {"N": "7"}, "v": {"S": "1"},
                "G": {"S": "x"}, "HASH": {"S": "y"}, "has": {"S": "z"}},
            {"hash": {"N": "5"}, "sort": {"B": "AQM="}, "g": {"N": "8"}, "v": {"S": "2"},
                "G": {"S": "6"}, "HASH": {"S": "6"}, "has": {"S": "6"}},
        ])
    );
}

/// Objects are read in the order of their keys' bytes, not of their folders: a later record of the same item replaces an
/// earlier one.
#[test]
fn objects_are_read_in_the_order_of_their_keys() {
    let twin = Twin::new("order");
    for (key, v) in [("in/a/x", "later"), ("in/a-x", "earlier")] {
        let record = json!({"Item": {"pk": {"S": "a"}, "v": {"S": v}}}).to_string();
        twin.write(key, record.as_bytes());
    }
    twin.import("in/", json!({}));
    assert_eq!(twin.items("copy")[r#"{"S":"a"}"#]["v"], json!({"S": "later"}));
}

#[test]
fn the_summary_of_an_export_names_its_encryption() {
    let twin = Twin::new("encrypted");
    let key = "arn:aws:kms:us-east-1:000000000000:key/12345678-1234-1234-1234-123456789012";
    for (more, algorithm, expected) in [
        (
            json!({"S3SseAlgorithm": "KMS", "S3SseKmsKeyId": key}),
            "KMS",
            json!(key),
        ),
        (json!({"S3SseAlgorithm": "KMS"}), "KMS", Value::Null),
        (json!({"S3SseAlgorithm": "AES256"}), "AES256", Value::Null),
    ] {
        twin.pass(1);
        let export = twin.export(more);
        let summary = twin.json(export["ExportManifest"].as_str().unwrap());
        assert_eq!(summary["s3SseAlgorithm"], algorithm);
        assert_eq!(summary["s3SseKmsKeyId"], expected, "{algorithm}");
    }
}

/// Editors write CSV with a byte order mark, which is not part of the first name.
#[test]
fn a_byte_order_mark_is_not_imported() {
    let twin = Twin::new("mark");
    twin.write("rows", "\u{feff}pk,v\na,1\n".as_bytes());
    let import = twin.import("rows", json!({"InputFormat": "CSV"}));
    assert_eq!(import["ErrorCount"], 0, "{import}");
    assert_eq!(
        twin.items("copy").into_values().collect::<Vec<_>>(),
        [json!({"pk": {"S": "a"}, "v": {"S": "1"}})]
    );
}

/// Every object under the prefix is read, an empty one too, and their sizes are added.
#[test]
fn an_import_reads_all_objects_of_its_prefix() {
    for (compression, compressed) in [
        ("NONE", <[u8]>::to_vec as fn(&[u8]) -> Vec<u8>),
        ("GZIP", gzip),
        ("ZSTD", zstd),
    ] {
        let twin = Twin::new(&format!("objects-{compression}"));
        let objects =
            ["a", "b"].map(|key| compressed(format!("{{\"Item\":{{\"pk\":{{\"S\":\"{key}\"}}}}}}\n").as_bytes()));
        twin.write("in/1", &objects[0]);
        twin.write("in/2", b"");
        twin.write("in/3", &objects[1]);
        twin.write("other", b"no record");
        let import = twin.import("in/", json!({"InputCompressionType": compression}));
        let bytes: usize = objects.iter().map(Vec::len).sum();
        let members = ["ImportedItemCount", "ErrorCount", "ProcessedSizeBytes"];
        assert_eq!(
            members.map(|member| import[member].clone()),
            [json!(2), json!(0), json!(bytes)],
            "{compression}: {import}"
        );
    }
}

#[test]
fn bad_lines_are_counted_and_good_ones_imported() {
    let twin = Twin::new("bad");
    twin.write(
        "in/1",
        br#"{"Item":{"pk":{"S":"good"}}}
{"Item":{"other":{"S":"no key"}}}
{"Item":{"pk":{"N":"1"}}}
{"Item":{"pk":{"S":"index"},"g":{"S":"no number"}}}
{"Item":{"pk":{"S":"set"},"s":{"SS":[]}}}
{"NoItem":{}}

{"Item":{"pk":{"S":"also good"}}}
"#,
    );
    twin.write(
        "in/2",
        b"{\"Item\":{\"pk\":{\"S\":\"first\"}}}\n{\"Item\":\n{\"Item\":{\"pk\":{\"S\":\"never\"}}}\n",
    );
    twin.write("in/3", b"{\"Item\":{\"pk\":{\"S\":\"another object\"}}}");
    twin.write("out/4", b"{\"Item\":{\"pk\":{\"S\":\"not under the prefix\"}}}");
    let import = twin.import("in/", json!({}));
    assert_eq!(import["ImportStatus"], "FAILED");
    assert_eq!(import["FailureCode"], "ItemValidationError");
    assert_eq!(
        import["FailureMessage"],
        "Some of the items failed validation checks and were not imported. Please check CloudWatch error logs for more details."
    );
    let counts = ["ProcessedItemCount", "ImportedItemCount", "ErrorCount"].map(|name| import[name].clone());
    assert_eq!(counts, [json!(10), json!(4), json!(6)]);
    let keys: Vec<String> = twin.items("copy").into_keys().collect();
    assert_eq!(keys.len(), 4);
    assert!(
        !keys.iter().any(|key| key.contains("never")),
        "a line that is not JSON ends its object"
    );
    assert_eq!(
        twin.ok("DescribeTable", &json!({"TableName": "copy"}))["Table"]["TableStatus"],
        "ACTIVE"
    );
}

#[test]
fn a_line_may_have_several_objects() {
    let twin = Twin::new("several");
    twin.write(
        "in/1",
        br#"{"Item":{"pk":{"S":"a}{\\\""}}}{"Item":{"pk":{"S":"b"}}} {"Item":{"pk":{"N":"1"}}}{"Item":{"pk":{"S":"c"}}}
{"Item":{"pk":{"S":"d"}}}
{"Item":{"pk":{"S":"e"}}}{"Item":{"pk":{"S":"never"}}
{"Item":{"pk":{"S":"never either"}}}
"#,
    );
    // What follows an object and is none makes the line invalid.
    twin.write("in/2", br#"{"Item":{"pk":{"S":"f"}}} {"Item":{"pk":{"S":"never"}}},"#);
    let import = twin.import("in/", json!({}));
    let counts = ["ProcessedItemCount", "ImportedItemCount", "ErrorCount"].map(|name| import[name].clone());
    assert_eq!(counts, [json!(9), json!(6), json!(3)]);
    let keys: Vec<String> = twin.items("copy").into_keys().collect();
    assert_eq!(keys.len(), 6);
    assert!(!keys.iter().any(|key| key.contains("never")), "{keys:?}");
}

#[test]
fn a_broken_object_is_one_error() {
    for (compression, bytes) in [
        ("GZIP", b"no gzip".to_vec()),
        ("ZSTD", b"no zstd".to_vec()),
        ("GZIP", gzip(b"{}")[..12].to_vec()),
        ("NONE", vec![0xff; 100]),
    ] {
        let twin = Twin::new(&format!("broken-{compression}"));
        twin.write("bytes", &bytes);
        let import = twin.import("bytes", json!({"InputCompressionType": compression}));
        assert_eq!(
            (&import["ImportStatus"], &import["ErrorCount"]),
            (&json!("FAILED"), &json!(1)),
            "{compression}"
        );
    }
}

/// The records before a place that cannot be read are imported, and so are the other objects. The place is an error with
/// the number of the next record.
#[test]
fn records_before_an_unreadable_place_are_imported() {
    let formats = [
        ("DYNAMODB_JSON", r#"{"Item":{"pk":{"S":"KEY"}}}"#),
        ("ION", r#"{Item:{pk:"KEY"}}"#),
        ("CSV", "KEY"),
    ];
    for (format, record) in formats {
        let line = |key: &[u8]| {
            let (before, after) = record.split_once("KEY").unwrap();
            [before.as_bytes(), key, after.as_bytes(), b"\n"].concat()
        };
        let [a, b, c] = [b"a", b"b", b"c"].map(|key| line(key));
        let header = if format == "CSV" { &b"pk\n"[..] } else { b"" };
        let start = [header, &a, &b].concat();
        for (case, compression, object) in [
            ("not UTF-8", "NONE", [&start, &line(b"\xff")[..], &c].concat()),
            ("truncated", "GZIP", gzip(&start)[..gzip(&start).len() - 4].to_vec()),
            ("not gzip", "GZIP", [gzip(&start), b"rest".to_vec()].concat()),
            (
                "truncated",
                "ZSTD",
                [zstd(&start), zstd(&c)[..zstd(&c).len() - 1].to_vec()].concat(),
            ),
            ("not zstd", "ZSTD", [zstd(&start), b"rest".to_vec()].concat()),
        ] {
            let context = format!("{format}, {compression}, {case}");
            let twin = Twin::new(&format!("unreadable-{format}-{compression}-{}", case.len()));
            let compressed = match compression {
                "GZIP" => gzip,
                "ZSTD" => zstd,
                _ => <[u8]>::to_vec as fn(&[u8]) -> Vec<u8>,
            };
            let intact = compressed(&[header, &c].concat());
            twin.write("in/1", &object);
            twin.write("in/2", &intact);
            let import = twin.import(
                "in/",
                json!({"InputFormat": format, "InputCompressionType": compression}),
            );
            let counts = ["ImportedItemCount", "ErrorCount"].map(|name| import[name].clone());
            assert_eq!(counts, [json!(3), json!(1)], "{context}: {import}");
            if compression != "NONE" {
                assert_eq!(import["ProcessedSizeBytes"], intact.len(), "{context}");
            }
            assert_eq!(twin.items("copy").len(), 3, "{context}");
            // Bulk operations read no CSV.
            if format == "CSV" {
                continue;
            }
            let input = json!({"S3Bucket": "data", "S3KeyPrefix": "in/", "InputFormat": format,
                "InputCompressionType": compression});
            let done = twin.bulk("in/", json!({"InputS3Configuration": input}));
            let id = done["BulkOperationArn"].as_str().unwrap().rsplit('/').next().unwrap();
            let errors = fs::read_to_string(twin.path(&format!("AWSDynamoDB/{id}/errors.json"))).unwrap();
            let error: Value = serde_json::from_str(&errors).unwrap();
            assert_eq!(
                (&error["object"], &error["record"]),
                (&json!("in/1"), &json!(3)),
                "{context}"
            );
            assert!(
                error["message"].as_str().is_some_and(|message| !message.is_empty()),
                "{context}: {error}"
            );
            assert_eq!(
                (error.get("Item"), error.get("ExistingItem")),
                (None, None),
                "{context}"
            );
        }
    }
}

/// A few compressed kilobytes can contain gigabytes. A record is limited to 16 MB, in every format.
#[test]
fn records_are_bounded() {
    const LONG: usize = 17 * 1024 * 1024;
    let twin = Twin::new("bounded");
    for (format, good, unit) in [
        ("CSV", "pk,v\na,1\n", ","),
        ("CSV", "pk,v\na,1\n", "x"),
        ("CSV", "pk,v\na,1\nb,\"", "\n"),
        ("ION", "{Item:{pk:\"a\",v:\"1\"}}", "["),
        ("ION", "{Item:{pk:\"a\",v:\"1\"}}{Item:{pk:\"", "b"),
        ("ION", "{Item:{pk:\"a\",v:\"1\"}}{Item:{pk:1", " "),
        (
            "DYNAMODB_JSON",
            "{\"Item\":{\"pk\":{\"S\":\"a\"},\"v\":{\"S\":\"1\"}}}\n",
            " ",
        ),
    ] {
        let text = format!("{good}{}", unit.repeat(LONG));
        twin.write("bomb/object", &gzip(text.as_bytes()));
        let import = twin.import("bomb/", json!({"InputFormat": format, "InputCompressionType": "GZIP"}));
        assert_eq!(import["ImportedItemCount"], 1, "{format} {unit:?}: {import}");
        assert_eq!(import["ErrorCount"], 1, "{format} {unit:?}: {import}");
        twin.ok("DeleteTable", &json!({"TableName": "copy"}));
    }
    // A header with only names.
    twin.write("bomb/object", &gzip(",".repeat(LONG / 2).as_bytes()));
    let import = twin.import("bomb/", json!({"InputFormat": "CSV", "InputCompressionType": "GZIP"}));
    assert_eq!(import["ErrorCount"], 1, "{import}");
    twin.ok("DeleteTable", &json!({"TableName": "copy"}));
    // An object with many records may have any length, and so may the space between two records.
    let rows = (0..60).map(|number| format!("{number},{}\n", "x".repeat(300_000)));
    twin.write(
        "bomb/object",
        &gzip(format!("pk,v\n{}", rows.collect::<String>()).as_bytes()),
    );
    let import = twin.import("bomb/", json!({"InputFormat": "CSV", "InputCompressionType": "GZIP"}));
    assert_eq!(
        (&import["ImportedItemCount"], &import["ErrorCount"]),
        (&json!(60), &json!(0)),
        "{import}"
    );
    twin.ok("DeleteTable", &json!({"TableName": "copy"}));
    let space = " ".repeat(LONG);
    let many = format!("{{Item:{{pk:\"a\"}}}}{space}/*{space}*/{{Item:{{pk:\"b\"}}}}");
    twin.write("bomb/object", &gzip(many.as_bytes()));
    let import = twin.import("bomb/", json!({"InputFormat": "ION", "InputCompressionType": "GZIP"}));
    assert_eq!(
        (&import["ImportedItemCount"], &import["ErrorCount"]),
        (&json!(2), &json!(0)),
        "{import}"
    );
}

/// A record may have as many bytes as a request, without its line end. Reading ends at a longer one.
#[test]
fn a_record_has_a_largest_size() {
    let twin = Twin::new("largest");
    let header = json!({"InputFormat": "CSV", "InputFormatOptions": {"Csv": {"HeaderList": ["pk", "v"]}}});
    // What precedes and follows the bytes that fill a record, and the object's next record.
    for (format, options, [before, fill, after], next) in [
        (
            "lines of JSON",
            json!({}),
            [r#"{"Item":{"pk":{"S":"a"}}}"#, " ", ""],
            "\n{\"Item\":{\"pk\":{\"S\":\"b\"}}}",
        ),
        (
            "one line of JSON",
            json!({}),
            [r#"{"Item":{"pk":{"S":"a"}}} {"Item":{"pk":{"S":"b"}}}"#, " ", ""],
            "",
        ),
        (
            "Ion",
            json!({"InputFormat": "ION"}),
            [r#"{Item:{pk:"a"}"#, " ", "}"],
            r#"{Item:{pk:"b"}}"#,
        ),
        // The first record is too large for an item, and only the second is imported.
        ("CSV", header, ["a,", "x", "\n"], "b,1\n"),
    ] {
        for (longer, reads_on) in [(0, true), (1, false)] {
            let filled = REQUEST_BODY - before.len() - after.len() + longer;
            let text = [before, &fill.repeat(filled), after, next].concat();
            twin.write("in/object", text.as_bytes());
            let import = twin.import("in/", options.clone());
            let items = twin.items("copy");
            assert_eq!(items.contains_key(r#"{"S":"b"}"#), reads_on, "{format}: {import}");
            assert_eq!(
                import["ErrorCount"],
                u64::from(!reads_on || format == "CSV"),
                "{format}: {import}"
            );
            twin.ok("DeleteTable", &json!({"TableName": "copy"}));
        }
    }
}

#[cfg(unix)]
#[test]
fn exports_follow_no_links_out_of_the_bucket() {
    use std::os::unix::fs::symlink;
    let twin = Twin::new("links");
    twin.put(&json!({"pk": {"S": "a"}}));
    let outside = twin.folder.join("outside");
    fs::create_dir_all(&outside).unwrap();
    symlink(&outside, twin.path("linked")).unwrap();
    fs::create_dir_all(twin.path("deep")).unwrap();
    symlink(&outside, twin.path("deep/AWSDynamoDB")).unwrap();
    for prefix in ["linked", "linked/further", "deep"] {
        let export = twin.export(json!({"S3Prefix": prefix}));
        assert_eq!(export["ExportStatus"], "FAILED", "{export}");
        assert_eq!(export["FailureCode"], "S3AccessDenied", "{export}");
        let message = export["FailureMessage"].as_str().unwrap();
        assert!(
            message.starts_with("Access Denied: ") && message.ends_with(" is a link"),
            "{export}"
        );
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "nothing was written");
    assert_eq!(twin.export(json!({"S3Prefix": "own"}))["ExportStatus"], "COMPLETED");
}

/// An export that fails while it writes its data has started, but has no manifests, which would mark the data as complete.
#[test]
fn an_export_that_fails_has_no_manifest() {
    let twin = Twin::new("no-manifest");
    twin.put(&json!({"pk": {"S": "a"}}));
    let from = twin.seconds();
    twin.pass(3600);
    // The folder of the data cannot be created.
    twin.write("AWSDynamoDB/data", b"a file");
    for format in ["DYNAMODB_JSON", "ION"] {
        let span = json!({"ExportFromTime": from, "ExportToTime": from + 1800});
        let export = twin.export(json!({"ExportFormat": format, "ExportType": "INCREMENTAL_EXPORT",
            "IncrementalExportSpecification": span}));
        assert_eq!(
            (&export["ExportStatus"], &export["FailureCode"]),
            (&json!("FAILED"), &json!("S3AccessDenied")),
            "{export}"
        );
        let id = export["ExportArn"].as_str().unwrap().rsplit('/').next().unwrap();
        let written = fs::read_dir(twin.path(&format!("AWSDynamoDB/{id}"))).unwrap();
        let written: Vec<_> = written
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(written, ["_started"], "{format}");
    }
}

#[test]
fn a_missing_bucket_fails_the_export() {
    let twin = Twin::new("missing");
    for bucket in ["nothere", "a..b"] {
        let export = twin.export(json!({"S3Bucket": bucket}));
        assert_eq!(
            (&export["ExportStatus"], &export["FailureCode"]),
            (&json!("FAILED"), &json!("S3NoSuchBucket"))
        );
        assert!(export.get("ExportManifest").is_none());
    }
    let import = twin.import("", json!({"S3BucketSource": {"S3Bucket": "nothere"}}));
    assert_eq!(
        (&import["ImportStatus"], &import["FailureCode"]),
        (&json!("FAILED"), &json!("S3NoSuchBucket"))
    );
    assert_eq!(
        twin.send("DescribeTable", &json!({"TableName": "copy"})).0,
        400,
        "and no table"
    );
    let import = twin.import("nothing begins so", json!({}));
    assert_eq!(
        import["ImportStatus"], "COMPLETED",
        "an empty prefix makes an empty table"
    );
    assert!(twin.items("copy").is_empty());
}

#[test]
fn no_object_is_written_outside_of_the_bucket() {
    let twin = Twin::new("outside");
    let export = twin.export(json!({"S3Prefix": "../../outside"}));
    assert_eq!(
        (&export["ExportStatus"], &export["FailureCode"]),
        (&json!("FAILED"), &json!("S3AccessDenied"))
    );
    assert!(!twin.folder.join("outside").exists());
    assert_eq!(fs::read_dir(&twin.folder).unwrap().count(), 1);
}

#[test]
fn a_bulk_operation_writes_into_a_table() {
    let twin = Twin::new("bulk");
    twin.put(&json!({"pk": {"S": "there"}, "v": {"S": "kept"}}));
    twin.write(
        "in/1.json",
        br##"{"Item":{"pk":{"S":"a"},"g":{"N":"1"}}}
{"Item":{"pk":{"S":"there"},"v":{"S":"new"}},"ConditionExpression":"attribute_not_exists(#k)","ExpressionAttributeNames":{"#k":"pk"}}
{"Item":{"pk":{"S":"b"}},"ConditionExpression":"attribute_not_exists(pk)"}
{"Item":{"pk":{"N":"1"}}}
"##,
    );
    let done = twin.bulk("in/", json!({"ClientToken": "once"}));
    assert_eq!(done["BulkOperationStatus"], "COMPLETED_WITH_ERRORS");
    let counts = ["ProcessedItemCount", "FailedItemCount"].map(|name| done[name].clone());
    assert_eq!(
        counts,
        [json!(4), json!(1)],
        "a condition that fails is processed, and no failure"
    );
    let items = twin.items("tab");
    assert_eq!(items.len(), 3);
    assert_eq!(items[r#"{"S":"there"}"#]["v"], json!({"S": "kept"}));
    let usage = &done["BulkOperationUsage"][0];
    assert_eq!(usage["Table"]["BulkPutBytes"], 3 + 1 + 2 + 3);
    assert!(
        usage["GlobalSecondaryIndexes"]["by-g"]["BulkPutBytes"]
            .as_u64()
            .unwrap()
            > 0
    );
    let id = done["BulkOperationArn"].as_str().unwrap().rsplit('/').next().unwrap();
    let report = |name: &str| fs::read_to_string(twin.path(&format!("AWSDynamoDB/{id}/{name}"))).unwrap();
    let unmet: Value = serde_json::from_str(&report("condition-check-failures.json")).unwrap();
    assert_eq!(unmet["ExistingItem"], json!({"pk": {"S": "there"}, "v": {"S": "kept"}}));
    assert_eq!((&unmet["object"], &unmet["record"]), (&json!("in/1.json"), &json!(2)));
    assert_eq!(unmet["Item"], json!({"pk": {"S": "there"}, "v": {"S": "new"}}));
    let error: Value = serde_json::from_str(&report("errors.json")).unwrap();
    assert_eq!((&error["object"], &error["record"]), (&json!("in/1.json"), &json!(4)));
    assert_eq!(
        (&error["Item"], error.get("ExistingItem")),
        (&json!({"pk": {"N": "1"}}), None)
    );
    assert_eq!(
        error["message"],
        "One or more parameter values were invalid: Type mismatch for key pk expected: S actual: N"
    );
}

/// Errors have the number of their record in its object, whether it cannot be read or cannot be written.
#[test]
fn errors_of_a_bulk_operation_have_the_numbers_of_their_records() {
    let twin = Twin::new("bulk-numbers");
    let (good, unread, unwritten) = (
        r#"{"Item":{"pk":{"S":"a"}}}"#,
        r#"{"Item":{"pk":{"S":"a"},"n":{"N":"x"}}}"#,
        r#"{"Item":{"pk":{"N":"1"}}}"#,
    );
    twin.write(
        "in/1",
        [good, unread, unread, good, unwritten, unread].join("\n").as_bytes(),
    );
    twin.write("in/2", [unread, good, unwritten].join("\n").as_bytes());
    twin.write("in/3", [unwritten, unread].concat().as_bytes());
    let done = twin.bulk("in/", json!({}));
    let counts = ["ProcessedItemCount", "FailedItemCount"].map(|name| done[name].clone());
    assert_eq!(counts, [json!(11), json!(8)], "{done}");
    let id = done["BulkOperationArn"].as_str().unwrap().rsplit('/').next().unwrap();
    let errors = fs::read_to_string(twin.path(&format!("AWSDynamoDB/{id}/errors.json"))).unwrap();
    let place = |line: &str| {
        let error: Value = serde_json::from_str(line).unwrap();
        (
            error["object"].as_str().unwrap().to_owned(),
            error["record"].as_u64().unwrap(),
        )
    };
    let places: BTreeSet<_> = errors.lines().map(place).collect();
    let expected = [
        ("1", 2),
        ("1", 3),
        ("1", 5),
        ("1", 6),
        ("2", 1),
        ("2", 3),
        ("3", 1),
        ("3", 2),
    ];
    assert_eq!(
        places,
        expected.map(|(object, number)| (format!("in/{object}"), number)).into()
    );
}

#[test]
fn a_bulk_operation_lasts_as_long_as_its_units() {
    let twin = Twin::new("bulk-pace");
    let line = r#"{"Item":{"pk":{"S":"KEY"},"v":{"S":"VALUE"}}}"#;
    let line = line.replace("VALUE", &"v".repeat(10_000));
    let lines: Vec<String> = (0..4096)
        .map(|number| line.replace("KEY", &number.to_string()))
        .collect();
    twin.write("in/1.json", lines.join("\n").as_bytes());
    twin.engine
        .set_conditions(Conditions {
            table_status: Lag::Fixed(Duration::from_millis(1)),
            ..Conditions::AWS
        })
        .unwrap();
    let begun = twin.bulk("in/", json!({"MaxWriteRequestUnits": 1024}));
    let describe = || {
        let arn = json!({"BulkOperationArn": begun["BulkOperationArn"]});
        twin.ok("DescribeBulkOperation", &arn)["BulkOperationDescription"].clone()
    };
    // Ten units each: 40 seconds.
    twin.pass(39);
    assert_eq!(describe()["BulkOperationStatus"], "IN_PROGRESS");
    twin.pass(1);
    let done = describe();
    assert_eq!(done["BulkOperationStatus"], "COMPLETED", "nothing is throttled");
    assert_eq!(done["ProcessedItemCount"], 4096);
    assert_eq!(
        done["EndTime"].as_f64().unwrap() - done["StartTime"].as_f64().unwrap(),
        40.0
    );
    // The table's own capacity was not used.
    twin.put(&json!({"pk": {"S": "after"}}));
}

#[test]
fn a_bulk_operation_reports_the_entries_of_vector_indexes() {
    let twin = Twin::new("bulk-vectors");
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "tab", "VectorIndexUpdates": [{"Create": {
            "IndexName": "near", "VectorAttribute": {"AttributeName": "e"}, "Dimensions": 2,
            "DistanceFunction": "COSINE", "Projection": {"ProjectionType": "KEYS_ONLY"},
        }}]}),
    );
    twin.write(
        "in/1.json",
        br#"{"Item":{"pk":{"S":"a"},"e":{"L":[{"N":"1"},{"N":"2"}]}}}
{"Item":{"pk":{"S":"b"}}}"#,
    );
    let done = twin.bulk("in/", json!({}));
    let usage = &done["BulkOperationUsage"][0];
    assert_eq!(usage["VectorIndexes"], json!({"near": {"BulkPutVectorBytes": 1024}}));
    assert_eq!(usage["BulkPutBytes"], usage["Table"]["BulkPutBytes"]);
}

/// An object ends at the brace that closes it, whatever its texts and names contain. The texts are given as in JSON.
#[test]
fn objects_of_one_line_end_with_their_last_brace() {
    for (at, text) in [
        r"a\\",
        r"\\",
        r"\\\\",
        r"\\\\\\",
        r#"\""#,
        r#"\\\""#,
        r#"\"\\"#,
        r#"a\"b\\"#,
        "}",
        "{",
        "}{",
        r"}\\",
        r#"\"}"#,
        r#"{\"Item\":{}}"#,
        r"\n\\",
        r"\u005c",
        r"\u0022",
        r"\u007d\\",
        r"\/\\",
    ]
    .iter()
    .enumerate()
    {
        for (place, item) in [
            ("key", r#"{"pk":{"S":"TEXT"}}"#),
            ("value", r#"{"pk":{"S":"value"},"v":{"S":"TEXT"}}"#),
            ("name", r#"{"pk":{"S":"name"},"TEXT":{"BOOL":true}}"#),
            (
                "nested",
                r#"{"pk":{"S":"nested"},"v":{"M":{"TEXT":{"L":[{"S":"TEXT"},{"SS":["TEXT"]}]}}}}"#,
            ),
        ] {
            let twin = Twin::new(&format!("braces-{at}-{place}"));
            let first = format!("{{\"Item\":{}}}", item.replace("TEXT", text));
            let second = r#"{"Item":{"pk":{"S":"second"}}}"#;
            for (prefix, between) in [("in", ""), ("spaced", " \t ")] {
                twin.write(
                    &format!("{prefix}/1"),
                    format!("{first}{between}{second}{between}{first}\n").as_bytes(),
                );
                let done = twin.bulk(&format!("{prefix}/"), json!({}));
                let counts = ["ProcessedItemCount", "FailedItemCount"].map(|name| done[name].clone());
                assert_eq!(counts, [json!(3), json!(0)], "{first}: {done}");
            }
            let import = twin.import("in/", json!({}));
            let counts = ["ImportedItemCount", "ErrorCount"].map(|name| import[name].clone());
            assert_eq!(counts, [json!(3), json!(0)], "{first}: {import}");
            assert_eq!(twin.items("copy").len(), 2, "{first}");
        }
    }
}

/// Records of Ion and CSV end where they end, whatever their texts contain.
#[test]
fn texts_with_quotes_and_braces_end_no_record() {
    for (at, (format, texts)) in [
        ("ION", r#"{Item:{pk:"a\\"}}{Item:{pk:"b"}}"#),
        ("ION", r#"{Item:{pk:"a\"}}\\"}} {Item:{pk:"b"}}"#),
        ("ION", r"{Item:{pk:'''a\\'''}}{Item:{pk:'''b'''}}"),
        ("ION", r#"{Item:{'pk':"a",'x\\':1.}}{Item:{pk:"b"}}"#),
        ("ION", r#"{Item:{pk:"a",b:{{AQ==}}}}{Item:{pk:"b"}}"#),
        ("CSV", "pk,v\n\"a\",\"x\\\"\n\"b\",y\n"),
        ("CSV", "pk,v\n\"a\",\"x\"\"\"\n\"b\",\"\"\"\"\n"),
        ("CSV", "pk,v\na,\"x\n,y\"\nb,\"\r\n\"\n"),
        ("CSV", "pk,v\na,{\nb,}"),
    ]
    .iter()
    .enumerate()
    {
        let twin = Twin::new(&format!("texts-{at}"));
        twin.write("rows", texts.as_bytes());
        let import = twin.import("rows", json!({"InputFormat": format}));
        let counts = ["ProcessedItemCount", "ImportedItemCount", "ErrorCount"].map(|name| import[name].clone());
        assert_eq!(counts, [json!(2), json!(2), json!(0)], "{texts}: {import}");
        assert_eq!(twin.items("copy").len(), 2, "{texts}");
    }
}

/// A blank line of a DynamoDB JSON file is no record, whatever ends the lines and however many spaces it has.
#[test]
fn blank_lines_are_no_records() {
    for (at, between) in ["\n", "\n\n", "\r\n", "\r\n\r\n", "\n \n", "\n\t \r\n", "\n\r\n \n"]
        .iter()
        .enumerate()
    {
        let twin = Twin::new(&format!("blank-{at}"));
        let lines = ["a", "b"].map(|key| format!(r#"{{"Item":{{"pk":{{"S":"{key}"}}}}}}"#));
        let text = format!("{between}{}{between}", lines.join(between));
        twin.write("rows", text.as_bytes());
        let import = twin.import("rows", json!({"InputFormat": "DYNAMODB_JSON"}));
        let counts = ["ProcessedItemCount", "ImportedItemCount", "ErrorCount"].map(|name| import[name].clone());
        assert_eq!(counts, [json!(2), json!(2), json!(0)], "{between:?}: {import}");
        assert_eq!(twin.items("copy").len(), 2, "{between:?}");
    }
}

/// Each requested report is written, one without records as an empty object; none that was not requested is.
#[test]
fn the_reports_of_a_bulk_operation_are_those_requested() {
    const GOOD: &str = r#"{"Item":{"pk":{"S":"a"}}}"#;
    const WRONG: &str = r#"{"Item":{"pk":{"N":"1"}}}"#;
    const UNREAD: &str = r#"{"NoItem":{}}"#;
    const UNMET: &str = r#"{"Item":{"pk":{"S":"b"}},"ConditionExpression":"attribute_exists(pk)"}"#;
    let both = ["ERROR", "CONDITION_CHECK_FAILURE"];
    let files = ["errors.json", "condition-check-failures.json"];
    for (at, (records, counts)) in [
        (&[][..], [0, 0]),
        (&[GOOD], [0, 0]),
        (&[GOOD, WRONG], [1, 0]),
        (&[UNREAD, GOOD, WRONG], [2, 0]),
        (&[UNMET, GOOD], [0, 1]),
        (&[UNMET, UNMET, WRONG], [1, 2]),
    ]
    .into_iter()
    .enumerate()
    {
        for requested in [&[][..], &both[..1], &both[1..], &both] {
            for place in [
                json!({}),
                json!({"S3KeyPrefix": "reports"}),
                json!({"S3KeyPrefix": "deep/reports/"}),
                json!({"S3Bucket": "other"}),
            ] {
                let twin = Twin::new(&format!("reports-{at}"));
                fs::create_dir_all(twin.folder.join("other")).unwrap();
                twin.write("in/1", records.join("\n").as_bytes());
                let output = with(json!({"OutputType": requested}), place.clone());
                let done = twin.bulk("in/", json!({"OutputS3Configuration": output}));
                let context = format!("{records:?}, {requested:?}, {place}: {done}");
                let id = done["BulkOperationArn"].as_str().unwrap().rsplit('/').next().unwrap();
                let bucket = twin.folder.join(place["S3Bucket"].as_str().unwrap_or("data"));
                let prefix = place["S3KeyPrefix"].as_str().unwrap_or_default();
                let folder = bucket.join(prefix).join("AWSDynamoDB").join(id);
                for ((output, file), count) in both.iter().zip(files).zip(counts) {
                    let report = fs::read_to_string(folder.join(file)).ok();
                    let expected = requested.contains(output).then_some(count);
                    assert_eq!(report.map(|text| text.lines().count()), expected, "{file}: {context}");
                }
            }
        }
    }
}

/// Records are numbered from 1 in each object, in every format and compression, and an empty object has none.
#[test]
fn records_are_numbered_in_their_object() {
    let json = [
        "{\"Item\":{\"pk\":{\"S\":\"a\"}}}\n{\"Item\":{\"pk\":{\"N\":\"1\"}}}\n",
        "{\"Item\":{\"pk\":{\"S\":\"b\"}}}\n{\"Item\":{\"pk\":{\"S\":\"c\"}}}\n{\"Item\":{\"pk\":{\"N\":\"1\"}}}\n",
        "{\"Item\":{\"pk\":{\"N\":\"1\"}}}\n",
    ];
    let ion = [
        "$ion_1_0 {Item:{pk:\"a\"}}\n$ion_1_0 {Item:{pk:1.}}\n",
        "{Item:{pk:\"b\"}} {Item:{pk:\"c\"}}\r{Item:{pk:1}}",
        "// one\r\n{Item:{pk:1}}",
    ];
    for (format, objects) in [("DYNAMODB_JSON", json), ("ION", ion)] {
        for (compression, compressed) in [
            ("NONE", <[u8]>::to_vec as fn(&[u8]) -> Vec<u8>),
            ("GZIP", gzip),
            ("ZSTD", zstd),
        ] {
            let context = format!("{format}, {compression}");
            let twin = Twin::new(&format!("numbers-{format}-{compression}"));
            for (key, text) in ["in/1", "in/3", "in/4"].into_iter().zip(objects) {
                twin.write(key, &compressed(text.as_bytes()));
            }
            twin.write("in/0", b"");
            twin.write("in/2", b"");
            let input = json!({"S3Bucket": "data", "S3KeyPrefix": "in/", "InputFormat": format,
                "InputCompressionType": compression});
            let done = twin.bulk("in/", json!({"InputS3Configuration": input}));
            let counts = ["ProcessedItemCount", "FailedItemCount"].map(|name| done[name].clone());
            assert_eq!(counts, [json!(6), json!(3)], "{context}: {done}");
            let id = done["BulkOperationArn"].as_str().unwrap().rsplit('/').next().unwrap();
            let errors = fs::read_to_string(twin.path(&format!("AWSDynamoDB/{id}/errors.json"))).unwrap();
            let places = errors.lines().map(|line| {
                let error: Value = serde_json::from_str(line).unwrap();
                format!("{} {}", error["object"].as_str().unwrap(), error["record"])
            });
            let places: Vec<String> = places.collect();
            assert_eq!(places, ["in/1 2", "in/3 3", "in/4 1"], "{context}");
        }
    }
}

/// Every delimiter that ImportTable accepts separates the values of each line, with the names in the file or in the request;
/// an empty value is an empty string.
#[test]
fn every_delimiter_of_csv() {
    for (at, delimiter) in [None, Some(","), Some("\t"), Some(":"), Some(";"), Some("|"), Some(" ")]
        .into_iter()
        .enumerate()
    {
        for is_listed in [false, true] {
            let twin = Twin::new(&format!("delimiter-{at}-{is_listed}"));
            let rows = ["a,1,", "b,2,\"x,y\"", "c,3,\"say \"\"x\"\"\"", "d,4,\"\""];
            let header = if is_listed { "" } else { "pk,g,v\n" };
            let text = format!("{header}{}\n", rows.join("\n")).replace(',', delimiter.unwrap_or(","));
            twin.write("rows", text.as_bytes());
            let mut csv = json!({});
            if let Some(delimiter) = delimiter {
                csv["Delimiter"] = delimiter.into();
            }
            if is_listed {
                csv["HeaderList"] = json!(["pk", "g", "v"]);
            }
            let mut more = json!({"InputFormat": "CSV"});
            if csv != json!({}) {
                more["InputFormatOptions"] = json!({"Csv": csv});
            }
            let import = twin.import("rows", more);
            let context = format!("{delimiter:?}, listed {is_listed}: {import}");
            assert_eq!(import["ErrorCount"], 0, "{context}");
            let quoted = format!("x{}y", delimiter.unwrap_or(","));
            let values = [
                ("a", "1", ""),
                ("b", "2", &quoted),
                ("c", "3", "say \"x\""),
                ("d", "4", ""),
            ];
            let expected = values.map(|(pk, g, v)| json!({"pk": {"S": pk}, "g": {"N": g}, "v": {"S": v}}));
            let items: Vec<Value> = twin.items("copy").into_values().collect();
            assert_eq!(items, expected, "{context}");
        }
    }
}
