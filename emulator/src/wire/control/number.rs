//! Numbers of controls.

use crate::wire::encode::Writer;

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
