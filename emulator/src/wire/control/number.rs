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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_no_fraction_as_far_as_they_are_exact() {
        for (number, expect) in [
            (0.0, "0"),
            (-3.0, "-3"),
            (0.5, "0.5"),
            (1e15, "1000000000000000"),
            (WHOLE - 1.0, "9007199254740991"),
            (WHOLE, "9007199254740992"),
            (-WHOLE, "-9007199254740992"),
            (WHOLE + 2.0, "9007199254740994.0"),
            (-WHOLE - 2.0, "-9007199254740994.0"),
        ] {
            let mut writer = Writer::new();
            write_number(number, &mut writer);
            assert_eq!(writer.finish(), expect.as_bytes(), "{number}");
        }
    }
}
