//! Differential fuzzing: sends random histories to the twin and to DynamoDB Local, whose answers must be equal except
//! for named differences. A mismatch is shrunk, and printed as a case.

mod expression;
mod generate;
mod loose;
mod pair;
mod random;
mod shrink;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dynatwin_case::Reply;
use serde_json::{Value, json};

use crate::check::Outcome;
use crate::target::Target;

use generate::RECORDS;
use pair::Pair;
pub use random::Random;

/// A difference between two answers, with the fewest requests that show it.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// The seed of the history.
    pub seed: u64,
    /// The requests, of which the last has different answers.
    pub requests: Vec<(String, Value)>,
    /// The twin's answer to it.
    pub twin: Reply,
    /// The other target's answer to it.
    pub other: Reply,
}

impl Mismatch {
    /// Returns a case for the files, with the twin's answer, which must be compared with AWS before it is kept.
    pub fn to_case(&self) -> Value {
        let (last, before) = match self.requests.split_last() {
            Some((last, before)) => (last.clone(), before),
            None => return Value::Null,
        };
        let before: Vec<Value> = before
            .iter()
            .filter(|(operation, _)| operation != RECORDS)
            .map(|(operation, request)| json!([operation, request]))
            .collect();
        if last.0 == RECORDS {
            return self.to_case_of_records(before, &last.1);
        }
        let mut case = json!({
            "name": format!("history {}", self.seed),
            "before": before,
            "operation": last.0,
            "request": last.1,
            "evidence": "to be found",
        });
        match self.twin.error() {
            Some(error) => case["error"] = error.into(),
            None => case["answer"] = self.twin.body.clone(),
        }
        case
    }

    /// The first records of the newest stream; `has` is to be filled in.
    fn to_case_of_records(&self, mut before: Vec<Value>, request: &Value) -> Value {
        let answer = |step: usize, path: &str| json!({"$answer": [step, path]});
        let at = before.len();
        let stream = answer(at, "/Table/LatestStreamArn");
        before.push(json!(["DescribeTable", request]));
        before.push(json!(["DescribeStream", {"StreamArn": stream}]));
        before.push(json!(["GetShardIterator", {
            "StreamArn": stream, "ShardIteratorType": "TRIM_HORIZON",
            "ShardId": answer(at + 1, "/StreamDescription/Shards/0/ShardId"),
        }]));
        json!({
            "name": format!("history {}", self.seed),
            "before": before,
            "operation": "GetRecords",
            "request": {"ShardIterator": answer(at + 2, "/ShardIterator")},
            "has": self.twin.body,
            "evidence": "to be found",
        })
    }

    /// Returns the common properties of mismatches with one cause: the operation, and the kind of both answers.
    fn kind(&self) -> String {
        let side = |reply: &Reply| match reply.error() {
            Some(error) => error
                .chars()
                .filter(|letter| !letter.is_ascii_digit())
                .take(90)
                .collect(),
            None => "success".to_owned(),
        };
        let place = match (self.twin.error(), self.other.error()) {
            (None, None) => place(&self.twin.body, &self.other.body),
            _ => String::new(),
        };
        let operation = self.requests.last().map_or("", |(operation, _)| operation);
        format!(
            "{operation}: {} against {} {place}",
            side(&self.twin),
            side(&self.other)
        )
    }
}

/// Returns where two answers first differ.
fn place(one: &Value, other: &Value) -> String {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            let differs = names.into_iter().find(|name| one.get(*name) != other.get(*name));
            let inner = |name: &String| match (one.get(name), other.get(name)) {
                (Some(one), Some(other)) => place(one, other),
                _ => String::new(),
            };
            differs.map_or(String::new(), |name| format!("/{name}{}", inner(name)))
        }
        (Value::Array(one), Value::Array(other)) => {
            let differs = one.iter().zip(other).find(|(one, other)| one != other);
            differs.map_or(String::new(), |(one, other)| place(one, other))
        }
        _ => String::new(),
    }
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(formatter, "mismatch of history {}", self.seed)?;
        writeln!(formatter, "  twin:  {}", self.twin)?;
        writeln!(formatter, "  other: {}", self.other)?;
        for (operation, request) in &self.requests {
            writeln!(formatter, "  {operation} {request}")?;
        }
        write!(formatter, "{}", self.to_case())
    }
}

/// Runs histories with this seed and later ones for this time; reports each new kind of mismatch.
///
/// `start` starts the other side, which is restarted regularly.
pub async fn fuzz(
    start: impl AsyncFn() -> Outcome<Arc<dyn Target>>,
    seed: u64,
    time: Duration,
    mut report: impl FnMut(FuzzProgress<'_>),
) -> Outcome {
    let mut pair = Pair::new(start);
    let begin = Instant::now();
    let mut kinds = BTreeSet::new();
    for seed in seed.. {
        if begin.elapsed() >= time {
            break;
        }
        let mismatch = pair.compare(seed, generate::history(seed)).await?;
        report(FuzzProgress::History);
        let Some(mut mismatch) = mismatch else { continue };
        if kinds.insert(mismatch.kind()) {
            mismatch = pair.shrunk(mismatch).await;
            kinds.insert(mismatch.kind());
            report(FuzzProgress::Mismatch(&mismatch));
        }
    }
    Ok(())
}

/// What fuzzing reports while it runs.
#[derive(Clone, Copy, Debug)]
pub enum FuzzProgress<'a> {
    /// One more history was compared.
    History,
    /// A mismatch of a new kind.
    Mismatch(&'a Mismatch),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw_client::RawClient;
    use crate::target::{InProcess, Preset};

    #[tokio::test]
    async fn a_difference_is_found_and_shrunk() {
        let mut found: Vec<Mismatch> = Vec::new();
        let time = Duration::from_secs(3);
        let forgetful = async || Ok(Arc::new(Forgetful) as _);
        fuzz(forgetful, 1, time, |progress| {
            if let FuzzProgress::Mismatch(mismatch) = progress {
                found.push(mismatch.clone());
            }
        })
        .await
        .unwrap();
        let shortest = found.iter().min_by_key(|mismatch| mismatch.requests.len()).unwrap();
        assert!(shortest.requests.len() <= 3, "{shortest}");
        let equal = async || Ok(Arc::new(InProcess::new(Preset::Calm, 1)) as _);
        let mut count = 0;
        fuzz(equal, 1, time, |progress| match progress {
            FuzzProgress::History => count += 1,
            FuzzProgress::Mismatch(mismatch) => panic!("{mismatch}"),
        })
        .await
        .unwrap();
        assert!(count > 0);
    }

    /// A twin in which every DeleteItem of a table fails.
    struct Forgetful;

    impl Target for Forgetful {
        fn name(&self) -> &'static str {
            "forgetful"
        }

        fn session(&self) -> crate::target::Session {
            InProcess::new(Preset::Calm, 1).session()
        }

        fn raw_client(&self, _: &str) -> Option<RawClient> {
            let twin = dynatwin::Twin::seeded(1);
            let rule = dynatwin::Rule::new(dynatwin::Verdict::InternalServerError).operation("DeleteItem");
            twin.faults().add(rule).keep();
            Some(RawClient::twin(twin))
        }
    }
}
