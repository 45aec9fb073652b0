//! Expired items can still be read.
//!
//! Time to live deletes an item some time after its expiry, mostly within hours, and at most within about two days.
//! Until then every read returns it, and every write can change it. Code that reads a session must therefore check its
//! expiry, and code that prolongs one must not revive an expired one.
//!
//! | PK | SK | |
//! |---|---|---|
//! | `USER#…` | `SESSION#…` | `expiresAt` in epoch seconds |

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;

use crate::{Outcome, held, n, number, pace, s, text};

/// Sessions in a table with time to live by `expiresAt`.
#[derive(Clone, Debug)]
pub struct Sessions {
    client: Client,
    table: String,
}

impl Sessions {
    /// How long a session is valid after it was opened or used, in seconds: a week.
    pub const LIFE: i64 = 7 * 24 * 3600;

    /// The sessions in this table.
    pub fn new(client: Client, table: &str) -> Sessions {
        let table = table.to_owned();
        Sessions { client, table }
    }

    /// Opens a session that expires after [`LIFE`](Self::LIFE).
    pub async fn open(&self, user: &str, id: &str) -> Outcome<()> {
        let put = self.client.put_item().table_name(&self.table);
        let put = put
            .item("PK", s(format!("USER#{user}")))
            .item("SK", s(format!("SESSION#{id}")));
        put.item("expiresAt", n(pace::now(&self.client) + Self::LIFE))
            .send()
            .await?;
        Ok(())
    }

    /// Returns whether a session exists and has not expired.
    pub async fn is_live(&self, user: &str, id: &str) -> Outcome<bool> {
        let read = self.client.get_item().table_name(&self.table).consistent_read(true);
        let read = read
            .key("PK", s(format!("USER#{user}")))
            .key("SK", s(format!("SESSION#{id}")));
        let session = read.send().await?.item.unwrap_or_default();
        Ok(number(&session, "expiresAt") > Some(pace::now(&self.client)))
    }

    /// Returns the valid sessions of a user.
    pub async fn of(&self, user: &str) -> Outcome<Vec<String>> {
        let query = self.query(user).filter_expression("expiresAt > :now");
        ids(query.expression_attribute_values(":now", n(pace::now(&self.client)))).await
    }

    /// The mistake: returns the sessions of a user that are not deleted yet.
    pub async fn undeleted(&self, user: &str) -> Outcome<Vec<String>> {
        ids(self.query(user)).await
    }

    fn query(&self, user: &str) -> QueryFluentBuilder {
        let query = self.client.query().table_name(&self.table).consistent_read(true);
        query
            .key_condition_expression("PK = :user AND begins_with(SK, :prefix)")
            .expression_attribute_values(":user", s(format!("USER#{user}")))
            .expression_attribute_values(":prefix", s("SESSION#"))
    }

    /// Prolongs a valid session; returns whether there was one.
    pub async fn prolong(&self, user: &str, id: &str) -> Outcome<bool> {
        let now = pace::now(&self.client);
        let update = self.client.update_item().table_name(&self.table);
        let update = update
            .key("PK", s(format!("USER#{user}")))
            .key("SK", s(format!("SESSION#{id}")));
        let update = update
            .update_expression("SET expiresAt = :ends")
            .condition_expression("expiresAt > :now")
            .expression_attribute_values(":ends", n(now + Self::LIFE))
            .expression_attribute_values(":now", n(now));
        held(update.send().await)
    }
}

async fn ids(query: QueryFluentBuilder) -> Outcome<Vec<String>> {
    let mut found = Vec::new();
    let mut sessions = query.into_paginator().items().send();
    while let Some(session) = sessions.next().await {
        let session = session?;
        let id = text(&session, "SK").unwrap_or_default().trim_start_matches("SESSION#");
        found.push(id.to_owned());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dynatwin::{Conditions, Lag, Moment, TimeToLive, Twin};

    use super::*;
    use crate::support::Table;

    const SESSIONS: usize = 300;
    const HOUR: Duration = Duration::from_hours(1);

    /// Opens three hundred sessions under a deletion lag.
    async fn opened(lag: TimeToLive) -> (Twin, Sessions) {
        let twin = Twin::seeded(7);
        Table::new("Sessions").expires("expiresAt").create(&twin).await;
        twin.set_conditions(Conditions {
            time_to_live: lag,
            ..Conditions::CALM
        })
        .unwrap();
        let sessions = Sessions::new(twin.client(), "Sessions");
        for id in 0..SESSIONS {
            sessions.open("masa", &id.to_string()).await.unwrap();
        }
        (twin, sessions)
    }

    /// Returns when the sessions expire.
    fn end() -> Moment {
        Moment::START.plus(Duration::from_secs(Sessions::LIFE as u64))
    }

    fn the_last_second() -> Moment {
        Moment::from_micros(end().micros() - 1_000_000)
    }

    /// Returns how many sessions each method finds.
    async fn found(sessions: &Sessions) -> (usize, usize) {
        let live = sessions.of("masa").await.unwrap().len();
        (live, sessions.undeleted("masa").await.unwrap().len())
    }

    #[tokio::test]
    async fn a_session_is_read_back_after_it_expired_and_before_it_is_deleted() {
        let (twin, sessions) = opened(Conditions::AWS.time_to_live).await;
        twin.clock().set(the_last_second());
        assert_eq!(
            found(&sessions).await,
            (SESSIONS, SESSIONS),
            "none goes before its time"
        );

        let mut undeleted = Vec::new();
        for hours in 0..=48 {
            twin.clock().set(end().plus(hours * HOUR));
            let (live, left) = found(&sessions).await;
            assert_eq!(live, 0, "checking the time finds no live session");
            assert!(!sessions.is_live("masa", "1").await.unwrap());
            undeleted.push(left);
        }
        assert!(
            undeleted.is_sorted_by(|earlier, later| earlier >= later),
            "{undeleted:?}"
        );
        assert_eq!(undeleted[0], SESSIONS, "at the moment itself all can be read");
        assert!(
            (120..=180).contains(&undeleted[2]),
            "half are gone after two hours: {undeleted:?}"
        );
        assert!(undeleted[46] > 0, "the tail is long: {undeleted:?}");
        assert_eq!(undeleted[48], 0, "and ends after two days: {undeleted:?}");
    }

    #[tokio::test]
    async fn under_storm_most_expired_items_remain_after_a_day() {
        let (twin, sessions) = opened(Conditions::STORM.time_to_live).await;
        twin.clock().set(end().plus(24 * HOUR));
        let (live, undeleted) = found(&sessions).await;
        assert_eq!(live, 0);
        assert!(undeleted > SESSIONS / 2, "{undeleted}");
        twin.clock().advance(24 * HOUR);
        assert_eq!(found(&sessions).await, (0, 0));
    }

    #[tokio::test]
    async fn a_live_session_is_prolonged_and_a_dead_one_stays_dead() {
        let (twin, sessions) = opened(TimeToLive::Deletes(Lag::Fixed(48 * HOUR))).await;
        twin.clock().set(the_last_second());
        assert!(sessions.prolong("masa", "1").await.unwrap());
        twin.clock().advance(Duration::from_secs(1));
        assert!(!sessions.prolong("masa", "2").await.unwrap(), "its time is over");
        assert!(
            sessions.undeleted("masa").await.unwrap().contains(&"2".to_owned()),
            "and it is there"
        );
        assert!(!sessions.prolong("masa", "another").await.unwrap());

        // The pending deletion of the first is cancelled; all others happen.
        twin.clock().advance(48 * HOUR);
        assert_eq!(sessions.undeleted("masa").await.unwrap(), ["1"]);
        assert!(sessions.is_live("masa", "1").await.unwrap());
    }
}
