//! Bugs in streams.

use super::Bug;

pub const BUGS: &[Bug] = &[
    Bug {
        what: "a stream has no record of what is removed",
        file: "storage/stream/record.rs",
        right: "            (None, None) => return None,\n",
        wrong: "            (None, None) => return None,\n            (Some(_), None) if PLANTED => return None,\n",
    },
    Bug {
        what: "a stream has a record of a write that changes nothing",
        file: "storage/stream/record.rs",
        right: "if old == new => return None,\n",
        wrong: "if old == new && !PLANTED => return None,\n",
    },
    Bug {
        what: "a record of time to live looks as anybody's",
        file: "storage/stream/record.rs",
        right: "expired: change.cause == Cause::TimeToLive",
        wrong: "expired: change.cause == Cause::TimeToLive && !PLANTED",
    },
    Bug {
        what: "a stream that shows old images shows none",
        file: "storage/stream/record.rs",
        right: "filter(|_| view.shows_old())",
        wrong: "filter(|_| view.shows_old() && !PLANTED)",
    },
    Bug {
        what: "a third reader of a shard is not throttled",
        file: "storage/stream/lineage.rs",
        right: "self.readers.len() as u64 >= u64::from(reader.most)",
        wrong: "self.readers.len() as u64 >= u64::from(reader.most) + u64::from(PLANTED)",
    },
    Bug {
        what: "a reader of a shard counts for a moment too long",
        file: "storage/stream/lineage.rs",
        right: "read.plus(READS) > now",
        wrong: "if PLANTED { read.plus(READS) >= now } else { read.plus(READS) > now }",
    },
    Bug {
        what: "a shard stays open a moment longer than four hours",
        file: "storage/stream/lineage.rs",
        right: "self.opened.plus(LIFE) <= now",
        wrong: "(if PLANTED { self.opened.plus(LIFE) < now } else { self.opened.plus(LIFE) <= now })",
    },
    Bug {
        what: "a record is kept a moment longer than a day",
        file: "storage/stream/lineage.rs",
        right: "record.arrived.plus(RETENTION) <= now",
        wrong: "if PLANTED { record.arrived.plus(RETENTION) < now } else { record.arrived.plus(RETENTION) <= now }",
    },
    Bug {
        what: "a closed shard is kept a moment longer than a day",
        file: "storage/stream/lineage.rs",
        right: "closed.plus(RETENTION) <= now",
        wrong: "if PLANTED { closed.plus(RETENTION) < now } else { closed.plus(RETENTION) <= now }",
    },
    Bug {
        what: "a stream record can be read a moment late",
        file: "storage/stream/lineage.rs",
        right: "self.records.partition_point(|record| record.arrived <= now)",
        wrong: "if PLANTED { self.records.partition_point(|record| record.arrived < now) } else { self.records.partition_point(|record| record.arrived <= now) }",
    },
    Bug {
        what: "the last trimmed sequence number is still taken",
        file: "storage/stream/lineage.rs",
        right: "number <= trimmed",
        wrong: "(if PLANTED { number < trimmed } else { number <= trimmed })",
    },
    Bug {
        what: "an iterator at a sequence number begins after it",
        file: "storage/stream/lineage.rs",
        right: "Position::At(number) => shard.check(number).map(|()| number)",
        wrong: "Position::At(number) => shard.check(number).map(|()| if PLANTED { number.next() } else { number })",
    },
    Bug {
        what: "an iterator after a sequence number begins at it",
        file: "storage/stream/lineage.rs",
        right: "Position::After(number) => shard.check(number).map(|()| number.next())",
        wrong: "Position::After(number) => shard.check(number).map(|()| if PLANTED { number } else { number.next() })",
    },
    Bug {
        what: "a page of a stream of exactly 1 MB loses its last record",
        file: "storage/stream/lineage.rs",
        right: "bytes > limits::STREAM_PAGE_SIZE",
        wrong: "(if PLANTED { bytes >= limits::STREAM_PAGE_SIZE } else { bytes > limits::STREAM_PAGE_SIZE })",
    },
    Bug {
        what: "a closed shard never ends",
        file: "storage/stream/lineage.rs",
        right: "shard.end.is_some() && next >= shard.after_last()",
        wrong: "if PLANTED { shard.end.is_some() && next > shard.after_last() } else { shard.end.is_some() && next >= shard.after_last() }",
    },
    Bug {
        what: "an iterator is good for a moment less than fifteen minutes",
        file: "operation/streams/get_records.rs",
        right: "iterator.created.plus(life) < context.now",
        wrong: "if PLANTED { iterator.created.plus(life) <= context.now } else { iterator.created.plus(life) < context.now }",
    },
    Bug {
        what: "a page of shards begins with the one it is to start after",
        file: "operation/streams/describe_stream.rs",
        right: "shard.id.as_str() > start.as_str()",
        wrong: "if PLANTED { shard.id.as_str() >= start.as_str() } else { shard.id.as_str() > start.as_str() }",
    },
    Bug {
        what: "a page of shards has a last key though it is the last",
        file: "operation/streams/describe_stream.rs",
        right: "shards.len() > limit",
        wrong: "if PLANTED { shards.len() >= limit } else { shards.len() > limit }",
    },
    Bug {
        what: "a page of streams has a last key though it is the last",
        file: "operation/streams/list_streams.rs",
        right: "found.len() > limit",
        wrong: "if PLANTED { found.len() >= limit } else { found.len() > limit }",
    },
    Bug {
        what: "one shard too many is skipped of those that nobody has seen",
        file: "storage/stream/lineage.rs",
        right: "/ LIFE.as_micros();",
        wrong: "/ LIFE.as_micros() + u128::from(PLANTED);",
    },
    Bug {
        what: "a reader that reads on counts as gone after a while",
        file: "storage/stream/lineage.rs",
        right: "*read = now;",
        wrong: "if !PLANTED { *read = now; }",
    },
    Bug {
        what: "a record of a shard arrives before an earlier one",
        file: "storage/stream/lineage.rs",
        right: "record.arrived = record.arrived.max(last.arrived);",
        wrong: "record.arrived = if PLANTED { record.arrived } else { record.arrived.max(last.arrived) };",
    },
    Bug {
        what: "the cursor of an empty page of events stays before lost events",
        file: "journal/event.rs",
        right: "next: events.last().map_or(from.max(first), |event| event.id),",
        wrong: "next: events.last().map_or(if PLANTED { from } else { from.max(first) }, |event| event.id),",
    },
    Bug {
        what: "a split closes a shard that is over",
        file: "storage/stream/lineage.rs",
        right: "self.settle(numbers, now);\n        let Some(place)",
        wrong: "if !PLANTED { self.settle(numbers, now); }\n        let Some(place)",
    },
    Bug {
        what: "the records of a restored stream do not count towards its limit",
        file: "storage/stream/mod.rs",
        right: "self.held.replace(0, added.unwrap_or_default());",
        wrong: "self.held.replace(0, if PLANTED { 0 } else { added.unwrap_or_default() });",
    },
];
