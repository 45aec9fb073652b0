//! The log of events, page by page.

use super::ControlRequest;
use crate::journal::{Event, EventPage};
use crate::wire::control::{ControlResult, event_stream, write_event};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

impl ControlRequest<'_> {
    /// Writes the events after a number, of one caller or all: as JSON, or as server-sent events if the request accepts those.
    pub fn list_events(&self, writer: &mut Writer) -> ControlResult<()> {
        let journal = self.twin.state.journal();
        let after = match self.last_event {
            Some(last) => last,
            None => self.query.whole("after")?.unwrap_or(0),
        };
        let page = journal.events().after(after, self.query.limit()?);
        if self.streams {
            writer.json(&event_stream(&page, shown(self, &page)));
            return Ok(());
        }
        let mut object = Object::open(writer);
        object.boolean("listening", journal.events().is_listening());
        object.integer("next", page.next as i64);
        object.integer("missed", page.missed as i64);
        object.boolean("cleared", page.cleared);
        let mut list = object.list("events");
        for event in shown(self, &page) {
            write_event(event, list.element());
        }
        list.close();
        object.close();
        Ok(())
    }
}

/// The events of a page that the caller may see.
fn shown<'p>(requested: &ControlRequest<'_>, page: &'p EventPage) -> impl Iterator<Item = &'p Event> {
    let named = requested
        .caller_or_shared()
        .map(|caller| requested.twin.scope(&caller).owner());
    let events = page.events.iter().map(|event| &**event);
    events.filter(move |event| named.as_ref().is_none_or(|named| *named == event.owner))
}
