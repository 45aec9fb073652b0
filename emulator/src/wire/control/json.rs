//! The bodies of controls as a tree: they are small, and their members are read in another order than they are sent.

use super::{ControlError, ControlResult, write_number};
use crate::wire::encode::Writer;
use crate::wire::reader::{Reader, SyntaxError, Token};

/// The maximum depth: access policies are the deepest.
const MOST_DEPTH: usize = 20;

/// A JSON value, or one of JavaScript.
///
/// ```
/// use dynatwin_engine::controls::Json;
///
/// let sent = Json::read(br#"{"seconds": 1.5}"#).unwrap();
/// assert_eq!(sent, Json::Object(vec![("seconds".to_owned(), Json::Number(1.5))]));
/// assert_eq!(Json::read(b"{,}").unwrap_err().to_string(), "The body is not valid JSON: see line 1, column 1.");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`, or nothing at all.
    Null,
    /// A boolean: `true` or `false`.
    Flag(bool),
    /// A number. JavaScript's other numbers are rejected where a number is required.
    Number(f64),
    /// A string, with its escapes resolved.
    Text(String),
    /// A list, of mixed types if sent so.
    List(Vec<Json>),
    /// An object, in the order sent.
    Object(Vec<(String, Json)>),
}

/// Why the body has no tree.
enum JsonError {
    Syntax,
    TooDeep,
}

impl From<SyntaxError> for JsonError {
    fn from(_: SyntaxError) -> JsonError {
        JsonError::Syntax
    }
}

impl Json {
    /// Reads the body of a control request, bounded in size and depth.
    pub fn read(body: &[u8]) -> ControlResult<Json> {
        let mut reader = Reader::new(body).map_err(|_| ControlError::malformed("The body is not UTF-8."))?;
        let read = value(&mut reader, MOST_DEPTH).and_then(|read| reader.end().map(|()| read).map_err(JsonError::from));
        read.map_err(|stop| match stop {
            JsonError::Syntax => {
                let (line, column) = reader.position();
                ControlError::malformed(format!("The body is not valid JSON: see line {line}, column {column}."))
            }
            JsonError::TooDeep => ControlError::malformed(format!("The body is deeper than {MOST_DEPTH} levels.")),
        })
    }

    /// The value as JSON.
    ///
    /// ```
    /// use dynatwin_engine::controls::Json;
    ///
    /// let body = Json::read(br#"{ "a": [1, "b", null, true] }"#).unwrap();
    /// assert_eq!(body.to_text(), r#"{"a":[1,"b",null,true]}"#);
    /// ```
    pub fn to_text(&self) -> String {
        let mut writer = Writer::new();
        self.write(&mut writer);
        String::from_utf8(writer.finish()).unwrap_or_default()
    }

    fn write(&self, writer: &mut Writer) {
        match self {
            Json::Null => {
                writer.null();
            }
            Json::Flag(flag) => {
                writer.boolean(*flag);
            }
            Json::Number(number) => write_number(*number, writer),
            Json::Text(text) => {
                writer.string(text);
            }
            Json::List(list) => {
                writer.open_list();
                list.iter().for_each(|value| value.write(writer));
                writer.close_list();
            }
            Json::Object(members) => {
                writer.open_object();
                for (name, value) in members {
                    value.write(writer.name(name));
                }
                writer.close_object();
            }
        }
    }

    /// Whether it is null or empty.
    pub fn is_empty(&self) -> bool {
        match self {
            Json::Null => true,
            Json::Object(members) => members.is_empty(),
            _ => false,
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Json::Number(number) if number.is_finite() => Some(*number),
            _ => None,
        }
    }
}

/// Reads a value with at most this many levels.
fn value(reader: &mut Reader<'_>, depth: usize) -> Result<Json, JsonError> {
    let token = reader.peek()?;
    if depth == 0 && matches!(token, Token::List | Token::Object) {
        return Err(JsonError::TooDeep);
    }
    Ok(match token {
        Token::String => Json::Text(reader.string()?.into_owned()),
        // The reader's numbers are Rust's.
        Token::Number => Json::Number(reader.number()?.parse().unwrap_or(f64::NAN)),
        Token::True => reader.word("true").map(|()| Json::Flag(true))?,
        Token::False => reader.word("false").map(|()| Json::Flag(false))?,
        Token::Null => reader.word("null").map(|()| Json::Null)?,
        Token::List => {
            reader.enter()?;
            let mut list = Vec::new();
            while reader.element(list.is_empty())? {
                list.push(value(reader, depth - 1)?);
            }
            Json::List(list)
        }
        Token::Object => {
            reader.enter()?;
            let mut members = Vec::new();
            while let Some(name) = reader.member(members.is_empty())? {
                members.push((name.into_owned(), value(reader, depth - 1)?));
            }
            Json::Object(members)
        }
    })
}

/// The members of an object that has only known members, each at most once. A misspelt member is refused: it would otherwise
/// pass for its default.
///
/// ```
/// use dynatwin_engine::controls::{Json, Members};
///
/// let sent = Json::read(br#"{"secnods": 5}"#).unwrap();
/// let refusal = Members::of("advance", &sent, &["seconds"]).err().unwrap();
/// assert_eq!(refusal.to_string(), "advance has no member \"secnods\"; its members are seconds.");
/// ```
pub struct Members<'a> {
    what: &'a str,
    members: &'a [(String, Json)],
}

impl<'a> Members<'a> {
    /// The members of an object, called `what` in errors, if all of them are known and none occurs twice.
    pub fn of(what: &'a str, sent: &'a Json, known: &[&str]) -> ControlResult<Members<'a>> {
        let Json::Object(members) = sent else {
            let known = known.join(", ");
            return Err(ControlError::malformed(format!(
                "{what} must be an object with some of {known}."
            )));
        };
        for (place, (name, _)) in members.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                let (name, known) = (shortened(name), known.join(", "));
                return Err(ControlError::malformed(format!(
                    "{what} has no member \"{name}\"; its members are {known}."
                )));
            }
            // Of the members before it, none is unknown or occurs twice, so they are few.
            if members.iter().take(place).any(|(other, _)| other == name) {
                return Err(ControlError::malformed(format!(
                    "{what} has the member \"{name}\" twice."
                )));
            }
        }
        Ok(Members { what, members })
    }

    /// The value of a member, unless it is null.
    pub fn get(&self, name: &str) -> Option<&'a Json> {
        let found = self.members.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value).filter(|value| **value != Json::Null)
    }

    fn read<T>(&self, name: &str, read: impl FnOnce(&'a Json) -> Option<T>, kind: &str) -> ControlResult<Option<T>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let wrong = || ControlError::malformed(format!("{}.{name} must be {kind}.", self.what));
        read(value).map(Some).ok_or_else(wrong)
    }

    /// The member `name` as text; `None` if it is absent or null, an error if it has another type.
    pub fn text(&self, name: &str) -> ControlResult<Option<&'a str>> {
        self.read(name, Json::text, "a string")
    }

    /// The member `name` as a number; `None` if it is absent or null, an error if it has another type.
    pub fn number(&self, name: &str) -> ControlResult<Option<f64>> {
        self.read(name, Json::number, "a number")
    }

    /// The member `name` as a boolean; `None` if it is absent or null, an error if it has another type.
    pub fn flag(&self, name: &str) -> ControlResult<Option<bool>> {
        let flag = |sent: &Json| match sent {
            Json::Flag(flag) => Some(*flag),
            _ => None,
        };
        self.read(name, flag, "true or false")
    }

    /// A whole number from 1 on.
    pub fn count(&self, name: &str) -> ControlResult<Option<u64>> {
        let whole = |number: &f64| *number >= 1.0 && number.fract() == 0.0;
        let count = |sent: &Json| sent.number().filter(whole).map(|number| number as u64);
        self.read(name, count, "a whole number greater than 0")
    }

    /// A number from 0 to 1.
    pub fn share(&self, name: &str) -> ControlResult<Option<f64>> {
        let share = |sent: &Json| sent.number().filter(|share| (0.0..=1.0).contains(share));
        self.read(name, share, "a number from 0 to 1")
    }
}

/// The beginning of a text, to be quoted in an error.
pub fn shortened(text: &str) -> &str {
    let end = text.char_indices().nth(100).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expect: Result<Json, &str>) {
        let read = Json::read(body.as_bytes()).map_err(|refusal| refusal.to_string());
        assert_eq!(read, expect.map_err(str::to_owned), "{body}");
    }

    #[test]
    fn bodies_are_read() {
        check(" null ", Ok(Json::Null));
        check(
            r#"[true, -1.5e1, "a\n", {}]"#,
            Ok(Json::List(vec![
                Json::Flag(true),
                Json::Number(-15.0),
                Json::Text("a\n".into()),
                Json::Object(vec![]),
            ])),
        );
        check("", Err("The body is not valid JSON: see line 1, column 0."));
        check("{}\n x", Err("The body is not valid JSON: see line 2, column 1."));
        let deep = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Json::read(deep(MOST_DEPTH).as_bytes()).is_ok());
        check(&deep(MOST_DEPTH + 1), Err("The body is deeper than 20 levels."));
        check(&"[".repeat(1 << 16), Err("The body is deeper than 20 levels."));
        let objects = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        assert!(Json::read(objects(MOST_DEPTH).as_bytes()).is_ok());
        check(&objects(MOST_DEPTH + 1), Err("The body is deeper than 20 levels."));
        check(&r#"{"a":["#.repeat(1 << 16), Err("The body is deeper than 20 levels."));
        assert!(Json::read(b"\"\xff\"").is_err());
    }

    #[test]
    fn members_are_what_they_should_be() {
        let sent = Json::read(br#"{"a": 2.5, "b": null, "c": "x"}"#).unwrap();
        let twice = Json::read(br#"{"a": 1, "b": 2, "a": 1}"#).unwrap();
        let members = Members::of("it", &sent, &["a", "b", "c"]).unwrap();
        assert_eq!(members.number("a"), Ok(Some(2.5)));
        assert_eq!(members.text("b"), Ok(None));
        for (refused, expect) in [
            (members.count("a").err(), "it.a must be a whole number greater than 0."),
            (members.share("a").err(), "it.a must be a number from 0 to 1."),
            (members.text("a").err(), "it.a must be a string."),
            (members.number("c").err(), "it.c must be a number."),
            (members.flag("c").err(), "it.c must be true or false."),
            (
                Members::of("it", &sent, &["a", "b"]).err(),
                "it has no member \"c\"; its members are a, b.",
            ),
            (
                Members::of("it", &twice, &["a", "b"]).err(),
                "it has the member \"a\" twice.",
            ),
            (
                Members::of("it", &Json::Null, &["a"]).err(),
                "it must be an object with some of a.",
            ),
        ] {
            assert_eq!(refused.map(|refusal| refusal.to_string()).as_deref(), Some(expect));
        }
    }

    #[test]
    fn bodies_are_written_as_they_were_read() {
        for body in [
            "null",
            "true",
            "[false,null,-1.5]",
            r#"{"a":"b\n","c":[{},[],null],"d":true,"e":null}"#,
        ] {
            assert_eq!(Json::read(body.as_bytes()).unwrap().to_text(), body);
        }
    }

    #[test]
    fn echoed_texts_are_shortened() {
        assert_eq!(shortened("short"), "short");
        assert_eq!(shortened(&"é".repeat(1000)), "é".repeat(100));
    }
}
