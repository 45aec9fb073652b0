//! Invitations that expire: each is accepted once, and an expired one is refused even if it has not been deleted.
//!
//! The time of a deletion by time to live is not guaranteed, so an invitation's validity is a condition on its time.
//! With a settable clock the scenario also observes the deletion.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{Put, TransactWriteItem, Update};

use crate::check::{Outcome, equal, item, n, race, s, transact};
use crate::context::{Context, Table};

const DAY: i64 = 24 * 3600;
/// The deletion happens within two days.
const LONGEST_LAG: Duration = Duration::from_hours(48);

pub(super) async fn run(context: &Context) -> Outcome {
    let table = Table::new("invitations").keys("PK", "SK").time_to_live("expiresAt");
    let team = Team {
        client: context.client().clone(),
        table: context.create(table).await?,
    };
    let now = context.now();
    team.invite("open", now + DAY).await?;
    team.invite("another", now + DAY).await?;
    team.invite("short", now + 60).await?;

    let accepted = race(50, |guest| {
        let team = team.clone();
        async move { team.accept("open", &format!("guest-{guest:02}"), now).await }
    })
    .await?;
    let winners = accepted.iter().filter(|accepted| **accepted).count();
    equal("guests who came in by one invitation", winners, 1)?;
    equal("members", team.members().await?, 1)?;

    equal(
        "an unknown invitation",
        team.accept("forged", "mallory", now).await?,
        false,
    )?;
    equal("after its time", team.accept("short", "late", now + 61).await?, false)?;
    let winner = accepted.iter().position(|accepted| *accepted).unwrap_or_default();
    let member = format!("guest-{winner:02}");
    equal(
        "a member's second invitation",
        team.accept("another", &member, now).await?,
        false,
    )?;
    // A refused request left the invitation unchanged.
    equal(
        "the same for somebody else",
        team.accept("another", "grace", now).await?,
        true,
    )?;
    equal("members", team.members().await?, 2)?;

    let Some(clock) = context.clock() else { return Ok(()) };
    clock.advance(Duration::from_secs(DAY.unsigned_abs() + 1) + LONGEST_LAG);
    equal("invitations stored in the end", team.stored("INVITE#").await?, 0)?;
    equal("members in the end", team.members().await?, 2)
}

#[derive(Clone)]
struct Team {
    client: Client,
    table: String,
}

impl Team {
    async fn invite(&self, code: &str, ends: i64) -> Outcome {
        let invitation = item([
            ("PK", s("TEAM#alpha")),
            ("SK", s(format!("INVITE#{code}"))),
            ("status", s("OPEN")),
            ("expiresAt", n(ends)),
        ]);
        let put = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(invitation));
        put.condition_expression("attribute_not_exists(PK)").send().await?;
        Ok(())
    }

    /// Takes the invitation and makes the guest a member in one transaction.
    async fn accept(&self, code: &str, guest: &str, now: i64) -> Outcome<bool> {
        let invitation = Update::builder()
            .table_name(&self.table)
            .key("PK", s("TEAM#alpha"))
            .key("SK", s(format!("INVITE#{code}")))
            .update_expression("SET #status = :accepted, acceptedBy = :guest")
            .condition_expression("#status = :open AND expiresAt > :now")
            .expression_attribute_names("#status", "status")
            .expression_attribute_values(":accepted", s("ACCEPTED"))
            .expression_attribute_values(":open", s("OPEN"))
            .expression_attribute_values(":guest", s(guest))
            .expression_attribute_values(":now", n(now));
        let membership = Put::builder()
            .table_name(&self.table)
            .set_item(Some(item([
                ("PK", s("TEAM#alpha")),
                ("SK", s(format!("MEMBER#{guest}"))),
                ("since", n(now)),
            ])))
            .condition_expression("attribute_not_exists(PK)");
        let request = self.client.transact_write_items();
        let request = request
            .transact_items(TransactWriteItem::builder().update(invitation.build()?).build())
            .transact_items(TransactWriteItem::builder().put(membership.build()?).build());
        Ok(transact(request).await?.is_ok())
    }

    async fn members(&self) -> Outcome<i32> {
        self.stored("MEMBER#").await
    }

    async fn stored(&self, prefix: &str) -> Outcome<i32> {
        let query = self.client.query().table_name(&self.table).consistent_read(true);
        let answer = query
            .key_condition_expression("PK = :team AND begins_with(SK, :prefix)")
            .expression_attribute_values(":team", s("TEAM#alpha"))
            .expression_attribute_values(":prefix", s(prefix))
            .send()
            .await?;
        Ok(answer.count)
    }
}
