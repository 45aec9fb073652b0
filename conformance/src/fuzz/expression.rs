//! Random expressions, with the names and values that they use.

use serde_json::{Map, Value};

use super::Random;
use super::generate::{key, number, value};

/// The expressions of one request.
pub(super) struct Expressions<'a> {
    random: &'a mut Random,
    keys: Vec<&'static str>,
    names: Map<String, Value>,
    values: Map<String, Value>,
}

const PLAIN: &[&str] = &["a", "b", "c", "d"];
const OF_INDEXES: &[&str] = &["g", "l", "n"];

impl<'a> Expressions<'a> {
    pub(super) fn new(random: &'a mut Random, ranged: bool) -> Expressions<'a> {
        Expressions {
            random,
            keys: if ranged { vec!["pk", "sk"] } else { vec!["pk"] },
            names: Map::new(),
            values: Map::new(),
        }
    }

    /// From here on paths do not contain the table's keys.
    pub(super) fn without_keys(&mut self) {
        self.keys.clear();
    }

    /// Adds the names and values to the request.
    pub(super) fn finish(self, request: &mut Value) {
        if !self.names.is_empty() {
            request["ExpressionAttributeNames"] = self.names.into();
        }
        if !self.values.is_empty() {
            request["ExpressionAttributeValues"] = self.values.into();
        }
    }

    fn attribute(&mut self) -> String {
        let name = self.random.pick(PLAIN);
        self.named(name)
    }

    fn named(&mut self, name: &str) -> String {
        if self.random.percent(70) {
            return name.to_owned();
        }
        let alias = format!("#{name}");
        self.names.insert(alias.clone(), name.into());
        alias
    }

    fn path(&mut self) -> String {
        if self.random.percent(6) {
            // An index's key has no nested attributes.
            let name = self.random.pick(OF_INDEXES);
            return self.named(name);
        }
        self.path_of_plain()
    }

    fn path_of_plain(&mut self) -> String {
        let mut path = self.attribute();
        for _ in 0..self.random.below(3) {
            match self.random.below(4) {
                0 => path.push_str(self.random.pick(&["[0]", "[1]", "[2]"])),
                1 => path.push_str(".m"),
                2 => path.push_str(".n"),
                _ => {}
            }
        }
        path
    }

    fn value(&mut self) -> String {
        let value = value(self.random, 1);
        self.placeholder(value)
    }

    fn placeholder(&mut self, value: Value) -> String {
        let name = format!(":v{}", self.values.len());
        self.values.insert(name.clone(), value);
        name
    }

    fn scalar(&mut self, kind: &str) -> String {
        let value = match kind {
            "N" => number(self.random),
            "S" => self.random.pick(&["x", "xy", "é"]),
            _ => "AQ==",
        };
        self.placeholder(serde_json::json!({kind: value}))
    }

    fn operand(&mut self) -> String {
        match self.random.below(6) {
            0 => self.path(),
            1 => format!("size({})", self.path()),
            _ => self.value(),
        }
    }

    /// Returns a random condition with limited nesting of `AND`, `OR` and `NOT`.
    pub(super) fn condition(&mut self, depth: usize) -> String {
        if depth > 0 && self.random.percent(50) {
            let (one, other) = (self.condition(depth - 1), self.condition(depth - 1));
            return match self.random.below(4) {
                0 => format!("{one} AND {other}"),
                1 => format!("{one} OR {other}"),
                2 => format!("NOT ({one}) AND {other}"),
                _ => format!("({one} OR {other})"),
            };
        }
        if !self.keys.is_empty() && self.random.percent(15) {
            let function = self.random.pick(&["attribute_exists", "attribute_not_exists"]);
            return format!("{function}({})", self.keys[self.random.below(self.keys.len())]);
        }
        match self.random.below(12) {
            0 => format!("attribute_exists({})", self.path()),
            1 => format!("attribute_not_exists({})", self.path()),
            2 => {
                let kind = self.random.pick(&["S", "N", "B", "BOOL", "NULL", "SS", "NS", "L", "M"]);
                let (path, kind) = (self.path(), self.placeholder(serde_json::json!({"S": kind})));
                format!("attribute_type({path}, {kind})")
            }
            3 => {
                let kind = self.random.pick(&["S", "B"]);
                format!("begins_with({}, {})", self.path(), self.scalar(kind))
            }
            4 => {
                let kind = self.random.pick(&["S", "N", "B"]);
                format!("contains({}, {})", self.path(), self.scalar(kind))
            }
            5 => {
                let kind = self.random.pick(&["S", "N"]);
                format!(
                    "{} BETWEEN {} AND {}",
                    self.path(),
                    self.scalar(kind),
                    self.scalar(kind)
                )
            }
            6 => format!("{} IN ({}, {})", self.path(), self.value(), self.value()),
            7 | 8 => {
                let kind = self.random.pick(&["S", "N", "B"]);
                let operator = self.random.pick(&["<", "<=", ">", ">="]);
                format!("{} {operator} {}", self.path(), self.scalar(kind))
            }
            _ => {
                let operator = self.random.pick(&["=", "<>"]);
                format!("{} {operator} {}", self.path(), self.operand())
            }
        }
    }

    pub(super) fn projection(&mut self) -> String {
        let paths: Vec<String> = (0..=self.random.below(3)).map(|_| self.path()).collect();
        paths.join(", ")
    }

    /// Returns an update, and whether it contains nested attributes.
    pub(super) fn update(&mut self) -> (String, bool) {
        let mut clauses: [Vec<String>; 4] = Default::default();
        for _ in 0..=self.random.below(3) {
            match self.random.below(8) {
                0 => clauses[1].push(self.path()),
                1 => {
                    let operand = self.random.pick(&["N", "SS", "NS"]);
                    let operand = match operand {
                        "N" => self.scalar("N"),
                        "SS" => self.placeholder(serde_json::json!({"SS": ["x", "z"]})),
                        _ => self.placeholder(serde_json::json!({"NS": ["1", "7"]})),
                    };
                    let attribute = self.attribute();
                    clauses[2].push(format!("{attribute} {operand}"));
                }
                2 => {
                    let members = self.placeholder(serde_json::json!({"SS": ["x", "z"]}));
                    let attribute = self.attribute();
                    clauses[3].push(format!("{attribute} {members}"));
                }
                3 if self.random.percent(50) => clauses[0].push(self.of_index()),
                _ => {
                    let (path, right) = (self.path_of_plain(), self.right_side());
                    clauses[0].push(format!("{path} = {right}"));
                }
            }
        }
        let words = ["SET", "REMOVE", "ADD", "DELETE"];
        let parts = words.iter().zip(&clauses).filter(|(_, actions)| !actions.is_empty());
        let parts: Vec<String> = parts
            .map(|(word, actions)| format!("{word} {}", actions.join(", ")))
            .collect();
        let update = parts.join(" ");
        let nested = update.contains(['.', '[']);
        (update, nested)
    }

    /// Sets an index's key to a valid value.
    fn of_index(&mut self) -> String {
        let name = self.random.pick(OF_INDEXES);
        let value = key(self.random, if name == "n" { "N" } else { "S" });
        let (name, value) = (self.named(name), self.placeholder(value));
        format!("{name} = {value}")
    }

    fn right_side(&mut self) -> String {
        match self.random.below(8) {
            0 => self.path(),
            1 => format!("if_not_exists({}, {})", self.path(), self.value()),
            2 => {
                let list = self.placeholder(serde_json::json!({"L": [{"S": "new"}]}));
                let path = self.path();
                if self.random.percent(50) {
                    format!("list_append({path}, {list})")
                } else {
                    format!("list_append({list}, {path})")
                }
            }
            3 => format!("{} + {}", self.path(), self.scalar("N")),
            4 => format!("{} - {}", self.scalar("N"), self.path()),
            5 => {
                let zero = self.placeholder(serde_json::json!({"N": "0"}));
                format!("if_not_exists({}, {zero}) + {}", self.path(), self.scalar("N"))
            }
            _ => self.value(),
        }
    }
}
