//! An emulator of Amazon DynamoDB: takes HTTP requests and returns the service's responses, on a clock that the caller
//! controls.
//!
//! The engine is synchronous and pure: no sockets, threads, files, system clock or source of entropy. A transport passes
//! requests to [`Engine::handle`] and delivers the [answers](http::Answer).
//!
//! ```
//! use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
//!
//! let (clock, conditions) = (Clock::settable(Moment::START), Conditions::CALM);
//! let engine = Engine::new(Settings { clock, seed: 7, conditions, shared_db: false });
//! let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
//! let table = br#"{
//!     "TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
//!     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
//!     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]
//! }"#;
//! assert_eq!(engine.dispatch(&caller, "CreateTable", table).status, 200);
//! engine.dispatch(&caller, "PutItem", br#"{"TableName": "Orders", "Item": {"id": {"S": "o-1"}, "total": {"N": "5"}}}"#);
//! let answer = engine.dispatch(&caller, "GetItem", br#"{"TableName": "Orders", "Key": {"id": {"S": "o-1"}}}"#);
//! assert_eq!(answer.body, br#"{"Item":{"id":{"S":"o-1"},"total":{"N":"5"}}}"#);
//! ```

mod access;
mod answer;
mod cache;
mod caller;
mod capacity;
mod chance;
mod change;
mod clock;
mod conditions;
mod context;
mod digest;
mod engine;
mod error;
mod execute;
mod expression;
mod fault;
mod journal;
mod key;
mod limits;
mod number;
mod operation;
mod partiql;
mod plan;
mod reclaim;
mod request;
mod schema;
mod sort;
mod sorted;
mod storage;
mod sync;
mod transfer;
mod value;
mod wire;

pub use caller::Caller;
pub use chance::StableHash;
pub use clock::{Clock, ClockAdjustment, Moment, TimeSource};
pub use conditions::{Capacity, Conditions, Enforcement, Lag, Latency, Shards, TimeToLive};
pub use engine::watch::Meter;
pub use engine::{Engine, Settings};
pub use error::ErrorKind;
pub use execute::{ControlFailure, NotFound, ReplicationState};
pub use operation::Allowed;
pub use reclaim::Reclaim;
pub use storage::{InvalidSnapshot, RestoreError, StateSnapshot};

/// The operations of the API.
pub mod api {
    pub use crate::operation::{OPERATIONS, Operation, service_of};
    pub use crate::wire::envelope::Service;
}

/// Items, attribute values, numbers and keys.
pub mod attributes {
    pub use crate::key::partition_token;
    pub use crate::number::{Number, NumberError};
    pub use crate::request::{ItemRecord, Substitutions};
    pub use crate::schema::{KeyAttribute, ScalarType};
    pub use crate::transfer::InvalidRecord;
    pub use crate::value::{AttributeValue, Item, Map, Name};
}

/// The commit log, which a host can store ([`Engine::attach_sink`]) and replay ([`Engine::replay`]).
pub mod commits {
    pub use crate::storage::{
        AppendError, Checkpoint, Commit, CommitSink, DecodeError, EncodedCommit, Origin, Replay, ReplayError,
    };
}

/// Controls: actions on the emulator that the API does not have, and their JSON.
pub mod controls {
    pub use crate::execute::{AccountControls, Controls};
    pub use crate::operation::{CONTROLS, Control, Returns, Takes};
    pub use crate::wire::control::{ControlError, Json, Members, Parameter, moment, read_conditions, seconds};
}

/// Fault rules: which requests fail, and how ([`Engine::add_fault`]).
pub mod faults {
    pub use crate::fault::{
        Exceeded, Faults, InvalidRule, JobFault, KeyMatch, KmsFault, MODELLED, Outage, Rule, RuleId, RuleReport,
        Trigger, Verdict, When, Window,
    };
}

/// HTTP requests and answers, which [`Engine::handle`] takes and returns.
pub mod http {
    pub use crate::answer::{Answer, AnswerHeaders, Delivery, Headers, HttpRequest, StillDelay};
    pub use crate::engine::{SECURE_TRANSPORT_HEADER, SOURCE_IP_HEADER, VPC_ENDPOINT_HEADER};
    pub use crate::wire::envelope::{CONTROL_PATH, EVENT_STREAM, HealthCheck};
    pub use crate::wire::error::exception;
}

/// Access control: principals, policies and their evaluation ([`Engine::with_access`]).
pub mod iam {
    pub use crate::access::{
        AttachedPolicy, ConditionKeys, DecidingStatement, Decision, Denial, Directory, KeyValue, PolicyDocument,
        PolicyKind, PolicySet, PolicyStatement, PolicyWarning, Secret, SessionRequest, StatementInput, Subject,
        SubjectKind, TemporaryCredentials, Warning,
    };
    pub use crate::wire::envelope::SigningKey;
}

/// JSON, decoded and encoded as the service does.
pub mod json {
    pub use crate::wire::encode::Writer;
    pub use crate::wire::object::{List, Object};
}

/// Request log, events, metrics and heat ([`Controls::watch`](controls::Controls::watch)).
pub mod monitoring {
    pub use crate::capacity::units::Units;
    pub use crate::capacity::{Heat, KeyCounts, Level, PartitionHeat, ResourceHeat, ThrottleCounts};
    pub use crate::journal::{
        BetterRead, Datapoint, Event, EventKind, EventPage, EventSubject, FilterTrace, Injected, ItemAction,
        LoggedBody, Metric, ObservedScan, Permission, RecordedAccess, RegionalWrite, Request, Samples, Spent,
    };
}

/// Quotas of the service, and the emulator's own.
pub mod quotas {
    pub use crate::limits::{
        CLIENT_TOKEN_SECONDS, ITEM_SIZE, NESTING_KEPT, OWN_CONDITIONS, REQUEST_BODY, SNAPSHOT, TRANSACTION_SIZE,
    };
}

/// Exports, imports and bulk operations: the object store that they use ([`Engine::with_object_store`]).
pub mod transfers {
    pub use crate::transfer::{
        BulkReport, Compression, Export, ExportRange, Failure, Format, ImportSource, Line, ObjectStore, Record,
        Rejected, folder, manifest_key,
    };
}
