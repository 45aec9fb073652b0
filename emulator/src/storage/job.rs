//! Changes of a table that take their time, and those that may come only so often.
//!
//! A shape has the finished state of a change at once; its job says until when the change shows, and what shows meanwhile.

use crate::clock::Moment;
use crate::schema::{Index, Throughput, VectorIndex};
use crate::value::Name;

/// A change on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// What is changed.
    pub work: JobKind,
    /// When it is done.
    pub until: Moment,
}

/// What a job changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// The table's provisioned throughput.
    Throughput {
        /// The units before.
        was: Throughput,
        /// The decreases of the day before.
        decreases: u32,
    },
    /// The billing mode.
    Billing,
    /// The table class.
    Class {
        /// The class before, and when it was set.
        was: (Option<&'static str>, Option<Moment>),
        /// Until when global indexes are `UPDATING` as well.
        flashes: Moment,
    },
    /// On-demand limits of the table that were taken away.
    ClearLimits {
        /// The one on reads.
        read: bool,
        /// The one on writes.
        write: bool,
    },
    /// Encryption.
    Encryption {
        /// The key that shows first.
        key_arn: String,
        /// Until when it does; after that, the one that is set, if there is one.
        shows: Moment,
    },
    /// What the table or an index serves at once.
    Warm {
        /// The index, if it is one's.
        index: Option<Name>,
        /// The units before.
        was: Throughput,
    },
    /// The table's stream, which is switched on or off.
    Stream {
        /// Its label.
        label: String,
        /// Whether it is switched on.
        enables: bool,
    },
    /// An index that is being made and filled.
    CreateIndex {
        /// Its name.
        index: Name,
        /// Until when the service looks for room, before it fills the index.
        allocated: Moment,
        /// When the index is ready at the earliest. While it is being filled, its job ends never.
        earliest: Moment,
    },
    /// An index that is going; the definition has it no more.
    DeleteIndex {
        /// The place it had.
        at: usize,
        /// What it was.
        index: Box<Index>,
    },
    /// A vector index that is going; the definition has it no more.
    DeleteVectorIndex {
        /// The place it had.
        at: usize,
        /// What it was.
        index: Box<VectorIndex>,
    },
    /// An index's throughput.
    UpdateIndex {
        /// Its name.
        index: Name,
        /// The units before.
        was: Throughput,
        /// The decreases of the day before.
        decreases: u32,
    },
}

impl Job {
    /// Whether it is not done yet.
    pub fn runs(&self, now: Moment) -> bool {
        self.until > now
    }

    /// Whether it makes an index that is still being filled.
    pub fn is_filling(&self) -> bool {
        matches!(self.work, JobKind::CreateIndex { .. }) && self.until == Moment::NEVER
    }

    /// The index that is not `ACTIVE` meanwhile, if one is not.
    pub fn index(&self) -> Option<&Name> {
        match &self.work {
            JobKind::CreateIndex { index, .. } | JobKind::UpdateIndex { index, .. } => Some(index),
            JobKind::DeleteIndex { index, .. } => Some(&index.name),
            JobKind::DeleteVectorIndex { index, .. } => Some(&index.name),
            _ => None,
        }
    }

    /// The index that it makes, if it makes one, and when that is ready at the earliest.
    pub fn creates(&self) -> Option<(&Name, Moment)> {
        match &self.work {
            JobKind::CreateIndex { index, earliest, .. } => Some((index, *earliest)),
            _ => None,
        }
    }

    /// The index that it deletes, if it deletes one.
    pub fn removes(&self) -> Option<&Name> {
        match &self.work {
            JobKind::DeleteIndex { index, .. } => Some(&index.name),
            JobKind::DeleteVectorIndex { index, .. } => Some(&index.name),
            _ => None,
        }
    }

    /// Whether it changes what the table is paid for.
    pub fn is_throughput(&self) -> bool {
        matches!(self.work, JobKind::Throughput { .. } | JobKind::Billing)
    }

    /// Whether the whole table is `UPDATING` meanwhile.
    pub fn holds_table(&self, now: Moment) -> bool {
        match &self.work {
            JobKind::CreateIndex { allocated, .. } => *allocated > now,
            JobKind::Encryption { .. }
            | JobKind::Warm { .. }
            | JobKind::UpdateIndex { .. }
            | JobKind::ClearLimits { .. } => false,
            _ => true,
        }
    }
}

/// When what may change only so often was changed last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentChanges {
    /// The whole table: when its deletion was asked for.
    pub deletion: Option<Moment>,
    /// The tags.
    pub tags: Option<Moment>,
    /// The tags that were given then; none if some were taken away.
    pub tagged: Vec<(String, String)>,
    /// Deletion protection.
    pub protection: Option<Moment>,
    /// The table class, the last two times.
    pub class: [Option<Moment>; 2],
    /// Encryption, the last four times.
    pub encryption: [Option<Moment>; 4],
}
