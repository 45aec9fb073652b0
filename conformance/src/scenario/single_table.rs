//! Several kinds of entity in one table: a customer and the customer's orders are one item collection, so one Query
//! reads them.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::check::{Item, Outcome, equal, item, n, s, text};
use crate::context::{Context, Table};

pub(super) async fn run(context: &Context) -> Outcome {
    let table = Table::new("shop").keys("PK", "SK").index("gsi1", "gsi1pk", "gsi1sk");
    let table = context.create(table).await?;
    let put = |item: Item| {
        context
            .client()
            .put_item()
            .table_name(&table)
            .set_item(Some(item))
            .send()
    };
    put(item([
        ("PK", s("CUSTOMER#7")),
        ("SK", s("PROFILE")),
        ("name", s("Ada")),
        ("tags", set(["vip", "eu"])),
    ]))
    .await?;
    for (order, status, total) in [
        ("2026-03", "OPEN", 30),
        ("2026-01", "PAID", 10),
        ("2026-02", "OPEN", 20),
    ] {
        put(order_item(order, status, total)).await?;
    }
    put(item([
        ("PK", s("CUSTOMER#8")),
        ("SK", s("PROFILE")),
        ("name", s("Bob")),
    ]))
    .await?;

    let query = |condition: &str| {
        context
            .client()
            .query()
            .table_name(&table)
            .consistent_read(true)
            .key_condition_expression(condition)
    };
    let ada = query("PK = :pk")
        .expression_attribute_values(":pk", s("CUSTOMER#7"))
        .send()
        .await?;
    let kinds = sort_keys(ada.items())?;
    equal(
        "Ada's entities",
        kinds,
        ["ORDER#2026-01", "ORDER#2026-02", "ORDER#2026-03", "PROFILE"],
    )?;

    let latest = query("PK = :pk AND begins_with(SK, :order)")
        .expression_attribute_values(":pk", s("CUSTOMER#7"))
        .expression_attribute_values(":order", s("ORDER#"))
        .scan_index_forward(false)
        .limit(1);
    let latest = latest.send().await?;
    equal("the latest order", sort_keys(latest.items())?, ["ORDER#2026-03"])?;
    let more = latest.last_evaluated_key.unwrap_or_default();
    equal("where the next page begins", text(&more, "SK")?, "ORDER#2026-03")?;

    open_orders(context, &table, &["ORDER#2026-02", "ORDER#2026-03"]).await?;
    let pay = context.client().update_item().table_name(&table);
    pay.key("PK", s("CUSTOMER#7"))
        .key("SK", s("ORDER#2026-02"))
        .update_expression("SET gsi1pk = :paid, basket[0].shipped = :yes DELETE marks :new")
        .expression_attribute_values(":paid", s("STATUS#PAID"))
        .expression_attribute_values(":yes", AttributeValue::Bool(true))
        .expression_attribute_values(":new", set(["new"]))
        .send()
        .await?;
    open_orders(context, &table, &["ORDER#2026-03"]).await
}

fn order_item(order: &str, status: &str, total: u32) -> Item {
    let line = AttributeValue::M(item([("sku", s("tea")), ("shipped", AttributeValue::Bool(false))]));
    item([
        ("PK", s("CUSTOMER#7")),
        ("SK", s(format!("ORDER#{order}"))),
        ("gsi1pk", s(format!("STATUS#{status}"))),
        ("gsi1sk", s(order)),
        ("total", n(total)),
        ("basket", AttributeValue::L(vec![line])),
        ("marks", set(["new"])),
    ])
}

fn set<const N: usize>(members: [&str; N]) -> AttributeValue {
    AttributeValue::Ss(members.map(str::to_owned).to_vec())
}

fn sort_keys(items: &[Item]) -> Outcome<Vec<&str>> {
    items.iter().map(|item| text(item, "SK")).collect()
}

/// The index will show these open orders, by date, after a lag that is not specified.
async fn open_orders(context: &Context, table: &str, expect: &[&str]) -> Outcome {
    let mut seen = Vec::new();
    for _ in 0..3000 {
        let query = context.client().query().table_name(table).index_name("gsi1");
        let query = query.key_condition_expression("gsi1pk = :open");
        let open = query
            .expression_attribute_values(":open", s("STATUS#OPEN"))
            .send()
            .await?;
        seen = sort_keys(open.items())?
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>();
        if seen == expect {
            return Ok(());
        }
        context.sleep(Duration::from_millis(100)).await;
    }
    equal("open orders", seen, expect)
}
