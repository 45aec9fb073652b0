//! A cache: entries expire, can be found by tag, and are refused when they are too large.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, WriteRequest};

use crate::check::{Failure, Item, Outcome, ensure, equal, item, n, number, s, text};
use crate::context::{Context, Table};

pub(super) async fn run(context: &Context) -> Outcome {
    let table = context
        .create(Table::new("cache").keys("pk", "sk").time_to_live("ttl"))
        .await?;
    let cache = Cache {
        client: context.client(),
        table: &table,
    };
    let now = context.now();

    cache.set("user:1", "Ada", now + 3600, &["users"]).await?;
    cache.set("user:2", "Bob", now + 600, &["users", "new"]).await?;
    cache.set("post:1", "Hello", now + 3600, &[]).await?;
    equal("a fresh entry", cache.get("user:1", now).await?.as_deref(), Some("Ada"))?;
    equal("an entry that is not there", cache.get("user:3", now).await?, None)?;
    // Expired, and deleted within two days: until then the store must check the time itself.
    equal("an expired entry", cache.get("user:2", now + 601).await?, None)?;

    let large = cache.set("large", &"x".repeat(390 * 1024 + 1), now + 3600, &[]).await;
    ensure(large.is_err(), "an entry over 390 KB was stored")?;
    cache.set("just fits", &"x".repeat(389 * 1024), now + 3600, &[]).await?;

    equal("entries tagged new", cache.invalidate_tag("new").await?, 1)?;
    equal("entries tagged users", cache.invalidate_tag("users").await?, 1)?;
    equal("an invalidated entry", cache.get("user:1", now).await?, None)?;
    equal(
        "an entry without the tag",
        cache.get("post:1", now).await?.as_deref(),
        Some("Hello"),
    )?;

    for at in 0..30 {
        cache.set(&format!("bulk:{at}"), "x", now + 3600, &[]).await?;
    }
    equal("cleared entries", cache.clear().await?, 32)?;
    equal("entries left", cache.clear().await?, 0)?;

    let nowhere = Cache {
        client: context.client(),
        table: "dynatwin-no-such-table",
    };
    let error = nowhere
        .get("user:1", now)
        .await
        .err()
        .map(|failure| failure.to_string());
    equal(
        "error",
        error.as_deref(),
        Some("the cache table dynatwin-no-such-table does not exist"),
    )
}

struct Cache<'a> {
    client: &'a Client,
    table: &'a str,
}

fn entry_key(key: &str) -> AttributeValue {
    s(format!("CACHE#{key}"))
}

impl Cache<'_> {
    async fn set(&self, key: &str, value: &str, ends: i64, tags: &[&str]) -> Outcome {
        if value.len() > 390 * 1024 {
            return Err(Failure::new(format!("{key} is too large to be cached")));
        }
        let entry = item([
            ("pk", entry_key(key)),
            ("sk", entry_key(key)),
            ("value", s(value)),
            ("ttl", n(ends)),
        ]);
        self.client
            .put_item()
            .table_name(self.table)
            .set_item(Some(entry))
            .send()
            .await?;
        for tag in tags {
            let tag = item([
                ("pk", s(format!("TAG#{tag}"))),
                ("sk", entry_key(key)),
                ("ttl", n(ends)),
            ]);
            self.client
                .put_item()
                .table_name(self.table)
                .set_item(Some(tag))
                .send()
                .await?;
        }
        Ok(())
    }

    async fn get(&self, key: &str, now: i64) -> Outcome<Option<String>> {
        let read = self.client.get_item().table_name(self.table).consistent_read(true);
        let answer = match read.key("pk", entry_key(key)).key("sk", entry_key(key)).send().await {
            Err(error) if error.code() == Some("ResourceNotFoundException") => {
                return Err(Failure::new(format!("the cache table {} does not exist", self.table)));
            }
            answer => answer?,
        };
        match answer.item {
            Some(entry) if number(&entry, "ttl")? > now => Ok(Some(text(&entry, "value")?.to_owned())),
            _ => Ok(None),
        }
    }

    /// Deletes the entries with this tag; returns their number.
    async fn invalidate_tag(&self, tag: &str) -> Outcome<usize> {
        let query = self.client.query().table_name(self.table).consistent_read(true);
        let tagged = query
            .key_condition_expression("pk = :tag")
            .expression_attribute_values(":tag", s(format!("TAG#{tag}")))
            .send()
            .await?;
        let mut deleted = 0;
        for tag in tagged.items() {
            let key = s(text(tag, "sk")?);
            let delete = self.client.delete_item().table_name(self.table);
            let delete = delete.key("pk", key.clone()).key("sk", key);
            let old = delete
                .return_values(aws_sdk_dynamodb::types::ReturnValue::AllOld)
                .send()
                .await?;
            deleted += usize::from(old.attributes.is_some());
        }
        Ok(deleted)
    }

    /// Deletes all entries; returns their number.
    async fn clear(&self) -> Outcome<usize> {
        let mut entries = Vec::new();
        let mut from = None;
        loop {
            let scan = self.client.scan().table_name(self.table).set_exclusive_start_key(from);
            let page = scan
                .consistent_read(true)
                .filter_expression("begins_with(pk, :prefix)")
                .projection_expression("pk, sk")
                .expression_attribute_values(":prefix", s("CACHE#"))
                .send()
                .await?;
            entries.extend(page.items.unwrap_or_default());
            from = page.last_evaluated_key;
            if from.is_none() {
                break;
            }
        }
        for keys in entries.chunks(25) {
            self.delete(keys).await?;
        }
        Ok(entries.len())
    }

    async fn delete(&self, keys: &[Item]) -> Outcome {
        let mut left = Vec::new();
        for key in keys {
            let delete = DeleteRequest::builder().set_key(Some(key.clone())).build()?;
            left.push(WriteRequest::builder().delete_request(delete).build());
        }
        while !left.is_empty() {
            let batch = self.client.batch_write_item().request_items(self.table, left);
            let mut unprocessed = batch.send().await?.unprocessed_items.unwrap_or_default();
            left = unprocessed.remove(self.table).unwrap_or_default();
        }
        Ok(())
    }
}
