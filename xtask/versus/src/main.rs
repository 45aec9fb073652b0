//! The engine's `dispatch(request) -> Answer` and dynoxide's library, timed in turns on the same requests: JSON in, JSON
//! out, one thread, an in-memory table of 100 partitions of 100 items of about 1 KB.

#[path = "../../../emulator/benches/workload/mod.rs"]
mod workload;

use std::hint::black_box;
use std::time::Instant;

use dynoxide::Database;
use workload::{CREATE, OPERATIONS, Workload, requests};

const ROUNDS: usize = 9;
const OURS: usize = 20_000;
const THEIRS: usize = 4_000;

fn main() {
    let database = Database::memory().expect("a database in memory");
    database.create_table(serde_json::from_str(CREATE).expect("JSON")).expect("a table");
    requests("put").iter().for_each(|body| drop(theirs(&database, "put", body)));
    for operation in OPERATIONS {
        let workload = Workload::new(operation);
        let bodies = requests(operation);
        (0..bodies.len()).for_each(|number| drop(black_box(workload.run(number))));
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            times[0].push(microseconds(OURS, |number| workload.run(number)));
            times[1].push(microseconds(THEIRS, |number| theirs(&database, operation, &bodies[number % bodies.len()])));
        }
        let [ours, theirs] = times.map(median);
        println!("{operation:7} dynatwin {ours:6.2} us   dynoxide {theirs:6.2} us   {:.1} times", theirs / ours);
    }
}

fn theirs(database: &Database, operation: &str, body: &[u8]) -> Vec<u8> {
    macro_rules! send {
        ($method:ident) => {
            serde_json::to_vec(&database.$method(serde_json::from_slice(body).expect("JSON")).expect("success"))
        };
    }
    match operation {
        "get" => send!(get_item),
        "put" => send!(put_item),
        "update" => send!(update_item),
        _ => send!(query),
    }
    .expect("JSON")
}

fn microseconds(count: usize, mut run: impl FnMut(usize) -> Vec<u8>) -> f64 {
    let start = Instant::now();
    for number in 0..count {
        black_box(run(number));
    }
    start.elapsed().as_secs_f64() * 1e6 / count as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
