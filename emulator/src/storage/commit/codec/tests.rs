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
