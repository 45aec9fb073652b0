//! Tables that are filled before they are listed: imports and restores.

use serde_json::json;

use super::*;
use crate::key::Key;
use crate::storage::TableIdentity;
use crate::value::Item;

fn engine() -> Engine {
    Engine::new(Settings {
        clock: Clock::settable(Moment::START),
        seed: 7,
        conditions: Conditions {
            index_propagation: Lag::Fixed(Duration::from_secs(3)),
            ..Conditions::CALM
        },
        shared_db: false,
    })
}

fn caller() -> Caller {
    Caller {
        access_key: "me".into(),
        region: "us-east-1".into(),
    }
}

fn send(engine: &Engine, operation: &str, body: &serde_json::Value) {
    let answer = engine.dispatch(&caller(), operation, body.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
}

fn dump(engine: &Engine) -> Vec<Vec<Mutation>> {
    engine.checkpoint().map(|commit| commit.mutations).collect()
}

/// A checkpoint at any commit of the filling, with the commits after it, gives the same table; and none, if the commits end
/// before it is listed. That another table is listed meanwhile makes no difference.
#[test]
fn a_checkpoint_contains_the_tables_that_are_being_filled() {
    for taken in 0..=3 {
        let (engine, recorder) = (engine(), Arc::new(Recorder::default()));
        engine.attach_sink(Arc::clone(&recorder) as Arc<dyn CommitSink>, 0);
        let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
        let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
        let index = json!({"IndexName": "by-g", "KeySchema": key("g"), "Projection": {"ProjectionType": "ALL"}});
        send(
            &engine,
            "CreateTable",
            &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("pk"),
                "AttributeDefinitions": attributes, "GlobalSecondaryIndexes": [index]}),
        );
        for at in 0..300 {
            let item = json!({"pk": {"S": at.to_string()}, "g": {"S": (at % 4).to_string()}});
            send(&engine, "PutItem", &json!({"TableName": "tab", "Item": item}));
        }
        let (catalog, now) = (engine.state.catalog(), engine.clock().now());
        let (scope, region) = catalog.scopes().pop().unwrap();
        let tab = catalog.table(&scope, "tab").unwrap();
        let items = |place: usize| -> Vec<(Key, Item)> {
            let contents = tab.partition(place).read();
            contents
                .items()
                .map(|(key, item)| (key.clone(), item.clone()))
                .collect()
        };
        let mut checkpoint = None;
        let mut step = |number: usize| {
            if number == taken {
                checkpoint = Some(engine.checkpoint());
            }
        };
        let identity = TableIdentity {
            name: "copy".into(),
            ordinal: catalog.next_ordinal(),
            ..TableIdentity::clone(&tab)
        };
        let copy = region
            .create_table(identity, tab.shape().settings.clone(), now)
            .unwrap();
        step(0);
        send(
            &engine,
            "CreateTable",
            &json!({"TableName": "other", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("pk"),
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}),
        );
        copy.fill(items(0).into_iter().chain(items(1)), now).unwrap();
        step(1);
        copy.fill(items(2).into_iter().chain(items(3)), now).unwrap();
        step(2);
        let unlisted = recorder.0.lock().unwrap().len();
        region.tables.write().insert(&copy, now).unwrap();
        step(3);
        let checkpoint = checkpoint.unwrap();
        let sequence = checkpoint.sequence();
        let checkpoint: Vec<Commit> = checkpoint.collect();
        let commits = recorder.0.lock().unwrap().clone();
        for (end, tables) in [
            (unlisted, &["other", "tab"][..]),
            (commits.len(), &["copy", "other", "tab"]),
        ] {
            if sequence > end as u64 {
                continue;
            }
            let again = self::engine();
            let mut replay = again.replay();
            let later = commits[..end].iter().filter(|commit| commit.sequence > sequence);
            checkpoint
                .iter()
                .chain(later)
                .for_each(|commit| replay.apply(commit).unwrap());
            replay.finish(now);
            again.clock().set(now);
            assert_eq!(again.tables(&caller()), tables, "checkpoint {taken}, {end} commits");
            if tables.len() == 3 {
                assert!(dump(&again) == dump(&engine), "checkpoint {taken}");
            }
        }
    }
}
