//! Recorded requests, scans, capacity and hot keys, and assertions about them.

use std::collections::HashMap;
use std::fmt::{self, Write as _};

use aws_sdk_dynamodb::types::AttributeValue;
use dynatwin_engine::faults::RuleReport;
use dynatwin_engine::http::exception;
use dynatwin_engine::monitoring::{self, ObservedScan};
use dynatwin_engine::{Caller, Moment};

use crate::convert;

/// A request that a watched twin has answered. Each attempt of the SDK is a request.
///
/// ```
/// use dynatwin::Twin;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let twin = Twin::seeded(7);
/// twin.watch(true);
/// twin.client().describe_table().table_name("Orders").send().await.unwrap_err();
///
/// let requests = twin.requests();
/// assert_eq!((requests[0].operation.as_str(), requests[0].table()), ("DescribeTable", Some("Orders")));
/// assert_eq!(requests[0].error.as_deref(), Some("ResourceNotFoundException"));
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The request's number, counted from 1.
    pub number: u64,
    /// The moment at which it ran.
    pub at: Moment,
    /// The access key of the caller.
    pub access_key: String,
    /// The region of the request.
    pub region: String,
    /// The operation's name in the API, such as `PutItem`.
    pub operation: String,
    /// The tables in the request, each once.
    pub tables: Vec<String>,
    /// The first hundred items or key ranges that it accessed.
    pub accesses: Vec<RecordedAccess>,
    /// The HTTP status code of the answer.
    pub status: u16,
    /// The name of the exception in the answer.
    pub error: Option<String>,
    /// The read units consumed on tables and indexes.
    pub read_units: f64,
    /// The write units consumed on tables and indexes.
    pub write_units: f64,
    /// The number of items read before filtering.
    pub scanned: u64,
    /// The number of items returned.
    pub returned: u64,
}

impl Request {
    pub(crate) fn of(seen: &monitoring::Request) -> Request {
        Request {
            number: seen.number,
            at: seen.at,
            access_key: seen.caller.access_key.to_string(),
            region: seen.caller.region.to_string(),
            operation: seen.operation.to_string(),
            tables: seen.tables.iter().map(ToString::to_string).collect(),
            accesses: seen.accesses.iter().map(RecordedAccess::of).collect(),
            status: seen.status,
            error: seen.error.map(|kind| exception(kind).to_owned()),
            read_units: seen.read.as_f64(),
            write_units: seen.write.as_f64(),
            scanned: seen.scanned,
            returned: seen.returned,
        }
    }

    /// Returns the first table in the request.
    pub fn table(&self) -> Option<&str> {
        self.tables.first().map(String::as_str)
    }

    /// Returns the key of the first item or range that it accessed.
    pub fn key(&self) -> Option<&HashMap<String, AttributeValue>> {
        self.accesses.first().map(|access| &access.key)
    }
}

/// An item or key range that a request has accessed. Batches and transactions access several.
///
/// ```
/// use dynatwin::RecordedAccess;
///
/// fn is_write(access: &RecordedAccess) -> bool {
///     matches!(access.act, "Put" | "Update" | "Delete")
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedAccess {
    /// The kind of access: `Get`, `Put`, `Update`, `Delete`, `ConditionCheck`, `Query`, `Scan`, `SearchVectors` or
    /// `GetRecords`, also for statements.
    pub act: &'static str,
    /// The name of the table that was accessed.
    pub table: String,
    /// The name of the index that was read, if any.
    pub index: Option<String>,
    /// The item's key; the partition key of a Query; empty for a Scan.
    pub key: HashMap<String, AttributeValue>,
    /// The read units consumed on it.
    pub read_units: f64,
    /// The write units consumed on it, indexes included.
    pub write_units: f64,
    /// The name of the exception that it failed with: single entries of a batch or transaction can fail.
    pub error: Option<String>,
}

impl RecordedAccess {
    fn of(access: &monitoring::RecordedAccess) -> RecordedAccess {
        RecordedAccess {
            act: access.act.name(),
            table: access.table.to_string(),
            index: access.index.as_ref().map(ToString::to_string),
            key: convert::map(&access.key),
            read_units: access.read.as_f64(),
            write_units: access.write.as_f64(),
            error: access.error.map(|kind| exception(kind).to_owned()),
        }
    }
}

/// The capacity that a block of code has consumed, by table and global index.
///
/// ```
/// use dynatwin::Twin;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let twin = Twin::seeded(7);
/// let client = twin.client();
/// let (_, spent) = twin.capacity_spent_by(client.list_tables().send()).await;
/// assert!(spent.is_nothing());
/// assert_eq!((spent.read("Orders"), spent.write("Orders")), (0.0, 0.0));
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CapacitySpent(Vec<ResourceSpent>);

#[derive(Clone, Debug, PartialEq)]
struct ResourceSpent {
    table: String,
    index: Option<String>,
    read: f64,
    write: f64,
}

impl CapacitySpent {
    pub(crate) fn of(spent: Vec<monitoring::Spent>) -> CapacitySpent {
        let resources = spent.into_iter().map(|spent| ResourceSpent {
            table: spent.table.to_string(),
            index: spent.index.map(|index| index.to_string()),
            read: spent.read.as_f64(),
            write: spent.write.as_f64(),
        });
        CapacitySpent(resources.collect())
    }

    fn of_resource(&self, table: &str, index: Option<&str>) -> (f64, f64) {
        let mut resources = self.0.iter();
        let found = resources.find(|each| each.table == table && each.index.as_deref() == index);
        found.map_or((0.0, 0.0), |found| (found.read, found.write))
    }

    /// Returns the read units of a table and its local indexes, without its global ones.
    pub fn read(&self, table: &str) -> f64 {
        self.of_resource(table, None).0
    }

    /// Returns the write units of a table and its local indexes, without its global ones.
    pub fn write(&self, table: &str) -> f64 {
        self.of_resource(table, None).1
    }

    /// Returns the read units of a global index.
    pub fn index_read(&self, table: &str, index: &str) -> f64 {
        self.of_resource(table, Some(index)).0
    }

    /// Returns the write units of a global index.
    pub fn index_write(&self, table: &str, index: &str) -> f64 {
        self.of_resource(table, Some(index)).1
    }

    /// Returns the read units of all tables and indexes.
    pub fn total_read(&self) -> f64 {
        self.0.iter().map(|each| each.read).sum()
    }

    /// Returns the write units of all tables and indexes.
    pub fn total_write(&self) -> f64 {
        self.0.iter().map(|each| each.write).sum()
    }

    /// Returns whether no units were consumed.
    pub fn is_nothing(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for CapacitySpent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_nothing() {
            return formatter.write_str("nothing");
        }
        for (at, each) in self.0.iter().enumerate() {
            let start = if at == 0 { "" } else { "; " };
            write!(formatter, "{start}{}", place(&each.table, each.index.as_deref()))?;
            write!(formatter, ": {} read, {} write", each.read, each.write)?;
        }
        Ok(())
    }
}

/// A partition key, and the units consumed by its items.
///
/// ```
/// use dynatwin::Twin;
///
/// let twin = Twin::seeded(7);
/// twin.watch(true);
/// assert!(twin.hottest_keys("Orders", 3).is_empty());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct HotKey {
    /// The value of the partition key.
    pub key: AttributeValue,
    /// The read and write units, of the table and its indexes.
    pub units: f64,
}

fn place(table: &str, index: Option<&str>) -> String {
    index.map_or_else(|| table.to_owned(), |index| format!("index {index} of {table}"))
}

/// Panics if there was a scan.
#[track_caller]
pub(crate) fn assert_no_scans(watched: bool, scans: &[ObservedScan]) {
    assert!(
        watched || !scans.is_empty(),
        "dynatwin: the twin is not watched: call Twin::watch(true), or build with Builder::watch(true), before the requests"
    );
    assert!(scans.is_empty(), "{}", describe_scans(scans));
}

fn describe_scans(scans: &[ObservedScan]) -> String {
    let mut text = match scans.len() {
        1 => "dynatwin: a scan was recorded:".to_owned(),
        several => format!("dynatwin: {several} kinds of scans were recorded:"),
    };
    for scan in scans {
        let Caller { access_key, region } = &scan.caller;
        // Writing to a String does not fail.
        let _ = write!(
            text,
            "\n- {} of {} by access key {access_key} in {region}, first at {}: {} {} read in {} {}.\n  {}",
            scan.operation,
            place(&scan.table, scan.index.as_deref()),
            scan.first,
            scan.scanned,
            if scan.scanned == 1 { "item" } else { "items" },
            scan.times,
            if scan.times == 1 { "page" } else { "pages" },
            advice(scan),
        );
    }
    text
}

/// Returns how to read these items with a Query.
fn advice(scan: &ObservedScan) -> String {
    let statement = scan.operation != "Scan";
    let way = |(index, key): &(Option<_>, _)| match (statement, index) {
        (false, None) => format!("KeyConditionExpression \"{key} = :value\""),
        (false, Some(index)) => format!("IndexName \"{index}\" and KeyConditionExpression \"{key} = :value\""),
        (true, None) => format!("FROM \"{}\" WHERE \"{key}\" = ?", scan.table),
        (true, Some(index)) => format!("FROM \"{}\".\"{index}\" WHERE \"{key}\" = ?", scan.table),
    };
    let mut ways: Vec<&(Option<_>, _)> = scan.partition_keys.iter().collect();
    // Suggests the scanned table or index first.
    ways.sort_by_key(|(index, _)| *index != scan.index);
    let ways: Vec<String> = ways.into_iter().map(way).collect();
    let instead = if statement {
        "A SELECT that fixes the partition key reads only its items"
    } else {
        "A Query reads only the items of one partition key"
    };
    format!("{instead}: {}.", ways.join(", or "))
}

/// Panics if a rule has never acted.
#[track_caller]
pub(crate) fn assert_faults_fired(idle: &[RuleReport]) {
    assert!(idle.is_empty(), "{}", describe_idle_rules(idle));
}

fn describe_idle_rules(idle: &[RuleReport]) -> String {
    let mut text = "dynatwin: fault rules that never acted, so the test did not exercise them:".to_owned();
    for RuleReport { rule, matched, .. } in idle {
        let _ = write!(text, "\n- {rule}: {matched} matched");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use dynatwin_engine::monitoring::ItemAction;

    fn scan(operation: &str, index: Option<&str>, scanned: u64) -> ObservedScan {
        ObservedScan {
            operation: operation.into(),
            table: "Tasks".into(),
            index: index.map(Into::into),
            caller: Caller {
                access_key: "me".into(),
                region: "eu-west-1".into(),
            },
            first: Moment::START,
            times: scanned,
            scanned,
            partition_keys: vec![(None, "PK".into()), (Some("by-owner".into()), "owner".into())],
        }
    }

    #[test]
    fn spent_capacity_is_that_of_its_resource() {
        let spent = |table: &str, index: Option<&str>, read: f64| ResourceSpent {
            table: table.into(),
            index: index.map(Into::into),
            read,
            write: read * 10.0,
        };
        // The name of a table or an index may be the beginning of another's.
        let spent = CapacitySpent(vec![
            spent("AB", None, 32.0),
            spent("AB", Some("by-x-and-y"), 64.0),
            spent("A", Some("by-x-and-y"), 128.0),
            spent("A", None, 1.0),
            spent("A", Some("by-x"), 2.0),
            spent("A", Some("by-y"), 4.0),
            spent("B", Some("by-x"), 8.0),
            spent("B", None, 16.0),
        ]);
        for (table, own, [by_x, by_y]) in [
            ("A", 1.0, [2.0, 4.0]),
            ("B", 16.0, [8.0, 0.0]),
            ("C", 0.0, [0.0, 0.0]),
            ("AB", 32.0, [0.0, 0.0]),
        ] {
            assert_eq!((spent.read(table), spent.write(table)), (own, own * 10.0), "{table}");
            for (index, units) in [("by-x", by_x), ("by-y", by_y)] {
                let found = (spent.index_read(table, index), spent.index_write(table, index));
                assert_eq!(found, (units, units * 10.0), "{index} of {table}");
            }
        }
        assert_eq!((spent.total_read(), spent.total_write()), (255.0, 2550.0));
        assert!(!spent.is_nothing());
        assert!(
            spent
                .to_string()
                .contains("; A: 1 read, 10 write; index by-x of A: 2 read, 20 write; "),
            "{spent}"
        );
        assert_eq!(CapacitySpent::default().to_string(), "nothing");
    }

    #[test]
    fn a_request_has_its_first_table_and_key() {
        let access = |pk: &str| RecordedAccess {
            act: "Put",
            table: "A".into(),
            index: None,
            key: HashMap::from([("PK".to_owned(), AttributeValue::S(pk.into()))]),
            read_units: 0.0,
            write_units: 1.0,
            error: None,
        };
        let mut request = Request {
            number: 1,
            at: Moment::START,
            access_key: "me".into(),
            region: "eu-west-1".into(),
            operation: "BatchWriteItem".into(),
            tables: vec!["A".into(), "B".into()],
            accesses: vec![access("first"), access("second")],
            status: 200,
            error: None,
            read_units: 0.0,
            write_units: 2.0,
            scanned: 0,
            returned: 0,
        };
        assert_eq!(
            (request.table(), request.key()),
            (Some("A"), Some(&access("first").key))
        );
        request.tables.clear();
        request.accesses.clear();
        assert_eq!((request.table(), request.key()), (None, None));
    }

    #[test]
    fn the_message_names_caller_operation_time_and_alternative() {
        assert_eq!(
            describe_scans(&[scan("Scan", None, 1)]),
            "dynatwin: a scan was recorded:\n\
             - Scan of Tasks by access key me in eu-west-1, first at 2026-01-01T00:00:00.000Z: 1 item read in 1 page.\n  \
             A Query reads only the items of one partition key: KeyConditionExpression \"PK = :value\", or IndexName \"by-owner\" \
             and KeyConditionExpression \"owner = :value\"."
        );
        let both = describe_scans(&[scan("Scan", None, 2), scan("ExecuteStatement", Some("by-owner"), 3)]);
        assert!(
            both.starts_with("dynatwin: 2 kinds of scans were recorded:\n- Scan of Tasks"),
            "{both}"
        );
        let second = "- ExecuteStatement of index by-owner of Tasks by access key me in eu-west-1, \
                      first at 2026-01-01T00:00:00.000Z: 3 items read in 3 pages.\n  \
                      A SELECT that fixes the partition key reads only its items: \
                      FROM \"Tasks\".\"by-owner\" WHERE \"owner\" = ?, or FROM \"Tasks\" WHERE \"PK\" = ?.";
        assert!(both.ends_with(second), "{both}");
    }

    #[test]
    fn acts_have_the_names_that_are_documented() {
        let names = [
            ItemAction::Get,
            ItemAction::Put,
            ItemAction::Update,
            ItemAction::Delete,
            ItemAction::ConditionCheck,
            ItemAction::Query,
            ItemAction::Scan,
            ItemAction::SearchVectors,
            ItemAction::GetRecords,
        ]
        .map(ItemAction::name);
        let expect = [
            "Get",
            "Put",
            "Update",
            "Delete",
            "ConditionCheck",
            "Query",
            "Scan",
            "SearchVectors",
            "GetRecords",
        ];
        assert_eq!(names, expect);
    }
}
