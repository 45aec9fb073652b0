//! Buckets as folders: exports are written to them and imports read from them, in the service's own formats.
//!
//! The engine passes lines and takes records; this crate handles the files: DynamoDB JSON, Ion and CSV, gzip and zstd,
//! manifests and checksums.

mod bucket;
mod csv;
mod export;
mod ion;
mod json;
mod report;
mod source;

use std::path::PathBuf;

use dynatwin_engine::transfers::{BulkReport, Export, Failure, ImportSource, ObjectStore, Record};

use crate::bucket::Bucket;

/// A folder that contains a folder for each bucket. A bucket exists if its folder does.
///
/// ```
/// use dynatwin_engine::transfers::{ImportSource, ObjectStore};
/// use dynatwin_files::Buckets;
///
/// let buckets = Buckets::at("/nowhere");
/// let source = ImportSource { bucket: "data".into(), ..ImportSource::default() };
/// assert_eq!(buckets.read(&source, &mut |_| ()).unwrap_err().code, "S3NoSuchBucket");
/// ```
#[derive(Clone, Debug)]
pub struct Buckets(PathBuf);

impl Buckets {
    /// Returns the buckets in a folder.
    pub fn at(folder: impl Into<PathBuf>) -> Buckets {
        Buckets(folder.into())
    }

    fn bucket(&self, name: &str) -> Result<Bucket, Failure> {
        Bucket::open(&self.0, name)
    }
}

impl ObjectStore for Buckets {
    fn export(&self, export: &Export) -> Result<(), Failure> {
        export::write(&self.bucket(&export.bucket)?, export)
    }

    fn read(&self, source: &ImportSource, take: &mut dyn FnMut(Record)) -> Result<u64, Failure> {
        source::read(&self.bucket(&source.bucket)?, source, take)
    }

    fn report(&self, report: &BulkReport) -> Result<(), Failure> {
        report::write(&self.bucket(&report.bucket)?, report)
    }
}
