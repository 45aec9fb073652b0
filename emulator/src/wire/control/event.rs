//! Events as JSON and as server-sent events.

use super::journal::{write_access_members, write_caller, write_error};
use super::write_number;
use crate::clock::Moment;
use crate::error::ErrorKind;
use crate::journal::{Event, EventKind, EventPage, EventSubject, RecordedAccess};
use crate::value::Name;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub fn write_event(event: &Event, writer: &mut Writer) {
    let mut object = Object::open(writer);
    object.integer("id", event.id as i64);
    object.string("at", &event.at.to_string());
    object.string("kind", kind(event));
    object.string("accessKey", &event.owner.access_key);
    object.string("region", &event.owner.region);
    if let Some(request) = event.request {
        object.integer("request", request as i64);
    }
    if let Some(table) = &event.table {
        object.string("table", table);
    }
    match &event.kind {
        EventKind::Request(request) => {
            write_caller(&request.caller, &mut object);
            object.string("operation", &request.operation);
            object.strings("tables", request.tables.iter().map(Name::as_str));
            object.integer("status", i64::from(request.status));
            write_error(request.error, &mut object);
            write_number(request.read.as_f64(), object.member("readUnits"));
            write_number(request.write.as_f64(), object.member("writeUnits"));
            object.integer("scanned", request.scanned as i64);
            object.integer("returned", request.returned as i64);
        }
        EventKind::Entry(..) => {
            if let Some(access) = event.access() {
                object.string("outcome", outcome(access));
                write_access_members(access, &mut object);
            }
        }
        EventKind::IndexChange(index, subject, arrives) => {
            object.string("index", index);
            write_subject(subject, &mut object);
            if let Some(arrives) = arrives {
                write_moment("arrives", *arrives, &mut object);
            }
        }
        EventKind::IndexArrival(index, subject) => {
            object.string("index", index);
            write_subject(subject, &mut object);
        }
        EventKind::TransactionHold(subject, until) => {
            write_subject(subject, &mut object);
            write_moment("until", *until, &mut object);
        }
        EventKind::TransactionApplied(subject) | EventKind::Expiry(subject) => write_subject(subject, &mut object),
        EventKind::ExpirySchedule(subject, expires, due) => {
            write_subject(subject, &mut object);
            write_moment("expires", *expires, &mut object);
            write_moment("due", *due, &mut object);
        }
        EventKind::StreamRecord(subject, arrives) => {
            write_subject(subject, &mut object);
            write_moment("arrives", *arrives, &mut object);
        }
        EventKind::Replication(region, subject, arrives) => {
            object.string("to", region);
            write_subject(subject, &mut object);
            if let Some(arrives) = arrives {
                write_moment("arrives", *arrives, &mut object);
            }
        }
        EventKind::ReplicationArrival(region, subject, applied) => {
            object.string("from", region);
            write_subject(subject, &mut object);
            object.boolean("applied", *applied);
        }
        EventKind::ReplicationConflict(subject, writes) => {
            write_subject(subject, &mut object);
            for (name, write) in [("lost", &writes.0), ("won", &writes.1)] {
                let mut member = Object::open(object.member(name));
                member.string("region", &write.region);
                write_moment("at", write.at, &mut member);
                member.close();
            }
        }
        EventKind::PartitionSplit(token) | EventKind::ShardSplit(token) => write_token("token", *token, &mut object),
    }
    object.close();
}

/// The name of an event's kind.
fn kind(event: &Event) -> &'static str {
    match event.kind {
        EventKind::Request(_) => "request",
        EventKind::Entry(..) => "entry",
        EventKind::IndexChange(..) => "indexChange",
        EventKind::IndexArrival(..) => "indexArrival",
        EventKind::TransactionHold(..) => "transactionHold",
        EventKind::TransactionApplied(_) => "transactionApplied",
        EventKind::ExpirySchedule(..) => "expirySchedule",
        EventKind::Expiry(_) => "expiry",
        EventKind::StreamRecord(..) => "streamRecord",
        EventKind::Replication(..) => "replication",
        EventKind::ReplicationArrival(..) => "replicationArrival",
        EventKind::ReplicationConflict(..) => "replicationConflict",
        EventKind::PartitionSplit(_) => "partitionSplit",
        EventKind::ShardSplit(_) => "shardSplit",
    }
}

/// The outcome of an entry, in a word.
fn outcome(access: &RecordedAccess) -> &'static str {
    match access.error {
        None => "done",
        Some(ErrorKind::ConditionalCheckFailed | ErrorKind::DuplicateItem) => "conditionFailed",
        Some(ErrorKind::TransactionConflict) => "conflict",
        Some(ErrorKind::ProvisionedThroughputExceeded | ErrorKind::Throttling | ErrorKind::RequestLimitExceeded) => {
            "throttled"
        }
        Some(_) => "failed",
    }
}

fn write_subject(subject: &EventSubject, object: &mut Object<'_>) {
    object.string("action", subject.action);
    object.map("key", &subject.key);
    if let Some(token) = subject.token {
        write_token("token", token, object);
    }
}

/// Tokens are texts: not every reader of JSON has whole numbers of 64 bits.
pub(super) fn write_token(name: &str, token: u64, object: &mut Object<'_>) {
    object.string(name, &format!("{token:016x}"));
}

/// A moment that may lie beyond the last that can be written.
fn write_moment(name: &str, moment: Moment, object: &mut Object<'_>) {
    if moment < Moment::NEVER {
        object.string(name, &moment.to_string());
    }
}

/// A page of events as `text/event-stream`: each with its number as id, and at the end the number of the last one, whether
/// it is shown or not. Without events it is a comment.
pub fn event_stream<'e>(page: &EventPage, shown: impl Iterator<Item = &'e Event>) -> Vec<u8> {
    let mut text = Vec::new();
    if page.cleared {
        text.extend_from_slice(b"event: cleared\ndata: {}\n\n");
    }
    if page.missed > 0 {
        text.extend_from_slice(format!("event: missed\ndata: {{\"missed\":{}}}\n\n", page.missed).as_bytes());
    }
    for event in shown {
        let mut writer = Writer::with_capacity(256);
        write_event(event, &mut writer);
        text.extend_from_slice(format!("id: {}\ndata: ", event.id).as_bytes());
        text.extend_from_slice(&writer.finish());
        text.extend_from_slice(b"\n\n");
    }
    text.extend_from_slice(format!("id: {}\n\n", page.next).as_bytes());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_names_what_its_reader_has_missed() {
        for (missed, cleared, expected) in [
            (0, false, ""),
            (1, false, "event: missed\ndata: {\"missed\":1}\n\n"),
            (7, false, "event: missed\ndata: {\"missed\":7}\n\n"),
            (0, true, "event: cleared\ndata: {}\n\n"),
            (
                2,
                true,
                "event: cleared\ndata: {}\n\nevent: missed\ndata: {\"missed\":2}\n\n",
            ),
        ] {
            let page = EventPage {
                next: 9,
                missed,
                cleared,
                ..EventPage::default()
            };
            let text = String::from_utf8(event_stream(&page, std::iter::empty())).unwrap();
            assert_eq!(text, format!("{expected}id: 9\n\n"));
        }
    }
}
