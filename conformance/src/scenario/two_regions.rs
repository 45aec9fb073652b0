//! Carts in two regions: each region answers with its own data, the lines of a cart arrive everywhere, and a version
//! check holds within one region only.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;

use crate::check::{Item, Outcome, equal, item, n, number, present, s, won};
use crate::context::{Context, Table};

const LINES: usize = 6;

pub(super) async fn run(context: &Context) -> Outcome {
    let table = context.create(Table::new("carts").keys("pk", "sk")).await?;
    let here = Cart::new(context.client().clone(), &table);
    // If there is one region, its clients also act for the other one.
    let replica = context.replica(&table, "eu-west-1").await?;
    let has_two = replica.is_some();
    let there = Cart::new(replica.unwrap_or_else(|| context.client().clone()), &table);

    for line in 0..LINES {
        let cart = if line % 2 == 0 { &here } else { &there };
        cart.add(&format!("LINE#{line}")).await?;
    }
    context.replicate().await;
    for cart in [&here, &there] {
        equal("lines that a region has", cart.lines().await?, LINES)?;
    }

    here.add("TOTAL").await?;
    context.replicate().await;
    let seen = number(&there.total().await?, "version")?;
    context.pause_replication(&table)?;
    let first = won(here.set_total("here", seen).await)?;
    let second = won(there.set_total("there", seen).await)?;
    equal("version checks that pass", (first, second), (true, has_two))?;
    // A consistent read reads its own region.
    equal("the total here", writer(&here.total().await?)?, "here")?;
    equal(
        "the total there",
        writer(&there.total().await?)?,
        if has_two { "there" } else { "here" },
    )?;
    context.resume_replication(&table)?;
    context.replicate().await;
    let (ours, theirs) = (here.total().await?, there.total().await?);
    equal("the totals of both regions", &ours, &theirs)?;
    // The later write has replaced the whole item, without an error.
    equal(
        "the writer of the total",
        writer(&ours)?,
        if has_two { "there" } else { "here" },
    )?;
    equal("the version of the total", number(&ours, "version")?, seen + 1)
}

fn writer(total: &Item) -> Outcome<&str> {
    crate::check::text(total, "writer")
}

/// A cart in one region.
struct Cart {
    client: Client,
    table: String,
}

type Set = aws_sdk_dynamodb::operation::update_item::UpdateItemOutput;
type NotSet = aws_sdk_dynamodb::error::SdkError<aws_sdk_dynamodb::operation::update_item::UpdateItemError>;

impl Cart {
    fn new(client: Client, table: &str) -> Cart {
        let table = table.to_owned();
        Cart { client, table }
    }

    fn key(sort: &str) -> [(&'static str, AttributeValue); 2] {
        [("pk", s("CART#1")), ("sk", s(sort))]
    }

    /// Adds a line as a separate item, which no other write touches.
    async fn add(&self, sort: &str) -> Outcome {
        let put = self.client.put_item().table_name(&self.table);
        let mut line = item(Cart::key(sort));
        line.insert("version".to_owned(), n(0));
        put.set_item(Some(line)).send().await?;
        Ok(())
    }

    async fn lines(&self) -> Outcome<usize> {
        let query = self.client.query().table_name(&self.table).consistent_read(true);
        let query = query.key_condition_expression("pk = :pk AND begins_with(sk, :line)");
        let query = query.expression_attribute_values(":pk", s("CART#1"));
        Ok(query
            .expression_attribute_values(":line", s("LINE#"))
            .send()
            .await?
            .items()
            .len())
    }

    async fn total(&self) -> Outcome<Item> {
        let get = self.client.get_item().table_name(&self.table).consistent_read(true);
        let read = get.set_key(Some(item(Cart::key("TOTAL")))).send().await?;
        present("the total", read.item)
    }

    /// Replaces the total if it still has the version that was read.
    async fn set_total(&self, writer: &str, seen: i64) -> Result<Set, NotSet> {
        let update = self.client.update_item().table_name(&self.table);
        let update = update.set_key(Some(item(Cart::key("TOTAL"))));
        let update = update.update_expression("SET version = :next, writer = :writer");
        let update = update.condition_expression("version = :seen");
        let update = update.expression_attribute_values(":next", n(seen + 1));
        let update = update.expression_attribute_values(":writer", s(writer));
        update.expression_attribute_values(":seen", n(seen)).send().await
    }
}
