//! JSON and YAML documents as trees whose nodes have line numbers.

use std::borrow::Cow;
use std::collections::HashMap;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use crate::error::Problem;

/// How deeply collections may be nested. DynamoDB stores 32 levels, and a template has some around them.
const DEPTH: usize = 128;

/// The maximum number of nodes that aliases of a YAML document may add, so that a small file cannot expand to a huge
/// one.
const ALIASED_NODES: usize = 100_000;

/// A value with the line it begins at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub line: usize,
    pub value: Value,
}

/// A value of a document. Numbers keep their digits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Node {
    pub fn new(line: usize, value: Value) -> Node {
        Node { line, value }
    }

    /// The type of the value, for messages.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        }
    }

    /// The member of an object.
    pub fn get(&self, name: &str) -> Option<&Node> {
        match &self.value {
            Value::Object(members) => members.iter().find(|(member, _)| member == name).map(|(_, node)| node),
            _ => None,
        }
    }

    pub fn problem(&self, message: impl Into<String>) -> Problem {
        Problem::new(self.line, message)
    }

    /// The string, or the problem of `what` being something else.
    pub fn text(&self, what: &str) -> Result<&str, Problem> {
        match &self.value {
            Value::String(text) => Ok(text),
            _ => Err(self.problem(format!("{what} is {}, not a string", self.kind()))),
        }
    }

    pub fn list(&self, what: &str) -> Result<&[Node], Problem> {
        match &self.value {
            Value::Array(elements) => Ok(elements),
            _ => Err(self.problem(format!("{what} is {}, not a list", self.kind()))),
        }
    }

    pub fn object(&self, what: &str) -> Result<&[(String, Node)], Problem> {
        match &self.value {
            Value::Object(members) => Ok(members),
            _ => Err(self.problem(format!("{what} is {}, not an object", self.kind()))),
        }
    }

    /// A boolean, also one that is spelled as a string, as CloudFormation accepts it.
    pub fn flag(&self, what: &str) -> Result<bool, Problem> {
        match &self.value {
            Value::Bool(flag) => Ok(*flag),
            Value::String(text) if text == "true" => Ok(true),
            Value::String(text) if text == "false" => Ok(false),
            _ => Err(self.problem(format!("{what} is {}, not a boolean", self.kind()))),
        }
    }

    /// A whole number, also one that is spelled as a string, as CloudFormation accepts it.
    pub fn integer(&self, what: &str) -> Result<i64, Problem> {
        match &self.value {
            Value::Number(text) | Value::String(text) => text
                .parse()
                .map_err(|_| self.problem(format!("{what} is `{text}`, not a whole number"))),
            _ => Err(self.problem(format!("{what} is {}, not a number", self.kind()))),
        }
    }
}

pub(crate) fn json(text: &str) -> Result<Node, Problem> {
    let strict = ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let lines = Lines::of(text);
    let parsed = parse_to_ast(text, &CollectOptions::default(), &strict)
        .map_err(|error| Problem::new(error.line_display(), format!("not valid JSON: {}", error.kind())))?;
    let root = parsed.value.ok_or_else(|| Problem::new(1, "the file is empty"))?;
    lines.node(root, 0)
}

/// Where the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Lines(std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect())
    }

    fn line(&self, at: usize) -> usize {
        self.0.partition_point(|start| *start <= at)
    }

    fn node(&self, value: ast::Value<'_>, depth: usize) -> Result<Node, Problem> {
        let line = self.line(value.range().start);
        if depth > DEPTH {
            return Err(too_deep(line));
        }
        let value = match value {
            ast::Value::NullKeyword(_) => Value::Null,
            ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
            ast::Value::NumberLit(literal) => Value::Number(literal.value.to_owned()),
            ast::Value::StringLit(literal) => Value::String(literal.value.into_owned()),
            ast::Value::Array(array) => {
                let elements = array.elements.into_iter();
                Value::Array(
                    elements
                        .map(|element| self.node(element, depth + 1))
                        .collect::<Result<_, _>>()?,
                )
            }
            ast::Value::Object(object) => {
                let mut members = Members::default();
                for property in object.properties {
                    let at = self.line(property.range.start);
                    let name = property.name.into_string();
                    members.add(at, name, self.node(property.value, depth + 1)?)?;
                }
                Value::Object(members.0)
            }
        };
        Ok(Node { line, value })
    }
}

fn too_deep(line: usize) -> Problem {
    Problem::new(line, format!("collections are nested more than {DEPTH} levels deep"))
}

/// The members of an object that is being read, without duplicates.
#[derive(Default)]
struct Members(Vec<(String, Node)>);

impl Members {
    fn add(&mut self, line: usize, name: String, node: Node) -> Result<(), Problem> {
        // Objects with many members are items' maps in generated files, which have no duplicates to speak of.
        if self.0.len() < 1_000 && self.0.iter().any(|(there, _)| *there == name) {
            return Err(Problem::new(line, format!("`{name}` occurs twice")));
        }
        self.0.push((name, node));
        Ok(())
    }
}

/// A collection of a YAML document that is not closed yet.
struct Open {
    line: usize,
    anchor: usize,
    tag: Option<String>,
    elements: Vec<Node>,
    is_object: bool,
}

/// Parses a YAML text of one document, with CloudFormation's short forms of intrinsic functions as their long ones.
pub(crate) fn yaml(text: &str) -> Result<Node, Problem> {
    let mut parser = Parser::new_from_str(text);
    let mut open: Vec<Open> = Vec::new();
    let mut anchors: HashMap<usize, Node> = HashMap::new();
    let mut budget = ALIASED_NODES;
    let mut root = None;
    while let Some(event) = parser.next_event() {
        let (event, span) =
            event.map_err(|error| Problem::new(error.marker().line(), format!("not valid YAML: {}", error.info())))?;
        let line = span.start.line();
        let (node, anchor) = match event {
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) if open.len() >= DEPTH => {
                let _ = (anchor, tag);
                return Err(too_deep(line));
            }
            Event::SequenceStart(anchor, tag) => {
                open.push(Open::new(line, anchor, tag, false));
                continue;
            }
            Event::MappingStart(anchor, tag) => {
                open.push(Open::new(line, anchor, tag, true));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(closed) => {
                    let anchor = closed.anchor;
                    (closed.close()?, anchor)
                }
                None => continue,
            },
            Event::Scalar(text, style, anchor, tag) => (scalar(line, text, style, tag)?, anchor),
            Event::Alias(anchor) => {
                let node = anchors.get(&anchor);
                let node = node.ok_or_else(|| Problem::new(line, "the alias has no anchor before it"))?;
                budget = budget
                    .checked_sub(size(node))
                    .ok_or_else(|| Problem::new(line, format!("aliases add more than {ALIASED_NODES} values")))?;
                (Node::new(line, node.value.clone()), 0)
            }
            Event::DocumentStart(_) if root.is_some() => {
                return Err(Problem::new(line, "the file has more than one YAML document"));
            }
            _ => continue,
        };
        if anchor > 0 {
            anchors.insert(anchor, node.clone());
        }
        match open.last_mut() {
            Some(parent) => parent.elements.push(node),
            None => root = Some(node),
        }
    }
    root.ok_or_else(|| Problem::new(1, "the file is empty"))
}

/// The number of values in a node, including the node.
fn size(node: &Node) -> usize {
    match &node.value {
        Value::Array(elements) => 1 + elements.iter().map(size).sum::<usize>(),
        Value::Object(members) => 1 + members.iter().map(|(_, member)| size(member)).sum::<usize>(),
        _ => 1,
    }
}

impl Open {
    fn new(line: usize, anchor: usize, tag: Option<Cow<'_, Tag>>, is_object: bool) -> Open {
        Open {
            line,
            anchor,
            tag: tag.map(|tag| name(&tag)),
            elements: Vec::new(),
            is_object,
        }
    }

    fn close(self) -> Result<Node, Problem> {
        let value = if self.is_object {
            let mut members = Members::default();
            let mut elements = self.elements.into_iter();
            while let (Some(name), Some(node)) = (elements.next(), elements.next()) {
                let line = name.line;
                let name = match name.value {
                    Value::String(text) | Value::Number(text) => text,
                    Value::Bool(flag) => flag.to_string(),
                    _ => return Err(name.problem(format!("a member's name is {}, not a string", name.kind()))),
                };
                members.add(line, name, node)?;
            }
            merged(members.0)?
        } else {
            Value::Array(self.elements)
        };
        tagged(Node::new(self.line, value), self.tag.as_deref())
    }
}

/// An object with the members that `<<` merges into it.
fn merged(members: Vec<(String, Node)>) -> Result<Value, Problem> {
    let (merges, mut members): (Vec<_>, Vec<_>) = members.into_iter().partition(|(name, _)| name == "<<");
    for (_, merge) in merges {
        let sources = match merge.value {
            Value::Array(sources) => sources,
            _ => vec![merge],
        };
        for source in sources {
            for (name, node) in source.object("a merge")? {
                if !members.iter().any(|(there, _)| there == name) {
                    members.push((name.clone(), node.clone()));
                }
            }
        }
    }
    Ok(Value::Object(members))
}

fn name(tag: &Tag) -> String {
    format!("{}{}", tag.handle, tag.suffix)
}

fn scalar(line: usize, text: Cow<'_, str>, style: ScalarStyle, tag: Option<Cow<'_, Tag>>) -> Result<Node, Problem> {
    let tag = tag.map(|tag| name(&tag));
    let plain = style == ScalarStyle::Plain && tag.is_none();
    let value = if plain {
        plain_scalar(&text)
    } else {
        Value::String(text.into_owned())
    };
    tagged(Node::new(line, value), tag.as_deref())
}

/// A scalar without quotes, by YAML 1.2's core schema.
fn plain_scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ if is_number(text) => Value::Number(text.trim_start_matches('+').to_owned()),
        _ => Value::String(text.to_owned()),
    }
}

/// Whether a text is a decimal number: `[-+]? digits [. digits] [e [-+]? digits]`.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    !(whole.is_empty() && fraction.is_empty()) && digits(whole) && digits(fraction) && exponent_fits
}

/// A node under its tag: of YAML's own, or a short form of an intrinsic function.
fn tagged(node: Node, tag: Option<&str>) -> Result<Node, Problem> {
    let Some(tag) = tag else { return Ok(node) };
    let line = node.line;
    let function = match tag {
        "!" | "tag:yaml.org,2002:str" | "tag:yaml.org,2002:seq" | "tag:yaml.org,2002:map" => return Ok(node),
        "tag:yaml.org,2002:int" | "tag:yaml.org,2002:float" | "tag:yaml.org,2002:bool" | "tag:yaml.org,2002:null" => {
            let text = node.text("the value")?;
            return Ok(Node::new(line, plain_scalar(text)));
        }
        "tag:yaml.org,2002:binary" => {
            let text: String = node.text("the value")?.split_ascii_whitespace().collect();
            return Ok(Node::new(line, Value::String(text)));
        }
        "!Ref" => "Ref".to_owned(),
        "!Condition" => "Condition".to_owned(),
        _ => match tag.strip_prefix('!') {
            Some(name) if name.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                format!("Fn::{name}")
            }
            _ => return Err(Problem::new(line, format!("the tag `{tag}` is not known"))),
        },
    };
    Ok(Node::new(line, Value::Object(vec![(function, node)])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object<const N: usize>(members: [(&str, Node); N]) -> Value {
        Value::Object(
            members
                .into_iter()
                .map(|(name, node)| (name.to_owned(), node))
                .collect(),
        )
    }

    fn text(line: usize, text: &str) -> Node {
        Node::new(line, Value::String(text.to_owned()))
    }

    #[test]
    fn nodes_know_their_lines() {
        let of_json = json("{\n \"a\": [1.50,\n  \"\\ud83d\\ude00\"],\n\t\"b\": null}").unwrap();
        let list = Value::Array(vec![Node::new(2, Value::Number("1.50".into())), text(3, "😀")]);
        let expected = object([("a", Node::new(2, list.clone())), ("b", Node::new(4, Value::Null))]);
        assert_eq!(of_json, Node::new(1, expected));
        let of_yaml = yaml("a:\n- 1.50\n- \"😀\"\nb: ~\n").unwrap();
        assert_eq!(of_yaml.get("a").unwrap().list("a").unwrap()[1], text(3, "😀"));
        assert_eq!(of_yaml.get("b").unwrap().value, Value::Null);
    }

    #[test]
    fn plain_scalars_have_the_types_of_the_core_schema() {
        let number = |text: &str| Value::Number(text.into());
        let string = |text: &str| Value::String(text.into());
        for (yaml_text, expected) in [
            ("1", number("1")),
            ("-1.5e+3", number("-1.5e+3")),
            ("+7", number("7")),
            (".5", number(".5")),
            ("007", number("007")),
            ("'1'", string("1")),
            ("1.2.3", string("1.2.3")),
            ("yes", string("yes")),
            ("True", Value::Bool(true)),
            ("!!str 12", string("12")),
            ("! 12", string("12")),
            ("!!int '12'", number("12")),
            ("!!float '1.5'", number("1.5")),
            ("!!bool 'true'", Value::Bool(true)),
            ("!!null ''", Value::Null),
            ("!!binary 'AQ\n  =='", string("AQ==")),
            ("~", Value::Null),
            ("null", Value::Null),
            ("Null", Value::Null),
            ("NULL", Value::Null),
            ("nULL", string("nULL")),
            ("true", Value::Bool(true)),
            ("TRUE", Value::Bool(true)),
            ("false", Value::Bool(false)),
            ("False", Value::Bool(false)),
            ("FALSE", Value::Bool(false)),
            ("1.", number("1.")),
            ("-1E5", number("-1E5")),
            ("1e", string("1e")),
            ("1e+", string("1e+")),
            ("1ex", string("1ex")),
            ("12e4a5", string("12e4a5")),
            ("1e+x", string("1e+x")),
            ("1e5.5", string("1e5.5")),
            ("1E-7", number("1E-7")),
            ("+", string("+")),
            ("-.", string("-.")),
            ("1x", string("1x")),
            ("1.x", string("1.x")),
            ("--1", string("--1")),
            ("0x1F", string("0x1F")),
            ("2026-01-01", string("2026-01-01")),
            ("e5", string("e5")),
            (".", string(".")),
        ] {
            assert_eq!(yaml(yaml_text).unwrap().value, expected, "{yaml_text}");
        }
    }

    /// Names of members are texts, also those that would be numbers or booleans as values.
    #[test]
    fn names_are_texts() {
        let node = yaml("1.50: a\ntrue: b\n'x y': c\n").unwrap();
        let names: Vec<&str> = node.object("it").unwrap().iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["1.50", "true", "x y"]);
        for (text, kind) in [("~: a", "null"), ("[1]: a", "a list"), ("{a: b}: c", "an object")] {
            let problem = yaml(text).unwrap_err();
            assert_eq!(
                problem.message,
                format!("a member's name is {kind}, not a string"),
                "{text}"
            );
        }
    }

    /// Members whose names differ in case, or of which one begins with the other, are different.
    #[test]
    fn names_may_be_similar() {
        let text = r#"{"id": 1, "ID": 2, "Id": 3, "i": 4, "id2": 5, " id": 6}"#;
        for node in [json(text), yaml(text)] {
            let node = node.unwrap();
            for (name, expected) in [
                ("id", "1"),
                ("ID", "2"),
                ("Id", "3"),
                ("i", "4"),
                ("id2", "5"),
                (" id", "6"),
            ] {
                let found = node.get(name).map(|node| node.value.clone());
                assert_eq!(found, Some(Value::Number(expected.to_owned())), "{name}");
            }
            assert_eq!(node.get("iD"), None);
        }
    }

    #[test]
    fn collections_have_a_greatest_depth() {
        let nested = |begin: &str, end: &str, depth: usize| format!("{}1{}", begin.repeat(depth), end.repeat(depth));
        for (depth, is_read) in [(DEPTH, true), (DEPTH + 1, false)] {
            for (begin, end) in [("[", "]"), ("{\"a\":", "}")] {
                let text = nested(begin, end, depth);
                for read in [json(&text), yaml(&text)] {
                    let problem = read.err().map(|problem| problem.message);
                    let expected = (!is_read).then(|| "collections are nested more than 128 levels deep".to_owned());
                    assert_eq!(problem, expected, "{depth} of {begin}");
                }
            }
        }
    }

    /// Values are converted where a template may write them as strings.
    #[test]
    fn strings_stand_for_flags_and_numbers() {
        let node = |text: &str| yaml(text).unwrap();
        for (text, flag) in [
            ("true", Some(true)),
            ("'true'", Some(true)),
            ("'false'", Some(false)),
            ("'yes'", None),
        ] {
            assert_eq!(node(text).flag("it").ok(), flag, "{text}");
        }
        for (text, number) in [
            ("7", Some(7)),
            ("'-7'", Some(-7)),
            ("1.5", None),
            ("'x'", None),
            ("true", None),
        ] {
            assert_eq!(node(text).integer("it").ok(), number, "{text}");
        }
        for (text, kind) in [
            ("~", "null"),
            ("1", "a number"),
            ("true", "a boolean"),
            ("[]", "a list"),
            ("{}", "an object"),
        ] {
            assert_eq!(
                node(text).text("it").unwrap_err().message,
                format!("it is {kind}, not a string")
            );
        }
    }

    #[test]
    fn merges_have_an_order() {
        let node = yaml("a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc:\n  <<: [*a, *b]\n  x: 3\n").unwrap();
        let member = |name: &str| node.get("c").unwrap().get(name).unwrap().value.clone();
        let expected = ["3", "1", "2"].map(|text| Value::Number(text.into()));
        assert_eq!(["x", "y", "z"].map(member), expected);
        assert_eq!(
            yaml("a:\n  <<: 1\n").unwrap_err().message,
            "a merge is a number, not an object"
        );
    }

    /// A member is merged unless there is one of its name, and stands behind the object's own.
    #[test]
    fn merged_objects_have_each_member_once() {
        for (object, expected) in [
            ("{<<: *a}", "x1 y1 z1"),
            ("{<<: *a, x: 2}", "x2 y1 z1"),
            ("{x: 2, <<: *a, y: 3}", "x2 y3 z1"),
            ("{x: 2, y: 3, z: 4, <<: *a}", "x2 y3 z4"),
            ("{w: 5, <<: *a}", "w5 x1 y1 z1"),
            ("{<<: [*b, *a], y: 3}", "y3 z6 x1"),
            ("{<<: [*a, *b]}", "x1 y1 z1"),
            ("{<<: [*d, *b, *a]}", "w7 y6 z6 x1"),
            ("{<<: [*d, *d, *b, *a], x: 8}", "x8 w7 y6 z6"),
            // Names that differ in case are different.
            ("{<<: *a, X: 2, xy: 3}", "X2 xy3 x1 y1 z1"),
            ("{<<: []}", ""),
        ] {
            let text = format!("a: &a {{x: 1, y: 1, z: 1}}\nb: &b {{y: 6, z: 6}}\nd: &d {{w: 7}}\nc: {object}\n");
            let node = yaml(&text).unwrap();
            let members = node.get("c").unwrap().object("it").unwrap().iter();
            let members = members.map(|(name, node)| match &node.value {
                Value::Number(number) => format!("{name}{number}"),
                other => panic!("{other:?}"),
            });
            assert_eq!(members.collect::<Vec<_>>().join(" "), expected, "{object}");
        }
    }

    #[test]
    fn json_is_strict() {
        for text in [
            "{a: 1}",
            "[1,]",
            "[1 2]",
            "['a']",
            "[0x1]",
            "[+1]",
            "[.5]",
            "[NaN]",
            r#"["\x41"]"#,
            "[1] // x",
            "[1] [2]",
        ] {
            assert!(json(text).is_err(), "{text}");
        }
        for text in ["[1, -2.5e+3, true, false, null, \"\\u0041\", {}]", " \r\n\t[]\n"] {
            assert!(json(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn short_forms_are_long_forms() {
        let short = yaml("a: !Sub '${Stage}-x'\nb: !If [C, !Ref T, 1]\nc: !Base64 x\n").unwrap();
        let long = yaml("a:\n  Fn::Sub: '${Stage}-x'\nb:\n  Fn::If: [C, {Ref: T}, 1]\nc: {Fn::Base64: x}\n").unwrap();
        let without_lines = |node: &Node| format!("{node:?}").replace(|c: char| c.is_ascii_digit(), "");
        assert_eq!(without_lines(&short), without_lines(&long));
    }

    /// An alias stands for the last value with its anchor, and has the line at which it stands.
    #[test]
    fn aliases_stand_for_their_anchors() {
        let node = yaml("- &a 1\n- &b 2\n- *b\n- *a\n- &a {x: *b}\n- *a\n- *b\n").unwrap();
        let number = |text: &str| Value::Number(text.into());
        let object = |line: usize| object([("x", Node::new(line, number("2")))]);
        let expected = [
            number("1"),
            number("2"),
            number("2"),
            number("1"),
            object(5),
            object(5),
            number("2"),
        ];
        let found = node
            .list("it")
            .unwrap()
            .iter()
            .map(|node| (node.line, node.value.clone()));
        assert_eq!(found.collect::<Vec<_>>(), (1..).zip(expected).collect::<Vec<_>>());
    }

    /// An anchor stands before a tag or behind it, and an alias for the tagged value.
    #[test]
    fn aliases_stand_for_tagged_values() {
        for value in [
            "!Ref T",
            "!Condition C",
            "!GetAtt T.Arn",
            "!Sub '${A}-b'",
            "!If [C, 1, 2]",
            "!!str 5",
            "!!int '5'",
            "!!binary 'AQ =='",
        ] {
            let (tag, rest) = value.split_once(' ').unwrap();
            for anchored in [format!("&a {value}"), format!("{tag} &a {rest}")] {
                let node = yaml(&format!("[{anchored}, *a, {value}]")).unwrap();
                let [first, alias, last] = node.list("it").unwrap() else {
                    panic!("{node:?}");
                };
                assert_eq!((first, alias), (last, last), "{anchored}");
            }
        }
    }

    #[test]
    fn aliases_and_merges() {
        let node = yaml("base: &b {x: 1, y: 2}\nother:\n  <<: *b\n  y: 3\n").unwrap();
        let other = node.get("other").unwrap();
        assert_eq!(other.get("x").unwrap().value, Value::Number("1".into()));
        assert_eq!(other.get("y").unwrap().value, Value::Number("3".into()));
    }

    #[test]
    fn what_is_not_a_document_is_refused_with_its_line() {
        let mut bomb = "a: &a [1,1,1,1,1,1,1,1,1,1]\n".to_owned();
        for (name, before) in ["b", "c", "d", "e", "f", "g"]
            .iter()
            .zip(["a", "b", "c", "d", "e", "f"])
        {
            let aliases = vec![format!("*{before}"); 10].join(",");
            bomb.extend([name, ": &", name, " [", &aliases, "]\n"]);
        }
        let deep = "[".repeat(100_000);
        type Parse = fn(&str) -> Result<Node, Problem>;
        let cases: &[(Parse, &str, usize, &str)] = &[
            (json, "{\"a\": 1,\n \"a\": 2}", 2, "`a` occurs twice"),
            (json, "{\"a\": \n 1,}", 2, "not valid JSON"),
            (json, "", 1, "the file is empty"),
            (json, "// x\n{}", 1, "not valid JSON"),
            (json, &deep, 1, "nest"),
            (yaml, &deep, 1, "recursion limit"),
            (yaml, &deep[..200], 1, "nested more than"),
            (yaml, "a: 1\na: 2", 2, "`a` occurs twice"),
            (yaml, "a: *b", 1, "YAML"),
            (yaml, "a: 1\n---\nb: 2", 2, "more than one YAML document"),
            (yaml, "a: !!python/object x", 1, "is not known"),
            (yaml, "b: 1\na: !foo-bar x", 2, "the tag `!foo-bar` is not known"),
            (yaml, "a: !Sub_ x", 1, "the tag `!Sub_` is not known"),
            (yaml, "a: !<x> y", 1, "the tag `x` is not known"),
            (yaml, &bomb, 5, "aliases add more than"),
        ];
        for (parse, text, line, message) in cases {
            let problem = parse(text).unwrap_err();
            let shown: String = text.chars().take(40).collect();
            assert!(problem.message.contains(message), "{shown}: {problem:?}");
            assert_eq!(problem.line, *line, "{shown}: {problem:?}");
        }
    }

    /// A scalar in quotes or in a block is a text, unless it has a tag of another type.
    #[test]
    fn only_plain_scalars_have_other_types() {
        for value in ["01234", "7", "-1.5e3", "true", "False", "null", "~", "x"] {
            for (style, end) in [
                ("|", "\n"),
                (">", "\n"),
                ("|-", ""),
                (">-", ""),
                ("|+", "\n"),
                (">+", "\n"),
                (">2-", ""),
                ("|2-", ""),
            ] {
                let expected = Value::String(format!("{value}{end}"));
                for (text, path) in [
                    (format!("{style}\n  {value}\n"), ""),
                    (format!("! {style}\n  {value}\n"), ""),
                    (format!("!!str {style}\n  {value}\n"), ""),
                    (format!("&a {style}\n  {value}\n"), ""),
                    (format!("m: {style}\n  {value}\n"), "m"),
                    (format!("n: 1\nm: {style}\n  {value}\n"), "m"),
                    (format!("m: &a {style}\n  {value}\nn: *a\n"), "n"),
                ] {
                    let node = yaml(&text).unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
                    let found = if path.is_empty() {
                        &node
                    } else {
                        node.get(path).unwrap()
                    };
                    assert_eq!(found.value, expected, "{text}");
                }
                let list = yaml(&format!("- 1\n- {style}\n  {value}\n")).unwrap();
                assert_eq!(list.list("it").unwrap()[1].value, expected, "{style}\n{value}");
            }
            for quoted in [format!("'{value}'"), format!("\"{value}\"")] {
                for text in [
                    format!("m: {quoted}"),
                    format!("{{m: {quoted}}}"),
                    format!("{{n: 1, 'm': {quoted}}}"),
                ] {
                    let found = yaml(&text).unwrap();
                    assert_eq!(found.get("m").unwrap().value, Value::String(value.to_owned()), "{text}");
                }
            }
        }
        for (text, expected) in [
            ("!!int |-\n  12\n", Value::Number("12".into())),
            ("!!float >-\n  1.5\n", Value::Number("1.5".into())),
            ("!!bool \"true\"", Value::Bool(true)),
            ("!!null >-\n  null\n", Value::Null),
            ("!!str ~", Value::String("~".into())),
            ("!!str", Value::String(String::new())),
            ("|-\n", Value::String(String::new())),
            ("''", Value::String(String::new())),
            ("\"\"", Value::String(String::new())),
            (">-\n  1\n  2\n", Value::String("1 2".into())),
            ("|-\n  1\n  2\n", Value::String("1\n2".into())),
            ("1\n 2\n", Value::String("1 2".into())),
        ] {
            assert_eq!(yaml(text).unwrap().value, expected, "{text}");
        }
    }

    /// A member that is given twice is refused, at least in objects of up to a thousand members.
    #[test]
    fn members_of_large_objects_are_given_once() {
        for count in [1, 2, 500, 999] {
            let names = (1..count).map(|at| format!("\"m{at}\": 0,\n"));
            let names: String = names.collect();
            for (name, is_read) in [("other", true), ("first", false)] {
                let text = format!("{{\"first\": 0,\n{names}\"{name}\": 0}}");
                for read in [json(&text), yaml(&text)] {
                    let problem = read.err().map(|problem| (problem.line, problem.message));
                    let expected = (!is_read).then(|| (count + 1, "`first` occurs twice".to_owned()));
                    assert_eq!(problem, expected, "{name} after {count}");
                }
            }
        }
    }

    /// Aliases may add up to 100,000 values.
    #[test]
    fn aliases_add_a_limited_number_of_values() {
        // An anchor of 1,000 values, and a list with aliases to it.
        let members: Vec<String> = (0..999).map(|at| format!("m{at}: 1")).collect();
        for anchor in [
            format!("&a [{}]", vec!["1"; 999].join(",")),
            format!("&a {{{}}}", members.join(",")),
            format!("&a [{{{}}}]", members[1..].join(",")),
        ] {
            for (count, is_read) in [(100, true), (101, false)] {
                let aliases = vec!["*a"; count].join(",");
                let read = yaml(&format!("a: {anchor}\nb: [{aliases}]\n"));
                let problem = read.err().map(|problem| (problem.line, problem.message));
                let expected = (!is_read).then(|| (2, "aliases add more than 100000 values".to_owned()));
                assert_eq!(problem, expected, "{count} of {}", &anchor[..20]);
            }
        }
    }
}
