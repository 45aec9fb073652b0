//! Differential fuzzing: random histories on the twin and on DynamoDB Local, whose answers must be the same up to
//! [named looseness](loose). What differs is shrunk, and printed as a case.

mod expression;
mod generate;
mod loose;
mod random;
mod shrink;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::check::Outcome;
use crate::door::{Door, Reply};
use crate::target::{InProcess, Mood, Target};

use generate::Request;
pub use random::Random;

/// How many pages of a Query are followed.
const PAGES: usize = 12;

/// A mismatch, shrunk.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// The seed of the history.
    pub seed: u64,
    /// The requests, of which the last is answered differently.
    pub requests: Vec<(String, Value)>,
    /// What the twin answers to it.
    pub twin: Reply,
    /// What the other answers.
    pub other: Reply,
}

impl Mismatch {
    /// As a case for the files, with the twin's answer; whoever pastes it finds out whether that is AWS's.
    pub fn to_case(&self) -> Value {
        let (last, before) = match self.requests.split_last() {
            Some((last, before)) => (last.clone(), before),
            None => return Value::Null,
        };
        let before: Vec<Value> = before
            .iter()
            .map(|(operation, request)| json!([operation, request]))
            .collect();
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

    /// What is alike in mismatches that have one cause: the operation, and how each side answers.
    fn kind(&self) -> String {
        let side = |reply: &Reply| match reply.error() {
            Some(error) => error
                .chars()
                .filter(|letter| !letter.is_ascii_digit())
                .take(90)
                .collect(),
            None => "success".to_owned(),
        };
        let operation = self.requests.last().map_or("", |(operation, _)| operation);
        format!("{operation}: {} against {}", side(&self.twin), side(&self.other))
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

/// Runs histories of this seed and those after it for so long; tells `found` of each new kind of mismatch. Gives how many
/// histories were run.
pub async fn fuzz(other: Arc<dyn Target>, seed: u64, time: Duration, mut found: impl FnMut(&Mismatch)) -> Outcome<u64> {
    let start = Instant::now();
    let mut kinds = BTreeSet::new();
    let mut pair = Pair { other, ordinal: 0 };
    let mut count = 0;
    while start.elapsed() < time {
        let seed = seed.wrapping_add(count);
        count += 1;
        let Some(mut mismatch) = pair.compare(seed, generate::history(seed)).await? else {
            continue;
        };
        if kinds.insert(mismatch.kind()) {
            mismatch = pair.shrunk(mismatch).await;
            kinds.insert(mismatch.kind());
            found(&mismatch);
        }
    }
    Ok(count)
}

/// The twin and another DynamoDB.
struct Pair {
    other: Arc<dyn Target>,
    ordinal: u64,
}

impl Pair {
    /// Sends a history to both, each in an account that has nothing; gives the first answer in which they differ.
    async fn compare(&mut self, seed: u64, history: Vec<Request>) -> Outcome<Option<Mismatch>> {
        self.ordinal += 1;
        let account = format!("FUZZ{}N{}", std::process::id(), self.ordinal);
        let twin = InProcess::new(Mood::Calm, 1).door(&account);
        let (Some(twin), Some(other)) = (twin, self.other.door(&account)) else {
            return Ok(None);
        };
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
                let body = json!({"TableName": request["TableName"]}).to_string();
                other.send("DeleteTable", body.as_bytes()).await?;
            }
        }
        Ok(mismatch)
    }

    async fn shrunk(&mut self, mismatch: Mismatch) -> Mismatch {
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

/// Sends a request to both, and all further pages of what it asks for; gives the request in whose answers they differ.
async fn ask_both(
    twin: &Door,
    other: &Door,
    operation: &str,
    request: &Value,
) -> Outcome<Option<(Value, Reply, Reply)>> {
    let mut request = request.clone();
    for _ in 0..PAGES {
        let body = request.to_string();
        let ours = twin.send(operation, body.as_bytes()).await?;
        let theirs = other.send(operation, body.as_bytes()).await?;
        let same = loose::is_known(&ours)
            || loose::loose(operation, &request, &ours) == loose::loose(operation, &request, &theirs);
        if !same {
            return Ok(Some((request, ours, theirs)));
        }
        let next = &ours.body["LastEvaluatedKey"];
        if !next.is_object() {
            break;
        }
        request["ExclusiveStartKey"] = next.clone();
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_difference_is_found_and_shrunk() {
        // The same engine under another seed is the same; so a twin that fails by itself is another.
        let storm: Arc<dyn Target> = Arc::new(Forgetful);
        let mut found = Vec::new();
        fuzz(storm, 1, Duration::from_millis(300), |mismatch| {
            found.push(mismatch.clone());
        })
        .await
        .unwrap();
        assert!(!found.is_empty());
        assert!(
            found.iter().any(|mismatch| mismatch.requests.len() <= 3),
            "{}",
            found[0]
        );
        let equal: Arc<dyn Target> = Arc::new(InProcess::new(Mood::Calm, 1));
        let count = fuzz(equal, 1, Duration::from_millis(300), |mismatch| panic!("{mismatch}"))
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
            InProcess::new(Mood::Calm, 1).session()
        }

        fn door(&self, _: &str) -> Option<Door> {
            let twin = dynatwin::Twin::seeded(1);
            let rule = dynatwin::Rule::new(dynatwin::Verdict::InternalServerError).operation("DeleteItem");
            twin.faults().add(rule).keep();
            Some(Door::twin(twin))
        }
    }
}
