//! `cargo xtask bench --scale`: how the cost of operations grows with the size of a table. `BENCH_ITEMS` sets the largest
//! size (200,000).

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http::Connection;
use super::{gauge, setting};
use crate::server::Server;
use crate::shell::{self, Outcome, cargo, run};

/// Items of a batch, and seconds over which expiries are spread.
const BATCH: usize = 25;
const SPREAD: usize = 20_000;

const START: usize = 1_767_225_600;

/// The bytes of an item without the text of `v`: `pk` 16, `g` 13, `ttl` 9 and the name `v` 1.
const OTHER_BYTES: usize = 39;

/// How long memory may take to be returned.
const RETURNS: Duration = Duration::from_secs(15);

/// A server with a settable clock, its folder of buckets, and a connection to it.
struct Bench {
    server: Server,
    connection: Connection,
}

/// Runs all measurements and prints a table for each.
pub fn scale() -> Outcome<()> {
    let items = setting("BENCH_ITEMS", 200_000)? as usize;
    run(cargo().args(["build", "--release", "--package", "dynatwin-server"]))?;
    let sizes = [items / 8, items / 4, items / 2, items];
    println!(
        "Time to live with a global index, {SPREAD} s in one step\n{:>12}{:>12}{:>12}{:>10}",
        "items", "CPU s", "us an item", "growth"
    );
    grown(&sizes, 1e6, time_to_live)?;
    println!("\nLongest wait of a GetItem beside a long operation on {items} items, ms");
    println!(
        "{:24}{:>12}{:>12}{:>16}",
        "", "operation", "same table", "another table"
    );
    for operation in OPERATIONS {
        stall(operation, items)?;
    }
    println!(
        "\nMemory, MB\n{:>12}{:>12}{:>12}{:>12}{:>16}",
        "items", "idle", "filled", "deleted", "not returned"
    );
    for size in sizes {
        returned(size)?;
    }
    println!(
        "\nMemory of an item, bytes, of {items} items\n{:>12}{:>12}{:>12}",
        "item", "written", "read"
    );
    for bytes in [176, 1024] {
        per_item(items, bytes)?;
    }
    println!(
        "\nA stale read, by changes in its window\n{:>12}{:>12}{:>12}{:>10}",
        "changes", "CPU s", "us a read", "growth"
    );
    grown(&[1000, 10_000, 100_000], 1e6, stale_reads)
}

/// Prints the cost of each size per unit, and its ratio to the cost of the previous size.
fn grown(sizes: &[usize], scale: f64, measure: fn(usize) -> Outcome<(f64, usize)>) -> Outcome<()> {
    let mut before = None;
    for size in sizes {
        let (seconds, units) = measure(*size)?;
        let growth = before.map_or(String::new(), |before: f64| format!("{:.1}x", seconds / before));
        println!(
            "{size:>12}{seconds:>12.2}{:>12.1}{growth:>10}",
            seconds * scale / units as f64
        );
        before = Some(seconds.max(0.01));
    }
    Ok(())
}

impl Bench {
    fn start() -> Outcome<Bench> {
        let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| shell::root().join("target"), PathBuf::from);
        let buckets = folder.join("bench-buckets");
        std::fs::create_dir_all(buckets.join("shelf")).map_err(|error| format!("{}: {error}", buckets.display()))?;
        let buckets = buckets.display().to_string();
        let words = ["--clock", "settable", "--log", "off", "--s3-dir", &buckets, "--port"];
        let server = Server::start(&folder.join("release/dynatwin"), &words)?;
        let connection = Connection::open(server.port())?;
        Ok(Bench { server, connection })
    }

    /// Creates a table, optionally with a global index.
    fn table(&mut self, name: &str, index: bool) -> Outcome<()> {
        let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
        let mut table = json!({
            "TableName": name, "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": &attributes[..1],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
        if index {
            table["AttributeDefinitions"] = attributes.to_vec().into();
            table["GlobalSecondaryIndexes"] = json!([index_by_g()]);
        }
        self.connection.must("CreateTable", &table).map(drop)
    }

    fn enable_time_to_live(&mut self, name: &str) -> Outcome<()> {
        let specification = json!({"Enabled": true, "AttributeName": "ttl"});
        let live = json!({"TableName": name, "TimeToLiveSpecification": specification});
        self.connection.must("UpdateTimeToLive", &live).map(drop)
    }

    /// Writes `items` items of `bytes` bytes, as the service counts them. Their expiries are spread over `spread` seconds.
    fn fill(&mut self, table: &str, items: usize, bytes: usize, spread: usize) -> Outcome<()> {
        let filler = "v".repeat(bytes - OTHER_BYTES);
        for first in (0..items).step_by(BATCH) {
            let put = |at: usize| {
                let expires = START + 1 + at * spread / items;
                json!({"PutRequest": {"Item": {"pk": {"S": format!("item-{at:09}")}, "g": {"S": format!("group-{:06}", at % 1000)},
                    "ttl": {"N": expires.to_string()}, "v": {"S": filler}}}})
            };
            let puts: Vec<Value> = (first..(first + BATCH).min(items)).map(put).collect();
            self.connection
                .must("BatchWriteItem", &json!({"RequestItems": {table: puts}}))?;
        }
        Ok(())
    }

    fn memory(&self) -> Outcome<f64> {
        gauge::resident_megabytes(self.server.id())
    }

    /// The processor time of the server while `work` runs, in seconds.
    fn cpu(&mut self, work: impl FnOnce(&mut Connection) -> Outcome<()>) -> Outcome<f64> {
        let before = gauge::cpu_seconds(self.server.id())?;
        work(&mut self.connection)?;
        Ok(gauge::cpu_seconds(self.server.id())? - before)
    }
}

fn index_by_g() -> Value {
    json!({"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}})
}

/// The cost of expiring all items.
fn time_to_live(items: usize) -> Outcome<(f64, usize)> {
    let mut bench = Bench::start()?;
    bench.table("big", true)?;
    bench.enable_time_to_live("big")?;
    bench.fill("big", items, 200, SPREAD)?;
    let advance = json!({"seconds": SPREAD + 1});
    let seconds = bench.cpu(|connection| connection.control("POST", "clock/advance", &advance))?;
    Ok((seconds, items))
}

/// The cost of reading items with `changes` changes in the staleness window.
fn stale_reads(changes: usize) -> Outcome<(f64, usize)> {
    const READS: usize = 5000;
    let mut bench = Bench::start()?;
    bench.table("big", false)?;
    let staleness = json!({"readStaleness": {"typical": 1800, "longest": 3600}});
    bench.connection.control("PUT", "conditions", &staleness)?;
    for first in (0..changes).step_by(BATCH * 40) {
        bench.fill("big", (changes - first).min(BATCH * 40), 200, 1_000_000)?;
        bench
            .connection
            .control("POST", "clock/advance", &json!({"seconds": 0.01}))?;
    }
    let key = json!({"TableName": "big", "Key": {"pk": {"S": "item-000000500"}}});
    let seconds = bench.cpu(|connection| (0..READS).try_for_each(|_| connection.must("GetItem", &key).map(drop)))?;
    Ok((seconds, READS))
}

/// Prints the memory of a table, and how much of it is returned when the table is deleted.
fn returned(items: usize) -> Outcome<()> {
    let mut bench = Bench::start()?;
    let idle = bench.memory()?;
    bench.table("big", false)?;
    bench.fill("big", items, 200, SPREAD)?;
    let filled = bench.memory()?;
    bench.connection.must("DeleteTable", &json!({"TableName": "big"}))?;
    let since = Instant::now();
    let mut deleted = bench.memory()?;
    while since.elapsed() < RETURNS && deleted > idle * 1.5 {
        thread::sleep(Duration::from_millis(200));
        deleted = deleted.min(bench.memory()?);
    }
    let kept = 100.0 * (deleted - idle) / (filled - idle);
    println!("{items:>12}{idle:>12.1}{filled:>12.1}{deleted:>12.1}{kept:>15.0}%");
    Ok(())
}

/// Prints the memory per item, before and after a read.
fn per_item(items: usize, bytes: usize) -> Outcome<()> {
    let mut bench = Bench::start()?;
    let idle = bench.memory()?;
    bench.table("big", false)?;
    bench.fill("big", items, bytes, SPREAD)?;
    let each = |megabytes: f64| (megabytes - idle) * 1024.0 * 1024.0 / items as f64;
    let written = each(bench.memory()?);
    let mut scan = json!({"TableName": "big"});
    loop {
        let page = bench.connection.must("Scan", &scan)?;
        if page["LastEvaluatedKey"].is_null() {
            break;
        }
        scan["ExclusiveStartKey"] = page["LastEvaluatedKey"].clone();
    }
    println!("{bytes:>12}{written:>12.0}{:>12.0}", each(bench.memory()?));
    Ok(())
}

/// A long operation: its name, its preparation, and the operation, which receives the result of the preparation.
type Operation = (
    &'static str,
    fn(&mut Connection) -> Outcome<Value>,
    fn(&mut Connection, &Value) -> Outcome<()>,
);

const OPERATIONS: [Operation; 9] = [
    ("create an index", described, |connection, _| {
        let update = json!({
            "TableName": "big", "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
            "GlobalSecondaryIndexUpdates": [{"Create": index_by_g()}]});
        connection.must("UpdateTable", &update).map(drop)
    }),
    ("write after a backup", backup, |connection, _| {
        let item = json!({"pk": {"S": "one more"}});
        connection
            .must("PutItem", &json!({"TableName": "big", "Item": item}))
            .map(drop)
    }),
    ("restore a backup", backup, |connection, backup| {
        let arn = &backup["BackupDetails"]["BackupArn"];
        let restore = json!({"TargetTableName": "copy", "BackupArn": arn});
        connection.must("RestoreTableFromBackup", &restore).map(drop)
    }),
    ("restore to a time", recovery, |connection, _| {
        let restore = json!({"SourceTableName": "big", "TargetTableName": "copy", "UseLatestRestorableTime": true});
        connection.must("RestoreTableToPointInTime", &restore).map(drop)
    }),
    ("export", recovery, |connection, _| export(connection).map(drop)),
    ("import", export, |connection, exported| {
        let arn = exported["ExportDescription"]["ExportArn"].as_str().unwrap_or_default();
        let id = arn.rsplit('/').next().unwrap_or_default();
        let import = json!({
            "S3BucketSource": {"S3Bucket": "shelf", "S3KeyPrefix": format!("AWSDynamoDB/{id}/data/")},
            "InputFormat": "DYNAMODB_JSON", "InputCompressionType": "GZIP",
            "TableCreationParameters": {
                "TableName": "copy", "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}});
        connection.must("ImportTable", &import).map(drop)
    }),
    ("expire all at once", described, |connection, _| {
        connection.control("POST", "clock/advance", &json!({"seconds": 10}))
    }),
    ("delete the table", described, |connection, _| {
        connection.must("DeleteTable", &json!({"TableName": "big"})).map(drop)
    }),
    ("reset", described, |connection, _| {
        connection.control("POST", "reset", &Value::Null)
    }),
];

fn described(connection: &mut Connection) -> Outcome<Value> {
    connection.must("DescribeTable", &json!({"TableName": "big"}))
}

fn backup(connection: &mut Connection) -> Outcome<Value> {
    connection.must("CreateBackup", &json!({"TableName": "big", "BackupName": "backup"}))
}

fn recovery(connection: &mut Connection) -> Outcome<Value> {
    let specification = json!({"PointInTimeRecoveryEnabled": true});
    let update = json!({"TableName": "big", "PointInTimeRecoverySpecification": specification});
    connection.must("UpdateContinuousBackups", &update)
}

fn export(connection: &mut Connection) -> Outcome<Value> {
    recovery(connection)?;
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/big";
    connection.must(
        "ExportTableToPointInTime",
        &json!({"TableArn": arn, "S3Bucket": "shelf"}),
    )
}

/// Prints the duration of an operation, and the latency of concurrent reads of its table and of another table.
fn stall((name, prepare, operate): Operation, items: usize) -> Outcome<()> {
    let mut bench = Bench::start()?;
    bench.table("small", false)?;
    bench.fill("small", BATCH, 200, 1_000_000_000)?;
    bench.table("big", false)?;
    bench.enable_time_to_live("big")?;
    bench.fill("big", items, 200, 1)?;
    let prepared = prepare(&mut bench.connection)?;
    let (port, done) = (bench.server.port(), AtomicBool::new(false));
    let longest = |table: &'static str| {
        let mut connection = Connection::open(port)?;
        let key = json!({"TableName": table, "Key": {"pk": {"S": "item-000000001"}}});
        let mut longest = Duration::ZERO;
        while !done.load(Ordering::Relaxed) {
            let requested = Instant::now();
            // The table may have been deleted.
            connection.call("GetItem", &key)?;
            longest = longest.max(requested.elapsed());
        }
        Ok::<_, String>(longest)
    };
    thread::scope(|scope| {
        let [same, other] = ["big", "small"].map(|table| scope.spawn(move || longest(table)));
        thread::sleep(Duration::from_millis(100));
        let begun = Instant::now();
        let outcome = operate(&mut bench.connection, &prepared);
        let took = begun.elapsed();
        // Work in slices continues after the response.
        thread::sleep(took.max(Duration::from_millis(200)));
        done.store(true, Ordering::Relaxed);
        let waited = |waits: thread::ScopedJoinHandle<'_, Outcome<Duration>>| {
            waits.join().unwrap_or_else(|_| Err("a reader panicked".into()))
        };
        let (same, other) = (waited(same)?, waited(other)?);
        outcome?;
        let millis = |time: Duration| time.as_secs_f64() * 1000.0;
        println!(
            "{name:24}{:>12.0}{:>12.0}{:>16.0}",
            millis(took),
            millis(same),
            millis(other)
        );
        Ok(())
    })
}
