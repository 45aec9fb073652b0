//! The encodings of structures and enumerations. Tags are never reused.

use std::sync::Arc;

use super::{Binary, DecodeError, Input, UNKNOWN, enumerations, structures, write_bytes};
use crate::change::Cause;
use crate::conditions::{Capacity, Conditions, Enforcement, Lag, Latency, Shards, TimeToLive};
use crate::request::{ExportTableToPointInTime, ImportTable, StartBulkPutItems};
use crate::schema::{
    Adjustments, BillingMode, Definition, Distance, Encryption, Index, KeyAttribute, KeySchema, OnDemandThroughput,
    Projection, ScalarType, SearchAttribute, StreamView, Throughput, VectorIndex,
};
use crate::storage::commit::{Mutation, Origin};
use crate::storage::{
    AttachedResourcePolicy, Attachments, BackupKind, BackupRecord, Census, ClientToken, Consistency, Destination,
    GroupState, IndexState, Insights, Job, JobKind, LineageState, PendingTransaction, Phase, PriorItem, Progress,
    QueuedUpdate, RecentChanges, Record, RecordKind, Recovery, Removal, Replica, ReplicaVersion, ReplicatedChange,
    Restored, SavedInbox, SavedIndex, Scaling, ScalingPolicy, Scope, Sequence, Shard, Stamp, StreamEnd, StreamState,
    Synchronization, TableIdentity, TableSettings, TableStream, TransferCounts, TransferKind, TransferRecord,
    TransferRequest, Witness,
};
use crate::transfer::Failure;
use crate::wire::decode::Decode;

structures! {
    Scope { account region }
    TableIdentity { scope name arn id ordinal created }
    TableSettings {
        epoch definition stream_settings time_to_live time_to_live_changed conditions index_lags replication_lags seed active_at deleted_at
        jobs recent recovery restored attached
    }
    TableStream { created view enabled_at starts end }
    StreamEnd { at settled }
    Definition {
        key attributes locals globals vectors billing throughput adjustments on_demand_since on_demand warm class
        class_changed deletion_protection encryption tags
    }
    KeyAttribute { name kind }
    KeySchema { hash range }
    Index { name key projection local throughput adjustments on_demand warm }
    VectorIndex { name attribute search projection dimensions distance }
    SearchAttribute { name kind hash }
    Throughput { read write }
    Adjustments { increased decreased decreases }
    OnDemandThroughput { max_read max_write }
    Encryption { key_arn }
    Conditions {
        time_to_live index_propagation read_staleness stale_reads monotonic_reads transaction_time replication_lag region_round_trip
        stream_lag stream_shards
        table_status statistics_age item_collection_size stream_bytes recovery_bytes capacity control_limits latency
        internal_errors throttles
    }
    Latency { read write query transaction control per_kilobyte }
    Enforcement {
        burst adaptive partition_read partition_write partition_size heat_split growth shard_readers
    }
    Census { table indexes }
    Job { work until }
    RecentChanges { deletion tags tagged protection class encryption }
    Recovery { since days }
    Restored { backup_arn table_arn at fails }
    Attachments { destinations insights policies stream_tags }
    Destination { stream_arn phase precision }
    Insights { index on failure mode requested until }
    AttachedResourcePolicy { stream current before changed until }
    GroupState { id consistency replicas witness updating_until synchronizing scaling }
    Synchronization { table before keys }
    Scaling { region index minimum maximum role_arn policy }
    ScalingPolicy { name target scale_in_cooldown scale_out_cooldown disable_scale_in }
    Witness { region active_at }
    Replica { region table source added shows_at appears_at copied_until active_at removal unprotected }
    Removal { shows_at gone_at keeps_table }
    BackupRecord { arn name kind created available expires table_name table_id table_arn table_created count }
    Progress { end failure counts cancelled }
    TransferCounts { processed written failed bytes table_bytes global_bytes local_bytes vector_bytes }
    Failure { code message }
    ClientToken { digest fingerprint done }
    PriorItem { at key old }
    ReplicaVersion { stamp seen }
    Stamp { time sequence region }
    ReplicatedChange { source key item version happened }
    SavedInbox { source paused resumed waiting delays }
    IndexState<E> { paused entries waiting delays }
    QueuedUpdate<E> { arrives item remove insert }
    StreamState { arn label table key view created enabled_at seed end numbers starts lineages }
    LineageState { shards delays }
    Shard { id parent tokens start opened end records trimmed readers }
    Record { sequence event created arrived keys old new expired size }
}

enumerations! {
    Origin { 0 Request 1 Clock 2 Replication }
    Cause { 0 Request 1 TimeToLive 2 Replication }
    ScalarType { 0 S 1 N 2 B }
    Projection { 0 All 1 KeysOnly 2 Include(names) }
    Distance { 0 Cosine 1 DotProduct 2 Euclidean }
    BillingMode { 0 Provisioned 1 PayPerRequest }
    StreamView { 0 KeysOnly 1 NewImage 2 OldImage 3 NewAndOldImages }
    Lag { 0 None 1 Fixed(lag) 2 Seeded { typical longest } 3 LongTail { typical p99 longest } }
    TimeToLive { 0 Off 1 Deletes(lag) }
    Shards { 0 Fixed(count) 1 ByThroughput }
    Capacity { 0 Reported 1 Enforced(rules) }
    JobKind {
        0 Throughput { was decreases }
        1 Billing
        2 Class { was shown_in_indexes_until }
        3 ClearLimits { read write }
        4 Encryption { key_arn shows }
        5 Warm { index was }
        6 Stream { label enables }
        7 CreateIndex { index allocated earliest }
        8 DeleteIndex { at index }
        9 DeleteVectorIndex { at index }
        10 UpdateIndex { index was decreases }
    }
    Phase { 0 Enabling { until fails } 1 Updating { until was } 2 Disabling { until } }
    Consistency { 0 Eventual 1 Strong }
    BackupKind { 0 User 1 System }
    TransferKind { 0 Export 1 Import 2 BulkPut }
    PendingTransaction { 0 Checks 1 Writes(item) }
    RecordKind { 0 Insert 1 Modify 2 Remove }
    SavedIndex { 0 Global(state) 1 Vector(state) }
    Mutation {
        0 ChangeItem { table key item cause due }
        1 HoldItem { table key until then }
        2 ReleaseItem { table key }
        3 CreateTable { identity settings }
        4 ListTable { table }
        5 RemoveTable { table }
        6 ChangeTable { table settings }
        7 EndBackfill { table index end }
        8 PauseIndex { table index paused }
        9 SplitShard { table at }
        10 RotateShards { scope stream }
        11 CreateBackup { scope table record }
        12 DeleteBackup { scope arn }
        13 ClaimBackup { scope arn until }
        14 StartTransfer { scope record table_id progress }
        15 ChangeTransfer { scope kind arn table_id progress }
        16 UseToken { token }
        17 SetConditions { conditions }
        18 SetTableConditions { scope table conditions }
        19 Reset
        20 RestoreItems { table items }
        21 RestoreIndex { table index state }
        22 RestoreRecovery { table versions dropped }
        23 RestoreStream { scope stream }
        24 ChangeReplicas { group }
        25 RestoreEntries { table index state }
        26 RestoreRecords { scope stream shard records }
        27 ReplicateItem { table key item version due }
        28 PauseReplication { table source paused }
        29 RestoreVersions { table versions }
        30 RestoreInbox { table place state }
        31 ClaimItem { table key until }
        32 TakeCensus { table period census }
        33 RestoreDeletions { table deletions }
        34 EndInterrupted
    }
}

impl Binary for Sequence {
    fn write(&self, out: &mut Vec<u8>) {
        self.ordinal().write(out);
    }

    fn read(input: &mut Input<'_>) -> Result<Sequence, DecodeError> {
        Ok(Sequence::of(u64::read(input)?))
    }
}

/// The constant texts of the engine.
const WORDS: &[&str] = &[
    // Table classes, precisions of Kinesis destinations, modes of Contributor Insights.
    "STANDARD",
    "STANDARD_INFREQUENT_ACCESS",
    "MILLISECOND",
    "MICROSECOND",
    "ACCESSED_AND_THROTTLED_KEYS",
    "THROTTLED_KEYS",
    // Failures of Contributor Insights.
    "LimitExceededException",
    Insights::TOO_MANY_RULES.1,
    // Failures of transfers.
    "InternalServerError",
    "S3NoSuchBucket",
    "S3AccessDenied",
    "KmsNotFoundException",
    "TableAlreadyExists",
    "ItemValidationError",
    // Members of transfers that responses repeat.
    "FilterSpecification",
    "IncrementalExportSpecification",
    "InputFormatOptions",
    "TableCreationParameters",
    "InputS3Configuration",
    "OutputS3Configuration",
];

impl Binary for &'static str {
    fn write(&self, out: &mut Vec<u8>) {
        write_bytes(self.as_bytes(), out);
    }

    fn read(input: &mut Input<'_>) -> Result<&'static str, DecodeError> {
        let text = input.text()?;
        WORDS.iter().find(|word| **word == text).copied().ok_or(UNKNOWN)
    }
}

impl Binary for TransferRecord {
    fn write(&self, out: &mut Vec<u8>) {
        let TransferRecord {
            arn,
            table_name,
            table_arn,
            about,
            body,
            echoed,
            start,
            token,
        } = self;
        arn.write(out);
        table_name.write(out);
        table_arn.write(out);
        about.kind().write(out);
        write_bytes(body, out);
        echoed.write(out);
        start.write(out);
        token.write(out);
    }

    fn read(input: &mut Input<'_>) -> Result<TransferRecord, DecodeError> {
        let (arn, table_name, table_arn) = (Binary::read(input)?, Binary::read(input)?, Binary::read(input)?);
        let kind = TransferKind::read(input)?;
        let body = input.bytes()?;
        Ok(TransferRecord {
            arn,
            table_name,
            table_arn,
            about: request(kind, body)?,
            body: body.to_vec(),
            echoed: Binary::read(input)?,
            start: Binary::read(input)?,
            token: Binary::read(input)?,
        })
    }
}

/// The request of a transfer, from its body.
fn request(kind: TransferKind, body: &[u8]) -> Result<TransferRequest, DecodeError> {
    let request = match kind {
        TransferKind::Export => {
            ExportTableToPointInTime::decode(body).map(|export| TransferRequest::Export(Arc::new(export)))
        }
        TransferKind::Import => ImportTable::decode(body).map(|import| TransferRequest::Import(Arc::new(import))),
        TransferKind::BulkPut => StartBulkPutItems::decode(body).map(|load| TransferRequest::BulkPut(Arc::new(load))),
    };
    request.map_err(|_| DecodeError("a request is not one"))
}
