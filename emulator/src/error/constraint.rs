//! The phrases of the framework's constraints.

/// A list, map or string that is too short.
pub fn min_length(least: usize) -> String {
    format!("Member must have length greater than or equal to {least}")
}

/// A list, map or string that is too long.
pub fn max_length(most: usize) -> String {
    format!("Member must have length less than or equal to {most}")
}

/// A number that is too small.
pub fn min_value(least: i64) -> String {
    format!("Member must have value greater than or equal to {least}")
}

/// A number that is too large.
pub fn max_value(most: i64) -> String {
    format!("Member must have value less than or equal to {most}")
}

/// A value outside its enumeration; `set` as the service prints it: `[HASH, RANGE]`.
pub fn one_of(set: &str) -> String {
    format!("Member must satisfy enum value set: {set}")
}

/// A name with a character that is not allowed.
pub const NAME_PATTERN: &str = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+";

/// A text with a character that is not allowed.
pub fn pattern(pattern: &str) -> String {
    format!("Member must satisfy regular expression pattern: {pattern}")
}
