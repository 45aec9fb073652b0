//! A tenant reads the items of others by Scan.
//!
//! `dynamodb:LeadingKeys` limits a caller to its own partition keys. A Scan has no partition key, so the key is absent, and
//! `ForAllValues` is true for an absent key: a policy that allows `dynamodb:Scan` with the other actions exposes every
//! tenant's items. [`POLICY`] therefore does not list it. For policies that include it, as in `dynamodb:*`, [`GUARDED`]
//! requires the key to be present.
//!
//! | PK | SK |
//! |---|---|
//! | `PROJECT#…` | `TASK#…` |

/// Allows a tenant its own items, by its tag `projectId`.
pub const POLICY: &str = r#"{
    "Version": "2012-10-17",
    "Statement": [{
        "Effect": "Allow",
        "Action": ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:Query"],
        "Resource": ["arn:aws:dynamodb:*:*:table/Projects", "arn:aws:dynamodb:*:*:table/Projects/index/*"],
        "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["PROJECT#${aws:PrincipalTag/projectId}"]}}
    }]
}"#;

/// Applies the condition to all actions: actions without a partition key are not allowed.
pub const GUARDED: &str = r#"{
    "Version": "2012-10-17",
    "Statement": [{
        "Effect": "Allow",
        "Action": "dynamodb:*",
        "Resource": ["arn:aws:dynamodb:*:*:table/Projects", "arn:aws:dynamodb:*:*:table/Projects/index/*"],
        "Condition": {
            "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["PROJECT#${aws:PrincipalTag/projectId}"]},
            "Null": {"dynamodb:LeadingKeys": "false"}
        }
    }]
}"#;

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::Client;
    use dynatwin::Twin;

    use super::*;
    use crate::{Outcome, s, text};

    const ACCOUNT: &str = "123456789012";

    /// Returns a client of one of two tenants with a task each, and the codes of the warnings about its policy.
    async fn tenant(policy: &str) -> (Client, Vec<&'static str>) {
        let twin = Twin::seeded(7);
        let access =
            format!(r#"{{"accounts": {{"{ACCOUNT}": {{"roles": {{"Tenant": {{"policies": [{policy}]}}}}}}}}}}"#);
        let warnings = twin.set_access(&access).unwrap();
        let root = twin.as_root(ACCOUNT).account();
        let table = root.table("Projects").hash("PK").range("SK");
        table.create().await.unwrap();
        for tenant in ["alpha", "beta"] {
            let put = root.client().put_item().table_name("Projects");
            let put = put.item("PK", s(format!("PROJECT#{tenant}"))).item("SK", s("TASK#1"));
            put.send().await.unwrap();
        }
        let role = twin.as_role(&format!("arn:aws:iam::{ACCOUNT}:role/Tenant"));
        let client = role.tags([("projectId", "alpha")]).client();
        (client, warnings.iter().map(|warning| warning.code).collect())
    }

    /// Returns the tenants whose items a Scan returns.
    async fn scanned(client: &Client) -> Outcome<Vec<String>> {
        let found = client.scan().table_name("Projects").send().await?;
        let items = found.items().iter();
        let mut tenants: Vec<String> = items.filter_map(|item| text(item, "PK").map(str::to_owned)).collect();
        tenants.sort_unstable();
        Ok(tenants)
    }

    async fn task(client: &Client, tenant: &str) -> Outcome<()> {
        let get = client.get_item().table_name("Projects");
        let get = get.key("PK", s(format!("PROJECT#{tenant}"))).key("SK", s("TASK#1"));
        get.send().await?;
        Ok(())
    }

    #[tokio::test]
    async fn a_policy_that_lists_scan_shows_every_tenant() {
        let listed = POLICY.replace("\"dynamodb:Query\"", "\"dynamodb:Query\", \"dynamodb:Scan\"");
        let (client, warnings) = tenant(&listed).await;
        assert!(task(&client, "alpha").await.is_ok() && task(&client, "beta").await.is_err());
        assert_eq!(scanned(&client).await.unwrap(), ["PROJECT#alpha", "PROJECT#beta"]);
        assert_eq!(warnings, ["ScanIgnoresLeadingKeys"], "the emulator warns");
    }

    #[tokio::test]
    async fn a_tenant_sees_its_own_items_alone() {
        for policy in [POLICY, GUARDED] {
            let (client, warnings) = tenant(policy).await;
            assert!(task(&client, "alpha").await.is_ok() && task(&client, "beta").await.is_err());
            assert!(scanned(&client).await.is_err());
            assert!(warnings.is_empty(), "{warnings:?}");
        }
    }
}
