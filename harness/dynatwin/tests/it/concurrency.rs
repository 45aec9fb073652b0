//! Many writers of one key.

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use dynatwin::Twin;

use crate::{TABLE, create_table, s};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_conditional_puts_have_one_winner() {
    let twin = Twin::new();
    let client = twin.client();
    create_table(&client).await;
    for round in 0..10 {
        let key = format!("EVENT#{round}");
        let racers: Vec<_> = (0..50)
            .map(|racer: u32| {
                let put = client
                    .put_item()
                    .table_name(TABLE)
                    .item("PK", s("WEBHOOK#stripe"))
                    .item("SK", s(&key))
                    .item("by", s(&racer.to_string()))
                    .condition_expression("attribute_not_exists(PK) AND attribute_not_exists(SK)");
                (racer, tokio::spawn(put.send()))
            })
            .collect();
        let mut winners = Vec::new();
        for (racer, put) in racers {
            match put.await.unwrap() {
                Ok(_) => winners.push(racer),
                Err(error) => assert_eq!(error.code(), Some("ConditionalCheckFailedException")),
            }
        }
        assert_eq!(winners.len(), 1, "{winners:?}");
        let stored = twin
            .item(TABLE, [("PK", s("WEBHOOK#stripe")), ("SK", s(&key))])
            .unwrap();
        assert_eq!(stored["by"], s(&winners[0].to_string()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_increment_counts() {
    let twin = Twin::new();
    let client = twin.client();
    create_table(&client).await;
    let increments: Vec<_> = (0..200)
        .map(|_| {
            let update = client
                .update_item()
                .table_name(TABLE)
                .key("PK", s("RATE#masa"))
                .key("SK", s("WINDOW#1"))
                .update_expression("ADD hits :one")
                .expression_attribute_values(":one", crate::n(1));
            tokio::spawn(update.send())
        })
        .collect();
    for increment in increments {
        increment.await.unwrap().unwrap();
    }
    let stored = twin
        .item(TABLE, [("PK", s("RATE#masa")), ("SK", s("WINDOW#1"))])
        .unwrap();
    assert_eq!(stored["hits"], crate::n(200));
}
