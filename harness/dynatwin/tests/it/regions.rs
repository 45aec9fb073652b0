//! Which tables a client uses.

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use dynatwin::Twin;

use crate::{TABLE, create_table, put, s};

#[tokio::test]
async fn each_region_and_account_has_its_own_tables() {
    let twin = Twin::seeded(7);
    create_table(&twin.client()).await;
    let frankfurt = twin.region("eu-central-1");
    let other = twin.account("123456789012", "us-east-1");

    for account in [&frankfurt, &other] {
        assert!(account.tables().is_empty());
        let error = put(&account.client(), "a").await.unwrap_err();
        assert_eq!(error.code(), Some("ResourceNotFoundException"));
    }
    create_table(&frankfurt.client()).await;
    put(&frankfurt.client(), "a").await.unwrap();
    assert_eq!(frankfurt.items(TABLE).unwrap().len(), 1);
    assert_eq!(twin.items(TABLE).unwrap().len(), 0);
    assert_eq!(other.items(TABLE), None);
}

#[tokio::test]
async fn an_arn_names_the_callers_region_and_account() {
    let twin = Twin::seeded(7);
    for (account, expect) in [
        (
            twin.region("us-east-1"),
            "arn:aws:dynamodb:us-east-1:000000000000:table/Tasks",
        ),
        (
            twin.account("123456789012", "eu-central-1"),
            "arn:aws:dynamodb:eu-central-1:123456789012:table/Tasks",
        ),
    ] {
        create_table(&account.client()).await;
        let described = account
            .client()
            .describe_table()
            .table_name(TABLE)
            .send()
            .await
            .unwrap();
        assert_eq!(described.table().unwrap().table_arn(), Some(expect));
    }
}

#[tokio::test]
async fn a_shared_db_is_one_set_of_tables() {
    let twin = Twin::builder().shared_db(true).build();
    create_table(&twin.client()).await;
    put(&twin.region("eu-central-1").client(), "a").await.unwrap();
    assert_eq!(twin.tables(), [TABLE]);
    assert_eq!(twin.items(TABLE).unwrap().len(), 1);
}

#[tokio::test]
async fn items_are_returned_until_a_reset() {
    let twin = Twin::seeded(7);
    let client = twin.client();
    create_table(&client).await;
    put(&client, "a").await.unwrap();
    put(&client, "b").await.unwrap();

    let item = twin.item(TABLE, [("PK", s("b")), ("SK", s("-"))]).unwrap();
    assert_eq!(item["PK"], s("b"));
    assert_eq!(twin.item(TABLE, [("PK", s("c")), ("SK", s("-"))]), None);
    twin.reset().unwrap();
    assert!(twin.tables().is_empty());
    assert_eq!(twin.items(TABLE), None);
}
