//! An export, import or bulk operation as commits contain it: its request and its progress.

use std::sync::Arc;

use crate::clock::Moment;
use crate::request::{ExportTableToPointInTime, ImportTable, StartBulkPutItems};
use crate::sorted::SortedMap;
use crate::transfer::Failure;
use crate::value::Name;

/// The kind of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransferKind {
    Export,
    Import,
    BulkPut,
}
#[derive(Clone, Debug, PartialEq)]
pub enum TransferRequest {
    Export(Arc<ExportTableToPointInTime>),
    Import(Arc<ImportTable>),
    BulkPut(Arc<StartBulkPutItems>),
}

impl TransferRequest {
    pub fn kind(&self) -> TransferKind {
        match self {
            TransferRequest::Export(_) => TransferKind::Export,
            TransferRequest::Import(_) => TransferKind::Import,
            TransferRequest::BulkPut(_) => TransferKind::BulkPut,
        }
    }
}

/// Bytes written to each index.
pub type IndexBytes = SortedMap<Name, u64>;

/// The counters of a transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransferCounts {
    /// Records read, or items exported.
    pub processed: u64,
    pub written: u64,
    /// Records that could not be read or written.
    pub failed: u64,
    /// Bytes read by an import, or billed for an export.
    pub bytes: u64,
    /// Bytes written to the table.
    pub table_bytes: u64,
    /// Bytes written to global indexes.
    pub global_bytes: IndexBytes,
    /// Bytes written to local indexes.
    pub local_bytes: IndexBytes,
    /// Bytes written to vector indexes, as billed.
    pub vector_bytes: IndexBytes,
}

/// The progress of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// When it completes; the maximum while it is being executed.
    pub end: Moment,
    /// The reason of its failure, if it failed.
    pub failure: Option<Failure>,
    pub counts: TransferCounts,
    /// When it was cancelled, if that was before its end.
    pub cancelled: Option<Moment>,
}

impl Progress {
    /// The progress of a transfer that has just begun.
    pub const BEGUN: Progress = Progress {
        end: Moment::NEVER,
        failure: None,
        counts: TransferCounts {
            processed: 0,
            written: 0,
            failed: 0,
            bytes: 0,
            table_bytes: 0,
            global_bytes: SortedMap::new(),
            local_bytes: SortedMap::new(),
            vector_bytes: SortedMap::new(),
        },
        cancelled: None,
    };
}

/// An export, import or bulk operation as requested.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferRecord {
    pub arn: String,
    pub table_name: Name,
    pub table_arn: String,
    pub about: TransferRequest,
    /// The body of the request.
    pub body: Vec<u8>,
    /// Members that responses repeat as they were sent: their names and their JSON.
    pub echoed: Vec<(&'static str, String)>,
    pub start: Moment,
    /// The client's token, and a hash of the request.
    pub token: Option<(String, u64)>,
}
