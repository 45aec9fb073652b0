//! An adaptive rate limit: users and background work share the slots of a window, and the shares follow the users'
//! activity.
//!
//! Slots are reserved on the table, so the limit holds whatever the index shows. The index only shows how active users
//! are; while it lags, the shares are those of a moment ago.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::Select;

use crate::check::{Failure, Outcome, ensure, equal, item, n, race, s, won};
use crate::context::{Context, Table};

const SLOTS: usize = 10;
/// The length of the window in milliseconds.
const WINDOW: i64 = 60_000;

pub(super) async fn run(context: &Context) -> Outcome {
    let table = Table::new("adaptive")
        .keys("pk", "sk")
        .index("gsi1", "gsi1pk", "gsi1sk");
    let limiter = Limiter {
        client: context.client().clone(),
        table: context.create(table).await?,
    };
    let quiet = context.now() * 1000;
    equal(
        "background work while users are quiet",
        fifty(&limiter, BACKGROUND, quiet).await?,
        SLOTS / 2,
    )?;
    ensure(
        limiter.admit(USER, quiet).await?,
        "a user must find a slot beside background work",
    )?;

    let busy = quiet + WINDOW + 1;
    let admitted = fifty(&limiter, USER, busy).await?;
    // The number depends on when the index shows the first requests; the limit does not.
    ensure(
        (SLOTS / 2..SLOTS).contains(&admitted),
        format!("{admitted} of fifty users were admitted"),
    )?;
    settle(context, &limiter, busy, admitted).await?;
    for more in admitted..SLOTS - 1 {
        ensure(
            limiter.admit(USER, busy).await?,
            "users who are active must get nine of ten slots",
        )?;
        settle(context, &limiter, busy, more + 1).await?;
    }
    ensure(
        !limiter.admit(USER, busy).await?,
        "one slot is kept for background work",
    )?;
    equal(
        "background work beside active users",
        fifty(&limiter, BACKGROUND, busy).await?,
        1,
    )?;
    equal("slots taken in the window", limiter.taken(busy).await?, SLOTS)?;
    while_the_index_stands(context, &limiter, busy + WINDOW + 1).await
}

/// While the index shows nothing new, the shares are those of quiet times, and the limit holds as well.
async fn while_the_index_stands(context: &Context, limiter: &Limiter, now: i64) -> Outcome {
    if !context.pause_index(&limiter.table, "gsi1")? {
        return Ok(());
    }
    for priority in [USER, BACKGROUND] {
        equal(priority, fifty(limiter, priority, now).await?, SLOTS / 2)?;
    }
    equal("slots taken meanwhile", limiter.taken(now).await?, SLOTS)?;
    context.resume_index(&limiter.table, "gsi1")?;
    settle(context, limiter, now, SLOTS / 2).await
}

/// The number of fifty concurrent requests that are admitted.
async fn fifty(limiter: &Limiter, priority: &'static str, now: i64) -> Outcome<usize> {
    let requested = race(50, |_| {
        let limiter = limiter.clone();
        async move { limiter.admit(priority, now).await }
    });
    Ok(requested.await?.into_iter().filter(|admitted| *admitted).count())
}

/// Waits until the index shows this many users.
async fn settle(context: &Context, limiter: &Limiter, now: i64, users: usize) -> Outcome {
    for _ in 0..1200 {
        if limiter.activity(now).await? == users {
            return Ok(());
        }
        context.sleep(Duration::from_millis(500)).await;
    }
    Err(Failure::new(format!(
        "the index does not come to tell of {users} users"
    )))
}

const USER: &str = "user";
const BACKGROUND: &str = "background";

#[derive(Clone)]
struct Limiter {
    client: Client,
    table: String,
}

impl Limiter {
    /// Reserves a slot of this priority's share, if one is free. Users take slots from the first on, background work
    /// from the last on, so they meet at the boundary of the shares.
    async fn admit(&self, priority: &str, now: i64) -> Outcome<bool> {
        let users = match self.activity(now).await? {
            0..3 => SLOTS / 2,
            3..5 => SLOTS * 7 / 10,
            _ => SLOTS * 9 / 10,
        };
        let slots = if priority == USER { 0..users } else { users..SLOTS };
        for slot in slots {
            if self.reserve(slot, priority, now).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A slot is free if nobody has reserved it in this window. Its item is also the record that the index counts.
    async fn reserve(&self, slot: usize, priority: &str, now: i64) -> Outcome<bool> {
        let slot = item([
            ("pk", s("RATELIMIT#api")),
            ("sk", s(format!("SLOT#{slot}"))),
            ("timestamp", n(now)),
            ("gsi1pk", s(format!("RATELIMIT#api#{priority}"))),
            ("gsi1sk", s(format!("{now:020}"))),
        ]);
        let put = self.client.put_item().table_name(&self.table).set_item(Some(slot));
        let put = put
            .condition_expression("attribute_not_exists(pk) OR #timestamp < :windowStart")
            .expression_attribute_names("#timestamp", "timestamp")
            .expression_attribute_values(":windowStart", n(now - WINDOW));
        won(put.send().await)
    }

    /// The number of slots that users have reserved in this window, according to the index.
    async fn activity(&self, now: i64) -> Outcome<usize> {
        let query = self.client.query().table_name(&self.table).index_name("gsi1");
        let answer = query
            .key_condition_expression("gsi1pk = :pk AND gsi1sk >= :start")
            .expression_attribute_values(":pk", s("RATELIMIT#api#user"))
            .expression_attribute_values(":start", s(format!("{:020}", now - WINDOW)))
            .select(Select::Count)
            .send()
            .await?;
        Ok(usize::try_from(answer.count)?)
    }

    /// The number of slots reserved in this window, according to the table.
    async fn taken(&self, now: i64) -> Outcome<usize> {
        let query = self.client.query().table_name(&self.table).consistent_read(true);
        let answer = query
            .key_condition_expression("pk = :pk AND begins_with(sk, :slot)")
            .filter_expression("#timestamp >= :windowStart")
            .expression_attribute_names("#timestamp", "timestamp")
            .expression_attribute_values(":pk", s("RATELIMIT#api"))
            .expression_attribute_values(":slot", s("SLOT#"))
            .expression_attribute_values(":windowStart", n(now - WINDOW))
            .send()
            .await?;
        Ok(answer.items().len())
    }
}
