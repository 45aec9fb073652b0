//! A rate limiter must count and decide in one write.
//!
//! An index, and a read without `ConsistentRead`, return an earlier state. Counting the calls of a window by reading
//! them admits all calls that arrive within that lag. A counter with a conditional update is decided in the table, one
//! write after the other.
//!
//! | PK | SK | |
//! |---|---|---|
//! | `RATE#user` | `WINDOW#…` | `calls`, `expiresAt`: a counter |
//! | `CALL#…` | `META` | `caller`, `at`: a call, which the index `by-caller` lists |

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::Select;

use crate::{Outcome, held, n, pace, s};

/// A limit of calls for each user and window.
#[derive(Clone, Debug)]
pub struct RateLimit {
    client: Client,
    table: String,
    limit: i64,
    /// The length of the window in seconds.
    window: i64,
}

impl RateLimit {
    /// Creates a limit that is stored in this table.
    pub fn new(client: Client, table: &str, limit: i64, window: i64) -> RateLimit {
        let table = table.to_owned();
        RateLimit {
            client,
            table,
            limit,
            window,
        }
    }

    /// Counts a call, and admits it if that succeeds.
    pub async fn admit(&self, user: &str) -> Outcome<bool> {
        let window = pace::now(&self.client) / self.window;
        let count = self.client.update_item().table_name(&self.table);
        let count = count
            .key("PK", s(format!("RATE#{user}")))
            .key("SK", s(format!("WINDOW#{window}")));
        let count = count
            .update_expression("SET expiresAt = :ends ADD calls :one")
            .condition_expression("attribute_not_exists(calls) OR calls < :limit")
            .expression_attribute_values(":one", n(1))
            .expression_attribute_values(":limit", n(self.limit))
            .expression_attribute_values(":ends", n((window + 1) * self.window));
        held(count.send().await)
    }

    /// The mistake: counts the calls in the index, and adds one. `id` distinguishes calls.
    pub async fn admit_by_index(&self, user: &str, id: u64) -> Outcome<bool> {
        let since = pace::now(&self.client) / self.window * self.window;
        let query = self
            .client
            .query()
            .table_name(&self.table)
            .index_name("by-caller")
            .select(Select::Count);
        let query = query
            .key_condition_expression("caller = :caller AND #at >= :since")
            .expression_attribute_names("#at", "at")
            .expression_attribute_values(":caller", s(user))
            .expression_attribute_values(":since", s(moment(since)));
        if i64::from(query.send().await?.count()) >= self.limit {
            return Ok(false);
        }
        let put = self.client.put_item().table_name(&self.table);
        let put = put
            .item("PK", s(format!("CALL#{id}")))
            .item("SK", s("META"))
            .item("caller", s(user));
        put.item("at", s(moment(pace::now(&self.client)))).send().await?;
        Ok(true)
    }
}

/// Formats seconds as text with the same order.
fn moment(seconds: i64) -> String {
    format!("{seconds:012}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dynatwin::{Conditions, Twin};

    use super::*;
    use crate::number;
    use crate::support::{Table, stored};

    const LIMIT: i64 = 10;
    const CALLS: u64 = 40;

    async fn limited(conditions: &Conditions) -> (Twin, RateLimit) {
        let twin = Twin::seeded(7);
        Table::new("Rates")
            .index("by-caller", "caller", "at")
            .create(&twin)
            .await;
        twin.set_conditions(Conditions {
            index_propagation: conditions.index_propagation,
            read_staleness: conditions.read_staleness,
            ..Conditions::CALM
        })
        .unwrap();
        let limit = RateLimit::new(twin.client(), "Rates", LIMIT, 60);
        (twin, limit)
    }

    /// Returns how many of forty calls, two milliseconds apart, each method admits.
    async fn admitted(twin: &Twin, limit: &RateLimit, burst: u64) -> (i64, i64) {
        let (mut counted, mut listed) = (0, 0);
        for call in 0..CALLS {
            counted += i64::from(limit.admit("masa").await.unwrap());
            listed += i64::from(limit.admit_by_index("masa", burst * CALLS + call).await.unwrap());
            twin.clock().advance(Duration::from_millis(2));
        }
        (counted, listed)
    }

    #[tokio::test]
    async fn a_limit_counted_by_an_index_lets_too_many_through() {
        for conditions in [Conditions::AWS, Conditions::STORM] {
            let (twin, limit) = limited(&conditions).await;
            let (counted, listed) = admitted(&twin, &limit, 0).await;
            assert_eq!(counted, LIMIT);
            assert!(listed > LIMIT, "{listed}");
        }
    }

    #[tokio::test]
    async fn both_pass_where_no_index_lags() {
        let (twin, limit) = limited(&Conditions::CALM).await;
        assert_eq!(admitted(&twin, &limit, 0).await, (LIMIT, LIMIT));
    }

    #[tokio::test]
    async fn the_next_window_has_calls_of_its_own() {
        let (twin, limit) = limited(&Conditions::STORM).await;
        admitted(&twin, &limit, 0).await;
        twin.clock().advance(Duration::from_mins(1));
        assert_eq!(admitted(&twin, &limit, 1).await.0, LIMIT);
        let first = pace::now(&twin.client()) / 60 - 1;
        let counter = stored(&twin, "Rates", "RATE#masa", &format!("WINDOW#{first}")).unwrap();
        assert_eq!(number(&counter, "calls"), Some(LIMIT));
        assert_eq!(number(&counter, "expiresAt"), Some((first + 1) * 60));
    }

    #[tokio::test]
    async fn calls_at_the_same_time_do_not_slip_through_together() {
        let (twin, limit) = limited(&Conditions::STORM).await;
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..CALLS {
            let limit = limit.clone();
            calls.spawn(async move { limit.admit("masa").await.unwrap() });
        }
        let admitted = calls.join_all().await.into_iter().filter(|admitted| *admitted).count();
        assert_eq!(admitted as i64, LIMIT, "{twin:?}");
    }
}
