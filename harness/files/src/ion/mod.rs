//! Text Ion, the format of exports and imports (<https://amazon-ion.github.io/ion-docs/docs/spec.html>).
//!
//! The reader is our own. ion-rs 1.2 reads what AWS writes, but its stable interface builds a tree of each value: a record
//! of 16 MB, as long as imports may have, takes 1.7 GB, and nested lists overflow the stack. This reader converts a record
//! as it parses it, within the bounds of a request.

mod reader;
mod split;
mod writer;

pub use reader::read;
pub use writer::line;
