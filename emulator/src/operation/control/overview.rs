//! Controls of the emulator as a whole.

use super::{Allowed, ControlRequest, clock};
use crate::wire::control::{ControlError, ControlResult, Json, Members, write_conditions};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// The OpenAPI description of the controls. Small builds go without.
const OPENAPI: Option<&[u8]> = if cfg!(feature = "openapi") {
    Some(include_bytes!("openapi.json"))
} else {
    None
};

impl ControlRequest<'_> {
    /// Writes version, seed, clock, conditions and counts.
    pub fn get_overview(&self, writer: &mut Writer) -> ControlResult<()> {
        let state = &self.twin.state;
        self.twin.run_due();
        let tables = state.catalog().all();
        let (items, bytes) = tables.iter().fold((0, 0), |sum, table| {
            let (items, bytes) = table.count();
            (sum.0 + items, sum.1 + bytes)
        });
        let mut object = Object::open(writer);
        object.string("name", "Dynatwin");
        object.string("version", env!("CARGO_PKG_VERSION"));
        // A text: not every JSON parser supports integers of 64 bits.
        object.string("seed", &state.seed().to_string());
        object.boolean("sharedTables", self.twin.shared_db);
        object.boolean("controlled", self.allowed == Allowed::All);
        clock::write(self, object.member("clock"));
        write_conditions(&state.conditions(), object.member("conditions"));
        object.boolean("watched", state.journal().is_watched());
        let mut counts = object.object("counts");
        for (name, count) in [
            ("tables", tables.len()),
            ("items", items),
            ("bytes", bytes),
            ("faults", state.faults().report().len()),
            ("requests", state.journal().seen() as usize),
        ] {
            counts.integer(name, count as i64);
        }
        counts.close();
        object.close();
        Ok(())
    }

    /// Writes the description of all controls.
    pub fn get_open_api(&self, writer: &mut Writer) -> ControlResult<()> {
        let description =
            OPENAPI.ok_or_else(|| ControlError::not_found("This build does not contain openapi.json."))?;
        writer.json(description);
        Ok(())
    }

    /// Removes all tables, rules, and conditions of single tables; with `all`, restores clock and conditions too.
    pub fn reset(&self, writer: &mut Writer) -> ControlResult<()> {
        let all = match &self.body {
            Json::Null => None,
            body => Members::of("reset", body, &["all"])?.flag("all")?,
        };
        if all == Some(true) {
            self.twin.reset_all()?;
        } else {
            self.twin.reset()?;
        }
        self.get_overview(writer)
    }
}
