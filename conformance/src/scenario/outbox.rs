//! A transactional outbox: an order and its event are written together; a relay publishes and deletes the events.

use aws_sdk_dynamodb::types::{Put, TransactWriteItem, Update};

use crate::check::{Failure, Outcome, equal, item, n, s, text, transact, won};
use crate::context::{Context, Table};

pub(super) async fn run(context: &Context) -> Outcome {
    let table = context.create(Table::new("outbox").keys("pk", "sk")).await?;
    let stock = item([("pk", s("STOCK")), ("sk", s("tea")), ("left", n(2))]);
    context
        .client()
        .put_item()
        .table_name(&table)
        .set_item(Some(stock))
        .send()
        .await?;

    equal("the first order", place(context, &table, "0001").await?, Ok(()))?;
    // The same order again: its own condition fails, the stock's does not.
    equal(
        "a repeated order",
        place(context, &table, "0001").await?,
        Err(codes(["ConditionalCheckFailed", "None", "None"])),
    )?;
    equal("the second order", place(context, &table, "0002").await?, Ok(()))?;
    equal(
        "a third order",
        place(context, &table, "0003").await?,
        Err(codes(["None", "ConditionalCheckFailed", "None"])),
    )?;

    equal(
        "relayed events",
        relay(context, &table).await?,
        codes(["EVENT#0001", "EVENT#0002"]),
    )?;
    equal("events left", relay(context, &table).await?, Vec::<String>::new())?;
    let all = context
        .client()
        .scan()
        .table_name(&table)
        .consistent_read(true)
        .send()
        .await?;
    equal("what is stored: the stock and two orders", all.count, 3)
}

fn codes<const N: usize>(codes: [&str; N]) -> Vec<String> {
    codes.map(str::to_owned).to_vec()
}

/// Writes an order, takes its tea from the stock, and adds an event; otherwise returns the reason of each action.
async fn place(context: &Context, table: &str, order: &str) -> Outcome<Result<(), Vec<String>>> {
    let new_order = Put::builder()
        .table_name(table)
        .set_item(Some(item([("pk", s("ORDERS")), ("sk", s(order))])))
        .condition_expression("attribute_not_exists(pk)");
    let stock = Update::builder()
        .table_name(table)
        .key("pk", s("STOCK"))
        .key("sk", s("tea"))
        .update_expression("SET #left = #left - :one")
        .condition_expression("#left >= :one")
        .expression_attribute_names("#left", "left")
        .expression_attribute_values(":one", n(1));
    let event = Put::builder()
        .table_name(table)
        .set_item(Some(item([("pk", s("OUTBOX")), ("sk", s(format!("EVENT#{order}")))])));
    let request = context
        .client()
        .transact_write_items()
        .transact_items(TransactWriteItem::builder().put(new_order.build()?).build())
        .transact_items(TransactWriteItem::builder().update(stock.build()?).build())
        .transact_items(TransactWriteItem::builder().put(event.build()?).build());
    transact(request).await
}

/// Takes all events in order; each is deleted on the condition that no other relay has deleted it.
async fn relay(context: &Context, table: &str) -> Outcome<Vec<String>> {
    let query = context.client().query().table_name(table).consistent_read(true);
    let query = query
        .key_condition_expression("pk = :outbox")
        .expression_attribute_values(":outbox", s("OUTBOX"));
    let mut events = Vec::new();
    for event in query.send().await?.items() {
        let name = text(event, "sk")?;
        let delete = context
            .client()
            .delete_item()
            .table_name(table)
            .key("pk", s("OUTBOX"))
            .key("sk", s(name));
        if !won(delete.condition_expression("attribute_exists(pk)").send().await)? {
            return Err(Failure::new(format!("{name} was relayed twice")));
        }
        events.push(name.to_owned());
    }
    Ok(events)
}
