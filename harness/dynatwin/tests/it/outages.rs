//! Outages: what they concern, and when they end.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use dynatwin::{Account, Moment, Outage, Rule, Twin, Verdict};

use crate::s;

#[test]
fn an_outage_ends_with_its_guards() {
    let twin = Twin::seeded(7);
    let guards = twin.faults().outage(Outage::ThrottleStorm);
    assert!(!guards.is_empty() && guards.iter().all(|guard| guard.report().is_some()));
    drop(guards);
    let second = twin.faults().outage(Outage::Brownout);
    let held = twin.engine().faults().report().len();
    assert_eq!(held, second.len(), "the rules of the first are removed");
}

/// The guards of an outage are those of all its rules.
#[test]
fn every_rule_of_an_outage_ends_with_its_guard() {
    let twin = Twin::seeded(7);
    for outage in Outage::ALL {
        let guards = twin.faults().outage(outage);
        let rules = twin.faults().report().len();
        assert_eq!(guards.len(), rules, "{outage:?}");
        for (dropped, guard) in (1..).zip(guards) {
            drop(guard);
            assert_eq!(twin.faults().report().len(), rules - dropped, "{outage:?}, {dropped}");
        }
    }
}

/// Returns a client without retries for which late and lost answers take no longer than ten milliseconds.
fn hasty(account: &Account) -> Client {
    let timeouts = TimeoutConfig::builder().read_timeout(Duration::from_millis(10));
    let config = account.config().retry_config(RetryConfig::disabled());
    Client::from_conf(config.timeout_config(timeouts.build()).build())
}

/// Reads some items of a table; returns the number of errors.
async fn errors_of_reads(client: &Client, table: &str, reads: usize) -> usize {
    let mut errors = 0;
    for at in 0..reads {
        let get = client.get_item().table_name(table).key("id", s(&at.to_string()));
        errors += usize::from(get.send().await.is_err());
    }
    errors
}

/// An outage concerns the requests that its scope matches, and ends with the scope's time window.
#[tokio::test]
async fn an_outage_of_a_scope_leaves_other_requests_alone() {
    let minute = Duration::from_mins(1);
    let all = || Rule::new(Verdict::Reset).lasting(minute);
    let places = ["us-east-1", "eu-west-1"].map(|region| [(region, "Orders"), (region, "Users")]);
    let places = places.as_flattened();
    let twin = Twin::seeded(7);
    for (region, table) in places {
        twin.region(region).table(table).hash("id").create().await.unwrap();
    }
    let clients: Vec<_> = places.iter().map(|(region, _)| hasty(&twin.region(region))).collect();
    for outage in Outage::ALL {
        for (scope, concerned) in [
            (all(), places),
            (all().table("Orders").region("us-east-1"), &places[..1]),
            (all().table("Users").region("us-east-1"), &places[1..2]),
            (all().region("us-east-1"), &places[..2]),
            (all().operation("PutItem"), &[]),
        ] {
            let context = format!("{outage} of {scope}");
            let guards = twin.faults().outage_of(outage, &scope);
            for (place, client) in places.iter().zip(&clients) {
                let before = guards[0].matched();
                let errors = errors_of_reads(client, place.1, 3).await;
                let is_concerned = concerned.contains(place);
                let matched = if is_concerned { 3 } else { 0 };
                assert_eq!(guards[0].matched() - before, matched, "{context}: {place:?}");
                assert!(is_concerned || errors == 0, "{context}: {place:?}, {errors} errors");
            }
            let before = guards[0].matched();
            twin.clock().advance(minute);
            for (place, client) in places.iter().zip(&clients) {
                let errors = errors_of_reads(client, place.1, 3).await;
                assert_eq!(errors, 0, "{context}, later: {place:?}");
            }
            assert_eq!(guards[0].matched(), before, "{context}");
        }
    }
}

/// Throttled requests are answered at once, so the time is that of the window.
#[tokio::test]
async fn an_outage_of_a_table_ends_with_its_window() {
    let twin = Twin::seeded(7);
    for table in ["Orders", "Users"] {
        twin.table(table).hash("id").create().await.unwrap();
    }
    let client = hasty(&twin);
    let scope = Rule::new(Verdict::Reset)
        .table("Orders")
        .lasting(Duration::from_mins(1));
    let outage = twin.faults().outage_of(Outage::ThrottleStorm, &scope);
    let mut fired = 0;
    for (second, is_throttled) in [(0, true), (59, true), (60, false), (3600, false)] {
        let passed = twin.clock().now().since(Moment::START);
        twin.clock().advance(Duration::from_secs(second).saturating_sub(passed));
        let errors = errors_of_reads(&client, "Orders", 10).await;
        assert_eq!(errors > 0, is_throttled, "after {second} s: {errors} errors");
        fired += errors as u64;
        assert_eq!(errors_of_reads(&client, "Users", 10).await, 0, "after {second} s");
    }
    outage[0].assert_fired(fired);
}

#[test]
#[should_panic(expected = "dynatwin: The rule's time ends before it begins.")]
fn an_outage_that_ends_before_it_begins_is_refused() {
    let minute = Duration::from_mins(1);
    let scope = Rule::new(Verdict::Reset).after(2 * minute).until(minute);
    let _ = Twin::seeded(7).faults().outage_of(Outage::AzLoss, &scope);
}
