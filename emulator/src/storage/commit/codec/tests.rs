use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::caller::Caller;
use crate::clock::Clock;
use crate::conditions::{Conditions, Lag};
use crate::engine::{Engine, Settings};
use crate::storage::{AppendError, CommitSink, EncodedCommit};

#[derive(Default)]
struct Memory(Mutex<Vec<Commit>>);

impl CommitSink for Memory {
    fn append(&self, commit: &EncodedCommit) -> Result<(), AppendError> {
        self.0.lock().unwrap().push(Commit::clone(commit));
        Ok(())
    }
}

const TABLE: &str = r#"{"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "TableClass": "STANDARD",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "N"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "Tags": [{"Key": "a", "Value": "b"}],
    "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"}}],
    "VectorIndexes": [{"IndexName": "by-v", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2,
        "DistanceFunction": "COSINE", "Projection": {"ProjectionType": "ALL"}}],
    "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"}}"#;
const ITEM: &str = r#"{"pk": {"S": "a\n\u0001ü"}, "g": {"N": "-1.50e3"}, "b": {"B": "AAEC"}, "t": {"BOOL": true},
    "n": {"NULL": true}, "l": {"L": [{"M": {"x": {"S": ""}}}, {"L": []}]}, "ss": {"SS": ["b", "a"]},
    "ns": {"NS": ["10", "9"]}, "bs": {"BS": ["AQ==", "AA=="]}, "v": {"L": [{"N": "1"}, {"N": "0.5"}]}}"#;

/// Commits with all kinds of values: those of some requests, and those of a checkpoint after them.
fn commits() -> Vec<Commit> {
    let conditions = Conditions {
        index_propagation: Lag::Fixed(Duration::from_mins(1)),
        ..Conditions::CALM
    };
    let engine = Engine::new(Settings {
        clock: Clock::settable(Moment::START),
        seed: 7,
        conditions,
        shared_db: false,
    });
    let memory = Arc::new(Memory::default());
    engine.attach_sink(memory.clone(), 0);
    let caller = Caller {
        access_key: "me".into(),
        region: "us-east-1".into(),
    };
    let send = |operation: &str, body: &str| {
        let answer = engine.dispatch(&caller, operation, body.as_bytes());
        let text = String::from_utf8(answer.body).unwrap();
        assert_eq!(answer.status, 200, "{operation} {body}: {text}");
    };
    send("CreateTable", TABLE);
    send(
        "UpdateContinuousBackups",
        r#"{"TableName": "tab", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}}"#,
    );
    send("PutItem", &format!(r#"{{"TableName": "tab", "Item": {ITEM}}}"#));
    send("CreateBackup", r#"{"TableName": "tab", "BackupName": "saved"}"#);
    engine.set_conditions(Conditions::AWS).unwrap();
    let put = format!(r#"{{"Put": {{"TableName": "tab", "Item": {ITEM}}}}}"#);
    send(
        "TransactWriteItems",
        &format!(r#"{{"ClientRequestToken": "once", "TransactItems": [{put}]}}"#),
    );
    let mut commits: Vec<Commit> = engine.checkpoint().collect();
    engine.reset().unwrap();
    commits.extend(memory.0.lock().unwrap().clone());
    commits
}

fn encoded(commit: &Commit) -> Vec<u8> {
    let mut bytes = Vec::new();
    commit.encode(&mut bytes);
    bytes
}

#[test]
fn commits_are_decoded_as_they_were_and_not_in_part() {
    for commit in commits() {
        let mut bytes = encoded(&commit);
        assert_eq!(Commit::decode(&bytes).as_ref(), Ok(&commit));
        for end in 0..bytes.len() {
            assert!(
                Commit::decode(&bytes[..end]).is_err(),
                "{commit:?} without its end from {end} on"
            );
        }
        bytes.push(0);
        assert_eq!(Commit::decode(&bytes), Err(DecodeError("more follows")));
        bytes[0] += 1;
        assert_eq!(Commit::decode(&bytes), Err(DecodeError("its version is unknown")));
    }
}

proptest! {
    #[test]
    fn whatever_is_decoded_has_one_encoding(
        (which, at) in any::<(prop::sample::Index, prop::sample::Index)>(),
        (byte, cut) in any::<(u8, bool)>(),
    ) {
        thread_local! {
            static COMMITS: Vec<Commit> = commits();
        }
        let mut bytes = COMMITS.with(|commits| encoded(which.get(commits)));
        let at = at.index(bytes.len());
        if cut {
            bytes.remove(at);
        } else {
            bytes[at] = byte;
        }
        if let Ok(commit) = Commit::decode(&bytes) {
            prop_assert_eq!(encoded(&commit), bytes);
        }
    }

    #[test]
    fn no_bytes_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        bytes.insert(0, VERSION);
        if let Ok(commit) = Commit::decode(&bytes) {
            prop_assert_eq!(encoded(&commit), bytes);
        }
    }
}

/// A sink appends the encoding that was prepared for it, with the commit's final position.
#[test]
fn a_prepared_commit_has_the_encoding_of_the_commit() {
    for commit in commits() {
        let mut prepared = EncodedCommit::new(commit.clone());
        for sequence in [0, 1, u64::MAX] {
            prepared.set_sequence(sequence);
            let mut bytes = Vec::new();
            prepared.encode(&mut bytes);
            let expect = Commit {
                sequence,
                ..commit.clone()
            };
            assert_eq!(bytes, encoded(&expect));
        }
    }
}

fn encoded_value<T: Binary>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.write(&mut bytes);
    bytes
}

#[test]
fn values_are_decoded_as_they_were() {
    fn check<T: Binary + PartialEq + std::fmt::Debug>(values: impl IntoIterator<Item = T>) {
        for value in values {
            let bytes = encoded_value(&value);
            let mut input = Input(&bytes);
            assert_eq!(T::read(&mut input).as_ref(), Ok(&value));
            assert!(input.0.is_empty(), "{value:?}");
        }
    }
    check([0_u64, 1, 127, 128, 16_383, 16_384, 1 << 63, u64::MAX - 1, u64::MAX]);
    check([0_i64, 1, -1, 63, -64, 64, -65, i64::MAX, i64::MIN]);
    check([0_u32, u32::MAX]);
    check([0_u8, 7, 0x7f, 0x80, u8::MAX]);
    check([0.0_f64, -0.0, 0.5, f64::MIN, f64::MAX, f64::INFINITY]);
    check([0.0_f32, -1.5, f32::MIN, f32::MAX]);
    check([
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::new(u64::MAX, 999_999_999),
    ]);
    check([Moment::FIRST, Moment::from_micros(-1), Moment::START, Moment::NEVER]);
    check([
        BTreeMap::new(),
        BTreeMap::from([(1_u64, 5_u64)]),
        BTreeMap::from([(1, 5), (2, 0), (300, 7)]),
    ]);
    check(["", "a", "\u{fc}"].map(str::to_owned));
}

/// No value has two encodings, and none is read that cannot be written.
#[test]
fn malformed_values_are_refused() {
    fn refuses<T: Binary>(bytes: &[u8]) -> bool {
        T::read(&mut Input(bytes)).is_err()
    }
    let largest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    let nan = encoded_value(&f64::NAN);
    let infinite = encoded_value(&f32::INFINITY);
    let second = [encoded_value(&0_u64), encoded_value(&1_000_000_000_u64)].concat();
    for (refused, what) in [
        (refuses::<u64>(&[]), "nothing"),
        (refuses::<u64>(&[0x80]), "a number without its end"),
        (refuses::<u64>(&[0x80, 0]), "a longer zero"),
        (refuses::<u64>(&[0xff, 0]), "a longer number"),
        (refuses::<u64>(&[&largest[..], &[2]].concat()), "a number of 65 bits"),
        (
            refuses::<u64>(&[&largest[..], &[0x81, 0]].concat()),
            "a number of eleven bytes",
        ),
        (refuses::<u32>(&encoded_value(&(1_u64 << 32))), "a number of 33 bits"),
        (refuses::<bool>(&[2]), "no boolean"),
        (refuses::<f64>(&nan), "not a number"),
        (refuses::<f64>(&nan[..7]), "seven bytes"),
        (refuses::<f32>(&infinite), "an infinite element"),
        (refuses::<Duration>(&second), "a second of nanoseconds"),
        (refuses::<String>(&[2, b'a']), "a text without its end"),
        (refuses::<String>(&[1, 0xff]), "a text that is not UTF-8"),
        (refuses::<BTreeMap<u64, u64>>(&[2, 1, 0, 1, 0]), "a key twice"),
        (
            refuses::<BTreeMap<u64, u64>>(&[3, 1, 0, 3, 0, 2, 0]),
            "keys out of order",
        ),
        (refuses::<BTreeMap<u64, u64>>(&[2, 1, 0]), "a map without its end"),
    ] {
        assert!(refused, "{what}");
    }
    assert!(!refuses::<u64>(&[&largest[..], &[1]].concat()));
    assert!(!refuses::<BTreeMap<u64, u64>>(&[3, 1, 0, 2, 0, 3, 0]));
}

#[test]
fn a_length_reserves_no_memory() {
    let mut bytes = vec![VERSION, 0, 0, 0];
    u64::MAX.write(&mut bytes);
    assert_eq!(Commit::decode(&bytes), Err(DecodeError("its end is missing")));
}

#[test]
fn deep_items_are_refused() {
    let deep = [r#"{"a":"#, &r#"{"L":["#.repeat(100_000)].concat();
    let mut bytes = Vec::new();
    write_bytes(deep.as_bytes(), &mut bytes);
    assert!(crate::value::Item::read(&mut Input(&bytes)).is_err());
}
