//! A server that is killed under load: every acknowledged write survives, and no write in part.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};

use crate::support::process::{Process, connect, request};
use crate::support::read;
use serde_json::{Value, json};

const CLIENTS: u64 = 4;

/// Items of each client that single writes change, and pairs of items that transactions change together.
const ITEMS: u64 = 12;
const PAIRS: u64 = 3;

/// A seeded random number generator.
struct Chance(u64);

impl Chance {
    fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }
}

/// The last acknowledged version of each item; 0 if it has none. An item of a request without an answer may have the
/// version of that request instead.
type Versions = BTreeMap<String, (u64, Option<u64>)>;

fn table() -> Value {
    json!({
        "TableName": "Load",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "group", "AttributeType": "S"},
        ],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [{
            "IndexName": "by-group", "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"},
    })
}

fn item(id: &str, version: u64) -> Value {
    json!({
        "id": {"S": id}, "version": {"N": version.to_string()}, "group": {"S": format!("group {}", version % 5)},
        "pad": {"S": "x".repeat((version % 700) as usize)},
    })
}

/// Returns a random write of new versions: its request, and the items.
fn write(client: u64, versions: &Versions, chance: &mut Chance) -> (Vec<u8>, Vec<(String, u64)>) {
    let next = |id: &str| versions.get(id).map_or(0, |(last, lost)| lost.unwrap_or(*last)) + 1;
    let single = format!("{client}-{}", chance.below(ITEMS));
    let version = next(&single);
    match chance.below(5) {
        0 => {
            let pair = chance.below(PAIRS);
            let ids = ["left", "right"].map(|side| format!("{client}-pair-{pair}-{side}"));
            let version = next(&ids[0]);
            let puts = ids
                .each_ref()
                .map(|id| json!({"Put": {"TableName": "Load", "Item": item(id, version)}}));
            let body = json!({"TransactItems": puts});
            (
                request("TransactWriteItems", &body),
                ids.map(|id| (id, version)).to_vec(),
            )
        }
        1 => {
            let update = json!({
                "TableName": "Load", "Key": {"id": {"S": single}},
                "UpdateExpression": "SET version = :v, #g = :g",
                "ExpressionAttributeNames": {"#g": "group"},
                "ExpressionAttributeValues": {":v": {"N": version.to_string()}, ":g": {"S": format!("group {}", version % 5)}},
            });
            (request("UpdateItem", &update), vec![(single, version)])
        }
        _ => {
            let put = json!({"TableName": "Load", "Item": item(&single, version)});
            (request("PutItem", &put), vec![(single, version)])
        }
    }
}

/// Writes until the connection ends.
fn client(number: u64, port: u16, versions: &mut Versions, chance: &mut Chance, acknowledged: &Sender<()>) {
    let mut stream: TcpStream = connect(port);
    loop {
        let (bytes, items) = write(number, versions, chance);
        let answer = stream.write_all(&bytes).ok().and_then(|()| read(&mut stream).ok());
        for (id, version) in items {
            let (last, lost) = versions.entry(id).or_default();
            match &answer {
                Some(answer) => {
                    assert_eq!(answer.status(), 200, "{}", String::from_utf8_lossy(&answer.body));
                    (*last, *lost) = (version, None);
                }
                None => *lost = Some(version),
            }
        }
        if answer.is_none() {
            return;
        }
        let _ = acknowledged.send(());
    }
}

/// Returns all items of the table or an index by id.
fn scan(server: &mut Process, index: Option<&str>) -> BTreeMap<String, Value> {
    let mut body = json!({"TableName": "Load"});
    if let Some(index) = index {
        body["IndexName"] = index.into();
    }
    let page = server.ok("Scan", &body);
    assert!(page["LastEvaluatedKey"].is_null());
    let items = page["Items"].as_array().unwrap().iter();
    items
        .map(|item| (item["id"]["S"].as_str().unwrap().to_owned(), item.clone()))
        .collect()
}

/// Compares the state with the acknowledged versions, and records the effects of requests without an answer.
fn check(server: &mut Process, all: &mut [Versions], context: &str) {
    let items = scan(server, None);
    let mut found = 0;
    for (id, (last, lost)) in all.iter_mut().flatten() {
        let there = items
            .get(id)
            .map_or(0, |item| item["version"]["N"].as_str().unwrap().parse().unwrap());
        found += usize::from(there > 0);
        assert!(
            there == *last || Some(there) == *lost,
            "{context}: {id} is {there}, not {last} or {lost:?}"
        );
        (*last, *lost) = (there, None);
    }
    assert_eq!(found, items.len(), "{context}: items that no request wrote");
    for (id, left) in items.iter().filter(|(id, _)| id.ends_with("left")) {
        let right = &items[&id.replace("left", "right")];
        assert_eq!(left["version"], right["version"], "{context}: half a transaction, {id}");
    }
    assert_eq!(scan(server, Some("by-group")), items, "{context}: the index differs");
    let mut replayed = BTreeMap::new();
    for record in server.stream("Load")["records"].as_array().unwrap() {
        let image = &record["dynamodb"]["NewImage"];
        replayed.insert(image["id"]["S"].as_str().unwrap().to_owned(), image.clone());
    }
    assert_eq!(replayed, items, "{context}: the stream differs");
}

/// Repeatedly kills a server at a random number of acknowledged writes, with one directory.
fn kill_under_load(directory: &Path, rounds: u64, seed: u64, words: &str) {
    let mut chance = Chance::new(seed);
    let mut all: Vec<Versions> = (0..CLIENTS).map(|_| Versions::new()).collect();
    for round in 0..rounds {
        let context = format!("DYNATWIN_SEED={seed}, round {round}");
        let mut server = Process::start(&format!("--db-path {} {words}", directory.display()));
        if round == 0 {
            server.ok("CreateTable", &table());
        }
        check(&mut server, &mut all, &context);
        let (port, until) = (server.port, chance.below(400) as usize);
        let (sender, acknowledged) = channel();
        std::thread::scope(|scope| {
            for (number, versions) in (0..).zip(&mut all) {
                let (mut chance, sender) = (Chance::new(chance.below(u64::MAX)), sender.clone());
                scope.spawn(move || client(number, port, versions, &mut chance, &sender));
            }
            let acknowledged = acknowledged.iter().take(until).count();
            server.kill("KILL");
            assert_eq!(acknowledged, until, "{context}: a client failed");
        });
        drop(server);
    }
    let mut server = Process::start(&format!("--db-path {} {words}", directory.display()));
    check(&mut server, &mut all, &format!("DYNATWIN_SEED={seed}, at the end"));
}

#[test]
fn acknowledged_writes_survive_kills_under_load() {
    let variable = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let rounds = variable("DYNATWIN_KILLS").unwrap_or(4);
    let seed = variable("DYNATWIN_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("DYNATWIN_SEED={seed}");
    for words in ["--sync second --log-size 20KB", "--sync always"] {
        let directory = std::env::temp_dir().join(format!("dynatwin-kill-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        kill_under_load(&directory, rounds.div_ceil(2), seed, words);
        fs::remove_dir_all(&directory).unwrap();
    }
}
