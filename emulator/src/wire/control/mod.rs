//! The JSON of controls: requests, responses and errors.
//!
//! The JavaScript package reads and writes its values with these functions too.

mod conditions;
mod event;
mod heat;
mod journal;
mod json;
mod query;
mod refusal;
mod rule;
mod verdict;

pub use conditions::{moment, read_conditions, read_lag, seconds, write_conditions, write_lag};
pub use event::{event_stream, write_event};
pub use heat::write_heat;
pub use journal::{write_datapoint, write_metric, write_request, write_scan};
pub use json::{Json, Members, shortened};
pub use query::{Parameter, Query};
pub use refusal::ControlError;
pub use rule::{read_outage, read_rule, write_report};

use super::encode::Writer;

/// The parsed value, or why it is refused.
pub type ControlResult<T> = Result<T, ControlError>;

/// The largest number up to which all whole ones are exact.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// A number as people write it: a whole one without a fraction.
pub fn write_number(number: f64, writer: &mut Writer) {
    if number.fract() == 0.0 && number.abs() <= WHOLE {
        writer.integer(number as i64);
    } else {
        writer.double(number);
    }
}
