//! Sessions that end after seven days. The time of their deletion is not guaranteed, so readers check the time
//! themselves.

use std::time::Duration;

use aws_sdk_dynamodb::types::TimeToLiveStatus;

use crate::check::{Outcome, equal, item, n, number, present, refused, s};
use crate::context::{Context, Table};

const WEEK: i64 = 7 * 24 * 3600;
/// The deletion happens within two days.
const LONGEST_LAG: Duration = Duration::from_hours(48);

pub(super) async fn run(context: &Context) -> Outcome {
    let table = context
        .create(Table::new("sessions").keys("PK", "SK").time_to_live("expiresAt"))
        .await?;
    let described = context
        .client()
        .describe_time_to_live()
        .table_name(&table)
        .send()
        .await?;
    let setting = present("TimeToLiveDescription", described.time_to_live_description())?;
    equal("attribute", setting.attribute_name(), Some("expiresAt"))?;
    let status = setting.time_to_live_status();
    equal("status", status, Some(&TimeToLiveStatus::Enabled))?;

    let start = context.now();
    for (session, ends) in [("s-001", start + WEEK), ("s-002", start + 2 * WEEK)] {
        create(context, &table, session, ends).await?;
    }
    let twice = create_raw(context, &table, "s-001", start + WEEK).send().await;
    refused(
        "a second session of that name",
        twice,
        "ConditionalCheckFailedException",
    )?;
    equal(
        "sessions at first",
        live(context, &table, start).await?,
        [start + WEEK, start + 2 * WEEK],
    )?;
    // Readers that check the time do not need the deletion.
    equal(
        "sessions in a week",
        live(context, &table, start + WEEK).await?,
        [start + 2 * WEEK],
    )?;

    let Some(clock) = context.clock() else { return Ok(()) };
    clock.advance(Duration::from_secs(WEEK.unsigned_abs() + 1));
    if context.deletes_at_once() {
        equal("sessions stored after a week", stored(context, &table).await?, 1)?;
    }
    clock.advance(LONGEST_LAG);
    equal(
        "sessions stored after a week and two days",
        stored(context, &table).await?,
        1,
    )?;
    clock.advance(Duration::from_secs(WEEK.unsigned_abs()));
    equal(
        "sessions stored after two weeks and two days",
        stored(context, &table).await?,
        0,
    )
}

/// The number of stored sessions, expired or not.
async fn stored(context: &Context, table: &str) -> Outcome<i32> {
    let scan = context.client().scan().table_name(table).consistent_read(true);
    Ok(scan.send().await?.count)
}

fn create_raw(
    context: &Context,
    table: &str,
    session: &str,
    ends: i64,
) -> aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder {
    let item = item([
        ("PK", s("USER#u-001")),
        ("SK", s(format!("SESSION#{session}"))),
        ("entityType", s("Session")),
        ("expiresAt", n(ends)),
    ]);
    let put = context.client().put_item().table_name(table).set_item(Some(item));
    put.condition_expression("attribute_not_exists(PK) AND attribute_not_exists(SK)")
}

async fn create(context: &Context, table: &str, session: &str, ends: i64) -> Outcome {
    create_raw(context, table, session, ends).send().await?;
    Ok(())
}

/// When the user's sessions that are live at `now` end.
async fn live(context: &Context, table: &str, now: i64) -> Outcome<Vec<i64>> {
    let query = context.client().query().table_name(table).consistent_read(true);
    let answer = query
        .key_condition_expression("PK = :pk AND begins_with(SK, :prefix)")
        .filter_expression("expiresAt > :now")
        .expression_attribute_values(":pk", s("USER#u-001"))
        .expression_attribute_values(":prefix", s("SESSION#"))
        .expression_attribute_values(":now", n(now))
        .send()
        .await?;
    answer.items().iter().map(|item| number(item, "expiresAt")).collect()
}
