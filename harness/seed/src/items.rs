//! Items in DynamoDB's form and as plain JSON.

use std::io::{BufRead, Read};

use serde_json::{Map, Value as Json, json};

use crate::document::{self, Node, Value};
use crate::error::{Error, Problem};
use crate::schema;
use crate::seed::{Attributes, Item, Items, Seed, SeedItem};

/// The longest line of a file with an item on each: an item of 400 KB, in base64 and escaped.
const LONGEST_LINE: u64 = 16 << 20;

/// An item in DynamoDB's form, or of plain JSON if not every attribute has a type.
pub(crate) fn item(node: &Node) -> Result<Item, Problem> {
    let members = node.object("an item")?;
    if members.iter().all(|(_, value)| is_typed(value)) {
        typed(node)
    } else {
        let attributes = members.iter().map(|(name, value)| Ok((name.clone(), marshal(value)?)));
        attributes.collect()
    }
}

/// An item in DynamoDB's form. The values themselves are checked when the item is written.
pub(crate) fn typed(node: &Node) -> Result<Item, Problem> {
    let mut item = Map::new();
    for (name, value) in node.object("an item")? {
        if !is_typed(value) {
            let message = format!("the value of `{name}` is not in DynamoDB's form, such as {{\"S\": \"text\"}}");
            return Err(value.problem(message));
        }
        item.insert(name.clone(), schema::json(value)?);
    }
    Ok(item)
}

/// Whether a value is an attribute value in DynamoDB's form.
fn is_typed(node: &Node) -> bool {
    let Value::Object(members) = &node.value else {
        return false;
    };
    let [(kind, value)] = members.as_slice() else {
        return false;
    };
    match (kind.as_str(), &value.value) {
        ("S" | "N" | "B", Value::String(_)) => true,
        ("BOOL" | "NULL", Value::Bool(_)) => true,
        ("SS" | "NS" | "BS", Value::Array(elements)) => {
            elements.iter().all(|element| matches!(element.value, Value::String(_)))
        }
        ("L", Value::Array(elements)) => elements.iter().all(is_typed),
        ("M", Value::Object(members)) => members.iter().all(|(_, member)| is_typed(member)),
        _ => false,
    }
}

/// A plain value in DynamoDB's form.
fn marshal(node: &Node) -> Result<Json, Problem> {
    Ok(match &node.value {
        Value::Null => json!({"NULL": true}),
        Value::Bool(flag) => json!({"BOOL": flag}),
        Value::Number(text) => json!({"N": text}),
        Value::String(text) => json!({"S": text}),
        Value::Array(elements) => {
            let elements = elements.iter().map(marshal).collect::<Result<Vec<_>, _>>()?;
            json!({"L": elements})
        }
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, member)| Ok((name.clone(), marshal(member)?)));
            json!({"M": members.collect::<Result<Map<_, _>, Problem>>()?})
        }
    })
}

/// The items of a list.
pub(crate) fn list(file: &str, node: &Node) -> Result<Vec<SeedItem>, Problem> {
    let elements = node.list("the items")?.iter();
    let read = elements.map(|element| {
        // A record of an export has its item one level down.
        let own = element
            .get("Item")
            .filter(|_| element.object("an item").is_ok_and(|members| members.len() == 1));
        Ok(SeedItem {
            file: file.to_owned(),
            line: element.line,
            attributes: Attributes::Typed(item(own.unwrap_or(element))?),
        })
    });
    read.collect()
}

/// The items of a BatchWriteItem request: `{"Sessions": [{"PutRequest": {"Item": …}}]}`.
pub(crate) fn batch(file: &str, root: &Node) -> Result<Seed, Problem> {
    let mut seed = Seed::default();
    for (table, requests) in root.object("the request")? {
        let mut items = Vec::new();
        for request in requests.list("the requests of a table")? {
            let put = request.get("PutRequest").and_then(|put| put.get("Item"));
            let put = put.ok_or_else(|| request.problem("the request is not a PutRequest with an Item"))?;
            items.push(SeedItem {
                file: file.to_owned(),
                line: request.line,
                attributes: Attributes::Typed(typed(put)?),
            });
        }
        seed.add_items(table, items);
    }
    Ok(seed)
}

/// Whether a document is a BatchWriteItem request.
pub(crate) fn is_batch(root: &Node) -> bool {
    let Value::Object(tables) = &root.value else {
        return false;
    };
    let is_request = |node: &Node| node.get("PutRequest").is_some() || node.get("DeleteRequest").is_some();
    !tables.is_empty()
        && tables.iter().all(|(_, requests)| match &requests.value {
            Value::Array(requests) => requests.first().is_some_and(is_request),
            _ => false,
        })
}

/// The items of a file with a JSON object on each line: an item, or a record of an export, `{"Item": …}`.
pub(crate) fn lines(file: &str, table: &str, from: impl BufRead + Send + 'static) -> Items {
    let file = file.to_owned();
    Items {
        table: table.to_owned(),
        items: Box::new(Lines {
            file,
            from,
            line: 0,
            failed: false,
        }),
    }
}

struct Lines<R> {
    file: String,
    from: R,
    line: usize,
    failed: bool,
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<SeedItem, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let read = self.read().transpose();
        self.failed = matches!(read, Some(Err(_)));
        read
    }
}

impl<R: BufRead> Lines<R> {
    fn read(&mut self) -> Result<Option<SeedItem>, Error> {
        loop {
            let mut text = String::new();
            self.line += 1;
            let read = (&mut self.from).take(LONGEST_LINE + 1).read_line(&mut text);
            let length = read.map_err(|error| Error::new(&self.file, error.to_string()).at_line(self.line))?;
            if length == 0 {
                return Ok(None);
            }
            if length as u64 > LONGEST_LINE {
                return Err(Error::new(&self.file, "the line is too long for an item").at_line(self.line));
            }
            let text = match self.line {
                1 => text.trim_start_matches('\u{feff}'),
                _ => &text,
            };
            if !text.trim().is_empty() {
                let item = self.item(text);
                let item = item.map_err(|problem| Problem::new(self.line, problem.message).of_file(&self.file))?;
                return Ok(Some(item));
            }
        }
    }

    fn item(&self, text: &str) -> Result<SeedItem, Problem> {
        let node = document::json(text)?;
        let own = node
            .get("Item")
            .filter(|_| node.object("an item").is_ok_and(|members| members.len() == 1));
        Ok(SeedItem {
            file: self.file.clone(),
            line: self.line,
            attributes: Attributes::Typed(item(own.unwrap_or(&node))?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_and_typed_items_are_told_apart() {
        for (text, expected) in [
            (
                r#"{"id": "a", "n": 1.50, "ok": true, "none": null, "list": [1, {"x": "y"}]}"#,
                r#"{"id": {"S": "a"}, "n": {"N": "1.50"}, "ok": {"BOOL": true}, "none": {"NULL": true},
                    "list": {"L": [{"N": "1"}, {"M": {"x": {"S": "y"}}}]}}"#,
            ),
            (
                r#"{"id": {"S": "a"}, "m": {"M": {"l": {"L": [{"NS": ["1"]}]}}}}"#,
                r#"{"id": {"S": "a"}, "m": {"M": {"l": {"L": [{"NS": ["1"]}]}}}}"#,
            ),
            // One attribute without a type: all are plain.
            (
                r#"{"id": {"S": "a"}, "n": 1}"#,
                r#"{"id": {"M": {"S": {"S": "a"}}}, "n": {"N": "1"}}"#,
            ),
            // Values of a type that is not theirs.
            (
                r#"{"a": {"L": [{"N": "1"}, 2]}}"#,
                r#"{"a": {"M": {"L": {"L": [{"M": {"N": {"S": "1"}}}, {"N": "2"}]}}}}"#,
            ),
            (
                r#"{"a": {"SS": ["x", 2]}}"#,
                r#"{"a": {"M": {"SS": {"L": [{"S": "x"}, {"N": "2"}]}}}}"#,
            ),
            (
                r#"{"a": {"M": {"b": {"S": "x"}, "c": 1}}}"#,
                r#"{"a": {"M": {"M": {"M": {"b": {"M": {"S": {"S": "x"}}}, "c": {"N": "1"}}}}}}"#,
            ),
            // A name that is not one of a type.
            (r#"{"a": {"X": "x"}}"#, r#"{"a": {"M": {"X": {"S": "x"}}}}"#),
            (r#"{"a": {"s": "x"}}"#, r#"{"a": {"M": {"s": {"S": "x"}}}}"#),
            (r#"{"a": {}}"#, r#"{"a": {"M": {}}}"#),
            (r#"{"a": {"S": 1}}"#, r#"{"a": {"M": {"S": {"N": "1"}}}}"#),
            (r#"{"a": {"N": 1}}"#, r#"{"a": {"M": {"N": {"N": "1"}}}}"#),
            (r#"{"a": {"L": {}}}"#, r#"{"a": {"M": {"L": {"M": {}}}}}"#),
            (r#"{"a": {"M": []}}"#, r#"{"a": {"M": {"M": {"L": []}}}}"#),
            (
                r#"{"a": {"NS": ["1"]}, "b": {"M": {}}, "c": {"L": []}}"#,
                r#"{"a": {"NS": ["1"]}, "b": {"M": {}}, "c": {"L": []}}"#,
            ),
            ("{}", "{}"),
            (r#"{"a": {"BOOL": "true"}}"#, r#"{"a": {"M": {"BOOL": {"S": "true"}}}}"#),
            (
                r#"{"a": {"S": "x", "N": "1"}}"#,
                r#"{"a": {"M": {"S": {"S": "x"}, "N": {"S": "1"}}}}"#,
            ),
            (
                r#"{"a": {"B": "AQ=="}, "b": {"BS": ["AQ=="]}, "c": {"NULL": true}, "d": {"BOOL": false}}"#,
                r#"{"a": {"B": "AQ=="}, "b": {"BS": ["AQ=="]}, "c": {"NULL": true}, "d": {"BOOL": false}}"#,
            ),
            // A map of a member that only looks like a type.
            (r#"{"sizes": {"S": 3}}"#, r#"{"sizes": {"M": {"S": {"N": "3"}}}}"#),
        ] {
            let read = item(&document::json(text).unwrap()).unwrap();
            let expected: Json = serde_json::from_str(expected).unwrap();
            assert_eq!(Json::Object(read), expected, "{text}");
        }
    }

    #[test]
    fn requests_of_batches() {
        for (text, expected) in [
            (r#"{"T": [{"PutRequest": {"Item": {"id": {"S": "a"}}}}]}"#, Some(Ok(1))),
            (
                r#"{"T": [{"DeleteRequest": {"Key": {}}}]}"#,
                Some(Err("the request is not a PutRequest with an Item")),
            ),
            (
                r#"{"T": [{"PutRequest": {"Item": {"id": "a"}}}]}"#,
                Some(Err(
                    r#"the value of `id` is not in DynamoDB's form, such as {"S": "text"}"#,
                )),
            ),
            // The first request of each table tells what the document is.
            (
                r#"{"T": [{"PutRequest": {"Item": {"id": {"S": "a"}}}}, {"id": "a"}]}"#,
                Some(Err("the request is not a PutRequest with an Item")),
            ),
            (
                r#"{"T": [{"id": "a"}, {"PutRequest": {"Item": {"id": {"S": "a"}}}}]}"#,
                None,
            ),
            (
                r#"{"T": [{"PutRequest": {"Item": {"id": {"S": "a"}}}}], "U": [{"PutRequest": {"Item": {"id": {"S": "a"}}}}]}"#,
                Some(Ok(2)),
            ),
            ("[]", None),
            ("{}", None),
            (r#"{"T": []}"#, None),
            (r#"{"T": [{"id": "a"}]}"#, None),
            (r#"{"T": [{"PutRequest": {}}], "U": 1}"#, None),
        ] {
            let root = document::json(text).unwrap();
            assert_eq!(is_batch(&root), expected.is_some(), "{text}");
            let Some(expected) = expected else { continue };
            let read = batch("x.json", &root).map(|seed| seed.items.len());
            let read = read.map_err(|problem| problem.message);
            assert_eq!(read, expected.map_err(str::to_owned), "{text}");
        }
    }

    /// The items of each table of a batch, at their lines.
    #[test]
    fn each_table_of_a_batch_has_its_own_items() {
        let text = r#"{"T": [{"PutRequest": {"Item": {"id": {"S": "a"}}}}],
            "U": [{"PutRequest": {"Item": {"n": {"N": "1"}}}},
                {"PutRequest": {"Item": {"n": {"N": "2"}}}}],
            "V": [{"PutRequest": {"Item": {"id": {"S": "a"}}}}]}"#;
        let seed = batch("x.json", &document::json(text).unwrap()).unwrap();
        let mut found = Vec::new();
        for of_table in seed.items {
            let items = of_table.items.map(Result::unwrap);
            found.extend(items.map(|item| (of_table.table.clone(), item.line, item.attributes)));
        }
        let expected = [
            ("T", 1, json!({"id": {"S": "a"}})),
            ("U", 2, json!({"n": {"N": "1"}})),
            ("U", 3, json!({"n": {"N": "2"}})),
            ("V", 4, json!({"id": {"S": "a"}})),
        ];
        let expected = expected.map(|(table, line, item)| {
            let item = item.as_object().unwrap().clone();
            (table.to_owned(), line, crate::seed::Attributes::Typed(item))
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_are_items() {
        let text = "{\"Item\":{\"id\":{\"S\":\"a\"}}}\n\n{\"id\":\"b\"}\n{\"id\":\n";
        let read: Vec<_> = lines("x.json", "T", text.as_bytes()).items.collect();
        assert_eq!(read.len(), 3);
        assert_eq!(read[0].as_ref().unwrap().line, 1);
        assert_eq!(read[1].as_ref().unwrap().line, 3);
        assert_eq!(read[2].as_ref().unwrap_err().line(), Some(4));
    }

    /// A line or an element of a list is a record of an export only if `Item` is its only member.
    #[test]
    fn an_attribute_named_item_is_an_attribute() {
        for (text, expected) in [
            (r#"{"Item": {"id": {"S": "a"}}}"#, r#"{"id": {"S": "a"}}"#),
            (r#"{"Item": {"id": "a"}}"#, r#"{"id": {"S": "a"}}"#),
            (
                r#"{"id": "1", "Item": {"a": 1}}"#,
                r#"{"id": {"S": "1"}, "Item": {"M": {"a": {"N": "1"}}}}"#,
            ),
            (
                r#"{"Item": {"a": 1}, "id": "1"}"#,
                r#"{"id": {"S": "1"}, "Item": {"M": {"a": {"N": "1"}}}}"#,
            ),
            (
                r#"{"id": {"S": "1"}, "Item": {"S": "x"}}"#,
                r#"{"id": {"S": "1"}, "Item": {"S": "x"}}"#,
            ),
            (
                r#"{"id": "a", "Item": "Book"}"#,
                r#"{"id": {"S": "a"}, "Item": {"S": "Book"}}"#,
            ),
            (r#"{"item": {"a": 1}}"#, r#"{"item": {"M": {"a": {"N": "1"}}}}"#),
        ] {
            let expected: Json = serde_json::from_str(expected).unwrap();
            let of_line = lines("x.jsonl", "T", text.as_bytes()).items.collect();
            // Between two others, of which each is one kind.
            let of_list = format!(r#"[{{"Item": {{"id": 1}}}}, {text}, {{"id": 1}}]"#);
            let of_list = list("x.json", &document::json(&of_list).unwrap());
            let of_list: Result<Vec<_>, _> = of_list.map_err(|problem| problem.of_file("x.json"));
            let other = json!({"id": {"N": "1"}});
            for (read, expected) in [
                (of_line, vec![expected.clone()]),
                (of_list, vec![other.clone(), expected.clone(), other]),
            ] {
                let read: Vec<SeedItem> = read.unwrap_or_else(|error| panic!("{text}: {error}"));
                let attributes = expected.into_iter().map(|item| match item {
                    Json::Object(item) => Attributes::Typed(item),
                    other => panic!("{other}"),
                });
                let read = read.into_iter().map(|item| item.attributes);
                assert_eq!(read.collect::<Vec<_>>(), attributes.collect::<Vec<_>>(), "{text}");
            }
        }
    }

    #[test]
    fn lines_have_a_longest_length() {
        let line = |length: usize| format!("{}{}\n{{\"id\":\"b\"}}", r#"{"id":"a"}"#, " ".repeat(length - 11));
        for (longer, expect) in [(0, [true, true].as_slice()), (1, &[false])] {
            let text = std::io::Cursor::new(line(LONGEST_LINE as usize + longer));
            let read: Vec<bool> = lines("x.jsonl", "T", text).items.map(|item| item.is_ok()).collect();
            assert_eq!(read, expect, "{longer} longer");
        }
    }
}
