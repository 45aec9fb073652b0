//! Sends requests to the twin and to another DynamoDB, and compares the answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::generate::{NAMES, RECORDS, Request};
use super::{Mismatch, loose, shrink};
use crate::check::{Failure, Outcome};
use crate::raw_client::RawClient;
use crate::target::{InProcess, Preset, Target};
use dynatwin_case::Reply;

/// The maximum number of pages that are read.
const PAGES: usize = 64;

/// The interval between two checks of whether a table has settled.
const PATIENCE: usize = 3000;

/// The number of histories after which the other side is restarted: it keeps state of deleted tables, which grows.
const LIFE: u64 = 300;

/// The twin and another DynamoDB, which is restarted regularly.
pub(super) struct Pair<S> {
    start: S,
    other: Option<Arc<dyn Target>>,
    ordinal: u64,
}

struct Side {
    raw_client: RawClient,
    /// The suffix of the names of its tables and tokens, which distinguishes them from those of earlier histories.
    suffix: String,
}

impl<S: AsyncFn() -> Outcome<Arc<dyn Target>>> Pair<S> {
    pub(super) fn new(start: S) -> Pair<S> {
        Pair {
            start,
            other: None,
            ordinal: 0,
        }
    }

    /// Prepares the other side for the next history. Its account stays the same: some servers have threads for each
    /// account.
    async fn other(&mut self) -> Outcome<Side> {
        if self.ordinal.is_multiple_of(LIFE) {
            self.other = None;
        }
        self.ordinal += 1;
        let other = match self.other.take() {
            Some(other) => other,
            None => (self.start)().await?,
        };
        let raw_client = other.raw_client("FUZZ");
        self.other = Some(other);
        Ok(Side {
            raw_client: raw_client.ok_or_else(|| Failure::new("what is compared with answers no requests"))?,
            suffix: self.ordinal.to_string(),
        })
    }

    /// Sends a history to both sides, which are empty; returns the first answer in which they differ.
    pub(super) async fn compare(&mut self, seed: u64, history: Vec<Request>) -> Outcome<Option<Mismatch>> {
        let twin = InProcess::new(Preset::Calm, 1).raw_client("FUZZ");
        let twin = Side {
            raw_client: twin.ok_or_else(|| Failure::new("the twin answers no requests"))?,
            suffix: String::new(),
        };
        let other = self.other().await?;
        let mut mismatch = None;
        for (at, (operation, request)) in history.iter().enumerate() {
            if let Some((request, twin, other)) = ask_both(&twin, &other, operation, request).await? {
                let mut requests = history[..=at].to_vec();
                requests[at].1 = request;
                mismatch = Some(Mismatch {
                    seed,
                    requests,
                    twin,
                    other,
                });
                break;
            }
        }
        for (operation, request) in &history {
            if operation == "CreateTable" {
                send(&other, "DeleteTable", &json!({"TableName": request["TableName"]})).await?;
            }
        }
        Ok(mismatch)
    }

    /// The shortest history that shows the same difference.
    pub(super) async fn shrunk(&mut self, mismatch: Mismatch) -> Mismatch {
        let kind = mismatch.kind();
        let seed = mismatch.seed;
        let best = Arc::new(tokio::sync::Mutex::new(mismatch.clone()));
        let pair = Arc::new(tokio::sync::Mutex::new(self));
        shrink::shrink(mismatch.requests, |history| {
            let (best, pair, kind) = (Arc::clone(&best), Arc::clone(&pair), kind.clone());
            async move {
                match pair.lock().await.compare(seed, history).await {
                    Ok(Some(smaller)) if smaller.kind() == kind => {
                        *best.lock().await = smaller;
                        true
                    }
                    _ => false,
                }
            }
        })
        .await;
        let best = best.lock().await;
        best.clone()
    }
}

/// Sends a request to both sides; returns it if their answers differ.
async fn ask_both(
    twin: &Side,
    other: &Side,
    operation: &str,
    request: &Value,
) -> Outcome<Option<(Value, Reply, Reply)>> {
    if operation == "Query" && request.get("IndexName").is_none() {
        return ask_by_pages(twin, other, operation, request).await;
    }
    let ours = complete(twin, operation, request).await?;
    let theirs = complete(other, operation, request).await?;
    let same = loose::same(operation, request, &ours, &theirs);
    Ok((!same).then(|| (request.clone(), ours, theirs)))
}

/// Requests the following pages from both sides. They must be equal, except that only one side may return an empty last
/// page.
async fn ask_by_pages(
    twin: &Side,
    other: &Side,
    operation: &str,
    request: &Value,
) -> Outcome<Option<(Value, Reply, Reply)>> {
    let mut request = request.clone();
    for _ in 0..PAGES {
        let ours = send(twin, operation, &request).await?;
        let theirs = send(other, operation, &request).await?;
        if !loose::same(operation, &request, &ours, &theirs) {
            return Ok(Some((request, ours, theirs)));
        }
        let next = ours.body["LastEvaluatedKey"].clone();
        let last = &theirs.body["LastEvaluatedKey"];
        if next.is_null() {
            return Ok((!last.is_null()).then_some((request, ours, theirs)));
        }
        let ends = last.is_null();
        if !ends && loose::settled(&next) != loose::settled(last) {
            return Ok(Some((request, ours, theirs)));
        }
        request["ExclusiveStartKey"] = next;
        if ends {
            let after = send(twin, operation, &request).await?;
            let nothing = after.body["ScannedCount"] == 0;
            return Ok((!nothing).then_some((request, after, theirs)));
        }
    }
    Ok(None)
}

async fn send(side: &Side, operation: &str, request: &Value) -> Outcome<Reply> {
    let mut body = request.to_string();
    for name in NAMES {
        body = body.replace(name, &format!("{name}{}", side.suffix));
    }
    let mut reply = side.raw_client.send(operation, body.as_bytes()).await?;
    if !side.suffix.is_empty() {
        let mut body = reply.body.to_string();
        for name in NAMES {
            body = body.replace(&format!("{name}{}", side.suffix), name);
        }
        reply.body = serde_json::from_str(&body)?;
    }
    Ok(reply)
}

/// Sends a request to one side, and repeats it until nothing is unprocessed and the requested change is complete.
async fn complete(side: &Side, operation: &str, request: &Value) -> Outcome<Reply> {
    match operation {
        RECORDS => records(side, request).await,
        "Scan" | "Query" => all_pages(side, operation, request).await,
        "CreateTable" | "UpdateTable" => {
            let reply = send(side, operation, request).await?;
            if reply.status == 200 && !side.raw_client.is_twin() {
                settled(side, request).await?;
            }
            Ok(reply)
        }
        _ => send(side, operation, request).await,
    }
}

async fn settled(side: &Side, request: &Value) -> Outcome {
    let describe = json!({"TableName": request["TableName"]});
    for _ in 0..PATIENCE {
        let reply = send(side, "DescribeTable", &describe).await?;
        let indexes = reply.body["Table"]["GlobalSecondaryIndexes"]
            .as_array()
            .into_iter()
            .flatten();
        let mut states = indexes
            .map(|index| &index["IndexStatus"])
            .chain([&reply.body["Table"]["TableStatus"]]);
        if states.all(|state| state == "ACTIVE") {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Err(Failure::new(format!("{describe} does not settle")))
}

/// The pages of a Query or Scan of all segments as one page: page boundaries depend on the order of items, which
/// differs.
async fn all_pages(side: &Side, operation: &str, request: &Value) -> Outcome<Reply> {
    let mut request = request.clone();
    let segments = request["TotalSegments"].as_u64().unwrap_or(1);
    let mut whole: Option<Reply> = None;
    for segment in 0..segments {
        if segments > 1 {
            request["Segment"] = segment.into();
        }
        for _ in 0..PAGES {
            let page = send(side, operation, &request).await?;
            if page.status != 200 {
                return Ok(page);
            }
            let next = page.body["LastEvaluatedKey"].clone();
            match &mut whole {
                None => whole = Some(page),
                Some(whole) => add(&mut whole.body, page.body),
            }
            if next.is_null() {
                break;
            }
            request["ExclusiveStartKey"] = next;
        }
        if let Some(members) = request.as_object_mut() {
            members.remove("ExclusiveStartKey");
        }
    }
    let mut whole = whole.ok_or_else(|| Failure::new("no segment was requested"))?;
    if let Some(members) = whole.body.as_object_mut() {
        members.remove("LastEvaluatedKey");
        // The units of each page are rounded separately, and the pages differ.
        if request.get("Limit").is_some() || segments > 1 {
            members.remove("ConsumedCapacity");
        }
    }
    Ok(whole)
}

fn add(whole: &mut Value, page: Value) {
    let Value::Object(page) = page else { return };
    for (name, more) in page {
        match (&mut whole[&name], more) {
            (Value::Array(items), Value::Array(more)) => items.extend(more),
            (count @ Value::Number(_), Value::Number(more)) => {
                *count = (count.as_u64().unwrap_or(0) + more.as_u64().unwrap_or(0)).into();
            }
            _ => {}
        }
    }
}

/// The records of all streams of a table: by stream, in the order of their labels, and within a stream by key.
async fn records(side: &Side, request: &Value) -> Outcome<Reply> {
    let listed = send(side, "ListStreams", request).await?;
    if listed.status != 200 {
        return Ok(listed);
    }
    let mut streams: Vec<Value> = listed.body["Streams"].as_array().cloned().unwrap_or_default();
    streams.sort_by_key(|stream| stream["StreamLabel"].to_string());
    let mut all = Vec::new();
    for stream in streams {
        let about = send(side, "DescribeStream", &json!({"StreamArn": stream["StreamArn"]})).await?;
        if about.status != 200 {
            return Ok(about);
        }
        let about = &about.body["StreamDescription"];
        let mut by_key: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for shard in about["Shards"].as_array().into_iter().flatten() {
            let from = json!({
                "StreamArn": stream["StreamArn"], "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON",
            });
            let iterator = send(side, "GetShardIterator", &from).await?;
            let mut iterator = iterator.body["ShardIterator"].clone();
            for _ in 0..PAGES {
                let page = send(side, "GetRecords", &json!({"ShardIterator": iterator})).await?;
                if page.status != 200 {
                    return Ok(page);
                }
                let records = page.body["Records"].as_array().cloned().unwrap_or_default();
                iterator = page.body["NextShardIterator"].clone();
                let ends = iterator.is_null() || records.is_empty();
                for record in records {
                    let key = loose::settled(&record["dynamodb"]["Keys"]);
                    by_key
                        .entry(key.to_string())
                        .or_default()
                        .push(without_position(&record));
                }
                if ends {
                    break;
                }
            }
        }
        let by_key: Map<String, Value> = by_key.into_iter().map(|(key, records)| (key, records.into())).collect();
        all.push(json!({"View": about["StreamViewType"], "Status": about["StreamStatus"], "Records": by_key}));
    }
    Ok(Reply {
        status: 200,
        body: all.into(),
    })
}

/// The content of a record, without its sequence number and time.
fn without_position(record: &Value) -> Value {
    let mut change = record["dynamodb"].clone();
    if let Some(members) = change.as_object_mut() {
        members.remove("ApproximateCreationDateTime");
        members.remove("SequenceNumber");
    }
    json!([record["eventName"], change])
}
