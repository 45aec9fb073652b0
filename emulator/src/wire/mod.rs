//! The wire: the HTTP envelope around a request, and all JSON of the engine.
//!
//! JSON goes straight into the typed requests of [`crate::request`] and straight out of typed values: nothing in between
//! is built.

pub mod control;
pub mod decode;
pub mod encode;
pub mod envelope;
pub mod error;
pub mod object;
pub mod policy;
pub mod reader;
pub mod sent;

use crate::value::scan;
