//! Reads of streams.

use std::sync::Arc;

use super::due;
use crate::conditions::Capacity;
use crate::context::Context;
use crate::storage::{Sequence, ShardPage, ShardReadError, ShardReader, Stream, Table};

/// The table whose records a stream receives; `None` for a closed stream.
fn table_of(context: &Context<'_>, stream: &Arc<Stream>) -> Option<Arc<Table>> {
    let table = context
        .engine
        .catalog()
        .table(&context.scope_of(&stream.arn), &stream.table)?;
    let shape = table.shape();
    let takes = shape.stream.as_ref().is_some_and(|there| Arc::ptr_eq(there, stream));
    takes.then_some(table)
}

/// Runs the work that is due in the stream's table, so that the stream has its records.
pub fn settle_stream(context: &Context<'_>, stream: &Arc<Stream>) {
    if let Some(table) = table_of(context, stream) {
        due::run_partitions(&table, context.now);
    }
}

/// The maximum number of concurrent readers of a shard.
fn readers(context: &Context<'_>, stream: &Stream) -> u32 {
    let scope = context.scope_of(&stream.arn);
    match context.engine.conditions_of(&scope, &stream.table).capacity {
        Capacity::Reported => u32::MAX,
        Capacity::Enforced(rules) => rules.shard_readers,
    }
}

/// Reads a shard from a sequence number on, for the reader of this number (0: no particular reader). The partitions
/// with its records are locked meanwhile: a reader that sees one record of a transaction finds all the others, in every
/// shard. Due deletions are applied until the page is full.
pub fn read_stream(
    context: &Context<'_>,
    stream: &Arc<Stream>,
    shard: &str,
    (from, reader): (Sequence, u64),
    most: usize,
) -> Result<ShardPage, ShardReadError> {
    let now = context.now;
    let place = stream.place_of_shard(shard, now).ok_or(ShardReadError::NoShard)?;
    let reader = ShardReader {
        number: reader,
        most: readers(context, stream),
    };
    let read = || stream.read(place, shard, from, most, reader, now);
    let Some(table) = table_of(context, stream) else {
        return read();
    };
    let (first, last) = stream.tokens_of_place(place);
    let partitions = &table.partitions()[table.partition_of(first)..=table.partition_of(last)];
    due::read_records(&table, partitions, now, || {
        let page = read();
        let is_final = page.as_ref().map_or(true, |page| page.is_full || page.next.is_none());
        (page, is_final)
    })
}
