//! Tasks of a project: created once, listed with one Query, completed once.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::put_item::{PutItemError, PutItemOutput};
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemOutput};
use aws_sdk_dynamodb::types::{ReturnConsumedCapacity, ReturnValue};

use crate::check::{Item, Outcome, equal, item, present, refused, s, text};
use crate::context::{Context, Table};

pub(super) async fn run(context: &Context) -> Outcome {
    let board = Board {
        context,
        table: &context
            .create(Table::new("board").keys("PK", "SK").time_to_live("expiresAt"))
            .await?,
    };
    board.create("alpha", "task-002", "Write the tests").await?;
    board.create("alpha", "task-001", "Review the keys").await?;
    board.create("beta", "task-001", "Not of this project").await?;
    let again = board.create("alpha", "task-001", "A duplicate").await;
    let error = refused("a duplicate", again, "ConditionalCheckFailedException")?;
    equal("message", error.message(), Some("The conditional request failed"))?;

    context.settle().await;
    let (tasks, units) = board.list("alpha").await?;
    equal("tasks", tasks.len(), 2)?;
    equal("the first task", text(&tasks[0], "title")?, "Review the keys")?;
    // Less than 4 KB, read eventually consistently.
    equal("capacity units", units, 0.5)?;

    let other = board.complete("alpha", "task-001", "ken").await;
    refused("completion by another", other, "ConditionalCheckFailedException")?;
    let task = present(
        "attributes",
        board.complete("alpha", "task-001", "masa").await?.attributes,
    )?;
    equal("status", text(&task, "status")?, "DONE")?;
    equal("title", text(&task, "title")?, "Review the keys")?;
    let second = board.complete("alpha", "task-001", "masa").await;
    refused("a second completion", second, "ConditionalCheckFailedException")?;
    let missing = board.complete("alpha", "task-404", "masa").await;
    refused("completion of no task", missing, "ConditionalCheckFailedException")?;
    Ok(())
}

struct Board<'a> {
    context: &'a Context,
    table: &'a str,
}

impl Board<'_> {
    async fn create(&self, project: &str, task: &str, title: &str) -> Result<PutItemOutput, SdkError<PutItemError>> {
        let now = self.context.now().to_string();
        let item = item([
            ("PK", s(format!("PROJECT#{project}"))),
            ("SK", s(format!("TASK#{task}"))),
            ("entityType", s("Task")),
            ("title", s(title)),
            ("ownerId", s("masa")),
            ("status", s("OPEN")),
            ("createdAt", s(&now)),
            ("updatedAt", s(&now)),
        ]);
        let put = self
            .context
            .client()
            .put_item()
            .table_name(self.table)
            .set_item(Some(item));
        put.condition_expression("attribute_not_exists(PK) AND attribute_not_exists(SK)")
            .send()
            .await
    }

    /// The tasks of a project, and the units that reading them consumed.
    async fn list(&self, project: &str) -> Outcome<(Vec<Item>, f64)> {
        let query = self.context.client().query().table_name(self.table);
        let answer = query
            .key_condition_expression("PK = :pk AND begins_with(SK, :taskPrefix)")
            .expression_attribute_values(":pk", s(format!("PROJECT#{project}")))
            .expression_attribute_values(":taskPrefix", s("TASK#"))
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await?;
        let capacity = present("ConsumedCapacity", answer.consumed_capacity())?;
        equal("the capacity's table", capacity.table_name(), Some(self.table))?;
        let units = present("CapacityUnits", capacity.capacity_units())?;
        Ok((answer.items.unwrap_or_default(), units))
    }

    async fn complete(
        &self,
        project: &str,
        task: &str,
        owner: &str,
    ) -> Result<UpdateItemOutput, SdkError<UpdateItemError>> {
        let update = self.context.client().update_item().table_name(self.table);
        update
            .key("PK", s(format!("PROJECT#{project}")))
            .key("SK", s(format!("TASK#{task}")))
            .update_expression("SET #status = :done, updatedAt = :now")
            .condition_expression("ownerId = :ownerId AND #status <> :done")
            .expression_attribute_names("#status", "status")
            .expression_attribute_values(":done", s("DONE"))
            .expression_attribute_values(":now", s(self.context.now().to_string()))
            .expression_attribute_values(":ownerId", s(owner))
            .return_values(ReturnValue::AllNew)
            .send()
            .await
    }
}
