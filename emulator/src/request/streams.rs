//! The requests of DynamoDB Streams.

use crate::clock::Moment;
use crate::value::Text;

requests! {
    ListStreams {
        table_name: Option<Text>,
        limit: Option<i64>,
        exclusive_start_stream_arn: Option<Text>,
    }

    ShardFilter {
        kind: Option<Text>,
        shard_id: Option<Text>,
    }

    DescribeStream {
        stream_arn: Option<Text>,
        limit: Option<i64>,
        exclusive_start_shard_id: Option<Text>,
        shard_filter: Option<ShardFilter>,
    }

    GetShardIterator {
        stream_arn: Option<Text>,
        shard_id: Option<Text>,
        shard_iterator_type: Option<Text>,
        sequence_number: Option<Text>,
        timestamp: Option<Moment>,
    }

    GetRecords {
        shard_iterator: Option<Text>,
        limit: Option<i64>,
    }
}
