//! Several kinds of entity in one table: a customer and the orders lie side by side, so one Query reads them.

use aws_sdk_dynamodb::types::AttributeValue;

use crate::check::{Failure, Item, Outcome, equal, item, n, s, text};
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

    equal(
        "open orders",
        open_orders(context, &table).await?,
        ["ORDER#2026-02", "ORDER#2026-03"],
    )?;
    let pay = context.client().update_item().table_name(&table);
    pay.key("PK", s("CUSTOMER#7"))
        .key("SK", s("ORDER#2026-02"))
        .update_expression("SET gsi1pk = :paid, basket[0].shipped = :yes DELETE marks :new")
        .expression_attribute_values(":paid", s("STATUS#PAID"))
        .expression_attribute_values(":yes", AttributeValue::Bool(true))
        .expression_attribute_values(":new", set(["new"]))
        .send()
        .await?;
    equal(
        "open orders after one is paid",
        open_orders(context, &table).await?,
        ["ORDER#2026-03"],
    )
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

/// The open orders by date. The index follows its table, by how much nobody promises: so it is asked again.
async fn open_orders(context: &Context, table: &str) -> Outcome<Vec<String>> {
    let mut before = None;
    for _ in 0..20 {
        let query = context.client().query().table_name(table).index_name("gsi1");
        let open = query
            .key_condition_expression("gsi1pk = :open")
            .expression_attribute_values(":open", s("STATUS#OPEN"))
            .send()
            .await?;
        let keys: Vec<String> = sort_keys(open.items())?.into_iter().map(str::to_owned).collect();
        if before.as_ref() == Some(&keys) {
            return Ok(keys);
        }
        before = Some(keys);
        context.sleep(std::time::Duration::from_millis(100)).await;
    }
    Err(Failure::new("the index does not settle"))
}
