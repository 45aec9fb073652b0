//! Changes of limits: for which resources they hold, and from when on.

use std::time::Duration;

use crate::common::Twin;
use dynatwin_engine::monitoring::ResourceHeat;
use dynatwin_engine::{Capacity, Conditions, Enforcement, Lag};
use serde_json::{Value, json};

use super::{create, enforced, heat};

/// What a resource serves: units a second for reads and for writes, and the on-demand maximum of reads.
type Served = (u64, u64, Option<u64>);

/// A change, and what the table, `one` and `two` serve from which second on.
type Change = (Value, Vec<(u64, [Served; 3])>);

fn served(twin: &Twin) -> Vec<Served> {
    let of = |resource: &ResourceHeat| {
        let [read, write] = resource.levels.each_ref().map(|level| level.rate);
        (read, write, resource.maximums[0].as_ref().map(|level| level.rate))
    };
    heat(twin).resources.iter().map(of).collect()
}

fn with(mut first: Value, second: &Value) -> Value {
    let members = second.as_object().unwrap().clone();
    first.as_object_mut().unwrap().extend(members);
    first
}

fn throughput(units: u64) -> Value {
    json!({"ProvisionedThroughput": {"ReadCapacityUnits": units, "WriteCapacityUnits": units + 1}})
}

fn warm(units: u64) -> Value {
    json!({"WarmThroughput": {"ReadUnitsPerSecond": units, "WriteUnitsPerSecond": units + 1}})
}

fn update_indexes(updates: &[(&str, Value)]) -> Value {
    let update = |(name, more): &(&str, Value)| json!({"Update": with(json!({"IndexName": name}), more)});
    json!({"GlobalSecondaryIndexUpdates": updates.iter().map(update).collect::<Vec<_>>()})
}

/// What a resource of these provisioned units serves.
fn paid(units: u64) -> Served {
    (units, units + 1, None)
}

/// What a new on-demand resource serves.
const ON_DEMAND: Served = (12_000, 4000, None);

fn changes_of_provisioned() -> Vec<Change> {
    vec![
        (throughput(50), vec![(10, [50, 20, 30].map(paid))]),
        (throughput(3), vec![(10, [3, 20, 30].map(paid))]),
        (
            update_indexes(&[("one", throughput(60))]),
            vec![(20, [10, 60, 30].map(paid))],
        ),
        (
            update_indexes(&[("two", throughput(2))]),
            vec![(20, [10, 20, 2].map(paid))],
        ),
        (
            with(throughput(50), &update_indexes(&[("two", throughput(70))])),
            vec![(10, [50, 20, 30].map(paid)), (20, [50, 20, 70].map(paid))],
        ),
        (json!({"BillingMode": "PAY_PER_REQUEST"}), vec![(1000, [ON_DEMAND; 3])]),
        (json!({"TableClass": "STANDARD_INFREQUENT_ACCESS"}), vec![]),
        (warm(30_000), vec![]),
        (update_indexes(&[("one", warm(30_000))]), vec![]),
    ]
}

fn changes_of_on_demand() -> Vec<Change> {
    let of_indexes = update_indexes(&[("one", throughput(60)), ("two", throughput(70))]);
    let back = with(
        with(json!({"BillingMode": "PROVISIONED"}), &throughput(50)),
        &of_indexes,
    );
    let most = json!({"OnDemandThroughput": {"MaxReadRequestUnits": 7, "MaxWriteRequestUnits": 8}});
    let (start, raised, bounded) = (ON_DEMAND, paid(30_000), (12_000, 4000, Some(7)));
    vec![
        // The indexes are active before the table, but are paid for as it is.
        (back, vec![(520, [50, 60, 70].map(paid))]),
        (warm(30_000), vec![(2400, [raised, start, start])]),
        (
            update_indexes(&[("one", warm(30_000))]),
            vec![(2400, [start, raised, start])],
        ),
        (
            update_indexes(&[("two", warm(30_000))]),
            vec![(2400, [start, start, raised])],
        ),
        (most.clone(), vec![(0, [bounded, start, start])]),
        (
            update_indexes(&[("one", most.clone())]),
            vec![(20, [start, bounded, start])],
        ),
        (
            update_indexes(&[("two", most.clone())]),
            vec![(20, [start, start, bounded])],
        ),
        // Changes of two indexes are complete at their own times.
        (
            update_indexes(&[("one", warm(30_000)), ("two", most.clone())]),
            vec![(20, [start, start, bounded]), (2400, [start, raised, bounded])],
        ),
        (
            update_indexes(&[("one", most), ("two", warm(30_000))]),
            vec![(20, [start, bounded, start]), (2400, [start, bounded, raised])],
        ),
    ]
}

/// Each kind of change holds for the table or the indexes that it names, from the moment at which it is complete.
#[test]
fn limits_hold_from_the_end_of_their_change() {
    let rows = changes_of_provisioned().into_iter();
    let rows = rows.map(|change| ("PROVISIONED", [10, 20, 30].map(paid), change));
    let on_demand = changes_of_on_demand().into_iter();
    let rows = rows.chain(on_demand.map(|change| ("PAY_PER_REQUEST", [ON_DEMAND; 3], change)));
    for (billing, before, (change, steps)) in rows {
        for is_enforced in [false, true] {
            let twin = enforced(Enforcement::AWS);
            let limits = |units: u64| match billing {
                "PROVISIONED" => throughput(units),
                _ => json!({}),
            };
            let index = |name: &str, units: u64| {
                let key = json!([{"AttributeName": "pk", "KeyType": "HASH"}]);
                let index = json!({"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": "ALL"}});
                with(index, &limits(units))
            };
            let table = json!({"BillingMode": billing, "GlobalSecondaryIndexes": [index("one", 20), index("two", 30)]});
            create(&twin, &with(table, &limits(10)));
            let mut conditions = twin.engine.conditions();
            conditions.table_status = Lag::Fixed(Duration::from_secs(40));
            if !is_enforced {
                conditions.capacity = Capacity::Reported;
            }
            twin.engine.set_conditions(conditions).unwrap();
            twin.engine.account(&twin.caller).watch_heat("tab", true).unwrap();

            twin.ok("UpdateTable", &with(json!({"TableName": "tab"}), &change));
            let start = twin.engine.clock().now();
            let mut expect = before;
            let moment = Duration::from_millis(1);
            for (at, after) in &steps {
                if *at > 0 {
                    assert_eq!(served(&twin), expect, "{billing} {change}: at first");
                    let end = start.plus(Duration::from_secs(*at));
                    twin.engine.advance(end.since(twin.engine.clock().now().plus(moment)));
                    assert_eq!(served(&twin), expect, "{billing} {change}: before {at} s");
                    twin.engine.advance(moment);
                }
                expect = *after;
                assert_eq!(served(&twin), expect, "{billing} {change}: after {at} s");
            }
            twin.engine.advance(Duration::from_hours(2));
            assert_eq!(served(&twin), expect, "{billing} {change}: in the end");
        }
    }
}

/// A change of the conditions while limits are changed leaves what is served as it is.
#[test]
fn conditions_that_change_meanwhile_end_no_change_of_limits() {
    let twin = enforced(Enforcement::AWS);
    let index = json!({"IndexName": "one", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"}});
    let table = json!({"GlobalSecondaryIndexes": [with(index, &throughput(20))]});
    create(&twin, &with(table, &throughput(10)));
    let slow = Conditions {
        table_status: Lag::Fixed(Duration::from_secs(40)),
        ..twin.engine.conditions()
    };
    twin.engine.set_conditions(slow).unwrap();
    let update = with(throughput(50), &update_indexes(&[("one", throughput(60))]));
    twin.ok("UpdateTable", &with(json!({"TableName": "tab"}), &update));
    for (advance, conditions, expect) in [
        (0, slow, [10, 20]),
        (
            5,
            Conditions {
                stream_lag: Lag::Fixed(Duration::from_secs(1)),
                ..slow
            },
            [10, 20],
        ),
        (
            4,
            Conditions {
                table_status: Lag::None,
                ..slow
            },
            [10, 20],
        ),
        (1, slow, [50, 20]),
        (9, slow, [50, 20]),
        (1, slow, [50, 60]),
    ] {
        twin.engine.advance(Duration::from_secs(advance));
        twin.engine.set_conditions(conditions).unwrap();
        assert_eq!(served(&twin), expect.map(paid), "{advance}");
    }
}
