//! The streams of a region.

use std::sync::Arc;
use std::time::Duration;

use super::Stream;
use crate::clock::Moment;
use crate::sorted::SortedMap;
use crate::sync::RwLock;

/// The streams of the existing and former tables of a region, by ARN. No lock is acquired under this lock but a stream's own.
#[derive(Debug, Default)]
pub struct Streams(RwLock<SortedMap<String, Arc<Stream>>>);

impl Streams {
    /// Adds a stream. It can be found until it has been closed for a day.
    pub(in crate::storage) fn add(&self, stream: &Arc<Stream>) {
        let mut streams = self.0.write();
        streams.get_or_insert(stream.arn.clone(), Arc::clone(stream));
    }

    /// Finds the stream of an ARN.
    pub(in crate::storage) fn get(&self, arn: &str) -> Option<Arc<Stream>> {
        self.0.read().get(arn).cloned()
    }

    /// All streams, ordered by ARN.
    pub(in crate::storage) fn all(&self) -> Vec<Arc<Stream>> {
        self.0.read().values().cloned().collect()
    }

    /// Finds the stream of an ARN, unless it has been closed for a day.
    pub(in crate::storage) fn find(&self, arn: &str, now: Moment) -> Option<Arc<Stream>> {
        self.get(arn).filter(|stream| !stream.is_gone(now))
    }

    /// The streams whose ARNs come after this one, in order.
    pub(in crate::storage) fn after(&self, arn: Option<&str>, now: Moment) -> Vec<Arc<Stream>> {
        let streams = self.0.read();
        let there = streams.after(arn).map(|(_, stream)| stream);
        there.filter(|stream| !stream.is_gone(now)).cloned().collect()
    }

    /// The moment of the label of a new stream of a table: now, or the next one that is not the label of another
    /// stream, since the clock may be frozen.
    pub(in crate::storage) fn new_label(&self, table_arn: &str, now: Moment) -> Moment {
        let prefix = format!("{table_arn}/stream/");
        let streams = self.0.read();
        let there = streams.after(Some(prefix.as_str()));
        there
            .take_while(|(arn, _)| arn.starts_with(&prefix))
            .map(|(_, stream)| stream.created.plus(Duration::from_millis(1)))
            .fold(now, Moment::max)
    }

    /// Drops records, shards and streams that are too old to be read.
    pub(in crate::storage) fn trim(&self, now: Moment) {
        if self.next_trim() > now {
            return;
        }
        for stream in self.all() {
            stream.rotate_due(now);
        }
        let mut streams = self.0.write();
        streams.retain(|stream| !stream.is_gone(now));
        streams.values().for_each(|stream| stream.trim(now));
    }

    /// When the next part of a stream becomes too old to be read.
    pub(in crate::storage) fn next_trim(&self) -> Moment {
        let streams = self.0.read();
        streams
            .values()
            .map(|stream| stream.next_trim())
            .min()
            .unwrap_or(Moment::NEVER)
    }
}
