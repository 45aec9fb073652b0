//! A client token makes a transaction idempotent, for ten minutes.
//!
//! The SDK adds a random token to every transaction, and repeats it in its retries. A second call of the application has a
//! different token, so the application must derive the token from the transaction's purpose. The service keeps a token for ten
//! minutes after the transaction; idempotency beyond that needs an item in the table.
//!
//! | PK | SK | |
//! |---|---|---|
//! | `ACCOUNT#…` | `META` | `balance` |
//! | `TRANSFER#…` | `META` | a completed transfer |

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{Put, TransactWriteItem, Update};

use crate::{Outcome, n, s};

/// A transfer of money between two accounts.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The id of the transfer, which makes retries idempotent.
    pub id: String,
    /// The account from which the amount is withdrawn.
    pub from: String,
    /// The account that is paid.
    pub to: String,
    /// The amount of money, in a currency's smallest unit.
    pub amount: i64,
}

/// A table of accounts and their balances.
#[derive(Clone, Debug)]
pub struct Accounts {
    client: Client,
    table: String,
}

impl Accounts {
    /// The accounts in this table.
    pub fn new(client: Client, table: &str) -> Accounts {
        let table = table.to_owned();
        Accounts { client, table }
    }

    /// The mistake: each call is a new transaction.
    pub async fn transfer_without_token(&self, transfer: &Transfer) -> Outcome<()> {
        let actions = self.both(transfer)?;
        self.client
            .transact_write_items()
            .set_transact_items(Some(actions))
            .send()
            .await?;
        Ok(())
    }

    /// Transfers once, however often it is called within ten minutes.
    pub async fn transfer(&self, transfer: &Transfer) -> Outcome<()> {
        let request = self.client.transact_write_items().client_request_token(&transfer.id);
        request.set_transact_items(Some(self.both(transfer)?)).send().await?;
        Ok(())
    }

    /// Transfers once, however often and however late it is called: the transfer itself is an item, which exists only
    /// once.
    pub async fn transfer_with_token(&self, transfer: &Transfer) -> Outcome<()> {
        let record = Put::builder()
            .table_name(&self.table)
            .item("PK", s(format!("TRANSFER#{}", transfer.id)))
            .item("SK", s("META"))
            .condition_expression("attribute_not_exists(PK)");
        let mut actions = vec![TransactWriteItem::builder().put(record.build()?).build()];
        actions.extend(self.both(transfer)?);
        let request = self.client.transact_write_items().client_request_token(&transfer.id);
        match request.set_transact_items(Some(actions)).send().await {
            Err(error) => match error.into() {
                aws_sdk_dynamodb::Error::TransactionCanceledException(cancelled)
                    if cancelled
                        .cancellation_reasons()
                        .first()
                        .and_then(|reason| reason.code())
                        == Some("ConditionalCheckFailed") =>
                {
                    Ok(())
                }
                error => Err(error),
            },
            Ok(_) => Ok(()),
        }
    }

    fn both(&self, transfer: &Transfer) -> Outcome<Vec<TransactWriteItem>> {
        let pay = self.add(&transfer.from, -transfer.amount)?;
        Ok(vec![pay, self.add(&transfer.to, transfer.amount)?])
    }

    fn add(&self, account: &str, amount: i64) -> Outcome<TransactWriteItem> {
        let update = Update::builder()
            .table_name(&self.table)
            .key("PK", s(format!("ACCOUNT#{account}")))
            .key("SK", s("META"))
            .update_expression("ADD balance :amount")
            .expression_attribute_values(":amount", n(amount));
        Ok(TransactWriteItem::builder().update(update.build()?).build())
    }
}

/// Returns whether a token was used for another transaction before.
pub fn is_mismatch(error: &aws_sdk_dynamodb::Error) -> bool {
    error.code() == Some("IdempotentParameterMismatchException")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dynatwin::{Rule, Twin, Verdict};

    use super::*;
    use crate::number;
    use crate::support::{Table, stored, without_retries};

    async fn accounts() -> (Twin, Accounts) {
        let twin = Twin::seeded(7);
        Table::new("Accounts").create(&twin).await;
        let accounts = Accounts::new(without_retries(&twin), "Accounts");
        (twin, accounts)
    }

    fn rent() -> Transfer {
        Transfer {
            id: "rent-2026-01".to_owned(),
            from: "masa".to_owned(),
            to: "landlord".to_owned(),
            amount: 900,
        }
    }

    /// Returns the landlord's balance, after checking that the sum of all balances is unchanged.
    fn paid(twin: &Twin) -> i64 {
        let balance = |account: &str| {
            let item = stored(twin, "Accounts", &format!("ACCOUNT#{account}"), "META").unwrap_or_default();
            number(&item, "balance").unwrap_or(0)
        };
        assert_eq!(balance("masa") + balance("landlord"), 0);
        balance("landlord")
    }

    /// Loses the first answer, after the transaction has been applied.
    fn lose_the_first_answer(twin: &Twin) {
        let rule = Rule::new(Verdict::AnswerLost).operation("TransactWriteItems").first(1);
        twin.faults().add(rule).keep();
    }

    #[tokio::test]
    async fn without_a_token_a_lost_answer_is_paid_for_twice() {
        let (twin, accounts) = accounts().await;
        lose_the_first_answer(&twin);
        assert!(accounts.transfer_without_token(&rent()).await.is_err());
        accounts.transfer_without_token(&rent()).await.unwrap();
        assert_eq!(paid(&twin), 1_800);
    }

    #[tokio::test]
    async fn the_sdks_own_retry_keeps_its_token() {
        let (twin, _) = accounts().await;
        lose_the_first_answer(&twin);
        let accounts = Accounts::new(twin.client(), "Accounts");
        accounts.transfer_without_token(&rent()).await.unwrap();
        assert_eq!(paid(&twin), 900);
    }

    #[tokio::test]
    async fn with_a_token_it_is_paid_once() {
        let (twin, accounts) = accounts().await;
        lose_the_first_answer(&twin);
        assert!(accounts.transfer(&rent()).await.is_err());
        accounts.transfer(&rent()).await.unwrap();
        twin.clock().advance(Duration::from_mins(8));
        accounts.transfer(&rent()).await.unwrap();
        assert_eq!(paid(&twin), 900);
    }

    #[tokio::test]
    async fn after_ten_minutes_the_token_is_forgotten() {
        let (twin, accounts) = accounts().await;
        accounts.transfer(&rent()).await.unwrap();
        twin.clock().advance(Duration::from_secs(10 * 60 - 1));
        accounts.transfer(&rent()).await.unwrap();
        assert_eq!(paid(&twin), 900);
        // A call that changed nothing does not prolong it.
        twin.clock().advance(Duration::from_secs(2));
        accounts.transfer(&rent()).await.unwrap();
        assert_eq!(paid(&twin), 1_800);
    }

    #[tokio::test]
    async fn a_token_stored_in_the_table_outlives_the_services_ten_minutes() {
        let (twin, accounts) = accounts().await;
        lose_the_first_answer(&twin);
        assert!(accounts.transfer_with_token(&rent()).await.is_err());
        for minutes in [1, 10, 24 * 60] {
            accounts.transfer_with_token(&rent()).await.unwrap();
            assert_eq!(paid(&twin), 900);
            twin.clock().advance(Duration::from_mins(minutes));
        }
    }

    #[tokio::test]
    async fn a_token_means_one_request() {
        let (twin, accounts) = accounts().await;
        accounts.transfer(&rent()).await.unwrap();
        let more = Transfer { amount: 950, ..rent() };
        let error = accounts.transfer(&more).await.unwrap_err();
        assert!(is_mismatch(&error), "{error:?}");
        assert_eq!(paid(&twin), 900);
    }
}
