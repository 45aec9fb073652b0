//! Real threads on few keys: one winner in every race, and a linearizable history of every item.
//!
//! `DYNATWIN_ROUNDS` sets the number of rounds, `DYNATWIN_SEED` their first seed.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use crate::common::{Choice, Twin, create_table_with_ttl, setting};
use serde_json::{Value, json};

const RACERS: usize = 50;
const ABSENT: &str = "attribute_not_exists(pk)";

/// Tries to create the item `key` for `owner` with the operation of this kind; returns whether it succeeded.
fn claim(twin: &Twin, kind: usize, key: &str, owner: usize) -> bool {
    let item = json!({"pk": {"S": key}, "g": {"S": key}, "owner": {"N": owner.to_string()}});
    let (operation, body) = match kind % 3 {
        0 => (
            "PutItem",
            json!({"TableName": "tab", "Item": item, "ConditionExpression": ABSENT}),
        ),
        1 => (
            "UpdateItem",
            json!({"TableName": "tab", "Key": {"pk": {"S": key}}, "UpdateExpression": "SET g = :g, #o = :o",
                "ConditionExpression": ABSENT, "ExpressionAttributeNames": {"#o": "owner"},
                "ExpressionAttributeValues": {":g": {"S": key}, ":o": {"N": owner.to_string()}}}),
        ),
        _ => (
            "TransactWriteItems",
            json!({"TransactItems": [{"Put": {"TableName": "tab", "Item": item, "ConditionExpression": ABSENT}},
                {"Put": {"TableName": "tab", "Item": {"pk": {"S": format!("{key}/beside")}, "owner": {"N": owner.to_string()}}}}]}),
        ),
    };
    let (status, answer) = twin.send(operation, &body);
    let refused = answer.to_string().contains("ConditionalCheckFailed");
    assert!(status == 200 || refused, "{operation}: {answer}");
    status == 200
}

/// Returns the owners of an item in the table and in the index.
fn owners(twin: &Twin, key: &str) -> [Vec<usize>; 2] {
    let owner = |item: &Value| item["owner"]["N"].as_str().unwrap().parse().unwrap();
    let got = twin.ok(
        "GetItem",
        &json!({"TableName": "tab", "Key": {"pk": {"S": key}}, "ConsistentRead": true}),
    );
    let queried = twin.ok("Query", &by_index(key));
    let listed = queried["Items"].as_array().unwrap().iter().map(owner).collect();
    [got.get("Item").map(owner).into_iter().collect(), listed]
}

fn by_index(key: &str) -> Value {
    json!({"TableName": "tab", "IndexName": "by-g", "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": {":g": {"S": key}}})
}

/// Makes all racers claim one key after the other, concurrently, and passes the winners of each to `judge`. `before`
/// runs before each race, and each racer runs `during`.
fn race(
    twin: &Twin,
    rounds: usize,
    kind: impl Fn(usize, usize) -> usize + Sync,
    before: impl Fn(&str),
    during: impl Fn(usize) + Sync,
    judge: impl Fn(&str, &[usize]),
) {
    for round in 0..rounds {
        let key = format!("key-{round}");
        before(&key);
        let start = Barrier::new(RACERS);
        let run = |racer: usize| {
            start.wait();
            during(racer);
            claim(twin, kind(round, racer), &key, racer).then_some(racer)
        };
        let winners: Vec<usize> = thread::scope(|scope| {
            let run = &run;
            let racers: Vec<_> = (0..RACERS).map(|racer| scope.spawn(move || run(racer))).collect();
            racers.into_iter().filter_map(|racer| racer.join().unwrap()).collect()
        });
        judge(&key, &winners);
    }
}

#[test]
fn fifty_racers_have_one_winner() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    // Each operation against itself, then all against each other.
    let kind = |round: usize, racer: usize| if round % 4 == 3 { racer } else { round % 4 };
    let judge = |key: &str, winners: &[usize]| {
        assert_eq!(winners.len(), 1, "{key}: {winners:?}");
        assert_eq!(owners(&twin, key), [winners.to_vec(), winners.to_vec()], "{key}");
    };
    race(&twin, 60, kind, |_| (), |_| (), judge);
}

/// Backups and exports of one millisecond have different ARNs.
#[test]
fn backups_and_exports_of_fifty_racers_are_all_there() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    let recovery = json!({"PointInTimeRecoveryEnabled": true});
    twin.ok(
        "UpdateContinuousBackups",
        &json!({"TableName": "tab", "PointInTimeRecoverySpecification": recovery}),
    );
    let described = twin.ok("DescribeTable", &json!({"TableName": "tab"}));
    let export = json!({"TableArn": described["Table"]["TableArn"], "S3Bucket": "bucket"});
    let backup = json!({"TableName": "tab", "BackupName": "backup"});
    for (operation, body, arn) in [
        ("CreateBackup", backup, "/BackupDetails/BackupArn"),
        ("ExportTableToPointInTime", export, "/ExportDescription/ExportArn"),
    ] {
        let start = Barrier::new(RACERS);
        let run = || {
            start.wait();
            let answer = twin.ok(operation, &body);
            answer.pointer(arn).unwrap().as_str().unwrap().to_owned()
        };
        let arns: HashSet<String> = thread::scope(|scope| {
            let racers: Vec<_> = (0..RACERS).map(|_| scope.spawn(run)).collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).collect()
        });
        assert_eq!(arns.len(), RACERS, "{operation}");
    }
}

#[test]
fn an_expiring_item_has_one_winner() {
    let twin = Twin::new(2);
    create_table_with_ttl(&twin);
    let before = |key: &str| {
        let expires = twin.seconds() + 10;
        let item =
            json!({"pk": {"S": key}, "g": {"S": key}, "owner": {"N": "1000"}, "ttl": {"N": expires.to_string()}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    };
    let during = |racer: usize| {
        if racer == RACERS / 2 {
            twin.engine.advance(Duration::from_secs(20));
        }
    };
    let judge = |key: &str, winners: &[usize]| {
        // The racer that advanced the clock came after the deletion, so there is a winner.
        assert_eq!(winners.len(), 1, "{key}: {winners:?}");
        assert_eq!(owners(&twin, key), [winners.to_vec(), winners.to_vec()], "{key}");
    };
    race(&twin, 60, |_, racer| racer, before, during, judge);
}

/// The effect of a request on an item, or what it read. Values are never used twice.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    /// Put, with the value before.
    Put { value: u64, old: Option<u64> },
    /// Put by a transaction, whose answer does not contain the value before.
    PutUnseen { value: u64 },
    /// Put if the item did not exist, otherwise refused by the existing value.
    Create { value: u64, refused_by: Option<u64> },
    /// Replaced if the value was `expected`; `done` is whether it was.
    Swap { expected: u64, value: u64, done: bool },
    /// Deleted, with the value before.
    Delete { old: Option<u64> },
    /// Read, from the table or the index.
    Read { seen: Option<u64> },
    /// Time to live deletes this value if it exists.
    Expire { value: u64 },
}

impl Event {
    /// Returns whether the event is possible in this state.
    fn fits(&self, state: Option<u64>) -> bool {
        match *self {
            Event::Put { old, .. } | Event::Delete { old } => old == state,
            Event::Create { refused_by, .. } => refused_by == state,
            Event::Swap { expected, done, .. } => (state == Some(expected)) == done,
            Event::Read { seen } => seen == state,
            Event::PutUnseen { .. } | Event::Expire { .. } => true,
        }
    }

    fn after(&self, state: Option<u64>) -> Option<u64> {
        match *self {
            Event::Put { value, .. } | Event::PutUnseen { value } => Some(value),
            Event::Create {
                value,
                refused_by: None,
            } => Some(value),
            Event::Swap { value, done: true, .. } => Some(value),
            Event::Delete { .. } => None,
            Event::Expire { value } => state.filter(|there| *there != value),
            Event::Create { .. } | Event::Swap { .. } | Event::Read { .. } => state,
        }
    }
}

/// An event, and the moments of its invocation and answer.
#[derive(Clone, Debug)]
struct Call {
    invoked: u64,
    answered: u64,
    event: Event,
}

/// Returns whether one order of the calls agrees with each of them and with their real-time order (Wing and Gong, with
/// a cache of failed states).
fn linearizable(calls: &[Call]) -> bool {
    fn search(calls: &[Call], done: u128, state: Option<u64>, dead: &mut HashSet<(u128, Option<u64>)>) -> bool {
        let open = || (0..calls.len()).filter(|at| done & (1 << at) == 0);
        // A call that was answered before another was invoked precedes it.
        let Some(first_answer) = open().map(|at| calls[at].answered).min() else {
            return true;
        };
        if !dead.insert((done, state)) {
            return false;
        }
        open()
            .filter(|at| calls[*at].invoked <= first_answer)
            .filter(|at| calls[*at].event.fits(state))
            .any(|at| search(calls, done | (1 << at), calls[at].event.after(state), dead))
    }
    assert!(calls.len() <= 128, "{} calls are too many", calls.len());
    search(calls, 0, None, &mut HashSet::new())
}

#[test]
fn the_checker_rejects_impossible_histories() {
    let call = |invoked, answered, event| Call {
        invoked,
        answered,
        event,
    };
    let create = |value, refused_by| Event::Create { value, refused_by };
    let cases = [
        (true, vec![call(0, 3, create(1, None)), call(1, 2, create(2, Some(1)))]),
        (false, vec![call(0, 3, create(1, None)), call(1, 2, create(2, None))]),
        (
            false,
            vec![call(0, 1, create(1, None)), call(2, 3, Event::Read { seen: None })],
        ),
        (
            true,
            vec![call(0, 2, create(1, None)), call(1, 3, Event::Read { seen: None })],
        ),
        (
            false,
            vec![
                call(0, 9, create(1, None)),
                call(1, 2, Event::Read { seen: Some(1) }),
                call(3, 4, Event::Read { seen: None }),
            ],
        ),
        (
            true,
            vec![
                call(0, 1, create(1, None)),
                call(2, 6, Event::Expire { value: 1 }),
                call(3, 4, Event::Read { seen: Some(1) }),
                call(5, 7, create(2, None)),
            ],
        ),
        (
            false,
            vec![
                call(0, 1, create(1, None)),
                call(2, 3, Event::Expire { value: 1 }),
                call(4, 5, Event::Read { seen: Some(1) }),
            ],
        ),
    ];
    for (expect, calls) in cases {
        assert_eq!(linearizable(&calls), expect, "{calls:?}");
    }
}

const THREADS: u64 = 8;
const CALLS: u64 = 12;
const KEYS: u64 = 3;

struct Round<'t> {
    twin: &'t Twin,
    ticks: AtomicU64,
    values: AtomicU64,
    expires: i64,
    calls: [Mutex<Vec<Call>>; KEYS as usize],
    /// Values that were put with a time to live, with their key and the interval of the put.
    mortal: Mutex<Vec<(usize, u64, u64, u64)>>,
}

fn value_of(item: &Value) -> Option<u64> {
    item["v"]["N"].as_str().map(|text| text.parse().unwrap())
}

impl Round<'_> {
    fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    fn item(&self, key: &str, value: u64, mortal: bool) -> Value {
        let mut item = json!({"pk": {"S": key}, "g": {"S": key}, "v": {"N": value.to_string()}});
        if mortal {
            item["ttl"] = json!({"N": self.expires.to_string()});
        }
        item
    }

    /// Sends one random request on one key, and records it.
    fn call(&self, choice: &mut Choice) {
        let at = choice.below(KEYS) as usize;
        let key = format!("key-{at}");
        let value = self.values.fetch_add(1, Ordering::Relaxed);
        let mortal = choice.one_in(3);
        let item = self.item(&key, value, mortal);
        let kind = choice.below(8);
        let guess = value.saturating_sub(choice.below(8) + 1);
        let invoked = self.tick();
        let event = self.request(kind, &key, value, guess, &item);
        let answered = self.tick();
        let puts = !matches!(event, Event::Read { .. } | Event::Delete { .. });
        if mortal && puts {
            self.mortal.lock().unwrap().push((at, value, invoked, answered));
        }
        self.calls[at].lock().unwrap().push(Call {
            invoked,
            answered,
            event,
        });
    }

    fn request(&self, kind: u64, key: &str, value: u64, guess: u64, item: &Value) -> Event {
        let twin = self.twin;
        let names = json!({"pk": {"S": key}});
        match kind {
            0 => {
                let body = json!({"TableName": "tab", "Item": item, "ReturnValues": "ALL_OLD"});
                let old = value_of(&twin.ok("PutItem", &body)["Attributes"]);
                Event::Put { value, old }
            }
            1 => {
                let body = json!({"TransactItems": [{"Put": {"TableName": "tab", "Item": item}}]});
                twin.ok("TransactWriteItems", &body);
                Event::PutUnseen { value }
            }
            2 | 3 => {
                let mut put = json!({"TableName": "tab", "Item": item, "ConditionExpression": ABSENT,
                    "ReturnValuesOnConditionCheckFailure": "ALL_OLD"});
                let (status, answer) = if kind == 2 {
                    twin.send("PutItem", &put)
                } else {
                    put = json!({"TransactItems": [{"Put": put}]});
                    twin.send("TransactWriteItems", &put)
                };
                let there = answer.get("Item").unwrap_or(&answer["CancellationReasons"][0]["Item"]);
                let refused_by = value_of(there);
                assert_eq!(status == 200, refused_by.is_none(), "{answer}");
                Event::Create { value, refused_by }
            }
            4 => {
                let body = json!({"TableName": "tab", "Item": item, "ConditionExpression": "v = :v",
                    "ExpressionAttributeValues": {":v": {"N": guess.to_string()}}});
                let (status, answer) = twin.send("PutItem", &body);
                assert!(
                    status == 200 || answer.to_string().contains("ConditionalCheckFailed"),
                    "{answer}"
                );
                Event::Swap {
                    expected: guess,
                    value,
                    done: status == 200,
                }
            }
            5 => {
                let body = json!({"TableName": "tab", "Key": names, "ReturnValues": "ALL_OLD"});
                let old = value_of(&twin.ok("DeleteItem", &body)["Attributes"]);
                Event::Delete { old }
            }
            6 => {
                let body = json!({"TableName": "tab", "Key": names, "ConsistentRead": true});
                let seen = value_of(&twin.ok("GetItem", &body)["Item"]);
                Event::Read { seen }
            }
            _ => {
                let answer = twin.ok("Query", &by_index(key));
                assert!(answer["Items"].as_array().unwrap().len() <= 1, "{answer}");
                let seen = value_of(&answer["Items"][0]);
                Event::Read { seen }
            }
        }
    }
}

fn round(seed: u64) {
    let twin = Twin::new(seed);
    create_table_with_ttl(&twin);
    let round = Round {
        twin: &twin,
        ticks: AtomicU64::new(0),
        values: AtomicU64::new(1),
        expires: twin.seconds() + 10,
        calls: Default::default(),
        mortal: Mutex::default(),
    };
    let barrier = Barrier::new(THREADS as usize);
    let moved = Mutex::new((0, 0));
    thread::scope(|scope| {
        for worker in 0..THREADS {
            let (round, barrier, moved) = (&round, &barrier, &moved);
            scope.spawn(move || {
                let mut choice = Choice(seed.wrapping_mul(1000).wrapping_add(worker));
                barrier.wait();
                for at in 0..CALLS {
                    if worker == 0 && at == CALLS / 2 {
                        let invoked = round.tick();
                        round.twin.engine.advance(Duration::from_secs(20));
                        *moved.lock().unwrap() = (invoked, round.tick());
                    }
                    round.call(&mut choice);
                }
            });
        }
    });
    let (moving, moved) = *moved.lock().unwrap();
    for (at, value, invoked, answered) in round.mortal.into_inner().unwrap() {
        round.calls[at].lock().unwrap().push(Call {
            invoked: moving.max(invoked),
            answered: moved.max(answered),
            event: Event::Expire { value },
        });
    }
    for (at, calls) in round.calls.into_iter().enumerate() {
        let mut calls = calls.into_inner().unwrap();
        calls.sort_by_key(|call| call.invoked);
        assert!(
            linearizable(&calls),
            "DYNATWIN_SEED={seed}, key-{at} is not linearizable:\n{calls:#?}"
        );
    }
}

#[test]
fn every_item_is_linearizable() {
    let start = setting("DYNATWIN_SEED").unwrap_or(1);
    for seed in start..start + setting("DYNATWIN_ROUNDS").unwrap_or(150) {
        round(seed);
    }
}
