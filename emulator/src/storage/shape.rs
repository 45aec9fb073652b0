//! The shape of a table: its settings, and the contents derived from them.

use std::ops::Deref;
use std::sync::Arc;

use super::commit::Committed;
use super::host::Host;
use super::identity::TableIdentity;
use super::index::{GlobalIndex, IndexQueue, SavedIndex, VectorEntries};
use super::job::JobKind;
use super::partitioning::PARTITIONS;
use super::recovery::Recovery;
use super::recovery::logs::RecoveryLogs;
use super::settings::{TableSettings, TableStream};
use super::stream::{Stream, StreamSettings, Streams};
use crate::change::Change;
use crate::clock::Moment;
use crate::reclaim::Reclaimer;
use crate::value::Name;

/// A table's settings, and the contents derived from them: index entries, the stream, the recovery logs. A plan is made
/// for one shape, and made again if the epoch has changed.
#[derive(Debug, Clone)]
pub struct Shape {
    pub settings: TableSettings,
    /// The global indexes' contents, in the definition's order.
    pub indexes: Vec<Arc<GlobalIndex>>,
    /// The vector indexes' contents, in the definition's order.
    pub vectors: Vec<Arc<VectorEntries>>,
    /// The contents of the indexes that are being deleted, by name.
    leaving: Vec<(Name, DeletingIndex)>,
    /// The open stream, which receives the records of changes.
    pub stream: Option<Arc<Stream>>,
    /// The latest stream, open or closed.
    pub latest_stream: Option<Arc<Stream>>,
    /// The history of the table, while point-in-time recovery is enabled.
    pub recovery_logs: Option<Arc<RecoveryLogs>>,
}

/// The contents of an index that is being deleted.
#[derive(Debug, Clone)]
pub(super) enum DeletingIndex {
    Global(Arc<GlobalIndex>),
    Vector(Arc<VectorEntries>),
}

impl DeletingIndex {
    /// The number of entries, and their total size.
    pub(super) fn count(&self) -> (usize, usize) {
        match self {
            DeletingIndex::Global(contents) => contents.count(),
            DeletingIndex::Vector(contents) => contents.count(),
        }
    }

    /// Applies the changes that are due when its deletion begins. It receives no others.
    fn drain(&self, now: Moment) {
        match self {
            DeletingIndex::Global(contents) => contents.drain(now),
            DeletingIndex::Vector(contents) => contents.drain(now),
        }
    }

    /// Its entries for a checkpoint.
    pub(super) fn save(&self) -> SavedIndex {
        match self {
            DeletingIndex::Global(contents) => SavedIndex::Global(contents.save_entries()),
            DeletingIndex::Vector(contents) => SavedIndex::Vector(contents.save_entries()),
        }
    }
}

impl Deref for Shape {
    type Target = TableSettings;

    fn deref(&self) -> &TableSettings {
        &self.settings
    }
}

impl Shape {
    /// The names of the global and vector indexes.
    pub fn index_names(&self) -> impl Iterator<Item = &Name> {
        let globals = self.definition.globals.iter().map(|index| &index.name);
        globals.chain(self.definition.vectors.iter().map(|index| &index.name))
    }

    /// The queues of the global and vector indexes.
    pub fn queues(&self) -> impl Iterator<Item = &dyn IndexQueue> {
        let vectors = self.vectors.iter().map(|index| &**index as &dyn IndexQueue);
        let globals = self.indexes.iter().map(|index| &**index as &dyn IndexQueue);
        globals.chain(vectors)
    }

    /// The queues of the indexes that a change affects.
    pub fn queues_of<'s>(&'s self, change: &'s Change) -> impl Iterator<Item = &'s dyn IndexQueue> {
        let globals = change.globals.iter().filter_map(|arm| self.indexes.get(arm.index));
        let vectors = change.vectors.iter().filter_map(|arm| self.vectors.get(arm.index));
        let globals = globals.map(|index| &**index as &dyn IndexQueue);
        globals.chain(vectors.map(|index| &**index as &dyn IndexQueue))
    }

    /// The shape of a new table.
    pub(super) fn new(identity: &TableIdentity, settings: TableSettings, host: &Host, streams: &Streams) -> Shape {
        let reclaimer = &host.reclaimer;
        let definition = &settings.definition;
        let indexes = definition.globals.iter();
        let vectors = definition.vectors.iter();
        let stream = settings.stream_settings.as_ref().map(|stream| {
            // A checkpoint restores the stream before the table.
            let restored = streams.get(&format!("{}/stream/{}", identity.arn, stream.label()));
            restored.unwrap_or_else(|| Arc::new(new_stream(identity, &settings, stream, host)))
        });
        // A checkpoint restores their entries.
        let leaving = settings.jobs.iter().filter_map(|job| {
            let contents = match &job.work {
                JobKind::DeleteIndex { .. } => DeletingIndex::Global(Arc::new(GlobalIndex::new(reclaimer.clone()))),
                JobKind::DeleteVectorIndex { .. } => {
                    DeletingIndex::Vector(Arc::new(VectorEntries::new(reclaimer.clone())))
                }
                _ => return None,
            };
            Some((job.removes()?.clone(), contents))
        });
        Shape {
            indexes: indexes.map(|_| Arc::new(GlobalIndex::new(reclaimer.clone()))).collect(),
            vectors: vectors
                .map(|_| Arc::new(VectorEntries::new(reclaimer.clone())))
                .collect(),
            leaving: leaving.collect(),
            latest_stream: stream.clone(),
            stream: stream.filter(|_| settings.has_stream()),
            recovery_logs: logs_for(&settings, None, reclaimer),
            settings,
        }
    }

    /// The shape with other settings, which shares what both have in common. The caller holds all partition locks.
    pub(super) fn with(
        &self,
        committed: &Committed<'_>,
        (table, host): (&TableIdentity, &Host),
        settings: TableSettings,
    ) -> Shape {
        let (before, after) = (&self.settings.definition, &settings.definition);
        let reclaimer = &host.reclaimer;
        let indexes = after.globals.iter().map(|index| {
            let at = before.globals.iter().position(|there| there.name == index.name);
            let there = at.and_then(|at| self.indexes.get(at)).cloned();
            there.unwrap_or_else(|| Arc::new(GlobalIndex::new(reclaimer.clone())))
        });
        let vectors = after.vectors.iter().map(|index| {
            let at = before.vectors.iter().position(|there| there.name == index.name);
            let there = at.and_then(|at| self.vectors.get(at)).cloned();
            there.unwrap_or_else(|| Arc::new(VectorEntries::new(reclaimer.clone())))
        });
        let leaving = settings
            .jobs
            .iter()
            .filter_map(|job| Some((job.removes()?.clone(), self.leaves(committed, &job.work)?)));
        let wanted = settings.stream_settings.as_ref();
        let there = self.settings.stream_settings.as_ref().zip(self.latest_stream.as_ref());
        let stream = match (wanted, there) {
            (None, _) => None,
            (Some(wanted), Some((known, stream))) if known.created == wanted.created => {
                if let Some(end) = wanted.end.filter(|_| known.end.is_none()) {
                    stream.close(committed, end);
                }
                Some(Arc::clone(stream))
            }
            (Some(wanted), _) => Some(Arc::new(new_stream(table, &settings, wanted, host))),
        };
        Shape {
            indexes: indexes.collect(),
            vectors: vectors.collect(),
            leaving: leaving.collect(),
            latest_stream: stream.clone(),
            stream: stream.filter(|_| settings.has_stream()),
            recovery_logs: logs_for(&settings, self.recovery_logs.as_ref(), reclaimer),
            settings,
        }
    }

    /// The contents of the index that a job deletes.
    fn leaves(&self, committed: &Committed<'_>, work: &JobKind) -> Option<DeletingIndex> {
        let definition = &self.settings.definition;
        let (name, there) = match work {
            JobKind::DeleteIndex { index, .. } => {
                let at = definition.globals.iter().position(|there| there.name == index.name);
                let there = at.and_then(|at| self.indexes.get(at));
                (&index.name, there.map(|there| DeletingIndex::Global(Arc::clone(there))))
            }
            JobKind::DeleteVectorIndex { index, .. } => {
                let at = definition.vectors.iter().position(|there| there.name == index.name);
                let there = at.and_then(|at| self.vectors.get(at));
                (&index.name, there.map(|there| DeletingIndex::Vector(Arc::clone(there))))
            }
            _ => return None,
        };
        let left = || self.leaving.iter().find(|(left, _)| left == name);
        there.as_ref().inspect(|contents| contents.drain(committed.time));
        there.or_else(|| left().map(|(_, contents)| contents.clone()))
    }

    /// Pauses or resumes a global index, if there is one of this name.
    pub(super) fn set_paused(&self, committed: &Committed<'_>, name: &Name, paused: bool) {
        let at = self.definition.globals.iter().position(|index| index.name == *name);
        match at.and_then(|at| self.indexes.get(at)) {
            Some(index) if paused => index.pause(committed),
            Some(index) => index.resume(committed),
            None => {}
        }
    }

    /// The indexes that are being deleted at `now`, by name.
    pub(super) fn leaving(&self, now: Moment) -> impl Iterator<Item = (&Name, &DeletingIndex)> {
        let is_leaving = move |name: &Name| {
            let mut running = self.jobs.iter().filter(|job| job.runs(now));
            running.any(|job| job.removes() == Some(name)) && !self.definition.has_index(name)
        };
        let leaving = self.leaving.iter().filter(move |(name, _)| is_leaving(name));
        leaving.map(|(name, contents)| (name, contents))
    }

    /// The global index of this name, also if it is being deleted.
    pub(super) fn global(&self, name: &Name) -> Option<&GlobalIndex> {
        let at = self.definition.globals.iter().position(|index| index.name == *name);
        let left = || {
            self.leaving.iter().find_map(|(left, contents)| match contents {
                DeletingIndex::Global(contents) if left == name => Some(contents),
                _ => None,
            })
        };
        at.and_then(|at| self.indexes.get(at))
            .or_else(left)
            .map(|index| &**index)
    }

    /// The vector index of this name, also if it is being deleted.
    pub(super) fn vector(&self, name: &Name) -> Option<&VectorEntries> {
        let at = self.definition.vectors.iter().position(|index| index.name == *name);
        let left = || {
            self.leaving.iter().find_map(|(left, contents)| match contents {
                DeletingIndex::Vector(contents) if left == name => Some(contents),
                _ => None,
            })
        };
        at.and_then(|at| self.vectors.get(at))
            .or_else(left)
            .map(|index| &**index)
    }

    /// Whether a stream or point-in-time recovery records changes of the table.
    pub fn records_changes(&self) -> bool {
        self.stream.is_some() || self.recovery_logs.is_some()
    }

    /// The recovery window, while point-in-time recovery is enabled: changes that were dropped because of the size
    /// limit cannot be undone.
    pub fn restorable(&self) -> Option<Recovery> {
        let dropped = self.recovery_logs.as_ref().map_or(Moment::FIRST, |logs| logs.dropped());
        self.recovery.map(|recovery| Recovery {
            since: recovery.since.max(dropped),
            ..recovery
        })
    }
}

/// The stream in a table's settings.
fn new_stream(identity: &TableIdentity, settings: &TableSettings, stream: &TableStream, host: &Host) -> Stream {
    let made = Stream::new(StreamSettings {
        table: identity.name.clone(),
        table_arn: &identity.arn,
        key: settings.definition.key.clone(),
        view: stream.view,
        created: stream.created,
        enabled_at: stream.enabled_at,
        seed: settings.seed,
        starts: stream.starts.clone(),
    })
    .logged(identity.scope.clone(), host.log.clone());
    if let Some(end) = stream.end {
        made.close(&Committed::replayed(end.at), end);
    }
    made
}

/// The recovery logs that the settings require: the existing ones, or new ones.
fn logs_for(
    settings: &TableSettings,
    there: Option<&Arc<RecoveryLogs>>,
    reclaimer: &Reclaimer,
) -> Option<Arc<RecoveryLogs>> {
    settings.recovery?;
    let new = || Arc::new(RecoveryLogs::new(PARTITIONS, reclaimer.clone()));
    Some(there.cloned().unwrap_or_else(new))
}
