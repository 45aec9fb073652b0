//! Unmetered reads of the items and pending work of tables.

use super::ControlRequest;
use crate::execute::{ItemsQuery, KeyPlacement, Pending, PendingWork, WaitingItem};
use crate::key::{Key, KeyBytes};
use crate::request::GetItem;
use crate::wire::control::{ControlError, ControlResult, shortened};
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::{List, Object};

impl ControlRequest<'_> {
    /// A page of a table's items, or of an index's entries.
    pub fn list_items(&self, writer: &mut Writer) -> ControlResult<()> {
        let query = self.query;
        let (account, table) = self.table()?;
        let page = account.items_page(
            table,
            &ItemsQuery {
                index: query.text("index"),
                partition: query.whole("partition")?,
                after: query.text("after").map(read_cursor).transpose()?,
                skip: query
                    .whole("skip")?
                    .map_or(0, |skip| usize::try_from(skip).unwrap_or(usize::MAX)),
                limit: query.limit()?,
            },
        )?;
        let mut object = Object::open(writer);
        let mut list = object.list("items");
        for stored in &page.items {
            let mut object = list.object();
            object.map("key", &stored.key);
            write_place(stored.place, &mut object);
            object.integer("bytes", stored.item.size() as i64);
            object.item("item", &stored.item);
            object.close();
        }
        list.close();
        object.integer("skipped", page.skipped as i64);
        if let Some(next) = &page.next {
            object.string("next", &cursor(next));
        }
        object.close();
        Ok(())
    }

    /// Writes the position of a key: its token, storage partition and capacity partition.
    pub fn get_place(&self, writer: &mut Writer) -> ControlResult<()> {
        let (account, table) = self.table()?;
        let missing =
            || ControlError::malformed("key must be an item's key in DynamoDB JSON, such as {\"pk\":{\"S\":\"a\"}}.");
        let key = self.query.text("key").ok_or_else(missing)?;
        let body = format!("{{\"Key\":{key}}}");
        let decoded = GetItem::decode(body.as_bytes()).map_err(|error| {
            let message = error.message().unwrap_or("it is not valid JSON");
            ControlError::malformed(format!("key cannot be read: {message}"))
        })?;
        let place = account.place(table, &decoded.key.ok_or_else(missing)?)?;
        let place = place.ok_or_else(|| ControlError::malformed("The key does not match the table's key schema."))?;
        let mut object = Object::open(writer);
        write_place(place, &mut object);
        object.close();
        Ok(())
    }

    /// Writes a table's pending work.
    pub fn get_pending(&self, writer: &mut Writer) -> ControlResult<()> {
        let most = self.query.limit()?;
        let (account, table) = self.table()?;
        write_pending(self, &account.pending(table, most)?, writer);
        Ok(())
    }

    /// Writes the pending work of the tables of one caller, or of all.
    pub fn list_pending(&self, writer: &mut Writer) -> ControlResult<()> {
        let most = self.query.limit()?;
        let scope = self.caller_or_shared().map(|caller| self.twin.scope(&caller));
        let mut list = List::open(writer);
        for pending in self.twin.all_pending(scope.as_ref(), most) {
            write_pending(self, &pending, list.element());
        }
        list.close();
        Ok(())
    }
}

fn write_pending(requested: &ControlRequest<'_>, pending: &Pending, writer: &mut Writer) {
    let mut object = Object::open(writer);
    object.string("table", &pending.table);
    if !requested.twin.shared_db {
        object.string("accessKey", &pending.scope.account);
        object.string("region", &pending.scope.region);
    }
    if let Some(next) = pending.next {
        object.string("next", &next.to_string());
    }
    if let Some(status) = pending.status {
        object.string("statusChange", &status.to_string());
    }
    for (name, waiting) in [
        ("timeToLive", &pending.time_to_live),
        ("transactions", &pending.transactions),
        ("streamRecords", &pending.stream),
        ("arrivals", &pending.arrivals),
    ] {
        let mut member = object.object(name);
        write_waiting(waiting, &mut member);
        member.close();
    }
    let mut indexes = object.list("indexes");
    for index in &pending.indexes {
        let mut object = indexes.object();
        object.string("index", &index.index);
        object.boolean("paused", index.paused);
        write_waiting(&index.changes, &mut object);
        object.close();
    }
    indexes.close();
    object.close();
}

fn write_waiting(waiting: &PendingWork, object: &mut Object<'_>) {
    object.integer("count", waiting.count as i64);
    if let Some(next) = waiting.next {
        object.string("next", &next.to_string());
    }
    let mut list = object.list("first");
    for item in &waiting.first {
        write_waiting_item(item, list.object());
    }
    list.close();
}

fn write_waiting_item(item: &WaitingItem, mut object: Object<'_>) {
    object.string("due", &item.due.to_string());
    object.string("action", item.action);
    if let Some(key) = &item.key {
        object.map("key", key);
    }
    if let Some(token) = item.token {
        object.string("token", &hex(token));
    }
    if let Some(expires) = item.expires {
        object.string("expires", &expires.to_string());
    }
    object.close();
}

fn write_place(place: KeyPlacement, object: &mut Object<'_>) {
    object.string("token", &hex(place.token));
    object.integer("partition", place.partition as i64);
}

/// A token as text: not every JSON parser supports integers of 64 bits.
fn hex(token: u64) -> String {
    format!("{token:016x}")
}

/// The text form of a position, for the query of the next page.
fn cursor(key: &Key) -> String {
    let bytes = key.bytes.iter().map(|byte| format!("{byte:02x}"));
    std::iter::once(hex(key.token)).chain(bytes).collect()
}

pub(super) fn read_cursor(text: &str) -> ControlResult<Key> {
    let read = || {
        let (token, bytes) = text.split_at_checked(16)?;
        let token = u64::from_str_radix(token, 16).ok()?;
        let mut key = KeyBytes::new();
        for pair in bytes.as_bytes().chunks(2) {
            let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
            key.push(u8::from_str_radix(pair, 16).ok()?);
        }
        Some(Key { token, bytes: key })
    };
    read().ok_or_else(|| {
        let text = shortened(text);
        ControlError::malformed(format!("after must be the next of an earlier page, not \"{text}\"."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors() {
        for (token, bytes) in [(0, &b""[..]), (u64::MAX, b"\0\xff a"), (7, b"key")] {
            let key = Key {
                token,
                bytes: KeyBytes::from_slice(bytes),
            };
            assert_eq!(read_cursor(&cursor(&key)).unwrap(), key);
        }
        for wrong in [
            "7",
            "000000000000000g",
            "00000000000000000",
            "0000000000000000zz",
            "0000000000000000é0",
        ] {
            assert_eq!(read_cursor(wrong).unwrap_err().status(), 400, "{wrong}");
        }
    }
}
