//! Text Ion, the format of exports and imports (<https://amazon-ion.github.io/ion-docs/docs/spec.html>).

mod reader;
mod split;
mod writer;

pub use reader::read;
pub use writer::line;
