//! Random values from a small set, so that values recur.

use serde_json::{Map, Value, json};

use super::Random;

/// Numbers in several notations, some at the limits of a number.
const NUMBERS: [&str; 12] = [
    "0",
    "1",
    "2",
    "-3",
    "1.50",
    "1e2",
    "0.001",
    "12345678901234567890",
    "-0.0",
    "99999999999999999999999999999999999999",
    "9.9e125",
    "1e-130",
];

pub(in super::super) fn number(random: &mut Random) -> &'static str {
    let common = if random.percent(90) { 8 } else { NUMBERS.len() };
    NUMBERS[random.below(common)]
}

/// Returns a value for a key attribute of this type.
pub(in super::super) fn key(random: &mut Random, kind: &str) -> Value {
    match kind {
        "S" => json!({"S": random.pick(&["k", "kk", "ké", "z"])}),
        "N" => json!({"N": random.pick(&["1", "2", "10", "-1", "1.0", "0.5"])}),
        _ => json!({"B": random.pick(&["AQ==", "AQI=", "/w=="])}),
    }
}

/// Returns a value whose lists and maps have limited depth.
pub(in super::super) fn value(random: &mut Random, depth: usize) -> Value {
    let kinds = if depth == 0 { 8 } else { 11 };
    match random.below(kinds) {
        0 | 1 => json!({"S": random.pick(&["", "x", "xy", "é", "y x"])}),
        2 | 3 => json!({"N": number(random)}),
        4 => json!({"BOOL": random.percent(50)}),
        5 => json!({"NULL": true}),
        6 => json!({"B": random.pick(&["", "AQ==", "AQID"])}),
        7 => match random.below(3) {
            0 => json!({"SS": ["x", "y"]}),
            1 => json!({"NS": ["1", "2.5"]}),
            _ => json!({"BS": ["AQ==", "Ag=="]}),
        },
        8 | 9 => {
            let list: Vec<Value> = (0..random.below(4)).map(|_| value(random, depth - 1)).collect();
            json!({"L": list})
        }
        _ => {
            let mut map = Map::new();
            for name in ["m", "n"] {
                if random.percent(70) {
                    map.insert(name.to_owned(), value(random, depth - 1));
                }
            }
            json!({"M": map})
        }
    }
}
