//! A bulk load in batches of 25: unprocessed items are sent again after increasing waits. The items are read back by
//! keys, and by a parallel scan.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::{KeysAndAttributes, PutRequest, WriteRequest};
use dynatwin::{Rule, Trigger, Verdict};

use crate::check::{Failure, Item, Outcome, ensure, equal, item, n, number, s};
use crate::context::{Context, Table};

const ITEMS: usize = 60;
const SEGMENTS: i32 = 4;

pub(super) async fn run(context: &Context) -> Outcome {
    let table = context.create(Table::new("bulk").keys("pk", "sk")).await?;
    let throttle = context.faults().map(|faults| {
        let third = Rule::new(Verdict::Throttle(None)).operation("BatchWriteItem");
        faults.add(third.table(&table).on(Trigger::EveryNth(3)))
    });
    let items: Vec<Item> = (0..ITEMS)
        .map(|at| {
            item([
                ("pk", s(format!("LOAD#{}", at % 7))),
                ("sk", s(format!("{at:03}"))),
                ("at", n(at)),
            ])
        })
        .collect();

    let mut requests = 0;
    for batch in items.chunks(25) {
        requests += put_all(context, &table, batch).await?;
    }
    match &throttle {
        // Every third of 60 entries and of those that are sent again is throttled: 20, then 6 or 7 of those, and so on.
        Some(throttle) => {
            ensure(
                throttle.fired() >= 20,
                format!("only {} entries were throttled", throttle.fired()),
            )?;
            ensure(requests > 3, "throttled entries took no request more")?;
        }
        None => ensure(requests >= 3, "60 items in batches of 25 took less than three requests")?,
    }

    let mut stored = read_all(context, &table, &items[..30]).await?;
    stored.extend(read_all(context, &table, &items[30..]).await?);
    each_once("stored items", &stored)?;
    let mut scanned = Vec::new();
    for segment in 0..SEGMENTS {
        scanned.extend(scan(context, &table, segment).await?);
    }
    each_once("items of all segments", &scanned)
}

fn each_once(what: &str, items: &[Item]) -> Outcome {
    let numbers = items.iter().map(|item| number(item, "at"));
    let mut numbers = numbers.collect::<Outcome<Vec<_>>>()?;
    numbers.sort_unstable();
    equal(what, numbers, (0..i64::try_from(ITEMS)?).collect::<Vec<_>>())
}

/// Puts up to 25 items; returns the number of requests.
async fn put_all(context: &Context, table: &str, items: &[Item]) -> Outcome<usize> {
    let mut left = Vec::new();
    for item in items {
        let put = PutRequest::builder().set_item(Some(item.clone())).build()?;
        left.push(WriteRequest::builder().put_request(put).build());
    }
    for attempt in 0..10 {
        let batch = context.client().batch_write_item().request_items(table, left);
        let mut unprocessed = batch.send().await?.unprocessed_items.unwrap_or_default();
        left = unprocessed.remove(table).unwrap_or_default();
        ensure(unprocessed.is_empty(), "unprocessed items of another table")?;
        if left.is_empty() {
            return Ok(attempt + 1);
        }
        context.sleep(Duration::from_millis(50 << attempt)).await;
    }
    Err(Failure::new(format!("{} items stay unprocessed", left.len())))
}

async fn read_all(context: &Context, table: &str, items: &[Item]) -> Outcome<Vec<Item>> {
    let mut keys = KeysAndAttributes::builder().consistent_read(true);
    for item in items {
        let key = ["pk", "sk"].map(|name| (name.to_owned(), item[name].clone()));
        keys = keys.keys(HashMap::from(key));
    }
    let mut left = Some(HashMap::from([(table.to_owned(), keys.build()?)]));
    let mut found = Vec::new();
    while let Some(keys) = left.filter(|keys| !keys.is_empty()) {
        let answer = context
            .client()
            .batch_get_item()
            .set_request_items(Some(keys))
            .send()
            .await?;
        found.extend(answer.responses.unwrap_or_default().remove(table).unwrap_or_default());
        left = answer.unprocessed_keys;
    }
    Ok(found)
}

/// All pages of a segment.
async fn scan(context: &Context, table: &str, segment: i32) -> Outcome<Vec<Item>> {
    let scan = context.client().scan().table_name(table).consistent_read(true);
    let scan = scan.segment(segment).total_segments(SEGMENTS).limit(7);
    let mut items = scan.into_paginator().items().send();
    let mut found = Vec::new();
    while let Some(item) = items.next().await {
        found.push(item?);
    }
    Ok(found)
}
