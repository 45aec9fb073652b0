//! Writers of JSON objects and lists. Each has to be closed.

use super::encode::Writer;
use crate::clock::Moment;
use crate::value::{Item, Map};

/// The capacity reserved when an answer begins, unless there is enough already.
const SMALL_ANSWER: usize = 128;

/// A JSON object that is being written.
///
/// ```
/// use dynatwin_engine::json::{Object, Writer};
///
/// let mut writer = Writer::new();
/// let mut answer = Object::open(&mut writer);
/// answer.integer("Count", 1);
/// let mut inner = answer.object("Table");
/// inner.double("CapacityUnits", 0.5);
/// inner.close();
/// answer.close();
/// assert_eq!(writer.finish(), br#"{"Count":1,"Table":{"CapacityUnits":0.5}}"#);
/// ```
#[must_use = "an object that is not closed is not valid JSON"]
pub struct Object<'w>(&'w mut Writer);

/// A JSON list that is being written.
///
/// ```
/// use dynatwin_engine::json::{List, Writer};
///
/// let mut writer = Writer::new();
/// let mut list = List::open(&mut writer);
/// list.element().string("a");
/// list.object().close();
/// list.close();
/// assert_eq!(writer.finish(), br#"["a",{}]"#);
/// ```
#[must_use = "a list that is not closed is not valid JSON"]
pub struct List<'w>(&'w mut Writer);

impl<'w> Object<'w> {
    /// Writes the `{` and returns the object, which must be closed.
    pub fn open(writer: &'w mut Writer) -> Object<'w> {
        if writer.is_empty() {
            writer.reserve(SMALL_ANSWER);
        }
        writer.open_object();
        Object(writer)
    }

    /// Continues an object whose `{` and first members have been written.
    pub(crate) fn resume(writer: &'w mut Writer) -> Object<'w> {
        Object(writer)
    }

    /// Writes a member's name; write its value next.
    pub fn member(&mut self, name: &str) -> &mut Writer {
        self.0.name(name)
    }

    /// A member that is an object.
    pub fn object(&mut self, name: &str) -> Object<'_> {
        Object::open(self.member(name))
    }

    /// A member that is a list.
    pub fn list(&mut self, name: &str) -> List<'_> {
        List::open(self.member(name))
    }

    /// A member that is a list of strings.
    pub fn strings<'s>(&mut self, name: &str, strings: impl IntoIterator<Item = &'s str>) {
        let list = self.list(name);
        for text in strings {
            list.0.string(text);
        }
        list.close();
    }

    /// A member that is a stored item.
    pub fn item(&mut self, name: &str, item: &Item) {
        self.member(name).item(item);
    }

    /// A member that is a map of attribute values.
    pub fn map(&mut self, name: &str, map: &Map) {
        self.member(name).attributes(map);
    }

    /// A member that is a string.
    pub fn string(&mut self, name: &str, text: &str) {
        self.member(name).string(text);
    }

    /// A member that is an integer.
    pub fn integer(&mut self, name: &str, number: i64) {
        self.member(name).integer(number);
    }

    /// A member that is a double.
    pub fn double(&mut self, name: &str, number: f64) {
        self.member(name).double(number);
    }

    /// A member that is a boolean.
    pub fn boolean(&mut self, name: &str, flag: bool) {
        self.member(name).boolean(flag);
    }

    /// A member that is a moment.
    pub fn timestamp(&mut self, name: &str, moment: Moment) {
        self.member(name).moment(moment);
    }

    /// Writes the `}` of the object.
    pub fn close(self) {
        self.0.close_object();
    }
}

impl<'w> List<'w> {
    /// Writes the `[` and returns the list, which must be closed.
    pub fn open(writer: &'w mut Writer) -> List<'w> {
        writer.open_list();
        List(writer)
    }

    /// The writer, for the next element.
    pub fn element(&mut self) -> &mut Writer {
        self.0
    }

    /// An element that is an object.
    pub fn object(&mut self) -> Object<'_> {
        Object::open(self.0)
    }

    /// An element that is a stored item.
    pub fn item(&mut self, item: &Item) {
        self.0.item(item);
    }

    /// An element that is a map of attribute values.
    pub fn map(&mut self, map: &Map) {
        self.0.attributes(map);
    }

    /// Writes the `]` of the list.
    pub fn close(self) {
        self.0.close_list();
    }
}
