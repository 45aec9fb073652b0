//! All tables, by account and region, then by name.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;
use dashmap::DashMap;
use rustc_hash::FxBuildHasher;

use super::agenda::Agenda;
use super::backup::Backups;
use super::stream::Stream;
use super::table::Table;
use super::transfers::Transfers;
use crate::caller::Caller;
use crate::chance::StableHash;
use crate::clock::Moment;
use crate::sync::{AtomicU64, Hint, Ordering, RwLock};
use crate::value::Name;

/// Whose tables: an account's in a region.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    /// What separates the accounts: the access key, or nothing if all share one.
    pub account: CompactString,
    /// The region, or nothing if all share one.
    pub region: CompactString,
}

impl Scope {
    /// What keeps counts of decisions apart: those of an account are the same whoever else asks.
    pub fn hash(&self) -> u64 {
        let name = StableHash::new(0).bytes(self.account.as_bytes());
        name.bytes(self.region.as_bytes()).finish()
    }

    /// Whom the tables belong to: one without a name, if all share them.
    pub fn owner(&self) -> Caller {
        Caller {
            access_key: self.account.clone(),
            region: self.region.clone(),
        }
    }
}

/// The tables of an account in a region.
#[derive(Debug, Default)]
pub struct Region {
    /// By name, in the order in which ListTables names them.
    pub tables: RwLock<BTreeMap<Name, Arc<Table>>>,
    /// Backups, also of tables that are gone. Their lock encloses none but a backup's own.
    pub backups: Backups,
    /// Exports, imports and bulk operations. Their lock encloses none but their own.
    pub transfers: Transfers,
    /// The streams of tables that stand or stood, by ARN. Nothing else is locked under this lock but a stream's own.
    streams: RwLock<BTreeMap<String, Arc<Stream>>>,
    /// Whether the agenda knows that the region was asked for.
    touched: Hint,
}

impl Region {
    /// Notes a stream. It is known until it has been closed for a day.
    pub fn add_stream(&self, stream: &Arc<Stream>) {
        self.streams.write().insert(stream.arn.clone(), Arc::clone(stream));
    }

    /// The moment of the label of a new stream of a table: now, or the next one that no stream of the table has. A clock may
    /// stand still.
    pub fn stream_label(&self, table_arn: &str, now: Moment) -> Moment {
        let prefix = format!("{table_arn}/stream/");
        let streams = self.streams.read();
        let there = streams.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
        there
            .take_while(|(arn, _)| arn.starts_with(&prefix))
            .map(|(_, stream)| stream.created.plus(Duration::from_millis(1)))
            .fold(now, Moment::max)
    }

    /// The stream of this ARN.
    pub fn stream(&self, arn: &str, now: Moment) -> Option<Arc<Stream>> {
        self.streams
            .read()
            .get(arn)
            .filter(|stream| !stream.is_gone(now))
            .cloned()
    }

    /// The streams whose ARNs come after this one, in order.
    pub fn streams_after(&self, arn: Option<&str>, now: Moment) -> Vec<Arc<Stream>> {
        let lower = arn.map_or(Bound::Unbounded, Bound::Excluded);
        let streams = self.streams.read();
        let there = streams.range::<str, _>((lower, Bound::Unbounded));
        there
            .map(|(_, stream)| stream)
            .filter(|stream| !stream.is_gone(now))
            .cloned()
            .collect()
    }

    /// Lets go of records, shards and streams that are too old to be read.
    pub fn trim_streams(&self, now: Moment) {
        let next = self.next_trim();
        if next > now {
            return;
        }
        let mut streams = self.streams.write();
        streams.retain(|_, stream| !stream.is_gone(now));
        streams.values().for_each(|stream| stream.trim(now));
    }

    /// Lets go of a table whose deletion is done.
    pub fn forget_deleted(&self, table: &str, now: Moment) {
        let mut tables = self.tables.write();
        // Under the lock, so that a new table of the same name stays.
        if tables
            .get(table)
            .is_some_and(|found| found.shape().deleted_at.is_some_and(|gone| gone <= now))
        {
            let gone = tables.remove(table);
            // What is large is not freed under the lock.
            drop(tables);
            drop(gone);
        }
    }

    /// When something is due in a table or a stream next.
    pub fn next_due(&self) -> Moment {
        let tables: Vec<_> = self.tables.read().values().cloned().collect();
        let tables = tables.iter().map(|table| table.next_due());
        tables.fold(self.next_trim(), Moment::min)
    }

    /// When something of a stream is too old to be read next.
    pub fn next_trim(&self) -> Moment {
        let streams = self.streams.read();
        streams
            .values()
            .map(|stream| stream.next_trim())
            .min()
            .unwrap_or(Moment::NEVER)
    }
}

/// The tables of an engine. Its hasher has a fixed key: the engine has no entropy.
#[derive(Debug, Default)]
pub struct Catalog {
    regions: DashMap<Scope, Arc<Region>, FxBuildHasher>,
    agenda: Agenda,
    tables_made: AtomicU64,
}

impl Catalog {
    /// The tables of a scope, if it has had any.
    pub fn region(&self, scope: &Scope) -> Option<Arc<Region>> {
        let region = self.peek(scope)?;
        self.note(scope, &region);
        Some(region)
    }

    /// Lets the next [`look`](Catalog::look) be at this scope too.
    pub fn touch(&self, scope: &Scope) {
        drop(self.region(scope));
    }

    /// The same for one who only looks what is due.
    fn peek(&self, scope: &Scope) -> Option<Arc<Region>> {
        // The map's guard is dropped before anybody takes another lock.
        self.regions.get(scope).map(|region| Arc::clone(&region))
    }

    /// Notes that a scope is asked for.
    fn note(&self, scope: &Scope, region: &Region) {
        // A load first: all requests of a scope share this flag.
        if !region.touched.load(Ordering::Relaxed) && !region.touched.swap(true, Ordering::AcqRel) {
            self.agenda.touch(scope);
        }
    }

    /// The tables of a scope, which has some from now on.
    pub fn region_or_new(&self, scope: &Scope) -> Arc<Region> {
        self.region(scope).unwrap_or_else(|| {
            let region = Arc::clone(&self.regions.entry(scope.clone()).or_default());
            self.note(scope, &region);
            region
        })
    }

    /// Looks at every scope that may have something due by `now`; `look` does what is due there. Returns when something is
    /// due next.
    pub fn look(&self, now: Moment, mut look: impl FnMut(&Region)) -> Moment {
        self.agenda.look(
            now,
            || self.regions.iter().map(|entry| entry.key().clone()).collect(),
            |scope| {
                if let Some(region) = self.peek(scope) {
                    region.touched.store(false, Ordering::Release);
                }
            },
            |scope| {
                let region = self.peek(scope)?;
                look(&region);
                Some(region.next_due())
            },
        )
    }

    /// Lets the next [`look`](Catalog::look) be at all scopes: after what has changed any of them.
    pub fn look_at_all(&self) {
        self.agenda.touch_all();
    }

    /// A table.
    pub fn table(&self, scope: &Scope, name: &str) -> Option<Arc<Table>> {
        self.region(scope)?.tables.read().get(name).cloned()
    }

    /// The place of a new table in the order of locks.
    pub fn next_ordinal(&self) -> u64 {
        self.tables_made.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Every scope that has or had tables, in order.
    pub fn scopes(&self) -> Vec<(Scope, Arc<Region>)> {
        let mut scopes: Vec<_> = self
            .regions
            .iter()
            .map(|entry| (entry.key().clone(), Arc::clone(entry.value())))
            .collect();
        scopes.sort_by(|left, right| left.0.cmp(&right.0));
        scopes
    }

    /// Every table there is.
    pub fn all(&self) -> Vec<Arc<Table>> {
        self.scopes()
            .iter()
            .flat_map(|(_, region)| region.tables.read().values().cloned().collect::<Vec<_>>())
            .collect()
    }

    /// Forgets every table.
    pub fn clear(&self) {
        let mut gone = Vec::new();
        self.regions.retain(|_, region| {
            gone.push(Arc::clone(region));
            false
        });
        // What is large is freed when the map's locks have been let go.
        drop(gone);
        self.agenda.clear();
    }
}
