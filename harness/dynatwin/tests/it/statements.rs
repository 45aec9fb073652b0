//! PartiQL through the SDK: an application's statements and the service's errors.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::execute_statement::ExecuteStatementOutput;
use aws_sdk_dynamodb::types::{BatchStatementErrorCodeEnum, BatchStatementRequest, ParameterizedStatement};
use aws_sdk_dynamodb::{Error, types::ReturnConsumedCapacity};
use dynatwin::Twin;

use crate::{TABLE, create_table, n, s};

async fn execute(client: &Client, statement: &str) -> Result<ExecuteStatementOutput, Error> {
    Ok(client.execute_statement().statement(statement).send().await?)
}

/// A table of six tasks of two owners.
async fn filled() -> (Twin, Client) {
    let twin = Twin::seeded(7);
    let client = twin.client();
    create_table(&client).await;
    for owner in ["ann", "bob"] {
        for task in 1..=3 {
            client
                .execute_statement()
                .statement(format!(
                    "INSERT INTO \"{TABLE}\" VALUE {{'PK': ?, 'SK': ?, 'effort': ?}}"
                ))
                .set_parameters(Some(vec![s(owner), s(&format!("task{task}")), n(task)]))
                .send()
                .await
                .unwrap();
        }
    }
    (twin, client)
}

#[tokio::test]
async fn a_client_reads_all_pages_of_a_statement() {
    let (twin, client) = filled().await;
    assert_eq!(twin.items(TABLE).unwrap().len(), 6);
    let mut tasks = Vec::new();
    let mut token = None;
    loop {
        let page = client
            .execute_statement()
            .statement(format!(
                "SELECT PK, SK FROM \"{TABLE}\" WHERE PK IN ['bob', 'ann'] AND effort < ?"
            ))
            .parameters(n(3))
            .limit(2)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .set_next_token(token)
            .send()
            .await
            .unwrap();
        assert_eq!(page.consumed_capacity().unwrap().capacity_units(), Some(0.5));
        for item in page.items() {
            let text = |name: &str| item[name].as_s().unwrap().clone();
            tasks.push(format!("{} {}", text("PK"), text("SK")));
        }
        token = page.next_token;
        if token.is_none() {
            break;
        }
    }
    assert_eq!(tasks, ["ann task1", "ann task2", "bob task1", "bob task2"]);
}

#[tokio::test]
async fn the_errors_of_statements_have_their_types() {
    let (_twin, client) = filled().await;
    let twice = execute(&client, "INSERT INTO Tasks VALUE {'PK': 'ann', 'SK': 'task1'}").await;
    assert!(matches!(twice, Err(Error::DuplicateItemException(_))), "{twice:?}");
    let missing = execute(&client, "UPDATE Tasks SET effort = 1 WHERE PK = 'eve' AND SK = 'task1'").await;
    assert!(
        matches!(missing, Err(Error::ConditionalCheckFailedException(_))),
        "{missing:?}"
    );
    let nowhere = execute(&client, "SELECT * FROM Elsewhere").await;
    assert!(
        matches!(nowhere, Err(Error::ResourceNotFoundException(_))),
        "{nowhere:?}"
    );
}

#[tokio::test]
async fn a_batch_returns_the_result_of_each_statement() {
    let (_twin, client) = filled().await;
    let statement = |text: &str| BatchStatementRequest::builder().statement(text).build().unwrap();
    let answer = client
        .batch_execute_statement()
        .statements(statement(
            "UPDATE Tasks SET effort = effort + 1 WHERE PK = 'ann' AND SK = 'task1' RETURNING MODIFIED NEW *",
        ))
        .statements(statement("INSERT INTO Tasks VALUE {'PK': 'ann', 'SK': 'task2'}"))
        .send()
        .await
        .unwrap();
    let [updated, refused] = answer.responses() else {
        panic!("{answer:?}")
    };
    assert_eq!(updated.item().unwrap()["effort"], n(2));
    let error = refused.error().unwrap();
    assert_eq!(error.code(), Some(&BatchStatementErrorCodeEnum::DuplicateItem));
}

#[tokio::test]
async fn a_transaction_of_statements_is_applied_completely_or_not_at_all() {
    let (twin, client) = filled().await;
    let statement = |text: &str| ParameterizedStatement::builder().statement(text).build().unwrap();
    let hand_over = |least: u64| {
        client
            .execute_transaction()
            .transact_statements(statement(&format!(
                "EXISTS(SELECT * FROM Tasks WHERE PK = 'bob' AND SK = 'task1' AND effort >= {least})"
            )))
            .transact_statements(statement("DELETE FROM Tasks WHERE PK = 'ann' AND SK = 'task1'"))
            .transact_statements(statement("INSERT INTO Tasks VALUE {'PK': 'bob', 'SK': 'task4'}"))
            .send()
    };
    let before = twin.items(TABLE);
    let error = Error::from(hand_over(2).await.unwrap_err());
    let Error::TransactionCanceledException(cancelled) = error else {
        panic!("{error:?}")
    };
    let codes: Vec<_> = cancelled
        .cancellation_reasons()
        .iter()
        .map(|reason| reason.code().unwrap())
        .collect();
    assert_eq!(codes, ["ConditionalCheckFailed", "None", "None"]);
    assert_eq!(twin.items(TABLE), before);

    hand_over(1).await.unwrap();
    let left = execute(&client, "SELECT SK FROM Tasks WHERE PK = 'ann'").await.unwrap();
    assert_eq!(left.items().len(), 2);
    let given = execute(&client, "SELECT SK FROM Tasks WHERE PK = 'bob' ORDER BY SK DESC").await;
    assert_eq!(given.unwrap().items()[0]["SK"], s("task4"));
}
