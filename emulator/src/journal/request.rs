//! The entries of the request log.

use std::time::Duration;

use crate::answer::Delivery;
use crate::caller::Caller;
use crate::capacity::units::Units;
use crate::clock::Moment;
use crate::error::ErrorKind;
use crate::value::size;
use crate::value::{Map, Name, Text};

/// Bytes of a body that are remembered.
const MOST_BODY: usize = 64 << 10;

/// What a request did to an item, or to a range of them.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// # engine.dispatch(&caller, "CreateTable", br#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
/// #     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
/// #     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#);
/// engine.watch(true);
/// engine.dispatch(&caller, "PutItem", br#"{"TableName": "Orders", "Item": {"id": {"S": "o-1"}}}"#);
/// use dynatwin_engine::monitoring::ItemAction;
///
/// assert_eq!(engine.requests()[0].accesses[0].act, ItemAction::Put);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the API's own words, and those of transactions
pub enum ItemAction {
    Get,
    Put,
    Update,
    Delete,
    ConditionCheck,
    Query,
    Scan,
    SearchVectors,
    GetRecords,
}

impl ItemAction {
    /// The name in the event log and in metrics, such as `Put`.
    pub const fn name(self) -> &'static str {
        match self {
            ItemAction::Get => "Get",
            ItemAction::Put => "Put",
            ItemAction::Update => "Update",
            ItemAction::Delete => "Delete",
            ItemAction::ConditionCheck => "ConditionCheck",
            ItemAction::Query => "Query",
            ItemAction::Scan => "Scan",
            ItemAction::SearchVectors => "SearchVectors",
            ItemAction::GetRecords => "GetRecords",
        }
    }
}

/// A permission that a request needs: one IAM action on one resource.
///
/// ```
/// use dynatwin_engine::monitoring::Permission;
///
/// let resource = "arn:aws:dynamodb:us-east-1:123456789012:table/Orders".into();
/// let permission = Permission {
///     action: "GetItem", resource, leading_keys: None, attributes: None, select: None, return_values: None,
/// };
/// assert_eq!(permission, permission.clone());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// The IAM action, without its prefix.
    pub action: &'static str,
    /// The ARN of the resource; `*` where the action takes none.
    pub resource: Text,
    /// The values of `dynamodb:LeadingKeys`; `None` if the request has none.
    pub leading_keys: Option<Vec<Text>>,
    /// The values of `dynamodb:Attributes`; `None` if the request has none.
    pub attributes: Option<Vec<Name>>,
    /// The value of `dynamodb:Select`; `None` if the request has none.
    pub select: Option<&'static str>,
    /// The value of `dynamodb:ReturnValues`; `None` if the request has none.
    pub return_values: Option<&'static str>,
}

/// One access of a request: an item of a batch or transaction, or a range of keys that was read.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// # engine.dispatch(&caller, "CreateTable", br#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
/// #     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
/// #     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#);
/// engine.watch(true);
/// engine.dispatch(&caller, "PutItem", br#"{"TableName": "Orders", "Item": {"id": {"S": "o-1"}}}"#);
/// let requests = engine.requests();
/// let access = &requests[0].accesses[0];
/// assert_eq!((access.table.as_str(), access.write.as_f64()), ("Orders", 1.0));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedAccess {
    /// The action of the request on the items.
    pub act: ItemAction,
    /// The table, also where an index was read.
    pub table: Name,
    /// The index that was read, if one was.
    pub index: Option<Name>,
    /// The item's key; of a Query the partition key, of a Scan nothing.
    pub key: Map,
    /// Read units, of the table and its indexes.
    pub read: Units,
    /// Write units, of the table and its indexes.
    pub write: Units,
    /// The number of examined items.
    pub scanned: u64,
    /// The kind of error; `None` if it succeeded.
    pub error: Option<ErrorKind>,
    /// The tokens of the access: of one partition key, or the first and the last of a range.
    pub tokens: Option<(u64, u64)>,
    /// The numbers of the capacity partitions that these tokens belong to, where capacity is counted.
    pub partitions: Option<(usize, usize)>,
    /// The limits that it exceeded: the reasons in the answer, each with its ARN.
    pub limits: Vec<(Name, Name)>,
    /// What made it fail, if it was neither the data nor the capacity.
    pub injected: Option<Injected>,
    /// The time since the observed state was replaced, if it was not the latest.
    pub age: Option<Duration>,
    /// The filter that was applied to the read items.
    pub filter: Option<Box<FilterTrace>>,
}

/// The filter of a page.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// # engine.dispatch(&caller, "CreateTable", br#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
/// #     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
/// #     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#);
/// engine.watch(true);
/// let scan = br#"{"TableName": "Orders", "FilterExpression": "id = :id", "ExpressionAttributeValues": {":id": {"S": "o-1"}}}"#;
/// engine.dispatch(&caller, "Scan", scan);
/// let requests = engine.requests();
/// let filter = requests[0].accesses[0].filter.as_ref().unwrap();
/// assert_eq!(filter.attributes, ["id"]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FilterTrace {
    /// The attributes that it examines.
    pub attributes: Vec<Name>,
    /// Reads that would have read less, those with the most key attributes first.
    pub better: Vec<BetterRead>,
}

/// A read that a filter's comparisons allow in its place.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// # engine.dispatch(&caller, "CreateTable", br#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
/// #     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
/// #     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#);
/// engine.watch(true);
/// let scan = br#"{"TableName": "Orders", "FilterExpression": "id = :id", "ExpressionAttributeValues": {":id": {"S": "o-1"}}}"#;
/// engine.dispatch(&caller, "Scan", scan);
/// let requests = engine.requests();
/// let filter = requests[0].accesses[0].filter.as_ref().unwrap();
/// assert_eq!(filter.better[0].operation, "GetItem");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BetterRead {
    /// The operation that would have been better: `Query` or `GetItem`.
    pub operation: &'static str,
    /// The index; `None`: the table.
    pub index: Option<Name>,
    /// The key attributes that it restricts.
    pub key: Vec<Name>,
    /// Whether all attributes can be read from it.
    pub projects_all: bool,
    /// Whether it can be strongly consistent.
    pub consistent: bool,
}

/// The cause of an injected failure.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// # engine.dispatch(&caller, "CreateTable", br#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
/// #     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
/// #     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#);
/// use dynatwin_engine::faults::{Rule, Verdict};
/// use dynatwin_engine::monitoring::Injected;
///
/// engine.watch(true);
/// let rule = engine.add_fault(Rule::new(Verdict::ServiceUnavailable)).unwrap();
/// engine.dispatch(&caller, "GetItem", br#"{"TableName": "Orders", "Key": {"id": {"S": "o-1"}}}"#);
/// assert_eq!(engine.requests()[0].accesses[0].injected, Some(Injected::Rule(rule.0)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injected {
    /// The fault rule of this number.
    Rule(u64),
    /// The condition of this name.
    Condition(&'static str),
}

impl RecordedAccess {
    /// Something that cost nothing yet.
    pub fn new(act: ItemAction, table: Name) -> RecordedAccess {
        RecordedAccess {
            act,
            table,
            index: None,
            key: Map::new(),
            read: Units::ZERO,
            write: Units::ZERO,
            scanned: 0,
            error: None,
            tokens: None,
            partitions: None,
            limits: Vec::new(),
            injected: None,
            age: None,
            filter: None,
        }
    }

    fn weight(&self) -> usize {
        let key = self.key.iter();
        size_of::<RecordedAccess>()
            + key
                .map(|(name, value)| 64 + size::of_attribute(name, value))
                .sum::<usize>()
    }
}

impl Permission {
    fn weight(&self) -> usize {
        let keys = self.leading_keys.iter().flatten();
        let keys: usize = keys.map(|key| size_of::<Text>() + key.len()).sum();
        let names = self.attributes.iter().flatten();
        let names: usize = names.map(|name| size_of::<Name>() + name.as_str().len()).sum();
        size_of::<Permission>() + self.resource.len() + keys + names
    }
}

/// A recorded body, truncated if it is long.
///
/// ```
/// use dynatwin_engine::monitoring::LoggedBody;
///
/// let body = LoggedBody::of(&[b' '; 100_000]);
/// assert_eq!((body.bytes.len(), body.length), (65_536, 100_000));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedBody {
    /// The first bytes of the body, at most 64 KB.
    pub bytes: Vec<u8>,
    /// Its size in bytes.
    pub length: usize,
}

impl LoggedBody {
    /// The first bytes of a body.
    pub fn of(body: &[u8]) -> LoggedBody {
        LoggedBody {
            bytes: body[..body.len().min(MOST_BODY)].to_vec(),
            length: body.len(),
        }
    }
}

/// A request that was answered.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// # engine.dispatch(&caller, "CreateTable", br#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
/// #     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
/// #     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#);
/// engine.watch(true);
/// engine.dispatch(&caller, "PutItem", br#"{"TableName": "Orders", "Item": {"id": {"S": "o-1"}}}"#);
/// let requests = engine.requests();
/// assert_eq!((requests[0].number, requests[0].operation.as_str(), requests[0].status), (1, "PutItem", 200));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Its number, counted from 1 since the journal was begun or cleared.
    pub number: u64,
    /// The moment at which it was executed.
    pub at: Moment,
    /// The access key and region of the request.
    pub caller: Caller,
    /// The ARN of the user, role or root user that sent it, once access control is configured.
    pub principal: Option<Text>,
    /// The operation's name in the API.
    pub operation: Name,
    /// The tables that it named, each once.
    pub tables: Vec<Name>,
    /// The permissions that it needs. Without access control and fault rules only requests of the control plane and of streams
    /// have them here; those of others follow from their accesses.
    pub permissions: Vec<Permission>,
    /// Its accesses, in the order of its entries.
    pub accesses: Vec<RecordedAccess>,
    /// The number of further accesses, which are not remembered.
    pub more: u64,
    /// The answer's HTTP status code.
    pub status: u16,
    /// The kind of error; `None` if it succeeded.
    pub error: Option<ErrorKind>,
    /// How the answer was delivered.
    pub delivery: Delivery,
    /// Read units, of all tables and indexes.
    pub read: Units,
    /// Write units, of all tables and indexes.
    pub write: Units,
    /// The number of examined items.
    pub scanned: u64,
    /// The number of items in the answer.
    pub returned: u64,
    /// The bodies of the request and of its response, if bodies are kept.
    pub bodies: Option<Box<[LoggedBody; 2]>>,
}

impl Request {
    /// About how many bytes of memory it takes.
    pub(super) fn weight(&self) -> usize {
        let accesses: usize = self.accesses.iter().map(RecordedAccess::weight).sum();
        let bodies = self.bodies.iter().flat_map(|bodies| bodies.iter());
        let bodies: usize = bodies.map(|body| size_of::<LoggedBody>() + body.bytes.len()).sum();
        let permissions: usize = self.permissions.iter().map(Permission::weight).sum();
        size_of::<Request>() + self.tables.len() * size_of::<Name>() + permissions + accesses + bodies
    }
}

/// A kind of scan that was seen: an operation of a caller that has read all of a table or an index.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// # engine.dispatch(&caller, "CreateTable", br#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
/// #     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
/// #     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#);
/// engine.watch(true);
/// let scan = br#"{"TableName": "Orders", "FilterExpression": "id = :id", "ExpressionAttributeValues": {":id": {"S": "o-1"}}}"#;
/// engine.dispatch(&caller, "Scan", scan);
/// let requests = engine.requests();
/// assert_eq!(requests.len(), 1);
/// let scan = &engine.scans()[0];
/// assert_eq!((scan.operation.as_str(), scan.table.as_str(), scan.times), ("Scan", "Orders", 1));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedScan {
    /// The operation: `Scan`, or one that carries statements.
    pub operation: Name,
    /// The table that was read, or whose index was.
    pub table: Name,
    /// The index, if one was read.
    pub index: Option<Name>,
    /// The access key and region of the requests.
    pub caller: Caller,
    /// When it was first seen.
    pub first: Moment,
    /// The number of requested pages.
    pub times: u64,
    /// The number of examined items.
    pub scanned: u64,
    /// The possible targets of a Query: the table (`None`) and its indexes, each with its partition key's first
    /// attribute.
    pub partition_keys: Vec<(Option<Name>, Name)>,
}

impl ObservedScan {
    pub(super) fn is_like(&self, other: &ObservedScan) -> bool {
        self.table == other.table
            && self.index == other.index
            && self.operation == other.operation
            && self.caller == other.caller
    }

    pub(super) fn add(&mut self, other: &ObservedScan) {
        self.times += other.times;
        self.scanned += other.scanned;
        self.first = self.first.min(other.first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_of_a_body_are_kept() {
        for (size, kept) in [
            (0, 0),
            (MOST_BODY - 1, 65_535),
            (MOST_BODY, 65_536),
            (MOST_BODY + 1, 65_536),
        ] {
            let body: Vec<u8> = (0..size).map(|at| at as u8).collect();
            let logged = LoggedBody::of(&body);
            assert_eq!((logged.length, logged.bytes.as_slice()), (size, &body[..kept]));
        }
    }

    /// Scans that overlap may end in another order than that in which they began.
    #[test]
    fn scans_of_one_kind_are_counted_from_the_earliest() {
        let scan = |second: i64| ObservedScan {
            operation: "Scan".into(),
            table: "tab".into(),
            index: None,
            caller: Caller {
                access_key: "me".into(),
                region: "us-east-1".into(),
            },
            first: Moment::from_seconds(second),
            times: 1,
            scanned: 5,
            partition_keys: Vec::new(),
        };
        for seconds in [[1, 2, 3], [2, 3, 1], [3, 1, 2]] {
            let mut all = scan(seconds[0]);
            seconds[1..].iter().for_each(|second| all.add(&scan(*second)));
            let expect = (Moment::from_seconds(1), 3, 15);
            assert_eq!((all.first, all.times, all.scanned), expect, "{seconds:?}");
        }
    }
}
