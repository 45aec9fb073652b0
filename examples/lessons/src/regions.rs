//! A version check holds in one region.
//!
//! Each replica of a global table checks conditions, and reads with `ConsistentRead`, against its own region's items.
//! So an optimistic lock on a balance succeeds in two regions at once, or after a failover to a region that lags; then
//! one write silently replaces the other. Deposits that are separate items conflict with no other write: they arrive
//! everywhere, however late, and the balance is their sum.
//!
//! | PK | SK | |
//! |---|---|---|
//! | `ACCOUNT#id` | `DEPOSIT#…` | `amount`: a deposit, written once |
//! | `ACCOUNT#id` | `BALANCE` | `amount`, `version`: a balance under an optimistic lock |

use aws_sdk_dynamodb::Client;

use crate::{Item, Outcome, held, n, number, s};

/// Accounts in a global table, as stored in one region.
#[derive(Clone, Debug)]
pub struct Accounts {
    client: Client,
    table: String,
}

impl Accounts {
    /// The accounts of the client's region.
    pub fn new(client: Client, table: &str) -> Accounts {
        let table = table.to_owned();
        Accounts { client, table }
    }

    /// Records a deposit as a separate item. `id` identifies the deposit, so a repeated request has no further effect.
    pub async fn deposit(&self, account: &str, id: &str, amount: i64) -> Outcome<()> {
        let put = self.client.put_item().table_name(&self.table);
        let put = put
            .item("PK", s(format!("ACCOUNT#{account}")))
            .item("SK", s(format!("DEPOSIT#{id}")));
        put.item("amount", n(amount)).send().await?;
        Ok(())
    }

    /// The sum of the deposits in this region.
    pub async fn balance(&self, account: &str) -> Outcome<i64> {
        let query = self.client.query().table_name(&self.table).consistent_read(true);
        let query = query
            .key_condition_expression("PK = :pk AND begins_with(SK, :deposit)")
            .expression_attribute_values(":pk", s(format!("ACCOUNT#{account}")))
            .expression_attribute_values(":deposit", s("DEPOSIT#"));
        let mut deposits = query.into_paginator().items().send();
        let mut sum = 0;
        while let Some(deposit) = deposits.next().await {
            sum += number(&deposit?, "amount").unwrap_or_default();
        }
        Ok(sum)
    }

    /// Whether a deposit was made: also reads the region that wrote it, if this one does not have it yet.
    pub async fn is_deposited(&self, written_in: &Accounts, account: &str, id: &str) -> Outcome<bool> {
        Ok(self.has(account, id).await? || written_in.has(account, id).await?)
    }

    /// The mistake: whether this region has a deposit. `ConsistentRead` does not return other regions' writes.
    pub async fn has(&self, account: &str, id: &str) -> Outcome<bool> {
        Ok(self.get(account, &format!("DEPOSIT#{id}")).await?.is_some())
    }

    /// The mistake: adds to the balance if it has not changed since it was read.
    pub async fn deposit_by_version(&self, account: &str, amount: i64) -> Outcome<bool> {
        let before = self.get(account, "BALANCE").await?.unwrap_or_default();
        let version = number(&before, "version").unwrap_or_default();
        let balance = number(&before, "amount").unwrap_or_default();
        let put = self.client.put_item().table_name(&self.table);
        let put = put
            .item("PK", s(format!("ACCOUNT#{account}")))
            .item("SK", s("BALANCE"))
            .item("amount", n(balance + amount))
            .item("version", n(version + 1))
            .condition_expression("attribute_not_exists(PK) OR version = :seen")
            .expression_attribute_values(":seen", n(version));
        held(put.send().await)
    }

    /// The balance that [`deposit_by_version`](Accounts::deposit_by_version) keeps.
    pub async fn balance_by_version(&self, account: &str) -> Outcome<i64> {
        let balance = self.get(account, "BALANCE").await?.unwrap_or_default();
        Ok(number(&balance, "amount").unwrap_or_default())
    }

    async fn get(&self, account: &str, sk: &str) -> Outcome<Option<Item>> {
        let get = self.client.get_item().table_name(&self.table).consistent_read(true);
        let get = get.key("PK", s(format!("ACCOUNT#{account}"))).key("SK", s(sk));
        Ok(get.send().await?.item)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use aws_sdk_dynamodb::types::{CreateReplicationGroupMemberAction, ReplicationGroupUpdate};
    use dynatwin::{Conditions, Twin};

    use super::*;
    use crate::support::Table;

    const THERE: &str = "eu-west-1";

    /// Accounts in us-east-1 and eu-west-1, with this replication lag in seconds.
    async fn accounts(lag: u64) -> (Twin, Accounts, Accounts) {
        let twin = Twin::seeded(7);
        Table::new("Accounts").create(&twin).await;
        let create = CreateReplicationGroupMemberAction::builder().region_name(THERE);
        let update = ReplicationGroupUpdate::builder().create(create.build().unwrap());
        let add = twin.client().update_table().table_name("Accounts");
        add.replica_updates(update.build()).send().await.unwrap();
        twin.set_conditions(Conditions {
            replication_lag: dynatwin::Lag::Fixed(Duration::from_secs(lag)),
            ..Conditions::CALM
        })
        .unwrap();
        let here = Accounts::new(twin.client(), "Accounts");
        let there = Accounts::new(twin.region(THERE).client(), "Accounts");
        (twin, here, there)
    }

    /// Makes a deposit of 10 by each method.
    async fn deposit(accounts: &Accounts, id: &str) {
        accounts.deposit("masa", id, 10).await.unwrap();
        assert!(
            accounts.deposit_by_version("masa", 10).await.unwrap(),
            "the lock is free"
        );
    }

    /// The balances of both methods.
    async fn balances(accounts: &Accounts) -> (i64, i64) {
        let sum = accounts.balance("masa").await.unwrap();
        (sum, accounts.balance_by_version("masa").await.unwrap())
    }

    #[tokio::test]
    async fn a_version_check_that_passes_in_two_regions_loses_a_deposit() {
        let (twin, here, there) = accounts(1).await;
        deposit(&here, "1").await;
        twin.clock().advance(Duration::from_secs(2));
        deposit(&here, "2").await;
        deposit(&there, "3").await;
        twin.clock().advance(Duration::from_secs(2));
        for accounts in [&here, &there] {
            assert_eq!(balances(accounts).await, (30, 20));
        }
    }

    #[tokio::test]
    async fn both_are_right_where_regions_write_in_turns() {
        let (twin, here, there) = accounts(1).await;
        for (id, accounts) in [("1", &here), ("2", &there), ("3", &here)] {
            deposit(accounts, id).await;
            twin.clock().advance(Duration::from_secs(2));
        }
        assert_eq!((balances(&here).await, balances(&there).await), ((30, 30), (30, 30)));
    }

    #[tokio::test]
    async fn a_consistent_read_shows_what_its_own_region_has() {
        let (twin, here, there) = accounts(5).await;
        here.deposit("masa", "1", 10).await.unwrap();
        assert!(!there.has("masa", "1").await.unwrap());
        assert!(there.is_deposited(&here, "masa", "1").await.unwrap());
        assert!(!there.is_deposited(&here, "masa", "2").await.unwrap());
        twin.clock().advance(Duration::from_secs(5));
        assert!(there.has("masa", "1").await.unwrap());
    }

    #[tokio::test]
    async fn a_failover_to_a_region_that_lags_loses_what_is_overwritten() {
        let (twin, here, there) = accounts(0).await;
        deposit(&here, "1").await;
        // The region is isolated with two deposits that no other region has, and the application continues elsewhere.
        twin.pause_replication("Accounts", None).unwrap();
        deposit(&here, "2").await;
        deposit(&here, "3").await;
        twin.clock().advance(Duration::from_mins(1));
        assert_eq!(balances(&there).await, (10, 10));
        deposit(&there, "4").await;
        // The region returns: every deposit arrives, and the newer balance replaces the other.
        twin.resume_replication("Accounts", None).unwrap();
        for accounts in [&here, &there] {
            assert_eq!(balances(accounts).await, (40, 20));
        }
    }
}
