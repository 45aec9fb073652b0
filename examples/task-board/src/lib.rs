//! A task board on DynamoDB: the part of an application that its unit tests cover.
//!
//! The repository takes an [`aws_sdk_dynamodb::Client`]. In production it is AWS's; in the tests below it is
//! `dynatwin::Twin`'s.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
    TimeToLiveSpecification,
};

/// How long a session is valid.
pub const SESSION: Duration = Duration::from_hours(7 * 24);

/// A task of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its id within the project.
    pub id: String,
    /// What is to be done.
    pub title: String,
    /// Who is to do it.
    pub owner: String,
    /// Whether the task is done.
    pub done: bool,
}

/// Why an operation of the board failed.
#[derive(Debug, PartialEq, Eq)]
pub enum BoardError {
    /// A task with this id exists already.
    TaskExists,
    /// The task does not exist, has another owner, or is done.
    NotYours,
    /// DynamoDB failed, even after the SDK's retries.
    Storage(String),
}

impl<E: std::error::Error + ProvideErrorMetadata> From<SdkError<E>> for BoardError {
    fn from(error: SdkError<E>) -> BoardError {
        BoardError::Storage(error.code().unwrap_or("no answer").to_owned())
    }
}

impl From<BuildError> for BoardError {
    fn from(error: BuildError) -> BoardError {
        BoardError::Storage(error.to_string())
    }
}

/// The board: projects with their tasks, users with their sessions, in one table.
///
/// | PK | SK | what |
/// |---|---|---|
/// | `PROJECT#alpha` | `TASK#1` | a task |
/// | `USER#masa` | `SESSION#1` | a session, deleted after `expiresAt` |
#[derive(Clone, Debug)]
pub struct Board {
    client: Client,
    table: String,
}

impl Board {
    /// The board in this table.
    pub fn new(client: Client, table: &str) -> Board {
        Board {
            client,
            table: table.to_owned(),
        }
    }

    /// Creates the table, with time to live for sessions.
    pub async fn create_table(&self) -> Result<(), BoardError> {
        let mut request = self.client.create_table().table_name(&self.table);
        for (name, role) in [("PK", KeyType::Hash), ("SK", KeyType::Range)] {
            let attribute = AttributeDefinition::builder().attribute_name(name);
            request = request
                .attribute_definitions(attribute.attribute_type(ScalarAttributeType::S).build()?)
                .key_schema(
                    KeySchemaElement::builder()
                        .attribute_name(name)
                        .key_type(role)
                        .build()?,
                );
        }
        request.billing_mode(BillingMode::PayPerRequest).send().await?;
        let time_to_live = TimeToLiveSpecification::builder()
            .enabled(true)
            .attribute_name("expiresAt");
        let update = self.client.update_time_to_live().table_name(&self.table);
        update.time_to_live_specification(time_to_live.build()?).send().await?;
        Ok(())
    }

    /// Adds a task to a project.
    pub async fn create_task(&self, project: &str, task: &Task) -> Result<(), BoardError> {
        let put = self.client.put_item().table_name(&self.table);
        let answer = put
            .item("PK", s(format!("PROJECT#{project}")))
            .item("SK", s(format!("TASK#{}", task.id)))
            .item("title", s(&task.title))
            .item("ownerId", s(&task.owner))
            .item("status", s("OPEN"))
            .condition_expression("attribute_not_exists(PK) AND attribute_not_exists(SK)")
            .send()
            .await;
        match answer {
            Err(error) if is_refusal(&error) => Err(BoardError::TaskExists),
            answer => Ok(answer.map(|_| ())?),
        }
    }

    /// Returns the tasks of a project, by id.
    pub async fn tasks(&self, project: &str) -> Result<Vec<Task>, BoardError> {
        let mut pages = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("PK = :pk AND begins_with(SK, :prefix)")
            .expression_attribute_values(":pk", s(format!("PROJECT#{project}")))
            .expression_attribute_values(":prefix", s("TASK#"))
            .consistent_read(true)
            .into_paginator()
            .items()
            .send();
        let mut tasks = Vec::new();
        while let Some(item) = pages.next().await {
            let item = item?;
            let text = |name: &str| match item.get(name) {
                Some(AttributeValue::S(text)) => text.clone(),
                _ => String::new(),
            };
            tasks.push(Task {
                id: text("SK").trim_start_matches("TASK#").to_owned(),
                title: text("title"),
                owner: text("ownerId"),
                done: text("status") == "DONE",
            });
        }
        Ok(tasks)
    }

    /// Marks a task as done, by its owner, once.
    pub async fn complete(&self, project: &str, id: &str, owner: &str) -> Result<(), BoardError> {
        let update = self.client.update_item().table_name(&self.table);
        let answer = update
            .key("PK", s(format!("PROJECT#{project}")))
            .key("SK", s(format!("TASK#{id}")))
            .update_expression("SET #status = :done")
            .condition_expression("ownerId = :owner AND #status <> :done")
            .expression_attribute_names("#status", "status")
            .expression_attribute_values(":owner", s(owner))
            .expression_attribute_values(":done", s("DONE"))
            .send()
            .await;
        match answer {
            Err(error) if is_refusal(&error) => Err(BoardError::NotYours),
            answer => Ok(answer.map(|_| ())?),
        }
    }

    /// Opens a session that is valid for [`SESSION`] from `now`.
    pub async fn open_session(&self, user: &str, id: &str, now: SystemTime) -> Result<(), BoardError> {
        let ends = epoch_seconds(now + SESSION);
        let put = self.client.put_item().table_name(&self.table);
        put.item("PK", s(format!("USER#{user}")))
            .item("SK", s(format!("SESSION#{id}")))
            .item("expiresAt", AttributeValue::N(ends.to_string()))
            .send()
            .await?;
        Ok(())
    }

    /// Returns whether a session is valid at `now`. DynamoDB deletes expired items with a delay, so this checks the
    /// time itself.
    pub async fn is_live(&self, user: &str, id: &str, now: SystemTime) -> Result<bool, BoardError> {
        let read = self.client.get_item().table_name(&self.table).consistent_read(true);
        let session = read
            .key("PK", s(format!("USER#{user}")))
            .key("SK", s(format!("SESSION#{id}")))
            .send()
            .await?;
        let ends = session.item.and_then(|item| match item.get("expiresAt") {
            Some(AttributeValue::N(ends)) => ends.parse().ok(),
            _ => None,
        });
        Ok(ends.is_some_and(|ends: u64| ends > epoch_seconds(now)))
    }
}

fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

fn epoch_seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn is_refusal(error: &impl ProvideErrorMetadata) -> bool {
    error.code() == Some("ConditionalCheckFailedException")
}

#[cfg(test)]
mod tests {
    use dynatwin::{Conditions, Lag, Rule, TimeToLive, Twin, Verdict};

    use super::*;

    /// Returns a board on its own twin: no server, no port, no cleanup.
    async fn board() -> (Twin, Board) {
        let twin = Twin::seeded(7);
        let board = Board::new(twin.client(), "Board");
        board.create_table().await.unwrap();
        (twin, board)
    }

    fn task(id: &str) -> Task {
        Task {
            id: id.to_owned(),
            title: format!("Task {id}"),
            owner: "masa".to_owned(),
            done: false,
        }
    }

    #[tokio::test]
    async fn a_task_is_created_once() {
        let (twin, board) = board().await;
        board.create_task("alpha", &task("1")).await.unwrap();
        let again = board.create_task("alpha", &task("1")).await;
        assert_eq!(again, Err(BoardError::TaskExists));
        // Tests can read the stored item directly.
        let stored = twin
            .item("Board", [("PK", s("PROJECT#alpha")), ("SK", s("TASK#1"))])
            .unwrap();
        assert_eq!(stored["title"], s("Task 1"));
    }

    #[tokio::test]
    async fn a_project_lists_its_own_tasks() {
        let (_twin, board) = board().await;
        for (project, id) in [("alpha", "2"), ("beta", "9"), ("alpha", "1")] {
            board.create_task(project, &task(id)).await.unwrap();
        }
        assert_eq!(board.tasks("alpha").await, Ok(vec![task("1"), task("2")]));
    }

    #[tokio::test]
    async fn only_the_owner_completes_a_task_and_only_once() {
        let (_twin, board) = board().await;
        board.create_task("alpha", &task("1")).await.unwrap();
        assert_eq!(board.complete("alpha", "1", "ken").await, Err(BoardError::NotYours));
        assert_eq!(board.complete("alpha", "1", "masa").await, Ok(()));
        assert_eq!(board.complete("alpha", "1", "masa").await, Err(BoardError::NotYours));
        assert!(board.tasks("alpha").await.unwrap()[0].done);
    }

    #[tokio::test]
    async fn throttling_is_retried_and_costs_no_time_here() {
        let (twin, board) = board().await;
        let throttle = twin
            .faults()
            .add(Rule::new(Verdict::Throttle(None)).operation("PutItem").first(2));
        board.create_task("alpha", &task("1")).await.unwrap();
        assert_eq!(throttle.fired(), 2);
    }

    #[tokio::test]
    async fn lasting_throttling_is_an_error() {
        let (twin, board) = board().await;
        let _throttle = twin
            .faults()
            .add(Rule::new(Verdict::Throttle(None)).operation("PutItem"));
        let refused = board.create_task("alpha", &task("1")).await;
        assert_eq!(refused, Err(BoardError::Storage("ThrottlingException".to_owned())));
    }

    #[tokio::test]
    async fn a_session_ends_after_a_week() {
        let (twin, board) = board().await;
        let clock = twin.clock();
        board.open_session("masa", "1", clock.system_time()).await.unwrap();
        clock.advance(Duration::from_hours(6 * 24));
        assert_eq!(board.is_live("masa", "1", clock.system_time()).await, Ok(true));
        clock.advance(Duration::from_hours(25));
        assert_eq!(board.is_live("masa", "1", clock.system_time()).await, Ok(false));
        assert_eq!(twin.items("Board").unwrap().len(), 0);
    }

    #[tokio::test]
    async fn an_expired_session_that_is_not_deleted_has_ended() {
        let (twin, board) = board().await;
        // As on AWS: deletion may be two days late.
        let late = TimeToLive::Deletes(Lag::Fixed(Duration::from_hours(48)));
        twin.set_conditions(Conditions {
            time_to_live: late,
            ..Conditions::CALM
        })
        .unwrap();
        let clock = twin.clock();
        board.open_session("masa", "1", clock.system_time()).await.unwrap();
        clock.advance(SESSION + Duration::from_secs(1));
        assert_eq!(twin.items("Board").unwrap().len(), 1);
        assert_eq!(board.is_live("masa", "1", clock.system_time()).await, Ok(false));
    }
}
