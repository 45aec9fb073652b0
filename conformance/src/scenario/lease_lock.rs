//! A lock with a lease: one holder at a time, who must renew it, and a fencing token that rises with each new holder.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::ReturnValue;

use crate::check::{Outcome, ensure, equal, n, number, present, race, s, won};
use crate::context::{Context, Table};

const LEASE: i64 = 30;

pub(super) async fn run(context: &Context) -> Outcome {
    let table = context.create(Table::new("locks").key("pk")).await?;
    let locks = Locks {
        client: context.client().clone(),
        table,
    };
    let now = context.now();

    let tokens = race(50, |racer| {
        let locks = locks.clone();
        async move { locks.acquire(&format!("node-{racer}"), now).await }
    })
    .await?;
    let holders: Vec<usize> = (0..tokens.len()).filter(|racer| tokens[*racer].is_some()).collect();
    equal("holders", holders.len(), 1)?;
    equal("the first token", tokens[holders[0]], Some(1))?;
    let holder = format!("node-{}", holders[0]);

    ensure(locks.renew(&holder, now + 20).await?, "the holder could not renew")?;
    ensure(!locks.renew("stranger", now + 20).await?, "a stranger renewed")?;
    // The first lease would have expired; the renewed one has not.
    equal(
        "a token during the lease",
        locks.acquire("heir", now + LEASE + 1).await?,
        None,
    )?;
    equal(
        "a token after the lease",
        locks.acquire("heir", now + 20 + LEASE + 1).await?,
        Some(2),
    )?;
    ensure(!locks.renew(&holder, now + 52).await?, "the former holder renewed")?;
    ensure(
        !locks.release(&holder).await?,
        "the former holder released the heir's lock",
    )?;
    ensure(locks.release("heir").await?, "the heir could not release")?;
    equal(
        "a token after the release",
        locks.acquire("next", now + 52).await?,
        Some(3),
    )
}

#[derive(Clone)]
struct Locks {
    client: Client,
    table: String,
}

impl Locks {
    fn update(&self) -> aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder {
        self.client
            .update_item()
            .table_name(&self.table)
            .key("pk", s("LOCK#nightly"))
    }

    /// The fencing token, if the lock was free or its lease had expired.
    async fn acquire(&self, owner: &str, now: i64) -> Outcome<Option<i64>> {
        let answer = self
            .update()
            .update_expression("SET #owner = :owner, leaseEnds = :ends ADD #token :one")
            .condition_expression("attribute_not_exists(#owner) OR leaseEnds < :now")
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_names("#token", "token")
            .expression_attribute_values(":owner", s(owner))
            .expression_attribute_values(":ends", n(now + LEASE))
            .expression_attribute_values(":now", n(now))
            .expression_attribute_values(":one", n(1))
            .return_values(ReturnValue::AllNew)
            .send()
            .await;
        match answer {
            Ok(answer) => Ok(Some(number(&present("attributes", answer.attributes)?, "token")?)),
            refused => won(refused).map(|_| None),
        }
    }

    async fn renew(&self, owner: &str, now: i64) -> Outcome<bool> {
        let update = self
            .update()
            .update_expression("SET leaseEnds = :ends")
            .condition_expression("#owner = :owner");
        let update = update
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_values(":owner", s(owner))
            .expression_attribute_values(":ends", n(now + LEASE));
        won(update.send().await)
    }

    /// Releases the lock; the token stays, so that it never repeats.
    async fn release(&self, owner: &str) -> Outcome<bool> {
        let update = self
            .update()
            .update_expression("REMOVE #owner, leaseEnds")
            .condition_expression("#owner = :owner");
        let update = update
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_values(":owner", s(owner));
        won(update.send().await)
    }
}
