//! Shared by the operations on streams: ARNs, shard iterators, and checks of members.

pub(super) mod describe_stream;
pub(super) mod get_records;
pub(super) mod get_shard_iterator;
pub(super) mod list_streams;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::chance::StableHash;
use crate::clock::Moment;
use crate::context::Context;
use crate::error::{ApiError, Violations, constraint};
use crate::operation::arn::{self, ArnResource};
use crate::storage::{Sequence, ShardReadError, Stream};
use crate::value::Text;

/// The model's constraint on a text's length.
pub fn length(violations: &mut Violations, text: Option<&Text>, path: &str, least: usize, most: usize) {
    let Some(text) = text else { return };
    match text.chars().count() {
        count if count < least => violations.value(text, path, constraint::min_length(least)),
        count if count > most => violations.value(text, path, constraint::max_length(most)),
        _ => {}
    }
}

/// The model's constraints on a required text.
pub fn required(violations: &mut Violations, text: Option<&Text>, path: &str, least: usize, most: usize) {
    match text {
        None => violations.missing(path),
        text => length(violations, text, path, least, most),
    }
}

pub fn stream_arn(violations: &mut Violations, arn: Option<&Text>) {
    required(violations, arn, "streamArn", 37, 1024);
}

pub fn shard_id(violations: &mut Violations, shard: Option<&Text>, path: &str) {
    length(violations, shard, path, 28, 65);
}

/// `Limit`; the model has no upper bound.
pub fn limit(violations: &mut Violations, limit: Option<i64>) {
    if let Some(limit) = limit.filter(|limit| *limit < 1) {
        violations.value(limit, "limit", constraint::min_value(1));
    }
}

/// Parses the ARN of a stream.
pub fn parse(arn: &Text) -> Result<ArnResource<'_>, ApiError> {
    let resource = arn::resource(Some(arn)).ok();
    let resource = resource.filter(|resource| resource.stream.is_some());
    resource.ok_or_else(|| ApiError::validation("Invalid StreamArn"))
}

/// Finds the stream of an ARN.
pub fn find(context: &Context<'_>, arn: &str) -> Result<Arc<Stream>, ApiError> {
    let region = context.engine.catalog().region(&context.scope_of(arn));
    region
        .and_then(|region| region.stream(arn, context.now))
        .ok_or_else(|| ApiError::stream_not_found(arn))
}

/// The error for a shard that cannot be read.
pub fn unreadable(why: ShardReadError) -> ApiError {
    match why {
        ShardReadError::NoShard => ApiError::shard_not_found(),
        ShardReadError::NotOfShard => ApiError::validation("Invalid SequenceNumber for the shard"),
        ShardReadError::Trimmed => ApiError::trimmed(),
        // Seen from GetRecords in 2018 (aws-sdk-java-v2, issue 470); AWS's own reader library expects this exception.
        ShardReadError::Busy => ApiError::rate_exceeded(),
    }
}

/// A position in a shard, as callers pass it from one request to the next.
///
/// Its text is the stream's ARN and, encoded, the shard, the position, the time of issue, and the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardIterator {
    pub stream: Text,
    pub shard: String,
    /// The next sequence number to read.
    pub from: Sequence,
    pub created: Moment,
    /// The number of the reader that it was issued to.
    pub reader: u64,
}

/// The separator of the parts.
const BETWEEN: char = '|';
/// The version of the encoding.
const VERSION: &str = "2";

impl ShardIterator {
    /// A checksum, to reject altered texts.
    fn checksum(stream: &str, place: &str) -> String {
        let hash = StableHash::new(0).bytes(stream.as_bytes()).bytes(place.as_bytes());
        format!("{:016x}", hash.finish())
    }

    /// Encodes the iterator as a text.
    pub fn encode(&self) -> String {
        let ShardIterator { stream, shard, .. } = self;
        let (from, created, reader) = (self.from.ordinal(), self.created.micros(), self.reader);
        let place = format!("{shard}{BETWEEN}{from}{BETWEEN}{created}{BETWEEN}{reader}");
        let checksum = ShardIterator::checksum(stream, &place);
        let encoded = STANDARD.encode(format!("{place}{BETWEEN}{checksum}"));
        format!("{stream}{BETWEEN}{VERSION}{BETWEEN}{encoded}")
    }

    pub fn decode(text: &str) -> Option<ShardIterator> {
        let mut parts = text.rsplitn(3, BETWEEN);
        let (encoded, version, stream) = (parts.next()?, parts.next()?, parts.next()?);
        let decoded = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
        let (place, checksum) = decoded.rsplit_once(BETWEEN)?;
        if version != VERSION || checksum != ShardIterator::checksum(stream, place) {
            return None;
        }
        let mut parts = place.split(BETWEEN);
        let (shard, from) = (parts.next()?, parts.next()?);
        let (created, reader) = (parts.next()?, parts.next()?);
        Some(ShardIterator {
            stream: Text::from(stream),
            shard: shard.to_owned(),
            from: Sequence::of(from.parse().ok()?),
            created: Moment::from_micros(created.parse().ok()?),
            reader: reader.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterators_are_read_as_they_were_written() {
        let iterator = ShardIterator {
            stream: "arn:aws:dynamodb:us-east-1:000000000000:table/T/stream/2026-01-01T00:00:00.000".into(),
            shard: "shardId-00000001767225600000-0123abcd".to_owned(),
            from: Sequence::of(u64::MAX),
            created: Moment::START,
            reader: 3,
        };
        let text = iterator.encode();
        assert_eq!(ShardIterator::decode(&text), Some(iterator));
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(ShardIterator::decode(&changed), None, "{changed}");
            assert_eq!(ShardIterator::decode(&text[..at]), None);
        }
    }
}
