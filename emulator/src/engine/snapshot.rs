//! Snapshots of the whole state, and forks.

use super::{Engine, Settings};
use crate::clock::Clock;
use crate::storage::RestoreError;

impl Engine {
    /// Returns another engine with the same settings and state, whose clock is set to this one's moment. Later changes
    /// of one do not affect the other. Fault rules, access control, the keys that signatures are verified with and the buckets of
    /// exports are not copied.
    pub fn fork(&self, clock: Clock) -> Result<Engine, RestoreError> {
        let settings = Settings {
            clock,
            seed: self.seed(),
            conditions: self.state.initial_conditions(),
            shared_db: self.shared_db,
        };
        let fork = Engine::new(settings)
            .allowing(self.allowed)
            .with_health_check(self.health_check);
        fork.restore(&self.snapshot())?;
        Ok(fork)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Caller;
    use crate::clock::Moment;
    use crate::conditions::Conditions;
    use crate::storage::StateSnapshot;
    use std::time::Duration;

    fn caller() -> Caller {
        Caller {
            access_key: "me".into(),
            region: "us-east-1".into(),
        }
    }

    fn filled() -> Engine {
        let engine = Engine::new(Settings {
            clock: Clock::settable(Moment::START),
            seed: 7,
            conditions: Conditions::CALM,
            shared_db: false,
        });
        let table = br#"{"TableName": "Tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}"#;
        assert_eq!(engine.dispatch(&caller(), "CreateTable", table).status, 200);
        put(&engine, "a");
        engine.advance(Duration::from_mins(1));
        engine
    }

    fn put(engine: &Engine, key: &str) {
        let body = format!(r#"{{"TableName": "Tab", "Item": {{"pk": {{"S": "{key}"}}}}}}"#);
        assert_eq!(engine.dispatch(&caller(), "PutItem", body.as_bytes()).status, 200);
    }

    fn count(engine: &Engine) -> usize {
        engine.items(&caller(), "Tab").map_or(0, |items| items.len())
    }

    #[test]
    fn forks_do_not_see_each_others_writes() {
        let engine = filled();
        let forks = [1, 2].map(|_| engine.fork(Clock::settable(Moment::START)).unwrap());
        put(&forks[0], "b");
        put(&engine, "c");
        put(&engine, "d");
        assert_eq!((count(&engine), count(&forks[0]), count(&forks[1])), (3, 2, 1));
        assert_eq!(forks[1].clock().now(), engine.clock().now());
        forks[0].advance(Duration::from_mins(1));
        assert!(forks[0].clock().now() > engine.clock().now());
    }

    #[test]
    fn a_snapshot_is_restored_as_it_was() {
        let engine = filled();
        let snapshot = engine.snapshot();
        put(&engine, "b");
        engine.advance(Duration::from_mins(1));
        engine.restore(&snapshot).unwrap();
        assert_eq!(count(&engine), 1);
        assert_eq!(engine.clock().now(), Moment::START.plus(Duration::from_mins(1)));
        let again = engine.snapshot();
        assert_eq!(StateSnapshot::from_bytes(&snapshot.to_bytes()), Ok(snapshot.clone()));
        assert_eq!(again.to_bytes(), snapshot.to_bytes());
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let bytes = filled().snapshot().to_bytes();
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(StateSnapshot::from_bytes(&flipped).is_err(), "byte {at}");
            assert!(StateSnapshot::from_bytes(&bytes[..at]).is_err(), "{at} bytes");
        }
        assert!(StateSnapshot::from_bytes(&[bytes.as_slice(), b"x"].concat()).is_err());
    }

    /// A fork has the present conditions, and the initial ones of its engine to reset to. A restore keeps the latter.
    #[test]
    fn a_fork_resets_to_the_initial_conditions() {
        for initial in [Conditions::CALM, Conditions::STORM] {
            let engine = Engine::new(Settings {
                clock: Clock::settable(Moment::START),
                seed: 7,
                conditions: initial,
                shared_db: false,
            });
            engine.set_conditions(Conditions::AWS).unwrap();
            let fork = engine.fork(Clock::settable(Moment::START)).unwrap();
            let of_fork = fork.fork(Clock::settable(Moment::START)).unwrap();
            let restored = Engine::new(Settings {
                clock: Clock::settable(Moment::START),
                seed: 7,
                conditions: initial,
                shared_db: false,
            });
            restored.restore(&engine.snapshot()).unwrap();
            for (what, engine) in [("fork", &fork), ("fork of a fork", &of_fork), ("restored", &restored)] {
                assert_eq!(engine.conditions(), Conditions::AWS, "{what}");
                engine.reset().unwrap();
                assert_eq!(engine.conditions(), Conditions::AWS, "{what}");
                engine.reset_all().unwrap();
                assert_eq!(engine.conditions(), initial, "{what}");
            }
            assert_eq!(engine.conditions(), Conditions::AWS);
        }
    }
}
