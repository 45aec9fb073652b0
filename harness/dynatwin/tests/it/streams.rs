//! A typical stream consumer: over the SDK, parents before children.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{StreamSpecification, StreamViewType};
use aws_sdk_dynamodbstreams::Client as Streams;
use aws_sdk_dynamodbstreams::types::{AttributeValue, OperationType, Record, Shard, ShardIteratorType};
use dynatwin::Twin;

use crate::{TABLE, create_table, n, put, s};

/// Reads a stream repeatedly, each time from where it stopped.
struct Consumer {
    client: Streams,
    arn: String,
    /// The last sequence number that was read, by shard.
    read: BTreeMap<String, String>,
    done: BTreeSet<String>,
}

impl Consumer {
    fn new(client: Streams, arn: String) -> Consumer {
        Consumer {
            client,
            arn,
            read: BTreeMap::new(),
            done: BTreeSet::new(),
        }
    }

    async fn shards(&self) -> Vec<Shard> {
        let mut shards = Vec::new();
        let mut last = None;
        loop {
            let request = self.client.describe_stream().stream_arn(&self.arn).limit(3);
            let answer = request.set_exclusive_start_shard_id(last).send().await.unwrap();
            let description = answer.stream_description.unwrap();
            shards.extend(description.shards.unwrap_or_default());
            last = description.last_evaluated_shard_id;
            if last.is_none() {
                return shards;
            }
        }
    }

    /// Returns the new records. A shard is read after its parent has been read to its end.
    async fn poll(&mut self) -> Vec<Record> {
        let mut records = Vec::new();
        let mut shards = self.shards().await;
        let known: BTreeSet<String> = shards.iter().filter_map(|shard| shard.shard_id.clone()).collect();
        while !shards.is_empty() {
            let ready = |shard: &Shard| {
                let parent = shard.parent_shard_id();
                parent.is_none_or(|parent| self.done.contains(parent) || !known.contains(parent))
            };
            let Some(at) = shards.iter().position(ready) else {
                panic!("a shard waits for a parent that is never done");
            };
            let shard = shards.remove(at).shard_id.unwrap();
            if !self.done.contains(&shard) {
                self.read_shard(&shard, &mut records).await;
            }
        }
        records
    }

    async fn read_shard(&mut self, shard: &str, records: &mut Vec<Record>) {
        let request = self.client.get_shard_iterator().stream_arn(&self.arn).shard_id(shard);
        let request = match self.read.get(shard) {
            None => request.shard_iterator_type(ShardIteratorType::TrimHorizon),
            Some(number) => request
                .shard_iterator_type(ShardIteratorType::AfterSequenceNumber)
                .sequence_number(number),
        };
        let mut next = request.send().await.unwrap().shard_iterator;
        while let Some(iterator) = next {
            let request = self.client.get_records().shard_iterator(iterator).limit(2);
            let answer = request.send().await.unwrap();
            let found = answer.records.unwrap_or_default();
            if let Some(last) = found.last() {
                let number = last.dynamodb().and_then(|of| of.sequence_number()).unwrap();
                self.read.insert(shard.to_owned(), number.to_owned());
            }
            next = answer.next_shard_iterator;
            if next.is_none() {
                self.done.insert(shard.to_owned());
            }
            let at_end = found.is_empty();
            records.extend(found);
            if at_end {
                return;
            }
        }
    }
}

async fn with_stream(client: &Client) -> String {
    create_table(client).await;
    let specification = StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(StreamViewType::NewAndOldImages)
        .build()
        .unwrap();
    let request = client
        .update_table()
        .table_name(TABLE)
        .stream_specification(specification);
    let table = request.send().await.unwrap().table_description.unwrap();
    table.latest_stream_arn.unwrap()
}

async fn set(client: &Client, pk: &str, value: i64) {
    let request = client.put_item().table_name(TABLE).item("PK", s(pk)).item("SK", s("-"));
    request.item("value", n(value)).send().await.unwrap();
}

fn value(record: &Record) -> Option<(String, i64)> {
    let of = record.dynamodb()?;
    let Some(AttributeValue::S(pk)) = of.keys()?.get("PK") else {
        return None;
    };
    let Some(AttributeValue::N(value)) = of.new_image()?.get("value") else {
        return None;
    };
    Some((pk.clone(), value.parse().ok()?))
}

#[tokio::test]
async fn a_consumer_reads_each_change_once_and_in_order() {
    let twin = Twin::seeded(7);
    let client = twin.client();
    let arn = with_stream(&client).await;
    let mut consumer = Consumer::new(twin.streams(), arn);
    let mut seen: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for round in 0..9 {
        for key in 0..8 {
            set(&client, &format!("k{key}"), round).await;
        }
        match round % 4 {
            0 => assert_eq!(twin.split_shards(TABLE), Ok(true)),
            1 => twin.clock().advance(Duration::from_hours(5)),
            _ => {}
        }
        if round % 3 == 0 {
            for (pk, value) in consumer.poll().await.iter().filter_map(value) {
                seen.entry(pk).or_default().push(value);
            }
        }
    }
    for (pk, value) in consumer.poll().await.iter().filter_map(value) {
        seen.entry(pk).or_default().push(value);
    }
    assert_eq!(seen.len(), 8);
    assert!(
        seen.values().all(|values| *values == (0..9).collect::<Vec<_>>()),
        "{seen:?}"
    );
}

#[tokio::test]
async fn the_record_of_an_expired_session_names_the_service() {
    let twin = Twin::seeded(7);
    let client = twin.client();
    let arn = with_stream(&client).await;
    let expires = twin.clock().now().seconds() + 60;
    let request = client
        .put_item()
        .table_name(TABLE)
        .item("PK", s("a"))
        .item("SK", s("-"));
    request.item("expiresAt", n(expires)).send().await.unwrap();
    put(&client, "b").await.unwrap();
    twin.clock().advance(Duration::from_hours(1));
    let records = Consumer::new(twin.streams(), arn).poll().await;
    let removed: Vec<&Record> = records
        .iter()
        .filter(|record| record.event_name() == Some(&OperationType::Remove))
        .collect();
    assert_eq!((records.len(), removed.len()), (3, 1));
    let identity = removed[0].user_identity().unwrap();
    assert_eq!(identity.principal_id(), Some("dynamodb.amazonaws.com"));
    assert_eq!(identity.r#type(), Some("Service"));
    let created = removed[0].dynamodb().unwrap().approximate_creation_date_time().unwrap();
    assert_eq!(created.secs(), expires);
}

#[tokio::test]
async fn errors_are_the_sdks_own() {
    let twin = Twin::seeded(7);
    let arn = with_stream(&twin.client()).await;
    let streams = twin.streams();
    let shard = Consumer::new(streams.clone(), arn.clone()).shards().await.remove(0);
    let request = streams
        .get_shard_iterator()
        .stream_arn(&arn)
        .shard_id(shard.shard_id.unwrap());
    let request = request.shard_iterator_type(ShardIteratorType::Latest);
    let iterator = request.send().await.unwrap().shard_iterator.unwrap();
    twin.clock().advance(Duration::from_secs(901));
    let error = streams.get_records().shard_iterator(iterator).send().await.unwrap_err();
    assert!(error.into_service_error().is_expired_iterator_exception());
    let missing = streams
        .describe_stream()
        .stream_arn(format!("{arn}1"))
        .send()
        .await
        .unwrap_err();
    assert!(missing.into_service_error().is_resource_not_found_exception());
    assert!(twin.region("eu-west-1").split_shards(TABLE).is_err());
    let elsewhere = twin.region("eu-west-1").streams().list_streams().send().await.unwrap();
    assert!(elsewhere.streams().is_empty());
}
