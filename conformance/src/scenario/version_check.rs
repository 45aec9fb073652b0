//! Documents that several people edit: a version guards each write, and a refused write returns the current item.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure};

use crate::check::{Failure, Item, Outcome, equal, item, n, number, present, race, s};
use crate::context::{Context, Table};

const EDITORS: usize = 12;

pub(super) async fn run(context: &Context) -> Outcome {
    let table = context.create(Table::new("documents").key("pk")).await?;
    let documents = Documents {
        client: context.client().clone(),
        table,
    };
    let empty = item([
        ("pk", s("DOC#1")),
        ("version", n(0)),
        ("edits", AttributeValue::L(Vec::new())),
    ]);
    let put = documents.client.put_item().table_name(&documents.table);
    put.set_item(Some(empty.clone())).send().await?;

    let attempts = race(EDITORS, |editor| {
        let (documents, seen) = (documents.clone(), empty.clone());
        async move { documents.edit("DOC#1", &format!("editor-{editor}"), seen).await }
    })
    .await?;
    let read = documents
        .client
        .get_item()
        .table_name(&documents.table)
        .consistent_read(true);
    let document = present("the document", read.key("pk", s("DOC#1")).send().await?.item)?;
    equal("version", number(&document, "version")?, i64::try_from(EDITORS)?)?;
    let Some(AttributeValue::L(edits)) = document.get("edits") else {
        return Err(Failure::new(format!("edits should be a list: {document:?}")));
    };
    equal("edits", edits.len(), EDITORS)?;
    for editor in 0..EDITORS {
        let edit = s(format!("editor-{editor}"));
        equal(
            "edits by one editor",
            edits.iter().filter(|one| **one == edit).count(),
            1,
        )?;
    }
    // All began from version 0, so only one write can have succeeded at the first attempt.
    equal(
        "editors without a collision",
        attempts.iter().filter(|attempts| **attempts == 1).count(),
        1,
    )
}

#[derive(Clone)]
struct Documents {
    client: Client,
    table: String,
}

impl Documents {
    /// Appends an edit to the document last read, or after a refusal to its current version. Returns the number of
    /// attempts.
    async fn edit(&self, pk: &str, edit: &str, mut seen: Item) -> Outcome<usize> {
        for attempt in 1.. {
            match self.write(pk, edit, number(&seen, "version")?).await? {
                Ok(()) => return Ok(attempt),
                Err(current) => seen = current,
            }
        }
        Err(Failure::new("attempts ran out"))
    }

    /// Writes against a version; returns the current document if the version has changed.
    async fn write(&self, pk: &str, edit: &str, version: i64) -> Outcome<Result<(), Item>> {
        let update = self.client.update_item().table_name(&self.table).key("pk", s(pk));
        let answer = update
            .update_expression("SET version = version + :one, edits = list_append(edits, :edit)")
            .condition_expression("version = :seen")
            .expression_attribute_values(":one", n(1))
            .expression_attribute_values(":edit", AttributeValue::L(vec![s(edit)]))
            .expression_attribute_values(":seen", n(version))
            .return_values(ReturnValue::UpdatedNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await;
        match answer.map_err(aws_sdk_dynamodb::error::SdkError::into_service_error) {
            Ok(answer) => {
                let updated = present("attributes", answer.attributes)?;
                equal("the new version", number(&updated, "version")?, version + 1)?;
                Ok(Ok(()))
            }
            Err(UpdateItemError::ConditionalCheckFailedException(refusal)) => {
                Ok(Err(present("the item of a refused write", refusal.item)?))
            }
            Err(error) => Err(error.into()),
        }
    }
}
