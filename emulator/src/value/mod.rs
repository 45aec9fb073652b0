//! Attribute values and items: their types, sizes and JSON.

mod attribute;
mod item;
pub mod json;
pub mod scan;
pub mod size;

pub use attribute::{AttributeValue, Map, Name, Text, Type};
pub use item::{Attributes, Item, PartialItem, SentItem, pack, repack, size_class};
