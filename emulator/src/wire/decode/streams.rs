//! Decodes the requests of DynamoDB Streams.

use super::Decoder;
use super::shape::{requests, structures};
use super::value_errors::ValueLayer;
use crate::request::{DescribeStream, GetRecords, GetShardIterator, ListStreams, ShardFilter};

/// These requests contain no attribute values, so the layer does not matter.
const NO_VALUES: ValueLayer = ValueLayer::Current { enveloped: false };

requests! {
    ListStreams: NO_VALUES,
    DescribeStream: NO_VALUES,
    GetShardIterator: NO_VALUES,
    GetRecords: NO_VALUES,
}

structures! {
    ListStreams => ListStreams, "ListStreamsInput" {
        "TableName" => table_name = Decoder::text,
        "Limit" => limit = Decoder::integer,
        "ExclusiveStartStreamArn" => exclusive_start_stream_arn = Decoder::text,
    }

    ShardFilter => ShardFilter, "ShardFilter" {
        "Type" => kind = Decoder::text,
        "ShardId" => shard_id = Decoder::text,
    }

    DescribeStream => DescribeStream, "DescribeStreamInput" {
        "StreamArn" => stream_arn = Decoder::text,
        "Limit" => limit = Decoder::integer,
        "ExclusiveStartShardId" => exclusive_start_shard_id = Decoder::text,
        "ShardFilter" => shard_filter = Decoder::structure::<ShardFilter>,
    }

    GetShardIterator => GetShardIterator, "GetShardIteratorInput" {
        "StreamArn" => stream_arn = Decoder::text,
        "ShardId" => shard_id = Decoder::text,
        "ShardIteratorType" => shard_iterator_type = Decoder::text,
        "SequenceNumber" => sequence_number = Decoder::text,
        "Timestamp" => timestamp = Decoder::timestamp,
    }

    GetRecords => GetRecords, "GetRecordsInput" {
        "ShardIterator" => shard_iterator = Decoder::text,
        "Limit" => limit = Decoder::integer,
    }
}
