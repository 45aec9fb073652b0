//! A condition on its key makes a job run only once.
//!
//! Several workers get the same job. The first claims it, and the others wait for its result. A claim is a conditional write
//! to the job's key; the claim of a worker that dies expires. A lookup in an index returns an earlier state, so it can miss a
//! recent claim.
//!
//! | PK | SK | |
//! |---|---|---|
//! | `JOB#name` | `META` | `job`, `owner`, `claimedUntil`, and finally `result` |

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder;
use aws_sdk_dynamodb::types::Select;

use crate::{Outcome, held, n, number, pace, s, text};

/// The pause of a waiting worker between two reads.
const POLL: Duration = Duration::from_millis(500);

/// Jobs in a table with an index `by-job`.
#[derive(Clone, Debug)]
pub struct Jobs {
    client: Client,
    table: String,
}

/// The state of a job, as its item records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The job is unclaimed, or its claim has expired.
    Free,
    /// A worker is running it.
    Claimed,
    /// The job is finished, with this result.
    Done(String),
}

impl Jobs {
    /// How long a claim holds, in seconds.
    pub const CLAIM: i64 = 300;

    /// The jobs in this table.
    pub fn new(client: Client, table: &str) -> Jobs {
        let table = table.to_owned();
        Jobs { client, table }
    }

    /// Claims a job for this owner, whose name must be unique; returns whether it is now this owner's. It may have been
    /// already: if the answer to a claim is lost, the SDK repeats the claim and finds its own item.
    pub async fn claim(&self, job: &str, owner: &str) -> Outcome<bool> {
        let now = pace::now(&self.client);
        let put = self.put(job, format!("JOB#{job}"), owner);
        let put = put
            .condition_expression(
                "attribute_not_exists(PK) OR (attribute_not_exists(#result) AND (claimedUntil < :now OR #owner = :owner))",
            )
            .expression_attribute_names("#result", "result")
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_values(":owner", s(owner))
            .expression_attribute_values(":now", n(now));
        held(put.send().await)
    }

    /// The mistake: claims a job that an index does not list yet. `id` distinguishes jobs.
    pub async fn claim_by_index(&self, job: &str, owner: &str, id: u64) -> Outcome<bool> {
        let query = self
            .client
            .query()
            .table_name(&self.table)
            .index_name("by-job")
            .select(Select::Count);
        let query = query
            .key_condition_expression("job = :job")
            .expression_attribute_values(":job", s(job));
        if query.send().await?.count() > 0 {
            return Ok(false);
        }
        self.put(job, format!("JOB#{id}"), owner).send().await?;
        Ok(true)
    }

    fn put(&self, job: &str, key: String, owner: &str) -> PutItemFluentBuilder {
        let until = pace::now(&self.client) + Self::CLAIM;
        let put = self
            .client
            .put_item()
            .table_name(&self.table)
            .item("PK", s(key))
            .item("SK", s("META"));
        put.item("job", s(job))
            .item("owner", s(owner))
            .item("claimedUntil", n(until))
    }

    /// Stores the result of a job; returns whether the job still was this owner's.
    pub async fn complete(&self, job: &str, owner: &str, result: &str) -> Outcome<bool> {
        let update = self.client.update_item().table_name(&self.table);
        let update = update.key("PK", s(format!("JOB#{job}"))).key("SK", s("META"));
        let update = update
            .update_expression("SET #result = :result")
            .condition_expression("#owner = :owner AND (attribute_not_exists(#result) OR #result = :result)")
            .expression_attribute_names("#result", "result")
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_values(":result", s(result))
            .expression_attribute_values(":owner", s(owner));
        held(update.send().await)
    }

    /// Returns the current state of a job.
    pub async fn state(&self, job: &str) -> Outcome<State> {
        let read = self.client.get_item().table_name(&self.table).consistent_read(true);
        let read = read.key("PK", s(format!("JOB#{job}"))).key("SK", s("META"));
        let item = read.send().await?.item.unwrap_or_default();
        Ok(match text(&item, "result") {
            Some(result) => State::Done(result.to_owned()),
            None if number(&item, "claimedUntil") >= Some(pace::now(&self.client)) => State::Claimed,
            None => State::Free,
        })
    }

    /// Waits until a job is done or free.
    pub async fn settled(&self, job: &str) -> Outcome<State> {
        loop {
            match self.state(job).await? {
                State::Claimed => pace::sleep(&self.client, POLL).await,
                state => return Ok(state),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use dynatwin::{Conditions, Rule, Twin, Verdict};
    use tokio::task::JoinSet;

    use super::*;
    use crate::support::Table;

    const WORKERS: u64 = 20;

    async fn store(conditions: &Conditions) -> (Twin, Jobs) {
        let twin = Twin::seeded(7);
        Table::new("Jobs").index("by-job", "job", "owner").create(&twin).await;
        twin.set_conditions(Conditions {
            index_propagation: conditions.index_propagation,
            read_staleness: conditions.read_staleness,
            ..Conditions::CALM
        })
        .unwrap();
        let jobs = Jobs::new(twin.client(), "Jobs");
        (twin, jobs)
    }

    /// Returns how many of twenty workers, a millisecond apart, run one job with each method.
    async fn runs(twin: &Twin, jobs: &Jobs) -> (usize, usize) {
        let (mut by_key, mut by_index) = (0, 0);
        for worker in 0..WORKERS {
            let owner = format!("worker-{worker}");
            by_key += usize::from(jobs.claim("report", &owner).await.unwrap());
            by_index += usize::from(jobs.claim_by_index("other", &owner, worker).await.unwrap());
            twin.clock().advance(Duration::from_millis(1));
        }
        (by_key, by_index)
    }

    #[tokio::test]
    async fn a_check_by_index_runs_a_job_twice() {
        for conditions in [Conditions::AWS, Conditions::STORM] {
            let (twin, jobs) = store(&conditions).await;
            let (by_key, by_index) = runs(&twin, &jobs).await;
            assert_eq!(by_key, 1);
            assert!(by_index > 1, "{by_index}");
        }
        let (twin, jobs) = store(&Conditions::CALM).await;
        assert_eq!(
            runs(&twin, &jobs).await,
            (1, 1),
            "and it seems right where nothing lags"
        );
    }

    /// Runs the job or waits for the worker that does; returns the result, and whether this worker ran it.
    async fn work(jobs: Jobs, owner: String) -> (String, bool) {
        loop {
            if jobs.claim("report", &owner).await.unwrap() {
                pace::sleep(&jobs.client, Duration::from_secs(20)).await;
                let result = format!("by {owner}");
                assert!(jobs.complete("report", &owner, &result).await.unwrap());
                return (result, true);
            }
            if let State::Done(result) = jobs.settled("report").await.unwrap() {
                return (result, false);
            }
        }
    }

    #[tokio::test]
    async fn one_worker_runs_the_job_and_all_get_the_result() {
        let (twin, jobs) = store(&Conditions::STORM).await;
        let mut workers = JoinSet::new();
        for worker in 0..WORKERS {
            workers.spawn(work(jobs.clone(), format!("worker-{worker}")));
        }
        let results = workers.join_all().await;
        assert_eq!(results.iter().filter(|(_, ran)| *ran).count(), 1);
        assert!(results.iter().all(|(result, _)| *result == results[0].0), "{results:?}");
        assert_eq!(twin.items("Jobs").unwrap().len(), 1);
    }

    #[tokio::test]
    async fn an_answer_that_is_lost_loses_no_job() {
        let (twin, jobs) = store(&Conditions::STORM).await;
        let lost = |operation| {
            twin.faults()
                .add(Rule::new(Verdict::AnswerLost).operation(operation).first(1))
        };
        let (claim, complete) = (lost("PutItem"), lost("UpdateItem"));
        assert!(jobs.claim("report", "worker").await.unwrap());
        assert!(!jobs.claim("report", "other").await.unwrap());
        assert!(jobs.complete("report", "worker", "42 pages").await.unwrap());
        claim.assert_fired(1);
        complete.assert_fired(1);
    }

    #[tokio::test]
    async fn a_dead_workers_job_is_taken_over_and_its_late_result_refused() {
        let (twin, jobs) = store(&Conditions::STORM).await;
        assert!(jobs.claim("report", "dead").await.unwrap());
        twin.clock().advance(Duration::from_secs(Jobs::CLAIM as u64 - 1));
        assert!(!jobs.claim("report", "heir").await.unwrap());
        assert_eq!(jobs.state("report").await.unwrap(), State::Claimed);
        // Waiting workers see the claim expire, and one of them takes over.
        assert_eq!(jobs.settled("report").await.unwrap(), State::Free);
        assert!(jobs.claim("report", "heir").await.unwrap());
        assert!(!jobs.claim("report", "other").await.unwrap());
        assert!(!jobs.complete("report", "dead", "stale").await.unwrap());
        assert!(jobs.complete("report", "heir", "fresh").await.unwrap());
        assert_eq!(jobs.state("report").await.unwrap(), State::Done("fresh".to_owned()));
        twin.clock().advance(Duration::from_hours(1));
        assert!(
            !jobs.claim("report", "late").await.unwrap(),
            "what is done is not done again"
        );
    }
}
