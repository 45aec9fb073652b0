//! Transfers to and from buckets. The engine handles items and records; the host's [`ObjectStore`] handles files, their
//! formats and their compression.

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
    /// Writes the objects of an export to its bucket.
    fn export(&self, export: &Export) -> Result<(), Failure>;

    /// Reads every record of the objects under a prefix, object by object in the order of their names, and returns
    /// their size in bytes. Text that cannot be read as a record counts as an invalid record.
    fn read(&self, source: &ImportSource, take: &mut dyn FnMut(Record)) -> Result<u64, Failure>;

    /// Writes the report of a bulk operation.
    fn report(&self, report: &BulkReport) -> Result<(), Failure>;
}

/// Why an export, import or bulk operation has failed as a whole.
///
/// ```
/// use dynatwin_engine::transfers::Failure;
///
/// assert_eq!(Failure::no_such_bucket().code, "S3NoSuchBucket");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The value of `FailureCode` in descriptions.
    pub code: &'static str,
    /// The value of `FailureMessage` in descriptions.
    pub message: String,
}

impl Failure {
    /// The service has failed.
    pub fn internal() -> Failure {
        Failure {
            code: "InternalServerError",
            message: "Internal server error".to_owned(),
        }
    }

    /// The bucket does not exist, or there is no object store.
    pub fn no_such_bucket() -> Failure {
        Failure {
            code: "S3NoSuchBucket",
            message: "The specified bucket does not exist".to_owned(),
        }
    }

    /// The bucket exists, but cannot be read or written.
    pub fn access_denied(why: impl std::fmt::Display) -> Failure {
        Failure {
            code: "S3AccessDenied",
            message: format!("Access Denied: {why}"),
        }
    }
}

/// The values of `ExportFormat` and `InputFormat`.
///
/// ```
/// use dynatwin_engine::transfers::Format;
///
/// assert_eq!(Format::named("ION"), Some(Format::Ion));
/// assert_eq!(Format::default().name(), "DYNAMODB_JSON");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// A JSON object a line.
    #[default]
    DynamoDbJson,
    /// Ion structs, in the text encoding.
    Ion,
    /// Lines of values, separated by a delimiter.
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

/// The values of `InputCompressionType`.
///
/// ```
/// use dynatwin_engine::transfers::Compression;
///
/// assert_eq!(Compression::named("GZIP"), Some(Compression::Gzip));
/// assert_eq!(Compression::default().name(), "NONE");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Objects are not compressed, which is the default.
    #[default]
    None,
    /// Objects are compressed with gzip.
    Gzip,
    /// Objects are compressed with Zstandard.
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
///
/// ```
/// use dynatwin_engine::Moment;
/// use dynatwin_engine::transfers::{Export, ExportRange, Format};
///
/// let export = Export {
///     arn: "arn:aws:dynamodb:us-east-1:123456789012:table/Orders/export/01".into(),
///     table_arn: "arn:aws:dynamodb:us-east-1:123456789012:table/Orders".into(),
///     table_id: "c5d1".into(),
///     start: Moment::START,
///     end: Moment::START,
///     span: ExportRange::Full(Moment::START),
///     bucket: "exports".into(),
///     prefix: None,
///     sse_algorithm: "AES256".into(),
///     sse_kms_key_id: None,
///     format: Format::DynamoDbJson,
///     billed_bytes: 0,
///     parts: vec![vec![], vec![]],
/// };
/// assert_eq!((export.id(), export.count()), ("01", 0));
/// ```
#[derive(Clone, Debug)]
pub struct Export {
    /// Its ARN, which ends in its id.
    pub arn: String,
    /// The ARN of the exported table.
    pub table_arn: String,
    /// The id of the exported table, a UUID.
    pub table_id: String,
    /// When the export was requested.
    pub start: Moment,
    /// The moment at which the export completes.
    pub end: Moment,
    /// Which state or changes are exported.
    pub span: ExportRange,
    /// The name of the bucket.
    pub bucket: String,
    /// The prefix of the objects' keys.
    pub prefix: Option<String>,
    /// The value of `S3SseAlgorithm`, `AES256` by default.
    pub sse_algorithm: String,
    /// The value of `S3SseKmsKeyId`; `None` if the request has none.
    pub sse_kms_key_id: Option<String>,
    /// The encoding of the lines.
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

    /// The number of lines.
    pub fn count(&self) -> usize {
        self.parts.iter().map(Vec::len).sum()
    }
}

/// Which state or changes an export contains.
///
/// ```
/// use dynatwin_engine::Moment;
/// use dynatwin_engine::transfers::ExportRange;
///
/// assert_ne!(ExportRange::Full(Moment::START), ExportRange::Full(Moment::FIRST));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportRange {
    /// The table at a moment.
    Full(Moment),
    /// The changes from the first moment on and before the second.
    Incremental {
        /// The first moment that is included.
        from: Moment,
        /// The moment after the last.
        to: Moment,
        /// Whether lines show the items before.
        old_images: bool,
    },
}

/// A line of an export.
///
/// ```
/// use dynatwin_engine::Moment;
/// use dynatwin_engine::attributes::Map;
/// use dynatwin_engine::transfers::Line;
///
/// let line = Line::Change { at: Moment::START, keys: Map::new(), old: None, new: None };
/// assert!(matches!(line, Line::Change { old: None, .. }));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// An item of a full export.
    Item(Item),
    /// The change of an item, in an incremental export.
    Change {
        /// When it was last written.
        at: Moment,
        /// The key attributes of the item.
        keys: Map,
        /// The item at the beginning of the export's range; `None` if it did not exist.
        old: Option<Item>,
        /// The item at the end of the export's range; `None` if it does not exist.
        new: Option<Item>,
    },
}

/// The objects that an import reads, and their encoding.
///
/// ```
/// use dynatwin_engine::transfers::{Format, ImportSource};
///
/// let source = ImportSource { bucket: "imports".into(), prefix: "orders/".into(), ..ImportSource::default() };
/// assert_eq!(source.format, Format::DynamoDbJson);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ImportSource {
    /// The name of the bucket.
    pub bucket: String,
    /// The prefix of the objects' keys.
    pub prefix: String,
    /// The encoding of the records.
    pub format: Format,
    /// The compression of the objects.
    pub compression: Compression,
    /// The delimiter of a CSV.
    pub delimiter: char,
    /// The names of the CSV's columns, if its first line does not have them.
    pub header: Option<Vec<Name>>,
    /// The key attributes, whose types CSV does not have.
    pub keys: Vec<KeyAttribute>,
}

/// A record that was read.
///
/// ```
/// use dynatwin_engine::transfers::Record;
///
/// let broken = Record { object: "orders/1.json".into(), number: 1, read: Err("the record is not valid JSON".into()) };
/// assert!(broken.read.is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Record {
    /// The key of the object that contains it.
    pub object: String,
    /// The record's number in its object, from 1 on.
    pub number: u64,
    /// The record, or why it is invalid.
    pub read: Result<ItemRecord, String>,
}

/// The errors of [`ItemRecord::read`](crate::attributes::ItemRecord::read).
///
/// ```
/// use dynatwin_engine::attributes::InvalidRecord;
///
/// assert_eq!(InvalidRecord::Json.to_string(), "the record is not valid JSON");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidRecord {
    /// The text is not a valid JSON object.
    Json,
    /// The service's message about a member or a value.
    Value(String),
}

impl fmt::Display for InvalidRecord {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            InvalidRecord::Json => "the record is not valid JSON",
            InvalidRecord::Value(message) => message,
        })
    }
}

impl std::error::Error for InvalidRecord {}

/// The report of a bulk operation.
///
/// ```
/// use dynatwin_engine::transfers::BulkReport;
///
/// let arn = "arn:aws:dynamodb:us-east-1:123456789012:table/Orders/bulk/01".into();
/// let report = BulkReport { arn, bucket: "reports".into(), prefix: None, errors: Some(vec![]), unmet: None };
/// assert!(report.errors.is_some_and(|rejected| rejected.is_empty()));
/// ```
#[derive(Clone, Debug)]
pub struct BulkReport {
    /// The operation's ARN, which ends in its id.
    pub arn: String,
    /// The name of the bucket for the report.
    pub bucket: String,
    /// The prefix of the report's keys.
    pub prefix: Option<String>,
    /// Records that were not written, if requested.
    pub errors: Option<Vec<Rejected>>,
    /// Records whose condition did not hold, if requested.
    pub unmet: Option<Vec<Rejected>>,
}

/// A record that was not written.
///
/// ```
/// use dynatwin_engine::transfers::Rejected;
///
/// let why = "Supplied AttributeValue is empty".into();
/// let rejected = Rejected { object: "orders/1.json".into(), number: 2, why, item: None, existing: None };
/// assert_eq!(rejected.number, 2);
/// ```
#[derive(Clone, Debug)]
pub struct Rejected {
    /// The key of the object that contains the record.
    pub object: String,
    /// The record's number in its object.
    pub number: u64,
    /// The message of the error.
    pub why: String,
    /// The item that was not written.
    pub item: Option<Item>,
    /// The item that the table contained.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_in_a_folder_below_the_prefix() {
        for (prefix, expect) in [
            ("", "AWSDynamoDB/7/manifest-summary.json"),
            ("/", "AWSDynamoDB/7/manifest-summary.json"),
            ("//", "AWSDynamoDB/7/manifest-summary.json"),
            ("a", "a/AWSDynamoDB/7/manifest-summary.json"),
            ("a/", "a/AWSDynamoDB/7/manifest-summary.json"),
            ("a//", "a/AWSDynamoDB/7/manifest-summary.json"),
            ("a///", "a/AWSDynamoDB/7/manifest-summary.json"),
            ("a/b", "a/b/AWSDynamoDB/7/manifest-summary.json"),
            ("a/b/", "a/b/AWSDynamoDB/7/manifest-summary.json"),
            ("a/b//", "a/b/AWSDynamoDB/7/manifest-summary.json"),
            ("a//b", "a//b/AWSDynamoDB/7/manifest-summary.json"),
            ("/a", "/a/AWSDynamoDB/7/manifest-summary.json"),
            ("//a//", "//a/AWSDynamoDB/7/manifest-summary.json"),
        ] {
            assert_eq!(manifest_key(prefix, "7"), expect, "{prefix:?}");
        }
    }

    #[test]
    fn formats_and_compressions_have_their_names() {
        for format in [Format::DynamoDbJson, Format::Ion, Format::Csv] {
            assert_eq!(Format::named(format.name()), Some(format));
        }
        for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
            assert_eq!(Compression::named(compression.name()), Some(compression));
        }
        assert_eq!((Format::named("csv"), Compression::named("")), (None, None));
    }
}
