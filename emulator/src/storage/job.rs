//! Changes of a table that take time, and changes with a cooldown.
//!
//! The settings have the finished state of a change at once; its job determines until when the change is visible as in
//! progress, and with which intermediate state.

use crate::clock::Moment;
use crate::schema::{Index, Throughput, VectorIndex};
use crate::value::Name;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub work: JobKind,
    pub until: Moment,
}

/// The kind of change of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobKind {
    Throughput {
        was: Throughput,
        /// The decreases of the day before.
        decreases: u32,
    },
    Billing,
    Class {
        /// The class before, and when it was set.
        was: (Option<&'static str>, Option<Moment>),
        /// Until when global indexes are `UPDATING` as well.
        shown_in_indexes_until: Moment,
    },
    /// Removed on-demand limits of the table.
    ClearLimits {
        read: bool,
        write: bool,
    },
    Encryption {
        /// The key that is visible first.
        key_arn: String,
        /// Until when it is visible; after that, the key that is set, if any.
        shows: Moment,
    },
    /// The warm throughput of the table or an index.
    Warm {
        /// The index; `None` for the table.
        index: Option<Name>,
        was: Throughput,
    },
    /// The table's stream, which is enabled or disabled.
    Stream {
        label: String,
        enables: bool,
    },
    /// An index that is being created and filled.
    CreateIndex {
        index: Name,
        /// Until when the service allocates resources, before it fills the index.
        allocated: Moment,
        /// The earliest moment at which the index is active. While it is being filled, its job never ends.
        earliest: Moment,
    },
    /// An index that is being deleted; the definition no longer has it.
    DeleteIndex {
        at: usize,
        index: Box<Index>,
    },
    /// A vector index that is being deleted; the definition no longer has it.
    DeleteVectorIndex {
        at: usize,
        index: Box<VectorIndex>,
    },
    UpdateIndex {
        index: Name,
        was: Throughput,
        /// The decreases of the day before.
        decreases: u32,
    },
}

impl Job {
    /// Whether it is still in progress.
    pub fn runs(&self, now: Moment) -> bool {
        self.until > now
    }

    /// Whether it creates an index that is still being filled.
    pub fn is_filling(&self) -> bool {
        matches!(self.work, JobKind::CreateIndex { .. }) && self.until == Moment::NEVER
    }

    /// The index that is not `ACTIVE` meanwhile, if any.
    pub fn index(&self) -> Option<&Name> {
        match &self.work {
            JobKind::CreateIndex { index, .. } | JobKind::UpdateIndex { index, .. } => Some(index),
            JobKind::DeleteIndex { index, .. } => Some(&index.name),
            JobKind::DeleteVectorIndex { index, .. } => Some(&index.name),
            _ => None,
        }
    }

    /// Whether it changes this index.
    pub fn concerns(&self, name: &str) -> bool {
        let index = match &self.work {
            JobKind::Warm { index, .. } => index.as_ref(),
            _ => self.index(),
        };
        index.is_some_and(|index| index == name)
    }

    /// The index that it creates, if any, and the earliest moment at which that is active.
    pub fn creates(&self) -> Option<(&Name, Moment)> {
        match &self.work {
            JobKind::CreateIndex { index, earliest, .. } => Some((index, *earliest)),
            _ => None,
        }
    }

    /// The index that it deletes, if any.
    pub fn removes(&self) -> Option<&Name> {
        match &self.work {
            JobKind::DeleteIndex { index, .. } => Some(&index.name),
            JobKind::DeleteVectorIndex { index, .. } => Some(&index.name),
            _ => None,
        }
    }

    /// Whether it changes throughput or billing.
    pub fn is_throughput(&self) -> bool {
        matches!(self.work, JobKind::Throughput { .. } | JobKind::Billing)
    }

    /// Whether the whole table is `UPDATING` meanwhile.
    pub fn updates_table(&self, now: Moment) -> bool {
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

/// When settings with a cooldown were last changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentChanges {
    /// The whole table: when its deletion was requested.
    pub deletion: Option<Moment>,
    pub tags: Option<Moment>,
    /// The tags that were added then; empty if some were removed.
    pub tagged: Vec<(String, String)>,
    pub protection: Option<Moment>,
    /// The last two changes of the table class.
    pub class: [Option<Moment>; 2],
    /// The last four changes of encryption.
    pub encryption: [Option<Moment>; 4],
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Moment {
        Moment::from_seconds(seconds)
    }

    #[test]
    fn a_job_runs_until_its_end() {
        let job = Job {
            work: JobKind::Billing,
            until: at(10),
        };
        assert_eq!([9, 10].map(|now| job.runs(at(now))), [true, false]);
    }

    /// Which jobs let a table be shown as updating: those of single indexes do not, once an index is allocated.
    #[test]
    fn jobs_that_update_the_table() {
        let was = Throughput::default();
        let create = JobKind::CreateIndex {
            index: "by-g".into(),
            allocated: at(10),
            earliest: at(20),
        };
        let update = JobKind::UpdateIndex {
            index: "by-g".into(),
            was,
            decreases: 0,
        };
        let encryption = JobKind::Encryption {
            key_arn: String::new(),
            shows: at(0),
        };
        let stream = JobKind::Stream {
            label: String::new(),
            enables: true,
        };
        for (work, before, after) in [
            (create, true, false),
            (update, false, false),
            (encryption, false, false),
            (JobKind::Warm { index: None, was }, false, false),
            (
                JobKind::ClearLimits {
                    read: true,
                    write: true,
                },
                false,
                false,
            ),
            (JobKind::Throughput { was, decreases: 0 }, true, true),
            (JobKind::Billing, true, true),
            (stream, true, true),
        ] {
            let job = Job {
                work,
                until: Moment::NEVER,
            };
            let found = [9, 10].map(|now| job.updates_table(at(now)));
            assert_eq!(found, [before, after], "{job:?}");
        }
    }
}
