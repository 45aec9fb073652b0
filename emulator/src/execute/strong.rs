//! Requests of global tables with strong consistency between their regions (docs/behavior: 08 1, 08 7).
//!
//! A write claims its item among all regions, and is applied in every region that is not cut off before its response.
//! So a region has every completed write, and its strongly consistent reads need only their own partition.

use std::sync::Arc;

use super::due;
use crate::chance::{self, StableHash};
use crate::change::Change;
use crate::clock::Moment;
use crate::context::Context;
use crate::error::ApiError;
use crate::key::Key;
use crate::plan::Write;
use crate::storage::{Consistency, ReplicaGroup, Table};

/// The group of a table with strong consistency.
fn strong_group(table: &Table) -> Option<Arc<ReplicaGroup>> {
    let group = table.replica_group()?;
    let is_strong = group.state().consistency == Consistency::Strong && !group.peers(table.ordinal).is_empty();
    is_strong.then_some(group)
}

/// Whether a region cannot reach any other: it is isolated, or all others are and there is no witness.
fn is_alone(table: &Table, group: &ReplicaGroup) -> bool {
    let are_cut_off = || group.peers(table.ordinal).iter().all(|peer| peer.is_cut_off());
    table.is_cut_off() || (group.state().witness.is_none() && are_cut_off())
}

/// How long a request waits for another region, which depends on the item and the number of earlier requests for it.
fn round_trip(context: &Context<'_>, table: &Table, key: &[u8]) -> Moment {
    let lag = table.shape().conditions.region_round_trip;
    if lag.is_none() {
        return context.now;
    }
    let seed = context.engine.seed();
    let name = StableHash::new(seed).bytes(b"round trip");
    let id = name.bytes(table.name.as_bytes()).bytes(key).finish();
    let ordinal = context.engine.decided().next(context.scope.hash(), id);
    let decision = chance::decide(seed, "round trip", &id.to_le_bytes(), ordinal);
    context.now.plus(lag.of(decision))
}

/// Executes a write of a table that may be a replica.
#[cold]
pub(super) fn write(
    context: &Context<'_>,
    write: &Write<'_>,
    carry_out: impl FnOnce() -> Result<Change, ApiError>,
) -> Result<Change, ApiError> {
    let table = &write.target.table;
    let Some(group) = strong_group(table) else {
        return carry_out();
    };
    if is_alone(table, &group) {
        return Err(ApiError::internal());
    }
    let claims = group.claims();
    let Some(claim) = claims.claim(&write.key, &table.scope.region, context.now) else {
        return Err(ApiError::replicated_write_conflict());
    };
    let turn = claims.take_turn();
    let change = carry_out()?;
    for peer in group.peers(table.ordinal) {
        let partition = peer.partition(peer.partition_of(write.key.token));
        due::run_partition(&peer, partition, context.now);
    }
    drop(turn);
    let done = round_trip(context, table, &write.key.bytes);
    if done > context.now {
        table.keep_claim(&claim, done, context.now);
    }
    context.wait(done.since(context.now));
    Ok(change)
}

/// Whether a strongly consistent read of a table that may be a replica is possible; `key` is its key, if it reads one item.
#[cold]
pub(super) fn admit_read(context: &Context<'_>, table: &Table, key: Option<&Key>) -> Result<(), ApiError> {
    let Some(group) = strong_group(table) else {
        return Ok(());
    };
    if is_alone(table, &group) {
        return Err(ApiError::internal());
    }
    let done = round_trip(context, table, key.map_or(&[], |key| &key.bytes));
    context.wait(done.since(context.now));
    Ok(())
}

/// Rejects transactions on a table with strong consistency. The service's text is not recorded.
#[inline]
pub(super) fn admit_transaction(table: &Table) -> Result<(), ApiError> {
    if table.is_replica() && strong_group(table).is_some() {
        return Err(ApiError::validation(
            "Transactions are not supported for global tables with MultiRegionConsistency set to STRONG.",
        ));
    }
    Ok(())
}
