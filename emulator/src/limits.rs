//! The service's quotas by name, each with its source.

/// An item's size in bytes (Developer Guide, "Quotas"; measured to the byte).
pub const ITEM_SIZE: usize = 409_600;
/// A partition key's size in bytes (Developer Guide).
pub const HASH_KEY_SIZE: usize = 2048;
/// A sort key's size in bytes (Developer Guide).
pub const RANGE_KEY_SIZE: usize = 1024;
/// Nesting depth of maps and lists around a value (Developer Guide says 32 levels; 31 pass, 32 fail).
pub const NESTING: usize = 31;
/// Nesting depth beyond which the older framework checks PutItem, UpdateItem and DeleteItem (measured in us-east-1: about 62).
pub const NESTING_OF_CURRENT_FRAMEWORK: usize = 62;
/// Levels of a value that are decoded; deeper ones are skipped, and only their presence is recorded.
pub const NESTING_KEPT: usize = 64;
/// Bytes of items that a page of Query or Scan reads (Developer Guide).
pub const PAGE_SIZE: usize = 1_048_576;
/// Bytes of items in an answer of BatchGetItem: 16 MB, of which 52 items of 300 KB are the most (API Reference).
pub const BATCH_GET_SIZE: usize = 16_000_000;
/// Keys in a BatchGetItem (API Reference).
pub const BATCH_GET_KEYS: usize = 100;
/// Writes in a BatchWriteItem (API Reference).
pub const BATCH_WRITES: usize = 25;
/// Actions in a transaction (API Reference).
pub const TRANSACTION_ACTIONS: usize = 100;
/// Bytes in a transaction (Developer Guide).
pub const TRANSACTION_SIZE: usize = 4 * 1024 * 1024;
/// Seconds for which a client token is valid (API Reference).
pub const CLIENT_TOKEN_SECONDS: u64 = 600;
/// Seconds for which stream records and closed streams are retained (Developer Guide).
pub const STREAM_RETENTION_SECONDS: u64 = 24 * 3600;
/// Seconds for which a shard of a stream accepts records before a new one replaces it (Developer Guide: about four hours).
pub const SHARD_LIFE_SECONDS: u64 = 4 * 3600;
/// Readers of a stream's shard at a time, before they are throttled (Developer Guide, "Quotas").
pub const SHARD_READERS: u32 = 2;
/// Seconds for which a shard iterator is valid (API Reference).
pub const ITERATOR_SECONDS: u64 = 15 * 60;
/// Records of an answer of GetRecords (API Reference).
pub const STREAM_RECORDS: i64 = 1000;
/// Bytes of records in an answer of GetRecords (API Reference).
pub const STREAM_PAGE_SIZE: usize = 1_048_576;
/// Streams in an answer of ListStreams, and shards in one of DescribeStream (API Reference).
pub const STREAM_LIST: i64 = 100;
/// Bytes of a request's body (measured: 16 MiB pass, one more does not).
pub const REQUEST_BODY: usize = 16 * 1024 * 1024;
/// Bytes of a control request's body (ours: a fault rule has a few hundred).
pub const CONTROL_BODY: usize = 64 * 1024;
/// Bytes of a snapshot over HTTP (ours).
pub const SNAPSHOT: usize = 256 * 1024 * 1024;
/// Fault rules that can be set over HTTP (ours).
pub const FAULT_RULES: usize = 1000;
/// Tables, existing or not, that can have their own conditions over HTTP (ours).
pub const OWN_CONDITIONS: usize = 10_000;
/// Bytes of an expression's text (Developer Guide).
pub const EXPRESSION_SIZE: usize = 4096;
/// Bytes of the names and values, with their placeholders, of a request's expressions (Developer Guide).
pub const SUBSTITUTIONS_SIZE: usize = 2 * 1024 * 1024;
/// Operators and functions of an expression (Developer Guide).
pub const EXPRESSION_OPERATORS: usize = 300;
/// Elements of a document path (measured).
pub const PATH_DEPTH: usize = 32;
/// Operands in an `IN` list (Developer Guide).
pub const IN_OPERANDS: usize = 100;
/// Characters of a PartiQL statement (API Reference).
pub const STATEMENT_LENGTH: usize = 8192;
/// Statements in a BatchExecuteStatement (API Reference).
pub const BATCH_STATEMENTS: usize = 25;
/// Characters of a `NextToken` of ExecuteStatement (API Reference).
pub const NEXT_TOKEN_LENGTH: usize = 32_768;
/// Reads that the lists of keys in one statement may expand to (recorded, eu-west-2, 2026-09).
pub const STATEMENT_READS: usize = 50;
/// Characters of a placeholder, its prefix included (Developer Guide).
pub const PLACEHOLDER_LENGTH: usize = 255;
/// Bytes of an attribute's name (Developer Guide).
pub const ATTRIBUTE_NAME_SIZE: usize = 65_535;
/// Bytes of an item collection: all items of a partition key, with their entries in local indexes (Developer Guide, 10 GB).
pub const ITEM_COLLECTION_SIZE: u64 = 10 * 1024 * 1024 * 1024;
/// Local indexes of a table (Developer Guide).
pub const LOCAL_INDEXES: usize = 5;
/// Global indexes of a table (Developer Guide).
pub const GLOBAL_INDEXES: usize = 20;
/// Vector indexes of a table (Developer Guide).
pub const VECTOR_INDEXES: usize = 5;
/// Elements of a vector (API Reference).
pub const VECTOR_DIMENSIONS: i64 = 4096;
/// Attributes of a vector index that filter (Developer Guide).
pub const INLINE_FILTERS: usize = 18;
/// The maximum number of items that a search returns (API Reference).
pub const SEARCH_RESULTS: i64 = 100;
/// Bytes of items in an answer of SearchVectors (Developer Guide).
pub const SEARCH_SIZE: usize = 16 * 1024 * 1024;
/// Projected non-key attributes of a table's indexes together (Developer Guide).
pub const PROJECTED_ATTRIBUTES: usize = 100;
/// Tables of an account in a region (Developer Guide).
pub const TABLES: usize = 2500;
/// Rules of Contributor Insights of an account in a region (measured).
pub const INSIGHT_RULES: usize = 100;
/// Bytes of a resource policy (Developer Guide).
pub const POLICY_SIZE: usize = 20_480;
/// Tags of a resource (Developer Guide).
pub const TAGS: usize = 50;
/// Read units a second of a partition (Developer Guide).
pub const PARTITION_READ_UNITS: u64 = 3000;
/// Write units a second of a partition (Developer Guide).
pub const PARTITION_WRITE_UNITS: u64 = 1000;
/// Bytes of items in a partition (Developer Guide, "Partitions and data distribution").
pub const PARTITION_SIZE: u64 = 10 << 30;
/// Seconds of unused provisioned capacity that are retained (Developer Guide, "Burst capacity").
pub const BURST_SECONDS: u64 = 300;
/// Read units a second that a new on-demand table serves (Developer Guide).
pub const ON_DEMAND_READ_UNITS: u64 = 12_000;
/// Write units a second that a new on-demand table serves (Developer Guide).
pub const ON_DEMAND_WRITE_UNITS: u64 = 4000;
/// Items that expired longer ago than this are not deleted: five years (Developer Guide).
pub const TTL_OLDEST_SECONDS: i64 = 5 * 365 * 86_400;
/// Tables that can be created, updated or deleted at a time.
pub const TABLE_OPERATIONS: usize = 500;
/// Tables with secondary indexes that can be created at a time.
pub const INDEXED_TABLE_OPERATIONS: usize = 250;
/// Read units a second, and write units, of all provisioned tables of an account in a region (measured on DescribeLimits).
pub const ACCOUNT_UNITS: i64 = 80_000;
/// Read units a second, and write units, of a table or a global index (measured on DescribeLimits).
pub const TABLE_UNITS: i64 = 40_000;
/// Seconds by which the latest restorable moment lies behind (Developer Guide: typically five minutes; measured as 300 s).
pub const RECOVERY_LAG_SECONDS: u64 = 300;
/// Default days for which changes are retained, and for which a system backup is retained (Developer Guide).
pub const RECOVERY_DAYS: u32 = 35;
/// Restores of an account in a region at a time (Developer Guide).
pub const RESTORES: usize = 50;
/// Imports of an account in a region at a time (API Reference, ImportTable).
pub const IMPORTS: usize = 50;
/// Days for which exports, imports and bulk operations are listed (API Reference).
pub const TRANSFER_DAYS: u32 = 90;
/// Seconds for which the token of an export or a bulk operation is valid (API Reference).
pub const TRANSFER_TOKEN_SECONDS: u64 = 8 * 3600;
/// Seconds that an incremental export spans at least, and at most (API Reference).
pub const INCREMENTAL_EXPORT_SECONDS: (i64, i64) = (15 * 60, 24 * 3600);
/// Write units a second that a bulk operation can be held to at least (API Reference).
pub const BULK_WRITE_UNITS: i64 = 1024;
