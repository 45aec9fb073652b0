//! Carrying cases out, one after the other, on tables that are made for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Case, Expect, File, Step, expand, filled};
use crate::check::{Failure, Outcome};
use crate::door::{Door, Reply};
use crate::target::Target;

/// How often a lane looks whether a table is `ACTIVE`, or gone.
const PATIENCE: u32 = 600;

/// Cases that run one after the other on a target. Tables and items of a file are made once, and again after a case that
/// changed something; all tables are deleted in the end, and none that was not made here.
pub struct Lane {
    target: Arc<dyn Target>,
    account: String,
    stage: Option<Stage>,
}

/// A file's tables and items on the target.
struct Stage {
    file: String,
    door: Door,
    names: Names,
    /// Tables that were made, or may have been, and their regions.
    made: Vec<(String, Option<String>)>,
    /// Tables that this target does not make, or not fill, and what it said.
    refused: Vec<(String, Failure)>,
    changed: bool,
    /// Whether there is what outlives its table, and is the account's.
    left: bool,
}

impl Lane {
    /// A lane on a target that keeps cases at all.
    pub fn new(target: Arc<dyn Target>) -> Lane {
        Lane {
            target,
            account: account(),
            stage: None,
        }
    }

    /// Why this case is not carried out here: it turns dials that are not here, or is about all that an account has, and the
    /// account is shared.
    pub fn refuses(&self, case: &Case) -> Option<String> {
        const WHOLE_ACCOUNT: [&str; 4] = ["ListTables", "DescribeLimits", "DescribeEndpoints", "ListBackups"];
        if case.needs_twin() && !self.target.door(&self.account)?.is_twin() {
            return Some("it needs the twin's clock or conditions".to_owned());
        }
        self.target.table_prefix()?;
        let whole =
            case.requests().any(|(operation, _)| WHOLE_ACCOUNT.contains(&operation)) || case.lists_all_streams();
        let named = case
            .requests()
            .any(|(_, request)| request.to_string().contains("\"arn:"));
        (whole || named).then(|| "it is about a whole account, or names one, and this one is shared".to_owned())
    }

    /// Carries a case out; gives what was answered to it and what is expected, or why it could not be asked.
    pub async fn run(&mut self, file: &File, case: &Case) -> Outcome<(Reply, Expect)> {
        let outcome = self.try_run(file, case).await;
        if outcome.is_err() && self.target.revive().await? {
            self.stage = None;
            return Err(Failure::new("it ended the target"));
        }
        outcome
    }

    async fn try_run(&mut self, file: &File, case: &Case) -> Outcome<(Reply, Expect)> {
        let stale = |stage: &Stage| stage.changed || stage.file != file.name;
        if self.stage.as_ref().is_some_and(stale) || case.lists_all_streams() {
            self.clear().await;
        }
        if case.lists_all_streams() {
            self.account = account();
        }
        if self.stage.is_none() {
            self.set_up(file).await?;
        }
        let Some(stage) = &mut self.stage else {
            return Err(Failure::new("there is no stage"));
        };
        stage.has_tables_of(case)?;
        if case.conditions.is_some() || case.enforces_capacity {
            stage.changed = true;
            let name = case.conditions.as_deref().unwrap_or("calm");
            stage.door.set_conditions(name, case.enforces_capacity)?;
        }
        let mut answers = Vec::with_capacity(case.before.len());
        for step in &case.before {
            answers.push(stage.step(step, &answers).await?);
        }
        let request = filled(&case.request, &answers)?;
        let reply = stage.send(&case.operation, &request, case.region.as_deref()).await?;
        Ok((reply, case.expect.filled(&answers)?))
    }

    async fn set_up(&mut self, file: &File) -> Outcome {
        let door = self.target.door(&self.account);
        let door = door.ok_or_else(|| Failure::new("this target carries out no cases"))?;
        let stage = self.stage.insert(Stage {
            file: file.name.clone(),
            door,
            names: Names {
                prefix: self.target.table_prefix(),
                known: file.tables.iter().filter_map(table_name).collect(),
                streams: Vec::new(),
                token: unique(),
            },
            made: Vec::new(),
            refused: Vec::new(),
            changed: false,
            left: false,
        });
        let outcome = stage.fill(file).await;
        // Half a stage is none, but its tables have to go.
        stage.changed = outcome.is_err();
        outcome
    }

    /// Deletes the stage's tables. What could not be deleted is left behind with its account.
    pub async fn clear(&mut self) {
        if let Some(stage) = self.stage.take()
            && !stage.clear().await
        {
            self.account = account();
        }
    }
}

/// What makes something that stays when its table goes: backups (with recovery, of a table that is deleted), and what is
/// listed of transfers.
const OUTLIVES: [&str; 5] = [
    "CreateBackup",
    "UpdateContinuousBackups",
    "ExportTableToPointInTime",
    "ImportTable",
    "StartBulkPutItems",
];

/// The table that an operation makes, if it makes one.
fn made_table(operation: &str, request: &Value) -> Option<String> {
    let name = match operation {
        "CreateTable" => return table_name(request),
        "RestoreTableFromBackup" | "RestoreTableToPointInTime" => &request["TargetTableName"],
        "ImportTable" => &request["TableCreationParameters"]["TableName"],
        _ => return None,
    };
    name.as_str().map(str::to_owned)
}

/// An access key that nobody had before: what keeps accounts apart then starts with nothing.
fn account() -> String {
    format!("CASES{}", unique())
}

/// Letters and digits that nobody had before.
fn unique() -> String {
    static ORDINAL: AtomicU64 = AtomicU64::new(0);
    let ordinal = ORDINAL.fetch_add(1, Ordering::Relaxed);
    format!("{:x}n{ordinal:x}", std::process::id())
}

impl Stage {
    async fn fill(&mut self, file: &File) -> Outcome {
        for table in &file.tables {
            let name = table_name(table).unwrap_or_default();
            self.must(&name, "CreateTable", table).await?;
        }
        for (table, items) in &file.items {
            for item in items {
                let put = json!({"TableName": table, "Item": item});
                self.must(table, "PutItem", &put).await?;
            }
        }
        self.changed = false;
        Ok(())
    }

    async fn step(&mut self, step: &Step, answers: &[Value]) -> Outcome<Value> {
        match step {
            Step::Request {
                operation,
                request,
                region,
            } => {
                let request = filled(request, answers)?;
                Ok(self.send(operation, &request, region.as_deref()).await?.body)
            }
            Step::Advance(seconds) => {
                self.changed = true;
                self.door.advance(*seconds)?;
                Ok(Value::Null)
            }
        }
    }

    /// What is refused here is missed only by the cases of that table.
    async fn must(&mut self, table: &str, operation: &str, request: &Value) -> Outcome {
        let reply = self.send(operation, request, None).await?;
        if reply.status != 200 && !self.refused.iter().any(|(known, _)| known == table) {
            let failure = Failure::new(format!("set-up: {operation}: {reply}"));
            self.refused.push((table.to_owned(), failure));
        }
        Ok(())
    }

    /// Fails if the case names a table that could not be made.
    fn has_tables_of(&self, case: &Case) -> Outcome {
        let named = |table: &str| {
            let name = Value::from(table).to_string();
            let mut requests = case.requests();
            requests.any(|(_, request)| request.to_string().contains(&name))
        };
        let missed = self.refused.iter().find(|(table, _)| named(table));
        missed.map_or(Ok(()), |(_, failure)| Err(failure.clone()))
    }

    async fn send(&mut self, operation: &str, request: &Value, region: Option<&str>) -> Outcome<Reply> {
        let mut request = expand(request);
        if operation == "CreateTable"
            && let Some(name) = table_name(&request)
            && !self.names.known.contains(&name)
        {
            self.names.known.push(name);
        }
        self.names.rename(&mut request);
        self.names.mark_token(&mut request);
        let mut reply = self
            .door
            .send_to(region, operation, request.to_string().as_bytes())
            .await?;
        if reply.status == 200 {
            self.changed |= !only_reads(operation);
            self.left |= OUTLIVES.contains(&operation);
            if operation == "UpdateTable"
                && let Some(name) = table_name(&request)
            {
                self.wait_until_active(&name, region).await?;
            }
            if let Some(name) = made_table(operation, &request) {
                self.wait_until_active(&name, region).await?;
                self.made.push((name, region.map(str::to_owned)));
            }
        } else if operation == "CreateTable" {
            self.note_half_made(&request, region).await?;
        }
        if !self.door.is_twin() {
            self.names.learn_stream(&reply.body);
        }
        self.names.restore(&mut reply.body);
        Ok(reply)
    }

    /// A target that is this run's own may have refused a table and yet have made it.
    async fn note_half_made(&mut self, request: &Value, region: Option<&str>) -> Outcome {
        let Some(name) = table_name(request).filter(|_| self.names.prefix.is_none() && !self.door.is_twin()) else {
            return Ok(());
        };
        let table = (name, region.map(str::to_owned));
        if !self.made.contains(&table) {
            let look = json!({"TableName": table.0}).to_string();
            let reply = self.door.send_to(region, "DescribeTable", look.as_bytes()).await?;
            if reply.status == 200 {
                self.changed = true;
                self.made.push(table);
            }
        }
        Ok(())
    }

    async fn wait_until_active(&self, table: &str, region: Option<&str>) -> Outcome {
        // A twin's table is ACTIVE when somebody looks, or is not on purpose.
        if self.door.is_twin() {
            return Ok(());
        }
        let look = json!({"TableName": table}).to_string();
        for _ in 0..PATIENCE {
            let reply = self.door.send_to(region, "DescribeTable", look.as_bytes()).await?;
            let table = &reply.body["Table"];
            let indexes = table["GlobalSecondaryIndexes"].as_array().into_iter().flatten();
            let mut states = indexes
                .map(|index| &index["IndexStatus"])
                .chain([&table["TableStatus"]]);
            if reply.status != 200 || states.all(|state| state == "ACTIVE") {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err(Failure::new(format!("table {table} does not become ACTIVE")))
    }

    /// Deletes all tables that were made; says whether nothing is left of them, or of what else was made.
    async fn clear(&self) -> bool {
        let mut cleared = !self.left;
        // A twin is made anew, and its tables may be long in going.
        if self.door.is_twin() {
            return cleared;
        }
        for (table, region) in &self.made {
            cleared &= matches!(self.delete(table, region.as_deref()).await, Ok(true));
        }
        cleared
    }

    async fn delete(&self, table: &str, region: Option<&str>) -> Outcome<bool> {
        let body = json!({"TableName": table}).to_string();
        let unprotect = json!({"TableName": table, "DeletionProtectionEnabled": false}).to_string();
        for _ in 0..PATIENCE {
            let reply = self.door.send_to(region, "DeleteTable", body.as_bytes()).await?;
            let error = reply.error().filter(|_| reply.status != 200).unwrap_or_default();
            if error.contains("rotect") {
                self.door.send_to(region, "UpdateTable", unprotect.as_bytes()).await?;
            } else if error.starts_with("ResourceInUse") {
                // An index of it comes or goes.
                tokio::time::sleep(Duration::from_millis(100)).await;
            } else {
                break;
            }
        }
        for _ in 0..PATIENCE {
            let reply = self.door.send_to(region, "DescribeTable", body.as_bytes()).await?;
            if reply.status != 200 {
                return Ok(reply.error().is_some_and(|error| error.starts_with("ResourceNotFound")));
            }
            if reply.body["Table"]["TableStatus"] != "DELETING" {
                return Ok(false);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(false)
    }
}

/// The names of a stage's tables, where tables are shared with others: then each has a prefix of this run. Client tokens
/// outlive tables, so they end differently on each stage. Streams are named by when they were made, in the cases by the
/// start of a twin's clock.
struct Names {
    prefix: Option<String>,
    known: Vec<String>,
    /// What cases call a stream, and what it is called.
    streams: Vec<(String, String)>,
    token: String,
}

/// The label of a stream that was made when a twin's clock started.
const FIRST_LABEL: &str = "2026-01-01T00:00:00.000";

/// The longest client token.
const LONGEST_TOKEN: usize = 36;

impl Names {
    /// Makes a client token this stage's own, if it is valid and stays so.
    fn mark_token(&self, request: &mut Value) {
        if let Some(Value::String(token)) = request.get_mut("ClientRequestToken")
            && (1..=LONGEST_TOKEN - self.token.len()).contains(&token.len())
        {
            token.push_str(&self.token);
        }
    }

    /// Takes a table's latest stream from a description.
    fn learn_stream(&mut self, answer: &Value) {
        let described = ["TableDescription", "Table"].map(|member| &answer[member]);
        for table in described {
            let (Some(name), Some(stream)) = (table["TableName"].as_str(), table["LatestStreamArn"].as_str()) else {
                continue;
            };
            let called = format!("arn:aws:dynamodb:us-east-1:000000000000:table/{name}/stream/{FIRST_LABEL}");
            self.streams.retain(|(known, _)| *known != called);
            self.streams.push((called, stream.to_owned()));
        }
    }

    fn rename(&self, request: &mut Value) {
        replace(request, &|text| {
            let stream = self.streams.iter().find(|(called, _)| called == text);
            stream.map(|(_, is)| is.clone())
        });
        self.rename_tables(request);
    }

    fn rename_tables(&self, request: &mut Value) {
        let Some(prefix) = &self.prefix else { return };
        match request {
            Value::Array(list) => list.iter_mut().for_each(|value| self.rename_tables(value)),
            Value::Object(object) => {
                if let Some(Value::String(name)) = object.get_mut("TableName")
                    && self.known.contains(name)
                {
                    name.insert_str(0, prefix);
                }
                if let Some(Value::Object(tables)) = object.get_mut("RequestItems") {
                    *tables = std::mem::take(tables)
                        .into_iter()
                        .map(|(name, value)| {
                            let known = self.known.contains(&name);
                            (if known { format!("{prefix}{name}") } else { name }, value)
                        })
                        .collect();
                }
                object.values_mut().for_each(|value| self.rename_tables(value));
            }
            _ => {}
        }
    }

    fn restore(&self, answer: &mut Value) {
        replace(answer, &|text| {
            // What begins with a stream's name and goes on is an iterator, and has to stay as it is.
            let named = |is: &str| text == is || text.contains(is) && !text.starts_with(is);
            let stream = self.streams.iter().find(|(_, is)| named(is));
            stream.map(|(called, is)| text.replace(is.as_str(), called))
        });
        self.restore_tables(answer);
    }

    fn restore_tables(&self, answer: &mut Value) {
        let Some(prefix) = &self.prefix else { return };
        match answer {
            Value::String(text) if text.contains(prefix.as_str()) => *text = text.replace(prefix.as_str(), ""),
            Value::Array(list) => list.iter_mut().for_each(|value| self.restore_tables(value)),
            Value::Object(object) => {
                *object = std::mem::take(object)
                    .into_iter()
                    .map(|(name, mut value)| {
                        self.restore_tables(&mut value);
                        (name.replace(prefix.as_str(), ""), value)
                    })
                    .collect();
            }
            _ => {}
        }
    }
}

/// Replaces texts, wherever they stand.
fn replace(value: &mut Value, by: &impl Fn(&str) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some(other) = by(text) {
                *text = other;
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| replace(value, by)),
        Value::Object(object) => object.values_mut().for_each(|value| replace(value, by)),
        _ => {}
    }
}

/// The name in a CreateTable request, if it may be one.
fn table_name(request: &Value) -> Option<String> {
    let name = request["TableName"].as_str()?;
    let valid = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
    ((3..=255).contains(&name.len()) && name.chars().all(valid)).then(|| name.to_owned())
}

fn only_reads(operation: &str) -> bool {
    const READS: [&str; 7] = ["Get", "BatchGet", "TransactGet", "Query", "Scan", "Describe", "List"];
    READS.iter().any(|start| operation.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_a_prefix_where_they_are_shared() {
        let names = Names {
            prefix: Some("p-".to_owned()),
            known: vec!["one".to_owned()],
            streams: Vec::new(),
            token: "7".to_owned(),
        };
        let mut request =
            json!({"RequestItems": {"one": [{"x": {"TableName": "one"}}], "two": []}, "TableName": "two"});
        let before = request.clone();
        names.rename(&mut request);
        assert_eq!(
            request,
            json!({"RequestItems": {"p-one": [{"x": {"TableName": "p-one"}}], "two": []}, "TableName": "two"})
        );
        names.restore(&mut request);
        assert_eq!(request, before);
    }

    #[test]
    fn streams_are_called_as_in_the_cases() {
        let mut names = Names {
            prefix: None,
            known: Vec::new(),
            streams: Vec::new(),
            token: String::new(),
        };
        names.learn_stream(&json!({"Table": {"TableName": "one", "LatestStreamArn": "arn:other"}}));
        let called = format!("arn:aws:dynamodb:us-east-1:000000000000:table/one/stream/{FIRST_LABEL}");
        let mut request = json!({"StreamArn": called});
        names.rename(&mut request);
        assert_eq!(request["StreamArn"], "arn:other");
        let mut answer = json!({"message": "no arn:other"});
        names.restore(&mut answer);
        assert_eq!(answer["message"], format!("no {called}"));
    }

    #[test]
    fn tokens_stay_valid() {
        let names = Names {
            prefix: None,
            known: Vec::new(),
            streams: Vec::new(),
            token: "77".to_owned(),
        };
        for (token, marked) in [("a", "a77"), ("", ""), (&"x".repeat(35), &"x".repeat(35))] {
            let mut request = json!({"ClientRequestToken": token});
            names.mark_token(&mut request);
            assert_eq!(request["ClientRequestToken"], *marked);
        }
    }
}
