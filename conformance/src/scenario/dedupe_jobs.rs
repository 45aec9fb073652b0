//! Jobs that must not run concurrently: the first to register runs the job, the others wait for its result.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;

use crate::check::{Item, Outcome, ensure, equal, item, n, race, s, text, won};
use crate::context::{Context, Table};

const TIMEOUT: i64 = 300;

pub(super) async fn run(context: &Context) -> Outcome {
    let table = context.create(Table::new("jobs").key("pk")).await?;
    let jobs = Jobs {
        client: context.client().clone(),
        table,
    };
    let now = context.now();

    equal("owners", owners(&jobs, "report", now).await?.len(), 1)?;
    ensure(
        !jobs.register("report", "late", now).await?,
        "a running job got a second owner",
    )?;
    ensure(
        jobs.finish("report", "COMPLETED", "42 pages").await?,
        "a pending job could not be completed",
    )?;
    ensure(
        !jobs.finish("report", "FAILED", "too late").await?,
        "a completed job failed afterwards",
    )?;
    let done = jobs.read("report").await?.unwrap_or_default();
    equal("status", text(&done, "status")?, "COMPLETED")?;
    equal("result", text(&done, "result")?, "42 pages")?;
    // A completed job can run again.
    ensure(
        jobs.register("report", "again", now).await?,
        "a completed job could not be registered again",
    )?;

    // Its owner has died: after the timeout exactly one other worker takes the job over.
    let heirs = owners(&jobs, "report", now + TIMEOUT + 1).await?;
    equal("heirs", heirs.len(), 1)?;
    let taken = jobs.read("report").await?.unwrap_or_default();
    equal("owner", text(&taken, "owner")?, format!("worker-{}", heirs[0]).as_str())
}

/// The number of fifty workers that come to own the job.
async fn owners(jobs: &Jobs, job: &'static str, now: i64) -> Outcome<Vec<usize>> {
    let won = race(50, |racer| {
        let jobs = jobs.clone();
        async move { jobs.register(job, &format!("worker-{racer}"), now).await }
    })
    .await?;
    Ok((0..won.len()).filter(|racer| won[*racer]).collect())
}

#[derive(Clone)]
struct Jobs {
    client: Client,
    table: String,
}

fn key(job: &str) -> AttributeValue {
    s(format!("DEDUPE#{job}"))
}

impl Jobs {
    /// Whether this worker runs the job.
    async fn register(&self, job: &str, owner: &str, now: i64) -> Outcome<bool> {
        let item = item([
            ("pk", key(job)),
            ("status", s("PENDING")),
            ("owner", s(owner)),
            ("deadline", n(now + TIMEOUT)),
        ]);
        let put = self.client.put_item().table_name(&self.table).set_item(Some(item));
        let put = put
            .condition_expression("attribute_not_exists(pk) OR #status <> :pending OR deadline < :now")
            .expression_attribute_names("#status", "status")
            .expression_attribute_values(":pending", s("PENDING"))
            .expression_attribute_values(":now", n(now));
        won(put.send().await)
    }

    /// Ends a pending job; returns whether it was pending.
    async fn finish(&self, job: &str, status: &str, result: &str) -> Outcome<bool> {
        let update = self.client.update_item().table_name(&self.table).key("pk", key(job));
        let update = update
            .update_expression("SET #status = :status, #result = :result REMOVE deadline")
            .condition_expression("#status = :pending")
            .expression_attribute_names("#status", "status")
            .expression_attribute_names("#result", "result")
            .expression_attribute_values(":status", s(status))
            .expression_attribute_values(":result", s(result))
            .expression_attribute_values(":pending", s("PENDING"));
        won(update.send().await)
    }

    async fn read(&self, job: &str) -> Outcome<Option<Item>> {
        let read = self.client.get_item().table_name(&self.table).consistent_read(true);
        Ok(read.key("pk", key(job)).send().await?.item)
    }
}
