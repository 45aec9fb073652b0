//! The controls of the clock.

use super::ControlRequest;
use crate::clock::Moment;
use crate::wire::control::{ControlError, ControlResult, Members, moment, seconds, write_number};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// The last second that can be written as a moment: the limit of the clock.
const LAST: Moment = Moment::from_seconds(253_402_300_799);

impl ControlRequest<'_> {
    /// Writes the time and the state of the clock.
    pub fn get_clock(&self, writer: &mut Writer) -> ControlResult<()> {
        write(self, writer);
        Ok(())
    }

    /// Moves the clock to a later moment.
    pub fn set_clock(&self, writer: &mut Writer) -> ControlResult<()> {
        let members = Members::of("clock", &self.body, &["now"])?;
        let Some(text) = members.text("now")? else {
            return Err(ControlError::malformed(
                "clock.now must be the time to move to, such as 2026-01-01T00:00:00Z.",
            ));
        };
        let to = moment(text)?;
        if !self.twin.set_clock(to) {
            let now = self.twin.clock.now();
            return Err(ControlError::malformed(format!(
                "The clock cannot go back: it is {now}, which is after {to}."
            )));
        }
        self.get_clock(writer)
    }

    pub fn advance_clock(&self, writer: &mut Writer) -> ControlResult<()> {
        let members = Members::of("advance", &self.body, &["seconds"])?;
        let Some(by) = members.number("seconds")? else {
            return Err(ControlError::malformed("advance.seconds is required."));
        };
        let by = seconds("advance.seconds", by)?;
        if self.twin.clock.now().plus(by) > LAST {
            return Err(ControlError::malformed(format!("The clock cannot go past {LAST}.")));
        }
        self.twin.advance(by);
        self.get_clock(writer)
    }

    pub fn freeze_clock(&self, writer: &mut Writer) -> ControlResult<()> {
        self.twin.clock.freeze();
        self.get_clock(writer)
    }

    pub fn unfreeze_clock(&self, writer: &mut Writer) -> ControlResult<()> {
        self.twin.clock.unfreeze();
        self.get_clock(writer)
    }
}

/// The clock, as an object.
pub fn write(requested: &ControlRequest<'_>, writer: &mut Writer) {
    let clock = &requested.twin.clock;
    let now = clock.now();
    let mut object = Object::open(writer);
    object.string("now", &now.to_string());
    object.integer("milliseconds", now.micros().div_euclid(1000));
    object.boolean("settable", clock.is_settable());
    object.boolean("frozen", clock.is_frozen());
    write_number(clock.speed().unwrap_or(0.0), object.member("speed"));
    if let Some(next) = requested.twin.next_event() {
        object.string("nextDue", &next.to_string());
    }
    object.close();
}
