//! Transfers to and from buckets. The engine handles items and records; an [`ObjectStore`] that is passed in has
//! the files, their formats and their compression.

use std::fmt;

use crate::clock::Moment;
use crate::request::ItemRecord;
use crate::schema::KeyAttribute;
use crate::value::{Item, Map, Name};

/// Access to buckets.
///
/// A request that exports or imports calls it and waits. No lock is held meanwhile.
///
/// ```
/// use dynatwin_engine::transfers::{BulkReport, Export, Failure, ImportSource, ObjectStore, Record};
///
/// /// An object store without buckets.
/// struct Nowhere;
///
/// impl ObjectStore for Nowhere {
///     fn export(&self, _: &Export) -> Result<(), Failure> {
///         Err(Failure::no_such_bucket())
///     }
///     fn read(&self, _: &ImportSource, _: &mut dyn FnMut(Record)) -> Result<u64, Failure> {
///         Err(Failure::no_such_bucket())
///     }
///     fn report(&self, _: &BulkReport) -> Result<(), Failure> {
///         Err(Failure::no_such_bucket())
///     }
/// }
///
/// assert_eq!(Nowhere.read(&ImportSource::default(), &mut |_| ()).unwrap_err().code, "S3NoSuchBucket");
/// ```
pub trait ObjectStore: Send + Sync {
    /// Writes an export.
    fn export(&self, export: &Export) -> Result<(), Failure>;

    /// Reads every record of the objects under a prefix, object by object in the order of their names, and says how many
    /// bytes they have. What cannot be read as a record is a record too: a bad one.
    fn read(&self, source: &ImportSource, take: &mut dyn FnMut(Record)) -> Result<u64, Failure>;

    /// Writes the report of a bulk operation.
    fn report(&self, report: &BulkReport) -> Result<(), Failure>;
}

/// Why an export, import or bulk operation has failed as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// `FailureCode`.
    pub code: &'static str,
    /// `FailureMessage`.
    pub message: String,
}

impl Failure {
    /// There is no such bucket, or no object store.
    pub fn no_such_bucket() -> Failure {
        Failure {
            code: "S3NoSuchBucket",
            message: "The specified bucket does not exist".to_owned(),
        }
    }

    /// The bucket is there, and cannot be read or written.
    pub fn access_denied(why: impl std::fmt::Display) -> Failure {
        Failure {
            code: "S3AccessDenied",
            message: format!("Access Denied: {why}"),
        }
    }
}

/// How records are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// A JSON object a line.
    #[default]
    DynamoDbJson,
    /// Ion structs, as text.
    Ion,
    /// Lines of separated values.
    Csv,
}

impl Format {
    /// The format of this name.
    pub fn named(name: &str) -> Option<Format> {
        match name {
            "DYNAMODB_JSON" => Some(Format::DynamoDbJson),
            "ION" => Some(Format::Ion),
            "CSV" => Some(Format::Csv),
            _ => None,
        }
    }

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Format::DynamoDbJson => "DYNAMODB_JSON",
            Format::Ion => "ION",
            Format::Csv => "CSV",
        }
    }
}

/// How objects are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// gzip.
    Gzip,
    /// zstd.
    Zstd,
}

impl Compression {
    /// The compression of this name.
    pub fn named(name: &str) -> Option<Compression> {
        match name {
            "NONE" => Some(Compression::None),
            "GZIP" => Some(Compression::Gzip),
            "ZSTD" => Some(Compression::Zstd),
            _ => None,
        }
    }

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Compression::None => "NONE",
            Compression::Gzip => "GZIP",
            Compression::Zstd => "ZSTD",
        }
    }
}

/// An export, ready to be written.
#[derive(Clone, Debug)]
pub struct Export {
    /// Its ARN, which ends in its id.
    pub arn: String,
    /// The table's ARN.
    pub table_arn: String,
    /// The table's id.
    pub table_id: String,
    /// When it was requested.
    pub start: Moment,
    /// When it is done.
    pub end: Moment,
    /// What it shows.
    pub span: ExportRange,
    /// The bucket.
    pub bucket: String,
    /// What keys begin with.
    pub prefix: Option<String>,
    /// `S3SseAlgorithm`.
    pub sse_algorithm: String,
    /// `S3SseKmsKeyId`.
    pub sse_kms_key_id: Option<String>,
    /// How lines are written.
    pub format: Format,
    /// The bytes that are paid for.
    pub billed_bytes: u64,
    /// The lines, partition by partition.
    pub parts: Vec<Vec<Line>>,
}

impl Export {
    /// The id at the end of the ARN.
    pub fn id(&self) -> &str {
        self.arn.rsplit('/').next().unwrap_or_default()
    }

    /// How many lines there are.
    pub fn count(&self) -> usize {
        self.parts.iter().map(Vec::len).sum()
    }
}

/// What an export shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportRange {
    /// The table at a moment.
    Full(Moment),
    /// What changed from the first moment on and before the second.
    Incremental {
        /// The first moment.
        from: Moment,
        /// The moment after the last.
        to: Moment,
        /// Whether lines show the items before.
        old_images: bool,
    },
}

/// A line of an export.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// An item.
    Item(Item),
    /// An item's change.
    Change {
        /// When it was last written.
        at: Moment,
        /// Its key.
        keys: Map,
        /// The item before.
        old: Option<Item>,
        /// The item after.
        new: Option<Item>,
    },
}

/// Where records are read.
#[derive(Clone, Debug, Default)]
pub struct ImportSource {
    /// The bucket.
    pub bucket: String,
    /// What keys begin with.
    pub prefix: String,
    /// How records are written.
    pub format: Format,
    /// How objects are compressed.
    pub compression: Compression,
    /// What separates the values of a CSV.
    pub delimiter: char,
    /// The names of the CSV's columns, if its first line does not have them.
    pub header: Option<Vec<Name>>,
    /// The key attributes, whose types CSV does not have.
    pub keys: Vec<KeyAttribute>,
}

/// A record that was read.
#[derive(Clone, Debug)]
pub struct Record {
    /// The object's key.
    pub object: String,
    /// The record's number in its object, from 1 on.
    pub number: u64,
    /// The record, or what is wrong about it.
    pub read: Result<ItemRecord, String>,
}

/// Why [`ItemRecord::read`] fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidRecord {
    /// The text is no JSON, or no object.
    Json,
    /// The service's message about a member or a value.
    Value(String),
}

impl fmt::Display for InvalidRecord {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            InvalidRecord::Json => "the record is no JSON",
            InvalidRecord::Value(message) => message,
        })
    }
}

impl std::error::Error for InvalidRecord {}

/// What a bulk operation reports.
#[derive(Clone, Debug)]
pub struct BulkReport {
    /// The operation's ARN, which ends in its id.
    pub arn: String,
    /// The bucket.
    pub bucket: String,
    /// What keys begin with.
    pub prefix: Option<String>,
    /// Records that were not written, if requested.
    pub errors: Option<Vec<Rejected>>,
    /// Records whose condition did not hold, if requested.
    pub unmet: Option<Vec<Rejected>>,
}

/// A record that was not written.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// The object's key.
    pub object: String,
    /// The record's number in its object.
    pub number: u64,
    /// Why.
    pub why: String,
    /// What was to be written.
    pub item: Option<Item>,
    /// What was there.
    pub existing: Option<Item>,
}

/// The folder of an export's or a report's objects: `<prefix>/AWSDynamoDB/`.
pub fn folder(prefix: &str) -> String {
    match prefix.trim_end_matches('/') {
        "" => "AWSDynamoDB".to_owned(),
        prefix => format!("{prefix}/AWSDynamoDB"),
    }
}

/// The key of an export's summary.
pub fn manifest_key(prefix: &str, id: &str) -> String {
    format!("{}/{id}/manifest-summary.json", folder(prefix))
}
