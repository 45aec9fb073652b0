//! A process that is killed while it writes: all acknowledged records survive.

#![allow(clippy::unwrap_used)]

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use dynatwin_store::{Directory, Entry, OpenError, Report, Store};

/// Set in the process that is killed: the directory it writes to.
const CHILD: &str = "DYNATWIN_STORE_CHILD";

const NAME: &str = "acknowledged_writes_survive_a_kill";

/// Opens the directory, and checks that it holds records 0, 1, 2, … without a gap. Returns how many.
fn open(directory: &Path) -> Result<(Store, u64, Report), OpenError> {
    let mut next = 0;
    let (store, report) = Store::open(
        Directory::at(directory),
        &mut |entry| {
            match entry {
                // A snapshot contains the number of records that it replaces.
                Entry::Snapshot(record) => next = u64::from_le_bytes(record.try_into().unwrap()),
                Entry::Log { sequence, record } => {
                    assert_eq!((sequence, record), (next, &content(next)[..]));
                    next += 1;
                }
            }
            Ok(())
        },
        &mut |_| (),
    )?;
    Ok((store, next, report))
}

fn content(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(1 + (number % 97) as usize)
}

/// Appends until it is killed, and prints each number once it is acknowledged.
fn write_until_killed(directory: &Path) {
    let (store, mut next, _) = open(directory).unwrap();
    let mut out = std::io::stdout();
    // Ends the test runner's own line.
    writeln!(out, "\nopen").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| store.sync_continuously(std::time::Duration::from_millis(5), |_| ()));
        loop {
            assert_eq!(store.append(&content(next)), Ok(next));
            writeln!(out, "{next}").unwrap();
            next += 1;
            if next.is_multiple_of(500) {
                let mut writer = store.begin_snapshot().unwrap().unwrap();
                let first = writer.start().unwrap();
                writer.push(&first.to_le_bytes()).unwrap();
                writer.finish().unwrap();
            }
        }
    });
}

#[test]
fn acknowledged_writes_survive_a_kill() {
    if let Some(directory) = env::var_os(CHILD) {
        return write_until_killed(Path::new(&directory));
    }
    let variable = |name: &str| env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let rounds = variable("DYNATWIN_KILLS").unwrap_or(4);
    let seed = variable("DYNATWIN_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("DYNATWIN_SEED={seed}");
    let directory = env::temp_dir().join(format!("dynatwin-store-kill-{}", std::process::id()));
    let mut chance = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for round in 0..rounds {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", NAME, "--nocapture"])
            .env(CHILD, &directory)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| line == "open"));
        if round == 0 {
            let refused = open(&directory).err().unwrap().to_string();
            assert!(
                refused.contains(&format!("in use by another process ({})", child.id())),
                "{refused}"
            );
        }
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        let read = lines.by_ref().take((chance % 1500) as usize);
        let acknowledged = read.last().map(|line| line.parse::<u64>().unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        let rest = lines.filter_map(|line| line.parse::<u64>().ok());
        // The last line may be torn: it is then a smaller number.
        let acknowledged = rest.chain(acknowledged).max();
        let (store, next, _) = open(&directory).unwrap();
        assert!(
            acknowledged.is_none_or(|last| next > last),
            "round {round}: {next}, {acknowledged:?}"
        );
        drop(store);
    }
    fs::remove_dir_all(&directory).unwrap();
}
