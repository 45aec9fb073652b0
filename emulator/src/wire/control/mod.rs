//! How the twin is controlled in JSON: what its owner says, what it answers, and how it refuses.
//!
//! The words are those of the JavaScript face, which reads and writes its values here too.

mod conditions;
mod heat;
mod json;
mod refusal;
mod rule;

pub use conditions::{moment, read_conditions, read_lag, seconds, write_conditions, write_lag};
pub use heat::write_heat;
pub use json::{Json, Members, shortened};
pub use refusal::Refusal;
pub use rule::{read_rule, write_report};

/// What was understood, or why not.
pub type Heard<T> = Result<T, Refusal>;
