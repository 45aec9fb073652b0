//! `N`: an exact decimal of up to 38 significant digits.
//!
//! A number is stored as sign, coefficient and exponent, normalized: the coefficient has no trailing zeros, zero has
//! exponent 0 and no sign. So two numbers are equal exactly when their parts are, however they were written.

use std::cmp::Ordering;
use std::fmt;

/// The most significant digits a number may have.
pub const MAX_DIGITS: u32 = 38;
/// The largest power of ten of a number's first digit: 9.99…E+125.
const MAX_MAGNITUDE: i64 = 125;
/// The smallest power of ten of a number's first digit: 1E-130.
const MIN_MAGNITUDE: i64 = -130;

/// An exact decimal, as DynamoDB stores `N`.
///
/// ```
/// use dynatwin_engine::attributes::Number;
///
/// let price: Number = "042.1200".parse().unwrap();
/// assert_eq!(price.to_string(), "42.12");
/// assert_eq!("1e0".parse::<Number>().unwrap(), "1.0".parse().unwrap());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Number {
    /// High and low halves of the coefficient: a `u128` would align the value to 16 bytes.
    high: u64,
    low: u64,
    /// The power of ten of the coefficient's last digit.
    exponent: i16,
    negative: bool,
}

/// Why a text is not a valid number, or a result cannot be stored.
///
/// ```
/// use dynatwin_engine::attributes::{Number, NumberError};
///
/// assert_eq!(Number::parse(b"1E126"), Err(NumberError::Overflow));
/// assert_eq!(Number::parse(b"one"), Err(NumberError::NotNumeric));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberError {
    /// Not a number at all.
    NotNumeric,
    /// More than 38 significant digits.
    TooPrecise,
    /// The magnitude exceeds 9.99…E+125, the largest number.
    Overflow,
    /// The written exponent is outside 32 bits: too large, although older validation calls it an underflow.
    OverflowBeyondInt,
    /// The magnitude is below 1E-130.
    Underflow,
}

impl Number {
    /// The number zero, which has no sign.
    pub const ZERO: Number = Number {
        high: 0,
        low: 0,
        exponent: 0,
        negative: false,
    };

    fn new(negative: bool, mut coefficient: u128, mut exponent: i64) -> Result<Number, NumberError> {
        if coefficient == 0 {
            return Ok(Number::ZERO);
        }
        // Small coefficients are nearly all there are, and dividing 64 bits is many times cheaper than 128.
        if let Ok(mut small) = u64::try_from(coefficient) {
            while small.is_multiple_of(10) {
                small /= 10;
                exponent += 1;
            }
            coefficient = u128::from(small);
        } else {
            while coefficient.is_multiple_of(10) {
                coefficient /= 10;
                exponent += 1;
            }
        }
        let digits = digit_count(coefficient);
        if digits > MAX_DIGITS {
            return Err(NumberError::TooPrecise);
        }
        let magnitude = exponent + i64::from(digits) - 1;
        if magnitude > MAX_MAGNITUDE {
            return Err(NumberError::Overflow);
        }
        if magnitude < MIN_MAGNITUDE {
            return Err(NumberError::Underflow);
        }
        Ok(Number {
            high: (coefficient >> 64) as u64,
            low: coefficient as u64,
            exponent: exponent as i16,
            negative,
        })
    }

    /// A number of at most 19 digits, none of which is far from the point.
    #[inline]
    fn of_small(mut coefficient: u64, mut exponent: i16) -> Number {
        if coefficient == 0 {
            return Number::ZERO;
        }
        while coefficient.is_multiple_of(10) {
            coefficient /= 10;
            exponent += 1;
        }
        Number {
            high: 0,
            low: coefficient,
            exponent,
            negative: false,
        }
    }

    /// Reads a number that is nothing but a few digits, as most are.
    #[inline]
    fn parse_digits(text: &[u8]) -> Option<Number> {
        // 19 digits always fit 64 bits.
        if !(1..=19).contains(&text.len()) {
            return None;
        }
        let mut coefficient = 0;
        for byte in text {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            coefficient = coefficient * 10 + u64::from(digit);
        }
        Some(Number::of_small(coefficient, 0))
    }

    fn coefficient(self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }

    /// Reads a number as the service does: sign, digits with at most one point, exponent; no blanks.
    pub fn parse(text: &[u8]) -> Result<Number, NumberError> {
        if let Some(number) = Number::parse_digits(text) {
            return Ok(number);
        }
        let mut rest = text;
        let negative = match rest.first() {
            Some(b'-') => {
                rest = &rest[1..];
                true
            }
            Some(b'+') => {
                rest = &rest[1..];
                false
            }
            _ => false,
        };
        let mut coefficient: u128 = 0;
        let mut digits = 0u32; // significant ones taken into the coefficient
        let mut pending_zeros = 0u32; // zeros that count only if a digit follows them
        let mut exponent: i64 = 0;
        let mut too_precise = false;
        let mut seen_digit = false;
        let mut seen_point = false;
        let mut at = 0;
        while let Some(&byte) = rest.get(at) {
            match byte {
                b'0'..=b'9' => {
                    seen_digit = true;
                    exponent -= i64::from(seen_point);
                    if byte == b'0' {
                        if digits > 0 {
                            pending_zeros += 1;
                        }
                    } else {
                        let grown = digits + pending_zeros + 1;
                        if grown > MAX_DIGITS {
                            too_precise = true;
                        } else {
                            coefficient = coefficient * 10u128.pow(pending_zeros + 1) + u128::from(byte - b'0');
                        }
                        digits = grown;
                        pending_zeros = 0;
                    }
                }
                b'.' if !seen_point => seen_point = true,
                _ => break,
            }
            at += 1;
        }
        if !seen_digit {
            return Err(NumberError::NotNumeric);
        }
        exponent += i64::from(pending_zeros);
        let mut written = 0i64;
        if let Some(b'e' | b'E') = rest.get(at) {
            written = parse_exponent(&rest[at + 1..])?;
            at = rest.len();
        }
        if at != rest.len() {
            return Err(NumberError::NotNumeric);
        }
        if digits == 0 {
            // Zero is checked by its written exponent.
            let scale = exponent.saturating_add(written);
            return if scale > MAX_MAGNITUDE {
                Err(overflow(written))
            } else if scale < MIN_MAGNITUDE {
                Err(NumberError::Underflow)
            } else {
                Ok(Number::ZERO)
            };
        }
        let magnitude = exponent.saturating_add(written).saturating_add(i64::from(digits) - 1);
        if magnitude > MAX_MAGNITUDE {
            return Err(overflow(written));
        }
        if magnitude < MIN_MAGNITUDE {
            return Err(NumberError::Underflow);
        }
        if too_precise {
            return Err(NumberError::TooPrecise);
        }
        Number::new(negative, coefficient, exponent + written)
    }

    /// The exact sum; an error if it needs more than 38 digits or is out of range.
    pub fn plus(self, other: Number) -> Result<Number, NumberError> {
        if self.is_zero() {
            return Ok(other);
        }
        if other.is_zero() {
            return Ok(self);
        }
        if self.exponent == 0 && other.exponent == 0 && !self.negative && !other.negative {
            // Whole numbers of 64 bits, as counters are.
            let sum = self.low.checked_add(other.low).filter(|_| self.high | other.high == 0);
            if let Some(sum) = sum {
                return Ok(Number::of_small(sum, 0));
            }
        }
        let (upper, lower) = if self.exponent >= other.exponent {
            (self, other)
        } else {
            (other, self)
        };
        let shift = u32::from(upper.exponent.abs_diff(lower.exponent));
        // The lower coefficient ends in a digit that is not zero. If the other one is shifted, it ends in zeros: no digit of
        // the sum is dropped, so what does not fit here does not fit 38 digits either.
        let shifted = 10u128
            .checked_pow(shift)
            .and_then(|power| upper.coefficient().checked_mul(power))
            .ok_or(NumberError::TooPrecise)?;
        let other = lower.coefficient();
        let (negative, sum) = if upper.negative == lower.negative {
            let sum = shifted.checked_add(other).ok_or(NumberError::TooPrecise)?;
            (upper.negative, sum)
        } else {
            (upper.negative == (shifted > other), shifted.abs_diff(other))
        };
        Number::new(negative, sum, i64::from(lower.exponent))
    }

    /// The exact difference; an error if it needs more than 38 digits or is out of range.
    pub fn minus(self, other: Number) -> Result<Number, NumberError> {
        self.plus(Number {
            negative: !other.negative && !other.is_zero(),
            ..other
        })
    }

    /// The hash of the same number as a Java `BigDecimal` without trailing zeros.
    pub fn java_hash(self) -> i32 {
        let words = [self.high >> 32, self.high, self.low >> 32, self.low];
        let magnitude = words
            .into_iter()
            .fold(0_i32, |hash, word| hash.wrapping_mul(31).wrapping_add(word as i32));
        let unscaled = if self.negative {
            magnitude.wrapping_neg()
        } else {
            magnitude
        };
        unscaled.wrapping_mul(31).wrapping_sub(i32::from(self.exponent))
    }

    /// Whether it is zero, however that was written.
    pub fn is_zero(self) -> bool {
        self.high == 0 && self.low == 0
    }

    /// Whether this is below zero.
    pub fn is_negative(self) -> bool {
        self.negative
    }

    /// The power of ten of the first significant digit; 0 for zero.
    pub fn magnitude(self) -> i16 {
        if self.is_zero() {
            0
        } else {
            self.exponent + digit_count(self.coefficient()) as i16 - 1
        }
    }

    /// The significant digits, most significant first, as ASCII, into `out`; returns how many.
    pub fn significant_digits(self, out: &mut [u8; 40]) -> usize {
        let mut at = 40;
        let mut rest = self.coefficient();
        while rest > u128::from(u64::MAX) {
            at -= 1;
            out[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        let mut rest = rest as u64;
        while rest > 0 {
            at -= 1;
            out[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        out.copy_within(at.., 0);
        40 - at
    }

    /// Writes the canonical text: plain decimal, never an exponent.
    pub fn write(self, out: &mut Vec<u8>) {
        if self.is_zero() {
            out.push(b'0');
            return;
        }
        if self.negative {
            out.push(b'-');
        }
        let mut buffer = [0; 40];
        let count = self.significant_digits(&mut buffer);
        let digits = &buffer[..count];
        let point = count as i64 + i64::from(self.exponent); // digits before the point
        if point <= 0 {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + point.unsigned_abs() as usize, b'0');
            out.extend_from_slice(digits);
        } else if point as usize >= count {
            out.extend_from_slice(digits);
            out.resize(out.len() + point as usize - count, b'0');
        } else {
            out.extend_from_slice(&digits[..point as usize]);
            out.push(b'.');
            out.extend_from_slice(&digits[point as usize..]);
        }
    }

    /// The number's contribution to an item's size, in bytes.
    ///
    /// One byte, one more if negative, and one for each two digits before and after the point, each side rounded up
    /// (measured against the 400 KB gate, eu-west-2, 2026).
    pub fn size(self) -> usize {
        if self.is_zero() {
            return 1;
        }
        let count = digit_count(self.coefficient()) as i64;
        let point = count + i64::from(self.exponent);
        let (integer, fraction) = if point <= 0 {
            (0, count)
        } else if self.exponent >= 0 {
            (count, 0)
        } else {
            (point, count - point)
        };
        // Trailing zeros of a pure integer and leading zeros of a pure fraction are not in the coefficient; an integer
        // part that is followed by a fraction keeps its zeros, which are.
        (1 + (integer + 1) / 2 + (fraction + 1) / 2) as usize + usize::from(self.negative)
    }

    /// The nearest 32-bit floating point number; infinite if it is out of range.
    pub fn to_f32(self) -> f32 {
        let mut text = compact_str::CompactString::default();
        let sign = if self.negative { "-" } else { "" };
        // A text of decimals is read with one rounding, and no number has too many.
        let written = fmt::Write::write_fmt(
            &mut text,
            format_args!("{sign}{}e{}", self.coefficient(), self.exponent),
        );
        written.ok().and_then(|()| text.parse().ok()).unwrap_or(f32::INFINITY)
    }

    /// The value as whole seconds, rounded down, if it fits 64 bits; for time to live.
    pub fn to_i64_floor(self) -> Option<i64> {
        if self.is_zero() {
            return Some(0);
        }
        let magnitude = self.magnitude();
        if magnitude < 0 {
            return Some(if self.negative { -1 } else { 0 });
        }
        if magnitude > 18 {
            return None;
        }
        let coefficient = self.coefficient();
        let whole = if self.exponent >= 0 {
            coefficient.checked_mul(10u128.checked_pow(u32::from(self.exponent.unsigned_abs()))?)?
        } else {
            let power = 10u128.checked_pow(u32::from(self.exponent.unsigned_abs()))?;
            let floor = coefficient / power;
            floor + u128::from(self.negative && !coefficient.is_multiple_of(power))
        };
        let whole = i64::try_from(whole).ok()?;
        Some(if self.negative { -whole } else { whole })
    }
}

fn overflow(written: i64) -> NumberError {
    if written > i64::from(i32::MAX) - 1 {
        NumberError::OverflowBeyondInt
    } else {
        NumberError::Overflow
    }
}

fn parse_exponent(text: &[u8]) -> Result<i64, NumberError> {
    let (negative, digits) = match text.first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() {
        return Err(NumberError::NotNumeric);
    }
    let mut value: i64 = 0;
    for &byte in digits {
        if !byte.is_ascii_digit() {
            return Err(NumberError::NotNumeric);
        }
        value = value
            .checked_mul(10)
            .and_then(|value| value.checked_add(i64::from(byte - b'0')))
            .ok_or(NumberError::NotNumeric)?;
    }
    Ok(if negative { -value } else { value })
}

fn digit_count(coefficient: u128) -> u32 {
    match u64::try_from(coefficient) {
        Ok(small) => small.checked_ilog10().map_or(0, |log| log + 1),
        Err(_) => coefficient.ilog10() + 1,
    }
}

impl std::str::FromStr for Number {
    type Err = NumberError;

    fn from_str(text: &str) -> Result<Number, NumberError> {
        Number::parse(text.as_bytes())
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        // 19 digits always fit.
        Number::new(value < 0, u128::from(value.unsigned_abs()), 0).unwrap_or(Number::ZERO)
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        match (self.negative, other.negative) {
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            _ => {}
        }
        let sizes = match (self.is_zero(), other.is_zero()) {
            (true, true) => return Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.magnitude().cmp(&other.magnitude()).then_with(|| {
                // The same magnitude: bring both to the same number of digits, which fits, since each has at most 38.
                let (left, right) = (self.coefficient(), other.coefficient());
                let shift = |value: u128, by: i16| value * 10u128.pow(u32::from(by.unsigned_abs()));
                match self.exponent.cmp(&other.exponent) {
                    Ordering::Equal => left.cmp(&right),
                    Ordering::Greater => shift(left, self.exponent - other.exponent).cmp(&right),
                    Ordering::Less => left.cmp(&shift(right, other.exponent - self.exponent)),
                }
            }),
        };
        if self.negative { sizes.reverse() } else { sizes }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(48);
        self.write(&mut text);
        formatter.write_str(&String::from_utf8_lossy(&text))
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error:?}"))
    }

    #[test]
    fn java_hashes() {
        // As `new BigDecimal(text).stripTrailingZeros().hashCode()` in Java 17.
        for (text, expect) in [
            ("0", 0),
            ("1", 31),
            ("100", 29),
            ("-7", -217),
            ("0.25", 777),
            ("1e20", 11),
            ("9007199254740993", 2_015_363_103),
            ("99999999999999999999999999999999999999", -427_198_386),
            ("-12345678901234567890123", -647_166_414),
        ] {
            assert_eq!(text.parse::<Number>().unwrap().java_hash(), expect, "{text}");
        }
    }

    #[test]
    fn short_and_long_numbers_are_read_alike() {
        for text in [
            "0",
            "00",
            "7",
            "007",
            "10",
            "120",
            "1000000000000000000",
            "9999999999999999999",
        ] {
            assert_eq!(number(text), number(&format!("+{text}")), "{text}");
        }
        for text in ["", "1x", "x1", "/", ":"] {
            assert_eq!(text.parse::<Number>(), Err(NumberError::NotNumeric), "{text}");
        }
    }

    #[test]
    fn sums_of_whole_numbers() {
        for (one, other, sum) in [
            ("9", "1", "10"),
            ("5", "37", "42"),
            ("10", "5", "15"),
            ("9999999999999999999", "1", "10000000000000000000"),
            ("18446744073709551615", "1", "18446744073709551616"),
            ("18446744073709551617", "1", "18446744073709551618"),
        ] {
            assert_eq!(number(one).plus(number(other)), Ok(number(sum)), "{one} + {other}");
            assert_eq!(number(other).plus(number(one)), Ok(number(sum)), "{other} + {one}");
        }
    }

    #[test]
    fn canonical_text() {
        for (text, expect) in [
            ("0", "0"),
            ("-0", "0"),
            (".5", "0.5"),
            ("5.", "5"),
            ("1.e5", "100000"),
            ("1e+5", "100000"),
            ("+1", "1"),
            ("007", "7"),
            ("0042.1200", "42.12"),
            ("-1.50", "-1.5"),
            ("0e125", "0"),
            ("0.0e126", "0"),
            ("0e-130", "0"),
            ("1E-130", &format!("0.{}1", "0".repeat(129))),
            ("1E125", &format!("1{}", "0".repeat(125))),
            (
                "99999999999999999999999999999999999999",
                "99999999999999999999999999999999999999",
            ),
            (
                "12345678901234567890123456789012345678",
                "12345678901234567890123456789012345678",
            ),
            (
                "1000000000000000000000000000000000000000000",
                "1000000000000000000000000000000000000000000",
            ),
            ("-0.00001234", "-0.00001234"),
        ] {
            assert_eq!(number(text).to_string(), expect, "{text}");
            assert_eq!(format!("{:?}", number(text)), expect, "{text}");
        }
    }

    #[test]
    fn refused() {
        use NumberError::*;
        for (text, expect) in [
            ("", NotNumeric),
            ("abc", NotNumeric),
            (" 1", NotNumeric),
            ("1 ", NotNumeric),
            ("1e", NotNumeric),
            ("1e+", NotNumeric),
            (".", NotNumeric),
            ("1.2.3", NotNumeric),
            ("0x10", NotNumeric),
            ("1_0", NotNumeric),
            ("NaN", NotNumeric),
            ("Infinity", NotNumeric),
            ("1e99999999999999999999", NotNumeric),
            ("1e126", Overflow),
            ("-1e126", Overflow),
            ("0e126", Overflow),
            ("1e2147483646", Overflow),
            ("1e2147483647", OverflowBeyondInt),
            ("1e-131", Underflow),
            ("0e-131", Underflow),
            ("123456789012345678901234567890123456789", TooPrecise),
            // What is out of range is said of a number that has too many digits, too.
            ("123456789012345678901234567890123456789e100", Overflow),
            ("1.23456789012345678901234567890123456789e-131", Underflow),
            ("123456789012345678901234567890123456789e88", Overflow),
            ("123456789012345678901234567890123456789e87", TooPrecise),
            ("1.23456789012345678901234567890123456789e-130", TooPrecise),
            ("10e125", Overflow),
            ("0.1e-130", Underflow),
            ("0e2147483647", OverflowBeyondInt),
            ("1e-2147483649", Underflow),
            ("1.00000000000000000000000000000000000001", TooPrecise),
        ] {
            assert_eq!(text.parse::<Number>(), Err(expect), "{text}");
        }
    }

    #[test]
    fn sums() {
        for (left, right, expect) in [
            ("1", "2", "3"),
            ("0.1", "0.2", "0.3"),
            ("5", "-5", "0"),
            ("0", "0", "0"),
            ("0", "-2.5", "-2.5"),
            ("0", "1e125", "1e125"),
            ("1e-130", "0", "1e-130"),
            ("5", "5", "10"),
            ("0.75", "99.25", "100"),
            ("-5", "3", "-2"),
            ("2", "-5", "-3"),
            ("-1", "0", "-1"),
            ("1e38", "-1", "99999999999999999999999999999999999999"),
            (
                "99999999999999999999999999999999999999",
                "1",
                "100000000000000000000000000000000000000",
            ),
            ("1e-130", "1e-130", &format!("0.{}2", "0".repeat(129))),
            // A sum of 39 digits that ends in zero has 38 significant digits, also beyond 127 bits.
            (
                "85070591730234615865843651857942052865",
                "85070591730234615865843651857942052865",
                "170141183460469231731687303715884105730",
            ),
            (
                "99999999999999999999999999999999999995",
                "99999999999999999999999999999999999995",
                "199999999999999999999999999999999999990",
            ),
            (
                "-99999999999999999999999999999999999995",
                "-99999999999999999999999999999999999995",
                "-199999999999999999999999999999999999990",
            ),
            ("-5", "3", "-2"),
            ("3", "-5", "-2"),
            ("-3e2", "5", "-295"),
            ("3e2", "-500", "-200"),
            ("5", "-3e2", "-295"),
        ] {
            let sum = number(left).plus(number(right));
            assert_eq!(sum, Ok(number(expect)), "{left} + {right}");
        }
        assert_eq!(number("1e125").plus(number("1")), Err(NumberError::TooPrecise));
        // A sum of 39 digits may have more than 127 bits.
        for (left, right) in [
            ("1e38", "1"),
            ("2e38", "1"),
            ("3e38", "1"),
            ("3e38", "-1"),
            ("-3e38", "1"),
            ("9e38", "1"),
        ] {
            let sum = number(left).plus(number(right));
            assert_eq!(sum, Err(NumberError::TooPrecise), "{left} + {right}");
        }
        assert_eq!(number("9e125").plus(number("9e125")), Err(NumberError::Overflow));
        assert_eq!(number("1.1e-130").minus(number("1e-130")), Err(NumberError::Underflow));
        for (left, right, expect) in [
            ("3", "0", "3"),
            ("0", "3", "-3"),
            ("0", "-3", "3"),
            ("0", "0", "0"),
            ("3", "3", "0"),
            ("-3", "-3", "0"),
            ("5", "-3", "8"),
            ("-5", "3", "-8"),
            ("5", "3", "2"),
        ] {
            let difference = number(left).minus(number(right));
            assert_eq!(difference, Ok(number(expect)), "{left} - {right}");
        }
    }

    #[test]
    fn signs_and_magnitudes() {
        for (text, negative, magnitude) in [
            ("0", false, 0),
            ("1", false, 0),
            ("-9.99", true, 0),
            ("10", false, 1),
            ("-99.9", true, 1),
            ("0.5", false, -1),
            ("12345678901234567890123456789012345678", false, 37),
            ("1e125", false, 125),
            ("-1e-130", true, -130),
        ] {
            let number = number(text);
            assert_eq!(
                (number.is_negative(), number.magnitude()),
                (negative, magnitude),
                "{text}"
            );
        }
    }

    #[test]
    fn whole_numbers() {
        for value in [0, 1, -5, 10, i64::MAX, i64::MIN] {
            assert_eq!(Number::from(value), number(&value.to_string()));
        }
    }

    #[test]
    fn order_is_by_value() {
        let sorted = [
            "-1e125", "-10", "-9.99", "-0.5", "-1e-130", "0", "1e-130", "0.5", "1", "1.5", "2", "10", "123.4", "150",
            "1e125",
        ];
        for (at, left) in sorted.iter().enumerate() {
            for (to, right) in sorted.iter().enumerate() {
                let (left, right) = (number(left), number(right));
                assert_eq!(left.cmp(&right), at.cmp(&to), "{left} {right}");
                assert_eq!(left.partial_cmp(&right), at.partial_cmp(&to), "{left} {right}");
            }
        }
    }

    #[test]
    fn sizes() {
        for (text, expect) in [
            ("0", 1),
            ("1", 2),
            ("12", 2),
            ("123", 3),
            ("1234", 3),
            ("123456", 4),
            ("100", 2),
            ("1010", 3),
            ("0042", 2),
            ("1E125", 2),
            ("1E-100", 2),
            ("0.0000001", 2),
            ("0.15", 2),
            ("1.5", 3),
            ("1.200", 3),
            ("1.234", 4),
            ("3.14159", 5),
            ("100.5", 4),
            ("12.345678", 5),
            ("15", 2),
            ("-42", 3),
            ("-1", 3),
            ("-100", 3),
            ("-123", 4),
            ("-1010", 4),
            ("-1.5", 4),
            ("-100.5", 5),
            ("-0.5", 3),
            ("-0.15", 3),
            ("-0.125", 4),
            ("-0.0000001", 3),
            ("-1E-130", 3),
            ("-1E125", 3),
            ("-0", 1),
            ("-12345678901234567890123456789012345678", 21),
            ("-0.12345678901234567890123456789012345678", 21),
            ("0.12345678901234567890123456789012345678", 20),
            ("1234567890123456789.0123456789012345678", 21),
            ("12345678901234567890123456789012345678", 20),
        ] {
            assert_eq!(number(text).size(), expect, "{text}");
        }
    }

    #[test]
    fn nearest_floats() {
        for (text, expect) in [
            ("0", 0.0),
            ("1", 1.0),
            ("-0.1", -0.1),
            ("16777217", 16_777_216.0),
            ("340282346638528859811704183484516925440", f32::MAX),
            ("3.4028235E38", f32::MAX),
            ("1e39", f32::INFINITY),
            ("-1e125", f32::NEG_INFINITY),
            ("1e-130", 0.0),
            ("0.1234567890123456789012345678901234567", 0.123_456_79),
        ] {
            assert_eq!(number(text).to_f32(), expect, "{text}");
        }
    }

    #[test]
    fn whole_seconds() {
        for (text, expect) in [
            ("0", Some(0)),
            ("-0.0", Some(0)),
            ("1767225600", Some(1_767_225_600)),
            ("999999999999999999", Some(999_999_999_999_999_999)),
            ("-9223372036854775807", Some(-i64::MAX)),
            ("1e18", Some(1_000_000_000_000_000_000)),
            ("1e19", None),
            ("1e-130", Some(0)),
            ("-1e-130", Some(-1)),
            ("-3", Some(-3)),
            ("1.9", Some(1)),
            ("-1.5", Some(-2)),
            ("0.5", Some(0)),
            ("-0.5", Some(-1)),
            ("9223372036854775807", Some(i64::MAX)),
            ("9223372036854775808", None),
            ("1e30", None),
            ("1.5e3", Some(1500)),
        ] {
            assert_eq!(number(text).to_i64_floor(), expect, "{text}");
        }
    }
}
