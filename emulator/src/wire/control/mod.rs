//! The JSON of controls: requests, responses and errors.
//!
//! The JavaScript package reads and writes its values with these functions too.

mod conditions;
mod event;
mod heat;
mod journal;
mod json;
mod number;
mod query;
mod refusal;
mod rule;
mod verdict;

pub use conditions::{moment, read_conditions, read_lag, seconds, write_conditions, write_lag};
pub use event::{event_stream, write_event};
pub use heat::write_heat;
pub use journal::{write_datapoint, write_metric, write_request, write_scan};
pub use json::{Json, Members, shortened};
pub use number::write_number;
pub use query::{Parameter, Query};
pub use refusal::{ControlError, ControlResult};
pub use rule::{read_outage, read_rule, write_report};
