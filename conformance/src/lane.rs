//! Runs cases sequentially, on tables that are created for them.

mod names;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dynatwin_case::{Case, Conditions, Expect, File, Reply, Request, Service, expand};
use serde_json::{Value, json};

use crate::check::{Failure, Outcome};
use crate::raw_client::RawClient;
use crate::target::Target;

use names::{Names, has_room, table_name, valid_name};

/// The maximum number of checks of whether a table is `ACTIVE` or deleted.
const PATIENCE: u32 = 600;

/// Runs cases sequentially on a target. The tables and items of a file are created once, and again after a case that
/// changed something. At the end all tables that were created here are deleted, and no others.
pub struct Lane {
    target: Arc<dyn Target>,
    account: String,
    stage: Option<Stage>,
    /// The number of stages so far.
    stages: usize,
}

/// A file's tables and items on the target.
struct Stage {
    file: String,
    raw_client: RawClient,
    names: Names,
    /// Whether the account is shared with others: then only tables that were created here are deleted.
    shared: bool,
    /// Tables that were or may have been created, and their regions.
    made: Vec<(String, Option<String>)>,
    /// Tables that the target refused to create or fill, and its error.
    refused: Vec<(String, Failure)>,
    changed: bool,
    /// Whether something remains in the account that outlives its table.
    left: bool,
}

impl Lane {
    /// A lane on a target that runs cases.
    pub fn new(target: Arc<dyn Target>) -> Lane {
        Lane {
            target,
            account: account(),
            stage: None,
            stages: 0,
        }
    }

    /// Returns why this case cannot run here: it needs controls that the target does not have, or it concerns the whole
    /// account, and the account is shared.
    pub fn refuses(&self, case: &Case) -> Option<String> {
        if case.needs_control() && !self.target.raw_client(&self.account)?.is_twin() {
            return Some("it needs the twin's clock or conditions".to_owned());
        }
        if self.target.is_shared() && case.requests().any(is_of_account) {
            return Some("it is about a whole account, and this one is shared".to_owned());
        }
        let prefix = stage_prefix(self.target.as_ref(), 0)?.len();
        let mut requests = case.requests();
        let fits = requests.all(|(_, request)| has_room(&expand(request), prefix));
        (!fits).then(|| "it is at a limit that names with a prefix exceed".to_owned())
    }

    /// Runs a case; returns the answer and the expectation, or why the request could not be sent.
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
        dynatwin_case::run(stage, case).await
    }

    async fn set_up(&mut self, file: &File) -> Outcome {
        if self.target.is_shared() {
            self.account = account();
        }
        self.stages += 1;
        let raw_client = self.target.raw_client(&self.account);
        let raw_client = raw_client.ok_or_else(|| Failure::new("this target carries out no cases"))?;
        let stage = self.stage.insert(Stage {
            file: file.name.clone(),
            raw_client,
            names: Names::new(
                stage_prefix(self.target.as_ref(), self.stages),
                file.tables.iter().filter_map(table_name),
                unique(),
            ),
            shared: self.target.is_shared(),
            made: Vec::new(),
            refused: Vec::new(),
            changed: false,
            left: false,
        });
        let outcome = stage.fill(file).await;
        // An incomplete stage is discarded, but its tables have to be deleted.
        stage.changed = outcome.is_err();
        outcome
    }

    /// Deletes the stage's tables. What cannot be deleted is left behind with its account.
    pub async fn clear(&mut self) {
        if let Some(stage) = self.stage.take()
            && !stage.clear().await
        {
            self.account = account();
        }
    }
}

/// Whether an operation creates something that outlives its table: backups (with recovery, those of deleted tables),
/// and the entries in lists of transfers.
const OUTLIVES: [&str; 5] = [
    "CreateBackup",
    "UpdateContinuousBackups",
    "ExportTableToPointInTime",
    "ImportTable",
    "StartBulkPutItems",
];

/// The prefix of the names of a stage's tables, if any. Streams outlive their tables, so no two stages share names.
fn stage_prefix(target: &dyn Target, stage: usize) -> Option<String> {
    target.table_prefix().map(|prefix| format!("{prefix}{stage:03}_"))
}

/// Whether a request concerns the whole account rather than a table.
fn is_of_account((operation, request): (&str, &Value)) -> bool {
    let of_table = ["TableName", "TableArn"]
        .iter()
        .any(|member| request[member].is_string());
    let is_list = operation.starts_with("List") && operation != "ListTagsOfResource";
    is_list && !of_table || matches!(operation, "DescribeEndpoints" | "DescribeLimits")
}

/// The table that an operation creates, if any.
fn made_table(operation: &str, request: &Value) -> Option<String> {
    let name = match operation {
        "CreateTable" => return table_name(request),
        "RestoreTableFromBackup" | "RestoreTableToPointInTime" => &request["TargetTableName"],
        "ImportTable" => &request["TableCreationParameters"]["TableName"],
        _ => return None,
    };
    valid_name(name)
}

/// The regions in which a request of UpdateTable creates replicas.
fn created_replicas(request: &Value) -> impl Iterator<Item = &str> {
    let updates = request["ReplicaUpdates"].as_array().into_iter().flatten();
    updates.filter_map(|update| update["Create"]["RegionName"].as_str())
}

/// A new access key, so that its account is empty.
fn account() -> String {
    format!("CASES{}", unique())
}

/// Letters and digits that were not used before.
fn unique() -> String {
    static ORDINAL: AtomicU64 = AtomicU64::new(0);
    let ordinal = ORDINAL.fetch_add(1, Ordering::Relaxed);
    static RUN: LazyLock<u64> = LazyLock::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        since.as_secs()
    });
    format!("{:x}p{:x}n{ordinal:x}", *RUN, std::process::id())
}

impl Stage {
    async fn fill(&mut self, file: &File) -> Outcome {
        for (table, request) in file.set_up() {
            self.must(table, request).await?;
        }
        self.changed = false;
        Ok(())
    }

    /// A refused table affects only its own cases.
    async fn must(&mut self, table: &str, request: Request<'_>) -> Outcome {
        let operation = request.operation;
        let reply = self.send(request).await?;
        if reply.status != 200 && !self.refused.iter().any(|(known, _)| known == table) {
            let failure = Failure::new(format!("set-up: {operation}: {reply}"));
            self.refused.push((table.to_owned(), failure));
        }
        Ok(())
    }

    /// Fails if the case names a table that could not be created.
    fn has_tables_of(&self, case: &Case) -> Outcome {
        let named = |table: &str| {
            let name = Value::from(table).to_string();
            let mut requests = case.requests();
            requests.any(|(_, request)| request.to_string().contains(&name))
        };
        let missed = self.refused.iter().find(|(table, _)| named(table));
        missed.map_or(Ok(()), |(_, failure)| Err(failure.clone()))
    }

    /// The target may have refused a table and yet have created it.
    async fn note_half_made(&mut self, request: &Value, region: Option<&str>) -> Outcome {
        let Some(name) = table_name(request).filter(|_| !self.shared && !self.raw_client.is_twin()) else {
            return Ok(());
        };
        let table = (name, region.map(str::to_owned));
        if !self.made.contains(&table) {
            let describe = json!({"TableName": table.0}).to_string();
            let reply = self
                .raw_client
                .send_to(region, "DescribeTable", describe.as_bytes())
                .await?;
            if reply.status == 200 {
                self.changed = true;
                self.made.push(table);
            }
        }
        Ok(())
    }

    async fn wait_until_active(&self, table: &str, region: Option<&str>) -> Outcome {
        // A twin's table is ACTIVE when it is described, or deliberately not.
        if self.raw_client.is_twin() {
            return Ok(());
        }
        let describe = json!({"TableName": table}).to_string();
        for _ in 0..PATIENCE {
            let reply = self
                .raw_client
                .send_to(region, "DescribeTable", describe.as_bytes())
                .await?;
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

    /// Deletes all tables that were created; returns whether nothing of them or of other resources is left.
    async fn clear(&self) -> bool {
        let mut cleared = !self.left;
        // A twin is created anew; deletions of its tables may take long.
        if self.raw_client.is_twin() {
            return cleared;
        }
        // Deletes replicas before the table that they were added to.
        for (table, region) in self.made.iter().rev() {
            cleared &= matches!(self.delete(table, region.as_deref()).await, Ok(true));
        }
        cleared
    }

    async fn delete(&self, table: &str, region: Option<&str>) -> Outcome<bool> {
        let body = json!({"TableName": table}).to_string();
        let unprotect = json!({"TableName": table, "DeletionProtectionEnabled": false}).to_string();
        for _ in 0..PATIENCE {
            let reply = self.raw_client.send_to(region, "DeleteTable", body.as_bytes()).await?;
            let error = reply.error().filter(|_| reply.status != 200).unwrap_or_default();
            if error.contains("rotect") {
                self.raw_client
                    .send_to(region, "UpdateTable", unprotect.as_bytes())
                    .await?;
            } else if error.starts_with("ResourceInUse") {
                // An index of the table is being created or deleted.
                tokio::time::sleep(Duration::from_millis(100)).await;
            } else {
                break;
            }
        }
        for _ in 0..PATIENCE {
            let reply = self
                .raw_client
                .send_to(region, "DescribeTable", body.as_bytes())
                .await?;
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

impl Service for Stage {
    type Error = Failure;

    async fn send(&mut self, request: Request<'_>) -> Outcome<Reply> {
        let Request {
            operation,
            region,
            body: mut request,
        } = request;
        if let Some(name) = made_table(operation, &request) {
            self.names.know(name);
        }
        let shifts = self.names.rename(&mut request);
        self.names.mark_token(&mut request);
        let body = request.to_string();
        let mut reply = self.raw_client.send_to(region, operation, body.as_bytes()).await?;
        if reply.status == 200 {
            self.changed |= !only_reads(operation);
            self.left |= OUTLIVES.contains(&operation);
            if operation == "UpdateTable"
                && let Some(name) = table_name(&request)
            {
                self.wait_until_active(&name, region).await?;
                let replicas = created_replicas(&request).map(|region| (name.clone(), Some(region.to_owned())));
                self.made.extend(replicas);
            }
            if let Some(name) = made_table(operation, &request) {
                self.wait_until_active(&name, region).await?;
                self.made.push((name, region.map(str::to_owned)));
            }
        } else if operation == "CreateTable" {
            self.note_half_made(&request, region).await?;
        }
        if !self.raw_client.is_twin() {
            self.names.learn(&reply.body);
        }
        self.names.restore(&mut reply.body, &body, &shifts);
        Ok(reply)
    }

    fn advance(&mut self, by: Duration) -> Outcome {
        self.changed = true;
        self.raw_client.advance(by)
    }

    fn set_conditions(&mut self, conditions: &Conditions) -> Outcome {
        self.changed = true;
        self.raw_client.set_conditions(conditions)
    }
}

fn only_reads(operation: &str) -> bool {
    const READS: [&str; 7] = ["Get", "BatchGet", "TransactGet", "Query", "Scan", "Describe", "List"];
    READS.iter().any(|start| operation.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dynatwin::Twin;

    /// An empty stage on a twin.
    fn stage() -> Stage {
        Stage {
            file: "f".to_owned(),
            raw_client: RawClient::twin(Twin::seeded(1)),
            names: Names::new(None, std::iter::empty(), unique()),
            shared: false,
            made: Vec::new(),
            refused: Vec::new(),
            changed: false,
            left: false,
        }
    }

    fn table(name: &str) -> Value {
        json!({
            "TableName": name, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        })
    }

    async fn send(stage: &mut Stage, operation: &str, region: Option<&str>, body: Value) -> u16 {
        let request = Request {
            operation,
            region,
            body,
        };
        stage.send(request).await.unwrap().status
    }

    /// The next case meets a new stage after a case that has changed anything.
    #[tokio::test]
    async fn a_stage_notes_whether_a_case_has_changed_it() {
        let mut stage = stage();
        assert_eq!(send(&mut stage, "CreateTable", None, table("one")).await, 200);
        let named = json!({"TableName": "one"});
        let item = json!({"TableName": "one", "Item": {"pk": {"S": "a"}}});
        for (operation, body, status, changes, outlives) in [
            ("PutItem", item, 200, true, false),
            ("PutItem", named.clone(), 400, false, false),
            ("Scan", named.clone(), 200, false, false),
            ("DescribeTable", named.clone(), 200, false, false),
            ("ListTables", json!({}), 200, false, false),
            (
                "CreateBackup",
                json!({"TableName": "one", "BackupName": "bak"}),
                200,
                true,
                true,
            ),
        ] {
            (stage.changed, stage.left) = (false, false);
            assert_eq!(send(&mut stage, operation, None, body).await, status, "{operation}");
            assert_eq!((stage.changed, stage.left), (changes, outlives), "{operation}");
        }
        for (name, act) in [
            (
                "advance",
                (|stage| stage.advance(Duration::from_secs(1))) as fn(&mut Stage) -> Outcome,
            ),
            ("conditions", |stage| stage.set_conditions(&Conditions::default())),
        ] {
            stage.changed = false;
            act(&mut stage).unwrap();
            assert!(stage.changed, "{name}");
        }
    }

    /// They are deleted where they are.
    #[tokio::test]
    async fn a_stage_notes_the_regions_of_its_tables() {
        let mut stage = stage();
        assert_eq!(send(&mut stage, "CreateTable", None, table("one")).await, 200);
        assert_eq!(
            send(&mut stage, "CreateTable", Some("eu-west-1"), table("two")).await,
            200
        );
        assert_eq!(
            send(&mut stage, "CreateTable", None, json!({"TableName": "not-made"})).await,
            400
        );
        let replicas = json!({"TableName": "one", "ReplicaUpdates": [{"Create": {"RegionName": "eu-north-1"}}]});
        assert_eq!(send(&mut stage, "UpdateTable", None, replicas).await, 200);
        let made = [("one", None), ("two", Some("eu-west-1")), ("one", Some("eu-north-1"))];
        let made = made.map(|(name, region)| (name.to_owned(), region.map(str::to_owned)));
        assert_eq!(stage.made, made);
    }

    #[test]
    fn requests_about_a_whole_account() {
        for (operation, request, expected) in [
            ("ListTables", json!({}), true),
            ("ListBackups", json!({}), true),
            ("ListBackups", json!({"TableName": "one"}), false),
            ("ListExports", json!({"TableArn": "arn"}), false),
            ("ListTagsOfResource", json!({"ResourceArn": "arn"}), false),
            ("DescribeLimits", json!({}), true),
            ("DescribeEndpoints", json!({}), true),
            ("DescribeTable", json!({"TableName": "one"}), false),
        ] {
            assert_eq!(is_of_account((operation, &request)), expected, "{operation} {request}");
        }
    }

    #[test]
    fn a_refused_table_fails_only_the_cases_that_name_it() {
        let mut stage = stage();
        stage.refused.push(("one".to_owned(), Failure::new("no vectors")));
        for (request, before, fails) in [
            (json!({"TableName": "one"}), json!([]), true),
            (json!({"TableName": "two"}), json!([]), false),
            (json!({"TableName": "oneself"}), json!([]), false),
            (json!({"RequestItems": {"one": []}}), json!([]), true),
            (
                json!({"TableName": "two"}),
                json!([["DeleteTable", {"TableName": "one"}]]),
                true,
            ),
        ] {
            let case = json!({
                "name": "n", "operation": "GetItem", "request": request, "before": before, "answer": {}, "evidence": "e",
            });
            let case = Case::read(&case).unwrap();
            let expected = if fails { Err(Failure::new("no vectors")) } else { Ok(()) };
            assert_eq!(stage.has_tables_of(&case), expected, "{request} after {before}");
        }
    }
}
