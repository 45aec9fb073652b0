//! A write-ahead log of opaque records with snapshots, in one directory.
//!
//! A [`Store`] appends records to log segments and replaces old segments by a snapshot that its caller writes. It does not
//! know what the records mean. [`Store::open`] returns every acknowledged record in order, or an error that names the file
//! and the offset of the damage.
//!
//! | Event | What is lost |
//! |---|---|
//! | the process is killed | nothing that [`Store::append`] or, for records that are [buffered](Store::buffer), [`Store::flush`] returned for |
//! | power failure | nothing that [`Store::sync`] or [`Store::until_synced`] returned for |
//! | the disk is full | the record whose `append` failed; later ones succeed once there is space |
//! | `fsync` or the write of buffered records fails | appends fail until a new snapshot is written, since the state of the old segments is unknown |
//!
//! ```
//! use dynatwin_store::{Directory, Entry, Store};
//!
//! let directory = std::env::temp_dir().join(format!("dynatwin-store-doc-{}", std::process::id()));
//! let (store, _) = Store::open(Directory::at(&directory), &mut |_| Ok(()), &mut |_| ())?;
//! store.append(b"first")?;
//! store.close();
//! drop(store);
//!
//! let mut found = Vec::new();
//! let (store, report) = Store::open(
//!     Directory::at(&directory),
//!     &mut |entry| {
//!         if let Entry::Log { record, .. } = entry {
//!             found.push(record.to_vec());
//!         }
//!         Ok(())
//!     },
//!     &mut |_| (),
//! )?;
//! assert_eq!((found, report.cut), (vec![b"first".to_vec()], None));
//! # drop(store);
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod disk;
mod error;
mod format;
mod manifest;
mod open;
mod scan;
#[cfg(any(test, feature = "sim"))]
pub mod sim;
mod snapshot;
mod store;
mod sync;
#[cfg(test)]
mod tests;

pub use disk::{Directory, Disk, DiskFile, Lock};
pub use error::{AppendError, OpenError};
pub use format::MAX_RECORD;
pub use open::{Cut, Entry, Progress, Report};
pub use snapshot::SnapshotWriter;
pub use store::Store;
pub use sync::UntilSynced;
