//! What a call of the SDK's client costs in process: get, put, conditional update, and a query of ten.
//!
//! Items of about 1 KB, 100 partitions of 100 items.

use std::hint::black_box;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use criterion::{Criterion, criterion_group, criterion_main};
use dynatwin::Twin;
use tokio::runtime::{Builder, Runtime};

const PARTITIONS: usize = 100;
const ITEMS: usize = 100;

fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

fn keys(at: usize) -> (AttributeValue, AttributeValue) {
    let (pk, sk) = (at % PARTITIONS, at / PARTITIONS % ITEMS);
    (s(format!("PROJECT#{pk:03}")), s(format!("TASK#{sk:03}")))
}

fn put(client: &Client, at: usize) -> PutItemFluentBuilder {
    let (pk, sk) = keys(at);
    client
        .put_item()
        .table_name("Tasks")
        .item("PK", pk)
        .item("SK", sk)
        .item("status", s("OPEN"))
        .item("ownerId", s("masa"))
        .item("text", s("x".repeat(940)))
}

async fn fill(client: &Client) {
    let mut request = client
        .create_table()
        .table_name("Tasks")
        .billing_mode(BillingMode::PayPerRequest);
    for (name, role) in [("PK", KeyType::Hash), ("SK", KeyType::Range)] {
        let key = KeySchemaElement::builder().attribute_name(name).key_type(role).build();
        let definition = AttributeDefinition::builder()
            .attribute_name(name)
            .attribute_type(ScalarAttributeType::S)
            .build();
        request = request
            .key_schema(key.expect("complete"))
            .attribute_definitions(definition.expect("complete"));
    }
    request.send().await.expect("a new table");
    for at in 0..PARTITIONS * ITEMS {
        put(client, at).send().await.expect("a put");
    }
}

fn client(criterion: &mut Criterion) {
    let runtime: Runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let twin = Twin::new();
    let client = twin.client();
    runtime.block_on(fill(&client));
    let mut group = criterion.benchmark_group("client");
    let mut at = 0;
    let mut next = move || {
        at = (at + 7919) % (PARTITIONS * ITEMS);
        at
    };
    group.bench_function("get", |bencher| {
        bencher.iter(|| {
            let (pk, sk) = keys(next());
            let get = client.get_item().table_name("Tasks").key("PK", pk).key("SK", sk);
            let answer = runtime.block_on(get.send()).expect("a get");
            assert!(answer.item.is_some());
            black_box(answer)
        });
    });
    group.bench_function("put", |bencher| {
        bencher.iter(|| black_box(runtime.block_on(put(&client, next()).send()).expect("a put")));
    });
    group.bench_function("update", |bencher| {
        bencher.iter(|| {
            let (pk, sk) = keys(next());
            let update = client
                .update_item()
                .table_name("Tasks")
                .key("PK", pk)
                .key("SK", sk)
                .update_expression("SET #status = :done")
                .condition_expression("ownerId = :owner")
                .expression_attribute_names("#status", "status")
                .expression_attribute_values(":done", s("DONE"))
                .expression_attribute_values(":owner", s("masa"));
            black_box(runtime.block_on(update.send()).expect("an update"))
        });
    });
    group.bench_function("query of ten", |bencher| {
        bencher.iter(|| {
            let (pk, _) = keys(next());
            let query = client
                .query()
                .table_name("Tasks")
                .key_condition_expression("PK = :pk AND begins_with(SK, :task)")
                .expression_attribute_values(":pk", pk)
                .expression_attribute_values(":task", s("TASK#"))
                .limit(10);
            let answer = runtime.block_on(query.send()).expect("a query");
            assert_eq!(answer.count, 10);
            black_box(answer)
        });
    });
    group.finish();
}

criterion_group!(benches, client);
criterion_main!(benches);
