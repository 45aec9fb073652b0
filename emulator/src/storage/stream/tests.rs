use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::conditions::Lag;
use crate::key::Key;
use crate::limits;
use crate::schema::{Definition, KeyAttribute, ScalarType};
use crate::value::{AttributeValue, Item, Map};

const HOUR: Duration = Duration::from_hours(1);

fn schema() -> KeySchema {
    let attribute = |name: &str| KeyAttribute {
        name: name.into(),
        kind: ScalarType::S,
    };
    KeySchema::new([attribute("pk")], [])
}

fn stream(view: StreamView) -> Stream {
    Stream::new(StreamSettings {
        table: "tab".into(),
        table_arn: "arn:aws:dynamodb:us-east-1:000000000000:table/tab",
        key: schema(),
        view,
        created: Moment::START,
        enabled_at: Moment::START,
        seed: 7,
        starts: vec![0, QUARTER, 2 * QUARTER, 3 * QUARTER],
    })
}

fn item(pk: &str, v: &str) -> Item {
    let entries = [("pk", pk), ("v", v)].map(|(name, value)| (name.into(), AttributeValue::string(value)));
    Item::new(&Map::from_entries(entries.to_vec()))
}

/// A change of the item under `pk`, as if its key had this token.
fn change(token: u64, old: Option<&str>, new: Option<&str>) -> Change {
    let item = |v: Option<&str>| v.map(|v| item("a", v));
    let mut key = Key::of_item(&schema(), &self::item("a", "").attributes()).unwrap();
    key.token = token;
    Change::new(&Definition::of_key(schema()), key, item(old), item(new))
}

/// The tokens that a stream's open shards begin with are these quarters of the ring.
const QUARTER: u64 = 1 << 62;

/// How long records take to be readable.
fn delayed(lag: Lag) -> Propagation<'static> {
    Propagation {
        seed: 7,
        place: "/stream",
        lag,
    }
}

/// A reader among any number of them.
const ANY: ShardReader = ShardReader {
    number: 0,
    most: u32::MAX,
};

fn put(stream: &Stream, token: u64, v: &str, now: Moment) {
    stream.record(&change(token, None, Some(v)), &delayed(Lag::None), None, now);
}

/// The values in a shard's records, from a position on.
fn values(stream: &Stream, shard: &str, position: Position, now: Moment) -> Result<Vec<String>, ShardReadError> {
    let place = stream.place_of_shard(shard, now).ok_or(ShardReadError::NoShard)?;
    let from = stream.position(place, shard, position, now)?;
    let slice = stream.read(place, shard, from, 1000, ANY, now)?;
    let value = |record: &Record| match record.new.as_ref().and_then(|new| new.get("v")) {
        Some(AttributeValue::S(text)) => text.to_string(),
        _ => "-".to_owned(),
    };
    Ok(slice.records.iter().map(value).collect())
}

fn open(stream: &Stream, now: Moment) -> Vec<ShardView> {
    let mut shards = stream.shards(now);
    shards.retain(|shard| shard.end.is_none());
    shards
}

fn close(stream: &Stream, at: Moment, settled: Moment) {
    stream.close(&Committed::replayed(at), StreamEnd { at, settled });
}

#[test]
fn what_a_record_shows() {
    let (old, new, both) = (Some("x"), Some("yy"), StreamView::NewAndOldImages);
    // A key of 3 bytes; items of 5 and 6.
    for (view, old, new, expect) in [
        (both, None, new, Some((RecordKind::Insert, false, true, 9))),
        (both, old, new, Some((RecordKind::Modify, true, true, 14))),
        (both, old, None, Some((RecordKind::Remove, true, false, 8))),
        (both, old, old, None),
        (both, None, None, None),
        (
            StreamView::KeysOnly,
            old,
            new,
            Some((RecordKind::Modify, false, false, 3)),
        ),
        (
            StreamView::NewImage,
            old,
            new,
            Some((RecordKind::Modify, false, true, 9)),
        ),
        (
            StreamView::NewImage,
            old,
            None,
            Some((RecordKind::Remove, false, false, 3)),
        ),
        (
            StreamView::OldImage,
            old,
            new,
            Some((RecordKind::Modify, true, false, 8)),
        ),
        (
            StreamView::OldImage,
            None,
            new,
            Some((RecordKind::Insert, false, false, 3)),
        ),
    ] {
        let record = Record::of(&change(0, old, new), view, &schema(), Moment::START);
        let found = record.map(|each| (each.event, each.old.is_some(), each.new.is_some(), each.size()));
        assert_eq!(found, expect, "{view:?} {old:?} {new:?}");
    }
}

#[test]
fn a_token_has_its_shard() {
    let stream = stream(StreamView::NewImage);
    let now = Moment::START;
    let tokens = [0, QUARTER - 1, QUARTER, 2 * QUARTER, 3 * QUARTER, u64::MAX];
    for (token, v) in tokens.into_iter().zip(["a", "b", "c", "d", "e", "f"]) {
        put(&stream, token, v, now);
    }
    let found: Vec<_> = stream
        .shards(now)
        .iter()
        .map(|shard| values(&stream, &shard.id, Position::TrimHorizon, now).unwrap().concat())
        .collect();
    assert_eq!(found, ["ab", "c", "d", "ef"]);
}

#[test]
fn a_split_closes_the_parent_and_opens_two_children() {
    let stream = stream(StreamView::NewImage);
    let now = Moment::START;
    put(&stream, 10, "before", now);
    let parent = stream.shards(now)[0].clone();
    let middle = QUARTER / 2;
    assert!(stream.split(&Committed::replayed(now), middle));
    assert!(
        !stream.split(&Committed::replayed(now), middle),
        "there is a border already"
    );
    assert!(
        !stream.split(&Committed::replayed(now), QUARTER),
        "and there was one from the beginning"
    );
    for (token, v) in [
        (middle - 1, "left"),
        (middle, "right"),
        (10, "left"),
        (QUARTER - 1, "right"),
    ] {
        put(&stream, token, v, now);
    }
    let shards = stream.shards(now);
    assert_eq!(shards.len(), 6);
    let children: Vec<_> = shards
        .iter()
        .filter(|shard| shard.parent.as_ref() == Some(&parent.id))
        .collect();
    let read = |shard: &ShardView| values(&stream, &shard.id, Position::TrimHorizon, now).unwrap();
    assert_eq!(read(children[0]), ["left", "left"]);
    assert_eq!(read(children[1]), ["right", "right"]);
    let closed = shards.iter().find(|shard| shard.id == parent.id).unwrap();
    assert_eq!(read(closed), ["before"]);
    let end = closed.end.unwrap();
    assert!(children.iter().all(|child| child.start > end && child.end.is_none()));
    // A child can be split in turn.
    assert!(stream.split(&Committed::replayed(now), middle + 5));
    assert_eq!(open(&stream, now).len(), 6);
}

/// A shard that is over when it is split ended after four hours: the split is that of its successor.
#[test]
fn a_shard_that_is_over_is_followed_before_a_split() {
    let stream = stream(StreamView::NewImage);
    let later = |hours: u32| Moment::START.plus(HOUR * hours);
    let first = stream.shards(Moment::START)[0].id.clone();
    assert!(stream.split(&Committed::replayed(later(5)), QUARTER / 2));
    put(&stream, 0, "left", later(5));
    let shards = stream.shards(later(5));
    let children = |id: &str| -> Vec<String> {
        let children = shards.iter().filter(|shard| shard.parent.as_deref() == Some(id));
        children.map(|shard| shard.id.clone()).collect()
    };
    let successors = children(&first);
    assert_eq!(successors.len(), 1);
    let halves = children(&successors[0]);
    assert_eq!(halves.len(), 2);
    let read = |id: &String| values(&stream, id, Position::TrimHorizon, later(5)).unwrap();
    assert_eq!(halves.iter().map(read).collect::<Vec<_>>(), [vec!["left"], vec![]]);
    // The halves are open for four hours from the split on.
    let open = open(&stream, later(8));
    assert!(halves.iter().all(|half| open.iter().any(|shard| shard.id == *half)));
}

#[test]
fn a_shard_is_followed_after_four_hours() {
    let stream = stream(StreamView::NewImage);
    let first = stream.shards(Moment::START)[0].clone();
    let later = |hours: u32| Moment::START.plus(HOUR * hours);
    put(&stream, 0, "early", later(3));
    put(&stream, 0, "late", later(5));
    assert_eq!(
        values(&stream, &first.id, Position::TrimHorizon, later(5)).unwrap(),
        ["early"]
    );
    let shards = stream.shards(later(5));
    let child = shards
        .iter()
        .find(|shard| shard.parent.as_ref() == Some(&first.id))
        .unwrap();
    assert_eq!(
        values(&stream, &child.id, Position::TrimHorizon, later(5)).unwrap(),
        ["late"]
    );
    // Every shard but the first has an older parent; a year later as well, when most were replaced unseen. In each line of
    // descent, one is open, and six have been closed within the last day.
    for now in [later(29), later(24 * 365), later(24 * 730 + 3), later(24 * 730 + 4)] {
        let shards = stream.shards(now);
        assert_eq!(shards.len(), 4 * 7, "{now}");
        assert_eq!(open(&stream, now).len(), 4);
        for shard in &shards {
            assert!(shard.parent.as_ref().is_some_and(|parent| *parent < shard.id));
        }
    }
}

#[test]
fn records_older_than_a_day_are_dropped() {
    let stream = stream(StreamView::NewImage);
    let later = |hours: u32| Moment::START.plus(HOUR * hours);
    let first = stream.shards(Moment::START)[0].id.clone();
    for (hour, v) in [(0, "a"), (1, "b"), (2, "c")] {
        put(&stream, 0, v, later(hour));
    }
    assert_eq!(stream.next_trim(), later(24));
    let place = stream.place_of_shard(&first, later(2)).unwrap();
    let at = |v: &str| {
        let slice = stream.read(place, &first, Sequence::of(0), 10, ANY, later(2)).unwrap();
        let found = slice.records.iter().find(|record| record.new == Some(item("a", v)));
        found.unwrap().sequence
    };
    let (a, b, c) = (at("a"), at("b"), at("c"));
    assert!(a < b && b < c);
    let now = later(25);
    for (position, expect) in [
        (Position::TrimHorizon, Ok(vec!["c"])),
        (Position::At(a), Err(ShardReadError::Trimmed)),
        (Position::At(b), Err(ShardReadError::Trimmed)),
        (Position::At(c), Ok(vec!["c"])),
        (Position::After(b), Err(ShardReadError::Trimmed)),
        (Position::After(c), Ok(vec![])),
        (Position::Latest, Ok(vec![])),
        (Position::AtTime(Moment::START), Ok(vec!["c"])),
        (Position::AtTime(later(2)), Ok(vec!["c"])),
        (Position::AtTime(later(3)), Ok(vec![])),
        (Position::At(Sequence::of(0)), Err(ShardReadError::NotOfShard)),
        (Position::At(Sequence::of(u64::MAX)), Err(ShardReadError::NotOfShard)),
    ] {
        let expect = expect.map(|values| values.into_iter().map(str::to_owned).collect());
        assert_eq!(values(&stream, &first, position, now), expect, "{position:?}");
    }
    assert_eq!(
        stream.read(place, &first, b, 10, ANY, now).unwrap_err(),
        ShardReadError::Trimmed
    );
    // The shard was closed after four hours, and is dropped a day later.
    assert!(stream.place_of_shard(&first, later(27)).is_some());
    assert_eq!(stream.place_of_shard(&first, later(28)), None);
}

/// The next moment at which something is dropped: of the oldest records, the closed shards and the stream itself.
#[test]
fn a_stream_knows_when_it_drops_something_next() {
    let stream = stream(StreamView::NewImage);
    let later = |hours: u32| Moment::START.plus(HOUR * hours);
    assert_eq!(stream.next_trim(), Moment::NEVER);
    put(&stream, QUARTER, "first", later(1));
    put(&stream, 0, "second", later(2));
    put(&stream, 0, "third", later(3));
    assert_eq!(stream.next_trim(), later(25));
    close(&stream, later(3), later(3));
    assert_eq!(stream.next_trim(), later(25));
    for (hours, next, held) in [(24, 25, 3), (25, 26, 2), (26, 27, 1), (27, 27, 0)] {
        stream.trim(later(hours));
        assert_eq!(stream.next_trim(), later(next), "{hours}");
        assert_eq!(stream.held().bytes() > 0, held > 0, "{hours}");
        assert_eq!(stream.is_gone(later(hours)), hours >= 27, "{hours}");
    }
}

#[test]
fn records_of_a_shard_arrive_in_their_order() {
    let stream = stream(StreamView::NewImage);
    let lag = Lag::Seeded {
        typical: Duration::from_secs(1),
        longest: Duration::from_secs(10),
    };
    for at in 0..50 {
        let now = Moment::START.plus(Duration::from_millis(at));
        stream.record(&change(0, None, Some("v")), &delayed(lag), None, now);
    }
    // `unreadable` returns them in the order of their arrival.
    let records = stream.unreadable(Moment::START);
    assert_eq!(records.len(), 50);
    assert!(
        records.is_sorted_by(|one, other| one.sequence < other.sequence),
        "{records:?}"
    );
}

/// Records of different shards become readable in another order than that of their sequence numbers.
#[test]
fn unreadable_records_of_several_shards_are_in_the_order_of_their_arrival() {
    let stream = stream(StreamView::NewImage);
    let at = |seconds| Moment::START.plus(Duration::from_secs(seconds));
    for (quarter, v, seconds, lag) in [
        (0, "a", 0, 10),
        (1, "b", 1, 4),
        (2, "c", 2, 8),
        (3, "d", 3, 0),
        // It is readable no earlier than the one before it in its shard.
        (0, "e", 4, 1),
        (1, "f", 5, 3),
    ] {
        let lag = delayed(Lag::Fixed(Duration::from_secs(lag)));
        stream.record(&change(quarter * QUARTER, None, Some(v)), &lag, None, at(seconds));
    }
    let unreadable = |seconds| {
        let records = stream.unreadable(at(seconds)).into_iter();
        let value = |record: Record| match record.new.as_ref().and_then(|new| new.get("v")) {
            Some(AttributeValue::S(text)) => text.to_string(),
            _ => "-".to_owned(),
        };
        records.map(value).collect::<String>()
    };
    for (seconds, expect) in [
        (0, "dbface"),
        (3, "bface"),
        (5, "face"),
        (8, "ace"),
        (9, "ace"),
        (10, ""),
    ] {
        assert_eq!(unreadable(seconds), expect, "{seconds}");
    }
}

/// The sequence numbers at the borders of an open, a closed and a trimmed shard.
#[test]
fn a_position_is_within_its_shard() {
    let stream = stream(StreamView::NewImage);
    let now = Moment::START;
    let shards = stream.shards(now);
    let (first, empty) = (shards[0].clone(), shards[1].clone());
    let start = first.start;
    put(&stream, 0, "a", now);
    put(&stream, 0, "b", now.plus(HOUR));
    let place = stream.place_of_shard(&first.id, now).unwrap();
    let read = stream.read(place, &first.id, start, 10, ANY, now.plus(HOUR)).unwrap();
    let (a, b) = (read.records[0].sequence, read.records[1].sequence);
    let check = |shard: &str, at: Moment, cases: &[(Position, Result<Sequence, ShardReadError>)]| {
        for (position, expect) in cases {
            let found = stream.position(place, shard, *position, at);
            assert_eq!(found, *expect, "{position:?} of {shard} at {at}");
        }
    };
    let outside = Err(ShardReadError::NotOfShard);
    let trimmed = Err(ShardReadError::Trimmed);
    let open = [
        (Position::At(Sequence::of(0)), outside),
        (Position::At(start), Ok(start)),
        (Position::After(start), Ok(start.next())),
        (Position::At(a), Ok(a)),
        (Position::At(b), Ok(b)),
        (Position::After(b), Ok(b.next())),
        (Position::At(b.next()), outside),
        (Position::After(b.next()), outside),
    ];
    check(&first.id, now.plus(HOUR), &open);
    let place_of_empty = stream.place_of_shard(&empty.id, now).unwrap();
    for (position, expect) in [
        (Position::At(empty.start), Ok(empty.start)),
        (Position::At(empty.start.next()), outside),
    ] {
        let found = stream.position(place_of_empty, &empty.id, position, now);
        assert_eq!(found, expect, "{position:?} of an empty shard");
    }

    let closed = now.plus(4 * HOUR);
    let end = stream.shards(closed)[0].end.unwrap();
    let borders = [
        (Position::At(start), Ok(start)),
        (Position::At(b.next()), Ok(b.next())),
        (Position::At(end), Ok(end)),
        (Position::After(end), Ok(end.next())),
        (Position::At(end.next()), outside),
    ];
    check(&first.id, closed, &borders);

    // The first record is a day old, the second is not.
    let borders = [
        (Position::At(start), trimmed),
        (Position::At(a), trimmed),
        (Position::At(a.next()), Ok(a.next())),
        (Position::At(b), Ok(b)),
        (Position::At(end), Ok(end)),
    ];
    check(&first.id, now.plus(24 * HOUR), &borders);
}

#[test]
fn a_shard_is_read_in_pages() {
    let stream = stream(StreamView::NewImage);
    let now = Moment::START;
    let shard = stream.shards(now)[0].id.clone();
    let large = "x".repeat(300_000);
    for _ in 0..5 {
        put(&stream, 0, &large, now);
    }
    let place = stream.place_of_shard(&shard, now).unwrap();
    let read = |from, most| stream.read(place, &shard, from, most, ANY, now).unwrap();
    let first = read(Sequence::of(0), 1000);
    assert_eq!(first.records.len(), 3, "a megabyte at most");
    let second = read(first.next.unwrap(), 1);
    assert_eq!(second.records.len(), 1);
    let third = read(second.next.unwrap(), 1000);
    assert_eq!(third.records.len(), 1);
    let last = third.next.unwrap();
    assert_eq!(read(last, 1000).next, Some(last), "an open shard has no end");
    close(&stream, now, now);
    assert_eq!(read(last, 1000).next, None);
    assert_eq!(read(second.next.unwrap(), 1000).next, None, "read to its end");
    assert!(read(Sequence::of(0), 1000).next.is_some());
    put(&stream, 0, "late", now);
    assert!(read(last, 1000).records.is_empty(), "a closed stream takes nothing");
}

#[test]
fn a_page_has_a_megabyte_to_the_byte() {
    // Beside its value a record has 7 bytes: the key twice, and the value's name.
    const EIGHTH: usize = limits::STREAM_PAGE_SIZE / 8 - 7;
    let now = Moment::START;
    for (last, expect) in [(EIGHTH, 8), (EIGHTH + 1, 7)] {
        let stream = stream(StreamView::NewImage);
        for length in [EIGHTH; 7].into_iter().chain([last, 1]) {
            put(&stream, 0, &"x".repeat(length), now);
        }
        let shard = stream.shards(now)[0].id.clone();
        let page = stream.read(0, &shard, Sequence::of(0), 1000, ANY, now).unwrap();
        assert_eq!(page.records[0].size(), EIGHTH + 7);
        assert_eq!(page.records.len(), expect);
    }
}

#[test]
fn a_closed_stream_is_known_for_a_day() {
    let stream = stream(StreamView::KeysOnly);
    let later = |hours: u32| Moment::START.plus(HOUR * hours);
    let settled = later(1).plus(Duration::from_secs(5));
    close(&stream, later(1), settled);
    assert_eq!(stream.status(later(1)), StreamStatus::Disabling);
    assert_eq!(stream.status(settled), StreamStatus::Disabled);
    assert!(open(&stream, settled).is_empty());
    assert!(!stream.is_gone(later(24)));
    assert!(stream.is_gone(later(25)));
}

/// Each open shard ends with its stream, both halves of a split one too; a shard that ended before keeps its end.
#[test]
fn a_closed_stream_has_no_open_shard() {
    let stream = stream(StreamView::NewImage);
    let later = |hours: u32| Moment::START.plus(HOUR * hours);
    // Both a half and an undivided shard are split.
    for at in [QUARTER / 2, QUARTER / 4, 3 * QUARTER + 1] {
        assert!(stream.split(&Committed::replayed(Moment::START), at));
    }
    for token in 0..16 {
        put(&stream, token * (QUARTER / 4), "v", later(1));
    }
    let before = stream.shards(later(1));
    assert_eq!((before.len(), open(&stream, later(1)).len()), (10, 7));
    close(&stream, later(2), later(2));
    let after = stream.shards(later(2));
    assert_eq!(after.len(), 10);
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((&after.id, after.start), (&before.id, before.start));
        assert!(after.end.is_some_and(|end| end >= after.start), "{after:?}");
        assert!(before.end.is_none() || after.end == before.end, "{after:?}");
    }
    put(&stream, 0, "late", later(2));
    let read = |shard: &ShardView| values(&stream, &shard.id, Position::TrimHorizon, later(2)).unwrap();
    assert_eq!(after.iter().flat_map(read).collect::<Vec<_>>(), ["v"; 16]);
}

#[test]
fn events_have_ids_of_their_own() {
    let stream = stream(StreamView::KeysOnly);
    let now = Moment::START;
    (0..100).for_each(|_| put(&stream, 0, "v", now));
    let shard = stream.shards(now)[0].id.clone();
    let place = stream.place_of_shard(&shard, now).unwrap();
    let slice = stream.read(place, &shard, Sequence::of(0), 1000, ANY, now).unwrap();
    let mut ids: Vec<_> = slice.records.iter().map(|record| stream.event_id(record)).collect();
    assert!(ids.iter().all(|id| id.len() == 32));
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 100);
}

/// Whatever is written, split and trimmed, the count of bytes is that of the records, and stays within the limit.
#[test]
fn a_stream_holds_no_more_than_its_limit() {
    for (seed, limit) in [(1, 1), (2, 1000), (3, 5000), (4, 50_000)] {
        let stream = stream(StreamView::NewAndOldImages);
        let mut now = Moment::START;
        for at in 0..2000_u64 {
            let choice = |what: &str| chance::decide(seed, what, b"", at);
            let value = "v".repeat(choice("size") as usize % 700);
            let change = change(choice("token"), Some("old"), Some(&value));
            let record = Record::of(&change, stream.view, &stream.key, now).unwrap();
            stream.record(&change, &delayed(Lag::Fixed(Duration::from_secs(5))), Some(limit), now);
            if choice("split") % 100 == 0 {
                stream.split(&Committed::replayed(now), choice("at"));
            }
            if choice("time") % 4 == 0 {
                now = now.plus(Duration::from_secs(choice("pause") % 3600));
            }
            let held = stream.held().bytes();
            assert!(held <= limit.max(record.held()), "seed {seed}, step {at}: {held}");
        }
        assert_eq!(
            (stream.held().take_report(), stream.held().take_report()),
            (true, false)
        );
        now = now.plus(2 * RETENTION);
        stream.trim(now);
        assert_eq!(stream.held().bytes(), 0, "seed {seed}");
    }
}

#[test]
fn the_oldest_record_of_all_shards_is_dropped_first() {
    let (stream, now) = (stream(StreamView::NewImage), Moment::START);
    let shards: Vec<String> = open(&stream, now).into_iter().map(|shard| shard.id).collect();
    let sample = Record::of(&change(0, None, Some("0")), stream.view, &stream.key, now).unwrap();
    for (at, quarter) in [0, 1, 0, 2, 3, 3].into_iter().enumerate() {
        let change = change(quarter * QUARTER, None, Some(&at.to_string()));
        stream.record(&change, &delayed(Lag::None), Some(3 * sample.held()), now);
    }
    let kept = |shard: &String| values(&stream, shard, Position::TrimHorizon, now).unwrap().join(" ");
    assert_eq!(shards.iter().map(kept).collect::<Vec<_>>(), ["", "", "3", "4 5"]);
    let first = stream.shards(now)[0].start;
    let gone = values(&stream, &shards[0], Position::At(first), now);
    assert!(gone.is_err(), "{gone:?}");
}

/// The shards of a split share a lineage: only the oldest of all their records is dropped.
#[test]
fn the_oldest_record_of_a_split_shard_is_dropped_first() {
    let (stream, now) = (stream(StreamView::NewImage), Moment::START);
    let middle = QUARTER / 2;
    let sample = Record::of(&change(0, None, Some("0")), stream.view, &stream.key, now).unwrap();
    let write = |token: u64, v: &str| {
        let change = change(token, None, Some(v));
        stream.record(&change, &delayed(Lag::None), Some(3 * sample.held()), now);
    };
    let kept = || {
        let mut shards = stream.shards(now);
        shards.retain(|shard| stream.place_of_shard(&shard.id, now) == Some(0));
        let read = |shard: &ShardView| {
            values(&stream, &shard.id, Position::TrimHorizon, now)
                .unwrap()
                .join(" ")
        };
        shards.iter().map(read).collect::<Vec<_>>()
    };
    write(0, "0");
    assert!(stream.split(&Committed::replayed(now), middle));
    for (token, v, expect) in [
        (0, "1", ["0", "1", ""]),
        (middle, "2", ["0", "1", "2"]),
        (0, "3", ["", "1 3", "2"]),
        (middle, "4", ["", "3", "2 4"]),
        (middle, "5", ["", "3", "4 5"]),
        (middle, "6", ["", "", "4 5 6"]),
    ] {
        write(token, v);
        assert_eq!(kept(), expect, "{v}");
    }
}

/// A region has a closed stream for a day, even if it has not been removed by then.
#[test]
fn a_region_finds_a_closed_stream_for_a_day() {
    let streams = Streams::default();
    let [open, closed] = ["a", "b"].map(|arn| {
        let mut stream = stream(StreamView::NewImage);
        stream.arn = arn.to_owned();
        Arc::new(stream)
    });
    streams.add(&open);
    streams.add(&closed);
    close(&closed, Moment::START, Moment::START);
    let almost = RETENTION.saturating_sub(Duration::from_micros(1));
    for (later, expect) in [(Duration::ZERO, 2), (almost, 2), (RETENTION, 1)] {
        let now = Moment::START.plus(later);
        assert_eq!(streams.after(None, now).len(), expect, "{later:?}");
        assert_eq!(streams.find("b", now).is_some(), expect == 2, "{later:?}");
        assert!(streams.find("a", now).is_some());
    }
    streams.trim(Moment::START.plus(almost));
    assert_eq!(streams.all().len(), 2);
    streams.trim(Moment::START.plus(RETENTION));
    assert_eq!(streams.all().len(), 1);
}
