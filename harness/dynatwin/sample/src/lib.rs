//! Sessions in a table, as an application keeps them.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::get_item::GetItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::AttributeValue;

/// Stores a session that expires at this second of the epoch.
pub async fn open(client: &Client, id: &str, expires_at: i64) -> Result<(), SdkError<PutItemError>> {
    let put = client.put_item().table_name("Sessions");
    let put = put.item("id", AttributeValue::S(id.into()));
    put.item("expiresAt", AttributeValue::N(expires_at.to_string()))
        .send()
        .await
        .map(drop)
}

/// Whether a session is stored and has not expired at this second of the epoch.
pub async fn is_open(client: &Client, id: &str, now: i64) -> Result<bool, SdkError<GetItemError>> {
    let get = client.get_item().table_name("Sessions").consistent_read(true);
    let item = get.key("id", AttributeValue::S(id.into())).send().await?.item;
    let expires_at = item.as_ref().and_then(|item| item.get("expiresAt"));
    let expires_at = expires_at.and_then(|value| value.as_n().ok()?.parse().ok());
    Ok(expires_at.is_some_and(|expires_at: i64| expires_at > now))
}
